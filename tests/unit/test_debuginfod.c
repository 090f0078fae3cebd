/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_debuginfod.c - the symbol store asks a real debuginfod server
 *
 * The server serves one folder on the loopback interface. A stripped program has to be named as the
 * program is that was not; what the server does not have is a reason; one that fails
 * is asked again.
 */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/main/debuginfod.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/native_batch.h"
#include "tests/unit/paths.h"
#include "tests/unit/shell.h"

#define SECOND INT64_C(1000000000)

static char dir[] = "/tmp/decima-debuginfod-XXXXXX";
#define run(...)  shell_in(dir, __VA_ARGS__)
#define must(...) assert_int_equal(run(__VA_ARGS__), 0)
static pid_t server = -1;
static unsigned port;
static uint64_t address; /* of inlines_outer */
static _Atomic int n_fetches;

/* A port that was free a moment ago. */
static unsigned free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	CLEANUP(fd__closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	return ntohs(a.sin_port);
}

static uint64_t find_address(void)
{
	char line[512];
	unsigned long long start = 0;
	FILE *f;

	snprintf(line, sizeof(line), "readelf -sW %s/full | grep ' inlines_outer$'", dir);
	f = popen(line, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	assert_int_equal(sscanf(line, " %*d: %llx", &start), 1);
	return start;
}

static void build_id_of(const char *name, char ret[static ELF_BUILD_ID_TEXT])
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf__build_id(fd, ret), 0);
}

/* True once it has the file; it reads its folder in the background. False, with server < 0: it has ended. */
static bool server_is_ready(void)
{
	char id[ELF_BUILD_ID_TEXT];

	build_id_of("full", id);
	for (int i = 0; i < 300; i++) {
		if (run("curl -sf -o probe http://127.0.0.1:%u/buildid/%s/debuginfo", port, id) == 0)
			return true;
		if (waitpid(server, NULL, WNOHANG) == server) {
			server = -1;
			return false;
		}
		usleep(100000);
	}
	return false;
}

static bool try_to_start(void)
{
	char number[16], served[64];

	port = free_port();
	snprintf(number, sizeof(number), "%u", port);
	snprintf(served, sizeof(served), "%s/served", dir);
	server = fork();
	assert_true(server >= 0);
	if (server == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 1);
		dup2(null, 2);
		setenv("DEBUGINFOD_URLS", "", 1);
		execlp("debuginfod", "debuginfod", "-d", ":memory:", "-p", number, "-F", served,
		       (char *)NULL);
		_exit(127);
	}
	return server_is_ready();
}

/* Between finding a port and its use somebody else may have taken it. */
static bool start_server(void)
{
	for (int i = 0; i < 5; i++)
		if (try_to_start())
			return true;
		else if (server >= 0)
			return false;
	return false;
}

/* The store's answer once the server was asked: the location's lines, or why there are none. */
static struct dcm_batch *answered(const struct symbols_config *c, const char *name,
				  struct symbols_stat *ret)
{
	CLEANUP(symbols__freep) struct symbols *s = NULL;
	char id[ELF_BUILD_ID_TEXT], path[256];
	struct dcm_batch *named = NULL;

	assert_int_equal(symbols__new(c, &s, NULL), 0);
	build_id_of(name, id);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	symbols__offer(s, str__of(id), str__of(path), fd);
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = native_batch__of("/x/program", id, &address, 1);
	for (int i = 0; i < 600; i++) {
		const struct dcm_location *l;

		batch__unref(named);
		assert_int_equal(symbols__resolve(s, b, 10 * SECOND, &named, NULL), 0);
		symbols__stat(s, ret);
		l = &named->locations[0];
		if (l->n_lines > 1 || (!l->n_lines && l->unnamed != DCM_UNNAMED_DEBUGINFO_ASKED &&
				       ret->debuginfod_asked && !ret->debuginfod_found))
			return named;
		assert_true(l->n_lines || l->unnamed == DCM_UNNAMED_DEBUGINFO_ASKED ||
			    ret->debuginfod_found);
		usleep(50000);
	}
	fail_msg("no answer: %d asked", (int)ret->debuginfod_asked);
	return NULL;
}

