/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/pb_text.h - protobuf messages written as text, so that tests can be read
 *
 *	1:5         a number (also negative)         6:'text'     bytes
 *	1:[1 2 3]   packed numbers                   4:{1:1 2:7}  a message
 *	9:(1:2)     a group                          9:#5  9:%5   fixed 64 and 32 bits
 *
 * Header only; a fault in the text ends the program.
 */
#ifndef DECIMA_TESTS_UNIT_PB_TEXT_H
#define DECIMA_TESTS_UNIT_PB_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"

static inline void pb_text__fail(const char *at)
{
	fprintf(stderr, "pb_text: cannot read: %s\n", at);
	abort();
}

static inline const char *pb_text__put(struct buf *out, const char *p, char until);

static inline const char *pb_text__packed(struct buf *out, const char *p)
{
	char *next;

	while (*p != ']') {
		buf__varint(out, *p == '-' ? (uint64_t)strtoll(p, &next, 0) : strtoull(p, &next, 0));
		if (next == p)
			pb_text__fail(p);
		for (p = next; *p == ' ';)
			p++;
	}
	return p + 1;
}

static inline const char *pb_text__bytes(struct buf *out, uint64_t field, const char *p)
{
	struct buf inner = { 0 };

	if (*p == '{')
		p = pb_text__put(&inner, p + 1, '}') + 1;
	else if (*p == '[')
		p = pb_text__packed(&inner, p + 1);
	else {
		const char *end = strchr(p + 1, '\'');
		if (!end)
			pb_text__fail(p);
		buf__append(&inner, p + 1, (size_t)(end - p - 1));
		p = end + 1;
	}
	buf__varint(out, field << 3 | 2);
	buf__varint(out, inner.n);
	buf__append(out, inner.data, inner.n);
	buf__fini(&inner);
	return p;
}

static inline const char *pb_text__value(struct buf *out, uint64_t field, const char *p)
{
	char *next;

	if (*p == '{' || *p == '[' || *p == '\'')
		return pb_text__bytes(out, field, p);
	if (*p == '(') {
		buf__varint(out, field << 3 | 3);
		p = pb_text__put(out, p + 1, ')') + 1;
		buf__varint(out, field << 3 | 4);
		return p;
	}
	char how = *p == '#' || *p == '%' ? *p++ : 0;
	uint64_t v = *p == '-' ? (uint64_t)strtoll(p, &next, 0) : strtoull(p, &next, 0);
	if (next == p)
		pb_text__fail(p);
	buf__varint(out, field << 3 | (how == '#' ? 1u : how == '%' ? 5u : 0u));
	if (how == '#')
		buf__le64(out, v);
	else if (how == '%')
		buf__le32(out, (uint32_t)v);
	else
		buf__varint(out, v);
	return next;
}

static inline const char *pb_text__put(struct buf *out, const char *p, char until)
{
	char *next;

	for (;;) {
		while (*p == ' ')
			p++;
		if (*p == until)
			return p;
		uint64_t field = strtoull(p, &next, 10);
		if (next == p || *next != ':')
			pb_text__fail(p);
		p = pb_text__value(out, field, next + 1);
	}
}

/* Appends what the text says. */
static inline void pb_text__append(struct buf *out, const char *text)
{
	pb_text__put(out, text, '\0');
}

#endif
