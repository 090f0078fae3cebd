/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_health.c - grpc.health.v1.Health, asked by anybody: a status, or a refusal with a sentence
 *
 * The first byte says whether the server is ready when it is asked, and when a watcher looks again; the rest is the message.
 */
#include "core/api/internal.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "fuzz/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3, LISTED };

static bool is_ready;

void api__ready(void *ctx, const struct http_request *req, struct http_response *resp)
{
	(void)ctx, (void)req;
	resp->status = is_ready ? 200 : 503;
}

/* Of a HealthCheckResponse its status, of a HealthListResponse LISTED. */
static unsigned status_of(const struct http_response *resp)
{
	struct pb_reader r = pb__reader(resp->body.data, resp->body.n);
	unsigned status = 0, n = 0;
	struct pb_field f;

	while (pb__next(&r, &f)) {
		verdict__expect(f.number == 1, "a field that the answer has not");
		status = f.type == PB_VARINT ? (unsigned)f.value : LISTED;
		n++;
	}
	verdict__expect(!r.fault && n == 1, "an answer that is none");
	return status;
}

/* The handler's status of HTTP; *ret: what it said, where that is 200. */
static int ask(http_handler handler, struct http_request *req, unsigned *ret)
{
	struct http_response resp = { .status = 200 };
	int status;

	handler(NULL, req, &resp);
	status = resp.status;
	if (status == 200)
		*ret = status_of(&resp);
	else if (status != 204)
		verdict__expect(status < 500 && resp.detail.n > 0, "refused without a sentence");
	http_response__fini(&resp);
	return status;
}

static unsigned now(void)
{
	return is_ready ? SERVING : NOT_SERVING;
}

static bool is_protobuf(struct dcm_str message)
{
	struct pb_reader r = pb__reader_of(message);
	struct pb_field f;

	while (pb__next(&r, &f))
		;
	return !r.fault;
}

static void watch(struct http_request *req, int checked, bool later)
{
	struct http_talk talk = { .state = NULL };
	unsigned said = 0;
	int status;

	req->talk = &talk;
	status = ask(api__health_watch, req, &said);
	verdict__expect(status == (checked == 400 ? 400 : 200),
			"a watch that goes as no check does");
	if (status == 400)
		return;
	verdict__expect(said == (checked == 200 ? now() : SERVICE_UNKNOWN),
			"a watch of another status");
	talk.is_look = true;
	verdict__expect(ask(api__health_watch, req, &said) == 204, "the same status twice");
	if (is_ready == later || checked != 200)
		return;
	is_ready = later;
	verdict__expect(ask(api__health_watch, req, &said) == 200 && said == now(),
			"another status that is not told");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = { 0 };
	struct http_request req = { .arena = &arena };
	unsigned said = 0;
	int checked;

	if (size < 1)
		return 0;
	is_ready = data[0] & 1;
	req.body = (struct dcm_str){ (const char *)data + 1, (uint32_t)size - 1 };
	checked = ask(api__health_check, &req, &said);
	verdict__expect(checked == 200 || checked == 400 || checked == 404, "another status");
	verdict__expect((checked == 400) == !is_protobuf(req.body), "what it takes for a message");
	verdict__expect(checked != 200 || said == now(), "a check of another status");
	verdict__expect(ask(api__health_list, &req, &said) == 200 && said == LISTED, "no list");
	watch(&req, checked, data[0] & 2);
	arena__fini(&arena);
	return 0;
}
