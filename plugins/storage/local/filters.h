/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/filters.h - rows that were removed, and are still in blocks
 *
 * A removal is a filter in the manifest (an extra, which docs/FORMATS.md describes): from that
 * moment on no answer has what matches. It concerns what was written before, which is told in two
 * ways:
 *
 *	blocks	with a number below `before_block`. Whatever writes one of these anew leaves out what
 *		matches, and the new block has a larger number.
 *	heads	lose their rows at once, and again when frames of the log up to `lsn` are replayed. So
 *		no filter concerns the blocks that they become.
 *
 * `blocks` are those that have such rows, or could not be read to find out. The filter goes when
 * none of them is left and a block has the frames up to `lsn`.
 *
 * Threads: a filter and a set of them never change; references count from any.
 */
#ifndef DECIMA_STORAGE_LOCAL_FILTERS_H
#define DECIMA_STORAGE_LOCAL_FILTERS_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "plugins/storage/local/manifest.h"

enum {
	FILTERS_MAX = 64,
	FILTER_MATCHERS_MAX = 256,
	FILTER_TEXT_MAX = 256 << 10, /* bytes of a filter's texts */
};

struct filter {
	_Atomic uint32_t refs;
	const struct dcm_host *host;
	uint64_t lsn, before_block;
	int64_t made_ms;	  /* by the clock */
	struct dcm_select select; /* its texts lie in `record` */
	struct dcm_matcher *matchers;
	uint8_t *record; /* [n_record] as in the manifest */
	size_t n_record;
	uint64_t *blocks; /* [n_blocks] ascending */
	uint32_t n_blocks;
};

/* What a filter is made of; everything is copied. */
struct filter_parts {
	const struct dcm_select *select;
	uint64_t lsn, before_block;
	int64_t made_ms;
	const uint64_t *blocks; /* [n_blocks] ascending */
	uint32_t n_blocks;
};
/*
 * 0, -ENOMEM, -E2BIG (texts or matchers), or what the host says of a regular expression; with a
 * sentence.
 */
int filter__new(const struct dcm_host *host, const struct filter_parts *parts, struct filter **ret,
		struct dcm_error *err);
void filter__unref(struct filter *f); /* NULL is fine */

/* Must the block be written anew for it? */
bool filter__lists(const struct filter *f, uint64_t block);

/* Oldest first. NULL is the empty set. */
struct filters {
	_Atomic uint32_t refs;
	uint32_t n;
	struct dcm_select *selects; /* [n] of each: for a view */
	struct filter *v[];
};
static inline uint32_t filters__n(const struct filters *s)
{
	return s ? s->n : 0;
}
struct filters *filters__ref(struct filters *s);
void filters__unref(struct filters *s);

/*
 * A set of these, in this order, with references of its own. NULL: memory; also for none, which is
 * no error.
 */
struct filters *filters__of(struct filter *const *v, uint32_t n);

/* Of the set, the first one that concerns a block; filters__n() when none does. */
uint32_t filters__first(const struct filters *s, uint64_t block);
/* The same for one of them. */
bool filters__list(const struct filters *s, uint64_t block);

/* -EUCLEAN: it is not what write() makes, and rows might come back. */
int filters__read(const struct manifest *m, const struct dcm_host *host, struct filters **ret,
		  struct dcm_error *err);
int filters__write(struct manifest *m, const struct filters *s); /* 0, -ENOMEM or -EFBIG */

#endif
