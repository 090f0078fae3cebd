/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/crash_check.c - power cuts, by the thousand, and what must be true after each
 */
#include "tests/storage/crash_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/disk/replay.h"
#include "tests/storage/ledger.h"

enum { LIVES = 6, STEPS_MAX = 24, CALLS_MAX = 160, KINDS = 16, SECTOR_BYTES = 512 };

struct run {
	const struct crash_plan *plan;
	struct crash_result *result;
	struct random random;
	struct sim *sim;
	struct subject_setup setup;
	struct ledger ledger;
	void *store;
	/* The newest copy that was promised, and what it was to have; "": there is none. */
	char copy[16];
	struct ledger copied;
	unsigned n_copies;
	/* The last life's start was whole; until its cut no call failed, and nobody was told after it. */
	bool undisturbed;
};

static bool fail(struct run *r, const char *what, int64_t number)
{
	snprintf(r->result->fault, sizeof(r->result->fault), "%s (%" PRId64 ")", what, number);
	return false;
}

static bool look(struct run *r, bool settled)
{
	if (ledger__look(&r->ledger, r->store, settled))
		return true;
	snprintf(r->result->fault, sizeof(r->result->fault), "%s", r->ledger.fault);
	return false;
}

/* Under a name of its own: one that failed may have left something. */
static void copy(struct run *r)
{
	char dir[sizeof(r->copy)];

	snprintf(dir, sizeof(dir), "copy%u", r->n_copies++);
	if (r->plan->subject->backup(r->store, dir) != 0)
		return;
	memcpy(r->copy, dir, sizeof(dir));
	r->copied = r->ledger;
	r->result->n_backups++;
}

static void step(struct run *r)
{
	const struct subject *s = r->plan->subject;
	const unsigned n_kinds = s->backup ? 12 : s->remove ? 11 : 10;

	switch (random__below(&r->random, n_kinds)) {
	case 0:
	case 1:
		r->result->n_seals += s->seal(r->store) == 0;
		break;
	case 2:
		r->result->n_compactions += s->compact(r->store) > 0;
		break;
	case 3:
		ledger__retain(&r->ledger, r->store);
		break;
	case 4:
		s->probe(r->store);
		break;
	case 10:
		r->result->n_removals += ledger__remove(&r->ledger, r->store,
							(unsigned)random__below(&r->random, KINDS)) == 0;
		break;
	case 11:
		copy(r);
		break;
	default:
		/* Who is told after the power went: the manifest may not know its segment. */
		if (ledger__write(&r->ledger, r->store, 1 + (unsigned)random__below(&r->random, 4)) == 0 &&
		    sim__is_cut(r->sim))
			r->undisturbed = false;
	}
}

/* One life: from a start to the end. False: something was wrong. */
static bool live(struct run *r)
{
	static const enum sim_fault faults[] = { FAULT_EIO, FAULT_ENOSPC, FAULT_EINTR, FAULT_SHORT };
	uint64_t cut = 1 + random__below(&r->random, CALLS_MAX);
	unsigned complaints = 0;
	int rc;

	r->undisturbed = false;
	/* A start may be cut too. */
	if (random__below(&r->random, 8) == 0)
		sim__cut_at(r->sim, 1 + random__below(&r->random, 24));
	rc = r->plan->subject->open(sim__vfs(r->sim), &r->setup, &r->store, &complaints);
	if (sim__is_cut(r->sim))
		return rc || look(r, false);
	if (rc)
		return fail(r, "cannot be opened", rc);
	if (complaints)
		return fail(r, "complains", complaints);
	if (!look(r, true))
		return false;
	if (random__below(&r->random, 3) == 0)
		sim__fail(r->sim, 1 + random__below(&r->random, CALLS_MAX),
			  faults[random__below(&r->random, 4)], random__below(&r->random, 4) == 0);
	else if (random__below(&r->random, 4) == 0)
		sim__abort_at(r->sim, 1 + random__below(&r->random, CALLS_MAX));
	sim__cut_at(r->sim, cut);
	r->undisturbed = true;
	for (int i = 0; i < STEPS_MAX && !sim__is_cut(r->sim); i++)
		step(r);
	r->undisturbed &= !sim__failed(r->sim);
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

struct removal {
	struct vfs *vfs;
	uint64_t left; /* so many stay, then one goes; */
	bool all;      /* or each */
	unsigned n;    /* have gone */
};

static int remove_segment(void *ctx, const char *name)
{
	struct removal *rm = ctx;
	char path[WAL_PATH_BYTES];

	snprintf(path, sizeof(path), WAL_DIR "/%s", name);
	if (rm->all || rm->left-- == 0)
		rm->n += vfs__unlink(rm->vfs, path) == 0;
	return 0;
}

/*
 * Somebody removes a segment, or all of them: what was acknowledged is there all the same, or is
 * missed.
 */
static bool lose_segments(struct run *r)
{
	struct removal rm = { .vfs = sim__vfs(r->sim) };
	const size_t n = sim__n_names(r->sim, WAL_DIR);

	if (!r->undisturbed || n == 0 || random__below(&r->random, 2))
		return false;
	rm.all = random__below(&r->random, 2);
	rm.left = random__below(&r->random, n);
	vfs__list(rm.vfs, WAL_DIR, remove_segment, &rm);
	r->result->n_segments_removed += rm.n;
	return rm.n > 0;
}

/* In the place of the store, the copy: which knows nothing of what came after it. */
static bool enter_copy(struct run *r)
{
	if (!r->copy[0] || random__below(&r->random, 2))
		return false;
	sim__restart(r->sim, true);
	sim__enter(r->sim, r->copy);
	r->ledger = r->copied;
	r->result->n_restored++;
	return true;
}

/* And once more, in peace. */
static bool last_look(struct run *r)
{
	unsigned complaints = 0;
	bool lost;
	int rc;

	sim__skip(r->sim, 0);
	lost = !enter_copy(r) && lose_segments(r);
	rc = r->plan->subject->open(sim__vfs(r->sim), &r->setup, &r->store, &complaints);
	if (rc)
		return fail(r, "cannot be opened in the end", rc);
	r->result->n_segments_missed += lost && complaints;
	bool ok = complaints ? lost || fail(r, "complains in the end", complaints) : look(r, true);
	r->plan->subject->close(r->store);
	if (ok && sim__n_open(r->sim))
		return fail(r, "files left open", sim__n_open(r->sim));
	return ok;
}

static bool run_seed(const struct crash_plan *plan, uint64_t seed, struct crash_result *result)
{
	static const uint32_t aligns[] = { 8, 512, 1024 };
	struct run r = {
		.plan = plan,
		.result = result,
		.random = { seed },
		.ledger = { .subject = plan->subject },
		.sim = sim__new(seed * 2 + 1, plan->model),
	};
	bool ok = true;

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
	ok = ok && last_look(&r);
	if (ok && r.setup.align >= SECTOR_BYTES && sim__n_shared(r.sim) > 0)
		ok = fail(&r, "writes to a sector that has frames", (int64_t)sim__n_shared(r.sim));
	result->n_acked += r.ledger.n_acked;
	result->n_replayed += r.ledger.n_seen;
	result->n_expired += r.ledger.n_expired;
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
