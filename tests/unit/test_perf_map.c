/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_perf_map.c - perf maps: lines, files, processes
 *
 * The oracle for ranges is an array of bytes painted line by line; processes come from a /proc made
 * of files, and once from the real one.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "plugins/input/perf_map/map.h"
#include "plugins/input/perf_map/processes.h"
#include "plugins/input/perf_map/source.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/random.h"
#include "tests/unit/real_processes.h"
#include "tests/unit/shell.h"
#include "tests/unit/terminal.h"

#define SECOND INT64_C(1000000000)
DEFINE_FOLDER(dir, "perf-map", 0700);

/* --- lines --- */

static void feed(struct map *m, const char *text)
{
	size_t used = 0;

	assert_int_equal(map__feed(m, text, strlen(text), &used), 0);
	assert_int_equal(map__settle(m), 0);
}

static void assert_in_map(const struct map *m, uint64_t address, const char *want)
{
	struct dcm_str name = STR("");
	uint64_t start;
	bool found = map__find(m, address, &name, &start);

	if (!want) {
		if (found)
			fail_msg("0x%" PRIx64 " is named \"%.*s\"", address, STR_ARG(name));
		return;
	}
	if (!found || !str__eq(name, str__of(want)))
		fail_msg("0x%" PRIx64 ": \"%.*s\", not \"%s\"", address, STR_ARG(name), want);
	assert_true(start <= address);
}

static void test_lines_of_every_runtime(void **state)
{
	struct map m;

	(void)state;
	map__init(&m, 1 << 20);
	feed(&m, "7f0000001000 20 LazyCompile:*run /srv/app.js:10:5\n"
		 "0x00007f0000002000 0x0000000000000040 Ljava/lang/String;::hashCode\n"
		 "7F0000003000 10 Upper\r\n"
		 "7f0000004000 10 tab\tand\x01\xff\n");
	assert_in_map(&m, 0x7f0000000fff, NULL);
	assert_in_map(&m, 0x7f0000001000, "LazyCompile:*run /srv/app.js:10:5");
	assert_in_map(&m, 0x7f000000101f, "LazyCompile:*run /srv/app.js:10:5");
	assert_in_map(&m, 0x7f0000001020, NULL);
	assert_in_map(&m, 0x7f000000203f, "Ljava/lang/String;::hashCode");
	assert_in_map(&m, 0x7f0000003001, "Upper");
	assert_in_map(&m, 0x7f0000004001, "tab?and??");
	assert_int_equal(m.n_lines, 4);
	assert_int_equal(m.n_skipped, 0);
	map__fini(&m);
}

static void test_garbage_is_counted_and_skipped(void **state)
{
	static const char *const garbage[] = {
		"\n",
		"x\n",
		"10\n",
		"10 20\n",
		"10 20 \n",
		" 10 20 x\n",
		"10  20 x\n",
		"zz 20 x\n",
		"10 0 empty\n",
		"10 40000001 too large\n",
		"ffffffffffffffff 10 over the end\n",
		"11112222333344445 1 x\n",
		"0x 10 x\n",
		"-1 10 x\n",
	};
	struct map m;

	(void)state;
	map__init(&m, 1 << 20);
	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++)
		feed(&m, garbage[i]);
	assert_int_equal(m.n_skipped, sizeof(garbage) / sizeof(*garbage));
	/* A line that is too long is one line of garbage, in however many pieces it comes. */
	char *line = calloc(1, 3 * MAP_MAX_LINE + 32);
	snprintf(line, 16, "1000 10 ");
	memset(line + 8, 'a', 3 * MAP_MAX_LINE);
	memcpy(line + 8 + 3 * MAP_MAX_LINE, "\n20 10 good\n", 13);
	size_t n = strlen(line), used;
	uint64_t skipped = m.n_skipped;
	for (size_t at = 0; at < n; at += used)
		assert_int_equal(map__feed(&m, line + at,
					   n - at < MAP_MAX_LINE ? n - at : MAP_MAX_LINE, &used),
				 0);
	assert_int_equal(map__settle(&m), 0);
	assert_int_equal(m.n_skipped, skipped + 1);
	assert_in_map(&m, 0x1000, NULL);
	assert_in_map(&m, 0x25, "good");
	free(line);
	map__fini(&m);
}

enum { SPACE = 20000 };

static void check_painted(const struct map *m, const uint32_t *painted)
{
	for (uint32_t a = 0; a < SPACE; a++) {
		char want[16];

		snprintf(want, sizeof(want), "f%u", painted[a]);
		assert_in_map(m, a, painted[a] ? want : NULL);
	}
}

