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
#include "plugins/storage/local/extras.h"
#include "plugins/storage/local/seal.h"

/* -------------------------------------------------------------------------------------------------
 * Sealing
 */

struct sealing {
	struct store *store;
	const struct head *head; /* that is being written */
	uint32_t next_era;	 /* the store's, when the heads were closed */
	VEC(struct manifest_block) entries;
	VEC(struct stored *) blocks;
};

static void sealing__fini(struct sealing *g)
{
	for (size_t i = 0; i < g->blocks.n; i++)
		stored__unref(g->blocks.v[i]);
	vec__fini(&g->blocks);
	vec__fini(&g->entries);
}

/*
 * Nobody adds to the heads that are closed. Those of a seal that failed are sealed first: what was written since stays
 * where it is.
 */
static int close_heads(struct sealing *g, struct dcm_error *err)
{
	struct store *s = g->store;
	int r = 0;

	pthread_rwlock_wrlock(&s->lock);
	if (s->sealing.n == 0) {
		heads__drop_empty(&s->active);
		struct heads empty = s->sealing; /* its memory is used again */
		s->sealing = s->active;
		s->active = empty;
		s->sealing_lsn = wal__cut(commit__wal(s->commit));
		s->sealing_seen = s->seen;
		s->active_since_ns = 0;
	}
	for (size_t i = 0; r == 0 && i < s->sealing.n; i++)
		r = era__log(s->sealing.v[i]->era, err);
	g->next_era = s->next_era;
	pthread_rwlock_unlock(&s->lock);
	return r;
}

/* A commit_write_fn. */
static int write_head(void *ctx, struct vfs_file *file, struct manifest_block *entry,
		      struct dcm_error *err)
{
	struct sealing *g = ctx;
	struct block_file f = { .file = file };
	struct block_options o = { .era = g->head->era->number };
	struct block_info info;
	int r = block_file__make_id(g->store->vfs, o.id);

	if (r == 0)
		r = seal__write(g->head, &o, block_file__put, &f, &info);
	if (r == 0)
		r = block_file__end(&f);
	block_file__fini(&f);
	if (r)
		return error__sys(err, r, "cannot write a block");
	block_file__describe(&info, entry);
	entry->last_lsn = g->store->sealing_lsn;
	entry->n_profiles = g->head->streams.n_profiles; /* as questions count */
	entry->n_rows = g->head->streams.n_rows;
	return 0;
}

static int write_heads(struct sealing *g, struct dcm_error *err)
{
	struct store *s = g->store;
	int r = 0;

	if (!vec__reserve(&g->entries, s->sealing.n + 1) || !vec__reserve(&g->blocks, s->sealing.n + 1))
		return error__nomem(err);
	for (size_t i = 0; r == 0 && i < s->sealing.n; i++) {
		struct manifest_block *entry = &g->entries.v[g->entries.n];

		g->head = s->sealing.v[i];
		r = commit__write_block(s->commit, write_head, g, entry, err);
		if (r)
			break;
		g->entries.n++;
		struct stored *block = stored__new(s->vfs, g->head->era, entry);
		if (!block)
			r = error__nomem(err);
		else
			g->blocks.v[g->blocks.n++] = block;
	}
	for (size_t i = 0; r && i < g->entries.n; i++)
		commit__discard_block(s->commit, &g->entries.v[i]);
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
	int r = extras__write(next, &s->sealing_seen, g->next_era);

	for (size_t i = 0; r == 0 && i < s->sealing.n; i++)
		r = extras__list_era(next, s->sealing.v[i]->era);
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
	struct heads old = s->sealing;
	s->sealing = (struct heads){ .n = 0 };
	pthread_rwlock_unlock(&s->lock);
	heads__fini(&old);
}

/* Room for what take_blocks() adds: only who holds `work` adds blocks. */
static int reserve_blocks(struct store *s)
{
	pthread_rwlock_wrlock(&s->lock);
	bool ok = vec__reserve(&s->blocks, s->sealing.n + 1);
	pthread_rwlock_unlock(&s->lock);
	return ok ? 0 : -ENOMEM;
}

static int seal(struct store *s, struct dcm_error *err)
{
	struct sealing g = { .store = s };
	int r = close_heads(&g, err);

	if (r == 0 && s->sealing_lsn <= commit__manifest(s->commit)->sealed_lsn)
		return 0;
	if (r == 0 && reserve_blocks(s) < 0)
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
	bool wants = s->sealing.n || heads__bytes(&s->active) >= s->options.head_max_bytes ||
		     (s->active_since_ns && now_ns - s->active_since_ns >= s->options.seal_ms * 1000000);
	pthread_rwlock_unlock(&s->lock);
	return wants;
}

