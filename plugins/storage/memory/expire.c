/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/expire.c - removes by age and by bytes, and rebuilds the dictionary
 * without its dead
 */
#include "plugins/storage/memory/expire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"

/* So small a part of the retention more is what the oldest may stay. */
enum { LONGER_PART = 64 };

uint64_t expire__bytes(const struct store *s)
{
	const struct dict *d = s->streams.dict;

	return streams__bytes(&s->streams) + dict__bytes(d) + labels__bytes(&d->labels);
}

/* -------------------------------------------------------------------------------------------------
 * The dictionary without its dead
 */

/* Old id -> whether it lives, then -> the new id. */
struct rebuild {
	struct dict_import im;
	uint32_t *stacks, *label_sets;
	uint32_t live_stacks, live_label_sets;
	/* The new streams; a NULL profile stands for "the old one, rewritten in place". */
	struct streams streams;
};

static void rebuild__fini(struct rebuild *rb)
{
	dict_import__fini(&rb->im);
	free(rb->stacks);
	free(rb->label_sets);
	streams__fini(&rb->streams);
}

/* How many of the ids were not marked yet. */
static uint32_t mark(uint32_t *marks, const uint32_t *ids, uint32_t n)
{
	uint32_t n_new = 0;

	for (uint32_t i = 0; i < n; i++) {
		n_new += marks[ids[i]] == 0;
		marks[ids[i]] = 1;
	}
	return n_new;
}

static int mark_live(const struct store *s, struct rebuild *rb)
{
	static const uint32_t empty; /* set 0 */

	rb->stacks = mem__zalloc(s->streams.dict->stacks.n ? s->streams.dict->stacks.n : 1,
				 sizeof(uint32_t));
	rb->label_sets = mem__zalloc(s->streams.dict->label_sets.n, sizeof(uint32_t));
	if (!rb->stacks || !rb->label_sets)
		return -ENOMEM;
	for (size_t i = 0; i < s->streams.n; i++)
		for (size_t j = 0; j < s->streams.v[i].profiles.n; j++) {
			const struct profile *p = s->streams.v[i].profiles.v[j];
			const uint32_t *sets = profile__labels(p);

			rb->live_stacks += mark(rb->stacks, profile__stacks(p), p->n_rows);
			/* Without a column all rows have the empty set. */
			rb->live_label_sets += sets ? mark(rb->label_sets, sets, p->n_rows)
						    : mark(rb->label_sets, &empty, p->n_rows > 0);
		}
	return 0;
}

/* Is rebuilding worth its cost? `hard`: memory is short, any dead entry will do. */
static bool pays(const struct store *s, const struct rebuild *rb, bool hard)
{
	uint32_t stacks = s->streams.dict->stacks.n, sets = s->streams.dict->label_sets.n,
		 live_streams = 0;

	for (size_t i = 0; i < s->streams.n; i++)
		live_streams += s->streams.v[i].profiles.n > 0;
	if (hard)
		return rb->live_stacks < stacks || rb->live_label_sets < sets ||
		       live_streams < s->streams.n;
	return rb->live_stacks < stacks / 2 || rb->live_label_sets < sets / 2 ||
	       live_streams < s->streams.n / 2;
}

/* New ids ascend as the old ones did, so that rows stay sorted. */
static int move_entries(const struct store *s, struct rebuild *rb)
{
	for (uint32_t i = 0; i < s->streams.dict->stacks.n; i++)
		if (rb->stacks[i] && (rb->stacks[i] = dict_import__stack(&rb->im, i)) == DCM_NONE)
			return -ENOMEM;
	for (uint32_t i = 0; i < s->streams.dict->label_sets.n; i++)
		if (rb->label_sets[i] && (rb->label_sets[i] = dict_import__label_set(&rb->im, i)) == DCM_NONE)
			return -ENOMEM;
	return 0;
}

/*
 * One profile's place in the new stream. Under the lock nobody gets a new hold, so one reference
 * means that it is ours alone and may be rewritten; what somebody else holds is copied.
 */
static int move_profile(const struct profile *old, struct stream *new)
{
	struct profile *copy = NULL;

	if (atomic_load_explicit(&old->refs, memory_order_acquire) > 1) {
		copy = profile__copy(old);
		if (!copy)
			return -ENOMEM;
	}
	new->profiles.v[new->profiles.n++] = copy;
	return 0;
}

static int move_stream(const struct store *s, struct rebuild *rb, const struct stream *old)
{
	const struct dict_type *type = dict__type_at(s->streams.dict, old->type);
	uint32_t to_series = dict_import__series(&rb->im, old->series);
	uint32_t to_type = dict_import__type(&rb->im, &type->parts);
	uint32_t at = DCM_NONE;

	if (to_series != DCM_NONE && to_type != DCM_NONE)
		at = streams__find_or_make(&rb->streams, to_series, to_type);
	if (at == DCM_NONE || !vec__reserve(&rb->streams.v[at].profiles, old->profiles.n))
		return -ENOMEM;
	for (size_t j = 0; j < old->profiles.n; j++)
		if (move_profile(old->profiles.v[j], &rb->streams.v[at]) < 0)
			return -ENOMEM;
	return 0;
}

