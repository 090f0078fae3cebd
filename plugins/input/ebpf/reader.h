/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/reader.h - the thread that empties the rings and fills windows
 *
 * It comes by every 250 ms (more rarely when little was there: pace.h), when a process is sampled
 * for the first time, and when the ring is half full. It reads /proc of new processes at once, adds
 * each sample to the window, and hands the window on when its time is over. About once a second it
 * looks for CPUs that came or went, and shows the counters when they have moved.
 */
#ifndef DECIMA_EBPF_READER_H
#define DECIMA_EBPF_READER_H

#include <decima/plugin.h>

#include "plugins/input/ebpf/attach.h"
#include "plugins/input/ebpf/kubernetes.h"
#include "plugins/input/ebpf/probe.h"
#include "plugins/input/ebpf/sampler.h"
#include "plugins/input/ebpf/settings.h"
#include "plugins/input/ebpf/sideband.h"
#include "plugins/input/ebpf/window.h"

struct reader;

/* What it works with; all outlive it. */
struct reader_parts {
	const struct dcm_host *host;
	const struct probe *probe;
	struct sampler *sampler;
	struct attach *attach;
	struct files *files;
	struct windows *windows;
	struct kubernetes *kubernetes;
	struct ksymbols *symbols;  /* NULL: what is heard of BPF programs is not kept */
	struct sideband *sideband; /* NULL: the kernel tells nothing of processes */
	struct tables *tables;	   /* NULL: unwinding by frame pointers alone */
};

int reader__new(const struct reader_parts *parts, const struct settings *settings, struct reader **ret);
int reader__start(struct reader *r); /* the thread: 0 or a negative errno */

/* Period, window length and labels from now on. Any thread. */
void reader__configure(struct reader *r, const struct settings *settings);

/* Ends the thread; the last window, however short, is pushed. Control thread. */
void reader__finish(struct reader *r);
void reader__free(struct reader *r); /* NULL is fine; finishes when that was not done */

#endif
