/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/crash_check.c - power cuts, by the thousand, and what must be true after each
 *
 * What the checker knows of each number is one of five states; a write, a removal and a start move it. Numbers are
 * given out upwards, so an array holds them all.
 */
#include "tests/storage/crash_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVES = 6, IDS_MAX = 4096, STEPS_MAX = 24, CALLS_MAX = 160 };

enum state {
	UNSENT,
	MAYBE,	/* sent, not acknowledged: there or not */
	ACKED,	/* must be there */
	FADING, /* removed, perhaps not for good: there or not */
	GONE,	/* removed for good: must not be there */
};

struct run {
	const struct crash_plan *plan;
	struct crash_result *result;
	struct random random;
	struct sim *sim;
	struct subject_setup setup;
	void *store;
	uint64_t next_id;
	uint8_t state[IDS_MAX];
	uint8_t seen[IDS_MAX]; /* how often, at the last look */
	bool made_up;
};

static bool fail(struct run *r, const char *what, uint64_t id)
{
	snprintf(r->result->fault, sizeof(r->result->fault), "%s (number %" PRIu64 ")", what, id);
	return false;
}

static void see(void *ctx, uint64_t id)
{
	struct run *r = ctx;

	if (id < r->next_id)
		r->seen[id] += r->seen[id] < 2;
	else
		r->made_up = true;
}

/* Compares the store with what is known. `settled`: what is there is there to stay. */
static bool look(struct run *r, bool settled)
{
	memset(r->seen, 0, r->next_id);
	r->plan->subject->ids(r->store, see, r);
	if (r->made_up)
		return fail(r, "a number that nobody sent", 0);
	for (uint64_t id = 0; id < r->next_id; id++) {
		if (r->seen[id] > 1)
			return fail(r, "there twice", id);
		if (r->seen[id] == 0 && r->state[id] == ACKED)
			return fail(r, "acknowledged, and lost", id);
		if (r->seen[id] == 1 && r->state[id] == GONE)
			return fail(r, "removed, and back again", id);
		if (!settled)
			continue;
		if (r->seen[id] == 1)
			r->state[id] = ACKED;
		else if (r->state[id] != UNSENT)
			r->state[id] = GONE;
		r->result->n_replayed += r->seen[id];
	}
	return true;
}

static void write_some(struct run *r)
{
	unsigned n = 1 + (unsigned)random__below(&r->random, 4);
	uint64_t from = r->next_id;

	if (from + n > IDS_MAX)
		return;
	r->next_id += n;
	memset(r->state + from, MAYBE, n);
	if (r->plan->subject->write(r->store, from, n) == 0) {
		memset(r->state + from, ACKED, n);
		r->result->n_acked += n;
	}
}

static void fade(void *ctx, uint64_t id)
{
	((struct run *)ctx)->state[id] = FADING;
}

static void thin_out(struct run *r)
{
	if (r->plan->subject->retain(r->store, fade, r) || r->plan->subject->settle(r->store))
		return;
	for (uint64_t id = 0; id < r->next_id; id++)
		if (r->state[id] == FADING)
			r->state[id] = GONE;
}

static void step(struct run *r)
{
	const struct subject *s = r->plan->subject;

	switch (random__below(&r->random, 10)) {
	case 0:
	case 1:
		r->result->n_seals += s->seal(r->store) == 0;
		break;
	case 2:
		r->result->n_compactions += s->compact(r->store) == 0;
		break;
	case 3:
		thin_out(r);
		break;
	case 4:
		s->probe(r->store);
		break;
	default:
		write_some(r);
	}
}

/* One life: from a start to the end. False: something was wrong. */
static bool live(struct run *r)
{
	static const enum sim_fault faults[] = { FAULT_EIO, FAULT_ENOSPC, FAULT_EINTR, FAULT_SHORT };
	const struct subject *s = r->plan->subject;
	uint64_t cut = 1 + random__below(&r->random, CALLS_MAX);
	unsigned complaints = 0;
	int rc;

	/* A start may be cut too. */
	if (random__below(&r->random, 8) == 0)
		sim__cut_at(r->sim, 1 + random__below(&r->random, 24));
	rc = s->open(sim__vfs(r->sim), &r->setup, &r->store, &complaints);
	if (sim__is_cut(r->sim))
		return rc || look(r, false);
	if (rc)
		return fail(r, "cannot be opened", (uint64_t)-rc);
	if (complaints)
		return fail(r, "complains", complaints);
	if (!look(r, true))
		return false;
	if (random__below(&r->random, 3) == 0)
		sim__fail(r->sim, 1 + random__below(&r->random, CALLS_MAX),
			  faults[random__below(&r->random, 4)], random__below(&r->random, 4) == 0);
	sim__cut_at(r->sim, cut);
	for (int i = 0; i < STEPS_MAX && sim__n_calls(r->sim) < cut; i++)
		step(r);
	return true;
}

static void end_life(struct run *r)
{
	bool power_cut = random__below(&r->random, 4) != 0;

	r->plan->subject->close(r->store);
	r->store = NULL;
	sim__restart(r->sim, power_cut);
	r->result->n_power_cuts += power_cut;
}

static bool run_seed(const struct crash_plan *plan, uint64_t seed, struct crash_result *result)
{
	static const uint32_t aligns[] = { 8, 512, 1024 };
	struct run r = { .plan = plan, .result = result, .random = { seed } };
	bool ok = true;

	r.sim = sim__new(seed * 2 + 1, plan->model);
	if (!r.sim)
		abort();
	sim__skip(r.sim, plan->deviations);
	r.setup = (struct subject_setup){
		.segment_bytes = 2048 + random__below(&r.random, 4) * 2048,
		.align = aligns[random__below(&r.random, 3)],
		.deviations = plan->deviations,
	};
	for (int i = 0; ok && i < LIVES; i++) {
		ok = live(&r);
		end_life(&r);
		result->n_cycles++;
	}
	/* And once more, in peace. */
	sim__skip(r.sim, 0);
	unsigned complaints = 0;
	if (ok && plan->subject->open(sim__vfs(r.sim), &r.setup, &r.store, &complaints))
		ok = fail(&r, "cannot be opened in the end", 0);
	else if (ok)
		ok = complaints ? fail(&r, "complains in the end", complaints) : look(&r, true);
	plan->subject->close(r.store);
	if (ok && sim__n_open(r.sim))
		ok = fail(&r, "files left open", sim__n_open(r.sim));
	sim__free(r.sim);
	return ok;
}

void crash_check(const struct crash_plan *plan, struct crash_result *ret)
{
	*ret = (struct crash_result){ .n_cycles = 0 };
	for (uint64_t seed = plan->seed; ret->n_cycles < plan->n_cycles; seed++) {
		if (run_seed(plan, seed, ret))
			continue;
		ret->bad_seed = seed;
		return;
	}
}
