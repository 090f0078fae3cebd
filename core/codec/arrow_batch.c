/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/arrow_batch.c - a batch of Arrow: its arrays, over buffers that are there and long enough
 *
 *	RecordBatch { length, nodes, buffers, compression, variadicBufferCounts }
 *
 * Nodes (length, number of nulls) and buffers (offset, length) are those of the fields, depth first.
 */
#include <errno.h>
#include <lz4frame.h>
#include <zstd.h>

#include "core/base/error.h"
#include "core/base/le.h"
#include "core/base/str.h"
#include "core/codec/arrow_parts.h"

enum { CODEC_NONE = -1, CODEC_LZ4 = 0, CODEC_ZSTD = 1 };
enum { VIEW_BYTES = 16 };

/* ---- buffers ---- */

/* The whole of a frame into the whole of `to`. */
static bool unlz4(const uint8_t *from, size_t n, uint8_t *to, size_t n_to)
{
	LZ4F_dctx *ctx = NULL;
	size_t done = 0, hint = 1;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION)))
		return false;
	while (n > 0 && hint != 0 && !LZ4F_isError(hint)) {
		size_t out = n_to - done, in = n;
		hint = LZ4F_decompress(ctx, to + done, &out, from, &in, NULL);
		if (in == 0 && out == 0)
			break;
		from += in;
		n -= in;
		done += out;
	}
	LZ4F_freeDecompressionContext(ctx);
	return hint == 0 && n == 0 && done == n_to;
}

static bool unpack(int codec, const uint8_t *from, size_t n, uint8_t *to, size_t n_to)
{
	return codec == CODEC_LZ4 ? unlz4(from, n, to, n_to) : ZSTD_decompress(to, n_to, from, n) == n_to;
}

/* A packed buffer begins with its length unpacked; -1: it was left as it is. */
static int unpack_buffer(struct arrow_body *body, struct arrow_bytes *at)
{
	struct arrow_stream *s = body->s;

	if (at->n < 8)
		return arrow__message_fault(s, "a packed buffer is shorter than its length");
	const uint64_t n = le__get64(at->p);
	at->p += 8;
	at->n -= 8;
	if (n == UINT64_MAX)
		return 0;
	int e = arrow__charge(s, n);
	if (e < 0)
		return e;
	uint8_t *plain = malloc((size_t)n + 1);
	if (!plain)
		return error__nomem(s->err);
	if (!unpack(body->codec, at->p, (size_t)at->n, plain, (size_t)n)) {
		free(plain);
		return arrow__message_fault(
			s, "a packed buffer does not unpack to the length that it tells");
	}
	*at = (struct arrow_bytes){ plain, n };
	if (body->keep(body->ctx, plain) < 0) {
		free(plain);
		return error__nomem(s->err);
	}
	return 0;
}

static int next_buffer(struct arrow_body *body, struct arrow_bytes *ret)
{
	if (body->buffer == body->n_buffers)
		return arrow__message_fault(body->s, "it has fewer buffers than its columns want");
	const uint64_t at = 16 * (uint64_t)body->buffer++;
	const int64_t off = fb__i64(body->b, body->buffers, at),
		      n = fb__i64(body->b, body->buffers, at + 8);
	if (off < 0 || n < 0 || (uint64_t)off > body->n || (uint64_t)n > body->n - (uint64_t)off)
		return arrow__message_fault(body->s, "a buffer is not within its body");
	*ret = (struct arrow_bytes){ body->p + off, (uint64_t)n };
	return n > 0 && body->codec != CODEC_NONE ? unpack_buffer(body, ret) : 0;
}

/* One with n entries of so many bits at least; n is below 2^48. */
static int next_sized(struct arrow_body *body, const struct arrow_array *a, uint64_t n,
		      uint64_t bits, struct arrow_bytes *ret)
{
	int e = next_buffer(body, ret);

	if (e == 0 && ret->n < (n * bits + 7) / 8)
		e = arrow__fault(body->s, a, "a buffer is shorter than the number of its entries wants");
	return e;
}

/* ---- arrays ---- */

static int read_array(struct arrow_body *body, const struct arrow_field *f, struct arrow_array *a);

static int read_arrays(struct arrow_body *body, const struct arrow_field *fields, uint32_t n,
		       struct arrow_array **ret)
{
	int e = arrow__charge(body->s, (n + 1) * sizeof(**ret));

	if (e < 0)
		return e;
	*ret = arena__zalloc(body->arena, n + 1, sizeof(**ret));
	if (!*ret)
		return error__nomem(body->s->err);
	for (uint32_t i = 0; e == 0 && i < n; i++)
		e = read_array(body, &fields[i], &(*ret)[i]);
	return e;
}

static int read_variadic(struct arrow_body *body, struct arrow_array *a)
{
	if (body->variadic_i == body->n_variadic)
		return arrow__fault(body->s, a, "it is not told how many buffers its views have");
	const int64_t n = fb__i64(body->b, body->variadic, 8 * (uint64_t)body->variadic_i++);
	if (n < 0 || n > body->n_buffers - body->buffer)
		return arrow__fault(body->s, a, "its views have more buffers than there are");
	int e = arrow__charge(body->s, ((uint64_t)n + 1) * sizeof(*a->variadic));
	if (e < 0)
		return e;
	a->variadic = arena__zalloc(body->arena, (size_t)n + 1, sizeof(*a->variadic));
	if (!a->variadic)
		return error__nomem(body->s->err);
	a->n_variadic = (uint32_t)n;
	for (uint32_t i = 0; e == 0 && i < a->n_variadic; i++)
		e = next_buffer(body, &a->variadic[i]);
	return e;
}

