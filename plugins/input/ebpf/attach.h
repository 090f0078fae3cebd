/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/attach.h - one timer event per CPU, with the sampling program on it
 *
 * The event is cpu-clock in fixed periods: a timer of the kernel, there on every machine, that is
 * silent while the CPU is idle. CPUs that come and go are followed by asking
 * /sys/devices/system/cpu/online for attach__update(), about once a second: a netlink uevent would
 * come sooner, but reaches no container, and what a CPU does in its first second is little. One
 * that went and came back between two looks is found out within half a minute. Opening an event
 * needs CAP_PERFMON; the rest works on its descriptor without rights.
 */
#ifndef DECIMA_EBPF_ATTACH_H
#define DECIMA_EBPF_ATTACH_H

#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "plugins/input/ebpf/cpus.h"

struct attach;

/*
 * Opens the events of all online CPUs, not yet running. A negative errno, *ret_what says of which
 * step.
 */
int attach__open(const struct dcm_host *host, int program, uint64_t period_ns, struct attach **ret,
		 const char **ret_what);
void attach__free(struct attach *a); /* NULL is fine */
DEFINE_CLEANUP(struct attach *, attach__free);

/*
 * Starts one more event: the next CPU's. CPUs that are started a part of a period apart are not all
 * sampled at the same moments, for ever. Events of CPUs that come later start by themselves.
 * Returns how many are yet to be started. Any thread.
 */
uint32_t attach__start_next(struct attach *a);

/* Stops all events. Any thread. */
void attach__stop(struct attach *a);

/* Changes the period of all events, and of those opened later. Any thread. */
void attach__set_period(struct attach *a, uint64_t period_ns);

/*
 * Opens events of CPUs that came and closes those of CPUs that went: to be called about once a
 * second, now and then (PULSE_EVERY_NS) with `feel`, for those that went and came back unnoticed.
 * Returns how many events there are; *ret_error is the last failure to open one (0: none). The
 * reader thread.
 */
uint32_t attach__update(struct attach *a, const struct cpus *online, bool feel, int *ret_error);

/*
 * For how long each event was on, and how much of that its timer ran, in nanoseconds since it was
 * opened; one that cannot be read is passed over. It interrupts every CPU for a moment.
 */
typedef void (*attach_read_fn)(void *ctx, uint32_t cpu, uint64_t enabled_ns, uint64_t counted_ns);
void attach__read(struct attach *a, attach_read_fn each, void *ctx);

#endif
