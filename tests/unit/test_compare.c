/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_compare.c - rates and z against the same arithmetic done another way, and the test of chance
 * against chance
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/query/compare.h"
#include "tests/unit/random.h"
#include "tests/unit/type_text.h"

#define CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

static struct dcm_batch *answer_of(const char *a, uint32_t of_a, const char *b, uint32_t of_b)
{
	CLEANUP(builder__freep) struct dcm_builder *builder = builder__new(0);
	struct dcm_type types[2] = { type_text__read(builder, a, of_a),
				     type_text__read(builder, b, of_b) };
	struct dcm_profile head = { .series = builder__series(builder, NULL, 0) };
	struct dcm_batch *batch = NULL;

	builder__profile(builder, &head, types, 2);
	builder__row(builder, builder__stack(builder, NULL, 0), 0, (int64_t[]){ 1, 1 });
	assert_int_equal(builder__seal(builder, &batch, NULL), 0);
	return batch;
}

static struct compare_side told(int64_t from_ms, int64_t to_ms, uint64_t n, int64_t period)
{
	return (struct compare_side){ .from_ms = from_ms,
				      .to_ms = to_ms,
				      .is_told = true,
				      .n_profiles = n,
				      .duration_ns = (int64_t)n,
				      .period = period };
}

/* Of CPU time. */
static struct compare of_cpu(struct compare_side a, struct compare_side b)
{
	CLEANUP(batch__unrefp) struct dcm_batch *answer = answer_of(CPU, DCM_DELTA, CPU, DCM_DELTA);
	struct compare c = { .side = { a, b } };

	compare__set_types(&c, answer);
	return c;
}

static void near(double got, double want)
{
	if (isnan(want) ? !isnan(got) : !(fabs(got - want) <= 1e-9 * (1 + fabs(want))))
		fail_msg("%.17g, not %.17g", got, want);
}

/*
 * z^2 is Pearson's chi-squared of the table of two by two, N (ad - bc)^2 / the product of the four
 * sums: exact integers until the last step.
 */
static double chi(uint64_t xa, uint64_t na, uint64_t xb, uint64_t nb)
{
	long double a = xa, b = na - xa, c = xb, d = nb - xb;
	long double under = (a + b) * (c + d) * (a + c) * (b + d);
	long double cross = (long double)((__int128)xb * (na - xa) - (__int128)xa * (nb - xb));

	return under == 0 ? 0 : (double)(cross * sqrtl((a + b + c + d) / under));
}

static bool is_enough(uint64_t xa, uint64_t na, uint64_t xb, uint64_t nb)
{
	const uint64_t columns[2] = { xa + xb, na + nb - xa - xb }, rows[2] = { na, nb };

	for (unsigned i = 0; i < 4; i++)
		if ((unsigned __int128)columns[i / 2] * rows[i % 2] < 5 * (unsigned __int128)(na + nb))
			return false;
	return true;
}

static void test_against_another_way(void **state)
{
	struct random r = { 1 };
	unsigned n_significant = 0, n_few = 0;
	(void)state;

	for (unsigned i = 0; i < 20000; i++) {
		int64_t period[2], all[2], v[2];
		uint64_t x[2], n[2];
		struct compare_side side[2];

		for (unsigned k = 0; k < 2; k++) {
			int64_t from = (int64_t)random__below(&r, 1000000);

			period[k] = 1 + (int64_t)(random__wide(&r) >> 34);
			n[k] = 1 + random__below(&r, 1 + (random__wide(&r) >> 40));
			x[k] = random__below(&r, 3) ? random__below(&r, n[k] + 1)
						    : random__below(&r, 2) * n[k];
			v[k] = (int64_t)x[k] * period[k];
			all[k] = (int64_t)n[k] * period[k];
			side[k] = told(from, from + 1 + (int64_t)random__below(&r, 90000000), 5,
				       period[k]);
		}
		struct compare c = of_cpu(side[0], side[1]);
		struct comparison got = compare__values(&c, all, v);
		double rate[2];

		for (unsigned k = 0; k < 2; k++)
			rate[k] = 1000.0 * (double)v[k] / (double)(side[k].to_ms - side[k].from_ms);
		assert_int_equal(c.by, COMPARE_RATES);
		near(got.delta, rate[1] - rate[0]);
		near(got.change, v[0] ? rate[1] / rate[0] - 1 : NAN);
		double z = chi(x[0], n[0], x[1], n[1]);
		near(got.z, z);
		bool enough = is_enough(x[0], n[0], x[1], n[1]);
		if (fabs(fabs(z) - COMPARE_LEVEL) > 1e-6)
			assert_int_equal(got.is_significant, enough && fabs(z) > COMPARE_LEVEL);
		n_significant += got.is_significant;
		n_few += !enough && fabs(z) > COMPARE_LEVEL;
		char text[128];
		assert_null(compare__untested(&c, all, text));
		near(compare__samples(&c, 0, all[0]), (double)n[0]);
	}
	/* Both came up. */
	assert_true(n_significant > 1000 && n_few > 100);
}

