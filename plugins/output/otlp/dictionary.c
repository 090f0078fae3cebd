/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/otlp/dictionary.c - the tables of a request
 */
#include "plugins/output/otlp/dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "plugins/output/otlp/names.h"

/* Where offsets in a file count, when the batch does not know the range. */
#define OFFSET_START ((uint64_t)1 << 32)
#define OFFSET_LIMIT ((uint64_t)1 << 63)

/* ---- lifecycle ---- */

static uint32_t *unmade(uint32_t n)
{
	uint32_t *ids = mem__resize(NULL, (size_t)n + 1, sizeof(*ids));

	if (ids)
		memset(ids, 0xff, ((size_t)n + 1) * sizeof(*ids));
	return ids;
}

static void forget_ids(struct dictionary *d)
{
	free(d->function_ids);
	free(d->location_ids);
	free(d->stack_ids);
	d->function_ids = d->location_ids = d->stack_ids = NULL;
}

static void forget(struct dictionary *d)
{
	for (int t = 0; t < N_TABLES; t++)
		intern__fini(&d->tables[t]);
	forget_ids(d);
}

int dictionary__turn(struct dictionary *d, const struct dcm_batch *b)
{
	forget_ids(d);
	d->b = b;
	d->function_ids = unmade(b->n_functions);
	d->location_ids = unmade(b->n_locations);
	d->stack_ids = unmade(b->n_stacks);
	return d->function_ids && d->location_ids && d->stack_ids ? 0 : -ENOMEM;
}

int dictionary__reset(struct dictionary *d)
{
	int r = 0;

	forget(d);
	d->n_bytes = 0;
	for (int t = 0; t < N_TABLES; t++)
		if (intern__init(&d->tables[t]) < 0)
			r = -ENOMEM;
	return r == 0 ? dictionary__turn(d, d->b) : r;
}

int dictionary__init(struct dictionary *d, const struct numbering *as, const struct dcm_batch *b)
{
	*d = (struct dictionary){ .as = as, .b = b };
	return dictionary__reset(d);
}

void dictionary__fini(struct dictionary *d)
{
	forget(d);
	buf__fini(&d->attribute);
	buf__fini(&d->value);
	buf__fini(&d->mapping);
	buf__fini(&d->function);
	buf__fini(&d->line);
	buf__fini(&d->lines);
	buf__fini(&d->location);
	buf__fini(&d->indices);
	buf__fini(&d->stack);
}

/* ---- entries ---- */

static uint32_t add(struct dictionary *d, enum table t, struct dcm_str bytes)
{
	uint32_t n = d->tables[t].n, id = intern__add(&d->tables[t], bytes);

	d->nomem |= id == INTERN_NONE;
	if (d->tables[t].n > n)
		d->n_bytes += bytes.n + 6; /* with its tag and length */
	return id;
}

/* The message that was written, which is empty then. */
static uint32_t add_message(struct dictionary *d, enum table t, struct buf *message)
{
	uint32_t id = add(d, t, buf__view(message));

	d->nomem |= message->error != 0;
	buf__reset(message);
	return id;
}

uint32_t dictionary__string(struct dictionary *d, struct dcm_str s)
{
	return add(d, TABLE_STRINGS, s);
}

static struct dcm_str text_of(const struct dictionary *d, uint32_t string)
{
	return d->b->strings[string];
}

/* AnyValue { string_value = 1, int_value = 3 }: of a oneof 0 is written, too. */
void dictionary__put_value(struct buf *out, const struct dictionary_value *v)
{
	if (v->is_number) {
		pb__put_tag(out, 3, PB_VARINT);
		buf__varint(out, (uint64_t)v->number);
	} else {
		pb__put_str(out, 1, v->text);
	}
}

