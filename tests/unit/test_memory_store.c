/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_memory_store.c - the memory store from inside: bounds, options, damage, and no
 * memory
 *
 * What it answers is tested by tests/contract/test_storage.c.
 *
 * One thread: not run under TSan.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/memory/expire.h"
#include "plugins/storage/memory/store.h"
#include "tests/contract/storage_answers.h"
#include "tests/contract/storage_host.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/series_batch.h"
#include "tests/unit/shell.h"

#define BASE_MS (RANDOM_BASE_NS / 1000000)
#define CPU	"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"

static void open_store(struct storage *s, const char *yaml)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (!storage__open_plugin(s, dcm_plugin_entry(), yaml, &err))
		fail_msg("%s", err.text);
}

static int write_batch(struct storage *s, struct dcm_batch *b)
{
	return s->ops->write(s->instance, &b, 1, NULL, NULL, NULL);
}

static struct dcm_store_stat stat_of(struct storage *s)
{
	struct dcm_store_stat st = { .size = sizeof(st) };

	s->ops->stat(s->instance, &st);
	return st;
}

/* One delta profile at a time, of n rows, each a stack of its own unless `shared`. */
static struct dcm_batch *simple_batch(int64_t time_ms, uint32_t n_rows, bool shared)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_type type = {
		builder__string(b, STR("process_cpu")), builder__string(b, STR("cpu")),
		builder__string(b, STR("nanoseconds")), builder__string(b, STR("cpu")),
		builder__string(b, STR("nanoseconds")), DCM_DELTA
	};
	struct dcm_profile head = { .series = builder__series(b, NULL, 0), .time_ns = time_ms * 1000000 };
	struct dcm_batch *batch = NULL;

	builder__profile(b, &head, &type, 1);
	for (uint32_t i = 0; i < n_rows; i++) {
		struct dcm_location l = { .mapping = DCM_NONE,
					  .process = DCM_NONE,
					  .addr_kind = DCM_ADDR_RUNTIME,
					  .address = shared ? i : (uint64_t)time_ms * 100000 + i };
		uint32_t location = builder__location(b, &l, NULL, 0);
		int64_t value = 1;

		builder__row(b, builder__stack(b, &location, 1), 0, &value);
	}
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	return batch;
}

static void test_the_oldest_go_when_memory_is_full(void **state)
{
	(void)state;
	for (unsigned shared = 0; shared < 2; shared++) {
		struct storage s;
		uint64_t n_written = 0;

		open_store(&s, "{ max_bytes: 2MiB, retention: 0 }");
		for (unsigned i = 0; i < 600; i++) {
			CLEANUP(batch__unrefp)
			struct dcm_batch *b = simple_batch(BASE_MS + i * 1000, 1000, shared);

			assert_int_equal(write_batch(&s, b), 0);
			n_written += 1000;
			struct dcm_store_stat st = stat_of(&s);
			assert_true(st.bytes <= 2 << 20);
			/*
			 * The newest stays, what is there is without a gap, and nothing goes
			 * uncounted.
			 */
			assert_int_equal(st.last_ms, BASE_MS + i * 1000);
			assert_int_equal(st.n_profiles, (uint64_t)(st.last_ms - st.first_ms) / 1000 + 1);
			assert_int_equal(st.n_rows + atomic_load(&s.n_dropped), n_written);
		}
		assert_true(atomic_load(&s.n_dropped) > 0);
		assert_int_equal(s.ops->check(s.instance, NULL, NULL, NULL), 0);
		storage__close(&s);
	}
}

