/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/block_rows.h - blocks as plain lists of profiles, for oracles
 *
 * The obvious form: a profile has its series, its types, and rows; a list is in the order in which
 * blocks hold them. Everything asserts, and ends the test that finds something wrong.
 */
#ifndef DECIMA_TESTS_STORAGE_BLOCK_ROWS_H
#define DECIMA_TESTS_STORAGE_BLOCK_ROWS_H

#include "core/base/vec.h"
#include "plugins/storage/local/block.h"
#include "tests/unit/random.h"

struct plain_row {
	uint32_t stack, label_set;
	int64_t values[CHUNK_MAX_TYPES];
};

struct plain_profile {
	uint32_t block; /* whichever number the reader gave it */
	uint32_t chunk; /* of all that were read into the list */
	uint32_t series, n_types, types[CHUNK_MAX_TYPES];
	int64_t time_ms, duration_ns, period;
	uint32_t n_rows;
	struct plain_row *rows;
};

typedef VEC(struct plain_profile) plain_profiles;

/* Appends all that a block holds. */
void plain__read(plain_profiles *to, const struct block *b, uint32_t number);
void plain__fini(plain_profiles *p);
/* By series, list of types and time; what is equal keeps its order. */
void plain__sort(plain_profiles *p);
bool plain__same(const struct plain_profile *a, const struct plain_profile *b); /* but for block and chunk */

/*
 * A block of random chunks that share series, types, times, stacks and label sets with others from
 * here.
 */
struct random_block {
	struct buf bytes;
	struct block block;
};
struct random_block_shape {
	int64_t first_ms, span_ms; /* profiles start within */
	uint32_t n_series, max_profiles, max_rows;
	int zstd_level;
};
void random_block__init(struct random_block *b, struct random *r, const struct random_block_shape *shape);
void random_block__fini(struct random_block *b);

/* A block_put_fn to a struct buf. */
int put_to_buf(void *ctx, const void *p, size_t n);

#endif
