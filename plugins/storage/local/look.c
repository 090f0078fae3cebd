/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/look.c - heads and blocks become pieces of a view
 *
 * Pieces stand in a view as they were written, blocks before heads; but what the heads hold must be
 * taken under the lock, and blocks are read without it. So the heads go into the view first, and
 * are put behind the blocks then. Labels are judged before the lock is taken for the moment that
 * the question sees.
 */
#include "plugins/storage/local/look.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/answer/meter.h"
#include "plugins/storage/answer/stream_piece.h"
#include "plugins/storage/local/block_piece.h"
#include "plugins/storage/local/eras.h"

static void tell_unreadable(struct store *s, struct stored *b, const char *why)
{
	atomic_fetch_add_explicit(&s->n_unreadable, 1, memory_order_relaxed);
	if (!atomic_exchange(&b->told, true) && s->options.report)
		s->options.report(s->options.report_ctx, DCM_LOG_ERROR, why);
}

/* What is told of one block is one gap. */
static void widen(struct look_gap *g, const struct look_gap *more)
{
	if (!g->why) {
		*g = *more;
		return;
	}
	g->first_ms = more->first_ms < g->first_ms ? more->first_ms : g->first_ms;
	g->last_ms = more->last_ms > g->last_ms ? more->last_ms : g->last_ms;
	g->n_profiles += more->n_profiles;
}

static void note_gap(struct look *l, struct look_block *b, const struct look_gap *more)
{
	pthread_mutex_lock(&l->gaps_lock);
	widen(&b->gap, more);
	pthread_mutex_unlock(&l->gaps_lock);
}

static bool is_asked_for(const struct look *l, int64_t first_ms, int64_t last_ms)
{
	for (uint32_t k = 0; k < l->view->n_sel; k++)
		if (first_ms < l->view->sel[k].to_ms && last_ms >= l->view->sel[k].from_ms)
			return true;
	return false;
}

/*
 * Is what is before the range part of the answer? It is where increases are asked for: a list needs
 * none, and a delta type has none. (One that is not, and whose text yet ends so, begins with the
 * range.)
 */
static bool needs_before(const struct dcm_select *sel)
{
	return sel->type.n && !str__ends(sel->type, STR(":delta"));
}

static bool is_before(const struct look *l, int64_t first_ms)
{
	for (uint32_t k = 0; k < l->view->n_sel; k++)
		if (needs_before(&l->view->sel[k]) && first_ms < l->view->sel[k].from_ms)
			return true;
	return false;
}

static struct look_gap gap_of(const struct stored *b, const char *why)
{
	const struct manifest_block *e = &b->entry;

	return (struct look_gap){ e->number, e->first_ms, e->last_ms, e->n_profiles, why };
}

/* -------------------------------------------------------------------------------------------------
 * Telling
 */

static int compare_gaps(const void *a, const void *b)
{
	const struct look_gap *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->first_ms < y->first_ms ? -1 : x->first_ms > y->first_ms;
}

/* All there are, in one order, whichever thread met them first; those of one block are one. */
static void collect_gaps(struct look *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->blocks.n; i++)
		if (l->blocks.v[i].gap.why && l->gaps.n < l->gaps.cap)
			l->gaps.v[l->gaps.n++] = l->blocks.v[i].gap;
	if (l->gaps.n)
		qsort(l->gaps.v, l->gaps.n, sizeof(l->gaps.v[0]), compare_gaps);
	for (size_t i = 0; i < l->gaps.n; i++) {
		if (n && l->gaps.v[i].block && l->gaps.v[i].block == l->gaps.v[n - 1].block)
			widen(&l->gaps.v[n - 1], &l->gaps.v[i]);
		else
			l->gaps.v[n++] = l->gaps.v[i];
	}
	l->gaps.n = n;
}

/*
 * From when on a gap before the range matters to a stream: it may have held a profile behind the
 * last one before the range that is there. Of a piece that begins before the range, its begin is
 * what is known.
 */
