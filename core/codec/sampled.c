/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/sampled.c - rows of Arrow as samples
 *
 * Lists of locations may overlap, and dictionaries make few bytes say much: rows, locations and lines are counted against a limit.
 */
#include "core/codec/sampled.h"

#include <errno.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/builder.h"
#include "core/batch/limits.h"
#include "core/codec/arrow.h"

#define WINDOW_NS INT64_C(10000000000)

enum { MAX_PROFILES = 65536, BYTES_AN_ENTRY = 32 };
enum { TYPE_PARTS = 5 };

/* What was made of a place in an array. */
struct made {
	const struct arrow_array *array;
	uint64_t i, n;
	uint32_t id;
};

struct table {
	VEC(struct made) made;
	struct hindex index;
};

struct label_column {
	const struct arrow_array *array;
	uint32_t name; /* the builder's */
	bool is_sample;
};

/* A profile of the batch. */
struct group {
	uint32_t series;
	struct dcm_type type;
	int64_t time_ns, duration_ns, period;
	uint32_t first, last; /* rows */
};

struct row {
	uint32_t stack, label_set, next; /* next row of the group, or DCM_NONE */
	int64_t value;
};

struct sampled {
	struct arrow_stream stream;
	const struct decode_options *o;
	struct dcm_builder *b;
	struct dcm_error *err;
	uint64_t left; /* rows, locations and lines that there may yet be */
	/* Of the batch of Arrow at hand: */
	const struct arrow_array *type[TYPE_PARTS];
	const struct arrow_array *stack, *value, *temporality, *period, *duration, *timestamp;
	VEC(struct label_column) labels;
	struct table stacks, locations;

	VEC(struct group) groups;
	struct hindex group_index;
	VEC(struct row) rows;
};

static int charge(struct sampled *q, uint64_t n)
{
	if (n > q->left)
		return error__set(q->err, -E2BIG, "more samples, locations and lines than the limit");
	q->left -= n;
	return 0;
}

/* ---- what was made already ---- */

static uint64_t hash_of(const struct made *m)
{
	return hash__mix(hash__bytes(&m->array, sizeof(m->array), m->i), m->n);
}

/* DCM_NONE: nothing yet. */
static uint32_t table_find(const struct table *t, const struct made *m)
{
	const uint64_t h = hash_of(m);
	uint32_t row, at = hindex__first(&t->index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&t->index, h, at, &row)) {
		const struct made *k = &t->made.v[row];
		if (k->array == m->array && k->i == m->i && k->n == m->n)
			return k->id;
	}
	return DCM_NONE;
}

static int table_put(struct sampled *q, struct table *t, const struct made *m)
{
	if (!vec__push(&t->made, *m) ||
	    hindex__insert(&t->index, hash_of(m), (uint32_t)t->made.n - 1) < 0)
		return error__nomem(q->err);
	return 0;
}

static void table_fini(struct table *t)
{
	vec__fini(&t->made);
	hindex__fini(&t->index);
	*t = (struct table){ 0 };
}

/* ---- locations ---- */

static int child_text(struct sampled *q, const struct arrow_cell *c, const char *name, struct dcm_str *ret)
{
	const struct arrow_array *a = arrow__child(c->array, name);

	*ret = STR("");
	return a ? arrow__text(&q->stream, a, c->i, ret) : 0;
}

static int child_number(struct sampled *q, const struct arrow_cell *c, const char *name, int64_t *ret)
{
	const struct arrow_array *a = arrow__child(c->array, name);

	*ret = 0;
	return a ? arrow__number(&q->stream, a, c->i, ret) : 0;
}

/* The struct at entry i of an array; array NULL: null. */
static int struct_at(struct sampled *q, const struct arrow_array *a, uint64_t i, struct arrow_cell *ret)
{
	int e = arrow__cell(&q->stream, a, i, ret);

	if (e == 0 && ret->array && ret->array->field->kind != ARROW_STRUCT)
		e = arrow__fault(&q->stream, a, "it is no struct");
	return e;
}

