/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bpf/sampler.bpf.c - takes one sample: who runs, the kernel stack, the user stack, one record
 *
 * `sample` runs on each perf event of a CPU, in the timer interrupt. It decides whether the sample
 * is wanted, lets the kernel unwind its own stack into the record, walks the user stack with one
 * call of step() per frame, and puts the record into a ring buffer without waking anybody: the
 * reader comes by on a timer. Only the first sample of a process wakes it, so that /proc can be
 * read while the process is still there.
 *
 * The walk: state lives in a per-CPU map value, because a global function takes only scalars before
 * kernel 5.12 and is verified once, however often the loop calls it. Stack memory is read a window
 * at a time (up to the page's end, which either is there whole or not at all), since 80 reads of 8
 * bytes cost ten times as much. step() goes from the frame in the state to its caller, and says why
 * when it cannot. Its rule is the frame pointer's.
 *
 * exec and exit run on tracepoints and tell user space about processes that it has heard of.
 *
 * Kernel 5.8 is the oldest that has all of this (ring buffer); what differs since then is asked of
 * BTF and says so.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/sampler.h"
#include "bpf/types.bpf.h"
#include "bpf/arch.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	WINDOW_BYTES = 4096,
	WINDOW_WORDS = WINDOW_BYTES / 8,
	LOWEST_CODE = 4096, /* nothing is mapped below (vm.mmap_min_addr) */
};
#define MAX_JUMP_BYTES (1024 * 1024) /* a frame that large is taken for a wrong frame pointer */

/* Switches that the verifier may use to drop code: set before loading, fixed from then on. */
const volatile __u32 self_pid;
const volatile __u32 max_depth = SAMPLER_USER_FRAMES;
const volatile __u8 with_kernel_stack = 1;
const volatile __u8 with_user_stack = 1;
const volatile __u8 with_pid_filter;
const volatile __u8 with_comm_filter;
const volatile __u8 follow_children;
const volatile __u64 wakeup_bytes = ~0ull; /* waiting in the ring, beyond which the reader is woken */

/* What user space may change while we run, through the mapping of .data. */
volatile __u64 period_ns = 1;
volatile __u32 exclude_self;

/*
 * Process images that user space has heard of: seen[hash(pid)] holds the pid and the low half of
 * its exec_id. A collision costs a wake-up too many or an exit record too few, never a wrong
 * answer.
 */
volatile __u64 seen[SAMPLER_SEEN];
/* And the count of executable pages that they had when the reader was last woken for them. */
volatile __u64 seen_pages[SAMPLER_SEEN];

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024); /* set before loading, by CPUs and frequency */
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");

/* Mapped by user space, for which reading it costs no system call and takes no capability. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before loading: possible CPUs */
	__type(key, __u32);
	__type(value, struct sampler_stats);
} stats SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLER_FILTER);
	__type(key, __u32);
	__type(value, __u8);
} filter_pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLER_FILTER);
	__type(key, char[SAMPLER_COMM]);
	__type(value, __u8);
} filter_comms SEC(".maps");

/* The walk's state: the frame whose pc was recorded last. */
struct walk {
	__u64 cfa; /* everything below belongs to frames already walked; the stack pointer at first */
	__u64 fp;
	__u32 compat;
	__u32 outcome;
	__u32 n;     /* frames in the record, kernel's included */
	__u32 limit; /* of n */
	__u64 window_start, window_bytes;
	__u64 window[WINDOW_WORDS];
};

struct scratch {
	__u32 busy;
	__u32 windows; /* reads of user stack memory for this sample */
	struct walk walk;
	arch_regs regs;
	struct sampler_sample sample;
	__u64 frames[SAMPLER_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct scratch *scratch_of_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

static __always_inline struct sampler_stats *stats_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&stats, &cpu);
}

/* ------------------------------------------------------------------------------------------------------------------
 * Who
 */

static __always_inline __u64 task_start(struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	if (bpf_core_field_exists(leader->start_boottime))
		return BPF_CORE_READ(leader, start_boottime);
	return BPF_CORE_READ((struct task_struct___5_4 *)leader, real_start_time);
}

