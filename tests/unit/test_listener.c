/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/test_listener.c - real sockets against the listener: answers, refusals, deadlines, busy workers */
#include "tests/unit/listening.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/net/conns.h"
#include "core/net/http_client.h"
#include "core/net/listener.h"

static void send_text(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* One head, or what comes until the peer closes, or 20 s; its status, 0 when nothing came. */
static int read_head(int fd, char *text, size_t cap)
{
	size_t n = 0;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int status = 0;

	while (n < cap - 1 && poll(&p, 1, 20000) > 0) {
		/* Byte by byte: what follows is the next caller's. */
		if (read(fd, text + n, 1) != 1)
			break;
		text[++n] = '\0';
		if (n >= 4 && strcmp(text + n - 4, "\r\n\r\n") == 0)
			break;
	}
	text[n] = '\0';
	sscanf(text, "HTTP/1.1 %d", &status);
	return status;
}

static int read_status(int fd)
{
	char text[8192];

	return read_head(fd, text, sizeof(text));
}

/* What follows the head is as long as that says, and the last that comes; an error is a problem. */
static void read_rest(int fd, const char *head, int status)
{
	const char *length = strstr(head, "\r\nContent-Length: ");
	char body[8192], want[32];
	size_t n = length ? strtoul(length + 18, NULL, 10) : 0;

	assert_non_null(length);
	assert_true(n < sizeof(body));
	assert_int_equal(n ? recv(fd, body, n, MSG_WAITALL) : 0, (ssize_t)n);
	body[n] = '\0';
	snprintf(want, sizeof(want), "\"status\":%d,", status);
	if (status >= 400) {
		assert_non_null(strstr(head, "\r\nContent-Type: application/problem+json\r\n"));
		assert_non_null(strstr(body, want));
	}
	shutdown(fd, SHUT_WR);
	assert_true(recv(fd, body, sizeof(body), MSG_WAITALL) <= 0);
}

static int raw(const char *request)
{
	char head[8192];
	int fd = listening_connect(), status;

	send_text(fd, request);
	status = read_head(fd, head, sizeof(head));
	if (status >= 200)
		read_rest(fd, head, status);
	close(fd);
	return status;
}

/* The head of a POST with a body that is announced, and never comes. */
static int post_head(const char *path, const char *more)
{
	char text[512];

	snprintf(text, sizeof(text), "POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", path, more);
	return raw(text);
}

static int call(const char *path, enum http_method method, const char *body, char *answer, size_t cap)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct http_response r = { 0 };
	char full[128];
	int status;

	snprintf(full, sizeof(full), "%s%s", served.url, path);
	assert_int_equal(http_client__call(&(struct http_call){ .url = full,
								.method = method,
								.body = body,
								.n_body = body ? strlen(body) : 0,
								.timeout_ns = INT64_C(20000000000),
								.max_bytes = 1 << 20 },
					   &r, &err),
			 0);
	status = r.status;
	if (answer)
		snprintf(answer, cap, "%.*s", (int)r.body.n, r.body.n ? (const char *)r.body.data : "");
	http_response__fini(&r);
	return status;
}

static void test_answers(void **state)
{
	const char *const paths[] = { "/quick", "/bounded", "/patient" };
	char answer[256];
	(void)state;

	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(call(paths[i], HTTP_GET, NULL, answer, sizeof(answer)), 200);
		assert_string_equal(answer, paths[i] + 1);
	}
	assert_int_equal(call("/echo", HTTP_POST, "hello", answer, sizeof(answer)), 200);
	assert_string_equal(answer, "5:2");
	assert_int_equal(call("/nothing", HTTP_GET, NULL, NULL, 0), 404);
	assert_int_equal(call("/quick", HTTP_POST, "", NULL, 0), 405);
}

/* What plugins ask with. */
static void test_get(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_http_answer answer = { .size = sizeof(answer) };
	struct dcm_http_request request = { .size = sizeof(request), .max_bytes = 5 };
	char full[128];

	(void)state;
	snprintf(full, sizeof(full), "%s/quick", served.url);
	request.url = full;
	assert_int_equal(http_client__get(&request, &answer, &err), 0);
	assert_int_equal(answer.status, 200);
	assert_int_equal(answer.n, 5);
	assert_string_equal((const char *)answer.data, "quick");
	free(answer.data);
	request.max_bytes = 4;
	assert_int_equal(http_client__get(&request, &answer, &err), -EFBIG);
	request.url = "http://127.0.0.1:1/";
	assert_int_equal(http_client__get(&request, &answer, &err), -ECONNREFUSED);
	assert_null(strstr(err.text, "decima"));
}

