/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_perf_map_errands.c - perf maps on a file system that stops answering
 *
 * pread(2) and close(2) of one file wait here for as long as the test says, as they do with FUSE. And
 * where it says so no thread can be made.
 */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/errands.h"
#include "plugins/input/perf_map/proc.h"
#include "plugins/input/perf_map/processes.h"
#include "plugins/input/perf_map/source.h"
#include "tests/unit/folder.h"
#include "tests/unit/real_processes.h"

#define SECOND	 INT64_C(1000000000)
#define PATIENCE (2 * SECOND) /* what does not hang is done in it on the slowest machine */
DEFINE_FOLDER(dir, "perf-map-errands", 0700);

/* --- a file system that does not answer --- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t answers;
	ino_t ino; /* calls on that file wait; 0: none */
	unsigned n_waiting;
} deaf = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };
static atomic_bool no_threads; /* are to be had */
static atomic_bool closes;     /* at once, whatever the file */

ssize_t __real_pread(int fd, void *p, size_t n, off_t offset);
ssize_t __wrap_pread(int fd, void *p, size_t n, off_t offset);
int __real_close(int fd);
int __wrap_close(int fd);
int __real_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);

int __wrap_pthread_create(pthread_t *ret, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
	return atomic_load(&no_threads) ? EAGAIN : __real_pthread_create(ret, attr, fn, arg);
}

static void wait_for_answer(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	pthread_mutex_lock(&deaf.lock);
	deaf.n_waiting++;
	while (deaf.ino == st.st_ino)
		pthread_cond_wait(&deaf.answers, &deaf.lock);
	deaf.n_waiting--;
	pthread_mutex_unlock(&deaf.lock);
}

ssize_t __wrap_pread(int fd, void *p, size_t n, off_t offset)
{
	wait_for_answer(fd);
	return __real_pread(fd, p, n, offset);
}

int __wrap_close(int fd)
{
	/* O_PATH: there is nothing to tell the file system. */
	if (!(fcntl(fd, F_GETFL) & O_PATH) && !atomic_load(&closes))
		wait_for_answer(fd);
	return __real_close(fd);
}

static void be_deaf(ino_t ino)
{
	pthread_mutex_lock(&deaf.lock);
	deaf.ino = ino;
	pthread_cond_broadcast(&deaf.answers);
	pthread_mutex_unlock(&deaf.lock);
}

static void wait_for_one_waiting(void)
{
	bool is_there = false;

	for (int i = 0; !is_there && i < 20000; i++) {
		usleep(1000);
		pthread_mutex_lock(&deaf.lock);
		is_there = deaf.n_waiting > 0;
		pthread_mutex_unlock(&deaf.lock);
	}
	assert_true(is_there);
}

static struct stat stat_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st;
}

static int n_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* What would wait for ever fails instead. */
static int begin(void **state)
{
	(void)state;
	alarm(60);
	return 0;
}

static int end(void **state)
{
	(void)state;
	atomic_store(&no_threads, false);
	atomic_store(&closes, false);
	be_deaf(0);
	alarm(0);
	return 0;
}

/* --- errands --- */

/* A file of a file system of its own as far as anybody is told, or of the folder's. */
static int make_file(const char *name, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, text, strlen(text)), 0);
	return fd;
}

static ssize_t read_errand(struct errands *e, int *fd, char *ret)
{
	CLEANUP(mem__freep) struct errand *j = errand__new(16);
	ssize_t n;

	assert_non_null(j);
	j->kind = ERRAND_READ;
	j->n = 16;
	n = errands__make(e, &j, fd);
	assert_int_equal(j == NULL, n == -ETIMEDOUT);
	if (n >= 0)
		snprintf(ret, 17, "%.*s", (int)n, j->data);
	return n;
}

static void wait_for_none_stuck(struct errands *e)
{
	for (int i = 0; i < 20000 && errands__stat(e).n_stuck; i++)
		usleep(1000);
	assert_int_equal(errands__stat(e).n_stuck, 0);
}

