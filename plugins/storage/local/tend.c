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

/* A job that was given up because the store stops has not failed. */
static int note(struct tend *t, enum tend_job job, int r, const struct dcm_error *err)
{
	struct tend_trouble *trouble = &t->troubles[job];

	r = r == -ECANCELED || r > 0 ? 0 : r;
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
static int compact_once(struct tend *t, struct dcm_error *err)
{
	/* One that fails keeps no other block waiting. */
	int rescued = rework__rescue(t->store, err);
	/*
	 * Blocks that wait for their removal are not compacted; one that cannot be read keeps no
	 * others from it.
	 */
	int removed = removal__step(t->store, err);
	int r = removed > 0 ? removed : rework__compact(t->store, err);
	if (r == 0)
		r = rescued;
	return r ? r : removed;
}

static void compact(struct tend *t, bool is_turn)
{
	const int64_t begin_ns = now_ns(t);
	struct dcm_error err = DCM_ERROR_INIT;
	int r = 1;

	if (t->idle ? !is_turn : begin_ns < t->compact_at_ns)
		return;
	while (r > 0 && now_ns(t) - begin_ns < COMPACT_NS)
		r = compact_once(t, &err);
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

bool tend__round(struct tend *t)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct store *s = t->store;
	enum tend_job job = TEND_RECOVER;
	const bool was_refused = t->troubles[TEND_RECOVER].error || t->troubles[TEND_SEAL].error;

	bool is_turn = take_time(t);
	int r = note(t, TEND_RECOVER, upkeep__recover(s, &err), &err);
	if (r == 0)
		r = note(t, TEND_SEAL, upkeep__wants_seal(s) ? upkeep__seal(s, &err) : 0, &err);
	/* When the disk takes data again, what else it refused is tried at once. */
	is_turn = is_turn || (was_refused && r == 0);
	/* What is removed where its directory has gone would be there again with it. */
	if (is_turn && r != -ENOENT)
		note(t, TEND_EXPIRE, expire__now(s, &err), &err);
	if (r == 0)
		compact(t, is_turn);
	eras__trim(s);
	const struct tend_trouble *trouble = first_trouble(t, &job);
	int error = trouble ? trouble->error : 0;
	bool changed = error != t->told_error || (error && job != t->told_job);
	t->told_error = error;
	t->told_job = job;
	return changed;
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
