/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/contract/test_storage.c - what every storage plugin must do, driven from outside with
 * random batches
 *
 *	test_storage [PLUGIN.so [YAML-OPTIONS [PATH-OPTION]]]
 *
 * Without arguments it is the memory store of this build. Every store is held against brute-force
 * SQL over the same rows, and where numbers are too large for SQL against the memory store.
 * PATH-OPTION (default "path") is the option that names the directory which backup wrote, and under
 * which a durable store keeps its files: "{DIR}" in the options becomes a fresh directory.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/config/regex.h"
#include "tests/contract/storage_answers.h"
#include "tests/contract/storage_host.h"
#include "tests/contract/storage_random.h"
#include "tests/contract/storage_sql.h"
#include "tests/unit/paths.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/shell.h"

#define BASE_MS (RANDOM_BASE_NS / 1000000)

#define MEMORY_FILE TEST_BUILDDIR "/plugins/.libs/storage_memory.so"
#define MEMORY_YAML "{ max_bytes: 1GiB, retention: 0 }"
static const char *plugin_file = MEMORY_FILE;
static bool plugin_is_named; /* it may be another than memory */
static const char *plugin_yaml = MEMORY_YAML;
static const char *path_option = "path";

static struct dcm_batch *make_batch(struct random *r, uint64_t round, unsigned flags)
{
	return storage_random__batch(r, round, flags, RANDOM_BASE_NS);
}

static void write_one(struct storage *s, struct dcm_batch *batch)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (s->ops->write(s->instance, &batch, 1, NULL, NULL, &err) < 0)
		fail_msg("write: %s", err.text);
}

/* Shows the first line that differs. */
static void compare_texts(const struct buf *expected, const struct buf *got, const char *question)
{
	struct buf difference = { 0 };

	if (answers__differ(expected, got, &difference))
		fail_msg("%s\n%s", question, (const char *)difference.data);
}

static uint64_t n_answered, n_empty;

/* One random question to the store and to SQL. */
static void ask_both(struct storage *s, struct sql *sql, struct random *r)
{
	struct question q;
	struct buf expected = { 0 }, got = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	char text[1024];

	question__random(&q, r);
	question__describe(&q.asked, text, sizeof(text));
	int e = answers__ask(s, &q.asked, &got, &err);
	if (e < 0)
		fail_msg("%s\n %s", text, err.text);
	sql__ask(sql, &q.asked, &expected);
	compare_texts(&expected, &got, text);
	n_answered++;
	n_empty += got.n == 0;
	buf__fini(&expected);
	buf__fini(&got);
	question__fini(&q);
}

static void compare_stat(struct storage *s, struct sql *sql)
{
	struct dcm_store_stat got = { .size = sizeof(got) }, expected = { .size = sizeof(expected) };

	s->ops->stat(s->instance, &got);
	sql__stat(sql, &expected);
	assert_int_equal(got.n_profiles, expected.n_profiles);
	assert_int_equal(got.n_rows, expected.n_rows);
	/* query.h: those of profiles that went may count for a while; memory's do not. */
	assert_true(plugin_is_named ? got.n_series >= expected.n_series
				    : got.n_series == expected.n_series);
	assert_int_equal(got.first_ms, expected.first_ms);
	assert_int_equal(got.last_ms, expected.last_ms);
}

static void check_store(struct storage *s)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (s->ops->check(s->instance, NULL, NULL, &err) < 0)
		fail_msg("check: %s", err.text);
}

/* -------------------------------------------------------------------------------------------------
 * Cases
 */

struct pair {
	struct storage storage;
	struct sql *sql;
	char dir[200];
};

/* The options with {DIR} replaced. */
static void options_for(const struct pair *p, char *out, size_t cap)
{
	const char *at = strstr(plugin_yaml, "{DIR}");

	if (at)
		snprintf(out, cap, "%.*s%s/store%s", (int)(at - plugin_yaml), plugin_yaml, p->dir,
			 at + 5);
	else
		snprintf(out, cap, "%s", plugin_yaml);
}

static struct pair *pair__new(void)
{
	struct pair *p = calloc(1, sizeof(*p));
	char yaml[512];

