/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_pages.c - files for browsers, answers in gzip, and the base path: by a listener, over a socket
 */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/deflate/deflate.h"
#include "core/net/listener.h"
#include "core/net/pages.h"

enum { LONG_BYTES = 300000 };

static const char script[] = "const answer = 42;\n";
static struct pages *pages;
static struct http_routes *routes;
static struct listener *listener;
static struct stats *stats;
static uint16_t port;

/* `n` bytes of text, or of a file that is packed already. */
static void text(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct dcm_str n = http_request__param(req, "n");

	(void)ctx;
	for (long i = n.n ? strtol(n.p, NULL, 10) : 0; i > 0; i--)
		buf__byte(&resp->body, (uint8_t)('a' + i % 17));
	resp->has_tag = http_request__param(req, "tag").n > 0;
	if (http_request__param(req, "left").n)
		http_response__header(resp, "Decima-Left-Out", "%.*s",
				      STR_ARG(http_request__param(req, "left")));
	if (http_request__param(req, "wrong").n)
		http_response__problem(resp, 400, "wrong");
	if (http_request__param(req, "file").n)
		snprintf(resp->content_type, sizeof(resp->content_type), "application/octet-stream");
}

static int set_up(void **state)
{
	static struct access_rules rules = { .anonymous = HTTP_ROLE_NONE };
	static const struct log quiet = { .fd = -1 };
	const char *addresses[] = { "127.0.0.1:0" };
	const struct http_route rows[] = { { .pattern = "/text", .handler = text },
					   { .pattern = "/api/v1", .handler = text } };
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	pages = pages__new();
	routes = http_routes__new();
	assert_int_equal(stats__new(NULL, &stats), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(http_routes__add(routes, &rows[i]), 0);
	http_routes__set_pages(routes, pages);
	assert_int_equal(listener__new(&(struct listener_options){ .addresses = addresses,
								   .n_addresses = 1,
								   .base_path = "/x/y",
								   .rules = &rules },
				       routes, &quiet, stats, &listener, &err),
			 0);
	assert_int_equal(listener__start(listener, &err), 0);
	port = listener__port(listener, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	listener__free(listener);
	http_routes__free(routes);
	pages__free(pages);
	stats__free(stats);
	return 0;
}

struct answer {
	struct buf all;
	int status;
	const uint8_t *body;
	size_t n;
};

static void forget(struct answer *a)
{
	buf__fini(&a->all);
}

/* headers: further ones, each with its line end */
static struct answer ask(const char *method, const char *target, const char *headers)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct answer a = { 0 };
	char request[1024];
	ssize_t n;

	snprintf(request, sizeof(request),
		 "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n", method, target,
		 headers);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
	while ((n = recv(fd, buf__reserve(&a.all, 65536), 65536, 0)) > 0)
		a.all.n += (size_t)n;
	close(fd);
	buf__append(&a.all, "", 0);
	assert_int_equal(sscanf((const char *)a.all.data, "HTTP/1.1 %d", &a.status), 1);
	a.body = memmem(a.all.data, a.all.n, "\r\n\r\n", 4);
	assert_non_null(a.body);
	((uint8_t *)a.body)[2] = '\0'; /* the head is a text */
	a.body += 4;
	a.n = a.all.n - (size_t)(a.body - a.all.data);
	return a;
}

static bool says(const struct answer *a, const char *line)
{
	char want[256];

	snprintf(want, sizeof(want), "\r\n%s", line);
	return strstr((const char *)a->all.data, want) != NULL;
}

static void assert_unpacks(const struct answer *a, const char *want)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf plain = { 0 };

	assert_int_equal(deflate__unpack(a->body, a->n, 1 << 20, &plain, &err), 0);
	assert_int_equal(plain.n, strlen(want));
	assert_memory_equal(plain.data, want, plain.n);
	buf__fini(&plain);
}

static int offer(const void *owner, const char *path, const char *type, const char *data, bool immutable)
{
	struct dcm_page page = { .size = sizeof(page),
				 .path = path,
				 .type = type,
				 .data = (const uint8_t *)data,
				 .n = strlen(data),
				 .headers = "X-Mine: yes\r\n",
				 .immutable = immutable };
	struct dcm_error err = DCM_ERROR_INIT;

	return pages__offer(pages, owner, &page, &err);
}

static void offer_two(void)
{
	assert_int_equal(offer("me", "/", "text/html; charset=utf-8", "<!doctype html>", false), 0);
	assert_int_equal(offer("me", "/app-1.js", "text/javascript", script, true), 0);
}

