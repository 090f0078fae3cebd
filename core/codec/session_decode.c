/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/session_decode.c - the receiver's side of sessions
 *
 * Of each session a builder is kept, into which what is new is read as a batch would be, with the maps from the sender's
 * numbers, and an excerpt makes batches of what the rows use. Who reads a message takes its session out of the list
 * and puts it back when all went well: two messages of one session at once never were its sender's will, and the second
 * finds none.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/vec.h"
#include "core/batch/batch.h"
#include "core/batch/excerpt.h"
#include "core/codec/session.h"
#include "core/codec/wire_read.h"

#define SECOND INT64_C(1000000000)

/* Where a message stands. */
struct place {
	struct dcm_hash name;
	uint64_t era, n_before; /* messages of the era before it */
};

/* What is known of one sender. */
struct kept {
	struct place next; /* message that can be read */
	int64_t used_mono_ns;
	uint64_t bytes;
	struct dcm_builder *builder;
	struct excerpt *excerpt;
	struct wire_maps maps;
};

struct dcm_sessions {
	uint64_t max_bytes;
	pthread_mutex_t lock;
	VEC(struct kept *) all;
	uint64_t bytes; /* of all */
};

/* ---- one ---- */

static void kept__free(struct kept *k)
{
	if (!k)
		return;
	excerpt__free(k->excerpt);
	builder__free(k->builder);
	wire_maps__fini(&k->maps);
	free(k);
}
DEFINE_CLEANUP(struct kept *, kept__free);

static struct kept *kept__new(const struct place *place)
{
	CLEANUP(kept__freep) struct kept *k = NEW(struct kept);

	if (!k)
		return NULL;
	k->next = *place;
	k->builder = builder__new(4 * (uint64_t)SESSION_MAX_BYTES);
	k->excerpt = k->builder ? excerpt__new(k->builder) : NULL;
	if (!k->excerpt || wire_maps__init(&k->maps) < 0)
		return NULL;
	return take_ptr(k);
}

static uint64_t kept__bytes(const struct kept *k)
{
	return sizeof(*k) + builder__bytes(k->builder) + excerpt__bytes(k->excerpt) +
	       wire_maps__bytes(&k->maps);
}

static bool is_same(const struct dcm_hash *a, const struct dcm_hash *b)
{
	return a->lo == b->lo && a->hi == b->hi;
}

/* ---- all; with the lock ---- */

static struct kept *remove_at(struct dcm_sessions *s, size_t i)
{
	struct kept *k = s->all.v[i];

	s->all.v[i] = s->all.v[--s->all.n];
	s->bytes -= k->bytes;
	return k;
}

/* Frees the session of this name, whatever its era, and those that nobody has used for long. */
static void sweep(struct dcm_sessions *s, const struct dcm_hash *name, int64_t now)
{
	for (size_t i = s->all.n; i-- > 0;)
		if (is_same(&s->all.v[i]->next.name, name) ||
		    now - s->all.v[i]->used_mono_ns > SESSION_IDLE_S * SECOND)
			kept__free(remove_at(s, i));
}

static struct kept *take_out(struct dcm_sessions *s, const struct place *place)
{
	struct kept *k = NULL;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->all.n && !k; i++) {
		const struct place *next = &s->all.v[i]->next;
		if (is_same(&next->name, &place->name) && next->era == place->era &&
		    next->n_before == place->n_before)
			k = remove_at(s, i);
	}
	pthread_mutex_unlock(&s->lock);
	return k;
}

/* True: it is in the list, if there is room for it. */
static bool put_back(struct dcm_sessions *s, struct kept *k, int64_t now)
{
	bool fits;

	k->used_mono_ns = now;
	k->bytes = kept__bytes(k);
	pthread_mutex_lock(&s->lock);
	sweep(s, &k->next.name, now);
	fits = k->bytes <= s->max_bytes && s->bytes <= s->max_bytes - k->bytes && vec__push(&s->all, k);
	if (fits)
		s->bytes += k->bytes;
	pthread_mutex_unlock(&s->lock);
	return fits;
}

int sessions__new(uint64_t max_bytes, struct dcm_sessions **ret, struct dcm_error *err)
{
	struct dcm_sessions *s = NEW(struct dcm_sessions);

	if (!s)
		return error__nomem(err);
	s->max_bytes = max_bytes;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

void sessions__free(struct dcm_sessions *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->all.n; i++)
		kept__free(s->all.v[i]);
	vec__fini(&s->all);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void sessions__stat(struct dcm_sessions *s, uint32_t *ret_n, uint64_t *ret_bytes)
{
	pthread_mutex_lock(&s->lock);
	*ret_n = (uint32_t)s->all.n;
	*ret_bytes = s->bytes;
	pthread_mutex_unlock(&s->lock);
}

/* ---- messages ---- */

bool sessions__is_message(const void *data, size_t n)
{
	return n >= WIRE_MAGIC_BYTES && memcmp(data, wire__session_header.magic, WIRE_MAGIC_BYTES) == 0;
}

/* Before anybody knows whose builder it is. */
static int read_place(struct wire_reader *d, struct place *ret, struct dcm_error *err)
{
	if (wire_read__hash(d, &ret->name) && wire_read__number(d, &ret->era) &&
	    wire_read__number(d, &ret->n_before))
		return 0;
	return error__set(err, -EBADMSG,
			  "place: the bytes end too early, or a number has more than 64 bits");
}

static struct kept *session_of(struct dcm_sessions *s, const struct place *place,
			       struct dcm_error *err, int *ret)
{
	struct kept *k = place->n_before ? take_out(s, place) : kept__new(place);

	if (k)
		return k;
	*ret = place->n_before
		       ? error__set(err, -ESTALE, "what this message follows on is not known here; begin the session anew")
		       : error__nomem(err);
	return NULL;
}

static int decode(struct dcm_sessions *s, struct wire_reader *d, int64_t now,
		  struct dcm_batch **ret_batch, bool *ret_is_kept, struct dcm_error *err)
{
	struct place place;
	int r = read_place(d, &place, err);
	CLEANUP(kept__freep) struct kept *k = r < 0 ? NULL : session_of(s, &place, err, &r);

	if (!k)
		return r;
	d->b = k->builder;
	d->maps = &k->maps;
	wire_read__batch(d);
	r = excerpt__make(k->excerpt, ret_batch, err);
	if (r < 0)
		return r;
	k->next.n_before++;
	*ret_is_kept = put_back(s, k, now);
	if (*ret_is_kept)
		take_ptr(k);
	return 0;
}

int sessions__decode(struct dcm_sessions *s, const void *data, size_t n, int64_t now_mono_ns,
		     struct dcm_batch **ret_batch, bool *ret_is_kept, struct dcm_error *err)
{
	struct wire_reader reader = {
		.p = (const uint8_t *)data + WIRE_HEADER_BYTES,
		.end = (const uint8_t *)data + n,
	};
	int r = wire_read__header(data, n, &wire__session_header, err);

	if (r < 0)
		return r;
	r = decode(s, &reader, now_mono_ns, ret_batch, ret_is_kept, err);
	if (r < 0 && r != -ESTALE)
		error__prefix(err, "session format");
	return r;
}
