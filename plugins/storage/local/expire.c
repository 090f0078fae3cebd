/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/expire.c - what is too old or too much goes
 *
 * What goes is chosen by retain.h, from a snapshot: with `work` nobody else changes the list of
 * blocks or the manifest, but at the end, while a block is written anew. An era goes with its last
 * block, which is looked at again in the moment when it is taken off the list, because a write may
 * have begun a head of it meanwhile.
 */
#include "plugins/storage/local/expire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/local/age.h"
#include "plugins/storage/local/block_types.h"
#include "plugins/storage/local/extras.h"
#include "plugins/storage/local/quarantine.h"
#include "plugins/storage/local/retain.h"
#include "plugins/storage/local/retention.h"
#include "plugins/storage/local/rework.h"

/* -------------------------------------------------------------------------------------------------
 * The rules, and what the manifest does not say
 */

struct era_facts {
	uint32_t number;
	VEC(int64_t) cutoffs; /* by type, as far as blocks that may be over have it; else UNKNOWN */
	uint64_t bytes;
	bool held;
	bool unreadable; /* its dictionary, this time */
};
#define UNKNOWN INT64_MAX

struct block_facts {
	uint64_t number;
	VEC(uint32_t) types; /* empty: nothing of the block can be over but all of it */
};

struct expiring {
	struct store *store;
	struct retention kept;
	uint64_t free_bytes; /* of the file system, when room lacks */
	VEC(struct era_facts) eras;
	struct era *last; /* block_types.h */
	VEC(struct block_facts) blocks;
	struct retain_rules rules;
	struct retain_facts facts;
	struct retain_choice choice;
};

static void expiring__fini(struct expiring *g)
{
	for (size_t i = 0; i < g->eras.n; i++)
		vec__fini(&g->eras.v[i].cutoffs);
	for (size_t i = 0; i < g->blocks.n; i++)
		vec__fini(&g->blocks.v[i].types);
	retention__fini(&g->kept);
	era__unref(g->last);
	vec__fini(&g->eras);
	vec__fini(&g->blocks);
	retain_choice__fini(&g->choice);
}

static struct era_facts *find_era(const struct expiring *g, uint32_t number)
{
	for (size_t i = 0; i < g->eras.n; i++)
		if (g->eras.v[i].number == number)
			return &g->eras.v[i];
	return NULL;
}

static int64_t rule_cutoff(void *ctx, uint32_t era, uint32_t type)
{
	const struct expiring *g = ctx;
	const struct era_facts *e = find_era(g, era);

	if (e && type < e->cutoffs.n && e->cutoffs.v[type] != UNKNOWN)
		return e->cutoffs.v[type];
	return g->kept.first_ms;
}

static const uint32_t *fact_types(void *ctx, uint64_t number, size_t *ret_n)
{
	const struct expiring *g = ctx;

	*ret_n = 0;
	for (size_t i = 0; i < g->blocks.n; i++) {
		if (g->blocks.v[i].number != number)
			continue;
		*ret_n = g->blocks.v[i].types.n;
		return g->blocks.v[i].types.v;
	}
	return NULL;
}

static uint64_t fact_era_bytes(void *ctx, uint32_t era)
{
	const struct era_facts *e = find_era(ctx, era);

	return e ? e->bytes : 0;
}

static bool fact_era_is_held(void *ctx, uint32_t era)
{
	const struct era_facts *e = find_era(ctx, era);

	return e && e->held;
}

static bool fact_is_shared(void *ctx, uint64_t number)
{
	const struct expiring *g = ctx;
	CLEANUP(vfs__closep) struct vfs_file *f = NULL;
	char path[BLOCK_PATH_BYTES];
	struct vfs_stat st;

	/* One that is not there is in the way of nobody. */
	return vfs__open(g->store->vfs, commit__block_path(path, number), VFS_READ, &f) == 0 &&
	       (vfs__stat(f, &st) || st.n_links > 1);
}

/* -------------------------------------------------------------------------------------------------
 * Finding out, with `work`
 */

/*
 * How much must go for the room of all who write to the file system. What went for it may become
 * free later: a process that reads a removed file keeps it, and file systems take their time.
 */
