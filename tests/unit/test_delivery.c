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
	unsigned n_requests;
} there;

static int64_t mono_ns(const struct dcm_host *h)
{
	(void)h;
	return there.now_ns;
}

static int start(struct dcm_http_client *client, const struct dcm_http_call *c, uint64_t *ret_id,
		 struct dcm_error *err)
{
	const struct dcm_http_header trailer = { STR("grpc-status"), str__of(there.grpc_status) };
	const struct dcm_http_reply reply = { .size = sizeof(reply),
					      .status = there.status,
					      .fault = there.fault,
					      .sentence = "away",
					      .headers = &trailer,
					      .n_headers = there.grpc_status != NULL,
					      .data = (const uint8_t *)there.body,
					      .n = strlen(there.body) };

	(void)client;
	(void)ret_id;
	(void)err;
	there.n_requests++;
	c->done(c->ctx, &reply);
	return 0;
}

static const struct dcm_host host = { .size = sizeof(host), .mono_ns = mono_ns, .http_start = start };

static struct delivery *begin(void)
{
	struct delivery *d;

	memset(&there, 0, sizeof(there));
	there.now_ns = SECOND;
	there.status = 200;
	there.body = "";
	d = delivery__new(&host, NULL);
	assert_non_null(d);
	return d;
}

/* Of gRPC unless there is no status of it to come. */
static int send_bytes(struct delivery *d, const char *bytes, struct dcm_error *err)
{
	const struct delivery_request request = { .url = "http://there",
						  .grpc = there.grpc_status != NULL,
						  .data = bytes,
						  .n = strlen(bytes) };

	return delivery__send(d, &request, there.now_ns + SECOND, err);
}

static int send_later(struct delivery *d, const char *bytes, int64_t seconds)
{
	struct dcm_error err = DCM_ERROR_INIT;

	there.now_ns += seconds * SECOND;
	return send_bytes(d, bytes, &err);
}

static void test_first_answers(void **state)
{
	static const struct {
		const char *grpc;
		int status, rc;
	} cases[] = {
		{ "0", 200, 0 },	 { "2", 200, -EAGAIN },	  { "3", 200, -EBADMSG },
		{ "8", 200, -EAGAIN },	 { "11", 200, -EBADMSG }, { "13", 200, -EAGAIN },
		{ "14", 200, -EAGAIN },	 { "16", 200, -EAGAIN },  { NULL, 200, 0 },
		{ NULL, 400, -EBADMSG }, { NULL, 401, -EAGAIN },  { NULL, 413, -EBADMSG },
		{ NULL, 422, -EBADMSG }, { NULL, 429, -EAGAIN },  { NULL, 500, -EAGAIN },
		{ NULL, 503, -EAGAIN },
	};
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct delivery *d = begin();

		there.grpc_status = cases[i].grpc;
		there.status = cases[i].status;
		assert_int_equal(send_bytes(d, "x", &err), cases[i].rc);
		delivery__free(d);
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

static void test_failures_of_one_request(void **state)
{
	(void)state;
	what_fails_there_is_refused_in_the_end("2", 200);
	what_fails_there_is_refused_in_the_end("13", 200);
	what_fails_there_is_refused_in_the_end(NULL, 500);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_answers),
		cmocka_unit_test(test_the_servers_words),
		cmocka_unit_test(test_failures_of_one_request),
		cmocka_unit_test(test_failures_of_changing_bytes),
		cmocka_unit_test(test_a_server_that_is_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
