/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/graph.c - the running objects, wired; what a reload does with them is in reload.c
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/main/frames_workers.h"
#include "core/main/graph_inside.h"

#define MAINTAIN_INTERVAL_NS INT64_C(60000000000)
#define MAINTAIN_BUDGET_NS   INT64_C(50000000)
#define AGAIN_NS	     INT64_C(1000000000)
/* How late a write that hangs is told. After longer, clock_watch could take drift for a step. */
#define LONGEST_REST_NS INT64_C(8000000000)

/* ------------------------------------------------------------------------------------------------
 * Building
 */

static void find_node_name(struct graph *g)
{
	if (g->plan->main->node && g->plan->main->node[0])
		snprintf(g->node, sizeof(g->node), "%s", g->plan->main->node);
	else if (gethostname(g->node, sizeof(g->node) - 1) < 0 || !g->node[0])
		snprintf(g->node, sizeof(g->node), "localhost");
}

int graph__make_relabel(const struct graph *g, const struct main_settings *m, struct relabel **ret,
			struct dcm_error *err)
{
	struct dcm_label_text *labels = mem__zalloc(m->labels.n + 2, sizeof(*labels));
	const char *const *values = m->labels.items;
	uint32_t n = 0;
	int r;

	if (!labels)
		return error__nomem(err);
	for (; n < m->labels.n; n++)
		labels[n] = (struct dcm_label_text){ str__of(m->labels.keys[n]), str__of(values[n]) };
	/* What the file says of these two comes first and wins. */
	labels[n++] = (struct dcm_label_text){ STR("node"), str__of(g->node) };
	labels[n++] = (struct dcm_label_text){ STR("instance"), str__of(g->node) };
	r = relabel__new(&(struct relabel_config){ .rules = m->relabel_configs.items,
						   .n_rules = m->relabel_configs.n,
						   .externals = labels,
						   .n_externals = n },
			 ret, err);
	free(labels);
	return r;
}

/* Where files are kept by build id; NULL: nowhere. */
static const char *symbols_dir(struct graph *g, const struct symbols_settings *s)
{
	if (g->c.symbols_dir)
		return g->c.symbols_dir;
	if (!g->c.data_dir || s->max_bytes == 0 || !s->files)
		return NULL;
	snprintf(g->symbols_dir, sizeof(g->symbols_dir), "%s/symbols", g->c.data_dir);
	return g->symbols_dir;
}

/* Bytes of a file that is reduced, where nothing is kept. */
#define REDUCED_MAX (UINT64_C(512) << 20)

static uint64_t largest_reduced(const struct symbols_settings *s)
{
	return s->max_bytes ? (uint64_t)s->max_bytes / 2 : REDUCED_MAX;
}

/* The workers are forked here: no thread runs yet. */
static int make_symbols(struct graph *g, const struct main_settings *m, struct dcm_error *err)
{
	const struct symbols_settings *s = &m->symbols;
	const char *store_dir = symbols_dir(g, s);
	/* A daemon may be told by a reload to send files, which are reduced there; nobody forks then any more. */
	bool may_send = !g->c.symbols_dir;
	int r = s->lines || store_dir || may_send
			? frames_workers__new((uint64_t)s->lines_bytes, largest_reduced(s),
					      &g->workers, err)
			: 0;

	if (r < 0)
		return r;
	g->debuginfod = (struct debuginfod_limits){ s->debuginfod_timeout_ns,
						    (uint64_t)s->debuginfod_bytes };
	if (g->c.data_dir)
		snprintf(g->debuginfod_dir, sizeof(g->debuginfod_dir), "%s/debuginfo", g->c.data_dir);
	return symbols__new(
		&(struct symbols_config){ .table_bytes = (uint64_t)s->table_bytes,
					  .no_files = !s->files,
					  .temporary_dir = g->c.data_dir,
					  .learned_bytes = (uint64_t)s->learned_bytes,
					  .max_sources = (uint32_t)s->open_files,
					  .debug_dirs = (const char *const *)s->debuginfo.items,
					  .n_debug_dirs = s->debuginfo.n,
					  .debuginfod = (const char *const *)s->debuginfod.items,
					  .n_debuginfod = g->c.data_dir ? s->debuginfod.n : 0,
					  .debuginfod_dir = g->debuginfod_dir,
					  .debuginfod_bytes = (uint64_t)s->debuginfod_bytes,
					  .store_dir = store_dir,
					  .store_read_only = g->c.symbols_dir != NULL,
					  .store_bytes = (uint64_t)s->max_bytes,
					  .store_age_ns = s->retention_ns,
					  .reduce = frames_workers__reduce,
					  .reduce_ctx = g->workers,
					  .fetch = debuginfod__fetch,
					  .fetch_ctx = &g->debuginfod,
					  .lines = s->lines,
					  .inlines = s->inlines,
					  .frames_timeout_ns = s->lines_timeout_ns,
					  .frames_bytes = (uint64_t)s->lines_bytes,
					  .frames = frames_workers__ask,
					  .frames_ctx = g->workers,
					  .broker = g->c.broker },
		&g->symbols, err);
}

