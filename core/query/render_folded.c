/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/render_folded.c - one line a stack: root;..;leaf VALUE
 *
 * Frames that read alike become one number; stacks of numbers are sorted and added up, so that no
 * line is held in memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/query/render.h"
#include "core/query/stacks.h"
#include "core/query/walk.h"

struct folded {
	struct arena arena;
	struct dcm_str *texts; /* [frames->n] cleaned */
	uint32_t *ranks;       /* [frames->n] equal for equal texts, in their order */
	uint32_t *by_rank;     /* [frames->n] a frame of each rank */
	struct stacks stacks;  /* of ranks */
};

static void folded__fini(struct folded *f)
{
	arena__fini(&f->arena);
	free(f->texts);
	free(f->ranks);
	free(f->by_rank);
	stacks__fini(&f->stacks);
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
		if (r == 2)
			continue;
		for (uint32_t i = 0; i < w->n; i++)
			w->ids[i] = f->ranks[w->ids[i]];
		r = stacks__add(&f->stacks, w->ids, w->n, w->values, w->n_values);
		if (r < 0)
			return r;
	}
	return r;
}

static void put_line(const struct folded *f, const struct stack_ref *ref, const int64_t values[2],
		     uint32_t n_values, struct buf *out)
{
	for (uint32_t i = 0; i < ref->n; i++) {
		if (i > 0)
			buf__byte(out, ';');
		buf__str(out, f->texts[f->by_rank[f->stacks.numbers.v[ref->off + i]]]);
	}
	if (ref->n == 0)
		buf__text(out, "[no frames]");
	buf__printf(out, " %" PRId64, values[0]);
	if (n_values > 1)
		buf__printf(out, " %" PRId64, values[1]);
	buf__byte(out, '\n');
}

/* Equal stacks are neighbours: one line for each run of them. */
static void put_lines(const struct folded *f, uint32_t n_values, struct buf *out)
{
	const struct stacks *s = &f->stacks;

	for (size_t i = 0; i < s->refs.n;) {
		const struct stack_ref *first = &s->refs.v[i];
		int64_t sum[2] = { 0 };

		for (; i < s->refs.n && s->refs.v[i].n == first->n &&
		       stacks__common(s, first, &s->refs.v[i]) == first->n;
		     i++)
			for (uint32_t k = 0; k < n_values; k++)
				sum[k] = walk__add(sum[k],
						   s->values.v[2 * (size_t)s->refs.v[i].added + k]);
		put_line(f, first, sum, n_values, out);
	}
}

int render__folded(const struct frames *frames, const struct filter *filter, struct buf *out,
		   struct dcm_error *err)
{
	struct folded f = { 0 };
	struct walk w;
	int r = walk__init(&w, frames, filter, err);

	if (r < 0)
		return r;
	r = rank_frames(&f, frames);
	if (r == 0)
		r = collect(&f, &w);
	if (r == 0)
		r = stacks__sort(&f.stacks);
	if (r == 0)
		put_lines(&f, w.n_values, out);
	walk__fini(&w);
	folded__fini(&f);
	if (r == -E2BIG)
		return error__set(
			err, r, "the answer has too many frames; ask for a shorter range or filter it");
	return r < 0 ? error__nomem(err) : 0;
}
