/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/wire_read.c - reads tables and rows as batches have them on the wire, whoever wrote the bytes
 *
 * Nothing is trusted: a count is held against the bytes that are left before memory is taken for
 * it, ids go through maps of what was read so far, and the builder checks, interns and hashes as it
 * does for everybody. A fault fails the builder, so that sealing reports the first one.
 */
#include "core/codec/wire_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/batch/limits.h"

int wire_maps__init(struct wire_maps *m)
{
	struct wire_map *strings = &m->of[WIRE_STRINGS];

	*m = (struct wire_maps){ 0 };
	for (unsigned i = 0; i < WIRE_N_MAPS; i++) {
		m->of[i].ids = mem__zalloc(1, sizeof(*m->of[i].ids));
		m->of[i].cap = 1;
		if (!m->of[i].ids)
			return -ENOMEM;
	}
	strings->n = 1; /* "" is there */
	return 0;
}

void wire_maps__fini(struct wire_maps *m)
{
	for (unsigned i = 0; i < WIRE_N_MAPS; i++)
		free(m->of[i].ids);
	*m = (struct wire_maps){ 0 };
}

uint64_t wire_maps__bytes(const struct wire_maps *m)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < WIRE_N_MAPS; i++)
		n += m->of[i].cap * sizeof(*m->of[i].ids);
	return n;
}

int wire_read__header(const uint8_t *data, size_t n, const struct wire_header *h, struct dcm_error *err)
{
	uint16_t version, flags;
	uint64_t n_body, sum;

	if (n < WIRE_HEADER_BYTES || memcmp(data, h->magic, WIRE_MAGIC_BYTES) != 0)
		return error__set(err, -EBADMSG, "%s format: it does not begin with the mark of a %s",
				  h->what, h->what);
	memcpy(&version, data + 4, sizeof(version));
	memcpy(&flags, data + 6, sizeof(flags));
	memcpy(&n_body, data + 8, sizeof(n_body));
	memcpy(&sum, data + 16, sizeof(sum));
	if (version != h->version || flags)
		return error__set(
			err, -EPROTONOSUPPORT,
			"%s format: version %u with flags %u; this program reads version %u",
			h->what, version, flags, h->version);
	if (n_body != n - WIRE_HEADER_BYTES)
		return error__set(err, -EBADMSG, "%s format: %zu bytes where %llu were written",
				  h->what, n - WIRE_HEADER_BYTES, (unsigned long long)n_body);
	if (hash__bytes(data + WIRE_HEADER_BYTES, n - WIRE_HEADER_BYTES, 0) != sum)
		return error__set(err, -EBADMSG, "%s format: damaged: the checksum does not fit",
				  h->what);
	return 0;
}

static int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* ------------------------------------------------------------------------------------------------
 * Decoding: bytes, numbers, columns
 */

static const char *const map_names[WIRE_N_MAPS] = { "string",	"mapping", "function", "process",
						    "location", "stack",   "series",   "label set" };

static bool damaged(struct wire_reader *d, const char *fault)
{
	if (d->b)
		builder__fail(d->b, -EBADMSG, "%s: %s", d->where, fault);
	return false;
}

static size_t left(const struct wire_reader *d)
{
	return (size_t)(d->end - d->p);
}

static __attribute__((noinline)) bool take_long(struct wire_reader *d, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 70 && d->p < d->end; shift += 7) {
		uint8_t c = *d->p++;
		/* The tenth byte holds the last bit alone. */
		if (shift == 63 && c > 1)
			return damaged(d, "a number has more than 64 bits");
		v |= (uint64_t)(c & 0x7f) << shift;
		if (c < 0x80) {
			*ret = v;
			return true;
		}
	}
	return damaged(d, "the bytes end too early");
}

static inline bool take(struct wire_reader *d, uint64_t *ret)
{
	/* Most numbers have one byte or two. */
	if (left(d) >= 2) {
		if (d->p[0] < 0x80) {
			*ret = *d->p++;
			return true;
		}
		if (d->p[1] < 0x80) {
			*ret = (uint64_t)(d->p[0] & 0x7f) | (uint64_t)d->p[1] << 7;
			d->p += 2;
			return true;
		}
	}
	return take_long(d, ret);
}

static bool take_u32(struct wire_reader *d, uint32_t *ret)
{
	uint64_t v;

	if (!take(d, &v))
		return false;
	if (v > UINT32_MAX)
		return damaged(d, "a number has more than 32 bits");
	*ret = (uint32_t)v;
	return true;
}