static int make_objects(struct graph *g, struct dcm_error *err)
{
	const struct main_settings *m = g->plan->main;
	struct relabel *relabel = NULL;
	int r;

	find_node_name(g);
	g->sources = sources__new();
	if (!g->sources ||
	    scheduler__new(&(struct scheduler_config){ .clock = g->c.clock, .log = g->c.log },
			   &g->scheduler) < 0)
		return error__nomem(err);
	r = make_symbols(g, m, err);
	if (r < 0)
		return r;
	g->symbol_metrics = symbol_metrics__new(g->symbols, g->workers, g->c.stats);
	g->n_clock_steps = stats__counter(
		g->c.stats, "decima_clock_steps_total",
		"Times that the machine's clock was set while Decima ran.", NULL, 0);
	g->n_undecided = stats__counter(
		g->c.stats, "decima_query_undecided_total",
		"Texts of which a question's regular expression could not tell whether they match; "
		"they counted as no match.",
		NULL, 0);
	g->services.symbols = g->symbols;
	g->services.pages = g->c.pages;
	g->services.endpoints = g->c.endpoints;
	g->services.host = (struct host_services){ .log = g->c.log,
						   .stats = g->c.stats,
						   .clock = g->c.clock,
						   .sources = g->sources,
						   .node = g->node,
						   .data_root = g->c.data_dir,
						   .broker = g->c.broker };
	services__init(&g->services);
	r = pipeline__new(&(struct pipeline_config){ .log = g->c.log,
						     .stats = g->c.stats,
						     .clock = g->c.clock,
						     .intake_bytes = (uint64_t)m->pipeline.intake_bytes,
						     .shared_bytes = (uint64_t)m->pipeline.shared_bytes,
						     .learn = services__learn,
						     .resolved = services__resolved,
						     .ctx = &g->services },
			  &g->pipeline, err);
	if (r < 0)
		return r;
	g->services.pipeline = g->pipeline;
	r = graph__make_relabel(g, m, &relabel, err);
	if (r < 0)
		return r;
	pipeline__set_relabel(g->pipeline, relabel);
	return host__new("core", &g->services.host, &g->host, err);
}

struct part_env graph__part_env(struct graph *g)
{
	return (struct part_env){ .services = &g->services.host,
				  .pipeline = g->pipeline,
				  .scheduler = g->scheduler,
				  .log = g->c.log,
				  .one_shot = g->c.one_shot };
}

int graph__add_part(struct graph *g, struct part *p, struct dcm_error *err)
{
	bool ok;

	pthread_mutex_lock(&g->lock);
	ok = vec__push(&g->parts, p);
	pthread_mutex_unlock(&g->lock);
	return ok ? 0 : error__nomem(err);
}

int graph__new(const struct graph_config *config, struct plan *plan, struct graph **ret,
	       struct dcm_error *err)
{
	CLEANUP(graph__freep) struct graph *g = NEW(struct graph);
	struct part_env env;
	int r;

