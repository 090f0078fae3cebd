/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/walk.c - opens pieces, and turns their rows into what counts
 *
 * walk_spans.c finds the spans, walk_increases.c compares cumulative profiles.
 */
#include "plugins/storage/answer/walk.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/answer/walk_parts.h"

static int init_filters(struct walk *w)
{
	const struct view_filters *f = &w->view->filters;
	int r = groups__init(&w->no_groups, NULL, false);

	w->filters = mem__zalloc(f->n, sizeof(*w->filters));
	if (!w->filters)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < f->n; i++)
		r = match__init(&w->filters[i].match, w->view, &f->v[i], &w->no_groups);
	for (uint32_t i = 0; r == 0 && i < f->n; i++)
		w->filters[i].match.dict = w->dict;
	return r;
}

int walk__init(struct walk *w, struct view *v, struct match *match, struct meter *meter,
	       const struct walk_user *user)
{
	*w = (struct walk){ .view = v, .match = match, .meter = meter, .user = user };
	w->dict = user->dict ? user->dict : v->dict;
	w->imports = v->imports && !user->dict;
	match->dict = w->dict;
	w->out = NEW(struct walk_rowbuf);
	w->now = NEW(struct walk_state);
	w->before = NEW(struct walk_state);
	if (!w->out || !w->now || !w->before)
		return -ENOMEM;
	return init_filters(w);
}

void walk__fini(struct walk *w)
{
	for (uint32_t i = 0; w->filters && i < w->view->filters.n; i++)
		match__fini(&w->filters[i].match);
	free(w->filters);
	groups__fini(&w->no_groups);
	vec__fini(&w->spans);
	vec__fini(&w->groups);
	walk_state__free(w->now);
	walk_state__free(w->before);
	free(w->out);
	*w = (struct walk){ 0 };
}

/* What a piece's function said: a damaged piece is left out for good. */
static int judge(struct walk *w, const struct view_piece *p, int r)
{
	if (r == -EBADMSG)
		view__leave_out(w->view, &w->view->pieces.v[p - w->view->pieces.v], r);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * A piece
 */

static bool ascends_below(const uint32_t *v, uint32_t n, uint32_t limit)
{
	return n == 0 || v[n - 1] < limit;
}

/* Groups of the label sets that occur; uniform when there is one. */
static int judge_label_sets(struct walk *w)
{
	const uint32_t n = w->numbers.n_label_sets;

	w->groups.n = 0;
	if (!vec__reserve(&w->groups, n))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t set = walk__label_set(w, i);
		int r = set == DCM_NONE ? -ENOMEM : match__row(w->match, set, &w->groups.v[i]);

		if (r < 0)
			return r;
		w->uniform = i == 0 || (w->uniform && w->groups.v[i] == w->group);
		w->group = w->groups.v[i];
	}
	w->groups.n = n;
	return 0;
}

/* Which filters may take something from the piece. */
static int choose_filters(struct walk *w)
{
	const struct piece *p = &w->piece->piece;

	w->filtered = false;
	for (uint32_t i = 0; i < w->view->filters.n; i++) {
		struct walk_filter *f = &w->filters[i];
		const struct dcm_select *sel = &w->view->filters.v[i];
		uint32_t group;

		f->applies = f->on && i >= p->first_filter && p->last_ms >= sel->from_ms &&
			     p->first_ms < sel->to_ms;
		if (f->applies && !f->match.settled && w->numbers.label_sets) {
			bool any = false;
			int r = match__row(&f->match, 0, &group);

			any |= r == 0 && group != MATCH_NONE;
			for (uint32_t k = 0; r == 0 && !any && k < w->numbers.n_label_sets; k++) {
				const uint32_t set = walk__label_set(w, k);

				r = set == DCM_NONE ? -ENOMEM : match__row(&f->match, set, &group);
				any |= r == 0 && group != MATCH_NONE;
			}
			if (r < 0)
				return r;
			f->applies = any;
		}
		w->filtered |= f->applies;
	}
	return 0;
}

/* Which of the piece's numbers are looked at in any case. */
static unsigned wanted_numbers(const struct walk *w)
{
	bool label_sets = w->user->label_sets || w->increases || !w->match->settled;

	for (uint32_t i = 0; i < w->view->filters.n; i++)
		label_sets |= w->filters[i].on;
	return label_sets ? (unsigned)PIECE_LABEL_SETS : 0;
}

