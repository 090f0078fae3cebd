/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_grpc.c - calls taken out of their frames, and answers put into them
 */
#include <nettle/base64.h>
#include <string.h>

#include "core/base/grpc_timeout.h"
#include "core/base/str.h"
#include "core/deflate/deflate.h"
#include "core/net/grpc.h"
#include "tests/unit/unit.h"

enum { MOST = 1000 };

struct call {
	struct dcm_field fields[2];
	struct http_request request;
	struct http_response response;
	struct buf room, trailers;
};

static void begin(struct call *c, const char *type, const char *encoding, const void *body, size_t n)
{
	*c = (struct call){ .fields = { { STR("content-type"), str__of(type) },
					{ STR("grpc-encoding"), str__of(encoding) } },
			    .response.status = 200 };
	c->request.headers = c->fields;
	c->request.n_headers = 2;
	c->request.body = (struct dcm_str){ body, (uint32_t)n };
}

static bool open_call(struct call *c)
{
	return grpc__open(grpc__form(&c->request), &c->request, MOST, &c->room, &c->response);
}

static void end(struct call *c)
{
	http_response__fini(&c->response);
	buf__fini(&c->room);
	buf__fini(&c->trailers);
}

static void assert_message(struct call *c, const char *want)
{
	assert_true(open_call(c));
	assert_int_equal(c->request.body.n, strlen(want));
	assert_memory_equal(c->request.body.p, want, strlen(want));
	end(c);
}

static void assert_refused(struct call *c, int status, const char *part)
{
	assert_false(open_call(c));
	assert_int_equal(c->response.status, status);
	if (!strstr((const char *)c->response.detail.data, part))
		fail_msg("\"%s\" is not in: %s", part, (const char *)c->response.detail.data);
	end(c);
}

static void test_forms(void **state)
{
	static const struct {
		const char *type;
		enum grpc_form form;
	} rows[] = { { "application/grpc", GRPC_HTTP2 },
		     { "application/grpc+proto", GRPC_HTTP2 },
		     { "application/grpc;charset=utf-8", GRPC_HTTP2 },
		     { "application/grpc-web", GRPC_WEB },
		     { "application/grpc-web+proto", GRPC_WEB },
		     { "application/grpc-web-text", GRPC_WEB_TEXT },
		     { "application/grpc-web-text+proto", GRPC_WEB_TEXT },
		     { "application/grpc-webb", GRPC_NONE },
		     { "application/grpcs", GRPC_NONE },
		     { "application/json", GRPC_NONE },
		     { "", GRPC_NONE } };
	struct call c;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(&c, rows[i].type, "", "", 0);
		assert_int_equal(grpc__form(&c.request), rows[i].form);
	}
}

static void test_encodings(void **state)
{
	static const char *const read[] = { "application/grpc",
					    "application/grpc+proto",
					    "application/grpc+proto; charset=utf-8",
					    "application/grpc;a=b+c",
					    "application/grpc-web",
					    "application/grpc-web+proto",
					    "application/grpc-web-text+proto" };
	static const char *const not_read[] = {
		"application/grpc+json",     "application/grpc+",
		"application/grpc+proto2",   "application/grpc+pro",
		"application/grpc-web+json", "application/grpc-web+thrift;a=b"
	};
	struct call c;

	(void)state;
	for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++) {
		begin(&c, read[i], "", "", 0);
		assert_true(grpc__is_protobuf(&c.request));
	}
	for (size_t i = 0; i < sizeof(not_read) / sizeof(not_read[0]); i++) {
		begin(&c, not_read[i], "", "", 0);
		assert_int_not_equal(grpc__form(&c.request), GRPC_NONE);
		assert_false(grpc__is_protobuf(&c.request));
	}
}

