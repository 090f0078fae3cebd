/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/job.c - one scrape configuration at work: what was found, what is asked
 *
 * Discoveries may change many times a second; targets are made anew from all that was found at most
 * every five seconds (as Prometheus does), and at once after a quiet time. Old and new ones are told
 * apart by their identity, through an index over the old.
 */
#include "plugins/input/pprof_scrape/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/pprof_scrape/scrape.h"

#define DISCOVERY_KIND(kind, key, doc)	  &kind,
#define DISCOVERY_OPTIONS(kind, key, doc) &kind##__table,

#define SYNC_NS	      ((int64_t)5000000000)
#define SYNC_DELAY_NS ((int64_t)10000000)

/* ---- targets from what was found ---- */

/* What a sync makes, before it takes the place of what was. */
struct sync {
	struct job *j;
	VEC(struct target *) targets, dropped;
	struct hindex index; /* of `targets` by identity */
	uint64_t n_found;    /* of which some profile is asked */
	char trouble[sizeof(((struct job *)0)->trouble)];
};

static uint32_t find(const struct hindex *index, struct target *const *v, const struct dcm_hash *identity)
{
	uint32_t row, at = hindex__first(index, identity->lo, &row);

	while (row != HINDEX_NONE && memcmp(&v[row]->identity, identity, sizeof(*identity)) != 0)
		at = hindex__next(index, identity->lo, at, &row);
	return row;
}

/* Takes the target. One that is there already is not needed twice. */
static int keep(struct sync *s, struct target *t)
{
	if (t->is_dropped) {
		if (vec__push(&s->dropped, t))
			return 0;
	} else if (find(&s->index, s->targets.v, &t->identity) != HINDEX_NONE) {
		target__free(t);
		return 0;
	} else if (vec__reserve(&s->targets, 1) &&
		   hindex__insert(&s->index, t->identity.lo, (uint32_t)s->targets.n) == 0) {
		s->targets.v[s->targets.n++] = t;
		return 0;
	}
	target__free(t);
	return -ENOMEM;
}

