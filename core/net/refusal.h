/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/refusal.h - a refusal said as the protocol of an address has it
 *
 * Whoever refuses a request, the listener before a byte of it was read or the plugin that answers there, makes a problem of
 * it (RFC 9457). Clients of some protocols read something else: OTLP/HTTP has a google.rpc.Status { code = 1, message = 2 }
 * (opentelemetry.io/docs/specs/otlp, Failures), Connect JSON with the name of its code (connectrpc.com/docs/protocol, Error
 * End-Stream and Error Codes). gRPC itself is grpc.h's. No threads of its own.
 */
#ifndef DECIMA_NET_REFUSAL_H
#define DECIMA_NET_REFUSAL_H

#include "core/net/http.h"

/*
 * Makes the problem in `resp` what the form has, for this request, with its sentence and headers kept; what is no problem, or of
 * a form that does not fit the request's Content-Type, stays as it is. Not packed before: what is there is replaced.
 */
void refusal__say(enum http_refusal form, const struct http_request *req, struct http_response *resp);

#endif
