/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pprof_encode.c - a batch as pprof
 *
 * Rows are added up first. Then each row is written with what it refers to, in the order of first
 * use; every table of the profile grows in a buffer of its own, and they are put together at the
 * end. Mappings come last, because their flags depend on all their locations. Memory: a word for
 * each string, function, location and mapping of the batch, and the written bytes twice.
 */
#include "core/codec/pprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/intern.h"
#include "core/base/mem.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/batch/limits.h"
#include "core/batch/type.h"
#include "core/deflate/deflate.h"
#include "core/codec/encode.h"

#define GZIP_LEVEL 1 /* twice the size that level 6 would take costs a third of the time */

/*
 * Where file offsets count when the batch does not know the range: readers take 0 for "already ELF
 * addresses", and a limit of 2^63 for "look into the segment with the code".
 */
#define OFFSET_START ((uint64_t)1 << 32)
#define OFFSET_LIMIT ((uint64_t)1 << 63)

/* How a mapping is written: its own range, or one of the two that readers understand. */
enum form { FORM_RANGE, FORM_OFFSET, FORM_ELF, N_FORMS };

struct used_mapping {
	uint32_t row;
	enum form form;
	bool functions, files, lines, inlined; /* some location has them */
};

struct row {
	uint32_t stack, label_set, series;
};

struct output {
	const struct dcm_batch *b;
	uint32_t first, end; /* profiles */
	struct dcm_error *err;

	uint32_t columns[TYPES_MAX]; /* types of the batch */
	uint32_t n_columns;

	VEC(struct row) rows;
	VEC(int64_t) values; /* [rows.n * n_columns] */
	struct hindex row_index;

	struct intern strings;	/* ids are the profile's */
	uint32_t *string_ids;	/* [b->n_strings] INTERN_NONE: not there yet */
	uint32_t *function_ids; /* [b->n_functions] 0: not there yet */
	uint32_t *location_ids; /* [b->n_locations] */
	uint32_t *mapping_ids;	/* [b->n_mappings * N_FORMS] */
	uint32_t n_functions, n_locations, empty_function;
	VEC(struct used_mapping) mappings;

	struct dcm_pair *shared; /* [n_shared] labels that all series have */
	uint32_t n_shared;

	struct buf locations, functions;    /* messages */
	struct buf message, packed, labels; /* scratch; labels: those of the row before */
	struct row labels_of;		    /* of which row */
	bool nomem;
};

static void output_fini(struct output *o)
{
	vec__fini(&o->rows);
	vec__fini(&o->values);
	vec__fini(&o->mappings);
	hindex__fini(&o->row_index);
	intern__fini(&o->strings);
	free(o->string_ids);
	free(o->function_ids);
	free(o->location_ids);
	free(o->mapping_ids);
	free(o->shared);
	buf__fini(&o->locations);
	buf__fini(&o->functions);
	buf__fini(&o->message);
	buf__fini(&o->packed);
	buf__fini(&o->labels);
}

