/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/rework.c - blocks that are written anew
 */
#include "plugins/storage/local/rework.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/cond.h"
#include "core/base/error.h"
#include "plugins/storage/local/age.h"
#include "plugins/storage/local/dropping.h"
#include "plugins/storage/local/quarantine.h"
#include "plugins/storage/local/rewrite.h"

/* -------------------------------------------------------------------------------------------------
 * Some blocks of one era become others
 */

struct job {
	struct store *store;
	struct stored *inputs[COMPACT_MAX_BLOCKS]; /* [n] references, as they were written */
	const struct block *blocks[COMPACT_MAX_BLOCKS];
	uint32_t n;
	const struct compact_filter *filter;
	const struct rework_yield *yield;
	bool rescues; /* without damage nothing is to change */
	uint8_t level;
	int zstd_level;
	VEC(struct stored *) made;
	loss_list lost; /* the store's, then */
	uint64_t n_gone; /* profiles, as questions count: of the inputs, and neither of what was made nor lost */
};

static void job__fini(struct job *j)
{
	for (uint32_t i = 0; i < j->n; i++)
		stored__unref(j->inputs[i]);
	for (size_t i = 0; i < j->made.n; i++)
		stored__unref(j->made.v[i]);
	vec__fini(&j->made);
	vec__fini(&j->lost);
}

static int open_inputs(struct job *j, struct dcm_error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < j->n; i++)
		r = stored__block(j->inputs[i], &j->blocks[i], err);
	return r;
}

/* What questions count: a profile of k types is k. */
static int count_as_questions(struct stored *s, struct dcm_error *err)
{
	const struct block *b;
	int r = stored__block(s, &b, err);

	if (r)
		return r;
	s->entry.n_profiles = s->entry.n_rows = 0;
	for (uint64_t i = 0; i < b->info.n_chunks; i++) {
		s->entry.n_profiles += (uint64_t)b->chunks[i].n_profiles * b->chunks[i].n_types;
		s->entry.n_rows += b->chunks[i].n_rows * b->chunks[i].n_types;
	}
	return 0;
}

static int open_made(struct job *j, struct rewrite_made *made, struct dcm_error *err)
{
	int r = vec__reserve(&j->made, made->blocks.n + 1) ? 0 : error__nomem(err);

	for (size_t i = 0; r == 0 && i < made->blocks.n; i++) {
		struct stored *s = stored__new(j->store->vfs, j->inputs[0]->era, &made->blocks.v[i]);

		if (!s)
			return error__nomem(err);
		j->made.v[j->made.n++] = s;
		r = count_as_questions(s, err);
		made->blocks.v[i] = s->entry;
	}
	return r;
}

static bool is_input(const struct job *j, const struct stored *s)
{
	for (uint32_t i = 0; i < j->n; i++)
		if (j->inputs[i] == s)
			return true;
	return false;
}

/* With `work`: in one moment the inputs go and the others are there. There is room. */
static void exchange(struct job *j)
{
	struct store *s = j->store;
	size_t n = 0;

	pthread_rwlock_wrlock(&s->lock);
	for (size_t i = 0; i < s->blocks.n; i++) {
		if (is_input(j, s->blocks.v[i]))
			stored__unref(s->blocks.v[i]);
		else
			s->blocks.v[n++] = s->blocks.v[i];
	}
	for (size_t i = 0; i < j->made.n; i++)
		s->blocks.v[n++] = j->made.v[i];
	s->blocks.n = n;
	j->made.n = 0;
	const loss_list had = s->lost;
	s->lost = j->lost;
	j->lost = had;
	store__sort_blocks(s);
	kept__count_all(s);
	pthread_rwlock_unlock(&s->lock);
}

static int make_room(struct job *j)
{
	pthread_rwlock_wrlock(&j->store->lock);
	bool ok = vec__reserve(&j->store->blocks, j->made.n + 1);
	pthread_rwlock_unlock(&j->store->lock);
	return ok ? 0 : -ENOMEM;
}

/* What the store will have lost with what is missing of the inputs. */
static int add_losses(struct job *j, const struct compact_lost *lost)
{
	const loss_list *had = &j->store->lost;
	int r = vec__reserve(&j->lost, had->n + 1) ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < had->n; i++)
		j->lost.v[j->lost.n++] = had->v[i];
	pthread_rwlock_rdlock(&j->store->lock);
	const int64_t cutoff_ms = age__first_cutoff(j->store);
	pthread_rwlock_unlock(&j->store->lock);
	losses__remove(&j->lost, INT64_MIN, cutoff_ms); /* it would be gone by now */
	for (uint32_t i = 0; r == 0 && i < j->n; i++) {
		const struct manifest_block *e = &j->inputs[i]->entry;

		if (lost[i].n_chunks)
			r = losses__add(&j->lost, &(struct loss){ e->number, e->first_ms,
								  e->last_ms, lost[i].n_profiles });
	}
	return r;
}

