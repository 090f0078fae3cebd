/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_api.c - every endpoint and every parameter, over a graph whose store holds texts that
 * JSON and terminals do not like, and values at the end of their range
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/api/internal.h"
#include "core/base/error.h"
#include "core/base/le.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/codec/codec.h"
#include "core/main/graph.h"
#include "core/query/flametree.h"
#include "tests/unit/plan_sample.h"

#define CPU	   "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
#define CPU_Q	   "q=" CPU "%7B%7D"
#define SECOND	   INT64_C(1000000000)
#define HUGE_VALUE (INT64_MAX / 4)

/* A quote, a backslash, a control byte, DEL, what turns a terminal's text around, a line's end. */
#define NASTY "na\"sty\\\x01\x1b[31m\x7f\xe2\x80\xae\n\xc3\xa9"

static const struct log quiet = { .fd = -1, .level = -1 };
static struct loader *loader;
static struct stats *stats;
static struct graph *graph;
static struct api *api;
static struct http_routes *routes;
static int reload_result;
static bool storage_failed;

static struct engine *engine_of(void *ctx)
{
	return graph__engine(ctx);
}

static bool store_stat_of(void *ctx, struct dcm_store_stat *ret)
{
	return graph__store_stat(ctx, ret);
}

static void each_instance(void *ctx, api_instance_fn fn, void *fn_ctx)
{
	struct api_instance nasty = {
		"storage", NASTY, NASTY, "/" NASTY, { .state.state = DCM_STATE_FAILED }
	};

	graph__each(ctx, fn, fn_ctx);
	if (!storage_failed)
		return;
	nasty.view.phase = INSTANCE_FAILED;
	snprintf(nasty.view.state.sentence, sizeof(nasty.view.state.sentence), "%s", NASTY);
	fn(fn_ctx, &nasty);
}

static void effective(void *ctx, struct buf *out)
{
	graph__effective(ctx, out);
}

static int encode(void *ctx, const struct dcm_batch *batch, const char *format, struct buf *out,
		  struct dcm_error *err)
{
	(void)ctx;
	return codec__encode(batch, DCM_NONE, format, out, err);
}

static int reload(void *ctx, struct dcm_error *err)
{
	(void)ctx;
	return reload_result < 0 ? error__set(err, reload_result, "decima.yaml:1:1: because") : 0;
}

/* Two profiles of one series: main calls a function with a nasty name, at the largest values. */
static struct dcm_batch *make_batch_of(int64_t now_ns, const char *service, const int64_t lengths_ns[2])
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	const char *const names[] = { "main", NASTY };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;
	uint32_t locations[2];
	struct dcm_type type = {
		builder__string(b, STR("process_cpu")), builder__string(b, STR("cpu")),
		builder__string(b, STR("nanoseconds")), builder__string(b, STR("cpu")),
		builder__string(b, STR("nanoseconds")), DCM_DELTA
	};
	struct dcm_pair pair = { builder__string(b, STR("service_name")),
				 builder__string(b, str__of(service)) };

	for (uint32_t i = 0; i < 2; i++) {
		struct dcm_function f = { .name = builder__string(b, str__of(names[i])) };
		struct dcm_line line = { .function = builder__function(b, &f), .line = 1 };
		struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE };

		locations[i] = builder__location(b, &l, &line, 1);
	}
	int64_t time_ns = now_ns - lengths_ns[0] - lengths_ns[1];
	for (int i = 0; i < 2; i++) {
		struct dcm_profile head = { .series = builder__series(b, &pair, 1),
					    .period = 1,
					    .time_ns = time_ns,
					    .duration_ns = lengths_ns[i] };
		time_ns += lengths_ns[i];
		uint32_t stack = builder__stack(b, (uint32_t[]){ locations[1], locations[0] }, 2);

		builder__profile(b, &head, &type, 1);
		builder__row(b, stack, 0, &(int64_t){ HUGE_VALUE });
	}
	if (builder__seal(b, &batch, &err) < 0)
		fail_msg("%s", err.text);
	return batch;
}

static struct dcm_batch *make_batch(int64_t now_ns, const char *service)
{
	return make_batch_of(now_ns, service, (int64_t[]){ 10 * SECOND, 10 * SECOND });
}

/* Two ms later by each look, as it may be on a machine that has much to do. */
static int64_t later_ns(const struct clock *c)
{
	static _Atomic int64_t looks;

	(void)c;
	return clock__real(&clock__system) + 2000000 * ++looks;
}

static int64_t mono_ns(const struct clock *c)
{
	(void)c;
	return clock__mono(&clock__system);
}

static const struct clock hurried = { .mono_ns = mono_ns, .real_ns = later_ns };

static int set_up(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = make_batch(clock__real(&clock__system), NASTY);

	(void)state;
	loader = plan_sample__loader();
	assert_int_equal(stats__new(NULL, &stats), 0);
	assert_int_equal(
		graph__new(&(struct graph_config){ .log = &quiet, .stats = stats, .clock = &clock__system },
			   plan_sample__load(loader, "storage: { memory: {} }\n"
						     "inputs: { example: { interval: 1h } }\n"),
			   &graph, &err),
		0);
	assert_int_equal(graph__start(graph, &err), 0);
	assert_int_equal(pipeline__emit(graph__pipeline(graph), batch, NULL, NULL), 0);
	batch__unref(batch);
	assert_int_equal(graph__flush(graph, clock__mono(&clock__system) + 10 * SECOND), 0);
	routes = http_routes__new();
	assert_int_equal(api__new(&(struct api_config){ .stats = stats,
							.clock = &hurried,
							.pipeline = graph__pipeline(graph),
							.symbols = graph__symbols(graph),
							.node = NASTY,
							.data_dir = NASTY,
							.config_path = NASTY,
							.ctx = graph,
							.engine = engine_of,
							.store_stat = store_stat_of,
							.each_instance = each_instance,
							.effective = effective,
							.encode = encode,
							.reload = reload },
				  &api, &err),
			 0);
	return api__add_routes(api, routes, &err);
}

