/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/debuginfo_send.c - ShouldInitiateUpload, InitiateUpload, Upload, MarkUploadFinished
 *
 * The file is reduced in between, and put into frames in a file without a name, so that no more than a
 * piece of it is in memory. A server that has no time is asked again a few times. Source: parca-dev/parca,
 * proto/parca/debuginfo/v1alpha1/debuginfo.proto.
 */
#include "core/main/debuginfo_send.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/main/reduced.h"
#include "core/net/grpc.h"
#include "core/net/grpc_client.h"

#define SERVICE "/parca.debuginfo.v1alpha1.DebuginfoService/"

enum {
	GNU_ID = 1,	  /* BuildIDType */
	BY_GRPC = 1,	  /* UploadInstructions.UploadStrategy */
	CHUNK = 1 << 20,  /* Parca takes messages of 64 MiB */
	ANSWER = 1 << 20, /* bytes of one */
	TRIES = 4
};

struct sending {
	const struct debuginfo_send *s;
	const char *path, *build_id;
	struct reduced file;
	char hash[17];
	char upload_id[128];
	struct debuginfo_send_report *ret;
};

int debuginfo_send__open(const char *path, char ret_build_id[static ELF_BUILD_ID_TEXT],
			 struct dcm_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0)
		return error__sys(err, -errno, "cannot be read");
	r = elf__build_id(fd, ret_build_id);
	/* What else is wrong with it is found when it is reduced. */
	if (r < 0)
		ret_build_id[0] = '\0';
	return fd;
}

/* ------------------------------------------------------------------------------------------------
 * Calls
 */

static void tell(void *ctx, uint64_t n)
{
	const struct sending *x = ctx;

	x->s->sent(x->s->ctx, x->path, n, x->file.bytes);
}

/* Twice as long each time. */
static void wait_before(int try)
{
	nanosleep(&(struct timespec){ .tv_sec = 1 << (try - 1) }, NULL);
}

/* One call, of a message or of a stream. */
static int call(const struct sending *x, const char *method, const struct buf *message,
		const struct http_file *stream, struct buf *answer)
{
	const struct grpc_call c = { .server = (const char *)x->s->server->url.data,
				     .method = method,
				     .bearer = (const char *)x->s->server->token.data,
				     .ca_file = x->s->server->ca_file,
				     .cert_file = x->s->server->cert_file,
				     .key_file = x->s->server->key_file,
				     .message = message,
				     .stream = stream,
				     .sent = stream && x->s->sent ? tell : NULL,
				     .sent_ctx = (void *)x,
				     .timeout_ns = x->s->timeout_ns,
				     .max_bytes = ANSWER };
	int r = -EAGAIN;

	if (message && message->error)
		return error__nomem(&x->ret->why);
	for (int try = 0; try < TRIES && r == -EAGAIN; try++) {
		if (try)
			wait_before(try);
		buf__reset(answer);
		r = grpc_client__call(&c, answer, &x->ret->why);
	}
	return r;
}

static void put_text(struct buf *b, uint32_t number, const char *text)
{
	pb__put_bytes(b, number, text, strlen(text));
}

static int fail(struct sending *x, int r)
{
	x->ret->result = DEBUGINFO_SEND_REFUSED;
	return r;
}

static bool speaks_of_what_it_has(struct dcm_str reason)
{
	return str__starts(reason, STR("Debuginfo already exists")) ||
	       str__starts(reason, STR("Debuginfo exists")) ||
	       str__starts(reason, STR("Debuginfo is available"));
}

