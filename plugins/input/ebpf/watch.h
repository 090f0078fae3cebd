/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/watch.h - keeps the trail of processes up to date from the side-band
 *
 * A sample is judged by what happened before it, so everything the kernel told until the time of
 * the sample must be in the trail first: watch__until() sees to that, and costs a look at each
 * CPU's ring at most once for all samples that are there already. The reader thread's.
 */
#ifndef DECIMA_EBPF_WATCH_H
#define DECIMA_EBPF_WATCH_H

#include <decima/plugin.h>

#include "plugins/input/ebpf/ksymbols.h"
#include "plugins/input/ebpf/sideband.h"
#include "plugins/input/ebpf/trail.h"

struct watch;

/* sideband outlives it; NULL: there is nothing to hear. NULL when memory ran out. */
struct watch *watch__new(const struct dcm_host *host, struct sideband *sideband);
void watch__free(struct watch *w); /* NULL is fine */

/* What is heard of BPF programs goes there, too; it outlives this. NULL: nowhere, as at first. */
void watch__note_symbols(struct watch *w, struct ksymbols *symbols);

/* NULL without a side-band. */
const struct trail *watch__trail(const struct watch *w);

/* Hears everything that was told until then (mono). */
void watch__until(struct watch *w, int64_t time_ns);

/* To be called about once a second: follows CPUs that come and go (sideband__update()). */
void watch__cpus(struct watch *w, const struct cpus *online, bool feel);

/* Records that found no room so far. */
uint64_t watch__lost(const struct watch *w);

/* To be called about once a second: forgets what is over, shows metrics. */
void watch__second(struct watch *w, int64_t now_ns);

#endif
