/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_diff.c - /api/v1/diff over random profiles in every store, against rates and z counted by hand
 */
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/internal.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/main/graph.h"
#include "tests/unit/plan_sample.h"
#include "tests/unit/random.h"
#include "tests/unit/shell.h"
#include "tests/unit/type_text.h"

#define CPU	"process_cpu:cpu:nanoseconds:cpu:nanoseconds"
#define HEAP	"memory:inuse_space:bytes:space:bytes"
#define CONTEND "mutex:contentions:count:contentions:count"
#define SECOND	INT64_C(1000000000)

enum { N_FUNCTIONS = 9, N_STACKS = 40, DEPTH = 5, N_STORES = 2 };
enum { PERIOD = 10000000 };

/* Side A is a quarter of an hour, side B the four minutes behind it. */
enum { A_S = 900, B_S = 240 };

static const struct log quiet = { .fd = -1, .level = -1 };
static char dir[] = "/tmp/decima-diff.XXXXXX";
static struct loader *loader;
static struct stats *stats;
static struct store {
	struct graph *graph;
	struct api *api;
	struct http_routes *routes;
} stores[N_STORES];
static int64_t base_s; /* when side A begins */

/* What was written: the stacks, and what each weighs in samples on each side, by service. */
enum { STEADY, MIXED, SINGLE, N_SERVICES };
static const char *const services[] = { "steady", "mixed", "single" };
static uint32_t stack_functions[N_STACKS][DEPTH], stack_depth[N_STACKS]; /* outermost first */
static uint64_t samples[N_SERVICES][2][N_STACKS];
static uint32_t n_profiles[N_SERVICES][2];

static struct engine *engine_of(void *ctx)
{
	return graph__engine(ctx);
}

static uint32_t add_stack(struct dcm_builder *b, uint32_t stack)
{
	uint32_t locations[DEPTH], n = stack_depth[stack];

	for (uint32_t i = 0; i < n; i++) {
		char name[8];

		snprintf(name, sizeof(name), "f%u", stack_functions[stack][i]);
		struct dcm_function f = { .name = builder__string(b, str__of(name)) };
		struct dcm_line line = { .function = builder__function(b, &f) };
		struct dcm_location l = { .mapping = DCM_NONE,
					  .process = DCM_NONE,
					  .kind = DCM_FRAME_INTERPRETED };
		locations[n - 1 - i] = builder__location(b, &l, &line, 1);
	}
	return builder__stack(b, locations, n);
}

/* One profile, of rows chosen by chance; counts them when they are CPU time. */
static void add_profile(struct dcm_builder *b, struct random *r, unsigned service, unsigned side,
			int64_t at_s, const char *type, uint32_t temporality)
{
	struct dcm_type t = type_text__read(b, type, temporality);
	struct dcm_pair pair = { builder__string(b, STR("service_name")),
				 builder__string(b, str__of(services[service])) };
	int64_t period = service == MIXED && random__below(r, 2) ? 2 * PERIOD : PERIOD;
	struct dcm_profile head = { .series = builder__series(b, &pair, 1),
				    .period = temporality == DCM_DELTA ? period : 1,
				    .time_ns = at_s * SECOND,
				    .duration_ns = 10 * SECOND };
	uint32_t n = (uint32_t)random__below(r, 12);

	builder__profile(b, &head, &t, 1);
	n_profiles[service][side] += temporality == DCM_DELTA;
	for (uint32_t i = 0; i < n; i++) {
		/* B does other things than A, some of them only. */
		uint32_t stack = (uint32_t)random__below(r, side ? N_STACKS : N_STACKS / 2);
		uint64_t count = 1 + random__below(r, 1 + random__below(r, 60));

		builder__row(b, add_stack(b, stack), 0,
			     &(int64_t){ temporality == DCM_DELTA ? (int64_t)count * PERIOD
								  : (int64_t)count + at_s % 1000 });
		if (temporality == DCM_DELTA)
			samples[service][side][stack] += count;
	}
}

