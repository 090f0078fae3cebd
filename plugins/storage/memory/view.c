/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/view.c - takes references under the lock
 */
#include "plugins/storage/memory/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "core/base/error.h"
#include "core/base/str.h"

/* Rows between two looks at the clock: well below a millisecond's work. */
enum { METER_ROWS = 32768 };

int meter__rows(struct meter *m, uint64_t n)
{
	struct dcm_budget *b = m->budget;

	if (!b)
		return 0;
	atomic_fetch_add_explicit(&b->done, n, memory_order_relaxed);
	m->counted += n;
	if (atomic_load_explicit(&b->cancelled, memory_order_relaxed))
		return -ECANCELED;
	/* The first call looks at once. */
	if (m->unread > n) {
		m->unread -= n + 1;
		return 0;
	}
	m->unread = METER_ROWS;
	if (b->deadline_mono_ns == 0)
		return 0;
	return m->host->mono_ns(m->host) > b->deadline_mono_ns ? -ETIMEDOUT : 0;
}

void meter__total(struct meter *m, uint64_t n)
{
	if (m->budget)
		atomic_fetch_add_explicit(&m->budget->total, n, memory_order_relaxed);
}

void meter__done(struct meter *m, uint64_t n)
{
	if (m->budget && n > m->counted)
		atomic_fetch_add_explicit(&m->budget->done, n - m->counted, memory_order_relaxed);
}

int meter__charge(struct meter *m, uint64_t bytes)
{
	m->bytes += bytes;
	return m->budget && m->budget->max_bytes && m->bytes > m->budget->max_bytes ? -E2BIG : 0;
}

int meter__explain(int r, const struct dcm_budget *budget, struct dcm_error *err)
{
	switch (r) {
	case -ENOMEM:
		return error__nomem(err);
	case -ECANCELED:
		return error__set(err, r, "the question was cancelled");
	case -ETIMEDOUT:
		return error__set(
			err, r, "the question was not answered before its deadline; ask for a shorter range");
	case -E2BIG:
		return error__set(err, r,
				  "the answer needs more than the %" PRIu64
				  " bytes allowed; ask for a shorter range or fewer labels",
				  budget ? budget->max_bytes : 0);
	}
	return r;
}

static bool push_profile(struct view *v, struct profile *p)
{
	if (!vec__push(&v->profiles, p))
		return false;
	profile__ref(p);
	return true;
}

static int add_stream(struct view *v, const struct stream *st, const struct dcm_select *sel,
		      uint32_t selection)
{
	size_t from = stream__first_from(st, sel->from_ms), to = stream__first_from(st, sel->to_ms);
	const struct dict_type *type = dict__type_at(v->dict, st->type);
	struct view_stream out = {
		.selection = selection,
		.series = st->series,
		.type = st->type,
		.temporality = type->parts.temporality,
	};

	if (from >= to || (sel->type.n && !str__eq(sel->type, type->text)))
		return 0;
	if (out.temporality == DCM_CUMULATIVE && from > 0) {
		out.before = st->profiles.v[from - 1];
		if (!push_profile(v, st->profiles.v[from - 1]))
			return -ENOMEM;
	}
	out.first = v->profiles.n;
	out.n = (uint32_t)(to - from);
	for (size_t i = from; i < to; i++) {
		if (!push_profile(v, st->profiles.v[i]))
			return -ENOMEM;
		v->n_rows += st->profiles.v[i]->n_rows;
	}
	return vec__push(&v->streams, out) ? 0 : -ENOMEM;
}

static int compare_streams(const void *a, const void *b)
{
	const struct view_stream *x = a, *y = b;

	if (x->selection != y->selection)
		return x->selection < y->selection ? -1 : 1;
	if (x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

int view__init(struct view *v, struct store *s, const struct dcm_select *sel, uint32_t n_sel)
{
	int r = 0;

	*v = (struct view){ 0 };
	pthread_rwlock_rdlock(&s->lock);
	v->dict = dict__ref(s->streams.dict);
	v->counts = dict__counts(s->streams.dict);
	v->era = s->era;
	for (uint32_t k = 0; k < n_sel; k++)
		for (size_t i = 0; r == 0 && i < s->streams.n; i++)
			r = add_stream(v, &s->streams.v[i], &sel[k], k);
	pthread_rwlock_unlock(&s->lock);
	if (r < 0) {
		view__fini(v);
		return r;
	}
	if (v->streams.n)
		qsort(v->streams.v, v->streams.n, sizeof(v->streams.v[0]), compare_streams);
	return 0;
}

void view__fini(struct view *v)
{
	for (size_t i = 0; i < v->profiles.n; i++)
		profile__unref(v->profiles.v[i]);
	vec__fini(&v->profiles);
	vec__fini(&v->streams);
	dict__unref(v->dict);
	v->dict = NULL;
}