static int tear_down(void **state)
{
	(void)state;
	api__free(api);
	http_routes__free(routes);
	graph__stop(graph, clock__mono(&clock__system) + 5 * SECOND);
	graph__free(graph);
	stats__free(stats);
	loader__free(loader);
	return 0;
}

/* An answer, and what the request needed. */
struct answer {
	struct http_response r;
	struct arena arena;
	struct dcm_budget budget;
};

static void ask_with(struct answer *a, const struct http_routes *table, enum http_method method,
		     const char *target, const struct dcm_field *header)
{
	struct http_request req = { .method = method,
				    .role = HTTP_ROLE_ADMIN,
				    .arena = &a->arena,
				    .budget = &a->budget,
				    .headers = header,
				    .n_headers = header ? 1 : 0 };

	a->r.status = 200;
	assert_int_equal(http_request__set_target(&req, str__of(target)), 0);
	http_routes__dispatch(table, &req, &a->r);
	buf__byte(&a->r.body, '\0');
	a->r.body.n--;
}

static void forget(struct answer *a)
{
	http_response__fini(&a->r);
	arena__fini(&a->arena);
}

static json_t *json_of(const struct answer *a, const char *target)
{
	json_error_t error;
	json_t *json = json_loadb((const char *)a->r.body.data, a->r.body.n, JSON_REJECT_DUPLICATES,
				  &error);

	if (!json)
		fail_msg("%s: %s in: %.300s", target, error.text, (const char *)a->r.body.data);
	return json;
}

/* The problem's status and sentence. */
static void refused(const struct http_routes *table, enum http_method method, const char *target,
		    int status, const char *want)
{
	struct answer a = { 0 };
	json_t *json;
	const char *detail;

	ask_with(&a, table, method, target, NULL);
	if (a.r.status != status)
		fail_msg("%s: status %d, not %d: %s", target, a.r.status, status,
			 (const char *)a.r.body.data);
	assert_string_equal(a.r.content_type, "application/problem+json");
	json = json_of(&a, target);
	assert_int_equal(json_integer_value(json_object_get(json, "status")), status);
	detail = json_string_value(json_object_get(json, "detail"));
	assert_non_null(detail);
	if (!strstr(detail, want))
		fail_msg("%s: no \"%s\" in: %s", target, want, detail);
	json_decref(json);
	forget(&a);
}

static json_t *get_json(const char *target)
{
	struct answer a = { 0 };
	json_t *json;

	ask_with(&a, routes, HTTP_GET, target, NULL);
	if (a.r.status != 200)
		fail_msg("%s: %d: %s", target, a.r.status, (const char *)a.r.body.data);
	json = json_of(&a, target);
	forget(&a);
	return json;
}

#define TREE_Q	 CPU_Q "&inv=1&group=line&max_rows=5"
#define MAIN_Q	 "function=main&" CPU_Q
#define DIFF_Q	 "a_q=" CPU "%7B%7D&b_q=" CPU "%7B%7D&b_from=now-15s"
#define SERIES_Q CPU_Q "&step=1m&sum_by=service_name"

static const char *const answers[] = {
	"/api/v1/types?",
	"/api/v1/labels?from=0",
	"/api/v1/labels/service_name/values?match=%7B%7D",
	"/api/v1/values?label=service_name",
	"/api/v1/series?" SERIES_Q,
	"/api/v1/series?" SERIES_Q "&top=1",
	"/api/v1/flame?" TREE_Q,
	"/api/v1/flame?" CPU_Q "&group_by=service_name&focus=main",
	"/api/v1/diff?" DIFF_Q,
	"/api/v1/diff?" DIFF_Q "&report=functions",
	"/api/v1/callers?" MAIN_Q,
	"/api/v1/callees?" MAIN_Q,
	"/api/v1/functions?" CPU_Q "&sort=total",
	"/api/v1/targets?",
	"/api/v1/pipeline?",
	"/api/v1/store?",
};

static void every_answer_is_json(void **state)
{
	static const char *const more[] = { "/api/v1", "/api/v1/status",
					    "/api/v1/export?format=speedscope&" CPU_Q };

	(void)state;
	storage_failed = true;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		json_decref(get_json(answers[i]));
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		json_decref(get_json(more[i]));
	storage_failed = false;
}

/* How many names a list has, of which all begin with the prefix. */
static size_t names_with(const char *target, const char *prefix, bool truncated)
{
	json_t *json = get_json(target),
	       *list = json_object_get(json, strstr(target, "values") ? "values" : "labels");
	const size_t n = json_array_size(list);

	for (size_t i = 0; i < n; i++)
		assert_memory_equal(
			json_string_value(json_object_get(json_array_get(list, i), "name")), prefix,
			strlen(prefix));
	assert_int_equal(json_is_true(json_object_get(json, "truncated")), truncated);
	json_decref(json);
	return n;
}

