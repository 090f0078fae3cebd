/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * bpf/types.bpf.h - the few kernel structs we read, cut to the members we read
 *
 * CO-RE finds each member's place in the running kernel's BTF when the program is loaded, so order
 * and the rest do not matter here. A `___suffix` marks another shape of the same struct;
 * bpf_core_field_exists() tells which one is there.
 */
#ifndef DECIMA_BPF_TYPES_H
#define DECIMA_BPF_TYPES_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
};

struct mm_struct {
	unsigned long exec_vm; /* pages of mappings that are executable and not writable */
};

struct task_struct {
	void *stack;
	unsigned int flags;
	int pid, tgid;
	unsigned int in_execve : 1;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct signal_struct *signal;
	__u64 start_boottime;
	__u64 self_exec_id;
	char comm[16];
};

/* Before 5.5. */
struct task_struct___5_4 {
	__u64 real_start_time;
};

/* Before 5.7 (5.6.5). */
struct task_struct___5_6 {
	__u32 self_exec_id;
};

#pragma clang attribute pop

enum {
	TASK_KTHREAD = 0x00200000, /* PF_KTHREAD; the same bit since 2.6.27 */
};

#endif
