/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_broker.c - the broker does what it is asked, nothing else, and ends when it
 * should
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/broker/broker.h"
#include "core/broker/rights.h"
#include "core/broker/sandbox.h"
#include "core/broker/turns.h"
#include "tests/unit/child.h"
#include "tests/unit/unit.h"

/* ------------------------------------------------------------------------------------------------
 * Requests that are none, and requests that are refused
 */

/* What the broker would answer; descriptors come from `dirs`, each opened as O_PATH. */
static int handle(uint32_t op, const struct broker_request *q, size_t n, const char *const *dirs)
{
	struct channel_message m = { .head = { .what = op } };
	int r;

	for (; dirs && dirs[m.head.n_fds]; m.head.n_fds++)
		m.fds[m.head.n_fds] = open(dirs[m.head.n_fds], O_PATH | O_CLOEXEC);
	buf__append(&m.bytes, q, n);
	r = broker__handle(&m);
	channel_message__fini(&m);
	return r;
}

static int handle_open(enum dcm_guarded_kind what, const char *dir, const char *path)
{
	struct broker_request q = { .what = what };

	if (path)
		memcpy(q.data, path, strlen(path));
	return handle(BROKER_OPEN, &q, sizeof(q), (const char *const[]){ dir, NULL });
}

static int handle_event(struct perf_event_attr attr)
{
	struct broker_request q = { 0 };

	memcpy(q.data, &attr, sizeof(attr));
	return handle(BROKER_PERF_EVENT, &q, sizeof(q), NULL);
}

static void test_no_request(void **state)
{
	static const char *const one[] = { "/proc/self", NULL }, *const two[] = { "/proc/self",
										  "/proc/self", NULL };
	struct broker_request q = { .what = DCM_GUARDED_MAPS };

	(void)state;
	assert_int_equal(handle(BROKER_OPEN, &q, sizeof(q) - 1, one), -EPROTO);
	assert_int_equal(handle(BROKER_OPEN, &q, 0, one), -EPROTO);
	assert_int_equal(handle(BROKER_OPEN, &q, sizeof(q), NULL), -EPROTO);
	assert_int_equal(handle(BROKER_OPEN, &q, sizeof(q), two), -EPROTO);
	q.data[0] = '/';
	assert_int_equal(handle(BROKER_OPEN, &q, sizeof(q), one), -EPROTO);
	q = (struct broker_request){ .what = DCM_GUARDED_CODE };
	memset(q.data, 'a', sizeof(q.data));
	assert_int_equal(handle(BROKER_OPEN, &q, sizeof(q), one), -EPROTO);
	q = (struct broker_request){ 0 };
	assert_int_equal(handle(0, &q, sizeof(q), NULL), -EPROTO);
	assert_int_equal(handle(BROKER_KALLSYMS + 1, &q, sizeof(q), NULL), -EPROTO);
	assert_int_equal(handle(BROKER_KALLSYMS, &q, sizeof(q), one), -EPROTO);
	assert_int_equal(handle(BROKER_BPF_ARRAY, &q, sizeof(q), one), -EPROTO);
	assert_int_equal(handle(BROKER_BPF_PUT, &q, sizeof(q), one), -EPROTO);
	q.what = 1;
	assert_int_equal(handle(BROKER_KALLSYMS, &q, sizeof(q), NULL), -EPROTO);
	q = (struct broker_request){ .args = { 1u << 20 } };
	assert_int_equal(handle(BROKER_PERF_EVENT, &q, sizeof(q), NULL), -EPROTO);
	q = (struct broker_request){ .args = { UINT64_C(1) << 32, 1 } };
	assert_int_equal(handle(BROKER_BPF_ARRAY, &q, sizeof(q), NULL), -EPROTO);
}

static const struct perf_event_attr clock_event = { .type = PERF_TYPE_SOFTWARE,
						    .size = sizeof(struct perf_event_attr),
						    .config = PERF_COUNT_SW_CPU_CLOCK,
						    .sample_period = 1000000,
						    .disabled = 1,
						    .exclude_idle = 1 };

