/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/accounts.c - do the sampling program's counters add up?
 */
#include "plugins/input/ebpf/accounts.h"

#include <stddef.h>

#define MAX_TRIES 100

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t open_of(const volatile struct sampler_stats *s)
{
	static const enum sampler_stat ends[] = {
		SAMPLER_STAT_EMITTED,	   SAMPLER_STAT_FILTERED_IDLE, SAMPLER_STAT_FILTERED_SELF,
		SAMPLER_STAT_FILTERED_PID, SAMPLER_STAT_FILTERED_COMM, SAMPLER_STAT_BUSY,
		SAMPLER_STAT_NO_SCRATCH,   SAMPLER_STAT_RING_FULL
	};

	for (unsigned tries = 0; tries < MAX_TRIES; tries++) {
		const uint64_t entries = s->stat[SAMPLER_STAT_ENTRIES];
		const uint64_t emitted = s->stat[SAMPLER_STAT_EMITTED];
		uint64_t ended = 0, outcomes = 0;

		for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
			ended += s->stat[ends[i]];
		for (int i = 0; i < SAMPLER_OUTCOME_N; i++)
			outcomes += s->outcome[i];
		if (s->stat[SAMPLER_STAT_ENTRIES] == entries)
			return distance(entries, ended) + distance(emitted, outcomes);
	}
	return 0;
}

uint64_t accounts__open(const volatile struct sampler_stats *cpus, uint32_t n_cpus, bool runs)
{
	/* Of one that is under way the end is missing, or the outcome, or one was read before the other. */
	const uint64_t under_way = runs ? 2 : 0;
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < n_cpus; cpu++) {
		const uint64_t n = open_of(&cpus[cpu]);

		sum += n > under_way ? n : 0;
	}
	return sum;
}
