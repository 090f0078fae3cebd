/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/buf.c - bytes that grow, up to a limit
 *
 * Room grows by half, so that appends cost amortised constant time; one byte more than the content
 * is kept for the NUL. Single-threaded.
 */
#include "core/base/buf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

enum { CAP_MIN = 64 };

static size_t limit_of(const struct buf *b)
{
	return b->limit ? b->limit : (size_t)1 << 48;
}

void buf__fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ .limit = b->limit };
}

void buf__wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf__fini(b);
}

void buf__reset(struct buf *b)
{
	b->n = 0;
	b->error = 0;
	if (b->data)
		b->data[0] = '\0';
}

uint8_t *buf__reserve(struct buf *b, size_t n)
{
	size_t limit = limit_of(b), need, cap;
	uint8_t *data;

	if (b->error)
		return NULL;
	if (b->n > limit || n > limit - b->n) {
		b->error = -EFBIG;
		return NULL;
	}
	need = b->n + n + 1;
	if (need <= b->cap)
		return b->data + b->n;
	cap = b->cap + b->cap / 2;
	if (cap > limit + 1)
		cap = limit + 1;
	if (cap < CAP_MIN)
		cap = CAP_MIN;
	if (cap < need)
		cap = need;
	data = realloc(b->data, cap);
	if (!data) {
		b->error = -ENOMEM;
		return NULL;
	}
	b->data = data;
	b->cap = cap;
	return data + b->n;
}

static void advance(struct buf *b, size_t n)
{
	b->n += n;
	b->data[b->n] = '\0';
}

void buf__append(struct buf *b, const void *p, size_t n)
{
	uint8_t *to = buf__reserve(b, n);

	if (!to)
		return;
	if (n)
		memcpy(to, p, n);
	advance(b, n);
}

void buf__str(struct buf *b, struct dcm_str s)
{
	buf__append(b, s.p, s.n);
}

void buf__text(struct buf *b, const char *s)
{
	buf__append(b, s, strlen(s));
}

void buf__byte(struct buf *b, uint8_t c)
{
	buf__append(b, &c, 1);
}

void buf__vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	uint8_t *to;
	int n;

	if (b->error)
		return;
	va_copy(again, ap);
	n = vsnprintf(b->cap ? (char *)b->data + b->n : NULL, b->cap - b->n, fmt, ap);
	if (n < 0) {
		b->error = -errno;
	} else if ((size_t)n < b->cap - b->n && (size_t)n <= limit_of(b) - b->n) {
		b->n += (size_t)n;
	} else {
		to = buf__reserve(b, (size_t)n);
		if (to) {
			vsnprintf((char *)to, (size_t)n + 1, fmt, again);
			b->n += (size_t)n;
		}
	}
	va_end(again);
	if (b->error && b->data)
		b->data[b->n] = '\0'; /* takes back what the first try wrote */
}

void buf__printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf__vprintf(b, fmt, ap);
	va_end(ap);
}

/* Of n bytes and a NUL, without asking for more. */
static bool has_room(const struct buf *b, size_t n)
{
	return !b->error && b->cap - b->n > n && b->n + n <= limit_of(b);
}

/* Columns of numbers are written by this: where there is room, in place. */
void buf__varint(struct buf *b, uint64_t v)
{
	uint8_t bytes[10], *const to = has_room(b, sizeof(bytes)) ? b->data + b->n : bytes;
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (uint8_t)(v | 0x80);
	to[n++] = (uint8_t)v;
	if (to == bytes)
		buf__append(b, bytes, n);
	else
		advance(b, n);
}

void buf__zigzag(struct buf *b, int64_t v)
{
	buf__varint(b, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

void buf__le32(struct buf *b, uint32_t v)
{
	uint8_t bytes[4];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	buf__append(b, bytes, sizeof(bytes));
}

void buf__le64(struct buf *b, uint64_t v)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	buf__append(b, bytes, sizeof(bytes));
}

/* The two-character escape of JSON for c, or 0 (RFC 8259 section 7). */
static char short_escape(char c)
{
	switch (c) {
	case '"':
	case '\\':
		return c;
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	default:
		return 0;
	}
}

void buf__json(struct buf *b, struct dcm_str s)
{
	uint32_t plain = 0; /* start of what is copied as it is */
	unsigned len;

	buf__byte(b, '"');
	for (uint32_t i = 0; i < s.n; i += len) {
		char c = s.p[i], esc = short_escape(c);
		bool ok = (len = str__utf8_len(s.p + i, s.n - i)) > 0;

		if (ok && !esc && (uint8_t)c >= 0x20)
			continue;
		buf__append(b, s.p + plain, i - plain);
		if (!ok)
			buf__text(b, "\xef\xbf\xbd");
		else if (esc)
			buf__append(b, (char[]){ '\\', esc }, 2);
		else
			buf__printf(b, "\\u%04x", (unsigned)(uint8_t)c);
		len = 1;
		plain = i + 1;
	}
	if (plain < s.n)
		buf__append(b, s.p + plain, s.n - plain);
	buf__byte(b, '"');
}

uint8_t *buf__take(struct buf *b, size_t *ret_n)
{
	uint8_t *data = b->data;

	*ret_n = b->n;
	*b = (struct buf){ .limit = b->limit };
	return data;
}
