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
#include "plugins/storage/answer/meter.h"
#include "plugins/storage/local/eras.h"

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
	ret->retention_ms = kept.retention_ms;
	ret->max_bytes = kept.max_bytes;
}

/* -------------------------------------------------------------------------------------------------
 * Looking for damage
 */

/* A dictionary is looked at once, however many blocks it has. */
struct checked_era {
	uint32_t number;
	size_t n_blocks;
	uint64_t bytes; /* of the file, as far as the budget is told */
};

struct checking {
	struct store *store;
	const struct inspect_how *how;
	VEC(struct stored *) blocks;  /* references */
	VEC(struct checked_era) eras; /* ascending */
	size_t eras_done, blocks_done;
	uint64_t counted; /* bytes of the block at hand that the budget was told of */
	int found;
};

static void checking__fini(struct checking *c)
{
	for (size_t i = 0; i < c->blocks.n; i++)
		stored__unref(c->blocks.v[i]);
	vec__fini(&c->blocks);
	vec__fini(&c->eras);
}

static int by_number(const void *a, const void *b)
{
	const struct checked_era *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* One for each block becomes one for each number. */
static void fold_eras(struct checking *c)
{
	size_t n = 0;

	if (c->eras.n)
		qsort(c->eras.v, c->eras.n, sizeof(c->eras.v[0]), by_number);
	for (size_t i = 0; i < c->eras.n; i++)
		if (n && c->eras.v[n - 1].number == c->eras.v[i].number)
			c->eras.v[n - 1].n_blocks++;
		else
			c->eras.v[n++] = c->eras.v[i];
	c->eras.n = n;
}

/* Of one moment. 0 or -ENOMEM. */
static int checking__init(struct checking *c)
{
	struct store *s = c->store;

	pthread_rwlock_rdlock(&s->lock);
	const bool ok = vec__reserve(&c->blocks, s->blocks.n + 1) &&
			vec__reserve(&c->eras, s->blocks.n + 1);
	for (size_t i = 0; ok && i < s->blocks.n; i++) {
		c->blocks.v[c->blocks.n++] = stored__ref(s->blocks.v[i]);
		c->eras.v[c->eras.n++] = (struct checked_era){ .number = s->blocks.v[i]->entry.era,
							       .n_blocks = 1 };
	}
	pthread_rwlock_unlock(&s->lock);
	fold_eras(c);
	return ok ? 0 : -ENOMEM;
}

/* ---- how far it is ---- */

static uint64_t era_bytes(const struct store *s, uint32_t number)
{
	char path[ERA_PATH_BYTES];
	uint64_t bytes = 0;

	return vfs__size(s->vfs, era__path(path, number), &bytes) == 0 ? bytes : 0;
}

static void tell_total(struct checking *c)
{
	uint64_t total = 0;

	if (!c->how->budget)
		return;
	for (size_t i = 0; i < c->blocks.n; i++)
		total += c->blocks.v[i]->entry.bytes;
	for (size_t i = 0; i < c->eras.n; i++) {
		c->eras.v[i].bytes = era_bytes(c->store, c->eras.v[i].number);
		total += c->eras.v[i].bytes;
	}
	atomic_store_explicit(&c->how->budget->total, total, memory_order_relaxed);
}

/* Goes on? 0, -ETIMEDOUT, -ECANCELED. */
static int tell_done(const struct checking *c, uint64_t bytes)
{
	if (c->how->budget)
		atomic_fetch_add_explicit(&c->how->budget->done, bytes, memory_order_relaxed);
	return meter__look(c->store->host, c->how->budget);
}

static int explain_end(const struct checking *c, int r, struct dcm_error *err)
{
	if (r != -ETIMEDOUT && r != -ECANCELED)
		return error__nomem(err);
	return error__set(err, r,
			  "%s when %zu of %zu dictionaries and %zu of %zu blocks had been looked "
			  "at, of which %d are damaged",
			  r == -ETIMEDOUT ? "the time was over" : "it was ended", c->eras_done,
			  c->eras.n, c->blocks_done, c->blocks.n, c->found);
}

/* ---- blocks ---- */

static int tell_chunk(void *ctx, uint64_t n_bytes)
{
	struct checking *c = ctx;

	c->counted += n_bytes;
	return tell_done(c, n_bytes);
}

static bool is_listed(struct store *s, const struct stored *b)
{
	bool found = false;

	pthread_rwlock_rdlock(&s->lock);
	for (size_t i = 0; !found && i < s->blocks.n; i++)
		found = s->blocks.v[i] == b;
	pthread_rwlock_unlock(&s->lock);
	return found;
}

/*
 * Mapped for this alone, so that its pages go with it; or as the store has it, where the file has
 * gone meanwhile. 1: it cannot be read; 0: *ret is valid, or NULL when the block has gone, too; -ENOMEM.
 */
static int open_block(struct checking *c, struct stored *b, struct block_map *own,
		      const struct block **ret, struct dcm_error *err)
{
	int r = block_map__open(own, c->store->vfs, &b->entry, err);

	*ret = &own->block;
	if (r == -ENOENT) {
		r = stored__block(b, ret, err);
		if (r == -ENOENT && !is_listed(c->store, b)) {
			*ret = NULL;
			r = 0;
		}
	}
	return r == 0 || r == -ENOMEM ? r : 1;
}

/* 1: something is wrong with it; 0: nothing is; or what ends the check. */
static int check_block(struct checking *c, struct stored *b, struct dcm_error *err)
{
	struct block_map own = { .file = { .n = 0 } };
	char path[BLOCK_PATH_BYTES];
	const struct block *block;
	uint64_t first = 0;
	int r = open_block(c, b, &own, &block, err);

	if (r || !block)
		return r;
	const int64_t n = block__verify(block, tell_chunk, c, &first);
	block_map__close(&own);
	if (n < 0)
		return (int)n;
	if (n > 0)
		error__set(err, -EBADMSG, "%s: %" PRId64 " chunks are damaged; restore it from a backup",
			   commit__block_path(path, b->entry.number), n);
	return n > 0;
}

/* What is wrong with one thing is one finding. Goes on? */
static int note(struct checking *c, int r, const struct dcm_error *err)
{
	if (r < 0)
		return r;
	if (r && c->how->report)
		c->how->report(c->how->ctx, DCM_LOG_ERROR, err->text);
	c->found += r;
	return 0;
}

static int check_blocks(struct checking *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->blocks.n; i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		const uint64_t bytes = c->blocks.v[i]->entry.bytes;

		c->counted = 0;
		r = note(c, check_block(c, c->blocks.v[i], &err), &err);
		if (r == 0) {
			c->blocks_done++;
			r = tell_done(c, bytes > c->counted ? bytes - c->counted : 0);
		}
	}
	return r;
}

