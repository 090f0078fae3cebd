/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/batch/type.h - profile types as text, and what is known of the usual ones
 *
 * A part of a type holds letters, digits and the punctuation below, at most 128 bytes: so that a
 * selector can be read without quoting (type{label="v"}) and the text can stand in a URL, a log
 * line or a table. Codecs bring what they find into that form with type__clean().
 */
#ifndef DECIMA_BATCH_TYPE_H
#define DECIMA_BATCH_TYPE_H

#include <stdbool.h>

#include <decima/plugin.h>

#define TYPE_PART_PUNCTUATION "_.-/+@"
#define TYPE_PART_MAX_BYTES   128

/*
 * The five parts of "name:sample_type:sample_unit:period_type:period_unit[:delta]"; views into the
 * text.
 */
struct type_text {
	struct dcm_str name, sample_type, sample_unit, period_type, period_unit;
	bool delta;
};

/* 0, or -EINVAL with a sentence. Parts may be empty but for the name and the sample type. */
int type__parse(struct dcm_str text, struct type_text *ret, struct dcm_error *err);

/* True when a builder takes the text as a part of a type (the empty one too). */
bool type__is_part(struct dcm_str part);

/*
 * In place: characters that a part may not have become '_'. Returns the length to use, cut to what
 * a part may have.
 */
uint32_t type__clean(char *part, uint32_t n);

/* Length of the text (without NUL, which is written when it fits); cut at `cap` bytes. */
uint32_t type__format(const struct dcm_batch *b, const struct dcm_type *t, char *out, uint32_t cap);

/*
 * What the field's producers mean by a type that is not marked delta: Go's heap inuse_* and
 * goroutine are gauges, alloc_*, mutex, block and threadcreate's are cumulative; anything unknown
 * is a gauge.
 */
enum dcm_temporality type__usual(const struct type_text *t);

/*
 * One sentence on what the values are, for people ("CPU time"); "" when the type is not a usual
 * one.
 */
const char *type__describe(const struct type_text *t);

#endif
