/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_outcomes.c - every outcome that bpf/step.h can end a walk with, one small stack for each
 *
 * One mapping of one page of code with two rules, LEAF's and CALLER's, and a stack of a few words: behind
 * them nothing can be read. Outcomes that the program decides before or after the steps (no_regs, exec,
 * exiting, deferred, deferred_limit, changed, copy_end, gone) are not here.
 */
#include "tests/unit/unit.h"

#include <linux/types.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)

#include <asm/ptrace.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

struct step;
static void *step_chunk(struct step *s, __u32 address);
static const struct unwind_rule *step_rule(struct step *s, __u32 number);
static int step_word(struct step *s, __u64 addr, __u64 *ret);
static int step_code(struct step *s, __u64 addr, __u8 *ret);

#include "bpf/step.h"

enum {
	MAPPINGS = 1 * TABLES_CHUNK_BYTES, /* addresses of the heap: a chunk each */
	HEAD = 2 * TABLES_CHUNK_BYTES,
	PAGE = 3 * TABLES_CHUNK_BYTES,
	WORDS = 40,
	FRAMES = 16,
};
#define CODE   UINT64_C(0x400000)
#define LEAF   (CODE + 0x100)
#define CALLER (CODE + 0x8100)
#define BEYOND UINT64_C(0x500000) /* in no mapping */
#define STACK  UINT64_C(0x10000)
#define AT(n)  (STACK + 8 * (n))

static _Alignas(64) char heap[4][TABLES_CHUNK_BYTES];
static struct unwind_rule rules[3]; /* none, the leaf's, the caller's */
static uint64_t words[WORDS];
static uint32_t n_words;

static void *step_chunk(struct step *s, __u32 address)
{
	(void)s;
	return address / TABLES_CHUNK_BYTES < 4 ? heap[address / TABLES_CHUNK_BYTES] : NULL;
}

static const struct unwind_rule *step_rule(struct step *s, __u32 number)
{
	(void)s;
	return number < 3 ? &rules[number] : NULL;
}

static int step_word(struct step *s, __u64 addr, __u64 *ret)
{
	(void)s;
	if (addr < STACK || addr - STACK >= 8 * (uint64_t)n_words || addr & 7)
		return -1;
	*ret = words[(addr - STACK) / 8];
	return 0;
}

/* A function's middle: the frame record is there. */
static int step_code(struct step *s, __u64 addr, __u8 *ret)
{
	(void)s;
	(void)addr;
	memset(ret, 0x90, ARCH_CODE_BYTES);
	return 0;
}

struct outcome_case {
	const char *what;
	uint32_t outcome, n; /* expected: frames, the leaf's included */
	struct unwind_rule leaf, caller;
	uint64_t fp;
	uint32_t n_words;
	uint64_t words[8];
	uint32_t table, head_flags; /* 0: HEAD */
	uint64_t r12;
};

#define RULE(c, s, o, co)                                                                          \
	{                                                                                          \
		.cfa = (c), .saved = (s), .off = (o), .cfa_off = (co)                              \
	}
#define NEXT	 RULE(UNWIND_CFA_SP, UNWIND_FP_SAME, 0, 8) /* a function that has pushed nothing */
#define ENDS	 RULE(UNWIND_CFA_ROOT, 0, 0, 0)
#define IS(name) .outcome = SAMPLER_OUTCOME_##name
enum { R12 = 12 };

