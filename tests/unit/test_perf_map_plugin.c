/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_perf_map_plugin.c - the plugin under a host of ours: this process named by its own
 * perf map, and what is said of one that is too large, or is none
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "plugins/input/perf_map/processes.h"
#include "tests/unit/no_metrics.h"
#include "tests/unit/random.h"

static const int64_t SECOND = 1000000000;

static int64_t real_mono(const struct dcm_host *host)
{
	(void)host;
	return clock__mono(&clock__system);
}

static int refuse(const struct dcm_host *host, const struct dcm_guarded *g)
{
	(void)host;
	(void)g;
	return -ENOSYS;
}

static void keep_name(void *ctx, uint32_t i, const struct dcm_symbol *symbol)
{
	char(*names)[64] = ctx;

	snprintf(names[i], sizeof(names[i]), "%.*s", STR_ARG(symbol->name));
}

static void any_state(const struct dcm_host *host, enum dcm_state now, const char *fmt, ...)
{
	(void)host;
	(void)now;
	(void)fmt;
}

static struct dcm_metric *no_metric(const struct dcm_host *host, enum dcm_metric_kind kind,
				    const char *name, const char *help)
{
	(void)host;
	(void)kind;
	assert_true(strncmp(name, "perf_map_", 9) == 0 && help[0]);
	return NULL;
}

static char logged[4][PROCESSES_NOTE_BYTES];
static uint32_t n_logged;
static uint64_t bytes_dropped;

static void keep_log(const struct dcm_host *host, enum dcm_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void keep_log(const struct dcm_host *host, enum dcm_log_level level, const char *fmt, ...)
{
	va_list ap;

	(void)host;
	assert_int_equal(level, DCM_LOG_WARNING);
	assert_true(n_logged < 4);
	va_start(ap, fmt);
	vsnprintf(logged[n_logged++], sizeof(logged[0]), fmt, ap);
	va_end(ap);
}

static void keep_drop(const struct dcm_host *host, const char *reason, uint64_t n)
{
	(void)host;
	if (strcmp(reason, "perf_map_bytes") != 0)
		fail_msg("%" PRIu64 " %s dropped", n, reason);
	bytes_dropped += n;
}

static const struct dcm_host host = { .size = sizeof(host),
				      .log = keep_log,
				      .mono_ns = real_mono,
				      .real_ns = real_mono,
				      .drop = keep_drop,
				      .set_state = any_state,
				      .metric = no_metric,
				      .metric_add = no_metrics__add,
				      .metric_set = no_metrics__set,
				      .open_guarded = refuse };

static int forget(void **state)
{
	(void)state;
	n_logged = 0;
	bytes_dropped = 0;
	return 0;
}

/* As options__fill() would lay it out, from the plugin's own table. */
static void *default_config(const struct dcm_table *table)
{
	static const char *const dirs[] = { "/tmp" };
	char *config = calloc(1, table->struct_size);

	for (uint32_t i = 0; i < table->n_options; i++) {
		const struct dcm_option *o = &table->options[i];
		int64_t value = strstr(o->name, "interval") ? 0
				: strstr(o->name, "keep")   ? SECOND
							    : 1 << 20;

		if (o->type == DCM_OPT_LIST)
			*(struct dcm_list *)(config + o->offset) =
				(struct dcm_list){ (void *)(uintptr_t)dirs, 1 };
		else
			*(int64_t *)(config + o->offset) = value;
	}
	return config;
}

static void test_the_plugin_names_this_process(void **state)
{
	const struct dcm_plugin *p = dcm_plugin_entry();
	CLEANUP(mem__freep) void *config = default_config(p->options);
	struct dcm_process id = { .pid = (uint32_t)getpid() };
	uint64_t addresses[] = { 0x10, 0x30, 0x20 };
	char path[64], names[3][64] = { "", "", "" };
	struct dcm_error err = DCM_ERROR_INIT;
	enum dcm_unnamed why = DCM_UNNAMED_N;
	void *instance = NULL;

	(void)state;
	assert_int_equal(p->magic, DCM_ABI_MAGIC);
	assert_int_equal(p->options->check(config, &err), 0);
	assert_int_equal(p->lifecycle->open(&host, config, &instance, &err), 0);
	assert_int_equal(p->lifecycle->start(instance, &err), 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	p->input->process(instance, DCM_PROCESS_SEEN, &id);
	assert_int_equal(p->input->resolve(instance, &id, addresses, 3, keep_name, names, &why), -ENOENT);
	assert_int_equal(why, DCM_UNNAMED_JIT_NO_MAP);
	CLEANUP(fd__closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, "10 10 one\n20 10 two\n", 20), 0);
	assert_int_equal(p->input->resolve(instance, &id, addresses, 3, keep_name, names, &why), 0);
	unlink(path);
	assert_int_equal(why, DCM_UNNAMED_JIT_NOT_IN_MAP);
	assert_string_equal(names[0], "one");
	assert_string_equal(names[1], "");
	assert_string_equal(names[2], "two");
	p->input->process(instance, DCM_PROCESS_EXIT, &id);
	p->lifecycle->stop(instance);
	assert_int_equal(n_logged, 0);
	assert_int_equal(bytes_dropped, 0);
	/* Its own options are refused when they make no sense. */
	const char *relative[] = { "tmp" };
	((struct dcm_list *)((char *)config + p->options->options[0].offset))->items = relative;
	assert_int_equal(p->options->check(config, &err), -EINVAL);
	assert_non_null(strstr(err.text, "absolute"));
}

/* A map that is too large and no map: said once, counted, and the reason of what has no name. */
static void test_a_map_of_garbage_is_spoken_of(void **state)
{
	const struct dcm_plugin *p = dcm_plugin_entry();
	CLEANUP(mem__freep) void *config = default_config(p->options);
	struct dcm_process id = { .pid = (uint32_t)getpid() };
	uint64_t address = 0x30;
	char path[64], want[96], names[3][64] = { "", "", "" };
	struct dcm_error err = DCM_ERROR_INIT;
	enum dcm_unnamed why = DCM_UNNAMED_N;
	struct random random = { 5 };
	void *instance = NULL;

	(void)state;
	assert_int_equal(p->lifecycle->open(&host, config, &instance, &err), 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	CLEANUP(fd__closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, "30 10 unread\n", 13), 0);
	for (int i = 0; i < 3 * 1024; i++) {
		uint64_t block[128];

		for (int k = 0; k < 128; k++)
			block[k] = random__next(&random);
		assert_int_equal(fd__write_all(fd, block, sizeof(block)), 0);
	}
	p->input->process(instance, DCM_PROCESS_SEEN, &id);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(p->input->resolve(instance, &id, &address, 1, keep_name, names, &why), 0);
		assert_int_equal(why, DCM_UNNAMED_JIT_MAP_CUT);
	}
	unlink(path);
	assert_string_equal(names[0], "");
	assert_int_equal(bytes_dropped, 13 + (2 << 20));
	assert_int_equal(n_logged, 2);
	snprintf(want, sizeof(want), "%s of process %d: ", path, (int)getpid());
	for (uint32_t i = 0; i < n_logged; i++)
		assert_memory_equal(logged[i], want, strlen(want));
	assert_non_null(strstr(logged[0], "lines are not understood"));
	assert_non_null(strstr(logged[1], "only its last 1048576 bytes are read"));
	assert_non_null(strstr(logged[1], "raise max_file_size"));
	p->lifecycle->stop(instance);
}

