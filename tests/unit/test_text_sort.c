/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_text_sort.c - rows in the order of their texts, as qsort and str__cmp have it
 *
 * Texts that begin alike, end at, before and behind eight bytes, hold zeros, and come several times.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/query/text_sort.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

enum { N_TEXTS = 3000, BYTES_MAX = 64 };

struct texts {
	char bytes[N_TEXTS][BYTES_MAX];
	uint32_t n[N_TEXTS];
};

static struct dcm_str text_of(const void *ctx, uint32_t row)
{
	const struct texts *t = ctx;

	return (struct dcm_str){ t->bytes[row], t->n[row] };
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct text_row *x = a, *y = b;
	const int c = str__cmp(text_of(ctx, x->row), text_of(ctx, y->row));

	return c ? c : (x->row > y->row) - (x->row < y->row);
}

/* Of few letters, a zero among them, behind one of few beginnings. */
static void make_texts(struct texts *t, struct random *r)
{
	static const char beginning[] = "libstdc++.so.6+0x7f3a5512";

	for (uint32_t i = 0; i < N_TEXTS; i++) {
		const uint32_t n_same = (uint32_t)random__below(r, sizeof(beginning));
		const uint32_t n_more = (uint32_t)random__below(
			r, random__below(r, 4) ? 3 : BYTES_MAX - n_same);

		memcpy(t->bytes[i], beginning, n_same);
		for (uint32_t k = 0; k < n_more; k++)
			t->bytes[i][n_same + k] = "\0a0\xff"[random__below(r, 4)];
		t->n[i] = n_same + n_more;
	}
}

static void test_order(void **state)
{
	static struct texts texts;
	static struct text_row got[N_TEXTS], want[N_TEXTS];
	const struct text_sort sort = { text_of, compare, &texts };

	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct random r = { seed };
		const uint32_t n = seed < 20 ? (uint32_t)seed - 1 : N_TEXTS;

		make_texts(&texts, &r);
		for (uint32_t i = 0; i < n; i++)
			got[i].row = want[i].row = i;
		qsort_r(want, n, sizeof(*want), compare, &texts);
		assert_int_equal(text_sort__run(&sort, got, n), 0);
		for (uint32_t i = 0; i < n; i++)
			if (got[i].row != want[i].row)
				fail_msg("seed %lu: row %u is at %u, which is %u's place", seed,
					 got[i].row, i, want[i].row);
	}
}

/* What libc got to sort by words, in place of its own qsort(). */
static size_t n_left;

static int compare_by(const void *a, const void *b, void *compare_fn)
{
	return (*(int (**)(const void *, const void *))compare_fn)(a, b);
}

void qsort(void *v, size_t n, size_t size, int (*compare_fn)(const void *, const void *))
{
	n_left = n > n_left ? n : n_left;
	qsort_r(v, n, size, compare_by, &compare_fn);
}

/*
 * The worst order there is: two of the three places that a pivot is looked for at have the least words
 * of all that are left, cut after cut. What cannot be so small any more is as it comes.
 */
static void make_worst(struct texts *t)
{
	static uint32_t rows[N_TEXTS], rank[N_TEXTS];
	uint32_t *v = rows, n = N_TEXTS, next = 0;

	for (uint32_t i = 0; i < N_TEXTS; i++) {
		rows[i] = i;
		rank[i] = UINT32_MAX;
	}
	while (n > 12) {
		rank[v[n / 4]] = next++;
		rank[v[n / 2]] = next++;
		const uint32_t pivot = next - 1;
		uint32_t less = 0, i = 0, more = n;

		while (i < more) {
			const uint32_t x = v[i];
			const uint32_t to = rank[x] < pivot ? less++ : rank[x] > pivot ? --more : i;

			v[i] = v[to];
			v[to] = x;
			i += rank[x] <= pivot;
		}
		v += more;
		n -= more;
	}
	for (uint32_t i = 0; i < N_TEXTS; i++) {
		rank[i] = rank[i] == UINT32_MAX ? next++ : rank[i];
		t->n[i] = (uint32_t)snprintf(t->bytes[i], BYTES_MAX, "%08u", rank[i]);
	}
}

/* A cut that takes two rows off is followed by few more, whoever chose the names. */
static void test_worst_order(void **state)
{
	static struct texts texts;
	static struct text_row rows[N_TEXTS];
	const struct text_sort sort = { text_of, compare, &texts };

	(void)state;
	make_worst(&texts);
	for (uint32_t i = 0; i < N_TEXTS; i++)
		rows[i].row = i;
	n_left = 0;
	assert_int_equal(text_sort__run(&sort, rows, N_TEXTS), 0);
	for (uint32_t i = 1; i < N_TEXTS; i++)
		assert_true(compare(&rows[i - 1], &rows[i], &texts) < 0);
	/* Halved 11 times, 3,000 are one: twice as many cuts, each of two rows. */
	assert_int_equal(n_left, N_TEXTS - 2 * 22);
}

static void test_no_memory(void **state)
{
	static struct texts texts;
	static struct text_row rows[N_TEXTS];
	const struct text_sort sort = { text_of, compare, &texts };
	struct random r = { 7 };

	(void)state;
	make_texts(&texts, &r);
	FAILMALLOC_SWEEP (i) {
		for (uint32_t k = 0; k < N_TEXTS; k++)
			rows[k].row = k;
		const int rc = text_sort__run(&sort, rows, N_TEXTS);

		failmalloc__disarm();
		assert_true(rc == 0 || rc == -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_worst_order),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
