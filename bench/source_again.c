/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/source_again.c - batches that were made before, at other times
 */
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/source.h"
#include "core/batch/batch.h"

struct again_source {
	struct source pub;
	struct dcm_batch **made; /* [n_ticks][n_hosts] */
	uint64_t n_shown;
};

static struct dcm_batch *again_batch(struct source *s, uint32_t host, uint32_t tick, int64_t time_ns)
{
	struct again_source *a = (struct again_source *)s;
	struct dcm_batch *of = a->made[tick % s->shape.n_ticks * s->shape.n_hosts + host];
	struct arena *arena;
	struct dcm_batch *b = batch__overlay(of, &arena);
	struct dcm_profile *profiles = b ? arena__zalloc(arena, of->n_profiles, sizeof(*profiles)) : NULL;

	need(profiles || (b && of->n_profiles == 0), "out of memory");
	if (profiles)
		memcpy(profiles, of->profiles, of->n_profiles * sizeof(*profiles));
	for (uint32_t i = 0; i < of->n_profiles; i++)
		profiles[i].time_ns = time_ns;
	b->profiles = profiles;
	b->id = (struct dcm_batch_id){ { 1, 0xa6a1 }, ++a->n_shown };
	batch__account(b);
	return b;
}

static void again_free(struct source *s)
{
	struct again_source *a = (struct again_source *)s;

	for (size_t i = 0; i < (size_t)s->shape.n_ticks * s->shape.n_hosts; i++)
		batch__unref(a->made[i]);
	free(a->made);
	free(a);
}

struct source *source__again(struct source *of)
{
	struct again_source *a = calloc(1, sizeof(*a));

	need(a, "out of memory");
	a->pub = (struct source){
		.shape = of->shape, .n_rows = of->n_rows, .batch = again_batch, .free = again_free
	};
	a->made = calloc((size_t)of->shape.n_ticks * of->shape.n_hosts, sizeof(*a->made));
	need(a->made, "out of memory");
	for (uint32_t tick = 0; tick < of->shape.n_ticks; tick++)
		for (uint32_t host = 0; host < of->shape.n_hosts; host++)
			a->made[tick * of->shape.n_hosts + host] = of->batch(of, host, tick,
									     SOURCE_BASE_NS);
	of->free(of);
	return &a->pub;
}
