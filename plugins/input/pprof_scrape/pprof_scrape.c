/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/pprof_scrape.c - profiles that programs serve over HTTP, scraped as metrics are
 *
 * Go's net/http/pprof, and whatever else answers with pprof: Java, Python, Ruby, Rust, Node, C++ by
 * their libraries. Jobs say where targets are found and which profiles they have (options.h); each
 * target is asked at its interval, and what comes is emitted with the target's labels.
 *
 * A reload makes new jobs, of which each takes the targets of the old one with its name: those that
 * stay the same lose neither what they counted nor a profile that is under way.
 *
 * Threads: one of the plugin's own runs everything (loop.h), reloads too; the host's client thread hands
 * answers over; targets() and the lifecycle come from the host's threads.
 * Memory: some 650 bytes a target and profile, most of them its labels (labels.h), and delta.h's table for those that count up.
 */
#include <decima/plugin.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "plugins/input/pprof_scrape/job.h"
#include "plugins/input/pprof_scrape/loop.h"
#include "plugins/input/pprof_scrape/options.h"

#define LOOK_NS ((int64_t)1000000000)

struct jobs {
	VEC(struct job *) v;
};

struct scraper {
	const struct dcm_host *host;
	struct loop *loop;
	struct memory memory; /* of all jobs, */
	struct texts texts;   /* as these */
	struct dcm_metric *delta_bytes;
	struct loop_timer look; /* at how it goes, for people */
	pthread_mutex_t lock;	/* of `jobs`, which change on the loop's thread */
	struct jobs jobs;
	struct jobs replaced; /* by a reload, until their calls have ended */
	pthread_t thread;
	bool is_running;
};

/* ---- how it goes ---- */

static void say(struct scraper *s, const struct job_counts *c)
{
	const struct dcm_host *host = s->host;
	char trouble[512] = "";
	uint32_t n = 0;

	for (uint32_t h = 0; h < N_HEALTHS; h++)
		n += c->targets[h];
	for (size_t i = 0; i < s->jobs.v.n; i++)
		if (job__trouble(s->jobs.v.v[i], trouble))
			break;
	if (trouble[0])
		host->set_state(host, DCM_STATE_DEGRADED, "%u of %u targets are down; %s",
				c->targets[DCM_HEALTH_DOWN], n, trouble);
	else if (n == 0 && c->is_looking)
		host->set_state(host, DCM_STATE_OK, "looks for targets");
	else if (n == 0)
		host->set_state(host, DCM_STATE_OK, "no target was found%s",
				c->n_dropped ? "; relabelling dropped all there were" : "");
	else
		host->set_state(host, DCM_STATE_OK,
				"scrapes %u profiles of targets, of which %u have answered", n,
				c->targets[DCM_HEALTH_UP]);
}

static void free_replaced(struct scraper *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->replaced.v.n; i++)
		if (s->replaced.v.v[i]->n_calls)
			s->replaced.v.v[n++] = s->replaced.v.v[i];
		else
			job__free(s->replaced.v.v[i]);
	s->replaced.v.n = n;
}

static void look(void *ctx)
{
	struct scraper *s = ctx;
	const struct dcm_host *host = s->host;
	struct job_counts c = { 0 };

	free_replaced(s);

	for (size_t i = 0; i < s->jobs.v.n; i++)
		job__count(s->jobs.v.v[i], &c);
	host->metric_set(s->delta_bytes, (double)s->memory.n_delta_bytes);
	say(s, &c);
	loop__set(s->loop, &s->look, host->mono_ns(host) + LOOK_NS);
}

/* ---- lifecycle ---- */

static void jobs__fini(struct jobs *jobs)
{
	for (size_t i = 0; i < jobs->v.n; i++)
		job__free(jobs->v.v[i]);
	vec__fini(&jobs->v);
}