static void ask_as_admin(void)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct http_response r = { 0 };
	char full[128];

	snprintf(full, sizeof(full), "unix:%s:/echo", served.socket_path);
	assert_int_equal(http_client__call(&(struct http_call){ .url = full,
								.timeout_ns = INT64_C(5000000000),
								.max_bytes = 4096 },
					   &r, &err),
			 0);
	assert_string_equal((const char *)r.body.data, "0:3");
	http_response__fini(&r);
}

static void test_unix_is_admin(void **state)
{
	(void)state;
	ask_as_admin();
}

static double n_refused(void)
{
	return stats__value(served.stats, "decima_http_refused_total", STATS_NO_LABELS);
}

static unsigned n_closed(const int *fds, unsigned n)
{
	unsigned closed = 0;
	char byte;

	for (unsigned i = 0; i < n; i++)
		closed += recv(fds[i], &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
	return closed;
}

/*
 * Who comes at once with many connections, and says nothing, keeps others out for as long as a head
 * may take, but not who asks over the unix socket.
 */
static void test_more_connections_than_there_may_be(void **state)
{
	enum { N = LISTENING_CONNECTIONS + 40 };
	static const char get[] = "GET /quick HTTP/1.1\r\nHost: localhost\r\n\r\n";
	const double before = n_refused();
	int fds[N];

	(void)state;
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < N; i++)
			fds[i] = listening_connect_as(i % 4);
		while (n_closed(fds, N) < 40)
			poll(NULL, 0, 1);
		ask_as_admin();
		for (int i = 0; i < N; i++)
			close(fds[i]);
	}
	assert_true(n_refused() - before >= 10 * 40);
	/* The server hears of the last ones a moment later. */
	for (int status = 0; status != 200; close(fds[0])) {
		fds[0] = listening_connect();
		send(fds[0], get, sizeof(get) - 1, MSG_NOSIGNAL);
		status = read_status(fds[0]);
	}
}

/* One client has three quarters of them, and the others what is left. */
static void test_one_client_with_all_connections(void **state)
{
	enum { MOST = LISTENING_CONNECTIONS / 4 * 3, N = MOST + 5 };
	const double before = n_refused();
	int fds[N];

	(void)state;
	for (int i = 0; i < N; i++)
		fds[i] = listening_connect_as(1);
	while (n_closed(fds, N) < 5)
		poll(NULL, 0, 1);
	assert_int_equal(call("/quick", HTTP_GET, NULL, NULL, 0), 200);
	assert_true(n_refused() - before == 5);
	assert_int_equal(n_closed(fds, N), 5);
	for (int i = 0; i < N; i++)
		close(fds[i]);
}

