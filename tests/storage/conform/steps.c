/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/steps.c - the kinds of steps, and walking a plan of them
 */
#include "tests/storage/conform/steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "tests/unit/random_batch.h"

#define HOUR_NS ((int64_t)3600 * 1000000000)
#define DAY_NS	(24 * HOUR_NS)

/* A trial and the step that is under way in it. */
struct walk {
	struct trial *t;
	struct random r;
	uint32_t index;
	unsigned flags; /* of the batches of this plan */
};

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

/* Mostly now; late by hours or days; across the ends of hours and days; ahead. */
static int64_t some_base_ns(struct walk *w)
{
	int64_t now = RANDOM_BASE_NS + (int64_t)w->index * 7000000000;

	switch (random__below(&w->r, 10)) {
	case 0:
		return now - (int64_t)random__below(&w->r, 2 * (uint64_t)HOUR_NS / 1000000) * 1000000;
	case 1:
		return now - (int64_t)random__below(&w->r, 3 * (uint64_t)DAY_NS / 1000000) * 1000000;
	case 2: /* batches reach over five minutes */
		return now - now % (2 * HOUR_NS) - 150000000000;
	case 3:
		return now - now % DAY_NS - 150000000000;
	case 4:
		return now + (int64_t)random__below(&w->r, 40) * DAY_NS;
	default:
		return now;
	}
}

static struct dcm_batch *some_batch(struct walk *w, uint64_t sequence)
{
	int64_t base_ns = some_base_ns(w);

	return storage_random__batch(&w->r, sequence, w->flags, base_ns);
}

static bool step_write(struct walk *w)
{
	struct dcm_batch *batch = some_batch(w, (uint64_t)w->index * 4);
	bool good = trial__write(w->t, &batch, 1);

	batch__unref(batch);
	return good;
}

/* Several in one call, one of them twice. */
static bool step_burst(struct walk *w)
{
	struct dcm_batch *batches[4];

	for (uint64_t i = 0; i < 3; i++)
		batches[i] = some_batch(w, (uint64_t)w->index * 4 + i);
	batches[3] = batch__ref(batches[random__below(&w->r, 3)]);
	bool good = trial__write(w->t, batches, 4);
	for (unsigned i = 0; i < 4; i++)
		batch__unref(batches[i]);
	return good;
}

static bool step_retry(struct walk *w)
{
	size_t n = w->t->batches.n, recent = n < 8 ? n : 8;

	if (n == 0)
		return true;
	struct dcm_batch *batch = w->t->batches.v[n - 1 - random__below(&w->r, recent)];
	return trial__write(w->t, &batch, 1);
}

/* -------------------------------------------------------------------------------------------------
 * Removing
 */

static bool same_count(struct walk *w, const char *what, int r, uint64_t n,
		       const struct dcm_error *err, int ref_r, uint64_t ref_n)
{
	if (r == ref_r && (r < 0 || n == ref_n))
		return true;
	return trial__fail(w->t,
			   "%s\n expected: %d, %" PRIu64 " profiles\n answered: %d, %" PRIu64
			   " profiles %s",
			   what, ref_r, ref_n, r, n, err->text);
}

static bool step_remove(struct walk *w)
{
	struct storage *s = &w->t->subject, *ref = &w->t->reference;
	struct dcm_error err = DCM_ERROR_INIT;
	uint64_t n = 0, ref_n = 0;
	char text[1024], what[1040];
	struct question q;

	if (!s->ops->remove)
		return true;
	for (;;) { /* everything of a type at once would leave too little */
		question__random(&q, &w->r);
		if (q.asked.sel[0].n_matchers)
			break;
		question__fini(&q);
	}
	trial__aim(w->t, &q, &w->r);
	question__describe(&q.asked, text, sizeof(text));
	snprintf(what, sizeof(what), "remove: %s", text);
	int r = s->ops->remove(s->instance, &q.asked.sel[0], &n, &err);
	int e = ref->ops->remove(ref->instance, &q.asked.sel[0], &ref_n, NULL);
	question__fini(&q);
	return same_count(w, what, r, n, &err, e, ref_n);
}

