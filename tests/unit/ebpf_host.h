/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/ebpf_host.h - a host for the pieces of plugins/input/ebpf: real builder, told answers
 *
 * Single-threaded but for the counters, which the thread behind windows touches.
 */
#ifndef DECIMA_TESTS_UNIT_EBPF_HOST_H
#define DECIMA_TESTS_UNIT_EBPF_HOST_H

#include <stdatomic.h>

#include <decima/plugin.h>

struct ebpf_host {
	struct dcm_host host;	 /* first: host functions get back to us by it */
	_Atomic int64_t mono_ns; /* 0: the machine's clock */
	_Atomic uint64_t n_dropped, n_emitted, n_offered, n_states;
	_Atomic int emit_answer; /* of emit: 0, -EAGAIN, ... */
	char last_drop[64];
	/* What process_event was told, as letters: s e x. */
	char events[64];
	struct dcm_process last_process;
	int kernel_answer; /* of kernel_symbol; 0: "kfN" of 4 KiB page N, odd pages in module "mod" */
	bool jit_names;	   /* resolve_runtime names "jN" of 4 KiB page N, even pages only */
	struct dcm_batch *emitted; /* the last one, a reference */
};

/* Opens what belongs to processes, and does nothing else. */
extern const struct dcm_host ebpf_host__rights;

void ebpf_host__init(struct ebpf_host *h);
void ebpf_host__fini(struct ebpf_host *h);

#endif
