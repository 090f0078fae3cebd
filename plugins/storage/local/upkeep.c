/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/upkeep.c - what the store does when nobody asks
 */
#include "plugins/storage/local/upkeep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/storage/local/age.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/extras.h"
#include "plugins/storage/local/seal.h"

/* -------------------------------------------------------------------------------------------------
 * Sealing
 */

struct sealing {
	struct store *store;
	const struct head *head; /* that is being written, and of it */
	struct heads_window window;
	int64_t aged_ms; /* age.h: the store's, when the heads were closed */
	VEC(struct manifest_block) entries;
	VEC(struct stored *) blocks;
	loss_list lost; /* the store's, then */
};

static void sealing__fini(struct sealing *g)
{
	for (size_t i = 0; i < g->blocks.n; i++)
		stored__unref(g->blocks.v[i]);
	vec__fini(&g->blocks);
	vec__fini(&g->entries);
	vec__fini(&g->lost);
}

static bool has_head(const struct heads *h, const struct era *e)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i]->era == e)
			return true;
	return false;
}

/*
 * Nobody adds to the heads that are closed. Those of a seal that failed are sealed first: what was
 * written since stays where it is.
 */
static int close_heads(struct sealing *g, struct dcm_error *err)
{
	struct store *s = g->store;
	int r = 0;

	pthread_rwlock_wrlock(&s->lock);
	if (s->sealing.n == 0) {
		struct extras_store seen;

		r = extras_store__make(&seen, &s->seen, s->next_era);
		if (r) {
			pthread_rwlock_unlock(&s->lock);
			return error__nomem(err);
		}
		extras_store__fini(&s->sealing_seen);
		s->sealing_seen = seen;
		heads__drop_empty(&s->active);
		struct heads empty = s->sealing; /* its memory is used again */
		s->sealing = s->active;
		s->active = empty;
		s->sealing_lsn = wal__cut(commit__wal(s->commit));
		s->active_since_ns = 0;
		s->active_log_bytes = 0;
		for (size_t i = 0; i < s->eras.n; i++)
			era__sealed(s->eras.v[i], has_head(&s->sealing, s->eras.v[i]));
	}
	for (size_t i = 0; r == 0 && i < s->sealing.n; i++)
		r = era__log(s->sealing.v[i]->era, err);
	g->aged_ms = s->aged_ms;
	pthread_rwlock_unlock(&s->lock);
	return r;
}

/* A commit_write_fn. */
static int write_window(void *ctx, struct vfs_file *file, struct manifest_block *entry,
			struct dcm_error *err)
{
	struct sealing *g = ctx;
	struct block_file f = { .file = file };
	struct block_options o = { .era = g->head->era->number };
	char path[BLOCK_PATH_BYTES];
	struct block_info info;
	struct seal_amount amount;
	int r = block_file__make_id(g->store->vfs, o.id);

	if (r == 0)
		r = seal__write(g->head, &g->window, &o, block_file__put, &f, &info, &amount);
	if (r == 0)
		r = block_file__end(&f);
	block_file__fini(&f);
	if (r)
		return error__sys(err, r, "%s: cannot write", commit__block_path(path, entry->number));
	block_file__describe(&info, entry);
	entry->last_lsn = g->store->sealing_lsn;
	entry->n_profiles = amount.n_profiles;
	entry->n_rows = amount.n_rows;
	return 0;
}

static int write_block(struct sealing *g, struct dcm_error *err)
{
	struct store *s = g->store;

	if (!vec__reserve(&g->entries, 1) || !vec__reserve(&g->blocks, 1))
		return error__nomem(err);
	struct manifest_block *entry = &g->entries.v[g->entries.n];
	int r = commit__write_block(s->commit, write_window, g, entry, err);
	if (r)
		return r;
	g->entries.n++;
	struct stored *block = stored__new(s->vfs, g->head->era, entry);
	if (!block)
		return error__nomem(err);
	g->blocks.v[g->blocks.n++] = block;
	return 0;
}

/* Room for what take_blocks() adds: only who holds `work` adds blocks. */
static int reserve_blocks(struct store *s, size_t n)
{
	pthread_rwlock_wrlock(&s->lock);
	bool ok = vec__reserve(&s->blocks, n);
	pthread_rwlock_unlock(&s->lock);
	return ok ? 0 : -ENOMEM;
}

static int write_heads(struct sealing *g, struct dcm_error *err)
{
	struct store *s = g->store;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->sealing.n; i++) {
		g->head = s->sealing.v[i];
		g->window.until_ms = INT64_MIN;
		while (r == 0 && seal__window(g->head, g->window.until_ms, &g->window))
			r = write_block(g, err);
	}
	if (r == 0 && reserve_blocks(s, g->blocks.n) < 0)
		r = error__nomem(err);
	for (size_t i = 0; r && i < g->entries.n; i++)
		commit__discard_block(s->commit, &g->entries.v[i]);
	return r;
}

