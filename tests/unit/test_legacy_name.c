/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_legacy_name.c - names of labels for servers that know letters, digits and '_' alone: each is one, and none is another's
 */
#include "plugins/output/delivery/legacy_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/output/pyroscope/ingest.h"
#include "plugins/output/pyroscope/push.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

enum { NAMES_MAX = 8, SETS_MAX = 3 };

/* ---- batches ---- */

/* A profile whose series has those names, each with the value "v", and a row for each set of names of sample labels, with "s". */
static struct dcm_batch *make(const char *const series[NAMES_MAX],
			      const char *const sets[SETS_MAX][NAMES_MAX])
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	const uint32_t count = builder__string(b, STR("count"));
	const struct dcm_type type = { count, count, count, count, count, DCM_DELTA };
	struct dcm_pair pairs[NAMES_MAX];
	struct dcm_profile head = { .time_ns = 1000000 };
	struct dcm_batch *batch = NULL;
	uint32_t n = 0;

	for (; series[n]; n++)
		pairs[n] = (struct dcm_pair){ builder__string(b, str__of(series[n])),
					      builder__string(b, STR("v")) };
	head.series = builder__series(b, pairs, n);
	builder__profile(b, &head, &type, 1);
	for (uint32_t i = 0; sets && i < SETS_MAX && sets[i][0]; i++) {
		struct dcm_label labels[NAMES_MAX];
		const int64_t value = 1 + i;

		for (n = 0; sets[i][n]; n++)
			labels[n] = (struct dcm_label){ .name = builder__string(b, str__of(sets[i][n])),
							.str = builder__string(b, STR("s")),
							.unit = DCM_NONE };
		builder__row(b, builder__stack(b, NULL, 0), builder__label_set(b, labels, n), &value);
	}
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	return batch;
}

/* What the label is called there. */
static void becomes(const struct dcm_batch *b, const char *name, const char *want)
{
	const struct dcm_span series = b->series[b->profiles[0].series];
	struct buf out = { 0 };

	for (uint32_t i = 0; i < series.n; i++)
		if (str__eq(b->strings[b->pairs[series.off + i].name], str__of(name)))
			legacy_name__put_pair(&out, b, series, i);
	buf__byte(&out, 0);
	assert_string_equal((const char *)out.data, want);
	buf__fini(&out);
}

/* ---- of series ---- */

static void names_are_letters_digits_and_underscores(void **state)
{
	(void)state;
	struct dcm_batch *b = make((const char *const[NAMES_MAX]){ "service_name", "http.method",
								   "a,b", "ü", "_x1", "1st", "a:b" },
				   NULL);

	becomes(b, "service_name", "service_name");
	becomes(b, "_x1", "_x1");
	becomes(b, "http.method", "http_method");
	/* By hand, from the examples and rules of Prometheus' escaping_schemes. */
	becomes(b, "a,b", "U__a_2c_b");
	becomes(b, "ü", "U___fc_");
	becomes(b, "1st", "U___31_st");
	becomes(b, "a:b", "U__a_3a_b");
	batch__unref(b);

	b = make((const char *const[NAMES_MAX]){ "my_label.and-more", "..x", ".x", "._y", "🦀.z",
						 "local root span id" },
		 NULL);
	becomes(b, "my_label.and-more", "U__my__label_2e_and_2d_more");
	becomes(b, "..x", "U___2e__2e_x");
	becomes(b, ".x", "_x");
	becomes(b, "._y", "U___2e___y");
	becomes(b, "🦀.z", "U___1f980__2e_z");
	becomes(b, "local root span id", "U__local_20_root_20_span_20_id");
	batch__unref(b);
}

