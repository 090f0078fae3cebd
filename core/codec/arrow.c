/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/arrow.c - the messages of an Arrow stream, and what its arrays say
 *
 *	FF FF FF FF, length of the metadata, metadata, body; length 0 is the end
 *	Message { version, header_type, header, bodyLength, .. }
 *	DictionaryBatch { id, data, isDelta }
 */
#include "core/codec/arrow.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/codec/arrow_parts.h"

enum { HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_BATCH = 3 };
enum { VIEW_BYTES = 16, VIEW_IN_PLACE = 12 };

int arrow__message_fault(struct arrow_stream *s, const char *what)
{
	return error__set(s->err, -EINVAL, "message %u: %s", s->n_messages, what);
}

int arrow__fault(struct arrow_stream *s, const struct arrow_array *a, const char *what)
{
	return error__set(s->err, -EINVAL, "message %u: column %.*s: %s", s->n_messages,
			  STR_ARG(a->field->name), what);
}

int arrow__charge(struct arrow_stream *s, uint64_t bytes)
{
	if (bytes > s->left)
		return error__set(s->err, -E2BIG, "message %u: more than the limit when it is unpacked",
				  s->n_messages);
	s->left -= bytes;
	return 0;
}

/* ---- messages ---- */

struct message {
	struct fb meta;
	int64_t kind;
	fb_at header;
	const uint8_t *body;
	uint64_t n_body;
};

/* 1, or 0 at the end. */
static int next_message(struct arrow_stream *s, struct message *m)
{
	const size_t n = (size_t)(s->end - s->p);

	if (n == 0)
		return 0;
	s->n_messages++;
	if (n < 8 || le__get32(s->p) != UINT32_MAX)
		return arrow__message_fault(s,
					    "it does not begin as one of Arrow's IPC streams does");
	m->meta = (struct fb){ .p = s->p + 8, .n = le__get32(s->p + 4) };
	if (m->meta.n == 0) {
		s->p = s->end;
		return 0;
	}
	if (m->meta.n > n - 8)
		return arrow__message_fault(s, "its metadata is cut off");
	const fb_at root = fb__root(&m->meta);
	const int64_t n_body = fb__int(&m->meta, root, 3, 8, 0);
	m->kind = fb__int(&m->meta, root, 1, 1, 0);
	m->header = fb__ref(&m->meta, root, 2);
	if (m->meta.fault)
		return arrow__message_fault(s, m->meta.fault);
	if (n_body < 0 || (uint64_t)n_body > n - 8 - m->meta.n)
		return arrow__message_fault(s, "its body is cut off");
	m->body = m->meta.p + m->meta.n;
	m->n_body = (uint64_t)n_body;
	s->p = m->body + n_body;
	return 1;
}

/* ---- dictionaries ---- */

static int keep_in_dictionary(void *ctx, void *unpacked)
{
	struct arrow_dictionary *d = ctx;

	return vec__push(&d->unpacked, unpacked) ? 0 : -ENOMEM;
}

static void empty_dictionary(struct arrow_dictionary *d)
{
	for (size_t i = 0; i < d->unpacked.n; i++)
		free(d->unpacked.v[i]);
	d->unpacked.n = d->pieces.n = 0;
	d->n = 0;
	arena__reset(&d->arena);
}

static int read_dictionary(struct arrow_stream *s, struct message *m)
{
	struct fb *b = &m->meta;
	const int64_t id = fb__int(b, m->header, 0, 8, 0);
	struct arrow_dictionary *d = NULL;
	struct arrow_array *a;
	uint64_t n;

	for (size_t i = 0; i < s->dictionaries.n; i++)
		if (s->dictionaries.v[i]->id == id)
			d = s->dictionaries.v[i];
	if (!d)
		return arrow__message_fault(s, "it is a dictionary that no column has");
	if (fb__int(b, m->header, 2, 1, 0) == 0)
		empty_dictionary(d);
	if (d->pieces.n == ARROW_MAX_PIECES)
		return error__set(s->err, -E2BIG, "message %u: a dictionary in more than %d pieces",
				  s->n_messages, ARROW_MAX_PIECES);
	struct arrow_body body = { .s = s,
				   .b = b,
				   .p = m->body,
				   .n = m->n_body,
				   .arena = &d->arena,
				   .keep = keep_in_dictionary,
				   .ctx = d };
	int e = arrow_batch__read(&body, fb__ref(b, m->header, 1), &d->values, 1, &n, &a);
	if (e == 0 && b->fault)
		e = arrow__message_fault(s, b->fault);
	if (e < 0)
		return e;
	if (!vec__push(&d->pieces, (struct arrow_piece){ d->n, *a }))
		return error__nomem(s->err);
	d->n += n;
	return 0;
}

/* ---- the stream ---- */

static int keep_in_stream(void *ctx, void *unpacked)
{
	struct arrow_stream *s = ctx;

	return vec__push(&s->unpacked, unpacked) ? 0 : -ENOMEM;
}

static void forget_batch(struct arrow_stream *s)
{
	for (size_t i = 0; i < s->unpacked.n; i++)
		free(s->unpacked.v[i]);
	s->unpacked.n = 0;
	arena__reset(&s->batch);
}

