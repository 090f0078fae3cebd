/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/graph.c - the running objects, wired
 *
 * A part is an instance with what it hangs on: a destination (storages, outputs with write) or a
 * task (inputs with collect). `lock` guards the list of parts and the engine against readers of
 * other threads; the instances guard themselves.
 */
#include "core/main/graph.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/config/options.h"
#include "core/main/clock_watch.h"
#include "core/main/part.h"
#include "core/main/services.h"
#include "core/main/debuginfod.h"
#include "core/main/frames_workers.h"
#include "core/main/symbol_metrics.h"

#define MAINTAIN_INTERVAL_NS INT64_C(60000000000)
#define MAINTAIN_BUDGET_NS   INT64_C(50000000)
#define AGAIN_NS	     INT64_C(1000000000)
/* How late a write that hangs is told. After longer, clock_watch could take drift for a step. */
#define LONGEST_REST_NS INT64_C(8000000000)

struct graph {
	struct graph_config c;
	struct plan *plan;  /* that runs now */
	struct plan *first; /* of the start: see graph__settings() */
	struct services services;
	struct sources *sources;
	struct scheduler *scheduler;
	struct debuginfod_limits debuginfod;
	char debuginfod_dir[PATH_MAX], symbols_dir[PATH_MAX];
	struct workers *workers; /* NULL: no lines are asked for */
	struct symbols *symbols;
	struct symbol_metrics *symbol_metrics;
	struct pipeline *pipeline;
	struct dcm_host *host; /* of the core itself: the engine's builders */
	char node[256];
	pthread_mutex_t lock;
	VEC(struct part *) parts;
	struct engine *engine;
	struct part *store;  /* that the engine asks; NULL: nobody may ask any more, or yet */
	int64_t maintain_at; /* mono */
	struct clock_watch clock_watch;
	struct stats_metric *n_clock_steps, *n_undecided;
	bool started;
	bool rights_gone;   /* see graph__open_with_rights() */
	bool has_abandoned; /* a thread may be inside a plugin for as long as the process lives */
	VEC(struct part *) abandoned; /* by a reload: what that thread looks at is never freed */
};

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

