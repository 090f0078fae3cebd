/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/block_piece.c - what questions ask of pieces, asked of chunks
 *
 * A reader keeps what it decoded of the chunk at hand: columns, stacks and label sets are read once
 * however many types and questions look at them.
 */
#include "plugins/storage/local/block_piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/storage/local/block_file.h"
#include "plugins/storage/local/pfor.h"
#include "plugins/storage/local/squeeze.h"

_Static_assert((int)PIECE_ROWS_MAX >= (int)PFOR_PAGE, "a page of rows is given out at once");
struct reader {
	const struct block *block; /* NULL: none */
	uint32_t at;
	struct chunk chunk; /* with these copies, which stay when what is mapped is lost */
	struct chunk_entry entry;
	struct chunk_type types[CHUNK_MAX_TYPES];
	struct chunk_profiles profiles;
	unsigned have_profiles; /* enum chunk_want */
	unsigned have_numbers;	/* enum piece_kind */
	VEC(uint32_t) stacks, label_sets;
	struct chunk_cursor *cursor;
	int64_t values[PFOR_PAGE];
	uint32_t ids[PFOR_PAGE]; /* that have `values`, of sums */
	VEC(int64_t) by_rank;	 /* sums; */
	VEC(uint32_t) narrow;	 /* or these */
	struct chunk_sums sums;
};

/*
 * Sums by slot and rank that are kept at once, and how many of them a row makes up for: beyond,
 * rows are not slower.
 */
enum { SUMS_MAX = 1 << 20, SUMS_OF_ROW = 8 };

static void *reader_new(void)
{
	struct reader *r = NEW(struct reader);

	if (r)
		r->cursor = chunk_cursor__new();
	if (r && !r->cursor) {
		free(r);
		return NULL;
	}
	return r;
}

static void reader_free(void *reader)
{
	struct reader *r = reader;

	if (!r)
		return;
	chunk_profiles__fini(&r->profiles);
	chunk_cursor__free(r->cursor);
	vec__fini(&r->stacks);
	vec__fini(&r->label_sets);
	vec__fini(&r->by_rank);
	vec__fini(&r->narrow);
	free(r);
}

static int open_chunk(struct reader *r, const struct piece *p)
{
	if (r->block == p->of && r->at == p->at)
		return 0;
	const struct block *b = p->of;

	r->block = NULL;
	r->have_profiles = r->have_numbers = 0;
	r->entry = b->chunks[p->at];
	int e = block__chunk_of(b, &r->entry, &r->chunk);
	if (e < 0)
		return e;
	if (r->entry.n_profiles != p->n_profiles || p->which >= r->entry.n_types)
		return -EBADMSG;
	memcpy(r->types, r->chunk.types, r->entry.n_types * sizeof(r->types[0]));
	r->chunk.types = r->types;
	r->block = b;
	r->at = p->at;
	return 0;
}

static uint64_t n_lost_of(const struct piece *p)
{
	const struct block *b = p->of;

	return b->vfs ? vfs__n_lost(b->vfs) : 0;
}

/*
 * What was read is no answer when it was lost after its checksum was looked at: it reads as zeroes
 * then. `n_lost` is from before; `e` what reading has returned.
 */
static int confirm(struct reader *r, const struct piece *p, uint64_t n_lost, int e)
{
	if (e < 0 || n_lost_of(p) == n_lost)
		return e;
	const int damage = block__verify_chunk(p->of, p->at);
	if (damage == 0)
		return e;
	r->block = NULL;
	return damage;
}

/* -------------------------------------------------------------------------------------------------
 * Columns
 */

static int load_profiles(struct reader *r, unsigned want)
{
	int e = 0;

	if (want & ~r->have_profiles) {
		want |= r->have_profiles;
		r->have_profiles = 0;
		e = chunk__profiles(&r->chunk, want, &r->profiles);
		if (e == 0)
			r->have_profiles = want;
	}
	return e;
}

static unsigned columns_of(unsigned want, uint32_t which)
{
	return (want & PIECE_WANT_TOTALS ? 1u << which : 0) |
	       (want & PIECE_WANT_ROWS ? (unsigned)CHUNK_WANT_ROWS : 0) |
	       (want & PIECE_WANT_SPANS ? (unsigned)CHUNK_WANT_SPANS : 0) |
	       (want & PIECE_WANT_TIMES ? (unsigned)CHUNK_WANT_TIMES : 0);
}