static int64_t last_before(const struct view *v, const struct view_stream *st)
{
	const int64_t from_ms = v->sel[st->selection].from_ms;
	int64_t last_ms = INT64_MIN;

	for (uint32_t i = st->first; i < st->first + st->n; i++) {
		const struct piece *p = &v->pieces.v[i].piece;
		const int64_t ms = p->last_ms < from_ms ? p->last_ms : p->first_ms;

		if (!v->pieces.v[i].left_out && ms < from_ms && ms > last_ms)
			last_ms = ms;
	}
	return last_ms;
}

/* The earliest of these, of all streams that need what is before them; INT64_MAX: none does. */
static int64_t first_that_matters(const struct view *v)
{
	int64_t first_ms = INT64_MAX;

	for (size_t i = 0; i < v->streams.n; i++) {
		const struct view_stream *st = &v->streams.v[i];

		if (st->temporality != DCM_CUMULATIVE || !needs_before(&v->sel[st->selection]))
			continue;
		const int64_t ms = last_before(v, st);
		first_ms = ms < first_ms ? ms : first_ms;
	}
	return first_ms;
}

static void tell_gap(const struct dcm_budget *budget, const struct look_gap *g)
{
	char path[BLOCK_PATH_BYTES];
	const struct dcm_gap gap = {
		.size = sizeof(gap),
		.what = str__of(g->block ? commit__block_path(path, g->block) : WAL_DIR),
		.why = str__of(g->why),
		.from_ms = g->first_ms,
		.to_ms = g->last_ms < INT64_MAX ? g->last_ms + 1 : INT64_MAX,
		.n_profiles = g->n_profiles,
	};

	budget->gap(budget->gap_ctx, &gap);
}

static void tell_gaps(struct look *l)
{
	const struct dcm_budget *budget = l->view->n_sel ? l->view->sel[0].budget : NULL;

	if (!budget || !budget->gap)
		return;
	collect_gaps(l);
	const int64_t matters_ms = l->gaps.n || l->lacks_before.v.n ? first_that_matters(l->view)
								    : INT64_MAX;
	for (size_t i = 0; i < l->gaps.n; i++) {
		const struct look_gap *g = &l->gaps.v[i];

		if (is_asked_for(l, g->first_ms, g->last_ms) ||
		    (is_before(l, g->first_ms) && g->last_ms >= matters_ms))
			tell_gap(budget, g);
	}
	lacks__add(&l->lacks, &l->lacks_before, matters_ms);
	lacks__tell(&l->lacks, budget);
}

/* The look's entry of a block: they stand as they were written. */
static struct look_block *find_block(struct look *l, const struct block *block)
{
	const char *at = (const char *)block - offsetof(struct stored, map.block);
	const struct manifest_block *e = &((const struct stored *)(const void *)at)->entry;
	size_t low = 0, high = l->blocks.n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (manifest_block__compare(&l->blocks.v[middle].stored->entry, e) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return &l->blocks.v[low];
}

/* Is the piece as it was written, and the dictionary what does not fit? Then it is told as that. */
static bool is_lacking(struct look *l, struct look_block *b, const struct piece *p)
{
	const struct block *block = block_piece__block(p);

	if (!b->lacks || block__verify_chunk(block, p->at) != 0)
		return false;
	atomic_fetch_add_explicit(&l->store->n_unreadable, 1, memory_order_relaxed);
	atomic_store_explicit(&b->left_out, true, memory_order_relaxed);
	const struct lack lack = { b->stored->entry.era, p->first_ms, p->last_ms, p->n_profiles };
	if (!is_asked_for(l, p->first_ms, p->last_ms)) {
		if (is_before(l, p->first_ms))
			lacks__note(&l->lacks_before, &lack);
	} else if (!b->noted) {
		lacks__note(&l->lacks, &lack);
	}
	return true;
}

static void leave_out(void *ctx, const struct piece *p, int error)
{
	struct look *l = ctx;
	const struct block *block = block_piece__block(p);
	char path[BLOCK_PATH_BYTES];
	struct dcm_error err = DCM_ERROR_INIT;

	if (!block)
		return;
	struct look_block *b = find_block(l, block);
	if (is_lacking(l, b, p))
		return;
	error__sys(&err, error, "%s: a chunk is damaged, and left out of answers",
		   commit__block_path(path, b->stored->entry.number));
	atomic_store_explicit(&b->left_out, true, memory_order_relaxed);
	tell_unreadable(l->store, b->stored, err.text);
	/* A chunk's own times are not what they were when its directory is lost. */
	struct look_gap gap = gap_of(b->stored, "a part of it is damaged");
	if (p->n_profiles && p->first_ms >= gap.first_ms && p->last_ms <= gap.last_ms) {
		gap.first_ms = p->first_ms;
		gap.last_ms = p->last_ms;
	}
	gap.n_profiles = p->n_profiles;
	note_gap(l, b, &gap);
}

static void let_go(void *ctx)
{
	struct look *l = ctx;

	tell_gaps(l);
	lacks__fini(&l->lacks);
	lacks__fini(&l->lacks_before);
	pthread_mutex_destroy(&l->gaps_lock);
	vec__fini(&l->gaps);
	filters__unref(l->filters);
	for (size_t i = 0; i < l->blocks.n; i++)
		stored__unref(l->blocks.v[i].stored);
	for (size_t i = 0; i < l->pins.n; i++)
		era__unref(l->pins.v[i].era);
	vec__fini(&l->pins);
	vec__fini(&l->blocks);
	vec__fini(&l->eras);
	free(l);
}

static struct look *look__new(struct view *v, struct store *s)
{
	struct look *l = NEW(struct look);