static void free_scraper(struct scraper *s)
{
	for (size_t i = 0; i < s->jobs.v.n; i++)
		job__end(s->jobs.v.v[i]);
	for (size_t i = 0; i < s->replaced.v.n; i++)
		job__end(s->replaced.v.v[i]);
	/* Answers know who asked. */
	if (s->loop)
		loop__run_posted(s->loop);
	jobs__fini(&s->jobs);
	jobs__fini(&s->replaced);
	texts__fini(&s->texts);
	loop__free(s->loop);
	room__fini(&s->memory.answers);
	pthread_mutex_destroy(&s->lock);
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

/* What was made stays in `to` on failure. */
static int make_jobs(struct scraper *s, const struct scrape_options *all, struct jobs *to,
		     struct dcm_error *err)
{
	const struct job_options *options = all->scrape_configs.items;

	for (uint32_t i = 0; i < all->scrape_configs.n; i++) {
		struct job_config c = { .host = s->host,
					.loop = s->loop,
					.memory = &s->memory,
					.texts = &s->texts,
					.all = all,
					.options = &options[i] };
		struct job *j = NULL;
		int r = job__new(&c, &j, err);

		if (r < 0)
			return r;
		if (!vec__push(&to->v, j)) {
			job__free(j);
			return error__nomem(err);
		}
	}
	return 0;
}

static int start_jobs(struct jobs *jobs, struct dcm_error *err)
{
	int r = 0;

	for (size_t i = 0; i < jobs->v.n && r == 0; i++)
		r = job__start(jobs->v.v[i], err);
	return r;
}

static void take_memory(struct scraper *s, const struct scrape_options *o)
{
	s->memory.max_delta_bytes = (uint64_t)o->delta_memory;
}

static int scraper_open(const struct dcm_host *host, const void *config, void **ret_instance,
			struct dcm_error *err)
{
	struct scraper *s = NEW(struct scraper);
	int r;

	if (!s)
		return error__nomem(err);
	s->host = host;
	pthread_mutex_init(&s->lock, NULL);
	s->look.fn = look;
	s->look.ctx = s;
	s->delta_bytes = host->metric(host, DCM_GAUGE_METRIC, "scrape_delta_bytes",
				      "Memory for the last values of profiles that count up");
	room__init(&s->memory.answers, MEMORY_ANSWERS_BYTES);
	take_memory(s, config);
	s->loop = loop__new(host);
	r = s->loop ? make_jobs(s, config, &s->jobs, err) : error__nomem(err);
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
	int r = start_jobs(&s->jobs, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s->jobs.v.n; i++)
		job__go_live(s->jobs.v.v[i], NULL);
	if (loop__set(s->loop, &s->look, s->host->mono_ns(s->host)) < 0)
		return error__nomem(err);
	r = -pthread_create(&s->thread, NULL, run, s);
	if (r < 0)
		return error__sys(err, r, "no thread for the scraper");
	s->is_running = true;
	pthread_setname_np(s->thread, "pprof-scrape");
	return 0;
}

/* ---- a reload: all of it on the loop's thread ---- */

struct change {
	struct scraper *s;
	const struct scrape_options *options;
	struct jobs jobs;
	struct dcm_error *err;
	int r;
};

static void make_change(void *ctx)
{
	struct change *c = ctx;

	c->r = make_jobs(c->s, c->options, &c->jobs, c->err);
	if (c->r == 0)
		c->r = start_jobs(&c->jobs, c->err);
	/* So that carrying it out cannot fail; a target that there is no memory for then ends. */
	if (c->r == 0 && !vec__reserve(&c->s->replaced.v, c->s->jobs.v.n))
		c->r = error__nomem(c->err);
}

static void give_up_change(void *ctx)
{
	struct change *c = ctx;

	jobs__fini(&c->jobs);
}

static struct job *job_named(const struct jobs *jobs, const char *name)
{
	for (size_t i = 0; i < jobs->v.n; i++)
		if (strcmp(jobs->v.v[i]->options->job_name, name) == 0)
			return jobs->v.v[i];
	return NULL;
}

/* Those that have no heir end with what they are asking. */
static void carry_out_change(void *ctx)
{
	struct change *c = ctx;
	struct scraper *s = c->s;
	struct jobs old = s->jobs;

	/* Nobody looks at jobs whose targets move. */
	pthread_mutex_lock(&s->lock);
	s->jobs = (struct jobs){ 0 };
	pthread_mutex_unlock(&s->lock);
	take_memory(s, c->options);
	for (size_t i = 0; i < c->jobs.v.n; i++)
		job__go_live(c->jobs.v.v[i], job_named(&old, c->jobs.v.v[i]->options->job_name));
	pthread_mutex_lock(&s->lock);
	s->jobs = c->jobs;
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < old.v.n; i++) {
		job__retire(old.v.v[i]);
		s->replaced.v.v[s->replaced.v.n++] = old.v.v[i];
	}
	vec__fini(&old.v);
}

static void scraper_abort(void *instance, void *change)
{
	struct scraper *s = instance;

	loop__call(s->loop, give_up_change, change);
	free(change);
}

static int scraper_prepare(void *instance, const void *config, void **ret_change, struct dcm_error *err)
{
	struct scraper *s = instance;
	struct change *c = NEW(struct change);
	int r;

	if (!c)
		return error__nomem(err);
	*c = (struct change){ .s = s, .options = config, .err = err };
	loop__call(s->loop, make_change, c);
	r = c->r;
	if (r < 0)
		scraper_abort(s, c);
	else
		*ret_change = c;
	return r;
}

static void scraper_commit(void *instance, void *change)
{
	struct scraper *s = instance;

	loop__call(s->loop, carry_out_change, change);
	free(change);
}

/* ---- what others ask ---- */

static void targets(void *instance, dcm_target_fn each, void *ctx)
{
	struct scraper *s = instance;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->jobs.v.n; i++)
		job__targets(s->jobs.v.v[i], each, ctx);
	pthread_mutex_unlock(&s->lock);
}

/* ---- what the host is told ---- */

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = scraper_open,
	.start = scraper_start,
	.prepare = scraper_prepare,
	.commit = scraper_commit,
	.abort = scraper_abort,
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
