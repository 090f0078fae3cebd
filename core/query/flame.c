/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/flame.c - sorts the stacks, grows the tree from them, then sorts siblings into
 * preorder columns
 *
 * While it grows, a node is a number, and its parent's number is smaller: totals are one backward
 * pass.
 */
#include "core/query/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/query/stacks.h"
#include "core/query/walk.h"

/* -------------------------------------------------------------------------------------------------
 * Growing
 */

struct tree {
	uint32_t n, cap; /* nodes in preorder, siblings by frame; node 0 is the root */
	uint32_t n_values;
	uint32_t *parent, *frame;
	int64_t *self[2], *total[2];
	double factor[2]; /* of a side's values, where they weigh */
	uint64_t *weight; /* of the subtree: |self| of both sides */
};

static void tree__fini(struct tree *t)
{
	free(t->parent);
	free(t->frame);
	for (unsigned s = 0; s < 2; s++) {
		free(t->self[s]);
		free(t->total[s]);
	}
	free(t->weight);
}

/* Resizes one column; the old one stays when memory runs out. */
static bool resize(void *column, size_t n, size_t size)
{
	void *more = mem__resize(*(void **)column, n, size);

	if (more)
		*(void **)column = more;
	return more;
}

/* `expected`: how many nodes there may be at first. */
static int tree__grow(struct tree *t, uint32_t expected)
{
	uint32_t cap = t->cap ? t->cap * 2 : expected > 1024 ? expected : 1024;

	if (!resize(&t->parent, cap, sizeof(*t->parent)) || !resize(&t->frame, cap, sizeof(*t->frame)))
		return -ENOMEM;
	for (uint32_t s = 0; s < t->n_values; s++)
		if (!resize(&t->self[s], cap, sizeof(*t->self[s])))
			return -ENOMEM;
	t->cap = cap;
	return 0;
}

static int tree__add_node(struct tree *t, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	if (t->n == FLAME_MAX_NODES)
		return -E2BIG;
	if (t->n == t->cap && tree__grow(t, 0) < 0)
		return -ENOMEM;
	t->parent[t->n] = parent;
	t->frame[t->n] = frame;
	for (uint32_t s = 0; s < t->n_values; s++)
		t->self[s][t->n] = 0;
	*ret = t->n++;
	return 0;
}

/* Whether somebody still wants it is asked once in so many steps, which take some tenths of a millisecond. */
enum { BETWEEN_LOOKS = 4096 };

struct wanted {
	const struct flame_options *o;
	struct dcm_error *err;
};

static int look(void *ctx)
{
	const struct wanted *w = ctx;

	return w->o->is_over ? w->o->is_over(w->o->over_ctx, w->err) : 0;
}

static int look_at_times(const struct wanted *w, size_t step)
{
	return step % BETWEEN_LOOKS == BETWEEN_LOOKS - 1 ? look((void *)w) : 0;
}

/* From sorted stacks: what a stack does not share with the one before it is new. */
static int tree__build(struct tree *t, const struct stacks *s, const struct wanted *wanted)
{
	CLEANUP(mem__freep)
	uint32_t *path = NULL; /* nodes of the stack before, by depth; the root at 0 */
	uint32_t deepest = 0;
	int r;

	for (size_t i = 0; i < s->refs.n; i++)
		deepest = s->refs.v[i].n > deepest ? s->refs.v[i].n : deepest;
	path = mem__resize(NULL, (size_t)deepest + 1, sizeof(*path));
	if (!path)
		return -ENOMEM;
	/* Most stacks add a node or two of their own. */
	if (s->refs.n < FLAME_MAX_NODES / 2 && tree__grow(t, 2 * (uint32_t)s->refs.n) < 0)
		return -ENOMEM;
	r = tree__add_node(t, 0, FLAME_ROOT, &path[0]);
	for (size_t i = 0; r == 0 && i < s->refs.n; i++) {
		const struct stack_ref *ref = &s->refs.v[i];

		for (uint32_t d = i ? stacks__common(s, ref - 1, ref) : 0; r == 0 && d < ref->n; d++)
			r = tree__add_node(t, path[d], s->numbers.v[ref->off + d], &path[d + 1]);
		for (uint32_t k = 0; r == 0 && k < t->n_values; k++) {
			int64_t *self = &t->self[k][path[ref->n]];
			*self = walk__add(*self, s->values.v[2 * (size_t)ref->added + k]);
		}
		if (r == 0)
			r = look_at_times(wanted, i);
	}
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Which part of each stack
 */

static void reverse(uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t x = v[i];

		v[i] = v[n - 1 - i];
		v[n - 1 - i] = x;
	}
}

