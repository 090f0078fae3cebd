/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/daemon.c - the control thread: starts everything, waits for signals, reloads, drains
 *
 * A reload asked for over HTTP comes from a worker thread: it leaves the request here, wakes the
 * control thread and waits for its answer.
 */
#include "core/main/daemon.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "config.h"
#include "core/api/api.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/units.h"
#include "core/codec/codec.h"
#include "core/main/args.h"
#include "core/main/gate.h"
#include "core/main/graph.h"
#include "core/base/log_tail.h"
#include "core/main/log_setup.h"
#include "core/main/separate.h"
#include "core/net/listener.h"
#include "core/net/endpoints.h"
#include "core/net/pages.h"
#include "core/selfprofile/selfprofile.h"

enum { MAX_AREAS = 32, BROKER_DIED = 0, ARENAS = 2 };

/* How long a stop waits for answers under way. */
#define QUESTIONS_NS INT64_C(2000000000)
#define TRIM_NS	     INT64_C(10000000000)

struct daemon {
	const struct plan_source *source;
	struct log log;
	struct log_area areas[MAX_AREAS];
	struct log_tail *log_tail;
	struct stats *stats;
	struct loader *loader;
	struct graph *graph;
	struct tls_server_options tls;
	struct http_routes *routes;
	struct pages *pages;
	struct selfprofile *selfprofile;
	struct endpoints *endpoints;
	struct api *api;
	struct listener *listener;
	struct separate separate;
	char data_dir[4096];
	int signal_fd, wake_fd;
	int64_t trim_at_ns;		  /* mono: see give_memory_back() */
	_Atomic int64_t reloaded_real_ns; /* the last time; 0: never */

	pthread_mutex_t lock; /* of the request below */
	pthread_cond_t answered;
	bool ends;
	uint64_t n_wanted, n_served; /* reloads asked for, and how many of them the last one answers */
	int reload_result;
	struct dcm_error reload_error;
};

/* ------------------------------------------------------------------------------------------------
 * The configuration
 */

