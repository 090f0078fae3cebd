/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bpf/sampler.h - what the sampler's BPF programs and plugins/input/ebpf say to each other
 *
 * Two ring buffers carry records, each one `struct sampler_head` and what its kind says; one
 * memory-mapped array carries the counters, an element per CPU. Fields have fixed widths and no
 * holes; tests/unit/test_ebpf_record.c pins the offsets. Both sides are built from this file and
 * always travel together, so there is no version.
 *
 * Includers bring __u16, __u32, __u64 (linux/types.h).
 */
#ifndef DECIMA_BPF_SAMPLER_H
#define DECIMA_BPF_SAMPLER_H

enum {
	SAMPLER_COMM = 16,	     /* TASK_COMM_LEN */
	SAMPLER_KERNEL_FRAMES = 127, /* kernel.perf_event_max_stack's default: more needs a sysctl */
	SAMPLER_USER_FRAMES = 1000,  /* upper bound of max_depth */
	SAMPLER_FRAMES = SAMPLER_KERNEL_FRAMES + SAMPLER_USER_FRAMES,
	SAMPLER_SEEN = 4096, /* slots of the table of processes known to user space; a power of two */
	SAMPLER_FILTER = 1024,	   /* pids or comms that a filter may name */
	SAMPLER_FOLLOWED = 16384,  /* processes at once when children are followed */
	SAMPLER_REGS = 16,	   /* registers of a deferred sample, by DWARF number */
	SAMPLER_RAW_BYTES = 16384, /* of stack in a deferred sample, at most */
	SAMPLER_RED_BYTES = 128, /* below the stack pointer, where what was just popped still lies */
	SAMPLER_CODE_BYTES = 8,	 /* around the program counter of a deferred sample */
};

/*
 * Kinds of records. Each kind of sample has a ring of its own, so that a burst of them never hides
 * an exec, and large ones never displace small ones.
 */
enum sampler_kind {
	SAMPLER_SAMPLE = 1, /* struct sampler_sample, frames */
	SAMPLER_RAW = 4,    /* struct sampler_raw, stack: to be unwound in user space */
	SAMPLER_EXEC = 2,   /* struct sampler_event: the process has a new image */
	SAMPLER_EXIT = 3,   /* struct sampler_event: its last thread ends */
};

enum sampler_flag {
	SAMPLER_KTHREAD = 1,	/* a kernel thread: no user stack exists */
	SAMPLER_COMPAT = 2,	/* 32-bit code: return addresses are 4 bytes wide */
	SAMPLER_USER_MODE = 4,	/* the interrupted instruction was user code */
	SAMPLER_KERNEL_CUT = 8, /* the kernel stack was as deep as it may be, or deeper */
	SAMPLER_AS_FORKED = 16, /* its exec_id is that of `ppid`: a child that runs what it was forked from */
};

/*
 * How the user stack ended: exactly one for each emitted sample. X(NAME, metric name, text of the
 * truncation note). A NULL note means that nothing is missing.
 */
#define SAMPLER_OUTCOMES(X)                                                                            \
	X(NONE, "none", NULL) /* not asked for, or a kernel thread */                                  \
	X(ROOT, "root", NULL) /* the outermost frame, by rule, or its caller's pc and fp are both 0 */ \
	X(MAX_DEPTH, "max_depth", "deeper than max_depth")                                             \
	X(READ_FAULT, "read_fault", "stack memory not readable")                                       \
	X(BAD_FP, "bad_fp", "no frame pointer")                                                        \
	X(BAD_RA, "bad_ra", "return address is not code")                                              \
	X(NO_REGS, "no_regs", "no user registers")                                                     \
	X(EXEC, "exec", "in execve")                                                                   \
	X(EXITING, "exiting", "memory already freed at exit")                                          \
	X(DEFERRED, "deferred", "tables not built yet") /* handed over as SAMPLER_RAW */               \
	X(DEFERRED_LIMIT, "deferred_limit", "tables not built yet")                                    \
	X(PENDING, "pending", "tables not built yet") /* of a walk only: becomes one of the above */   \
	X(NO_MAP, "no_map", "return address in no mapping")                                            \
	X(NO_RULE, "no_rule", "no unwind rule for this code")                                          \
	X(UNSUPPORTED, "unsupported", "unwind rule of an unsupported kind")                            \
	X(REGISTER, "register", "unwind rule needs a register that is not known")                      \
	X(FP_LOST, "fp_lost", "frame pointer not restored")                                            \
	X(BAD_CFA, "bad_cfa", "frame address does not grow")                                           \
	X(GO_SWITCH, "go_switch", "Go runtime switched stacks")                                        \
	X(GO_CALLBACK, "go_callback", "called from Go through cgo")                                    \
	X(OVER_BUDGET, "over_budget", "no memory for unwind tables")                                   \
	X(CHANGED, "changed", "tables changed meanwhile")                                              \
	X(COPY_END, "copy_end", "stack deeper than its copy") /* of deferred samples only */           \
	X(GONE, "gone", "process ended before it was known")

