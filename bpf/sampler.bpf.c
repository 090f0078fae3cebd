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
 * when it cannot.
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
#include "bpf/walk.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum {
	PAGE_BYTES = 4096,
	/* Samples a second, of up to 16 KiB each: as many as there are of a busy CPU, between these. */
	DEFERRED_OF_PROCESS = 64,
	DEFERRED_OF_CPU = 128,
	DEFERRED_MOST = 1024,
};
#define SECOND_NS 1000000000ull

/* Switches that the verifier may use to drop code: set before loading, fixed from then on. */
const volatile __u32 self_pid;
const volatile __u32 max_depth = SAMPLER_USER_FRAMES;
const volatile __u32 kernel_frames = SAMPLER_KERNEL_FRAMES; /* that the kernel gives, at most */
const volatile __u8 with_kernel_stack = 1;
const volatile __u8 with_user_stack = 1;
const volatile __u8 with_tables = 1; /* otherwise by frame pointers alone */
const volatile __u8 with_pid_filter;
const volatile __u8 with_comm_filter;
const volatile __u64 wakeup_bytes = ~0ull; /* waiting in the ring, beyond which the reader is woken */

/* What user space may change while we run, through the mapping of .data. */
volatile __u64 period_ns = 1;
volatile __u32 exclude_self;
volatile __u64 recycled; /* see tables.h */

/*
 * Process images that user space has heard of: seen[hash(pid)] holds the pid and the low half of
 * its exec_id. A collision costs a wake-up too many or an exit record too few, never a wrong
 * answer.
 */
volatile __u64 seen[SAMPLER_SEEN];
/* And the count of executable pages that they had when the reader was last woken for them. */
volatile __u64 seen_pages[SAMPLER_SEEN];
/* And how many samples were deferred for them in the second that began at deferred_ns. */
volatile __u32 deferred_pid[SAMPLER_SEEN], deferred_n[SAMPLER_SEEN];
volatile __u64 deferred_ns[SAMPLER_SEEN];
/* And whether their last sample was (is_in_doubt). */
volatile __u8 in_doubt[SAMPLER_SEEN];

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024); /* set before loading, by CPUs and frequency */
} samples SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024); /* set before loading */
} raws SEC(".maps");

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
	__type(value, __u64); /* when it was started; 0: user space named it */
} filter_pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLER_FILTER);
	__type(key, char[SAMPLER_COMM]);
	__type(value, __u8);
} filter_comms SEC(".maps");

