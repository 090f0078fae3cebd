/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/builder.c - makes a batch: interns, checks once, hashes, seals
 *
 * Each table is a column (or a few) and an index from a seeded 64-bit hash of the entry's own
 * numbers to its row; ids are rows. What is known is found by hash and comparison and needs no
 * check; what is new is checked (check.c), gets room within max_bytes, and goes to the end. Sealing
 * moves the columns as they are. The seed is the builder's address, so that nobody outside can
 * prepare entries that collide. Single-threaded.
 */
#include "core/batch/builder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/check.h"
#include "core/batch/identity.h"
#include "core/batch/tables.h"

#define MAX_BYTES_DEFAULT ((uint64_t)256 << 20)

enum index_of {
	IX_MAPPINGS,
	IX_FUNCTIONS,
	IX_PROCESSES,
	IX_LOCATIONS,
	IX_STACKS,
	IX_SERIES,
	IX_LABEL_SETS,
	IX_TYPES, /* to a profile that has this list of types */
	N_INDEXES
};

struct dcm_builder {
	int code;	  /* of the first failure */
	uint32_t n_types; /* of the profile that rows go to */
	struct tables t;
	struct hindex indexes[N_INDEXES];
	uint64_t seed;
	uint64_t bytes; /* of columns and indexes; strings count for themselves */
	uint64_t max_bytes;
	struct dcm_batch_id next_id;
	struct dcm_error error; /* the sentence to `code` */
};

#define unlikely(x) __builtin_expect(!!(x), 0)

/* -------------------------------------------------------------------------------------------------
 * Failing, and room within the limit
 */

/* Keeps the code of a check that has filled b->error. Returns whether the entry was fine. */
static bool passed(struct dcm_builder *b, int r)
{
	if (r < 0)
		b->code = r;
	return r == 0;
}

