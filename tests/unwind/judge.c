/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unwind/judge.c - is a table of rules what libdw says?
 */
#include "tests/unwind/judge.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/unwind_arch.h"

enum { MACHINES = 2, REGS = 32, STACK = 16 };

/* Registers and memory whose content follows from a seed. */
struct machine {
	uint64_t seed, pc;
	uint64_t cfa; /* once it is known */
	uint64_t regs[REGS];
	unsigned fp, sp, ra;
};

/* The caller, as far as rules tell. */
struct caller {
	bool root, has_fp, has_rbx;
	uint64_t cfa, fp, pc, rbx;
};

/* One comparison: where, and what both know of it. */
struct point {
	struct judge *judge;
	const char *name;
	const struct unwind_rows *rows;
	Dwarf_CFI *eh, *debug;
	uint64_t vaddr;
	const struct unwind_rule *rule;
};

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t memory(const struct machine *m, uint64_t addr)
{
	return mix(m->seed ^ mix(addr));
}

static struct machine machine_of(uint16_t elf_machine, uint64_t seed, uint64_t pc)
{
	bool arm64 = elf_machine == EM_AARCH64;
	struct machine m = {
		.seed = seed,
		.pc = pc,
		.fp = arm64 ? UNWIND_ARM64_FP : UNWIND_X86_FP,
		.sp = arm64 ? UNWIND_ARM64_SP : UNWIND_X86_SP,
		.ra = arm64 ? UNWIND_ARM64_LINK : UNWIND_X86_RA,
	};

	for (unsigned i = 0; i < REGS; i++)
		m.regs[i] = mix(seed + 1 + i);
	if (!arm64)
		m.regs[UNWIND_X86_RA] = pc;
	return m;
}

/* ------------------------------------------------------------------------------------------------
 * Ours
 */

static bool our_cfa(const struct machine *m, const struct unwind_rule *r, uint64_t *ret)
{
	uint64_t off = (uint64_t)(int64_t)r->cfa_off;
	uint64_t low = (uint64_t)(int64_t)unwind_deref_low(r->cfa_off);
	uint64_t high = (uint64_t)(int64_t)unwind_deref_high(r->cfa_off);

	if (r->cfa >= UNWIND_CFA_REG_DEREF)
		*ret = memory(m, m->regs[r->cfa & 0x1f] + low) + high;
	else if (r->cfa >= UNWIND_CFA_REG)
		*ret = m->regs[r->cfa & 0x1f] + off;
	else if (r->cfa == UNWIND_CFA_SP)
		*ret = m->regs[m->sp] + off;
	else if (r->cfa == UNWIND_CFA_FP || r->cfa == UNWIND_CFA_FP_SWITCH)
		*ret = m->regs[m->fp] + off;
	else if (r->cfa == UNWIND_CFA_SP_DEREF)
		*ret = memory(m, m->regs[m->sp] + low) + high;
	else if (r->cfa == UNWIND_CFA_FP_DEREF)
		*ret = memory(m, m->regs[m->fp] + low) + high;
	else if (r->cfa == UNWIND_CFA_PLT)
		*ret = m->regs[m->sp] + 8 + ((m->pc & 15) >= off ? 8 : 0);
	else if (r->cfa == UNWIND_CFA_SIGNAL)
		*ret = memory(m, m->regs[m->sp] + off);
	else
		return false;
	return true;
}

static uint64_t our_fp(const struct machine *m, const struct unwind_rule *r, uint64_t cfa, bool *ret_has)
{
	uint64_t off = (uint64_t)(int64_t)r->off;

	*ret_has = true;
	switch (unwind_saved_fp(r->saved)) {
	case UNWIND_FP_SAME:
		return m->regs[m->fp];
	case UNWIND_FP_CFA:
		return memory(m, cfa + off);
	case UNWIND_FP_FP:
		return memory(m, m->regs[m->fp] + off);
	case UNWIND_FP_SP:
		return memory(m, m->regs[m->sp] + off);
	case UNWIND_FP_VALUE:
		return cfa + off;
	case UNWIND_FP_REG:
		return m->regs[off & 0x1f];
	default:
		*ret_has = false;
		return 0;
	}
}

