/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/decima.c - decima.v1.Ingest/Write: batches of another Decima, as they are
 *
 * A batch has an id of its own, by which the stores know one that comes again. By gRPC, or as a plain
 * request with the same body.
 */
#include "plugins/input/receive/decima.h"

static void answer(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct desk *d = ctx;
	struct dcm_decode how = { .format = "batch" };
	struct desk_verdict v;

	desk__take(d, &how, q->body, q->n_body, q->budget, &v);
	if (desk__tell(d, &v, reply))
		d->host->reply_put(reply, 200, "application/proto", "", 0);
}

int decima__serve(struct desk *d, struct dcm_error *err)
{
	const struct dcm_endpoint endpoint = {
		.size = sizeof(endpoint),
		.role = DCM_ROLE_WRITE,
		.method = "POST",
		.path = "/decima.v1.Ingest/Write",
		.doc = "takes a batch of another Decima",
		.max_body = (uint64_t)d->options->max_body_bytes,
		.max_unpacked = (uint64_t)d->options->max_unpacked_bytes,
		.answer = answer,
		.ctx = d,
		.grpc = 1,
	};

	return d->host->serve(d->host, &endpoint, err);
}