static void test_malformed(void **state)
{
	(void)state;
	assert_int_equal(raw("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
			     "3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
			 400);
	assert_int_equal(raw("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
			     "0\r\nContent-Length: 3\r\n\r\nabc"),
			 400);
	assert_int_equal(raw("GET /quick HTTP/1.1\r\nHost : localhost\r\n\r\n"), 400);
	assert_int_equal(raw("GET /quick HTTP/1.1\r\nHost: localhost\r\nX-A : b\r\n\r\n"), 400);
	/* Folded, which libmicrohttpd takes for another name: the body would be the next request. */
	assert_int_equal(post_head("/echo", "Content-Length:\r\n 3"), 400);
	assert_int_equal(post_head("/echo", "Content-Length: 3\r\n 0"), 400);
	assert_int_equal(post_head("/echo", "Transfer-Encoding:\r\n\tchunked"), 400);
	assert_int_equal(post_head("/echo", "X-A: b\r\n Transfer-Encoding:chunked"), 400);
	assert_int_equal(post_head("/echo", "X-A: b\rTransfer-Encoding: chunked"), 400);
	assert_int_equal(post_head("/echo", "X-A: b\x01"), 400);
	assert_int_equal(post_head("/echo", "X(A): b"), 400);
	assert_int_equal(raw("GET /quick HTTP/1.1\r\n\r\n"), 400);
	assert_int_equal(raw("GET /quick?a b HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400);
	assert_int_equal(raw("GET /quick HTTP/1.1 HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400);
	assert_int_equal(raw("GET /quick HTTP/1.0\r\n\r\n"), 421);
	assert_int_equal(raw("GET /quick HTTP/1.0\r\nHost: localhost\r\n\r\n"), 200);
	assert_int_equal(post_head("/echo", "Transfer-Encoding: identity"), 400);
	assert_int_equal(post_head("/echo", "Transfer-Encoding: gzip, chunked"), 400);
	assert_int_equal(post_head("/echo", "Transfer-Encoding: xchunked"), 400);
	assert_int_equal(raw("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
			     "Chunked\r\n\r\n0\r\n\r\n"),
			 200);
	assert_int_equal(raw("POST /echo HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: "
			     "chunked\r\n\r\n0\r\n\r\n"),
			 400);
	assert_int_equal(raw("GET /quick HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n"), 400);
	assert_int_equal(raw("GET /quick HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 421);
	/* The target's own host counts, whatever Host says. */
	assert_int_equal(raw("GET http://evil/quick HTTP/1.1\r\nHost: localhost\r\n\r\n"), 421);
	assert_int_equal(raw("GET http://localhost/quick HTTP/1.1\r\nHost: evil\r\n\r\n"), 200);
	assert_int_equal(raw("GET HTTP://[::1]:70/quick?a=1 HTTP/1.1\r\nHost: evil\r\n\r\n"), 200);
	assert_int_equal(raw("GET http://localhost HTTP/1.1\r\nHost: localhost\r\n\r\n"), 404);
	assert_int_equal(raw("GET http:///quick HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400);
	assert_int_equal(raw("GET http://a@localhost/quick HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
	assert_int_equal(raw("BREW /quick HTTP/1.1\r\nHost: localhost\r\n\r\n"), 501);
	assert_int_equal(raw("GET /quick?%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400);
	assert_int_equal(raw("GET /quick HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
}

/* What libmicrohttpd refuses by itself is no problem in JSON (docs/API.md), but is counted too. */
static void test_refused_by_libmicrohttpd(void **state)
{
	static char target[70000], header[70000];
	const struct {
		const char *request;
		int status;
	} cases[] = { { "GET /quick nonsense\r\n\r\n", 400 },
		      { "GET /quick HTTP/9.9\r\nHost: localhost\r\n\r\n", 505 },
		      { target, 414 },
		      { header, 431 },
		      { "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n", 400 },
		      { "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3x\r\n\r\n", 400 },
		      { "POST /file HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
			"99999999999999999999999\r\n\r\n",
			413 },
		      { "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
			"chunked\r\n\r\nzz\r\n",
			400 } };

	(void)state;
	snprintf(target, sizeof(target), "GET /%069000d HTTP/1.1\r\n", 0);
	snprintf(header, sizeof(header),
		 "GET /quick HTTP/1.1\r\nHost: localhost\r\nX-A: %069000d\r\n", 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double before = n_refused();
		int fd = listening_connect();

		send_text(fd, cases[i].request);
		assert_int_equal(read_status(fd), cases[i].status);
		assert_true(n_refused() == before + 1);
		close(fd);
	}
}

/* However many parameters there are, somebody answers. */
static void test_many_parameters(void **state)
{
	static char request[62000];
	static const size_t counts[] = { 255, 1000, 3500, 30000 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		size_t n = (size_t)snprintf(request, sizeof(request), "GET /quick?");

		for (size_t k = 0; k < counts[i]; k++, n += 2)
			memcpy(request + n, "a&", 2);
		snprintf(request + n, sizeof(request) - n, "b=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
		assert_int_equal(raw(request), counts[i] < 256 ? 200 : 400);
	}
}

static void test_large_body(void **state)
{
	char body[1200];

	(void)state;
	memset(body, 'x', sizeof(body) - 1);
	body[sizeof(body) - 1] = '\0';
	assert_int_equal(call("/echo", HTTP_POST, body, NULL, 0), 413);
	body[1000] = '\0';
	assert_int_equal(call("/echo", HTTP_POST, body, NULL, 0), 200);
}

/* Nothing of a body is read that nobody takes: the answer is there before the body is. */
static void test_body_refused_by_its_head(void **state)
{
	static const struct {
		const char *path;
		int status;
	} refused[] = { { "/nothing", 404 },
			{ "/quick", 405 },
			{ "/admin", 403 },
			{ "/control", 413 },
			{ "/echo", 413 } };
	static const char *const bodies[] = { "Content-Length: 99999999999", "Content-Length: 1001",
					      "Content-Length: 1001\r\nExpect: 100-continue",
					      "Transfer-Encoding: chunked" };

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		for (size_t b = 0; b < sizeof(bodies) / sizeof(bodies[0]); b++)
			/* How much a chunked body has is told by the body itself. */
			if (b < 3 || strcmp(refused[i].path, "/echo") != 0)
				assert_int_equal(post_head(refused[i].path, bodies[b]), refused[i].status);
}

/* Who asks before sending is told to, when the body is taken. */
static void test_expect_continue(void **state)
{
	int fd = listening_connect();

	(void)state;
	send_text(fd, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: "
		      "100-continue\r\n\r\n");
	assert_int_equal(read_status(fd), 100);
	send_text(fd, "abc");
	assert_int_equal(read_status(fd), 200);
	close(fd);
}

static void test_chunked_body(void **state)
{
	static const char head[] =
		"POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
	char text[1400];

	(void)state;
	snprintf(text, sizeof(text), "%s3\r\nabc\r\n0\r\n\r\n", head);
	assert_int_equal(raw(text), 200);
	snprintf(text, sizeof(text), "%s3e9\r\n%01001d\r\n0\r\n\r\n", head, 0);
	assert_int_equal(raw(text), 413);
}

/* All bodies together have a bound too, whatever they have sent of what they announce. */
static void test_bodies_together(void **state)
{
	static const char one[] =
		"POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n";
	int fd = listening_connect_as(1), same = listening_connect_as(1),
	    other = listening_connect_as(2);
	char body[1001];

	(void)state;
	snprintf(body, sizeof(body), "%01000d", 0);
	send_text(fd, one);
	/* Another client has room for what this one has none for, three quarters of it: 1125. */
	send_text(same, one);
	assert_int_equal(read_status(same), 503);
	assert_int_equal(post_head("/echo", "Content-Length: 500\r\nExpect: 100-continue"), 100);
	send_text(other, one);
	assert_int_equal(read_status(other), 503);
	assert_int_equal(post_head("/echo", "Transfer-Encoding: chunked"), 503);
	send_text(fd, body);
	assert_int_equal(read_status(fd), 200);
	close(fd);
	close(same);
	close(other);
	/* Who has nothing yet may send one that is larger than that. */
	assert_int_equal(post_head("/echo", "Content-Length: 1000\r\nExpect: 100-continue"), 100);
}

/* A refusal without a body costs nobody the connection. */
static void test_refusal_keeps_connection(void **state)
{
	char answer[32] = "";
	int fd = listening_connect();

	(void)state;
	send_text(fd, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
		      "GET /quick HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	assert_int_equal(read_status(fd), 404);
	while (!strstr(answer, "200 OK") && read(fd, answer + strlen(answer), 1) == 1)
		if (strlen(answer) == sizeof(answer) - 1)
			memmove(answer, answer + 1, sizeof(answer) - 1);
	assert_non_null(strstr(answer, "200 OK"));
	close(fd);
}

/* An answer has the memory of its question, and none of it is sent when that is not enough. */
static void test_long_answer(void **state)
{
	char answer[256];

	(void)state;
	assert_int_equal(call("/long", HTTP_GET, NULL, NULL, 0), 200);
	assert_int_equal(call("/long?more=1", HTTP_GET, NULL, answer, sizeof(answer)), 422);
	assert_non_null(strstr(answer, "the answer is larger than 1048576 bytes"));
}

static double n_open(void)
{
	return stats__value(served.stats, "decima_http_connections", STATS_NO_LABELS);
}

/* Who asks, and takes nothing of the answer, is closed, with what is left of it. 3 s. */
static void test_an_answer_that_is_not_taken(void **state)
{
	double late = stats__value(served.stats, "decima_http_timeouts_total", STATS_NO_LABELS), others;
	int fd, few = 4096;

	(void)state;
	for (int i = 0; i < 500 && n_open() > 0; i++) /* of the tests before */
		poll(NULL, 0, 10);
	others = n_open();
	fd = listening_connect();
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few)), 0);
	/* More than the kernel keeps for a connection. */
	for (int i = 0; i < 16; i++)
		send_text(fd, "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n");
	for (int i = 0; i < 500 && n_open() <= others; i++)
		poll(NULL, 0, 10);
	assert_true(n_open() > others);
	for (int i = 0; i < 2000 && n_open() > others; i++)
		poll(NULL, 0, 10);
	assert_true(n_open() <= others);
	assert_true(stats__value(served.stats, "decima_http_timeouts_total", STATS_NO_LABELS) > late);
	close(fd);
}

/* n bytes as file_body() expects them; its status, and what it said. */
static int send_body(size_t n, char *answer, size_t cap)
{
	static char content[LISTENING_FILE_BYTES + 1];
	struct dcm_error err = DCM_ERROR_INIT;
	struct http_response r = { 0 };
	char path[] = "/tmp/decima-body-XXXXXX", full[128];
	int fd = mkstemp(path), status;

	for (size_t i = 0; i < n; i++)
		content[i] = (char)(i % 251);
	unlink(path);
	assert_int_equal(write(fd, content, n), (ssize_t)n);
	snprintf(full, sizeof(full), "%s/file", served.url);
	if (http_client__call(&(struct http_call){ .method = HTTP_POST,
						   .url = full,
						   .file = &(struct http_file){ .fd = fd, .n = n },
						   .timeout_ns = INT64_C(20000000000),
						   .max_bytes = 1 << 20 },
			      &r, &err) < 0)
		fail_msg("%s", err.text);
	status = r.status;
	snprintf(answer, cap, "%.*s", (int)r.body.n, r.body.n ? (const char *)r.body.data : "");
	http_response__fini(&r);
	close(fd);
	return status;
}

/* Larger than what is written at once, and than a body in memory may be. */
static void test_file_body(void **state)
{
	static const size_t sizes[] = {
		0, 1, 5000, (1 << 20) - 1, 1 << 20, (5 << 19) + 7, LISTENING_FILE_BYTES
	};
	char answer[256], want[64];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(send_body(sizes[i], answer, sizeof(answer)), 200);
		snprintf(want, sizeof(want), "%zu:%zu", sizes[i], sizes[i]);
		assert_string_equal(answer, want);
	}
	assert_int_equal(send_body(LISTENING_FILE_BYTES + 1, answer, sizeof(answer)), 413);
}

/* Who may not send it, or too much of it, hears so before anything was sent. */
static void test_file_body_is_refused_early(void **state)
{
	static const char *const lengths[] = { "Content-Length: 5", "Content-Length: 0",
					       "Transfer-Encoding: chunked" };
	char too_long[64], answer[64];

	(void)state;
	snprintf(too_long, sizeof(too_long), "Content-Length: %zu", LISTENING_FILE_BYTES + 1);
	assert_int_equal(post_head("/file", too_long), 413);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		assert_int_equal(post_head("/admin_file", lengths[i]), 403);
		assert_int_equal(post_head("/file?wrong=1", lengths[i]), 400);
	}
	assert_int_equal(post_head("/file?right=1", "Content-Length: 5\r\nExpect: 100-continue"), 100);
	assert_int_equal(send_body(10, answer, sizeof(answer)), 200);
}

/* Of a body without a length, what is too much is thrown away, and then refused. */
static void test_file_body_in_chunks(void **state)
{
	static char chunk[65536 + 16];
	const size_t n = 7;
	int fd = listening_connect();

	(void)state;
	memcpy(chunk, "10000\r\n", n);
	memset(chunk + n, 'x', 65536);
	memcpy(chunk + n + 65536, "\r\n", 2);
	send_text(fd,
		  "POST /file HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (size_t sent = 0; sent <= LISTENING_FILE_BYTES; sent += 65536)
		assert_int_equal(send(fd, chunk, n + 65538, MSG_NOSIGNAL), (ssize_t)(n + 65538));
	send_text(fd, "0\r\n\r\n");
	assert_int_equal(read_status(fd), 413);
	close(fd);
}

/* A file that is being sent, as far as its head: it is taken, and nothing comes. */
static int begin_file(int client, size_t n_bytes)
{
	int fd = listening_connect_as(client);
	char head[160];

	snprintf(head, sizeof(head), "POST /file HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\nExpect: 100-continue\r\n\r\n",
		 n_bytes);
	send_text(fd, head);
	assert_int_equal(read_status(fd), 100);
	return fd;
}

static const char one_byte_more[] = "Content-Length: 1\r\nExpect: 100-continue";

/* So many files of these clients, of so many bytes each, are taken at once; who ends or gives up makes room. */
static void assert_at_once(int n_clients, int n, size_t n_bytes)
{
	int fds[32], status = 503;
	char answer[64];

	for (int i = 0; i < n; i++)
		fds[i] = begin_file(i % n_clients, n_bytes);
	assert_int_equal(post_head("/file", one_byte_more), 503);
	/* One client leaves a quarter to the others. */
	if (n_clients == 1)
		close(begin_file(1, n_bytes));
	/* They are too slow. */
	for (int i = 0; i < n; i++) {
		assert_int_equal(read_status(fds[i]), 0);
		close(fds[i]);
	}
	for (int i = 0; i < 500 && status == 503; i++)
		status = send_body(10, answer, sizeof(answer));
	assert_int_equal(status, 200);
}

static void test_file_bodies_at_once(void **state)
{
	(void)state;
	assert_at_once(2, 32, 10);
	assert_at_once(2, 4, LISTENING_FILE_BYTES);
	assert_at_once(1, 24, 10);
	assert_at_once(1, 3, LISTENING_FILE_BYTES);
}

/* A body that never comes is cut off. */
static void test_slow_body(void **state)
{
	int fd = listening_connect();

	(void)state;
	send_text(fd, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nab");
	assert_int_equal(read_status(fd), 0);
	close(fd);
}

/* One that comes, a quarter of what may come at a time, has longer than the time of one quarter. */
static void test_long_body(void **state)
{
	int fd = listening_connect();
	char piece[251];

	(void)state;
	memset(piece, 'x', 250);
	piece[250] = '\0';
	send_text(fd, "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n");
	for (int i = 0; i < 4; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 600000000 }, NULL);
		send_text(fd, piece);
	}
	assert_int_equal(read_status(fd), 200);
	close(fd);
}

static void *ask_slow(void *ctx)
{
	(void)ctx;
	call("/slow", HTTP_GET, NULL, NULL, 0);
	return NULL;
}

static _Atomic int n_freed;

static void count_free(struct access_rules *rules)
{
	(void)rules;
	n_freed++;
}

/* Who came by the old rules has them until he is answered, and they go with the last of those. */
static void test_other_rules(void **state)
{
	static struct access_rules open_rules = { .anonymous = HTTP_ROLE_WRITE,
						  .free = count_free,
						  .n_users = 1 };
	static struct access_rules closed = { .anonymous = HTTP_ROLE_NONE,
					      .free = count_free,
					      .n_users = 1 };
	int fd = listening_connect();

	(void)state;
	n_freed = 0;
	listener__set_rules(served.listener, &open_rules);
	send_text(fd, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
	listening_wait(&served.n_waiting, 1);
	listener__set_rules(served.listener, &closed);
	assert_int_equal(call("/echo", HTTP_GET, NULL, NULL, 0), 401);
	assert_int_equal(n_freed, 0);
	close(fd);
	listening_wait(&n_freed, 1);
	listener__set_rules(served.listener, &served_rules);
	listening_wait(&n_freed, 2);
	assert_int_equal(call("/quick", HTTP_GET, NULL, NULL, 0), 200);
}

/* n at once; so many of them are in their handlers, and go. */
static void assert_pushes(const char *request, int n, int want)
{
	int fds[16];

	for (int i = 0; i < n; i++) {
		fds[i] = listening_connect();
		send_text(fds[i], request);
		listening_wait(&served.n_waiting, i < want ? i + 1 : want);
	}
	poll(NULL, 0, 50);
	assert_int_equal(served.n_waiting, want);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	listening_wait(&served.n_waiting, 0);
}

/* Four pushes are worked on at once, and those that only wait for a store keep no others from that. */
static void test_pushes_that_wait(void **state)
{
	(void)state;
	assert_pushes("GET /push HTTP/1.1\r\nHost: localhost\r\n\r\n", 6, 4);
	assert_pushes("GET /push?waits=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 12, 12);
}

/*
 * Both workers busy and two waiting: health answers at once, the next question is told to come
 * back.
 */
static void test_busy(void **state)
{
	int fds[4];

	(void)state;
	served.n_cancelled = 0;
	for (int i = 0; i < 4; i++) {
		fds[i] = listening_connect();
		send_text(fds[i], "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
		if (i < 2)
			listening_wait(&served.n_waiting, i + 1);
		else
			poll(NULL, 0, 50);
	}
	assert_int_equal(call("/quick", HTTP_GET, NULL, NULL, 0), 200);
	assert_int_equal(call("/echo", HTTP_GET, NULL, NULL, 0), 503);
	/* Who may not ask needs no turn to be told so. */
	assert_int_equal(call("/admin", HTTP_POST, NULL, NULL, 0), 403);
	/* What waits for the control thread waits for no question. */
	assert_int_equal(call("/control", HTTP_GET, NULL, NULL, 0), 200);
	/* Clients that hang up cancel their questions. */
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	listening_wait(&served.n_cancelled, 4);
	assert_int_equal(call("/echo", HTTP_GET, NULL, NULL, 0), 200);
}

static int ask_deaf(const char *version)
{
	int fd = listening_connect();
	char text[80];

	served.come_back = false;
	snprintf(text, sizeof(text), "GET /deaf %s\r\nHost: localhost\r\n\r\n", version);
	send_text(fd, text);
	listening_wait(&served.n_waiting, 1);
	return fd;
}

/*
 * Who sends no more reads the answer all the same, whenever it said so: a client of HTTP/1.1 is
 * asked whether it is there.
 */
static void test_half_close(void **state)
{
	int fd = ask_deaf("HTTP/1.1");

	(void)state;
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(read_status(fd), 100);
	assert_int_equal(read_status(fd), 100);
	served.come_back = true;
	assert_int_equal(read_status(fd), 200);
	close(fd);
}

/* It must not be sent what it does not know; its question goes on. */
static void test_half_close_of_http_1_0(void **state)
{
	int fd = ask_deaf("HTTP/1.0");

	(void)state;
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	poll(NULL, 0, 1000);
	served.come_back = true;
	assert_int_equal(read_status(fd), 200);
	close(fd);
}

/* One that goes after it had half-closed, and had answered that it was there. */
static void test_departure_after_half_close(void **state)
{
	int fd = listening_connect();

	(void)state;
	served.n_cancelled = 0;
	send_text(fd, "GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
	listening_wait(&served.n_waiting, 1);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	assert_int_equal(read_status(fd), 100);
	close(fd);
	listening_wait(&served.n_cancelled, 1);
}

/* A unix socket tells half and whole apart by itself. */
static void test_half_close_of_a_unix_socket(void **state)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", served.socket_path);
	assert_int_equal(connect(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	served.come_back = false;
	send_text(fd, "GET /deaf HTTP/1.1\r\nHost: localhost\r\n\r\n");
	listening_wait(&served.n_waiting, 1);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	poll(NULL, 0, 1000);
	served.come_back = true;
	assert_int_equal(read_status(fd), 200);
	close(fd);
}

/* A stop cancels what runs and waits for it. */
static void test_stop_with_question(void **state)
{
	pthread_t thread;

	(void)state;
	served.n_cancelled = 0;
	assert_int_equal(pthread_create(&thread, NULL, ask_slow, NULL), 0);
	listening_wait(&served.n_waiting, 1);
	assert_int_equal(listener__stop(served.listener, clock__mono(&clock__system)), 0);
	pthread_join(thread, NULL);
	assert_int_equal(served.n_cancelled, 1);
}

/*
 * A handler that does not come back is left behind at the deadline, with its client; when it comes
 * back after all, another stop ends well.
 */
static void test_stop_with_a_handler_that_hangs(void **state)
{
	int fd = ask_deaf("HTTP/1.1");

	(void)state;
	assert_int_equal(listener__stop(served.listener, clock__mono(&clock__system)), -ETIMEDOUT);
	assert_int_equal(served.n_waiting, 1);
	assert_int_equal(read_status(fd), 0);
	assert_int_equal(listener__stop(served.listener, 0), -ETIMEDOUT);
	served.come_back = true;
	listening_wait(&served.n_waiting, 0);
	assert_int_equal(listener__stop(served.listener, 0), 0);
	close(fd);
}

static int start_again(void **state)
{
	return listening_end(state) || listening_begin(state);
}

static void test_refusals(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct listener *other = NULL;
	char address[80];
	const char *addresses[] = { address };
	const struct listener_options o = { .addresses = addresses, .n_addresses = 1, .rules = &served_rules };

	(void)state;
	snprintf(address, sizeof(address), "127.0.0.1:%u", served.port);
	assert_int_equal(listener__new(&o, served.routes, &served_quiet, NULL, &other, &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "in use"));
	snprintf(address, sizeof(address), "unix:%s", served.socket_path);
	assert_int_equal(listener__new(&o, served.routes, &served_quiet, NULL, &other, &err), -EADDRINUSE);
	snprintf(address, sizeof(address), "nonsense");
	assert_int_equal(listener__new(&o, served.routes, &served_quiet, NULL, &other, &err), -EINVAL);
	snprintf(address, sizeof(address), "127.0.0.1:99999");
	assert_int_equal(listener__new(&o, served.routes, &served_quiet, NULL, &other, &err), -EINVAL);
}

/* How often the accepter looks goes by what the busiest connection is at. */
/* Is the server's end of that connection (proc(5), /proc/net/tcp) waiting to ask for its client, as timer 2? */
static bool is_kept_alive(uint16_t client_port)
{
	FILE *f = fopen("/proc/self/net/tcp", "re");
	char line[512];
	bool kept = false;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned local, remote, state, timer;

		if (sscanf(line, "%*u: %*8x:%4x %*8x:%4x %2x %*8x:%*8x %2x:", &local, &remote,
			   &state, &timer) != 4)
			continue;
		kept = kept ||
		       (local == served.port && remote == client_port && state == 1 && timer == 2);
	}
	fclose(f);
	return kept;
}

/* Who only watches has nothing to send: a machine that is no more would be watching for ever. */
static void test_clients_are_asked_whether_they_are_there(void **state)
{
	struct sockaddr_in ours;
	socklen_t n = sizeof(ours);
	bool kept = false;
	int fd = listening_connect();

	(void)state;
	assert_int_equal(getsockname(fd, (struct sockaddr *)&ours, &n), 0);
	for (int i = 0; i < 100 && !kept; i++) {
		kept = is_kept_alive(ntohs(ours.sin_port));
		poll(NULL, 0, 20);
	}
	assert_true(kept);
	close(fd);
}

static void test_load(void **state)
{
	static const enum conn_phase busy[] = { CONN_BODY, CONN_WORK, CONN_ANSWER };
	struct conns s;
	const struct access_peer peer = { .uid = 0 };
	struct conn *one, *two;

	(void)state;
	conns__init(&s);
	assert_int_equal(conns__load(&s), CONNS_NONE);
	assert_non_null(conns__add(&s, 1000, &peer, 0));
	/* Its descriptor was closed without a word, and another one has its number. */
	one = conns__add(&s, 1000, &peer, 0);
	two = conns__add(&s, 1001, &peer, 0);
	assert_true(one && two);
	assert_int_equal(conns__n(&s), 2);
	assert_ptr_equal(conns__begin(&s, 1000, 0), one);
	assert_null(conns__begin(&s, 1000, 0));
	assert_ptr_equal(conns__begin(&s, 1001, 0), two);
	assert_int_equal(conns__load(&s), CONNS_WAITING);
	for (size_t i = 0; i < sizeof(busy) / sizeof(*busy); i++) {
		conns__enter(i % 2 ? one : two, busy[i], 0, NULL);
		assert_int_equal(conns__load(&s), CONNS_BUSY);
		conns__enter(i % 2 ? one : two, CONN_HEAD, INT64_MAX, NULL);
		assert_int_equal(conns__load(&s), CONNS_WAITING);
	}
	/* One that never begins is given up, by a tick. */
	assert_non_null(conns__add(&s, 1002, &peer, 1));
	assert_int_equal(conns__tick(&s, 2), 0);
	assert_int_equal(conns__n(&s), 2);
	conns__remove(one);
	conns__remove(two);
	assert_int_equal(conns__load(&s), CONNS_NONE);
	conns__fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_unix_is_admin),
		cmocka_unit_test(test_more_connections_than_there_may_be),
		cmocka_unit_test(test_one_client_with_all_connections),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_refused_by_libmicrohttpd),
		cmocka_unit_test(test_many_parameters),
		cmocka_unit_test(test_large_body),
		cmocka_unit_test(test_body_refused_by_its_head),
		cmocka_unit_test(test_expect_continue),
		cmocka_unit_test(test_chunked_body),
		cmocka_unit_test(test_bodies_together),
		cmocka_unit_test(test_refusal_keeps_connection),
		cmocka_unit_test(test_file_body),
		cmocka_unit_test(test_file_body_is_refused_early),
		cmocka_unit_test(test_file_body_in_chunks),
		cmocka_unit_test(test_file_bodies_at_once),
		cmocka_unit_test(test_slow_body),
		cmocka_unit_test(test_long_body),
		cmocka_unit_test(test_long_answer),
		cmocka_unit_test(test_an_answer_that_is_not_taken),
		cmocka_unit_test(test_other_rules),
		cmocka_unit_test(test_pushes_that_wait),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_half_close),
		cmocka_unit_test(test_half_close_of_http_1_0),
		cmocka_unit_test(test_departure_after_half_close),
		cmocka_unit_test(test_half_close_of_a_unix_socket),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_clients_are_asked_whether_they_are_there),
		cmocka_unit_test(test_load),
		cmocka_unit_test_teardown(test_stop_with_question, start_again),
		cmocka_unit_test(test_stop_with_a_handler_that_hangs),
	};

	return cmocka_run_group_tests_name("listener", tests, listening_begin, listening_end);
}
