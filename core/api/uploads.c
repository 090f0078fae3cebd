/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/uploads.c - a table of uploads, looked through from end to end: agents ask a few times a second
 */
#include "core/api/uploads.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/net/shares.h"

enum step {
	STEP_FREE,
	STEP_BEGUN,
	STEP_OPEN,
	STEP_FAILED,
	STEP_TAKEN,
	STEP_FINISHED,
	STEP_REFUSED
};

struct entry {
	enum step step;
	char build_id[ELF_BUILD_ID_TEXT], id[UPLOADS_ID];
	uint64_t type;
	uint64_t hash; /* of the hash; 0: there was none */
	struct uploads_terms terms;
	int64_t begun_ns;
	uint64_t peer; /* the client */
};

struct uploads {
	const struct clock *clock;
	pthread_mutex_t lock; /* of all below */
	struct entry v[UPLOADS_MAX];
};

struct uploads *uploads__new(const struct clock *clock)
{
	struct uploads *u = NEW(struct uploads);

	if (!u)
		return NULL;
	u->clock = clock;
	pthread_mutex_init(&u->lock, NULL);
	return u;
}

void uploads__free(struct uploads *u)
{
	if (!u)
		return;
	pthread_mutex_destroy(&u->lock);
	free(u);
}

static uint64_t hash_of(struct dcm_str hash)
{
	return hash.n ? hash__bytes(hash.p, hash.n, 0) | 1 : 0;
}

static bool is_under_way(const struct entry *e)
{
	return e->step == STEP_BEGUN || e->step == STEP_OPEN || e->step == STEP_TAKEN;
}

static bool is_stale(const struct uploads *u, const struct entry *e)
{
	return e->step == STEP_FAILED ||
	       (is_under_way(e) && clock__mono(u->clock) - e->begun_ns > UPLOADS_STALE_NS);
}

/* NULL: nothing is known of it. */
static struct entry *find(struct uploads *u, const struct uploads_key *key)
{
	for (struct entry *e = u->v; e < u->v + UPLOADS_MAX; e++)
		if (e->step != STEP_FREE && e->type == key->type &&
		    str__eq(str__of(e->build_id), key->build_id))
			return e;
	return NULL;
}

/* -ENOENT, -EINVAL. */
static int find_by_id(struct uploads *u, const struct uploads_key *key, struct dcm_str id,
		      struct entry **ret)
{
	*ret = find(u, key);
	if (!*ret)
		return -ENOENT;
	return str__eq(str__of((*ret)->id), id) ? 0 : -EINVAL;
}

static bool has_not_come(const struct uploads *u, const struct entry *e)
{
	return e->step == STEP_BEGUN && clock__mono(u->clock) - e->begun_ns > UPLOADS_HURRY_NS;
}

/* The higher, the sooner it gives way; 0: never. */
static int worth_leaving(const struct uploads *u, const struct entry *e)
{
	return e->step == STEP_FREE ? 4
	       : is_stale(u, e)	    ? 3
	       : !is_under_way(e)   ? 2
				    : has_not_come(u, e);
}

static bool has_too_many(const struct uploads *u, uint64_t peer)
{
	uint32_t n = 0;

	for (const struct entry *e = u->v; e < u->v + UPLOADS_MAX; e++)
		n += e->peer == peer && is_under_way(e) && !is_stale(u, e);
	return n >= UPLOADS_CLIENT_MAX;
}

/* NULL: all are under way. */
static struct entry *make_room(struct uploads *u)
{
	struct entry *best = u->v;

	for (struct entry *e = u->v; e < u->v + UPLOADS_MAX; e++) {
		int mine = worth_leaving(u, e), theirs = worth_leaving(u, best);

		if (mine > theirs || (mine == theirs && e->begun_ns < best->begun_ns))
			best = e;
	}
	return worth_leaving(u, best) ? best : NULL;
}

