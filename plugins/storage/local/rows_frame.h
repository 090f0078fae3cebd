/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/rows_frame.h - what one write has stored, as a frame of the log
 *
 * A row is numbers of its era's dictionary and a value; what the dictionary has gained since the
 * frame before goes along as a record (era_record.h), once. So a frame is small, and a start finds
 * each frame of a stack once, however many rows have it. era.h says why its numbers always mean the
 * same.
 *
 * docs/FORMATS.md has every byte. What is read is hostile. No state, any thread.
 */
#ifndef DECIMA_STORAGE_LOCAL_ROWS_FRAME_H
#define DECIMA_STORAGE_LOCAL_ROWS_FRAME_H

#include "core/base/buf.h"
#include "plugins/storage/local/head.h"
#include "plugins/storage/local/pfor.h"

enum { ROWS_FRAME_MAX_ROWS = 1 << 24 }; /* of one era */

/*
 * Appends the frame of a plan that was not applied yet, and of the batches[n] that are in it: -EFBIG
 * (too many rows), -ENOMEM. Profiles of one era are in the order in which they are applied.
 */
int rows_frame__encode(const struct heads_plan *plan, struct dcm_batch *const *batches, size_t n,
		       struct buf *to);

/* Walks over a frame: open(), then id() n_ids times, then part() n_parts times. */
struct rows_frame {
	struct pfor_in in; /* what is left */
	uint32_t n_ids, n_parts;
};

/* One era's. */
struct rows_part {
	uint32_t era;
	int64_t begin_ms;
	uint32_t n_profiles, n_rows;
	const uint8_t *record; /* [n_record] bytes; none: the dictionary has gained nothing */
	uint32_t n_record;
	struct dict_counts counts; /* of the dictionary, with the record */
	struct pfor_in columns;
};

/* 0 or -EBADMSG. */
int rows_frame__open(struct rows_frame *f, const uint8_t *p, size_t n);
struct dcm_batch_id rows_frame__id(struct rows_frame *f);
/* 0 or -EBADMSG. */
int rows_frame__part(struct rows_frame *f, struct rows_part *ret);
/* Was that all of it? */
bool rows_frame__at_end(const struct rows_frame *f);

/*
 * Plans a part's profiles into the streams over its era's dictionary, which has the record. 0,
 * -ENOMEM, or -EBADMSG: some may be planned.
 */
int rows_part__plan(const struct rows_part *p, struct streams *s, struct streams_plan *plan);

#endif
