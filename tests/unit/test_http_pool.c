/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_http_pool.c - calls to a real server that behaves well and badly
 *
 * The server is tests/programs/http_server: Go's net/http and crypto/tls, which know nothing of us.
 */
#include "core/net/http_pool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <curl/curl.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/net/http_fault.h"
#include "tests/unit/http_asking.h"
#include "tests/unit/unit.h"

/* ------------------------------------------------------------------------------------------------
 * Requests and answers
 */

static void sends_what_is_asked(void **state)
{
	NEEDS_PEER;
	const struct dcm_http_header headers[] = { { STR("X-One"), STR("1") },
						   { STR("Empty"), STR("") } };
	struct dcm_http_client *c = client_of(&plain);
	struct answer a = { 0 };
	char url[200];

	snprintf(url, sizeof(url), "%s/echo?q=%%20#part", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .headers = headers, .n_headers = 2 }, &a);
	expect(&a, 200);
	assert_true(answer__has(&a, "GET HTTP/1.1 127.0.0.1:"));
	assert_true(answer__has(&a, "/echo?q=%20\n"));
	assert_true(answer__has(&a, "User-Agent: decima/test\n"));
	assert_true(answer__has(&a, "X-One: 1\nbody \n"));
	assert_true(answer__has(&a, "Empty: \n"));
	assert_true(answer__has(&a, "Accept-Encoding: gzip, deflate"));
	assert_false(answer__has(&a, "Authorization"));
	ask_with(c, (struct dcm_http_call){ .url = url, .method = "POST", .body = "hello", .n_body = 5 },
		 &a);
	assert_true(answer__has(&a, "POST "));
	assert_true(answer__has(&a, "body hello\n"));
	assert_false(answer__has(&a, "Content-Type"));
	assert_false(answer__has(&a, "Expect"));
	ask_with(c, (struct dcm_http_call){ .url = url, .method = "PUT", .body = "x", .n_body = 1 }, &a);
	assert_true(answer__has(&a, "PUT "));
	ask_with(c, (struct dcm_http_call){ .url = url, .method = "DELETE" }, &a);
	assert_true(answer__has(&a, "DELETE "));
	ask_with(c, (struct dcm_http_call){ .url = url, .method = "HEAD" }, &a);
	expect(&a, 200);
	assert_int_equal(a.body.n, 0);
	http_pool__client_free(c);
	answer__fini(&a);
}

static void tells_all_of_the_answer(void **state)
{
	NEEDS_PEER;
	struct answer a = { 0 };

	ask_once(&plain, &a, "http", "/status?code=503");
	expect(&a, 503);
	assert_true(answer__has(&a, "status 503"));
	assert_string_equal(a.sentence, "");
	assert_non_null(strstr((const char *)a.headers.data, "x-twice: one\nx-twice: two\n"));
	assert_int_equal(a.wire_bytes, 10);
	assert_true(a.duration_ns > 0 && a.duration_ns < 50000 * MS);
	ask_once(&plain, &a, "http", "/size?n=3000000");
	expect(&a, 200);
	assert_int_equal(a.body.n, 3000000);
	ask_once(&plain, &a, "http", "/status?code=204");
	expect(&a, 204);
	answer__fini(&a);
}

/* The largest TCP_USER_TIMEOUT of this process's connections to that port, ms. */
static unsigned int unheard_ms(uint16_t port)
{
	unsigned int most = 0;

	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_in peer = { 0 };
		socklen_t n_peer = sizeof(peer), n = sizeof(most);
		unsigned int ms = 0;

		if (getpeername(fd, (struct sockaddr *)&peer, &n_peer) == 0 &&
		    peer.sin_family == AF_INET && ntohs(peer.sin_port) == port &&
		    getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &n) == 0 && ms > most)
			most = ms;
	}
	return most;
}

static void keeps_connections(void **state)
{
	NEEDS_PEER;
	struct dcm_http_client *c = client_of(&plain), *other = client_of(&plain);
	struct answer a = { 0 };

	ask(c, &a, "http", "/size?n=10");
	long before = counted("connections ");
	for (int i = 0; i < 20; i++)
		ask(i % 2 ? c : other, &a, "http", "/size?n=10");
	/* The question about it may have taken one. */
	assert_in_range(counted("connections ") - before, 0, 1);
	/* But none for a quarter of an hour whose other end is gone. tests/e2e/two_hosts.sh lets one go. */
	assert_in_range(unheard_ms((uint16_t)strtol(strrchr(peer__url("http"), ':') + 1, NULL, 10)),
			10000, 30000);
	http_pool__client_free(c);
	http_pool__client_free(other);
	answer__fini(&a);
}