static void test_events_that_show_too_much(void **state)
{
	struct perf_event_attr a;

	(void)state;
#define REFUSED(member, value)                                                                     \
	a = clock_event;                                                                           \
	a.member = value;                                                                          \
	assert_int_equal(handle_event(a), -EPERM)
	REFUSED(type, PERF_TYPE_HARDWARE);
	REFUSED(type, PERF_TYPE_TRACEPOINT);
	REFUSED(type, PERF_TYPE_BREAKPOINT);
	REFUSED(config, PERF_COUNT_SW_PAGE_FAULTS);
	REFUSED(sample_type, PERF_SAMPLE_REGS_USER);
	REFUSED(sample_type, PERF_SAMPLE_STACK_USER);
	REFUSED(sample_type, PERF_SAMPLE_CALLCHAIN);
	REFUSED(sample_type, PERF_SAMPLE_IP);
	REFUSED(sample_regs_user, 1);
	REFUSED(sample_stack_user, 4096);
	REFUSED(sample_period, 1);
	REFUSED(sample_period, 0);
	REFUSED(freq, 1);
	REFUSED(inherit, 1);
	REFUSED(read_format, PERF_FORMAT_GROUP);
	REFUSED(read_format, PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID);
	REFUSED(ksymbol, 1);
	/* It would spoil what other tools hear of mappings (plugins/input/ebpf/perf_record.c). */
	REFUSED(build_id, 1);
	REFUSED(size, sizeof(a) + 8);
#undef REFUSED
}

/* The events that hear of processes, and of BPF programs, but count nothing. */
static void test_what_is_heard_of_bpf_programs(void **state)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof(struct perf_event_attr),
				     .config = PERF_COUNT_SW_DUMMY,
				     .mmap = 1,
				     .mmap2 = 1,
				     .ksymbol = 1 };

	(void)state;
	assert_int_not_equal(handle_event(a), -EPERM);
	a.bpf_event = 1;
	assert_int_equal(handle_event(a), -EPERM);
}

static void test_files_that_are_secrets(void **state)
{
	char dir[] = "/tmp/decima-broker.XXXXXX", path[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/secret", dir);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "the password", 12), 12);
	close(fd);
	assert_int_equal(handle_open(DCM_GUARDED_CODE, dir, "/secret"), -ENOEXEC);
	assert_int_equal(handle_open(DCM_GUARDED_NAMES, dir, "/secret"), -EPERM);
	assert_int_equal(handle_open(DCM_GUARDED_NAMES, dir, "/secret/perf-.map"), -EPERM);
	assert_int_equal(handle_open(DCM_GUARDED_NAMES, dir, "/perf-1.map.secret"), -EPERM);
	/* A link with the right name to the wrong file, and one out of the directory. */
	snprintf(path, sizeof(path), "%s/perf-1.map", dir);
	assert_int_equal(symlink("secret", path), 0);
	assert_int_equal(handle_open(DCM_GUARDED_NAMES, dir, "/perf-1.map"), -ENOEXEC);
	unlink(path);
	assert_int_equal(symlink("../../bin/true", path), 0);
	assert_int_equal(handle_open(DCM_GUARDED_CODE, dir, "/perf-1.map"), -ENOENT);
	assert_int_equal(handle_open(DCM_GUARDED_CODE, dir, "/../../bin/true"), -ENOENT);
	unlink(path);
	/* A pipe would be waited for. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(handle_open(DCM_GUARDED_NAMES, dir, "/perf-1.map"), -ENOEXEC);
	assert_int_equal(handle_open(DCM_GUARDED_CODE, dir, "/perf-1.map"), -ENOEXEC);
	unlink(path);
	assert_int_equal(handle_open(DCM_GUARDED_CODE, "/dev", "/null"), -ENOEXEC);
	/* Directories that merely look like a process's. */
	snprintf(path, sizeof(path), "%s/maps", dir);
	assert_int_equal(symlink("secret", path), 0);
	assert_int_equal(handle_open(DCM_GUARDED_MAPS, dir, NULL), -EPERM);
	assert_int_equal(handle_open(DCM_GUARDED_CGROUP, dir, NULL), -EPERM);
	unlink(path);
	snprintf(path, sizeof(path), "%s/secret", dir);
	unlink(path);
	rmdir(dir);
}

static void test_maps_that_are_too_large(void **state)
{
	struct broker_request q = { .args = { 4096, BROKER_ARRAY_BYTES_MAX / 4096 + 1 } };

	(void)state;
	assert_int_equal(handle(BROKER_BPF_ARRAY, &q, sizeof(q), NULL), -EPERM);
	q = (struct broker_request){ 0 };
	assert_int_equal(handle(BROKER_BPF_PUT, &q, sizeof(q), (const char *const[]){ "/", "/", NULL }),
			 -EPERM);
}

/* ------------------------------------------------------------------------------------------------
 * The process
 */

static struct broker *start(void)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct broker *b = NULL;

	assert_int_equal(broker__new(&b, &err), 0);
	return b;
}