bool wire_read__number(struct wire_reader *d, uint64_t *ret)
{
	return take(d, ret);
}

bool wire_read__hash(struct wire_reader *d, struct dcm_hash *ret)
{
	if (left(d) < sizeof(*ret))
		return damaged(d, "the bytes end too early");
	memcpy(ret, d->p, sizeof(*ret));
	d->p += sizeof(*ret);
	return true;
}

/* A count of things that have at least so many bytes each, and so cannot be more than are left. */
static bool fits(struct wire_reader *d, uint64_t n, size_t bytes_each)
{
	return n <= left(d) / bytes_each || damaged(d, "more entries than there are bytes for");
}

static bool take_count(struct wire_reader *d, const char *where, size_t bytes_each, uint32_t *ret)
{
	d->where = where;
	return take_u32(d, ret) && fits(d, *ret, bytes_each);
}

/* Where the number goes, and what it may be. */
static inline bool set_field(struct wire_reader *d, uint8_t *p, uint64_t v, enum wire_how how)
{
	uint32_t u32 = (uint32_t)(how == WIRE_ID ? v - 1 : v);

	switch (how) {
	case WIRE_U8:
		*p = (uint8_t)v;
		return v <= UINT8_MAX || damaged(d, "a number has more than 8 bits");
	case WIRE_U32:
	case WIRE_ID:
		memcpy(p, &u32, sizeof(u32));
		return v <= UINT32_MAX || damaged(d, "a number has more than 32 bits");
	case WIRE_I64:
		v = (uint64_t)unzigzag(v);
		memcpy(p, &v, sizeof(v));
		return true;
	case WIRE_U64:
		memcpy(p, &v, sizeof(v));
		return true;
	}
	return false;
}

/* Inlined once for each way, so that the loop has no branch on it. */
static inline __attribute__((always_inline)) bool take_fields(struct wire_reader *d, uint8_t *p,
							      size_t stride, size_t n, enum wire_how how)
{
	uint64_t v;

	for (size_t i = 0; i < n; i++, p += stride)
		if (!take(d, &v) || !set_field(d, p, v, how))
			return false;
	return true;
}

/* One field of [n] structs. */
static bool take_column(struct wire_reader *d, void *base, size_t stride, size_t n,
			struct wire_column column)
{
	uint8_t *p = (uint8_t *)base + column.offset;

	switch (column.how) {
	case WIRE_U8:
		return take_fields(d, p, stride, n, WIRE_U8);
	case WIRE_U32:
		return take_fields(d, p, stride, n, WIRE_U32);
	case WIRE_ID:
		return take_fields(d, p, stride, n, WIRE_ID);
	case WIRE_U64:
		return take_fields(d, p, stride, n, WIRE_U64);
	case WIRE_I64:
		return take_fields(d, p, stride, n, WIRE_I64);
	}
	return false;
}

/* [n] structs, zero but for the table's columns; the caller frees. NULL: the builder has failed. */
static void *take_structs(struct wire_reader *d, const struct wire_table *t, uint64_t n)
{
	d->where = t->name;
	if (!fits(d, n, t->n_columns))
		return NULL;
	CLEANUP(mem__freep) void *structs = mem__zalloc(n, t->stride);
	if (!structs) {
		builder__fail(d->b, -ENOMEM, "out of memory");
		return NULL;
	}
	for (uint32_t i = 0; i < t->n_columns; i++)
		if (!take_column(d, structs, t->stride, n, t->columns[i]))
			return NULL;
	return take_ptr(structs);
}

static void *take_table(struct wire_reader *d, const struct wire_table *t, uint32_t *ret_n)
{
	return take_count(d, t->name, t->n_columns, ret_n) ? take_structs(d, t, *ret_n) : NULL;
}

/* Lengths of the strings, or of the lists of a list table; the caller frees. */
static uint32_t *take_lengths(struct wire_reader *d, const char *name, uint32_t *ret_n)
{
	const struct wire_table t = {
		WIRE_TABLE(name, uint32_t, 1),
		.columns = { { 0, WIRE_U32 } },
	};
	return take_table(d, &t, ret_n);
}

/* ------------------------------------------------------------------------------------------------
 * Decoding: table after table into the builder. Each returns false when the builder has failed.
 */