/* Random lines over a small space against bytes painted one line after the other. */
static void test_later_lines_win_against_brute_force(void **state)
{
	uint32_t *painted = calloc(SPACE, sizeof(*painted));
	struct random r = { 1 };

	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		struct map m;
		uint32_t id = 0;

		map__init(&m, 64 << 20);
		memset(painted, 0, SPACE * sizeof(*painted));
		for (unsigned step = 0; step < 30; step++) {
			char text[8192];
			size_t n = 0, used = 0;
			unsigned lines = (unsigned)random__below(&r, round % 3 ? 100 : 5);

			for (unsigned i = 0; i < lines; i++) {
				uint32_t bytes = 1 + (uint32_t)random__below(&r, i % 7 ? 60 : 4000);
				uint32_t start = (uint32_t)random__below(&r, SPACE - bytes);

				id++;
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%x %x f%u\n",
						      start, bytes, id);
				for (uint32_t a = start; a < start + bytes; a++)
					painted[a] = id;
			}
			assert_int_equal(map__feed(&m, text, n, &used), 0);
			assert_int_equal(used, n);
			assert_int_equal(map__settle(&m), 0);
		}
		check_painted(&m, painted);
		assert_true(m.young.n_levels < 16);
		map__fini(&m);
	}
	free(painted);
}

static void test_memory_is_bounded_and_the_newest_stay(void **state)
{
	enum { LINES = 200000 };
	struct map m;
	size_t used;

	(void)state;
	map__init(&m, 4 << 20);
	for (unsigned i = 0; i < LINES; i++) {
		char line[128];
		int n = snprintf(line, sizeof(line),
				 "%x 10 a function with a name of some length, number %u\n", i * 16, i);

		assert_int_equal(map__feed(&m, line, (size_t)n, &used), 0);
		if (i % 1000 == 0) {
			assert_int_equal(map__settle(&m), 0);
			assert_true(map__bytes(&m) < (6 << 20));
		}
	}
	assert_int_equal(map__settle(&m), 0);
	assert_in_map(&m, (LINES - 1) * 16, "a function with a name of some length, number 199999");
	assert_in_map(&m, (LINES - 8000) * 16, "a function with a name of some length, number 192000");
	assert_in_map(&m, 16, NULL);
	assert_true(m.n_forgotten > LINES / 2);
	map__fini(&m);
}

/* --- files --- */

static const char *path_of(const char *name)
{
	static char path[4][512];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

static void write_as(const char *name, const char *text, int flags)
{
	CLEANUP(fd__closep)
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, text, strlen(text)), 0);
}

static struct source_owner me(void)
{
	return (struct source_owner){ .uid = getuid(), .euid = geteuid() };
}

static int open_source(struct source *s, int root, const char *path)
{
	struct source_owner owner = me();

	return source__open(s, root, path, &owner, 0);
}

/* Time goes on for a source that waits for its last line's newline. */
static void wait_for_newline(struct source *s, int64_t ns)
{
	s->rest.since_ns -= ns;
}

static void test_a_last_line_without_newline(void **state)
{
	CLEANUP(fd__closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct source s;

	(void)state;
	source__init(&s, SOURCE_PERF_MAP, 1 << 20, NULL);
	write_as("last.map", "10 10 one\n20 10 tw", O_TRUNC);
	assert_int_equal(open_source(&s, root, "/last.map"), 0);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	wait_for_newline(&s, SOURCE_STILL_NS / 2);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x20, NULL);
	/* It goes on: the time begins anew. */
	wait_for_newline(&s, SOURCE_STILL_NS);
	write_as("last.map", "o", O_APPEND);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x20, NULL);
	wait_for_newline(&s, SOURCE_STILL_NS);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x20, "two");
	assert_int_equal(source__stat(&s).n_lines, 2);
	/* Once. */
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_int_equal(source__stat(&s).n_lines, 2);
	/* It was not the whole line after all. */
	write_as("last.map", " and more\n30 10 three", O_APPEND);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x20, "two and more");
	assert_in_map(&s.map, 0x30, NULL);
	/* Written anew, with a last line of the same length. */
	write_as("last.map", "50 10 one\n60 10 and more\n70 10 three", O_TRUNC);
	wait_for_newline(&s, SOURCE_STILL_NS);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x70, NULL);
	wait_for_newline(&s, SOURCE_STILL_NS);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x70, "three");
	source__fini(&s);
}

