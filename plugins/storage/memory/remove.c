/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/remove.c - removes rows by selection
 *
 * What is to go is found without the lock, in a view, and put into effect under it. The ids of a
 * view are void when the dictionary was rebuilt in between; then it starts again.
 */
#include "plugins/storage/memory/remove.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "plugins/storage/answer/match.h"
#include "plugins/storage/answer/meter.h"
#include "plugins/storage/answer/stream_piece.h"
#include "plugins/storage/memory/expire.h"
#include "plugins/storage/memory/look.h"

/* Rebuilds are rare; more in a row than this is a store that has no time for us. */
enum { REMOVE_TRIES = 16 };

struct change {
	uint32_t series, type;
	const struct profile *old;
	struct profile *left; /* NULL: nothing is left */
};

struct changes {
	VEC(struct change) v;
	uint64_t era;
};

static void changes__fini(struct changes *c)
{
	for (size_t i = 0; i < c->v.n; i++)
		profile__unref(c->v.v[i].left);
	vec__fini(&c->v);
}

/* *ret_n: rows that match; of a profile without rows 1 when it matches. */
static int count_matches(struct match *m, const struct profile *p, uint32_t *ret_n)
{
	uint32_t group, n = 0;

	if (p->n_rows == 0) {
		if (match__row(m, 0, &group) < 0)
			return -ENOMEM;
		n = group != MATCH_NONE;
	}
	for (uint32_t i = 0; i < p->n_rows; i++) {
		if (match__row(m, p->rows[i].labels, &group) < 0)
			return -ENOMEM;
		n += group != MATCH_NONE;
	}
	*ret_n = n;
	return 0;
}

static struct profile *without_matches(struct match *m, const struct profile *p, uint32_t n_left)
{
	struct profile *left = profile__new(n_left);
	uint32_t n = 0, group;

	if (!left)
		return NULL;
	left->time_ms = p->time_ms;
	left->duration_ns = p->duration_ns;
	left->period = p->period;
	/* Every label set was judged by count_matches(), so this cannot fail. */
	for (uint32_t i = 0; i < p->n_rows && n < n_left; i++)
		if (match__row(m, p->rows[i].labels, &group) == 0 && group == MATCH_NONE)
			left->rows[n++] = p->rows[i];
	return left;
}

static int find_change(struct changes *c, struct match *m, const struct view_stream *st,
		       const struct profile *p)
{
	struct change change = { .series = st->series, .type = st->type, .old = p };
	uint32_t n = 0;
	int r = count_matches(m, p, &n);

	if (r < 0 || n == 0)
		return r;
	if (n < p->n_rows && !(change.left = without_matches(m, p, p->n_rows - n)))
		return -ENOMEM;
	if (!vec__push(&c->v, change)) {
		profile__unref(change.left);
		return -ENOMEM;
	}
	return 0;
}

/* In this store a stream is one piece, which may begin with the profile before the range. */
static int find_changes(struct changes *c, struct match *m, const struct view_stream *st,
			struct meter *meter)
{
	const struct stream_piece *of = stream_piece__of(&m->view->pieces.v[st->first].piece);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < of->n; i++) {
		r = meter__rows(meter, of->v[i]->n_rows);
		if (r == 0 && of->v[i]->time_ms >= m->sel->from_ms)
			r = find_change(c, m, st, of->v[i]);
	}
	return r;
}

/* -EAGAIN: the store was rebuilt since the view was taken. */
static int apply(struct store *s, struct changes *c, uint64_t *ret_n)
{
	uint64_t n = 0;
	int r = -EAGAIN;

	pthread_rwlock_wrlock(&s->lock);
	if (s->era == c->era) {
		for (size_t i = 0; i < c->v.n; i++) {
			struct change *change = &c->v.v[i];
			uint32_t stream = streams__find(&s->streams, change->series, change->type);
			ptrdiff_t at = stream == DCM_NONE
					       ? -1
					       : stream__find(&s->streams.v[stream], change->old);

			if (at < 0)
				continue; /* expired, or replaced by a newer state, meanwhile */
			streams__replace(&s->streams, stream, (size_t)at, take_ptr(change->left));
			n++;
		}
		expire__shed(s);
		*ret_n = n;
		r = 0;
	}
	pthread_rwlock_unlock(&s->lock);
	return r;
}

static int try(struct store *s, const struct dcm_host *host, const struct dcm_select *sel, uint64_t *ret_n)
{
	struct view view;
	struct groups groups = { 0 };
	struct match match = { 0 };
	struct changes changes = { 0 };
	struct meter meter = { .host = host, .budget = sel->budget };
	int r;

	view__init(&view, host, sel, 1);
	r = look__take(&view, s, &changes.era);
	if (r == 0)
		r = groups__init(&groups, NULL, false);
	if (r == 0)
		r = match__init(&match, &view, sel, &groups);
	for (size_t i = 0; r == 0 && i < view.streams.n; i++) {
		r = match__stream(&match, view.streams.v[i].series);
		if (r == 1)
			r = find_changes(&changes, &match, &view.streams.v[i], &meter);
	}
	if (r == 0)
		r = apply(s, &changes, ret_n);
	changes__fini(&changes);
	match__fini(&match);
	groups__fini(&groups);
	view__fini(&view);
	return r;
}

int remove__selected(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		     uint64_t *ret_n)
{
	int r = -EAGAIN;

	for (int i = 0; i < REMOVE_TRIES && r == -EAGAIN; i++)
		r = try(s, host, sel, ret_n);
	return r;
}
