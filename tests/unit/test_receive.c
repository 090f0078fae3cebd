/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_receive.c - labels, forms, and what a sender is told, by a host that does what a case wants
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "plugins/input/receive/desk.h"
#include "plugins/input/receive/form.h"
#include "plugins/input/receive/labels.h"
#include "plugins/input/receive/type_config.h"
#include "tests/unit/no_metrics.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* ---- labels ---- */

static void test_app_names(void **state)
{
	(void)state;
	static const struct {
		const char *text, *app, *labels; /* labels NULL: refused */
	} cases[] = {
		{ "app", "app", "" },
		{ "app.cpu{}", "app.cpu", "" },
		{ "app.cpu{env=prod}", "app.cpu", "env=prod;" },
		{ " app { env = prod , host=\"a b\" }", "app", "env=prod;host=a b;" },
		{ "app{a=b=c,,}", "app", "a=b=c;" },
		{ "app{__session_id__=1,x=}", "app", "" },
		{ "", NULL, NULL },
		{ "{a=b}", NULL, NULL },
		{ "app{a=b", NULL, NULL },
		{ "app{a=b}c", NULL, NULL },
		{ "app{a}", NULL, NULL },
		{ "app{=b}", NULL, NULL },
		{ "app{a=b,a=c}", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct labels l = { .n = 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		struct dcm_str app;
		struct buf text = { 0 };
		int r = labels__read_app(&l, str__of(cases[i].text), &app, &err);

		assert_int_equal(r, cases[i].labels ? 0 : -EINVAL);
		if (r < 0) {
			assert_true(strlen(err.text) > 0);
			continue;
		}
		assert_true(str__eq(app, str__of(cases[i].app)));
		buf__text(&text, "");
		for (uint32_t k = 0; k < l.n; k++)
			buf__printf(&text, "%.*s=%.*s;", STR_ARG(l.v[k].name), STR_ARG(l.v[k].value));
		assert_true(str__eq(buf__view(&text), str__of(cases[i].labels)));
		buf__fini(&text);
	}
}

static void test_too_many_labels(void **state)
{
	(void)state;
	struct labels l = { .n = 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	static char names[LABELS_MAX + 1][8];

	for (int i = 0; i <= LABELS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		assert_int_equal(labels__put(&l, str__of(names[i]), STR("v"), &err),
				 i < LABELS_MAX ? 0 : -E2BIG);
	}
}

/* ---- what a form says of types ---- */

static void test_type_config(void **state)
{
	static const char sent[] =
		"{\"inuse_space\":{\"units\":\"bytes\",\"aggregation\":\"average\"},"
		"\"alloc_space\":{\"units\":\"bytes\",\"cumulative\":true},"
		"\"contentions\":{\"aggregation\":\"sum\",\"cumulative\":false},"
		"\"delay\":7}";
	static const struct {
		const char *type;
		uint32_t temporality;
	} want[] = { { "inuse_space", DCM_GAUGE },
		     { "alloc_space", DCM_CUMULATIVE },
		     { "contentions", DCM_DELTA },
		     { "delay", DCM_DELTA } };
	struct type_config c = { .n = 0 };

	(void)state;
	assert_int_equal(type_config__read(&c, (const uint8_t *)sent, sizeof(sent) - 1, NULL), 0);
	assert_int_equal(c.n, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(str__eq(c.v[i].sample_type, str__of(want[i].type)));
		assert_int_equal(c.v[i].temporality, want[i].temporality);
	}
	type_config__fini(&c);
}

static void assert_type_config(const void *text, size_t n, int want, const char *words)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct type_config c = { .n = 0 };

	assert_int_equal(type_config__read(&c, text, n, &err), want);
	if (want < 0 && !strstr(err.text, words))
		fail_msg("\"%s\" is not in: %s", words, err.text);
	type_config__fini(&c);
}

static void test_bad_type_configs(void **state)
{
	static const char *const no_objects[] = {
		"", "{", "[]", "7", "{\"a\":{},\"a\":{}}", "{\"a\\u0000\":1}"
	};
	struct buf many = { 0 }, large = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(no_objects) / sizeof(no_objects[0]); i++)
		assert_type_config(no_objects[i], strlen(no_objects[i]), -EINVAL, "no JSON object");
	for (int i = 0; i <= TYPE_CONFIG_TYPES; i++)
		buf__printf(&many, "%s\"t%d\":{}", i ? "," : "{", i);
	buf__text(&many, "}");
	assert_type_config(many.data, many.n, -E2BIG, "more than 16 types");
	/* A list in each three bytes: forty times as much memory. */
	buf__text(&large, "{\"a\":[[]");
	while (large.n < TYPE_CONFIG_BYTES - 5)
		buf__text(&large, ",[]");
	buf__text(&large, "]}");
	while (large.n < TYPE_CONFIG_BYTES)
		buf__byte(&large, ' ');
	assert_int_equal(large.n, TYPE_CONFIG_BYTES);
	assert_type_config(large.data, large.n, 0, "");
	buf__byte(&large, ' ');
	assert_type_config(large.data, large.n, -E2BIG, "send at most 65536");
	buf__fini(&many);
	buf__fini(&large);
}

/* ---- forms ---- */

/* Parts of random bytes, in which the boundary stands nearly, come out as they went in. */
static void check_form(uint64_t seed)
{
	enum { MAX_PARTS = 5, MAX_BYTES = 300 };
	struct random rnd = { seed };
	uint8_t parts[MAX_PARTS][MAX_BYTES];
	size_t sizes[MAX_PARTS], n = random__below(&rnd, MAX_PARTS + 1);
	struct buf body = { 0 };
	struct form_part got;
	struct form f;
	size_t i = 0;

	for (; i < n; i++) {
		sizes[i] = random__below(&rnd, MAX_BYTES);
		for (size_t k = 0; k < sizes[i]; k++)
			parts[i][k] = (uint8_t) "-\r\nxyab"[random__below(&rnd, 7)];
		buf__printf(&body, "--xyz\r\nContent-Disposition: form-data; name=\"p%zu\"\r\n\r\n", i);
		buf__append(&body, parts[i], sizes[i]);
		buf__text(&body, "\r\n");
	}
	buf__text(&body, "--xyz--\r\n");
	assert_true(form__begin(&f, STR("Multipart/Form-Data; boundary=xyz"), body.data, body.n));
	for (i = 0; form__next(&f, &got); i++) {
		char name[8];

		assert_true(i < n);
		snprintf(name, sizeof(name), "p%zu", i);
		assert_true(str__eq(got.name, str__of(name)));
		assert_int_equal(got.n, sizes[i]);
		if (got.n)
			assert_memory_equal(got.data, parts[i], got.n);
	}
	assert_null(f.fault);
	assert_int_equal(i, n);
	buf__fini(&body);
}

static void test_forms(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++)
		check_form(seed);
}

