/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/wire_write.c - writes tables and rows as batches have them on the wire
 *
 * Columns are runs of varints. Those of rows are differences (stacks and label sets come in the
 * order in which they were met) and multiples (values of a sampler are counts times its period), so
 * that most numbers have one byte. Overlays are written as they are seen: their spans are followed,
 * wherever they lie.
 */
#include "core/codec/wire_write.h"

#include <string.h>

#include "core/base/hash.h"

static uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

enum { CHUNK = 256 }; /* numbers between two looks at the buffer's room */

/*
 * Most have one byte or two, and no processor guesses which: both are written, and one counts or
 * two.
 */
static inline uint8_t *put_varint(uint8_t *to, uint64_t v)
{
	if (v < 1u << 14) {
		const unsigned more = v >= 0x80;

		to[0] = (uint8_t)(v | more << 7);
		to[1] = (uint8_t)(v >> 7);
		return to + 1 + more;
	}
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to++ = (uint8_t)v;
	return to;
}

/* What was written behind a buf__reserve() up to `to`. */
static void written(struct buf *out, const uint8_t *to)
{
	out->n = (size_t)(to - out->data);
	out->data[out->n] = '\0';
}

/* A field as the number that is written. Inlined, so that `how` is a constant. */
static inline __attribute__((always_inline)) uint64_t field(const uint8_t *p, enum wire_how how)
{
	uint32_t u32 = 0;
	uint64_t u64 = 0;

	switch (how) {
	case WIRE_U8:
		return *p;
	case WIRE_U32:
	case WIRE_ID:
		memcpy(&u32, p, sizeof(u32));
		return how == WIRE_ID ? (uint32_t)(u32 + 1) : u32;
	case WIRE_U64:
	case WIRE_I64:
		memcpy(&u64, p, sizeof(u64));
		return how == WIRE_I64 ? zigzag((int64_t)u64) : u64;
	}
	return 0;
}

static inline __attribute__((always_inline)) uint8_t *put_fields(uint8_t *to, const uint8_t *p,
								 size_t stride, size_t n,
								 enum wire_how how)
{
	for (size_t i = 0; i < n; i++, p += stride)
		to = put_varint(to, field(p, how));
	return to;
}

static uint8_t *put_some(uint8_t *to, const uint8_t *p, size_t stride, size_t n, enum wire_how how)
{
	switch (how) {
	case WIRE_U8:
		return put_fields(to, p, stride, n, WIRE_U8);
	case WIRE_U32:
		return put_fields(to, p, stride, n, WIRE_U32);
	case WIRE_ID:
		return put_fields(to, p, stride, n, WIRE_ID);
	case WIRE_U64:
		return put_fields(to, p, stride, n, WIRE_U64);
	case WIRE_I64:
		return put_fields(to, p, stride, n, WIRE_I64);
	}
	return to;
}

/* One field of [n] structs. */
static void put_column(struct buf *out, const void *base, size_t stride, size_t n, struct wire_column column)
{
	const uint8_t *p = (const uint8_t *)base + column.offset;

	while (n > 0) {
		size_t some = n < CHUNK ? n : CHUNK;
		uint8_t *to = buf__reserve(out, some * WIRE_VARINT_MAX_BYTES);
		if (!to)
			return;
		written(out, put_some(to, p, stride, some, column.how));
		p += some * stride;
		n -= some;
	}
}

static void put_table(struct buf *out, const struct wire_table *t, const void *base, size_t n)
{
	buf__varint(out, n);
	for (uint32_t i = 0; n && i < t->n_columns; i++)
		put_column(out, base, t->stride, n, t->columns[i]);
}

/* Where the spans of a table's entries are: a struct dcm_span at [offset] of each struct. */
struct spans {
	const uint8_t *first;
	size_t stride, n;
};

static struct dcm_span span_at(struct spans s, size_t i)
{
	struct dcm_span span;

	memcpy(&span, s.first + i * s.stride, sizeof(span));
	return span;
}

/*
 * The structs of all spans, one span after the other; they need not lie like that in memory. Their
 * number is known to the reader already.
 */
static void put_spanned(struct buf *out, const struct wire_table *t, const void *base, struct spans s)
{
	const uint8_t *structs = base;

	for (uint32_t c = 0; c < t->n_columns; c++) {
		for (size_t i = 0; i < s.n;) {
			/* As many spans at once as do follow each other. */
			struct dcm_span span = span_at(s, i++);
			size_t n = span.n;
			while (i < s.n && (span_at(s, i).off == span.off + n || !span_at(s, i).n))
				n += span_at(s, i++).n;
			if (n)
				put_column(out, structs + (size_t)span.off * t->stride, t->stride,
					   n, t->columns[c]);
		}
	}
}

static void put_span_table(struct buf *out, const struct wire_table *t, const void *base,
			   const struct dcm_span *spans, uint32_t n)
{
	const struct wire_column lengths = { offsetof(struct dcm_span, n), WIRE_U32 };

	buf__varint(out, n);
	if (n == 0)
		return;
	put_column(out, spans, sizeof(*spans), n, lengths);
	put_spanned(out, t, base, (struct spans){ (const uint8_t *)spans, sizeof(*spans), n });
}

static void put_strings(struct buf *out, const struct dcm_str *strings, uint32_t n)
{
	const struct wire_column lengths = { offsetof(struct dcm_str, n), WIRE_U32 };

	buf__varint(out, n);
	put_column(out, strings, sizeof(*strings), n, lengths);
	for (uint32_t i = 0; i < n; i++)
		buf__str(out, strings[i]);
}

