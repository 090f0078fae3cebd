/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decima/query.h - questions to a store; a part of <decima/plugin.h>
 */
#ifndef DECIMA_QUERY_H
#define DECIMA_QUERY_H

#include <stdatomic.h>
#include <stdbool.h>

#include <decima/batch.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dcm_regex; /* the host's compiled pattern: host->regex_matches() */

enum dcm_match_op { DCM_EQ, DCM_NE, DCM_RE, DCM_NRE };

/*
 * A row's value of a name is its series label, else its sample label (a number in decimal), else
 * "". Rows match when all matchers do.
 */
struct dcm_matcher {
	uint32_t op; /* enum dcm_match_op */
	struct dcm_str name, value;
	const struct dcm_regex *regex; /* compiled from value; set for DCM_RE and DCM_NRE */
};

/*
 * What an answer lacks because the store has lost it, or cannot read it. A gap may be larger than
 * what the question asked for: where nobody can tell any more what was lost, its whole time is
 * told.
 */
struct dcm_gap {
	uint32_t size;
	struct dcm_str what, why; /* for people: "blocks/7.blk"; "a chunk is damaged" */
	int64_t from_ms, to_ms;	  /* [from, to): what is missing starts there */
	uint64_t n_profiles;	  /* at most so many, as questions count; 0: nobody knows */
};
typedef void (*dcm_gap_fn)(void *ctx, const struct dcm_gap *gap);

/* What a question may cost (the asker's; with cancel), and how it is doing (the store's). */
struct dcm_budget {
	int64_t deadline_mono_ns;     /* -ETIMEDOUT beyond it; 0: none */
	uint64_t max_bytes;	      /* of memory; -E2BIG beyond it; 0: none */
	_Atomic int cancelled;	      /* set to 1 by the asker: -ECANCELED within 100 ms */
	_Atomic uint64_t done, total; /* progress, in rows or bytes */
	/*
	 * Told of everything that is left out of the answer, before the question returns and
	 * by one thread at a time. NULL: nobody wants to know.
	 */
	dcm_gap_fn gap;
	void *gap_ctx;
	/*
	 * A merge that succeeds tells of each selection's profiles that match: how many, the
	 * sum of their durations, their period when it is one, else 0. One thread at a time.
	 */
	void (*side)(void *ctx, uint32_t sel, uint64_t n, int64_t duration_ns, int64_t period);
	void *side_ctx;
};

struct dcm_select {
	uint32_t size;
	struct dcm_str type; /* as written above; empty: every type (lists and remove only) */
	const struct dcm_matcher *matchers; /* [n_matchers] */
	uint32_t n_matchers;
	int64_t from_ms, to_ms;	   /* [from, to), real, compared with the profile's start */
	struct dcm_budget *budget; /* NULL: unlimited */
};

struct dcm_group_by {
	const struct dcm_str *labels; /* [n] distinct: series or sample labels; a missing one counts as "" */
	uint32_t n;
};

/*
 * What questions count. A profile of k types is k profiles here, one a type. It matches, and counts
 * in a group, when one of its rows does; one without rows counts as if it had a row without sample
 * labels. Of two profiles of one series and type at one millisecond, delta ones both count, and of
 * the others only the one written last is there.
 */

/*
 * Answers of the lists. `each` returns 0 to go on; another value ends the list, which returns it.
 */
struct dcm_type_info {
	struct dcm_str name, sample_type, sample_unit, period_type, period_unit;
	uint32_t temporality;
	uint64_t n_profiles;
	int64_t first_ms, last_ms; /* start times of the first and last profile */
};
typedef int (*dcm_type_fn)(void *ctx, const struct dcm_type_info *info);
typedef int (*dcm_name_fn)(void *ctx, struct dcm_str name, uint64_t n_series);
struct dcm_label_text {
	struct dcm_str name, value;
};
typedef int (*dcm_series_fn)(void *ctx, const struct dcm_label_text *labels, uint32_t n);

/*
 * One point per step that has a profile, ascending; t_ms is floor(t / step) * step, or the
 * profile's with step 0.
 */
struct dcm_points {
	const struct dcm_label_text *labels; /* [n_labels]: the group's, in the order asked for; all with step 0, n 0 */
	uint32_t n_labels, n;
	const int64_t *t_ms;
	const int64_t *value; /* total of the rows that match: delta sums, gauge means, cumulative increases */
	const int64_t *duration_ns; /* sum of the profiles' durations */
	const uint32_t *n_profiles;
};
typedef int (*dcm_points_fn)(void *ctx, const struct dcm_points *points);

struct dcm_store_stat {
	uint32_t size;
	uint64_t bytes; /* that profiles take, without what they refer to: stored, and in memory until then */
	/*
	 * What profiles refer to, each once: those of profiles that went may count for a while, and
	 * a store with a list of them for each stretch of time gives the longest that it has read.
	 */
	uint64_t n_series, n_stacks, n_locations;
	/*
	 * As questions count; rows of one (stack, label set) of a profile are one. A state that a
	 * later write replaced may count until the store writes that part of its data anew: to know
	 * of it the store would have to read.
	 */
	uint64_t n_profiles, n_rows;
	int64_t first_ms, last_ms; /* 0,0 when empty */
	struct dcm_str place;	   /* directory or address, for people; "memory" */
	/*
	 * Removals whose rows, which no question finds any more, still take room, and still
	 * count above.
	 */
	uint32_t n_removals;
	uint32_t n_set_aside; /* files of data that could not be read, kept for people; in no other number */
	uint64_t set_aside_bytes; /* of them */
	/*
	 * Since the start, rows of series for which there was no room: those that were stored
	 * without the labels of their series, and those that were not stored.
	 */
	uint64_t n_rows_folded, n_rows_refused;
	/*
	 * Sizes of the store's files, some seconds old; 0: it has none. All; and of them
	 * those of profiles, of what profiles refer to, and of the log of what is in neither yet,
	 * with the room that it has taken ahead. What is set aside is a part of all, too.
	 */
	uint64_t disk_bytes, block_bytes, dictionary_bytes, log_bytes;
	/* From 3.2 on: how long profiles are kept, and how many bytes at most; 0: no bound, or not known. */
	int64_t retention_ms;
	uint64_t max_bytes;
};

/* A finding: place, fault and remedy in a sentence, borrowed. ERROR: it will not work so. */
typedef void (*dcm_report_fn)(void *ctx, enum dcm_log_level level, const char *sentence);

#ifdef __cplusplus
}
#endif

#endif