struct cut {
	const struct flame_options *o;
	bool *is_function; /* [frames->n], for callers and callees */
};

static int cut__init(struct cut *c, const struct frames *frames, const struct flame_options *o)
{
	*c = (struct cut){ .o = o };
	if (o->side == FLAME_WHOLE)
		return 0;
	c->is_function = mem__zalloc(frames->n ? frames->n : 1, sizeof(*c->is_function));
	if (!c->is_function)
		return -ENOMEM;
	for (uint32_t i = 0; i < frames->n; i++)
		c->is_function[i] = frames->v[i].kind != FRAME_LABEL &&
				    str__eq(frames->v[i].name, o->function);
	return 0;
}

/* Does the walk begin with the names that everything shall be under? */
static bool is_under(const struct cut *c, const struct walk *w)
{
	if (w->n < c->o->n_under)
		return false;
	for (uint32_t i = 0; i < c->o->n_under; i++)
		if (!str__eq(w->frames->v[w->ids[i]].name, c->o->under[i]))
			return false;
	return true;
}

/*
 * Rearranges the walk's frames, labels staying in front; false when the stack has no place in the
 * tree.
 */
static bool cut__apply(const struct cut *c, struct walk *w)
{
	uint32_t *ids = w->ids + w->n_labels, n = w->n - w->n_labels, at = 0;

	if (c->o->side == FLAME_WHOLE) {
		if (c->o->invert)
			reverse(ids, n);
		return is_under(c, w);
	}
	while (at < n && !c->is_function[ids[at]])
		at++;
	if (at == n)
		return false;
	if (c->o->side == FLAME_CALLEES) {
		memmove(ids, ids + at, (n - at) * sizeof(*ids));
		w->n = w->n_labels + n - at;
	} else {
		reverse(ids, at + 1);
		w->n = w->n_labels + at + 1;
	}
	return is_under(c, w);
}

/* The stacks of all rows that have a place in the tree. */
static int collect(struct stacks *stacks, struct walk *w, const struct wanted *wanted,
		   int64_t filtered[2])
{
	const struct dcm_batch *b = w->frames->batch;
	struct cut cut;
	size_t step = 0;
	int r = cut__init(&cut, w->frames, wanted->o);

	if (!wanted->o->filter)
		stacks__expect(stacks, b->n_rows, b->n_stack_locations + b->n_rows * w->frames->n_by);

	while (r == 0 && (r = look_at_times(wanted, step++)) == 0 && (r = walk__next(w)) > 0) {
		if (r == 1 && cut__apply(&cut, w)) {
			r = stacks__add(stacks, w->ids, w->n, w->values, w->n_values);
			continue;
		}
		for (uint32_t s = 0; s < w->n_values; s++)
			filtered[s] = walk__add(filtered[s], w->values[s]);
		r = 0;
	}
	free(cut.is_function);
	return r;
}

/* The ids in the tree, where they came into order behind our back. */
static int settle_frames(struct tree *t, struct frames *frames)
{
	const uint32_t *rank;
	const int r = frames__settle(frames, &rank);

	for (uint32_t i = 1; r == 0 && rank && i < t->n; i++)
		t->frame[i] = rank[t->frame[i]];
	return r;
}