enum sampler_outcome {
#define SAMPLER_X(name, metric, note) SAMPLER_OUTCOME_##name,
	SAMPLER_OUTCOMES(SAMPLER_X)
#undef SAMPLER_X
		SAMPLER_OUTCOME_N
};

/*
 * Counters of the programs. The first group accounts for every run of the sampling program: ENTRIES
 * = EMITTED + all FILTERED_* + BUSY + NO_SCRATCH + RING_FULL, on each CPU, at any moment between
 * two runs. Runs that never were are found from outside (plugins/input/ebpf/balance.h).
 */
#define SAMPLER_STATS(X)                                                                           \
	X(ENTRIES, "entries", "runs of the sampling program")                                      \
	X(EMITTED, "emitted", "samples handed to user space")                                      \
	X(FILTERED_IDLE, "filtered_idle", "samples of the idle task, left out")                    \
	X(FILTERED_SELF, "filtered_self", "samples of Decima itself, left out as configured")      \
	X(FILTERED_PID, "filtered_pid", "samples of processes that filter.pids does not name")     \
	X(FILTERED_COMM, "filtered_comm", "samples of processes that filter.comms does not name")  \
	X(BUSY, "busy", "samples lost: one was being taken on that CPU")                           \
	X(NO_SCRATCH, "no_scratch", "samples lost: no scratch memory")                             \
	X(RING_FULL, "ring_full", "samples lost: the ring buffer was full")                        \
	X(LOST_NS, "lost_ns", "CPU time of the samples lost, in nanoseconds")                      \
	X(EVENTS, "events", "exec and exit records handed to user space")                          \
	X(EVENTS_FULL, "events_full", "exec and exit records lost: the ring buffer was full")      \
	X(FOLLOWED_FULL, "followed_full", "processes left out: too many are followed already")     \
	X(KERNEL_FRAMES, "kernel_frames", "kernel frames in emitted samples")                      \
	X(USER_FRAMES, "user_frames", "user frames in emitted samples")                            \
	X(WINDOWS, "stack_reads", "reads of user stack memory")                                    \
	X(WAKEUPS, "wakeups", "samples of new processes or mappings, which wake the reader")       \
	X(RUN_NS, "run_ns", "time that taking samples took in the program, in nanoseconds")

enum sampler_stat {
#define SAMPLER_X(name, metric, help) SAMPLER_STAT_##name,
	SAMPLER_STATS(SAMPLER_X)
#undef SAMPLER_X
		SAMPLER_STAT_N
};

/* One element of the map `stats`, for one CPU, which alone writes it. A multiple of 64 bytes. */
struct sampler_stats {
	__u64 stat[SAMPLER_STAT_N];
	__u64 outcome[SAMPLER_OUTCOME_N]; /* sums up to stat[SAMPLER_STAT_EMITTED] */
	__u64 reserved[64 - SAMPLER_STAT_N - SAMPLER_OUTCOME_N];
};

/* The start of every record. */
struct sampler_head {
	__u32 size;  /* of the whole record in bytes */
	__u16 kind;  /* enum sampler_kind */
	__u16 flags; /* enum sampler_flag */
	__u32 pid;   /* thread group, as the root pid namespace counts */
	__u32 tid;
	__u64 start_ns; /* CLOCK_BOOTTIME at which the thread group started */
	__u64 exec_id;	/* grows with each exec of the process; a child begins with its parent's */
	__u64 time_ns;	/* CLOCK_MONOTONIC */
};

struct sampler_event {
	struct sampler_head head;
};

struct sampler_sample {
	struct sampler_head head;
	__u64 cgroup_id; /* in the unified hierarchy; 1 where that is not in use */
	__u64 exec_pages; /* pages mapped executable: a change tells of dlopen(), dlclose() or new JIT code */
	__u64 period_ns; /* CPU time that this sample stands for */
	__u32 cpu;
	__u16 n_kernel, n_user;	 /* frames: kernel's first, then the user's, each leaf first */
	__u32 outcome;		 /* enum sampler_outcome */
	__u32 ppid;		 /* the thread group that forked this one, or adopted it */
	char comm[SAMPLER_COMM]; /* of the thread; as the kernel has it, NUL-padded */
	char leader_comm[SAMPLER_COMM]; /* of the thread group's leader */
					/*
	 * __u64 frames[n_kernel + n_user] follow: addresses; a caller's is its return address, and
	 * that of a frame which a signal interrupted is one more than its instruction's.
	 */
};

/* A sample whose user stack could not be walked in the kernel: what it takes to do it later. */
struct sampler_raw {
	struct sampler_sample sample; /* outcome SAMPLER_OUTCOME_DEFERRED, n_user 0 */
	__u64 regs[SAMPLER_REGS];
	__u64 pc;
	__u8 code[SAMPLER_CODE_BYTES]; /* from pc - ARCH_CODE_BEFORE on */
	__u32 n_bytes;		       /* of the stack */
	__u32 has_code;
	__u64 start; /* address of stack[0]: the stack pointer's, less the red zone where that is there */
	__u64 kernel[SAMPLER_KERNEL_FRAMES]; /* sample.n_kernel of them */
					     /* __u8 stack[n_bytes] follow */
};

#endif
