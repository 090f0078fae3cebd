/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/lookup.h - one walk over a batch's locations; what resolve.c and fill.c share;
 * private to this folder
 */
#ifndef DECIMA_SYMBOLIZE_LOOKUP_H
#define DECIMA_SYMBOLIZE_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/symbolize/demangle.h"
#include "core/symbolize/store.h"

/* A mapping's file at the time of asking. */
struct view {
	bool wanted; /* some location in it has no name */
	struct dcm_str build_id;
	uint64_t hash;
	struct symbol_table *table;  /* or NULL: */
	uint8_t why;		     /* enum dcm_unnamed */
	uint32_t rank;		     /* of the table: how many functions it has */
	struct debug_source *source; /* or NULL */
	bool is_kept;		     /* the table is of the file that is kept on disk */
	struct names *names;	     /* what was resolved before; or NULL */
	bool known;		     /* the store has heard of the file */
};

/* One walk over a batch. */
struct lookup {
	struct symbols *s;
	const struct dcm_batch *batch;
	int64_t asked_ns;   /* when the walk began, on the store's monotonic clock */
	struct view *views; /* [batch->n_mappings] */
	uint64_t hits, misses, learned_hits;
	struct learned_line line; /* the answer of a table */
	char human[DEMANGLE_MAX_OUTPUT];
};

bool lookup__can_be_named(const struct dcm_batch *b, const struct dcm_location *l);

/* What is looked up for a location that can be named. */
struct learned_key lookup__key(const struct lookup *l, const struct dcm_location *loc);

/*
 * What is remembered of an address, by this process or on disk. Under learned_lock, until the
 * caller has used the texts.
 */
bool lookup__known(struct lookup *l, const struct view *v, const struct learned_key *key,
		   struct learned *ret);
/* Remembers what was found, and has names written down. Under learned_lock. */
void lookup__learn(struct lookup *l, const struct view *v, const struct learned_key *key,
		   const struct learned *what);

/* The symbol of an address in the view's table, demangled; texts live until the next call. */
bool lookup__symbol(struct lookup *l, const struct view *v, const struct learned_key *key,
		    struct learned_line *ret);

/*
 * Asks the files' debug information for lines and inlined functions of every location that was not
 * asked for yet, and remembers the answers (fill.c). Not after the deadline (CLOCK_MONOTONIC; 0:
 * none). What is not done then is asked another time.
 */
void fill__lookup(struct lookup *l, int64_t deadline_ns);

#endif
