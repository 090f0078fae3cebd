/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_setup.h - the options of a client, made ready to be set on any number of requests
 *
 * A copy of the options with their files; it has no connection and no thread. After http_setup__new()
 * it belongs to one thread, the client thread.
 */
#ifndef DECIMA_NET_HTTP_SETUP_H
#define DECIMA_NET_HTTP_SETUP_H

#include <curl/curl.h>
#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/cleanup.h"
#include "core/net/http_place.h"
#include "core/net/http_tls.h"
#include "core/net/secret.h"

struct http_setup_header {
	const char *name;
	struct secret value;
};

struct http_setup {
	struct arena arena; /* the texts */
	bool has_basic, has_authorization;
	struct secret user, password, credentials;
	const char *auth_type;
	const char *sign; /* "aws:amz:REGION:SERVICE"; NULL: nothing is signed */
	struct secret access_key, secret_key, session_token;
	struct http_tls tls;
	bool follow_redirects, http2;
	/* By scheme; NULL: none. All of it NULL: no proxy. */
	const char *http_proxy, *https_proxy, *no_proxy;
	bool skips_loopback; /* the proxies' list, perhaps an empty one, is asked */
	struct curl_slist *connect_headers;
	struct http_setup_header *headers; /* [n_headers] */
	uint32_t n_headers;
};

/* -EINVAL: the options contradict themselves, or a file of TLS cannot be used; -ENOMEM. */
int http_setup__new(const struct dcm_http_options *options, struct http_setup **ret,
		    struct dcm_error *err);
void http_setup__free(struct http_setup *s);
DEFINE_CLEANUP(struct http_setup *, http_setup__free);

/* As host->http_client_sign(). */
int http_setup__sign(struct http_setup *s, const struct dcm_http_signature *how, struct dcm_error *err);

/* Appends "NAME: VALUE" to a list; -ENOMEM, and the list is as it was. */
int http_setup__add_header(struct curl_slist **list, const char *name, const char *value);

struct http_setup_request {
	const struct http_place *place;
	bool trusted, has_authorization;
	int64_t now_mono_ns;
};
/* What curl reads while the transfer lasts. */
struct http_setup_lists {
	struct curl_slist *headers, *connect_to;
};
/*
 * Sets on a handle how a place is reached, and adds to the headers what is said there of who asks:
 * nothing secret without `trusted`; no Authorization when the request has one. -EACCES with a sentence:
 * a file cannot be used; -ENOMEM.
 */
int http_setup__apply(struct http_setup *s, CURL *curl, const struct http_setup_request *q,
		      struct http_setup_lists *lists, struct dcm_error *err);
void http_setup__lists_fini(struct http_setup_lists *lists);

#endif
