/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/receive/otlp.h - OTLP profiles: ProfilesService/Export
 *
 *	POST /v1development/profiles	as OTLP/HTTP has it
 *	POST /v1/profiles		as the collector's documentation has it
 *	POST /v1experimental/profiles	of OTLP 1.3: refused with a sentence
 *	ProfilesService/Export		by gRPC, and at the path of its name
 *
 * Sources: opentelemetry.io/docs/specs/otlp; opentelemetry-proto, docs and pull request 857 for the version's header.
 *
 * What a request is of is told by the header OTLP-Profiles-Development-Version, which knows "1" alone, and is then taken at its
 * word; without one by its bytes, as clients older than OTLP 1.10 send none either.
 */
#ifndef DECIMA_RECEIVE_OTLP_H
#define DECIMA_RECEIVE_OTLP_H

#include "core/base/buf.h"
#include "plugins/input/receive/desk.h"

/* A call, over HTTP or whatever else. */
struct otlp_call {
	const uint8_t *request; /* [n] ExportProfilesServiceRequest */
	size_t n;
	bool is_json;		/* else protobuf; the response is as the request */
	struct dcm_str version; /* of the header or metadata; "": none was sent */
	uint32_t n_versions;	/* how many were */
};

/*
 * Takes the call as desk__take() does. With the status 200 an ExportProfilesServiceResponse is appended to `response`, which
 * is nothing at all (or {}) when there is nothing to say.
 */
void otlp__export(struct desk *d, const struct otlp_call *call, const struct dcm_request *q,
		  struct desk_verdict *ret, struct buf *response);

/* Offers the endpoints. Errors are host->serve()'s. */
int otlp__serve(struct desk *d, struct dcm_error *err);

#endif