	const char *tmp = getenv("TMPDIR");
	snprintf(p->dir, sizeof(p->dir), "%s/decima-storage-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(p->dir));
	options_for(p, yaml, sizeof(yaml));
	if (!storage__open(&p->storage, plugin_file, yaml))
		fail_msg("%s cannot be opened", plugin_file);
	p->sql = sql__new();
	return p;
}

static void pair__free(struct pair *p)
{
	storage__close(&p->storage);
	sql__free(p->sql);
	assert_int_equal(shell("rm -rf '%s'", p->dir), 0);
	free(p);
}

static void write_both(struct pair *p, struct dcm_batch *batch)
{
	write_one(&p->storage, batch);
	sql__write(p->sql, batch);
}

static void test_every_answer_is_that_of_sql(void **state)
{
	(void)state;
	n_answered = n_empty = 0;
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct pair *p = pair__new();
		struct random r = { seed };

		for (uint64_t round = 0; round < 8; round++) {
			struct dcm_batch *batch = make_batch(&r, round,
							     RANDOM_NO_PROCESSES * (seed & 1));

			write_both(p, batch);
			if (round % 3 == 0) /* a retry changes nothing */
				write_both(p, batch);
			batch__unref(batch);
			for (unsigned i = 0; i < 25; i++)
				ask_both(&p->storage, p->sql, &r);
			compare_stat(&p->storage, p->sql);
		}
		check_store(&p->storage);
		pair__free(p);
	}
	/* A comparison of nothing with nothing proves nothing. */
	assert_true(n_empty < n_answered * 2 / 3);
}

static void test_removal_leaves_what_sql_leaves(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct pair *p = pair__new();
		struct random r = { seed };

		for (uint64_t round = 0; round < 8; round++) {
			struct dcm_batch *batch = make_batch(&r, round, 0);
			struct question q;
			struct dcm_error err = DCM_ERROR_INIT;
			uint64_t n = 0;
			char text[1024];

			write_both(p, batch);
			batch__unref(batch);
			do { /* one with a matcher: all of a type at once is dull */
				question__random(&q, &r);
				if (q.asked.sel[0].n_matchers == 0)
					question__fini(&q);
			} while (q.asked.sel[0].n_matchers == 0);
			question__describe(&q.asked, text, sizeof(text));
			if (p->storage.ops->remove(p->storage.instance, &q.asked.sel[0], &n, &err) < 0)
				fail_msg("remove %s: %s", text, err.text);
			uint64_t expected = sql__remove(p->sql, &q.asked.sel[0]);
			if (n != expected)
				fail_msg("remove %s: %" PRIu64 " profiles, not %" PRIu64, text, n,
					 expected);
			question__fini(&q);
			for (unsigned i = 0; i < 15; i++)
				ask_both(&p->storage, p->sql, &r);
			compare_stat(&p->storage, p->sql);
		}
		check_store(&p->storage);
		pair__free(p);
	}
}

static void test_retention_by_time_and_by_bytes(void **state)
{
	struct pair *p = pair__new();
	struct random r = { 7 };
	struct dcm_store_stat st = { .size = sizeof(st) };
	struct dcm_error err = DCM_ERROR_INIT;
	uint64_t n;
	(void)state;

	for (uint64_t round = 0; round < 20; round++) {
		struct dcm_batch *batch = make_batch(&r, round, 0);

		write_both(p, batch);
		batch__unref(batch);
	}
	for (int64_t cutoff = BASE_MS + 10000; cutoff < BASE_MS + 100000; cutoff += 30001) {
		assert_int_equal(p->storage.ops->retain(p->storage.instance, cutoff, 0, &n, &err), 0);
		assert_int_equal(n, sql__retain(p->sql, cutoff));
		compare_stat(&p->storage, p->sql);
		for (unsigned i = 0; i < 10; i++)
			ask_both(&p->storage, p->sql, &r);
	}
	/* By bytes: whatever goes, it is the oldest, and no more is left than allowed. */
	for (unsigned k = 0; k < 3; k++) {
		p->storage.ops->stat(p->storage.instance, &st);
		uint64_t bound = st.bytes - st.bytes / 8;
		assert_int_equal(
			p->storage.ops->retain(p->storage.instance, INT64_MIN, bound, &n, &err), 0);
		/* A store that writes its data anew may be small enough then. */
		assert_true(n > 0 || plugin_is_named);
		p->storage.ops->stat(p->storage.instance, &st);
		assert_true(st.bytes <= bound);
		assert_int_equal(n, sql__retain(p->sql, st.n_profiles ? st.first_ms : INT64_MAX));
		compare_stat(&p->storage, p->sql);
		for (unsigned i = 0; i < 10; i++)
			ask_both(&p->storage, p->sql, &r);
	}
	/* Everything; and the store goes on. */
	assert_int_equal(p->storage.ops->retain(p->storage.instance, INT64_MAX, 0, &n, &err), 0);
	sql__retain(p->sql, INT64_MAX);
	compare_stat(&p->storage, p->sql);
	struct dcm_batch *batch = make_batch(&r, 1000, 0);
	write_both(p, batch);
	batch__unref(batch);
	for (unsigned i = 0; i < 20; i++)
		ask_both(&p->storage, p->sql, &r);
	check_store(&p->storage);
	pair__free(p);
}