	if (!l)
		return NULL;
	l->store = s;
	l->view = v;
	l->names_only = v->names_only;
	pthread_mutex_init(&l->gaps_lock, NULL);
	lacks__init(&l->lacks);
	lacks__init(&l->lacks_before);
	v->unreadable = leave_out;
	v->let_go = let_go;
	v->ctx = l;
	return l;
}

/* ---- under the lock ---- */

/* May a profile of the block matter? A cumulative one does, however long before the range. */
static bool is_wanted(const struct look *l, const struct stored *b)
{
	const bool cumulative = atomic_load_explicit(&b->cumulative, memory_order_relaxed) !=
				STORED_NOT_CUMULATIVE;

	for (uint32_t k = 0; k < l->view->n_sel; k++) {
		const struct dcm_select *sel = &l->view->sel[k];

		if (b->entry.first_ms < sel->to_ms &&
		    (b->entry.last_ms >= sel->from_ms || (cumulative && needs_before(sel))))
			return true;
	}
	return false;
}

/* The era's number in the view, which it gets when it has none yet. DCM_NONE: memory. */
static uint32_t view_era(struct look *l, struct era *e)
{
	struct dict *d = era__dict(e, l->names_only);
	const struct dict_counts counts = dict__counts(d);

	for (size_t i = 0; i < l->eras.n; i++)
		if (l->eras.v[i] == e)
			return (uint32_t)i;
	if (!vec__push(&l->eras, e))
		return DCM_NONE;
	return view__era(l->view, d, &counts);
}

static int expect_lacks(struct look *l, uint32_t era)
{
	const int r = lacks__expect(&l->lacks, era);

	return r ? r : lacks__expect(&l->lacks_before, era);
}

static int take_blocks(struct look *l)
{
	const struct store *s = l->store;

	for (size_t i = 0; i < s->blocks.n; i++) {
		struct stored *b = s->blocks.v[i];

		if (!is_wanted(l, b))
			continue;
		if (!era__dict(b->era, l->names_only)) {
			atomic_fetch_add_explicit(&l->store->n_unreadable, 1, memory_order_relaxed);
			const char *why = b->era->unreadable == -EPROTONOSUPPORT
						  ? "a later version wrote its dictionary"
						  : "its dictionary cannot be read";

			if (!vec__push(&l->gaps, gap_of(b, why)))
				return -ENOMEM;
			continue;
		}
		struct look_block take = { .stored = b, .era = view_era(l, b->era), .lacks = b->era->damaged };
		if (take.era == DCM_NONE || (take.lacks && expect_lacks(l, b->entry.era)) ||
		    !vec__reserve(&l->blocks, 1))
			return -ENOMEM;
		stored__ref(b);
		l->blocks.v[l->blocks.n++] = take;
	}
	return 0;
}

/* Which of them matter is known when the answer is. */
static int take_list(struct look *l, const loss_list *lost)
{
	bool ok = true;

	for (size_t i = 0; ok && i < lost->n; i++) {
		const struct loss *o = &lost->v[i];
		const struct look_gap gap = { o->block, o->first_ms, o->last_ms, o->n_profiles,
					      "it was damaged, and this is lost" };

		ok = vec__push(&l->gaps, gap);
	}
	return ok ? 0 : -ENOMEM;
}

/* What was lost for good; and room for what else may turn out to be. */
static int take_losses(struct look *l)
{
	int r = take_list(l, &l->store->lost);

	if (r == 0)
		r = take_list(l, &l->store->lost_frames.list);
	return r == 0 && vec__reserve(&l->gaps, l->blocks.n) ? 0 : -ENOMEM;
}

/* What the log has of a damaged era, as note_lacks() says it of blocks. */
static int note_head(struct look *l, const struct head *h)
{
	const struct view *v = l->view;
	int r = expect_lacks(l, h->era->number);

	for (size_t i = 0; r == 0 && i < h->streams.n; i++) {
		const struct stream *st = &h->streams.v[i];
		size_t from = st->profiles.n, to = 0;

		for (size_t k = 0; k < v->n_sel; k++) {
			const size_t first = stream__first_from(st, v->sel[k].from_ms);
			const size_t end = stream__first_from(st, v->sel[k].to_ms);

			from = first < end && first < from ? first : from;
			to = first < end && end > to ? end : to;
		}
		if (from < to)
			lacks__note(&l->lacks,
				    &(struct lack){ h->era->number, st->profiles.v[from]->time_ms,
						    st->profiles.v[to - 1]->time_ms, to - from });
	}
	return r;
}

static int take_heads(struct look *l, const struct heads *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n; i++) {
		const struct head *h = from->v[i];
		const uint32_t era = view_era(l, h->era);

		r = era == DCM_NONE ? -ENOMEM : stream_piece__add_all(l->view, era, &h->streams);
		if (r == 0 && h->era->damaged)
			r = note_head(l, h);
	}
	return r;
}

