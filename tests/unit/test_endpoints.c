/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_endpoints.c - addresses that plugins answer: offers, requests, and owners that leave
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/deflate/deflate.h"
#include "core/net/endpoints.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

#define MS INT64_C(1000000)

static struct endpoints *endpoints;
static struct http_routes *routes;
static const int first, second; /* two owners */

/* What the plugin saw, and how it is to answer. */
static struct seen {
	pthread_mutex_t lock;
	uint32_t n;
	char body[64];
	size_t n_body;
	struct dcm_budget *budget;
	bool waits_for_cancel, waits, refuses, injects;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct clock now;

static void locked(bool *member, bool value)
{
	pthread_mutex_lock(&seen.lock);
	*member = value;
	pthread_mutex_unlock(&seen.lock);
}

static bool look(const bool *member)
{
	pthread_mutex_lock(&seen.lock);
	bool is = *member;
	pthread_mutex_unlock(&seen.lock);
	return is;
}

static void answer(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	(void)ctx;
	pthread_mutex_lock(&seen.lock);
	seen.n++;
	seen.n_body = q->n_body < sizeof(seen.body) ? q->n_body : sizeof(seen.body);
	if (seen.n_body)
		memcpy(seen.body, q->body, seen.n_body);
	seen.budget = q->budget;
	pthread_mutex_unlock(&seen.lock);
	while (look(&seen.waits))
		usleep(1000);
	while (look(&seen.waits_for_cancel) && !atomic_load(&q->budget->cancelled))
		usleep(1000);
	if (seen.injects)
		endpoints__reply_header(reply, "X-Line", "a\r\nSet-Cookie: b");
	if (seen.refuses)
		endpoints__reply_problem(reply, 422, "no: %d", 7);
	else
		endpoints__reply_put(reply, 200, "text/plain", "done", 4);
}

static const char *const params[] = { "label", "name", NULL }, *const repeats[] = { "label", NULL };
static const struct dcm_endpoint push = {
	.size = sizeof(push),
	.role = DCM_ROLE_WRITE,
	.method = "POST",
	.path = "/push",
	.doc = "takes something",
	.max_body = 1000,
	.max_unpacked = 5000,
	.params = params,
	.repeats = repeats,
	.answer = answer,
};

static int set_up(void **state)
{
	(void)state;
	seen.n = 0;
	seen.waits = seen.waits_for_cancel = seen.refuses = seen.injects = false;
	now = clock__fake(1, 0);
	endpoints = endpoints__new(&now);
	routes = http_routes__new();
	http_routes__set_endpoints(routes, endpoints);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	http_routes__free(routes);
	endpoints__free(endpoints);
	return 0;
}

struct asked {
	struct arena arena;
	struct dcm_budget budget;
	struct http_response resp;
};

/* Who asks has the role; `coding` is Content-Encoding, or NULL. */
static int ask_as(struct asked *a, enum http_method method, const char *target, enum http_role role,
		  const char *coding, const void *body, size_t n)
{
	const struct dcm_field header = { STR("content-encoding"), str__of(coding) };
	struct http_request req = { .method = method,
				    .role = role,
				    .arena = &a->arena,
				    .budget = &a->budget,
				    .headers = &header,
				    .n_headers = coding ? 1 : 0,
				    .body = { body, (uint32_t)n } };

	memset(&a->resp, 0, sizeof(a->resp));
	a->resp.status = 200;
	assert_int_equal(http_request__set_target(&req, str__of(target)), 0);
	http_routes__dispatch(routes, &req, &a->resp);
	return a->resp.status;
}

static void forget(struct asked *a)
{
	http_response__fini(&a->resp);
	arena__fini(&a->arena);
}

static int status_of(enum http_method method, const char *target, enum http_role role,
		     const char *coding, const char *body, const char *sentence)
{
	struct asked a = { 0 };
	int status = ask_as(&a, method, target, role, coding, body, strlen(body));

	if (sentence &&
	    !(a.resp.body.n && memmem(a.resp.body.data, a.resp.body.n, sentence, strlen(sentence))))
		fail_msg("%s: %.*s", target, (int)a.resp.body.n, (const char *)a.resp.body.data);
	forget(&a);
	return status;
}

static void test_asks_the_plugin(void **state)
{
	(void)state;
	struct dcm_error err = DCM_ERROR_INIT;

	assert_int_equal(status_of(HTTP_POST, "/push", HTTP_ROLE_WRITE, NULL, "x", "nothing at /push"),
			 404);
	assert_int_equal(endpoints__offer(endpoints, &first, &push, &err), 0);
	assert_int_equal(status_of(HTTP_POST, "/push?label=a&label=b&name=c", HTTP_ROLE_WRITE, NULL,
				   "hello", "done"),
			 200);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.n_body, 5);
	assert_memory_equal(seen.body, "hello", 5);
	/* What the routes see to, they see to here. */
	assert_int_equal(status_of(HTTP_GET, "/push", HTTP_ROLE_WRITE, NULL, "", "it answers POST"), 405);
	assert_int_equal(status_of(HTTP_POST, "/push", HTTP_ROLE_READ, NULL, "", "role write"), 403);
	assert_int_equal(
		status_of(HTTP_POST, "/push?lable=a", HTTP_ROLE_WRITE, NULL, "", "did you mean"), 400);
	assert_int_equal(
		status_of(HTTP_POST, "/push?name=a&name=b", HTTP_ROLE_WRITE, NULL, "", "twice"), 400);
	assert_int_equal(seen.n, 1);
	seen.refuses = true;
	assert_int_equal(status_of(HTTP_POST, "/push", HTTP_ROLE_ADMIN, NULL, "", "no: 7"), 422);
}

