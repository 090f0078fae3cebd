/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_session.c - batches of a session come out as they do on their own, whatever was sent, lost and forgotten
 *
 * The oracle is the encoding of a batch on its own (wire.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/codec/session.h"
#include "core/codec/wire.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { HEADER_BYTES = 24 };
#define MINUTE INT64_C(60000000000)

static void repair_header(struct buf *b)
{
	uint64_t n = b->n - HEADER_BYTES, sum = hash__bytes(b->data + HEADER_BYTES, n, 0);

	memcpy(b->data + 8, &n, sizeof(n));
	memcpy(b->data + 16, &sum, sizeof(sum));
}

/* NULL: no memory. */
static struct dcm_session *new_session(void)
{
	struct dcm_session *s = NULL;

	return session__new(&s, NULL) == 0 ? s : NULL;
}

static struct dcm_sessions *new_sessions(uint64_t max_bytes)
{
	struct dcm_sessions *s = NULL;

	return sessions__new(max_bytes, &s, NULL) == 0 ? s : NULL;
}

static struct buf must_encode(struct dcm_session *s, const struct dcm_batch *batch)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };

	if (session__encode(s, batch, &out, &err) < 0)
		fail_msg("%s", err.text);
	return out;
}

/* The receiver has to keep it. */
static struct dcm_batch *must_decode(struct dcm_sessions *to, const struct buf *bytes)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;
	bool is_kept = false;

	if (sessions__decode(to, bytes->data, bytes->n, 0, &batch, &is_kept, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(is_kept);
	return batch;
}

static int decode(struct dcm_sessions *to, const struct buf *bytes, int64_t now)
{
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	bool is_kept;

	return sessions__decode(to, bytes->data, bytes->n, now, &batch, &is_kept, NULL);
}

/* As it comes out on its own; the order of tables may be another. */
static void assert_same(const struct dcm_batch *a, const struct dcm_batch *b)
{
	struct dcm_hash x = batch__content(a), y = batch__content(b);
	const char *fault = batch_judge__fault(b, false);

	if (fault)
		fail_msg("%s", fault);
	assert_true(x.lo == y.lo && x.hi == y.hi);
	assert_memory_equal(&a->id, &b->id, sizeof(a->id));
	assert_int_equal(batch__n_rows(a), batch__n_rows(b));
}

static void batches_come_back_as_they_were(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		CLEANUP(session__freep) struct dcm_session *from = new_session();
		CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(UINT64_C(1) << 30);

		for (uint64_t i = 0; i < 20; i++) {
			struct dcm_batch *batch = random_batch__new(
				seed * 20 + i, RANDOM_STAND_INS | (i % 3 == 2 ? RANDOM_NASTY : 0));
			struct buf bytes = must_encode(from, batch);
			assert_true(sessions__is_message(bytes.data, bytes.n));
			struct dcm_batch *back = must_decode(to, &bytes);
			assert_same(batch, back);
			batch__unref(back);
			batch__unref(batch);
			buf__fini(&bytes);
		}
	}
}

/* What was said is not said again, and an excerpt has what it uses and no more. */
static void what_was_sent_is_not_sent_again(void **state)
{
	(void)state;
	CLEANUP(session__freep) struct dcm_session *from = new_session();
	CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(UINT64_C(1) << 30);
	struct dcm_batch *batch = random_batch__new(7, RANDOM_ONE_PROFILE);
	struct dcm_batch *other = random_batch__new(8, RANDOM_NASTY);
	struct buf alone = { 0 };
	struct buf first = must_encode(from, batch), second = must_encode(from, other),
		   third = must_encode(from, batch);

	assert_int_equal(wire__encode(batch, &alone), 0);
	assert_true(third.n < first.n / 4 && third.n < alone.n / 4);
	batch__unref(must_decode(to, &first));
	batch__unref(must_decode(to, &second));
	CLEANUP(batch__unrefp) struct dcm_batch *back = must_decode(to, &third);
	assert_same(batch, back);
	/* The batch has what no row uses, too. */
	struct dcm_batch *used;
	assert_int_equal(wire__decode(alone.data, alone.n, &used, NULL), 0);
	assert_true(back->n_stacks <= used->n_stacks && back->n_strings <= used->n_strings);
	batch__unref(used);
	batch__unref(batch);
	batch__unref(other);
	buf__fini(&alone);
	buf__fini(&first);
	buf__fini(&second);
	buf__fini(&third);
}

