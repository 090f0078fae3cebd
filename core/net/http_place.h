/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_place.h - where a call goes: a URL taken apart, and where a redirect leads from there
 */
#ifndef DECIMA_NET_HTTP_PLACE_H
#define DECIMA_NET_HTTP_PLACE_H

#include <stdbool.h>

#include "core/base/buf.h"

/* A zeroed one is empty; all texts are its own. */
struct http_place {
	char *url;	 /* http(s)://..., as curl is told; without a fragment */
	char *shown;	 /* for sentences: without user and password */
	char *socket;	 /* of unix:, else NULL */
	char *host;	 /* [IPV6] with its brackets */
	char *port;	 /* also the scheme's own */
	char *authority; /* HOST, or HOST:PORT where that is not the scheme's own: the header Host */
	bool tls;
};

void http_place__fini(struct http_place *p);

/* -EINVAL: a URL that cannot be asked; -ENOMEM. */
int http_place__of(const char *url, struct http_place *ret);

/* A header Location of an answer from there. -EINVAL: none that can be asked. */
int http_place__redirected(const struct http_place *from, const char *location, struct http_place *ret);

/*
 * May what is secret of `a` be shown to `b` as well? The same server, or the same host with TLS
 * instead of without.
 */
bool http_place__trusts(const struct http_place *a, const struct http_place *b);

/*
 * "unix:/PATH/TO/SOCKET:/PATH" to the socket's path and an http URL that the peer understands;
 * -EINVAL, -ENOMEM.
 */
bool http_place__is_unix(const char *url);
int http_place__split_unix(const char *url, struct buf *socket, struct buf *http);

#endif