int arrow__open(struct arrow_stream *s, const uint8_t *data, size_t n, uint64_t max_bytes,
		struct dcm_error *err)
{
	struct message m;

	*s = (struct arrow_stream){ .err = err, .left = max_bytes, .p = data, .end = n ? data + n : data };
	int r = next_message(s, &m);
	if (r < 0)
		return r;
	if (r == 0 || m.kind != HEADER_SCHEMA)
		return arrow__message_fault(s, "an Arrow stream begins with its schema");
	return arrow_schema__read(s, &m.meta, m.header);
}

void arrow__close(struct arrow_stream *s)
{
	forget_batch(s);
	for (size_t i = 0; i < s->dictionaries.n; i++) {
		struct arrow_dictionary *d = s->dictionaries.v[i];
		empty_dictionary(d);
		vec__fini(&d->pieces);
		vec__fini(&d->unpacked);
		arena__fini(&d->arena);
		free(d);
	}
	vec__fini(&s->dictionaries);
	vec__fini(&s->unpacked);
	arena__fini(&s->batch);
	arena__fini(&s->fields);
}

static int read_batch(struct arrow_stream *s, struct message *m, uint64_t *ret_n_rows,
		      struct arrow_array **ret)
{
	struct arrow_body body = { .s = s,
				   .b = &m->meta,
				   .p = m->body,
				   .n = m->n_body,
				   .arena = &s->batch,
				   .keep = keep_in_stream,
				   .ctx = s };
	int e = arrow_batch__read(&body, m->header, s->schema, s->n_fields, ret_n_rows, ret);

	if (e == 0 && m->meta.fault)
		e = arrow__message_fault(s, m->meta.fault);
	return e == 0 ? 1 : e;
}

int arrow__next(struct arrow_stream *s, uint64_t *ret_n_rows, struct arrow_array **ret_columns)
{
	struct message m;
	int r;

	forget_batch(s);
	while ((r = next_message(s, &m)) > 0) {
		if (m.kind == HEADER_BATCH)
			return read_batch(s, &m, ret_n_rows, ret_columns);
		if (m.kind != HEADER_DICTIONARY)
			return arrow__message_fault(
				s, "it is neither a dictionary nor a batch of rows");
		r = read_dictionary(s, &m);
		if (r < 0)
			break;
	}
	return r;
}

/* ---- what arrays say ---- */

const struct arrow_array *arrow__find(const struct arrow_array *arrays, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (str__eq(arrays[i].field->name, str__of(name)))
			return &arrays[i];
	return NULL;
}

const struct arrow_array *arrow__child(const struct arrow_array *a, const char *name)
{
	const bool is_struct = a->field->kind == ARROW_STRUCT && a->children;

	return is_struct ? arrow__find(a->children, a->field->n_children, name) : NULL;
}

static uint64_t load(const struct arrow_bytes *from, uint64_t i, struct arrow_number of)
{
	const uint8_t *p = from->p;

	switch (of.bits) {
	case 1:
		return p[i / 8] >> i % 8 & 1;
	case 8:
		return of.is_signed ? (uint64_t)(int8_t)p[i] : p[i];
	case 16:
		return of.is_signed ? (uint64_t)(int16_t)le__get16(p + 2 * i) : le__get16(p + 2 * i);
	case 32:
		return of.is_signed ? (uint64_t)(int32_t)le__get32(p + 4 * i) : le__get32(p + 4 * i);
	default:
		return le__get64(p + 8 * i);
	}
}

static uint64_t load_offset(const struct arrow_bytes *from, uint64_t i, uint32_t width)
{
	return load(from, i, (struct arrow_number){ 8 * width, false });
}

int arrow__check_runs(struct arrow_stream *s, const struct arrow_array *a)
{
	const struct arrow_array *ends = &a->children[0];
	uint64_t before = 0;

	for (uint64_t i = 0; i < ends->n; i++) {
		const uint64_t end = load(&ends->entries, i, ends->field->number);
		/* A negative one is very large. */
		if (end <= before || end > INT64_MAX)
			return arrow__fault(s, a, "its run ends do not ascend from above 0");
		before = end;
	}
	return before < a->n ? arrow__fault(s, a, "its runs end before its entries do") : 0;
}

