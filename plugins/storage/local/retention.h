/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/retention.h - until when each type of profile is kept, by the store's options
 *
 * Types have a retention, and a bound of bytes in blocks, by their text or its beginning up to a
 * colon; of each kind the longest rule that fits counts. A bound becomes a time when all that the
 * blocks have is known:
 *
 *	retention__take(&r, s);
 *	retention__add(&r, text, block, bytes) for each type of each block, when there are bounds
 *	retention__end(&r);
 *	... retention__cutoff(&r, text) ...
 *	retention__fini(&r);
 *
 * Threads: one.
 */
#ifndef DECIMA_STORAGE_LOCAL_RETENTION_H
#define DECIMA_STORAGE_LOCAL_RETENTION_H

#include "plugins/storage/local/retain.h"
#include "plugins/storage/local/store.h"

struct retention_age {
	char *rule;
	int64_t cutoff_ms;
};

struct retention_bound {
	char *rule;
	uint64_t max_bytes;
	VEC(struct retain_portion) portions;
	int64_t cutoff_ms; /* INT64_MIN: nothing is too much */
};

struct retention {
	VEC(struct retention_age) ages;
	VEC(struct retention_bound) bounds;
	int64_t default_ms;	   /* of types without a rule */
	int64_t first_ms, last_ms; /* the least and the largest that any type may have */
};

/* The store's options; with its lock for writing. 0 or -ENOMEM, then fini() too. */
int retention__take(struct retention *r, struct store *s);
void retention__fini(struct retention *r);

/* Must the types of blocks be known? And their bytes, of all blocks? */
static inline bool retention__has_types(const struct retention *r)
{
	return r->ages.n || r->bounds.n;
}
static inline bool retention__has_bounds(const struct retention *r)
{
	return r->bounds.n;
}

/* What a block has of a type. 0 or -ENOMEM. */
int retention__add(struct retention *r, struct dcm_str type, const struct manifest_block *block,
		   uint64_t bytes);
void retention__end(struct retention *r);

/* What starts before it is over. */
int64_t retention__cutoff(const struct retention *r, struct dcm_str type);

#endif
