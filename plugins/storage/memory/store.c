/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/store.c - writing: batches become profiles, and profiles find their
 * streams
 */
#include "plugins/storage/memory/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "plugins/storage/memory/expire.h"

struct store *store__new(struct store_limits limits)
{
	struct store *s = NEW(struct store);

	if (!s)
		return NULL;
	s->dict = dict__new();
	if (!s->dict) {
		free(s);
		return NULL;
	}
	s->limits = limits;
	s->newest_ms = INT64_MIN;
	pthread_rwlockattr_t attr;
	pthread_rwlockattr_init(&attr);
	/* Many short readers must not keep a writer out for ever. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	return s;
}

void store__free(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->streams.n; i++) {
		for (size_t j = 0; j < s->streams.v[i].profiles.n; j++)
			profile__unref(s->streams.v[i].profiles.v[j]);
		vec__fini(&s->streams.v[i].profiles);
	}
	vec__fini(&s->streams);
	hindex__fini(&s->stream_index);
	dict__unref(s->dict);
	pthread_rwlock_destroy(&s->lock);
	free(s);
}

struct profile *profile__new(uint32_t n_rows)
{
	struct profile *p = malloc(sizeof(*p) + (size_t)n_rows * sizeof(p->rows[0]));

	if (p) {
		memset(p, 0, sizeof(*p));
		p->refs = 1;
		p->n_rows = n_rows;
	}
	return p;
}

void profile__unref(struct profile *p)
{
	if (p && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1)
		free(p);
}

/* -------------------------------------------------------------------------------------------------
 * Rows of one type of one profile
 */

static int64_t add_clamped(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

static uint64_t row_key(const struct row *r)
{
	return (uint64_t)r->stack << 32 | r->labels;
}

static int compare_rows(const void *a, const void *b)
{
	uint64_t x = row_key(a), y = row_key(b);

	return x < y ? -1 : x > y;
}

/* Sorts, and adds up rows of one (stack, label set). */
static void settle_rows(struct profile *p)
{
	bool sorted = true;

	for (uint32_t i = 1; sorted && i < p->n_rows; i++)
		sorted = row_key(&p->rows[i - 1]) < row_key(&p->rows[i]);
	if (sorted)
		return;
	qsort(p->rows, p->n_rows, sizeof(p->rows[0]), compare_rows);
	uint32_t kept = 0;
	for (uint32_t i = 1; i < p->n_rows; i++) {
		if (row_key(&p->rows[kept]) == row_key(&p->rows[i]))
			p->rows[kept].value = add_clamped(p->rows[kept].value, p->rows[i].value);
		else
			p->rows[++kept] = p->rows[i];
	}
	p->n_rows = kept + 1;
}

/* floor(ns / 1e6): times before 1970 go down as well. */
static int64_t ms_of(int64_t ns)
{
	int64_t ms = ns / 1000000;

	return ns % 1000000 < 0 ? ms - 1 : ms;
}

static struct profile *make_profile(struct dict_import *im, const struct dcm_profile *head, uint32_t type)
{
	const struct dcm_batch *b = im->batch;
	struct profile *p = profile__new(head->n_rows);

	if (!p)
		return NULL;
	p->time_ms = ms_of(head->time_ns);
	p->duration_ns = head->duration_ns;
	p->period = head->period;
	for (uint32_t i = 0; i < head->n_rows; i++) {
		struct row *r = &p->rows[i];

		r->stack = dict_import__stack(im, b->row_stacks[head->row_off + i]);
		r->labels = dict_import__label_set(im, b->row_labels[head->row_off + i]);
		r->value = b->values[head->value_off + (uint64_t)i * head->n_types + type];
		if (r->stack == DCM_NONE || r->labels == DCM_NONE) {
			profile__unref(p);
			return NULL;
		}
	}
	settle_rows(p);
	if (p->n_rows < head->n_rows) {
		struct profile *smaller = realloc(p, sizeof(*p) + (size_t)p->n_rows * sizeof(p->rows[0]));
		p = smaller ? smaller : p;
	}
	return p;
}

/* -------------------------------------------------------------------------------------------------
 * A write: first everything that can fail, then everything that cannot
 */

struct planned {
	uint32_t stream;
	struct profile *profile;
};

struct plan {
	VEC(struct planned) items;
	VEC(uint32_t) n_more; /* [streams.n] profiles planned for each */
};

static void plan__fini(struct plan *p)
{
	for (size_t i = 0; i < p->items.n; i++)
		profile__unref(p->items.v[i].profile);
	vec__fini(&p->items);
	vec__fini(&p->n_more);
}

static uint64_t stream_hash(uint32_t series, uint32_t type)
{
	return hash__mix(hash__mix(0, series), type);
}

uint32_t store__find_stream(const struct store *s, uint32_t series, uint32_t type)
{
	uint64_t h = stream_hash(series, type);
	uint32_t row, at = hindex__first(&s->stream_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&s->stream_index, h, at, &row))
		if (s->streams.v[row].series == series && s->streams.v[row].type == type)
			return row;
	return DCM_NONE;
}

/* The stream's index, or DCM_NONE when memory ran out. */
static uint32_t find_or_make_stream(struct store *s, uint32_t series, uint32_t type)
{
	uint64_t h = stream_hash(series, type);
	uint32_t at = store__find_stream(s, series, type);

	if (at != DCM_NONE)
		return at;
	if (s->streams.n >= UINT32_MAX - 2 || !vec__reserve(&s->streams, 1) ||
	    hindex__insert(&s->stream_index, h, (uint32_t)s->streams.n) < 0)
		return DCM_NONE;
	s->streams.v[s->streams.n] = (struct stream){ .series = series, .type = type };
	return (uint32_t)s->streams.n++;
}

static int plan_profile(struct store *s, struct plan *plan, struct dict_import *im,
			const struct dcm_profile *head)
{
	uint32_t series = dict_import__series(im, head->series);

	if (series == DCM_NONE)
		return -ENOMEM;
	for (uint32_t k = 0; k < head->n_types; k++) {
		uint32_t type = dict_import__type(im, &im->batch->types[head->type_off + k]);
		uint32_t stream = type == DCM_NONE ? DCM_NONE : find_or_make_stream(s, series, type);

		if (stream == DCM_NONE)
			return -ENOMEM;
		while (plan->n_more.n <= stream)
			if (!vec__push(&plan->n_more, 0))
				return -ENOMEM;
		if (!vec__reserve(&plan->items, 1) ||
		    !vec__reserve(&s->streams.v[stream].profiles, plan->n_more.v[stream] + 1))
			return -ENOMEM;
		struct profile *p = make_profile(im, head, k);
		if (!p)
			return -ENOMEM;
		plan->n_more.v[stream]++;
		plan->items.v[plan->items.n++] = (struct planned){ stream, p };
	}
	return 0;
}

static int plan_batch(struct store *s, struct plan *plan, const struct dcm_batch *b)
{
	struct dict_import im;
	int r = dict_import__init(&im, s->dict, b);

	for (uint32_t i = 0; r == 0 && i < b->n_profiles; i++)
		r = plan_profile(s, plan, &im, &b->profiles[i]);
	dict_import__fini(&im);
	return r;
}

static void count_in(struct store *s, const struct profile *p)
{
	s->profile_bytes += profile__bytes(p);
	s->n_profiles++;
	s->n_rows += p->n_rows;
	if (p->time_ms > s->newest_ms)
		s->newest_ms = p->time_ms;
}

static void count_out(struct store *s, const struct profile *p)
{
	s->profile_bytes -= profile__bytes(p);
	s->n_profiles--;
	s->n_rows -= p->n_rows;
	s->freed_bytes += profile__bytes(p);
}

void store__replace(struct store *s, uint32_t stream, size_t at, struct profile *with)
{
	struct stream *st = &s->streams.v[stream];
	struct profile *old = st->profiles.v[at];

	count_out(s, old);
	if (with) {
		st->profiles.v[at] = with;
		count_in(s, with);
	} else {
		st->profiles.n--;
		memmove(&st->profiles.v[at], &st->profiles.v[at + 1],
			(st->profiles.n - at) * sizeof(old));
	}
	profile__unref(old);
}

/* The first profile that starts later. Most often there is none. */
static size_t first_after(const struct stream *st, int64_t time_ms)
{
	size_t low = 0, high = st->profiles.n;

	if (high > 0 && st->profiles.v[high - 1]->time_ms <= time_ms)
		low = high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (st->profiles.v[middle]->time_ms <= time_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

ptrdiff_t store__find_profile(const struct stream *st, const struct profile *p)
{
	for (size_t i = first_after(st, p->time_ms);
	     i > 0 && st->profiles.v[i - 1]->time_ms == p->time_ms; i--)
		if (st->profiles.v[i - 1] == p)
			return (ptrdiff_t)i - 1;
	return -1;
}

/*
 * Room was reserved. A state (gauge, cumulative) at a time that is there already replaces the older
 * one.
 */
static void insert_profile(struct store *s, uint32_t stream, struct profile *p)
{
	struct stream *st = &s->streams.v[stream];
	size_t low = first_after(st, p->time_ms);

	if (low > 0 && st->profiles.v[low - 1]->time_ms == p->time_ms &&
	    dict__type_at(s->dict, st->type)->parts.temporality != DCM_DELTA) {
		store__replace(s, stream, low - 1, p);
		return;
	}
	memmove(&st->profiles.v[low + 1], &st->profiles.v[low], (st->profiles.n - low) * sizeof(p));
	st->profiles.v[low] = p;
	st->profiles.n++;
	count_in(s, p);
}

static bool same_id(const struct dcm_batch_id *a, const struct dcm_batch_id *b)
{
	return a->source.lo == b->source.lo && a->source.hi == b->source.hi &&
	       a->sequence == b->sequence && (a->source.lo || a->source.hi);
}

/* Seen before, or twice in this very call. */
static bool is_retry(const struct store *s, struct dcm_batch *const *batches, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (same_id(&batches[j]->id, &batches[i]->id))
			return true;
	return seen__has(&s->seen, &batches[i]->id);
}

int store__write(struct store *s, struct dcm_batch *const *batches, uint32_t n, int64_t now_ms,
		 struct store_news *ret_news)
{
	struct plan plan = { 0 };
	int r = 0;

	pthread_rwlock_wrlock(&s->lock);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (!is_retry(s, batches, i))
			r = plan_batch(s, &plan, batches[i]);
	if (r == 0) {
		for (size_t i = 0; i < plan.items.n; i++)
			insert_profile(s, plan.items.v[i].stream, take_ptr(plan.items.v[i].profile));
		for (uint32_t i = 0; i < n; i++)
			seen__add(&s->seen, &batches[i]->id);
		expire__tend(s, now_ms, ret_news);
	}
	pthread_rwlock_unlock(&s->lock);
	plan__fini(&plan);
	return r;
}

void store__tend(struct store *s, int64_t now_ms, struct store_news *ret_news)
{
	pthread_rwlock_wrlock(&s->lock);
	expire__tend(s, now_ms, ret_news);
	pthread_rwlock_unlock(&s->lock);
}

void store__retain(struct store *s, int64_t cutoff_ms, uint64_t max_bytes, uint64_t *ret_n_profiles)
{
	struct store_news news = { 0 };

	pthread_rwlock_wrlock(&s->lock);
	expire__before(s, cutoff_ms, &news);
	uint64_t n = news.n_expired;
	if (max_bytes)
		expire__to_bytes(s, max_bytes, &news);
	pthread_rwlock_unlock(&s->lock);
	*ret_n_profiles = n + news.n_evicted;
}
