/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/cpus.h - sets of CPUs as the kernel writes them ("0-3,8")
 */
#ifndef DECIMA_EBPF_CPUS_H
#define DECIMA_EBPF_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

enum { CPUS_MAX = 8192 }; /* CONFIG_NR_CPUS of the largest x86 kernels */

struct cpus {
	uint64_t bits[CPUS_MAX / 64];
};

static inline bool cpus__has(const struct cpus *set, uint32_t cpu)
{
	return cpu < CPUS_MAX && (set->bits[cpu / 64] >> (cpu % 64) & 1);
}

static inline void cpus__remove(struct cpus *set, uint32_t cpu)
{
	set->bits[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
}

/*
 * 0, or -EINVAL for text that is not such a list or names a CPU beyond CPUS_MAX (set is then
 * unchanged).
 */
int cpus__parse(struct dcm_str text, struct cpus *ret_set);

/*
 * Reads a file of /sys/devices/system/cpu: "online", "possible". Negative errno of the read or
 * parse.
 */
int cpus__read(const char *name, struct cpus *ret_set);

/* The same in two, for who reads it again and again: the file, and what it says now. */
int cpus__open(const char *name); /* the descriptor, the caller's */
int cpus__read_from(int fd, struct cpus *ret_set);

uint32_t cpus__highest(const struct cpus *set); /* 0 for the empty set */

#endif
