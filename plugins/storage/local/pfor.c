/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/pfor.c - pages of packed numbers
 *
 * Packing and unpacking are written once, with the number of bits as a constant that the compiler
 * sees: it makes one straight run of shifts and masks for each of the 31 widths. The width of a
 * page is the one that makes it smallest, found from how many numbers have how many bits.
 */
#include "plugins/storage/local/pfor.h"

#include <errno.h>
#include <string.h>

#include "core/base/le.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { LANES = 8, DEPTH = PFOR_PAGE / LANES, LANE_BYTES = LANES * 4, PLAIN = 64 };

/* -------------------------------------------------------------------------------------------------
 * Packing: the lower bits of 256 numbers
 */

typedef uint32_t lanes __attribute__((vector_size(LANE_BYTES)));
typedef uint64_t wide_lanes __attribute__((vector_size(LANE_BYTES * 2)));

static inline __attribute__((always_inline)) void unpack(const uint8_t *in, uint32_t *out,
							 const unsigned bits)
{
	const lanes mask = (lanes){ 0 } + ((1u << bits) - 1);

#pragma GCC unroll 32
	for (unsigned i = 0; i < DEPTH; i++) {
		const unsigned bit = i * bits, word = bit / 32, shift = bit % 32;
		lanes low, high;

		memcpy(&low, in + word * LANE_BYTES, sizeof(low));
		low >>= shift;
		if (shift + bits > 32) {
			memcpy(&high, in + (word + 1) * LANE_BYTES, sizeof(high));
			low |= high << (32 - shift);
		}
		low &= mask;
		memcpy(out + i * LANES, &low, sizeof(low));
	}
}

static void pack(uint8_t *out, const uint64_t *v, unsigned bits)
{
	uint32_t words[32 * LANES] = { 0 };
	const uint64_t mask = ((uint64_t)1 << bits) - 1;

	for (unsigned i = 0; i < PFOR_PAGE; i++) {
		const unsigned lane = i % LANES, bit = i / LANES * bits, word = bit / 32,
			       shift = bit % 32;
		const uint64_t low = (v[i] & mask) << shift;

		words[word * LANES + lane] |= (uint32_t)low;
		if (shift + bits > 32)
			words[(word + 1) * LANES + lane] |= (uint32_t)(low >> 32);
	}
	memcpy(out, words, (size_t)bits * LANE_BYTES);
}

/* Bytes of the packed part. */
static size_t packed_bytes(unsigned bits, unsigned n)
{
	return ((size_t)bits * n + 7) / 8;
}

static void pack_short(uint8_t *out, const uint64_t *v, unsigned bits, unsigned n)
{
	uint8_t bytes[PFOR_PAGE * 4 + 8] = { 0 };
	const uint64_t mask = ((uint64_t)1 << bits) - 1;

	for (unsigned i = 0; i < n; i++) {
		uint8_t *at = bytes + i * bits / 8;

		le__put64(at, le__get64(at) | (v[i] & mask) << (i * bits % 8));
	}
	memcpy(out, bytes, packed_bytes(bits, n));
}

static void unpack_each(const uint8_t *in, uint32_t *out, unsigned bits, unsigned first, unsigned n)
{
	const uint64_t mask = ((uint64_t)1 << bits) - 1;

	for (unsigned i = first; i < n; i++)
		out[i] = (uint32_t)(le__get64(in + i * bits / 8) >> (i * bits % 8) & mask);
}

#define UNPACK(n)                                                                                  \
	case n:                                                                                    \
		unpack(in, out, n);                                                                \
		break

static inline __attribute__((always_inline)) void unpack_by_width(const uint8_t *in, uint32_t *out,
								  unsigned bits)
{
	switch (bits) {
	case 0:
		memset(out, 0, PFOR_PAGE * sizeof(*out));
		break;
		UNPACK(1);
		UNPACK(2);
		UNPACK(3);
		UNPACK(4);
		UNPACK(5);
		UNPACK(6);
		UNPACK(7);
		UNPACK(8);
		UNPACK(9);
		UNPACK(10);
		UNPACK(11);
		UNPACK(12);
		UNPACK(13);
		UNPACK(14);
		UNPACK(15);
		UNPACK(16);
		UNPACK(17);
		UNPACK(18);
		UNPACK(19);
		UNPACK(20);
		UNPACK(21);
		UNPACK(22);
		UNPACK(23);
		UNPACK(24);
		UNPACK(25);
		UNPACK(26);
		UNPACK(27);
		UNPACK(28);
		UNPACK(29);
		UNPACK(30);
		UNPACK(31);
	default:
		memcpy(out, in, PFOR_PAGE * sizeof(*out));
		break;
	}
}

static inline __attribute__((always_inline)) void widen_page(const uint32_t *in, uint64_t *out)
{
#pragma GCC unroll 4
	for (unsigned i = 0; i < PFOR_PAGE; i += LANES) {
		lanes narrow;

		memcpy(&narrow, in + i, sizeof(narrow));
		const wide_lanes wide = __builtin_convertvector(narrow, wide_lanes);
		memcpy(out + i, &wide, sizeof(wide));
	}
}