static void names_by_prefix_and_limit(void **state)
{
	const size_t all = names_with("/api/v1/labels?from=0", "", false);

	(void)state;
	assert_true(all > 1);
	const size_t some = names_with("/api/v1/labels?from=0&prefix=service_", "service_", false);
	assert_true(some >= 1 && some < all);
	assert_int_equal(names_with("/api/v1/labels?from=0&prefix=no_such", "", false), 0);
	assert_int_equal(names_with("/api/v1/labels?from=0&limit=1", "", true), 1);
	assert_int_equal(
		names_with("/api/v1/labels?from=0&limit=1&prefix=service_", "service_", some > 1), 1);
	assert_int_equal(names_with("/api/v1/labels?from=0&limit=10000", "", false), all);
	assert_int_equal(names_with("/api/v1/labels/service_name/values?prefix=no_such", "", false), 0);
	refused(routes, HTTP_GET, "/api/v1/labels?limit=10001", 400, "limit: \"10001\" is no number");
	refused(routes, HTTP_GET, "/api/v1/types?prefix=x", 400, "\"prefix\" is no parameter");
}

static void configuration_is_yaml(void **state)
{
	struct answer a = { 0 };

	(void)state;
	ask_with(&a, routes, HTTP_GET, "/api/v1/config", NULL);
	assert_int_equal(a.r.status, 200);
	assert_string_equal(a.r.content_type, "application/yaml");
	assert_non_null(strstr((const char *)a.r.body.data,
			       "  example:\n    name: example  # default\n    interval: 1h\n"));
	forget(&a);
}

/* Nothing of what was sampled reaches a terminal as a command to it. */
static void every_text_is_printable(void **state)
{
	char target[300];

	(void)state;
	storage_failed = true;
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct answer a = { 0 };

		snprintf(target, sizeof(target), "%s&format=text", answers[i]);
		ask_with(&a, routes, HTTP_GET, target, NULL);
		if (a.r.status != 200 || strncmp(a.r.content_type, "text/plain", 10) != 0)
			fail_msg("%s: %d %s", target, a.r.status, (const char *)a.r.body.data);
		assert_true(a.r.body.n > 0);
		for (size_t k = 0; k < a.r.body.n; k++)
			if ((a.r.body.data[k] < ' ' && a.r.body.data[k] != '\n') ||
			    a.r.body.data[k] == 0x7f)
				fail_msg("%s: byte 0x%02x", target, a.r.body.data[k]);
		forget(&a);
	}
	storage_failed = false;
}

static void values_are_exact(void **state)
{
	json_t *json = get_json("/api/v1/flame?" CPU_Q), *nodes = json_object_get(json, "nodes"), *names;

	(void)state;
	names = json_object_get(json_object_get(json, "frames"), "name");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "total"), 0)),
			 2 * HUGE_VALUE);
	assert_int_equal(json_array_size(json_object_get(nodes, "total")), 3);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(nodes, "self"), 2)),
			 2 * HUGE_VALUE);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(nodes, "frame"), 0)), -1);
	assert_string_equal(json_string_value(json_array_get(names, json_array_size(names) - 1)), NASTY);
	json_decref(json);
	json = get_json("/api/v1/labels/service_name/values");
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(json, "values"), 0), "name")),
			    NASTY);
	json_decref(json);
	json = get_json("/api/v1/types");
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(json, "types"), 0), "type")),
			    CPU);
	json_decref(json);
}

/* A tree's third format is the same tree; it is not one of tables. */
static void trees_as_bytes(void **state)
{
	json_t *json = get_json("/api/v1/flame?" CPU_Q);
	struct answer a = { 0 };

	(void)state;
	ask_with(&a, routes, HTTP_GET, "/api/v1/flame?" CPU_Q "&format=flametree", NULL);
	assert_int_equal(a.r.status, 200);
	assert_string_equal(a.r.content_type, FLAMETREE_MIME);
	assert_memory_equal(a.r.body.data, "FTR1", 4);
	assert_int_equal(le__get32(a.r.body.data + 8),
			 json_array_size(json_object_get(json_object_get(json, "nodes"), "total")));
	assert_non_null(memmem(a.r.body.data, a.r.body.n, "{\"unit\":\"nanoseconds\",\"total\":[", 31));
	forget(&a);
	json_decref(json);
	json = get_json("/api/v1/flame?" CPU_Q "&max_nodes=2");
	assert_int_equal(json_integer_value(json_object_get(json, "period")), 1);
	assert_int_equal(json_integer_value(json_object_get(json, "trimmed_nodes")), 2);
	int64_t all = json_integer_value(json_array_get(json_object_get(json, "total"), 0));
	json_decref(json);
	json = get_json("/api/v1/flame?" CPU_Q "&under=main&under=nothing");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "total"), 0)), 0);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "filtered"), 0)), all);
	json_decref(json);
	json = get_json("/api/v1/flame?" CPU_Q "&under=main");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "total"), 0)), all);
	json_decref(json);
	refused(routes, HTTP_GET, "/api/v1/flame?" CPU_Q "&format=xml", 400,
		"\"xml\" is none of json, text, flametree");
	refused(routes, HTTP_GET, "/api/v1/functions?" CPU_Q "&format=flametree", 400,
		"neither json nor text");
	refused(routes, HTTP_GET, "/api/v1/diff?" DIFF_Q "&report=functions&format=flametree", 400,
		"neither json nor text");
}