/* DCM_NONE: one without name and file. */
static int read_function(struct sampled *q, const struct arrow_cell *line, uint32_t *ret)
{
	const struct arrow_array *a = arrow__child(line->array, "function");
	struct dcm_function made = { 0 };
	struct dcm_str name, file;
	struct arrow_cell c;

	*ret = DCM_NONE;
	if (!a)
		return 0;
	int e = struct_at(q, a, line->i, &c);
	if (e < 0 || !c.array)
		return e;
	e = child_text(q, &c, "system_name", &name);
	if (e == 0)
		e = child_text(q, &c, "filename", &file);
	if (e == 0)
		e = child_number(q, &c, "start_line", &made.start_line);
	if (e < 0 || (name.n == 0 && file.n == 0))
		return e;
	made.name = builder__string(q->b, name);
	made.file = builder__string(q->b, file);
	*ret = builder__function(q->b, &made);
	return 0;
}

struct lines {
	struct dcm_line v[LOCATION_MAX_LINES];
	uint32_t n;
};

static int read_line(struct sampled *q, const struct arrow_array *of, uint64_t i, struct lines *lines)
{
	struct dcm_line line = { .function = DCM_NONE };
	struct arrow_cell c;
	int64_t column = 0;
	int e = struct_at(q, of, i, &c);

	if (e < 0 || !c.array)
		return e;
	e = read_function(q, &c, &line.function);
	if (e == 0)
		e = child_number(q, &c, "line", &line.line);
	if (e == 0)
		e = child_number(q, &c, "column", &column);
	line.column = column > 0 && column <= UINT32_MAX ? (uint32_t)column : 0;
	/* A line that says nothing would only hide that there is no name. */
	if (e == 0 && (line.function != DCM_NONE || line.line))
		lines->v[lines->n++] = line;
	return e;
}

static int read_lines(struct sampled *q, const struct arrow_cell *location, struct lines *lines)
{
	const struct arrow_array *a = arrow__child(location->array, "lines"), *of;
	uint64_t off, n;

	lines->n = 0;
	if (!a)
		return 0;
	int e = arrow__list(&q->stream, a, location->i, &of, &off, &n);
	if (e == 0 && n > LOCATION_MAX_LINES)
		e = error__set(q->err, -E2BIG, "a location has more than %d lines", LOCATION_MAX_LINES);
	if (e == 0)
		e = charge(q, n);
	for (uint64_t i = 0; e == 0 && i < n; i++)
		e = read_line(q, of, off + i, lines);
	return e;
}

struct origin {
	int64_t address;
	struct dcm_str type, file, build_id;
};

static enum decode_frame frame_of(const struct origin *at)
{
	if (str__ends(at->type, STR("-abort")) || str__ends(at->type, STR("-error")) ||
	    str__eq(at->file, STR("agent-internal-error-frame")))
		return DECODE_FRAME_ABORT;
	return decode__frame(at->type);
}

static uint32_t mapping_of(struct sampled *q, const struct origin *at, uint32_t kind)
{
	struct dcm_mapping made = { .kind = kind };

	made.file = builder__string(q->b, at->file);
	if (at->build_id.n)
		made.build_id = decode__build_id(q->b, at->build_id, true);
	return builder__mapping(q->b, &made);
}

/* Where an address counts. What is not native and has a name needs none: it is of one process, or a place in a text. */
static void place(struct sampled *q, const struct origin *at, enum decode_frame frame,
		  struct dcm_location *l)
{
	if (frame == DECODE_FRAME_KERNEL) {
		l->kind = DCM_FRAME_KERNEL;
		l->mapping = mapping_of(q,
					at->file.n ? at
						   : &(struct origin){ .file = STR("[kernel]"),
								       .build_id = STR("") },
					DCM_MAPPING_KERNEL);
		l->addr_kind = l->address ? DCM_ADDR_VADDR : DCM_ADDR_NONE;
		return;
	}
	if (frame == DECODE_FRAME_JIT)
		l->kind = DCM_FRAME_JIT;
	else if (frame == DECODE_FRAME_INTERPRETED)
		l->kind = DCM_FRAME_INTERPRETED;
	const bool is_known = at->build_id.n || (at->file.n && !str__eq(at->file, STR("UNKNOWN")));
	if (l->kind != DCM_FRAME_NATIVE && l->n_lines) {
		l->address = 0;
	} else if (is_known) {
		l->mapping = mapping_of(q, at, DCM_MAPPING_FILE);
		l->addr_kind = l->address ? DCM_ADDR_VADDR : DCM_ADDR_NONE;
	} else if (l->address) {
		l->addr_kind = DCM_ADDR_RUNTIME;
	}
}

