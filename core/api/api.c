/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/api.c - the table of routes, and the questions that are under way
 */
#include "core/api/api.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/descriptors.h"
#include "core/api/internal.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"

/* Parameters of several rows. `width` bounds a text, also one that has never more columns. */
#define PARAMS(...)	  ((const char *const[]){ __VA_ARGS__, NULL })
#define RANGE		  "from", "to"
#define FILTERS		  "focus", "hide", "hide_stacks", "only_stacks"
#define TEXT		  "format", "width"
#define FORM		  "group", "group_by", "inv", "max_rows", RANGE, FILTERS, TEXT
#define TREE_PARAMS	  "max_nodes", "under", FORM
#define LIST_PARAMS	  PARAMS("match", RANGE, TEXT)
#define DEBUGINFO_SERVICE "/parca.debuginfo.v1alpha1.DebuginfoService/"
#define NAME_FIELDS	  "limit", "match", "prefix", RANGE, TEXT
#define NAME_PARAMS	  PARAMS(NAME_FIELDS)

/* Of those that take FILTERS. */
static const char *const filters[] = { FILTERS, NULL };
/* The same of those that take TREE_PARAMS. */
static const char *const of_trees[] = { "under", FILTERS, NULL };

#define DESCRIPTORS(array)                                                                         \
	{                                                                                          \
		(const char *)(array), sizeof(array)                                               \
	}
#define REFLECTION(version, array)                                                                 \
	{                                                                                          \
		.method = HTTP_POST,                                                               \
		.pattern = "/grpc.reflection." version ".ServerReflection/ServerReflectionInfo",   \
		.role = HTTP_ROLE_READ, .handler = api__reflection, .quick = true, .grpc = true,   \
		.streams = HTTP_TALKS, .max_body = 4096, .descriptors = DESCRIPTORS(array),        \
		.doc = "which methods of gRPC there are, and their messages"                       \
	}

