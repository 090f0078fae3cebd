/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/compact_stream.h - a part's profiles, one after the other
 *
 * A stream gets a reader when its first profile is next and gives it back after the last, so that
 * chunks which follow each other in time share one. One thread.
 */
#ifndef DECIMA_STORAGE_LOCAL_COMPACT_STREAM_H
#define DECIMA_STORAGE_LOCAL_COMPACT_STREAM_H

#include "core/base/vec.h"
#include "plugins/storage/local/compact_parts.h"

/* A place in the profiles of a chunk, and what reading them needs. */
struct compact_reader {
	struct compact_reader *next; /* in the pool */
	struct chunk_cursor *cursor;
	struct chunk_profiles profiles;
	VEC(uint32_t) stacks, label_sets; /* the chunk's */
	struct chunk_page page;		  /* rows [page.row, page.row + page.n) */
};

struct compact_stream {
	const struct compact_part *part;
	struct compact_reader *reader; /* NULL: not begun */
	uint32_t profile;	       /* the next one */
	uint64_t row;		       /* its first */
	int64_t time_ms;	       /* its time, also before there is a reader */
	bool ended;
};

/* Of the output chunk: values of each type are `cap` apart. Zeroed is empty. */
struct compact_rows {
	VEC(struct chunk_profile) profiles;
	uint32_t *stacks, *labels; /* [cap] */
	int64_t *values;	   /* [n_types][cap] */
	size_t cap, n;
	size_t n_types, n_values; /* of the chunk at hand; room in values */
};

/* Of readers that no stream has. NULL works. */
void compact_readers__fini(struct compact_reader *pool);

/* Takes a reader to the part's first profile. 0, -ENOMEM, or -EBADMSG. */
int compact_stream__begin(struct compact_stream *s, struct compact_reader **pool);
void compact_stream__end(struct compact_stream *s, struct compact_reader **pool);

/* The stream's next n rows, behind those that are there and not counted yet. As begin. */
int compact_stream__copy(const struct compact_stream *s, struct compact_rows *rows, uint32_t n);
void compact_rows__fini(struct compact_rows *rows);

#endif
