/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_silence.c - whoever opens files does not answer: said, waited for, asked
 * again
 *
 * The processes are this one; the host's clock stands still unless the test moves it.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/maps.h"
#include "plugins/input/ebpf/process.h"
#include "plugins/input/ebpf/silence.h"
#include "tests/unit/ebpf_host.h"

#define MS     1000000ll
#define SECOND 1000000000ll

/* What the host was told as state, and how often. */
static struct {
	uint32_t n;
	enum dcm_state state;
	char text[512];
} told;

static bool is_stopped;

static int open_unless_stopped(const struct dcm_host *host, const struct dcm_guarded *g)
{
	return is_stopped ? -ETIMEDOUT : ebpf_host__rights.open_guarded(host, g);
}

__attribute__((format(printf, 3, 4))) static void set_state(const struct dcm_host *host,
							    enum dcm_state state, const char *fmt, ...)
{
	va_list ap;

	(void)host;
	told.n++;
	told.state = state;
	va_start(ap, fmt);
	vsnprintf(told.text, sizeof(told.text), fmt, ap);
	va_end(ap);
}

struct fixture {
	struct ebpf_host host;
	struct files *files;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	ebpf_host__init(&f->host);
	f->host.host.open_guarded = open_unless_stopped;
	f->host.host.set_state = set_state;
	f->host.mono_ns = 1000 * SECOND;
	told.n = 0;
	is_stopped = true;
	f->files = files__new(&f->host.host);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	files__free(f->files);
	ebpf_host__fini(&f->host);
	free(f);
	return 0;
}

/* Told when it has lasted, once, with what was asked for; and over with the next answer. */
static void test_told(void **state)
{
	struct fixture *f = *state;
	struct dcm_host *host = &f->host.host;
	struct silence s = { 0 };

	/* Nobody asks anything: nothing is asked for this either. */
	assert_false(silence__second(&s, host, f->files, 100 * SECOND));
	assert_int_equal(s.since_ns, 0);
	files__tell_silence(f->files, STR("/no/such/turn.so"));
	for (int i = 0; i < 3; i++)
		assert_false(silence__second(&s, host, f->files, (100 + i) * SECOND));
	assert_int_equal(s.since_ns, 100 * SECOND);
	assert_false(silence__tell(&s, host, f->files));
	assert_true(silence__second(&s, host, f->files, 103 * SECOND));
	assert_true(silence__tell(&s, host, f->files));
	assert_int_equal(told.n, 1);
	assert_int_equal(told.state, DCM_STATE_DEGRADED);
	assert_non_null(strstr(told.text, "about /no/such/turn.so: "));
	assert_non_null(strstr(told.text, "umount"));
	assert_false(silence__second(&s, host, f->files, 104 * SECOND));
	is_stopped = false;
	assert_true(silence__second(&s, host, f->files, 105 * SECOND));
	assert_false(silence__tell(&s, host, f->files));
	assert_int_equal(s.since_ns, 0);
	assert_int_equal(told.n, 1);
}

/* One answer that was late is no silence. */
static void test_late(void **state)
{
	struct fixture *f = *state;
	struct silence s = { 0 };

	files__tell_silence(f->files, STR("/x"));
	is_stopped = false;
	assert_false(silence__second(&s, &f->host.host, f->files, 100 * SECOND));
	assert_int_equal(s.since_ns, 0);
	assert_false(silence__second(&s, &f->host.host, f->files, 200 * SECOND));
	assert_int_equal(told.n, 0);
}

/* A state holds 511 bytes: the remedy is in them, whatever was asked for. */
static void test_long_path(void **state)
{
	struct fixture *f = *state;
	struct silence s = { 0 };
	char path[4096];

	memset(path, 'x', sizeof(path));
	files__tell_silence(f->files, (struct dcm_str){ path, sizeof(path) });
	silence__second(&s, &f->host.host, f->files, 100 * SECOND);
	assert_true(silence__second(&s, &f->host.host, f->files, 110 * SECOND));
	assert_true(silence__tell(&s, &f->host.host, f->files));
	assert_string_equal(told.text + strlen(told.text) - 3, "it)");
}

/* This process, as it was sampled with as many executable pages as it has. */
static struct sampler_sample sample_of_us(struct fixture *f)
{
	struct sampler_sample s = { .head = { .pid = (uint32_t)getpid(), .tid = (uint32_t)getpid() } };
	struct maps *maps;
	uint64_t start_ns;
	int dir;