int walk__numbers(struct walk *w, const struct view_piece *p, unsigned want, struct piece_numbers *ret)
{
	const struct dict_counts *c = &w->view->eras.v[p->place.era].counts;
	void *reader = walk__reader(w, p->piece.ops);
	int r = reader ? p->piece.ops->numbers(reader, &p->piece, want, ret) : -ENOMEM;

	if (r == 0 &&
	    ((ret->stacks && !ascends_below(ret->stacks, ret->n_stacks, c->stacks)) ||
	     (ret->label_sets && !ascends_below(ret->label_sets, ret->n_label_sets, c->label_sets))))
		r = -EBADMSG;
	return judge(w, p, r);
}

static int open_piece(struct walk *w, const struct view_piece *p)
{
	int r;

	w->piece = p;
	w->reader = walk__reader(w, p->piece.ops);
	if (!w->reader)
		return -ENOMEM;
	w->numbers = (struct piece_numbers){ 0 };
	r = walk__numbers(w, p, wanted_numbers(w), &w->numbers);
	if (r == 0)
		r = match__row(w->match, 0, &w->empty_group);
	if (r < 0)
		return r;
	w->uniform = w->match->settled;
	w->group = w->empty_group;
	if (w->numbers.label_sets)
		r = judge_label_sets(w);
	return r < 0 ? r : choose_filters(w);
}

int walk__profiles(struct walk *w, unsigned want)
{
	const struct piece *p = &w->piece->piece;

	return judge(w, w->piece, p->ops->profiles(w->reader, p, want, &w->profiles));
}

/* -------------------------------------------------------------------------------------------------
 * Rows
 */

static int group_of(struct walk *w, uint32_t number, uint32_t *ret_group)
{
	if (w->numbers.label_sets) {
		*ret_group = w->groups.v[number];
		return 0;
	}
	const uint32_t set = walk__label_set(w, number);
	return set == DCM_NONE ? -ENOMEM : match__row(w->match, set, ret_group);
}

/* Is a row of that label set removed? 1, 0, or -ENOMEM. */
static int is_removed(struct walk *w, int64_t time_ms, uint32_t label_set)
{
	uint32_t group;

	for (uint32_t i = 0; i < w->view->filters.n; i++) {
		const struct dcm_select *sel = &w->view->filters.v[i];

		if (!w->filters[i].applies || time_ms < sel->from_ms || time_ms >= sel->to_ms)
			continue;
		if (match__row(&w->filters[i].match, label_set, &group) < 0)
			return -ENOMEM;
		if (group != MATCH_NONE)
			return 1;
	}
	return 0;
}

/* The rows that were not removed, or all; *ret_n of them, at w->out->kept. */
static int keep_rows(struct walk *w, const struct piece_rows *rows, int64_t time_ms, uint32_t *ret_n)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < rows->n; i++) {
		int removed = 0;

		if (w->filtered) {
			const uint32_t set = walk__label_set(w, rows->labels ? rows->labels[i] : 0);

			removed = set == DCM_NONE ? -ENOMEM : is_removed(w, time_ms, set);
		}
		if (removed < 0)
			return removed;
		w->out->kept[n] = i;
		n += !removed;
	}
	*ret_n = n;
	return 0;
}

/* Tells the user of rows that stand in w->out. */
int walk__tell(struct walk *w, bool begins, uint32_t n, const struct walk_head *head)
{
	const struct walk_rows rows = {
		.begins = begins,
		.time_ms = head->time_ms,
		.duration_ns = head->duration_ns,
		.period = head->period,
		.n = n,
		.groups = w->out->groups,
		.stacks = w->out->stacks,
		.label_sets = w->out->label_sets,
		.values = w->out->values,
	};

	return w->user->rows(w->user->ctx, &rows);
}

int walk__tell_empty(struct walk *w, const struct walk_head *head)
{
	w->out->groups[0] = w->empty_group;
	w->out->stacks[0] = DCM_NONE;
	w->out->label_sets[0] = 0;
	w->out->values[0] = 0;
	return walk__tell(w, true, w->empty_group != MATCH_NONE, head);
}

/* One row of the piece into w->out; *n counts those taken. */
static inline int take_row(struct walk *w, const struct piece_rows *rows, uint32_t i, uint32_t *n)
{
	const uint32_t label = rows->labels ? rows->labels[i] : 0;
	struct walk_rowbuf *out = w->out;

	if (w->uniform)
		out->groups[*n] = w->group;
	else if (group_of(w, label, &out->groups[*n]) < 0)
		return -ENOMEM;
	if (out->groups[*n] == MATCH_NONE)
		return 0;
	if (w->user->stacks && (out->stacks[*n] = walk__stack(w, rows->stacks[i])) == DCM_NONE)
		return -ENOMEM;
	if (w->user->label_sets && (out->label_sets[*n] = walk__label_set(w, label)) == DCM_NONE)
		return -ENOMEM;
	out->values[*n] = rows->values[i];
	++*n;
	return 0;
}