/* Why a stack ends where it should not. */
static uint32_t note(struct sampled *q, const struct origin *at)
{
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE, .kind = DCM_FRAME_NOTE };
	struct dcm_function f = { 0 };
	char text[96];

	snprintf(text, sizeof(text), "[truncated: %.*s %lld]",
		 at->type.n > 48 ? 48 : (int)at->type.n, at->type.p, (long long)at->address);
	f.name = builder__string(q->b, str__of(text));
	const struct dcm_line line = { .function = builder__function(q->b, &f) };
	return builder__location(q->b, &l, &line, 1);
}

static int make_location(struct sampled *q, const struct arrow_cell *c, uint32_t *ret)
{
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE, .kind = DCM_FRAME_NATIVE };
	struct origin at;
	struct lines lines;
	int e = child_number(q, c, "address", &at.address);

	if (e == 0)
		e = child_text(q, c, "frame_type", &at.type);
	if (e == 0)
		e = child_text(q, c, "mapping_file", &at.file);
	if (e == 0)
		e = child_text(q, c, "mapping_build_id", &at.build_id);
	if (e == 0)
		e = read_lines(q, c, &lines);
	if (e < 0)
		return e;
	const enum decode_frame frame = frame_of(&at);
	if (frame == DECODE_FRAME_ABORT) {
		*ret = note(q, &at);
		return 0;
	}
	l.address = (uint64_t)at.address;
	l.n_lines = lines.n;
	place(q, &at, frame, &l);
	*ret = builder__location(q->b, &l, lines.v, lines.n);
	return 0;
}

static int find_location(struct sampled *q, const struct arrow_array *of, uint64_t i, uint32_t *ret)
{
	struct arrow_cell c;
	int e = struct_at(q, of, i, &c);

	if (e == 0 && !c.array)
		e = arrow__fault(&q->stream, of, "a location is null");
	if (e < 0)
		return e;
	struct made m = { .array = c.array, .i = c.i };
	*ret = table_find(&q->locations, &m);
	if (*ret != DCM_NONE)
		return 0;
	e = make_location(q, &c, &m.id);
	*ret = m.id;
	return e == 0 ? table_put(q, &q->locations, &m) : e;
}

static int find_stack(struct sampled *q, uint64_t i, uint32_t *ret)
{
	uint32_t ids[STACK_MAX_DEPTH];
	const struct arrow_array *of;
	struct made m;
	int e = arrow__list(&q->stream, q->stack, i, &of, &m.i, &m.n);

	if (e < 0)
		return e;
	m.array = of;
	*ret = table_find(&q->stacks, &m);
	if (*ret != DCM_NONE)
		return 0;
	if (m.n > STACK_MAX_DEPTH)
		return error__set(q->err, -E2BIG, "a stack has more than %d locations", STACK_MAX_DEPTH);
	e = charge(q, m.n);
	for (uint64_t k = 0; e == 0 && k < m.n; k++)
		e = find_location(q, of, m.i + k, &ids[k]);
	if (e < 0)
		return e;
	*ret = m.id = builder__stack(q->b, ids, (uint32_t)m.n);
	return table_put(q, &q->stacks, &m);
}

/* ---- labels ---- */

static bool is_of_samples(struct dcm_str name)
{
	static const char *const names[] = { "pid", "tid",	"thread_id", "thread_name",
					     "cpu", "trace_id", "span_id" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str__eq(name, str__of(names[i])))
			return true;
	return false;
}