/* A commit_change.edit. */
static int list_losses(void *ctx, struct manifest *next, struct dcm_error *err)
{
	const struct job *j = ctx;

	return losses__write(next, &j->lost) < 0 ? error__nomem(err) : 0;
}

/* Before the exchange. */
static void count_gone(struct job *j, const struct compact_lost *lost)
{
	uint64_t n = 0, n_else = 0;

	for (uint32_t i = 0; i < j->n; i++) {
		n += j->inputs[i]->entry.n_profiles;
		n_else += lost[i].n_profiles;
	}
	for (size_t i = 0; i < j->made.n; i++)
		n_else += j->made.v[i]->entry.n_profiles;
	j->n_gone += n > n_else ? n - n_else : 0;
}

/* `lost`: [n] of the inputs. */
static int apply(struct job *j, const struct rewrite *rw, struct rewrite_made *made,
		 const struct compact_lost *lost, struct dcm_error *err)
{
	uint64_t numbers[COMPACT_MAX_BLOCKS];
	int r = open_made(j, made, err);

	if (r == 0 && (make_room(j) < 0 || add_losses(j, lost) < 0))
		r = error__nomem(err);
	if (r) {
		rewrite__discard(rw, made);
		return r;
	}
	for (uint32_t i = 0; i < j->n; i++)
		numbers[i] = j->inputs[i]->entry.number;
	r = commit__apply(j->store->commit,
			  &(struct commit_change){
				  .add = made->blocks.v,
				  .n_add = made->blocks.n,
				  .remove = numbers,
				  .n_remove = j->n,
				  .edit = list_losses,
				  .ctx = j,
			  },
			  err);
	if (r == 0) {
		count_gone(j, lost);
		exchange(j);
	}
	return r;
}

/* Keeps the files of damaged inputs. 1: some are; 0: none is; or a negative errno. */
static int set_aside(const struct job *j, const struct compact_lost *lost, struct dcm_error *err)
{
	int damaged = 0;

	for (uint32_t i = 0; i < j->n; i++) {
		if (!lost[i].n_chunks)
			continue;
		int r = block_file__set_aside(j->store->vfs, j->inputs[i]->entry.number, err);
		if (r)
			return r;
		damaged = 1;
	}
	return damaged;
}

static void tell_lost(const struct job *j, const struct compact_lost *lost)
{
	const struct store_options *o = &j->store->options;
	char path[BLOCK_PATH_BYTES];
	struct dcm_error text = DCM_ERROR_INIT;

	for (uint32_t i = 0; o->report && i < j->n; i++) {
		if (!lost[i].n_chunks)
			continue;
		error__set(
			&text, -EBADMSG,
			"%s: damaged; %" PRIu64 " profiles are lost; what can be read was written "
			"anew, and the file was set aside in " QUARANTINE_DIR "/; look at the disk",
			commit__block_path(path, j->inputs[i]->entry.number), lost[i].n_profiles);
		o->report(o->report_ctx, DCM_LOG_ERROR, text.text);
	}
}

static void end_rescue(const struct job *j, const struct compact_lost *lost)
{
	tell_lost(j, lost);
	for (uint32_t i = 0; i < j->n; i++)
		if (lost[i].n_chunks)
			quarantine__add(j->store, j->inputs[i]->entry.number, j->inputs[i]->entry.bytes);
}

static bool is_outdated(const struct job *j)
{
	for (uint32_t i = 0; i < j->n; i++)
		if (atomic_load(&j->inputs[i]->outdated))
			return true;
	return false;
}

static bool is_ended(void *job)
{
	const struct job *j = job;

	return atomic_load(&j->store->stopping) || is_outdated(j) ||
	       (j->yield && j->yield->fn(j->yield->ctx));
}

/* With `work`. */
static void begin(struct job *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		j->store->rework_bytes += j->inputs[i]->entry.bytes;
		j->inputs[i]->reworked = true;
		atomic_store(&j->inputs[i]->outdated, false);
	}
}