	if (!g) {
		plan__free(plan);
		return error__nomem(err);
	}
	g->c = *config;
	g->plan = plan;
	g->first = plan;
	pthread_mutex_init(&g->lock, NULL);
	r = plan__effective(plan, &g->effective, err);
	if (r == 0)
		r = make_objects(g, err);
	env = graph__part_env(g);
	for (uint32_t i = 0; r == 0 && i < plan->n; i++) {
		struct part *p = NULL;

		r = part__new(&env, &plan->instances[i], &p, err);
		if (r == 0)
			r = graph__add_part(g, p, err);
		if (r < 0)
			part__free(p);
	}
	if (r < 0)
		return r;
	*ret = take_ptr(g);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Starting and trying again
 */

/* The first storage that runs answers questions from now on. */
static int make_engine(struct graph *g, struct dcm_error *err)
{
	const struct main_settings *m = g->plan->main;
	struct engine *e = NULL;
	int r = 0;

	for (size_t i = 0; i < g->parts.n && !g->engine && r == 0; i++) {
		struct part *p = g->parts.v[i];

		if (p->kind != DCM_STORAGE || !part__runs(p))
			continue;
		r = engine__new(
			&(struct engine_config){ .host = g->host,
						 .ops = &p->plugin->storage,
						 .instance = instance__handle(p->instance),
						 .n_inside = &p->n_inside,
						 .name = services__resolved,
						 .name_ctx = &g->services,
						 .max_questions = (uint32_t)m->server.max_queries,
						 .max_time_ns = m->server.query_timeout_ns,
						 .max_bytes = (uint64_t)m->server.query_memory_bytes,
						 .undecided = g->n_undecided },
			&e, err);
		pthread_mutex_lock(&g->lock);
		g->engine = e;
		g->store = e ? p : NULL;
		pthread_mutex_unlock(&g->lock);
	}
	return r;
}

bool graph__needs_rights(const struct part *p)
{
	return p->plugin->info.caps & DCM_CAP_RIGHTS;
}

void graph__open_with_rights(struct graph *g)
{
	struct dcm_error err = DCM_ERROR_INIT;

	for (size_t i = 0; i < g->parts.n; i++)
		if (graph__needs_rights(g->parts.v[i]))
			part__open(g->parts.v[i], &err);
	g->rights_gone = true;
}

bool graph__may_start(const struct graph *g, const struct part *p)
{
	return !g->rights_gone || !graph__needs_rights(p) || part__is_open(p);
}

void graph__start_part(struct graph *g, struct part *p)
{
	struct part_env env = graph__part_env(g);

	if (!graph__may_start(g, p) || part__start(p, &env, NULL) < 0)
		part__stand_by(p, &env, graph__may_start(g, p));
}

int graph__start(struct graph *g, struct dcm_error *err)
{
	int r;

	/*
	 * Storages and outputs come first in the plan: what inputs hand in then finds everybody
	 * there.
	 */
	for (size_t i = 0; i < g->parts.n; i++)
		if (g->parts.v[i]->kind != DCM_INPUT)
			graph__start_part(g, g->parts.v[i]);
	r = make_engine(g, err);
	if (r < 0)
		return r;
	r = pipeline__start(g->pipeline, err);
	if (r < 0)
		return r;
	g->started = true;
	for (size_t i = 0; i < g->parts.n; i++)
		if (g->parts.v[i]->kind == DCM_INPUT)
			graph__start_part(g, g->parts.v[i]);
	return 0;
}

/*
 * A little housekeeping once a minute; what a store has to do at once, it does when it is written
 * to.
 */
static void maintain_stores(struct graph *g, int64_t now)
{
	if (now < g->maintain_at)
		return;
	g->maintain_at = now + MAINTAIN_INTERVAL_NS;
	for (size_t i = 0; i < g->parts.n; i++) {
		const struct part *p = g->parts.v[i];
		struct dcm_error err = DCM_ERROR_INIT;

		if (p->kind != DCM_STORAGE || !part__runs(p) || !p->plugin->storage.maintain)
			continue;
		if (p->plugin->storage.maintain(instance__handle(p->instance), MAINTAIN_BUDGET_NS,
						&err) < 0)
			log__line(g->c.log, DCM_LOG_WARNING, p->name, "upkeep: %s", err.text);
	}
}

static void watch_clock(struct graph *g)
{
	char text[CLOCK_WATCH_TEXT];

	if (!clock_watch__look(&g->clock_watch, g->c.clock, text))
		return;
	stats__counter_add(g->n_clock_steps, 1);
	log__line(g->c.log, DCM_LOG_WARNING, "core", "%s", text);
}

/* Nothing ends for it: what they read is worth less than the samples. */
static void watch_workers(struct graph *g)
{
	const struct workers_stat w = g->workers ? workers__stat(g->workers)
						 : (struct workers_stat){ 0 };

	if (w.n_forkers_died == g->n_forkers_died)
		return;
	g->n_forkers_died = w.n_forkers_died;
	if (w.n_forkers > 0)
		log__line(g->c.log, DCM_LOG_WARNING, "core",
			  "a decima-forker, whose workers read debug information, has died: its "
			  "spare does it from now on; a restart makes another spare");
	else
		log__line(g->c.log, DCM_LOG_ERROR, "core", "%s", graph__workers_state(g));
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Starts what failed and is due; when the next one is. */
static int64_t retry_parts(struct graph *g, int64_t now)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < g->parts.n; i++) {
		struct part *p = g->parts.v[i];

		if (!graph__may_start(g, p))
			continue;
		if (instance__retry_at(p->instance) <= now)
			graph__start_part(g, p);
		next = earlier(next, instance__retry_at(p->instance));
	}
	return next;
}

