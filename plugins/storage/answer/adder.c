/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/adder.c - parts streams, has them added up, joins what came of it
 */
#include "plugins/storage/answer/adder.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "plugins/storage/answer/crew.h"

/* Parts a thread, so that all are done at about the same time. */
enum { PARTS_EACH = 8 };

int adder__init(struct adder *a, const struct adder_init *init)
{
	const struct dcm_budget *budget = init->view->sel->budget;

	*a = (struct adder){ .ops = init->ops, .view = init->view, .by_stack = init->by_stack };
	sums__init(&a->sums, init->n_values, init->by_stack, budget ? budget->max_bytes : 0);
	a->sums.stock = init->view->stock;
	return groups__init(&a->groups, init->by, init->by_series);
}

void adder__fini(struct adder *a)
{
	groups__fini(&a->groups);
	sums__fini(&a->sums);
}

/* -------------------------------------------------------------------------------------------------
 * Parts
 */

/* What is added up together: parts of streams, in the numbers of one dictionary. */
struct effort {
	struct view *view;
	uint32_t selection;
	uint32_t era; /* in its numbers; DCM_NONE: in the answer's */
	VEC(struct view_stream) parts;
	uint64_t n_rows;
	struct adder *adders[CREW_MAX]; /* by thread */
	int errors[CREW_MAX];
	uint64_t counted[CREW_MAX]; /* rows told to the budget */
	_Atomic size_t next;	    /* part */
	_Atomic bool failed;
	_Atomic uint64_t held; /* bytes, by all */
};

static bool is_of(const struct effort *e, const struct view_piece *p)
{
	return p->place.era == e->era;
}

static int push_part(struct effort *e, const struct view_stream *st, uint32_t first, uint32_t n)
{
	const struct view_piece *p = &e->view->pieces.v[first];
	struct view_stream part = *st;

	part.first = first;
	part.n = n;
	if (e->era != DCM_NONE) {
		part.series = p->place.series;
		part.type = p->place.type;
	}
	for (uint32_t i = 0; i < n; i++)
		e->n_rows += p[i].piece.n_rows;
	return vec__push(&e->parts, part) ? 0 : -ENOMEM;
}

/* Runs of the era's pieces, of at most so many rows but for a piece that has more. */
static int part_deltas(struct effort *e, const struct view_stream *st, uint64_t max_rows)
{
	const struct view_piece *p = e->view->pieces.v;
	const uint32_t end = st->first + st->n;
	int r = 0;

	for (uint32_t i = st->first, first; r == 0 && i < end;) {
		uint64_t n_rows = 0;

		for (first = i; i < end && is_of(e, &p[i]) && (i == first || n_rows < max_rows); i++)
			n_rows += p[i].piece.n_rows;
		if (i > first)
			r = push_part(e, st, first, i - first);
		else
			i++;
	}
	return r;
}

/* The only era of a stream, or DCM_NONE. */
static uint32_t era_of(const struct view *v, const struct view_stream *st)
{
	const uint32_t era = v->pieces.v[st->first].place.era;

	for (uint32_t i = 1; i < st->n; i++)
		if (v->pieces.v[st->first + i].place.era != era)
			return DCM_NONE;
	return era;
}

static int list_parts(struct effort *e, uint64_t max_rows)
{
	const struct view *v = e->view;
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->streams.n; i++) {
		const struct view_stream *st = &v->streams.v[i];

		if (st->selection != e->selection)
			continue;
		if (st->temporality == DCM_DELTA && e->era != DCM_NONE)
			r = part_deltas(e, st, max_rows);
		else if (st->temporality != DCM_DELTA && era_of(v, st) == e->era)
			r = push_part(e, st, st->first, st->n);
	}
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Adding
 */

static uint64_t adder_bytes(const struct adder *a)
{
	return sums__bytes(&a->sums) + groups__bytes(&a->groups);
}

static int add_part(struct adder *a, struct walk *w, struct meter *meter, const struct view_stream *part)
{
	a->gauge = part->temporality == DCM_GAUGE;
	const int r = walk__stream(w, part);
	a->ops->end(a);
	const int held = r && r != -EBADMSG ? r : meter__hold(meter, adder_bytes(a));
	return held ? held : r;
}

static int add_parts(struct effort *e, struct adder *a, struct meter *meter)
{
	struct view *v = e->view;
	CLEANUP(piece_readers__fini) struct piece_readers readers = { 0 };
	CLEANUP(match__fini) struct match match = { 0 };
	CLEANUP(walk__fini) struct walk walk = { 0 };
	struct walk_user user = a->ops->user;
	bool damaged = false;
	size_t at;
	int r = match__init(&match, v, &v->sel[e->selection], &a->groups);

	user.ctx = a;
	user.readers = &readers;
	user.dict = e->era == DCM_NONE ? NULL : v->eras.v[e->era].dict;
	if (r == 0)
		r = walk__init(&walk, v, &match, meter, &user);
	a->walk = &walk;
	a->selection = e->selection;
	while (r == 0 && !atomic_load(&e->failed) && (at = atomic_fetch_add(&e->next, 1)) < e->parts.n) {
		r = add_part(a, &walk, meter, &e->parts.v[at]);
		damaged |= r == -EBADMSG;
		r = r == -EBADMSG ? 0 : r;
	}
	a->walk = NULL;
	return r == 0 && damaged ? -EBADMSG : r;
}