static struct dcm_batch *make_batch(void)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;
	struct random r = { 5 };

	for (uint32_t i = 0; i < N_STACKS; i++) {
		stack_depth[i] = 1 + (uint32_t)random__below(&r, DEPTH);
		for (uint32_t k = 0; k < stack_depth[i]; k++)
			stack_functions[i][k] = (uint32_t)random__below(&r, N_FUNCTIONS);
	}
	for (int64_t s = 0; s < A_S + B_S; s += 10)
		for (unsigned service = 0; service < N_SERVICES; service++) {
			const unsigned side = s >= A_S;

			if (service == SINGLE && side)
				continue;
			add_profile(b, &r, service, side, base_s + s, CPU, DCM_DELTA);
			add_profile(b, &r, service, side, base_s + s, HEAP, DCM_GAUGE);
			add_profile(b, &r, service, side, base_s + s, CONTEND, DCM_CUMULATIVE);
		}
	if (builder__seal(b, &batch, &err) < 0)
		fail_msg("%s", err.text);
	return batch;
}

static void start(struct store *s, const char *yaml, struct dcm_batch *batch)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (graph__new(&(struct graph_config){ .log = &quiet, .stats = stats, .clock = &clock__system },
		       plan_sample__load(loader, yaml), &s->graph, &err) < 0 ||
	    graph__start(s->graph, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(pipeline__emit(graph__pipeline(s->graph), batch, NULL, NULL), 0);
	assert_int_equal(graph__flush(s->graph, clock__mono(&clock__system) + 10 * SECOND), 0);
	s->routes = http_routes__new();
	assert_int_equal(api__new(&(struct api_config){ .stats = stats,
							.pipeline = graph__pipeline(s->graph),
							.symbols = graph__symbols(s->graph),
							.ctx = s->graph,
							.engine = engine_of },
				  &s->api, &err),
			 0);
	assert_int_equal(api__add_routes(s->api, s->routes, &err), 0);
}

static int set_up(void **state)
{
	char local[200];
	struct dcm_batch *batch;
	(void)state;

	base_s = clock__real(&clock__system) / SECOND - 2000;
	batch = make_batch();
	assert_non_null(mkdtemp(dir));
	snprintf(local,
		 sizeof(local), "storage: { local: { path: \"%s/store\" } }\ninputs: { example: { interval: 1h } }\n",
		 dir);
	loader = plan_sample__loader();
	assert_int_equal(stats__new(NULL, &stats), 0);
	start(&stores[0], "storage: { memory: {} }\ninputs: { example: { interval: 1h } }\n", batch);
	start(&stores[1], local, batch);
	batch__unref(batch);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_STORES; i++) {
		api__free(stores[i].api);
		http_routes__free(stores[i].routes);
		graph__stop(stores[i].graph, clock__mono(&clock__system) + 5 * SECOND);
		graph__free(stores[i].graph);
	}
	stats__free(stats);
	loader__free(loader);
	return shell("rm -rf '%s'", dir);
}

/* -------------------------------------------------------------------------------------------------
 * Questions
 */

static void ask(const struct store *s, const char *target, struct buf *out)
{
	struct arena arena = { 0 };
	struct dcm_budget budget = { 0 };
	struct http_response resp = { .status = 200 };
	struct http_request req = {
		.method = HTTP_GET, .role = HTTP_ROLE_READ, .arena = &arena, .budget = &budget
	};

	assert_int_equal(http_request__set_target(&req, str__of(target)), 0);
	http_routes__dispatch(s->routes, &req, &resp);
	buf__append(out, resp.body.data, resp.body.n);
	buf__byte(out, '\0');
	if (resp.status != 200)
		fail_msg("%s: %d %s", target, resp.status, (char *)out->data);
	http_response__fini(&resp);
	arena__fini(&arena);
}

/* The same answer of every store, in both formats. */
static json_t *diff(const char *type_a, const char *service_a, const char *type_b,
		    const char *service_b, const char *more)
{
	char target[1000];
	json_t *json = NULL;

	for (unsigned text = 0; text < 2; text++) {
		struct buf first = { 0 };

		snprintf(target, sizeof(target),
			 "/api/v1/"
			 "diff?a_q=%s%%7Bservice_name=%%22%s%%22%%7D&b_q=%s%%7Bservice_name=%%22%s%"
			 "%22%%7D"
			 "&a_from=%" PRId64 "&a_to=%" PRId64 "&b_from=%" PRId64 "&b_to=%" PRId64
			 "%s%s",
			 type_a, service_a, type_b, service_b, base_s, base_s + A_S, base_s + A_S,
			 base_s + A_S + B_S, more, text ? "&format=text" : "");
		for (unsigned i = 0; i < N_STORES; i++) {
			struct buf out = { 0 };

			ask(&stores[i], target, i ? &out : &first);
			if (i)
				assert_string_equal((char *)out.data, (char *)first.data);
			buf__fini(&out);
		}
		if (!text)
			json = json_loads((char *)first.data, JSON_REJECT_DUPLICATES, NULL);
		buf__fini(&first);
	}
	assert_non_null(json);
	return json;
}

