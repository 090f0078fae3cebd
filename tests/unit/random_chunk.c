/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/random_chunk.c - chunks of random profiles
 */
#include "tests/unit/random_chunk.h"

#include <stdlib.h>

struct random_shape random_shape(struct random *r)
{
	static const uint32_t sizes[] = { 1, 3, 40, 300, 700 };
	static const int64_t units[] = { 1, 52631578, 4096, 10 };
	const uint32_t n_stacks = (uint32_t)random__wide(r) % 100000 + 1;

	return (struct random_shape){
		.n_profiles = sizes[random__below(r, 4)],
		.max_rows = sizes[random__below(r, 5)],
		.n_stacks = random__below(r, 4) ? n_stacks : DCM_NONE - 1,
		.n_label_sets = random__below(r, 2) ? 1 : (uint32_t)random__below(r, 1000) + 1,
		.n_types = random__below(r, 3) ? 1 : (uint32_t)random__below(r, CHUNK_MAX_TYPES) + 1,
		.unit = units[random__below(r, 4)],
		.negative = random__below(r, 5) == 0,
		.wide = random__below(r, 12) == 0,
		.even_times = random__below(r, 2),
		.whole_ms = random__below(r, 2),
	};
}

static void *zeroed(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p)
		exit(1);
	return p;
}

static int by_key(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Rows of one profile: distinct (stack, label set), ascending; returns how many. */
static uint32_t add_rows(struct random_chunk *c, struct random *r, const struct random_shape *s,
			 uint64_t at)
{
	const uint32_t n = (uint32_t)random__below(r, s->max_rows + 1);
	uint64_t *keys = zeroed(n, sizeof(*keys));
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		keys[i] = random__wide(r) % s->n_stacks << 32 | random__below(r, s->n_label_sets);
	qsort(keys, n, sizeof(*keys), by_key);
	for (uint32_t i = 0; i < n; i++) {
		if (i && keys[i] == keys[i - 1])
			continue;
		c->stacks[at + kept] = (uint32_t)(keys[i] >> 32);
		c->labels[at + kept] = (uint32_t)keys[i];
		kept++;
	}
	free(keys);
	return kept;
}

static int64_t value(struct random *r, const struct random_shape *s)
{
	if (s->wide)
		return (int64_t)random__next(r);
	const int64_t v = (int64_t)(random__wide(r) >> 44) * s->unit;

	return s->negative && random__below(r, 2) ? -v : random__below(r, 2) ? v : s->unit;
}

/* ms to the next profile. */
static int64_t gap(struct random *r, const struct random_shape *s)
{
	if (s->even_times)
		return 10000;
	if (s->whole_ms)
		return 10000 * (1 + (int64_t)random__below(r, 4)) + (int64_t)random__below(r, 3);
	return (int64_t)random__below(r, 20000);
}

void random_chunk__init(struct random_chunk *c, struct random *r, const struct random_shape *s,
			uint32_t series)
{
	const uint64_t most = (uint64_t)s->n_profiles * s->max_rows;
	/* Lengths that differ by whole milliseconds, or by anything; all that 64 bits hold. */
	const uint64_t step = s->whole_ms ? CHUNK_NS_A_MS : 1;
	int64_t time = 1700000000000;
	uint64_t n = 0;

	c->profiles = zeroed(s->n_profiles, sizeof(*c->profiles));
	c->stacks = zeroed(most, sizeof(*c->stacks));
	c->labels = zeroed(most, sizeof(*c->labels));
	for (uint32_t i = 0; i < s->n_profiles; i++) {
		c->profiles[i] = (struct chunk_profile){ .time_ms = time,
							 .duration_ns = 10000000000,
							 .period = 7 };
		if (!s->even_times) {
			c->profiles[i].duration_ns = (int64_t)((random__wide(r) >> 1) / step * step);
			c->profiles[i].period = (int64_t)random__next(r);
		}
		time += gap(r, s);
		c->profiles[i].n_rows = add_rows(c, r, s, n);
		n += c->profiles[i].n_rows;
	}
	c->values = zeroed(n * s->n_types, sizeof(*c->values));
	for (uint64_t i = 0; i < n * s->n_types; i++)
		c->values[i] = value(r, s);
	c->source = (struct chunk_source){
		.series = series,
		.n_types = s->n_types,
		.n_profiles = s->n_profiles,
		.profiles = c->profiles,
		.n_rows = n,
		.stacks = c->stacks,
		.labels = s->n_label_sets > 1 || random__below(r, 2) ? c->labels : NULL,
		.values = c->values,
	};
	for (uint32_t t = 0; t < s->n_types; t++)
		c->source.types[t] = (uint32_t)random__below(r, 100);
}

void random_chunk__fini(struct random_chunk *c)
{
	free(c->profiles);
	free(c->stacks);
	free(c->labels);
	free(c->values);
	*c = (struct random_chunk){ 0 };
}
