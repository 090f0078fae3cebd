/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/arrow_schema.c - the schema of an Arrow stream
 *
 *	Schema { endianness, fields, custom_metadata, .. }
 *	Field { name, nullable, type_type, type, dictionary, children, .. }
 *	DictionaryEncoding { id, indexType, .. }
 *
 * A field's slot is its place in its table of Schema.fbs; a union takes two.
 */
#include <errno.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/codec/arrow_parts.h"

/* Of the union Type. */
enum {
	TYPE_INT = 2,
	TYPE_BINARY = 4,
	TYPE_UTF8 = 5,
	TYPE_BOOL = 6,
	TYPE_TIMESTAMP = 10,
	TYPE_LIST = 12,
	TYPE_STRUCT = 13,
	TYPE_FIXED_BINARY = 15,
	TYPE_DURATION = 18,
	TYPE_LARGE_BINARY = 19,
	TYPE_LARGE_UTF8 = 20,
	TYPE_LARGE_LIST = 21,
	TYPE_RUNS = 22,
	TYPE_BINARY_VIEW = 23,
	TYPE_UTF8_VIEW = 24,
	TYPE_LIST_VIEW = 25,
	TYPE_LARGE_LIST_VIEW = 26
};

static const char *const type_names[] = {
	"none",		"null",		  "integer", "floating point", "binary",
	"utf8",		"bool",		  "decimal", "date",	       "time",
	"timestamp",	"interval",	  "list",    "struct",	       "union",
	"fixed binary", "fixed list",	  "map",     "duration",       "large binary",
	"large utf8",	"large list",	  "runs",    "binary view",    "utf8 view",
	"list view",	"large list view"
};
enum { N_TYPES = sizeof(type_names) / sizeof(type_names[0]) };

static int refuse(struct arrow_stream *s, const struct arrow_field *f, const char *what)
{
	return error__set(s->err, -EINVAL, "message %u: column %.*s: %s", s->n_messages,
			  STR_ARG(f->name), what);
}

static int read_int(struct arrow_stream *s, struct fb *b, fb_at type, const struct arrow_field *f,
		    struct arrow_number *ret)
{
	const int64_t bits = fb__int(b, type, 0, 4, 0);

	if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
		return refuse(s, f, "an integer that has neither 8, 16, 32 nor 64 bits");
	*ret = (struct arrow_number){ (uint32_t)bits, fb__int(b, type, 1, 1, 0) != 0 };
	return 0;
}

static int read_time(struct arrow_stream *s, struct fb *b, fb_at type, int64_t usual,
		     struct arrow_field *f)
{
	static const int64_t units[] = { 1000000000, 1000000, 1000, 1 };
	const int64_t unit = fb__int(b, type, 0, 2, usual);

	if (unit < 0 || unit > 3)
		return refuse(s, f, "a time of an unknown unit");
	f->number = (struct arrow_number){ 64, true };
	f->unit_ns = units[unit];
	return 0;
}

static int read_fixed(struct arrow_stream *s, struct fb *b, fb_at type, struct arrow_field *f)
{
	const int64_t width = fb__int(b, type, 0, 4, 0);

	if (width < 0 || width > 65536)
		return refuse(s, f, "binary of a fixed size beyond 64 KiB");
	f->kind = ARROW_FIXED;
	f->width = (uint32_t)width;
	return 0;
}

static int refuse_type(struct arrow_stream *s, const struct arrow_field *f, int64_t type)
{
	return error__set(s->err, -EINVAL,
			  "message %u: column %.*s: its type, %s (%lld), is none that Parca's "
			  "clients write; send it as an "
			  "integer, a text, a list or a struct",
			  s->n_messages, STR_ARG(f->name),
			  type >= 0 && type < N_TYPES ? type_names[type] : "unknown", (long long)type);
}

static int read_type(struct arrow_stream *s, struct fb *b, fb_at table, struct arrow_field *f)
{
	const int64_t kind = (uint8_t)fb__int(b, table, 2, 1, 0);
	const fb_at type = fb__ref(b, table, 3);
	const bool is_large = kind == TYPE_LARGE_BINARY || kind == TYPE_LARGE_UTF8 ||
			      kind == TYPE_LARGE_LIST || kind == TYPE_LARGE_LIST_VIEW;

	f->width = is_large ? 8 : 4;
	switch (kind) {
	case TYPE_INT:
		return read_int(s, b, type, f, &f->number);
	case TYPE_BOOL:
		f->number = (struct arrow_number){ 1, false };
		return 0;
	case TYPE_TIMESTAMP:
		return read_time(s, b, type, 0, f);
	case TYPE_DURATION:
		return read_time(s, b, type, 1, f);
	case TYPE_FIXED_BINARY:
		return read_fixed(s, b, type, f);
	case TYPE_BINARY:
	case TYPE_UTF8:
	case TYPE_LARGE_BINARY:
	case TYPE_LARGE_UTF8:
		f->kind = ARROW_TEXT;
		return 0;
	case TYPE_BINARY_VIEW:
	case TYPE_UTF8_VIEW:
		f->kind = ARROW_VIEWS;
		return 0;
	case TYPE_LIST:
	case TYPE_LARGE_LIST:
		f->kind = ARROW_LIST;
		return 0;
	case TYPE_LIST_VIEW:
	case TYPE_LARGE_LIST_VIEW:
		f->kind = ARROW_LIST_VIEW;
		return 0;
	case TYPE_STRUCT:
		f->kind = ARROW_STRUCT;
		return 0;
	case TYPE_RUNS:
		f->kind = ARROW_RUNS;
		return 0;
	default:
		return refuse_type(s, f, kind);
	}
}