static void an_overlay_is_sent_as_it_is_seen(void **state)
{
	(void)state;
	CLEANUP(session__freep) struct dcm_session *from = new_session();
	CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(UINT64_C(1) << 30);

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct dcm_batch *batch = random_batch__new(seed, seed % 2 ? RANDOM_NASTY : 0);
		struct arena *arena;
		struct dcm_batch *overlay = batch__overlay(batch, &arena);
		struct dcm_span *series = arena__zalloc(arena, batch->n_series, sizeof(*series));
		for (uint32_t i = 0; i < batch->n_series; i++)
			series[i] = batch->series[0];
		overlay->series = series;
		if (overlay->n_profiles) {
			overlay->profiles++;
			overlay->n_profiles--;
		}
		batch__account(overlay);
		struct buf bytes = must_encode(from, overlay);
		struct dcm_batch *back = must_decode(to, &bytes);
		assert_same(overlay, back);
		batch__unref(back);
		batch__unref(overlay);
		batch__unref(batch);
		buf__fini(&bytes);
	}
}

static void several_senders_do_not_mix(void **state)
{
	(void)state;
	struct dcm_session *from[3] = { new_session(), new_session(), new_session() };
	CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(UINT64_C(1) << 30);
	struct random random = { 1 };
	uint64_t n_bytes;
	uint32_t n;

	for (uint64_t i = 0; i < 60; i++) {
		struct dcm_batch *batch = random_batch__new(i, 0);
		struct buf bytes = must_encode(from[random__next(&random) % 3], batch);
		struct dcm_batch *back = must_decode(to, &bytes);
		assert_same(batch, back);
		batch__unref(back);
		batch__unref(batch);
		buf__fini(&bytes);
	}
	sessions__stat(to, &n, &n_bytes);
	assert_int_equal(n, 3);
	assert_true(n_bytes > 0);
	for (unsigned i = 0; i < 3; i++)
		session__free(from[i]);
}

/* A message that was lost, came twice, or is of an era before: nothing of it is believed, and to begin anew always works. */
static void what_does_not_follow_is_refused(void **state)
{
	(void)state;
	CLEANUP(session__freep) struct dcm_session *from = new_session();
	CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(UINT64_C(1) << 30);
	CLEANUP(sessions__freep) struct dcm_sessions *restarted = new_sessions(UINT64_C(1) << 30);
	struct dcm_batch *batch = random_batch__new(3, RANDOM_ONE_PROFILE);
	struct buf m[3];
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *back = NULL;
	bool is_kept;

	assert_false(session__is_under_way(from));
	for (unsigned i = 0; i < 3; i++)
		m[i] = must_encode(from, batch);
	assert_true(session__is_under_way(from));
	assert_int_equal(decode(to, &m[0], 0), 0);
	assert_int_equal(decode(to, &m[2], 0), -ESTALE); /* one is missing */
	assert_int_equal(decode(to, &m[1], 0), 0);	 /* that took nothing away */
	assert_int_equal(decode(to, &m[1], 0), -ESTALE); /* twice */
	assert_int_equal(decode(to, &m[2], 0), 0);
	assert_int_equal(sessions__decode(restarted, m[1].data, m[1].n, 0, &back, &is_kept, &err),
			 -ESTALE);
	assert_non_null(strstr(err.text, "begin the session anew"));

	session__anew(from);
	struct buf next = must_encode(from, batch);
	back = must_decode(to, &next);
	assert_same(batch, back);
	batch__unref(back);
	/* Its second message has the number of the era's before. */
	assert_int_equal(decode(to, &m[1], 0), -ESTALE);
	struct buf second = must_encode(from, batch);
	assert_int_equal(decode(to, &second, 0), 0);
	buf__fini(&second);
	buf__fini(&next);
	for (unsigned i = 0; i < 3; i++)
		buf__fini(&m[i]);
	batch__unref(batch);
}

static void memory_is_bounded(void **state)
{
	(void)state;
	CLEANUP(sessions__freep) struct dcm_sessions *measure = new_sessions(UINT64_C(1) << 30);
	CLEANUP(session__freep) struct dcm_session *first = new_session();
	CLEANUP(session__freep) struct dcm_session *other = new_session();
	struct dcm_batch *batch = random_batch__new(3, RANDOM_ONE_PROFILE), *back = NULL;
	struct buf a = must_encode(first, batch), b = must_encode(other, batch);
	uint64_t one, n_bytes;
	uint32_t n;
	bool is_kept;

	assert_int_equal(decode(measure, &a, 0), 0);
	sessions__stat(measure, &n, &one);
	assert_int_equal(n, 1);

	/* Room for one: the second is read, and not kept, until nobody has used the first for long. */
	CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(one + one / 2);
	assert_int_equal(decode(to, &a, 0), 0);
	assert_int_equal(sessions__decode(to, b.data, b.n, MINUTE, &back, &is_kept, NULL), 0);
	assert_false(is_kept);
	assert_same(batch, back);
	batch__unref(back);
	sessions__stat(to, &n, &n_bytes);
	assert_int_equal(n, 1);
	assert_int_equal(sessions__decode(to, b.data, b.n, 11 * MINUTE, &back, &is_kept, NULL), 0);
	assert_true(is_kept);
	batch__unref(back);
	sessions__stat(to, &n, &n_bytes);
	assert_int_equal(n, 1);
	struct buf second = must_encode(first, batch);
	assert_int_equal(decode(to, &second, 11 * MINUTE), -ESTALE);

	/* No room at all: every batch is read all the same. */
	CLEANUP(sessions__freep) struct dcm_sessions *none = new_sessions(0);
	assert_int_equal(sessions__decode(none, a.data, a.n, 0, &back, &is_kept, NULL), 0);
	assert_false(is_kept);
	batch__unref(back);
	batch__unref(batch);
	buf__fini(&a);
	buf__fini(&b);
	buf__fini(&second);
}