static int on_rows(void *ctx, const struct piece_rows *rows)
{
	struct walk *w = ctx;
	const uint32_t at = rows->profile;
	const struct walk_head head = { w->profiles.time_ms[at], w->profiles.duration_ns[at],
					w->profiles.period[at] };
	uint32_t n_kept = 0, n = 0;
	int r = meter__rows(w->meter, rows->n);

	if (r == 0)
		r = keep_rows(w, rows, head.time_ms, &n_kept);
	if (r < 0)
		return r;
	if (rows->begins) {
		w->out->began = false;
		w->n_started++;
	}
	if (rows->begins && rows->n == 0) {
		r = w->filtered ? is_removed(w, head.time_ms, 0) : 0;
		if (r != 0)
			return r < 0 ? r : 0;
		return w->increases ? walk__collect(w, rows, 0, &head) : walk__tell_empty(w, &head);
	}
	if (n_kept == 0)
		return 0;
	if (w->increases)
		return walk__collect(w, rows, n_kept, &head);
	for (uint32_t i = 0; r == 0 && i < n_kept; i++)
		r = take_row(w, rows, w->out->kept[i], &n);
	if (r == 0)
		r = walk__tell(w, !w->out->began, n, &head);
	w->out->began = true;
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * The stream
 */

static int walk_span(struct walk *w, const struct walk_span *s)
{
	const struct view_piece *p = &w->view->pieces.v[s->piece];

	if (p->left_out)
		return 0;
	int r = p == w->piece ? 0 : open_piece(w, p);

	if (r == 0 && w->user->span && !w->filtered && !w->increases) {
		r = judge(w, p, w->user->span(w->user->ctx, s));
		if (r > 0) {
			const uint64_t rows = p->piece.n_rows * s->n / p->piece.n_profiles;
			const int stop = meter__rows(w->meter, rows);

			return stop < 0 ? stop : r == WALK_ENOUGH ? r : 0;
		}
	}
	/* Spans need no stacks' numbers: these are asked for when there are rows to be told of. */
	if (r == 0 && (w->user->stacks || w->increases) && !w->numbers.stacks)
		r = walk__numbers(w, p, wanted_numbers(w) | PIECE_STACKS, &w->numbers);
	if (r == 0)
		r = walk__profiles(w, PIECE_WANT_TIMES | PIECE_WANT_ROWS | PIECE_WANT_SPANS);
	if (r == 0)
		r = judge(w, p, p->piece.ops->rows(w->reader, &p->piece, s->first, s->n, on_rows, w));
	return r;
}

static int begin_filters(struct walk *w, const struct view_stream *st)
{
	const struct dict_type *type = dict__type_at(w->dict, st->type);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < w->view->filters.n; i++) {
		const struct dcm_select *sel = &w->view->filters.v[i];

		w->filters[i].on = false;
		if (sel->type.n && !str__eq(sel->type, type->text))
			continue;
		r = match__stream(&w->filters[i].match, st->series);
		w->filters[i].on = r == 1;
		r = r < 0 ? r : 0;
	}
	return r;
}

int walk__stream(struct walk *w, const struct view_stream *st)
{
	int r = match__stream(w->match, st->series);

	if (r <= 0)
		return r;
	w->stream = st;
	w->piece = NULL;
	w->increases = w->user->increases && st->temporality == DCM_CUMULATIVE;
	w->n_started = 0;
	w->has_before = false;
	r = begin_filters(w, st);
	if (r == 0)
		r = walk__find_spans(w);
	bool damaged = r == -EBADMSG;
	r = damaged ? 0 : r;
	for (size_t i = 0; r == 0 && i < w->spans.n; i++) {
		r = walk_span(w, &w->spans.v[i]);
		if (r != -EBADMSG)
			continue;
		damaged = true;
		w->piece = NULL; /* it may be half open */
		r = 0;
	}
	if (r == 0 && w->increases)
		r = walk__collected(w);
	r = r == WALK_ENOUGH ? 0 : r;
	return r == 0 && damaged ? -EBADMSG : r;
}
