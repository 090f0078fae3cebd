/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/aggregate.h - the samples of one window, added up
 *
 * Equal stacks of one image are kept once, in an arena; a row is (series, stack, thread, CPU) and
 * how much CPU time it got. The reader fills a window, then hands it whole to the thread that makes
 * a batch of it; a window is never shared. It references the maps it was sampled under, so that
 * addresses keep their meaning when the process is gone. Stacks, rows and memory are bounded: what
 * does not fit goes to one stack that says so, and keeps its CPU time.
 */
#ifndef DECIMA_EBPF_AGGREGATE_H
#define DECIMA_EBPF_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/cleanup.h"
#include "core/base/hash.h"
#include "core/base/intern.h"
#include "core/base/vec.h"
#include "plugins/input/ebpf/process.h"

/* The stack of samples that found no room. */
#define AGGREGATE_OVERFLOW 0u

/*
 * What is lost before it gets here, and what it is called in the quality profile: samples, or where it
 * says so, something else that profiles lack. X(NAME, text).
 */
#define AGGREGATE_LOSSES(X)                                                                        \
	X(RING_FULL, "ring buffer full")                                                           \
	X(BUSY, "interrupted another sample")                                                      \
	X(NO_SCRATCH, "no scratch memory on the CPU")                                              \
	X(NOT_RUN, "the kernel did not run the sampler (another BPF program ran, or late timers)") \
	X(THROTTLED, "the kernel held up the timer (kernel.perf_event_max_sample_rate)")           \
	X(MALFORMED, "records that make no sense")                                                 \
	X(NO_MEMORY, "no memory")                                                                  \
	X(PROCESSES_FULL, "of more processes than are kept")                                       \
	X(NOT_FOLLOWED, "processes: too many are followed already")                                \
	X(EVENTS_FULL, "records of exec and exit: ring buffer full")                               \
	X(PROCESS_RECORDS, "records of processes and mappings: ring buffer full")

enum aggregate_loss {
#define AGGREGATE_X(name, text) AGGREGATE_LOSS_##name,
	AGGREGATE_LOSSES(AGGREGATE_X)
#undef AGGREGATE_X
		AGGREGATE_LOSS_N
};

/* A process under one state of its mappings. */
struct aggregate_image {
	struct dcm_process process;
	struct maps *maps;    /* a reference; NULL: never read */
	enum dcm_unnamed why; /* there are no maps */
};

struct aggregate_stack {
	const uint64_t *frames; /* [n_kernel + n_user], as in the record */
	uint32_t image;
	uint16_t n_kernel, n_user;
	uint8_t outcome; /* enum sampler_outcome */
	bool kernel_cut; /* SAMPLER_KERNEL_CUT */
	bool maps_certain; /* the maps are surely those of the sample: what they do not list is no code */
};

/* Ids of texts; 0 is "". tags: rows of further labels (tags.h). */
struct aggregate_series {
	uint32_t comm, service, tags;
};

struct aggregate_row {
	uint32_t series, stack, pid, tid, thread_name, cpu;
	uint32_t tags; /* text: rows of further labels of the sample (tags.h); 0: none */
	uint64_t n_samples, cpu_ns;
};

/* Bounds; 0: the defaults (65,536 stacks, 262,144 rows, 25 MiB of frames, 16 MiB of mappings). */
struct aggregate_limits {
	uint32_t stacks, rows;
	uint64_t frame_bytes;
	uint64_t maps_bytes; /* of whole states; as much again of states of a few ranges */
};

struct aggregate {
	uint32_t window; /* number of the window, from 1 */
	int64_t start_real_ns, start_mono_ns, end_mono_ns;
	uint64_t n_samples, cpu_ns, n_overflow;
	uint64_t lost[AGGREGATE_LOSS_N]; /* what should have been here */
	uint64_t n_reduced;	 /* samples that were not taken, to stay within a budget: about */
	const char *reduced_why; /* of these; static */
	int64_t reduced_hz;	 /* what was sampled at instead, at the end */

	struct intern texts;
	VEC(struct aggregate_image) images; /* [0] is nobody's: of stacks without user frames */
	VEC(struct aggregate_series) series;
	VEC(struct aggregate_stack) stacks; /* [0] is the overflow's, without frames */
	VEC(struct aggregate_row) rows;

	struct hindex image_index, series_index, stack_index, row_index;
	struct arena frames;
	uint64_t maps_bytes; /* of all images: what nobody else holds, as a rule */
	struct maps *few;    /* what hold() made last, a reference */
	struct aggregate_limits limits;
};

struct aggregate *aggregate__new(uint32_t window, struct aggregate_limits limits);
void aggregate__free(struct aggregate *a); /* NULL is fine; any thread */
DEFINE_CLEANUP(struct aggregate *, aggregate__free);

/*
 * The state of mappings to keep for these frames [n] of a process: *maps, or, where that would be more than windows
 * have room for, one of those of its ranges that they lie in: the window's own, up to the next call. 0, -ENOMEM;
 * -ENOSPC: there is no room for that either.
 */
int aggregate__hold(struct aggregate *a, struct process *p, const uint64_t *frames, uint32_t n,
		    struct maps **maps);

/* The id of the process under these maps (NULL: none), of which a reference is taken. -ENOMEM. */
int aggregate__image(struct aggregate *a, struct process *p, struct maps *maps, uint32_t *ret_image);

/* The id of an equal series or of a new one. -ENOMEM. */
int aggregate__series(struct aggregate *a, struct dcm_str comm, struct dcm_str service,
		      struct dcm_str tags, uint32_t *ret_series);

/* A stack is asked for by what identifies it: everything but maps_certain. */
bool aggregate__find_stack(const struct aggregate *a, const struct aggregate_stack *key,
			   uint32_t *ret_stack);
/*
 * Adds one that find did not find, with a copy of its frames; AGGREGATE_OVERFLOW when full.
 * -ENOMEM.
 */
int aggregate__add_stack(struct aggregate *a, const struct aggregate_stack *stack, uint32_t *ret_stack);

/* Adds n_samples and cpu_ns of `row` to an equal one. -ENOMEM: not added. */
int aggregate__add(struct aggregate *a, const struct aggregate_row *row);

#endif
