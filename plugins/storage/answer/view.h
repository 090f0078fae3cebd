/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/view.h - what a question looks at: selections, their streams, the pieces
 * of these
 *
 * A store makes a view of what it holds at one moment, and the question is answered from the view
 * alone:
 *
 *	view__init(&v, host, sel, n_sel);
 *	era = view__era(&v, dict, &counts);		once for each dictionary
 *	if (view__wants(&v, k, &place, first_ms, last_ms))	for each selection and each piece
 *		view__add(&v, k, &place, &piece);
 *	view__seal(&v);
 *	answer__merge(&v, ...);				answer.h
 *	view__fini(&v);
 *
 * Order: pieces are added in the order in which they were written, because of two gauges at one
 * time the later counts. Pieces may overlap in time, and lie outside the range in part.
 *
 * Eras: each piece has the dictionary in whose numbers it speaks. Where all that is wanted is of
 * one, it is the answer's; else the answer has a dictionary of its own, into which series, types,
 * label sets and stacks come as they are met, so that what is equal in two eras is one thing in the
 * answer.
 *
 * Cumulative types need the profile before the range: a store adds what starts before `to`, however
 * old it is.
 *
 * Threads: one; those that help it read what is sealed (adder.h). Dictionaries may grow meanwhile:
 * what is above their counts is not looked at.
 */
#ifndef DECIMA_STORAGE_ANSWER_VIEW_H
#define DECIMA_STORAGE_ANSWER_VIEW_H

#include <decima/plugin.h>

#include "core/base/vec.h"
#include "plugins/storage/answer/piece.h"
#include "plugins/storage/answer/sieve.h"
#include "plugins/storage/dict/dict.h"

struct view_era {
	struct dict *dict; /* referenced */
	struct dict_counts counts;
	struct dict_import import; /* into the answer's dictionary, when it has one of its own */
	bool used;		   /* sealed: some piece is of it */
	struct sieve *sieves;	   /* [n_sel] of its series; NULL: they were not judged yet */
};

/* A dictionary whose series were judged before it became an era. */
struct view_foresight {
	struct dict *dict; /* referenced */
	struct sieve *sieves;
};

/* Where a piece belongs, in the numbers of its era. */
struct view_place {
	uint32_t era, series, type;
};

struct view_piece {
	struct piece piece;
	struct view_place place;
	uint32_t selection;
	uint32_t series, type; /* the answer's */
	bool left_out;	       /* it could not be read */
};

struct view_stream {
	uint32_t selection;    /* which one of those asked for */
	uint32_t series, type; /* the answer's */
	uint32_t temporality;  /* enum dcm_temporality */
	uint32_t first, n;     /* pieces.v[first .. first + n), in the order written */
};

/*
 * Rows that were removed but are still there: of what matches, and starts in [from_ms, to_ms),
 * nothing is seen; and nothing of a profile of which no row is left. piece.first_filter says to
 * which pieces a filter applies.
 */
struct view_filters {
	const struct dcm_select *v; /* [n], oldest first; an empty type is every type */
	uint32_t n;
};

struct crew;
struct stock;

struct view {
	const struct dcm_host *host;
	const struct dcm_select *sel; /* [n_sel] */
	uint32_t n_sel;
	/*
	 * The question's, set before a store takes the view. names_only: it is answered without stacks, so
	 * that dictionaries may lack these and what only they refer to; with increases that is so unless a
	 * type is cumulative.
	 */
	bool names_only, increases;
	/* The store's, set between init and seal where it has any. */
	struct view_filters filters;
	/* A piece was left out, says any thread that helps. May be NULL. */
	void (*unreadable)(void *ctx, const struct piece *p, int error);
	/* The view ends; its pieces are released, and listed still. May be NULL. */
	void (*let_go)(void *ctx);
	void *ctx;

	VEC(struct view_foresight) foresights;
	VEC(struct view_era) eras;
	VEC(struct view_piece)
	pieces; /* sealed: sorted by (selection, series, type), then as added */
	VEC(struct view_stream) streams; /* sealed: sorted by (selection, series, type) */
	struct dict *dict;		 /* the answer's, referenced */
	bool imports;			 /* it is a dictionary of its own; else */
	uint32_t era;			 /* it is this one's */
	struct piece_readers readers;