/* Rules for everything, and the labels that every series gets: the file's, node, instance. */
static int make_relabel(const struct graph *g, const struct main_settings *m, struct relabel **ret,
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

/* The workers are forked here: no thread runs yet. */
static int make_symbols(struct graph *g, const struct main_settings *m, struct dcm_error *err)
{
	const struct symbols_settings *s = &m->symbols;
	const char *store_dir = symbols_dir(g, s);
	int r = s->lines || store_dir
			? frames_workers__new((uint64_t)s->lines_bytes, (uint64_t)s->max_bytes / 2,
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
	r = make_relabel(g, m, &relabel, err);
	if (r < 0)
		return r;
	pipeline__set_relabel(g->pipeline, relabel);
	return host__new("core", &g->services.host, &g->host, err);
}

static struct part_env env_of(struct graph *g)
{
	return (struct part_env){ .services = &g->services.host,
				  .pipeline = g->pipeline,
				  .scheduler = g->scheduler,
				  .log = g->c.log,
				  .one_shot = g->c.one_shot };
}

static int add_part(struct graph *g, struct part *p, struct dcm_error *err)
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
	r = make_objects(g, err);
	env = env_of(g);
	for (uint32_t i = 0; r == 0 && i < plan->n; i++) {
		struct part *p = NULL;

		r = part__new(&env, &plan->instances[i], &p, err);
		if (r == 0)
			r = add_part(g, p, err);
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

static bool needs_rights(const struct part *p)
{
	return p->plugin->info.caps & DCM_CAP_RIGHTS;
}

void graph__open_with_rights(struct graph *g)
{
	struct dcm_error err = DCM_ERROR_INIT;

	for (size_t i = 0; i < g->parts.n; i++)
		if (needs_rights(g->parts.v[i]))
			part__open(g->parts.v[i], &err);
	g->rights_gone = true;
}

/* What could not be opened while there were rights keeps the sentence that said why. */
static bool may_start(const struct graph *g, const struct part *p)
{
	return !g->rights_gone || !needs_rights(p) || part__is_open(p);
}

/* Its failure is its own: it is in its state, and so in the log and on the pages. */
static void start_part(struct graph *g, struct part *p)
{
	struct part_env env = env_of(g);

	if (!may_start(g, p) || part__start(p, &env, NULL) < 0)
		part__stand_by(p, &env, may_start(g, p));
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
			start_part(g, g->parts.v[i]);
	r = make_engine(g, err);
	if (r < 0)
		return r;
	r = pipeline__start(g->pipeline, err);
	if (r < 0)
		return r;
	g->started = true;
	for (size_t i = 0; i < g->parts.n; i++)
		if (g->parts.v[i]->kind == DCM_INPUT)
			start_part(g, g->parts.v[i]);
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

		if (!may_start(g, p))
			continue;
		if (instance__retry_at(p->instance) <= now)
			start_part(g, p);
		next = earlier(next, instance__retry_at(p->instance));
	}
	return next;
}

int64_t graph__tick(struct graph *g)
{
	int64_t now = clock__mono(g->c.clock), next = now + LONGEST_REST_NS;
	struct dcm_error err = DCM_ERROR_INIT;

	watch_clock(g);
	maintain_stores(g, now);
	next = earlier(next, g->maintain_at);
	pipeline__watch(g->pipeline);
	next = earlier(next, retry_parts(g, now));
	if (!g->engine && make_engine(g, &err) < 0) {
		log__line(g->c.log, DCM_LOG_ERROR, "core", "%s", err.text);
		next = earlier(next, now + AGAIN_NS);
	}
	/* Last: what was lost on the way is among them. */
	return earlier(next, stats__log_losses(g->c.stats, now, false, g->c.log));
}

/* ------------------------------------------------------------------------------------------------
 * Reloading
 */

/* What becomes of one instance. */
struct change {
	struct part *part;
	enum { KEEP, RETRY, COMMIT, REPLACE, ADD, REMOVE } what;
	struct part_change *prepared; /* COMMIT */
	struct part *next;	      /* REPLACE: what takes the place of `part`, perhaps open */
	bool ran;		      /* REPLACE: `part` did, until next was to start */
};

static struct part *find_part(const struct graph *g, const struct plan_instance *to)
{
	for (size_t i = 0; i < g->parts.n; i++) {
		struct part *p = g->parts.v[i];

		if (p->kind == to->kind && p->plugin == to->plugin && strcmp(p->name, to->name) == 0)
			return p;
	}
	return NULL;
}

static struct plan_instance *find_planned(struct plan *plan, const struct part *p)
{
	for (uint32_t i = 0; i < plan->n; i++) {
		struct plan_instance *to = &plan->instances[i];

		if (p->kind == to->kind && p->plugin == to->plugin && strcmp(p->name, to->name) == 0)
			return to;
	}
	return NULL;
}

/* Questions under way look into the store that answers them, for as long as the engine lives. */
static int refuse_restart(const struct part *p, const char *why, struct dcm_error *err)
{
	return error__set(err, -EBUSY,
			  "%s: %s, and the storage that answers questions cannot be restarted; "
			  "restart decima",
			  p->object, why);
}

/* -EBUSY means a restart of decima, which would not help here. */
static int open_for_reload(struct part *p, struct dcm_error *err)
{
	int r = part__try_open(p, err);

	return r == -EBUSY ? -EADDRINUSE : r;
}

/*
 * Only a restart can do it. What can fail of that is done while the old one runs, unless both have
 * need of the same: the old one must then go first, and comes back when the new one cannot open.
 */
static int prepare_replacement(struct graph *g, struct plan_instance *to, struct change *c,
			       struct dcm_error *err)
{
	bool beside = part__is_changed(c->part, to) && !needs_rights(c->part);
	struct part_env env = env_of(g);
	int r;

	c->what = REPLACE;
	r = part__new(&env, to, &c->next, err);
	if (r < 0 || (part__runs(c->part) && !beside))
		return r;
	r = open_for_reload(c->next, err);
	return r == -EADDRINUSE && part__runs(c->part) ? 0 : r;
}

/* What becomes of an instance that is there already. */
static int prepare_change(struct graph *g, struct plan_instance *to, struct change *c,
			  struct dcm_error *err)
{
	struct dcm_error why = DCM_ERROR_INIT;
	int r = part__prepare(c->part, to, &c->prepared, &why);

	if (r == -EBUSY && c->part == g->store)
		return refuse_restart(c->part, why.text, err);
	if (r == -EBUSY && g->rights_gone && needs_rights(c->part))
		return error__set(err, r, "%s; the rights for that were given up at the start; restart decima",
				  why.text);
	if (r == -EBUSY) {
		log__line(g->c.log, DCM_LOG_INFO, to->name, "%s; restarting it", why.text);
		return prepare_replacement(g, to, c, err);
	}
	if (r < 0) {
		*err = why;
		return r;
	}
	c->what = c->prepared ? COMMIT : KEEP;
	/* What kept it from starting may have been mended outside of the file. */
	if (part__has_failed(c->part) && may_start(g, c->part))
		c->what = RETRY;
	return 0;
}

/* Prepares one instance of the new plan: nothing that runs notices. `goes`: another one does. */
static int prepare(struct graph *g, struct plan_instance *to, bool goes, struct change *c,
		   struct dcm_error *err)
{
	struct part_env env = env_of(g);
	int r;

	*c = (struct change){ .part = find_part(g, to) };
	if (c->part)
		return prepare_change(g, to, c, err);
	c->what = ADD;
	r = part__new(&env, to, &c->part, err);
	if (r == 0 && g->rights_gone && needs_rights(c->part))
		r = error__set(err, -EBUSY,
			       "%s: is new, and the rights to open it were given up at the start; "
			       "restart decima",
			       c->part->object);
	if (r < 0)
		return r;
	r = open_for_reload(c->part, err);
	/* Who goes may have what it needs, as under another name: it is tried again when that one is gone. */
	return r == -EADDRINUSE && goes ? 0 : r;
}

static void undo(struct change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (changes[i].what == ADD)
			part__free(changes[i].part);
		part__free(changes[i].next);
		part__abort(changes[i].part, changes[i].prepared);
	}
}

static void stop_part(struct graph *g, struct part *p, int64_t deadline_mono_ns)
{
	struct part_env env = env_of(g);

	if (part__stop(p, &env, deadline_mono_ns) < 0)
		g->has_abandoned = true;
}

static void pause_part(struct graph *g, struct part *p, int64_t drain_ns)
{
	struct part_env env = env_of(g);

	if (part__pause(p, &env, clock__mono(&clock__system) + drain_ns) < 0)
		g->has_abandoned = true;
}

/* The old one is back. Whether it starts is in its state, as at any start. */
static void switch_back(struct graph *g, struct change *c, int64_t drain_ns)
{
	struct part_env env = env_of(g);

	if (part__runs(c->next))
		pause_part(g, c->next, drain_ns);
	part__hand_over(c->next, c->part);
	if (c->ran)
		start_part(g, c->part);
	else
		part__stand_by(c->part, &env, may_start(g, c->part));
}

/* The new one runs in the place of the old one, or the old one does again. */
static int switch_over(struct graph *g, struct change *c, int64_t drain_ns, struct dcm_error *err)
{
	struct part_env env = env_of(g);
	int r;

	c->ran = part__runs(c->part);
	if (c->ran)
		pause_part(g, c->part, drain_ns);
	part__hand_over(c->part, c->next);
	r = part__start(c->next, &env, err);
	if (r < 0)
		switch_back(g, c, drain_ns);
	return r == -EBUSY ? -EADDRINUSE : r;
}

/*
 * Those that only a restart can change, one after the other: the last step that can fail. Each has
 * its time from when its turn comes: who hangs takes none of another's.
 */
static int switch_all(struct graph *g, struct change *changes, size_t n, int64_t drain_ns,
		      struct dcm_error *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (changes[i].what != REPLACE)
			continue;
		r = switch_over(g, &changes[i], drain_ns, err);
		for (size_t k = i; r < 0 && k-- > 0;)
			if (changes[k].what == REPLACE)
				switch_back(g, &changes[k], drain_ns);
	}
	return r;
}

