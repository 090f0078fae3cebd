/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_router.c - which part of a batch a destination gets, and the options that say so
 */
#include "core/pipeline/router.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/type.h"
#include "core/pipeline/options.h"
#include "core/query/selector.h"
#include "tests/unit/batch_judge.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/hopeless.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

/* Bit i of the selector says whether profile i is wanted. */
static bool wants_bit(void *selector, const struct dcm_batch *b, uint32_t profile)
{
	(void)b;
	return *(unsigned *)selector >> profile & 1;
}

static void exactly_the_wanted_profiles_come(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct dcm_batch *b = random_batch__new(seed, 0), *part = NULL;
		unsigned bits = (unsigned)(seed * 7919), n = 0;
		struct route route = { .wants = wants_bit, .selector = &bits };
		struct relabel_counts counts = { 0 };

		assert_int_equal(route__apply(&route, b, &part, &counts, NULL), 0);
		for (uint32_t i = 0; i < b->n_profiles; i++) {
			if (!(bits >> i & 1))
				continue;
			assert_non_null(part);
			assert_memory_equal(&part->profiles[n], &b->profiles[i], sizeof(b->profiles[i]));
			n++;
		}
		assert_int_equal(part ? part->n_profiles : 0, n);
		assert_int_equal(counts.n_profiles_filtered, b->n_profiles - n);
		if (part && n == b->n_profiles)
			assert_ptr_equal(part, b);
		if (part)
			assert_null(batch_judge__fault(part, true));
		batch__unref(part);
		batch__unref(b);
	}
}

static void options_become_a_route(void **state)
{
	struct dcm_batch *b = NULL;
	struct destination_options o = { .selector = "{service_name=\"api\"}" };
	struct route route = { 0 };
	unsigned n_api = 0, n_other = 0;

	(void)state;
	assert_int_equal(destination_options__route(&o, &route, NULL), 0);
	for (uint64_t seed = 0; seed < 50; seed++) {
		b = random_batch__new(seed, 0);
		for (uint32_t i = 0; i < b->n_profiles; i++) {
			bool is_api = str__eq(
				batch__series_label(b, b->profiles[i].series, STR("service_name")),
				STR("api"));

			assert_int_equal(route.wants(route.selector, b, i), is_api);
			n_api += is_api;
			n_other += !is_api;
		}
		batch__unref(b);
	}
	assert_true(n_api > 0 && n_other > 0);
	route__fini(&route);
	route__fini(&route);
}

/* A profile of one row for each service. */
static struct dcm_batch *of_services(const char *const *names, uint32_t n)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_type type = { .name = builder__string(b, STR("cpu")),
				 .sample_type = builder__string(b, STR("ns")) };
	struct dcm_batch *out = NULL;

	for (uint32_t i = 0; i < n; i++) {
		struct dcm_pair pair = { builder__string(b, STR("service_name")),
					 builder__string(b, str__of(names[i])) };
		struct dcm_profile head = { .series = builder__series(b, &pair, 1) };
		int64_t value = 1;

		builder__profile(b, &head, &type, 1);
		builder__row(b, builder__stack(b, NULL, 0), 0, &value);
	}
	assert_int_equal(builder__seal(b, &out, NULL), 0);
	builder__free(b);
	return out;
}

/* What the selector leaves out because nobody could tell is lost, and not filtered. */
static void what_a_selector_cannot_tell_is_counted(void **state)
{
	static struct hopeless h;
	char text[HOPELESS_PATTERN + 64];

	(void)state;
	hopeless__init(&h);
	for (unsigned is_not = 0; is_not < 2; is_not++) {
		struct destination_options o = { .selector = text };
		struct relabel_counts counts = { 0 };
		struct dcm_batch *part = NULL, *b = of_services((const char *[]){ h.text, "zz" }, 2);
		struct route route = { 0 };

		snprintf(text, sizeof(text), "{service_name%s\"%s\"}", is_not ? "!~" : "=~", h.pattern);
		assert_int_equal(destination_options__route(&o, &route, NULL), 0);
		assert_int_equal(route__apply(&route, b, &part, &counts, NULL), 0);
		assert_int_equal(part ? part->n_profiles : 0, is_not ? 2 : 0);
		assert_int_equal(counts.n_rows_undecided, 1);
		assert_int_equal(counts.n_rows_undecided_lost, !is_not);
		assert_int_equal(counts.n_profiles_filtered, !is_not);
		batch__unref(part);
		batch__unref(b);
		route__fini(&route);
	}
}

static void a_bad_selector_is_refused(void **state)
{
	struct destination_options o = { .selector = "{service_name=" };
	struct route route = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(destination_options__route(&o, &route, &err), -EINVAL);
	assert_true(err.text[0]);
	assert_null(route.wants);
}

static void every_allocation_may_fail(void **state)
{
	const struct dcm_label_text external = { STR("env"), STR("test") };
	struct dcm_batch *b = NULL;
	unsigned bits = 1, n_failed = 0;

	(void)state;
	for (uint64_t seed = 0; !b || b->n_profiles < 2 || b->profiles[0].n_rows == 0; seed++) {
		batch__unref(b);
		b = random_batch__new(seed, 0);
	}
	FAILMALLOC_SWEEP (i) {
		struct route route = { .wants = wants_bit, .selector = &bits };
		struct relabel_counts counts = { 0 };
		struct dcm_batch *part = NULL;
		int r = relabel__new(&(struct relabel_config){ .externals = &external, .n_externals = 1 },
				     &route.relabel, NULL);

		bool is_made = r == 0;

		if (is_made)
			r = route__apply(&route, b, &part, &counts, NULL);
		failmalloc__disarm();
		/* Of what nobody wanted, nothing was lost. */
		if (is_made && r < 0)
			assert_int_equal(counts.n_rows_no_memory, b->profiles[0].n_rows);
		n_failed += is_made && r < 0;
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(r == 0 ? part != NULL : part == NULL);
		batch__unref(part);
		route__fini(&route);
	}
	assert_true(n_failed > 1);
	batch__unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_the_wanted_profiles_come),
		cmocka_unit_test(options_become_a_route),
		cmocka_unit_test(what_a_selector_cannot_tell_is_counted),
		cmocka_unit_test(a_bad_selector_is_refused),
		cmocka_unit_test(every_allocation_may_fail),
	};
	return cmocka_run_group_tests_name("router", tests, NULL, NULL);
}
