/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/thin.c - profiles, and copies of them without the rows that go
 */
#include "plugins/storage/answer/thin.h"

#include <errno.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "plugins/storage/answer/stream_piece.h"

void thin__fini(struct thin *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		profile__unref(t->v.v[i].left);
	vec__fini(&t->v);
}

/* Is the row taken? 1, 0, or -ENOMEM. `set` is the era's. */
static int is_taken(struct match *m, const struct view_place *place, uint32_t set)
{
	const uint32_t here = view__label_set((struct view *)m->view, place->era, set);
	uint32_t group;

	if (here == DCM_NONE || match__row(m, here, &group) < 0)
		return -ENOMEM;
	return group != MATCH_NONE;
}

/* *ret_n: rows that match; of a profile without rows 1 when it matches. */
static int count_matches(struct match *m, const struct view_place *place, const struct profile *p,
			 uint32_t *ret_n)
{
	uint32_t n = 0;
	int r = p->n_rows ? 0 : is_taken(m, place, 0);

	n += r > 0;
	for (uint32_t i = 0; r >= 0 && i < p->n_rows; i++) {
		r = is_taken(m, place, profile__row(p, i).labels);
		n += r > 0;
	}
	*ret_n = n;
	return r < 0 ? r : 0;
}

static struct profile *without_matches(struct match *m, const struct view_place *place,
				       const struct profile *p, uint32_t n_left)
{
	CLEANUP(mem__freep) struct row *left = mem__resize(NULL, n_left, sizeof(*left));
	const struct profile_head head = { p->time_ms, p->duration_ns, p->period };
	uint32_t n = 0;

	if (!left)
		return NULL;
	/* Every label set was judged by count_matches(), so this cannot fail. */
	for (uint32_t i = 0; i < p->n_rows && n < n_left; i++) {
		const struct row row = profile__row(p, i);

		if (is_taken(m, place, row.labels) == 0)
			left[n++] = row;
	}
	return profile__new(&head, left, n);
}

static int add_change(struct thin *t, const struct thin_change *c)
{
	if (vec__push(&t->v, *c))
		return 0;
	profile__unref(c->left);
	return -ENOMEM;
}

static int find_change(struct thin *t, struct match *m, const struct view_place *place,
		       const struct profile *p)
{
	struct thin_change change = { .place = *place, .old = p };
	uint32_t n = 0;
	int r = count_matches(m, place, p, &n);

	if (r < 0 || n == 0)
		return r;
	if (n < p->n_rows && !(change.left = without_matches(m, place, p, p->n_rows - n)))
		return -ENOMEM;
	return add_change(t, &change);
}

static bool holds(const struct stream_piece *of, int64_t time_ms)
{
	uint32_t low = 0, high = of->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (of->v[middle]->time_ms < time_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low < of->n && of->v[low]->time_ms == time_ms;
}

/* Has a later piece of the stream a state of that time? */
static bool is_replaced(const struct view *v, const struct view_stream *st, uint32_t piece, int64_t time_ms)
{
	for (uint32_t i = piece + 1; st->temporality != DCM_DELTA && i < st->n; i++) {
		const struct stream_piece *of = stream_piece__of(&v->pieces.v[st->first + i].piece);

		if (of && holds(of, time_ms))
			return true;
	}
	return false;
}

static int thin_stream(struct thin *t, struct match *m, const struct view_stream *st, struct meter *meter)
{
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < st->n; k++) {
		const struct view_piece *piece = &m->view->pieces.v[st->first + k];
		const struct stream_piece *of = stream_piece__of(&piece->piece);

		for (uint32_t i = 0; r == 0 && of && i < of->n; i++) {
			const struct profile *p = of->v[i];
			const struct thin_change gone = { .place = piece->place, .old = p };

			r = meter__rows(meter, p->n_rows);
			/* A piece may begin with the profile before the range. */
			if (r || p->time_ms < m->sel->from_ms || p->time_ms >= m->sel->to_ms)
				continue;
			r = is_replaced(m->view, st, k, p->time_ms)
				    ? add_change(t, &gone)
				    : find_change(t, m, &piece->place, p);
		}
	}
	return r;
}

int thin__view(struct thin *t, struct match *m, struct meter *meter)
{
	const struct view *v = m->view;
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->streams.n; i++) {
		r = match__stream(m, v->streams.v[i].series);
		if (r == 1)
			r = thin_stream(t, m, &v->streams.v[i], meter);
	}
	return r;
}

bool thin__put(struct thin_change *c, struct streams *s)
{
	const uint32_t stream = streams__find(s, c->place.series, c->place.type);
	const ptrdiff_t at = stream == DCM_NONE ? -1 : stream__find(&s->v[stream], c->old);

	if (at < 0)
		return false;
	streams__replace(s, stream, (size_t)at, take_ptr(c->left));
	return true;
}