/* KeyValueAndUnit { key_strindex = 1, value = 2, unit_strindex = 3 }; until 1.7 KeyValue { key = 1, value = 2 } */
uint32_t dictionary__attribute(struct dictionary *d, struct dcm_str key, const struct dictionary_value *v)
{
	if (d->as->is_ranged)
		pb__put_str(&d->attribute, 1, key);
	else
		pb__put_varint(&d->attribute, 1, dictionary__string(d, key));
	dictionary__put_value(&d->value, v);
	pb__put_nested(&d->attribute, 2, &d->value);
	if (v->is_number && !d->as->is_ranged)
		pb__put_varint(&d->attribute, 3, dictionary__string(d, v->unit));
	return add_message(d, TABLE_ATTRIBUTES, &d->attribute);
}

/* A list with one attribute, text. */
static void put_one_attribute(struct dictionary *d, struct buf *out, uint32_t field,
			      struct dcm_str key, struct dcm_str text)
{
	const struct dictionary_value v = { .text = text };

	buf__varint(&d->value, dictionary__attribute(d, key, &v));
	pb__put_nested(out, field, &d->value);
}

/* ---- mappings ---- */

/* Where an address counts: what is written of its mapping, and of itself. */
struct place {
	uint64_t start, limit, offset, address;
	struct dcm_str file, build_id;
};

static bool is_in_range(const struct dcm_mapping *m, uint64_t address, uint64_t start)
{
	/* One that begins at 0, or has no end, would read as one of ELF addresses. */
	return m->start > 0 && m->limit > m->start && m->limit != UINT64_MAX && address >= start &&
	       address - start < m->limit - m->start;
}

static void put_range(const struct dcm_mapping *m, struct place *p)
{
	p->start = m->start;
	p->limit = m->limit;
	p->offset = m->offset;
}

/* In a file, or the vDSO. */
static void place_in_file(const struct dcm_mapping *m, const struct dcm_location *l, struct place *p)
{
	if (l->addr_kind == DCM_ADDR_FILE_OFFSET && is_in_range(m, l->address, m->offset)) {
		put_range(m, p);
		p->address = l->address - m->offset + m->start;
	} else if (l->addr_kind == DCM_ADDR_FILE_OFFSET) {
		p->start = OFFSET_START;
		p->limit = OFFSET_LIMIT;
		p->address = l->address + OFFSET_START;
	} else if (l->addr_kind == DCM_ADDR_RUNTIME && is_in_range(m, l->address, m->start)) {
		put_range(m, p);
	} else if (l->addr_kind == DCM_ADDR_RUNTIME) {
		p->build_id = STR(""); /* with one it would read as an ELF address */
	} else if (p->build_id.n == 0) {
		p->limit = UINT64_MAX;
	}
}

static struct place place_of(const struct dictionary *d, const struct dcm_location *l)
{
	const struct dcm_mapping *m = &d->b->mappings[l->mapping];
	struct place p = { .address = l->address,
			   .file = text_of(d, m->file),
			   .build_id = text_of(d, m->build_id) };

	if (p.build_id.n && p.build_id.p[0] == '~')
		p.build_id = STR("");
	if (m->kind == DCM_MAPPING_ANON) {
		p.file = STR("//anon");
		p.build_id = STR("");
		put_range(m, &p);
	} else if (m->kind == DCM_MAPPING_FILE || m->kind == DCM_MAPPING_VDSO) {
		place_in_file(m, l, &p);
	}
	return p;
}

/* Mapping { memory_start = 1, memory_limit = 2, file_offset = 3, filename_strindex = 4, attribute_indices = 5 } */
static uint32_t put_mapping(struct dictionary *d, const struct place *p)
{
	pb__put_varint(&d->mapping, 1, p->start);
	pb__put_varint(&d->mapping, 2, p->limit);
	pb__put_varint(&d->mapping, 3, p->offset);
	pb__put_varint(&d->mapping, 4, dictionary__string(d, p->file));
	if (p->build_id.n)
		put_one_attribute(d, &d->mapping, 5, STR("process.executable.build_id.gnu"), p->build_id);
	return add_message(d, TABLE_MAPPINGS, &d->mapping);
}

