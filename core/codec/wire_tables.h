/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/wire_tables.h - which fields of which table are columns of the wire format, and how
 *
 * One list for both directions: what is written is what is read, in this order. docs/FORMATS.md
 * describes the bytes. Private to the files wire_* and session_*.
 */
#ifndef DECIMA_CODEC_WIRE_TABLES_H
#define DECIMA_CODEC_WIRE_TABLES_H

#include <decima/plugin.h>

enum {
	WIRE_MAGIC_BYTES = 4,
	WIRE_HEADER_BYTES = 24, /* magic, u16 version, u16 flags, u64 bytes of body, u64 xxh3-64 of it */
	WIRE_VARINT_MAX_BYTES = 10,
};

/* How bytes begin. */
struct wire_header {
	char magic[WIRE_MAGIC_BYTES];
	uint16_t version;
	const char *what; /* for sentences */
};
extern const struct wire_header wire__batch_header;   /* wire.h */
extern const struct wire_header wire__session_header; /* session.h */

enum wire_how {
	WIRE_U8,  /* uint8_t as one byte */
	WIRE_U32, /* uint32_t as a varint */
	WIRE_ID,  /* uint32_t plus 1 as a varint: 0 is DCM_NONE */
	WIRE_U64, /* uint64_t as a varint */
	WIRE_I64, /* int64_t, zigzag, as a varint */
};

struct wire_column {
	uint32_t offset; /* of the field in its struct */
	enum wire_how how;
};

struct wire_table {
	const char *name; /* for sentences */
	uint32_t stride;  /* size of the struct */
	uint32_t n_columns;
	struct wire_column columns[7];
};

#define WIRE_TABLE(text, type, n) .name = (text), .stride = sizeof(type), .n_columns = (n)

extern const struct wire_table wire__mappings;
extern const struct wire_table wire__functions;
extern const struct wire_table wire__processes;
extern const struct wire_table wire__locations;
extern const struct wire_table wire__lines;
extern const struct wire_table wire__stack_locations;
extern const struct wire_table wire__pairs;
extern const struct wire_table wire__labels;
extern const struct wire_table wire__types;
extern const struct wire_table wire__profiles;

#endif
