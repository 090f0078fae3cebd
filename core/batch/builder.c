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
#include "core/base/mem.h"
#include "core/batch/builder_private.h"
#include "core/batch/identity.h"

#define MAX_BYTES_DEFAULT ((uint64_t)256 << 20)

/* -------------------------------------------------------------------------------------------------
 * Failing, and room within the limit
 */

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

bool builder__fail_nomem(struct dcm_builder *b)
{
	b->code = error__nomem(&b->error);
	return false;
}

bool builder__fail_full(struct dcm_builder *b)
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

uint64_t builder__bytes_left(const struct dcm_builder *b)
{
	uint64_t used = builder__bytes(b);

	return used < b->max_bytes ? b->max_bytes - used : 0;
}

/* Makes the column behind v and cap one of `want` elements; false when there is no memory. */
static bool resize(struct dcm_builder *b, void **v, size_t *cap, size_t want, size_t size)
{
	/*
	 * The caller's pointer is a `T *`: its bytes are copied, because reading it as `void *`
	 * breaks aliasing.
	 */
	void *p;
	memcpy(&p, v, sizeof(p));
	p = mem__resize(p, want, size);
	if (!p)
		return false;
	memcpy(v, &p, sizeof(p));
	b->bytes += (want - *cap) * size;
	*cap = want;
	return true;
}

bool builder__grow(struct dcm_builder *b, void **v, size_t *cap, size_t need, size_t size)
{
	size_t fits = *cap + builder__bytes_left(b) / size;
	size_t want = *cap + *cap / 2;
	want = want < 16 ? 16 : want;
	want = want < need ? need : want;
	want = want > fits ? fits : want;
	if (want < need)
		return builder__fail_full(b);
	return resize(b, v, cap, want, size) || builder__fail_nomem(b);
}

bool builder__fail_long(struct dcm_builder *b)
{
	builder__fail(b, -E2BIG, "batch: more than %zu entries in one table", ENTRIES_MAX);
	return false;
}
/* Enters the row that is about to be appended to a table of n. */
bool builder__enter(struct dcm_builder *b, enum index_of which, uint64_t h, size_t n)
{
	struct hindex *ix = &b->indexes[which];
	uint32_t cap = ix->cap;

	if (n >= ENTRIES_MAX)
		return builder__fail_long(b);
	/* It may double now: the limit comes before the allocation. */
	if ((uint64_t)(ix->n + 1) * 10 > (uint64_t)cap * 7 &&
	    (cap ? cap : 16) * sizeof(*ix->slots) > builder__bytes_left(b))
		return builder__fail_full(b);
	if (hindex__insert(ix, h, (uint32_t)n) < 0)
		return builder__fail_nomem(b);
	b->bytes += (ix->cap - cap) * sizeof(*ix->slots);
	return true;
}

/* What is expected gets room when it is cheap; without memory for it there is no fault yet. */
static bool is_cheap(const struct dcm_builder *b, uint64_t n, size_t size)
{
	return n <= ENTRIES_MAX && n * size <= builder__bytes_left(b) / 8;
}

static void expect_slots(struct dcm_builder *b, struct hindex *ix, uint64_t n)
{
	uint64_t before = ix->cap;

	/* A table is at most 70 % full, and its size a power of two: up to three slots a row. */
	if (!is_cheap(b, n, 3 * sizeof(*ix->slots)))
		return;
	hindex__reserve(ix, (uint32_t)n);
	if (ix != &b->t.strings.index)
		b->bytes += (ix->cap - before) * sizeof(*ix->slots);
}

static void expect_room(struct dcm_builder *b, void **v, size_t *cap, uint64_t n, size_t size)
{
	if (n > *cap && is_cheap(b, n, size))
		resize(b, v, cap, (size_t)n, size);
}
#define EXPECT_ROOM(b, column, more)                                                               \
	expect_room(b, (void **)&(column)->v, &(column)->cap, (column)->n + (more),                \
		    sizeof(*(column)->v))

void builder__expect(struct dcm_builder *b, const struct builder_sizes *sizes)
{
	struct tables *t = &b->t;

	if (b->code)
		return;
	expect_slots(b, &t->strings.index, t->strings.n + sizes->strings);
	expect_slots(b, &b->indexes[IX_FUNCTIONS], t->functions.n + sizes->functions);
	expect_slots(b, &b->indexes[IX_LOCATIONS], t->locations.n + sizes->locations);
	expect_slots(b, &b->indexes[IX_STACKS], t->stacks.n + sizes->stacks);
	EXPECT_ROOM(b, &t->functions, sizes->functions);
	EXPECT_ROOM(b, &t->locations, sizes->locations);
	EXPECT_ROOM(b, &t->stacks, sizes->stacks);
	EXPECT_ROOM(b, &t->stack_locations, sizes->stack_locations);
	EXPECT_ROOM(b, &t->row_stacks, sizes->rows);
	EXPECT_ROOM(b, &t->row_labels, sizes->rows);
	EXPECT_ROOM(b, &t->values, sizes->values);
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
	b->waiting = (struct waiting_stacks){ 0 };
	b->code = 0;
	b->n_types = 0;
	b->leaves_hashes = false;
	/* When there is no memory now, the next seal says so. */
	if (intern__init(&b->t.strings) < 0)
		builder__fail_nomem(b);
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
 * Keeping what was added for profiles that come later
 */

void builder__view(struct dcm_builder *b, struct dcm_batch *ret)
{
	builder__end_profile(b);
	*ret = (struct dcm_batch){ .size = sizeof(*ret), .id = b->next_id };
	tables__show(&b->t, ret);
}

void builder__drop_profiles(struct dcm_builder *b)
{
	struct tables *t = &b->t;

	t->profiles.n = t->types.n = t->row_stacks.n = t->row_labels.n = t->values.n = 0;
	hindex__clear(&b->indexes[IX_TYPES]);
	b->n_types = 0;
}

/* -------------------------------------------------------------------------------------------------
 * Sealing
 */

void builder__leave_hashes(struct dcm_builder *b)
{
	b->leaves_hashes = true;
}

void builder__end_profile(struct dcm_builder *b)
{
	struct tables *t = &b->t;

	if (t->profiles.n == 0)
		return;
	struct dcm_profile *p = &t->profiles.v[t->profiles.n - 1];
	p->n_rows = (uint32_t)(t->row_stacks.n - p->row_off);
}

/* The columns of hashes. Their room counts against the limit as everything does. */
static void put_hashes(struct dcm_builder *b)
{
	struct tables *t = &b->t;
	struct dcm_batch view = { .size = sizeof(view) };

	if (!ROOM(b, &t->location_hashes, t->locations.n) || !ROOM(b, &t->series_hashes, t->series.n))
		return;
	t->location_hashes.n = t->locations.n;
	t->series_hashes.n = t->series.n;
	tables__show(t, &view);
	if (identity__compute(&view, t->location_hashes.v, t->series_hashes.v) < 0)
		builder__fail_nomem(b);
}

int builder__seal(struct dcm_builder *b, struct dcm_batch **ret_batch, struct dcm_error *err)
{
	struct sealed *s = NULL;

	if (!b->code) {
		builder__end_profile(b);
		s = NEW(struct sealed);
		if (!s)
			builder__fail_nomem(b);
		else if (!b->leaves_hashes)
			put_hashes(b);
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
