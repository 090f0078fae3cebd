/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/streams/seen.c - two generations of sources that count, and two of sources of one batch
 */
#include "plugins/storage/streams/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static bool same(struct dcm_hash a, struct dcm_hash b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

static bool is_none(struct dcm_hash source)
{
	return source.lo == 0 && source.hi == 0;
}

static uint64_t place_of(const struct seen *s, struct dcm_hash source)
{
	return hash__bytes(&source, sizeof(source), s->secret);
}

/* ---- tables of either kind: the younger and the older one of a pair; each entry begins with its name ---- */

static void *find(const struct hindex *index, const void *entries, size_t size,
		  struct dcm_hash source, uint64_t place)
{
	const char *v = entries;
	uint32_t row, at = hindex__first(index, place, &row);

	while (row != HINDEX_NONE &&
	       !same(*(const struct dcm_hash *)(const void *)(v + row * size), source))
		at = hindex__next(index, place, at, &row);
	return row != HINDEX_NONE ? (void *)(v + row * size) : NULL;
}

/* The entry of that name, or NULL. */
#define FIND(table, source, place)                                                                 \
	find(&(table)->index, (table)->sources.v, sizeof(*(table)->sources.v), source, place)

/* True when so many more fit in. */
#define MAKE_ROOM(table, more)                                                                     \
	(vec__reserve(&(table)->sources, more) &&                                                  \
	 !hindex__reserve(&(table)->index, (uint32_t)((table)->sources.n + (more))))

/* Into the younger one, where there is room; when it has max, the older one is emptied and takes its place. */
#define ADD(pair, max, entry, place)                                                               \
	do {                                                                                       \
		if ((pair)[0].sources.n == (max)) {                                                \
			const __typeof__((pair)[0]) full = (pair)[0];                              \
			(pair)[0] = (pair)[1];                                                     \
			(pair)[1] = full;                                                          \
			(pair)[0].sources.n = 0;                                                   \
			hindex__clear(&(pair)[0].index);                                           \
		}                                                                                  \
		(void)hindex__insert(&(pair)[0].index, place, (uint32_t)(pair)[0].sources.n);      \
		(pair)[0].sources.v[(pair)[0].sources.n++] = (entry);                              \
	} while (0)

/* ---- sources of one batch ---- */

static bool has_once(const struct seen *s, struct dcm_hash source)
{
	const uint64_t place = place_of(s, source);

	return FIND(&s->once[0], source, place) || FIND(&s->once[1], source, place);
}

static void add_once(struct seen *s, struct dcm_hash source)
{
	if (!has_once(s, source))
		ADD(s->once, SEEN_ONCE, source, place_of(s, source));
}

/* ---- sources that count ---- */

static const struct seen_source *find_in_both(const struct seen *s, struct dcm_hash source)
{
	const uint64_t place = place_of(s, source);
	const struct seen_source *young = FIND(&s->counting[0], source, place);

	return young ? young : FIND(&s->counting[1], source, place);
}

static struct seen_source *find_or_make_young(struct seen *s, struct dcm_hash source)
{
	const uint64_t place = place_of(s, source);
	struct seen_source *found = FIND(&s->counting[0], source, place), made = { .source = source };

	if (found)
		return found;
	found = FIND(&s->counting[1], source, place);
	if (found)
		made = *found;
	ADD(s->counting, SEEN_SOURCES, made, place);
	return &s->counting[0].sources.v[s->counting[0].sources.n - 1];
}

/* True when b begins inside a, or right behind it. a.first <= b.first. */
static bool touches(struct seen_interval a, struct seen_interval b)
{
	return a.last == UINT64_MAX || b.first <= a.last + 1;
}

static void merge(struct seen_source *src, struct seen_interval interval, uint64_t now)
{
	struct seen_interval all[SEEN_INTERVALS + 1];
	uint32_t n = 0, i = 0, kept = 0;

	while (i < src->n && src->intervals[i].first <= interval.first)
		all[n++] = src->intervals[i++];
	all[n++] = interval;
	while (i < src->n)
		all[n++] = src->intervals[i++];

	for (i = 1; i < n; i++) {
		if (!touches(all[kept], all[i]))
			all[++kept] = all[i];
		else if (all[i].last > all[kept].last)
			all[kept].last = all[i].last;
	}
	n = kept + 1;
	uint32_t skip = n > SEEN_INTERVALS ? n - SEEN_INTERVALS : 0;
	src->n = n - skip;
	memcpy(src->intervals, all + skip, src->n * sizeof(all[0]));
	src->used_at = now;
}

