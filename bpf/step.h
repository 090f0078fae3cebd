/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bpf/step.h - from a frame to its caller by unwind tables: the same code in the kernel and outside
 *
 * sampler.bpf.c walks live stacks with it, plugins/input/ebpf/tables/native.c walks copies of
 * stacks whose tables came later. Whoever includes it brings four functions:
 *
 *	void *step_chunk(struct step *s, __u32 address)        the chunk of the heap that holds it, or NULL
 *	const struct unwind_rule *step_rule(struct step *s, __u32 number)   or NULL
 *	int step_word(struct step *s, __u64 addr, __u64 *ret)  a word of the stack: 0 or not
 *	int step_code(struct step *s, __u64 addr, __u8 *ret)   ARCH_CODE_BYTES of code: 0 or not
 *
 * A frame is one that step_here() found in a mapping; what step_to_caller() leaves in the state is
 * only a claim until then. Searches are without branches that the data decides: the verifier
 * follows each such branch, and a search in a loop would multiply them. A mask behind `asm
 * volatile` stays a mask; without it clang turns some of them back into branches.
 *
 * Tables: bpf/tables.h; rules: bpf/unwind.h.
 */
#ifndef DECIMA_BPF_STEP_H
#define DECIMA_BPF_STEP_H

#include "bpf/arch.bpf.h"
#include "bpf/sampler.h"
#include "bpf/tables.h"
#include "bpf/unwind.h"
#include "bpf/unwind_arch.h"

enum {
	STEP_REGS = 16,
	STEP_LOWEST_CODE = 4096, /* nothing is mapped below (vm.mmap_min_addr) */
	STEP_BARE = 8, /* frames in a row by frame pointer in a file whose code has rules otherwise */
	STEP_CHUNK_MASK = TABLES_CHUNK_BYTES - 1,
	STEP_LOST = 0, /* in place of the address where a register is: nobody knows */
	STEP_LIVE = 1, /* it is in `regs` */
};
#ifdef __clang__
#define STEP_UNROLL _Pragma("unroll")
#else
#define STEP_UNROLL
#endif
#define STEP_MAX_JUMP_BYTES                                                                        \
	(1024 * 1024) /* a frame that large is taken for a wrong frame pointer */

/* The frame that was recorded last. */
struct step {
	__u64 pc, sp, fp;
	__u64 regs[STEP_REGS]; /* of the innermost frame, by DWARF number */
	__u64 signal_sp;       /* where the signal frame lies that has the registers; 0: none has */
	__u64 rbx_at;	       /* where the frame's rbx is saved, or STEP_LIVE or STEP_LOST */
	__u64 start, bytes, bias; /* the mapping of pc; 0 bytes: not looked up */
	__u32 table;		  /* its table, or enum tables_without */
	__u32 first_page, n_pages, page_list, head_flags; /* of the table */
	__u32 mappings, n_mappings;			  /* of the process image */
	__u32 epoch;
	__u32 interrupted; /* 1: pc is exact and registers are known; 0: pc is a return address */
	__u32 fp_lost;
	__u32 n_bare;  /* frames in a row by frame pointer without a rule */
	__u32 fp_ends; /* fp is 0, and comes from the frame record of the frame before */
	__u32 trampoline; /* the frame before the last step is one that nothing called: its pc is exact */
	__u32 outcome;
};

static __always_inline int step_end(struct step *s, __u32 outcome)
{
	s->outcome = outcome;
	return 1;
}

static __always_inline int step_is_code(__u64 addr)
{
	return addr >= STEP_LOWEST_CODE && addr <= ARCH_ADDRESS_MAX;
}

/* What is at a multiple of 4 in a chunk. */
static __always_inline __u32 step_u32(const char *chunk, __u64 at)
{
	return *(const volatile __u32 *)(chunk + (at & STEP_CHUNK_MASK & ~3ull));
}

static __always_inline __u32 step_u16(const char *chunk, __u64 at)
{
	return *(const volatile __u16 *)(chunk + (at & STEP_CHUNK_MASK & ~1ull));
}

/* All ones when a < b, both below 2^63; otherwise 0. */
static __always_inline __u64 step_less(__u64 a, __u64 b)
{
	__u64 mask = (__u64)((__s64)(a - b) >> 63);

	asm volatile("" : "+r"(mask));
	return mask;
}

/* ------------------------------------------------------------------------------------------------
 * Where the pc is
 */