/* Faults into the log, a line each; the plan, or the code and the first fault. */
static int load_plan(struct daemon *d, struct plan **ret, struct dcm_error *err)
{
	struct problems problems = { 0 };
	int r = plan__load(d->source, &d->loader, &problems, ret);

	for (uint32_t i = 0; i < problems.n; i++) {
		char place[300];
		bool error = problems.v[i].severity == PROBLEM_ERROR;

		place__text(&problems.v[i].at, place);
		log__line(&d->log, error ? DCM_LOG_ERROR : DCM_LOG_WARNING, "config", "%s%s%s",
			  place, place[0] ? ": " : "", problems.v[i].text);
	}
	if (r < 0)
		problems__first(&problems, err);
	problems__fini(&problems);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * Reload
 */

static int reload_now(struct daemon *d, struct dcm_error *err)
{
	struct access_rules *rules = NULL;
	struct plan *plan = NULL;
	int r;

	r = load_plan(d, &plan, err);
	if (r == -EINVAL) {
		/* The log has its faults already. */
		log__line(&d->log, DCM_LOG_ERROR, "config", "not reloaded, everything is as it was");
		return r;
	}
	if (r == 0)
		r = gate__make(&plan->main->server, &rules, err);
	if (r == 0)
		r = graph__reload(d->graph, plan, err);
	if (r < 0) {
		if (rules)
			rules->free(rules);
		plan__free(plan);
		log__line(&d->log, DCM_LOG_ERROR, "config",
			  "not reloaded, everything is as it was: %s", err->text);
	} else {
		listener__set_rules(d->listener, rules);
		atomic_store(&d->reloaded_real_ns, clock__real(&clock__system));
		log__line(&d->log, DCM_LOG_INFO, "config", "reloaded");
	}
	return r;
}

/* The control thread looks at what there is to do. Any thread. */
static void wake(void *ctx)
{
	eventfd_write(((const struct daemon *)ctx)->wake_fd, 1);
}

/* On a worker's thread: hands the wish to the control thread and waits. */
static int reload_from_api(void *ctx, struct dcm_error *err)
{
	struct daemon *d = ctx;
	uint64_t mine;
	int r;

	pthread_mutex_lock(&d->lock);
	mine = ++d->n_wanted;
	wake(d);
	while (d->n_served < mine && !d->ends)
		pthread_cond_wait(&d->answered, &d->lock);
	if (d->n_served >= mine) {
		r = d->reload_result;
		*err = d->reload_error;
	} else {
		r = error__set(err, -ESHUTDOWN, "decima is stopping");
	}
	pthread_mutex_unlock(&d->lock);
	return r;
}

static int64_t reloaded_real_ns(void *ctx)
{
	return atomic_load(&((struct daemon *)ctx)->reloaded_real_ns);
}

/* One reload answers all who asked before it read the file; who asks while it runs gets another. */
static void answer_reloads(struct daemon *d)
{
	struct dcm_error err = DCM_ERROR_INIT;
	uint64_t n;
	bool wanted;
	int r;

	pthread_mutex_lock(&d->lock);
	n = d->n_wanted;
	wanted = n > d->n_served;
	pthread_mutex_unlock(&d->lock);
	if (!wanted)
		return;
	r = reload_now(d, &err);
	pthread_mutex_lock(&d->lock);
	d->reload_result = r;
	d->reload_error = err;
	d->n_served = n;
	pthread_cond_broadcast(&d->answered);
	pthread_mutex_unlock(&d->lock);
}

/* ------------------------------------------------------------------------------------------------
 * The server
 */

static struct engine *engine_of(void *ctx)
{
	return graph__engine(((struct daemon *)ctx)->graph);
}

static bool store_stat_of(void *ctx, struct dcm_store_stat *ret)
{
	return graph__store_stat(((struct daemon *)ctx)->graph, ret);
}

static const char *workers_state_of(void *ctx)
{
	return graph__workers_state(((const struct daemon *)ctx)->graph);
}

static void effective(void *ctx, struct buf *out)
{
	graph__effective(((const struct daemon *)ctx)->graph, out);
}

static int backup(void *ctx, const char *dir, struct dcm_error *err)
{
	return graph__store_backup(((struct daemon *)ctx)->graph, dir, err);
}

static int check(void *ctx, struct dcm_budget *budget, dcm_report_fn report, void *report_ctx,
		 struct dcm_error *err)
{
	return graph__store_check(((struct daemon *)ctx)->graph, budget, report, report_ctx, err);
}

static int remove_from_store(void *ctx, const struct dcm_select *sel, uint64_t *ret_n_profiles,
			     struct dcm_error *err)
{
	return graph__store_remove(((struct daemon *)ctx)->graph, sel, ret_n_profiles, err);
}

static void each_instance(void *ctx, api_instance_fn fn, void *fn_ctx)
{
	graph__each(((struct daemon *)ctx)->graph, fn, fn_ctx);
}

static void each_target(void *ctx, api_target_fn fn, void *fn_ctx)
{
	graph__each_target(((struct daemon *)ctx)->graph, fn, fn_ctx);
}

static int encode(void *ctx, const struct dcm_batch *batch, const char *format, struct buf *out,
		  struct dcm_error *err)
{
	(void)ctx;
	return codec__encode(batch, DCM_NONE, format, out, err);
}

/* The texts are the configuration's, which outlives the server. */
static const struct tls_server_options *make_tls(struct daemon *d, const struct tls_settings *s)
{
	d->tls = (struct tls_server_options){
		.cert_file = s->cert_file,
		.key_file = s->key_file,
		.client_ca_file = s->client_ca_file,
		.client_optional = s->client_auth != 0,
		.client_role = (enum http_role)(s->client_role + HTTP_ROLE_READ),
	};
	return *s->cert_file ? &d->tls : NULL;
}

static int make_server(struct daemon *d, struct dcm_error *err)
{
	const struct server_settings *s = &graph__settings(d->graph)->server;
	struct access_rules *rules = NULL;
	int r = 0;

	d->routes = http_routes__new();
	d->selfprofile = selfprofile__new();
	if (r == 0 && (!d->routes || !d->selfprofile))
		r = error__nomem(err);
	if (r == 0)
		r = api__new(
			&(struct api_config){
				.stats = d->stats,
				.pipeline = graph__pipeline(d->graph),
				.symbols = graph__symbols(d->graph),
				.selfprofile = d->selfprofile,
				.log_tail = d->log_tail,
				.node = graph__node(d->graph),
				.data_dir = d->data_dir,
				.upload_bytes = (uint64_t)graph__settings(d->graph)->symbols.max_bytes,
				.config_path = d->source->path ? d->source->path : "(built-in)",
				.ctx = d,
				.engine = engine_of,
				.store_stat = store_stat_of,
				.workers_state = workers_state_of,
				.effective = effective,
				.each_instance = each_instance,
				.each_target = each_target,
				.encode = encode,
				.reload = reload_from_api,
				.reloaded_real_ns = reloaded_real_ns,
				.backup = backup,
				.check = check,
				.remove = remove_from_store },
			&d->api, err);
	if (r == 0)
		r = api__add_routes(d->api, d->routes, err);
	if (r == 0) {
		http_routes__set_pages(d->routes, d->pages);
		http_routes__set_endpoints(d->routes, d->endpoints);
	}
	if (r == 0)
		r = gate__make(s, &rules, err);
	if (r == 0)
		r = listener__new(
			&(struct listener_options){
				.addresses = s->listen.items,
				.n_addresses = s->listen.n,
				.tls = make_tls(d, &s->tls),
				.base_path = s->base_path,
				.rules = rules,
				.max_connections = (uint32_t)s->max_connections,
				.max_client_connections = (uint32_t)s->max_client_connections,
				.n_workers = (uint32_t)s->max_queries,
				.body_dir = d->data_dir,
				.request_timeout_ns = s->query_timeout_ns,
				.request_max_bytes = (uint64_t)s->query_memory_bytes },
			d->routes, &d->log, d->stats, &d->listener, err);
	return r;
}

/* ------------------------------------------------------------------------------------------------
 * Life
 */

/* Signals come through a descriptor: every thread that is made from here on has them blocked. */
static int catch_signals(struct daemon *d, struct dcm_error *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	d->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	d->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (d->signal_fd < 0 || d->wake_fd < 0)
		return error__sys(err, -errno, "cannot make the descriptors of the control thread");
	return 0;
}

static int start(struct daemon *d, struct dcm_error *err)
{
	struct plan *plan = NULL;
	int r = catch_signals(d, err);

	if (r == 0)
		r = load_plan(d, &plan, err);
	if (r == -EINVAL)
		return error__set(err, r, "the configuration has faults");
	if (r < 0)
		return r;
	d->log = log_setup__from(&plan->main->log, d->areas, MAX_AREAS);
	d->log.tail = d->log_tail;
	r = plan__data_dir(plan, d->data_dir, err);
	d->pages = pages__new();
	d->endpoints = endpoints__new(&clock__system);
	if (r == 0 && (!d->pages || !d->endpoints || stats__new(NULL, &d->stats) < 0 ||
		       stats__add_process(d->stats) < 0))
		r = error__nomem(err);
	if (r == 0)
		stats__on_loss(d->stats, wake, d);
	/* Before there is a second thread. */
	if (r == 0)
		r = separate__begin(&d->separate, plan, d->data_dir, err);
	if (r < 0) {
		plan__free(plan);
		return r;
	}
	r = graph__new(&(struct graph_config){ .log = &d->log,
					       .stats = d->stats,
					       .clock = &clock__system,
					       .data_dir = d->data_dir,
					       .broker = d->separate.broker,
					       .pages = d->pages,
					       .endpoints = d->endpoints },
		       plan, &d->graph, err);
	/*
	 * The port first: a second daemon shall fail before it has loaded anything into the kernel.
	 */
	if (r == 0)
		r = make_server(d, err);
	if (r == 0 && d->separate.privileged) {
		graph__open_with_rights(d->graph);
		r = separate__finish(&d->separate, err);
	}
	if (r == 0)
		r = graph__start(d->graph, err);
	if (r == 0)
		r = listener__start(d->listener, err);
	return r;
}

static void say_ready(struct daemon *d)
{
	const struct server_settings *s = &graph__settings(d->graph)->server;
	const char *const *listen = s->listen.items;
	struct buf where = { 0 };

	for (uint32_t i = 0; i < s->listen.n; i++) {
		struct dcm_str address = str__of(listen[i]);

		buf__text(&where, i ? ", " : "");
		if (!str__starts(address, STR("unix:")))
			buf__text(&where, *s->tls.cert_file ? "https://" : "http://");
		/* Port 0 asked the kernel for a free one: say which. */
		if (str__ends(address, STR(":0")))
			buf__printf(&where, "%.*s%u", (int)address.n - 1, address.p,
				    listener__port(d->listener, i));
		else
			buf__str(&where, address);
	}
	log__line(&d->log, DCM_LOG_INFO, "core", "decima %s is ready at %s", PACKAGE_VERSION,
		  where.n ? (const char *)where.data : "no address");
	buf__fini(&where);
}

/* The signal that ends the process, or 0 when woken for something else. */
static int take_signals(struct daemon *d)
{
	struct signalfd_siginfo info;
	struct dcm_error err = DCM_ERROR_INIT;
	int end = 0;

	while (read(d->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload_now(d, &err);
		else
			end = (int)info.ssi_signo;
	}
	return end;
}

/*
 * Left alone, the threshold rises to the largest block that was given back: a column that is made for the most that may come,
 * and cut to what came, was mapped anew in each profile (a scraper's decoding took a fifth longer).
 * What a question about a host's day frees stays for the next: at 8 MiB that took 4 of 50 ms longer. Of 8, 16, 24 and 64 MiB
 * only the last made an agent on a busy machine larger (75 MiB in the mean of two minutes instead of 64).
 */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 24 << 20);
}

