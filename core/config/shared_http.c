/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/shared_http.c - the options of an HTTP client, as Prometheus has them
 *
 * Each part refuses what contradicts itself in it; the whole refuses what its parts say against each
 * other. What is empty counts as not given, as there.
 */
#include "core/config/shared_http.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "core/base/error.h"
#include "core/base/url.h"

#define TABLE(type, rows, check_of)                                                                \
	{                                                                                          \
		.size = sizeof(struct dcm_table), .option_size = sizeof(struct dcm_option),        \
		.struct_size = sizeof(type), .n_options = sizeof(rows) / sizeof((rows)[0]),        \
		.options = (rows), .check = (check_of)                                             \
	}

static bool given(const char *s)
{
	return s && s[0];
}

static bool is_set(const struct dcm_http_secret *s)
{
	return given(s->text) || given(s->file);
}

/* Both of a value and the file that holds it. */
static int not_both(const char *value, const char *file, const char *name, struct dcm_error *err)
{
	if (!given(value) || !given(file))
		return 0;
	return error__set(err, -EINVAL, "%s: stands beside %s_file; keep one of the two", name, name);
}

bool shared_http__is_header_name(const char *name)
{
	return name[0] && name[strspn(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
					    "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

bool shared_http__is_header_value(const char *value)
{
	for (; *value; value++)
		if (((unsigned char)*value < ' ' && *value != '\t') || *value == 0x7f)
			return false;
	return true;
}

/* ------------------------------------------------------------------------------------------------
 * Who asks
 */

#define AT(member) offsetof(struct dcm_http_basic, member)
static const struct dcm_option basic_rows[] = {
	{ .name = "username", .type = DCM_OPT_STRING, .offset = AT(username), .doc = "The user's name." },
	{ .name = "username_file",
	  .type = DCM_OPT_STRING,
	  .offset = AT(username_file),
	  .flags = DCM_OPT_PATH,
	  .doc = "Holds the user's name; read again when it changes." },
	{ .name = "password", .type = DCM_OPT_SECRET, .offset = AT(password.text), .doc = "The password." },
	{ .name = "password_file",
	  .type = DCM_OPT_STRING,
	  .offset = AT(password.file),
	  .flags = DCM_OPT_PATH,
	  .doc = "Holds the password; read again when it changes." },
};
#undef AT

static int check_basic(const void *config, struct dcm_error *err)
{
	const struct dcm_http_basic *b = config;
	int r = not_both(b->username, b->username_file, "username", err);

	return r < 0 ? r : not_both(b->password.text, b->password.file, "password", err);
}

static const struct dcm_table basic = TABLE(struct dcm_http_basic, basic_rows, check_basic);

#define AT(member) offsetof(struct dcm_http_authorization, member)
static const struct dcm_option authorization_rows[] = {
	{ .name = "type",
	  .type = DCM_OPT_STRING,
	  .offset = AT(type),
	  .def = "Bearer",
	  .doc = "Stands before the credentials in the header Authorization." },
	{ .name = "credentials", .type = DCM_OPT_SECRET, .offset = AT(credentials.text), .doc = "The token." },
	{ .name = "credentials_file",
	  .type = DCM_OPT_STRING,
	  .offset = AT(credentials.file),
	  .flags = DCM_OPT_PATH,
	  .doc = "Holds the token; read again when it changes." },
};
#undef AT

static int check_authorization(const void *config, struct dcm_error *err)
{
	const struct dcm_http_authorization *a = config;
	const char *type = a->type ? a->type : "";
	size_t n;

	type += strspn(type, " \t\r\n");
	n = strcspn(type, " \t\r\n");
	if (n == strlen("basic") && strncasecmp(type, "basic", n) == 0)
		return error__set(err, -EINVAL, "type: cannot be \"basic\"; use basic_auth instead");
	if (!shared_http__is_header_value(type))
		return error__set(err, -EINVAL, "type: has control characters; write one word");
	return not_both(a->credentials.text, a->credentials.file, "credentials", err);
}

static const struct dcm_table authorization = TABLE(struct dcm_http_authorization,
						    authorization_rows, check_authorization);

/* ------------------------------------------------------------------------------------------------
 * TLS
 */

static const char *const tls_versions[] = {
	[DCM_TLS_ANY] = "any",	 [DCM_TLS_1_0] = "TLS10", [DCM_TLS_1_1] = "TLS11",
	[DCM_TLS_1_2] = "TLS12", [DCM_TLS_1_3] = "TLS13", NULL,
};

#define AT(member) offsetof(struct dcm_http_tls, member)
#define FILE_ROW(key, member, text)                                                                \
	{                                                                                          \
		.name = key, .type = DCM_OPT_STRING, .offset = AT(member), .flags = DCM_OPT_PATH,  \
		.doc = text                                                                        \
	}
static const struct dcm_option tls_rows[] = {
	{ .name = "ca",
	  .type = DCM_OPT_STRING,
	  .offset = AT(ca),
	  .doc = "Certificates of the authorities to trust, in PEM; without, the system's." },
	FILE_ROW("ca_file", ca_file, "Holds these certificates; read again when it changes."),
	{ .name = "cert", .type = DCM_OPT_STRING, .offset = AT(cert), .doc = "Our own certificate, in PEM." },
	FILE_ROW("cert_file", cert_file, "Holds our certificate; read again when it changes."),
	{ .name = "key", .type = DCM_OPT_SECRET, .offset = AT(key.text), .doc = "Its key, in PEM." },
	FILE_ROW("key_file", key.file, "Holds the key; read again when it changes."),
	{ .name = "server_name",
	  .type = DCM_OPT_STRING,
	  .offset = AT(server_name),
	  .doc = "The name that the server's certificate must have, instead of the address's." },
	{ .name = "insecure_skip_verify",
	  .type = DCM_OPT_BOOL,
	  .offset = AT(insecure_skip_verify),
	  .doc = "Takes any certificate of the server: whoever is between can read all." },
	{ .name = "min_version",
	  .type = DCM_OPT_CHOICE,
	  .offset = AT(min_version),
	  .def = "any",
	  .choices = tls_versions,
	  .doc = "The oldest version of TLS that is spoken; any: TLS12." },
	{ .name = "max_version",
	  .type = DCM_OPT_CHOICE,
	  .offset = AT(max_version),
	  .def = "any",
	  .choices = tls_versions,
	  .doc = "The newest; any: TLS13." },
};
#undef FILE_ROW
#undef AT

static int check_tls(const void *config, struct dcm_error *err)
{
	const struct dcm_http_tls *t = config;
	bool cert = given(t->cert) || given(t->cert_file);
	int r = not_both(t->ca, t->ca_file, "ca", err);

	if (r == 0)
		r = not_both(t->cert, t->cert_file, "cert", err);
	if (r == 0)
		r = not_both(t->key.text, t->key.file, "key", err);
	if (r < 0)
		return r;
	if (cert && !is_set(&t->key))
		return error__set(err, -EINVAL, "%s: needs its key; add key or key_file",
				  given(t->cert) ? "cert" : "cert_file");
	if (!cert && is_set(&t->key))
		return error__set(err, -EINVAL, "%s: needs its certificate; add cert or cert_file",
				  given(t->key.text) ? "key" : "key_file");
	if (t->min_version && t->max_version && t->max_version < t->min_version)
		return error__set(err, -EINVAL, "max_version: is below min_version; raise it");
	if (t->min_version == DCM_TLS_ANY && t->max_version && t->max_version < DCM_TLS_1_2)
		return error__set(
			err, -EINVAL,
			"max_version: is below the usual minimum, TLS12; set min_version as well");
	if (given(t->server_name) && t->server_name[url__name_length(t->server_name)])
		return error__set(err, -EINVAL, "server_name: is not the name of a host");
	return 0;
}

static const struct dcm_table tls = TABLE(struct dcm_http_tls, tls_rows, check_tls);

/* ------------------------------------------------------------------------------------------------
 * Proxies
 */

static const struct dcm_option connect_values_rows[] = {
	{ .name = "", .type = DCM_OPT_LIST, .element = DCM_OPT_SECRET, .offset = 0 },
};
static const struct dcm_table connect_values = DCM_TABLE(struct dcm_list, connect_values_rows);

#define AT(member) offsetof(struct dcm_http_proxy, member)
static const struct dcm_option proxy_rows[] = {
	{ .name = "proxy_url",
	  .type = DCM_OPT_SECRET,
	  .offset = AT(url),
	  .doc = "The proxy that requests go through: http://HOST:PORT, https://..., socks5://...; "
		 "a user and a "
		 "password may stand before the host." },
	{ .name = "no_proxy",
	  .type = DCM_OPT_STRING,
	  .offset = AT(no_proxy),
	  .doc = "Hosts that are reached without it, with commas between: names, which stand for "
		 "what is beneath "
		 "them too, addresses, networks such as 10.0.0.0/8, or *." },
	{ .name = "proxy_from_environment",
	  .type = DCM_OPT_BOOL,
	  .offset = AT(from_environment),
	  .doc = "Takes them from the environment: HTTP_PROXY, HTTPS_PROXY, NO_PROXY." },
	{ .name = "proxy_connect_header",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRUCT,
	  .table = &connect_values,
	  .offset = AT(connect_headers),
	  .doc = "Headers, each a list of values, for the proxy when it connects to a server that "
		 "speaks TLS." },
};
#undef AT

/* What curl can go through; without a scheme it is an HTTP proxy. */
bool shared_http__is_proxy(const char *url)
{
	const char *host = strstr(url, "://");
	static const char *const schemes[] = { "http://", "https://", "socks5://", "socks5h://" };
	char text[2100];
	size_t n;

	if (!host)
		return snprintf(text, sizeof(text), "http://%s", url) < (int)sizeof(text) &&
		       url__is_askable(text);
	n = (size_t)(host - url) + 3;
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strlen(schemes[i]) == n && strncasecmp(url, schemes[i], n) == 0)
			return snprintf(text, sizeof(text), "http://%s", url + n) < (int)sizeof(text) &&
			       url__is_askable(text);
	return false;
}

static int check_connect_headers(const struct dcm_map *headers, struct dcm_error *err)
{
	const struct dcm_list *values = headers->items;

	for (uint32_t i = 0; i < headers->n; i++) {
		if (!shared_http__is_header_name(headers->keys[i]))
			return error__set(err, -EINVAL,
					  "proxy_connect_header: \"%.100s\" is not a header's name",
					  headers->keys[i]);
		for (uint32_t k = 0; k < values[i].n; k++)
			if (!shared_http__is_header_value(((const char *const *)values[i].items)[k]))
				return error__set(err, -EINVAL, "proxy_connect_header: %s has a value with control characters",
						  headers->keys[i]);
	}
	return 0;
}

static int check_proxy(const void *config, struct dcm_error *err)
{
	const struct dcm_http_proxy *p = config;

	if (p->connect_headers.n && !p->from_environment && !given(p->url))
		return error__set(
			err, -EINVAL, "proxy_connect_header: needs proxy_url or proxy_from_environment");
	if (p->from_environment && given(p->url))
		return error__set(
			err, -EINVAL,
			"proxy_from_environment: stands beside proxy_url; keep one of the two");
	if (p->from_environment && given(p->no_proxy))
		return error__set(
			err, -EINVAL, "proxy_from_environment: stands beside no_proxy; set NO_PROXY in the environment");
	if (!p->url && given(p->no_proxy))
		return error__set(err, -EINVAL, "no_proxy: needs proxy_url");
	/* Not shown: a password may stand in it. */
	if (given(p->url) && !shared_http__is_proxy(p->url))
		return error__set(
			err, -EINVAL,
			"proxy_url: is not the address of a proxy; write http://HOST:PORT, "
			"https://HOST:PORT or socks5://HOST:PORT");
	return check_connect_headers(&p->connect_headers, err);
}

static const struct dcm_table proxy = TABLE(struct dcm_http_proxy, proxy_rows, check_proxy);

/* ------------------------------------------------------------------------------------------------
 * OAuth 2
 */

static const char *const oauth2_grants[] = {
	[DCM_OAUTH2_CLIENT_CREDENTIALS] = "client_credentials",
	[DCM_OAUTH2_JWT_BEARER] = "urn:ietf:params:oauth:grant-type:jwt-bearer",
	NULL,
};
static const char *const oauth2_algorithms[] = {
	[DCM_OAUTH2_RS256] = "RS256",
	[DCM_OAUTH2_RS384] = "RS384",
	[DCM_OAUTH2_RS512] = "RS512",
	NULL,
};

#define AT(member) offsetof(struct dcm_http_oauth2, member)
static const struct dcm_option oauth2_rows[] = {
	{ .name = "client_id",
	  .type = DCM_OPT_STRING,
	  .offset = AT(client_id),
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "Who we are to the server of tokens." },
	{ .name = "client_secret", .type = DCM_OPT_SECRET, .offset = AT(client_secret.text), .doc = "What proves it." },
	{ .name = "client_secret_file",
	  .type = DCM_OPT_STRING,
	  .offset = AT(client_secret.file),
	  .flags = DCM_OPT_PATH,
	  .doc = "Holds the client's secret; read again when it changes." },
	{ .name = "grant_type",
	  .type = DCM_OPT_CHOICE,
	  .offset = AT(grant),
	  .choices = oauth2_grants,
	  .def = "client_credentials",
	  .doc = "How we prove it: by the client's secret, or by a statement (JWT) that we sign "
		 "with client_certificate_key (RFC 7523)." },
	{ .name = "client_certificate_key", .type = DCM_OPT_SECRET, .offset = AT(assertion.key.text), .doc = "For grant_type jwt-bearer, as all down to claims: the RSA key that signs, in PEM." },
	{ .name = "client_certificate_key_file",
	  .type = DCM_OPT_STRING,
	  .offset = AT(assertion.key.file),
	  .flags = DCM_OPT_PATH,
	  .doc = "Holds that key; read again when it changes." },
	{ .name = "client_certificate_key_id",
	  .type = DCM_OPT_STRING,
	  .offset = AT(assertion.key_id),
	  .doc = "What the server of tokens calls the key (kid)." },
	{ .name = "signature_algorithm",
	  .type = DCM_OPT_CHOICE,
	  .offset = AT(assertion.algorithm),
	  .choices = oauth2_algorithms,
	  .def = "RS256",
	  .doc = "How it is signed." },
	{ .name = "iss",
	  .type = DCM_OPT_STRING,
	  .offset = AT(assertion.issuer),
	  .doc = "Who says it; without, client_id." },
	{ .name = "audience",
	  .type = DCM_OPT_STRING,
	  .offset = AT(assertion.audience),
	  .doc = "Whom it is said to; without, token_url." },
	{ .name = "claims", .type = DCM_OPT_JSON, .offset = AT(assertion.claims), .doc = "A map of what else is said, or otherwise than usual: iss, sub, aud, jti, iat, exp, scope." },
	{ .name = "scopes",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = AT(scopes),
	  .doc = "What the token shall allow." },
	{ .name = "token_url",
	  .type = DCM_OPT_STRING,
	  .offset = AT(token_url),
	  .flags = DCM_OPT_REQUIRED,
	  .doc = "Where tokens are fetched." },
	{ .name = "endpoint_params",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRING,
	  .offset = AT(endpoint_params),
	  .doc = "Further fields of the form that asks for a token." },
	{ .name = "tls_config", .type = DCM_OPT_STRUCT, .table = &tls, .offset = AT(tls), .doc = "TLS to the server of tokens." },
	{ .name = "", .type = DCM_OPT_STRUCT, .table = &proxy, .offset = AT(proxy) },
};
#undef AT

static int check_assertion(const struct dcm_http_assertion *a, struct dcm_error *err)
{
	if (!is_set(&a->key))
		return error__set(
			err, -EINVAL, "client_certificate_key: is missing; add it, or client_certificate_key_file");
	if (a->claims && a->claims[0] != '{')
		return error__set(err, -EINVAL, "claims: is not a map");
	return not_both(a->key.text, a->key.file, "client_certificate_key", err);
}

static int check_oauth2(const void *config, struct dcm_error *err)
{
	const struct dcm_http_oauth2 *o = config;

	if (!given(o->client_id))
		return error__set(err, -EINVAL, "client_id: is missing; add it");
	if (!given(o->token_url))
		return error__set(err, -EINVAL, "token_url: is missing; add it");
	if (strncmp(o->token_url, "unix:", 5) == 0 || !url__is_askable(o->token_url))
		return error__set(err, -EINVAL, "token_url: is not a URL; write https://HOST/PATH");
	if (o->grant == DCM_OAUTH2_JWT_BEARER)
		return check_assertion(&o->assertion, err);
	return not_both(o->client_secret.text, o->client_secret.file, "client_secret", err);
}

static const struct dcm_table oauth2 = TABLE(struct dcm_http_oauth2, oauth2_rows, check_oauth2);

/* ------------------------------------------------------------------------------------------------
 * Headers
 */

#define AT(member) offsetof(struct dcm_http_values, member)
static const struct dcm_option values_rows[] = {
	{ .name = "values",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = AT(values),
	  .doc = "Values that anybody may see." },
	{ .name = "secrets",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_SECRET,
	  .offset = AT(secrets),
	  .doc = "Values that are not shown." },
	{ .name = "files",
	  .type = DCM_OPT_LIST,
	  .element = DCM_OPT_STRING,
	  .offset = AT(files),
	  .flags = DCM_OPT_PATH,
	  .doc = "Files that hold a value each; read again when they change." },
};
#undef AT
static const struct dcm_table values = DCM_TABLE(struct dcm_http_values, values_rows);

/* Set by what asks, or by other options: the list of common/config, headers.go. */
static bool is_reserved(const char *name)
{
	static const char *const names[] = {
		"Authorization",
		"Host",
		"Content-Encoding",
		"Content-Length",
		"Content-Type",
		"User-Agent",
		"Connection",
		"Keep-Alive",
		"Proxy-Authenticate",
		"Proxy-Authorization",
		"Www-Authenticate",
		"Accept-Encoding",
		"X-Prometheus-Remote-Write-Version",
		"X-Prometheus-Remote-Read-Version",
		"X-Prometheus-Scrape-Timeout-Seconds",
		"X-Amz-Date",
		"X-Amz-Security-Token",
		"X-Amz-Content-Sha256",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcasecmp(names[i], name) == 0)
			return true;
	return false;
}

static bool are_values(const struct dcm_list *list)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (!shared_http__is_header_value(((const char *const *)list->items)[i]))
			return false;
	return true;
}

static int check_headers(const struct dcm_map *headers, struct dcm_error *err)
{
	const struct dcm_http_values *v = headers->items;

	for (uint32_t i = 0; i < headers->n; i++) {
		const char *name = headers->keys[i];

		if (!shared_http__is_header_name(name))
			return error__set(err, -EINVAL,
					  "http_headers: \"%.100s\" is not a header's name", name);
		if (is_reserved(name))
			return error__set(err, -EINVAL,
					  "http_headers: %s is not yours to set; take it away", name);
		if (!are_values(&v[i].values) || !are_values(&v[i].secrets))
			return error__set(err, -EINVAL,
					  "http_headers: %s has a value with control characters", name);
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * The whole
 */

#define AT(member) offsetof(struct dcm_http_options, member)
static const struct dcm_option option_rows[] = {
	{ .name = "basic_auth",
	  .type = DCM_OPT_STRUCT,
	  .table = &basic,
	  .offset = AT(basic),
	  .doc = "A user and a password, in the header Authorization." },
	{ .name = "authorization",
	  .type = DCM_OPT_STRUCT,
	  .table = &authorization,
	  .offset = AT(authorization),
	  .doc = "A token, in the header Authorization." },
	{ .name = "oauth2", .type = DCM_OPT_STRUCT, .table = &oauth2, .offset = AT(oauth2), .doc = "A token that is fetched from a server, by the flow \"client credentials\" or by a JWT, and kept until it expires." },
	{ .name = "bearer_token",
	  .type = DCM_OPT_SECRET,
	  .offset = AT(bearer.text),
	  .doc = "The old spelling of authorization." },
	{ .name = "bearer_token_file",
	  .type = DCM_OPT_STRING,
	  .offset = AT(bearer.file),
	  .flags = DCM_OPT_PATH,
	  .doc = "The old spelling of authorization with a file." },
	{ .name = "tls_config",
	  .type = DCM_OPT_STRUCT,
	  .table = &tls,
	  .offset = AT(tls),
	  .doc = "How servers of https:// are trusted, and how we show who we are." },
	{ .name = "", .type = DCM_OPT_STRUCT, .table = &proxy, .offset = AT(proxy) },
	{ .name = "follow_redirects", .type = DCM_OPT_BOOL, .offset = AT(follow_redirects), .def = "true", .doc = "Goes where the server points to, at most 10 times. Credentials stay with the first host." },
	{ .name = "enable_http2",
	  .type = DCM_OPT_BOOL,
	  .offset = AT(enable_http2),
	  .def = "true",
	  .doc = "Speaks HTTP/2 over TLS when the server does." },
	{ .name = "http_headers",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_STRUCT,
	  .table = &values,
	  .offset = AT(http_headers),
	  .doc = "Further headers of each request." },
};
#undef AT

static int beside(const char *key, const char *other, struct dcm_error *err)
{
	return error__set(err, -EINVAL, "%s: stands beside %s; keep one of the two", key, other);
}

static bool has_own_type(const struct dcm_http_authorization *a)
{
	return given(a->type) && strcasecmp(a->type, "Bearer") != 0;
}

/* Only one way to say who asks. */
static int check_auth(const struct dcm_http_options *o, struct dcm_error *err)
{
	const struct {
		const char *key;
		bool is_set;
	} ways[] = {
		{ "basic_auth", given(o->basic.username) || given(o->basic.username_file) ||
					is_set(&o->basic.password) },
		{ "authorization",
		  is_set(&o->authorization.credentials) || has_own_type(&o->authorization) },
		{ "oauth2", given(o->oauth2.client_id) },
		{ "bearer_token", given(o->bearer.text) },
		{ "bearer_token_file", given(o->bearer.file) },
	};
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (ways[i].is_set && first)
			return beside(ways[i].key, first, err);
		if (ways[i].is_set)
			first = ways[i].key;
	}
	return 0;
}

static int check_options(const void *config, struct dcm_error *err)
{
	const struct dcm_http_options *o = config;
	int r = check_auth(o, err);

	return r < 0 ? r : check_headers(&o->http_headers, err);
}

const struct dcm_table shared_http__options = TABLE(struct dcm_http_options, option_rows, check_options);

/* As the table's filling asks its parts. */
int shared_http__check(const struct dcm_http_options *o, struct dcm_error *err)
{
	const struct {
		const char *key;
		int (*check)(const void *config, struct dcm_error *err);
		const void *part;
		bool is_there;
	} parts[] = {
		{ "basic_auth", check_basic, &o->basic, true },
		{ "authorization", check_authorization, &o->authorization, true },
		{ "oauth2", check_oauth2, &o->oauth2, o->oauth2.client_id || o->oauth2.token_url },
		{ "oauth2.tls_config", check_tls, &o->oauth2.tls, true },
		{ "oauth2", check_proxy, &o->oauth2.proxy, true },
		{ "tls_config", check_tls, &o->tls, true },
		{ "", check_proxy, &o->proxy, true },
		{ "", check_options, o, true },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		int r = parts[i].is_there ? parts[i].check(parts[i].part, err) : 0;

		if (r < 0) {
			if (parts[i].key[0])
				error__prefix(err, "%s", parts[i].key);
			return r;
		}
	}
	return 0;
}