static const struct outcome_case cases[] = {
	{ "the rule of a root", IS(ROOT), 1, .leaf = ENDS },
	{ "a caller that is a root", IS(ROOT), 2, NEXT, ENDS, 1, 1, { CALLER } },
	{ "return address and frame pointer are 0", IS(ROOT), 1, NEXT, ENDS, 0, 1, { 0 } },
	{ "a return address of 0 alone", IS(BAD_RA), 1, NEXT, ENDS, 1, 1, { 0 } },
	{ "a return address that is a small number", IS(BAD_RA), 1, NEXT, ENDS, 0, 1, { 7 } },
	{ "a return address of the kernel's half", IS(BAD_RA), 1, NEXT, ENDS, 0, 1, { ~UINT64_C(0) } },
	{ "a return address in no mapping", IS(NO_MAP), 1, NEXT, ENDS, 1, 1, { BEYOND } },
	{ "no rule for the leaf", IS(NO_RULE), 1 },
	{ "no rule for its caller", IS(NO_RULE), 2, .leaf = NEXT, .n_words = 1, .words = { CALLER } },
	{ "a rule that is none of ours", IS(UNSUPPORTED), 1,
	  .leaf = RULE(UNWIND_CFA_UNSUPPORTED, 0, 0, 1) },
	{ "a kind of rule that nobody makes", IS(UNSUPPORTED), 1, .leaf = RULE(20, 0, 0, 0) },
	{ "the stack ends before the return address", IS(READ_FAULT), 1, .leaf = NEXT },
	{ "... before the saved frame pointer", IS(READ_FAULT), 1,
	  .leaf = RULE(UNWIND_CFA_SP, UNWIND_FP_CFA, 8, 8), .n_words = 1, .words = { CALLER } },
	{ "... before what a frame address is read from", IS(READ_FAULT), 1,
	  .leaf = RULE(UNWIND_CFA_SP_DEREF, 0, 0, 64) },
	{ "... before the frame record", IS(READ_FAULT), 1,
	  .leaf = RULE(UNWIND_CFA_FRAME_RECORDS, 0, 0, 0), .fp = AT(1), .n_words = 1 },
	{ "... before the signal frame's end", IS(READ_FAULT), 1,
	  .leaf = RULE(UNWIND_CFA_SIGNAL, 0, UNWIND_X86_SIGNAL_FP, UNWIND_X86_SIGNAL_SP), .n_words = 8 },
	{ "the interrupted frame's r12",
	  IS(ROOT),
	  2,
	  RULE(UNWIND_CFA_REG + R12, 0, 0, 16),
	  ENDS,
	  1,
	  2,
	  { 0, CALLER },
	  .r12 = AT(0) },
	{ "a caller's r12",
	  IS(REGISTER),
	  2,
	  NEXT,
	  RULE(UNWIND_CFA_REG + R12, 0, 0, 16),
	  1,
	  2,
	  { CALLER, CALLER },
	  .r12 = AT(0) },
	{ "a frame pointer in a caller's r12",
	  IS(REGISTER),
	  2,
	  NEXT,
	  RULE(UNWIND_CFA_SP, UNWIND_FP_REG, R12, 8),
	  1,
	  2,
	  { CALLER, CALLER } },
	{ "a return address in a caller's r12",
	  IS(REGISTER),
	  2,
	  NEXT,
	  RULE(UNWIND_CFA_SP, UNWIND_FP_SAME | UNWIND_RA_REG << 4, R12, 8),
	  1,
	  2,
	  { CALLER, CALLER } },
	{ "a link register", IS(REGISTER), 1, .leaf = RULE(UNWIND_CFA_SP, UNWIND_RA_LINK << 4, 0, 8) },
	{ "by a frame pointer that was lost",
	  IS(FP_LOST),
	  2,
	  RULE(UNWIND_CFA_SP, UNWIND_FP_LOST, 0, 8),
	  RULE(UNWIND_CFA_FP, UNWIND_FP_CFA, -16, 16),
	  AT(1),
	  3,
	  { CALLER, 1, CALLER } },
	{ "by a record whose pointer was lost",
	  IS(FP_LOST),
	  2,
	  RULE(UNWIND_CFA_SP, UNWIND_FP_LOST, 0, 8),
	  RULE(UNWIND_CFA_FRAME_RECORDS, 0, 0, 0),
	  AT(1),
	  3,
	  { CALLER, 1, CALLER } },
	{ "saved at a frame pointer that was lost",
	  IS(FP_LOST),
	  2,
	  RULE(UNWIND_CFA_SP, UNWIND_FP_LOST, 0, 8),
	  RULE(UNWIND_CFA_SP, UNWIND_FP_FP, 0, 8),
	  AT(1),
	  3,
	  { CALLER, CALLER } },
	{ "a frame address below the stack pointer",
	  IS(BAD_CFA),
	  1,
	  RULE(UNWIND_CFA_SP, 0, 0, -8),
	  ENDS,
	  1,
	  1,
	  { CALLER } },
	{ "a caller's frame that takes no room",
	  IS(BAD_CFA),
	  2,
	  NEXT,
	  RULE(UNWIND_CFA_SP, 0, 0, 0),
	  1,
	  2,
	  { CALLER, CALLER } },
	{ "another stack may lie below", IS(ROOT), 2, RULE(UNWIND_CFA_FP_SWITCH, 0, 0, 8), ENDS, AT(0) - 0, 1, { CALLER } },
	{ "Go's switch of stacks", IS(GO_SWITCH), 1,
	  .leaf = RULE(UNWIND_CFA_STOP, 0, 0, UNWIND_STOP_GO_SWITCH) },
	{ "Go's callback", IS(GO_CALLBACK), 1,
	  .leaf = RULE(UNWIND_CFA_STOP, 0, 0, UNWIND_STOP_GO_CALLBACK) },
	{ "code that makes no record", IS(BAD_FP), 1, .leaf = RULE(UNWIND_CFA_FRAMELESS, 0, 0, 0) },
	{ "a frame pointer below the stack", IS(BAD_FP), 1,
	  .leaf = RULE(UNWIND_CFA_FRAME_RECORDS, 0, 0, 0), .fp = AT(0) - 8, .n_words = 2,
	  .words = { 0, CALLER } },
	{ "a frame pointer between words", IS(BAD_FP), 1, .leaf = RULE(UNWIND_CFA_FRAME_RECORDS, 0, 0, 0),
	  .fp = AT(0) + 4, .n_words = 2, .words = { 0, CALLER } },
	{ "a frame pointer 1 MiB away", IS(READ_FAULT), 1,
	  .leaf = RULE(UNWIND_CFA_FRAME_RECORDS, 0, 0, 0), .fp = STACK + STEP_MAX_JUMP_BYTES },
	{ "a frame pointer farther away", IS(BAD_FP), 1,
	  .leaf = RULE(UNWIND_CFA_FRAME_RECORDS, 0, 0, 0), .fp = STACK + STEP_MAX_JUMP_BYTES + 8 },
	{ "no table yet", IS(PENDING), 1, .table = 1 + TABLES_IS_PENDING },
	{ "no room for the table", IS(OVER_BUDGET), 1, .table = 1 + TABLES_IS_OVER_BUDGET },
};

