/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/server_settings.c - the table behind `server` in decima.yaml
 */
#include "core/main/server_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/main/settings.h"
#include "core/net/access.h"
#include "core/net/address.h"
#include "core/net/cors.h"
#include "core/net/sockets.h"

static const char *const roles[] = { "read", "write", "admin", NULL };
static const struct dcm_option token_rows[] = {
	{ .name = "token",
	  .type = DCM_OPT_SECRET,
	  .offset = offsetof(struct token_settings, token),
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "What the caller sends as Authorization: Bearer TOKEN; token_file reads it from a "
		 "file. Or sha256: and, in lower-case hex, the SHA-256 of a token that nobody can "
		 "guess (`openssl rand -hex 32`), so that whoever reads this cannot send it." },
	{ .name = "role",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct token_settings, role),
	  .def = "read",
	  .choices = roles,
	  .doc = "What it may do; each role includes the one before it. admin: reload; back "
		 "up, check and remove from the store." },
	{ .name = "labels",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRING,
	  .offset = offsetof(struct token_settings, labels),
	  .doc = "Labels of all profiles that come with it, like { tenant: shop }, in place of "
		 "what "
		 "their sender says by these names. What the token may read is not bounded by "
		 "them." },
};
static const struct dcm_table token_table = DCM_TABLE(struct token_settings, token_rows);

static const char *const client_auths[] = { "required", "optional", NULL };

static const struct dcm_option tls_rows[] = {
	{ .name = "cert_file",
	  .type = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART | DCM_OPT_PATH,
	  .offset = offsetof(struct tls_settings, cert_file),
	  .def = "",
	  .doc = "PEM file of the server's certificate, and of those between it and its authority. "
		 "With it, "
		 "all addresses but unix sockets speak TLS (1.2, 1.3). Read again when it has "
		 "changed; "
		 "the user that the daemon becomes has to be able to." },
	{ .name = "key_file",
	  .type = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART | DCM_OPT_PATH,
	  .offset = offsetof(struct tls_settings, key_file),
	  .def = "",
	  .doc = "PEM file of its key, without a password. Read again when it has changed." },
	{ .name = "client_ca_file",
	  .type = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART | DCM_OPT_PATH,
	  .offset = offsetof(struct tls_settings, client_ca_file),
	  .def = "",
	  .doc = "PEM file of the authorities that sign clients' certificates. Without it clients "
		 "are not "
		 "asked for one. Read again when it has changed." },
	{ .name = "client_auth",
	  .type = DCM_OPT_CHOICE,
	  .flags = DCM_OPT_RESTART,
	  .offset = offsetof(struct tls_settings, client_auth),
	  .def = "required",
	  .choices = client_auths,
	  .doc = "With client_ca_file: whether a client has to come with a certificate." },
	{ .name = "client_role",
	  .type = DCM_OPT_CHOICE,
	  .flags = DCM_OPT_RESTART,
	  .offset = offsetof(struct tls_settings, client_role),
	  .def = "write",
	  .choices = roles,
	  .doc = "What a client with a certificate may do; with a token, too, the greater of the "
		 "two counts." },
};
static const struct dcm_table tls_table = DCM_TABLE(struct tls_settings, tls_rows);

static const struct dcm_option proxy_rows[] = {
	{ .name = "from",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .flags = DCM_OPT_ONE_IS_LIST,
	  .offset = offsetof(struct proxy_settings, from),
	  .doc = "Addresses and networks (10.1.0.0/16) of the proxies that are believed. Whoever "
		 "can connect from there can say to be anybody. None: nobody is." },
	{ .name = "user_header",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct proxy_settings, user_header),
	  .def = "X-Forwarded-User",
	  .doc = "The header in which the proxy says whom it has asked for his name, in place of "
		 "what the caller sent as such. Without it a request is anybody's." },
	{ .name = "role",
	  .type = DCM_OPT_CHOICE,
	  .offset = offsetof(struct proxy_settings, role),
	  .def = "read",
	  .choices = roles,
	  .doc = "What each user may do that the proxy names." },
	{ .name = "groups_header",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct proxy_settings, groups_header),
	  .def = "",
	  .doc = "The header in which it says the user's groups, with commas between: "
		 "X-Forwarded-Groups, Remote-Groups." },
	{ .name = "groups",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_CHOICE,
	  .choices = roles,
	  .offset = offsetof(struct proxy_settings, groups),
	  .doc = "What the users of single groups may do, like { sre: admin }; the greatest role "
		 "counts. At most 256." },
};
static const struct dcm_table proxy_table = DCM_TABLE(struct proxy_settings, proxy_rows);

