/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/streams/streams.h - profiles in memory: those of one series and one type are a
 * stream
 *
 * A stream holds the profiles of one series and one type, by time. A profile of k types is k
 * profiles here, one of each type, and counts as k; its rows are sorted by (stack, label set), each
 * pair once. Series, types, stacks and label sets are numbers of one dictionary, which several sets
 * of streams may share.
 *
 * Profiles are reference-counted and never change while anybody else holds one, so a question pins
 * what it needs under the store's lock and then reads without it.
 *
 * Batches are added in two steps: streams__plan() does all that can fail, as often as there are
 * batches, and streams__apply() the rest.
 *
 * Threads: everything here needs the store's lock, for writing where the set is not const; the
 * functions of a profile do not.
 */
#ifndef DECIMA_STORAGE_STREAMS_STREAMS_H
#define DECIMA_STORAGE_STREAMS_STREAMS_H

#include <decima/plugin.h>

#include "core/base/hash.h"
#include "core/base/vec.h"
#include "plugins/storage/dict/dict.h"
#include "plugins/storage/streams/profile.h"

struct stream {
	uint32_t series, type;
	VEC(struct profile *) profiles; /* by time; equal times in the order written */
};

/* The first profile that does not start before the time: 0 .. profiles.n. */
size_t stream__first_from(const struct stream *st, int64_t time_ms);
/* Where the profile stands, or -1. */
ptrdiff_t stream__find(const struct stream *st, const struct profile *p);

struct streams {
	VEC(struct stream);  /* v[n], in the order in which they came */
	struct hindex index; /* by (series, type) */
	struct dict *dict;   /* referenced */
	uint32_t max_series; /* of the dictionary: what others become, see streams__plan(); 0: no bound */
	/* What is held, and the bytes of profiles that went; who watches these resets them. */
	uint64_t profile_bytes, n_profiles, n_rows, freed_bytes;
	int64_t newest_ms; /* INT64_MIN: there was never a profile */
	int64_t oldest_ms; /* none starts before it; INT64_MAX: there is none */
};

/* Without streams; takes over the reference. */
void streams__init(struct streams *s, struct dict *dict);
void streams__fini(struct streams *s);

uint64_t streams__bytes(const struct streams *s); /* all but the dictionary */

/* Index of the stream, or DCM_NONE. */
uint32_t streams__find(const struct streams *s, uint32_t series, uint32_t type);
/* The same, made where it is missing; DCM_NONE when memory ran out. */
uint32_t streams__find_or_make(struct streams *s, uint32_t series, uint32_t type);

/*
 * Puts another profile (or NULL: none) in the place of v[stream].profiles[at], taking over its
 * reference.
 */
void streams__replace(struct streams *s, uint32_t stream, size_t at, struct profile *with);
/* Removes the profiles that start before the time; returns how many. */
uint64_t streams__remove_before(struct streams *s, int64_t time_ms);

/* -------------------------------------------------------------------------------------------------
 * Adding batches
 */

struct streams_planned {
	uint32_t stream;
	struct profile *profile;
};

/* What a plan could not take as it came, in rows of each type. */
struct streams_overflow {
	uint64_t n_folded;  /* taken without the labels of their series */
	uint64_t n_refused; /* not taken */
};

/* How who is asked for the cause tells of it; %s: growth.h's words. */
#define STREAMS_OVERFLOW_SENTENCE                                                                  \
	"max_series: there is no room for more series: the store has %s; rows of new ones "        \
	"are in {__overflow__=\"true\"} without their labels. Take a label that has ever new "     \
	"values off with relabel_configs (action: labeldrop), or raise max_series"

/* Zeroed is empty; streams_plan__fini() also when it was applied. */
struct streams_plan {
	VEC(struct streams_planned) items;
	VEC(uint32_t) n_more; /* [streams.n] profiles planned for each */
	struct streams_overflow overflow;
};
void streams_plan__fini(struct streams_plan *p);

/*
 * Brings in what the batch's profiles that start in [from_ms, to_ms) refer to, and makes room for
 * them. 0 or -ENOMEM: the set has no profile more then, and the plan can only be freed.
 *
 * Series that are new beyond max_series are one, {__overflow__="true"}: a label whose values never
 * end would make the store useless, and larger and larger. Deltas still add up there; states (gauge,
 * cumulative) of several series would replace each other, so those are refused.
 */
int streams__plan(struct streams *s, struct streams_plan *plan, const struct dcm_batch *b,
		  int64_t from_ms, int64_t to_ms);
/*
 * The same for one profile whose numbers are the dictionary's already. Takes over its reference
 * when it returns 0.
 */
int streams__plan_profile(struct streams *s, struct streams_plan *plan, uint32_t series,
			  uint32_t type, struct profile *p);
/*
 * A state (gauge, cumulative) at a time that is there already replaces the older one. Nothing else
 * may have been added since the plan was made.
 */
void streams__apply(struct streams *s, struct streams_plan *plan);

/* When a profile starts, in milliseconds, rounded down. */
int64_t streams__ms(int64_t ns);

#endif
