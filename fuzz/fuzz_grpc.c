/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_grpc.c - calls of gRPC and gRPC-Web from anybody: a message within what is there, or a refusal with a sentence
 *
 * The first byte says how the call comes: its low bits the form, the next whether its messages are said to be in gzip.
 */
#include "core/base/str.h"
#include "core/net/grpc.h"
#include "fuzz/verdict.h"

enum { MOST = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dcm_field fields[] = { { STR("grpc-encoding"), STR("gzip") },
				      { STR("grpc-timeout"), { 0 } } };
	struct http_request request = { .headers = fields };
	struct http_response response = { .status = 200 };
	struct buf room = { 0 }, trailers = { 0 };
	enum grpc_form form;

	if (size < 1)
		return 0;
	form = (enum grpc_form)(GRPC_HTTP2 + data[0] % 3);
	request.n_headers = data[0] & 4 ? 0 : 2;
	request.body = (struct dcm_str){ (const char *)data + 1, (uint32_t)size - 1 };
	fields[1].value = request.body;
	verdict__expect(grpc__timeout_ns(&request) >= -1, "a deadline before now");
	if (grpc__open(form, &request, MOST, &room, &response)) {
		verdict__expect(request.body.n <= MOST, "a message is larger than any may be");
		for (uint32_t i = 0; i < request.body.n; i++)
			buf__byte(&response.body, (uint8_t)request.body.p[i]);
	} else {
		verdict__expect(response.status >= 400 && response.detail.n > 0,
				"a refusal without a sentence");
	}
	grpc__close(form, &response, &trailers);
	verdict__expect(trailers.n > 0, "a call that comes to nothing");
	http_response__fini(&response);
	buf__fini(&room);
	buf__fini(&trailers);
	return 0;
}
