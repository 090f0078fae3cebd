/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/merge.c - stacks added up over profiles, several selections at once
 */
#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/memory/questions.h"
#include "plugins/storage/memory/sums.h"

/* What the answer's profile of a group says of the first selection's profiles. */
struct group_head {
	const struct profile *last; /* counted */
	int64_t duration_ns, period;
	bool has_period;
};

struct merge {
	struct view view;
	struct groups groups;
	struct sums sums;
	VEC(struct group_head) heads; /* by group, as far as needed */
};

static void merge__fini(struct merge *m)
{
	view__fini(&m->view);
	groups__fini(&m->groups);
	sums__fini(&m->sums);
	vec__fini(&m->heads);
}

static int count_profile(void *ctx, uint32_t group, const struct profile *p)
{
	struct merge *m = ctx;

	while (m->heads.n <= group)
		if (!vec__push(&m->heads, (struct group_head){ 0 }))
			return -ENOMEM;
	struct group_head *h = &m->heads.v[group];
	if (h->last == p)
		return 0;
	h->last = p;
	if (__builtin_add_overflow(h->duration_ns, p->duration_ns, &h->duration_ns))
		h->duration_ns = INT64_MAX;
	if (!h->has_period)
		h->period = p->period;
	else if (h->period != p->period)
		h->period = 0;
	h->has_period = true;
	return 0;
}

static uint64_t rows_of(const struct view *v, uint32_t selection)
{
	uint64_t n = 0;

	for (size_t i = 0; i < v->streams.n; i++)
		for (uint32_t j = 0; v->streams.v[i].selection == selection && j < v->streams.v[i].n; j++)
			n += view__profile(v, &v->streams.v[i], j)->n_rows;
	return n;
}

