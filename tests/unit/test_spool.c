/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_spool.c - what was appended comes out, in order, whatever happened to the disk and to us
 *
 * On the simulated disk of the local store's tests, so that power cuts and faults come at every call.
 */
#include "core/pipeline/spool.h"

#include <errno.h>
#include <string.h>

#include "core/batch/batch.h"
#include "core/codec/wire.h"
#include "core/disk/wal.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/random.h"
#include "tests/unit/spool_rig.h"
#include "tests/unit/unit.h"

enum { MANY = 400 };

DEFINE_FOLDER(dir, "spool", 0700);

static void in_order_and_gone(void **state)
{
	struct rig s;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 1);
	rig__append(&s, 2, 3);
	for (int64_t i = 1; i <= 4; i++)
		rig__deliver(&s, i);
	rig__assert_empty(&s);
	rig__restart(&s, false);
	rig__assert_empty(&s);
	rig__append(&s, 5, 1);
	rig__deliver(&s, 5);
	rig__end(&s);
}

static void what_was_not_settled_comes_again(void **state)
{
	struct rig s;
	struct spool_item item;

	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		rig__begin(&s);
		rig__append(&s, 1, 4);
		if (!cut)
			rig__deliver(&s, 1);
		assert_int_equal(rig__next(&s, &item), cut ? 1 : 2);
		rig__restart(&s, cut);
		for (int64_t i = cut ? 1 : 2; i <= 4; i++)
			rig__deliver(&s, i);
		rig__assert_empty(&s);
		rig__end(&s);
	}
}

/* Many segments, of which one is read while others come. */
static void what_memory_has_no_room_for_is_read_back(void **state)
{
	struct rig s;
	struct spool_item item;
	uint64_t appended = 0, n_read = 0;

	(void)state;
	rig__begin_at(&s, 1);
	s.config.max_bytes = 64 << 20;
	rig__reopen(&s);
	for (; appended < MANY; appended++)
		rig__append(&s, appended, 1);
	rig__restart(&s, true);
	for (int64_t i = 0; i < 2 * MANY; i++) {
		if (appended < 2 * MANY)
			rig__append(&s, appended++, 1);
		assert_int_equal(rig__next(&s, &item), i);
		n_read += item.was_read;
		spool__settle(s.spool, &item, 0);
	}
	assert_true(n_read >= MANY);
	rig__assert_empty(&s);
	/* All but the segment that is written. */
	assert_true(sim__n_names(s.sim, WAL_DIR) <= 2);
	rig__end(&s);
}

static void not_now_is_later(void **state)
{
	struct rig s;
	struct spool_item one, two;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 3);
	assert_int_equal(rig__next(&s, &one), 1);
	assert_int_equal(rig__next(&s, &two), 2);
	spool__settle(s.spool, &two, -ECANCELED);
	spool__settle(s.spool, &one, -ECANCELED);
	for (int64_t i = 1; i <= 3; i++)
		rig__deliver(&s, i);
	rig__assert_empty(&s);
	rig__end(&s);
}

static void enough_is_fed_at_a_time(void **state)
{
	struct rig s;
	struct spool_item one, two;

	(void)state;
	rig__begin_at(&s, 1);
	s.config.fed_bytes = 1;
	rig__reopen(&s);
	rig__append(&s, 1, 2);
	assert_int_equal(rig__next(&s, &one), 1);
	assert_int_equal(rig__next(&s, &two), -1);
	spool__settle(s.spool, &one, 0);
	assert_int_equal(rig__next(&s, &two), 2);
	spool__settle(s.spool, &two, 0);
	rig__end(&s);
}

static void the_refused_is_set_aside(void **state)
{
	static const char words[] = "they said no";
	struct rig s;
	struct spool_view v;
	struct spool_item item;
	struct dcm_batch *kept = NULL, *expected = rig__batch_of(1);
	const uint8_t *bytes;
	size_t n;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 2);
	assert_int_equal(rig__next(&s, &item), 1);
	spool__say(s.spool, words);
	spool__settle(s.spool, &item, -EBADMSG);
	rig__deliver(&s, 2);
	rig__assert_empty(&s);
	rig__restart(&s, false);
	rig__assert_empty(&s);
	spool__view(s.spool, &v);
	assert_int_equal(v.n_aside, 1);
	bytes = sim__peek(s.sim, "aside/00000000000000000001.batch", &n);
	assert_non_null(bytes);
	assert_int_equal(v.aside_bytes, n);
	assert_int_equal(wire__decode(bytes, n, &kept, NULL), 0);
	rig__assert_same(kept, expected);
	bytes = sim__peek(s.sim, "aside/00000000000000000001.txt", &n);
	assert_int_equal(n, sizeof(words) - 1);
	assert_memory_equal(bytes, words, n);
	batch__unref(kept);
	batch__unref(expected);
	rig__end(&s);
}

