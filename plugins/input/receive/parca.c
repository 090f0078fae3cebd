/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/parca.c - parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw, a unary method of gRPC
 *
 * Older agents of Parca, and its own scrapers, send pprofs with it. A message without a field is its answer.
 */
#include "plugins/input/receive/parca.h"

#include "plugins/input/receive/descriptors.h"

static void answer(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct dcm_decode how = { .format = "writeraw", .identity = DCM_IDENTITY_TIMED };

	desk__take_message(ctx, &how, q, reply);
}

int parca__serve(struct desk *d, struct dcm_error *err)
{
	return desk__serve(
		d,
		(struct dcm_endpoint){
			.path = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
			.doc = "takes a WriteRawRequest of Parca",
			.answer = answer,
			.grpc = 1,
			.descriptors = descriptors_parca,
			.n_descriptors = sizeof(descriptors_parca) },
		err);
}
