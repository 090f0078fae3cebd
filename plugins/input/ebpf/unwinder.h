/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwinder.h - tells the unwind tables of processes, and unwinds what was
 * deferred
 *
 * Stands between what is known of processes (process.h, maps.h, files.h) and the tables
 * (tables/tables.h). Each image's mappings are announced when it is first sampled and when they
 * have changed; a file is opened when a sample meets its code. A deferred sample is unwound at once
 * if that is possible, or waits until the tables it needs are there, for up to five seconds; then
 * it is handed on with what is known. Each comes out exactly once.
 *
 * Belongs to the reader thread.
 */
#ifndef DECIMA_EBPF_UNWINDER_H
#define DECIMA_EBPF_UNWINDER_H

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "plugins/input/ebpf/process.h"
#include "plugins/input/ebpf/record.h"
#include "plugins/input/ebpf/tables/tables.h"

struct unwinder;

/* What it works with; all outlive it. */
struct unwinder_parts {
	const struct dcm_host *host; /* mono_ns is used */
	struct tables *tables;
	struct processes *processes;
	/*
	 * Takes a deferred sample that is done, as if it had been unwound in the kernel. maps:
	 * those it was taken under, if certain; NULL: not known.
	 */
	void (*sample)(void *ctx, const struct sampler_sample *sample, const uint64_t *frames,
		       struct maps *maps, bool certain);
	void *ctx;
	uint32_t max_depth; /* user frames */
};

/* NULL when memory ran out. */
struct unwinder *unwinder__new(const struct unwinder_parts *parts);
void unwinder__free(struct unwinder *u); /* NULL is fine; what still waits is gone: finish first */

/* A process was sampled: announces its mappings if that is news. */
void unwinder__see(struct unwinder *u, const struct process *p);

/* How many of its user frames are right, and how it ended. */
struct unwinder_verdict {
	uint16_t n_user;
	uint8_t outcome; /* enum sampler_outcome */
};
/*
 * What is to be believed of a sample that was walked in the kernel, by the mappings that were announced then.
 * `maps` are those of its time, as they are known by now; NULL: they are not.
 */
struct unwinder_verdict unwinder__judge(struct unwinder *u, const struct process *p,
					const struct sampler_sample *sample,
					const struct maps *maps, const uint64_t *frames);

/* The image ended, or another took its place. */
void unwinder__event(struct unwinder *u, const struct sampler_event *event);

/* Takes a deferred sample. `window`: the present one, for processes__of(). */
void unwinder__take(struct unwinder *u, const struct sampler_raw *raw, uint32_t window);

/* Tries again what waits; hands on what waited long enough, or everything at the end. */
void unwinder__retry(struct unwinder *u, uint32_t window, bool finish);

/* Forgets images that have not been sampled for long. */
void unwinder__sweep(struct unwinder *u, uint32_t window);

struct unwinder_stat {
	uint64_t n_taken, n_waited, n_given_up; /* deferred samples */
	uint32_t n_waiting;
	uint64_t outcomes[SAMPLER_OUTCOME_N]; /* of all that were handed on */
};
struct unwinder_stat unwinder__stat(const struct unwinder *u);

#endif
