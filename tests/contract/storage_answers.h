/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/contract/storage_answers.h - what a store answers, as text in one form, so that answers can
 * be compared
 *
 * Lists keep the order in which they came, because the order is part of the contract. Rows of a
 * merge, whose order is not, are sorted; a stack is written as its content hash, which the builder
 * computed anew.
 */
#ifndef DECIMA_TESTS_CONTRACT_STORAGE_ANSWERS_H
#define DECIMA_TESTS_CONTRACT_STORAGE_ANSWERS_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "tests/contract/storage_host.h"

/* A question of any kind. */
struct asked {
	enum { ASK_TYPES, ASK_LABELS, ASK_VALUES, ASK_SERIES, ASK_POINTS, ASK_MERGE, ASK_N } what;
	struct dcm_select sel[2];
	uint32_t n_sel;	     /* ASK_MERGE: 1 or 2 */
	struct dcm_str name; /* ASK_VALUES */
	int64_t step_ms;     /* ASK_POINTS */
	struct dcm_str by_labels[4];
	struct dcm_group_by by;
};

/* Appends the answer; returns what the operation did. */
int answers__ask(struct storage *s, const struct asked *a, struct buf *out, struct dcm_error *err);

/* Whether two answers differ; then the first line that does, of each, is appended to `out`. */
bool answers__differ(const struct buf *expected, const struct buf *got, struct buf *out);

/* Sorts the lines of a text in place. */
void answers__sort_lines(struct buf *text);

/* "lo-hi" in hex. */
void answers__put_hash(struct buf *out, struct dcm_hash h);

/* Texts between quotes-free bars: labels and values of the tests hold neither '|' nor line ends. */
void answers__put_type(struct buf *out, const struct dcm_type_info *info);

#endif
