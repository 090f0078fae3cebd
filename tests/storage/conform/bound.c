/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/bound.c - more series than a store may have
 *
 * The reference has no bound, and is told what is left of each batch: the batch itself, or its
 * overflow, or nothing.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "tests/storage/conform/conform.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/series_batch.h"

enum { N_WRITES = 80 };

static bool write_one(struct trial *t, struct series_room *room, struct random *r, uint32_t i)
{
	const int64_t time_ms = RANDOM_BASE_NS / 1000000 + i;
	const uint32_t n = (uint32_t)random__below(r, SERIES_BATCH_MAX);
	const bool is_gauge = random__below(r, 4) == 0;
	struct dcm_batch *batch = series_batch__new(time_ms, n, is_gauge);
	struct dcm_batch *expected = series_batch__expect(room, time_ms, n, is_gauge);
	const bool good = trial__write_subject(t, &batch, 1) &&
			  (!expected || trial__write_reference(t, &expected, 1));

	batch__unref(batch);
	if (expected)
		batch__unref(expected);
	return good;
}

static bool ask_all(struct trial *t)
{
	static const char *const types[] = { SERIES_BATCH_DELTA, SERIES_BATCH_GAUGE };

	for (unsigned k = 0; k < 2 * ASK_N; k++) {
		struct asked a = { .what = k / 2, .n_sel = 1, .name = STR("pod"), .step_ms = 10 };

		a.by_labels[0] = STR("pod");
		a.by_labels[1] = STR(SERIES_BATCH_OVERFLOW);
		a.by = (struct dcm_group_by){ a.by_labels, 2 };
		a.sel[0] = (struct dcm_select){ .size = sizeof(a.sel[0]),
						.type = str__of(types[k % 2]),
						.to_ms = INT64_MAX };
		if (!trial__ask(t, &t->subject, &a))
			return false;
	}
	return true;
}

/* Rows since the store was opened, of those that the oracle counted. */
static bool counts(struct trial *t, const struct series_room *room, const struct series_room *opened)
{
	struct dcm_store_stat st = { .size = sizeof(st) };

	t->subject.ops->stat(t->subject.instance, &st);
	if (st.n_rows_folded == room->n_folded - opened->n_folded &&
	    st.n_rows_refused == room->n_refused - opened->n_refused)
		return true;
	return trial__fail(t,
			   "stat\n expected: %" PRIu64 " rows folded, %" PRIu64
			   " refused\n answered: %" PRIu64 ", %" PRIu64,
			   room->n_folded - opened->n_folded, room->n_refused - opened->n_refused,
			   st.n_rows_folded, st.n_rows_refused);
}

bool conform__bound(const struct trial_options *o, uint64_t seed, struct buf *ret_why)
{
	struct series_room room = { .max = o->max_series }, opened = room;
	struct trial *t = trial__new(o);
	struct random r = { seed };

	if (!t)
		abort();
	for (uint32_t i = 0; t->why.n == 0 && i < N_WRITES; i++) {
		if (!write_one(t, &room, &r, i) || random__below(&r, 8))
			continue;
		if (!ask_all(t) || !counts(t, &room, &opened) || !trial__compare_stat(t, &t->subject))
			break;
		if (random__below(&r, 2) && trial__restart(t))
			opened = room;
	}
	if (t->why.n == 0 && ask_all(t) && counts(t, &room, &opened) && !(room.n_folded && room.n_refused))
		trial__fail(t, "--bound %" PRIu32 " is too large: nothing was beyond it", o->max_series);
	return trial__end(t, ret_why);
}
