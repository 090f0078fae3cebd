/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/discovery.h - what finds targets: one kind a file, and the table of kinds
 *
 * A kind is an option table (its element of `NAME_configs` in a job), a start and a stop; what it
 * finds it hands to its job in sources, each of which it may replace or take away alone. To add one,
 * write NAME_sd.c with `NAME_sd__table` and `NAME_sd`, and a line in discoveries.h.
 *
 * A discovery that fails says so (discovery__failed()), and what it found before stays.
 * Everything here is on the loop's thread, but discovery__tell().
 */
#ifndef DECIMA_PPROF_SCRAPE_DISCOVERY_H
#define DECIMA_PPROF_SCRAPE_DISCOVERY_H

#include <decima/plugin.h>

#include "plugins/input/pprof_scrape/discoveries.h"
#include "plugins/input/pprof_scrape/groups.h"
#include "plugins/input/pprof_scrape/labels.h"

struct job;
struct discovery;

/* What one discovery found in one place; part of what is its owner's, zeroed at first. */
struct source {
	struct source *prev, *next; /* of the job's; NULL: it has none */
	VEC(struct labels *) found; /* of each target */
};

struct discovery_kind {
	const char *name; /* in sentences and figures: "file_sd" */
	/* Sets state, and begins to look: it may ask, but waits for nothing. 0, -EINVAL, -ENOMEM. */
	int (*start)(struct discovery *d, struct dcm_error *err);
	/* On the loop's thread, or when the loop has ended; also after a start that failed. Gives up its sources. */
	void (*stop)(struct discovery *d);
	/*
	 * Has all been found that was there at the start? Whoever asks several questions that may go well one by one says so
	 * itself, and calls job__looked() when it has become true. NULL: with the first look that went well.
	 */
	bool (*is_whole)(const struct discovery *d);
};

#define DISCOVERY_DECLARATION(kind, key, doc) extern const struct discovery_kind kind;
DISCOVERIES(DISCOVERY_DECLARATION)
#undef DISCOVERY_DECLARATION

/* One element of one list of one job. */
struct discovery {
	struct job *job;
	const struct discovery_kind *kind;
	const void *options; /* of the kind's table */
	uint32_t i;	     /* in the job's list */
	void *state;	     /* the kind's */

	/* Below: how it goes; read by others under the job's lock. */
	uint64_t n_looks, n_failures;
	int64_t looked_real_ns; /* when it last went well; 0: never */
	char error[320];	/* why the last look failed; "" when it did not */
};

/*
 * What there is in a source now takes the place of what was there. Takes the groups, also on
 * failure: then what was there stays, and -ENOMEM is told by discovery__failed().
 */
void discovery__found(struct discovery *d, struct source *s, struct groups *found);
/* It has gone, with all that was found there. Nothing happens to one that has nothing. */
void discovery__lost(struct discovery *d, struct source *s);

/* A look went well, or came to nothing; the sentence is logged when it is another than before. */
void discovery__well(struct discovery *d);
void discovery__failed(struct discovery *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