/* 1: it is wanted. 0: the report says why not. */
static int should(struct sending *x)
{
	struct buf ask = { 0 }, answer = { 0 };
	struct dcm_str reason = STR("it gives no reason");
	struct pb_reader reader;
	struct pb_field f;
	bool yes = false;
	int r;

	put_text(&ask, 1, x->build_id);
	pb__put_varint(&ask, 3, x->s->replace);
	pb__put_varint(&ask, 5, GNU_ID);
	r = call(x, SERVICE "ShouldInitiateUpload", &ask, NULL, &answer);
	reader = pb__reader(answer.data, answer.n);
	while (r == 0 && pb__next(&reader, &f)) {
		if (f.number == 1 && f.type == PB_VARINT)
			yes = f.value;
		else if (f.number == 2 && f.type == PB_BYTES)
			reason = pb__str(&f);
	}
	if (r == 0) {
		bool has = speaks_of_what_it_has(reason);

		x->ret->result = yes && has && x->s->replace ? DEBUGINFO_SEND_REPLACED
				 : yes			     ? DEBUGINFO_SEND_STORED
				 : has			     ? DEBUGINFO_SEND_KNOWN
							     : DEBUGINFO_SEND_NOT_WANTED;
		error__set(&x->ret->why, 0, "%.*s", STR_ARG(reason));
	}
	buf__fini(&ask);
	buf__fini(&answer);
	return r < 0 ? fail(x, r) : yes;
}

/* UploadInstructions, in the answer. */
static int read_instructions(struct sending *x, const struct buf *answer)
{
	struct pb_reader outer = pb__reader(answer->data, answer->n), inner;
	struct pb_field f, g;
	uint64_t strategy = 0;

	x->upload_id[0] = '\0';
	while (pb__next(&outer, &f)) {
		if (f.number != 1 || f.type != PB_BYTES)
			continue;
		inner = pb__reader(f.p, f.n);
		while (pb__next(&inner, &g)) {
			if (g.number == 2 && g.type == PB_BYTES && g.n < sizeof(x->upload_id))
				snprintf(x->upload_id, sizeof(x->upload_id), "%.*s", (int)g.n,
					 (const char *)g.p);
			else if (g.number == 3 && g.type == PB_VARINT)
				strategy = g.value;
		}
	}
	if (strategy != BY_GRPC)
		return error__set(&x->ret->why, -EPROTO,
				  "the server wants it sent in another way than by gRPC, which is "
				  "not known here; "
				  "have it take uploads itself (Parca: "
				  "--debuginfo-uploads-signed-url=false)");
	return x->upload_id[0] ? 0 : error__set(&x->ret->why, -EPROTO, "the server gave no upload id");
}

static int initiate(struct sending *x)
{
	struct buf ask = { 0 }, answer = { 0 };
	int r;

	put_text(&ask, 1, x->build_id);
	pb__put_varint(&ask, 2, x->file.bytes);
	put_text(&ask, 3, x->hash);
	pb__put_varint(&ask, 4, x->s->replace);
	pb__put_varint(&ask, 6, GNU_ID);
	r = call(x, SERVICE "InitiateUpload", &ask, NULL, &answer);
	if (r == 0)
		r = read_instructions(x, &answer);
	buf__fini(&ask);
	buf__fini(&answer);
	/* The very same bytes. */
	if (r == -EEXIST)
		x->ret->result = DEBUGINFO_SEND_KNOWN;
	else if (r < 0)
		fail(x, r);
	return r;
}

static int finish(struct sending *x)
{
	struct buf ask = { 0 }, answer = { 0 };
	int r;

	put_text(&ask, 1, x->build_id);
	put_text(&ask, 2, x->upload_id);
	r = call(x, SERVICE "MarkUploadFinished", &ask, NULL, &answer);
	buf__fini(&ask);
	buf__fini(&answer);
	return r < 0 ? fail(x, r) : 0;
}

/* ------------------------------------------------------------------------------------------------
 * The stream
 */

/* Appends a message in its frame. */
static void put_frame(struct buf *frames, uint32_t number, const void *data, size_t n)
{
	struct buf head = { 0 };

	pb__put_tag(&head, number, PB_BYTES);
	buf__varint(&head, n);
	grpc__put_head(frames, (uint32_t)(head.n + n));
	buf__append(frames, head.data, head.n);
	buf__append(frames, data, n);
	frames->error = frames->error ? frames->error : head.error;
	buf__fini(&head);
}

static int put_info(const struct sending *x, int fd)
{
	struct buf info = { 0 }, frames = { 0 };
	int r;

	put_text(&info, 1, x->build_id);
	put_text(&info, 2, x->upload_id);
	put_frame(&frames, 1, info.data, info.n);
	r = info.error || frames.error ? -ENOMEM : fd__write_all(fd, frames.data, frames.n);
	buf__fini(&info);
	buf__fini(&frames);
	return r;
}