static void look_for_room(struct expiring *g)
{
	const struct store *s = g->store;
	struct vfs_room room;

	/* What is held becomes free later, too, and so does what a block takes that is written anew. */
	if (commit__is_held(s->commit) || vfs__room(s->vfs, &room) < 0)
		return;
	room.free_bytes += s->rework_bytes;
	if (room.free_bytes >= room.bytes / EXPIRE_ROOM_PART)
		return;
	if (s->host->mono_ns(s->host) < s->room_comes_until_ns && room.free_bytes <= s->room_was_bytes)
		return;
	g->free_bytes = room.free_bytes;
	g->rules.lacking_bytes = room.bytes / EXPIRE_ROOM_PART - room.free_bytes;
	g->rules.spared_bytes = room.bytes / EXPIRE_ROOM_PART;
}

static void tell_room(const struct expiring *g)
{
	const struct store_options *o = &g->store->options;
	char text[200];

	if (!g->rules.lacking_bytes || !g->choice.evicted.n)
		return;
	g->store->room_comes_until_ns = g->store->host->mono_ns(g->store->host) + EXPIRE_ROOM_COMES_NS;
	g->store->room_was_bytes = g->free_bytes;
	if (!o->report)
		return;
	snprintf(text, sizeof(text),
		 "the file system is almost full: the oldest %zu blocks went before their time; "
		 "give it room, or lower max_bytes",
		 g->choice.evicted.n);
	o->report(o->report_ctx, DCM_LOG_WARNING, text);
}

static bool has_head(const struct heads *h, const struct era *e)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i]->era == e)
			return true;
	return false;
}

static uint64_t file_bytes(struct store *s, uint32_t era)
{
	char path[ERA_PATH_BYTES];
	uint64_t bytes;

	return vfs__size(s->vfs, era__path(path, era), &bytes) == 0 ? bytes : 0;
}

static int note_eras(struct expiring *g)
{
	struct store *s = g->store;
	const struct manifest *m = commit__manifest(s->commit);

	if (!vec__reserve(&g->eras, m->eras.n + 1))
		return -ENOMEM;
	for (size_t i = 0; i < m->eras.n; i++)
		g->eras.v[g->eras.n++] = (struct era_facts){ .number = m->eras.v[i].number };
	pthread_rwlock_rdlock(&s->lock);
	for (size_t i = 0; i < s->eras.n; i++) {
		struct era *e = s->eras.v[i];
		struct era_facts *f = find_era(g, e->number);

		if (f)
			f->held = has_head(&s->active, e) || has_head(&s->sealing, e);
	}
	pthread_rwlock_unlock(&s->lock);
	return 0;
}

/* NULL: they cannot be told this time, or the block cannot be read. */
static int types_of(struct expiring *g, struct stored *b, const struct block_types **ret)
{
	struct era_facts *e = find_era(g, b->entry.era);
	const struct block *block;
	int r;

	*ret = NULL;
	if (!e || e->unreadable)
		return 0;
	r = stored__block(b, &block, NULL);
	if (r)
		return r == -ENOMEM ? r : 0;
	r = block_types__get(g->store, b, &g->last, ret);
	e->unreadable = r && r != -ENOMEM;
	return r == -ENOMEM ? r : 0;
}

static int add_bytes(struct expiring *g, struct stored *b)
{
	const struct block_types *t;
	int r = types_of(g, b, &t);

	for (size_t i = 0; r == 0 && t && i < t->list.n; i++)
		if (t->list.v[i].text)
			r = retention__add(&g->kept, str__of(t->list.v[i].text), &b->entry,
					   t->list.v[i].bytes);
	return r;
}

static int set_cutoff(struct era_facts *e, uint32_t type, int64_t ms)
{
	while (e->cutoffs.n <= type)
		if (!vec__push(&e->cutoffs, UNKNOWN))
			return -ENOMEM;
	e->cutoffs.v[type] = ms;
	return 0;
}

/*
 * A block of which a part may be over. One with rows that filters take is written anew for these
 * first, in their order (removal.h).
 */