/* ---- functions, lines, locations, stacks ---- */

/* Function { name_strindex = 1, system_name_strindex = 2, filename_strindex = 3, start_line = 4 } */
static uint32_t put_function(struct dictionary *d, uint32_t function)
{
	uint32_t *id = &d->function_ids[function];
	const struct dcm_function *f = &d->b->functions[function];

	if (*id != DCM_NONE)
		return *id;
	pb__put_varint(&d->function, 1, dictionary__string(d, text_of(d, f->name)));
	pb__put_varint(&d->function, 2, dictionary__string(d, text_of(d, f->system_name)));
	pb__put_varint(&d->function, 3, dictionary__string(d, text_of(d, f->file)));
	pb__put_varint(&d->function, 4, (uint64_t)f->start_line);
	*id = add_message(d, TABLE_FUNCTIONS, &d->function);
	return *id;
}

/* Line { function_index = 1, line = 2, column = 3 }, as Location's field 3 */
static void put_lines(struct dictionary *d, const struct dcm_location *l)
{
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct dcm_line *line = &d->b->lines[l->line_off + i];

		if (line->function != DCM_NONE)
			pb__put_varint(&d->line, 1, put_function(d, line->function));
		pb__put_varint(&d->line, 2, (uint64_t)line->line);
		pb__put_varint(&d->line, 3, line->column);
		pb__put_nested(&d->lines, 3, &d->line);
	}
}

static struct dcm_str file_of(const struct dictionary *d, const struct dcm_location *l)
{
	uint32_t function = l->n_lines ? d->b->lines[l->line_off].function : DCM_NONE;

	return function == DCM_NONE ? STR("") : text_of(d, d->b->functions[function].file);
}

/* Location { mapping_index = 1, address = 2, lines = 3, attribute_indices } */
uint32_t dictionary__location(struct dictionary *d, uint32_t location)
{
	uint32_t *id = &d->location_ids[location];
	const struct dcm_location *l = &d->b->locations[location];
	struct place p = { .address = l->address };

	if (*id != DCM_NONE)
		return *id;
	if (l->mapping != DCM_NONE) {
		p = place_of(d, l);
		pb__put_varint(&d->location, 1, put_mapping(d, &p));
	}
	pb__put_varint(&d->location, 2, p.address);
	put_lines(d, l);
	buf__append(&d->location, d->lines.data ? d->lines.data : (const uint8_t *)"", d->lines.n);
	d->nomem |= d->lines.error != 0;
	buf__reset(&d->lines);
	put_one_attribute(d, &d->location, d->as->location_attributes, STR("profile.frame.type"),
			  names__frame((enum dcm_frame_kind)l->kind, file_of(d, l)));
	*id = add_message(d, TABLE_LOCATIONS, &d->location);
	return *id;
}

/* Stack { location_indices = 1 }, leaf first */
uint32_t dictionary__stack(struct dictionary *d, uint32_t stack)
{
	uint32_t *id = &d->stack_ids[stack];
	const struct dcm_span s = d->b->stacks[stack];

	if (*id != DCM_NONE)
		return *id;
	for (uint32_t i = 0; i < s.n; i++)
		buf__varint(&d->indices, dictionary__location(d, d->b->stack_locations[s.off + i]));
	if (s.n)
		pb__put_nested(&d->stack, 1, &d->indices);
	*id = add_message(d, TABLE_STACKS, &d->stack);
	return *id;
}

/* ---- the tables ---- */

void dictionary__put(const struct dictionary *d, struct buf *out)
{
	for (int t = 0; t < N_TABLES; t++)
		for (uint32_t i = 0; d->as->tables[t] && i < d->tables[t].n; i++)
			pb__put_str(out, d->as->tables[t], intern__text(&d->tables[t], i));
}
