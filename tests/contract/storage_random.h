/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/contract/storage_random.h - batches and questions out of a seed, for tests of any storage
 *
 * The questions fit the batches: they ask for types, labels and times that these have, and now and
 * then for others. What cannot be made for want of memory ends the program.
 */
#ifndef DECIMA_TESTS_CONTRACT_STORAGE_RANDOM_H
#define DECIMA_TESTS_CONTRACT_STORAGE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "tests/contract/storage_answers.h"
#include "tests/unit/random.h"

/*
 * What random_batch__fill() makes of `flags` and base_ns, and a Go program's memory profile in
 * addition: series of states that grow with `round`, and now and then start again. `round` is the
 * sequence in the batch's id. The caller unrefs it.
 */
struct dcm_batch *storage_random__batch(struct random *r, uint64_t round, unsigned flags, int64_t base_ns);

/* The types that occur in the batches, and one that does not; NULL behind the last. */
extern const char *const storage_random__types[];

struct question {
	struct asked asked;
	struct dcm_matcher matchers[2][3];
	struct dcm_regex *regexes[6];
	uint32_t n_regexes;
};

/* A question of any kind, about times around RANDOM_BASE_NS. */
void question__random(struct question *q, struct random *r);
void question__fini(struct question *q);

/* As a person would write it, for the report of a failure; times in ms since RANDOM_BASE_NS. */
void question__describe(const struct asked *a, char *text, size_t cap);

#endif