static void test_pages(void **state)
{
	(void)state;
	offer_two();
	CLEANUP(forget)
	struct answer a = ask("GET", "/app-1.js", "Accept-Encoding: br, gzip;q=0.5\r\n");
	assert_int_equal(a.status, 200);
	assert_true(says(&a, "Content-Encoding: gzip\r\n") &&
		    says(&a, "Vary: Accept-Encoding\r\n"));
	assert_true(says(&a, "Cache-Control: public, max-age=31536000, immutable\r\n"));
	assert_true(says(&a, "Content-Type: text/javascript\r\n") && says(&a, "X-Mine: yes\r\n"));
	assert_true(says(&a, "X-Content-Type-Options: nosniff\r\n"));
	assert_unpacks(&a, script);

	CLEANUP(forget) struct answer plain = ask("GET", "/app-1.js", "");
	assert_false(says(&plain, "Content-Encoding"));
	assert_int_equal(plain.n, strlen(script));
	assert_memory_equal(plain.body, script, plain.n);

	CLEANUP(forget) struct answer head = ask("HEAD", "/", "");
	assert_int_equal(head.status, 200);
	assert_true(says(&head, "Cache-Control: no-cache\r\n") &&
		    says(&head, "Content-Length: 15\r\n"));
	assert_int_equal(head.n, 0);
	pages__withdraw(pages, "me");
}

/* A page that comes as gzip is answered like others, and what is no gzip, or too much, is not taken. */
static void test_packed_pages(void **state)
{
	static const uint8_t zeros[(16 << 20) + 1];
	CLEANUP(buf__fini) struct buf packed = { 0 }, bomb = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(deflate__pack((const uint8_t *)script, strlen(script), 6, &packed), 0);
	struct dcm_page page = { .size = sizeof(page),
				 .path = "/app-1.js",
				 .type = "text/javascript",
				 .data = packed.data,
				 .n = packed.n,
				 .flags = DCM_PAGE_GZIP };
	assert_int_equal(pages__offer(pages, "me", &page, &err), 0);
	CLEANUP(forget) struct answer a = ask("GET", "/app-1.js", "Accept-Encoding: gzip\r\n");
	assert_true(says(&a, "Content-Encoding: gzip\r\n"));
	assert_int_equal(a.n, packed.n);
	assert_memory_equal(a.body, packed.data, a.n);
	CLEANUP(forget) struct answer plain = ask("GET", "/app-1.js", "");
	assert_int_equal(plain.n, strlen(script));
	assert_memory_equal(plain.body, script, plain.n);

	page.path = "/app-2.js";
	page.n--;
	assert_int_equal(pages__offer(pages, "me", &page, &err), -EINVAL);
	assert_int_equal(strncmp(err.text, "page: /app-2.js: ", 17), 0);
	assert_null(strstr(err.text, ": : "));
	assert_int_equal(deflate__pack(zeros, sizeof(zeros), 1, &bomb), 0);
	page.data = bomb.data;
	page.n = bomb.n;
	assert_int_equal(pages__offer(pages, "me", &page, &err), -E2BIG);
	assert_false(pages__have(pages, STR("/app-2.js")));
	page.flags = 2;
	assert_int_equal(pages__offer(pages, "me", &page, &err), -EINVAL);
	pages__withdraw(pages, "me");
}

/* A plugin of 3.3 has no flags, and behind its last member whatever was there. */
static void test_pages_of_older_plugins(void **state)
{
	struct dcm_page page;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	memset(&page, 0xff, sizeof(page));
	page.size = offsetof(struct dcm_page, flags);
	page.path = "/app-1.js";
	page.type = "text/javascript";
	page.data = (const uint8_t *)script;
	page.n = strlen(script);
	page.headers = NULL;
	page.immutable = true;
	assert_int_equal(pages__offer(pages, "me", &page, &err), 0);
	CLEANUP(forget) struct answer plain = ask("GET", "/app-1.js", "");
	assert_int_equal(plain.n, strlen(script));
	pages__withdraw(pages, "me");
}

