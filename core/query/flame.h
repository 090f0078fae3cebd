/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/flame.h - the flame tree: stacks that begin alike share their beginning
 *
 * Nodes are columns in preorder. Node 0 is a root that no frame stands behind; the children of a
 * node are ordered by total descending (both sides' sum in a diff, of rates where it compares rates),
 * ties by frame id. For every
 * node, on each side, exactly:
 *
 *	total = self + the children's totals + trimmed
 *
 * Build: the stacks are sorted (stacks.h), and each adds what it does not share with the one before
 * it. Then totals in one backward pass, trimming by one threshold for the whole tree, and one pass
 * that sorts siblings. What weighs little on the shorter side of a diff is not trimmed for that: weights
 * are compared as compare__factor() says. Sums that leave 64 bits are held at the limit.
 *
 * Constant once made.
 */
#ifndef DECIMA_QUERY_FLAME_H
#define DECIMA_QUERY_FLAME_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/query/filter.h"
#include "core/query/frames.h"

#define FLAME_DEFAULT_NODES 1000000u
#define FLAME_MAX_NODES	    8000000u
#define FLAME_ROOT	    UINT32_MAX /* frame of node 0 */

enum flame_side {
	FLAME_WHOLE,   /* every stack */
	FLAME_CALLEES, /* stacks through `function`, from its outermost frame down to the leaf */
	/* the same stacks, from that frame up to the root: its callers are its children */
	FLAME_CALLERS,
};

struct flame_options {
	bool invert;		 /* leaves first; whole trees only */
	enum flame_side side;	 /* callers and callees cut each stack at the same place */
	struct dcm_str function; /* for these two: the exact name, as shown */
	/* stacks that begin with frames of these names, root first; others are left out, and told as filtered */
	const struct dcm_str *under; /* [n_under] */
	uint32_t n_under;
	uint64_t max_nodes; /* 0: FLAME_DEFAULT_NODES; the smallest subtrees go first */
	double min_share; /* subtrees below this share of the root's weight are trimmed; 0: none */
	const struct filter *filter; /* NULL: none */
	/* Or NULL: asked each millisecond or so, by this thread; below 0 it is the call's answer, with its sentence in err. */
	int (*is_over)(void *ctx, struct dcm_error *err);
	void *over_ctx;
};

struct flame {
	uint32_t n;	     /* nodes; at least the root */
	uint32_t n_values;   /* 1, or 2 for a diff */
	uint32_t max_depth;  /* the root's is 0 */
	uint32_t *frame;     /* [n] id in `frames`; FLAME_ROOT for node 0 */
	uint32_t *parent;    /* [n]; 0 for node 0 */
	uint32_t *depth;     /* [n] */
	uint32_t *end;	     /* [n] index behind the node's last descendant */
	int64_t *self[2];    /* [n]; [1] NULL without a diff */
	int64_t *total[2];   /* [n] */
	int64_t *trimmed[2]; /* [n] weight dropped right below the node; NULL when nothing was */
	uint64_t n_trimmed;  /* nodes dropped */
	/* weight of the stacks that the filter, or the choice of a function, left out */
	int64_t filtered[2];
	int64_t all[2];	       /* the root's total and what was filtered */
	struct frames *frames; /* referenced */
};

/*
 * The tree of all rows of the frames' batch (whose profiles have one type, or two for a diff).
 * options NULL: defaults. -ENOMEM; what is_over() says; -E2BIG beyond FLAME_MAX_NODES before trimming; -EINVAL for
 * options that contradict.
 */
int flame__new(struct frames *frames, const struct flame_options *options, struct flame **ret,
	       struct dcm_error *err);
void flame__free(struct flame *f);
DEFINE_CLEANUP(struct flame *, flame__free);

#endif