static void test_a_file_is_followed_and_rewriting_is_noticed(void **state)
{
	CLEANUP(fd__closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct source s;
	char text[64];

	(void)state;
	source__init(&s, SOURCE_PERF_MAP, 1 << 20, NULL);
	assert_int_equal(source__read(&s, 1 << 30), -ENOENT);
	assert_int_equal(open_source(&s, root, "/m.map"), -ENOENT);
	write_as("m.map", "10 10 one\n20 10 tw", O_TRUNC);
	assert_int_equal(open_source(&s, root, "/m.map"), 0);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x10, "one");
	assert_in_map(&s.map, 0x20, NULL); /* the line has not ended */
	write_as("m.map", "o\n", O_APPEND);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x20, "two");
	assert_int_equal(s.n_reads, 20);

	/* Shorter. */
	write_as("m.map", "30 10 three\n", O_TRUNC);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x10, NULL);
	assert_in_map(&s.map, 0x30, "three");
	/* Rewritten in place, and longer than what was read. */
	write_as("m.map", "40 10 four\n50 10 five\n", O_TRUNC);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x30, NULL);
	assert_in_map(&s.map, 0x40, "four");
	assert_in_map(&s.map, 0x50, "five");
	/* Another file under the name; ours stays open until then. */
	write_as("new.map", "60 10 six\n", O_TRUNC);
	assert_int_equal(rename(path_of("new.map"), path_of("m.map")), 0);
	assert_int_equal(open_source(&s, root, "/m.map"), 0);
	assert_int_equal(source__read(&s, 1 << 30), 0);
	assert_in_map(&s.map, 0x50, NULL);
	assert_in_map(&s.map, 0x60, "six");
	assert_int_equal(s.n_rewrites, 3);
	unlink(path_of("m.map"));
	assert_int_equal(open_source(&s, root, "/m.map"), -ENOENT);
	assert_in_map(&s.map, 0x60, "six");

	/* Line by line, many times: the text before the offset is recognised. */
	for (unsigned i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "%x 1 n%u\n", 0x1000 + i, i);
		write_as("m2.map", text, i ? O_APPEND : O_TRUNC);
		assert_int_equal(open_source(&s, root, "/m2.map"), 0);
		assert_int_equal(source__read(&s, 1 << 30), 0);
	}
	assert_int_equal(s.n_rewrites, 4);
	assert_in_map(&s.map, 0x1000, "n0");
	assert_in_map(&s.map, 0x1000 + 99, "n99");
	source__fini(&s);
}

static void test_only_the_end_of_a_large_file_is_read(void **state)
{
	CLEANUP(fd__closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct source s;

	(void)state;
	source__init(&s, SOURCE_PERF_MAP, 1 << 20, NULL);
	write_as("large.map", "10 10 first\n20 10 second\n30 10 third\n", O_TRUNC);
	assert_int_equal(open_source(&s, root, "/large.map"), 0);
	assert_int_equal(source__read(&s, 16), 0);
	assert_in_map(&s.map, 0x20, NULL);
	assert_in_map(&s.map, 0x30, "third");
	/* Forgotten for want of memory, and read anew: what was passed over counts once. */
	assert_int_equal(s.n_unread, 21);
	source__forget(&s);
	assert_int_equal(source__read(&s, 16), 0);
	assert_in_map(&s.map, 0x30, "third");
	assert_int_equal(s.n_unread, 21);
	write_as("large.map", "40 10 fourth, a long one\n50 10 5\n", O_APPEND);
	assert_int_equal(source__read(&s, 16), 0);
	assert_int_equal(s.n_unread, 21 + 33 - 16);
	/* Rewritten, it is another text. */
	write_as("large.map", "10 10 first\n20 10 second\n30 10 third\n", O_TRUNC);
	assert_int_equal(source__read(&s, 16), 0);
	assert_int_equal(s.n_unread, 21 + 33 - 16 + 21);
	/* A gigabyte without a line: each call reads its share. */
	assert_int_equal(truncate(path_of("large.map"), 1 << 30), 0);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t before = s.n_reads;

		assert_int_equal(source__read(&s, 2ull << 30), 0);
		assert_true(s.n_reads - before <= SOURCE_BYTES_AT_ONCE + (1 << 20));
	}
	source__fini(&s);
	unlink(path_of("large.map"));
}

