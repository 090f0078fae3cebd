/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_delta.c - what was added between scrapes, against plain arithmetic on texts
 *
 * A program's counts are kept in an array by stack and label; scrapes of it come in random order,
 * with stacks that are not there yet, programs that begin anew, and rows left out. The oracle knows
 * the counts at each scrape, and so what was added.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/input/pprof_scrape/delta.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

enum { N_STACKS = 40, N_SETS = 3, N_CELLS = N_STACKS * N_SETS };

/* Two columns that count up, at 0 and 2, and a gauge between. */
struct program {
	int64_t counted[N_CELLS][2];
};

static uint32_t stack_of(struct dcm_builder *b, uint32_t i)
{
	struct dcm_function f = { 0 };
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE, .kind = DCM_FRAME_NATIVE };
	struct dcm_line line = { 0 };
	char name[16];
	uint32_t id;

	snprintf(name, sizeof(name), "f%u", i);
	f.name = builder__string(b, str__of(name));
	line.function = builder__function(b, &f);
	id = builder__location(b, &l, &line, 1);
	return builder__stack(b, &id, 1);
}

/* None, a text, or a number with a unit: of the same name. */
static uint32_t set_of(struct dcm_builder *b, uint32_t i)
{
	struct dcm_label l = { .name = builder__string(b, STR("bytes")), .unit = DCM_NONE };

	if (i == 0)
		return 0;
	if (i == 1)
		l.str = builder__string(b, STR("16"));
	else {
		l.num = 16;
		l.unit = builder__string(b, STR("bytes"));
	}
	return builder__label_set(b, &l, 1);
}

/* A scrape: the cells in a random order; what is 0 is left out, as programs do. */
static struct dcm_batch *scrape(const struct program *p, struct random *r, int64_t gauge)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	const char *const names[] = { "alloc_objects", "inuse_space", "alloc_space" };
	struct dcm_type types[3] = { 0 };
	struct dcm_profile head = { .series = builder__series(b, NULL, 0), .time_ns = 1, .duration_ns = 0 };
	struct dcm_batch *batch = NULL;
	uint32_t order[N_CELLS];

	for (uint32_t t = 0; t < 3; t++)
		types[t] = (struct dcm_type){ .name = builder__string(b, STR("memory")),
					      .sample_type = builder__string(b, str__of(names[t])),
					      .temporality = t == 1 ? DCM_GAUGE : DCM_CUMULATIVE };
	builder__profile(b, &head, types, 3);
	for (uint32_t i = 0; i < N_CELLS; i++) {
		uint32_t k = (uint32_t)random__below(r, i + 1);

		order[i] = order[k];
		order[k] = i;
	}
	for (uint32_t i = 0; i < N_CELLS; i++) {
		const int64_t *c = p->counted[order[i]];
		int64_t values[3] = { c[0], gauge, c[1] };

		if (c[0] || c[1])
			builder__row(b, stack_of(b, order[i] / N_SETS),
				     set_of(b, order[i] % N_SETS), values);
	}
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	return batch;
}

static uint32_t cell_of(const struct dcm_batch *b, uint64_t row)
{
	const struct dcm_location *l =
		&b->locations[b->stack_locations[b->stacks[b->row_stacks[row]].off]];
	struct dcm_str name = b->strings[b->functions[b->lines[l->line_off].function].name];
	struct dcm_span set = b->label_sets[b->row_labels[row]];
	uint32_t kind = set.n == 0 ? 0 : b->labels[set.off].unit == DCM_NONE ? 1 : 2;

	return (uint32_t)strtoul(name.p + 1, NULL, 10) * N_SETS + kind;
}

static void grow(struct program *p, struct random *r)
{
	for (uint32_t i = 0; i < N_CELLS; i++)
		if (random__below(r, 3) == 0) {
			p->counted[i][0] += (int64_t)random__below(r, 4);
			p->counted[i][1] += (int64_t)random__below(r, 1000);
		}
}

/* Most have less than before then; at least one has, or this is no new program. */
static bool begin_anew(struct program *p, struct random *r)
{
	struct program before = *p;

	memset(p, 0, sizeof(*p));
	grow(p, r);
	for (uint32_t i = 0; i < N_CELLS; i++)
		if (p->counted[i][0] < before.counted[i][0] || p->counted[i][1] < before.counted[i][1])
			return true;
	return false;
}

/* A scrape that goes on its way at once. */
static int apply(struct delta *d, const struct dcm_batch *b, int64_t *values, bool *ret_first,
		 bool *ret_reset)
{
	const struct delta_scrape scrape = { .batch = b,
					     .columns = 1u << 0 | 1u << 2,
					     .steady = 1u << 0 | 1u << 2 };
	struct delta next = { 0 };
	int r = delta__apply(d, &scrape, values, &next, ret_first, ret_reset);

	if (r == 0)
		delta__replace(d, &next);
	return r;
}