static void test_messages(void **state)
{
	struct call c;

	(void)state;
	begin(&c, "application/grpc", "", "\0\0\0\0\5hello", 10);
	assert_message(&c, "hello");
	begin(&c, "application/grpc", "", "\0\0\0\0\0", 5);
	assert_message(&c, "");
	/* Two pieces of base64, each with its padding. */
	begin(&c, "application/grpc-web-text", "", "AAAAAAU=aGVsbG8=", 16);
	assert_message(&c, "hello");
	begin(&c, "application/grpc-web-text", "", "AAAAAAVoZWxsbw==", 16);
	assert_message(&c, "hello");
}

static void test_no_messages(void **state)
{
	static const char zeros[5 + MOST + 1] = { 0, 0, 0, (MOST + 1) >> 8, (MOST + 1) & 0xff };
	struct call c;

	(void)state;
	begin(&c, "application/grpc", "", "", 0);
	assert_refused(&c, 400, "there is none");
	begin(&c, "application/grpc", "", "\0\0\0\0", 4);
	assert_refused(&c, 400, "there is none");
	begin(&c, "application/grpc", "", "\0\0\0\0\6hello", 10);
	assert_refused(&c, 400, "shorter");
	begin(&c, "application/grpc", "", "\0\377\377\377\377hello", 10);
	assert_refused(&c, 400, "shorter");
	begin(&c, "application/grpc", "", "\0\0\0\0\1a\0\0\0\0\1b", 12);
	assert_refused(&c, 501, "takes one");
	begin(&c, "application/grpc", "", "\2\0\0\0\5hello", 10);
	assert_refused(&c, 400, "first byte");
	begin(&c, "application/grpc", "", zeros, sizeof(zeros));
	assert_refused(&c, 413, "too large");
	begin(&c, "application/grpc-web-text", "", "AAAA!AU=", 8);
	assert_refused(&c, 400, "base64");
	begin(&c, "application/grpc-web-text", "", "AAAAAAVoZWxsbw", 14);
	assert_refused(&c, 400, "base64");
}

static void put_packed(struct buf *to, const void *data, size_t n)
{
	struct buf packed = { 0 };
	uint8_t head[5] = { 1 };

	assert_int_equal(deflate__pack(data, n, 6, &packed), 0);
	head[3] = (uint8_t)(packed.n >> 8);
	head[4] = (uint8_t)packed.n;
	buf__append(to, head, sizeof(head));
	buf__append(to, packed.data, packed.n);
	buf__fini(&packed);
}

static void test_packed(void **state)
{
	static const char zeros[MOST + 1];
	struct buf body = { 0 }, text = { 0 };
	struct call c;

	(void)state;
	put_packed(&body, "hello", 5);
	begin(&c, "application/grpc", "gzip", body.data, body.n);
	assert_message(&c, "hello");
	begin(&c, "application/grpc", "snappy", body.data, body.n);
	assert_refused(&c, 501, "snappy");
	begin(&c, "application/grpc", "", body.data, body.n);
	assert_refused(&c, 501, "unpacks");
	base64_encode_raw((char *)buf__reserve(&text, BASE64_ENCODE_RAW_LENGTH(body.n)), body.n,
			  body.data);
	text.n = BASE64_ENCODE_RAW_LENGTH(body.n);
	begin(&c, "application/grpc-web-text", "gzip", text.data, text.n);
	assert_message(&c, "hello");
	begin(&c, "application/grpc", "gzip", body.data, body.n);
	body.data[8] ^= 0xff;
	assert_refused(&c, 400, "message");
	buf__reset(&body);
	put_packed(&body, zeros, sizeof(zeros));
	begin(&c, "application/grpc", "gzip", body.data, body.n);
	assert_refused(&c, 413, "message");
	buf__fini(&body);
	buf__fini(&text);
}

