/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_flights.c - profiles that are on their way at once: each is taken once, whatever the other side says, in any order
 *
 * The other side is a thread that answers what it was asked in any order, with a yes, a no for good, or one that may become a yes.
 */
#include "plugins/output/delivery/flights.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "tests/unit/unit.h"

enum { N = 40, PARTS_MAX = 3 };
#define SECOND INT64_C(1000000000)

struct asked {
	struct dcm_http_call call;
	unsigned profile, part;
};

static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	bool ends, holds; /* holds: answers nothing before as many are there as may be */
	struct asked asked[2 * FLIGHTS_MAX];
	unsigned n_asked, n_most; /* at once */
	unsigned seed, away;	  /* away: of a hundred answers so many are 503 */
	unsigned parts[N];	  /* that a profile has */
	bool refused[N], not_encoded[N];
	unsigned n_taken[N][PARTS_MAX];
	uint64_t n_dropped, n_sent;
} there;

static void say(const struct asked *q, int status)
{
	const struct dcm_http_reply reply = { .size = sizeof(reply), .status = status, .sentence = "" };

	q->call.done(q->call.ctx, &reply);
}

/* With the lock. */
static int verdict_on(const struct asked *q)
{
	if ((unsigned)rand_r(&there.seed) % 100 < there.away)
		return 503;
	if (there.refused[q->profile] && q->part + 1 == there.parts[q->profile])
		return 400;
	there.n_taken[q->profile][q->part]++;
	return 200;
}

static void *answer_all(void *ctx)
{
	(void)ctx;
	for (;;) {
		struct asked q = { .profile = N };
		int status = 0;
		bool ends;

		pthread_mutex_lock(&there.lock);
		ends = there.ends;
		there.holds &= there.n_asked < FLIGHTS_MAX;
		if (there.n_asked > 0 && !there.holds) {
			unsigned i = (unsigned)rand_r(&there.seed) % there.n_asked;

			q = there.asked[i];
			there.asked[i] = there.asked[--there.n_asked];
			status = verdict_on(&q);
		}
		pthread_mutex_unlock(&there.lock);
		if (q.profile < N)
			say(&q, status);
		else if (ends)
			return NULL;
		else
			usleep(20);
	}
}

static int http_start(struct dcm_http_client *client, const struct dcm_http_call *c,
		      uint64_t *ret_id, struct dcm_error *err)
{
	const uint8_t *body = c->body;

	(void)client;
	(void)ret_id;
	(void)err;
	pthread_mutex_lock(&there.lock);
	assert_true(there.n_asked < FLIGHTS_MAX);
	there.asked[there.n_asked++] = (struct asked){ *c, body[0], body[1] };
	there.n_most = there.n_asked > there.n_most ? there.n_asked : there.n_most;
	pthread_mutex_unlock(&there.lock);
	return 0;
}

static int64_t mono_ns(const struct dcm_host *h)
{
	(void)h;
	return clock__mono(&clock__system);
}

static void drop(const struct dcm_host *h, const char *reason, uint64_t n)
{
	(void)h;
	assert_string_equal(reason, "not_encoded");
	there.n_dropped += n;
}