/* What probes and scrapers ask may have any: they add their own. */
static const struct http_route routes_table[] = {
	{ .pattern = "/api/v1/types",
	  .role = HTTP_ROLE_READ,
	  .handler = api__types,
	  .params = LIST_PARAMS,
	  .doc = "profile types" },
	{ .pattern = "/api/v1/labels",
	  .role = HTTP_ROLE_READ,
	  .handler = api__labels,
	  .params = NAME_PARAMS,
	  .doc = "label names" },
	{ .pattern = "/api/v1/labels/{name}/values",
	  .role = HTTP_ROLE_READ,
	  .handler = api__values,
	  .params = NAME_PARAMS,
	  .doc = "values of a label" },
	{ .pattern = "/api/v1/values",
	  .role = HTTP_ROLE_READ,
	  .handler = api__values,
	  .params = PARAMS("label", NAME_FIELDS),
	  .doc = "the same, of any label: clients make something else of a path with . or .. in "
		 "it" },
	{ .pattern = "/api/v1/series",
	  .role = HTTP_ROLE_READ,
	  .handler = api__series,
	  .params = PARAMS("q", "step", "sum_by", "top", RANGE, TEXT),
	  .doc = "totals over time" },
	{ .pattern = "/api/v1/flame",
	  .role = HTTP_ROLE_READ,
	  .handler = api__flame,
	  .params = PARAMS("q", TREE_PARAMS),
	  .repeats = of_trees,
	  .doc = "call tree" },
	{ .pattern = "/api/v1/diff",
	  .role = HTTP_ROLE_READ,
	  .handler = api__diff,
	  .params = PARAMS("a_q", "b_q", "a_from", "a_to", "b_from", "b_to", "report", "sort", TREE_PARAMS),
	  .repeats = of_trees,
	  .doc = "call tree or functions of two selections" },
	{ .pattern = "/api/v1/callers",
	  .role = HTTP_ROLE_READ,
	  .handler = api__callers,
	  .params = PARAMS("q", "function", TREE_PARAMS),
	  .repeats = of_trees,
	  .doc = "callers of a function" },
	{ .pattern = "/api/v1/callees",
	  .role = HTTP_ROLE_READ,
	  .handler = api__callees,
	  .params = PARAMS("q", "function", TREE_PARAMS),
	  .repeats = of_trees,
	  .doc = "callees of a function" },
	{ .pattern = "/api/v1/functions",
	  .role = HTTP_ROLE_READ,
	  .handler = api__functions,
	  .params = PARAMS("q", "sort", FORM),
	  .repeats = filters,
	  .doc = "self and total per function" },
	{ .pattern = "/api/v1/export",
	  .role = HTTP_ROLE_READ,
	  .handler = api__export,
	  .params = PARAMS("q", "format", "group_by", RANGE, FILTERS),
	  .repeats = filters,
	  .doc = "merged profile as a file" },
	{ .pattern = "/api/v1/targets",
	  .role = HTTP_ROLE_READ,
	  .handler = api__targets,
	  .params = PARAMS(TEXT),
	  .quick = true,
	  .doc = "what is collected" },
	{ .pattern = "/api/v1/pipeline",
	  .role = HTTP_ROLE_READ,
	  .handler = api__pipeline,
	  .params = PARAMS(TEXT),
	  .quick = true,
	  .doc = "instances, queues, losses" },
	{ .pattern = "/api/v1/log",
	  .role = HTTP_ROLE_READ,
	  .handler = api__log,
	  .params = PARAMS(TEXT),
	  .quick = true,
	  .doc = "last lines of the log" },
	{ .pattern = "/api/v1/status",
	  .role = HTTP_ROLE_READ,
	  .handler = api__status,
	  .params = PARAMS(NULL),
	  .quick = true,
	  .doc = "version, storage, symbols" },
	{ .pattern = "/api/v1/config",
	  .role = HTTP_ROLE_READ,
	  .handler = api__config,
	  .params = PARAMS(NULL),
	  .quick = true,
	  .doc = "configuration that holds, without its secrets" },
	{ .pattern = "/api/v1/queries/{id}",
	  .role = HTTP_ROLE_READ,
	  .handler = api__query_get,
	  .params = PARAMS(NULL),
	  .quick = true,
	  .doc = "progress of a question sent with X-Query-Id" },
	{ .method = HTTP_DELETE,
	  .pattern = "/api/v1/queries/{id}",
	  .role = HTTP_ROLE_READ,
	  .handler = api__query_cancel,
	  .params = PARAMS(NULL),
	  .quick = true,
	  .doc = "cancel it" },
	{ .pattern = "/-/healthy",
	  .role = HTTP_ROLE_NONE,
	  .handler = api__healthy,
	  .quick = true,
	  .doc = "the process answers" },
	{ .pattern = "/-/ready", .role = HTTP_ROLE_NONE, .handler = api__ready, .quick = true, .doc = "it can be asked" },
	{ .method = HTTP_POST,
	  .pattern = "/grpc.health.v1.Health/Check",
	  .role = HTTP_ROLE_NONE,
	  .handler = api__health_check,
	  .quick = true,
	  .grpc = true,
	  .max_body = 4096,
	  .descriptors = DESCRIPTORS(descriptors_health),
	  .doc = "the same, by gRPC" },
	{ .method = HTTP_POST,
	  .pattern = "/grpc.health.v1.Health/List",
	  .role = HTTP_ROLE_NONE,
	  .handler = api__health_list,
	  .quick = true,
	  .grpc = true,
	  .max_body = 4096,
	  .descriptors = DESCRIPTORS(descriptors_health),
	  .doc = "the same, of all services" },
	{ .method = HTTP_POST,
	  .pattern = "/grpc.health.v1.Health/Watch",
	  .role = HTTP_ROLE_NONE,
	  .handler = api__health_watch,
	  .quick = true,
	  .grpc = true,
	  .streams = HTTP_WATCHES,
	  .max_body = 4096,
	  .descriptors = DESCRIPTORS(descriptors_health),
	  .doc = "the same, and whenever it changes" },
	REFLECTION("v1", descriptors_reflection),
	REFLECTION("v1alpha", descriptors_reflection_alpha),
	{ .pattern = "/api/v1/store",
	  .role = HTTP_ROLE_READ,
	  .handler = api__store_stat,
	  .params = PARAMS(TEXT),
	  .quick = true,
	  .doc = "how much the store holds" },
	{ .method = HTTP_POST,
	  .pattern = "/api/v1/store/backup",
	  .role = HTTP_ROLE_ADMIN,
	  .handler = api__store_backup,
	  .params = PARAMS("dir"),
	  .doc = "copy the store into the directory dir, on the server" },
	{ .method = HTTP_POST,
	  .pattern = "/api/v1/store/check",
	  .role = HTTP_ROLE_ADMIN,
	  .handler = api__store_check,
	  .patient = true,
	  .params = PARAMS(NULL),
	  .doc = "look for damage in the store" },
	{ .method = HTTP_POST,
	  .pattern = "/api/v1/store/remove",
	  .role = HTTP_ROLE_ADMIN,
	  .handler = api__store_remove,
	  .params = PARAMS("q", RANGE),
	  .doc = "remove for good what matches q in [from, to)" },
	{ .method = HTTP_POST,
	  .pattern = "/api/v1/debuginfo",
	  .role = HTTP_ROLE_WRITE,
	  .handler = api__debuginfo_upload,
	  .params = PARAMS("replace"),
	  .to_file = true, /* of at most what the configuration says */
	  .doc = "take a program, a library or separate debuginfo, so that it names addresses" },
	{ .method = HTTP_POST,
	  .pattern = DEBUGINFO_SERVICE "ShouldInitiateUpload",
	  .role = HTTP_ROLE_WRITE,
	  .handler = api__should_initiate,
	  .push = true,
	  .grpc = true,
	  .descriptors = DESCRIPTORS(descriptors_debuginfo),
	  .max_body = API_CALL_BYTES,
	  .doc = "Parca's protocol: say whether debuginfo is wanted" },
	{ .method = HTTP_POST,
	  .pattern = DEBUGINFO_SERVICE "InitiateUpload",
	  .role = HTTP_ROLE_WRITE,
	  .handler = api__initiate_upload,
	  .push = true,
	  .grpc = true,
	  .descriptors = DESCRIPTORS(descriptors_debuginfo),
	  .max_body = API_CALL_BYTES,
	  .doc = "begin to take it" },
	{ .method = HTTP_POST,
	  .pattern = DEBUGINFO_SERVICE "Upload",
	  .role = HTTP_ROLE_WRITE,
	  .handler = api__upload_stream,
	  .to_file = true, /* likewise, and some for the frames */
	  .grpc = true,
	  .descriptors = DESCRIPTORS(descriptors_debuginfo),
	  .doc = "take it" },
	{ .method = HTTP_POST,
	  .pattern = DEBUGINFO_SERVICE "MarkUploadFinished",
	  .role = HTTP_ROLE_WRITE,
	  .handler = api__mark_finished,
	  .quick = true,
	  .grpc = true,
	  .descriptors = DESCRIPTORS(descriptors_debuginfo),
	  .max_body = API_CALL_BYTES,
	  .doc = "end it" },
	{ .method = HTTP_POST,
	  .pattern = "/-/reload",
	  .role = HTTP_ROLE_ADMIN,
	  .handler = api__reload,
	  .params = PARAMS(NULL),
	  .control = true,
	  .doc = "reload the configuration" },
	{ .pattern = "/debug/pprof/",
	  .role = HTTP_ROLE_READ,
	  .handler = api__pprof_index,
	  .quick = true,
	  .doc = "profiles of decima itself, as a Go program lists its own" },
	{ .pattern = "/debug/pprof/profile",
	  .role = HTTP_ROLE_READ,
	  .handler = api__pprof_profile,
	  .params = PARAMS("debug", "seconds"),
	  .takes_time = true,
	  .doc = "CPU profile of decima itself, as pprof" },
	{ .pattern = "/metrics", .role = HTTP_ROLE_READ, .handler = api__metrics, .quick = true, .doc = "Prometheus' text" },
};
enum { N_ROUTES = sizeof(routes_table) / sizeof(routes_table[0]) };

