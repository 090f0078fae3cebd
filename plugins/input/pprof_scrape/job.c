/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/job.c - one scrape configuration at work: what was found, what is asked
 *
 * Discoveries may change many times a second; targets are made anew from all that was found (sync.h)
 * at most every five seconds (as Prometheus does), and at once after a quiet time.
 */
#include "plugins/input/pprof_scrape/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/scrape.h"
#include "plugins/input/pprof_scrape/sync.h"

#define DISCOVERY_KIND(kind, key, doc)	  &kind,
#define DISCOVERY_OPTIONS(kind, key, doc) &kind##__table,

#define SYNC_NS	      ((int64_t)5000000000)
#define SYNC_DELAY_NS ((int64_t)10000000)
#define ADOPTED_NS    ((int64_t)120000000000)

/* ---- targets ---- */

struct target_source job__source_of(struct job *j, uint32_t plan)
{
	return (struct target_source){
		.host = j->host,
		.job = j,
		.texts = j->texts,
		.options = j->options,
		.plan = &j->plans[plan],
		.rules = j->rules,
		.interval_ns = j->interval_ns,
		.timeout_ns = j->timeout_ns,
		.defaults = j->defaults[plan],
	};
}

void job__stop_target(struct target *t)
{
	/* A profile that waits for names is taken there. */
	scrape__stop(t);
	t->job->memory->n_delta_bytes -= delta__bytes(&t->state.delta);
	target__free(t);
}

void dropped__fini(struct dropped *d)
{
	texts__release(d->found->texts, d->why);
	labels__release(d->found);
}

void job__free_dropped(struct job *j)
{
	for (size_t i = 0; i < j->dropped.n; i++)
		dropped__fini(&j->dropped.v[i]);
	vec__fini(&j->dropped);
}

static void sync(void *ctx)
{
	struct job *j = ctx;
	int r = sync__run(j);

	j->synced_mono_ns = j->host->mono_ns(j->host);
	if (r == 0)
		return;
	j->host->log(j->host, DCM_LOG_ERROR, "job %s: out of memory: its targets stay as they were",
		     j->options->job_name);
	loop__set(j->loop, &j->sync, j->synced_mono_ns + SYNC_NS);
}

/* ---- what discoveries say ---- */

static int sync_soon(struct job *j)
{
	int64_t now = j->host->mono_ns(j->host), at = now + SYNC_DELAY_NS;

	if (j->sync.place || !j->is_live)
		return 0;
	if (j->synced_mono_ns && j->synced_mono_ns + SYNC_NS > at)
		at = j->synced_mono_ns + SYNC_NS;
	return loop__set(j->loop, &j->sync, at);
}

static void add_source(struct job *j, struct source *s)
{
	s->next = &j->sources;
	s->prev = j->sources.prev;
	s->prev->next = s->next->prev = s;
}

static void free_found(struct source *s)
{
	for (size_t i = 0; i < s->found.n; i++)
		labels__release(s->found.v[i]);
	vec__fini(&s->found);
}

/* Of labels that were there before, at the same place, those are held on to. False: no memory. */
static bool add_found(struct source *to, const struct source *before, struct labels *labels)
{
	const size_t i = to->found.n;

	if (!labels || !vec__push(&to->found, labels)) {
		labels__release(labels);
		return false;
	}
	if (i < before->found.n && labels__are_same(labels, before->found.v[i])) {
		to->found.v[i] = labels__hold(before->found.v[i]);
		labels__release(labels);
	}
	return true;
}

static bool are_same(const struct source *a, const struct source *b)
{
	return a->found.n == b->found.n &&
	       (a->found.n == 0 || memcmp(a->found.v, b->found.v, a->found.n * sizeof(*a->found.v)) == 0);
}

int job__found(struct job *j, struct source *s, struct groups *found)
{
	struct source new = { 0 };
	bool is_well = true, is_changed;

	is_well = vec__reserve(&new.found, found->v.n);
	for (size_t i = 0; i < found->v.n && is_well; i++)
		is_well = add_found(&new, s, labels__new(j->texts, found->v.v[i].v, found->v.v[i].n));
	groups__fini(found);
	if (!is_well) {
		free_found(&new);
		return -ENOMEM;
	}
	is_changed = !s->next || !are_same(&new, s);
	if (!s->next)
		add_source(j, s);
	free_found(s);
	s->found.v = new.found.v;
	s->found.n = new.found.n;
	s->found.cap = new.found.cap;
	return is_changed ? sync_soon(j) : 0;
}

