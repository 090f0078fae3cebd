/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/merge.c - stacks added up over profiles, several selections at once
 *
 * Where all rows of a piece go into one group or into few, the piece adds itself up by stack (a
 * chunk's rollup, or its rows by rank), and its sums are spread over the answer's stacks; else row
 * goes after row.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/answer/adder.h"
#include "plugins/storage/answer/answer.h"

enum { SELECTIONS_MAX = 16 }; /* types of the answer's profiles */

/* What is said of profiles together. */
struct counted {
	uint64_t n;
	int64_t duration_ns, period;
};

/* What the answer's profile of a group says of the first selection's profiles. */
struct group_head {
	uint64_t mark; /* of the profile that was counted last */
	struct counted profiles;
};

struct merge {
	struct adder adder;		      /* first */
	VEC(struct group_head) heads;	      /* by group, as far as needed */
	struct counted sides[SELECTIONS_MAX]; /* by selection, whatever the groups */
	/*
	 * of the piece at hand: where the rows of its label sets go, and which slots its profiles
	 * were in
	 */
	uint32_t slot_groups[PIECE_SLOTS_MAX];
	uint32_t n_slots;
	VEC(uint8_t) slots;
	VEC(uint64_t) seen;
	/* of the walk */
	uint64_t n_profiles; /* of the stream */
	uint64_t mark;	     /* of the profile at hand */
	bool is_counted;     /* it, in sides */
};

static void merge__fini(struct merge *m)
{
	adder__fini(&m->adder);
	vec__fini(&m->heads);
	vec__fini(&m->slots);
	vec__fini(&m->seen);
}

/* n profiles of one duration and period. */
static void count(struct counted *c, uint32_t n, int64_t duration_ns, int64_t period)
{
	int64_t all;

	if (__builtin_mul_overflow(duration_ns, (int64_t)n, &all) ||
	    __builtin_add_overflow(c->duration_ns, all, &c->duration_ns))
		c->duration_ns = INT64_MAX;
	if (n && !c->n)
		c->period = period;
	else if (n && c->period != period)
		c->period = 0;
	c->n += n;
}

static void count_side(struct merge *m, uint32_t n, int64_t duration_ns, int64_t period)
{
	count(&m->sides[m->adder.selection], n, duration_ns, period);
}

/* The same, all in the group. */
static int count_profiles(struct merge *m, uint32_t group, uint32_t n, int64_t duration_ns, int64_t period)
{
	if (group == MATCH_NONE || m->adder.selection != 0)
		return 0;
	while (m->heads.n <= group)
		if (!vec__push(&m->heads, (struct group_head){ 0 }))
			return -ENOMEM;
	count(&m->heads.v[group].profiles, n, duration_ns, period);
	return 0;
}

/* Whether anybody will hear which profiles count in the selection at hand. */
static bool is_counting(const struct merge *m)
{
	const struct dcm_budget *budget = m->adder.view->sel[m->adder.selection].budget;

	return m->adder.selection == 0 || (budget && budget->side);
}

static int add(struct merge *m, uint32_t group, uint32_t stack, int64_t value)
{
	return m->adder.gauge ? sums__add_part(&m->adder.sums, group, stack, value)
			      : sums__add(&m->adder.sums, m->adder.selection, group, stack, value);
}

/* -------------------------------------------------------------------------------------------------
 * Pieces at once
 */

/* Whether the i-th profile of a span counts in any group. */
static bool counts(const struct merge *m, const struct walk_span *s, uint32_t i)
{
	const struct walk *w = m->adder.walk;

	return m->seen.v[i] || (!w->profiles.n_rows[s->first + i] && w->empty_group != MATCH_NONE);
}

/* How the walk's user counts a profile at a time: in each group once. */
static int count_each(struct merge *m, const struct walk_span *s)
{
	struct walk *w = m->adder.walk;
	int r = walk__profiles(w, PIECE_WANT_ROWS | PIECE_WANT_SPANS);

	for (uint32_t i = 0; r == 0 && i < s->n; i++) {
		const uint32_t at = s->first + i;
		uint64_t seen = m->seen.v[i];

		count_side(m, counts(m, s, i), w->profiles.duration_ns[at], w->profiles.period[at]);
		if (!w->profiles.n_rows[at])
			r = count_profiles(m, w->empty_group, 1, w->profiles.duration_ns[at],
					   w->profiles.period[at]);
		for (; r == 0 && seen; seen &= seen - 1)
			r = count_profiles(m, m->slot_groups[__builtin_ctzll(seen)], 1,
					   w->profiles.duration_ns[at], w->profiles.period[at]);
	}
	return r;
}

/* The same where all last equally long. */
static int count_alike(struct merge *m, const struct walk_span *s)
{
	struct walk *w = m->adder.walk;
	const struct piece *p = &w->piece->piece;
	uint32_t n_in[PIECE_SLOTS_MAX] = { 0 }, n_empty = 0, n_any = 0;
	int r = walk__profiles(w, PIECE_WANT_ROWS);

	for (uint32_t i = 0; r == 0 && i < s->n; i++) {
		n_any += counts(m, s, i);
		n_empty += w->profiles.n_rows[s->first + i] == 0;
		for (uint64_t seen = m->seen.v[i]; seen; seen &= seen - 1)
			n_in[__builtin_ctzll(seen)]++;
	}
	if (r == 0)
		count_side(m, n_any, p->duration_ns, p->period);
	if (r == 0 && n_empty)
		r = count_profiles(m, w->empty_group, n_empty, p->duration_ns, p->period);
	for (uint32_t i = 0; r == 0 && i < m->n_slots; i++)
		if (n_in[i])
			r = count_profiles(m, m->slot_groups[i], n_in[i], p->duration_ns, p->period);
	return r;
}

/* Whether all profiles of the piece count in the same group, rows or no rows. */
static bool count_as_one(const struct walk *w)
{
	return w->uniform && w->piece->piece.same_spans && w->group == w->empty_group;
}

static int count_span(struct merge *m, const struct walk_span *s)
{
	struct walk *w = m->adder.walk;
	const struct piece *p = &w->piece->piece;

	if (!is_counting(m))
		return 0;
	if (count_as_one(w)) {
		count_side(m, w->group == MATCH_NONE ? 0 : s->n, p->duration_ns, p->period);
		return count_profiles(m, w->group, s->n, p->duration_ns, p->period);
	}
	for (uint32_t i = 0; i < s->n; i++) {
		if (w->uniform)
			m->seen.v[i] = w->profiles.n_rows[s->first + i] && w->group != MATCH_NONE;
		else /* those that are not taken count nowhere */
			m->seen.v[i] &= ((uint64_t)1 << m->n_slots) - 1;
	}
	return p->same_spans ? count_alike(m, s) : count_each(m, s);
}

/* Room for which slots profiles are in, where somebody asks; the piece has told of as many. */
static int begin_seen(struct merge *m, const struct walk_span *s)
{
	const bool spans = is_counting(m) && !m->adder.walk->piece->piece.same_spans;

	if (m->adder.walk->uniform && (!is_counting(m) || count_as_one(m->adder.walk)))
		return 0;
	int r = walk__profiles(m->adder.walk, PIECE_WANT_ROWS | (spans ? PIECE_WANT_SPANS : 0));
	m->seen.n = 0;
	if (r == 0 && !vec__reserve(&m->seen, s->n))
		r = -ENOMEM;
	if (r == 0)
		memset(m->seen.v, 0, s->n * sizeof(m->seen.v[0]));
	return r;
}

/*
 * Which slot each label set's rows go to. 0, -ENOTSUP when these are too many groups, or -ENOMEM.
 */
static int find_slots(struct merge *m)
{
	const struct walk *w = m->adder.walk;
	const uint32_t n = w->uniform ? 0 : w->numbers.n_label_sets;

	m->slot_groups[0] = w->group;
	m->n_slots = w->uniform;
	m->slots.n = 0;
	if (!vec__reserve(&m->slots, n + (size_t)1))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = 0;

		while (slot < m->n_slots && m->slot_groups[slot] != w->groups.v[i])
			slot++;
		if (slot == m->n_slots && w->groups.v[i] != MATCH_NONE) {
			if (slot == PIECE_SLOTS_MAX)
				return -ENOTSUP;
			m->slot_groups[m->n_slots++] = w->groups.v[i];
		}
		m->slots.v[i] = w->groups.v[i] == MATCH_NONE ? UINT8_MAX : (uint8_t)slot;
	}
	for (uint32_t i = 0; i < n; i++)
		if (m->slots.v[i] == UINT8_MAX)
			m->slots.v[i] = (uint8_t)m->n_slots;
	return 0;
}

