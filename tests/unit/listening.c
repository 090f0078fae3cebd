/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/listening.c - routes of which each does one thing, and the listener before them
 */
#include "tests/unit/listening.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/str.h"
#include "tests/unit/unit.h"

struct listening served;
struct access_rules served_rules = { .anonymous = HTTP_ROLE_WRITE };
const struct log served_quiet = { .fd = -1, .level = -1 };

static void quick(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx;
	(void)req;
	buf__text(&resp->body, "quick");
}

/* Whether it has all the time that it needs. */
static void tell_bound(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx;
	buf__text(&resp->body, req->budget->deadline_mono_ns ? "bounded" : "patient");
}

static void echo(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx;
	buf__printf(&resp->body, "%zu:%u", (size_t)req->body.n, req->role);
	http_response__header(resp, "X-Test", "%d", 7);
}

/* Until cancelled (or 20 s, so that a broken build ends). */
static void slow(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx;
	served.n_waiting++;
	for (int i = 0; i < 2000 && !atomic_load(&req->budget->cancelled); i++)
		poll(NULL, 0, 10);
	served.n_waiting--;
	served.n_cancelled += atomic_load(&req->budget->cancelled) != 0;
	buf__text(&resp->body, "slow");
}

/* Until told to come back: it does not look at its budget. */
static void deaf(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx;
	served.n_waiting++;
	for (int i = 0; i < 2000 && !served.come_back; i++)
		poll(NULL, 0, 10);
	served.n_waiting--;
	if (atomic_load(&req->budget->cancelled))
		http_response__problem(resp, 499, "cancelled");
}

/* As who brings something to a store: works, and then (with ?waits=1) only waits. */
static void push(void *ctx, const struct http_request *req, struct http_response *resp)
{
	if (http_request__param(req, "waits").n)
		req->waits((struct http_request *)(uintptr_t)req);
	slow(ctx, req, resp);
}

/* How much came, and whether it is what test_file_body() sends. */
static void file_body(void *ctx, const struct http_request *req, struct http_response *resp)
{
	static uint8_t content[LISTENING_FILE_BYTES];
	const struct http_file *f = req->file;
	size_t right = 0;

	(void)ctx;
	assert_non_null(f);
	assert_int_equal(req->body.n, 0);
	if (f->error) {
		http_response__problem(resp, http__status_of(f->error), "%d", f->error);
		return;
	}
	assert_int_equal(pread(f->fd, content, sizeof(content), 0), (ssize_t)f->n);
	while (right < f->n && content[right] == (uint8_t)(right % 251))
		right++;
	buf__printf(&resp->body, "%zu:%zu", (size_t)f->n, right);
}

static void long_answer(void *ctx, const struct http_request *req, struct http_response *resp)
{
	size_t n = http_request__param(req, "more").n ? LISTENING_MEMORY + 1 : LISTENING_MEMORY;

	(void)ctx;
	while (n-- > 0)
		buf__byte(&resp->body, 'x');
}

/* How long each message is; a call that says "quiet" hears nothing, one that says "bad" is over. */
static void talk(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx;
	assert_non_null(req->talk);
	if (str__eq(req->body, STR("bad")))
		http_response__problem(resp, 400, "bad");
	else if (str__eq(req->body, STR("long")))
		for (size_t n = 0; n < LISTENING_MEMORY / 8; n++)
			buf__byte(&resp->body, 'x');
	else if (str__eq(req->body, STR("quiet")))
		resp->status = 204;
	else
		buf__printf(&resp->body, "%zu", (size_t)req->body.n);
}

static void watch(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx;
	buf__text(&resp->body, req->talk->is_look ? "look" : "first");
}

