/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_worker.c - workers answer, or are killed for a reason, and can do nothing else
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fd.h"
#include "core/base/sanitizer.h"
#include "core/base/str.h"
#include "core/broker/sandbox.h"
#include "core/broker/worker.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

#define SECOND INT64_C(1000000000)

/* More than any machine takes; nothing is asserted about time. */
#define LONG (60 * SECOND)

enum { REQUEST_MAX = 1 << 20, ANSWER_MAX = 1 << 20, MEMORY = 64 << 20 };

/* ------------------------------------------------------------------------------------------------
 * What runs in workers
 */

/* The request, and then what is in its files. */
static int echo(const struct worker_request *q, struct buf *answer)
{
	buf__append(answer, q->bytes, q->n);
	for (uint32_t i = 0; i < q->n_fds; i++)
		fd__read_all(q->fds[i], ANSWER_MAX, answer);
	return 0;
}

static int refuse(const struct worker_request *q, struct buf *answer)
{
	buf__append(answer, q->bytes, q->n);
	return -ENODATA;
}

static int hang(const struct worker_request *q, struct buf *answer)
{
	(void)answer;
	for (volatile size_t i = 1; i; i |= q->n)
		;
	return 0;
}

static int crash(const struct worker_request *q, struct buf *answer)
{
	(void)q;
	(void)answer;
	kill(getpid(), SIGKILL); /* not allowed: it does nothing */
	abort();
}

static int eat(const struct worker_request *q, struct buf *answer)
{
	(void)q;
	(void)answer;
	for (void *volatile kept = NULL;;) {
		void **p = malloc(1 << 20);

		if (!p)
			continue;
		memset(p, 1, 1 << 20);
		*p = kept;
		kept = p;
	}
	return 0;
}

static int talk(const struct worker_request *q, struct buf *answer)
{
	static const uint8_t word[4096] = "more than may be said";

	(void)q;
	while (answer->error == 0)
		buf__append(answer, word, sizeof(word));
	return 0;
}

static int who(const struct worker_request *q, struct buf *answer)
{
	(void)q;
	buf__printf(answer, "%d", (int)getpid());
	return 0;
}

/* Everything that a worker must not be able to do. */
static int escape(const struct worker_request *q, struct buf *answer)
{
	static const char *const argv[] = { "/bin/true", NULL };

	(void)q;
	if (open("/etc/passwd", O_RDONLY) >= 0)
		buf__text(answer, "opened a file ");
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0)
		buf__text(answer, "made a socket ");
	if (fork() >= 0)
		buf__text(answer, "forked ");
	if (kill(getppid(), 0) == 0)
		buf__text(answer, "sent a signal ");
	if (execv(argv[0], (char *const *)(uintptr_t)argv) == 0)
		buf__text(answer, "became another program ");
	if (fcntl(STDIN_FILENO, F_GETFD) < 0 || write(STDOUT_FILENO, "x", 1) != 1)
		buf__text(answer, "has no standard streams ");
	return 0;
}

enum task { ECHO, REFUSE, HANG, CRASH, EAT, TALK, WHO, ESCAPE, N_TASKS };
static const worker_fn tasks[] = { echo, refuse, hang, crash, eat, talk, who, escape };

static const struct workers_config config = { .tasks = tasks,
					      .n_tasks = N_TASKS,
					      .n_workers = 2,
					      .memory_bytes = MEMORY,
					      .max_request_bytes = REQUEST_MAX,
					      .max_answer_bytes = ANSWER_MAX };

/* ------------------------------------------------------------------------------------------------
 * Asking
 */

static struct workers *start(void)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct workers *w = NULL;

	assert_int_equal(workers__new(&config, &w, &err), 0);
	return w;
}

static int ask_for(struct workers *w, enum task task, const char *text, int64_t ns, struct buf *answer)
{
	return workers__ask(
		w,
		&(struct worker_question){ .task = task,
					   .bytes = text,
					   .n = strlen(text),
					   .deadline_mono_ns = clock__mono(&clock__system) + ns },
		answer);
}

static int ask(struct workers *w, enum task task, struct buf *answer)
{
	return ask_for(w, task, "a question", LONG, answer);
}