/* An era's stack in the walk's numbers; DCM_NONE when memory ran out. */
static uint32_t name_stack(struct merge *m, uint32_t stack)
{
	const struct walk *w = m->adder.walk;

	return w->imports ? view__stack(m->adder.view, w->piece->place.era, stack) : stack;
}

/* Sums of stacks that the walk calls otherwise; what adds up to nothing need not come into it. */
static int add_renamed(struct merge *m, uint32_t group, const struct piece_sums *sums)
{
	uint32_t stacks[PIECE_ROWS_MAX];
	int64_t values[PIECE_ROWS_MAX];
	struct sums_run run = { m->adder.selection, group, 0, stacks, values };

	for (uint32_t i = 0; i < sums->n; i++) {
		if (!sums->values[i])
			continue;
		values[run.n] = sums->values[i];
		stacks[run.n] = name_stack(m, sums->stacks[i]);
		if (stacks[run.n++] == DCM_NONE)
			return -ENOMEM;
	}
	return sums__add_run(&m->adder.sums, &run);
}

/* To where the answer has these stacks. */
static int add_sums(void *ctx, const struct piece_sums *sums)
{
	struct merge *m = ctx;
	const struct view_era *era = &m->adder.view->eras.v[m->adder.walk->piece->place.era];
	const uint32_t group = m->slot_groups[sums->slot];
	const struct sums_run run = { m->adder.selection, group, sums->n, sums->stacks, sums->values };
	int r = 0;

	if (sums->stacks[sums->n - 1] >= era->counts.stacks)
		return -EBADMSG;
	if (!m->adder.gauge)
		return m->adder.walk->imports ? add_renamed(m, group, sums)
					      : sums__add_run(&m->adder.sums, &run);
	for (uint32_t i = 0; r == 0 && i < sums->n; i++) {
		const uint32_t stack = sums->values[i] ? name_stack(m, sums->stacks[i]) : 0;

		if (stack == DCM_NONE)
			return -ENOMEM;
		if (sums->values[i])
			r = sums__add_part(&m->adder.sums, group, stack, sums->values[i]);
	}
	return r;
}