/* One that uses ever other texts: the sender forgets before it has more than its bound. */
static void a_session_that_is_full_begins_anew(void **state)
{
	(void)state;
	CLEANUP(session__freep) struct dcm_session *from = new_session();
	CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(UINT64_C(1) << 30);
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	CLEANUP(mem__freep) char *text = malloc(1 << 19);
	unsigned n_larger = 0;
	size_t before = 0;

	memset(text, 'x', 1 << 19);
	for (unsigned i = 0; i < 64; i++) {
		struct dcm_batch *batch = NULL;
		memcpy(text, &(uint32_t){ 0x41414141 + i }, 4);
		struct dcm_pair pair = { builder__string(b, STR("n")),
					 builder__string(b, (struct dcm_str){ text, 1 << 19 }) };
		uint32_t name = builder__string(b, STR("cpu"));
		builder__profile(b, &(struct dcm_profile){ .series = builder__series(b, &pair, 1) },
				 &(struct dcm_type){ .name = name, .sample_type = name }, 1);
		builder__row(b, builder__stack(b, NULL, 0), 0, &(int64_t){ 1 });
		assert_int_equal(builder__seal(b, &batch, NULL), 0);
		struct buf bytes = must_encode(from, batch);
		struct dcm_batch *back = must_decode(to, &bytes);
		assert_same(batch, back);
		/* The name of the type comes again when it begins anew. */
		n_larger += bytes.n > before && before;
		before = bytes.n;
		batch__unref(back);
		batch__unref(batch);
		buf__fini(&bytes);
	}
	assert_in_range(n_larger, 1, 4);
	uint32_t n;
	uint64_t n_bytes;
	sessions__stat(to, &n, &n_bytes);
	assert_int_equal(n, 1);
	assert_true(n_bytes < 5 * (uint64_t)SESSION_MAX_BYTES);
}

static void a_batch_that_is_too_large_is_told(void **state)
{
	(void)state;
	CLEANUP(session__freep) struct dcm_session *from = new_session();
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL, *small = random_batch__new(1, RANDOM_ONE_PROFILE);
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = must_encode(from, small);
	size_t before = out.n;

	uint32_t name = builder__string(b, STR("cpu")), stack = builder__stack(b, NULL, 0);
	builder__profile(b, &(struct dcm_profile){ .series = builder__series(b, NULL, 0) },
			 &(struct dcm_type){ .name = name, .sample_type = name }, 1);
	for (int64_t i = 0; i < 2000000; i++)
		builder__row(b, stack, 0, &i);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	assert_int_equal(session__encode(from, batch, &out, &err), -E2BIG);
	assert_true(err.text[0]);
	assert_int_equal(out.n, before);
	assert_false(session__is_under_way(from));
	/* The next one begins anew. */
	struct buf next = must_encode(from, small);
	CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(UINT64_C(1) << 30);
	batch__unref(must_decode(to, &next));
	buf__fini(&next);
	buf__fini(&out);
	batch__unref(small);
	batch__unref(batch);
}

static void messages_end_after_so_many(void **state)
{
	(void)state;
	CLEANUP(session__freep) struct dcm_session *from = new_session();
	CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(UINT64_C(1) << 30);
	struct dcm_batch *batch = random_batch__new(1, RANDOM_ONE_PROFILE);
	size_t first = 0;

	for (unsigned i = 0; i <= SESSION_MAX_MESSAGES; i++) {
		struct buf bytes = must_encode(from, batch);
		batch__unref(must_decode(to, &bytes));
		if (i == 0)
			first = bytes.n;
		assert_true(i % SESSION_MAX_MESSAGES == 0 ? bytes.n >= first : bytes.n < first);
		buf__fini(&bytes);
	}
	batch__unref(batch);
}

