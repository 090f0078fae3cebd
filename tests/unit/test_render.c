/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_render.c - answers as text: what stands there, what fits, and what must not
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/query/render.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/naive_rows.h"
#include "tests/unit/random_batch.h"

struct small_row {
	const char *frames[4]; /* leaf first */
	int64_t values[2];
};

static struct dcm_batch *answer_of(const struct small_row rows[static 3], uint32_t n_types)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	struct dcm_type types[2];
	struct dcm_profile head = { .series = builder__series(b, NULL, 0) };

	for (unsigned k = 0; k < 2; k++)
		types[k] = (struct dcm_type){ .name = builder__string(b, STR("x")),
					      .sample_type = builder__string(b, k ? STR("b") : STR("a")) };
	builder__profile(b, &head, types, n_types);
	for (unsigned i = 0; i < 3; i++) {
		uint32_t locations[4], n = 0;

		for (; n < 4 && rows[i].frames[n]; n++) {
			struct dcm_function fn = { .name = builder__string(b, str__of(rows[i].frames[n])) };
			struct dcm_line line = { .function = builder__function(b, &fn) };
			struct dcm_location l = { .mapping = DCM_NONE,
						  .process = DCM_NONE,
						  .kind = DCM_FRAME_INTERPRETED };
			locations[n] = builder__location(b, &l, &line, 1);
		}
		builder__row(b, builder__stack(b, locations, n), 0, rows[i].values);
	}
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	return batch;
}

/* main -> work -> spin 60 / 20, main -> idle 30 / 70, main 10 / 10; side A and B */
static struct dcm_batch *small_answer(uint32_t n_types)
{
	static const struct small_row rows[3] = {
		{ { "spin", "work", "main" }, { 60, 20 } },
		{ { "idle", "main" }, { 30, 70 } },
		{ { "main" }, { 10, 10 } },
	};

	return answer_of(rows, n_types);
}

static void check_text(struct buf *out, const char *expected)
{
	assert_int_equal(out->error, 0);
	assert_string_equal((char *)out->data, expected);
	buf__fini(out);
	*out = (struct buf){ 0 };
}

static const struct render_options counts = { .unit = { "count", 5 } };

static void test_tables(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *one = small_answer(1);
	CLEANUP(batch__unrefp) struct dcm_batch *two = small_answer(2);
	CLEANUP(frames__unrefp) struct frames *f1 = NULL;
	CLEANUP(frames__unrefp) struct frames *f2 = NULL;
	CLEANUP(top__freep) struct top *t1 = NULL;
	CLEANUP(top__freep) struct top *t2 = NULL;
	struct top_options by_diff = { .sort = TOP_BY_DIFF };
	struct render_options o = counts;
	struct buf out = { 0 };
	(void)state;

	assert_int_equal(frames__new(one, FRAMES_FUNCTION, NULL, &f1, NULL), 0);
	assert_int_equal(frames__new(two, FRAMES_FUNCTION, NULL, &f2, NULL), 0);
	assert_int_equal(top__new(f1, NULL, &t1, NULL), 0);
	assert_int_equal(top__new(f2, &by_diff, &t2, NULL), 0);
	render__top(t1, &o, &out);
	check_text(&out, "      self   share     total   share  function\n"
			 "        60  60.00%        60  60.00%  spin\n"
			 "        30  30.00%        30  30.00%  idle\n"
			 "        10  10.00%       100 100.00%  main\n"
			 "         0   0.00%        60  60.00%  work\n"
			 "total 100\n");
	o.max_rows = 2;
	render__top(t1, &o, &out);
	check_text(&out, "      self   share     total   share  function\n"
			 "        60  60.00%        60  60.00%  spin\n"
			 "        30  30.00%        30  30.00%  idle\n"
			 "total 100; 2 of 4 functions shown, the others have 10 of their own\n");
	render__top(t2, &o, &out);
	check_text(&out, "  self A  self B   change total A total B   change  function\n"
			 "  30.00%  70.00%   +40.00  30.00%  70.00%   +40.00  idle\n"
			 "  60.00%  20.00%   -40.00  60.00%  20.00%   -40.00  spin\n"
			 "total 100 and 100; 2 of 4 functions shown, the others have 10 and 10 of "
			 "their own\n");
}

