/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/varints.c - packed varints of few bytes, many at a time
 *
 * With AVX2, 16 bytes are taken in one step without asking where numbers begin: for each byte, the
 * number that would end there is made of it and the two before it; then those that do end are moved
 * together. That takes half the time of one number after the other, whose lengths are guessed
 * wrong.
 */
#include "core/codec/varints.h"

#include <string.h>

/* Eight bytes at a time, each of which counts those in its place: up to 255 of them. */
uint64_t varints__count(const uint8_t *p, size_t n)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t total = 0;

	while (n >= 8) {
		uint64_t counts = 0;
		for (size_t i = 0; i < 255 && n >= 8; i++, p += 8, n -= 8) {
			uint64_t eight;
			memcpy(&eight, p, sizeof(eight));
			counts += ~eight >> 7 & ones;
		}
		total += (counts & 0x00ff00ff00ff00ffu) * 0x0001000100010001u >> 48;
		total += (counts >> 8 & 0x00ff00ff00ff00ffu) * 0x0001000100010001u >> 48;
	}
	for (; n > 0; n--)
		total += *p++ < 0x80;
	return total;
}

const uint8_t *varints__read_plain(const uint8_t *p, const uint8_t *end, struct varints *ret)
{
	uint32_t *v = ret->v, n = ret->n, max = ret->max, largest = ret->largest;

	for (; p < end && n < max; n++) {
		uint32_t value = p[0], n_bytes = 1;
		if (value >= 0x80) {
			if (end - p < 2)
				break;
			value = (value & 0x7f) | (uint32_t)p[1] << 7;
			n_bytes = 2;
		}
		if (value >= 0x80 << 7) {
			if (end - p < 3)
				break;
			value = (value & 0x3fff) | (uint32_t)p[2] << 14;
			n_bytes = 3;
		}
		if (value >= 0x80 << 14)
			break;
		v[n] = value - ret->base;
		largest = v[n] > largest ? v[n] : largest;
		p += n_bytes;
	}
	ret->n = n;
	ret->largest = largest;
	return p;
}

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,popcnt")))

enum { STEP = VARINTS_SPARE };

/* How those of four numbers for which a bit is set move to the front. 0x80: no byte comes here. */
#define LANE(i) 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
#define NONE	0x80, 0x80, 0x80, 0x80
static const _Alignas(16) uint8_t to_front[16][16] = {
	{ NONE, NONE, NONE, NONE },	     { LANE(0), NONE, NONE, NONE },
	{ LANE(1), NONE, NONE, NONE },	     { LANE(0), LANE(1), NONE, NONE },
	{ LANE(2), NONE, NONE, NONE },	     { LANE(0), LANE(2), NONE, NONE },
	{ LANE(1), LANE(2), NONE, NONE },    { LANE(0), LANE(1), LANE(2), NONE },
	{ LANE(3), NONE, NONE, NONE },	     { LANE(0), LANE(3), NONE, NONE },
	{ LANE(1), LANE(3), NONE, NONE },    { LANE(0), LANE(1), LANE(3), NONE },
	{ LANE(2), LANE(3), NONE, NONE },    { LANE(0), LANE(2), LANE(3), NONE },
	{ LANE(1), LANE(2), LANE(3), NONE }, { LANE(0), LANE(1), LANE(2), LANE(3) },
};

/* Where numbers go, and what is kept of them, while they are in the processor. */
struct target {
	uint32_t *v;
	__m128i base, largest; /* four times */
};

/* Appends those of the four numbers whose bit of `ends` is set; writes four. */
AVX2 static inline void append(struct target *to, __m128i four, uint32_t ends)
{
	__m128i order = _mm_load_si128((const __m128i *)to_front[ends]);
	__m128i some = _mm_shuffle_epi8(_mm_sub_epi32(four, to->base), order);

	_mm_storeu_si128((__m128i *)to->v, some);
	to->largest = _mm_max_epu32(to->largest, some);
	to->v += __builtin_popcount(ends);
}