/* -------------------------------------------------------------------------------------------------
 * Removing
 */

struct removing {
	struct store *store;
	VEC(uint64_t) numbers;	 /* of blocks */
	VEC(struct era *) eras;	 /* that nobody needs then; references */
	VEC(const char *) paths; /* of their logs, and of strays */
	uint64_t n_profiles, n_rows;
};

static void removing__fini(struct removing *g)
{
	for (size_t i = 0; i < g->eras.n; i++)
		era__unref(g->eras.v[i]);
	for (size_t i = 0; i < g->paths.n; i++)
		free((char *)g->paths.v[i]);
	vec__fini(&g->eras);
	vec__fini(&g->paths);
	vec__fini(&g->numbers);
}

static bool goes(const struct removing *g, const struct stored *b)
{
	for (size_t i = 0; i < g->numbers.n; i++)
		if (g->numbers.v[i] == b->entry.number)
			return true;
	return false;
}

static int add_block(struct removing *g, const struct stored *b)
{
	g->n_profiles += b->entry.n_profiles;
	g->n_rows += b->entry.n_rows;
	return vec__push(&g->numbers, b->entry.number) ? 0 : -ENOMEM;
}

static int choose_by_age(struct removing *g, int64_t cutoff_ms)
{
	const struct store *s = g->store;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->blocks.n; i++)
		if (s->blocks.v[i]->entry.last_ms < cutoff_ms)
			r = add_block(g, s->blocks.v[i]);
	return r;
}

/* By their newest profiles; of equal ones the block that was written first. */
static int by_age(const void *a, const void *b)
{
	const struct manifest_block *x = &(*(const struct stored *const *)a)->entry;
	const struct manifest_block *y = &(*(const struct stored *const *)b)->entry;

	if (x->last_ms != y->last_ms)
		return x->last_ms < y->last_ms ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* The oldest, until what is left fits. */
static int choose_by_bytes(struct removing *g, uint64_t max_bytes)
{
	const struct store *s = g->store;
	VEC(const struct stored *) left = { 0 };
	uint64_t bytes = 0;
	int r = vec__reserve(&left, s->blocks.n + 1) ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < s->blocks.n; i++) {
		if (goes(g, s->blocks.v[i]))
			continue;
		left.v[left.n++] = s->blocks.v[i];
		bytes += s->blocks.v[i]->entry.bytes;
	}
	if (r == 0)
		qsort(left.v, left.n, sizeof(left.v[0]), by_age);
	for (size_t i = 0; r == 0 && bytes > max_bytes; i++) {
		bytes -= left.v[i]->entry.bytes;
		r = add_block(g, left.v[i]);
	}
	vec__fini(&left);
	return r;
}

static bool has_head(const struct heads *h, const struct era *e)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i]->era == e)
			return true;
	return false;
}

static bool is_needed(const struct removing *g, const struct era *e)
{
	const struct store *s = g->store;
	bool needed = has_head(&s->active, e) || has_head(&s->sealing, e);

	for (size_t i = 0; !needed && i < s->blocks.n; i++)
		needed = s->blocks.v[i]->era == e && !goes(g, s->blocks.v[i]);
	return needed;
}

static int choose_strays(struct removing *g)
{
	const struct store *s = g->store;

	if (!vec__reserve(&g->paths, s->strays.n))
		return -ENOMEM;
	for (size_t i = 0; i < s->strays.n; i++) {
		char *copy = mem__dup_str(s->strays.v[i], strlen(s->strays.v[i]));

		if (!copy)
			return -ENOMEM;
		g->paths.v[g->paths.n++] = copy;
	}
	return 0;
}

static void forget_strays(struct store *s)
{
	while (s->strays.n)
		free(s->strays.v[--s->strays.n]);
}

/* Takes the eras off the store's list, so that nothing new comes to one that goes. */
static int choose_eras(struct removing *g)
{
	struct store *s = g->store;
	size_t n = 0;

	if (!vec__reserve(&g->eras, s->eras.n) || !vec__reserve(&g->paths, s->eras.n))
		return -ENOMEM;
	for (size_t i = 0; i < s->eras.n; i++) {
		struct era *e = s->eras.v[i];
		char path[ERA_PATH_BYTES], *copy = NULL;

		era__path(path, e->number);
		if (!is_needed(g, e))
			copy = mem__dup_str(path, strlen(path));
		if (!copy) {
			s->eras.v[n++] = e; /* without memory for its name the next time */
			continue;
		}
		g->paths.v[g->paths.n++] = copy;
		g->eras.v[g->eras.n++] = e;
	}
	s->eras.n = n;
	return 0;
}

