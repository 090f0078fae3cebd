/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/cpu_times.h - for how long CPUs did nothing, as /proc/stat has it
 */
#ifndef DECIMA_EBPF_CPU_TIMES_H
#define DECIMA_EBPF_CPU_TIMES_H

#include <stdint.h>

#include <decima/plugin.h>

/* Since the machine started, in steps of CPU_TIMES_STEP_NS. */
struct cpu_times {
	uint64_t idle_ns;   /* with waiting for input and output */
	uint64_t irq_ns;    /* in interrupts, those that came while it was idle too */
	uint64_t stolen_ns; /* while the hypervisor ran something else */
};

#define CPU_TIMES_STEP_NS UINT64_C(10000000)

/*
 * Calls `each` for every CPU that the text lists, the machine's sum left out; a line that says less
 * than it should is passed over.
 */
typedef void (*cpu_times_fn)(void *ctx, uint32_t cpu, const struct cpu_times *times);
void cpu_times__parse(struct dcm_str text, cpu_times_fn each, void *ctx);

/* The same of /proc/stat as it is now: 0, or a negative errno. */
int cpu_times__read(cpu_times_fn each, void *ctx);

#endif