/* Bytes, those before them and those before these. */
struct window {
	__m128i last, before, first;
};

/*
 * Appends the numbers that end at those of 16 bytes whose bit of `ends` is set; writes up to 16.
 * Each has at most 21 bits: the lower 16 and the upper ones are made apart.
 */
AVX2 static inline void append_ends(struct target *to, const struct window *w, uint32_t ends)
{
	const __m256i seven = _mm256_set1_epi16(0x7f);
	__m256i one = _mm256_cvtepu8_epi16(w->last);
	__m256i before = _mm256_cvtepu8_epi16(w->before), first = _mm256_cvtepu8_epi16(w->first);

	__m256i is_two = _mm256_cmpgt_epi16(before, seven);
	__m256i is_three = _mm256_and_si256(is_two, _mm256_cmpgt_epi16(first, seven));
	__m256i two = _mm256_or_si256(_mm256_slli_epi16(one, 7), _mm256_and_si256(before, seven));
	__m256i three = _mm256_or_si256(_mm256_slli_epi16(two, 7), _mm256_and_si256(first, seven));
	__m256i low = _mm256_blendv_epi8(_mm256_blendv_epi8(one, two, is_two), three, is_three);
	__m256i high = _mm256_and_si256(_mm256_srli_epi16(one, 2), is_three);

	/* Each of the two holds four numbers of the first eight and four of the other eight. */
	__m256i even = _mm256_unpacklo_epi16(low, high), odd = _mm256_unpackhi_epi16(low, high);
	append(to, _mm256_castsi256_si128(even), ends & 0xf);
	append(to, _mm256_castsi256_si128(odd), ends >> 4 & 0xf);
	append(to, _mm256_extracti128_si256(even, 1), ends >> 8 & 0xf);
	append(to, _mm256_extracti128_si256(odd, 1), ends >> 12);
}

AVX2 static uint32_t largest_of(__m128i four)
{
	four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4e));
	four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xb1));
	return (uint32_t)_mm_cvtsi128_si32(four);
}

AVX2 static const uint8_t *read_avx2(const uint8_t *p, const uint8_t *end, const uint8_t *limit,
				     struct varints *ret)
{
	const uint32_t *full = ret->v + ret->max;
	struct target to = {
		.v = ret->v + ret->n,
		.base = _mm_set1_epi32((int)ret->base),
		.largest = _mm_set1_epi32((int)ret->largest),
	};

	while (p < end && limit - p >= STEP && full - to.v >= STEP) {
		ptrdiff_t left = end - p;
		uint32_t ours = left >= STEP ? 0xffffu : 0xffffu >> (STEP - left);
		struct window w = {
			.last = _mm_loadu_si128((const __m128i *)p),
			.before = _mm_loadu_si128((const __m128i *)(p - 1)),
			.first = _mm_loadu_si128((const __m128i *)(p - 2)),
		};
		__m128i goes_on = _mm_and_si128(_mm_and_si128(w.last, w.before), w.first);
		if (__builtin_expect(((uint32_t)_mm_movemask_epi8(goes_on) & ours) != 0, 0))
			break;
		append_ends(&to, &w, ~(uint32_t)_mm_movemask_epi8(w.last) & ours);
		p = left >= STEP ? p + STEP : end;
	}
	/* A number that has begun is read anew: what is before the first goes on nowhere. */
	while (p[-1] & 0x80)
		p--;
	ret->n = (uint32_t)(to.v - ret->v);
	ret->largest = largest_of(to.largest);
	return p;
}

const uint8_t *varints__read(const uint8_t *p, const uint8_t *end, const uint8_t *limit,
			     struct varints *ret)
{
	if (__builtin_cpu_supports("avx2"))
		p = read_avx2(p, end, limit, ret);
	return varints__read_plain(p, end, ret);
}
#else
const uint8_t *varints__read(const uint8_t *p, const uint8_t *end, const uint8_t *limit,
			     struct varints *ret)
{
	(void)limit;
	return varints__read_plain(p, end, ret);
}
#endif
