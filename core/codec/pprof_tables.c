/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pprof_tables.c - the strings, mappings, functions and locations of a pprof
 *
 * Every index and id is checked where it is read, and the sentence names the entry. Entries that no
 * sample uses are checked too.
 */
#include "core/codec/pprof_input.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/builder.h"

/* ------------------------------------------------------------------------------------------------
 * Faults, numbers, strings
 */

int pprof_input__fault(struct pprof_input *in, struct pprof_place at, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return error__set(in->err, -EINVAL, "pprof: %s %zu: %s", at.what, at.i, text);
}

int pprof_input__check(struct pprof_input *in, struct pprof_place at, const struct pb_reader *r)
{
	return r->fault ? pprof_input__fault(in, at, "%s", r->fault) : 0;
}

int pprof_input__numbers(struct pprof_input *in, struct pprof_place at, struct pprof_piece piece,
			 const char *const *names, uint32_t n, uint64_t *ret, uint32_t *ret_present)
{
	struct pb_reader r = pprof_input__reader(in, piece);
	struct pb_field f;
	uint32_t present = 0;

	for (uint32_t i = 1; i <= n; i++)
		ret[i] = 0;
	while (pb__next(&r, &f)) {
		if (f.number > n)
			continue;
		if (f.type != PB_VARINT)
			return pprof_input__fault(in, at, "%s has wire type %u, and is no number",
						  names[f.number], f.type);
		ret[f.number] = f.value;
		present |= 1u << f.number;
	}
	if (ret_present)
		*ret_present = present;
	return pprof_input__check(in, at, &r);
}

/* The text of a string that exists. */
static struct dcm_str text_of(const struct pprof_input *in, uint64_t index)
{
	struct pprof_piece piece = in->strings.v[index];

	return (struct dcm_str){ (const char *)in->data + piece.off, piece.n };
}

int pprof_input__text(struct pprof_input *in, struct pprof_place at, const char *field,
		      uint64_t index, struct dcm_str *ret)
{
	if (index >= in->strings.n)
		return pprof_input__fault(in, at, "%s is string %lld of a string_table of %zu",
					  field, (long long)index, in->strings.n);
	*ret = text_of(in, index);
	return 0;
}

/*
 * A string into the builder in two steps, so that others can be between them. *ret_hash is of one
 * that was not added yet.
 */
static int fetch_string(struct pprof_input *in, struct pprof_place at, const char *field,
			uint64_t index, uint64_t *ret_hash)
{
	struct dcm_str text;

	int r = pprof_input__text(in, at, field, index, &text);
	if (r < 0)
		return r;
	*ret_hash = in->string_ids[index] == DCM_NONE ? builder__fetch_string(in->b, text) : 0;
	return 0;
}

static uint32_t fetched_string(struct pprof_input *in, uint64_t index, uint64_t hash)
{
	uint32_t *id = &in->string_ids[index];

	if (*id == DCM_NONE)
		*id = builder__string_fetched(in->b, text_of(in, index), hash);
	return *id;
}

int pprof_input__string(struct pprof_input *in, struct pprof_place at, const char *field,
			uint64_t index, uint32_t *ret)
{
	uint64_t hash;

	int r = fetch_string(in, at, field, index, &hash);
	if (r == 0)
		*ret = fetched_string(in, index, hash);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * Ids
 */

void pprof_ids__fini(struct pprof_ids *ids)
{
	free(ids->dense);
	free(ids->entries);
	hindex__fini(&ids->sparse);
	*ids = (struct pprof_ids){ 0 };
}

/* Ids up to about twice the number of entries are told by an array. */
static int ids_init(struct pprof_ids *ids, size_t n_entries)
{
	ids->n_dense = 2 * (uint64_t)n_entries + 64;
	ids->dense = mem__resize(NULL, ids->n_dense, sizeof(*ids->dense));
	if (!ids->dense)
		return -ENOMEM;
	memset(ids->dense, 0xff, ids->n_dense * sizeof(*ids->dense));
	return 0;
}

/* Seeded by an address, which who sends profiles cannot know. */
static uint64_t hash_of(const struct pprof_ids *ids, uint64_t id)
{
	return hash__bytes(&id, sizeof(id), (uint64_t)(uintptr_t)ids->dense);
}

uint32_t pprof_ids__find_sparse(const struct pprof_ids *ids, uint64_t id)
{
	uint64_t h = hash_of(ids, id);
	uint32_t row, at = hindex__first(&ids->sparse, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&ids->sparse, h, at, &row))
		if (ids->entries[row].id == id)
			return ids->entries[row].value;
	return DCM_NONE;
}

