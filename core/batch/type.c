/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/type.c - profile types as text, and what is known of the usual ones
 *
 * The text is Parca's. What a type means is told by its sample type, except where the same word is
 * used for two things: then by the name too. Sources: Go's runtime/pprof and net/http/pprof,
 * gperftools' and jemalloc's heap profiles, async-profiler's and Pyroscope's pprof output. Pure
 * functions.
 */
#include "core/batch/type.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/str.h"

static bool is_part_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr(TYPE_PART_PUNCTUATION, c));
}

bool type__is_part(struct dcm_str part)
{
	if (part.n > TYPE_PART_MAX_BYTES)
		return false;
	for (uint32_t i = 0; i < part.n; i++)
		if (!is_part_char(part.p[i]))
			return false;
	return true;
}

uint32_t type__clean(char *part, uint32_t n)
{
	if (n > TYPE_PART_MAX_BYTES)
		n = TYPE_PART_MAX_BYTES;
	for (uint32_t i = 0; i < n; i++)
		if (!is_part_char(part[i]))
			part[i] = '_';
	return n;
}

/* Takes what stands before the next colon off the front; false when nothing is left. */
static bool next_part(struct dcm_str *rest, bool *more, struct dcm_str *ret)
{
	if (!*more)
		return false;
	const char *colon = rest->n ? memchr(rest->p, ':', rest->n) : NULL;
	uint32_t n = colon ? (uint32_t)(colon - rest->p) : rest->n;

	*ret = (struct dcm_str){ rest->p, n };
	*more = colon;
	if (colon)
		*rest = (struct dcm_str){ colon + 1, rest->n - n - 1 };
	return true;
}

int type__parse(struct dcm_str text, struct type_text *ret, struct dcm_error *err)
{
	struct dcm_str parts[6], rest = text;
	bool more = true;
	unsigned n = 0;

	while (n < 6 && next_part(&rest, &more, &parts[n]))
		n++;
	if (n < 5 || more || (n == 6 && !str__eq(parts[5], STR("delta"))))
		return error__set(err, -EINVAL,
				  "profile type \"%.*s\": expected name:sample_type:sample_unit:"
				  "period_type:period_unit, and perhaps :delta",
				  STR_ARG(text));
	for (unsigned i = 0; i < 5; i++)
		if (!type__is_part(parts[i]))
			return error__set(err, -EINVAL,
					  "profile type \"%.*s\": part %u is too long, or has a "
					  "character outside A-Z a-z 0-9 and %s",
					  STR_ARG(text), i + 1, TYPE_PART_PUNCTUATION);
	if (parts[0].n == 0 || parts[1].n == 0)
		return error__set(err, -EINVAL, "profile type \"%.*s\": the %s is empty",
				  STR_ARG(text), parts[0].n == 0 ? "name" : "sample type");
	*ret = (struct type_text){ parts[0], parts[1], parts[2], parts[3], parts[4], n == 6 };
	return 0;
}

/* Text that counts on when it is cut. */
struct writer {
	char *out;
	uint32_t n, cap;
};

static void write_str(struct writer *w, struct dcm_str s)
{
	uint32_t room = w->cap - w->n;
	uint32_t n = s.n < room ? s.n : room;

	if (n)
		memcpy(w->out + w->n, s.p, n);
	w->n += n;
}

uint32_t type__format(const struct dcm_batch *b, const struct dcm_type *t, char *out, uint32_t cap)
{
	const uint32_t parts[] = { t->name, t->sample_type, t->sample_unit, t->period_type,
				   t->period_unit };
	struct writer w = { .out = out, .cap = cap };

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (i)
			write_str(&w, STR(":"));
		write_str(&w, b->strings[parts[i]]);
	}
	if (t->temporality == DCM_DELTA)
		write_str(&w, STR(":delta"));
	if (w.n < cap)
		out[w.n] = '\0';
	return w.n;
}

