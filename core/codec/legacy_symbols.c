/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_symbols.c - the names that stand before a profile of an older format
 *
 * What `jeprof --raw` and gperftools' `pprof --raw` write:
 *
 *	--- symbol
 *	binary=/usr/bin/server
 *	0x000000000040116c main
 *	0x0000000000401180 caller--inlined
 *	---
 *
 * Where nm has several functions of one name, "name<16 hexadecimal digits>" tells them apart; that is
 * taken off the last name of a line.
 *
 * com.papertrail:profiler for Java writes the same; its "addresses" are numbers of frames, from 1 on.
 *
 * The others have taken 1 from the addresses of callers, as our readers do; from the leaf of a heap
 * profile only ours do. So an address without a name has the name of the one behind it.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/codec/legacy_profile.h"

/* An address where there is no name; a function's own address behind one that is not the only one. */
static struct dcm_str without_addresses(struct dcm_str names)
{
	const struct dcm_str address = STR("0x");
	uint32_t digits = 0;

	if (str__starts(names, address))
		return STR("");
	while (digits + 1 < names.n && str__hex_digit(names.p[names.n - 2 - digits]) >= 0)
		digits++;
	if (digits == 16 && names.n > 18 && names.p[names.n - 1] == '>' && names.p[names.n - 18] == '<')
		names.n -= 18;
	return names;
}

int legacy_symbols__read(struct legacy_profile *p, struct legacy_lines *l)
{
	while (legacy_lines__next(l)) {
		struct dcm_str rest = l->text;
		struct legacy_symbol symbol;
		if (str__starts(rest, STR("---")))
			return 0;
		if (!str__starts(rest, STR("0x")))
			continue;
		int r = legacy_profile__number(p, l, legacy_lines__take_hex(&rest, &symbol.address),
					       "an address and its name");
		if (r < 0)
			return r;
		symbol.names = without_addresses(legacy_lines__trim(rest));
		if (p->symbols.n >= p->max_locations)
			return error__set(p->err, -E2BIG,
					  "pprof: %s: more names than so many bytes should need",
					  p->what);
		if (symbol.names.n && !vec__push(&p->symbols, symbol))
			return error__nomem(p->err);
	}
	return legacy_profile__fault(p, l, "the symbols have no end: a line \"---\" is missing");
}

bool legacy_symbols__are_of_numbers(const struct legacy_profile *p)
{
	return p->symbols.n && p->symbols.v[0].address == 1;
}

/* By address; of one address, as they stood there. */
static int by_address(const void *a, const void *b)
{
	const struct legacy_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->names.p < y->names.p ? -1 : x->names.p > y->names.p;
}

void legacy_symbols__sort(struct legacy_profile *p)
{
	if (p->symbols.n)
		qsort(p->symbols.v, p->symbols.n, sizeof(*p->symbols.v), by_address);
}

/* The first of at least this address. */
static size_t lower_bound(const struct legacy_profile *p, uint64_t address)
{
	size_t low = 0, high = p->symbols.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (p->symbols.v[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct dcm_str legacy_symbols__find(const struct legacy_profile *p, uint64_t address)
{
	size_t i = lower_bound(p, address);

	if (i < p->symbols.n && p->symbols.v[i].address - address <= 1)
		return p->symbols.v[i].names;
	return STR("");
}