static int output_init(struct output *o)
{
	const struct dcm_batch *b = o->b;

	o->labels_of.stack = DCM_NONE;
	o->string_ids = mem__resize(NULL, b->n_strings, sizeof(uint32_t));
	o->function_ids = mem__zalloc(b->n_functions, sizeof(uint32_t));
	o->location_ids = mem__zalloc(b->n_locations, sizeof(uint32_t));
	o->mapping_ids = mem__zalloc((size_t)b->n_mappings * N_FORMS, sizeof(uint32_t));
	if (intern__init(&o->strings) < 0 || !o->string_ids || !o->function_ids ||
	    !o->location_ids || !o->mapping_ids)
		return -ENOMEM;
	memset(o->string_ids, 0xff, b->n_strings * sizeof(uint32_t));
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Columns and rows
 */

static int find_columns(struct output *o)
{
	const struct dcm_batch *b = o->b;

	for (uint32_t p = o->first; p < o->end; p++)
		for (uint32_t k = 0; k < b->profiles[p].n_types; k++) {
			uint32_t type = b->profiles[p].type_off + k, c = 0;
			while (c < o->n_columns && !encode__same_type(b, o->columns[c], type))
				c++;
			if (c == TYPES_MAX)
				return error__set(
					o->err, -EINVAL,
					"pprof: the profiles have more than %d types together; "
					"write them one by one",
					TYPES_MAX);
			o->columns[c] = type;
			o->n_columns += c == o->n_columns;
		}
	return 0;
}

/* The values of a new row, zeroed; NULL when memory ran out. */
static int64_t *new_row(struct output *o, const struct row *row)
{
	if (!vec__push(&o->rows, *row) || !vec__reserve(&o->values, o->n_columns))
		return NULL;
	int64_t *values = &o->values.v[o->values.n];
	memset(values, 0, o->n_columns * sizeof(*values));
	o->values.n += o->n_columns;
	return values;
}

/* The values of the row that has this stack and these labels. */
static int64_t *find_row(struct output *o, const struct row *row)
{
	uint64_t h = hash__bytes(row, sizeof(*row), (uint64_t)(uintptr_t)o);
	uint32_t i, at = hindex__first(&o->row_index, h, &i);

	for (; i != HINDEX_NONE; at = hindex__next(&o->row_index, h, at, &i))
		if (memcmp(&o->rows.v[i], row, sizeof(*row)) == 0)
			return &o->values.v[(size_t)i * o->n_columns];
	return hindex__insert(&o->row_index, h, (uint32_t)o->rows.n) < 0 ? NULL : new_row(o, row);
}

/* Adds a row's values in their columns; false, and nothing is added, when a sum does not fit. */
static bool add_values(int64_t *to, const int64_t *from, const uint32_t *columns, uint32_t n)
{
	int64_t sums[TYPES_MAX];

	for (uint32_t k = 0; k < n; k++)
		if (__builtin_add_overflow(to[columns[k]], from[k], &sums[k]))
			return false;
	for (uint32_t k = 0; k < n; k++)
		to[columns[k]] = sums[k];
	return true;
}

static int add_rows(struct output *o, uint32_t profile)
{
	const struct dcm_batch *b = o->b;
	const struct dcm_profile *p = &b->profiles[profile];
	uint32_t columns[TYPES_MAX];

	for (uint32_t k = 0; k < p->n_types; k++)
		for (columns[k] = 0; !encode__same_type(b, o->columns[columns[k]], p->type_off + k);)
			columns[k]++;
	for (uint32_t r = 0; r < p->n_rows; r++) {
		const int64_t *from = &b->values[p->value_off + (uint64_t)r * p->n_types];
		const struct row row = { b->row_stacks[p->row_off + r],
					 b->row_labels[p->row_off + r], p->series };
		int64_t *to = find_row(o, &row);
		/* Sums that do not fit stand in several rows: readers add them up as they can. */
		if (to && !add_values(to, from, columns, p->n_types)) {
			to = new_row(o, &row);
			if (to)
				add_values(to, from, columns, p->n_types);
		}
		if (!to)
			return -ENOMEM;
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Strings, functions, mappings, locations
 */

static uint32_t put_text(struct output *o, struct dcm_str s)
{
	uint32_t id = intern__add(&o->strings, s);

	o->nomem |= id == INTERN_NONE;
	return id;
}

static uint32_t put_string(struct output *o, uint32_t string)
{
	if (o->string_ids[string] == INTERN_NONE)
		o->string_ids[string] = put_text(o, o->b->strings[string]);
	return o->string_ids[string];
}

/* The message under construction as field `number` of `to`. */
static void put_message(struct output *o, struct buf *to, uint32_t number)
{
	if (o->message.error)
		o->nomem = true;
	else
		pb__put_bytes(to, number, o->message.data ? o->message.data : (const uint8_t *)"",
			      o->message.n);
}

/*
 * The name again where no other is known, as most writers have it. But readers that find both equal
 * take it for what a linker saw, and go tool pprof cuts whatever is in brackets out of it, which of
 * "operator()" leaves "operator": a name that no linker sees stands alone.
 */
static uint32_t put_system_name(struct output *o, const struct dcm_function *f)
{
	struct dcm_str name = o->b->strings[f->name];

	if (f->system_name)
		return put_string(o, f->system_name);
	for (uint32_t i = 0; i < name.n; i++)
		if (name.p[i] == '<' || name.p[i] == '(')
			return 0;
	return put_string(o, f->name);
}

static uint32_t put_function(struct output *o, uint32_t function)
{
	static const struct dcm_function empty;
	bool none = function == DCM_NONE;
	const struct dcm_function *f = none ? &empty : &o->b->functions[function];
	uint32_t *id = none ? &o->empty_function : &o->function_ids[function];

	if (*id)
		return *id;
	*id = ++o->n_functions;
	buf__reset(&o->message);
	pb__put_varint(&o->message, 1, *id);
	pb__put_varint(&o->message, 2, put_string(o, f->name));
	pb__put_varint(&o->message, 3, put_system_name(o, f));
	pb__put_varint(&o->message, 4, put_string(o, f->file));
	pb__put_varint(&o->message, 5, (uint64_t)f->start_line);
	put_message(o, &o->functions, 5);
	return *id;
}

/* The form in which an address can be told, and the address in it. */
static enum form place(const struct dcm_batch *b, const struct dcm_location *l, uint64_t *ret_address)
{
	const struct dcm_mapping *m = &b->mappings[l->mapping];

	*ret_address = l->address;
	if (l->addr_kind == DCM_ADDR_RUNTIME)
		return FORM_RANGE;
	/* Offsets count in files alone: readers take the kernel's addresses as they are. */
	if (l->addr_kind != DCM_ADDR_FILE_OFFSET ||
	    (m->kind != DCM_MAPPING_FILE && m->kind != DCM_MAPPING_VDSO))
		return FORM_ELF;
	/* A range that begins at 0 would read as one of ELF addresses. */
	if (m->start > 0 && m->limit > m->start && l->address >= m->offset &&
	    l->address - m->offset < m->limit - m->start) {
		*ret_address = l->address - m->offset + m->start;
		return FORM_RANGE;
	}
	*ret_address = OFFSET_START + l->address;
	return FORM_OFFSET;
}

/* The mapping's id; what the location has goes into its flags. 0 when memory ran out. */
static uint32_t put_mapping(struct output *o, const struct dcm_location *l, enum form form)
{
	uint32_t *id = &o->mapping_ids[(size_t)l->mapping * N_FORMS + form];
	const struct dcm_batch *b = o->b;

	if (*id == 0) {
		struct used_mapping new = { .row = l->mapping, .form = form };
		if (!vec__push(&o->mappings, new)) {
			o->nomem = true;
			return 0;
		}
		*id = (uint32_t)o->mappings.n;
	}
	struct used_mapping *m = &o->mappings.v[*id - 1];
	m->inlined |= l->n_lines > 1;
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct dcm_line *line = &b->lines[l->line_off + i];
		m->functions |= line->function != DCM_NONE;
		m->files |= line->function != DCM_NONE && b->functions[line->function].file;
		m->lines |= line->line != 0;
	}
	return *id;
}

static uint32_t put_location(struct output *o, uint32_t location)
{
	const struct dcm_batch *b = o->b;
	const struct dcm_location *l = &b->locations[location];
	uint32_t *id = &o->location_ids[location];
	uint64_t address = l->address;

	if (*id)
		return *id;
	*id = ++o->n_locations;
	uint32_t mapping = 0;
	if (l->mapping != DCM_NONE) {
		enum form form = place(b, l, &address);
		mapping = put_mapping(o, l, form);
	}
	/* Functions use the scratch message, so the lines are made first. */
	buf__reset(&o->packed);
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct dcm_line *line = &b->lines[l->line_off + i];
		uint32_t function = put_function(o, line->function);
		buf__reset(&o->message);
		pb__put_varint(&o->message, 1, function);
		pb__put_varint(&o->message, 2, (uint64_t)line->line);
		pb__put_varint(&o->message, 3, line->column);
		put_message(o, &o->packed, 4);
	}
	buf__reset(&o->message);
	pb__put_varint(&o->message, 1, *id);
	pb__put_varint(&o->message, 2, mapping);
	pb__put_varint(&o->message, 3, address);
	buf__append(&o->message, o->packed.data, o->packed.n);
	o->nomem |= o->packed.error != 0;
	put_message(o, &o->locations, 4);
	return *id;
}

/* ------------------------------------------------------------------------------------------------
 * Labels
 */

static bool same_text(const struct dcm_batch *b, uint32_t x, uint32_t y)
{
	return x == y || str__eq(b->strings[x], b->strings[y]);
}

/* True when the series has this pair. */
static bool has_pair(const struct dcm_batch *b, struct dcm_span series, const struct dcm_pair *pair)
{
	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *p = &b->pairs[series.off + i];
		if (same_text(b, p->name, pair->name))
			return same_text(b, p->value, pair->value);
	}
	return false;
}

