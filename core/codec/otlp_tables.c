/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp_tables.c - what the samples of an OTLP request refer to: strings, mappings, functions, locations, stacks, links
 *
 * Each is read when it is first referred to. References lead from stacks to locations, to mappings and functions, to strings: no
 * way leads back, so that the depth is that.
 */
#include "core/codec/otlp_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/builder.h"

/* ---- the tables ---- */

int otlp_tables__list(struct otlp_input *in, const struct pb_field *f)
{
	/* What an entry takes, read and unread, in units of 32 bytes. */
	static const uint8_t costs[OTLP_TABLES] = {
		[OTLP_MAPPINGS] = 2, [OTLP_LOCATIONS] = 1,  [OTLP_FUNCTIONS] = 1, [OTLP_LINKS] = 2,
		[OTLP_STRINGS] = 1,  [OTLP_ATTRIBUTES] = 3, [OTLP_STACKS] = 1
	};

	_Static_assert(sizeof(struct otlp_mapping) + sizeof(struct otlp_piece) <= 64, "");
	_Static_assert(sizeof(struct otlp_link) + sizeof(struct otlp_piece) <= 64, "");
	_Static_assert(sizeof(struct otlp_attribute) + sizeof(struct otlp_piece) <= 96, "");
	for (int t = 0; t < OTLP_TABLES; t++) {
		if (in->layout->tables[t] != f->number || f->number == 0)
			continue;
		int e = otlp_input__message(in, "an entry of a table", f);
		if (e == 0)
			e = otlp_input__charge(in, costs[t]);
		if (e == 0 && !vec__push(&in->tables[t], otlp_input__piece(in, f)))
			e = error__nomem(in->err);
		return e;
	}
	return 0;
}

/* Ids of nothing yet. */
static uint32_t *unmade(size_t n)
{
	uint32_t *ids = mem__resize(NULL, n + 1, sizeof(*ids));

	if (ids)
		memset(ids, 0xff, (n + 1) * sizeof(*ids));
	return ids;
}

int otlp_tables__begin(struct otlp_input *in)
{
	in->string_ids = unmade(in->tables[OTLP_STRINGS].n);
	in->function_ids = unmade(in->tables[OTLP_FUNCTIONS].n);
	in->location_ids = unmade(in->tables[OTLP_LOCATIONS].n);
	in->stack_ids = unmade(in->tables[OTLP_STACKS].n);
	in->mappings = mem__zalloc(in->tables[OTLP_MAPPINGS].n + 1, sizeof(*in->mappings));
	in->attributes = mem__zalloc(in->tables[OTLP_ATTRIBUTES].n + 1, sizeof(*in->attributes));
	in->links = mem__zalloc(in->tables[OTLP_LINKS].n + 1, sizeof(*in->links));
	if (!in->string_ids || !in->function_ids || !in->location_ids || !in->stack_ids ||
	    !in->mappings || !in->attributes || !in->links)
		return error__nomem(in->err);
	return 0;
}

#define FORGET(p)                                                                                  \
	do {                                                                                       \
		free(p);                                                                           \
		(p) = NULL;                                                                        \
	} while (0)

void otlp_tables__end(struct otlp_input *in)
{
	FORGET(in->string_ids);
	FORGET(in->function_ids);
	FORGET(in->location_ids);
	FORGET(in->stack_ids);
	FORGET(in->mappings);
	FORGET(in->attributes);
	FORGET(in->links);
	for (int t = 0; t < OTLP_TABLES; t++)
		vec__fini(&in->tables[t]);
}

static int find(struct otlp_input *in, enum otlp_table t, const char *what, uint64_t index,
		struct otlp_piece *ret)
{
	static const char *const names[] = {
		[OTLP_MAPPINGS] = "mapping_table",   [OTLP_LOCATIONS] = "location_table",
		[OTLP_FUNCTIONS] = "function_table", [OTLP_LINKS] = "link_table",
		[OTLP_STRINGS] = "string_table",     [OTLP_ATTRIBUTES] = "attribute_table",
		[OTLP_STACKS] = "stack_table"
	};

