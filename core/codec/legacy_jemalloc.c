/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_jemalloc.c - jemalloc's heap profiles
 *
 *	heap_v2/524288
 *	  t*: 28106: 56637512 [0: 0]
 *	  t3: 352: 16777344 [0: 0]
 *	@ 0x5f86da8 0x5f5a1dc
 *	  t*: 13: 6688 [0: 0]
 *	  t3: 12: 6496 [0: 0]
 *
 * Behind a stack its sums: of all threads (t*), and of each, which are left out. Before the first
 * stack those of everything. Numbers mean what those of "heap_v2" in legacy_heap.c do; what was ever
 * allocated is there when jemalloc was told prof_accum. Go's pprof does not read this; jeprof, which
 * comes with jemalloc, is the authority.
 */
#include <errno.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/codec/legacy_heap.h"
#include "core/codec/legacy_profile.h"

static const char form[] = "\"@\" and a stack, or \"t*: N: BYTES [N: BYTES]\"";

static int read_rate(struct legacy_profile *p, const struct legacy_lines *l)
{
	struct dcm_str s = l->text;

	legacy_lines__take(&s, "heap_v2/");
	return legacy_profile__number(p, l, legacy_lines__take_int(&s, &p->period), "heap_v2/RATE");
}

/* Where a stack stands, until its sums come. */
struct stack {
	struct legacy_lines at;
	bool is_open;
};

/* The sums of all threads: everything's, which tell the types, or those of the stack before. */
static int read_sums(struct legacy_profile *p, const struct legacy_lines *l, struct dcm_str s,
		     struct stack *stack)
{
	struct legacy_heap_values values;
	int64_t counts[4];

	int r = legacy_heap__counts(p, l, &s, counts);
	if (r < 0)
		return r;
	if (p->n_types == 0) {
		legacy_heap__types(p, counts[2] || counts[3]);
		return 0;
	}
	if (!stack->is_open)
		return legacy_profile__fault(p, l, "sums without a stack before them");
	stack->is_open = false;
	r = legacy_heap__values(p, l, counts, p->period, &values);
	if (r == 0)
		r = legacy_profile__addresses(p, &stack->at, stack->at.text, false);
	return r < 0 ? r : legacy_profile__sample(p, values.v, values.block_bytes);
}

static int read_line(struct legacy_profile *p, const struct legacy_lines *l, struct stack *stack)
{
	struct dcm_str s = l->text;

	if (legacy_lines__take(&s, "@")) {
		if (p->n_types == 0)
			return legacy_profile__fault(p, l, "a stack before the sums of everything");
		*stack = (struct stack){ *l, true };
		return 0;
	}
	if (legacy_lines__take(&s, "t*:"))
		return read_sums(p, l, s, stack);
	/* "t3: .." */
	if (s.n < 2 || *s.p != 't' || s.p[1] < '0' || s.p[1] > '9')
		return legacy_profile__number(p, l, LEGACY_NO_NUMBER, form);
	return 0;
}

int legacy_jemalloc__read(struct legacy_profile *p, struct legacy_lines *l)
{
	struct stack stack = { .is_open = false };

	p->what = "jemalloc heap profile";
	int r = read_rate(p, l);
	while (r == 0 && legacy_lines__next_said(l) && !legacy_maps__begin(l->text))
		r = read_line(p, l, &stack);
	if (r == 0 && p->n_types == 0)
		r = error__set(p->err, -EINVAL, "pprof: %s: it is cut off behind its first line",
			       p->what);
	return r < 0 ? r : legacy_maps__read_behind(p, l);
}
