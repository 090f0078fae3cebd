/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/otlp_input.h - an OTLP request while it is read: private to otlp_*.c
 *
 * A first pass over the dictionary notes where each entry stands. Then resources, scopes, profiles and samples are gone
 * through, and what they refer to is made when it is first used: so an entry that nobody uses costs its place, and is not
 * checked. Rows are collected, because those of one profile of the batch come from several of the request, and are added last.
 */
#ifndef DECIMA_CODEC_OTLP_INPUT_H
#define DECIMA_CODEC_OTLP_INPUT_H

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/protobuf.h"
#include "core/base/vec.h"
#include "core/batch/limits.h"
#include "core/codec/decode.h"
#include "core/codec/otlp_layout.h"

enum {
	OTLP_MAX_PROFILES = 65536, /* of a request, and of what is made of it */
	OTLP_MAX_KEY = 256,	   /* bytes of an attribute's key */
	OTLP_MAX_TEXT = 4096,	   /* bytes that a value which is no string may take as text */
	OTLP_MAX_DEPTH = 16	   /* of such values in each other */
};

/* Where a message (or a string) stands in the bytes. */
struct otlp_piece {
	uint32_t off, n;
};
typedef VEC(struct otlp_piece) otlp_pieces;

enum otlp_kind { OTLP_NOTHING, OTLP_TEXT, OTLP_NUMBER };

struct otlp_value {
	enum otlp_kind kind;
	struct dcm_str text; /* OTLP_TEXT, in the bytes or the input's arena */
	uint32_t string;     /* OTLP_TEXT: its index, or DCM_NONE */
	int64_t number;
};

struct otlp_attribute {
	bool is_read;
	struct dcm_str key;
	struct otlp_value value;
	struct dcm_label label; /* of a sample; name 0: not made yet */
};

struct otlp_mapping {
	bool is_read;
	struct dcm_mapping raw;
	uint32_t ids[2]; /* the builder's, without and with the range; DCM_NONE: not added yet */
};

struct otlp_link {
	bool is_read;
	struct dcm_label trace, span; /* name 0: none */
};

struct otlp_pair {
	struct dcm_pair ids;
	struct dcm_label_text text;
};

/* A profile of the batch. */
struct otlp_group {
	uint32_t series, type_off, n_types;
	int64_t time_ns, duration_ns, period;
	uint32_t first, last; /* rows; DCM_NONE: none yet */
};

struct otlp_row {
	uint32_t stack, label_set, next; /* next row of the group, or DCM_NONE */
	uint32_t value_off;
};

/* The profile at hand. */
struct otlp_profile {
	uint32_t series;
	uint32_t type_off, n_types;
	int64_t time_ns, duration_ns, period;
	VEC(uint32_t) locations; /* location_indices, where there are such */
	uint32_t range_start, range_n,
		range_stack; /* the last range of them, and what it became; DCM_NONE: none */
	uint32_t group;	     /* the last one that a sample went to; DCM_NONE: none */
};

struct otlp_input {
	const uint8_t *data;
	size_t n;
	const struct otlp_layout *layout;
	const struct decode_options *o;
	struct dcm_builder *b;
	struct dcm_error *err;
	uint64_t max_entries; /* of all tables together, and of rows */
	uint64_t max_cells;   /* locations of all ranges together */
	struct arena arena;

	otlp_pieces tables[OTLP_TABLES];
	uint32_t *string_ids, *function_ids, *location_ids,
		*stack_ids; /* the builder's; DCM_NONE: not made yet */
	struct otlp_mapping *mappings;
	struct otlp_attribute *attributes;
	struct otlp_link *links;

	uint32_t n_profiles;	      /* read, with the one at hand */
	VEC(struct otlp_pair) labels; /* of the series, of the resource first */
	VEC(struct dcm_label) shared; /* labels of all samples of the resource */
	struct otlp_profile profile;

	VEC(struct dcm_type) types;
	VEC(struct otlp_group) groups;
	struct hindex group_index;
	VEC(struct otlp_row) rows;
	VEC(int64_t) values;
};