/* Nothing is older than 1970: whoever asks for what is before gets what there is since. */
static void ranges_begin_in_1970(void **state)
{
	static const char *const froms[] = { "1960-01-01T00:00:00Z", "-1", "now-100y" };
	static const char *const targets[] = {
		"/api/v1/flame?" CPU_Q "&from=",
		"/api/v1/flame?" CPU_Q "&format=text&from=",
		"/api/v1/functions?" CPU_Q "&from=",
		"/api/v1/callers?" MAIN_Q "&from=",
		"/api/v1/diff?" DIFF_Q "&a_from=",
		"/api/v1/export?" CPU_Q "&format=folded&from=",
		"/api/v1/export?" CPU_Q "&format=pprof&from=",
		"/api/v1/series?" CPU_Q "&step=0&from=",
		"/api/v1/labels?from=",
	};
	char target[300];

	(void)state;
	for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); t++)
		for (size_t f = 0; f < sizeof(froms) / sizeof(froms[0]); f++) {
			struct answer since = { 0 }, before = { 0 };

			snprintf(target, sizeof(target), "%s%s", targets[t], "0");
			ask_with(&since, routes, HTTP_GET, target, NULL);
			snprintf(target, sizeof(target), "%s%s", targets[t], froms[f]);
			ask_with(&before, routes, HTTP_GET, target, NULL);
			if (before.r.status != 200)
				fail_msg("%s: %d %s", target, before.r.status,
					 (const char *)before.r.body.data);
			/* A difference has rates, over a time that goes on. */
			if (!strstr(target, "/diff")) {
				assert_int_equal(before.r.body.n, since.r.body.n);
				assert_memory_equal(before.r.body.data, since.r.body.data,
						    since.r.body.n);
			}
			forget(&since);
			forget(&before);
		}
	refused(routes, HTTP_GET, "/api/v1/flame?" CPU_Q "&from=-9&to=-1", 400,
		"from: the range is empty");
	json_decref(get_json("/api/v1/flame?" CPU_Q "&to=1800"));
}

/* Answers about what is over can be known already; one that ends now, or is none, cannot. */
static void what_is_over_has_a_tag(void **state)
{
	static const struct {
		const char *target;
		bool has_tag;
	} cases[] = {
		{ "/api/v1/flame?" CPU_Q "&to=now-15s", true },
		{ "/api/v1/flame?" CPU_Q "&to=now-15s&format=flametree", true },
		{ "/api/v1/functions?" CPU_Q "&to=now-15s", true },
		{ "/api/v1/series?" CPU_Q "&to=now-15s", true },
		{ "/api/v1/export?" CPU_Q "&to=now-15s&format=folded", true },
		{ "/api/v1/labels?to=now-15s", true },
		{ "/api/v1/diff?" DIFF_Q "&from=now-2h&to=now-1h&b_to=now-5s", true },
		{ "/api/v1/diff?" DIFF_Q "&a_from=now-2h&a_to=now-1h", false },
		{ "/api/v1/diff?" DIFF_Q "&from=now-2h&to=now-1h&b_to=now", false },
		{ "/api/v1/flame?" CPU_Q, false },
		{ "/api/v1/flame?" CPU_Q "&to=now", false },
		{ "/api/v1/types", false },
		{ "/api/v1/status", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct answer a = { 0 };

		ask_with(&a, routes, HTTP_GET, cases[i].target, NULL);
		if (a.r.status != 200 || a.r.has_tag != cases[i].has_tag)
			fail_msg("%s: status %d, tag %d", cases[i].target, a.r.status, a.r.has_tag);
		forget(&a);
	}
}

/* Whoever names only the end gets the hour before it, however long ago that was. */
static void the_hour_goes_with_the_end_of_the_range(void **state)
{
	json_t *json = get_json("/api/v1/flame?" CPU_Q "&to=now-15s");

	(void)state;
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "total"), 0)),
			 HUGE_VALUE);
	json_decref(json);
	json = get_json("/api/v1/flame?" CPU_Q "&to=now-2h");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(json, "total"), 0)), 0);
	json_decref(json);
}