/* What there is, for whoever looks around. */
static void list_routes(void *ctx, const struct http_request *req, struct http_response *resp)
{
	const char *comma = "";
	bool end = false;

	(void)req;
	buf__text(&resp->body, "{\"routes\":[");
	for (size_t i = 0; !end; i++) {
		const struct http_route *r = http_routes__at(ctx, i, &end);

		if (!r || r->handler == list_routes)
			continue;
		buf__printf(&resp->body, "%s{\"method\":\"%s\",\"path\":", comma,
			    r->method == HTTP_POST     ? "POST"
			    : r->method == HTTP_DELETE ? "DELETE"
						       : "GET");
		buf__json(&resp->body, str__of(r->pattern));
		buf__text(&resp->body, ",\"doc\":");
		buf__json(&resp->body, str__of(r->doc));
		buf__byte(&resp->body, '}');
		comma = ",";
	}
	buf__text(&resp->body, "]}\n");
}

int api__new(const struct api_config *config, struct api **ret, struct dcm_error *err)
{
	struct api *a = NEW(struct api);

	if (!a)
		return error__nomem(err);
	a->c = *config;
	if (!a->c.clock)
		a->c.clock = &clock__system;
	a->started_real_ns = clock__real(a->c.clock);
	a->uploads = uploads__new(a->c.clock);
	if (!a->uploads) {
		free(a);
		return error__nomem(err);
	}
	pthread_mutex_init(&a->lock, NULL);
	api__count_uploads(a);
	*ret = a;
	return 0;
}

