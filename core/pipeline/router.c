/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/router.c - which part of a batch a destination gets
 *
 * The selector first, so that rules run over nothing in vain. A batch of which some profiles are
 * wanted becomes an overlay with fewer profiles; their rows stay where they are.
 */
#include "core/pipeline/router.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/batch/batch.h"

void route__fini(struct route *r)
{
	if (r->selector_free)
		r->selector_free(r->selector);
	relabel__free(r->relabel);
	*r = (struct route){ 0 };
}

static uint64_t n_undecided(const struct route *r)
{
	return r->n_undecided ? r->n_undecided(r->selector) : 0;
}

/* Counts what is filtered too, apart from what is left out because nobody could tell. */
static uint32_t count_wanted(const struct route *r, const struct dcm_batch *b,
			     struct relabel_counts *counts)
{
	uint64_t before = n_undecided(r);
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n_profiles; i++) {
		bool is_wanted = r->wants(r->selector, b, i);
		uint64_t now = n_undecided(r);

		if (now != before)
			counts->n_rows_undecided += b->profiles[i].n_rows;
		if (now != before && !is_wanted)
			counts->n_rows_undecided_lost += b->profiles[i].n_rows;
		counts->n_profiles_filtered += now == before && !is_wanted;
		before = now;
		n += is_wanted;
	}
	return n;
}

static uint64_t count_wanted_rows(const struct route *r, const struct dcm_batch *b)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < b->n_profiles; i++)
		n += r->wants(r->selector, b, i) ? b->profiles[i].n_rows : 0;
	return n;
}

/* The batch with the wanted profiles only; NULL when memory ran out. */
static struct dcm_batch *thinned(const struct route *r, struct dcm_batch *b, uint32_t n_wanted)
{
	struct arena *arena;
	struct dcm_batch *o = batch__overlay(b, &arena);
	struct dcm_profile *profiles;
	uint32_t n = 0;

	if (!o)
		return NULL;
	profiles = arena__alloc(arena, n_wanted * sizeof(*profiles));
	if (!profiles) {
		batch__unref(o);
		return NULL;
	}
	for (uint32_t i = 0; i < b->n_profiles && n < n_wanted; i++)
		if (r->wants(r->selector, b, i))
			profiles[n++] = b->profiles[i];
	o->profiles = profiles;
	o->n_profiles = n;
	batch__account(o);
	return o;
}

/* What the selector leaves: a reference, or NULL for nothing. */
static int select_profiles(const struct route *r, struct dcm_batch *b, struct dcm_batch **ret,
			   struct relabel_counts *counts)
{
	uint32_t n = r->wants ? count_wanted(r, b, counts) : b->n_profiles;

	if (n == 0)
		*ret = NULL;
	else
		*ret = n == b->n_profiles ? batch__ref(b) : thinned(r, b, n);
	if (n == 0 || *ret)
		return 0;
	counts->n_rows_no_memory += count_wanted_rows(r, b);
	return -ENOMEM;
}

int route__apply(struct route *r, struct dcm_batch *batch, struct dcm_batch **ret,
		 struct relabel_counts *counts, struct dcm_error *err)
{
	CLEANUP(batch__unrefp) struct dcm_batch *selected = NULL;
	struct relabel_counts unused = { 0 };
	int e = select_profiles(r, batch, &selected, counts ? counts : &unused);

	if (e < 0)
		return error__nomem(err);
	if (!selected || !r->relabel) {
		*ret = take_ptr(selected);
		return 0;
	}
	return relabel__apply(r->relabel, selected, ret, counts, err);
}