static const struct dcm_option server_rows[] = {
	{ .name = "listen",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART | DCM_OPT_ONE_IS_LIST,
	  .offset = offsetof(struct server_settings, listen),
	  .def = "[\"127.0.0.1:7070\"]",
	  .doc = "Addresses to serve on: HOST:PORT, [IPV6]:PORT or unix:/PATH. On a unix socket, "
		 "root and the daemon's user are admin." },
	{ .name = "tokens",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRUCT,
	  .table = &token_table,
	  .offset = offsetof(struct server_settings, tokens),
	  .doc = "Bearer tokens and their roles. Needed to administer over TCP, and to do anything "
		 "from another machine. Where there is one, nobody reads or writes without, but "
		 "root and the daemon's user on a unix socket. No two are the same; 1000 "
		 "at most." },
	{ .name = "tls",
	  .type = DCM_OPT_STRUCT,
	  .table = &tls_table,
	  .offset = offsetof(struct server_settings, tls),
	  .doc = "The server's certificate, and whom it lets in by theirs." },
	{ .name = "proxy",
	  .type = DCM_OPT_STRUCT,
	  .table = &proxy_table,
	  .offset = offsetof(struct server_settings, proxy),
	  .doc = "Proxies that let people sign in, like oauth2-proxy or Authelia, and say who "
		 "asks." },
	{ .name = "hosts",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .flags = DCM_OPT_ONE_IS_LIST,
	  .offset = offsetof(struct server_settings, hosts),
	  .doc = "Names by which browsers may call this server beside its addresses and localhost; "
		 "others are refused (DNS rebinding)." },
	{ .name = "cors_origins",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .flags = DCM_OPT_ONE_IS_LIST,
	  .offset = offsetof(struct server_settings, cors_origins),
	  .doc = "Origins of other sites, like https://apps.example.org, whose pages may call this "
		 "server from a "
		 "browser (CORS) and read its answers, with a token or as any caller without. "
		 "None by default, and there is no sign for all." },
	{ .name = "base_path",
	  .type = DCM_OPT_STRING,
	  .flags = DCM_OPT_RESTART,
	  .offset = offsetof(struct server_settings, base_path),
	  .def = "",
	  .doc = "A path, like /profiles, below which everything is answered, too: for a proxy "
		 "that hands "
		 "its requests on as they are." },
	{ .name = "insecure",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct server_settings, insecure),
	  .def = "false",
	  .doc = "Lets callers without a token read and write from other machines. Only for "
		 "networks where everyone may." },
	{ .name = "max_connections",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct server_settings, max_connections),
	  .def = "512",
	  .min = "1",
	  .max = "65536",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Open connections at once, and 16 more over unix sockets; further ones are "
		 "closed. Each costs up to 64 KiB." },
	{ .name = "max_client_connections",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct server_settings, max_client_connections),
	  .def = "0",
	  .min = "0",
	  .max = "65536",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Open connections of one address, or of one IPv6 network of 64 bits; further ones "
		 "are closed. More for a proxy through which all come. 0: three quarters of "
		 "max_connections." },
	{ .name = "query_timeout",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct server_settings, query_timeout_ns),
	  .def = "60s",
	  .min = "100ms",
	  .max = "1h",
	  .flags = DCM_OPT_RESTART,
	  .doc = "A question that takes longer is given up." },
	{ .name = "query_memory",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct server_settings, query_memory_bytes),
	  .def = "1GiB",
	  .min = "1MiB",
	  .flags = DCM_OPT_RESTART,
	  .doc = "A question that needs more memory, or whose answer is longer, is refused." },
	{ .name = "max_queries",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct server_settings, max_queries),
	  .def = "4",
	  .min = "1",
	  .max = "256",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Questions answered at once; the others wait their turn." },
};
const struct dcm_table server_settings__table = DCM_TABLE(struct server_settings, server_rows);

/* Each request is compared with all. */
enum { TOKENS_MAX_N = 1000, PROXIES_MAX_N = 256, GROUPS_MAX_N = 256 };
enum { SHA256_TEXT = 64 };

const char *server_settings__token_hash(const char *token)
{
	static const char prefix[] = "sha256:";

	return strncmp(token, prefix, sizeof(prefix) - 1) == 0 ? token + sizeof(prefix) - 1 : NULL;
}

