/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/meters.c - what the sampler counts, shown as metrics and as losses
 */
#include "plugins/input/ebpf/meters.h"

#include <stdio.h>

struct meter {
	const char *name, *help;
};

/* What is no count of the sampling program. */
static const struct meter own[METERS_N] = {
	[METERS_PROCESSES] = { "sampler_processes", "process images known" },
	[METERS_FILES] = { "sampler_files", "files known that code was run from" },
	[METERS_CPUS] = { "sampler_cpus", "CPUs being sampled" },
	[METERS_CPU_SECONDS] = { "sampler_cpu_seconds", "CPU time of the sampler's threads" },
	[METERS_FREQUENCY] = { "sampler_frequency_hertz",
			       "samples per second and busy CPU; below the configured ones while "
			       "over a budget" },
	[METERS_SHARE] = { "sampler_cpu_share",
			   "of the host's CPU time, taken by sampling in the last 5 s" },
	[METERS_MEMORY] = { "sampler_memory_bytes",
			    "of this process, resident, that memory_budget is held against" },
	[METERS_MAP_BYTES] = { "sampler_map_bytes",
			       "kernel memory of all maps: rings, scratch, unwind tables" },
	[METERS_MAPS_READ] = { "sampler_maps_read", "readings of /proc/PID/maps so far" },
	[METERS_MAPS_HUNG] = { "sampler_maps_hung", "of these, that took too long: a process keeps "
						    "its mappings locked" },
	[METERS_MAPS_REFUSED] = { "sampler_maps_refused",
				  "of these, that were not begun, and are tried again: one of that "
				  "process "
				  "hangs, or too many do, or no thread can be had" },
	[METERS_RECORDS] = { "sampler_records", "records taken out of the rings so far" },
	[METERS_ROUNDS_CUT] = { "sampler_rounds_cut",
				"looks at the rings so far that left records for the next one, to "
				"see to other work" },
	[METERS_FILTERED_CGROUP] = { "sampler_filtered_cgroup",
				     "samples of control groups that filter.cgroups does not "
				     "name" },
	[METERS_UNANSWERED] = { "sampler_unanswered", "requests so far to open a file that "
						      "decima-broker did not answer in "
						      "time" },
	[METERS_SILENCE] = { "sampler_silence_seconds",
			     "for how long decima-broker has not answered; 0: it does" },
	[METERS_UNACCOUNTED] = { "sampler_unaccounted",
				 "samples without an outcome, or with several: the most at the end "
				 "of any window, but for up to two a CPU that are under way, and "
				 "at the end; not 0: a fault of Decima" },
	[METERS_TABLES_FILES] = { "unwind_tables_files", "files whose unwind tables are there" },
	[METERS_TABLES_ROWS] = { "unwind_tables_rows", "rows of these tables" },
	[METERS_TABLES_RULES] = { "unwind_tables_rules", "distinct rules of files, of 32,768" },
	[METERS_TABLES_RULES_REFUSED] = { "unwind_tables_rules_refused",
					  "rules of files that found no room so far: code with "
					  "these cannot be walked" },
	[METERS_TABLES_BYTES] = { "unwind_tables_bytes", "kernel memory that they use" },
	[METERS_TABLES_MAP_BYTES] = { "unwind_tables_map_bytes", "kernel memory taken for them" },
	[METERS_TABLES_BUILDS] = { "unwind_tables_builds",
				   "files so far whose tables were compiled or read from disk" },
	[METERS_TABLES_FAILURES] = { "unwind_tables_failures", "of these, without a result" },
	[METERS_TABLES_TOO_LONG] = { "unwind_tables_too_long",
				     "of these, because a file asks for more work than any "
				     "compiler's; its code is walked by frame pointers" },
	[METERS_TABLES_SECONDS] = { "unwind_tables_seconds",
				    "CPU time that compiling took so far" },
	[METERS_TABLES_EVICTIONS] = { "unwind_tables_evictions", "tables that made room so far" },
	[METERS_TABLES_OVER_BUDGET] = { "unwind_tables_over_budget",
					"files that found no room so far (raise tables_memory)" },
	[METERS_CACHE_BYTES] = { "unwind_cache_bytes", "of tables kept on disk" },
	[METERS_CACHE_HITS] = { "unwind_cache_hits", "tables taken from disk so far" },
	[METERS_CACHE_MISSES] = { "unwind_cache_misses", "tables looked for there in vain so far" },
	[METERS_CACHE_STORED] = { "unwind_cache_stored", "tables written to disk so far" },
	[METERS_CACHE_EVICTED] = { "unwind_cache_evicted", "tables on disk that made room so far" },
	[METERS_CACHE_DAMAGED] = { "unwind_cache_damaged", "damaged files removed there so far" },
	[METERS_CACHE_OUTDATED] = { "unwind_cache_outdated",
				    "files of another version removed there so far" },
	[METERS_CACHE_FAILURES] = { "unwind_cache_failures",
				    "reads and writes there that failed so far" },
	[METERS_DEFERRED_WAITING] = { "sampler_deferred_waiting",
				      "deferred samples that wait for tables" },
	[METERS_DEFERRED_GIVEN_UP] = { "sampler_deferred_given_up",
				       "deferred samples that waited in vain so far" },
	[METERS_DOUBTED] = { "sampler_stacks_doubted", "user stacks cut so far where the kernel "
						       "walked by another file's rules: mappings "
						       "had changed and nobody had announced it" },
};