static void test_what_is_not_ours_to_read(void **state)
{
	CLEANUP(fd__closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct source_owner nobody = { .uid = 65533, .euid = 65533 }, owner = me();
	struct source s;

	(void)state;
	source__init(&s, SOURCE_PERF_MAP, 1 << 20, NULL);
	write_as("real.map", "10 10 one\n", O_TRUNC);
	assert_int_equal(symlink("real.map", path_of("link.map")), 0);
	assert_int_equal(open_source(&s, root, "/link.map"), -ENOEXEC);
	assert_int_equal(mkfifo(path_of("fifo.map"), 0600), 0);
	assert_int_equal(open_source(&s, root, "/fifo.map"), -ENOEXEC); /* and does not wait for a writer */
	assert_int_equal(mkdir(path_of("dir.map"), 0700), 0);
	assert_int_equal(open_source(&s, root, "/dir.map"), -ENOEXEC);
	if (getuid() != 0)
		assert_int_equal(source__open(&s, root, "/real.map", &nobody, 0), -EACCES);
	else if (chown(path_of("real.map"), 65532, 65532) == 0)
		assert_int_equal(source__open(&s, root, "/real.map", &owner, 0), -EACCES);
	assert_int_equal(source__open(&s, root, "/link.map", &owner, INT64_MAX), -ENOEXEC);
	write_as("old.map", "10 10 one\n", O_TRUNC);
	assert_int_equal(source__open(&s, root, "/old.map", &owner, time(NULL) + 10), -ESTALE);
	/* No way out of the root: an absolute link and dots stay beneath it. */
	assert_int_equal(symlink("/", path_of("up")), 0);
	assert_int_not_equal(open_source(&s, root, "/up/etc/passwd"), 0);
	assert_int_not_equal(open_source(&s, root, "/../../../../etc/passwd"), 0);
	source__fini(&s);
}

/* A process may put a device where its map would be: a watchdog that was opened ends the machine. */
static void test_no_device_is_opened(void **state)
{
	CLEANUP(fd__closep) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd__closep) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	const char *terminal = terminal__of(master);
	const bool before = terminal__was_opened(master);
	struct source s;

	(void)state;
	source__init(&s, SOURCE_PERF_MAP, 1 << 20, NULL);
	assert_int_equal(open_source(&s, root, terminal ? terminal : "/dev/null"), -ENOEXEC);
	assert_int_equal(terminal__was_opened(master), before);
	source__fini(&s);
}

static int answer;
static int no_file(const struct dcm_host *host, const struct dcm_guarded *g)
{
	assert_non_null(host);
	assert_int_equal(g->what, DCM_GUARDED_NAMES);
	return answer;
}

/* A file system that never answers keeps the host's broker waiting, and not us. */
static void test_a_path_that_hangs_is_left_to_the_host(void **state)
{
	CLEANUP(fd__closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct dcm_host host = { .size = sizeof(host), .open_guarded = no_file };
	/* And what it refuses is not tried in another way, but where it opens nothing at all. */
	static const int answers[][2] = { { -ETIMEDOUT, -ETIMEDOUT }, { -EPERM, -EACCES }, { -ENOSYS, 0 } };
	struct source_owner owner = me();
	struct source s;

	(void)state;
	owner.host = &host;
	source__init(&s, SOURCE_PERF_MAP, 1 << 20, NULL);
	write_as("slow.map", "10 10 one\n", O_TRUNC);
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		answer = answers[i][0];
		assert_int_equal(source__open(&s, root, "/slow.map", &owner, 0), answers[i][1]);
	}
	source__fini(&s);
}

/* --- processes, of a /proc made of files --- */

static struct clock fake;

static void make_process(uint32_t pid, uint32_t ns_pid, const char *root)
{
	char name[128], text[512];

	snprintf(name, sizeof(name), "proc/%" PRIu32, pid);
	mkdir(path_of(name), 0755);
	snprintf(name, sizeof(name), "proc/%" PRIu32 "/ns", pid);
	mkdir(path_of(name), 0755);
	snprintf(name, sizeof(name), "proc/%" PRIu32 "/status", pid);
	snprintf(text, sizeof(text),
		 "Name:\tnode\nUid:\t%u\t%u\t0\t0\nNSpid:\t%" PRIu32 "\t%" PRIu32 "\n", getuid(),
		 geteuid(), pid, ns_pid);
	write_as(name, text, O_TRUNC);
	snprintf(name, sizeof(name), "proc/%" PRIu32 "/stat", pid);
	/* Started 10 s after the machine; the name is meant to confuse. */
	snprintf(text, sizeof(text),
		 "%" PRIu32 " (a) b ()) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %ld 0 0\n", pid,
		 10 * sysconf(_SC_CLK_TCK));
	write_as(name, text, O_TRUNC);
	snprintf(name, sizeof(name), "proc/%" PRIu32 "/ns/mnt", pid);
	unlink(path_of(name));
	assert_int_equal(
		link(path_of(strcmp(root, "host") ? "proc/mnt2" : "proc/mnt1"), path_of(name)), 0);
	snprintf(name, sizeof(name), "proc/%" PRIu32 "/root", pid);
	unlink(path_of(name));
	assert_int_equal(symlink(path_of(root), path_of(name)), 0);
}

