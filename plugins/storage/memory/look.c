/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/look.c - takes references under the lock
 */
#include "plugins/storage/memory/look.h"

#include <errno.h>

#include "plugins/storage/answer/stream_piece.h"

/* Labels are judged before the moment: regular expressions run without the lock. */
static int foresee(struct view *v, struct store *s)
{
	pthread_rwlock_rdlock(&s->lock);
	struct dict *d = dict__ref(s->streams.dict);
	const uint32_t n = d->series.n;
	pthread_rwlock_unlock(&s->lock);
	const int r = view__foresee(v, d, n);
	dict__unref(d);
	return r;
}

int look__take(struct view *v, struct store *s, uint64_t *ret_era)
{
	int r = foresee(v, s);

	if (r < 0)
		return r;
	pthread_rwlock_rdlock(&s->lock);
	const struct dict_counts counts = dict__counts(s->streams.dict);
	const uint32_t era = view__era(v, s->streams.dict, &counts);
	r = era == DCM_NONE ? -ENOMEM : stream_piece__add_all(v, era, &s->streams);
	if (ret_era)
		*ret_era = s->era;
	pthread_rwlock_unlock(&s->lock);
	return r < 0 ? r : view__seal(v);
}