static __always_inline __u64 task_exec_id(struct task_struct *task)
{
	if (bpf_core_field_size(task->self_exec_id) == 8)
		return BPF_CORE_READ(task, self_exec_id);
	return BPF_CORE_READ((struct task_struct___5_6 *)task, self_exec_id);
}

static __always_inline __u32 seen_slot(__u32 pid)
{
	return (pid * 0x9e3779b1u) >> 20 & (SAMPLER_SEEN - 1);
}

static __always_inline __u64 seen_tag(__u32 pid, __u64 exec_id)
{
	return (__u64)pid << 32 | (__u32)exec_id;
}

/* True when the sample is wanted; otherwise counts why not. */
static __always_inline int wanted(struct sampler_stats *st, struct task_struct *task, __u32 pid)
{
	if (pid == 0) {
		st->stat[SAMPLER_STAT_FILTERED_IDLE]++;
		return 0;
	}
	if (exclude_self && pid == self_pid) {
		st->stat[SAMPLER_STAT_FILTERED_SELF]++;
		return 0;
	}
	if (with_pid_filter && !bpf_map_lookup_elem(&filter_pids, &pid)) {
		st->stat[SAMPLER_STAT_FILTERED_PID]++;
		return 0;
	}
	if (with_comm_filter) {
		struct task_struct *leader = BPF_CORE_READ(task, group_leader);
		char comm[SAMPLER_COMM] = {};

		bpf_probe_read_kernel_str(comm, sizeof(comm), &leader->comm);
		if (!bpf_map_lookup_elem(&filter_comms, comm)) {
			st->stat[SAMPLER_STAT_FILTERED_COMM]++;
			return 0;
		}
	}
	return 1;
}

/* ------------------------------------------------------------------------------------------------------------------
 * The walk
 */

/* The window from `addr` to the end of its page: 0 or -1. */
static __always_inline int window_fill(struct scratch *s, __u64 addr)
{
	__u32 n = WINDOW_BYTES - (addr & (WINDOW_BYTES - 1));

	s->windows++;
	s->walk.window_bytes = 0;
	if (bpf_probe_read_user(s->walk.window, n, (void *)addr))
		return -1;
	s->walk.window_start = addr;
	s->walk.window_bytes = n;
	return 0;
}

/* The word at an address that is a multiple of 8: 0 or -1. */
static __always_inline int word(struct scratch *s, __u64 addr, __u64 *ret)
{
	__u64 at = addr - s->walk.window_start;

	if (at >= s->walk.window_bytes) {
		if (window_fill(s, addr))
			return -1;
		at = 0;
	}
	at >>= 3;
	if (at >= WINDOW_WORDS)
		return -1;
	*ret = s->walk.window[at];
	return 0;
}

/*
 * The two members of the frame record at `fp`: its caller's frame pointer, and the return address.
 */
static __always_inline int frame_record(struct scratch *s, __u64 fp, __u64 *ret_fp, __u64 *ret_ra)
{
	if (!s->walk.compat)
		return word(s, fp, ret_fp) || word(s, fp + 8, ret_ra);

	__u32 record[2];

	s->windows++;
	if (bpf_probe_read_user(record, sizeof(record), (void *)fp))
		return 1;
	*ret_fp = record[0];
	*ret_ra = record[1];
	return 0;
}

static __always_inline int is_code(__u64 addr)
{
	return addr >= LOWEST_CODE && addr <= ARCH_ADDRESS_MAX;
}

/* Records a frame; false when the record has no room. */
static __always_inline int record(struct scratch *s, __u64 pc)
{
	__u32 n = s->walk.n;

	if (n >= s->walk.limit || n >= SAMPLER_FRAMES) {
		s->walk.outcome = SAMPLER_OUTCOME_MAX_DEPTH;
		return 0;
	}
	s->frames[n] = pc;
	s->walk.n = n + 1;
	return 1;
}

/*
 * From the frame in the state to its caller, which it records. 0: go on; 1: ended, walk.outcome
 * says how. The argument is not used: a global function must have one that the loop varies, or
 * clang 14 takes the call out of the loop.
 */