static json_t *at(json_t *json, const char *name, unsigned i)
{
	json_t *found = json_array_get(json_object_get(json, name), i);

	assert_non_null(found);
	return found;
}

/* "f7" */
static uint32_t number_of(const json_t *name)
{
	return (uint32_t)strtoul(json_string_value(name) + 1, NULL, 10);
}

static double real_at(json_t *json, const char *name, unsigned i)
{
	return json_number_value(at(json, name, i));
}

static void near(json_t *got, double want)
{
	if (isnan(want))
		assert_true(json_is_null(got));
	else if (!json_is_number(got) || fabs(json_number_value(got) - want) > 1e-9 * (1 + fabs(want)))
		fail_msg("%.17g, not %.17g", json_number_value(got), want);
}

/* The square root of Pearson's chi-squared, with the sign of the change. */
static double z_of(const int64_t x[2], const int64_t n[2])
{
	double with = (double)(x[0] + x[1]), all = (double)(n[0] + n[1]), under;

	under = with * (all - with) * (double)n[0] * (double)n[1];
	return under > 0 ? ((double)x[1] * (double)n[0] - (double)x[0] * (double)n[1]) * sqrt(all / under)
			 : 0;
}

static bool is_enough(const int64_t x[2], const int64_t n[2])
{
	double with = (double)(x[0] + x[1]), all = (double)(n[0] + n[1]);

	for (unsigned k = 0; k < 2; k++)
		if ((double)n[k] * with / all < 5 || (double)n[k] * (all - with) / all < 5)
			return false;
	return true;
}

/*
 * A change of CPU time as it must be told: `json` has delta, change, z, significant. x, n: samples.
 * Counts those that are significant.
 */
static unsigned check_change(json_t *delta, json_t *change, json_t *z, json_t *significant,
			     const int64_t x[2], const int64_t n[2])
{
	double a = (double)x[0] * PERIOD / A_S, b = (double)x[1] * PERIOD / B_S, want = z_of(x, n);

	near(delta, b - a);
	near(change, x[0] ? b / a - 1 : NAN);
	near(z, want);
	assert_true(json_is_boolean(significant));
	assert_int_equal(json_is_true(significant), fabs(want) >= 2.5758 && is_enough(x, n));
	return json_is_true(significant);
}

static void check_sides(json_t *json, unsigned service, const int64_t n[2])
{
	static const double seconds[2] = { A_S, B_S };
	json_t *compare = json_object_get(json, "compare");

	assert_string_equal(json_string_value(json_object_get(compare, "by")), "rate");
	assert_true(json_is_null(json_object_get(compare, "untested")));
	near(json_object_get(compare, "confidence"), 0.99);
	for (unsigned k = 0; k < 2; k++) {
		json_t *side = at(compare, "sides", k);

		near(json_object_get(side, "seconds"), seconds[k]);
		assert_int_equal(json_integer_value(json_object_get(side, "profiles")),
				 n_profiles[service][k]);
		assert_int_equal(json_integer_value(json_object_get(side, "duration_ns")),
				 n_profiles[service][k] * 10 * SECOND);
		assert_int_equal(json_integer_value(json_object_get(side, "period")), PERIOD);
		near(json_object_get(side, "samples"), (double)n[k]);
	}
}

/* -------------------------------------------------------------------------------------------------
 * Cases
 */

static bool has(uint32_t stack, uint32_t function)
{
	for (uint32_t i = 0; i < stack_depth[stack]; i++)
		if (stack_functions[stack][i] == function)
			return true;
	return false;
}

/* Samples of a side that begin with a path of functions. */
static int64_t count_below(unsigned service, unsigned side, const uint32_t *path, uint32_t n)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < N_STACKS; i++)
		if (stack_depth[i] >= n &&
		    (n == 0 || memcmp(stack_functions[i], path, n * sizeof(*path)) == 0))
			sum += (int64_t)samples[service][side][i];
	return sum;
}

