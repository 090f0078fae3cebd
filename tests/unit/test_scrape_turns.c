/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_scrape_turns.c - when a target is asked, and what becomes of what it answers
 *
 * A job with one target, whose timer runs by hand on a clock that stands still, and a client that asks nobody: the test
 * answers for the target.
 */
#include <errno.h>
#include <string.h>

#include "core/base/str.h"
#include "tests/unit/scrape_fixture.h"
#include "tests/unit/unit.h"

#define SECOND	 INT64_C(1000000000)
#define INTERVAL (10 * SECOND)

struct fixture {
	struct scrape_fixture of;
	struct clock clock;
	struct stats *stats;
	struct source source;
	struct target *target;
	struct dcm_http_call call; /* under way, with its own URL; is_asked */
	char url[100];
	bool is_asked;
	int n_questions; /* for names */
	int refuses;	 /* what http_start() says */
};

static struct fixture *the_fixture;

/* ---- a client that asks nobody ---- */

static int client_new(void *ctx, const struct dcm_host *from, const struct dcm_http_options *options,
		      struct dcm_http_client **ret, struct dcm_error *err)
{
	(void)ctx;
	(void)from;
	(void)options;
	(void)err;
	*ret = (struct dcm_http_client *)the_fixture;
	return 0;
}

static void client_free(struct dcm_http_client *client)
{
	(void)client;
}

static int start(struct dcm_http_client *client, const struct dcm_http_call *call, uint64_t *ret_id,
		 struct dcm_error *err)
{
	struct fixture *f = (struct fixture *)client;

	(void)err;
	if (f->refuses)
		return f->refuses;
	assert_false(f->is_asked);
	f->is_asked = true;
	f->call = *call;
	snprintf(f->url, sizeof(f->url), "%s", call->url);
	*ret_id = 1;
	return 0;
}

static void answer(struct fixture *f, struct dcm_http_reply reply, const char *body)
{
	assert_true(f->is_asked);
	f->is_asked = false;
	reply.size = sizeof(reply);
	reply.duration_ns = SECOND / 2;
	if (reply.status == 200)
		assert_true(f->call.take(f->call.ctx, (const uint8_t *)body, strlen(body)));
	f->call.done(f->call.ctx, &reply);
	loop__run_posted(f->of.loop);
}

static void cancel(struct dcm_http_client *client, uint64_t id)
{
	(void)id;
	answer((struct fixture *)client, (struct dcm_http_reply){ .fault = -ECANCELED }, "");
}

static int emit(void *ctx, const struct dcm_host *from, struct dcm_batch *batch, dcm_done_fn done,
		void *done_ctx)
{
	(void)ctx;
	(void)from;
	(void)batch;
	(void)done;
	(void)done_ctx;
	return 0;
}

static void adjust(struct host_services *services)
{
	services->stats = the_fixture->stats;
	services->clock = &the_fixture->clock;
	services->http_client_new = client_new;
	services->http_client_free = client_free;
	services->http_start = start;
	services->http_cancel = cancel;
	services->http_settle = NULL;
	services->emit = emit;
}

/* ---- a target, and its turns ---- */

/* Of memory and goroutine the one that is not `without`. */
static void open_with(struct fixture *f, const char *without)
{
	char yaml[1000];

	*f = (struct fixture){ .clock = clock__fake(SECOND, 1700000000 * SECOND) };
	the_fixture = f;
	assert_int_equal(stats__new(NULL, &f->stats), 0);
	snprintf(yaml, sizeof(yaml),
		 "scrape_configs:\n"
		 "- job_name: j\n"
		 "  scrape_interval: 10s\n"
		 "  scrape_timeout: 3s\n"
		 "  profiling_config: { pprof_config: { block: { enabled: false }, mutex: { "
		 "enabled: false }, process_cpu: { enabled: false }, %s: { enabled: false } } }\n",
		 without);
	scrape_fixture__open(&f->of, yaml, adjust);
	f->target = scrape_fixture__find_one(&f->of, &f->source);
}

static void open_fixture(struct fixture *f)
{
	open_with(f, "memory");
}