static void refuses_what_cannot_be_asked(void **state)
{
	NEEDS_PEER;
	static const char *const urls[] = { "",
					    "localhost",
					    "ftp://x/",
					    "http://",
					    "http://a b/",
					    "http://x:0/",
					    "http://x:99999/",
					    "unix:rel:/x",
					    "http://x/\r\nA:b",
					    "file:///etc/passwd" };
	struct dcm_http_client *c = client_of(&plain);
	struct answer a = { 0 };

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		const struct dcm_http_call call = {
			.size = sizeof(call), .url = urls[i], .done = answer__done, .ctx = &a
		};

		if (http_pool__start(c, &call, NULL, &err) != -EINVAL)
			fail_msg("%s is taken", urls[i]);
		assert_non_null(strstr(err.text, "write http://"));
	}
	const struct dcm_http_header bad[] = { { STR("A"), STR("b\r\nC: d") },
					       { STR("A B"), STR("c") },
					       { { "A\0b", 3 }, STR("c") } };
	for (size_t i = 0; i < 2; i++) {
		const struct dcm_http_call call = { .size = sizeof(call),
						    .url = "http://127.0.0.1:1/",
						    .headers = &bad[i],
						    .n_headers = 1,
						    .done = answer__done,
						    .ctx = &a };
		assert_int_equal(http_pool__start(c, &call, NULL, NULL), -EINVAL);
	}
	const struct dcm_http_call call = { .size = sizeof(call),
					    .url = "http://127.0.0.1:1/",
					    .method = "GE T",
					    .done = answer__done,
					    .ctx = &a };
	assert_int_equal(http_pool__start(c, &call, NULL, NULL), -EINVAL);
	http_pool__client_free(c);
	assert_int_equal(a.n_done, 0);
}

static void asks_sockets(void **state)
{
	NEEDS_PEER;
	struct dcm_http_client *c = client_of(&plain);
	struct answer a = { 0 };
	char url[400];

	snprintf(url, sizeof(url), "unix:%s:/echo?x=1", peer__file("socket"));
	ask_with(c, (struct dcm_http_call){ .url = url }, &a);
	expect(&a, 200);
	assert_true(answer__has(&a, "GET HTTP/1.1 localhost /echo?x=1"));
	snprintf(url, sizeof(url), "unix:%s:/redirect?to=/echo", peer__file("socket"));
	ask_with(c, (struct dcm_http_call){ .url = url }, &a);
	expect(&a, 200);
	assert_true(answer__has(&a, "/echo"));
	snprintf(url, sizeof(url), "unix:%s:/x", peer__file("nosocket"));
	ask_with(c, (struct dcm_http_call){ .url = url }, &a);
	expect_fault(&a, -ECONNREFUSED, "nosocket:/x: cannot connect: nothing listens on the socket");
	http_pool__client_free(c);
	answer__fini(&a);
}

/* ------------------------------------------------------------------------------------------------
 * Bodies
 */

static void unpacks(void **state)
{
	NEEDS_PEER;
	struct answer a = { 0 };

	ask_once(&plain, &a, "http", "/gzip?n=100000");
	expect(&a, 200);
	assert_int_equal(a.body.n, 100000);
	assert_in_range(a.wire_bytes, 1, 2000);
	ask_once(&plain, &a, "http", "/deflate?n=100000");
	assert_int_equal(a.body.n, 100000);
	answer__fini(&a);
}

static void bounds_bodies(void **state)
{
	NEEDS_PEER;
	struct dcm_http_client *c = client_of(&plain);
	struct answer a = { 0 };
	char url[200];

	snprintf(url, sizeof(url), "%s/size?n=1000", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .max_bytes = 1000 }, &a);
	expect(&a, 200);
	ask_with(c, (struct dcm_http_call){ .url = url, .max_bytes = 999 }, &a);
	expect_fault(&a, -EFBIG, "the answer is larger than 999 bytes");
	/* A bomb: a GiB in a MiB. */
	snprintf(url, sizeof(url), "%s/gzip?n=1073741824", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .max_bytes = 1 << 20 }, &a);
	expect_fault(&a, -EFBIG, "larger than 1048576 bytes");
	assert_in_range(a.body.n, 0, 1 << 20);
	ask_with(c, (struct dcm_http_call){ .url = url, .max_bytes = 1 << 20, .take = answer__take }, &a);
	expect_fault(&a, -EFBIG, "larger than 1048576 bytes");
	assert_in_range(a.taken.n, 1 << 19, 1 << 20);
	snprintf(url, sizeof(url), "%s/endless", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url }, &a);
	expect_fault(&a, -EFBIG, "larger than 67108864 bytes");
	http_pool__client_free(c);
	answer__fini(&a);
}