static int open_own(struct broker *b, enum dcm_guarded_kind what, const char *path)
{
	int dir = open(path ? "/" : "/proc/self", O_PATH | O_CLOEXEC);
	int fd = rights__open(b, &(struct dcm_guarded){ .size = sizeof(struct dcm_guarded),
							.what = what,
							.dir = dir,
							.path = path });

	close(dir);
	return fd;
}

static bool is_same(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void test_opens(void **state)
{
	struct broker *b = start();
	struct buf text = { 0 };
	char magic[SELFMAG];
	int fd;

	(void)state;
	fd = open_own(b, DCM_GUARDED_MAPS, NULL);
	assert_int_equal(fd__read_all(fd, 1 << 24, &text), 0);
	assert_non_null(strstr((const char *)text.data, "test_broker"));
	buf__fini(&text);
	close(fd);
	fd = open_own(b, DCM_GUARDED_EXE, NULL);
	assert_int_equal(fd__pread_full(fd, magic, sizeof(magic), 0), 0);
	assert_memory_equal(magic, ELFMAG, SELFMAG);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	fd = open_own(b, DCM_GUARDED_EXE_PATH, NULL);
	assert_true(is_same(fd, "/proc/self/exe"));
	close(fd);
	fd = open_own(b, DCM_GUARDED_ROOT, NULL);
	assert_true(is_same(fd, "/"));
	close(fd);
	fd = open_own(b, DCM_GUARDED_MOUNTS, NULL);
	assert_true(is_same(fd, "/proc/self/ns/mnt"));
	close(fd);
	fd = open_own(b, DCM_GUARDED_CODE, "/bin/sh");
	assert_true(is_same(fd, "/bin/sh"));
	close(fd);
	fd = rights__open_kallsyms(b);
	assert_true(fd >= 0);
	close(fd);
	/* What it refuses is an answer; it goes on. */
	assert_int_equal(open_own(b, DCM_GUARDED_CODE, "/etc/passwd"), -ENOEXEC);
	assert_int_equal(open_own(b, DCM_GUARDED_CODE, "/no/such/file"), -ENOENT);
	assert_true(open_own(b, DCM_GUARDED_ROOT, NULL) >= 0);
	broker__free(b);
}

/* The kernel leaves out of an answer what we have no room for: that is told as what it is, and the next one comes. */
static void test_no_descriptor_is_left(void **state)
{
	enum { FEW = 64 };
	struct broker *b = start();
	struct dcm_guarded maps = { .size = sizeof(maps), .what = DCM_GUARDED_MAPS };
	struct rlimit before, few;
	int taken[FEW], n = 0, fd;

	(void)state;
	maps.dir = open("/proc/self", O_PATH | O_CLOEXEC);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ FEW, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (n < FEW && (taken[n] = dup(maps.dir)) >= 0)
		n++;
	assert_in_range(n, 1, FEW - 1);
	assert_int_equal(rights__open(b, &maps), -EMFILE);
	close(taken[--n]);
	fd = rights__open(b, &maps);
	assert_true(fd >= 0);
	close(fd);
	while (n)
		close(taken[--n]);
	setrlimit(RLIMIT_NOFILE, &before);
	close(maps.dir);
	broker__free(b);
}

/*
 * Debian's and Ubuntu's kernels as they come: perf events are for CAP_SYS_ADMIN, which no broker
 * has.
 */
static bool needs_sys_admin(void)
{
	struct buf text = { 0 };
	int level = 0;

	if (fd__read_path(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", 64, &text) == 0 && text.n)
		level = (int)strtol((const char *)text.data, NULL, 10);
	buf__fini(&text);
	return level > 2;
}

/*
 * Another user's process, after our own rights have gone; in a child, which answers by its status.
 */
static int without_rights(void)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct broker *b = NULL;
	char line[8] = "", path[32];
	int dir, fd;

	if (broker__new(&b, &err) < 0 || sandbox__become(65534, 65534, false) < 0 ||
	    sandbox__keep_capabilities(0) < 0)
		return 1;
	if (sandbox__capabilities() != 0)
		return 2;
	snprintf(path, sizeof(path), "/proc/%d", (int)getppid());
	dir = open(path, O_PATH | O_CLOEXEC);
	if (openat(dir, "maps", O_RDONLY) >= 0)
		return 3;
	fd = rights__open(b, &(struct dcm_guarded){ .what = DCM_GUARDED_MAPS, .dir = dir });
	if (fd < 0 || read(fd, line, sizeof(line)) != (ssize_t)sizeof(line))
		return 4;
	if (rights__perf_event(NULL, &clock_event, 0) >= 0)
		return 5;
	fd = rights__perf_event(b, &clock_event, 0);
	if (fd < 0 && fd != -ENODEV && !(fd == -EACCES && needs_sys_admin()))
		return 6;
	fd = rights__bpf_array(b, 4096, 4);
	if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
		return 7;
	broker__free(b);
	return 0;
}

static void test_has_the_rights(void **state)
{
	(void)state;
	if ((sandbox__capabilities() & broker__capabilities) != broker__capabilities || geteuid() != 0)
		skip_because("needs root");
	assert_int_equal(child__status(without_rights), 0);
}

/* An outer map of one entry, and an array that is put into it. */
static void test_puts_maps(void **state)
{
	union bpf_attr attr = { 0 };
	struct broker *b;
	int outer, array;

	(void)state;
	if ((sandbox__capabilities() & broker__capabilities) != broker__capabilities)
		skip_because("needs CAP_BPF");
	b = start();
	array = rights__bpf_array(b, 64, 2);
	assert_true(array >= 0);
	attr.map_type = BPF_MAP_TYPE_ARRAY_OF_MAPS;
	attr.key_size = attr.value_size = sizeof(uint32_t);
	attr.max_entries = 1;
	attr.inner_map_fd = (uint32_t)array;
	outer = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	assert_true(outer >= 0);
	assert_int_equal(rights__bpf_put(b, outer, 0, array), 0);
	assert_int_equal(rights__bpf_put(b, outer, 1, array), -E2BIG);
	assert_int_equal(rights__bpf_put(b, array, 0, array), -EPERM);
	close(outer);
	close(array);
	broker__free(b);
}

/*
 * As many files as of hours of work: it may have 256 open, so none of those that it passed on
 * stays.
 */
static void test_keeps_nothing(void **state)
{
	struct broker *b = start();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int fd = open_own(b, i % 2 ? DCM_GUARDED_MAPS : DCM_GUARDED_EXE, NULL);

		assert_true(fd >= 0);
		close(fd);
		/* What it is given with a request, it gives up when it refuses, too. */
		assert_int_equal(open_own(b, DCM_GUARDED_CODE, "/etc/passwd"), -ENOEXEC);
	}
	broker__free(b);
}

static int64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/*
 * Who floods it is served at its pace: what it serves is answered, the rest is refused, and it goes
 * on.
 */
static void test_is_flooded(void **state)
{
	const struct broker_request refused = { 0 }; /* an event that is none */
	struct broker *b = start();
	int64_t begun = mono_ns(), served = 0, allowed;

	(void)state;
	for (int i = 0; i < BROKER_BURST + 2000; i++) {
		int r = broker__ask(b, BROKER_PERF_EVENT, &refused, NULL, 0);

		assert_true(r == -EPERM || r == -EBUSY);
		served += r == -EPERM;
	}
	allowed = BROKER_BURST + (mono_ns() - begun) / (1000000000 / BROKER_PER_SECOND) + 1;
	assert_in_range(served, BROKER_BURST, allowed);
	broker__free(b);
}

static void test_turns(void **state)
{
	const uint64_t second = 1000000000, start_ns = 77 * second;
	struct turns t;
	uint32_t n = 0;

	(void)state;
	turns__init(&t, 5000, 20000, start_ns);
	while (turns__take(&t, start_ns))
		n++;
	assert_int_equal(n, 20000);
	/* One more after each 200 us, not a nanosecond earlier. */
	assert_false(turns__take(&t, start_ns + 199999));
	assert_true(turns__take(&t, start_ns + 200000));
	assert_false(turns__take(&t, start_ns + 399999));
	/* As many a second for whoever asks all the time, and as many for who asks seldom. */
	for (uint64_t at = n = 0; at < second; at += 1000)
		n += turns__take(&t, start_ns + second + at);
	assert_in_range(n, 5000 + 4998, 5000 + 4999);
	for (uint64_t i = n = 0; i < 100000; i++)
		n += turns__take(&t, start_ns + 3 * second);
	assert_in_range(n, 5000, 5001);
	/* However long nobody asks, no more than that is saved up. */
	for (uint64_t i = n = 0; i < 100000; i++)
		n += turns__take(&t, start_ns + 1000000 * second);
	assert_int_equal(n, 20000);
}

static bool is_gone(pid_t pid)
{
	struct buf text = { 0 };
	char path[64];
	bool gone;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	gone = fd__read_path(AT_FDCWD, path, 4096, &text) < 0 ||
	       strstr((const char *)text.data, ") Z ");
	buf__fini(&text);
	return gone;
}

static void wait_until_gone(pid_t pid)
{
	const struct timespec pause = { 0, 5000000 };

	for (int i = 0; !is_gone(pid) && i < 12000; i++)
		nanosleep(&pause, NULL);
	assert_true(is_gone(pid));
}

/* The one child of this process. */
static pid_t only_child(void)
{
	struct buf text = { 0 };
	int pid = 0;

	if (fd__read_path(AT_FDCWD, "/proc/thread-self/children", 4096, &text) == 0 && text.n)
		sscanf((const char *)text.data, "%d", &pid);
	buf__fini(&text);
	return pid;
}

static void test_is_killed(void **state)
{
	struct broker *b = start();
	struct pollfd p = { .fd = broker__watch_fd(b) };
	pid_t pid = only_child();

	(void)state;
	assert_true(pid > 0);
	kill(pid, SIGKILL);
	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(open_own(b, DCM_GUARDED_ROOT, NULL), -EPIPE);
	broker__free(b);
}

/* A request that is none of ours ends it: nobody can go on from there. */
static void test_is_abused(void **state)
{
	struct broker *b = start();
	const struct broker_request q = { .what = 1 };

	(void)state;
	assert_int_equal(broker__ask(b, BROKER_KALLSYMS, &q, NULL, 0), -EPIPE);
	broker__free(b);
}

static void test_asker_is_killed(void **state)
{
	int ends[2];
	pid_t child, broker = 0;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct broker *b = NULL;
		struct dcm_error err = DCM_ERROR_INIT;

		if (broker__new(&b, &err) == 0)
			broker = only_child();
		if (write(ends[1], &broker, sizeof(broker)) == (ssize_t)sizeof(broker))
			pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], &broker, sizeof(broker)), sizeof(broker));
	assert_true(broker > 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	wait_until_gone(broker);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_request),
		cmocka_unit_test(test_events_that_show_too_much),
		cmocka_unit_test(test_what_is_heard_of_bpf_programs),
		cmocka_unit_test(test_files_that_are_secrets),
		cmocka_unit_test(test_maps_that_are_too_large),
		cmocka_unit_test(test_opens),
		cmocka_unit_test(test_no_descriptor_is_left),
		cmocka_unit_test(test_has_the_rights),
		cmocka_unit_test(test_puts_maps),
		cmocka_unit_test(test_keeps_nothing),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_is_flooded),
		cmocka_unit_test(test_is_killed),
		cmocka_unit_test(test_is_abused),
		cmocka_unit_test(test_asker_is_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
