/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/parca.c - parca.profilestore.v1alpha1.ProfileStoreService, unary methods of gRPC
 *
 * Today's agents of Parca send samples by WriteArrow; older ones, and its own scrapers, pprofs by WriteRaw. A message without
 * a field is the answer of either.
 */
#include "plugins/input/receive/parca.h"

#include "plugins/input/receive/descriptors.h"

static void take_raw(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct dcm_decode how = { .format = "writeraw", .identity = DCM_IDENTITY_TIMED };

	desk__take_message(ctx, "parca", &how, q, reply);
}

static void take_arrow(void *ctx, const struct dcm_request *q, struct dcm_reply *reply)
{
	struct dcm_decode how = { .format = "writearrow", .identity = DCM_IDENTITY_TIMED };

	desk__take_message(ctx, "parca", &how, q, reply);
}

int parca__serve(struct desk *d, struct dcm_error *err)
{
	int e = desk__serve(
		d,
		(struct dcm_endpoint){
			.path = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
			.doc = "takes a WriteRawRequest of Parca",
			.answer = take_raw,
			.grpc = 1,
			.descriptors = descriptors_parca,
			.n_descriptors = sizeof(descriptors_parca) },
		err);
	if (e < 0)
		return e;
	return desk__serve(
		d,
		(struct dcm_endpoint){
			.path = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteArrow",
			.doc = "takes a WriteArrowRequest of Parca",
			.answer = take_arrow,
			.grpc = 1 },
		err);
}
