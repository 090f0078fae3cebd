/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/frames_workers.h - debug information of strangers is read in processes without rights
 */
#ifndef DECIMA_MAIN_FRAMES_WORKERS_H
#define DECIMA_MAIN_FRAMES_WORKERS_H

#include "core/broker/worker.h"
#include "core/symbolize/symbols.h"

/*
 * Workers that answer requests of core/symbolize/frames.h, each with so much memory, and reduce
 * files to so many bytes at most. To be made while the process has one thread. As root they become
 * nobody.
 */
int frames_workers__new(uint64_t memory_bytes, uint64_t file_bytes, struct workers **ret,
			struct dcm_error *err);

/* symbols_frames_fn; ctx: the workers. */
int frames_workers__ask(void *ctx, const struct symbols_frames_call *call, struct buf *ret_answer);
/* symbols_reduce_fn; ctx: the workers. */
int frames_workers__reduce(void *ctx, const struct symbols_reduction *reduction);

#endif