/* curl takes the square of their number: without a bound, one answer held up all others for minutes. */
static void bounds_heads(void **state)
{
	/* The first three are taken. */
	static const char *const of[] = { "n=400",    "n=3&size=80000", "n=100&early",	 "n=600",
					  "n=100000", "n=4&size=80000", "n=100000&early" };
	NEEDS_PEER;
	struct answer a = { 0 };
	char path[200];

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		snprintf(path, sizeof(path), "/headers?%s", of[i]);
		ask_once(&plain, &a, "http", path);
		if (i < 3)
			expect(&a, 200);
		else
			expect_fault(&a, -EFBIG, "more headers than 512 lines or 262144 bytes");
	}
	answer__fini(&a);
}

static void hands_on_in_pieces(void **state)
{
	NEEDS_PEER;
	struct dcm_http_client *c = client_of(&plain);
	struct answer a = { 0 };
	char url[200];

	snprintf(url, sizeof(url), "%s/slow?n=5&ms=1", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .take = answer__take }, &a);
	expect(&a, 200);
	assert_int_equal(a.taken.n, 50);
	assert_int_equal(a.body.n, 0);
	/* What is no success is told, not streamed. */
	snprintf(url, sizeof(url), "%s/status?code=404", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .take = answer__take }, &a);
	expect(&a, 404);
	assert_int_equal(a.taken.n, 0);
	assert_true(answer__has(&a, "status 404"));
	snprintf(url, sizeof(url), "%s/size?n=100000&code=500", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .take = answer__take }, &a);
	expect(&a, 500);
	assert_int_equal(a.taken.n, 0);
	assert_int_equal(a.body.n, 16384); /* more than says what it is */
	ask_with(c, (struct dcm_http_call){ .url = url }, &a);
	expect(&a, 500);
	assert_int_equal(a.body.n, 100000);
	/* Who takes may end it. */
	answer__fini(&a);
	snprintf(url, sizeof(url), "%s/slow?n=0&ms=1", peer__url("http"));
	const struct dcm_http_call call = {
		.size = sizeof(call), .url = url, .take = answer__take, .done = answer__done, .ctx = &a
	};
	a.stop_after = 100;
	assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
	answer__wait(&a);
	expect_fault(&a, -ECANCELED, "ended by who takes");
	assert_in_range(a.taken.n, 100, 200);
	http_pool__client_free(c);
	answer__fini(&a);
}

static void tells_broken_answers(void **state)
{
	NEEDS_PEER;
	struct answer a = { 0 };

	ask_once(&plain, &a, "http", "/truncated");
	expect_fault(&a, -EPROTO, "/truncated: no whole answer: ");
	ask_once(&plain, &a, "http", "/nothing");
	expect_fault(&a, -EPROTO, "/nothing: no whole answer: ");
	ask_once(&plain, &a, "http", "/garbage");
	assert_true(a.fault < 0);
	ask_once(&plain, &a, "closed", "/");
	expect_fault(&a, -ECONNREFUSED, "cannot connect");
	assert_non_null(strstr(a.sentence, "does something listen there?"));
	/* TLS to who speaks none, and the reverse. */
	struct dcm_http_client *c = client_of(&plain);
	char url[200];
	snprintf(url, sizeof(url), "https%s/echo", strchr(peer__url("http"), ':'));
	ask_with(c, (struct dcm_http_call){ .url = url }, &a);
	expect_fault(&a, -EPROTO, "does the server speak TLS there?");
	snprintf(url, sizeof(url), "http%s/echo", strchr(peer__url("https"), ':'));
	ask_with(c, (struct dcm_http_call){ .url = url }, &a);
	expect(&a, 400);
	ask_with(c, (struct dcm_http_call){ .url = "http://no-such-host.invalid/" }, &a);
	expect_fault(&a, -ENOENT, "is the name right?");
	/* Nobody sees who asks. */
	snprintf(url, sizeof(url), "http://me:HIDDEN@%s/", peer__url("closed") + 7);
	ask_with(c, (struct dcm_http_call){ .url = url }, &a);
	expect_fault(&a, -ECONNREFUSED, peer__url("closed"));
	assert_null(strstr(a.sentence, "HIDDEN"));
	http_pool__client_free(c);
	answer__fini(&a);
}

/* ------------------------------------------------------------------------------------------------
 * Time
 */

