/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_plan.c - YAML and flags become a plan, or sentences with the place of each fault
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/plan_sample.h"

static struct loader *loader;

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

/* Loads, and gives what was found as text. */
static int load(const struct plan_source *source, struct plan **ret, struct buf *found)
{
	struct problems problems = { 0 };
	int r = plan__load(source, &loader, &problems, ret);

	problems__text(&problems, found);
	problems__fini(&problems);
	return r;
}

static void refuse(const struct plan_source *source, const char *want)
{
	struct plan *plan = NULL;
	struct buf found = { 0 };

	assert_int_equal(load(source, &plan, &found), -EINVAL);
	assert_null(plan);
	if (!found.n || !strstr((const char *)found.data, want))
		fail_msg("no \"%s\" in: %s", want, found.n ? (const char *)found.data : "");
	buf__fini(&found);
}

/* What holds, as a plan would have it written; freed by the caller. */
static char *effective_of(const char *yaml, const char *const *sets, uint32_t n_sets)
{
	struct plan *plan = NULL;
	struct buf found = { 0 }, out = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;

	if (load(&(struct plan_source){ .text = yaml, .sets = sets, .n_sets = n_sets }, &plan, &found) < 0)
		fail_msg("%s\n%s", (const char *)found.data, yaml);
	assert_int_equal(plan__effective(plan, &out, &err), 0);
	plan__free(plan);
	buf__fini(&found);
	return (char *)buf__take(&out, &(size_t){ 0 });
}

static void without_marks(char *text)
{
	static const char mark[] = "  # default";

	for (char *at = strstr(text, mark); at; at = strstr(at, mark))
		memmove(at, at + sizeof(mark) - 1, strlen(at + sizeof(mark) - 1) + 1);
}

static void effective_reads_back(void **state)
{
	static const char *const sets[] = { "log.level=debug", "storage.memory.retention=3h" };
	char *first = effective_of("inputs:\n"
				   "  example:\n"
				   "    - {interval: 1h}\n"
				   "    - {name: other, shape: wave}\n"
				   "    - {name: off, enabled: false}\n"
				   "storage: {memory: {}}\n"
				   "outputs: {file: {directory: /tmp/x, queue_max: 64MiB}}\n"
				   "server: {base_path: /x}\n",
				   sets, 2);

	(void)state;
	assert_non_null(
		strstr(first, "    -\n      name: example  # default\n      interval: 1h\n"));
	assert_non_null(strstr(first, "    -\n      name: other\n"));
	assert_null(strstr(first, "off"));
	assert_non_null(strstr(first, "    retention: 3h\n"));
	assert_non_null(strstr(first, "    queue_max: 64MiB\n"));
	assert_non_null(strstr(first, "log:\n  level: debug\n"));
	assert_true(strstr(first, "inputs:") < strstr(first, "storage:"));
	assert_true(strstr(first, "storage:") < strstr(first, "outputs:"));
	assert_true(strstr(first, "outputs:") < strstr(first, "server:"));
	char *again = effective_of(first, NULL, 0);
	without_marks(first);
	without_marks(again);
	assert_string_equal(first, again);
	free(first);
	free(again);
}

/* Options of the command line do not hide what is wrong with the file. */
static void options_do_not_hide_that_it_is_no_map(void **state)
{
	static const char *const texts[] = { "- a\n", "text\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct plan_source source = { .text = texts[i], .plugin_path = "/somewhere" };

		refuse(&source, "(built-in):1:1: the configuration must be a map");
		source.listen = "127.0.0.1:1";
		refuse(&source, "(built-in):1:1: the configuration must be a map");
	}
}