static size_t index_of(const struct graph *g, const struct part *p)
{
	size_t i = 0;

	while (g->parts.v[i] != p)
		i++;
	return i;
}

static void free_part(struct graph *g, struct part *p)
{
	if (!part__is_abandoned(p))
		part__free(p);
	else if (vec__reserve(&g->abandoned, 1))
		g->abandoned.v[g->abandoned.n++] = p;
}

static void remove_part(struct graph *g, struct part *p, int64_t drain_ns)
{
	size_t i;

	pthread_mutex_lock(&g->lock);
	i = index_of(g, p);
	memmove(&g->parts.v[i], &g->parts.v[i + 1], (g->parts.n - i - 1) * sizeof(*g->parts.v));
	g->parts.n--;
	pthread_mutex_unlock(&g->lock);
	stop_part(g, p, clock__mono(&clock__system) + drain_ns);
	free_part(g, p);
}

static void replace_part(struct graph *g, struct part *p, struct part *next)
{
	pthread_mutex_lock(&g->lock);
	g->parts.v[index_of(g, p)] = next;
	pthread_mutex_unlock(&g->lock);
	free_part(g, p);
}

/* From here on nothing can fail but the start of what is new, which shows as its state. */
static void carry_out(struct graph *g, struct change *c, int64_t drain_ns)
{
	struct part_env env = env_of(g);
	struct dcm_error err = DCM_ERROR_INIT;

	switch (c->what) {
	case KEEP:
		break;
	case RETRY:
		start_part(g, c->part);
		break;
	case COMMIT:
		part__commit(c->part, &env, c->prepared);
		break;
	case REPLACE:
		replace_part(g, c->part, c->next);
		break;
	case ADD:
		if (add_part(g, c->part, &err) < 0) {
			log__line(g->c.log, DCM_LOG_ERROR, c->part->name, "%s", err.text);
			part__free(c->part);
			break;
		}
		start_part(g, c->part);
		break;
	case REMOVE:
		remove_part(g, c->part, drain_ns);
		break;
	}
}

