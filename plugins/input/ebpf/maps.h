/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/maps.h - the executable mappings of one process at one moment
 *
 * Read from /proc/PID/maps a block at a time and cut to what is executable, because a process may
 * have 100,000 other mappings. A `struct maps` is made, filled with files as addresses are met (by
 * the reader thread), and shared by reference with the windows that were sampled under it.
 */
#ifndef DECIMA_EBPF_MAPS_H
#define DECIMA_EBPF_MAPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/cleanup.h"
#include "core/base/errands.h"
#include "plugins/input/ebpf/perf_record.h"

enum { MAPS_RANGES = 65536 };		     /* kept of one process */
#define MAPS_PATIENCE_NS INT64_C(1000000000) /* for a block of the text */
/* For all of it: 100,000 mappings take their time on a busy machine. */
#define MAPS_PATIENCE_ALL_NS (4 * MAPS_PATIENCE_NS)

struct maps_range {
	uint64_t start, end; /* [start, end) */
	uint64_t offset;     /* in the file, of `start` */
	uint64_t ino;
	uint32_t major, minor;
	uint8_t kind;	     /* DCM_MAPPING_FILE, _VDSO or _ANON */
	bool is_counted;     /* in exec_bytes */
	struct dcm_str name; /* path or "[...]", with a NUL behind it; empty for unnamed memory */
	int64_t time_ns;     /* mono: when it was made, or when the reading began that showed it */
	/* The kernel told of the mapping itself (perf_record.h), with more than /proc shows: */
	bool is_told;
	uint64_t generation; /* of the inode */
	/*
	 * NULL: not looked at yet, or no file. The reader sets it while others look, by the
	 * functions below. How often it asked in vain in that window: see files__may_retry().
	 */
	struct file *file;
	uint32_t tried_window;
	uint8_t n_tries;
};

static inline struct file *maps_range__file(const struct maps_range *r)
{
	return __atomic_load_n(&r->file, __ATOMIC_ACQUIRE);
}
static inline void maps_range__set_file(struct maps_range *r, struct file *file)
{
	__atomic_store_n(&r->file, file, __ATOMIC_RELEASE);
}

struct maps {
	_Atomic uint32_t refs;
	_Atomic bool wrong; /* found out later: it was read after another exec() */
	bool cut;	    /* there were more than MAPS_RANGES */
	/* Of some ranges of a state: a reference to what is wrong when those of its process are. NULL: a whole state. */
	struct maps *judge;
	uint32_t n;
	struct maps_range *ranges; /* [n], ascending */
	uint64_t exec_bytes;	   /* as the kernel counts them: its mm->exec_vm, in bytes */
	struct arena arena;
};

/* Feed the text in pieces, then finish. The parser owns the maps until then. */
struct maps_parser {
	struct maps *maps;
	char line[4352]; /* PATH_MAX and what stands before it */
	size_t n;
	size_t cap;    /* of maps->ranges */
	bool overlong; /* the line did not fit: skipped */
	int error;     /* -ENOMEM */
};

int maps__parse_begin(struct maps_parser *p); /* 0 or -ENOMEM */
void maps__parse(struct maps_parser *p, const char *text, size_t n);
/*
 * 0 with the caller's reference, or -ENOMEM with nothing left behind. Lines that make no sense were
 * left out.
 */
int maps__parse_end(struct maps_parser *p, struct maps **ret_maps);

/* Who reads: a process whose mappings are locked, for as long as it likes, is waited for by a thread. */
struct maps_reader {
	struct errands *errands; /* NULL: we wait ourselves */
	int64_t patience_ns;	 /* for all of it: what is not complete by then is given up */
	uint32_t pid;		 /* of whom it is read */
	int64_t time_ns;	 /* mono: when the reading begins */
	int64_t cpu_ns;		 /* added up: that the threads spent on it */
};

/*
 * The file `maps` in a directory of /proc. -ENODATA when it is empty (a kernel thread, or a leader
 * that ended before its threads), -ESRCH when the process is gone, -EACCES; -ETIMEDOUT when it was not
 * opened or read in time; -EAGAIN when nobody could read it: no thread can be had, or too many hang with
 * other processes. reader NULL: nobody waits for us.
 */
int maps__read(const struct dcm_host *host, int proc_dir, struct maps_reader *reader,
	       struct maps **ret_maps);

/*
 * `base` (NULL: nothing) with [n] newer mappings laid over it, oldest first; what they cover of
 * older ones is gone. Files that were found are kept, the rest is copied. 0 with the caller's
 * reference, -ENOMEM.
 */
int maps__apply(const struct maps *base, const struct maps_range *newer, uint32_t n,
		struct maps **ret_maps);

/* The same mappings of the same files. */
bool maps__equal(const struct maps *a, const struct maps *b);

/* They are of one file. */
bool maps_range__same_file(const struct maps_range *a, const struct maps_range *b);

/* What a record of the kernel says was mapped; views the record's name. */
struct maps_range maps__range_of(const struct perf_record *record);

/*
 * Only the ranges in which these frames [n] lie, a caller's a byte before its return address: with the caller's
 * reference; NULL when memory ran out. They are wrong when `judge` is, which has no ranges (maps__empty()): many of
 * one process share it.
 */
struct maps *maps__of_frames(const struct maps *m, const uint64_t *frames, uint32_t n, struct maps *judge);
struct maps *maps__empty(void); /* the same */

static inline bool maps__is_wrong(const struct maps *m)
{
	return m->wrong || (m->judge && m->judge->wrong);
}

/* The same for maps__equal() ones. */
uint64_t maps__hash(const struct maps *m);

/* What it takes in memory. */
size_t maps__bytes(const struct maps *m);

/* The range that holds the address, or NULL. */
struct maps_range *maps__find(const struct maps *m, uint64_t address);

/* The first range that does not end at or before the address, or NULL. */
struct maps_range *maps__find_from(const struct maps *m, uint64_t address);

/* Files that were found for the same mappings at an earlier moment. `m` has none yet. */
void maps__take_files(struct maps *m, const struct maps *older);

static inline struct maps *maps__ref(struct maps *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}
void maps__unref(struct maps *m); /* NULL is fine; any thread */
DEFINE_CLEANUP(struct maps *, maps__unref);

#endif