static int make(struct sync *s, const struct labels *found, const struct profile_plan *plan)
{
	struct job *j = s->j;
	struct target_source from = {
		.host = j->host,
		.job = j,
		.options = j->options,
		.plan = plan,
		.rules = j->rules,
		.interval_ns = j->interval_ns,
		.timeout_ns = j->timeout_ns,
		.labels = found->v,
		.n_labels = found->n,
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct target *t = NULL;
	int r = target__new(&from, &t, &err);

	if (r == 0)
		return keep(s, t);
	if (r != -ENOMEM && !s->trouble[0])
		snprintf(s->trouble, sizeof(s->trouble), "%.300s", err.text);
	return r == -ENOMEM ? r : 0;
}

static int make_all(struct sync *s)
{
	struct job *j = s->j;
	int r = 0;

	for (const struct source *from = j->sources.next; from != &j->sources; from = from->next)
		for (size_t k = 0; k < from->found.v.n; k++) {
			size_t before = s->targets.n;

			for (uint32_t p = 0; p < j->n_plans && r == 0; p++)
				r = make(s, &from->found.v.v[k], &j->plans[p]);
			s->n_found += s->targets.n > before;
		}
	return r;
}

/* Of a target that is asked already the new one, which may have been found otherwise, goes on with it. */
static void keep_old(struct sync *s)
{
	struct job *j = s->j;
	size_t n = 0;

	for (size_t i = 0; i < j->targets.n; i++) {
		struct target *old = j->targets.v[i];
		uint32_t row = find(&s->index, s->targets.v, &old->identity);

		if (row == HINDEX_NONE) {
			j->targets.v[n++] = old; /* to be stopped */
			continue;
		}
		scrape__take_over(s->targets.v[row], old);
		target__free(old);
	}
	j->targets.n = n;
}

static void stop_target(struct target *t)
{
	t->job->meters->n_delta_bytes -= delta__bytes(&t->delta);
	scrape__stop(t);
	target__free(t);
}

/* The new lists take the place of the old ones; what is not in them any more ends. */
static void change_over(struct sync *s)
{
	struct job *j = s->j;
	__typeof__(j->targets) gone;
	__typeof__(j->dropped) old_dropped = j->dropped;

	pthread_mutex_lock(&j->lock);
	keep_old(s);
	gone = j->targets;
	j->targets.v = s->targets.v;
	j->targets.n = s->targets.n;
	j->targets.cap = s->targets.cap;
	j->dropped.v = s->dropped.v;
	j->dropped.n = s->dropped.n;
	j->dropped.cap = s->dropped.cap;
	memcpy(j->trouble, s->trouble, sizeof(j->trouble));
	j->n_found = s->n_found;
	pthread_mutex_unlock(&j->lock);
	for (size_t i = 0; i < gone.n; i++)
		stop_target(gone.v[i]);
	for (size_t i = 0; i < old_dropped.n; i++)
		target__free(old_dropped.v[i]);
	vec__fini(&gone);
	vec__fini(&old_dropped);
	for (size_t i = 0; i < j->targets.n; i++)
		if (!j->targets.v[i]->timer.place)
			scrape__schedule(j->targets.v[i]);
}

static void sync_fini(struct sync *s)
{
	for (size_t i = 0; i < s->targets.n; i++)
		target__free(s->targets.v[i]);
	for (size_t i = 0; i < s->dropped.n; i++)
		target__free(s->dropped.v[i]);
	vec__fini(&s->targets);
	vec__fini(&s->dropped);
}

static void sync(void *ctx)
{
	struct job *j = ctx;
	struct sync s = { .j = j };
	int64_t limit = j->options->limits.targets;
	int r = make_all(&s);

	j->synced_mono_ns = j->host->mono_ns(j->host);
	if (r == 0 && limit && s.n_found > (uint64_t)limit) {
		snprintf(s.trouble, sizeof(s.trouble),
			 "job %s: %" PRIu64 " targets, more than target_limit (%" PRId64
			 "): none of them is asked",
			 j->options->job_name, s.n_found, limit);
		while (s.targets.n)
			target__free(s.targets.v[--s.targets.n]);
		hindex__clear(&s.index);
	}
	if (s.trouble[0] && strcmp(s.trouble, j->trouble) != 0)
		j->host->log(j->host, DCM_LOG_WARNING, "%s", s.trouble);
	if (r == 0) {
		change_over(&s);
	} else {
		sync_fini(&s);
		j->host->log(j->host, DCM_LOG_ERROR,
			     "job %s: out of memory: its targets stay as they were",
			     j->options->job_name);
		loop__set(j->loop, &j->sync, j->synced_mono_ns + SYNC_NS);
	}
	hindex__fini(&s.index);
}

/* ---- what discoveries say ---- */

static int sync_soon(struct job *j)
{
	int64_t now = j->host->mono_ns(j->host), at = now + SYNC_DELAY_NS;

	if (j->sync.place)
		return 0;
	if (j->synced_mono_ns && j->synced_mono_ns + SYNC_NS > at)
		at = j->synced_mono_ns + SYNC_NS;
	return loop__set(j->loop, &j->sync, at);
}

int job__found(struct job *j, struct source *s, struct groups *found)
{
	if (!s->next) {
		s->next = &j->sources;
		s->prev = j->sources.prev;
		s->prev->next = s->next->prev = s;
	}
	groups__fini(&s->found);
	s->found = *found;
	*found = (struct groups){ 0 };
	return sync_soon(j);
}

void job__lost(struct job *j, struct source *s)
{
	if (!s->next)
		return;
	s->prev->next = s->next;
	s->next->prev = s->prev;
	s->prev = s->next = NULL;
	groups__fini(&s->found);
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

/* ---- what others ask ---- */

static int tell(const struct target *t, dcm_target_fn each, void *ctx)
{
	struct dcm_target view = {
		.size = sizeof(view),
		.health = t->health,
		.job = str__of(t->job->options->job_name),
		.profile = str__of(t->plan->name),
		.url = t->url,
		.discovered = t->discovered.v,
		.labels = t->labels.v,
		.n_discovered = t->discovered.n,
		.n_labels = t->labels.n,
		.error = str__of(t->error),
		.interval_ns = t->interval_ns,
		.timeout_ns = t->timeout_ns,
		.last_real_ns = t->last_real_ns,
		.duration_ns = t->duration_ns,
		.next_real_ns = t->next_real_ns,
		.bytes = t->bytes,
		.samples = t->samples,
		.n_asked = t->n_asked,
		.n_failed = t->n_failed,
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
		r = tell(j->dropped.v[i], each, ctx);
	pthread_mutex_unlock(&j->lock);
}

void job__count(struct job *j, struct job_counts *to)
{
	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < j->targets.n; i++) {
		uint32_t health = j->targets.v[i]->health;

		to->n_up += health == DCM_HEALTH_UP;
		to->n_down += health == DCM_HEALTH_DOWN;
		to->n_off += health == DCM_HEALTH_OFF;
		to->n_unknown += health == DCM_HEALTH_UNKNOWN;
	}
	to->n_dropped += (uint32_t)j->dropped.n;
	to->n_found += j->n_found;
	for (size_t i = 0; i < j->discoveries.n; i++)
		to->n_failed_discoveries += j->discoveries.v[i]->error[0] != '\0';
	pthread_mutex_unlock(&j->lock);
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

		if (t->health != DCM_HEALTH_DOWN)
			continue;
		snprintf(ret, 512, "%.*s: %s", STR_ARG(t->url), t->error);
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

int job__new(const struct job_config *c, struct job **ret, struct dcm_error *err)
{
	CLEANUP(job__freep) struct job *j = NEW(struct job);
	int r;

	if (!j)
		return error__nomem(err);
	j->host = c->host;
	j->loop = c->loop;
	j->meters = c->meters;
	j->own = *c->options;
	scrape_options__inherit(c->all, &j->own);
	j->options = &j->own;
	j->interval_ns = job_options__interval_ns(c->all, c->options);
	j->timeout_ns = job_options__timeout_ns(c->all, c->options);
	j->n_plans = job_options__profiles(c->options, j->plans);
	j->sync.fn = sync;
	j->sync.ctx = j;
	j->sources.prev = j->sources.next = &j->sources;
	pthread_mutex_init(&j->lock, NULL);
	r = make_discoveries(j);
	if (r < 0)
		return error__nomem(err);
	r = compile_rules(j, err);
	if (r == 0)
		r = c->host->http_client_new(c->host, &c->options->http, &j->client, err);
	if (r < 0)
		return r;
	*ret = take_ptr(j);
	return 0;
}

void job__free(struct job *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < j->discoveries.n; i++) {
		j->discoveries.v[i]->kind->stop(j->discoveries.v[i]);
		free(j->discoveries.v[i]);
	}
	vec__fini(&j->discoveries);
	loop__cancel(j->loop, &j->sync);
	for (size_t i = 0; i < j->targets.n; i++)
		stop_target(j->targets.v[i]);
	for (size_t i = 0; i < j->dropped.n; i++)
		target__free(j->dropped.v[i]);
	vec__fini(&j->targets);
	vec__fini(&j->dropped);
	j->host->http_client_free(j->client);
	if (j->rules)
		j->host->rules_free(j->rules);
	pthread_mutex_destroy(&j->lock);
	free(j);
}
