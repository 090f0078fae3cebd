/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/memory.h - memory that all jobs of an instance have together
 */
#ifndef DECIMA_PPROF_SCRAPE_MEMORY_H
#define DECIMA_PPROF_SCRAPE_MEMORY_H

#include "plugins/input/pprof_scrape/room.h"

#define MEMORY_ANSWERS_BYTES ((uint64_t)256 << 20)

struct memory {
	struct room answers; /* that were not read yet */
	/* For the last values of what counts up; the loop's thread. */
	uint64_t n_delta_bytes, max_delta_bytes;
};

/* A target that sends ever more stacks must not have it all: what one profile may take of max_delta_bytes. */
static inline uint64_t memory__profile_bytes(const struct memory *m)
{
	return m->max_delta_bytes / 64;
}

#endif