static void forget_process(uint32_t pid)
{
	assert_int_equal(shell("rm -rf '%s/proc/%" PRIu32 "'", dir, pid), 0);
}

static struct processes *make_table(uint64_t max_bytes)
{
	static const char *const dirs[] = { "/var/none", "/tmp" };
	static char proc[512], root[512];
	struct processes_config c = {
		.proc = proc,
		.root = root,
		.dirs = dirs,
		.n_dirs = 2,
		.max_file_bytes = 1 << 30,
		.max_map_bytes = 1 << 20,
		.max_bytes = max_bytes,
		.reread_ns = SECOND,
		.keep_ns = 60 * SECOND,
		.patience_ns = 20 * SECOND,
		.clock = &fake,
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct processes *t = NULL;

	snprintf(proc, sizeof(proc), "%s", path_of("proc"));
	snprintf(root, sizeof(root), "%s", path_of("host"));
	fake = clock__fake(1000 * SECOND, 1);
	mkdir(path_of("proc"), 0755);
	mkdir(path_of("host"), 0755);
	mkdir(path_of("host/tmp"), 0755);
	mkdir(path_of("box"), 0755);
	mkdir(path_of("box/tmp"), 0755);
	write_as("proc/mnt1", "1", O_TRUNC);
	write_as("proc/mnt2", "2", O_TRUNC);
	make_process((uint32_t)getpid(), (uint32_t)getpid(), "host");
	if (processes__new(&c, &t, &err))
		fail_msg("%s", err.text);
	return t;
}

static int ask(struct processes *t, const struct dcm_process *id, uint64_t address, char *ret_name,
	       size_t cap)
{
	struct processes_answer a = { 0 };
	struct arena arena = { 0 };
	int rc = processes__resolve(t, id, &address, 1, &arena, &a);

	snprintf(ret_name, cap, "%.*s", rc ? 0 : (int)a.name.n, a.name.n ? a.name.p : "");
	arena__fini(&arena);
	return rc;
}

static void assert_asked(struct processes *t, const struct dcm_process *id, uint64_t address,
			 int want_rc, const char *want)
{
	char name[256];

	assert_int_equal(ask(t, id, address, name, sizeof(name)), want_rc);
	assert_string_equal(name, want);
}

static void test_a_process_and_its_map(void **state)
{
	struct processes *t = make_table(64 << 20);
	struct dcm_process id = { 100, 0, 10 * (uint64_t)SECOND },
			   other = { 100, 0, 77 * (uint64_t)SECOND };
	struct processes_stat stat;

	(void)state;
	make_process(100, 100, "host");
	processes__event(t, DCM_PROCESS_SEEN, &id);
	assert_asked(t, &id, 0x10, -ENOENT, "");
	write_as("host/tmp/perf-100.map", "10 10 one\n", O_TRUNC);
	assert_asked(t, &id, 0x10, -ENOENT, ""); /* looked a moment ago */
	fake.fake_mono_ns += SECOND;
	assert_asked(t, &id, 0x10, 0, "one");
	assert_asked(t, &id, 0x40, 0, "");
	assert_asked(t, &other, 0x10, -ENOENT, ""); /* a process of another time */
	/* What it wrote last is read when it ends, and known until keep_ns later. */
	write_as("host/tmp/perf-100.map", "20 10 two\n", O_APPEND);
	processes__event(t, DCM_PROCESS_EXIT, &id);
	unlink(path_of("host/tmp/perf-100.map"));
	forget_process(100);
	assert_asked(t, &id, 0x20, 0, "two");
	fake.fake_mono_ns += 59 * SECOND;
	assert_asked(t, &id, 0x10, 0, "one");
	fake.fake_mono_ns += 2 * SECOND;
	assert_asked(t, &id, 0x10, -ENOENT, "");
	processes__stat(t, &stat);
	assert_int_equal(stat.n_lines, 2);
	assert_int_equal(stat.n_processes, 0);
	assert_int_equal(stat.bytes, 0);
	processes__free(t);
}

/* A jitdump of one function at [0x10, 0x20), as jitdump-specification.txt has it. */
static void write_dump(const char *name, const char *function)
{
	uint32_t header[] = { 0x4A695444, 1, 40, 62, 0, 300, 0, 0, 0, 0 };
	uint64_t load[] = { 0, 0, 0, 0, 0x10, 0x10, 1 };
	uint32_t total = (uint32_t)(sizeof(load) + strlen(function) + 1 + 0x10);
	CLEANUP(fd__closep)
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0644);

