/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/stats/registry.h - what the files of core/stats share; nobody else includes it
 *
 * Families (one per name) are kept sorted by name, their series sorted by key, so that reading is
 * one walk. `mutex` guards all of it but the atomics.
 */
#ifndef DECIMA_STATS_REGISTRY_H
#define DECIMA_STATS_REGISTRY_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/base/vec.h"
#include "core/stats/stats.h"

struct stats_family;

struct stats_metric {
	_Atomic uint64_t value; /* counter: count; gauge: bits of a double; histogram: sum */
	struct stats_family *family;
	char *key;		    /* labels as in the text format: a="x",b="y" */
	struct stats_label *labels; /* [n_labels], ordered; one block with their texts */
	size_t n_labels;
	stats_read_fn read;
	void *ctx;
	uint32_t n_owners;
	_Atomic uint64_t buckets[]; /* histogram: [family->buckets->n + 1] */
};

struct stats_family {
	char *name, *help;
	enum stats_kind kind;
	const struct stats_buckets *buckets;
	VEC(struct stats_metric *) series;
};

enum { DROP_TEXT_MAX = 64 };

/* A pair that lost something; lives as long as the registry. */
struct drop {
	uint64_t hash;
	struct stats_metric *metric;
	_Atomic bool is_told; /* whoever reports knows that something was lost since */
	uint64_t n_reported;  /* under the mutex, as the next two */
	int64_t reported_ns;
	bool was_reported;
	char instance[DROP_TEXT_MAX + 1], reason[DROP_TEXT_MAX + 1];
};

struct drop_table {
	_Atomic(struct drop *) *slots; /* [cap]; filled under the mutex, read without */
	uint32_t cap, n, max;	       /* cap: a power of two, at least twice max */
	struct drop *other;
};

struct stats {
	pthread_mutex_t mutex;
	VEC(struct stats_family *) families;
	uint32_t n_series, max_series;
	struct stats_metric *refused_invalid, *refused_limit, *refused_memory;
	struct drop_table drops;
	void (*on_loss)(void *ctx); /* may be NULL */
	void *on_loss_ctx;
};

/* stats__register() with the mutex held. 0, -EINVAL, -EEXIST, -ENOSPC (a limit) or -ENOMEM. */
int registry__add(struct stats *s, const struct stats_def *def, const struct stats_label *labels,
		  size_t n_labels, struct stats_metric **ret);

int drops__init(struct stats *s, uint32_t max_drops);
void drops__fini(struct stats *s);

#endif
