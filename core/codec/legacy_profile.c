/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_profile.c - a profile of an older format while it is read, and as profile.proto
 *
 * An address is a location once, found again by a hash that is seeded with an address of ours, which
 * who sends profiles cannot know. Numbers that would leave 64 bits stop at their end: the formats
 * multiply what was counted by how seldom it was sampled.
 */
#include "core/codec/legacy_profile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"

void legacy_profile__fini(struct legacy_profile *p)
{
	vec__fini(&p->samples);
	vec__fini(&p->frames);
	vec__fini(&p->addresses);
	hindex__fini(&p->by_address);
	vec__fini(&p->mappings);
	vec__fini(&p->symbols);
	arena__fini(&p->arena);
}

int legacy_profile__fault(struct legacy_profile *p, const struct legacy_lines *l, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return error__set(p->err, -EINVAL, "pprof: %s, line %zu: %s", p->what, l->number, text);
}

int legacy_profile__number(struct legacy_profile *p, const struct legacy_lines *l,
			   enum legacy_number got, const char *expected)
{
	struct dcm_str line = l->text;

	if (got == LEGACY_NUMBER)
		return 0;
	if (line.n > 80)
		line.n = 80;
	if (got == LEGACY_TOO_LARGE)
		return legacy_profile__fault(p, l, "a number is beyond 64 bits: \"%.*s\"", STR_ARG(line));
	return legacy_profile__fault(p, l, "expected %s, not \"%.*s\"", expected, STR_ARG(line));
}

int64_t legacy_profile__times(int64_t a, int64_t b)
{
	int64_t v;

	if (!__builtin_mul_overflow(a, b, &v))
		return v;
	return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

int64_t legacy_profile__whole(double v)
{
	if (v >= 0x1p63)
		return INT64_MAX;
	return v > -0x1p63 ? (int64_t)v : INT64_MIN; /* NaN: neither */
}

/* ------------------------------------------------------------------------------------------------
 * Samples
 */

static int too_many(struct legacy_profile *p, const char *of_what)
{
	return error__set(p->err, -E2BIG, "pprof: %s: more %s than so many bytes should need",
			  p->what, of_what);
}

static uint64_t hash_of(const struct legacy_profile *p, uint64_t address)
{
	return hash__bytes(&address, sizeof(address), (uint64_t)(uintptr_t)p);
}

/* The location of an address, perhaps a new one. */
static int locate(struct legacy_profile *p, uint64_t address, uint32_t *ret)
{
	uint64_t h = hash_of(p, address);
	uint32_t row, at = hindex__first(&p->by_address, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&p->by_address, h, at, &row)) {
		if (p->addresses.v[row] != address)
			continue;
		*ret = row;
		return 0;
	}
	if (p->addresses.n >= p->max_locations)
		return too_many(p, "addresses");
	*ret = (uint32_t)p->addresses.n;
	if (!vec__push(&p->addresses, address) || hindex__insert(&p->by_address, h, *ret) < 0)
		return error__nomem(p->err);
	return 0;
}

int legacy_profile__frame(struct legacy_profile *p, uint64_t address)
{
	uint32_t location = 0;

	int r = locate(p, address, &location);
	if (r < 0)
		return r;
	return vec__push(&p->frames, location) ? 0 : error__nomem(p->err);
}

int legacy_profile__sample(struct legacy_profile *p, const int64_t *values, int64_t block_bytes)
{
	const struct legacy_sample *last = p->samples.n ? &p->samples.v[p->samples.n - 1] : NULL;
	struct legacy_sample s = { .off = last ? last->off + last->n : 0, .block_bytes = block_bytes };

	if (p->samples.n >= p->max_samples)
		return too_many(p, "samples");
	s.n = (uint32_t)p->frames.n - s.off;
	memcpy(s.values, values, p->n_types * sizeof(*values));
	p->has_mean_sizes |= block_bytes != 0;
	return vec__push(&p->samples, s) ? 0 : error__nomem(p->err);
}

int legacy_profile__addresses(struct legacy_profile *p, const struct legacy_lines *l,
			      struct dcm_str rest, bool keep_leaf)
{
	enum legacy_number got;
	uint64_t address;

