/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_heap.c - heap profiles as text: gperftools', tcmalloc's and Go's
 *
 *	heap profile:    144:  8498176 [   144:  8498176] @ heapz_v2/524288
 *	     1:     9216 [     1:     9216] @ 0xc635c8 0x42ecc3
 *
 * Objects and bytes in use, those ever allocated in brackets, the stack; sums of all in the first
 * line, and behind its '@' how it was sampled:
 *
 *	heap_v2/N, heapz_v2/N	an allocation of S bytes with the probability 1 - exp(-S/N); both
 *				numbers are divided by it
 *	heap/N			the same with N/2: Go's before 1.9
 *	heapprofile		everything
 *	growth, growthz		everything: what made the heap grow
 *	fragmentation(z)	everything: what lies unused between what is in use
 *
 * What was allocated counts when the sums differ from those in use and are not 0: tcmalloc's samples
 * have the same numbers twice. Otherwise than Go's reader: what is in use is always inuse_objects and
 * inuse_space (Go's: "objects" and "space" when it stands alone), so that it is one type from profile
 * to profile; a line must begin with its numbers.
 */
#include "core/codec/legacy_heap.h"

#include <math.h>

#include "core/base/str.h"
#include "core/codec/legacy_profile.h"

static const char form[] = "N: BYTES [N: BYTES] @ 0x..";

void legacy_heap__unsample(int64_t rate, int64_t *count, int64_t *bytes)
{
	if (rate <= 1)
		return;
	if (*count == 0 || *bytes == 0) {
		*count = *bytes = 0;
		return;
	}
	double average = (double)*bytes / (double)*count;
	double scale = 1 / (1 - exp(-average / (double)rate));
	*count = legacy_profile__whole((double)*count * scale);
	*bytes = legacy_profile__whole((double)*bytes * scale);
}

int legacy_heap__counts(struct legacy_profile *p, const struct legacy_lines *l, struct dcm_str *s,
			int64_t ret[static 4])
{
	static const char *const behind[] = { ":", "[", ":", "]" };

	for (int i = 0; i < 4; i++) {
		legacy_lines__skip_blanks(s);
		int r = legacy_profile__number(p, l, legacy_lines__take_int(s, &ret[i]), form);
		if (r < 0)
			return r;
		legacy_lines__skip_blanks(s);
		if (!legacy_lines__take(s, behind[i]))
			return legacy_profile__number(p, l, LEGACY_NO_NUMBER, form);
	}
	return 0;
}

/* The two values of a pair, and in *block_bytes what one object has. */
static int take_pair(struct legacy_profile *p, const struct legacy_lines *l, const int64_t *pair,
		     int64_t rate, int64_t *ret, int64_t *block_bytes)
{
	ret[0] = pair[0];
	ret[1] = pair[1];
	if (pair[0] == 0 && pair[1] != 0)
		return legacy_profile__fault(p, l, "%lld bytes of no object", (long long)pair[1]);
	if (pair[0] == 0)
		return 0;
	*block_bytes = pair[0] == -1 ? legacy_profile__times(pair[1], -1) : pair[1] / pair[0];
	legacy_heap__unsample(rate, &ret[0], &ret[1]);
	return 0;
}

int legacy_heap__values(struct legacy_profile *p, const struct legacy_lines *l,
			const int64_t *counts, int64_t rate, struct legacy_heap_values *ret)
{
	uint32_t n = 0;
	int r = 0;

	ret->block_bytes = 0;
	if (p->n_types == 4) {
		r = take_pair(p, l, &counts[2], rate, ret->v, &ret->block_bytes);
		n = 2;
	}
	return r < 0 ? r : take_pair(p, l, &counts[0], rate, &ret->v[n], &ret->block_bytes);
}

void legacy_heap__types(struct legacy_profile *p, bool has_alloc)
{
	static const struct legacy_unit types[] = {
		{ "alloc_objects", "count" },
		{ "alloc_space", "bytes" },
		{ "inuse_objects", "count" },
		{ "inuse_space", "bytes" },
	};

	p->n_types = has_alloc ? 4 : 2;
	for (uint32_t i = 0; i < p->n_types; i++)
		p->types[i] = types[4 - p->n_types + i];
	p->period_type = (struct legacy_unit){ "space", "bytes" };
}

static void other_types(struct legacy_profile *p, const char *name)
{
	p->name = name;
	p->n_types = 2;
	p->types[0] = (struct legacy_unit){ "objects", "count" };
	p->types[1] = (struct legacy_unit){ "space", "bytes" };
	p->period_type = p->types[1];
	p->period = 1;
}

/* How it was sampled, from behind '@'; *ret_rate is 0 when everything is there. */
static int read_kind(struct legacy_profile *p, const struct legacy_lines *l, struct dcm_str s,
		     bool has_alloc, int64_t *ret_rate)
{
	struct dcm_str kind = s;
	uint32_t n = 0;

	*ret_rate = p->period = 0;
	while (n < s.n && s.p[n] != '/' && !legacy_lines__is_blank(s.p[n]))
		n++;
	kind.n = n;
	s = (struct dcm_str){ s.p + n, s.n - n };
	if (legacy_lines__take(&s, "/") && s.n && *s.p != '-' &&
	    legacy_lines__take_int(&s, &p->period) == LEGACY_TOO_LARGE)
		return legacy_profile__number(p, l, LEGACY_TOO_LARGE, form);
	bool is_growth = str__starts(kind, STR("growth"));
	if (is_growth || str__starts(kind, STR("fragmentation"))) {
		other_types(p, is_growth ? "growth" : "fragmentation");
		return 0;
	}
	legacy_heap__types(p, has_alloc);
	if (str__eq(kind, STR("heapprofile"))) {
		p->period = 1;
		return 0;
	}
	if (str__eq(kind, STR("heap")))
		p->period /= 2;
	else if (!str__eq(kind, STR("heap_v2")) && !str__eq(kind, STR("heapz_v2")))
		return legacy_profile__fault(
			p, l,
			"its kind \"%.*s\" is not known; heap_v2, heapz_v2, heap, "
			"heapprofile, growth and fragmentation are",
			kind.n < 80 ? (int)kind.n : 80, kind.p);
	*ret_rate = p->period;
	return 0;
}

static int read_head(struct legacy_profile *p, const struct legacy_lines *l, int64_t *ret_rate)
{
	struct dcm_str s = l->text;
	int64_t sums[4];

	legacy_lines__take(&s, "heap profile:");
	int r = legacy_heap__counts(p, l, &s, sums);
	if (r < 0)
		return r;
	legacy_lines__skip_blanks(&s);
	if (!legacy_lines__take(&s, "@"))
		return legacy_profile__number(p, l, LEGACY_NO_NUMBER, form);
	legacy_lines__skip_blanks(&s);
	bool has_alloc = (sums[2] != sums[0] && sums[2]) || (sums[3] != sums[1] && sums[3]);
	return read_kind(p, l, s, has_alloc, ret_rate);
}

static int read_sample(struct legacy_profile *p, const struct legacy_lines *l, int64_t rate)
{
	struct legacy_heap_values values;
	struct dcm_str s = l->text;
	int64_t counts[4];

	int r = legacy_heap__counts(p, l, &s, counts);
	if (r < 0)
		return r;
	legacy_lines__skip_blanks(&s);
	if (!legacy_lines__take(&s, "@"))
		return legacy_profile__number(p, l, LEGACY_NO_NUMBER, form);
	r = legacy_heap__values(p, l, counts, rate, &values);
	if (r == 0)
		r = legacy_profile__addresses(p, l, s, false);
	return r < 0 ? r : legacy_profile__sample(p, values.v, values.block_bytes);
}

int legacy_heap__read(struct legacy_profile *p, struct legacy_lines *l)
{
	int64_t rate;

	p->what = "heap profile";
	int r = read_head(p, l, &rate);
	while (r == 0 && legacy_lines__next_said(l) && !legacy_maps__begin(l->text))
		r = read_sample(p, l, rate);
	return r < 0 ? r : legacy_maps__read_behind(p, l);
}