static void test_unpacks(void **state)
{
	(void)state;
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf packed = { 0 }, bomb = { 0 };
	struct asked a = { 0 };
	uint8_t zeros[5001] = { 0 };

	assert_int_equal(endpoints__offer(endpoints, &first, &push, &err), 0);
	assert_int_equal(deflate__pack((const uint8_t *)"hello", 5, 6, &packed), 0);
	assert_int_equal(
		ask_as(&a, HTTP_POST, "/push", HTTP_ROLE_WRITE, "gzip", packed.data, packed.n), 200);
	forget(&a);
	assert_int_equal(seen.n_body, 5);
	assert_memory_equal(seen.body, "hello", 5);
	assert_int_equal(status_of(HTTP_POST, "/push", HTTP_ROLE_WRITE, "identity", "plain", "done"), 200);
	assert_int_equal(seen.n, 2);

	assert_int_equal(deflate__pack(zeros, sizeof(zeros), 6, &bomb), 0);
	a = (struct asked){ 0 };
	assert_int_equal(ask_as(&a, HTTP_POST, "/push", HTTP_ROLE_WRITE, "gzip", bomb.data, bomb.n), 413);
	forget(&a);
	assert_int_equal(status_of(HTTP_POST, "/push", HTTP_ROLE_WRITE, "gzip", "no gzip", NULL), 400);
	a = (struct asked){ 0 };
	assert_int_equal(ask_as(&a, HTTP_POST, "/push", HTTP_ROLE_WRITE, "zstd", "x", 1), 415);
	assert_true(str__eq(http_response__find(&a.resp, "Accept-Encoding"), STR("gzip")));
	forget(&a);
	assert_int_equal(seen.n, 2);
	buf__fini(&packed);
	buf__fini(&bomb);
}

static void test_no_line_gets_into_the_head(void **state)
{
	(void)state;
	struct dcm_error err = DCM_ERROR_INIT;
	struct asked a = { 0 };

	seen.injects = true;
	assert_int_equal(endpoints__offer(endpoints, &first, &push, &err), 0);
	assert_int_equal(ask_as(&a, HTTP_POST, "/push", HTTP_ROLE_WRITE, NULL, "", 0), 200);
	assert_int_equal(a.resp.headers.n, 0);
	forget(&a);
}

