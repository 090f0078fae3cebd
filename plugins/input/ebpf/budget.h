/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/budget.h - how often to sample so that sampling stays within its budgets
 *
 * Two of them: a share of the host's CPU time, and this process's own memory. Readings come once a
 * span, or more often. When one budget is exceeded for three spans of BUDGET_SPAN_S seconds, the
 * frequency is halved; when twice the share would have stayed below four fifths of its budget, and
 * memory stayed below nine tenths of its own, for six spans, it is doubled again. The gap between
 * the two keeps it from swinging. Pure arithmetic, one thread.
 */
#ifndef DECIMA_EBPF_BUDGET_H
#define DECIMA_EBPF_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum {
	BUDGET_SPAN_S = 5,
	BUDGET_SPANS_OVER = 3,
	BUDGET_SPANS_UNDER = 6,
	BUDGET_HALVINGS_MAX = 6,
	/*
	 * What one sample takes in the kernel outside of our program, which measures itself: the
	 * interrupt.
	 */
	BUDGET_INTERRUPT_NS = 2000,
};

/* Which one the frequency was last halved for. */
enum budget_reason { BUDGET_NONE, BUDGET_CPU, BUDGET_MEMORY };

struct budget {
	uint32_t halvings; /* the frequency is the configured one / 2^halvings */
	enum budget_reason reason;
	uint32_t n_over, n_under;
	int64_t since_ns; /* of the span; 0: none has begun */
	uint64_t cpu_ns_then;
	double share; /* of the host, 1.0 is all of it: in the last whole span */
};

struct budget_reading {
	int64_t now_ns;	 /* mono */
	uint64_t cpu_ns; /* that sampling has taken so far */
	uint32_t n_cpus;
	uint32_t percent;      /* of the host, the budget; 0: none */
	uint64_t memory_bytes; /* at this moment */
	uint64_t memory_max;   /* the budget; 0: none */
};

/* What a step decided. */
enum budget_change {
	BUDGET_KEEP,
	BUDGET_TRIM,   /* memory is over its budget for the first span: give back what is free */
	BUDGET_CHANGE, /* another frequency */
};
enum budget_change budget__step(struct budget *b, const struct budget_reading *now);

#endif
