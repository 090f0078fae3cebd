/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/meters.h - what the sampler counts, shown as metrics and as losses
 */
#ifndef DECIMA_EBPF_METERS_H
#define DECIMA_EBPF_METERS_H

#include <decima/plugin.h>

#include "plugins/input/ebpf/record.h"

enum meters_gauge {
	METERS_PROCESSES,
	METERS_FILES,
	METERS_CPUS,
	METERS_CPU_SECONDS,
	METERS_MAPS_READ,
	METERS_RECORDS,
	METERS_N
};

struct meters {
	const struct dcm_host *host;
	struct dcm_metric *stat[SAMPLER_STAT_N];
	struct dcm_metric *outcome[SAMPLER_OUTCOME_N];
	struct dcm_metric *own[METERS_N];
	struct sampler_stats last; /* what has been shown */
};

void meters__init(struct meters *m, const struct dcm_host *host);

/* Shows what was added since the last call, and hands losses to host->drop(). One thread. */
void meters__programs(struct meters *m, const struct sampler_stats *now);
void meters__set(struct meters *m, enum meters_gauge gauge, double value);

#endif
