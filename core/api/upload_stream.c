/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/upload_stream.c - UploadRequest { oneof { UploadInfo info = 1; bytes chunk_data = 2; } }, message by message
 *
 * What is written always lies before what is yet to be read. Messages that are packed are put behind all the others first, as
 * they are when they are not, and read there. Source: parca-dev/parca,
 * proto/parca/debuginfo/v1alpha1/debuginfo.proto.
 */
#include "core/api/upload_stream.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/deflate/deflate.h"
#include "core/net/grpc.h"

enum {
	INFO = 1,
	CHUNK = 2,
	HEAD_BYTES = 16, /* of a chunk's message: a tag and a length take eleven at most */
	PIECE_BYTES = 64 << 10,
	MESSAGE_BYTES = 64 << 20 /* of one that is packed, before and after: what Parca takes */
};

struct unwrapping {
	int fd;
	const struct upload_packing *packing;
	uint64_t at, end; /* of what is to be read */
	uint64_t to;	  /* where the next byte goes */
	uint64_t number;  /* of the message, from 0 on */
};

static int refuse(const struct unwrapping *w, const char *why, struct dcm_error *err)
{
	return error__set(err, -EINVAL, "message %" PRIu64 ": %s", w->number, why);
}

static int damaged(int r, struct dcm_error *err)
{
	return error__sys(err, r, "the file that came cannot be worked on");
}

/* The head of the next message, whose bytes are there. */
static int read_head(struct unwrapping *w, struct grpc_head *ret, struct dcm_error *err)
{
	uint8_t head[GRPC_HEAD_BYTES];
	int r;

	if (w->end - w->at < sizeof(head))
		return refuse(w, "the stream ends in its head", err);
	r = fd__pread_full(w->fd, head, sizeof(head), w->at);
	if (r < 0)
		return damaged(r, err);
	w->at += sizeof(head);
	if (!grpc_head__read(head, ret))
		return refuse(w, "its first byte is neither 0 nor 1", err);
	if (ret->n > w->end - w->at)
		return refuse(w, "it is shorter than its head says", err);
	return 0;
}

/* The message at w->at, which is passed, as it is when it is not packed, with its head. */
static int unpack(struct unwrapping *w, const struct grpc_head *head, struct buf *packed,
		  struct buf *ret, struct dcm_error *err)
{
	int r;

	buf__reset(packed);
	buf__reset(ret);
	if (head->n > MESSAGE_BYTES)
		return refuse(w, "it is packed, and of more than 64 MiB", err);
	if (!buf__reserve(packed, head->n))
		return error__nomem(err);
	r = fd__pread_full(w->fd, packed->data, head->n, w->at);
	if (r < 0)
		return damaged(r, err);
	w->at += head->n;
	grpc_head__append(ret, 0, 0);
	if (head->is_packed)
		r = deflate__unpack(packed->data, head->n, MESSAGE_BYTES, ret, err);
	else
		buf__append(ret, packed->data, head->n);
	if (r == -E2BIG)
		return refuse(w, "it is of more than 64 MiB when it is unpacked", err);
	if (r == -EINVAL)
		return refuse(w, "its gzip is damaged", err);
	if (r < 0 || ret->error)
		return error__nomem(err);
	const uint32_t n = (uint32_t)(ret->n - GRPC_HEAD_BYTES);

	for (int i = 0; i < 4; i++)
		ret->data[1 + i] = (uint8_t)(n >> (24 - 8 * i));
	return 0;
}

/* Puts all that is left behind the end, unpacked, and goes on there. */
static int unpack_rest(struct unwrapping *w, struct dcm_error *err)
{
	const uint64_t number = w->number, most = w->end + w->packing->max_bytes;
	struct buf packed = { 0 }, message = { 0 };
	uint64_t to = w->end;
	struct grpc_head head;
	int r = 0;

	for (; r == 0 && w->at < w->end; w->number++) {
		r = read_head(w, &head, err);
		if (r == 0)
			r = unpack(w, &head, &packed, &message, err);
		if (r == 0 && message.n > most - to)
			r = error__set(err, -EFBIG,
				       "unpacked, it is larger than symbols.max_bytes; send it "
				       "reduced, as "
				       "`decima debuginfo upload` does, or raise that");
		if (r < 0)
			break;
		r = fd__pwrite_all(w->fd, message.data, message.n, to);
		if (r < 0)
			damaged(r, err);
		to += message.n;
	}
	buf__fini(&packed);
	buf__fini(&message);
	w->number = number;
	w->end = to;
	return r;
}