void builder__fail(struct dcm_builder *b, int code, const char *fmt, ...)
{
	if (b->code)
		return;
	char text[sizeof(b->error.text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	b->code = error__set(&b->error, code, "%s", text);
}

static bool fail_nomem(struct dcm_builder *b)
{
	b->code = error__nomem(&b->error);
	return false;
}

static bool fail_full(struct dcm_builder *b)
{
	builder__fail(b, -E2BIG, "batch: it needs more than its limit of %llu bytes; seal more often, or allow more",
		      (unsigned long long)b->max_bytes);
	return false;
}

int builder__error(const struct dcm_builder *b)
{
	return b->code;
}

uint64_t builder__bytes(const struct dcm_builder *b)
{
	return b->bytes + tables__string_bytes(&b->t);
}

static uint64_t bytes_left(const struct dcm_builder *b)
{
	uint64_t used = builder__bytes(b);

	return used < b->max_bytes ? b->max_bytes - used : 0;
}

/* Out of line, because it is rare; ROOM() below is what the adds use. */
static __attribute__((noinline)) bool grow(struct dcm_builder *b, void **v, size_t *cap,
					   size_t need, size_t size)
{
	size_t fits = *cap + bytes_left(b) / size;
	size_t want = *cap + *cap / 2;
	want = want < 16 ? 16 : want;
	want = want < need ? need : want;
	want = want > fits ? fits : want;
	if (want < need)
		return fail_full(b);
	/*
	 * The caller's pointer is a `T *`: its bytes are copied, because reading it as `void *`
	 * breaks aliasing.
	 */
	void *p;
	memcpy(&p, v, sizeof(p));
	p = mem__resize(p, want, size);
	if (!p)
		return fail_nomem(b);
	memcpy(v, &p, sizeof(p));
	b->bytes += (want - *cap) * size;
	*cap = want;
	return true;
}

/* True when the column has room for `more`. */
#define ROOM(b, column, more)                                                                      \
	((column)->cap - (column)->n >= (more) ||                                                  \
	 grow(b, (void **)&(column)->v, &(column)->cap, (column)->n + (more), sizeof(*(column)->v)))

/* For columns whose numbers are ids or offsets, and that no index bounds. */
static bool fail_long(struct dcm_builder *b)
{
	builder__fail(b, -E2BIG, "batch: more than %zu entries in one table", ENTRIES_MAX);
	return false;
}
#define ROOM_BOUNDED(b, column, more)                                                              \
	(ROOM(b, column, more) && ((column)->n + (more) <= ENTRIES_MAX || fail_long(b)))

/* Enters the row that is about to be appended to a table of n. */
static bool enter(struct dcm_builder *b, enum index_of which, uint64_t h, size_t n)
{
	struct hindex *ix = &b->indexes[which];
	uint32_t cap = ix->cap;

	if (n >= ENTRIES_MAX)
		return fail_long(b);
	/* It may double now: the limit comes before the allocation. */
	if ((uint64_t)(ix->n + 1) * 10 > (uint64_t)cap * 7 &&
	    (cap ? cap : 16) * sizeof(*ix->slots) > bytes_left(b))
		return fail_full(b);
	if (hindex__insert(ix, h, (uint32_t)n) < 0)
		return fail_nomem(b);
	b->bytes += (ix->cap - cap) * sizeof(*ix->slots);
	return true;
}

/*
 * The row for which equal() is true, among those with this hash. Inlined, so that equal() is too.
 */
typedef bool (*equal_fn)(const struct tables *t, uint32_t row, const void *key);

static inline __attribute__((always_inline)) uint32_t find(const struct dcm_builder *b,
							   enum index_of which, uint64_t h,
							   equal_fn equal, const void *key)
{
	const struct hindex *ix = &b->indexes[which];
	uint32_t row, at = hindex__first(ix, h, &row);

	while (row != HINDEX_NONE && !equal(&b->t, row, key))
		at = hindex__next(ix, h, at, &row);
	return row;
}

/* -------------------------------------------------------------------------------------------------
 * Life
 */

struct dcm_builder *builder__new(uint64_t max_bytes)
{
	struct dcm_builder *b = NEW(struct dcm_builder);

	if (!b)
		return NULL;
	b->max_bytes = max_bytes ? max_bytes : MAX_BYTES_DEFAULT;
	b->seed = (uint64_t)(uintptr_t)b;
	b->error = (struct dcm_error)DCM_ERROR_INIT;
	builder__reset(b);
	if (b->code == -ENOMEM) {
		builder__free(b);
		return NULL;
	}
	return b;
}

void builder__free(struct dcm_builder *b)
{
	if (!b)
		return;
	tables__fini(&b->t);
	for (unsigned i = 0; i < N_INDEXES; i++)
		hindex__fini(&b->indexes[i]);
	free(b);
}

/* Empty, with string 0 and label set 0; the indexes' memory is kept unless it was far too much. */
static void start_anew(struct dcm_builder *b)
{
	b->bytes = 0;
	for (unsigned i = 0; i < N_INDEXES; i++) {
		struct hindex *ix = &b->indexes[i];
		if (ix->n < ix->cap / 8)
			hindex__fini(ix);
		else
			hindex__clear(ix);
		b->bytes += ix->cap * sizeof(*ix->slots);
	}
	b->t = (struct tables){ 0 };
	b->code = 0;
	b->n_types = 0;
	/* When there is no memory now, the next seal says so. */
	if (intern__init(&b->t.strings) < 0)
		fail_nomem(b);
	else if (ROOM(b, &b->t.label_sets, 1))
		b->t.label_sets.v[b->t.label_sets.n++] = (struct dcm_span){ 0, 0 };
}

void builder__reset(struct dcm_builder *b)
{
	tables__fini(&b->t);
	start_anew(b);
}

void builder__set_source(struct dcm_builder *b, struct dcm_hash source, uint64_t next_sequence)
{
	b->next_id = (struct dcm_batch_id){ .source = source, .sequence = next_sequence };
}

/* -------------------------------------------------------------------------------------------------
 * Strings, mappings, functions, processes
 */

/* Adds text that is not well-formed, with U+FFFD for each byte that belongs to no character. */
static uint32_t add_repaired(struct dcm_builder *b, struct dcm_str s)
{
	char *text = malloc((size_t)s.n * 3);
	if (!text) {
		fail_nomem(b);
		return INTERN_NONE;
	}
	uint32_t n = 0;
	for (uint32_t i = 0; i < s.n;) {
		unsigned len = str__utf8_len(s.p + i, s.n - i);
		memcpy(text + n, len ? s.p + i : "\xef\xbf\xbd", len ? len : 3);
		n += len ? len : 3;
		i += len ? len : 1;
	}
	uint32_t id = intern__add(&b->t.strings, (struct dcm_str){ text, n });
	free(text);
	return id;
}

static bool is_ascii(struct dcm_str s)
{
	uint32_t i = 0;

	for (; i + 8 <= s.n; i += 8) {
		uint64_t eight;
		memcpy(&eight, s.p + i, sizeof(eight));
		if (eight & 0x8080808080808080u)
			return false;
	}
	for (; i < s.n; i++)
		if (s.p[i] & 0x80)
			return false;
	return true;
}

uint32_t builder__string(struct dcm_builder *b, struct dcm_str s)
{
	if (unlikely(b->code))
		return 0;
	uint32_t id = intern__find(&b->t.strings, s);
	if (id != INTERN_NONE)
		return id;

	if (s.n > STRING_MAX_BYTES) {
		builder__fail(b, -E2BIG, "string %u: %u bytes, more than the limit of %u",
			      b->t.strings.n, s.n, (unsigned)STRING_MAX_BYTES);
		return 0;
	}
	if (s.n >= bytes_left(b) || b->t.strings.n >= ENTRIES_MAX) {
		fail_full(b);
		return 0;
	}
	if (is_ascii(s) || str__is_utf8(s))
		id = intern__add(&b->t.strings, s);
	else
		id = add_repaired(b, s);
	if (id == INTERN_NONE)
		fail_nomem(b);
	else if (builder__bytes(b) > b->max_bytes)
		fail_full(b);
	return b->code ? 0 : id;
}

static bool mapping_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct dcm_mapping *a = &t->mappings.v[row], *m = key;

	return a->start == m->start && a->limit == m->limit && a->offset == m->offset &&
	       a->file == m->file && a->build_id == m->build_id && a->kind == m->kind;
}

uint32_t builder__mapping(struct dcm_builder *b, const struct dcm_mapping *m)
{
	const uint64_t key[] = { m->start, m->limit, m->offset, m->file, m->build_id, m->kind };
	uint64_t h = hash__bytes(key, sizeof(key), b->seed);
	struct tables *t = &b->t;

	if (unlikely(b->code))
		return 0;
	uint32_t row = find(b, IX_MAPPINGS, h, mapping_is, m);
	if (row != HINDEX_NONE)
		return row;
	if (!passed(b, check__mapping(t, m, &b->error)) || !ROOM(b, &t->mappings, 1) ||
	    !enter(b, IX_MAPPINGS, h, t->mappings.n))
		return 0;
	t->mappings.v[t->mappings.n] = *m;
	return (uint32_t)t->mappings.n++;
}

static bool function_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct dcm_function *a = &t->functions.v[row], *f = key;

	return a->name == f->name && a->system_name == f->system_name && a->file == f->file &&
	       a->start_line == f->start_line;
}