/* A table without a row says why, and only that one does. */
static void nothing_stored_is_said(void **state)
{
	static const struct {
		const char *target;
		bool said;
	} cases[] = {
		{ "/api/v1/flame?format=text&" CPU_Q "&to=now-2h", true },
		{ "/api/v1/functions?format=text&" CPU_Q "&to=now-2h", true },
		{ "/api/v1/diff?format=text&a_q=" CPU "%7B%7D&b_q=" CPU "%7B%7D&to=now-2h", true },
		{ "/api/v1/flame?format=text&" CPU_Q, false },
		{ "/api/v1/diff?format=text&" DIFF_Q, false },
		{ "/api/v1/diff?format=text&report=functions&a_q=" CPU "%7B%7D&b_q=" CPU
		  "%7B%7D&to=now-2h",
		  true },
		{ "/api/v1/diff?format=text&report=functions&" DIFF_Q, false },
		{ "/api/v1/functions?format=text&" CPU_Q, false },
		{ "/api/v1/flame?format=text&" CPU_Q "&focus=no_such_function", false },
		{ "/api/v1/functions?format=text&" CPU_Q "&focus=no_such_function", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct answer a = { 0 };

		ask_with(&a, routes, HTTP_GET, cases[i].target, NULL);
		if ((strstr((const char *)a.r.body.data, "\nnothing is stored") != NULL) != cases[i].said)
			fail_msg("%s: %s", cases[i].target, (const char *)a.r.body.data);
		forget(&a);
	}
}

static void names_that_nothing_has_are_said(void **state)
{
	static const struct {
		const char *target, *note; /* NULL: none */
	} cases[] = {
		{ "/api/v1/callers?function=nope&" CPU_Q, "the function \"nope\"" },
		{ "/api/v1/callees?function=nope&" CPU_Q, "the function \"nope\"" },
		{ "/api/v1/callers?" MAIN_Q, NULL },
		{ "/api/v1/labels/nope/values?", "the label \"nope\"" },
		{ "/api/v1/labels/service_name/values?", NULL },
		{ "/api/v1/values?label=..", "the label \"..\"" },
		{ "/api/v1/series?" CPU_Q "&sum_by=service_name,a%20b", "the label \"a b\"" },
		{ "/api/v1/series?" CPU_Q "&sum_by=service_name,service_name", NULL },
		{ "/api/v1/flame?" CPU_Q "&group_by=nope,service_name", "the label \"nope\"" },
		{ "/api/v1/functions?" CPU_Q "&group_by=nope", "the label \"nope\"" },
		{ "/api/v1/flame?" CPU_Q "&group_by=service_name", NULL },
		{ "/api/v1/flame?" CPU_Q "&group_by=nope&to=now-2h", NULL },
		{ "/api/v1/export?format=folded&" CPU_Q "&group_by=nope", "the label \"nope\"" },
		{ "/api/v1/export?format=folded&" CPU_Q "&group_by=service_name", NULL },
		{ "/api/v1/export?format=pprof&" CPU_Q "&group_by=nope", "the label \"nope\"" },
		{ "/api/v1/export?format=pprof&" CPU_Q "&group_by=service_name", NULL },
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const char *note = cases[i / 2].note;
		bool text = i % 2;
		struct answer a = { 0 };
		char target[200];

		if (text && strstr(cases[i / 2].target, "/export?"))
			continue;
		snprintf(target, sizeof(target), "%s%s", cases[i / 2].target, text ? "&format=text" : "");
		ask_with(&a, routes, HTTP_GET, target, NULL);
		struct dcm_str said = http_response__find(&a.r, API_NOTE);
		if (a.r.status != 200 || (said.n > 0) != (note != NULL) ||
		    (note && !memmem(said.p, said.n, note, strlen(note))))
			fail_msg("%s: %d, %.*s", target, a.r.status, STR_ARG(said));
		if (text && note && !strstr((const char *)a.r.body.data, note))
			fail_msg("%s: %s", target, (const char *)a.r.body.data);
		forget(&a);
	}
}

/* One batch of a thousand rows is lost: the two numbers have units, or one of them looks wrong. */
static void losses_have_units(void **state)
{
	struct answer a = { 0 };
	const char *text;

	(void)state;
	stats__drop(stats, "file", "queue_full", 1000);
	ask_with(&a, routes, HTTP_GET, "/api/v1/pipeline?format=text", NULL);
	text = (const char *)a.r.body.data;
	assert_non_null(strstr(text, "BATCHES LOST"));
	text = strstr(text, "LOST BY");
	assert_non_null(text);
	assert_non_null(strstr(text, "ROWS, OR AS THE REASON SAYS"));
	assert_non_null(strstr(text, "1000"));
	forget(&a);
}

static void exports(void **state)
{
	struct answer a = { 0 }, b = { 0 };
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	ask_with(&a, routes, HTTP_GET, "/api/v1/export?format=pprof&" CPU_Q, NULL);
	assert_int_equal(a.r.status, 200);
	assert_int_equal(codec__decode("pprof", a.r.body.data, a.r.body.n, &batch, &err), 0);
	assert_int_equal(batch->n_profiles, 1);
	batch__unref(batch);
	forget(&a);
	ask_with(&b, routes, HTTP_GET,
		 "/api/v1/export?format=folded&" CPU_Q "&group_by=service_name", NULL);
	assert_int_equal(b.r.status, 200);
	assert_non_null(strstr((const char *)b.r.body.data, ";main;"));
	forget(&b);
	refused(routes, HTTP_GET, "/api/v1/export?format=pprof&" CPU_Q "&from=1&to=2", 404,
		"nothing is stored that the selector asks for");
}

/* The head of what an export says. */
static struct dcm_profile exported(const char *target)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;
	struct answer a = { 0 };

	ask_with(&a, routes, HTTP_GET, target, NULL);
	assert_int_equal(a.r.status, 200);
	assert_int_equal(codec__decode("pprof", a.r.body.data, a.r.body.n, &batch, &err), 0);
	struct dcm_profile head = batch->profiles[0];
	batch__unref(batch);
	forget(&a);
	return head;
}

