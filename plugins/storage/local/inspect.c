/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/inspect.c - counts the store, and looks for damage
 */
#include "plugins/storage/local/inspect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"

void inspect__stat(struct store *s, struct dcm_store_stat *ret)
{
	const struct kept_numbers kept = kept__get(s);
	const struct kept_amount sum = kept__sum(&kept);

	ret->n_removals = kept.n_removals;
	ret->n_set_aside = (uint32_t)atomic_load(&s->n_aside);
	ret->set_aside_bytes = atomic_load(&s->aside_bytes);
	ret->n_rows_folded = atomic_load(&s->rows_folded);
	ret->n_rows_refused = atomic_load(&s->rows_refused);
	ret->bytes = sum.bytes;
	ret->block_bytes = kept.blocks.bytes;
	ret->dictionary_bytes = atomic_load(&s->disk.dictionary_bytes);
	ret->log_bytes = atomic_load(&s->disk.log_bytes);
	ret->disk_bytes = ret->block_bytes + ret->dictionary_bytes + ret->log_bytes +
			  ret->set_aside_bytes + atomic_load(&s->disk.other_bytes);
	ret->n_series = kept.n_series;
	ret->n_stacks = kept.n_stacks;
	ret->n_locations = kept.n_locations;
	ret->n_profiles = sum.n_profiles;
	ret->n_rows = sum.n_rows;
	ret->first_ms = sum.first_ms;
	ret->last_ms = sum.last_ms;
}

/* -------------------------------------------------------------------------------------------------
 * Looking for damage
 */

struct snapshot {
	VEC(struct stored *) blocks; /* references */
};

static void snapshot__fini(struct snapshot *p)
{
	for (size_t i = 0; i < p->blocks.n; i++)
		stored__unref(p->blocks.v[i]);
	vec__fini(&p->blocks);
}

static int snapshot__take(struct snapshot *p, struct store *s)
{
	pthread_rwlock_rdlock(&s->lock);
	bool ok = vec__reserve(&p->blocks, s->blocks.n + 1);
	for (size_t i = 0; ok && i < s->blocks.n; i++)
		p->blocks.v[p->blocks.n++] = stored__ref(s->blocks.v[i]);
	pthread_rwlock_unlock(&s->lock);
	return ok ? 0 : -ENOMEM;
}

/* 1: something is wrong with it; 0: nothing is; -ENOMEM. */
static int check_block(struct stored *b, struct dcm_error *err)
{
	char path[BLOCK_PATH_BYTES];
	const struct block *block;
	uint64_t first = 0;
	int r = stored__block(b, &block, err);

	if (r)
		return r == -ENOMEM ? r : 1;
	int64_t n = block__verify(block, &first);
	if (n < 0)
		return -ENOMEM;
	if (n > 0)
		error__set(err, -EBADMSG, "%s: %" PRId64 " chunks are damaged; restore it from a backup",
			   commit__block_path(path, b->entry.number), n);
	return n > 0;
}

/* The dictionary of so many blocks: as check_block(). */
static int check_era(struct store *s, uint32_t number, size_t n_blocks, struct dcm_error *err)
{
	char path[ERA_PATH_BYTES];
	struct era *era = NULL;
	int r = store__era(s, number, &era, err);
	const bool damaged = r == 0 && era->damaged;

	era__unref(era);
	if (r == -ENOMEM)
		return r;
	if (r)
		error__set(err, r, "%s; blocks without it: %zu", err->text, n_blocks);
	else if (damaged)
		error__set(err, -EBADMSG,
			   "%s is damaged, and types, frames or labels of its %zu blocks are "
			   "missing; restore it from a backup",
			   era__path(path, number), n_blocks);
	return r || damaged;
}

