/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_refusal.c - problems as google.rpc.Status and as Connect's JSON, and what stays a problem
 */
#include "core/net/refusal.h"

#include <string.h>

#include "core/base/str.h"
#include "tests/unit/pb_text.h"
#include "tests/unit/unit.h"

static const char json[] = "application/json", protobuf[] = "application/x-protobuf",
		  problem[] = "application/problem+json";

/* A problem with this status and the sentence `no "a" here`, said: NULL as want is one that stays as it was. */
static void says(enum http_refusal form, const char *asked_as, int status, int want_status,
		 const char *want_type, struct dcm_str want)
{
	const struct dcm_field type = { STR("content-type"), str__of(asked_as) };
	const struct http_request request = { .headers = &type, .n_headers = 1 };
	struct http_response r = { .status = 200 };

	http_response__header(&r, "Retry-After", "7");
	http_response__problem(&r, status, "no \"%s\" here", "a");
	refusal__say(form, &request, &r);
	assert_int_equal(r.status, want_status);
	assert_string_equal(r.content_type, want_type);
	assert_true(str__eq(http_response__find(&r, "Retry-After"), STR("7")));
	if (want.p && !str__eq(buf__view(&r.body), want))
		fail_msg("%.*s", STR_ARG(buf__view(&r.body)));
	if (!want.p)
		assert_true(str__starts(buf__view(&r.body), STR("{\"type\":\"about:blank\"")));
	http_response__fini(&r);
}

static void as_status(void **state)
{
	static const struct {
		int status, code;
	} cases[] = { { 400, 3 }, { 401, 16 }, { 403, 7 },  { 404, 5 }, { 413, 8 },
		      { 415, 3 }, { 422, 3 },  { 503, 14 }, { 504, 4 }, { 500, 13 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf want = { 0 };
		char text[64];

		snprintf(text, sizeof(text), "1:%d 2:'no \"a\" here'", cases[i].code);
		pb_text__append(&want, text);
		says(HTTP_REFUSAL_STATUS, protobuf, cases[i].status, cases[i].status, protobuf,
		     buf__view(&want));
		says(HTTP_REFUSAL_STATUS, "Application/X-Protobuf; a=b", cases[i].status,
		     cases[i].status, protobuf, buf__view(&want));
		snprintf(text, sizeof(text), "{\"code\":%d,\"message\":\"no \\\"a\\\" here\"}",
			 cases[i].code);
		says(HTTP_REFUSAL_STATUS, "application/json;charset=utf-8", cases[i].status,
		     cases[i].status, json, str__of(text));
		buf__fini(&want);
	}
}

/* Whoever sends what is neither reads a problem as well as anything else. */
static void of_no_type(void **state)
{
	(void)state;
	says(HTTP_REFUSAL_STATUS, "", 415, 415, problem, (struct dcm_str){ 0 });
	says(HTTP_REFUSAL_STATUS, "application/x-protobuffer", 415, 415, problem, (struct dcm_str){ 0 });
	says(HTTP_REFUSAL_PROBLEM, json, 400, 400, problem, (struct dcm_str){ 0 });
}

static void as_connect(void **state)
{
	static const struct {
		int status, want;
		const char *code;
	} cases[] = { { 400, 400, "invalid_argument" },
		      { 401, 401, "unauthenticated" },
		      { 403, 403, "permission_denied" },
		      { 404, 404, "not_found" },
		      { 409, 400, "failed_precondition" },
		      { 413, 400, "invalid_argument" },
		      { 422, 400, "invalid_argument" },
		      { 499, 499, "canceled" },
		      { 500, 500, "internal" },
		      { 501, 501, "unimplemented" },
		      { 503, 503, "unavailable" },
		      { 504, 504, "deadline_exceeded" },
		      { 418, 500, "unknown" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[96];

		snprintf(text, sizeof(text), "{\"code\":\"%s\",\"message\":\"no \\\"a\\\" here\"}",
			 cases[i].code);
		says(HTTP_REFUSAL_CONNECT, "application/proto", cases[i].status, cases[i].want,
		     json, str__of(text));
	}
	says(HTTP_REFUSAL_CONNECT, "text/plain", 415, 415, problem, (struct dcm_str){ 0 });
	says(HTTP_REFUSAL_CONNECT, "application/proto", 405, 405, problem, (struct dcm_str){ 0 });
}

/* What is an answer stays one, whatever was to be refused before. */
static void no_refusal(void **state)
{
	struct http_response r = { .status = 200 };
	const struct http_request request = { 0 };

	(void)state;
	http_response__problem(&r, 503, "not yet");
	r.status = 200;
	buf__reset(&r.body);
	buf__text(&r.body, "all is well");
	refusal__say(HTTP_REFUSAL_CONNECT, &request, &r);
	assert_true(str__eq(buf__view(&r.body), STR("all is well")));
	assert_int_equal(r.status, 200);
	http_response__fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_status),
		cmocka_unit_test(of_no_type),
		cmocka_unit_test(as_connect),
		cmocka_unit_test(no_refusal),
	};

	return cmocka_run_group_tests_name("refusal", tests, NULL, NULL);
}
