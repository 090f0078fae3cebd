/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/legacy_lines.h - text a line at a time, and what stands in a line
 *
 * Nothing is copied; a line is what stands before a line feed, without a carriage return at its
 * end. Blanks are those of C's isspace() in its own locale, whatever locale is set. Pure functions.
 */
#ifndef DECIMA_CODEC_LEGACY_LINES_H
#define DECIMA_CODEC_LEGACY_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

/* Set p and end (of less than 4 GiB), and zero the rest. */
struct legacy_lines {
	const char *p, *end;
	size_t number;	     /* of the line, from 1 */
	struct dcm_str line; /* as it stands there */
	struct dcm_str text; /* without blanks on both sides */
};

/* The next line; false at the end, and then line and text are empty. */
bool legacy_lines__next(struct legacy_lines *l);
/* The next line that is neither empty nor a comment. */
bool legacy_lines__next_said(struct legacy_lines *l);

bool legacy_lines__is_blank(char c);
struct dcm_str legacy_lines__trim(struct dcm_str s);

/* --- takes from the front of *s, which moves behind it; false, and *s as it was, when it is not there --- */

void legacy_lines__skip_blanks(struct dcm_str *s);
bool legacy_lines__take(struct dcm_str *s, const char *literal);
/* A run of blanks, one at least, and the word behind it. */
bool legacy_lines__take_word(struct dcm_str *s, struct dcm_str *ret);

enum legacy_number { LEGACY_NO_NUMBER, LEGACY_NUMBER, LEGACY_TOO_LARGE };

/* Decimal digits, perhaps behind a '-'. */
enum legacy_number legacy_lines__take_int(struct dcm_str *s, int64_t *ret);
/* Hexadecimal digits of either case, perhaps behind "0x". */
enum legacy_number legacy_lines__take_hex(struct dcm_str *s, uint64_t *ret);
/* The next "0x" with lower case hexadecimal digits, whatever stands before it. */
enum legacy_number legacy_lines__find_address(struct dcm_str *s, uint64_t *ret);

#endif