static int grow_from_rows(struct tree *t, struct frames *frames, const struct flame_options *o,
			  int64_t filtered[2], struct dcm_error *err)
{
	struct wanted wanted = { o, err };
	CLEANUP(stacks__fini) struct stacks stacks = { .is_over = look, .over_ctx = &wanted };
	struct walk w;
	int r = walk__init(&w, frames, o->filter, err);

	if (r < 0)
		return r;
	t->n_values = w.n_values;
	for (unsigned s = 0; s < 2; s++)
		t->factor[s] = compare__factor(&frames->compare, s);
	r = collect(&stacks, &w, &wanted, filtered);
	walk__fini(&w);
	if (r == 0)
		r = stacks__sort(&stacks);
	if (r == 0)
		r = tree__build(t, &stacks, &wanted);
	if (r == 0)
		r = settle_frames(t, frames);
	if (r == -E2BIG)
		return error__set(err, r, "the tree has more than %u nodes; ask for a shorter range or filter it",
				  FLAME_MAX_NODES);
	return r == -ENOMEM ? error__nomem(err) : r;
}

/* -------------------------------------------------------------------------------------------------
 * Totals, and what is trimmed
 */

static uint64_t add_weight(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static int add_up(struct tree *t)
{
	t->weight = mem__zalloc(t->n, sizeof(*t->weight));
	if (!t->weight)
		return -ENOMEM;
	for (uint32_t s = 0; s < t->n_values; s++) {
		t->total[s] = mem__dup(t->self[s], t->n * sizeof(*t->self[s]));
		if (!t->total[s])
			return -ENOMEM;
		for (uint32_t i = 0; i < t->n; i++)
			t->weight[i] = add_weight(t->weight[i],
						  compare__weight(t->factor[s], t->self[s][i]));
		for (uint32_t i = t->n - 1; i > 0; i--)
			t->total[s][t->parent[i]] = walk__add(t->total[s][t->parent[i]], t->total[s][i]);
	}
	for (uint32_t i = t->n - 1; i > 0; i--)
		t->weight[t->parent[i]] = add_weight(t->weight[t->parent[i]], t->weight[i]);
	return 0;
}

/*
 * The smallest threshold t >= least such that at most `max` nodes weigh t or more. A byte of it at
 * a time.
 */
static uint64_t threshold_for(const struct tree *t, uint64_t max, uint64_t least)
{
	uint64_t prefix = 0, above = 0;

	for (int shift = 56; shift >= 0; shift -= 8) {
		uint64_t counts[256] = { 0 };
		int d = 255;

		for (uint32_t i = 0; i < t->n; i++)
			if (shift == 56 || t->weight[i] >> (shift + 8) == prefix >> (shift + 8))
				counts[t->weight[i] >> shift & 0xff]++;
		while (d >= 0 && above + counts[d] <= max)
			above += counts[d--];
		if (d < 0) /* everything from the prefix on has room */
			return prefix > least ? prefix : least;
		prefix |= (uint64_t)d << shift;
	}
	/* Nodes that weigh just this much would be too many. */
	prefix = prefix == UINT64_MAX ? prefix : prefix + 1;
	return prefix > least ? prefix : least;
}

static uint64_t find_threshold(const struct tree *t, const struct flame_options *o)
{
	uint64_t max = o->max_nodes ? o->max_nodes : FLAME_DEFAULT_NODES, least = 0;

	if (o->min_share > 0) {
		double w = o->min_share * (double)t->weight[0];
		least = w >= 0x1p63 ? INT64_MAX : (uint64_t)w;
		least += (double)least < w;
	}
	return t->n <= max ? least : threshold_for(t, max, least);
}

/* -------------------------------------------------------------------------------------------------
 * Preorder
 */

struct order {
	const struct tree *t;
	uint64_t threshold;
	uint32_t *first;    /* [n + 1] into children */
	uint32_t *children; /* kept ones, by parent */
	uint32_t *stack;    /* nodes to be visited */
	uint32_t *place;    /* [n] node -> row in the answer */
	uint32_t n_kept;
};

static void order__fini(struct order *o)
{
	free(o->first);
	free(o->children);
	free(o->stack);
	free(o->place);
}

/* A subtree weighs at least what its parts do, so what is kept is connected. The root always is. */
static bool is_kept(const struct order *o, uint32_t node)
{
	return node == 0 || o->t->weight[node] >= o->threshold;
}

static int list_children(struct order *o)
{
	const struct tree *t = o->t;

	o->first = mem__zalloc((size_t)t->n + 1, sizeof(*o->first));
	o->place = mem__zalloc(t->n, sizeof(*o->place));
	if (!o->first || !o->place)
		return -ENOMEM;
	o->n_kept = 1;
	for (uint32_t i = 1; i < t->n; i++)
		if (is_kept(o, i)) {
			o->first[t->parent[i] + 1]++;
			o->n_kept++;
		}
	for (uint32_t i = 0; i < t->n; i++)
		o->first[i + 1] += o->first[i];
	o->children = mem__resize(NULL, o->n_kept, sizeof(*o->children));
	o->stack = mem__resize(NULL, o->n_kept, sizeof(*o->stack));
	if (!o->children || !o->stack)
		return -ENOMEM;
	/* place counts how many children of a node are in already. */
	for (uint32_t i = 1; i < t->n; i++)
		if (is_kept(o, i))
			o->children[o->first[t->parent[i]] + o->place[t->parent[i]]++] = i;
	return 0;
}

/* Of a diff. */
static __int128 both(const struct tree *t, uint32_t node)
{
	return compare__scaled(t->factor[0], t->total[0][node]) +
	       compare__scaled(t->factor[1], t->total[1][node]);
}

static int compare_children(const void *a, const void *b, void *ctx)
{
	const struct tree *t = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (t->n_values == 1) {
		if (t->total[0][x] != t->total[0][y])
			return t->total[0][x] > t->total[0][y] ? -1 : 1;
	} else {
		__int128 p = both(t, x), q = both(t, y);

		if (p != q)
			return p > q ? -1 : 1;
	}
	return t->frame[x] < t->frame[y] ? -1 : 1;
}

static void sort_children(const struct tree *t, uint32_t *v, uint32_t n)
{
	if (n > 16) {
		qsort_r(v, n, sizeof(*v), compare_children, (void *)t);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		uint32_t x = v[i], k = i;

		for (; k > 0 && compare_children(&v[k - 1], &x, (void *)t) > 0; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static int make_columns(struct flame *f, uint32_t n, bool trimmed)
{
	f->n = n;
	f->frame = mem__resize(NULL, n, sizeof(*f->frame));
	f->parent = mem__resize(NULL, n, sizeof(*f->parent));
	f->depth = mem__resize(NULL, n, sizeof(*f->depth));
	f->end = mem__resize(NULL, n, sizeof(*f->end));
	if (!f->frame || !f->parent || !f->depth || !f->end)
		return -ENOMEM;
	for (uint32_t s = 0; s < f->n_values; s++) {
		f->self[s] = mem__resize(NULL, n, sizeof(int64_t));
		f->total[s] = mem__resize(NULL, n, sizeof(int64_t));
		f->trimmed[s] = trimmed ? mem__zalloc(n, sizeof(int64_t)) : NULL;
		if (!f->self[s] || !f->total[s] || (trimmed && !f->trimmed[s]))
			return -ENOMEM;
	}
	return 0;
}

static void put_node(struct flame *f, struct order *o, uint32_t node, uint32_t row)
{
	const struct tree *t = o->t;
	uint32_t parent = node ? o->place[t->parent[node]] : 0;

	o->place[node] = row;
	f->frame[row] = t->frame[node];
	f->parent[row] = parent;
	f->depth[row] = node ? f->depth[parent] + 1 : 0;
	if (f->depth[row] > f->max_depth)
		f->max_depth = f->depth[row];
	for (uint32_t s = 0; s < t->n_values; s++) {
		f->self[s][row] = t->self[s][node];
		f->total[s][row] = t->total[s][node];
	}
}

static int flatten(struct flame *f, struct order *o, const struct wanted *wanted)
{
	const struct tree *t = o->t;
	uint32_t row = 0, depth = 0;
	int r = list_children(o);

	if (r == 0)
		r = make_columns(f, o->n_kept, o->n_kept < t->n);
	if (r < 0)
		return r;
	f->n_trimmed = t->n - o->n_kept;
	o->stack[depth++] = 0;
	while (depth > 0) {
		uint32_t node = o->stack[--depth], *v = o->children + o->first[node];
		uint32_t n = o->first[node + 1] - o->first[node];

		r = look_at_times(wanted, row);
		if (r < 0)
			return r;
		put_node(f, o, node, row++);
		sort_children(t, v, n);
		for (uint32_t i = n; i > 0; i--)
			o->stack[depth++] = v[i - 1];
	}
	for (uint32_t i = 1; i < t->n && f->n_trimmed; i++)
		if (!is_kept(o, i) && is_kept(o, t->parent[i]))
			for (uint32_t s = 0; s < t->n_values; s++) {
				int64_t *at = &f->trimmed[s][o->place[t->parent[i]]];
				*at = walk__add(*at, t->total[s][i]);
			}
	for (uint32_t i = 0; i < f->n; i++)
		f->end[i] = i + 1;
	for (uint32_t i = f->n - 1; i > 0; i--)
		if (f->end[i] > f->end[f->parent[i]])
			f->end[f->parent[i]] = f->end[i];
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * The whole
 */

static int check_options(const struct flame_options *o, struct dcm_error *err)
{
	if (o->side != FLAME_WHOLE && o->function.n == 0)
		return error__set(err, -EINVAL, "callers and callees need the name of a function");
	if (o->side != FLAME_WHOLE && o->invert)
		return error__set(
			err, -EINVAL,
			"callers and callees cannot be inverted: each is the other's inverse");
	if (!(o->min_share >= 0 && o->min_share <= 1))
		return error__set(err, -EINVAL, "the smallest share is a number from 0 to 1");
	return 0;
}

int flame__new(struct frames *frames, const struct flame_options *options, struct flame **ret,
	       struct dcm_error *err)
{
	static const struct flame_options defaults;
	const struct flame_options *o = options ? options : &defaults;
	CLEANUP(flame__freep) struct flame *f = NULL;
	struct tree t = { 0 };
	struct order order = { .t = &t };
	int r = check_options(o, err);

	if (r < 0)
		return r;
	f = NEW(struct flame);
	if (!f)
		return error__nomem(err);
	r = grow_from_rows(&t, frames, o, f->filtered, err);
	if (r == 0) {
		f->n_values = t.n_values;
		f->frames = frames__ref(frames);
		r = add_up(&t);
		if (r == 0) {
			order.threshold = find_threshold(&t, o);
			r = flatten(f, &order, &(struct wanted){ o, err });
		}
		for (uint32_t s = 0; r == 0 && s < t.n_values; s++)
			f->all[s] = walk__add(f->total[s][0], f->filtered[s]);
		if (r == -ENOMEM)
			error__nomem(err);
	}
	order__fini(&order);
	tree__fini(&t);
	if (r == 0)
		*ret = take_ptr(f);
	return r;
}

void flame__free(struct flame *f)
{
	if (!f)
		return;
	free(f->frame);
	free(f->parent);
	free(f->depth);
	free(f->end);
	for (unsigned s = 0; s < 2; s++) {
		free(f->self[s]);
		free(f->total[s]);
		free(f->trimmed[s]);
	}
	frames__unref(f->frames);
	free(f);
}
