/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/spool_rig.h - a spool on the simulated disk of the local store's tests, and batches that know their number
 */
#ifndef DECIMA_TESTS_UNIT_SPOOL_RIG_H
#define DECIMA_TESTS_UNIT_SPOOL_RIG_H

#include "core/base/clock.h"
#include "core/pipeline/spool.h"
#include "tests/storage/sim_disk.h"

#define SECOND INT64_C(1000000000)

struct rig {
	struct sim *sim;
	struct spool *spool;
	struct clock clock;
	struct spool_config config;
	uint64_t full, expired, damaged; /* rows */
};

/* Without a spool yet, so that the configuration may be changed. */
void rig__begin_at(struct rig *s, uint64_t seed);
void rig__begin(struct rig *s);
void rig__reopen(struct rig *s);
void rig__end(struct rig *s);
/* The process ends as it stands, or the power goes; another one takes over. */
void rig__restart(struct rig *s, bool power_cut);

/* The same for the same number. */
struct dcm_batch *rig__batch_of(uint64_t number);
uint64_t rig__rows_of(uint64_t number);
/* Fails the test unless they are the same in every byte of their encoding, which has all of them. */
void rig__assert_same(const struct dcm_batch *a, const struct dcm_batch *b);

/* [n] batches, 8 at most, from that number on, as one group. */
int rig__try_append(struct rig *s, uint64_t first, uint32_t n);
void rig__append(struct rig *s, uint64_t first, uint32_t n);
/* The next one, checked against what was appended; its number, or -1. Not settled. */
int64_t rig__next(struct rig *s, struct spool_item *ret);
void rig__deliver(struct rig *s, int64_t expected);
void rig__assert_empty(struct rig *s);
/* Both clocks. */
void rig__pass(struct rig *s, int64_t ns);

#endif