uint32_t builder__function(struct dcm_builder *b, const struct dcm_function *given)
{
	struct dcm_function f = *given;
	struct tables *t = &b->t;

	if (unlikely(b->code))
		return 0;
	if (f.system_name == f.name)
		f.system_name = 0;
	const uint64_t key[] = { f.name, f.system_name, f.file, (uint64_t)f.start_line };
	uint64_t h = hash__bytes(key, sizeof(key), b->seed);
	uint32_t row = find(b, IX_FUNCTIONS, h, function_is, &f);
	if (row != HINDEX_NONE)
		return row;
	if (!passed(b, check__function(t, &f, &b->error)) || !ROOM(b, &t->functions, 1) ||
	    !enter(b, IX_FUNCTIONS, h, t->functions.n))
		return 0;
	t->functions.v[t->functions.n] = f;
	return (uint32_t)t->functions.n++;
}

static bool process_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct dcm_process *a = &t->processes.v[row], *p = key;

	return a->pid == p->pid && a->generation == p->generation && a->start_ns == p->start_ns;
}

uint32_t builder__process(struct dcm_builder *b, const struct dcm_process *p)
{
	const uint64_t key[] = { p->pid, p->generation, p->start_ns };
	uint64_t h = hash__bytes(key, sizeof(key), b->seed);
	struct tables *t = &b->t;

	if (unlikely(b->code))
		return 0;
	uint32_t row = find(b, IX_PROCESSES, h, process_is, p);
	if (row != HINDEX_NONE)
		return row;
	if (!ROOM(b, &t->processes, 1) || !enter(b, IX_PROCESSES, h, t->processes.n))
		return 0;
	t->processes.v[t->processes.n] = *p;
	return (uint32_t)t->processes.n++;
}