static int ids_add_sparse(struct pprof_ids *ids, uint64_t id, uint32_t value)
{
	if (ids->n_entries == ids->cap) {
		uint32_t cap = ids->cap < 16 ? 16 : ids->cap * 2;
		void *p = mem__resize(ids->entries, cap, sizeof(*ids->entries));
		if (!p)
			return -ENOMEM;
		ids->entries = p;
		ids->cap = cap;
	}
	if (hindex__insert(&ids->sparse, hash_of(ids, id), ids->n_entries) < 0)
		return -ENOMEM;
	ids->entries[ids->n_entries].id = id;
	ids->entries[ids->n_entries++].value = value;
	return 0;
}

static int ids_add(struct pprof_input *in, struct pprof_place at, struct pprof_ids *ids,
		   uint64_t id, uint32_t value)
{
	if (id == 0)
		return pprof_input__fault(in, at, "it has id 0, which means none");
	if (pprof_ids__find(ids, id) != DCM_NONE)
		return pprof_input__fault(in, at, "id %llu comes twice", (unsigned long long)id);
	/* Plain as long as each is the next of both. */
	ids->n_plain = ids->n_plain == ids->n && id == ids->n + 1 && value == ids->n ? id : 0;
	ids->n++;
	if (id >= ids->n_dense)
		return ids_add_sparse(ids, id, value) < 0 ? error__nomem(in->err) : 0;
	ids->dense[id] = value;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Mappings
 */

/* A build id that is not hexadecimal tells files apart all the same: by a stand-in. */
static uint32_t build_id_of(struct pprof_input *in, struct dcm_str id)
{
	char text[129];

	if (id.n == 0)
		return 0;
	for (uint32_t i = 0; i < id.n; i++) {
		char c = id.p[i];
		if (c >= 'A' && c <= 'F')
			c = (char)(c - 'A' + 'a');
		if (i == sizeof(text) - 1 || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
			snprintf(text, sizeof(text), "~%016llx",
				 (unsigned long long)hash__bytes(id.p, id.n, 0));
			return builder__string(in->b, str__of(text));
		}
		text[i] = c;
	}
	return builder__string(in->b, (struct dcm_str){ text, id.n });
}

static enum pprof_addresses addresses_of(const struct pprof_input *in, const struct dcm_mapping *m)
{
	bool everything = m->start == 0 && m->offset == 0 && m->limit == UINT64_MAX;
	bool unknown = m->start == 0 && m->offset == 0 && m->limit == 0;

	if (m->kind == DCM_MAPPING_KERNEL || m->kind == DCM_MAPPING_MODULE || everything)
		return PPROF_IN_ELF;
	if (in->o->has_elf_addresses && m->kind == DCM_MAPPING_FILE)
		return PPROF_IN_ELF;
	if (unknown)
		return m->build_id ? PPROF_IN_ELF : PPROF_IN_PROCESS;
	return m->kind == DCM_MAPPING_ANON ? PPROF_IN_PROCESS : PPROF_IN_FILE;
}

static int read_mapping(struct pprof_input *in, size_t i)
{
	static const char *const names[] = { NULL,	     "id",	    "memory_start",
					     "memory_limit", "file_offset", "filename",
					     "build_id" };
	struct pprof_place at = { "mapping", i };
	struct pprof_mapping *m = &in->in_mappings[i];
	struct dcm_str file = STR(""), build_id = STR("");
	uint64_t v[7];

	int r = pprof_input__numbers(in, at, in->mappings.v[i], names, 6, v, NULL);
	if (r == 0)
		r = pprof_input__text(in, at, names[5], v[5], &file);
	if (r == 0)
		r = pprof_input__text(in, at, names[6], v[6], &build_id);
	if (r < 0)
		return r;
	*m = (struct pprof_mapping){
		.raw = { .start = v[2], .limit = v[3], .offset = v[4] },
		.ids = { DCM_NONE, DCM_NONE },
	};
	m->raw.build_id = build_id_of(in, build_id);
	m->raw.kind = decode__mapping_kind(file);
	/* Memory without a file has no build id; so there is a file, whose name was not told. */
	if (m->raw.kind == DCM_MAPPING_ANON && m->raw.build_id)
		m->raw.kind = DCM_MAPPING_FILE;
	m->addresses = addresses_of(in, &m->raw);
	if (!str__eq(file, STR("//anon"))) {
		r = pprof_input__string(in, at, names[5], v[5], &m->raw.file);
		if (r < 0)
			return r;
	}
	return ids_add(in, at, &in->mapping_ids, v[1], (uint32_t)i);
}

/*
 * The builder's mapping. Where addresses do not count in its range, that is left out: it differs
 * from process to process.
 */
static uint32_t mapping_of(struct pprof_input *in, struct pprof_mapping *m, bool with_range)
{
	if (m->ids[with_range] == DCM_NONE) {
		struct dcm_mapping made = m->raw;
		if (!with_range || made.limit < made.start)
			made.start = made.limit = made.offset = 0;
		m->ids[with_range] = builder__mapping(in->b, &made);
	}
	return m->ids[with_range];
}

/* ------------------------------------------------------------------------------------------------
 * Functions
 *
 * These and locations are read in groups: each step is done for all of one before the next, so that
 * what the builder looks at for one comes from memory while it is busy with others.
 */

enum { GROUP_MAX = 16 };

static size_t group_size(size_t first, size_t n)
{
	return n - first < GROUP_MAX ? n - first : GROUP_MAX;
}

struct function {
	uint64_t v[6];	    /* its fields */
	uint64_t hashes[6]; /* of the strings among them */
	struct dcm_function made;
	uint64_t hash;
};

static int read_function(struct pprof_input *in, size_t i, struct function *f)
{
	static const char *const names[] = { NULL,	    "id",	"name",
					     "system_name", "filename", "start_line" };
	struct pprof_place at = { "function", i };

	int r = pprof_input__numbers(in, at, in->functions.v[i], names, 5, f->v, NULL);
	for (uint32_t k = 2; r == 0 && k <= 4; k++)
		r = fetch_string(in, at, names[k], f->v[k], &f->hashes[k]);
	return r;
}

static void make_function(struct pprof_input *in, struct function *f)
{
	f->made = (struct dcm_function){
		.name = fetched_string(in, f->v[2], f->hashes[2]),
		.system_name = fetched_string(in, f->v[3], f->hashes[3]),
		.file = fetched_string(in, f->v[4], f->hashes[4]),
		.start_line = (int64_t)f->v[5],
	};
	if (f->made.name == 0)
		f->made.name = f->made.system_name;
	f->hash = builder__fetch_function(in->b, &f->made);
}

static int add_function(struct pprof_input *in, size_t i, const struct function *f)
{
	uint32_t id = PPROF_FUNCTION_IS_EMPTY;

	if (f->made.name || f->made.file) {
		id = builder__function_fetched(in->b, &f->made, f->hash);
		if (decode__is_note(text_of(in, f->v[2])))
			id |= PPROF_FUNCTION_IS_NOTE;
	}
	return ids_add(in, (struct pprof_place){ "function", i }, &in->function_ids, f->v[1], id);
}

static int read_functions(struct pprof_input *in)
{
	struct function group[GROUP_MAX];
	int r = 0;

	for (size_t first = 0, n; r == 0 && first < in->functions.n; first += n) {
		n = group_size(first, in->functions.n);
		for (size_t i = 0; r == 0 && i < n; i++)
			r = read_function(in, first + i, &group[i]);
		for (size_t i = 0; r == 0 && i < n; i++)
			make_function(in, &group[i]);
		for (size_t i = 0; r == 0 && i < n; i++)
			r = add_function(in, first + i, &group[i]);
	}
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * Locations
 */

struct location {
	struct dcm_location made;
	uint64_t id, hash;
	size_t line_off; /* in the group's lines */
	uint32_t n_lines;
	bool is_note; /* its first line is one */
};

struct locations {
	struct location v[GROUP_MAX];
	VEC(struct dcm_line) lines;
};

static const struct dcm_line *lines_of(const struct locations *group, const struct location *l)
{
	return l->n_lines ? group->lines.v + l->line_off : NULL;
}

static int read_line(struct pprof_input *in, struct pprof_place at, const struct pb_field *f,
		     struct locations *group, struct location *to)
{
	static const char *const names[] = { NULL, "line.function_id", "line.line", "line.column" };
	struct pprof_piece piece = { (uint32_t)(f->p - in->data), (uint32_t)f->n };
	struct dcm_line line = { .function = DCM_NONE };
	uint64_t v[4];

	if (to->n_lines == LOCATION_MAX_LINES)
		return pprof_input__fault(in, at, "more than %d lines", LOCATION_MAX_LINES);
	int r = pprof_input__numbers(in, at, piece, names, 3, v, NULL);
	if (r < 0)
		return r;
	if (v[1]) {
		uint32_t id = pprof_ids__find(&in->function_ids, v[1]);
		if (id == DCM_NONE)
			return pprof_input__fault(in, at, "function id %llu does not exist",
						  (unsigned long long)v[1]);
		to->is_note = to->n_lines == 0 && id != PPROF_FUNCTION_IS_EMPTY &&
			      (id & PPROF_FUNCTION_IS_NOTE);
		if (id != PPROF_FUNCTION_IS_EMPTY)
			line.function = id & ~PPROF_FUNCTION_IS_NOTE;
	}
	line.line = (int64_t)v[2];
	line.column = v[3] <= UINT32_MAX ? (uint32_t)v[3] : 0;
	/* A line that says nothing would only hide that there is no name. */
	if (line.function == DCM_NONE && line.line == 0)
		return 0;
	to->n_lines++;
	return vec__push(&group->lines, line) ? 0 : error__nomem(in->err);
}

static void place_location(struct pprof_input *in, struct pprof_mapping *m, struct dcm_location *l)
{
	const struct dcm_mapping *raw = &m->raw;
	bool in_process = m->addresses == PPROF_IN_PROCESS;

	if (raw->kind == DCM_MAPPING_KERNEL || raw->kind == DCM_MAPPING_MODULE)
		l->kind = DCM_FRAME_KERNEL;
	else if (raw->kind == DCM_MAPPING_ANON && in_process && (raw->limit || raw->file))
		l->kind = DCM_FRAME_JIT;
	if (l->address == 0) {
		l->addr_kind = DCM_ADDR_NONE;
	} else if (m->addresses == PPROF_IN_ELF) {
		l->addr_kind = DCM_ADDR_VADDR;
	} else if (m->addresses == PPROF_IN_FILE && l->address >= raw->start &&
		   (l->address < raw->limit || raw->limit == 0)) {
		l->addr_kind = DCM_ADDR_FILE_OFFSET;
		l->address = l->address - raw->start + raw->offset;
	} else {
		l->addr_kind = DCM_ADDR_RUNTIME;
	}
	/* A mapping without file, build id and range says nothing; an address in it neither. */
	if (raw->file || raw->build_id || (raw->limit && in_process))
		l->mapping = mapping_of(in, m, l->addr_kind == DCM_ADDR_RUNTIME);
	else if (l->address)
		l->addr_kind = DCM_ADDR_RUNTIME;
}

/* Fields of a location but its lines, which go to the group. */
static int read_location_fields(struct pprof_input *in, struct pprof_place at, uint64_t *v,
				struct locations *group, struct location *to)
{
	static const char *const names[] = { NULL, "id", "mapping_id", "address" };
	struct pb_reader r = pprof_input__reader(in, in->locations.v[at.i]);
	struct pb_field f;

	while (pb__next(&r, &f)) {
		if (f.number == 4) {
			if (f.type != PB_BYTES)
				return pprof_input__fault(in, at, "line has wire type %u", f.type);
			int e = read_line(in, at, &f, group, to);
			if (e < 0)
				return e;
		} else if (f.number <= 3) {
			if (f.type != PB_VARINT)
				return pprof_input__fault(in, at, "%s has wire type %u, and is no number",
							  names[f.number], f.type);
			v[f.number] = f.value;
		}
	}
	return pprof_input__check(in, at, &r);
}

/* A line of what the caller knows of an address, if anything. */
static int name_location(struct pprof_input *in, struct locations *group, struct location *to,
			 uint64_t address)
{
	struct dcm_str name, system_name;
	struct dcm_line line = { 0 };

	if (!in->o->name_of(in->o->name_ctx, address, &name, &system_name))
		return 0;
	line.function = builder__function(
		in->b, &(struct dcm_function){ .name = builder__string(in->b, name),
					       .system_name = builder__string(in->b, system_name) });
	to->n_lines = 1;
	return vec__push(&group->lines, line) ? 0 : error__nomem(in->err);
}

static int read_location(struct pprof_input *in, size_t i, struct locations *group, struct location *to)
{
	struct pprof_place at = { "location", i };
	struct dcm_location *l = &to->made;
	uint64_t v[4] = { 0 };

	*to = (struct location){ .line_off = group->lines.n };
	l->mapping = l->process = DCM_NONE;
	int r = read_location_fields(in, at, v, group, to);
	if (r < 0)
		return r;
	to->id = v[1];
	l->address = v[3];
	bool is_in_process = l->address != 0;
	if (v[2]) {
		uint32_t m = pprof_ids__find(&in->mapping_ids, v[2]);
		if (m == DCM_NONE)
			return pprof_input__fault(in, at, "mapping id %llu does not exist",
						  (unsigned long long)v[2]);
		place_location(in, &in->in_mappings[m], l);
		is_in_process &= in->in_mappings[m].addresses != PPROF_IN_ELF &&
				 l->kind != DCM_FRAME_KERNEL;
	} else if (l->address) {
		l->addr_kind = DCM_ADDR_RUNTIME;
	} else if (to->n_lines == 1 && to->is_note) {
		l->kind = DCM_FRAME_NOTE;
	}
	if (is_in_process && !to->n_lines && in->o->name_of &&
	    (r = name_location(in, group, to, v[3])) < 0)
		return r;
	to->hash = builder__fetch_location(in->b, l, lines_of(group, to), to->n_lines);
	return 0;
}

static int add_location(struct pprof_input *in, size_t i, const struct locations *group,
			const struct location *l)
{
	uint32_t id = builder__location_fetched(in->b, &l->made, lines_of(group, l), l->n_lines, l->hash);

	return ids_add(in, (struct pprof_place){ "location", i }, &in->location_ids, l->id, id);
}

static int read_locations(struct pprof_input *in)
{
	struct locations group = { 0 };
	int r = 0;

	for (size_t first = 0, n; r == 0 && first < in->locations.n; first += n) {
		n = group_size(first, in->locations.n);
		group.lines.n = 0;
		for (size_t i = 0; r == 0 && i < n; i++)
			r = read_location(in, first + i, &group, &group.v[i]);
		for (size_t i = 0; r == 0 && i < n; i++)
			r = add_location(in, first + i, &group, &group.v[i]);
	}
	vec__fini(&group.lines);
	return r;
}

int pprof_input__tables(struct pprof_input *in)
{
	if (in->mappings.n > PPROF_MAX_MAPPINGS)
		return error__set(in->err, -E2BIG, "pprof: %zu mappings, more than the limit of %d",
				  in->mappings.n, PPROF_MAX_MAPPINGS);
	in->string_ids = mem__resize(NULL, in->strings.n, sizeof(*in->string_ids));
	in->in_mappings = mem__zalloc(in->mappings.n, sizeof(*in->in_mappings));
	int r = -ENOMEM;
	if (!in->string_ids || !in->in_mappings || ids_init(&in->mapping_ids, in->mappings.n) < 0 ||
	    ids_init(&in->function_ids, in->functions.n) < 0 ||
	    ids_init(&in->location_ids, in->locations.n) < 0) {
		error__nomem(in->err);
	} else {
		memset(in->string_ids, 0xff, in->strings.n * sizeof(*in->string_ids));
		r = 0;
	}
	for (size_t i = 0; r == 0 && i < in->mappings.n; i++)
		r = read_mapping(in, i);
	if (r == 0)
		r = read_functions(in);
	return r == 0 ? read_locations(in) : r;
}
