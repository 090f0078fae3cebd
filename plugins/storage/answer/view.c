/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/view.c - pieces become streams
 */
#include "plugins/storage/answer/view.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/answer/match.h"

void view__init(struct view *v, const struct dcm_host *host, const struct dcm_select *sel, uint32_t n_sel)
{
	*v = (struct view){ .host = host, .sel = sel, .n_sel = n_sel };
}

static void release(const struct piece *p)
{
	if (p->ops->release)
		p->ops->release(p);
}

static void free_sieves(const struct view *v, struct sieve *sieves)
{
	for (uint32_t i = 0; sieves && i < v->n_sel; i++)
		sieve__fini(&sieves[i]);
	free(sieves);
}

void view__fini(struct view *v)
{
	for (size_t i = 0; i < v->pieces.n; i++)
		release(&v->pieces.v[i].piece);
	for (size_t i = 0; i < v->eras.n; i++) {
		dict_import__fini(&v->eras.v[i].import);
		dict__unref(v->eras.v[i].dict);
		free_sieves(v, v->eras.v[i].sieves);
	}
	for (size_t i = 0; i < v->foresights.n; i++) {
		dict__unref(v->foresights.v[i].dict);
		free_sieves(v, v->foresights.v[i].sieves);
	}
	piece_readers__fini(&v->readers);
	vec__fini(&v->eras);
	vec__fini(&v->foresights);
	dict__unref(v->dict);
	if (v->let_go)
		v->let_go(v->ctx);
	vec__fini(&v->pieces);
	vec__fini(&v->streams);
	*v = (struct view){ 0 };
}

/* A sieve for each selection. 0, -ENOMEM, or the budget's. */
static int make_sieves(struct view *v, struct dict *d, uint32_t n_series, struct sieve **ret)
{
	struct sieve *sieves = mem__zalloc(v->n_sel, sizeof(*sieves));
	int r = sieves ? 0 : -ENOMEM;

	for (uint32_t i = 0; r == 0 && i < v->n_sel; i++)
		r = sieve__init(&sieves[i], d, n_series, v->host, &v->sel[i]);
	if (r == 0)
		*ret = sieves;
	else
		free_sieves(v, sieves);
	return r;
}

int view__foresee(struct view *v, struct dict *d, uint32_t n_series)
{
	struct view_foresight f = { .dict = d };
	int r = vec__reserve(&v->foresights, 1) ? make_sieves(v, d, n_series, &f.sieves) : -ENOMEM;

	if (r < 0)
		return r;
	dict__ref(d);
	v->foresights.v[v->foresights.n++] = f;
	return 0;
}

uint32_t view__era(struct view *v, struct dict *d, const struct dict_counts *counts)
{
	struct view_era era = { .dict = d, .counts = *counts };

	if (!vec__reserve(&v->eras, 1))
		return DCM_NONE;
	for (size_t i = 0; i < v->foresights.n && !era.sieves; i++)
		if (v->foresights.v[i].dict == d)
			era.sieves = take_ptr(v->foresights.v[i].sieves);
	dict__ref(d);
	v->eras.v[v->eras.n] = era;
	return (uint32_t)v->eras.n++;
}

static int judge_era(struct view *v, struct view_era *era)
{
	return era->sieves ? 0 : make_sieves(v, era->dict, era->counts.series, &era->sieves);
}

/* By type and times alone. A type that is lost may be the one that is wanted, and count up. */
static bool in_range(const struct view *v, uint32_t selection, const struct view_place *place,
		     int64_t first_ms, int64_t last_ms)
{
	const struct dcm_select *sel = &v->sel[selection];
	const struct dict *d = v->eras.v[place->era].dict;
	const struct dict_type *type = dict__type_at(d, place->type);
	const bool lost = dict__lacks_type(d, place->type);

	if (first_ms >= sel->to_ms || sel->from_ms >= sel->to_ms)
		return false;
	if (last_ms < sel->from_ms && type->parts.temporality != DCM_CUMULATIVE && !lost)
		return false;
	return !sel->type.n || str__eq(sel->type, type->text) || lost;
}