/* From a textbook: 140 of 200 and 255 of 340 have z = 1.266015. */
static void test_an_example_that_was_published(void **state)
{
	struct compare c = of_cpu(told(0, 1000, 1, 7), told(0, 2000, 1, 3));
	struct comparison got = compare__values(&c, (int64_t[]){ 1400, 1020 }, (int64_t[]){ 980, 765 });
	(void)state;

	assert_true(fabs(got.z - 1.266015) < 1e-5);
	assert_false(got.is_significant);
	near(got.delta, 382.5 - 980);
}

static uint64_t draw(struct random *r, uint64_t n, double p)
{
	uint64_t x = 0;

	for (uint64_t i = 0; i < n; i++)
		x += (double)(random__next(r) >> 11) * 0x1p-53 < p;
	return x;
}

/* Where nothing changed, chance is called significant once in 100 times, and not more often where counts are few. */
static void test_chance_is_seldom_significant(void **state)
{
	static const struct {
		uint64_t n[2];
		double p;
		double least, most; /* shares of the trials */
	} cases[] = {
		{ { 400, 700 }, 0.5, 0.006, 0.014 },
		{ { 300, 3000 }, 0.05, 0.006, 0.016 },
		{ { 10, 2000 }, 0.01, 0, 0.001 },
		{ { 40, 40 }, 0.02, 0, 0.001 },
	};
	struct random r = { 7 };
	(void)state;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct compare c = of_cpu(told(0, 1, 1, 1), told(0, 1, 1, 1));
		unsigned n = 0;

		for (unsigned k = 0; k < 4000; k++) {
			int64_t all[2] = { (int64_t)cases[i].n[0], (int64_t)cases[i].n[1] };
			int64_t v[2] = { (int64_t)draw(&r, cases[i].n[0], cases[i].p),
					 (int64_t)draw(&r, cases[i].n[1], cases[i].p) };

			n += compare__values(&c, all, v).is_significant;
		}
		if (n < 4000 * cases[i].least || n > 4000 * cases[i].most)
			fail_msg("case %u: %u of 4000", i, n);
	}
}

static void untested(const struct compare *c, const int64_t all[2], const char *want)
{
	struct comparison got = compare__values(c, all, all);
	char text[128];
	const char *why = compare__untested(c, all, text);

	assert_non_null(why);
	if (!strstr(why, want))
		fail_msg("no \"%s\" in: %s", want, why);
	near(got.z, NAN);
	assert_false(got.is_significant);
	assert_true(isfinite(got.delta));
}

static void test_what_cannot_be_tested_says_why(void **state)
{
	static const int64_t some[2] = { 50, 70 };
	static const struct {
		const char *type;
		uint32_t temporality, by;
		int64_t period;
		const char *want; /* NULL: is tested */
	} cases[] = {
		{ CPU, DCM_DELTA, COMPARE_RATES, 0, "side A has no sampling period, or more than one" },
		{ CPU, DCM_CUMULATIVE, COMPARE_RATES, 10, NULL },
		{ "goroutine:goroutine:count:goroutine:count", DCM_GAUGE, COMPARE_MEANS, 1,
		  "a state has no samples" },
		{ "memory:alloc_space:bytes:space:bytes", DCM_DELTA, COMPARE_RATES, 524288,
		  "no multiples of a sampling period" },
		{ "parca_agent:samples:count:cpu:nanoseconds", DCM_DELTA, COMPARE_RATES, 10, NULL },
		{ "parca_agent:samples:count::", DCM_DELTA, COMPARE_RATES, 0, NULL },
	};
	(void)state;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *answer = answer_of(cases[i].type, cases[i].temporality,
						     cases[i].type, cases[i].temporality);
		struct compare c = { .side = { told(0, 10000, 3, cases[i].period),
					       told(0, 20000, 3, cases[i].period) } };
		struct comparison got;
		char text[128];

		compare__set_types(&c, answer);
		assert_int_equal(c.by, cases[i].by);
		got = compare__values(&c, some, some);
		near(got.delta, cases[i].by == COMPARE_RATES ? 3.5 - 5 : 20);
		if (cases[i].want) {
			untested(&c, some, cases[i].want);
		} else {
			assert_null(compare__untested(&c, some, text));
			near(got.z, 0);
		}
	}
}