	if (index >= in->tables[t].n)
		return otlp_input__fault(in, "%s is entry %lld of a %s of %zu", what,
					 (long long)index, names[t], in->tables[t].n);
	*ret = in->tables[t].v[index];
	return 0;
}

/* ---- strings ---- */

int otlp_tables__text(struct otlp_input *in, const char *what, uint64_t index, struct dcm_str *ret)
{
	struct otlp_piece at = { 0, 0 };
	/* The zero value, which a dictionary without anything may lack. */
	int e = index == 0 && in->tables[OTLP_STRINGS].n == 0
			? 0
			: find(in, OTLP_STRINGS, what, index, &at);

	if (e == 0)
		*ret = (struct dcm_str){ (const char *)in->data + at.off, at.n };
	return e;
}

int otlp_tables__string(struct otlp_input *in, const char *what, uint64_t index, uint32_t *ret)
{
	struct dcm_str text;
	int e = otlp_tables__text(in, what, index, &text);

	if (e < 0)
		return e;
	/* There is one place more than strings. */
	if (in->string_ids[index] == DCM_NONE)
		in->string_ids[index] = builder__string(in->b, text);
	*ret = in->string_ids[index];
	return 0;
}

/* ---- mappings ---- */

struct build_id {
	struct dcm_str text;
	int rank; /* of its kind; 0: none */
};

static int take_mapping_attribute(struct otlp_input *in, void *ctx, uint64_t index)
{
	static const char *const keys[] = { "process.executable.build_id.htlhash",
					    "process.executable.build_id.profiling",
					    "process.executable.build_id.go",
					    "process.executable.build_id.gnu" };
	struct build_id *id = ctx;
	struct otlp_attribute *a;
	int e = otlp_values__attribute(in, index, &a);

	for (int k = 0; e == 0 && k < 4; k++)
		if (str__eq(a->key, str__of(keys[k])) && a->value.text.n && k + 1 > id->rank)
			*id = (struct build_id){ a->value.text, k + 1 };
	return e;
}

static int read_mapping(struct otlp_input *in, struct otlp_piece at, struct otlp_mapping *m)
{
	struct build_id id = { STR(""), 0 };
	struct dcm_str file = STR("");
	struct pb_reader r = otlp_input__reader(in, at);
	struct pb_field f;
	uint64_t v[5];
	int e = otlp_input__fields(in, "a mapping", at, 4, v, NULL);

	if (e == 0)
		e = otlp_tables__text(in, "filename_strindex of a mapping", v[4], &file);
	while (e == 0 && pb__next(&r, &f))
		if (f.number == 5)
			e = otlp_input__numbers(in, "attribute_indices of a mapping", &f, false,
						take_mapping_attribute, &id);
	if (e < 0)
		return e;
	*m = (struct otlp_mapping){ .is_read = true,
				    .raw = { .start = v[1], .limit = v[2], .offset = v[3] },
				    .ids = { DCM_NONE, DCM_NONE } };
	m->raw.kind = decode__mapping_kind(file);
	if (id.rank)
		m->raw.build_id = decode__build_id(in->b, id.text, id.rank == 4);
	if (m->raw.kind == DCM_MAPPING_ANON && m->raw.build_id)
		m->raw.kind = DCM_MAPPING_FILE;
	if (str__eq(file, STR("//anon")))
		return 0;
	return otlp_tables__string(in, "filename_strindex of a mapping", v[4], &m->raw.file);
}

/* NULL: none. */
static int find_mapping(struct otlp_input *in, uint64_t index, bool is_told, struct otlp_mapping **ret)
{
	struct otlp_piece at = { 0, 0 };
	bool is_none = in->layout->is_ranged ? !is_told : index == 0 && !in->tables[OTLP_MAPPINGS].n;
	int e = 0;

	*ret = NULL;
	if (is_none)
		return 0;
	e = find(in, OTLP_MAPPINGS, "mapping_index of a location", index, &at);
	if (e == 0 && !in->mappings[index].is_read)
		e = read_mapping(in, at, &in->mappings[index]);
	if (e < 0)
		return e;
	const struct dcm_mapping *m = &in->mappings[index].raw;
	if (m->file || m->build_id || m->limit)
		*ret = &in->mappings[index];
	return 0;
}

