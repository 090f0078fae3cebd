/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/bytes.h - numbers out of foreign bytes, never beyond their end
 *
 * Reading past the end yields 0 and makes the reader `bad`; one look at the end of a group of reads
 * suffices. Little-endian, as the files are.
 */
#ifndef DECIMA_EBPF_UNWIND_BYTES_H
#define DECIMA_EBPF_UNWIND_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *p, *end;
	bool bad;
};

/* What is left, up to the reader's end. */
static inline size_t bytes__left(const struct bytes *b)
{
	return (size_t)(b->end - b->p);
}

static inline const uint8_t *bytes__skip(struct bytes *b, uint64_t n)
{
	const uint8_t *p = b->p;

	if (n > bytes__left(b)) {
		b->bad = true;
		b->p = b->end;
		return p;
	}
	b->p += n;
	return p;
}

/* The next n <= 8 bytes as a number. */
static inline uint64_t bytes__fixed(struct bytes *b, unsigned n)
{
	uint64_t v = 0;

	if (n > bytes__left(b)) {
		b->bad = true;
		b->p = b->end;
		return 0;
	}
	memcpy(&v, b->p, n);
	b->p += n;
	return v;
}

static inline uint8_t bytes__u8(struct bytes *b)
{
	if (b->p == b->end) {
		b->bad = true;
		return 0;
	}
	return *b->p++;
}

/* The bits of a LEB128 number, how many there were, and its last byte. */
static inline uint64_t bytes__leb(struct bytes *b, unsigned *ret_bits, uint8_t *ret_last)
{
	uint64_t v = 0;
	uint8_t c;
	unsigned shift = 0;

	do {
		c = bytes__u8(b);
		if (shift < 64)
			v |= (uint64_t)(c & 0x7f) << shift;
		shift += 7;
	} while (c & 0x80);
	*ret_bits = shift;
	*ret_last = c;
	return v;
}

static inline uint64_t bytes__uleb(struct bytes *b)
{
	unsigned bits;
	uint8_t last;

	return bytes__leb(b, &bits, &last);
}

static inline int64_t bytes__sleb(struct bytes *b)
{
	unsigned bits;
	uint8_t last;
	uint64_t v = bytes__leb(b, &bits, &last);

	if (bits < 64 && last & 0x40)
		v |= ~(uint64_t)0 << bits;
	return (int64_t)v;
}

#endif