static pid_t pid_of_worker(struct workers *w)
{
	struct buf answer = { 0 };
	int pid;

	assert_int_equal(ask(w, WHO, &answer), 0);
	assert_int_equal(sscanf((const char *)answer.data, "%d", &pid), 1);
	buf__fini(&answer);
	return pid;
}

static void assert_answers(struct workers *w)
{
	struct buf answer = { 0 };

	assert_int_equal(ask(w, ECHO, &answer), 0);
	assert_true(str__eq(buf__view(&answer), STR("a question")));
	buf__fini(&answer);
}

/* The parent of a process; 0 when it has gone. Zombies have. */
static pid_t parent_of(pid_t pid)
{
	struct buf text = { 0 };
	char path[64], state = 'Z';
	const char *at;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (fd__read_path(AT_FDCWD, path, 4096, &text) == 0 && text.n) {
		at = strrchr((const char *)text.data, ')');
		if (!at || sscanf(at, ") %c %d", &state, &parent) != 2 || state == 'Z')
			parent = 0;
	}
	buf__fini(&text);
	return parent;
}

/*
 * All of it: the first thread of a process is a zombie before the last one (a sanitizer's) has let
 * go of its files, and a pidfd tells when that has happened.
 */
static void wait_until_gone(pid_t pid)
{
	const struct timespec pause = { 0, 5000000 };
	struct pollfd all = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };

	if (all.fd >= 0) {
		assert_int_equal(poll(&all, 1, 60000), 1);
		close(all.fd);
	}

	for (int i = 0; parent_of(pid) && i < 12000; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(parent_of(pid), 0);
}

/* ------------------------------------------------------------------------------------------------
 * Tests
 */

static void test_answers(void **state)
{
	struct workers *w = start();
	struct buf answer = { 0 };

	(void)state;
	assert_answers(w);
	assert_int_equal(ask(w, REFUSE, &answer), -ENODATA);
	assert_int_equal(answer.n, 0);
	/* The one that was asked first is asked again. */
	assert_int_equal(workers__stat(w).n_forked, 1);
	assert_int_equal(workers__stat(w).n_questions, 2);
	workers__free(w);
}

static void test_sizes(void **state)
{
	struct workers *w = start();
	struct buf answer = { 0 };
	struct worker_question q = { .task = ECHO,
				     .n = REQUEST_MAX,
				     .deadline_mono_ns = clock__mono(&clock__system) + LONG };
	uint8_t *big = calloc(1, REQUEST_MAX);

	(void)state;
	assert_non_null(big);
	big[REQUEST_MAX - 1] = 7;
	q.bytes = big;
	assert_int_equal(workers__ask(w, &q, &answer), 0);
	assert_int_equal(answer.n, REQUEST_MAX);
	assert_memory_equal(answer.data, big, REQUEST_MAX);
	q.n++;
	assert_int_equal(workers__ask(w, &q, &answer), -E2BIG);
	buf__fini(&answer);
	assert_int_equal(ask(w, TALK, &answer), -EFBIG);
	assert_int_equal(answer.n, 0);
	assert_int_equal(workers__stat(w).n_forked, 1);
	free(big);
	workers__free(w);
}

static void test_descriptors(void **state)
{
	struct workers *w = start();
	struct buf answer = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "in the pipe", 11), 11);
	close(ends[1]);
	assert_int_equal(workers__ask(w,
				      &(struct worker_question){
					      .task = ECHO,
					      .bytes = "before, ",
					      .n = 8,
					      .fds = ends,
					      .n_fds = 1,
					      .deadline_mono_ns = clock__mono(&clock__system) + LONG },
				      &answer),
			 0);
	assert_true(str__eq(buf__view(&answer), STR("before, in the pipe")));
	close(ends[0]);
	buf__fini(&answer);
	workers__free(w);
}

static void test_no_such_task(void **state)
{
	struct workers *w = start();
	struct buf answer = { 0 };

	(void)state;
	assert_int_equal(ask(w, N_TASKS, &answer), -EINVAL);
	assert_answers(w);
	workers__free(w);
}

static void test_hangs(void **state)
{
	struct workers *w = start();
	struct buf answer = { 0 };
	pid_t pid = pid_of_worker(w);

	(void)state;
	assert_int_equal(ask_for(w, HANG, "", SECOND / 5, &answer), -ETIMEDOUT);
	wait_until_gone(pid);
	assert_answers(w);
	assert_int_equal(workers__stat(w).n_timed_out, 1);
	assert_int_equal(workers__stat(w).n_forked, 2);
	workers__free(w);
}

