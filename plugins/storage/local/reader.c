/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/reader.c - a store's directory beside the process that writes it, or
 * without one
 *
 * The manifest is read before everything else and again after it. Files that were not there are
 * missed for good when the manifest is still the same; frames of the log are all there when its
 * sealed_lsn is.
 */
#include "plugins/storage/local/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "plugins/storage/local/backup.h"
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/removal.h"

enum { ATTEMPTS = 50 };

/* -------------------------------------------------------------------------------------------------
 * What the log has beyond the blocks of a manifest
 */

struct replaying {
	struct vfs *vfs;
	uint64_t sealed_lsn, noted_lsn;
	replay_fn each;
	replay_lost_fn lost;
	void *ctx;
	uint64_t n_lost; /* frames; or a writer was faster than the reading */
};

/* 0, -ESTALE (read the manifest again), or another negative errno. */
static int replay_log(struct replaying *g, struct dcm_error *err)
{
	struct replay log = { .noted_lsn = g->noted_lsn, .lost = g->lost };
	int r = replay__scan(&log, g->vfs, err);

	if (r == 0)
		r = replay__each(&log, g->vfs, g->sealed_lsn, g->each, g->ctx, NULL, NULL, err);
	g->n_lost = log.n_lost;
	replay__fini(&log);
	return r;
}

/* The manifest as it is now: has it been replaced, and are there other frames in blocks? */
struct change {
	bool any, sealed;
};

static int look_again(struct vfs *v, const struct manifest *before, struct change *ret,
		      struct dcm_error *err)
{
	struct manifest now = { .generation = 0 };
	bool damaged;
	int r = manifest__read(&now, v, &damaged, err);

	if (r)
		return r;
	ret->any = now.generation != before->generation || now.store_lo != before->store_lo ||
		   now.store_hi != before->store_hi;
	ret->sealed = now.sealed_lsn != before->sealed_lsn;
	manifest__fini(&now);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Opening
 */

struct opening {
	struct store *store;
	struct manifest manifest;
	uint32_t n_missing; /* files that were not there */
	bool last_attempt;
};

/*
 * What may pass, or is the caller's, ends the opening; damage is left to questions, which say what
 * they leave out.
 */
static bool is_fatal(int error)
{
	return error == -ENOMEM || error == -EACCES || error == -EMFILE || error == -ENFILE;
}

static int map_eras(struct opening *g, struct dcm_error *err)
{
	struct store *s = g->store;

	for (size_t i = 0; i < s->eras.n; i++) {
		struct era *e = s->eras.v[i];
		int r = era__map(e, s->vfs, err);

		if (r && is_fatal(r))
			return r;
		g->n_missing += r == -ENOENT;
		e->unreadable = r;
	}
	return 0;
}

/* How much is in the store is told by the largest dictionary (kept.h). */
static int count_largest_era(struct opening *g, struct dcm_error *err)
{
	struct store *s = g->store;
	struct era *largest = NULL;

	for (size_t i = 0; i < s->eras.n; i++)
		if (!largest || s->eras.v[i]->image.n > largest->image.n)
			largest = s->eras.v[i];
	int r = largest && !largest->dict && largest->image.vfs ? era__count(largest, err) : 0;

	kept__count_heads(s);
	return is_fatal(r) ? r : 0;
}

static int map_blocks(struct opening *g, struct dcm_error *err)
{
	struct store *s = g->store;
	const struct block *block;

	for (size_t i = 0; i < s->blocks.n; i++) {
		int r = stored__block(s->blocks.v[i], &block, err);

		if (r && is_fatal(r))
			return r;
		g->n_missing += r == -ENOENT;
	}
	return 0;
}

static void tell_lost(const struct store *s, uint64_t n_lost)
{
	char text[200];

	if (!n_lost || !s->options.report)
		return;
	snprintf(text, sizeof(text),
		 WAL_DIR
		 "/: %llu frames or more were synced and cannot be read; a file of the log is "
		 "missing or damaged",
		 (unsigned long long)n_lost);
	s->options.report(s->options.report_ctx, DCM_LOG_ERROR, text);
}

/* Into an empty store. -ESTALE: something was missed that is elsewhere by now. */
static int read_moment(struct opening *g, struct dcm_error *err)
{
	struct store *s = g->store;
	struct change change = { false };
	bool damaged;
	int r = manifest__read(&g->manifest, s->vfs, &damaged, err);

	s->half_manifest = r == 0 && damaged;
	if (r == 0)
		r = store__take_manifest(s, &g->manifest, err);
	if (r == 0)
		r = map_eras(g, err);
	if (r == 0)
		r = map_blocks(g, err);
	struct replaying log = { .vfs = s->vfs,
				 .sealed_lsn = g->manifest.sealed_lsn,
				 .noted_lsn = g->manifest.log_lsn,
				 .each = store__replay_frame,
				 .lost = store__replay_lost,
				 .ctx = s };
	s->replay_err = err;
	if (r == 0)
		r = replay_log(&log, err);
	s->replay_err = NULL;
	if (r == 0 && store__end_replay(s))
		r = error__nomem(err);
	if (r == 0)
		r = count_largest_era(g, err);
	if (r == 0)
		r = look_again(s->vfs, &g->manifest, &change, err);
	if (r)
		return r;
	if (change.sealed || (change.any && g->n_missing) || (log.n_lost && !g->last_attempt))
		return -ESTALE;
	tell_lost(s, log.n_lost);
	return 0;
}

static int attempt(const struct store_options *o, struct opening *g, struct vfs *v,
		   const struct dcm_host *host, struct dcm_error *err)
{
	g->store = store__new(host, v, o);
	if (!g->store)
		return error__nomem(err);
	g->store->only_read = true;
	int r = read_moment(g, err);
	manifest__fini(&g->manifest);
	if (r) {
		store__close(g->store);
		g->store = NULL;
	}
	return r == -ENOMEM ? error__nomem(err) : r;
}

int reader__open(const struct dcm_host *host, struct vfs *v, const struct store_options *o,
		 struct store **ret, struct dcm_error *err)
{
	int r = -ESTALE;