static uint64_t our_pc(const struct machine *m, const struct unwind_rule *r, uint64_t cfa)
{
	uint64_t off = (uint64_t)(int64_t)r->off;
	enum unwind_fp fp = unwind_saved_fp(r->saved);

	switch (unwind_saved_ra(r->saved)) {
	case UNWIND_RA_LINK:
		return m->regs[m->ra];
	case UNWIND_RA_PAIR:
		return memory(m, off + 8 +
					 (fp == UNWIND_FP_SP   ? m->regs[m->sp]
					  : fp == UNWIND_FP_FP ? m->regs[m->fp]
							       : cfa));
	case UNWIND_RA_OFF:
		return memory(m, cfa + off);
	case UNWIND_RA_REG:
		return m->regs[off & 0x1f];
	default:
		return memory(m, cfa - 8);
	}
}

static uint64_t our_rbx(const struct machine *m, const struct unwind_rule *r, uint64_t cfa, bool *ret_has)
{
	uint64_t n = unwind_saved_ra(r->saved) - UNWIND_RA_RBX;

	*ret_has = unwind_saved_ra(r->saved) > UNWIND_RA_RBX;
	if (!*ret_has)
		return 0;
	return n == UNWIND_RBX_SAME ? m->regs[UNWIND_X86_RBX] : memory(m, cfa - 8 * n);
}

static bool ours(const struct machine *m, const struct unwind_rule *r, struct caller *ret)
{
	*ret = (struct caller){ .root = r->cfa == UNWIND_CFA_ROOT };
	if (ret->root)
		return true;
	if (!our_cfa(m, r, &ret->cfa))
		return false;
	if (r->cfa == UNWIND_CFA_SIGNAL) {
		uint64_t sp = m->regs[m->sp];

		ret->pc = memory(m, sp + (uint64_t)r->cfa_off + 8);
		ret->fp = memory(m, sp + (uint64_t)(int64_t)r->off);
		ret->has_fp = true;
		return true;
	}
	ret->fp = our_fp(m, r, ret->cfa, &ret->has_fp);
	ret->pc = our_pc(m, r, ret->cfa);
	ret->rbx = our_rbx(m, r, ret->cfa, &ret->has_rbx);
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * libdw's
 */

struct stack {
	uint64_t v[STACK];
	unsigned n;
	bool bad, is_value;
};

static void push(struct stack *s, uint64_t v)
{
	if (s->n == STACK)
		s->bad = true;
	else
		s->v[s->n++] = v;
}

static uint64_t pop(struct stack *s)
{
	if (s->n)
		return s->v[--s->n];
	s->bad = true;
	return 0;
}

static uint64_t reg(const struct machine *m, uint64_t n, struct stack *s)
{
	if (n < REGS)
		return m->regs[n];
	s->bad = true;
	return 0;
}

static void binary(struct stack *s, uint8_t op)
{
	uint64_t b = pop(s), a = pop(s);

	switch (op) {
	case DW_OP_plus:
		push(s, a + b);
		break;
	case DW_OP_minus:
		push(s, a - b);
		break;
	case DW_OP_and:
		push(s, a & b);
		break;
	case DW_OP_shl:
		push(s, a << (b & 63));
		break;
	case DW_OP_ge:
		push(s, (int64_t)a >= (int64_t)b);
		break;
	default:
		s->bad = true;
	}
}

static void one(const struct machine *m, const Dwarf_Op *op, struct stack *s)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		push(s, op->atom - DW_OP_lit0);
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		push(s, reg(m, op->atom - DW_OP_breg0, s) + op->number);
	} else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		push(s, reg(m, op->atom - DW_OP_reg0, s));
		s->is_value = true;
	} else {
		switch (op->atom) {
		case DW_OP_regx:
			push(s, reg(m, op->number, s));
			s->is_value = true;
			break;
		case DW_OP_bregx:
			push(s, reg(m, op->number, s) + op->number2);
			break;
		case DW_OP_call_frame_cfa:
			push(s, m->cfa);
			break;
		case DW_OP_plus_uconst:
			push(s, pop(s) + op->number);
			break;
		case DW_OP_const1u:
		case DW_OP_const2u:
		case DW_OP_const4u:
		case DW_OP_const8u:
		case DW_OP_constu:
		case DW_OP_const1s:
		case DW_OP_const2s:
		case DW_OP_const4s:
		case DW_OP_const8s:
		case DW_OP_consts:
		case DW_OP_addr:
			push(s, op->number);
			break;
		case DW_OP_deref:
			push(s, memory(m, pop(s)));
			break;
		case DW_OP_stack_value:
			s->is_value = true;
			break;
		case DW_OP_nop:
			break;
		default:
			binary(s, op->atom);
		}
	}
}

