/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_grpc_client.c - what a server answers to a call of gRPC: any status, headers and bytes
 *
 * The first line's first byte says which status of HTTP; then come lines, headers up to an empty one, and the body. The call
 * comes to a message within what came, or to an error that is one of those promised, with a sentence that can be shown.
 */
#include <errno.h>

#include "core/base/str.h"
#include "core/net/grpc_client.h"
#include "core/net/http_client.h"
#include "fuzz/line.h"
#include "fuzz/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The server. As libcurl hands them over, names and values are without a line's end. */
static struct dcm_str said;

int http_client__call(const struct http_call *call, struct http_response *ret, struct dcm_error *err)
{
	struct dcm_str rest = said, status = line__take(&rest), line;

	(void)err;
	verdict__expect(call->http2 && call->n_body >= 5, "no frame was sent");
	ret->status = status.n ? 100 + (unsigned char)status.p[0] * 2 : 200;
	while ((line = line__take(&rest)).n) {
		const char *colon = memchr(line.p, ':', line.n);
		const uint32_t n = colon ? (uint32_t)(colon - line.p) : 0;
		char name[64];

		if (n == 0 || n >= sizeof(name) || memchr(line.p, '\r', line.n) ||
		    memchr(line.p, '\0', line.n))
			continue;
		memcpy(name, line.p, n);
		name[n] = '\0';
		http_response__header(ret, name, "%.*s", (int)(line.n - n - 1), colon + 1);
	}
	buf__str(&ret->body, rest);
	return 0;
}

static bool is_promised(int error)
{
	static const int errors[] = { EINVAL, ENOENT, EEXIST, EBUSY,	 EACCES,
				      EAGAIN, EFBIG,  ENOSYS, ETIMEDOUT, EPROTO };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (error == -errors[i])
			return true;
	return false;
}

/* Of somebody else's words none may move a cursor or end a line. */
static void expect_sentence(const char *text)
{
	verdict__expect(text[0], "refused without a sentence");
	for (const char *at = text; *at; at++)
		verdict__expect((unsigned char)*at >= ' ' && *at != 0x7f,
				"a sentence that moves the cursor");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct buf message = { .data = (uint8_t *)"ask", .n = 3 };
	const struct grpc_call call = { .server = "http://there",
					.method = "/a.B/C",
					.message = &message,
					.timeout_ns = 1,
					.max_bytes = 1 << 20 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf answer = { 0 };
	int r;

	said = (struct dcm_str){ (const char *)data, (uint32_t)size };
	r = grpc_client__call(&call, &answer, &err);
	if (r == 0) {
		verdict__expect(answer.n + 5 <= size, "more than came");
		verdict__expect(answer.n == 0 || memmem(data, size, answer.data, answer.n),
				"bytes that nobody sent");
	} else {
		verdict__expect(is_promised(r) && answer.n == 0, "an answer that is neither");
		expect_sentence(err.text);
	}
	buf__fini(&answer);
	return 0;
}