/* 0, -ENOTSUP when rows have to be looked at, or an error. */
static int add_piece(struct merge *m, const struct walk_span *s)
{
	struct walk *w = m->adder.walk;
	const struct piece *p = &w->piece->piece;
	const struct piece_span span = { .first = s->first,
					 .n = s->n,
					 .slots = w->uniform ? NULL : m->slots.v,
					 .n_slots = m->n_slots,
					 .seen = m->seen.v };

	return p->ops->sums(w->reader, p, &span, add_sums, m);
}

static int add_span(void *ctx, const struct walk_span *s)
{
	struct merge *m = ctx;
	const bool any = !m->adder.walk->uniform || m->adder.walk->group != MATCH_NONE;
	int r = any && !m->adder.walk->piece->piece.ops->sums ? -ENOTSUP : find_slots(m);

	if (r == 0)
		r = begin_seen(m, s);
	if (r == 0 && any)
		r = add_piece(m, s);
	if (r == 0)
		r = count_span(m, s);
	if (r == -ENOTSUP)
		return 0;
	m->n_profiles += s->n;
	return r < 0 ? r : 1;
}

/* -------------------------------------------------------------------------------------------------
 * Rows
 */

static int add_rows(void *ctx, const struct walk_rows *rows)
{
	struct merge *m = ctx;
	int r = 0;

	m->n_profiles += rows->begins;
	m->mark += rows->begins;
	m->is_counted &= !rows->begins;
	for (uint32_t i = 0; r == 0 && i < rows->n; i++) {
		const uint32_t group = rows->groups[i];

		if (!m->is_counted && group != MATCH_NONE) {
			count_side(m, 1, rows->duration_ns, rows->period);
			m->is_counted = true;
		}
		if (group >= m->heads.n || m->heads.v[group].mark != m->mark) {
			r = count_profiles(m, group, 1, rows->duration_ns, rows->period);
			if (group < m->heads.n)
				m->heads.v[group].mark = m->mark;
		}
		if (r == 0 && rows->stacks[i] != DCM_NONE)
			r = add(m, group, rows->stacks[i], rows->values[i]);
	}
	return r;
}