	while ((got = legacy_lines__find_address(&rest, &address)) != LEGACY_NO_NUMBER) {
		int r = legacy_profile__number(p, l, got, "an address");
		if (r == 0)
			r = legacy_profile__frame(p, keep_leaf ? address : address - 1);
		if (r < 0)
			return r;
		keep_leaf = false;
	}
	return 0;
}

void legacy_profile__drop_second(struct legacy_profile *p, struct legacy_sample *s)
{
	p->frames.v[s->off + 1] = p->frames.v[s->off];
	s->off++;
	s->n--;
}

void legacy_profile__drop_doubles(struct legacy_profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++) {
		struct legacy_sample *s = &p->samples.v[i];
		if (s->n < 2)
			continue;
		const uint32_t *frames = &p->frames.v[s->off];
		if (p->addresses.v[frames[0]] == p->addresses.v[frames[1]] + 1)
			legacy_profile__drop_second(p, s);
	}
}

/* ------------------------------------------------------------------------------------------------
 * As profile.proto
 */

struct writer {
	const struct legacy_profile *p;
	struct buf *out, message, packed;
	VEC(struct dcm_str) strings; /* of string_table, from 1 on */
	struct hindex by_text;
	VEC(uint32_t) functions; /* the string of each */
	uint32_t *function_of;	 /* [as many as strings ever had]: see function_id() */
	size_t n_function_of;
	bool nomem;
};

static void writer_fini(struct writer *w)
{
	buf__fini(&w->message);
	buf__fini(&w->packed);
	vec__fini(&w->strings);
	hindex__fini(&w->by_text);
	vec__fini(&w->functions);
	free(w->function_of);
}

/* Its index in string_table. */
static uint32_t string_id(struct writer *w, struct dcm_str text)
{
	if (text.n == 0)
		return 0;
	uint64_t h = hash__bytes(text.p, text.n, (uint64_t)(uintptr_t)w);
	uint32_t row, at = hindex__first(&w->by_text, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&w->by_text, h, at, &row))
		if (str__eq(w->strings.v[row], text))
			return row + 1;
	row = (uint32_t)w->strings.n;
	if (!vec__push(&w->strings, text) || hindex__insert(&w->by_text, h, row) < 0) {
		w->nomem = true;
		return 0;
	}
	return row + 1;
}

/* A function is its name. */
static uint32_t function_id(struct writer *w, struct dcm_str name)
{
	uint32_t string = string_id(w, name);

	if (string >= w->n_function_of) {
		size_t n = (size_t)string * 2 + 64;
		uint32_t *ids = mem__resize(w->function_of, n, sizeof(*ids));
		if (!ids) {
			w->nomem = true;
			return 0;
		}
		memset(ids + w->n_function_of, 0, (n - w->n_function_of) * sizeof(*ids));
		w->function_of = ids;
		w->n_function_of = n;
	}
	if (w->function_of[string] == 0) {
		w->nomem |= !vec__push(&w->functions, string);
		w->function_of[string] = (uint32_t)w->functions.n;
	}
	return w->function_of[string];
}

/* What w->message holds becomes a field. */
static void put_message(struct writer *w, uint32_t field)
{
	pb__put_bytes(w->out, field, w->message.data, w->message.n);
	buf__reset(&w->message);
}

static void put_packed(struct writer *w, uint32_t field)
{
	pb__put_bytes(&w->message, field, w->packed.data, w->packed.n);
	buf__reset(&w->packed);
}

static void put_unit(struct writer *w, uint32_t field, const struct legacy_unit *u)
{
	pb__put_varint(&w->message, 1, string_id(w, str__of(u->type)));
	pb__put_varint(&w->message, 2, string_id(w, str__of(u->unit)));
	put_message(w, field);
}

static void put_sample(struct writer *w, const struct legacy_sample *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		buf__varint(&w->packed, (uint64_t)w->p->frames.v[s->off + i] + 1);
	put_packed(w, 1);
	for (uint32_t i = 0; i < w->p->n_types; i++)
		buf__varint(&w->packed, (uint64_t)s->values[i]);
	put_packed(w, 2);
	if (s->block_bytes) {
		pb__put_varint(&w->packed, 1, string_id(w, STR("bytes")));
		pb__put_varint(&w->packed, 3, (uint64_t)s->block_bytes);
		put_packed(w, 3);
	}
	put_message(w, 2);
}