static void test_retention_follows_the_newest_and_the_clock(void **state)
{
	struct storage s;
	(void)state;

	open_store(&s, "{ retention: 10s }");
	for (int64_t t = 0; t < 30000; t += 1000) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = simple_batch(BASE_MS + t, 3, true);
		assert_int_equal(write_batch(&s, b), 0);
	}
	/* The clock is far ahead, and old data stays until newer comes. */
	struct dcm_store_stat st = stat_of(&s);
	assert_int_equal(st.first_ms, BASE_MS + 19000);
	assert_int_equal(st.n_profiles, 11);
	/* A profile from the future does not empty the store. */
	CLEANUP(batch__unrefp)
	struct dcm_batch *future = simple_batch(BASE_MS + 900000000, 3, true);
	atomic_store(&s.real_ns, (BASE_MS + 30000) * 1000000);
	assert_int_equal(write_batch(&s, future), 0);
	st = stat_of(&s);
	assert_int_equal(st.first_ms, BASE_MS + 20000);
	/* Retention is not loss. */
	assert_int_equal(atomic_load(&s.n_dropped), 0);
	/* Time passes without writes. */
	atomic_store(&s.real_ns, (BASE_MS + 35000) * 1000000);
	assert_int_equal(s.ops->maintain(s.instance, 0, NULL), 0);
	st = stat_of(&s);
	assert_int_equal(st.first_ms, BASE_MS + 25000);
	storage__close(&s);
}

static void test_dead_stacks_are_given_back(void **state)
{
	struct storage s;
	uint64_t n, full;
	(void)state;

	open_store(&s, "{ retention: 0 }");
	for (unsigned i = 0; i < 50; i++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = simple_batch(BASE_MS + i * 1000, 1000, false);
		assert_int_equal(write_batch(&s, b), 0);
	}
	full = stat_of(&s).bytes;
	assert_int_equal(stat_of(&s).n_stacks, 50000);
	assert_int_equal(s.ops->retain(s.instance, BASE_MS + 45000, 0, &n, NULL), 0);
	assert_int_equal(n, 45);
	assert_int_equal(stat_of(&s).n_stacks, 5000);
	assert_true(stat_of(&s).bytes < full / 5);
	assert_int_equal(s.ops->check(s.instance, NULL, NULL, NULL), 0);
	storage__close(&s);
}

static void write_and_free(struct storage *s, struct dcm_batch *b)
{
	if (b)
		assert_int_equal(write_batch(s, b), 0);
	batch__unref(b);
}

static void compare_answers(struct storage *a, struct storage *b)
{
	for (unsigned what = 0; what < ASK_N; what++) {
		struct asked ask = { .what = what,
				     .n_sel = 1,
				     .name = STR("pod"),
				     .step_ms = 100,
				     .by_labels = { STR("pod") } };
		struct buf expected = { 0 }, got = { 0 }, out = { 0 };

		ask.by = (struct dcm_group_by){ ask.by_labels, 1 };
		ask.sel[0] = (struct dcm_select){ .size = sizeof(ask.sel[0]),
						  .type = STR(SERIES_BATCH_DELTA),
						  .from_ms = BASE_MS,
						  .to_ms = BASE_MS + 1000 };
		assert_int_equal(answers__ask(a, &ask, &expected, NULL), 0);
		assert_int_equal(answers__ask(b, &ask, &got, NULL), 0);
		assert_true(expected.n > 0);
		if (answers__differ(&expected, &got, &out))
			fail_msg("%.*s", (int)out.n, (const char *)out.data);
		buf__fini(&expected);
		buf__fini(&got);
		buf__fini(&out);
	}
}

/* The store answers as one does that was told the overflow itself. */
static void test_series_beyond_the_bound_are_one(void **state)
{
	struct series_room room = { .max = 8 };
	struct random r = { 1 };
	struct storage bounded, plain;
	(void)state;

	open_store(&bounded, "{ retention: 0, max_series: 8 }");
	open_store(&plain, "{ retention: 0 }");
	/* The overflow of another store comes as it is, and takes no room. */
	write_and_free(&bounded, series_batch__new(BASE_MS + 999, DCM_NONE, false));
	write_and_free(&plain, series_batch__new(BASE_MS + 999, DCM_NONE, false));
	for (uint32_t i = 0; i < 300; i++) {
		const uint32_t n = (uint32_t)random__below(&r, SERIES_BATCH_MAX);
		const bool is_gauge = random__below(&r, 4) == 0;

		write_and_free(&bounded, series_batch__new(BASE_MS + i, n, is_gauge));
		write_and_free(&plain, series_batch__expect(&room, BASE_MS + i, n, is_gauge));
	}
	compare_answers(&plain, &bounded);
	const struct dcm_store_stat st = stat_of(&bounded);
	assert_int_equal(st.n_series, 9);
	assert_int_equal(st.n_rows_folded, room.n_folded);
	assert_int_equal(st.n_rows_refused, room.n_refused);
	assert_int_equal(atomic_load(&bounded.n_dropped), room.n_folded + room.n_refused);
	assert_int_equal(stat_of(&plain).n_rows_folded, 0);
	/* No text of theirs is kept. */
	assert_true(st.bytes <= stat_of(&plain).bytes);
	storage__close(&plain);
	storage__close(&bounded);
}

