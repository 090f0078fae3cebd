/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/tls_server.h - how the listener shows who it is, and whom it lets in by certificate
 *
 * Certificate, key and the authority of clients are files, looked at once a second at most when a
 * caller comes, and read again when they have changed, so that renewed ones need no reload. Files
 * that do not fit each other change nothing, and the log says so once. TLS 1.2 and 1.3; ALPN (RFC
 * 7301) offers h2 before http/1.1; tickets spare callers that come again the long handshake.
 *
 * One thread, but for tls_server__new() and tls_server__free().
 */
#ifndef DECIMA_NET_TLS_SERVER_H
#define DECIMA_NET_TLS_SERVER_H

#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "core/base/log.h"
#include "core/net/http.h"

/* Outlives the server, like the texts. */
struct tls_server_options {
	const char *cert_file; /* PEM: the server's certificate, and those between it and its authority */
	const char *key_file; /* PEM, without a password */
	const char *client_ca_file; /* PEM: who signs certificates of clients. NULL, "": nobody is asked for one */
	bool client_optional;	    /* a client may come without */
	enum http_role client_role; /* what one with a certificate may do */
};

struct tls_server;
/* Reads the files. Errors name the file and what it lacks. */
int tls_server__new(const struct tls_server_options *o, const struct log *log,
		    struct tls_server **ret, struct dcm_error *err);
/* Sessions have ended. */
void tls_server__free(struct tls_server *t);

/* A session over a socket, before its handshake: 0 or a negative errno. It ends by tls_server__end(). */
int tls_server__begin(struct tls_server *t, int fd, gnutls_session_t *ret);
void tls_server__end(gnutls_session_t session);

/* After the handshake: the role of the caller's certificate, HTTP_ROLE_NONE without one. */
enum http_role tls_server__role(const struct tls_server *t, gnutls_session_t session);

#endif
