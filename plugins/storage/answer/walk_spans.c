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
	const unsigned want = PIECE_WANT_TIMES | w->user->columns |
			      (p->piece.same_spans ? 0 : (unsigned)PIECE_WANT_SPANS);
	int r = reader ? p->piece.ops->profiles(reader, &p->piece, want, ret) : -ENOMEM;

	if (r == -EBADMSG)
		view__leave_out(w->view, p, r);
	return r;
}

/* What is damaged ends nothing: all of it is to be found. */
static int note_damage(int r, bool *damaged)
{
	*damaged |= r == -EBADMSG;
	return r == -EBADMSG ? 0 : r;
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

/* Pieces of the stream that end before the range, the last one first. */
static int compare_ends(const void *a, const void *b, void *pieces)
{
	const struct view_piece *v = pieces;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int64_t x_ms = v[x].piece.last_ms, y_ms = v[y].piece.last_ms;

	if (x_ms != y_ms)
		return x_ms > y_ms ? -1 : 1;
	return x > y ? -1 : x < y;
}

static int ignore_rows(void *ctx, const struct piece_rows *rows)
{
	(void)ctx;
	(void)rows;
	return 0;
}

/* Whether the piece's last profile can be read, and the dictionary has what it refers to. */
static int try_last(struct walk *w, struct view_piece *p)
{
	struct piece_numbers ignored = { 0 };
	int r = walk__numbers(w, p, PIECE_STACKS | PIECE_LABEL_SETS, &ignored);

	if (r == 0)
		r = p->piece.ops->rows(walk__reader(w, p->piece.ops), &p->piece,
				       p->piece.n_profiles - 1, 1, ignore_rows, NULL);
	if (r == -EBADMSG)
		view__leave_out(w->view, p, r);
	return r;
}

/*
 * Of pieces [n] before the range, the one that ends last holds the profile before it: the first one
 * that can be read. When something was damaged already, much may be; so rows are tried then, or each
 * piece would have the question asked again.
 */
static int add_last_before(struct walk *w, struct timeline *t, const uint32_t *before, size_t n)
{
	bool damaged = false;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		struct view_piece *p = &w->view->pieces.v[before[i]];

		r = atomic_load_explicit(&w->view->n_left_out, memory_order_relaxed) ? try_last(w, p)
										     : 0;
		if (r == 0)
			r = add_moments(w, t, before[i], INT64_MIN);
		if (r != -EBADMSG)
			break;
		damaged = true;
	}
	return r ? r : damaged ? -EBADMSG : 0;
}

/* What increases need of before the range. Removed rows may leave nothing of a profile: then all. */
static int add_before(struct walk *w, struct timeline *t)
{
	const struct view_stream *st = w->stream;
	struct view_piece *pieces = w->view->pieces.v;
	VEC(uint32_t) before = { 0 };
	bool filters = false, damaged = false;
	int r = 0;

	for (uint32_t i = 0; i < w->view->filters.n; i++)
		filters |= w->filters[i].on;
	for (uint32_t i = st->first; r == 0 && i < st->first + st->n; i++) {
		if (pieces[i].left_out || pieces[i].piece.last_ms >= w->match->sel->from_ms)
			continue;
		if (filters)
			r = note_damage(add_moments(w, t, i, INT64_MIN), &damaged);
		else if (!vec__push(&before, i))
			r = -ENOMEM;
	}
	if (r == 0 && before.n) {
		qsort_r(before.v, before.n, sizeof(before.v[0]), compare_ends, pieces);
		r = add_last_before(w, t, before.v, before.n);
	}
	vec__fini(&before);
	return r == 0 && damaged ? -EBADMSG : r;
}

/* Goes on past what is damaged, and says so at the end. */
static int add_states(struct walk *w, struct timeline *t)
{
	const struct view_stream *st = w->stream;
	const int64_t from_ms = w->match->sel->from_ms;
	bool damaged = false;
	int r = 0;

	for (uint32_t i = st->first; r == 0 && i < st->first + st->n; i++) {
		const struct view_piece *p = &w->view->pieces.v[i];

		if (p->left_out || p->piece.first_ms >= w->match->sel->to_ms || p->piece.last_ms < from_ms)
			continue;
		r = note_damage(add_moments(w, t, i, w->increases ? INT64_MIN : from_ms), &damaged);
	}
	if (r == 0 && w->increases)
		r = note_damage(add_before(w, t), &damaged);
	return r == 0 && damaged ? -EBADMSG : r;
}

static int add_deltas(struct walk *w)
{
	const struct view_stream *st = w->stream;
	bool damaged = false;
	int r = 0;

	for (uint32_t i = st->first; r == 0 && i < st->first + st->n; i++)
		if (!w->view->pieces.v[i].left_out)
			r = note_damage(add_piece(w, i), &damaged);
	return r == 0 && damaged ? -EBADMSG : r;
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
	struct timeline t = { .sorted = true };
	int r;

	w->spans.n = 0;
	w->n_before = 0;
	if (w->stream->temporality == DCM_DELTA)
		return add_deltas(w);
	const int found = add_states(w, &t);
	r = found == -EBADMSG ? 0 : found;
	if (r == 0 && !t.sorted)
		qsort(t.v.v, t.v.n, sizeof(t.v.v[0]), compare_moments);
	if (r == 0) {
		drop_moments(w, &t);
		r = make_spans(w, &t);
	}
	vec__fini(&t.v);
	return r ? r : found;
}