__noinline int step(__u32 i)
{
	struct scratch *s = scratch_of_cpu();
	__u64 fp, next = 0, ra = 0;

	asm volatile("" : "+r"(i));
	if (!s)
		return 1;
	fp = s->walk.fp;
	if (fp == 0) {
		s->walk.outcome = SAMPLER_OUTCOME_ROOT;
		return 1;
	}
	if (fp & (s->walk.compat ? 3 : 7) || fp < s->walk.cfa || fp - s->walk.cfa > MAX_JUMP_BYTES) {
		s->walk.outcome = SAMPLER_OUTCOME_BAD_FP;
		return 1;
	}
	if (frame_record(s, fp, &next, &ra)) {
		s->walk.outcome = SAMPLER_OUTCOME_READ_FAULT;
		return 1;
	}
	ra = arch_code(ra);
	/* Above the record of the outermost function lies what the kernel put there: argc. */
	if (ra == 0 || (next == 0 && !is_code(ra))) {
		s->walk.outcome = SAMPLER_OUTCOME_ROOT;
		return 1;
	}
	if (!is_code(ra)) {
		s->walk.outcome = SAMPLER_OUTCOME_BAD_RA;
		return 1;
	}
	s->walk.cfa = fp + (s->walk.compat ? 8 : 16);
	s->walk.fp = next;
	return !record(s, ra);
}

/*
 * The leaf in its prologue or at its `ret`: its caller is known by the stack pointer, and the frame
 * pointer is his.
 */
static __always_inline int leaf(struct scratch *s, __u64 pc)
{
	__u8 code[ARCH_CODE_BYTES];
	enum arch_leaf rule;
	__u64 ra = 0;

	if (s->walk.compat || bpf_probe_read_user(code, sizeof(code), (void *)(pc - ARCH_CODE_BEFORE)))
		return 1;
	rule = arch_leaf_rule(code);
	if (rule == ARCH_LEAF_FRAME || s->walk.cfa & 7)
		return 1;
	if (rule == ARCH_LEAF_PAST_SP)
		s->walk.cfa += 8;
	if (word(s, s->walk.cfa, &ra)) {
		s->walk.outcome = SAMPLER_OUTCOME_READ_FAULT;
		return 0;
	}
	ra = arch_code(ra);
	if (!is_code(ra)) {
		s->walk.outcome = SAMPLER_OUTCOME_BAD_RA;
		return 0;
	}
	s->walk.cfa += 8;
	return record(s, ra);
}

/*
 * The context can be read a member at a time only, by loads that clang has not moved into a common
 * place.
 */
static __always_inline void interrupted_regs(arch_regs *regs, struct bpf_perf_event_data *ctx)
{
	const volatile bpf_user_pt_regs_t *from = &ctx->regs;

	arch_copy_regs(regs, from);
}

/* User registers of a task that was interrupted in the kernel, saved where it entered: 0 or not. */
static __always_inline int kernel_entry_regs(arch_regs *regs, struct task_struct *task)
{
	void *saved;

	/* 5.15 has the helper; before it, they stand at the top of the kernel stack. */
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		saved = (void *)bpf_task_pt_regs((void *)bpf_get_current_task_btf());
	else
		saved = BPF_CORE_READ(task, stack) + ARCH_KERNEL_STACK - sizeof(*regs);
	return bpf_probe_read_kernel(regs, sizeof(*regs), saved) || !arch_user(regs);
}

/*
 * Puts user registers into the walk's state: false with an outcome when there is nothing to walk.
 */
static __always_inline int walk_start(struct scratch *s, struct bpf_perf_event_data *ctx,
				      struct task_struct *task, __u64 *ret_pc)
{
	s->walk.window_bytes = 0;
	if (!BPF_CORE_READ(task, mm)) {
		s->walk.outcome = SAMPLER_OUTCOME_EXITING;
		return 0;
	}
	/* The registers are the old image's, the memory perhaps the new one's. */
	if (bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(task, in_execve)) {
		s->walk.outcome = SAMPLER_OUTCOME_EXEC;
		return 0;
	}
	if (arch_user(&ctx->regs)) {
		s->sample.head.flags |= SAMPLER_USER_MODE;
		interrupted_regs(&s->regs, ctx);
	} else if (kernel_entry_regs(&s->regs, task)) {
		s->walk.outcome = SAMPLER_OUTCOME_NO_REGS;
		return 0;
	}
	*ret_pc = arch_pc(&s->regs);
	s->walk.cfa = arch_sp(&s->regs);
	s->walk.fp = arch_fp(&s->regs);
	s->walk.compat = arch_compat(&s->regs);
	if (s->walk.compat)
		s->sample.head.flags |= SAMPLER_COMPAT;
	/*
	 * io_uring's and vhost's kernel threads have a memory of their own, but were never in user
	 * code.
	 */
	if (!is_code(*ret_pc)) {
		s->walk.outcome = SAMPLER_OUTCOME_NO_REGS;
		return 0;
	}
	return 1;
}