/* A column of labels; the caller's win. */
static int put_column(struct sampled *q, struct dcm_str name, const struct arrow_array *a)
{
	const struct label_column new = { a, builder__string(q->b, name), is_of_samples(name) };

	if (name.n == 0)
		return arrow__fault(&q->stream, a, "a label without a name");
	for (uint32_t i = 0; i < q->o->n_labels; i++)
		if (str__eq(name, q->o->labels[i].name))
			return 0;
	if (str__starts(name, STR("__")))
		return 0;
	for (size_t i = 0; i < q->labels.n; i++)
		if (q->labels.v[i].name == new.name)
			return arrow__fault(&q->stream, a, "the label comes twice");
	if (q->labels.n + q->o->n_labels >= LABELS_MAX)
		return error__set(q->err, -E2BIG, "more than %d labels", LABELS_MAX);
	return vec__push(&q->labels, new) ? 0 : error__nomem(q->err);
}

static int find_labels(struct sampled *q, const struct arrow_array *columns, uint32_t n)
{
	static const struct dcm_str prefix = { "labels.", 7 };
	int e = 0;

	q->labels.n = 0;
	for (uint32_t i = 0; e == 0 && i < n; i++) {
		const struct arrow_field *f = columns[i].field;
		if (str__starts(f->name, prefix))
			e = put_column(q, (struct dcm_str){ f->name.p + prefix.n, f->name.n - prefix.n },
				       &columns[i]);
		else if (str__eq(f->name, STR("labels")) && (f->kind != ARROW_STRUCT || f->dictionary))
			e = arrow__fault(&q->stream, &columns[i], "it is no struct");
		else if (str__eq(f->name, STR("labels")))
			for (uint32_t k = 0; e == 0 && k < f->n_children; k++)
				e = put_column(q, f->children[k].name, &columns[i].children[k]);
	}
	return e;
}

static int read_labels(struct sampled *q, uint64_t i, uint32_t *ret_series, uint32_t *ret_set)
{
	struct dcm_pair pairs[LABELS_MAX];
	struct dcm_label labels[LABELS_MAX];
	uint32_t n_pairs = 0, n_labels = 0;

	for (size_t k = 0; k < q->labels.n; k++) {
		const struct label_column *c = &q->labels.v[k];
		struct dcm_str value;
		int e = arrow__text(&q->stream, c->array, i, &value);
		if (e < 0)
			return e;
		if (value.n && c->is_sample)
			labels[n_labels++] = (struct dcm_label){ .name = c->name,
								 .str = builder__string(q->b, value),
								 .unit = DCM_NONE };
		else if (value.n)
			pairs[n_pairs++] = (struct dcm_pair){ c->name, builder__string(q->b, value) };
	}
	for (uint32_t k = 0; k < q->o->n_labels; k++)
		pairs[n_pairs++] = (struct dcm_pair){ builder__string(q->b, q->o->labels[k].name),
						      builder__string(q->b, q->o->labels[k].value) };
	*ret_series = builder__series(q->b, pairs, n_pairs);
	*ret_set = n_labels ? builder__label_set(q->b, labels, n_labels) : 0;
	return 0;
}

/* ---- profiles of the batch ---- */

static bool is_group(const struct group *a, const struct group *b)
{
	return a->series == b->series && memcmp(&a->type, &b->type, sizeof(a->type)) == 0 &&
	       a->time_ns == b->time_ns && a->duration_ns == b->duration_ns && a->period == b->period;
}

static int find_group(struct sampled *q, const struct group *new, uint32_t *ret)
{
	const int64_t numbers[] = { new->series, new->time_ns, new->duration_ns, new->period };
	const uint64_t h = hash__bytes(numbers, sizeof(numbers),
				       hash__bytes(&new->type, sizeof(new->type), 0));
	uint32_t row, at = hindex__first(&q->group_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&q->group_index, h, at, &row))
		if (is_group(&q->groups.v[row], new))
			break;
	if (row == HINDEX_NONE) {
		if (q->groups.n == MAX_PROFILES)
			return error__set(q->err, -E2BIG,
					  "more than %d profiles; send fewer samples at once",
					  MAX_PROFILES);
		row = (uint32_t)q->groups.n;
		if (!vec__push(&q->groups, *new) || hindex__insert(&q->group_index, h, row) < 0)
			return error__nomem(q->err);
	}
	*ret = row;
	return 0;
}