	for (int i = 0; r == -ESTALE && i < ATTEMPTS; i++) {
		struct opening g = { .last_attempt = i == ATTEMPTS - 1 };

		r = attempt(o, &g, v, host, err);
		if (r == 0)
			*ret = g.store;
	}
	if (r == -ESTALE)
		return error__set(err, -EBUSY, "the store changed each time it was read; try again");
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Backup
 */

/*
 * Segments that are open when the manifest is still the one that was read have all that it lacks,
 * and nothing takes away what is in them. Their names may go; a copy needs those once more, before
 * it copies anything. -ESTALE: there are other frames in blocks by now.
 */
static int find_moment(struct vfs *v, struct commit_moment *m, struct dcm_error *err)
{
	struct change change = { false };
	bool damaged;
	int r = manifest__read(&m->manifest, v, &damaged, err);

	if (r == 0)
		r = wal_extents__open(v, &m->log, err);
	if (r == 0)
		r = look_again(v, &m->manifest, &change, err);
	return r == 0 && change.sealed ? -ESTALE : r;
}

static int copy_moment(struct vfs *v, const char *dir, struct dcm_error *err)
{
	struct commit_moment m = { .manifest = { .generation = 0 } };
	struct change change = { false };
	int r = find_moment(v, &m, err);

	if (r == 0) {
		r = backup__copy(v, &m, dir, err);
		if (r == -ENOENT && look_again(v, &m.manifest, &change, NULL) == 0 && change.any)
			r = -ESTALE; /* what is missing was removed meanwhile */
	}
	commit_moment__fini(&m);
	return r;
}

int reader__backup(struct vfs *v, const char *dir, struct dcm_error *err)
{
	int r = -ESTALE;

	for (int i = 0; r == -ESTALE && i < ATTEMPTS; i++)
		r = copy_moment(v, dir, err);
	if (r == -ESTALE)
		return error__set(err, -EBUSY,
				  "backup: the store changed each time it was read; try again");
	return r;
}