static void test_what_hangs_is_left_behind(void **state)
{
	struct errands *e = errands__new("errands", PATIENCE);
	int a = make_file("a", "aaa"), b = make_file("b", "bbb"), shy, other, before;
	char text[17] = "";

	(void)state;
	other = memfd_create("other", MFD_CLOEXEC);
	assert_true(other >= 0 && write(other, "ooo", 3) == 3);
	if (stat_of(other).st_dev == stat_of(a).st_dev)
		skip_because("there is one file system only");
	assert_int_equal(read_errand(e, &a, text), 3);
	assert_string_equal(text, "aaa");
	before = n_descriptors();
	be_deaf(stat_of(a).st_ino);
	shy = a;
	assert_int_equal(read_errand(e, &a, text), -ETIMEDOUT);
	assert_int_equal(a, -1);
	assert_true(errands__is_stuck_at(e, stat_of(b).st_dev));
	/* Its file system is not touched any more, not by closing either; another one is. */
	assert_int_equal(read_errand(e, &b, text), -EBUSY);
	assert_true(b >= 0);
	assert_int_equal(errands__close(e, b), -ETIMEDOUT);
	assert_int_equal(read_errand(e, &other, text), 3);
	assert_string_equal(text, "ooo");
	assert_int_equal(errands__close(e, other), 0);
	assert_int_equal(n_descriptors(), before - 1);
	assert_int_equal(errands__stat(e).n_stuck, 1);
	be_deaf(0);
	wait_for_none_stuck(e);
	assert_int_equal(fcntl(shy, F_GETFD), -1);
	assert_int_equal(n_descriptors(), before - 3);
	assert_int_equal(errands__stat(e).n_hung, 1);
	errands__free(e);
}

/* No file system of many that hang takes more than its share, and there is an end of them. */
static void test_so_many_hang_and_no_more(void **state)
{
	struct errands *e = errands__new("errands", PATIENCE / 4);
	struct errand *left[ERRANDS_STUCK_MAX + 1];
	int fd = make_file("full", "x");

	(void)state;
	be_deaf(stat_of(fd).st_ino);
	/* As if each were of another file system: there are not so many here. */
	for (int i = 0; i < ERRANDS_STUCK_MAX; i++) {
		int copy = dup(fd);

		left[i] = errand__new(16);
		left[i]->kind = ERRAND_READ;
		left[i]->n = 16;
		struct errand *j = left[i];
		ssize_t n;
		do /* on a machine that gives its thread no time at all, nothing hangs */
			n = errands__make(e, &j, &copy);
		while (n == -EAGAIN);
		assert_int_equal(n, -ETIMEDOUT);
		left[i]->dev = UINT64_MAX - (uint64_t)i;
	}
	assert_int_equal(errands__stat(e).n_stuck, ERRANDS_STUCK_MAX);
	left[ERRANDS_STUCK_MAX] = errand__new(16);
	assert_int_equal(errands__make(e, &left[ERRANDS_STUCK_MAX], &fd), -EBUSY);
	free(left[ERRANDS_STUCK_MAX]);
	be_deaf(0);
	wait_for_none_stuck(e);
	close(fd);
	errands__free(e);
}

static void *read_once(void *arg)
{
	int fd = make_file("crowd", "x");
	char text[17];

	return (void *)(intptr_t)read_errand(arg, &fd, text);
}

/* The limit is for who comes later: nobody knows of one under way that it will hang. */
static void test_those_under_way_may_hang_too(void **state)
{
	struct errands *e = errands__new("errands", PATIENCE);
	int fd = make_file("crowd", "x");
	pthread_t threads[ERRANDS_STUCK_MAX + 4];
	const unsigned n = sizeof(threads) / sizeof(threads[0]);
	char text[17];

	(void)state;
	be_deaf(stat_of(fd).st_ino);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_once, e), 0);
	for (unsigned i = 0; i < n; i++) {
		void *rc;

		pthread_join(threads[i], &rc);
		assert_int_equal((intptr_t)rc, -ETIMEDOUT);
	}
	assert_int_equal(errands__stat(e).n_stuck, n);
	assert_int_equal(read_errand(e, &fd, text), -EBUSY);
	be_deaf(0);
	wait_for_none_stuck(e);
	assert_int_equal(read_errand(e, &fd, text), 1);
	assert_int_equal(errands__close(e, fd), 0);
	errands__free(e);
}

/* At the end nobody waits either; who was left behind closes what is his. */
static void test_the_end_waits_for_none_that_hangs(void **state)
{
	struct errands *e = errands__new("errands", PATIENCE);
	int fd = make_file("late", "x"), before = n_descriptors();
	char text[17];

	(void)state;
	be_deaf(stat_of(fd).st_ino);
	assert_int_equal(read_errand(e, &fd, text), -ETIMEDOUT);
	errands__free(e);
	be_deaf(0);
	for (int i = 0; n_descriptors() >= before && i < 20000; i++)
		usleep(1000);
	assert_int_equal(n_descriptors(), before - 1);
	errands__free(NULL);
}

