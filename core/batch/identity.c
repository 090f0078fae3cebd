/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/identity.c - content hashes of locations, stacks and series
 *
 * Texts enter as their own xxh3-128, so that every layout but the lists is of one size and nothing
 * needs a buffer. Mappings and functions are hashed once each, because many locations share them.
 * The layouts are structs without holes; machines are little-endian. A tag in front keeps the kinds
 * of entries apart.
 */
#include "core/batch/identity.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "core/batch/tables.h"

enum tag { TAG_MAPPING = 1, TAG_FUNCTION, TAG_LOCATION, TAG_STACK, TAG_SERIES };

enum mapping_form { BY_BUILD_ID = 1, BY_KIND_AND_FILE };

struct mapping_bytes {
	uint32_t tag, form, kind, zero;
	struct dcm_hash text; /* build id or file */
};

struct function_bytes {
	uint32_t tag, zero;
	int64_t start_line;
	struct dcm_hash name, system_name, file;
};

struct line_bytes {
	struct dcm_hash function; /* zero: unknown */
	int64_t line;
	uint32_t column, zero;
};

struct location_bytes {
	uint32_t tag;
	uint8_t kind, addr_kind;
	uint16_t zero;
	uint64_t address;
	struct dcm_hash mapping; /* zero: none */
	uint64_t start_ns;
	uint32_t pid, generation;
	uint32_t has_process, n_lines;
	struct line_bytes lines[]; /* [n_lines] */
};

struct stack_bytes {
	uint32_t tag, n;
	struct dcm_hash locations[STACK_MAX_DEPTH]; /* [n], leaf first */
};

struct series_bytes {
	uint32_t tag, n;
	struct {
		struct dcm_hash name, value;
	} pairs[LABELS_MAX]; /* [n], sorted by name */
};

_Static_assert(sizeof(struct mapping_bytes) == 32, "docs/FORMATS.md: mapping");
_Static_assert(sizeof(struct function_bytes) == 64, "docs/FORMATS.md: function");
_Static_assert(sizeof(struct line_bytes) == 32, "docs/FORMATS.md: line");
_Static_assert(sizeof(struct location_bytes) == 56, "docs/FORMATS.md: location");
_Static_assert(offsetof(struct stack_bytes, locations) == 8, "docs/FORMATS.md: stack");

static struct dcm_hash text_hash(const struct dcm_batch *b, uint32_t string)
{
	return hash__bytes128(b->strings[string].p, b->strings[string].n);
}

static struct dcm_hash mapping_hash(const struct dcm_batch *b, const struct dcm_mapping *m)
{
	bool has_build_id = b->strings[m->build_id].n > 0;
	struct mapping_bytes bytes = {
		.tag = TAG_MAPPING,
		.form = has_build_id ? BY_BUILD_ID : BY_KIND_AND_FILE,
		.kind = has_build_id ? 0 : m->kind,
		.text = text_hash(b, has_build_id ? m->build_id : m->file),
	};
	return hash__bytes128(&bytes, sizeof(bytes));
}

static struct dcm_hash function_hash(const struct dcm_batch *b, const struct dcm_function *f)
{
	struct function_bytes bytes = {
		.tag = TAG_FUNCTION,
		.start_line = f->start_line,
		.name = text_hash(b, f->name),
		.file = text_hash(b, f->file),
	};
	/* None is another way to write "the same as name". */
	bytes.system_name = b->strings[f->system_name].n ? text_hash(b, f->system_name) : bytes.name;
	return hash__bytes128(&bytes, sizeof(bytes));
}

/*
 * True when the location's names can be found later, from its build id and address: they are then
 * no part of it.
 */
static bool is_named_later(const struct dcm_batch *b, const struct dcm_location *l)
{
	return l->kind == DCM_FRAME_NATIVE && l->addr_kind != DCM_ADDR_NONE &&
	       l->mapping != DCM_NONE && b->strings[b->mappings[l->mapping].build_id].n > 0;
}

/* What the hashing of many locations shares. */
struct identity {
	VEC(struct dcm_hash) mappings; /* as many as were seen */
	VEC(struct dcm_hash) functions;
	union {
		struct location_bytes location;
		uint8_t room[sizeof(struct location_bytes) + LOCATION_MAX_LINES * sizeof(struct line_bytes)];
	} bytes;
};

struct identity *identity__new(void)
{
	return NEW(struct identity);
}