static int optional_number(struct sampled *q, const struct arrow_array *a, uint64_t i, int64_t *ret)
{
	int e = a ? arrow__number(&q->stream, a, i, ret) : 0;

	if (!a)
		*ret = 0;
	return e == 0 && *ret < 0 ? arrow__fault(&q->stream, a, "a number is negative") : e;
}

static int read_type(struct sampled *q, uint64_t i, struct group *g)
{
	struct dcm_str part[TYPE_PARTS], temporality = STR("");
	uint32_t ids[TYPE_PARTS];

	for (int k = 0; k < TYPE_PARTS; k++) {
		part[k] = STR("");
		int e = q->type[k] ? arrow__text(&q->stream, q->type[k], i, &part[k]) : 0;
		if (e == 0 && k < 3 && part[k].n == 0)
			e = arrow__fault(&q->stream, q->type[k], "it is empty, and part of the type");
		if (e < 0)
			return e;
		ids[k] = decode__type_part(q->b, part[k]);
	}
	int e = q->temporality ? arrow__text(&q->stream, q->temporality, i, &temporality) : 0;
	if (e < 0)
		return e;
	g->type = (struct dcm_type){ .name = ids[0],
				     .sample_type = ids[1],
				     .sample_unit = ids[2],
				     .period_type = ids[3],
				     .period_unit = ids[4],
				     .temporality = DCM_DELTA };
	if (!str__eq(temporality, STR("delta")))
		g->type.temporality = (uint32_t)decode__temporality(q->o, part[0], part[1], 0);
	return 0;
}

static int read_time(struct sampled *q, uint64_t i, struct group *g)
{
	int e = optional_number(q, q->timestamp, i, &g->time_ns);

	if (e == 0)
		e = optional_number(q, q->duration, i, &g->duration_ns);
	if (e == 0)
		e = optional_number(q, q->period, i, &g->period);
	if (e == 0 && g->time_ns > INT64_MAX - WINDOW_NS)
		e = arrow__fault(&q->stream, q->timestamp, "a time is beyond the year 2262");
	if (e == 0 && g->type.temporality == DCM_DELTA) {
		g->time_ns -= g->time_ns % WINDOW_NS;
		g->duration_ns = WINDOW_NS;
	}
	return e;
}

/* ---- rows ---- */

static int add_row(struct sampled *q, const struct group *new, struct row r)
{
	const uint32_t row = (uint32_t)q->rows.n;
	uint32_t at = 0;
	int e = find_group(q, new, &at);

	if (e < 0)
		return e;
	if (!vec__push(&q->rows, r))
		return error__nomem(q->err);
	struct group *g = &q->groups.v[at];
	if (g->last == DCM_NONE)
		g->first = row;
	else
		q->rows.v[g->last].next = row;
	g->last = row;
	return 0;
}

static int read_row(struct sampled *q, uint64_t i)
{
	struct group g = { .first = DCM_NONE, .last = DCM_NONE };
	struct row r = { .next = DCM_NONE };
	int e = charge(q, 1);

	if (e == 0)
		e = arrow__number(&q->stream, q->value, i, &r.value);
	if (e < 0 || r.value == 0)
		return e;
	e = read_type(q, i, &g);
	if (e == 0)
		e = read_time(q, i, &g);
	if (e == 0)
		e = read_labels(q, i, &g.series, &r.label_set);
	if (e == 0)
		e = find_stack(q, i, &r.stack);
	return e == 0 ? add_row(q, &g, r) : e;
}

