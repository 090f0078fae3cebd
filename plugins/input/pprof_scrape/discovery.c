/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/discovery.c - what finds targets: how it goes
 */
#include "plugins/input/pprof_scrape/discovery.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugins/input/pprof_scrape/job.h"

void discovery__found(struct discovery *d, struct source *s, struct groups *found)
{
	if (job__found(d->job, s, found) < 0)
		discovery__failed(d, "out of memory");
}

void discovery__lost(struct discovery *d, struct source *s)
{
	job__lost(d->job, s);
}

void discovery__well(struct discovery *d)
{
	const struct dcm_host *host = d->job->host;
	bool had_failed;

	pthread_mutex_lock(&d->job->lock);
	had_failed = d->error[0];
	d->error[0] = '\0';
	d->n_looks++;
	d->looked_real_ns = host->real_ns(host);
	pthread_mutex_unlock(&d->job->lock);
	meters__add(&d->job->meters, METER_LOOKS, 1);
	job__looked(d->job);
	if (had_failed)
		host->log(host, DCM_LOG_INFO, "job %s: %s: goes well again",
			  d->job->options->job_name, d->kind->name);
}

void discovery__failed(struct discovery *d, const char *fmt, ...)
{
	const struct dcm_host *host = d->job->host;
	char text[sizeof(d->error)];
	bool is_new;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pthread_mutex_lock(&d->job->lock);
	is_new = strcmp(text, d->error) != 0;
	memcpy(d->error, text, sizeof(text));
	d->n_looks++;
	d->n_failures++;
	pthread_mutex_unlock(&d->job->lock);
	meters__add(&d->job->meters, METER_LOOKS, 1);
	meters__add(&d->job->meters, METER_LOOK_FAILURES, 1);
	if (is_new)
		host->log(host, DCM_LOG_WARNING, "job %s: %s: %s; its targets stay as they were",
			  d->job->options->job_name, d->kind->name, text);
}
