/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/streams/seen.c - intervals of sequences by source, and a ring of sources of one batch
 */
#include "plugins/storage/streams/seen.h"

#include <string.h>

static bool is_none(struct dcm_hash source)
{
	return source.lo == 0 && source.hi == 0;
}

static bool has_once(const struct seen *s, struct dcm_hash source)
{
	for (uint32_t i = 0; i < s->n_once; i++)
		if (s->once[i].lo == source.lo && s->once[i].hi == source.hi)
			return true;
	return false;
}

static void add_once(struct seen *s, struct dcm_hash source)
{
	if (has_once(s, source))
		return;
	if (s->n_once < SEEN_ONCE) {
		s->once[s->n_once++] = source;
		return;
	}
	s->once[s->oldest_once] = source;
	s->oldest_once = (s->oldest_once + 1) % SEEN_ONCE;
}

static uint32_t find(const struct seen *s, struct dcm_hash source)
{
	uint32_t i = 0;

	while (i < s->n && (s->sources[i].source.lo != source.lo || s->sources[i].source.hi != source.hi))
		i++;
	return i;
}

bool seen__has(const struct seen *s, const struct dcm_batch_id *id)
{
	uint32_t at;

	if (is_none(id->source))
		return false;
	if (id->sequence == DCM_BATCH_ONCE)
		return has_once(s, id->source);
	at = find(s, id->source);
	if (at == s->n)
		return false;
	const struct seen_source *src = &s->sources[at];
	for (uint32_t i = 0; i < src->n; i++)
		if (id->sequence >= src->intervals[i].first && id->sequence <= src->intervals[i].last)
			return true;
	return false;
}

static struct seen_source *find_or_make(struct seen *s, struct dcm_hash source)
{
	uint32_t at = find(s, source);

	if (at < s->n)
		return &s->sources[at];
	if (s->n < SEEN_SOURCES) {
		at = s->n++;
	} else {
		at = 0;
		for (uint32_t i = 1; i < s->n; i++)
			if (s->sources[i].used_at < s->sources[at].used_at)
				at = i;
	}
	s->sources[at] = (struct seen_source){ .source = source };
	return &s->sources[at];
}

/* True when b begins inside a, or right behind it. a.first <= b.first. */
static bool touches(struct seen_interval a, struct seen_interval b)
{
	return a.last == UINT64_MAX || b.first <= a.last + 1;
}

void seen__add_interval(struct seen *s, struct dcm_hash source, struct seen_interval interval)
{
	if (is_none(source))
		return;
	if (interval.first == DCM_BATCH_ONCE) {
		add_once(s, source);
		return;
	}
	struct seen_source *src = find_or_make(s, source);
	struct seen_interval all[SEEN_INTERVALS + 1];
	uint32_t n = 0, i = 0;

	src->used_at = ++s->now;
	while (i < src->n && src->intervals[i].first <= interval.first)
		all[n++] = src->intervals[i++];
	all[n++] = interval;
	while (i < src->n)
		all[n++] = src->intervals[i++];

	uint32_t kept = 0;
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
}

struct dcm_hash seen__once(const struct seen *s, uint32_t i)
{
	return s->once[(s->oldest_once + i) % SEEN_ONCE];
}

void seen__add(struct seen *s, const struct dcm_batch_id *id)
{
	seen__add_interval(s, id->source, (struct seen_interval){ id->sequence, id->sequence });
}
