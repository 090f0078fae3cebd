/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/sync.c - a job's targets, made anew from all that was found
 *
 * Labels that a discovery finds again are the same memory (job__found()), so that what they were made
 * into at the sync before is found by their address and the plan, and rules run over what is new only.
 * Old and new targets are told apart by their identity.
 */
#include "plugins/input/pprof_scrape/sync.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "plugins/input/pprof_scrape/scrape.h"

/* What a sync makes, before it takes the place of what was. */
struct sync {
	struct job *j;
	VEC(struct target *) targets;
	VEC(struct dropped) dropped;
	struct hindex index; /* of `targets` by identity */
	struct hindex known; /* of the job's targets, then of what it dropped, by what was found and the plan */
	uint64_t n_found; /* of which some profile is asked */
	bool is_over_limit;
	char trouble[sizeof(((struct job *)0)->trouble)];
};

/* ---- what is known of labels and a plan from the sync before ---- */

static uint64_t key_of(const struct labels *found, uint32_t plan)
{
	return hash__mix(hash__mix(plan, (uintptr_t)found), 0);
}

static bool know(struct sync *s)
{
	const struct job *j = s->j;
	uint32_t row = 0;
	int r;

	/* What another job's rules made of it says nothing. */
	if (!j->is_made)
		return true;
	r = hindex__reserve(&s->known, (uint32_t)(j->targets.n + j->dropped.n));
	for (size_t i = 0; i < j->targets.n && r == 0; i++) {
		const struct target *t = j->targets.v[i];

		r = hindex__insert(&s->known, key_of(t->found, (uint32_t)(t->plan - j->plans)), row++);
	}
	for (size_t i = 0; i < j->dropped.n && r == 0; i++)
		r = hindex__insert(&s->known, key_of(j->dropped.v[i].found, j->dropped.v[i].plan), row++);
	return r == 0;
}

static bool is_of(const struct job *j, uint32_t row, const struct labels *found, uint32_t plan)
{
	const struct dropped *d;

	if (row < j->targets.n)
		return j->targets.v[row]->found == found && j->targets.v[row]->plan == &j->plans[plan];
	d = &j->dropped.v[row - j->targets.n];
	return d->found == found && d->plan == plan;
}

/* HINDEX_NONE: nothing is known. */
static uint32_t recall(const struct sync *s, const struct labels *found, uint32_t plan)
{
	uint64_t key = key_of(found, plan);
	uint32_t row, at = hindex__first(&s->known, key, &row);

	while (row != HINDEX_NONE && !is_of(s->j, row, found, plan))
		at = hindex__next(&s->known, key, at, &row);
	return row;
}

/* ---- one target after the other ---- */

static uint32_t find(const struct hindex *index, struct target *const *v, const struct dcm_hash *identity)
{
	uint32_t row, at = hindex__first(index, identity->lo, &row);

	while (row != HINDEX_NONE && memcmp(&v[row]->identity, identity, sizeof(*identity)) != 0)
		at = hindex__next(index, identity->lo, at, &row);
	return row;
}

/* False: one that is the same is there already, and it is not needed twice. */
static bool is_new(const struct sync *s, const struct target *t)
{
	return find(&s->index, s->targets.v, &t->identity) == HINDEX_NONE;
}

static int keep(struct sync *s, struct target *t)
{
	if (!vec__reserve(&s->targets, 1) ||
	    hindex__insert(&s->index, t->identity.lo, (uint32_t)s->targets.n) < 0)
		return -ENOMEM;
	s->targets.v[s->targets.n++] = t;
	return 0;
}

/* `why` as struct dropped has it. */
static int keep_dropped(struct sync *s, struct labels *found, uint32_t plan, struct dcm_str why)
{
	struct dropped d = { labels__hold(found), plan, why.p ? texts__hold(s->j->texts, why) : NULL };

	if ((why.p && !d.why) || !vec__push(&s->dropped, d)) {
		dropped__fini(&d);
		return -ENOMEM;
	}
	if (why.p && !s->trouble[0])
		snprintf(s->trouble, sizeof(s->trouble), "%.*s", STR_ARG(why));
	return 0;
}

