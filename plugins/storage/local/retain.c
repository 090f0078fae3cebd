/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/retain.c - which blocks go: by age, by type, by bytes
 */
#include "plugins/storage/local/retain.h"

#include <errno.h>
#include <stdlib.h>

void retain_choice__fini(struct retain_choice *c)
{
	vec__fini(&c->expired);
	vec__fini(&c->evicted);
	vec__fini(&c->eras);
	*c = (struct retain_choice){ 0 };
}

struct work {
	const struct manifest *m;
	const struct retain_rules *rules;
	const struct retain_facts *facts;
	struct retain_choice *ret;
	VEC(const struct manifest_block *) left; /* blocks that stay, as far as we know */
};

/* -------------------------------------------------------------------------------------------------
 * Age
 */

struct age {
	size_t n_types, n_over; /* of the block, and those of which nothing is left to keep */
};

static struct age age_of(const struct work *w, const struct manifest_block *b)
{
	static const uint32_t unknown = DCM_NONE;
	const struct retain_rules *rules = w->rules;
	struct age age = { 0 };

	if (!rules->cutoff_ms)
		return age;
	const uint32_t *types = w->facts->types(w->facts->ctx, b->number, &age.n_types);
	if (age.n_types == 0) {
		types = &unknown;
		age.n_types = 1;
	}
	for (size_t i = 0; i < age.n_types; i++)
		age.n_over += b->last_ms < rules->cutoff_ms(rules->ctx, b->era, types[i]);
	return age;
}

static int sort_out_old(struct work *w)
{
	for (size_t i = 0; i < w->m->blocks.n; i++) {
		const struct manifest_block *b = &w->m->blocks.v[i];
		const struct age age = age_of(w, b);

		if (age.n_over && age.n_over == age.n_types) {
			if (!vec__push(&w->ret->expired, b->number))
				return -ENOMEM;
			w->ret->n_profiles += b->n_profiles;
			continue;
		}
		if (!vec__push(&w->left, b))
			return -ENOMEM;
		if (age.n_over && !w->ret->rewrite)
			w->ret->rewrite = b->number;
	}
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Bytes
 */

static bool era_has_block(const struct work *w, uint32_t era)
{
	for (size_t i = 0; i < w->left.n; i++)
		if (w->left.v[i]->era == era)
			return true;
	return false;
}

static bool era_is_over(const struct work *w, uint32_t era)
{
	return !era_has_block(w, era) && !w->facts->era_is_held(w->facts->ctx, era);
}

static uint64_t bytes_of_blocks(const struct work *w)
{
	uint64_t n = 0;

	for (size_t i = 0; i < w->left.n; i++)
		n += w->left.v[i]->bytes;
	return n;
}

static uint64_t bytes_left(const struct work *w)
{
	uint64_t n = w->facts->other_bytes + bytes_of_blocks(w);

	for (size_t i = 0; i < w->m->eras.n; i++)
		if (!era_is_over(w, w->m->eras.v[i].number))
			n += w->facts->era_bytes(w->facts->ctx, w->m->eras.v[i].number);
	return n;
}

/* The newest first, so that the oldest is taken from the end. */
static int by_age(const void *a, const void *b)
{
	const struct manifest_block *const *x = a, *const *y = b;

	if ((*x)->last_ms != (*y)->last_ms)
		return (*x)->last_ms > (*y)->last_ms ? -1 : 1;
	return ((*x)->number < (*y)->number) - ((*x)->number > (*y)->number);
}

/* Must the oldest that is left go, when `blocks` bytes are left with it and `gone` have gone? */
static bool is_too_much(const struct work *w, uint64_t blocks, uint64_t gone)
{
	const struct retain_rules *rules = w->rules;

	if (w->left.n == 0)
		return false;
	if (rules->max_bytes && w->ret->bytes > rules->max_bytes)
		return true;
	const struct manifest_block *oldest = w->left.v[w->left.n - 1];
	return gone < rules->lacking_bytes && blocks - oldest->bytes >= rules->spared_bytes &&
	       !w->facts->is_shared(w->facts->ctx, oldest->number);
}

static int evict(struct work *w)
{
	uint64_t all = 0, blocks = bytes_of_blocks(w);

	for (size_t i = 0; i < w->m->blocks.n; i++)
		all += w->m->blocks.v[i].bytes;
	if (w->left.n > 1)
		qsort(w->left.v, w->left.n, sizeof(w->left.v[0]), by_age);
	w->ret->bytes = bytes_left(w);
	while (is_too_much(w, blocks, all - blocks)) {
		const struct manifest_block *b = w->left.v[w->left.n - 1];

		blocks -= b->bytes;
		if (!vec__push(&w->ret->evicted, b->number))
			return -ENOMEM;
		w->left.n--;
		w->ret->n_profiles += b->n_profiles;
		w->ret->bytes -= b->bytes;
		if (era_is_over(w, b->era))
			w->ret->bytes -= w->facts->era_bytes(w->facts->ctx, b->era);
		if (w->ret->rewrite == b->number)
			w->ret->rewrite = 0;
	}
	return 0;
}

static int find_dead_eras(struct work *w)
{
	for (size_t i = 0; i < w->m->eras.n; i++)
		if (era_is_over(w, w->m->eras.v[i].number) &&
		    !vec__push(&w->ret->eras, w->m->eras.v[i].number))
			return -ENOMEM;
	return 0;
}

int retain__choose(struct retain_choice *ret, const struct manifest *m,
		   const struct retain_rules *rules, const struct retain_facts *facts)
{
	struct work w = { .m = m, .rules = rules, .facts = facts, .ret = ret };
	int r = sort_out_old(&w);

	if (r == 0)
		r = evict(&w);
	if (r == 0)
		r = find_dead_eras(&w);
	vec__fini(&w.left);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * The filter
 */

static int64_t cutoff_of(const struct retain_rules *rules, const struct compact_place *p)
{
	return rules->cutoff_ms(rules->ctx, p->era, p->chunk->types[p->type].type);
}

static int on_chunk(void *ctx, const struct compact_place *p)
{
	const int64_t cutoff = cutoff_of(ctx, p);

	if (p->chunk->entry->last_ms < cutoff)
		return COMPACT_DROP;
	return p->chunk->entry->first_ms < cutoff ? COMPACT_ASK : COMPACT_KEEP;
}

static int on_profile(void *ctx, const struct compact_place *p)
{
	return p->time_ms < cutoff_of(ctx, p) ? COMPACT_DROP : COMPACT_KEEP;
}

struct compact_filter retain_filter(const struct retain_rules *rules)
{
	return (struct compact_filter){ .chunk = rules->cutoff_ms ? on_chunk : NULL,
					.profile = on_profile,
					.ctx = (void *)(uintptr_t)rules };
}

/* -------------------------------------------------------------------------------------------------
 * Bounds of single types
 */

static int newest_first(const void *a, const void *b)
{
	const struct retain_portion *x = a, *y = b;

	return (x->last_ms < y->last_ms) - (x->last_ms > y->last_ms);
}

int64_t retain__bound(struct retain_portion *v, size_t n, uint64_t max_bytes)
{
	int64_t kept_ms = INT64_MAX; /* what stays begins there */
	uint64_t sum = 0;

	if (n > 1)
		qsort(v, n, sizeof(*v), newest_first);
	for (size_t i = 0; i < n; i++) {
		if (sum >= max_bytes)
			return v[i].last_ms < kept_ms ? v[i].last_ms + 1 : kept_ms;
		sum += v[i].bytes;
		kept_ms = v[i].first_ms < kept_ms ? v[i].first_ms : kept_ms;
	}
	return INT64_MIN;
}
