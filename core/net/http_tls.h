/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_tls.h - whom a client trusts, and how it shows who it is
 *
 * curl takes certificates and keys by path, and reads them anew for each connection. So what the
 * configuration has, or what was last read of its files, lies in memory files, each under a path that
 * no other content has or had. curl compares paths where it looks for a connection to use again: none
 * is used for a client that trusts others, or shows another certificate. Of the system's authorities
 * it reads the one file that it was built for.
 */
#ifndef DECIMA_NET_HTTP_TLS_H
#define DECIMA_NET_HTTP_TLS_H

#include <curl/curl.h>
#include <stdbool.h>

#include <decima/plugin.h>

#include "core/net/secret.h"

struct http_tls_part {
	struct secret secret;
	int fd;		  /* memory file; -1: none yet */
	size_t n;	  /* its bytes */
	uint64_t version; /* of the secret in it */
	char path[160];
};

/* Filled by http_tls__init(); texts are borrowed for its life. */
struct http_tls {
	struct http_tls_part ca, cert, key;
	const char *server_name; /* NULL: the URL's host */
	bool insecure;
	long versions; /* CURLOPT_SSLVERSION */
	bool is_old;   /* versions before 1.2 are wanted */
};

void http_tls__init(struct http_tls *t, const struct dcm_http_tls *options);
void http_tls__fini(struct http_tls *t);

/*
 * Reads what has changed, and sets all of it on a handle, for proxies of https:// too. -EACCES with a
 * sentence: a file cannot be read, or holds no PEM; -ENOMEM.
 */
int http_tls__apply(struct http_tls *t, CURL *curl, int64_t now_mono_ns, struct dcm_error *err);
/* A certificate of ours and its key, by paths, for any handle; nobody is asked for a passphrase. False: no memory. */
bool http_tls__show(CURL *curl, const char *cert_file, const char *key_file);
/* http_tls__apply() without a handle: could it be set? */
int http_tls__read(struct http_tls *t, int64_t now_mono_ns, struct dcm_error *err);

#endif
