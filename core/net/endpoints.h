/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/endpoints.h - addresses that plugins answer (host->serve()), and requests that are inside a plugin
 *
 * An endpoint is a route like the core's own, that comes and goes with its owner. Withdrawing lets requests that are
 * with the plugin come to their end, so that stop() finds nobody inside. Who asks in the five seconds after is told to try
 * again (503): where an instance starts anew, as after a change of its options, it is about to come back.
 *
 * Any thread, but where said otherwise.
 */
#ifndef DECIMA_NET_ENDPOINTS_H
#define DECIMA_NET_ENDPOINTS_H

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/net/http.h"

struct endpoints;

/* The clock is borrowed, and no one's wait goes by it. NULL: no memory */
struct endpoints *endpoints__new(const struct clock *clock);
/* What of the core's answers nobody else may: http_routes__set_endpoints() says it, before anything is offered. */
void endpoints__set_routes(struct endpoints *e, const struct http_routes *routes);
/* When nobody asks any more. */
void endpoints__free(struct endpoints *e);
DEFINE_CLEANUP(struct endpoints *, endpoints__free);

/* host->serve(), of the owner until it withdraws. -EINVAL, -EEXIST, -ENOSPC (too many over the program's life), -ENOMEM. */
int endpoints__offer(struct endpoints *e, const void *owner, const struct dcm_endpoint *endpoint,
		     struct dcm_error *err);

/*
 * Takes all of an owner's away (it may have none), and waits for requests inside: until the deadline as long as they like,
 * cancelled for a second more. 0, or -ETIMEDOUT: some have not come back, and the owner's memory must stay.
 */
int endpoints__withdraw(struct endpoints *e, const void *owner, int64_t deadline_mono_ns);

/* As a route whose handler asks the plugin; NULL: there is none behind number i, counted from 0. *ret_end: nor at any after it. */
const struct http_route *endpoints__at(struct endpoints *e, uint32_t i, bool *ret_end);

/* The functions of host->reply_..(), which need no host. */
void endpoints__reply_put(struct dcm_reply *reply, int status, const char *type, const void *data,
			  size_t n);
/* host->request_waits(). */
void endpoints__request_waits(const struct dcm_request *request);
void endpoints__reply_header(struct dcm_reply *reply, const char *name, const char *value);
void endpoints__reply_problem(struct dcm_reply *reply, int status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
