/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_threads.c - where each thread of a program is
 *
 *	--- threadz 1 ---
 *
 *	--- Thread 7f794ab90940 (name: main/14748) stack: ---
 *	  PC:  0x00bc8f1c: helper(arg *)
 *	  0x0040be31: main
 *	--- Thread 7f794964e700 (name: thread1/14751) stack: ---
 *	  [same as previous thread]
 *
 * All addresses of a thread's lines are its stack, the one that made it (creator:) too, as Go's
 * reader has it; names are passed over. Otherwise than there the mappings may be missing, and a thread
 * of which no stack is known is one with an empty stack (Go's: one more of the thread before).
 */
#include <errno.h>
#include <string.h>

#include "core/base/str.h"
#include "core/codec/legacy_profile.h"

static bool is_thread(struct dcm_str line)
{
	return str__starts(line, STR("--- Thread ")) && str__ends(line, STR(" stack: ---"));
}

/* The lines of one thread, up to the next "---". */
static int read_thread(struct legacy_profile *p, struct legacy_lines *l, bool *more)
{
	const int64_t one = 1;
	size_t n_before = p->frames.n;
	bool is_same = false;
	int r = 0;

	while (r == 0 && (*more = legacy_lines__next(l)) && !str__starts(l->text, STR("---")) &&
	       !legacy_maps__begin(l->text)) {
		if (l->text.n && memmem(l->text.p, l->text.n, "same as previous thread", 23))
			is_same = true;
		else
			r = legacy_profile__addresses(p, l, l->text, p->frames.n == n_before);
	}
	if (r < 0 || !is_same || p->samples.n == 0)
		return r < 0 ? r : legacy_profile__sample(p, &one, 0);
	p->frames.n = n_before;
	p->samples.v[p->samples.n - 1].values[0]++;
	return 0;
}

int legacy_threads__read(struct legacy_profile *p, struct legacy_lines *l)
{
	bool more = true;
	int r = 0;

	p->what = "thread profile";
	p->n_types = 1;
	p->types[0] = p->period_type = (struct legacy_unit){ "thread", "count" };
	p->period = 1;
	while (more && !is_thread(l->text) && !legacy_maps__begin(l->text) &&
	       !str__starts(l->text, STR("---- no stack trace for")))
		more = legacy_lines__next(l);
	while (r == 0 && more && is_thread(l->text))
		r = read_thread(p, l, &more);
	if (r < 0)
		return r;
	legacy_profile__drop_doubles(p);
	return legacy_maps__read_behind(p, l);
}