static void check_scrape(struct delta *d, const struct program *now, const struct program *before,
			 bool is_first, bool is_reset, struct random *r)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = scrape(now, r, 77);
	int64_t *values = malloc((size_t)b->n_values * sizeof(*values) + 1);
	bool first, reset;

	memcpy(values, b->values, (size_t)b->n_values * sizeof(*values));
	assert_int_equal(apply(d, b, values, &first, &reset), 0);
	assert_int_equal(first, is_first);
	assert_int_equal(reset, is_reset);
	for (uint64_t row = 0; row < b->n_rows; row++) {
		uint32_t cell = cell_of(b, row);

		assert_int_equal(values[3 * row + 1], 77);
		for (unsigned k = 0; k < 2; k++) {
			int64_t old = is_first || is_reset ? 0 : before->counted[cell][k];

			assert_int_equal(values[3 * row + 2 * k],
					 is_first ? 0 : now->counted[cell][k] - old);
		}
	}
	free(values);
}

static void is_what_was_added(void **state)
{
	struct random r = { .state = 11 };
	unsigned n_resets = 0;

	(void)state;
	for (unsigned life = 0; life < 50; life++) {
		struct program now = { 0 }, before;
		struct delta d = { 0 };
		bool first = true;

		grow(&now, &r);
		before = now;
		for (unsigned turn = 0; turn < 12; turn++) {
			bool reset = !first && random__below(&r, 5) == 0 && begin_anew(&now, &r);

			check_scrape(&d, &now, &before, first, reset, &r);
			n_resets += reset;
			first = false;
			before = now;
			grow(&now, &r);
		}
		assert_true(delta__bytes(&d) < 64 * (N_CELLS + 16));
		delta__fini(&d);
	}
	assert_true(n_resets > 50);
}

/* A stack that has gone counted for something: that is less than before. */
static void what_has_gone_is_a_new_program(void **state)
{
	struct random r = { .state = 3 };
	struct program before = { .counted = { { 5, 50 }, { 6, 60 } } },
		       now = { .counted = { { 9, 90 } } };
	struct delta d = { 0 };

	(void)state;
	check_scrape(&d, &before, &before, true, false, &r);
	check_scrape(&d, &now, &before, false, true, &r);
	delta__fini(&d);
}

/* What did not get on its way is told by the next scrape. */
static void what_was_not_replaced_is_told_again(void **state)
{
	struct random r = { .state = 9 };
	struct program first = { .counted = { { 1, 10 } } }, second = { .counted = { { 3, 30 } } },
		       third = { .counted = { { 4, 40 } } };
	CLEANUP(batch__unrefp) struct dcm_batch *b = scrape(&second, &r, 0);
	struct delta d = { 0 }, lost = { 0 };
	int64_t values[3] = { 3, 0, 30 };
	const struct delta_scrape scrape = { .batch = b, .columns = 5, .steady = 5 };
	bool is_first, is_reset;

	(void)state;
	check_scrape(&d, &first, &first, true, false, &r);
	assert_int_equal(delta__apply(&d, &scrape, values, &lost, &is_first, &is_reset), 0);
	assert_int_equal(values[0], 2);
	delta__fini(&lost);
	check_scrape(&d, &third, &first, false, false, &r);
	delta__fini(&d);
}

/* Values at the ends of 64 bits are held there. */
static void extremes_are_held(void **state)
{
	struct random r = { .state = 4 };
	struct program low = { .counted = { { INT64_MIN, 1 } } },
		       high = { .counted = { { INT64_MAX, 1 } } };
	CLEANUP(batch__unrefp) struct dcm_batch *b = scrape(&high, &r, 0);
	CLEANUP(batch__unrefp) struct dcm_batch *a = scrape(&low, &r, 0);
	int64_t values[3] = { INT64_MIN, 0, 1 };
	struct delta d = { 0 };
	bool first, reset;

	(void)state;
	assert_int_equal(apply(&d, a, values, &first, &reset), 0);
	values[0] = INT64_MAX;
	values[2] = 1;
	assert_int_equal(apply(&d, b, values, &first, &reset), 0);
	assert_false(reset);
	assert_int_equal(values[0], INT64_MAX);
	delta__fini(&d);
}

/* Without memory a scrape is as if it had not come: the next one has all of it. */
static void failing_memory_is_survived(void **state)
{
	struct random r = { .state = 5 };
	struct program first = { .counted = { { 1, 10 } } }, second = { .counted = { { 3, 30 } } };
	CLEANUP(batch__unrefp) struct dcm_batch *a = scrape(&first, &r, 0);
	CLEANUP(batch__unrefp) struct dcm_batch *b = scrape(&second, &r, 0);

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct delta d = { 0 };
		bool is_first, is_reset;
		int64_t values[3] = { 1, 0, 10 }, more[3] = { 3, 0, 30 };
		int e;

		failmalloc__disarm();
		assert_int_equal(apply(&d, a, values, &is_first, &is_reset), 0);
		failmalloc__arm(i);
		e = apply(&d, b, more, &is_first, &is_reset);
		failmalloc__disarm();
		if (e < 0) {
			assert_int_equal(e, -ENOMEM);
			assert_int_equal(more[0], 3);
			assert_int_equal(apply(&d, b, more, &is_first, &is_reset), 0);
		}
		assert_int_equal(more[0], 2);
		assert_int_equal(more[2], 20);
		delta__fini(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_what_was_added),
		cmocka_unit_test(what_has_gone_is_a_new_program),
		cmocka_unit_test(what_was_not_replaced_is_told_again),
		cmocka_unit_test(extremes_are_held),
		cmocka_unit_test(failing_memory_is_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