static int profiles(void *reader, const struct piece *p, unsigned want, struct piece_profiles *ret)
{
	struct reader *r = reader;
	const uint64_t n_lost = n_lost_of(p);
	int e = open_chunk(r, p);

	if (e == 0)
		e = load_profiles(r, columns_of(want, p->which));
	e = confirm(r, p, n_lost, e);
	if (e < 0)
		return e;
	*ret = (struct piece_profiles){ .n = r->profiles.n };
	if (want & PIECE_WANT_TIMES)
		ret->time_ms = r->profiles.time_ms;
	if (want & PIECE_WANT_TOTALS && !(r->chunk.types[p->which].flags & CHUNK_WIDE)) {
		ret->before = r->profiles.before[p->which];
		ret->unit = r->chunk.types[p->which].unit;
	}
	if (want & (PIECE_WANT_ROWS | PIECE_WANT_SPANS))
		ret->n_rows = r->profiles.n_rows;
	if (want & PIECE_WANT_SPANS) {
		ret->duration_ns = r->profiles.duration_ns;
		ret->period = r->profiles.period;
	}
	return 0;
}

/* Without a column of label sets all rows have the empty one. */
static const uint32_t no_label_set[1];

static int load_numbers(struct reader *r, unsigned want)
{
	const struct chunk_entry *e = r->chunk.entry;
	const bool label_sets = want & PIECE_LABEL_SETS && e->flags & CHUNK_LABELS;

	if (!(want & ~r->have_numbers))
		return 0;
	if (!vec__reserve(&r->stacks, e->n_stacks + (size_t)1) ||
	    !vec__reserve(&r->label_sets, e->n_label_sets + (size_t)1))
		return -ENOMEM;
	int err = want & PIECE_STACKS || label_sets
			  ? chunk__stacks(&r->chunk, want & PIECE_STACKS ? r->stacks.v : NULL,
					  label_sets ? r->label_sets.v : NULL)
			  : 0;
	if (err == 0)
		r->have_numbers |= want;
	return err;
}

