/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/aside.h - batches that were refused, kept to be looked at, each beside what was said to it
 *
 * The directory aside/ of a spool (docs/FORMATS.md, "A spool"), bounded in bytes and in files. Who looks at them moves
 * them away; until then the first ones stay, and what comes when it is full is not kept.
 *
 * Any thread, but open.
 */
#ifndef DECIMA_PIPELINE_ASIDE_H
#define DECIMA_PIPELINE_ASIDE_H

#include <pthread.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/disk/vfs.h"

#define ASIDE_DIR "aside"
enum { ASIDE_PATH_BYTES = 64, ASIDE_MAX_BATCHES = 10000 };

struct aside {
	struct vfs *vfs;
	uint64_t max_bytes;
	_Atomic uint64_t n, bytes; /* of batches; for anybody to read */
	pthread_mutex_t lock;	   /* of who writes */
};

/* Counts what is there. 0 or a negative errno; aside__fini() in any case. The vfs outlives it. */
int aside__open(struct aside *a, struct vfs *v, uint64_t max_bytes);
void aside__fini(struct aside *a);

/*
 * One profile of a batch, DCM_NONE: all of them. 0: it is there after a power cut, too, in the place of what the same
 * numbers had before. -EDQUOT: no room. Or a negative errno, and nothing of it is there. *ret_path, which is set in any
 * case: where.
 */
int aside__put(struct aside *a, uint64_t lsn, const struct dcm_batch *batch, uint32_t profile,
	       const char *words, char ret_path[static ASIDE_PATH_BYTES]);

#endif