static void make_tables(uint32_t table, uint32_t flags)
{
	struct tables_mapping *m = (void *)heap[1];
	struct tables_head *head = (void *)heap[2];
	struct tables_page *page = (void *)heap[3];
	uint32_t *rows = (uint32_t *)(page + 1);

	memset(heap, 0, sizeof(heap));
	*m = (struct tables_mapping){ CODE, CODE + 0x10000, CODE, table, 0 };
	*head = (struct tables_head){ .n_pages = 1, .flags = flags };
	((uint32_t *)(head + 1))[0] = PAGE;
	for (unsigned b = 0; b <= TABLES_BLOCKS; b++)
		page->start[b] = b >= 0x80;
	rows[0] = 1;
	rows[1] = 0x8000u << 16 | 2;
}

static uint32_t walk(const struct outcome_case *c, uint32_t *ret_n)
{
	struct step s = {
		.pc = LEAF,
		.sp = STACK,
		.fp = c->fp,
		.regs = { [R12] = c->r12 },
		.rbx_at = STEP_LIVE,
		.mappings = MAPPINGS,
		.n_mappings = 1,
		.interrupted = 1,
	};

	make_tables(c->table ? c->table - 1 : HEAD, c->head_flags);
	rules[1] = c->leaf;
	rules[2] = c->caller;
	for (*ret_n = 0; *ret_n < FRAMES; ++*ret_n) {
		if (step_here(&s))
			return s.outcome;
		if (step_to_caller(&s)) {
			++*ret_n;
			return s.outcome;
		}
	}
	return SAMPLER_OUTCOME_MAX_DEPTH;
}