static void test_what_cannot_be_offered(void **state)
{
	(void)state;
	static const struct {
		struct dcm_endpoint e;
		int r;
	} bad[] = {
		{ { .size = 8, .method = "POST", .path = "/x", .answer = answer }, -EINVAL },
		{ { .size = sizeof(push), .method = "PUT", .path = "/x", .answer = answer }, -EINVAL },
		{ { .size = sizeof(push), .method = "POST", .path = "x", .answer = answer }, -EINVAL },
		{ { .size = sizeof(push), .method = "POST", .path = "/x" }, -EINVAL },
		{ { .size = sizeof(push), .path = "/x", .answer = answer }, -EINVAL },
		{ { .size = sizeof(push), .role = 4, .method = "POST", .path = "/x", .answer = answer },
		  -EINVAL },
		{ { .size = sizeof(push), .method = "POST", .path = "/x", .answer = answer, .max_body = UINT64_MAX },
		  -EINVAL },
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_endpoint other = push;
	const struct http_route core = { .method = HTTP_POST,
					 .pattern = "/core/{what}",
					 .role = HTTP_ROLE_READ };
	const char *names[66];

	assert_int_equal(http_routes__add(routes, &core), 0);
	other.path = "/core/push";
	assert_int_equal(endpoints__offer(endpoints, &first, &other, &err), -EEXIST);
	assert_non_null(strstr(err.text, "decima itself answers /core/push"));
	other.method = "GET";
	assert_int_equal(endpoints__offer(endpoints, &first, &other, &err), 0);
	other = push;
	for (size_t i = 0; i < 65; i++)
		names[i] = "name";
	names[65] = NULL;
	other.params = names;
	assert_int_equal(endpoints__offer(endpoints, &first, &other, &err), -EINVAL);
	other = push;
	other.repeats = names;
	assert_int_equal(endpoints__offer(endpoints, &first, &other, &err), -EINVAL);
	names[64] = NULL;
	other.method = "GET";
	assert_int_equal(endpoints__offer(endpoints, &first, &other, &err), 0);
	other = push;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(endpoints__offer(endpoints, &first, &bad[i].e, &err), bad[i].r);
	assert_int_equal(endpoints__offer(endpoints, &first, &push, &err), 0);
	assert_int_equal(endpoints__offer(endpoints, &second, &push, &err), -EEXIST);
	other.max_body = 5;
	assert_int_equal(endpoints__offer(endpoints, &second, &other, &err), -EEXIST);
	other.path = "/other";
	assert_int_equal(endpoints__offer(endpoints, &second, &other, &err), 0);
}

/* A reload offers the same again and again, and that takes no place; another offer does, and at some time none is left. */
static void test_places_are_used_again(void **state)
{
	(void)state;
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_endpoint other = push;
	int r = 0;

	for (int i = 0; i < 1000; i++) {
		assert_int_equal(endpoints__offer(endpoints, &first, &push, &err), 0);
		assert_int_equal(status_of(HTTP_POST, "/push", HTTP_ROLE_WRITE, NULL, "", "done"), 200);
		assert_int_equal(endpoints__withdraw(endpoints, &first, 0), 0);
		assert_int_equal(status_of(HTTP_POST, "/push", HTTP_ROLE_WRITE, NULL, "", NULL), 503);
	}
	now.fake_mono_ns += 5000 * MS;
	assert_int_equal(status_of(HTTP_POST, "/push", HTTP_ROLE_WRITE, NULL, "", NULL), 404);
	for (int i = 0; r == 0 && i < 1000; i++) {
		other.max_body = 2000 + (uint64_t)i;
		r = endpoints__offer(endpoints, &second, &other, &err);
		assert_int_equal(endpoints__withdraw(endpoints, &second, 0), 0);
	}
	assert_int_equal(r, -ENOSPC);
	/* Those that were there before are in nobody's way. */
	assert_int_equal(endpoints__offer(endpoints, &first, &push, &err), 0);
	assert_int_equal(status_of(HTTP_POST, "/push", HTTP_ROLE_WRITE, NULL, "", "done"), 200);
}

static void *ask_in_thread(void *ctx)
{
	return (void *)(intptr_t)ask_as(ctx, HTTP_POST, "/push", HTTP_ROLE_WRITE, NULL, "", 0);
}

static void begin(pthread_t *thread, struct asked *a)
{
	uint32_t n = 0;

	assert_int_equal(pthread_create(thread, NULL, ask_in_thread, a), 0);
	while (n == 0) {
		usleep(1000);
		pthread_mutex_lock(&seen.lock);
		n = seen.n;
		pthread_mutex_unlock(&seen.lock);
	}
}

struct leaving {
	int64_t deadline;
	_Atomic int result; /* 1: not yet */
};

static void *withdraw(void *ctx)
{
	struct leaving *l = ctx;

	l->result = endpoints__withdraw(endpoints, &first, l->deadline);
	return NULL;
}

/* Whoever is inside comes to his end before the owner may go; nobody else is let in meanwhile. */
static void test_waits_for_those_inside(void **state)
{
	(void)state;
	struct leaving leaving = { .deadline = clock__mono(&clock__system) + 600000 * MS, .result = 1 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct asked a = { 0 };
	pthread_t asking, going;
	void *status;

	seen.waits = true;
	assert_int_equal(endpoints__offer(endpoints, &first, &push, &err), 0);
	begin(&asking, &a);
	assert_int_equal(pthread_create(&going, NULL, withdraw, &leaving), 0);
	while (endpoints__offer(endpoints, &second, &push, &err) == -EEXIST)
		usleep(1000);
	assert_int_equal(leaving.result, 1);
	locked(&seen.waits, false);
	pthread_join(asking, &status);
	pthread_join(going, NULL);
	assert_int_equal((intptr_t)status, 200);
	assert_int_equal(leaving.result, 0);
	assert_false(a.budget.cancelled);
	forget(&a);
}

static void test_cancels_those_inside(void **state)
{
	(void)state;
	struct dcm_error err = DCM_ERROR_INIT;
	struct asked a = { 0 };
	pthread_t asking;
	void *status;

	seen.waits_for_cancel = true;
	assert_int_equal(endpoints__offer(endpoints, &first, &push, &err), 0);
	begin(&asking, &a);
	assert_int_equal(endpoints__withdraw(endpoints, &second, 0), 0); /* another owner's is nobody's business */
	assert_false(a.budget.cancelled);
	assert_int_equal(endpoints__withdraw(endpoints, &first, 0), 0);
	pthread_join(asking, &status);
	assert_int_equal((intptr_t)status, 200);
	assert_true(a.budget.cancelled);
	forget(&a);
}

static void test_tells_of_one_that_stays(void **state)
{
	(void)state;
	struct dcm_error err = DCM_ERROR_INIT;
	struct asked a = { 0 };
	pthread_t asking;

	seen.waits = true;
	assert_int_equal(endpoints__offer(endpoints, &first, &push, &err), 0);
	begin(&asking, &a);
	assert_int_equal(endpoints__withdraw(endpoints, &first, 0), -ETIMEDOUT);
	locked(&seen.waits, false);
	pthread_join(asking, NULL);
	assert_int_equal(endpoints__withdraw(endpoints, &first, 0), 0);
	forget(&a);
}

static void test_memory_runs_out(void **state)
{
	(void)state;

	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct endpoints *e = endpoints__new(&clock__system);
		int r = e ? endpoints__offer(e, &first, &push, &err) : -ENOMEM;

		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		endpoints__free(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_asks_the_plugin, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unpacks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_line_gets_into_the_head, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_offered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_places_are_used_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waits_for_those_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancels_those_inside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tells_of_one_that_stays, set_up, tear_down),
		cmocka_unit_test(test_memory_runs_out),
	};

	return cmocka_run_group_tests_name("endpoints", tests, NULL, NULL);
}