/* The table of the mapping that was just found. */
static __always_inline int step_open_table(struct step *s)
{
	struct tables_head *head;
	char *chunk;

	s->n_pages = s->head_flags = 0;
	if (s->table < TABLES_IS_ADDRESS)
		return 0;
	chunk = step_chunk(s, s->table);
	if (!chunk)
		return -1;
	head = (void *)(chunk + (s->table & STEP_CHUNK_MASK & ~63u));
	s->first_page = head->first_page;
	s->n_pages = head->n_pages;
	s->head_flags = head->flags;
	s->page_list = s->table + sizeof(*head);
	if (head->used != s->epoch)
		head->used = s->epoch;
	return 0;
}

/* Finds the mapping of an address: 0 or -1. */
static __always_inline int step_locate(struct step *s, __u64 pc)
{
	__u64 n = s->n_mappings, lo = 0;
	const struct tables_mapping *m;
	const char *chunk;

	if (pc - s->start < s->bytes)
		return 0;
	chunk = step_chunk(s, s->mappings);
	if (!chunk || n == 0 || n > TABLES_MAPPINGS)
		return -1;
	STEP_UNROLL
	for (__u64 h = TABLES_MAPPINGS / 2; h; h >>= 1) {
		__u64 at = lo + h;
		__u64 ok;

		if (h >= n)
			continue;
		m = (const void *)(chunk + ((s->mappings + at * sizeof(*m)) & STEP_CHUNK_MASK &
					    ~(sizeof(*m) - 1)));
		ok = step_less(at, n) & ~step_less(pc, m->start);
		asm volatile("" : "+r"(ok));
		lo += h & ok;
	}
	m = (const void *)(chunk +
			   ((s->mappings + lo * sizeof(*m)) & STEP_CHUNK_MASK & ~(sizeof(*m) - 1)));
	if (pc < m->start || pc >= m->end)
		return -1;
	s->start = m->start;
	s->bytes = m->end - m->start;
	s->bias = m->bias;
	s->table = *(const volatile __u32 *)&m->table;
	return step_open_table(s);
}

/* The number of the rule for an address in the current mapping, which has a table. */
static __always_inline __u32 step_find_rule(struct step *s, __u64 pc)
{
	__u64 offset = pc - s->bias, index = (offset >> 16) - s->first_page, lo, hi,
	      key = offset & 0xffff;
	__u64 block = key >> 8, rows;
	__u32 page;
	const char *chunk;

	if (index >= s->n_pages)
		return 0;
	chunk = step_chunk(s, s->page_list + index * 4);
	if (!chunk)
		return 0;
	page = step_u32(chunk, s->page_list + index * 4);
	chunk = page ? step_chunk(s, page) : 0;
	if (!chunk)
		return 0;
	lo = step_u16(chunk, page + block * 2);
	hi = step_u16(chunk, page + block * 2 + 2) + 1;
	rows = page + sizeof(struct tables_page);
	STEP_UNROLL
	for (__u64 h = 256; h; h >>= 1) {
		__u64 at = lo + h;
		__u64 ok = step_less(at, hi) & ~step_less(key, step_u32(chunk, rows + at * 4) >> 16);

		asm volatile("" : "+r"(ok));
		lo += h & ok;
	}
	return step_u32(chunk, rows + lo * 4) & 0xffff;
}

/* ------------------------------------------------------------------------------------------------
 * What a rule says
 */

/* A register of an interrupted frame, or rbx as far as it could be followed: 0 or -1. */
static __always_inline int step_register(struct step *s, __u32 n, __u64 *ret)
{
	/*
	 * volatile keeps it out of a section of constants, which older kernels' BTF does not know.
	 */
	static const volatile __u8 offsets[STEP_REGS] = UNWIND_X86_SIGNAL_REGS;

	__u64 at = s->interrupted ? STEP_LIVE : STEP_LOST;

	if (n == UNWIND_X86_RBX)
		at = s->rbx_at;
	else if (s->interrupted && s->signal_sp)
		at = s->signal_sp + offsets[n & (STEP_REGS - 1)];
	if (n >= STEP_REGS || at == STEP_LOST)
		return -1;
	if (at != STEP_LIVE)
		return step_word(s, at, ret);
	*ret = s->regs[n & (STEP_REGS - 1)];
	return 0;
}

static __always_inline int step_uses_fp(__u32 cfa)
{
	return cfa == UNWIND_CFA_FP || cfa == UNWIND_CFA_FP_SWITCH || cfa == UNWIND_CFA_FP_DEREF;
}

