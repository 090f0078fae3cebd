/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/wire_write.h - writes tables and rows as batches have them on the wire
 *
 * What wire_encode.c and session_encode.c share. A failed buffer takes nothing more, and wire_write__end() says so.
 */
#ifndef DECIMA_CODEC_WIRE_WRITE_H
#define DECIMA_CODEC_WIRE_WRITE_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/codec/wire_tables.h"

/* So many entries of each table the reader has; the others are written. At least the string "". */
struct wire_sent {
	uint32_t strings, mappings, functions, processes, locations, stacks, series, label_sets;
};

/* Room for a header, and the header. It returns where it begins, and 0 or the buffer's error, which keeps what it held before. */
size_t wire_write__begin(struct buf *out);
int wire_write__end(struct buf *out, size_t start, const struct wire_header *h);

void wire_write__id(struct buf *out, const struct dcm_batch_id *id);
void wire_write__entries(struct buf *out, const struct dcm_batch *b, const struct wire_sent *sent);
/* Types, profiles, rows. */
void wire_write__profiles(struct buf *out, const struct dcm_batch *b);

#endif