	assert_int_equal(procfs__start(s.head.pid, &start_ns), 0);
	dir = procfs__open(&(struct procfs_id){ s.head.pid, s.head.pid, start_ns });
	assert_true(dir >= 0);
	assert_int_equal(maps__read(&ebpf_host__rights, dir, NULL, &maps), 0);
	s.exec_pages = maps->exec_bytes / (uint64_t)sysconf(_SC_PAGESIZE);
	s.head.start_ns = start_ns;
	s.head.exec_id = 1;
	s.head.time_ns = (uint64_t)f->host.mono_ns;
	maps__unref(maps);
	close(dir);
	return s;
}

/* Nobody answered when it began: its mappings, program and labels are asked for again. */
static void test_asks_again(void **state)
{
	struct fixture *f = *state;
	struct identities *identities = identities__new(&f->host.host, NULL);
	struct processes *t = processes__new(&f->host.host, f->files, identities, NULL);
	struct sampler_sample s = sample_of_us(f);
	struct process *p = processes__of(t, &s, 1);
	struct maps_range *range;
	bool certain;

	assert_null(p->maps);
	assert_int_equal(p->why, DCM_UNNAMED_NOT_ANSWERED);
	assert_null(p->identity.exe);
	assert_true(files__silence(f->files)->n >= 2);
	/* Not with each sample, nor ever more rarely. */
	for (int i = 0; i < 20; i++) {
		f->host.mono_ns += 200 * MS;
		s.head.time_ns = (uint64_t)f->host.mono_ns;
		processes__of(t, &s, 1);
		processes__maps(t, p, &s, false, &certain);
	}
	assert_int_equal(processes__stat(t).reads, 1 + 4);
	is_stopped = false;
	f->host.mono_ns += SECOND;
	s.head.time_ns = (uint64_t)f->host.mono_ns;
	assert_ptr_equal(processes__of(t, &s, 1), p);
	assert_non_null(processes__maps(t, p, &s, false, &certain));
	assert_true(certain);
	assert_non_null(p->identity.exe);
	assert_non_null(p->identity.executable);
	assert_int_equal(p->unanswered_ns, 0);
	/* The mappings are known, and only the file has to be opened. */
	is_stopped = true;
	range = maps__find(p->maps, (uintptr_t)test_asks_again);
	assert_int_equal(processes__file(t, p, range)->why, DCM_UNNAMED_NOT_ANSWERED);
	is_stopped = false;
	assert_true(processes__file(t, p, range)->is_code);
	processes__free(t);
	identities__free(identities);
}

static int locked[2]; /* a pipe; reading it waits as long as its other end is open */

/* The mappings of this process are locked, and nobody else's. */
static int open_unless_locked(const struct dcm_host *host, const struct dcm_guarded *g)
{
	struct stat us, it;

	if (g->what != DCM_GUARDED_MAPS || locked[1] < 0 || stat("/proc/self", &us) < 0 ||
	    fstat(g->dir, &it) < 0 || us.st_ino != it.st_ino)
		return ebpf_host__rights.open_guarded(host, g);
	return dup(locked[0]);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return pid;
}

/*
 * A process holds the lock of its mappings: the reader goes on without them, reads those of others, and
 * asks again.
 */
static void test_locked(void **state)
{
	struct fixture *f = *state;
	struct processes *t = processes__new(&f->host.host, f->files, NULL, NULL);
	struct sampler_sample ours = sample_of_us(f), other = ours;
	pid_t child = start_child();
	struct process *p;
	uint64_t start_ns;
	bool certain;

	is_stopped = false;
	assert_int_equal(pipe2(locked, O_CLOEXEC), 0);
	f->host.host.open_guarded = open_unless_locked;
	other.head.pid = other.head.tid = (uint32_t)child;
	assert_int_equal(procfs__start((uint32_t)child, &start_ns), 0);
	other.head.start_ns = start_ns;
	alarm(60);
	p = processes__of(t, &ours, 1);
	assert_null(p->maps);
	assert_int_equal(p->why, DCM_UNNAMED_NOT_ANSWERED);
	assert_non_null(processes__of(t, &other, 1)->maps);
	for (int i = 0; i < 3; i++) {
		f->host.mono_ns += 2 * SECOND;
		ours.head.time_ns = (uint64_t)f->host.mono_ns;
		assert_null(processes__maps(t, p, &ours, false, &certain));
	}
	assert_int_equal(processes__stat(t).reads, 2 + 3);
	/* The first one hangs; no further one is begun. */
	assert_int_equal(processes__stat(t).hung, 1);
	assert_int_equal(processes__stat(t).refused, 3);
	close(locked[1]);
	locked[1] = -1;
	for (int i = 0; i < 20000 && !p->maps; i++) {
		usleep(1000);
		f->host.mono_ns += 2 * SECOND;
		ours.head.time_ns = (uint64_t)f->host.mono_ns;
		processes__maps(t, p, &ours, false, &certain);
	}
	alarm(0);
	assert_non_null(p->maps);
	processes__free(t);
	close(locked[0]);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg);

