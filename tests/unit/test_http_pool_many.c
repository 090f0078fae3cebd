/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_http_pool_many.c - many calls at once, ended at any moment: each is answered once
 *
 * Also the place for the sanitizers: callers, the client thread and the server run side by side.
 */
#include "core/net/http_pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/http_peer.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* As many hang as have connections with the usual 1,024 descriptors, and room beside. */
enum { MANY = 2000, N_HANGING = 500, ROUNDS = 60, AT_ONCE = 40 };

DEFINE_FOLDER(dir, "http-many", 0700);
static struct http_pool *pool;
static struct dcm_http_options plain = { .follow_redirects = true, .enable_http2 = true };

struct tally {
	_Atomic unsigned n_done, n_ok, n_cancelled, n_late, n_other;
	_Atomic bool bad; /* more than once, or bytes after the end */
};

struct one {
	struct tally *tally;
	_Atomic unsigned n_done;
	unsigned stop_after;
};

static bool take(void *ctx, const uint8_t *data, size_t n)
{
	struct one *o = ctx;

	(void)data;
	(void)n;
	if (o->n_done)
		o->tally->bad = true;
	return o->stop_after == 0 || --o->stop_after > 0;
}

static void done(void *ctx, const struct dcm_http_reply *r)
{
	struct one *o = ctx;
	struct tally *t = o->tally;

	if (o->n_done++)
		t->bad = true;
	if (r->fault == 0 && r->status == 200)
		t->n_ok++;
	else if (r->fault == -ECANCELED)
		t->n_cancelled++;
	else if (r->fault == -ETIMEDOUT)
		t->n_late++;
	else
		t->n_other++;
	if (r->fault && !r->sentence[0])
		t->bad = true;
	t->n_done++;
}