static void no_more_is_set_aside_than_may_be(void **state)
{
	struct rig s;
	struct spool_view v;
	struct spool_item item;

	(void)state;
	rig__begin_at(&s, 1);
	s.config.aside_bytes = 1;
	rig__reopen(&s);
	rig__append(&s, 1, 1);
	assert_int_equal(rig__next(&s, &item), 1);
	spool__settle(s.spool, &item, -EBADMSG);
	rig__assert_empty(&s);
	spool__view(s.spool, &v);
	assert_int_equal(v.n_aside, 0);
	rig__end(&s);
}

static void the_oldest_leave_a_full_one(void **state)
{
	struct rig s;
	struct spool_view v;
	struct spool_item item;
	uint64_t rows = 0;
	int64_t first;

	(void)state;
	rig__begin_at(&s, 1);
	s.config.max_bytes = 1 << 20;
	rig__reopen(&s);
	for (uint64_t i = 0; i < MANY; i++) {
		rig__append(&s, i, 1);
		spool__view(s.spool, &v);
		assert_true(v.bytes <= 1 << 20);
	}
	assert_true(v.n_batches < MANY && v.n_batches > 1);
	first = (int64_t)(MANY - v.n_batches);
	for (uint64_t i = 0; i < (uint64_t)first; i++)
		rows += rig__rows_of(i);
	rig__restart(&s, false);
	for (int64_t i = first; i < MANY; i++)
		rig__deliver(&s, i);
	assert_int_equal(rig__next(&s, &item), -1);
	assert_int_equal(s.full, rows);
	/* Two segments of 256 KiB beyond. */
	assert_true(sim__bytes(s.sim) < (1 << 20) + 3 * (256 << 10));
	rig__end(&s);
}

/* It is in memory, with whoever it was fed to: lost only when it comes back. */
static void what_is_fed_may_leave_the_disk(void **state)
{
	struct rig s;
	struct spool_item one, two;

	(void)state;
	rig__begin_at(&s, 1);
	s.config.max_bytes = 1;
	rig__reopen(&s);
	rig__append(&s, 1, 1);
	assert_int_equal(rig__next(&s, &one), 1);
	rig__append(&s, 2, 1);
	assert_int_equal(rig__next(&s, &two), 2);
	rig__append(&s, 3, 1);
	spool__settle(s.spool, &one, 0);
	assert_int_equal(s.full, 0);
	spool__settle(s.spool, &two, -ECANCELED);
	assert_int_equal(s.full, rig__rows_of(2));
	rig__deliver(&s, 3);
	rig__assert_empty(&s);
	rig__end(&s);
}

static void the_old_expire(void **state)
{
	struct rig s;
	struct spool_item one, item;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 1);
	assert_int_equal(rig__next(&s, &one), 1); /* is under way for longer than the others may wait */
	rig__append(&s, 2, 1);
	rig__pass(&s, 60 * SECOND);
	rig__append(&s, 3, 1);
	rig__pass(&s, 60 * SECOND);
	assert_int_equal(rig__next(&s, &item), 3);
	assert_int_equal(s.expired, rig__rows_of(2));
	spool__settle(s.spool, &item, 0);
	spool__settle(s.spool, &one, 0);
	rig__assert_empty(&s);
	rig__restart(&s, false);
	rig__assert_empty(&s);
	rig__end(&s);
}

/* Where a batch's own bytes begin in the first segment. */
static uint8_t *find_bytes(struct rig *s, uint64_t number)
{
	struct dcm_batch *b = rig__batch_of(number);
	struct buf encoded = { 0 };
	size_t n;
	uint8_t *p = sim__peek(s->sim, "wal/00000000000000000001.wal", &n), *at;

	assert_int_equal(wire__encode(b, &encoded), 0);
	at = memmem(p, n, encoded.data, encoded.n);
	assert_non_null(at);
	buf__fini(&encoded);
	batch__unref(b);
	return at;
}

