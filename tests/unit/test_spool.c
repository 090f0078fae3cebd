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
#include "tests/storage/sim_disk.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { MANY = 400 };
#define SECOND INT64_C(1000000000)

DEFINE_FOLDER(dir, "spool", 0700);

struct setup {
	struct sim *sim;
	struct spool *spool;
	struct clock clock;
	struct spool_config config;
	uint64_t full, expired, damaged; /* rows */
};

static void count_lost(void *ctx, const char *reason, uint64_t n)
{
	struct setup *s = ctx;

	if (strcmp(reason, "spool_full") == 0)
		s->full += n;
	else if (strcmp(reason, "spool_expired") == 0)
		s->expired += n;
	else if (strcmp(reason, "spool_damaged") == 0)
		s->damaged += n;
	else
		fail();
}

static void reopen(struct setup *s)
{
	assert_int_equal(spool__open(sim__vfs(s->sim), &s->config, &s->spool, NULL), 0);
}

static void begin_at(struct setup *s, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->sim = sim__new(seed, SIM_SUBSET);
	s->clock = clock__fake(0, 1000 * SECOND);
	s->config = (struct spool_config){ .max_bytes = 64 << 20,
					   .aside_bytes = 1 << 20,
					   .max_age_ns = 100 * SECOND,
					   .fed_bytes = 64 << 20,
					   .clock = &s->clock,
					   .lost = count_lost,
					   .ctx = s };
}

static void begin(struct setup *s)
{
	begin_at(s, 1);
	reopen(s);
}

static void end(struct setup *s)
{
	spool__close(s->spool);
	assert_int_equal(sim__n_open(s->sim), 0);
	sim__free(s->sim);
}

/* The process ends as it stands, or the power goes; another one takes over. */
static void restart(struct setup *s, bool power_cut)
{
	spool__close(s->spool);
	s->spool = NULL;
	sim__restart(s->sim, power_cut);
	reopen(s);
}

/* The same for the same number. */
static struct dcm_batch *batch_of(uint64_t number)
{
	struct dcm_batch *b = random_batch__of((struct dcm_hash){ 1, 2 }, number, number % 7,
					       RANDOM_ONE_PROFILE, RANDOM_BASE_NS);

	assert_non_null(b);
	return b;
}

static int try_append(struct setup *s, uint64_t first, uint32_t n)
{
	struct dcm_batch *batches[8];
	int r;

	for (uint32_t i = 0; i < n; i++)
		batches[i] = batch_of(first + i);
	/* The group's name is its first number, as if the batches stayed where they are. */
	r = spool__append(s->spool, (const void *)(uintptr_t)(first + 1), batches, n, NULL);
	for (uint32_t i = 0; i < n; i++)
		batch__unref(batches[i]);
	return r;
}

static void append(struct setup *s, uint64_t first, uint32_t n)
{
	assert_int_equal(try_append(s, first, n), 0);
}

static uint64_t rows_of(uint64_t number)
{
	struct dcm_batch *b = batch_of(number);
	uint64_t n = batch__n_rows(b);

	batch__unref(b);
	return n;
}

/* In every byte, which the encoding has all of. */
static void assert_same(const struct dcm_batch *a, const struct dcm_batch *b)
{
	struct buf x = { 0 }, y = { 0 };

	assert_int_equal(wire__encode(a, &x), 0);
	assert_int_equal(wire__encode(b, &y), 0);
	assert_int_equal(x.n, y.n);
	assert_memory_equal(x.data, y.data, x.n);
	buf__fini(&x);
	buf__fini(&y);
}

/* The next one, checked against what was appended; its number, or -1. Not settled. */
static int64_t next(struct setup *s, struct spool_item *ret)
{
	struct dcm_batch *expected;
	int64_t number;
	int r = spool__next(s->spool, ret);

	if (r == -EAGAIN || (r < 0 && sim__is_cut(s->sim)))
		return -1;
	assert_int_equal(r, 0);
	number = (int64_t)ret->batch->id.sequence;
	expected = batch_of((uint64_t)number);
	assert_same(ret->batch, expected);
	assert_int_equal(ret->rows, batch__n_rows(expected));
	batch__unref(expected);
	batch__unref(ret->batch);
	return number;
}

static void deliver(struct setup *s, int64_t expected)
{
	struct spool_item item;

	assert_int_equal(next(s, &item), expected);
	spool__settle(s->spool, &item, 0);
}

static void assert_empty(struct setup *s)
{
	struct spool_view v;
	struct spool_item item;

	spool__view(s->spool, &v);
	assert_int_equal(v.n_batches, 0);
	assert_int_equal(v.n_rows, 0);
	assert_int_equal(v.bytes, 0);
	assert_int_equal(next(s, &item), -1);
}

