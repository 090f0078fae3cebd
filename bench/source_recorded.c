/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/source_recorded.c - batches of a recorded set
 *
 * What a host reports is an overlay over the batch of a window: with other times, and its own name
 * for the recorded one. What relabelling makes is an overlay, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/recorded.h"
#include "bench/source.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/identity.h"

/* So many windows after its neighbour a host begins: they share no time of a build or a test. */
enum { WINDOWS_APART = 37 };

struct recorded_source {
	struct source pub;
	struct recorded_windows windows;
};

static uint32_t window_of(const struct recorded_source *r, uint32_t host, uint32_t tick)
{
	return (uint32_t)(((uint64_t)host * WINDOWS_APART + tick) % r->windows.n);
}

/* The string that is the recorded machine's name. */
static uint32_t node_of(const struct dcm_batch *b)
{
	uint32_t i = 0;

	while (i < b->n_pairs && !str__eq(b->strings[b->pairs[i].name], STR("node")))
		i++;
	need(i < b->n_pairs, "the recorded set has no label node");
	return b->pairs[i].value;
}

static struct dcm_batch *recorded_batch(struct source *s, uint32_t host, uint32_t tick, int64_t time_ns)
{
	struct recorded_source *r = (struct recorded_source *)s;
	struct dcm_batch *of = r->windows.v[window_of(r, host, tick)];
	struct arena *arena;
	struct dcm_batch *b = batch__overlay(of, &arena);
	struct dcm_str *strings = b ? arena__zalloc(arena, of->n_strings, sizeof(*strings)) : NULL;
	struct dcm_profile *profiles = b ? arena__zalloc(arena, of->n_profiles, sizeof(*profiles)) : NULL;
	struct dcm_hash *hashes = b ? arena__zalloc(arena, of->n_series, sizeof(*hashes)) : NULL;

	need(strings && profiles && hashes, "out of memory");
	memcpy(strings, of->strings, of->n_strings * sizeof(*strings));
	strings[node_of(of)] = str__of(arena__printf(arena, "node-%u", host));
	need(strings[node_of(of)].n, "out of memory");
	b->strings = strings;
	for (uint32_t i = 0; i < of->n_series; i++)
		hashes[i] = identity__series(b, i);
	b->series_hashes = hashes;
	memcpy(profiles, of->profiles, of->n_profiles * sizeof(*profiles));
	for (uint32_t i = 0; i < of->n_profiles; i++)
		profiles[i].time_ns = time_ns;
	b->profiles = profiles;
	b->id = (struct dcm_batch_id){ { host + 1, 0x5eed }, tick + 1 };
	batch__account(b);
	return b;
}

static void recorded_free(struct source *s)
{
	struct recorded_source *r = (struct recorded_source *)s;

	recorded_windows__fini(&r->windows);
	free(r);
}

struct source *source__recorded(const struct source_shape *shape, const char *file)
{
	struct recorded_source *r = calloc(1, sizeof(*r));
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *set = NULL;

	need(r, "out of memory");
	r->pub = (struct source){ .shape = *shape, .batch = recorded_batch, .free = recorded_free };
	need(recorded__read(file, &set, &err) == 0, err.text);
	need(recorded__split(set, shape->labels, &r->windows) == 0, "out of memory");
	batch__unref(set);
	r->pub.shape.n_ticks = source__n_ticks(shape, (double)r->windows.n_rows / r->windows.n);
	for (uint32_t i = 0; i < shape->n_hosts; i++)
		for (uint32_t k = 0; k < r->pub.shape.n_ticks; k++)
			r->pub.n_rows += r->windows.v[window_of(r, i, k)]->n_rows;
	return &r->pub;
}