static void test_crashes(void **state)
{
	struct workers *w = start();
	struct buf answer = { 0 };

	(void)state;
	assert_int_equal(ask(w, CRASH, &answer), -EPROTO);
	assert_answers(w);
	assert_int_equal(workers__stat(w).n_crashed, 1);
	workers__free(w);
}

static void test_eats_memory(void **state)
{
	struct workers *w = start();
	struct buf answer = { 0 };
	pid_t pid = pid_of_worker(w);

	(void)state;
	assert_int_equal(ask(w, EAT, &answer), -ENOMEM);
	wait_until_gone(pid);
	assert_answers(w);
	assert_int_equal(workers__stat(w).n_out_of_memory, 1);
	workers__free(w);
}

/* One that died while nobody asked it costs no question. */
static void test_dies_idle(void **state)
{
	struct workers *w = start();
	pid_t pid = pid_of_worker(w);

	(void)state;
	kill(pid, SIGKILL);
	wait_until_gone(pid);
	assert_answers(w);
	assert_int_equal(workers__stat(w).n_crashed, 0);
	workers__free(w);
}

static void test_cannot_escape(void **state)
{
	struct workers *w = start();
	struct buf answer = { 0 };
	char path[64];

	(void)state;
	assert_int_equal(ask(w, ESCAPE, &answer), 0);
	assert_string_equal(answer.n ? (const char *)answer.data : "", "");
	buf__fini(&answer);

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid_of_worker(w));
	assert_int_equal(fd__read_path(AT_FDCWD, path, 65536, &answer), 0);
	assert_non_null(strstr((const char *)answer.data, "\nCapPrm:\t0000000000000000\n"));
	assert_non_null(strstr((const char *)answer.data, "\nCapEff:\t0000000000000000\n"));
	assert_non_null(strstr((const char *)answer.data, "\nCapAmb:\t0000000000000000\n"));
	assert_non_null(strstr((const char *)answer.data, "\nNoNewPrivs:\t1\n"));
	assert_non_null(strstr((const char *)answer.data, "\nSeccomp:\t2\n"));
	buf__fini(&answer);
	workers__free(w);
}

enum { ASKERS = 8, TURNS = 40 };

static void *many_questions(void *arg)
{
	struct workers *w = arg;
	uintptr_t wrong = 0;

	for (int i = 0; i < TURNS; i++) {
		struct buf answer = { 0 };
		int r = ask_for(w, i % 8 == 7 ? CRASH : ECHO, "one of many", LONG, &answer);

		if (i % 8 == 7)
			wrong += r != -EPROTO;
		else
			wrong += r != 0 || !str__eq(buf__view(&answer), STR("one of many"));
		buf__fini(&answer);
	}
	return (void *)wrong;
}

static void test_many_at_once(void **state)
{
	struct workers *w = start();
	pthread_t threads[ASKERS];
	struct workers_stat stat;

	(void)state;
	for (int i = 0; i < ASKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, many_questions, w), 0);
	for (int i = 0; i < ASKERS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	stat = workers__stat(w);
	assert_int_equal(stat.n_questions, ASKERS * TURNS);
	assert_int_equal(stat.n_crashed, ASKERS * TURNS / 8);
	workers__free(w);
}

/* Workers that are kept busy until it is said that it is enough. */
struct hanging {
	struct workers *w;
	pthread_t threads[2];
	atomic_bool is_enough;
};

static bool is_enough(void *ctx)
{
	const struct hanging *h = ctx;

	return atomic_load(&h->is_enough);
}

static void *hang_on(void *arg)
{
	struct hanging *h = arg;
	struct buf answer = { 0 };
	const struct worker_question question = {
		.task = HANG, .bytes = "", .deadline_mono_ns = INT64_MAX, .stop = is_enough, .stop_ctx = h
	};

	assert_int_equal(workers__ask(h->w, &question, &answer), -ECANCELED);
	return NULL;
}