	load[0] = (uint64_t)total << 32;
	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, header, sizeof(header)), 0);
	assert_int_equal(fd__write_all(fd, load, sizeof(load)), 0);
	assert_int_equal(fd__write_all(fd, function, strlen(function) + 1), 0);
	assert_int_equal(fd__write_all(fd, "0123456789abcdef", 0x10), 0);
}

static void test_a_jitdump_is_found_by_its_mapping(void **state)
{
	struct processes *t = make_table(64 << 20);
	struct dcm_process id = { 350, 0, 0 }, boxed = { 351, 0, 0 };

	(void)state;
	make_process(350, 350, "host");
	mkdir(path_of("host/srv"), 0755);
	write_dump("host/srv/jit-350.dump", "dumped");
	write_as("proc/350/maps",
		 "00400000-00401000 r-xp 00000000 fe:00 1 /usr/bin/jit-350.dumpling\n"
		 "00500000-00501000 r-xp 00000000 fe:00 1 /srv/jit-.dump\n",
		 O_TRUNC);
	assert_asked(t, &id, 0x18, -ENOENT, "");
	write_as("proc/350/maps", "00600000-00601000 r-xp 00000000 fe:00 1 /srv/jit-350.dump\n", O_APPEND);
	fake.fake_mono_ns += SECOND;
	assert_asked(t, &id, 0x18, 0, "dumped");
	assert_asked(t, &id, 0x20, 0, "");
	/* Beside a perf map it leads. */
	write_as("host/tmp/perf-350.map", "10 30 mapped\n", O_TRUNC);
	fake.fake_mono_ns += SECOND;
	assert_asked(t, &id, 0x18, 0, "dumped");
	assert_asked(t, &id, 0x20, 0, "mapped");
	unlink(path_of("host/tmp/perf-350.map"));
	/* In a container, as the container sees its files. */
	make_process(351, 7, "box");
	mkdir(path_of("box/srv"), 0755);
	write_dump("box/srv/jit-7.dump", "boxed");
	write_as("proc/351/maps", "00600000-00601000 r-xp 00000000 fe:00 1 /srv/jit-7.dump\n", O_TRUNC);
	assert_asked(t, &boxed, 0x18, 0, "boxed");
	processes__free(t);
}

static void test_containers_and_namespaced_pids(void **state)
{
	struct processes *t = make_table(64 << 20);
	struct dcm_process a = { 200, 0, 0 }, b = { 201, 0, 0 }, c = { 202, 0, 0 };
	struct processes_stat stat;

	(void)state;
	make_process(200, 7, "box");
	make_process(201, 8, "box");
	make_process(202, 9, "box");
	write_as("box/tmp/perf-7.map", "10 10 inside\n", O_TRUNC);
	write_as("host/tmp/perf-200.map", "10 10 outside\n", O_TRUNC);
	write_as("host/tmp/perf-7.map", "10 10 of another process\n", O_TRUNC);
	write_as("host/tmp/perf-201.map", "10 10 written by a tool on the host\n", O_TRUNC);
	processes__event(t, DCM_PROCESS_SEEN, &a);
	processes__event(t, DCM_PROCESS_SEEN, &b);
	processes__event(t, DCM_PROCESS_SEEN, &c);
	processes__stat(t, &stat);
	assert_int_equal(stat.n_processes, 3);
	assert_int_equal(stat.n_roots, 1);
	assert_asked(t, &a, 0x10, 0, "inside");
	assert_asked(t, &b, 0x10, 0, "written by a tool on the host");
	assert_asked(t, &c, 0x10, -ENOENT, "");
	/* The container goes, /proc/PID first: the root is still held. */
	write_as("box/tmp/perf-9.map", "10 10 late\n", O_TRUNC);
	forget_process(200);
	forget_process(201);
	forget_process(202);
	processes__event(t, DCM_PROCESS_EXIT, &c);
	assert_asked(t, &c, 0x10, 0, "late");
	/* Ends that nobody told are found. */
	fake.fake_mono_ns += 61 * SECOND;
	assert_asked(t, &a, 0x10, 0, "inside");
	fake.fake_mono_ns += 61 * SECOND;
	assert_asked(t, &a, 0x10, -ENOENT, "");
	processes__stat(t, &stat);
	assert_int_equal(stat.n_processes, 0);
	assert_int_equal(stat.n_roots, 0);
	processes__free(t);
}

