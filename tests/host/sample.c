/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/host/sample.c - a host for one input: runs it for a while and prints every row that it
 * emits
 *
 *	sample PLUGIN_DIR KIND/NAME=YAML.. SECONDS
 *
 * stdout has a line per row: TYPE, series labels, sample labels, stack from root to leaf between
 * semicolons, value; separated by tabs. After them come the metrics, each behind "# ". stderr has
 * what the input logs. Everything but the pipeline is the real thing: loader, options, builder,
 * symbol store. A second instance may be a symbol source (input/perf_map={}). SIGUSR1 changes the
 * first instance's configuration to the YAML in $SAMPLE_RELOAD, SIGINT ends.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/type.h"
#include "core/config/options.h"
#include "core/config/problems.h"
#include "core/config/tree.h"
#include "core/net/http_client.h"
#include "core/plugin/instance.h"
#include "core/plugin/loader.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/symbols.h"

enum { INSTANCES_MAX = 4 };
#define DRAIN_NS 60000000000 /* where many run beside it, names alone may take seconds */

struct sample {
	pthread_mutex_t lock;			     /* over stdout */
	const struct plugin *plugins[INSTANCES_MAX]; /* never unloaded, so that no leak is seen */
	struct symbols *symbols;
	uint64_t n_batches;
};

static void die(const char *what, const struct dcm_error *err)
{
	fprintf(stderr, "sample: %s: %s\n", what, err->text);
	exit(1);
}

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

static void print_labels(const struct dcm_batch *b, uint32_t set)
{
	for (uint32_t i = 0; i < b->label_sets[set].n; i++) {
		const struct dcm_label *l = &b->labels[b->label_sets[set].off + i];

		printf("%s%.*s=", i ? "," : "", STR_ARG(b->strings[l->name]));
		if (l->unit == DCM_NONE)
			printf("%.*s", STR_ARG(b->strings[l->str]));
		else
			printf("%lld", (long long)l->num);
	}
}

static void print_stack(const struct dcm_batch *b, uint32_t stack)
{
	const struct dcm_span *s = &b->stacks[stack];

	for (uint32_t i = s->n; i-- > 0;) {
		uint32_t id = b->stack_locations[s->off + i];
		const struct dcm_location *loc = &b->locations[id];
		char text[256];

		for (uint32_t k = loc->n_lines; k-- > 0;) {
			const struct dcm_line *line = &b->lines[loc->line_off + k];

			printf("%.*s%s", STR_ARG(b->strings[b->functions[line->function].name]),
			       k ? ";" : "");
		}
		if (loc->n_lines == 0) {
			symbols__fallback_name(b, id, text, sizeof(text));
			printf("%s", text);
		}
		printf("%s", i ? ";" : "");
	}
}

static void print_profile(const struct dcm_batch *b, const struct dcm_profile *p)
{
	const struct dcm_span *series = &b->series[p->series];

	for (uint32_t row = 0; row < p->n_rows; row++) {
		printf("%.*s\t", STR_ARG(b->strings[b->types[p->type_off].name]));
		for (uint32_t i = 0; i < series->n; i++) {
			const struct dcm_pair *pair = &b->pairs[series->off + i];

			printf("%s%.*s=%.*s", i ? "," : "", STR_ARG(b->strings[pair->name]),
			       STR_ARG(b->strings[pair->value]));
		}
		printf("\t");
		print_labels(b, b->row_labels[p->row_off + row]);
		printf("\t");
		print_stack(b, b->row_stacks[p->row_off + row]);
		printf("\t%lld\n", (long long)b->values[p->value_off + row]);
	}
}

static int emit(void *ctx, const struct dcm_host *from, struct dcm_batch *batch, dcm_done_fn done,
		void *done_ctx)
{
	struct sample *s = ctx;
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *named = NULL;

	(void)from;
	if (symbols__resolve(s->symbols, batch, 5000000000, &named, &err) < 0)
		die("names", &err);
	pthread_mutex_lock(&s->lock);
	s->n_batches++;
	for (uint32_t i = 0; i < named->n_profiles; i++)
		print_profile(named, &named->profiles[i]);
	fflush(stdout);
	pthread_mutex_unlock(&s->lock);
	batch__unref(named);
	if (done)
		done(done_ctx, 0);
	return 0;
}

/* ------------------------------------------------------------------------------------------------
 * Services
 */

static void offer_file(void *ctx, struct dcm_str build_id, struct dcm_str path, int fd)
{
	symbols__offer(((struct sample *)ctx)->symbols, build_id, path, fd);
}

static int build_id(void *ctx, int fd, char ret_hex[static 129])
{
	(void)ctx;
	return elf__build_id(fd, ret_hex);
}

static int kernel_symbol(void *ctx, uint64_t address, struct dcm_str *ret_name, struct dcm_str *ret_module)
{
	return symbols__kernel(((struct sample *)ctx)->symbols, address, ret_name, ret_module);
}

static void state_changed(void *ctx, const struct dcm_host *host, enum dcm_state state, const char *sentence)
{
	(void)ctx;
	fprintf(stderr, "sample: %s: state %d: %s\n", host->instance, (int)state, sentence);
}

