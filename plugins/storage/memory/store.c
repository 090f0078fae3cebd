/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/store.c - the state, and writing
 */
#include "plugins/storage/memory/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "plugins/storage/memory/expire.h"

struct store *store__new(struct store_limits limits)
{
	struct store *s = NEW(struct store);

	if (!s)
		return NULL;
	struct dict *dict = dict__new();
	if (!dict) {
		free(s);
		return NULL;
	}
	streams__init(&s->streams, dict);
	s->limits = limits;
	pthread_rwlockattr_t attr;
	pthread_rwlockattr_init(&attr);
	/* Many short readers must not keep a writer out for ever. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	return s;
}

void store__free(struct store *s)
{
	if (!s)
		return;
	streams__fini(&s->streams);
	seen__fini(&s->seen);
	pthread_rwlock_destroy(&s->lock);
	free(s);
}

static bool same_id(const struct dcm_batch_id *a, const struct dcm_batch_id *b)
{
	return a->source.lo == b->source.lo && a->source.hi == b->source.hi &&
	       a->sequence == b->sequence && (a->source.lo || a->source.hi);
}

/* Seen before, or twice in this very call. */
static bool is_retry(const struct store *s, struct dcm_batch *const *batches, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (same_id(&batches[j]->id, &batches[i]->id))
			return true;
	return seen__has(&s->seen, &batches[i]->id);
}

int store__write(struct store *s, struct dcm_batch *const *batches, uint32_t n, int64_t now_ms,
		 struct store_news *ret_news)
{
	struct streams_plan plan = { 0 };
	int r;

	pthread_rwlock_wrlock(&s->lock);
	s->streams.max_series = s->limits.max_series;
	r = seen__reserve(&s->seen, n);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (!is_retry(s, batches, i))
			r = streams__plan(&s->streams, &plan, batches[i], INT64_MIN, INT64_MAX);
	if (r == 0) {
		streams__apply(&s->streams, &plan);
		for (uint32_t i = 0; i < n; i++)
			seen__add(&s->seen, &batches[i]->id);
		ret_news->overflow.n_folded += plan.overflow.n_folded;
		ret_news->overflow.n_refused += plan.overflow.n_refused;
		s->overflow.n_folded += plan.overflow.n_folded;
		s->overflow.n_refused += plan.overflow.n_refused;
		expire__tend(s, now_ms, ret_news);
	}
	pthread_rwlock_unlock(&s->lock);
	streams_plan__fini(&plan);
	return r;
}

void store__tend(struct store *s, int64_t now_ms, struct store_news *ret_news)
{
	pthread_rwlock_wrlock(&s->lock);
	expire__tend(s, now_ms, ret_news);
	pthread_rwlock_unlock(&s->lock);
}

void store__retain(struct store *s, int64_t cutoff_ms, uint64_t max_bytes, uint64_t *ret_n_profiles)
{
	struct store_news news = { 0 };

	pthread_rwlock_wrlock(&s->lock);
	expire__before(s, cutoff_ms, &news);
	uint64_t n = news.n_expired;
	if (max_bytes)
		expire__to_bytes(s, max_bytes, &news);
	pthread_rwlock_unlock(&s->lock);
	*ret_n_profiles = n + news.n_evicted;
}