static struct dcm_http_client *client_of(const struct dcm_http_options *o)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_http_client *c = NULL;

	if (http_pool__client_new(pool, &pool, o, &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static void wait_until(struct tally *t, unsigned n)
{
	int64_t end = clock__mono(&clock__system) + INT64_C(100000000000);

	while (t->n_done < n) {
		if (clock__mono(&clock__system) > end)
			fail_msg("%u of %u calls are answered after 100 s", t->n_done, n);
		usleep(1000);
	}
}

/* All wait for a server that says nothing, and go on together when it is asked to. */
static void two_thousand_at_once(void **state)
{
	NEEDS_PEER;
	static struct one ones[MANY];
	struct dcm_http_client *c = client_of(&plain);
	struct tally t = { 0 };
	char url[200];
	struct dcm_http_call call = { .size = sizeof(call), .url = url, .done = done };

	memset(ones, 0, sizeof(ones));
	snprintf(url, sizeof(url), "%s/size?n=5000", peer__url("http"));
	for (unsigned i = 0; i < MANY; i++) {
		ones[i].tally = &t;
		call.ctx = &ones[i];
		assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
	}
	wait_until(&t, MANY);
	assert_int_equal(t.n_ok, MANY);
	assert_false(t.bad);
	http_pool__client_free(c);
}

/* Those that hang keep nobody else waiting. */
static void who_hangs_harms_nobody(void **state)
{
	NEEDS_PEER;
	static struct one hanging[N_HANGING], good[100];
	struct dcm_http_client *c = client_of(&plain);
	struct tally h = { 0 }, t = { 0 };
	char url[200], fine[200];
	struct dcm_http_call call = { .size = sizeof(call), .url = url, .done = done };

	snprintf(url, sizeof(url), "%s/hang", peer__url("http"));
	snprintf(fine, sizeof(fine), "%s/size?n=10", peer__url("http2"));
	for (unsigned i = 0; i < N_HANGING; i++) {
		hanging[i] = (struct one){ .tally = &h };
		call.ctx = &hanging[i];
		assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
	}
	call.url = fine;
	for (unsigned i = 0; i < 100; i++) {
		good[i] = (struct one){ .tally = &t };
		call.ctx = &good[i];
		assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
	}
	wait_until(&t, 100);
	assert_int_equal(t.n_ok, 100);
	assert_int_equal(h.n_done, 0);
	http_pool__client_free(c);
	assert_int_equal(h.n_done, N_HANGING);
	assert_int_equal(h.n_cancelled, N_HANGING);
	assert_false(h.bad);
}

/* Calls by what they were told: to wait for a connection, or for the server. */
struct told {
	const char *crowded;
	_Atomic unsigned n_crowded, n_others;
};

static void note_sentence(void *ctx, const struct dcm_http_reply *r)
{
	struct told *told = ctx;

	if (strstr(r->sentence, told->crowded))
		told->n_crowded++;
	else if (strstr(r->sentence, "the server takes the request and says nothing"))
		told->n_others++;
}

/*
 * Calls to a server that says nothing, where so many files may be open: n_held that wait for long,
 * and then some that do not, which are all told that there is no connection.
 */
static void hang_with(unsigned n_files, unsigned n_held, struct told *told)
{
	enum { MORE = 16 };

	struct http_pool *own = NULL;
	struct dcm_http_client *c = NULL;
	struct rlimit before, few;
	char url[200];
	struct dcm_http_call call = { .size = sizeof(call),
				      .url = url,
				      .timeout_ns = 600000000000,
				      .done = note_sentence,
				      .ctx = told };

	snprintf(url, sizeof(url), "%s/hang", peer__url("http"));
	assert_int_equal(http_pool__new("decima/test", &own), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ n_files, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	/* It is looked at with the first client. */
	assert_int_equal(http_pool__client_new(own, &own, &plain, &c, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned i = 0; i < n_held + MORE; i++) {
		if (i == n_held)
			call.timeout_ns = 3000000000;
		assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
	}
	for (int i = 0; i < 60000 && told->n_crowded + told->n_others < MORE; i++)
		usleep(1000);
	assert_int_equal(told->n_crowded, MORE);
	assert_int_equal(told->n_others, 0);
	http_pool__client_free(c);
	http_pool__free(own);
}

/* Where there are more calls than descriptors allow connections, it is not the server that is blamed. */
static void who_finds_no_connection_is_told_why(void **state)
{
	NEEDS_PEER;
	struct told told = {
		.crowded = "no connection, as all 16 may be taken; raise the limit of open files"
	};

	hang_with(60, 16, &told);
}

/* Nor where others have connections left, and this server none. */
static void who_finds_no_connection_to_one_server_is_told_why(void **state)
{
	NEEDS_PEER;
	struct rlimit files;
	struct told told = { .crowded = "no connection, as all 1024 to one server or proxy may be "
					"taken; raise the limit of open files" };

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	if (files.rlim_max < 4096)
		skip_because("too few files may be open");
	hang_with(1700, 1024, &told);
}

/* Their connections are spread, so that one that ends knows of few; and each is used again. */
static void servers_of_all_parts_answer(void **state)
{
	NEEDS_PEER;
	enum { N_SERVERS = 60, N_FILES = 16384 };
	static struct one ones[N_SERVERS];
	struct tally t = { 0 };
	struct http_pool *own = NULL;
	struct dcm_http_client *c = NULL;
	struct rlimit before, many;
	char url[200];
	struct dcm_http_call call = { .size = sizeof(call), .url = url, .done = done, .timeout_ns = 20000000000 };

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	if (before.rlim_max < N_FILES)
		skip_because("too few files may be open");
	many = (struct rlimit){ N_FILES, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &many), 0);
	assert_int_equal(http_pool__new("decima/test", &own), 0);
	assert_int_equal(http_pool__client_new(own, &own, &plain, &c, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (unsigned turn = 1; turn <= 2; turn++) {
		for (unsigned i = 0; i < N_SERVERS; i++) {
			/* All such names are loopback's (RFC 6761). */
			snprintf(url, sizeof(url), "http://server%u.localhost:%s/size?n=200000", i,
				 strrchr(peer__url("http"), ':') + 1);
			ones[i] = (struct one){ .tally = &t };
			call.ctx = &ones[i];
			assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
		}
		wait_until(&t, turn * N_SERVERS);
		assert_int_equal(t.n_ok, turn * N_SERVERS);
	}
	assert_false(t.bad);
	/* The first part, and 6 of at least 1,024 of the other 6,144. */
	assert_int_equal(http_pool__count(own).n_parts, 7);
	http_pool__client_free(c);
	http_pool__free(own);
}

static const char *const paths[] = {
	"/size?n=100", "/size?n=200000",  "/hang",	    "/hangbody", "/slow?n=5&ms=2",
	"/endless",    "/truncated",	  "/gzip?n=100000", "/circle",	 "/redirect?to=/size%3Fn=5",
	"/nothing",    "/status?code=500"
};

/* Started, cancelled and timed out by chance, the client freed at any moment. */
static void one_round(struct random *r, struct dcm_http_options *o, const char *server)
{
	struct one ones[AT_ONCE];
	uint64_t ids[AT_ONCE] = { 0 };
	struct tally t = { 0 };
	struct dcm_http_client *c = client_of(o);
	char url[200];

	for (unsigned i = 0; i < AT_ONCE; i++) {
		struct dcm_http_call call = {
			.size = sizeof(call), .url = url, .done = done, .ctx = &ones[i]
		};

		ones[i] = (struct one){ .tally = &t, .stop_after = (unsigned)random__below(r, 4) };
		snprintf(url, sizeof(url), "%s%s", peer__url(server),
			 paths[random__below(r, sizeof(paths) / sizeof(paths[0]))]);
		call.take = random__below(r, 2) ? take : NULL;
		call.timeout_ns = random__below(r, 2) ? (int64_t)random__below(r, 30000000) + 1 : 0;
		call.silence_ns = random__below(r, 3) ? 0 : (int64_t)random__below(r, 20000000) + 1;
		call.max_bytes = random__below(r, 2) ? random__below(r, 1 << 20) : 0;
		assert_int_equal(http_pool__start(c, &call, &ids[i], NULL), 0);
		if (random__below(r, 3) == 0)
			http_pool__cancel(c, ids[random__below(r, i + 1)]);
		if (random__below(r, 8) == 0)
			usleep((unsigned)random__below(r, 3000));
	}
	if (random__below(r, 2))
		http_pool__settle(pool, &pool);
	http_pool__client_free(c);
	assert_int_equal(t.n_done, AT_ONCE);
	assert_false(t.bad);
	assert_int_equal(http_pool__count(pool).n_calls, 0);
}

static void ended_at_any_moment(void **state)
{
	NEEDS_PEER;
	struct random r = { .state = (uint64_t)clock__mono(&clock__system) };
	struct dcm_http_options o = plain;

	print_message("seed %llu\n", (unsigned long long)r.state);
	o.tls.ca_file = peer__file("ca.pem");
	for (unsigned i = 0; i < ROUNDS; i++)
		one_round(&r, &o, i % 3 ? "http" : "https");
}

/* Calls that wait for a token, ended at any moment. */
static void tokens_at_any_moment(void **state)
{
	NEEDS_PEER;
	struct random r = { .state = (uint64_t)clock__mono(&clock__system) };
	char token[200], path[200];
	struct dcm_http_options o = plain;

	print_message("seed %llu\n", (unsigned long long)r.state);
	for (unsigned round = 0; round < 10; round++) {
		static const char *const kinds[] = { "/token?life=1", "/token-form", "/token-none",
						     "/hang" };
		struct one ones[AT_ONCE];
		uint64_t ids[AT_ONCE];
		struct tally t = { 0 };

		snprintf(token, sizeof(token), "%s%s", peer__url("http2"), kinds[random__below(&r, 4)]);
		snprintf(path, sizeof(path), "%s/guarded", peer__url("http"));
		o.oauth2 = (struct dcm_http_oauth2){ .client_id = "me",
						     .client_secret = { .text = "s&cret" },
						     .token_url = token };
		struct dcm_http_client *c = client_of(&o);
		for (unsigned i = 0; i < AT_ONCE; i++) {
			const struct dcm_http_call call = {
				.size = sizeof(call),
				.url = path,
				.done = done,
				.ctx = &ones[i],
				.timeout_ns = (int64_t)random__below(&r, 50000000) + 1
			};
			ones[i] = (struct one){ .tally = &t };
			assert_int_equal(http_pool__start(c, &call, &ids[i], NULL), 0);
			if (random__below(&r, 3) == 0)
				http_pool__cancel(c, ids[random__below(&r, i + 1)]);
		}
		usleep((unsigned)random__below(&r, 20000));
		http_pool__client_free(c);
		assert_int_equal(t.n_done, AT_ONCE);
		assert_false(t.bad);
	}
}

/* done() begins the next call, many times over. */
struct chain {
	struct dcm_http_client *client;
	struct dcm_http_call call;
	_Atomic int n_left;
	_Atomic bool failed;
};

static void next_call(void *ctx, const struct dcm_http_reply *r)
{
	struct chain *c = ctx;

	if (r->fault || r->status != 200)
		c->failed = true;
	if (c->n_left > 1 && http_pool__start(c->client, &c->call, NULL, NULL) < 0)
		c->failed = true;
	c->n_left--;
}

static void callbacks_begin_calls(void **state)
{
	NEEDS_PEER;
	char url[200];
	struct chain c = { .client = client_of(&plain), .n_left = 500 };

	snprintf(url, sizeof(url), "%s/size?n=10", peer__url("http"));
	c.call = (struct dcm_http_call){ .size = sizeof(c.call), .url = url, .done = next_call, .ctx = &c };
	assert_int_equal(http_pool__start(c.client, &c.call, NULL, NULL), 0);
	for (int i = 0; c.n_left > 0 && i < 60000; i++)
		usleep(1000);
	assert_int_equal(c.n_left, 0);
	assert_false(c.failed);
	http_pool__client_free(c.client);
}

/* Of the caller's thread; the client thread's own are counted apart. */
static void starting_survives_failing_allocations(void **state)
{
	NEEDS_PEER;
	const char *key = "X-Key", *value = "v", *file = peer__file("ca.pem");
	struct dcm_http_values values = { .values = { &value, 1 } };
	struct dcm_http_options o = plain;
	const struct dcm_http_header own[] = { { STR("A"), STR("b") } };
	char url[200];
	(void)file;

	o.basic.username = "u";
	o.http_headers = (struct dcm_map){ .keys = &key, .items = &values, .n = 1 };
	o.proxy.url = NULL;
	FAILMALLOC_SWEEP (i) {
		struct dcm_http_client *c = NULL;
		int r = http_pool__client_new(pool, &pool, &o, &c, NULL);

		failmalloc__disarm();
		if (r == 0) {
			http_pool__client_free(c);
			continue;
		}
		assert_int_equal(r, -ENOMEM);
		assert_null(c);
	}
	o = plain;
	o.oauth2 = (struct dcm_http_oauth2){ .client_id = "i",
					     .client_secret = { .text = "s" },
					     .token_url = "http://x/" };
	FAILMALLOC_SWEEP (i) {
		struct dcm_http_client *c = NULL;
		int r = http_pool__client_new(pool, &pool, &o, &c, NULL);

		failmalloc__disarm();
		if (r == 0) {
			http_pool__client_free(c);
			continue;
		}
		assert_int_equal(r, -ENOMEM);
		assert_null(c);
	}
	struct dcm_http_client *c = client_of(&plain);
	snprintf(url, sizeof(url), "%s/size?n=10", peer__url("http"));
	FAILMALLOC_SWEEP (i) {
		struct tally t = { 0 };
		struct one one = { .tally = &t };
		const struct dcm_http_call call = { .size = sizeof(call),
						    .url = url,
						    .method = "POST",
						    .body = "x",
						    .n_body = 1,
						    .headers = own,
						    .n_headers = 1,
						    .done = done,
						    .ctx = &one };
		uint64_t id = 0;
		int r = http_pool__start(c, &call, &id, NULL);

		failmalloc__disarm();
		if (r == 0) {
			wait_until(&t, 1);
			assert_int_equal(t.n_ok, 1);
			continue;
		}
		assert_int_equal(r, -ENOMEM);
		assert_int_equal(id, 0);
		assert_int_equal(t.n_done, 0);
	}
	http_pool__client_free(c);
}

/* The client thread's own allocations: a callback arms them, and the next calls begin there. */
static void arm(void *ctx, const struct dcm_http_reply *r)
{
	const uint64_t *n = ctx;

	(void)r;
	if (*n)
		failmalloc__arm_once(*n);
	else
		failmalloc__disarm();
}

static void calls_survive_failing_allocations(void **state)
{
	NEEDS_PEER;
	const char *key = "X-Key", *value = "v";
	struct dcm_http_values values = { .values = { &value, 1 } };
	struct dcm_http_options o = plain;
	char url[200];
	unsigned n_ok = 0;

	o.http_headers = (struct dcm_map){ .keys = &key, .items = &values, .n = 1 };
	o.bearer.text = "x";
	snprintf(url, sizeof(url), "%s/redirect?to=/size%%3Fn=100000", peer__url("http"));
	for (uint64_t n = 1; n < 120; n++) {
		struct dcm_http_client *c = client_of(&o);
		struct tally t = { 0 };
		struct one one = { .tally = &t };
		uint64_t off = 0;
		struct dcm_http_call call = {
			.size = sizeof(call), .url = "http://127.0.0.1:1/", .done = arm, .ctx = &n
		};

		assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
		call = (struct dcm_http_call){ .size = sizeof(call), .url = url, .done = done, .ctx = &one };
		while (http_pool__count(pool).n_calls)
			usleep(100);
		assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
		wait_until(&t, 1);
		assert_false(t.bad);
		n_ok += t.n_ok;
		call = (struct dcm_http_call){
			.size = sizeof(call), .url = "http://127.0.0.1:1/", .done = arm, .ctx = &off
		};
		assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
		http_pool__client_free(c);
	}
	/* The later ones fail at nothing. */
	assert_in_range(n_ok, 1, 118);
}

static void refuses_what_is_no_proxy_in_the_environment(void **state)
{
	static const char *const names[] = { "http_proxy", "https_proxy" };
	struct dcm_http_options o = plain;
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_http_client *c = NULL;

	(void)state;
	o.proxy.from_environment = true;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(setenv(names[i], "ftp://somebody:secret@proxy:21", 1), 0);
		assert_int_equal(http_pool__client_new(pool, &pool, &o, &c, &err), -EINVAL);
		unsetenv(names[i]);
		assert_non_null(strstr(err.text,
				       "_PROXY in the environment is not the address of a proxy"));
		assert_null(strstr(err.text, "secret"));
	}
}

/* ---- sockets that nobody can wait for ---- */

static _Atomic int fails_to_watch; /* errno of the next calls below; 0: none */

/* In the place of libc's, for the library under test too. */
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	int error = atomic_load(&fails_to_watch);

	if (error && op != EPOLL_CTL_DEL) {
		errno = error;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
}

static void begin_call(struct dcm_http_client *c, struct one *one, const char *path)
{
	char url[200];
	struct dcm_http_call call = {
		.size = sizeof(call), .url = url, .take = take, .done = done, .ctx = one
	};

	snprintf(url, sizeof(url), "%s%s", peer__url("http"), path);
	assert_int_equal(http_pool__start(c, &call, NULL, NULL), 0);
}

static void a_socket_that_cannot_be_watched_ends_its_call_alone(void **state)
{
	NEEDS_PEER;
	struct dcm_http_client *c = client_of(&plain), *other = client_of(&plain);
	struct tally slow = { 0 }, t = { 0 };
	struct one ones[] = { { .tally = &slow }, { .tally = &t }, { .tally = &t }, { .tally = &t } };

	/* Bytes of it show that it is watched already. */
	begin_call(other, &ones[0], "/slow?n=40&ms=50");
	begin_call(other, &ones[1], "/echo");
	wait_until(&t, 1);
	assert_int_equal(t.n_ok, 1);
	atomic_store(&fails_to_watch, ENOSPC);
	/* Its end cannot be there before anybody has to wait for it. */
	begin_call(c, &ones[2], "/slow?n=2&ms=50");
	wait_until(&t, 2);
	atomic_store(&fails_to_watch, 0);
	assert_int_equal(t.n_other, 1);
	begin_call(c, &ones[3], "/echo");
	wait_until(&t, 3);
	assert_int_equal(t.n_ok, 2);
	wait_until(&slow, 1);
	assert_int_equal(slow.n_ok, 1);
	assert_false(t.bad || slow.bad);
	http_pool__client_free(c);
	http_pool__client_free(other);
}

static int begin(void **state)
{
	int r = make_dir(state);

	if (r == 0)
		r = http_pool__new("decima/test", &pool);
	if (r == 0)
		r = peer__start(dir);
	return r < 0 ? -1 : 0;
}

static int end(void **state)
{
	http_pool__free(pool);
	peer__stop();
	return remove_dir(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_thousand_at_once),
		cmocka_unit_test(who_hangs_harms_nobody),
		cmocka_unit_test(who_finds_no_connection_is_told_why),
		cmocka_unit_test(servers_of_all_parts_answer),
		cmocka_unit_test(who_finds_no_connection_to_one_server_is_told_why),
		cmocka_unit_test(ended_at_any_moment),
		cmocka_unit_test(tokens_at_any_moment),
		cmocka_unit_test(callbacks_begin_calls),
		cmocka_unit_test(refuses_what_is_no_proxy_in_the_environment),
		cmocka_unit_test(a_socket_that_cannot_be_watched_ends_its_call_alone),
		cmocka_unit_test(starting_survives_failing_allocations),
		cmocka_unit_test(calls_survive_failing_allocations),
	};
	return cmocka_run_group_tests_name("http_pool_many", tests, begin, end);
}
