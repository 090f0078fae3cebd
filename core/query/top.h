/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/top.h - self and total of every frame
 *
 * self: the rows whose innermost frame it is. total: the rows in whose stack it stands, each row
 * once, however often the frame recurs. Both are exact whatever the limit; what is not listed is
 * summed up in `rest`.
 */
#ifndef DECIMA_QUERY_TOP_H
#define DECIMA_QUERY_TOP_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/query/filter.h"
#include "core/query/frames.h"

enum top_sort {
	/*
	 * Both sides' sum in a diff, of rates where it compares rates; descending, ties by total,
	 * then by frame id.
	 */
	TOP_BY_SELF,
	TOP_BY_TOTAL, /* the same the other way round */
	TOP_BY_NAME,  /* ascending */
	/* |self B - self A|, of rates too; descending, ties by |total B - total A|, then by frame id */
	TOP_BY_DIFF,
};

struct top_options {
	enum top_sort sort;
	uint32_t limit;		     /* rows listed; 0: all */
	const struct filter *filter; /* NULL: none */
};

struct top_row {
	uint32_t frame; /* id */
	int64_t self[2], total[2];
};

struct top {
	struct top_row *rows;  /* [n] sorted */
	uint32_t n, n_all;     /* listed, and frames in all */
	uint32_t n_values;     /* 1, or 2 for a diff */
	int64_t total[2];      /* of all rows that count */
	int64_t rest[2];       /* self of the frames that are not listed */
	int64_t no_frame[2];   /* of rows without a frame: empty stacks, or all frames hidden */
	int64_t filtered[2];   /* of rows that the filter left out */
	int64_t all[2];	       /* total and filtered */
	struct frames *frames; /* referenced */
};

/* options NULL: by self, all. -ENOMEM. */
int top__new(struct frames *frames, const struct top_options *options, struct top **ret,
	     struct dcm_error *err);
void top__free(struct top *t);
DEFINE_CLEANUP(struct top *, top__free);

#endif