static void test_an_exec_begins_anew(void **state)
{
	struct processes *t = make_table(64 << 20);
	struct dcm_process before = { 300, 0, 0 }, after = { 300, 1, 0 };
	struct processes_stat stat;

	(void)state;
	make_process(300, 300, "host");
	write_as("host/tmp/perf-300.map", "10 10 old\n20 10 old too\n", O_TRUNC);
	processes__event(t, DCM_PROCESS_SEEN, &before);
	assert_asked(t, &before, 0x10, 0, "old");
	processes__event(t, DCM_PROCESS_EXEC, &after);
	write_as("host/tmp/perf-300.map", "10 10 new\n", O_TRUNC);
	assert_asked(t, &after, 0x10, 0, "new");
	assert_asked(t, &after, 0x20, 0, "");
	processes__stat(t, &stat);
	assert_int_equal(stat.n_processes, 2);
	processes__free(t);
}

static void test_all_maps_together_are_bounded(void **state)
{
	struct processes *t = make_table(300 << 10);
	struct processes_stat stat;

	(void)state;
	for (uint32_t pid = 400; pid < 410; pid++) {
		struct dcm_process id = { pid, 0, 0 };
		CLEANUP(fd__closep) int fd = -1;
		char name[64], line[64], want[32];

		make_process(pid, pid, "host");
		snprintf(want, sizeof(want), "f0 of %" PRIu32, pid);
		snprintf(name, sizeof(name), "host/tmp/perf-%" PRIu32 ".map", pid);
		fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		for (unsigned i = 0; i < 1500; i++) {
			int n = snprintf(line, sizeof(line), "%x 10 f%u of %" PRIu32 "\n", i * 16,
					 i, pid);

			assert_int_equal(fd__write_all(fd, line, (size_t)n), 0);
		}
		assert_asked(t, &id, 0, 0, want);
		processes__stat(t, &stat);
		assert_true(stat.bytes <= (500 << 10));
		fake.fake_mono_ns += 1;
	}
	/* The first one was forgotten; it is read anew. */
	assert_asked(t, &(struct dcm_process){ 400, 0, 0 }, 0x10, 0, "f1 of 400");
	processes__stat(t, &stat);
	assert_true(stat.n_lines > 10 * 1500);
	processes__free(t);
}

static void test_failing_allocations(void **state)
{
	struct processes *t = make_table(64 << 20);
	struct dcm_process id = { 500, 0, 0 };

	(void)state;
	make_process(500, 500, "host");
	write_as("host/tmp/perf-500.map", "10 10 one\n20 10 two\n18 10 three\n", O_TRUNC);
	FAILMALLOC_SWEEP (i) {
		char name[64];
		int rc = ask(t, &id, 0x10, name, sizeof(name));

		failmalloc__disarm();
		fake.fake_mono_ns += SECOND;
		/* Where reading /proc lacked memory it reads as a process that is not there. */
		assert_true(rc == -ENOMEM || rc == -ENOENT || (rc == 0 && strcmp(name, "one") == 0));
	}
	assert_asked(t, &id, 0x1c, 0, "three");
	processes__free(t);
	FAILMALLOC_SWEEP (i) {
		struct processes_config c = { .proc = "/proc", .root = "/", .clock = &fake };
		struct processes *p = NULL;
		int rc = processes__new(&c, &p, NULL);

		failmalloc__disarm();
		if (rc == 0)
			processes__free(p);
		else
			assert_int_equal(rc, -ENOMEM);
	}
}

struct racer {
	struct processes *t;
	uint32_t pid;
};