struct reader {
	struct errands *e;
	const char *text;
	pthread_t thread;
};

static void *read_often(void *arg)
{
	struct reader *r = arg;

	for (int i = 0; i < 500; i++) {
		int fd = memfd_create("own", MFD_CLOEXEC);
		char text[17];

		if (fd < 0 || write(fd, r->text, 3) != 3 || read_errand(r->e, &fd, text) != 3 ||
		    strcmp(text, r->text) != 0 || errands__close(r->e, fd))
			return r;
	}
	return NULL;
}

static void test_threads(void **state)
{
	static const char *const texts[] = { "one", "two", "six", "ten" };
	struct errands *e = errands__new("errands", 20 * SECOND);
	struct reader readers[4];
	void *failed;

	(void)state;
	for (int i = 0; i < 4; i++) {
		readers[i] = (struct reader){ .e = e, .text = texts[i] };
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_often, &readers[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(readers[i].thread, &failed);
		assert_null(failed);
	}
	errands__free(e);
}

/* --- the map of a process: this one --- */

static char *ask(struct processes *t, uint64_t address, int want)
{
	static char name[64];
	struct dcm_process id = { (uint32_t)getpid(), 0, 0 };
	struct processes_answer a = { 0 };
	struct arena arena = { 0 };

	assert_int_equal(processes__resolve(t, &id, &address, 1, &arena, &a), want);
	snprintf(name, sizeof(name), "%.*s", (int)a.name.n, a.name.n ? a.name.p : "");
	arena__fini(&arena);
	return name;
}

static void test_what_was_known_stays_so(void **state)
{
	static const char *const place = dir;
	char name[64], note[PROCESSES_NOTE_BYTES];
	struct processes *t = real_processes__new(&place, PATIENCE),
			 *stranger = real_processes__new(&place, PATIENCE);
	struct processes_stat stat;
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "perf-%d.map", getpid());
	fd = make_file(name, "10 10 one\n");
	assert_string_equal(ask(t, 0x10, 0), "one");
	assert_int_equal(fd__write_all(fd, "20 10 two\n", 10), 0);
	be_deaf(stat_of(fd).st_ino);
	for (int i = 0; i < 20; i++) {
		assert_string_equal(ask(t, 0x10, 0), "one");
		assert_string_equal(ask(t, 0x20, 0), "");
	}
	/* It was waited for once, and is spoken of once. */
	processes__stat(t, &stat);
	assert_int_equal(stat.n_hung, 1);
	assert_int_equal(stat.n_stuck, 1);
	assert_true(processes__take_note(t, note));
	assert_non_null(strstr(note, name));
	assert_non_null(strstr(note, "does not answer"));
	assert_false(processes__take_note(t, note));
	/* Of whom nothing was read, that is the reason. */
	ask(stranger, 0x10, -ETIMEDOUT);
	ask(stranger, 0x10, -ETIMEDOUT);
	processes__stat(stranger, &stat);
	assert_int_equal(stat.n_hung, 1);
	be_deaf(0);
	for (int i = 0; stat.n_stuck && i < 20000; i++) {
		usleep(1000);
		processes__stat(t, &stat);
	}
	assert_string_equal(ask(t, 0x20, 0), "two");
	processes__free(t);
	processes__free(stranger);
	close(fd);
}

/* A process that only stands there. */
static pid_t start_other(void)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	return child;
}

struct asker {
	struct processes *t;
	pid_t pid;
	int rc;
};

static void *ask_once(void *arg)
{
	struct asker *a = arg;
	struct dcm_process id = { (uint32_t)a->pid, 0, 0 };
	struct processes_answer answer = { 0 };
	struct arena arena = { 0 };

	a->rc = processes__resolve(a->t, &id, &(uint64_t){ 0x10 }, 1, &arena, &answer);
	arena__fini(&arena);
	return NULL;
}