void identity__free(struct identity *i)
{
	if (!i)
		return;
	vec__fini(&i->mappings);
	vec__fini(&i->functions);
	free(i);
}

static bool hash_new_mappings(struct identity *i, const struct dcm_batch *b)
{
	if (!vec__reserve(&i->mappings, b->n_mappings - i->mappings.n))
		return false;
	while (i->mappings.n < b->n_mappings) {
		i->mappings.v[i->mappings.n] = mapping_hash(b, &b->mappings[i->mappings.n]);
		i->mappings.n++;
	}
	return true;
}

static bool hash_new_functions(struct identity *i, const struct dcm_batch *b)
{
	if (!vec__reserve(&i->functions, b->n_functions - i->functions.n))
		return false;
	while (i->functions.n < b->n_functions) {
		i->functions.v[i->functions.n] = function_hash(b, &b->functions[i->functions.n]);
		i->functions.n++;
	}
	return true;
}

static struct dcm_hash location_hash(const struct dcm_batch *b, struct identity *s,
				     const struct dcm_location *l)
{
	struct location_bytes *bytes = &s->bytes.location;
	*bytes = (struct location_bytes){
		.tag = TAG_LOCATION,
		.kind = l->kind,
		.addr_kind = l->addr_kind,
		.address = l->address,
		.n_lines = is_named_later(b, l) ? 0 : l->n_lines,
	};
	if (l->mapping != DCM_NONE)
		bytes->mapping = s->mappings.v[l->mapping];
	if (l->process != DCM_NONE) {
		const struct dcm_process *p = &b->processes[l->process];
		bytes->has_process = 1;
		bytes->pid = p->pid;
		bytes->generation = p->generation;
		bytes->start_ns = p->start_ns;
	}
	for (uint32_t i = 0; i < bytes->n_lines; i++) {
		const struct dcm_line *line = &b->lines[l->line_off + i];
		bytes->lines[i] = (struct line_bytes){ .line = line->line, .column = line->column };
		if (line->function != DCM_NONE)
			bytes->lines[i].function = s->functions.v[line->function];
	}
	return hash__bytes128(bytes, sizeof(*bytes) + bytes->n_lines * sizeof(bytes->lines[0]));
}

struct dcm_hash identity__stack(const struct dcm_batch *b, uint32_t stack)
{
	const struct dcm_span span = b->stacks[stack];
	/* A batch of empty stacks alone has no column. */
	const uint32_t *ids = span.n ? b->stack_locations + span.off : NULL;
	struct stack_bytes bytes;

	assert(span.n <= STACK_MAX_DEPTH);
	bytes.tag = TAG_STACK;
	bytes.n = span.n;
	for (uint32_t i = 0; i < span.n; i++)
		bytes.locations[i] = b->location_hashes[ids[i]];
	return hash__bytes128(&bytes, offsetof(struct stack_bytes, locations) +
					      span.n * sizeof(bytes.locations[0]));
}

struct dcm_hash identity__series(const struct dcm_batch *b, uint32_t series)
{
	struct dcm_span span = b->series[series];
	struct series_bytes bytes;

	assert(span.n <= LABELS_MAX);
	bytes.tag = TAG_SERIES;
	bytes.n = span.n;
	for (uint32_t i = 0; i < span.n; i++) {
		bytes.pairs[i].name = text_hash(b, b->pairs[span.off + i].name);
		bytes.pairs[i].value = text_hash(b, b->pairs[span.off + i].value);
	}
	return hash__bytes128(&bytes,
			      offsetof(struct series_bytes, pairs) + span.n * sizeof(bytes.pairs[0]));
}

int identity__extend(struct identity *i, const struct dcm_batch *b, struct identity_from from,
		     struct dcm_hash *locations, struct dcm_hash *series)
{
	if (!hash_new_mappings(i, b) || !hash_new_functions(i, b))
		return -ENOMEM;
	for (uint32_t k = from.location; k < b->n_locations; k++)
		locations[k] = location_hash(b, i, &b->locations[k]);
	for (uint32_t k = from.series; k < b->n_series; k++)
		series[k] = identity__series(b, k);
	return 0;
}

int identity__compute(const struct dcm_batch *b, struct dcm_hash *ret_locations, struct dcm_hash *ret_series)
{
	CLEANUP(identity__freep) struct identity *i = identity__new();

	return i ? identity__extend(i, b, (struct identity_from){ 0 }, ret_locations, ret_series)
		 : -ENOMEM;
}
