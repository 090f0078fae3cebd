/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/texts.h - texts that many targets have, each once
 *
 * Names of labels, most of their values, and what objects of a cluster say are the same for thousands
 * of targets. A text is counted by those who hold it, and goes with the last of them. Equal ones are
 * one, so that whoever holds two compares addresses.
 *
 * All calls on the loop's thread. A text that somebody holds does not change, and may be read anywhere.
 */
#ifndef DECIMA_PPROF_SCRAPE_TEXTS_H
#define DECIMA_PPROF_SCRAPE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

struct text {
	struct text *next; /* of its bucket */
	uint32_t hash, n_holders;
	uint32_t n;
	_Alignas(8) char p[]; /* [n], and a NUL; what lies in it may be addresses (labels.h) */
};

/* Zeroed: empty. Nothing is left to free once all texts were given back but the buckets. */
struct texts {
	struct text **buckets; /* [n_buckets] */
	uint32_t n_buckets, n;
	size_t n_bytes; /* of the texts */
};
void texts__fini(struct texts *t);

/* The text of these bytes, held once more; NULL when memory ran out. */
struct text *texts__hold(struct texts *t, struct dcm_str s);
/* Held once less. NULL is fine. */
void texts__release(struct texts *t, struct text *x);

/* p is NULL for none. */
static inline struct dcm_str text__str(const struct text *x)
{
	return x ? (struct dcm_str){ x->p, x->n } : (struct dcm_str){ 0 };
}

#endif
