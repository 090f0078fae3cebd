/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/access.c - roles, the Host guard and the cross-site guard
 */
#include "core/net/access.h"

#include <netinet/in.h>
#include <nettle/base16.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/str.h"
#include "core/base/url.h"

/* Of a user and a password together. */
enum { PASSWORD_ROOM = 4096 };

/* "[::1]:80", "host:80", "host" to the host alone. */
static struct dcm_str strip_port(struct dcm_str host)
{
	const char *colon, *end;

	if (host.n > 0 && host.p[0] == '[') {
		end = memchr(host.p, ']', host.n);
		return end ? (struct dcm_str){ host.p + 1, (uint32_t)(end - host.p - 1) } : host;
	}
	colon = host.n ? memchr(host.p, ':', host.n) : NULL;
	return colon ? (struct dcm_str){ host.p, (uint32_t)(colon - host.p) } : host;
}

static bool is_ip(struct dcm_str host, struct address *ret)
{
	char text[INET6_ADDRSTRLEN];

	if (host.n == 0 || host.n >= sizeof(text))
		return false;
	memcpy(text, host.p, host.n);
	text[host.n] = '\0';
	return address__read(text, ret);
}

static bool same_name(struct dcm_str a, const char *b)
{
	return a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

bool access__is_loopback(struct dcm_str host)
{
	struct address a;

	host = strip_port(host);
	return same_name(host, "localhost") || (is_ip(host, &a) && address__is_loopback(&a));
}

bool access__is_host(const char *name)
{
	struct address a;

	return is_ip(str__of(name), &a) || (*name && !name[url__name_length(name)]);
}

/*
 * A rebinding attack needs a name that it can point here: addresses cannot be rebound, so any
 * literal passes.
 */
static bool host_is_ours(const struct access_rules *rules, struct dcm_str host)
{
	struct address a;

	host = strip_port(host);
	if (same_name(host, "localhost") || is_ip(host, &a))
		return true;
	for (uint32_t i = 0; i < rules->n_hosts; i++)
		if (same_name(host, rules->hosts[i]))
			return true;
	return false;
}

/* Same length or not, every byte is looked at. */
static bool equal_secret(struct dcm_str given, const char *token)
{
	size_t n = strlen(token);
	unsigned char difference = given.n != n;

	for (uint32_t i = 0; i < given.n; i++)
		difference |= (unsigned char)given.p[i] ^ (unsigned char)token[n ? i % n : 0];
	return difference == 0 && n > 0;
}

static bool has_scheme(struct dcm_str header, struct dcm_str scheme)
{
	return header.n > scheme.n && strncasecmp(header.p, scheme.p, scheme.n) == 0 &&
	       header.p[scheme.n] == ' ';
}

/* What stands behind the first colon of base64(USER:PASSWORD); empty when it is none, or longer than any token is. */
static struct dcm_str password_of(struct dcm_str coded, uint8_t room[static PASSWORD_ROOM])
{
	struct base64_decode_ctx ctx;
	size_t n = PASSWORD_ROOM;
	const uint8_t *colon;

	if (BASE64_DECODE_LENGTH(coded.n) > PASSWORD_ROOM)
		return STR("");
	base64_decode_init(&ctx);
	if (!base64_decode_update(&ctx, &n, room, coded.n, coded.p) || !base64_decode_final(&ctx))
		return STR("");
	colon = memchr(room, ':', n);
	if (!colon)
		return STR("");
	return (struct dcm_str){ (const char *)colon + 1, (uint32_t)(n - (size_t)(colon + 1 - room)) };
}

void access__hash(struct dcm_str given, char ret_hex[static ACCESS_HASH_TEXT])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, given.n, (const uint8_t *)given.p);
	sha256_digest(&ctx, sizeof(digest), digest);
	base16_encode_update(ret_hex, sizeof(digest), digest);
	ret_hex[2 * SHA256_DIGEST_SIZE] = '\0';
}

