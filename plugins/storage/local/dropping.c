/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/dropping.c - several filters of removals as one of a compaction
 */
#include "plugins/storage/local/dropping.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/local/look.h"

/* -------------------------------------------------------------------------------------------------
 * Judging
 */

/*
 * Does filter i take rows of that chunk's series and type? 1, 0, or -ENOMEM. Series come one after
 * the other.
 */
static int concerns(struct dropping *d, uint32_t i, const struct compact_place *p)
{
	const struct dcm_select *sel = &d->filters->selects[i];
	const struct view_era *era = &d->view.eras.v[0];
	const uint32_t series = p->chunk->entry->series, type = p->chunk->types[p->type].type;
	struct dropping_verdict *v = &d->verdicts[i];

	if (series >= era->counts.series || type >= era->counts.types)
		return 0;
	if (sel->type.n && !str__eq(sel->type, dict__type_at(era->dict, type)->text))
		return 0;
	if (v->series != series) {
		const int r = match__stream(&d->matches[i], series);

		if (r < 0)
			return r;
		*v = (struct dropping_verdict){ series, r == 1 };
	}
	return v->takes;
}

/*
 * 1 when a filter that concerns the place may take something that starts in [first_ms, last_ms]; 0;
 * or -ENOMEM.
 */
static int may_lose(struct dropping *d, const struct compact_place *p, int64_t first_ms, int64_t last_ms)
{
	int r = 0;

	for (uint32_t i = d->first[p->block]; r == 0 && i < d->filters->n; i++) {
		const struct dcm_select *sel = &d->filters->selects[i];

		if (last_ms >= sel->from_ms && first_ms < sel->to_ms)
			r = concerns(d, i, p);
	}
	return r;
}

static int ask_chunk(const struct dropping *d, const struct compact_place *p)
{
	return d->of.also && d->of.also->chunk ? d->of.also->chunk(d->of.also->ctx, p) : COMPACT_KEEP;
}

static int ask_profile(const struct dropping *d, const struct compact_place *p)
{
	const int r = ask_chunk(d, p);

	return r == COMPACT_ASK ? d->of.also->profile(d->of.also->ctx, p) : r;
}

static int judge_chunk(void *ctx, const struct compact_place *p)
{
	struct dropping *d = ctx;
	const int also = ask_chunk(d, p);

	if (also != COMPACT_KEEP || d->hidden.v.n)
		return also == COMPACT_KEEP ? COMPACT_ASK : also;
	const int r = may_lose(d, p, p->chunk->entry->first_ms, p->chunk->entry->last_ms);
	return r < 0 ? r : r ? COMPACT_ASK : COMPACT_KEEP;
}

static int judge_profile(void *ctx, const struct compact_place *p)
{
	struct dropping *d = ctx;
	const struct hidden_profile here = { .block = d->of.blocks[p->block],
					     .series = p->chunk->entry->series,
					     .type = p->chunk->types[p->type].type,
					     .time_ms = p->time_ms };
	const bool hidden = hidden__take(&d->hidden, &here);
	const int also = ask_profile(d, p);

	if (hidden || also != COMPACT_KEEP)
		return hidden ? COMPACT_DROP : also;
	const int r = may_lose(d, p, p->time_ms, p->time_ms);
	return r < 0 ? r : r ? COMPACT_ASK : COMPACT_KEEP;
}

static int judge_row(void *ctx, const struct compact_place *p)
{
	struct dropping *d = ctx;
	int also = ask_profile(d, p);
	uint32_t group;

	if (also == COMPACT_ASK)
		also = d->of.also->row(d->of.also->ctx, p);
	if (also < 0 || also == COMPACT_DROP || p->label_set >= d->view.eras.v[0].counts.label_sets)
		return also;
	for (uint32_t i = d->first[p->block]; i < d->filters->n; i++) {
		const struct dcm_select *sel = &d->filters->selects[i];

		if (p->time_ms < sel->from_ms || p->time_ms >= sel->to_ms)
			continue;
		const int r = concerns(d, i, p);
		if (r < 0 || (r && match__row(&d->matches[i], p->label_set, &group) < 0))
			return -ENOMEM;
		if (r && group != MATCH_NONE)
			return COMPACT_DROP;
	}
	return COMPACT_KEEP;
}

/* -------------------------------------------------------------------------------------------------
 * Beginning and end
 */

static const struct dcm_select everything = { .size = sizeof(everything),
					      .from_ms = INT64_MIN,
					      .to_ms = INT64_MAX };

static int look_at_era(struct dropping *d, struct store *s, struct dcm_error *err)
{
	struct era *era;
	int r = store__era(s, d->of.inputs[0]->entry.era, &era, err);

	if (r)
		return r;
	pthread_rwlock_rdlock(&s->lock);
	const struct dict_counts counts = dict__counts(era->dict);
	pthread_rwlock_unlock(&s->lock);
	view__init(&d->view, s->host, &everything, 1);
	r = view__era(&d->view, era->dict, &counts) == DCM_NONE ? -ENOMEM : view__seal(&d->view);
	era__unref(era);
	if (r == 0)
		r = groups__init(&d->groups, NULL, false);
	d->matches = mem__zalloc(d->filters->n, sizeof(*d->matches));
	d->verdicts = mem__zalloc(d->filters->n, sizeof(*d->verdicts));
	if (r < 0 || !d->matches || !d->verdicts)
		return error__nomem(err);
	for (uint32_t i = 0; r == 0 && i < d->filters->n; i++) {
		d->verdicts[i].series = DCM_NONE;
		r = match__init(&d->matches[i], &d->view, &d->filters->selects[i], &d->groups);
	}
	return r ? error__nomem(err) : 0;
}

/* What is replaced of the blocks by whatever there is. */
static int find_hidden(struct dropping *d, struct store *s, struct dcm_error *err)
{
	struct dcm_select around = everything;
	struct view view;

	around.from_ms = INT64_MAX;
	around.to_ms = INT64_MIN;
	for (uint32_t i = 0; i < d->of.n; i++) {
		const struct manifest_block *e = &d->of.inputs[i]->entry;
		const int64_t end_ms = e->last_ms < INT64_MAX ? e->last_ms + 1 : INT64_MAX;

		around.from_ms = e->first_ms < around.from_ms ? e->first_ms : around.from_ms;
		around.to_ms = end_ms > around.to_ms ? end_ms : around.to_ms;
	}
	view__init(&view, s->host, &around, 1);
	int r = look__take(&view, s);
	if (r == 0)
		r = hidden__find(&d->hidden, &view);
	view__fini(&view);
	return r ? error__nomem(err) : 0;
}

int dropping__init(struct dropping *d, struct store *s, const struct dropping_of *of,
		   struct dcm_error *err)
{
	*d = (struct dropping){ .of = *of, .filters = filters__ref(s->filters) };
	d->filter = (struct compact_filter){ judge_chunk, judge_profile, judge_row, d };
	for (uint32_t i = 0; i < of->n; i++) {
		d->first[i] = filters__first(d->filters, of->inputs[i]->entry.number);
		d->any |= d->first[i] < filters__n(d->filters);
	}
	if (!d->any)
		return 0;
	int r = look_at_era(d, s, err);
	return r ? r : find_hidden(d, s, err);
}

void dropping__fini(struct dropping *d)
{
	for (uint32_t i = 0; d->matches && i < d->filters->n; i++)
		match__fini(&d->matches[i]);
	free(d->matches);
	free(d->verdicts);
	groups__fini(&d->groups);
	view__fini(&d->view);
	hidden__fini(&d->hidden);
	filters__unref(d->filters);
	*d = (struct dropping){ .any = false };
}
