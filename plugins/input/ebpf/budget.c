/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/budget.c - how often to sample so that sampling stays within its share of the host
 */
#include "plugins/input/ebpf/budget.h"

static void begin_span(struct budget *b, const struct budget_reading *now)
{
	b->since_ns = now->now_ns;
	b->cpu_ns_then = now->cpu_ns;
}

/* In this span, of either kind: above what it may be, and with room for twice the samples. */
static bool is_over(struct budget *b, const struct budget_reading *now)
{
	b->memory_over = now->memory_budget_bytes && now->memory_bytes > now->memory_budget_bytes;
	return b->memory_over || (now->percent && b->share > now->percent / 100.0);
}

static bool has_room(const struct budget *b, const struct budget_reading *now)
{
	if (now->memory_budget_bytes && now->memory_bytes > now->memory_budget_bytes / 5 * 4)
		return false;
	return !now->percent || 2 * b->share < 0.8 * now->percent / 100.0;
}

bool budget__step(struct budget *b, const struct budget_reading *now)
{
	int64_t span_ns = now->now_ns - b->since_ns;

	if ((now->percent == 0 && now->memory_budget_bytes == 0) || now->n_cpus == 0) {
		bool was_reduced = b->halvings > 0;

		*b = (struct budget){ 0 };
		return was_reduced;
	}
	if (b->since_ns == 0) {
		begin_span(b, now);
		return false;
	}
	if (span_ns < BUDGET_SPAN_S * INT64_C(1000000000))
		return false;
	b->share = (double)(now->cpu_ns - b->cpu_ns_then) / ((double)span_ns * now->n_cpus);
	begin_span(b, now);
	b->n_over = is_over(b, now) ? b->n_over + 1 : 0;
	b->n_under = has_room(b, now) ? b->n_under + 1 : 0;
	if (b->n_over >= BUDGET_SPANS_OVER && b->halvings < BUDGET_HALVINGS_MAX) {
		b->halvings++;
	} else if (b->n_under >= BUDGET_SPANS_UNDER && b->halvings > 0) {
		b->halvings--;
	} else {
		return false;
	}
	b->n_over = b->n_under = 0;
	return true;
}