/* The next message's head, of one that is not packed by now. */
static int next_message(struct unwrapping *w, struct grpc_head *ret, struct dcm_error *err)
{
	int r = read_head(w, ret, err);

	if (r < 0 || !ret->is_packed)
		return r;
	if (!str__eq(w->packing->coding, STR("gzip")))
		return error__set(
			err, -EOPNOTSUPP,
			"message %" PRIu64
			" is packed by \"%.*s\", which nobody here unpacks; send these in "
			"gzip or as they are",
			w->number, (int)(w->packing->coding.n < 50 ? w->packing->coding.n : 50),
			w->packing->coding.p);
	w->at -= GRPC_HEAD_BYTES;
	r = unpack_rest(w, err);
	return r < 0 ? r : read_head(w, ret, err);
}

static bool read_info(const struct pb_field *message, struct upload_stream *s)
{
	struct pb_reader r = pb__reader(message->p, message->n);
	struct pb_field f;

	while (pb__next(&r, &f)) {
		if (f.number == 1 && f.type == PB_BYTES)
			s->build_id = pb__str(&f);
		else if (f.number == 2 && f.type == PB_BYTES)
			s->upload_id = pb__str(&f);
		else if (f.number == 3 && f.type == PB_VARINT)
			s->type = f.value;
	}
	return !r.fault;
}

static int take_info(struct unwrapping *w, uint32_t n, struct upload_stream *s, struct dcm_error *err)
{
	bool has_info = false;
	struct pb_reader reader;
	struct pb_field f;
	int r;

	if (n > sizeof(s->info))
		return refuse(w, "it should be an UploadInfo of at most 4096 bytes, and chunks behind it",
			      err);
	r = fd__pread_full(w->fd, s->info, n, w->at);
	if (r < 0)
		return damaged(r, err);
	w->at += n;
	reader = pb__reader((const uint8_t *)s->info, n);
	while (pb__next(&reader, &f))
		if (f.number == INFO && f.type == PB_BYTES)
			has_info = read_info(&f, s);
	if (reader.fault || !has_info)
		return refuse(w, "it should be an UploadInfo: which upload the chunks behind it are of",
			      err);
	return 0;
}

/* From one place of the file to one before it. */
static int move(struct unwrapping *w, uint64_t n)
{
	char piece[PIECE_BYTES];

	while (n > 0) {
		size_t part = n < sizeof(piece) ? (size_t)n : sizeof(piece);
		int r = fd__pread_full(w->fd, piece, part, w->at);

		if (r == 0)
			r = fd__pwrite_all(w->fd, piece, part, w->to);
		if (r < 0)
			return r;
		w->at += part;
		w->to += part;
		n -= part;
	}
	return 0;
}

/* A chunk is all that its message has. */
static int take_chunk(struct unwrapping *w, uint32_t n, struct dcm_error *err)
{
	uint8_t head[HEAD_BYTES];
	size_t n_head = n < sizeof(head) ? n : sizeof(head);
	uint64_t tag, n_chunk;
	const uint8_t *p = head;
	int r = fd__pread_full(w->fd, head, n_head, w->at);

	if (r < 0)
		return damaged(r, err);
	p = pb__varint(p, head + n_head, &tag);
	if (!p || tag != (CHUNK << 3 | PB_BYTES))
		return refuse(w, "it should be chunk_data, as all behind the first", err);
	p = pb__varint(p, head + n_head, &n_chunk);
	if (!p || n_chunk != n - (uint64_t)(p - head))
		return refuse(w, "chunk_data is not all of it", err);
	w->at += (uint64_t)(p - head);
	r = move(w, n_chunk);
	return r < 0 ? damaged(r, err) : 0;
}

int upload_stream__unwrap(int fd, uint64_t n, const struct upload_packing *packing,
			  struct upload_stream *ret, struct dcm_error *err)
{
	struct unwrapping w = { .fd = fd, .packing = packing, .end = n };
	struct grpc_head head;
	int r = 0;

	*ret = (struct upload_stream){ .bytes = 0 };
	for (; r == 0 && (w.at < w.end || w.number == 0); w.number++) {
		r = next_message(&w, &head, err);
		if (r == 0)
			r = w.number == 0 ? take_info(&w, head.n, ret, err)
					  : take_chunk(&w, head.n, err);
	}
	if (r == 0 && ftruncate(fd, (off_t)w.to) < 0)
		r = damaged(-errno, err);
	ret->bytes = w.to;
	return r;
}
