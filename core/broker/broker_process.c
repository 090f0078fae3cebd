/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/broker_process.c - what runs in the broker: checks a request, does it, answers
 *
 * Requests have one size; whatever is in them that the operation does not use must be zero. Checks
 * that hold for everybody are in direct.c; those here assume that the asker was taken over.
 */
#include "core/broker/broker_process.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fd.h"
#include "core/broker/direct.h"
#include "core/broker/sandbox.h"
#include "core/broker/turns.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

#define BIT(cap)    (UINT64_C(1) << (cap))
#define SHORTEST_NS 50000u /* between two samples: 20 kHz */
#define CPUS_MAX    65536u

enum { FILES_MAX = 256 };

const uint64_t broker__capabilities = BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_PTRACE) |
				      BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYSLOG) |
				      BIT(CAP_CHECKPOINT_RESTORE);

static const int calls[] = {
	SYS_recvmsg,
	SYS_recvfrom,
	SYS_sendmsg,
	SYS_sendto,
	SYS_ppoll,
	SYS_read,
	SYS_pread64,
	SYS_write,
	SYS_close,
	SYS_openat,
	SYS_openat2,
	SYS_fstat,
	SYS_fstatfs,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_open_by_handle_at,
	SYS_mmap,
	SYS_munmap,
	SYS_mremap,
	SYS_brk,
	SYS_madvise,
	SYS_mprotect,
	SYS_futex,
	SYS_clock_gettime,
	SYS_getpid,
	SYS_gettid,
	SYS_rt_sigreturn,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_tgkill,
	SYS_restart_syscall,
	SYS_sigaltstack,
	SYS_sched_yield,
	SYS_getrandom,
	SYS_exit,
	SYS_exit_group,
#ifdef SYS_poll
	SYS_poll,
#endif
#ifdef SYS_newfstatat
	SYS_newfstatat,
#endif
};

/* ------------------------------------------------------------------------------------------------
 * What is refused
 */

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

static bool is_on(int fd, long fs_magic)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (long)fs.f_type == fs_magic;
}

/* The bytes are those of an attribute that has only the fields which samplers need. */
static bool is_harmless(const struct perf_event_attr *a)
{
	const struct perf_event_attr harmless = {
		.type = PERF_TYPE_SOFTWARE,
		.size = a->size,
		.config = a->config,
		.sample_period = a->sample_period,
		.sample_type = a->sample_type & (PERF_SAMPLE_TIME | PERF_SAMPLE_TID | PERF_SAMPLE_CPU),
		.read_format = a->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING,
		.disabled = a->disabled,
		.exclude_idle = a->exclude_idle,
		.mmap = a->mmap,
		.mmap2 = a->mmap2,
		.comm = a->comm,
		.comm_exec = a->comm_exec,
		.task = a->task,
		/* As much as the list says that main gets from us. */
		.ksymbol = a->config == PERF_COUNT_SW_DUMMY && a->ksymbol,
		.sample_id_all = a->sample_id_all,
		.use_clockid = a->use_clockid,
		.watermark = a->watermark,
		.wakeup_watermark = a->wakeup_watermark,
		.clockid = a->clockid,
	};

	if (a->size > sizeof(*a) || memcmp(a, &harmless, sizeof(harmless)) != 0)
		return false;
	if (a->config == PERF_COUNT_SW_CPU_CLOCK)
		return a->sample_period >= SHORTEST_NS;
	return a->config == PERF_COUNT_SW_DUMMY && a->sample_period == 0;
}

static bool is_array_of_maps(int fd)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = { 0 };

	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0 &&
	       info.type == BPF_MAP_TYPE_ARRAY_OF_MAPS;
}

/* ------------------------------------------------------------------------------------------------
 * Requests
 */

static int handle_open(const struct channel_message *m, const struct broker_request *q)
{
	const struct dcm_guarded g = { .size = sizeof(g),
				       .what = q->what,
				       .dir = m->fds[0],
				       .start = q->args[0],
				       .end = q->args[1],
				       .path = (const char *)q->data };
	bool has_path = q->what == DCM_GUARDED_CODE || q->what == DCM_GUARDED_NAMES;

	if (m->head.n_fds != 1 || q->data[BROKER_PATH_MAX - 1] || (!has_path && q->data[0]))
		return -EPROTO;
	if (q->what == DCM_GUARDED_CGROUP && !is_on(g.dir, CGROUP2_SUPER_MAGIC))
		return -EPERM;
	if (q->what < DCM_GUARDED_CODE && !is_on(g.dir, PROC_SUPER_MAGIC))
		return -EPERM;
	return direct__open(&g);
}