static void test_trees(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *one = small_answer(1);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *f = NULL;
	CLEANUP(flame__freep) struct flame *trimmed = NULL;
	struct flame_options few = { .min_share = 0.5 };
	struct render_options o = counts;
	struct buf out = { 0 };
	(void)state;

	assert_int_equal(frames__new(one, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	assert_int_equal(flame__new(frames, NULL, &f, NULL), 0);
	assert_int_equal(flame__new(frames, &few, &trimmed, NULL), 0);
	render__flame(f, &o, &out);
	check_text(&out, "   share     total      self  function\n"
			 " 100.00%       100         0  total\n"
			 " 100.00%       100        10    main\n"
			 "  60.00%        60         0      work\n"
			 "  60.00%        60        60        spin\n"
			 "  30.00%        30        30      idle\n");
	o.max_rows = 3;
	render__flame(f, &o, &out);
	check_text(&out, "   share     total      self  function\n"
			 " 100.00%       100         0  total\n"
			 " 100.00%       100        10    main\n"
			 "  60.00%        60         0      work\n"
			 "smaller frames not shown: 2, weighing 90\n");
	o.max_rows = 0;
	render__flame(trimmed, &o, &out);
	check_text(&out, "   share     total      self  function\n"
			 " 100.00%       100         0  total\n"
			 " 100.00%       100        10    main\n"
			 "  60.00%        60         0      work\n"
			 "  60.00%        60        60        spin\n"
			 "smaller frames not shown: 1, weighing 30\n");
}

/*
 * Freed more than was allocated: shares below and far above 100 %, and a unit that is longer than
 * its column.
 */
static void test_wide_numbers_do_not_touch(void **state)
{
	static const struct small_row rows[3] = {
		{ { "free", "main" }, { -9900, -9900 } },
		{ { "keep", "main" }, { 10000, 10000 } },
		{ { "main" }, { 0, 0 } },
	};
	CLEANUP(batch__unrefp) struct dcm_batch *one = answer_of(rows, 1);
	CLEANUP(batch__unrefp) struct dcm_batch *two = answer_of(rows, 2);
	CLEANUP(frames__unrefp) struct frames *f1 = NULL;
	CLEANUP(frames__unrefp) struct frames *f2 = NULL;
	CLEANUP(flame__freep) struct flame *tree1 = NULL;
	CLEANUP(flame__freep) struct flame *tree2 = NULL;
	struct render_options o = { .unit = STR("megafurlongs") };
	struct buf out = { 0 };
	(void)state;

	assert_int_equal(frames__new(one, FRAMES_FUNCTION, NULL, &f1, NULL), 0);
	assert_int_equal(frames__new(two, FRAMES_FUNCTION, NULL, &f2, NULL), 0);
	assert_int_equal(flame__new(f1, NULL, &tree1, NULL), 0);
	assert_int_equal(flame__new(f2, NULL, &tree2, NULL), 0);
	render__flame(tree1, &o, &out);
	check_text(&out, "   share     total      self  function\n"
			 " 100.00% 100 megafurlongs 0 megafurlongs  total\n"
			 " 100.00% 100 megafurlongs 0 megafurlongs    main\n"
			 " 10000.00% 10.0k megafurlongs 10.0k megafurlongs      keep\n"
			 " -9900.00% -9.90k megafurlongs -9.90k megafurlongs      free\n");
	render__flame(tree2, &o, &out);
	check_text(&out, "       A       B   change  function\n"
			 " 100.00% 100.00%           total\n"
			 " 100.00% 100.00%             main\n"
			 " 10000.00% 10000.00%               keep\n"
			 " -9900.00% -9900.00%               free\n");
}

static void test_folded(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *two = small_answer(2);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(filter__freep) struct filter *f = filter__new();
	struct dcm_str pod = STR("pod");
	struct dcm_group_by by = { &pod, 1 };
	struct buf out = { 0 };
	(void)state;

	assert_int_equal(frames__new(two, FRAMES_FUNCTION, &by, &frames, NULL), 0);
	assert_int_equal(render__folded(frames, NULL, &out, NULL), 0);
	check_text(&out, "pod=;main 10 10\npod=;main;idle 30 70\npod=;main;work;spin 60 20\n");
	assert_int_equal(filter__add_text(f, FILTER_HIDE, STR("i"), NULL), 0);
	assert_int_equal(render__folded(frames, f, &out, NULL), 0);
	check_text(&out, "pod= 40 80\npod=;work 60 20\n");
}

/* Every line of folded text is a path of the naive rows, and together they are all of them. */
static void test_folded_adds_up(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(seed, 0, 2, 1);
		CLEANUP(frames__unrefp) struct frames *frames = NULL;
		struct naive_rows rows = naive_rows__make(b, FRAMES_FUNCTION, NULL, 0);
		struct buf out = { 0 };
		int64_t total = 0, expected = 0;
		uint32_t n_lines = 0;

		assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
		assert_int_equal(render__folded(frames, NULL, &out, NULL), 0);
		for (char *p = (char *)out.data, *end; p && *p; p = end + 1, n_lines++) {
			end = strchr(p, '\n');
			*end = '\0';
			char *space = strrchr(p, ' ');
			assert_non_null(space);
			total += strtoll(space, NULL, 10);
			for (char *c = p; c < space; c++)
				assert_true((unsigned char)*c >= ' ' && *c != 0x7f);
		}
		for (uint32_t i = 0; i < rows.n; i++)
			expected += rows.v[i].values[0];
		assert_int_equal(total, expected);
		assert_true(n_lines > 0 && n_lines <= rows.n);
		buf__fini(&out);
		naive_rows__free(&rows);
	}
}

static void test_text_is_cleaned_and_cut(void **state)
{
	static const struct {
		const char *text;
		uint32_t width;
		const char *expected;
	} cases[] = {
		{ "plain", 0, "plain" },
		{ "a\x1b[31mred", 0, "a?[31mred" },
		{ "two\nlines\t", 0, "two?lines?" },
		{ "bad \xff utf", 0, "bad ? utf" },
		{ "c1 \xc2\x9b here", 0, "c1 ? here" },
		{ "gr\xc3\xb6\xc3\x9f"
		  "e",
		  0,
		  "gr\xc3\xb6\xc3\x9f"
		  "e" },
		{ "gr\xc3\xb6\xc3\x9f"
		  "e",
		  5,
		  "gr\xc3\xb6\xc3\x9f"
		  "e" },
		{ "gr\xc3\xb6\xc3\x9f"
		  "er",
		  5, "gr..." },
		{ "\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6", 5, "\xc3\xb6\xc3\xb6..." },
		{ "abcdef", 2, ".." },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = { 0 };

		render__text(str__of(cases[i].text), cases[i].width, &out);
		check_text(&out, cases[i].expected);
	}
}

static uint32_t widest_line(const struct buf *out)
{
	uint32_t widest = 0, n = 0;

	for (size_t i = 0; i < out->n; i++) {
		n = out->data[i] == '\n' ? 0 : n + ((out->data[i] & 0xc0) != 0x80);
		widest = n > widest ? n : widest;
	}
	return widest;
}

static void test_nothing_is_wider_than_asked(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = naive_rows__answer(seed, RANDOM_NASTY, 1, 1 + seed % 2);
		CLEANUP(frames__unrefp) struct frames *frames = NULL;
		CLEANUP(flame__freep) struct flame *f = NULL;
		CLEANUP(top__freep) struct top *t = NULL;
		struct render_options o = { .width = 100, .max_rows = 200, .unit = STR("nanoseconds") };
		struct buf tree = { 0 }, table = { 0 };

		assert_int_equal(frames__new(b, seed % 2 ? FRAMES_FUNCTION : FRAMES_ADDRESS, NULL,
					     &frames, NULL),
				 0);
		assert_int_equal(flame__new(frames, NULL, &f, NULL), 0);
		assert_int_equal(top__new(frames, NULL, &t, NULL), 0);
		render__flame(f, &o, &tree);
		render__top(t, &o, &table);
		/* The last lines are sentences. */
		while (tree.n > 0 && tree.data[tree.n - 2] != '\n')
			tree.n--;
		tree.n -= tree.n > 0;
		while (table.n > 0 && table.data[table.n - 2] != '\n')
			table.n--;
		table.n -= table.n > 0;
		assert_true(widest_line(&tree) <= 100);
		assert_true(widest_line(&table) <= 100);
		buf__fini(&tree);
		buf__fini(&table);
	}
}

