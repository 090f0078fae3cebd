/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/budget.c - how often to sample so that sampling stays within its budgets
 */
#include "plugins/input/ebpf/budget.h"

static void begin_span(struct budget *b, const struct budget_reading *now)
{
	b->since_ns = now->now_ns;
	b->cpu_ns_then = now->cpu_ns;
}

/* Which budget the span exceeded. */
static enum budget_reason exceeded(const struct budget *b, const struct budget_reading *now)
{
	if (now->percent && b->share > now->percent / 100.0)
		return BUDGET_CPU;
	if (now->memory_max && now->memory_bytes > now->memory_max)
		return BUDGET_MEMORY;
	return BUDGET_NONE;
}

/* Twice as many samples would have kept to both. */
static bool has_room(const struct budget *b, const struct budget_reading *now)
{
	return (!now->percent || 2 * b->share < 0.8 * (now->percent / 100.0)) &&
	       (!now->memory_max || now->memory_bytes < now->memory_max / 10 * 9);
}

/* At the end of a span: what the spans so far ask for. */
static enum budget_change judge(struct budget *b, const struct budget_reading *now)
{
	enum budget_reason over = exceeded(b, now);

	b->n_over = over ? b->n_over + 1 : 0;
	b->n_under = has_room(b, now) ? b->n_under + 1 : 0;
	if (b->n_over >= BUDGET_SPANS_OVER && b->halvings < BUDGET_HALVINGS_MAX) {
		b->halvings++;
		b->reason = over;
	} else if (b->n_under >= BUDGET_SPANS_UNDER && b->halvings > 0) {
		b->halvings--;
	} else {
		return over == BUDGET_MEMORY && b->n_over == 1 ? BUDGET_TRIM : BUDGET_KEEP;
	}
	b->n_over = b->n_under = 0;
	return BUDGET_CHANGE;
}

enum budget_change budget__step(struct budget *b, const struct budget_reading *now)
{
	int64_t span_ns = now->now_ns - b->since_ns;

	if ((now->percent == 0 && now->memory_max == 0) || now->n_cpus == 0) {
		bool was_reduced = b->halvings > 0;

		*b = (struct budget){ 0 };
		return was_reduced ? BUDGET_CHANGE : BUDGET_KEEP;
	}
	if (b->since_ns == 0) {
		begin_span(b, now);
		return BUDGET_KEEP;
	}
	if (span_ns < BUDGET_SPAN_S * INT64_C(1000000000))
		return BUDGET_KEEP;
	b->share = (double)(now->cpu_ns - b->cpu_ns_then) / ((double)span_ns * now->n_cpus);
	begin_span(b, now);
	return judge(b, now);
}