bool view__may_want(const struct view *v, uint32_t selection, const struct view_place *place,
		    int64_t first_ms, int64_t last_ms)
{
	const struct sieve *sieves = v->eras.v[place->era].sieves;

	if (sieves && place->series < sieves[selection].n &&
	    !sieve__takes(&sieves[selection], place->series))
		return false;
	return in_range(v, selection, place, first_ms, last_ms);
}

/* By what is known of the series alone. The era's were judged; those that came since are few. */
static bool series_wanted(const struct view *v, uint32_t selection, const struct view_place *place)
{
	const struct view_era *era = &v->eras.v[place->era];
	const struct sieve *s = &era->sieves[selection];

	if (place->series < s->n)
		return sieve__takes(s, place->series);
	return sieve__judge(era->dict, place->series, v->host, &v->sel[selection]);
}

int view__wants(struct view *v, uint32_t selection, const struct view_place *place,
		int64_t first_ms, int64_t last_ms)
{
	struct view_era *era = &v->eras.v[place->era];

	if (place->series >= era->counts.series || place->type >= era->counts.types)
		return -EBADMSG;
	if (!in_range(v, selection, place, first_ms, last_ms))
		return 0;
	const int r = judge_era(v, era);
	if (r < 0 || !series_wanted(v, selection, place))
		return r;
	return dict__lacks_series(era->dict, place->series) || dict__lacks_type(era->dict, place->type)
		       ? -EBADMSG
		       : 1;
}

int view__next_series(struct view *v, uint32_t era, uint32_t series, uint32_t *ret)
{
	const int r = judge_era(v, &v->eras.v[era]);
	uint32_t next = UINT32_MAX;

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < v->n_sel; i++) {
		const uint32_t of = sieve__next(&v->eras.v[era].sieves[i], series);

		next = of < next ? of : next;
	}
	*ret = next;
	return 0;
}

int view__add(struct view *v, uint32_t selection, const struct view_place *place, const struct piece *piece)
{
	const struct view_piece p = { .piece = *piece, .place = *place, .selection = selection };

	if (!vec__push(&v->pieces, p)) {
		release(piece);
		return -ENOMEM;
	}
	v->pieces.v[v->pieces.n - 1].piece.era = place->era;
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Sealing
 */

/* Pieces that no selection wants go. */
static int sift(struct view *v)
{
	size_t n = 0;

	for (size_t i = 0; i < v->pieces.n; i++) {
		const int r = judge_era(v, &v->eras.v[v->pieces.v[i].place.era]);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < v->pieces.n; i++) {
		const struct view_piece p = v->pieces.v[i];

		if (series_wanted(v, p.selection, &p.place)) {
			v->eras.v[p.place.era].used = true;
			v->pieces.v[n++] = p;
		} else {
			release(&p.piece);
		}
	}
	v->pieces.n = n;
	return 0;
}

/* One era's, when all pieces are of it. */
static int choose_dict(struct view *v)
{
	uint32_t n_used = 0;
	int r = 0;

	for (uint32_t i = 0; i < v->eras.n; i++) {
		if (!v->eras.v[i].used)
			continue;
		v->era = i;
		n_used++;
	}
	v->imports = n_used > 1 || v->eras.n == 0;
	v->dict = v->imports ? dict__new() : dict__ref(v->eras.v[v->era].dict);
	if (!v->dict)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && v->imports && i < v->eras.n; i++) {
		struct view_era *era = &v->eras.v[i];

		if (era->used)
			r = dict_import__init_counts(&era->import, v->dict, era->dict, &era->counts);
	}
	return r;
}

