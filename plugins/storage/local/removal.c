/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/removal.c - commits a filter for what was found, and works it off
 *
 * Blocks with states that a later one has replaced (removal_find.h) are listed by the filter too,
 * and are written anew in the order in which they were written at first, the older state before the
 * newer. One that is replaced by a state in a head becomes a case of two blocks by a seal.
 */
#include "plugins/storage/local/removal.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "plugins/storage/answer/stream_piece.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/quarantine.h"
#include "plugins/storage/local/removal_find.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"

enum { SEALS_MAX = 4 };

struct removal {
	struct store *store;
	const struct dcm_select *sel;
	struct removal_found found;
	struct filters *filters; /* as they will be */
};

static void removal__fini(struct removal *m)
{
	removal_found__fini(&m->found);
	filters__unref(m->filters);
}

/* -------------------------------------------------------------------------------------------------
 * Heads
 */

static bool put_into(struct thin_change *c, const struct era *era, const struct heads *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i]->era == era && thin__put(c, &h->v[i]->streams))
			return true;
	return false;
}

/*
 * With the lock for writing. A profile that is not there any more was replaced by a state that came
 * later.
 */
static void put_all(struct store *s, struct thin *thin, struct era *const *eras)
{
	for (size_t i = 0; i < thin->v.n; i++) {
		struct thin_change *c = &thin->v.v[i];

		if (!put_into(c, eras[c->place.era], &s->sealing))
			put_into(c, eras[c->place.era], &s->active);
	}
	if (thin->v.n) {
		heads__measure(&s->sealing);
		heads__measure(&s->active);
	}
	kept__count_heads(s);
}

/* -------------------------------------------------------------------------------------------------
 * One removal
 */

/* The number behind the last block's. */
static uint64_t next_block(const struct store *s)
{
	uint64_t next = 0;

	for (size_t i = 0; i < s->blocks.n; i++)
		next = s->blocks.v[i]->entry.number >= next ? s->blocks.v[i]->entry.number + 1 : next;
	return next;
}

static int make_filters(struct removal *m, struct dcm_error *err)
{
	const struct store *s = m->store;
	const uint32_t n = filters__n(s->filters);
	const struct filter *last = n ? s->filters->v[n - 1] : NULL;
	struct filter_parts parts = { .select = m->sel,
				      .lsn = m->found.thin.v.n ? look__of(&m->found.view)->last_lsn : 0,
				      .before_block = next_block(s),
				      .made_ms = s->host->real_ns(s->host) / 1000000,
				      .blocks = m->found.blocks.v,
				      .n_blocks = (uint32_t)m->found.blocks.n };
	struct filter *v[FILTERS_MAX];

	/* Both ascend: a set is in the order in which it was made. */
	if (last && last->lsn > parts.lsn)
		parts.lsn = last->lsn;
	if (last && last->before_block > parts.before_block)
		parts.before_block = last->before_block;
	for (uint32_t i = 0; i < n; i++)
		v[i] = s->filters->v[i];
	int r = filter__new(s->host, &parts, &v[n], err);
	if (r)
		return r;
	m->filters = filters__of(v, n + 1);
	filter__unref(v[n]);
	return m->filters ? 0 : error__nomem(err);
}

/* commit_change.edit */
static int write_filters(void *ctx, struct manifest *next, struct dcm_error *err)
{
	const int r = filters__write(next, ctx);

	return r ? error__sys(err, r, "cannot list what was removed") : 0;
}

/* What somebody writes anew of a block that it lists has what goes. */
static void outdate(struct store *s, const struct filter *f)
{
	for (size_t i = 0; i < s->blocks.n; i++)
		if (filter__lists(f, s->blocks.v[i]->entry.number))
			atomic_store(&s->blocks.v[i]->outdated, true);
}

/* With `work`. 0: durable. */
static int change(struct removal *m, struct dcm_error *err)
{
	struct store *s = m->store;
	const struct commit_change change = { .edit = write_filters, .ctx = m->filters };
	int r = commit__apply(s->commit, &change, err);

	if (r)
		return r;
	outdate(s, m->filters->v[m->filters->n - 1]);
	pthread_rwlock_wrlock(&s->lock);
	struct filters *old = s->filters;
	s->filters = filters__ref(m->filters);
	put_all(s, &m->found.thin, look__of(&m->found.view)->eras.v);
	pthread_rwlock_unlock(&s->lock);
	filters__unref(old);
	return commit__settle(s->commit, err);
}

static int step(struct store *s, const struct rework_yield *yield, struct dcm_error *err);

/* How long who removes waits for the blocks of earlier removals. */
struct patience {
	const struct dcm_host *host;
	const struct dcm_budget *budget;
};

/* A rework_yield.fn. */
static bool is_over(void *patience)
{
	const struct patience *p = patience;

	return meter__look(p->host, p->budget) < 0;
}

