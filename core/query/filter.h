/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/filter.h - which stacks count, and which of their frames are drawn
 *
 * Rules, all of which hold at once, applied in this order whatever the order in which they were
 * given:
 *
 *	FILTER_ONLY_STACKS  stacks in which some frame matches; the others are left out
 *	FILTER_HIDE_STACKS  stacks in which no frame matches; the others are left out
 *	FILTER_FOCUS        stacks in which some frame matches, shown from the outermost one that
 *	                    does: its callers are cut off, and it becomes a root; a second rule of
 *	                    this kind looks at what the first has left
 *	FILTER_HIDE         frames that match are taken out; what they weigh goes to their callers,
 *	                    and a stack of which nothing is left weighs on the root
 *
 * A rule looks at one field of a frame: the function's name (as shown, or as in the symbol table),
 * its source file, the base name of its binary, its line, its address ("0x1f00"), or its kind.
 * Inlined functions are frames. Patterns are searched for anywhere in the text (^ and $ anchor); an
 * `equal` rule compares the whole text, without a regex. What stacks that were left out weigh is
 * reported as `filtered`, so that shown + filtered = all, exactly.
 *
 * A filter is constant once made; any number of threads may use one.
 */
#ifndef DECIMA_QUERY_FILTER_H
#define DECIMA_QUERY_FILTER_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/query/frames.h"

enum filter_kind { FILTER_ONLY_STACKS, FILTER_HIDE_STACKS, FILTER_FOCUS, FILTER_HIDE };

enum filter_field {
	FILTER_FUNCTION,
	FILTER_FILE,
	FILTER_BINARY,
	FILTER_LINE,
	FILTER_ADDRESS,
	FILTER_FRAME_KIND, /* native, kernel, jit, interpreted, note */
	FILTER_N_FIELDS
};

/* Rules are bits of a mask. */
#define FILTER_MAX_RULES 32u

struct filter;

struct filter *filter__new(void); /* NULL when memory ran out */
void filter__free(struct filter *f);
DEFINE_CLEANUP(struct filter *, filter__free);

/* -EINVAL: the pattern, said why; -E2BIG: too many rules; -ENOMEM. */
int filter__add(struct filter *f, enum filter_kind kind, enum filter_field field, bool equal,
		struct dcm_str pattern, struct dcm_error *err);

/*
 * The same from text: PATTERN, or FIELD~PATTERN, or FIELD=TEXT with FIELD one of fn file bin line
 * addr kind followed by a colon ("bin:~^libc", "kind:=kernel"). A plain pattern is about functions;
 * one that begins with another word, a colon and = or ~ is refused.
 */
int filter__add_text(struct filter *f, enum filter_kind kind, struct dcm_str text, struct dcm_error *err);

bool filter__is_empty(const struct filter *f); /* NULL is empty */

/*
 * How often, since it was made, a rule's regex could not tell whether a text matches
 * (core/config/regex.h): it was taken for no match. NULL: never.
 */
uint64_t filter__n_undecided(const struct filter *f);

/* A filter's verdicts over one table of frames: regexes have run once a text. */
struct filter_marks {
	const struct frames *frames;
	uint32_t *slots; /* [frames->n_slots] bits of the rules that match; NULL: no rules */
	uint32_t only, hide_stacks, focus, hide; /* bits of the rules by kind */
};
int filter__mark(const struct filter *f, const struct frames *frames, struct filter_marks *ret,
		 struct dcm_error *err);
void filter_marks__fini(struct filter_marks *m);

/*
 * A stack's slots, outermost first: grows as needed, reused from stack to stack. Zeroed is empty.
 */
struct filter_path {
	uint32_t *v; /* [n] into frames->slots */
	size_t n, cap;
};
void filter_path__fini(struct filter_path *p);

/* 1: counts, and *path says how it looks; 0: filtered out; -ENOMEM. */
int filter__path(const struct filter_marks *m, uint32_t stack, struct filter_path *path);

/*
 * The answer as if the store had held the filtered stacks only, for formats that are made from
 * batches. A location of which some inlined frames are hidden is there without their lines.
 * ret_filtered is what the stacks left out weighed, by value column of their profile. max_bytes: as
 * of builder__new().
 */
int filter__batch(const struct filter *f, struct dcm_batch *batch, uint64_t max_bytes,
		  struct dcm_batch **ret_batch, int64_t ret_filtered[static 16], struct dcm_error *err);

#endif
