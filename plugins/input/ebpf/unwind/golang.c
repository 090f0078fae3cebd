/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/golang.c - rules for Go's functions, from the runtime's own table
 *
 * A frame of n bytes (the table's number) on x86-64: the return address is at sp + n, and where n
 * is not 0 the caller's rbp lies in the word below it. Since Go 1.21 a function begins with push
 * %rbp, so it is there as soon as n is 8; before, `sub $n,%rsp` was followed by the store. On arm64
 * the link register is saved at sp, and x29 in the word below sp.
 *
 * The runtime's assembler may save nothing or switch stacks. Whether it saves rbp, its code tells.
 * Where it writes sp (the linker marks such functions), the frame pointer still points to its own
 * frame record on the stack it came from: through systemstack, asmcgocall, cgocallback, nanotime1
 * and their like the walk goes on there. morestack has no such record, and ends the walk.
 *
 * Sources: Go's src/runtime/{stack.go,asm_amd64.s,asm_arm64.s},
 * src/cmd/internal/obj/{x86/obj6,arm64/obj7}.go.
 */
#include "plugins/input/ebpf/unwind/golang.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "plugins/input/ebpf/unwind/pclntab.h"
#include "plugins/input/ebpf/unwind/stubs.h"

struct golang {
	struct pclntab table;
	bool is_arm64;
	bool saves_late; /* before 1.21: rbp is stored after sp was lowered */
};

/* Code that has one rule for all of it. */
static bool special(const struct golang *g, const struct pclntab_function *f, struct unwind_rule *ret)
{
	if (pclntab__is_named(f, "runtime.mcall") || pclntab__begins(f, "_rt0_")) {
		*ret = (struct unwind_rule){ .cfa = UNWIND_CFA_ROOT };
		return !pclntab__begins(f, "_rt0_") ||
		       !memmem(f->name.p, bytes__left(&f->name), "_lib", 4);
	}
	if (pclntab__begins(f, "runtime.sigreturn"))
		return stubs__is_sigreturn(g->table.build->image, f->vaddr, ret);
	/* What the kernel calls has a frame that leads back to the interrupted code. */
	if (f->flags & PCLNTAB_TOP && !pclntab__begins(f, "runtime.sigtramp")) {
		*ret = (struct unwind_rule){ .cfa = UNWIND_CFA_ROOT };
		return true;
	}
	if (pclntab__is_named(f, "runtime.morestack")) {
		*ret = (struct unwind_rule){ .cfa = UNWIND_CFA_STOP, .cfa_off = UNWIND_STOP_GO_SWITCH };
		return true;
	}
	return false;
}

/*
 * Where the rule of a special function begins. The kernel has handlers return to the first byte of
 * sigreturn, which nothing called, so the byte before it is looked up (bpf/unwind.h); the table counts
 * the int3 that stands there as the function's before it.
 */
static uint32_t special_start(const struct golang *g, const struct pclntab_function *f,
			      const struct unwind_rule *rule)
{
	uint8_t before = 0;

	if (rule->cfa != UNWIND_CFA_SIGNAL || g->is_arm64 || f->start == 0 ||
	    image__read(g->table.build->image, f->vaddr - 1, &before, 1) || before != 0xcc)
		return f->start;
	return f->start - 1;
}

/* ------------------------------------------------------------------------------------------------
 * Rules
 */

static struct unwind_rule unsupported(void)
{
	return (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED, .cfa_off = UNWIND_GAP_CFA_OFFSET };
}

static struct unwind_rule x86_rule(int64_t size, bool saved)
{
	if (size < 0 || size > INT32_MAX - 8)
		return unsupported();
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_SP,
		.saved = unwind_saved(saved ? UNWIND_FP_CFA : UNWIND_FP_SAME, UNWIND_RA_WORD),
		.off = saved ? -16 : 0,
		.cfa_off = (int32_t)size + 8,
	};
}

static struct unwind_rule arm64_rule(int64_t size)
{
	if (size < 0 || size > INT16_MAX - 8)
		return unsupported();
	return (struct unwind_rule){
		.cfa = UNWIND_CFA_SP,
		.saved = size ? unwind_saved(UNWIND_FP_CFA, UNWIND_RA_PAIR)
			      : unwind_saved(UNWIND_FP_SAME, UNWIND_RA_LINK),
		.off = (int16_t)(size ? -size - 8 : 0),
		.cfa_off = (int32_t)size,
	};
}

/* The same frame found from its frame record, whichever stack sp is on. */
static struct unwind_rule switched(const struct golang *g, struct unwind_rule rule)
{
	rule.cfa = UNWIND_CFA_FP_SWITCH;
	rule.cfa_off = g->is_arm64 ? rule.cfa_off + 8 : 16;
	return rule;
}

/* Bytes of the instruction that stores rbp below the return address of a frame. */
static uint32_t store_bytes(int64_t size)
{
	return size == 8 ? 4 : size - 8 <= INT8_MAX ? 5 : 8;
}

/* How a function of x86-64 enters its frame. */
struct entry {
	bool saves;	 /* rbp at all */
	uint32_t stored; /* from where on it is in the frame */
	uint32_t set;	 /* and rbp points to it */
};