static int find_shared(struct output *o)
{
	const struct dcm_batch *b = o->b;
	uint32_t series = b->profiles[o->first].series;
	struct dcm_span first = b->series[series];

	o->shared = mem__zalloc(first.n, sizeof(*o->shared));
	if (!o->shared)
		return -ENOMEM;
	if (first.n)
		memcpy(o->shared, &b->pairs[first.off], first.n * sizeof(*o->shared));
	o->n_shared = first.n;
	for (uint32_t p = o->first; p < o->end; p++) {
		if (b->profiles[p].series == series)
			continue;
		series = b->profiles[p].series;
		uint32_t n = 0;
		for (uint32_t i = 0; i < o->n_shared; i++)
			if (has_pair(b, b->series[series], &o->shared[i]))
				o->shared[n++] = o->shared[i];
		o->n_shared = n;
	}
	return 0;
}

static bool is_shared(const struct output *o, const struct dcm_pair *pair)
{
	for (uint32_t i = 0; i < o->n_shared; i++)
		if (same_text(o->b, o->shared[i].name, pair->name))
			return true;
	return false;
}

/* One label of a sample, appended to the row's. */
static void put_label(struct output *o, uint32_t key, uint32_t str, int64_t num, uint32_t unit)
{
	buf__reset(&o->message);
	pb__put_varint(&o->message, 1, key);
	if (unit == DCM_NONE) {
		pb__put_varint(&o->message, 2, str);
	} else {
		/* Also when it is 0: a label with neither is no number. */
		pb__put_tag(&o->message, 3, PB_VARINT);
		buf__varint(&o->message, (uint64_t)num);
		pb__put_varint(&o->message, 4, unit);
	}
	put_message(o, &o->labels, 3);
}

