/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/debuginfo/sending.c - a file to a server by Parca's debuginfo protocol: what is asked, and what the answers mean
 *
 * The stream is put into frames in a file without a name, so that no more than a piece of it is in memory.
 */
#include "core/debuginfo/sending.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/grpc_head.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"

#define SERVICE "/parca.debuginfo.v1alpha1.DebuginfoService/"

enum {
	GNU_ID = 1, /* BuildIDType */
	BY_GRPC = 1,
	BY_URL = 2,	 /* UploadInstructions.UploadStrategy */
	CHUNK = 1 << 20, /* Parca takes messages of 64 MiB */
};

struct instructions {
	char upload_id[128];
	uint64_t strategy;
	char *url; /* or NULL */
};

int sending__open_nameless(const char *dir, struct dcm_error *err)
{
	int fd;

	if (!dir)
		dir = getenv("TMPDIR");
	if (!dir || !*dir)
		dir = "/tmp";
	fd = fd__open_nameless(dir);
	return fd < 0 ? error__sys(err, fd, "%s: no file can be made there", dir) : fd;
}

/* ---- calls ---- */

static void put_text(struct buf *b, uint32_t number, const char *text)
{
	pb__put_bytes(b, number, text, strlen(text));
}

static int call(const struct sending *s, const char *method, const struct buf *message,
		struct buf *answer, struct dcm_error *err)
{
	const struct sending_call c = { .method = method, .message = message, .fd = -1 };

	return message->error ? error__nomem(err) : s->call(s->ctx, &c, answer, err);
}

static bool speaks_of_what_it_has(struct dcm_str reason)
{
	return str__starts(reason, STR("Debuginfo already exists")) ||
	       str__starts(reason, STR("Debuginfo exists")) ||
	       str__starts(reason, STR("Debuginfo is available"));
}

/* Of a server that says why; others only whether. */
static enum sending_answer judge(const struct sending *s, bool yes, struct dcm_str reason)
{
	bool has = speaks_of_what_it_has(reason);

	if (yes)
		return has && s->replace ? SENDING_REPLACES : SENDING_WANTED;
	return has ? SENDING_KNOWN : SENDING_NOT_WANTED;
}

int sending__ask(const struct sending *s, enum sending_answer *ret, struct dcm_error *why)
{
	struct buf ask = { 0 }, answer = { 0 };
	struct dcm_str reason = STR("it gives no reason");
	struct pb_reader reader;
	struct pb_field f;
	bool yes = false;
	int r;

	put_text(&ask, 1, s->build_id);
	pb__put_varint(&ask, 3, s->replace);
	pb__put_varint(&ask, 5, GNU_ID);
	r = call(s, SERVICE "ShouldInitiateUpload", &ask, &answer, why);
	reader = pb__reader(answer.data, answer.n);
	while (r == 0 && pb__next(&reader, &f)) {
		if (f.number == 1 && f.type == PB_VARINT)
			yes = f.value;
		else if (f.number == 2 && f.type == PB_BYTES && f.n && f.p[0])
			reason = pb__str(&f);
	}
	if (r == 0) {
		*ret = judge(s, yes, reason);
		error__set(why, 0, "%.*s", STR_ARG(reason));
	}
	buf__fini(&ask);
	buf__fini(&answer);
	return r;
}

/* UploadInstructions, in the answer. */
static int read_instructions(const struct sending *s, const struct buf *answer,
			     struct instructions *ret, struct dcm_error *err)
{
	struct pb_reader outer = pb__reader(answer->data, answer->n), inner;
	struct pb_field f, g;

	while (pb__next(&outer, &f)) {
		if (f.number != 1 || f.type != PB_BYTES)
			continue;
		inner = pb__reader(f.p, f.n);
		while (pb__next(&inner, &g)) {
			if (g.number == 2 && g.type == PB_BYTES && g.n < sizeof(ret->upload_id))
				snprintf(ret->upload_id, sizeof(ret->upload_id), "%.*s", (int)g.n,
					 (const char *)g.p);
			else if (g.number == 3 && g.type == PB_VARINT)
				ret->strategy = g.value;
			else if (g.number == 4 && g.type == PB_BYTES && !ret->url && g.n &&
				 !memchr(g.p, 0, g.n))
				ret->url = mem__dup_str((const char *)g.p, g.n);
		}
	}
	if (ret->strategy == BY_URL && s->signed_url && ret->url && ret->upload_id[0])
		return 0;
	if (ret->strategy != BY_GRPC)
		return error__set(err, -EPROTO,
				  "the server wants it sent in another way than by gRPC, which is "
				  "not known here; "
				  "have it take uploads itself (Parca: "
				  "--debuginfo-uploads-signed-url=false)");
	return ret->upload_id[0] ? 0 : error__set(err, -EPROTO, "the server gave no upload id");
}

static int initiate(const struct sending *s, uint64_t bytes, const char *hash,
		    struct instructions *ret, struct dcm_error *err)
{
	struct buf ask = { 0 }, answer = { 0 };
	int r;