static int make_id(char ret[static UPLOADS_ID])
{
	uint8_t b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return -EIO;
	/* Version 4 of RFC 9562, 5.4. */
	b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
	b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
	for (int i = 0, at = 0; i < 16; i++)
		at += snprintf(ret + at, UPLOADS_ID - (size_t)at, "%s%02x",
			       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
	return 0;
}

enum uploads_state uploads__look(struct uploads *u, const struct uploads_key *key,
				 struct dcm_str hash, bool *ret_same)
{
	enum uploads_state state = UPLOADS_NONE;
	const struct entry *e;

	pthread_mutex_lock(&u->lock);
	e = find(u, key);
	if (e)
		state = is_stale(u, e)		  ? UPLOADS_STALE
			: is_under_way(e)	  ? UPLOADS_UNDER_WAY
			: e->step == STEP_REFUSED ? UPLOADS_REFUSED
						  : UPLOADS_FINISHED;
	*ret_same = e && e->hash && e->hash == hash_of(hash);
	pthread_mutex_unlock(&u->lock);
	return state;
}

int uploads__begin(struct uploads *u, const struct uploads_claim *claim, char ret_id[static UPLOADS_ID])
{
	const uint64_t peer = shares__client_of(claim->peer);
	struct entry *e;
	int r = make_id(ret_id);

	if (r < 0)
		return r;
	pthread_mutex_lock(&u->lock);
	e = find(u, &claim->key);
	if (e && is_under_way(e) && !is_stale(u, e) && !claim->force)
		r = -EBUSY;
	else if (!e)
		e = has_too_many(u, peer) ? NULL : make_room(u);
	if (r == 0 && !e)
		r = -ENOBUFS;
	if (r == 0) {
		*e = (struct entry){ .step = STEP_BEGUN,
				     .type = claim->key.type,
				     .hash = hash_of(claim->hash),
				     .terms = { claim->bytes, claim->is_assigned, claim->force },
				     .begun_ns = clock__mono(u->clock),
				     .peer = peer };
		snprintf(e->build_id, sizeof(e->build_id), "%.*s", STR_ARG(claim->key.build_id));
		memcpy(e->id, ret_id, sizeof(e->id));
	}
	pthread_mutex_unlock(&u->lock);
	return r;
}

int uploads__open(struct uploads *u, const struct uploads_key *key, struct dcm_str id,
		  struct uploads_terms *ret)
{
	struct entry *e;
	int r;

	pthread_mutex_lock(&u->lock);
	r = find_by_id(u, key, id, &e);
	if (r == 0 && e->step != STEP_BEGUN && e->step != STEP_FAILED)
		r = -EALREADY;
	if (r == 0) {
		e->step = STEP_OPEN;
		*ret = e->terms;
	}
	pthread_mutex_unlock(&u->lock);
	return r;
}

void uploads__close(struct uploads *u, struct dcm_str id, enum uploads_outcome outcome)
{
	static const enum step steps[] = {
		[UPLOADS_TAKEN] = STEP_TAKEN, [UPLOADS_USELESS] = STEP_REFUSED, [UPLOADS_TRY_AGAIN] = STEP_FAILED
	};

	pthread_mutex_lock(&u->lock);
	for (struct entry *e = u->v; e < u->v + UPLOADS_MAX; e++)
		if (e->step == STEP_OPEN && str__eq(str__of(e->id), id))
			e->step = steps[outcome];
	pthread_mutex_unlock(&u->lock);
}

int uploads__finish(struct uploads *u, const struct uploads_key *key, struct dcm_str id)
{
	struct entry *e;
	int r;

	pthread_mutex_lock(&u->lock);
	r = find_by_id(u, key, id, &e);
	if (r == 0 && e->step != STEP_TAKEN && e->step != STEP_FINISHED)
		r = -EAGAIN;
	if (r == 0)
		e->step = STEP_FINISHED;
	pthread_mutex_unlock(&u->lock);
	return r;
}
