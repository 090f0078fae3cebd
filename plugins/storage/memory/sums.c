/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/sums.c - adds up, and knows what delta, gauge and cumulative mean
 */
#include "plugins/storage/memory/sums.h"

#include <errno.h>

void sums__init(struct sums *s, uint32_t n_values)
{
	*s = (struct sums){ .n_values = n_values, .part_mark = 1 };
}

void sums__fini(struct sums *s)
{
	vec__fini(&s->v);
	vec__fini(&s->totals);
	vec__fini(&s->touched);
	hindex__fini(&s->index);
}

uint64_t sums__bytes(const struct sums *s)
{
	return s->v.cap * sizeof(s->v.v[0]) + s->totals.cap * sizeof(s->totals.v[0]) +
	       s->touched.cap * sizeof(s->touched.v[0]) +
	       (uint64_t)s->index.cap * sizeof(s->index.slots[0]);
}

uint32_t sums__find(struct sums *s, uint32_t group, uint64_t key)
{
	uint64_t h = hash__mix(hash__mix(0, group), key);
	uint32_t row, at = hindex__first(&s->index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&s->index, h, at, &row))
		if (s->v.v[row].key == key && s->v.v[row].group == group)
			return row;
	if (s->v.n >= UINT32_MAX - 2 || !vec__reserve(&s->v, 1) ||
	    !vec__reserve(&s->totals, s->n_values) || hindex__insert(&s->index, h, (uint32_t)s->v.n) < 0)
		return UINT32_MAX;
	for (uint32_t i = 0; i < s->n_values; i++)
		s->totals.v[s->totals.n++] = 0;
	s->v.v[s->v.n] = (struct sum){ .key = key, .group = group };
	return (uint32_t)s->v.n++;
}

int sums__add(struct sums *s, uint32_t group, uint64_t key, int64_t value)
{
	uint32_t at = sums__find(s, group, key);

	if (at == UINT32_MAX)
		return -ENOMEM;
	struct sum *sum = &s->v.v[at];
	if (sum->part_mark != s->part_mark) {
		if (!vec__push(&s->touched, at))
			return -ENOMEM;
		sum->part_mark = s->part_mark;
		sum->part = 0;
	}
	sum->part += value;
	return 0;
}

/* a / b rounded to nearest, halves up. b > 0. */
static __int128 divide(__int128 a, __int128 b)
{
	__int128 n = 2 * a + b, d = 2 * b, q = n / d;

	return n % d < 0 ? q - 1 : q;
}

void sums__settle(struct sums *s, uint32_t at, uint32_t divisor)
{
	for (size_t i = 0; i < s->touched.n; i++) {
		uint32_t row = s->touched.v[i];
		__int128 fixed = s->v.v[row].part * ((__int128)1 << 20);

		s->totals.v[(size_t)row * s->n_values + at] += divisor ? divide(fixed, divisor) : fixed;
	}
	s->touched.n = 0;
	s->part_mark++;
}

/* -------------------------------------------------------------------------------------------------
 * What profiles contribute
 */

static int add_row(const struct sums_part *part, const struct row *r, int64_t value)
{
	uint32_t group;
	int e = match__row(part->match, r->labels, &group);

	if (e < 0 || group == MATCH_NONE)
		return e;
	return sums__add(part->sums, group, part->by_time ? part->time_key : r->stack, value);
}

static int compare_keys(const struct row *a, const struct row *b)
{
	uint64_t x = (uint64_t)a->stack << 32 | a->labels, y = (uint64_t)b->stack << 32 | b->labels;

	return x < y ? -1 : x > y;
}

/* Did any row decrease? A row that one side lacks is 0 there. Both are sorted. */
static bool is_reset(const struct profile *before, const struct profile *p)
{
	uint32_t i = 0, j = 0;

	while (i < before->n_rows || j < p->n_rows) {
		int c = i == before->n_rows ? 1
			: j == p->n_rows    ? -1
					    : compare_keys(&before->rows[i], &p->rows[j]);
		int64_t old = c <= 0 ? before->rows[i].value : 0, new = c >= 0 ? p->rows[j].value : 0;

		if (new < old)
			return true;
		i += c <= 0;
		j += c >= 0;
	}
	return false;
}

/* No row decreased, so every row of `before` with a value above 0 has its like in p. */
static int add_increases(const struct sums_part *part, const struct profile *before,
			 const struct profile *p)
{
	uint32_t i = 0;
	int r = 0;

	for (uint32_t j = 0; r == 0 && j < p->n_rows; j++) {
		while (i < before->n_rows && compare_keys(&before->rows[i], &p->rows[j]) < 0)
			i++;
		bool known = i < before->n_rows && compare_keys(&before->rows[i], &p->rows[j]) == 0;
		__int128 increase = (__int128)p->rows[j].value - (known ? before->rows[i].value : 0);

		r = add_row(part, &p->rows[j], increase > INT64_MAX ? INT64_MAX : (int64_t)increase);
	}
	return r;
}

static int add_rows(const struct sums_part *part, const struct profile *p)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < p->n_rows; i++)
		r = add_row(part, &p->rows[i], p->rows[i].value);
	return r;
}

/* Tells `taken` of the groups in which the profile counts. */
static int tell(const struct sums_part *part, const struct profile *p)
{
	uint32_t group, last = MATCH_NONE;

	if (p->n_rows == 0) {
		int r = match__row(part->match, 0, &group);
		return r < 0 || group == MATCH_NONE ? r : part->taken(part->ctx, group, p);
	}
	for (uint32_t i = 0; i < p->n_rows; i++) {
		int r = match__row(part->match, p->rows[i].labels, &group);

		if (r == 0 && group != MATCH_NONE && group != last)
			r = part->taken(part->ctx, group, p);
		if (r < 0)
			return r;
		last = group;
	}
	return 0;
}

int sums__part(const struct sums_part *part, struct meter *meter)
{
	const struct view *v = part->match->view;
	bool cumulative = part->stream->temporality == DCM_CUMULATIVE;

	for (uint32_t i = part->first; i < part->first + part->n; i++) {
		const struct profile *p = view__profile(v, part->stream, i);
		const struct profile *before = i > 0 ? view__profile(v, part->stream, i - 1)
						     : part->stream->before;
		int r = meter__rows(meter, p->n_rows);

		if (r == 0 && part->taken)
			r = tell(part, p);
		if (r == 0 && !cumulative)
			r = add_rows(part, p);
		else if (r == 0 && before)
			r = is_reset(before, p) ? add_rows(part, p) : add_increases(part, before, p);
		if (r < 0)
			return r;
	}
	return 0;
}
