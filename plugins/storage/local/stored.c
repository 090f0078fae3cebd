/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/stored.c - a block of the store, mapped when it is first looked at
 */
#include "plugins/storage/local/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/storage/local/block_types.h"
#include "plugins/storage/local/commit.h"

enum stored_fault stored__fault(int error)
{
	switch (error) {
	case 0:
		return STORED_SOUND;
	case -EBADMSG:
		return STORED_DAMAGED;
	case -ENOENT:
	case -EIO: /* of a bad sector as a rule; when it is the whole disk, the log refuses too */
		return STORED_UNREADABLE;
	default:
		return era__is_final(error) ? STORED_UNREADABLE : STORED_ELSEWHERE;
	}
}

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
	block_types__free(s->types);
	free(s->why);
	pthread_mutex_destroy(&s->lock);
	era__unref(s->era);
	free(s);
}

/* Something that was mapped has been lost, here or elsewhere. */
static int check_again(const struct stored *s, struct dcm_error *err)
{
	char path[BLOCK_PATH_BYTES];
	struct block block;
	int r = block__open(&block, s->map.file.p, s->map.file.n, err);

	if (r < 0)
		error__prefix(err, "%s", commit__block_path(path, s->entry.number));
	return r;
}

/* What is so for good is remembered, with its sentence. */
static void remember(struct stored *s, int error, const struct dcm_error *err)
{
	if (error != -EBADMSG && error != -EPROTONOSUPPORT)
		return;
	s->failure = error;
	if (!s->why)
		s->why = mem__dup_str(err->text, strlen(err->text));
}

static int open_block(struct stored *s, struct dcm_error *err)
{
	const uint64_t n_lost = vfs__n_lost(s->vfs); /* what is lost while it is checked is looked at the next time */
	char path[BLOCK_PATH_BYTES];
	int r = 0;

	if (s->failure)
		return s->why ? error__set(err, s->failure, "%s", s->why)
			      : error__set(err, s->failure, "%s: cannot be read",
					   commit__block_path(path, s->entry.number));
	if (!s->mapped)
		r = block_map__open(&s->map, s->vfs, &s->entry, err);
	else if (n_lost != s->n_lost)
		r = check_again(s, err);
	s->n_lost = n_lost;
	s->mapped |= r == 0;
	remember(s, r, err);
	return r;
}

int stored__block(struct stored *s, const struct block **ret, struct dcm_error *err)
{
	struct dcm_error own = DCM_ERROR_INIT;

	pthread_mutex_lock(&s->lock);
	const int r = open_block(s, &own);
	pthread_mutex_unlock(&s->lock);
	if (r)
		return error__set(err, r, "%s", own.text);
	*ret = &s->map.block;
	return 0;
}
