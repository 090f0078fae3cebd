/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/problems.h - everything that is wrong with a configuration, each with its place
 *
 * A run of the daemon needs the first error; `decima check` shows all. So code that reads a
 * configuration goes on after a fault and reports into one of these. At most PROBLEMS_MAX are kept,
 * the rest are counted. A zeroed struct is an empty list. Single-threaded.
 */
#ifndef DECIMA_CONFIG_PROBLEMS_H
#define DECIMA_CONFIG_PROBLEMS_H

#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/buf.h"

/* Where something was written. line 0: the whole of `file`, which may be "--set a.b=c" as well. */
struct place {
	const char *file; /* NULL: nowhere; lives as long as the tree that the place comes from */
	uint32_t line, column; /* from 1; columns count characters */
};

enum problem_severity {
	PROBLEM_ERROR,	/* the configuration cannot be used */
	PROBLEM_WARNING /* it can, but somebody should look */
};

#define PROBLEMS_MAX 20

struct problem {
	enum problem_severity severity;
	struct place at;  /* file is a copy of this list's own */
	const char *text; /* object, fault, remedy; one line without the place */
};

struct problems {
	struct arena arena;
	struct problem v[PROBLEMS_MAX]; /* [n], by line within a file */
	uint32_t n;
	uint32_t n_errors, n_warnings; /* all, also those that are not kept */
	bool no_memory; /* sticky: a text could not be kept, or problems__nomem() was called */
};

void problems__fini(struct problems *p);

/* Always returns -EINVAL for an error and 0 for a warning. at may be NULL. */
int problems__add(struct problems *p, enum problem_severity severity, const struct place *at,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Marks the list: problems__code() is -ENOMEM from now on. Returns -ENOMEM. */
int problems__nomem(struct problems *p);

/* 0 (warnings do not count), -EINVAL or -ENOMEM. */
int problems__code(const struct problems *p);

/*
 * "FILE:LINE:COL: SENTENCE" of the first error, and how many more there are. Returns
 * problems__code().
 */
int problems__first(const struct problems *p, struct dcm_error *err);

/*
 * One line for each: "FILE:LINE:COL: SENTENCE", "FILE:LINE:COL: warning: SENTENCE"; the last counts
 * the rest.
 */
void problems__text(const struct problems *p, struct buf *out);

/* [{"severity":"error","file":..,"line":..,"column":..,"message":..}, ...] */
void problems__json(const struct problems *p, struct buf *out);

/* "FILE:LINE:COL", "FILE" or "" into the buffer. Returns it. */
const char *place__text(const struct place *at, char buf[static 300]);

#endif