static int make_new(struct sync *s, struct labels *found, uint32_t plan)
{
	struct target_source from = job__source_of(s->j, plan);
	struct dcm_error err = DCM_ERROR_INIT;
	CLEANUP(target__freep) struct target *t = NULL;
	int r = target__new(&from, found, &t, &err);

	if (r == -ENOMEM)
		return r;
	if (r <= 0)
		return keep_dropped(s, found, plan, r < 0 ? str__of(err.text) : (struct dcm_str){ 0 });
	r = is_new(s, t) ? keep(s, t) : -EEXIST;
	if (r == 0)
		take_ptr(t);
	return r == -ENOMEM ? r : 0;
}

/* Labels that were there before become what they became then: rules need not run again. */
static int make(struct sync *s, struct labels *found, uint32_t plan)
{
	const struct job *j = s->j;
	uint32_t row = recall(s, found, plan);

	if (row == HINDEX_NONE)
		return make_new(s, found, plan);
	if (row >= j->targets.n)
		return keep_dropped(s, found, plan, text__str(j->dropped.v[row - j->targets.n].why));
	return is_new(s, j->targets.v[row]) ? keep(s, j->targets.v[row]) : 0;
}

static int make_source(struct sync *s, const struct source *from, bool counts)
{
	int r = 0;

	for (size_t k = 0; k < from->found.n && r == 0; k++) {
		size_t before = s->targets.n;

		for (uint32_t p = 0; p < s->j->n_plans && r == 0; p++)
			r = make(s, from->found.v[k], p);
		s->n_found += counts && s->targets.n > before;
	}
	return r;
}

/* Addresses, which are the same text wherever they are found. */
struct addresses {
	VEC(struct text *) all;
	struct hindex index;
};

static struct text *address_of(const struct labels *found)
{
	return found->n ? found->values[0] : NULL;
}

static uint64_t hash_of(const struct text *address)
{
	return hash__mix((uintptr_t)address, 0);
}

static int add_addresses(struct addresses *to, const struct source *from)
{
	int r = vec__reserve(&to->all, from->found.n) ? 0 : -ENOMEM;

	for (size_t k = 0; k < from->found.n && r == 0; k++) {
		struct text *address = address_of(from->found.v[k]);

		r = hindex__insert(&to->index, hash_of(address), (uint32_t)to->all.n);
		to->all.v[to->all.n++] = address;
	}
	return r;
}

static bool has_address(const struct addresses *a, const struct text *address)
{
	uint32_t row, at = hindex__first(&a->index, hash_of(address), &row);

	while (row != HINDEX_NONE && a->all.v[row] != address)
		at = hindex__next(&a->index, hash_of(address), at, &row);
	return row != HINDEX_NONE;
}

/* What was found before a reload, where nothing of that address has been found since. */
static int make_adopted(struct sync *s)
{
	struct job *j = s->j;
	struct source rest = { 0 };
	struct addresses found = { 0 };
	int r = vec__reserve(&rest.found, j->adopted.found.n) ? 0 : -ENOMEM;

	for (const struct source *from = j->sources.next; from != &j->sources && r == 0; from = from->next)
		if (from != &j->adopted)
			r = add_addresses(&found, from);
	for (size_t k = 0; k < j->adopted.found.n && r == 0; k++)
		if (!has_address(&found, address_of(j->adopted.found.v[k])))
			rest.found.v[rest.found.n++] = j->adopted.found.v[k];
	if (r == 0)
		r = make_source(s, &rest, false);
	vec__fini(&rest.found);
	vec__fini(&found.all);
	hindex__fini(&found.index);
	return r;
}

static int make_all(struct sync *s)
{
	struct job *j = s->j;
	int r = 0;

	for (const struct source *from = j->sources.next; from != &j->sources && r == 0; from = from->next)
		if (from != &j->adopted)
			r = make_source(s, from, true);
	if (r == 0 && j->adopted.found.n)
		r = make_adopted(s);
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
		} else if (s->targets.v[row] != old) {
			scrape__take_over(s->targets.v[row], old);
			target__free(old);
		}
	}
	j->targets.n = n;
}

