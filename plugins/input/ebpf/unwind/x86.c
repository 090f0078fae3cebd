/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/x86.c - instructions of x86-64: how long they are, where they lead, and the stack pointer
 */
#include "plugins/input/ebpf/unwind/x86.h"

#include "core/base/le.h"

enum {
	LONGEST = 15,
	SP = 4,
	REX_W = 8,
	REX_R = 4,
	REX_B = 1,
};

struct reader {
	const uint8_t *p;
	size_t n, at;
	bool is_short; /* prefix 66 */
	bool is_cut;
};

static uint8_t next(struct reader *r)
{
	if (r->at < r->n)
		return r->p[r->at++];
	r->is_cut = true;
	return 0;
}

static void skip(struct reader *r, size_t n)
{
	r->at += n;
	if (r->at > r->n)
		r->is_cut = true;
}

static bool is_prefix(uint8_t c)
{
	return c == 0x66 || c == 0x67 || c == 0xf2 || c == 0xf3 || c == 0xf0 || c == 0x2e ||
	       c == 0x36 || c == 0x3e || c == 0x26 || c == 0x64 || c == 0x65;
}

static void modrm(struct reader *r, struct x86_insn *i)
{
	uint8_t mod, rm;

	i->modrm = next(r);
	mod = i->modrm >> 6;
	rm = i->modrm & 7;
	if (mod == 3)
		return;
	if (rm == 4) {
		uint8_t sib = next(r);

		if (mod == 0 && (sib & 7) == 5)
			skip(r, 4);
	} else if (mod == 0 && rm == 5) {
		skip(r, 4);
	}
	skip(r, mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

static void relative(struct reader *r, struct x86_insn *i, size_t n)
{
	if (r->at + n <= r->n)
		i->rel = n == 1 ? (int8_t)r->p[r->at] : (int32_t)le__get32(r->p + r->at);
	skip(r, n);
}

/* An immediate of the operand's size, of 4 bytes at most. */
static size_t operand(const struct reader *r, const struct x86_insn *i)
{
	return r->is_short && !(i->rex & REX_W) ? 2 : 4;
}

/* What follows the opcodes up to 3f (arithmetic in rows of eight), and from c0 on. */
static bool low(struct reader *r, struct x86_insn *i)
{
	switch (i->op & 7) {
	case 4:
		skip(r, 1);
		return true;
	case 5:
		skip(r, operand(r, i));
		return true;
	case 6:
	case 7:
		return false;
	default:
		modrm(r, i);
		return true;
	}
}

static bool high(struct reader *r, struct x86_insn *i)
{
	switch (i->op) {
	case 0xc0:
	case 0xc1:
	case 0xc6:
		modrm(r, i);
		skip(r, 1);
		return true;
	case 0xc7:
		modrm(r, i);
		skip(r, operand(r, i));
		return true;
	case 0xf6:
	case 0xf7:
		modrm(r, i);
		if (!(i->modrm & 0x30))
			skip(r, i->op == 0xf6 ? 1 : operand(r, i));
		return true;
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
	case 0xd8:
	case 0xd9:
	case 0xda:
	case 0xdb:
	case 0xdc:
	case 0xdd:
	case 0xde:
	case 0xdf:
	case 0xfe:
	case 0xff:
		modrm(r, i);
		return true;
	case 0xc2:
	case 0xca:
		skip(r, 2);
		return true;
	case 0xc8:
		skip(r, 3);
		return true;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
	case 0xeb:
		relative(r, i, 1);
		return true;
	case 0xe8:
	case 0xe9:
		relative(r, i, 4);
		return true;
	case 0xcd:
	case 0xe4:
	case 0xe5:
	case 0xe6:
	case 0xe7:
		skip(r, 1);
		return true;
	case 0xce:
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xea:
		return false;
	default:
		return true;
	}
}

static bool one_byte(struct reader *r, struct x86_insn *i, bool has_long_address)
{
	uint8_t op = i->op;

	if (op < 0x40)
		return low(r, i);
	if (op >= 0xc0)
		return high(r, i);
	if ((op & 0xf0) == 0x70) {
		relative(r, i, 1);
	} else if (op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op < 0x90)) {
		modrm(r, i);
		skip(r, op == 0x69 || op == 0x81 ? operand(r, i) : op == 0x6b || op == 0x80 || op == 0x83);
	} else if (op == 0x68 || op == 0xa9) {
		skip(r, operand(r, i));
	} else if (op == 0x6a || op == 0xa8 || (op & 0xf8) == 0xb0) {
		skip(r, 1);
	} else if ((op & 0xf8) == 0xb8) {
		skip(r, i->rex & REX_W ? 8 : operand(r, i));
	} else if ((op & 0xfc) == 0xa0) {
		skip(r, has_long_address ? 8 : 4);
	}
	return op != 0x60 && op != 0x61 && op != 0x82 && op != 0x9a;
}

/* Has an immediate byte behind its operands, in 0f, with or without VEX? */
static bool has_byte(uint8_t op)
{
	return (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
	       op == 0xc4 || op == 0xc5 || op == 0xc6;
}

static bool two_bytes(struct reader *r, struct x86_insn *i)
{
	uint8_t op = i->op;

	if (op == 0x04 || op == 0x0a || op == 0x0c || (op >= 0x24 && op <= 0x27) || op == 0x36 ||
	    op == 0x39)
		return false;
	if ((op & 0xf0) == 0x80) {
		relative(r, i, 4);
		return true;
	}
	if ((op >= 0x05 && op <= 0x0b) || op == 0x0e || (op >= 0x30 && op <= 0x37) || op == 0x77 ||
	    (op >= 0xa0 && op <= 0xa2) || (op >= 0xa8 && op <= 0xaa) || op >= 0xc8)
		if (op < 0xd0)
			return true;
	modrm(r, i);
	skip(r, has_byte(op) || op == 0x0f);
	return true;
}

static bool vector(struct reader *r, struct x86_insn *i, uint8_t first)
{
	i->is_vex = true;
	i->map = X86_0F;
	if (first == 0xc4)
		i->map = next(r) & 0x1f;
	else if (first == 0x62)
		i->map = next(r) & 7;
	skip(r, first == 0x62 ? 2 : 1);
	i->op = next(r);
	if (i->map == X86_0F && i->op == 0x77 && first != 0x62)
		return true;
	modrm(r, i);
	skip(r, i->map == X86_0F3A || (i->map == X86_0F && has_byte(i->op)));
	return i->map != X86_ONE_BYTE && i->map <= 7;
}

static bool operands(struct reader *r, struct x86_insn *i, bool has_long_address)
{
	i->op = next(r);
	if (i->op == 0xc4 || i->op == 0xc5 || i->op == 0x62)
		return vector(r, i, i->op);
	if (i->op != 0x0f)
		return one_byte(r, i, has_long_address);
	i->map = X86_0F;
	i->op = next(r);
	if (i->op != 0x38 && i->op != 0x3a)
		return two_bytes(r, i);
	i->map = i->op == 0x38 ? X86_0F38 : X86_0F3A;
	i->op = next(r);
	modrm(r, i);
	skip(r, i->map == X86_0F3A);
	return true;
}

bool x86__decode(const uint8_t *p, size_t n, struct x86_insn *ret)
{
	struct reader r = { .p = p, .n = n < LONGEST ? n : LONGEST };
	struct x86_insn i = { 0 };
	bool has_long_address = true, is;

	for (; r.at < r.n && is_prefix(r.p[r.at]); r.at++) {
		r.is_short |= r.p[r.at] == 0x66;
		has_long_address &= r.p[r.at] != 0x67;
	}
	if (r.at < r.n && (r.p[r.at] & 0xf0) == 0x40)
		i.rex = r.p[r.at++];
	is = operands(&r, &i, has_long_address);
	if (!is || r.is_cut)
		return false;
	i.length = (uint8_t)r.at;
	*ret = i;
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * What it does
 */

static bool reg_is_sp(const struct x86_insn *i)
{
	return (i->modrm >> 3 & 7) == SP && !(i->rex & REX_R);
}

static bool rm_is_sp(const struct x86_insn *i)
{
	return i->modrm >> 6 == 3 && (i->modrm & 7) == SP && !(i->rex & REX_B);
}

/* The part of the opcode in its operands. */
static uint8_t part(const struct x86_insn *i)
{
	return i->modrm >> 3 & 7;
}

/* Those of a byte write a part of another register. */
static bool one_byte_moves(const struct x86_insn *i)
{
	uint8_t op = i->op;

	if (op < 0x38)
		return (op & 7) == 1 ? rm_is_sp(i) : (op & 7) == 3 && reg_is_sp(i);
	switch (op) {
	case 0x68:
	case 0x6a:
	case 0x8f:
	case 0x9c:
	case 0x9d:
	case 0xc8:
	case 0xc9:
	case 0xcf:
		return true;
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8b:
	case 0x8d:
		return reg_is_sp(i);
	case 0x81:
	case 0x83:
		return part(i) != 7 && rm_is_sp(i);
	case 0x87:
		return reg_is_sp(i) || rm_is_sp(i);
	case 0x89:
	case 0x8c:
	case 0xc1:
	case 0xc7:
	case 0xd1:
	case 0xd3:
		return rm_is_sp(i);
	case 0xf7:
		return (part(i) == 2 || part(i) == 3) && rm_is_sp(i);
	case 0xff:
		return part(i) == 6 || (part(i) < 2 && rm_is_sp(i));
	case 0x94:
	case 0xbc:
		return !(i->rex & REX_B);
	default:
		return (op & 0xf0) == 0x50;
	}
}

static bool two_bytes_move(const struct x86_insn *i)
{
	switch (i->op) {
	case 0xa0:
	case 0xa1:
	case 0xa8:
	case 0xa9:
		return true;
	case 0xab:
	case 0xb1:
	case 0xb3:
	case 0xbb:
	case 0xa4:
	case 0xa5:
	case 0xac:
	case 0xad:
		return rm_is_sp(i);
	case 0xba:
		return part(i) > 4 && rm_is_sp(i);
	case 0xc1:
		return reg_is_sp(i) || rm_is_sp(i);
	case 0xcc:
		return !(i->rex & REX_B);
	case 0xaf:
	case 0xb6:
	case 0xb7:
	case 0xb8:
	case 0xbc:
	case 0xbd:
	case 0xbe:
	case 0xbf:
		return reg_is_sp(i);
	default:
		return (i->op & 0xf0) == 0x40 && reg_is_sp(i);
	}
}

bool x86__moves_sp(const struct x86_insn *i)
{
	return !i->is_vex && ((i->map == X86_ONE_BYTE && one_byte_moves(i)) ||
			      (i->map == X86_0F && two_bytes_move(i)));
}

static bool is_one_byte(const struct x86_insn *i)
{
	return i->map == X86_ONE_BYTE && !i->is_vex;
}

bool x86__is_call(const struct x86_insn *i)
{
	return is_one_byte(i) && (i->op == 0xe8 || (i->op == 0xff && (part(i) == 2 || part(i) == 3)));
}

bool x86__is_jump(const struct x86_insn *i)
{
	if (i->map == X86_0F)
		return !i->is_vex && (i->op & 0xf0) == 0x80;
	return is_one_byte(i) &&
	       ((i->op & 0xf0) == 0x70 || (i->op & 0xfc) == 0xe0 || i->op == 0xe9 || i->op == 0xeb);
}

bool x86__is_indirect(const struct x86_insn *i)
{
	return is_one_byte(i) && i->op == 0xff && (part(i) == 4 || part(i) == 5);
}

bool x86__is_end(const struct x86_insn *i)
{
	if (i->map == X86_0F)
		return !i->is_vex && i->op == 0x0b;
	return x86__is_indirect(i) ||
	       (is_one_byte(i) && (i->op == 0xc3 || i->op == 0xc2 || i->op == 0xe9 ||
				   i->op == 0xeb || i->op == 0xf4 || i->op == 0xcc));
}

bool x86__is_filling(const struct x86_insn *i)
{
	if (i->map == X86_0F)
		return !i->is_vex && i->op == 0x1f;
	return is_one_byte(i) && ((i->op == 0x90 && !(i->rex & REX_B)) || i->op == 0xcc);
}