static void take_filters(struct look *l)
{
	const struct store *s = l->store;

	l->last_lsn = s->last_lsn;
	l->filters = filters__ref(s->filters);
	if (l->filters)
		l->view->filters = (struct view_filters){ l->filters->selects, l->filters->n };
}

static int take_all(struct look *l)
{
	const struct store *s = l->store;
	int r;

	take_filters(l);
	r = take_blocks(l);
	if (r == 0)
		r = take_losses(l);
	if (r == 0)
		r = take_heads(l, &s->sealing);
	return r ? r : take_heads(l, &s->active);
}

static bool has_pin(const struct look *l, const struct era *e)
{
	for (size_t i = l->pins.n; i > 0; i--)
		if (l->pins.v[i - 1].era == e)
			return true;
	return false;
}

/* References to the eras of all wanted blocks, and how many of them have to be read. */
static int pin_eras(struct look *l, uint64_t asked_at, size_t *ret_n_missing)
{
	const struct store *s = l->store;

	for (size_t i = 0; i < s->blocks.n; i++) {
		struct era *e = s->blocks.v[i]->era;

		if (has_pin(l, e) || !is_wanted(l, s->blocks.v[i]))
			continue;
		if (!vec__reserve(&l->pins, 1))
			return -ENOMEM;
		l->pins.v[l->pins.n++] = (struct look_pin){ .era = era__ref(e) };
		atomic_store_explicit(&e->asked_at, asked_at, memory_order_relaxed);
	}
	*ret_n_missing = 0;
	for (size_t i = 0; i < l->pins.n; i++)
		*ret_n_missing += !era__dict(l->pins.v[i].era, l->names_only) && !l->pins.v[i].failed;
	return 0;
}

struct labels_of {
	struct dict *dict; /* referenced */
	uint32_t n_series;
};
typedef VEC(struct labels_of) labels_list;

static bool list_dict(labels_list *list, struct dict *d)
{
	if (!d)
		return true;
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].dict == d)
			return true;
	if (!vec__push(list, (struct labels_of){ d, d->series.n }))
		return false;
	dict__ref(d);
	return true;
}