static struct settings *make_settings(const struct plugin *plugin, const char *yaml)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct problems problems = { 0 };
	struct options_env env = { .problems = &problems };
	struct settings *settings = NULL;
	struct tree *tree = NULL;

	if (tree__load_text("argument", str__of(yaml), &tree, &err) < 0)
		die("yaml", &err);
	if (settings__new(plugin, &env, "input", tree->root, NULL, 0, &settings) < 0) {
		problems__first(&problems, &err);
		die("options", &err);
	}
	problems__fini(&problems);
	tree__free(tree);
	return settings;
}

/* "input/ebpf=YAML" */
static int http_get(void *ctx, const struct dcm_http_request *request, struct dcm_http_answer *ret,
		    struct dcm_error *err)
{
	(void)ctx;
	return http_client__get(request, ret, err);
}

static struct instance *make_instance(struct loader *loader, const struct host_services *services,
				      const char *argument)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct sample *s = services->ctx;
	const char *slash = strchr(argument, '/'), *equals = strchr(argument, '=');
	const struct plugin *plugin = NULL;
	struct instance *instance = NULL;
	char name[64];

	if (!slash || !equals || equals < slash) {
		error__set(&err, -EINVAL, "\"%s\" is not KIND/NAME=YAML", argument);
		die("usage", &err);
	}
	snprintf(name, sizeof(name), "%.*s", (int)(equals - slash - 1), slash + 1);
	if (loader__get(loader, DCM_INPUT, name, &plugin, &err) < 0 ||
	    instance__new(plugin, name, make_settings(plugin, equals + 1), services, &instance, &err) < 0 ||
	    instance__open_and_start(instance, &err) < 0)
		die(name, &err);
	if (sources__add(services->sources, name, &plugin->input, instance__handle(instance)) < 0)
		exit(1);
	for (int i = 0; i < INSTANCES_MAX; i++)
		if (!s->plugins[i]) {
			s->plugins[i] = plugin;
			break;
		}
	return instance;
}

static void reload(struct instance *i)
{
	struct dcm_error err = DCM_ERROR_INIT;
	const char *yaml = getenv("SAMPLE_RELOAD");
	struct settings *settings = make_settings(instance__plugin(i), yaml ? yaml : "{}");
	int r = instance__prepare(i, settings, &err);

	fprintf(stderr, "sample: reload: %d %s\n", r, err.text);
	if (r == 0)
		instance__commit(i);
	else
		settings__free(settings);
}

/* Until the time is over or SIGINT; these signals are blocked everywhere. */
static void wait_for_end(const sigset_t *set, struct instance *first, double seconds)
{
	int64_t end = clock__mono(&clock__system) + (int64_t)(seconds * 1e9);

	for (;;) {
		int64_t left = end - clock__mono(&clock__system);
		struct timespec t = { .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };
		int sig;

		if (left <= 0)
			return;
		sig = sigtimedwait(set, NULL, &t);
		if (sig == SIGUSR1)
			reload(first);
		else if (sig > 0)
			return;
	}
}

static void print_metrics(struct stats *stats)
{
	struct buf text = { 0 };
	char *save = NULL;

	if (stats__write_prometheus(stats, &text) == 0)
		for (char *line = strtok_r((char *)text.data, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save))
			if (*line != '#')
				printf("# %s\n", line);
	buf__fini(&text);
}

int main(int argc, char **argv)
{
	static struct sample s = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct log log = { .fd = 2, .format = LOG_TEXT, .level = DCM_LOG_INFO };
	struct host_services services = { .log = &log, .node = "test", .ctx = &s };
	struct instance *instances[INSTANCES_MAX];
	struct dcm_error err = DCM_ERROR_INIT;
	struct loader *loader = NULL;
	sigset_t set;
	int n = 0;

	if (argc < 4 || argc > INSTANCES_MAX + 3) {
		fprintf(stderr, "usage: sample PLUGIN_DIR KIND/NAME=YAML.. SECONDS\n");
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (symbols__new(NULL, &s.symbols, &err) < 0 || loader__new(argv[1], false, &loader, &err) < 0)
		die("start", &err);
	services.sources = sources__new();
	if (!services.sources || stats__new(NULL, &services.stats) < 0)
		return 1;
	services.emit = emit;
	services.offer_file = offer_file;
	services.build_id = build_id;
	services.kernel_symbol = kernel_symbol;
	services.http_get = http_get;
	services.state_changed = state_changed;
	for (int i = 2; i < argc - 1; i++)
		instances[n++] = make_instance(loader, &services, argv[i]);
	wait_for_end(&set, instances[0], strtod(argv[argc - 1], NULL));
	for (int i = 0; i < n; i++) {
		instance__drain(instances[i], clock__mono(&clock__system) + DRAIN_NS);
		print_metrics(services.stats);
		sources__remove(services.sources, instance__handle(instances[i]));
		instance__stop(instances[i]);
		instance__free(instances[i]);
	}
	printf("# batches %llu\n", (unsigned long long)s.n_batches);
	stats__free(services.stats);
	sources__free(services.sources);
	loader__free(loader);
	symbols__free(s.symbols);
	return 0;
}
