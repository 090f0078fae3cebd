/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_delivery.c - plugins/output/delivery/delivery.h: what an answer means for the request, the first time and in the end
 */
#include "plugins/output/delivery/delivery.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "tests/unit/unit.h"

#define SECOND INT64_C(1000000000)

/* What the other side says to the next request, and the time. */
static struct {
	int64_t now_ns;
	int status, fault;
	const char *grpc_status; /* NULL: none */
	const char *body;
	delivery_judge_fn judge;
	enum delivery_rules rules;   /* by which it is asked */
	struct dcm_http_header more; /* beside these; without a name: none */
	unsigned n_requests;
	bool keeps_method; /* of the last */
} there;

static int64_t mono_ns(const struct dcm_host *h)
{
	(void)h;
	return there.now_ns;
}

static int start(struct dcm_http_client *client, const struct dcm_http_call *c, uint64_t *ret_id,
		 struct dcm_error *err)
{
	const struct dcm_http_header headers[] = {
		{ STR("grpc-status"), str__of(there.grpc_status ? there.grpc_status : "") },
		there.more,
	};
	const uint32_t from = there.grpc_status ? 0 : 1, end = there.more.name.n ? 2 : 1;
	const struct dcm_http_reply reply = { .size = sizeof(reply),
					      .status = there.status,
					      .fault = there.fault,
					      .sentence = "away",
					      .headers = headers + from,
					      .n_headers = end - from,
					      .data = (const uint8_t *)there.body,
					      .n = strlen(there.body) };

	(void)client;
	(void)ret_id;
	(void)err;
	there.n_requests++;
	there.keeps_method = c->keeps_method;
	c->done(c->ctx, &reply);
	return 0;
}

/* 2015-10-21 07:28:00 UTC and what has gone by since */
static int64_t real_ns(const struct dcm_host *h)
{
	return INT64_C(1445412480) * SECOND + mono_ns(h) - SECOND;
}

static const struct dcm_host host = {
	.size = sizeof(host), .mono_ns = mono_ns, .real_ns = real_ns, .http_start = start
};

/* With what the other side says as it is. */
static struct delivery *begin_again(void)
{
	struct delivery *d = delivery__new(&host, NULL);

	assert_non_null(d);
	there.now_ns = SECOND;
	return d;
}

static struct delivery *begin(void)
{
	memset(&there, 0, sizeof(there));
	there.status = 200;
	there.body = "";
	return begin_again();
}

/* Of gRPC unless there is no status of it to come. */
static int send_bytes(struct delivery *d, const char *bytes, struct dcm_error *err)
{
	const struct delivery_request request = { .url = "http://me:hush@there?key=hush",
						  .grpc = there.grpc_status != NULL,
						  .data = bytes,
						  .n = strlen(bytes),
						  .rules = there.rules,
						  .judge = there.judge };

	return delivery__send(d, &request, there.now_ns + SECOND, err);
}

static int send_later(struct delivery *d, const char *bytes, int64_t seconds)
{
	struct dcm_error err = DCM_ERROR_INIT;

	there.now_ns += seconds * SECOND;
	return send_bytes(d, bytes, &err);
}

/* The status's number, and what the first such answer means; of gRPC all that there are. */
struct first {
	int status, rc, otlp_rc;
};

static int first_answer(const char *grpc_status, int status, enum delivery_rules rules)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct delivery *d = begin();

	there.grpc_status = grpc_status;
	there.status = status;
	there.rules = rules;
	int r = send_bytes(d, "x", &err);
	delivery__free(d);
	return r;
}

