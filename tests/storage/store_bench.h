/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/store_bench.h - the local store on a simulated disk, beside what it was told
 *
 * What a test of the whole store begins and ends with. The clocks stand unless a test moves them.
 * Everything asserts, and ends the test that finds something wrong.
 */
#ifndef DECIMA_TESTS_STORAGE_STORE_BENCH_H
#define DECIMA_TESTS_STORAGE_STORE_BENCH_H

#include "tests/contract/storage_host.h"
#include "tests/storage/sim_disk.h"
#include "tests/storage/store_content.h"

struct bench {
	struct storage storage;	      /* for its host */
	struct store_options options; /* of whoever opens the store next */
	struct sim *sim;
	struct store *store;
	struct content told; /* all batches that were acknowledged, each once; a test adds them */
	uint64_t next_sequence;
	unsigned n_complaints; /* errors that the store has reported, which are printed */
};

/*
 * An empty disk and no store: the clock is an hour after RANDOM_BASE_NS, and heads wait for the
 * test to seal them.
 */
void bench__prepare(struct bench *b, uint64_t seed, enum sim_model model);
void bench__open(struct bench *b);
/* Both, on a disk that keeps the order of names. */
void bench__init(struct bench *b, uint64_t seed);
/* Nothing may have been left open. */
void bench__fini(struct bench *b);
/* What the disk keeps, opened again. */
void bench__restart(struct bench *b, bool power_cut);
/* The store holds what it was told, and nothing else. */
void bench__compare(struct bench *b);

#endif