static int note_block(struct expiring *g, struct stored *b)
{
	struct era_facts *e = find_era(g, b->entry.era);
	struct block_facts f = { .number = b->entry.number };
	const struct block_types *t = NULL;
	int r = 0;

	if (e && !filters__list(g->store->filters, b->entry.number))
		r = types_of(g, b, &t);
	for (size_t i = 0; r == 0 && t && i < t->list.n; i++) {
		const struct block_type *type = &t->list.v[i];

		if (type->text)
			r = set_cutoff(e, type->type, retention__cutoff(&g->kept, str__of(type->text)));
		if (r == 0 && !vec__push(&f.types, type->type))
			r = -ENOMEM;
	}
	if (r == 0 && !vec__push(&g->blocks, f))
		r = -ENOMEM;
	if (r)
		vec__fini(&f.types);
	return r;
}

static int note_types(struct expiring *g)
{
	const struct store *s = g->store;
	int r = 0;

	for (size_t i = 0; r == 0 && retention__has_bounds(&g->kept) && i < s->blocks.n; i++)
		r = add_bytes(g, s->blocks.v[i]);
	retention__end(&g->kept);
	for (size_t i = 0; r == 0 && i < s->blocks.n; i++) {
		struct stored *b = s->blocks.v[i];

		if (b->entry.last_ms >= g->kept.first_ms && b->entry.last_ms < g->kept.last_ms)
			r = note_block(g, b);
	}
	return r;
}

static int choose(struct expiring *g)
{
	int r = note_eras(g);

	if (r == 0 && retention__has_types(&g->kept))
		r = note_types(g);
	for (size_t i = 0; i < g->eras.n; i++)
		g->eras.v[i].bytes = file_bytes(g->store, g->eras.v[i].number);
	g->rules.cutoff_ms = rule_cutoff;
	g->rules.ctx = g;
	g->facts.types = fact_types;
	g->facts.era_bytes = fact_era_bytes;
	g->facts.era_is_held = fact_era_is_held;
	g->facts.is_shared = fact_is_shared;
	g->facts.ctx = g;
	return r ? r
		 : retain__choose(&g->choice, commit__manifest(g->store->commit), &g->rules, &g->facts);
}

/* -------------------------------------------------------------------------------------------------
 * Removing, with `work`
 */