/* What the browser has already: by the tag of what it was given. */
static void test_tags(void **state)
{
	char headers[256], tag[64];

	(void)state;
	offer_two();
	CLEANUP(forget) struct answer a = ask("GET", "/", "");
	const char *at = strstr((const char *)a.all.data, "\r\nETag: ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "\r\nETag: %63s", tag), 1);
	snprintf(headers, sizeof(headers), "If-None-Match: \"other\", W/%s\r\n", tag);
	CLEANUP(forget) struct answer known = ask("GET", "/", headers);
	assert_int_equal(known.status, 304);
	assert_int_equal(known.n, 0);
	assert_true(says(&known, "ETag: ") && says(&known, "Cache-Control: no-cache\r\n"));
	snprintf(headers, sizeof(headers), "Accept-Encoding: gzip\r\nIf-None-Match: %s\r\n", tag);
	CLEANUP(forget) struct answer packed = ask("GET", "/", headers);
	assert_int_equal(packed.status, 200);
	CLEANUP(forget) struct answer any = ask("GET", "/", "If-None-Match: *\r\n");
	assert_int_equal(any.status, 304);
	pages__withdraw(pages, "me");
}

/* Addresses of the application, and what is none of its. */
static void test_application(void **state)
{
	static const struct {
		const char *method, *target;
		int status;
	} cases[] = {
		{ "GET", "/", 200 },
		{ "GET", "/explore?q=1", 200 },
		{ "GET", "/compare", 200 },
		{ "HEAD", "/compare", 200 },
		{ "POST", "/compare", 404 },
		{ "GET", "/compare/", 308 },
		{ "HEAD", "/compare/?q=1", 308 },
		{ "POST", "/compare/", 404 },
		{ "GET", "//", 404 },
		{ "GET", "/compare//", 404 },
		{ "GET", "/app-1.js/", 404 },
		{ "GET", "/api/", 404 },
		{ "GET", "/-/", 404 },
		{ "GET", "/a/b", 404 },
		{ "GET", "/app-2.js", 404 },
		{ "GET", "/api", 404 },
		{ "GET", "/api/v1/nothing", 404 },
		{ "GET", "/-/nothing", 404 },
		{ "GET", "/api/v1", 200 },
	};

	(void)state;
	offer_two();
	for (unsigned offered = 2; offered-- > 0;) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			CLEANUP(forget) struct answer a = ask(cases[i].method, cases[i].target, "");
			int want = offered || strcmp(cases[i].target, "/api/v1") == 0 ? cases[i].status
										      : 404;

			if (a.status != want)
				fail_msg("%s %s: %d, not %d", cases[i].method, cases[i].target,
					 a.status, want);
			if (want == 404)
				assert_true(says(&a, "Content-Type: application/problem+json\r\n"));
		}
		pages__withdraw(pages, "me");
	}
}

/* Relative, so that it leads to the same place below whatever is in front of it. */
static void test_a_slash_behind_a_place(void **state)
{
	static const struct {
		const char *target, *location;
	} cases[] = {
		{ "/explore/", "../explore" },
		{ "/x/y/explore/?q=a%2Fb&x", "../explore?q=a%2Fb&x" },
		{ "/a:b/?", "../a:b?" },
		{ "/caf\xc3\xa9/?\xc3\xa9", "../caf%C3%A9?%C3%A9" },
	};

	(void)state;
	offer_two();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(forget) struct answer a = ask("GET", cases[i].target, "");
		char line[128];

		snprintf(line, sizeof(line), "Location: %s\r\n", cases[i].location);
		if (a.status != 308 || !says(&a, line))
			fail_msg("%s: %s", cases[i].target, (const char *)a.all.data);
		assert_true(says(&a, "Cache-Control: no-cache\r\n"));
		assert_int_equal(a.n, 0);
	}
	pages__withdraw(pages, "me");
}

static void test_base_path(void **state)
{
	(void)state;
	offer_two();
	static const struct {
		const char *target;
		int status;
		const char *location;
	} cases[] = { { "/x/y/", 200, NULL },		{ "/x/y/app-1.js", 200, NULL },
		      { "/x/y/explore", 200, NULL },	{ "/x/y/text?n=3", 200, NULL },
		      { "/x/yz", 404, NULL },		{ "/x/y", 308, "/x/y/" },
		      { "/x/y?q=1", 308, "/x/y/?q=1" }, { "/x/y/x/y/", 404, NULL } };
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(forget) struct answer a = ask("GET", cases[i].target, "");

		if (a.status != cases[i].status)
			fail_msg("%s: %d, not %d", cases[i].target, a.status, cases[i].status);
		char line[64];
		snprintf(line, sizeof(line), "Location: %s\r\n",
			 cases[i].location ? cases[i].location : "");
		assert_int_equal(says(&a, line), cases[i].location != NULL);
	}
	pages__withdraw(pages, "me");
}

static void test_owners(void **state)
{
	static char large[(16 << 20) + 2];

	(void)state;
	offer_two();
	assert_int_equal(offer("other", "/app-1.js", "text/javascript", "x", false), -EEXIST);
	assert_int_equal(offer("other", "/app-2.js", "text/javascript", "x", false), 0);
	assert_int_equal(offer("other", "app.js", "text/javascript", "x", false), -EINVAL);
	memset(large, 'x', sizeof(large) - 1);
	assert_int_equal(offer("other", "/large.js", "text/javascript", large, false), -EINVAL);
	pages__withdraw(pages, "me");
	assert_false(pages__have(pages, STR("/app-1.js")));
	assert_true(pages__have(pages, STR("/app-2.js")));
	pages__withdraw(pages, "other");
	assert_false(pages__have(pages, STR("/app-2.js")));
}

