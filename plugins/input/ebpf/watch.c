/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/watch.c - keeps the trail of processes up to date from the side-band
 */
#include "plugins/input/ebpf/watch.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct watch {
	const struct dcm_host *host;
	struct sideband *sideband;
	struct trail *trail;
	struct ksymbols *symbols; /* NULL: nobody wants them */
	int64_t heard_ns;	  /* everything until then is in the trail */
	int error;		  /* the last one told */
	struct sideband_stat shown;
	uint64_t shown_forgotten;
	struct dcm_metric *records, *lost, *malformed, *forgotten, *pids, *steps;
};

struct watch *watch__new(const struct dcm_host *host, struct sideband *sideband)
{
	struct watch *w = NEW(struct watch);

	if (!w)
		return NULL;
	w->host = host;
	w->sideband = sideband;
	if (!sideband)
		return w;
	w->trail = trail__new();
	if (!w->trail) {
		free(w);
		return NULL;
	}
	w->records = host->metric(
		host, DCM_COUNTER, "sampler_process_records_total",
		"what the kernel told of exec, fork, exit and executable mappings");
	w->lost = host->metric(host, DCM_COUNTER, "sampler_process_records_lost_total",
			       "of these, lost because a ring was full: /proc is read instead");
	w->malformed = host->metric(host, DCM_COUNTER, "sampler_process_records_malformed_total",
				    "of these, not understood");
	w->forgotten = host->metric(host, DCM_COUNTER, "sampler_process_records_forgotten_total",
				    "of these, given up for want of room: /proc is read instead");
	w->pids = host->metric(host, DCM_GAUGE_METRIC, "sampler_processes_followed",
			       "processes whose mappings are followed, sampled or not");
	w->steps = host->metric(host, DCM_GAUGE_METRIC, "sampler_process_records_kept",
				"exec, fork and mappings of these that are remembered");
	return w;
}

void watch__free(struct watch *w)
{
	if (!w)
		return;
	trail__free(w->trail);
	free(w);
}

const struct trail *watch__trail(const struct watch *w)
{
	return w->trail;
}

void watch__note_symbols(struct watch *w, struct ksymbols *symbols)
{
	w->symbols = symbols;
}

static void on_record(void *ctx, const struct perf_record *record)
{
	struct watch *w = ctx;

	if (record->kind != PERF_RECORD_OF_SYMBOL)
		trail__add(w->trail, record);
	else if (w->symbols)
		ksymbols__add(w->symbols, record);
}

void watch__until(struct watch *w, int64_t time_ns)
{
	int64_t now;

	if (!w->sideband || time_ns < w->heard_ns)
		return;
	now = w->host->mono_ns(w->host);
	sideband__drain(w->sideband, on_record, w);
	w->heard_ns = now;
}

static void show(struct watch *w)
{
	struct sideband_stat now = sideband__stat(w->sideband);
	struct trail_stat trail = trail__stat(w->trail);

	w->host->metric_add(w->records, now.n_records - w->shown.n_records);
	w->host->metric_add(w->lost, now.n_lost - w->shown.n_lost);
	w->host->metric_add(w->malformed, now.n_malformed - w->shown.n_malformed);
	w->host->metric_add(w->forgotten, trail.n_forgotten - w->shown_forgotten);
	w->host->metric_set(w->pids, trail.n_pids);
	w->host->metric_set(w->steps, trail.n_steps);
	if (now.n_lost > w->shown.n_lost)
		w->host->drop(w->host, "process_records_ring_full", now.n_lost - w->shown.n_lost);
	w->shown = now;
	w->shown_forgotten = trail.n_forgotten;
}

uint64_t watch__lost(const struct watch *w)
{
	return w->sideband ? sideband__stat(w->sideband).n_lost : 0;
}

void watch__cpus(struct watch *w, const struct cpus *online, bool feel)
{
	int error;

	if (!w->sideband)
		return;
	error = sideband__update(w->sideband, online, feel);
	if (error && error != w->error)
		w->host->log(w->host, DCM_LOG_WARNING,
			     "processes on a CPU that came online are not followed: %s",
			     strerror(-error));
	w->error = error;
}

void watch__second(struct watch *w, int64_t now_ns)
{
	if (!w->sideband)
		return;
	trail__sweep(w->trail, now_ns);
	show(w);
}