/* -------------------------------------------------------------------------------------------------
 * Locations and stacks
 */

struct location_key {
	const struct dcm_location *l;
	const struct dcm_line *lines;
	uint32_t n_lines;
};

static bool location_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct location_key *k = key;
	const struct dcm_location *a = &t->locations.v[row], *l = k->l;

	return a->address == l->address && a->mapping == l->mapping && a->process == l->process &&
	       a->addr_kind == l->addr_kind && a->kind == l->kind && a->n_lines == k->n_lines &&
	       (k->n_lines == 0 ||
		memcmp(&t->lines.v[a->line_off], k->lines, k->n_lines * sizeof(*k->lines)) == 0);
}

static uint64_t location_hash(const struct dcm_builder *b, const struct location_key *k)
{
	const uint64_t key[] = { k->l->mapping | (uint64_t)k->l->process << 32, k->l->address,
				 k->l->addr_kind | (uint64_t)k->l->kind << 8 |
					 (uint64_t)k->n_lines << 32 };
	uint64_t h = hash__bytes(key, sizeof(key), b->seed);

	_Static_assert(sizeof(struct dcm_line) == 16,
		       "lines have no holes and may be hashed as bytes");
	return k->n_lines ? hash__bytes(k->lines, k->n_lines * sizeof(*k->lines), h) : h;
}

uint32_t builder__location(struct dcm_builder *b, const struct dcm_location *l,
			   const struct dcm_line *lines, uint32_t n_lines)
{
	const struct location_key key = { l, lines, n_lines };
	struct tables *t = &b->t;

	if (unlikely(b->code))
		return 0;
	uint64_t h = location_hash(b, &key);
	uint32_t row = find(b, IX_LOCATIONS, h, location_is, &key);
	if (row != HINDEX_NONE) {
		if (n_lines == 0 && t->locations.v[row].unnamed == DCM_UNNAMED_NOT_TRIED &&
		    l->unnamed < DCM_UNNAMED_N)
			t->locations.v[row].unnamed = l->unnamed;
		return row;
	}
	if (!passed(b, check__location(t, l, lines, n_lines, &b->error)) || !ROOM(b, &t->locations, 1) ||
	    !ROOM_BOUNDED(b, &t->lines, n_lines) || !enter(b, IX_LOCATIONS, h, t->locations.n))
		return 0;
	struct dcm_location *new = &t->locations.v[t->locations.n];
	*new = *l;
	new->unnamed = n_lines ? DCM_UNNAMED_NOT_TRIED : l->unnamed;
	new->line_off = (uint32_t)t->lines.n;
	new->n_lines = n_lines;
	if (n_lines)
		memcpy(&t->lines.v[t->lines.n], lines, n_lines * sizeof(*lines));
	t->lines.n += n_lines;
	return (uint32_t)t->locations.n++;
}

