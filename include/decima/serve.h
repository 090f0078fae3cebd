/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decima/serve.h - answering requests at the server's addresses: what a plugin offers, is asked and says; a part of
 * <decima/plugin.h>
 *
 * A plugin offers endpoints by host->serve(), and never sees a socket. Who calls, whether he may, how long and how large a
 * request is, its deadlines and its compression are settled before the plugin hears of it.
 */
#ifndef DECIMA_SERVE_H
#define DECIMA_SERVE_H

#include <decima/base.h>
#include <decima/query.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a caller may do; each includes the ones before it. */
enum dcm_role { DCM_ROLE_NONE, DCM_ROLE_READ, DCM_ROLE_WRITE, DCM_ROLE_ADMIN };

struct dcm_field {
	struct dcm_str name, value;
};

/* All of it is borrowed until answer() returns. */
struct dcm_request {
	uint32_t size;
	const struct dcm_field *params;	 /* [n_params] of the query string, decoded, in order */
	const struct dcm_field *headers; /* [n_headers]; names in lower case */
	uint32_t n_params, n_headers;
	const uint8_t *body; /* [n_body]; what Content-Encoding packed is unpacked */
	size_t n_body;
	struct dcm_budget *budget; /* deadline; cancelled when the client has gone, or the instance is stopped */
	/*
	 * [n_labels] of the caller's token, which the administrator gave it: who takes profiles puts them on each
	 * series, whatever the sender says (host->labelled()).
	 */
	const struct dcm_label_text *labels;
	uint32_t n_labels;
	struct dcm_str peer; /* where it comes from: "10.1.2.3", "2001:db8::7", "unix:1000" (the user) */
};

/* How a problem is said to the clients of an endpoint; to a call of gRPC it is a status, whatever stands here. */
enum dcm_refusal {
	DCM_REFUSAL_PROBLEM, /* application/problem+json, RFC 9457 */
	/* a google.rpc.Status in application/x-protobuf or application/json, as the request is; as above to others */
	DCM_REFUSAL_STATUS,
	DCM_REFUSAL_CONNECT /* Connect's JSON, with the status of HTTP that Connect has for its code */
};

struct dcm_reply; /* the host's: reply_put() and its neighbours */

/* An address, and what answers there. */
struct dcm_endpoint {
	uint32_t size;
	uint32_t role;	       /* enum dcm_role: the least that may call it */
	const char *method;    /* "GET" or "POST" */
	const char *path;      /* from "/" on; exactly this */
	const char *doc;       /* one line */
	uint64_t max_body;     /* bytes of a body as it is sent, at most 1 GiB; 0: it takes none */
	uint64_t max_unpacked; /* and unpacked; 0: as max_body */
	const char *const *params; /* names that the query may hold, 64 at most, up to NULL; NULL: any. Others are refused */
	const char *const *repeats; /* those that may come again, up to NULL; NULL: none, with params */
	/*
	 * On one of a few threads of the host, several at once. It may wait, for a batch to be
	 * stored say, while the budget lasts. Without a word of it the reply is 200 without a body.
	 */
	void (*answer)(void *ctx, const struct dcm_request *request, struct dcm_reply *reply);
	void *ctx;
	/*
	 * Not 0: a unary method of gRPC too, at POST /PACKAGE.SERVICE/METHOD. Called so, or by gRPC-Web, the body is the
	 * message and what is put is the answer's; a problem becomes the status that fits (400 INVALID_ARGUMENT, 404 NOT_FOUND,
	 * 413 RESOURCE_EXHAUSTED, 503 UNAVAILABLE, ...). The Content-Type tells how it was called.
	 */
	uint32_t grpc;
	/*
	 * For server reflection, of a method of gRPC: a FileDescriptorSet as protoc writes it (--include_imports),
	 * [n_descriptors] bytes that stay where they are; NULL: none, and reflection does not list the service.
	 */
	uint32_t n_descriptors;
	const uint8_t *descriptors;
	/* enum dcm_refusal: what its clients read where a request is refused, by the plugin or before it hears of it */
	uint32_t refusal;
};

#ifdef __cplusplus
}
#endif

#endif
