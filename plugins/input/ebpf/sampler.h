/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/sampler.h - the BPF programs: loaded, configured, read
 *
 * The only file pair that knows libbpf. sampler__open() needs the rights; all else works without,
 * through descriptors and mapped memory (the ring buffers, the counters, the two switches).
 */
#ifndef DECIMA_EBPF_SAMPLER_H
#define DECIMA_EBPF_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "plugins/input/ebpf/probe.h"
#include "plugins/input/ebpf/record.h"
#include "plugins/input/ebpf/settings.h"
#include "plugins/input/ebpf/tables/tables.h"

struct sampler;

/*
 * What sampler__drain() hands over; on the thread that calls it. `frames` as many as the sample
 * says.
 */
struct sampler_sink {
	void (*sample)(void *ctx, const struct sampler_sample *sample, const uint64_t *frames);
	/* A deferred sample, whose stack follows it. */
	void (*raw)(void *ctx, const struct sampler_raw *raw);
	void (*event)(void *ctx, const struct sampler_event *event);
	void (*malformed)(void *ctx); /* a record that record__*() refused */
	void *ctx;
};

/*
 * Loads, and attaches to exec and exit. Nothing samples until the program is attached to events.
 * n_cpus: CPUs that may ever be online. Errors as probe__explain() says.
 */
int sampler__open(const struct settings *s, const struct probe *probe, uint32_t n_cpus,
		  struct sampler **ret, struct dcm_error *err);
void sampler__free(struct sampler *s); /* NULL is fine */
DEFINE_CLEANUP(struct sampler *, sampler__free);

/* Descriptor of the program for perf events; the sampler's. */
int sampler__program(const struct sampler *s);

/* Readable when a record came that wakes (a new process); the sampler's. */
int sampler__wake_fd(const struct sampler *s);
int sampler__raw_wake_fd(const struct sampler *s);

/*
 * Hands over what is in the rings, events first, each ring's for SAMPLER_TURN_NS at most: records
 * that come faster than they are taken must not keep the caller for ever. True when a ring's turn
 * was over before it was empty: what is left stays there, for the next call. One thread.
 */
#define SAMPLER_TURN_NS INT64_C(2000000)
bool sampler__drain(struct sampler *s, const struct sampler_sink *sink);

/* Sums of the counters over all CPUs. Any thread. */
void sampler__stats(const struct sampler *s, struct sampler_stats *ret_sum);

/* Runs of the sampling program on one CPU so far; 0 for one that is none. Any thread. */
uint64_t sampler__entries(const struct sampler *s, uint32_t cpu);

/* accounts__open() of all CPUs. Not 0: a fault of the program. Any thread. */
uint64_t sampler__unaccounted(const struct sampler *s, bool runs);

/* Kernel memory that the maps took when they were loaded; slabs of unwind tables come on top. */
uint64_t sampler__map_bytes(const struct sampler *s);

/*
 * Where programs look for unwind tables, for tables__new(); false when they do not. Making slabs
 * takes CAP_BPF, so the host does it; everything else is mapped memory.
 */
bool sampler__tables(struct sampler *s, const struct dcm_host *host, struct tables_memory *ret);

/* What samples weigh from now on, and whether our own are left out. Any thread. */
void sampler__set_period(struct sampler *s, uint64_t period_ns);
void sampler__set_exclude_self(struct sampler *s, bool on);

#endif