static void test_backup_answers_alike_and_knows_retries(void **state)
{
	struct pair *p = pair__new();
	struct random r = { 11 };
	struct storage copy = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batches[5];
	char dir[256], yaml[512];
	(void)state;

	for (uint64_t round = 0; round < 5; round++)
		write_both(p, batches[round] = make_batch(&r, round, 0));
	snprintf(dir, sizeof(dir), "%s/backup", p->dir);
	snprintf(yaml, sizeof(yaml), "{ %s: %s }", path_option, dir);
	if (p->storage.ops->backup(p->storage.instance, dir, &err) < 0)
		fail_msg("backup: %s", err.text);
	assert_int_equal(p->storage.ops->backup(p->storage.instance, dir, &err), -EEXIST);
	assert_non_null(strstr(err.text, "is there already"));
	assert_true(storage__open(&copy, plugin_file, yaml));
	compare_stat(&copy, p->sql);
	for (unsigned i = 0; i < 60; i++)
		ask_both(&copy, p->sql, &r);
	for (unsigned i = 0; i < 5; i++) {
		write_one(&copy, batches[i]);
		batch__unref(batches[i]);
	}
	compare_stat(&copy, p->sql);
	check_store(&copy);
	storage__close(&copy);
	pair__free(p);
}

/* n_series series of n profiles, of which the first holds the value: their means are fractions. */
static void fill_fraction(struct dcm_builder *b, uint32_t n, int64_t value, uint32_t n_series)
{
	struct dcm_type type = {
		builder__string(b, STR("goroutine")), builder__string(b, STR("goroutine")),
		builder__string(b, STR("count")),     builder__string(b, STR("goroutine")),
		builder__string(b, STR("count")),     DCM_GAUGE
	};
	uint32_t stack = builder__stack(b, NULL, 0);
	char text[64];

	snprintf(text, sizeof(text), "%u-%" PRId64 "-%u", n, value, n_series);
	for (uint32_t k = 0; k < n_series; k++) {
		char node[16];
		snprintf(node, sizeof(node), "n%u", k);
		struct dcm_pair pairs[] = {
			{ builder__string(b, STR("service_name")), builder__string(b, str__of(text)) },
			{ builder__string(b, STR("node")), builder__string(b, str__of(node)) },
		};
		uint32_t series = builder__series(b, pairs, 2);

		for (uint32_t i = 0; i < n; i++) {
			struct dcm_profile head = { .series = series,
						    .time_ns = RANDOM_BASE_NS + i * 1000000 };

			builder__profile(b, &head, &type, 1);
			if (i == 0)
				builder__row(b, stack, 0, &value);
		}
	}
}

/*
 * Three series with a sixth each are a half, or just below it when a store rounds too early or the
 * wrong way.
 */
