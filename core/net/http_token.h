/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_token.h - a token of OAuth 2: by client credentials (RFC 6749, section 4.4), or by a signed JWT (RFC 7523)
 *
 * What is sent for one, what came, and how long it holds; whoever has the connections sends. The
 * client shows who it is by Basic first, and in the form where the server refuses that; the way that
 * worked is kept. With a JWT it shows nothing else. A token is given up 10 seconds before its end. The client thread's.
 */
#ifndef DECIMA_NET_HTTP_TOKEN_H
#define DECIMA_NET_HTTP_TOKEN_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/net/http_setup.h"

struct http_token;

/* -EINVAL: a file of TLS cannot be used; -EACCES: a key that the configuration has cannot; -ENOMEM. */
int http_token__new(const struct dcm_http_oauth2 *options, struct http_token **ret,
		    struct dcm_error *err);
void http_token__free(struct http_token *t);
DEFINE_CLEANUP(struct http_token *, http_token__free);

/* How its server is reached, and where it is. */
struct http_setup *http_token__setup(struct http_token *t);
const char *http_token__url(const struct http_token *t);

/*
 * The value of Authorization; *ret_version tells it from later ones. NULL: there is none that holds, or
 * the client's secret is another one now.
 */
const char *http_token__header(struct http_token *t, int64_t now_mono_ns, uint64_t *ret_version);
/* The server that it was for did not take it. */
void http_token__forget(struct http_token *t, uint64_t version);

/* The form to be sent. -EACCES: the file of the secret, or the key in it, cannot be used; -ENOMEM. */
int http_token__ask(struct http_token *t, int64_t now_mono_ns, struct buf *ret_form,
		    struct dcm_error *err);
/*
 * What came. 0: there is a token. -EAGAIN: to be asked once more, the other way. -EACCES with a sentence: the server
 * refuses; -EPROTO: it sends something else; -ENOMEM.
 */
int http_token__take(struct http_token *t, int64_t now_mono_ns, int status, const uint8_t *data,
		     size_t n, struct dcm_error *err);

#endif