static void test_each_outcome(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct outcome_case *c = &cases[i];
		uint32_t n, outcome;

		memcpy(words, c->words, sizeof(c->words));
		n_words = c->n_words;
		outcome = walk(c, &n);
		if (outcome != c->outcome || n != c->n)
			fail_msg("%s: outcome %u after %u frames, not %u after %u", c->what,
				 outcome, n, c->outcome, c->n);
	}
}

/* Which outcomes the table above has: all that the step has words for. */
static void test_none_is_left_out(void **state)
{
	static const uint32_t by_step[] = {
		SAMPLER_OUTCOME_ROOT,	     SAMPLER_OUTCOME_READ_FAULT,  SAMPLER_OUTCOME_BAD_FP,
		SAMPLER_OUTCOME_BAD_RA,	     SAMPLER_OUTCOME_PENDING,	  SAMPLER_OUTCOME_NO_MAP,
		SAMPLER_OUTCOME_NO_RULE,     SAMPLER_OUTCOME_UNSUPPORTED, SAMPLER_OUTCOME_REGISTER,
		SAMPLER_OUTCOME_FP_LOST,     SAMPLER_OUTCOME_BAD_CFA,	  SAMPLER_OUTCOME_GO_SWITCH,
		SAMPLER_OUTCOME_GO_CALLBACK, SAMPLER_OUTCOME_OVER_BUDGET,
	};
	uint64_t there = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		there |= UINT64_C(1) << cases[i].outcome;
	for (size_t i = 0; i < sizeof(by_step) / sizeof(*by_step); i++)
		assert_true(there >> by_step[i] & 1);
}

/* Frame records of code without rules: so many in a row are believed, more where all code is such. */
static void test_records_in_a_row(void **state)
{
	struct outcome_case c = { .leaf = RULE(UNWIND_CFA_FRAME_POINTER, 0, 0, 0), .fp = AT(0) };
	uint32_t n;

	(void)state;
	/* Twelve records, of callers that are the leaf's own code; the last one's pointer is 0. */
	for (uint32_t i = 0; i < 12; i++) {
		words[2 * i] = AT(2 * (i + 1));
		words[2 * i + 1] = LEAF;
	}
	words[24] = 0;
	words[25] = 0;
	n_words = 26;
	assert_int_equal(walk(&c, &n), SAMPLER_OUTCOME_BAD_FP);
	assert_int_equal(n, STEP_BARE + 1);
	c.head_flags = TABLES_HEAD_BARE;
	assert_int_equal(walk(&c, &n), SAMPLER_OUTCOME_BAD_RA);
	assert_int_equal(n, 13);
	c.leaf.cfa = UNWIND_CFA_FRAME_RECORDS;
	c.head_flags = 0;
	assert_int_equal(walk(&c, &n), SAMPLER_OUTCOME_ROOT);
	assert_int_equal(n, 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_outcome),
		cmocka_unit_test(test_none_is_left_out),
		cmocka_unit_test(test_records_in_a_row),
	};

	return cmocka_run_group_tests_name("ebpf_outcomes", tests, NULL, NULL);
}

#else

SKIPPED_PROGRAM("ebpf_outcomes", "tables are for x86-64")

#endif