static void put_locations(struct buf *out, const struct dcm_batch *b, uint32_t from)
{
	const uint32_t n = b->n_locations - from;
	const struct dcm_location *locations = n ? b->locations + from : NULL;

	put_table(out, &wire__locations, locations, n);
	if (n)
		put_spanned(out, &wire__lines, b->lines,
			    (struct spans){ (const uint8_t *)&locations[0].line_off,
					    sizeof(*locations), n });
}

/* Differences of [n] ids, each to the one before, the first to 0. */
static void put_ids(struct buf *out, const uint32_t *ids, size_t n)
{
	uint32_t before = 0;

	while (n > 0) {
		size_t some = n < CHUNK ? n : CHUNK;
		uint8_t *to = buf__reserve(out, some * WIRE_VARINT_MAX_BYTES);
		if (!to)
			return;
		for (size_t i = 0; i < some; i++) {
			to = put_varint(to, zigzag((int64_t)ids[i] - before));
			before = ids[i];
		}
		written(out, to);
		ids += some;
		n -= some;
	}
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/* The greatest number of which all values of a column are multiples; at least 1. */
static int64_t common_factor(const int64_t *values, size_t n, size_t stride)
{
	uint64_t factor = 0;

	for (size_t i = 0; i < n && factor != 1; i++) {
		uint64_t a = magnitude(values[i * stride]), b = factor;
		if (a == b)
			continue;
		while (b) {
			uint64_t rest = a % b;
			a = b;
			b = rest;
		}
		factor = a;
	}
	/* 2^63 (of INT64_MIN alone) is not a positive number of 63 bits. */
	return factor == 0 || factor > INT64_MAX ? 1 : (int64_t)factor;
}

static void put_values(struct buf *out, const int64_t *values, size_t n, size_t stride)
{
	int64_t factor = common_factor(values, n, stride);

	buf__varint(out, (uint64_t)factor);
	while (n > 0) {
		size_t some = n < CHUNK ? n : CHUNK;
		uint8_t *to = buf__reserve(out, some * WIRE_VARINT_MAX_BYTES);
		if (!to)
			return;
		for (size_t i = 0; i < some; i++, values += stride)
			to = put_varint(to, zigzag(factor == 1 ? *values : *values / factor));
		written(out, to);
		n -= some;
	}
}

static void put_rows(struct buf *out, const struct dcm_batch *b, const struct dcm_profile *p)
{
	if (p->n_rows == 0)
		return;
	put_ids(out, b->row_stacks + p->row_off, p->n_rows);
	put_ids(out, b->row_labels + p->row_off, p->n_rows);
	for (uint32_t k = 0; k < p->n_types; k++)
		put_values(out, b->values + p->value_off + k, p->n_rows, p->n_types);
}

/* Without arithmetic on a column that is not there. */
#define BEHIND(column, n) ((n) ? (column) + (n) : (column))

void wire_write__entries(struct buf *out, const struct dcm_batch *b, const struct wire_sent *sent)
{
	put_strings(out, BEHIND(b->strings, sent->strings), b->n_strings - sent->strings);
	put_table(out, &wire__mappings, BEHIND(b->mappings, sent->mappings),
		  b->n_mappings - sent->mappings);
	put_table(out, &wire__functions, BEHIND(b->functions, sent->functions),
		  b->n_functions - sent->functions);
	put_table(out, &wire__processes, BEHIND(b->processes, sent->processes),
		  b->n_processes - sent->processes);
	put_locations(out, b, sent->locations);
	put_span_table(out, &wire__stack_locations, b->stack_locations,
		       BEHIND(b->stacks, sent->stacks), b->n_stacks - sent->stacks);
	put_span_table(out, &wire__pairs, b->pairs, BEHIND(b->series, sent->series),
		       b->n_series - sent->series);
	put_span_table(out, &wire__labels, b->labels, BEHIND(b->label_sets, sent->label_sets),
		       b->n_label_sets - sent->label_sets);
}

void wire_write__profiles(struct buf *out, const struct dcm_batch *b)
{
	put_table(out, &wire__types, b->types, b->n_types);
	put_table(out, &wire__profiles, b->profiles, b->n_profiles);
	for (uint32_t i = 0; i < b->n_profiles; i++)
		put_rows(out, b, &b->profiles[i]);
}

void wire_write__id(struct buf *out, const struct dcm_batch_id *id)
{
	buf__le64(out, id->source.lo);
	buf__le64(out, id->source.hi);
	buf__varint(out, id->sequence);
}

size_t wire_write__begin(struct buf *out)
{
	const uint8_t header[WIRE_HEADER_BYTES] = { 0 };
	size_t start = out->n;

	buf__append(out, header, sizeof(header));
	return start;
}

int wire_write__end(struct buf *out, size_t start, const struct wire_header *h)
{
	if (out->error) {
		out->n = start;
		return out->error;
	}
	/* Now the length and the sum are known. */
	uint8_t *head = out->data + start, *body = head + WIRE_HEADER_BYTES;
	uint64_t n_body = out->n - start - WIRE_HEADER_BYTES;
	uint64_t sum = hash__bytes(body, n_body, 0);
	memcpy(head, h->magic, WIRE_MAGIC_BYTES);
	memcpy(head + 4, &h->version, sizeof(h->version));
	memcpy(head + 8, &n_body, sizeof(n_body));
	memcpy(head + 16, &sum, sizeof(sum));
	return 0;
}