/* ---- dictionaries ---- */

/* The dictionary of so many blocks: as check_block(). */
static int check_era(struct store *s, uint32_t number, size_t n_blocks, struct dcm_error *err)
{
	char path[ERA_PATH_BYTES];
	struct era *era = NULL;
	int r = store__era(s, number, &era, err);
	const bool damaged = r == 0 && era->damaged;

	era__unref(era);
	eras__trim(s); /* it may have come for this alone */
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

static int check_eras(struct checking *c)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->eras.n; i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		const struct checked_era *era = &c->eras.v[i];

		r = note(c, check_era(c->store, era->number, era->n_blocks, &err), &err);
		if (r == 0) {
			c->eras_done++;
			r = tell_done(c, era->bytes);
		}
	}
	return r;
}

/* ---- what else is to be told ---- */

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

int inspect__check(struct store *s, const struct inspect_how *how, struct dcm_error *err)
{
	struct checking c = { .store = s, .how = how };
	int r = checking__init(&c);

	if (r == 0) {
		tell_total(&c);
		r = meter__look(s->host, how->budget);
	}
	if (r == 0)
		r = check_eras(&c);
	if (r == 0)
		r = check_blocks(&c);
	if (r < 0)
		explain_end(&c, r, err);
	checking__fini(&c);
	if (r < 0)
		return r;
	c.found += report_lost(s, how->report, how->ctx);
	if (how->report) {
		report_manifest(s, how->report, how->ctx);
		report_removals(s, how->report, how->ctx);
		report_set_aside(s, how->report, how->ctx);
	}
	return c.found;
}