/* Where the ids of the n entries go that are read now; NULL: the builder has failed. */
static uint32_t *extend_map(struct wire_reader *d, enum wire_map_of which, size_t n)
{
	struct wire_map *m = &d->maps->of[which];
	uint32_t *ids = m->ids + m->n;

	if (n > m->cap - m->n) {
		size_t cap = m->n + n > m->cap + m->cap / 2 ? m->n + n : m->cap + m->cap / 2;
		ids = cap <= ENTRIES_MAX ? mem__resize(m->ids, cap, sizeof(*ids)) : NULL;
		if (!ids) {
			builder__fail(d->b, -ENOMEM, "out of memory");
			return NULL;
		}
		m->ids = ids;
		m->cap = (uint32_t)cap;
		ids += m->n;
	}
	m->n += (uint32_t)n;
	return ids;
}

static inline bool translate(struct wire_reader *d, enum wire_map_of which, uint32_t *id)
{
	const struct wire_map *m = &d->maps->of[which];

	if (*id >= m->n) {
		builder__fail(d->b, -EINVAL, "%s: %s %u is not one of the %u", d->where,
			      map_names[which], *id, m->n);
		return false;
	}
	*id = m->ids[*id];
	return true;
}

static inline bool translate_or_none(struct wire_reader *d, enum wire_map_of which, uint32_t *id)
{
	return *id == DCM_NONE || translate(d, which, id);
}

static bool decode_strings(struct wire_reader *d)
{
	uint32_t n;
	CLEANUP(mem__freep) uint32_t *lengths = take_lengths(d, "strings", &n);
	uint32_t *ids = lengths ? extend_map(d, WIRE_STRINGS, n) : NULL;

	if (!ids)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (lengths[i] > left(d))
			return damaged(d, "the bytes end too early");
		struct dcm_str s = { (const char *)d->p, lengths[i] };
		ids[i] = builder__string(d->b, s);
		d->p += lengths[i];
	}
	return !builder__error(d->b);
}

static bool decode_mappings(struct wire_reader *d)
{
	uint32_t n;
	CLEANUP(mem__freep) struct dcm_mapping *mappings = take_table(d, &wire__mappings, &n);
	uint32_t *ids = mappings ? extend_map(d, WIRE_MAPPINGS, n) : NULL;

	if (!ids)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct dcm_mapping *m = &mappings[i];
		if (!translate(d, WIRE_STRINGS, &m->file) || !translate(d, WIRE_STRINGS, &m->build_id))
			return false;
		ids[i] = builder__mapping(d->b, m);
	}
	return !builder__error(d->b);
}

static bool decode_functions(struct wire_reader *d)
{
	uint32_t n;
	CLEANUP(mem__freep) struct dcm_function *functions = take_table(d, &wire__functions, &n);
	uint32_t *ids = functions ? extend_map(d, WIRE_FUNCTIONS, n) : NULL;

	if (!ids)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct dcm_function *f = &functions[i];
		if (!translate(d, WIRE_STRINGS, &f->name) ||
		    !translate(d, WIRE_STRINGS, &f->system_name) ||
		    !translate(d, WIRE_STRINGS, &f->file))
			return false;
		ids[i] = builder__function(d->b, f);
	}
	return !builder__error(d->b);
}

static bool decode_processes(struct wire_reader *d)
{
	uint32_t n;
	CLEANUP(mem__freep) struct dcm_process *processes = take_table(d, &wire__processes, &n);
	uint32_t *ids = processes ? extend_map(d, WIRE_PROCESSES, n) : NULL;

	if (!ids)
		return false;
	for (uint32_t i = 0; i < n; i++)
		ids[i] = builder__process(d->b, &processes[i]);
	return !builder__error(d->b);
}

static bool decode_locations(struct wire_reader *d)
{
	uint32_t n;
	uint64_t n_lines = 0;
	CLEANUP(mem__freep) struct dcm_location *locations = take_table(d, &wire__locations, &n);
	uint32_t *ids = locations ? extend_map(d, WIRE_LOCATIONS, n) : NULL;
	if (!ids)
		return false;
	for (uint32_t i = 0; i < n; i++)
		n_lines += locations[i].n_lines;
	CLEANUP(mem__freep) struct dcm_line *lines = take_structs(d, &wire__lines, n_lines);
	if (!lines)
		return false;
	for (uint64_t i = 0; i < n_lines; i++)
		if (!translate_or_none(d, WIRE_FUNCTIONS, &lines[i].function))
			return false;

	d->where = wire__locations.name;
	const struct dcm_line *next = lines;
	for (uint32_t i = 0; i < n; i++) {
		struct dcm_location *l = &locations[i];
		if (!translate_or_none(d, WIRE_MAPPINGS, &l->mapping) ||
		    !translate_or_none(d, WIRE_PROCESSES, &l->process))
			return false;
		ids[i] = builder__location(d->b, l, next, l->n_lines);
		next += l->n_lines;
	}
	return !builder__error(d->b);
}

