/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/removal_find.c - counts what a selection takes, and notes from which blocks
 *
 * States (gauges, cumulative types) need care: of two at one time the older is still in its block
 * though no answer has it, and must not come back when the newer goes. So blocks with such a one
 * are listed too.
 */
#include "plugins/storage/local/removal_find.h"

#include <errno.h>
#include <stdlib.h>

#include "plugins/storage/answer/stream_piece.h"
#include "plugins/storage/answer/walk.h"
#include "plugins/storage/local/block_piece.h"
#include "plugins/storage/local/hidden.h"
#include "plugins/storage/local/look.h"

struct finding {
	const struct store *store;
	const struct dcm_select *sel;
	struct removal_found *found;
	struct groups groups;
	struct match asked; /* the selection */
	struct walk walk;
	struct meter meter;
	bool counted; /* the profile at hand */
	VEC(const struct block *) hits;
};

static void finding__fini(struct finding *m)
{
	match__fini(&m->asked);
	groups__fini(&m->groups);
	vec__fini(&m->hits);
}

/* -------------------------------------------------------------------------------------------------
 * Counting: all rows of the selection's types and times are walked, and the selection is asked
 * about each
 */

static int hit(struct finding *m, uint64_t n)
{
	const struct block *b = block_piece__block(&m->walk.piece->piece);

	m->found->n += n;
	if (!b || (m->hits.n && m->hits.v[m->hits.n - 1] == b))
		return 0;
	return vec__push(&m->hits, b) ? 0 : -ENOMEM;
}

/* The series alone has settled it. */
static int count_span(void *ctx, const struct walk_span *s)
{
	struct finding *m = ctx;
	int r = m->asked.settled ? hit(m, s->n) : 0;

	return r < 0 ? r : m->asked.settled;
}

static int count_rows(void *ctx, const struct walk_rows *rows)
{
	struct finding *m = ctx;
	uint32_t group;
	int r = 0;

	if (rows->begins)
		m->counted = false;
	for (uint32_t i = 0; r == 0 && !m->counted && i < rows->n; i++) {
		r = match__row(&m->asked, rows->label_sets[i], &group);
		if (r == 0 && group != MATCH_NONE) {
			m->counted = true;
			r = hit(m, 1);
		}
	}
	return r;
}

static int walk_streams(struct finding *m)
{
	const struct view *v = &m->found->view;
	bool damaged = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->streams.n; i++) {
		r = match__stream(&m->asked, v->streams.v[i].series);
		if (r == 1)
			r = walk__stream(&m->walk, &v->streams.v[i]);
		damaged |= r == -EBADMSG;
		if (r == 0 || r == -EBADMSG)
			r = meter__rows(&m->meter, 0);
	}
	return r == 0 && damaged ? -EBADMSG : r;
}

static int count(struct finding *m)
{
	const struct dcm_select all = { .size = sizeof(all),
					.type = m->sel->type,
					.from_ms = m->sel->from_ms,
					.to_ms = m->sel->to_ms,
					.budget = m->sel->budget };
	const struct walk_user user = {
		.label_sets = true, .span = count_span, .rows = count_rows, .ctx = m
	};
	struct match match = { .view = NULL };
	int r = match__init(&match, &m->found->view, &all, &m->groups);

	if (r == 0)
		r = walk__init(&m->walk, &m->found->view, &match, &m->meter, &user);
	do {
		m->found->n = 0;
		m->hits.n = 0;
		if (r == 0 || r == -EBADMSG)
			r = walk_streams(m);
	} while (r == -EBADMSG); /* pieces are left out from now on */
	walk__fini(&m->walk);
	match__fini(&match);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * What has to be written anew
 */

static int compare_pointers(const void *a, const void *b)
{
	const uintptr_t x = (uintptr_t) * (const struct block *const *)a;
	const uintptr_t y = (uintptr_t) * (const struct block *const *)b;

	return (x > y) - (x < y);
}

static bool has_states_in_heads(const struct view *v)
{
	for (size_t i = 0; i < v->streams.n; i++)
		for (uint32_t k = 0;
		     v->streams.v[i].temporality != DCM_DELTA && k < v->streams.v[i].n; k++)
			if (stream_piece__of(&v->pieces.v[v->streams.v[i].first + k].piece))
				return true;
	return false;
}

/* Blocks with states that are replaced. 1: by something in a head, perhaps; 0; or -ENOMEM. */
static int add_hidden(struct finding *m)
{
	struct hidden hidden = { .v = { 0 } };
	bool any = false;
	int r = hidden__find(&hidden, &m->found->view);

	for (size_t i = 0; r == 0 && i < hidden.v.n; i++) {
		const struct hidden_profile *p = &hidden.v.v[i];

		if (!p->block || p->time_ms < m->sel->from_ms || p->time_ms >= m->sel->to_ms)
			continue;
		any = true;
		if (!vec__push(&m->hits, p->block))
			r = -ENOMEM;
	}
	hidden__fini(&hidden);
	return r ? r : any && has_states_in_heads(&m->found->view);
}

static bool is_hit(const struct finding *m, const struct look_block *b)
{
	const struct block *block = &b->stored->map.block;

	if (b->left_out)
		return true; /* nobody knows */
	return m->hits.n &&
	       bsearch(&block, m->hits.v, m->hits.n, sizeof(m->hits.v[0]), compare_pointers);
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * With `work`, so that the store's list is still. The view has them in the same order, less what it
 * cannot read.
 */
static int list_blocks(struct finding *m)
{
	const struct store *s = m->store;
	const struct look *look = look__of(&m->found->view);
	size_t at = 0;

	if (m->hits.n)
		qsort(m->hits.v, m->hits.n, sizeof(m->hits.v[0]), compare_pointers);
	for (size_t i = 0; i < s->blocks.n; i++) {
		struct stored *b = s->blocks.v[i];
		const struct look_block *seen = NULL;

		if (at < look->blocks.n && look->blocks.v[at].stored == b)
			seen = &look->blocks.v[at++];
		if (b->entry.last_ms < m->sel->from_ms || b->entry.first_ms >= m->sel->to_ms ||
		    (seen && !is_hit(m, seen)))
			continue;
		if (!vec__push(&m->found->blocks, b->entry.number))
			return -ENOMEM;
	}
	if (m->found->blocks.n)
		qsort(m->found->blocks.v, m->found->blocks.n, sizeof(m->found->blocks.v[0]),
		      compare_numbers);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * All of it
 */

static int find(struct finding *m)
{
	struct removal_found *f = m->found;
	int r;

	meter__total(&m->meter, view__rows(&f->view, 0));
	r = groups__init(&m->groups, NULL, false);
	if (r == 0)
		r = match__init(&m->asked, &f->view, m->sel, &m->groups);
	if (r == 0)
		r = count(m);
	if (r == 0)
		r = add_hidden(m);
	if (r)
		return r;
	r = list_blocks(m);
	return r ? r : thin__view(&f->thin, &m->asked, &m->meter);
}

int removal_found__take(struct removal_found *f, struct store *s, const struct dcm_select *sel)
{
	struct finding m = {
		.store = s, .sel = sel, .found = f, .meter = { .host = s->host, .budget = sel->budget }
	};

	view__init(&f->view, s->host, sel, 1);
	int r = look__take(&f->view, s);
	if (r == 0)
		r = find(&m);
	finding__fini(&m);
	return r;
}

void removal_found__fini(struct removal_found *f)
{
	thin__fini(&f->thin);
	view__fini(&f->view);
	vec__fini(&f->blocks);
}