/* Cannot fail: everything is there. */
static void switch_over(struct store *s, struct rebuild *rb)
{
	size_t next = 0;

	for (size_t i = 0; i < s->streams.n; i++) {
		struct stream *old = &s->streams.v[i];
		struct stream *new = old->profiles.n ? &rb->streams.v[next++] : NULL;

		for (size_t j = 0; j < old->profiles.n; j++) {
			struct profile *p = new->profiles.v[j];

			if (p)
				profile__unref(old->profiles.v[j]);
			else
				p = new->profiles.v[j] = old->profiles.v[j];
			profile__renumber(p, rb->stacks, rb->label_sets);
		}
		old->profiles.n = 0; /* each went over, or was given back */
	}
	rb->streams.profile_bytes = s->streams.profile_bytes;
	rb->streams.n_profiles = s->streams.n_profiles;
	rb->streams.n_rows = s->streams.n_rows;
	rb->streams.newest_ms = s->streams.newest_ms;
	rb->streams.oldest_ms = s->streams.oldest_ms;
	struct streams old = s->streams;
	s->streams = rb->streams;
	rb->streams = old;
	s->era++;
}

static int rebuild(struct store *s, struct rebuild *rb, bool hard)
{
	struct dict *to;
	int r = mark_live(s, rb);

	if (r < 0 || !pays(s, rb, hard))
		return r;
	to = dict__new();
	if (!to)
		return -ENOMEM;
	streams__init(&rb->streams, to);
	r = dict_import__init_dict(&rb->im, to, s->streams.dict);
	if (r == 0)
		r = move_entries(s, rb);
	for (size_t i = 0; r == 0 && i < s->streams.n; i++)
		if (s->streams.v[i].profiles.n > 0)
			r = move_stream(s, rb, &s->streams.v[i]);
	if (r == 0)
		switch_over(s, rb);
	return r;
}

/* hard: memory is short, so look now and take what there is. */
static void shed_dead(struct store *s, bool hard)
{
	struct rebuild rb = { 0 };

	if (!hard && s->streams.freed_bytes <= s->streams.profile_bytes / 2)
		return;
	if (rebuild(s, &rb, hard) == 0)
		s->streams.freed_bytes = 0;
	rebuild__fini(&rb);
}

void expire__shed(struct store *s)
{
	shed_dead(s, false);
}

/* -------------------------------------------------------------------------------------------------
 * What goes
 */

struct tally {
	uint64_t bytes, profiles, rows;
};

static struct tally tally_before(const struct store *s, int64_t time_ms)
{
	struct tally t = { 0 };

	for (size_t i = 0; i < s->streams.n; i++) {
		const struct stream *st = &s->streams.v[i];

		for (size_t j = 0; j < st->profiles.n && st->profiles.v[j]->time_ms < time_ms; j++) {
			t.bytes += profile__bytes(st->profiles.v[j]);
			t.rows += st->profiles.v[j]->n_rows;
			t.profiles++;
		}
	}
	return t;
}

void expire__before(struct store *s, int64_t cutoff_ms, struct store_news *news)
{
	news->n_expired += streams__remove_before(&s->streams, cutoff_ms);
	shed_dead(s, false);
}

/*
 * The first time such that removing everything before it frees at least so many bytes (or
 * everything).
 */
static int64_t time_to_free(const struct store *s, uint64_t bytes)
{
	int64_t low = INT64_MAX, high = INT64_MIN;

	for (size_t i = 0; i < s->streams.n; i++) {
		const struct stream *st = &s->streams.v[i];

		if (st->profiles.n == 0)
			continue;
		if (st->profiles.v[0]->time_ms < low)
			low = st->profiles.v[0]->time_ms;
		if (st->profiles.v[st->profiles.n - 1]->time_ms > high)
			high = st->profiles.v[st->profiles.n - 1]->time_ms;
	}
	if (low > high)
		return INT64_MIN;
	/*
	 * low frees nothing; high + 1 frees everything; the answer is in between. Times are within
	 * ns / 1e6.
	 */
	high++;
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (tally_before(s, middle).bytes >= bytes)
			high = middle;
		else
			low = middle;
	}
	return high;
}

void expire__to_bytes(struct store *s, uint64_t max_bytes, struct store_news *news)
{
	bool hard = false;

	while (expire__bytes(s) > max_bytes && s->streams.n_profiles > 0) {
		/* A little more than needed, so that this is not repeated at every write. */
		uint64_t over = expire__bytes(s) - max_bytes + max_bytes / 32;
		/*
		 * When the dictionary is what is large, it shrinks with what it serves: in steps,
		 * then.
		 */
		uint64_t most = s->streams.profile_bytes / 8 + 1;
		int64_t until = time_to_free(s, over > most ? most : over);
		struct tally gone = tally_before(s, until);

		streams__remove_before(&s->streams, until);
		news->n_evicted += gone.profiles;
		news->rows_evicted += gone.rows;
		shed_dead(s, hard);
		hard = true;
	}
}

/* A part of the retention at once, because each time all streams are looked at. */
static void expire_old(struct store *s, int64_t now_ms, struct store_news *news)
{
	const int64_t from = s->streams.newest_ms < now_ms ? s->streams.newest_ms : now_ms;
	const int64_t longer = s->limits.retention_ms / LONGER_PART;
	int64_t cutoff, late;

	if (s->limits.retention_ms <= 0 || s->streams.n_profiles == 0 ||
	    __builtin_sub_overflow(from, s->limits.retention_ms, &cutoff) ||
	    __builtin_sub_overflow(cutoff, longer, &late))
		return;
	if (s->streams.oldest_ms < late)
		expire__before(s, cutoff, news);
}

void expire__tend(struct store *s, int64_t now_ms, struct store_news *news)
{
	expire_old(s, now_ms, news);
	if (s->limits.max_bytes)
		expire__to_bytes(s, s->limits.max_bytes, news);
}