/* Returns when both workers have been taken. */
static void hang_all(struct hanging *h, struct workers *w)
{
	const uint64_t before = workers__stat(w).n_questions;

	h->w = w;
	for (int i = 0; i < 2; i++)
		pthread_create(&h->threads[i], NULL, hang_on, h);
	while (workers__stat(w).n_questions < before + 2)
		sched_yield();
}

static void let_go(struct hanging *h)
{
	atomic_store(&h->is_enough, true);
	for (int i = 0; i < 2; i++)
		pthread_join(h->threads[i], NULL);
}

/* A question that finds all busy waits no longer than its deadline, and nobody is killed for it. */
static void test_all_busy(void **state)
{
	struct workers *w = start();
	struct hanging hanging = { 0 };
	struct buf answer = { 0 };

	(void)state;
	hang_all(&hanging, w);
	assert_int_equal(ask_for(w, ECHO, "", SECOND / 100, &answer), -EBUSY);
	let_go(&hanging);
	assert_int_equal(workers__stat(w).n_timed_out, 0);
	assert_answers(w);
	workers__free(w);
}

/* True from the second time on. */
static bool soon(void *ctx)
{
	int *n = ctx;

	return (*n)++ > 0;
}

static int ask_until_stopped(struct workers *w, enum task task, int *n_looks)
{
	struct buf answer = { 0 };

	return workers__ask(w,
			    &(struct worker_question){ .task = task,
						       .bytes = "",
						       .deadline_mono_ns = INT64_MAX,
						       .stop = soon,
						       .stop_ctx = n_looks },
			    &answer);
}

/* Neither who waits for an answer nor who waits for a worker keeps a program from ending. */
static void test_stops(void **state)
{
	struct workers *w = start();
	pid_t pid = pid_of_worker(w);
	struct hanging hanging = { 0 };
	int n_looks = 0;

	(void)state;
	assert_int_equal(ask_until_stopped(w, HANG, &n_looks), -ECANCELED);
	wait_until_gone(pid);
	assert_int_equal(n_looks, 2);
	assert_answers(w);
	struct workers_stat stat = workers__stat(w);
	assert_int_equal(stat.n_timed_out + stat.n_out_of_memory + stat.n_crashed, 0);
	hang_all(&hanging, w);
	n_looks = 1;
	assert_int_equal(ask_until_stopped(w, ECHO, &n_looks), -ECANCELED);
	let_go(&hanging);
	workers__free(w);
}

static void test_free_leaves_nothing(void **state)
{
	struct workers *w = start();
	pid_t pid = pid_of_worker(w), forker = parent_of(pid);

	(void)state;
	assert_true(forker > 1);
	workers__free(w);
	wait_until_gone(pid);
	wait_until_gone(forker);
	workers__free(NULL);
}

/* It has been noticed; the workers of that forker are gone. */
static void kill_forker(struct workers *w)
{
	pid_t pid = pid_of_worker(w), forker = parent_of(pid);
	struct pollfd p = { .fd = workers__watch_fd(w), .events = POLLIN };

	kill(forker, SIGKILL);
	wait_until_gone(forker);
	wait_until_gone(pid);
	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_true(p.revents & POLLHUP);
}

static void test_forker_is_killed(void **state)
{
	struct workers *w = start();
	struct buf answer = { 0 };

	(void)state;
	assert_int_equal(workers__stat(w).n_forkers, 2);
	kill_forker(w);
	assert_answers(w);
	assert_int_equal(workers__stat(w).n_forkers, 1);
	kill_forker(w);
	assert_int_equal(ask(w, ECHO, &answer), -EPIPE);
	assert_int_equal(workers__watch_fd(w), -1);
	assert_int_equal(workers__stat(w).n_forkers, 0);
	assert_int_equal(workers__stat(w).n_forkers_died, 2);
	assert_int_equal(workers__stat(w).n_crashed, 0);
	workers__free(w);
}

/* Our other child. Not /proc/PID of each: these are there for threads, too, which are not listed. */
static pid_t spare_beside(pid_t forker)
{
	DIR *all = opendir("/proc");
	const struct dirent *e;
	pid_t found = 0;

	assert_non_null(all);
	while (!found && (e = readdir(all))) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0 && pid != forker && parent_of(pid) == getpid())
			found = pid;
	}
	closedir(all);
	assert_true(found > 0);
	return found;
}

