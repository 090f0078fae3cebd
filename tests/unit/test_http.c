/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_http.c - targets, percent-decoding, routes, problems
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "core/base/str.h"
#include "core/net/http.h"

static struct dcm_str decode(struct arena *a, const char *s, bool plus)
{
	return http__decode(a, str__of(s), plus);
}

static void test_decode(void **state)
{
	struct arena a = { 0 };

	(void)state;
	assert_string_equal(decode(&a, "a%20b%2Fc", false).p, "a b/c");
	assert_string_equal(decode(&a, "a+b", true).p, "a b");
	assert_string_equal(decode(&a, "a+b", false).p, "a+b");
	assert_string_equal(decode(&a, "%E2%82%AC", false).p, "\xe2\x82\xac");
	assert_null(decode(&a, "%", false).p);
	assert_null(decode(&a, "%2", false).p);
	assert_null(decode(&a, "%zz", false).p);
	assert_null(decode(&a, "a%00b", false).p);
	arena__fini(&a);
}

/* Every byte, escaped, comes back. */
static void test_decode_round_trip(void **state)
{
	struct arena a = { 0 };

	(void)state;
	for (unsigned c = 1; c < 256; c++) {
		char text[8];
		struct dcm_str s;

		snprintf(text, sizeof(text), "%%%02x", c);
		s = decode(&a, text, true);
		assert_int_equal(s.n, 1);
		assert_int_equal((unsigned char)s.p[0], c);
	}
	arena__fini(&a);
}

static void test_target(void **state)
{
	struct arena a = { 0 };
	struct http_request r = { .arena = &a };

	(void)state;
	assert_int_equal(http_request__set_target(&r, STR("/x/y?q=a%26b&empty&z=&&q=2")), 0);
	assert_true(str__eq(r.path, STR("/x/y")));
	assert_int_equal(r.n_params, 4);
	assert_true(str__eq(http_request__param(&r, "q"), STR("a&b")));
	assert_true(str__eq(r.params[3].value, STR("2")));
	assert_non_null(http_request__param(&r, "empty").p);
	assert_null(http_request__param(&r, "nothing").p);
	assert_null(r.authority.p);
	assert_int_equal(http_request__set_target(&r, STR("http://other:80/x?q=1")), 0);
	assert_true(str__eq(r.authority, STR("other:80")));
	assert_true(str__eq(r.path, STR("/x")));
	assert_int_equal(http_request__set_target(&r, STR("HTTPS://[::1]?q=1")), 0);
	assert_true(str__eq(r.authority, STR("[::1]")));
	assert_true(str__eq(r.path, STR("/")));
	assert_true(str__eq(http_request__param(&r, "q"), STR("1")));
	assert_int_equal(http_request__set_target(&r, STR("http://")), -EINVAL);
	assert_int_equal(http_request__set_target(&r, STR("http:///x")), -EINVAL);
	assert_int_equal(http_request__set_target(&r, STR("http://a@b/x")), -EINVAL);
	assert_int_equal(http_request__set_target(&r, STR("ftp://b/x")), -EINVAL);
	assert_int_equal(http_request__set_target(&r, STR("")), -EINVAL);
	assert_int_equal(http_request__set_target(&r, STR("/x?%zz=1")), -EINVAL);
	arena__fini(&a);
}

static void test_too_many_params(void **state)
{
	struct arena a = { 0 };
	struct http_request r = { .arena = &a };
	struct buf b = { 0 };

	(void)state;
	buf__text(&b, "/x?");
	for (int i = 0; i < 300; i++)
		buf__text(&b, "a=1&");
	assert_int_equal(http_request__set_target(&r, buf__view(&b)), -EINVAL);
	buf__fini(&b);
	arena__fini(&a);
}

static void echo(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct dcm_str name = http_request__path_param(req, "name");

	(void)ctx;
	buf__printf(&resp->body, "%.*s", STR_ARG(name));
}

static struct http_routes *make_routes(void)
{
	struct http_routes *r = http_routes__new();
	const struct http_route rows[] = {
		{ .pattern = "/open", .handler = echo, .quick = true },
		{ .pattern = "/labels/{name}/values", .role = HTTP_ROLE_READ, .handler = echo },
		{ .method = HTTP_POST, .pattern = "/admin", .role = HTTP_ROLE_ADMIN, .handler = echo },
	};

	assert_non_null(r);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(http_routes__add(r, &rows[i]), 0);
	assert_int_equal(http_routes__add(r, &rows[0]), -EEXIST);
	return r;
}

