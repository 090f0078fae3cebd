/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/folded.c - folded stacks
 *
 * Writing: each location's text is made once; a line is put together for each row, lines are sorted
 * by text, and equal neighbours are added up. Memory: the text of all lines, so the size of the
 * output and a word a row. Reading: a line at a time; a frame's text makes a function and a
 * location, which the builder finds again when they come again.
 */
#include "core/codec/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/builder.h"
#include "core/batch/limits.h"
#include "core/batch/type.h"
#include "core/codec/encode.h"

/* ------------------------------------------------------------------------------------------------
 * Out
 */

struct line {
	size_t off;
	uint32_t n;
	int64_t value;
};

struct writer {
	const struct dcm_batch *b;
	struct buf texts;	/* of locations, root to leaf, joined by ';' */
	struct dcm_span *spans; /* [b->n_locations] into texts; n 0: not made yet */
	struct buf lines;
	VEC(struct line) index;
	bool with_type; /* a frame with the type leads */
	bool nomem;
};

static void writer_fini(struct writer *w)
{
	buf__fini(&w->texts);
	free(w->spans);
	buf__fini(&w->lines);
	vec__fini(&w->index);
}

/* What would end a frame or a line must not stand in a name. */
static void clean(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = p[i] == ';' ? ':' : p[i] == '\n' || p[i] == '\r' ? ' ' : p[i];
}

/* The frames of a location, outermost first; made once. */
static struct dcm_span location_text(struct writer *w, uint32_t location)
{
	const struct dcm_location *l = &w->b->locations[location];
	struct dcm_span *span = &w->spans[location];

	if (span->n)
		return *span;
	if (w->texts.n > UINT32_MAX / 2) {
		w->texts.error = -EFBIG;
		return (struct dcm_span){ 0, 0 };
	}
	span->off = (uint32_t)w->texts.n;
	uint32_t i = l->n_lines;
	do {
		if (w->texts.n > span->off)
			buf__byte(&w->texts, ';');
		size_t at = w->texts.n;
		encode__frame_name(w->b, location, i ? l->line_off + i - 1 : DCM_NONE, &w->texts);
		if (w->texts.error)
			return (struct dcm_span){ 0, 0 };
		clean(w->texts.data + at, w->texts.n - at);
		i -= i > 0;
	} while (i > 0);
	span->n = (uint32_t)w->texts.n - span->off;
	return *span;
}

static void write_line(struct writer *w, const struct dcm_profile *p, uint32_t row)
{
	const struct dcm_batch *b = w->b;
	struct dcm_span stack = b->stacks[b->row_stacks[p->row_off + row]];
	int64_t value = b->values[p->value_off + (uint64_t)row * p->n_types + p->n_types - 1];
	size_t start = w->lines.n;

	if (value == 0)
		return;
	if (w->with_type) {
		char text[6 * (TYPE_PART_MAX_BYTES + 1)];
		type__format(b, &b->types[p->type_off + p->n_types - 1], text, sizeof(text));
		buf__text(&w->lines, "type=");
		buf__text(&w->lines, text);
	}
	for (uint32_t i = stack.n; i-- > 0;) {
		struct dcm_span span = location_text(w, b->stack_locations[stack.off + i]);
		if (w->lines.n > start)
			buf__byte(&w->lines, ';');
		if (w->texts.data)
			buf__append(&w->lines, w->texts.data + span.off, span.n);
	}
	if (w->lines.n - start > UINT32_MAX)
		w->lines.error = -EFBIG;
	/* Readers take such a line for a comment. */
	if (w->lines.n > start && w->lines.data[start] == '#')
		w->lines.data[start] = ':';
	struct line line = { start, (uint32_t)(w->lines.n - start), value };
	w->nomem |= !vec__push(&w->index, line);
}

static int by_text(const void *a, const void *b, void *data)
{
	const struct line *x = a, *y = b;
	const char *texts = data;

	return str__cmp((struct dcm_str){ texts + x->off, x->n },
			(struct dcm_str){ texts + y->off, y->n });
}

static bool same_line(const struct writer *w, const struct line *a, const struct line *b)
{
	return a->n == b->n && memcmp(w->lines.data + a->off, w->lines.data + b->off, a->n) == 0;
}

/* Sorted, equal ones as one unless the sum would not fit. */
static void put_lines(struct writer *w, struct buf *out)
{
	if (w->index.n)
		qsort_r(w->index.v, w->index.n, sizeof(*w->index.v), by_text,
			w->lines.data ? w->lines.data : (uint8_t *)"");
	for (size_t i = 0; i < w->index.n;) {
		const struct line *first = &w->index.v[i];
		int64_t sum = first->value, more;
		for (i++; i < w->index.n && same_line(w, first, &w->index.v[i]); i++) {
			if (__builtin_add_overflow(sum, w->index.v[i].value, &more))
				break;
			sum = more;
		}
		if (sum == 0)
			continue;
		if (first->n)
			buf__append(out, w->lines.data + first->off, first->n);
		else
			buf__text(out, "[unknown]");
		buf__printf(out, " %" PRId64 "\n", sum);
	}
}