struct config { /* as in memory.c */
	int64_t max_bytes, retention_ns;
	const char *path;
	bool read_only;
	int64_t max_series;
};

static void test_options_change_while_it_runs(void **state)
{
	struct storage s;
	struct config c = { .max_bytes = 1 << 20, .retention_ns = 5000000000 };
	const struct dcm_lifecycle *life = dcm_plugin_entry()->lifecycle;
	struct dcm_error err = DCM_ERROR_INIT;
	void *change = NULL;
	(void)state;

	open_store(&s, "{ retention: 0 }");
	for (int64_t t = 0; t < 30000; t += 1000) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = simple_batch(BASE_MS + t, 3, true);
		assert_int_equal(write_batch(&s, b), 0);
	}
	assert_int_equal(life->prepare(s.instance, &c, &change, &err), 0);
	life->abort(s.instance, change);
	assert_int_equal(stat_of(&s).n_profiles, 30);
	assert_int_equal(life->prepare(s.instance, &c, &change, &err), 0);
	life->commit(s.instance, change);
	assert_int_equal(stat_of(&s).n_profiles, 6);
	c.path = "/somewhere";
	assert_int_equal(life->prepare(s.instance, &c, &change, &err), -EBUSY);
	assert_non_null(strstr(err.text, "path"));
	c.path = NULL;
	c.read_only = true;
	assert_int_equal(life->prepare(s.instance, &c, &change, &err), -EBUSY);
	assert_non_null(strstr(err.text, "read_only"));
	storage__close(&s);
}

static void note_sentence(void *ctx, enum dcm_log_level level, const char *sentence)
{
	(void)level;
	snprintf(ctx, sizeof(((struct dcm_error *)0)->text), "%s", sentence);
}

/* Before it runs, and when it is to. */
static void test_nothing_is_not_read(void **state)
{
	struct config c = { .max_bytes = 1 << 20, .read_only = true };
	const struct dcm_lifecycle *life = dcm_plugin_entry()->lifecycle;
	struct dcm_error err = DCM_ERROR_INIT, told = DCM_ERROR_INIT;
	struct storage s;
	(void)state;

	assert_false(storage__open_plugin(&s, dcm_plugin_entry(), "{ read_only: true }", &err));
	assert_string_equal(err.text, "read_only: needs path; name the backup to read");
	life->preflight(NULL, &c, note_sentence, told.text);
	assert_string_equal(told.text, err.text);
	told.text[0] = '\0';
	c.read_only = false;
	life->preflight(NULL, &c, note_sentence, told.text);
	assert_string_equal(told.text, "");
}

static void test_wrong_questions_are_refused(void **state)
{
	struct storage s;
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_str twice[] = { STR("a"), STR("b"), STR("a") };
	struct dcm_group_by by = { twice, 3 };
	struct dcm_matcher m = { .op = DCM_RE, .name = STR("a"), .value = STR("b") };
	struct dcm_select no_type = { .size = sizeof(no_type), .to_ms = 1 }, no_regex = no_type,
			  fine = no_type;
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	uint64_t n;
	(void)state;

	open_store(&s, "");
	fine.type = no_regex.type = STR(CPU);
	no_regex.matchers = &m;
	no_regex.n_matchers = 1;
	assert_int_equal(s.ops->merge(s.instance, &no_type, 1, NULL, &s.host, b, &err), -EINVAL);
	assert_int_equal(s.ops->merge(s.instance, &no_regex, 1, NULL, &s.host, b, &err), -EINVAL);
	assert_int_equal(s.ops->merge(s.instance, &fine, 1, &by, &s.host, b, &err), -EINVAL);
	assert_int_equal(s.ops->merge(s.instance, &fine, 0, NULL, &s.host, b, &err), -EINVAL);
	assert_int_equal(s.ops->merge(s.instance, &fine, 17, NULL, &s.host, b, &err), -EINVAL);
	assert_int_equal(s.ops->time_series(s.instance, &fine, -1, NULL, NULL, NULL, &err), -EINVAL);
	assert_int_equal(s.ops->remove(s.instance, &no_regex, &n, &err), -EINVAL);
	assert_int_equal(s.ops->merge(s.instance, &fine, 1, NULL, &s.host, b, &err), 0);
	storage__close(&s);
}

