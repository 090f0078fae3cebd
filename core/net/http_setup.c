/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_setup.c - the options of a client, made ready to be set on any number of requests
 */
#include "core/net/http_setup.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/config/shared_http.h"
#include "core/net/no_proxy.h"

/* How long a connection may lie idle: above the usual intervals between two calls. */
#define IDLE_S 300L

struct maker {
	struct http_setup *s;
	bool failed;
};

/* NULL stays NULL. */
static const char *keep(struct maker *m, const char *text)
{
	const char *own = text ? arena__str(&m->s->arena, str__of(text)).p : NULL;

	m->failed |= text && !own;
	return own;
}

static struct secret keep_secret(struct maker *m, const char *key, const char *text, const char *file)
{
	return secret__of(key, keep(m, text), keep(m, file));
}

static void take_auth(struct maker *m, const struct dcm_http_options *o)
{
	const struct dcm_http_secret *c = &o->authorization.credentials;
	struct http_setup *s = m->s;
	const char *type = o->authorization.type ? o->authorization.type : "";
	size_t n;

	s->user = keep_secret(m, "basic_auth: username_file", o->basic.username, o->basic.username_file);
	s->password = keep_secret(m, "basic_auth: password_file", o->basic.password.text,
				  o->basic.password.file);
	s->has_basic = secret__is_given(&s->user) || secret__is_given(&s->password);
	s->credentials = keep_secret(m, "authorization: credentials_file", c->text, c->file);
	type += strspn(type, " \t\r\n");
	n = strlen(type);
	while (n > 0 && strchr(" \t\r\n", type[n - 1]))
		n--;
	s->auth_type = n ? arena__str(&s->arena, (struct dcm_str){ type, (uint32_t)n }).p : "Bearer";
	m->failed |= !s->auth_type;
	if (!secret__is_given(&s->credentials)) {
		s->credentials = keep_secret(m, "bearer_token_file", o->bearer.text, o->bearer.file);
		s->auth_type = "Bearer";
	}
	s->has_authorization = secret__is_given(&s->credentials);
}

static void take_headers(struct maker *m, const struct dcm_map *map)
{
	const struct dcm_http_values *v = map->items;
	struct http_setup *s = m->s;
	uint32_t n = 0;

	for (uint32_t i = 0; i < map->n; i++)
		n += v[i].values.n + v[i].secrets.n + v[i].files.n;
	s->headers = arena__zalloc(&s->arena, n, sizeof(*s->headers));
	m->failed |= !s->headers;
	for (uint32_t i = 0; s->headers && i < map->n; i++) {
		const struct dcm_list *lists[] = { &v[i].values, &v[i].secrets, &v[i].files };
		const char *name = keep(m, map->keys[i]);

		for (unsigned k = 0; k < 3; k++)
			for (uint32_t j = 0; j < lists[k]->n; j++) {
				const char *text = ((const char *const *)lists[k]->items)[j];
				struct http_setup_header *h = &s->headers[s->n_headers++];

				h->name = name;
				h->value = keep_secret(m, "http_headers: file", k < 2 ? text : NULL,
						       k < 2 ? NULL : text);
			}
	}
}

static const char *environment(const char *upper, const char *lower)
{
	const char *v = getenv(upper);

	if (!v || !v[0])
		v = getenv(lower);
	return v && v[0] ? v : NULL;
}

/* A file's proxy is checked when it is read. What is no proxy may hold a password, and is not repeated. */
static int environment_proxy(const char *upper, const char *lower, const char **ret, struct dcm_error *err)
{
	const char *url = environment(upper, lower);

	if (url && !shared_http__is_proxy(url))
		return error__set(err, -EINVAL,
				  "%s in the environment is not the address of a proxy; write "
				  "http://HOST:PORT, https://... or socks5://...",
				  upper);
	*ret = url;
	return 0;
}

/* Names behind a SOCKS proxy are looked up there, as Go does. */
static const char *keep_proxy(struct maker *m, const char *url)
{
	static const char socks[] = "socks5://";
	const char *own;

	if (!url || !url[0] || strncasecmp(url, socks, sizeof(socks) - 1) != 0)
		return url && url[0] ? keep(m, url) : NULL;
	own = arena__printf(&m->s->arena, "socks5h://%s", url + sizeof(socks) - 1);
	m->failed |= !own;
	return own;
}

