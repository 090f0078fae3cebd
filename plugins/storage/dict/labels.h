/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/labels.h - which series have which labels: of each name its values, of each
 * value its series
 *
 * A dictionary's series point to their labels; this is the way back. A value's series are a list of
 * differences from one to the next, in bytes of seven bits: the first eleven bytes stand in the
 * value itself, the others in chunks of the arena that double up to 1 KiB. A name keeps the runs of
 * series that have it. A set of series is a bit for each: what several matchers leave is found by
 * clearing bits, a word or a list at a time.
 *
 * Who writes profiles does not pay for it: series come in when somebody asks, those that were not
 * there at the question before, so that a dictionary that is never asked about labels has no index.
 * Nothing is removed, as in the dictionary.
 *
 * Cost: some seven bytes for each label of a series when a million have twelve
 * (bench/bench_labels).
 *
 * Threads: any. One lock, which is the index' own, is held while series come in and while lists are
 * read, and not while values are judged: what is compared then never changes.
 *
 * Sources: Prometheus' postings (prometheus/tsdb/docs/format/index.md) keep sorted lists, and merge
 * them; with lists as short as those of unique values a bit for each series is faster.
 */
#ifndef DECIMA_STORAGE_DICT_LABELS_H
#define DECIMA_STORAGE_DICT_LABELS_H

#include <pthread.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/vec.h"
#include "plugins/storage/dict/pool.h"

struct dict;
struct labels_chunk;

enum { LABELS_INLINE_BYTES = 11, LABELS_CHUNK_MAX_BYTES = 1024 };

struct labels_value {
	uint32_t text, name; /* the dictionary's string; number of the name */
	uint32_t next; /* the value of that name that came before it; DCM_NONE: it was the first */
	uint32_t n, last; /* series that have it, and the last of these */
	uint8_t n_inline;
	uint8_t inline_bytes[LABELS_INLINE_BYTES];
	struct labels_chunk *tail; /* the last of a ring; NULL: all is inline */
};

struct labels_run {
	uint32_t first, end; /* series [first, end) */
};

struct labels_name {
	struct dcm_str text;	   /* the dictionary's */
	uint32_t n_values, newest; /* and the value that came last */
	uint64_t n;		   /* series that have it */
	VEC(struct labels_run) runs;
};

struct labels_name_id {
	uint32_t string, name;
};

struct labels {
	pthread_mutex_t lock;
	_Atomic uint64_t bytes; /* of all below */
	/* --- the lock guards: --- */
	uint32_t n_series; /* that came in */
	struct arena arena;
	struct pool names;	  /* struct labels_name */
	struct pool values;	  /* struct labels_value, of all names */
	struct hindex name_ids;	  /* by the dictionary's string; rows are in `ids` */
	struct hindex name_texts; /* names by text */
	struct hindex value_ids, value_texts;
	VEC(struct labels_name_id) ids;
	uint64_t run_bytes;
};

void labels__init(struct labels *ix);
void labels__fini(struct labels *ix);
static inline uint64_t labels__bytes(const struct labels *ix)
{
	return atomic_load_explicit(&ix->bytes, memory_order_relaxed);
}

/* Looks whether to go on: 0, or a negative errno that ends the work and is returned. */
typedef int (*labels_go_on_fn)(void *ctx);

/*
 * Brings in the dictionary's series below n. 0, -ENOMEM, or go_on()'s: what came in by then stays.
 */
int labels__extend(struct dict *d, uint32_t n, labels_go_on_fn go_on, void *ctx);

/*
 * A matcher on one name. Where there is one text that the value must equal, or must not, it is
 * looked up; else `accepts` is asked about every value there is: 1, 0, or a negative errno.
 */
struct labels_test {
	struct dcm_str name;
	const struct dcm_str *equals; /* NULL: accepts() tells */
	bool negated;		      /* with equals: all others */
	int (*accepts)(void *ctx, struct dcm_str value);
	void *ctx;
};

/* How many values the name has that accepts() would be asked about. */
uint32_t labels__n_values(struct dict *d, struct dcm_str name);

/*
 * Clears the bits of series below n_series that have the name with a value that is not accepted;
 * those without it keep theirs. bits: [(n_series + 63) / 64]. Series that did not come in yet keep
 * them too. 0, -ENOMEM, or accepts()'.
 */
int labels__clear(struct dict *d, const struct labels_test *test, uint64_t *bits, uint32_t n_series);

#endif
