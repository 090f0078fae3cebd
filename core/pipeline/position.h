/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/position.h - up to where a spool is settled, in a file beside its log
 *
 * docs/FORMATS.md, "A spool". The file is written in place, and all of it from the beginning, so that a full disk
 * cannot keep a spool from giving room back.
 *
 * One thread at a time.
 */
#ifndef DECIMA_PIPELINE_POSITION_H
#define DECIMA_PIPELINE_POSITION_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/disk/vfs.h"

struct position {
	struct vfs_file *file; /* NULL: closed */
	bool has_failed;       /* the last note is not in the file */
};

/*
 * The LSN that is in the file; 0 where it is damaged, which is told, or new. -EUCLEAN: there is a log without one, so
 * that it is no spool's. Or another negative errno, with a sentence.
 */
int position__open(struct position *p, struct vfs *v, dcm_report_fn report, void *ctx,
		   uint64_t *ret_lsn, struct dcm_error *err);
/* For the process that comes after this one; position__sync(): after a power cut, too. 0 or a negative errno. */
int position__note(struct position *p, uint64_t lsn);
int position__sync(struct position *p);
void position__close(struct position *p); /* a zeroed one, too */

#endif
