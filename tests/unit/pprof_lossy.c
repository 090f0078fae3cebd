/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/pprof_lossy.c - what of a batch survives in pprof, built without the codec
 *
 * The rules of core/codec/pprof.h a second time, over texts and a builder, slow and plain.
 */
#include "tests/unit/pprof_lossy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"

enum { MAX_TYPES = 16, MAX_LABELS = 64 };

struct lossy {
	const struct dcm_batch *b;
	uint32_t first, end; /* profiles */
	struct dcm_builder *to;
	uint32_t types[MAX_TYPES], n_types;
};

static struct dcm_str text(const struct lossy *l, uint32_t string)
{
	return l->b->strings[string];
}

static uint32_t copy(struct lossy *l, uint32_t string)
{
	return builder__string(l->to, text(l, string));
}

static bool same(const struct lossy *l, uint32_t a, uint32_t b)
{
	return str__eq(text(l, a), text(l, b));
}

/* --- types: each once, in the order of the profiles --- */

static bool same_type(const struct lossy *l, const struct dcm_type *a, const struct dcm_type *b)
{
	return same(l, a->name, b->name) && same(l, a->sample_type, b->sample_type) &&
	       same(l, a->sample_unit, b->sample_unit) && same(l, a->period_type, b->period_type) &&
	       same(l, a->period_unit, b->period_unit) && a->temporality == b->temporality;
}

static uint32_t column(const struct lossy *l, const struct dcm_type *t)
{
	uint32_t c = 0;

	while (c < l->n_types && !same_type(l, &l->b->types[l->types[c]], t))
		c++;
	return c;
}

static void find_types(struct lossy *l)
{
	for (uint32_t p = l->first; p < l->end; p++)
		for (uint32_t k = 0; k < l->b->profiles[p].n_types; k++) {
			uint32_t t = l->b->profiles[p].type_off + k;
			if (column(l, &l->b->types[t]) == l->n_types && l->n_types < MAX_TYPES)
				l->types[l->n_types++] = t;
		}
}

/* --- labels --- */

static bool has_label(const struct lossy *l, uint32_t profile, const struct dcm_pair *pair, bool with_value)
{
	struct dcm_span s = l->b->series[l->b->profiles[profile].series];

	for (uint32_t i = 0; i < s.n; i++) {
		const struct dcm_pair *p = &l->b->pairs[s.off + i];
		if (same(l, p->name, pair->name) && (!with_value || same(l, p->value, pair->value)))
			return true;
	}
	return false;
}

static bool all_have(const struct lossy *l, const struct dcm_pair *pair)
{
	for (uint32_t p = l->first; p < l->end; p++)
		if (!has_label(l, p, pair, true))
			return false;
	return true;
}

static uint32_t shared_series(struct lossy *l)
{
	struct dcm_span s = l->b->series[l->b->profiles[l->first].series];
	struct dcm_pair pairs[MAX_LABELS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < s.n; i++) {
		const struct dcm_pair *p = &l->b->pairs[s.off + i];
		if (all_have(l, p))
			pairs[n++] = (struct dcm_pair){ copy(l, p->name), copy(l, p->value) };
	}
	return builder__series(l->to, pairs, n);
}

/* The series' own labels, then the row's; one whose name the series has is renamed. */
static uint32_t label_set(struct lossy *l, uint32_t profile, uint32_t set)
{
	struct dcm_span s = l->b->series[l->b->profiles[profile].series], own = l->b->label_sets[set];
	struct dcm_label labels[MAX_LABELS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < s.n; i++) {
		const struct dcm_pair *p = &l->b->pairs[s.off + i];
		if (!all_have(l, p))
			labels[n++] = (struct dcm_label){ .name = copy(l, p->name),
							  .str = copy(l, p->value),
							  .unit = DCM_NONE };
	}
	for (uint32_t i = 0; i < own.n; i++) {
		struct dcm_label from = l->b->labels[own.off + i];
		char name[256] = "exported_";
		struct dcm_str old = text(l, from.name);
		bool taken = has_label(l, profile, &(struct dcm_pair){ from.name, 0 }, false);
		memcpy(name + 9, old.p, old.n < 200 ? old.n : 200);
		labels[n++] = (struct dcm_label){
			.name = taken ? builder__string(l->to, (struct dcm_str){ name, old.n + 9 })
				      : copy(l, from.name),
			.str = copy(l, from.str),
			.num = from.num,
			.unit = from.unit == DCM_NONE ? DCM_NONE : copy(l, from.unit),
		};
	}
	return builder__label_set(l->to, labels, n);
}

