/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_contention.c - who waited for locks, as text: gperftools' and Go's
 *
 *	--- contentionz 1 ---              Go: "--- mutex:", "--- contention:" (its block profile)
 *	cycles/second = 3201000000
 *	sampling period = 100
 *	ms since reset = 16502830
 *	  19490304       27 @ 0xbccc97 0xc61202
 *
 * Cycles and how many times; both times the period, and the cycles then in nanoseconds when it is
 * known how many there are in a second. The numbers are since the reset: it is cumulative, although
 * it says how long that was. Otherwise than Go's reader: attributes that are not known are passed
 * over, and there is a blank between the two numbers. Go's two are named as their profile.proto is
 * where a program serves it: their types are the same, and they would become one.
 */
#include <errno.h>
#include <string.h>

#include "core/base/str.h"
#include "core/codec/legacy_profile.h"

static const char form[] = "CYCLES N @ 0x..";

static int read_attribute(struct legacy_profile *p, const struct legacy_lines *l,
			  const char *equals, int64_t *cycles_hz)
{
	uint32_t n = (uint32_t)(equals - l->text.p);
	struct dcm_str key = legacy_lines__trim((struct dcm_str){ l->text.p, n });
	struct dcm_str value = legacy_lines__trim((struct dcm_str){ equals + 1, l->text.n - n - 1 });
	int64_t ms, *to = str__eq(key, STR("cycles/second"))	 ? cycles_hz
			  : str__eq(key, STR("sampling period")) ? &p->period
			  : str__eq(key, STR("ms since reset"))	 ? &ms
								 : NULL;

	if (str__eq(key, STR("format")) || str__eq(key, STR("resolution")))
		return legacy_profile__fault(p, l,
					     "it is of an old Java agent, which is not read; "
					     "async-profiler writes pprof");
	if (!to)
		return 0;
	int r = legacy_profile__number(p, l, legacy_lines__take_int(&value, to), "a number");
	if (r == 0 && *to < 0)
		r = legacy_profile__fault(p, l, "%.*s is negative", STR_ARG(key));
	if (r == 0 && to == &ms)
		p->duration_ns = legacy_profile__times(ms, 1000000);
	return r;
}

static int read_sample(struct legacy_profile *p, const struct legacy_lines *l, int64_t cycles_hz)
{
	struct dcm_str s = l->text;
	int64_t delay, values[2];

	int r = legacy_profile__number(p, l, legacy_lines__take_int(&s, &delay), form);
	if (r < 0)
		return r;
	legacy_lines__skip_blanks(&s);
	r = legacy_profile__number(p, l, legacy_lines__take_int(&s, &values[0]), form);
	if (r < 0)
		return r;
	if (!legacy_lines__take(&s, " @"))
		return legacy_profile__number(p, l, LEGACY_NO_NUMBER, form);
	values[1] = delay;
	if (p->period > 0) {
		if (cycles_hz > 0)
			values[1] = legacy_profile__whole((double)delay * (double)p->period /
							  ((double)cycles_hz / 1e9));
		values[0] = legacy_profile__times(values[0], p->period);
	}
	r = legacy_profile__addresses(p, l, s, false);
	return r < 0 ? r : legacy_profile__sample(p, values, 0);
}

/* NULL: gperftools' has the name that its types say. */
static const char *name_of(struct dcm_str headline)
{
	return str__starts(headline, STR("--- mutex:"))	       ? "mutex"
	       : str__starts(headline, STR("--- contention:")) ? "block"
							       : NULL;
}

int legacy_contention__read(struct legacy_profile *p, struct legacy_lines *l)
{
	int64_t cycles_hz = 0;
	bool in_head = true;
	int r = 0;

	p->what = "contention profile";
	p->name = name_of(l->text);
	p->n_types = 2;
	p->types[0] = p->period_type = (struct legacy_unit){ "contentions", "count" };
	p->types[1] = (struct legacy_unit){ "delay", "nanoseconds" };
	p->period = 1;
	p->is_total = true;
	while (r == 0 && legacy_lines__next_said(l) && !str__starts(l->text, STR("---")) &&
	       !legacy_maps__begin(l->text)) {
		const char *equals = memchr(l->text.p, '=', l->text.n);
		in_head = in_head && equals;
		r = in_head ? read_attribute(p, l, equals, &cycles_hz) : read_sample(p, l, cycles_hz);
	}
	return r < 0 ? r : legacy_maps__read_behind(p, l);
}