static int take_proxy(struct maker *m, const struct dcm_http_proxy *o, struct dcm_error *err)
{
	const struct dcm_list *values = o->connect_headers.items;
	struct http_setup *s = m->s;

	if (o->from_environment) {
		const char *http = NULL, *https = NULL;

		if (environment_proxy("HTTP_PROXY", "http_proxy", &http, err) < 0 ||
		    environment_proxy("HTTPS_PROXY", "https_proxy", &https, err) < 0)
			return -EINVAL;
		s->http_proxy = keep_proxy(m, http);
		s->https_proxy = keep_proxy(m, https);
		s->no_proxy = keep(m, environment("NO_PROXY", "no_proxy"));
		s->skips_loopback = true;
	} else {
		s->http_proxy = s->https_proxy = keep_proxy(m, o->url);
		s->no_proxy = keep(m, o->no_proxy);
		s->skips_loopback = s->no_proxy && s->no_proxy[0];
	}
	for (uint32_t i = 0; i < o->connect_headers.n; i++)
		for (uint32_t k = 0; k < values[i].n; k++)
			m->failed |= http_setup__add_header(
					     &s->connect_headers, o->connect_headers.keys[i],
					     ((const char *const *)values[i].items)[k]) < 0;
	return 0;
}

static void take_tls(struct maker *m, const struct dcm_http_tls *o)
{
	struct dcm_http_tls own = *o;

	own.ca = keep(m, o->ca);
	own.ca_file = keep(m, o->ca_file);
	own.cert = keep(m, o->cert);
	own.cert_file = keep(m, o->cert_file);
	own.key.text = keep(m, o->key.text);
	own.key.file = keep(m, o->key.file);
	own.server_name = keep(m, o->server_name);
	http_tls__init(&m->s->tls, &own);
}

int http_setup__new(const struct dcm_http_options *o, struct http_setup **ret, struct dcm_error *err)
{
	CLEANUP(http_setup__freep) struct http_setup *s = NULL;
	struct maker m = { 0 };
	int r = shared_http__check(o, err);

	if (r < 0)
		return r;
	s = NEW(struct http_setup);
	if (!s)
		return error__nomem(err);
	m.s = s;
	take_tls(&m, &o->tls);
	take_auth(&m, o);
	take_headers(&m, &o->http_headers);
	r = take_proxy(&m, &o->proxy, err);
	if (r < 0)
		return r;
	s->follow_redirects = o->follow_redirects;
	s->http2 = o->enable_http2;
	if (m.failed)
		return error__nomem(err);
	r = http_tls__read(&s->tls, clock__mono(&clock__system), err);
	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	*ret = take_ptr(s);
	return 0;
}

/* Regions and services: what cannot end the word for curl, or the scope in the signature. */
static bool is_scope(const char *s)
{
	return s && s[0] &&
	       !s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")];
}

/* 7.88.0 is the first that says the hash of what it sends, which servers of objects ask for. */
static bool curl_can_sign(void)
{
	return LIBCURL_VERSION_NUM >= 0x074b00 &&
	       curl_version_info(CURLVERSION_NOW)->version_num >= 0x075800;
}

int http_setup__sign(struct http_setup *s, const struct dcm_http_signature *how, struct dcm_error *err)
{
	struct maker m = { .s = s };

	if (!is_scope(how->region) || !is_scope(how->service))
		return error__set(err, -EINVAL,
				  "region: is empty, or has more than letters, digits and -_.");
	if (s->has_basic || s->has_authorization)
		return error__set(err, -EINVAL, "%s: requests are signed already; take it away",
				  s->has_basic ? "basic_auth" : "authorization");
	if (!curl_can_sign())
		return error__set(err, -ENOTSUP,
				  "libcurl %s cannot sign for object storage; it takes 7.88",
				  curl_version_info(CURLVERSION_NOW)->version);
	s->access_key = keep_secret(&m, "access_key_file", how->access_key.text, how->access_key.file);
	s->secret_key = keep_secret(&m, "secret_key_file", how->secret_key.text, how->secret_key.file);
	s->session_token = keep_secret(&m, "session_token_file", how->token.text, how->token.file);
	if (!secret__is_given(&s->access_key) || !secret__is_given(&s->secret_key))
		return error__set(
			err, -EINVAL,
			"access_key and secret_key: are missing; add them, or files of them");
	s->sign = arena__printf(&s->arena, "aws:amz:%s:%s", how->region, how->service);
	return m.failed || !s->sign ? error__nomem(err) : 0;
}