static int by_value(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* A dictionary is looked at once, however many blocks it has. Findings, or -ENOMEM. */
static int check_eras(struct store *s, const struct snapshot *p, dcm_report_fn report, void *ctx)
{
	VEC(uint32_t) eras = { 0 };
	int found = 0, r = vec__reserve(&eras, p->blocks.n + 1) ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < p->blocks.n; i++)
		eras.v[eras.n++] = p->blocks.v[i]->entry.era;
	if (eras.n)
		qsort(eras.v, eras.n, sizeof(eras.v[0]), by_value);
	for (size_t i = 0, end; r >= 0 && i < eras.n; i = end) {
		struct dcm_error err = DCM_ERROR_INIT;

		for (end = i + 1; end < eras.n && eras.v[end] == eras.v[i];)
			end++;
		r = check_era(s, eras.v[i], end - i, &err);
		if (r == 1 && report)
			report(ctx, DCM_LOG_ERROR, err.text);
		found += r == 1;
	}
	vec__fini(&eras);
	return r < 0 ? r : found;
}

/* No damage, but worth knowing when the disk is full. */
static void report_removals(struct store *s, dcm_report_fn report, void *ctx)
{
	const uint32_t n = kept__get(s).n_removals;
	char text[160];

	if (!n)
		return;
	snprintf(text, sizeof(text),
		 "rows of %" PRIu32
		 " removals are in no answer, and go from the disk as blocks are written anew",
		 n);
	report(ctx, DCM_LOG_INFO, text);
}

/*
 * What is lost is told for as long as answers tell of it. In the log it is damage until it has
 * gone with its segment: 1, else 0.
 */
static int report_lost(struct store *s, dcm_report_fn report, void *ctx)
{
	const uint64_t n_frames = atomic_load(&s->n_frames_lost);
	char text[200];

	pthread_rwlock_rdlock(&s->lock);
	const bool in_log = s->lost_frames.list.n > 0;
	const size_t n = s->lost.n + s->lost_frames.list.n;
	pthread_rwlock_unlock(&s->lock);
	if (in_log && report) {
		snprintf(text, sizeof(text),
			 WAL_DIR
			 "/: %" PRIu64
			 " frames or more that were acknowledged cannot be read, because a file is "
			 "damaged or missing; restore the store from a backup",
			 n_frames);
		report(ctx, DCM_LOG_ERROR, text);
	}
	if (n && report) {
		snprintf(text, sizeof(text),
			 "%zu times in which something was lost are listed; answers about them say "
			 "so",
			 n);
		report(ctx, DCM_LOG_WARNING, text);
	}
	return in_log;
}

/* Nothing is lost yet; who opens the store to write makes it whole. */
static void report_manifest(const struct store *s, dcm_report_fn report, void *ctx)
{
	if (s->half_manifest)
		report(ctx, DCM_LOG_WARNING,
		       MANIFEST_PATH
		       ": one of its two copies is damaged, and the other one is all there is; "
		       "look at "
		       "the disk, and start a daemon on this store, which writes both anew");
}

/* What was damaged once, and is in no answer any more. */
static void report_set_aside(struct store *s, dcm_report_fn report, void *ctx)
{
	const uint64_t n = atomic_load(&s->n_aside);
	char text[200];

	if (!n)
		return;
	snprintf(text, sizeof(text),
		 QUARANTINE_DIR
		 "/: files of %" PRIu64 " damaged blocks, %" PRIu64
		 " bytes, are set aside; they may be removed, and go with the retention",
		 n, atomic_load(&s->aside_bytes));
	report(ctx, DCM_LOG_INFO, text);
}

int inspect__check(struct store *s, dcm_report_fn report, void *ctx)
{
	struct snapshot p = { 0 };
	int found = 0, r = snapshot__take(&p, s);

	if (r >= 0)
		found = r = check_eras(s, &p, report, ctx);
	for (size_t i = 0; r >= 0 && i < p.blocks.n; i++) {
		struct dcm_error err = DCM_ERROR_INIT;

		r = check_block(p.blocks.v[i], &err);
		if (r == 1 && report)
			report(ctx, DCM_LOG_ERROR, err.text);
		found += r == 1;
	}
	snapshot__fini(&p);
	if (r >= 0)
		found += report_lost(s, report, ctx);
	if (r >= 0 && report) {
		report_manifest(s, report, ctx);
		report_removals(s, report, ctx);
		report_set_aside(s, report, ctx);
	}
	return r < 0 ? r : found;
}