/*
 * What large profiles, symbol tables and questions took for a moment goes back to the kernel every
 * ten seconds, and not at each free(): mapped and unmapped block by block, a question about a
 * busy host's day spent a quarter of its time in page faults (160 ms became 110). An agent beside a
 * busy machine is 1 MiB larger so than with each block unmapped, and 6 MiB smaller than without; a
 * turn takes 0.2 to 0.9 ms. Source: malloc_trim(3), mallopt(3).
 */
static void give_memory_back(struct daemon *d)
{
	const int64_t now = clock__mono(&clock__system);

	if (now < d->trim_at_ns)
		return;
	malloc_trim(0);
	d->trim_at_ns = now + TRIM_NS;
}

/* Returns the signal that ends the process, or who has died. Whatever woke us may be due. */
static int loop(struct daemon *d)
{
	int64_t next = graph__tick(d->graph);

	for (;;) {
		/*
		 * Of broker and forker only their end: what they answer is for those who asked. The
		 * graph does without the forker.
		 */
		struct pollfd p[] = { { .fd = d->signal_fd, .events = POLLIN },
				      { .fd = d->wake_fd, .events = POLLIN },
				      { .fd = separate__watch_fd(&d->separate) },
				      { .fd = graph__watch_fd(d->graph) } };
		int64_t left = next - clock__mono(&clock__system);
		eventfd_t ignored;
		int end = 0;

		poll(p, sizeof(p) / sizeof(*p), left > 0 ? (int)(left / 1000000) + 1 : 0);
		if (p[1].revents)
			eventfd_read(d->wake_fd, &ignored);
		if (p[0].revents)
			end = take_signals(d);
		if (end)
			return end;
		if (p[2].revents)
			return BROKER_DIED;
		answer_reloads(d);
		next = graph__tick(d->graph);
		give_memory_back(d);
		if (next > d->trim_at_ns)
			next = d->trim_at_ns;
	}
}

