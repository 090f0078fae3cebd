/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/budget.h - how often to sample so that sampling stays within its share of the host
 *
 * Readings come once a second. When the share of the host's CPU time that sampling takes is above
 * its budget for three spans of BUDGET_SPAN_S seconds, or the process's memory above its own, the
 * frequency is halved; when twice the share, and the memory, would have stayed below four fifths of
 * their budgets for six spans, it is doubled again. The gap between the two keeps it from swinging.
 * Pure arithmetic, one thread.
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
	/* What one sample takes in the kernel, where it is not measured: 45 frames by tables. */
	BUDGET_SAMPLE_NS = 15000,
};

struct budget {
	uint32_t halvings; /* the frequency is the configured one / 2^halvings */
	uint32_t n_over, n_under;
	int64_t since_ns; /* of the span; 0: none has begun */
	uint64_t cpu_ns_then;
	double share;	  /* of the host, 1.0 is all of it: in the last whole span */
	bool memory_over; /* it was the memory, or that too, in the last whole span */
};

struct budget_reading {
	int64_t now_ns;	 /* mono */
	uint64_t cpu_ns; /* that sampling has taken so far */
	uint32_t n_cpus;
	uint32_t percent;			    /* of the host, the budget; 0: none */
	uint64_t memory_bytes, memory_budget_bytes; /* of the process; a budget of 0: none */
};

/* True when the frequency is to change. */
bool budget__step(struct budget *b, const struct budget_reading *now);

#endif
