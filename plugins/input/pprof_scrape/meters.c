/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/meters.c - what the scraper counts, as /metrics shows it
 */
#include "plugins/input/pprof_scrape/meters.h"

static const char *const failures[SCRAPE_N_FAILURES][2] = {
	[SCRAPE_TIMEOUT] = { "scrape_failures_timeout_total",
			     "Scrapes that were not answered in time" },
	[SCRAPE_CONNECT] = { "scrape_failures_connection_total",
			     "Scrapes without a connection, or whose connection broke" },
	[SCRAPE_STATUS] = { "scrape_failures_status_total",
			    "Scrapes that were answered with another status than 200" },
	[SCRAPE_FORMAT] = { "scrape_failures_format_total", "Scrapes whose answer was no profile" },
	[SCRAPE_LIMIT] = { "scrape_failures_limit_total",
			   "Scrapes whose answer was larger than a limit of the job" },
	[SCRAPE_MEMORY] = { "scrape_failures_memory_total",
			    "Scrapes that there was no memory for" },
};

void meters__init(struct meters *m, const struct dcm_host *host)
{
	for (int i = 0; i < SCRAPE_N_FAILURES; i++)
		m->failures[i] = host->metric(host, DCM_COUNTER, failures[i][0], failures[i][1]);
	m->scrapes = host->metric(host, DCM_COUNTER, "scrapes_total",
				  "Profiles that targets were asked for");
	m->skipped = host->metric(
		host, DCM_COUNTER, "scrapes_skipped_total",
		"Profiles that were not asked for, because the one before was still on its way");
	m->samples = host->metric(host, DCM_COUNTER, "scrape_samples_total",
				  "Samples of scraped profiles");
	m->bytes = host->metric(host, DCM_COUNTER, "scrape_bytes_total",
				"Bytes of scraped profiles, as they were sent");
	m->duration_ms = host->metric(host, DCM_COUNTER, "scrape_duration_milliseconds_total",
				      "Time that answers took, added up");
	m->resets = host->metric(
		host, DCM_COUNTER, "scrape_resets_total",
		"Profiles that counted less than before: the program has begun anew");
	m->names = host->metric(
		host, DCM_COUNTER, "scrape_names_total",
		"Names that programs said themselves, of addresses in their profiles");
	m->name_failures = host->metric(
		host, DCM_COUNTER, "scrape_name_failures_total",
		"Profiles whose names a program was asked for, and did not say");
	m->up = host->metric(host, DCM_GAUGE_METRIC, "scrape_targets_up",
			     "Targets whose last scrape went well");
	m->down = host->metric(host, DCM_GAUGE_METRIC, "scrape_targets_down",
			       "Targets whose last scrape failed");
	m->off = host->metric(host, DCM_GAUGE_METRIC, "scrape_targets_off",
			      "Targets that do not have the profile");
	m->dropped = host->metric(host, DCM_GAUGE_METRIC, "scrape_targets_dropped",
				  "Targets that relabelling dropped");
	m->delta_bytes = host->metric(host, DCM_GAUGE_METRIC, "scrape_delta_bytes",
				      "Memory for the last values of profiles that count up");
	m->looks = host->metric(host, DCM_COUNTER, "sd_refreshes_total",
				"Looks of discoveries, and what came in watches");
	m->look_failures = host->metric(host, DCM_COUNTER, "sd_refresh_failures_total",
					"Of these, those that failed");
	m->found = host->metric(host, DCM_GAUGE_METRIC, "sd_discovered_targets",
				"Addresses that discoveries have found, and relabelling has kept");
	m->failed_discoveries = host->metric(host, DCM_GAUGE_METRIC, "sd_failed_configs",
					     "Discoveries whose last look failed");
}
