/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/process_image.h - what a process image began with, as far as the kernel told
 *
 * An exec() begins with nothing, and what is mapped then was told. A fork() begins with what its parent had mapped, which
 * is known of the parent, or told of it, or read in /proc. So a process that has ended before it could be read has its
 * names. The reader thread's.
 */
#ifndef DECIMA_EBPF_PROCESS_IMAGE_H
#define DECIMA_EBPF_PROCESS_IMAGE_H

#include <stdint.h>

#include "plugins/input/ebpf/process.h"

/* What it runs, as far as the kernel told: nothing of it was read. */
struct process_image {
	struct maps *maps; /* NULL: not known */
	int64_t since_ns;
	char *exe;
	struct maps_range program; /* as it was told; its `file` is a reference. end 0: it was not */
};

/* Of a process at a moment (mono), from its exec or fork on; empty when that was not heard. */
struct process_image process_image__of(struct processes *t, const struct process *of, int64_t time_ns);
void process_image__fini(struct process_image *image);

/*
 * A parent that was never sampled itself, such as a shell that waits: read once for all the
 * children that it will have. NULL when it has ended, has exec'ed since the fork, or may not be
 * read, which is not tried for each child.
 */
struct process *process_image__read_parent(struct processes *t, const struct process *of,
					   const struct trail_origin *fork);

#endif
