/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/source.h - one process's perf map or jitdump, followed as it grows
 *
 * A file is opened beneath a root directory without following a link out of it, and only when it is
 * a regular file that belongs to the process's user or to root: anyone may write into /tmp. It is
 * read from where the last reading ended. When it is another file (inode), shorter, or not the same
 * text any more just before that place, it was rewritten and is read anew. The descriptor is kept,
 * so that a container's map stays readable when the container is gone.
 *
 * A last line without a newline may be half of one: it is taken once size and time of the file have
 * stood still for two seconds, and read again when more comes.
 *
 * A file system that does not answer takes the descriptor along (errands.h). What was read before
 * is still known; the file is opened anew once it answers.
 *
 * Not thread-safe.
 */
#ifndef DECIMA_PERF_MAP_SOURCE_H
#define DECIMA_PERF_MAP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "plugins/input/perf_map/dump.h"
#include "core/base/errands.h"
#include "plugins/input/perf_map/map.h"

/* A last line without a newline is one when its file's size and time stood still for so long. */
#define SOURCE_STILL_NS INT64_C(2000000000)

enum {
	SOURCE_MARK_BYTES = 128,	/* of text before the offset that are compared */
	SOURCE_BYTES_AT_ONCE = 32 << 20 /* read by one call, work (dump.h) included: 0.2 to 0.3 s */
};

/* Who may own the file. */
struct source_owner {
	uid_t uid, euid;
	const struct dcm_host *host; /* opens it; NULL: we do */
};

enum source_format {
	SOURCE_PERF_MAP, /* lines of text */
	SOURCE_JITDUMP,	 /* records */
	SOURCE_FORMATS
};

struct source {
	enum source_format format;
	struct errands *errands; /* borrowed; NULL: we wait ourselves for file systems */
	struct map map;		 /* names */
	struct dump dump;	 /* of SOURCE_JITDUMP: the reader, and lines */
	int fd;			 /* -1: none */
	uint64_t dev, ino, offset;
	char mark[SOURCE_MARK_BYTES]; /* the text before offset */
	uint32_t n_mark;
	bool skip_line;			       /* the reading began inside of a line */
	bool is_cut;			       /* the reading began behind the file's beginning */
	bool told_cut, told_skipped;	       /* of this file: said already */
	uint64_t lines_before, skipped_before; /* counts when this file was opened */
	uint64_t n_unread; /* bytes of perf maps that were passed over, of all time: each once */
	uint64_t reached; /* of this file, read or counted there: a second reading counts none again */
	bool is_behind;	  /* the last reading stopped at SOURCE_BYTES_AT_ONCE */
	uint64_t n_reads; /* bytes that were read, of all time */
	uint64_t n_rewrites;
	/*
	 * What is behind the offset, when no newline ends it: the file's size and time as they have
	 * been since then, and whether it was taken for a line. 0 bytes: there is none.
	 */
	struct source_rest {
		uint64_t file_bytes;
		struct timespec mtime;
		int64_t since_ns;
		bool is_taken;
	} rest;
	bool has_hung; /* its file system did not answer once */
};

/* max_bytes: of names; a jitdump's lines may take as much again. */
void source__init(struct source *s, enum source_format format, uint64_t max_bytes,
		  struct errands *errands);
void source__fini(struct source *s);
/* Forgets what was read; the next reading begins anew. */
void source__forget(struct source *s);

/*
 * Opens `path` (absolute) beneath the directory root_fd when it is not the file that is open
 * already. Kept as it was when there is none now. not_before_s: a file that was last changed
 * earlier (seconds, real) is of an older process with the same pid. 0, -ENOENT, -EACCES (not ours
 * to read, or of a foreign owner), -ENOEXEC (no regular file), -ESTALE (too old), -ETIMEDOUT and
 * -EBUSY (its file system does not answer), -EAGAIN (no thread could ask it), ...
 */
int source__open(struct source *s, int root_fd, const char *path, const struct source_owner *owner,
		 int64_t not_before_s);

/*
 * Reads what is new, at most SOURCE_BYTES_AT_ONCE, and of a perf map larger than max_file_bytes
 * only its end (a jitdump has no place to begin but its start; most of it is code, passed over). 0,
 * or a negative errno: what was read before is still known.
 */
int source__read(struct source *s, uint64_t max_file_bytes);

/* What has been counted of all time, and the memory that is in use. */
struct source_stat {
	uint64_t n_lines, n_skipped, n_forgotten, n_rewrites; /* lines, or records */
	uint64_t n_cut;					      /* as dump.h has it */
	uint64_t n_unread; /* bytes before the end that is read */
	uint64_t bytes;
};
struct source_stat source__stat(const struct source *s);

/* Ranges that would be forgotten by source__forget(). */
uint64_t source__n_known(const struct source *s);

#endif
