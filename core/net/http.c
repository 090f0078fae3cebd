/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http.c - requests, responses, problems (RFC 9457), percent-decoding (RFC 3986)
 */
#include "core/net/http.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/str.h"

enum { MAX_PARAMS = 256 };

static struct dcm_str find(const struct dcm_field *fields, uint32_t n, const char *name)
{
	struct dcm_str key = str__of(name);

	for (uint32_t i = 0; i < n; i++)
		if (str__eq(fields[i].name, key))
			return fields[i].value;
	return (struct dcm_str){ NULL, 0 };
}

struct dcm_str http_request__param(const struct http_request *r, const char *name)
{
	return find(r->params, r->n_params, name);
}

struct dcm_str http_request__header(const struct http_request *r, const char *name)
{
	return find(r->headers, r->n_headers, name);
}

struct dcm_str http_request__path_param(const struct http_request *r, const char *name)
{
	return find(r->path_params, r->n_path_params, name);
}

/* The next of "a, b;q=0.5", without blanks around it; false at the end. */
static bool next_coding(struct dcm_str *list, struct dcm_str *ret)
{
	const char *comma;

	while (list->n && (list->p[0] == ' ' || list->p[0] == '\t' || list->p[0] == ',')) {
		list->p++;
		list->n--;
	}
	if (list->n == 0)
		return false;
	comma = memchr(list->p, ',', list->n);
	*ret = (struct dcm_str){ list->p, comma ? (uint32_t)(comma - list->p) : list->n };
	list->p += ret->n;
	list->n -= ret->n;
	return true;
}

/* "gzip;q=0.000" */
static bool is_unwanted(struct dcm_str parameters)
{
	const char *q = parameters.n ? memchr(parameters.p, '=', parameters.n) : NULL;

	if (!q)
		return false;
	for (q++; q < parameters.p + parameters.n; q++)
		if (*q >= '1' && *q <= '9')
			return false;
	return true;
}

bool http_request__takes_gzip(const struct http_request *r)
{
	struct dcm_str list = http_request__header(r, "accept-encoding"), coding;
	bool any = false;

	while (next_coding(&list, &coding)) {
		const char *semicolon = memchr(coding.p, ';', coding.n);
		uint32_t n = semicolon ? (uint32_t)(semicolon - coding.p) : coding.n;
		bool wanted = !is_unwanted((struct dcm_str){ coding.p + n, coding.n - n });

		while (n && (coding.p[n - 1] == ' ' || coding.p[n - 1] == '\t'))
			n--;
		if (n == 4 && strncasecmp(coding.p, "gzip", 4) == 0)
			return wanted;
		if (n == 1 && coding.p[0] == '*')
			any = wanted;
	}
	return any;
}

bool http_request__knows(const struct http_request *r, const char *tag)
{
	struct dcm_str list = http_request__header(r, "if-none-match"), want = str__of(tag);

	if (str__eq(list, STR("*")))
		return true;
	for (; list.n >= want.n && want.n; list.p++, list.n--)
		if (memcmp(list.p, want.p, want.n) == 0)
			return true;
	return false;
}

struct dcm_str http__decode(struct arena *a, struct dcm_str s, bool plus_is_space)
{
	const struct dcm_str bad = { NULL, 0 };
	char *out = arena__alloc(a, (size_t)s.n + 1);
	uint32_t n = 0;

	if (!out)
		return bad;
	for (uint32_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '+' && plus_is_space) {
			c = ' ';
		} else if (c == '%') {
			bool whole = s.n - i > 2;
			int hi = whole ? str__hex_digit(s.p[i + 1]) : -1;
			int lo = whole ? str__hex_digit(s.p[i + 2]) : -1;

			if (hi < 0 || lo < 0)
				return bad;
			c = (char)(hi * 16 + lo);
			i += 2;
		}
		if (c == '\0')
			return bad;
		out[n++] = c;
	}
	out[n] = '\0';
	return (struct dcm_str){ out, n };
}

/* "a=b" to a decoded pair. */
static int add_param(struct http_request *r, struct dcm_field *params, struct dcm_str part)
{
	const char *eq = memchr(part.p, '=', part.n);
	uint32_t name_n = eq ? (uint32_t)(eq - part.p) : part.n;
	struct dcm_field *f = &params[r->n_params];

	f->name = http__decode(r->arena, (struct dcm_str){ part.p, name_n }, true);
	f->value = eq ? http__decode(r->arena, (struct dcm_str){ eq + 1, part.n - name_n - 1 }, true)
		      : STR("");
	if (!f->name.p || !f->value.p)
		return -EINVAL;
	r->n_params++;
	return 0;
}

/*
 * RFC 9112 3.2.2: "http://AUTHORITY/path" becomes "/path", "http://AUTHORITY" "/". False for an
 * empty authority, and for one with a user in it (RFC 9110 4.2.4).
 */
static bool cut_authority(struct http_request *r, struct dcm_str *target)
{
	static const struct dcm_str schemes[] = { STR("http://"), STR("https://") };
	uint32_t n = 0;

	for (size_t i = 0; i < 2 && n == 0; i++)
		if (target->n >= schemes[i].n && strncasecmp(target->p, schemes[i].p, schemes[i].n) == 0)
			n = schemes[i].n;
	r->authority = (struct dcm_str){ NULL, 0 };
	if (n == 0)
		return true;
	*target = (struct dcm_str){ target->p + n, target->n - n };
	for (n = 0; n < target->n && target->p[n] != '/' && target->p[n] != '?';)
		n++;
	r->authority = (struct dcm_str){ target->p, n };
	*target = (struct dcm_str){ target->p + n, target->n - n };
	return n > 0 && !memchr(r->authority.p, '@', n);
}

