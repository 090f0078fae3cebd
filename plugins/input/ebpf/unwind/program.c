/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/program.c - runs call frame instructions
 *
 * Only three columns are followed, or four with rbx; what is said of other registers is read over.
 * A row is made when the location advances after a change.
 */
#include "plugins/input/ebpf/unwind/program.h"

#include "bpf/unwind_arch.h"

enum { NESTING = 16 }; /* of remembered states; compilers use 1 */

/*
 * DWARF 5, 7.24, and vendors' extensions. The first three have their operand in the lower six bits.
 */
enum op {
	OP_HIGH = 0xc0,
	OP_LOW = 0x3f,
	OP_ADVANCE = 0x40,
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE1 = 0x02,
	OP_ADVANCE2 = 0x03,
	OP_ADVANCE4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_MIPS_ADVANCE8 = 0x1d,
	OP_ARM64_NEGATE_RA_WITH_PC = 0x2c,
	OP_ARM64_NEGATE_RA = 0x2d, /* return address signed from here: whoever reads one strips it */
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET = 0x2f,
};

struct program {
	const struct cie *cie;
	const struct state_arch *arch;
	struct build *build; /* NULL: a CIE's program, which has no rows */
	struct state state;
	struct state saved[NESTING];
	unsigned depth;
	bool changed;		 /* since the last row */
	uint64_t at, start, end; /* offsets from the build's base */
	uint64_t vaddr;		 /* of start */
	uint64_t last;		 /* the rule of the last row, as a number */
	bool has_last;
	bool is_leaving;     /* for a handler of exceptions: goes_to_handler() */
	enum unwind_gap gap; /* why it cannot go on */
	int error;
};

/*
 * GCC's eh_return: _Unwind_Resume() and its like leave for a handler with the registers and the stack
 * of its frame, which is found by rcx and, once rcx has become rsp, by that. What stands for the return
 * address is where the handler begins: nothing was called before it, and the code before it, by which
 * a caller is looked up, may be of another frame.
 */
static bool goes_to_handler(struct program *p, const struct unwind_rule *rule)
{
	p->is_leaving = !p->arch->has_link && (rule->cfa == UNWIND_CFA_REG + UNWIND_X86_RCX ||
					       (p->is_leaving && rule->cfa == UNWIND_CFA_SP));
	return p->is_leaving;
}

/* A row for what the state says at the location, if that is new. */
static void flush(struct program *p)
{
	enum unwind_gap gap;
	struct unwind_rule rule;
	uint64_t key;

	if (!p->changed || !p->build)
		return;
	p->changed = false;
	rule = state__rule(p->arch, &p->state, p->cie->is_signal, &gap);
	if (goes_to_handler(p, &rule)) {
		gap = UNWIND_GAP_RA_PLACE;
		rule = (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED, .cfa_off = (int32_t)gap };
	}
	if (gap != UNWIND_GAP_N && rule.cfa != UNWIND_CFA_UNSUPPORTED)
		p->build->gaps[gap]++;
	memcpy(&key, &rule, sizeof(key));
	if (p->has_last && p->last == key)
		return;
	p->has_last = true;
	p->last = key;
	p->error = build__row(p->build, (uint32_t)p->at, rule);
}

static void stop(struct program *p, enum unwind_gap why)
{
	p->gap = why;
}

static void advance(struct program *p, uint64_t delta)
{
	uint64_t bytes;

	if (!p->build || __builtin_mul_overflow(delta, p->cie->code_align, &bytes)) {
		stop(p, UNWIND_GAP_DAMAGED);
		return;
	}
	if (!bytes)
		return;
	flush(p);
	p->at = bytes < p->end - p->at ? p->at + bytes : p->end;
}

static void set_loc(struct program *p, struct bytes *b)
{
	uint64_t vaddr, to;

	if (!p->build || !pointer__read(b, p->cie->encoding, &p->cie->base, true, &vaddr)) {
		stop(p, UNWIND_GAP_DAMAGED);
		return;
	}
	to = vaddr - p->vaddr;
	if (to < p->at - p->start) {
		stop(p, UNWIND_GAP_DAMAGED);
		return;
	}
	flush(p);
	p->at = to < p->end - p->start ? p->start + to : p->end;
}

/* The column that the state keeps of a register, or NULL. */
static struct state_register *column(struct program *p, struct state *s, uint64_t reg)
{
	if (reg == p->arch->fp)
		return &s->fp;
	if (reg == p->arch->rbx)
		return &s->rbx;
	return reg == p->cie->ra ? &s->ra : NULL;
}

