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
	bool refused[N], not_encoded[N], away_once[N], broken[N]; /* broken: 500 */
	unsigned n_requests, n_requests_of[N];
	unsigned n_taken[N][PARTS_MAX];
	uint64_t n_dropped, n_sent;
	enum dcm_state state; /* the output's, and its sentence */
	char sentence[256];
} there;

static void say(const struct asked *q, int status)
{
	const struct dcm_http_reply reply = { .size = sizeof(reply), .status = status, .sentence = "" };

	q->call.done(q->call.ctx, &reply);
}

/* With the lock. */
static int verdict_on(const struct asked *q)
{
	if (there.away_once[q->profile]) {
		there.away_once[q->profile] = false;
		return 503;
	}
	if ((unsigned)rand_r(&there.seed) % 100 < there.away)
		return 503;
	if (there.broken[q->profile])
		return 500;
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
	there.n_requests++;
	there.n_requests_of[body[0]]++;
	there.n_most = there.n_asked > there.n_most ? there.n_asked : there.n_most;
	pthread_mutex_unlock(&there.lock);
	return 0;
}

/* How far the host's clock is ahead: nobody waits here. */
static _Atomic int64_t ahead_ns;
static _Atomic bool is_still; /* it stands, but for that */

static int64_t mono_ns(const struct dcm_host *h)
{
	(void)h;
	return (is_still ? SECOND : clock__mono(&clock__system)) + ahead_ns;
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
	va_list ap;

	(void)h;
	there.state = state;
	va_start(ap, fmt);
	vsnprintf(there.sentence, sizeof(there.sentence), fmt, ap);
	va_end(ap);
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

/* Of all that there are in a case; a batch has some of them. */
static struct dcm_profile profiles[N];

static unsigned profile_of(const struct dcm_batch *b, uint32_t profile)
{
	return (unsigned)(b->profiles - profiles) + profile;
}

static int make(void *ctx, struct flight *f, const struct dcm_batch *batch, struct dcm_error *err)
{
	const unsigned profile = profile_of(batch, f->profile);

	(void)ctx;
	if (there.not_encoded[profile])
		return error__set(err, -EILSEQ, "it cannot be said");
	buf__byte(&f->message, (uint8_t)profile);
	buf__byte(&f->message, (uint8_t)f->note.v[0]);
	f->next.v[0] = f->note.v[0] + 1;
	f->request.url = "http://there";
	f->request.data = f->message.data;
	f->request.n = f->message.n;
	return 0;
}

static bool has_more(void *ctx, const struct flight *f, const struct dcm_batch *batch)
{
	(void)ctx;
	return f->note.v[0] < there.parts[profile_of(batch, f->profile)];
}

static const struct flights_ops ops = { make, has_more };

/* ---- cases ---- */

static void begin(struct sender *s, struct flights *fs, unsigned seed)
{
	memset(&there, 0, sizeof(there));
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
static unsigned deliver(struct flights *fs, struct dcm_batch *b)
{
	unsigned n = 0;

	for (int r = -EAGAIN; r != 0; n++) {
		struct dcm_error err = DCM_ERROR_INIT;
		uint32_t profile;

		assert_true(n < 100000);
		r = flights__write(fs, b, &ops, NULL, mono_ns(NULL) + 20 * SECOND, &err);
		assert_true(r == 0 || r == -EAGAIN || r == -EBADMSG);
		assert_true(r == 0 || err.text[0]);
		ahead_ns += r == -EAGAIN ? SECOND / 10 : 0;
		if (r == -EBADMSG) {
			assert_int_equal(flights__pass_over(fs, b, &profile), 0);
			assert_true(there.refused[profile_of(b, profile)]);
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

static struct dcm_batch batch_with(uint64_t sequence, unsigned first, unsigned n)
{
	for (int i = 0; i < N; i++)
		profiles[i].n_rows = 1;
	return (struct dcm_batch){ .size = sizeof(struct dcm_batch),
				   .id = { { 1, 2 }, sequence },
				   .profiles = profiles + first,
				   .n_profiles = n };
}

static struct dcm_batch batch_of(uint64_t sequence)
{
	return batch_with(sequence, 0, N);
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
	assert_int_equal(deliver(&fs, &b), 1);
	assert_taken();
	assert_int_equal(there.n_most, FLIGHTS_MAX);
	assert_int_equal(there.n_sent, N);
	/* Of another batch all go again. */
	assert_int_equal(deliver(&fs, &next), 1);
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
		deliver(&fs, &b);
		assert_taken();
		assert_int_equal(there.n_dropped, n_not_encoded);
		assert_int_equal(there.n_sent, N - n_not_encoded - n_refused);
		end(&s, &fs);
	}
}

/* As the writer does it: what is refused goes batch by batch. */
static void deliver_all(struct flights *fs, struct dcm_batch *const *batches, unsigned n)
{
	unsigned n_tries = 0, size = n;

	for (unsigned at = 0; at < n;) {
		struct dcm_error err = DCM_ERROR_INIT;
		uint32_t n_done = 0;
		int r;

		assert_true(++n_tries < 100000);
		size = n - at < size ? n - at : size;
		r = flights__write_group(fs, batches + at, size, &ops, NULL, &n_done,
					 mono_ns(NULL) + 20 * SECOND, &err);
		assert_true(r == 0 || err.text[0]);
		assert_true(r != 0 || (n_done > 0 && n_done <= size));
		if (r == 0)
			at += n_done;
		else if (r == -EAGAIN) {
			size = size > 1 ? size / 2 : 1;
			ahead_ns += SECOND / 10;
		} else
			for (unsigned end = at + size; at < end; at++)
				deliver(fs, batches[at]);
		size += r == 0 && n_tries % 3 == 0;
	}
}

/* Batches of none, one or some profiles, as what is scraped is. */
static void test_several_batches(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 300; seed++) {
		struct dcm_batch batches[N], *all[N];
		uint64_t n_not_encoded = 0, n_refused = 0;
		unsigned random = seed, n = 0;
		struct flights fs;
		struct sender s;

		begin(&s, &fs, seed);
		there.away = seed % 3 * 30;
		for (unsigned at = 0; at < N; n++) {
			const unsigned left = N - at,
				       want = seed % 2 ? 1 : (unsigned)rand_r(&random) % 12,
				       some = n + 1 == N || want > left ? left : want;

			batches[n] = batch_with(n, at, some);
			all[n] = &batches[n];
			at += some;
		}
		for (int i = 0; i < N; i++) {
			there.parts[i] = 1 + (unsigned)rand_r(&random) % PARTS_MAX;
			there.not_encoded[i] = rand_r(&random) % 9 == 0;
			there.refused[i] = seed % 5 && !there.not_encoded[i] && rand_r(&random) % 7 == 0;
			n_not_encoded += there.not_encoded[i];
			n_refused += there.refused[i];
		}
		deliver_all(&fs, all, n);
		assert_taken();
		assert_int_equal(there.n_dropped, n_not_encoded);
		assert_int_equal(there.n_sent, N - n_not_encoded - n_refused);
		end(&s, &fs);
	}
}

/* Of one profile each, they are not one after the other. */
static void test_batches_at_once(void **state)
{
	struct dcm_batch batches[N], *all[N];
	struct flights fs;
	struct sender s;
	uint32_t n_done = 0;

	(void)state;
	begin(&s, &fs, 1);
	for (unsigned i = 0; i < N; i++) {
		batches[i] = batch_with(i, i, 1);
		all[i] = &batches[i];
	}
	pthread_mutex_lock(&there.lock);
	there.holds = true;
	pthread_mutex_unlock(&there.lock);
	assert_int_equal(flights__write_group(&fs, all, N, &ops, NULL, &n_done,
					      mono_ns(NULL) + 20 * SECOND, NULL),
			 0);
	assert_int_equal(n_done, N);
	assert_taken();
	assert_int_equal(there.n_most, FLIGHTS_MAX);
	end(&s, &fs);
}

/* What a host does while it makes a request: time passes. */
static int make_slowly(void *ctx, struct flight *f, const struct dcm_batch *batch, struct dcm_error *err)
{
	ahead_ns += SECOND / 20;
	return make(ctx, f, batch, err);
}

/* What was taken is said soon: batches begin for a quarter of a second, and those that have begun come to their end. */
static void test_a_group_ends_soon(void **state)
{
	static const struct flights_ops slowly = { make_slowly, NULL };
	struct dcm_batch batches[N / 4], *all[N / 4];
	struct dcm_error err = DCM_ERROR_INIT;
	struct flights fs;
	struct sender s;
	uint32_t n_done = 0;

	(void)state;
	begin(&s, &fs, 1);
	for (unsigned i = 0; i < N / 4; i++) {
		batches[i] = batch_with(i, 4 * i, 4);
		all[i] = &batches[i];
	}
	assert_int_equal(flights__write_group(&fs, all, N / 4, &slowly, NULL, &n_done,
					      mono_ns(NULL) + 20 * SECOND, &err),
			 0);
	assert_in_range(n_done, 1, 2);
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(there.n_taken[i][0], i < 4 * n_done);
	end(&s, &fs);
}

/* One that is refused behind others is not asked about again before it comes alone; one that may go well later has a pause. */
static void test_the_next_one_waits(void **state)
{
	struct dcm_batch batches[] = { batch_with(1, 0, 1), batch_with(2, 1, 1), batch_with(3, 2, 1) };
	struct dcm_batch *const all[] = { &batches[0], &batches[1], &batches[2] };
	struct dcm_error err = DCM_ERROR_INIT;
	struct flights fs;
	struct sender s;
	uint32_t n_done = 0, profile = 0;

	(void)state;
	is_still = true;
	begin(&s, &fs, 1);
	there.refused[1] = true;
	assert_int_equal(flights__write_group(&fs, all, 3, &ops, NULL, &n_done,
					      mono_ns(NULL) + 20 * SECOND, &err),
			 0);
	assert_int_equal(n_done, 1);
	assert_int_equal(flights__write_group(&fs, all + 1, 2, &ops, NULL, &n_done,
					      mono_ns(NULL) + 20 * SECOND, &err),
			 -EBADMSG);
	assert_int_equal(there.n_requests, 3);
	assert_int_equal(flights__write(&fs, all[1], &ops, NULL, mono_ns(NULL) + 20 * SECOND, &err),
			 -EBADMSG);
	assert_int_equal(there.n_requests, 4);
	assert_int_equal(flights__pass_over(&fs, all[1], &profile), 0);
	assert_int_equal(flights__write(&fs, all[1], &ops, NULL, mono_ns(NULL) + 20 * SECOND, &err), 0);
	assert_int_equal(flights__write(&fs, all[2], &ops, NULL, mono_ns(NULL) + 20 * SECOND, &err), 0);
	assert_int_equal(there.n_requests, 4);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(there.n_taken[i][0], i != 1);
	end(&s, &fs);

	begin(&s, &fs, 1);
	there.away_once[1] = true;
	assert_int_equal(flights__write_group(&fs, all, 3, &ops, NULL, &n_done,
					      mono_ns(NULL) + 20 * SECOND, &err),
			 0);
	assert_int_equal(n_done, 1);
	assert_int_equal(flights__write_group(&fs, all + 1, 2, &ops, NULL, &n_done,
					      mono_ns(NULL) + 20 * SECOND, &err),
			 -EAGAIN);
	assert_int_equal(there.n_requests, 3);
	/* The writer has waited. */
	assert_int_equal(flights__write_group(&fs, all + 1, 2, &ops, NULL, &n_done,
					      mono_ns(NULL) + 20 * SECOND, &err),
			 0);
	assert_int_equal(n_done, 2);
	assert_int_equal(there.n_requests, 4);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(there.n_taken[i][0], 1);
	end(&s, &fs);
	is_still = false;
}

/* What could not be encoded is told until a batch goes without. */
static void test_what_is_lost_is_told(void **state)
{
	struct dcm_batch b = batch_with(1, 0, 3), next = batch_with(2, 3, 2);
	struct flights fs;
	struct sender s;

	(void)state;
	begin(&s, &fs, 1);
	there.not_encoded[1] = true;
	assert_int_equal(deliver(&fs, &b), 1);
	assert_int_equal(there.n_dropped, 1);
	assert_int_equal(there.state, DCM_STATE_DEGRADED);
	assert_string_equal(there.sentence, "it cannot be said");
	assert_int_equal(deliver(&fs, &next), 1);
	assert_int_equal(there.state, DCM_STATE_OK);
	assert_string_equal(there.sentence, "sends to there");
	end(&s, &fs);
}

/*
 * One that the other side fails over for ten minutes is refused at its fifth answer, also where the one before it was passed over
 * meanwhile: it keeps its place, which knows of the answers.
 */
static void test_a_failure_is_counted_beside_a_refusal(void **state)
{
	struct dcm_batch b = batch_with(1, 0, 2);
	struct dcm_error err = DCM_ERROR_INIT;
	struct flights fs;
	struct sender s;
	uint32_t profile = 0;

	(void)state;
	is_still = true;
	begin(&s, &fs, 1);
	there.refused[0] = there.broken[1] = true;
	assert_int_equal(flights__write(&fs, &b, &ops, NULL, mono_ns(NULL) + 20 * SECOND, &err), -EBADMSG);
	assert_int_equal(flights__pass_over(&fs, &b, &profile), 0);
	assert_int_equal(profile, 0);
	for (unsigned n = 1; n < 5; n++) {
		ahead_ns += 200 * SECOND;
		assert_int_equal(there.n_requests_of[1], n);
		assert_int_equal(flights__write(&fs, &b, &ops, NULL, mono_ns(NULL) + 20 * SECOND, &err),
				 n < 4 ? -EAGAIN : -EBADMSG);
	}
	assert_int_equal(there.n_requests_of[1], 5);
	assert_int_equal(flights__pass_over(&fs, &b, &profile), 0);
	assert_int_equal(profile, 1);
	end(&s, &fs);
	is_still = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_several_at_once),
		cmocka_unit_test(test_random_answers),
		cmocka_unit_test(test_batches_at_once),
		cmocka_unit_test(test_several_batches),
		cmocka_unit_test(test_a_group_ends_soon),
		cmocka_unit_test(test_the_next_one_waits),
		cmocka_unit_test(test_what_is_lost_is_told),
		cmocka_unit_test(test_a_failure_is_counted_beside_a_refusal),
	};

	return cmocka_run_group_tests_name("flights", tests, NULL, NULL);
}