static void *race(void *ctx)
{
	struct racer *r = ctx;

	for (unsigned i = 0; i < 60; i++) {
		struct dcm_process id = { 600 + (r->pid + i) % 3, i % 2, 0 };
		struct processes_stat stat;
		char name[64];

		processes__event(r->t, i % 2 ? DCM_PROCESS_EXEC : DCM_PROCESS_SEEN, &id);
		if (ask(r->t, &id, 0x10, name, sizeof(name)) == 0 && strcmp(name, "one") != 0)
			return "wrong name";
		if (i % 5 == 0)
			processes__event(r->t, DCM_PROCESS_EXIT, &id);
		processes__stat(r->t, &stat);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct processes *t = make_table(1 << 10);
	struct racer racers[4];
	pthread_t threads[4];

	(void)state;
	for (uint32_t pid = 600; pid < 603; pid++) {
		char name[64];

		make_process(pid, pid, pid == 601 ? "box" : "host");
		snprintf(name, sizeof(name), "%s/tmp/perf-%" PRIu32 ".map",
			 pid == 601 ? "box" : "host", pid);
		write_as(name, "10 10 one\n", O_TRUNC);
	}
	for (uint32_t i = 0; i < 4; i++) {
		racers[i] = (struct racer){ t, i };
		assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (uint32_t i = 0; i < 4; i++) {
		void *fault = NULL;

		pthread_join(threads[i], &fault);
		assert_null(fault);
	}
	processes__free(t);
}

/* Who is not root makes no namespaces, and a root that is no mount point stays shared. */
enum { IS_NOT_TO_BE_HAD = 77 };

/*
 * In namespaces of its own: pid 1 there, with a /tmp that only it sees. Writes its map and waits.
 * Never returns.
 */
static void live_in_a_box(int ready)
{
	int written[2];
	char mark;
	pid_t pid;

	alarm(60);
	if (unshare(CLONE_NEWNS | CLONE_NEWPID) || pipe2(written, O_CLOEXEC) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/tmp", "tmpfs", 0, NULL))
		_exit(errno == EPERM || errno == EINVAL ? IS_NOT_TO_BE_HAD : 1);
	pid = fork();
	if (pid == 0) {
		int fd = open("/tmp/perf-1.map", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		alarm(60);
		close(ready);
		if (fd < 0 || getpid() != 1 || fd__write_all(fd, "10 10 in the box\n", 17))
			_exit(1);
		close(fd);
		fd__write_all(written[1], "!", 1);
		pause();
		_exit(0);
	}
	close(written[1]);
	if (read(written[0], &mark, 1) != 1)
		_exit(1);
	/* As this process's namespace, which is still the host's, counts it. */
	fd__write_all(ready, &pid, sizeof(pid));
	close(ready);
	waitpid(pid, NULL, 0);
	_exit(0);
}

static void test_a_real_container(void **state)
{
	static const char *const tmp = "/tmp";
	struct processes_stat stat;
	struct processes *t;
	struct dcm_process id = { 0 };
	pid_t child, boxed = 0;
	int ready[2], status;

	(void)state;
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(ready[0]);
		live_in_a_box(ready[1]);
	}
	close(ready[1]);
	if (read(ready[0], &boxed, sizeof(boxed)) != sizeof(boxed)) {
		close(ready[0]);
		waitpid(child, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != IS_NOT_TO_BE_HAD)
			fail_msg("the box ends with %#x", (unsigned)status);
		skip_because("namespaces take root");
	}
	close(ready[0]);
	id.pid = (uint32_t)boxed;
	t = real_processes__new(&tmp, 20 * SECOND);
	processes__event(t, DCM_PROCESS_SEEN, &id);
	processes__stat(t, &stat);
	assert_int_equal(stat.n_roots, 1);
	assert_asked(t, &id, 0x18, 0, "in the box");
	kill(boxed, SIGKILL);
	waitpid(child, NULL, 0);
	processes__event(t, DCM_PROCESS_EXIT, &id);
	assert_asked(t, &id, 0x18, 0, "in the box");
	processes__free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_of_every_runtime),
		cmocka_unit_test(test_garbage_is_counted_and_skipped),
		cmocka_unit_test(test_later_lines_win_against_brute_force),
		cmocka_unit_test(test_memory_is_bounded_and_the_newest_stay),
		cmocka_unit_test(test_a_last_line_without_newline),
		cmocka_unit_test(test_a_file_is_followed_and_rewriting_is_noticed),
		cmocka_unit_test(test_only_the_end_of_a_large_file_is_read),
		cmocka_unit_test(test_what_is_not_ours_to_read),
		cmocka_unit_test(test_no_device_is_opened),
		cmocka_unit_test(test_a_path_that_hangs_is_left_to_the_host),
		cmocka_unit_test(test_a_process_and_its_map),
		cmocka_unit_test(test_a_jitdump_is_found_by_its_mapping),
		cmocka_unit_test(test_containers_and_namespaced_pids),
		cmocka_unit_test(test_an_exec_begins_anew),
		cmocka_unit_test(test_all_maps_together_are_bounded),
		cmocka_unit_test(test_failing_allocations),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_a_real_container),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