static void count_function(unsigned service, unsigned side, uint32_t function, int64_t *self,
			   int64_t *total)
{
	*self = *total = 0;
	for (uint32_t i = 0; i < N_STACKS; i++) {
		if (stack_functions[i][stack_depth[i] - 1] == function)
			*self += (int64_t)samples[service][side][i];
		if (has(i, function))
			*total += (int64_t)samples[service][side][i];
	}
}

static void all_of(unsigned service, int64_t n[2])
{
	for (unsigned k = 0; k < 2; k++)
		n[k] = count_below(service, k, NULL, 0);
}

static void test_functions_are_as_counted(void **state)
{
	json_t *json = diff(CPU ":delta", "steady", CPU ":delta", "steady", "&report=functions");
	double before = INFINITY;
	unsigned n_significant = 0;
	int64_t n[2];
	(void)state;

	all_of(STEADY, n);
	check_sides(json, STEADY, n);
	assert_int_equal(json_array_size(json_object_get(json, "rows")), N_FUNCTIONS);
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		json_t *row = at(json, "rows", i), *self = json_object_get(row, "self_change"),
		       *total = json_object_get(row, "total_change");
		uint32_t function = number_of(json_object_get(row, "name"));
		int64_t x[2][2];

		for (unsigned k = 0; k < 2; k++) {
			count_function(STEADY, k, function, &x[0][k], &x[1][k]);
			near(at(row, "self", k), (double)x[0][k] * PERIOD);
			near(at(row, "total", k), (double)x[1][k] * PERIOD);
		}
		for (unsigned k = 0; k < 2; k++) {
			json_t *c = k ? total : self;

			n_significant += check_change(
				json_object_get(c, "delta"), json_object_get(c, "change"),
				json_object_get(c, "z"), json_object_get(c, "significant"), x[k], n);
		}
		double delta = fabs(json_number_value(json_object_get(self, "delta")));
		assert_true(delta <= before + 1e-6);
		before = delta;
	}
	assert_true(n_significant > 0 && n_significant < 2 * N_FUNCTIONS);
	json_decref(json);

	/* Fewer rows: the first ones, and what the others have. */
	json = diff(CPU ":delta", "steady", CPU ":delta", "steady", "&report=functions&max_rows=2");
	for (unsigned k = 0; k < 2; k++)
		near(at(json, "rest", k), (double)n[k] * PERIOD -
						  real_at(at(json, "rows", 0), "self", k) -
						  real_at(at(json, "rows", 1), "self", k));
	json_decref(json);
}

/* Every node of a tree. `out`: stacks through it were left out, and still are of their side. */
static void check_tree(json_t *json, unsigned service)
{
	json_t *nodes = json_object_get(json, "nodes"),
	       *names = json_object_get(json_object_get(json, "frames"), "name");
	unsigned n_nodes = (unsigned)json_array_size(json_object_get(nodes, "frame")), n_significant = 0;
	uint32_t path[DEPTH];
	int64_t n[2];

	all_of(service, n);
	check_sides(json, service, n);
	for (unsigned i = 0; i < n_nodes; i++) {
		uint32_t depth = (uint32_t)json_integer_value(at(nodes, "depth", i));
		int64_t x[2];

		if (i)
			path[depth - 1] = number_of(json_array_get(
				names, (size_t)json_integer_value(at(nodes, "frame", i))));
		for (unsigned k = 0; k < 2; k++)
			x[k] = json_integer_value(at(nodes, k ? "total_b" : "total", i)) / PERIOD;
		if (json_number_value(at(json, "filtered", 0)) == 0)
			for (unsigned k = 0; k < 2; k++)
				assert_int_equal(x[k], count_below(service, k, path, depth));
		n_significant += check_change(at(nodes, "delta", i), at(nodes, "change", i),
					      at(nodes, "z", i), at(nodes, "significant", i), x, n);
	}
	assert_true(n_nodes > 10 && n_significant > 0 && n_significant < n_nodes);
}

static void test_trees_are_as_counted(void **state)
{
	json_t *json = diff(CPU ":delta", "steady", CPU ":delta", "steady", "");
	(void)state;

	check_tree(json, STEADY);
	json_decref(json);
	json = diff(CPU ":delta", "steady", CPU ":delta", "steady", "&hide_stacks=f3&report=tree");
	assert_true(real_at(json, "filtered", 0) > 0 && real_at(json, "filtered", 1) > 0);
	check_tree(json, STEADY);
	json_decref(json);
}