/* Whom no thread can ask for is like who does not answer: the process has a map all the same. */
static void test_without_a_thread_the_same_is_known(void **state)
{
	static const char *const place = dir;
	struct processes *t = real_processes__new(&place, PATIENCE),
			 *stranger = real_processes__new(&place, PATIENCE);
	struct asker other = { .t = t, .pid = start_other() };
	struct processes_stat stat;
	char name[64];
	pthread_t thread;
	int own, theirs;

	(void)state;
	snprintf(name, sizeof(name), "perf-%d.map", getpid());
	own = make_file(name, "10 10 one\n");
	snprintf(name, sizeof(name), "perf-%d.map", other.pid);
	theirs = make_file(name, "10 10 other\n");
	assert_string_equal(ask(t, 0x10, 0), "one");
	/* Its descriptor goes with the read that hangs. */
	atomic_store(&closes, true);
	be_deaf(stat_of(own).st_ino);
	assert_string_equal(ask(t, 0x10, 0), "one");
	be_deaf(stat_of(theirs).st_ino);
	for (int i = 0; i < 20000; i++) {
		usleep(1000);
		processes__stat(t, &stat);
		if (!stat.n_stuck)
			break;
	}
	/* The one thread is with the other process's map. */
	assert_int_equal(pthread_create(&thread, NULL, ask_once, &other), 0);
	wait_for_one_waiting();
	atomic_store(&no_threads, true);
	assert_string_equal(ask(t, 0x10, 0), "one");
	ask(stranger, 0x10, -ETIMEDOUT);
	atomic_store(&no_threads, false);
	assert_string_equal(ask(stranger, 0x10, 0), "one");
	pthread_join(thread, NULL);
	assert_int_equal(other.rc, -ETIMEDOUT);
	be_deaf(0);
	processes__free(t);
	processes__free(stranger);
	kill(other.pid, SIGKILL);
	waitpid(other.pid, NULL, 0);
	close(own);
	close(theirs);
}

/* A process that holds the lock of its mappings: its maps are a pipe that nobody writes into. */
static void test_locked_mappings_are_not_waited_for(void **state)
{
	struct errands *e = errands__new("errands", PATIENCE);
	char folder[600], maps[700], found[PROC_PATH_MAX] = "";
	int writer;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/7", dir);
	snprintf(maps, sizeof(maps), "%s/maps", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(mkfifo(maps, 0600), 0);
	writer = open(maps, O_RDWR | O_CLOEXEC);
	assert_int_equal(proc__jitdump(NULL, e, dir, 7, found), -ETIMEDOUT);
	assert_int_equal(proc__jitdump(NULL, e, dir, 7, found), -EBUSY);
	assert_int_equal(proc__jitdump(NULL, e, "/proc", (uint32_t)getpid(), found), -ENOENT);
	close(writer);
	wait_for_none_stuck(e);
	unlink(maps);
	rmdir(folder);
	errands__free(e);
}

/* The line that names it lies across the pieces in which the text is read. */
static void test_a_jitdump_is_found_in_a_long_text(void **state)
{
	char folder[600], found[PROC_PATH_MAX];

	(void)state;
	snprintf(folder, sizeof(folder), "%s/8", dir);
	assert_int_equal(mkdir(folder, 0700), 0);
	for (int shift = 0; shift < 60; shift += 7) {
		FILE *f;

		snprintf(found, sizeof(found), "%s/maps", folder);
		f = fopen(found, "w");
		assert_non_null(f);
		fprintf(f, "%*s\n", (16 << 10) - 60 + shift, "1-2 rw-p 0 00:00 0 /jit-1.dump/no");
		fprintf(f, "%*s\n", PROC_PATH_MAX + 200, "1-2 r-xp 0 00:00 0 /too/long/jit-2.dump");
		fprintf(f, "%*s\n", (12 << 10) - 200, "");
		fputs("3-4 r-xp 0 00:00 5 /tmp/jit-3.dump\n5-6 r-xp 0 00:00 5 /x\n", f);
		fclose(f);
		found[0] = 0;
		assert_int_equal(proc__jitdump(NULL, NULL, dir, 8, found), 0);
		assert_string_equal(found, "/tmp/jit-3.dump");
	}
	snprintf(found, sizeof(found), "%s/maps", folder);
	unlink(found);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_hangs_is_left_behind, begin, end),
		cmocka_unit_test_setup_teardown(test_so_many_hang_and_no_more, begin, end),
		cmocka_unit_test_setup_teardown(test_those_under_way_may_hang_too, begin, end),
		cmocka_unit_test_setup_teardown(test_the_end_waits_for_none_that_hangs, begin, end),
		cmocka_unit_test_setup_teardown(test_threads, begin, end),
		cmocka_unit_test_setup_teardown(test_what_was_known_stays_so, begin, end),
		cmocka_unit_test_setup_teardown(test_without_a_thread_the_same_is_known, begin, end),
		cmocka_unit_test_setup_teardown(test_locked_mappings_are_not_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(test_a_jitdump_is_found_in_a_long_text, begin, end),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