static void end_stream(struct adder *a)
{
	struct merge *m = (struct merge *)a;

	if (a->gauge)
		sums__settle(&a->sums, a->selection, m->n_profiles);
	m->n_profiles = 0;
}

/* -------------------------------------------------------------------------------------------------
 * Several that add up
 */

static void free_merge(struct adder *a)
{
	struct merge *m = (struct merge *)a;

	if (m)
		merge__fini(m);
	free(m);
}

static const struct adder_ops ops;

static int merge__init(struct merge *m, struct view *v, const struct dcm_group_by *by)
{
	const struct adder_init init = {
		.ops = &ops, .view = v, .by = by, .by_stack = true, .n_values = v->n_sel
	};

	*m = (struct merge){ .n_slots = 0 };
	return adder__init(&m->adder, &init);
}

static struct adder *fork_merge(const struct adder *a)
{
	struct merge *m = NEW(struct merge);

	if (m && merge__init(m, a->view, a->groups.by) < 0) {
		free_merge(&m->adder);
		return NULL;
	}
	return m ? &m->adder : NULL;
}

static void join_counted(struct counted *c, const struct counted *from)
{
	if (!c->n)
		c->period = from->period;
	else if (from->n && c->period != from->period)
		c->period = 0;
	if (__builtin_add_overflow(c->duration_ns, from->duration_ns, &c->duration_ns))
		c->duration_ns = INT64_MAX;
	c->n += from->n;
}

static int join_merge(struct adder *a, const struct adder *other, const uint32_t *groups)
{
	struct merge *m = (struct merge *)a;
	const struct merge *from = (const struct merge *)other;

	for (uint32_t k = 0; k < a->view->n_sel; k++)
		join_counted(&m->sides[k], &from->sides[k]);
	for (uint32_t i = 0; i < from->heads.n; i++) {
		while (m->heads.n <= groups[i])
			if (!vec__push(&m->heads, (struct group_head){ 0 }))
				return -ENOMEM;
		join_counted(&m->heads.v[groups[i]].profiles, &from->heads.v[i].profiles);
	}
	return 0;
}

static const struct adder_ops ops = {
	.user = { .stacks = true, .increases = true, .columns = PIECE_WANT_ROWS, .span = add_span, .rows = add_rows },
	.fork = fork_merge,
	.free = free_merge,
	.end = end_stream,
	.join = join_merge,
};

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

