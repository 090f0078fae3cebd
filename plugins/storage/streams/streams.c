/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/streams/streams.c - batches become profiles, and profiles find their streams
 */
#include "plugins/storage/streams/streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"

void streams__init(struct streams *s, struct dict *dict)
{
	*s = (struct streams){ .dict = dict, .newest_ms = INT64_MIN, .oldest_ms = INT64_MAX };
}

void streams__fini(struct streams *s)
{
	for (size_t i = 0; i < s->n; i++) {
		for (size_t j = 0; j < s->v[i].profiles.n; j++)
			profile__unref(s->v[i].profiles.v[j]);
		vec__fini(&s->v[i].profiles);
	}
	vec__fini(s);
	hindex__fini(&s->index);
	dict__unref(s->dict);
	s->dict = NULL;
}

uint64_t streams__bytes(const struct streams *s)
{
	return s->profile_bytes + s->cap * sizeof(s->v[0]) +
	       (uint64_t)s->index.cap * sizeof(*s->index.slots);
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

/* Where a row of a batch goes: (stack, label set), and which row it is. */
struct place {
	uint64_t key;
	uint32_t row;
};

typedef VEC(struct place) place_list;

/*
 * Ascending, by counting bytes from the lowest on: ids are small, so that most of the eight are the same in
 * all keys, and are passed over. `spare` has room for as many.
 */
static void sort_places(struct place *v, struct place *spare, size_t n)
{
	uint32_t counts[8][256] = { 0 };
	struct place *from = v, *to = spare;

	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < 8; k++)
			counts[k][v[i].key >> 8 * k & 255]++;
	for (unsigned k = 0; k < 8; k++) {
		uint32_t *count = counts[k], at = 0;

		if (count[from[0].key >> 8 * k & 255] == n)
			continue;
		for (unsigned byte = 0; byte < 256; byte++) {
			uint32_t here = count[byte];

			count[byte] = at;
			at += here;
		}
		for (size_t i = 0; i < n; i++)
			to[count[from[i].key >> 8 * k & 255]++] = from[i];
		struct place *other = from;
		from = to;
		to = other;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
}

int64_t streams__ms(int64_t ns)
{
	int64_t ms = ns / 1000000;

	return ns % 1000000 < 0 ? ms - 1 : ms; /* times before 1970 go down as well */
}

/* A batch on its way into profiles. */
struct intake {
	struct dict_import import;
	place_list places; /* of the rows of the profile at hand, ascending; and as much room behind them */
	VEC(struct row) rows; /* of one of its types */
};

/* The same for all types of a profile. */
static int order_rows(struct intake *in, const struct dcm_profile *head)
{
	const struct dcm_batch *b = in->import.batch;
	bool sorted = true;

	in->places.n = 0;
	if (!vec__reserve(&in->places, 2 * (size_t)head->n_rows) || !vec__reserve(&in->rows, head->n_rows))
		return -ENOMEM;
	for (uint32_t i = 0; i < head->n_rows; i++) {
		uint32_t stack = dict_import__stack(&in->import, b->row_stacks[head->row_off + i]);
		uint32_t labels = dict_import__label_set(&in->import, b->row_labels[head->row_off + i]);

		if (stack == DCM_NONE || labels == DCM_NONE)
			return -ENOMEM;
		in->places.v[i] = (struct place){ (uint64_t)stack << 32 | labels, i };
		sorted = sorted && (i == 0 || in->places.v[i - 1].key < in->places.v[i].key);
	}
	in->places.n = head->n_rows;
	if (!sorted)
		sort_places(in->places.v, in->places.v + in->places.n, in->places.n);
	return 0;
}

/* Adds up rows of one (stack, label set). */
static struct profile *make_profile(struct intake *in, const struct dcm_profile *head, uint32_t type)
{
	const struct profile_head of = { streams__ms(head->time_ns), head->duration_ns, head->period };
	const int64_t *values = in->import.batch->values; /* NULL in a batch without rows */
	uint64_t last = 0;

	in->rows.n = 0;
	for (size_t i = 0; i < in->places.n; i++) {
		const struct place p = in->places.v[i];
		const int64_t value = values[head->value_off + (uint64_t)p.row * head->n_types + type];

		if (i > 0 && p.key == last) {
			struct row *r = &in->rows.v[in->rows.n - 1];

			r->value = add_clamped(r->value, value);
		} else {
			in->rows.v[in->rows.n++] = (struct row){ .stack = (uint32_t)(p.key >> 32),
								 .labels = (uint32_t)p.key,
								 .value = value };
		}
		last = p.key;
	}
	return profile__new(&of, in->rows.v, (uint32_t)in->rows.n);
}

/* -------------------------------------------------------------------------------------------------
 * Streams
 */

static uint64_t stream_hash(uint32_t series, uint32_t type)
{
	return hash__mix(hash__mix(0, series), type);
}

uint32_t streams__find(const struct streams *s, uint32_t series, uint32_t type)
{
	uint64_t h = stream_hash(series, type);
	uint32_t row, at = hindex__first(&s->index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&s->index, h, at, &row))
		if (s->v[row].series == series && s->v[row].type == type)
			return row;
	return DCM_NONE;
}

