/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/sideband.h - what the kernel tells of processes: exec, fork, exit, mappings
 *
 * One counting-nothing perf event (PERF_COUNT_SW_DUMMY) and one ring of 128 KiB per CPU, into which
 * the kernel writes a record for each mapping that becomes executable, each exec, fork and exit of
 * any process, and each BPF program that comes or goes. It wakes the reader when a ring is half full; otherwise sideband__drain() is called
 * when a sample needs to know what happened before it. Opening needs CAP_PERFMON, reading nothing.
 *
 * All of it belongs to the reader thread, but for opening and freeing.
 */
#ifndef DECIMA_EBPF_SIDEBAND_H
#define DECIMA_EBPF_SIDEBAND_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "plugins/input/ebpf/cpus.h"
#include "plugins/input/ebpf/perf_record.h"

struct sideband;

/* Opens the events of all online CPUs, running at once. A negative errno: there is none at all. */
int sideband__open(const struct dcm_host *host, struct sideband **ret);
void sideband__free(struct sideband *s); /* NULL is fine */
DEFINE_CLEANUP(struct sideband *, sideband__free);

/* Becomes readable when a ring is half full: for epoll. */
int sideband__wake_fd(const struct sideband *s);

/*
 * Opens events of CPUs that came and closes those of CPUs that went: to be called about once a
 * second, now and then with `feel` (attach.h). Returns the last failure to open one (0: none),
 * after which that CPU's records are missing.
 */
int sideband__update(struct sideband *s, const struct cpus *online, bool feel);

/* Hands over every record that was written before the call, CPU by CPU: by time only within one. */
typedef void (*sideband_fn)(void *ctx, const struct perf_record *record);
void sideband__drain(struct sideband *s, sideband_fn each, void *ctx);

struct sideband_stat {
	uint32_t n_cpus;
	uint64_t n_records, n_lost, n_malformed;
};
struct sideband_stat sideband__stat(const struct sideband *s);

#endif