int http_request__set_target(struct http_request *r, struct dcm_str target)
{
	if (!cut_authority(r, &target))
		return -EINVAL;
	const char *mark = memchr(target.p, '?', target.n), *at, *end = target.p + target.n;
	struct dcm_field *params;

	r->path = (struct dcm_str){ target.p, mark ? (uint32_t)(mark - target.p) : target.n };
	r->query = mark ? (struct dcm_str){ mark, (uint32_t)(end - mark) } : STR("");
	r->params = NULL;
	r->n_params = 0;
	if (r->path.n == 0 && r->authority.n > 0)
		r->path = STR("/");
	if (r->path.n == 0 || r->path.p[0] != '/')
		return -EINVAL;
	if (!mark)
		return 0;
	params = arena__zalloc(r->arena, MAX_PARAMS, sizeof(*params));
	if (!params)
		return -ENOMEM;
	r->params = params;
	for (at = mark + 1; at < end;) {
		const char *amp = memchr(at, '&', (size_t)(end - at));
		const char *stop = amp ? amp : end;
		int err = 0;

		if (r->n_params == MAX_PARAMS)
			return -EINVAL;
		if (stop > at)
			err = add_param(r, params, (struct dcm_str){ at, (uint32_t)(stop - at) });
		if (err < 0)
			return err;
		at = stop + 1;
	}
	return 0;
}

void http_response__fini(struct http_response *r)
{
	buf__fini(&r->detail);
	buf__fini(&r->body);
	buf__fini(&r->headers);
}

void http_response__header(struct http_response *r, const char *name, const char *fmt, ...)
{
	va_list ap;

	buf__printf(&r->headers, "%s: ", name);
	va_start(ap, fmt);
	buf__vprintf(&r->headers, fmt, ap);
	va_end(ap);
	buf__text(&r->headers, "\r\n");
}

static void put_address(struct dcm_str s, struct buf *out)
{
	for (uint32_t i = 0; i < s.n; i++)
		if (s.p[i] > ' ' && s.p[i] < 0x7f)
			buf__byte(out, (uint8_t)s.p[i]);
		else
			buf__printf(out, "%%%02X", (unsigned char)s.p[i]);
}

void http_response__lead_to(struct http_response *r, const char *before, struct dcm_str place,
			    struct dcm_str query)
{
	r->status = 308;
	http_response__header(r, "Cache-Control", "no-cache");
	buf__printf(&r->headers, "Location: %s", before);
	put_address(place, &r->headers);
	put_address(query, &r->headers);
	buf__text(&r->headers, "\r\n");
}

struct dcm_str http_response__find(const struct http_response *r, const char *name)
{
	const size_t n = strlen(name);
	const char *p, *end;

	if (r->headers.n == 0) /* no memory either, and nothing may be added to NULL */
		return STR("");
	p = (const char *)r->headers.data;
	end = p + r->headers.n;
	while (p < end) {
		const char *line_end = memchr(p, '\r', (size_t)(end - p));

		if (!line_end)
			break;
		if ((size_t)(line_end - p) >= n + 2 && strncasecmp(p, name, n) == 0 && p[n] == ':')
			return (struct dcm_str){ p + n + 2, (uint32_t)(line_end - p - (ptrdiff_t)n - 2) };
		p = line_end + 2;
	}
	return STR("");
}

static const char *reason_of(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = { { 400, "Bad Request" },
			{ 401, "Unauthorized" },
			{ 403, "Forbidden" },
			{ 404, "Not Found" },
			{ 405, "Method Not Allowed" },
			{ 408, "Request Timeout" },
			{ 409, "Conflict" },
			{ 412, "Precondition Failed" },
			{ 413, "Content Too Large" },
			{ 415, "Unsupported Media Type" },
			{ 421, "Misdirected Request" },
			{ 422, "Unprocessable Content" },
			{ 429, "Too Many Requests" },
			{ 499, "Client Closed Request" },
			{ 501, "Not Implemented" },
			{ 503, "Service Unavailable" },
			{ 504, "Gateway Timeout" },
			{ 507, "Insufficient Storage" } };

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Internal Server Error";
}

void http_response__vproblem(struct http_response *r, int status, const char *fmt, va_list ap)
{
	char detail[1024];

	vsnprintf(detail, sizeof(detail), fmt, ap);
	detail[str__utf8_cut(detail, strlen(detail))] = '\0';
	r->status = status;
	snprintf(r->content_type, sizeof(r->content_type), "application/problem+json");
	buf__fini(&r->detail);
	buf__text(&r->detail, detail);
	buf__fini(&r->body);
	buf__printf(&r->body, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"detail\":",
		    reason_of(status), status);
	buf__json(&r->body, str__of(detail));
	buf__text(&r->body, "}\n");
}

void http_response__problem(struct http_response *r, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	http_response__vproblem(r, status, fmt, ap);
	va_end(ap);
}

int http__status_of(int error)
{
	switch (-error) {
	case EINVAL:
	case EBADMSG:
	case EILSEQ:
		return 400;
	case EACCES:
	case EPERM:
		return 403;
	case ENOENT:
		return 404;
	case EEXIST:
	case EBUSY:
		return 409;
	case EFBIG:
		return 413;
	case E2BIG:
		return 422;
	case ECANCELED:
		return 499;
	case ENOTSUP:
		return 501;
	case EAGAIN:
	case ENOSPC:
	case ENOMEM:
	case ESHUTDOWN:
		return 503;
	case ETIMEDOUT:
		return 504;
	default:
		return 500;
	}
}
