/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/meters.c - what the sampler counts, shown as metrics and as losses
 */
#include "plugins/input/ebpf/meters.h"

#include <stdio.h>

/* A host that ran out of memory gives NULL, and takes it back. */
void meters__init(struct meters *m, const struct dcm_host *host)
{
	static const struct {
		const char *name, *help;
	} stats[] = {
#define SAMPLER_X(name, metric, help) { "sampler_" metric "_total", help },
		SAMPLER_STATS(SAMPLER_X)
#undef SAMPLER_X
	}, outcomes[] = {
#define SAMPLER_X(name, metric, note) { "sampler_outcome_" metric "_total", note },
		SAMPLER_OUTCOMES(SAMPLER_X)
#undef SAMPLER_X
	}, own[METERS_N] = {
		[METERS_PROCESSES] = { "sampler_processes", "process images known" },
		[METERS_FILES] = { "sampler_files", "files known that code was run from" },
		[METERS_CPUS] = { "sampler_cpus", "CPUs being sampled" },
		[METERS_CPU_SECONDS] = { "sampler_cpu_seconds", "CPU time of the sampler's threads" },
		[METERS_MAPS_READ] = { "sampler_maps_read", "readings of /proc/PID/maps so far" },
		[METERS_RECORDS] = { "sampler_records", "records taken out of the rings so far" },
	};
	char help[128];

	*m = (struct meters){ .host = host };
	for (int i = 0; i < SAMPLER_STAT_N; i++)
		m->stat[i] = host->metric(host, DCM_COUNTER, stats[i].name, stats[i].help);
	for (int i = 0; i < SAMPLER_OUTCOME_N; i++) {
		snprintf(help, sizeof(help), "user stacks that ended so: %s",
			 outcomes[i].help ? outcomes[i].help : "complete, or none");
		m->outcome[i] = host->metric(host, DCM_COUNTER, outcomes[i].name, help);
	}
	for (int i = 0; i < METERS_N; i++)
		m->own[i] = host->metric(host, DCM_GAUGE_METRIC, own[i].name, own[i].help);
}

static void lost(const struct meters *m, const struct sampler_stats *now, enum sampler_stat stat,
		 const char *reason)
{
	uint64_t n = now->stat[stat] - m->last.stat[stat];

	if (n)
		m->host->drop(m->host, reason, n);
}

void meters__programs(struct meters *m, const struct sampler_stats *now)
{
	for (int i = 0; i < SAMPLER_STAT_N; i++)
		m->host->metric_add(m->stat[i], now->stat[i] - m->last.stat[i]);
	for (int i = 0; i < SAMPLER_OUTCOME_N; i++)
		m->host->metric_add(m->outcome[i], now->outcome[i] - m->last.outcome[i]);
	lost(m, now, SAMPLER_STAT_RING_FULL, "samples_ring_full");
	lost(m, now, SAMPLER_STAT_BUSY, "samples_busy");
	lost(m, now, SAMPLER_STAT_NO_SCRATCH, "samples_no_scratch");
	lost(m, now, SAMPLER_STAT_EVENTS_FULL, "events_ring_full");
	m->last = *now;
}

void meters__set(struct meters *m, enum meters_gauge gauge, double value)
{
	m->host->metric_set(m->own[gauge], value);
}