static int check_children(struct arrow_stream *s, const struct arrow_field *f)
{
	if ((f->kind == ARROW_LIST || f->kind == ARROW_LIST_VIEW) && f->n_children != 1)
		return refuse(s, f, "a list that has not one kind of entries");
	if (f->kind == ARROW_RUNS && (f->n_children != 2 || f->children[0].kind != ARROW_NUMBER ||
				      f->children[0].dictionary || f->children[0].number.bits < 16))
		return refuse(s, f, "runs that have not their ends and values");
	if (f->kind < ARROW_LIST && f->n_children)
		return refuse(s, f, "it has children, and its type has none");
	return 0;
}

static int read_dictionary(struct arrow_stream *s, struct fb *b, fb_at encoding, struct arrow_field *f)
{
	const int64_t id = fb__int(b, encoding, 0, 8, 0);
	const fb_at type = fb__ref(b, encoding, 1);
	int e = 0;

	f->index = (struct arrow_number){ 32, true };
	if (type)
		e = read_int(s, b, type, f, &f->index);
	for (size_t i = 0; e == 0 && i < s->dictionaries.n; i++)
		if (s->dictionaries.v[i]->id == id)
			e = refuse(s, f, "it shares its dictionary with another column; give each its own");
	if (e < 0)
		return e;
	struct arrow_dictionary *d = NEW(struct arrow_dictionary);
	if (!d || !vec__push(&s->dictionaries, d)) {
		free(d);
		return error__nomem(s->err);
	}
	d->id = id;
	d->values = *f;
	f->dictionary = d;
	return 0;
}

static int read_fields(struct arrow_stream *s, struct fb *b, fb_at vector, uint32_t depth,
		       struct arrow_field **ret, uint32_t *ret_n);

static int read_field(struct arrow_stream *s, struct fb *b, fb_at table, uint32_t depth,
		      struct arrow_field *f)
{
	f->name = fb__str(b, table, 0);
	int e = read_type(s, b, table, f);
	if (e == 0)
		e = read_fields(s, b, fb__ref(b, table, 5), depth + 1, &f->children, &f->n_children);
	if (e == 0)
		e = check_children(s, f);
	const fb_at encoding = fb__ref(b, table, 4);
	if (e == 0 && encoding)
		e = read_dictionary(s, b, encoding, f);
	return e;
}

static int read_fields(struct arrow_stream *s, struct fb *b, fb_at vector, uint32_t depth,
		       struct arrow_field **ret, uint32_t *ret_n)
{
	const uint32_t n = fb__length(b, vector, 4);
	int e = 0;

	*ret_n = 0;
	if (depth > ARROW_MAX_DEPTH)
		return error__set(s->err, -E2BIG, "message %u: its columns are nested deeper than %d",
				  s->n_messages, ARROW_MAX_DEPTH);
	if (n > ARROW_MAX_FIELDS - s->n_all)
		return error__set(s->err, -E2BIG, "message %u: more than %d columns", s->n_messages,
				  ARROW_MAX_FIELDS);
	s->n_all += n;
	*ret = arena__zalloc(&s->fields, n + 1, sizeof(**ret));
	if (!*ret)
		return error__nomem(s->err);
	for (uint32_t i = 0; e == 0 && i < n; i++)
		e = read_field(s, b, fb__table(b, vector, i), depth, &(*ret)[i]);
	*ret_n = n;
	return e;
}

static void read_version(struct arrow_stream *s, struct fb *b, fb_at pairs)
{
	const uint32_t n = fb__length(b, pairs, 4);

	for (uint32_t i = 0; i < n; i++) {
		const fb_at pair = fb__table(b, pairs, i);
		if (str__eq(fb__str(b, pair, 0), STR("parca_write_schema_version")))
			s->version = fb__str(b, pair, 1);
	}
}

int arrow_schema__read(struct arrow_stream *s, struct fb *b, fb_at table)
{
	if (fb__int(b, table, 0, 2, 0) != 0)
		return arrow__message_fault(s,
					    "its numbers are big-endian; send them little-endian");
	int e = read_fields(s, b, fb__ref(b, table, 1), 0, &s->schema, &s->n_fields);
	if (e == 0)
		read_version(s, b, fb__ref(b, table, 2));
	/* What was read of broken metadata may have been refused for what it is not. */
	return b->fault ? arrow__message_fault(s, b->fault) : e;
}
