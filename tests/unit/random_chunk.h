/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/random_chunk.h - chunks of random profiles, as what goes into a block
 */
#ifndef DECIMA_TESTS_UNIT_RANDOM_CHUNK_H
#define DECIMA_TESTS_UNIT_RANDOM_CHUNK_H

#include "plugins/storage/local/chunk.h"
#include "tests/unit/random.h"

struct random_chunk {
	struct chunk_source source;
	struct chunk_profile *profiles;
	uint32_t *stacks, *labels;
	int64_t *values;
};

/* How the chunk is shaped; values of each kind come up in the shapes of one seed or another. */
struct random_shape {
	uint32_t n_profiles, max_rows; /* of a profile */
	uint32_t n_stacks;	       /* stacks are numbers below it */
	uint32_t n_label_sets;	       /* 1: none but the empty set, and no column */
	uint32_t n_types;
	int64_t unit;	 /* of values */
	bool negative;	 /* values of both signs */
	bool wide;	 /* values whose sum leaves 63 bits */
	bool even_times; /* every 10 s, all of one duration and period */
	bool whole_ms; /* otherwise durations and times are anything; or, with this, those of a sampler's windows */
};
struct random_shape random_shape(struct random *r);

/* Ends the program when memory runs out. */
void random_chunk__init(struct random_chunk *c, struct random *r, const struct random_shape *shape,
			uint32_t series);
void random_chunk__fini(struct random_chunk *c);

#endif