#ifdef __x86_64__
/* What every x86-64 has handles half as many lanes at a time. */
#define AVX2 __attribute__((target("avx2")))

AVX2 static void unpack_avx2(const uint8_t *in, uint32_t *out, unsigned bits)
{
	unpack_by_width(in, out, bits);
}

AVX2 static void widen_avx2(const uint32_t *in, uint64_t *out)
{
	widen_page(in, out);
}

/*
 * Eight numbers begin a byte as the eight before did, so many bytes ahead as they have bits: each lane
 * looks where it did, a whole word whose lower bits belong to others.
 */
AVX2 static unsigned unpack_eights(const uint8_t *in, uint32_t *out, unsigned bits, unsigned n)
{
	const lanes at = (lanes){ 0, 1, 2, 3, 4, 5, 6, 7 } * bits;
	const __m256i byte = (__m256i)(at >> 3), shift = (__m256i)(at & 7),
		      mask = _mm256_set1_epi32((int)((1u << bits) - 1));
	unsigned i = 0;

	for (; i + LANES <= n; i += LANES, in += bits) {
		const __m256i words = _mm256_i32gather_epi32((const int *)in, byte, 1);

		_mm256_storeu_si256((__m256i *)(out + i),
				    _mm256_and_si256(_mm256_srlv_epi32(words, shift), mask));
	}
	return i;
}
#endif

static void unpack_short(const uint8_t *in, uint32_t *out, unsigned bits, unsigned n)
{
	uint8_t bytes[PFOR_PAGE * 4 + 8];
	const size_t n_bytes = packed_bytes(bits, n);
	unsigned done = 0;

	memcpy(bytes, in, n_bytes);
	memset(bytes + n_bytes, 0, 8);
#ifdef __x86_64__
	/* A number and the bits before it in its first byte have to be within a word. */
	if (bits <= 32 - 7 && __builtin_cpu_supports("avx2"))
		done = unpack_eights(bytes, out, bits, n);
#endif
	unpack_each(bytes, out, bits, done, n);
}

static void unpack_any(const uint8_t *in, uint32_t *out, unsigned bits)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		unpack_avx2(in, out, bits);
		return;
	}
#endif
	unpack_by_width(in, out, bits);
}

static void widen(const uint32_t *in, uint64_t *out)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		widen_avx2(in, out);
		return;
	}
#endif
	widen_page(in, out);
}

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

static unsigned width_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/*
 * The number of bits that makes the page smallest; of equals the widest, which has the fewest
 * exceptions. Or PLAIN.
 */
static unsigned best_bits(const uint64_t *v, unsigned n)
{
	unsigned n_of[65] = { 0 }, widest = 0, best = PLAIN;
	size_t best_bytes = n * sizeof(*v);

	for (unsigned i = 0; i < n; i++)
		n_of[width_of(v[i])]++;
	for (unsigned w = 0; w <= 64; w++)
		if (n_of[w])
			widest = w;
	for (unsigned bits = 0; bits <= (widest < 32 ? widest : 32); bits++) {
		size_t bytes = packed_bytes(bits, n), n_more = 0;

		for (unsigned w = bits + 1; w <= widest; w++) {
			n_more += n_of[w];
			bytes += n_of[w] * (1 + (w - bits + 6) / 7);
		}
		if (bytes <= best_bytes && n_more < PFOR_PAGE) {
			best = bits;
			best_bytes = bytes;
		}
	}
	return best;
}

void pfor__put_page(struct buf *b, const uint64_t *v, unsigned n)
{
	const unsigned bits = best_bits(v, n);
	const size_t packed = bits == PLAIN ? n * sizeof(*v) : packed_bytes(bits, n);
	uint8_t at[PFOR_PAGE], *to = buf__reserve(b, PFOR_PAGE_MAX);
	unsigned n_more = 0;

	if (!to)
		return;
	if (bits == PLAIN)
		memcpy(to + 2, v, packed);
	else if (n == PFOR_PAGE)
		pack(to + 2, v, bits);
	else
		pack_short(to + 2, v, bits, n);
	for (unsigned i = 0; bits != PLAIN && i < n; i++) {
		at[n_more] = (uint8_t)i;
		n_more += v[i] >> bits != 0;
	}
	to[0] = (uint8_t)bits;
	to[1] = (uint8_t)n_more;
	memcpy(to + 2 + packed, at, n_more);
	b->n += 2 + packed + n_more;
	for (unsigned i = 0; i < n_more; i++)
		buf__varint(b, v[at[i]] >> bits);
}

void pfor__put(struct buf *b, const uint64_t *v, size_t n)
{
	for (; n >= PFOR_PAGE; v += PFOR_PAGE, n -= PFOR_PAGE)
		pfor__put_page(b, v, PFOR_PAGE);
	if (n)
		pfor__put_page(b, v, (unsigned)n);
}

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

