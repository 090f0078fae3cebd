/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_local_squeeze.c - what is left when zeroes go is what a plain loop leaves
 *
 * Both ways through it are held against that: what this machine has, and what every machine has.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "plugins/storage/local/squeeze.h"
#include "tests/unit/random.h"

/* The same functions once more, of a machine that has nothing special. */
uint32_t plain__zeroes(const uint32_t *ids, const int64_t *values, uint32_t n, uint32_t *ret_ids,
		       int64_t *ret_values);
uint32_t plain__narrow(const uint32_t *ids, const uint32_t *values, uint32_t n, uint64_t unit,
		       uint32_t *ret_ids, int64_t *ret_values);
#define squeeze__zeroes			plain__zeroes
#define squeeze__narrow			plain__narrow
#define __builtin_cpu_supports(feature) false
#include "plugins/storage/local/squeeze.c"
#undef squeeze__zeroes
#undef squeeze__narrow

enum { TURNS = 3000 };

struct pairs {
	uint32_t n, ids[PFOR_PAGE];
	int64_t values[PFOR_PAGE];
};

/* Few or many zeroes, of up to a page; values that have no bit of the lower half set are none. */
static void fill(struct random *r, struct pairs *p)
{
	const uint64_t some = random__below(r, 9);

	p->n = (uint32_t)random__below(r, PFOR_PAGE + 1);
	for (uint32_t i = 0; i < p->n; i++) {
		p->ids[i] = (uint32_t)random__wide(r);
		p->values[i] = random__below(r, 8) < some ? (int64_t)random__wide(r) : 0;
		if (random__below(r, 9) == 0)
			p->values[i] = (int64_t)((uint64_t)p->values[i] << 32);
	}
}

static void leave_out(const struct pairs *from, struct pairs *ret)
{
	ret->n = 0;
	for (uint32_t i = 0; i < from->n; i++) {
		if (!from->values[i])
			continue;
		ret->ids[ret->n] = from->ids[i];
		ret->values[ret->n++] = from->values[i];
	}
}

static void same(const struct pairs *got, const struct pairs *expected)
{
	assert_int_equal(got->n, expected->n);
	assert_memory_equal(got->ids, expected->ids, expected->n * sizeof(got->ids[0]));
	assert_memory_equal(got->values, expected->values, expected->n * sizeof(got->values[0]));
}

static void zeroes_go(void **state)
{
	(void)state;
	struct random r = { 1 };
	struct pairs from, expected, got;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		fill(&r, &from);
		leave_out(&from, &expected);
		got.n = squeeze__zeroes(from.ids, from.values, from.n, got.ids, got.values);
		same(&got, &expected);
		got.n = plain__zeroes(from.ids, from.values, from.n, got.ids, got.values);
		same(&got, &expected);
		got = from;
		got.n = squeeze__zeroes(got.ids, got.values, got.n, got.ids, got.values);
		same(&got, &expected);
	}
}

static void narrow_ones_go(void **state)
{
	(void)state;
	struct random r = { 2 };
	struct pairs from, expected, got;
	uint32_t narrow[PFOR_PAGE];

	for (unsigned turn = 0; turn < TURNS; turn++) {
		const uint64_t unit = 1 + random__below(&r, 1u << 30);

		fill(&r, &from);
		for (uint32_t i = 0; i < from.n; i++) {
			narrow[i] = (uint32_t)from.values[i];
			from.values[i] = (int64_t)(narrow[i] * unit);
		}
		leave_out(&from, &expected);
		got.n = squeeze__narrow(from.ids, narrow, from.n, unit, got.ids, got.values);
		same(&got, &expected);
		got.n = plain__narrow(from.ids, narrow, from.n, unit, got.ids, got.values);
		same(&got, &expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zeroes_go),
		cmocka_unit_test(narrow_ones_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