static void test_bad_forms(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{ "multipart/form-data", "--x--" },
		{ "multipart/form-data; boundary=", "--x--" },
		{ "multipart/form-data; "
		  "boundary="
		  "0123456789012345678901234567890123456789012345678901234567890123456789x",
		  "" },
		{ "multipart/form-data; boundary=x", "no boundary" },
		{ "multipart/form-data; boundary=x", "--x\r\nA: b\r\n\r\ncut" },
		{ "multipart/form-data; boundary=x", "--x\r\nA: b\r\ncut" },
		{ "multipart/form-data; boundary=x", "--xcut" },
	};
	struct form_part part;
	struct form f;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t *body = (const uint8_t *)cases[i][1];
		size_t n = strlen(cases[i][1]);

		assert_true(form__begin(&f, str__of(cases[i][0]), n ? body : (const uint8_t *)" ",
					n ? n : 1));
		while (form__next(&f, &part))
			;
		assert_non_null(f.fault);
		assert_false(form__next(&f, &part));
	}
	assert_false(form__begin(&f, STR("application/json"), (const uint8_t *)"x", 1));
}

/* ---- the desk ---- */

enum told { AT_ONCE, SOON, LATE, NEVER_TAKEN };

/* A host whose stores say `status`, at once or from another thread. */
static struct play {
	uint64_t decode_fails_at, store_fails_at; /* of several, from 1: by -EINVAL, -EIO; 0: none */
	uint64_t n_decoded;
	int decodes, emits, status;
	enum told told;
	dcm_done_fn done;
	void *done_ctx;
	pthread_t teller;
	bool has_teller;
	uint64_t n_emitted, n_waits;
} play;

