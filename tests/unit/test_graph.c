/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_graph.c - the running objects: start, every way a reload can go, trying again,
 * stop
 *
 * With the memory store, the example input and the output that misbehaves as it is told.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/main/graph.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/plan_sample.h"

#define SECOND INT64_C(1000000000)
#define STORE  "storage: { memory: {} }\n"
/* And another, which answers no question. */
#define STORE_AND(another) "storage: { memory: {}, " another " }\n"

static const struct log quiet = { .fd = -1, .level = -1 };
static struct loader *loader;

struct running {
	struct stats *stats;
	struct graph *graph;
};

static int set_up(void **state)
{
	(void)state;
	loader = plan_sample__loader();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	loader__free(loader);
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int64_t in_s(int64_t s)
{
	return clock__mono(&clock__system) + s * SECOND;
}

static struct running start_as(const char *yaml, struct graph_config c)
{
	struct running r = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;

	assert_int_equal(stats__new(NULL, &r.stats), 0);
	c.stats = r.stats;
	if (graph__new(&c, plan_sample__load(loader, yaml), &r.graph, &err) < 0 ||
	    graph__start(r.graph, &err) < 0)
		fail_msg("%s", err.text);
	return r;
}

static struct running start_logged(const char *yaml, const struct clock *clock, const struct log *log)
{
	return start_as(yaml, (struct graph_config){
				      .log = log, .clock = clock, .data_dir = "/proc/nonexistent" });
}

static struct running start_in(const char *data_dir, const char *yaml)
{
	return start_as(yaml, (struct graph_config){
				      .log = &quiet, .clock = &clock__system, .data_dir = data_dir });
}

static struct running start_with(const char *yaml, const struct clock *clock)
{
	return start_logged(yaml, clock, &quiet);
}

static struct running start(const char *yaml)
{
	return start_with(yaml, &clock__system);
}

static void stop(struct running *r)
{
	assert_int_equal(graph__stop(r->graph, in_s(5)), 0);
	graph__free(r->graph);
	stats__free(r->stats);
}

static int reload(struct running *r, const char *yaml, struct dcm_error *err)
{
	struct plan *plan = plan_sample__load(loader, yaml);
	int e;

	*err = (struct dcm_error)DCM_ERROR_INIT;
	e = graph__reload(r->graph, plan, err);
	if (e < 0)
		plan__free(plan);
	return e;
}

static void reload_or_fail(struct running *r, const char *yaml)
{
	struct dcm_error err;

	if (reload(r, yaml, &err) < 0)
		fail_msg("%s", err.text);
}

struct looking {
	const char *name;
	struct instance_view view;
	bool found;
};

static void look(void *ctx, const struct api_instance *i)
{
	struct looking *l = ctx;

	if (strcmp(i->name, l->name) != 0)
		return;
	l->view = i->view;
	l->found = true;
}

static struct looking view(struct running *r, const char *name)
{
	struct looking l = { .name = name };

	graph__each(r->graph, look, &l);
	return l;
}

static int is_wanted(void *ctx, struct dcm_str name, uint64_t n_series)
{
	struct dcm_str *want = ctx;

	(void)n_series;
	if (str__eq(name, *want))
		want->n = 0;
	return 0;
}

/* Does the store know the service by now? */
static bool is_stored(struct running *r, const char *service)
{
	const struct question q = { .selector = STR(""), .to_ms = INT64_MAX / 2000000 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_str want = str__of(service);

	if (engine__values(graph__engine(r->graph), &q, STR("service_name"), is_wanted, &want, &err) < 0)
		fail_msg("%s", err.text);
	return want.n == 0;
}

static void wait_stored(struct running *r, const char *service)
{
	for (int64_t end = in_s(10); !is_stored(r, service); poll(NULL, 0, 5))
		if (clock__mono(&clock__system) > end)
			fail_msg("nothing of %s was stored", service);
}

#define EXAMPLE(service) "inputs: { example: { interval: 10ms, service_name: " service " } }\n"

static void starts_and_answers(void **state)
{
	struct running r = start(EXAMPLE("one") STORE);
	struct dcm_store_stat s = { .size = sizeof(s) };

	(void)state;
	wait_stored(&r, "one");
	assert_int_equal(view(&r, "example").view.phase, INSTANCE_STARTED);
	assert_false(graph__failed_input(r.graph));
	graph__stop_inputs(r.graph, in_s(5));
	assert_int_equal(graph__flush(r.graph, in_s(5)), 0);
	assert_true(graph__store_stat(r.graph, &s));
	assert_true(s.n_rows > 0);
	stop(&r);
}

/* What only a restart can change is looked at for as long as the graph lives: by the listener. */
static void reload_of_the_same(void **state)
{
	static const char yaml[] = "server: { hosts: [here] }\n" EXAMPLE("one") STORE
		"outputs: { testing: { selector: '{env=\"x\"}' } }\n";
	struct running r = start(yaml);
	struct main_settings then = *graph__settings(r.graph);
	int64_t since[] = { view(&r, "memory").view.state.since_real_ns,
			    view(&r, "example").view.state.since_real_ns,
			    view(&r, "testing").view.state.since_real_ns };

	(void)state;
	for (int i = 0; i < 3; i++)
		reload_or_fail(&r, yaml);
	assert_int_equal(view(&r, "memory").view.state.since_real_ns, since[0]);
	assert_int_equal(view(&r, "example").view.state.since_real_ns, since[1]);
	assert_int_equal(view(&r, "testing").view.state.since_real_ns, since[2]);
	assert_string_equal(((const char *const *)then.server.hosts.items)[0], "here");
	wait_stored(&r, "one");
	stop(&r);
}

static void reload_of_a_change(void **state)
{
	struct running r = start(EXAMPLE("one") STORE "outputs: { testing: {} }\n");
	int64_t since = view(&r, "example").view.state.since_real_ns;

	(void)state;
	wait_stored(&r, "one");
	reload_or_fail(&r, EXAMPLE("two") STORE
		       "outputs: { testing: { selector: '{a=\"b\"}', number: 6 } }\n");
	wait_stored(&r, "two");
	/* The store's own settings change in place, too. */
	reload_or_fail(&r, EXAMPLE("three") "storage: { memory: { retention: 5h } }\n");
	wait_stored(&r, "three");
	assert_int_equal(view(&r, "example").view.state.since_real_ns, since);
	assert_false(view(&r, "testing").found);
	stop(&r);
}

/* What is led nowhere may have a selector all the same, and another one later. */
static void reload_of_a_frontend(void **state)
{
	static const char *const changes[] = {
		"frontend: { selector: '{a=\"b\"}' }",
		"frontend: { selector: '{a=\"c\"}', number: 6 }",
		"frontend: { relabel_configs: [ { regex: x, action: labeldrop } ] }",
		"frontend: {}",
	};
	struct running r = start(STORE "outputs: { frontend: {} }\n");
	int64_t since = view(&r, "frontend").view.state.since_real_ns;
	char yaml[256];

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		snprintf(yaml, sizeof(yaml), STORE "outputs: { %s }\n", changes[i]);
		reload_or_fail(&r, yaml);
	}
	assert_int_equal(view(&r, "frontend").view.phase, INSTANCE_STARTED);
	assert_int_equal(view(&r, "frontend").view.state.since_real_ns, since);
	stop(&r);
}

static void one_that_refuses_keeps_all(void **state)
{
	static const char *const refused[] = {
		"outputs: { testing: { mode: refuse } }\n",
		"outputs: { testing: {}, file: { directory: /proc/nonexistent } }\n",
		"outputs: { testing: [ {}, { name: new, mode: fail_for_good } ] }\n",
		"outputs: { testing: {} }\nlog: { level: debug }\n",
	};
	struct running r = start(EXAMPLE("one") STORE "outputs: { testing: {} }\n");
	struct dcm_error err;
	char yaml[512];

	(void)state;
	wait_stored(&r, "one");
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		snprintf(yaml, sizeof(yaml), EXAMPLE("two") STORE "%s", refused[i]);
		if (reload(&r, yaml, &err) == 0)
			fail_msg("accepted: %s", refused[i]);
		assert_true(err.text[0] != '\0');
		assert_int_equal(view(&r, "testing").view.phase, INSTANCE_STARTED);
		assert_false(view(&r, "new").found);
		assert_false(view(&r, "file").found);
	}
	poll(NULL, 0, 100);
	assert_false(is_stored(&r, "two"));
	/* And it can still change. */
	reload_or_fail(&r, EXAMPLE("two") STORE);
	wait_stored(&r, "two");
	stop(&r);
}