static void close_fixture(struct fixture *f)
{
	job__lost(f->of.job, &f->source);
	scrape_fixture__close(&f->of);
	stats__free(f->stats);
}

/* The clock goes on to its turn, which comes. How many intervals it went on, in tenths of one. */
static int turn(struct fixture *f)
{
	struct loop_timer *timer = &f->target->timer;
	int64_t waits = timer->at_mono_ns - f->clock.fake_mono_ns;

	assert_int_not_equal(timer->place, 0);
	f->clock.fake_mono_ns += waits;
	f->clock.fake_real_ns += waits;
	timer->fn(timer->ctx);
	return (int)(waits * 10 / INTERVAL);
}

static const char goroutines[] = "goroutine profile: total 2\n2 @ 0x401136 0x401140\n";

static void answer_well(struct fixture *f)
{
	answer(f, (struct dcm_http_reply){ .status = 200 }, goroutines);
	/* Addresses have names that are asked for; one that has no such page is left alone for thirty profiles. */
	if (f->is_asked) {
		assert_string_equal(f->url, "http://a:1/debug/pprof/symbol");
		f->n_questions++;
		answer(f, (struct dcm_http_reply){ .status = 404 }, "");
	}
	if (f->target->state.health != DCM_HEALTH_UP)
		fail_msg("%s", target__error(f->target));
}

static void answer_badly(struct fixture *f)
{
	answer(f, (struct dcm_http_reply){ .fault = -ECONNREFUSED, .sentence = "nobody listens" }, "");
	assert_int_equal(f->target->state.health, DCM_HEALTH_DOWN);
}

static double failures(const struct fixture *f, const char *reason)
{
	return stats__value(f->stats, "decima_scrape_failures_total",
			    STATS_LABELS({ "instance", "scrape" }, { "scrape_job", "j" },
					 { "reason", reason }));
}

static double counter(const struct fixture *f, const char *name)
{
	return stats__value(f->stats, name,
			    STATS_LABELS({ "instance", "scrape" }, { "scrape_job", "j" }));
}

/* ---- */

static void each_interval(void **state)
{
	static struct fixture f;

	(void)state;
	open_fixture(&f);
	assert_in_range(turn(&f), 0, 10);
	assert_string_equal(f.url, "http://a:1/debug/pprof/goroutine");
	assert_int_equal(f.call.timeout_ns, 3 * SECOND);
	answer_well(&f);
	for (int i = 0; i < 31; i++) {
		assert_int_equal(turn(&f), 10);
		assert_int_equal(f.n_questions, 1);
		answer_well(&f);
	}
	assert_int_equal(f.n_questions, 2);
	assert_true(counter(&f, "decima_scrapes_total") == 32);
	assert_true(counter(&f, "decima_scrape_samples_total") == 32);
	assert_int_equal(f.target->state.n_asked, 32);
	assert_int_equal(f.target->state.duration_ns, SECOND / 2);
	close_fixture(&f);
}

/* After five failures in a row turns are left out, more each time, until six; one success and all is as before. */
static void who_keeps_failing_is_asked_rarely(void **state)
{
	static const int turns[] = { 10, 10, 10, 10, 10, 20, 30, 40, 50, 60, 60, 60 };
	static struct fixture f;

	(void)state;
	open_fixture(&f);
	turn(&f);
	answer_badly(&f);
	for (size_t i = 1; i < sizeof(turns) / sizeof(turns[0]); i++) {
		int waited = turn(&f);

		if (waited != turns[i - 1])
			fail_msg("after %zu failures: %d, not %d", i, waited, turns[i - 1]);
		answer_badly(&f);
	}
	assert_int_equal(f.target->state.n_failures, sizeof(turns) / sizeof(turns[0]));
	turn(&f);
	answer_well(&f);
	turn(&f);
	answer_well(&f);
	assert_int_equal(turn(&f), 10);
	assert_true(failures(&f, "connection") == sizeof(turns) / sizeof(turns[0]));
	close_fixture(&f);
}