static int get_varint(struct pfor_in *in, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		if (in->p == in->end)
			return -EBADMSG;
		const uint8_t c = *in->p++;

		if (shift == 63 && c > 1)
			return -EBADMSG;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*ret = v;
			return 0;
		}
	}
	return -EBADMSG;
}

/* The numbers that did not fit: their places, and `in` at the first one's upper bits. */
struct exceptions {
	unsigned bits, n;
	const uint8_t *at; /* [n] */
};

/* Unpacks the lower bits of n numbers. */
static int open_page(struct pfor_in *in, uint32_t *v, unsigned n, struct exceptions *ret)
{
	if (in->end - in->p < 2)
		return -EBADMSG;
	const unsigned bits = in->p[0], n_more = in->p[1];
	const uint8_t *p = in->p + 2;
	const size_t packed = packed_bytes(bits, n);

	if (bits > 32 || (size_t)(in->end - p) < packed + n_more)
		return -EBADMSG;
	if (n == PFOR_PAGE)
		unpack_any(p, v, bits);
	else
		unpack_short(p, v, bits, n);
	*ret = (struct exceptions){ bits, n_more, p + packed };
	in->p = p + packed + n_more;
	return 0;
}

int pfor__page32(struct pfor_in *in, uint32_t *v, unsigned n)
{
	struct exceptions ex;
	uint64_t high;
	int r = open_page(in, v, n, &ex);

	for (unsigned i = 0; r == 0 && i < ex.n; i++) {
		r = get_varint(in, &high);
		if (r < 0 || (ex.bits == 32 ? high : high >> (32 - ex.bits)))
			return -EBADMSG;
		v[ex.at[i]] |= (uint32_t)(high << ex.bits);
	}
	return r;
}

int pfor__page(struct pfor_in *in, uint64_t *v, unsigned n)
{
	uint32_t low[PFOR_PAGE];
	struct exceptions ex;
	uint64_t high;
	const size_t plain = n * sizeof(*v);

	if ((size_t)(in->end - in->p) >= 2 + plain && in->p[0] == PLAIN) {
		memcpy(v, in->p + 2, plain);
		in->p += 2 + plain;
		return 0;
	}
	int r = open_page(in, low, n, &ex);

	if (r < 0)
		return r;
	widen(low, v);
	for (unsigned i = 0; i < ex.n; i++) {
		r = get_varint(in, &high);
		if (r < 0 || (ex.bits && high >> (64 - ex.bits)))
			return -EBADMSG;
		v[ex.at[i]] |= high << ex.bits;
	}
	return 0;
}

static int skip_varint(struct pfor_in *in)
{
	while (in->p < in->end)
		if (!(*in->p++ & 0x80))
			return 0;
	return -EBADMSG;
}

static int skip_page(struct pfor_in *in, unsigned n)
{
	const size_t left = (size_t)(in->end - in->p);

	if (left < 2)
		return -EBADMSG;
	const unsigned bits = in->p[0], n_more = bits == PLAIN ? 0 : in->p[1];
	const size_t bytes = 2 + (bits == PLAIN ? n * sizeof(uint64_t) : packed_bytes(bits, n) + n_more);
	int r = 0;

	if ((bits > 32 && bits != PLAIN) || left < bytes)
		return -EBADMSG;
	in->p += bytes;
	for (unsigned i = 0; r == 0 && i < n_more; i++)
		r = skip_varint(in);
	return r;
}

int pfor__skip(struct pfor_in *in, size_t n)
{
	int r = 0;

	for (; r == 0 && n; n -= n < PFOR_PAGE ? n : PFOR_PAGE)
		r = skip_page(in, n < PFOR_PAGE ? (unsigned)n : PFOR_PAGE);
	return r;
}

bool pfor__may_hold(const struct pfor_in *in, uint64_t n)
{
	return n / PFOR_PAGE + (n % PFOR_PAGE != 0) <= (uint64_t)(in->end - in->p) / 2;
}

int pfor__get(struct pfor_in *in, uint64_t *v, size_t n)
{
	uint64_t last[PFOR_PAGE];
	int r = 0;

	for (; r == 0 && n >= PFOR_PAGE; v += PFOR_PAGE, n -= PFOR_PAGE)
		r = pfor__page(in, v, PFOR_PAGE);
	if (r == 0 && n)
		r = pfor__page(in, last, (unsigned)n);
	if (r == 0 && n)
		memcpy(v, last, n * sizeof(*v));
	return r;
}

int pfor__get32(struct pfor_in *in, uint32_t *v, size_t n)
{
	uint32_t last[PFOR_PAGE];
	int r = 0;

	for (; r == 0 && n >= PFOR_PAGE; v += PFOR_PAGE, n -= PFOR_PAGE)
		r = pfor__page32(in, v, PFOR_PAGE);
	if (r == 0 && n)
		r = pfor__page32(in, last, (unsigned)n);
	if (r == 0 && n)
		memcpy(v, last, n * sizeof(*v));
	return r;
}
