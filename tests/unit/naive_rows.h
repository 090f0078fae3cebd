/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/naive_rows.h - the rows of an answer as lists of frames, made the slow and simple way
 *
 * What trees, tables and filters are held against: nothing here is shared with core/query but the
 * name that an unnamed frame gets. Patterns of rules are plain text that is searched for (or
 * compared, when `equal`).
 */
#ifndef DECIMA_TESTS_UNIT_NAIVE_ROWS_H
#define DECIMA_TESTS_UNIT_NAIVE_ROWS_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/query/filter.h"
#include "core/query/frames.h"

struct naive_frame {
	char *key; /* what makes it the same as another one in the grouping */
	char *name, *system_name, *file, *binary, *line, *address, *kind;
};

struct naive_row {
	struct naive_frame *frames; /* [n] outermost first */
	uint32_t n;
	int64_t values[2];
	bool filtered; /* left out; frames are then the whole stack */
};

struct naive_rule {
	enum filter_kind kind;
	enum filter_field field;
	bool equal;
	const char *text;
};

struct naive_rows {
	struct naive_row *v;
	uint32_t n;
};

/* Aborts when memory runs out. */
struct naive_rows naive_rows__make(const struct dcm_batch *batch, enum frames_group group,
				   const struct naive_rule *rules, uint32_t n_rules);
void naive_rows__free(struct naive_rows *rows);

/* The key that a frame of the code under test has. Caller frees. */
char *naive_rows__key_of(const struct frame *f, enum frames_group group);

/*
 * An answer as a store makes it: n_profiles profiles of n_types types over the stacks of a random
 * batch.
 */
struct dcm_batch *naive_rows__answer(uint64_t seed, unsigned random_flags, uint32_t n_profiles,
				     uint32_t n_types);

#endif