/* The first row that fits tells; an empty name fits every one. */
static const struct usual {
	const char *name, *sample_type;
	enum dcm_temporality when_not_delta;
	const char *sentence;
} usuals[] = {
	{ "decima_quality", "samples", DCM_GAUGE, "Samples lost, cut short or unnamed, by reason" },
	{ "", "cpu", DCM_GAUGE, "CPU time: of threads that ran; those that wait are not in it" },
	{ "", "itimer", DCM_GAUGE, "CPU time: of threads that ran; those that wait are not in it" },
	{ "process_cpu", "samples", DCM_GAUGE, "Samples taken of what runs on a CPU" },
	{ "parca_agent", "samples", DCM_GAUGE, "Samples taken of what runs on a CPU" },
	{ "parca_agent_cpu", "samples", DCM_GAUGE, "Samples taken of what runs on a CPU" },
	{ "", "wall", DCM_GAUGE, "Time that passed, on a CPU or waiting" },
	{ "", "wallclock", DCM_GAUGE, "Time that passed, on a CPU or waiting" },
	{ "fgprof", "time", DCM_GAUGE, "Time that passed, on a CPU or waiting" },
	{ "off_cpu", "", DCM_GAUGE, "Time spent off the CPU" },
	{ "", "off_cpu", DCM_GAUGE, "Time spent off the CPU" },
	{ "", "inuse_space", DCM_GAUGE, "Heap memory in use" },
	{ "", "inuse_objects", DCM_GAUGE, "Heap objects in use" },
	{ "", "alloc_space", DCM_CUMULATIVE, "Heap memory allocated" },
	{ "", "alloc_objects", DCM_CUMULATIVE, "Heap objects allocated" },
	{ "", "alloc_in_new_tlab_bytes", DCM_GAUGE, "Java memory allocated in new buffers" },
	{ "", "alloc_in_new_tlab_objects", DCM_GAUGE, "Java objects allocated in new buffers" },
	{ "", "goroutine", DCM_GAUGE, "Goroutines" },
	{ "", "goroutines", DCM_GAUGE, "Goroutines" },
	{ "", "threadcreate", DCM_CUMULATIVE, "Threads created" },
	{ "threadcreate", "", DCM_CUMULATIVE, "Threads created" },
	{ "", "thread", DCM_GAUGE, "Threads" },
	{ "growth", "space", DCM_CUMULATIVE, "Memory by which the heap grew" },
	{ "growth", "objects", DCM_CUMULATIVE, "Times the heap grew" },
	{ "mutex", "contentions", DCM_CUMULATIVE, "Times a lock was waited for" },
	{ "mutex", "delay", DCM_CUMULATIVE, "Time that holders of locks let others wait" },
	{ "block", "contentions", DCM_CUMULATIVE, "Times a goroutine blocked" },
	{ "block", "delay", DCM_CUMULATIVE, "Time goroutines were blocked" },
	{ "", "contentions", DCM_CUMULATIVE, "Times something was waited for" },
	{ "", "delay", DCM_CUMULATIVE, "Time waited" },
	{ "mutex", "", DCM_CUMULATIVE, "" },
	{ "block", "", DCM_CUMULATIVE, "" },
};

static const struct usual *find_usual(const struct type_text *t)
{
	for (size_t i = 0; i < sizeof(usuals) / sizeof(usuals[0]); i++) {
		const struct usual *u = &usuals[i];

		if ((!*u->name || str__eq(t->name, str__of(u->name))) &&
		    (!*u->sample_type || str__eq(t->sample_type, str__of(u->sample_type))))
			return u;
	}
	return NULL;
}

enum dcm_temporality type__usual(const struct type_text *t)
{
	const struct usual *u = find_usual(t);

	if (t->delta)
		return DCM_DELTA;
	return u ? u->when_not_delta : DCM_GAUGE;
}

const char *type__describe(const struct type_text *t)
{
	const struct usual *u = find_usual(t);

	return u ? u->sentence : "";
}