static void set(struct program *p, uint64_t reg, enum state_how how, int64_t off)
{
	struct state_register *r = column(p, &p->state, reg);

	if (!r)
		return;
	*r = (struct state_register){ .how = how, .off = off };
	p->changed = true;
}

static void set_expression(struct program *p, uint64_t reg, enum state_how how, struct bytes *b)
{
	uint64_t n = bytes__uleb(b);
	const uint8_t *code = bytes__skip(b, n);
	struct state_register *r = column(p, &p->state, reg);

	if (!r || b->bad || n > UINT32_MAX)
		return;
	*r = (struct state_register){ .how = how, .n_expression = (uint32_t)n, .expression = code };
	p->changed = true;
}

static void restore(struct program *p, uint64_t reg)
{
	struct state initial = p->cie->initial;
	struct state_register *r = column(p, &p->state, reg);

	if (!r)
		return;
	*r = *column(p, &initial, reg);
	p->changed = true;
}

static void def_cfa(struct program *p, uint64_t reg, int64_t off)
{
	p->state.cfa.how = STATE_REGISTER;
	p->state.cfa_reg = reg;
	p->state.cfa_off = off;
	p->changed = true;
}

static void def_cfa_expression(struct program *p, struct bytes *b)
{
	uint64_t n = bytes__uleb(b);
	const uint8_t *code = bytes__skip(b, n);

	if (b->bad || n > UINT32_MAX)
		return;
	p->state.cfa = (struct state_register){ .how = STATE_EXPRESSION,
						.n_expression = (uint32_t)n,
						.expression = code };
	p->changed = true;
}

static void remember(struct program *p)
{
	if (p->depth == NESTING)
		stop(p, UNWIND_GAP_STATES);
	else
		p->saved[p->depth++] = p->state;
}

static void restore_state(struct program *p)
{
	if (!p->depth) {
		stop(p, UNWIND_GAP_STATES);
		return;
	}
	p->state = p->saved[--p->depth];
	p->changed = true;
	p->is_leaving = false;
}

/* An operand times the data alignment; compilers stay far from where that wraps. */
static int64_t factored(const struct program *p, uint64_t v)
{
	return (int64_t)(v * (uint64_t)p->cie->data_align);
}

/* Instructions about one register: the register, then what is said of it. */
static void register_op(struct program *p, struct bytes *b, uint8_t op)
{
	uint64_t reg = bytes__uleb(b);

	switch (op) {
	case OP_OFFSET_EXTENDED:
		set(p, reg, STATE_SAVED, factored(p, bytes__uleb(b)));
		break;
	case OP_OFFSET_EXTENDED_SF:
		set(p, reg, STATE_SAVED, factored(p, (uint64_t)bytes__sleb(b)));
		break;
	case OP_GNU_NEGATIVE_OFFSET:
		set(p, reg, STATE_SAVED, factored(p, 0 - bytes__uleb(b)));
		break;
	case OP_VAL_OFFSET:
		set(p, reg, STATE_VALUE, factored(p, bytes__uleb(b)));
		break;
	case OP_VAL_OFFSET_SF:
		set(p, reg, STATE_VALUE, factored(p, (uint64_t)bytes__sleb(b)));
		break;
	case OP_RESTORE_EXTENDED:
		restore(p, reg);
		break;
	case OP_UNDEFINED:
		set(p, reg, STATE_UNDEFINED, 0);
		break;
	case OP_SAME_VALUE:
		set(p, reg, STATE_SAME, 0);
		break;
	case OP_REGISTER:
		set(p, reg, STATE_REGISTER, (int64_t)bytes__uleb(b));
		break;
	case OP_EXPRESSION:
		set_expression(p, reg, STATE_EXPRESSION, b);
		break;
	default:
		set_expression(p, reg, STATE_VALUE_EXPRESSION, b);
		break;
	}
}

/* Instructions about the frame address. */
static void cfa_op(struct program *p, struct bytes *b, uint8_t op)
{
	uint64_t v;

	if (op == OP_DEF_CFA_EXPRESSION) {
		def_cfa_expression(p, b);
		return;
	}
	if (op == OP_DEF_CFA || op == OP_DEF_CFA_SF) {
		uint64_t reg = bytes__uleb(b);

		def_cfa(p, reg,
			op == OP_DEF_CFA ? (int64_t)bytes__uleb(b)
					 : factored(p, (uint64_t)bytes__sleb(b)));
		return;
	}
	/* libgcrypt's assembler leaves an expression by the register alone, as libgcc lets it. */
	if (op == OP_DEF_CFA_REGISTER && p->state.cfa.how != STATE_UNSET) {
		def_cfa(p, bytes__uleb(b), p->state.cfa_off);
		return;
	}
	if (p->state.cfa.how != STATE_REGISTER) {
		stop(p, UNWIND_GAP_CFA_MISSING);
		return;
	}
	v = op == OP_DEF_CFA_OFFSET_SF ? (uint64_t)bytes__sleb(b) : bytes__uleb(b);
	p->state.cfa_off = op == OP_DEF_CFA_OFFSET ? (int64_t)v : factored(p, v);
	p->changed = true;
}