static void test_means_are_rounded_once(void **state)
{
	static const uint32_t counts[] = { 1, 2, 3, 6, 7, 12 };
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct pair *p = pair__new();
	struct dcm_batch *batch = NULL;
	(void)state;

	for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		for (int64_t value = -3; value <= 3; value++)
			for (uint32_t n_series = 1; n_series <= 4; n_series++)
				fill_fraction(b, counts[i], value, n_series);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	write_both(p, batch);
	batch__unref(batch);
	for (unsigned what = ASK_POINTS; what <= ASK_MERGE; what++) {
		struct asked a = {
			.what = what, .n_sel = 1, .step_ms = 60000, .by_labels = { STR("service_name") }
		};
		struct buf expected = { 0 }, got = { 0 };

		a.by = (struct dcm_group_by){ a.by_labels, 1 };
		a.sel[0] = (struct dcm_select){
			.size = sizeof(a.sel[0]),
			.to_ms = INT64_MAX,
			.type = STR("goroutine:goroutine:count:goroutine:count")
		};
		assert_int_equal(answers__ask(&p->storage, &a, &got, NULL), 0);
		sql__ask(p->sql, &a, &expected);
		assert_true(got.n > 0);
		compare_texts(&expected, &got, "means");
		buf__fini(&expected);
		buf__fini(&got);
	}
	pair__free(p);
}

/* Hashes are hints: with the same one for everything, all answers are still right. */
static void test_equal_hashes_confuse_nothing(void **state)
{
	struct pair *p = pair__new();
	struct random r = { 19 };
	(void)state;

	for (uint64_t round = 0; round < 3; round++) {
		struct dcm_batch *batch = make_batch(&r, round, 0);
		struct arena *arena;
		struct dcm_batch *lie = batch__overlay(batch, &arena);

		lie->location_hashes = arena__zalloc(arena, batch->n_locations,
						     sizeof(*lie->location_hashes));
		batch__account(lie);
		write_one(&p->storage, lie);
		sql__write(p->sql, batch);
		batch__unref(lie);
		batch__unref(batch);
		for (unsigned i = 0; i < 20; i++)
			ask_both(&p->storage, p->sql, &r);
	}
	compare_stat(&p->storage, p->sql);
	pair__free(p);
}

/* One that has a thread for its upkeep needs no other's. */
static void maintain(struct pair *p)
{
	if (p->storage.ops->maintain)
		p->storage.ops->maintain(p->storage.instance, 1000000, NULL);
}

/* Called in the middle of a question: most of the store goes, and what is left moves. */
static struct {
	struct pair *pair;
	bool (*matches)(const struct dcm_regex *regex, struct dcm_str text);
	bool done;
} upheaval;

static bool match_and_upheave(const struct dcm_regex *regex, struct dcm_str text)
{
	uint64_t n;

	if (!upheaval.done) {
		upheaval.done = true;
		upheaval.pair->storage.ops->retain(upheaval.pair->storage.instance,
						   BASE_MS + 290000, 0, &n, NULL);
		maintain(upheaval.pair);
	}
	return upheaval.matches(regex, text);
}

/*
 * What a question sees is the moment at which it was asked, whatever happens to the store while it
 * is answered. A label of samples is asked for, because series may be judged before that moment.
 */
static void test_questions_see_one_moment(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct pair *p = pair__new();
		struct random r = { seed };
		struct dcm_regex *re = NULL;
		struct dcm_matcher m = { .op = DCM_RE, .name = STR("thread_name"), .value = STR(".*[a-z]?") };
		struct asked a = { .what = ASK_MERGE, .n_sel = 1, .step_ms = 10000 };
		struct buf expected = { 0 }, got = { 0 };

		assert_int_equal(regex__new(m.value, 0, &re, NULL), 0);
		m.regex = re;
		for (uint64_t round = 0; round < 12; round++) {
			struct dcm_batch *batch = make_batch(&r, round, 0);
			write_both(p, batch);
			batch__unref(batch);
		}
		a.what = seed & 1 ? ASK_MERGE : ASK_POINTS;
		a.sel[0] = (struct dcm_select){ .size = sizeof(a.sel[0]),
						.type = str__of(storage_random__types[seed % 6]),
						.matchers = &m,
						.n_matchers = 1,
						.to_ms = INT64_MAX };
		a.by_labels[0] = STR("thread_name");
		a.by = (struct dcm_group_by){ a.by_labels, 1 };
		sql__ask(p->sql, &a, &expected);
		upheaval.pair = p;
		upheaval.matches = p->storage.host.regex_matches;
		upheaval.done = false;
		p->storage.host.regex_matches = match_and_upheave;
		assert_int_equal(answers__ask(&p->storage, &a, &got, NULL), 0);
		p->storage.host.regex_matches = upheaval.matches;
		assert_true(upheaval.done);
		compare_texts(&expected, &got, "asked while the store was turned over");
		sql__retain(p->sql, BASE_MS + 290000);
		compare_stat(&p->storage, p->sql);
		for (unsigned i = 0; i < 5; i++)
			ask_both(&p->storage, p->sql, &r);
		buf__fini(&expected);
		buf__fini(&got);
		regex__free(re);
		pair__free(p);
	}
}

