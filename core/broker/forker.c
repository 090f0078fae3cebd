/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/forker.c - the process that forks workers, and what they run
 *
 * The forker does nothing but wait for the word, fork, and hand the new worker's socket over. It
 * ends when its channel ends, and its workers with it (PR_SET_PDEATHSIG). The kernel reaps them.
 *
 * A worker may use memory, clocks and the descriptors it is given. Linux has no limit for the
 * memory that a process really uses, so the asker watches that; RLIMIT_DATA, which counts what is
 * merely asked for, stands a little above it and makes malloc() fail. Under a sanitizer there is no
 * such limit, because its shadow would not fit in.
 */
#include "core/broker/forker.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/broker/sandbox.h"

#define DATA_SLACK_BYTES (64ull << 20)

enum { WORKER_FILES = 64 };

/*
 * What malloc, stdio, reading files and writing those that are given for it take; and what a crash
 * takes to be one.
 */
#define CALLS_WORKER                                                                               \
	SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_write, SYS_writev, SYS_lseek, SYS_close, \
		SYS_fstat, SYS_fcntl, SYS_dup, SYS_mmap, SYS_munmap, SYS_mremap, SYS_madvise,      \
		SYS_mprotect, SYS_brk, SYS_futex, SYS_getrandom, SYS_clock_gettime,                \
		SYS_clock_nanosleep, SYS_gettimeofday, SYS_sched_yield, SYS_getpid, SYS_gettid,    \
		SYS_tgkill, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,                \
		SYS_restart_syscall, SYS_sigaltstack, SYS_sendmsg, SYS_recvmsg, SYS_sendto,        \
		SYS_recvfrom, SYS_ppoll, SYS_exit, SYS_exit_group, SYS_pwrite64, SYS_ftruncate,    \
		SYS_NEWFSTATAT, CALLS_ARCH
#ifdef SYS_newfstatat
#define SYS_NEWFSTATAT SYS_newfstatat
#else
#define SYS_NEWFSTATAT SYS_fstatat
#endif
#ifdef SYS_poll
#define CALLS_ARCH SYS_poll
#else
#define CALLS_ARCH SYS_ppoll
#endif

static const int worker_calls[] = { CALLS_WORKER };

static const int forker_calls[] = {
	CALLS_WORKER,	SYS_clone,	     SYS_clone3,
	SYS_socketpair, SYS_prctl,	     SYS_seccomp,
	SYS_getppid,	SYS_pidfd_open,	     SYS_pidfd_send_signal,
	SYS_prlimit64,	SYS_set_robust_list, SYS_set_tid_address,
	SYS_rseq,	SYS_close_range,     SYS_openat,
	SYS_dup3,
#ifdef SYS_dup2
	SYS_dup2,
#endif
#ifdef SYS_fork
	SYS_fork,
#endif
};

/* ------------------------------------------------------------------------------------------------
 * A worker
 */

static int bound_worker(const struct workers_config *c)
{
	int r = sandbox__limit(RLIMIT_CORE, 0);

	if (r == 0)
		r = sandbox__limit(RLIMIT_FSIZE, c->file_bytes);
	if (r == 0)
		r = sandbox__limit(RLIMIT_NOFILE, WORKER_FILES);
	if (r == 0 && !sandbox__is_sanitized())
		r = sandbox__limit(RLIMIT_DATA, c->memory_bytes + DATA_SLACK_BYTES);
	if (r == 0)
		r = sandbox__allow_only(worker_calls, sizeof(worker_calls) / sizeof(*worker_calls));
	return r;
}

static int answer_one(const struct workers_config *c, int end)
{
	struct channel_message q = { 0 };
	struct channel_head head = { 0 };
	struct buf answer = { .limit = c->max_answer_bytes };
	int r = channel__receive(end, c->max_request_bytes, CHANNEL_FOREVER, &q);

	if (r < 0)
		return r;
	head.status = -EINVAL;
	if (q.head.what < c->n_tasks)
		head.status = c->tasks[q.head.what](
			&(struct worker_request){ q.bytes.data, q.bytes.n, q.fds, q.head.n_fds }, &answer);
	if (head.status == 0 && answer.error)
		head.status = answer.error;
	if (head.status == 0)
		head.n_bytes = (uint32_t)answer.n;
	r = channel__send(end, &head, answer.data, NULL, CHANNEL_FOREVER);
	buf__fini(&answer);
	channel_message__fini(&q);
	return r;
}

static void worker_run(const struct workers_config *c, int end, pid_t parent)
{
	int r = sandbox__begin_child("decima-worker", parent, end);

	if (r == 0)
		r = bound_worker(c);
	while (r == 0)
		r = answer_one(c, end);
	/* Not exit(): what was registered to run there belongs to others. */
	_exit(r == -EPIPE ? 0 : 1);
}

/* ------------------------------------------------------------------------------------------------
 * The forker
 */

/* fds: what the asker gets; closed by the caller. */
static int fork_worker(const struct workers_config *c, int fds[FORKER_FDS], pid_t *ret_pid)
{
	pid_t self = getpid(), pid;
	int ends[2];
	int r = channel__pair(ends);

	if (r < 0)
		return r;
	pid = fork();
	if (pid == 0)
		worker_run(c, ends[1], self);
	r = pid < 0 ? -errno : 0;
	fd__close(ends[1]);
	fds[0] = ends[0];
	if (r < 0)
		return r;
	fds[1] = (int)syscall(SYS_pidfd_open, pid, 0);
	*ret_pid = pid;
	return fds[1] < 0 ? -errno : 0;
}

static int make_worker(const struct workers_config *c, int end)
{
	struct channel_head head = { 0 };
	int fds[FORKER_FDS] = { -1, -1 };
	pid_t pid = 0;
	int r;

	head.status = fork_worker(c, fds, &pid);
	head.what = (uint32_t)pid;
	head.n_fds = head.status == 0 ? FORKER_FDS : 0;
	r = channel__send(end, &head, NULL, fds, CHANNEL_FOREVER);
	for (int i = 0; i < FORKER_FDS; i++)
		fd__close(fds[i]);
	return r;
}

static int serve_one(const struct workers_config *c, int end)
{
	struct channel_message q = { 0 };
	int r = channel__receive(end, 0, CHANNEL_FOREVER, &q);

	if (r < 0)
		return r;
	if (q.head.what == FORKER_FORK && q.head.n_fds == 0)
		r = make_worker(c, end);
	else if (q.head.what == FORKER_KILL && q.head.n_fds == 1)
		syscall(SYS_pidfd_send_signal, q.fds[0], SIGKILL, NULL, 0);
	else
		r = -EPROTO;
	channel_message__fini(&q);
	return r;
}

void forker__run(const struct workers_config *config, int end, pid_t parent)
{
	struct workers_config c = *config;

	/* Nobody trims the memory of workers: what a large file took goes back block by block. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	int r = c.uid ? sandbox__become(c.uid, c.gid, false) : 0;

	/*
	 * Root that may not become somebody else, in a user namespace without such a user for
	 * instance: who opens no file needs nobody's name.
	 */
	if (r == 0 || r == -EPERM || r == -EINVAL)
		r = sandbox__keep_capabilities(0);
	if (r == 0)
		r = sandbox__begin_child("decima-forker", parent, end);
	if (r == 0)
		r = sandbox__allow_only(forker_calls, sizeof(forker_calls) / sizeof(*forker_calls));
	while (r == 0)
		r = serve_one(&c, end);
	if (r < 0 && r != -EPIPE)
		fprintf(stderr, "decima: the process that forks workers: %s\n", strerror(-r));
	_exit(r == -EPIPE ? 0 : 1);
}