static int handle_perf_event(const struct channel_message *m, const struct broker_request *q)
{
	struct perf_event_attr attr;

	if (m->head.n_fds || q->args[0] >= CPUS_MAX || q->args[1] ||
	    !is_zero(q->data + sizeof(attr), sizeof(q->data) - sizeof(attr)))
		return -EPROTO;
	memcpy(&attr, q->data, sizeof(attr));
	return is_harmless(&attr) ? direct__perf_event(&attr, (uint32_t)q->args[0]) : -EPERM;
}

static int handle_bpf(const struct channel_message *m, const struct broker_request *q)
{
	if (!is_zero(q->data, sizeof(q->data)) || q->args[0] > UINT32_MAX || q->args[1] > UINT32_MAX)
		return -EPROTO;
	if (m->head.what == BROKER_BPF_PUT) {
		if (m->head.n_fds != 2 || q->args[1])
			return -EPROTO;
		return is_array_of_maps(m->fds[0])
			       ? direct__bpf_put(m->fds[0], (uint32_t)q->args[0], m->fds[1])
			       : -EPERM;
	}
	if (m->head.n_fds)
		return -EPROTO;
	if (q->args[0] * q->args[1] > BROKER_ARRAY_BYTES_MAX)
		return -EPERM;
	return direct__bpf_array((uint32_t)q->args[0], (uint32_t)q->args[1]);
}

int broker__handle(const struct channel_message *m)
{
	struct broker_request q;

	if (m->bytes.n != sizeof(q))
		return -EPROTO;
	memcpy(&q, m->bytes.data, sizeof(q));
	if (m->head.what != BROKER_OPEN && q.what)
		return -EPROTO;
	switch ((enum broker_op)m->head.what) {
	case BROKER_OPEN:
		return handle_open(m, &q);
	case BROKER_PERF_EVENT:
		return handle_perf_event(m, &q);
	case BROKER_BPF_ARRAY:
	case BROKER_BPF_PUT:
		return handle_bpf(m, &q);
	case BROKER_KALLSYMS:
		if (m->head.n_fds || q.args[0] || q.args[1] || !is_zero(q.data, sizeof(q.data)))
			return -EPROTO;
		return direct__open_kallsyms();
	}
	return -EPROTO;
}

/* ------------------------------------------------------------------------------------------------
 * The process
 */

static uint64_t now_ns(void)
{
	return (uint64_t)clock__mono(&clock__system);
}

static int serve_one(int end, struct turns *turns)
{
	struct channel_message m = { 0 };
	struct channel_head head = { 0 };
	int fd = -1;
	int r = channel__receive(end, sizeof(struct broker_request), CHANNEL_FOREVER, &m);

	if (r < 0)
		return r;
	r = turns__take(turns, now_ns()) ? broker__handle(&m) : -EBUSY;
	if (r == -EPROTO) {
		channel_message__fini(&m);
		return r;
	}
	memcpy(&head.what, m.bytes.data, sizeof(head.what));
	/* What puts something has no descriptor to give. */
	if (r >= 0 && m.head.what != BROKER_BPF_PUT)
		fd = r;
	head.status = r < 0 ? r : 0;
	head.n_fds = fd >= 0;
	r = channel__send(end, &head, NULL, &fd, CHANNEL_FOREVER);
	fd__close(fd);
	channel_message__fini(&m);
	return r;
}

static int settle(int end, pid_t parent)
{
	const struct rlimit any = { RLIM_INFINITY, RLIM_INFINITY };
	int r;

	/*
	 * Before 5.11, maps count as locked memory; without CAP_SYS_RESOURCE the unit's limit
	 * holds.
	 */
	setrlimit(RLIMIT_MEMLOCK, &any);
	r = sandbox__limit(RLIMIT_NOFILE, FILES_MAX);
	if (r == 0)
		r = sandbox__keep_capabilities(broker__capabilities);
	if (r == 0)
		r = sandbox__begin_child("decima-broker", parent, end);
	/* Nobody who is merely of the same user may look into it. */
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		r = -errno;
	if (r == 0)
		r = sandbox__allow_only(calls, sizeof(calls) / sizeof(*calls));
	return r;
}

void broker_process__run(int end, pid_t parent)
{
	struct turns turns;
	int r = settle(end, parent);

	turns__init(&turns, BROKER_PER_SECOND, BROKER_BURST, now_ns());
	while (r == 0)
		r = serve_one(end, &turns);
	if (r != -EPIPE)
		fprintf(stderr, "decima: the broker ends: %s\n",
			r == -EPROTO ? "a request that is none of ours" : strerror(-r));
	_exit(r == -EPIPE ? 0 : 1);
}