static void put_mapping(struct writer *w, size_t i)
{
	const struct legacy_mapping *m = &w->p->mappings.v[i];

	pb__put_varint(&w->message, 1, i + 1);
	pb__put_varint(&w->message, 2, m->start);
	pb__put_varint(&w->message, 3, m->limit);
	pb__put_varint(&w->message, 4, m->offset);
	pb__put_varint(&w->message, 5, string_id(w, m->file));
	pb__put_varint(&w->message, 6, string_id(w, m->build_id));
	put_message(w, 3);
}

/* True when the bytes from `at` on are "--" and stand between names; operator-- is one itself. */
static bool is_between(struct dcm_str names, uint32_t at)
{
	return at + 2 <= names.n && memcmp(names.p + at, "--", 2) == 0 &&
	       !str__ends((struct dcm_str){ names.p, at }, STR("operator"));
}

/* Lines of the location's message: the innermost first, which stands last. */
static void put_lines(struct writer *w, struct dcm_str names)
{
	while (names.n) {
		uint32_t at = names.n;
		while (at > 0 && !is_between(names, at))
			at--;
		uint32_t from = is_between(names, at) ? at + 2 : 0;
		struct dcm_str name = { names.p + from, names.n - from };
		if (name.n) {
			pb__put_varint(&w->packed, 1, function_id(w, name));
			put_packed(w, 4);
		}
		names.n = at;
	}
}

static void put_location(struct writer *w, size_t i, uint32_t mapping)
{
	uint64_t address = w->p->addresses.v[i];

	pb__put_varint(&w->message, 1, i + 1);
	pb__put_varint(&w->message, 2, mapping == DCM_NONE ? 0 : (uint64_t)mapping + 1);
	pb__put_varint(&w->message, 3, address);
	put_lines(w, legacy_symbols__find(w->p, address));
	put_message(w, 4);
}

static void put_all(struct writer *w, const uint32_t *mappings)
{
	const struct legacy_profile *p = w->p;

	for (uint32_t i = 0; i < p->n_types; i++)
		put_unit(w, 1, &p->types[i]);
	put_unit(w, 11, &p->period_type);
	pb__put_varint(w->out, 12, (uint64_t)p->period);
	pb__put_varint(w->out, 10, (uint64_t)p->duration_ns);
	for (size_t i = 0; i < p->samples.n && !w->out->error; i++)
		put_sample(w, &p->samples.v[i]);
	for (size_t i = 0; i < p->mappings.n && !w->out->error; i++)
		put_mapping(w, i);
	for (size_t i = 0; i < p->addresses.n && !w->out->error; i++)
		put_location(w, i, mappings[i]);
	for (size_t i = 0; i < w->functions.n && !w->out->error; i++) {
		pb__put_varint(&w->message, 1, i + 1);
		pb__put_varint(&w->message, 2, w->functions.v[i]);
		pb__put_varint(&w->message, 3, w->functions.v[i]);
		put_message(w, 5);
	}
	pb__put_bytes(w->out, 6, "", 0);
	for (size_t i = 0; i < w->strings.n && !w->out->error; i++)
		pb__put_bytes(w->out, 6, w->strings.v[i].p, w->strings.v[i].n);
}

int legacy_profile__write(struct legacy_profile *p, struct buf *out)
{
	struct writer w = { .p = p, .out = out };
	CLEANUP(mem__freep)
	uint32_t *mappings = mem__resize(NULL, p->addresses.n + 1, sizeof(*mappings));

	if (!mappings)
		return error__nomem(p->err);
	int r = legacy_maps__place(p, mappings);
	if (r < 0)
		return r;
	legacy_symbols__sort(p);
	out->limit = (size_t)p->max_bytes;
	put_all(&w, mappings);
	if (w.nomem || w.message.error || w.packed.error || out->error == -ENOMEM)
		r = error__nomem(p->err);
	else if (out->error)
		r = error__set(p->err,
			       -E2BIG, "pprof: %s: as profile.proto it has more than the limit of %llu bytes",
			       p->what, (unsigned long long)p->max_bytes);
	writer_fini(&w);
	return r;
}