static void in_order_and_gone(void **state)
{
	struct setup s;

	(void)state;
	begin(&s);
	append(&s, 1, 1);
	append(&s, 2, 3);
	for (int64_t i = 1; i <= 4; i++)
		deliver(&s, i);
	assert_empty(&s);
	restart(&s, false);
	assert_empty(&s);
	append(&s, 5, 1);
	deliver(&s, 5);
	end(&s);
}

static void what_was_not_settled_comes_again(void **state)
{
	struct setup s;
	struct spool_item item;

	(void)state;
	for (int cut = 0; cut < 2; cut++) {
		begin(&s);
		append(&s, 1, 4);
		if (!cut)
			deliver(&s, 1);
		assert_int_equal(next(&s, &item), cut ? 1 : 2);
		restart(&s, cut);
		for (int64_t i = cut ? 1 : 2; i <= 4; i++)
			deliver(&s, i);
		assert_empty(&s);
		end(&s);
	}
}

/* Many segments, of which one is read while others come. */
static void what_memory_has_no_room_for_is_read_back(void **state)
{
	struct setup s;
	struct spool_item item;
	uint64_t appended = 0, n_read = 0;

	(void)state;
	begin_at(&s, 1);
	s.config.max_bytes = 64 << 20;
	reopen(&s);
	for (; appended < MANY; appended++)
		append(&s, appended, 1);
	restart(&s, true);
	for (int64_t i = 0; i < 2 * MANY; i++) {
		if (appended < 2 * MANY)
			append(&s, appended++, 1);
		assert_int_equal(next(&s, &item), i);
		n_read += item.was_read;
		spool__settle(s.spool, &item, 0);
	}
	assert_true(n_read >= MANY);
	assert_empty(&s);
	/* All but the segment that is written. */
	assert_true(sim__n_names(s.sim, WAL_DIR) <= 2);
	end(&s);
}

static void not_now_is_later(void **state)
{
	struct setup s;
	struct spool_item one, two;

	(void)state;
	begin(&s);
	append(&s, 1, 3);
	assert_int_equal(next(&s, &one), 1);
	assert_int_equal(next(&s, &two), 2);
	spool__settle(s.spool, &two, -ECANCELED);
	spool__settle(s.spool, &one, -ECANCELED);
	for (int64_t i = 1; i <= 3; i++)
		deliver(&s, i);
	assert_empty(&s);
	end(&s);
}

static void enough_is_fed_at_a_time(void **state)
{
	struct setup s;
	struct spool_item one, two;

	(void)state;
	begin_at(&s, 1);
	s.config.fed_bytes = 1;
	reopen(&s);
	append(&s, 1, 2);
	assert_int_equal(next(&s, &one), 1);
	assert_int_equal(next(&s, &two), -1);
	spool__settle(s.spool, &one, 0);
	assert_int_equal(next(&s, &two), 2);
	spool__settle(s.spool, &two, 0);
	end(&s);
}

static void the_refused_is_set_aside(void **state)
{
	static const char words[] = "they said no";
	struct setup s;
	struct spool_view v;
	struct spool_item item;
	struct dcm_batch *kept = NULL, *expected = batch_of(1);
	const uint8_t *bytes;
	size_t n;

	(void)state;
	begin(&s);
	append(&s, 1, 2);
	assert_int_equal(next(&s, &item), 1);
	spool__say(s.spool, words);
	spool__settle(s.spool, &item, -EBADMSG);
	deliver(&s, 2);
	assert_empty(&s);
	restart(&s, false);
	assert_empty(&s);
	spool__view(s.spool, &v);
	assert_int_equal(v.n_aside, 1);
	bytes = sim__peek(s.sim, "aside/00000000000000000001.batch", &n);
	assert_non_null(bytes);
	assert_int_equal(v.aside_bytes, n);
	assert_int_equal(wire__decode(bytes, n, &kept, NULL), 0);
	assert_same(kept, expected);
	bytes = sim__peek(s.sim, "aside/00000000000000000001.txt", &n);
	assert_int_equal(n, sizeof(words) - 1);
	assert_memory_equal(bytes, words, n);
	batch__unref(kept);
	batch__unref(expected);
	end(&s);
}

static void no_more_is_set_aside_than_may_be(void **state)
{
	struct setup s;
	struct spool_view v;
	struct spool_item item;

	(void)state;
	begin_at(&s, 1);
	s.config.aside_bytes = 1;
	reopen(&s);
	append(&s, 1, 1);
	assert_int_equal(next(&s, &item), 1);
	spool__settle(s.spool, &item, -EBADMSG);
	assert_empty(&s);
	spool__view(s.spool, &v);
	assert_int_equal(v.n_aside, 0);
	end(&s);
}

