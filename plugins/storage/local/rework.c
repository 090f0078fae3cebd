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
#include "core/base/error.h"
#include "core/base/str.h"
#include "plugins/storage/answer/match.h"
#include "plugins/storage/local/hidden.h"
#include "plugins/storage/local/rewrite.h"
#include "plugins/storage/local/upkeep.h"

/* -------------------------------------------------------------------------------------------------
 * Some blocks of one era become others
 */

struct job {
	struct store *store;
	struct stored *inputs[COMPACT_MAX_BLOCKS]; /* [n] references, as they were written */
	const struct block *blocks[COMPACT_MAX_BLOCKS];
	uint32_t n;
	const struct compact_filter *filter;
	const bool *changes; /* of the filter: whether anything is dropped; NULL: it does not matter */
	uint8_t level;
	int zstd_level;
	VEC(struct stored *) made;
	loss_list lost; /* the store's, then */
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
	const int64_t cutoff_ms = store__first_cutoff(j->store);
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
	if (r == 0)
		exchange(j);
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
		error__set(&text, -EBADMSG,
			   "%s: damaged; %" PRIu64
			   " profiles are lost; what can be read was written "
			   "anew, and the file is kept in " QUARANTINE_DIR "/; look at the disk",
			   commit__block_path(path, j->inputs[i]->entry.number), lost[i].n_profiles);
		o->report(o->report_ctx, DCM_LOG_ERROR, text.text);
	}
}

static bool is_stopping(void *store)
{
	return atomic_load(&((struct store *)store)->stopping);
}

