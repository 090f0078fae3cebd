/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/compact_plan.c - which blocks to compact next
 */
#include "plugins/storage/local/compact_plan.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/vec.h"

enum {
	GROWTH = 4, /* a block of the window's own level is copied again for a quarter of its rows */
	MINUTE_MS = 60 * 1000,
	HOUR_MS = 60 * MINUTE_MS,
};

const struct compact_rules compact_default_rules = {
	.window_ms = { 2 * HOUR_MS, 24 * HOUR_MS },
	.grace_ms = { 10 * MINUTE_MS, HOUR_MS },
	.zstd_level = { 0, 1 },
};

/* -------------------------------------------------------------------------------------------------
 * Windows
 */

struct window {
	uint32_t era;
	int64_t at; /* the at-th since 1970 */
};

struct choice {
	const struct manifest *m;
	const struct compact_rules *rules;
	compact_usable_fn usable;
	void *ctx;
	uint8_t level; /* to which */
	VEC(struct window) windows;
};

static struct window window_of(const struct choice *c, const struct manifest_block *b)
{
	const int64_t length = c->rules->window_ms[c->level - 1];

	return (struct window){ b->era, b->last_ms / length - (b->last_ms % length < 0) };
}

static bool same_window(struct window a, struct window b)
{
	return a.era == b.era && a.at == b.at;
}

static int by_age(const void *a, const void *b)
{
	const struct window *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->era > y->era) - (x->era < y->era);
}

static bool is_usable(const struct choice *c, const struct manifest_block *b)
{
	return !c->usable || c->usable(c->ctx, b->number);
}

/*
 * Closed windows that have blocks below the level, the oldest first; some of them more than once.
 */
static int find_windows(struct choice *c, int64_t now_ms)
{
	const int64_t length = c->rules->window_ms[c->level - 1];
	const int64_t latest = now_ms - c->rules->grace_ms[c->level - 1] - length;

	c->windows.n = 0;
	for (size_t i = 0; i < c->m->blocks.n; i++) {
		const struct manifest_block *b = &c->m->blocks.v[i];
		const struct window w = window_of(c, b);

		if (b->level >= c->level || w.at * length > latest)
			continue;
		if (!vec__push(&c->windows, w))
			return -ENOMEM;
	}
	if (c->windows.n > 1)
		qsort(c->windows.v, c->windows.n, sizeof(c->windows.v[0]), by_age);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Blocks of a window
 */

static int by_writing(const void *a, const void *b)
{
	return manifest_block__compare(a, b);
}

static int by_rows(const void *a, const void *b)
{
	const struct manifest_block *x = a, *y = b;

	return (x->n_rows > y->n_rows) - (x->n_rows < y->n_rows);
}

typedef VEC(struct manifest_block) block_list;

/* Blocks of the window that are below the level, or of it. */
static int list_blocks(const struct choice *c, struct window w, bool below, block_list *ret)
{
	for (size_t i = 0; i < c->m->blocks.n; i++) {
		const struct manifest_block *b = &c->m->blocks.v[i];

		if (below ? b->level >= c->level : b->level != c->level)
			continue;
		if (same_window(window_of(c, b), w) && is_usable(c, b) && !vec__push(ret, *b))
			return -ENOMEM;
	}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(ret->v[0]), below ? by_writing : by_rows);
	return 0;
}

static void add_input(struct compact_plan *p, const struct manifest_block *b)
{
	p->inputs[p->n++] = *b;
	p->n_rows += b->n_rows;
}

/* What is new in the window, and the blocks of its level that are short beside it. */
static int list_inputs(const struct choice *c, struct window w, struct compact_plan *p)
{
	block_list fresh = { 0 }, done = { 0 };
	int r = list_blocks(c, w, true, &fresh);

	if (r == 0)
		r = list_blocks(c, w, false, &done);
	for (size_t i = 0; r == 0 && i < fresh.n && p->n < COMPACT_MAX_BLOCKS; i++)
		add_input(p, &fresh.v[i]);
	for (size_t i = 0; r == 0 && i < done.n && p->n < COMPACT_MAX_BLOCKS; i++)
		if (done.v[i].n_rows <= GROWTH * p->n_rows && done.v[i].n_rows + p->n_rows <= BLOCK_ROWS_MAX)
			add_input(p, &done.v[i]);
	vec__fini(&fresh);
	vec__fini(&done);
	qsort(p->inputs, p->n, sizeof(p->inputs[0]), by_writing);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Order
 */

static bool is_input(const struct compact_plan *p, const struct manifest_block *b)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->inputs[i].number == b->number)
			return true;
	return false;
}

/* Whether a block outside the plan has to stay between this input and the last one. */
static bool is_held(const struct choice *c, const struct compact_plan *p,
		    const struct manifest_block *input)
{
	for (size_t i = 0; i < c->m->blocks.n; i++) {
		const struct manifest_block *b = &c->m->blocks.v[i];

		if (b->era == input->era && b->last_lsn <= p->inputs[p->n - 1].last_lsn &&
		    manifest_block__compare(input, b) < 0 && b->first_ms <= input->last_ms &&
		    b->last_ms >= input->first_ms && !is_input(p, b))
			return true;
	}
	return false;
}

static void leave_out_held(const struct choice *c, struct compact_plan *p)
{
	for (uint32_t i = 0; i < p->n;) {
		if (!is_held(c, p, &p->inputs[i])) {
			i++;
			continue;
		}
		p->n_rows -= p->inputs[i].n_rows;
		p->n--;
		for (uint32_t k = i; k < p->n; k++)
			p->inputs[k] = p->inputs[k + 1];
		i = 0; /* it may now hold others */
	}
}

/* -------------------------------------------------------------------------------------------------
 * The plan
 */

/* One block alone is worth it when its rows become smaller. */
static bool pays(const struct compact_plan *p)
{
	bool fresh = false;

	for (uint32_t i = 0; i < p->n; i++)
		fresh |= p->inputs[i].level < p->level;
	return fresh && (p->n > 1 || p->zstd_level > 0);
}

static int plan_window(const struct choice *c, struct window w, struct compact_plan *p)
{
	int r;

	*p = (struct compact_plan){ .era = w.era,
				    .level = c->level,
				    .zstd_level = c->rules->zstd_level[c->level - 1] };
	r = list_inputs(c, w, p);
	if (r < 0)
		return r;
	leave_out_held(c, p);
	if (!pays(p))
		return 0;
	p->last_lsn = p->inputs[p->n - 1].last_lsn;
	return 1;
}

int compact_plan__choose(struct compact_plan *ret, const struct manifest *m,
			 const struct compact_rules *rules, int64_t now_ms,
			 compact_usable_fn usable, void *ctx)
{
	struct choice c = { .m = m, .rules = rules, .usable = usable, .ctx = ctx };
	int r = 0;

	for (c.level = 1; r == 0 && c.level <= COMPACT_LEVELS; c.level++) {
		r = find_windows(&c, now_ms);
		for (size_t i = 0; r == 0 && i < c.windows.n; i++)
			if (i == 0 || !same_window(c.windows.v[i], c.windows.v[i - 1]))
				r = plan_window(&c, c.windows.v[i], ret);
	}
	vec__fini(&c.windows);
	return r;
}