static void no_two_of_a_series_become_one(void **state)
{
	(void)state;
	struct dcm_batch *b = make(
		(const char *const[NAMES_MAX]){ "http.method", "http_method", "a.b_c", "a_b.c",
						"U__http_2e_method", "U_.d", "service.name" },
		NULL);

	becomes(b, "http_method", "http_method");
	becomes(b, "http.method", "U__http_2e_method");
	becomes(b, "U__http_2e_method", "U__U____http__2e__method");
	becomes(b, "a.b_c", "U__a_2e_b__c");
	becomes(b, "a_b.c", "U__a__b_2e_c");
	becomes(b, "U_.d", "U__U___2e_d");
	becomes(b, "service.name", "service_name");
	batch__unref(b);
}

/* Names of few characters, so that many would be one: with whatever others, no two are. */
static void whatever_they_are(void **state)
{
	(void)state;
	static const char letters[] = "U_.a-2e";

	srand(7);
	for (unsigned turn = 0; turn < 20000; turn++) {
		char text[2][NAMES_MAX + 1] = { "", "" };
		struct dcm_str strings[2];
		const struct dcm_pair pairs[2] = { { 0, 0 }, { 1, 0 } };
		struct buf out[2] = { { 0 }, { 0 } };

		for (unsigned k = 0; k < 2; k++) {
			unsigned n = 1 + (unsigned)rand() % NAMES_MAX;

			for (unsigned i = 0; i < n; i++)
				text[k][i] = letters[(unsigned)rand() % (sizeof(letters) - 1)];
			strings[k] = str__of(text[k]);
		}
		const struct dcm_batch b = {
			.strings = strings, .n_strings = 2, .pairs = pairs, .n_pairs = 2
		};

		if (str__eq(strings[0], strings[1]))
			continue;
		for (uint32_t k = 0; k < 2; k++) {
			legacy_name__put_pair(&out[k], &b, (struct dcm_span){ 0, 2 }, k);
			assert_true(out[k].n > 0);
			for (size_t i = 0; i < out[k].n; i++)
				assert_true(out[k].data[i] == '_' || isalnum(out[k].data[i]));
			assert_false(isdigit(out[k].data[0]));
		}
		assert_false(str__eq(buf__view(&out[0]), buf__view(&out[1])));
		buf__fini(&out[0]);
		buf__fini(&out[1]);
	}
}

/* ---- of samples ---- */

static void set_is(const struct dcm_batch *b, uint32_t row, const char *want)
{
	const struct dcm_span set = b->label_sets[b->row_labels[row]];
	struct buf out = { 0 };

	for (uint32_t i = 0; i < set.n; i++) {
		const struct dcm_label *l = &b->labels[set.off + i];

		buf__str(&out, b->strings[l->name]);
		assert_true(str__eq(b->strings[l->str], STR("s")));
		buf__byte(&out, ' ');
	}
	buf__byte(&out, 0);
	assert_string_equal((const char *)out.data, want);
	buf__fini(&out);
}

static const char *const odd_sets[SETS_MAX][NAMES_MAX] = { { "http.method", "span id" },
							   { "http.method", "http_method" },
							   { "http.method", "pid" } };
static const char *const odd_series[NAMES_MAX] = { "service.name", "http_method" };

static void labels_of_samples_have_such_names(void **state)
{
	(void)state;
	struct dcm_batch *b = make(odd_series, odd_sets);
	struct legacy_labels l = { 0 };
	const struct dcm_batch *view = NULL, *again = NULL;

	assert_int_equal(legacy_labels__of(&l, b, &view), 0);
	set_is(view, 0, "http_method U__span_20_id ");
	set_is(view, 1, "U__http_2e_method http_method ");
	set_is(view, 2, "http_method pid ");
	set_is(b, 0, "http.method span id ");
	/* Each name is there once, however many have it. */
	assert_int_equal(view->n_strings, b->n_strings + 3);
	assert_int_equal(legacy_labels__of(&l, b, &again), 0);
	assert_ptr_equal(view, again);
	legacy_labels__fini(&l);
	batch__unref(b);
}