/* Where intervals are long, turns are not left out for hours. */
static void not_for_hours(void **state)
{
	static struct fixture f;

	(void)state;
	open_fixture(&f);
	f.target->interval_ns = 280 * SECOND;
	f.target->state.n_failures = 100;
	for (int i = 0; i < 2; i++) { /* until it has its place in that interval */
		turn(&f);
		answer_badly(&f);
	}
	assert_int_equal(turn(&f), 2 * 280);
	answer_badly(&f);
	f.target->state.health = DCM_HEALTH_OFF;
	turn(&f);
	answer_badly(&f);
	assert_int_equal(turn(&f), 6 * 280);
	answer_badly(&f);
	f.target->interval_ns = 7200 * SECOND;
	for (int i = 0; i < 2; i++) {
		turn(&f);
		answer_badly(&f);
	}
	assert_int_equal(turn(&f), 7200);
	answer_badly(&f);
	close_fixture(&f);
}

/* A profile of some seconds has them, and its time behind them. */
static void how_long_an_answer_may_take(void **state)
{
	static const struct {
		int covers, timeout, want;
	} cases[] = { { 0, 10, 10 }, { 0, 1, 1 }, { 9, 10, 19 }, { 9, 5, 14 }, { 59, 60, 119 } };
	static struct fixture f;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_fixture(&f);
		f.target->covers_ns = cases[i].covers * SECOND;
		f.target->timeout_ns = cases[i].timeout * SECOND;
		turn(&f);
		if (f.call.timeout_ns != cases[i].want * SECOND)
			fail_msg("%zu: %lld", i, (long long)(f.call.timeout_ns / SECOND));
		close_fixture(&f);
	}
}

/* One that does not answer is not asked twice at once; its turns go on, and are counted. */
static void who_is_silent_is_asked_once(void **state)
{
	static struct fixture f;

	(void)state;
	open_fixture(&f);
	turn(&f);
	for (int i = 0; i < 4; i++)
		assert_int_equal(turn(&f), 10);
	assert_true(counter(&f, "decima_scrapes_total") == 1);
	assert_true(counter(&f, "decima_scrapes_skipped_total") == 4);
	answer(&f, (struct dcm_http_reply){ .fault = -ETIMEDOUT, .sentence = "no answer" }, "");
	assert_string_equal(target__error(f.target), "no answer");
	assert_true(failures(&f, "timeout") == 1);
	turn(&f);
	answer_well(&f);
	close_fixture(&f);
}

/* What is under way when the job ends is given up, and nobody failed. */
static void who_is_asked_at_the_end(void **state)
{
	static struct fixture f;

	(void)state;
	open_fixture(&f);
	turn(&f);
	close_fixture(&f);
	assert_false(f.is_asked);
}

/* One that waits for its names when its target ends is taken without; what it counted goes with the target. */
static void who_waits_for_names_at_the_end(void **state)
{
	static struct fixture f;

	(void)state;
	open_with(&f, "goroutine");
	turn(&f);
	answer(&f, (struct dcm_http_reply){ .status = 200 },
	       "heap profile: 1: 100 [ 5: 500] @ heapprofile\n1: 100 [ 5: 500] @ 0x401136\n");
	assert_string_equal(f.url, "http://a:1/debug/pprof/symbol");
	answer(&f, (struct dcm_http_reply){ .status = 200 }, "0x401136\tmain\n0x401135\tmain\n");
	assert_int_equal(f.target->state.health, DCM_HEALTH_UP);
	assert_true(f.of.memory.n_delta_bytes > 0);
	turn(&f);
	answer(&f, (struct dcm_http_reply){ .status = 200 }, "heap profile: 2: 200 [ 9: 900] @ heapprofile\n1: 100 [ 5: 500] @ 0x401136\n1: 100 [ 4: 400] @ 0x401140\n");
	assert_string_equal(f.url, "http://a:1/debug/pprof/symbol");
	close_fixture(&f);
}