/* Options of the core itself that only a start can change. */
static int check_main(const struct graph *g, const struct plan *plan, struct dcm_error *err)
{
	char key[256];

	if (options__compare(&settings__table, g->plan->main, plan->main, key) == OPTIONS_RESTART)
		return error__set(err, -EBUSY, "%s can only change with a restart of decima", key);
	return 0;
}

/* What becomes of whom, in *n changes. All is ready then to be done, and nothing has been. */
static int prepare_all(struct graph *g, struct plan *plan, struct change *changes, size_t *n,
		       struct dcm_error *err)
{
	size_t n_going;
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->parts.n; i++) {
		struct part *p = g->parts.v[i];

		if (find_planned(plan, p))
			continue;
		if (p == g->store)
			r = refuse_restart(p, "it is gone from the file", err);
		else
			changes[(*n)++] = (struct change){ .part = p, .what = REMOVE };
	}
	n_going = *n;
	for (uint32_t i = 0; r == 0 && i < plan->n; i++)
		r = prepare(g, &plan->instances[i], n_going > 0, &changes[(*n)++], err);
	return r;
}

int graph__reload(struct graph *g, struct plan *plan, struct dcm_error *err)
{
	struct change *changes = mem__zalloc(plan->n + g->parts.n + 1, sizeof(*changes));
	const int64_t drain_ns = plan->main->pipeline.drain_timeout_ns;
	struct relabel *relabel = NULL;
	size_t n = 0;
	int r;

	if (!changes)
		return error__nomem(err);
	r = check_main(g, plan, err);
	if (r == 0)
		r = make_relabel(g, plan->main, &relabel, err);
	if (r == 0)
		r = prepare_all(g, plan, changes, &n, err);
	if (r == 0)
		r = switch_all(g, changes, n, drain_ns, err);
	if (r < 0) {
		undo(changes, n);
		relabel__free(relabel);
		free(changes);
		return r;
	}
	for (size_t i = 0; i < n; i++)
		carry_out(g, &changes[i], drain_ns);
	pipeline__set_relabel(g->pipeline, relabel);
	free(changes);
	if (g->plan != g->first)
		plan__free(g->plan);
	g->plan = plan;
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Stopping
 */

void graph__stop_inputs(struct graph *g, int64_t deadline_mono_ns)
{
	for (size_t i = 0; i < g->parts.n; i++)
		if (g->parts.v[i]->kind == DCM_INPUT)
			stop_part(g, g->parts.v[i], deadline_mono_ns);
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
			stop_part(g, g->parts.v[i], deadline_mono_ns);
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
	pipeline__free(g->pipeline);
	scheduler__free(g->scheduler);
	symbol_metrics__free(g->symbol_metrics);
	symbols__free(g->symbols);
	workers__free(g->workers);
	sources__free(g->sources);
	if (g->plan != g->first)
		plan__free(g->plan);
	plan__free(g->first);
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

const char *graph__node(struct graph *g)
{
	return g->node;
}

int graph__watch_fd(const struct graph *g)
{
	return g->workers ? workers__watch_fd(g->workers) : -1;
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

int graph__store_check(struct graph *g, dcm_report_fn report, void *ctx, struct dcm_error *err)
{
	struct part *p = enter_store(g, err);

	if (!p)
		return -ESHUTDOWN;
	return leave_store(p, p->plugin->storage.check
				      ? p->plugin->storage.check(instance__handle(p->instance),
								 report, ctx, err)
				      : not_offered(p, "check", err));
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
