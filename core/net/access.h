/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/access.h - who may do what: the one place that turns a connection and its headers into a
 * role
 *
 * A token stands in "Authorization: Bearer TOKEN", or as the password of "Basic", whoever the user
 * is (RFC 7617), for clients that know nothing else. Nobody is asked for the latter, or browsers would put up
 * their dialogue.
 *
 * Unix socket: root and the daemon's own user are admin (SO_PEERCRED), others have the anonymous
 * role. TCP: a bearer token's role, else the anonymous role, which is `write` when every address is
 * loopback and there are no tokens (or `insecure` says so), and `none` otherwise: who sets tokens
 * wants to know who calls, also behind a proxy on loopback. A client's certificate has a role, too;
 * the greatest counts. A proxy that is believed says in a header which user asks; the user, or a group of his, has a
 * role, too, and more than one header of that name is a fault: it shall replace what the caller sent. Without a token, the Host header must name this machine (against DNS
 * rebinding; under TLS the certificate does) and a request that changes something must come from the
 * same site (against cross-site requests: browsers send certificates on their own), or one of `origins`;
 * so must one with a password, which browsers that have it from a URL send on their own, too, and one that a proxy
 * has let through, whose session is a cookie.
 */
#ifndef DECIMA_NET_ACCESS_H
#define DECIMA_NET_ACCESS_H

#include <stdbool.h>

#include "core/net/http.h"
#include "core/net/shares.h"

struct access_token {
	const char *token, *sha256; /* sha256: in hex; NULL: it is `token` that is sent */
	enum http_role role;
	const struct dcm_label_text *labels; /* [n_labels] of profiles that come with it */
	uint32_t n_labels;
};

struct access_group {
	struct dcm_str name;
	enum http_role role;
};

/* Those who let people sign in and say in a header who asks. */
struct access_proxies {
	const struct network *from; /* [n_from] where they are; none: nobody is believed */
	uint32_t n_from;
	const char *user_header, *groups_header; /* NULL, "": none */
	enum http_role role;			 /* of each user, or a greater one of his groups */
	const struct access_group *groups;	 /* [n_groups] */
	uint32_t n_groups;
};

struct access_rules {
	struct access_proxies proxies;
	const struct access_token *tokens; /* [n_tokens] */
	uint32_t n_tokens;
	const char *const *hosts; /* [n_hosts] further names that a Host header may carry */
	uint32_t n_hosts;
	const char *const *origins; /* [n_origins] of other sites whose pages may call: cors.h */
	uint32_t n_origins;
	/* [n_claims] names that some token's labels have, each once and without a value: nobody without a token has them. */
	const struct dcm_label_text *claims;
	uint32_t n_claims;
	enum http_role anonymous; /* of callers without a token, access__anonymous() */
	void (*free)(struct access_rules *); /* with the last of n_users; NULL: they live longer than those who use them */
	uint32_t n_users; /* requests.h has the lock */
};

/* Where a request came from. */
struct access_peer {
	bool is_unix;
	uint32_t uid;		/* of a unix peer */
	struct address address; /* of another */
	bool is_tls;
	enum http_role role; /* of its certificate, which is nobody's where the peer is a proxy; HTTP_ROLE_NONE without one */
	struct share *share; /* as long as its connection is open; NULL: nobody's */
};

/*
 * Sets req->role, and req->labels to the token's, or rules->claims without one (but for admins of a unix socket), or fills the response with the refusal (421 Host, 401 token, 403 cross-site, 400 a proxy's header that comes twice) and
 * returns false. Tokens are compared in constant time. Any thread.
 */
bool access__check(const struct access_rules *rules, const struct access_peer *peer,
		   struct http_request *req, struct http_response *resp);

/* The role of callers without a token; `local`: other machines reach no address. */
static inline enum http_role access__anonymous(bool local, bool has_tokens, bool insecure)
{
	return insecure || (local && !has_tokens) ? HTTP_ROLE_WRITE : HTTP_ROLE_NONE;
}

/* Is it one of rules->origins, to the letter? */
bool access__lists_origin(const struct access_rules *rules, struct dcm_str origin);

/* A token's SHA-256 in hex, with a zero byte. */
enum { ACCESS_HASH_TEXT = 65 };
void access__hash(struct dcm_str token, char ret_hex[static ACCESS_HASH_TEXT]);

/* Can a Host header be this, once its port is off? For the names in access_rules.hosts. Any thread. */
bool access__is_host(const char *name);

/* True for 127.0.0.0/8, ::1 and "localhost" (with or without a port and brackets). */
bool access__is_loopback(struct dcm_str host);

#endif