static void a_file_says_what_time_it_covers(void **state)
{
	struct dcm_batch *batch;
	struct dcm_profile in_a_row, at_once;

	(void)state;
	in_a_row = exported("/api/v1/export?format=pprof&" CPU_Q);
	assert_int_equal(in_a_row.duration_ns, 20 * SECOND);

	/* The same seconds of another series: no second more. */
	batch = make_batch(in_a_row.time_ns + 20 * SECOND, "other");
	assert_int_equal(pipeline__emit(graph__pipeline(graph), batch, NULL, NULL), 0);
	batch__unref(batch);
	assert_int_equal(graph__flush(graph, clock__mono(&clock__system) + 10 * SECOND), 0);
	at_once = exported("/api/v1/export?format=pprof&" CPU_Q);
	assert_int_equal(at_once.duration_ns, 20 * SECOND);
	assert_int_equal(at_once.time_ns, in_a_row.time_ns);
	at_once = exported("/api/v1/export?format=pprof&group_by=service_name&" CPU_Q);
	assert_int_equal(at_once.duration_ns, 20 * SECOND);
}

/* As after a start: windows of one second and of ten. The last one's own end counts. */
static void a_file_covers_windows_that_grow(void **state)
{
	const int64_t now_ns = clock__real(&clock__system) / 1000000 * 1000000;
	struct dcm_batch *batch = make_batch_of(now_ns, "grows", (int64_t[]){ SECOND, 10 * SECOND });
	struct dcm_profile head;

	(void)state;
	assert_int_equal(pipeline__emit(graph__pipeline(graph), batch, NULL, NULL), 0);
	batch__unref(batch);
	assert_int_equal(graph__flush(graph, clock__mono(&clock__system) + 10 * SECOND), 0);
	head = exported("/api/v1/export?format=pprof&q=" CPU "%7Bservice_name%3D%22grows%22%7D");
	assert_int_equal(head.time_ns, now_ns - 11 * SECOND);
	assert_int_equal(head.duration_ns, 11 * SECOND);
}