static void ends_in_time(void **state)
{
	NEEDS_PEER;
	struct dcm_http_client *c = client_of(&plain);
	struct answer a = { 0 };
	char url[200];

	snprintf(url, sizeof(url), "%s/hang", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .timeout_ns = 200 * MS }, &a);
	expect_fault(&a, -ETIMEDOUT, "/hang: no whole answer within 200ms: the server takes the request and says nothing");
	assert_true(a.duration_ns >= 200 * MS && a.duration_ns < 30000 * MS);
	snprintf(url, sizeof(url), "%s/hangbody", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .timeout_ns = 200 * MS }, &a);
	expect_fault(&a, -ETIMEDOUT, "5 bytes of it have come");
	assert_int_equal(a.status, 200);
	ask_with(c, (struct dcm_http_call){ .url = url, .silence_ns = 200 * MS }, &a);
	expect_fault(&a, -ETIMEDOUT, "not a byte for 200ms");
	ask_with(c, (struct dcm_http_call){ .url = url, .timeout_ns = 200 * MS - 14321 }, &a);
	expect_fault(&a, -ETIMEDOUT, "within 200ms: 5 bytes");
	/* Bytes that trickle keep it alive, but not beyond its time. */
	snprintf(url, sizeof(url), "%s/slow?n=100&ms=50", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .silence_ns = 4000 * MS }, &a);
	expect(&a, 200);
	assert_int_equal(a.body.n, 1000);
	snprintf(url, sizeof(url), "%s/slow?n=0&ms=10", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .silence_ns = 5000 * MS, .timeout_ns = 300 * MS },
		 &a);
	expect_fault(&a, -ETIMEDOUT, "no whole answer within 300ms");
	http_pool__client_free(c);
	answer__fini(&a);
}

static void cancels(void **state)
{
	NEEDS_PEER;
	struct dcm_http_client *c = client_of(&plain);
	struct answer a = { 0 };
	char url[200];
	uint64_t id = 0;

	snprintf(url, sizeof(url), "%s/hang", peer__url("http"));
	const struct dcm_http_call call = {
		.size = sizeof(call), .url = url, .done = answer__done, .ctx = &a
	};
	assert_int_equal(http_pool__start(c, &call, &id, NULL), 0);
	assert_int_not_equal(id, 0);
	usleep(50000);
	http_pool__cancel(c, id);
	http_pool__cancel(c, id);
	answer__wait(&a);
	expect_fault(&a, -ECANCELED, "cancelled");
	http_pool__cancel(c, id);
	http_pool__cancel(c, 0);
	http_pool__cancel(c, UINT64_MAX);
	/* The place of the one is another's now. */
	answer__fini(&a);
	uint64_t next = 0;
	assert_int_equal(http_pool__start(c, &call, &next, NULL), 0);
	assert_true(next != id);
	http_pool__cancel(c, id);
	usleep(20000);
	assert_int_equal(a.n_done, 0);
	/* Whoever frees the client need not cancel. */
	http_pool__client_free(c);
	assert_int_equal(a.n_done, 1);
	assert_int_equal(a.fault, -ECANCELED);
	assert_int_equal(http_pool__count(pool).n_calls, 0);
	answer__fini(&a);
}

static void settles_one_owner(void **state)
{
	NEEDS_PEER;
	struct dcm_http_client *c = NULL, *other = client_of(&plain);
	struct answer a = { 0 }, b = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	char url[200];
	int owner;

	assert_int_equal(http_pool__client_new(pool, &owner, &plain, &c, NULL), 0);
	snprintf(url, sizeof(url), "%s/slow?n=30&ms=10", peer__url("http"));
	struct dcm_http_call call = { .size = sizeof(call), .url = url, .done = answer__done, .ctx = &a };
	assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
	call.ctx = &b;
	assert_int_equal(http_pool__start(other, &call, NULL, NULL), 0);
	http_pool__settle(pool, &owner);
	assert_int_equal(a.n_done, 1);
	assert_int_equal(a.fault, -ECANCELED);
	assert_int_equal(http_pool__start(c, &call, NULL, &err), -ESHUTDOWN);
	assert_non_null(strstr(err.text, "stops"));
	answer__wait(&b);
	expect(&b, 200);
	http_pool__client_free(c);
	http_pool__client_free(other);
	answer__fini(&a);
	answer__fini(&b);
}

/* ------------------------------------------------------------------------------------------------
 * Redirects
 */

