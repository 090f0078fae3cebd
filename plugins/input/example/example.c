/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/example/example.c - an input that makes profiles up, to be copied by whoever writes
 * a real one
 *
 * Every `interval` it emits one CPU profile of a program that does not exist. Nothing but
 * <decima/plugin.h> and the C library is used, so this file builds anywhere:
 *
 *	cc -shared -fPIC -fvisibility=hidden $(pkg-config --cflags decima) -o input_example.so example.c
 *	decima-plugin-check ./input_example.so
 *
 * The name of the file is KIND_NAME.so. Put it into a directory of the plugin path, and write into
 * the configuration:
 *
 *	inputs:
 *	  example: { interval: 5s, service_name: demo }
 *
 * A plugin's file reads top-down: options, state, lifecycle, work, the tables, the one exported
 * function.
 *
 * Threads: the lifecycle on the host's control thread, collect() on the host's thread for this
 * instance; the host does not run the two at once, except prepare(), which therefore touches
 * nothing that collect() writes, and commit(), which changes what collect() reads and so takes the
 * lock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <decima/plugin.h>

/* ------------------------------------------------------------------------------------------------
 * Options: a struct, and a row for each member. The host parses the YAML, checks bounds, tells
 * users about misspelt keys, and hands over the filled struct.
 */

enum shape {
	SHAPE_STEADY, /* every profile is the same */
	SHAPE_WAVE,   /* the load goes up and down */
};

struct example_config {
	int64_t interval_ns;
	const char *service_name;
	int32_t shape; /* enum shape */
};

static const char *const shapes[] = { "steady", "wave", NULL };

static const struct dcm_option rows[] = {
	{
		.name = "interval",
		.type = DCM_OPT_DURATION,
		.offset = offsetof(struct example_config, interval_ns),
		.def = "10s",
		.min = "10ms",
		.max = "1h",
		.doc = "How often a profile is emitted, and how long each one says it lasted.",
	},
	{
		.name = "service_name",
		.type = DCM_OPT_STRING,
		.offset = offsetof(struct example_config, service_name),
		.def = "example",
		.doc = "The label service_name of the profiles.",
	},
	{
		.name = "shape",
		.type = DCM_OPT_CHOICE,
		.offset = offsetof(struct example_config, shape),
		.def = "steady",
		.choices = shapes,
		.doc = "steady: every profile is the same; wave: the load goes up and down within "
		       "20 profiles.",
	},
};

static const struct dcm_table options = DCM_TABLE(struct example_config, rows);

/* ------------------------------------------------------------------------------------------------
 * State: all of it in one struct, which open() makes and stop() frees. No globals: there may be
 * several instances.
 */

struct example {
	const struct dcm_host *host;
	struct dcm_builder *builder; /* reused for every batch */
	struct dcm_metric *emitted;  /* NULL is fine for the functions that take it */
	uint64_t n_rounds;	     /* of collect() */
	pthread_mutex_t mutex;	     /* guards config */
	const struct example_config *config; /* the host's; valid until stop() or the next commit() has returned */
};

/* A literal as the ABI's text. */
#define TEXT(literal) ((struct dcm_str){ "" literal, sizeof(literal) - 1 })

static struct dcm_str text_of(const char *s)
{
	return (struct dcm_str){ s, (uint32_t)strlen(s) };
}

static int fail(struct dcm_error *err, int code, const char *sentence)
{
	if (err && err->size > offsetof(struct dcm_error, text))
		snprintf(err->text, err->size - offsetof(struct dcm_error, text), "%s", sentence);
	return code;
}

/* ------------------------------------------------------------------------------------------------
 * Lifecycle
 */

/* Takes what may be lacking later, and leaves nothing behind when it fails. */
static int example_open(const struct dcm_host *host, const void *config, void **ret_instance,
			struct dcm_error *err)
{
	struct example *e = calloc(1, sizeof(*e));