/* A diff of which nothing is tested: all z and verdicts are null, and it says why. */
static void untested(json_t *json, const char *by, const char *why)
{
	json_t *nodes = json_object_get(json, "nodes"), *compare = json_object_get(json, "compare");
	const char *said = json_string_value(json_object_get(compare, "untested"));

	assert_string_equal(json_string_value(json_object_get(compare, "by")), by);
	assert_non_null(said);
	if (!strstr(said, why))
		fail_msg("no \"%s\" in: %s", why, said);
	for (unsigned i = 0; i < json_array_size(json_object_get(nodes, "z")); i++) {
		assert_true(json_is_null(at(nodes, "z", i)));
		assert_true(json_is_null(at(nodes, "significant", i)));
		assert_true(json_is_number(at(nodes, "delta", i)));
	}
}

static void test_what_is_not_known_is_not_guessed(void **state)
{
	json_t *json = diff(CPU ":delta", "steady", CPU ":delta", "mixed", "");
	(void)state;

	untested(json, "rate", "side B has no sampling period, or more than one");
	json_decref(json);
	json = diff(CPU ":delta", "mixed", CPU ":delta", "steady", "");
	untested(json, "rate", "side A has no sampling period, or more than one");
	json_decref(json);

	/* One side is empty. */
	json = diff(CPU ":delta", "single", CPU ":delta", "single", "");
	untested(json, "rate", "side B has no samples");
	near(at(json_object_get(json, "nodes"), "delta", 0),
	     -(double)count_below(SINGLE, 0, NULL, 0) * PERIOD / A_S);
	near(at(json_object_get(json, "nodes"), "change", 0), -1);
	json_decref(json);
	json = diff(CPU ":delta", "none", CPU ":delta", "steady", "");
	untested(json, "rate", "side A has no samples");
	near(at(json_object_get(json, "nodes"), "delta", 0),
	     (double)count_below(STEADY, 1, NULL, 0) * PERIOD / B_S);
	near(at(json_object_get(json, "nodes"), "change", 0), NAN);
	json_decref(json);
}

/* Of two sides without anything the answer has two sides all the same. */
static void test_both_are_empty(void **state)
{
	static const char *const columns[] = { "self",	"total",  "self_b", "total_b",
					       "delta", "change", "z" };
	(void)state;

	for (int functions = 0; functions < 2; functions++) {
		json_t *json = diff(CPU ":delta", "none", CPU ":delta", "none",
				    functions ? "&report=functions" : "");

		untested(json, "total", "side A has no samples");
		assert_int_equal(json_array_size(json_object_get(json, "total")), 2);
		assert_int_equal(json_array_size(json_object_get(json, "filtered")), 2);
		assert_int_equal(
			json_array_size(json_object_get(json_object_get(json, "compare"), "sides")), 2);
		for (size_t i = 0; !functions && i < sizeof(columns) / sizeof(columns[0]); i++)
			assert_int_equal(json_array_size(json_object_get(
						 json_object_get(json, "nodes"), columns[i])),
					 1);
		json_decref(json);
	}
}

static void test_states_and_counters(void **state)
{
	json_t *json = diff(HEAP, "steady", HEAP, "steady", ""),
	       *nodes = json_object_get(json, "nodes");
	(void)state;

	untested(json, "mean", "a state has no samples");
	near(at(nodes, "delta", 0), real_at(nodes, "total_b", 0) - real_at(nodes, "total", 0));
	json_decref(json);
	json = diff(CONTEND, "steady", CONTEND, "steady", "");
	nodes = json_object_get(json, "nodes");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(json, "compare"), "by")), "rate");
	near(at(nodes, "delta", 0),
	     real_at(nodes, "total_b", 0) / B_S - real_at(nodes, "total", 0) / A_S);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_are_as_counted),
		cmocka_unit_test(test_trees_are_as_counted),
		cmocka_unit_test(test_what_is_not_known_is_not_guessed),
		cmocka_unit_test(test_both_are_empty),
		cmocka_unit_test(test_states_and_counters),
	};

	return cmocka_run_group_tests_name("diff", tests, set_up, tear_down);
}