static void test_sides_without_anything(void **state)
{
	struct compare c = of_cpu(told(0, 1000, 3, 1), told(0, 1000, 3, 1)), zeroed = { 0 };
	struct comparison got;
	char text[128];
	(void)state;

	untested(&c, (int64_t[]){ 0, 100 }, "side A has no samples");
	untested(&c, (int64_t[]){ 100, 0 }, "side B has no samples");
	untested(&c, (int64_t[]){ 0, 0 }, "side A has no samples");
	untested(&c, (int64_t[]){ 5, -5 }, "side B weighs less than nothing");
	untested(&zeroed, (int64_t[]){ 5, 5 }, "side A has no sampling period");

	/* Of a side that selected nothing, the store knows neither period nor temporality. */
	CLEANUP(batch__unrefp)
	struct dcm_batch *answer = answer_of(CPU, DCM_CUMULATIVE, CPU, DCM_GAUGE);
	c = (struct compare){ .side = { told(0, 2000, 3, 1), told(0, 1000, 0, 0) } };
	compare__set_types(&c, answer);
	assert_int_equal(c.by, COMPARE_RATES);
	untested(&c, (int64_t[]){ 100, 0 }, "side B has no samples");
	/* One that is there is believed. */
	c = (struct compare){ .side = { told(0, 2000, 3, 1), told(0, 1000, 1, 0) } };
	compare__set_types(&c, answer);
	assert_int_equal(c.by, COMPARE_TOTALS);
	near(compare__values(&c, (int64_t[]){ 9, 9 }, (int64_t[]){ 4, 8 }).delta, 4);
	untested(&c, (int64_t[]){ 9, 9 }, "a state");

	/* Nobody told anything: plain values. */
	got = compare__values(&zeroed, (int64_t[]){ 5, 5 }, (int64_t[]){ 2, 3 });
	near(got.delta, 1);
	near(got.change, 0.5);

	/* All or nothing of both sides: they agree, wholly. */
	c = of_cpu(told(0, 1000, 3, 1), told(0, 1000, 3, 1));
	near(compare__values(&c, (int64_t[]){ 90, 90 }, (int64_t[]){ 90, 90 }).z, 0);
	got = compare__values(&c, (int64_t[]){ 90, 90 }, (int64_t[]){ 0, 0 });
	near(got.z, 0);
	near(got.change, NAN);
	assert_null(compare__untested(&c, (int64_t[]){ 90, 90 }, text));
	/* More than all, or less than nothing, is no count. */
	near(compare__values(&c, (int64_t[]){ 90, 90 }, (int64_t[]){ 91, 1 }).z, NAN);
	got = compare__values(&c, (int64_t[]){ 90, 90 }, (int64_t[]){ -2, 1 });
	near(got.z, NAN);
	near(got.change, 1.5);
}

static void test_the_time_of_a_side(void **state)
{
	static const struct {
		int64_t from, to, first, now, want_from, want_to;
	} cases[] = {
		{ 100, 200, 0, 1000, 100, 200 },  /* nothing is stored */
		{ 100, 200, 50, 1000, 100, 200 }, /* as asked for */
		{ 0, 200, 150, 1000, 150, 200 },  /* the store is younger */
		{ 100, 200, 50, 180, 100, 180 },  /* it goes on */
		{ 0, INT64_MAX, 150, 180, 150, 180 },
		{ 100, 200, 200, 1000, 100, 200 }, /* nothing is left: as asked for */
		{ 100, 200, 50, 90, 100, 200 },
		{ INT64_MIN, INT64_MAX, 0, 180, INT64_MIN, 180 },
	};
	(void)state;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct compare c = { .by = COMPARE_RATES };
		struct dcm_select sel = { .from_ms = cases[i].from, .to_ms = cases[i].to };

		compare__set_range(&c.side[0], &sel, cases[i].first, cases[i].now);
		assert_int_equal(c.side[0].from_ms, cases[i].want_from);
		assert_int_equal(c.side[0].to_ms, cases[i].want_to);
		near(compare__seconds(&c, 0),
		     ((double)cases[i].want_to - (double)cases[i].want_from) / 1000);
		assert_true(compare__seconds(&c, 0) > 0);
		near(compare__seconds(&c, 1), 1);
	}
}

static void test_sums_of_both_weigh_alike(void **state)
{
	struct compare c = of_cpu(told(0, 3600000, 1, 1), told(0, 300000, 1, 1));
	(void)state;

	assert_true(compare__factor(&c, 0) == 1);
	near(compare__factor(&c, 1), 12);
	assert_true(compare__scaled(compare__factor(&c, 0), INT64_MAX) == INT64_MAX);
	assert_true(compare__scaled(compare__factor(&c, 1), 5) == 60);
	assert_true(compare__scaled(compare__factor(&c, 1), INT64_MIN) < INT64_MIN);
	c.by = COMPARE_MEANS;
	assert_true(compare__factor(&c, 1) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_another_way),
		cmocka_unit_test(test_an_example_that_was_published),
		cmocka_unit_test(test_chance_is_seldom_significant),
		cmocka_unit_test(test_what_cannot_be_tested_says_why),
		cmocka_unit_test(test_sides_without_anything),
		cmocka_unit_test(test_the_time_of_a_side),
		cmocka_unit_test(test_sums_of_both_weigh_alike),
	};

	return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
