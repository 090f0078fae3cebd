/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/meters.h - what the sampler counts, shown as metrics and as losses
 */
#ifndef DECIMA_EBPF_METERS_H
#define DECIMA_EBPF_METERS_H

#include <decima/plugin.h>

#include "plugins/input/ebpf/balance.h"
#include "plugins/input/ebpf/record.h"
#include "plugins/input/ebpf/unwinder.h"

enum meters_gauge {
	METERS_PROCESSES,
	METERS_FILES,
	METERS_CPUS,
	METERS_CPU_SECONDS,
	METERS_FREQUENCY,
	METERS_SHARE,
	METERS_MEMORY,
	METERS_MAP_BYTES,
	METERS_MAPS_READ,
	METERS_MAPS_HUNG,
	METERS_MAPS_REFUSED,
	METERS_RECORDS,
	METERS_ROUNDS_CUT,
	METERS_FILTERED_CGROUP,
	METERS_UNANSWERED,
	METERS_SILENCE,
	METERS_UNACCOUNTED,
	METERS_TABLES_FILES,
	METERS_TABLES_ROWS,
	METERS_TABLES_RULES,
	METERS_TABLES_RULES_REFUSED,
	METERS_TABLES_BYTES,
	METERS_TABLES_MAP_BYTES,
	METERS_TABLES_BUILDS,
	METERS_TABLES_FAILURES,
	METERS_TABLES_TOO_LONG,
	METERS_TABLES_SECONDS,
	METERS_TABLES_EVICTIONS,
	METERS_TABLES_OVER_BUDGET,
	METERS_CACHE_BYTES,
	METERS_CACHE_HITS,
	METERS_CACHE_MISSES,
	METERS_CACHE_STORED,
	METERS_CACHE_EVICTED,
	METERS_CACHE_DAMAGED,
	METERS_CACHE_OUTDATED,
	METERS_CACHE_FAILURES,
	METERS_DEFERRED_WAITING,
	METERS_DEFERRED_GIVEN_UP,
	METERS_DOUBTED,
	METERS_N
};

struct meters {
	const struct dcm_host *host;
	struct dcm_metric *stat[SAMPLER_STAT_N];
	struct dcm_metric *outcome[SAMPLER_OUTCOME_N];
	struct dcm_metric *deferred[SAMPLER_OUTCOME_N]; /* what became of deferred samples */
	struct dcm_metric *own[METERS_N];
	struct dcm_metric *not_run, *throttled;
	uint64_t last_deferred[SAMPLER_OUTCOME_N];
	struct sampler_stats last; /* what has been shown */
};

void meters__init(struct meters *m, const struct dcm_host *host);

/* Shows what was added since the last call, and hands losses to host->drop(). One thread. */
void meters__programs(struct meters *m, const struct sampler_stats *now);
/* The same of the tables, and of what was unwound here. */
void meters__unwinder(struct meters *m, const struct tables_stat *tables,
		      const struct unwinder_stat *now);
/* Adds samples that there should have been: shown, and lost. */
void meters__missed(struct meters *m, const struct balance_missed *missed);
void meters__set(struct meters *m, enum meters_gauge gauge, double value);

#endif
