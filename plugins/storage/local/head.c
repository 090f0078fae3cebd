/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/head.c - streams by era, and batches on their way into them
 */
#include "plugins/storage/local/head.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"

static void head__free(struct head *h)
{
	if (!h)
		return;
	streams__fini(&h->streams);
	era__unref(h->era);
	free(h);
}

void heads__fini(struct heads *h)
{
	for (size_t i = 0; i < h->n; i++)
		head__free(h->v[i]);
	vec__fini(h);
}

void heads__drop_empty(struct heads *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		if (h->v[i]->streams.n_profiles)
			h->v[n++] = h->v[i];
		else
			head__free(h->v[i]);
	}
	h->n = n;
}

void heads__measure(struct heads *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct streams *s = &h->v[i]->streams;

		h->v[i]->oldest_ms = INT64_MAX;
		s->newest_ms = INT64_MIN;
		for (size_t k = 0; k < s->n; k++) {
			const struct stream *st = &s->v[k];

			if (!st->profiles.n)
				continue;
			const int64_t first_ms = st->profiles.v[0]->time_ms;
			const int64_t last_ms = st->profiles.v[st->profiles.n - 1]->time_ms;

			if (first_ms < h->v[i]->oldest_ms)
				h->v[i]->oldest_ms = first_ms;
			if (last_ms > s->newest_ms)
				s->newest_ms = last_ms;
		}
	}
}

uint64_t heads__bytes(const struct heads *h)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < h->n; i++)
		bytes += streams__bytes(&h->v[i]->streams);
	return bytes;
}

bool heads__any_full(const struct heads *h, uint64_t era_max_bytes)
{
	bool any = false;

	for (size_t i = 0; !any && i < h->n; i++)
		any = era__is_full(h->v[i]->era, era_max_bytes);
	return any;
}

static struct head *find_head(const struct heads *h, int64_t begin_ms, uint64_t era_max_bytes)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i]->era->begin_ms == begin_ms && era__takes_more(h->v[i]->era, era_max_bytes))
			return h->v[i];
	return NULL;
}

static struct head *make_head(struct heads *h, struct era *of)
{
	struct head *head = NEW(struct head);

	if (!head || !vec__push(h, head)) {
		free(head);
		return NULL;
	}
	head->era = era__ref(of);
	head->oldest_ms = INT64_MAX;
	streams__init(&head->streams, dict__ref(of->dict));
	return head;
}

static int find_or_make_head(struct heads *h, int64_t begin_ms, const struct heads_source *source,
			     struct head **ret, struct dcm_error *err)
{
	struct era *of = NULL;
	struct head *head = find_head(h, begin_ms, source->era_max_bytes);
	int r = head ? 0 : source->era(source->ctx, begin_ms, &of, err);

	if (r)
		return r;
	if (!head)
		head = make_head(h, of);
	if (!head)
		return error__nomem(err);
	*ret = head;
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Batches
 */

void heads_plan__fini(struct heads_plan *p)
{
	for (size_t i = 0; i < p->items.n; i++)
		streams_plan__fini(&p->items.v[i].plan);
	vec__fini(&p->items);
}

static struct streams_plan *plan_of(struct heads_plan *plan, struct head *head)
{
	for (size_t i = 0; i < plan->items.n; i++)
		if (plan->items.v[i].head == head)
			return &plan->items.v[i].plan;
	if (!vec__push(&plan->items, (struct head_planned){ .head = head }))
		return NULL;
	return &plan->items.v[plan->items.n - 1].plan;
}

int heads__plan_of(struct heads *h, struct heads_plan *plan, struct era *e, struct head **ret_head,
		   struct streams_plan **ret)
{
	struct head *head = NULL;

	for (size_t i = 0; !head && i < h->n; i++)
		head = h->v[i]->era == e ? h->v[i] : NULL;
	if (!head)
		head = make_head(h, e);
	struct streams_plan *of = head ? plan_of(plan, head) : NULL;
	if (!of)
		return -ENOMEM;
	*ret_head = head;
	*ret = of;
	return 0;
}

int64_t heads__next_era(const struct dcm_batch *b, const struct heads_window *window, int64_t after)
{
	int64_t next = INT64_MAX;

	for (uint32_t i = 0; i < b->n_profiles; i++) {
		int64_t time_ms = streams__ms(b->profiles[i].time_ns);
		int64_t begin_ms = era__begin_of(time_ms);

		if (time_ms >= window->from_ms && time_ms < window->until_ms && begin_ms > after &&
		    begin_ms < next)
			next = begin_ms;
	}
	return next;
}

static int plan_era(struct streams *s, struct streams_plan *plan, const struct dcm_batch *b,
		    int64_t begin_ms, const struct heads_source *source)
{
	const struct heads_window *w = &source->window;
	const int64_t end_ms = begin_ms + ERA_MS;

	s->max_series = source->max_series;
	return streams__plan(s, plan, b, w->from_ms > begin_ms ? w->from_ms : begin_ms,
			     w->until_ms < end_ms ? w->until_ms : end_ms);
}

int heads__plan(struct heads *h, struct heads_plan *plan, const struct dcm_batch *b,
		const struct heads_source *source, struct heads_refused *ret, struct dcm_error *err)
{
	const struct heads_window *w = &source->window;
	int64_t begin_ms = INT64_MIN;

	while ((begin_ms = heads__next_era(b, w, begin_ms)) != INT64_MAX) {
		struct head *head = NULL;
		int r = find_or_make_head(h, begin_ms, source, &head, err);
		struct streams_plan *of = r ? NULL : plan_of(plan, head);

		if (r)
			return r;
		if (!of || plan_era(&head->streams, of, b, begin_ms, source) < 0)
			return error__nomem(err);
	}
	for (uint32_t i = 0; i < b->n_profiles; i++) {
		const int64_t time_ms = streams__ms(b->profiles[i].time_ns);

		ret->n_too_old += time_ms < w->from_ms ? b->profiles[i].n_types : 0;
		ret->n_too_new += time_ms >= w->until_ms ? b->profiles[i].n_types : 0;
	}
	return 0;
}

static void apply_plan(struct head *head, struct streams_plan *plan)
{
	for (size_t i = 0; i < plan->items.n; i++) {
		const int64_t time_ms = plan->items.v[i].profile->time_ms;

		head->oldest_ms = time_ms < head->oldest_ms ? time_ms : head->oldest_ms;
	}
	streams__apply(&head->streams, plan);
}

void heads__apply(struct heads_plan *plan)
{
	for (size_t i = 0; i < plan->items.n; i++)
		apply_plan(plan->items.v[i].head, &plan->items.v[i].plan);
}