/* The canonical frame address; 0, or an outcome. */
static __always_inline __u32 step_cfa(struct step *s, const struct unwind_rule *rule, __u64 *ret)
{
	__u32 cfa = rule->cfa;
	__u64 base = step_uses_fp(cfa) ? s->fp : s->sp;
	int deref = cfa == UNWIND_CFA_SP_DEREF || cfa == UNWIND_CFA_FP_DEREF;

	if (step_uses_fp(cfa) && s->fp_lost)
		return SAMPLER_OUTCOME_FP_LOST;
	if (cfa >= UNWIND_CFA_REG) {
		deref = cfa >= UNWIND_CFA_REG_DEREF;
		if (step_register(s, cfa & 0x3f, &base))
			return SAMPLER_OUTCOME_REGISTER;
	} else if (cfa == UNWIND_CFA_PLT) {
		*ret = base + 8 + ((s->pc & 15) >= (__u64)rule->cfa_off ? 8 : 0);
		return 0;
	} else if (cfa < UNWIND_CFA_SP || cfa > UNWIND_CFA_FP_DEREF) {
		return SAMPLER_OUTCOME_UNSUPPORTED;
	}
	if (!deref) {
		*ret = base + (__s64)rule->cfa_off;
		return 0;
	}
	if (step_word(s, base + (__s64)unwind_deref_low(rule->cfa_off), &base))
		return SAMPLER_OUTCOME_READ_FAULT;
	*ret = base + (__s64)unwind_deref_high(rule->cfa_off);
	return 0;
}

/* Where the caller's frame pointer is saved, by the kinds that have it in memory. */
static __always_inline __u64 step_slot(const struct step *s, const struct unwind_rule *rule, __u64 cfa)
{
	__u32 kind = unwind_saved_fp(rule->saved);

	return (kind == UNWIND_FP_FP   ? s->fp
		: kind == UNWIND_FP_SP ? s->sp
				       : cfa) +
	       (__s64)rule->off;
}

/* The caller's frame pointer; 0, or an outcome. */
static __always_inline __u32 step_fp(struct step *s, const struct unwind_rule *rule, __u64 cfa)
{
	__u32 kind = unwind_saved_fp(rule->saved);
	__u64 at = step_slot(s, rule, cfa);

	if (kind == UNWIND_FP_SAME)
		return 0;
	if (kind == UNWIND_FP_LOST) {
		s->fp_lost = 1;
		return 0;
	}
	if (kind == UNWIND_FP_FP && s->fp_lost)
		return SAMPLER_OUTCOME_FP_LOST;
	s->fp_lost = 0;
	if (kind == UNWIND_FP_VALUE) {
		s->fp = at;
		return 0;
	}
	if (kind == UNWIND_FP_REG)
		return step_register(s, (__u32)rule->off, &s->fp) ? SAMPLER_OUTCOME_REGISTER : 0;
	return step_word(s, at, &s->fp) ? SAMPLER_OUTCOME_READ_FAULT : 0;
}

/* The return address; 0, or an outcome. Before step_fp(), which changes fp. */
static __always_inline __u32 step_ra(struct step *s, const struct unwind_rule *rule, __u64 cfa, __u64 *ret)
{
	__u32 kind = unwind_saved_ra(rule->saved);
	__u64 at = cfa - 8;

	if (kind == UNWIND_RA_REG)
		return step_register(s, (__u32)rule->off, ret) ? SAMPLER_OUTCOME_REGISTER : 0;
	if (kind == UNWIND_RA_LINK)
		return SAMPLER_OUTCOME_REGISTER;
	if (kind == UNWIND_RA_PAIR)
		at = step_slot(s, rule, cfa) + 8;
	else if (kind == UNWIND_RA_OFF)
		at = cfa + (__s64)rule->off;
	return step_word(s, at, ret) ? SAMPLER_OUTCOME_READ_FAULT : 0;
}

/* Where the caller's rbx is; few walks come to a rule that wants it, so it is not read yet. */
static __always_inline void step_follow_rbx(struct step *s, const struct unwind_rule *rule, __u64 cfa)
{
	__u32 kind = unwind_saved_ra(rule->saved);

	if (kind < UNWIND_RA_RBX)
		s->rbx_at = STEP_LOST;
	else if (kind != UNWIND_RA_RBX + UNWIND_RBX_SAME)
		s->rbx_at = cfa - 8 * (__u64)(kind - UNWIND_RA_RBX);
}

/* ------------------------------------------------------------------------------------------------
 * Steps
 */

