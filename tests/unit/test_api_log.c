/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_api_log.c - the log's last lines, for programs and for people
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "core/api/api.h"
#include "core/base/log_tail.h"
#include "core/base/str.h"

/* What the path answers, with or without a log. */
static void check(struct log_tail *tail, const char *target, int status, const char *want)
{
	struct http_routes *routes = http_routes__new();
	struct dcm_error err = DCM_ERROR_INIT;
	struct api *api = NULL;
	struct arena arena = { 0 };
	struct dcm_budget budget = { 0 };
	struct http_response resp = { .status = 200 };
	struct http_request req = {
		.method = HTTP_GET, .role = HTTP_ROLE_READ, .arena = &arena, .budget = &budget
	};

	assert_int_equal(api__new(&(struct api_config){ .log_tail = tail }, &api, &err), 0);
	assert_int_equal(api__add_routes(api, routes, &err), 0);
	assert_int_equal(http_request__set_target(&req, str__of(target)), 0);
	http_routes__dispatch(routes, &req, &resp);
	buf__byte(&resp.body, '\0');
	assert_int_equal(resp.status, status);
	if (status == 200)
		assert_string_equal((const char *)resp.body.data, want);
	else
		assert_non_null(strstr((const char *)resp.body.data, want));
	http_response__fini(&resp);
	arena__fini(&arena);
	api__free(api);
	http_routes__free(routes);
}

static void lines_as_json_and_text(void **state)
{
	CLEANUP(log_tail__freep) struct log_tail *tail = log_tail__new();

	(void)state;
	assert_non_null(tail);
	check(tail, "/api/v1/log", 200, "{\"lines\":[]}\n");
	for (int i = 0; i < 2; i++)
		log_tail__add(tail, &(struct log_tail_line){ .real_ns = INT64_C(1795256490000000000) +
									i * 1000000,
							     .level_name = "warning",
							     .area = STR("ebpf"),
							     .text = STR("\"7\" are \\ lost") });
	check(tail, "/api/v1/log", 200,
	      "{\"lines\":[{\"time\":\"2026-11-21T10:21:30.000Z\",\"level\":\"warning\",\"area\":"
	      "\"ebpf\",\"message\":\"\\\"7\\\" are \\\\ lost\"},"
	      "{\"time\":\"2026-11-21T10:21:30.001Z\",\"level\":\"warning\",\"area\":"
	      "\"ebpf\",\"message\":\"\\\"7\\\" are \\\\ lost\"}]}\n");
	check(tail, "/api/v1/log?format=text", 200,
	      "2026-11-21T10:21:30.000Z warning ebpf: \"7\" are \\ lost\n"
	      "2026-11-21T10:21:30.001Z warning ebpf: \"7\" are \\ lost\n");
	check(NULL, "/api/v1/log", 503, "no daemon runs here");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_as_json_and_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
