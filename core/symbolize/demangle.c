/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/demangle.c - names of C++ and Rust as people write them
 *
 * libiberty's callback interface prints the name in pieces, so nothing is allocated here and its
 * output can be stopped. That matters: back references let a name of a few hundred bytes expand to
 * 2^100. The callback returns nothing, so it leaves by longjmp when the room is used up. libiberty
 * holds no memory at that moment, with one exception: Rust's punycode identifiers are printed from
 * a block, in one piece that is not ASCII; such a piece is cut and the next one jumps.
 * DMGL_NO_RECURSE_LIMIT stays off, so depth and stack are bounded too (names of more than 1024
 * bytes are then not demangled as C++, as in c++filt).
 *
 * Licence: libiberty's demanglers may be linked into anything (their exceptions to the GPL and LGPL
 * say so).
 * Threads: any. Sources: libiberty (demangle.h, cp-demangle.c, rust-demangle.c), Itanium C++ ABI
 * 5.1, Rust RFC 2603.
 */
#include "core/symbolize/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

#include "core/base/str.h"

struct printer {
	char *out;
	size_t cap, n;
	bool full;
	jmp_buf stop;
};

static bool is_ascii(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((unsigned char)p[i] >= 0x80)
			return false;
	}
	return true;
}

static void print_piece(const char *piece, size_t n, void *ctx)
{
	struct printer *p = ctx;
	size_t room = p->cap - 1 - p->n;

	if (n > room) {
		p->full = true;
		n = room;
	}
	if (n)
		memcpy(p->out + p->n, piece, n);
	p->n += n;
	if (p->full && is_ascii(piece, n))
		longjmp(p->stop, 1);
}

/* Only what begins like a mangled name is worth the parser. */
static bool looks_mangled(const char *s)
{
	while (*s == '_' || *s == '.' || *s == '$') {
		if (s[0] == '_' && (s[1] == 'Z' || s[1] == 'R'))
			return true;
		s++;
	}
	return false;
}

/* True when the text was demangled, whole or cut. */
static bool demangle(const char *mangled, struct printer *p)
{
	int done;

	if (setjmp(p->stop))
		return true;
	/* Rust first: its legacy names are valid C++ ones too. */
	done = rust_demangle_callback(mangled, DMGL_NO_OPTS, print_piece, p);
	if (done)
		return true;
	p->n = 0; /* pieces of an attempt that failed in the middle */
	p->full = false;
	done = cplus_demangle_v3_callback(mangled, DMGL_NO_OPTS, print_piece, p);
	return done && p->n > 0;
}

/* Puts "..." at the end of what did not fit. */
static size_t mark_cut(char *out, size_t n)
{
	size_t keep = n > 3 ? str__utf8_cut(out, n - 3) : 0;

	memcpy(out + keep, "...", n - keep < 3 ? n - keep : 3);
	return n - keep < 3 ? n : keep + 3;
}

/* Writes the name into p, demangled or as it is. */
static void print_name(struct dcm_str raw, struct printer *p)
{
	char mangled[DEMANGLE_MAX_INPUT + 1];

	if (raw.n <= DEMANGLE_MAX_INPUT) {
		memcpy(mangled, raw.p, raw.n);
		mangled[raw.n] = '\0';
		if (looks_mangled(mangled) && demangle(mangled, p))
			return;
	}
	p->full = raw.n > p->cap - 1;
	p->n = p->full ? p->cap - 1 : raw.n;
	memcpy(p->out, raw.p, p->n);
}

uint32_t demangle__name(struct dcm_str raw, char *out, size_t cap)
{
	size_t prefix = str__starts(raw, STR("[plt] ")) && cap > 64 ? 6 : 0;
	struct printer p = { .out = out + prefix, .cap = cap - prefix };
	const char *version;

	memcpy(out, raw.p, prefix);
	raw.p += prefix;
	raw.n -= (uint32_t)prefix;
	version = raw.n > 1 ? memchr(raw.p + 1, '@', raw.n - 1) : NULL;
	if (version)
		raw.n = (uint32_t)(version - raw.p);
	if (raw.n)
		print_name(raw, &p);
	if (p.full)
		p.n = mark_cut(p.out, p.n);
	p.out[p.n] = '\0';
	str__clean(p.out, p.n);
	return (uint32_t)(prefix + p.n);
}
