/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/walk_spans.c - which profiles of a stream count, and in which order
 *
 * Delta profiles all count: a piece is one span. Of states (gauges, cumulative types) at one time
 * only the one written last is there, so all times of all pieces are put in order, and the spans
 * are what is left of them in one run.
 */
#include <errno.h>
#include <stdlib.h>

#include "plugins/storage/answer/walk_parts.h"

/* A profile's place in time. */
struct moment {
	int64_t time_ms;
	uint32_t piece, profile; /* pieces ascend as they were written */
};

struct timeline {
	VEC(struct moment) v;
	bool sorted;
};

/* The first of n times that is not before. */
static uint32_t first_from(const int64_t *time_ms, uint32_t n, int64_t from_ms)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (time_ms[middle] < from_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int times_of(struct walk *w, struct view_piece *p, struct piece_profiles *ret)
{
	void *reader = walk__reader(w, p->piece.ops);
	const unsigned want = w->user->columns | (p->piece.same_spans ? 0 : (unsigned)PIECE_WANT_SPANS);
	int r = reader ? p->piece.ops->profiles(reader, &p->piece, want, ret) : -ENOMEM;

	if (r == -EBADMSG)
		view__leave_out(w->view, p, r);
	return r;
}

/* Profiles of [from, to) that a piece holds. */
static int add_piece(struct walk *w, uint32_t at)
{
	const struct dcm_select *sel = w->match->sel;
	struct view_piece *p = &w->view->pieces.v[at];
	struct walk_span s = { .piece = at, .n = p->piece.n_profiles };
	struct piece_profiles times;

	if (p->piece.last_ms < sel->from_ms || p->piece.first_ms >= sel->to_ms)
		return 0;
	if (p->piece.first_ms < sel->from_ms || p->piece.last_ms >= sel->to_ms) {
		int r = times_of(w, p, &times);

		if (r < 0)
			return r;
		s.first = first_from(times.time_ms, times.n, sel->from_ms);
		s.n = first_from(times.time_ms, times.n, sel->to_ms) - s.first;
	}
	return s.n == 0 || vec__push(&w->spans, s) ? 0 : -ENOMEM;
}

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	if (x->piece != y->piece)
		return x->piece < y->piece ? -1 : 1;
	return x->profile < y->profile ? -1 : x->profile > y->profile;
}

static int add_moments(struct walk *w, struct timeline *t, uint32_t at, int64_t from_ms)
{
	struct view_piece *p = &w->view->pieces.v[at];
	struct piece_profiles times;
	int r = times_of(w, p, &times);

	if (r < 0)
		return r;
	const uint32_t first = first_from(times.time_ms, times.n, from_ms);
	const uint32_t end = first_from(times.time_ms, times.n, w->match->sel->to_ms);
	if (!vec__reserve(&t->v, end > first ? end - first : 0))
		return -ENOMEM;
	for (uint32_t i = first; i < end; i++) {
		const struct moment m = { times.time_ms[i], at, i };

		t->sorted = t->sorted && (!t->v.n || compare_moments(&t->v.v[t->v.n - 1], &m) < 0);
		t->v.v[t->v.n++] = m;
	}
	return 0;
}

/*
 * Of the pieces that end before the range, the one that may hold the profile before it: the one
 * that ends last. Removed rows may leave nothing of that profile, so then all do.
 */
static bool may_be_before(const struct walk *w, uint32_t at)
{
	const struct view_stream *st = w->stream;
	const struct piece *p = &w->view->pieces.v[at].piece;

	for (uint32_t i = 0; i < w->view->filters.n; i++)
		if (w->filters[i].on)
			return true;
	for (uint32_t i = st->first; i < st->first + st->n; i++) {
		const struct piece *other = &w->view->pieces.v[i].piece;

		if (i == at || w->view->pieces.v[i].left_out || other->last_ms >= w->match->sel->from_ms)
			continue;
		if (other->last_ms > p->last_ms || (other->last_ms == p->last_ms && i > at))
			return false;
	}
	return true;
}

static int add_states(struct walk *w, struct timeline *t)
{
	const struct view_stream *st = w->stream;
	const int64_t from_ms = w->match->sel->from_ms;
	int r = 0;

	for (uint32_t i = st->first; r == 0 && i < st->first + st->n; i++) {
		const struct view_piece *p = &w->view->pieces.v[i];

		if (p->left_out || p->piece.first_ms >= w->match->sel->to_ms)
			continue;
		if (p->piece.last_ms < from_ms && !(w->increases && may_be_before(w, i)))
			continue;
		r = add_moments(w, t, i, w->increases ? INT64_MIN : from_ms);
	}
	return r;
}

/*
 * Keeps, of equal times, the last; then, of those before the range, what the user of increases
 * needs.
 */
static void drop_moments(struct walk *w, struct timeline *t)
{
	bool filters = false;
	size_t n = 0, n_before = 0;

	for (size_t i = 0; i < t->v.n; i++) {
		if (i + 1 < t->v.n && t->v.v[i + 1].time_ms == t->v.v[i].time_ms)
			continue;
		n_before += t->v.v[i].time_ms < w->match->sel->from_ms;
		t->v.v[n++] = t->v.v[i];
	}
	for (uint32_t i = 0; i < w->view->filters.n; i++)
		filters |= w->filters[i].on;
	const size_t drop = n_before > 1 && !filters ? n_before - 1 : 0;
	for (size_t i = drop; i < n; i++)
		t->v.v[i - drop] = t->v.v[i];
	t->v.n = n - drop;
	w->n_before = (uint32_t)(n_before - drop);
}

static int make_spans(struct walk *w, const struct timeline *t)
{
	for (size_t i = 0; i < t->v.n; i++) {
		const struct moment *m = &t->v.v[i];
		struct walk_span *last = w->spans.n ? &w->spans.v[w->spans.n - 1] : NULL;

		if (last && last->piece == m->piece && last->first + last->n == m->profile)
			last->n++;
		else if (!vec__push(&w->spans, (struct walk_span){ m->piece, m->profile, 1 }))
			return -ENOMEM;
	}
	return 0;
}

int walk__find_spans(struct walk *w)
{
	const struct view_stream *st = w->stream;
	struct timeline t = { .sorted = true };
	int r = 0;

	w->spans.n = 0;
	w->n_before = 0;
	for (uint32_t i = st->first; r == 0 && st->temporality == DCM_DELTA && i < st->first + st->n; i++)
		if (!w->view->pieces.v[i].left_out)
			r = add_piece(w, i);
	if (st->temporality == DCM_DELTA)
		return r;
	r = add_states(w, &t);
	if (r == 0 && !t.sorted)
		qsort(t.v.v, t.v.n, sizeof(t.v.v[0]), compare_moments);
	if (r == 0) {
		drop_moments(w, &t);
		r = make_spans(w, &t);
	}
	vec__fini(&t.v);
	return r;
}
