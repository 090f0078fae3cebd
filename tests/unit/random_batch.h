/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/random_batch.h - valid batches out of a seed
 *
 * The same seed and flags make the same batch on every machine. All seeds draw from the same small
 * pools of names, addresses, labels and types, so that batches of different seeds share series and
 * stacks: what a store must merge.
 */
#ifndef DECIMA_TESTS_UNIT_RANDOM_BATCH_H
#define DECIMA_TESTS_UNIT_RANDOM_BATCH_H

#include <stdint.h>

#include <decima/plugin.h>

enum random_flag {
	RANDOM_NASTY = 1, /* extreme values, deep and empty stacks, 16 types, long and odd texts, big numbers */
	RANDOM_NO_PROCESSES = 2, /* no frames of a process: no runtime addresses */
	RANDOM_NO_SAMPLE_LABELS = 4,
	RANDOM_FILES_ONLY = 8, /* native frames in file mappings, by ELF address, named or with a build id */
	RANDOM_ALL_NAMED = 16,	 /* every location has lines */
	RANDOM_DELTA_ONLY = 32,	 /* no gauges, nothing cumulative */
	RANDOM_ONE_PROFILE = 64, /* exactly one; without it none to five */
	RANDOM_NO_UNITS = 128,	 /* sample labels are strings only */
	RANDOM_PLAIN_TEXT = 256, /* names without spaces, semicolons, line ends: what folded text can hold */
	RANDOM_STAND_INS = 1024, /* some build ids are stand-ins, which mean nothing elsewhere */
	RANDOM_POSITIVE = 512,	 /* values are above 0 */
};

/*
 * Puts a random batch's entries into a builder. Profiles begin at base_ns or up to five minutes
 * later, at whole milliseconds. What fails sticks to the builder.
 */
void random_batch__fill(struct dcm_builder *b, uint64_t seed, unsigned flags, int64_t base_ns);

/*
 * The same, sealed by a builder of its own, as the sequence-th of a source; NULL only when memory
 * ran out.
 */
struct dcm_batch *random_batch__of(struct dcm_hash source, uint64_t sequence, uint64_t seed,
				   unsigned flags, int64_t base_ns);
/* With a source that follows from the seed. base_ns: 2023-11-14T22:13:20Z. */
struct dcm_batch *random_batch__new(uint64_t seed, unsigned flags);
#define RANDOM_BASE_NS 1700000000000000000

#endif
