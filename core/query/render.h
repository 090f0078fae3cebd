/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/render.h - answers as text for people, and folded stacks for tools
 *
 * Everything goes into a buffer, whose error says whether memory sufficed. Names come from profiled
 * programs: control characters and bytes that are not UTF-8 are shown as '?', so that none reaches
 * a terminal. Width counts characters; what would be wider is cut with "...". Numbers are shown
 * with the unit of the profile's type.
 */
#ifndef DECIMA_QUERY_RENDER_H
#define DECIMA_QUERY_RENDER_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/query/flame.h"
#include "core/query/top.h"

struct render_options {
	uint32_t max_rows;   /* 0: all; a tree keeps its heaviest nodes and says what it left out */
	uint32_t width;	     /* columns; 0: unbounded */
	struct dcm_str unit; /* of the values, as in the type: "nanoseconds", "bytes", "count" */
};

/*
 * Table of self and total with shares; for a diff of both on both sides, as compare.h makes them
 * comparable, and how much they changed: "new" and "gone" where only one side has them, a '*' behind
 * what is significant. Under it a line says what the sides are, raw totals and samples, and one what the star means,
 * or why nothing was tested.
 */
void render__top(const struct top *t, const struct render_options *o, struct buf *out);

/*
 * Indented tree, a line a node: share of the total, total, self, name. For a diff both sides' totals, the
 * change, and the shares; the rest as in its table.
 */
void render__flame(const struct flame *f, const struct render_options *o, struct buf *out);

/*
 * root;..;leaf VALUE, a line a stack, sorted by the frames' texts from the root on, equal ones
 * added up; the second side of a diff follows as a second number. Semicolons within names become
 * ':'. A stack without a frame reads "[no frames]". -ENOMEM, or what walk__init() finds.
 */
int render__folded(const struct frames *frames, const struct filter *filter, struct buf *out,
		   struct dcm_error *err);

/* A table of text, as lists are shown: columns padded to their widest cell but for the last one. */
struct render_table {
	const char *const *heads; /* [n_columns] */
	uint32_t n_columns;
	uint64_t right;		     /* bit i: column i is a number */
	const struct dcm_str *cells; /* [n_rows * n_columns] */
	uint32_t n_rows;
};
void render__table(const struct render_table *t, const struct render_options *o, struct buf *out);

/* One cleaned text, cut to `width` characters (0: not cut). */
void render__text(struct dcm_str s, uint32_t width, struct buf *out);

#endif
