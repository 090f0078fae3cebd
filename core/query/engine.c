/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/engine.c - turns, budgets, and the way from a selector's text to a named answer
 */
#include "core/query/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/type.h"

/* How often one who waits looks whether it was cancelled. */
#define WAIT_NS 50000000

struct engine {
	struct engine_config config;
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t turn_over;
	struct engine_stat stat;
};

int engine__new(const struct engine_config *config, struct engine **ret, struct dcm_error *err)
{
	struct engine *e = NEW(struct engine);

	if (!e)
		return error__nomem(err);
	e->config = *config;
	e->config.max_questions = config->max_questions ? config->max_questions : 8;
	e->config.max_waiting = config->max_waiting ? config->max_waiting : 64;
	e->config.max_time_ns = config->max_time_ns ? config->max_time_ns : 60000000000;
	e->config.max_bytes = config->max_bytes ? config->max_bytes : (uint64_t)512 << 20;
	pthread_mutex_init(&e->lock, NULL);
	cond__init(&e->turn_over);
	*ret = e;
	return 0;
}

void engine__free(struct engine *e)
{
	if (!e)
		return;
	pthread_cond_destroy(&e->turn_over);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

void engine__stat(struct engine *e, struct engine_stat *ret)
{
	pthread_mutex_lock(&e->lock);
	*ret = e->stat;
	pthread_mutex_unlock(&e->lock);
}

/* -------------------------------------------------------------------------------------------------
 * Turns
 */

/* One question while it is being answered. */
struct turn {
	struct engine *engine;
	struct dcm_budget own; /* for those who bring none */
	struct dcm_budget *budget;
	struct selector *a, *b; /* b: the other side of a diff, or NULL */
	const struct question *q;
	const struct filter *filter; /* NULL: none */
	uint64_t n_undecided;	     /* by the filter, before this turn */
	struct compare compare; /* of its sides; without a diff the first, where the span is asked for */
	bool wants_span;	/* the answer's profiles are to say what time they cover */
};

static int is_over(const struct turn *t, struct dcm_error *err)
{
	const struct dcm_host *host = t->engine->config.host;

	if (atomic_load(&t->budget->cancelled))
		return error__set(err, -ECANCELED, "the question was cancelled");
	if (t->budget->deadline_mono_ns && host->mono_ns(host) > t->budget->deadline_mono_ns)
		return error__set(
			err, -ETIMEDOUT, "the question was not answered before its deadline; ask for a shorter range");
	return 0;
}

/* With the lock held. */
static int wait_for_turn(struct turn *t, struct dcm_error *err)
{
	struct engine *e = t->engine;
	int r = 0;

	if (e->stat.running < e->config.max_questions)
		return 0;
	if (e->stat.waiting >= e->config.max_waiting) {
		e->stat.refused++;
		return error__set(err, -EAGAIN, "%u questions are being answered and %u wait already; try again later",
				  e->stat.running, e->stat.waiting);
	}
	e->stat.waiting++;
	while (r == 0 && e->stat.running >= e->config.max_questions) {
		const struct timespec until = cond__after(WAIT_NS);

		pthread_cond_timedwait(&e->turn_over, &e->lock, &until);
		r = is_over(t, err);
	}
	e->stat.waiting--;
	return r;
}

static int parse(struct dcm_str text, unsigned flags, const char *what, struct selector **ret,
		 struct dcm_error *err)
{
	int r = selector__parse(text, flags, ret, err);

	if (r < 0 && r != -ENOMEM)
		error__prefix(err, "%s", what);
	return r;
}

/* Values of different units say nothing about each other. */
static int compare_units(const struct turn *t, struct dcm_error *err)
{
	struct type_text a, b;
	int r = type__parse(t->a->type, &a, err);

	if (r == 0)
		r = type__parse(t->b->type, &b, err);
	if (r == 0 && !str__eq(a.sample_unit, b.sample_unit))
		r = error__set(err, -EINVAL, "%.*s cannot be compared with %.*s; select types of one unit",
			       STR_ARG(a.sample_unit), STR_ARG(b.sample_unit));
	return r;
}

/* [from, to) is what the selector or filter that could not tell was about. */
static void tell_undecided(const struct engine *e, const struct dcm_budget *budget,
			   struct dcm_gap gap, uint64_t n)
{
	if (n == 0)
		return;
	stats__counter_add(e->config.undecided, n);
	gap.size = sizeof(gap);
	gap.why = STR("it takes too long to match some texts, which counted as no match; "
		      "write it without repeats in repeats");
	if (budget && budget->gap)
		budget->gap(budget->gap_ctx, &gap);
}

#define OF_SELECTOR STR("the selector's regular expression")
#define OF_FILTER   STR("a filter's regular expression")

static void tell_turn(const struct turn *t)
{
	const struct question *q = t->q;
	struct dcm_gap a = { .what = OF_SELECTOR, .from_ms = q->from_ms, .to_ms = q->to_ms };
	struct dcm_gap b = { .what = OF_SELECTOR, .from_ms = q->from_b_ms, .to_ms = q->to_b_ms };

	tell_undecided(t->engine, t->budget, a, selector__n_undecided(t->a));
	if (t->b)
		tell_undecided(t->engine, t->budget, b, selector__n_undecided(t->b));
	a.what = OF_FILTER;
	tell_undecided(t->engine, t->budget, a, filter__n_undecided(t->filter) - t->n_undecided);
}

void engine__filtered(struct engine *e, const struct question *q)
{
	struct dcm_gap gap = { .what = OF_FILTER, .from_ms = q->from_ms, .to_ms = q->to_ms };

	tell_undecided(e, q->budget, gap, filter__n_undecided(q->filter));
}

static void end(struct turn *t)
{
	selector__free(t->a);
	selector__free(t->b);
}

/* The filter whose verdicts are told when the turn ends. */
static void use_filter(struct turn *t, const struct filter *filter)
{
	t->filter = filter;
	t->n_undecided = filter__n_undecided(filter);
}

static int begin(struct engine *e, const struct question *q, unsigned flags, struct turn *t,
		 struct dcm_error *err)
{
	const struct dcm_host *host = e->config.host;
	int r = parse(q->selector, flags, q->diff ? "selector A" : "selector", &t->a, err);

	if (r == 0 && q->diff)
		r = parse(q->selector_b, flags, "selector B", &t->b, err);
	if (r == 0 && q->diff)
		r = compare_units(t, err);
	if (r < 0) {
		end(t);
		return r;
	}
	t->engine = e;
	t->q = q;
	use_filter(t, q->filter);
	t->budget = q->budget ? q->budget : &t->own;
	if (t->budget->deadline_mono_ns == 0)
		t->budget->deadline_mono_ns = host->mono_ns(host) + e->config.max_time_ns;
	if (t->budget->max_bytes == 0)
		t->budget->max_bytes = e->config.max_bytes;
	return 0;
}

static int enter(struct engine *e, const struct question *q, unsigned flags, struct turn *t,
		 struct dcm_error *err)
{
	int r = begin(e, q, flags, t, err);

	pthread_mutex_lock(&e->lock);
	e->stat.asked++;
	if (r == 0) {
		r = wait_for_turn(t, err);
		if (r < 0)
			end(t);
	}
	if (r == 0)
		e->stat.running++;
	else if (r != -EAGAIN)
		e->stat.failed++;
	pthread_mutex_unlock(&e->lock);
	return r;
}

/* Gives the turn to the next one; passes `r` through. */
static int leave(struct turn *t, int r)
{
	struct engine *e = t->engine;

	tell_turn(t);
	pthread_mutex_lock(&e->lock);
	e->stat.running--;
	e->stat.failed += r < 0;
	pthread_cond_signal(&e->turn_over);
	pthread_mutex_unlock(&e->lock);
	end(t);
	return r;
}

/*
 * Before and after each call of the store. Who comes in counts first and then looks whether it was
 * cancelled: who cancels all and then sees nobody inside may take the store away.
 */
static int go_inside(const struct turn *t, struct dcm_error *err)
{
	_Atomic uint32_t *n = t->engine->config.n_inside;
	int r;

	if (!n)
		return 0;
	atomic_fetch_add(n, 1);
	r = is_over(t, err);
	if (r < 0)
		atomic_fetch_sub(n, 1);
	return r;
}

/*
 * What a store or a builder says of too much memory is for who writes plugins: who asks hears what
 * the answer is bounded by. Passes `r` through.
 */
static int explain(const struct turn *t, int r, struct dcm_error *err)
{
	if (r == -E2BIG && t->budget->max_bytes)
		error__set(err, r,
			   "the answer needs more than the %" PRIu64
			   " bytes that a question may have; ask for a shorter range or fewer "
			   "series, or raise server.query_memory",
			   t->budget->max_bytes);
	return r;
}

static int come_out(const struct turn *t, int r, struct dcm_error *err)
{
	if (t->engine->config.n_inside)
		atomic_fetch_sub(t->engine->config.n_inside, 1);
	return explain(t, r, err);
}

/* -------------------------------------------------------------------------------------------------
 * Lists
 */

static struct dcm_select select_a(const struct turn *t, const struct question *q)
{
	return selector__select(t->a, q->from_ms, q->to_ms, t->budget);
}

/*
 * Begins a question that a list of the store answers. After 0, end_list() takes what the store
 * returned.
 */
static int begin_list(struct turn *t, struct engine *e, const struct question *q,
		      struct dcm_select *ret, struct dcm_error *err)
{
	int r = enter(e, q, SELECTOR_TYPE_OPTIONAL, t, err);

	if (r < 0)
		return r;
	*ret = select_a(t, q);
	r = go_inside(t, err);
	return r < 0 ? leave(t, r) : 0;
}

static int end_list(struct turn *t, int r, struct dcm_error *err)
{
	return leave(t, come_out(t, r, err));
}

int engine__types(struct engine *e, const struct question *q, dcm_type_fn each, void *ctx,
		  struct dcm_error *err)
{
	struct turn t = { 0 };
	struct dcm_select sel;
	int r = begin_list(&t, e, q, &sel, err);

	return r < 0 ? r
		     : end_list(&t, e->config.ops->types(e->config.instance, &sel, each, ctx, err), err);
}

int engine__labels(struct engine *e, const struct question *q, dcm_name_fn each, void *ctx,
		   struct dcm_error *err)
{
	struct turn t = { 0 };
	struct dcm_select sel;
	int r = begin_list(&t, e, q, &sel, err);

	return r < 0 ? r
		     : end_list(&t, e->config.ops->labels(e->config.instance, &sel, each, ctx, err), err);
}

int engine__values(struct engine *e, const struct question *q, struct dcm_str name,
		   dcm_name_fn each, void *ctx, struct dcm_error *err)
{
	struct turn t = { 0 };
	struct dcm_select sel;
	int r = begin_list(&t, e, q, &sel, err);

	return r < 0 ? r
		     : end_list(&t, e->config.ops->values(e->config.instance, &sel, name, each, ctx, err),
				err);
}

/* -------------------------------------------------------------------------------------------------
 * Merges
 */

/* The labels to group by, each once, in the order asked for. */
struct grouping {
	struct dcm_str *labels;
	struct dcm_group_by by;
};

static int grouping__init(struct grouping *g, const struct question *q, struct dcm_error *err)
{
	uint32_t n = 0;

	g->labels = mem__zalloc(q->n_group_by, sizeof(*g->labels));
	if (!g->labels)
		return error__nomem(err);
	for (uint32_t i = 0; i < q->n_group_by; i++) {
		uint32_t k = 0;

		while (k < n && !str__eq(g->labels[k], q->group_by[i]))
			k++;
		if (k == n)
			g->labels[n++] = q->group_by[i];
	}
	g->by = (struct dcm_group_by){ g->labels, n };
	return 0;
}

int engine__time_series(struct engine *e, const struct question *q, int64_t step_ms,
			dcm_points_fn each, void *ctx, struct dcm_error *err)
{
	struct turn t = { 0 };
	struct grouping g;
	int r = grouping__init(&g, q, err);

	if (r < 0)
		return r;
	r = enter(e, q, 0, &t, err);
	if (r == 0) {
		struct dcm_select sel = select_a(&t, q);

		r = go_inside(&t, err);
		if (r == 0)
			r = come_out(&t,
				     e->config.ops->time_series(e->config.instance, &sel, step_ms,
								&g.by, each, ctx, err),
				     err);
		leave(&t, r);
	}
	free(g.labels);
	return r;
}

static void hear_side(void *ctx, uint32_t selection, uint64_t n_profiles, int64_t duration_ns,
		      int64_t period)
{
	struct compare *c = ctx;

	if (selection >= 2)
		return;
	struct compare_side *s = &c->side[selection];
	s->is_told = true;
	s->n_profiles = n_profiles;
	s->duration_ns = duration_ns;
	s->period = period;
}

/* The store merges; of a diff it tells how its sides compare. */
static int merge(struct turn *t, const struct question *q, const struct dcm_select sel[2],
		 const struct dcm_group_by *by, struct dcm_builder *b, struct dcm_error *err)
{
	const struct engine_config *c = &t->engine->config;
	struct dcm_store_stat stat = { .size = sizeof(stat) };
	int r;

	t->compare = (struct compare){ .is_diff = q->diff };
	if (q->diff || t->wants_span) {
		t->budget->side = hear_side;
		t->budget->side_ctx = &t->compare;
	}
	r = c->ops->merge(c->instance, sel, q->diff ? 2 : 1, by, c->host, b, err);
	t->budget->side = NULL;
	if (!q->diff)
		return r;
	c->ops->stat(c->instance, &stat);
	for (unsigned k = 0; k < 2; k++)
		compare__set_range(&t->compare.side[k], &sel[k], stat.first_ms,
				   c->host->real_ns(c->host) / 1000000);
	return r;
}

/* When the first and the last of the profiles begin that match. */
struct begins {
	uint64_t n;
	int64_t first_ms, last_ms;
};

static int note_begins(void *ctx, const struct dcm_type_info *t)
{
	struct begins *s = ctx;

	if (t->n_profiles == 0)
		return 0;
	s->first_ms = s->n == 0 || t->first_ms < s->first_ms ? t->first_ms : s->first_ms;
	s->last_ms = s->n == 0 || t->last_ms > s->last_ms ? t->last_ms : s->last_ms;
	s->n += t->n_profiles;
	return 0;
}

/* Asks once more, without telling again what is left out. */
static int ask_begins(const struct turn *t, struct dcm_select sel, struct begins *ret,
		      struct dcm_error *err)
{
	const struct engine_config *c = &t->engine->config;
	dcm_gap_fn gap = sel.budget->gap;
	int r = go_inside(t, err);

	if (r < 0)
		return r;
	sel.budget->gap = NULL;
	r = come_out(t, c->ops->types(c->instance, &sel, note_begins, ret, err), err);
	sel.budget->gap = gap;
	return r;
}

/* The last of those whose end is looked at: one that began earlier seldom ends later than the last. */
#define LAST_ONES_MS 60000

struct ends {
	int64_t last_ns;
};

static int note_ends(void *ctx, const struct dcm_points *p)
{
	struct ends *s = ctx;

	for (uint32_t i = 0; i < p->n; i++) {
		int64_t each = p->n_profiles[i] ? p->duration_ns[i] / p->n_profiles[i] : 0, end;

		if (!__builtin_mul_overflow(p->t_ms[i], 1000000, &end) &&
		    !__builtin_add_overflow(end, each, &end) && end > s->last_ns)
			s->last_ns = end;
	}
	return 0;
}

/* When the last of the profiles end that match, of which the last begins at last_ms. */
static int ask_ends(const struct turn *t, struct dcm_select sel, int64_t last_ms, struct ends *ret,
		    struct dcm_error *err)
{
	const struct engine_config *c = &t->engine->config;
	dcm_gap_fn gap = sel.budget->gap;
	int64_t from_ms;
	int r = go_inside(t, err);

	if (r < 0)
		return r;
	if (!__builtin_sub_overflow(last_ms, LAST_ONES_MS, &from_ms) && from_ms > sel.from_ms)
		sel.from_ms = from_ms;
	sel.budget->gap = NULL;
	r = come_out(t,
		     c->ops->time_series(c->instance, &sel, 0, &(struct dcm_group_by){ 0 },
					 note_ends, ret, err),
		     err);
	sel.budget->gap = gap;
	return r;
}

/*
 * A store adds up the durations of what it merges, and series of one time are many. Who reads a file
 * takes its duration for the time it is about, so the answer gets that: from the first profile to the
 * last end of one; and no longer than the sum, which is less where there are holes.
 */
static int set_span(const struct turn *t, const struct dcm_select *sel, struct dcm_batch **answer,
		    struct dcm_error *err)
{
	const struct compare_side *side = &t->compare.side[0];
	struct begins at = { 0 };
	struct ends ends = { INT64_MIN };
	struct arena *arena;
	int64_t first_ns, span_ns;
	int r;

	if (!side->is_told || side->n_profiles == 0)
		return 0;
	r = ask_begins(t, *sel, &at, err);
	if (r == 0 && at.n > 0)
		r = ask_ends(t, *sel, at.last_ms, &ends, err);
	if (r < 0 || at.n == 0)
		return r;
	if (__builtin_mul_overflow(at.first_ms, 1000000, &first_ns) || ends.last_ns < first_ns ||
	    __builtin_sub_overflow(ends.last_ns, first_ns, &span_ns))
		return 0;

	CLEANUP(batch__unrefp) struct dcm_batch *b = batch__overlay(*answer, &arena);
	struct dcm_profile *profiles = b ? arena__alloc(arena, (b->n_profiles + 1) * sizeof(*profiles))
					 : NULL;
	if (!profiles)
		return error__nomem(err);
	for (uint32_t i = 0; i < b->n_profiles; i++) {
		struct dcm_profile *p = &profiles[i];

		*p = b->profiles[i];
		p->time_ns = first_ns;
		p->duration_ns = p->duration_ns < span_ns ? p->duration_ns : span_ns;
	}
	b->profiles = profiles;
	batch__account(b);
	batch__unref(*answer);
	*answer = take_ptr(b);
	return 0;
}

/* The store's answer, sealed and named. */
static int merge_named(struct turn *t, const struct question *q, const struct dcm_group_by *by,
		       struct dcm_batch **ret, struct dcm_error *err)
{
	const struct engine_config *c = &t->engine->config;
	struct dcm_select sel[2] = { select_a(t, q) };
	CLEANUP(batch__unrefp) struct dcm_batch *answer = NULL;
	struct dcm_builder *b = c->host->builder_new(c->host, t->budget->max_bytes);
	int r;

	if (!b)
		return error__nomem(err);
	builder__leave_hashes(b);
	if (q->diff)
		sel[1] = selector__select(t->b, q->from_b_ms, q->to_b_ms, t->budget);
	r = go_inside(t, err);
	if (r == 0)
		r = come_out(t, merge(t, q, sel, by, b, err), err);
	if (r == 0)
		r = explain(t, c->host->seal(b, &answer, err), err);
	c->host->builder_free(b);
	if (r == 0 && q->diff)
		compare__set_types(&t->compare, answer);
	if (r == 0)
		r = is_over(t, err);
	/* What is there is not given up for want of time to say what time it covers. */
	if (r == 0 && t->wants_span && !q->diff) {
		r = set_span(t, sel, &answer, err);
		if (r == -ETIMEDOUT)
			r = 0;
	}
	if (r < 0)
		return r;
	if (!c->name) {
		*ret = take_ptr(answer);
		return 0;
	}
	return c->name(c->name_ctx, answer, ret, err);
}

int engine__merge(struct engine *e, const struct question *q, struct dcm_batch **ret_batch,
		  int64_t ret_filtered[2], struct dcm_error *err)
{
	CLEANUP(batch__unrefp) struct dcm_batch *named = NULL;
	struct turn t = { .wants_span = true };
	struct grouping g;
	int64_t filtered[16];
	int r = grouping__init(&g, q, err);

	if (r < 0)
		return r;
	r = enter(e, q, 0, &t, err);
	if (r == 0) {
		r = merge_named(&t, q, &g.by, &named, err);
		if (r == 0)
			r = explain(&t,
				    filter__batch(q->filter, named, t.budget->max_bytes, ret_batch,
						  filtered, err),
				    err);
		leave(&t, r);
	}
	if (r == 0 && ret_filtered)
		memcpy(ret_filtered, filtered, 2 * sizeof(filtered[0]));
	free(g.labels);
	return r;
}

/* Frames within a turn; make: frames__new() or frames__begin(). */
static int make_frames(struct turn *t, const struct question *q, enum frames_group group,
		       typeof(frames__new) *make, struct frames **ret, struct dcm_error *err)
{
	CLEANUP(batch__unrefp) struct dcm_batch *named = NULL;
	struct grouping g;
	int r = grouping__init(&g, q, err);

	if (r == 0)
		r = merge_named(t, q, &g.by, &named, err);
	if (r == 0)
		r = make(named, group, &g.by, ret, err);
	if (r == 0)
		(*ret)->compare = t->compare;
	if (r == 0 && (r = is_over(t, err)) < 0)
		frames__unref(take_ptr(*ret));
	free(g.labels);
	return r;
}

int engine__frames(struct engine *e, const struct question *q, enum frames_group group,
		   struct frames **ret, struct dcm_error *err)
{
	struct turn t = { 0 };
	struct frames *frames = NULL;
	int r = enter(e, q, 0, &t, err);

	if (r < 0)
		return r;
	r = leave(&t, make_frames(&t, q, group, frames__new, &frames, err));
	if (r == 0)
		*ret = frames;
	return r;
}

static int turn_is_over(void *ctx, struct dcm_error *err)
{
	return is_over(ctx, err);
}

int engine__flame(struct engine *e, const struct question *q, enum frames_group group,
		  const struct flame_options *options, struct flame **ret, struct dcm_error *err)
{
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	struct flame_options o = options ? *options : (struct flame_options){ 0 };
	struct turn t = { 0 };
	int r = enter(e, q, 0, &t, err);

	if (r < 0)
		return r;
	o.filter = o.filter ? o.filter : q->filter;
	use_filter(&t, o.filter);
	o.is_over = turn_is_over;
	o.over_ctx = &t;
	r = make_frames(&t, q, group, frames__begin, &frames, err);
	if (r == 0)
		r = flame__new(frames, &o, ret, err);
	return leave(&t, r);
}

int engine__top(struct engine *e, const struct question *q, enum frames_group group,
		const struct top_options *options, struct top **ret, struct dcm_error *err)
{
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	struct top_options o = options ? *options : (struct top_options){ 0 };
	struct turn t = { 0 };
	int r = enter(e, q, 0, &t, err);

	if (r < 0)
		return r;
	o.filter = o.filter ? o.filter : q->filter;
	use_filter(&t, o.filter);
	r = make_frames(&t, q, group, frames__new, &frames, err);
	if (r == 0)
		r = top__new(frames, &o, ret, err);
	return leave(&t, r);
}

struct dcm_str engine__unit(const struct question *q)
{
	struct dcm_str type = q->selector;
	struct type_text parts;
	uint32_t from = 0, to;

	while (from < type.n && strchr(" \t\r\n", type.p[from]) && type.p[from])
		from++;
	for (to = from;
	     to < type.n && type.p[to] != '{' && !(strchr(" \t\r\n", type.p[to]) && type.p[to]); to++)
		;
	type = (struct dcm_str){ type.p + from, to - from };
	return type.n && type__parse(type, &parts, NULL) == 0 ? parts.sample_unit : STR("");
}