/* -EINVAL with "otlp 1.10: profile 3: WHAT": the profile when one is at hand. */
int otlp_input__fault(struct otlp_input *in, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* -E2BIG, likewise. */
int otlp_input__excess(struct otlp_input *in, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* What the reader found, as a fault in `what`; 0 when it found none. */
int otlp_input__check(struct otlp_input *in, const char *what, const struct pb_reader *r);
/* Takes n of what entries there may be. */
int otlp_input__charge(struct otlp_input *in, uint64_t n);

static inline struct otlp_piece otlp_input__piece(const struct otlp_input *in, const struct pb_field *f)
{
	return (struct otlp_piece){ (uint32_t)(f->p - in->data), (uint32_t)f->n };
}

static inline struct pb_reader otlp_input__reader(const struct otlp_input *in, struct otlp_piece at)
{
	return pb__reader(in->data + at.off, at.n);
}

/* What is within a field: nothing, when it is no message, which is otlp_input__message()'s to say. */
static inline struct pb_reader otlp_input__within(const struct pb_field *f)
{
	return f->type == PB_BYTES ? pb__reader(f->p, f->n) : pb__reader(NULL, 0);
}

static inline struct dcm_str otlp_input__view(const struct pb_field *f)
{
	return (struct dcm_str){ (const char *)f->p, (uint32_t)f->n };
}

/* The field is a message of `what`, or a fault. */
int otlp_input__message(struct otlp_input *in, const char *what, const struct pb_field *f);

/* A list of numbers, as it comes: one, or packed. */
typedef int (*otlp_number_fn)(struct otlp_input *in, void *ctx, uint64_t v);
int otlp_input__numbers(struct otlp_input *in, const char *what, const struct pb_field *f,
			bool is_fixed, otlp_number_fn take, void *ctx);
/*
 * Fields 1..n of a message of numbers into ret[1..n]; others are passed over. *ret_present (may be NULL): bit k when field k
 * was there.
 */
int otlp_input__fields(struct otlp_input *in, const char *what, struct otlp_piece at, uint32_t n,
		       uint64_t *ret, uint32_t *ret_present);

/* ---- otlp_tables.c ---- */

/* Notes an entry when the field is of a table. */
int otlp_tables__list(struct otlp_input *in, const struct pb_field *f);
int otlp_tables__begin(struct otlp_input *in); /* once all are listed */
void otlp_tables__end(struct otlp_input *in);

int otlp_tables__text(struct otlp_input *in, const char *what, uint64_t index, struct dcm_str *ret);
int otlp_tables__string(struct otlp_input *in, const char *what, uint64_t index, uint32_t *ret);
int otlp_tables__location(struct otlp_input *in, uint64_t index, uint32_t *ret);
int otlp_tables__stack(struct otlp_input *in, uint64_t index, uint32_t *ret);
int otlp_tables__link(struct otlp_input *in, uint64_t index, struct otlp_link **ret);

/* ---- otlp_values.c ---- */

int otlp_values__attribute(struct otlp_input *in, uint64_t index, struct otlp_attribute **ret);
/* A KeyValue as it stands in resources and scopes. */
int otlp_values__key_value(struct otlp_input *in, const struct pb_field *f, struct dcm_str *ret_key,
			   struct otlp_value *ret);
uint32_t otlp_values__string(struct otlp_input *in, const struct otlp_value *v); /* the builder's */

/* ---- otlp_labels.c ---- */

/* Attributes of resource, scope (after `prefix`) or profile into the series' labels. */
int otlp_labels__key_value(struct otlp_input *in, const char *prefix, const struct pb_field *f);
int otlp_labels__attribute(struct otlp_input *in, uint64_t index);
int otlp_labels__text(struct otlp_input *in, const char *key, struct dcm_str value);
/* Labels of the caller, before any other. */
int otlp_labels__callers(struct otlp_input *in);
/* The builder's series of what is there. */
int otlp_labels__series(struct otlp_input *in, uint32_t *ret);

/* A sample's labels: what they refer to, the link as its index or DCM_NONE. */
struct otlp_labels {
	uint32_t n;
	uint32_t attributes[LABELS_MAX];
	uint32_t link;
};
int otlp_labels__set(struct otlp_input *in, const struct otlp_labels *labels, uint32_t *ret);

/* ---- otlp_samples.c ---- */

/* One sample of the profile at hand into rows. */
int otlp_samples__read(struct otlp_input *in, size_t i, const struct pb_field *f);
/* All rows into the builder. */
int otlp_samples__add(struct otlp_input *in);

#endif