/* The builder's, with the range only where addresses count in it: it differs from process to process. */
static uint32_t mapping_id(struct otlp_input *in, struct otlp_mapping *m, bool with_range)
{
	if (m->ids[with_range] == DCM_NONE) {
		struct dcm_mapping made = m->raw;
		if (!with_range || made.limit < made.start)
			made.start = made.limit = made.offset = 0;
		m->ids[with_range] = builder__mapping(in->b, &made);
	}
	return m->ids[with_range];
}

/* ---- functions ---- */

/* DCM_NONE: one without name and file. */
static int find_function(struct otlp_input *in, uint64_t index, uint32_t *ret)
{
	struct dcm_function made = { 0 };
	struct otlp_piece at = { 0, 0 };
	uint64_t v[5];

	*ret = DCM_NONE;
	if (index == 0 && in->tables[OTLP_FUNCTIONS].n == 0)
		return 0;
	int e = find(in, OTLP_FUNCTIONS, "function_index of a line", index, &at);
	if (e < 0)
		return e;
	if (in->function_ids[index] != DCM_NONE) {
		*ret = in->function_ids[index];
		return 0;
	}
	e = otlp_input__fields(in, "a function", at, 4, v, NULL);
	if (e == 0)
		e = otlp_tables__string(in, "name_strindex of a function", v[1], &made.name);
	if (e == 0)
		e = otlp_tables__string(in, "system_name_strindex of a function", v[2], &made.system_name);
	if (e == 0)
		e = otlp_tables__string(in, "filename_strindex of a function", v[3], &made.file);
	if (e < 0)
		return e;
	made.start_line = (int64_t)v[4];
	if (made.name == 0)
		made.name = made.system_name;
	if (made.name || made.file)
		*ret = in->function_ids[index] = builder__function(in->b, &made);
	return 0;
}

/* ---- locations ---- */

static int take_frame_type(struct otlp_input *in, void *ctx, uint64_t index)
{
	enum decode_frame *type = ctx;
	struct otlp_attribute *a;
	int e = otlp_values__attribute(in, index, &a);

	if (e == 0 && str__eq(a->key, STR("profile.frame.type")))
		*type = decode__frame(a->value.text);
	return e;
}

/* A location as it is read. */
struct reading {
	struct dcm_location made;
	struct dcm_line lines[LOCATION_MAX_LINES];
	enum decode_frame type;
	uint64_t v[3];
	bool has_mapping;
};

static int read_line(struct otlp_input *in, const struct pb_field *f, struct reading *l)
{
	struct dcm_line line = { .function = DCM_NONE };
	uint64_t v[4];
	uint32_t present;
	int e = otlp_input__message(in, "a line of a location", f);

	if (e == 0)
		e = otlp_input__fields(in, "a line of a location", otlp_input__piece(in, f), 3, v,
				       &present);
	if (e == 0)
		e = find_function(in, v[1], &line.function);
	if (e < 0)
		return e;
	line.line = (int64_t)v[2];
	line.column = v[3] <= UINT32_MAX ? (uint32_t)v[3] : 0;
	/* A line that says nothing would only hide that there is no name. */
	if (line.function == DCM_NONE && line.line == 0)
		return 0;
	if (l->made.n_lines == LOCATION_MAX_LINES)
		return otlp_input__excess(in, "a location has more than %d lines", LOCATION_MAX_LINES);
	l->lines[l->made.n_lines++] = line;
	return 0;
}

static int read_location(struct otlp_input *in, struct otlp_piece at, struct reading *l)
{
	struct pb_reader r = otlp_input__reader(in, at);
	struct pb_field f;
	int e = 0;

	while (e == 0 && pb__next(&r, &f)) {
		if (f.number == in->layout->location_attributes) {
			e = otlp_input__numbers(in, "attribute_indices of a location", &f, false,
						take_frame_type, &l->type);
		} else if (f.number == 3) {
			e = read_line(in, &f, l);
		} else if (f.number <= 2) {
			if (f.type != PB_VARINT)
				return otlp_input__fault(in, "field %u of a location is no number",
							 f.number);
			l->v[f.number] = f.value;
			l->has_mapping |= f.number == 1;
		}
	}
	return e == 0 ? otlp_input__check(in, "a location", &r) : e;
}