int folded__encode(const struct dcm_batch *b, uint32_t profile, struct buf *out, struct dcm_error *err)
{
	struct writer w = { .b = b, .spans = mem__zalloc(b->n_locations, sizeof(*w.spans)) };
	uint32_t first, end;

	int r = w.spans ? encode__range(b, profile, "folded", &first, &end, err) : error__nomem(err);
	if (r == 0) {
		w.lines.limit = out->limit ? 2 * out->limit : 0;
		uint32_t type = b->profiles[first].type_off + b->profiles[first].n_types - 1;
		for (uint32_t p = first; p < end; p++)
			w.with_type |= !encode__same_type(
				b, type, b->profiles[p].type_off + b->profiles[p].n_types - 1);
		for (uint32_t p = first; p < end; p++)
			for (uint32_t i = 0; i < b->profiles[p].n_rows && !w.nomem; i++)
				write_line(&w, &b->profiles[p], i);
		if (w.nomem || w.texts.error == -ENOMEM || w.lines.error == -ENOMEM)
			r = error__nomem(err);
		else if (w.texts.error || w.lines.error)
			r = encode__end(w.texts.error ? &w.texts : &w.lines, "folded", err);
		else
			put_lines(&w, out);
	}
	if (r == 0)
		r = encode__end(out, "folded", err);
	writer_fini(&w);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * In
 */

struct reader {
	struct dcm_builder *b;
	struct dcm_error *err;
	size_t line; /* from 1 */
	size_t n_rounded;
	int64_t scale;	   /* of values */
	bool counts_lines; /* there are no values */
	uint32_t n_frames;
	uint32_t frames[STACK_MAX_DEPTH]; /* root first; then turned around */
};

static int fault(const struct reader *r, const char *what)
{
	return error__set(r->err, -EINVAL, "folded: line %zu: %s", r->line, what);
}

/* "12", "-3", "12.5" (rounded, half away from 0). */
static int parse_value(struct dcm_str s, int64_t *ret, size_t *n_rounded)
{
	bool rounded = false;
	uint64_t v = 0;
	bool minus = s.n && s.p[0] == '-';
	uint32_t i = minus, n_digits = 0;

	for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++, n_digits++)
		if (__builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (unsigned)(s.p[i] - '0'), &v))
			return -ERANGE;
	if (n_digits == 0)
		return -EINVAL;
	if (i < s.n && s.p[i] == '.') {
		v += i + 1 < s.n && s.p[i + 1] >= '5' && s.p[i + 1] <= '9';
		for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
			rounded |= s.p[i] != '0';
	}
	if (i < s.n)
		return -EINVAL;
	if (v > INT64_MAX)
		return -ERANGE;
	*ret = minus ? -(int64_t)v : (int64_t)v;
	*n_rounded += rounded;
	return 0;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/*
 * "_[k]", "_[j]", "_[i]", however many, and blanks: those before the value cannot be told from
 * those that end the leaf's name.
 */
static struct dcm_str strip_suffixes(struct dcm_str name, uint8_t *ret_kind)
{
	for (;;) {
		while (name.n && is_blank(name.p[name.n - 1]))
			name.n--;
		if (str__ends(name, STR("_[k]")))
			*ret_kind = DCM_FRAME_KERNEL;
		else if (str__ends(name, STR("_[j]")))
			*ret_kind = DCM_FRAME_JIT;
		else if (!str__ends(name, STR("_[i]")))
			return name;
		name.n -= 4;
	}
}

static int add_frame(struct reader *r, struct dcm_str name)
{
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE };

	if (r->n_frames == STACK_MAX_DEPTH)
		return error__set(r->err, -E2BIG, "folded: line %zu: more than %d frames", r->line,
				  STACK_MAX_DEPTH);
	name = strip_suffixes(name, &l.kind);
	if (l.kind == DCM_FRAME_NATIVE && name.n > 2 && name.p[0] == '[' && name.p[name.n - 1] == ']')
		l.kind = DCM_FRAME_NOTE;
	if (name.n == 0)
		name = STR("[unknown]");
	struct dcm_function f = { .name = builder__string(r->b, name) };
	struct dcm_line line = { .function = builder__function(r->b, &f) };
	r->frames[r->n_frames++] = builder__location(r->b, &l, &line, 1);
	return 0;
}

static int read_stack(struct reader *r, struct dcm_str stack)
{
	r->n_frames = 0;
	for (;;) {
		const char *end = stack.n ? memchr(stack.p, ';', stack.n) : NULL;
		uint32_t n = end ? (uint32_t)(end - stack.p) : stack.n;
		int e = add_frame(r, (struct dcm_str){ stack.p, n });
		if (e < 0 || !end)
			return e;
		stack = (struct dcm_str){ end + 1, stack.n - n - 1 };
	}
}