/* When the next one is due. */
static int64_t log_states(struct graph *g)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < g->parts.n; i++)
		next = earlier(next, host__log_state(instance__host(g->parts.v[i]->instance)));
	return next;
}

int64_t graph__tick(struct graph *g)
{
	int64_t now = clock__mono(g->c.clock), next = now + LONGEST_REST_NS;
	struct dcm_error err = DCM_ERROR_INIT;

	watch_clock(g);
	watch_workers(g);
	maintain_stores(g, now);
	next = earlier(next, g->maintain_at);
	pipeline__watch(g->pipeline);
	next = earlier(next, retry_parts(g, now));
	next = earlier(next, log_states(g));
	if (!g->engine && make_engine(g, &err) < 0) {
		log__line(g->c.log, DCM_LOG_ERROR, "core", "%s", err.text);
		next = earlier(next, now + AGAIN_NS);
	}
	/* Last: what was lost on the way is among them. */
	return earlier(next, stats__log_losses(g->c.stats, now, false, g->c.log));
}

/* ------------------------------------------------------------------------------------------------
 * Stopping
 */

void graph__stop_part(struct graph *g, struct part *p, int64_t deadline_mono_ns)
{
	struct part_env env = graph__part_env(g);

	if (part__stop(p, &env, deadline_mono_ns) < 0)
		g->has_abandoned = true;
}

void graph__stop_inputs(struct graph *g, int64_t deadline_mono_ns)
{
	for (size_t i = 0; i < g->parts.n; i++)
		if (g->parts.v[i]->kind == DCM_INPUT)
			graph__stop_part(g, g->parts.v[i], deadline_mono_ns);
}

int graph__stop(struct graph *g, int64_t deadline_mono_ns)
{
	graph__stop_inputs(g, deadline_mono_ns);
	if (g->started)
		pipeline__stop(g->pipeline, deadline_mono_ns);
	g->started = false;
	pthread_mutex_lock(&g->lock);
	g->store = NULL;
	pthread_mutex_unlock(&g->lock);
	for (size_t i = 0; i < g->parts.n; i++)
		if (g->parts.v[i]->kind != DCM_INPUT)
			graph__stop_part(g, g->parts.v[i], deadline_mono_ns);
	stats__log_losses(g->c.stats, clock__mono(g->c.clock), true, g->c.log);
	return g->has_abandoned ? -ETIMEDOUT : 0;
}