static void end(struct job *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		j->store->rework_bytes -= j->inputs[i]->entry.bytes;
		j->inputs[i]->reworked = false;
	}
	pthread_cond_broadcast(&j->store->reworked);
}

void rework__wait(struct store *s)
{
	enum { MOMENT_NS = 100000000 };
	const struct timespec until = cond__after(MOMENT_NS);

	pthread_cond_timedwait(&s->reworked, &s->work, &until);
}

/* Without `work`, for as long as that takes. 1: for nothing. */
static int write_anew(struct job *j, const struct rewrite *rw, struct rewrite_made *made,
		      struct dcm_error *err)
{
	const uint64_t n_lost = vfs__n_lost(j->store->vfs);

	begin(j);
	pthread_mutex_unlock(&j->store->work);
	int r = rewrite__write(rw, made, err);
	pthread_mutex_lock(&j->store->work);
	end(j);
	if (is_outdated(j)) {
		rewrite__discard(rw, made);
		return 1;
	}
	/* Bytes may be read once more after their checksum was right, and were zeros then. */
	if (r == 0 && vfs__n_lost(j->store->vfs) != n_lost) {
		rewrite__discard(rw, made);
		r = error__set(err, -EAGAIN,
			       "a page was lost while blocks were written anew; it is tried again");
	}
	return r;
}

/*
 * With the inputs open. What is damaged in them is left behind, and their files are set aside. 1:
 * nothing has changed, it is due again.
 */
static int rewrite(struct job *j, const struct compact_filter *filter, struct dcm_error *err)
{
	struct compact_lost lost[COMPACT_MAX_BLOCKS] = { { .n_chunks = 0 } };
	struct rewrite_made made = { .bad_block = 0 };
	struct rewrite rw = {
		.commit = j->store->commit,
		.vfs = j->store->vfs,
		.job = { .blocks = j->blocks,
			 .n_blocks = j->n,
			 .filter = filter,
			 .lost = lost,
			 .cancelled = is_ended,
			 .ctx = j },
		.level = j->level,
		.zstd_level = j->zstd_level,
	};
	int damaged, r;

	for (uint32_t i = 0; i < j->n; i++)
		if (j->inputs[i]->entry.last_lsn > rw.last_lsn)
			rw.last_lsn = j->inputs[i]->entry.last_lsn;
	r = write_anew(j, &rw, &made, err);
	if (r > 0)
		return r;
	damaged = r ? r : set_aside(j, lost, err);
	if (damaged < 0 || (damaged == 0 && j->rescues)) {
		rewrite__discard(&rw, &made);
		r = damaged;
	} else {
		r = apply(j, &rw, &made, lost, err);
		if (r == 0 && damaged)
			end_rescue(j, lost);
	}
	rewrite_made__fini(&made);
	return r;
}

