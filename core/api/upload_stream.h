/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/upload_stream.h - a file of Parca's UploadRequests in gRPC's frames, made the file that they carry
 *
 * Any thread.
 */
#ifndef DECIMA_API_UPLOAD_STREAM_H
#define DECIMA_API_UPLOAD_STREAM_H

#include <decima/plugin.h>

enum { UPLOAD_STREAM_INFO = 4096 };

/* The first message says what the others are of. */
struct upload_stream {
	char info[UPLOAD_STREAM_INFO]; /* that message's, as it came; the texts below point there */
	struct dcm_str build_id, upload_id;
	uint64_t type;
	uint64_t bytes; /* that the others carry */
};

/* How messages that say that they are packed are (grpc-encoding), and how many bytes they may come to. */
struct upload_packing {
	struct dcm_str coding;
	uint64_t max_bytes;
};

/*
 * Moves what the chunks carry to the front of the file, of n bytes, and cuts the rest off: nothing is in
 * memory but a piece of one, or one message that is packed. -EINVAL: it is no stream of these; -EOPNOTSUPP: a message is
 * packed in a way that nobody here unpacks; -EFBIG: more than max_bytes come out; or of the file. err has the
 * sentence; the file is then of no use.
 */
int upload_stream__unwrap(int fd, uint64_t n, const struct upload_packing *packing,
			  struct upload_stream *ret, struct dcm_error *err);

#endif