/* What begins at the cutoff stays. */
static bool step_retain(struct walk *w)
{
	struct storage *s = &w->t->subject, *ref = &w->t->reference;
	struct dcm_store_stat st = { .size = sizeof(st) };
	struct dcm_error err = DCM_ERROR_INIT;
	uint64_t n = 0, ref_n = 0;

	ref->ops->stat(ref->instance, &st);
	if (!s->ops->retain || st.n_profiles == 0)
		return true;
	/* One of the older profiles' times. */
	int64_t cutoff = w->t->times_ms.v[random__below(&w->r, w->t->times_ms.n)];
	for (unsigned i = 0; i < 3; i++) {
		int64_t other = w->t->times_ms.v[random__below(&w->r, w->t->times_ms.n)];
		cutoff = other < cutoff ? other : cutoff;
	}
	int r = s->ops->retain(s->instance, cutoff, 0, &n, &err);
	int e = ref->ops->retain(ref->instance, cutoff, 0, &ref_n, NULL);
	return same_count(w, "retain by time", r, n, &err, e, ref_n);
}

/* Stores differ in bytes. Whatever goes is the oldest, and no more is left than is allowed. */
static bool step_retain_bytes(struct walk *w)
{
	struct storage *s = &w->t->subject, *ref = &w->t->reference;
	struct dcm_store_stat st = { .size = sizeof(st) };
	struct dcm_error err = DCM_ERROR_INIT;
	uint64_t n = 0, ref_n = 0;

	s->ops->stat(s->instance, &st);
	if (!s->ops->retain || st.n_profiles == 0)
		return true;
	uint64_t bound = st.bytes - st.bytes / 16;
	int r = s->ops->retain(s->instance, INT64_MIN, bound, &n, &err);
	s->ops->stat(s->instance, &st);
	if (r == 0 && st.bytes > bound && st.n_profiles > 0)
		return trial__fail(w->t, "retain left %" PRIu64 " bytes of %" PRIu64 " that it may",
				   st.bytes, bound);
	int e = ref->ops->retain(ref->instance, st.n_profiles ? st.first_ms : INT64_MAX, 0, &ref_n, NULL);
	return same_count(w, "retain by bytes", r, n, &err, e, ref_n);
}

/* -------------------------------------------------------------------------------------------------
 * What must change nothing
 */

static bool step_ask(struct walk *w)
{
	for (unsigned i = 0; i < 10; i++)
		if (!trial__ask_random(w->t, &w->t->subject, &w->r))
			return false;
	return true;
}

static bool step_maintain(struct walk *w)
{
	struct storage *s = &w->t->subject;
	struct dcm_error err = DCM_ERROR_INIT;

	for (uint64_t i = 1 + random__below(&w->r, 3); i > 0 && s->ops->maintain; i--) {
		int r = s->ops->maintain(s->instance, (int64_t)1000000 << random__below(&w->r, 9), &err);
		if (r < 0)
			return trial__fail(w->t, "maintain: %d: %s", r, err.text);
	}
	return true;
}

static bool step_check(struct walk *w)
{
	return trial__check(w->t, &w->t->subject);
}

/* Time goes on, and sometimes back: nothing is lost by it where no retention is asked for. */
static bool step_clock(struct walk *w)
{
	static const int64_t jumps_ns[] = { 60000000000, 2 * HOUR_NS, DAY_NS, -HOUR_NS, -2 * DAY_NS };
	int64_t jump = jumps_ns[random__below(&w->r, sizeof(jumps_ns) / sizeof(jumps_ns[0]))];

	if (atomic_load(&w->t->subject.real_ns) + jump < TRIAL_LATEST_NS)
		jump = 2 * DAY_NS;
	atomic_fetch_add(&w->t->subject.real_ns, jump);
	atomic_fetch_add(&w->t->subject.mono_ns, jump > 0 ? jump : 1000000000);
	return true;
}