struct stack_key {
	const uint32_t *locations;
	uint32_t n;
};

static bool stack_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct stack_key *k = key;
	struct dcm_span span = t->stacks.v[row];

	return span.n == k->n && (k->n == 0 || memcmp(&t->stack_locations.v[span.off], k->locations,
						      k->n * sizeof(*k->locations)) == 0);
}

uint32_t builder__stack(struct dcm_builder *b, const uint32_t *locations, uint32_t n)
{
	const struct stack_key key = { locations, n };
	struct tables *t = &b->t;

	if (unlikely(b->code))
		return 0;
	uint64_t h = hash__bytes(locations, n * sizeof(*locations), b->seed);
	uint32_t row = find(b, IX_STACKS, h, stack_is, &key);
	if (row != HINDEX_NONE)
		return row;
	if (!passed(b, check__stack(t, locations, n, &b->error)) || !ROOM(b, &t->stacks, 1) ||
	    !ROOM_BOUNDED(b, &t->stack_locations, n) || !enter(b, IX_STACKS, h, t->stacks.n))
		return 0;
	t->stacks.v[t->stacks.n] = (struct dcm_span){ (uint32_t)t->stack_locations.n, n };
	if (n)
		memcpy(&t->stack_locations.v[t->stack_locations.n], locations, n * sizeof(*locations));
	t->stack_locations.n += n;
	return (uint32_t)t->stacks.n++;
}

/* -------------------------------------------------------------------------------------------------
 * Series and label sets
 */

struct pairs_key {
	const struct dcm_pair *pairs;
	uint32_t n;
};

static bool series_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct pairs_key *k = key;
	struct dcm_span span = t->series.v[row];

	return span.n == k->n &&
	       (k->n == 0 || memcmp(&t->pairs.v[span.off], k->pairs, k->n * sizeof(*k->pairs)) == 0);
}

static int by_pair_name(const void *a, const void *b, void *tables)
{
	return str__cmp(tables__str(tables, ((const struct dcm_pair *)a)->name),
			tables__str(tables, ((const struct dcm_pair *)b)->name));
}

uint32_t builder__series(struct dcm_builder *b, const struct dcm_pair *given, uint32_t n_given)
{
	struct tables *t = &b->t;
	struct dcm_pair pairs[LABELS_MAX];
	uint32_t n = 0;

	if (unlikely(b->code) || !passed(b, check__pair_ids(t, given, n_given, &b->error)))
		return 0;
	for (uint32_t i = 0; i < n_given; i++)
		if (given[i].value)
			pairs[n++] = given[i];
	qsort_r(pairs, n, sizeof(pairs[0]), by_pair_name, t);
	_Static_assert(sizeof(struct dcm_pair) == 8,
		       "pairs have no holes and may be hashed as bytes");
	uint64_t h = hash__bytes(pairs, n * sizeof(pairs[0]), b->seed);
	uint32_t row = find(b, IX_SERIES, h, series_is, &(struct pairs_key){ pairs, n });
	if (row != HINDEX_NONE)
		return row;
	for (uint32_t i = 0; i < n; i++)
		if (!passed(b, check__label_name(t, "series", t->series.n, pairs[i].name,
						 i ? pairs[i - 1].name : DCM_NONE, &b->error)))
			return 0;
	if (!ROOM(b, &t->series, 1) || !ROOM_BOUNDED(b, &t->pairs, n) ||
	    !enter(b, IX_SERIES, h, t->series.n))
		return 0;
	t->series.v[t->series.n] = (struct dcm_span){ (uint32_t)t->pairs.n, n };
	if (n)
		memcpy(&t->pairs.v[t->pairs.n], pairs, n * sizeof(pairs[0]));
	t->pairs.n += n;
	return (uint32_t)t->series.n++;
}

struct labels_key {
	const struct dcm_label *labels;
	uint32_t n;
};

