/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_api_labels.c - lists of labels in questions, of which one has the marks in its name that separate
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/api/internal.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/codec/codec.h"
#include "core/main/graph.h"
#include "tests/unit/plan_sample.h"

#define CPU    "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
#define CPU_Q  "q=" CPU "%7B%7D"
#define SECOND INT64_C(1000000000)
#define ODD    "a=b,c"
/* "a=b,c", as a selector has it. */
#define ODD_Q "%22a%3Db%2Cc%22"

static const struct log quiet = { .fd = -1, .level = -1 };
static struct loader *loader;
static struct stats *stats;
static struct graph *graph;
static struct api *api;
static struct http_routes *routes;

static struct engine *engine_of(void *ctx)
{
	return graph__engine(ctx);
}

static int encode(void *ctx, const struct dcm_batch *batch, const char *format, struct buf *out,
		  struct dcm_error *err)
{
	(void)ctx;
	return codec__encode(batch, DCM_NONE, format, out, err);
}

/* A name that colours a terminal (U+009B is CSI), as anybody may send it. */
#define RED                                                                                        \
	"r\xc2\x9b"                                                                                \
	"31m"
#define RED_Q "%22r%C2%9B31m%22"

/* A profile of ten seconds, main alone, whose series has ODD, pod and RED. */
static struct dcm_batch *make_batch(void)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	struct dcm_type type = {
		builder__string(b, STR("process_cpu")), builder__string(b, STR("cpu")),
		builder__string(b, STR("nanoseconds")), builder__string(b, STR("cpu")),
		builder__string(b, STR("nanoseconds")), DCM_DELTA
	};
	struct dcm_pair pairs[] = {
		{ builder__string(b, STR(ODD)), builder__string(b, STR("x")) },
		{ builder__string(b, STR("pod")), builder__string(b, STR("p=1,2")) },
		{ builder__string(b, STR(RED)), builder__string(b, STR(RED)) },
	};
	struct dcm_function main_function = { .name = builder__string(b, STR("main")) };
	struct dcm_line line = { .function = builder__function(b, &main_function), .line = 1 };
	struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE };
	uint32_t location = builder__location(b, &l, &line, 1);
	struct dcm_profile head = { .series = builder__series(b, pairs, 3),
				    .period = 1,
				    .time_ns = clock__real(&clock__system) - 10 * SECOND,
				    .duration_ns = 10 * SECOND };
	uint32_t stack = builder__stack(b, &location, 1);

	builder__profile(b, &head, &type, 1);
	builder__row(b, stack, 0, &(int64_t){ 7 });
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	return batch;
}