/* The name of a sample's own label: "exported_" before it when the series' label takes the name. */
static uint32_t label_key(struct output *o, struct dcm_span series, uint32_t name)
{
	const struct dcm_batch *b = o->b;

	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *pair = &b->pairs[series.off + i];
		if (!same_text(b, pair->name, name) || is_shared(o, pair))
			continue;
		buf__reset(&o->packed);
		buf__text(&o->packed, "exported_");
		buf__str(&o->packed, b->strings[name]);
		o->nomem |= o->packed.error != 0;
		return put_text(o, buf__view(&o->packed));
	}
	return put_string(o, name);
}

/* The messages of a row's labels, into o->labels, where those of the row before may still stand. */
static void put_labels(struct output *o, const struct row *row)
{
	const struct dcm_batch *b = o->b;
	struct dcm_span series = b->series[row->series], set = b->label_sets[row->label_set];

	if (o->labels_of.stack != DCM_NONE && o->labels_of.series == row->series &&
	    o->labels_of.label_set == row->label_set)
		return;
	o->labels_of = *row;
	buf__reset(&o->labels);
	for (uint32_t i = 0; i < series.n; i++) {
		const struct dcm_pair *pair = &b->pairs[series.off + i];
		if (!is_shared(o, pair))
			put_label(o, put_string(o, pair->name), put_string(o, pair->value), 0, DCM_NONE);
	}
	for (uint32_t i = 0; i < set.n; i++) {
		const struct dcm_label *l = &b->labels[set.off + i];
		uint32_t key = label_key(o, series, l->name);
		if (l->unit == DCM_NONE)
			put_label(o, key, put_string(o, l->str), 0, DCM_NONE);
		else
			put_label(o, key, 0, l->num, put_string(o, l->unit));
	}
	o->nomem |= o->labels.error != 0;
}