#define CLOCK_NS INT64_C(1700000000000000000)

static struct dcm_profile profiles[2] = { { .n_rows = 3 }, { .n_rows = 4 } };
static struct dcm_str strings[2] = { { "name", 4 }, { "", 0 } };
static const struct dcm_pair pairs[1] = { { 0, 1 } };
static const struct dcm_span series[1] = { { 0, 1 } };
static struct dcm_batch batch = { .size = sizeof(batch),
				  .profiles = profiles,
				  .n_profiles = 2,
				  .strings = strings,
				  .n_strings = 2,
				  .pairs = pairs,
				  .n_pairs = 1,
				  .series = series,
				  .n_series = 1,
				  .n_rows = 7 };

static int play_decode(const struct dcm_host *host, const struct dcm_decode *how,
		       const uint8_t *data, size_t n, struct dcm_batch **ret, struct dcm_error *err)
{
	(void)host;
	(void)data;
	(void)n;
	assert_int_equal(how->size, sizeof(*how));
	assert_true(how->time_ns != 0);
	assert_int_equal(how->max_bytes, 1000);
	if (play.decodes < 0)
		return error__set(err, play.decodes, "the place, the fault, the remedy");
	if (++play.n_decoded == play.decode_fails_at)
		return error__set(err, -EINVAL, "the place, the fault, the remedy");
	*ret = &batch;
	return 0;
}

static void *tell(void *ctx)
{
	(void)ctx;
	usleep(30000);
	play.done(play.done_ctx, play.status);
	return NULL;
}

static int play_emit(const struct dcm_host *host, struct dcm_batch *b, dcm_done_fn done, void *ctx)
{
	(void)host;
	assert_ptr_equal(b, &batch);
	if (play.emits < 0)
		return play.emits;
	play.n_emitted++;
	play.done = done;
	play.done_ctx = ctx;
	if (done && play.told == AT_ONCE)
		done(ctx, play.n_emitted == play.store_fails_at ? -EIO : play.status);
	if (done && play.told == SOON)
		play.has_teller = pthread_create(&play.teller, NULL, tell, NULL) == 0;
	return 0;
}

static int64_t play_mono(const struct dcm_host *host)
{
	(void)host;
	return clock__mono(&clock__system);
}

static int64_t play_real(const struct dcm_host *host)
{
	(void)host;
	return CLOCK_NS;
}

static void play_unref(struct dcm_batch *b)
{
	assert_ptr_equal(b, &batch);
}

static void play_waits(const struct dcm_request *q)
{
	assert_non_null(q);
	play.n_waits++;
}

static const struct dcm_host host = {
	.size = sizeof(host),
	.metric = no_metrics__make,
	.metric_add = no_metrics__add,
	.mono_ns = play_mono,
	.real_ns = play_real,
	.decode_as = play_decode,
	.emit = play_emit,
	.batch_unref = play_unref,
	.request_waits = play_waits,
};

static struct desk_verdict push_within(int64_t answer_within_ns, struct play how, int32_t answer,
				       struct dcm_budget *budget)
{
	const struct receive_options options = { .answer = answer,
						 .answer_within_ns = answer_within_ns,
						 .max_unpacked_bytes = 1000 };
	struct dcm_decode decode = { .format = "pprof" };
	struct desk_verdict v;
	struct desk d;

	play = how;
	desk__init(&d, &host, &options);
	desk__take(&d, &decode, (const uint8_t *)"x", 1,
		   &(struct dcm_request){ .size = sizeof(struct dcm_request), .budget = budget }, &v);
	if (play.has_teller)
		pthread_join(play.teller, NULL);
	return v;
}