/* What an expression yields: an address, or with *ret_value a value. */
static bool evaluate(const struct machine *m, const Dwarf_Op *ops, size_t n, bool *ret_value,
		     uint64_t *ret)
{
	struct stack s = { .n = 0 };

	for (size_t i = 0; i < n && !s.bad; i++)
		one(m, &ops[i], &s);
	*ret = pop(&s);
	*ret_value = s.is_value;
	return !s.bad;
}

enum answer { ANSWER, UNDEFINED, CANNOT };

static enum answer their_register(const struct machine *m, Dwarf_Frame *frame, unsigned n, uint64_t *ret)
{
	Dwarf_Op mem[3], *ops;
	size_t n_ops;
	bool is_value;

	if (dwarf_frame_register(frame, (int)n, mem, &ops, &n_ops))
		return CANNOT;
	if (!n_ops) {
		*ret = m->regs[n];
		return ops ? UNDEFINED : ANSWER;
	}
	if (!evaluate(m, ops, n_ops, &is_value, ret))
		return CANNOT;
	if (!is_value)
		*ret = memory(m, *ret);
	return ANSWER;
}

static bool theirs(struct machine *m, Dwarf_Frame *frame, struct caller *ret)
{
	Dwarf_Op *ops;
	size_t n_ops;
	bool is_value;
	enum answer fp, pc;

	*ret = (struct caller){ .root = false };
	pc = their_register(m, frame, m->ra, &ret->pc);
	if (pc == UNDEFINED) {
		ret->root = true;
		return true;
	}
	if (dwarf_frame_cfa(frame, &ops, &n_ops) || !n_ops ||
	    !evaluate(m, ops, n_ops, &is_value, &ret->cfa))
		return false;
	m->cfa = ret->cfa;
	pc = their_register(m, frame, m->ra, &ret->pc);
	fp = their_register(m, frame, m->fp, &ret->fp);
	ret->has_fp = fp == ANSWER;
	/*
	 * Where nothing is said of rbx, libdw has it undefined: its list of what callees save has
	 * rax instead.
	 */
	ret->has_rbx = their_register(m, frame, UNWIND_X86_RBX, &ret->rbx) != CANNOT;
	return pc == ANSWER && fp != CANNOT;
}

/* ------------------------------------------------------------------------------------------------
 * Judgement
 */

static void complain(struct point *p, const char *what, const struct caller *our,
		     const struct caller *their)
{
	const struct unwind_rule *r = p->rule;

	p->judge->mismatches++;
	if (p->judge->mismatches > p->judge->max_lines)
		return;
	fprintf(stderr,
		"%s: 0x%" PRIx64 ": %s (rule cfa %u saved %02x off %d cfa_off %d; "
		"ours root %d cfa %" PRIx64 " fp %" PRIx64 " pc %" PRIx64
		"; theirs root %d cfa %" PRIx64 " fp %" PRIx64 " pc %" PRIx64 ")\n",
		p->name, p->vaddr, what, r->cfa, r->saved, r->off, r->cfa_off, our->root, our->cfa,
		our->fp, our->pc, their->root, their->cfa, their->fp, their->pc);
}

static const char *compare(const struct point *p, const struct caller *our, const struct caller *their)
{
	if (our->root != their->root)
		return "root";
	if (our->root)
		return NULL;
	if (our->cfa != their->cfa)
		return "frame address";
	if (our->pc != their->pc)
		return "return address";
	if (our->has_rbx && !(their->has_rbx && our->rbx == their->rbx))
		return "rbx";
	if (!our->has_fp || p->rows->is_go)
		return NULL;
	return their->has_fp && our->fp == their->fp ? NULL : "frame pointer";
}

/*
 * Whether ours knows the code by something else than its description: a signal frame and the end of
 * coroutines by their code, and of Go's functions those that switch stacks or have no caller.
 */
static bool is_own_knowledge(const struct point *p)
{
	uint8_t cfa = p->rule->cfa;

	return cfa == UNWIND_CFA_SIGNAL || (cfa == UNWIND_CFA_ROOT && p->rule->cfa_off) ||
	       (p->rows->is_go &&
		(cfa == UNWIND_CFA_STOP || cfa == UNWIND_CFA_ROOT || cfa == UNWIND_CFA_FP_SWITCH));
}

static bool is_undescribed(const struct unwind_rule *rule)
{
	return rule->cfa == UNWIND_CFA_FRAME_POINTER || rule->cfa == UNWIND_CFA_FRAME_RECORDS ||
	       rule->cfa == UNWIND_CFA_FRAMELESS || rule->cfa == UNWIND_CFA_NONE;
}