/* ---- both ---- */

void seen__fini(struct seen *s)
{
	for (int i = 0; i < 2; i++) {
		vec__fini(&s->once[i].sources);
		hindex__fini(&s->once[i].index);
		vec__fini(&s->counting[i].sources);
		hindex__fini(&s->counting[i].index);
	}
}

bool seen__has(const struct seen *s, const struct dcm_batch_id *id)
{
	const struct seen_source *src;

	if (is_none(id->source))
		return false;
	if (id->sequence == DCM_BATCH_ONCE)
		return has_once(s, id->source);
	src = find_in_both(s, id->source);
	for (uint32_t i = 0; src && i < src->n; i++)
		if (id->sequence >= src->intervals[i].first && id->sequence <= src->intervals[i].last)
			return true;
	return false;
}

/* Of n more, so many go to the younger table, and the others to the one that takes its place. */
static size_t to_young(size_t has, size_t n, size_t max)
{
	return n < max - has ? n : max - has;
}

int seen__reserve(struct seen *s, size_t n)
{
	size_t once = to_young(s->once[0].sources.n, n, SEEN_ONCE);
	size_t counting = to_young(s->counting[0].sources.n, n, SEEN_SOURCES);
	bool ok = s->secret || getrandom(&s->secret, sizeof(s->secret), 0) == sizeof(s->secret);

	ok = ok && MAKE_ROOM(&s->once[0], once) && MAKE_ROOM(&s->counting[0], counting);
	if (ok && n > once)
		ok = MAKE_ROOM(&s->once[1], SEEN_ONCE - s->once[1].sources.n);
	if (ok && n > counting)
		ok = MAKE_ROOM(&s->counting[1], SEEN_SOURCES - s->counting[1].sources.n);
	return ok ? 0 : -ENOMEM;
}

void seen__add_interval(struct seen *s, struct dcm_hash source, struct seen_interval interval)
{
	if (is_none(source))
		return;
	if (interval.first == DCM_BATCH_ONCE)
		add_once(s, source);
	else
		merge(find_or_make_young(s, source), interval, ++s->now);
}

void seen__add(struct seen *s, const struct dcm_batch_id *id)
{
	seen__add_interval(s, id->source, (struct seen_interval){ id->sequence, id->sequence });
}

static int by_use(const void *a, const void *b)
{
	const struct seen_source *x = *(const struct seen_source *const *)a;
	const struct seen_source *y = *(const struct seen_source *const *)b;

	return (x->used_at > y->used_at) - (x->used_at < y->used_at);
}

int seen__list_counting(const struct seen *s, seen_list *ret)
{
	const struct seen_counting *young = &s->counting[0], *old = &s->counting[1];
	const size_t from = ret->n;

	if (!vec__reserve(ret, old->sources.n + young->sources.n))
		return -ENOMEM;
	for (size_t i = 0; i < old->sources.n; i++)
		if (find_in_both(s, old->sources.v[i].source) == &old->sources.v[i])
			ret->v[ret->n++] = &old->sources.v[i];
	for (size_t i = 0; i < young->sources.n; i++)
		ret->v[ret->n++] = &young->sources.v[i];
	if (ret->n > from)
		qsort(ret->v + from, ret->n - from, sizeof(ret->v[0]), by_use);
	return 0;
}

size_t seen__n_once(const struct seen *s)
{
	return s->once[0].sources.n + s->once[1].sources.n;
}

void seen__each_once(const struct seen *s, void (*take)(void *ctx, struct dcm_hash source), void *ctx)
{
	for (int table = 1; table >= 0; table--)
		for (size_t i = 0; i < s->once[table].sources.n; i++)
			take(ctx, s->once[table].sources.v[i]);
}