static void test_lists(void **state)
{
	static const char *const heads[] = { "name", "series" };
	const struct dcm_str cells[] = { STR("comm"), STR("12"),
					 STR("gr\xc3\xb6\xc3\x9f"
					     "e"),
					 STR("3") };
	struct render_table t = { .heads = heads, .n_columns = 2, .right = 2, .cells = cells, .n_rows = 2 };
	struct render_options o = { 0 };
	struct buf out = { 0 };
	(void)state;

	render__table(&t, &o, &out);
	check_text(&out, "name   series\ncomm       12\ngr\xc3\xb6\xc3\x9f"
			 "e       3\n");
	o.max_rows = 1;
	render__table(&t, &o, &out);
	check_text(&out, "name  series\ncomm      12\n1 of 2 shown\n");
}

static void test_without_memory(void **state)
{
	CLEANUP(batch__unrefp) struct dcm_batch *b = naive_rows__answer(3, 0, 1, 1);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *f = NULL;
	CLEANUP(top__freep) struct top *t = NULL;
	(void)state;

	assert_int_equal(frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	assert_int_equal(flame__new(frames, NULL, &f, NULL), 0);
	assert_int_equal(top__new(frames, NULL, &t, NULL), 0);
	FAILMALLOC_SWEEP (i) {
		struct buf out = { 0 };
		int r = render__folded(frames, NULL, &out, NULL);

		render__flame(f, &counts, &out);
		render__top(t, &counts, &out);
		failmalloc__disarm();
		if (r == 0)
			r = out.error;
		assert_int_equal(r, failmalloc__failed() ? -ENOMEM : 0);
		buf__fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_wide_numbers_do_not_touch),
		cmocka_unit_test(test_folded),
		cmocka_unit_test(test_folded_adds_up),
		cmocka_unit_test(test_text_is_cleaned_and_cut),
		cmocka_unit_test(test_nothing_is_wider_than_asked),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests_name("render", tests, NULL, NULL);
}
