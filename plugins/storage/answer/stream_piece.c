/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/stream_piece.c - takes references under the lock, reads without it
 */
#include "plugins/storage/answer/stream_piece.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/mem.h"

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

struct reader {
	const struct stream_piece *of; /* whose columns these are */
	VEC(int64_t) columns;	       /* [3 * n] times, durations, periods */
	VEC(uint32_t) n_rows;
	int64_t values[PIECE_ROWS_MAX];
};

static void *reader_new(void)
{
	return NEW(struct reader);
}

static void reader_free(void *reader)
{
	struct reader *r = reader;

	if (!r)
		return;
	vec__fini(&r->columns);
	vec__fini(&r->n_rows);
	free(r);
}

static int profiles(void *reader, const struct piece *p, unsigned want, struct piece_profiles *ret)
{
	const struct stream_piece *of = p->of;
	const size_t n = of->n;
	struct reader *r = reader;
	(void)want;

	if (r->of != of) {
		r->of = NULL;
		r->columns.n = r->n_rows.n = 0;
		if (!vec__reserve(&r->columns, 3 * n) || !vec__reserve(&r->n_rows, n))
			return -ENOMEM;
		for (size_t i = 0; i < n; i++) {
			r->columns.v[i] = of->v[i]->time_ms;
			r->columns.v[n + i] = of->v[i]->duration_ns;
			r->columns.v[2 * n + i] = of->v[i]->period;
			r->n_rows.v[i] = of->v[i]->n_rows;
		}
		r->of = of;
	}
	*ret = (struct piece_profiles){ .n = of->n,
					.time_ms = r->columns.v,
					.n_rows = r->n_rows.v,
					.duration_ns = r->columns.v + n,
					.period = r->columns.v + 2 * n };
	return 0;
}

static int numbers(void *reader, const struct piece *p, unsigned want, struct piece_numbers *ret)
{
	(void)reader;
	(void)p;
	(void)want;
	*ret = (struct piece_numbers){ 0 };
	return 0;
}

/* One profile, as many rows at a time as a call may have. */
static int give_rows(struct reader *r, const struct profile *p, uint32_t at, piece_rows_fn fn, void *ctx)
{
	const uint32_t *stacks = profile__stacks(p), *labels = profile__labels(p);
	struct piece_rows rows = { .profile = at, .begins = true, .values = r->values };
	uint32_t i = 0;
	int e;

	do {
		rows.n = p->n_rows - i < PIECE_ROWS_MAX ? p->n_rows - i : PIECE_ROWS_MAX;
		rows.stacks = stacks + i;
		rows.labels = labels ? labels + i : NULL;
		profile__values(p, i, rows.n, r->values);
		e = fn(ctx, &rows);
		rows.begins = false;
		i += rows.n;
	} while (e == 0 && i < p->n_rows);
	return e;
}

static int rows(void *reader, const struct piece *p, uint32_t first, uint32_t n, piece_rows_fn fn,
		void *ctx)
{
	const struct stream_piece *of = p->of;
	int r = 0;

	for (uint32_t i = first; r == 0 && i < first + n; i++)
		r = give_rows(reader, of->v[i], i, fn, ctx);
	return r;
}

static void release(const struct piece *p)
{
	struct stream_piece *of = p->of;

	for (uint32_t i = 0; i < of->n; i++)
		profile__unref(of->v[i]);
	free(of);
}

static const struct piece_ops ops = {
	.reader_new = reader_new,
	.reader_free = reader_free,
	.profiles = profiles,
	.numbers = numbers,
	.rows = rows,
	.release = release,
};

const struct stream_piece *stream_piece__of(const struct piece *p)
{
	return p->ops == &ops ? p->of : NULL;
}

/* -------------------------------------------------------------------------------------------------
 * Making
 */

/* Profiles [from, to) of the stream. */
static int add_stream(struct view *v, uint32_t selection, const struct view_place *place,
		      const struct stream *st, size_t from, size_t to)
{
	const size_t n = to - from;
	struct stream_piece *of = malloc(sizeof(*of) + n * sizeof(of->v[0]));
	/* Streams lose at once what is removed: no filter is for them. */
	struct piece p = {
		.ops = &ops, .of = of, .n_profiles = (uint32_t)n, .same_spans = true, .first_filter = UINT32_MAX
	};

	if (!of)
		return -ENOMEM;
	of->n = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		of->v[i] = profile__ref(st->profiles.v[from + i]);
		p.n_rows += of->v[i]->n_rows;
		p.same_spans &= of->v[i]->duration_ns == of->v[0]->duration_ns &&
				of->v[i]->period == of->v[0]->period;
	}
	p.first_ms = of->v[0]->time_ms;
	p.last_ms = of->v[n - 1]->time_ms;
	p.duration_ns = of->v[0]->duration_ns;
	p.period = of->v[0]->period;
	return view__add(v, selection, place, &p);
}

static int add_wanted(struct view *v, uint32_t selection, uint32_t era, const struct stream *st)
{
	const struct view_place place = { era, st->series, st->type };
	const struct dcm_select *sel = &v->sel[selection];
	const struct dict *d = v->eras.v[era].dict;
	const size_t n = st->profiles.n;

	/* Nobody knows what they are of: who has them tells that they are left out. */
	if (d->has_gaps && (dict__lacks_series(d, st->series) || dict__lacks_type(d, st->type)))
		return 0;
	if (!n || !view__may_want(v, selection, &place, st->profiles.v[0]->time_ms,
				  st->profiles.v[n - 1]->time_ms))
		return 0;
	size_t from = stream__first_from(st, sel->from_ms);
	const size_t to = stream__first_from(st, sel->to_ms);
	if (from > 0 && dict__type_at(d, st->type)->parts.temporality == DCM_CUMULATIVE)
		from--;
	return from < to ? add_stream(v, selection, &place, st, from, to) : 0;
}

int stream_piece__add_all(struct view *v, uint32_t era, const struct streams *s)
{
	int r = 0;

	for (uint32_t k = 0; k < v->n_sel; k++)
		for (size_t i = 0; r == 0 && i < s->n; i++)
			r = add_wanted(v, k, era, &s->v[i]);
	return r;
}