static int numbers(void *reader, const struct piece *p, unsigned want, struct piece_numbers *ret)
{
	struct reader *r = reader;
	const uint64_t n_lost = n_lost_of(p);
	int e = open_chunk(r, p);

	if (e == 0)
		e = load_numbers(r, want);
	e = confirm(r, p, n_lost, e);
	if (e < 0)
		return e;
	const bool has_labels = r->chunk.entry->flags & CHUNK_LABELS;
	*ret = (struct piece_numbers){ 0 };
	if (want & PIECE_STACKS) {
		ret->stacks = r->stacks.v;
		ret->n_stacks = r->chunk.entry->n_stacks;
	}
	if (want & PIECE_LABEL_SETS) {
		ret->label_sets = has_labels ? r->label_sets.v : no_label_set;
		ret->n_label_sets = has_labels ? r->chunk.entry->n_label_sets : 1;
	}
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Sums and rows
 */

/* The chunk's rollup as it is. */
static int give_rollup(struct reader *r, unsigned type, piece_sums_fn fn, void *ctx)
{
	struct piece_sums out = { .stacks = r->sums.ids, .values = r->sums.values };
	int e = chunk_sums__begin(&r->sums, &r->chunk, type);

	while (e == 0 && (e = chunk_sums__next(&r->sums)) > 0) {
		out.n = (uint32_t)e;
		e = fn(ctx, &out);
	}
	return e;
}

/*
 * Rows are added up by rank; what that is called comes from the stacks, which were begun, page by
 * page.
 */
static int give_by_rank(struct reader *r, uint32_t n_slots, piece_sums_fn fn, void *ctx)
{
	const size_t n_stacks = r->chunk.entry->n_stacks;
	struct piece_sums out = { .stacks = r->ids, .values = r->values };
	size_t rank = 0;
	int e = 0;

	while (e == 0 && (e = chunk_sums__next(&r->sums)) > 0) {
		const uint32_t n = (uint32_t)e;

		for (out.slot = 0, e = 0; e == 0 && out.slot < n_slots; out.slot++) {
			const int64_t *values = r->by_rank.v + out.slot * n_stacks + rank;

			out.n = squeeze__zeroes(r->sums.ids, values, n, r->ids, r->values);
			e = out.n ? fn(ctx, &out) : 0;
		}
		rank += n;
	}
	return e;
}

/* The same of one slot, in units of the type. */
static int give_narrow(struct reader *r, uint64_t unit, piece_sums_fn fn, void *ctx)
{
	struct piece_sums out = { .stacks = r->ids, .values = r->values };
	size_t rank = 0;
	int e = 0;

	while (e == 0 && (e = chunk_sums__next(&r->sums)) > 0) {
		const uint32_t n = (uint32_t)e;

		out.n = squeeze__narrow(r->sums.ids, r->narrow.v + rank, n, unit, r->ids, r->values);
		e = out.n ? fn(ctx, &out) : 0;
		rank += n;
	}
	return e;
}

/*
 * Whether n sums are too many for the rows of the span, which has about its share of the piece's.
 */
static bool too_many(const struct piece *p, const struct piece_span *s, size_t n)
{
	return (s->slots && n > SUMS_MAX) || n / SUMS_OF_ROW > p->n_rows * s->n / p->n_profiles;
}

static int sum_wide(struct reader *r, const struct chunk_span *span, uint32_t n_slots, size_t n,
		    piece_sums_fn fn, void *ctx)
{
	if (!vec__reserve(&r->by_rank, n + 1))
		return -ENOMEM;
	memset(r->by_rank.v, 0, n * sizeof(r->by_rank.v[0]));
	const int e = chunk__sum_rows(r->cursor, span, r->by_rank.v);
	return e < 0 ? e : give_by_rank(r, n_slots, fn, ctx);
}

static int sum_narrow(struct reader *r, const struct chunk_span *span, size_t n, piece_sums_fn fn,
		      void *ctx)
{
	if (!vec__reserve(&r->narrow, n + 1))
		return -ENOMEM;
	memset(r->narrow.v, 0, n * sizeof(r->narrow.v[0]));
	const int e = chunk__sum_narrow(r->cursor, span, r->narrow.v);
	return e < 0 ? e : give_narrow(r, r->chunk.types[span->type].unit, fn, ctx);
}

static int sums(void *reader, const struct piece *p, const struct piece_span *s, piece_sums_fn fn,
		void *ctx)
{
	struct reader *r = reader;
	const uint64_t n_lost = n_lost_of(p);
	int e = open_chunk(r, p);

	if (e < 0)
		return e;
	const struct chunk_type *type = &r->chunk.types[p->which];
	const uint32_t n_slots = s->slots ? s->n_slots : 1;
	const size_t n = (size_t)r->chunk.entry->n_stacks * (s->slots ? n_slots + 1 : 1);
	const struct chunk_span span = { .chunk = &r->chunk,
					 .profiles = &r->profiles,
					 .first = s->first,
					 .n = s->n,
					 .type = p->which,
					 .slots = s->slots,
					 .seen = s->seen };

	if (type->flags & CHUNK_WIDE)
		return -ENOTSUP;
	if (!s->slots && s->n == p->n_profiles)
		return confirm(r, p, n_lost, give_rollup(r, p->which, fn, ctx));
	if (too_many(p, s, n))
		return -ENOTSUP;
	e = chunk_ids__begin(&r->sums, &r->chunk);
	if (e == 0)
		e = load_profiles(r, CHUNK_WANT_ROWS);
	if (e < 0)
		return e;
	e = !s->slots && chunk__is_narrow(type) ? sum_narrow(r, &span, n, fn, ctx)
						: sum_wide(r, &span, n_slots, n, fn, ctx);
	return confirm(r, p, n_lost, e);
}

/* A place in the pages of a chunk. */
struct place {
	struct reader *reader;
	unsigned type;
	struct chunk_page page;
	uint32_t at; /* in the page */
};

static int next_page(struct place *pl)
{
	struct reader *r = pl->reader;
	int e = chunk_cursor__next(r->cursor, &pl->page);

	if (e <= 0)
		return e < 0 ? e : -EBADMSG;
	const struct chunk_type t = r->chunk.types[pl->type];
	for (uint32_t i = 0; i < pl->page.n; i++)
		r->values[i] = chunk__value(&t, pl->page.values[pl->type][i]);
	pl->at = 0;
	return 0;
}

/* To the profile's first row. */
static int seek(struct place *pl, uint32_t first)
{
	struct reader *r = pl->reader;
	uint64_t row = 0;

	for (uint32_t i = 0; i < first; i++)
		row += r->profiles.n_rows[i];
	pl->page.n = pl->at = 0;
	if (row >= r->chunk.entry->n_rows)
		return 0; /* only profiles without rows follow */
	int e = chunk_cursor__begin(r->cursor, &r->chunk, row, true, 1u << pl->type);
	if (e == 0)
		e = next_page(pl);
	pl->at = (uint32_t)(row % PFOR_PAGE);
	return e;
}

static int give_profile(struct place *pl, uint32_t at, piece_rows_fn fn, void *ctx)
{
	struct piece_rows rows = { .profile = at, .begins = true };
	uint32_t left = pl->reader->profiles.n_rows[at];
	int r = left ? 0 : fn(ctx, &rows);

	while (r == 0 && left) {
		if (pl->at == pl->page.n && (r = next_page(pl)) < 0)
			return r;
		rows.n = pl->page.n - pl->at < left ? pl->page.n - pl->at : left;
		rows.stacks = pl->page.ranks + pl->at;
		rows.labels = pl->page.labels ? pl->page.labels + pl->at : NULL;
		rows.values = pl->reader->values + pl->at;
		r = fn(ctx, &rows);
		rows.begins = false;
		pl->at += rows.n;
		left -= rows.n;
	}
	return r;
}

static int rows(void *reader, const struct piece *p, uint32_t first, uint32_t n, piece_rows_fn fn,
		void *ctx)
{
	struct place pl = { .reader = reader, .type = p->which };
	const uint64_t n_lost = n_lost_of(p);
	int r = open_chunk(reader, p);

	if (r == 0)
		r = load_profiles(reader, CHUNK_WANT_ROWS);
	if (r == 0)
		r = seek(&pl, first);
	for (uint32_t i = first; r == 0 && i < first + n; i++)
		r = give_profile(&pl, i, fn, ctx);
	return confirm(reader, p, n_lost, r);
}

static const struct piece_ops ops = {
	.reader_new = reader_new,
	.reader_free = reader_free,
	.profiles = profiles,
	.numbers = numbers,
	.rows = rows,
	.sums = sums,
};

/* -------------------------------------------------------------------------------------------------
 * Adding
 */

const struct block *block_piece__block(const struct piece *p)
{
	return p->ops == &ops ? p->of : NULL;
}

static void leave_out(struct view *v, const struct piece *p)
{
	if (v->unreadable)
		v->unreadable(v->ctx, p, -EBADMSG);
}

/* One type of a chunk, to each selection that wants it. */
static int add_type(struct view *v, const struct chunk *c, struct view_place *place, struct piece *p)
{
	int r = 0;

	place->type = c->types[p->which].type;
	for (uint32_t k = 0; r == 0 && k < v->n_sel; k++) {
		r = view__wants(v, k, place, p->first_ms, p->last_ms);
		if (r == 1)
			r = view__add(v, k, place, p);
	}
	if (r != -EBADMSG)
		return r;
	leave_out(v, p);
	return 0;
}

/* Moves on to a chunk whose series may be wanted: by one, or by halves when it is far. */
static int skip_unwanted(struct view *v, const struct block_pieces *from, uint64_t *at)
{
	const struct block *b = from->block;
	uint32_t next;

	while (*at < b->info.n_chunks) {
		const uint32_t series = b->chunks[*at].series;
		const int r = view__next_series(v, from->era, series, &next);

		if (r < 0 || next == series)
			return r;
		if (++*at < b->info.n_chunks && b->chunks[*at].series < next) {
			const uint64_t found = block__find(b, next);

			*at = found > *at ? found : *at;
		}
	}
	return 0;
}

static int add_chunk(struct view *v, const struct block_pieces *from, uint64_t at)
{
	const struct block *b = from->block;
	const struct chunk_entry *e = &b->chunks[at];
	struct view_place place = { .era = from->era, .series = e->series };
	struct piece p = {
		.ops = &ops,
		.of = (void *)(uintptr_t)b,
		.at = (uint32_t)at,
		.n_profiles = e->n_profiles,
		.n_rows = e->n_rows,
		.first_ms = e->first_ms,
		.last_ms = e->last_ms,
		.same_spans = !(e->flags & (CHUNK_DURATIONS | CHUNK_PERIODS)),
		.duration_ns = e->duration_ns,
		.period = e->period,
		.first_filter = from->first_filter,
	};
	struct chunk c;
	int r = 0;

	if (block__chunk(b, at, &c) < 0) {
		leave_out(v, &p);
		return 0;
	}
	for (p.which = 0; r == 0 && p.which < e->n_types; p.which++)
		r = add_type(v, &c, &place, &p);
	return r;
}

int block_piece__add_all(struct view *v, const struct block_pieces *from)
{
	uint64_t at = 0;
	int r = skip_unwanted(v, from, &at);

	while (r == 0 && at < from->block->info.n_chunks) {
		r = add_chunk(v, from, at++);
		if (r == 0)
			r = skip_unwanted(v, from, &at);
	}
	return r;
}
