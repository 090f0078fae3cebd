/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/frames.h - which functions, files and lines lie at addresses of an ELF file
 *
 * Beyond the symbol table: functions that were inlined, and source lines, from Go's own tables and
 * from DWARF, for the addresses that were sampled and no others. DWARF of a stranger can keep a
 * reader busy for hours and take all memory, so the work is one function from bytes and descriptors
 * to bytes, frames__answer(), which a process without rights runs and which its parent kills at the
 * deadline. It keeps nothing from one call to the next. What it answers is as foreign as the file:
 * frames__read() checks it.
 *
 *	frames__ask() -> request -> frames__answer(request, descriptors) -> answer -> frames__read()
 *
 * Threads: any; nothing is shared.
 */
#ifndef DECIMA_SYMBOLIZE_FRAMES_H
#define DECIMA_SYMBOLIZE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

enum {
	FRAMES_MAX_ADDRESSES = 4096, /* of one request */
	FRAMES_MAX_DEPTH = 64,	     /* frames at one address; inlining deeper than that is cut */
	FRAMES_MAX_TEXT = 4096,	     /* bytes of a name or path; what is longer is left out */
	FRAMES_MAX_FILES = 4,	     /* descriptors of one request */
	FRAMES_MAX_ANSWER = 32 << 20 /* bytes */
};

/* Which file a descriptor is; a request has each at most once. */
enum frames_file {
	FRAMES_ELF, /* the program or library itself: Go's tables, and DWARF where it was not split off */
	FRAMES_DEBUG, /* its separate debuginfo: DWARF is taken from here */
	FRAMES_ALT,   /* what dwz moved out of the debuginfo of several files (.gnu_debugaltlink) */
	FRAMES_PACKAGE, /* what -gsplit-dwarf split off FRAMES_ELF, packed by dwp (.dwp) */
};

struct frames_question {
	const uint64_t *addresses; /* [n], ELF virtual addresses */
	uint32_t n;
	bool inlines;			 /* else one frame an address */
	int64_t budget_ns;		 /* of time: what is not found by then has FRAMES_LATE */
	uint64_t max_bytes;		 /* of sections once decompressed; 0: 2 GiB */
	uint8_t files[FRAMES_MAX_FILES]; /* enum frames_file of each descriptor */
	uint32_t n_files;
	/*
	 * Map the files instead of reading their sections into memory: only for a process that may
	 * die of a file that shrinks meanwhile.
	 */
	bool map;
};

/* What came of one address. */
enum frames_state {
	FRAMES_NOTHING, /* neither line nor function is known there */
	FRAMES_FOUND,
	FRAMES_LATE,	  /* the budget of time was over */
	FRAMES_TOO_LARGE, /* the file's sections are larger than max_bytes, or memory ran out */
	FRAMES_DAMAGED,	  /* its DWARF cannot be read */
	FRAMES_N_STATES
};

struct frame {
	const char *name; /* as compiled (mangled); "": only the line is known, the function is the symbol's */
	const char *file;	   /* path as the compiler had it, of the line; "": unknown */
	const char *home;	   /* where the function is declared; "": as `file` */
	uint32_t line, start_line; /* 0: unknown */
};

struct frames_span {
	uint32_t off;
	uint8_t n;     /* frames[off .. off + n), the innermost inlined first */
	uint8_t state; /* enum frames_state */
};

/* An answer, read. */
struct frames {
	struct frames_span *spans; /* [n], as the question's addresses */
	uint32_t n;
	struct frame *frames; /* texts lie in `text` */
	uint32_t n_frames;
	char *text;
};

/* Appends the request. -EINVAL when the question is over a limit, -ENOMEM. */
int frames__ask(const struct frames_question *q, struct buf *ret_request);

/*
 * Appends the answer. Descriptors are borrowed, in the order of the question's files.
 * -EINVAL: no request; -ENOMEM.
 */
int frames__answer(const uint8_t *request, size_t n, const int *fds, uint32_t n_fds,
		   struct buf *ret_answer);

/* Reads an answer to a question of n_addresses. -EBADMSG: it is none; -ENOMEM. */
int frames__read(const uint8_t *answer, size_t n, uint32_t n_addresses, struct frames *ret);
void frames__fini(struct frames *f);

#endif
