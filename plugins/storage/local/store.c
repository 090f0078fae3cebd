/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/store.c - opens what the manifest lists, and closes it
 */
#include "plugins/storage/local/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/storage/local/age.h"
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/extras.h"
#include "core/disk/numbered.h"
#include "plugins/storage/local/quarantine.h"

struct era *store__find_era(const struct store *s, uint32_t number)
{
	for (size_t i = 0; i < s->eras.n; i++)
		if (s->eras.v[i]->number == number)
			return s->eras.v[i];
	return NULL;
}

int store__era(struct store *s, uint32_t number, struct era **ret, struct dcm_error *err)
{
	pthread_rwlock_rdlock(&s->lock);
	struct era *e = store__find_era(s, number);
	if (e)
		era__ref(e);
	pthread_rwlock_unlock(&s->lock);
	if (!e)
		return error__set(err, -ENOENT, "there is no era %" PRIu32, number);
	int r = eras__load(s, e, false, err);
	if (r == 0)
		*ret = e;
	else
		era__unref(e);
	return r;
}

static int compare_blocks(const void *a, const void *b)
{
	return manifest_block__compare(&(*(const struct stored *const *)a)->entry,
				       &(*(const struct stored *const *)b)->entry);
}

void store__sort_blocks(struct store *s)
{
	if (s->blocks.n)
		qsort(s->blocks.v, s->blocks.n, sizeof(s->blocks.v[0]), compare_blocks);
}

/* -------------------------------------------------------------------------------------------------
 * Opening
 */

/* A log that the manifest does not list was left behind: its number is not used again. */
static int note_log(void *ctx, const char *name)
{
	struct store *s = ctx;
	int64_t number = numbered__parse(name, ".log");
	char path[sizeof(ERAS_DIR) + 32], *copy;

	if (number >= s->next_era && number < UINT32_MAX)
		s->next_era = (uint32_t)number + 1;
	if (number < 0 ? numbered__parse(name, ".log.tmp") < 0
		       : number >= UINT32_MAX || store__find_era(s, (uint32_t)number) != NULL)
		return 0;
	snprintf(path, sizeof(path), ERAS_DIR "/%s", name);
	copy = mem__dup_str(path, strlen(path));
	if (copy && vec__push(&s->strays, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

static int take_eras(struct store *s, const struct manifest *m, struct dcm_error *err)
{
	int r = extras__read(m, &s->seen, &s->next_era, err);

	for (size_t i = 0; r == 0 && i < m->eras.n; i++) {
		const struct manifest_era *from = &m->eras.v[i];
		struct era *e = era__new(from->number, from->begin_ms, from->n_records);

		if (!e || !vec__push(&s->eras, e)) {
			era__unref(e);
			r = error__nomem(err);
		} else {
			e->listed = true;
			if (from->number >= s->next_era)
				s->next_era = from->number + 1;
		}
	}
	s->listed_eras = s->next_era;
	if (r == 0) {
		r = vfs__list(s->vfs, ERAS_DIR, note_log, s);
		if (r)
			error__sys(err, r, ERAS_DIR ": cannot list");
	}
	return r;
}

int store__take_manifest(void *store, const struct manifest *m, struct dcm_error *err)
{
	struct store *s = store;
	int r = take_eras(s, m, err);

	if (r == 0)
		r = losses__read(m, &s->lost, err);
	if (r == 0 && !vec__reserve(&s->blocks, m->blocks.n))
		r = error__nomem(err);
	for (size_t i = 0; r == 0 && i < m->blocks.n; i++) {
		const struct manifest_block *entry = &m->blocks.v[i];
		struct era *era = store__find_era(s, entry->era);

		if (!era)
			return error__set(err, -EUCLEAN,
					  MANIFEST_PATH ": block %" PRIu64
							" is of an era that is not listed",
					  entry->number);
		s->blocks.v[s->blocks.n] = stored__new(s->vfs, era, entry);
		if (!s->blocks.v[s->blocks.n])
			return error__nomem(err);
		s->blocks.n++;
		s->newest_ms = entry->last_ms > s->newest_ms ? entry->last_ms : s->newest_ms;
	}
	store__sort_blocks(s);
	s->last_lsn = m->sealed_lsn;
	s->lost_frames.first_ms = s->newest_ms;
	if (r == 0)
		r = filters__read(m, s->host, &s->filters, err);
	if (filters__n(s->filters))
		s->filtered_lsn = s->filters->v[s->filters->n - 1]->lsn;
	quarantine__count(s);
	kept__count_all(s);
	return r;
}

struct store *store__new(const struct dcm_host *host, struct vfs *v, const struct store_options *o)
{
	struct store *s = NEW(struct store);
	pthread_rwlockattr_t attr;

	if (!s)
		return NULL;
	s->host = host;
	s->vfs = v;
	s->options = *o;
	s->newest_ms = s->aged_ms = s->lost_frames.first_ms = INT64_MIN;
	s->next_era = 1;
	pthread_rwlockattr_init(&attr);
	/* Many short readers must not keep a writer out for ever. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	pthread_mutex_init(&s->work, NULL);
	cond__init(&s->reworked);
	pthread_mutex_init(&s->waiting_lock, NULL);
	kept__init(&s->kept);
	return s;
}

int store__open(const struct dcm_host *host, struct vfs *v, const struct store_options *o,
		struct commit_found *ret_found, struct store **ret, struct dcm_error *err)
{
	struct store *s = store__new(host, v, o);
	int r;

	if (!s)
		return error__nomem(err);
	struct commit_options options = {
		.wal = { .segment_bytes = o->segment_bytes,
			 .pending_max_bytes = (uint64_t)FRAME_MAX_BYTES * 2,
			 .align = o->align,
			 .lost = store__replay_lost,
			 .report = o->report,
			 .report_ctx = o->report_ctx },
		.each = store__replay_frame,
		.loaded = store__take_manifest,
		.used_lsn = &s->filtered_lsn,
		.ctx = s,
	};
	s->replay_err = err;
	r = commit__open(v, &options, ret_found, &s->commit, err);
	s->replay_err = NULL;
	if (r == 0 && (store__end_replay(s) || age__begin(s, commit__manifest(s->commit)) < 0))
		r = -ENOMEM;
	if (r) {
		store__close(s);
		return r == -ENOMEM ? error__nomem(err) : r;
	}
	*ret = s;
	return 0;
}

void store__close(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->waiting.n; i++)
		s->waiting.v[i].done(s->waiting.v[i].ctx, -ECANCELED);
	vec__fini(&s->waiting);
	commit__close(s->commit);
	heads__fini(&s->active);
	heads__fini(&s->sealing);
	for (size_t i = 0; i < s->blocks.n; i++)
		stored__unref(s->blocks.v[i]);
	vec__fini(&s->blocks);
	vec__fini(&s->lost);
	vec__fini(&s->lost_frames.list);
	for (size_t i = 0; i < s->eras.n; i++)
		era__unref(s->eras.v[i]);
	vec__fini(&s->eras);
	filters__unref(s->filters);
	for (size_t i = 0; i < s->strays.n; i++)
		free(s->strays.v[i]);
	vec__fini(&s->strays);
	kept__fini(&s->kept);
	seen__fini(&s->seen);
	extras_store__fini(&s->sealing_seen);
	pthread_mutex_destroy(&s->waiting_lock);
	pthread_cond_destroy(&s->reworked);
	pthread_mutex_destroy(&s->work);
	pthread_rwlock_destroy(&s->lock);
	free(s);
}