	put_text(&ask, 1, s->build_id);
	pb__put_varint(&ask, 2, bytes);
	put_text(&ask, 3, hash);
	pb__put_varint(&ask, 4, s->replace);
	pb__put_varint(&ask, 6, GNU_ID);
	r = call(s, SERVICE "InitiateUpload", &ask, &answer, err);
	if (r == 0)
		r = read_instructions(s, &answer, ret, err);
	buf__fini(&ask);
	buf__fini(&answer);
	return r;
}

static int finish(const struct sending *s, const char *upload_id, struct dcm_error *err)
{
	struct buf ask = { 0 }, answer = { 0 };
	int r;

	put_text(&ask, 1, s->build_id);
	put_text(&ask, 2, upload_id);
	r = call(s, SERVICE "MarkUploadFinished", &ask, &answer, err);
	buf__fini(&ask);
	buf__fini(&answer);
	return r;
}

/* ---- the stream ---- */

/* Appends a message in its frame. */
static void put_frame(struct buf *frames, uint32_t number, const void *data, size_t n)
{
	struct buf head = { 0 };

	pb__put_tag(&head, number, PB_BYTES);
	buf__varint(&head, n);
	grpc_head__append(frames, 0, head.n + n);
	buf__append(frames, head.data, head.n);
	buf__append(frames, data, n);
	frames->error = frames->error ? frames->error : head.error;
	buf__fini(&head);
}

static int put_info(const struct sending *s, const char *upload_id, int to)
{
	struct buf info = { 0 }, frames = { 0 };
	int r;

	put_text(&info, 1, s->build_id);
	put_text(&info, 2, upload_id);
	put_frame(&frames, 1, info.data, info.n);
	r = info.error || frames.error ? -ENOMEM : fd__write_all(to, frames.data, frames.n);
	buf__fini(&info);
	buf__fini(&frames);
	return r;
}

static int put_chunks(int from, uint64_t bytes, int to)
{
	struct buf piece = { 0 }, frames = { 0 };
	int r = buf__reserve(&piece, CHUNK) ? 0 : -ENOMEM;

	for (uint64_t at = 0; r == 0 && at < bytes; at += CHUNK) {
		size_t n = bytes - at < CHUNK ? (size_t)(bytes - at) : CHUNK;

		buf__reset(&frames);
		r = fd__pread_full(from, piece.data, n, at);
		if (r == 0)
			put_frame(&frames, 2, piece.data, n);
		if (r == 0)
			r = frames.error ? -ENOMEM : fd__write_all(to, frames.data, frames.n);
	}
	buf__fini(&piece);
	buf__fini(&frames);
	return r;
}

static int upload(const struct sending *s, const char *upload_id, int fd, uint64_t bytes,
		  struct dcm_error *err)
{
	CLEANUP(fd__closep) int frames = sending__open_nameless(s->dir, err);
	struct sending_call c = { .method = SERVICE "Upload", .fd = frames };
	struct buf answer = { 0 };
	off_t n;
	int r = frames;

	if (frames < 0)
		return frames;
	r = put_info(s, upload_id, frames);
	if (r == 0)
		r = put_chunks(fd, bytes, frames);
	n = lseek(frames, 0, SEEK_CUR);
	if (r == 0 && n < 0)
		r = -errno;
	if (r < 0)
		return error__sys(err, r, "it cannot be put into messages in %s",
				  s->dir ? s->dir : "TMPDIR");
	c.bytes = (uint64_t)n;
	r = s->call(s->ctx, &c, &answer, err);
	buf__fini(&answer);
	return r;
}

static int put(const struct sending *s, const char *url, int fd, uint64_t bytes, struct dcm_error *err)
{
	const struct sending_call c = { .url = url, .fd = fd, .bytes = bytes };
	struct buf answer = { 0 };
	int r = s->call(s->ctx, &c, &answer, err);

	buf__fini(&answer);
	return r;
}

/* ---- all of it ---- */

/* Of the reduced file: the same file is reduced to the same bytes. */
static int make_hash(int fd, uint64_t bytes, char ret[static 17], struct dcm_error *err)
{
	uint8_t piece[65536];
	uint64_t hash = 0;

	for (uint64_t at = 0; at < bytes; at += sizeof(piece)) {
		uint64_t left = bytes - at;
		size_t n = left < sizeof(piece) ? (size_t)left : sizeof(piece);
		int r = fd__pread_full(fd, piece, n, at);

		if (r < 0)
			return error__sys(err, r, "the reduced file cannot be read");
		hash = hash__bytes(piece, n, hash);
	}
	snprintf(ret, 17, "%016" PRIx64, hash);
	return 0;
}

int sending__file(const struct sending *s, int fd, uint64_t bytes, struct dcm_error *err)
{
	struct instructions how = { .strategy = 0 };
	char hash[17];
	int r = make_hash(fd, bytes, hash, err);

	if (r == 0)
		r = initiate(s, bytes, hash, &how, err);
	if (r == 0 && how.strategy == BY_URL)
		r = put(s, how.url, fd, bytes, err);
	else if (r == 0)
		r = upload(s, how.upload_id, fd, bytes, err);
	if (r == 0)
		r = finish(s, how.upload_id, err);
	free(how.url);
	return r;
}