/*
 * The caller is known: it becomes the state, unless it is none. A return address of 0 alone proves
 * nothing, since most of a stack is zeroes; with a frame pointer of 0 it is how the outermost frame
 * is marked (System V ABI for AMD64, 3.4.1), which is what starts coroutines and threads of its own
 * does. Code that a signal interrupted at 0 has called a null pointer.
 */
static __always_inline int step_commit(struct step *s, __u64 pc, __u64 sp, __u32 interrupted)
{
	s->fp_ends = 0;
	pc = arch_code(pc);
	if ((pc | s->fp | s->fp_lost | interrupted) == 0)
		return step_end(s, SAMPLER_OUTCOME_ROOT);
	if (!step_is_code(pc))
		return step_end(s, SAMPLER_OUTCOME_BAD_RA);
	s->pc = pc;
	s->sp = sp;
	s->interrupted = interrupted;
	return 0;
}

/* The kernel's signal frame. */
static __always_inline int step_signal(struct step *s, const struct unwind_rule *rule)
{
	__u64 at = s->sp, sp = 0, pc = 0;

	if (step_word(s, at + (__s64)rule->off, &s->fp) || step_word(s, at + rule->cfa_off, &sp) ||
	    step_word(s, at + rule->cfa_off + 8, &pc))
		return step_end(s, SAMPLER_OUTCOME_READ_FAULT);
	s->trampoline = !s->interrupted;
	s->signal_sp = at;
	s->rbx_at = at + UNWIND_X86_SIGNAL_RBX;
	s->fp_lost = 0;
	s->n_bare = 0;
	return step_commit(s, pc, sp, 1);
}

/*
 * The leaf in its prologue or at its `ret`: its caller is known by the stack pointer, and the frame
 * pointer is his. 0: done, 1: ended, -1: there is a frame record.
 */
static __always_inline int step_leaf(struct step *s)
{
	__u8 code[ARCH_CODE_BYTES];
	enum arch_leaf leaf;
	__u64 sp = s->sp, ra = 0;

	if (step_code(s, s->pc - ARCH_CODE_BEFORE, code))
		return step_end(s, SAMPLER_OUTCOME_BAD_FP);
	leaf = arch_leaf_rule(code);
	if (leaf == ARCH_LEAF_FRAME)
		return -1;
	if (leaf == ARCH_LEAF_PAST_SP)
		sp += 8;
	if (step_word(s, sp, &ra))
		return step_end(s, SAMPLER_OUTCOME_READ_FAULT);
	s->rbx_at = STEP_LOST;
	return step_commit(s, ra, sp + 8, 0);
}

/*
 * The record at `fp` has no caller in it: is it the outermost one? Where code is known to keep frame
 * pointers, one of zeroes says so. Elsewhere a word of a stack that is 0 is no news; but the first
 * function of a process has the kernel's words above it, argc and a pointer to what lies still higher.
 */
static __always_inline int step_is_outermost(struct step *s, int is_kept, __u64 fp, __u64 ra)
{
	__u64 argv = 0;

	if (ra == 0)
		return is_kept;
	return ra < STEP_LOWEST_CODE && step_word(s, fp + 16, &argv) == 0 && argv > fp &&
	       argv - fp <= STEP_MAX_JUMP_BYTES;
}

/*
 * By frame pointer, with doubt: JIT code, a file that nobody can read, or code without a rule in a file
 * (`rule`: what stands for it there). A frame pointer of 0 is the outermost frame's where a frame record says so, and all code
 * keeps such records. In the register alone it says nothing: a thread begins with 0 there, and code
 * that keeps no frame pointers may never set it, or use it as it likes. Such code that is a root has a
 * rule of its own (unwind/stubs.h).
 */
