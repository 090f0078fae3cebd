/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/stacks.c - collects and sorts stacks of numbers
 */
#include "core/query/stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define NUMBERS_MAX ((size_t)1 << 31)

/* Ranges up to this long are sorted by insertion. */
enum { FEW = 12 };
/* So many are sorted, by one of their numbers, in some tenths of a millisecond. */
enum { BETWEEN_LOOKS = 8192 };

void stacks__fini(struct stacks *s)
{
	vec__fini(&s->numbers);
	vec__fini(&s->refs);
	vec__fini(&s->values);
}

void stacks__expect(struct stacks *s, size_t n_stacks, size_t n_numbers)
{
	/* Without room now, it is asked for again when they come. */
	if (n_stacks > NUMBERS_MAX || n_numbers > NUMBERS_MAX)
		return;
	(void)(vec__reserve(&s->refs, n_stacks) && vec__reserve(&s->values, 2 * n_stacks) &&
	       vec__reserve(&s->numbers, n_numbers));
}

int stacks__add(struct stacks *s, const uint32_t *numbers, uint32_t n, const int64_t *values,
		uint32_t n_values)
{
	if (s->numbers.n + n > NUMBERS_MAX || s->refs.n == NUMBERS_MAX)
		return -E2BIG;
	if (!vec__reserve(&s->numbers, n) || !vec__reserve(&s->refs, 1) || !vec__reserve(&s->values, 2))
		return -ENOMEM;
	s->refs.v[s->refs.n] = (struct stack_ref){ (uint32_t)s->numbers.n, n, (uint32_t)s->refs.n, 0 };
	s->refs.n++;
	if (n)
		memcpy(s->numbers.v + s->numbers.n, numbers, n * sizeof(*numbers));
	s->numbers.n += n;
	s->values.v[s->values.n++] = values[0];
	s->values.v[s->values.n++] = n_values > 1 ? values[1] : 0;
	return 0;
}

static void swap(struct stack_ref *a, struct stack_ref *b)
{
	struct stack_ref t = *a;

	*a = *b;
	*b = t;
}

static void sort_few(struct stack_ref *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct stack_ref x = v[i];
		size_t k = i;

		for (; k > 0 && v[k - 1].key > x.key; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static uint32_t median(uint32_t a, uint32_t b, uint32_t c)
{
	if (a > b)
		return b > c ? b : a > c ? c : a;
	return a > c ? a : b > c ? c : b;
}

/*
 * By key: quicksort in three parts, because most keys of a range are equal. Recurses into the
 * smaller part.
 */
static void sort_by_key(struct stack_ref *v, size_t n)
{
	while (n > FEW) {
		uint32_t pivot = median(v[n / 4].key, v[n / 2].key, v[n - n / 4].key);
		size_t less = 0, i = 0, more = n;

		while (i < more) {
			if (v[i].key < pivot)
				swap(&v[less++], &v[i++]);
			else if (v[i].key > pivot)
				swap(&v[i], &v[--more]);
			else
				i++;
		}
		if (less < n - more) {
			sort_by_key(v, less);
			v += more;
			n -= more;
		} else {
			sort_by_key(v + more, n - more);
			n = less;
		}
	}
	sort_few(v, n);
}

/* Is `a` to stand behind `b`? They are alike up to `depth`. */
static bool is_behind(const struct stacks *s, const struct stack_ref *a, const struct stack_ref *b,
		      uint32_t depth)
{
	const uint32_t *p = s->numbers.v + a->off, *q = s->numbers.v + b->off;
	const uint32_t n = a->n < b->n ? a->n : b->n;

	while (depth < n && p[depth] == q[depth])
		depth++;
	return depth < n ? p[depth] > q[depth] : a->n > b->n;
}

/* A few are compared whole: they share more than the frames that tell them apart. */
static void sort_whole(const struct stacks *s, struct stack_ref *v, size_t n, uint32_t depth)
{
	for (size_t i = 1; i < n; i++) {
		struct stack_ref x = v[i];
		size_t k = i;

		for (; k > 0 && is_behind(s, &v[k - 1], &x, depth); k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Stacks [first, first + n) that are alike up to `depth`. */
struct range {
	size_t first, n;
	uint32_t depth;
};

/* The number at a depth, from 1; 0 for stacks that end before it. */
static void load_keys(const struct stacks *s, const struct range *r)
{
	for (struct stack_ref *v = s->refs.v + r->first, *end = v + r->n; v < end; v++)
		v->key = r->depth < v->n ? s->numbers.v[v->off + r->depth] + 1 : 0;
}

int stacks__sort(struct stacks *s)
{
	VEC(struct range) todo = { 0 };
	size_t since = 0; /* the last look at is_over() */
	int r = 0;

	if (s->refs.n > 1 && !vec__push(&todo, (struct range){ 0, s->refs.n, 0 }))
		return -ENOMEM;
	while (r == 0 && todo.n > 0) {
		struct range range = todo.v[--todo.n];
		struct stack_ref *v = s->refs.v + range.first;

		since += range.n;
		if (s->is_over && since >= BETWEEN_LOOKS) {
			since = 0;
			r = s->is_over(s->over_ctx);
			if (r < 0)
				break;
		}
		load_keys(s, &range);
		sort_by_key(v, range.n);
		for (size_t i = 0, end; r == 0 && i < range.n; i = end) {
			for (end = i + 1; end < range.n && v[end].key == v[i].key; end++)
				;
			if (v[i].key == 0 || end - i == 1)
				continue;
			if (end - i <= FEW)
				sort_whole(s, v + i, end - i, range.depth + 1);
			else if (!vec__push(&todo, (struct range){ range.first + i, end - i,
								   range.depth + 1 }))
				r = -ENOMEM;
		}
	}
	vec__fini(&todo);
	return r;
}
