/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/inspect.c - counts the store, and looks whether it is as it should be
 */
#include <stdarg.h>
#include <stdio.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "plugins/storage/memory/expire.h"
#include "plugins/storage/memory/store.h"

/* How many series have profiles; all that were ever seen when there is no memory to tell. */
static uint64_t count_series(const struct store *s)
{
	CLEANUP(mem__freep) bool *has = mem__zalloc(s->streams.dict->series.n, sizeof(*has));
	uint64_t n = 0;

	if (!has)
		return s->streams.dict->series.n;
	for (size_t i = 0; i < s->streams.n; i++) {
		const struct stream *st = &s->streams.v[i];

		if (st->profiles.n == 0 || has[st->series])
			continue;
		has[st->series] = true;
		n++;
	}
	return n;
}

void store__stat(struct store *s, struct dcm_store_stat *ret)
{
	bool any = false;

	pthread_rwlock_rdlock(&s->lock);
	ret->bytes = expire__bytes(s);
	ret->n_series = count_series(s);
	ret->n_stacks = s->streams.dict->stacks.n;
	ret->n_locations = s->streams.dict->locations.n;
	ret->n_profiles = s->streams.n_profiles;
	ret->n_rows = s->streams.n_rows;
	ret->n_rows_folded = s->overflow.n_folded;
	ret->n_rows_refused = s->overflow.n_refused;
	ret->retention_ms = s->limits.retention_ms;
	ret->max_bytes = s->limits.max_bytes;
	ret->first_ms = ret->last_ms = 0;
	for (size_t i = 0; i < s->streams.n; i++) {
		const struct stream *st = &s->streams.v[i];

		if (st->profiles.n == 0)
			continue;
		int64_t first = st->profiles.v[0]->time_ms,
			last = st->profiles.v[st->profiles.n - 1]->time_ms;
		ret->first_ms = !any || first < ret->first_ms ? first : ret->first_ms;
		ret->last_ms = !any || last > ret->last_ms ? last : ret->last_ms;
		any = true;
	}
	pthread_rwlock_unlock(&s->lock);
}

static void found(struct store_findings *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void found(struct store_findings *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (f->n < STORE_MAX_FINDINGS)
		vsnprintf(f->text[f->n], sizeof(f->text[0]), fmt, ap);
	va_end(ap);
	f->n++;
}

static void check_profile(const struct store *s, size_t stream, const struct profile *p,
			  struct store_findings *f)
{
	for (uint32_t i = 0; i < p->n_rows; i++) {
		const struct row r = profile__row(p, i), before = profile__row(p, i ? i - 1 : 0);

		if (r.stack >= s->streams.dict->stacks.n || r.labels >= s->streams.dict->label_sets.n) {
			found(f, "stream %zu: row %u points outside the dictionary", stream, i);
			return;
		}
		if (i > 0 && (r.stack < before.stack ||
			      (r.stack == before.stack && r.labels <= before.labels))) {
			found(f, "stream %zu: row %u is out of order", stream, i);
			return;
		}
	}
}

static void check_stream(const struct store *s, size_t at, struct store_findings *f)
{
	const struct stream *st = &s->streams.v[at];
	bool state = false;

	if (st->series >= s->streams.dict->series.n || st->type >= s->streams.dict->types.n) {
		found(f, "stream %zu: its series or type is outside the dictionary", at);
		return;
	}
	state = dict__type_at(s->streams.dict, st->type)->parts.temporality != DCM_DELTA;
	if (streams__find(&s->streams, st->series, st->type) != at)
		found(f, "stream %zu: its index leads elsewhere", at);
	for (size_t i = 1; i < st->profiles.n; i++) {
		int64_t a = st->profiles.v[i - 1]->time_ms, b = st->profiles.v[i]->time_ms;

		if (a > b || (state && a == b))
			found(f, "stream %zu: profile %zu is out of order", at, i);
	}
	for (size_t i = 0; i < st->profiles.n; i++)
		check_profile(s, at, st->profiles.v[i], f);
}

void store__check(struct store *s, struct store_findings *ret)
{
	uint64_t bytes = 0, rows = 0, profiles = 0;

	pthread_rwlock_rdlock(&s->lock);
	for (size_t i = 0; i < s->streams.n; i++) {
		check_stream(s, i, ret);
		for (size_t j = 0; j < s->streams.v[i].profiles.n; j++) {
			const struct profile *p = s->streams.v[i].profiles.v[j];

			bytes += profile__bytes(p);
			rows += p->n_rows;
			profiles++;
		}
	}
	if (bytes != s->streams.profile_bytes || rows != s->streams.n_rows ||
	    profiles != s->streams.n_profiles)
		found(ret, "the counts of profiles, rows or bytes do not add up");
	pthread_rwlock_unlock(&s->lock);
}
