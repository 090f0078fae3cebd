/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_compact_plan.c - plans keep the order in which things were written, and come
 * to an end
 *
 * The oracle is a store of atoms: each has a time and the number of its write. Blocks hold atoms; a
 * plan is carried out by merging them by time. However blocks are sealed and compacted, atoms of
 * one time must stand in the order of their writes when blocks are read in theirs, and none may be
 * missing.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/storage/local/compact_plan.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

enum { MAX_BLOCKS = 600, MAX_ATOMS = 4000, MINUTE = 60000, HOUR = 60 * MINUTE, DAY = 24 * HOUR };
static const int64_t begin_ms = (int64_t)19700 * DAY;

struct atom {
	int64_t time_ms;
	uint64_t write;
	uint64_t block;
};

struct world {
	struct manifest m;
	struct atom atoms[MAX_ATOMS]; /* of one block: in its order */
	size_t n;
	uint64_t lsn;
	unsigned n_plans;
};

static void add_block(struct world *w, uint64_t number, uint8_t level, uint64_t last_lsn)
{
	struct manifest_block b = { .number = number, .level = level, .last_lsn = last_lsn, .era = 1 };

	for (size_t i = 0; i < w->n; i++) {
		if (w->atoms[i].block != number)
			continue;
		if (b.n_rows == 0 || w->atoms[i].time_ms < b.first_ms)
			b.first_ms = w->atoms[i].time_ms;
		if (b.n_rows == 0 || w->atoms[i].time_ms > b.last_ms)
			b.last_ms = w->atoms[i].time_ms;
		b.n_rows++;
	}
	assert_true(b.n_rows > 0);
	assert_int_equal(manifest__add_block(&w->m, &b), 0);
}

static int by_time(const void *a, const void *b)
{
	const struct atom *x = a, *y = b;

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return (x->write > y->write) - (x->write < y->write);
}

/*
 * Which of a seal's blocks an atom goes to: one for each window where `apart`, else any that its
 * time alone decides.
 */
static uint64_t block_of(const struct atom *a, bool apart, uint64_t n_blocks)
{
	return (uint64_t)(apart ? a->time_ms / (2 * HOUR) - begin_ms / (2 * HOUR) + 100
				: a->time_ms / MINUTE / 5) %
	       n_blocks;
}

/*
 * A quarter of an hour's atoms, some of them late, as the blocks of one seal. They share no time,
 * as no series.
 */
static void seal(struct world *w, struct random *r, int64_t now_ms, bool apart)
{
	const uint64_t n = random__below(r, 6) + 1, first = w->n;
	const uint64_t n_blocks = apart ? 200 : random__below(r, 2) + 1;

	assert_true(w->n + n <= MAX_ATOMS);
	for (uint64_t i = 0; i < n; i++) {
		/* Times of few values, so that many are equal. */
		const uint64_t late = random__below(r, 4)   ? random__below(r, 15)
				      : random__below(r, 2) ? random__below(r, 300)
							    : random__below(r, 3000);

		w->atoms[w->n++] = (struct atom){ .time_ms = (now_ms / MINUTE - (int64_t)late) / 5 *
							     5 * MINUTE,
						  .write = ++w->lsn,
						  .block = w->m.next_block };
	}
	for (size_t i = first; i < w->n; i++)
		w->atoms[i].block += block_of(&w->atoms[i], apart, n_blocks);
	qsort(w->atoms + first, n, sizeof(w->atoms[0]), by_time);
	for (uint64_t k = 0; k < n_blocks; k++)
		for (size_t i = first; i < w->n; i++)
			if (w->atoms[i].block == w->m.next_block + k) {
				add_block(w, w->m.next_block + k, 0, w->lsn);
				break;
			}
	w->m.next_block += n_blocks;
}

/* Merges by time; of equal times the block that the plan has first goes first. */
static void carry_out(struct world *w, const struct compact_plan *p)
{
	struct atom *merged = calloc(w->n + 1, sizeof(*merged));
	size_t n = 0, kept = 0;

	assert_non_null(merged);
	for (uint32_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < w->n; k++) {
			size_t at = n;

			if (w->atoms[k].block != p->inputs[i].number)
				continue;
			for (; at > 0 && merged[at - 1].time_ms > w->atoms[k].time_ms; at--)
				merged[at] = merged[at - 1];
			merged[at] = w->atoms[k];
			merged[at].block = 0;
			n++;
		}
	for (size_t k = 0; k < w->n; k++) {
		bool gone = false;

		for (uint32_t i = 0; i < p->n; i++)
			gone |= w->atoms[k].block == p->inputs[i].number;
		if (!gone)
			w->atoms[kept++] = w->atoms[k];
	}
	assert_true(kept + n == w->n);
	for (size_t k = 0; k < n; k++) {
		merged[k].block = w->m.next_block;
		w->atoms[kept + k] = merged[k];
	}
	for (uint32_t i = 0; i < p->n; i++)
		assert_int_equal(manifest__remove_block(&w->m, p->inputs[i].number), 0);
	add_block(w, w->m.next_block++, p->level, p->last_lsn);
	free(merged);
	w->n_plans++;
}

