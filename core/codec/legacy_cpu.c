/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_cpu.c - gperftools' CPU profiles
 *
 * Words of 32 or 64 bits, of either byte order, as the program's machine has them:
 *
 *	0, 3, 0, microseconds from sample to sample, 0
 *	times, n, n addresses from the leaf on		again and again
 *	0, 1, 0						the end; /proc/PID/maps follows
 *
 * The third word is 1 for Java, which is refused. As Go's reader does it, twice: when 31 of 32
 * stacks have the same frame behind the leaf, that is one of the signal's handler, and goes. What the
 * profile is of a time is not said; it is a delta of the time that the caller knows. Otherwise than
 * Go's reader, one that ends within a stack is refused.
 *
 * Behind names (legacy_symbols.c), a period of 1 us is none: who writes both does not know it. There are
 * counts alone then. And where the names are of numbers, as com.papertrail:profiler for Java writes
 * them, the words are these numbers, and no signal's handler is among them.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/codec/legacy_profile.h"

/* Frames of a handler at most, and the part of all stacks that may have another frame there. */
enum { HANDLER_FRAMES = 2, OTHERS_PER = 32 };

struct words {
	const uint8_t *p;
	size_t n; /* bytes left */
	unsigned size;
	bool is_big;
};

/* The next word, for which there is room. */
static uint64_t next_word(struct words *w)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < w->size; i++)
		v |= (uint64_t)w->p[i] << 8 * (w->is_big ? w->size - 1 - i : i);
	w->p += w->size;
	w->n -= w->size;
	return v;
}

struct head {
	uint64_t is_java, period_us;
};

static bool read_head(struct words *w, struct head *ret)
{
	if (w->n < 5 * w->size)
		return false;
	uint64_t zero = next_word(w), three = next_word(w);
	ret->is_java = next_word(w);
	ret->period_us = next_word(w);
	return zero == 0 && three == 3 && ret->is_java <= 1 && ret->period_us > 0 && next_word(w) == 0;
}

/* Which words these are; *ret stands behind the head then. */
static bool find_words(const uint8_t *data, size_t n, struct words *ret, struct head *head)
{
	for (unsigned i = 0; i < 4; i++) {
		*ret = (struct words){ data, n, i < 2 ? 4 : 8, i % 2 };
		if (read_head(ret, head))
			return true;
	}
	return false;
}

bool legacy_cpu__is(const uint8_t *data, size_t n)
{
	struct words w;
	struct head head;

	return find_words(data, n, &w, &head);
}

static int cut_off(struct legacy_profile *p)
{
	return error__set(p->err, -EINVAL, "pprof: %s, sample %zu: it is cut off; fetch it again",
			  p->what, p->samples.n);
}

static int read_stack(struct legacy_profile *p, struct words *w, uint64_t times, uint64_t n)
{
	const unsigned to_call = legacy_symbols__are_of_numbers(p) ? 0 : 1;
	const int64_t count = times < INT64_MAX ? (int64_t)times : INT64_MAX;
	const int64_t values[2] = { count, legacy_profile__times(count, p->period) };

	for (uint64_t i = 0; i < n; i++) {
		uint64_t address = next_word(w);
		int r = legacy_profile__frame(p, i ? address - to_call : address);
		if (r < 0)
			return r;
	}
	return legacy_profile__sample(p, values, 0);
}

static int read_samples(struct legacy_profile *p, struct words *w)
{
	int r = 0;

	while (r == 0 && w->n) {
		if (w->n < 2 * w->size)
			return cut_off(p);
		uint64_t times = next_word(w), n = next_word(w);
		if (n > w->n / w->size)
			return cut_off(p);
		struct words first = *w;
		if (times == 0 && n == 1 && next_word(&first) == 0) {
			*w = first;
			break;
		}
		r = read_stack(p, w, times, n);
	}
	return r;
}

/* The location that is behind the leaf of so many samples; DCM_NONE. counts[p->addresses.n] */
static uint32_t find_handler(const struct legacy_profile *p, uint32_t *counts)
{
	size_t enough = p->samples.n - p->samples.n / OTHERS_PER;

	for (size_t i = 0; i < p->addresses.n; i++)
		counts[i] = 0;
	for (size_t i = 0; i < p->samples.n; i++) {
		const struct legacy_sample *s = &p->samples.v[i];
		if (s->n > 1 && ++counts[p->frames.v[s->off + 1]] >= enough)
			return p->frames.v[s->off + 1];
	}
	return DCM_NONE;
}

static int drop_handlers(struct legacy_profile *p)
{
	CLEANUP(mem__freep)
	uint32_t *counts = mem__resize(NULL, p->addresses.n + 1, sizeof(*counts));
	if (!counts)
		return error__nomem(p->err);

	for (int turn = 0; turn < HANDLER_FRAMES; turn++) {
		uint32_t handler = find_handler(p, counts);
		for (size_t i = 0; handler != DCM_NONE && i < p->samples.n; i++) {
			struct legacy_sample *s = &p->samples.v[i];
			if (s->n > 1 && p->frames.v[s->off + 1] == handler)
				legacy_profile__drop_second(p, s);
		}
	}
	legacy_profile__drop_doubles(p);
	return 0;
}

static void take_types(struct legacy_profile *p, uint64_t period_us)
{
	bool is_known = period_us > 1 || p->symbols.n == 0;

	p->n_types = is_known ? 2 : 1;
	p->types[0] = (struct legacy_unit){ "samples", "count" };
	p->types[1] = p->period_type = (struct legacy_unit){ "cpu", "nanoseconds" };
	p->period = is_known ? (int64_t)period_us * 1000 : 0;
	p->name = "process_cpu";
	p->is_delta = true;
}

int legacy_cpu__read(struct legacy_profile *p, const uint8_t *data, size_t n)
{
	struct words w;
	struct head head;

	p->what = "gperftools CPU profile";
	if (!find_words(data, n, &w, &head))
		return error__set(p->err, -EINVAL,
				  "pprof: %s: its first words are of no form that is known", p->what);
	if (head.is_java)
		return error__set(
			p->err, -EINVAL,
			"pprof: it is a CPU profile of an old Java agent, which is not read; "
			"async-profiler and JFR converters write pprof");
	if (head.period_us > INT64_MAX / 1000)
		return error__set(p->err, -EINVAL, "pprof: %s: its period of %llu us is beyond 64 bits",
				  p->what, (unsigned long long)head.period_us);
	take_types(p, head.period_us);
	int r = read_samples(p, &w);
	if (r == 0 && !legacy_symbols__are_of_numbers(p))
		r = drop_handlers(p);
	if (r < 0)
		return r;
	struct legacy_lines l = { .p = (const char *)w.p, .end = (const char *)w.p + w.n };
	return legacy_maps__read(p, &l);
}