/* In each list an element that is NULL comes from a variable of another machine. */
static int check_hosts(const struct dcm_list *hosts, struct dcm_error *err)
{
	const char *const *v = hosts->items;

	for (uint32_t i = 0; i < hosts->n; i++)
		if (v[i] && !access__is_host(v[i]))
			return error__set(
				err, -EINVAL,
				"server.hosts[%u]: \"%.200s\" is no host's name; write it "
				"without scheme, port and path: profiles.example.org",
				i, v[i]);
	return 0;
}

static int check_origins(const struct dcm_list *origins, struct dcm_error *err)
{
	const char *const *v = origins->items;

	for (uint32_t i = 0; i < origins->n; i++)
		if (v[i] && !cors__is_origin(v[i]))
			return error__set(err, -EINVAL,
					  "server.cors_origins[%u]: \"%.200s\" is no origin of "
					  "pages; write it "
					  "as browsers do, in lower case and without a path: "
					  "https://apps.example.org",
					  i, v[i]);
	return 0;
}

static int check_token_labels(const struct token_settings *t, uint32_t i, struct dcm_error *err)
{
	const char *const *values = t->labels.items;
	char place[48];

	snprintf(place, sizeof(place), "server.tokens[%u].labels", i);
	if (t->labels.n > 0 && t->role + HTTP_ROLE_READ < HTTP_ROLE_WRITE)
		return error__set(
			err, -EINVAL,
			"%s: are for profiles that come with the token, and its role sends "
			"none; they do not bound what it reads. Give it the role write, or no "
			"labels",
			place);
	for (uint32_t k = 0; k < t->labels.n; k++)
		if (values[k] && !*values[k])
			return error__set(err, -EINVAL, "%s: \"%.64s\" is empty; give it a value, or leave it out",
					  place, t->labels.keys[k]);
	return settings__check_labels(&t->labels, place, err);
}

/* NULL: it is in a file of another machine. */
static int check_token(const char *token, uint32_t i, struct dcm_error *err)
{
	const char *hash = token ? server_settings__token_hash(token) : NULL;

	if (token && !*token)
		return error__set(
			err, -EINVAL,
			"server.tokens[%u].token: is empty, which no caller can send; write one", i);
	if (hash && (strlen(hash) != SHA256_TEXT || strspn(hash, "0123456789abcdef") != SHA256_TEXT))
		return error__set(err, -EINVAL,
				  "server.tokens[%u].token: behind sha256: should be 64 digits of "
				  "lower-case hex: printf %%s \"$TOKEN\" | sha256sum",
				  i);
	return 0;
}

/* The sentences show no token. */
/* What a caller sends for it, hashed; "" where it stands in a file of another machine. */
static void hash_of(const char *token, char ret[static ACCESS_HASH_TEXT])
{
	const char *hash = token ? server_settings__token_hash(token) : NULL;

	ret[0] = '\0';
	if (hash)
		snprintf(ret, ACCESS_HASH_TEXT, "%s", hash);
	else if (token)
		access__hash(str__of(token), ret);
}

/* Also where one is written as its hash. */
static int check_same(const struct token_settings *v, uint32_t n, struct dcm_error *err)
{
	CLEANUP(mem__freep) char *all = mem__zalloc(n + 1, ACCESS_HASH_TEXT);

	if (!all)
		return error__nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		char *mine = all + (size_t)i * ACCESS_HASH_TEXT;

		hash_of(v[i].token, mine);
		for (uint32_t k = 0; k < i; k++)
			if (*mine && strcmp(mine, all + (size_t)k * ACCESS_HASH_TEXT) == 0)
				return error__set(err, -EINVAL,
						  "server.tokens[%u]: is the token of "
						  "server.tokens[%u] again; give each role a token "
						  "of its own, or keep one",
						  i, k);
	}
	return 0;
}

static int check_tokens(const struct dcm_list *tokens, struct dcm_error *err)
{
	const struct token_settings *v = tokens->items;

	if (tokens->n > TOKENS_MAX_N)
		return error__set(err, -EINVAL, "server.tokens: are %u; give at most %d", tokens->n,
				  TOKENS_MAX_N);
	for (uint32_t i = 0; i < tokens->n; i++) {
		int r = check_token(v[i].token, i, err);

		if (r == 0)
			r = check_token_labels(&v[i], i, err);
		if (r < 0)
			return r;
	}
	return check_same(v, tokens->n, err);
}