static void set_state(const struct dcm_host *h, enum dcm_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void set_state(const struct dcm_host *h, enum dcm_state state, const char *fmt, ...)
{
	(void)h;
	(void)state;
	(void)fmt;
}

static void metric_add(struct dcm_metric *m, uint64_t n)
{
	(void)m;
	there.n_sent += n;
}

static struct dcm_batch *same(struct dcm_batch *b)
{
	return b;
}

static void unref(struct dcm_batch *b)
{
	(void)b;
}

static const struct dcm_host host = { .size = sizeof(host),
				      .mono_ns = mono_ns,
				      .real_ns = mono_ns,
				      .http_start = http_start,
				      .drop = drop,
				      .set_state = set_state,
				      .metric_add = metric_add,
				      .batch_ref = same,
				      .batch_unref = unref };

/* ---- an output ---- */

static unsigned part_of[N];

static int make(void *ctx, struct flight *f, const struct dcm_batch *batch, struct dcm_error *err)
{
	(void)ctx;
	(void)batch;
	if (there.not_encoded[f->profile])
		return error__set(err, -EILSEQ, "it cannot be said");
	/* From its first part on, unless it is known to have come further. */
	if (!f->is_again)
		part_of[f->profile] = 0;
	buf__byte(&f->message, (uint8_t)f->profile);
	buf__byte(&f->message, (uint8_t)part_of[f->profile]);
	f->request.url = "http://there";
	f->request.data = f->message.data;
	f->request.n = f->message.n;
	return 0;
}

static bool took(void *ctx, struct flight *f, const struct dcm_batch *batch)
{
	(void)ctx;
	(void)batch;
	return ++part_of[f->profile] < there.parts[f->profile];
}

static const struct flights_ops ops = { make, took };

/* ---- cases ---- */

static void begin(struct sender *s, struct flights *fs, unsigned seed)
{
	memset(&there, 0, sizeof(there));
	memset(part_of, 0, sizeof(part_of));
	pthread_mutex_init(&there.lock, NULL);
	there.seed = seed;
	for (int i = 0; i < N; i++)
		there.parts[i] = 1;
	*s = (struct sender){ .host = &host, .place = "there", .refused = DCM_NONE, .why = DCM_ERROR_INIT };
	assert_int_equal(flights__open(fs, s, NULL), 0);
	assert_int_equal(pthread_create(&there.thread, NULL, answer_all, NULL), 0);
}

static void end(struct sender *s, struct flights *fs)
{
	pthread_mutex_lock(&there.lock);
	there.ends = true;
	pthread_mutex_unlock(&there.lock);
	pthread_join(there.thread, NULL);
	flights__close(fs);
	resume__end(&s->resume, &host);
	pthread_mutex_destroy(&there.lock);
}

/* As the writer does it, with the second refusal of one profile. Returns how often it took. */
static unsigned deliver(struct sender *s, struct flights *fs, struct dcm_batch *b)
{
	unsigned n = 0;

	for (int r = -EAGAIN; r != 0; n++) {
		struct dcm_error err = DCM_ERROR_INIT;
		uint32_t profile;

		assert_true(n < 100000);
		r = flights__write(fs, b, &ops, NULL, mono_ns(NULL) + 20 * SECOND, &err);
		assert_true(r == 0 || r == -EAGAIN || r == -EBADMSG);
		assert_true(r == 0 || err.text[0]);
		if (r == -EBADMSG) {
			assert_int_equal(sender__pass_over(s, b, &profile), 0);
			assert_true(there.refused[profile]);
		}
	}
	return n;
}

static void assert_taken(void)
{
	for (unsigned i = 0; i < N; i++)
		for (unsigned k = 0; k < there.parts[i]; k++) {
			bool is_no = there.not_encoded[i] ||
				     (there.refused[i] && k + 1 == there.parts[i]);

			if (there.n_taken[i][k] != !is_no)
				fail_msg("profile %u, part %u: taken %u times", i, k,
					 there.n_taken[i][k]);
		}
}

static struct dcm_profile profiles[N];

static struct dcm_batch batch_of(uint64_t sequence)
{
	for (int i = 0; i < N; i++)
		profiles[i].n_rows = 1;
	return (struct dcm_batch){ .size = sizeof(struct dcm_batch),
				   .id = { { 1, 2 }, sequence },
				   .profiles = profiles,
				   .n_profiles = N };
}

static void test_several_at_once(void **state)
{
	struct dcm_batch b = batch_of(1), next = batch_of(2);
	struct flights fs;
	struct sender s;

	(void)state;
	begin(&s, &fs, 1);
	pthread_mutex_lock(&there.lock);
	there.holds = true;
	pthread_mutex_unlock(&there.lock);
	assert_int_equal(deliver(&s, &fs, &b), 1);
	assert_taken();
	assert_int_equal(there.n_most, FLIGHTS_MAX);
	assert_int_equal(there.n_sent, N);
	/* Of another batch all go again. */
	memset(part_of, 0, sizeof(part_of));
	assert_int_equal(deliver(&s, &fs, &next), 1);
	for (int i = 0; i < N; i++)
		assert_int_equal(there.n_taken[i][0], 2);
	end(&s, &fs);
}

static void test_random_answers(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 300; seed++) {
		struct dcm_batch b = batch_of(seed);
		uint64_t n_not_encoded = 0, n_refused = 0;
		struct flights fs;
		struct sender s;
		unsigned random = seed;

		begin(&s, &fs, seed);
		there.away = seed % 3 * 30;
		for (int i = 0; i < N; i++) {
			there.parts[i] = 1 + (unsigned)rand_r(&random) % PARTS_MAX;
			there.not_encoded[i] = rand_r(&random) % 9 == 0;
			there.refused[i] = !there.not_encoded[i] && rand_r(&random) % 7 == 0;
			n_not_encoded += there.not_encoded[i];
			n_refused += there.refused[i];
		}
		deliver(&s, &fs, &b);
		assert_taken();
		assert_int_equal(there.n_dropped, n_not_encoded);
		assert_int_equal(there.n_sent, N - n_not_encoded - n_refused);
		end(&s, &fs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_several_at_once),
		cmocka_unit_test(test_random_answers),
	};

	return cmocka_run_group_tests_name("flights", tests, NULL, NULL);
}
