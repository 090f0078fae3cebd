/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_sender.c - of a batch that comes again no profile is sent twice, and one that is refused goes alone
 */
#include "plugins/output/delivery/sender.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "core/base/error.h"
#include "core/batch/batch.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { N_MAX = 8 };

/* The other side, and the host: what they saw. */
static struct {
	unsigned n_taken[N_MAX], n_requests;
	uint32_t refused, not_encoded; /* profiles; DCM_NONE: none */
	unsigned n_away;	       /* so many requests it is away for */
	uint32_t away_from;	       /* ... or from that profile on; 0: not */
	uint32_t at_once;	       /* profiles of a request at most */
	uint64_t dropped;
	enum dcm_state state;
	char sentence[128];
} there;

static void drop(const struct dcm_host *host, const char *reason, uint64_t n)
{
	(void)host;
	assert_string_equal(reason, "not_encoded");
	there.dropped += n;
}

static void set_state(const struct dcm_host *host, enum dcm_state state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void set_state(const struct dcm_host *host, enum dcm_state state, const char *fmt, ...)
{
	va_list ap;

	(void)host;
	there.state = state;
	va_start(ap, fmt);
	vsnprintf(there.sentence, sizeof(there.sentence), fmt, ap);
	va_end(ap);
}

static void metric_add(struct dcm_metric *m, uint64_t n)
{
	(void)m;
	(void)n;
}

static const struct dcm_host host = { .size = sizeof(host),
				      .drop = drop,
				      .set_state = set_state,
				      .metric_add = metric_add,
				      .batch_ref = batch__ref,
				      .batch_unref = batch__unref };

static struct sender begin(void)
{
	memset(&there, 0, sizeof(there));
	there.refused = there.not_encoded = DCM_NONE;
	there.at_once = 3;
	return (struct sender){ .host = &host, .place = "there", .refused = DCM_NONE, .why = DCM_ERROR_INIT };
}

static int send_them(void *ctx, const struct dcm_batch *batch, uint32_t first, uint32_t max,
		     uint32_t *ret_end, int64_t deadline_mono_ns, struct dcm_error *err)
{
	uint32_t end = first;

	(void)ctx;
	(void)deadline_mono_ns;
	*ret_end = first + 1;
	if (first == there.not_encoded)
		return -EILSEQ;
	while (end < batch->n_profiles && end - first < max && end - first < there.at_once &&
	       end != there.not_encoded)
		end++;
	*ret_end = end;
	there.n_requests++;
	if (there.n_away > 0 || (there.away_from && first >= there.away_from)) {
		there.n_away -= there.n_away > 0;
		return error__set(err, -EAGAIN, "away");
	}
	if (first <= there.refused && there.refused < end)
		return error__set(err, -EBADMSG, "not number %u", there.refused);
	for (uint32_t i = first; i < end; i++)
		there.n_taken[i]++;
	return 0;
}

static struct dcm_batch *five(void)
{
	struct dcm_batch *b = NULL;

	for (uint64_t seed = 1; !b || b->n_profiles != 5 || b->profiles[4].n_rows == 0; seed++) {
		batch__unref(b);
		b = random_batch__new(seed, 0);
	}
	return b;
}

/* As it comes from a spool, after a restart of the plugin's writer. */
static void another_copy_is_the_same(void **state)
{
	struct sender s = begin();
	struct dcm_batch *b = five(), *other = five(), *next = five();
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	there.at_once = 2;
	there.away_from = 2;
	assert_int_equal(sender__write(&s, b, send_them, NULL, 0, &err), -EAGAIN);
	batch__unref(b);
	there.away_from = 0;
	assert_int_equal(sender__write(&s, other, send_them, NULL, 0, &err), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(there.n_taken[i], 1);
	/* Done: as often as it comes now, somebody wants it. */
	assert_int_equal(sender__write(&s, next, send_them, NULL, 0, &err), 0);
	assert_int_equal(there.n_taken[0], 2);
	batch__unref(other);
	batch__unref(next);
}

static int send_batch(struct sender *s, struct dcm_batch *b)
{
	struct dcm_error err = DCM_ERROR_INIT;

	return sender__write(s, b, send_them, NULL, 0, &err);
}

/* Each of the five once, but that one. */
static void assert_taken_but(uint32_t profile)
{
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(there.n_taken[i], i != profile);
}

static void what_was_taken_is_not_sent_again(void **state)
{
	struct sender s = begin();
	struct dcm_batch *b = five();
	uint32_t profile;

	(void)state;
	there.at_once = 2;
	there.away_from = 2;
	assert_int_equal(send_batch(&s, b), -EAGAIN);
	assert_int_equal(there.state, DCM_STATE_DEGRADED);
	assert_int_equal(there.n_taken[1], 1);
	assert_int_equal(there.n_taken[2], 0);
	assert_int_equal(sender__pass_over(&s, b, &profile), -ENOENT);
	there.away_from = 0;
	assert_int_equal(send_batch(&s, b), 0);
	assert_int_equal(there.state, DCM_STATE_OK);
	assert_taken_but(DCM_NONE);
	batch__unref(b);
}

/* With a source, and as most that are received. */
static void one_that_is_refused_goes_alone(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		struct sender s = begin();
		struct dcm_batch *b = five();
		uint32_t profile = DCM_NONE, refused = i / 2;

		if (i % 2)
			b->id = (struct dcm_batch_id){ 0 };
		there.refused = refused;
		assert_int_equal(send_batch(&s, b), -EBADMSG);
		assert_int_equal(send_batch(&s, b), -EBADMSG);
		assert_int_equal(sender__pass_over(&s, b, &profile), 0);
		assert_int_equal(profile, refused);
		assert_int_equal(sender__pass_over(&s, b, &profile), -ENOENT);
		assert_int_equal(send_batch(&s, b), 0);
		assert_taken_but(refused);
		/* Told until one goes through without. */
		assert_int_equal(there.state, DCM_STATE_DEGRADED);
		assert_non_null(strstr(there.sentence, "not number"));
		b->id.sequence++;
		there.refused = DCM_NONE;
		assert_int_equal(send_batch(&s, b), 0);
		assert_int_equal(there.state, DCM_STATE_OK);
		batch__unref(b);
	}
}

static void one_that_cannot_be_encoded_is_lost_once(void **state)
{
	(void)state;
	for (uint32_t bad = 0; bad < 5; bad++) {
		struct sender s = begin();
		struct dcm_batch *b = five();

		there.not_encoded = bad;
		for (there.n_away = 3; there.n_away > 0;)
			assert_int_equal(send_batch(&s, b), -EAGAIN);
		assert_int_equal(send_batch(&s, b), 0);
		assert_taken_but(bad);
		assert_int_equal(there.dropped, b->profiles[bad].n_rows);
		batch__unref(b);
	}
}

/* As many as there is room for; a bad answer as `refused` says. */
static int send_whole_ones(void *ctx, struct dcm_batch *const *batches, uint32_t n, uint32_t *ret_n,
			   int64_t deadline_mono_ns, struct dcm_error *err)
{
	(void)ctx;
	(void)batches;
	(void)deadline_mono_ns;
	if (there.n_away > 0)
		return error__set(err, -EAGAIN, "away");
	if (there.refused != DCM_NONE)
		return error__set(err, -EBADMSG, "no");
	*ret_n = n < there.at_once ? n : there.at_once;
	return 0;
}

static void a_group_says_how_many_went(void **state)
{
	struct dcm_batch *three[] = { five(), five(), five() };
	struct dcm_error err = DCM_ERROR_INIT;
	struct sender s = begin();
	uint32_t n_done = 3;

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		three[i]->id.sequence = 100 + i;
	there.at_once = 2;
	assert_int_equal(sender__write_group(&s, three, 3, send_whole_ones, NULL, &n_done, 0, &err), 0);
	assert_int_equal(n_done, 2);
	assert_int_equal(there.state, DCM_STATE_OK);
	there.at_once = 0;
	assert_int_equal(sender__write_group(&s, three, 3, send_whole_ones, NULL, &n_done, 0, &err), 0);
	assert_int_equal(n_done, 0);
	there.n_away = 1;
	assert_int_equal(sender__write_group(&s, three, 3, send_whole_ones, NULL, &n_done, 0, &err),
			 -EAGAIN);
	assert_int_equal(there.state, DCM_STATE_DEGRADED);
	/* One that has begun goes on by itself: the first is left to write(), another breaks the group up. */
	there.at_once = 3;
	assert_int_equal(send_batch(&s, three[1]), -EAGAIN);
	assert_int_equal(sender__write_group(&s, three, 3, send_whole_ones, NULL, &n_done, 0, &err),
			 -ENOTSUP);
	n_done = 2;
	assert_int_equal(
		sender__write_group(&s, three + 1, 2, send_whole_ones, NULL, &n_done, 0, &err), 0);
	assert_int_equal(n_done, 0);
	assert_int_equal(send_batch(&s, three[1]), 0);
	assert_int_equal(there.state, DCM_STATE_OK);
	/* Which one is at fault is told when it has gone alone. */
	there.refused = 0;
	assert_int_equal(sender__write_group(&s, three, 3, send_whole_ones, NULL, &n_done, 0, &err),
			 -EBADMSG);
	assert_int_equal(there.state, DCM_STATE_OK);
	for (uint32_t i = 0; i < 3; i++)
		batch__unref(three[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_taken_is_not_sent_again),
		cmocka_unit_test(another_copy_is_the_same),
		cmocka_unit_test(one_that_is_refused_goes_alone),
		cmocka_unit_test(one_that_cannot_be_encoded_is_lost_once),
		cmocka_unit_test(a_group_says_how_many_went),
	};

	return cmocka_run_group_tests_name("sender", tests, NULL, NULL);
}