	if (!e)
		return fail(err, -ENOMEM, "out of memory");
	e->host = host;
	e->config = config;
	/* An upper bound in bytes for what one batch may hold; ours are tiny. */
	e->builder = host->builder_new(host, 1024 * 1024);
	if (!e->builder) {
		free(e);
		return fail(err, -ENOMEM, "out of memory");
	}
	pthread_mutex_init(&e->mutex, NULL);
	e->emitted = host->metric(host, DCM_COUNTER, "example_profiles_total",
				  "Profiles that were made up.");
	*ret_instance = e;
	return 0;
}

/* Shown to users; to be said again when it changes. */
static void say_how_it_goes(const struct example *e, const struct example_config *config)
{
	e->host->set_state(e->host, DCM_STATE_OK, "makes up a profile every %lld ms",
			   (long long)(config->interval_ns / 1000000));
}

/* Threads would start here. This plugin has none: the host calls collect(). */
static int example_start(void *instance, struct dcm_error *err)
{
	struct example *e = instance;

	(void)err;
	say_how_it_goes(e, e->config);
	return 0;
}

/*
 * A new configuration, in two steps: prepare() may refuse and changes nothing, commit() cannot
 * fail. What has to be allocated or opened for the change is made in prepare() and handed over as
 * ret_change; here it is the configuration itself.
 */
static int example_prepare(void *instance, const void *config, void **ret_change, struct dcm_error *err)
{
	(void)instance;
	(void)err;
	*ret_change = (void *)(uintptr_t)config;
	return 0;
}

static void example_commit(void *instance, void *change)
{
	struct example *e = instance;

	pthread_mutex_lock(&e->mutex);
	e->config = change;
	pthread_mutex_unlock(&e->mutex);
	say_how_it_goes(e, change);
}

static void example_abort(void *instance, void *change)
{
	(void)instance;
	(void)change;
}

/* Frees everything. There is no drain(): between two calls of collect() nothing is held back. */
static void example_stop(void *instance)
{
	struct example *e = instance;

	e->host->builder_free(e->builder);
	pthread_mutex_destroy(&e->mutex);
	free(e);
}

/* ------------------------------------------------------------------------------------------------
 * Work: one profile. Adds never fail visibly: the builder remembers the first failure, and seal()
 * reports it.
 */

/* One frame that has a name and no address, as an interpreter or a test has. */
static uint32_t add_frame(const struct dcm_host *h, struct dcm_builder *b, struct dcm_str name,
			  int64_t line_number)
{
	struct dcm_function function = { .name = h->add_string(b, name),
					 .file = h->add_string(b, TEXT("example.c")) };
	struct dcm_line line = { .function = h->add_function(b, &function), .line = line_number };
	struct dcm_location location = {
		.mapping = DCM_NONE,
		.process = DCM_NONE,
		.addr_kind = DCM_ADDR_NONE,
		.kind = DCM_FRAME_INTERPRETED,
	};

	return h->add_location(b, &location, &line, 1);
}

/* The type of CPU time, process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta. */
static struct dcm_type cpu_type(const struct dcm_host *h, struct dcm_builder *b)
{
	return (struct dcm_type){
		.name = h->add_string(b, TEXT("process_cpu")),
		.sample_type = h->add_string(b, TEXT("cpu")),
		.sample_unit = h->add_string(b, TEXT("nanoseconds")),
		.period_type = h->add_string(b, TEXT("cpu")),
		.period_unit = h->add_string(b, TEXT("nanoseconds")),
		.temporality = DCM_DELTA,
	};
}

/* Two labels of the series (they change slowly and are indexed) and the head of the profile. */
static void add_head(const struct example *e, const struct example_config *config)
{
	const struct dcm_host *h = e->host;
	struct dcm_builder *b = e->builder;
	struct dcm_pair labels[] = {
		{ h->add_string(b, TEXT("service_name")),
		  h->add_string(b, text_of(config->service_name)) },
		{ h->add_string(b, TEXT("node")), h->add_string(b, text_of(h->node)) },
	};
	struct dcm_type type = cpu_type(h, b);
	struct dcm_profile head = {
		.series = h->add_series(b, labels, 2),
		.time_ns = h->real_ns(h) - config->interval_ns, /* a profile's time is its start */
		.duration_ns = config->interval_ns,
		.period = 10000000, /* a sample stands for 10 ms */
	};

	h->add_profile(b, &head, &type, 1);
}