/* -------------------------------------------------------------------------------------------------
 * Damaged directories
 */

static char *make_dir(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = malloc(256);

	snprintf(dir, 256, "%s/decima-memory-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(dir));
	return dir;
}

static void remove_dir(char *dir)
{
	assert_int_equal(shell("rm -rf '%s'", dir), 0);
	free(dir);
}

/* Opens a store on dir/backup; the error's text, "" when it could be opened. */
static const char *try_open(const char *dir)
{
	static struct dcm_error err;
	char yaml[400];
	struct storage s;

	err = (struct dcm_error)DCM_ERROR_INIT;
	snprintf(yaml, sizeof(yaml), "{ path: %s/backup }", dir);
	if (!storage__open_plugin(&s, dcm_plugin_entry(), yaml, &err))
		return err.text;
	storage__close(&s);
	return "";
}

static void spoil(const char *dir, const char *name, off_t at, const char *with, bool cut)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/backup/%s", dir, name);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	if (cut)
		assert_int_equal(ftruncate(fd, at), 0);
	else
		assert_int_equal(pwrite(fd, with, strlen(with), at), (ssize_t)strlen(with));
	close(fd);
}

static void test_damaged_directories_are_refused(void **state)
{
	static const struct {
		const char *file;
		off_t at;
		const char *with;
		bool cut;
		const char *says;
	} cases[] = {
		{ "manifest", 0, "x", false, "is not the manifest" },
		{ "manifest", 30, "z", false, "is cut off or changed" },
		{ "manifest", 60, NULL, true, "is cut off or changed" },
		{ "manifest", 3, NULL, true, "is not the manifest" },
		{ "000000.batch", 100, "zzzz", false, "000000.batch: is not what was written" },
		{ "000000.batch", 10, NULL, true, "000000.batch: is not what was written" },
	};
	char *dir = make_dir();
	char path[300];
	struct storage s;
	struct random r = { 1 };
	(void)state;

	assert_non_null(strstr(try_open(dir), "No such file"));
	snprintf(path, sizeof(path), "%s/backup", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_non_null(strstr(try_open(dir), "has no manifest"));
	assert_int_equal(shell("mkfifo '%s/manifest'", path), 0);
	alarm(20);
	assert_non_null(strstr(try_open(dir), "cannot be read: "));
	alarm(0);
	assert_int_equal(shell("rm -r '%s'", path), 0);

	open_store(&s, "{ retention: 0 }");
	for (unsigned i = 0; i < 3; i++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(random__next(&r), 0);
		assert_int_equal(write_batch(&s, b), 0);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(shell("rm -rf '%s/backup'", dir), 0);
		assert_int_equal(s.ops->backup(s.instance, path, NULL), 0);
		assert_string_equal(try_open(dir), "");
		spoil(dir, cases[i].file, cases[i].at, cases[i].with, cases[i].cut);
		if (!strstr(try_open(dir), cases[i].says))
			fail_msg("case %zu says: %s", i, try_open(dir));
	}
	storage__close(&s);
	remove_dir(dir);
}

/* A backup is read whole, however old it is, and stays what it was; a store that keeps less says so. */
static void test_what_is_only_read_does_not_expire(void **state)
{
	char *dir = make_dir();
	char path[300], yaml[400];
	struct storage s, back;
	(void)state;

	open_store(&s, "{ retention: 0 }");
	for (int64_t hour = 0; hour < 72; hour++) {
		CLEANUP(batch__unrefp)
		struct dcm_batch *b = simple_batch(BASE_MS + hour * 3600000, 3, true);
		assert_int_equal(write_batch(&s, b), 0);
	}
	snprintf(path, sizeof(path), "%s/backup", dir);
	assert_int_equal(s.ops->backup(s.instance, path, NULL), 0);

	snprintf(yaml, sizeof(yaml),
		 "{ path: %s, read_only: true, max_bytes: 1MiB, retention: 1h }", path);
	open_store(&back, yaml);
	assert_int_equal(stat_of(&back).n_profiles, 72);
	atomic_store(&back.real_ns, (BASE_MS + INT64_C(720) * 3600000) * 1000000);
	assert_int_equal(back.ops->maintain(back.instance, 0, NULL), 0);
	assert_int_equal(stat_of(&back).n_profiles, 72);
	CLEANUP(batch__unrefp) struct dcm_batch *b = simple_batch(BASE_MS, 3, true);
	uint64_t n = 0;
	assert_int_equal(write_batch(&back, b), -EROFS);
	assert_int_equal(back.ops->retain(back.instance, INT64_MAX, 0, &n, NULL), -EROFS);
	const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	assert_int_equal(back.ops->remove(back.instance, &all, &n, NULL), -EROFS);
	/* What is copied of it is all of it too. */
	snprintf(path, sizeof(path), "%s/copy", dir);
	assert_int_equal(back.ops->backup(back.instance, path, NULL), 0);
	storage__close(&back);
	snprintf(yaml, sizeof(yaml), "{ path: %s, retention: 0 }", path);
	open_store(&back, yaml);
	assert_int_equal(stat_of(&back).n_profiles, 72);
	storage__close(&back);

	snprintf(yaml, sizeof(yaml), "{ path: %s }", path);
	open_store(&back, yaml);
	assert_int_equal(stat_of(&back).n_profiles, 2);
	storage__close(&back);
	storage__close(&s);
	remove_dir(dir);
}

/* A directory that cannot be written leaves nothing behind. */
static void test_failed_backups_leave_nothing(void **state)
{
	char *dir = make_dir();
	char path[300];
	struct storage s;
	struct dcm_error err = DCM_ERROR_INIT;
	(void)state;

	open_store(&s, "");
	snprintf(path, sizeof(path), "%s/none/backup", dir);
	assert_int_equal(s.ops->backup(s.instance, path, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	storage__close(&s);
	remove_dir(dir);
}

/* -------------------------------------------------------------------------------------------------
 * No memory
 */

static void test_writing_without_memory(void **state)
{
	struct storage s;
	struct random r = { 3 };
	uint64_t n_failed = 0;
	(void)state;

	open_store(&s, "{ max_bytes: 1MiB, retention: 0 }");
	for (uint64_t i = 1; i <= 300; i++) {
		/* A new batch each time, so that there is always something to be added. */
		CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(random__next(&r), 0);
		struct dcm_store_stat before = stat_of(&s);
		failmalloc__arm(1 + i % 150);
		int e = write_batch(&s, b);
		failmalloc__disarm();
		if (e < 0) {
			struct dcm_store_stat after = stat_of(&s);

			assert_int_equal(e, -EAGAIN);
			assert_int_equal(before.n_rows, after.n_rows);
			assert_int_equal(before.n_profiles, after.n_profiles);
			n_failed++;
		}
		assert_int_equal(s.ops->check(s.instance, NULL, NULL, NULL), 0);
	}
	assert_true(n_failed > 20);
	storage__close(&s);
}

static void test_asking_without_memory(void **state)
{
	struct storage s;
	struct random r = { 4 };
	(void)state;

	open_store(&s, "{ retention: 0 }");
	for (unsigned i = 0; i < 3; i++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(random__next(&r), 0);
		assert_int_equal(write_batch(&s, b), 0);
	}
	for (unsigned what = 0; what < ASK_N; what++) {
		struct asked a = { .what = what,
				   .n_sel = 2,
				   .name = STR("comm"),
				   .step_ms = 10000,
				   .by_labels = { STR("node"), STR("cpu") } };

		a.by = (struct dcm_group_by){ a.by_labels, 2 };
		for (unsigned k = 0; k < 2; k++)
			a.sel[k] = (struct dcm_select){ .size = sizeof(a.sel[k]),
							.type = STR(CPU),
							.to_ms = INT64_MAX };
		FAILMALLOC_SWEEP (i) {
			struct buf out = { 0 };
			int e = answers__ask(&s, &a, &out, NULL);

			failmalloc__disarm();
			/*
			 * The text itself may have found no memory; and sealing can do without
			 * some.
			 */
			assert_true(e == 0 || (e == -ENOMEM && failmalloc__failed()));
			buf__fini(&out);
		}
	}
	storage__close(&s);
}

static void test_removing_and_saving_without_memory(void **state)
{
	char *dir = make_dir();
	struct dcm_select sel = { .size = sizeof(sel), .to_ms = INT64_MAX };
	struct dcm_matcher m = { .op = DCM_EQ, .name = STR("cpu"), .value = STR("1") };
	struct random r = { 5 };
	struct storage s;
	char path[300];
	uint64_t n;
	(void)state;

	sel.matchers = &m;
	sel.n_matchers = 1;
	snprintf(path, sizeof(path), "%s/backup", dir);
	open_store(&s, "{ retention: 0 }");
	for (uint64_t i = 1; i <= 120; i++) {
		CLEANUP(batch__unrefp) struct dcm_batch *b = random_batch__new(random__next(&r), 0);
		assert_int_equal(write_batch(&s, b), 0);
		uint64_t rows = stat_of(&s).n_rows;
		failmalloc__arm(i);
		int e = s.ops->remove(s.instance, &sel, &n, NULL);
		failmalloc__disarm();
		assert_true(e == 0 || e == -ENOMEM);
		if (e < 0)
			assert_int_equal(stat_of(&s).n_rows, rows);
		assert_int_equal(s.ops->check(s.instance, NULL, NULL, NULL), 0);

		failmalloc__arm(i);
		e = s.ops->backup(s.instance, path, NULL);
		failmalloc__disarm();
		assert_true(e == 0 || e == -ENOMEM);
		assert_int_equal(access(path, F_OK), e == 0 ? 0 : -1);
		assert_int_equal(shell("rm -rf '%s'", path), 0);
	}
	storage__close(&s);
	remove_dir(dir);
}

/* Rebuilding the dictionary is an improvement: without memory it waits for better times. */
static void test_tidying_without_memory(void **state)
{
	(void)state;
	for (uint64_t i = 1; i < 60; i++) {
		struct storage s;
		uint64_t n;

		open_store(&s, "{ retention: 0 }");
		for (unsigned k = 0; k < 8; k++) {
			CLEANUP(batch__unrefp)
			struct dcm_batch *b = simple_batch(BASE_MS + k * 1000, 20, false);
			assert_int_equal(write_batch(&s, b), 0);
		}
		failmalloc__arm(i);
		assert_int_equal(s.ops->retain(s.instance, BASE_MS + 7000, 0, &n, NULL), 0);
		failmalloc__disarm();
		assert_int_equal(n, 7);
		assert_int_equal(stat_of(&s).n_rows, 20);
		assert_int_equal(s.ops->check(s.instance, NULL, NULL, NULL), 0);
		storage__close(&s);
	}
}

static void test_opening_without_memory(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct storage s;
		struct dcm_error err = DCM_ERROR_INIT;

		if (storage__open_plugin(&s, dcm_plugin_entry(), "", &err))
			storage__close(&s);
		else
			assert_true(err.text[0]);
		failmalloc__disarm();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_oldest_go_when_memory_is_full),
		cmocka_unit_test(test_retention_follows_the_newest_and_the_clock),
		cmocka_unit_test(test_dead_stacks_are_given_back),
		cmocka_unit_test(test_series_beyond_the_bound_are_one),
		cmocka_unit_test(test_options_change_while_it_runs),
		cmocka_unit_test(test_nothing_is_not_read),
		cmocka_unit_test(test_wrong_questions_are_refused),
		cmocka_unit_test(test_damaged_directories_are_refused),
		cmocka_unit_test(test_what_is_only_read_does_not_expire),
		cmocka_unit_test(test_failed_backups_leave_nothing),
		cmocka_unit_test(test_writing_without_memory),
		cmocka_unit_test(test_asking_without_memory),
		cmocka_unit_test(test_removing_and_saving_without_memory),
		cmocka_unit_test(test_tidying_without_memory),
		cmocka_unit_test(test_opening_without_memory),
	};

	return cmocka_run_group_tests_name("memory_store", tests, NULL, NULL);
}
