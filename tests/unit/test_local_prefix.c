/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_local_prefix.c - running sums side by side are those made one after the other
 *
 * Both ways through them are held against plain loops: what this machine has, and what every
 * machine has.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include <decima/plugin.h>

#include "plugins/storage/local/prefix.h"
#include "tests/unit/random.h"

/* The same functions once more, of a machine that has nothing special. */
bool plain__ids(uint32_t *v, uint32_t n, uint32_t *next);
bool plain__ranks(uint32_t *v, uint32_t n, uint32_t n_ranks);
bool plain__below(const uint32_t *v, uint32_t n, uint32_t limit);
bool plain__times(int64_t *v, uint32_t n, struct prefix_clock *from);
bool plain__small_times(const uint32_t *v, uint32_t n, struct prefix_clock *from, int64_t *ret);
bool plain__steps(const uint64_t *n_steps, const uint64_t *over, uint32_t n, uint64_t step,
		  int64_t *time, int64_t *ret);
bool plain__small_steps(const uint32_t *n_steps, const uint32_t *over, uint32_t n, uint64_t step,
			int64_t *time, int64_t *ret);
uint64_t plain__running(const uint32_t *v, uint32_t n, uint64_t before, uint64_t *ret);
uint64_t plain__sum(const uint32_t *v, uint32_t n);
#define prefix__ids			plain__ids
#define prefix__ranks			plain__ranks
#define prefix__below			plain__below
#define prefix__times			plain__times
#define prefix__small_times		plain__small_times
#define prefix__steps			plain__steps
#define prefix__small_steps		plain__small_steps
#define prefix__running			plain__running
#define prefix__sum			plain__sum
#define __builtin_cpu_supports(feature) false
#include "plugins/storage/local/prefix.c"
#undef prefix__ids
#undef prefix__ranks
#undef prefix__times
#undef prefix__below
#undef prefix__small_times
#undef prefix__steps
#undef prefix__small_steps
#undef prefix__running
#undef prefix__sum

enum { TURNS = 3000 };

/* Numbers of up to some bits, now and then a large one; how many. */
static uint32_t fill(struct random *r, uint32_t v[static PFOR_PAGE])
{
	const uint32_t n = (uint32_t)random__below(r, PFOR_PAGE + 1);
	const uint64_t bits = random__below(r, 33),
		       rare = random__below(r, 4) ? bits : random__below(r, 33);

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t b = random__below(r, 50) ? bits : rare;

		v[i] = b ? (uint32_t)(random__next(r) >> (64 - b)) : 0;
	}
	return n;
}

static void ids_ascend(void **state)
{
	(void)state;
	struct random r = { 1 };
	uint32_t v[PFOR_PAGE], got[PFOR_PAGE], also[PFOR_PAGE], expected[PFOR_PAGE];
	unsigned n_good = 0;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		const uint32_t n = fill(&r, v),
			       first = random__below(&r, 2) ? 0 : (uint32_t)random__wide(&r);
		uint32_t next = first, plain_next = first;
		uint64_t id = first;
		bool good = true;

		for (uint32_t i = 0; i < n && good; i++) {
			id += v[i];
			good = id < DCM_NONE;
			expected[i] = (uint32_t)id++;
		}
		memcpy(got, v, sizeof(got));
		memcpy(also, v, sizeof(also));
		assert_int_equal(prefix__ids(got, n, &next), good);
		assert_int_equal(plain__ids(also, n, &plain_next), good);
		if (!good)
			continue;
		n_good++;
		assert_int_equal(next, (uint32_t)id);
		assert_int_equal(plain_next, (uint32_t)id);
		assert_memory_equal(got, expected, n * sizeof(*got));
		assert_memory_equal(also, expected, n * sizeof(*got));
	}
	assert_in_range(n_good, TURNS / 4, TURNS - 1);
}

static void ranks_go_round(void **state)
{
	(void)state;
	struct random r = { 2 };
	uint32_t v[PFOR_PAGE], got[PFOR_PAGE], also[PFOR_PAGE], expected[PFOR_PAGE];
	unsigned n_good = 0;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		const uint32_t n = fill(&r, v);
		const uint32_t n_ranks = turn % 9 ? 1 + (uint32_t)(random__wide(&r) >> 34) : 1u << 30;
		uint64_t rank = 0;
		bool good = true;

		for (uint32_t i = 0; i < n; i++) {
			if (turn % 3)
				v[i] %= n_ranks;
			good &= v[i] < n_ranks;
			rank = (rank + v[i]) % n_ranks;
			expected[i] = (uint32_t)rank;
		}
		memcpy(got, v, sizeof(got));
		memcpy(also, v, sizeof(also));
		assert_int_equal(prefix__ranks(got, n, n_ranks), good);
		assert_int_equal(plain__ranks(also, n, n_ranks), good);
		if (!good)
			continue;
		n_good++;
		assert_memory_equal(got, expected, n * sizeof(*got));
		assert_memory_equal(also, expected, n * sizeof(*got));
	}
	assert_in_range(n_good, TURNS / 2, TURNS - 1);
	assert_true(prefix__ranks(v, 0, 0));
	v[0] = 0;
	assert_false(prefix__ranks(v, 1, 0));
}