static bool label_set_is(const struct tables *t, uint32_t row, const void *key)
{
	const struct labels_key *k = key;
	struct dcm_span span = t->label_sets.v[row];

	if (span.n != k->n)
		return false;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct dcm_label *a = &t->labels.v[span.off + i], *l = &k->labels[i];
		if (a->name != l->name || a->str != l->str || a->num != l->num || a->unit != l->unit)
			return false;
	}
	return true;
}

static uint64_t label_set_hash(const struct dcm_builder *b, const struct dcm_label *labels, uint32_t n)
{
	/* A label has a hole at its end, so its numbers are packed. */
	uint64_t key[3 * LABELS_MAX];

	for (uint32_t i = 0; i < n; i++) {
		key[3 * i] = labels[i].name | (uint64_t)labels[i].str << 32;
		key[3 * i + 1] = (uint64_t)labels[i].num;
		key[3 * i + 2] = labels[i].unit;
	}
	return hash__bytes(key, 3 * n * sizeof(key[0]), b->seed);
}

static int by_label_name(const void *a, const void *b, void *tables)
{
	return str__cmp(tables__str(tables, ((const struct dcm_label *)a)->name),
			tables__str(tables, ((const struct dcm_label *)b)->name));
}

uint32_t builder__label_set(struct dcm_builder *b, const struct dcm_label *given, uint32_t n_given)
{
	struct tables *t = &b->t;
	struct dcm_label labels[LABELS_MAX];
	uint32_t n = 0;

	if (unlikely(b->code) || !passed(b, check__label_ids(t, given, n_given, &b->error)))
		return 0;
	for (uint32_t i = 0; i < n_given; i++)
		if (given[i].str || given[i].unit != DCM_NONE)
			labels[n++] = given[i];
	if (n == 0)
		return 0;
	qsort_r(labels, n, sizeof(labels[0]), by_label_name, t);
	uint64_t h = label_set_hash(b, labels, n);
	uint32_t row = find(b, IX_LABEL_SETS, h, label_set_is, &(struct labels_key){ labels, n });
	if (row != HINDEX_NONE)
		return row;
	for (uint32_t i = 0; i < n; i++)
		if (!passed(b, check__label_name(t, "label set", t->label_sets.n, labels[i].name,
						 i ? labels[i - 1].name : DCM_NONE, &b->error)))
			return 0;
	if (!ROOM(b, &t->label_sets, 1) || !ROOM_BOUNDED(b, &t->labels, n) ||
	    !enter(b, IX_LABEL_SETS, h, t->label_sets.n))
		return 0;
	t->label_sets.v[t->label_sets.n] = (struct dcm_span){ (uint32_t)t->labels.n, n };
	memcpy(&t->labels.v[t->labels.n], labels, n * sizeof(labels[0]));
	t->labels.n += n;
	return (uint32_t)t->label_sets.n++;
}

/* -------------------------------------------------------------------------------------------------
 * Profiles and rows
 */

/* The rows since the last profile began are its own. */
static void end_profile(struct tables *t)
{
	if (t->profiles.n == 0)
		return;
	struct dcm_profile *p = &t->profiles.v[t->profiles.n - 1];
	p->n_rows = (uint32_t)(t->row_stacks.n - p->row_off);
}

struct types_key {
	const struct dcm_type *types;
	uint32_t n;
};

static bool types_are(const struct tables *t, uint32_t row, const void *key)
{
	const struct types_key *k = key;
	const struct dcm_profile *p = &t->profiles.v[row];

	_Static_assert(sizeof(struct dcm_type) == 24,
		       "types have no holes and may be compared as bytes");
	return p->n_types == k->n &&
	       memcmp(&t->types.v[p->type_off], k->types, k->n * sizeof(*k->types)) == 0;
}

/*
 * Where these types, which were checked, stand in the table; a new profile is about to have them.
 */