/* With `work`. What is damaged in the inputs is left behind, and their files are set aside. */
static int run(struct job *j, struct dcm_error *err)
{
	struct compact_lost lost[COMPACT_MAX_BLOCKS] = { { .n_chunks = 0 } };
	struct rewrite_made made = { .bad_block = 0 };
	struct rewrite rw = {
		.commit = j->store->commit,
		.vfs = j->store->vfs,
		.job = { .blocks = j->blocks,
			 .n_blocks = j->n,
			 .filter = j->filter,
			 .lost = lost,
			 .cancelled = is_stopping,
			 .ctx = j->store },
		.level = j->level,
		.zstd_level = j->zstd_level,
	};
	int damaged, r = open_inputs(j, err);

	for (uint32_t i = 0; i < j->n; i++)
		if (j->inputs[i]->entry.last_lsn > rw.last_lsn)
			rw.last_lsn = j->inputs[i]->entry.last_lsn;
	if (r == 0)
		r = rewrite__write(&rw, &made, err);
	damaged = r ? r : set_aside(j, lost, err);
	if (damaged < 0 || (damaged == 0 && j->changes && !*j->changes)) {
		rewrite__discard(&rw, &made);
		r = damaged;
	} else {
		r = apply(j, &rw, &made, lost, err);
		if (r == 0)
			tell_lost(j, lost);
	}
	rewrite_made__fini(&made);
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

static bool is_usable(void *ctx, uint64_t number)
{
	struct stored *b = find_block(ctx, number);
	const struct block *block;

	return b && stored__block(b, &block, NULL) == 0;
}

/* With `work`, so that nobody else changes the list of blocks. */
static int compact(struct store *s, struct dcm_error *err)
{
	struct compact_plan plan;
	struct job j = { .store = s };
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
	return r ? r : 1;
}

int rework__compact(struct store *s, struct dcm_error *err)
{
	pthread_mutex_lock(&s->work);
	int r = compact(s, err);
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
		tell_lost(j, &all);
	return r;
}

/* With `work`. */
static int rescue(struct store *s, struct stored *b, struct dcm_error *err)
{
	static const bool unchanged = false;
	struct job j = {
		.store = s,
		.inputs = { stored__ref(b) },
		.n = 1,
		.changes = &unchanged,
		.level = b->entry.level,
		.zstd_level = b->entry.level ? compact_default_rules.zstd_level[b->entry.level - 1] : 0,
	};
	const struct block *block;
	int r = stored__block(b, &block, NULL);

	if (r == 0)
		r = run(&j, err);
	else
		r = r == -EBADMSG ? give_up(&j, err) : 0; /* a file that is missing may come back */
	job__fini(&j);
	return r;
}

int rework__rescue(struct store *s, struct dcm_error *err)
{
	int r = 0;

	pthread_mutex_lock(&s->work);
	for (size_t i = 0; i < s->blocks.n; i++) {
		struct stored *b = s->blocks.v[i];

		if (!atomic_load(&b->told) || b->rescued)
			continue;
		b->rescued = true; /* once: what is wrong may be something else than the block */
		r = rescue(s, b, err);
		r = r ? r : 1;
		break;
	}
	pthread_mutex_unlock(&s->work);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * What is over of one block
 */

int rework__filter(struct store *s, uint64_t number, const struct compact_filter *filter,
		   struct dcm_error *err)
{
	struct stored *b = find_block(s, number);
	struct job j = { .store = s, .n = 1, .filter = filter };

	if (!b)
		return error__set(err, -ENOENT, "there is no block %" PRIu64, number);
	j.inputs[0] = stored__ref(b);
	j.level = b->entry.level;
	j.zstd_level = j.level ? compact_default_rules.zstd_level[j.level - 1] : 0;
	int r = run(&j, err);
	job__fini(&j);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Removal
 */

struct removal {
	struct store *store;
	const struct dcm_select *sel; /* NULL: all that starts before cutoff_ms */
	int64_t cutoff_ms;
	uint64_t n; /* profiles that lost something */
	struct hidden hidden;
	/* Of the block at hand: */
	const struct block *block;
	struct view view;
	struct groups groups;
	struct match match;
	bool counted; /* the profile at hand */
	bool hit;     /* something of the block goes */
};

static int judge_chunk(void *ctx, const struct compact_place *p)
{
	struct removal *m = ctx;
	const struct chunk_entry *e = p->chunk->entry;
	int64_t from_ms = m->sel ? m->sel->from_ms : INT64_MIN;
	int64_t to_ms = m->sel ? m->sel->to_ms : m->cutoff_ms;
	const struct view_era *era = &m->view.eras.v[0];
	uint32_t type = p->chunk->types[p->type].type;

	if (e->last_ms < from_ms || e->first_ms >= to_ms)
		return COMPACT_KEEP;
	if (!m->sel)
		return COMPACT_ASK;
	if (e->series >= era->counts.series || type >= era->counts.types)
		return COMPACT_KEEP;
	if (m->sel->type.n && !str__eq(m->sel->type, dict__type_at(era->dict, type)->text))
		return COMPACT_KEEP;
	int r = match__stream(&m->match, e->series);
	return r < 0 ? r : r ? COMPACT_ASK : COMPACT_KEEP;
}

static int judge_profile(void *ctx, const struct compact_place *p)
{
	struct removal *m = ctx;
	const struct hidden_profile here = { .block = m->block,
					     .series = p->chunk->entry->series,
					     .type = p->chunk->types[p->type].type,
					     .time_ms = p->time_ms };

	m->counted = false;
	if (m->sel && (p->time_ms < m->sel->from_ms || p->time_ms >= m->sel->to_ms))
		return COMPACT_KEEP;
	if (!m->sel && p->time_ms >= m->cutoff_ms)
		return COMPACT_KEEP;
	bool hidden = hidden__take(&m->hidden, &here);
	if (m->sel && !hidden)
		return COMPACT_ASK;
	m->n += !hidden;
	m->hit = true;
	return COMPACT_DROP;
}

static int judge_row(void *ctx, const struct compact_place *p)
{
	struct removal *m = ctx;
	uint32_t group;

	if (m->match.series != p->chunk->entry->series &&
	    match__stream(&m->match, p->chunk->entry->series) < 0)
		return -ENOMEM;
	if (p->label_set >= m->view.eras.v[0].counts.label_sets)
		return COMPACT_KEEP;
	if (match__row(&m->match, p->label_set, &group) < 0)
		return -ENOMEM;
	if (group == MATCH_NONE)
		return COMPACT_KEEP;
	m->n += !m->counted;
	m->counted = m->hit = true;
	return COMPACT_DROP;
}

static bool may_lose(const struct removal *m, const struct stored *b)
{
	if (m->sel)
		return b->entry.last_ms >= m->sel->from_ms && b->entry.first_ms < m->sel->to_ms;
	return b->entry.first_ms < m->cutoff_ms;
}

/* A view of the block's era alone, in whose numbers the filter is asked. */
static int begin_block(struct removal *m, struct stored *b, struct dcm_error *err)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	const struct dcm_select *sel = m->sel ? m->sel : &all;
	struct era *era;
	int r = store__era(m->store, b->entry.era, &era, err);

	if (r)
		return r;
	pthread_rwlock_rdlock(&m->store->lock);
	const struct dict_counts counts = dict__counts(era->dict);
	pthread_rwlock_unlock(&m->store->lock);
	view__init(&m->view, m->store->host, sel, 1);
	r = view__era(&m->view, era->dict, &counts) == DCM_NONE ? -ENOMEM : view__seal(&m->view);
	era__unref(era);
	if (r == 0)
		r = groups__init(&m->groups, NULL, false);
	if (r == 0)
		r = match__init(&m->match, &m->view, sel, &m->groups);
	return r ? error__nomem(err) : 0;
}

static void end_block(struct removal *m)
{
	match__fini(&m->match);
	groups__fini(&m->groups);
	view__fini(&m->view);
	m->match = (struct match){ 0 };
	m->groups = (struct groups){ 0 };
}

static int remove_from(struct removal *m, struct stored *b, struct dcm_error *err)
{
	struct compact_filter filter = { judge_chunk, judge_profile, judge_row, m };
	struct job j = {
		.store = m->store,
		.inputs = { stored__ref(b) },
		.n = 1,
		.filter = &filter,
		.changes = &m->hit,
		.level = b->entry.level,
		.zstd_level = b->entry.level ? compact_default_rules.zstd_level[b->entry.level - 1] : 0,
	};
	uint64_t before = m->n;
	int r = begin_block(m, b, err);

	m->hit = false;
	if (r == 0)
		r = stored__block(b, &m->block, err);
	if (r == 0)
		r = run(&j, err);
	end_block(m);
	job__fini(&j);
	if (r)
		m->n = before;
	return r;
}

/* No error, or one that says nothing of other blocks: it is damaged, or its file is missing. */
static bool is_of_block(int r)
{
	return r == 0 || r == -EBADMSG || r == -ENOENT;
}

/* With `work`. A block is done once: those that replace one come with a number that is not older. */
static int remove_all(struct removal *m, struct dcm_error *err)
{
	struct store *s = m->store;
	VEC(struct stored *) todo = { 0 };
	int r = vec__reserve(&todo, s->blocks.n + 1) ? 0 : error__nomem(err);

	for (size_t i = 0; r == 0 && i < s->blocks.n; i++)
		if (may_lose(m, s->blocks.v[i]))
			todo.v[todo.n++] = stored__ref(s->blocks.v[i]);
	for (size_t i = 0; i < todo.n; i++) {
		struct dcm_error own = DCM_ERROR_INIT;
		int one = is_of_block(r) ? remove_from(m, todo.v[i], &own) : 0;

		if (one && (r == 0 || !is_of_block(one)))
			r = error__set(err, one, "%s", own.text);
		stored__unref(todo.v[i]);
	}
	vec__fini(&todo);
	return r;
}

/* With `work`. */
static int find_hidden(struct removal *m, struct dcm_error *err)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	struct look look;

	look__init(&look, m->store, m->store->host, &all, 1);
	int r = look__take(&look);
	if (r == 0)
		r = hidden__find(&m->hidden, &look);
	look__fini(&look);
	return r ? error__nomem(err) : 0;
}

static int remove_what(struct removal *m, uint64_t *ret_n, struct dcm_error *err)
{
	int r = upkeep__seal(m->store, err);

	if (r)
		return r;
	pthread_mutex_lock(&m->store->work);
	r = find_hidden(m, err);
	if (r == 0)
		r = remove_all(m, err);
	pthread_mutex_unlock(&m->store->work);
	hidden__fini(&m->hidden);
	*ret_n += m->n;
	return r;
}

int rework__remove(struct store *s, const struct dcm_select *sel, uint64_t *ret_n, struct dcm_error *err)
{
	return remove_what(&(struct removal){ .store = s, .sel = sel }, ret_n, err);
}

int rework__remove_before(struct store *s, int64_t cutoff_ms, uint64_t *ret_n, struct dcm_error *err)
{
	return remove_what(&(struct removal){ .store = s, .cutoff_ms = cutoff_ms }, ret_n, err);
}

/* How far to go in time for the bytes that are too many, as if they lay evenly in it; never less than a millisecond. */
static int64_t time_to_go(struct store *s, uint64_t max_bytes)
{
	int64_t first_ms = INT64_MAX, last_ms = INT64_MIN;
	uint64_t bytes = 0;

	pthread_rwlock_rdlock(&s->lock);
	for (size_t i = 0; i < s->blocks.n; i++) {
		const struct manifest_block *e = &s->blocks.v[i]->entry;

		bytes += e->bytes;
		first_ms = e->first_ms < first_ms ? e->first_ms : first_ms;
		last_ms = e->last_ms > last_ms ? e->last_ms : last_ms;
	}
	pthread_rwlock_unlock(&s->lock);
	if (bytes <= max_bytes)
		return INT64_MIN;
	double part = (double)(bytes - max_bytes) / (double)bytes;
	return first_ms + 1 + (int64_t)(part * (double)(last_ms - first_ms));
}

int rework__remove_to(struct store *s, uint64_t max_bytes, uint64_t *ret_n, struct dcm_error *err)
{
	int64_t until_ms;
	int r = upkeep__seal(s, err);

	while (r == 0 && (until_ms = time_to_go(s, max_bytes)) != INT64_MIN)
		r = rework__remove_before(s, until_ms, ret_n, err);
	return r;
}
