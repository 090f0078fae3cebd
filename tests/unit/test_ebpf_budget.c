/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_budget.c - over the budget it samples less, and comes back when there is
 * room
 */
#include "plugins/input/ebpf/budget.h"
#include "tests/unit/unit.h"

#define SECOND INT64_C(1000000000)

/* A host of 4 CPUs on which sampling at full frequency takes so much of it. */
struct host {
	struct budget budget;
	int64_t now_ns;
	uint64_t cpu_ns;
	uint32_t percent;
	uint64_t memory_bytes, memory_max;
	unsigned n_trims;
};

/* Lets time pass; returns how often the frequency changed. */
static unsigned pass(struct host *h, unsigned seconds, double share)
{
	unsigned changes = 0;

	for (unsigned i = 0; i < seconds; i++) {
		h->now_ns += SECOND;
		h->cpu_ns += (uint64_t)(share * 4e9 / (double)(1u << h->budget.halvings));
		const struct budget_reading reading = {
			.now_ns = h->now_ns,
			.cpu_ns = h->cpu_ns,
			.n_cpus = 4,
			.percent = h->percent,
			.memory_bytes = h->memory_bytes,
			.memory_max = h->memory_max,
		};
		enum budget_change change = budget__step(&h->budget, &reading);

		changes += change == BUDGET_CHANGE;
		h->n_trims += change == BUDGET_TRIM;
	}
	return changes;
}

static void test_within(void **state)
{
	struct host h = { .now_ns = SECOND, .percent = 2 };

	(void)state;
	assert_int_equal(pass(&h, 600, 0.019), 0);
	assert_int_equal(h.budget.halvings, 0);
	assert_in_range((int)(h.budget.share * 10000), 189, 191);
}

static void test_over(void **state)
{
	struct host h = { .now_ns = SECOND, .percent = 2 };

	(void)state;
	/* Not at once: the first span only begins, and three must be over. */
	assert_int_equal(pass(&h, 1 + 3 * BUDGET_SPAN_S - 1, 0.05), 0);
	assert_int_equal(pass(&h, 1, 0.05), 1);
	assert_int_equal(h.budget.halvings, 1);
	assert_int_equal(h.budget.reason, BUDGET_CPU);
	/* A quarter of 5 % is within 2 %, and there it stays: half would not be. */
	assert_int_equal(pass(&h, 600, 0.05), 1);
	assert_int_equal(h.budget.halvings, 2);
	/* There is room again. */
	assert_int_equal(pass(&h, 600, 0.01), 2);
	assert_int_equal(h.budget.halvings, 0);
}

static void test_a_burst_is_none(void **state)
{
	struct host h = { .now_ns = SECOND, .percent = 2 };

	(void)state;
	for (int i = 0; i < 20; i++) {
		/* It touches two spans at most. */
		assert_int_equal(pass(&h, BUDGET_SPAN_S, 0.2), 0);
		assert_int_equal(pass(&h, 2 * BUDGET_SPAN_S, 0.001), 0);
	}
}

static void test_has_a_floor(void **state)
{
	struct host h = { .now_ns = SECOND, .percent = 1 };

	(void)state;
	assert_int_equal(pass(&h, 6000, 100), BUDGET_HALVINGS_MAX);
	assert_int_equal(h.budget.halvings, BUDGET_HALVINGS_MAX);
	/* Without a budget at once as configured. */
	h.percent = 0;
	assert_int_equal(pass(&h, 1, 100), 1);
	assert_int_equal(h.budget.halvings, 0);
	assert_int_equal(pass(&h, 600, 100), 0);
}

/* First what is free goes back, then the frequency goes down, and it comes back with the room. */
static void test_memory(void **state)
{
	struct host h = { .now_ns = SECOND, .memory_bytes = 101, .memory_max = 100 };

	(void)state;
	assert_int_equal(pass(&h, 1 + BUDGET_SPAN_S, 0.5), 0);
	assert_int_equal(h.n_trims, 1);
	assert_int_equal(pass(&h, 2 * BUDGET_SPAN_S, 0.5), 1);
	assert_int_equal(h.n_trims, 1);
	assert_int_equal(h.budget.halvings, 1);
	assert_int_equal(h.budget.reason, BUDGET_MEMORY);
	/* Neither over nor with room: as it is. */
	h.memory_bytes = 95;
	assert_int_equal(pass(&h, 600, 0.5), 0);
	assert_int_equal(h.budget.halvings, 1);
	h.memory_bytes = 89;
	assert_int_equal(pass(&h, BUDGET_SPANS_UNDER * BUDGET_SPAN_S, 0.5), 1);
	assert_int_equal(h.budget.halvings, 0);
	/* What trimming gives back is enough. */
	h.memory_bytes = 101;
	assert_int_equal(pass(&h, BUDGET_SPAN_S, 0.5), 0);
	assert_int_equal(h.n_trims, 2);
	h.memory_bytes = 50;
	assert_int_equal(pass(&h, 600, 0.5), 0);
	assert_int_equal(h.n_trims, 2);
}

/* Room in one budget is none while the other has none. */
static void test_both(void **state)
{
	struct host h = { .now_ns = SECOND, .percent = 2, .memory_bytes = 200, .memory_max = 100 };

	(void)state;
	assert_int_equal(pass(&h, 1 + 3 * BUDGET_SPAN_S, 0.001), 1);
	assert_int_equal(h.budget.reason, BUDGET_MEMORY);
	h.memory_bytes = 10;
	/* Half of 3 % is within the budget, all of it would not be. */
	assert_int_equal(pass(&h, 600, 0.03), 0);
	assert_int_equal(h.budget.halvings, 1);
	assert_int_equal(pass(&h, 600, 0.01), 1);
	/* The CPU's is gone: the memory's alone counts, and at last none. */
	h.percent = 0;
	assert_int_equal(pass(&h, 600, 3), 0);
	h.memory_bytes = 200;
	assert_int_equal(pass(&h, 6000, 3), BUDGET_HALVINGS_MAX);
	h.memory_max = 0;
	assert_int_equal(pass(&h, 1, 3), 1);
	assert_int_equal(h.budget.halvings, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within),		cmocka_unit_test(test_over),
		cmocka_unit_test(test_a_burst_is_none), cmocka_unit_test(test_has_a_floor),
		cmocka_unit_test(test_memory),		cmocka_unit_test(test_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