static void follows_redirects(void **state)
{
	NEEDS_PEER;
	struct dcm_http_options stays = plain, basic = plain;
	struct answer a = { 0 };
	struct dcm_http_client *c = client_of(&plain);
	char url[400];

	stays.follow_redirects = false;
	ask(c, &a, "http", "/redirect?to=/echo%%3Fa=b");
	expect(&a, 200);
	assert_true(answer__has(&a, "/echo?a=b"));
	ask(c, &a, "http", "/circle");
	expect_fault(&a, -ELOOP, "/circle: more than 10 redirects");
	ask(c, &a, "http", "/redirect?to=ftp://x/");
	expect_fault(&a, -EPROTO, "redirects to what cannot be asked");
	ask(c, &a, "http", "/redirect?to=file:///etc/passwd");
	expect_fault(&a, -EPROTO, "redirects to what cannot be asked");
	ask_once(&stays, &a, "http", "/redirect?to=/echo");
	expect(&a, 302);
	assert_true(answer__has(&a, "elsewhere"));
	/* The body goes along only where the server says so. */
	snprintf(url, sizeof(url), "%s/redirect?code=307&to=/echo", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .method = "POST", .body = "x", .n_body = 1 }, &a);
	assert_true(answer__has(&a, "POST HTTP"));
	assert_true(answer__has(&a, "body x\n"));
	snprintf(url, sizeof(url), "%s/redirect?code=303&to=/echo", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .method = "POST", .body = "x", .n_body = 1 }, &a);
	assert_true(answer__has(&a, "GET HTTP"));
	assert_true(answer__has(&a, "body \n"));
	/* Who only wants it there as it is gets the redirect itself, or has it there. */
	const struct dcm_http_call kept = {
		.url = url, .method = "POST", .body = "x", .n_body = 1, .keeps_method = true
	};
	ask_with(c, kept, &a);
	expect(&a, 303);
	snprintf(url, sizeof(url), "%s/redirect?to=/echo", peer__url("http"));
	ask_with(c, kept, &a);
	expect(&a, 302);
	snprintf(url, sizeof(url), "%s/redirect?code=308&to=/echo", peer__url("http"));
	ask_with(c, kept, &a);
	assert_true(answer__has(&a, "body x\n"));
	/* A stream begins behind the redirect. */
	snprintf(url, sizeof(url), "%s/redirect?to=/size%%3Fn=10", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .take = answer__take }, &a);
	expect(&a, 200);
	assert_int_equal(a.taken.n, 10);
	http_pool__client_free(c);
	(void)basic;
	answer__fini(&a);
}

static void secrets_stay_with_their_host(void **state)
{
	NEEDS_PEER;
	const char *secret = "HIDDEN", *seen = "seen";
	const char *key = "X-Key";
	struct dcm_http_values values = { .values = { &seen, 1 }, .secrets = { &secret, 1 } };
	struct dcm_http_options o = trusting();
	const struct dcm_http_header own[] = { { STR("Cookie"), STR("HIDDEN") } };
	struct dcm_http_client *c;
	struct answer a = { 0 };
	char url[400];

	o.http_headers = (struct dcm_map){ .keys = &key, .items = &values, .n = 1 };
	o.bearer.text = "HIDDEN";
	c = client_of(&o);
	ask(c, &a, "http", "/redirect?to=/echo");
	assert_true(answer__has(&a, "Authorization: Bearer HIDDEN\n"));
	assert_true(answer__has(&a, "X-Key: seen\nX-Key: HIDDEN\n"));
	/* Another port, and TLS no more. */
	snprintf(url, sizeof(url), "%s/redirect?to=%s/echo", peer__url("http"), peer__url("http2"));
	ask_with(c, (struct dcm_http_call){ .url = url, .headers = own, .n_headers = 1 }, &a);
	expect(&a, 200);
	assert_false(answer__has(&a, "HIDDEN"));
	snprintf(url, sizeof(url), "%s/redirect?to=%s/echo", peer__url("https"), peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .headers = own, .n_headers = 1 }, &a);
	expect(&a, 200);
	assert_true(answer__has(&a, "GET HTTP/1.1"));
	assert_false(answer__has(&a, "HIDDEN"));
	/* The same host with TLS, as servers that want it lead there. */
	snprintf(url, sizeof(url), "%s/redirect?to=%s/echo", peer__url("http"), peer__url("https"));
	ask_with(c, (struct dcm_http_call){ .url = url }, &a);
	expect(&a, 200);
	assert_true(answer__has(&a, "Authorization: Bearer HIDDEN\n"));
	http_pool__client_free(c);
	answer__fini(&a);
}

/* ------------------------------------------------------------------------------------------------
 * Who asks
 */

static void shows_who_asks(void **state)
{
	NEEDS_PEER;
	struct dcm_http_options o = plain;
	const struct dcm_http_header own[] = { { STR("Authorization"), STR("Mine x") } };
	struct answer a = { 0 };
	char url[200];

	o.basic.username = "user";
	o.basic.password.text = "pass:word";
	ask_once(&o, &a, "http", "/basic");
	expect(&a, 200);
	/* What the request has itself counts. */
	struct dcm_http_client *c = client_of(&o);
	snprintf(url, sizeof(url), "%s/echo", peer__url("http"));
	ask_with(c, (struct dcm_http_call){ .url = url, .headers = own, .n_headers = 1 }, &a);
	assert_true(answer__has(&a, "Authorization: Mine x\nUser"));
	http_pool__client_free(c);
	o.basic.password.text = "wrong";
	ask_once(&o, &a, "http", "/basic");
	expect(&a, 401);
	o = plain;
	o.authorization.credentials.text = "c";
	ask_once(&o, &a, "http", "/echo");
	assert_true(answer__has(&a, "Authorization: Bearer c\n"));
	o.authorization.type = " Token ";
	ask_once(&o, &a, "http", "/echo");
	assert_true(answer__has(&a, "Authorization: Token c\n"));
	answer__fini(&a);
}

