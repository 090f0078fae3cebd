/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/reader.c - a store's directory beside the process that writes it, or without one
 *
 * The manifest is read before everything else and again after it. Files that were not there are missed for good when the
 * manifest is still the same; frames of the log are all there when its sealed_lsn is.
 */
#include "plugins/storage/local/reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/le.h"
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/inspect.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/upkeep.h"

enum { ATTEMPTS = 50 };

/* -------------------------------------------------------------------------------------------------
 * What the log has beyond the blocks of a manifest
 */

struct replaying {
	struct vfs *vfs;
	uint64_t sealed_lsn;
	replay_fn each;
	void *ctx;
	uint64_t n_lost; /* frames; or a writer was faster than the reading */
};

/* 0, -ESTALE (read the manifest again), or another negative errno. */
static int replay_log(struct replaying *g, struct dcm_error *err)
{
	struct replay log = { .n_frames = 0 };
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

/* What may pass, or is the caller's, ends the opening; damage is left to questions, which say what they leave out. */
static bool is_fatal(int error)
{
	return error == -ENOMEM || error == -EACCES || error == -EMFILE || error == -ENFILE;
}

static int read_eras(struct opening *g, struct dcm_error *err)
{
	struct store *s = g->store;
	const struct era_how how = eras__how(s);

	for (size_t i = 0; i < s->eras.n; i++) {
		struct era *e = s->eras.v[i];
		int r = era__load(e, &how, err);

		if (r && is_fatal(r))
			return r;
		g->n_missing += r == -ENOENT;
		if (r && !e->unreadable)
			e->unreadable = r;
	}
	return 0;
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
	char text[160];

	if (!n_lost || !s->options.report)
		return;
	snprintf(text, sizeof(text),
		 WAL_DIR ": %llu frames were synced and cannot be read; look at the disk",
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

	if (r == 0)
		r = store__take_manifest(s, &g->manifest, err);
	if (r == 0)
		r = read_eras(g, err);
	kept__count_heads(s);
	if (r == 0)
		r = map_blocks(g, err);
	struct replaying log = { .vfs = s->vfs,
				 .sealed_lsn = g->manifest.sealed_lsn,
				 .each = store__replay_frame,
				 .ctx = s };
	if (r == 0)
		r = replay_log(&log, err);
	if (r == 0 && store__end_replay(s))
		r = error__nomem(err);
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
	return r;
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

/* The frames of the log, each as its LSN and its length, 8 bytes each, and its payload. */
struct collected {
	struct buf bytes;
};

/* A replay_fn. */
static int collect(void *ctx, const struct frame *f)
{
	struct collected *c = ctx;

	if (f->type != STORE_FRAME_BATCHES)
		return 0;
	buf__le64(&c->bytes, f->lsn);
	buf__le64(&c->bytes, f->n);
	buf__append(&c->bytes, f->payload, f->n);
	return c->bytes.error;
}

/* Writes what a frame held into the copy. What cannot be decoded is not in the store that is copied either. */
static int write_frame(const struct dcm_host *host, struct store *to, const struct frame *f,
		       struct dcm_error *err)
{
	struct heads_window window;
	batch_list batches = { 0 };
	int r = store__decode_frame(host, f, &window, &batches, NULL);

	if (r == 0)
		r = store__write_within(to, batches.v, (uint32_t)batches.n, &window, NULL, NULL, err);
	else if (r != -ENOMEM)
		r = 0;
	for (size_t i = 0; i < batches.n; i++)
		host->batch_unref(batches.v[i]);
	vec__fini(&batches);
	return r;
}

/* The removals whose turn has not come are later than all that the heads hold, and so concern all of it. */
static int seal_copy(struct store *to, struct dcm_error *err)
{
	const uint32_t n_replayed = to->n_replayed;

	if (removal__replay(to, UINT64_MAX))
		return error__nomem(err);
	to->n_replayed = n_replayed;
	return upkeep__seal(to, err);
}

/* The copy's LSNs are others, so removals are repeated where they stood between the frames. */
static int write_frames(const struct dcm_host *host, struct store *to, const struct collected *c,
			struct dcm_error *err)
{
	int r = 0;

	to->n_replayed = 0;
	for (size_t at = 0; r == 0 && at < c->bytes.n;) {
		struct frame f = { .lsn = le__get64(c->bytes.data + at),
				   .payload = c->bytes.data + at + 16,
				   .n = (uint32_t)le__get64(c->bytes.data + at + 8) };

		at += 16 + (size_t)f.n;
		if (removal__replay(to, f.lsn - 1))
			return error__nomem(err);
		r = write_frame(host, to, &f, err);
		if (r == 0 && heads__bytes(&to->active) >= to->options.head_max_bytes)
			r = seal_copy(to, err);
	}
	return r ? r : seal_copy(to, err);
}

/* The copy is a store of its own by now; there the frames become blocks. */
static int fill(const struct dcm_host *host, const char *dir, const struct store_options *o,
		const struct collected *frames, struct dcm_error *err)
{
	struct store_options options = *o;
	struct commit_found found;
	struct store *to = NULL;
	struct vfs *v = NULL;
	int r = vfs_posix__new(dir, true, &v, err);

	options.retention_ms = 0;
	options.max_bytes = 0;
	if (r == 0)
		vfs_posix__map_by(v, host);
	if (r == 0)
		r = store__open(host, v, &options, &found, &to, err);
	if (r == 0)
		r = write_frames(host, to, frames, err);
	store__close(to);
	vfs_posix__free(v);
	return r;
}

/* The manifest, and what the log has beyond it. -ESTALE: that did not belong together. */
static int collect_moment(struct vfs *v, struct manifest *m, struct collected *frames,
			  struct dcm_error *err)
{
	struct change change = { false };
	bool damaged;
	int r = manifest__read(m, v, &damaged, err);

	if (r)
		return r;
	struct replaying log = { .vfs = v, .sealed_lsn = m->sealed_lsn, .each = collect, .ctx = frames };
	r = replay_log(&log, err);
	if (r == 0)
		r = look_again(v, m, &change, err);
	return r == 0 && change.sealed ? -ESTALE : r;
}

static int copy_moment(const struct dcm_host *host, struct vfs *v, const struct store_options *o,
		       const char *dir, struct dcm_error *err)
{
	struct manifest m = { .generation = 0 };
	struct collected frames = { .bytes = { .n = 0 } };
	struct change change = { false };
	int r = collect_moment(v, &m, &frames, err);

	if (r == 0)
		r = inspect__copy(v, &m, dir, err);
	if (r == 0) {
		r = fill(host, dir, o, &frames, err);
		if (r)
			inspect__discard_copy(v, dir);
	} else if (r == -ENOENT && look_again(v, &m, &change, err) == 0 && change.any) {
		r = -ESTALE; /* blocks went away meanwhile */
	}
	buf__fini(&frames.bytes);
	manifest__fini(&m);
	return r;
}

int reader__backup(const struct dcm_host *host, struct vfs *v, const struct store_options *o,
		   const char *dir, struct dcm_error *err)
{
	int r = -ESTALE;

	for (int i = 0; r == -ESTALE && i < ATTEMPTS; i++)
		r = copy_moment(host, v, o, dir, err);
	if (r == -ESTALE)
		return error__set(err, -EBUSY,
				  "backup: the store changed each time it was read; try again");
	return r;
}
