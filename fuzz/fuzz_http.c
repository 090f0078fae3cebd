/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_http.c - requests from anyone: target, headers, roles, and every parameter of /api/v1
 *
 * The input is a request's head: "METHOD TARGET", then header lines. It goes through access, routes
 * and the real handlers, over a store that is empty. Whatever comes, there is an answer with a
 * status, and errors are JSON.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/api.h"
#include "core/base/str.h"
#include "core/net/access.h"
#include "core/plugin/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_HEADERS = 32, MAX_INPUT = 8192 };

static int no_types(void *i, const struct dcm_select *s, dcm_type_fn f, void *c, struct dcm_error *e)
{
	(void)i, (void)s, (void)f, (void)c, (void)e;
	return 0;
}
static int no_names(void *i, const struct dcm_select *s, dcm_name_fn f, void *c, struct dcm_error *e)
{
	(void)i, (void)s, (void)f, (void)c, (void)e;
	return 0;
}
static int no_values(void *i, const struct dcm_select *s, struct dcm_str n, dcm_name_fn f, void *c,
		     struct dcm_error *e)
{
	(void)i, (void)s, (void)n, (void)f, (void)c, (void)e;
	return 0;
}
static int no_points(void *i, const struct dcm_select *s, int64_t step,
		     const struct dcm_group_by *by, dcm_points_fn f, void *c, struct dcm_error *e)
{
	(void)i, (void)s, (void)step, (void)by, (void)f, (void)c, (void)e;
	return 0;
}
static int no_rows(void *i, const struct dcm_select *s, uint32_t n, const struct dcm_group_by *by,
		   const struct dcm_host *h, struct dcm_builder *b, struct dcm_error *e)
{
	(void)i, (void)s, (void)n, (void)by, (void)h, (void)b, (void)e;
	return 0;
}

static void no_stat(void *i, struct dcm_store_stat *ret)
{
	(void)i, (void)ret;
}

static const struct dcm_storage_ops empty_store = { .size = sizeof(empty_store),
						    .types = no_types,
						    .labels = no_names,
						    .values = no_values,
						    .time_series = no_points,
						    .merge = no_rows,
						    .stat = no_stat };

static struct engine *engine;

static struct engine *engine_of(void *ctx)
{
	(void)ctx;
	return engine;
}

static int encode(void *ctx, const struct dcm_batch *batch, const char *format, struct buf *out,
		  struct dcm_error *err)
{
	(void)ctx, (void)batch, (void)format, (void)err;
	buf__text(out, "encoded");
	return 0;
}

static struct http_routes *make_routes(void)
{
	static const struct host_services services = { .node = "fuzz" };
	struct http_routes *routes = http_routes__new();
	struct dcm_host *host = NULL;
	struct api *api = NULL;

	if (!routes || host__new("fuzz", &services, &host, NULL) < 0 ||
	    engine__new(&(struct engine_config){ .host = host, .ops = &empty_store, .instance = host },
			&engine, NULL) < 0 ||
	    api__new(&(struct api_config){ .node = "fuzz", .engine = engine_of, .encode = encode },
		     &api, NULL) < 0 ||
	    api__add_routes(api, routes, NULL) < 0)
		abort();
	return routes;
}

/* Cuts a line off the text, without its end. */
static struct dcm_str cut_line(struct dcm_str *text)
{
	const char *end = text->n ? memchr(text->p, '\n', text->n) : NULL;
	struct dcm_str line = { text->p, end ? (uint32_t)(end - text->p) : text->n };

	text->p += line.n + (end ? 1 : 0);
	text->n -= line.n + (end ? 1 : 0);
	return line;
}

static void read_headers(struct http_request *req, struct dcm_field *fields, struct dcm_str text)
{
	req->headers = fields;
	while (text.n > 0 && req->n_headers < MAX_HEADERS) {
		struct dcm_str line = cut_line(&text);
		const char *colon = line.n ? memchr(line.p, ':', line.n) : NULL;

		if (!colon)
			continue;
		fields[req->n_headers++] =
			(struct dcm_field){ { line.p, (uint32_t)(colon - line.p) },
					    { colon + 1, (uint32_t)(line.p + line.n - colon - 1) } };
	}
}

static enum http_method method_of(struct dcm_str line)
{
	return line.n == 0 ? HTTP_GET
			   : (enum http_method)((unsigned char)line.p[0] % (HTTP_OPTIONS + 1));
}

static void check_answer(const struct http_response *resp)
{
	json_t *problem;

	if (resp->status < 200 || resp->status > 599)
		abort();
	if (resp->status < 400)
		return;
	problem = json_loadb((const char *)resp->body.data, resp->body.n, 0, NULL);
	if (!problem || json_integer_value(json_object_get(problem, "status")) != resp->status)
		abort();
	json_decref(problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct access_token tokens[] = { { .token = "secret", .role = HTTP_ROLE_ADMIN } };
	static const struct access_group groups[] = { { STR("sre"), HTTP_ROLE_ADMIN } };
	static const struct network everywhere = { .n_bits = 0 };
	static const struct access_rules rules = { .tokens = tokens,
						   .n_tokens = 1,
						   .proxies = { .from = &everywhere,
								.n_from = 1,
								.user_header = "x-forwarded-user",
								.groups_header = "remote-groups",
								.role = HTTP_ROLE_READ,
								.groups = groups,
								.n_groups = 1 },
						   .anonymous = HTTP_ROLE_WRITE };
	static struct http_routes *routes;
	struct dcm_str text = { (const char *)data, (uint32_t)size }, line;
	struct dcm_field fields[MAX_HEADERS];
	struct dcm_budget budget = { 0 };
	struct arena arena = { 0 };
	struct http_request req = { .arena = &arena, .budget = &budget };
	struct http_response resp = { .status = 200 };
	const char *space;

	if (size > MAX_INPUT)
		return 0;
	if (!routes)
		routes = make_routes();
	line = cut_line(&text);
	req.method = method_of(line);
	space = line.n ? memchr(line.p, ' ', line.n) : NULL;
	read_headers(&req, fields, text);
	if (space &&
	    http_request__set_target(
		    &req, (struct dcm_str){ space + 1, (uint32_t)(line.p + line.n - space - 1) }) == 0 &&
	    access__check(&rules, &(struct access_peer){ .is_unix = size % 2 == 0, .uid = (uint32_t)size },
			  &req, &resp))
		http_routes__dispatch(routes, &req, &resp);
	check_answer(&resp);
	http_response__fini(&resp);
	arena__fini(&arena);
	return 0;
}