/* The lengths of a table's entries and what the entries are made of; the caller frees both. */
struct spanned {
	uint32_t *lengths; /* [n] */
	void *structs;	   /* as many as the lengths add up to */
	uint32_t n;
	uint64_t n_structs;
};

static void spanned__fini(struct spanned *s)
{
	free(s->lengths);
	free(s->structs);
}

static bool take_spanned(struct wire_reader *d, const struct wire_table *t, struct spanned *ret)
{
	ret->lengths = take_lengths(d, t->name, &ret->n);
	if (!ret->lengths)
		return false;
	for (uint32_t i = 0; i < ret->n; i++)
		ret->n_structs += ret->lengths[i];
	ret->structs = take_structs(d, t, ret->n_structs);
	return ret->structs;
}

/* Stacks are most of the bytes: each goes from there to the builder without a stop. */
static bool decode_stacks(struct wire_reader *d)
{
	uint32_t n, locations[STACK_MAX_DEPTH];
	CLEANUP(mem__freep) uint32_t *lengths = take_lengths(d, wire__stack_locations.name, &n);
	uint32_t *ids = lengths ? extend_map(d, WIRE_STACKS, n) : NULL;

	if (!ids)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!fits(d, lengths[i], 1))
			return false;
		if (lengths[i] > STACK_MAX_DEPTH) {
			builder__fail(d->b, -E2BIG, "stack %u: %u locations, more than the limit of %u",
				      i, lengths[i], (unsigned)STACK_MAX_DEPTH);
			return false;
		}
		for (uint32_t k = 0; k < lengths[i]; k++)
			if (!take_u32(d, &locations[k]) || !translate(d, WIRE_LOCATIONS, &locations[k]))
				return false;
		ids[i] = builder__stack(d->b, locations, lengths[i]);
	}
	return !builder__error(d->b);
}

static bool decode_series(struct wire_reader *d)
{
	CLEANUP(spanned__fini) struct spanned s = { 0 };
	uint32_t *ids = take_spanned(d, &wire__pairs, &s) ? extend_map(d, WIRE_SERIES, s.n) : NULL;
	if (!ids)
		return false;
	struct dcm_pair *pairs = s.structs;
	for (uint64_t i = 0; i < s.n_structs; i++)
		if (!translate(d, WIRE_STRINGS, &pairs[i].name) ||
		    !translate(d, WIRE_STRINGS, &pairs[i].value))
			return false;
	for (uint32_t i = 0; i < s.n; i++) {
		ids[i] = builder__series(d->b, pairs, s.lengths[i]);
		pairs += s.lengths[i];
	}
	return !builder__error(d->b);
}

static bool decode_label_sets(struct wire_reader *d)
{
	CLEANUP(spanned__fini) struct spanned s = { 0 };
	uint32_t *ids = take_spanned(d, &wire__labels, &s) ? extend_map(d, WIRE_LABEL_SETS, s.n) : NULL;
	if (!ids)
		return false;
	struct dcm_label *labels = s.structs;
	for (uint64_t i = 0; i < s.n_structs; i++)
		if (!translate(d, WIRE_STRINGS, &labels[i].name) ||
		    !translate(d, WIRE_STRINGS, &labels[i].str) ||
		    !translate_or_none(d, WIRE_STRINGS, &labels[i].unit))
			return false;
	for (uint32_t i = 0; i < s.n; i++) {
		ids[i] = builder__label_set(d->b, labels, s.lengths[i]);
		labels += s.lengths[i];
	}
	return !builder__error(d->b);
}

/* ------------------------------------------------------------------------------------------------
 * Decoding: profiles and rows
 */

struct rows {
	uint32_t *stacks, *label_sets; /* [n] */
	int64_t *values;	       /* [n * n_types], row by row */
};

static void rows__fini(struct rows *r)
{
	free(r->stacks);
	free(r->label_sets);
	free(r->values);
}