void api__free(struct api *a)
{
	if (!a)
		return;
	api__uncount_uploads(a);
	uploads__free(a->uploads);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

int api__add_routes(struct api *a, struct http_routes *routes, struct dcm_error *err)
{
	/* Read at each question, long after this function. */
	static const char *const none[] = { NULL };
	struct http_route index = { .pattern = "/api/v1",
				    .role = HTTP_ROLE_READ,
				    .handler = list_routes,
				    .ctx = routes,
				    .params = none,
				    .quick = true,
				    .doc = "this list" };
	int r = http_routes__add(routes, &index);

	for (size_t i = 0; i < N_ROUTES && r == 0; i++) {
		struct http_route row = routes_table[i];

		row.ctx = row.handler == api__reflection ? (void *)routes : a;
		if (row.to_file)
			row.max_body = a->c.upload_bytes;
		/* Chunks of a KiB and more have no larger heads than that. */
		if (row.to_file && row.grpc && row.max_body)
			row.max_body += row.max_body / 64 + API_CALL_BYTES;
		r = http_routes__add(routes, &row);
	}
	return r < 0 ? error__sys(err, r, "api: cannot add its routes") : 0;
}

/* ------------------------------------------------------------------------------------------------
 * Questions under way
 */

void api__enter(struct api *a, const struct http_request *req)
{
	struct dcm_str id = http_request__header(req, "x-query-id");

	if (id.n == 0 || id.n >= sizeof(a->running[0].id) || !req->budget)
		return;
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < API_MAX_RUNNING; i++)
		if (!a->running[i].budget) {
			memcpy(a->running[i].id, id.p, id.n);
			a->running[i].id[id.n] = '\0';
			a->running[i].budget = req->budget;
			break;
		}
	pthread_mutex_unlock(&a->lock);
}

void api__leave(struct api *a, const struct dcm_budget *budget)
{
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < API_MAX_RUNNING; i++)
		if (budget && a->running[i].budget == budget)
			a->running[i].budget = NULL;
	pthread_mutex_unlock(&a->lock);
}

/* The entry with the id in the path; the lock is held. */
static struct api_running *find_running(struct api *a, const struct http_request *req)
{
	struct dcm_str id = http_request__path_param(req, "id");

	for (size_t i = 0; i < API_MAX_RUNNING; i++)
		if (a->running[i].budget && str__eq(str__of(a->running[i].id), id))
			return &a->running[i];
	return NULL;
}

static void refuse_unknown_id(struct http_response *resp)
{
	http_response__problem(
		resp, 404, "no question with this id is under way; it has ended or never began");
}

void api__query_get(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct api_running *r;

	pthread_mutex_lock(&a->lock);
	r = find_running(a, req);
	if (r)
		buf__printf(&resp->body, "{\"done\":%" PRIu64 ",\"total\":%" PRIu64 ",\"cancelled\":%s}\n",
			    (uint64_t)atomic_load(&r->budget->done),
			    (uint64_t)atomic_load(&r->budget->total),
			    atomic_load(&r->budget->cancelled) ? "true" : "false");
	pthread_mutex_unlock(&a->lock);
	if (!r)
		refuse_unknown_id(resp);
}

void api__query_cancel(void *ctx, const struct http_request *req, struct http_response *resp)
{
	struct api *a = ctx;
	struct api_running *r;

	pthread_mutex_lock(&a->lock);
	r = find_running(a, req);
	if (r)
		atomic_store(&r->budget->cancelled, 1);
	pthread_mutex_unlock(&a->lock);
	if (r)
		buf__text(&resp->body, "{\"cancelled\":true}\n");
	else
		refuse_unknown_id(resp);
}

void api__json_column(struct buf *b, const char *name, const int64_t *v, uint32_t n)
{
	buf__printf(b, ",\"%s\":[", name);
	for (uint32_t i = 0; i < n; i++)
		buf__printf(b, "%s%" PRId64, i ? "," : "", v[i]);
	buf__byte(b, ']');
}