/* The text with `dir` for each "@". */
static const char *in_dir(const char *text, const char *dir, char ret[static 1024])
{
	size_t n = 0;

	for (; *text; text++)
		n += (size_t)snprintf(ret + n, 1024 - n, "%.*s", *text == '@' ? 64 : 1,
				      *text == '@' ? dir : text);
	return ret;
}

static double lost(struct running *r, const char *name, const char *reason)
{
	return stats__value(r->stats, "decima_dropped_total",
			    STATS_LABELS({ "instance", name }, { "reason", reason }));
}

static double written(struct running *r, const char *name)
{
	return stats__value(r->stats, "decima_written_rows_total", STATS_LABELS({ "instance", name }));
}

struct refusal {
	const char *is, *wanted; /* "@" is a directory that exists */
	const char *name;	 /* whom it is about */
	int code;
};

/* The one it is about runs as before, and can still change. */
static void refuses(const char *dir, const struct refusal *c)
{
	char is[1024], wanted[1024];
	struct running r = start(in_dir(c->is, dir, is));
	struct dcm_error err;
	int e;

	assert_int_equal(view(&r, c->name).view.phase, INSTANCE_STARTED);
	e = reload(&r, in_dir(c->wanted, dir, wanted), &err);
	if (e != c->code)
		fail_msg("%d (%s): %s", e, e < 0 ? err.text : "accepted", wanted);
	assert_non_null(strstr(err.text, c->name));
	if (!strstr(wanted, "fail_") && e == -EADDRINUSE)
		assert_non_null(strstr(
			err.text, "; when what is to go has it, reload without that one first"));
	assert_int_equal(view(&r, c->name).view.phase, INSTANCE_STARTED);
	assert_int_equal(view(&r, c->name).view.state.state, DCM_STATE_OK);
	for (int i = 0; i < 2; i++)
		assert_int_equal(reload(&r, wanted, &err), c->code);
	reload_or_fail(&r, is);
	assert_int_equal(view(&r, c->name).view.phase, INSTANCE_STARTED);
	reload_or_fail(&r, "labels: {}\n");
	assert_false(view(&r, c->name).found);
	stop(&r);
}