/* Where an address of a file's code counts. */
static void place_native(struct otlp_input *in, struct otlp_mapping *m, struct dcm_location *l)
{
	const struct dcm_mapping *raw = &m->raw;

	if (l->address == 0)
		l->addr_kind = DCM_ADDR_NONE;
	else if (raw->kind == DCM_MAPPING_KERNEL || raw->kind == DCM_MAPPING_MODULE)
		l->addr_kind = DCM_ADDR_VADDR;
	else if (raw->kind == DCM_MAPPING_ANON)
		l->addr_kind = DCM_ADDR_RUNTIME;
	else if (l->address >= raw->start && l->address < raw->limit && raw->limit != UINT64_MAX) {
		l->addr_kind = DCM_ADDR_FILE_OFFSET;
		l->address = l->address - raw->start + raw->offset;
	} else
		l->addr_kind = raw->build_id || raw->limit == UINT64_MAX ? DCM_ADDR_VADDR
									 : DCM_ADDR_RUNTIME;
	l->mapping = mapping_id(in, m, l->addr_kind == DCM_ADDR_RUNTIME);
}

static uint32_t kernel_mapping(struct otlp_input *in, const struct otlp_mapping *m)
{
	struct dcm_mapping made = { .kind = DCM_MAPPING_KERNEL };

	made.file = m && m->raw.file ? m->raw.file : builder__string(in->b, STR("[kernel]"));
	made.build_id = m ? m->raw.build_id : 0;
	if (m && m->raw.kind == DCM_MAPPING_MODULE)
		made.kind = DCM_MAPPING_MODULE;
	return builder__mapping(in->b, &made);
}

static void place(struct otlp_input *in, struct otlp_mapping *m, struct reading *l)
{
	struct dcm_location *made = &l->made;
	uint32_t kind = m ? m->raw.kind : DCM_MAPPING_FILE;

	if (l->type == DECODE_FRAME_KERNEL ||
	    (l->type == DECODE_FRAME_UNTOLD &&
	     (kind == DCM_MAPPING_KERNEL || kind == DCM_MAPPING_MODULE))) {
		made->kind = DCM_FRAME_KERNEL;
		made->mapping = kernel_mapping(in, m);
		made->addr_kind = made->address ? DCM_ADDR_VADDR : DCM_ADDR_NONE;
		return;
	}
	if (l->type == DECODE_FRAME_JIT || (l->type == DECODE_FRAME_UNTOLD && kind == DCM_MAPPING_ANON))
		made->kind = DCM_FRAME_JIT;
	else if (l->type == DECODE_FRAME_INTERPRETED)
		made->kind = DCM_FRAME_INTERPRETED;
	/* A name is all that such a frame has: its address is of one process, or a place in a text. */
	if (made->kind != DCM_FRAME_NATIVE && made->n_lines) {
		made->address = 0;
		return;
	}
	if (m)
		place_native(in, m, made);
	else
		made->addr_kind = made->address ? DCM_ADDR_RUNTIME : DCM_ADDR_NONE;
}

/* Why a stack ends where it should not. */
static void make_abort(struct otlp_input *in, struct reading *l)
{
	struct dcm_function f = { 0 };
	char text[48];

	if (l->made.n_lines == 0) {
		snprintf(text, sizeof(text), "[truncated: error %llu]",
			 (unsigned long long)l->made.address);
		f.name = builder__string(in->b, str__of(text));
		l->lines[0] = (struct dcm_line){ .function = builder__function(in->b, &f) };
		l->made.n_lines = 1;
	}
	l->made.kind = DCM_FRAME_NOTE;
	l->made.address = 0;
}

static int make_location(struct otlp_input *in, struct otlp_piece at, struct reading *l, uint32_t *ret)
{
	struct otlp_mapping *m = NULL;
	int e = read_location(in, at, l);

	if (e == 0)
		e = find_mapping(in, l->v[1], l->has_mapping, &m);
	if (e < 0)
		return e;
	l->made.address = l->v[2];
	if (l->type == DECODE_FRAME_ABORT)
		make_abort(in, l);
	else
		place(in, m, l);
	*ret = builder__location(in->b, &l->made, l->lines, l->made.n_lines);
	return 0;
}

