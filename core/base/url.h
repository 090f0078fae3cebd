/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/url.h - is a text the address of something that our HTTP client can ask? And parts of one
 *
 * Looks at the text alone; nobody is asked.
 */
#ifndef DECIMA_BASE_URL_H
#define DECIMA_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

/*
 * http:// or https:// with a host, perhaps a port of 1 to 65535, and a path behind; or
 * unix:/SOCKET:/PATH, whose second colon ends the socket's path. Without spaces and control
 * characters. Stricter than curl, which would ask a host that is called like a typing error.
 */
bool url__is_askable(const char *url);

/* The same of what paths are put behind. False when memory ran out, too. */
bool url__is_base(const char *base);

/* Does it say http:// or https://, in small letters? */
bool url__is_http(const char *url);

/* Up to its query. */
struct dcm_str url__without_query(struct dcm_str url);

/*
 * The address as sentences may have it, without user, password and query, cut to n - 1 bytes, on the border of a character
 * where it is UTF-8. Returns `to`.
 */
const char *url__shown(const char *url, char *to, size_t n);

/* Up to and with the last slash of its path: what stands beside it is put behind. "": it has no path. */
struct dcm_str url__folder(struct dcm_str url);

/* How many bytes from there on can be of a host's name or of its IPv4 address. */
size_t url__name_length(const char *s);

/* Appends the text as a segment of a path, or as a part of a query: all but the unreserved is escaped (RFC 3986, 2.3). */
void url__escape(struct buf *b, struct dcm_str s);

/* Appends the text with what is percent-encoded in it decoded; what is no escape stays as it is (gRPC's Status-Message). */
void url__unescape(struct buf *b, struct dcm_str s);

#endif