/* The new lists take the place of the old ones; what is not in them any more ends. */
static void change_over(struct sync *s)
{
	struct job *j = s->j;
	__typeof__(j->targets) gone;

	pthread_mutex_lock(&j->lock);
	keep_old(s);
	gone = j->targets;
	job__free_dropped(j);
	j->targets.v = s->targets.v;
	j->targets.n = s->targets.n;
	j->targets.cap = s->targets.cap;
	j->dropped.v = s->dropped.v;
	j->dropped.n = s->dropped.n;
	j->dropped.cap = s->dropped.cap;
	memcpy(j->trouble, s->trouble, sizeof(j->trouble));
	j->n_found = s->n_found;
	j->is_over_limit = s->is_over_limit;
	j->is_made = true;
	pthread_mutex_unlock(&j->lock);
	for (size_t i = 0; i < gone.n; i++)
		job__stop_target(gone.v[i]);
	vec__fini(&gone);
	for (size_t i = 0; i < j->targets.n; i++)
		if (!j->targets.v[i]->timer.place)
			scrape__schedule(j->targets.v[i]);
}

static bool is_the_jobs(const struct sync *s, const struct target *t)
{
	uint32_t row = recall(s, t->found, (uint32_t)(t->plan - s->j->plans));

	return row < s->j->targets.n && s->j->targets.v[row] == t;
}

/* What the sync made goes; what was there before it stays. */
static void give_up(struct sync *s)
{
	while (s->targets.n) {
		struct target *t = s->targets.v[--s->targets.n];

		if (!is_the_jobs(s, t))
			target__free(t);
	}
	for (size_t i = 0; i < s->dropped.n; i++)
		dropped__fini(&s->dropped.v[i]);
	vec__fini(&s->targets);
	vec__fini(&s->dropped);
}

/* What is told of a target needs no memory then (job__targets()). */
static int make_view(struct sync *s)
{
	struct job *j = s->j;
	size_t most = 0;
	bool is_well;

	for (size_t i = 0; i < s->targets.n; i++) {
		const struct target *t = s->targets.v[i];
		size_t n = t->found->n + j->defaults[t->plan - j->plans]->n + t->labels->n;

		most = n > most ? n : most;
	}
	for (size_t i = 0; i < s->dropped.n; i++) {
		const struct dropped *d = &s->dropped.v[i];
		size_t n = d->found->n + j->defaults[d->plan]->n;

		most = n > most ? n : most;
	}
	pthread_mutex_lock(&j->lock);
	is_well = vec__reserve(&j->view, most);
	pthread_mutex_unlock(&j->lock);
	return is_well ? 0 : -ENOMEM;
}

/* More targets than the job may have: none of them is asked, and what was counted of them stays (as in Prometheus). */
static void hold_to_limit(struct sync *s)
{
	const int64_t limit = s->j->options->limits.targets;

	s->is_over_limit = limit && s->n_found > (uint64_t)limit;
	if (!s->is_over_limit)
		return;
	snprintf(s->trouble, sizeof(s->trouble),
		 "job %s: %" PRIu64 " targets, more than target_limit (%" PRId64
		 "): none of them is asked",
		 s->j->options->job_name, s->n_found, limit);
}

int sync__run(struct job *j)
{
	struct sync s = { .j = j };
	int r = know(&s) ? make_all(&s) : -ENOMEM;

	if (r == 0) {
		hold_to_limit(&s);
		r = make_view(&s);
	}
	if (s.trouble[0] && strcmp(s.trouble, j->trouble) != 0)
		j->host->log(j->host, DCM_LOG_WARNING, "%s", s.trouble);
	if (r == 0)
		change_over(&s);
	else
		give_up(&s);
	hindex__fini(&s.index);
	hindex__fini(&s.known);
	return r;
}
