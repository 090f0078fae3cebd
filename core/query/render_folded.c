/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/render_folded.c - one line a stack: root;..;leaf VALUE
 *
 * Frames that read alike become one number; stacks of numbers are sorted and added up, so that no line is held in
 * memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/query/render.h"
#include "core/query/walk.h"

struct line {
	size_t off; /* in ids */
	uint32_t n;
	int64_t values[2];
};

struct folded {
	struct arena arena;
	struct dcm_str *texts; /* [frames->n] cleaned */
	uint32_t *ranks;       /* [frames->n] equal for equal texts, in their order */
	uint32_t *by_rank;     /* [frames->n] a frame of each rank */
	VEC(uint32_t) ids;     /* ranks */
	VEC(struct line) lines;
};

static void folded__fini(struct folded *f)
{
	arena__fini(&f->arena);
	free(f->texts);
	free(f->ranks);
	free(f->by_rank);
	vec__fini(&f->ids);
	vec__fini(&f->lines);
}

static int clean_name(struct folded *f, struct dcm_str name, struct dcm_str *ret)
{
	struct buf b = { 0 };

	render__text(name, 0, &b);
	for (size_t i = 0; i < b.n; i++)
		if (b.data[i] == ';')
			b.data[i] = ':';
	if (!b.error)
		*ret = arena__str(&f->arena, buf__view(&b));
	int r = b.error || !ret->p ? -ENOMEM : 0;
	buf__fini(&b);
	return r;
}

static int compare_texts(const void *a, const void *b, void *ctx)
{
	const struct folded *f = ctx;

	return str__cmp(f->texts[*(const uint32_t *)a], f->texts[*(const uint32_t *)b]);
}

static int rank_frames(struct folded *f, const struct frames *frames)
{
	CLEANUP(mem__freep) uint32_t *order = mem__zalloc(frames->n, sizeof(*order));

	f->texts = mem__zalloc(frames->n, sizeof(*f->texts));
	f->ranks = mem__zalloc(frames->n, sizeof(*f->ranks));
	f->by_rank = mem__zalloc(frames->n, sizeof(*f->by_rank));
	if (!order || !f->texts || !f->ranks || !f->by_rank)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames->n; i++) {
		order[i] = i;
		if (clean_name(f, frames->v[i].name, &f->texts[i]) < 0)
			return -ENOMEM;
	}
	qsort_r(order, frames->n, sizeof(*order), compare_texts, f);
	for (uint32_t i = 0, rank = 0; i < frames->n; i++) {
		rank += i > 0 && compare_texts(&order[i - 1], &order[i], f) != 0;
		f->ranks[order[i]] = rank;
		f->by_rank[rank] = order[i];
	}
	return 0;
}

static int collect(struct folded *f, struct walk *w)
{
	int r;

	while ((r = walk__next(w)) > 0) {
		struct line line = { .off = f->ids.n, .n = w->n };

		if (r == 2)
			continue;
		for (uint32_t s = 0; s < w->n_values; s++)
			line.values[s] = w->values[s];
		if (!vec__reserve(&f->ids, w->n) || !vec__push(&f->lines, line))
			return -ENOMEM;
		for (uint32_t i = 0; i < w->n; i++)
			f->ids.v[f->ids.n++] = f->ranks[w->ids[i]];
	}
	return r;
}

static int compare_lines(const void *a, const void *b, void *ctx)
{
	const struct line *x = a, *y = b;
	const struct folded *f = ctx;
	const uint32_t *p = f->ids.v + x->off, *q = f->ids.v + y->off;

	for (uint32_t i = 0; i < x->n && i < y->n; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

static void put_line(const struct folded *f, const struct line *l, uint32_t n_values, struct buf *out)
{
	for (uint32_t i = 0; i < l->n; i++) {
		if (i > 0)
			buf__byte(out, ';');
		buf__str(out, f->texts[f->by_rank[f->ids.v[l->off + i]]]);
	}
	if (l->n == 0)
		buf__text(out, "[no frames]");
	buf__printf(out, " %" PRId64, l->values[0]);
	if (n_values > 1)
		buf__printf(out, " %" PRId64, l->values[1]);
	buf__byte(out, '\n');
}

int render__folded(const struct frames *frames, const struct filter *filter, struct buf *out, struct dcm_error *err)
{
	struct folded f = { 0 };
	struct walk w;
	int r = walk__init(&w, frames, filter, err);

	if (r < 0)
		return r;
	r = rank_frames(&f, frames);
	if (r == 0)
		r = collect(&f, &w);
	if (r == 0 && f.lines.n)
		qsort_r(f.lines.v, f.lines.n, sizeof(*f.lines.v), compare_lines, &f);
	for (size_t i = 0; r == 0 && i < f.lines.n;) {
		struct line sum = f.lines.v[i++];

		for (; i < f.lines.n && compare_lines(&sum, &f.lines.v[i], &f) == 0; i++)
			for (uint32_t s = 0; s < w.n_values; s++)
				sum.values[s] = walk__add(sum.values[s], f.lines.v[i].values[s]);
		put_line(&f, &sum, w.n_values, out);
	}
	walk__fini(&w);
	folded__fini(&f);
	return r < 0 ? error__nomem(err) : 0;
}
