/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/rules.h - a dictionary of distinct rules
 *
 * Rule to index by open addressing over the rule's eight bytes as a number (a linear search made a
 * prototype 2.6 times slower). Index 0 is the rule of zeroes. The last index is kept for a file
 * that has more rules than fit: everything further becomes UNWIND_CFA_UNSUPPORTED,
 * UNWIND_GAP_RULES.
 */
#ifndef DECIMA_EBPF_UNWIND_RULES_H
#define DECIMA_EBPF_UNWIND_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/types.h>

#include "bpf/unwind.h"

enum { RULES_MAX = 65535, RULES_NONE = 0 };

struct rules {
	struct unwind_rule *v; /* [n] */
	uint16_t *slots;       /* [n_slots], a power of two: index + 1, or 0 */
	uint32_t n, cap, n_slots;
	uint32_t overflow; /* rules that did not fit */
};

int rules__init(struct rules *r); /* 0 or -ENOMEM */
void rules__fini(struct rules *r);

/* The rule's index, or -ENOMEM. */
int rules__index(struct rules *r, struct unwind_rule rule);

#endif