/* What has a map's name and is none is passed over, and said once. */
static void test_what_is_no_file_is_spoken_of(void **state)
{
	const struct dcm_plugin *p = dcm_plugin_entry();
	CLEANUP(mem__freep) void *config = default_config(p->options);
	struct dcm_process id = { .pid = (uint32_t)getpid() };
	uint64_t address = 0x10;
	char path[64], want[96], names[1][64] = { "" };
	struct dcm_error err = DCM_ERROR_INIT;
	enum dcm_unnamed why;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	snprintf(want, sizeof(want), "%s of process %d: ", path, (int)getpid());
	for (int kind = 0; kind < 3; kind++) {
		void *instance = NULL;

		n_logged = 0;
		unlink(path);
		assert_int_equal(kind == 0   ? mkfifo(path, 0600)
				 : kind == 1 ? symlink("/etc/passwd", path)
					     : mkdir(path, 0700),
				 0);
		assert_int_equal(p->lifecycle->open(&host, config, &instance, &err), 0);
		p->input->process(instance, DCM_PROCESS_SEEN, &id);
		for (int i = 0; i < 3; i++)
			assert_int_equal(p->input->resolve(instance, &id, &address, 1, keep_name,
							   names, &why),
					 -ENOENT);
		p->input->process(instance, DCM_PROCESS_EXIT, &id);
		p->lifecycle->stop(instance);
		assert_int_equal(remove(path), 0);
		assert_int_equal(why, DCM_UNNAMED_JIT_NO_MAP);
		assert_int_equal(n_logged, 1);
		assert_memory_equal(logged[0], want, strlen(want));
		assert_non_null(strstr(logged[0], "is no regular file"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_the_plugin_names_this_process, forget),
		cmocka_unit_test_setup(test_a_map_of_garbage_is_spoken_of, forget),
		cmocka_unit_test_setup(test_what_is_no_file_is_spoken_of, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
