/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/streams/profile.h - one profile of one type in memory
 *
 * Rows are kept as columns that are as narrow as they may be: label sets only where a row has one,
 * and values in the fewest bytes that hold all of them, counted in periods where all are multiples
 * of it, as those of a sampler are. A row of a CPU profile without labels takes 5 bytes, and 20
 * where nothing is small.
 *
 * Reference-counted; a profile never changes while anybody else holds it. Threads: references are
 * atomic, the rest belongs to who holds the only one.
 */
#ifndef DECIMA_STORAGE_STREAMS_PROFILE_H
#define DECIMA_STORAGE_STREAMS_PROFILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct row {
	uint32_t stack, labels;
	int64_t value;
};

struct profile_head {
	int64_t time_ms, duration_ns, period;
};

struct profile {
	_Atomic uint32_t refs;
	uint32_t n_rows;
	int64_t time_ms, duration_ns, period;
	bool has_labels;     /* else all rows have the empty set, 0 */
	bool in_periods;     /* values are multiples of the period: how many */
	uint8_t value_bytes; /* 1, 2, 4 or 8, signed */
	uint32_t columns[];  /* stacks [n_rows], labels [n_rows] when there are some, values */
};

/*
 * rows [n] sorted by (stack, label set), each pair once. A profile with one reference, or NULL when
 * memory ran out.
 */
struct profile *profile__new(const struct profile_head *head, const struct row *rows, uint32_t n);
struct profile *profile__copy(const struct profile *p);
void profile__unref(struct profile *p); /* NULL is fine */
static inline struct profile *profile__ref(struct profile *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
	return p;
}

/* What it takes, with the pointer to it. */
uint64_t profile__bytes(const struct profile *p);

/* [n_rows] */
static inline const uint32_t *profile__stacks(const struct profile *p)
{
	return p->columns;
}

/* [n_rows], or NULL: all 0 */
static inline const uint32_t *profile__labels(const struct profile *p)
{
	return p->has_labels ? p->columns + p->n_rows : NULL;
}

/* Of rows [first, first + n): ret[n]. */
void profile__values(const struct profile *p, uint32_t first, uint32_t n, int64_t *ret);
/* The same as they are kept: counted in periods with in_periods. */
void profile__numbers(const struct profile *p, uint32_t first, uint32_t n, int64_t *ret);

struct row profile__row(const struct profile *p, uint32_t i);

/*
 * Gives stacks and label sets other numbers: stacks[old] is the new one. The order must stay, and
 * the empty set 0.
 */
void profile__renumber(struct profile *p, const uint32_t *stacks, const uint32_t *label_sets);

#endif