static int forget_eras(void *ctx, struct manifest *next, struct dcm_error *err)
{
	struct removing *g = ctx;
	(void)err;

	for (size_t i = 0; i < g->eras.n; i++)
		extras__forget_era(next, g->eras.v[i]->number);
	return 0;
}

static void drop_blocks(struct removing *g)
{
	struct store *s = g->store;
	size_t n = 0;

	pthread_rwlock_wrlock(&s->lock);
	for (size_t i = 0; i < s->blocks.n; i++) {
		if (goes(g, s->blocks.v[i]))
			stored__unref(s->blocks.v[i]);
		else
			s->blocks.v[n++] = s->blocks.v[i];
	}
	s->blocks.n = n;
	pthread_rwlock_unlock(&s->lock);
}

static void give_eras_back(struct removing *g)
{
	struct store *s = g->store;

	pthread_rwlock_wrlock(&s->lock);
	while (g->eras.n && vec__reserve(&s->eras, 1))
		s->eras.v[s->eras.n++] = g->eras.v[--g->eras.n];
	pthread_rwlock_unlock(&s->lock);
}

static int remove_chosen(struct removing *g, struct dcm_error *err)
{
	int r;

	if (g->numbers.n == 0 && g->paths.n == 0)
		return 0;
	r = commit__apply(g->store->commit,
			  &(struct commit_change){
				  .remove = g->numbers.v,
				  .n_remove = g->numbers.n,
				  .unlink = g->paths.v,
				  .n_unlink = g->paths.n,
				  .edit = forget_eras,
				  .ctx = g,
			  },
			  err);
	if (r == 0) {
		drop_blocks(g);
		forget_strays(g->store);
	} else {
		give_eras_back(g);
	}
	return r;
}

int upkeep__remove(struct store *s, int64_t cutoff_ms, uint64_t max_bytes, uint64_t *ret_n_profiles,
		   struct dcm_error *err)
{
	struct removing g = { .store = s };
	int r;

	pthread_mutex_lock(&s->work);
	pthread_rwlock_wrlock(&s->lock);
	r = choose_by_age(&g, cutoff_ms);
	uint64_t n_old = g.n_profiles, rows_old = g.n_rows;
	if (r == 0 && max_bytes)
		r = choose_by_bytes(&g, max_bytes);
	if (r == 0)
		r = choose_strays(&g);
	if (r == 0)
		r = choose_eras(&g);
	pthread_rwlock_unlock(&s->lock);
	r = r ? error__nomem(err) : remove_chosen(&g, err);
	pthread_mutex_unlock(&s->work);
	if (r == 0) {
		*ret_n_profiles += g.n_profiles;
		atomic_fetch_add_explicit(&s->n_expired, n_old, memory_order_relaxed);
		atomic_fetch_add_explicit(&s->rows_evicted, g.n_rows - rows_old, memory_order_relaxed);
	}
	removing__fini(&g);
	return r;
}

int upkeep__expire(struct store *s, struct dcm_error *err)
{
	uint64_t n = 0;

	pthread_rwlock_rdlock(&s->lock);
	int64_t cutoff_ms = store__cutoff(s);
	uint64_t max_bytes = s->options.max_bytes;
	pthread_rwlock_unlock(&s->lock);
	return upkeep__remove(s, cutoff_ms, max_bytes, &n, err);
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
	r = st.refusing ? commit__probe(s->commit, err) : commit__settle(s->commit, err);
	pthread_mutex_unlock(&s->work);
	store__acknowledge(s);
	return r;
}

/* Of blocks that are over, and of the log, which is larger than the block that a seal makes of it. */
static int make_room(struct store *s, struct dcm_error *err)
{
	int r = upkeep__expire(s, err);

	return r ? r : upkeep__seal(s, err);
}

int upkeep__recover(struct store *s, struct dcm_error *err)
{
	int r = probe(s, err);

	if ((r == -ENOSPC || r == -EDQUOT) && make_room(s, err) == 0)
		r = probe(s, err);
	return r;
}

uint64_t upkeep__bytes(struct store *s)
{
	uint64_t bytes = 0;

	pthread_rwlock_rdlock(&s->lock);
	for (size_t i = 0; i < s->blocks.n; i++)
		bytes += s->blocks.v[i]->entry.bytes;
	pthread_rwlock_unlock(&s->lock);
	return bytes;
}
