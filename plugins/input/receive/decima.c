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
	struct dcm_decode how = { .format = "batch" };

	desk__take_message(ctx, "decima", &how, q, reply);
}

int decima__serve(struct desk *d, struct dcm_error *err)
{
	return desk__serve(d,
			   (struct dcm_endpoint){ .path = "/decima.v1.Ingest/Write",
						  .doc = "takes a batch of another Decima",
						  .answer = answer,
						  .grpc = 1 },
			   err);
}