static void below_a_limit(void **state)
{
	(void)state;
	struct random r = { 5 };
	uint32_t v[PFOR_PAGE];
	unsigned n_good = 0;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		const uint32_t n = fill(&r, v), limit = (uint32_t)(random__wide(&r) >> 33);
		bool good = true;

		for (uint32_t i = 0; i < n; i++)
			good &= v[i] < limit;
		n_good += good;
		assert_int_equal(prefix__below(v, n, limit), good);
	}
	assert_in_range(n_good, TURNS / 20, TURNS - TURNS / 20);
}

/* One after the other; false when a time is before the one before it. */
static bool times_plainly(const uint32_t *v, uint32_t n, struct prefix_clock *c, int64_t *ret)
{
	bool good = true;

	for (uint32_t i = 0; i < n; i++) {
		c->step = (int64_t)((uint64_t)c->step + (uint64_t)zigzag__back(v[i]));
		ret[i] = (int64_t)((uint64_t)c->time + (uint64_t)c->step);
		good &= ret[i] >= c->time;
		c->time = ret[i];
	}
	return good;
}

static void same_times(const uint32_t *v, uint32_t n, struct prefix_clock from)
{
	struct prefix_clock a = from, b = from, c = from, d = from;
	int64_t expected[PFOR_PAGE], got[PFOR_PAGE], also[PFOR_PAGE], wide[PFOR_PAGE];
	const bool good = times_plainly(v, n, &a, expected);

	for (uint32_t i = 0; i < n; i++)
		wide[i] = v[i];
	assert_int_equal(prefix__small_times(v, n, &b, got), good);
	assert_int_equal(plain__small_times(v, n, &c, also), good);
	assert_int_equal(prefix__times(wide, n, &d), good);
	if (!good)
		return;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_memory_equal(&a, &c, sizeof(a));
	assert_memory_equal(&a, &d, sizeof(a));
	assert_memory_equal(expected, got, n * sizeof(*got));
	assert_memory_equal(expected, also, n * sizeof(*got));
	assert_memory_equal(expected, wide, n * sizeof(*got));
}

static void times_go_on(void **state)
{
	(void)state;
	struct random r = { 3 };
	uint32_t v[PFOR_PAGE];

	for (unsigned turn = 0; turn < TURNS; turn++) {
		const uint32_t n = fill(&r, v);
		struct prefix_clock from = { .time = (int64_t)random__next(&r) };

		if (turn % 2)
			from = (struct prefix_clock){ 1700000000000, (int64_t)random__below(&r, 100000) };
		if (turn % 7 == 0)
			from.step = (int64_t)random__next(&r);
		/*
		 * As a sampler's: every ten seconds, more or less; the first step comes from
		 * nothing.
		 */
		for (uint32_t i = 0; i < n && turn % 4 == 1; i++)
			v[i] = (uint32_t)zigzag__of((int64_t)random__below(&r, 80) - 40);
		if (n > 1 && turn % 8 == 1)
			v[1] = (uint32_t)zigzag__of(10000);
		same_times(v, n, from);
	}
	/* The ends of what there is. */
	for (uint32_t i = 0; i < PFOR_PAGE; i++)
		v[i] = i == 0;
	same_times(v, PFOR_PAGE, (struct prefix_clock){ INT64_MAX - 5, 1 });
	same_times(v, PFOR_PAGE, (struct prefix_clock){ INT64_MIN, 1 << 20 });
	same_times(v, PFOR_PAGE, (struct prefix_clock){ INT64_MIN, 0 });
}

