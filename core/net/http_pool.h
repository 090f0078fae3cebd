/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_pool.h - many calls to many servers at once: what stands behind host->http_start()
 *
 * One thread has all connections and drives every call (libcurl's multi interface, woken by epoll);
 * it starts with the first client. Other threads leave calls and cancellations in its inbox. A client
 * is options and what was read of their files; a call has a handle of curl's for as long as it is
 * under way, so a client or a target that waits costs none. Connections are kept for 5 minutes, in all
 * as many as three quarters of the files that the process may open. Half of these are of what is asked by TLS or through
 * proxies, the others' servers are spread over parts of the other half (http_pool_inside.h says why; where it is less than
 * 1,024, all are one part); of its part one server or proxy may have three quarters, or 1,024 where that is more. Calls
 * beyond wait for one to be free.
 */
#ifndef DECIMA_NET_HTTP_POOL_H
#define DECIMA_NET_HTTP_POOL_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"

struct http_pool;

/* No thread yet. user_agent: a literal. */
int http_pool__new(const char *user_agent, struct http_pool **ret);
/* Frees the clients that are left, and ends the thread. */
void http_pool__free(struct http_pool *p);
DEFINE_CLEANUP(struct http_pool *, http_pool__free);

/* As host->http_client_new() and the others; `owner` is whose the client is. */
int http_pool__client_new(struct http_pool *p, const void *owner, const struct dcm_http_options *options,
			  struct dcm_http_client **ret, struct dcm_error *err);
int http_pool__client_sign(struct dcm_http_client *c, const struct dcm_http_signature *how,
			   struct dcm_error *err);
void http_pool__client_free(struct dcm_http_client *c);
int http_pool__start(struct dcm_http_client *c, const struct dcm_http_call *call, uint64_t *ret_id,
		     struct dcm_error *err);
void http_pool__cancel(struct dcm_http_client *c, uint64_t id);

/*
 * Ends the calls of the owner's clients, and waits until their done() has returned; they take no
 * others. Not on the client thread.
 */
void http_pool__settle(struct http_pool *p, const void *owner);

/* How much of it there is: for tests and figures. */
struct http_pool_count {
	uint32_t n_clients, n_calls;
	uint32_t n_parts; /* that the connections are spread over; those without any do not count */
};
struct http_pool_count http_pool__count(struct http_pool *p);

#endif