static void a_damaged_one_spoils_no_other(void **state)
{
	struct rig s;

	(void)state;
	/* Found when the spool is opened: nobody knows its rows. */
	rig__begin(&s);
	rig__append(&s, 1, 1);
	rig__append(&s, 2, 1);
	rig__append(&s, 3, 1);
	find_bytes(&s, 2)[40] ^= 1;
	rig__restart(&s, false);
	rig__deliver(&s, 1);
	rig__deliver(&s, 3);
	rig__assert_empty(&s);
	assert_int_equal(s.damaged, 1);
	rig__end(&s);

	/* Found when it is read back. */
	rig__begin(&s);
	rig__append(&s, 1, 1);
	rig__append(&s, 2, 1);
	rig__append(&s, 3, 1);
	rig__restart(&s, false);
	find_bytes(&s, 2)[40] ^= 1;
	rig__deliver(&s, 1);
	rig__deliver(&s, 3);
	rig__assert_empty(&s);
	assert_int_equal(s.damaged, rig__rows_of(2));
	rig__end(&s);
}

static void a_damaged_position_sends_again(void **state)
{
	struct rig s;
	size_t n;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 2);
	rig__deliver(&s, 1);
	sim__peek(s.sim, "position", &n)[9] ^= 1;
	rig__restart(&s, false);
	rig__deliver(&s, 1);
	rig__deliver(&s, 2);
	rig__end(&s);
}

static void two_cannot_have_it(void **state)
{
	struct rig s;
	struct dcm_error err = DCM_ERROR_INIT;
	struct spool *other = NULL;
	struct vfs *one = NULL, *two = NULL;

	(void)state;
	rig__begin_at(&s, 1);
	assert_int_equal(vfs_posix__new(dir, true, &one, NULL), 0);
	assert_int_equal(vfs_posix__new(dir, true, &two, NULL), 0);
	assert_int_equal(spool__open(one, &s.config, &s.spool, NULL), 0);
	rig__append(&s, 1, 1);
	assert_int_equal(spool__open(two, &s.config, &other, &err), -EBUSY);
	assert_non_null(strstr(err.text, "spool_path"));
	spool__close(s.spool);
	s.spool = NULL;
	assert_int_equal(spool__open(two, &s.config, &s.spool, NULL), 0);
	rig__deliver(&s, 1);
	rig__end(&s);
	vfs_posix__free(one);
	vfs_posix__free(two);
}

/* Acks may come after the end: they say nothing any more, and what they are about comes again. */
static void late_settling_is_nothing(void **state)
{
	struct rig s;
	struct spool *held;
	struct spool_item item;

	(void)state;
	rig__begin(&s);
	rig__append(&s, 1, 1);
	assert_int_equal(rig__next(&s, &item), 1);
	held = spool__ref(s.spool);
	rig__restart(&s, false);
	spool__settle(held, &item, 0);
	spool__unref(held);
	rig__deliver(&s, 1);
	rig__end(&s);
}

/* Each call of an append fails once, in each way; the same group comes again when all is well. */
static void a_refused_group_comes_once(void **state)
{
	(void)state;
	for (enum sim_fault fault = FAULT_EIO; fault <= FAULT_EROFS; fault++) {
		bool failed = true;

		for (uint64_t at = 1; failed; at++) {
			struct rig s;
			int r;

			rig__begin_at(&s, at);
			rig__reopen(&s);
			rig__append(&s, 1, 1);
			sim__fail(s.sim, at, fault, true);
			r = rig__try_append(&s, 2, 3);
			if (r)
				r = rig__try_append(&s, 2, 3);
			failed = sim__failed(s.sim);
			assert_true(failed || r == 0);
			sim__fail(s.sim, 0, FAULT_NONE, false);
			if (r)
				rig__append(&s, 2, 3);
			rig__append(&s, 5, 1);
			/* Half of the times from the disk, which may have what the index has not. */
			if (at % 2)
				rig__restart(&s, true);
			for (int64_t i = 1; i <= 5; i++)
				rig__deliver(&s, i);
			rig__assert_empty(&s);
			rig__end(&s);
			assert_true(at < 1000);
		}
	}
}