void graph__free(struct graph *g)
{
	if (!g)
		return;
	assert(!g->has_abandoned);
	for (size_t i = 0; i < g->parts.n; i++)
		part__free(g->parts.v[i]);
	vec__fini(&g->parts);
	engine__free(g->engine);
	host__free(g->host);
	services__fini(&g->services);
	pipeline__free(g->pipeline);
	scheduler__free(g->scheduler);
	symbol_metrics__free(g->symbol_metrics);
	symbols__free(g->symbols);
	workers__free(g->workers);
	sources__free(g->sources);
	if (g->plan != g->first)
		plan__free(g->plan);
	plan__free(g->first);
	buf__fini(&g->effective);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

int graph__flush(struct graph *g, int64_t deadline_mono_ns)
{
	return pipeline__flush(g->pipeline, deadline_mono_ns);
}

/* ------------------------------------------------------------------------------------------------
 * Looking
 */

struct engine *graph__engine(struct graph *g)
{
	struct engine *e;

	pthread_mutex_lock(&g->lock);
	e = g->store ? g->engine : NULL;
	pthread_mutex_unlock(&g->lock);
	return e;
}

struct pipeline *graph__pipeline(struct graph *g)
{
	return g->pipeline;
}

struct symbols *graph__symbols(struct graph *g)
{
	return g->symbols;
}

const struct main_settings *graph__settings(struct graph *g)
{
	return g->plan->main;
}

void graph__effective(struct graph *g, struct buf *out)
{
	pthread_mutex_lock(&g->lock);
	buf__str(out, buf__view(&g->effective));
	pthread_mutex_unlock(&g->lock);
}

const char *graph__node(struct graph *g)
{
	return g->node;
}

int graph__watch_fd(const struct graph *g)
{
	return g->workers ? workers__watch_fd(g->workers) : -1;
}

const char *graph__workers_state(const struct graph *g)
{
	if (!g->workers || workers__stat(g->workers).n_forkers > 0)
		return "";
	return "decima-forker and its spare have died: lines, inlined functions and debug files "
	       "are "
	       "read no more, all else goes on; restart decima";
}

bool graph__store_stat(struct graph *g, struct dcm_store_stat *ret)
{
	const struct part *p;

	pthread_mutex_lock(&g->lock);
	p = g->store;
	if (p)
		p->plugin->storage.stat(instance__handle(p->instance), ret);
	pthread_mutex_unlock(&g->lock);
	return p != NULL;
}

/* The store for one operation, which leave_store() ends. */
static struct part *enter_store(struct graph *g, struct dcm_error *err)
{
	struct part *p;

	pthread_mutex_lock(&g->lock);
	p = g->store;
	/* Together, so that graph__stop() sees who is inside when nobody else can come in. */
	if (p)
		p->n_inside++;
	pthread_mutex_unlock(&g->lock);
	if (!p)
		error__set(err, -ESHUTDOWN, "no storage runs; /api/v1/pipeline says why");
	return p;
}

static int leave_store(struct part *p, int r)
{
	p->n_inside--;
	return r;
}

/* Operations that a storage may do without. */
static int not_offered(const struct part *p, const char *what, struct dcm_error *err)
{
	return error__set(err, -ENOTSUP, "%s: this storage offers no %s", p->object, what);
}

/* What names the profiles comes along: a backup answers by itself. */
int graph__store_backup(struct graph *g, const char *dir, struct dcm_error *err)
{
	struct part *p = enter_store(g, err);
	char symbols[PATH_MAX];
	int r;

	if (!p)
		return -ESHUTDOWN;
	if (snprintf(symbols, sizeof(symbols), "%s/symbols", dir) >= (int)sizeof(symbols))
		return leave_store(p, error__set(err, -ENAMETOOLONG, "%s: the path is too long", dir));
	r = leave_store(p, p->plugin->storage.backup
				   ? p->plugin->storage.backup(instance__handle(p->instance), dir, err)
				   : not_offered(p, "backup", err));
	if (r < 0)
		return r;
	r = symbols__backup(g->symbols, symbols, err);
	if (r < 0) /* only the storage knows what it has made there */
		error__prefix(err, "%s has the profiles without what names them; remove it before another try",
			      dir);
	return r;
}

static int check(const struct part *p, struct dcm_budget *budget, dcm_report_fn report, void *ctx,
		 struct dcm_error *err)
{
	const struct dcm_storage_ops *ops = &p->plugin->storage;
	void *handle = instance__handle(p->instance);

	if (ops->check_within)
		return ops->check_within(handle, budget, report, ctx, err);
	return ops->check ? ops->check(handle, report, ctx, err) : not_offered(p, "check", err);
}

int graph__store_check(struct graph *g, struct dcm_budget *budget, dcm_report_fn report, void *ctx,
		       struct dcm_error *err)
{
	struct part *p = enter_store(g, err);

	return p ? leave_store(p, check(p, budget, report, ctx, err)) : -ESHUTDOWN;
}

int graph__store_remove(struct graph *g, const struct dcm_select *sel, uint64_t *ret_n_profiles,
			struct dcm_error *err)
{
	struct part *p = enter_store(g, err);

	if (!p)
		return -ESHUTDOWN;
	return leave_store(p, p->plugin->storage.remove
				      ? p->plugin->storage.remove(instance__handle(p->instance),
								  sel, ret_n_profiles, err)
				      : not_offered(p, "removal", err));
}

bool graph__failed_input(struct graph *g)
{
	for (size_t i = 0; i < g->parts.n; i++)
		if (g->parts.v[i]->kind == DCM_INPUT && part__has_failed(g->parts.v[i]))
			return true;
	return false;
}

void graph__each_target(struct graph *g, api_target_fn fn, void *ctx)
{
	sources__targets(g->sources, fn, ctx);
}

void graph__each(struct graph *g, api_instance_fn fn, void *ctx)
{
	pthread_mutex_lock(&g->lock);
	for (size_t i = 0; i < g->parts.n; i++) {
		const struct part *p = g->parts.v[i];
		struct api_instance view = {
			plugin__kind_name(p->kind), p->plugin->info.name, p->name, p->plugin->path, { 0 }
		};

		instance__view(p->instance, &view.view);
		fn(ctx, &view);
	}
	pthread_mutex_unlock(&g->lock);
}