/* What the log has lost is in no later log. */
static int list_losses(struct sealing *g)
{
	const loss_list *from[] = { &g->store->lost, &g->store->lost_frames.list };
	int r = 0;

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; r == 0 && i < from[k]->n; i++)
			r = losses__add(&g->lost, &from[k]->v[i]);
	return r;
}

static int sync_eras(void *ctx, struct dcm_error *err)
{
	const struct store *s = ((struct sealing *)ctx)->store;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->sealing.n; i++)
		r = era__sync(s->sealing.v[i]->era, err);
	return r;
}

static int list_eras(void *ctx, struct manifest *next, struct dcm_error *err)
{
	const struct sealing *g = ctx;
	const struct store *s = g->store;
	int r = extras_store__write(next, &s->sealing_seen);

	for (size_t i = 0; r == 0 && i < s->sealing.n; i++)
		r = extras__list_era(next, s->sealing.v[i]->era);
	if (r == 0)
		r = losses__write(next, &g->lost);
	if (r == 0)
		r = age__write(next, g->aged_ms);
	return r ? error__nomem(err) : 0;
}

/* In one moment the heads go and the blocks are there. */
static void take_blocks(struct store *s, struct sealing *g)
{
	pthread_rwlock_wrlock(&s->lock);
	for (size_t i = 0; i < g->blocks.n; i++)
		s->blocks.v[s->blocks.n++] = g->blocks.v[i];
	g->blocks.n = 0;
	store__sort_blocks(s);
	for (size_t i = 0; i < s->sealing.n; i++) /* the next write needs it again */
		s->sealing.v[i]->era->asked_at = atomic_fetch_add(&s->n_asked, 1) + 1;
	const loss_list had = s->lost;
	s->lost = g->lost;
	g->lost = had;
	s->lost_frames.list.n = 0;
	struct heads old = s->sealing;
	s->sealing = (struct heads){ .n = 0 };
	extras_store__fini(&s->sealing_seen); /* the manifest has it */
	kept__count_all(s);
	pthread_rwlock_unlock(&s->lock);
	heads__fini(&old);
}

static int seal(struct store *s, struct dcm_error *err)
{
	struct sealing g = { .store = s };
	int r = close_heads(&g, err);

	if (r == 0 && s->sealing_lsn <= commit__manifest(s->commit)->sealed_lsn)
		return 0;
	if (r == 0 && list_losses(&g) < 0)
		r = error__nomem(err);
	if (r == 0)
		r = write_heads(&g, err);
	if (r == 0)
		r = commit__apply(s->commit,
				  &(struct commit_change){
					  .add = g.entries.v,
					  .n_add = g.entries.n,
					  .sealed_lsn = s->sealing_lsn,
					  .sync = sync_eras,
					  .edit = list_eras,
					  .ctx = &g,
				  },
				  err);
	if (r == 0)
		take_blocks(s, &g);
	sealing__fini(&g);
	return r;
}

int upkeep__seal(struct store *s, struct dcm_error *err)
{
	pthread_mutex_lock(&s->work);
	int r = seal(s, err);
	pthread_mutex_unlock(&s->work);
	if (r == 0)
		store__acknowledge(s); /* a block has what the log could not take */
	return r;
}

bool upkeep__wants_seal(struct store *s)
{
	int64_t now_ns = s->host->mono_ns(s->host);

	pthread_rwlock_rdlock(&s->lock);
	/* A dictionary that is full can leave memory when no head has it any more. */
	bool wants = s->sealing.n || heads__bytes(&s->active) >= s->options.head_max_bytes ||
		     heads__any_full(&s->active, store__era_max_bytes(s)) ||
		     (s->options.log_max_bytes && s->active_log_bytes >= s->options.log_max_bytes) ||
		     (s->active_since_ns && now_ns - s->active_since_ns >= s->options.seal_ms * 1000000);
	pthread_rwlock_unlock(&s->lock);
	return wants;
}

/* -------------------------------------------------------------------------------------------------
 * Recovery, and what there is
 */

static int probe(struct store *s, struct dcm_error *err)
{
	struct wal_stat st;
	int r;

	wal__stat(commit__wal(s->commit), &st);
	pthread_mutex_lock(&s->work); /* who holds it may be reading the manifest */
	if (st.refusing || !commit__is_whole(s->commit))
		r = commit__probe(s->commit, err);
	else
		r = commit__settle(s->commit, err);
	pthread_mutex_unlock(&s->work);
	store__acknowledge(s);
	return r;
}

/*
 * Of blocks that are over, and of the log, which is larger than the block that a seal makes of it.
 */
static int make_room(struct store *s, struct dcm_error *err)
{
	/* When it fails (it may need room itself), the seal makes some all the same. */
	expire__whole(s, NULL);
	return upkeep__seal(s, err);
}

int upkeep__recover(struct store *s, struct dcm_error *err)
{
	int r = probe(s, err);

	if ((r == -ENOSPC || r == -EDQUOT) && make_room(s, err) == 0)
		r = probe(s, err);
	return r;
}