/* --- locations --- */

static uint32_t lines_of(struct lossy *l, const struct dcm_location *from, struct dcm_line *lines)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < from->n_lines; i++) {
		struct dcm_line line = l->b->lines[from->line_off + i];
		if (line.function != DCM_NONE) {
			struct dcm_function f = l->b->functions[line.function];
			f.name = copy(l, f.name);
			f.system_name = copy(l, f.system_name);
			f.file = copy(l, f.file);
			f.name = f.name ? f.name : f.system_name;
			line.function = f.name || f.file ? builder__function(l->to, &f) : DCM_NONE;
		}
		/* One that says nothing is none. */
		if (line.function != DCM_NONE || line.line)
			lines[n++] = line;
	}
	return n;
}

static bool in_range(const struct dcm_mapping *m, uint64_t address)
{
	return m->limit > m->start && address >= m->start && address < m->limit;
}

/* What kind of address a reader takes it for. May change the address. */
static enum dcm_addr_kind address_kind(const struct lossy *l, const struct dcm_mapping *m,
				       const struct dcm_location *from, uint64_t *address)
{
	struct dcm_str id = text(l, m->build_id);
	bool has_id = id.n && id.p[0] != '~';
	bool is_file = m->kind == DCM_MAPPING_FILE || m->kind == DCM_MAPPING_VDSO ||
		       (m->kind == DCM_MAPPING_ANON && has_id);
	bool is_kernel = m->kind == DCM_MAPPING_KERNEL || m->kind == DCM_MAPPING_MODULE;

	if (*address == 0)
		return DCM_ADDR_NONE;
	if (is_kernel || from->addr_kind == DCM_ADDR_VADDR)
		return DCM_ADDR_VADDR;
	if (from->addr_kind == DCM_ADDR_FILE_OFFSET)
		return m->kind == DCM_MAPPING_ANON ? DCM_ADDR_VADDR : DCM_ADDR_FILE_OFFSET;
	/* Runtime: the mapping's own range counts. */
	if (m->start == 0 && m->offset == 0 && m->limit == UINT64_MAX)
		return DCM_ADDR_VADDR;
	if (m->start == 0 && m->offset == 0 && m->limit == 0)
		return has_id ? DCM_ADDR_VADDR : DCM_ADDR_RUNTIME;
	if (is_file && (in_range(m, *address) || (m->limit == 0 && *address >= m->start))) {
		*address = *address - m->start + m->offset;
		return DCM_ADDR_FILE_OFFSET;
	}
	return DCM_ADDR_RUNTIME;
}

static void place(struct lossy *l, const struct dcm_location *from, struct dcm_location *to)
{
	struct dcm_mapping m = l->b->mappings[from->mapping];
	struct dcm_str id = text(l, m.build_id);
	bool has_id = id.n && id.p[0] != '~', is_anon = m.kind == DCM_MAPPING_ANON && !has_id;

	to->addr_kind = (uint8_t)address_kind(l, &m, from, &to->address);
	bool in_process = to->addr_kind == DCM_ADDR_RUNTIME;
	bool everything = m.start == 0 && m.offset == 0 && m.limit == UINT64_MAX;
	if (m.kind == DCM_MAPPING_KERNEL || m.kind == DCM_MAPPING_MODULE)
		to->kind = DCM_FRAME_KERNEL;
	else if (is_anon && from->addr_kind == DCM_ADDR_RUNTIME && !everything && m.limit)
		to->kind = DCM_FRAME_JIT;
	struct dcm_mapping out = {
		.file = str__eq(text(l, m.file), STR("//anon")) ? 0 : copy(l, m.file),
		.build_id = has_id ? copy(l, m.build_id) : 0,
		.kind = m.kind == DCM_MAPPING_ANON && has_id ? DCM_MAPPING_FILE : m.kind,
	};
	if (out.file == 0 && out.build_id == 0 && !(in_process && m.limit)) {
		/* An ELF address of no ELF file. */
		if (to->address)
			to->addr_kind = DCM_ADDR_RUNTIME;
		return;
	}
	if (in_process) {
		out.start = m.start;
		out.limit = m.limit;
		out.offset = m.offset;
	}
	to->mapping = builder__mapping(l->to, &out);
}

