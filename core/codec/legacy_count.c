/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_count.c - Go's counts as text: goroutine, threadcreate, and any that a program made
 *
 *	goroutine profile: total 7
 *	1 @ 0x44cb3 0x45045 0x45323
 *
 * Comments, where Go names the frames for people, are passed over, as Go's reader does. Otherwise
 * than there a stack may be empty: Go writes "7 @" for threads that it does not know the maker of.
 */
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/type.h"
#include "core/codec/legacy_profile.h"

static const char form[] = "N @ 0x..";

/* What stands before " profile:" is the type. One cut off could be another profile's. */
static int read_type(struct legacy_profile *p, const struct legacy_lines *l)
{
	uint32_t n = 0;

	while (n < l->text.n && !legacy_lines__is_blank(l->text.p[n]))
		n++;
	if (n > TYPE_PART_MAX_BYTES)
		return legacy_profile__fault(p, l,
					     "its name has %u bytes, more than %d; give it a "
					     "shorter one",
					     n, TYPE_PART_MAX_BYTES);
	const char *type = arena__printf(&p->arena, "%.*s", (int)n, l->text.p);
	if (!type)
		return error__nomem(p->err);
	p->n_types = 1;
	p->types[0] = p->period_type = (struct legacy_unit){ type, "count" };
	p->period = 1;
	return 0;
}

static int read_sample(struct legacy_profile *p, const struct legacy_lines *l)
{
	struct dcm_str s = l->text;
	int64_t count;

	int r = legacy_profile__number(p, l, legacy_lines__take_int(&s, &count), form);
	if (r < 0)
		return r;
	if (!legacy_lines__take(&s, " @"))
		return legacy_profile__number(p, l, LEGACY_NO_NUMBER, form);
	r = legacy_profile__addresses(p, l, s, false);
	return r < 0 ? r : legacy_profile__sample(p, &count, 0);
}

int legacy_count__read(struct legacy_profile *p, struct legacy_lines *l)
{
	p->what = "Go count profile";
	int r = read_type(p, l);
	while (r == 0 && legacy_lines__next_said(l) && !str__starts(l->text, STR("---")) &&
	       !legacy_maps__begin(l->text))
		r = read_sample(p, l);
	return r < 0 ? r : legacy_maps__read_behind(p, l);
}
