/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/flametree.h - a flame tree as bytes for programs: "flametree", version 1
 *
 * Columns of numbers of seven bits a byte, each by itself, which gzip makes small: about a byte a node. Depths,
 * parents, totals and the order of siblings follow from what is there. docs/FORMATS.md has every byte.
 */
#ifndef DECIMA_QUERY_FLAMETREE_H
#define DECIMA_QUERY_FLAMETREE_H

#include "core/base/buf.h"
#include "core/query/flame.h"

#define FLAMETREE_MIME "application/vnd.decima.flametree.v1"

enum { FLAMETREE_HEAD_BYTES = 64, FLAMETREE_SECTION_BYTES = 24, FLAMETREE_MAX_SECTIONS = 24 };

/* Flags of the head. */
enum { FLAMETREE_IS_DIFF = 1, FLAMETREE_IS_TRIMMED = 2 };

/* How a section's bytes are read. */
enum flametree_codec { FLAMETREE_RAW, FLAMETREE_VARINT, FLAMETREE_ZIGZAG };

/* Bits of a function's flags: below them its enum dcm_frame_kind, FLAMETREE_LABEL for FRAME_LABEL. */
enum {
	FLAMETREE_LABEL = 7,
	FLAMETREE_INLINED = 8,
	FLAMETREE_UNNAMED = 16,
	FLAMETREE_AT_ADDRESS = 32
};

/* Values beyond it are divided: readers have them as doubles. */
#define FLAMETREE_MAX_VALUE ((int64_t)1 << 53)

/*
 * Appends the tree. meta: a JSON object of what is not in columns, for the reader to have beside them. Texts are as
 * profiled programs made them: any bytes. -ENOMEM.
 */
int flametree__write(const struct flame *f, struct dcm_str meta, struct buf *out);

#endif
