/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/age.c - the time that ages are counted from
 */
#include "plugins/storage/local/age.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/le.h"

int64_t age__of(const struct manifest *m)
{
	const struct manifest_extra *extra = manifest__extra(m, EXTRA_AGE);

	return extra && extra->n == sizeof(int64_t) ? (int64_t)le__get64(extra->bytes) : INT64_MIN;
}

int age__write(struct manifest *m, int64_t aged_ms)
{
	uint8_t bytes[sizeof(int64_t)];

	if (aged_ms == INT64_MIN)
		return 0;
	le__put64(bytes, (uint64_t)aged_ms);
	return manifest__set_extra(m, EXTRA_AGE, bytes, sizeof(bytes));
}

/* Where the time would be, were it not for clocks that are wrong. */
static int64_t wanted_age(const struct store *s)
{
	const int64_t now = s->host->real_ns(s->host) / 1000000;

	return s->newest_ms < now ? s->newest_ms : now;
}

/* How far it may have come since aged_at_ns. */
static int64_t pace_ms(const struct store *s)
{
	return (s->host->mono_ns(s->host) - s->aged_at_ns) / 1000000 * AGE_PACE;
}

/* The earlier of both, and `more`. */
static int64_t aged(const struct store *s, int64_t wanted, int64_t more_ms)
{
	int64_t most;

	if (s->aged_ms == INT64_MIN || __builtin_add_overflow(s->aged_ms, more_ms + pace_ms(s), &most))
		return wanted;
	return wanted < most ? wanted : most;
}

/* No faster back than it comes on: a clock that is years behind for a minute takes an hour of it, not all. */
static int64_t receded(const struct store *s, int64_t wanted)
{
	int64_t least;

	if (__builtin_sub_overflow(s->aged_ms, pace_ms(s), &least))
		return wanted;
	return wanted > least ? wanted : least;
}

void age__note(struct store *s)
{
	if (s->newest_ms == INT64_MIN)
		return;
	const int64_t wanted = wanted_age(s);

	s->aged_ms = wanted < s->aged_ms ? receded(s, wanted) : aged(s, wanted, 0);
	s->aged_at_ns = s->host->mono_ns(s->host);
}

int64_t age__cutoff(const struct store *s, int64_t retention_ms)
{
	int64_t cutoff;

	if (retention_ms <= 0 || s->newest_ms == INT64_MIN ||
	    __builtin_sub_overflow(aged(s, wanted_age(s), AGE_AHEAD_MS), retention_ms, &cutoff))
		return INT64_MIN;
	return cutoff;
}

int64_t age__first_cutoff(const struct store *s)
{
	const struct dcm_map *kept = &s->options.retention_by_type;
	int64_t first = age__cutoff(s, s->options.retention_ms);

	for (uint32_t i = 0; i < kept->n; i++) {
		int64_t cutoff = age__cutoff(s, ((const int64_t *)kept->items)[i] / 1000000);

		first = cutoff < first ? cutoff : first;
	}
	return first;
}

struct range {
	int64_t first_ms, last_ms;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->first_ms > y->first_ms) - (x->first_ms < y->first_ms);
}

/*
 * What stands behind a gap may be of a clock that was wrong, and if it was not, the time comes
 * there soon.
 */
int age__begin(struct store *s, const struct manifest *m)
{
	VEC(struct range) ranges = { 0 };

	if (!vec__reserve(&ranges, s->blocks.n + s->active.n + 1))
		return -ENOMEM;
	for (size_t i = 0; i < s->blocks.n; i++)
		ranges.v[ranges.n++] = (struct range){ s->blocks.v[i]->entry.first_ms,
						       s->blocks.v[i]->entry.last_ms };
	for (size_t i = 0; i < s->active.n; i++)
		if (s->active.v[i]->streams.n_profiles)
			ranges.v[ranges.n++] = (struct range){ s->active.v[i]->oldest_ms,
							       s->active.v[i]->streams.newest_ms };
	if (ranges.n)
		qsort(ranges.v, ranges.n, sizeof(ranges.v[0]), compare_ranges);
	s->aged_ms = age__of(m);
	for (size_t i = 0; i < ranges.n; i++) {
		if (i && ranges.v[i].first_ms - AGE_AHEAD_MS > s->aged_ms)
			break;
		s->aged_ms = ranges.v[i].last_ms > s->aged_ms ? ranges.v[i].last_ms : s->aged_ms;
	}
	vec__fini(&ranges);
	s->aged_at_ns = s->host->mono_ns(s->host);
	return 0;
}
