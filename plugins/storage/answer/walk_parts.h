/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/walk_parts.h - what the files of a walk share among themselves
 */
#ifndef DECIMA_STORAGE_ANSWER_WALK_PARTS_H
#define DECIMA_STORAGE_ANSWER_WALK_PARTS_H

#include "plugins/storage/answer/walk.h"

/* Rows on their way out. */
struct walk_rowbuf {
	uint32_t kept[PIECE_ROWS_MAX]; /* which of the piece's were not removed */
	uint32_t groups[PIECE_ROWS_MAX], stacks[PIECE_ROWS_MAX], label_sets[PIECE_ROWS_MAX];
	int64_t values[PIECE_ROWS_MAX];
	bool began; /* the user heard of the profile at hand */
};

struct walk_head {
	int64_t time_ms, duration_ns, period;
};

struct walk_state_row {
	uint64_t key; /* stack << 32 | label set, in the walk's numbers */
	int64_t value;
};

struct walk_state {
	struct walk_head head;
	VEC(struct walk_state_row) rows;
	bool before; /* it is before the range */
	bool there;
};
void walk_state__free(struct walk_state *s);

/* walk_spans.c: the spans of w->stream. 0, -ENOMEM; -EBADMSG: those of what is not damaged. */
int walk__find_spans(struct walk *w);

/* walk_increases.c: rows w->out->kept[n] of a cumulative profile; and the end of them. */
int walk__collect(struct walk *w, const struct piece_rows *rows, uint32_t n,
		  const struct walk_head *head);
int walk__collected(struct walk *w);

/* walk.c */
/*
 * A piece's numbers, all of which its era's dictionary has. 0, -ENOMEM; -EBADMSG: it is left out.
 * `want` as of struct piece_ops.
 */
int walk__numbers(struct walk *w, const struct view_piece *p, unsigned want, struct piece_numbers *ret);
int walk__tell(struct walk *w, bool begins, uint32_t n, const struct walk_head *head);
int walk__tell_empty(struct walk *w, const struct walk_head *head);

#endif