static struct entry entry_of(const struct golang *g, const struct pclntab_function *f)
{
	struct pclntab_frames t = pclntab__frames(f);
	struct entry e = { 0 };
	uint8_t before = 0;

	while (pclntab__next_frame(&g->table, f, &t) && !t.size)
		;
	if (t.size <= 0 || t.at <= f->start || t.at >= f->end)
		return e;
	if (t.size == 8 && !g->saves_late) { /* push %rbp; mov %rsp,%rbp */
		e = (struct entry){ .saves = true, .stored = (uint32_t)t.at, .set = (uint32_t)t.at + 3 };
		if (f->flags & PCLNTAB_ASM &&
		    (image__read(g->table.build->image, f->vaddr + (t.at - f->start) - 1, &before, 1) ||
		     before != 0x55))
			e.saves = false;
	} else { /* sub; mov %rbp,n(%rsp); lea n(%rsp),%rbp */
		uint8_t store[3] = { 0 };

		e.stored = (uint32_t)t.at + store_bytes(t.size);
		e.set = e.stored + store_bytes(t.size);
		e.saves = !image__read(g->table.build->image, f->vaddr + (t.at - f->start), store, 3) &&
			  store[0] == 0x48 && store[1] == 0x89 && (store[2] & 0x3f) == 0x2c;
	}
	return e;
}

/* Rows of [at, end) with one frame size, which change where rbp has been stored, and set. */
static int add_rows(const struct golang *g, const struct pclntab_function *f, const struct entry *e,
		    const struct pclntab_frames *t)
{
	bool writes_sp = f->flags & PCLNTAB_WRITES_SP;
	const uint32_t at[] = { (uint32_t)t->at, e->stored, e->set };
	int rc = 0;

	if (g->is_arm64) {
		struct unwind_rule rule = arm64_rule(t->size);

		return build__row(g->table.build, at[0], writes_sp && t->size ? switched(g, rule) : rule);
	}
	if (!t->size || !e->saves)
		return build__row(g->table.build, at[0], x86_rule(t->size, false));
	for (unsigned i = 0; i < 3 && !rc; i++) {
		uint32_t start = at[i] > t->at ? at[i] : (uint32_t)t->at;
		uint32_t end = i < 2 ? at[i + 1] : (uint32_t)t->end;
		struct unwind_rule rule = x86_rule(t->size, start >= e->stored);

		if (start < end && start < t->end)
			rc = build__row(g->table.build, start,
					writes_sp && start >= e->set ? switched(g, rule) : rule);
	}
	return rc;
}

static int add_function(const struct golang *g, const struct pclntab_function *f)
{
	struct build *b = g->table.build;
	uint32_t first = (uint32_t)b->rows.n;
	struct entry e = { 0 };
	struct pclntab_frames t = pclntab__frames(f);
	struct unwind_rule rule;
	int rc = 0;

	if (special(g, f, &rule))
		return build__plain(b, special_start(g, f, &rule), f->end, rule);
	if (!g->is_arm64)
		e = entry_of(g, f);
	/* Writes sp and keeps no record of where it was. */
	if (f->flags & PCLNTAB_WRITES_SP && !g->is_arm64 && !e.saves)
		return build__plain(b, f->start, f->end,
				    (struct unwind_rule){ .cfa = UNWIND_CFA_STOP,
							  .cfa_off = UNWIND_STOP_GO_SWITCH });
	while (!rc && pclntab__next_frame(&g->table, f, &t))
		rc = add_rows(g, f, &e, &t);
	if (rc || b->rows.n == first)
		return rc;
	return build__stretch(b, f->start, f->end, first);
}

/*
 * Which of the two ways functions enter their frames: the first one of the compiler whose frame is
 * larger than a word tells.
 */
static bool saves_late(const struct golang *g)
{
	for (uint64_t i = 0; i < g->table.n_functions; i++) {
		struct pclntab_function f;
		struct pclntab_frames t;

		if (!pclntab__function(&g->table, i, &f) || f.flags & PCLNTAB_ASM)
			continue;
		t = pclntab__frames(&f);
		while (pclntab__next_frame(&g->table, &f, &t) && !t.size)
			;
		if (t.size > 8)
			return true;
		if (t.size == 8 && pclntab__next_frame(&g->table, &f, &t) && t.size > 8)
			return false;
	}
	return !g->table.is_1_20;
}

static int add_functions(struct golang *g)
{
	struct build *b = g->table.build;
	int rc = 0;

	g->saves_late = saves_late(g);
	for (uint64_t i = 0; i < g->table.n_functions && !rc; i++) {
		struct pclntab_function f;

		rc = build__tick(b);
		if (rc || !pclntab__function(&g->table, i, &f))
			continue;
		if (++b->n_fdes > b->limits.max_fdes)
			return -EFBIG;
		rc = add_function(g, &f);
	}
	return rc;
}

int golang__add(struct build *b, bool *ret_found)
{
	struct golang g = { .is_arm64 = b->image->machine == EM_AARCH64 };
	int rc = pclntab__open(&g.table, b);

	*ret_found = rc == 0;
	if (rc)
		return rc == -ENOENT || rc == -ENOEXEC ? 0 : rc;
	rc = add_functions(&g);
	pclntab__fini(&g.table);
	return rc;
}
