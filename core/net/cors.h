/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/cors.h - pages of other sites, where the configuration names them
 *
 * Browsers ask before a page of another origin may send more than a form could (a preflight), and show it no answer
 * that does not name its origin. Both is said for the origins of access_rules.origins alone, one by one; never "*", and
 * never that credentials which a browser sends on its own (cookies, certificates) may come along: a page has a token, or is
 * a caller without one. Source: fetch.spec.whatwg.org, 3.2, 4.9. No state, any thread.
 */
#ifndef DECIMA_NET_CORS_H
#define DECIMA_NET_CORS_H

#include "core/net/access.h"

/*
 * Adds to the response what a browser wants to know of it. True: the request is a preflight, the response is its answer, and
 * nobody needs to be asked who he is.
 */
bool cors__answers(const struct access_rules *rules, const struct http_routes *routes,
		   const struct http_request *req, struct http_response *resp);

/* Is this what a browser writes into Origin: "https://host", "http://host:8080"? For access_rules.origins. */
bool cors__is_origin(const char *text);

#endif
