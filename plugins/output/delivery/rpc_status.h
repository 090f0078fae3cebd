/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/rpc_status.h - google.rpc.Status, which says more of a refusal than a number
 *
 * Source: google/rpc/status.proto and error_details.proto. Over gRPC it comes in base64, with or without padding, in the trailer
 * grpc-status-details-bin; over OTLP/HTTP it is the body. It is anybody's bytes: what cannot be read says nothing. Any thread.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_RPC_STATUS_H
#define DECIMA_OUTPUT_DELIVERY_RPC_STATUS_H

#include <stdbool.h>

#include <decima/plugin.h>

struct rpc_status {
	struct dcm_str message; /* "": none; within the bytes */
	bool has_retry;		/* there is a RetryInfo: the same may be taken later */
	int64_t retry_ns;	/* .. no sooner than this from now on; >= 0 */
};

struct rpc_status rpc_status__read(struct dcm_str message);

/* As above, out of a trailer; `message` is "", as the bytes are gone. */
struct rpc_status rpc_status__of_trailer(struct dcm_str base64);

#endif