/* Of the dictionaries that will be asked about. */
static int list_labels(const struct look *l, labels_list *list)
{
	const struct store *s = l->store;
	const struct heads *heads[] = { &s->sealing, &s->active };
	bool ok = true;

	for (size_t i = 0; ok && i < l->pins.n; i++)
		ok = list_dict(list, era__dict(l->pins.v[i].era, l->names_only));
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; ok && i < heads[k]->n; i++)
			ok = list_dict(list, heads[k]->v[i]->era->dict);
	return ok ? 0 : -ENOMEM;
}

/* ---- without it ---- */

static int judge_labels(struct look *l, const labels_list *list)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = view__foresee(l->view, list->v[i].dict, list->v[i].n_series);
	return r;
}

static void labels_list__fini(labels_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		dict__unref(list->v[i].dict);
	vec__fini(list);
}

/*
 * Beyond what the store may have in memory, a question may have as much for its dictionaries as it
 * may for its answer. With the lock. 0 or -E2BIG.
 */
static int weigh_pinned(const struct look *l)
{
	const struct dcm_budget *budget = l->view->n_sel ? l->view->sel[0].budget : NULL;
	const uint64_t max = l->store->options.dictionary_max_bytes;
	uint64_t bytes = 0;

	if (!budget || !budget->max_bytes)
		return 0;
	for (size_t i = 0; i < l->pins.n; i++)
		bytes += eras__bytes(l->pins.v[i].era);
	return max && bytes > max && bytes - max > budget->max_bytes ? -E2BIG : 0;
}

/* 0: those that cannot be read say so; or -ENOMEM, or what ends the question. */
static int load_pinned(struct look *l)
{
	const struct store_options *o = &l->store->options;
	const struct dcm_budget *budget = l->view->sel[0].budget;
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->pins.n; i++) {
		struct look_pin *p = &l->pins.v[i];
		struct dcm_error err = DCM_ERROR_INIT;

		r = meter__look(l->store->host, budget);
		if (r)
			break;
		r = p->failed ? 0 : eras__load(l->store, p->era, l->names_only, &err);
		if (r == -ENOMEM)
			break;
		p->failed |= r != 0;
		if (r && !atomic_exchange(&p->era->told, true) && o->report)
			o->report(o->report_ctx, DCM_LOG_ERROR, err.text);
		pthread_rwlock_rdlock(&l->store->lock);
		r = weigh_pinned(l);
		pthread_rwlock_unlock(&l->store->lock);
	}
	eras__trim(l->store);
	return r;
}

/* Are there types of which increases are asked for? With the lock. */
static bool has_increases(const struct look *l)
{
	const struct dcm_str type = l->view->sel[0].type;

	for (size_t i = 0; i < l->pins.n; i++) {
		const struct dict *d = era__dict(l->pins.v[i].era, l->names_only);

		for (uint32_t k = 0; d && k < d->types.n; k++)
			if (dict__lacks_type(d, k) ||
			    (str__eq(dict__type_at(d, k)->text, type) &&
			     dict__type_at(d, k)->parts.temporality == DCM_CUMULATIVE))
				return true;
	}
	return false;
}

/*
 * One moment in which the dictionaries of all that is wanted are there, or could not be read.
 * Before it is one in which they are listed, so that their labels are judged.
 */
static int take_moment(struct look *l)
{
	struct store *s = l->store;
	const uint64_t asked_at = atomic_fetch_add_explicit(&s->n_asked, 1, memory_order_relaxed) + 1;
	bool judged = false, taken = false;
	int r = 0;

	while (r == 0 && !taken) {
		labels_list labels = { 0 };
		size_t n_missing = 0;

		pthread_rwlock_rdlock(&s->lock);
		r = pin_eras(l, asked_at, &n_missing);
		if (r == 0)
			r = weigh_pinned(l);
		if (r == 0 && n_missing == 0 && l->names_only && l->view->increases && has_increases(l)) {
			l->names_only = false;
			r = pin_eras(l, asked_at, &n_missing);
		}
		if (r == 0 && n_missing == 0) {
			r = judged ? take_all(l) : list_labels(l, &labels);
			taken = judged;
		}
		pthread_rwlock_unlock(&s->lock);
		if (r == 0 && n_missing) {
			r = load_pinned(l);
		} else if (r == 0 && !judged) {
			r = judge_labels(l, &labels);
			judged = true;
		}
		labels_list__fini(&labels);
	}
	return r;
}

