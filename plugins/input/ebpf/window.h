/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/window.h - full windows on their way out: a short queue and the thread behind
 * it
 *
 * The reader pushes a window; the thread here makes a batch of it (flush.h) and emits it. When the
 * host's queue is full it tries again, holding on to a few batches, and gives up the oldest beyond
 * that. When it is itself behind, the reader keeps its window and goes on filling it.
 */
#ifndef DECIMA_EBPF_WINDOW_H
#define DECIMA_EBPF_WINDOW_H

#include <decima/plugin.h>

#include "plugins/input/ebpf/aggregate.h"
#include "plugins/input/ebpf/flush.h"

/*
 * Length of window `n` (from 1): the first ones are 1, 2 and 5 s, so that something shows at once.
 */
int64_t window__length_ns(uint32_t n, int64_t configured_ns);

struct windows;

/* host and files outlive it. NULL when memory ran out. */
struct windows *windows__new(const struct dcm_host *host, struct files *files,
			     const struct settings *settings);
/* Asked for BPF programs before the host; outlives it. Before the start. */
void windows__use_symbols(struct windows *w, struct ksymbols *symbols);
int windows__start(struct windows *w); /* the thread: 0 or a negative errno */

/*
 * Takes the window and returns true, or leaves it with the caller: two are waiting already. Reader.
 */
bool windows__push(struct windows *w, struct aggregate *window);

/* Labels and period of the windows that are made batches of from now on. Any thread. */
void windows__configure(struct windows *w, const struct settings *settings);
void windows__set_period(struct windows *w, int64_t period_ns);

/* CPU time that the thread has used so far. Any thread. */
int64_t windows__cpu_ns(struct windows *w);

/*
 * Waits until all pushed windows have left, or the deadline. 0 or -ETIMEDOUT. Any thread but ours.
 */
int windows__drain(struct windows *w, int64_t deadline_mono_ns);

/* Ends the thread; what has not left is dropped and counted. NULL is fine. */
void windows__free(struct windows *w);

#endif
