/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/file/folder.h - a directory of its own: puts files in, takes the oldest out
 *
 * The directory carries a marker, the file ".decima-profiles", and is made with it. One that is
 * there, holds something and has no marker is refused, because what is taken out must be ours. The
 * marker is locked (flock(2)) while the directory is open, so that two never share one. Only
 * regular files with one of our extensions are ever removed, and leftovers of our own unfinished
 * writes. Symbolic links inside are not followed.
 *
 * Files are known by a list, oldest first, that is read at open and kept up to date: limits are
 * checked without looking at the disk.
 *
 * A clock that is set neither keeps a file nor takes one out: ages are counted by the monotonic
 * clock, from the age that a file's time told at open, and a file's time is later than those of the
 * files before it, so that the order is the same after a restart. What seems to come from the
 * future at open is taken for new. Single-threaded.
 */
#ifndef DECIMA_PLUGINS_OUTPUT_FILE_FOLDER_H
#define DECIMA_PLUGINS_OUTPUT_FILE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <decima/plugin.h>

struct folder;

struct folder_now {
	int64_t real_ns, mono_ns;
};

/*
 * Makes the directory when it is not there, and reads what it holds. -EEXIST: it holds something
 * and is not ours. -EBUSY: another folder, here or in another process, has it; the sentence says
 * whose, by the owner that was given there (an instance's name).
 */
int folder__open(const char *path, const char *owner, struct folder_now now, struct folder **ret,
		 struct dcm_error *err);
/* Would it open? Makes nothing, and takes the lock for a moment at most. Errors as above. */
int folder__look(const char *path, struct dcm_error *err);
void folder__free(struct folder *f); /* NULL is fine */

struct folder_file {
	const char *name;      /* relative, slashes make directories, without the extension */
	const char *extension; /* ".pb.gz" */
	const void *data;
	size_t n;
	bool sync; /* fsync it and its directory */
	struct folder_now now;
};

/*
 * A new file, there as a whole or not at all; when the name is taken "-2" to "-9" is put behind it,
 * and then its time in ns. 0, -EEXIST (somebody else has all of these) or what the system says
 * (-ENOSPC, -EDQUOT, -EROFS, ...) with a sentence; nothing is left behind then.
 */
int folder__put(struct folder *f, const struct folder_file *file, struct dcm_error *err);

struct folder_limits {
	int64_t max_age_ns; /* 0 in each: no limit */
	uint64_t max_files, max_bytes;
};

/*
 * Removes the oldest until the limits hold. Returns how many. One that cannot be removed is
 * forgotten.
 */
uint64_t folder__rotate(struct folder *f, const struct folder_limits *limits, int64_t mono_ns);

struct folder_stat {
	uint64_t n_files, bytes;
};
void folder__stat(const struct folder *f, struct folder_stat *ret);

#endif
