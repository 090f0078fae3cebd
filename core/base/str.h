/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/str.h - (pointer, length) text, and the few questions asked of it
 */
#ifndef DECIMA_BASE_STR_H
#define DECIMA_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <decima/plugin.h>

/* A literal, and any NUL-terminated text (NULL reads as empty). */
#define STR(literal) ((struct dcm_str){ "" literal, sizeof(literal) - 1 })
static inline struct dcm_str str__of(const char *s)
{
	return (struct dcm_str){ s ? s : "", s ? (uint32_t)strlen(s) : 0 };
}

static inline bool str__eq(struct dcm_str a, struct dcm_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* Byte order, shorter first on a tie: the order of labels everywhere. */
int str__cmp(struct dcm_str a, struct dcm_str b);

bool str__starts(struct dcm_str s, struct dcm_str prefix);
bool str__ends(struct dcm_str s, struct dcm_str suffix);

/* Without the blanks, tabs and carriage returns around it. */
struct dcm_str str__trim(struct dcm_str s);

/* A media type without its parameters: "text/plain" of "text/plain; charset=utf-8" (RFC 9110, 8.3.1). */
struct dcm_str str__media_type(struct dcm_str content_type);

/*
 * Optimal string alignment distance (edits and neighbour swaps), for "did you mean". What is above
 * `limit` is not told apart: it yields limit + 1, and so do texts of more than 128 bytes.
 */
unsigned str__distance(struct dcm_str a, struct dcm_str b, unsigned limit);

/* True when the bytes are well-formed UTF-8 (RFC 3629). */
bool str__is_utf8(struct dcm_str s);
/* What a batch takes as a label's name: that, not empty, and without control characters (C0, DEL). */
bool str__is_label_name(struct dcm_str s);

/*
 * Bytes of the well-formed UTF-8 character at p, of which n bytes may be read: 1 to 4, or 0 when
 * there is none.
 */
unsigned str__utf8_len(const char *p, size_t n);
/* The code point of the n bytes (1 to 4) that str__utf8_len() told. */
uint32_t str__utf8_char(const char *p, unsigned n);
/* Writes a code point (at most 0x10ffff) and returns how many bytes it takes, 1 to 4. */
unsigned str__utf8_put(uint32_t c, char to[static 4]);

/* The largest length <= n that does not end inside a character: for cutting text to a buffer. */
size_t str__utf8_cut(const char *p, size_t n);

/*
 * In place: control characters (C0, DEL, C1) and bytes that are not UTF-8 become '?', for a line on
 * a terminal.
 */
void str__clean(char *p, size_t n);

/* 0 to 15, or -1. */
static inline int str__hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* printf's "%.*s" arguments of a dcm_str. */
#define STR_ARG(s) ((int)(s).n), ((s).p)

#endif
