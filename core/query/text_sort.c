/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/query/text_sort.c - sorts by words of eight bytes, position after position
 */
#include "core/query/text_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"

/* Ranges up to this long are sorted by insertion. */
enum { FEW = 12 };

/* Rows [first, first + n) whose texts are alike up to `depth` bytes. */
struct range {
	size_t first, n;
	uint32_t depth;
};

/* Eight bytes, the first of them the highest; 0 behind the end. */
static uint64_t word_at(struct dcm_str s, uint32_t depth)
{
	const uint32_t n = depth < s.n ? s.n - depth : 0;
	uint64_t v = 0;

	if (n)
		memcpy(&v, s.p + depth, n < sizeof(v) ? n : sizeof(v));
	return __builtin_bswap64(v);
}

static void swap(struct text_row *a, struct text_row *b)
{
	struct text_row t = *a;

	*a = *b;
	*b = t;
}

static void sort_few(struct text_row *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct text_row x = v[i];
		size_t k = i;

		for (; k > 0 && v[k - 1].word > x.word; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
	if (a > b)
		return b > c ? b : a > c ? c : a;
	return a > c ? a : b > c ? c : b;
}

static int compare_words(const void *a, const void *b)
{
	const uint64_t x = ((const struct text_row *)a)->word, y = ((const struct text_row *)b)->word;

	return (x > y) - (x < y);
}

/*
 * Quicksort in three parts, because many words of a range are equal. Recurses into the smaller part.
 * Names come from whoever sends profiles, and some orders make each part little smaller than the
 * last one: libc sorts what is left after so many cuts.
 */
static void sort_cutting(struct text_row *v, size_t n, unsigned cuts)
{
	while (n > FEW) {
		if (cuts-- == 0) {
			qsort(v, n, sizeof(*v), compare_words);
			return;
		}
		const uint64_t pivot = median(v[n / 4].word, v[n / 2].word, v[n - n / 4].word);
		size_t less = 0, i = 0, more = n;

		while (i < more) {
			if (v[i].word < pivot)
				swap(&v[less++], &v[i++]);
			else if (v[i].word > pivot)
				swap(&v[i], &v[--more]);
			else
				i++;
		}
		if (less < n - more) {
			sort_cutting(v, less, cuts);
			v += more;
			n -= more;
		} else {
			sort_cutting(v + more, n - more, cuts);
			n = less;
		}
	}
	sort_few(v, n);
}

/* With twice as many cuts as would do if each were in the middle. */
static void sort_by_word(struct text_row *v, size_t n)
{
	unsigned cuts = 0;

	for (size_t left = n; left > 1; left /= 2)
		cuts += 2;
	sort_cutting(v, n, cuts);
}

/* A few are compared whole: what they begin with is at hand. */
static void sort_whole(const struct text_sort *s, struct text_row *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct text_row x = v[i];
		size_t k = i;

		for (; k > 0 && s->compare(&v[k - 1], &x, s->ctx) > 0; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Does any text go on at `depth`? Where some have ended, zeros stand for them, and the end decides. */
static bool has_more(const struct text_sort *s, const struct text_row *v, size_t n, uint32_t depth)
{
	for (size_t i = 0; i < n; i++)
		if (s->text(s->ctx, v[i].row).n > depth)
			return true;
	return false;
}

int text_sort__run(const struct text_sort *s, struct text_row *v, size_t n)
{
	VEC(struct range) todo = { 0 };
	int r = 0;

	if (n > 1 && !vec__push(&todo, (struct range){ 0, n, 0 }))
		return -ENOMEM;
	while (r == 0 && todo.n > 0) {
		const struct range range = todo.v[--todo.n];
		struct text_row *of = v + range.first;
		const uint32_t next = range.depth + (uint32_t)sizeof(of->word);

		for (size_t i = 0; i < range.n; i++)
			of[i].word = word_at(s->text(s->ctx, of[i].row), range.depth);
		sort_by_word(of, range.n);
		for (size_t i = 0, end; r == 0 && i < range.n; i = end) {
			for (end = i + 1; end < range.n && of[end].word == of[i].word; end++)
				;
			if (end - i == 1)
				continue;
			if (end - i <= FEW)
				sort_whole(s, of + i, end - i);
			else if (!has_more(s, of + i, end - i, next))
				qsort_r(of + i, end - i, sizeof(*of), s->compare, s->ctx);
			else if (!vec__push(&todo, (struct range){ range.first + i, end - i, next }))
				r = -ENOMEM;
		}
	}
	vec__fini(&todo);
	return r;
}