static int stop_list(void *ctx, struct dcm_str name, uint64_t n_series)
{
	(void)name;
	(void)n_series;
	return ++*(int *)ctx == 1 ? 42 : 0;
}

static void test_a_callback_can_end_a_list(void **state)
{
	struct pair *p = pair__new();
	struct random r = { 3 };
	struct dcm_batch *batch = make_batch(&r, 0, 0);
	struct dcm_select all = { .size = sizeof(all), .to_ms = INT64_MAX };
	int n = 0;
	(void)state;

	write_one(&p->storage, batch);
	batch__unref(batch);
	assert_int_equal(p->storage.ops->labels(p->storage.instance, &all, stop_list, &n, NULL), 42);
	assert_int_equal(n, 1);
	pair__free(p);
}

static void test_questions_obey_their_budget(void **state)
{
	struct pair *p = pair__new();
	struct random r = { 5 };
	(void)state;

	for (uint64_t round = 0; round < 3; round++) {
		struct dcm_batch *batch = make_batch(&r, round, 0);
		write_one(&p->storage, batch);
		batch__unref(batch);
	}
	struct storage *s = &p->storage;
	for (unsigned what = 0; what < ASK_N; what++) {
		struct dcm_budget budget = { 0 };
		struct asked a = { .what = what, .n_sel = 1, .name = STR("comm") };
		struct dcm_error err = DCM_ERROR_INIT;
		struct buf out = { 0 };

		a.sel[0] = (struct dcm_select){ .size = sizeof(a.sel[0]),
						.type = str__of(storage_random__types[0]),
						.to_ms = INT64_MAX,
						.budget = &budget };
		assert_int_equal(answers__ask(s, &a, &out, &err), 0);
		assert_true(out.n > 0);
		assert_int_equal(budget.done, budget.total);
		assert_true(budget.done > 0);

		budget.cancelled = 1;
		assert_int_equal(answers__ask(s, &a, &out, &err), -ECANCELED);
		assert_true(err.text[0]);
		budget.cancelled = 0;
		budget.deadline_mono_ns = atomic_load(&s->mono_ns) - 1;
		assert_int_equal(answers__ask(s, &a, &out, &err), -ETIMEDOUT);
		budget.deadline_mono_ns = atomic_load(&s->mono_ns) + 1000000000;
		assert_int_equal(answers__ask(s, &a, &out, &err), 0);
		budget.max_bytes = 1;
		assert_int_equal(answers__ask(s, &a, &out, &err), -E2BIG);
		buf__fini(&out);
	}
	pair__free(p);
}

static void count_done(void *ctx, int status)
{
	assert_int_equal(status, 0);
	++*(int *)ctx;
}

static void test_writes_are_acknowledged_once(void **state)
{
	struct pair *p = pair__new();
	struct random r = { 9 };
	struct dcm_batch *batches[3] = { make_batch(&r, 0, 0), make_batch(&r, 1, 0), NULL };
	struct dcm_store_stat one = { .size = sizeof(one) }, two = one;
	int n_done = 0;
	(void)state;

	/* One of them twice in a call. */
	batches[2] = batch__ref(batches[0]);
	assert_int_equal(
		p->storage.ops->write(p->storage.instance, batches, 3, count_done, &n_done, NULL), 0);
	for (unsigned i = 0; i < 200 && n_done == 0; i++)
		usleep(10000);
	assert_int_equal(n_done, 1);
	sql__write(p->sql, batches[0]);
	sql__write(p->sql, batches[1]);
	compare_stat(&p->storage, p->sql);
	/* The store keeps no batch longer than it must: these go, and the answers stay. */
	p->storage.ops->stat(p->storage.instance, &one);
	for (unsigned i = 0; i < 3; i++)
		batch__unref(batches[i]);
	for (unsigned i = 0; i < 30; i++)
		ask_both(&p->storage, p->sql, &r);
	p->storage.ops->stat(p->storage.instance, &two);
	assert_int_equal(one.n_rows, two.n_rows);
	pair__free(p);
}