/* A crew_fn. */
static void work(void *ctx, uint32_t i)
{
	struct effort *e = ctx;
	const struct view *v = e->view;
	struct meter meter = { .host = v->host, .budget = v->sel[e->selection].budget, .held = &e->held };

	if (!e->adders[i])
		e->adders[i] = e->adders[0]->ops->fork(e->adders[0]);
	e->errors[i] = e->adders[i] ? add_parts(e, e->adders[i], &meter) : -ENOMEM;
	if (e->errors[i] && e->errors[i] != -EBADMSG)
		atomic_store(&e->failed, true);
	e->counted[i] = meter.counted;
}

/* -------------------------------------------------------------------------------------------------
 * Joining
 */

/* Stacks of an era in the answer's numbers. */
static int rename_stacks(void *import, uint32_t *stacks, uint32_t n)
{
	const struct dict_import *im = import;
	const int r = dict_import__stacks(import, stacks, n);

	for (uint32_t i = 0; r == 0 && i < n; i++)
		stacks[i] = dict_map__get(im->map.stacks, stacks[i]);
	return r;
}

static int find_group(struct adder *a, const struct groups *from, const struct group *g,
		      struct dict_import *import, uint32_t *ret)
{
	uint32_t few[32], *values = few, series = g->series;
	int r = 0;

	if (import && series != DCM_NONE && (series = dict_import__series(import, series)) == DCM_NONE)
		return -ENOMEM;
	if (from->by->n > 32 && !(values = mem__resize(NULL, from->by->n, sizeof(*values))))
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < from->by->n; i++) {
		values[i] = intern__add(&a->groups.texts, intern__text(&from->texts, g->values[i]));
		r = values[i] == INTERN_NONE ? -ENOMEM : 0;
	}
	if (r == 0) {
		*ret = groups__find_or_make(&a->groups, values, series);
		r = *ret == MATCH_NONE ? -ENOMEM : 0;
	}
	if (values != few)
		free(values);
	return r;
}

/* import: NULL when both have the same numbers. */
static int join(struct adder *a, struct adder *from, struct dict_import *import)
{
	const size_t n = from->groups.v.n;
	CLEANUP(mem__freep) uint32_t *groups = mem__resize(NULL, n, sizeof(*groups));
	int r = groups ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = find_group(a, &from->groups, &from->groups.v.v[i], import, &groups[i]);
	const struct sums_names names = { .groups = groups,
					  .rename = import && a->by_stack ? rename_stacks : NULL,
					  .ctx = import };
	if (r == 0)
		r = sums__join(&a->sums, &from->sums, &names);
	return r ? r : a->ops->join(a, from, groups);
}

static int end_effort(struct effort *e, struct adder *a, uint32_t n, struct meter *meter)
{
	const bool imports = e->view->imports && e->era != DCM_NONE;
	int r = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct adder *from = e->adders[i];

		meter->counted += e->counted[i];
		/* What is damaged is known now, and everything is asked again. */
		r = r && r != -EBADMSG ? r : e->errors[i] ? e->errors[i] : r;
		if (from == a)
			continue;
		if (r == 0)
			r = meter__look(meter->host, meter->budget);
		if (r == 0)
			r = join(a, from, imports ? &e->view->eras.v[e->era].import : NULL);
		if (from)
			a->ops->free(from);
	}
	return r ? r : meter__hold(meter, adder_bytes(a));
}

/* What is to be added up in the numbers of an era, or of the answer. n_rows: of the selection. */
static int add_era(struct adder *a, uint32_t selection, uint32_t era, uint64_t n_rows, struct meter *meter)
{
	struct view *v = a->view;
	struct effort e = { .view = v, .selection = selection, .era = era };
	const uint32_t most = crew__worth(v->crew, n_rows);
	const uint64_t max_rows = most > 1 ? n_rows / (most * PARTS_EACH) : UINT64_MAX;
	int r = list_parts(&e, max_rows);

	e.adders[0] = v->imports && era != DCM_NONE ? a->ops->fork(a) : a;
	if (r == 0 && !e.adders[0])
		r = -ENOMEM;
	if (e.adders[0] != a)
		atomic_store(&e.held, meter->bytes);
	if (r == 0 && e.parts.n) {
		uint32_t n = crew__worth(v->crew, e.n_rows);

		n = n < e.parts.n ? n : (uint32_t)e.parts.n;
		n = crew__work(era == DCM_NONE ? NULL : v->crew, n, work, &e);
		v->was_shared |= n > 1;
		r = end_effort(&e, a, n, meter);
	} else if (e.adders[0] && e.adders[0] != a) {
		a->ops->free(e.adders[0]);
	}
	vec__fini(&e.parts);
	return r;
}

/* Goes on past what is damaged: the other eras have some, too. */
static int add_eras(struct adder *a, uint32_t selection, uint64_t n_rows, struct meter *meter)
{
	struct view *v = a->view;
	bool damaged = false;
	int r = 0;

	if (v->imports)
		r = add_era(a, selection, DCM_NONE, n_rows, meter);
	for (uint32_t era = 0; (r == 0 || r == -EBADMSG) && era < v->eras.n; era++) {
		damaged |= r == -EBADMSG;
		r = v->eras.v[era].used ? add_era(a, selection, era, n_rows, meter) : 0;
	}
	return r == 0 && damaged ? -EBADMSG : r;
}

int adder__add(struct adder *a, uint32_t selection)
{
	struct view *v = a->view;
	struct meter meter = { .host = v->host, .budget = v->sel[selection].budget };
	const uint64_t n_rows = view__rows(v, selection);

	meter__total(&meter, n_rows);
	const int r = add_eras(a, selection, n_rows, &meter);
	if (r == 0)
		meter__done(&meter, n_rows);
	return r;
}
