/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/remove.c - removes rows by selection
 *
 * What is to go is found without the lock, in a view, and put into effect under it. The ids of a
 * view are void when the dictionary was rebuilt in between; then it starts again.
 */
#include "plugins/storage/memory/remove.h"

#include <errno.h>

#include "plugins/storage/answer/thin.h"
#include "plugins/storage/memory/expire.h"
#include "plugins/storage/memory/look.h"

/* Rebuilds are rare; more in a row than this is a store that has no time for us. */
enum { REMOVE_TRIES = 16 };

/* -EAGAIN: the store was rebuilt since the view was taken. */
static int apply(struct store *s, struct thin *changes, uint64_t era, uint64_t *ret_n)
{
	uint64_t n = 0;
	int r = -EAGAIN;

	pthread_rwlock_wrlock(&s->lock);
	if (s->era == era) {
		/* One that is not there any more has expired, or was replaced by a newer state. */
		for (size_t i = 0; i < changes->v.n; i++)
			n += thin__put(&changes->v.v[i], &s->streams);
		expire__shed(s);
		*ret_n = n;
		r = 0;
	}
	pthread_rwlock_unlock(&s->lock);
	return r;
}

static int try(struct store *s, const struct dcm_host *host, const struct dcm_select *sel, uint64_t *ret_n)
{
	struct view view;
	struct groups groups = { 0 };
	struct match match = { 0 };
	struct thin changes = { 0 };
	uint64_t era = 0;
	struct meter meter = { .host = host, .budget = sel->budget };
	int r;

	view__init(&view, host, sel, 1);
	r = look__take(&view, s, &era);
	if (r == 0)
		r = groups__init(&groups, NULL, false);
	if (r == 0)
		r = match__init(&match, &view, sel, &groups);
	if (r == 0)
		r = thin__view(&changes, &match, &meter);
	if (r == 0)
		r = apply(s, &changes, era, ret_n);
	thin__fini(&changes);
	match__fini(&match);
	groups__fini(&groups);
	view__fini(&view);
	return r;
}

int remove__selected(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		     uint64_t *ret_n)
{
	int r = -EAGAIN;

	for (int i = 0; i < REMOVE_TRIES && r == -EAGAIN; i++)
		r = try(s, host, sel, ret_n);
	return r;
}
