/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/walk.h - the profiles of a stream as they count
 *
 * A stream's pieces hold profiles outside the range, states that a later write replaced, and rows
 * that were removed. A walk leaves these out, and tells its user of the rest, piece after piece for
 * delta types (where order means nothing) and in the order of time for the others:
 *
 *	span()	some profiles of one piece at once, as long as nothing has to be looked at row by row
 *	rows()	the rows that match, with their groups; of cumulative types, when increases are asked
 *		for, by how much they grew since the profile before: not at all in a series' first
 *		one, wholly where something shrank
 *
 * Threads: one a walk; several may walk over one view, in eras' numbers and over pieces of their own.
 */
#ifndef DECIMA_STORAGE_ANSWER_WALK_H
#define DECIMA_STORAGE_ANSWER_WALK_H

#include "plugins/storage/answer/match.h"
#include "plugins/storage/answer/meter.h"
#include "plugins/storage/answer/view.h"

/* Profiles [first, first + n) of a piece. */
struct walk_span {
	uint32_t piece; /* of the view */
	uint32_t first, n;
};

/*
 * Of one profile, up to PIECE_ROWS_MAX rows that are taken. A profile that has none is told of too,
 * with n == 0 (it counts where profiles are counted, not in a group); one that was written without
 * rows and is taken has one row here, with the stack DCM_NONE and the value 0.
 */
struct walk_rows {
	bool begins; /* a profile's first call */
	int64_t time_ms, duration_ns, period;
	uint32_t n;
	const uint32_t *groups;	    /* [n] */
	const uint32_t *stacks;	    /* [n] when asked for */
	const uint32_t *label_sets; /* [n] when asked for */
	const int64_t *values;	    /* [n] */
};

enum { WALK_ENOUGH = 2 }; /* the user needs no more of the stream */

struct walk_user {
	bool stacks, label_sets; /* which numbers rows() wants */
	bool increases;		 /* of cumulative types; else they are states like gauges */
	/*
	 * enum piece_want: the columns that span() asks walk__profiles() for, but for spans, where
	 * profiles last equally long. They are read together with the times.
	 */
	unsigned columns;
	/*
	 * walk->piece is open: 1 when that was all, 0 when it wants the span's rows, WALK_ENOUGH,
	 * or an error. NULL: always rows.
	 */
	int (*span)(void *ctx, const struct walk_span *span);
	/* 0, WALK_ENOUGH, or an error. */
	int (*rows)(void *ctx, const struct walk_rows *rows);
	void *ctx;
	/*
	 * An era's dictionary: streams are of that era alone, and all numbers are its own. NULL:
	 * the answer's numbers.
	 */
	struct dict *dict;
	struct piece_readers *readers; /* NULL: the view's */
};

struct walk_filter {
	struct match match;
	bool on;      /* it may touch the stream at hand */
	bool applies; /* and the piece */
};

struct walk_state; /* a cumulative profile's rows */

struct walk {
	struct view *view;
	struct match *match;
	struct meter *meter;
	const struct walk_user *user;
	const struct dict *dict; /* whose numbers streams have */
	bool imports;		 /* it is not the pieces' */

	/* The stream at hand. */
	const struct view_stream *stream;
	VEC(struct walk_span) spans;
	uint32_t n_before;  /* profiles at their head that are before the range */
	uint32_t n_started; /* profiles that rows were read of */
	bool increases;

	/* The piece at hand. */
	const struct view_piece *piece;
	void *reader;
	struct piece_numbers numbers;
	VEC(uint32_t) groups; /* where numbers.label_sets: the group of each, or MATCH_NONE */
	bool uniform;	      /* all rows are in `group`, or none is taken: MATCH_NONE */
	uint32_t group;
	uint32_t empty_group;		/* of profiles without rows */
	bool filtered;			/* rows may have been removed */
	struct piece_profiles profiles; /* what walk__profiles() got */

	struct walk_rowbuf *out;
	struct walk_state *now, *before;
	bool has_before;
	struct groups no_groups;
	struct walk_filter *filters; /* [view->filters.n] */
};

/* The match speaks the walk's numbers from then on. 0 or -ENOMEM. walk__fini() also after a failure. */
int walk__init(struct walk *w, struct view *v, struct match *match, struct meter *meter,
	       const struct walk_user *user);
void walk__fini(struct walk *w);

/* A piece's reader; NULL when memory ran out. */
static inline void *walk__reader(const struct walk *w, const struct piece_ops *ops)
{
	return piece_readers__get(w->user->readers ? w->user->readers : &w->view->readers, ops);
}

/*
 * Walks a stream of the match's selection. 0, -ENOMEM, what the meter and the user say, or
 * -EBADMSG: pieces were damaged and are left out from now on. What was told counts for nothing
 * then, so whoever asks begins again; but the walk has gone on to the stream's end, and whoever asks
 * goes on to the last stream, so that all that is damaged is found at once.
 */
int walk__stream(struct walk *w, const struct view_stream *st);

/* For span(): columns of the piece at hand, in w->profiles. */
int walk__profiles(struct walk *w, unsigned want);
static inline bool walk__is_whole(const struct walk *w, const struct walk_span *s)
{
	return s->n == w->piece->piece.n_profiles;
}
/* The walk's number of what the piece's rows call so; DCM_NONE when memory ran out. */
static inline uint32_t walk__stack(const struct walk *w, uint32_t number)
{
	const uint32_t stack = w->numbers.stacks ? w->numbers.stacks[number] : number;

	return w->imports ? view__stack(w->view, w->piece->place.era, stack) : stack;
}
static inline uint32_t walk__label_set(const struct walk *w, uint32_t number)
{
	const uint32_t set = w->numbers.label_sets ? w->numbers.label_sets[number] : number;

	return w->imports ? view__label_set(w->view, w->piece->place.era, set) : set;
}

#endif
