/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pb_json.h - JSON of protobuf's messages into their bytes
 *
 * As protobuf.dev/programming-guides/json has it: numbers of 64 bits may be text, bytes are base64 of either alphabet, null is
 * nothing. Keys that are not in the tables are passed over. What a message says is told by tables, of those fields that
 * somebody reads. Pure functions; any thread.
 */
#ifndef DECIMA_CODEC_PB_JSON_H
#define DECIMA_CODEC_PB_JSON_H

#include <decima/plugin.h>

#include "core/base/buf.h"

enum pb_json_kind {
	PB_JSON_MESSAGE,
	PB_JSON_TEXT,
	PB_JSON_INT,
	PB_JSON_INTS, /* packed */
	PB_JSON_FIXED,
	PB_JSON_FIXEDS,
	PB_JSON_BOOL,
	PB_JSON_DOUBLE,
	PB_JSON_BYTES,
	PB_JSON_ID, /* OTLP's: hexadecimal of 8 or 16 bytes, or base64 */
	PB_JSON_REFUSED,
};

struct pb_json_message;
struct pb_json_field {
	const char *name;
	uint8_t number, kind;		  /* enum pb_json_kind */
	const struct pb_json_message *of; /* of PB_JSON_MESSAGE */
};
struct pb_json_message {
	const char *name;
	const struct pb_json_field *fields; /* up to a NULL name; one field may have several */
};

struct pb_json {
	const char *format; /* before each sentence */
	const struct pb_json_message *root;
	const char *refusal; /* "is ..": what is wrong with fields that are refused */
};

/*
 * Appends the root message's bytes. The text may have max_bytes, and what is made of it 16 times as much. 0; -EINVAL and -E2BIG with
 * a sentence; -ENOMEM.
 */
int pb_json__read(const struct pb_json *how, const uint8_t *data, size_t n, uint64_t max_bytes,
		  struct buf *out, struct dcm_error *err);

#endif