static int read_buffers(struct arrow_body *body, struct arrow_array *a)
{
	const struct arrow_field *f = a->field;
	int e = 0;

	if (f->dictionary)
		return next_sized(body, a, a->n, f->index.bits, &a->entries);
	switch (f->kind) {
	case ARROW_NUMBER:
		return next_sized(body, a, a->n, f->number.bits, &a->entries);
	case ARROW_FIXED:
		return next_sized(body, a, a->n, 8 * (uint64_t)f->width, &a->entries);
	case ARROW_TEXT:
	case ARROW_LIST:
		/* An array of none may come without its one offset. */
		e = next_sized(body, a, a->n ? a->n + 1 : 0, 8 * f->width, &a->entries);
		return e == 0 && f->kind == ARROW_TEXT ? next_buffer(body, &a->more) : e;
	case ARROW_VIEWS:
		e = next_sized(body, a, a->n, 8 * VIEW_BYTES, &a->entries);
		return e == 0 ? read_variadic(body, a) : e;
	case ARROW_LIST_VIEW:
		e = next_sized(body, a, a->n, 8 * f->width, &a->entries);
		return e == 0 ? next_sized(body, a, a->n, 8 * f->width, &a->more) : e;
	case ARROW_STRUCT:
	case ARROW_RUNS:
		break;
	}
	return 0;
}

static int check_lengths(struct arrow_body *body, const struct arrow_array *a)
{
	const struct arrow_field *f = a->field;

	for (uint32_t i = 0; f->kind == ARROW_STRUCT && i < f->n_children; i++)
		if (a->children[i].n < a->n)
			return arrow__fault(body->s, &a->children[i],
					    "it is shorter than the struct that it is in");
	if (f->kind == ARROW_RUNS && a->children[1].n < a->children[0].n)
		return arrow__fault(body->s, a, "it has fewer values than runs");
	return f->kind == ARROW_RUNS ? arrow__check_runs(body->s, a) : 0;
}

static int read_array(struct arrow_body *body, const struct arrow_field *f, struct arrow_array *a)
{
	a->field = f;
	if (body->node == body->n_nodes)
		return arrow__message_fault(body->s,
					    "it has fewer arrays than its schema has columns");
	const uint64_t at = 16 * (uint64_t)body->node++;
	const int64_t n = fb__i64(body->b, body->nodes, at),
		      n_nulls = fb__i64(body->b, body->nodes, at + 8);
	if (n < 0 || n >= INT64_C(1) << 40)
		return arrow__fault(body->s, a, "its length is negative, or beyond 2^40");
	a->n = (uint64_t)n;
	int e = 0;
	if (f->dictionary || f->kind != ARROW_RUNS)
		e = next_buffer(body, &a->valid);
	if (e == 0 && n_nulls == 0)
		a->valid.n = 0;
	if (e == 0 && n_nulls && a->valid.n && a->valid.n < (a->n + 7) / 8)
		e = arrow__fault(body->s, a, "its bits for nulls are fewer than its entries");
	if (e == 0)
		e = read_buffers(body, a);
	if (e == 0 && !f->dictionary && f->n_children) {
		e = read_arrays(body, f->children, f->n_children, &a->children);
		return e == 0 ? check_lengths(body, a) : e;
	}
	return e;
}

static int read_codec(struct arrow_body *body, fb_at compression)
{
	body->codec = compression ? (int)fb__int(body->b, compression, 0, 1, 0) : CODEC_NONE;
	if (compression && body->codec != CODEC_LZ4 && body->codec != CODEC_ZSTD)
		return arrow__message_fault(
			body->s, "its buffers are packed in an unknown way; use LZ4 or zstd");
	return 0;
}

static uint32_t count_views(const struct arrow_field *fields, uint32_t n)
{
	uint32_t views = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!fields[i].dictionary)
			views += (fields[i].kind == ARROW_VIEWS) +
				 count_views(fields[i].children, fields[i].n_children);
	return views;
}

int arrow_batch__read(struct arrow_body *body, fb_at table, const struct arrow_field *fields,
		      uint32_t n, uint64_t *ret_n_rows, struct arrow_array **ret)
{
	struct fb *b = body->b;
	const int64_t n_rows = fb__int(b, table, 0, 8, 0);

	body->nodes = fb__ref(b, table, 1);
	body->buffers = fb__ref(b, table, 2);
	body->variadic = fb__ref(b, table, 4);
	body->n_nodes = fb__length(b, body->nodes, 16);
	body->n_buffers = fb__length(b, body->buffers, 16);
	body->n_variadic = fb__length(b, body->variadic, 8);
	/* arrow-go 18.1 leaves the counts of the dictionaries before it in front of a dictionary's own. */
	const uint32_t n_views = count_views(fields, n);
	body->variadic_i = body->n_variadic > n_views ? body->n_variadic - n_views : 0;
	int e = read_codec(body, fb__ref(b, table, 3));
	if (e == 0 && b->fault)
		e = arrow__message_fault(body->s, b->fault);
	if (e == 0 && n_rows < 0)
		e = arrow__message_fault(body->s, "its number of rows is negative");
	if (e == 0)
		e = read_arrays(body, fields, n, ret);
	for (uint32_t i = 0; e == 0 && i < n; i++)
		if ((*ret)[i].n != (uint64_t)n_rows)
			e = arrow__fault(body->s, &(*ret)[i],
					 "it has another number of rows than its batch");
	*ret_n_rows = (uint64_t)n_rows;
	return e;
}