static __always_inline void walk_user(struct scratch *s, struct bpf_perf_event_data *ctx,
				      struct task_struct *task)
{
	__u64 pc = 0;

	s->walk.outcome = SAMPLER_OUTCOME_NONE;
	if (!with_user_stack || s->sample.head.flags & SAMPLER_KTHREAD)
		return;
	s->walk.limit = s->walk.n + max_depth;
	if (!walk_start(s, ctx, task, &pc) || !record(s, pc))
		return;
	if (s->sample.head.flags & SAMPLER_USER_MODE && !leaf(s, pc))
		return;
	for (__u32 i = 0; i < SAMPLER_USER_FRAMES; i++)
		if (step(i))
			return;
	s->walk.outcome = SAMPLER_OUTCOME_MAX_DEPTH;
}

/* ------------------------------------------------------------------------------------------------------------------
 * The record
 */

static __always_inline void fill_head(struct sampler_head *h, struct task_struct *task, __u16 kind)
{
	__u64 id = bpf_get_current_pid_tgid();

	h->kind = kind;
	h->flags = 0;
	h->pid = id >> 32;
	h->tid = (__u32)id;
	h->start_ns = task_start(task);
	h->exec_id = task_exec_id(task);
	h->time_ns = bpf_ktime_get_ns();
}

static __always_inline void fill_sample(struct scratch *s, struct task_struct *task)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct sampler_sample *r = &s->sample;

	fill_head(&r->head, task, SAMPLER_SAMPLE);
	if (BPF_CORE_READ(task, flags) & TASK_KTHREAD)
		r->head.flags |= SAMPLER_KTHREAD;
	r->cgroup_id = bpf_get_current_cgroup_id();
	r->exec_pages = BPF_CORE_READ(task, mm, exec_vm);
	r->period_ns = period_ns;
	r->cpu = bpf_get_smp_processor_id();
	r->ppid = BPF_CORE_READ(leader, real_parent, tgid);
	bpf_get_current_comm(r->comm, sizeof(r->comm));
	bpf_probe_read_kernel(r->leader_comm, sizeof(r->leader_comm), &leader->comm);
}

static __always_inline void kernel_stack(struct scratch *s, struct bpf_perf_event_data *ctx)
{
	long n;

	s->sample.n_kernel = 0;
	if (!with_kernel_stack)
		return;
	n = bpf_get_stack(ctx, s->frames, SAMPLER_KERNEL_FRAMES * sizeof(__u64), 0);
	if (n <= 0)
		return;
	s->sample.n_kernel = (__u64)n / sizeof(__u64);
	if (s->sample.n_kernel >= SAMPLER_KERNEL_FRAMES)
		s->sample.head.flags |= SAMPLER_KERNEL_CUT;
}

