/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/x86.h - instructions of x86-64: how long they are, where they lead, and the stack pointer
 *
 * Source: Intel SDM volume 2, chapter 2 and appendix A.
 */
#ifndef DECIMA_EBPF_UNWIND_X86_H
#define DECIMA_EBPF_UNWIND_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_map { X86_ONE_BYTE = 0, X86_0F = 1, X86_0F38 = 2, X86_0F3A = 3 };

struct x86_insn {
	uint8_t length; /* bytes */
	uint8_t map;	/* enum x86_map; above: others of EVEX */
	uint8_t op;
	uint8_t rex;   /* of a REX prefix, or 0 */
	uint8_t modrm; /* or 0 */
	bool is_vex;   /* VEX or EVEX: of vectors, or of general registers by BMI */
	int32_t rel;   /* of jumps and calls that have one: to behind the instruction + rel */
};

/* The instruction at p, of at most n bytes. False: it is none, or longer. */
bool x86__decode(const uint8_t *p, size_t n, struct x86_insn *ret);

/* Does it change the stack pointer, and not only between its beginning and its end, as calls do? */
bool x86__moves_sp(const struct x86_insn *i);
bool x86__is_call(const struct x86_insn *i);
/* jmp or jcc with `rel`. */
bool x86__is_jump(const struct x86_insn *i);
/* Does nothing run after it but what is jumped to? ret, jmp, hlt, ud2, int3. */
bool x86__is_end(const struct x86_insn *i);
/* jmp *: to what is in memory or in a register. */
bool x86__is_indirect(const struct x86_insn *i);
/* nop of any length, or int3: what code is filled up with. */
bool x86__is_filling(const struct x86_insn *i);

#endif