	struct crew *crew;	     /* who may help with an answer; NULL: nobody */
	bool was_shared;	     /* some did */
	_Atomic uint32_t n_left_out; /* pieces */
	struct stock *stock;	     /* of memory for sums; NULL: there is none */
};

/* sel and host outlive the view. view__fini() may follow at any time. */
void view__init(struct view *v, const struct dcm_host *host, const struct dcm_select *sel, uint32_t n_sel);
void view__fini(struct view *v);

/*
 * Judges the dictionary's first n series, so that, when it becomes an era, pieces of those that are
 * not wanted are told by view__may_want() under the lock. Without this they are judged when the
 * first piece is asked about without the lock, or when the view is sealed. Not under the lock. 0,
 * -ENOMEM, or the budget's.
 */
int view__foresee(struct view *v, struct dict *d, uint32_t n_series);

/*
 * Takes a reference to a dictionary. `counts`: taken under the store's lock. Its number, or
 * DCM_NONE when memory ran out.
 */
uint32_t view__era(struct view *v, struct dict *d, const struct dict_counts *counts);

/*
 * May the selection want a piece of that place and those times? 1, 0, -ENOMEM, the budget's, or
 * -EBADMSG when the era has no such series or type, or lacks what they are. Calls the host's
 * regular expressions: not under a lock that others wait for.
 */
int view__wants(struct view *v, uint32_t selection, const struct view_place *place,
		int64_t first_ms, int64_t last_ms);

/* Type, times, and the series if it was judged already: for who holds a lock. */
bool view__may_want(const struct view *v, uint32_t selection, const struct view_place *place,
		    int64_t first_ms, int64_t last_ms);

/*
 * The era's first series from this one on of which some selection may want a piece; UINT32_MAX:
 * none. As view__wants(); 0 and *ret, -ENOMEM, or the budget's.
 */
int view__next_series(struct view *v, uint32_t era, uint32_t series, uint32_t *ret);

/* Takes the piece over, to be released with the view; at once when memory ran out: -ENOMEM. */
int view__add(struct view *v, uint32_t selection, const struct view_place *place,
	      const struct piece *piece);

/* Makes streams of what was added. 0, -ENOMEM, or the budget's. */
int view__seal(struct view *v);

/* -------------------------------------------------------------------------------------------------
 * For questions
 */

/* The answer's number of an era's stack or label set; DCM_NONE when memory ran out. */
static inline uint32_t view__stack(struct view *v, uint32_t era, uint32_t stack)
{
	if (!v->imports)
		return stack;
	struct dict_import *im = &v->eras.v[era].import;
	const uint32_t known = dict_map__get(im->map.stacks, stack);
	return known != DCM_NONE ? known : dict_import__stack(im, stack);
}
static inline uint32_t view__label_set(struct view *v, uint32_t era, uint32_t set)
{
	if (!v->imports)
		return set;
	struct dict_import *im = &v->eras.v[era].import;
	const uint32_t known = dict_map__get(im->map.label_sets, set);
	return known != DCM_NONE ? known : dict_import__label_set(im, set);
}

/* Entries of the answer's dictionary; while it grows, at this moment. */
struct dict_counts view__counts(const struct view *v);

/* Rows of a selection's pieces. */
uint64_t view__rows(const struct view *v, uint32_t selection);

/* What reads pieces of that kind; NULL when memory ran out. */
static inline void *view__reader(struct view *v, const struct piece_ops *ops)
{
	return piece_readers__get(&v->readers, ops);
}

/*
 * From now on the piece is not there; the store is told. By whichever thread reads the piece: the
 * store's unreadable() is called by several at once.
 */
void view__leave_out(struct view *v, struct view_piece *p, int error);

/*
 * Whether a question that failed so is asked again: without the pieces that turned out to be
 * damaged, or without help, when several at once needed more memory than it may take.
 */
bool view__asks_again(struct view *v, int error);

#endif
