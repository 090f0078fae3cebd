/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/arrow_parts.h - what arrow*.c share
 */
#ifndef DECIMA_CODEC_ARROW_PARTS_H
#define DECIMA_CODEC_ARROW_PARTS_H

#include "core/codec/arrow.h"
#include "core/codec/arrow_meta.h"

struct arrow_piece {
	uint64_t first; /* index of its first entry */
	struct arrow_array array;
};

struct arrow_dictionary {
	int64_t id;
	struct arrow_field values; /* the field's, without its dictionary */
	VEC(struct arrow_piece) pieces;
	uint64_t n; /* of all */
	struct arena arena;
	VEC(void *) unpacked;
};

/* -EINVAL with "message 3: WHAT". */
int arrow__message_fault(struct arrow_stream *s, const char *what);
/* Takes bytes from what is left, or -E2BIG. */
int arrow__charge(struct arrow_stream *s, uint64_t bytes);

/* Run ends ascend, begin above 0, and the last is not before the array's end. */
int arrow__check_runs(struct arrow_stream *s, const struct arrow_array *a);

/* arrow_schema.c: the schema of a table of the metadata. */
int arrow_schema__read(struct arrow_stream *s, struct fb *b, fb_at table);

/* arrow_batch.c: where buffers are, and what is made for them. */
struct arrow_body {
	struct arrow_stream *s;
	struct fb *b;
	const uint8_t *p; /* behind the metadata */
	uint64_t n;
	fb_at nodes, buffers, variadic;
	uint32_t n_nodes, n_buffers, n_variadic;
	uint32_t node, buffer, variadic_i; /* the next */
	int codec;			   /* -1: none */
	struct arena *arena;		   /* for arrays */
	int (*keep)(void *ctx, void *unpacked);
	void *ctx;
};
/* Reads the arrays of fields [n] from a RecordBatch table. */
int arrow_batch__read(struct arrow_body *body, fb_at table, const struct arrow_field *fields,
		      uint32_t n, uint64_t *ret_n_rows, struct arrow_array **ret);

#endif
