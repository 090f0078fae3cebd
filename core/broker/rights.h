/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/rights.h - what takes rights: done here, or by the broker for a process that has none
 *
 * Each returns a descriptor (or 0) or a negative errno. Without a broker (NULL) this process does
 * it itself, with what rights it has. Any thread. What each opens, and what it refuses, is said at
 * `struct dcm_guarded` in <decima/plugin.h>; the broker refuses more: see broker.h.
 */
#ifndef DECIMA_BROKER_RIGHTS_H
#define DECIMA_BROKER_RIGHTS_H

#include <linux/perf_event.h>

#include <decima/plugin.h>

struct broker;

int rights__open(struct broker *b, const struct dcm_guarded *g);
/*
 * A regular file, to be read, at an absolute path that somebody else named; an ELF file where there
 * is a broker, and -ETIMEDOUT when the path leads into a file system that does not answer, which
 * only the broker waits for.
 */
int rights__open_named(struct broker *b, const char *path);

/*
 * An event of that CPU, for every process. What the kernel denies the broker (-EACCES), this
 * process tries with the rights that are left to it.
 */
int rights__perf_event(struct broker *b, const struct perf_event_attr *attr, uint32_t cpu);

/* A BPF array of n values that can be mapped. */
int rights__bpf_array(struct broker *b, uint32_t value_bytes, uint32_t n);
/* Puts it into an array of maps; the descriptors stay the caller's. */
int rights__bpf_put(struct broker *b, int array_of_maps, uint32_t index, int array);

/* /proc/kallsyms, with the addresses that a reader with rights sees. */
int rights__open_kallsyms(struct broker *b);

#endif
