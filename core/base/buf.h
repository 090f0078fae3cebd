/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/buf.h - bytes that grow, up to a limit
 *
 * The first append that fails (out of memory, or over the limit) makes the buffer sticky-failed:
 * later appends do nothing, and `error` holds -ENOMEM or -EFBIG. Writers therefore check once, at
 * the end. Single-threaded.
 */
#ifndef DECIMA_BASE_BUF_H
#define DECIMA_BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

struct buf {
	uint8_t *data; /* [n], and [cap] allocated; a NUL follows the last byte once anything was appended */
	size_t n, cap;
	size_t limit; /* bytes; 0: 2^48 */
	int error;    /* 0 or a negative errno */
};

void buf__fini(struct buf *b);
void buf__wipe(struct buf *b);	/* the same for what is secret: zeroes are left in the memory */
void buf__reset(struct buf *b); /* empty, keeps the memory, clears the error */

/*
 * Room for n more bytes and a NUL; returns where they go (caller adds to b->n, and puts the NUL
 * where it matters) or NULL.
 */
uint8_t *buf__reserve(struct buf *b, size_t n);

/* The source is not in the buffer itself: it may move. */
void buf__append(struct buf *b, const void *p, size_t n);
void buf__str(struct buf *b, struct dcm_str s);
void buf__text(struct buf *b, const char *s);
void buf__byte(struct buf *b, uint8_t c);
void buf__printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf__vprintf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
void buf__varint(struct buf *b, uint64_t v); /* LEB128, as in protobuf */
void buf__zigzag(struct buf *b, int64_t v);
void buf__le32(struct buf *b, uint32_t v);
void buf__le64(struct buf *b, uint64_t v);
/* The text as a JSON string with quotes; bytes that are not UTF-8 become U+FFFD. */
void buf__json(struct buf *b, struct dcm_str s);

/* Hands the bytes over (caller frees) and leaves the buffer empty. */
uint8_t *buf__take(struct buf *b, size_t *ret_n);
/* The content, for buffers of less than 4 GiB; valid until the next append. */
static inline struct dcm_str buf__view(const struct buf *b)
{
	return (struct dcm_str){ b->data ? (const char *)b->data : "", (uint32_t)b->n };
}

#endif
