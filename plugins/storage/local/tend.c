/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/tend.c - the store's upkeep in rounds
 */
#include "plugins/storage/local/tend.h"

#include <errno.h>
#include <stdio.h>

#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"

enum { TURN_SECONDS = 60, COMPACT_NS = 500000000 /* of a round */ };
#define SECOND_NS INT64_C(1000000000)
#define REST_NS	  (5 * SECOND_NS)

/* A job that was given up has neither failed nor succeeded. */
static int note(struct tend *t, enum tend_job job, int r, const struct dcm_error *err)
{
	struct tend_trouble *trouble = &t->troubles[job];

	if (r == -ECANCELED)
		return 0;
	r = r > 0 ? 0 : r;
	if (r && r != trouble->error)
		snprintf(trouble->text, sizeof(trouble->text), "%.*s",
			 (int)sizeof(trouble->text) - 1, err->text);
	trouble->error = r;
	return r;
}

static int64_t now_ns(const struct tend *t)
{
	return t->store->host->mono_ns(t->store->host);
}

/* 1: something was written anew, there may be more. */
static int compact_once(struct tend *t, const struct rework_yield *yield, struct dcm_error *err)
{
	/* One that fails keeps no other block waiting. */
	int rescued = rework__rescue(t->store, yield, err);
	/*
	 * Blocks that wait for their removal are not compacted; one that cannot be read keeps no
	 * others from it.
	 */
	int removed = removal__step(t->store, yield, err);
	int r = removed > 0 ? removed : rework__compact(t->store, yield, err);
	if (r == 0)
		r = rescued;
	return r ? r : removed;
}

static bool round_within(void *tend);

static void compact(struct tend *t, bool is_turn)
{
	const struct rework_yield yield = { round_within, t };
	const int64_t begin_ns = now_ns(t);
	struct dcm_error err = DCM_ERROR_INIT;
	int r = 1;

	if (t->idle ? !is_turn : begin_ns < t->compact_at_ns)
		return;
	while (r > 0 && now_ns(t) - begin_ns < COMPACT_NS)
		r = compact_once(t, &yield, &err);
	note(t, TEND_COMPACT, r, &err);
	t->idle = r <= 0; /* what failed is tried again at its turn */
	t->compact_at_ns = 2 * now_ns(t) - begin_ns;
}

static const struct tend_trouble *first_trouble(const struct tend *t, enum tend_job *ret)
{
	for (unsigned job = 0; job < TEND_JOBS; job++) {
		if (!t->troubles[job].error)
			continue;
		*ret = (enum tend_job)job;
		return &t->troubles[job];
	}
	return NULL;
}

/* A round stands for the seconds since the last one, for one at least. True: a minute is over. */
static bool take_time(struct tend *t)
{
	const int64_t now = now_ns(t), passed = (now - t->round_ns + SECOND_NS / 2) / SECOND_NS;
	const uint64_t before = t->seconds;

	t->seconds += t->round_ns && passed > 1 ? (uint64_t)passed : 1;
	t->round_ns = now;
	return t->seconds / TURN_SECONDS > before / TURN_SECONDS;
}

/* Within another round, and on a disk that refuses, only what goes in whole blocks. */
static void expire(struct tend *t, bool is_within)
{
	const struct rework_yield yield = { round_within, t };
	struct dcm_error err = DCM_ERROR_INIT;
	const int r = is_within ? expire__whole(t->store, &err) : expire__now(t->store, &yield, &err);

	/* Of what failed before, a round within may not have tried all. */
	if (r || !is_within)
		note(t, TEND_EXPIRE, r, &err);
}

static bool is_refused(const struct tend *t)
{
	return t->troubles[TEND_RECOVER].error || t->troubles[TEND_SEAL].error;
}

/* What a round does first. True: those who have their turn once a minute have it. */
static bool begin_round(struct tend *t, bool is_within)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct store *s = t->store;
	const bool was_refused = is_refused(t);

	bool is_turn = take_time(t);
	int r = note(t, TEND_RECOVER, upkeep__recover(s, &err), &err);
	if (r == 0)
		r = note(t, TEND_SEAL, upkeep__wants_seal(s) ? upkeep__seal(s, &err) : 0, &err);
	/* When the disk takes data again, what else it refused is tried at once. */
	is_turn = is_turn || (was_refused && r == 0);
	/* What is removed where its directory has gone would be there again with it. */
	if (is_turn && r != -ENOENT)
		expire(t, is_within || is_refused(t));
	return is_turn;
}

/* True: what tend__trouble() says has changed. */
static bool end_round(struct tend *t)
{
	enum tend_job job = TEND_RECOVER;

	eras__trim(t->store);
	const struct tend_trouble *trouble = first_trouble(t, &job);
	int error = trouble ? trouble->error : 0;
	bool changed = error != t->told_error || (error && job != t->told_job);
	t->told_error = error;
	t->told_job = job;
	return changed;
}

/* A rework_yield.fn. */
static bool round_within(void *tend)
{
	struct tend *t = tend;

	if (now_ns(t) - t->round_ns < SECOND_NS)
		return is_refused(t);
	begin_round(t, true);
	const bool changed = end_round(t);
	if (t->meanwhile)
		t->meanwhile(t->ctx, changed);
	return is_refused(t);
}

bool tend__round(struct tend *t)
{
	const bool is_turn = begin_round(t, false);

	if (!is_refused(t))
		compact(t, is_turn);
	return end_round(t);
}

int64_t tend__rest_ns(const struct tend *t)
{
	enum tend_job job;

	if (!t->idle || first_trouble(t, &job))
		return SECOND_NS;
	pthread_rwlock_rdlock(&t->store->lock);
	int64_t seal_ns = t->store->options.seal_ms * 1000000;
	pthread_rwlock_unlock(&t->store->lock);
	return seal_ns < SECOND_NS ? SECOND_NS : seal_ns < REST_NS ? seal_ns : REST_NS;
}

const char *tend__trouble(const struct tend *t)
{
	enum tend_job job;
	const struct tend_trouble *trouble = first_trouble(t, &job);

	return trouble ? trouble->text : "";
}