static void the_oldest_leave_a_full_one(void **state)
{
	struct setup s;
	struct spool_view v;
	struct spool_item item;
	uint64_t rows = 0;
	int64_t first;

	(void)state;
	begin_at(&s, 1);
	s.config.max_bytes = 1 << 20;
	reopen(&s);
	for (uint64_t i = 0; i < MANY; i++) {
		append(&s, i, 1);
		spool__view(s.spool, &v);
		assert_true(v.bytes <= 1 << 20);
	}
	assert_true(v.n_batches < MANY && v.n_batches > 1);
	first = (int64_t)(MANY - v.n_batches);
	for (uint64_t i = 0; i < (uint64_t)first; i++)
		rows += rows_of(i);
	restart(&s, false);
	for (int64_t i = first; i < MANY; i++)
		deliver(&s, i);
	assert_int_equal(next(&s, &item), -1);
	assert_int_equal(s.full, rows);
	/* Two segments of 256 KiB beyond. */
	assert_true(sim__bytes(s.sim) < (1 << 20) + 3 * (256 << 10));
	end(&s);
}

/* It is in memory, with whoever it was fed to: lost only when it comes back. */
static void what_is_fed_may_leave_the_disk(void **state)
{
	struct setup s;
	struct spool_item one, two;

	(void)state;
	begin_at(&s, 1);
	s.config.max_bytes = 1;
	reopen(&s);
	append(&s, 1, 1);
	assert_int_equal(next(&s, &one), 1);
	append(&s, 2, 1);
	assert_int_equal(next(&s, &two), 2);
	append(&s, 3, 1);
	spool__settle(s.spool, &one, 0);
	assert_int_equal(s.full, 0);
	spool__settle(s.spool, &two, -ECANCELED);
	assert_int_equal(s.full, rows_of(2));
	deliver(&s, 3);
	assert_empty(&s);
	end(&s);
}

static void the_old_expire(void **state)
{
	struct setup s;
	struct spool_item one, item;

	(void)state;
	begin(&s);
	append(&s, 1, 1);
	assert_int_equal(next(&s, &one), 1); /* is under way for longer than the others may wait */
	append(&s, 2, 1);
	s.clock.fake_real_ns += 60 * SECOND;
	append(&s, 3, 1);
	s.clock.fake_real_ns += 60 * SECOND;
	assert_int_equal(next(&s, &item), 3);
	assert_int_equal(s.expired, rows_of(2));
	spool__settle(s.spool, &item, 0);
	spool__settle(s.spool, &one, 0);
	assert_empty(&s);
	restart(&s, false);
	assert_empty(&s);
	end(&s);
}

/* Where a batch's own bytes begin in the first segment. */
static uint8_t *find_bytes(struct setup *s, uint64_t number)
{
	struct dcm_batch *b = batch_of(number);
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
	struct setup s;

	(void)state;
	/* Found when the spool is opened: nobody knows its rows. */
	begin(&s);
	append(&s, 1, 1);
	append(&s, 2, 1);
	append(&s, 3, 1);
	find_bytes(&s, 2)[40] ^= 1;
	restart(&s, false);
	deliver(&s, 1);
	deliver(&s, 3);
	assert_empty(&s);
	assert_int_equal(s.damaged, 1);
	end(&s);

	/* Found when it is read back. */
	begin(&s);
	append(&s, 1, 1);
	append(&s, 2, 1);
	append(&s, 3, 1);
	restart(&s, false);
	find_bytes(&s, 2)[40] ^= 1;
	deliver(&s, 1);
	deliver(&s, 3);
	assert_empty(&s);
	assert_int_equal(s.damaged, rows_of(2));
	end(&s);
}

static void a_damaged_position_sends_again(void **state)
{
	struct setup s;
	size_t n;

	(void)state;
	begin(&s);
	append(&s, 1, 2);
	deliver(&s, 1);
	sim__peek(s.sim, "position", &n)[9] ^= 1;
	restart(&s, false);
	deliver(&s, 1);
	deliver(&s, 2);
	end(&s);
}