/* Answers that are no pages: text that is worth it, for those who take it. */
static void test_packed_answers(void **state)
{
	static const struct {
		const char *target, *headers;
		bool packed;
	} cases[] = {
		{ "/text?n=2000", "Accept-Encoding: gzip, deflate\r\n", true },
		{ "/text?n=300000", "Accept-Encoding: gzip\r\n", true },
		{ "/text?n=2000", "Accept-Encoding: *\r\n", true },
		{ "/text?n=2000", "Accept-Encoding: *;q=0, GZIP\r\n", true },
		{ "/text?n=2000", "Accept-Encoding: *, gzip;q=0\r\n", false },
		{ "/text?n=2000", "Accept-Encoding: gzip ; q=0.000\r\n", false },
		{ "/text?n=2000", "Accept-Encoding: identity\r\n", false },
		{ "/text?n=2000", "Accept-Encoding: xgzip\r\n", false },
		{ "/text?n=2000", "Accept-Encoding:\r\n", false },
		{ "/text?n=2000", "", false },
		{ "/text?n=100", "Accept-Encoding: gzip\r\n", false },
		{ "/text?n=2000&file=1", "Accept-Encoding: gzip\r\n", false },
	};
	static char want[LONG_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(forget) struct answer a = ask("GET", cases[i].target, cases[i].headers);
		long n = strtol(strchr(cases[i].target, '=') + 1, NULL, 10);

		for (long k = n; k > 0; k--)
			want[n - k] = (char)('a' + k % 17);
		want[n] = '\0';
		if (says(&a, "Content-Encoding: gzip\r\n") != cases[i].packed)
			fail_msg("%s %s", cases[i].target, cases[i].headers);
		if (cases[i].packed)
			assert_unpacks(&a, want);
		else
			assert_memory_equal(a.body, want, (size_t)n);
		assert_int_equal(says(&a, "Vary: Accept-Encoding\r\n"),
				 n > 1400 && !strstr(cases[i].target, "file"));
	}
}

static void tag_of(const char *target, const char *headers, char tag[64])
{
	CLEANUP(forget) struct answer a = ask("GET", target, headers);
	const char *at = strstr((const char *)a.all.data, "\r\nETag: W/");

	assert_int_equal(a.status, 200);
	assert_non_null(at);
	assert_int_equal(sscanf(at, "\r\nETag: %60[^\r]", tag), 1);
	assert_true(says(&a, "Cache-Control: private, no-cache\r\n"));
}

/* Answers that have a tag: who has what they say is told so, in whatever coding, and nobody else. */
static void test_tagged_answers(void **state)
{
	char tag[64], other[64], headers[160];

	(void)state;
	tag_of("/text?n=2000&tag=1", "", tag);
	tag_of("/text?n=2000&tag=1", "Accept-Encoding: gzip\r\n", other);
	assert_string_equal(tag, other);
	tag_of("/text?n=2001&tag=1", "", other);
	assert_string_not_equal(tag, other);
	tag_of("/text?n=2000&tag=1&left=7", "", other);
	assert_string_not_equal(tag, other);
	snprintf(headers, sizeof(headers), "Accept-Encoding: gzip\r\nIf-None-Match: \"x\", %s\r\n", tag);
	CLEANUP(forget) struct answer same = ask("GET", "/text?n=2000&tag=1", headers);
	assert_int_equal(same.status, 304);
	assert_int_equal(same.n, 0);
	assert_true(says(&same, "ETag: W/") && says(&same, "Vary: Accept-Encoding\r\n"));
	assert_false(says(&same, "Content-Encoding"));
	CLEANUP(forget) struct answer changed = ask("GET", "/text?n=2001&tag=1", headers);
	assert_int_equal(changed.status, 200);
	assert_true(changed.n > 0);
	CLEANUP(forget) struct answer untagged = ask("GET", "/text?n=2000", headers);
	assert_int_equal(untagged.status, 200);
	assert_true(says(&untagged, "Cache-Control: no-store\r\n") && !says(&untagged, "ETag"));
	CLEANUP(forget)
	struct answer wrong = ask("GET", "/text?n=2000&tag=1&wrong=1", "If-None-Match: *\r\n");
	assert_int_equal(wrong.status, 400);
	assert_false(says(&wrong, "ETag"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_slash_behind_a_place),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_packed_pages),
		cmocka_unit_test(test_pages_of_older_plugins),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_application),
		cmocka_unit_test(test_owners),
		cmocka_unit_test(test_base_path),
		cmocka_unit_test(test_packed_answers),
		cmocka_unit_test(test_tagged_answers),
	};

	return cmocka_run_group_tests_name("pages", tests, set_up, tear_down);
}