/* Of runs that were checked. */
static uint64_t find_run(const struct arrow_array *a, uint64_t i)
{
	const struct arrow_array *ends = &a->children[0];
	uint64_t from = 0, to = ends->n - 1;

	while (from < to) {
		const uint64_t mid = from + (to - from) / 2;
		if (load(&ends->entries, mid, ends->field->number) > i)
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

static const struct arrow_piece *find_piece(const struct arrow_dictionary *d, uint64_t i)
{
	size_t from = 0, to = d->pieces.n;

	while (to - from > 1) {
		const size_t mid = from + (to - from) / 2;
		if (d->pieces.v[mid].first > i)
			to = mid;
		else
			from = mid;
	}
	return &d->pieces.v[from];
}

int arrow__cell(struct arrow_stream *s, const struct arrow_array *a, uint64_t i, struct arrow_cell *ret)
{
	for (;;) {
		if (i >= a->n)
			return arrow__fault(s, a, "it is referred to beyond its end");
		if (a->valid.n && !(a->valid.p[i / 8] >> i % 8 & 1)) {
			*ret = (struct arrow_cell){ NULL, 0 };
			return 0;
		}
		if (a->field->dictionary) {
			const uint64_t index = load(&a->entries, i, a->field->index);
			const struct arrow_dictionary *d = a->field->dictionary;
			if (index >= d->n)
				return arrow__fault(s, a, "an index is beyond its dictionary's end");
			const struct arrow_piece *piece = find_piece(d, index);
			i = index - piece->first;
			a = &piece->array;
		} else if (a->field->kind == ARROW_RUNS) {
			i = find_run(a, i);
			a = &a->children[1];
		} else {
			*ret = (struct arrow_cell){ a, i };
			return 0;
		}
	}
}

static int view_text(struct arrow_stream *s, const struct arrow_array *a, uint64_t i, struct dcm_str *ret)
{
	const uint8_t *view = a->entries.p + VIEW_BYTES * i;
	const uint32_t n = le__get32(view);

	if (n <= VIEW_IN_PLACE) {
		*ret = (struct dcm_str){ (const char *)view + 4, n };
		return 0;
	}
	const uint32_t buffer = le__get32(view + 8), off = le__get32(view + 12);
	if (buffer >= a->n_variadic)
		return arrow__fault(s, a, "a view is of a buffer that is not there");
	const struct arrow_bytes *bytes = &a->variadic[buffer];
	if (off > bytes->n || n > bytes->n - off)
		return arrow__fault(s, a, "a view is not within its buffer");
	*ret = (struct dcm_str){ (const char *)bytes->p + off, n };
	return 0;
}

static int offset_text(struct arrow_stream *s, const struct arrow_array *a, uint64_t i,
		       struct dcm_str *ret)
{
	const uint64_t from = load_offset(&a->entries, i, a->field->width);
	const uint64_t to = load_offset(&a->entries, i + 1, a->field->width);

	if (from > to || to > a->more.n || to - from > UINT32_MAX)
		return arrow__fault(s, a, "a text is not within its buffer");
	*ret = (struct dcm_str){ a->more.p ? (const char *)a->more.p + from : "", (uint32_t)(to - from) };
	return 0;
}

int arrow__text(struct arrow_stream *s, const struct arrow_array *a, uint64_t i, struct dcm_str *ret)
{
	struct arrow_cell c;
	int e = arrow__cell(s, a, i, &c);

	*ret = STR("");
	if (e < 0 || !c.array)
		return e;
	switch (c.array->field->kind) {
	case ARROW_TEXT:
		return offset_text(s, c.array, c.i, ret);
	case ARROW_VIEWS:
		return view_text(s, c.array, c.i, ret);
	case ARROW_FIXED:
		*ret = (struct dcm_str){ (const char *)c.array->entries.p + c.i * c.array->field->width,
					 c.array->field->width };
		return 0;
	default:
		return arrow__fault(s, a, "it is no text; send utf8 or binary, or a dictionary of them");
	}
}

int arrow__number(struct arrow_stream *s, const struct arrow_array *a, uint64_t i, int64_t *ret)
{
	struct arrow_cell c;
	int e = arrow__cell(s, a, i, &c);

	*ret = 0;
	if (e < 0 || !c.array)
		return e;
	const struct arrow_field *f = c.array->field;
	if (f->kind != ARROW_NUMBER)
		return arrow__fault(s, a, "it is no number; send an integer");
	*ret = (int64_t)load(&c.array->entries, c.i, f->number);
	if (f->unit_ns > 1 && __builtin_mul_overflow(*ret, f->unit_ns, ret))
		return arrow__fault(s, a, "a time is beyond the year 2262");
	return 0;
}

int arrow__list(struct arrow_stream *s, const struct arrow_array *a, uint64_t i,
		const struct arrow_array **ret_of, uint64_t *ret_off, uint64_t *ret_n)
{
	struct arrow_cell c;
	int e = arrow__cell(s, a, i, &c);

	*ret_of = NULL;
	*ret_off = *ret_n = 0;
	if (e < 0 || !c.array)
		return e;
	const struct arrow_field *f = c.array->field;
	if (f->kind != ARROW_LIST && f->kind != ARROW_LIST_VIEW)
		return arrow__fault(s, a, "it is no list; send a list or a list view");
	const uint64_t off = load_offset(&c.array->entries, c.i, f->width);
	const uint64_t second = f->kind == ARROW_LIST
					? load_offset(&c.array->entries, c.i + 1, f->width)
					: load_offset(&c.array->more, c.i, f->width);
	const uint64_t n = f->kind == ARROW_LIST ? second - off : second;
	const struct arrow_array *of = &c.array->children[0];
	if (off > of->n || n > of->n - off)
		return arrow__fault(s, a, "a list is not within its entries");
	*ret_of = of;
	*ret_off = off;
	*ret_n = n;
	return 0;
}