/* A backup answers alike, is a store of its own, and what happens to it happens to it alone. */
static bool step_copy(struct walk *w)
{
	struct storage copy = { 0 };
	bool good = true;

	if (!w->t->subject.ops->backup)
		return true;
	if (!trial__copy(w->t, &copy))
		return false;
	for (unsigned i = 0; good && i < 6; i++)
		good = trial__ask_random(w->t, &copy, &w->r);
	good = good && trial__compare_stat(w->t, &copy) && trial__check(w->t, &copy);
	if (good && copy.ops->retain) {
		uint64_t n;

		copy.ops->retain(copy.instance, INT64_MAX, 0, &n, NULL);
		if (copy.ops->maintain)
			copy.ops->maintain(copy.instance, 1000000000, NULL);
	}
	storage__close(&copy);
	return good;
}

static bool step_restart(struct walk *w)
{
	if (!w->t->o->keeps && !w->t->subject.ops->backup)
		return true;
	return trial__restart(w->t);
}

/* -------------------------------------------------------------------------------------------------
 * Plans
 */

static const struct {
	const char *name;
	uint32_t weight;
	bool (*take)(struct walk *w);
} kinds[] = {
	{ "write", 30, step_write },
	{ "burst", 5, step_burst },
	{ "retry", 8, step_retry },
	{ "ask", 20, step_ask },
	{ "remove", 4, step_remove },
	{ "retain", 3, step_retain },
	{ "retain by bytes", 1, step_retain_bytes },
	{ "maintain", 8, step_maintain },
	{ "check", 2, step_check },
	{ "clock", 4, step_clock },
	{ "copy", 3, step_copy },
	{ "restart", 4, step_restart },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

const char *steps__name(const struct step *step)
{
	return kinds[step->kind].name;
}

void plan__draw(struct plan *p, uint64_t seed, uint32_t n)
{
	struct random r = { seed };
	uint32_t sum = 0;

	p->seed = seed;
	p->flags = seed % 4 == 3 ? RANDOM_NASTY : seed % 2 ? RANDOM_NO_PROCESSES : 0;
	p->n = n < PLAN_MAX_STEPS ? n : PLAN_MAX_STEPS;
	for (uint32_t k = 0; k < N_KINDS; k++)
		sum += kinds[k].weight;
	for (uint32_t i = 0; i < p->n; i++) {
		uint64_t at = random__below(&r, sum);
		uint32_t kind = 0;

		for (; at >= kinds[kind].weight; kind++)
			at -= kinds[kind].weight;
		p->steps[i] = (struct step){ .seed = random__next(&r), .index = i, .kind = kind };
	}
}

static bool take(struct walk *w, const struct step *step)
{
	w->r = (struct random){ step->seed };
	w->index = step->index;
	if (!kinds[step->kind].take(w))
		return false;
	for (unsigned i = 0; i < 3; i++)
		if (!trial__ask_random(w->t, &w->t->subject, &w->r))
			return false;
	return trial__compare_stat(w->t, &w->t->subject);
}

struct walked plan__walk(const struct plan *p, const struct trial_options *o)
{
	struct walked done = { 0 };
	struct walk w = { .t = trial__new(o), .flags = p->flags };

	if (!w.t)
		abort();
	while (w.t->why.n == 0 && done.n < p->n && take(&w, &p->steps[done.n]))
		done.n++;
	done.n_asked = w.t->n_asked;
	done.n_empty = w.t->n_empty;
	/* A write that is acknowledged twice shows at the end. */
	if (!trial__end(w.t, &done.why) && done.n == p->n)
		done.n--;
	return done;
}

void plan__shrink(struct plan *p, const struct trial_options *o, uint32_t n_walks, struct walked *failure)
{
	p->n = failure->n + 1;
	for (uint32_t chunk = p->n / 2; chunk > 0; chunk /= 2) {
		for (uint32_t at = 0; at + chunk < p->n && n_walks > 0; n_walks--) {
			struct plan less = *p;

			less.n -= chunk;
			memmove(&less.steps[at], &less.steps[at + chunk],
				(less.n - at) * sizeof(less.steps[0]));
			struct walked again = plan__walk(&less, o);
			if (again.why.n == 0) {
				at += chunk;
				continue;
			}
			less.n = again.n + 1;
			*p = less;
			buf__fini(&failure->why);
			*failure = again;
		}
	}
}
