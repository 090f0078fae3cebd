/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/files.h - the files that processes run code from, told apart by what they are
 *
 * A path says nothing for certain: it may have been replaced, or lie in another mount namespace. So
 * a file is opened through the process that maps it (/proc/PID/map_files, else /proc/PID/root and a
 * check of the inode), and known by device, inode, modification time and size; its build id is read
 * once. What lies at the mapping's addresses by now may be another file (a program that closes one
 * library and opens the next), so what /proc/PID/map_files leads to is held against the mapping
 * too.
 *
 * A file also remembers the inode by which the mapping named it (inode.h), so that nothing is
 * opened for the second process that maps it, and a process that has ended already is served as
 * well. A file that nobody has opened before its process ended is opened by its path, and believed
 * only when it is proven to be the one that was mapped; else it is gone.
 *
 * The descriptor is kept until offer() has shown the file to the host, because the process may be
 * gone by then.
 *
 * files__of() and files__sweep() belong to the reader thread. A `struct file` is reference-counted
 * and does not change except for the descriptor, which files__offer() takes, on any thread.
 */
#ifndef DECIMA_EBPF_FILES_H
#define DECIMA_EBPF_FILES_H

#include <stdatomic.h>
#include <stdbool.h>

#include <decima/plugin.h>

#include "plugins/input/ebpf/inode.h"

struct file {
	_Atomic uint32_t refs;
	/* In the table's buckets, by what fstat(2) says and by `inode`; the reader's. */
	struct file *next, *next_by_inode;
	struct inode inode; /* as the mapping named it last; the reader's */
	uint64_t dev, ino, size;
	int64_t mtime_ns;
	bool is_out_of_reach; /* files__open_gone() failed; the reader's */
	bool is_code;	      /* an ELF file; false: JIT code in a file, or nothing we may read */
	/* !is_code: DCM_UNNAMED_BAD_FILE, _NO_PERMISSION, _FILE_GONE or _NOT_ANSWERED */
	enum dcm_unnamed why;
	char build_id[129]; /* lower-case hex; "~" and 16 digits made of the identity when the file has none */
	char *path;	      /* as the process sees it */
	_Atomic int offer_fd; /* to be shown to the host; -1: none */
	_Atomic bool offered;
	uint32_t last_window; /* the reader's: when a process last hit it */
};

struct files; /* the table */

/* The host's build_id, offer_file, open_guarded and clocks are used. NULL when memory ran out. */
struct files *files__new(const struct dcm_host *host);
/*
 * Each file of code is shown to `opened` whenever it has been opened, on the thread that asked for
 * it; the descriptor is the callee's for the call. The vDSO's comes at once.
 */
void files__on_open(struct files *t, void (*opened)(void *ctx, const struct file *f, int fd), void *ctx);

/* Files that somebody still references live on. */
void files__free(struct files *t);

/*
 * The file behind a mapping of the process whose /proc directory is `proc_dir` (-1: gone); for the
 * vDSO, which is the same in every process, a copy of our own. Never NULL: what cannot be opened,
 * or memory that ran out, yields one of the table's constant files that say why. The caller owns a
 * reference.
 */
struct file *files__of(struct files *t, int proc_dir, const struct maps_range *range, uint32_t window);

/*
 * The same without a look at the process, for a file that was opened before. NULL: ask files__of().
 */
struct file *files__known(struct files *t, const struct maps_range *range, uint32_t window);

/*
 * The file of a mapping whose process has ended, once more: a descriptor, or -ENOENT when it is not
 * proven that its path leads to that file. Not asked twice in vain.
 */
int files__open_gone(struct files *t, struct file *f, const struct maps_range *range);

/*
 * Whether to ask again for the file of a range that was gone, or that nobody told of in time: a few
 * times in each window, for what was in the way may have left, or another process shown it. Counts
 * the question. The range has a file.
 */
bool files__may_retry(struct maps_range *range, uint32_t window);

/* Shows the file to the host, once. May read much of it: not for the reader thread. Any other. */
void files__offer(struct files *t, struct file *f);

/* Forgets files that nobody references and no process has hit since two windows before `window`. */
void files__sweep(struct files *t, uint32_t window);

uint32_t files__count(const struct files *t);

/*
 * Of the errno of what opens or reads something of a process: why it is not known. What there was no descriptor, memory or
 * turn for is there all the same, and is asked for again.
 */
enum dcm_unnamed files__why_not(int error);

/* What the host opens for us, and did not within its time (-ETIMEDOUT). */
struct files_silence {
	uint64_t n;	/* so far */
	char path[256]; /* what the last one was asked for, as the process sees it */
};
const struct files_silence *files__silence(const struct files *t);
/* One more, which another asked for. */
void files__tell_silence(struct files *t, struct dcm_str path);

static inline struct file *file__ref(struct file *f)
{
	atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
	return f;
}
void file__unref(struct file *f); /* NULL is fine; any thread */

#endif
