/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/arrow.h - streams of Arrow's IPC, in only: as much of the format as Parca's clients write
 *
 * Sources: https://arrow.apache.org/docs/format/Columnar.html, format/{Schema,Message}.fbs of apache/arrow, and
 * https://flatbuffers.dev/internals for the metadata, which arrow_meta.h reads.
 *
 * A stream is a schema, and then dictionaries and batches of rows. Types: integers, booleans, timestamps and durations; binary,
 * utf8, their large forms and their views; binary of a fixed size; lists, large lists and list views; structs; run-end encoding;
 * dictionaries of any of these, also deltas and replacements. Buffers plain, or packed by LZ4 or zstd. All else is refused by name.
 *
 * When a batch is read it is checked that its buffers are there and as long as its arrays want, and that run ends ascend, since they
 * are searched. What else they say (offsets, indices) is checked where it is used, so that nothing is gone through that nobody asks
 * for.
 *
 * Limits: max_bytes for all that is unpacked, ARROW_MAX_FIELDS, ARROW_MAX_DEPTH. Any thread; one stream belongs to one at a time.
 */
#ifndef DECIMA_CODEC_ARROW_H
#define DECIMA_CODEC_ARROW_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/vec.h"

enum {
	ARROW_MAX_FIELDS = 4096, /* of a schema, with those in others */
	ARROW_MAX_DEPTH = 16,	 /* of fields in fields */
	ARROW_MAX_PIECES = 65536 /* deltas of a dictionary */
};

enum arrow_kind {
	ARROW_NUMBER,
	ARROW_TEXT,  /* bytes between offsets */
	ARROW_VIEWS, /* bytes, short ones in place */
	ARROW_FIXED, /* bytes, as many each */
	ARROW_LIST,
	ARROW_LIST_VIEW,
	ARROW_STRUCT,
	ARROW_RUNS
};

struct arrow_number {
	uint32_t bits; /* 1, 8, 16, 32 or 64 */
	bool is_signed;
};

struct arrow_dictionary;

struct arrow_field {
	struct dcm_str name;
	enum arrow_kind kind;
	struct arrow_number number; /* ARROW_NUMBER */
	int64_t unit_ns;	    /* of timestamps and durations; 0: it is neither */
	uint32_t width;		    /* of an offset, or of a fixed entry, in bytes */
	struct arrow_field *children;
	uint32_t n_children;
	/* NULL: none. Else an array has indices, and what is above is said of its entries. */
	struct arrow_dictionary *dictionary;
	struct arrow_number index;
};

struct arrow_bytes {
	const uint8_t *p;
	uint64_t n;
};

struct arrow_array {
	const struct arrow_field *field;
	uint64_t n;
	struct arrow_bytes valid;     /* bits; n 0: all are */
	struct arrow_bytes entries;   /* numbers, indices, offsets, views, fixed entries */
	struct arrow_bytes more;      /* the bytes of texts; the sizes of list views */
	struct arrow_bytes *variadic; /* of views */
	uint32_t n_variadic;
	struct arrow_array *children; /* as the field's; of runs: their ends and values */
};

struct arrow_stream {
	struct dcm_error *err;
	uint64_t left; /* bytes that may yet be unpacked, and taken for arrays */
	const uint8_t *p, *end;
	uint32_t n_messages; /* read */
	struct arena fields, batch;
	struct arrow_field *schema;
	uint32_t n_fields;
	uint32_t n_all;		/* with those in others */
	struct dcm_str version; /* parca_write_schema_version of the schema's metadata */
	VEC(struct arrow_dictionary *) dictionaries;
	VEC(void *) unpacked; /* buffers */
};

/* An entry, where it really is: behind run ends and dictionaries. */
struct arrow_cell {
	const struct arrow_array *array; /* NULL: null */
	uint64_t i;
};

/* Reads the schema. The bytes outlive the stream. -EINVAL, -E2BIG or -ENOMEM. */
int arrow__open(struct arrow_stream *s, const uint8_t *data, size_t n, uint64_t max_bytes,
		struct dcm_error *err);
void arrow__close(struct arrow_stream *s); /* also after open() failed */

/*
 * The next batch: 1 and its columns, which last until the next call; 0 at the end. Dictionaries on the way are kept, and may
 * change with each call.
 */
int arrow__next(struct arrow_stream *s, uint64_t *ret_n_rows, struct arrow_array **ret_columns);

/* The column or child of that name; NULL: there is none. */
const struct arrow_array *arrow__find(const struct arrow_array *arrays, uint32_t n, const char *name);
const struct arrow_array *arrow__child(const struct arrow_array *a, const char *name);

/* Entry i of an array, i < a->n or -EINVAL. */
int arrow__cell(struct arrow_stream *s, const struct arrow_array *a, uint64_t i, struct arrow_cell *ret);
/* As text or bytes; "" for null. */
int arrow__text(struct arrow_stream *s, const struct arrow_array *a, uint64_t i, struct dcm_str *ret);
/* As a number (unsigned ones keep their bits), times as nanoseconds; 0 for null. */
int arrow__number(struct arrow_stream *s, const struct arrow_array *a, uint64_t i, int64_t *ret);
/* As a list: entries [off, off + n) of *ret_of; n 0 for null. */
int arrow__list(struct arrow_stream *s, const struct arrow_array *a, uint64_t i,
		const struct arrow_array **ret_of, uint64_t *ret_off, uint64_t *ret_n);

/* -EINVAL with "message 3: column NAME: WHAT". */
int arrow__fault(struct arrow_stream *s, const struct arrow_array *a, const char *what);

#endif
