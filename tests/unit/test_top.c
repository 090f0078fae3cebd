/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_top.c - self and total of frames against counting them one by one
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/query/top.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/naive_rows.h"
#include "tests/unit/random_batch.h"

struct counted {
	char *key;
	int64_t self[2], total[2];
};
struct counts {
	struct counted *v;
	uint32_t n;
	int64_t total[2], no_frame[2], filtered[2];
};

static struct counted *find(struct counts *c, const char *key)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (strcmp(c->v[i].key, key) == 0)
			return &c->v[i];
	c->v = realloc(c->v, (c->n + 1) * sizeof(*c->v));
	c->v[c->n] = (struct counted){ .key = strdup(key) };
	return &c->v[c->n++];
}

static void add(int64_t sum[2], const int64_t values[2])
{
	sum[0] += values[0];
	sum[1] += values[1];
}

static struct counts count(const struct naive_rows *rows)
{
	struct counts c = { 0 };

	for (uint32_t i = 0; i < rows->n; i++) {
		const struct naive_row *row = &rows->v[i];

		if (row->filtered) {
			add(c.filtered, row->values);
			continue;
		}
		add(c.total, row->values);
		add(row->n ? find(&c, row->frames[row->n - 1].key)->self : c.no_frame, row->values);
		for (uint32_t k = 0; k < row->n; k++) {
			uint32_t first = 0;

			while (strcmp(row->frames[first].key, row->frames[k].key) != 0)
				first++;
			if (first == k)
				add(find(&c, row->frames[k].key)->total, row->values);
		}
	}
	return c;
}

static void counts__free(struct counts *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->v[i].key);
	free(c->v);
}

static void compare_top(const struct top *t, struct counts *c)
{
	int64_t shown[2] = { 0 };

	assert_int_equal(t->n_all, c->n);
	for (uint32_t i = 0; i < t->n; i++) {
		char *key = naive_rows__key_of(&t->frames->v[t->rows[i].frame], t->frames->group);
		const struct counted *x = find(c, key);

		for (uint32_t s = 0; s < t->n_values; s++) {
			assert_int_equal(t->rows[i].self[s], x->self[s]);
			assert_int_equal(t->rows[i].total[s], x->total[s]);
		}
		add(shown, t->rows[i].self);
		free(key);
	}
	assert_int_equal(t->n_all, c->n); /* find() made no new one */
	for (uint32_t s = 0; s < t->n_values; s++) {
		assert_int_equal(t->total[s], c->total[s]);
		assert_int_equal(t->no_frame[s], c->no_frame[s]);
		assert_int_equal(t->filtered[s], c->filtered[s]);
		assert_int_equal(shown[s] + t->rest[s] + t->no_frame[s], t->total[s]);
	}
}

/* Side A covers `times` the time of side B. */
static int64_t times;

static int64_t sum(const int64_t v[2])
{
	return v[0] + times * v[1];
}

static int64_t change(const int64_t v[2])
{
	return llabs(times * v[1] - v[0]);
}

static void check_order(const struct top *t, enum top_sort sort)
{
	for (uint32_t i = 1; i < t->n; i++) {
		const struct top_row *a = &t->rows[i - 1], *b = &t->rows[i];
		int64_t x[3] = { sum(a->self), sum(a->total), -(int64_t)a->frame };
		int64_t y[3] = { sum(b->self), sum(b->total), -(int64_t)b->frame };
		unsigned k = 0;

		if (sort == TOP_BY_TOTAL) {
			x[0] = sum(a->total), x[1] = sum(a->self);
			y[0] = sum(b->total), y[1] = sum(b->self);
		} else if (sort == TOP_BY_DIFF) {
			x[0] = change(a->self), x[1] = change(a->total);
			y[0] = change(b->self), y[1] = change(b->total);
		} else if (sort == TOP_BY_NAME) {
			k = 2;
			assert_true(str__cmp(t->frames->v[a->frame].name,
					     t->frames->v[b->frame].name) <= 0);
		}
		while (k < 2 && x[k] == y[k])
			k++;
		assert_true(x[k] > y[k]);
	}
}

static void test_sums(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 24; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = naive_rows__answer(seed, 0, 2, 1 + seed % 2);
		CLEANUP(frames__unrefp) struct frames *frames = NULL;
		CLEANUP(filter__freep) struct filter *f = filter__new();
		struct naive_rule rule = { FILTER_HIDE, FILTER_FUNCTION, false, "a" };
		enum frames_group group = (enum frames_group)(seed / 2 % 5);
		bool filtered = seed % 3 == 0;
		struct naive_rows rows = naive_rows__make(b, group, &rule, filtered);
		struct counts counts = count(&rows);

		assert_int_equal(filter__add_text(f, FILTER_HIDE, STR("a"), NULL), 0);
		assert_int_equal(frames__new(b, group, NULL, &frames, NULL), 0);
		times = seed % 2 ? 1 + (int64_t)seed % 5 : 1;
		frames->compare = (struct compare){ .by = COMPARE_RATES,
						    .side = { { .to_ms = 1000 * times },
							      { .from_ms = 500, .to_ms = 1500 } } };
		for (unsigned sort = TOP_BY_SELF; sort <= TOP_BY_DIFF; sort++)
			for (uint32_t limit = 0; limit < 30; limit += 7) {
				CLEANUP(top__freep) struct top *t = NULL;
				struct top_options o = { .sort = sort,
							 .limit = limit,
							 .filter = filtered ? f : NULL };

				assert_int_equal(top__new(frames, &o, &t, NULL), 0);
				assert_true(limit == 0 || t->n <= limit);
				compare_top(t, &counts);
				check_order(t, sort);
			}
		counts__free(&counts);
		naive_rows__free(&rows);
	}
}

static void test_labels_are_no_frames(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(5, 0, 3, 1);
	CLEANUP(frames__unrefp) struct frames *plain = NULL;
	CLEANUP(frames__unrefp) struct frames *grouped = NULL;
	CLEANUP(top__freep) struct top *x = NULL;
	CLEANUP(top__freep) struct top *y = NULL;
	struct dcm_str pod = STR("pod");
	struct dcm_group_by by = { &pod, 1 };
	(void)state;

	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &plain, NULL), 0);
	assert_int_equal(frames__new(b, FRAMES_FUNCTION, &by, &grouped, NULL), 0);
	assert_int_equal(top__new(plain, NULL, &x, NULL), 0);
	assert_int_equal(top__new(grouped, NULL, &y, NULL), 0);
	assert_int_equal(x->n_all, y->n_all);
	assert_int_equal(x->total[0], y->total[0]);
	assert_int_equal(x->rows[0].self[0], y->rows[0].self[0]);
}

static void test_without_memory(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(3, 0, 1, 1);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	(void)state;

	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	FAILMALLOC_SWEEP (i) {
		struct top *t = NULL;
		int r = top__new(frames, NULL, &t, NULL);

		failmalloc__disarm();
		assert_int_equal(r, failmalloc__failed() ? -ENOMEM : 0);
		top__free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_labels_are_no_frames),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
