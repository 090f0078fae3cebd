/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/state.c - what CFI says at one address, and the rule that says the same
 */
#include "plugins/input/ebpf/unwind/state.h"

#include <elf.h>

#include "bpf/unwind_arch.h"
#include "plugins/input/ebpf/unwind/expression.h"

static bool fits16(int64_t v)
{
	return v >= INT16_MIN && v <= INT16_MAX;
}

static bool fits32(int64_t v)
{
	return v >= INT32_MIN && v <= INT32_MAX;
}

const struct state_arch *state__arch(uint16_t machine, bool with_rbx)
{
	static const struct state_arch x86[2] = {
		{ .fp = UNWIND_X86_FP,
		  .sp = UNWIND_X86_SP,
		  .ra = UNWIND_X86_RA,
		  .rbx = STATE_NO_REGISTER,
		  .n_regs = UNWIND_X86_REGS },
		{ .fp = UNWIND_X86_FP,
		  .sp = UNWIND_X86_SP,
		  .ra = UNWIND_X86_RA,
		  .rbx = UNWIND_X86_RBX,
		  .n_regs = UNWIND_X86_REGS },
	};
	static const struct state_arch arm64 = {
		.fp = UNWIND_ARM64_FP,
		.sp = UNWIND_ARM64_SP,
		.ra = UNWIND_ARM64_LINK,
		.rbx = STATE_NO_REGISTER,
		.n_regs = UNWIND_ARM64_REGS,
		.has_link = true,
	};

	return machine == EM_AARCH64 ? &arm64 : &x86[with_rbx];
}

/* ------------------------------------------------------------------------------------------------
 * The frame address
 */

/* By which register: the base kind of a rule, or 0 when no rule has it. */
static uint8_t cfa_kind(const struct state_arch *arch, uint64_t reg, bool deref)
{
	if (reg == arch->sp)
		return deref ? UNWIND_CFA_SP_DEREF : UNWIND_CFA_SP;
	if (reg == arch->fp)
		return deref ? UNWIND_CFA_FP_DEREF : UNWIND_CFA_FP;
	if (reg >= arch->n_regs)
		return 0;
	return (uint8_t)(reg + (deref ? UNWIND_CFA_REG_DEREF : UNWIND_CFA_REG));
}

static enum unwind_gap cfa_of_register(const struct state_arch *arch, uint64_t reg, int64_t off,
				       struct unwind_rule *rule)
{
	rule->cfa = cfa_kind(arch, reg, false);
	rule->cfa_off = (int32_t)off;
	if (!rule->cfa)
		return UNWIND_GAP_CFA_REGISTER;
	return fits32(off) ? UNWIND_GAP_N : UNWIND_GAP_CFA_OFFSET;
}

static enum unwind_gap cfa_of_expression(const struct state_arch *arch,
					 const struct state_register *cfa, struct unwind_rule *rule)
{
	struct expression_value v;
	uint8_t literal;

	if (!arch->has_link && expression__is_plt(cfa->expression, cfa->n_expression, &literal)) {
		rule->cfa = UNWIND_CFA_PLT;
		rule->cfa_off = literal;
		return UNWIND_GAP_N;
	}
	if (!expression__evaluate(cfa->expression, cfa->n_expression, false, &v) ||
	    v.base != EXPRESSION_REGISTER)
		return UNWIND_GAP_CFA_EXPRESSION;
	if (!v.deref)
		return cfa_of_register(arch, v.reg, v.low, rule);
	rule->cfa = cfa_kind(arch, v.reg, true);
	if (!rule->cfa)
		return UNWIND_GAP_CFA_REGISTER;
	if (!fits16(v.low) || !fits16(v.high))
		return UNWIND_GAP_CFA_OFFSET;
	rule->cfa_off = unwind_deref(v.low, v.high);
	return UNWIND_GAP_N;
}

static enum unwind_gap cfa_rule(const struct state_arch *arch, const struct state *s,
				struct unwind_rule *rule)
{
	switch (s->cfa.how) {
	case STATE_REGISTER:
		return cfa_of_register(arch, s->cfa_reg, s->cfa_off, rule);
	case STATE_EXPRESSION:
		return cfa_of_expression(arch, &s->cfa, rule);
	default:
		return UNWIND_GAP_CFA_MISSING;
	}
}

/* ------------------------------------------------------------------------------------------------
 * Signal frames: all registers by expressions over sp
 */

static bool slot_of_sp(const struct state_arch *arch, const struct state_register *r, bool deref,
		       int64_t *ret_off)
{
	struct expression_value v;

	if (r->how != STATE_EXPRESSION ||
	    !expression__evaluate(r->expression, r->n_expression, false, &v) ||
	    v.base != EXPRESSION_REGISTER || v.reg != arch->sp || v.deref != deref || v.high)
		return false;
	*ret_off = v.low;
	return true;
}