static int find_columns(struct sampled *q, const struct arrow_array *columns, uint32_t n)
{
	static const char *const parts[TYPE_PARTS] = { "producer", "sample_type", "sample_unit",
						       "period_type", "period_unit" };
	const struct {
		const char *name;
		const struct arrow_array **to;
		bool is_needed;
	} others[] = {
		{ "stacktrace", &q->stack, true },    { "value", &q->value, true },
		{ "timestamp", &q->timestamp, true }, { "temporality", &q->temporality, false },
		{ "duration", &q->duration, false },  { "period", &q->period, false },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		*others[i].to = arrow__find(columns, n, others[i].name);
		if (!*others[i].to && others[i].is_needed)
			return error__set(
				q->err,
				-EINVAL, "it has no column %s; it should be of parca_write_schema_version v2, and is %.*s",
				others[i].name,
				STR_ARG(q->stream.version.n ? q->stream.version : STR("of none")));
	}
	for (int k = 0; k < TYPE_PARTS; k++) {
		q->type[k] = arrow__find(columns, n, parts[k]);
		if (!q->type[k] && k < 3)
			return error__set(q->err, -EINVAL, "it has no column %s", parts[k]);
	}
	return find_labels(q, columns, n);
}

static int read_batch(struct sampled *q, const struct arrow_array *columns, uint64_t n_rows)
{
	int e = find_columns(q, columns, q->stream.n_fields);

	for (uint64_t i = 0; e == 0 && i < n_rows; i++) {
		e = read_row(q, i);
		if (e < 0 && e != -ENOMEM)
			error__prefix(q->err, "row %llu", (unsigned long long)i);
	}
	/* The next one has other arrays, perhaps in their place. */
	table_fini(&q->stacks);
	table_fini(&q->locations);
	return e;
}

static void add_profiles(struct sampled *q)
{
	for (size_t i = 0; i < q->groups.n; i++) {
		const struct group *g = &q->groups.v[i];
		const struct dcm_profile head = { .series = g->series,
						  .time_ns = g->time_ns,
						  .duration_ns = g->duration_ns,
						  .period = g->period };

		builder__profile(q->b, &head, &g->type, 1);
		for (uint32_t row = g->first; row != DCM_NONE; row = q->rows.v[row].next) {
			const struct row *r = &q->rows.v[row];
			builder__row(q->b, r->stack, r->label_set, &r->value);
		}
	}
}

static int read_stream(struct sampled *q, const uint8_t *data, size_t n, uint64_t max_bytes)
{
	struct arrow_array *columns;
	uint64_t n_rows;
	int r = arrow__open(&q->stream, data, n, max_bytes, q->err);

	if (r == 0) {
		while ((r = arrow__next(&q->stream, &n_rows, &columns)) > 0) {
			int e = read_batch(q, columns, n_rows);
			if (e < 0) {
				r = e;
				break;
			}
		}
	}
	arrow__close(&q->stream);
	return r;
}

static int read_request(const uint8_t *data, size_t n, const struct decode_options *o,
			struct dcm_builder *b, struct dcm_error *err)
{
	const uint64_t max_bytes = decode__max_bytes(o, DECODE_MAX_BYTES);
	struct sampled q = { .o = o, .b = b, .err = err, .left = max_bytes / BYTES_AN_ENTRY };
	struct pb_reader r = pb__reader(data, n);
	struct pb_field f;
	int e = 0;

	while (e == 0 && pb__next(&r, &f))
		if (f.number == 1 && f.type == PB_BYTES)
			e = read_stream(&q, f.p, f.n, max_bytes);
	if (e == 0 && r.fault)
		e = error__set(err, -EINVAL, "byte %zu: %s", (size_t)(r.p - data), r.fault);
	if (e == 0)
		add_profiles(&q);
	vec__fini(&q.labels);
	vec__fini(&q.groups);
	vec__fini(&q.rows);
	hindex__fini(&q.group_index);
	if (e < 0 && e != -ENOMEM)
		error__prefix(err, "writearrow");
	return e;
}

int sampled__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		    struct dcm_batch **ret, struct dcm_error *err)
{
	return decode__batch(read_request, data, n, o, ret, err);
}
