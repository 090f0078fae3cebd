/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/debuginfo_send.c - one file to a server, asked first, reduced in between
 *
 * What is asked and answered is core/debuginfo's; here are the calls. A server that has no time is asked again a few
 * times.
 */
#include "core/main/debuginfo_send.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/debuginfo/sending.h"
#include "core/main/reduced.h"
#include "core/net/grpc_client.h"

enum {
	ANSWER = 1 << 20, /* bytes of one */
	TRIES = 4
};

struct upload {
	const struct debuginfo_send *s;
	const char *path, *build_id;
	struct reduced file;
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
	const struct upload *x = ctx;

	x->s->sent(x->s->ctx, x->path, n, x->file.bytes);
}

/* Twice as long each time. */
static void wait_before(int try)
{
	nanosleep(&(struct timespec){ .tv_sec = 1 << (try - 1) }, NULL);
}

/* One call, of a message or of a stream (sending_fn). */
static int call(void *ctx, const struct sending_call *what, struct buf *answer, struct dcm_error *err)
{
	const struct upload *x = ctx;
	const struct http_file stream = { .fd = what->fd, .n = what->bytes };
	const struct grpc_call c = { .server = (const char *)x->s->server->url.data,
				     .method = what->method,
				     .bearer = (const char *)x->s->server->token.data,
				     .ca_file = x->s->server->ca_file,
				     .cert_file = x->s->server->cert_file,
				     .key_file = x->s->server->key_file,
				     .message = what->message,
				     .stream = what->message ? NULL : &stream,
				     .sent = !what->message && x->s->sent ? tell : NULL,
				     .sent_ctx = ctx,
				     .timeout_ns = x->s->timeout_ns,
				     .max_bytes = ANSWER };
	int r = -EAGAIN;

	for (int try = 0; try < TRIES && r == -EAGAIN; try++) {
		if (try)
			wait_before(try);
		buf__reset(answer);
		r = grpc_client__call(&c, answer, err);
	}
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

static bool is_of_no_use(int r)
{
	return r == -ENOEXEC || r == -EINVAL || r == -ENODATA;
}

static int reduce(struct upload *x, int fd)
{
	int r = reduced__make(fd, &x->file, &x->ret->why);

	if (r == 0 && !x->file.build_id[0])
		r = error__set(&x->ret->why, -ENODATA, "it has no build id; link it with -Wl,--build-id");
	if (r < 0)
		x->ret->result = is_of_no_use(r) ? DEBUGINFO_SEND_NO_USE : DEBUGINFO_SEND_REFUSED;
	x->ret->functions = x->file.functions;
	x->ret->lines = x->file.lines;
	x->ret->bytes = x->file.bytes;
	return r;
}

/* True: it is wanted; otherwise the report says why not. */
static bool is_wanted(struct upload *x, const struct sending *s)
{
	static const enum debuginfo_send_result results[] = {
		[SENDING_WANTED] = DEBUGINFO_SEND_STORED,
		[SENDING_REPLACES] = DEBUGINFO_SEND_REPLACED,
		[SENDING_KNOWN] = DEBUGINFO_SEND_KNOWN,
		[SENDING_NOT_WANTED] = DEBUGINFO_SEND_NOT_WANTED,
	};
	enum sending_answer answer = SENDING_NOT_WANTED;
	int r = sending__ask(s, &answer, &x->ret->why);

	x->ret->result = r < 0 ? DEBUGINFO_SEND_REFUSED : results[answer];
	return r == 0 && (answer == SENDING_WANTED || answer == SENDING_REPLACES);
}

void debuginfo_send__file(const struct debuginfo_send *s, const char *path, int fd,
			  const char *build_id, struct debuginfo_send_report *ret)
{
	struct upload x = { .s = s, .path = path, .build_id = build_id, .file.fd = -1, .ret = ret };
	const struct sending how = { .call = call, .ctx = &x, .build_id = build_id, .replace = s->replace };
	int r;

	*ret = (struct debuginfo_send_report){ .why = DCM_ERROR_INIT };
	snprintf(ret->build_id, sizeof(ret->build_id), "%s", build_id);
	/* Without a build id there is nothing to ask for, but something to say. */
	if (build_id[0] && !is_wanted(&x, &how))
		return;
	r = reduce(&x, fd);
	if (r == 0 && (r = sending__file(&how, x.file.fd, x.file.bytes, &ret->why)) < 0)
		ret->result = r == -EEXIST ? DEBUGINFO_SEND_KNOWN : DEBUGINFO_SEND_REFUSED;
	reduced__fini(&x.file);
}
