/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/cache.h - unwind tables on disk, by build id
 *
 * A folder with one file a table, BUILDID.unwind, so that after a restart a table costs a read
 * instead of a compilation. Files carry a version and a checksum, and are checked like anything
 * foreign; one that is damaged or of another version is removed, and counts. New files replace old
 * ones by renaming, without fsync: after a power cut the checksum tells. When the files hold more
 * than max_bytes, those used longest ago go first (their mtime is when they were used last).
 *
 * One thread at a time; several processes may share a folder.
 */
#ifndef DECIMA_EBPF_UNWIND_CACHE_H
#define DECIMA_EBPF_UNWIND_CACHE_H

#include "plugins/input/ebpf/unwind/rows.h"

enum {
	/* Raised with each change of the file, of bpf/unwind.h, or of what tables are made to say. */
	CACHE_VERSION = 2,
	CACHE_BUILD_ID = 128, /* most hex digits of a build id */
};

struct unwind_cache {
	int dir;
	uint64_t max_bytes, bytes; /* bytes: of all files, as far as we know */
	uint64_t n_hits, n_misses, n_stored, n_evicted, n_damaged;
};

/*
 * Opens the folder, which must exist and be writable by nobody else; removes what earlier runs left
 * unfinished. 0 or a negative errno with a sentence.
 */
int unwind_cache__open(struct unwind_cache *c, const char *path, uint64_t max_bytes,
		       struct dcm_error *err);
void unwind_cache__close(struct unwind_cache *c);

/* The table, which the caller frees: 0, -ENOENT (not there, or not good), -EIO, -ENOMEM. */
int unwind_cache__load(struct unwind_cache *c, const char *build_id, struct unwind_rows **ret_rows);

/*
 * Keeps a table: 0, -EINVAL (no build id), -EFBIG (alone larger than max_bytes), -ENOMEM, or what the
 * file system says. A failure leaves the folder as it was.
 */
int unwind_cache__store(struct unwind_cache *c, const char *build_id, const struct unwind_rows *rows);

#endif