static uint32_t location(struct lossy *l, uint32_t id)
{
	const struct dcm_location *from = &l->b->locations[id];
	struct dcm_location to = { .mapping = DCM_NONE, .process = DCM_NONE, .address = from->address };
	struct dcm_line lines[1024];
	uint32_t n = lines_of(l, from, lines);

	if (from->mapping != DCM_NONE) {
		place(l, from, &to);
	} else if (to.address) {
		to.addr_kind = DCM_ADDR_RUNTIME;
	} else if (n == 1 && lines[0].function != DCM_NONE) {
		struct dcm_str name = STR("");
		for (uint32_t i = 0; i < from->n_lines; i++) {
			uint32_t f = l->b->lines[from->line_off + i].function;
			if (f != DCM_NONE && text(l, l->b->functions[f].name).n)
				name = text(l, l->b->functions[f].name);
		}
		if (name.n > 2 && name.p[0] == '[' && name.p[name.n - 1] == ']')
			to.kind = DCM_FRAME_NOTE;
	}
	return builder__location(l->to, &to, lines, n);
}

/* --- the profile --- */

static void add_row(struct lossy *l, uint32_t profile, uint32_t r)
{
	const struct dcm_profile *p = &l->b->profiles[profile];
	struct dcm_span stack = l->b->stacks[l->b->row_stacks[p->row_off + r]];
	uint32_t locations[4096];
	int64_t values[MAX_TYPES] = { 0 };

	for (uint32_t i = 0; i < stack.n; i++)
		locations[i] = location(l, l->b->stack_locations[stack.off + i]);
	for (uint32_t k = 0; k < p->n_types; k++)
		values[column(l, &l->b->types[p->type_off + k])] =
			l->b->values[p->value_off + (uint64_t)r * p->n_types + k];
	uint32_t set = label_set(l, profile, l->b->row_labels[p->row_off + r]);
	builder__row(l->to, builder__stack(l->to, locations, stack.n), set, values);
}

struct dcm_batch *pprof_lossy__new(const struct dcm_batch *b, uint32_t profile)
{
	CLEANUP(builder__freep) struct dcm_builder *to = builder__new((uint64_t)1 << 30);
	struct lossy l = { .b = b, .to = to };
	struct dcm_batch *ret = NULL;
	struct dcm_type types[MAX_TYPES];

	if (!to)
		return NULL;
	l.first = profile == DCM_NONE ? 0 : profile;
	l.end = profile == DCM_NONE ? b->n_profiles : profile + 1;
	find_types(&l);
	for (uint32_t k = 0; k < l.n_types; k++) {
		const struct dcm_type *t = &b->types[l.types[k]];
		types[k] = (struct dcm_type){ copy(&l, t->name),	copy(&l, t->sample_type),
					      copy(&l, t->sample_unit), copy(&l, t->period_type),
					      copy(&l, t->period_unit), t->temporality };
	}
	const struct dcm_profile *p = &b->profiles[l.first];
	struct dcm_profile head = { .series = shared_series(&l), .time_ns = p->time_ns, .period = p->period };
	int64_t end = p->time_ns;
	for (uint32_t i = l.first; i < l.end; i++) {
		p = &b->profiles[i];
		head.time_ns = p->time_ns < head.time_ns ? p->time_ns : head.time_ns;
		end = p->time_ns + p->duration_ns > end ? p->time_ns + p->duration_ns : end;
		head.period = p->period == head.period ? head.period : 0;
	}
	head.duration_ns = end - head.time_ns;
	builder__profile(to, &head, types, l.n_types);
	for (uint32_t i = l.first; i < l.end; i++)
		for (uint32_t r = 0; r < b->profiles[i].n_rows; r++)
			add_row(&l, i, r);
	return builder__seal(to, &ret, NULL) < 0 ? NULL : ret;
}