static void a_batch_without_others_stays_what_it_is(void **state)
{
	(void)state;
	static const char *const sets[SETS_MAX][NAMES_MAX] = { { "pid", "thread_name" } };
	struct dcm_batch *b = make(odd_series, sets), *other = make(odd_series, odd_sets);
	struct legacy_labels l = { 0 };
	const struct dcm_batch *view = NULL;

	assert_int_equal(legacy_labels__of(&l, other, &view), 0);
	assert_int_equal(legacy_labels__of(&l, b, &view), 0);
	assert_ptr_equal(view, b);
	legacy_labels__fini(&l);
	batch__unref(b);
	batch__unref(other);
}

static void memory_runs_out(void **state)
{
	(void)state;
	struct dcm_batch *b = make(odd_series, odd_sets);

	FAILMALLOC_SWEEP (i) {
		struct legacy_labels l = { 0 };
		const struct dcm_batch *view = NULL;
		int r = legacy_labels__of(&l, b, &view);

		failmalloc__disarm();
		if (r == 0)
			set_is(view, 0, "http_method U__span_20_id ");
		else
			assert_int_equal(r, -ENOMEM);
		legacy_labels__fini(&l);
	}
	batch__unref(b);
}

/* ---- what is sent to Pyroscope ---- */

static void ingest_names_them_so(void **state)
{
	(void)state;
	struct dcm_batch *b = make(
		(const char *const[NAMES_MAX]){ "service.name", "http.method", "a,b", "ü" }, NULL);
	struct buf out = { 0 };

	ingest__address("http://x/ingest", b, &b->profiles[0], &out);
	assert_non_null(strstr((const char *)out.data,
			       "?name=v%7BU__a_2c_b%3Dv%2Chttp_method%3Dv%2CU___fc_%3Dv%7D&from="));
	buf__fini(&out);
	batch__unref(b);
}

static int no_pprof(const struct dcm_host *host, const struct dcm_batch *batch, uint32_t profile,
		    const char *format, uint8_t **ret_data, size_t *ret_n, struct dcm_error *err)
{
	(void)host;
	(void)batch;
	(void)profile;
	(void)format;
	(void)err;
	*ret_data = calloc(1, 1);
	*ret_n = 1;
	return *ret_data ? 0 : -ENOMEM;
}

/* The bytes of a label: its name and its value, as protobuf has them. */
static bool has_label(const struct buf *request, const char *name, const char *value)
{
	struct buf want = { 0 };
	bool has = false;

	buf__printf(&want, "\n%c%s\x12%c%s", (char)strlen(name), name, (char)strlen(value), value);
	for (size_t i = 0; i + want.n <= request->n; i++)
		has |= memcmp(request->data + i, want.data, want.n) == 0;
	buf__fini(&want);
	return has;
}

static void pushed_ones_are_called_so(void **state)
{
	(void)state;
	struct dcm_batch *b = make(
		(const char *const[NAMES_MAX]){ "service.name", "http.method", "a,b", "ü" }, NULL);
	const struct dcm_host host = { .encode = no_pprof };
	const struct push_limits limits = { 0 };
	const struct push_progress from = { 0 };
	struct push_progress to;
	struct buf out = { 0 };

	assert_int_equal(push__request(&host, b, 0, &limits, &from, &to, &out, NULL), 0);
	assert_true(has_label(&out, "service_name", "v"));
	assert_false(has_label(&out, "service_name", "unknown"));
	assert_true(has_label(&out, "http_method", "v"));
	assert_true(has_label(&out, "U__a_2c_b", "v"));
	assert_true(has_label(&out, "U___fc_", "v"));
	buf__fini(&out);
	batch__unref(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_letters_digits_and_underscores),
		cmocka_unit_test(no_two_of_a_series_become_one),
		cmocka_unit_test(whatever_they_are),
		cmocka_unit_test(labels_of_samples_have_such_names),
		cmocka_unit_test(a_batch_without_others_stays_what_it_is),
		cmocka_unit_test(memory_runs_out),
		cmocka_unit_test(ingest_names_them_so),
		cmocka_unit_test(pushed_ones_are_called_so),
	};

	return cmocka_run_group_tests_name("legacy_name", tests, NULL, NULL);
}
