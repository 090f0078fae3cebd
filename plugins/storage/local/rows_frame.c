/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/rows_frame.c - rows as columns of small numbers, and back
 *
 * Rows of a profile ascend by stack, so that stacks are written as the steps from one to the next;
 * values in periods where the profile has them so. A column goes through one page at a time, in both
 * directions: no memory is needed but for the rows of one profile.
 */
#include "plugins/storage/local/rows_frame.h"

#include <errno.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/le.h"
#include "plugins/storage/local/era_record.h"

enum {
	HEAD_BYTES = 8,
	ID_BYTES = 24,
	PART_BYTES = 68,
	N_PROFILE_COLUMNS = 8,
	HAS_LABELS = 1,
	IN_PERIODS = 2,
};

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

struct column_out {
	struct buf *to;
	unsigned n;
	uint64_t page[PFOR_PAGE];
};

static void flush(struct column_out *c)
{
	if (c->n)
		pfor__put_page(c->to, c->page, c->n);
	c->n = 0;
}

static inline void put(struct column_out *c, uint64_t v)
{
	c->page[c->n++] = v;
	if (c->n == PFOR_PAGE)
		flush(c);
}

/* Differences wrap around: both directions are the same modulo 2^64. */
static uint64_t step(int64_t from, int64_t to)
{
	return zigzag__of((int64_t)((uint64_t)to - (uint64_t)from));
}

/* Of a profile what column `c` says, given the one before it. */
static uint64_t profile_number(const struct streams *s, const struct streams_planned *at,
			       const struct streams_planned *before, unsigned c)
{
	const struct profile *p = at->profile, *q = before ? before->profile : NULL;

	switch (c) {
	case 0:
		return s->v[at->stream].series;
	case 1:
		return s->v[at->stream].type;
	case 2:
		return step(q ? q->time_ms : 0, p->time_ms);
	case 3:
		return step(q ? q->duration_ns : 0, p->duration_ns);
	case 4:
		return step(q ? q->period : 0, p->period);
	case 5:
		return p->n_rows;
	case 6:
		return (p->has_labels ? HAS_LABELS : 0) | (p->in_periods ? IN_PERIODS : 0);
	default:
		return p->n_rows ? profile__stacks(p)[0] : 0;
	}
}

static void put_profiles(struct column_out *c, const struct streams *s, const struct streams_plan *plan)
{
	for (unsigned k = 0; k < N_PROFILE_COLUMNS; k++) {
		for (size_t i = 0; i < plan->items.n; i++)
			put(c, profile_number(s, &plan->items.v[i], i ? &plan->items.v[i - 1] : NULL, k));
		flush(c);
	}
}

static void put_stacks(struct column_out *c, const struct profile *p)
{
	const uint32_t *stacks = profile__stacks(p);

	for (uint32_t i = 1; i < p->n_rows; i++)
		put(c, stacks[i] - stacks[i - 1]);
}

static void put_labels(struct column_out *c, const struct profile *p)
{
	const uint32_t *labels = profile__labels(p);

	for (uint32_t i = 0; labels && i < p->n_rows; i++)
		put(c, labels[i]);
}

static void put_values(struct column_out *c, const struct profile *p)
{
	int64_t some[PFOR_PAGE];

	for (uint32_t i = 0; i < p->n_rows; i += PFOR_PAGE) {
		const uint32_t n = p->n_rows - i < PFOR_PAGE ? p->n_rows - i : PFOR_PAGE;

		profile__numbers(p, i, n, some);
		for (uint32_t k = 0; k < n; k++)
			put(c, zigzag__of(some[k]));
	}
}

static void put_rows(struct column_out *c, const struct streams_plan *plan)
{
	void (*const columns[])(struct column_out *,
				const struct profile *) = { put_stacks, put_labels, put_values };

	for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++) {
		for (size_t i = 0; i < plan->items.n; i++)
			columns[k](c, plan->items.v[i].profile);
		flush(c);
	}
}

static uint64_t count_rows(const struct streams_plan *plan)
{
	uint64_t n = 0;

	for (size_t i = 0; i < plan->items.n; i++)
		n += plan->items.v[i].profile->n_rows;
	return n;
}

