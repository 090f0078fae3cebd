/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/net/http_routes.c - which handler answers which path
 *
 * A few dozen rows, matched one after the other, segment by segment on the encoded path, so that an
 * encoded slash in a label's name stays inside its segment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/config/suggest.h"
#include "core/net/endpoints.h"
#include "core/net/http.h"
#include "core/net/pages.h"

enum { MAX_PATH_PARAMS = 4 };

struct http_routes {
	VEC(struct http_route) rows;
	struct pages *pages;
	struct http_route page; /* what answers from them */
	struct endpoints *endpoints;
};

static const char *const method_names[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS" };

struct http_routes *http_routes__new(void)
{
	return NEW(struct http_routes);
}

void http_routes__free(struct http_routes *r)
{
	if (!r)
		return;
	vec__fini(&r->rows);
	free(r);
}

int http_routes__add(struct http_routes *r, const struct http_route *route)
{
	for (size_t i = 0; i < r->rows.n; i++)
		if (r->rows.v[i].method == route->method &&
		    strcmp(r->rows.v[i].pattern, route->pattern) == 0)
			return -EEXIST;
	return vec__push(&r->rows, *route) ? 0 : -ENOMEM;
}

static void answer_page(void *ctx, const struct http_request *req, struct http_response *resp)
{
	pages__answer(ctx, req, resp);
}

/* They are for everybody: who has no token yet must see where to put it. */
void http_routes__set_pages(struct http_routes *r, struct pages *pages)
{
	r->pages = pages;
	r->page = (struct http_route){ .pattern = "/", .handler = answer_page, .ctx = pages, .quick = true };
}

void http_routes__set_endpoints(struct http_routes *r, struct endpoints *endpoints)
{
	r->endpoints = endpoints;
	endpoints__set_routes(endpoints, r);
}

const struct http_route *http_routes__at(const struct http_routes *r, size_t i, bool *ret_end)
{
	*ret_end = false;
	if (i < r->rows.n)
		return &r->rows.v[i];
	if (r->endpoints)
		return endpoints__at(r->endpoints, (uint32_t)(i - r->rows.n), ret_end);
	*ret_end = true;
	return NULL;
}

/* Cuts the first segment (between slashes) off *rest; false at the end. */
static bool next_segment(struct dcm_str *rest, struct dcm_str *ret)
{
	const char *slash;

	if (rest->n == 0 || rest->p[0] != '/')
		return false;
	rest->p++;
	rest->n--;
	slash = rest->n ? memchr(rest->p, '/', rest->n) : NULL;
	*ret = (struct dcm_str){ rest->p, slash ? (uint32_t)(slash - rest->p) : rest->n };
	rest->p += ret->n;
	rest->n -= ret->n;
	return true;
}

/* True when the path fits; what {NAME}s stood for (still encoded) goes to [*ret_n] params. */
static bool fits(const char *pattern, struct dcm_str path, struct dcm_field *params, uint32_t *ret_n)
{
	struct dcm_str want = str__of(pattern), w, p;

	*ret_n = 0;
	for (;;) {
		bool more_w = next_segment(&want, &w), more_p = next_segment(&path, &p);

		if (more_w != more_p)
			return false;
		if (!more_w)
			return path.n == 0;
		if (w.n > 2 && w.p[0] == '{') {
			if (p.n == 0 || *ret_n == MAX_PATH_PARAMS)
				return false;
			params[(*ret_n)++] = (struct dcm_field){ { w.p + 1, w.n - 2 }, p };
		} else if (!str__eq(w, p)) {
			return false;
		}
	}
}

static bool answers(const struct http_route *row, enum http_method method)
{
	return row->method == method || (row->method == HTTP_GET && method == HTTP_HEAD);
}

/* The row for method and path; NULL, and whether the path alone fits some row. */
static const struct http_route *find(const struct http_routes *r, enum http_method method,
				     struct dcm_str path, struct dcm_field *params, uint32_t *ret_n,
				     bool *ret_path_known)
{
	bool end = false;

	*ret_path_known = false;
	for (size_t i = 0; !end; i++) {
		const struct http_route *row = http_routes__at(r, i, &end);

		if (!row || !fits(row->pattern, path, params, ret_n))
			continue;
		*ret_path_known = true;
		if (answers(row, method))
			return row;
	}
	if (!*ret_path_known && r->pages && answers(&r->page, method) && pages__have(r->pages, path)) {
		*ret_n = 0;
		return &r->page;
	}
	return NULL;
}

bool http_routes__have(const struct http_routes *r, enum http_method method, struct dcm_str path)
{
	struct dcm_field params[MAX_PATH_PARAMS];
	uint32_t n;

	for (size_t i = 0; i < r->rows.n; i++)
		if (answers(&r->rows.v[i], method) && fits(r->rows.v[i].pattern, path, params, &n))
			return true;
	return false;
}

const struct http_route *http_routes__find(const struct http_routes *r, enum http_method method,
					   struct dcm_str path)
{
	struct dcm_field params[MAX_PATH_PARAMS];
	uint32_t n;
	bool known;

	return find(r, method, path, params, &n, &known);
}

/* HEAD is answered wherever GET is: answers(). */
static void put_method(struct buf *allow, enum http_method method)
{
	buf__printf(allow, "%s%s", allow->n ? ", " : "", method_names[method]);
	if (method == HTTP_GET)
		buf__text(allow, ", HEAD");
}

static void refuse_method(const struct http_routes *r, struct http_request *req,
			  struct http_response *resp)
{
	struct dcm_field params[MAX_PATH_PARAMS];
	struct buf allow = { 0 };
	bool end = false;
	uint32_t n;

	for (size_t i = 0; !end; i++) {
		const struct http_route *row = http_routes__at(r, i, &end);

		if (row && fits(row->pattern, req->path, params, &n))
			put_method(&allow, row->method);
	}
	http_response__header(resp, "Allow", "%s", allow.n ? (const char *)allow.data : "");
	http_response__problem(resp, 405, "%.*s does not answer %s; it answers %s",
			       STR_ARG(req->path), method_names[req->method],
			       allow.n ? (const char *)allow.data : "nothing");
	buf__fini(&allow);
}

static void refuse_role(const struct http_route *row, const struct http_request *req,
			struct http_response *resp)
{
	static const char *const roles[] = { "none", "read", "write", "admin" };

	if (req->role == HTTP_ROLE_NONE) {
		http_response__header(resp, "WWW-Authenticate", "Bearer");
		http_response__problem(
			resp, 401, "%.*s needs a token with the role %s: send Authorization: Bearer TOKEN",
			STR_ARG(req->path), roles[row->role]);
	} else {
		http_response__problem(resp, 403,
				       "%.*s needs the role %s and the caller has %s; use a token "
				       "of that role (server.tokens), or "
				       "the unix socket as root or the daemon's user",
				       STR_ARG(req->path), roles[row->role], roles[req->role]);
	}
}

static bool may_repeat(const struct http_route *row, struct dcm_str name)
{
	for (const char *const *p = row->repeats; p && *p; p++)
		if (str__eq(name, str__of(*p)))
			return true;
	return false;
}

/* Has parameter i come before, where one of the two would go unread? */
static bool comes_again(const struct http_route *row, const struct http_request *req, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (str__eq(req->params[k].name, req->params[i].name))
			return !may_repeat(row, req->params[i].name);
	return false;
}

/* A parameter that nobody reads was meant to change the answer: false, and it is refused. */
static bool takes_params(const struct http_route *row, const struct http_request *req,
			 struct http_response *resp)
{
	char hint[128];

	for (uint32_t i = 0; row->params && i < req->n_params; i++) {
		struct suggest nearest = suggest__begin(req->params[i].name);
		const char *const *name = row->params;

		for (; *name && !str__eq(req->params[i].name, str__of(*name)); name++)
			suggest__offer(&nearest, *name);
		if (*name && comes_again(row, req, i)) {
			http_response__problem(
				resp, 400, "%.*s: comes twice, and one counts; leave out the other",
				STR_ARG(req->params[i].name));
			return false;
		}
		if (*name)
			continue;
		http_response__problem(resp, 400, "\"%.*s\" is no parameter of %s%s",
				       STR_ARG(req->params[i].name), row->pattern,
				       suggest__text(&nearest, hint));
		return false;
	}
	return true;
}

/* http_routes__admit(), with what {NAME}s stood for, still encoded: [req->n_path_params]. */
static const struct http_route *admit(const struct http_routes *r, struct http_request *req,
				      struct dcm_field *params, struct http_response *resp)
{
	bool path_known;
	const struct http_route *row = find(r, req->method, req->path, params, &req->n_path_params,
					    &path_known);

	if (!row && path_known)
		refuse_method(r, req, resp);
	else if (!row)
		http_response__problem(resp, 404, "there is nothing at %.*s; /api/v1 lists what there is",
				       STR_ARG(req->path));
	else if (req->role < row->role)
		refuse_role(row, req, resp);
	else if (row->streams && !req->talk)
		http_response__problem(
			resp, 501, "%s is a stream of messages, which needs gRPC over HTTP/2: application/grpc",
			row->pattern);
	else if (takes_params(row, req, resp))
		return row;
	return NULL;
}

const struct http_route *http_routes__admit(const struct http_routes *r, struct http_request *req,
					    struct http_response *resp)
{
	struct dcm_field params[MAX_PATH_PARAMS];
	const struct http_route *row = admit(r, req, params, resp);

	req->n_path_params = 0;
	return row;
}

void http_routes__dispatch(const struct http_routes *r, struct http_request *req,
			   struct http_response *resp)
{
	struct dcm_field params[MAX_PATH_PARAMS];
	const struct http_route *row = admit(r, req, params, resp);

	if (!row)
		return;
	for (uint32_t i = 0; i < req->n_path_params; i++) {
		params[i].value = http__decode(req->arena, params[i].value, false);
		if (!params[i].value.p) {
			http_response__problem(resp, 400, "%.*s has a bad %%-escape", STR_ARG(req->path));
			return;
		}
	}
	req->path_params = params;
	row->handler(row->ctx, req, resp);
	req->path_params = NULL;
	req->n_path_params = 0;
	if (resp->body.error == -EFBIG)
		http_response__problem(
			resp, 422,
			"the answer is larger than %zu bytes; ask for a shorter range, "
			"fewer rows or groups, or raise server.query_memory",
			resp->body.limit);
	else if (resp->body.error)
		http_response__problem(
			resp, 503, "no memory for the answer; try again later, or narrow the question");
}