static bool signal_rule(const struct state_arch *arch, const struct state *s, struct unwind_rule *rule)
{
	int64_t sp, pc, fp;

	if (!slot_of_sp(arch, &s->cfa, true, &sp) || !slot_of_sp(arch, &s->ra, false, &pc) ||
	    !slot_of_sp(arch, &s->fp, false, &fp) || pc != sp + 8 || !fits16(sp) || !fits16(fp))
		return false;
	*rule = (struct unwind_rule){ .cfa = UNWIND_CFA_SIGNAL, .off = (int16_t)fp, .cfa_off = (int32_t)sp };
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * Frame pointer and return address
 */

/* The place or value of a register in simpler words, where the expression has them. */
static struct state_register simplify(const struct state_register *r)
{
	struct expression_value v;

	if (r->how != STATE_EXPRESSION && r->how != STATE_VALUE_EXPRESSION)
		return *r;
	if (!expression__evaluate(r->expression, r->n_expression, true, &v) || v.deref ||
	    v.base != EXPRESSION_CFA)
		return *r;
	return (struct state_register){
		.how = r->how == STATE_EXPRESSION ? STATE_SAVED : STATE_VALUE,
		.off = v.low,
	};
}

/* A place by an expression over a register: gcc's realigned frames save fp at fp itself. */
static enum unwind_fp fp_of_expression(const struct state_arch *arch,
				       const struct state_register *r, int64_t *ret_off)
{
	struct expression_value v;

	if (!expression__evaluate(r->expression, r->n_expression, true, &v) || v.deref ||
	    v.base != EXPRESSION_REGISTER)
		return UNWIND_FP_LOST;
	*ret_off = v.low;
	if (r->how == STATE_VALUE_EXPRESSION)
		return v.reg == arch->fp && !v.low ? UNWIND_FP_SAME : UNWIND_FP_LOST;
	if (v.reg == arch->fp)
		return UNWIND_FP_FP;
	return v.reg == arch->sp ? UNWIND_FP_SP : UNWIND_FP_LOST;
}

/*
 * A large frame's saved fp lies too far from the frame address for a rule, but near the register
 * that the frame address was found by: then it is told from there.
 */
static enum unwind_fp saved_fp(const struct unwind_rule *cfa, int64_t *off)
{
	int64_t near = (int64_t)((uint64_t)*off + (uint64_t)cfa->cfa_off);

	if (fits16(*off) || (cfa->cfa != UNWIND_CFA_SP && cfa->cfa != UNWIND_CFA_FP))
		return UNWIND_FP_CFA;
	*off = near;
	return cfa->cfa == UNWIND_CFA_SP ? UNWIND_FP_SP : UNWIND_FP_FP;
}

/* The rule of fp, its offset, and what is not expressed. */
static enum unwind_fp fp_rule(const struct state_arch *arch, const struct state_register *r,
			      const struct unwind_rule *cfa, int64_t *ret_off, enum unwind_gap *ret_gap)
{
	enum unwind_fp how = UNWIND_FP_SAME;

	*ret_off = r->off;
	*ret_gap = UNWIND_GAP_N;
	switch (r->how) {
	case STATE_UNSET:
	case STATE_SAME:
		return UNWIND_FP_SAME;
	case STATE_UNDEFINED:
		return UNWIND_FP_LOST;
	case STATE_SAVED:
		how = saved_fp(cfa, ret_off);
		break;
	case STATE_VALUE:
		how = UNWIND_FP_VALUE;
		break;
	case STATE_REGISTER:
		if (r->off == arch->fp)
			return UNWIND_FP_SAME;
		how = r->off >= 0 && r->off < arch->n_regs ? UNWIND_FP_REG : UNWIND_FP_LOST;
		break;
	case STATE_EXPRESSION:
	case STATE_VALUE_EXPRESSION:
		how = fp_of_expression(arch, r, ret_off);
		*ret_gap = how == UNWIND_FP_LOST ? UNWIND_GAP_FP_EXPRESSION : UNWIND_GAP_N;
		return how;
	}
	if (how != UNWIND_FP_LOST && fits16(*ret_off))
		return how;
	*ret_gap = UNWIND_GAP_FP_PLACE;
	return UNWIND_FP_LOST;
}

/*
 * The return address in a place of its own: the one offset of a rule is either its or the frame
 * pointer's.
 */
static enum unwind_gap ra_apart(const struct state_register *ra, enum unwind_fp fp,
				enum unwind_ra how, struct unwind_rule *rule)
{
	bool fp_needs_offset = fp != UNWIND_FP_SAME && fp != UNWIND_FP_LOST;

	if (!fits16(ra->off))
		return UNWIND_GAP_RA_PLACE;
	rule->saved = unwind_saved(fp_needs_offset ? UNWIND_FP_LOST : fp, how);
	rule->off = (int16_t)ra->off;
	return fp_needs_offset ? UNWIND_GAP_FP_PLACE : UNWIND_GAP_N;
}

/* rule->saved and ->off hold the frame pointer's part already. */
static enum unwind_gap ra_rule(const struct state_arch *arch, const struct state_register *ra,
			       const struct state_register *fp, struct unwind_rule *rule)
{
	enum unwind_fp fp_how = unwind_saved_fp(rule->saved);
	bool unset = ra->how == STATE_UNSET;

	if ((unset && !arch->has_link) || (ra->how == STATE_SAVED && ra->off == -8))
		return UNWIND_GAP_N;
	if (arch->has_link &&
	    (unset || ra->how == STATE_SAME || (ra->how == STATE_REGISTER && ra->off == arch->ra))) {
		rule->saved = unwind_saved(fp_how, UNWIND_RA_LINK);
		return UNWIND_GAP_N;
	}
	if (ra->how == STATE_SAVED && fp->how == STATE_SAVED && fp_how != UNWIND_FP_LOST &&
	    ra->off - 8 == fp->off) {
		rule->saved = unwind_saved(fp_how, UNWIND_RA_PAIR);
		return UNWIND_GAP_N;
	}
	if (ra->how == STATE_SAVED)
		return ra_apart(ra, fp_how, UNWIND_RA_OFF, rule);
	if (ra->how == STATE_REGISTER && ra->off >= 0 && ra->off < arch->n_regs)
		return ra_apart(ra, fp_how, UNWIND_RA_REG, rule);
	return ra->how == STATE_EXPRESSION || ra->how == STATE_VALUE_EXPRESSION
		       ? UNWIND_GAP_RA_EXPRESSION
		       : UNWIND_GAP_RA_PLACE;
}

/* Adds to a rule where the caller's rbx is: false when that has no words. */
static bool rbx_rule(const struct state_arch *arch, const struct state_register *unsimple,
		     struct unwind_rule *rule)
{
	struct state_register r = simplify(unsimple);
	int64_t n = 0;

	if (r.how == STATE_UNSET || r.how == STATE_SAME ||
	    (r.how == STATE_REGISTER && r.off == arch->rbx))
		n = UNWIND_RBX_SAME;
	else if (r.how == STATE_SAVED && r.off % 8 == 0 && r.off <= -8 * UNWIND_RBX_NEAREST &&
		 r.off >= -8 * UNWIND_RBX_FARTHEST)
		n = r.off / -8;
	if (!n || unwind_saved_ra(rule->saved) != UNWIND_RA_WORD)
		return r.how == STATE_UNDEFINED;
	rule->saved |= unwind_saved(0, UNWIND_RA_RBX + n);
	return true;
}

struct unwind_rule state__rule(const struct state_arch *arch, const struct state *s, bool is_signal,
			       enum unwind_gap *ret_gap)
{
	struct unwind_rule rule = { 0 };
	struct state_register fp, ra;
	enum unwind_gap fp_gap;
	enum unwind_fp how;
	int64_t fp_off;

	*ret_gap = UNWIND_GAP_N;
	if (s->ra.how == STATE_UNDEFINED)
		return (struct unwind_rule){ .cfa = UNWIND_CFA_ROOT };
	if (is_signal) {
		if (signal_rule(arch, s, &rule))
			return rule;
		*ret_gap = UNWIND_GAP_SIGNAL;
		goto unsupported;
	}
	fp = simplify(&s->fp);
	ra = simplify(&s->ra);
	*ret_gap = cfa_rule(arch, s, &rule);
	if (*ret_gap != UNWIND_GAP_N)
		goto unsupported;
	how = fp_rule(arch, &fp, &rule, &fp_off, &fp_gap);
	rule.saved = unwind_saved(how, UNWIND_RA_WORD);
	rule.off = how == UNWIND_FP_SAME || how == UNWIND_FP_LOST ? 0 : (int16_t)fp_off;
	*ret_gap = ra_rule(arch, &ra, &fp, &rule);
	if (*ret_gap == UNWIND_GAP_RA_EXPRESSION || *ret_gap == UNWIND_GAP_RA_PLACE)
		goto unsupported;
	if (fp_gap != UNWIND_GAP_N)
		*ret_gap = fp_gap;
	if (arch->rbx != STATE_NO_REGISTER && !rbx_rule(arch, &s->rbx, &rule))
		*ret_gap = UNWIND_GAP_RBX_PLACE;
	return rule;

unsupported:
	return (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED, .cfa_off = (int32_t)*ret_gap };
}
