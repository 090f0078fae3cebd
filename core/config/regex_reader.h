/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/regex_reader.h - the position in a pattern, and the escapes that stand in classes and
 * outside alike
 */
#ifndef DECIMA_CONFIG_REGEX_READER_H
#define DECIMA_CONFIG_REGEX_READER_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

struct regex_reader {
	struct dcm_str in;
	uint32_t at;
	struct buf *out;
	struct dcm_error *err;
};

/* The byte k places on, or 0 behind the end. */
static inline char regex_reader__peek(const struct regex_reader *r, uint32_t k)
{
	return k < r->in.n - r->at ? r->in.p[r->at + k] : '\0';
}

/* "regular expression "PATTERN": SENTENCE (offset N)", N of the construct's first byte. -EINVAL. */
int regex_reader__refuse(const struct regex_reader *r, uint32_t offset, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Takes one UTF-8 character. The pattern has been checked, so there is one. */
uint32_t regex_reader__take(struct regex_reader *r);

/* Writes a character so that it means itself, inside classes and outside. */
void regex_reader__literal(struct regex_reader *r, uint32_t c);

enum regex_escape {
	REGEX_CHARACTER, /* \n \x41 \. */
	REGEX_PERL,	 /* \d \D \s \S \w \W */
	REGEX_PROPERTY,	 /* \pL \p{Greek}, written to out already */
	REGEX_OTHER,	 /* a letter that means something outside classes, or nothing */
};

/*
 * At a backslash. Takes the escape unless it is REGEX_OTHER. *ret is the character, or the letter
 * of REGEX_PERL and REGEX_OTHER. Negative: refused.
 */
int regex_reader__escape(struct regex_reader *r, uint32_t *ret);

/* At a `[`: takes the class and writes it. 0 or -EINVAL. */
int regex_reader__class(struct regex_reader *r);

#endif
