/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/depot.h - reduced ELF files, and what was resolved, in a directory, by build id;
 * private to this folder
 *
 *	DIR/LOCK			held by who writes
 *	DIR/.build-id/ab/cdef.elf	a program or library, reduced (extract.h), and a trailer
 *	DIR/.build-id/ab/cdef.debug	its separate debuginfo, likewise
 *	DIR/.build-id/ab/cdef.names	what was resolved of it (names.h), appended to
 *	DIR/aside/abcdef.elf		what was damaged
 *	DIR/new-XXXXXX			being written
 *
 * The trailer (docs/FORMATS.md) has a checksum, which is looked at whenever a file is opened. A
 * file is written beside, synced, and renamed, so readers of other processes need no lock. A file's
 * time is that of its last use, to the hour (of what is in somebody's memory, depot__note_use()
 * tells it): what was not used for max_age_ns goes, and beyond max_bytes what was used longest ago.
 * Names are made of checked hex digits and nothing else, but for the '~' of a stand-in (plugin.h),
 * under which no file is kept, only what was resolved: DIR/.build-id/ab/~cd.names.
 *
 * A disk that is full, or a directory that cannot be written, is no error of anybody's: what is new
 * is not kept, counted, and depot__stat() has a sentence that says why.
 */
#ifndef DECIMA_SYMBOLIZE_DEPOT_H
#define DECIMA_SYMBOLIZE_DEPOT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/clock.h"

struct depot;

struct depot_config {
	const char *dir;	   /* made when it is not there, unless read_only; copied */
	uint64_t max_bytes;	   /* of all files; what is set aside counts */
	int64_t max_age_ns;	   /* since the last use; 0: no bound */
	bool read_only;		   /* nothing is written, moved or touched */
	const struct clock *clock; /* real time is compared with times of files */
};

enum depot_kind { DEPOT_ELF, DEPOT_DEBUG, DEPOT_N_KINDS };

/* What a file can tell, as it was before it was reduced. */
enum { DEPOT_SYMTAB = 1, DEPOT_DWARF = 2, DEPOT_GO = 4 };

/*
 * Also when the directory cannot be used: the depot then is empty, and its state says why. 0 or
 * -ENOMEM.
 */
int depot__new(const struct depot_config *config, struct depot **ret);
void depot__free(struct depot *d); /* NULL is fine */

/*
 * A descriptor to read, its content checked. -ENOENT: not there, or the id is no build id (2 to 64
 * bytes in lower-case hex); -EBADMSG: damaged, and set aside; or of opening. Any thread.
 */
int depot__open(struct depot *d, const char *build_id, enum depot_kind kind);

/* What the file that is there can tell (DEPOT_SYMTAB, ...), not checked; -ENOENT. Any thread. */
int depot__tells(struct depot *d, const char *build_id, enum depot_kind kind);

/*
 * Would a file that tells this be worth keeping beside, or in the place of, what is there? Any
 * thread.
 */
bool depot__wants(struct depot *d, const char *build_id, enum depot_kind kind, unsigned tells);

/* A new file, being written. */
struct depot_put {
	int fd; /* empty, for reading and writing; closed by end and abort */
	char path[PATH_MAX];
};
/* 0, -EROFS (read_only, or another process writes), or of the disk. */
int depot__begin(struct depot *d, struct depot_put *ret);
/*
 * Checks that the file has that build id, and puts it in its place. -EBADMSG: it has not. Ends the
 * put in any case.
 */
int depot__end(struct depot *d, struct depot_put *put, const char *build_id, enum depot_kind kind,
	       unsigned tells);
/* Gives it up; why: -ENOSPC and the like are told by the state. */
void depot__abort(struct depot *d, struct depot_put *put, int why);

/*
 * The whole log of names, appended to ret; id may be a stand-in. -ENOENT, -EFBIG (over max), or of
 * reading. Any thread.
 */
int depot__read_names(struct depot *d, const char *id, size_t max_bytes, struct buf *ret);
bool depot__has_names(const struct depot *d, const char *id);
/*
 * Whether anything is there that a name may come from, of either kind or a log. Quick for ids of which there is nothing:
 * a question about a host's day asks for hundreds. Any thread.
 */
bool depot__has_any(struct depot *d, const char *id);
/*
 * Appends to the log, which must have that many bytes now (0: it is made); not synced. -ESTALE: it
 * has another number; -EROFS; -EINVAL (no id); or of the disk, and then it has as many as before.
 * One thread at a time.
 */
int depot__append_names(struct depot *d, const char *id, uint64_t at, const struct buf *bytes);
/* Puts a log in the place of what is there, synced. Errors as above. One thread at a time. */
int depot__replace_names(struct depot *d, const char *id, const struct buf *bytes);

/* Removes the file, or the log, if it is there. Any thread; the log: who writes it. */
void depot__remove(struct depot *d, const char *build_id, enum depot_kind kind);
void depot__remove_names(struct depot *d, const char *id);

/* All that is kept under the id was used, without being read. Cheap, but not free. Any thread. */
void depot__note_use(const struct depot *d, const char *id);

/*
 * False, for good: read_only, another process writes, or the directory cannot be had. Any thread.
 */
bool depot__writes(const struct depot *d);

const char *depot__dir(const struct depot *d);
bool depot__is_log(const char *name); /* of names, among the files of a depot */
/* Names that were made in a directory last from now on. */
int depot__sync_folder(const char *path);
/*
 * Copies all of it into a directory, which is made, for a depot of its own (depot_copy.c). -EEXIST:
 * there is one already. Any thread, beside everything else.
 */
int depot__copy(const struct depot *d, const char *to, struct dcm_error *err);

/* Removes what is old or too much; cheap when there is none. One thread. */
void depot__tend(struct depot *d);

struct depot_stat {
	/* Of now, of a read-only one as they were at the start; files without the logs of names. */
	uint64_t bytes, n_files, n_logs;
	uint64_t n_put, n_evicted, n_expired, n_set_aside; /* since the start */
	char state[256]; /* why nothing is kept; "": all is well */
};
void depot__stat(struct depot *d, struct depot_stat *ret); /* any thread */

#endif