/* ------------------------------------------------------------------------------------------------
 * The profile
 */

static void put_sample(struct output *o, size_t i, struct buf *out)
{
	const struct dcm_batch *b = o->b;
	const struct row *row = &o->rows.v[i];
	const int64_t *values = &o->values.v[i * o->n_columns];
	struct dcm_span stack = b->stacks[row->stack];
	bool all_zero = true;

	for (uint32_t k = 0; k < o->n_columns; k++)
		all_zero &= values[k] == 0;
	if (all_zero)
		return;
	/* These use the scratch buffers; afterwards every location has its id. */
	for (uint32_t k = 0; k < stack.n; k++)
		put_location(o, b->stack_locations[stack.off + k]);
	put_labels(o, row);

	buf__reset(&o->packed);
	for (uint32_t k = 0; k < stack.n; k++)
		buf__varint(&o->packed, o->location_ids[b->stack_locations[stack.off + k]]);
	buf__reset(&o->message);
	if (stack.n)
		pb__put_bytes(&o->message, 1, o->packed.data, o->packed.n);
	o->nomem |= o->packed.error != 0;
	buf__reset(&o->packed);
	for (uint32_t k = 0; k < o->n_columns; k++)
		buf__varint(&o->packed, (uint64_t)values[k]);
	pb__put_bytes(&o->message, 2, o->packed.data, o->packed.n);
	o->nomem |= o->packed.error != 0;
	buf__append(&o->message, o->labels.data, o->labels.n);
	put_message(o, out, 2);
}

static void put_value_type(struct output *o, struct buf *out, uint32_t number, uint32_t type, uint32_t unit)
{
	buf__reset(&o->message);
	pb__put_varint(&o->message, 1, put_string(o, type));
	pb__put_varint(&o->message, 2, put_string(o, unit));
	put_message(o, out, number);
}

static void put_used_mapping(struct output *o, uint32_t i, struct buf *out)
{
	static const char *const names[] = {
		[DCM_MAPPING_FILE] = "",	   [DCM_MAPPING_KERNEL] = "[kernel]",
		[DCM_MAPPING_MODULE] = "[module]", [DCM_MAPPING_VDSO] = "[vdso]",
		[DCM_MAPPING_ANON] = "//anon",
	};
	const struct used_mapping *used = &o->mappings.v[i];
	const struct dcm_mapping *m = &o->b->mappings[used->row];
	struct dcm_str file = o->b->strings[m->file], build_id = o->b->strings[m->build_id];
	uint64_t range[N_FORMS][3] = { [FORM_RANGE] = { m->start, m->limit, m->offset },
				       [FORM_OFFSET] = { OFFSET_START, OFFSET_LIMIT, 0 },
				       [FORM_ELF] = { 0, UINT64_MAX, 0 } };

	/*
	 * pprof and Parca find the symbols of file offsets, but the pprof that comes with Go takes
	 * `start` for the address of the first segment with code, and would show wrong names. It
	 * keeps off when one of the flags says that symbolization was tried.
	 */
	bool keep_off = used->form == FORM_OFFSET && !used->functions && !used->lines;

	/* A stand-in tells files apart on one machine only. */
	if (str__starts(build_id, STR("~")))
		build_id = STR("");
	buf__reset(&o->message);
	pb__put_varint(&o->message, 1, i + 1);
	pb__put_varint(&o->message, 2, range[used->form][0]);
	pb__put_varint(&o->message, 3, range[used->form][1]);
	pb__put_varint(&o->message, 4, range[used->form][2]);
	pb__put_varint(&o->message, 5, put_text(o, file.n ? file : str__of(names[m->kind])));
	pb__put_varint(&o->message, 6, put_text(o, build_id));
	pb__put_varint(&o->message, 7, used->functions);
	pb__put_varint(&o->message, 8, used->files || keep_off);
	pb__put_varint(&o->message, 9, used->lines);
	pb__put_varint(&o->message, 10, used->inlined);
	put_message(o, out, 3);
}