static void two_cannot_have_it(void **state)
{
	struct setup s;
	struct dcm_error err = DCM_ERROR_INIT;
	struct spool *other = NULL;
	struct vfs *one = NULL, *two = NULL;

	(void)state;
	begin_at(&s, 1);
	assert_int_equal(vfs_posix__new(dir, true, &one, NULL), 0);
	assert_int_equal(vfs_posix__new(dir, true, &two, NULL), 0);
	assert_int_equal(spool__open(one, &s.config, &s.spool, NULL), 0);
	append(&s, 1, 1);
	assert_int_equal(spool__open(two, &s.config, &other, &err), -EBUSY);
	assert_non_null(strstr(err.text, "spool_path"));
	spool__close(s.spool);
	s.spool = NULL;
	assert_int_equal(spool__open(two, &s.config, &s.spool, NULL), 0);
	deliver(&s, 1);
	end(&s);
	vfs_posix__free(one);
	vfs_posix__free(two);
}

/* Acks may come after the end: they say nothing any more, and what they are about comes again. */
static void late_settling_is_nothing(void **state)
{
	struct setup s;
	struct spool *held;
	struct spool_item item;

	(void)state;
	begin(&s);
	append(&s, 1, 1);
	assert_int_equal(next(&s, &item), 1);
	held = spool__ref(s.spool);
	restart(&s, false);
	spool__settle(held, &item, 0);
	spool__unref(held);
	deliver(&s, 1);
	end(&s);
}

/* Each call of an append fails once, in each way; the same group comes again when all is well. */
static void a_refused_group_comes_once(void **state)
{
	(void)state;
	for (enum sim_fault fault = FAULT_EIO; fault <= FAULT_EROFS; fault++) {
		bool failed = true;

		for (uint64_t at = 1; failed; at++) {
			struct setup s;
			int r;

			begin_at(&s, at);
			reopen(&s);
			append(&s, 1, 1);
			sim__fail(s.sim, at, fault, true);
			r = try_append(&s, 2, 3);
			if (r)
				r = try_append(&s, 2, 3);
			failed = sim__failed(s.sim);
			assert_true(failed || r == 0);
			sim__fail(s.sim, 0, FAULT_NONE, false);
			if (r)
				append(&s, 2, 3);
			append(&s, 5, 1);
			/* Half of the times from the disk, which may have what the index has not. */
			if (at % 2)
				restart(&s, true);
			for (int64_t i = 1; i <= 5; i++)
				deliver(&s, i);
			assert_empty(&s);
			end(&s);
			assert_true(at < 1000);
		}
	}
}

static void a_group_without_memory_comes_once(void **state)
{
	(void)state;
	for (unsigned at = 0;; at++) {
		struct setup s;
		struct dcm_batch *batches[2] = { batch_of(1), batch_of(2) };
		int r;

		begin(&s);
		failmalloc__arm(at + 1);
		r = spool__append(s.spool, batches, batches, 2, NULL);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		if (r < 0)
			assert_int_equal(spool__append(s.spool, batches, batches, 2, NULL), 0);
		deliver(&s, 1);
		deliver(&s, 2);
		assert_empty(&s);
		batch__unref(batches[0]);
		batch__unref(batches[1]);
		end(&s);
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
static void live(struct setup *s, struct life *l, struct random *r)
{
	for (int step = 0; step < 12 && l->n + 4 < MANY; step++) {
		struct spool_item item;
		int64_t number;

		if (random__below(r, 2)) {
			uint32_t n = 1 + (uint32_t)random__below(r, 3);
			int rc = try_append(s, l->n, n);

			for (uint32_t i = 0; i < n; i++)
				l->acked[l->n + i] = rc == 0 && !sim__is_cut(s->sim);
			l->n += n;
			if (rc)
				return;
		} else {
			number = next(s, &item);
			if (number < 0)
				continue;
			l->settled[number] = true;
			spool__settle(s->spool, &item, 0);
		}
	}
}

/* In order, each once, and none of those that must be there is missing. */
static void check_rest(struct setup *s, const struct life *l, bool power_was_cut)
{
	int64_t last = -1, number;
	bool there[MANY] = { 0 };
	struct spool_item item;

	while ((number = next(s, &item)) >= 0) {
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
		struct setup s;
		bool cut = false;

		memset(&l, 0, sizeof(l));
		begin_at(&s, seed);
		s.config.max_bytes = 8 << 20;
		reopen(&s);
		for (int i = 0; i < 6; i++) {
			bool power_cut = random__below(&r, 2);

			if (power_cut)
				sim__cut_at(s.sim, 1 + random__below(&r, 60));
			live(&s, &l, &r);
			restart(&s, power_cut);
			cut |= power_cut;
		}
		check_rest(&s, &l, cut);
		assert_int_equal(s.full, 0);
		assert_int_equal(s.expired, 0);
		assert_int_equal(s.damaged, 0);
		end(&s);
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