/* The spare's death is seen, too, and costs nobody anything. */
static void test_spare_is_killed(void **state)
{
	struct workers *w = start();
	pid_t pid = pid_of_worker(w), spare = spare_beside(parent_of(pid));

	(void)state;
	kill(spare, SIGKILL);
	wait_until_gone(spare);
	assert_int_equal(workers__stat(w).n_forkers, 1);
	assert_int_equal(pid_of_worker(w), pid);
	workers__free(w);
}

static bool kill_it(void *ctx)
{
	kill(*(pid_t *)ctx, SIGKILL);
	return false;
}

/* What was asked is not to blame for the end of a worker whose forker died. */
static void test_forker_dies_meanwhile(void **state)
{
	if (SANITIZER_THREAD)
		skip_because("ThreadSanitizer's own thread keeps a forker's socket beyond the "
			     "thread that workers follow");
	struct workers *w = start();
	pid_t forker = parent_of(pid_of_worker(w));
	struct buf answer = { 0 };

	assert_int_equal(workers__ask(w,
				      &(struct worker_question){ .task = HANG,
								 .bytes = "",
								 .deadline_mono_ns = INT64_MAX,
								 .stop = kill_it,
								 .stop_ctx = &forker },
				      &answer),
			 -EPIPE);
	assert_int_equal(workers__stat(w).n_crashed, 0);
	assert_answers(w);
	workers__free(w);
}

/* One that does not answer is as good as dead, and what it says later is nobody's answer. */
static void test_forker_is_stopped(void **state)
{
	struct workers *w = start();
	pid_t pid = pid_of_worker(w), forker = parent_of(pid);

	(void)state;
	kill(forker, SIGSTOP);
	kill(pid, SIGKILL);
	wait_until_gone(pid);
	assert_answers(w);
	assert_true(parent_of(pid_of_worker(w)) != forker);
	assert_int_equal(workers__stat(w).n_forkers, 1);
	kill(forker, SIGCONT);
	wait_until_gone(forker);
	assert_answers(w);
	workers__free(w);
}

/* In a child, which is then killed: the pids of its forker and its worker come by a pipe. */
static void be_killed(int report)
{
	struct workers *w = NULL;
	struct buf answer = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	pid_t pids[2] = { 0 };

	if (workers__new(&config, &w, &err) == 0 && ask(w, WHO, &answer) == 0) {
		sscanf((const char *)answer.data, "%d", &pids[0]);
		pids[1] = parent_of(pids[0]);
	}
	if (write(report, pids, sizeof(pids)) == (ssize_t)sizeof(pids))
		ask(w, HANG, &answer);
	_exit(1);
}

static void test_asker_is_killed(void **state)
{
	pid_t pids[2], child;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		be_killed(ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], pids, sizeof(pids)), sizeof(pids));
	close(ends[0]);
	assert_true(pids[0] > 1 && pids[1] > 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	wait_until_gone(pids[1]);
	wait_until_gone(pids[0]);
}

static void test_no_memory(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct workers *w = NULL;
		int r = workers__new(&config, &w, &err);

		failmalloc__disarm();
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
		workers__free(w);
	}
}

static void test_question_without_memory(void **state)
{
	struct workers *w = start();

	(void)state;
	assert_answers(w);
	FAILMALLOC_SWEEP (i) {
		struct buf answer = { 0 };
		int r = ask(w, ECHO, &answer);

		failmalloc__disarm();
		if (r < 0)
			assert_int_equal(r, -ENOMEM);
		buf__fini(&answer);
	}
	assert_answers(w);
	workers__free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_no_such_task),
		cmocka_unit_test(test_hangs),
		cmocka_unit_test(test_crashes),
		cmocka_unit_test(test_eats_memory),
		cmocka_unit_test(test_dies_idle),
		cmocka_unit_test(test_cannot_escape),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_all_busy),
		cmocka_unit_test(test_stops),
		cmocka_unit_test(test_free_leaves_nothing),
		cmocka_unit_test(test_forker_is_killed),
		cmocka_unit_test(test_spare_is_killed),
		cmocka_unit_test(test_forker_dies_meanwhile),
		cmocka_unit_test(test_forker_is_stopped),
		cmocka_unit_test(test_asker_is_killed),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_question_without_memory),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
