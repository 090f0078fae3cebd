/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/deflate/deflate.c - gzip and zlib, by libdeflate
 *
 * libdeflate wants room for the whole answer. When there was too little, the room doubles and the
 * member is unpacked anew, so that the work is at most twice that of one pass, and memory at most
 * twice what is there. Deflate's best is 1032 bytes for one (a match of 258 in two bits): a
 * declared size beyond that is a lie, and not asked for.
 */
#include "core/deflate/deflate.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"

#define DEFLATE_MAX_RATIO 1032u
#define STEP_MIN_BYTES	  ((size_t)64 << 10)
#define GZIP_MIN_BYTES	  18 /* header and trailer */

DEFINE_CLEANUP(struct libdeflate_decompressor *, libdeflate_free_decompressor);
DEFINE_CLEANUP(struct libdeflate_compressor *, libdeflate_free_compressor);

bool deflate__is_gzip(const uint8_t *data, size_t n)
{
	return n >= 2 && data[0] == 0x1f && data[1] == 0x8b;
}

/*
 * RFC 1950, 2.2. Only with the window of 32 KiB, which is what is written: a smaller one's first
 * byte begins profiles too. 0x48 is the key of time_nanos, which Go writes first, and the time's
 * lowest bits then look like the rest of zlib's header in one profile of 31. No field's key is 0x78.
 */
static bool is_zlib(const uint8_t *data, size_t n)
{
	return n >= 2 && data[0] == 0x78 && (data[0] << 8 | data[1]) % 31 == 0;
}

bool deflate__is_compressed(const uint8_t *data, size_t n)
{
	return deflate__is_gzip(data, n) || is_zlib(data, n);
}

/* Input, output, and what may come out of it. */
struct unpacking {
	struct libdeflate_decompressor *d;
	const uint8_t *data;
	size_t n;
	uint64_t max_bytes; /* of `out` */
	struct buf *out;
	struct dcm_error *err;
};

static int too_large(const struct unpacking *u)
{
	return error__set(
		u->err, -E2BIG,
		"it unpacks to more than the %llu bytes that one profile may have; split it up",
		(unsigned long long)u->max_bytes);
}

/*
 * Room for the first try: what gzip declares in its last four bytes, when that is possible. More
 * than the limit is refused at once.
 */
static int first_step(const struct unpacking *u, size_t *ret)
{
	uint64_t guess = (uint64_t)u->n * 4;
	uint32_t declared;

	if (deflate__is_gzip(u->data, u->n) && u->n >= GZIP_MIN_BYTES) {
		memcpy(&declared, u->data + u->n - 4, 4);
		if (declared <= (uint64_t)u->n * DEFLATE_MAX_RATIO)
			guess = declared;
		if (guess == declared && declared > u->max_bytes - u->out->n)
			return too_large(u);
	}
	*ret = guess < STEP_MIN_BYTES ? STEP_MIN_BYTES : (size_t)guess;
	return 0;
}

/* One member, or the zlib stream; *ret_n_in: bytes of it. */
static int unpack_one(const struct unpacking *u, size_t at, size_t step, size_t *ret_n_in)
{
	const uint8_t *in = u->data + at;
	size_t n_in = u->n - at, used = 0, n_out = 0;

	for (;;) {
		uint64_t left = u->max_bytes - u->out->n;
		if (step > left)
			step = (size_t)left;
		uint8_t *to = buf__reserve(u->out, step);
		if (!to)
			return u->out->error == -ENOMEM ? error__nomem(u->err) : too_large(u);
		enum libdeflate_result r =
			deflate__is_gzip(in, n_in)
				? libdeflate_gzip_decompress_ex(u->d, in, n_in, to, step, &used, &n_out)
				: libdeflate_zlib_decompress_ex(u->d, in, n_in, to, step, &used, &n_out);
		if (r == LIBDEFLATE_SUCCESS)
			break;
		if (r != LIBDEFLATE_INSUFFICIENT_SPACE)
			return error__set(u->err, -EINVAL, "its compressed data is damaged or cut off");
		if (step == left)
			return too_large(u);
		step = step * 2 + STEP_MIN_BYTES;
	}
	u->out->n += n_out;
	u->out->data[u->out->n] = '\0';
	*ret_n_in = used;
	return 0;
}

int deflate__unpack(const uint8_t *data, size_t n, uint64_t max_bytes, struct buf *out,
		    struct dcm_error *err)
{
	CLEANUP(libdeflate_free_decompressorp)
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	struct unpacking u = { d, data, n, out->n + max_bytes, out, err };
	size_t at = 0, used = 0;

	if (!d)
		return error__nomem(err);
	size_t step = 0;
	int r = first_step(&u, &step);
	if (r < 0)
		return r;
	do {
		r = unpack_one(&u, at, step, &used);
		if (r < 0)
			return r;
		at += used;
		step = out->cap - out->n > STEP_MIN_BYTES ? out->cap - out->n - 1 : STEP_MIN_BYTES;
	} while (deflate__is_gzip(data, n) && deflate__is_gzip(data + at, n - at));
	if (at != n)
		return error__set(err, -EINVAL, "%zu bytes follow its compressed data", n - at);
	return 0;
}

int deflate__pack(const uint8_t *data, size_t n, int level, struct buf *out)
{
	CLEANUP(libdeflate_free_compressorp)
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
	if (!c)
		return -ENOMEM;
	size_t bound = libdeflate_gzip_compress_bound(c, n);
	uint8_t *to = buf__reserve(out, bound);
	if (!to)
		return out->error;
	size_t packed = libdeflate_gzip_compress(c, data, n, to, bound);
	if (packed == 0)
		return -ENOMEM; /* cannot be: there was room for the worst case */
	out->n += packed;
	out->data[out->n] = '\0';
	return 0;
}
