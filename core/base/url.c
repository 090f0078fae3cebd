/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/url.c - is a text the address of something that our HTTP client can ask? And parts of one
 *
 * Source: RFC 3986 section 3, as far as http needs it.
 */
#include "core/base/url.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/str.h"

static bool is_port(const char *s, size_t n)
{
	unsigned port = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || port > 65535)
			return false;
		port = 10 * port + (unsigned)(s[i] - '0');
	}
	return port >= 1 && port <= 65535;
}

/* "[IPV6]": its length with the brackets; 0: none. */
static size_t ipv6_length(const char *s, size_t n)
{
	const char *end = memchr(s, ']', n);
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (!end || snprintf(text, sizeof(text), "%.*s", (int)(end - s - 1), s + 1) >= (int)sizeof(text))
		return 0;
	return inet_pton(AF_INET6, text, &address) == 1 ? (size_t)(end - s) + 1 : 0;
}

struct dcm_str url__without_query(struct dcm_str url)
{
	const char *query = url.n ? memchr(url.p, '?', url.n) : NULL;

	return (struct dcm_str){ url.p, query ? (uint32_t)(query - url.p) : url.n };
}

const char *url__shown(const char *url, char *to, size_t n)
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme ? scheme + 3 : url;
	const char *at = memrchr(host, '@', strcspn(host, "/?#"));
	size_t n_scheme = (size_t)(host - url), n_rest;

	host = at ? at + 1 : host;
	n_rest = strcspn(host, "?#");
	n_scheme = str__utf8_cut(url, n_scheme < n ? n_scheme : n - 1);
	memcpy(to, url, n_scheme);
	n -= n_scheme;
	n_rest = n_rest < n ? n_rest : str__utf8_cut(host, n - 1);
	memcpy(to + n_scheme, host, n_rest);
	to[n_scheme + n_rest] = '\0';
	return to;
}

struct dcm_str url__folder(struct dcm_str url)
{
	struct dcm_str path = url__without_query(url);
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;

	/* Of "http://host" it is the scheme's. */
	if (!slash || slash == path.p || slash[-1] == '/')
		return STR("");
	return (struct dcm_str){ path.p, (uint32_t)(slash + 1 - path.p) };
}

size_t url__name_length(const char *s)
{
	return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_");
}

/* Of [n] bytes: NAME, NAME:PORT, [IPV6] or [IPV6]:PORT. */
static bool is_host(const char *s, size_t n)
{
	size_t name = n > 0 && s[0] == '[' ? ipv6_length(s, n) : url__name_length(s);

	if (name == 0 || name > n)
		return false;
	return name == n || (s[name] == ':' && is_port(s + name + 1, n - name - 1));
}

bool url__is_askable(const char *url)
{
	const char *rest, *at;

	for (const char *c = url; *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return false;
	if (strncmp(url, "unix:/", 6) == 0) {
		rest = strchr(url + 6, ':');
		return rest && rest > url + 6 && (rest[1] == '/' || rest[1] == '\0');
	}
	if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
		return false;
	rest = strchr(url, '/') + 2;
	size_t n = strcspn(rest, "/?#");
	at = memchr(rest, '@', n);
	if (at) {
		n -= (size_t)(at + 1 - rest);
		rest = at + 1;
	}
	return is_host(rest, n);
}

void url__escape(struct buf *b, struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    c == '-' || c == '.' || c == '_' || c == '~')
			buf__byte(b, c);
		else
			buf__printf(b, "%%%02X", c);
	}
}

void url__unescape(struct buf *b, struct dcm_str s)
{
	for (uint32_t i = 0; i < s.n; i++) {
		int high = s.p[i] == '%' && i + 2 < s.n ? str__hex_digit(s.p[i + 1]) : -1;
		int low = high >= 0 ? str__hex_digit(s.p[i + 2]) : -1;

		buf__byte(b, (uint8_t)(low >= 0 ? high << 4 | low : s.p[i]));
		i += low >= 0 ? 2 : 0;
	}
}

bool url__is_base(const char *base)
{
	struct buf b = { 0 };
	bool is_base;

	buf__printf(&b, "%s/", base);
	buf__byte(&b, '\0');
	is_base = !b.error && url__is_askable((const char *)b.data);
	buf__fini(&b);
	return is_base;
}

bool url__is_http(const char *url)
{
	return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}