static int set_up(void **state)
{
	struct dcm_batch *batch = make_batch();

	(void)state;
	loader = plan_sample__loader();
	assert_int_equal(stats__new(NULL, &stats), 0);
	assert_int_equal(
		graph__new(&(struct graph_config){ .log = &quiet, .stats = stats, .clock = &clock__system },
			   plan_sample__load(loader, "storage: { memory: {} }\n"
						     "inputs: { example: { interval: 1h } }\n"),
			   &graph, NULL),
		0);
	assert_int_equal(graph__start(graph, NULL), 0);
	assert_int_equal(pipeline__emit(graph__pipeline(graph), batch, NULL, NULL), 0);
	batch__unref(batch);
	assert_int_equal(graph__flush(graph, clock__mono(&clock__system) + 10 * SECOND), 0);
	routes = http_routes__new();
	assert_int_equal(api__new(&(struct api_config){ .stats = stats,
							.clock = &clock__system,
							.pipeline = graph__pipeline(graph),
							.symbols = graph__symbols(graph),
							.ctx = graph,
							.engine = engine_of,
							.encode = encode },
				  &api, NULL),
			 0);
	return api__add_routes(api, routes, NULL);
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

/* The answer's status; `has` stands in the answer, `note` in its note, and there is none without. */
static void check(const char *target, int status, const char *has, const char *note)
{
	struct arena arena = { 0 };
	struct dcm_budget budget = { 0 };
	struct http_response resp = { .status = 200 };
	struct http_request req = {
		.method = HTTP_GET, .role = HTTP_ROLE_ADMIN, .arena = &arena, .budget = &budget
	};

	assert_int_equal(http_request__set_target(&req, str__of(target)), 0);
	http_routes__dispatch(routes, &req, &resp);
	buf__byte(&resp.body, '\0');
	struct dcm_str said = http_response__find(&resp, API_NOTE);
	if (resp.status != status || !strstr((const char *)resp.body.data, has))
		fail_msg("%s: %d: %s", target, resp.status, (const char *)resp.body.data);
	if (note ? !memmem(said.p, said.n, note, strlen(note)) : said.n > 0)
		fail_msg("%s: noted: %.*s", target, STR_ARG(said));
	http_response__fini(&resp);
	arena__fini(&arena);
}

static void a_name_in_quotes_is_one_name(void **state)
{
	(void)state;
	check("/api/v1/series?" CPU_Q "&sum_by=" ODD_Q, 200, "\"labels\":{\"a=b,c\":\"x\"}", NULL);
	check("/api/v1/series?" CPU_Q "&sum_by=" ODD_Q ",pod", 200, "\"pod\":\"p=1,2\"", NULL);
	check("/api/v1/series?format=text&" CPU_Q "&sum_by=" ODD_Q, 200, "{\"a=b,c\"=\"x\"}", NULL);
	check("/api/v1/series?" CPU_Q "&sum_by=%22a", 400, "sum_by: column 1: the string", NULL);
	check("/api/v1/flame?" CPU_Q "&group_by=%22a%22b", 400,
	      "group_by: column 4: expected a comma", NULL);
	check("/api/v1/functions?" CPU_Q "&group_by=,,pod,", 200, "main", NULL);
}

/* Neither of them moves a cursor. */
static void a_text_has_names_and_values_cleaned(void **state)
{
	(void)state;
	check("/api/v1/series?format=text&" CPU_Q "&sum_by=" RED_Q, 200, "{r?31m=\"r?31m\"}", NULL);
}

/* So that everybody can tell which "=" is the one before the value. */
static void a_frame_has_the_name_as_a_selector_has_it(void **state)
{
	(void)state;
	check("/api/v1/export?format=folded&" CPU_Q "&group_by=" ODD_Q, 200, "\"a=b,c\"=x;main 7\n", NULL);
	check("/api/v1/export?format=folded&" CPU_Q "&group_by=pod", 200, "pod=p=1,2;main 7\n", NULL);
	check("/api/v1/flame?" CPU_Q "&group_by=" ODD_Q, 200, "\"\\\"a=b,c\\\"=x\"", NULL);
	check("/api/v1/flame?" CPU_Q "&group_by=" ODD_Q "&under=" ODD_Q "%3Dx", 200,
	      "\"total\":[7]", NULL);
}

static void of_a_name_that_begins_as_another_it_is_said_that_nothing_has_it(void **state)
{
	(void)state;
	check("/api/v1/flame?" CPU_Q "&group_by=" ODD_Q ",a", 200, "main", "the label \"a\"");
	check("/api/v1/series?" CPU_Q "&sum_by=a%3Db%2Cc", 200, "", "the label \"a=b\"");
	check("/api/v1/export?format=pprof&" CPU_Q "&group_by=" ODD_Q ",c", 200, "", "the label \"c\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_in_quotes_is_one_name),
		cmocka_unit_test(a_text_has_names_and_values_cleaned),
		cmocka_unit_test(a_frame_has_the_name_as_a_selector_has_it),
		cmocka_unit_test(of_a_name_that_begins_as_another_it_is_said_that_nothing_has_it),
	};

	return cmocka_run_group_tests_name("api_labels", tests, set_up, tear_down);
}
