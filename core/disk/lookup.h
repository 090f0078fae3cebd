/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/lookup.h - a frame of a log by its number, while others are written
 *
 * Keeps the segment that it read last in memory and goes on in it, so that frames in their order cost one reading of
 * each segment, and any other one that of all before it. One thread at a time, beside those that use the log.
 */
#ifndef DECIMA_DISK_LOOKUP_H
#define DECIMA_DISK_LOOKUP_H

#include <stdbool.h>

#include "core/disk/wal.h"

/* Zeroed at first. */
struct lookup {
	uint64_t number; /* of the segment in `bytes`; 0: none */
	struct buf bytes;
	struct frames_cursor cursor;
	struct frame frame; /* the last that was met */
	bool has_frame;
};

/*
 * 0: l->frame is it, until the next call. -ENOENT: no segment has it, or what has it is damaged. Another negative errno
 * is of reading, and may pass.
 */
int lookup__frame(struct lookup *l, struct vfs *v, struct wal *w, uint64_t lsn);
void lookup__fini(struct lookup *l);

#endif
