/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_family.c - descendants of processes, with real ones
 */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/input/ebpf/family.h"
#include "plugins/input/ebpf/procfs.h"

enum { TAKEN = 16 };

struct taken {
	uint32_t pids[TAKEN], n;
	int answer;  /* other than 0: to the first one */
	pid_t forks; /* this one forks when it is taken; 0: none does */
	pid_t dies;  /* this one ends then */
};

static bool has(const struct taken *t, pid_t pid)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->pids[i] == (uint32_t)pid)
			return true;
	return false;
}

static int take(void *ctx, uint32_t pid, bool is_there)
{
	struct taken *t = ctx;

	if (t->answer)
		return t->answer;
	if (!is_there) {
		assert_int_equal(t->pids[t->n - 1], pid);
		t->n--;
		return 0;
	}
	if (has(t, (pid_t)pid))
		return 0;
	assert_in_range(t->n, 0, TAKEN - 1);
	t->pids[t->n++] = pid;
	return 1;
}

static int ends[2]; /* what a process forked, it says here */

static void on_usr1(int number)
{
	pid_t pid;

	(void)number;
	pid = fork();
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	else if (write(ends[1], &pid, sizeof(pid)) < 0)
		_exit(1);
}

/* Forks each time that it is told to. */
static pid_t start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGCHLD, SIG_IGN); /* its children are gone when they have ended */
		for (;;)
			pause();
	}
	return pid;
}

static pid_t child_of(pid_t parent)
{
	pid_t pid;

	kill(parent, SIGUSR1);
	assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	return pid;
}

static uint64_t start_of(pid_t pid)
{
	uint64_t ns;

	assert_int_equal(procfs__start((uint32_t)pid, &ns), 0);
	return ns;
}

static int take_and_fork(void *ctx, uint32_t pid, bool is_there)
{
	struct taken *t = ctx;
	int r = take(ctx, pid, is_there);
	uint64_t ns;

	if (r > 0 && t->forks == (pid_t)pid) {
		t->forks = 0;
		child_of((pid_t)pid);
	}
	if (r > 0 && t->dies == (pid_t)pid) {
		kill((pid_t)pid, SIGKILL);
		while (procfs__start(pid, &ns) == 0)
			usleep(1000);
	}
	return r;
}

static void test_descendants(void **state)
{
	struct taken t = { .n = 0 };
	pid_t other, named, child, grandchild;
	int64_t pids[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	signal(SIGUSR1, on_usr1);
	other = start();
	named = start();
	child = child_of(named);
	grandchild = child_of(child);
	child_of(other);
	pids[0] = pids[1] = named;

	assert_int_equal(family__since(pids, 1, start_of(named), take, &t), 0);
	assert_int_equal(t.n, 2);
	assert_true(has(&t, child) && has(&t, grandchild));
	/* Twice the same, and one that is its own descendant. */
	t.n = 0;
	pids[1] = child;
	assert_int_equal(family__since(pids, 2, start_of(named), take, &t), 0);
	assert_true(has(&t, grandchild));
	/* What one forks while others are looked for. */
	t = (struct taken){ .forks = grandchild };
	assert_int_equal(family__since(pids, 1, start_of(named), take_and_fork, &t), 0);
	assert_int_equal(t.n, 3);
	/* One that has ended by then: its number may be a stranger's. */
	t = (struct taken){ .dies = child_of(named) };
	assert_int_equal(family__since(pids, 1, start_of(named), take_and_fork, &t), 0);
	assert_int_equal(t.n, 3);
	assert_false(has(&t, t.dies));
	/* They were there before. */
	t = (struct taken){ .n = 0 };
	assert_int_equal(family__since(pids, 1, start_of(grandchild) + 3600ull * 1000000000, take, &t), 0);
	assert_int_equal(t.n, 0);
	t.answer = -E2BIG;
	assert_int_equal(family__since(pids, 1, start_of(named), take, &t), -E2BIG);
	kill(other, SIGKILL);
	kill(named, SIGKILL);
	waitpid(other, NULL, 0);
	waitpid(named, NULL, 0);
}

struct dirent *__real_readdir(DIR *dir);
struct dirent *__wrap_readdir(DIR *dir);

static uint32_t n_entries = UINT32_MAX; /* of /proc, before it cannot be read any more */

struct dirent *__wrap_readdir(DIR *dir)
{
	if (n_entries == 0) {
		errno = EIO;
		return NULL;
	}
	n_entries--;
	return __real_readdir(dir);
}

/* What cannot be read is no family without children. */
static void test_proc_that_cannot_be_read(void **state)
{
	struct taken t = { .n = 0 };
	struct rlimit limit, none;
	int64_t pid = getpid();
	int next = dup(0);

	(void)state;
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	/* Not even the directory; or nothing in it. */
	for (int more = 0; more < 2; more++) {
		none = (struct rlimit){ (rlim_t)(next + more), limit.rlim_max };
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		assert_int_equal(family__since(&pid, 1, 0, take, &t), -EMFILE);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	}
	n_entries = 10;
	assert_int_equal(family__since(&pid, 1, 0, take, &t), -EIO);
	n_entries = UINT32_MAX;
	assert_int_equal(t.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_descendants),
					    cmocka_unit_test(test_proc_that_cannot_be_read) };

	return cmocka_run_group_tests_name("ebpf_family", tests, NULL, NULL);
}