/* A profile that the list beside it does not name is off, and looked for at each thirtieth turn. */
static void what_a_target_does_not_have(void **state)
{
	static struct fixture f;

	(void)state;
	open_fixture(&f);
	turn(&f);
	answer(&f, (struct dcm_http_reply){ .status = 404 }, "");
	assert_string_equal(f.url, "http://a:1/debug/pprof/");
	answer(&f, (struct dcm_http_reply){ .status = 200 }, "<a href='goroutines?debug=1'>heap</a> <a href='goroutinX?debug=1'></a> <a href='xgoroutine?debug=1'>goroutine?debug</a>");
	assert_int_equal(f.target->state.health, DCM_HEALTH_OFF);
	assert_int_equal(f.target->state.n_failed, 0);
	turn(&f); /* was set when it was asked */
	answer(&f, (struct dcm_http_reply){ .status = 404 }, "");
	answer(&f, (struct dcm_http_reply){ .status = 200 }, "<a href='heap?debug=1'>heap</a>");
	assert_int_equal(turn(&f), 300);
	answer(&f, (struct dcm_http_reply){ .status = 404 }, "");
	/* It is listed: what is wrong is something else. */
	answer(&f, (struct dcm_http_reply){ .status = 200 }, "<a href='goroutine?debug=1'>goroutine</a>");
	assert_int_equal(f.target->state.health, DCM_HEALTH_DOWN);
	assert_true(failures(&f, "status") == 1);
	close_fixture(&f);
}

static void each_failure_has_its_reason(void **state)
{
	static const struct {
		int fault, status;
		const char *body, *reason, *sentence;
	} cases[] = {
		{ -ETIMEDOUT, 0, "", "timeout", "no answer" },
		{ -ECONNREFUSED, 0, "", "connection", "no answer" },
		{ -EFBIG, 0, "", "limit", "no answer" },
		{ -ENOMEM, 0, "", "memory", "no answer" },
		{ 0, 503, "", "status", "answered with status 503; what does its log say?" },
		{ 0, 401, "", "status", "answered with status 401; give the job credentials" },
		{ 0, 200, "<html>", "format", "pprof" },
		{ 0, 200, "", "format", "pprof" },
	};
	static struct fixture f;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_fixture(&f);
		turn(&f);
		answer(&f,
		       (struct dcm_http_reply){
			       .fault = cases[i].fault,
			       .status = cases[i].status,
			       .sentence = cases[i].fault
						   ? "http://a:1/debug/pprof/goroutine: no answer"
						   : NULL },
		       cases[i].body);
		assert_int_equal(f.target->state.health, DCM_HEALTH_DOWN);
		if (!strstr(target__error(f.target), cases[i].sentence) ||
		    strstr(target__error(f.target), "http://a:1"))
			fail_msg("%zu: %s", i, target__error(f.target));
		if (failures(&f, cases[i].reason) != 1)
			fail_msg("%zu: %s was not counted", i, cases[i].reason);
		close_fixture(&f);
	}
}

/* A client that takes no call: out of memory is a failure, the end of the instance is none. */
static void what_cannot_be_asked(void **state)
{
	static struct fixture f;

	(void)state;
	open_fixture(&f);
	f.refuses = -ENOMEM;
	turn(&f);
	assert_int_equal(f.target->state.health, DCM_HEALTH_DOWN);
	assert_true(failures(&f, "memory") == 1);
	f.refuses = -ESHUTDOWN;
	turn(&f);
	assert_int_equal(f.target->state.n_failures, 1);
	f.refuses = 0;
	turn(&f);
	answer_well(&f);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_interval),
		cmocka_unit_test(who_keeps_failing_is_asked_rarely),
		cmocka_unit_test(not_for_hours),
		cmocka_unit_test(how_long_an_answer_may_take),
		cmocka_unit_test(who_is_silent_is_asked_once),
		cmocka_unit_test(who_is_asked_at_the_end),
		cmocka_unit_test(who_waits_for_names_at_the_end),
		cmocka_unit_test(what_a_target_does_not_have),
		cmocka_unit_test(each_failure_has_its_reason),
		cmocka_unit_test(what_cannot_be_asked),
	};

	return cmocka_run_group_tests_name("scrape_turns", tests, NULL, NULL);
}