static void described(struct point *p, Dwarf_Frame *frame)
{
	struct judge *j = p->judge;
	struct caller our, their;

	if (is_undescribed(p->rule)) {
		j->missing++;
		complain(p, "described, says libdw", &(struct caller){ 0 }, &(struct caller){ 0 });
		return;
	}
	if (p->rule->cfa == UNWIND_CFA_UNSUPPORTED) {
		j->unsupported++;
		return;
	}
	for (unsigned i = 0; i < MACHINES; i++) {
		struct machine m = machine_of(p->rows->machine, 0x1234567 + i, p->vaddr);
		const char *what;

		if (!theirs(&m, frame, &their)) {
			j->broken++;
			return;
		}
		what = ours(&m, p->rule, &our) ? compare(p, &our, &their) : "no answer";
		if (what && is_own_knowledge(p)) {
			j->known_better++;
			return;
		}
		if (what) {
			complain(p, what, &our, &their);
			return;
		}
		if (!our.root && !our.has_fp && their.has_fp) {
			j->fp_lost++;
			return;
		}
	}
	j->equal++;
	j->with_rbx += our.has_rbx;
}

/*
 * Compares at an address: returns where libdw's answer ends, or the address where it has none.
 * is_padding: libdw's answer for the row ended before.
 */
static uint64_t at(struct point *p, uint64_t vaddr, const struct unwind_rule *rule, bool is_padding)
{
	struct judge *j = p->judge;
	Dwarf_Frame *frame = NULL;
	Dwarf_Addr start, end = vaddr;
	bool is_signal;

	p->vaddr = vaddr;
	p->rule = rule;
	j->points++;
	if ((!p->eh || dwarf_cfi_addrframe(p->eh, vaddr, &frame)) &&
	    (!p->debug || dwarf_cfi_addrframe(p->debug, vaddr, &frame))) {
		if (is_undescribed(rule))
			j->without++;
		else if (is_padding)
			j->padding++;
		else if (rule->cfa == UNWIND_CFA_UNSUPPORTED)
			j->broken++;
		else
			j->known_better++;
		return vaddr;
	}
	described(p, frame);
	dwarf_frame_info(frame, &start, &end, &is_signal);
	free(frame);
	return end;
}

/*
 * All that libdw says within [start, end), at the first and the last byte of each of its rows.
 * Behind the last one there may be padding, of which it knows nothing.
 */
static void row(struct point *p, uint64_t start, uint64_t end, const struct unwind_rule *rule)
{
	bool is_padding = false;

	while (start < end) {
		uint64_t theirs_end = at(p, start, rule, is_padding);

		if (theirs_end == start) {
			if (end - 1 > start)
				at(p, end - 1, rule, is_padding);
			return;
		}
		theirs_end = theirs_end < end ? theirs_end : end;
		if (theirs_end - 1 > start)
			at(p, theirs_end - 1, rule, false);
		start = theirs_end;
		is_padding = true;
	}
}

static void rows(struct point *p)
{
	const struct unwind_rows *r = p->rows;
	uint64_t stride = p->judge->stride ? p->judge->stride : 1;

	for (uint32_t i = 0; i + 1 < r->n; i++) {
		const struct unwind_rule *rule = &r->rules[r->rule[i]];

		if (i % stride)
			continue;
		p->judge->rows++;
		if (rule->cfa != UNWIND_CFA_NONE)
			row(p, r->base + r->at[i], r->base + r->at[i + 1], rule);
	}
}

static int compare_file(struct judge *j, int fd, const char *name, const struct unwind_rows *r)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf *dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
	struct point p = {
		.judge = j,
		.name = name,
		.rows = r,
		.eh = elf ? dwarf_getcfi_elf(elf) : NULL,
		.debug = dwarf ? dwarf_getcfi(dwarf) : NULL,
	};
	int rc = p.eh || p.debug ? 0 : -ENOTSUP;

	if (!rc)
		rows(&p);
	if (p.eh)
		dwarf_cfi_end(p.eh);
	if (dwarf)
		dwarf_end(dwarf);
	elf_end(elf);
	return rc;
}

int judge__file(struct judge *j, int fd, const char *name)
{
	CLEANUP(unwind_rows__freep) struct unwind_rows *r = NULL;
	int rc = unwind__compile_fd(fd, NULL, &r, NULL);

	if (rc)
		return rc;
	elf_version(EV_CURRENT);
	rc = compare_file(j, fd, name, r);
	if (rc)
		return rc;
	j->files++;
	for (unsigned i = 0; i < UNWIND_GAP_N; i++)
		j->gaps[i] += r->gaps[i];
	return 0;
}
