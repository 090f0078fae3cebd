/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_answers.c - what servers answer to outputs that send: any status, headers and bytes
 *
 * The first byte says how it is asked: 'h' by HTTP, 'o' by OTLP over HTTP, 'g' by gRPC, 'p' by OTLP over gRPC, and then come lines,
 * the status, headers up to an empty one, and the body; 'r' reads what OTLP's servers say of a request that they took; 'd' sends
 * debuginfo, and the answers come one after another, each behind its fault and its length. The verdict is one of those that there
 * are, with a sentence that can be shown, patience ends, and no number is beyond what was sent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/debuginfo/sending.h"
#include "fuzz/line.h"
#include "plugins/output/delivery/delivery.h"
#include "plugins/output/otlp/response.h"

#define SECOND INT64_C(1000000000)
enum { HEADERS_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fact)
{
	if (!fact)
		abort();
}

/* Of somebody else's words none may move a cursor or end a line. */
static void expect_sentence(const char *text)
{
	expect(text[0] && strlen(text) < 512);
	for (const char *at = text; *at; at++)
		expect((unsigned char)*at >= ' ' && *at != 0x7f);
}

/* ---- a request and its answer ---- */

static struct {
	int64_t now_ns;
	struct dcm_http_reply reply;
	unsigned n_asked;
} there;

static int64_t mono_ns(const struct dcm_host *h)
{
	(void)h;
	return there.now_ns;
}

/* 2015-10-21 07:28:00 UTC and what has gone by since */
static int64_t real_ns(const struct dcm_host *h)
{
	return INT64_C(1445412480) * SECOND + mono_ns(h);
}

static int start(struct dcm_http_client *client, const struct dcm_http_call *c, uint64_t *ret_id,
		 struct dcm_error *err)
{
	(void)client;
	(void)ret_id;
	(void)err;
	there.n_asked++;
	c->done(c->ctx, &there.reply);
	return 0;
}

static void try_delivery(struct dcm_str rest, bool grpc, enum delivery_rules rules)
{
	static const struct dcm_host host = {
		.size = sizeof(host), .mono_ns = mono_ns, .real_ns = real_ns, .http_start = start
	};
	struct dcm_http_header headers[HEADERS_MAX];
	struct dcm_str status = line__take(&rest), line;
	struct dcm_error err = DCM_ERROR_INIT;
	struct delivery *d = delivery__new(&host, NULL);
	struct buf body = { 0 };
	uint32_t n = 0;

	expect(d);
	for (line = line__take(&rest); line.n && n < HEADERS_MAX; line = line__take(&rest)) {
		const char *colon = memchr(line.p, ':', line.n);
		uint32_t at = colon ? (uint32_t)(colon - line.p) : line.n;

		headers[n++] = (struct dcm_http_header){ { line.p, at },
							 { line.p + at + (colon ? 1 : 0),
							   line.n - at - (colon ? 1 : 0) } };
	}
	there.now_ns = SECOND;
	there.n_asked = 0;
	there.reply = (struct dcm_http_reply){
		.size = sizeof(there.reply),
		.status = 100 + (status.n ? (unsigned char)status.p[0] * 2 : 0),
		.fault = status.n > 1 ? -EPROTO : 0,
		.sentence = "there is no answer",
		.headers = headers,
		.n_headers = n,
		.data = (const uint8_t *)rest.p,
		.n = rest.n,
	};
	const struct delivery_request request = {
		.url = "http://there", .grpc = grpc, .data = "x", .n = 1, .rules = rules, .ret_body = &body
	};
	int r = delivery__send(d, &request, there.now_ns + SECOND, &err);
	expect(r == 0 || r == -EAGAIN || r == -EBADMSG);
	if (r < 0)
		expect_sentence(err.text);
	there.now_ns += 3601 * SECOND;
	delivery__send(d, &request, there.now_ns + SECOND, &err);
	expect(there.n_asked == 2);
	buf__fini(&body);
	delivery__free(d);
}

/* ---- of a request that was taken ---- */

static void try_response(struct dcm_str rest)
{
	struct buf body = { 0 };

	buf__str(&body, rest);
	if (body.n && body.data[0] < 2)
		response__unframe(&body);
	const struct response r = response__read(buf__view(&body), 7);
	expect(r.n_rejected <= 7);
	expect(r.message.n == 0 || ((const uint8_t *)r.message.p >= body.data &&
				    (const uint8_t *)r.message.p + r.message.n <= body.data + body.n));
	buf__fini(&body);
}

/* ---- debuginfo ---- */

static int answer_next(void *ctx, const struct sending_call *call, struct buf *answer,
		       struct dcm_error *err)
{
	static const int faults[] = { 0, 0, 0, 0, -EEXIST, -EBUSY, -EAGAIN, -EACCES };
	struct dcm_str *rest = ctx;
	uint32_t n;

	expect(call->method || (call->url && call->url[0]));
	if (rest->n < 2)
		return error__set(err, -EIO, "there is no further answer");
	const int fault = faults[(unsigned char)rest->p[0] & 7];
	n = (unsigned char)rest->p[1];
	rest->p += 2;
	rest->n -= 2;
	n = n < rest->n ? n : rest->n;
	if (!fault)
		buf__append(answer, rest->p, n);
	rest->p += n;
	rest->n -= n;
	return fault ? error__set(err, fault, "it says no") : 0;
}

static void try_debuginfo(struct dcm_str rest)
{
	static const char file[] = "a reduced file";
	struct dcm_error err = DCM_ERROR_INIT;
	struct sending s = { .call = answer_next, .ctx = &rest, .build_id = "0123456789abcdef" };
	enum sending_answer answer = SENDING_NOT_WANTED;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (rest.n == 0)
		return;
	s.replace = rest.p[0] & 1;
	s.signed_url = rest.p[0] & 2;
	rest.p++;
	rest.n--;
	expect(fd >= 0 && write(fd, file, sizeof(file)) == sizeof(file));
	int r = sending__ask(&s, &answer, &err);
	expect(err.text[0] && answer <= SENDING_NOT_WANTED);
	if (r == 0) {
		err = (struct dcm_error)DCM_ERROR_INIT;
		r = sending__file(&s, fd, sizeof(file), &err);
		expect(r == 0 || err.text[0]);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy;

	if (size == 0)
		return 0;
	/* Exactly as large as it is, so that a sanitizer sees a read behind it. */
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	struct dcm_str rest = { copy + 1, (uint32_t)(size - 1) };
	switch (copy[0]) {
	case 'h':
	case 'o':
		try_delivery(rest, false, copy[0] == 'o' ? DELIVERY_OTLP : DELIVERY_USUAL);
		break;
	case 'g':
	case 'p':
		try_delivery(rest, true, copy[0] == 'p' ? DELIVERY_OTLP : DELIVERY_USUAL);
		break;
	case 'r':
		try_response(rest);
		break;
	case 'd':
		try_debuginfo(rest);
		break;
	default:
		break;
	}
	free(copy);
	return 0;
}
