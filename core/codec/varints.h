/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/varints.h - packed varints of few bytes, many at a time
 *
 * The stacks of a profile are long lists of small numbers, whose lengths no processor can guess: to
 * read them one by one costs a wrong guess for every other. Any thread.
 */
#ifndef DECIMA_CODEC_VARINTS_H
#define DECIMA_CODEC_VARINTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Numbers read, each less `base` modulo 2^32: v[n], with room for max. What stands behind the n is
 * undefined. `largest` becomes the largest that was appended, if that is larger.
 */
struct varints {
	uint32_t *v;
	uint32_t n, max;
	uint32_t base, largest;
};

/*
 * Reads varints of one to three bytes from p up to end, and appends them. Returns where it stopped:
 * at the end, or at the beginning of the first that is longer, that is cut off, or for which there
 * is no room. p stands behind a field's tag and length, which can be read too, as can everything
 * before `limit` >= end. As long as there is room for VARINTS_SPARE more, it goes fast.
 */
enum { VARINTS_SPARE = 16 };
const uint8_t *varints__read(const uint8_t *p, const uint8_t *end, const uint8_t *limit,
			     struct varints *ret);

/* How many varints end in n bytes. */
uint64_t varints__count(const uint8_t *p, size_t n);

/* Reads without the processor's vectors, which not each has: for tests. */
const uint8_t *varints__read_plain(const uint8_t *p, const uint8_t *end, struct varints *ret);

#endif