static struct debuginfod_limits limits = { 30 * SECOND, 64 << 20 };
static char url[64], cache[64];
static const char *const urls[] = { url };

static struct symbols_config config(void)
{
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", port);
	snprintf(cache, sizeof(cache), "%s/cache", dir);
	return (struct symbols_config){ .debuginfod = urls,
					.n_debuginfod = 1,
					.debuginfod_dir = cache,
					.fetch = debuginfod__fetch,
					.fetch_ctx = &limits,
					.lines = true,
					.inlines = true,
					.frames_timeout_ns = 60 * SECOND };
}

/* A program, and a server of what was in it, by these tools. */
#define TOOLS "debuginfod curl g++ objcopy"
static void prepare(void)
{
	if (server >= 0)
		return;
	must("mkdir -p served && "
	     "g++ -O2 -g -Wl,--build-id -o full %s/tests/programs/inlines.cc && "
	     "objcopy --only-keep-debug full served/full.debug && objcopy --strip-all full bare && "
	     "g++ -O1 -Wl,--build-id -s -o other %s/tests/programs/inlines.cc",
	     TEST_SRCDIR, TEST_SRCDIR);
	address = find_address();
	assert_true(start_server());
}

static void test_what_the_server_has(void **state)
{
	struct symbols_stat stat;

	(void)state;
	if (!shell_has(TOOLS))
		skip_because("debuginfod, curl, g++ and objcopy are needed");
	prepare();
	struct symbols_config c = config();
	for (int turn = 0; turn < 2; turn++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = answered(&c, "bare", &stat);
		const struct dcm_location *l = &b->locations[0];
		const struct dcm_function
			*inner = &b->functions[b->lines[l->line_off].function],
			*outer = &b->functions[b->lines[l->line_off + l->n_lines - 1].function];

		assert_true(l->n_lines >= 2);
		assert_true(str__starts(b->strings[inner->name], STR("innermost")));
		assert_true(str__eq(b->strings[outer->name], STR("inlines_outer")));
		assert_true(str__ends(b->strings[outer->file], STR("inlines.cc")));
		/* The second time it is in the directory, and nobody is asked. */
		assert_int_equal(stat.debuginfod_asked, turn == 0);
		assert_int_equal(stat.debuginfo_found, 1);
	}
}

static void test_what_the_server_does_not_have(void **state)
{
	struct symbols_stat stat;

	(void)state;
	if (!shell_has(TOOLS))
		skip_because("debuginfod, curl, g++ and objcopy are needed");
	prepare();
	struct symbols_config c = config();
	CLEANUP(batch__unrefp) struct dcm_batch *b = answered(&c, "other", &stat);
	assert_int_equal(b->locations[0].n_lines, 0);
	assert_int_equal(b->locations[0].unnamed, DCM_UNNAMED_NO_DEBUGINFO);
	assert_int_equal(stat.debuginfod_asked, 1);
	assert_int_equal(stat.debuginfod_failed, 0);
}

static void test_files_that_are_too_large(void **state)
{
	struct symbols_stat stat;

	(void)state;
	if (!shell_has(TOOLS))
		skip_because("debuginfod, curl, g++ and objcopy are needed");
	prepare();
	must("rm -rf cache");
	struct symbols_config c = config();
	limits.max_bytes = 1000;
	CLEANUP(batch__unrefp) struct dcm_batch *large = answered(&c, "bare", &stat);
	limits.max_bytes = 64 << 20;
	assert_int_equal(large->locations[0].unnamed, DCM_UNNAMED_NO_DEBUGINFO);
	assert_int_equal(stat.debuginfod_failed, 1);
	/* Nothing is left behind by what failed. */
	must("test -z \"$(find cache -type f)\"");
}

/* A server that is down twice; the third time it is asked. */
static int fetch_at_last(void *ctx, const struct symbols_fetch *fetch)
{
	return atomic_fetch_add(&n_fetches, 1) < 2 ? -ECONNREFUSED : debuginfod__fetch(ctx, fetch);
}