static void wrong_parameters_are_named(void **state)
{
	static const struct {
		const char *target, *want;
	} wrong[] = {
		{ "/api/v1/flame", "q: missing" },
		{ "/api/v1/flame?q=", "q: missing" },
		{ "/api/v1/flame?q=a%7B", "column" },
		{ "/api/v1/functions?q=" CPU "%7Ba%3D~%22(%3F%3Dx)%22%7D", "column" },
		{ "/api/v1/labels?match=%7Ba", "column" },
		{ "/api/v1/flame?" CPU_Q "&from=yesterday", "from: \"yesterday\"" },
		{ "/api/v1/types?to=x", "to: \"x\"" },
		{ "/api/v1/flame?" CPU_Q "&from=now&to=now-1h", "from: the range is empty" },
		{ "/api/v1/flame?" CPU_Q "&from=7&to=7", "from: the range is empty" },
		{ "/api/v1/diff?" DIFF_Q "&a_to=now-2h", "a_from: the range is empty" },
		{ "/api/v1/diff?" DIFF_Q "&b_to=now-1m", "b_from: the range is empty" },
		{ "/api/v1/flame?" CPU_Q "&focus=(", "focus: " },
		{ "/api/v1/flame?" CPU_Q "&focus=bni:~x",
		  "focus: \"bni\" is no field of a frame; did you mean \"bin\"?" },
		{ "/api/v1/flame?" CPU_Q "&fromm=1",
		  "\"fromm\" is no parameter of /api/v1/flame; did you mean \"from\"?" },
		{ "/api/v1/flame?" CPU_Q "&" CPU_Q, "q: comes twice" },
		{ "/api/v1/types?from=1&to=now&from=2", "from: comes twice" },
		{ "/api/v1/flame?" CPU_Q "&focus=main&hide=(&focus=x", "hide: " },
		{ "/api/v1/export?format=folded&" CPU_Q "&hide=x&hide=y&focus=(", "focus: " },
		/* Totals have no stacks. */
		{ "/api/v1/series?" CPU_Q "&focus=main",
		  "\"focus\" is no parameter of /api/v1/series" },
		{ "/api/v1/types?q=x", "\"q\" is no parameter of /api/v1/types" },
		{ "/api/v1/flame?" CPU_Q "&hide=(", "hide: " },
		{ "/api/v1/flame?" CPU_Q "&hide_stacks=(", "hide_stacks: " },
		{ "/api/v1/flame?" CPU_Q "&only_stacks=(", "only_stacks: " },
		{ "/api/v1/flame?" CPU_Q "&format=xml", "format: \"xml\"" },
		{ "/api/v1/targets?format=xml", "format: \"xml\"" },
		{ "/api/v1/pipeline?format=xml", "format: \"xml\"" },
		{ "/api/v1/export?format=xml&" CPU_Q, "format: \"xml\"" },
		{ "/api/v1/export?" CPU_Q, "format: " },
		{ "/api/v1/flame?" CPU_Q "&group=colour", "group: " },
		{ "/api/v1/flame?" CPU_Q "&inv=perhaps", "inv: \"perhaps\"" },
		{ "/api/v1/flame?" CPU_Q "&max_rows=-1", "max_rows: \"-1\"" },
		{ "/api/v1/flame?" CPU_Q "&width=100000", "width: \"100000\"" },
		{ "/api/v1/functions?" CPU_Q "&sort=age", "sort: \"age\"" },
		{ "/api/v1/values", "label: missing" },
		{ "/api/v1/callers?" CPU_Q, "function: missing" },
		{ "/api/v1/callees?" CPU_Q, "function: missing" },
		{ "/api/v1/diff?a_q=" CPU, "b_q: missing" },
		{ "/api/v1/diff?" DIFF_Q "&report=flame",
		  "report: \"flame\" is neither tree nor functions" },
		{ "/api/v1/diff?" DIFF_Q "&report=functions&sort=heap",
		  "sort: \"heap\" is none of" },
		{ "/api/v1/diff?b_q=" CPU, "a_q: missing" },
		{ "/api/v1/diff?" DIFF_Q "&a_to=x", "a_to: \"x\"" },
		{ "/api/v1/series?" CPU_Q "&step=1us", "step: \"1us\"" },
		{ "/api/v1/series?" CPU_Q "&step=x", "step: \"x\"" },
		{ "/api/v1/series?" CPU_Q "&top=1001",
		  "top: \"1001\" is no number between 0 and 1000" },
		{ "/api/v1/series?" CPU_Q "&step=1ms&from=0", "step: the range has more than" },
		{ "/api/v1/series?" CPU_Q
		  "&sum_by=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,1,2,3,4,5,6,7",
		  "sum_by: at most 32" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		refused(routes, HTTP_GET, wrong[i].target, 400, wrong[i].want);
	refused(routes, HTTP_GET, "/api/v1/nothing", 404, "/api/v1/nothing");
	refused(routes, HTTP_POST, "/api/v1/types", 405, "POST");
	refused(routes, HTTP_GET, "/api/v1/labels/%zz/values", 400, "escape");
}

/* No path of ours ignores a parameter that it does not know. */
static void unknown_parameters_are_refused(void **state)
{
	json_t *list = get_json("/api/v1"), *row;
	char target[200];
	size_t i;

	(void)state;
	assert_true(json_array_size(json_object_get(list, "routes")) > 20);
	json_array_foreach(json_object_get(list, "routes"), i, row)
	{
		const char *path = json_string_value(json_object_get(row, "path"));
		const char *method = json_string_value(json_object_get(row, "method"));

		snprintf(target, sizeof(target), "%s?nonsense=1", path);
		if (strncmp(path, "/api/v1/", 8) == 0 || strcmp(path, "/-/reload") == 0)
			refused(routes,
				strcmp(method, "POST") == 0	? HTTP_POST
				: strcmp(method, "DELETE") == 0 ? HTTP_DELETE
								: HTTP_GET,
				target, 400, "\"nonsense\" is no parameter of");
	}
	json_decref(list);
	json_decref(get_json("/api/v1/functions?" CPU_Q
			     "&group=line&group_by=service_name&inv=0&max_rows=5&"
			     "from=0&to=now&focus=main&hide=x&hide_stacks=x&only_stacks=main&"
			     "format=json&width=0&"
			     "sort=self"));
}

static void limits_of_a_question(void **state)
{
	struct answer late = { .budget.deadline_mono_ns = 1 }, gone = { 0 };

	(void)state;
	ask_with(&late, routes, HTTP_GET, "/api/v1/flame?" CPU_Q, NULL);
	assert_int_equal(late.r.status, 504);
	forget(&late);
	atomic_store(&gone.budget.cancelled, 1);
	ask_with(&gone, routes, HTTP_GET, "/api/v1/flame?" CPU_Q, NULL);
	assert_int_equal(gone.r.status, 499);
	forget(&gone);
	/* What is held until the heaviest are known counts, too. */
	for (int top = 0; top < 3; top++) {
		struct answer large = { .r.body.limit = 100 };
		char target[200];

		snprintf(target, sizeof(target), "%s&top=%d", "/api/v1/series?" SERIES_Q, top);
		ask_with(&large, routes, HTTP_GET, target, NULL);
		assert_int_equal(large.r.status, 422);
		forget(&large);
	}
}

/* As every handler does: from reading the question until it is done with it. */
static void progress_and_cancel(void **state)
{
	static const struct dcm_field id = { { "x-query-id", 10 }, { "seven", 5 } };
	struct answer a = { 0 }, b = { 0 };
	struct http_request req = { .arena = &a.arena, .budget = &a.budget, .headers = &id, .n_headers = 1 };
	struct api_question q;
	json_t *json;

	(void)state;
	refused(routes, HTTP_GET, "/api/v1/queries/seven", 404, "no question");
	assert_true(api_question__read(api, &req, NULL, &q, &a.r));
	atomic_store(&a.budget.done, 3);
	atomic_store(&a.budget.total, 10);
	json = get_json("/api/v1/queries/seven");
	assert_int_equal(json_integer_value(json_object_get(json, "done")), 3);
	assert_int_equal(json_integer_value(json_object_get(json, "total")), 10);
	assert_true(json_is_false(json_object_get(json, "cancelled")));
	json_decref(json);
	ask_with(&b, routes, HTTP_DELETE, "/api/v1/queries/seven", NULL);
	assert_int_equal(b.r.status, 200);
	assert_int_equal(atomic_load(&a.budget.cancelled), 1);
	refused(routes, HTTP_DELETE, "/api/v1/queries/eight", 404, "no question");
	api_question__fini(&q);
	refused(routes, HTTP_GET, "/api/v1/queries/seven", 404, "no question");
	refused(routes, HTTP_DELETE, "/api/v1/queries/seven", 404, "no question");
	forget(&a);
	forget(&b);
	/* A handler leaves nothing behind, whatever became of its question. */
	a = (struct answer){ 0 };
	ask_with(&a, routes, HTTP_GET, "/api/v1/flame?" CPU_Q "&format=xml", &id);
	forget(&a);
	a = (struct answer){ 0 };
	ask_with(&a, routes, HTTP_GET, "/api/v1/types", &id);
	forget(&a);
	refused(routes, HTTP_GET, "/api/v1/queries/seven", 404, "no question");
}

static void reloading(void **state)
{
	static const struct {
		int result, status;
	} turns[] = { { -EINVAL, 400 }, { -EBUSY, 409 },     { -ENOENT, 422 },
		      { -EACCES, 422 }, { -ESHUTDOWN, 503 }, { -ENOMEM, 503 } };
	struct answer a = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		reload_result = turns[i].result;
		refused(routes, HTTP_POST, "/-/reload", turns[i].status, "because; nothing was changed");
	}
	reload_result = 0;
	ask_with(&a, routes, HTTP_POST, "/-/reload", NULL);
	assert_int_equal(a.r.status, 200);
	forget(&a);
	refused(routes, HTTP_GET, "/-/reload", 405, "POST");
}

static void health(void **state)
{
	struct answer a = { 0 }, b = { 0 }, c = { 0 };

	(void)state;
	ask_with(&a, routes, HTTP_GET, "/-/healthy", NULL);
	assert_string_equal((const char *)a.r.body.data, "ok\n");
	ask_with(&b, routes, HTTP_HEAD, "/-/ready", NULL);
	assert_int_equal(b.r.status, 200);
	ask_with(&c, routes, HTTP_GET, "/metrics", NULL);
	assert_non_null(strstr((const char *)c.r.body.data, "# TYPE "));
	forget(&a);
	forget(&b);
	forget(&c);
	storage_failed = true;
	refused(routes, HTTP_GET, "/-/ready", 503, "/api/v1/pipeline");
	storage_failed = false;
}

/* One message of Watch: SERVING, then nothing until it is another. */
static void watching(void **state)
{
	struct arena arena = { 0 };
	struct http_talk seen = { 0 };
	struct http_request req = { .method = HTTP_POST,
				    .path = STR("/grpc.health.v1.Health/Watch"),
				    .body = STR(""),
				    .arena = &arena,
				    .talk = &seen };
	static const struct {
		bool failed;
		int status;
		const char *said;
	} turns[] = { { false, 200, "\010\001" },
		      { false, 204, "" },
		      { true, 200, "\010\002" },
		      { true, 204, "" },
		      { false, 200, "\010\001" } };

	(void)state;
	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		struct http_response resp = { .status = 200 };

		storage_failed = turns[i].failed;
		seen.is_look = i > 0;
		http_routes__dispatch(routes, &req, &resp);
		assert_int_equal(resp.status, turns[i].status);
		assert_true(str__eq(buf__view(&resp.body), str__of(turns[i].said)));
		http_response__fini(&resp);
	}
	arena__fini(&arena);
}