static void other_op(struct program *p, struct bytes *b, uint8_t op)
{
	switch (op) {
	case OP_NOP:
		break;
	case OP_SET_LOC:
		set_loc(p, b);
		break;
	case OP_ADVANCE1:
		advance(p, bytes__u8(b));
		break;
	case OP_ADVANCE2:
		advance(p, bytes__fixed(b, 2));
		break;
	case OP_ADVANCE4:
		advance(p, bytes__fixed(b, 4));
		break;
	case OP_MIPS_ADVANCE8:
		advance(p, bytes__fixed(b, 8));
		break;
	case OP_REMEMBER:
		remember(p);
		break;
	case OP_RESTORE_STATE:
		restore_state(p);
		break;
	case OP_GNU_ARGS_SIZE:
		bytes__uleb(b);
		break;
	case OP_ARM64_NEGATE_RA:
	case OP_ARM64_NEGATE_RA_WITH_PC:
		if (!p->arch->has_link)
			stop(p, UNWIND_GAP_OPCODE);
		break;
	default:
		stop(p, UNWIND_GAP_OPCODE);
	}
}

static void step(struct program *p, struct bytes *b)
{
	uint8_t op = *b->p++;

	switch (op & OP_HIGH) {
	case OP_ADVANCE:
		advance(p, op & OP_LOW);
		return;
	case OP_OFFSET: {
		uint64_t v = bytes__uleb(b);

		set(p, op & OP_LOW, STATE_SAVED, factored(p, v));
		return;
	}
	case OP_RESTORE:
		restore(p, op & OP_LOW);
		return;
	}
	switch (op) {
	case OP_DEF_CFA:
	case OP_DEF_CFA_SF:
	case OP_DEF_CFA_REGISTER:
	case OP_DEF_CFA_OFFSET:
	case OP_DEF_CFA_OFFSET_SF:
	case OP_DEF_CFA_EXPRESSION:
		cfa_op(p, b, op);
		return;
	case OP_OFFSET_EXTENDED:
	case OP_OFFSET_EXTENDED_SF:
	case OP_GNU_NEGATIVE_OFFSET:
	case OP_VAL_OFFSET:
	case OP_VAL_OFFSET_SF:
	case OP_RESTORE_EXTENDED:
	case OP_UNDEFINED:
	case OP_SAME_VALUE:
	case OP_REGISTER:
	case OP_EXPRESSION:
	case OP_VAL_EXPRESSION:
		register_op(p, b, op);
		return;
	default:
		other_op(p, b, op);
	}
}

static void run(struct program *p, struct bytes b)
{
	while (b.p < b.end && p->gap == UNWIND_GAP_N && !p->error && p->at < p->end) {
		step(p, &b);
		if (b.bad)
			stop(p, UNWIND_GAP_DAMAGED);
	}
}

void program__run_cie(struct cie *cie, const struct state_arch *arch)
{
	struct program p = { .cie = cie, .arch = arch, .gap = UNWIND_GAP_N, .end = 1 };

	run(&p, cie->program);
	cie->initial = p.state;
	cie->gap = p.gap;
}

int program__run(struct build *b, const struct cie *cie, const struct state_arch *arch,
		 struct bytes code, const struct program_range *range)
{
	struct program p;

	/* Not by an initialiser: `saved` is large, and unused in most functions. */
	p.cie = cie;
	p.arch = arch;
	p.build = b;
	p.state = cie->initial;
	p.depth = 0;
	p.changed = true;
	p.at = p.start = range->start;
	p.end = range->end;
	p.vaddr = range->vaddr;
	p.has_last = p.is_leaving = false;
	p.gap = UNWIND_GAP_N;
	p.error = 0;
	run(&p, code);
	if (!p.error && p.gap != UNWIND_GAP_N)
		p.error = build__row(b, (uint32_t)p.at,
				     (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED,
							   .cfa_off = (int32_t)p.gap });
	else if (!p.error && p.at < p.end)
		flush(&p);
	return p.error;
}