/* With `work`, which others may have meanwhile. There is room for one more filter, or why not. */
static int make_room(struct store *s, const struct dcm_budget *budget, struct dcm_error *err)
{
	struct patience patience = { s->host, budget };
	const struct rework_yield yield = { is_over, &patience };
	int r = 1;

	while (r == 1 && filters__n(s->filters) >= FILTERS_MAX) {
		r = meter__look(s->host, budget);
		r = r ? r : step(s, &yield, err);
	}
	if (filters__n(s->filters) < FILTERS_MAX)
		return 0;
	/* What ended the step may be the budget's end. */
	const int over = meter__look(s->host, budget);
	if (over || r == 0)
		return error__set(err, over ? over : -EAGAIN,
				  "%d removals wait to be worked off: later", FILTERS_MAX);
	return r;
}

/* With `work`, which others may have before it looks. 1: try again after a seal. */
static int remove_now(struct store *s, const struct dcm_select *sel, uint64_t *ret_n,
		      struct dcm_error *err)
{
	struct removal m = { .store = s, .sel = sel };
	int r = make_room(s, sel->budget, err);

	if (r)
		return r;
	r = meter__explain(removal_found__take(&m.found, s, sel), sel->budget, err);
	if (r == 0 && (m.found.blocks.n || m.found.thin.v.n)) {
		r = make_filters(&m, err);
		if (r == 0)
			r = change(&m, err);
	} else if (r == 0) {
		r = commit__settle(s->commit, err); /* that it has gone before may not be durable yet */
	}
	if (r == 0)
		*ret_n = m.found.n;
	removal__fini(&m);
	return r;
}

/* With `work`, when the removal is durable. */
static int remove_aside(struct store *s, const struct dcm_select *sel, struct dcm_error *err)
{
	const int r = quarantine__trim(s, sel, err);

	if (r)
		error__prefix(err, "no answer has it, but a file set aside may: remove it again");
	return r;
}

int removal__select(struct store *s, const struct dcm_select *sel, uint64_t *ret_n, struct dcm_error *err)
{
	int r = 1;

	for (int i = 0; r == 1 && i < SEALS_MAX; i++) {
		int sealed = i ? upkeep__seal(s, err) : 0;

		if (sealed)
			return sealed;
		pthread_mutex_lock(&s->work);
		r = remove_now(s, sel, ret_n, err);
		if (r == 0)
			r = remove_aside(s, sel, err);
		pthread_mutex_unlock(&s->work);
	}
	return r == 1 ? error__set(err, -EAGAIN, "what is removed is written at the same time: later")
		      : r;
}

/* -------------------------------------------------------------------------------------------------
 * Working it off
 */

static bool is_done(const struct store *s, const struct filter *f)
{
	const struct manifest *m = commit__manifest(s->commit);

	for (uint32_t i = 0; i < f->n_blocks; i++)
		if (manifest__find(m, f->blocks[i]) >= 0)
			return false;
	return f->lsn <= m->sealed_lsn;
}

/* Filters that are done go. 1: some did. */
static int forget(struct store *s, struct dcm_error *err)
{
	struct filter *left[FILTERS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < filters__n(s->filters); i++)
		if (!is_done(s, s->filters->v[i]))
			left[n++] = s->filters->v[i];
	if (n == filters__n(s->filters))
		return 0;
	struct filters *next = filters__of(left, n);
	if (n && !next)
		return error__nomem(err);
	const struct commit_change change = { .edit = write_filters, .ctx = next };
	int r = commit__apply(s->commit, &change, err);
	if (r) {
		filters__unref(next);
		return r;
	}
	pthread_rwlock_wrlock(&s->lock);
	struct filters *old = s->filters;
	s->filters = next;
	kept__count_heads(s);
	pthread_rwlock_unlock(&s->lock);
	filters__unref(old);
	return 1;
}

/*
 * With `work`, which others may have meanwhile. One after the other, as they were written; what
 * cannot be read keeps nothing else from being written anew.
 */
static int step(struct store *s, const struct rework_yield *yield, struct dcm_error *err)
{
	struct manifest_block last = { .number = 0 };
	bool failed = false;
	int r = 0;

	for (size_t i = 0; stored__fault(r) != STORED_ELSEWHERE && i < s->blocks.n; i++) {
		struct dcm_error own = DCM_ERROR_INIT;

		/* One that failed had others change the list meanwhile. */
		if (failed && manifest_block__compare(&s->blocks.v[i]->entry, &last) <= 0)
			continue;
		if (!filters__list(s->filters, s->blocks.v[i]->entry.number))
			continue;
		if (s->blocks.v[i]->reworked) {
			rework__wait(s);
			return 1;
		}
		struct stored *b = stored__ref(s->blocks.v[i]);
		int one = rework__block(s, b, NULL, yield, &own);
		last = b->entry;
		failed = true;
		stored__unref(b);
		if (one >= 0)
			return 1;
		i = SIZE_MAX; /* from the first one on */
		if (r == 0 || stored__fault(one) == STORED_ELSEWHERE)
			r = error__set(err, one, "%s", own.text);
	}
	if (stored__fault(r) == STORED_ELSEWHERE)
		return r;
	int gone = forget(s, r ? NULL : err);
	return gone == 1 || r == 0 ? gone : r;
}

