/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/contract/storage_sql.h - the same rows in SQLite, and every question as plain SQL over all
 * of them
 *
 * Brute force: each answer is computed from the rows by a query that says what <decima/plugin.h>
 * says, with no index, no dictionary and nothing shared with a store. Answers are written in the
 * form of storage_answers.h.
 *
 * Sums of gauges are computed in 64 bits: values must stay below 2^40 in sum.
 */
#ifndef DECIMA_TESTS_CONTRACT_STORAGE_SQL_H
#define DECIMA_TESTS_CONTRACT_STORAGE_SQL_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "tests/contract/storage_answers.h"

struct sql;

struct sql *sql__new(void);
void sql__free(struct sql *s);

/* A batch id that was written before is not written again. */
void sql__write(struct sql *s, const struct dcm_batch *batch);

void sql__ask(struct sql *s, const struct asked *a, struct buf *out);

/* Both return how many profiles (a type each) were removed or changed. */
uint64_t sql__remove(struct sql *s, const struct dcm_select *sel);
uint64_t sql__retain(struct sql *s, int64_t cutoff_ms);

/* n_profiles, n_rows, n_series, first_ms and last_ms. */
void sql__stat(struct sql *s, struct dcm_store_stat *ret);

#endif