void http_setup__free(struct http_setup *s)
{
	if (!s)
		return;
	http_tls__fini(&s->tls);
	secret__fini(&s->user);
	secret__fini(&s->password);
	secret__fini(&s->credentials);
	secret__fini(&s->access_key);
	secret__fini(&s->secret_key);
	secret__fini(&s->session_token);
	for (uint32_t i = 0; i < s->n_headers; i++)
		secret__fini(&s->headers[i].value);
	curl_slist_free_all(s->connect_headers);
	arena__fini(&s->arena);
	free(s);
}

int http_setup__add_header(struct curl_slist **list, const char *name, const char *value)
{
	struct buf line = { 0 };
	struct curl_slist *all = NULL;

	/* "NAME;" is how curl is told of an empty one. */
	buf__printf(&line, "%s%s%s", name, value[0] ? ": " : ";", value);
	if (!line.error)
		all = curl_slist_append(*list, (const char *)line.data);
	buf__wipe(&line);
	if (!all)
		return -ENOMEM;
	*list = all;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * On a handle
 */

static int set_auth(struct http_setup *s, CURL *curl, int64_t now, struct curl_slist **headers,
		    struct dcm_error *err)
{
	int fault = 0;

	if (s->has_basic) {
		const char *user = secret__get(&s->user, now, &fault, err);
		const char *password = user ? secret__get(&s->password, now, &fault, err) : NULL;

		if (!password)
			return fault;
		curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
		if (curl_easy_setopt(curl, CURLOPT_USERNAME, user) ||
		    curl_easy_setopt(curl, CURLOPT_PASSWORD, password))
			return error__nomem(err);
	}
	if (s->has_authorization) {
		const char *text = secret__get(&s->credentials, now, &fault, err);
		struct buf value = { 0 };

		if (!text)
			return fault;
		if (!shared_http__is_header_value(text))
			return error__set(err, -EACCES, "%s: has control characters; write one line",
					  s->credentials.file ? s->credentials.file
							      : "authorization: credentials");
		buf__printf(&value, "%s %s", s->auth_type, text);
		fault = value.error ? -ENOMEM
				    : http_setup__add_header(headers, "Authorization",
							     (const char *)value.data);
		buf__wipe(&value);
	}
	return fault < 0 ? error__nomem(err) : 0;
}

/* One line, as curl and the header that names it take it. NULL as secret__get(). */
static const char *line_of(struct secret *s, int64_t now, int *ret_fault, struct dcm_error *err)
{
	const char *text = secret__get(s, now, ret_fault, err);

	if (text && !shared_http__is_header_value(text)) {
		*ret_fault = error__set(err, -EACCES, "%s: has control characters; write one line",
					s->file ? s->file : s->key);
		return NULL;
	}
	return text;
}

/* curl signs what it sends: every header of the list, the path as it stands (curl issue 13754), and the body. */
static int set_signature(struct http_setup *s, CURL *curl, int64_t now, struct curl_slist **headers,
			 struct dcm_error *err)
{
#if LIBCURL_VERSION_NUM >= 0x074b00
	const char *key, *secret = NULL, *token = NULL;
	int fault = 0;

	key = line_of(&s->access_key, now, &fault, err);
	if (key)
		secret = line_of(&s->secret_key, now, &fault, err);
	if (secret)
		token = line_of(&s->session_token, now, &fault, err);
	if (!token)
		return fault;
	if (!key[0] || !secret[0])
		return error__set(err, -EACCES, "%s: is empty",
				  key[0] ? s->secret_key.file : s->access_key.file);
	if (curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, s->sign) ||
	    curl_easy_setopt(curl, CURLOPT_USERNAME, key) ||
	    curl_easy_setopt(curl, CURLOPT_PASSWORD, secret) ||
	    (token[0] && http_setup__add_header(headers, "X-Amz-Security-Token", token) < 0))
		return error__nomem(err);
#else
	(void)s, (void)curl, (void)now, (void)headers, (void)err;
#endif
	return 0;
}

static int set_headers(struct http_setup *s, int64_t now, struct curl_slist **headers,
		       struct dcm_error *err)
{
	int fault = 0;