/*
 * Extreme values, which SQL cannot add up: other stores are held against memory, which must only
 * survive here.
 */
static void test_nasty_batches_are_taken(void **state)
{
	struct pair *p = pair__new();
	struct random r = { 13 };
	struct storage memory = { 0 };
	(void)state;

	assert_true(storage__open(&memory, MEMORY_FILE, MEMORY_YAML));

	for (uint64_t round = 0; round < 12; round++) {
		struct dcm_batch *batch = make_batch(&r, round, RANDOM_NASTY);

		write_one(&p->storage, batch);
		write_one(&memory, batch);
		batch__unref(batch);
		for (unsigned i = 0; i < 20; i++) {
			struct question q;
			struct buf out = { 0 }, expected = { 0 };
			struct dcm_error err = DCM_ERROR_INIT;
			char text[1024];

			question__random(&q, &r);
			question__describe(&q.asked, text, sizeof(text));
			if (answers__ask(&p->storage, &q.asked, &out, &err) < 0 ||
			    answers__ask(&memory, &q.asked, &expected, &err) < 0)
				fail_msg("%s: %s", text, err.text);
			compare_texts(&expected, &out, text);
			buf__fini(&out);
			buf__fini(&expected);
			question__fini(&q);
		}
	}
	check_store(&p->storage);
	storage__close(&memory);
	pair__free(p);
}

/* -------------------------------------------------------------------------------------------------
 * Threads
 */

struct asker {
	struct storage *s;
	uint64_t seed;
	_Atomic int *stop;
	int error;
};

static void *ask_on(void *arg)
{
	struct asker *a = arg;
	struct random r = { a->seed };

	while (!atomic_load(a->stop)) {
		struct question q;
		struct buf out = { 0 };

		question__random(&q, &r);
		int e = answers__ask(a->s, &q.asked, &out, NULL);
		a->error = e < 0 ? e : a->error;
		buf__fini(&out);
		question__fini(&q);
	}
	return NULL;
}

static void test_questions_while_writing(void **state)
{
	struct pair *p = pair__new();
	struct random r = { 17 };
	_Atomic int stop = 0;
	struct asker askers[2] = { { &p->storage, 1, &stop, 0 }, { &p->storage, 2, &stop, 0 } };
	pthread_t threads[2];
	uint64_t n;
	(void)state;

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &askers[i]), 0);
	for (uint64_t round = 0; round < 60; round++) {
		struct dcm_batch *batch = make_batch(&r, round, 0);

		write_one(&p->storage, batch);
		batch__unref(batch);
		if (round % 10 == 9) /* most of it goes, so that a store has to tidy up */
			p->storage.ops->retain(p->storage.instance, BASE_MS + 290000, 0, &n, NULL);
		maintain(p);
	}
	atomic_store(&stop, 1);
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(askers[i].error, 0);
	}
	check_store(&p->storage);
	pair__free(p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_answer_is_that_of_sql),
		cmocka_unit_test(test_removal_leaves_what_sql_leaves),
		cmocka_unit_test(test_retention_by_time_and_by_bytes),
		cmocka_unit_test(test_backup_answers_alike_and_knows_retries),
		cmocka_unit_test(test_means_are_rounded_once),
		cmocka_unit_test(test_equal_hashes_confuse_nothing),
		cmocka_unit_test(test_questions_see_one_moment),
		cmocka_unit_test(test_a_callback_can_end_a_list),
		cmocka_unit_test(test_questions_obey_their_budget),
		cmocka_unit_test(test_writes_are_acknowledged_once),
		cmocka_unit_test(test_nasty_batches_are_taken),
		cmocka_unit_test(test_questions_while_writing),
	};

	plugin_is_named = argc > 1;
	if (plugin_is_named)
		plugin_file = argv[1];
	if (argc > 2)
		plugin_yaml = argv[2];
	if (argc > 3)
		path_option = argv[3];
	return cmocka_run_group_tests_name("storage", tests, NULL, NULL);
}
