/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/expression.c - the few DWARF expressions that compilers write into CFI
 */
#include "plugins/input/ebpf/unwind/expression.h"

#include "plugins/input/ebpf/unwind/bytes.h"

enum {
	STACK = 8,
	EXPRESSION_BYTES = 256, /* compilers write some ten; each row of a function runs it again */
};

/* DWARF 5, 7.7.1. */
enum op {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_NOP = 0x96,
};

struct machine {
	struct expression_value v[STACK];
	unsigned n;
};

static bool push(struct machine *m, struct expression_value v)
{
	if (m->n == STACK)
		return false;
	m->v[m->n++] = v;
	return true;
}

static bool push_number(struct machine *m, int64_t n)
{
	return push(m, (struct expression_value){ .base = EXPRESSION_NUMBER, .low = n });
}

static bool push_register(struct machine *m, uint64_t reg, int64_t off)
{
	return reg <= UINT32_MAX &&
	       push(m, (struct expression_value){
			       .base = EXPRESSION_REGISTER, .reg = (uint32_t)reg, .low = off });
}

/* Adds a number to the top of the stack, modulo 2^64. */
static bool add(struct machine *m, uint64_t n)
{
	struct expression_value *top = &m->v[m->n - 1];
	int64_t *part = top->deref ? &top->high : &top->low;

	*part = (int64_t)((uint64_t)*part + n);
	return true;
}

static bool plus(struct machine *m, bool minus)
{
	struct expression_value a, b;

	if (m->n < 2)
		return false;
	b = m->v[--m->n];
	if (b.base == EXPRESSION_NUMBER && !b.deref)
		return add(m, minus ? 0 - (uint64_t)b.low : (uint64_t)b.low);
	a = m->v[m->n - 1];
	if (minus || a.base != EXPRESSION_NUMBER || a.deref)
		return false;
	m->v[m->n - 1] = b;
	return add(m, (uint64_t)a.low);
}

static bool deref(struct machine *m)
{
	struct expression_value *top;

	if (!m->n)
		return false;
	top = &m->v[m->n - 1];
	if (top->deref || top->base == EXPRESSION_NUMBER)
		return false;
	top->deref = true;
	return true;
}

/* const1u, const1s, const2u, ..., const8s. */
static int64_t fixed_constant(struct bytes *b, uint8_t op)
{
	unsigned n = 1u << ((op - OP_CONST1U) / 2), unused = 64 - 8 * n;
	uint64_t v = bytes__fixed(b, n);

	return op & 1 ? (int64_t)(v << unused) >> unused : (int64_t)v;
}

static bool execute(struct machine *m, struct bytes *b, uint8_t op)
{
	if (op >= OP_LIT0 && op <= OP_LIT31)
		return push_number(m, op - OP_LIT0);
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_register(m, op - OP_BREG0, bytes__sleb(b));
	if (op >= OP_CONST1U && op <= OP_CONST8S)
		return push_number(m, fixed_constant(b, op));
	switch (op) {
	case OP_ADDR:
		return push_number(m, (int64_t)bytes__fixed(b, 8));
	case OP_CONSTU:
		return push_number(m, (int64_t)bytes__uleb(b));
	case OP_CONSTS:
		return push_number(m, bytes__sleb(b));
	case OP_BREGX: {
		uint64_t reg = bytes__uleb(b);

		return push_register(m, reg, bytes__sleb(b));
	}
	case OP_DEREF:
		return deref(m);
	case OP_PLUS_UCONST:
		return m->n && add(m, bytes__uleb(b));
	case OP_PLUS:
		return plus(m, false);
	case OP_MINUS:
		return plus(m, true);
	case OP_NOP:
		return true;
	default:
		return false;
	}
}

bool expression__evaluate(const uint8_t *p, size_t n, bool with_cfa, struct expression_value *ret)
{
	struct bytes b = { .p = p, .end = p + n };
	struct machine m = { .n = 0 };

	if (n > EXPRESSION_BYTES)
		return false;
	if (with_cfa)
		push(&m, (struct expression_value){ .base = EXPRESSION_CFA });
	while (b.p < b.end)
		if (!execute(&m, &b, bytes__u8(&b)))
			return false;
	if (!m.n || b.bad)
		return false;
	*ret = m.v[m.n - 1];
	return true;
}

bool expression__is_plt(const uint8_t *p, size_t n, uint8_t *ret_literal)
{
	/* breg7(rsp) 8, breg16(rip) 0, lit15, and, LIT, ge, lit3, shl, plus */
	const uint8_t head[] = { OP_BREG0 + 7, 8, OP_BREG0 + 16, 0, OP_LIT0 + 15, OP_AND };
	const uint8_t tail[] = { OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS };

	if (n != sizeof(head) + 1 + sizeof(tail) || memcmp(p, head, sizeof(head)) ||
	    memcmp(p + sizeof(head) + 1, tail, sizeof(tail)))
		return false;
	*ret_literal = (uint8_t)(p[sizeof(head)] - OP_LIT0);
	return *ret_literal < 16;
}