	for (uint32_t i = 0; i < s->n_headers; i++) {
		struct http_setup_header *h = &s->headers[i];
		const char *value = secret__get(&h->value, now, &fault, err);

		if (!value)
			return fault;
		if (!shared_http__is_header_value(value))
			return error__set(err, -EACCES, "http_headers: %s: %s has control characters; write one line",
					  h->name, h->value.file ? h->value.file : "a value");
		if (http_setup__add_header(headers, h->name, value) < 0)
			return error__nomem(err);
	}
	return 0;
}

/* NULL: it is reached without. */
static const char *proxy_of(const struct http_setup *s, const struct http_place *p)
{
	const char *proxy = p->tls ? s->https_proxy : s->http_proxy;
	char host[256];
	size_t n = strlen(p->host);
	bool bare = p->host[0] == '[' && n > 2;

	if (!proxy || p->socket)
		return NULL;
	snprintf(host, sizeof(host), "%.*s", (int)(bare ? n - 2 : n), p->host + bare);
	return s->skips_loopback && no_proxy__matches(s->no_proxy, host, p->port) ? NULL : proxy;
}

static int set_proxy(struct http_setup *s, CURL *curl, const struct http_place *p)
{
	const char *proxy = proxy_of(s, p);
	CURLcode r;

	/* "" also keeps curl from the environment. */
	r = curl_easy_setopt(curl, CURLOPT_PROXY, proxy ? proxy : "");
	if (!r)
		r = curl_easy_setopt(curl, CURLOPT_NOPROXY, "");
	curl_easy_setopt(curl, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	if (proxy && p->tls && s->connect_headers)
		curl_easy_setopt(curl, CURLOPT_PROXYHEADER, s->connect_headers);
	curl_easy_setopt(curl, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	return r ? -ENOMEM : 0;
}

/*
 * curl knows one name for the connection's server and for its certificate: the URL's. Where another
 * one is wanted, the URL has that, the connection is told to go to the real host, and the header Host
 * names the real one.
 */
static int set_names(const struct http_setup *s, CURL *curl, const struct http_place *p,
		     struct http_setup_lists *lists)
{
	const char *rest = strchr(p->url + strlen("https://"), '/');
	struct buf url = { 0 }, to = { 0 };
	int r;

	if (!p->tls || !s->tls.server_name || p->socket)
		return curl_easy_setopt(curl, CURLOPT_URL, p->url) ? -ENOMEM : 0;
	buf__printf(&url, "https://%s:%s%s", s->tls.server_name, p->port, rest ? rest : "/");
	buf__printf(&to, "::%s:%s", p->host, p->port);
	if (!to.error)
		lists->connect_to = curl_slist_append(NULL, (const char *)to.data);
	if (url.error || !lists->connect_to || curl_easy_setopt(curl, CURLOPT_URL, (const char *)url.data))
		r = -ENOMEM;
	else
		r = http_setup__add_header(&lists->headers, "Host", p->authority);
	buf__fini(&url);
	buf__fini(&to);
	if (r == 0)
		curl_easy_setopt(curl, CURLOPT_CONNECT_TO, lists->connect_to);
	return r;
}

void http_setup__lists_fini(struct http_setup_lists *lists)
{
	curl_slist_free_all(lists->headers);
	curl_slist_free_all(lists->connect_to);
	*lists = (struct http_setup_lists){ NULL, NULL };
}

int http_setup__apply(struct http_setup *s, CURL *curl, const struct http_setup_request *q,
		      struct http_setup_lists *lists, struct dcm_error *err)
{
	const struct http_place *p = q->place;
	int r = 0;

	if (p->tls)
		r = http_tls__apply(&s->tls, curl, q->now_mono_ns, err);
	if (r == 0 && q->trusted && !q->has_authorization)
		r = set_auth(s, curl, q->now_mono_ns, &lists->headers, err);
	if (r == 0 && q->trusted)
		r = set_headers(s, q->now_mono_ns, &lists->headers, err);
	if (r == 0 && q->trusted && !q->has_authorization && s->sign)
		r = set_signature(s, curl, q->now_mono_ns, &lists->headers, err);
	if (r < 0)
		return r;
	r = set_proxy(s, curl, p);
	if (r == 0)
		r = set_names(s, curl, p, lists);
	if (r == 0 && p->socket && curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, p->socket))
		r = -ENOMEM;
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
			 s->http2 && p->tls ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_MAXAGE_CONN, IDLE_S);
	return r < 0 ? error__nomem(err) : 0;
}