static const char *const file_params[] = { "right", NULL };
static const char *const push_params[] = { "waits", NULL };
static const struct http_route rows[] = {
	{ .pattern = "/push", .role = HTTP_ROLE_READ, .handler = push, .params = push_params, .push = true },
	{ .pattern = "/quick", .handler = quick, .quick = true },
	{ .pattern = "/bounded", .handler = tell_bound },
	{ .pattern = "/patient", .handler = tell_bound, .patient = true },
	{ .pattern = "/echo", .role = HTTP_ROLE_READ, .handler = echo },
	{ .method = HTTP_POST, .pattern = "/echo", .role = HTTP_ROLE_READ, .handler = echo, .max_body = 1000 },
	{ .method = HTTP_POST, .pattern = "/admin", .role = HTTP_ROLE_ADMIN, .handler = echo },
	{ .method = HTTP_POST, .pattern = "/control", .role = HTTP_ROLE_READ, .handler = echo },
	{ .pattern = "/slow", .role = HTTP_ROLE_READ, .handler = slow },
	{ .pattern = "/control", .role = HTTP_ROLE_READ, .handler = echo, .control = true },
	{ .pattern = "/long", .role = HTTP_ROLE_READ, .handler = long_answer },
	{ .method = HTTP_POST,
	  .pattern = "/file",
	  .role = HTTP_ROLE_WRITE,
	  .handler = file_body,
	  .params = file_params,
	  .max_body = LISTENING_FILE_BYTES,
	  .to_file = true },
	{ .method = HTTP_POST,
	  .pattern = "/admin_file",
	  .role = HTTP_ROLE_ADMIN,
	  .handler = file_body,
	  .max_body = LISTENING_FILE_BYTES,
	  .to_file = true },
	{ .method = HTTP_POST,
	  .pattern = "/t.T/Talk",
	  .role = HTTP_ROLE_READ,
	  .handler = talk,
	  .quick = true,
	  .grpc = true,
	  .streams = HTTP_TALKS,
	  .max_body = 100 },
	{ .method = HTTP_POST,
	  .pattern = "/t.T/Watch",
	  .role = HTTP_ROLE_READ,
	  .handler = watch,
	  .quick = true,
	  .grpc = true,
	  .streams = HTTP_WATCHES,
	  .max_body = 100 },
	{ .pattern = "/deaf", .role = HTTP_ROLE_READ, .handler = deaf },
};

int listening_begin(void **state)
{
	static char unix_address[80];
	const char *addresses[] = { "127.0.0.1:0", unix_address };
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	snprintf(served.socket_path, sizeof(served.socket_path), "/tmp/decima-test-%d.sock",
		 (int)getpid());
	snprintf(unix_address, sizeof(unix_address), "unix:%s", served.socket_path);
	assert_int_equal(stats__new(NULL, &served.stats), 0);
	served.routes = http_routes__new();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(http_routes__add(served.routes, &rows[i]), 0);
	assert_int_equal(
		listener__new(&(struct listener_options){ .addresses = addresses,
							  .n_addresses = 2,
							  .rules = &served_rules,
							  .max_connections = LISTENING_CONNECTIONS,
							  .n_workers = 2,
							  .max_waiting = 2,
							  .bodies_max_bytes = 1500,
							  .body_dir = "/tmp",
							  .request_max_bytes = LISTENING_MEMORY,
							  .header_timeout_ns = 1500000000,
							  .body_timeout_ns = 1500000000,
							  .answer_timeout_ns = 1500000000 },
			      served.routes, &served_quiet, served.stats, &served.listener, &err),
		0);
	assert_int_equal(listener__start(served.listener, &err), 0);
	served.port = listener__port(served.listener, 0);
	snprintf(served.url, sizeof(served.url), "http://127.0.0.1:%u", served.port);
	return 0;
}

int listening_end(void **state)
{
	(void)state;
	listener__free(served.listener);
	http_routes__free(served.routes);
	stats__free(served.stats);
	return access(served.socket_path, F_OK) == 0; /* the socket is gone */
}

int listening_connect(void)
{
	return listening_connect_as(0);
}

int listening_connect_as(int client)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)client) };
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(served.port),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	return fd;
}

void listening_wait(_Atomic int *n, int want)
{
	for (int i = 0; i < 500 && *n != want; i++)
		poll(NULL, 0, 10);
	assert_int_equal(*n, want);
}