/* A host that ran out of memory gives NULL, and takes it back. */
void meters__init(struct meters *m, const struct dcm_host *host)
{
	static const struct meter stats[] = {
#define SAMPLER_X(name, metric, help) { "sampler_" metric "_total", help },
		SAMPLER_STATS(SAMPLER_X)
#undef SAMPLER_X
	};
	static const struct meter outcomes[] = {
#define SAMPLER_X(name, metric, note) { "sampler_outcome_" metric "_total", note },
		SAMPLER_OUTCOMES(SAMPLER_X)
#undef SAMPLER_X
	};
	static const char *const deferred[] = {
#define SAMPLER_X(name, metric, note) "sampler_deferred_" metric "_total",
		SAMPLER_OUTCOMES(SAMPLER_X)
#undef SAMPLER_X
	};
	char help[128];

	*m = (struct meters){ .host = host };
	for (int i = 0; i < SAMPLER_STAT_N; i++)
		m->stat[i] = host->metric(host, DCM_COUNTER, stats[i].name, stats[i].help);
	for (int i = 0; i < SAMPLER_OUTCOME_N; i++) {
		snprintf(help, sizeof(help), "user stacks that ended so: %s",
			 outcomes[i].help ? outcomes[i].help : "complete, or none");
		m->outcome[i] = host->metric(host, DCM_COUNTER, outcomes[i].name, help);
		snprintf(help, sizeof(help), "deferred samples whose stacks ended so: %s",
			 outcomes[i].help ? outcomes[i].help : "complete");
		m->deferred[i] = host->metric(host, DCM_COUNTER, deferred[i], help);
	}
	m->not_run = host->metric(
		host, DCM_COUNTER, "sampler_not_run_total",
		"samples lost: CPUs were busy and the kernel did not run the sampling "
		"program, as while another BPF program runs");
	m->throttled = host->metric(host, DCM_COUNTER, "sampler_throttled_total",
				    "samples lost: the kernel held up the timer "
				    "(kernel.perf_event_max_sample_rate)");
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
	lost(m, now, SAMPLER_STAT_FOLLOWED_FULL, "processes_not_followed");
	m->last = *now;
}

void meters__unwinder(struct meters *m, const struct tables_stat *tables, const struct unwinder_stat *now)
{
	for (int i = 0; i < SAMPLER_OUTCOME_N; i++) {
		m->host->metric_add(m->deferred[i], now->outcomes[i] - m->last_deferred[i]);
		m->last_deferred[i] = now->outcomes[i];
	}
	meters__set(m, METERS_DEFERRED_WAITING, now->n_waiting);
	meters__set(m, METERS_DEFERRED_GIVEN_UP, (double)now->n_given_up);
	meters__set(m, METERS_TABLES_FILES, tables->n_ready);
	meters__set(m, METERS_TABLES_ROWS, (double)tables->n_rows);
	meters__set(m, METERS_TABLES_BYTES, (double)tables->heap.used_bytes);
	meters__set(m, METERS_TABLES_MAP_BYTES, (double)tables->heap.slab_bytes);
	meters__set(m, METERS_TABLES_BUILDS, (double)tables->builds);
	meters__set(m, METERS_TABLES_RULES, tables->n_rules);
	meters__set(m, METERS_TABLES_RULES_REFUSED, (double)tables->rules_refused);
	meters__set(m, METERS_TABLES_FAILURES, (double)tables->build_failures);
	meters__set(m, METERS_TABLES_TOO_LONG, (double)tables->too_long);
	meters__set(m, METERS_TABLES_SECONDS, (double)tables->build_ns / 1e9);
	meters__set(m, METERS_TABLES_EVICTIONS, (double)tables->evictions);
	meters__set(m, METERS_TABLES_OVER_BUDGET, (double)tables->over_budget);
	meters__set(m, METERS_CACHE_BYTES, (double)tables->cache.bytes);
	meters__set(m, METERS_CACHE_HITS, (double)tables->cache.n_hits);
	meters__set(m, METERS_CACHE_MISSES, (double)tables->cache.n_misses);
	meters__set(m, METERS_CACHE_STORED, (double)tables->cache.n_stored);
	meters__set(m, METERS_CACHE_EVICTED, (double)tables->cache.n_evicted);
	meters__set(m, METERS_CACHE_DAMAGED, (double)tables->cache.n_damaged);
	meters__set(m, METERS_CACHE_OUTDATED, (double)tables->cache.n_outdated);
	meters__set(m, METERS_CACHE_FAILURES, (double)tables->cache.n_failures);
}

void meters__missed(struct meters *m, const struct balance_missed *missed)
{
	m->host->metric_add(m->not_run, missed->not_run);
	m->host->metric_add(m->throttled, missed->throttled);
	if (missed->not_run)
		m->host->drop(m->host, "samples_not_run", missed->not_run);
	if (missed->throttled)
		m->host->drop(m->host, "samples_throttled", missed->throttled);
}

void meters__set(struct meters *m, enum meters_gauge gauge, double value)
{
	m->host->metric_set(m->own[gauge], value);
}