static struct desk_verdict push(struct play how, int32_t answer, struct dcm_budget *budget)
{
	return push_within(INT64_C(600000000000), how, answer, budget);
}

static void test_verdicts(void **state)
{
	(void)state;
	static const struct {
		struct play play;
		int32_t answer;
		int status, retry;
	} cases[] = {
		{ { .told = AT_ONCE }, RECEIVE_WHEN_STORED, 200, 0 },
		{ { .told = SOON }, RECEIVE_WHEN_STORED, 200, 0 },
		{ { .told = NEVER_TAKEN }, RECEIVE_WHEN_QUEUED, 200, 0 },
		{ { .decodes = -EINVAL }, RECEIVE_WHEN_STORED, 400, 0 },
		{ { .decodes = -E2BIG }, RECEIVE_WHEN_STORED, 413, 0 },
		{ { .decodes = -ENOMEM }, RECEIVE_WHEN_STORED, 503, 1 },
		{ { .emits = -EAGAIN }, RECEIVE_WHEN_STORED, 503, 1 },
		{ { .emits = -EAGAIN }, RECEIVE_WHEN_QUEUED, 503, 1 },
		{ { .emits = -ESHUTDOWN }, RECEIVE_WHEN_STORED, 503, 10 },
		{ { .emits = -ENOMEM }, RECEIVE_WHEN_STORED, 503, 1 },
		{ { .told = SOON, .status = -ENOSPC }, RECEIVE_WHEN_STORED, 503, 10 },
		{ { .told = SOON, .status = -ECANCELED }, RECEIVE_WHEN_STORED, 503, 10 },
		{ { .told = AT_ONCE, .status = -EINVAL }, RECEIVE_WHEN_STORED, 503, 10 },
		{ { .told = AT_ONCE, .status = -ENODEV }, RECEIVE_WHEN_STORED, 503, 10 },
		{ { .told = AT_ONCE, .status = -E2BIG }, RECEIVE_WHEN_STORED, 422, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_budget budget = { .deadline_mono_ns = play_mono(NULL) + INT64_C(60000000000) };
		struct desk_verdict v = push(cases[i].play, cases[i].answer, &budget);

		if (v.status != cases[i].status || v.retry_after_s != cases[i].retry)
			fail_msg("case %zu: %d, after %d s: %s", i, v.status, v.retry_after_s,
				 v.error.text);
		assert_true(v.status == 200 ? v.n_rows == 7 && v.n_profiles == 2
					    : v.error.text[0] != '\0');
		assert_int_equal(play.n_emitted,
				 cases[i].play.emits < 0 || cases[i].play.decodes < 0 ? 0 : 1);
		assert_int_equal(play.n_waits,
				 cases[i].answer == RECEIVE_WHEN_STORED ? play.n_emitted : 0);
	}
}

/* The first that is refused is told, and whoever waits for those before it is gone. */
static void test_several(void **state)
{
	static const struct {
		struct play play;
		int status;
		uint64_t n_emitted, n_waits;
	} cases[] = {
		{ { .told = AT_ONCE }, 200, 3, 1 },
		{ { .told = AT_ONCE, .decode_fails_at = 1 }, 400, 0, 0 },
		{ { .told = AT_ONCE, .decode_fails_at = 3 }, 400, 2, 0 },
		{ { .told = AT_ONCE, .store_fails_at = 1 }, 503, 3, 1 },
		{ { .told = AT_ONCE, .store_fails_at = 3 }, 503, 3, 1 },
		{ { .told = AT_ONCE, .emits = -EAGAIN }, 503, 0, 0 },
	};
	const struct receive_options options = { .answer = RECEIVE_WHEN_STORED,
						 .answer_within_ns = INT64_C(600000000000),
						 .max_unpacked_bytes = 1000 };
	const struct group_message messages[] = { { (const uint8_t *)"x", 1 },
						  { (const uint8_t *)"y", 1 },
						  { (const uint8_t *)"z", 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dcm_budget budget = { .deadline_mono_ns = play_mono(NULL) + INT64_C(60000000000) };
		const struct dcm_request q = { .size = sizeof(q), .budget = &budget };
		struct dcm_decode decode = { .format = "pprof" };
		struct desk_verdict v;
		struct desk d;

		play = cases[i].play;
		desk__init(&d, &host, &options);
		desk__take_all(&d, &decode, messages, 3, &q, &v);
		if (v.status != cases[i].status || play.n_emitted != cases[i].n_emitted ||
		    play.n_waits != cases[i].n_waits)
			fail_msg("case %zu: %d, %llu emitted, %llu waits", i, v.status,
				 (unsigned long long)play.n_emitted, (unsigned long long)play.n_waits);
		assert_true(v.status != 200 || (v.n_rows == 21 && v.n_profiles == 6));
	}
}

/* What would be lost behind the answer is refused. */
static void test_what_no_store_takes(void **state)
{
	enum { MOST = 65536 - 4 };
	static char value[MOST + 2];
	const int64_t day_ns = INT64_C(86400000000000);

	(void)state;
	memset(value, 'x', MOST + 1);
	for (int too_long = 0; too_long < 2; too_long++) {
		strings[1] = (struct dcm_str){ value, MOST + (uint32_t)too_long };
		struct desk_verdict v = push((struct play){ .told = AT_ONCE }, RECEIVE_WHEN_QUEUED, NULL);

		assert_int_equal(v.status, too_long ? 413 : 200);
		assert_int_equal(play.n_emitted, !too_long);
	}
	strings[1] = STR("");
	for (int too_late = 0; too_late < 2; too_late++) {
		profiles[1].time_ns = CLOCK_NS + day_ns + too_late;
		struct desk_verdict v = push((struct play){ .told = AT_ONCE }, RECEIVE_WHEN_QUEUED, NULL);

		assert_int_equal(v.status, too_late ? 422 : 200);
		assert_true(!too_late ||
			    strstr(v.error.text,
				   "profile 1: begins more than a day after this machine's clock"));
	}
	profiles[1].time_ns = 0;
}

/* The sender's patience ends first, and the store may answer after it all the same. */
static void test_answers_that_come_late(void **state)
{
	(void)state;
	struct dcm_budget budget = { .deadline_mono_ns = play_mono(NULL) + INT64_C(1000000000) };
	struct desk_verdict v = push((struct play){ .told = LATE }, RECEIVE_WHEN_STORED, &budget);

	assert_int_equal(v.status, 504);
	/* It hears so before that, or it would not hear it. */
	assert_true(play_mono(NULL) < budget.deadline_mono_ns);
	play.done(play.done_ctx, 0);

	budget = (struct dcm_budget){ .deadline_mono_ns = play_mono(NULL) + INT64_C(600000000000) };
	v = push_within(20000000, (struct play){ .told = LATE }, RECEIVE_WHEN_STORED, &budget);
	assert_int_equal(v.status, 504);
	assert_non_null(strstr(v.error.text, "answer_within"));
	play.done(play.done_ctx, -EIO);

	budget = (struct dcm_budget){ .deadline_mono_ns = 0 };
	atomic_store(&budget.cancelled, 1);
	v = push((struct play){ .told = LATE }, RECEIVE_WHEN_STORED, &budget);
	assert_int_equal(v.status, 504);
	play.done(play.done_ctx, -EIO);
}

static void test_an_empty_body(void **state)
{
	(void)state;
	const struct receive_options options = { .max_unpacked_bytes = 1000 };
	struct dcm_decode decode = { .format = "pprof" };
	struct desk_verdict v;
	struct desk d;

	desk__init(&d, &host, &options);
	desk__take(&d, &decode, NULL, 0, NULL, &v);
	assert_int_equal(v.status, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_app_names),
		cmocka_unit_test(test_too_many_labels),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_bad_forms),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_what_no_store_takes),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_answers_that_come_late),
		cmocka_unit_test(test_an_empty_body),
		cmocka_unit_test(test_type_config),
		cmocka_unit_test(test_bad_type_configs),
	};

	return cmocka_run_group_tests_name("receive", tests, NULL, NULL);
}