int otlp_tables__location(struct otlp_input *in, uint64_t index, uint32_t *ret)
{
	struct otlp_piece at = { 0, 0 };
	int e = find(in, OTLP_LOCATIONS, "a stack's location", index, &at);

	if (e < 0)
		return e;
	if (in->location_ids[index] == DCM_NONE) {
		struct reading l;
		/* Not all of it: room for lines is large, and few are used. */
		l.made = (struct dcm_location){ .mapping = DCM_NONE, .process = DCM_NONE };
		l.type = DECODE_FRAME_UNTOLD;
		memset(l.v, 0, sizeof(l.v));
		l.has_mapping = false;
		e = make_location(in, at, &l, &in->location_ids[index]);
	}
	*ret = in->location_ids[index];
	return e;
}

/* ---- stacks ---- */

struct stack {
	uint32_t n;
	uint32_t locations[STACK_MAX_DEPTH];
};

static int take_location(struct otlp_input *in, void *ctx, uint64_t index)
{
	struct stack *s = ctx;

	if (s->n == STACK_MAX_DEPTH)
		return otlp_input__excess(in, "a stack has more than %d locations", STACK_MAX_DEPTH);
	return otlp_tables__location(in, index, &s->locations[s->n++]);
}

int otlp_tables__stack(struct otlp_input *in, uint64_t index, uint32_t *ret)
{
	struct stack s;
	struct otlp_piece at = { 0, 0 };
	int e = index == 0 && in->tables[OTLP_STACKS].n == 0
			? 0
			: find(in, OTLP_STACKS, "stack_index of a sample", index, &at);

	if (e < 0)
		return e;
	if (in->stack_ids[index] != DCM_NONE) {
		*ret = in->stack_ids[index];
		return 0;
	}
	s.n = 0; /* and not all of its room */
	struct pb_reader r = otlp_input__reader(in, at);
	struct pb_field f;
	while (e == 0 && pb__next(&r, &f))
		if (f.number == 1)
			e = otlp_input__numbers(in, "location_indices of a stack", &f, false,
						take_location, &s);
	if (e == 0)
		e = otlp_input__check(in, "a stack", &r);
	if (e == 0)
		*ret = in->stack_ids[index] = builder__stack(in->b, s.locations, s.n);
	return e;
}

/* ---- links ---- */

static struct dcm_label id_label(struct otlp_input *in, struct dcm_str name, const struct pb_field *f)
{
	struct dcm_label l = { .name = 0, .unit = DCM_NONE };
	char text[33];
	uint32_t n = 0;
	bool is_zero = true;

	for (size_t i = 0; i < f->n && i < 16; i++) {
		n += (uint32_t)snprintf(text + n, sizeof(text) - n, "%02x", f->p[i]);
		is_zero &= f->p[i] == 0;
	}
	if (is_zero)
		return l;
	l.name = builder__string(in->b, name);
	l.str = builder__string(in->b, (struct dcm_str){ text, n });
	return l;
}

int otlp_tables__link(struct otlp_input *in, uint64_t index, struct otlp_link **ret)
{
	struct otlp_piece at = { 0, 0 };
	struct pb_field f;
	int e = index == 0 && in->tables[OTLP_LINKS].n == 0
			? 0
			: find(in, OTLP_LINKS, "link_index of a sample", index, &at);

	if (e < 0)
		return e;
	*ret = &in->links[index];
	if ((*ret)->is_read)
		return 0;
	struct pb_reader r = otlp_input__reader(in, at);
	while (pb__next(&r, &f)) {
		if (f.number == 1 && f.type == PB_BYTES)
			(*ret)->trace = id_label(in, STR("trace_id"), &f);
		else if (f.number == 2 && f.type == PB_BYTES)
			(*ret)->span = id_label(in, STR("span_id"), &f);
	}
	(*ret)->is_read = true;
	return otlp_input__check(in, "a link", &r);
}
