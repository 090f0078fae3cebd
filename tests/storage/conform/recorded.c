/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/conform/recorded.c - what a real machine did, written and asked about
 *
 * Random batches have everything that may be; a recorded set has it as often as a sampler does: a
 * thousand series that live for seconds, stacks that hardly come twice, labels that differ from
 * row to row.
 */
#include <fcntl.h>
#include <string.h>

#include "bench/recorded.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "tests/storage/conform/conform.h"
#include "tests/unit/paths.h"

#define SET  TEST_SRCDIR "/bench/data/recorded.batch.zst"
#define TEXT TEST_SRCDIR "/bench/data/recorded.txt"
#define CPU  STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta")

enum { TEXT_MAX_BYTES = 1 << 16, BATCHES_A_WRITE = 8 };

/* The text without the lines that begin with #. */
static bool read_text(struct trial *t, struct buf *ret)
{
	struct buf all = { 0 };
	const int r = fd__read_path(AT_FDCWD, TEXT, TEXT_MAX_BYTES, &all);

	for (const char *p = (const char *)all.data; r == 0 && p && *p;) {
		const size_t n = strcspn(p, "\n") + (strchr(p, '\n') != NULL);

		if (*p != '#')
			buf__append(ret, p, n);
		p += n;
	}
	buf__fini(&all);
	return r == 0 || trial__fail(t, "%s cannot be read: %s", TEXT, strerror(-r));
}

static bool is_as_told(struct trial *t, const struct dcm_batch *set)
{
	struct buf expected = { 0 }, got = { 0 }, difference = { 0 };
	bool good = read_text(t, &expected);

	if (good && (recorded__describe(set, &got) < 0 || answers__differ(&expected, &got, &difference)))
		good = trial__fail(t, "the recorded set is not what %s says:\n%s", TEXT,
				   difference.data ? (const char *)difference.data : "");
	buf__fini(&expected);
	buf__fini(&got);
	buf__fini(&difference);
	return good;
}

/* The whole set and five minutes of it, by series and by sample labels. */
static bool ask_all(struct trial *t)
{
	static const struct dcm_matcher first_cpu = { .op = DCM_EQ, .name = STR("cpu"), .value = STR("0") },
					unstripped = { .op = DCM_NE,
						       .name = STR("stripped"),
						       .value = STR("true") };
	const int64_t from_ms = RECORDED_BASE_NS / 1000000, minute_ms = 60000;
	const struct dcm_select all = {
		.size = sizeof(all), .type = CPU, .from_ms = from_ms, .to_ms = from_ms + 60 * minute_ms
	};
	struct dcm_select any = all, part = all, of_cpu = all, of_rest = all;

	any.type = STR("");
	part.from_ms += 4 * minute_ms;
	part.to_ms = part.from_ms + 5 * minute_ms;
	of_cpu.matchers = &first_cpu;
	of_rest.matchers = &unstripped;
	of_cpu.n_matchers = of_rest.n_matchers = 1;
	const struct asked questions[] = {
		{ .what = ASK_TYPES, .sel = { any } },
		{ .what = ASK_LABELS, .sel = { any } },
		{ .what = ASK_VALUES, .sel = { all }, .name = STR("comm") },
		{ .what = ASK_VALUES, .sel = { part }, .name = STR("thread_name") },
		{ .what = ASK_SERIES, .sel = { all } },
		{ .what = ASK_SERIES, .sel = { of_rest } },
		{ .what = ASK_POINTS, .sel = { all }, .step_ms = minute_ms },
		{ .what = ASK_POINTS,
		  .sel = { part },
		  .step_ms = 10000,
		  .by_labels = { STR("comm"), STR("cpu") },
		  .by = { .n = 2 } },
		{ .what = ASK_MERGE, .sel = { all }, .n_sel = 1 },
		{ .what = ASK_MERGE, .sel = { of_cpu, of_rest }, .n_sel = 2 },
		{ .what = ASK_MERGE,
		  .sel = { part },
		  .n_sel = 1,
		  .by_labels = { STR("exe"), STR("thread_name"), STR("pid") },
		  .by = { .n = 3 } },
	};

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		struct asked a = questions[i];

		a.by.labels = a.by_labels;
		if (!trial__ask(t, &t->subject, &a))
			return false;
	}
	return t->n_empty == 0 ||
	       trial__fail(t, "questions about the recorded set are answered with nothing");
}

static bool write_all(struct trial *t, const struct recorded_windows *w)
{
	for (uint32_t i = 0; i < w->n; i += BATCHES_A_WRITE)
		if (!trial__write(t, w->v + i, w->n - i < BATCHES_A_WRITE ? w->n - i : BATCHES_A_WRITE))
			return false;
	return true;
}

bool conform__recorded(const struct trial_options *o, struct buf *ret_why)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct recorded_windows w = { 0 };
	struct dcm_batch *set = NULL;
	struct trial *t = trial__new(o);

	if (!t)
		abort();
	if (recorded__read(SET, &set, &err) < 0)
		trial__fail(t, "%s", err.text);
	else if (recorded__split(set, true, &w) < 0)
		trial__fail(t, "out of memory");
	else if (t->why.n == 0 && is_as_told(t, set) && write_all(t, &w) && ask_all(t) &&
		 trial__compare_stat(t, &t->subject) && trial__restart(t))
		ask_all(t);
	recorded_windows__fini(&w);
	batch__unref(set);
	return trial__end(t, ret_why);
}