static void check_plan(const struct world *w, const struct compact_plan *p)
{
	uint64_t n_rows = 0, last_lsn = 0;

	assert_true(p->n > 0 && p->n <= COMPACT_MAX_BLOCKS);
	assert_true(p->level >= 1 && p->level <= COMPACT_LEVELS);
	for (uint32_t i = 0; i < p->n; i++) {
		assert_true(manifest__find(&w->m, p->inputs[i].number) >= 0);
		assert_true(i == 0 || manifest_block__compare(&p->inputs[i - 1], &p->inputs[i]) < 0);
		assert_true(p->inputs[i].level <= p->level && p->inputs[i].era == p->era);
		n_rows += p->inputs[i].n_rows;
		last_lsn = p->inputs[i].last_lsn > last_lsn ? p->inputs[i].last_lsn : last_lsn;
	}
	assert_true(n_rows == p->n_rows && last_lsn == p->last_lsn);
}

static int by_writing(const void *a, const void *b)
{
	return manifest_block__compare(a, b);
}

/* Blocks in their order, atoms in theirs: those of one time ascend by write. */
static void check_order(const struct world *w)
{
	struct manifest_block blocks[MAX_BLOCKS];
	struct atom *seen = calloc(w->n + 1, sizeof(*seen));
	size_t n = 0;

	assert_true(seen && w->m.blocks.n <= MAX_BLOCKS);
	memcpy(blocks, w->m.blocks.v, w->m.blocks.n * sizeof(blocks[0]));
	qsort(blocks, w->m.blocks.n, sizeof(blocks[0]), by_writing);
	for (size_t b = 0; b < w->m.blocks.n; b++)
		for (size_t i = 0; i < w->n; i++) {
			if (w->atoms[i].block != blocks[b].number)
				continue;
			for (size_t k = 0; k < n; k++)
				assert_true(seen[k].time_ms != w->atoms[i].time_ms ||
					    seen[k].write < w->atoms[i].write);
			seen[n++] = w->atoms[i];
		}
	assert_true(n == w->n);
	free(seen);
}

static void compact_all(struct world *w, int64_t now_ms)
{
	struct compact_plan p;

	for (unsigned turn = 0;
	     compact_plan__choose(&p, &w->m, &compact_default_rules, now_ms, NULL, NULL); turn++) {
		assert_true(turn < MAX_BLOCKS);
		check_plan(w, &p);
		carry_out(w, &p);
	}
}

/* The most blocks that a day has. */
static size_t most_of_a_day(const struct world *w)
{
	size_t most = 0;

	for (size_t i = 0; i < w->m.blocks.n; i++) {
		size_t n = 0;

		for (size_t k = 0; k < w->m.blocks.n; k++)
			n += w->m.blocks.v[k].last_ms / DAY == w->m.blocks.v[i].last_ms / DAY;
		most = n > most ? n : most;
	}
	return most;
}

/*
 * `apart`: no block reaches over a window, as a seal takes care that none does; then few are left
 * of each day.
 */
static void live(struct world *w, struct random *r, bool apart)
{
	int64_t now_ms = begin_ms;

	memset(w, 0, sizeof(*w));
	w->m.next_block = 1;
	for (unsigned quarter = 0; quarter < 4 * 24 * 3; quarter++) {
		now_ms += 15 * MINUTE;
		seal(w, r, now_ms, apart);
		if (random__below(r, 3))
			continue;
		compact_all(w, now_ms);
		check_order(w);
	}
	compact_all(w, now_ms + 2 * DAY);
	check_order(w);
	if (apart)
		assert_true(most_of_a_day(w) <= 6);
	manifest__fini(&w->m);
}

static void order_is_kept(void **state)
{
	(void)state;
	struct world *w = calloc(1, sizeof(*w));
	struct random r = { 41 };
	unsigned n_plans = 0;

	assert_non_null(w);
	for (unsigned turn = 0; turn < 12; turn++) {
		live(w, &r, turn % 2);
		n_plans += w->n_plans;
	}
	assert_true(n_plans > 300);
	free(w);
}

/* Without anything late: eight blocks become one, twelve of these become the day. */
static void a_day(void **state)
{
	(void)state;
	struct manifest m = { .next_block = 1000 };
	struct compact_plan p;
	uint64_t number = 200;

	for (uint64_t i = 0; i < 96; i++) {
		const int64_t first = begin_ms + (int64_t)i * 15 * MINUTE;
		const struct manifest_block b = { .number = i + 1,
						  .first_ms = first,
						  .last_ms = first + 15 * MINUTE - 1,
						  .last_lsn = i + 1,
						  .n_rows = 1000 };

		assert_int_equal(manifest__add_block(&m, &b), 0);
	}
	for (unsigned k = 0; k < 13; k++) {
		assert_int_equal(compact_plan__choose(&p, &m, &compact_default_rules,
						      begin_ms + DAY + HOUR, NULL, NULL),
				 1);
		assert_int_equal(p.n, k < 12 ? 8 : 12);
		assert_int_equal(p.level, k < 12 ? 1 : 2);
		assert_int_equal(p.zstd_level > 0, k == 12);
		struct manifest_block b = p.inputs[0];

		b.last_ms = p.inputs[p.n - 1].last_ms;
		b.n_rows = p.n_rows;
		b.last_lsn = p.last_lsn;
		b.number = number++;
		b.level = p.level;
		for (uint32_t i = 0; i < p.n; i++)
			assert_int_equal(manifest__remove_block(&m, p.inputs[i].number), 0);
		assert_int_equal(manifest__add_block(&m, &b), 0);
	}
	assert_int_equal(m.blocks.n, 1);
	assert_int_equal(
		compact_plan__choose(&p, &m, &compact_default_rules, begin_ms + 9 * DAY, NULL, NULL), 0);
	manifest__fini(&m);
}

