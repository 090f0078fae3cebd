/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_assertion.h - what a client of OAuth 2 says of itself, signed (RFC 7523, section 2.1)
 *
 * A JWT (RFC 7519) in the compact form of JWS (RFC 7515), signed with RSA (RFC 7518, 3.3), good for ten
 * minutes. The claims are those that Prometheus sends (prometheus/common, config/oauth_assertion.go).
 */
#ifndef DECIMA_NET_HTTP_ASSERTION_H
#define DECIMA_NET_HTTP_ASSERTION_H

#include <decima/plugin.h>

#include "core/base/buf.h"

/* The texts are borrowed. */
struct http_assertion {
	enum dcm_oauth2_algorithm algorithm;
	const char *key_id; /* NULL: none */
	const char *issuer, *subject, *audience;
	const char *scope;  /* NULL: none */
	const char *claims; /* a map in JSON, which goes before the ones above; NULL: none */
};

/* Appends it. -EACCES: the key is no RSA key in PEM, -EINVAL: the claims cannot be read, -ENOMEM. */
int http_assertion__make(const struct http_assertion *a, const char *key_pem, int64_t now_real_ns,
			 struct buf *out, struct dcm_error *err);

#endif