static void test_first_answers_of_grpc(void **state)
{
	static const struct first cases[] = {
		{ 0, 0, 0 },
		{ 1, -EAGAIN, -EAGAIN },
		{ 2, -EAGAIN, -EBADMSG },
		{ 3, -EBADMSG, -EBADMSG },
		{ 4, -EAGAIN, -EAGAIN },
		{ 5, -EAGAIN, -EAGAIN },
		{ 6, -EAGAIN, -EBADMSG },
		{ 7, -EAGAIN, -EAGAIN },
		{ 8, -EAGAIN, -EBADMSG },
		{ 9, -EAGAIN, -EBADMSG },
		{ 10, -EAGAIN, -EAGAIN },
		{ 11, -EBADMSG, -EAGAIN },
		{ 12, -EAGAIN, -EAGAIN },
		{ 13, -EAGAIN, -EBADMSG },
		{ 14, -EAGAIN, -EAGAIN },
		{ 15, -EAGAIN, -EAGAIN },
		{ 16, -EAGAIN, -EAGAIN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[4];

		snprintf(text, sizeof(text), "%d", cases[i].status);
		assert_int_equal(first_answer(text, 200, DELIVERY_USUAL), cases[i].rc);
		assert_int_equal(first_answer(text, 200, DELIVERY_OTLP), cases[i].otlp_rc);
	}
}

static void test_first_answers_of_http(void **state)
{
	static const struct first wrong[] = {
		{ 400, -EBADMSG, -EBADMSG }, { 413, -EBADMSG, -EBADMSG },
		{ 415, -EBADMSG, -EBADMSG }, { 422, -EBADMSG, -EBADMSG },
		{ 401, -EAGAIN, -EAGAIN },   { 403, -EAGAIN, -EAGAIN },
		{ 404, -EAGAIN, -EAGAIN },   { 405, -EAGAIN, -EAGAIN },
		{ 407, -EAGAIN, -EAGAIN },   { 408, -EAGAIN, -EAGAIN },
		{ 429, -EAGAIN, -EAGAIN },   { 502, -EAGAIN, -EAGAIN },
		{ 503, -EAGAIN, -EAGAIN },   { 504, -EAGAIN, -EAGAIN },
	};

	(void)state;
	for (int status = 200; status < 600; status++) {
		struct first want = { status, -EAGAIN, -EAGAIN };

		if (status < 300)
			want = (struct first){ status, 0, 0 };
		else if (status >= 400)
			want.otlp_rc = -EBADMSG;
		for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
			want = wrong[i].status == status ? wrong[i] : want;
		assert_int_equal(first_answer(NULL, status, DELIVERY_USUAL), want.rc);
		assert_int_equal(first_answer(NULL, status, DELIVERY_OTLP), want.otlp_rc);
	}
}

static void test_the_servers_words(void **state)
{
	static const struct {
		const char *body, *words;
	} cases[] = {
		{ "{\"code\":\"invalid_argument\",\"message\":\"no \\\"such\\\" thing\"}",
		  "http://there answered 400: no \\\"such\\\" thing" },
		{ "{\"title\":\"x\",\"detail\":\"too many\",\"message\":\"y\"}",
		  "http://there answered 400: too many" },
		{ "plain words", "http://there answered 400: plain words" },
		{ "{\"message\":\"unended", "http://there answered 400: unended" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct delivery *d = begin();
		struct dcm_error err = DCM_ERROR_INIT;

		there.status = 400;
		there.body = cases[i].body;
		assert_int_equal(send_bytes(d, "x", &err), -EBADMSG);
		assert_string_equal(err.text, cases[i].words);
		delivery__free(d);
	}
}

/* Ten minutes of nothing but failures there: refused, again and again, until something else happens. */
static void what_fails_there_is_refused_in_the_end(const char *grpc_status, int status)
{
	struct delivery *d = begin();

	there.grpc_status = grpc_status;
	there.status = status;
	for (int i = 0; i < 10; i++)
		assert_int_equal(send_later(d, "poison", 60), -EAGAIN);
	assert_int_equal(send_later(d, "poison", 60), -EBADMSG);
	assert_int_equal(send_later(d, "poison", 1), -EBADMSG);
	/* The next one has its own ten minutes. */
	assert_int_equal(send_later(d, "other", 1), -EAGAIN);
	assert_int_equal(send_later(d, "other", 599), -EAGAIN);
	/* Not of a few answers, however long it took. */
	assert_int_equal(send_later(d, "other", 3600), -EAGAIN);
	assert_int_equal(send_later(d, "other", 1), -EAGAIN);
	assert_int_equal(send_later(d, "other", 1), -EBADMSG);
	delivery__free(d);
}

static void what_is_not_the_requests_is_tried_for_ever(const char *grpc_status, int status)
{
	struct delivery *d = begin();

	there.grpc_status = grpc_status;
	there.status = status;
	for (int i = 0; i < 100; i++)
		assert_int_equal(send_later(d, "x", 60), -EAGAIN);
	delivery__free(d);
}

static int try_again(int status, struct dcm_str body, struct buf *ret_words)
{
	(void)status;
	(void)body;
	buf__text(ret_words, "the token has expired");
	return -EAGAIN;
}

/* Who knows the server's words is believed: S3 says by 400 that a token has expired. */
static void test_a_judge_of_its_own(void **state)
{
	struct delivery *d = begin();

	(void)state;
	there.judge = try_again;
	there.status = 400;
	for (int i = 0; i < 100; i++)
		assert_int_equal(send_later(d, "x", 60), -EAGAIN);
	there.status = 500;
	for (int i = 0; i < 10; i++)
		assert_int_equal(send_later(d, "x", 60), -EAGAIN);
	assert_int_equal(send_later(d, "x", 60), -EBADMSG);
	delivery__free(d);
}

static void test_failures_of_one_request(void **state)
{
	(void)state;
	what_fails_there_is_refused_in_the_end("2", 200);
	what_fails_there_is_refused_in_the_end("13", 200);
	what_fails_there_is_refused_in_the_end("6", 200);
	what_fails_there_is_refused_in_the_end("9", 200);
	for (int status = 400; status < 600; status++) {
		static const char never[] = "401 402 403 404 405 407 408 410 421 425 426 429 ",
				  at_once[] = "400 413 415 422 ";
		char text[8];

		snprintf(text, sizeof(text), "%d ", status);
		if (strstr(at_once, text))
			continue;
		if (status > 500 || strstr(never, text))
			what_is_not_the_requests_is_tried_for_ever(NULL, status);
		else
			what_fails_there_is_refused_in_the_end(NULL, status);
	}
	for (int i = 0; i < 9; i++) {
		static const char *const never[] = { "1",  "4",	 "5",  "7", "10",
						     "12", "14", "15", "16" };

		what_is_not_the_requests_is_tried_for_ever(never[i], 200);
	}
}

/* One that says the same by other bytes each time. */
static void test_failures_of_changing_bytes(void **state)
{
	struct delivery *d = begin();
	char bytes[8];
	int r = -EAGAIN;

	(void)state;
	there.status = 500;
	for (int i = 0; i < 11; i++) {
		const struct delivery_request request = {
			.url = "http://there", .data = bytes, .n = sizeof(bytes), .same_as = 7
		};

		snprintf(bytes, sizeof(bytes), "%7d", i);
		assert_int_equal(r, -EAGAIN);
		there.now_ns += 60 * SECOND;
		r = delivery__send(d, &request, there.now_ns + SECOND, NULL);
	}
	assert_int_equal(r, -EBADMSG);
	delivery__free(d);
}

/* Minutes until the request is refused; the others then go well. */
static int minutes_until_refused(struct delivery *d, const char *bytes)
{
	int minutes = 0;

	there.status = 500;
	while (send_later(d, bytes, 60) == -EAGAIN)
		minutes++;
	/* As often as the writer has it refused. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(send_later(d, bytes, 1), -EBADMSG);
	there.status = 200;
	assert_int_equal(send_later(d, "fine", 0), 0);
	return minutes;
}

/* A kind of request that the other side stumbles over again and again holds up the others less and less. */
static void test_what_is_learned(void **state)
{
	static const int want[] = { 10, 4, 4, 4 }; /* five answers, a minute apart, at least */
	struct delivery *d = begin();

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		char bytes[8];

		snprintf(bytes, sizeof(bytes), "bad %zu", i);
		assert_int_equal(minutes_until_refused(d, bytes), want[i]);
	}
	/* It fails over all: three are given up quickly, the others are not. */
	there.status = 500;
	for (int i = 0; i < 4; i++) {
		char bytes[8];
		int minutes = 0;

		snprintf(bytes, sizeof(bytes), "any %d", i);
		while (send_later(d, bytes, 60) == -EAGAIN)
			minutes++;
		assert_int_equal(minutes, i < 3 ? 4 : 10);
		assert_int_equal(send_later(d, bytes, 1), -EBADMSG);
	}
	delivery__free(d);
}

/* Those that are on their way together fail together: one at a time is given up, unless others go well. */
static void test_failures_of_several(void **state)
{
	struct delivery *a = begin(), *b = begin_again();
	int n_refused = 0;

	(void)state;
	delivery__share_patience(b, a);
	there.status = 500;
	for (int i = 0; i < 12; i++) {
		n_refused += send_later(a, "a", 60) == -EBADMSG;
		n_refused += send_later(b, "b", 0) == -EBADMSG && i < 11;
	}
	/* "a" from the tenth minute on; "b" not before the twentieth. */
	assert_int_equal(n_refused, 2);
	there.status = 200;
	assert_int_equal(send_later(a, "fine", 0), 0);
	there.status = 500;
	assert_int_equal(send_later(b, "b", 0), -EBADMSG);
	delivery__free(b);
	delivery__free(a);
}

/* A server that is away, or busy, says nothing of the request; and begins the count anew. */
static void test_a_server_that_is_away(void **state)
{
	struct delivery *d = begin();

	(void)state;
	there.grpc_status = "14";
	for (int i = 0; i < 100; i++)
		assert_int_equal(send_later(d, "x", 60), -EAGAIN);
	there.grpc_status = "2";
	for (int i = 0; i < 10; i++)
		assert_int_equal(send_later(d, "x", 60), -EAGAIN);
	there.grpc_status = "14";
	assert_int_equal(send_later(d, "x", 60), -EAGAIN);
	there.grpc_status = "2";
	for (int i = 0; i < 10; i++)
		assert_int_equal(send_later(d, "x", 60), -EAGAIN);
	there.grpc_status = "0";
	assert_int_equal(send_later(d, "x", 60), 0);
	there.grpc_status = NULL;
	there.fault = -EIO;
	for (int i = 0; i < 100; i++)
		assert_int_equal(send_later(d, "x", 60), -EAGAIN);
	delivery__free(d);
}

/* What it asks for in seconds: nobody asks it before. */
static void is_asked_again_after(const char *grpc_status, const char *name, const char *value,
				 int64_t seconds)
{
	struct delivery *d = begin();

	there.grpc_status = grpc_status;
	there.status = grpc_status ? 200 : 503;
	there.more = (struct dcm_http_header){ str__of(name), str__of(value) };
	assert_int_equal(send_later(d, "x", 0), -EAGAIN);
	if (seconds > 0) {
		assert_int_equal(send_later(d, "x", seconds - 1), -EAGAIN);
		assert_int_equal(there.n_requests, 1);
		there.now_ns += SECOND;
	}
	assert_int_equal(send_later(d, "x", 0), -EAGAIN);
	assert_int_equal(there.n_requests, 2);
	delivery__free(d);
}

static void test_patience(void **state)
{
	(void)state;
	is_asked_again_after(NULL, "retry-after", "120", 120);
	is_asked_again_after("14", "retry-after", "7", 7);
	is_asked_again_after("14", "grpc-retry-pushback-ms", "30000", 30);
	is_asked_again_after(NULL, "retry-after", "Wed, 21 Oct 2015 07:29:30 GMT", 90);
	/* An hour at most. */
	is_asked_again_after(NULL, "retry-after", "86400", 3600);
	is_asked_again_after(NULL, "retry-after", "9223372036854775807", 3600);
	is_asked_again_after(NULL, "retry-after", "Fri, 31 Dec 9999 23:59:59 GMT", 3600);
	is_asked_again_after("14", "grpc-retry-pushback-ms", "86400000", 3600);
	/* What is past, and what is none. */
	is_asked_again_after(NULL, "retry-after", "Wed, 21 Oct 2015 07:00:00 GMT", 0);
	is_asked_again_after(NULL, "retry-after", "soon", 0);
	is_asked_again_after(NULL, "retry-after", "-5", 0);
	is_asked_again_after(NULL, "retry-after", "", 0);
}

static int send_for(const char *const *types, const char *header, struct dcm_error *err)
{
	struct delivery *d = begin_again();
	const struct delivery_request request = {
		.url = "http://there", .data = "x", .n = 1, .answer_types = types, .answer_header = header
	};
	int r = delivery__send(d, &request, there.now_ns + SECOND, err);

	delivery__free(d);
	return r;
}

/* A page that says 200 has taken nothing. */
static void test_pages(void **state)
{
	static const char *const proto[] = { "application/proto", NULL };
	static const char *const json[] = { "application/x-protobuf", "application/json", NULL };
	static const struct {
		const char *type, *body;
		const char *const *types;
		const char *header;
		int fault, rc;
	} cases[] = {
		{ "", "", NULL, NULL, 0, 0 },
		{ "text/html", "", NULL, NULL, 0, -EAGAIN },
		{ "Text/HTML; charset=utf-8", "<p>It works!</p>", NULL, NULL, 0, -EAGAIN },
		{ "text/plain", "ok", NULL, NULL, 0, 0 },
		{ "text/plain", "ok", proto, NULL, 0, -EAGAIN },
		{ "", "ok", proto, NULL, 0, -EAGAIN },
		{ "", "{}", proto, NULL, 0, -EAGAIN },
		/* An empty object is one without saying so; another may say anything. */
		{ "text/plain; charset=utf-8", "{}", json, NULL, 0, 0 },
		{ "", "{}\n", json, NULL, 0, 0 },
		{ "", "{", json, NULL, 0, -EAGAIN },
		{ "text/plain", "{\"error\":\"quota\"}", json, NULL, 0, -EAGAIN },
		{ "application/problem+json", "{}", json, NULL, 0, -EAGAIN },
		{ "text/plain", "ok", json, NULL, 0, -EAGAIN },
		{ "text/html", "{}", json, NULL, 0, -EAGAIN },
		{ "", "", proto, NULL, 0, 0 },
		{ "application/proto", "ok", proto, NULL, 0, 0 },
		{ "application/proto; v=1", "ok", proto, NULL, 0, 0 },
		{ "application/proto", "ok", NULL, "etag", 0, -EAGAIN },
		{ "application/proto", "ok", NULL, "content-type", 0, 0 },
		/* It is a yes, and too long to be read. */
		{ "application/proto", "", proto, NULL, -EFBIG, 0 },
		{ "text/html", "", proto, NULL, -EFBIG, -EAGAIN },
		{ "application/proto", "", proto, NULL, -ECONNRESET, -EAGAIN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;

		memset(&there, 0, sizeof(there));
		there.status = 200;
		there.fault = cases[i].fault;
		there.body = cases[i].body;
		if (cases[i].type[0])
			there.more = (struct dcm_http_header){ STR("content-type"),
							       str__of(cases[i].type) };
		if (send_for(cases[i].types, cases[i].header, &err) != cases[i].rc)
			fail_msg("case %zu: %s", i, err.text);
		assert_true(cases[i].rc == 0 || cases[i].fault == -ECONNRESET ||
			    strstr(err.text, "does url lead to a login page"));
	}
}

static void test_redirects(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	memset(&there, 0, sizeof(there));
	there.status = 302;
	there.body = "";
	there.more = (struct dcm_http_header){ STR("location"), STR("https://there/login") };
	assert_int_equal(send_for(NULL, NULL, &err), -EAGAIN);
	assert_non_null(strstr(err.text, "answered 302, and a POST does not follow that: write the "
					 "address as url, or sign in, to https://there/login"));
	assert_true(there.keeps_method);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_answers_of_grpc),
		cmocka_unit_test(test_first_answers_of_http),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_redirects),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_the_servers_words),
		cmocka_unit_test(test_a_judge_of_its_own),
		cmocka_unit_test(test_failures_of_one_request),
		cmocka_unit_test(test_failures_of_changing_bytes),
		cmocka_unit_test(test_what_is_learned),
		cmocka_unit_test(test_failures_of_several),
		cmocka_unit_test(test_a_server_that_is_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
