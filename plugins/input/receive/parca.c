/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/parca.c - parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw, a unary method of gRPC
 *
 * Older agents of Parca, and its own scrapers, send pprofs with it. A message without a field is its answer.
 */
#include "plugins/input/receive/parca.h"

static void answer(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct desk *d = ctx;
	struct dcm_decode how = { .format = "writeraw", .identity = DCM_IDENTITY_TIMED };
	struct desk_verdict v;

	desk__take(d, &how, q->body, q->n_body, q->budget, &v);
	if (desk__tell(d, &v, reply))
		d->host->reply_put(reply, 200, "application/proto", "", 0);
}

int parca__serve(struct desk *d, struct dcm_error *err)
{
	const struct dcm_endpoint endpoint = {
		.size = sizeof(endpoint),
		.role = DCM_ROLE_WRITE,
		.method = "POST",
		.path = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
		.doc = "takes a WriteRawRequest of Parca",
		.max_body = (uint64_t)d->options->max_body_bytes,
		.max_unpacked = (uint64_t)d->options->max_unpacked_bytes,
		.answer = answer,
		.ctx = d,
		.grpc = 1,
	};

	return d->host->serve(d->host, &endpoint, err);
}