static int add_row(struct reader *r, struct dcm_str stack, int64_t value)
{
	int e = read_stack(r, stack);

	if (e < 0 || value == 0)
		return e;
	if (__builtin_mul_overflow(value, r->scale, &value))
		return fault(r, "its value is too large");
	for (uint32_t i = 0, k = r->n_frames - 1; i < k; i++, k--) {
		uint32_t frame = r->frames[i];
		r->frames[i] = r->frames[k];
		r->frames[k] = frame;
	}
	builder__row(r->b, builder__stack(r->b, r->frames, r->n_frames), 0, &value);
	return 0;
}

static int read_line(struct reader *r, struct dcm_str line)
{
	uint32_t n = line.n, digits;
	int64_t value;

	while (n && is_blank(line.p[n - 1]))
		n--;
	if (n == 0 || (n >= 2 && line.p[0] == '#' && line.p[1] == ' '))
		return 0;
	if (r->counts_lines)
		return add_row(r, (struct dcm_str){ line.p, n }, 1);
	for (digits = n; digits && !is_blank(line.p[digits - 1]);)
		digits--;
	if (digits == 0)
		return fault(r, "there is no value behind a blank at its end");
	int e = parse_value((struct dcm_str){ line.p + digits, n - digits }, &value, &r->n_rounded);
	if (e < 0)
		return fault(r, e == -ERANGE ? "its value is too large"
					     : "what stands behind its last blank is no number");
	for (n = digits; n && is_blank(line.p[n - 1]);)
		n--;
	return add_row(r, (struct dcm_str){ line.p, n }, value);
}

/* The profile, by what the caller knows of the numbers. */
static int add_profile(const struct decode_options *o, struct dcm_builder *b, struct dcm_error *err)
{
	const struct decode_measure *m = o->measure;
	struct type_text t = { .name = o->name.n ? o->name : STR("folded"),
			       .sample_type = STR("samples"),
			       .sample_unit = STR("count"),
			       .period_type = STR(""),
			       .period_unit = STR(""),
			       .delta = true };
	struct dcm_profile head = { .series = decode__series(o, b), .time_ns = o->time_ns };

	if (m) {
		int r = type__parse(m->type, &t, err);
		if (r < 0)
			return r;
		head.period = m->period;
		head.duration_ns = m->duration_ns;
	}
	const struct dcm_type type = {
		.name = decode__type_part(b, t.name),
		.sample_type = decode__type_part(b, t.sample_type),
		.sample_unit = decode__type_part(b, t.sample_unit),
		.period_type = decode__type_part(b, t.period_type),
		.period_unit = decode__type_part(b, t.period_unit),
		.temporality = o->has_temporality ? o->temporality
			       : t.delta	  ? DCM_DELTA
						  : type__usual(&t),
	};
	builder__profile(b, &head, &type, 1);
	return 0;
}

static int read_text(const uint8_t *data, size_t n, bool counts_lines,
		     const struct decode_options *o, struct dcm_builder *b, struct dcm_error *err)
{
	uint64_t max_bytes = decode__max_bytes(o, DECODE_MAX_BYTES);

	if (n > max_bytes)
		return error__set(err, -E2BIG, "folded: %zu bytes, more than the limit of %llu", n,
				  (unsigned long long)max_bytes);
	int added = add_profile(o, b, err);
	if (added < 0)
		return added;
	CLEANUP(mem__freep) struct reader *r = NEW(struct reader);
	if (!r)
		return error__nomem(err);
	r->b = b;
	r->err = err;
	r->scale = o->measure ? o->measure->scale : 1;
	r->counts_lines = counts_lines;
	const char *p = (const char *)data, *end = n ? p + n : p;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = newline ? newline : end;
		r->line++;
		int e = read_line(r, (struct dcm_str){ p, (uint32_t)(stop - p) });
		if (e < 0)
			return e;
		p = newline ? newline + 1 : end;
	}
	if (o->notes)
		o->notes->n_rounded = r->n_rounded;
	return 0;
}

static int read_folded(const uint8_t *data, size_t n, const struct decode_options *o,
		       struct dcm_builder *b, struct dcm_error *err)
{
	return read_text(data, n, false, o, b, err);
}

static int read_lines(const uint8_t *data, size_t n, const struct decode_options *o,
		      struct dcm_builder *b, struct dcm_error *err)
{
	return read_text(data, n, true, o, b, err);
}

int folded__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		   struct dcm_batch **ret, struct dcm_error *err)
{
	return decode__batch(read_folded, data, n, o, ret, err);
}

int folded__decode_lines(const uint8_t *data, size_t n, const struct decode_options *o,
			 struct dcm_batch **ret, struct dcm_error *err)
{
	return decode__batch(read_lines, data, n, o, ret, err);
}
