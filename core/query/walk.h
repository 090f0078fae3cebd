/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/walk.h - the rows of an answer, each as the frames it is drawn with
 *
 * What trees, tables and folded text have in common: the labels that lead, the filter, runs of one
 * binary drawn as one frame. One walk belongs to one thread.
 */
#ifndef DECIMA_QUERY_WALK_H
#define DECIMA_QUERY_WALK_H

#include <decima/plugin.h>

#include "core/query/filter.h"
#include "core/query/frames.h"

struct walk {
	const struct frames *frames;
	struct filter_marks marks;
	struct filter_path path;
	/* the row at hand */
	uint32_t *ids; /* [n] frames, outermost first; the first n_labels are labels */
	uint32_t n, n_labels, cap;
	const int64_t *values; /* [n_values] */
	/* where it stands */
	uint32_t n_values; /* types of the answer's profiles: 1 or 2 */
	uint32_t profile, row;
};

/*
 * Borrows frames and filter (NULL: none). -EINVAL when a profile has not one or two types, or
 * another has others.
 */
int walk__init(struct walk *w, const struct frames *frames, const struct filter *filter,
	       struct dcm_error *err);
void walk__fini(struct walk *w);

/*
 * The next row: 1, ids and values are set; 2, only values are: the filter leaves it out; 0, the
 * end; -ENOMEM.
 */
int walk__next(struct walk *w);

/* a + b, held at the limits of 64 bits. */
static inline int64_t walk__add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return a < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

#endif
