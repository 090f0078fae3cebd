/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/cors.c - an origin on a list, and what its pages may send and see
 */
#include "core/net/cors.h"

#include <string.h>

#include "core/base/str.h"

/* As long as a browser keeps an answer to a preflight, it is not asked again: reloads are rare. */
enum { PREFLIGHT_S = 600 };

bool cors__is_origin(const char *text)
{
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	size_t n = strspn(text, lower), port;

	if (n == 0 || strncmp(text + n, "://", 3) != 0)
		return false;
	text += n + 3;
	n = strcspn(text, ":/");
	if (text[0] == '[')
		n = strspn(text + 1, "0123456789abcdef:.") + 2;
	else if (strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-_") < n)
		return false;
	if (n == 0 || (text[0] == '[' && (n < 4 || strnlen(text, n) < n || text[n - 1] != ']')))
		return false;
	if (text[n] != ':')
		return text[n] == '\0';
	port = strspn(text + n + 1, "0123456789");
	return port > 0 && port <= 5 && text[n + 1 + port] == '\0';
}

/* Beyond what needs no asking. Of others the preflight says nothing, and the browser does not send them. */
static bool may_send(struct dcm_str name)
{
	static const char *const names[] = {
		"authorization",      "connect-protocol-version",
		"connect-timeout-ms", "content-encoding",
		"content-type",	      "grpc-timeout",
		"if-none-match",      "otlp-profiles-development-version",
		"x-grpc-web",	      "x-query-id",
		"x-user-agent"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (str__eq(name, str__of(names[i])))
			return true;
	return false;
}

/* The browser's list, "a,b", in lower case, as far as it may be sent. */
static void allow_headers(struct dcm_str list, struct http_response *resp)
{
	struct buf allowed = { 0 };

	while (list.n > 0) {
		const char *comma = memchr(list.p, ',', list.n);
		struct dcm_str name = { list.p, comma ? (uint32_t)(comma - list.p) : list.n };
		uint32_t step = name.n + (comma ? 1 : 0);

		list = (struct dcm_str){ list.p + step, list.n - step };
		for (; name.n > 0 && name.p[0] == ' '; name.n--)
			name.p++;
		if (may_send(name))
			buf__printf(&allowed, "%s%.*s", allowed.n ? ", " : "", STR_ARG(name));
	}
	if (allowed.n > 0)
		http_response__header(resp, "Access-Control-Allow-Headers", "%.*s",
				      STR_ARG(buf__view(&allowed)));
	buf__fini(&allowed);
}

/* The method that is asked for, where the path answers it: GET, HEAD and POST need no saying, and no more is there. */
static void allow_method(const struct http_routes *routes, const struct http_request *req,
			 struct dcm_str method, struct http_response *resp)
{
	if (str__eq(method, STR("DELETE")) && http_routes__find(routes, HTTP_DELETE, req->path))
		http_response__header(resp, "Access-Control-Allow-Methods", "DELETE");
}

bool cors__answers(const struct access_rules *rules, const struct http_routes *routes,
		   const struct http_request *req, struct http_response *resp)
{
	struct dcm_str origin = http_request__header(req, "origin");
	struct dcm_str method = http_request__header(req, "access-control-request-method");

	if (rules->n_origins == 0)
		return false;
	/* Also where there is none: caches are between us and many. */
	http_response__header(resp, "Vary", "Origin");
	if (!access__lists_origin(rules, origin))
		return false;
	http_response__header(resp, "Access-Control-Allow-Origin", "%.*s", STR_ARG(origin));
	if (req->method != HTTP_OPTIONS || !method.p) {
		http_response__header(resp, "Access-Control-Expose-Headers",
				      "Content-Disposition, ETag, Retry-After, WWW-Authenticate");
		return false;
	}
	allow_method(routes, req, method, resp);
	allow_headers(http_request__header(req, "access-control-request-headers"), resp);
	http_response__header(resp, "Access-Control-Max-Age", "%d", PREFLIGHT_S);
	resp->status = 204;
	return true;
}
