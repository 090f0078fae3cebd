/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/top.c - one pass over the rows, a mark a frame to count each once a row
 */
#include "core/query/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/query/walk.h"

static void add(int64_t sum[2], const int64_t *values, uint32_t n)
{
	for (uint32_t s = 0; s < n; s++)
		sum[s] = walk__add(sum[s], values[s]);
}

/* rows [frames->n] by frame; marks [frames->n] the row in which a frame was counted last. */
static int count_rows(struct top *t, struct walk *w, uint64_t *marks)
{
	uint64_t row = 0;
	int r;

	while ((r = walk__next(w)) > 0) {
		if (r == 2) {
			add(t->filtered, w->values, t->n_values);
			continue;
		}
		row++;
		add(t->total, w->values, t->n_values);
		for (uint32_t i = w->n_labels; i < w->n; i++) {
			uint32_t id = w->ids[i];

			if (marks[id] != row)
				add(t->rows[id].total, w->values, t->n_values);
			marks[id] = row;
		}
		if (w->n > w->n_labels)
			add(t->rows[w->ids[w->n - 1]].self, w->values, t->n_values);
		else
			add(t->no_frame, w->values, t->n_values);
	}
	return r;
}

struct order {
	enum top_sort sort;
	double factor[2]; /* of the sides' values */
};

static int compare_sums(const struct order *o, const int64_t a[2], const int64_t b[2])
{
	const double *f = o->factor;
	__int128 x = compare__scaled(f[0], a[0]) + compare__scaled(f[1], a[1]);
	__int128 y = compare__scaled(f[0], b[0]) + compare__scaled(f[1], b[1]);

	return x > y ? -1 : x < y;
}

static int compare_changes(const struct order *o, const int64_t a[2], const int64_t b[2])
{
	const double *f = o->factor;
	__int128 x = compare__scaled(f[1], a[1]) - compare__scaled(f[0], a[0]);
	__int128 y = compare__scaled(f[1], b[1]) - compare__scaled(f[0], b[0]);

	x = x < 0 ? -x : x;
	y = y < 0 ? -y : y;
	return x > y ? -1 : x < y;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct top_row *x = a, *y = b;
	const struct order *o = ctx;
	int c = 0;

	switch (o->sort) {
	case TOP_BY_SELF:
		c = compare_sums(o, x->self, y->self);
		c = c ? c : compare_sums(o, x->total, y->total);
		break;
	case TOP_BY_TOTAL:
		c = compare_sums(o, x->total, y->total);
		c = c ? c : compare_sums(o, x->self, y->self);
		break;
	case TOP_BY_DIFF:
		c = compare_changes(o, x->self, y->self);
		c = c ? c : compare_changes(o, x->total, y->total);
		break;
	case TOP_BY_NAME:
		break;
	}
	return c ? c : x->frame < y->frame ? -1 : 1;
}

/* Frames that no row has (labels, hidden ones) go; the others are sorted, and cut. */
static void settle(struct top *t, const uint64_t *marks, uint32_t n_frames, const struct top_options *o)
{
	const struct compare *sides = &t->frames->compare;
	struct order order = { o->sort, { compare__factor(sides, 0), compare__factor(sides, 1) } };
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_frames; i++)
		if (marks[i])
			t->rows[n++] = t->rows[i];
	qsort_r(t->rows, n, sizeof(*t->rows), compare_rows, &order);
	t->n = t->n_all = n;
	if (o->limit && o->limit < n)
		t->n = o->limit;
	for (uint32_t i = t->n; i < n; i++)
		add(t->rest, t->rows[i].self, t->n_values);
	add(t->all, t->total, t->n_values);
	add(t->all, t->filtered, t->n_values);
}

int top__new(struct frames *frames, const struct top_options *options, struct top **ret,
	     struct dcm_error *err)
{
	static const struct top_options defaults;
	const struct top_options *o = options ? options : &defaults;
	CLEANUP(top__freep) struct top *t = NEW(struct top);
	CLEANUP(mem__freep) uint64_t *marks = mem__zalloc(frames->n, sizeof(*marks));
	struct walk w;

	if (!t || !marks)
		return error__nomem(err);
	t->rows = mem__zalloc(frames->n, sizeof(*t->rows));
	if (!t->rows)
		return error__nomem(err);
	int r = walk__init(&w, frames, o->filter, err);
	if (r < 0)
		return r;
	t->n_values = w.n_values;
	for (uint32_t i = 0; i < frames->n; i++)
		t->rows[i].frame = i;
	r = count_rows(t, &w, marks);
	walk__fini(&w);
	if (r < 0)
		return error__nomem(err);
	t->frames = frames__ref(frames);
	settle(t, marks, frames->n, o);
	*ret = take_ptr(t);
	return 0;
}

void top__free(struct top *t)
{
	if (!t)
		return;
	free(t->rows);
	frames__unref(t->frames);
	free(t);
}