static void add(struct manifest *m, uint64_t number, int64_t first_ms, uint64_t n_rows, uint8_t level)
{
	const struct manifest_block b = { .number = number,
					  .first_ms = first_ms,
					  .last_ms = first_ms + 10 * MINUTE,
					  .last_lsn = number,
					  .n_rows = n_rows,
					  .level = level };

	assert_int_equal(manifest__add_block(m, &b), 0);
}

static int choose(struct compact_plan *p, const struct manifest *m, int64_t now_ms)
{
	return compact_plan__choose(p, m, &compact_default_rules, now_ms, NULL, NULL);
}

static void windows_close_after_their_grace(void **state)
{
	(void)state;
	struct manifest m = { .next_block = 1000 };
	struct compact_plan p;

	add(&m, 1, begin_ms, 10, 0);
	assert_int_equal(choose(&p, &m, begin_ms + 3 * HOUR), 0); /* one alone stays as it is */
	add(&m, 2, begin_ms + HOUR, 10, 0);
	add(&m, 3, begin_ms + 2 * HOUR, 10, 0);
	assert_int_equal(choose(&p, &m, begin_ms + 2 * HOUR + 10 * MINUTE - 1), 0);
	assert_int_equal(choose(&p, &m, begin_ms + 2 * HOUR + 10 * MINUTE), 1);
	assert_int_equal(p.n, 2);
	assert_true(p.inputs[0].number == 1 && p.inputs[1].number == 2);
	manifest__fini(&m);
}

/* A day that is done is written again for a quarter of its rows, not for less. */
static void little_that_is_late_waits(void **state)
{
	(void)state;
	struct manifest m = { .next_block = 1000 };
	struct compact_plan p;

	add(&m, 1, begin_ms, 1000, 2);
	add(&m, 5, begin_ms, 100, 0);
	assert_int_equal(choose(&p, &m, begin_ms + 2 * DAY), 1);
	assert_int_equal(p.n, 1);
	assert_int_equal(p.inputs[0].number, 5);
	add(&m, 6, begin_ms + HOUR, 200, 0);
	assert_int_equal(choose(&p, &m, begin_ms + 2 * DAY), 1);
	assert_int_equal(p.level, 1);
	assert_int_equal(p.n, 2);
	assert_int_equal(manifest__remove_block(&m, 5), 0);
	assert_int_equal(manifest__remove_block(&m, 6), 0);
	add(&m, 7, begin_ms + HOUR, 300, 1);
	assert_int_equal(choose(&p, &m, begin_ms + 2 * DAY), 1);
	assert_int_equal(p.level, 2);
	assert_int_equal(p.n, 2);
	manifest__fini(&m);
}

static bool all_but_two(void *ctx, uint64_t number)
{
	(void)ctx;
	return number != 2;
}

/* What cannot be read is no input, and still holds what was written before it. */
static void unusable_blocks_stay(void **state)
{
	(void)state;
	struct manifest m = { .next_block = 1000 };
	struct compact_plan p;

	for (uint64_t i = 1; i <= 4; i++)
		add(&m, i, begin_ms + (int64_t)i * MINUTE, 10, 0);
	assert_int_equal(compact_plan__choose(&p, &m, &compact_default_rules, begin_ms + 5 * HOUR,
					      all_but_two, NULL),
			 1);
	assert_int_equal(p.n, 2);
	assert_true(p.inputs[0].number == 3 && p.inputs[1].number == 4);
	manifest__fini(&m);
}

static void no_memory(void **state)
{
	(void)state;
	struct manifest m = { .next_block = 1000 };

	for (uint64_t i = 1; i <= 40; i++)
		add(&m, i, begin_ms + (int64_t)i * MINUTE, 10, i % 2);
	FAILMALLOC_SWEEP (i) {
		struct compact_plan p;
		int r = choose(&p, &m, begin_ms + 5 * HOUR);

		failmalloc__disarm();
		assert_true(r == 1 || r == -ENOMEM);
	}
	manifest__fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_kept),
		cmocka_unit_test(a_day),
		cmocka_unit_test(windows_close_after_their_grace),
		cmocka_unit_test(little_that_is_late_waits),
		cmocka_unit_test(unusable_blocks_stay),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
