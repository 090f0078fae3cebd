/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/cache.h - unwind tables on disk, by build id
 *
 * A folder with one file a table, BUILDID.unwind, so that after a restart a table costs a read
 * instead of a compilation. Files carry a checksum, the version of their form, and a sum of the
 * compiler's source; they are checked like anything foreign, and one that is damaged, or that
 * another compiler made, is removed, and counts. New files replace old ones by renaming, without
 * fsync: after a power cut the checksum tells. When there is no room for another, those used
 * longest ago go (a file's mtime is when it was used last), and some more, so that it is not each
 * time.
 *
 * One thread at a time. Several processes may share a folder: each sees by the folder's mtime that
 * others were there, and counts anew.
 */
#ifndef DECIMA_EBPF_UNWIND_CACHE_H
#define DECIMA_EBPF_UNWIND_CACHE_H

#include <time.h>

#include "plugins/input/ebpf/unwind/rows.h"

enum {
	CACHE_VERSION = 3,    /* of the file's form */
	CACHE_BUILD_ID = 128, /* most characters of a build id */
	CACHE_FILE_BYTES_MAX = 256 << 20,
};

struct unwind_cache_stat {
	uint64_t bytes; /* of all files, as far as we know */
	/* Tables that were there, were not, were added, and made room. */
	uint64_t n_hits, n_misses, n_stored, n_evicted;
	uint64_t n_damaged, n_outdated; /* files that were removed */
	uint64_t n_failures;		/* that the file system, or memory, is to blame for */
	int last_failure;		/* a negative errno */
};

struct unwind_cache {
	int dir; /* -1: not open */
	uint64_t max_bytes;
	struct timespec changed; /* the folder's mtime when `bytes` was right */
	struct unwind_cache_stat stat;
};

/*
 * Opens the folder, which must exist, belong to us or root, and be writable by nobody else; removes
 * what earlier runs left unfinished. 0 or a negative errno with a sentence.
 */
int unwind_cache__open(struct unwind_cache *c, const char *path, uint64_t max_bytes,
		       struct dcm_error *err);
void unwind_cache__close(struct unwind_cache *c);

/*
 * The table, which the caller frees: 0, -ENOENT (not there, or not good), -ENOMEM, or what the file
 * system says. A build id is hex digits in lower case, or what stands in for one: `~` before them.
 */
int unwind_cache__load(struct unwind_cache *c, const char *build_id, struct unwind_rows **ret_rows);

/*
 * Keeps a table: 0, -EINVAL (no build id), -EFBIG (alone larger than max_bytes), -ENOMEM, or what
 * the file system says. A failure leaves the folder as it was.
 */
int unwind_cache__store(struct unwind_cache *c, const char *build_id, const struct unwind_rows *rows);

#endif
