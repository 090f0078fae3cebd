/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/stored.c - a block of the store, mapped when it is first looked at
 */
#include "plugins/storage/local/stored.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/storage/local/commit.h"

struct stored *stored__new(struct vfs *v, struct era *era, const struct manifest_block *entry)
{
	struct stored *s = NEW(struct stored);

	if (!s)
		return NULL;
	s->refs = 1;
	s->entry = *entry;
	s->era = era__ref(era);
	s->vfs = v;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

struct stored *stored__ref(struct stored *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void stored__unref(struct stored *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	block_map__close(&s->map);
	pthread_mutex_destroy(&s->lock);
	era__unref(s->era);
	free(s);
}

/* Something that was mapped has been lost, here or elsewhere. */
static int check_again(const struct stored *s, struct dcm_error *err)
{
	char path[BLOCK_PATH_BYTES];
	struct block block;
	int r = block__open(&block, s->map.bytes, s->map.n, err);

	if (r < 0)
		error__prefix(err, "%s", commit__block_path(path, s->entry.number));
	return r;
}

int stored__block(struct stored *s, const struct block **ret, struct dcm_error *err)
{
	char path[BLOCK_PATH_BYTES];
	uint64_t n_lost = vfs__n_lost(s->vfs); /* what is lost while it is checked is looked at the next time */
	int r = 0;

	pthread_mutex_lock(&s->lock);
	if (s->failure)
		r = error__set(err, s->failure, "%s: damaged", commit__block_path(path, s->entry.number));
	else if (!s->mapped)
		r = block_map__open(&s->map, s->vfs, &s->entry, err);
	else if (n_lost != s->n_lost)
		r = check_again(s, err);
	s->n_lost = n_lost;
	s->mapped |= r == 0;
	if (r == -EBADMSG)
		s->failure = r;
	pthread_mutex_unlock(&s->lock);
	if (r == 0)
		*ret = &s->map.block;
	return r;
}