/* NULL when there is none, or none that is known. */
static const struct access_token *find_token(const struct access_rules *rules,
					     struct dcm_str header, bool *ret_is_password)
{
	static const struct dcm_str bearer = STR("Bearer"), basic = STR("Basic");
	uint8_t room[PASSWORD_ROOM];
	char hex[ACCESS_HASH_TEXT];
	const struct access_token *found = NULL;
	struct dcm_str given;

	*ret_is_password = has_scheme(header, basic);
	if (*ret_is_password)
		given = password_of((struct dcm_str){ header.p + basic.n + 1, header.n - basic.n - 1 },
				    room);
	else if (has_scheme(header, bearer))
		given = (struct dcm_str){ header.p + bearer.n + 1, header.n - bearer.n - 1 };
	else
		return NULL;
	access__hash(given, hex);
	for (uint32_t i = 0; i < rules->n_tokens; i++) {
		const struct access_token *t = &rules->tokens[i];

		if (t->sha256 ? equal_secret(str__of(hex), t->sha256) : equal_secret(given, t->token))
			found = t;
	}
	return found;
}

/* RFC 9112 3.2.2: a target that names its host is obeyed, and the Host header ignored. */
static struct dcm_str host_of(const struct http_request *req)
{
	return req->authority.n ? req->authority : http_request__header(req, "host");
}

/* Scheme and host of Origin against Host; a missing Origin is a client that is no browser. */
static bool same_site(const struct http_request *req)
{
	struct dcm_str origin = http_request__header(req, "origin"), host = host_of(req);
	const char *slashes;

	if (!origin.p)
		return true;
	slashes = memmem(origin.p, origin.n, "://", 3);
	if (!slashes)
		return false;
	origin.n -= (uint32_t)(slashes + 3 - origin.p);
	origin.p = slashes + 3;
	return host.p && host.n == origin.n && strncasecmp(host.p, origin.p, host.n) == 0;
}

bool access__lists_origin(const struct access_rules *rules, struct dcm_str origin)
{
	for (uint32_t i = 0; i < rules->n_origins; i++)
		if (origin.n > 0 && str__eq(origin, str__of(rules->origins[i])))
			return true;
	return false;
}

/* May it change something, though a browser may have sent what shows who asks on its own? */
static bool comes_from_ours(const struct access_rules *rules, const struct http_request *req,
			    struct http_response *resp)
{
	bool changes = req->method != HTTP_GET && req->method != HTTP_HEAD && req->method != HTTP_OPTIONS;

	if (!changes || same_site(req) ||
	    access__lists_origin(rules, http_request__header(req, "origin")))
		return true;
	http_response__problem(resp, 403,
			       "a page of another site may not change anything here; send a token "
			       "(Authorization: Bearer TOKEN), or "
			       "name its origin in server.cors_origins");
	return false;
}

static enum http_role greater(enum http_role a, enum http_role b)
{
	return a > b ? a : b;
}

/* ------------------------------------------------------------------------------------------------
 * Proxies
 */

static bool is_believed(const struct access_proxies *p, const struct access_peer *peer)
{
	for (uint32_t i = 0; !peer->is_unix && i < p->n_from; i++)
		if (network__holds(&p->from[i], &peer->address))
			return true;
	return false;
}

static bool comes_once(const struct http_request *req, const char *name, struct dcm_str *ret)
{
	uint32_t n = 0;

	*ret = STR("");
	for (uint32_t i = 0; name && *name && i < req->n_headers; i++) {
		if (!same_name(req->headers[i].name, name))
			continue;
		*ret = req->headers[i].value;
		n++;
	}
	return n <= 1;
}

static enum http_role role_of_group(const struct access_proxies *p, struct dcm_str name)
{
	for (uint32_t i = 0; i < p->n_groups; i++)
		if (str__eq(p->groups[i].name, name))
			return p->groups[i].role;
	return HTTP_ROLE_NONE;
}

/* The greatest of what stands with commas and spaces between. */
static enum http_role role_of_groups(const struct access_proxies *p, struct dcm_str list)
{
	enum http_role role = p->role;