static void reads_files_again(void **state)
{
	NEEDS_PEER;
	const char *key = "X-Key", *file = peer__file("header");
	struct dcm_http_values values = { .files = { &file, 1 } };
	struct dcm_http_options o = plain;
	struct answer a = { 0 };
	struct dcm_http_client *c;

	o.http_headers = (struct dcm_map){ .keys = &key, .items = &values, .n = 1 };
	o.authorization.credentials.file = peer__file("token");
	c = client_of(&o);
	ask(c, &a, "http", "/echo");
	expect_fault(&a, -EACCES,
		     "/token: No such file or directory; put it there, readable for our user");
	write_file("token", "first\n");
	write_file("header", "  h1 \n\n");
	ask(c, &a, "http", "/echo");
	expect(&a, 200);
	assert_true(answer__has(&a, "Authorization: Bearer first\n"));
	assert_true(answer__has(&a, "X-Key: h1\n"));
	write_file("token", "other\n");
	/* Within a second the one that was read may count. */
	usleep(1100000);
	ask(c, &a, "http", "/echo");
	assert_true(answer__has(&a, "Authorization: Bearer other\n"));
	write_file("token", "two\r\nlines\n");
	usleep(1100000);
	ask(c, &a, "http", "/echo");
	expect_fault(&a, -EACCES, "control characters");
	http_pool__client_free(c);
	answer__fini(&a);
}

static void fetches_tokens(void **state)
{
	NEEDS_PEER;
	const char *scopes[] = { "a", "b" };
	struct dcm_http_options o = plain;
	struct dcm_http_client *c;
	struct answer a = { 0 }, many[50] = { 0 };
	char url[200], path[200];
	long before;

	snprintf(url, sizeof(url), "%s/token-slow", peer__url("http"));
	snprintf(path, sizeof(path), "%s/guarded", peer__url("http"));
	o.oauth2 = (struct dcm_http_oauth2){ .client_id = "me",
					     .client_secret = { .text = "s&cret" },
					     .token_url = url,
					     .scopes = { scopes, 2 } };
	c = client_of(&o);
	before = counted("tokens ");
	for (int i = 0; i < 50; i++) {
		const struct dcm_http_call call = { .size = sizeof(call),
						    .url = path,
						    .timeout_ns = 50000 * MS,
						    .done = answer__done,
						    .ctx = &many[i] };
		assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
	}
	for (int i = 0; i < 50; i++) {
		answer__wait(&many[i]);
		expect(&many[i], 200);
		answer__fini(&many[i]);
	}
	/* All waited for one. */
	assert_int_equal(counted("tokens "), before + 1);
	/* One that holds no more is fetched anew, once. */
	ask(c, &a, "http", "/revoke");
	ask(c, &a, "http", "/guarded");
	expect(&a, 200);
	assert_int_equal(counted("tokens "), before + 3);
	/* Somebody else's 401 is an answer. */
	ask(c, &a, "http", "/basic");
	expect(&a, 401);
	/* A call that waits for a token ends in its time, and when it is cancelled. */
	http_pool__client_free(c);
	c = client_of(&o);
	ask_with(c, (struct dcm_http_call){ .url = path, .timeout_ns = 50 * MS }, &a);
	expect_fault(&a, -ETIMEDOUT, "no token has come");
	http_pool__client_free(c);
	snprintf(url, sizeof(url), "%s/token-form", peer__url("http"));
	ask_once(&o, &a, "http", "/guarded");
	expect(&a, 200);
	/* One that expires at once is good for those who waited for it. */
	snprintf(url, sizeof(url), "%s/token?life=1", peer__url("http"));
	ask_once(&o, &a, "http", "/guarded");
	expect(&a, 200);
	answer__fini(&a);
}

