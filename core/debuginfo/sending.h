/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/debuginfo/sending.h - a file to a server by Parca's debuginfo protocol: what is asked, and what the answers mean
 *
 * ShouldInitiateUpload, by build id; then, of a file that was reduced, InitiateUpload, Upload or a PUT to a signed
 * URL, MarkUploadFinished. Who uses it makes the calls, by whichever client it has, and tries them again as it sees
 * fit. No state but the caller's; any thread. Source: parca-dev/parca, proto/parca/debuginfo/v1alpha1/debuginfo.proto.
 */
#ifndef DECIMA_DEBUGINFO_SENDING_H
#define DECIMA_DEBUGINFO_SENDING_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

struct sending_call {
	const char *method; /* "/parca.debuginfo.v1alpha1.DebuginfoService/..."; NULL: a PUT to `url` */
	const struct buf *message; /* the request, without its frame; or */
	int fd;			   /* [bytes] of a file: messages in their frames, or what is put */
	uint64_t bytes;
	const char *url; /* signed: it says who may, so no credentials go there */
};
/*
 * Appends the answer's message. 0, or as grpc_client__call() says: -EEXIST, -EBUSY, -EAGAIN, ... with a sentence.
 */
typedef int (*sending_fn)(void *ctx, const struct sending_call *call, struct buf *answer,
			  struct dcm_error *err);

struct sending {
	sending_fn call;
	void *ctx;
	const char *build_id;
	bool replace;	 /* have it taken though the server has some */
	bool signed_url; /* `call` knows how to put */
	const char *dir; /* for files without a name; NULL: TMPDIR */
};

enum sending_answer {
	SENDING_WANTED,
	SENDING_REPLACES, /* wanted, since `replace` says so, though the server has some */
	SENDING_KNOWN,	  /* the server has it */
	SENDING_NOT_WANTED,
};

/* Is it wanted? The reason is in `why`, whatever the answer. 0, or of the call. */
int sending__ask(const struct sending *s, enum sending_answer *ret, struct dcm_error *why);
/* All the rest. fd: [bytes] of the reduced file, borrowed. 0; -EEXIST: it has the very same bytes; or of a call. */
int sending__file(const struct sending *s, int fd, uint64_t bytes, struct dcm_error *err);

/* A file without a name in dir, or in TMPDIR (NULL), for reading and writing; or of making it. */
int sending__open_nameless(const char *dir, struct dcm_error *err);

#endif