/* Gaps in 128 bits, which wrap where they are added to a time. */
static bool steps_plainly(const uint32_t *k, const uint32_t *over, uint32_t n, uint64_t step,
			  int64_t *time, int64_t *ret)
{
	bool good = true;

	for (uint32_t i = 0; i < n; i++) {
		const __int128 gap = (__int128)(zigzag__back(k[i]) + 1) * step + zigzag__back(over[i]);
		const int64_t at = (int64_t)(uint64_t)((unsigned __int128)(__int128)*time +
						       (unsigned __int128)gap);

		good &= at >= *time;
		ret[i] = *time = at;
	}
	return good;
}

static bool same_steps(const uint32_t *k, const uint32_t *over, uint32_t n, uint64_t step, int64_t from)
{
	int64_t a = from, b = from, c = from, d = from;
	int64_t expected[PFOR_PAGE], got[PFOR_PAGE], also[PFOR_PAGE], wide[PFOR_PAGE];
	uint64_t wide_k[PFOR_PAGE], wide_over[PFOR_PAGE];
	const bool good = steps_plainly(k, over, n, step, &a, expected);

	for (uint32_t i = 0; i < n; i++) {
		wide_k[i] = k[i];
		wide_over[i] = over[i];
	}
	assert_int_equal(prefix__small_steps(k, over, n, step, &b, got), good);
	assert_int_equal(plain__small_steps(k, over, n, step, &c, also), good);
	assert_int_equal(prefix__steps(wide_k, wide_over, n, step, &d, wide), good);
	if (!good)
		return false;
	assert_true(a == b && a == c && a == d);
	assert_memory_equal(expected, got, n * sizeof(*got));
	assert_memory_equal(expected, also, n * sizeof(*got));
	assert_memory_equal(expected, wide, n * sizeof(*got));
	return true;
}

static void steps_go_on(void **state)
{
	(void)state;
	struct random r = { 9 };
	uint32_t k[PFOR_PAGE], over[PFOR_PAGE];
	unsigned n_good = 0;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		uint32_t n = fill(&r, k);
		const uint32_t n_over = fill(&r, over);
		const int64_t from = turn % 3 ? 1700000000000 : (int64_t)random__next(&r);
		const uint64_t step = turn % 5 ? random__below(&r, 100000) : random__next(&r);

		n = n < n_over ? n : n_over;
		/* As a sampler's: now and then it is away for some steps. */
		for (uint32_t i = 0; i < n && turn % 2; i++) {
			k[i] = (uint32_t)zigzag__of((int64_t)random__below(&r, 5));
			over[i] = (uint32_t)zigzag__of((int64_t)random__below(&r, 9) - 4);
		}
		n_good += same_steps(k, over, n, step, from);
	}
	assert_in_range(n_good, TURNS / 3, TURNS - 1);
	/* The ends of what there is. */
	for (uint32_t i = 0; i < PFOR_PAGE; i++)
		k[i] = over[i] = 0;
	assert_false(same_steps(k, over, PFOR_PAGE, 1, INT64_MAX - 5));
	assert_true(same_steps(k, over, PFOR_PAGE, 0x7fffff, INT64_MIN));
	assert_true(same_steps(k, over, PFOR_PAGE, 0x800000, INT64_MIN));
	assert_true(same_steps(k, over, PFOR_PAGE, 0x7fffffff, 0));
}

static void sums_run(void **state)
{
	(void)state;
	struct random r = { 4 };
	uint32_t v[PFOR_PAGE];
	uint64_t got[PFOR_PAGE], also[PFOR_PAGE];

	for (unsigned turn = 0; turn < TURNS; turn++) {
		const uint32_t n = fill(&r, v);
		uint64_t sum = random__next(&r);
		const uint64_t last = prefix__running(v, n, sum, got);

		assert_true(plain__running(v, n, sum, also) == last);
		for (uint32_t i = 0; i < n; i++) {
			sum += (uint64_t)zigzag__back(v[i]);
			assert_true(got[i] == sum);
			assert_true(also[i] == sum);
		}
		assert_true(last == sum);
	}
}

static void sums_are_whole(void **state)
{
	(void)state;
	struct random r = { 6 };
	uint32_t v[PFOR_PAGE];

	for (unsigned turn = 0; turn < TURNS; turn++) {
		const uint32_t n = fill(&r, v);
		uint64_t sum = 0;

		for (uint32_t i = 0; i < n; i++)
			sum += v[i];
		assert_true(prefix__sum(v, n) == sum);
		assert_true(plain__sum(v, n) == sum);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_ascend),	  cmocka_unit_test(ranks_go_round),
		cmocka_unit_test(below_a_limit),  cmocka_unit_test(times_go_on),
		cmocka_unit_test(steps_go_on),	  cmocka_unit_test(sums_run),
		cmocka_unit_test(sums_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