/* 0 for a signal, which is no fault. */
static int why_it_ends(int end, struct dcm_error *err)
{
	if (end == BROKER_DIED)
		return error__set(err, -EPIPE, "the broker, which has the rights to sample, has died");
	return 0;
}

/* False: a thread is still in a plugin, and may look at what fini() would free. */
static bool stop(struct daemon *d)
{
	int64_t now = clock__mono(&clock__system), drain = 0;
	int r, abandoned = 0;

	pthread_mutex_lock(&d->lock);
	d->ends = true;
	pthread_cond_broadcast(&d->answered);
	pthread_mutex_unlock(&d->lock);
	if (d->graph)
		drain = graph__settings(d->graph)->pipeline.drain_timeout_ns;
	/*
	 * Questions end before the store does; what was sampled has more claim to the time than
	 * they have.
	 */
	if (d->selfprofile)
		selfprofile__stop(d->selfprofile);
	r = listener__stop(d->listener, now + (drain < QUESTIONS_NS ? drain : QUESTIONS_NS));
	if (d->graph)
		abandoned = graph__stop(d->graph, now + drain);
	/* A handler may have come back while the rest was drained. */
	return abandoned == 0 && (r == 0 || listener__stop(d->listener, 0) == 0);
}

static void fini(struct daemon *d)
{
	listener__free(d->listener);
	api__free(d->api);
	selfprofile__free(d->selfprofile);
	http_routes__free(d->routes);
	graph__free(d->graph);
	pages__free(d->pages);
	endpoints__free(d->endpoints);
	loader__free(d->loader);
	stats__free(d->stats);
	separate__fini(&d->separate);
	fd__close(d->signal_fd);
	fd__close(d->wake_fd);
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->answered);
}

int daemon__run(const struct plan_source *source)
{
	struct daemon d = { .source = source, .log = log_setup__early(), .signal_fd = -1, .wake_fd = -1 };
	struct dcm_error err = DCM_ERROR_INIT;
	int r, end, status;

	mallopt(M_ARENA_MAX, ARENAS); /* not a heap for each thread: most only wait */
	keep_memory();
	pthread_mutex_init(&d.lock, NULL);
	pthread_cond_init(&d.answered, NULL);
	/* From the first word on, which may be a warning about the configuration. Nobody starts for want of it. */
	d.log.tail = d.log_tail = log_tail__new();
	r = start(&d, &err);
	if (r == 0) {
		say_ready(&d);
		end = loop(&d);
		r = why_it_ends(end, &err);
		if (r < 0)
			log__line(&d.log, DCM_LOG_ERROR, "core", "stopping: %s", err.text);
		else
			log__line(&d.log, DCM_LOG_INFO, "core", "stopping on %s",
				  end == SIGINT ? "SIGINT" : "SIGTERM");
	} else {
		log__line(&d.log, DCM_LOG_ERROR, "core", "cannot start: %s", err.text);
	}
	status = r == 0 ? EXIT_DONE : r == -EINVAL ? EXIT_USAGE : EXIT_NO;
	/* Everything stays where it is under a thread that may yet wake up. */
	if (!stop(&d))
		_exit(status);
	fini(&d);
	log_tail__free(d.log_tail);
	return status;
}