static void test_a_server_that_was_down_is_asked_again(void **state)
{
	struct symbols_stat stat;

	(void)state;
	if (!shell_has(TOOLS))
		skip_because("debuginfod, curl, g++ and objcopy are needed");
	prepare();
	must("rm -rf cache");
	struct symbols_config c = config();
	atomic_store(&n_fetches, 0);
	c.fetch = fetch_at_last;
	c.debuginfod_retry_ns = SECOND / 100;
	CLEANUP(batch__unrefp) struct dcm_batch *b = answered(&c, "bare", &stat);
	assert_true(b->locations[0].n_lines > 1);
	assert_int_equal(stat.debuginfod_asked, 3);
	assert_int_equal(stat.debuginfod_failed, 2);
	assert_int_equal(stat.debuginfod_found, 1);
}

/* The one server fails, the other has it not: that is no answer yet. */
static int fetch_or_fail(void *ctx, const struct symbols_fetch *fetch)
{
	(void)ctx;
	atomic_fetch_add(&n_fetches, 1);
	return strstr(fetch->url, "/second/") ? -ENOENT : -ETIMEDOUT;
}

static void test_one_server_that_fails_is_enough_to_ask_again(void **state)
{
	static const char *const two[] = { "http://127.0.0.1/first", "http://127.0.0.1/second" };
	struct symbols_stat stat = { .lookups = 0 };
	CLEANUP(symbols__freep) struct symbols *s = NULL;
	char id[ELF_BUILD_ID_TEXT], path[256];

	(void)state;
	if (!shell_has(TOOLS))
		skip_because("debuginfod, curl, g++ and objcopy are needed");
	prepare();
	struct symbols_config c = config();
	c.debuginfod = two;
	c.n_debuginfod = 2;
	atomic_store(&n_fetches, 0);
	c.fetch = fetch_or_fail;
	c.debuginfod_retry_ns = SECOND / 100;
	assert_int_equal(symbols__new(&c, &s, NULL), 0);
	build_id_of("other", id);
	snprintf(path, sizeof(path), "%s/other", dir);
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	symbols__offer(s, str__of(id), STR("/x/other"), fd);
	for (int i = 0; i < 60000 && stat.debuginfod_failed < 3; i++) {
		usleep(1000);
		symbols__stat(s, &stat);
	}
	CLEANUP(batch__unrefp) struct dcm_batch *named = NULL;
	CLEANUP(batch__unrefp) struct dcm_batch *b = native_batch__of("/x/other", id, &address, 1);
	assert_int_equal(symbols__resolve(s, b, 10 * SECOND, &named, NULL), 0);
	assert_int_equal(named->locations[0].unnamed, DCM_UNNAMED_DEBUGINFO_ASKED);
	assert_true(atomic_load(&n_fetches) >= 6);
}

static void test_old_files_make_room(void **state)
{
	struct symbols_stat stat;

	(void)state;
	if (!shell_has(TOOLS))
		skip_because("debuginfod, curl, g++ and objcopy are needed");
	prepare();
	must("rm -rf cache && mkdir -p cache/.build-id/00 && "
	     "head -c 100000 /dev/zero >cache/.build-id/00/11.debug && "
	     "touch -d 2020-01-01 cache/.build-id/00/11.debug");
	struct symbols_config c = config();
	c.debuginfod_bytes = 150000;
	batch__unref(answered(&c, "bare", &stat));
	assert_int_equal(stat.debuginfod_found, 1);
	must("test $(find cache -type f | wc -l) -eq 1 && ! test -e "
	     "cache/.build-id/00/11.debug");
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	if (server > 0) {
		kill(server, SIGTERM);
		waitpid(server, NULL, 0);
	}
	return run("rm -rf %s", dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_server_has),
		cmocka_unit_test(test_what_the_server_does_not_have),
		cmocka_unit_test(test_files_that_are_too_large),
		cmocka_unit_test(test_a_server_that_was_down_is_asked_again),
		cmocka_unit_test(test_one_server_that_fails_is_enough_to_ask_again),
		cmocka_unit_test(test_old_files_make_room),
	};

	return cmocka_run_group_tests_name("debuginfod", tests, make_dir, remove_dir);
}