static __always_inline void emit(struct scratch *s, struct sampler_stats *st)
{
	__u32 slot = seen_slot(s->sample.head.pid), n = s->walk.n;
	__u64 tag = seen_tag(s->sample.head.pid, s->sample.head.exec_id);
	__u64 size, flags = BPF_RB_NO_WAKEUP;
	int is_new = seen[slot] != tag || seen_pages[slot] != s->sample.exec_pages;

	if (n > SAMPLER_FRAMES)
		n = SAMPLER_FRAMES;
	size = sizeof(s->sample) + n * sizeof(__u64);
	s->sample.head.size = size;
	s->sample.n_user = n - s->sample.n_kernel;
	s->sample.outcome = s->walk.outcome;
	if (is_new || bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&samples, &s->sample, size, flags)) {
		st->stat[SAMPLER_STAT_RING_FULL]++;
		st->stat[SAMPLER_STAT_LOST_NS] += s->sample.period_ns;
		return;
	}
	if (is_new) {
		seen[slot] = tag;
		seen_pages[slot] = s->sample.exec_pages;
		st->stat[SAMPLER_STAT_WAKEUPS]++;
	}
	st->stat[SAMPLER_STAT_EMITTED]++;
	st->stat[SAMPLER_STAT_KERNEL_FRAMES] += s->sample.n_kernel;
	st->stat[SAMPLER_STAT_USER_FRAMES] += s->sample.n_user;
	st->stat[SAMPLER_STAT_WINDOWS] += s->windows;
	if (s->walk.outcome < SAMPLER_OUTCOME_N)
		st->outcome[s->walk.outcome]++;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct sampler_stats *st = stats_of_cpu();
	struct scratch *s;

	/* The map has an element for each possible CPU. */
	if (!st)
		return 0;
	st->stat[SAMPLER_STAT_ENTRIES]++;
	if (!wanted(st, task, pid))
		return 0;
	s = scratch_of_cpu();
	if (!s) {
		st->stat[SAMPLER_STAT_NO_SCRATCH]++;
		st->stat[SAMPLER_STAT_LOST_NS] += period_ns;
		return 0;
	}
	/* A second kind of event may interrupt the first on the same CPU. */
	if (s->busy) {
		st->stat[SAMPLER_STAT_BUSY]++;
		st->stat[SAMPLER_STAT_LOST_NS] += period_ns;
		return 0;
	}
	s->busy = 1;
	s->windows = 0;
	fill_sample(s, task);
	kernel_stack(s, ctx);
	s->walk.n = s->sample.n_kernel;
	walk_user(s, ctx, task);
	emit(s, st);
	s->busy = 0;
	return 0;
}

/* ------------------------------------------------------------------------------------------------------------------
 * Processes that come and go
 */

static __always_inline void event(struct task_struct *task, __u16 kind)
{
	struct sampler_stats *st = stats_of_cpu();
	struct sampler_event e = { .head.size = sizeof(e) };

	fill_head(&e.head, task, kind);
	if (seen[seen_slot(e.head.pid)] >> 32 != e.head.pid || !st)
		return;
	if (bpf_ringbuf_output(&events, &e, sizeof(e), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&st->stat[SAMPLER_STAT_EVENTS_FULL], 1);
	else
		__sync_fetch_and_add(&st->stat[SAMPLER_STAT_EVENTS], 1);
}

static __always_inline void on_exit(struct task_struct *task)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	/* `live` has been lowered already. Two threads that end at once may both see 0. */
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return;
	event(task, SAMPLER_EXIT);
	if (with_pid_filter && follow_children)
		bpf_map_delete_elem(&filter_pids, &pid);
}

static __always_inline void on_fork(struct task_struct *parent, struct task_struct *child)
{
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	__u8 one = 1;

	if (from != to && bpf_map_lookup_elem(&filter_pids, &from))
		bpf_map_update_elem(&filter_pids, &to, &one, BPF_ANY);
}

/*
 * Each once as a typed tracepoint, once as a raw one for kernels that refuse the former (a policy,
 * no trampolines): user space loads either. Both get the tracepoint's arguments as words.
 */
SEC("tp_btf/sched_process_exec")
int process_exec(__u64 *ctx)
{
	event((void *)ctx[0], SAMPLER_EXEC);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int process_exec_raw(__u64 *ctx)
{
	event((void *)ctx[0], SAMPLER_EXEC);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int process_exit(__u64 *ctx)
{
	on_exit((void *)ctx[0]);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int process_exit_raw(__u64 *ctx)
{
	on_exit((void *)ctx[0]);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int process_fork(__u64 *ctx)
{
	on_fork((void *)ctx[0], (void *)ctx[1]);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int process_fork_raw(__u64 *ctx)
{
	on_fork((void *)ctx[0], (void *)ctx[1]);
	return 0;
}