static void one_that_cannot_restart_keeps_all(void **state)
{
	static const struct refusal cases[] = {
		/* Opened beside the one that runs. */
		{ "outputs: { file: { directory: @/files } }",
		  "outputs: { file: { directory: /proc/nope } }", "file", -ENOENT },
		/* Both have need of the same, and the new one does not start. */
		{ "outputs: { testing: { lock: @/lock } }",
		  "outputs: { testing: { lock: @/lock, mode: fail_start, generation: 1 } }",
		  "testing", -EIO },
		/* Or does not open: the port that it wants is taken. */
		{ "outputs: { testing: { lock: @/lock } }",
		  "outputs: { testing: { lock: @/lock, mode: fail_open, generation: 1 } }",
		  "testing", -EADDRINUSE },
		/* Somebody else does not open. */
		{ "outputs: { testing: { lock: @/lock } }",
		  "outputs: { testing: [ { lock: @/lock, generation: 1 }, "
		  "{ name: testing_b, mode: fail_open } ] }",
		  "testing", -EADDRINUSE },
		/* Or does not start, though it is new. */
		{ "outputs: { testing: {} }",
		  "outputs: { testing: [ {}, { name: testing_b, mode: fail_start } ] }", "testing", -EIO },
		/* The first of two has changed over already. */
		{ "outputs: { testing: [ { lock: @/lock }, { name: testing_b } ] }",
		  "outputs: { testing: [ { lock: @/lock, generation: 1 }, "
		  "{ name: testing_b, mode: fail_start, generation: 1 } ] }",
		  "testing", -EIO },
		{ "inputs: { ledger: { directory: @ } }",
		  "inputs: { ledger: { directory: /proc/nope } }", "ledger", -EIO },
		/* Two swap what they have, and a third one does not start, or is new and does not open. */
		{ "outputs: { testing: [ { lock: @/a }, { name: b, lock: @/b }, { name: testing_c "
		  "} ] }",
		  "outputs: { testing: [ { lock: @/b }, { name: b, lock: @/a }, "
		  "{ name: testing_c, mode: fail_start, generation: 1 } ] }",
		  "testing", -EIO },
		{ "outputs: { testing: [ { lock: @/a }, { name: b, lock: @/b } ] }",
		  "outputs: { testing: [ { name: new, lock: @/a }, { name: testing, lock: @/b }, "
		  "{ name: b, lock: @/c }, { name: testing_d, mode: fail_open } ] }",
		  "testing", -EADDRINUSE },
		/* What is to go has it until all have changed over. */
		{ "outputs: { testing: [ { lock: @/a }, { name: b, lock: @/b } ] }",
		  "outputs: { testing: { lock: @/b } }", "testing", -EADDRINUSE },
	};
	char dir[] = "/tmp/decima-graph-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuses(dir, &cases[i]);
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void is_well(void *ctx, const struct api_instance *i)
{
	if (i->view.state.state != DCM_STATE_OK)
		fail_msg("step %zu: %s: %s", *(size_t *)ctx, i->name, i->view.state.sentence);
}

/* What one gives up another one takes, in whatever order they stand in the file. */
static void what_they_have_goes_round(void **state)
{
#define THREE(a, b, c)                                                                             \
	"outputs: { testing: [ { name: a" a " }, { name: b" b " }, { name: c" c " } ] }"
#define DIRS(x, y, a, b)                                                                           \
	STORE_AND("local: [ { name: x, path: " x " }, { name: y, path: " y " } ]")                 \
	"outputs: { file: [ { name: a, directory: " a " }, { name: b, directory: " b " } ] }"
	static const char *const steps[] = {
		STORE EXAMPLE("one") THREE(", lock: @/1", ", lock: @/2", ""),
		STORE EXAMPLE("one") THREE(", lock: @/2", ", lock: @/1", ""),
		/* Around, and one after the other. */
		STORE EXAMPLE("one") THREE(", lock: @/1", ", lock: @/3", ", lock: @/2"),
		STORE EXAMPLE("one") THREE(", lock: @/3", ", lock: @/2", ", lock: @/1"),
		STORE EXAMPLE("one") THREE(", lock: @/2", ", lock: @/1", ", lock: @/4"),
		/* To one that is new. */
		STORE EXAMPLE("one") "outputs: { testing: [ { name: d, lock: @/1 }, "
				     "{ name: a, lock: @/2 }, { name: b, lock: @/5 } ] }",
		DIRS("@/x", "@/y", "@/a", "@/b"),
		DIRS("@/y", "@/x", "@/b", "@/a"),
	};
	char dir[] = "/tmp/decima-graph-XXXXXX", text[1024];
	struct running r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (i == 0)
			r = start(in_dir(steps[i], dir, text));
		else
			reload_or_fail(&r, in_dir(steps[i], dir, text));
		graph__each(r.graph, is_well, &i);
		if (i == 4)
			wait_stored(&r, "one");
	}
	assert_true(lost(&r, "a", "shutdown") + lost(&r, "a", "not_running") == 0);
	stop(&r);
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A store that does not answer: what it has in memory, and the lock of its directory. */
static void second_store_that_cannot_restart_stays(void **state)
{
	static const char *const is = STORE_AND("local: { path: @/store }"), *const refused[] = {
		STORE_AND("local: { path: /proc/nope }"), STORE_AND("local: { path: @/file }")
	};
	char dir[] = "/tmp/decima-graph-XXXXXX", text[1024];
	struct dcm_error err;
	struct running r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(fd__replace(in_dir("@/file", dir, text), 0600, "x", 1, NULL), 0);
	r = start(in_dir(is, dir, text));
	assert_int_equal(view(&r, "local").view.phase, INSTANCE_STARTED);
	for (size_t i = 0; i < 2; i++) {
		assert_true(reload(&r, in_dir(refused[i], dir, text), &err) < 0);
		assert_int_equal(view(&r, "local").view.phase, INSTANCE_STARTED);
	}
	/* The same directory by another name: the old one has its lock, and lets it go. */
	reload_or_fail(&r, in_dir(STORE_AND("local: { path: @/./store }"), dir, text));
	assert_int_equal(view(&r, "local").view.phase, INSTANCE_STARTED);
	/* What its queue may hold is changed without another thing. */
	reload_or_fail(&r, in_dir(STORE_AND("local: { path: @/./store, queue_max: 32MiB }"), dir, text));
	assert_int_equal(view(&r, "local").view.phase, INSTANCE_STARTED);
	reload_or_fail(&r, STORE);
	assert_false(view(&r, "local").found);
	stop(&r);
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* What one that has failed should have got waits for it, or is counted. */
static void what_a_failed_one_should_get_is_not_lost_silently(void **state)
{
	struct clock clock = clock__fake(SECOND, SECOND);
	struct running r = start_with(
		STORE EXAMPLE("one") "outputs: { testing: [ { mode: fail_start }, "
				     "{ name: lasting, mode: fail_for_good } ] }\n",
		&clock);

	(void)state;
	wait_stored(&r, "one");
	graph__stop_inputs(r.graph, in_s(5));
	assert_int_equal(graph__flush(r.graph, clock__mono(&clock__system) + SECOND / 10), -ETIMEDOUT);
	assert_true(lost(&r, "lasting", "not_running") > 0);
	assert_true(lost(&r, "testing", "not_running") == 0);
	reload_or_fail(&r, STORE "outputs: { testing: {} }\n");
	assert_int_equal(graph__flush(r.graph, in_s(5)), 0);
	assert_true(written(&r, "testing") == written(&r, "memory"));
	assert_true(lost(&r, "testing", "not_running") + lost(&r, "testing", "shutdown") == 0);
	stop(&r);
}

/* What comes while one is restarted, and what the old one could not write, waits for the new one. */
static void a_restart_loses_nothing(void **state)
{
	struct running r = start(STORE EXAMPLE("one") "outputs: { testing: { mode: again } }\n");
	char yaml[256];

	(void)state;
	wait_stored(&r, "one");
	for (int i = 1; i < 50; i++) {
		snprintf(yaml, sizeof(yaml),
			 STORE EXAMPLE(
				 "one") "outputs: { testing: { mode: again, generation: %d } }\n",
			 i);
		reload_or_fail(&r, yaml);
	}
	reload_or_fail(&r, STORE "outputs: { testing: { generation: 50 } }\n");
	assert_int_equal(graph__flush(r.graph, in_s(5)), 0);
	assert_true(lost(&r, "testing", "not_running") + lost(&r, "testing", "shutdown") +
			    lost(&r, "testing", "queue_full") ==
		    0);
	assert_true(written(&r, "testing") == written(&r, "memory"));
	/* Nor does what has been counted begin anew. */
	reload_or_fail(&r, STORE "outputs: { testing: { generation: 51 } }\n");
	assert_true(written(&r, "testing") == written(&r, "memory"));
	stop(&r);
}

static void one_that_needs_a_restart(void **state)
{
	struct running r = start(STORE "outputs: { testing: {} }\n");
	int64_t since = view(&r, "testing").view.state.since_real_ns;

	(void)state;
	reload_or_fail(&r, STORE "outputs: { testing: { mode: busy } }\n");
	assert_int_equal(view(&r, "testing").view.phase, INSTANCE_STARTED);
	assert_true(view(&r, "testing").view.state.since_real_ns > since);
	stop(&r);
}

static void the_store_that_answers_stays(void **state)
{
	static const char *const refused[] = { "storage: { memory: { path: /tmp } }\n", "labels: {}\n",
					       "storage: { memory: { name: other } }\n" };
	struct running r = start(STORE);
	struct dcm_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(reload(&r, refused[i], &err), -EBUSY);
		assert_non_null(strstr(err.text, "restart decima"));
		assert_non_null(strstr(err.text, "storage memory"));
		assert_non_null(graph__engine(r.graph));
	}
	/* A second one may come and go. */
	reload_or_fail(&r, "storage: { memory: [ {}, { name: second } ] }\n");
	assert_int_equal(view(&r, "second").view.phase, INSTANCE_STARTED);
	assert_int_equal(
		reload(&r, "storage: { memory: [ {}, { name: second, path: /nonexistent } ] }\n", &err),
		-ENOENT);
	assert_int_equal(view(&r, "second").view.phase, INSTANCE_STARTED);
	reload_or_fail(&r, STORE);
	assert_false(view(&r, "second").found);
	stop(&r);
}

/* A store that did not start is mended by the file. */
static void failed_store_is_mended(void **state)
{
	struct running r = start("storage: { memory: { path: /nonexistent } }\n");

	(void)state;
	assert_null(graph__engine(r.graph));
	assert_int_equal(view(&r, "memory").view.phase, INSTANCE_FAILED);
	reload_or_fail(&r, STORE EXAMPLE("one"));
	graph__tick(r.graph);
	assert_non_null(graph__engine(r.graph));
	wait_stored(&r, "one");
	stop(&r);
}

static void look_inside(void *ctx, const struct pipeline_view *v)
{
	bool *inside = ctx;

	if (strcmp(v->name, "testing") == 0)
		*inside = v->writer->writing_since_mono_ns > 0;
}

static void wait_inside(struct running *r)
{
	bool inside = false;

	for (int64_t end = in_s(10); !inside; poll(NULL, 0, 1)) {
		if (clock__mono(&clock__system) > end)
			fail_msg("nothing was written");
		pipeline__each(graph__pipeline(r->graph), look_inside, &inside);
	}
}

/*
 * Nobody else is touched by one that hangs. Its thread is inside for good, and looks at its host:
 * so the graph says at its end that all must stay.
 */
static void one_that_hangs_is_left_behind(void **state)
{
	static struct running r;

	(void)state;
	r = start(EXAMPLE("one") STORE "outputs: { testing: { mode: hang } }\n");
	wait_stored(&r, "one");
	wait_inside(&r);
	assert_int_equal(graph__stop(r.graph, in_s(3)), -ETIMEDOUT);
	assert_int_equal(view(&r, "testing").view.state.state, DCM_STATE_FAILED);
	assert_int_equal(view(&r, "example").view.state.state, DCM_STATE_STOPPED);
	assert_int_equal(view(&r, "memory").view.state.state, DCM_STATE_STOPPED);
}

/* Another takes its place, and gets what comes; the thread that stays behind looks at the old one. */
static void one_that_hangs_is_replaced(void **state)
{
	static struct running r;

	(void)state;
	r = start("pipeline: { drain_timeout: 100ms }\n" EXAMPLE("one") STORE
		  "outputs: { testing: { mode: hang } }\n");
	wait_inside(&r);
	reload_or_fail(&r, "pipeline: { drain_timeout: 100ms }\n" EXAMPLE("one") STORE
		       "outputs: { testing: { mode: ok, generation: 1 } }\n");
	assert_int_equal(view(&r, "testing").view.state.state, DCM_STATE_OK);
	assert_true(lost(&r, "testing", "abandoned") > 0);
	for (int64_t end = in_s(10); stats__value(r.stats, "decima_written_rows_total",
						  STATS_LABELS({ "instance", "testing" })) == 0;
	     poll(NULL, 0, 5))
		assert_true(clock__mono(&clock__system) < end);
	assert_int_equal(graph__stop(r.graph, in_s(3)), -ETIMEDOUT);
}

static void instances_come_and_go(void **state)
{
	struct running r = start(STORE);

	(void)state;
	reload_or_fail(&r, STORE EXAMPLE("one") "outputs: { testing: [ {}, {} ] }\n");
	wait_stored(&r, "one");
	assert_true(view(&r, "testing#2").found);
	reload_or_fail(&r, STORE "outputs: { testing: { name: 'testing#2' } }\n");
	assert_false(view(&r, "example").found);
	assert_false(view(&r, "testing").found);
	assert_int_equal(view(&r, "testing#2").view.phase, INSTANCE_STARTED);
	reload_or_fail(&r, STORE);
	stop(&r);
}

/* The clock is ours: a second and two are what the first tries wait. */
static void failed_start_is_retried(void **state)
{
	struct clock clock = clock__fake(SECOND, SECOND);
	struct running r = start_with("outputs: { testing: [ { mode: fail_twice }, "
				      "{ name: lasting, mode: fail_for_good } ] }\n",
				      &clock);

	(void)state;
	assert_int_equal(view(&r, "testing").view.phase, INSTANCE_FAILED);
	for (int i = 0; i < 4; i++) {
		graph__tick(r.graph);
		clock.fake_mono_ns += SECOND;
	}
	assert_int_equal(view(&r, "testing").view.phase, INSTANCE_STARTED);
	assert_int_equal(view(&r, "lasting").view.phase, INSTANCE_FAILED);
	assert_int_equal(view(&r, "lasting").view.n_failures, 1);
	stop(&r);
}

/* Who did what the sentence says, and reloads, does not have to change the file too. */
static void reload_tries_again_what_failed(void **state)
{
	char dir[] = "/tmp/decima-graph-XXXXXX", release[64], yaml[256];
	struct running r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(release, sizeof(release), "%s/release", dir);
	snprintf(yaml, sizeof(yaml),
		 STORE "outputs: { testing: { mode: fail_for_good, release: %s } }\n", release);
	r = start(yaml);
	reload_or_fail(&r, yaml);
	assert_int_equal(view(&r, "testing").view.phase, INSTANCE_FAILED);
	assert_int_equal(view(&r, "testing").view.n_failures, 2);
	assert_int_equal(fd__replace(release, 0600, "", 0, NULL), 0);
	reload_or_fail(&r, yaml);
	assert_int_equal(view(&r, "testing").view.phase, INSTANCE_STARTED);
	stop(&r);
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* One allocation after the other fails while two parts are made, started and hung on: both, or none. */
static void whatever_fails_in_a_start_is_undone(void **state)
{
	static const char yaml[] = STORE EXAMPLE("one") "outputs: { testing: {} }\n";
	struct clock clock = clock__fake(SECOND, SECOND);
	unsigned n_failed = 0;
	bool done = false;

	(void)state;
	for (uint64_t i = 1; !done; i++) {
		struct running r = start_with(STORE, &clock);
		struct plan *plan = plan_sample__load(loader, yaml);
		struct dcm_error err = DCM_ERROR_INIT;
		int e;

		failmalloc__arm_once(i);
		e = graph__reload(r.graph, plan, &err);
		done = !failmalloc__disarm();
		if (e < 0) {
			n_failed++;
			plan__free(plan);
			assert_string_not_equal(err.text, "");
			assert_false(view(&r, "example").found || view(&r, "testing").found);
			reload_or_fail(&r, yaml);
		}
		assert_int_equal(view(&r, "example").view.phase, INSTANCE_STARTED);
		assert_int_equal(view(&r, "testing").view.phase, INSTANCE_STARTED);
		stop(&r);
	}
	assert_true(n_failed > 0);
}

static struct log log_in_memory(void)
{
	struct log log = { .fd = memfd_create("log", MFD_CLOEXEC), .level = DCM_LOG_INFO };

	assert_true(log.fd >= 0);
	return log;
}

/* That the sentence came so often; ends the log. */
static void logged(struct log *log, const char *sentence, unsigned times)
{
	struct buf text = { 0 };
	unsigned n = 0;

	lseek(log->fd, 0, SEEK_SET);
	assert_int_equal(fd__read_all(log->fd, 1 << 20, &text), 0);
	buf__byte(&text, '\0');
	for (const char *p = (const char *)text.data; (p = strstr(p, sentence)); p++)
		n++;
	if (n != times)
		fail_msg("%u times \"%s\" in: %s", n, sentence, (const char *)text.data);
	buf__fini(&text);
	fd__close(log->fd);
}

/* It says itself when there will be something to do. */
static void tick_sleeps_until_something_is_due(void **state)
{
	struct clock clock = clock__fake(SECOND, SECOND);
	struct log log = log_in_memory();
	struct running r = start_logged("outputs: { testing: { mode: fail_open } }\n", &clock, &log);

	(void)state;
	/* Another try after a second, two, four, and so on. */
	for (int64_t s = 1; s <= 8; s *= 2) {
		clock.fake_mono_ns = s * SECOND;
		assert_int_equal(graph__tick(r.graph), 2 * s * SECOND);
	}
	clock.fake_mono_ns = 16 * SECOND;
	assert_int_equal(graph__tick(r.graph), 24 * SECOND);
	/* A loss at once, and the next ones of its kind ten seconds later. */
	stats__drop(r.stats, "testing", "shaken", 1);
	assert_int_equal(graph__tick(r.graph), 24 * SECOND);
	stats__drop(r.stats, "testing", "shaken", 2);
	clock.fake_mono_ns = 20 * SECOND;
	assert_int_equal(graph__tick(r.graph), 26 * SECOND);
	clock.fake_mono_ns = 26 * SECOND;
	assert_int_equal(graph__tick(r.graph), 32 * SECOND);
	/* The upkeep of stores comes round once a minute. */
	clock.fake_mono_ns = 58 * SECOND;
	assert_int_equal(graph__tick(r.graph), 61 * SECOND);
	clock.fake_mono_ns = 61 * SECOND;
	assert_int_equal(graph__tick(r.graph), 69 * SECOND);
	stop(&r);
	logged(&log, "lost 2 (shaken), 3 since the start", 1);
}

/* What a plugin says when it does not start stands in the log once. */
static void failed_start_is_one_line(void **state)
{
	struct clock clock = clock__fake(SECOND, SECOND);
	struct log log = log_in_memory();
	struct running r;

	(void)state;
	r = start_logged("outputs: { testing: { mode: fail_start } }\n", &clock, &log);
	stop(&r);
	logged(&log, "start was told to fail", 1);
}

/* That the new one cannot have yet what the old one has is no news of a reload that goes well. */
static void trial_is_not_logged(void **state)
{
	struct clock clock = clock__fake(SECOND, SECOND);
	struct log log = log_in_memory();
	char dir[] = "/tmp/decima-graph-XXXXXX", text[1024];
	struct running r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	r = start_logged(in_dir("outputs: { testing: { lock: @/lock } }\n", dir, text), &clock, &log);
	reload_or_fail(&r, in_dir("outputs: { testing: { lock: @/lock, generation: 1 } }\n", dir, text));
	assert_int_equal(view(&r, "testing").view.phase, INSTANCE_STARTED);
	stop(&r);
	logged(&log, "another has the lock", 0);
	nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The machine's clock, set by so much; every thread reads it. */
static _Atomic int64_t set_by_ns;

static int64_t set_real_ns(const struct clock *c)
{
	(void)c;
	return clock__real(&clock__system) + set_by_ns;
}

/* A clock that is set is told once each time, and profiles go on arriving. */
static void clock_that_is_set(void **state)
{
	struct clock clock = { .mono_ns = clock__system.mono_ns, .real_ns = set_real_ns };
	struct log log = log_in_memory();
	struct running r = start_logged(STORE EXAMPLE("before"), &clock, &log);

	(void)state;
	wait_stored(&r, "before");
	graph__tick(r.graph);
	set_by_ns = -100 * SECOND;
	graph__tick(r.graph);
	graph__tick(r.graph);
	reload_or_fail(&r, STORE EXAMPLE("after"));
	wait_stored(&r, "after");
	assert_int_equal(stats__value(r.stats, "decima_clock_steps_total", NULL, 0), 1);
	stop(&r);
	logged(&log, "the machine's clock was set back by 1m40s", 1);
}

static void no_report(void *ctx, enum dcm_log_level level, const char *sentence)
{
	(void)ctx;
	(void)level;
	fail_msg("%s", sentence);
}

/* What a storage need not have is refused with a sentence. */
static void storage_with_no_more_than_it_must_have(void **state)
{
	struct running r = start("storage: { minimal: {} }\n" EXAMPLE("one"));
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	graph__tick(r.graph);
	assert_false(is_stored(&r, "one"));
	assert_int_equal(graph__store_backup(r.graph, "/nonexistent/backup", &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "minimal: this storage offers no backup"));
	assert_int_equal(graph__store_check(r.graph, NULL, no_report, NULL, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "minimal: this storage offers no check"));
	stop(&r);
}

/* The profiles are copied, what names them cannot be: a file is where a folder of it is to be. */
static void a_backup_without_names_is_told(void **state)
{
	char root[] = "/tmp/decima-graph-XXXXXX", path[96], copy[64];
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_non_null(mkdtemp(root));
	struct running r = start_in(root, STORE);
	snprintf(copy, sizeof(copy), "%s/copy", root);
	snprintf(path, sizeof(path), "%s/symbols/.build-id", root);
	assert_int_equal(fd__mkdirs(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/symbols/.build-id/07", root);
	assert_int_equal(fd__replace(path, 0600, "x", 1, NULL), 0);
	assert_int_equal(graph__store_backup(r.graph, copy, &err), -ENOTDIR);
	assert_ptr_equal(strstr(err.text, copy), err.text);
	assert_non_null(strstr(err.text, "remove it before another try"));
	assert_int_equal(graph__store_backup(r.graph, copy, &err), -EEXIST);

	assert_int_equal(unlink(path), 0);
	nftw(copy, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	assert_int_equal(graph__store_backup(r.graph, copy, &err), 0);
	stop(&r);
	nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void without_a_storage(void **state)
{
	struct running r = start(EXAMPLE("one"));

	(void)state;
	assert_false(graph__failed_input(r.graph));
	assert_null(graph__engine(r.graph));
	stop(&r);
}

static void without_memory(void **state)
{
	static const char yaml[] = STORE EXAMPLE("one") "outputs: { testing: [ {}, {} ] }\n";
	struct stats *stats = NULL;

	(void)state;
	assert_int_equal(stats__new(NULL, &stats), 0);
	for (uint64_t i = 1, done = 0; !done; i++) {
		struct plan *plan = plan_sample__load(loader, yaml);
		struct dcm_error err = DCM_ERROR_INIT;
		struct graph *g = NULL;
		int r;

		failmalloc__arm(i);
		r = graph__new(&(struct graph_config){ .log = &quiet, .stats = stats, .clock = &clock__system },
			       plan, &g, &err);
		done = !failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(r == 0, g != NULL);
		graph__free(g);
	}
	stats__free(stats);
}

/* A reload that runs out of memory leaves all as it was. */
static void reload_without_memory(void **state)
{
	struct running r = start(STORE "outputs: { testing: {} }\n");

	(void)state;
	for (uint64_t i = 1, done = 0; !done; i++) {
		struct plan *plan = plan_sample__load(
			loader, STORE "outputs: { testing: [ { number: 7 }, {} ] }\n");
		struct dcm_error err = DCM_ERROR_INIT;
		int e;

		failmalloc__arm(i);
		e = graph__reload(r.graph, plan, &err);
		done = !failmalloc__disarm();
		if (e < 0) {
			assert_false(view(&r, "testing#2").found);
			plan__free(plan);
		} else {
			reload_or_fail(&r, STORE "outputs: { testing: {} }\n");
		}
		assert_int_equal(view(&r, "testing").view.phase, INSTANCE_STARTED);
	}
	stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_and_answers),
		cmocka_unit_test(reload_of_the_same),
		cmocka_unit_test(reload_of_a_change),
		cmocka_unit_test(reload_of_a_frontend),
		cmocka_unit_test(one_that_refuses_keeps_all),
		cmocka_unit_test(one_that_cannot_restart_keeps_all),
		cmocka_unit_test(what_they_have_goes_round),
		cmocka_unit_test(second_store_that_cannot_restart_stays),
		cmocka_unit_test(what_a_failed_one_should_get_is_not_lost_silently),
		cmocka_unit_test(a_restart_loses_nothing),
		cmocka_unit_test(one_that_needs_a_restart),
		cmocka_unit_test(the_store_that_answers_stays),
		cmocka_unit_test(failed_store_is_mended),
		cmocka_unit_test(one_that_hangs_is_left_behind),
		cmocka_unit_test(one_that_hangs_is_replaced),
		cmocka_unit_test(instances_come_and_go),
		cmocka_unit_test(failed_start_is_retried),
		cmocka_unit_test(reload_tries_again_what_failed),
		cmocka_unit_test(tick_sleeps_until_something_is_due),
		cmocka_unit_test(whatever_fails_in_a_start_is_undone),
		cmocka_unit_test(failed_start_is_one_line),
		cmocka_unit_test(trial_is_not_logged),
		cmocka_unit_test(clock_that_is_set),
		cmocka_unit_test(storage_with_no_more_than_it_must_have),
		cmocka_unit_test(a_backup_without_names_is_told),
		cmocka_unit_test(without_a_storage),
		cmocka_unit_test(without_memory),
		cmocka_unit_test(reload_without_memory),
	};

	return cmocka_run_group_tests_name("graph", tests, set_up, tear_down);
}
