/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/reading.h - a file on its way into the symbol store; private to this folder
 *
 * A file is read together with what was split off it. What comes of that are a table of symbols,
 * which needs the files no more, and the files that stay open to tell lines.
 */
#ifndef DECIMA_SYMBOLIZE_READING_H
#define DECIMA_SYMBOLIZE_READING_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/symbolize/elf.h"
#include "core/symbolize/file_table.h"

struct symbols;

/* What was read of a file, and why addresses without a symbol have none. */
struct reading {
	struct symbol_table *table;
	struct debug_source *source;	  /* or NULL */
	uint8_t why;			  /* enum dcm_unnamed */
	bool searched, found;		  /* separate debuginfo */
	bool is_unanswered;		  /* some of it may yet be there: nobody answered */
	bool is_complete;		  /* symbols, and lines where they are wanted */
	bool is_kept;			  /* it is the file that is kept on disk */
	char build_id[ELF_BUILD_ID_TEXT]; /* "": none */
};

/* What is read: one that was offered, another one of its build id, or the one that is kept on disk. */
enum reading_of { READING_OFFERED, READING_RIVAL, READING_KEPT };

/*
 * Reads the file, which stays the caller's, and hands over what is worth keeping on disk. path:
 * where its process sees it, for links. -EALREADY: a rival that has nothing to tell beyond what
 * every file of its build id has; otherwise as elf__load(). Any thread, without a lock.
 */
int reading__take(struct symbols *s, int fd, struct dcm_str path, enum reading_of what,
		  struct reading *ret);
void reading__fini(struct reading *r); /* what was handed on is NULL */

/* Is what was read more than what is there, and less in nothing? */
bool reading__is_better(const struct reading *r, const struct symbol_table *table,
			const struct debug_source *source);

/* Is it less in something? */
bool reading__is_worse(const struct reading *r, const struct symbol_table *table,
		       const struct debug_source *source);

#endif