/* What one sample needs, too much for a stack. */
struct scratch {
	__u32 busy;
	__u32 n_deferred; /* in the second that began at defer_ns */
	__u64 defer_ns;
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

/* A deferred sample while it is made. */
struct raw {
	struct sampler_raw head;
	__u8 stack[SAMPLER_RAW_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct raw);
} raw_scratches SEC(".maps");

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

/* -------------------------------------------------------------------------------------------------
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

/*
 * Named by user space, or a child of such. One that has the pid of a child which ended unnoticed is
 * not: kernels may run no program in the context of some task, and a child may be freed in it.
 */
static __always_inline int is_followed(struct task_struct *task, __u32 pid)
{
	__u64 *start = bpf_map_lookup_elem(&filter_pids, &pid);

	return start && (*start == 0 || *start == task_start(task));
}

/*
 * The process that loaded us, and those that it and its children forked: broker, forkers, workers. A
 * fork has its parent's exec_id and an exec makes it one more, so a command that the process started
 * for somebody, as `decima record` does, is none of them.
 */
static __always_inline int is_self(struct task_struct *task, __u32 pid)
{
	struct task_struct *of = BPF_CORE_READ(task, group_leader);
	__u64 exec_id = task_exec_id(of);

	if (pid == self_pid)
		return 1;
	STEP_UNROLL
	for (int i = 0; i < 2; i++) {
		of = BPF_CORE_READ(of, real_parent, group_leader);
		if (task_exec_id(of) != exec_id)
			return 0;
		if ((__u32)BPF_CORE_READ(of, tgid) == self_pid)
			return 1;
	}
	return 0;
}

/* True when the sample is wanted; otherwise counts why not. */
static __always_inline int wanted(struct sampler_stats *st, struct task_struct *task, __u32 pid)
{
	if (pid == 0) {
		st->stat[SAMPLER_STAT_FILTERED_IDLE]++;
		return 0;
	}
	if (exclude_self && is_self(task, pid)) {
		st->stat[SAMPLER_STAT_FILTERED_SELF]++;
		return 0;
	}
	if (with_pid_filter && !is_followed(task, pid)) {
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

/* -------------------------------------------------------------------------------------------------
 * The walk
 */

/* Records the frame in the state; false when the record has no room. */
static __always_inline int record(struct scratch *s, __u64 pc)
{
	__u32 n = s->walk.n;

	if (n >= s->walk.limit || n >= SAMPLER_FRAMES) {
		s->walk.step.outcome = SAMPLER_OUTCOME_MAX_DEPTH;
		return 0;
	}
	s->frames[n] = pc;
	s->walk.n = n + 1;
	return 1;
}

/* The innermost frame is one wherever it lies; another only in a mapping. */
static __always_inline int table_step(struct scratch *s)
{
	struct step *step = &s->walk.step;
	int leaf = s->walk.n == s->sample.n_kernel, outside = step_here(step), end;
	__u32 n = s->walk.n;

	if (outside && !leaf)
		return 1;
	if (!record(s, step->pc + (!leaf && step->interrupted)))
		return 1;
	end = outside || step_to_caller(step);
	if (step->trampoline && n < SAMPLER_FRAMES)
		s->frames[n]++;
	return end;
}

/*
 * Records the frame in the state and goes to its caller. 0: go on; 1: ended, the outcome says how.
 * The argument is not used: a global function must have one that the loop varies, or clang 14 takes
 * the call out of the loop.
 */
__noinline int step(__u32 i)
{
	struct scratch *s = scratch_of_cpu();

	asm volatile("" : "+r"(i));
	if (!s)
		return 1;
	if (with_tables && !s->walk.compat)
		return table_step(s);
	if (!record(s, s->walk.step.pc))
		return 1;
	return frame_pointer_step(&s->walk);
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
				      struct task_struct *task)
{
	if (!BPF_CORE_READ(task, mm)) {
		s->walk.step.outcome = SAMPLER_OUTCOME_EXITING;
		return 0;
	}
	/* The registers are the old image's, the memory perhaps the new one's. */
	if (bpf_core_field_exists(task->in_execve) && BPF_CORE_READ_BITFIELD_PROBED(task, in_execve)) {
		s->walk.step.outcome = SAMPLER_OUTCOME_EXEC;
		return 0;
	}
	if (arch_user(&ctx->regs)) {
		s->sample.head.flags |= SAMPLER_USER_MODE;
		interrupted_regs(&s->regs, ctx);
	} else if (kernel_entry_regs(&s->regs, task)) {
		s->walk.step.outcome = SAMPLER_OUTCOME_NO_REGS;
		return 0;
	}
	s->walk.compat = arch_compat(&s->regs);
	if (s->walk.compat)
		s->sample.head.flags |= SAMPLER_COMPAT;
	walk_begin(&s->walk, &s->regs);
	/*
	 * io_uring's and vhost's kernel threads have a memory of their own, but were never in user
	 * code.
	 */
	if (!step_is_code(s->walk.step.pc)) {
		s->walk.step.outcome = SAMPLER_OUTCOME_NO_REGS;
		return 0;
	}
	return 1;
}

/*
 * A walk that may have read memory which was used anew meanwhile is worth nothing beyond the leaf.
 */
static __always_inline void walk_check(struct scratch *s, __u64 recycled_before)
{
	if (!with_tables || s->walk.compat || recycled == recycled_before)
		return;
	s->walk.step.outcome = SAMPLER_OUTCOME_CHANGED;
	if (s->walk.n > s->sample.n_kernel + 1)
		s->walk.n = s->sample.n_kernel + 1;
}

static __always_inline void walk_user(struct scratch *s, struct bpf_perf_event_data *ctx,
				      struct task_struct *task)
{
	__u64 before = recycled;

	s->walk.step.outcome = SAMPLER_OUTCOME_NONE;
	s->walk.exec_pages = 0;
	if (!with_user_stack || s->sample.head.flags & SAMPLER_KTHREAD)
		return;
	s->walk.limit = s->walk.n + max_depth;
	if (!walk_start(s, ctx, task))
		return;
	if (with_tables && !s->walk.compat && walk_open(&s->walk, &s->sample)) {
		s->walk.step.outcome = SAMPLER_OUTCOME_PENDING;
		record(s, s->walk.step.pc);
		return;
	}
	for (__u32 i = 0; i <= SAMPLER_USER_FRAMES; i++)
		if (step(i)) {
			walk_check(s, before);
			return;
		}
	s->walk.step.outcome = SAMPLER_OUTCOME_MAX_DEPTH;
}

/* -------------------------------------------------------------------------------------------------
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
	struct task_struct *parent = BPF_CORE_READ(leader, real_parent, group_leader);
	struct sampler_sample *r = &s->sample;

	fill_head(&r->head, task, SAMPLER_SAMPLE);
	if (BPF_CORE_READ(task, flags) & TASK_KTHREAD)
		r->head.flags |= SAMPLER_KTHREAD;
	r->cgroup_id = bpf_get_current_cgroup_id();
	r->exec_pages = BPF_CORE_READ(task, mm, exec_vm);
	r->period_ns = period_ns;
	r->cpu = bpf_get_smp_processor_id();
	r->ppid = BPF_CORE_READ(parent, tgid);
	if (task_exec_id(parent) == r->head.exec_id)
		r->head.flags |= SAMPLER_AS_FORKED;
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
	if (s->sample.n_kernel >= kernel_frames)
		s->sample.head.flags |= SAMPLER_KERNEL_CUT;
}

/* True when user space has not heard of this image, or of its mappings as they are now. */
static __always_inline int is_new(const struct sampler_sample *r)
{
	__u32 slot = seen_slot(r->head.pid);

	return seen[slot] != seen_tag(r->head.pid, r->head.exec_id) || seen_pages[slot] != r->exec_pages;
}

/* What a record that was handed over means for the counters. */
static __always_inline void emitted(struct scratch *s, struct sampler_stats *st, __u32 outcome)
{
	const struct sampler_sample *r = &s->sample;
	__u32 slot = seen_slot(r->head.pid);

	if (is_new(r)) {
		seen[slot] = seen_tag(r->head.pid, r->head.exec_id);
		seen_pages[slot] = r->exec_pages;
		st->stat[SAMPLER_STAT_WAKEUPS]++;
	}
	st->stat[SAMPLER_STAT_EMITTED]++;
	st->stat[SAMPLER_STAT_KERNEL_FRAMES] += r->n_kernel;
	st->stat[SAMPLER_STAT_USER_FRAMES] += r->n_user;
	st->stat[SAMPLER_STAT_WINDOWS] += s->walk.windows;
	if (outcome < SAMPLER_OUTCOME_N)
		st->outcome[outcome]++;
}

static __always_inline void emit(struct scratch *s, struct sampler_stats *st)
{
	__u64 size, flags = BPF_RB_NO_WAKEUP;
	__u32 n = s->walk.n;

	if (n > SAMPLER_FRAMES)
		n = SAMPLER_FRAMES;
	size = sizeof(s->sample) + n * sizeof(__u64);
	s->sample.head.size = size;
	s->sample.n_user = n - s->sample.n_kernel;
	s->sample.outcome = s->walk.step.outcome;
	if (is_new(&s->sample) || bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&samples, &s->sample, size, flags)) {
		st->stat[SAMPLER_STAT_RING_FULL]++;
		st->stat[SAMPLER_STAT_LOST_NS] += s->sample.period_ns;
		return;
	}
	emitted(s, st, s->walk.step.outcome);
}

/* -------------------------------------------------------------------------------------------------
 * Samples to be unwound later
 */

/* How many samples a second may be deferred of what may have `least` in any case. */
static __always_inline __u32 deferred_limit(__u32 least)
{
	__u64 hz = SECOND_NS / period_ns;

	return hz < least ? least : hz > DEFERRED_MOST ? DEFERRED_MOST : hz;
}

/* Within this second, the process and the CPU may have one more. */
static __always_inline int may_defer(struct scratch *s)
{
	__u32 pid = s->sample.head.pid, slot = seen_slot(pid);
	__u64 now = s->sample.head.time_ns;

	if (now - s->defer_ns >= SECOND_NS) {
		s->defer_ns = now;
		s->n_deferred = 0;
	}
	if (deferred_pid[slot] != pid || now - deferred_ns[slot] >= SECOND_NS) {
		deferred_pid[slot] = pid;
		deferred_ns[slot] = now;
		deferred_n[slot] = 0;
	}
	if (s->n_deferred >= deferred_limit(DEFERRED_OF_CPU) ||
	    deferred_n[slot] >= deferred_limit(DEFERRED_OF_PROCESS))
		return 0;
	s->n_deferred++;
	deferred_n[slot]++;
	return 1;
}

/*
 * The 1st, 2nd, 4th, 8th.. of its process within this second: what it waits for is looked for at
 * once, and what the next ones wait for too, but not for each. And where files take turns, the
 * first of a turn: all that follow are walked wrong until user space looks.
 */
static __always_inline int should_wake_reader(const struct scratch *s, int begins_doubt)
{
	__u32 n = deferred_n[seen_slot(s->sample.head.pid)];

	return (n & (n - 1)) == 0 || (begins_doubt && s->walk.exec_pages & TABLES_TURNS);
}

/* The stack from `sp` up, page by page until one is not there. */
static __always_inline __u32 copy_stack(struct raw *r, __u64 sp)
{
	__u32 at = 0, n = PAGE_BYTES - (sp & (PAGE_BYTES - 1));

	STEP_UNROLL
	for (int i = 0; i < SAMPLER_RAW_BYTES / PAGE_BYTES; i++) {
		if (bpf_probe_read_user(r->stack + at, n, (void *)(sp + at)))
			break;
		at += n;
		n = PAGE_BYTES;
	}
	return at;
}

/*
 * Does the walk want what user space knows? Without tables; or by mappings that were listed before the
 * last change: what was mapped then at an address need not be there now, nor the other way round.
 * Compilers at run time make as many pages executable as they took that from, so that their count
 * alone does not tell; nor where files take turns, whose tables are wrong for one another.
 */
static __always_inline int is_in_doubt(const struct scratch *s)
{
	__u64 pages = s->walk.exec_pages & ~TABLES_TURNS;
	__u32 outcome = s->walk.step.outcome;

	if (outcome == SAMPLER_OUTCOME_PENDING || outcome == SAMPLER_OUTCOME_NO_MAP)
		return 1;
	if (s->walk.exec_pages & TABLES_TURNS && outcome != SAMPLER_OUTCOME_ROOT)
		return 1;
	return pages && pages != s->sample.exec_pages;
}

/* True when the sample was handed over to be unwound later. */
static __always_inline int defer(struct scratch *s, struct sampler_stats *st)
{
	struct step *step = &s->walk.step;
	__u64 flags = BPF_RB_NO_WAKEUP;
	__u32 zero = 0, n = 0, slot = seen_slot(s->sample.head.pid);
	int doubt = is_in_doubt(s), begins_doubt = doubt && !in_doubt[slot];
	struct raw *r;

	in_doubt[slot] = doubt; /* other CPUs may write there */
	if (!doubt)
		return 0;
	r = may_defer(s) ? bpf_map_lookup_elem(&raw_scratches, &zero) : 0;
	if (r) {
		r->head.start = arch_sp(&s->regs) - SAMPLER_RED_BYTES;
		n = copy_stack(r, r->head.start);
		if (n <= SAMPLER_RED_BYTES) {
			r->head.start += SAMPLER_RED_BYTES;
			n = copy_stack(r, r->head.start);
		}
	}
	if (n == 0 || n > SAMPLER_RAW_BYTES)
		goto no;
	s->sample.n_user = 0;
	s->sample.outcome = SAMPLER_OUTCOME_DEFERRED;
	s->sample.head.kind = SAMPLER_RAW;
	s->sample.head.size = sizeof(r->head) + n;
	r->head.sample = s->sample;
	__builtin_memcpy(r->head.kernel, s->frames, sizeof(r->head.kernel));
	arch_dwarf_regs(r->head.regs, &s->regs);
	r->head.pc = arch_pc(&s->regs);
	r->head.has_code = step_code(step, r->head.pc - ARCH_CODE_BEFORE, r->head.code) == 0;
	r->head.n_bytes = n;
	s->sample.head.kind = SAMPLER_SAMPLE;
	if (is_new(&s->sample) || should_wake_reader(s, begins_doubt) ||
	    bpf_ringbuf_query(&raws, BPF_RB_AVAIL_DATA) > bpf_ringbuf_query(&raws, BPF_RB_RING_SIZE) / 2)
		flags = BPF_RB_FORCE_WAKEUP;
	if (bpf_ringbuf_output(&raws, r, sizeof(r->head) + n, flags))
		goto no;
	emitted(s, st, SAMPLER_OUTCOME_DEFERRED);
	return 1;
no:
	if (step->outcome == SAMPLER_OUTCOME_PENDING)
		step->outcome = SAMPLER_OUTCOME_DEFERRED_LIMIT;
	return 0;
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
	s->walk.windows = 0;
	fill_sample(s, task);
	kernel_stack(s, ctx);
	s->walk.n = s->sample.n_kernel;
	walk_user(s, ctx, task);
	if (!with_tables || !defer(s, st))
		emit(s, st);
	/* One more reading of the clock, some 30 ns, tells what sampling costs here and today. */
	st->stat[SAMPLER_STAT_RUN_NS] += bpf_ktime_get_ns() - s->sample.head.time_ns;
	s->busy = 0;
	return 0;
}

/* -------------------------------------------------------------------------------------------------
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
	/* `live` has been lowered already. Two threads that end at once may both see 0. */
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return;
	event(task, SAMPLER_EXIT);
}

static __always_inline void on_fork(struct task_struct *parent, struct task_struct *child)
{
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	struct sampler_stats *st = stats_of_cpu();
	__u64 start = task_start(child);

	if (from == to || !is_followed(parent, from))
		return;
	if (bpf_map_update_elem(&filter_pids, &to, &start, BPF_ANY) && st)
		__sync_fetch_and_add(&st->stat[SAMPLER_STAT_FOLLOWED_FULL], 1);
}

/*
 * Followed to the very end: what a process spends on giving back its memory comes behind its exit
 * event (from Linux 6.16 on all of it). Another process may have the pid by now.
 */
static __always_inline void on_free(struct task_struct *task)
{
	__u32 pid = BPF_CORE_READ(task, tgid);

	if ((__u32)BPF_CORE_READ(task, pid) == pid && is_followed(task, pid))
		bpf_map_delete_elem(&filter_pids, &pid);
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

SEC("tp_btf/sched_process_free")
int process_free(__u64 *ctx)
{
	on_free((void *)ctx[0]);
	return 0;
}

SEC("raw_tp/sched_process_free")
int process_free_raw(__u64 *ctx)
{
	on_free((void *)ctx[0]);
	return 0;
}