/* "libc.so", "libc.so.6", "b.so_1": not "x.so-called", nor what lies in a folder "y.so". */
static bool is_library(struct dcm_str file)
{
	const char *end = file.p + file.n;
	const char *slash = file.n ? memrchr(file.p, '/', file.n) : NULL;

	for (const char *at = slash ? slash : file.p; at < end;) {
		const char *so = memmem(at, (size_t)(end - at), ".so", 3);
		size_t behind = so ? (size_t)(end - so) - 3 : 0;

		if (!so)
			return false;
		if (behind == 0 ||
		    (behind > 1 && (so[3] == '.' || so[3] == '_') && so[4] >= '0' && so[4] <= '9'))
			return true;
		at = so + 3;
	}
	return false;
}

/*
 * The program's own, or the first there is: readers take the one that comes first for the program's.
 * What is no library is one, as in the pprof tool's own rule for profiles that do not say.
 */
static uint32_t main_mapping(const struct output *o)
{
	for (uint32_t i = 0; i < o->mappings.n; i++) {
		const struct dcm_mapping *m = &o->b->mappings[o->mappings.v[i].row];

		if (m->kind == DCM_MAPPING_FILE && !is_library(o->b->strings[m->file]))
			return i;
	}
	return 0;
}

static void put_mappings(struct output *o, struct buf *out)
{
	uint32_t first = main_mapping(o);

	if (o->mappings.n)
		put_used_mapping(o, first, out);
	for (uint32_t i = 0; i < o->mappings.n; i++)
		if (i != first)
			put_used_mapping(o, i, out);
}

static void put_comment(struct output *o, struct buf *out)
{
	o->nomem |= o->packed.error != 0;
	pb__put_varint(out, 13, put_text(o, buf__view(&o->packed)));
}

/* Would a reader that is told nothing else find the types by himself? */
static bool types_are_usual(const struct output *o, int64_t duration_ns)
{
	static const struct decode_options none;
	const struct dcm_batch *b = o->b;
	const struct dcm_type *first = &b->types[o->columns[0]];
	struct dcm_str sample_types[TYPES_MAX];

	for (uint32_t k = 0; k < o->n_columns; k++)
		sample_types[k] = b->strings[b->types[o->columns[k]].sample_type];
	struct dcm_str name = decode__usual_name(sample_types, o->n_columns);
	for (uint32_t k = 0; k < o->n_columns; k++) {
		const struct dcm_type *t = &b->types[o->columns[k]];
		if (!str__eq(b->strings[t->name], name) ||
		    !same_text(b, t->period_type, first->period_type) ||
		    !same_text(b, t->period_unit, first->period_unit) ||
		    t->temporality != decode__temporality(&none, name, sample_types[k], duration_ns))
			return false;
	}
	return true;
}