struct removing {
	struct store *store;
	const struct retain_choice *choice;
	VEC(uint64_t) numbers;	 /* of blocks */
	VEC(struct era *) eras;	 /* that nobody needs then; references */
	VEC(const char *) paths; /* of their logs, and of strays */
	int64_t aged_ms;	 /* the store's */
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

static int note_numbers(struct removing *g)
{
	const struct retain_choice *c = g->choice;

	if (!vec__reserve(&g->numbers, c->expired.n + c->evicted.n + 1))
		return -ENOMEM;
	for (size_t i = 0; i < c->expired.n; i++)
		g->numbers.v[g->numbers.n++] = c->expired.v[i];
	for (size_t i = 0; i < c->evicted.n; i++)
		g->numbers.v[g->numbers.n++] = c->evicted.v[i];
	return 0;
}

static bool goes(const struct removing *g, const struct stored *b)
{
	for (size_t i = 0; i < g->numbers.n; i++)
		if (g->numbers.v[i] == b->entry.number)
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

/* A commit_change.edit. */
static int forget_eras(void *ctx, struct manifest *next, struct dcm_error *err)
{
	struct removing *g = ctx;

	for (size_t i = 0; i < g->eras.n; i++)
		extras__forget_era(next, g->eras.v[i]->number);
	return age__write(next, g->aged_ms) < 0 ? error__nomem(err) : 0;
}

/* Whether a start would have to come far again. */
static bool has_aged(const struct removing *g)
{
	const int64_t kept_ms = age__of(commit__manifest(g->store->commit));
	int64_t more_ms;

	return g->aged_ms != INT64_MIN &&
	       (__builtin_sub_overflow(g->aged_ms, kept_ms, &more_ms) || more_ms >= AGE_KEEP_MS);
}

static void drop_blocks(struct removing *g)
{
	struct store *s = g->store;
	size_t n = 0;

	pthread_rwlock_wrlock(&s->lock);
	for (size_t i = 0; i < s->blocks.n; i++) {
		if (goes(g, s->blocks.v[i])) {
			atomic_store(&s->blocks.v[i]->outdated, true);
			stored__unref(s->blocks.v[i]);
		} else {
			s->blocks.v[n++] = s->blocks.v[i];
		}
	}
	s->blocks.n = n;
	kept__count_all(s);
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

static int apply(struct removing *g, struct dcm_error *err)
{
	int r;

	if (g->numbers.n == 0 && g->paths.n == 0 && !has_aged(g))
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

struct amount {
	uint64_t n_profiles, n_rows;
};

/* Of the blocks with these numbers; of all when `numbers` is NULL. */
static struct amount amount_of(const struct store *s, const uint64_t *numbers, size_t n)
{
	struct amount sum = { 0 };

	for (size_t i = 0; i < s->blocks.n; i++) {
		const struct manifest_block *e = &s->blocks.v[i]->entry;
		bool counts = !numbers;

		for (size_t k = 0; !counts && k < n; k++)
			counts = e->number == numbers[k];
		sum.n_profiles += counts ? e->n_profiles : 0;
		sum.n_rows += counts ? e->n_rows : 0;
	}
	return sum;
}

static int remove_chosen(struct expiring *g, struct dcm_error *err)
{
	struct store *s = g->store;
	struct removing rm = { .store = s, .choice = &g->choice };
	int r = note_numbers(&rm);

	if (r == 0)
		r = choose_strays(&rm);
	pthread_rwlock_wrlock(&s->lock);
	rm.aged_ms = s->aged_ms;
	if (r == 0)
		r = choose_eras(&rm);
	pthread_rwlock_unlock(&s->lock);
	r = r ? error__nomem(err) : apply(&rm, err);
	removing__fini(&rm);
	return r;
}

/* With `work`, which others may have at the end. */
static int expire(struct expiring *g, bool is_whole, const struct rework_yield *yield,
		  struct dcm_error *err)
{
	struct store *s = g->store;
	const struct amount before = amount_of(s, NULL, 0);
	int r = choose(g);
	const struct amount evicted = g->choice.evicted.n
					      ? amount_of(s, g->choice.evicted.v, g->choice.evicted.n)
					      : (struct amount){ 0 };

	r = r ? error__nomem(err) : remove_chosen(g, err);
	if (r)
		return r;
	tell_room(g);
	uint64_t n = before.n_profiles - amount_of(s, NULL, 0).n_profiles;
	if (g->choice.rewrite && !is_whole) {
		const struct compact_filter filter = retain_filter(&g->rules);

		r = rework__filter(s, g->choice.rewrite, &filter, yield, &n, err);
	}
	atomic_fetch_add_explicit(&s->n_expired, n - evicted.n_profiles, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->rows_evicted, evicted.n_rows, memory_order_relaxed);
	return r < 0 ? r : 0; /* what is due again, the next call does */
}

/* The store's own limits. */
static int expire_own(struct store *s, bool is_whole, const struct rework_yield *yield,
		      struct dcm_error *err)
{
	struct expiring g = { .store = s };
	struct wal_stat log;

	wal__stat(commit__wal(s->commit), &log);
	pthread_mutex_lock(&s->work);
	int kept = quarantine__trim(s, NULL, err);
	/* What a backup holds goes with it: nothing else is to go for its room. */
	g.facts.other_bytes = (uint64_t)(log.n_files - log.n_held) * s->options.segment_bytes +
			      atomic_load(&s->aside_bytes);
	look_for_room(&g);
	pthread_rwlock_wrlock(&s->lock);
	g.rules.max_bytes = s->options.max_bytes;
	int r = retention__take(&g.kept, s);
	pthread_rwlock_unlock(&s->lock);
	r = r ? error__nomem(err) : expire(&g, is_whole, yield, err);
	pthread_mutex_unlock(&s->work);
	expiring__fini(&g);
	return r ? r : kept;
}

int expire__now(struct store *s, const struct rework_yield *yield, struct dcm_error *err)
{
	return expire_own(s, false, yield, err);
}

int expire__whole(struct store *s, struct dcm_error *err)
{
	return expire_own(s, true, NULL, err);
}