static struct dcm_type answer_type(const struct view *v, struct dict_export *ex, uint32_t at)
{
	for (size_t i = 0; i < v->streams.n; i++)
		if (v->streams.v[i].selection == at)
			return dict_export__type(ex, v->streams.v[i].type);
	return type_of_text(v->sel[at].type, ex->host, ex->to);
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

/* Rows wait for each other: stacks are given out together. */
enum { WAITING_MAX = 64 };

struct answer {
	const struct merge *merge;
	struct dcm_type types[SELECTIONS_MAX];
	struct dict_export ex;
	struct meter meter;
	uint32_t group; /* of the profile at hand; MATCH_NONE: none yet */
	uint32_t n_waiting;
	uint32_t stacks[WAITING_MAX];
	int64_t values[WAITING_MAX * SELECTIONS_MAX]; /* [n_waiting][n_sel] */
};

/* The group's labels as a series of the builder; empty values are left out by it. */
static int add_group_series(const struct merge *m, uint32_t group, struct dict_export *ex,
			    uint32_t *ret_series)
{
	const struct dcm_group_by *by = m->adder.groups.by;
	struct dcm_pair *pairs = mem__zalloc(by->n ? by->n : 1, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	for (uint32_t i = 0; i < by->n; i++) {
		pairs[i].name = ex->host->add_string(ex->to, by->labels[i]);
		pairs[i].value = ex->host->add_string(
			ex->to,
			intern__text(&m->adder.groups.texts, m->adder.groups.v.v[group].values[i]));
	}
	*ret_series = ex->host->add_series(ex->to, pairs, by->n);
	free(pairs);
	return 0;
}

static int begin_group(struct answer *a, uint32_t group)
{
	const struct merge *m = a->merge;
	const struct group_head *h = group < m->heads.n ? &m->heads.v[group] : NULL;
	struct dcm_profile head = {
		.time_ns = smallest_from_ns(m->adder.view->sel, m->adder.view->n_sel),
		.duration_ns = h ? h->profiles.duration_ns : 0,
		.period = h ? h->profiles.period : 0,
	};
	int r = add_group_series(m, group, &a->ex, &head.series);

	if (r < 0)
		return r;
	a->ex.host->add_profile(a->ex.to, &head, a->types, m->adder.view->n_sel);
	a->group = group;
	return 0;
}

static int give_waiting(struct answer *a)
{
	const uint32_t n = a->n_waiting, n_sel = a->merge->adder.view->n_sel;
	uint32_t given[WAITING_MAX];
	int r = 0;

	dict_export__stacks(&a->ex, a->stacks, n, given, &r);
	for (uint32_t i = 0; i < n; i++)
		a->ex.host->add_row(a->ex.to, given[i], 0, a->values + (size_t)i * n_sel);
	a->n_waiting = 0;
	return r < 0 ? r : meter__rows(&a->meter, 0);
}

static int add_row(void *ctx, uint32_t group, uint64_t stack, const int64_t *values)
{
	struct answer *a = ctx;
	const uint32_t n_sel = a->merge->adder.view->n_sel;
	int r = 0;

	if (a->n_waiting == WAITING_MAX || a->group != group)
		r = give_waiting(a);
	if (r == 0 && a->group != group)
		r = begin_group(a, group);
	if (r < 0)
		return r;
	a->stacks[a->n_waiting] = (uint32_t)stack;
	memcpy(a->values + (size_t)a->n_waiting++ * n_sel, values, n_sel * sizeof(*values));
	return 0;
}

static int write_answer(struct merge *m, struct dcm_builder *builder)
{
	const struct dict_counts counts = view__counts(m->adder.view);
	CLEANUP(mem__freep) uint32_t *groups = NULL;
	struct answer a = { .merge = m,
			    .meter = { .host = m->adder.view->host, .budget = m->adder.view->sel[0].budget },
			    .group = MATCH_NONE };
	int r = groups__sort(&m->adder.groups, m->adder.view->dict, a.meter.host, a.meter.budget, &groups);

	if (r == 0)
		r = dict_export__init(&a.ex, m->adder.view->dict, &counts, m->adder.view->host, builder);

	a.ex.stacks_once = m->adder.groups.v.n <= 1;
	for (uint32_t k = 0; r == 0 && k < m->adder.view->n_sel; k++)
		a.types[k] = answer_type(m->adder.view, &a.ex, k);
	if (r == 0)
		r = sums__each(&m->adder.sums, groups, (uint32_t)m->adder.groups.v.n, add_row, &a);
	if (r == 0)
		r = give_waiting(&a);
	dict_export__fini(&a.ex);
	return r;
}

static void tell_sides(const struct merge *m)
{
	for (uint32_t k = 0; k < m->adder.view->n_sel; k++) {
		const struct dcm_budget *b = m->adder.view->sel[k].budget;
		const struct counted *c = &m->sides[k];

		if (b && b->side)
			b->side(b->side_ctx, k, c->n, c->duration_ns, c->period);
	}
}

static int try_merge(struct view *v, const struct dcm_group_by *by, struct dcm_builder *builder)
{
	CLEANUP(merge__fini) struct merge m;
	int r = merge__init(&m, v, by);
	bool damaged = false;

	for (uint32_t k = 0; r == 0 && k < v->n_sel; k++) {
		r = adder__add(&m.adder, k);
		damaged |= r == -EBADMSG;
		r = r == -EBADMSG ? 0 : r;
	}
	if (r == 0 && damaged)
		return -EBADMSG;
	if (r == 0)
		r = write_answer(&m, builder);
	if (r == 0)
		tell_sides(&m);
	return r;
}

int answer__merge(struct view *v, const struct dcm_group_by *by, struct dcm_builder *builder)
{
	int r;

	do {
		r = try_merge(v, by, builder);
	} while (view__asks_again(v, r));
	return r;
}