static void a_group_without_memory_comes_once(void **state)
{
	(void)state;
	for (unsigned at = 0;; at++) {
		struct rig s;
		struct dcm_batch *batches[2] = { rig__batch_of(1), rig__batch_of(2) };
		int r;

		rig__begin(&s);
		failmalloc__arm(at + 1);
		r = spool__append(s.spool, batches, batches, 2, NULL);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		if (r < 0)
			assert_int_equal(spool__append(s.spool, batches, batches, 2, NULL), 0);
		rig__deliver(&s, 1);
		rig__deliver(&s, 2);
		rig__assert_empty(&s);
		batch__unref(batches[0]);
		batch__unref(batches[1]);
		rig__end(&s);
		if (r == 0)
			return;
	}
}

/* ---- lives full of cuts ---- */

/* What is known of each number: acknowledged, settled. */
struct life {
	bool acked[MANY], settled[MANY];
	uint64_t n; /* numbers used */
};

/* Some of what may be done, until the power goes. */
static void live(struct rig *s, struct life *l, struct random *r)
{
	for (int step = 0; step < 12 && l->n + 4 < MANY; step++) {
		struct spool_item item;
		int64_t number;

		if (random__below(r, 2)) {
			uint32_t n = 1 + (uint32_t)random__below(r, 3);
			int rc = rig__try_append(s, l->n, n);

			for (uint32_t i = 0; i < n; i++)
				l->acked[l->n + i] = rc == 0 && !sim__is_cut(s->sim);
			l->n += n;
			if (rc)
				return;
		} else {
			number = rig__next(s, &item);
			if (number < 0)
				continue;
			l->settled[number] = true;
			spool__settle(s->spool, &item, 0);
		}
	}
}

/* In order, each once, and none of those that must be there is missing. */
static void check_rest(struct rig *s, const struct life *l, bool power_was_cut)
{
	int64_t last = -1, number;
	bool there[MANY] = { 0 };
	struct spool_item item;

	while ((number = rig__next(s, &item)) >= 0) {
		assert_true(number > last);
		last = number;
		there[number] = true;
		/* Only a cut forgets what was settled. */
		assert_true(power_was_cut || !l->settled[number]);
	}
	for (uint64_t i = 0; i < l->n; i++)
		assert_true(!l->acked[i] || l->settled[i] || there[i]);
}

static void nothing_acknowledged_is_lost(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct random r = { seed };
		static struct life l;
		struct rig s;
		bool cut = false;

		memset(&l, 0, sizeof(l));
		rig__begin_at(&s, seed);
		s.config.max_bytes = 8 << 20;
		rig__reopen(&s);
		for (int i = 0; i < 6; i++) {
			bool power_cut = random__below(&r, 2);

			if (power_cut)
				sim__cut_at(s.sim, 1 + random__below(&r, 60));
			live(&s, &l, &r);
			rig__restart(&s, power_cut);
			cut |= power_cut;
		}
		check_rest(&s, &l, cut);
		assert_int_equal(s.full, 0);
		assert_int_equal(s.expired, 0);
		assert_int_equal(s.damaged, 0);
		rig__end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order_and_gone),
		cmocka_unit_test(what_was_not_settled_comes_again),
		cmocka_unit_test(what_memory_has_no_room_for_is_read_back),
		cmocka_unit_test(not_now_is_later),
		cmocka_unit_test(enough_is_fed_at_a_time),
		cmocka_unit_test(the_refused_is_set_aside),
		cmocka_unit_test(no_more_is_set_aside_than_may_be),
		cmocka_unit_test(the_oldest_leave_a_full_one),
		cmocka_unit_test(what_is_fed_may_leave_the_disk),
		cmocka_unit_test(the_old_expire),
		cmocka_unit_test(a_damaged_one_spoils_no_other),
		cmocka_unit_test(a_damaged_position_sends_again),
		cmocka_unit_test(two_cannot_have_it),
		cmocka_unit_test(late_settling_is_nothing),
		cmocka_unit_test(a_refused_group_comes_once),
		cmocka_unit_test(a_group_without_memory_comes_once),
		cmocka_unit_test(nothing_acknowledged_is_lost),
	};

	return cmocka_run_group_tests_name("spool", tests, make_dir, remove_dir);
}