static bool has_no_threads;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
	return has_no_threads ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

/* No thread can be had to read its mappings: it is asked again, and nobody is said to be silent. */
static void test_no_thread(void **state)
{
	struct fixture *f = *state;
	struct processes *t = processes__new(&f->host.host, f->files, NULL, NULL);
	struct sampler_sample s = sample_of_us(f);
	struct process *p;
	bool certain;

	is_stopped = false;
	has_no_threads = true;
	p = processes__of(t, &s, 1);
	has_no_threads = false;
	assert_null(p->maps);
	assert_int_equal(p->why, DCM_UNNAMED_NOT_ANSWERED);
	assert_int_equal(processes__stat(t).refused, 1);
	assert_int_equal(files__silence(f->files)->n, 0);
	f->host.mono_ns += 900 * MS;
	s.head.time_ns = (uint64_t)f->host.mono_ns;
	assert_null(processes__maps(t, p, &s, false, &certain));
	f->host.mono_ns += 100 * MS;
	s.head.time_ns = (uint64_t)f->host.mono_ns;
	assert_non_null(processes__maps(t, p, &s, false, &certain));
	assert_int_equal(processes__stat(t).refused, 1);
	processes__free(t);
}

/* Descriptors have run out for a moment: the process is there, and is asked again, in all ways. */
static void test_no_descriptors(void **state)
{
	struct fixture *f = *state;
	struct processes *t = processes__new(&f->host.host, f->files, NULL, NULL);
	struct sampler_sample s = sample_of_us(f);
	struct rlimit limit, none;
	struct process *p;
	bool certain;

	is_stopped = false;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	p = processes__of(t, &s, 1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(p->missing_ns, 0);
	assert_null(p->maps);
	assert_int_equal(p->why, DCM_UNNAMED_NOT_ANSWERED);
	assert_int_equal(files__silence(f->files)->n, 0);
	/* Not with each sample. */
	assert_null(processes__maps(t, p, &s, false, &certain));
	f->host.mono_ns += SECOND;
	s.head.time_ns = (uint64_t)f->host.mono_ns;
	assert_ptr_equal(processes__of(t, &s, 1), p);
	assert_non_null(p->identity.exe);
	assert_int_equal(p->unanswered_ns, 0);
	assert_non_null(processes__maps(t, p, &s, false, &certain));
	assert_true(certain);
	processes__free(t);
}

/* Mappings that never end: a line after the other, into a pipe, as they are read. */
static void *write_without_end(void *arg)
{
	static const char line[] = "1000-2000 r--p 00000000 00:00 0 \n";

	(void)arg;
	while (write(locked[1], line, sizeof(line) - 1) > 0)
		usleep(100);
	return NULL;
}

/* Each block comes in time, and the end never does. */
static void test_without_end(void **state)
{
	struct fixture *f = *state;
	struct processes *t = processes__new(&f->host.host, f->files, NULL, NULL);
	struct sampler_sample ours = sample_of_us(f);
	pthread_t writer;

	is_stopped = false;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(locked, O_CLOEXEC), 0);
	assert_int_equal(pthread_create(&writer, NULL, write_without_end, NULL), 0);
	f->host.host.open_guarded = open_unless_locked;
	alarm(60);
	assert_int_equal(processes__of(t, &ours, 1)->why, DCM_UNNAMED_NOT_ANSWERED);
	alarm(0);
	assert_int_equal(files__silence(f->files)->n, 1);
	close(locked[0]);
	processes__free(t);
	pthread_join(writer, NULL);
	close(locked[1]);
	locked[1] = -1;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_told),	TEST(test_late),	   TEST(test_long_path),
		TEST(test_asks_again),	TEST(test_locked),	   TEST(test_no_thread),
		TEST(test_without_end), TEST(test_no_descriptors),
	};

	return cmocka_run_group_tests_name("ebpf_silence", tests, NULL, NULL);
}
