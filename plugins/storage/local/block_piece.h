/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/block_piece.h - the chunks of an open block as pieces of a view
 *
 * One type of one chunk is a piece. Whole chunks are added up through their rollups; parts of them
 * by rank, from the page in which they begin; time series need the totals of profiles alone.
 */
#ifndef DECIMA_STORAGE_LOCAL_BLOCK_PIECE_H
#define DECIMA_STORAGE_LOCAL_BLOCK_PIECE_H

#include "plugins/storage/answer/view.h"
#include "plugins/storage/local/block.h"

/* A block that is open for as long as the view is there. */
struct block_pieces {
	const struct block *block;
	uint32_t era; /* of the view: whose dictionary the block speaks */
	uint32_t first_filter; /* of the view's filters, the first one that was made after the block's rows came */
};

/*
 * Adds what the view's selections want of the block; blocks are added in the order in which they
 * were written. Chunks whose entries do not fit the block or the dictionary are left out, and
 * view->unreadable() hears of each. 0 or -ENOMEM. Calls the host's regular expressions.
 */
int block_piece__add_all(struct view *v, const struct block_pieces *from);

/* The block of a piece that came from here, for view->unreadable(); NULL for other pieces. */
const struct block *block_piece__block(const struct piece *p);

#endif
