/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/sieve.h - the series of a dictionary that a selection may want, by their
 * labels
 *
 * A series is wanted unless a matcher refuses its label: a name that it lacks may be a sample's
 * label. One that was lost (dict__lacks_series()) is wanted: its pieces are left out. The index of
 * labels (labels.h) answers for all series at once; where few are left, these are looked at one by
 * one.
 *
 * Threads: one a sieve; any number on one dictionary.
 */
#ifndef DECIMA_STORAGE_ANSWER_SIEVE_H
#define DECIMA_STORAGE_ANSWER_SIEVE_H

#include <decima/plugin.h>

#include "plugins/storage/dict/dict.h"

/* Zeroed: it knows no series, and takes all. */
struct sieve {
	uint64_t *bits; /* NULL: all are wanted */
	uint32_t n;	/* series that were judged: the first ones of the dictionary */
};

/*
 * Judges the first n series, which the caller has learnt of under the store's lock; not under it,
 * because the host's regular expressions are called. 0, -ENOMEM, or the budget's -ETIMEDOUT or
 * -ECANCELED.
 */
int sieve__init(struct sieve *s, struct dict *d, uint32_t n, const struct dcm_host *host,
		const struct dcm_select *sel);
void sieve__fini(struct sieve *s);

/* Of a series that was judged. */
static inline bool sieve__takes(const struct sieve *s, uint32_t series)
{
	return !s->bits || s->bits[series / 64] >> series % 64 & 1;
}

/* The first series from this one on that is taken or was not judged. */
uint32_t sieve__next(const struct sieve *s, uint32_t series);

/* The same for one series, without the index. */
bool sieve__judge(const struct dict *d, uint32_t series, const struct dcm_host *host,
		  const struct dcm_select *sel);

#endif
