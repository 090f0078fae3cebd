/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_talk.c - streams of gRPC from anybody, to server reflection: whole messages back, and an end that says why
 *
 * The first byte says in which pieces the rest comes, and by its highest bit whether messages are said to be in gzip.
 */
#include "core/api/descriptors.h"
#include "core/api/internal.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "core/net/talk.h"
#include "fuzz/verdict.h"

enum { HEAD_BYTES = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct http_routes *make_routes(void)
{
	struct http_routes *routes = http_routes__new();
	struct http_route row = {
		.method = HTTP_POST,
		.pattern = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
		.handler = api__reflection,
		.ctx = routes,
		.quick = true,
		.grpc = true,
		.streams = HTTP_TALKS,
		.max_body = 256,
		.descriptors = { (const char *)descriptors_reflection, sizeof(descriptors_reflection) }
	};

	verdict__expect(routes && http_routes__add(routes, &row) == 0, "no memory");
	return routes;
}

/* One ServerReflectionResponse: an answer to what it repeats. */
static void judge(const uint8_t *message, size_t n)
{
	struct pb_reader r = pb__reader(message, n);
	struct pb_field f;
	unsigned n_answers = 0;

	while (pb__next(&r, &f))
		n_answers += f.number >= 4;
	verdict__expect(!r.fault, "an answer that is no protobuf");
	verdict__expect(n_answers == 1, "a question with none or several answers");
}

/* Takes what the talk says, as a slow client does. */
static void read_all(struct talk *t, struct buf *said)
{
	size_t at = 0, n;
	uint8_t some[100];

	while ((n = talk__read(t, some, sizeof(some))) > 0)
		buf__append(said, some, n);
	while (said->n - at >= HEAD_BYTES) {
		const uint8_t *head = said->data + at;

		n = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
		verdict__expect(head[0] == 0 && n <= said->n - at - HEAD_BYTES,
				"a frame that is not whole");
		judge(head + HEAD_BYTES, n);
		at += HEAD_BYTES + n;
	}
	verdict__expect(at == said->n, "bytes behind the frames");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct exchange_carrier carrier = { .answers_early = true };
	static struct http_routes *routes;
	struct buf said = { 0 };
	struct exchange *x;
	size_t step;

	if (size < 1)
		return 0;
	if (!routes)
		routes = make_routes();
	x = exchange__new(&carrier, NULL);
	verdict__expect(x, "no memory");
	step = (data[0] & 0x7f) + 1U;
	if (data[0] & 0x80)
		exchange__add_header(x, STR("grpc-encoding"), STR("gzip"));
	exchange__set_target(x, STR("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"));
	verdict__expect(exchange__read_head(x, STR("POST")), "the head is malformed");
	verdict__expect(talk__begin(x, http_routes__find(routes, HTTP_POST, x->request.path)),
			"no memory");
	for (size_t at = 1; at < size; at += step)
		talk__take(x, routes, data + at, size - at < step ? size - at : step);
	talk__end(x);
	verdict__expect(x->talk->is_over, "a talk that goes on when all was said");
	verdict__expect(x->response.status == 200 || x->response.detail.n > 0,
			"it came to nothing, without a sentence");
	read_all(x->talk, &said);
	buf__fini(&said);
	exchange__free(x);
	return 0;
}