static int add_selection(struct merge *m, const struct dcm_select *sel, uint32_t at,
			 const struct dcm_host *host)
{
	CLEANUP(match__fini) struct match match = { 0 };
	struct meter meter = { .host = host, .budget = sel->budget };
	int r = match__init(&match, &m->view, sel, host, &m->groups);
	uint64_t n_rows = rows_of(&m->view, at);

	meter__total(&meter, n_rows);
	for (size_t i = 0; r == 0 && i < m->view.streams.n; i++) {
		const struct view_stream *st = &m->view.streams.v[i];
		struct sums_part part = {
			.sums = &m->sums,
			.match = &match,
			.stream = st,
			.n = st->n,
			.taken = at == 0 ? count_profile : NULL,
			.ctx = m,
		};

		if (st->selection != at)
			continue;
		r = match__stream(&match, st);
		if (r == 1) {
			r = sums__part(&part, &meter);
			sums__settle(&m->sums, at, st->temporality == DCM_GAUGE ? st->n : 0);
		}
		meter.bytes = 0;
		if (r == 0)
			r = meter__charge(&meter, sums__bytes(&m->sums));
	}
	if (r == 0)
		meter__done(&meter, n_rows);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * The answer
 */

/* A type that no stream has: as the selection writes it. */
static struct dcm_type type_of_text(struct dcm_str text, const struct dcm_host *host,
				    struct dcm_builder *answer)
{
	uint32_t part[5] = { 0 };
	uint32_t n = 0;
	struct dcm_str rest = text;
	bool delta = str__ends(text, STR(":delta"));

	if (delta)
		rest.n -= 6;
	while (n < 5) {
		const char *colon = rest.n ? memchr(rest.p, ':', rest.n) : NULL;
		uint32_t len = colon && n < 4 ? (uint32_t)(colon - rest.p) : rest.n;

		part[n++] = host->add_string(answer, (struct dcm_str){ rest.p, len });
		if (!colon || n == 5)
			break;
		rest = (struct dcm_str){ rest.p + len + 1, rest.n - len - 1 };
	}
	return (struct dcm_type){ part[0], part[1], part[2],
				  part[3], part[4], delta ? DCM_DELTA : DCM_GAUGE };
}

static struct dcm_type answer_type(const struct merge *m, struct dict_export *ex,
				   const struct dcm_select *sel, uint32_t at)
{
	for (size_t i = 0; i < m->view.streams.n; i++)
		if (m->view.streams.v[i].selection == at)
			return dict_export__type(ex, m->view.streams.v[i].type);
	return type_of_text(sel->type, ex->host, ex->to);
}

static int64_t smallest_from_ns(const struct dcm_select *sel, uint32_t n_sel)
{
	int64_t from_ms = sel[0].from_ms, ns;

	for (uint32_t i = 1; i < n_sel; i++)
		if (sel[i].from_ms < from_ms)
			from_ms = sel[i].from_ms;
	if (__builtin_mul_overflow(from_ms, (int64_t)1000000, &ns))
		return from_ms < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

struct ordered {
	uint32_t rank; /* of the group */
	uint32_t sum;
	uint64_t stack;
};

static int compare_ordered(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/*
 * The sums by group and stack, without those that are 0 everywhere; *ret_n of them. NULL: out of
 * memory.
 */
static struct ordered *order_sums(const struct merge *m, const uint32_t *groups, size_t *ret_n)
{
	struct ordered *o = mem__resize(NULL, m->sums.v.n ? m->sums.v.n : 1, sizeof(*o));
	uint32_t *ranks = mem__resize(NULL, m->groups.v.n ? m->groups.v.n : 1, sizeof(*ranks));
	size_t n = 0;

	if (!o || !ranks) {
		free(o);
		free(ranks);
		return NULL;
	}
	for (uint32_t i = 0; i < m->groups.v.n; i++)
		ranks[groups[i]] = i;
	for (uint32_t i = 0; i < m->sums.v.n; i++) {
		const struct sum *s = &m->sums.v.v[i];
		bool zero = true;

		for (uint32_t k = 0; zero && k < m->sums.n_values; k++)
			zero = sums__value(&m->sums, i, k) == 0;
		if (!zero)
			o[n++] = (struct ordered){ ranks[s->group], i, s->key };
	}
	free(ranks);
	qsort(o, n, sizeof(*o), compare_ordered);
	*ret_n = n;
	return o;
}

/* The group's labels as a series of the builder; empty values are left out by it. */
static int add_group_series(const struct merge *m, uint32_t group, struct dict_export *ex,
			    uint32_t *ret_series)
{
	const struct dcm_group_by *by = m->groups.by;
	struct dcm_pair *pairs = mem__zalloc(by->n ? by->n : 1, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < by->n; i++) {
		pairs[i].name = ex->host->add_string(ex->to, by->labels[i]);
		pairs[i].value = ex->host->add_string(
			ex->to, intern__text(&m->groups.texts, m->groups.v.v[group].values[i]));
	}
	*ret_series = ex->host->add_series(ex->to, pairs, by->n);
	free(pairs);
	return 0;
}

struct answer {
	const struct dcm_select *sel;
	uint32_t n_sel;
	struct dcm_type *types; /* [n_sel] */
	struct dict_export ex;
	struct meter meter;
};

static int add_group(struct merge *m, struct answer *a, uint32_t group, const struct ordered *o, size_t n)
{
	const struct group_head *h = group < m->heads.n ? &m->heads.v[group] : NULL;
	struct dcm_profile head = {
		.time_ns = smallest_from_ns(a->sel, a->n_sel),
		.duration_ns = h ? h->duration_ns : 0,
		.period = h ? h->period : 0,
	};
	int64_t values[16];
	int r = add_group_series(m, group, &a->ex, &head.series);

	if (r < 0)
		return r;
	a->ex.host->add_profile(a->ex.to, &head, a->types, a->n_sel);
	for (size_t i = 0; r == 0 && i < n; i++) {
		uint32_t stack = dict_export__stack(&a->ex, (uint32_t)o[i].stack, &r);

		for (uint32_t k = 0; k < a->n_sel; k++)
			values[k] = sums__value(&m->sums, o[i].sum, k);
		a->ex.host->add_row(a->ex.to, stack, 0, values);
		if (r == 0 && i % 256 == 0)
			r = meter__rows(&a->meter, 0);
	}
	return r;
}

static int write_answer(struct merge *m, struct answer *a)
{
	CLEANUP(mem__freep) uint32_t *groups = groups__sorted(&m->groups, m->view.dict);
	size_t n = 0;
	CLEANUP(mem__freep) struct ordered *o = groups ? order_sums(m, groups, &n) : NULL;
	int r = 0;

	if (!o)
		return -ENOMEM;
	for (uint32_t k = 0; k < a->n_sel; k++)
		a->types[k] = answer_type(m, &a->ex, &a->sel[k], k);
	for (size_t i = 0, end; r == 0 && i < n; i = end) {
		for (end = i; end < n && o[end].rank == o[i].rank; end++)
			;
		r = add_group(m, a, groups[o[i].rank], o + i, end - i);
	}
	return r;
}

int questions__merge(struct store *s, const struct dcm_select *sel, uint32_t n_sel,
		     const struct dcm_group_by *by, const struct dcm_host *host,
		     struct dcm_builder *builder)
{
	CLEANUP(merge__fini) struct merge m = { 0 };
	struct dcm_type types[16];
	struct answer a = { .sel = sel,
			    .n_sel = n_sel,
			    .types = types,
			    .meter = { .host = host, .budget = sel[0].budget } };
	int r = view__init(&m.view, s, sel, n_sel);

	sums__init(&m.sums, n_sel);
	if (r == 0)
		r = groups__init(&m.groups, by, false);
	for (uint32_t k = 0; r == 0 && k < n_sel; k++)
		r = add_selection(&m, &sel[k], k, host);
	if (r == 0)
		r = dict_export__init(&a.ex, m.view.dict, &m.view.counts, host, builder);
	if (r == 0)
		r = write_answer(&m, &a);
	dict_export__fini(&a.ex);
	return r;
}