static void tells_why_there_is_no_token(void **state)
{
	NEEDS_PEER;
	struct dcm_http_options o = plain;
	struct answer a = { 0 };
	char url[200];

	snprintf(url, sizeof(url), "%s/token", peer__url("http"));
	o.oauth2 = (struct dcm_http_oauth2){ .client_id = "me",
					     .client_secret = { .text = "wrong" },
					     .token_url = url };
	ask_once(&o, &a, "http", "/guarded");
	expect_fault(&a, -EACCES, "oauth2.token_url: answers 401: invalid_client: no such client; are client_id and client_secret right?");
	assert_null(strstr(a.sentence, "wrong"));
	snprintf(url, sizeof(url), "http://me:hidden@%s/token", strstr(peer__url("http"), "//") + 2);
	ask_once(&o, &a, "http", "/guarded");
	expect_fault(&a, -EACCES, "oauth2.token_url: answers 401");
	assert_null(strstr(a.sentence, "hidden"));
	snprintf(url, sizeof(url), "%s/token-none", peer__url("http"));
	ask_once(&o, &a, "http", "/guarded");
	expect_fault(&a, -EPROTO, "answers without an access_token");
	snprintf(url, sizeof(url), "%s/token", peer__url("closed"));
	ask_once(&o, &a, "http", "/guarded");
	expect_fault(&a, -ECONNREFUSED, "no token: http://127.0.0.1:");
	snprintf(url, sizeof(url), "%s/redirect?to=/token&code=307", peer__url("http"));
	ask_once(&o, &a, "http", "/guarded");
	expect_fault(&a, -EACCES, "answers 307");
	o.oauth2.client_secret.text = NULL;
	o.oauth2.client_secret.file = "/nowhere/secret";
	ask_once(&o, &a, "http", "/guarded");
	expect_fault(&a, -EACCES, "client_secret_file /nowhere/secret: No such file");
	answer__fini(&a);
}

static void signs_for_tokens(void **state)
{
	NEEDS_PEER;
	static const char *const names[] = { "RS256", "RS384", "RS512" };
	const char *scopes[] = { "a", "b" };
	struct dcm_http_options o = plain;
	struct answer a = { 0 };
	char url[200], want[500];

	snprintf(url, sizeof(url), "%s/token-jwt", peer__url("http"));
	o.oauth2 = (struct dcm_http_oauth2){ .client_id = "me",
					     .grant = DCM_OAUTH2_JWT_BEARER,
					     .assertion = { .key.file = peer__file("me.rsa") },
					     .token_url = url };
	for (int32_t i = 0; i < 3; i++) {
		o.oauth2.assertion.algorithm = i;
		ask_once(&o, &a, "http", "/guarded");
		expect(&a, 200);
		ask_once(&plain, &a, "http", "/statement");
		snprintf(want, sizeof(want),
			 "{\"claims\":{\"aud\":\"http://HOST/"
			 "token-jwt\",\"iss\":\"me\",\"sub\":\"me\"},"
			 "\"head\":{\"alg\":\"%s\",\"typ\":\"JWT\"},\"scope\":\"\"}",
			 names[i]);
		assert_string_equal((const char *)a.body.data, want);
	}
	/* All that can be said otherwise; claims go before what else is said. */
	o.oauth2.scopes = (struct dcm_list){ scopes, 2 };
	o.oauth2.assertion.key_id = "k1";
	o.oauth2.assertion.issuer = "us";
	o.oauth2.assertion.audience = "them";
	o.oauth2.assertion.claims = "{\"iss\": \"others\", \"n\": 1, \"list\": [true, \"x\"]}";
	ask_once(&o, &a, "http", "/guarded");
	expect(&a, 200);
	ask_once(&plain, &a, "http", "/statement");
	assert_string_equal(
		(const char *)a.body.data,
		"{\"claims\":{\"aud\":\"them\",\"iss\":\"others\",\"list\":[true,\"x\"],\"n\":1,"
		"\"scope\":\"a b\",\"sub\":\"me\"},"
		"\"head\":{\"alg\":\"RS512\",\"kid\":\"k1\",\"typ\":\"JWT\"},\"scope\":\"a b\"}");
	/* Somebody else's key. */
	o.oauth2.assertion.key.file = peer__file("you.rsa");
	ask_once(&o, &a, "http", "/guarded");
	expect_fault(&a, -EACCES, "answers 401: invalid_grant: crypto/rsa: verification error; are client_id and client_certificate_key right?");
	/* One that signs otherwise. */
	o.oauth2.assertion.key.file = peer__file("client.key");
	ask_once(&o, &a, "http", "/guarded");
	expect_fault(&a, -EACCES, "client_certificate_key: is no RSA key in PEM");
	answer__fini(&a);
}

static void keys_are_tried_at_once(void **state)
{
	struct dcm_http_options o = plain;
	struct dcm_http_client *c = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	o.oauth2 = (struct dcm_http_oauth2){ .client_id = "me",
					     .grant = DCM_OAUTH2_JWT_BEARER,
					     .assertion = { .key.text = "hidden" },
					     .token_url = "http://127.0.0.1:1/" };
	assert_int_equal(http_pool__client_new(pool, &pool, &o, &c, &err), -EACCES);
	assert_non_null(strstr(err.text, "oauth2: client_certificate_key: is no RSA key in PEM"));
	assert_null(strstr(err.text, "hidden"));
}

/* ------------------------------------------------------------------------------------------------
 * Proxies
 */

