/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/meters.c - what a job counts, as /metrics shows it
 */
#include "plugins/input/pprof_scrape/meters.h"

#include "core/base/str.h"

static const struct {
	enum dcm_metric_kind kind;
	const char *name, *help;
} meters[N_METERS] = {
	[METER_SCRAPES] = { DCM_COUNTER, "scrapes_total", "Profiles that targets were asked for" },
	[METER_SKIPPED] = { DCM_COUNTER,
			    "scrapes_skipped_total", "Profiles that were not asked for, because the one before was still on its way" },
	[METER_SAMPLES] = { DCM_COUNTER, "scrape_samples_total", "Samples of scraped profiles" },
	[METER_BYTES] = { DCM_COUNTER, "scrape_bytes_total",
			  "Bytes of scraped profiles, as they were sent" },
	[METER_DURATION] = { DCM_SECONDS, "scrape_duration_seconds", "Time that an answer took" },
	[METER_RESETS] = { DCM_COUNTER, "scrape_resets_total",
			   "Profiles that counted less than before: the program has begun anew" },
	[METER_NAMES] = { DCM_COUNTER, "scrape_names_total",
			  "Names that programs said themselves, of addresses in their profiles" },
	[METER_NAME_FAILURES] = { DCM_COUNTER, "scrape_name_failures_total",
				  "Profiles whose names a program was asked for, and did not say" },
	[METER_DROPPED] = { DCM_GAUGE_METRIC, "scrape_targets_dropped", "Targets that relabelling dropped" },
	[METER_LOOKS] = { DCM_COUNTER, "sd_refreshes_total",
			  "Looks of discoveries, and what came in watches" },
	[METER_LOOK_FAILURES] = { DCM_COUNTER, "sd_refresh_failures_total", "Of these, those that failed" },
	[METER_FOUND] = { DCM_GAUGE_METRIC, "sd_discovered_targets",
			  "Addresses that discoveries have found, and relabelling has kept" },
	[METER_FAILED_DISCOVERIES] = { DCM_GAUGE_METRIC, "sd_failed_configs",
				       "Discoveries whose last look failed" },
};

static const char *const failures[SCRAPE_N_FAILURES] = {
	[SCRAPE_TIMEOUT] = "timeout", [SCRAPE_CONNECT] = "connection", [SCRAPE_STATUS] = "status",
	[SCRAPE_FORMAT] = "format",   [SCRAPE_LIMIT] = "limit",	       [SCRAPE_MEMORY] = "memory",
};

static const char *const healths[N_HEALTHS] = {
	[DCM_HEALTH_UNKNOWN] = "unknown",
	[DCM_HEALTH_UP] = "up",
	[DCM_HEALTH_DOWN] = "down",
	[DCM_HEALTH_OFF] = "off",
};

void meters__init(struct meters *m, const struct dcm_host *host, const char *job)
{
	struct dcm_label_text labels[2] = { { STR("scrape_job"), str__of(job) } };

	m->host = host;
	for (int i = 0; i < N_METERS; i++)
		m->of[i] = host->metric_of(host, meters[i].kind, meters[i].name, meters[i].help,
					   labels, 1);
	labels[1].name = STR("reason");
	for (int i = 0; i < SCRAPE_N_FAILURES; i++) {
		labels[1].value = str__of(failures[i]);
		m->failures[i] = host->metric_of(host, DCM_COUNTER, "scrape_failures_total",
						 "Scrapes that gave nothing: no answer in time "
						 "(timeout), no connection or one "
						 "that broke, another status than 200, no profile "
						 "(format), more than a limit "
						 "of the job, no memory here",
						 labels, 2);
	}
	labels[1].name = STR("health");
	for (int i = 0; i < N_HEALTHS; i++) {
		labels[1].value = str__of(healths[i]);
		m->targets[i] = host->metric_of(
			host, DCM_GAUGE_METRIC,
			"scrape_targets", "Profiles of targets by how the last scrape went; off: the target does not have it",
			labels, 2);
	}
}

void meters__fini(struct meters *m)
{
	if (!m->host)
		return;
	for (int i = 0; i < N_METERS; i++)
		m->host->metric_end(m->host, m->of[i]);
	for (int i = 0; i < SCRAPE_N_FAILURES; i++)
		m->host->metric_end(m->host, m->failures[i]);
	for (int i = 0; i < N_HEALTHS; i++)
		m->host->metric_end(m->host, m->targets[i]);
	*m = (struct meters){ 0 };
}

void meters__add(const struct meters *m, enum meter which, uint64_t n)
{
	m->host->metric_add(m->of[which], n);
}

void meters__set(const struct meters *m, enum meter which, uint64_t value)
{
	m->host->metric_set(m->of[which], (double)value);
}

void meters__failed(const struct meters *m, enum scrape_failure why)
{
	m->host->metric_add(m->failures[why], 1);
}

void meters__show(const struct meters *m, enum dcm_health health, uint32_t n_targets)
{
	m->host->metric_set(m->targets[health], n_targets);
}