static int status_of(const struct http_routes *r, enum http_method method, const char *target,
		     enum http_role role, const char *want_body)
{
	struct arena a = { 0 };
	struct http_request req = { .arena = &a, .method = method, .role = role };
	struct http_response resp = { .status = 200 };
	int status;

	assert_int_equal(http_request__set_target(&req, str__of(target)), 0);
	http_routes__dispatch(r, &req, &resp);
	status = resp.status;
	if (want_body)
		assert_string_equal((const char *)resp.body.data, want_body);
	/* What is said to answer does: HEAD beside each GET. */
	struct dcm_str allow = http_response__find(&resp, "Allow");
	if (str__starts(allow, STR("GET")))
		assert_true(str__starts(allow, STR("GET, HEAD")));
	http_response__fini(&resp);
	arena__fini(&a);
	return status;
}

static void test_routes(void **state)
{
	struct http_routes *r = make_routes();

	(void)state;
	assert_int_equal(status_of(r, HTTP_GET, "/open", HTTP_ROLE_NONE, NULL), 200);
	assert_int_equal(status_of(r, HTTP_HEAD, "/open", HTTP_ROLE_NONE, NULL), 200);
	assert_int_equal(status_of(r, HTTP_POST, "/open", HTTP_ROLE_ADMIN, NULL), 405);
	assert_int_equal(status_of(r, HTTP_GET, "/open/", HTTP_ROLE_ADMIN, NULL), 404);
	assert_int_equal(status_of(r, HTTP_GET, "/labels/a%2Fb/values", HTTP_ROLE_READ, "a/b"), 200);
	assert_int_equal(status_of(r, HTTP_GET, "/labels//values", HTTP_ROLE_READ, NULL), 404);
	assert_int_equal(status_of(r, HTTP_GET, "/labels/a/b/values", HTTP_ROLE_READ, NULL), 404);
	assert_int_equal(status_of(r, HTTP_GET, "/labels/%zz/values", HTTP_ROLE_READ, NULL), 400);
	assert_int_equal(status_of(r, HTTP_GET, "/labels/a/values", HTTP_ROLE_NONE, NULL), 401);
	assert_int_equal(status_of(r, HTTP_POST, "/admin", HTTP_ROLE_WRITE, NULL), 403);
	assert_int_equal(status_of(r, HTTP_POST, "/admin", HTTP_ROLE_ADMIN, NULL), 200);
	assert_true(http_routes__find(r, HTTP_GET, STR("/open"))->quick);
	assert_false(http_routes__find(r, HTTP_GET, STR("/labels/a/values"))->quick);
	assert_null(http_routes__find(r, HTTP_GET, STR("/nothing")));
	http_routes__free(r);
}

static void test_problem_is_json(void **state)
{
	struct http_response r = { .status = 200 };
	json_t *j;

	(void)state;
	buf__text(&r.body, "half an answer");
	http_response__problem(&r, 404, "no \"%s\" here\n", "x\x01y");
	j = json_loadb((const char *)r.body.data, r.body.n, 0, NULL);
	assert_non_null(j);
	assert_int_equal(json_integer_value(json_object_get(j, "status")), 404);
	assert_string_equal(json_string_value(json_object_get(j, "title")), "Not Found");
	assert_string_equal(r.content_type, "application/problem+json");
	json_decref(j);
	http_response__fini(&r);
}

static void assert_header(const struct http_response *r, const char *name, const char *value)
{
	struct dcm_str found = http_response__find(r, name);

	assert_int_equal(found.n, strlen(value));
	assert_memory_equal(found.p, value, found.n);
}

static void test_further_headers(void **state)
{
	struct http_response r = { .status = 200 };

	(void)state;
	assert_header(&r, "Left-Out", "");
	http_response__header(&r, "Left", "%d", 1);
	http_response__header(&r, "Left-Out", "%s", "a gap");
	assert_header(&r, "left-OUT", "a gap");
	assert_header(&r, "Left", "1");
	assert_header(&r, "Lef", "");
	assert_header(&r, "Left-Out-Too", "");
	http_response__fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),		cmocka_unit_test(test_decode_round_trip),
		cmocka_unit_test(test_target),		cmocka_unit_test(test_too_many_params),
		cmocka_unit_test(test_routes),		cmocka_unit_test(test_problem_is_json),
		cmocka_unit_test(test_further_headers),
	};

	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
