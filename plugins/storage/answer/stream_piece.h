/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/stream_piece.h - streams in memory as pieces of a view
 *
 * A piece holds references to the profiles that were there when it was made, and is read without
 * the store's lock.
 */
#ifndef DECIMA_STORAGE_ANSWER_STREAM_PIECE_H
#define DECIMA_STORAGE_ANSWER_STREAM_PIECE_H

#include "plugins/storage/answer/view.h"
#include "plugins/storage/streams/streams.h"

/* The profiles of a piece: [n] by time. */
struct stream_piece {
	uint32_t n;
	struct profile *v[];
};

/*
 * With the store's lock held: what the view's selections want of the streams, but for those whose
 * series or type was lost. 0 or -ENOMEM.
 */
int stream_piece__add_all(struct view *v, uint32_t era, const struct streams *s);

/* The profiles of a piece that came from here; NULL for other pieces. */
const struct stream_piece *stream_piece__of(const struct piece *p);

#endif
