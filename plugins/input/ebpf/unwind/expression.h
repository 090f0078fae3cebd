/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/expression.h - the few DWARF expressions that compilers write into CFI
 *
 * Evaluated over symbols instead of numbers: the result is `base + low`, or `*(base + low) + high`
 * with one load, where the base is a register or the frame address. Anything else has no rule.
 * Source: DWARF 5, 2.5 and 6.4.2.
 */
#ifndef DECIMA_EBPF_UNWIND_EXPRESSION_H
#define DECIMA_EBPF_UNWIND_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum expression_base { EXPRESSION_NUMBER, EXPRESSION_REGISTER, EXPRESSION_CFA };

struct expression_value {
	enum expression_base base;
	bool deref;
	uint32_t reg;
	int64_t low, high; /* high: after the load, when deref */
};

/*
 * False when the expression does more than that. The stack begins with the frame address where
 * with_cfa (the registers' rules), else empty (the frame address's own).
 */
bool expression__evaluate(const uint8_t *p, size_t n, bool with_cfa, struct expression_value *ret);

/*
 * The linker's rule for a procedure linkage table: sp + 8 + ((pc & 15) >= *ret_literal) * 8, on
 * x86-64.
 */
bool expression__is_plt(const uint8_t *p, size_t n, uint8_t *ret_literal);

#endif