static void goes_through_proxies(void **state)
{
	NEEDS_PEER;
	const char *key = "X-Proxy", *values[] = { "a", "b" };
	struct dcm_list lists[] = { { values, 2 } };
	struct dcm_http_options o = trusting();
	struct answer a = { 0 };
	char url[200];

	snprintf(url, sizeof(url), "http://u:p@%s", peer__url("proxy") + 7);
	o.proxy.url = url;
	o.proxy.connect_headers = (struct dcm_map){ .keys = &key, .items = lists, .n = 1 };
	ask_once(&o, &a, "https", "/echo");
	expect(&a, 200);
	ask_once(&plain, &a, "http", "/counts");
	assert_true(answer__has(&a, "CONNECT 127.0.0.1:"));
	assert_true(answer__has(&a, "X-Proxy=[a b] auth=[Basic dTpw]"));
	ask_once(&o, &a, "http", "/echo");
	expect(&a, 200);
	assert_true(answer__has(&a, "X-Came-By: proxy"));
	assert_false(answer__has(&a, "X-Proxy"));
	/* Another name for the server, behind the proxy. */
	o.tls.server_name = "special.name";
	ask_once(&o, &a, "wrongname", "/echo");
	expect(&a, 200);
	o.tls.server_name = NULL;
	long before = counted("connects ");
	o.proxy.no_proxy = "10.0.0.0/8, 127.0.0.0/8";
	ask_once(&o, &a, "https", "/echo");
	expect(&a, 200);
	assert_int_equal(counted("connects "), before);
	/* A proxy that speaks TLS; the same authority stands for it. */
	o.proxy.no_proxy = NULL;
	o.proxy.url = peer__url("proxytls");
	ask_once(&o, &a, "https", "/echo");
	expect(&a, 200);
	assert_int_equal(counted("connects "), before + 1);
	o.proxy.url = peer__url("proxy");
	ask_once(&o, &a, "closed", "/echo");
	expect(&a, 502);
	struct dcm_http_client *c = client_of(&o);
	char tls[200];
	snprintf(tls, sizeof(tls), "https%s/", peer__url("closed") + 4);
	ask_with(c, (struct dcm_http_call){ .url = tls }, &a);
	expect_fault(&a, -ECONNREFUSED, "the proxy does not connect: CONNECT tunnel failed, response 502");
	http_pool__client_free(c);
	snprintf(url, sizeof(url), "%s", peer__url("closed") + 7);
	o.proxy.url = url;
	ask_once(&o, &a, "https", "/echo");
	expect_fault(&a, -ECONNREFUSED, "cannot connect");
	answer__fini(&a);
}

static void takes_proxies_of_the_environment(void **state)
{
	NEEDS_PEER;
	struct dcm_http_options o = plain;
	struct dcm_http_client *c;
	struct answer a = { 0 };

	assert_int_equal(setenv("http_proxy", peer__url("proxy"), 1), 0);
	assert_int_equal(setenv("no_proxy", "elsewhere", 1), 0);
	/* Without the option nobody looks. */
	c = client_of(&o);
	ask_with(c, (struct dcm_http_call){ .url = "http://no-such-host.invalid/" }, &a);
	expect_fault(&a, -ENOENT, "no-such-host.invalid");
	http_pool__client_free(c);
	o.proxy.from_environment = true;
	c = client_of(&o);
	unsetenv("http_proxy");
	unsetenv("no_proxy");
	ask_with(c, (struct dcm_http_call){ .url = "http://no-such-host.invalid/" }, &a);
	expect(&a, 502);
	/* This machine is reached without, as in Go. */
	ask(c, &a, "http", "/echo");
	expect(&a, 200);
	assert_false(answer__has(&a, "X-Came-By"));
	http_pool__client_free(c);
	answer__fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_what_is_asked),
		cmocka_unit_test(tells_all_of_the_answer),
		cmocka_unit_test(keeps_connections),
		cmocka_unit_test(refuses_what_cannot_be_asked),
		cmocka_unit_test(asks_sockets),
		cmocka_unit_test(unpacks),
		cmocka_unit_test(bounds_bodies),
		cmocka_unit_test(bounds_heads),
		cmocka_unit_test(hands_on_in_pieces),
		cmocka_unit_test(tells_broken_answers),
		cmocka_unit_test(ends_in_time),
		cmocka_unit_test(cancels),
		cmocka_unit_test(settles_one_owner),
		cmocka_unit_test(follows_redirects),
		cmocka_unit_test(secrets_stay_with_their_host),
		cmocka_unit_test(shows_who_asks),
		cmocka_unit_test(reads_files_again),
		cmocka_unit_test(fetches_tokens),
		cmocka_unit_test(tells_why_there_is_no_token),
		cmocka_unit_test(signs_for_tokens),
		cmocka_unit_test(keys_are_tried_at_once),
		cmocka_unit_test(goes_through_proxies),
		cmocka_unit_test(takes_proxies_of_the_environment),
	};
	return cmocka_run_group_tests_name("http_pool", tests, begin, end);
}
