/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_render.c - answers as text: what stands there, what fits, and what must not
 *
 * One thread: not run under TSan.
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

#define UNKNOWN                                                                                    \
	"which changes are significant is not known: side A has no sampling period, or more than " \
	"one\n"

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
	check_text(&out, "    self A    self B   change    total A   total B   change   function\n"
			 "        30        70  +133.3%         30        70  +133.3%   idle\n"
			 "        60        20   -66.7%         60        20   -66.7%   spin\n"
			 "total 100 and 100; 2 of 4 functions shown, the others have 10 and 10 of "
			 "their own\n"
			 "A: 100; B: 100\n" UNKNOWN);
}

/* A in 50 s, B in 10 s, 1 a sample: rates, and what of the change is more than chance. */
static void test_a_diff_compares_rates(void **state)
{
	static const struct small_row rows[3] = {
		{ { "idle", "main" }, { 0, 3 } },
		{ { "spin", "work", "main" }, { 60, 72 } },
		{ { "main" }, { 140, 5 } },
	};
	CLEANUP(batch__unrefp) struct dcm_batch *two = answer_of(rows, 2);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *f = NULL;
	CLEANUP(top__freep) struct top *t = NULL;
	CLEANUP(filter__freep) struct filter *only = filter__new();
	struct flame_options filtered = { .filter = only };
	struct top_options by_diff = { .sort = TOP_BY_DIFF, .limit = 2 };
	struct buf out = { 0 };
	(void)state;

	assert_int_equal(frames__new(two, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	frames->compare = (struct compare){
		.by = COMPARE_RATES,
		.side = { { .to_ms = 50000, .is_told = true, .n_profiles = 5, .period = 1, .per_sample = 1 },
			  { .to_ms = 10000, .is_told = true, .n_profiles = 1, .period = 1, .per_sample = 1 } }
	};
	assert_int_equal(flame__new(frames, NULL, &f, NULL), 0);
	render__flame(f, &counts, &out);
	check_text(
		&out,
		"       A/s       B/s   change  share A share B  function\n"
		"         4         8  +100.0%  100.00% 100.00%  total\n"
		"         4         8  +100.0%  100.00% 100.00%    main\n"
		"      1.20      7.20  +500.0%*  30.00%  90.00%      work\n"
		"      1.20      7.20  +500.0%*  30.00%  90.00%        spin\n"
		"         0       0.3      new    0.00%   3.75%      idle\n"
		"A: 200 in 50.0s, 5 profiles, 200 samples; B: 80 in 10.0s, 1 profile, 80 samples\n"
		"* its share of the samples changed: |z| >= 2.58, which chance alone does once in "
		"100 times\n");
	assert_int_equal(top__new(frames, &by_diff, &t, NULL), 0);
	render__top(t, &counts, &out);
	check_text(
		&out,
		"  self A/s  self B/s   change  total A/s total B/s   change   function\n"
		"      1.20      7.20  +500.0%*      1.20      7.20  +500.0%*  spin\n"
		"      2.80       0.5   -82.1%*         4         8  +100.0%   main\n"
		"total 200 and 80; 2 of 4 functions shown, the others have 0 and 3 of their own\n"
		"A: 200 in 50.0s, 5 profiles, 200 samples; B: 80 in 10.0s, 1 profile, 80 samples\n"
		"* its share of the samples changed: |z| >= 2.58, which chance alone does once in "
		"100 times\n");
	/* What a filter leaves out still is of the side: `work` itself has become more of it. */
	assert_int_equal(filter__add_text(only, FILTER_ONLY_STACKS, STR("work"), NULL), 0);
	flame__free(take_ptr(f));
	assert_int_equal(flame__new(frames, &filtered, &f, NULL), 0);
	render__flame(f, &counts, &out);
	check_text(
		&out,
		"       A/s       B/s   change  share A share B  function\n"
		"      1.20      7.20  +500.0%* 100.00% 100.00%  total\n"
		"      1.20      7.20  +500.0%* 100.00% 100.00%    main\n"
		"      1.20      7.20  +500.0%* 100.00% 100.00%      work\n"
		"      1.20      7.20  +500.0%* 100.00% 100.00%        spin\n"
		"filtered out 140 and 8\n"
		"A: 200 in 50.0s, 5 profiles, 200 samples; B: 80 in 10.0s, 1 profile, 80 samples\n"
		"* its share of the samples changed: |z| >= 2.58, which chance alone does once in "
		"100 times\n");
}

/* Fewer lines than nodes: those stay that weigh most by their rates, not those of the longer time. */
static void test_the_shorter_side_is_not_cut(void **state)
{
	static const struct small_row rows[3] = {
		{ { "long", "main" }, { 100, 0 } },
		{ { "short", "main" }, { 0, 20 } },
		{ { "main" }, { 1, 1 } },
	};
	CLEANUP(batch__unrefp) struct dcm_batch *two = answer_of(rows, 2);
	CLEANUP(frames__unrefp) struct frames *frames = NULL;
	CLEANUP(flame__freep) struct flame *f = NULL;
	struct render_options o = { .unit = STR("count"), .max_rows = 3 };
	struct buf out = { 0 };
	(void)state;

	assert_int_equal(frames__new(two, FRAMES_FUNCTION, NULL, &frames, NULL), 0);
	frames->compare = (struct compare){ .by = COMPARE_RATES,
					    .side = { { .to_ms = 100000 }, { .to_ms = 10000 } } };
	assert_int_equal(flame__new(frames, NULL, &f, NULL), 0);
	render__flame(f, &o, &out);
	check_text(&out, "       A/s       B/s   change  share A share B  function\n"
			 "      1.01      2.10  +107.9%  100.00% 100.00%  total\n"
			 "      1.01      2.10  +107.9%  100.00% 100.00%    main\n"
			 "         0         2      new    0.00%  95.24%      short\n"
			 "smaller frames not shown: 1, weighing 100 and 0\n"
			 "A: 101 in 1.67min; B: 21 in 10.0s\n" UNKNOWN);
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
	check_text(
		&out,
		"         A         B   change  share A share B  function\n"
		" 100 megafurlongs 100 megafurlongs           100.00% 100.00%  total\n"
		" 100 megafurlongs 100 megafurlongs           100.00% 100.00%    main\n"
		" 10.0k megafurlongs 10.0k megafurlongs           10000.00% 10000.00%      keep\n"
		" -9.90k megafurlongs -9.90k megafurlongs           -9900.00% -9900.00%      free\n"
		"A: 100 megafurlongs; B: 100 megafurlongs\n" UNKNOWN);
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

/* The last lines are sentences. */
static void cut_sentences(struct buf *b, unsigned n)
{
	for (; n > 0 && b->n > 0; n--) {
		b->n--;
		while (b->n > 0 && b->data[b->n - 1] != '\n')
			b->n--;
	}
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
		uint32_t width = seed < 4 ? 100 : 80;
		struct render_options o = { .width = width, .max_rows = 200, .unit = STR("nanoseconds") };
		struct buf tree = { 0 }, table = { 0 };

		assert_int_equal(frames__new(b, seed % 2 ? FRAMES_FUNCTION : FRAMES_ADDRESS, NULL,
					     &frames, NULL),
				 0);
		assert_int_equal(flame__new(frames, NULL, &f, NULL), 0);
		assert_int_equal(top__new(frames, NULL, &t, NULL), 0);
		render__flame(f, &o, &tree);
		render__top(t, &o, &table);
		cut_sentences(&tree, seed % 2 ? 3 : 1);
		cut_sentences(&table, seed % 2 ? 3 : 1);
		assert_true(widest_line(&tree) <= width);
		assert_true(widest_line(&table) <= width);
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
		cmocka_unit_test(test_a_diff_compares_rates),
		cmocka_unit_test(test_the_shorter_side_is_not_cut),
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