static __always_inline int step_frame_pointer(struct step *s, const struct unwind_rule *rule)
{
	int is_kept = rule ? rule->cfa == UNWIND_CFA_FRAME_RECORDS : s->table != TABLES_IS_UNKNOWN;
	int bare = !is_kept && !(s->head_flags & TABLES_HEAD_BARE);
	__u64 fp = s->fp, ra = 0;
	int end;

	if (bare && ++s->n_bare > STEP_BARE)
		return step_end(s, SAMPLER_OUTCOME_BAD_FP);
	if (s->interrupted) {
		int r = step_leaf(s);

		if (r >= 0)
			return r;
	}
	if (s->fp_lost)
		return step_end(s, SAMPLER_OUTCOME_FP_LOST);
	if (s->fp_ends)
		return step_end(s, is_kept ? SAMPLER_OUTCOME_ROOT : SAMPLER_OUTCOME_BAD_FP);
	if (fp & 7 || fp < s->sp || fp - s->sp > STEP_MAX_JUMP_BYTES)
		return step_end(s, SAMPLER_OUTCOME_BAD_FP);
	if (step_word(s, fp, &s->fp) || step_word(s, fp + 8, &ra))
		return step_end(s, SAMPLER_OUTCOME_READ_FAULT);
	if (s->fp == 0 && !step_is_code(ra))
		return step_end(s, step_is_outermost(s, is_kept, fp, ra) ? SAMPLER_OUTCOME_ROOT
									 : SAMPLER_OUTCOME_BAD_RA);
	s->rbx_at = STEP_LOST;
	end = step_commit(s, ra, fp + 16, 0);
	s->fp_ends = s->fp == 0;
	return end;
}

/* By a rule that computes the frame address. */
static __always_inline int step_by_rule(struct step *s, const struct unwind_rule *rule)
{
	__u64 cfa = 0, ra = 0;
	__u32 bad = step_cfa(s, rule, &cfa);

	if (bad)
		return step_end(s, bad);
	if (rule->cfa != UNWIND_CFA_FP_SWITCH && cfa < s->sp + (s->interrupted ? 0 : 8))
		return step_end(s, SAMPLER_OUTCOME_BAD_CFA);
	bad = step_ra(s, rule, cfa, &ra);
	if (!bad)
		bad = step_fp(s, rule, cfa);
	if (bad)
		return step_end(s, bad);
	step_follow_rbx(s, rule, cfa);
	s->n_bare = 0;
	return step_commit(s, ra, cfa, 0);
}

/*
 * Is the mapping of pc a stack? Some programs have executable ones, and code on them is jumped to,
 * by a trampoline's pointer, and calls nothing. The process's own may have grown since it was
 * announced, to where sp is; others are told by sp.
 */
static __always_inline int step_in_stack(const struct step *s)
{
	return s->table == TABLES_IS_STACK ||
	       (s->table == TABLES_IS_MEMORY && s->sp - s->start < s->bytes);
}

/* Whether the state's pc is code, by the mappings: 0, or 1 with an outcome. */
static __always_inline int step_here(struct step *s)
{
	if (step_locate(s, s->pc - !s->interrupted))
		return step_end(s, SAMPLER_OUTCOME_NO_MAP);
	if (!s->interrupted && step_in_stack(s))
		return step_end(s, SAMPLER_OUTCOME_BAD_RA);
	return 0;
}

/*
 * From the frame in the state, where step_here() has been, to its caller. 0: that is the state now;
 * 1: there is none, `outcome` says why.
 */
static __always_inline int step_to_caller(struct step *s)
{
	const struct unwind_rule *rule;
	__u32 number;

	s->trampoline = 0;
	if (s->table == TABLES_IS_PENDING)
		return step_end(s, SAMPLER_OUTCOME_PENDING);
	if (s->table == TABLES_IS_OVER_BUDGET)
		return step_end(s, SAMPLER_OUTCOME_OVER_BUDGET);
	if (s->table < TABLES_IS_ADDRESS)
		return step_frame_pointer(s, NULL);
	number = step_find_rule(s, s->pc - !s->interrupted);
	rule = step_rule(s, number);
	if (!rule || rule->cfa == UNWIND_CFA_NONE)
		return step_end(s, SAMPLER_OUTCOME_NO_RULE);
	switch (rule->cfa) {
	case UNWIND_CFA_ROOT:
		s->trampoline = rule->cfa_off && !s->interrupted;
		return step_end(s, SAMPLER_OUTCOME_ROOT);
	case UNWIND_CFA_STOP:
		return step_end(s, rule->cfa_off == UNWIND_STOP_GO_CALLBACK
					   ? SAMPLER_OUTCOME_GO_CALLBACK
					   : SAMPLER_OUTCOME_GO_SWITCH);
	case UNWIND_CFA_FRAME_POINTER:
	case UNWIND_CFA_FRAME_RECORDS:
		return step_frame_pointer(s, rule);
	case UNWIND_CFA_FRAMELESS:
		return step_end(s, SAMPLER_OUTCOME_BAD_FP);
	case UNWIND_CFA_SIGNAL:
		return step_signal(s, rule);
	default:
		return step_by_rule(s, rule);
	}
}

#endif