static int check_header(const char *name, const char *option, struct dcm_error *err)
{
	if (!name ||
	    strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") ==
		    strlen(name))
		return 0;
	return error__set(err, -EINVAL, "server.proxy.%s: \"%.64s\" is no header's name; use letters, digits and -",
			  option, name);
}

static int check_proxy(const struct proxy_settings *p, struct dcm_error *err)
{
	const char *const *from = p->from.items;
	struct network net;

	for (uint32_t i = 0; i < p->from.n; i++)
		if (from[i] && !network__read(from[i], &net))
			return error__set(
				err, -EINVAL,
				"server.proxy.from[%u]: \"%.64s\" is no address and no network; "
				"write 10.1.2.3, 10.1.0.0/16 or fd00::/8",
				i, from[i]);
	if (p->from.n > PROXIES_MAX_N || p->groups.n > GROUPS_MAX_N)
		return error__set(err, -EINVAL, "server.proxy: has %u addresses and %u groups; give at most %d and %d",
				  p->from.n, p->groups.n, PROXIES_MAX_N, GROUPS_MAX_N);
	if (p->from.n > 0 && p->user_header && !*p->user_header)
		return error__set(
			err, -EINVAL,
			"server.proxy.user_header: is empty; name the header that says who asks");
	if (p->groups.n > 0 && p->groups_header && !*p->groups_header)
		return error__set(
			err, -EINVAL, "server.proxy.groups: nothing says who is in them; give groups_header, too");
	if (check_header(p->user_header, "user_header", err) < 0)
		return -EINVAL;
	return check_header(p->groups_header, "groups_header", err);
}

/* Whether they are what they say is seen when the server is made. */
static int check_tls(const struct tls_settings *t, struct dcm_error *err)
{
	bool has_cert = t->cert_file && *t->cert_file, has_key = t->key_file && *t->key_file;

	if (has_cert != has_key)
		return error__set(
			err, -EINVAL,
			"server.tls.%s: is missing; give the certificate and its key, or neither",
			has_cert ? "key_file" : "cert_file");
	if (!has_cert && t->client_ca_file && *t->client_ca_file)
		return error__set(err, -EINVAL,
				  "server.tls.client_ca_file: clients show no certificate where "
				  "there is no TLS; "
				  "give server.tls.cert_file and key_file, too");
	return 0;
}

/* Nobody who comes over the network may do anything before he has shown who he is, in one way or another. */
static bool asks_who(const struct server_settings *s)
{
	const char *ca = s->tls.client_ca_file;

	return s->tokens.n > 0 || s->proxy.from.n > 0 || (ca && *ca && s->tls.client_auth == 0);
}

/* A port that anyone can reach, and nobody is asked who he is: only when the operator says so. */
static int check_listen(const struct server_settings *s, struct dcm_error *err)
{
	const char *const *listen = s->listen.items;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->listen.n; i++) {
		if (!listen[i])
			continue;
		r = sockets__check(listen[i], err);
		if (r < 0)
			return r;
		if (sockets__is_local(listen[i]))
			continue;
		if (!asks_who(s) && !s->insecure)
			return error__set(
				err, -EINVAL,
				"server.listen: %s can be reached from other machines "
				"and nobody needs a token or a certificate; set "
				"server.tokens, server.proxy or server.tls.client_ca_file, or "
				"server.insecure: true if everyone "
				"there may read and write",
				listen[i]);
	}
	return r;
}

/* Of plain characters, so that nothing needs an escape in an address or a header. */
static int check_base_path(const char *path, struct dcm_error *err)
{
	size_t n = path ? strlen(path) : 0;

	if (n == 0)
		return 0;
	if (path[0] == '/' && path[n - 1] != '/' && n <= 256 && !strstr(path, "//") &&
	    strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/") == n)
		return 0;
	return error__set(err, -EINVAL,
			  "server.base_path: \"%s\" is no path like /profiles: a slash first and "
			  "none last, and "
			  "letters, digits, - . _ ~ between",
			  path);
}

int server_settings__check(const struct server_settings *s, struct dcm_error *err)
{
	int r = check_hosts(&s->hosts, err);

	if (r == 0)
		r = check_origins(&s->cors_origins, err);
	if (r == 0)
		r = check_tokens(&s->tokens, err);
	if (r == 0)
		r = check_proxy(&s->proxy, err);
	if (r == 0)
		r = check_tls(&s->tls, err);
	if (r == 0)
		r = check_base_path(s->base_path, err);
	return r ? r : check_listen(s, err);
}