/* main -> work (70 %) and main -> wait (30 %) of `busy` percent of the interval. */
static void add_rows(const struct example *e, int64_t interval_ns, int64_t busy)
{
	const struct dcm_host *h = e->host;
	struct dcm_builder *b = e->builder;
	uint32_t main_frame = add_frame(h, b, TEXT("main"), 10);
	uint32_t work[] = { add_frame(h, b, TEXT("work"), 20), main_frame }; /* leaf first */
	uint32_t wait[] = { add_frame(h, b, TEXT("wait"), 30), main_frame };
	int64_t total = interval_ns / 100 * busy;
	int64_t working = total / 10 * 7, waiting = total - working;
	/* A label of single samples (they differ from row to row, and are not indexed). */
	struct dcm_label thread = {
		.name = h->add_string(b, TEXT("thread_name")),
		.str = h->add_string(b, TEXT("worker")),
		.unit = DCM_NONE, /* text; a number would have a unit */
	};
	uint32_t set = h->add_label_set(b, &thread, 1);

	h->add_row(b, h->add_stack(b, work, 2), set, &working);
	h->add_row(b, h->add_stack(b, wait, 2), set, &waiting);
}

static int64_t percent_busy(const struct example *e, enum shape shape)
{
	uint64_t at = e->n_rounds % 20;

	if (shape == SHAPE_STEADY)
		return 50;
	return (int64_t)(at < 10 ? 10 + 8 * at : 90 - 8 * (at - 10));
}

/*
 * The host calls this every interval. What it returns as an error is logged and counted; the next
 * call comes anyway.
 */
static int example_collect(void *instance, struct dcm_error *err)
{
	struct example *e = instance;
	struct dcm_batch *batch = NULL;
	int r;

	/*
	 * Of the host, only what builds batches may be called with a lock that commit() takes too.
	 */
	pthread_mutex_lock(&e->mutex);
	add_head(e, e->config);
	add_rows(e, e->config->interval_ns, percent_busy(e, (enum shape)e->config->shape));
	pthread_mutex_unlock(&e->mutex);
	e->n_rounds++;

	r = e->host->seal(e->builder, &batch, err);
	if (r < 0)
		return r;
	/*
	 * Never blocks. When there is no room, this plugin has no place to keep the batch, and says
	 * so.
	 */
	r = e->host->emit(e->host, batch, NULL, NULL);
	if (r < 0)
		e->host->drop(e->host, "queue_full", 2);
	else
		e->host->metric_add(e->emitted, 1);
	e->host->batch_unref(batch);
	return 0;
}

static int64_t example_interval_ns(void *instance)
{
	struct example *e = instance;
	int64_t interval_ns;

	pthread_mutex_lock(&e->mutex);
	interval_ns = e->config->interval_ns;
	pthread_mutex_unlock(&e->mutex);
	return interval_ns;
}

/* ------------------------------------------------------------------------------------------------
 * What the host is told
 */

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = example_open,
	.start = example_start,
	.prepare = example_prepare,
	.commit = example_commit,
	.abort = example_abort,
	.stop = example_stop,
};

static const struct dcm_input_ops input = {
	.size = sizeof(input),
	.collect = example_collect,
	.interval_ns = example_interval_ns,
};

static const struct dcm_plugin plugin = {
	DCM_PLUGIN_HEAD,
	.kind = DCM_INPUT,
	.name = "example",
	.version = "1.0",
	.summary = "Makes up profiles: the plugin to copy.",
	.options = &options,
	.lifecycle = &lifecycle,
	.input = &input,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	return &plugin;
}