/* What a one-shot command has not is said to be missing. */
static void with_nothing(void **state)
{
	struct http_routes *table = http_routes__new();
	struct dcm_error err = DCM_ERROR_INIT;
	struct answer a = { 0 };
	struct api *bare = NULL;
	char target[300];

	(void)state;
	assert_int_equal(api__new(&(struct api_config){ 0 }, &bare, &err), 0);
	assert_int_equal(api__add_routes(bare, table, &err), 0);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		snprintf(target, sizeof(target), "%s", answers[i]);
		refused(table, HTTP_GET, target, 503, "here");
	}
	refused(table, HTTP_GET, "/metrics", 503, "here");
	refused(table, HTTP_GET, "/api/v1/config", 503, "here");
	refused(table, HTTP_POST, "/-/reload", 503, "here");
	ask_with(&a, table, HTTP_GET, "/api/v1/status", NULL);
	json_decref(json_of(&a, "status"));
	forget(&a);
	api__free(bare);
	/* A store, and nobody who could encode. */
	http_routes__free(table);
	table = http_routes__new();
	assert_int_equal(
		api__new(&(struct api_config){ .ctx = graph, .engine = engine_of }, &bare, &err), 0);
	assert_int_equal(api__add_routes(bare, table, &err), 0);
	refused(table, HTTP_GET, "/api/v1/export?format=pprof&" CPU_Q, 501, "pprof");
	api__free(bare);
	http_routes__free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_answer_is_json),
		cmocka_unit_test(names_by_prefix_and_limit),
		cmocka_unit_test(configuration_is_yaml),
		cmocka_unit_test(every_text_is_printable),
		cmocka_unit_test(values_are_exact),
		cmocka_unit_test(trees_as_bytes),
		cmocka_unit_test(ranges_begin_in_1970),
		cmocka_unit_test(what_is_over_has_a_tag),
		cmocka_unit_test(the_hour_goes_with_the_end_of_the_range),
		cmocka_unit_test(nothing_stored_is_said),
		cmocka_unit_test(names_that_nothing_has_are_said),
		cmocka_unit_test(losses_have_units),
		cmocka_unit_test(exports),
		cmocka_unit_test(a_file_says_what_time_it_covers),
		cmocka_unit_test(a_file_covers_windows_that_grow),
		cmocka_unit_test(wrong_parameters_are_named),
		cmocka_unit_test(unknown_parameters_are_refused),
		cmocka_unit_test(limits_of_a_question),
		cmocka_unit_test(progress_and_cancel),
		cmocka_unit_test(reloading),
		cmocka_unit_test(health),
		cmocka_unit_test(watching),
		cmocka_unit_test(with_nothing),
	};

	return cmocka_run_group_tests_name("api", tests, set_up, tear_down);
}