static bool has_heads(struct store *s)
{
	pthread_rwlock_rdlock(&s->lock);
	bool any = heads__bytes(&s->active) || heads__bytes(&s->sealing);
	pthread_rwlock_unlock(&s->lock);
	return any;
}

int removal__step(struct store *s, const struct rework_yield *yield, struct dcm_error *err)
{
	pthread_mutex_lock(&s->work);
	int r = step(s, yield, err);
	bool waits = r == 0 && filters__n(s->filters) > 0;
	pthread_mutex_unlock(&s->work);
	/* Frames of which nothing is left wait for nobody's seal. */
	if (waits && !has_heads(s)) {
		r = upkeep__seal(s, err);
		pthread_mutex_lock(&s->work);
		if (r == 0)
			r = forget(s, err);
		pthread_mutex_unlock(&s->work);
	}
	return r;
}

int removal__drain(struct store *s, struct dcm_error *err)
{
	int r;

	do
		r = removal__step(s, NULL, err);
	while (r == 1);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * By age and by bytes
 */

int removal__before(struct store *s, int64_t cutoff_ms, uint64_t *ret_n, struct dcm_error *err)
{
	const struct dcm_select old = { .size = sizeof(old), .from_ms = INT64_MIN, .to_ms = cutoff_ms };
	uint64_t n = 0;
	int r = removal__select(s, &old, &n, err);

	*ret_n += n;
	return r ? r : removal__drain(s, err);
}

/*
 * How far to go in time for the bytes that are too many, as if they lay evenly in it; never less
 * than a millisecond.
 */
static int64_t time_to_go(struct store *s, uint64_t max_bytes)
{
	int64_t first_ms = INT64_MAX, last_ms = INT64_MIN;
	uint64_t bytes = 0;

	pthread_rwlock_rdlock(&s->lock);
	for (size_t i = 0; i < s->blocks.n; i++) {
		const struct manifest_block *e = &s->blocks.v[i]->entry;

		bytes += e->bytes;
		first_ms = e->first_ms < first_ms ? e->first_ms : first_ms;
		last_ms = e->last_ms > last_ms ? e->last_ms : last_ms;
	}
	pthread_rwlock_unlock(&s->lock);
	if (bytes <= max_bytes)
		return INT64_MIN;
	double part = (double)(bytes - max_bytes) / (double)bytes;
	return first_ms + 1 + (int64_t)(part * (double)(last_ms - first_ms));
}

int removal__to(struct store *s, uint64_t max_bytes, uint64_t *ret_n, struct dcm_error *err)
{
	int64_t until_ms;
	int r = upkeep__seal(s, err);

	if (r == 0)
		r = removal__drain(s, err); /* what has gone has bytes no more */
	while (r == 0 && (until_ms = time_to_go(s, max_bytes)) != INT64_MIN)
		r = removal__before(s, until_ms, ret_n, err);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Replay
 */

static int add_heads(struct view *v, const struct heads *h)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < h->n; i++) {
		const struct dict_counts counts = dict__counts(h->v[i]->era->dict);
		const uint32_t era = view__era(v, h->v[i]->era->dict, &counts);

		r = era == DCM_NONE ? -ENOMEM : stream_piece__add_all(v, era, &h->v[i]->streams);
	}
	return r;
}

/* Nobody else is there yet. A head of each era: those of the log are active ones. */
static int thin_by(struct store *s, const struct dcm_select *sel)
{
	VEC(struct era *) eras = { 0 };
	struct meter meter = { .host = s->host };
	struct groups groups = { 0 };
	struct match match = { 0 };
	struct thin thin = { 0 };
	struct view v;
	int r = vec__reserve(&eras, s->active.n + 1) ? 0 : -ENOMEM;

	view__init(&v, s->host, sel, 1);
	for (size_t i = 0; r == 0 && i < s->active.n; i++)
		eras.v[eras.n++] = s->active.v[i]->era;
	if (r == 0)
		r = add_heads(&v, &s->active);
	if (r == 0)
		r = view__seal(&v);
	if (r == 0)
		r = groups__init(&groups, NULL, false);
	if (r == 0)
		r = match__init(&match, &v, sel, &groups);
	if (r == 0)
		r = thin__view(&thin, &match, &meter);
	if (r == 0)
		put_all(s, &thin, eras.v);
	thin__fini(&thin);
	match__fini(&match);
	groups__fini(&groups);
	view__fini(&v);
	vec__fini(&eras);
	return r;
}

int removal__replay(struct store *s, uint64_t lsn)
{
	int r = 0;

	while (r == 0 && s->n_replayed < filters__n(s->filters) &&
	       s->filters->v[s->n_replayed]->lsn <= lsn) {
		r = thin_by(s, &s->filters->selects[s->n_replayed]);
		s->n_replayed += r == 0;
	}
	return r;
}