/* With `work`, which others may have meanwhile. 0; 1: it is due again; or a negative errno. */
static int run(struct job *j, struct dcm_error *err)
{
	const struct dropping_of of = { j->inputs, j->blocks, j->n, j->filter };
	struct dropping d = { .any = false };
	int r = open_inputs(j, err);

	if (r == 0)
		r = dropping__init(&d, j->store, &of, err);
	if (r == 0)
		r = rewrite(j, dropping__filter(&d), err);
	dropping__fini(&d);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Compaction
 */

static struct stored *find_block(const struct store *s, uint64_t number)
{
	for (size_t i = 0; i < s->blocks.n; i++)
		if (s->blocks.v[i]->entry.number == number)
			return s->blocks.v[i];
	return NULL;
}

/*
 * What filters list is written anew for them first, in the order in which it was written
 * (removal.h).
 */
static bool is_usable(void *ctx, uint64_t number)
{
	const struct store *s = ctx;
	struct stored *b = find_block(s, number);
	const struct block *block;

	return b && !b->reworked && !filters__list(s->filters, number) &&
	       stored__block(b, &block, NULL) == 0;
}

/* With `work`, which others may have meanwhile. */
static int compact(struct store *s, const struct rework_yield *yield, struct dcm_error *err)
{
	struct compact_plan plan;
	struct job j = { .store = s, .yield = yield };
	int r = compact_plan__choose(&plan, commit__manifest(s->commit), &compact_default_rules,
				     s->host->real_ns(s->host) / 1000000, is_usable, s);

	if (r <= 0)
		return r ? error__nomem(err) : 0;
	for (uint32_t i = 0; i < plan.n; i++)
		j.inputs[j.n++] = stored__ref(find_block(s, plan.inputs[i].number));
	j.level = plan.level;
	j.zstd_level = plan.zstd_level;
	r = run(&j, err);
	job__fini(&j);
	return r < 0 ? r : 1;
}

int rework__compact(struct store *s, const struct rework_yield *yield, struct dcm_error *err)
{
	pthread_mutex_lock(&s->work);
	int r = compact(s, yield, err);
	pthread_mutex_unlock(&s->work);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Rescue
 */

/* A block of which nothing can be read goes as a whole. */
static int give_up(struct job *j, struct dcm_error *err)
{
	const struct compact_lost all = { .n_chunks = j->inputs[0]->entry.n_chunks + 1,
					  .n_profiles = j->inputs[0]->entry.n_profiles };
	struct rewrite rw = { .commit = j->store->commit };
	struct rewrite_made none = { .bad_block = 0 };
	int r = set_aside(j, &all, err);

	if (r >= 0)
		r = apply(j, &rw, &none, &all, err);
	if (r == 0)
		end_rescue(j, &all);
	return r;
}

/* With `work`, which others may have meanwhile. */
static int rescue(struct store *s, struct stored *b, const struct rework_yield *yield,
		  struct dcm_error *err)
{
	struct job j = {
		.store = s,
		.inputs = { stored__ref(b) },
		.n = 1,
		.yield = yield,
		.rescues = true,
		.level = b->entry.level,
		.zstd_level = b->entry.level ? compact_default_rules.zstd_level[b->entry.level - 1] : 0,
	};
	const struct block *block;
	int r = stored__block(b, &block, NULL);

	if (r == 0)
		r = run(&j, err);
	else
		r = stored__fault(r) == STORED_DAMAGED ? give_up(&j, err)
						       : 0; /* a file that is missing may come back */
	job__fini(&j);
	return r;
}

/*
 * What filters list is written anew for them, older blocks first (removal.h), without what is
 * damaged.
 */
static bool has_its_turn(const struct store *s, struct stored *b)
{
	const struct block *block;

	return filters__list(s->filters, b->entry.number) && stored__block(b, &block, NULL) == 0;
}

int rework__rescue(struct store *s, const struct rework_yield *yield, struct dcm_error *err)
{
	int r = 0;

	pthread_mutex_lock(&s->work);
	/* One that was rescued has changed the list. */
	for (size_t i = 0; r <= 0 && r != -ECANCELED && i < s->blocks.n; i++) {
		struct stored *b = s->blocks.v[i];
		struct dcm_error own = DCM_ERROR_INIT;

		if (!atomic_load(&b->told) || b->rescued || b->reworked || has_its_turn(s, b))
			continue;
		stored__ref(b); /* others may take it off the list meanwhile */
		const int one = rescue(s, b, yield, &own);
		/* Once: what is wrong may be something else than the block. */
		b->rescued = one == 0;
		stored__unref(b);
		if (one >= 0) {
			r = 1;
			continue;
		}
		if (r == 0 || one == -ECANCELED)
			r = error__set(err, one, "%s", own.text);
	}
	pthread_mutex_unlock(&s->work);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * What goes of one block
 */

static int write_block(struct store *s, struct stored *b, const struct compact_filter *also,
		       const struct rework_yield *yield, uint64_t *ret_n_gone, struct dcm_error *err)
{
	struct job j = {
		.store = s,
		.inputs = { stored__ref(b) },
		.n = 1,
		.filter = also,
		.yield = yield,
		.level = b->entry.level,
		.zstd_level = b->entry.level ? compact_default_rules.zstd_level[b->entry.level - 1] : 0,
	};
	int r = b->reworked ? 1 : run(&j, err);

	if (stored__fault(r) == STORED_DAMAGED)
		atomic_store(&b->told, true); /* what can be read of it is rescued */
	*ret_n_gone += j.n_gone;
	job__fini(&j);
	return r;
}

int rework__block(struct store *s, struct stored *b, const struct compact_filter *also,
		  const struct rework_yield *yield, struct dcm_error *err)
{
	uint64_t n_gone = 0;

	return write_block(s, b, also, yield, &n_gone, err);
}

int rework__filter(struct store *s, uint64_t number, const struct compact_filter *filter,
		   const struct rework_yield *yield, uint64_t *ret_n_gone, struct dcm_error *err)
{
	struct stored *b = find_block(s, number);

	if (!b)
		return error__set(err, -ENOENT, "there is no block %" PRIu64, number);
	return write_block(s, b, filter, yield, ret_n_gone, err);
}
