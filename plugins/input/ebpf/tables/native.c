/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/native.c - walks a copied stack with the step that the kernel uses
 *
 * The heap is our own memory, but what lies there is looked at with the same masks and bounds as in
 * the kernel. The stack is a stranger's: only addresses inside the copy are read.
 */
#include "plugins/input/ebpf/tables/native.h"

#include <stdbool.h>
#include <string.h>

#include <asm/ptrace.h>

#include "bpf/arch.bpf.h"

struct step;
static void *step_chunk(struct step *s, __u32 address);
static const struct unwind_rule *step_rule(struct step *s, __u32 number);
static int step_word(struct step *s, __u64 addr, __u64 *ret);
static int step_code(struct step *s, __u64 addr, __u8 *ret);

#include "bpf/step.h"

struct native {
	struct step step; /* first: the functions below get back to us by it */
	const struct native_tables *tables;
	const struct sampler_raw *raw;
	bool beyond; /* a word was wanted that lies behind the copy */
};

static void *step_chunk(struct step *s, __u32 address)
{
	const struct native *n = (const struct native *)s;

	return heap__chunk(n->tables->heap, address);
}

static const struct unwind_rule *step_rule(struct step *s, __u32 number)
{
	const struct native *n = (const struct native *)s;

	return number < TABLES_RULES ? &n->tables->rules[number] : NULL;
}

static int step_word(struct step *s, __u64 addr, __u64 *ret)
{
	struct native *n = (struct native *)s;
	const uint8_t *stack = (const uint8_t *)(n->raw + 1);
	uint64_t at = addr - n->raw->start;

	if (n->raw->n_bytes < sizeof(*ret) || at > n->raw->n_bytes - sizeof(*ret)) {
		n->beyond = true;
		return -1;
	}
	memcpy(ret, stack + at, sizeof(*ret));
	return 0;
}

static int step_code(struct step *s, __u64 addr, __u8 *ret)
{
	const struct native *n = (const struct native *)s;

	if (!n->raw->has_code || addr != n->raw->pc - ARCH_CODE_BEFORE)
		return -1;
	memcpy(ret, n->raw->code, ARCH_CODE_BYTES);
	return 0;
}

_Static_assert(ARCH_CODE_BYTES == SAMPLER_CODE_BYTES, "a record has the code that a step looks at");

static void begin(struct native *n)
{
	struct step *s = &n->step;

	s->pc = n->raw->pc;
	s->sp = n->raw->regs[UNWIND_X86_SP];
	s->fp = n->raw->regs[UNWIND_X86_FP];
	memcpy(s->regs, n->raw->regs, sizeof(s->regs));
	s->rbx_at = STEP_LIVE;
	s->mappings = n->tables->mappings;
	s->n_mappings = n->tables->n_mappings;
	s->epoch = n->tables->epoch;
	s->interrupted = 1;
}

/*
 * The step's searches have no branches: they read beside what they look for, where others may write
 * just then, and throw it away. TSan cannot know that.
 */
__attribute__((no_sanitize("thread"))) uint32_t native__walk(const struct native_tables *tables,
							     const struct sampler_raw *raw,
							     uint64_t *frames, uint32_t max,
							     uint32_t *ret_n, uint64_t *ret_pending)
{
	struct native n = { .tables = tables, .raw = raw };
	struct step *s = &n.step;

	begin(&n);
	for (*ret_n = 0; *ret_n < max;) {
		int outside = step_here(s), end;

		/* The innermost frame is one wherever it lies. */
		if (outside && *ret_n)
			return s->outcome;
		frames[*ret_n] = s->pc + (*ret_n && s->interrupted);
		(*ret_n)++;
		*ret_pending = s->pc - !s->interrupted;
		end = outside || step_to_caller(s);
		frames[*ret_n - 1] += s->trampoline;
		if (end && s->outcome == SAMPLER_OUTCOME_READ_FAULT && n.beyond)
			return SAMPLER_OUTCOME_COPY_END;
		if (end)
			return s->outcome;
	}
	return SAMPLER_OUTCOME_MAX_DEPTH;
}

__attribute__((no_sanitize("thread"))) uint32_t native__rule(const struct native_tables *tables,
							     uint32_t table, uint64_t offset,
							     uint32_t *ret_flags)
{
	struct native n = { .tables = tables };
	struct step *s = &n.step;

	s->table = table;
	s->epoch = tables->epoch;
	if (step_open_table(s))
		return 0;
	*ret_flags = s->head_flags;
	return step_find_rule(s, offset);
}