	while (list.n > 0) {
		const char *comma = memchr(list.p, ',', list.n);
		uint32_t n = comma ? (uint32_t)(comma - list.p) : list.n, used = n + (comma ? 1 : 0);

		role = greater(role, role_of_group(p, str__trim((struct dcm_str){ list.p, n })));
		list.p += used;
		list.n -= used;
	}
	return role;
}

/*
 * Of the user whom a proxy names, HTTP_ROLE_NONE where it names none; false: it is not said clearly whom, and the response says so.
 */
static bool proxied_role(const struct access_proxies *p, const struct access_peer *peer,
			 const struct http_request *req, enum http_role *ret, struct http_response *resp)
{
	struct dcm_str user, groups;

	*ret = HTTP_ROLE_NONE;
	if (!is_believed(p, peer))
		return true;
	if (!comes_once(req, p->user_header, &user) || !comes_once(req, p->groups_header, &groups)) {
		http_response__problem(
			resp, 400, "%s or %s comes more than once; the proxy has to replace what the caller sends",
			p->user_header, p->groups_header);
		return false;
	}
	if (user.n > 0)
		*ret = role_of_groups(p, groups);
	return true;
}

/* Under TLS the certificate says who is asked. */
static bool is_our_name(const struct access_rules *rules, const struct access_peer *peer,
			struct dcm_str host, struct http_response *resp)
{
	if (host.n > 0 && (peer->is_tls || host_is_ours(rules, host)))
		return true;
	if (host.n == 0)
		http_response__problem(resp, 421, "the request names no host; send a Host header");
	else
		http_response__problem(
			resp, 421, "Host \"%.*s\" is not a name of this server; add it to server.hosts",
			STR_ARG(host));
	return false;
}

bool access__check(const struct access_rules *rules, const struct access_peer *peer,
		   struct http_request *req, struct http_response *resp)
{
	struct dcm_str authorization = http_request__header(req, "authorization");
	struct dcm_str host = host_of(req);
	const struct access_token *token;
	/* A proxy's certificate is the proxy's: it is somebody else who asks. */
	const enum http_role certified = is_believed(&rules->proxies, peer) ? HTTP_ROLE_NONE : peer->role;
	enum http_role proxied;
	bool is_password, vouches;

	if (!proxied_role(&rules->proxies, peer, req, &proxied, resp))
		return false;
	token = find_token(rules, authorization, &is_password);
	req->role = token ? token->role : HTTP_ROLE_NONE;
	/* One that may only read vouches for nothing that is sent. */
	vouches = token && token->role >= HTTP_ROLE_WRITE;
	req->labels = vouches ? token->labels : rules->claims;
	req->n_labels = vouches ? token->n_labels : rules->n_claims;
	if (peer->is_unix) {
		bool ours = peer->uid == 0 || peer->uid == geteuid();

		req->role = ours ? HTTP_ROLE_ADMIN : greater(req->role, rules->anonymous);
		req->n_labels = ours && !vouches ? 0 : req->n_labels;
		return true;
	}
	if (req->role != HTTP_ROLE_NONE || proxied != HTTP_ROLE_NONE) {
		bool is_sent_unasked = req->role == HTTP_ROLE_NONE || is_password;

		/* A page whose name was rebound to this address may set any header. */
		if (req->role == HTTP_ROLE_NONE && !is_our_name(rules, peer, host, resp))
			return false;

		req->role = greater(greater(req->role, proxied), certified);
		return !is_sent_unasked || comes_from_ours(rules, req, resp);
	}
	if (authorization.p) {
		http_response__header(resp, "WWW-Authenticate", "Bearer error=\"invalid_token\"");
		http_response__problem(resp, 401, "the token is not one of server.tokens");
		return false;
	}
	if (!is_our_name(rules, peer, host, resp) || !comes_from_ours(rules, req, resp))
		return false;
	req->role = greater(rules->anonymous, certified);
	return true;
}
