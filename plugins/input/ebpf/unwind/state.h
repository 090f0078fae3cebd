/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/state.h - what CFI says at one address, and the rule that says the same
 */
#ifndef DECIMA_EBPF_UNWIND_STATE_H
#define DECIMA_EBPF_UNWIND_STATE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/unwind.h"

/* How a register's value in the caller is found. */
enum state_how {
	STATE_UNSET, /* nothing was said: as the processor's ABI has it */
	STATE_SAME,
	STATE_UNDEFINED,
	STATE_SAVED,	  /* at frame address + off */
	STATE_VALUE,	  /* is frame address + off */
	STATE_REGISTER,	  /* in register `off` */
	STATE_EXPRESSION, /* at what an expression yields */
	STATE_VALUE_EXPRESSION,
};

struct state_register {
	enum state_how how;
	uint32_t n_expression;
	int64_t off;
	const uint8_t *expression; /* [n_expression], in the section */
};

enum { STATE_NO_REGISTER = UINT16_MAX };

struct state {
	/*
	 * The frame address: STATE_UNSET, STATE_EXPRESSION, or STATE_REGISTER: cfa_reg + cfa_off.
	 */
	struct state_register cfa;
	uint64_t cfa_reg;
	int64_t cfa_off; /* outlives an expression */
	struct state_register fp, ra, rbx;
};

/* A processor, as far as rules go. */
struct state_arch {
	uint16_t fp, sp, ra; /* registers; ra: the usual column of return addresses */
	uint16_t rbx;	     /* x86's, where rules are to say where it is; or STATE_NO_REGISTER */
	uint16_t n_regs;     /* that a rule may name */
	bool has_link;	     /* `ra` is a real register, which holds it in leaf functions */
};

/* The arch of EM_X86_64 or EM_AARCH64; with_rbx: x86's rules say where rbx is. */
const struct state_arch *state__arch(uint16_t machine, bool with_rbx);

/*
 * The rule, and in *ret_gap what it leaves out (UNWIND_GAP_N: nothing). is_signal: the CIE marks
 * signal frames.
 */
struct unwind_rule state__rule(const struct state_arch *arch, const struct state *s, bool is_signal,
			       enum unwind_gap *ret_gap);

#endif
