/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_client.h - one request to a server, and its answer (libcurl)
 */
#ifndef DECIMA_NET_HTTP_CLIENT_H
#define DECIMA_NET_HTTP_CLIENT_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/net/http.h"

struct http_call {
	enum http_method method;
	const char *url; /* http(s)://HOST:PORT/PATH?QUERY, or unix:/PATH/TO/SOCKET:/PATH?QUERY */
	const char *bearer;  /* token, or NULL */
	const char *ca_file; /* PEM file of the authorities to trust; NULL: the system's */
	const char *cert_file, *key_file; /* PEM files of our certificate and its key; NULL: we show none */
	bool insecure;			  /* the server's certificate is not checked */
	const char *remedy; /* what to say when nobody listens; NULL: that decima may not run there */
	const char *body;   /* [n_body] */
	size_t n_body;
	const char *content_type; /* of either; NULL: no particular one */
	const char *query_id;	  /* X-Query-Id, by which a question can be looked at; NULL: none */
	bool http2; /* and nothing else, from the first byte on where there is no TLS */
	const struct http_file *file; /* instead of the body, from its start; borrowed; or NULL */
	int64_t timeout_ns;	      /* of the whole call */
	size_t max_bytes;	      /* of the answer */
	bool outside; /* a server of the network: the environment's proxy counts, and redirects */
	/*
	 * The answer's body in pieces, whatever its status, instead of in the response; not 0 ends
	 * the call. NULL: into the response.
	 */
	int (*take)(void *ctx, const void *data, size_t n);
	bool (*stop)(void *ctx); /* asked at intervals: true ends the call; NULL: never */
	void (*sent)(void *ctx, uint64_t n); /* told at intervals how much of the body has left */
	void *ctx;			     /* of all three, each of which may be NULL */
};

/*
 * 0 when there was an answer of any status. Blocks; any thread. Errors name the URL and the remedy.
 */
int http_client__call(const struct http_call *call, struct http_response *ret, struct dcm_error *err);

/* What stands behind host->http_get() (decima/plugin.h). Blocks; any thread. */
int http_client__get(const struct dcm_http_request *request, struct dcm_http_answer *ret,
		     struct dcm_error *err);

#endif
