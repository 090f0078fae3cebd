/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/errands.h - calls on a descriptor that may never return, made by threads
 * that may hang
 *
 * A file may lie on a network or FUSE file system whose server is gone: then fstat(2), pread(2) and
 * even close(2) wait for ever. So does read(2) of /proc/PID/maps for a process that holds the lock of its
 * mappings, for instance while it maps a file from such a server. So a thread makes these calls, and who
 * asks waits for it so long. A thread that takes longer is left behind with the descriptor; when it returns
 * after all, it closes that and is of use again. Once ERRANDS_STUCK_MAX are left behind no call is begun any
 * more, nor is one to a place (a file system, a process) that holds one. Those that are under way by then
 * may come to hang, too: ERRANDS_THREADS_MAX is what bounds all of them.
 *
 * Thread-safe.
 */
#ifndef DECIMA_BASE_ERRANDS_H
#define DECIMA_BASE_ERRANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { ERRANDS_STUCK_MAX = 8, ERRANDS_THREADS_MAX = 64 };

struct errands;

enum errand_kind { ERRAND_STAT, ERRAND_READ, ERRAND_TEXT, ERRAND_CLOSE };

/* Whoever has it may have it made as often as wished. */
struct errand {
	enum errand_kind kind;
	uint64_t offset; /* ERRAND_READ: from there */
	/* ERRAND_READ, and ERRAND_TEXT from where the descriptor stands: so many bytes, or up to the file's end: at most what there is room for */
	size_t n;
	uint64_t place; /* that may hang: a process (below); 0: the descriptor's file system */
	struct stat st; /* the answer to ERRAND_STAT */
	int64_t cpu_ns; /* that the thread spent on it */

	/* Theirs, under their lock. */
	struct errand *next;
	struct errand *closes; /* made behind it */
	ssize_t result;
	uint64_t dev;
	int fd;
	bool is_taken, is_done, is_left;

	char data[]; /* the answer to ERRAND_READ and ERRAND_TEXT */
};

/* No file system has this number. */
static inline uint64_t errand__process(uint32_t pid)
{
	return UINT64_C(1) << 63 | pid;
}

/* The first thread, of that (constant) name, begins with the first errand. NULL when memory ran out. */
struct errands *errands__new(const char *name, int64_t patience_ns);
/* Nobody is waiting any more. Those that hang are left behind with what they need. NULL is fine. */
void errands__free(struct errands *e);

/* With room for so many bytes; free() ends it. NULL when memory ran out. */
struct errand *errand__new(size_t room);

/*
 * 0 or the number of bytes that were read; -ETIMEDOUT: it hangs, and *errand and *fd are gone (NULL,
 * -1); -EBUSY: one hangs at this place already, or too many do, so it was not tried; -EAGAIN:
 * no thread can be had, or none came to it in time; else an errno of the call. e NULL: we make it
 * ourselves.
 */
ssize_t errands__make(struct errands *e, struct errand **errand, int *fd);

/*
 * 0, or -ETIMEDOUT: it will be, when the file system answers. -1 is fine. Where no thread can be had
 * it is closed here, at a file system of which nothing is known to hang.
 */
int errands__close(struct errands *e, int fd);

/* Does one hang at this device (st_dev)? */
bool errands__is_stuck_at(struct errands *e, uint64_t dev);

struct errands_stat {
	uint64_t n_hung;    /* that were not waited for, of all time */
	uint64_t n_refused; /* that were not made, of all time: -EBUSY and -EAGAIN, but for closing */
	uint32_t n_stuck;   /* of n_hung, which hang yet */
};
struct errands_stat errands__stat(struct errands *e);

#endif
