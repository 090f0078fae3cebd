/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/wire_read.h - reads tables and rows as batches have them on the wire
 *
 * What wire_decode.c and session_decode.c share: the former reads all into a new builder, the latter what is new into one
 * that it keeps, with the maps from the sender's ids to the builder's.
 */
#ifndef DECIMA_CODEC_WIRE_READ_H
#define DECIMA_CODEC_WIRE_READ_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/batch/builder.h"
#include "core/codec/wire_tables.h"

enum wire_map_of {
	WIRE_STRINGS,
	WIRE_MAPPINGS,
	WIRE_FUNCTIONS,
	WIRE_PROCESSES,
	WIRE_LOCATIONS,
	WIRE_STACKS,
	WIRE_SERIES,
	WIRE_LABEL_SETS,
	WIRE_N_MAPS
};

/* The builder's ids of the entries read so far, by their ids in the bytes. */
struct wire_maps {
	struct wire_map {
		uint32_t *ids; /* [n] of [cap] */
		uint32_t n, cap;
	} of[WIRE_N_MAPS];
};

/* Nothing was read yet. 0 or -ENOMEM; fini() in any case, of a zeroed one too. */
int wire_maps__init(struct wire_maps *m);
void wire_maps__fini(struct wire_maps *m);
uint64_t wire_maps__bytes(const struct wire_maps *m);

struct wire_reader {
	const uint8_t *p, *end;
	const char *where; /* the table at hand, for sentences */
	struct dcm_builder *b;
	struct wire_maps *maps;
};

/* 0: a body follows that is all there is, and as it was written; -EBADMSG, -EPROTONOSUPPORT. */
int wire_read__header(const uint8_t *data, size_t n, const struct wire_header *h, struct dcm_error *err);

/* These return false when the builder has failed; the first two, without one, when the bytes are damaged. */
bool wire_read__number(struct wire_reader *d, uint64_t *ret);
bool wire_read__hash(struct wire_reader *d, struct dcm_hash *ret);
/* The id, the tables, profiles and rows, up to the end. */
bool wire_read__batch(struct wire_reader *d);

#endif