static void stop_looking(struct job *j)
{
	for (size_t i = 0; i < j->discoveries.n; i++) {
		j->discoveries.v[i]->kind->stop(j->discoveries.v[i]);
		free(j->discoveries.v[i]);
	}
	j->discoveries.n = 0;
	loop__cancel(j->loop, &j->forget);
	job__lost(j, &j->adopted);
	loop__cancel(j->loop, &j->sync);
}

void job__retire(struct job *j)
{
	stop_looking(j);
	for (size_t i = 0; i < j->targets.n; i++)
		job__stop_target(j->targets.v[i]);
	j->targets.n = 0;
}

void job__lost(struct job *j, struct source *s)
{
	if (!s->next)
		return;
	s->prev->next = s->next;
	s->next->prev = s->prev;
	s->prev = s->next = NULL;
	free_found(s);
	sync_soon(j);
}

int job__start(struct job *j, struct dcm_error *err)
{
	for (size_t i = 0; i < j->discoveries.n; i++) {
		int r = j->discoveries.v[i]->kind->start(j->discoveries.v[i], err);

		if (r < 0) {
			error__prefix(err, "job %s", j->options->job_name);
			return r;
		}
	}
	return 0;
}

/* ---- in the place of another ---- */

static const struct profile_plan *plan_named(const struct job *j, const char *name)
{
	for (uint32_t p = 0; p < j->n_plans; p++)
		if (strcmp(j->plans[p].name, name) == 0)
			return &j->plans[p];
	return NULL;
}

/* What is told of a target needs no memory then (tell()). */
static bool make_view(struct job *j, const struct target *t)
{
	return vec__reserve(&j->view, t->found->n + j->defaults[t->plan - j->plans]->n + t->labels->n);
}

/* False: there is no such profile any more, or no memory, and then it begins anew when it is found. */
static bool adopt(struct job *j, struct target *t)
{
	const struct profile_plan *plan = plan_named(j, t->plan->name);

	if (!plan)
		return false;
	t->job = j;
	t->plan = plan;
	if (make_view(j, t) && vec__push(&j->targets, t))
		return true;
	j->host->log(j->host,
		     DCM_LOG_WARNING, "job %s: %s: no memory to go on over the reload: what it counted is lost, it begins anew",
		     j->options->job_name, t->url->p);
	return false;
}

/* What was found before counts no more. */
static void forget(void *ctx)
{
	struct job *j = ctx;

	loop__cancel(j->loop, &j->forget);
	job__lost(j, &j->adopted);
}

static bool has_looked(const struct job *j)
{
	for (size_t i = 0; i < j->discoveries.n; i++) {
		const struct discovery *d = j->discoveries.v[i];

		if (d->kind->is_whole ? !d->kind->is_whole(d) : !d->looked_real_ns)
			return false;
	}
	return true;
}

void job__looked(struct job *j)
{
	if (j->adopted.next && has_looked(j))
		forget(j);
}

/* What the other's targets were found by; targets of one address follow each other. False: no memory. */
static bool adopt_found(struct job *j, const struct job *old)
{
	struct labels *last = NULL;

	if (!vec__reserve(&j->adopted.found, old->targets.n))
		return false;
	for (size_t i = 0; i < old->targets.n; last = old->targets.v[i++]->found)
		if (old->targets.v[i]->found != last)
			j->adopted.found.v[j->adopted.found.n++] = labels__hold(old->targets.v[i]->found);
	return true;
}

/* When it is forgotten at the latest, however many reloads follow each other. */
static int64_t forget_at(const struct job *j, const struct job *old)
{
	return old->forget.place ? old->forget.at_mono_ns : j->host->mono_ns(j->host) + ADOPTED_NS;
}

static void adopt_sources(struct job *j, const struct job *old)
{
	if (has_looked(j))
		return;
	if (!adopt_found(j, old) || loop__set(j->loop, &j->forget, forget_at(j, old)) < 0)
		j->host->log(j->host,
			     DCM_LOG_WARNING, "job %s: no memory for what was found before the reload: its targets go until they are found again",
			     j->options->job_name);
	add_source(j, &j->adopted);
	if (!j->forget.place)
		forget(j);
}

