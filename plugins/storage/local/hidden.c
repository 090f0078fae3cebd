/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/hidden.c - states that are still in a block, and are not there any more
 */
#include "plugins/storage/local/hidden.h"

#include <errno.h>
#include <stdlib.h>

#include "plugins/storage/local/block_piece.h"

/* A profile of a stream of which pieces overlap. */
struct candidate {
	struct hidden_profile profile;
	size_t order; /* as they were written */
};

struct candidates {
	VEC(struct candidate) v;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->profile.time_ms != y->profile.time_ms)
		return x->profile.time_ms < y->profile.time_ms ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_hidden(const void *a, const void *b)
{
	const struct hidden_profile *x = a, *y = b;

	if (x->block != y->block)
		return (uintptr_t)x->block < (uintptr_t)y->block ? -1 : 1;
	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->time_ms < y->time_ms ? -1 : x->time_ms > y->time_ms;
}

static int add_piece(struct candidates *c, struct view *v, const struct view_piece *p)
{
	void *reader = view__reader(v, p->piece.ops);
	struct piece_profiles columns;
	int r = reader ? p->piece.ops->profiles(reader, &p->piece,
						PIECE_WANT_TIMES | PIECE_WANT_ROWS, &columns)
		       : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < columns.n; i++) {
		struct candidate next = {
			.profile = { .block = block_piece__block(&p->piece),
				     .series = p->place.series,
				     .type = p->place.type,
				     .time_ms = columns.time_ms[i],
				     .n_rows = columns.n_rows[i] },
			.order = c->v.n,
		};

		if (!vec__push(&c->v, next))
			return -ENOMEM;
	}
	return r == -ENOMEM ? r : 0;
}

/* One piece may hide in itself: a compacted block keeps all that went in. */
static bool may_hide(const struct view *v, const struct view_stream *st)
{
	const struct view_piece *pieces = &v->pieces.v[st->first];

	if (st->temporality == DCM_DELTA)
		return false;
	for (uint32_t i = 0; i < st->n; i++) {
		if (block_piece__block(&pieces[i].piece) &&
		    block_piece__block(&pieces[i].piece)->info.level)
			return true;
		for (uint32_t k = 0; k < i; k++)
			if (pieces[k].piece.last_ms >= pieces[i].piece.first_ms &&
			    pieces[k].piece.first_ms <= pieces[i].piece.last_ms)
				return true;
	}
	return false;
}

static int find_in_stream(struct hidden *h, struct candidates *c, struct view *v,
			  const struct view_stream *st)
{
	int r = 0;

	c->v.n = 0;
	for (uint32_t i = 0; r == 0 && i < st->n; i++)
		r = add_piece(c, v, &v->pieces.v[st->first + i]);
	if (c->v.n)
		qsort(c->v.v, c->v.n, sizeof(c->v.v[0]), compare_candidates);
	for (size_t i = 1; r == 0 && i < c->v.n; i++)
		if (c->v.v[i - 1].profile.time_ms == c->v.v[i].profile.time_ms &&
		    !vec__push(&h->v, c->v.v[i - 1].profile))
			r = -ENOMEM;
	return r;
}

int hidden__find(struct hidden *h, struct view *v)
{
	struct candidates c = { .v = { 0 } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->streams.n; i++)
		if (may_hide(v, &v->streams.v[i]))
			r = find_in_stream(h, &c, v, &v->streams.v[i]);
	vec__fini(&c.v);
	if (h->v.n)
		qsort(h->v.v, h->v.n, sizeof(h->v.v[0]), compare_hidden);
	return r;
}

void hidden__fini(struct hidden *h)
{
	vec__fini(&h->v);
}

bool hidden__take(struct hidden *h, const struct hidden_profile *like)
{
	size_t low = 0, high = h->v.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_hidden(&h->v.v[middle], like) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < h->v.n && compare_hidden(&h->v.v[low], like) == 0; low++)
		if (!h->v.v[low].taken)
			return h->v.v[low].taken = true;
	return false;
}
