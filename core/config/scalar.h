/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/scalar.h - one text as the value of a row, and back
 */
#ifndef DECIMA_CONFIG_SCALAR_H
#define DECIMA_CONFIG_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

/* The C types of the rows whose value is a single text (table__is_scalar()). */
union scalar {
	bool boolean;
	int64_t integer; /* also durations and sizes */
	double number;
	int32_t choice;
	const char *text; /* borrowed from what was parsed */
};

/*
 * Reads a text by the row's type, unit and choices, then checks it against the row's bounds. text
 * must have a NUL behind it. Regexes and selectors are taken as they are. -EINVAL with the fault
 * and its remedy, without a place.
 */
int scalar__parse(const struct dcm_option *row, struct dcm_str text, union scalar *ret,
		  struct dcm_error *err);

/* Without the bounds: for reading the bounds themselves. */
int scalar__parse_any(const struct dcm_option *row, struct dcm_str text, union scalar *ret,
		      struct dcm_error *err);

/* Equal by content; -0.0 and 0.0 are. */
bool scalar__equal(const struct dcm_option *row, const void *a, const void *b);

/* Copies the value to its place in the struct. */
void scalar__store(const struct dcm_option *row, const union scalar *v, void *at);

/* Negative, 0 or positive as a is below, at or above b; 0 for what has no order. */
int scalar__compare(const struct dcm_option *row, const union scalar *a, const union scalar *b);

#endif
