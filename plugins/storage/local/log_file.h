/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/log_file.h - one file that only grows: a dictionary's records
 *
 * Frames as in frames.h, with LSNs 1, 2, 3, ... and no gap. What is appended stays in memory until
 * sync(), which writes and syncs all of it; a block that refers to a record is committed after that
 * (commit_change.sync). When a write or a sync fails, the same bytes are written to the same place
 * by the next sync(), through a new descriptor: bytes that are written again are synced again,
 * whatever became of the first ones.
 *
 * At open, records whose sync nobody can vouch for are kept to be written again by the first
 * sync(), for the same reason. A torn end is overwritten with zeros, and that is synced, before
 * anything new is written: its frames would verify, and must never follow new ones.
 *
 * The caller sees to it that one thread at a time is in here.
 */
#ifndef DECIMA_STORAGE_LOCAL_LOG_FILE_H
#define DECIMA_STORAGE_LOCAL_LOG_FILE_H

#include <stdint.h>

#include <decima/plugin.h>

#include "core/disk/replay.h"
#include "core/disk/vfs.h"

#define LOG_FILE_MAX_BYTES ((size_t)2 << 30)

struct log_found {
	uint64_t n_records; /* handed over */
	uint64_t n_lost; /* LSNs that were synced and are damaged: what refers to them has no content */
	uint64_t n_bad_bytes; /* torn or damaged */
};

struct log_file;

/*
 * Hands over the records of the file at `path` ("DIR/NAME"); where its directory has none, the
 * first sync() makes it. Writes nothing. `kind` (above WAL_KIND, below 2^16) tells logs apart.
 * Where records are lost, the LSNs handed over have a gap. -EUCLEAN: the head is damaged, or it is another kind's.
 * -ENOENT: the directory is not there. -EFBIG, -EPROTONOSUPPORT, -ENOMEM, what `each` returned, or
 * the file system's.
 */
int log_file__open(struct vfs *v, const char *path, uint32_t kind, replay_fn each, void *ctx,
		   struct log_found *ret_found, struct log_file **ret, struct dcm_error *err);
/*
 * The file's bytes up to the end of record `lsn`, appended to an empty buffer; all of them when its
 * head is damaged. 0 or as vfs__read_file().
 */
int log_file__read_records(struct vfs *v, const char *path, uint64_t lsn, struct buf *ret);
/* What was not synced is given up. NULL works. */
void log_file__close(struct log_file *l);

/*
 * A copy of 1 to FRAME_MAX_BYTES bytes, in memory. -EINVAL, -EOVERFLOW (FRAMES_LSN_LIMIT), -ENOMEM.
 */
int log_file__append(struct log_file *l, uint16_t type, const void *payload, size_t n,
		     uint64_t *ret_lsn, struct dcm_error *err);
/* 0: all records are durable. Otherwise they wait for the next call. */
int log_file__sync(struct log_file *l, struct dcm_error *err);

uint64_t log_file__last_lsn(const struct log_file *l);
uint64_t log_file__synced_lsn(const struct log_file *l); /* manifest_era.n_records of a log */

/*
 * Hands over the records of a mapped file (of at most LOG_FILE_MAX_BYTES) as log_file__open() does, for readers beside the
 * process that writes; `path` is for sentences. -EIO: a part of it was lost meanwhile, and what was handed
 * over may be none.
 */
int log_file__read_map(const struct vfs_map *m, const char *path, uint32_t kind, replay_fn each,
		       void *ctx, struct log_found *ret_found, struct dcm_error *err);

#endif