/* What pprof has no field for: see pprof.h. Every tool shows them, so only what tells something. */
static void put_comments(struct output *o, int64_t duration_ns, struct buf *out)
{
	static const char *const words[] = {
		[DCM_DELTA] = "", [DCM_GAUGE] = " gauge", [DCM_CUMULATIVE] = " cumulative"
	};
	const struct dcm_batch *b = o->b;
	bool usual = types_are_usual(o, duration_ns);

	for (uint32_t k = 0; !usual && k < o->n_columns; k++) {
		const struct dcm_type *t = &b->types[o->columns[k]];
		char text[6 * (TYPE_PART_MAX_BYTES + 1)];
		type__format(b, t, text, sizeof(text));
		buf__reset(&o->packed);
		buf__printf(&o->packed, "decima: type %s%s", text, words[t->temporality]);
		put_comment(o, out);
	}
	for (uint32_t i = 0; i < o->n_shared; i++) {
		buf__reset(&o->packed);
		buf__text(&o->packed, "decima: label ");
		buf__str(&o->packed, b->strings[o->shared[i].name]);
		buf__byte(&o->packed, '=');
		buf__str(&o->packed, b->strings[o->shared[i].value]);
		put_comment(o, out);
	}
}

/* Where a profile ends, or the end of time. */
static int64_t end_of(const struct dcm_profile *p)
{
	int64_t end;

	return __builtin_add_overflow(p->time_ns, p->duration_ns, &end) ? INT64_MAX : end;
}

/* Times, period, comments. The period is told when all profiles have the same. */
static void put_head(struct output *o, struct buf *out)
{
	const struct dcm_batch *b = o->b;
	const struct dcm_profile *p = &b->profiles[o->first];
	const struct dcm_type *t = &b->types[o->columns[0]];
	int64_t start = p->time_ns, end = p->time_ns, period = p->period;

	for (uint32_t i = o->first; i < o->end; i++) {
		p = &b->profiles[i];
		start = p->time_ns < start ? p->time_ns : start;
		end = end_of(p) > end ? end_of(p) : end;
		period = p->period == period ? period : 0;
	}
	pb__put_varint(out, 9, (uint64_t)start);
	pb__put_varint(out, 10, (uint64_t)(end - start));
	put_value_type(o, out, 11, t->period_type, t->period_unit);
	pb__put_varint(out, 12, (uint64_t)period);
	put_comments(o, end - start, out);
}

static void put_profile(struct output *o, struct buf *out)
{
	for (uint32_t k = 0; k < o->n_columns; k++) {
		const struct dcm_type *t = &o->b->types[o->columns[k]];
		put_value_type(o, out, 1, t->sample_type, t->sample_unit);
	}
	for (size_t i = 0; i < o->rows.n && !o->nomem && !out->error; i++)
		put_sample(o, i, out);
	put_mappings(o, out);
	buf__append(out, o->locations.data, o->locations.n);
	buf__append(out, o->functions.data, o->functions.n);
	put_head(o, out);
	for (uint32_t i = 0; i < o->strings.n; i++)
		pb__put_bytes(out, 6, o->strings.texts[i].p, o->strings.texts[i].n);
	o->nomem |= o->locations.error || o->functions.error;
}

int pprof__encode_raw(const struct dcm_batch *b, uint32_t profile, struct buf *out, struct dcm_error *err)
{
	struct output o = { .b = b, .err = err };

	int r = encode__range(b, profile, "pprof", &o.first, &o.end, err);
	if (r < 0)
		return r;
	r = find_columns(&o);
	if (r == 0) {
		r = output_init(&o);
		for (uint32_t p = o.first; r == 0 && p < o.end; p++)
			r = add_rows(&o, p);
		if (r == 0)
			r = find_shared(&o);
		if (r == 0)
			put_profile(&o, out);
		if (r < 0 || o.nomem)
			r = error__nomem(err);
		else
			r = encode__end(out, "pprof", err);
	}
	output_fini(&o);
	return r;
}

int pprof__encode(const struct dcm_batch *b, uint32_t profile, struct buf *out, struct dcm_error *err)
{
	struct buf plain = { .limit = out->limit };

	int r = pprof__encode_raw(b, profile, &plain, err);
	if (r == 0 && deflate__pack(plain.data, plain.n, GZIP_LEVEL, out) < 0)
		r = out->error ? encode__end(out, "pprof", err) : error__nomem(err);
	buf__fini(&plain);
	return r;
}