void job__go_live(struct job *j, struct job *old)
{
	if (old)
		adopt_sources(j, old);
	for (size_t i = 0; old && i < old->targets.n; i++)
		if (!adopt(j, old->targets.v[i]))
			job__stop_target(old->targets.v[i]);
	j->is_live = true;
	if (old)
		old->targets.n = 0;
	if (old || j->sources.next != &j->sources || j->discoveries.n == 0)
		sync_soon(j);
}

/* ---- what others ask ---- */

/* Under the lock. There is room for all labels of any target (make_view()). */
static int tell(const struct target *t, dcm_target_fn each, void *ctx)
{
	struct job *j = t->job;
	struct dcm_target view = {
		.size = sizeof(view),
		.health = t->state.health,
		.job = str__of(j->options->job_name),
		.profile = str__of(t->plan->name),
		.url = text__str(t->url),
		.discovered = j->view.v,
		.n_discovered = labels__view(t->found, j->defaults[t->plan - j->plans], j->view.v),
		.n_labels = t->labels->n,
		.error = str__of(target__error(t)),
		.interval_ns = t->interval_ns,
		.timeout_ns = t->timeout_ns,
		.last_real_ns = t->state.last_real_ns,
		.duration_ns = t->state.duration_ns,
		.next_real_ns = t->state.next_real_ns,
		.bytes = t->state.bytes,
		.samples = t->state.samples,
		.n_asked = t->state.n_asked,
		.n_failed = t->state.n_failed,
	};

	view.labels = j->view.v + view.n_discovered;
	labels__view(t->labels, NULL, j->view.v + view.n_discovered);
	return each(ctx, &view);
}

static int tell_dropped(struct job *j, const struct dropped *d, dcm_target_fn each, void *ctx)
{
	struct dcm_target view = {
		.size = sizeof(view),
		.health = d->why ? DCM_HEALTH_DOWN : DCM_HEALTH_DROPPED,
		.job = str__of(j->options->job_name),
		.profile = str__of(j->plans[d->plan].name),
		.url = STR(""),
		.discovered = j->view.v,
		.n_discovered = labels__view(d->found, j->defaults[d->plan], j->view.v),
		.error = d->why ? text__str(d->why) : STR(""),
	};

	return each(ctx, &view);
}

void job__targets(struct job *j, dcm_target_fn each, void *ctx)
{
	int r = 0;

	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < j->targets.n && r == 0; i++)
		r = tell(j->targets.v[i], each, ctx);
	for (size_t i = 0; i < j->dropped.n && r == 0; i++)
		r = tell_dropped(j, &j->dropped.v[i], each, ctx);
	pthread_mutex_unlock(&j->lock);
}

void job__count(struct job *j, struct job_counts *to)
{
	uint32_t n[N_HEALTHS] = { 0 }, n_failed = 0, n_dropped = 0;

	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < j->targets.n; i++)
		n[j->targets.v[i]->state.health]++;
	for (size_t i = 0; i < j->discoveries.n; i++)
		n_failed += j->discoveries.v[i]->error[0] != '\0';
	for (size_t i = 0; i < j->dropped.n; i++)
		*(j->dropped.v[i].why ? &n[DCM_HEALTH_DOWN] : &n_dropped) += 1;
	to->n_dropped += n_dropped;
	meters__set(&j->meters, METER_DROPPED, n_dropped);
	meters__set(&j->meters, METER_FOUND, j->n_found);
	pthread_mutex_unlock(&j->lock);
	to->is_looking |= j->sync.place || !has_looked(j);
	meters__set(&j->meters, METER_FAILED_DISCOVERIES, n_failed);
	for (uint32_t h = 0; h < N_HEALTHS; h++) {
		to->targets[h] += n[h];
		meters__show(&j->meters, h, n[h]);
	}
}

bool job__trouble(struct job *j, char ret[static 512])
{
	bool found = false;

	pthread_mutex_lock(&j->lock);
	if (j->trouble[0]) {
		snprintf(ret, 512, "%s", j->trouble);
		found = true;
	}
	for (size_t i = 0; i < j->discoveries.n && !found; i++) {
		const struct discovery *d = j->discoveries.v[i];

		if (!d->error[0])
			continue;
		snprintf(ret, 512, "job %s: %s: %s", j->options->job_name, d->kind->name, d->error);
		found = true;
	}
	for (size_t i = 0; i < j->targets.n && !found; i++) {
		const struct target *t = j->targets.v[i];

		if (t->state.health != DCM_HEALTH_DOWN)
			continue;
		snprintf(ret, 512, "%s: %s", t->url->p, target__error(t));
		found = true;
	}
	pthread_mutex_unlock(&j->lock);
	return found;
}