static int put_part(const struct head_planned *planned, struct buf *to)
{
	const struct era *e = planned->head->era;
	const struct streams_plan *plan = &planned->plan;
	const struct dict_counts counts = dict__counts(e->dict);
	const uint64_t n_rows = count_rows(plan);
	struct column_out c = { .to = to };
	const size_t began = to->n;

	if (n_rows > ROWS_FRAME_MAX_ROWS || plan->items.n > ROWS_FRAME_MAX_ROWS)
		return -EFBIG;
	buf__le32(to, e->number);
	buf__le64(to, (uint64_t)e->begin_ms);
	buf__le32(to, (uint32_t)plan->items.n);
	buf__le32(to, (uint32_t)n_rows);
	era_record__put_counts(to, &counts);
	buf__le64(to, 0); /* bytes of the record and of the columns, see below */
	const size_t record = to->n;
	const int r = era__put_unwritten(e, to);
	const size_t columns = to->n;

	if (r)
		return r;
	put_profiles(&c, &planned->head->streams, plan);
	put_rows(&c, plan);
	if (to->error)
		return to->error;
	if (to->n - record > UINT32_MAX)
		return -EFBIG;
	le__put32(to->data + began + PART_BYTES - 8, (uint32_t)(columns - record));
	le__put32(to->data + began + PART_BYTES - 4, (uint32_t)(to->n - columns));
	return 0;
}

int rows_frame__encode(const struct heads_plan *plan, struct dcm_batch *const *batches, size_t n,
		       struct buf *to)
{
	int r = 0;

	buf__le32(to, (uint32_t)n);
	buf__le32(to, (uint32_t)plan->items.n);
	for (size_t i = 0; i < n; i++) {
		buf__le64(to, batches[i]->id.source.lo);
		buf__le64(to, batches[i]->id.source.hi);
		buf__le64(to, batches[i]->id.sequence);
	}
	for (size_t i = 0; r == 0 && i < plan->items.n; i++)
		r = put_part(&plan->items.v[i], to);
	return r ? r : to->error;
}

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

int rows_frame__open(struct rows_frame *f, const uint8_t *p, size_t n)
{
	*f = (struct rows_frame){ .in = { p, p + n } };
	if (n < HEAD_BYTES)
		return -EBADMSG;
	f->n_ids = le__get32(p);
	f->n_parts = le__get32(p + 4);
	f->in.p += HEAD_BYTES;
	return f->n_ids <= (n - HEAD_BYTES) / ID_BYTES ? 0 : -EBADMSG;
}

struct dcm_batch_id rows_frame__id(struct rows_frame *f)
{
	const uint8_t *p = f->in.p;

	f->in.p += ID_BYTES;
	return (struct dcm_batch_id){ .source = { .lo = le__get64(p), .hi = le__get64(p + 8) },
				      .sequence = le__get64(p + 16) };
}

/* Of a time in ns: what is beyond is nobody's. */
static bool is_time(int64_t ms)
{
	return ms > INT64_MIN / 1000000 - 1 && ms <= INT64_MAX / 1000000;
}

int rows_frame__part(struct rows_frame *f, struct rows_part *ret)
{
	const uint8_t *p = f->in.p;
	const size_t n = (size_t)(f->in.end - p);

	if (n < PART_BYTES)
		return -EBADMSG;
	const uint32_t n_record = le__get32(p + PART_BYTES - 8),
		       n_columns = le__get32(p + PART_BYTES - 4);
	if (n_record > n - PART_BYTES || n_columns > n - PART_BYTES - n_record)
		return -EBADMSG;
	*ret = (struct rows_part){
		.era = le__get32(p),
		.begin_ms = (int64_t)le__get64(p + 4),
		.n_profiles = le__get32(p + 12),
		.n_rows = le__get32(p + 16),
		.record = p + PART_BYTES,
		.n_record = n_record,
		.counts = era_record__get_counts(p + 20),
	};
	ret->columns.p = ret->record + n_record;
	f->in.p = ret->columns.end = ret->columns.p + n_columns;
	return ret->n_profiles <= ROWS_FRAME_MAX_ROWS && ret->n_rows <= ROWS_FRAME_MAX_ROWS &&
			       ret->begin_ms % ERA_MS == 0
		       ? 0
		       : -EBADMSG;
}

bool rows_frame__at_end(const struct rows_frame *f)
{
	return f->in.p == f->in.end;
}

/* A column of n numbers, page after page. */
struct column_in {
	struct pfor_in in;
	uint64_t left; /* that are in no page yet */
	unsigned at, n;
	int error;
	uint64_t page[PFOR_PAGE];
};

static void next_page(struct column_in *c)
{
	c->at = 0;
	c->n = c->left < PFOR_PAGE ? (unsigned)c->left : PFOR_PAGE;
	c->left -= c->n;
	if (c->n == 0 || pfor__page(&c->in, c->page, c->n) < 0) {
		c->error = -EBADMSG;
		c->n = 1;
		c->page[0] = 0;
	}
}

static inline uint64_t take(struct column_in *c)
{
	if (c->at == c->n)
		next_page(c);
	return c->page[c->at++];
}

/* Where the next column is. */
static int begin_column(struct column_in *c, struct pfor_in *in, uint64_t n)
{
	c->in = *in;
	c->left = n;
	c->at = c->n = 0;
	c->error = 0;
	return pfor__may_hold(in, n) && pfor__skip(in, n) == 0 ? 0 : -EBADMSG;
}