static void test_answers(void **state)
{
	/* python3: base64.b64encode(b"\0\0\0\0\2hi\x80\0\0\0\x10grpc-status: 0\r\n") */
	static const char text[] = "AAAAAAJoaYAAAAAQZ3JwYy1zdGF0dXM6IDANCg==";
	struct call c;

	(void)state;
	begin(&c, "", "", "", 0);
	buf__text(&c.response.body, "hello");
	grpc__close(GRPC_HTTP2, &c.response, &c.trailers);
	assert_int_equal(c.response.body.n, 10);
	assert_memory_equal(c.response.body.data, "\0\0\0\0\5hello", 10);
	assert_string_equal((const char *)c.trailers.data, "grpc-status: 0\r\n");
	assert_string_equal(c.response.content_type, "application/grpc");
	end(&c);

	begin(&c, "", "", "", 0);
	http_response__problem(&c.response, 413, "100%% of \"%s\"", "\xc3\xa4\n");
	grpc__close(GRPC_WEB, &c.response, &c.trailers);
	assert_int_equal(c.response.status, 200);
	assert_memory_equal(c.response.body.data, "\200\0\0\0", 4);
	assert_string_equal((const char *)c.response.body.data + 5,
			    "grpc-status: 8\r\ngrpc-message: 100%25 of \"%C3%A4%0A\"\r\n");
	assert_int_equal(c.response.body.data[4], c.response.body.n - 5);
	end(&c);

	begin(&c, "", "", "", 0);
	buf__text(&c.response.body, "hi");
	grpc__close(GRPC_WEB_TEXT, &c.response, &c.trailers);
	assert_int_equal(c.response.body.n, strlen(text));
	assert_memory_equal(c.response.body.data, text, strlen(text));
	end(&c);
}

/* What a client does again is 14 alone: so is all that passes, and nothing else. */
static void test_statuses(void **state)
{
	static const int rows[][2] = { { 400, 3 },  { 401, 16 }, { 403, 7 },  { 404, 5 },
				       { 405, 12 }, { 409, 9 },	 { 413, 8 },  { 415, 3 },
				       { 421, 7 },  { 422, 3 },	 { 429, 14 }, { 499, 1 },
				       { 500, 13 }, { 501, 12 }, { 503, 14 }, { 504, 4 },
				       { 507, 14 }, { 418, 2 } };
	char want[32];
	struct call c;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(&c, "", "", "", 0);
		http_response__problem(&c.response, rows[i][0], "no");
		grpc__close(GRPC_HTTP2, &c.response, &c.trailers);
		snprintf(want, sizeof(want), "grpc-status: %d\r\n", rows[i][1]);
		assert_memory_equal(c.trailers.data, want, strlen(want));
		assert_int_equal(c.response.body.n, 0);
		end(&c);
	}
}

static void test_timeouts(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = { { "", INT64_MAX },
		     { "5n", 5 },
		     { "7u", 7000 },
		     { "250m", 250000000 },
		     { "10S", 10000000000 },
		     { "2M", 120000000000 },
		     { "1H", 3600000000000 },
		     { "99999999H", INT64_MAX },
		     { "S", -1 },
		     { "1", -1 },
		     { "123456789S", -1 },
		     { "-1S", -1 },
		     { "1 S", -1 },
		     { "1s", -1 } };
	struct dcm_field field = { STR("grpc-timeout"), { 0 } };
	struct http_request request = { .headers = &field, .n_headers = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		field.value = str__of(rows[i].text);
		assert_int_equal(grpc__timeout_ns(&request), rows[i].ns);
	}
}

static void test_said_timeouts(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = { { -7, "1m" },
		     { 999999, "1m" },
		     { 1999999, "1m" },
		     { 30000000000, "30000m" },
		     { INT64_MAX, "99999999m" } };
	char text[GRPC_TIMEOUT_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(grpc_timeout__format(rows[i].ns, text), strlen(rows[i].text));
		assert_string_equal(text, rows[i].text);
		assert_true(grpc_timeout__read(str__of(text)) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),	      cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_messages),      cmocka_unit_test(test_no_messages),
		cmocka_unit_test(test_packed),	      cmocka_unit_test(test_answers),
		cmocka_unit_test(test_statuses),      cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_said_timeouts),
	};

	return cmocka_run_group_tests_name("grpc", tests, NULL, NULL);
}