/* ---- lifecycle ---- */

static int compile_rules(struct job *j, struct dcm_error *err)
{
	const struct dcm_list *from = &j->options->relabel_configs;
	int r;

	if (from->n == 0)
		return 0;
	r = j->host->rules_new(j->host, from->items, from->n, &j->rules, err);
	if (r < 0)
		error__prefix(err, "job %s: relabel_configs", j->options->job_name);
	return r;
}

static int make_discoveries(struct job *j)
{
	static const struct discovery_kind *const kinds[] = { DISCOVERIES(DISCOVERY_KIND) };
	static const struct dcm_table *const tables[] = { DISCOVERIES(DISCOVERY_OPTIONS) };

	for (uint32_t k = 0; k < N_DISCOVERIES; k++) {
		const struct dcm_list *list = &j->options->discoveries[k];

		for (uint32_t i = 0; i < list->n; i++) {
			struct discovery *d = NEW(struct discovery);

			if (!d || !vec__push(&j->discoveries, d)) {
				free(d);
				return -ENOMEM;
			}
			d->job = j;
			d->kind = kinds[k];
			d->options = (const char *)list->items + (size_t)i * tables[k]->struct_size;
			d->i = i;
		}
	}
	return 0;
}

static int make_defaults(struct job *j)
{
	for (uint32_t p = 0; p < j->n_plans; p++) {
		struct target_source from = job__source_of(j, p);

		j->defaults[p] = target__defaults(&from);
		if (!j->defaults[p])
			return -ENOMEM;
	}
	return 0;
}

static void tell_silent(const struct job *j)
{
	const struct dcm_map *said = &j->options->profiling.pprof_config;
	const char *near;

	for (uint32_t i = 0; i < said->n; i++)
		if (job_options__is_silent(j->options, i, &near))
			j->host->log(j->host,
				     DCM_LOG_WARNING, "job %s: pprof_config.%s is not scraped, as it is none of the usual ones; write enabled: true%s%s%s",
				     j->options->job_name, said->keys[i],
				     near ? ", or did you mean \"" : "", near ? near : "",
				     near ? "\"?" : "");
}

int job__new(const struct job_config *c, struct job **ret, struct dcm_error *err)
{
	CLEANUP(job__freep) struct job *j = NEW(struct job);
	int r;

	if (!j)
		return error__nomem(err);
	j->host = c->host;
	j->loop = c->loop;
	j->memory = c->memory;
	j->texts = c->texts;
	j->own = *c->options;
	scrape_options__inherit(c->all, &j->own);
	j->options = &j->own;
	j->interval_ns = job_options__interval_ns(c->all, c->options);
	j->timeout_ns = job_options__timeout_ns(c->all, c->options);
	j->n_plans = job_options__profiles(c->options, j->plans);
	j->sync.fn = sync;
	j->sync.ctx = j;
	j->forget.fn = forget;
	j->forget.ctx = j;
	j->sources.prev = j->sources.next = &j->sources;
	pthread_mutex_init(&j->lock, NULL);
	meters__init(&j->meters, c->host, c->options->job_name);
	r = make_discoveries(j);
	if (r == 0)
		r = make_defaults(j);
	if (r < 0)
		return error__nomem(err);
	r = compile_rules(j, err);
	if (r == 0)
		r = c->host->http_client_new(c->host, &c->options->http, &j->client, err);
	if (r < 0)
		return r;
	tell_silent(j);
	*ret = take_ptr(j);
	return 0;
}

void job__end(struct job *j)
{
	job__retire(j);
	j->host->http_client_free(j->client);
	j->client = NULL;
}

void job__free(struct job *j)
{
	if (!j)
		return;
	job__end(j);
	vec__fini(&j->discoveries);
	vec__fini(&j->targets);
	job__free_dropped(j);
	vec__fini(&j->view);
	for (uint32_t p = 0; p < j->n_plans; p++)
		labels__release(j->defaults[p]);
	if (j->rules)
		j->host->rules_free(j->rules);
	meters__fini(&j->meters);
	pthread_mutex_destroy(&j->lock);
	free(j);
}