static void faults_have_places(void **state)
{
	static const struct {
		const char *yaml, *want;
	} faults[] = {
		{ "inputs: [", "(built-in):" },
		{ "- a\n", "(built-in):1:1: the configuration must be a map" },
		{ "input: {}\n",
		  "(built-in):1:1: unknown option \"input\"; did you mean \"inputs\"?" },
		{ "scrape_config: []\n", "(built-in):1:1: unknown option \"scrape_config\"; did "
					 "you mean \"scrape_configs\"?" },
		{ "labels: {}\nserver: { listn: [] }\n",
		  "(built-in):2:11: configuration: server: unknown option \"listn\"; did you mean "
		  "\"listen\"?" },
		{ "inputs:\n  example: { intervall: 1s }\n",
		  "(built-in):2:14: input example: unknown option \"intervall\"; did you mean "
		  "\"interval\"?" },
		{ "inputs: { exampel: {} }\n",
		  "(built-in):1:11: input exampel: no input_exampel.so in " },
		{ "inputs: { exampel: {} }\n", "did you mean \"example\"" },
		{ "outputs:\n  testing: { number: 11 }\n",
		  "(built-in):2:22: output testing: number" },
		{ "outputs:\n  testing: { selector: 'a{' }\n",
		  "(built-in):2:24: output testing: selector" },
		{ "inputs: { example: [ { name: x }, { name: x } ] }\n", "\"x\"" },
		{ "outputs: { file: { directory: rel } }\n",
		  "(built-in):1:31: output file: directory \"rel\" is not absolute" },
		{ "storage: { memory: { name: x } }\ninputs:\n  example: { name: x }\n",
		  "(built-in):3:3: input example x: the name \"x\" is taken by storage memory x" },
		{ "node: x\nserver: { listen: [nowhere] }\n",
		  "(built-in):2:20: configuration: server.listen: \"nowhere\" is no address" },
		{ "server: { listen: ['unix:relative'] }\n",
		  "server.listen: \"unix:relative\" is no address" },
		{ "server: { listen: ['0.0.0.0:80'] }\n", "set server.tokens" },
		{ "server:\n  listen:\n    - 127.0.0.1:70000\n",
		  "(built-in):3:7: configuration: server.listen: \"127.0.0.1:70000\" has no port "
		  "between "
		  "0 and 65535" },
		{ "server: { listen: ['127.0.0.1:bar'] }\n",
		  "\"127.0.0.1:bar\" has no port between" },
		{ "server: { listen: ['127.0.0.1:'] }\n", "\"127.0.0.1:\" has no port between" },
		{ "server: { listen: ['127.0.0.1:-1'] }\n",
		  "\"127.0.0.1:-1\" has no port between" },
		{ "server: { listen: ['foo:bar'] }\n", "\"foo:bar\" has no port between" },
		{ "server: { listen: ['127.0.0.256:1'] }\n", "\"127.0.0.256:1\" is no address" },
		{ "server: { listen: ['[::1:1'] }\n", "\"[::1:1\" is no address" },
		{ "server: { listen: ['::1'] }\n", "\"::1\" is no address" },
		{ "server: { listen: ['::1:80'] }\n", "\"::1:80\" is no address" },
		{ "server: { listen: ['local host:1'] }\n", "\"local host:1\" is no address" },
		{ "labels: { '': x }\n",
		  "(built-in):1:11: configuration: labels: \"\" is not a label" },
		{ "labels: { __name__: x }\n",
		  "labels: \"__name__\" would be gone after relabelling" },
		{ "outputs:\n  testing: { queue_max: 1KiB }\n",
		  "(built-in):2:25: output testing: queue_max: 1024 bytes are less than the "
		  "16777216" },
		{ "outputs:\n  testing: { queue_reserve: 1GiB, queue_max: 1MiB }\n",
		  "lower queue_reserve" },
		{ "outputs:\n  testing: { queue_reserve: 1KiB, queue_max: 1KiB }\n",
		  "queue_reserve" },
		{ "labels: { a: '${DECIMA_NO_SUCH_VARIABLE}' }\n", "DECIMA_NO_SUCH_VARIABLE" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		refuse(&(struct plan_source){ .text = faults[i].yaml }, faults[i].want);
	/* All of them at once: nobody wants to hear of one after the other. */
	refuse(&(struct plan_source){ .text = "node: []\ninputs: { example: { interval: x } }\n" },
	       "(built-in):2:32");
	refuse(&(struct plan_source){ .path = "/nonexistent/decima.yaml" },
	       "/nonexistent/decima.yaml");
}

/* What would be obeyed and never do anything, or never work. */
static void values_without_use_are_refused(void **state)
{
	static const struct {
		const char *yaml, *want;
	} faults[] = {
		{ "outputs:\n  file:\n    file_name: '../x'\n",
		  "(built-in):3:16: output file: file_name \"../x\": the part" },
		{ "server: { hosts: ['http://x'] }\n",
		  "(built-in):1:19: configuration: server.hosts[0]: \"http://x\" is no host's "
		  "name" },
		{ "server: { hosts: [x, 'a b'] }\n",
		  "(built-in):1:22: configuration: server.hosts[1]: \"a b\" is no host's name" },
		{ "server: { hosts: ['x:80'] }\n", "server.hosts[0]: \"x:80\" is no" },
		{ "server: { hosts: '' }\n",
		  "(built-in):1:18: configuration: server.hosts[0]: \"\"" },
		{ "server: { cors_origins: ['*'] }\n",
		  "server.cors_origins[0]: \"*\" is no origin" },
		{ "server: { cors_origins: [ 'https://a', 'https://a/' ] }\n",
		  "server.cors_origins[1]: \"https://a/\" is no origin" },
		{ "server: { tokens: [ { token: a }, { token: b }, { token: a, role: admin } ] }\n", "(built-in):1:49: configuration: server.tokens[2]: is the token of server.tokens[0]" },
		{ "server: { tokens: [ { token: '' } ] }\n",
		  "(built-in):1:30: configuration: server.tokens[0].token: is empty" },
		{ "server: { tokens: [ { token: a }, { token: "
		  "'sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb', "
		  "role: admin } ] }\n",
		  "server.tokens[1]: is the token of server.tokens[0]" },
		{ "server: { tokens: [ { token: 'sha256:ABCDEF' } ] }\n",
		  "server.tokens[0].token: behind sha256: should be 64 digits" },
		{ "server: { tokens: [ { role: read } ] }\n", "token" },
		{ "server: { proxy: { from: 10.1.0.0/33 } }\n",
		  "server.proxy.from[0]: \"10.1.0.0/33\" is no address and no network" },
		{ "server: { proxy: { from: 10.1.0.1, user_header: '' } }\n",
		  "server.proxy.user_header: is empty" },
		{ "server: { proxy: { from: 10.1.0.1, user_header: 'a b' } }\n",
		  "server.proxy.user_header: \"a b\" is no header's name" },
		{ "server: { proxy: { from: 10.1.0.1, groups: { sre: admin } } }\n",
		  "server.proxy.groups: nothing says who is in them" },
		{ "server: { tokens: [ { token: a, labels: { t: x } } ] }\n",
		  "server.tokens[0].labels: are for profiles that come with the token, and its "
		  "role sends none" },
		{ "server: { tokens: [ { token: a, role: write, labels: { t: '' } } ] }\n",
		  "server.tokens[0].labels: \"t\" is empty" },
		{ "server: { tokens: [ { token: a, role: write, labels: { '': x } } ] }\n",
		  "server.tokens[0].labels: \"\" is not a label's name" },
		{ "server: { tokens: [ { token: a, role: write, labels: { __t: x } } ] }\n",
		  "server.tokens[0].labels: \"__t\" would be gone" },
		{ "symbols: { debuginfo: [rel] }\n",
		  "(built-in):1:24: configuration: symbols.debuginfo[0]: \"rel\" is not absolute" },
		{ "symbols: { debuginfo: [/a, ''] }\n",
		  "symbols.debuginfo[1]: \"\" is not absolute" },
		{ "symbols: { debuginfod: [nonsense] }\n",
		  "(built-in):1:25: configuration: symbols.debuginfod[0]: \"nonsense\" is no URL" },
		{ "symbols: { debuginfod: ['https://x', 'ftp://x'] }\n",
		  "symbols.debuginfod[1]: \"ftp://x\" is no URL" },
		{ "symbols: { debuginfod: [''] }\n", "symbols.debuginfod[0]: \"\" is no URL" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		refuse(&(struct plan_source){ .text = faults[i].yaml }, faults[i].want);
}

/* What runs once alone cannot be run twice: said before anything is opened. */
static void directories_are_of_one_instance(void **state)
{
	static const char *const fine[] = {
		"outputs: { file: [ {}, {} ] }\n",
		"outputs: { file: [ { directory: /tmp/a }, { directory: /tmp/b } ] }\n",
		"outputs: { file: [ { directory: /a }, { directory: /a, enabled: false } ] }\n",
	};

	(void)state;
	refuse(&(struct plan_source){ .text = "outputs: { file: [ { directory: /tmp/a },\n"
					      "  { name: b, directory: /tmp/a/ } ] }\n" },
	       "(built-in):2:25: output file b: directory: \"/tmp/a/\" is that of output file too; "
	       "give "
	       "each its own");
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		plan__free(plan_sample__load(loader, fine[i]));
	if (access(TEST_BUILDDIR "/plugins/.libs/storage_local.so", F_OK) < 0)
		skip_because("built without the store that can be read only");
	refuse(
		&(struct plan_source){
			.text = "storage: { local: [ { path: /x }, { path: /x } ] }\n" },
		"storage local#2: path: \"/x\" is that of storage local too");
	plan__free(plan_sample__load(
		loader, "storage: { local: [ { path: /x }, { path: /x, read_only: true } ] }\n"));
}

/* What no series could carry would lose every row. */
static void labels_have_bounds(void **state)
{
	static char yaml[40000];
	struct plan *plan = NULL;
	struct buf found = { 0 };

	(void)state;
	snprintf(yaml, sizeof(yaml), "labels: { a: %0*d }\n", 16383, 1);
	assert_int_equal(load(&(struct plan_source){ .text = yaml }, &plan, &found), 0);
	plan__free(plan);
	buf__fini(&found);
	snprintf(yaml, sizeof(yaml), "labels: { a: %0*d }\n", 16384, 1);
	refuse(&(struct plan_source){ .text = yaml },
	       "labels: \"a\" makes them longer than 16384 bytes");
	snprintf(yaml, sizeof(yaml), "node: %0*d\n", 256, 1);
	refuse(&(struct plan_source){ .text = yaml },
	       "(built-in):1:7: configuration: node: has 256 bytes");
	memcpy(yaml, "labels: {", sizeof("labels: {"));
	for (int i = 0; i < 65; i++)
		snprintf(yaml + strlen(yaml), sizeof(yaml) - strlen(yaml), " a%d: x,", i);
	memcpy(yaml + strlen(yaml), " }\n", sizeof(" }\n"));
	refuse(&(struct plan_source){ .text = yaml }, "labels: are 65; give at most 64");
}

static void flags_win(void **state)
{
	const char *sets[] = { "labels.env=test", "inputs.example.enabled=false" };
	const struct plan_source source = {
		.text = "server: { listen: [\"127.0.0.1:1\", \"127.0.0.1:2\"] }\n"
			"data: /elsewhere\ninputs: { example: {} }\n",
		.sets = sets,
		.n_sets = 2,
		.listen = "unix:/tmp/a \"quoted\", [socket]",
		.data = "/tmp/{data}",
		.log_level = "debug",
	};
	struct plan *plan = NULL;
	struct buf found = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	char dir[4096];

	(void)state;
	assert_int_equal(load(&source, &plan, &found), 0);
	assert_int_equal(found.n, 0);
	assert_int_equal(plan->main->server.listen.n, 1);
	assert_string_equal(((const char *const *)plan->main->server.listen.items)[0], source.listen);
	assert_int_equal(plan->main->labels.n, 1);
	assert_string_equal(plan->main->labels.keys[0], "env");
	assert_int_equal(plan->main->log.level, DCM_LOG_DEBUG);
	assert_int_equal(plan->n, 0);
	assert_int_equal(plan__data_dir(plan, dir, &err), 0);
	assert_string_equal(dir, source.data);
	plan__free(plan);
}

static void one_address_is_enough(void **state)
{
	static const char *const sets[] = { "server.listen=127.0.0.1:7071" };
	struct plan_source source = { .text = "server: { listen: \"127.0.0.1:7070\" }\n", .sets = sets };

	(void)state;
	for (source.n_sets = 0; source.n_sets < 2; source.n_sets++) {
		struct problems problems = { 0 };
		struct plan *plan = NULL;

		assert_int_equal(plan__load(&source, &loader, &problems, &plan), 0);
		assert_int_equal(plan->main->server.listen.n, 1);
		assert_string_equal(((const char *const *)plan->main->server.listen.items)[0],
				    source.n_sets ? "127.0.0.1:7071" : "127.0.0.1:7070");
		plan__free(plan);
		problems__fini(&problems);
	}
}

static void wrong_plugin_path_is_named(void **state)
{
	const struct plan_source source = { .text = "", .plugin_path = "here" };
	struct loader *none = NULL;
	struct problems problems = { 0 };
	struct plan *plan = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(plan__load(&source, &none, &problems, &plan), -EINVAL);
	problems__first(&problems, &err);
	assert_non_null(strstr(err.text, "--plugin-path: plugin_path: \"here\" is not absolute"));
	problems__fini(&problems);
}

/* What `decima record` does with its own options. */
static void options_of_a_verb_are_named(void **state)
{
	const struct plan_flag text[] = {
		{ "--absent", "inputs.example.interval", NULL, false },
		{ "--every", "inputs.example.interval", "1ns", false },
	};
	const struct plan_flag yaml[] = { { "--env", "labels", "{ a: [b] }", true } };
	const struct plan_flag broken[] = { { "--env", "labels", "{ a: ", true } };

	(void)state;
	refuse(&(struct plan_source){ .text = "", .flags = text, .n_flags = 2 },
	       "--every: input example: interval: ");
	refuse(&(struct plan_source){ .text = "", .flags = yaml, .n_flags = 1 }, "--env: ");
	refuse(&(struct plan_source){ .text = "", .flags = broken, .n_flags = 1 }, "--env");
}

static void wrong_flags_are_named(void **state)
{
	const char *sets[] = { "labels" }, *inside[] = { "node.x=1" },
		   *type[] = { "server.max_queries=x" };

	(void)state;
	refuse(&(struct plan_source){ .text = "", .sets = sets, .n_sets = 1 }, "--set labels: ");
	refuse(&(struct plan_source){ .text = "node: a", .sets = inside, .n_sets = 1 },
	       "--set node.x: ");
	refuse(&(struct plan_source){ .text = "", .sets = type, .n_sets = 1 },
	       "--set server.max_queries: ");
	refuse(&(struct plan_source){ .text = "", .log_level = "loud" }, "--log-level: ");
	refuse(&(struct plan_source){ .text = "", .listen = "here" },
	       "--listen: configuration: server.listen: \"here\" is no address");
	refuse(&(struct plan_source){ .text = "server: 1", .listen = "[::1]:1" }, "server");
	refuse(&(struct plan_source){ .text = "", .data = "\xff" }, "--data: ");
}

/* Storages come first, so that what inputs hand in finds them there. */
static void instances_in_order(void **state)
{
	static const char *const names[] = { "memory", "testing", "testing#2", "example", "other" };
	struct plan *plan;

	(void)state;
	plan = plan_sample__load(
		loader, "inputs: { example: [ {}, { name: other }, { enabled: false } ] }\n"
			"outputs: { testing: [ {}, { mode: again } ] }\n"
			"storage: { memory: {} }\n");
	assert_int_equal(plan->n, 5);
	for (uint32_t i = 0; i < plan->n; i++) {
		assert_string_equal(plan->instances[i].name, names[i]);
		assert_non_null(plan->instances[i].plugin);
		assert_non_null(plan->instances[i].settings);
		assert_int_equal(!plan->instances[i].destination, plan->instances[i].kind == DCM_INPUT);
	}
	assert_string_equal(plan->instances[2].object, "output testing#2");
	plan__free(plan);
	/* Nothing at all is a configuration too. */
	plan = plan_sample__load(loader, "# nothing\n");
	assert_int_equal(plan->n, 0);
	plan__free(plan);
}

/* What is turned off has to be right too, so that turning it on is a change of one word. */
static void disabled_ones_are_checked(void **state)
{
	struct plan *plan = NULL;
	struct buf found = { 0 };

	(void)state;
	refuse(
		&(struct plan_source){
			.text = "inputs:\n  example: { enabled: false, intervall: 1s }\n" },
		"(built-in):2:30: input example: unknown option \"intervall\"");
	refuse(
		&(struct plan_source){
			.text = "outputs:\n  testing: { enabled: false, selector: 'a{' }\n" },
		"(built-in):2:40: output testing: selector");
	/* What this machine has not is no fault of theirs. */
	assert_int_equal(
		load(&(struct plan_source){ .text = "inputs:\n  nosuch: { enabled: false, x: 1 }\n"
						    "  example: { enabled: false, service_name: "
						    "'${DECIMA_NO_SUCH_VARIABLE}' }\n" },
		     &plan, &found),
		0);
	assert_int_equal(plan->n, 0);
	assert_non_null(
		strstr((const char *)found.data, "(built-in):2:3: warning: input nosuch: no "));
	assert_non_null(strstr((const char *)found.data, "warning: input example: "));
	buf__fini(&found);
	plan__free(plan);
}

/* A file for another machine: what only that one has is worth a warning. */
static void elsewhere_is_lenient(void **state)
{
	const struct plan_source source = {
		.text = "inputs: { nosuch: {}, example: { service_name: "
			"'${DECIMA_NO_SUCH_VARIABLE}' } }\n"
			"storage: { nosuch1: {} }\noutputs: { nosuch2: {} }\n"
			"labels: { env: '${DECIMA_NO_SUCH_VARIABLE}' }\n"
			"server: { listen: '${DECIMA_NO_SUCH_VARIABLE}' }\n",
		.elsewhere = true,
	};
	struct plan *plan = NULL;
	struct buf found = { 0 };

	(void)state;
	assert_int_equal(load(&source, &plan, &found), 0);
	assert_int_equal(plan->n, 1);
	assert_non_null(
		strstr((const char *)found.data, "(built-in):1:11: warning: input nosuch: "));
	assert_non_null(
		strstr((const char *)found.data, "(built-in):2:12: warning: storage nosuch1: "));
	assert_non_null(
		strstr((const char *)found.data, "(built-in):3:12: warning: output nosuch2: "));
	assert_non_null(strstr((const char *)found.data, "DECIMA_NO_SUCH_VARIABLE"));
	buf__fini(&found);
	plan__free(plan);
	/* But no machine has what is only misspelt, as far as anybody can tell. */
	refuse(&(struct plan_source){ .text = "inputs: { exampel: {} }\n", .elsewhere = true },
	       "(built-in):1:11: input exampel: no input_exampel.so in " TEST_BUILDDIR);
	/* Nor one that is something else here. */
	refuse(&(struct plan_source){ .text = "inputs: { memory: {} }\n", .elsewhere = true },
	       "(built-in):1:11: input memory: there is no such input, but a storage of that name; "
	       "put it below storage:");
	refuse(
		&(struct plan_source){ .text = "outputs: { example: {} }\n", .elsewhere = true }, "(built-in):1:12: output example: there is no such output, but an input of that name; "
												  "put it below inputs:");
	refuse(&(struct plan_source){ .text = "inputs: { nosuch: {} }\n" },
	       "; say where it is with --plugin-path, or plugin_path in the file");
}

/*
 * With whatever was built, and not a word about what was not; so does what `make install` writes.
 */
static void default_has_what_was_built(void **state)
{
	static const struct plan_source sources[] = {
		{ .text = plan__default_text },
		{ .path = TEST_BUILDDIR "/conf/installed.yaml" },
	};

	(void)state;
	if (access(TEST_BUILDDIR "/plugins/.libs/storage_local.so", F_OK) < 0 &&
	    access(TEST_BUILDDIR "/plugins/.libs/storage_memory.so", F_OK) < 0)
		skip_because(
			"built without the two stores that the default configuration may name");
	for (size_t i = 0; i < 2; i++) {
		struct plan *plan = NULL;
		struct buf found = { 0 };

		if (load(&sources[i], &plan, &found) < 0 || found.n > 0)
			fail_msg("%s", found.n ? (const char *)found.data : "not loaded, and no fault");
		assert_true(plan->n >= 1);
		buf__fini(&found);
		plan__free(plan);
	}
}

static void data_directory(void **state)
{
	struct plan *plan = plan_sample__load(loader, "");
	struct dcm_error err = DCM_ERROR_INIT;
	char dir[4096];

	(void)state;
	setenv("XDG_STATE_HOME", "/tmp/state", 1);
	assert_int_equal(plan__data_dir(plan, dir, &err), 0);
	assert_string_equal(dir, geteuid() == 0 ? "/var/lib/decima" : "/tmp/state/decima");
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	assert_int_equal(plan__data_dir(plan, dir, &err), geteuid() == 0 ? 0 : -ENOENT);
	plan__free(plan);
}

static void without_memory(void **state)
{
	static const char yaml[] = "labels: { a: b }\nserver: { hosts: [x] }\n"
				   "storage: { memory: {} }\noutputs: { testing: [ {}, {} ] }\n";

	(void)state;
	/* The plugins are loaded once for the process: not a part of the sweep. */
	plan__free(plan_sample__load(loader, yaml));
	FAILMALLOC_SWEEP (i) {
		struct problems problems = { 0 };
		struct plan *plan = NULL;
		int r = plan__load(&(struct plan_source){ .text = yaml }, &loader, &problems, &plan);

		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(r == 0, plan != NULL);
		problems__fini(&problems);
		plan__free(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_do_not_hide_that_it_is_no_map),
		cmocka_unit_test(effective_reads_back),
		cmocka_unit_test(faults_have_places),
		cmocka_unit_test(values_without_use_are_refused),
		cmocka_unit_test(directories_are_of_one_instance),
		cmocka_unit_test(labels_have_bounds),
		cmocka_unit_test(flags_win),
		cmocka_unit_test(wrong_flags_are_named),
		cmocka_unit_test(one_address_is_enough),
		cmocka_unit_test(wrong_plugin_path_is_named),
		cmocka_unit_test(options_of_a_verb_are_named),
		cmocka_unit_test(instances_in_order),
		cmocka_unit_test(elsewhere_is_lenient),
		cmocka_unit_test(default_has_what_was_built),
		cmocka_unit_test(data_directory),
		cmocka_unit_test(without_memory),
		cmocka_unit_test(disabled_ones_are_checked),
	};

	return cmocka_run_group_tests_name("plan", tests, set_up, tear_down);
}
