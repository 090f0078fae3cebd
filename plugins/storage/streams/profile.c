/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/streams/profile.c - rows become columns, and back
 */
#include "plugins/storage/streams/profile.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static size_t column_bytes(const struct profile *p)
{
	return (size_t)p->n_rows * (sizeof(uint32_t) * (p->has_labels ? 2 : 1) + p->value_bytes);
}

uint64_t profile__bytes(const struct profile *p)
{
	return sizeof(*p) + column_bytes(p) + sizeof(struct profile *);
}

/* Where the values begin. */
static uint8_t *values_of(const struct profile *p)
{
	return (uint8_t *)(uintptr_t)(p->columns + (size_t)p->n_rows * (p->has_labels ? 2 : 1));
}

/* How narrow the columns may be, into a profile that has none yet. */
static void survey(struct profile *p, const struct row *rows)
{
	int64_t least = 0, most = 0;

	p->in_periods = p->period > 1; /* a division for each row, which by 1 says nothing */
	for (uint32_t i = 0; i < p->n_rows; i++) {
		p->has_labels |= rows[i].labels != 0;
		p->in_periods = p->in_periods && rows[i].value % p->period == 0;
		least = rows[i].value < least ? rows[i].value : least;
		most = rows[i].value > most ? rows[i].value : most;
	}
	if (p->in_periods) {
		least /= p->period;
		most /= p->period;
	}
	p->value_bytes = least >= INT8_MIN && most <= INT8_MAX	   ? 1
			 : least >= INT16_MIN && most <= INT16_MAX ? 2
			 : least >= INT32_MIN && most <= INT32_MAX ? 4
								   : 8;
}

/* Machines are little-endian: the lower bytes come first. */
static void put_columns(struct profile *p, const struct row *rows)
{
	const int64_t unit = p->in_periods ? p->period : 1;
	uint8_t *to = values_of(p);

	for (uint32_t i = 0; i < p->n_rows; i++) {
		const int64_t number = unit == 1 ? rows[i].value : rows[i].value / unit;

		p->columns[i] = rows[i].stack;
		memcpy(to, &number, p->value_bytes);
		to += p->value_bytes;
	}
	for (uint32_t i = 0; p->has_labels && i < p->n_rows; i++)
		p->columns[p->n_rows + i] = rows[i].labels;
}

struct profile *profile__new(const struct profile_head *head, const struct row *rows, uint32_t n)
{
	struct profile like = {
		.refs = 1,
		.n_rows = n,
		.time_ms = head->time_ms,
		.duration_ns = head->duration_ns,
		.period = head->period,
	};

	survey(&like, rows);
	struct profile *p = malloc(sizeof(*p) + column_bytes(&like));
	if (!p)
		return NULL;
	memcpy(p, &like, sizeof(*p));
	put_columns(p, rows);
	return p;
}

struct profile *profile__copy(const struct profile *p)
{
	const size_t own = offsetof(struct profile, n_rows), bytes = sizeof(*p) + column_bytes(p);
	struct profile *copy = malloc(bytes);

	if (!copy)
		return NULL;
	/* But for the references, which others give back meanwhile. */
	memcpy((char *)copy + own, (const char *)p + own, bytes - own);
	atomic_init(&copy->refs, 1);
	return copy;
}

void profile__unref(struct profile *p)
{
	if (p && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1)
		free(p);
}

/* Inlined, so that the width is a constant: its sign is moved up, and down again. */
static inline __attribute__((always_inline)) void widen(const uint8_t *from, uint32_t n,
							const unsigned bytes, int64_t unit, int64_t *ret)
{
	const unsigned shift = 64 - 8 * bytes;

	for (uint32_t i = 0; i < n; i++, from += bytes) {
		uint64_t number = 0;

		memcpy(&number, from, bytes);
		ret[i] = ((int64_t)(number << shift) >> shift) * unit;
	}
}

static void widen_all(const struct profile *p, uint32_t first, uint32_t n, int64_t unit, int64_t *ret)
{
	const uint8_t *from = values_of(p) + (size_t)first * p->value_bytes;

	switch (p->value_bytes) {
	case 1:
		widen(from, n, 1, unit, ret);
		break;
	case 2:
		widen(from, n, 2, unit, ret);
		break;
	case 4:
		widen(from, n, 4, unit, ret);
		break;
	default:
		widen(from, n, 8, unit, ret);
		break;
	}
}

void profile__values(const struct profile *p, uint32_t first, uint32_t n, int64_t *ret)
{
	widen_all(p, first, n, p->in_periods ? p->period : 1, ret);
}

void profile__numbers(const struct profile *p, uint32_t first, uint32_t n, int64_t *ret)
{
	widen_all(p, first, n, 1, ret);
}

struct row profile__row(const struct profile *p, uint32_t i)
{
	struct row r = { .stack = p->columns[i],
			 .labels = p->has_labels ? p->columns[p->n_rows + i] : 0 };

	profile__values(p, i, 1, &r.value);
	return r;
}

void profile__renumber(struct profile *p, const uint32_t *stacks, const uint32_t *label_sets)
{
	for (uint32_t i = 0; i < p->n_rows; i++)
		p->columns[i] = stacks[p->columns[i]];
	for (uint32_t i = p->n_rows; p->has_labels && i < 2 * p->n_rows; i++)
		p->columns[i] = label_sets[p->columns[i]];
}