static int put_chunks(const struct sending *x, int fd)
{
	struct buf piece = { 0 }, frames = { 0 };
	int r = buf__reserve(&piece, CHUNK) ? 0 : -ENOMEM;

	for (uint64_t at = 0; r == 0 && at < x->file.bytes; at += CHUNK) {
		size_t n = x->file.bytes - at < CHUNK ? (size_t)(x->file.bytes - at) : CHUNK;

		buf__reset(&frames);
		r = fd__pread_full(x->file.fd, piece.data, n, at);
		if (r == 0)
			put_frame(&frames, 2, piece.data, n);
		if (r == 0)
			r = frames.error ? -ENOMEM : fd__write_all(fd, frames.data, frames.n);
	}
	buf__fini(&piece);
	buf__fini(&frames);
	return r;
}

static int upload(struct sending *x)
{
	CLEANUP(fd__closep) int fd = reduced__open_nameless(&x->ret->why);
	struct http_file frames = { .fd = fd };
	struct buf answer = { 0 };
	off_t n;
	int r = fd;

	if (fd < 0)
		return fail(x, fd);
	r = put_info(x, fd);
	if (r == 0)
		r = put_chunks(x, fd);
	n = lseek(fd, 0, SEEK_CUR);
	if (r == 0 && n < 0)
		r = -errno;
	if (r < 0)
		return fail(x, error__sys(&x->ret->why, r, "it cannot be put into messages in TMPDIR"));
	frames.n = (uint64_t)n;
	r = call(x, SERVICE "Upload", NULL, &frames, &answer);
	buf__fini(&answer);
	return r < 0 ? fail(x, r) : 0;
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

/* Of the reduced file: the same file is reduced to the same bytes. */
static int make_hash(struct sending *x)
{
	uint8_t piece[65536];
	uint64_t hash = 0;

	for (uint64_t at = 0; at < x->file.bytes; at += sizeof(piece)) {
		uint64_t left = x->file.bytes - at;
		size_t n = left < sizeof(piece) ? (size_t)left : sizeof(piece);
		int r = fd__pread_full(x->file.fd, piece, n, at);

		if (r < 0)
			return error__sys(&x->ret->why, r, "the reduced file cannot be read");
		hash = hash__bytes(piece, n, hash);
	}
	snprintf(x->hash, sizeof(x->hash), "%016" PRIx64, hash);
	return 0;
}

static bool is_of_no_use(int r)
{
	return r == -ENOEXEC || r == -EINVAL || r == -ENODATA;
}

static int reduce(struct sending *x, int fd)
{
	int r = reduced__make(fd, &x->file, &x->ret->why);

	if (r == 0 && !x->file.build_id[0])
		r = error__set(&x->ret->why, -ENODATA, "it has no build id; link it with -Wl,--build-id");
	if (r == 0)
		r = make_hash(x);
	if (r < 0)
		x->ret->result = is_of_no_use(r) ? DEBUGINFO_SEND_NO_USE : DEBUGINFO_SEND_REFUSED;
	x->ret->functions = x->file.functions;
	x->ret->lines = x->file.lines;
	x->ret->bytes = x->file.bytes;
	return r;
}

void debuginfo_send__file(const struct debuginfo_send *s, const char *path, int fd,
			  const char *build_id, struct debuginfo_send_report *ret)
{
	struct sending x = { .s = s, .path = path, .build_id = build_id, .file.fd = -1, .ret = ret };

	*ret = (struct debuginfo_send_report){ .why = DCM_ERROR_INIT };
	snprintf(ret->build_id, sizeof(ret->build_id), "%s", build_id);
	/* Without a build id there is nothing to ask for, but something to say. */
	if ((!build_id[0] || should(&x) == 1) && reduce(&x, fd) == 0 && initiate(&x) == 0 &&
	    upload(&x) == 0)
		finish(&x);
	reduced__fini(&x.file);
}
