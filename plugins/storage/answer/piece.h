/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/piece.h - a run of profiles of one series and one type, wherever it is
 * held
 *
 * The one idea of the read side: questions are asked of streams, a stream is a list of pieces, and
 * all that a question knows of a piece is this table of functions. A piece is what one thing holds:
 * a stream in memory (stream_piece.h), or one type of one chunk in a block.
 *
 * Rows name stacks and label sets by numbers of their own, where the holder has such numbers (a
 * chunk's ranks), or by those of the holder's dictionary.
 *
 * Threads: a piece is read by one thread; its holder may be read by others.
 */
#ifndef DECIMA_STORAGE_ANSWER_PIECE_H
#define DECIMA_STORAGE_ANSWER_PIECE_H

#include <stdbool.h>

#include <decima/plugin.h>

struct piece_ops;

struct piece {
	const struct piece_ops *ops;
	void *of;	     /* what holds it: the ops know */
	uint32_t at, which;  /* the ops' own: which chunk, which type of it */
	uint32_t era;	     /* of the view: whose numbers it uses */
	uint32_t n_profiles; /* at least 1 */
	uint64_t n_rows;
	int64_t first_ms, last_ms; /* of its profiles, inclusive */
	/* All profiles last equally long and have one period: these. */
	bool same_spans;
	int64_t duration_ns, period;
	/*
	 * Of the view's filters those from this one on apply: those that were made when its
	 * profiles were there.
	 */
	uint32_t first_filter;
};

enum piece_want {
	PIECE_WANT_TOTALS = 1,
	PIECE_WANT_ROWS = 2,  /* row counts */
	PIECE_WANT_SPANS = 4, /* durations and periods */
	PIECE_WANT_TIMES = 8,
};

/* Columns of all profiles of a piece. What was not wanted may be NULL. */
struct piece_profiles {
	uint32_t n;
	const int64_t *time_ms; /* [n] ascending; equal times in the order in which they were written */
	/*
	 * [n + 1]: unit times this is, modulo 2^64, what the values of all profiles before this one
	 * add up to. NULL also when the holder has none, or when the magnitudes of all values leave
	 * 63 bits: so what some profiles in a row add up to is a difference of two of these.
	 */
	const uint64_t *before;
	uint64_t unit;
	const uint32_t *n_rows;		     /* [n] */
	const int64_t *duration_ns, *period; /* [n] */
};

enum piece_kind { PIECE_STACKS = 1, PIECE_LABEL_SETS = 2 };

/* What the numbers in rows stand for. */
struct piece_numbers {
	/*
	 * [n] numbers of the dictionary, ascending: rows say which of these. NULL: rows have the
	 * dictionary's, or these were not wanted.
	 */
	const uint32_t *stacks, *label_sets;
	uint32_t n_stacks, n_label_sets;
};

enum { PIECE_ROWS_MAX = 256 };

/* Rows of one profile: all of them, or some and the others in the calls that follow. */
struct piece_rows {
	uint32_t profile;	/* which of the piece */
	bool begins;		/* the profile's first rows; a profile without rows has n == 0 */
	uint32_t n;		/* at most PIECE_ROWS_MAX */
	const uint32_t *stacks; /* [n] */
	const uint32_t *labels; /* [n]; NULL: number 0 in all */
	const int64_t *values;	/* [n] */
};
/* 0 to go on; anything else ends the reading and is what it returns. */
typedef int (*piece_rows_fn)(void *ctx, const struct piece_rows *rows);

enum { PIECE_SLOTS_MAX = 63 };

/* Profiles [first, first + n), n >= 1. */
struct piece_span {
	uint32_t first, n;
	/*
	 * By number of a label set, into which slot its rows go: below n_slots, or n_slots for
	 * those that are not taken. NULL: all rows go to slot 0, whatever their label sets. n_slots
	 * is at most PIECE_SLOTS_MAX.
	 */
	const uint8_t *slots;
	uint32_t n_slots;
	uint64_t *seen; /* [n] zeroed, with slots: a bit for each slot that a row of the profile went to */
};

/* What stacks of one slot add up to. */
struct piece_sums {
	uint32_t slot;
	uint32_t n;		/* at most PIECE_ROWS_MAX */
	const uint32_t *stacks; /* [n] numbers of the dictionary, ascending; no stack comes twice in a slot */
	const int64_t *values; /* [n] */
};
typedef int (*piece_sums_fn)(void *ctx, const struct piece_sums *sums);

/*
 * Functions that return int: 0, -ENOMEM, or -EBADMSG when the piece is damaged; outputs may then
 * hold anything. What they give out is valid until the reader is asked about another piece.
 */
struct piece_ops {
	/*
	 * What reading takes: buffers that are used again from piece to piece. NULL when memory ran
	 * out.
	 */
	void *(*reader_new)(void);
	void (*reader_free)(void *reader);

	int (*profiles)(void *reader, const struct piece *p, unsigned want, struct piece_profiles *ret);
	/* want: enum piece_kind */
	int (*numbers)(void *reader, const struct piece *p, unsigned want, struct piece_numbers *ret);
	/*
	 * Profiles [first, first + n), in order; the rows of each ascend by (stack, label set),
	 * each pair once. n >= 1.
	 */
	int (*rows)(void *reader, const struct piece *p, uint32_t first, uint32_t n,
		    piece_rows_fn fn, void *ctx);
	/*
	 * What stacks add up to over the profiles of a span: to fn, some at a time. -ENOTSUP before
	 * fn heard of any: the sums leave 64 bits, or there are too many for the holder. NULL: the
	 * holder is not faster than who goes over its rows.
	 */
	int (*sums)(void *reader, const struct piece *p, const struct piece_span *span,
		    piece_sums_fn fn, void *ctx);
	/* The view needs the piece no more. NULL: nothing to do. */
	void (*release)(const struct piece *p);
};

/* What reads pieces, a reader for each kind of them. Zeroed there is none yet. */
enum { PIECE_KINDS_MAX = 4 };
struct piece_readers {
	struct {
		const struct piece_ops *ops;
		void *reader;
	} v[PIECE_KINDS_MAX];
};
void *piece_readers__get(struct piece_readers *r, const struct piece_ops *ops); /* NULL when memory ran out */
void piece_readers__fini(struct piece_readers *r);

#endif