/* Notes whether a later question must look at it for what is before its range. */
static void note_types(const struct look *l, const struct look_block *b, const struct block *block)
{
	const struct view_era *era = &l->view->eras.v[b->era];
	enum stored_cumulative found = STORED_NOT_CUMULATIVE;

	if (atomic_load_explicit(&b->stored->cumulative, memory_order_relaxed) != STORED_UNKNOWN)
		return;
	for (uint64_t i = 0; i < block->n_types; i++) {
		const uint32_t type = block->types[i].type;

		if (type >= era->counts.types || dict__lacks_type(era->dict, type) ||
		    dict__type_at(era->dict, type)->parts.temporality == DCM_CUMULATIVE)
			found = STORED_CUMULATIVE;
	}
	atomic_store_explicit(&b->stored->cumulative, (uint8_t)found, memory_order_relaxed);
}

/*
 * Pieces of the block, from this one on, that are in a range: what they refer to may be lost. One
 * that several selections want is there as often, one after the other.
 */
static void note_lacks(struct look *l, struct look_block *b, size_t from)
{
	const struct view *v = l->view;
	const struct view_piece *last = NULL;

	for (size_t i = from; b->lacks && i < v->pieces.n; i++) {
		const struct view_piece *p = &v->pieces.v[i];
		const struct dcm_select *sel = &v->sel[p->selection];

		if (p->piece.first_ms >= sel->to_ms || p->piece.last_ms < sel->from_ms ||
		    (last && last->piece.at == p->piece.at && last->piece.which == p->piece.which))
			continue;
		lacks__note(&l->lacks, &(struct lack){ b->stored->entry.era, p->piece.first_ms,
						       p->piece.last_ms, p->piece.n_profiles });
		last = p;
	}
	b->noted = true;
}

/* Why a block is in no answer, for who asked: what can be done about it as well, where that helps. */
static const char *why_unread(int error)
{
	switch (error) {
	case -EPROTONOSUPPORT:
		return "a later version wrote it";
	case -EACCES:
	case -EPERM:
		return "permission denied: let the user that runs decima read it";
	case -ENOENT:
		return "its file is missing";
	}
	return "it cannot be read";
}

static int add_blocks(struct look *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->blocks.n; i++) {
		struct look_block *b = &l->blocks.v[i];
		struct dcm_error err = DCM_ERROR_INIT;
		struct block_pieces from = {
			.era = b->era,
			.first_filter = filters__first(l->filters, b->stored->entry.number),
		};

		const size_t n_before = l->view->pieces.n;

		r = stored__block(b->stored, &from.block, &err);
		if (r == 0) {
			note_types(l, b, from.block);
			r = block_piece__add_all(l->view, &from);
			note_lacks(l, b, n_before);
			/* Its directory may have been lost meanwhile. */
			if (r == 0)
				r = stored__block(b->stored, &from.block, &err);
		}
		if (r < 0 && r != -ENOMEM) {
			atomic_store_explicit(&b->left_out, true, memory_order_relaxed);
			tell_unreadable(l->store, b->stored, err.text);
			const struct look_gap gap = gap_of(b->stored, why_unread(r));
			note_gap(l, b, &gap);
			r = 0;
		}
	}
	return r;
}

/* Puts the blocks before the pieces of heads, which are all that is there. */
static int add_blocks_first(struct look *l)
{
	struct view *v = l->view;
	VEC(struct view_piece) heads = { v->pieces.v, v->pieces.n, v->pieces.cap };

	v->pieces.v = NULL;
	v->pieces.n = v->pieces.cap = 0;
	int r = add_blocks(l);
	for (size_t i = 0; i < heads.n; i++) {
		const struct view_piece *p = &heads.v[i];

		if (r == 0)
			r = view__add(v, p->selection, &p->place, &p->piece);
		else if (p->piece.ops->release)
			p->piece.ops->release(&p->piece);
	}
	vec__fini(&heads);
	return r;
}

int look__take(struct view *v, struct store *s)
{
	struct look *l = look__new(v, s);
	int r = l ? take_moment(l) : -ENOMEM;

	if (r == 0)
		r = add_blocks_first(l);
	return r ? r : view__seal(v);
}