static bool put_types(struct dcm_builder *b, const struct dcm_type *types, uint32_t n, uint32_t *ret_off)
{
	struct tables *t = &b->t;
	uint64_t h = hash__bytes(types, n * sizeof(*types), b->seed);
	uint32_t row = find(b, IX_TYPES, h, types_are, &(struct types_key){ types, n });

	if (row != HINDEX_NONE) {
		*ret_off = t->profiles.v[row].type_off;
		return true;
	}
	if (!ROOM_BOUNDED(b, &t->types, n) || !enter(b, IX_TYPES, h, t->profiles.n))
		return false;
	*ret_off = (uint32_t)t->types.n;
	memcpy(&t->types.v[t->types.n], types, n * sizeof(*types));
	t->types.n += n;
	return true;
}

uint32_t builder__profile(struct dcm_builder *b, const struct dcm_profile *head,
			  const struct dcm_type *types, uint32_t n_types)
{
	struct tables *t = &b->t;
	uint32_t type_off;

	if (unlikely(b->code))
		return 0;
	if (!passed(b, check__profile(t, head, types, n_types, &b->error)) ||
	    !ROOM_BOUNDED(b, &t->profiles, 1) || !put_types(b, types, n_types, &type_off))
		return 0;
	end_profile(t);
	t->profiles.v[t->profiles.n] = (struct dcm_profile){
		.series = head->series,
		.type_off = type_off,
		.n_types = n_types,
		.time_ns = head->time_ns,
		.duration_ns = head->duration_ns,
		.period = head->period,
		.row_off = t->row_stacks.n,
		.value_off = t->values.n,
	};
	b->n_types = n_types;
	return (uint32_t)t->profiles.n++;
}

void builder__row(struct dcm_builder *b, uint32_t stack, uint32_t label_set, const int64_t *values)
{
	struct tables *t = &b->t;
	uint32_t n_types = b->n_types;

	if (unlikely(b->code))
		return;
	if (unlikely(n_types == 0 || stack >= t->stacks.n || label_set >= t->label_sets.n)) {
		passed(b, check__row(t, stack, label_set, &b->error));
		return;
	}
	if (!ROOM_BOUNDED(b, &t->row_stacks, 1) || !ROOM(b, &t->row_labels, 1) ||
	    !ROOM(b, &t->values, n_types))
		return;
	t->row_stacks.v[t->row_stacks.n++] = stack;
	t->row_labels.v[t->row_labels.n++] = label_set;
	for (uint32_t i = 0; i < n_types; i++)
		t->values.v[t->values.n++] = values[i];
}

/* -------------------------------------------------------------------------------------------------
 * Sealing
 */

/* The columns of hashes. Their room counts against the limit as everything does. */
static void put_hashes(struct dcm_builder *b)
{
	struct tables *t = &b->t;
	struct dcm_batch view = { .size = sizeof(view) };

	if (!ROOM(b, &t->location_hashes, t->locations.n) ||
	    !ROOM(b, &t->stack_hashes, t->stacks.n) || !ROOM(b, &t->series_hashes, t->series.n))
		return;
	t->location_hashes.n = t->locations.n;
	t->stack_hashes.n = t->stacks.n;
	t->series_hashes.n = t->series.n;
	tables__show(t, &view);
	if (identity__compute(&view, t->location_hashes.v, t->stack_hashes.v, t->series_hashes.v) < 0)
		fail_nomem(b);
}

int builder__seal(struct dcm_builder *b, struct dcm_batch **ret_batch, struct dcm_error *err)
{
	struct sealed *s = NULL;

	if (!b->code) {
		end_profile(&b->t);
		s = NEW(struct sealed);
		if (s)
			put_hashes(b);
		else
			fail_nomem(b);
	}
	if (b->code) {
		int code = error__set(err, b->code, "%s", b->error.text);
		free(s);
		builder__reset(b);
		return code;
	}
	tables__trim(&b->t);
	s->tables = b->t;
	s->refs = 1;
	s->pub.size = sizeof(s->pub);
	s->pub.id = b->next_id;
	tables__show(&s->tables, &s->pub);
	s->pub.bytes = sizeof(*s) + tables__bytes(&s->tables);
	b->next_id.sequence++;
	start_anew(b);
	*ret_batch = &s->pub;
	return 0;
}