/* The answer's numbers of the piece's series and type. */
static int find_place(struct view *v, struct view_piece *p)
{
	struct view_era *era = &v->eras.v[p->place.era];

	p->series = p->place.series;
	p->type = p->place.type;
	if (v->imports) {
		p->series = dict_import__series(&era->import, p->series);
		p->type = dict_import__type(&era->import, &dict__type_at(era->dict, p->type)->parts);
	}
	return p->series == DCM_NONE || p->type == DCM_NONE ? -ENOMEM : 0;
}

static int find_places(struct view *v)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < v->pieces.n; i++)
		r = find_place(v, &v->pieces.v[i]);
	return r;
}

struct order {
	const struct view_piece *p;
	size_t at; /* as added */
};

static int compare_places(const struct view_piece *x, const struct view_piece *y)
{
	if (x->selection != y->selection)
		return x->selection < y->selection ? -1 : 1;
	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

static int compare_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	const int c = compare_places(x->p, y->p);

	return c ? c : x->at < y->at ? -1 : x->at > y->at;
}

static int sort_pieces(struct view *v)
{
	const size_t n = v->pieces.n;
	struct order *order = mem__resize(NULL, n ? n : 1, sizeof(*order));
	struct view_piece *sorted = mem__resize(NULL, n ? n : 1, sizeof(*sorted));

	if (!order || !sorted) {
		free(order);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = (struct order){ &v->pieces.v[i], i };
	qsort(order, n, sizeof(*order), compare_order);
	for (size_t i = 0; i < n; i++)
		sorted[i] = *order[i].p;
	free(order);
	free(v->pieces.v);
	v->pieces.v = sorted;
	v->pieces.cap = n ? n : 1;
	return 0;
}

/* Does a piece of the stream hold something of the range, and not only what is before it? */
static bool reaches_range(const struct view *v, const struct view_stream *st)
{
	for (uint32_t i = 0; i < st->n; i++)
		if (v->pieces.v[st->first + i].piece.last_ms >= v->sel[st->selection].from_ms)
			return true;
	return false;
}

static int make_streams(struct view *v)
{
	for (size_t i = 0, end; i < v->pieces.n; i = end) {
		const struct view_piece *p = &v->pieces.v[i];
		struct view_stream st = {
			.selection = p->selection,
			.series = p->series,
			.type = p->type,
			.temporality = dict__type_at(v->dict, p->type)->parts.temporality,
			.first = (uint32_t)i,
		};

		for (end = i; end < v->pieces.n && compare_places(p, &v->pieces.v[end]) == 0; end++)
			;
		st.n = (uint32_t)(end - i);
		if (reaches_range(v, &st) && !vec__push(&v->streams, st))
			return -ENOMEM;
	}
	return 0;
}

int view__seal(struct view *v)
{
	int r = sift(v);

	if (r == 0)
		r = choose_dict(v);
	if (r == 0)
		r = find_places(v);
	if (r == 0)
		r = sort_pieces(v);
	return r < 0 ? r : make_streams(v);
}

/* -------------------------------------------------------------------------------------------------
 * For questions
 */

struct dict_counts view__counts(const struct view *v)
{
	return v->imports ? dict__counts(v->dict) : v->eras.v[v->era].counts;
}

uint64_t view__rows(const struct view *v, uint32_t selection)
{
	uint64_t n = 0;

	for (size_t i = 0; i < v->pieces.n; i++)
		if (v->pieces.v[i].selection == selection)
			n += v->pieces.v[i].piece.n_rows;
	return n;
}

void view__leave_out(struct view *v, struct view_piece *p, int error)
{
	if (!p->left_out && v->unreadable)
		v->unreadable(v->ctx, &p->piece, error);
	if (!p->left_out)
		atomic_fetch_add_explicit(&v->n_left_out, 1, memory_order_relaxed);
	p->left_out = true;
}

bool view__asks_again(struct view *v, int error)
{
	if (error == -EBADMSG)
		return true;
	if (error != -E2BIG || !v->was_shared)
		return false;
	v->crew = NULL;
	v->was_shared = false;
	return true;
}