/* Ids as differences, translated. */
static bool take_ids(struct wire_reader *d, enum wire_map_of which, uint32_t *ret, uint32_t n)
{
	uint64_t v, before = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!take(d, &v))
			return false;
		/* Wraps where it is nonsense, and is then too large. */
		before += (uint64_t)unzigzag(v);
		ret[i] = before > UINT32_MAX ? UINT32_MAX : (uint32_t)before;
		if (!translate(d, which, &ret[i]))
			return false;
	}
	return true;
}

static bool take_values(struct wire_reader *d, int64_t *ret, uint32_t n, uint32_t stride)
{
	uint64_t factor, v;

	if (!take(d, &factor))
		return false;
	if (factor == 0 || factor > INT64_MAX)
		return damaged(d,
			       "the common factor of a column's values is not a positive number");
	for (uint32_t i = 0; i < n; i++, ret += stride) {
		if (!take(d, &v))
			return false;
		if (__builtin_mul_overflow(unzigzag(v), (int64_t)factor, ret))
			return damaged(d, "a value has more than 64 bits");
	}
	return true;
}

static bool decode_rows(struct wire_reader *d, uint32_t n, uint32_t n_types)
{
	CLEANUP(rows__fini) struct rows r = { 0 };

	d->where = "rows";
	if (n == 0)
		return true;
	if (!fits(d, n, 2 + n_types))
		return false;
	r.stacks = mem__resize(NULL, n, sizeof(*r.stacks));
	r.label_sets = mem__resize(NULL, n, sizeof(*r.label_sets));
	r.values = mem__resize(NULL, (size_t)n * n_types, sizeof(*r.values));
	if (!r.stacks || !r.label_sets || !r.values) {
		builder__fail(d->b, -ENOMEM, "out of memory");
		return false;
	}
	if (!take_ids(d, WIRE_STACKS, r.stacks, n) || !take_ids(d, WIRE_LABEL_SETS, r.label_sets, n))
		return false;
	for (uint32_t k = 0; k < n_types; k++)
		if (!take_values(d, r.values + k, n, n_types))
			return false;
	for (uint32_t i = 0; i < n; i++)
		builder__row(d->b, r.stacks[i], r.label_sets[i], r.values + (size_t)i * n_types);
	return !builder__error(d->b);
}

static bool translate_type(struct wire_reader *d, struct dcm_type *t)
{
	return translate(d, WIRE_STRINGS, &t->name) && translate(d, WIRE_STRINGS, &t->sample_type) &&
	       translate(d, WIRE_STRINGS, &t->sample_unit) &&
	       translate(d, WIRE_STRINGS, &t->period_type) &&
	       translate(d, WIRE_STRINGS, &t->period_unit);
}

static bool decode_profiles(struct wire_reader *d)
{
	uint32_t n_types, n;
	CLEANUP(mem__freep) struct dcm_type *types = take_table(d, &wire__types, &n_types);
	if (!types)
		return false;
	for (uint32_t i = 0; i < n_types; i++)
		if (!translate_type(d, &types[i]))
			return false;
	CLEANUP(mem__freep) struct dcm_profile *profiles = take_table(d, &wire__profiles, &n);
	if (!profiles)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct dcm_profile *p = &profiles[i];
		d->where = wire__profiles.name;
		if (p->type_off > n_types || p->n_types > n_types - p->type_off)
			return damaged(d, "its types are not in the table of types");
		if (!translate(d, WIRE_SERIES, &p->series))
			return false;
		builder__profile(d->b, p, types + p->type_off, p->n_types);
		if (builder__error(d->b) || !decode_rows(d, p->n_rows, p->n_types))
			return false;
	}
	return true;
}

bool wire_read__batch(struct wire_reader *d)
{
	struct dcm_hash source;
	uint64_t sequence;

	d->where = "id";
	if (!wire_read__hash(d, &source) || !take(d, &sequence))
		return false;
	builder__set_source(d->b, source, sequence);
	if (!decode_strings(d) || !decode_mappings(d) || !decode_functions(d) ||
	    !decode_processes(d) || !decode_locations(d) || !decode_stacks(d) ||
	    !decode_series(d) || !decode_label_sets(d) || !decode_profiles(d))
		return false;
	d->where = "end";
	return left(d) == 0 || damaged(d, "bytes follow that belong to nothing");
}