uint32_t streams__find_or_make(struct streams *s, uint32_t series, uint32_t type)
{
	uint64_t h = stream_hash(series, type);
	uint32_t at = streams__find(s, series, type);

	if (at != DCM_NONE)
		return at;
	if (s->n >= UINT32_MAX - 2 || !vec__reserve(s, 1) ||
	    hindex__insert(&s->index, h, (uint32_t)s->n) < 0)
		return DCM_NONE;
	s->v[s->n] = (struct stream){ .series = series, .type = type };
	return (uint32_t)s->n++;
}

static void count_in(struct streams *s, const struct profile *p)
{
	s->profile_bytes += profile__bytes(p);
	s->n_profiles++;
	s->n_rows += p->n_rows;
	if (p->time_ms > s->newest_ms)
		s->newest_ms = p->time_ms;
	if (p->time_ms < s->oldest_ms)
		s->oldest_ms = p->time_ms;
}

static void count_out(struct streams *s, const struct profile *p)
{
	s->profile_bytes -= profile__bytes(p);
	s->n_profiles--;
	s->n_rows -= p->n_rows;
	s->freed_bytes += profile__bytes(p);
}

void streams__replace(struct streams *s, uint32_t stream, size_t at, struct profile *with)
{
	struct stream *st = &s->v[stream];
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

size_t stream__first_from(const struct stream *st, int64_t time_ms)
{
	size_t low = 0, high = st->profiles.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (st->profiles.v[middle]->time_ms < time_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
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

ptrdiff_t stream__find(const struct stream *st, const struct profile *p)
{
	for (size_t i = first_after(st, p->time_ms);
	     i > 0 && st->profiles.v[i - 1]->time_ms == p->time_ms; i--)
		if (st->profiles.v[i - 1] == p)
			return (ptrdiff_t)i - 1;
	return -1;
}

uint64_t streams__remove_before(struct streams *s, int64_t time_ms)
{
	uint64_t before = s->n_profiles;

	/* There may be many thousand streams, and this is asked with each batch that comes. */
	if (time_ms <= s->oldest_ms)
		return 0;
	s->oldest_ms = INT64_MAX;
	for (size_t i = 0; i < s->n; i++) {
		struct stream *st = &s->v[i];
		size_t n = 0;

		for (; n < st->profiles.n && st->profiles.v[n]->time_ms < time_ms; n++) {
			count_out(s, st->profiles.v[n]);
			profile__unref(st->profiles.v[n]);
		}
		if (n > 0) {
			st->profiles.n -= n;
			memmove(st->profiles.v, st->profiles.v + n,
				st->profiles.n * sizeof(st->profiles.v[0]));
		}
		if (st->profiles.n > 0 && st->profiles.v[0]->time_ms < s->oldest_ms)
			s->oldest_ms = st->profiles.v[0]->time_ms;
	}
	return before - s->n_profiles;
}

/* -------------------------------------------------------------------------------------------------
 * Adding: first everything that can fail, then everything that cannot
 */

void streams_plan__fini(struct streams_plan *p)
{
	for (size_t i = 0; i < p->items.n; i++)
		profile__unref(p->items.v[i].profile);
	vec__fini(&p->items);
	vec__fini(&p->n_more);
}

int streams__plan_profile(struct streams *s, struct streams_plan *plan, uint32_t series,
			  uint32_t type, struct profile *p)
{
	const uint32_t stream = streams__find_or_make(s, series, type);

	if (stream == DCM_NONE)
		return -ENOMEM;
	while (plan->n_more.n <= stream)
		if (!vec__push(&plan->n_more, 0))
			return -ENOMEM;
	if (!vec__reserve(&plan->items, 1) ||
	    !vec__reserve(&s->v[stream].profiles, plan->n_more.v[stream] + 1))
		return -ENOMEM;
	plan->n_more.v[stream]++;
	plan->items.v[plan->items.n++] = (struct streams_planned){ stream, p };
	return 0;
}

static int plan_profile(struct streams *s, struct streams_plan *plan, struct intake *in,
			const struct dcm_profile *head)
{
	struct dict_import *im = &in->import;
	uint32_t series = dict_import__series_within(im, head->series, s->max_series);

	if (series == DCM_NONE)
		return -ENOMEM;
	const bool overflows = dict_import__is_overflow(im, series);
	bool is_ordered = false;
	for (uint32_t k = 0; k < head->n_types; k++) {
		if (overflows && im->batch->types[head->type_off + k].temporality != DCM_DELTA) {
			plan->overflow.n_refused += head->n_rows;
			continue;
		}
		plan->overflow.n_folded += overflows ? head->n_rows : 0;
		uint32_t type = dict_import__type(im, &im->batch->types[head->type_off + k]);

		if (type == DCM_NONE || (!is_ordered && order_rows(in, head) < 0))
			return -ENOMEM;
		is_ordered = true;
		struct profile *p = make_profile(in, head, k);
		if (!p)
			return -ENOMEM;
		if (streams__plan_profile(s, plan, series, type, p) < 0) {
			profile__unref(p);
			return -ENOMEM;
		}
	}
	return 0;
}

static bool starts_in(const struct dcm_profile *p, int64_t from_ms, int64_t to_ms)
{
	const int64_t time_ms = streams__ms(p->time_ns);

	return time_ms >= from_ms && time_ms < to_ms;
}

/* All stacks of the profiles that start in the range; of rows that lie side by side at once. */
static int import_stacks(struct dict_import *im, int64_t from_ms, int64_t to_ms)
{
	const struct dcm_batch *b = im->batch;
	uint64_t begin = 0, end = 0;

	for (uint32_t i = 0; i < b->n_profiles; i++) {
		const struct dcm_profile *p = &b->profiles[i];

		if (!starts_in(p, from_ms, to_ms))
			continue;
		if (p->row_off != end) {
			if (end > begin && dict_import__stacks(im, b->row_stacks + begin, end - begin) < 0)
				return -ENOMEM;
			begin = end = p->row_off;
		}
		end += p->n_rows;
	}
	return end > begin ? dict_import__stacks(im, b->row_stacks + begin, end - begin) : 0;
}

int streams__plan(struct streams *s, struct streams_plan *plan, const struct dcm_batch *b,
		  int64_t from_ms, int64_t to_ms)
{
	struct intake in = { .places = { 0 } };
	int r = dict_import__init(&in.import, s->dict, b);

	if (r == 0)
		r = import_stacks(&in.import, from_ms, to_ms);
	for (uint32_t i = 0; r == 0 && i < b->n_profiles; i++)
		if (starts_in(&b->profiles[i], from_ms, to_ms))
			r = plan_profile(s, plan, &in, &b->profiles[i]);
	dict_import__fini(&in.import);
	vec__fini(&in.places);
	vec__fini(&in.rows);
	return r;
}

/* Room was reserved. */
static void insert_profile(struct streams *s, uint32_t stream, struct profile *p)
{
	struct stream *st = &s->v[stream];
	size_t low = first_after(st, p->time_ms);

	if (low > 0 && st->profiles.v[low - 1]->time_ms == p->time_ms &&
	    dict__type_at(s->dict, st->type)->parts.temporality != DCM_DELTA) {
		streams__replace(s, stream, low - 1, p);
		return;
	}
	memmove(&st->profiles.v[low + 1], &st->profiles.v[low], (st->profiles.n - low) * sizeof(p));
	st->profiles.v[low] = p;
	st->profiles.n++;
	count_in(s, p);
}

void streams__apply(struct streams *s, struct streams_plan *plan)
{
	for (size_t i = 0; i < plan->items.n; i++)
		insert_profile(s, plan->items.v[i].stream, take_ptr(plan->items.v[i].profile));
}