/* Changed bytes with a sum that fits: refused with a sentence, or another batch that keeps every rule; never more. */
static void hostile_bytes_are_refused(void **state)
{
	(void)state;
	struct random random = { 11 };
	unsigned n_taken = 0, n_refused = 0;
	struct dcm_batch *batch = random_batch__new(5, RANDOM_ONE_PROFILE),
			 *more = random_batch__new(6, 0);

	for (unsigned round = 0; round < 3000; round++) {
		CLEANUP(session__freep) struct dcm_session *from = new_session();
		CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(UINT64_C(1) << 30);
		struct buf first = must_encode(from, batch), second = must_encode(from, more);
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_batch *back = NULL;
		bool is_kept;

		assert_int_equal(decode(to, &first, 0), 0);
		for (unsigned k = 0; k <= round % 3; k++) {
			size_t at = HEADER_BYTES + random__next(&random) % (second.n - HEADER_BYTES);
			second.data[at] = (uint8_t)random__next(&random);
		}
		repair_header(&second);
		int r = sessions__decode(to, second.data, second.n, 0, &back, &is_kept, &err);
		if (r == 0) {
			const char *fault = batch_judge__fault(back, false);
			if (fault)
				fail_msg("%s", fault);
			batch__unref(back);
			n_taken++;
		} else {
			assert_true(err.text[0]);
			n_refused++;
			/* The session has ended, unless that was not understood at all. */
			session__anew(from);
			struct buf anew = must_encode(from, more);
			batch__unref(must_decode(to, &anew));
			buf__fini(&anew);
		}
		buf__fini(&first);
		buf__fini(&second);
	}
	assert_true(n_taken > 10 && n_refused > 100);
	batch__unref(batch);
	batch__unref(more);
}

static void damage_is_noticed(void **state)
{
	(void)state;
	CLEANUP(session__freep) struct dcm_session *from = new_session();
	CLEANUP(sessions__freep) struct dcm_sessions *to = new_sessions(UINT64_C(1) << 30);
	struct dcm_batch *batch = random_batch__new(5, RANDOM_ONE_PROFILE);
	struct buf bytes = must_encode(from, batch);

	for (size_t n = 0; n < bytes.n; n++)
		assert_int_equal(decode(to, &(struct buf){ .data = bytes.data, .n = n }, 0), -EBADMSG);
	for (size_t i = 0; i < bytes.n; i++) {
		bytes.data[i] ^= 1;
		assert_true(decode(to, &bytes, 0) < 0);
		bytes.data[i] ^= 1;
	}
	assert_int_equal(decode(to, &bytes, 0), 0);
	batch__unref(batch);
	buf__fini(&bytes);
}

static void failing_memory_is_survived(void **state)
{
	(void)state;
	struct dcm_batch *batch = random_batch__new(2, RANDOM_ONE_PROFILE),
			 *more = random_batch__new(9, RANDOM_NASTY);

	FAILMALLOC_SWEEP (i) {
		CLEANUP(session__freep) struct dcm_session *from = NULL;
		struct buf first = { 0 }, second = { 0 };
		from = new_session();
		int r = from ? session__encode(from, batch, &first, NULL) : -ENOMEM;
		if (r == 0)
			r = session__encode(from, more, &second, NULL);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		buf__fini(&first);
		buf__fini(&second);
	}
	CLEANUP(session__freep) struct dcm_session *from = new_session();
	struct buf first = must_encode(from, batch), second = must_encode(from, more);
	FAILMALLOC_SWEEP (i) {
		CLEANUP(sessions__freep) struct dcm_sessions *to = NULL;
		struct dcm_batch *a = NULL, *b = NULL;
		bool is_kept = true;
		to = new_sessions(UINT64_C(1) << 30);
		int r = to ? sessions__decode(to, first.data, first.n, 0, &a, &is_kept, NULL) : -ENOMEM;
		/* Without memory for the list it is read, and not kept. */
		bool was_kept = r == 0 && is_kept;
		if (was_kept)
			r = sessions__decode(to, second.data, second.n, 0, &b, &is_kept, NULL);
		failmalloc__disarm();
		assert_true(r == 0 ? a && (b || !was_kept) : r == -ENOMEM && !b);
		if (a)
			assert_same(batch, a);
		if (b)
			assert_same(more, b);
		batch__unref(a);
		batch__unref(b);
	}
	buf__fini(&first);
	buf__fini(&second);
	batch__unref(batch);
	batch__unref(more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_come_back_as_they_were),
		cmocka_unit_test(what_was_sent_is_not_sent_again),
		cmocka_unit_test(an_overlay_is_sent_as_it_is_seen),
		cmocka_unit_test(several_senders_do_not_mix),
		cmocka_unit_test(what_does_not_follow_is_refused),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(a_session_that_is_full_begins_anew),
		cmocka_unit_test(a_batch_that_is_too_large_is_told),
		cmocka_unit_test(messages_end_after_so_many),
		cmocka_unit_test(hostile_bytes_are_refused),
		cmocka_unit_test(damage_is_noticed),
		cmocka_unit_test(failing_memory_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
