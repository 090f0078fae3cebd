/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/pprof_scrape.c - profiles that programs serve over HTTP, scraped as metrics are
 *
 * Go's net/http/pprof, and whatever else answers with pprof: Java, Python, Ruby, Rust, Node, C++ by
 * their libraries. Jobs say where targets are found and which profiles they have (options.h); each
 * target is asked at its interval, and what comes is emitted with the target's labels.
 *
 * Threads: one of the plugin's own runs everything (loop.h); the host's client thread hands answers
 * over; targets() and the lifecycle come from the host's threads, and take a job's lock at most.
 * Memory: some 650 bytes a target and profile, most of them its labels (labels.h), and delta.h's table for those that count up.
 */
#include <decima/plugin.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/input/pprof_scrape/job.h"
#include "plugins/input/pprof_scrape/loop.h"
#include "plugins/input/pprof_scrape/options.h"

#define LOOK_NS ((int64_t)1000000000)

struct scraper {
	const struct dcm_host *host;
	const struct scrape_options *options;
	struct loop *loop;
	struct meters meters;
	struct texts texts;	/* of all jobs */
	struct loop_timer look; /* at how it goes, for people */
	VEC(struct job *) jobs;
	pthread_t thread;
	bool is_running;
};

/* ---- how it goes ---- */

static void say(struct scraper *s, const struct job_counts *c)
{
	const struct dcm_host *host = s->host;
	char trouble[512] = "";
	uint32_t n = c->n_up + c->n_down + c->n_off + c->n_unknown;

	for (size_t i = 0; i < s->jobs.n; i++)
		if (job__trouble(s->jobs.v[i], trouble))
			break;
	if (trouble[0])
		host->set_state(host, DCM_STATE_DEGRADED, "%u of %u targets are down; %s",
				c->n_down, n, trouble);
	else if (n == 0)
		host->set_state(host, DCM_STATE_OK, "no target was found%s",
				c->n_dropped ? "; relabelling dropped all there were" : "");
	else
		host->set_state(host, DCM_STATE_OK,
				"scrapes %u profiles of targets, of which %u have answered", n, c->n_up);
}

static void look(void *ctx)
{
	struct scraper *s = ctx;
	const struct dcm_host *host = s->host;
	struct job_counts c = { 0 };

	for (size_t i = 0; i < s->jobs.n; i++)
		job__count(s->jobs.v[i], &c);
	host->metric_set(s->meters.up, c.n_up);
	host->metric_set(s->meters.down, c.n_down);
	host->metric_set(s->meters.off, c.n_off);
	host->metric_set(s->meters.dropped, c.n_dropped);
	host->metric_set(s->meters.found, (double)c.n_found);
	host->metric_set(s->meters.failed_discoveries, c.n_failed_discoveries);
	host->metric_set(s->meters.delta_bytes, (double)s->meters.n_delta_bytes);
	say(s, &c);
	loop__set(s->loop, &s->look, host->mono_ns(host) + LOOK_NS);
}

/* ---- lifecycle ---- */

static void free_scraper(struct scraper *s)
{
	for (size_t i = 0; i < s->jobs.n; i++)
		job__free(s->jobs.v[i]);
	vec__fini(&s->jobs);
	texts__fini(&s->texts);
	loop__free(s->loop);
	free(s);
}

static void scraper_stop(void *instance)
{
	struct scraper *s = instance;

	if (s->is_running) {
		loop__end(s->loop);
		pthread_join(s->thread, NULL);
	}
	free_scraper(s);
}

static int make_jobs(struct scraper *s, struct dcm_error *err)
{
	const struct job_options *options = s->options->scrape_configs.items;

	for (uint32_t i = 0; i < s->options->scrape_configs.n; i++) {
		struct job_config c = { .host = s->host,
					.loop = s->loop,
					.meters = &s->meters,
					.texts = &s->texts,
					.all = s->options,
					.options = &options[i] };
		struct job *j = NULL;
		int r = job__new(&c, &j, err);

		if (r < 0)
			return r;
		if (!vec__push(&s->jobs, j)) {
			job__free(j);
			return error__nomem(err);
		}
	}
	return 0;
}

static int scraper_open(const struct dcm_host *host, const void *config, void **ret_instance,
			struct dcm_error *err)
{
	struct scraper *s = NEW(struct scraper);
	int r;

	if (!s)
		return error__nomem(err);
	s->host = host;
	s->options = config;
	s->look.fn = look;
	s->look.ctx = s;
	meters__init(&s->meters, host);
	s->loop = loop__new(host);
	r = s->loop ? make_jobs(s, err) : error__nomem(err);
	if (r < 0) {
		free_scraper(s);
		return r;
	}
	*ret_instance = s;
	return 0;
}

static void *run(void *ctx)
{
	struct scraper *s = ctx;

	loop__run(s->loop);
	return NULL;
}

static int scraper_start(void *instance, struct dcm_error *err)
{
	struct scraper *s = instance;
	int r;

	for (size_t i = 0; i < s->jobs.n; i++) {
		r = job__start(s->jobs.v[i], err);
		if (r < 0)
			return r;
	}
	if (loop__set(s->loop, &s->look, s->host->mono_ns(s->host)) < 0)
		return error__nomem(err);
	r = -pthread_create(&s->thread, NULL, run, s);
	if (r < 0)
		return error__sys(err, r, "no thread for the scraper");
	s->is_running = true;
	pthread_setname_np(s->thread, "pprof-scrape");
	return 0;
}

/* ---- what others ask ---- */

static void targets(void *instance, dcm_target_fn each, void *ctx)
{
	struct scraper *s = instance;

	for (size_t i = 0; i < s->jobs.n; i++)
		job__targets(s->jobs.v[i], each, ctx);
}

/* ---- what the host is told ---- */

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = scraper_open,
	.start = scraper_start,
	.stop = scraper_stop,
};

static const struct dcm_input_ops input = {
	.size = sizeof(input),
	.targets = targets,
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_INPUT,
	.name = "pprof_scrape",
	.version = "1.0",
	.summary = "Scrapes profiles that programs serve over HTTP (pprof), by Prometheus' and "
		   "Parca's scrape_configs",
	.options = &scrape_options__table,
	.lifecycle = &lifecycle,
	.input = &input,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