struct reading {
	struct streams *s;
	struct streams_plan *plan;
	int64_t begin_ms;
	struct dict_counts counts;
	struct column_in heads[N_PROFILE_COLUMNS], stacks, labels, values;
	struct profile_head last; /* the profile before */
	VEC(struct row) rows;	  /* of the profile at hand */
};

/* The part's columns. How many labels there are, flags and counts of rows tell, which come before. */
static int begin_columns(const struct rows_part *p, struct reading *g)
{
	struct pfor_in in = p->columns;
	uint64_t n_rows = 0, n_steps = 0, n_labels = 0;

	for (unsigned k = 0; k < N_PROFILE_COLUMNS; k++)
		if (begin_column(&g->heads[k], &in, p->n_profiles) < 0)
			return -EBADMSG;
	struct column_in counts = g->heads[5], flags = g->heads[6];
	for (uint32_t i = 0; i < p->n_profiles; i++) {
		const uint64_t n = take(&counts), flag = take(&flags);

		if (n > p->n_rows - n_rows || flag > (HAS_LABELS | IN_PERIODS))
			return -EBADMSG;
		n_rows += n;
		n_steps += n ? n - 1 : 0;
		n_labels += flag & HAS_LABELS ? n : 0;
	}
	if (counts.error || flags.error || n_rows != p->n_rows ||
	    begin_column(&g->stacks, &in, n_steps) < 0 ||
	    begin_column(&g->labels, &in, n_labels) < 0 || begin_column(&g->values, &in, n_rows) < 0)
		return -EBADMSG;
	return in.p == in.end ? 0 : -EBADMSG;
}

static int64_t add_step(int64_t to, uint64_t zigzag)
{
	return (int64_t)((uint64_t)to + (uint64_t)zigzag__back(zigzag));
}

/* g->rows of a profile. */
static int take_rows(struct reading *g, uint64_t flags, uint64_t n, uint64_t stack)
{
	const int64_t unit = flags & IN_PERIODS ? g->last.period : 1;
	int bad = stack >= g->counts.stacks && n;

	g->rows.n = 0;
	if (!vec__reserve(&g->rows, n))
		return -ENOMEM;
	for (uint64_t i = 0; i < n && !bad; i++) {
		const uint64_t more = i ? take(&g->stacks) : 0;
		const uint64_t labels = flags & HAS_LABELS ? take(&g->labels) : 0;
		struct row r = { .labels = (uint32_t)labels };

		bad = more >= g->counts.stacks - stack || labels >= g->counts.label_sets ||
		      (i && more == 0 && labels <= g->rows.v[i - 1].labels) ||
		      __builtin_mul_overflow(zigzag__back(take(&g->values)), unit, &r.value);
		stack += more;
		r.stack = (uint32_t)stack;
		g->rows.v[g->rows.n++] = r;
	}
	return bad ? -EBADMSG : 0;
}

static int take_profile(struct reading *g)
{
	uint64_t v[N_PROFILE_COLUMNS];

	for (unsigned k = 0; k < N_PROFILE_COLUMNS; k++)
		v[k] = take(&g->heads[k]);
	g->last = (struct profile_head){
		.time_ms = add_step(g->last.time_ms, v[2]),
		.duration_ns = add_step(g->last.duration_ns, v[3]),
		.period = add_step(g->last.period, v[4]),
	};
	if (v[0] >= g->counts.series || v[1] >= g->counts.types || !is_time(g->last.time_ms) ||
	    era__begin_of(g->last.time_ms) != g->begin_ms)
		return -EBADMSG;
	int r = take_rows(g, v[6], v[5], v[7]);
	if (r)
		return r;
	struct profile *p = profile__new(&g->last, g->rows.v, (uint32_t)g->rows.n);
	r = p ? streams__plan_profile(g->s, g->plan, (uint32_t)v[0], (uint32_t)v[1], p) : -ENOMEM;
	if (r)
		profile__unref(p);
	return r;
}

int rows_part__plan(const struct rows_part *p, struct streams *s, struct streams_plan *plan)
{
	struct reading g = {
		.s = s,
		.plan = plan,
		.begin_ms = p->begin_ms,
		.counts = dict__counts(s->dict),
	};
	int r = begin_columns(p, &g);

	for (uint32_t i = 0; r == 0 && i < p->n_profiles; i++)
		r = take_profile(&g);
	for (unsigned k = 0; r == 0 && k < N_PROFILE_COLUMNS; k++)
		r = g.heads[k].error;
	if (r == 0 && (g.stacks.error || g.labels.error || g.values.error))
		r = -EBADMSG;
	vec__fini(&g.rows);
	return r;
}
