/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/offline.c - a graph with a store and nothing else, asked once
 */
#include "core/main/offline.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/api/api.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/codec/codec.h"
#include "core/main/graph.h"
#include "core/main/log_setup.h"
#include "core/main/store_dir.h"

struct offline {
	struct log log;
	struct stats *stats;
	struct loader *loader;
	struct graph *graph;
	char symbols_dir[PATH_MAX]; /* "": there is none */
};

static struct engine *engine_of(void *ctx)
{
	return graph__engine(((struct offline *)ctx)->graph);
}

static bool store_stat_of(void *ctx, struct dcm_store_stat *ret)
{
	return graph__store_stat(((struct offline *)ctx)->graph, ret);
}

static int backup(void *ctx, const char *dir, struct dcm_error *err)
{
	return graph__store_backup(((struct offline *)ctx)->graph, dir, err);
}

static int check(void *ctx, struct dcm_budget *budget, dcm_report_fn report, void *report_ctx,
		 struct dcm_error *err)
{
	return graph__store_check(((struct offline *)ctx)->graph, budget, report, report_ctx, err);
}

static int encode(void *ctx, const struct dcm_batch *batch, const char *format, struct buf *out,
		  struct dcm_error *err)
{
	(void)ctx;
	return codec__encode(batch, DCM_NONE, format, out, err);
}

/* A daemon keeps what names its profiles beside its stores: in the data directory. */
static void find_symbols(struct offline *o, const char *dir, const char *store)
{
	char path[PATH_MAX];
	struct stat st;

	for (int above = 0; above < 2; above++) {
		if (snprintf(path, sizeof(path), above ? "%s/../symbols/LOCK" : "%s/symbols/LOCK",
			     above ? store : dir) >= (int)sizeof(path) ||
		    stat(path, &st) < 0)
			continue;
		*strrchr(path, '/') = '\0';
		snprintf(o->symbols_dir, sizeof(o->symbols_dir), "%s", path);
		return;
	}
}

static int plan_store(struct offline *o, const char *dir, struct plan **ret, struct dcm_error *err)
{
	const char *plugins = getenv("DECIMA_PLUGIN_PATH");
	char text[80], path[80], read_only[80];
	struct problems problems = { 0 };
	struct store_dir found;
	int r = loader__new(plugins && *plugins ? plugins : PLUGINDIR, trust__is_privileged(),
			    &o->loader, err);

	if (r < 0) {
		error__prefix(err, "DECIMA_PLUGIN_PATH");
		return r;
	}
	r = store_dir__find(dir, o->loader, &found, err);
	if (r < 0)
		return r;
	find_symbols(o, dir, found.path);
	snprintf(text, sizeof(text), "storage: { %s: {} }\n", found.plugin->info.name);
	snprintf(path, sizeof(path), "storage.%s.path", found.plugin->info.name);
	snprintf(read_only, sizeof(read_only), "storage.%s.read_only", found.plugin->info.name);
	const struct plan_flag flags[] = {
		{ "--data", path, found.path, false },
		{ "--data", read_only, found.has_read_only ? "true" : NULL, true },
	};
	r = plan__load(&(struct plan_source){ .text = text,
					      .flags = flags,
					      .n_flags = sizeof(flags) / sizeof(flags[0]) },
		       &o->loader, &problems, ret);
	if (r < 0)
		problems__first(&problems, err);
	problems__fini(&problems);
	return r;
}

static int open_store(struct offline *o, const char *dir, struct dcm_error *err)
{
	struct plan *plan = NULL;
	struct stat st;
	int r;

	if (stat(dir, &st) < 0)
		return error__sys(err, -errno, "%s", dir);
	if (!S_ISDIR(st.st_mode))
		return error__set(err, -ENOTDIR,
				  "%s: not a directory; give the directory of a store", dir);
	if (stats__new(NULL, &o->stats) < 0)
		return error__nomem(err);
	r = plan_store(o, dir, &plan, err);
	if (r < 0)
		return r;
	r = graph__new(&(struct graph_config){ .log = &o->log,
					       .stats = o->stats,
					       .clock = &clock__system,
					       .symbols_dir = o->symbols_dir[0] ? o->symbols_dir : NULL,
					       .one_shot = true },
		       plan, &o->graph, err);
	if (r == 0)
		r = graph__start(o->graph, err);
	if (r == 0 && !graph__engine(o->graph))
		r = error__set(err, -EIO, "%s: the store does not open; the line above says why", dir);
	return r;
}

static int ask(struct offline *o, enum http_method method, const char *target,
	       struct dcm_budget *budget, struct http_response *ret, struct dcm_error *err)
{
	struct arena arena = { 0 };
	/* Who can read the files may do anything with them. */
	struct http_request req = {
		.method = method, .role = HTTP_ROLE_ADMIN, .arena = &arena, .budget = budget
	};
	struct http_routes *routes = http_routes__new();
	struct api *api = NULL;
	int r = routes ? 0 : error__nomem(err);

	ret->status = 200;
	if (r == 0)
		r = api__new(&(struct api_config){ .stats = o->stats,
						   .symbols = graph__symbols(o->graph),
						   .node = graph__node(o->graph),
						   .ctx = o,
						   .engine = engine_of,
						   .store_stat = store_stat_of,
						   .backup = backup,
						   .check = check,
						   .encode = encode },
			     &api, err);
	if (r == 0)
		r = api__add_routes(api, routes, err);
	if (r == 0)
		r = http_request__set_target(&req, str__of(target));
	if (r < 0 && !err->text[0])
		error__set(err, r, "the question has too many parts, or memory ran out");
	if (r == 0)
		http_routes__dispatch(routes, &req, ret);
	api__free(api);
	http_routes__free(routes);
	arena__fini(&arena);
	return r;
}

int offline__call(const char *dir, enum http_method method, const char *target,
		  struct dcm_budget *budget, struct http_response *ret, struct dcm_error *err)
{
	struct offline *o = NEW(struct offline);
	int r;

	if (!o)
		return error__nomem(err);
	o->log = log_setup__early();
	o->log.level = DCM_LOG_WARNING;
	r = open_store(o, dir, err);
	if (r == 0)
		r = ask(o, method, target, budget, ret, err);
	/* Everything stays where it is under a thread that may yet wake up. */
	if (o->graph && graph__stop(o->graph, 0) < 0)
		return r;
	graph__free(o->graph);
	loader__free(o->loader);
	stats__free(o->stats);
	free(o);
	return r;
}
