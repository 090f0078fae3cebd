/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_unwind_cache.c - unwind tables on disk: round trip, damage, age, failures
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "plugins/input/ebpf/unwind/cache.h"
#include "plugins/input/ebpf/unwind/cache_file.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"
#include "tests/unit/shell.h"

#define LARGE (1u << 30)

static char *folder;

static int make_folder(void **state)
{
	(void)state;
	folder = strdup("/tmp/decima-unwind-cache-XXXXXX");
	return folder && mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	int rc;

	(void)state;
	rc = shell("rm -r '%s'", folder);
	free(folder);
	return rc;
}

static struct unwind_rows *some_rows(void)
{
	CLEANUP(fd__closep)
	int fd = open(TEST_SRCDIR "/fuzz/corpus/unwind/elf_so", O_RDONLY | O_CLOEXEC);
	struct unwind_rows *r = NULL;

	assert_int_equal(unwind__compile_fd(fd, NULL, &r, NULL), 0);
	return r;
}

static void assert_same(const struct unwind_rows *a, const struct unwind_rows *b)
{
	assert_int_equal(a->base, b->base);
	assert_int_equal(a->machine, b->machine);
	assert_int_equal(a->is_go, b->is_go);
	assert_int_equal(a->n_fdes, b->n_fdes);
	assert_int_equal(a->covered_bytes, b->covered_bytes);
	assert_int_equal(a->code_bytes, b->code_bytes);
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->n_rules, b->n_rules);
	assert_int_equal(a->n_segments, b->n_segments);
	assert_memory_equal(a->gaps, b->gaps, sizeof(a->gaps));
	assert_memory_equal(a->at, b->at, a->n * sizeof(*a->at));
	assert_memory_equal(a->rule, b->rule, a->n * sizeof(*a->rule));
	assert_memory_equal(a->rules, b->rules, a->n_rules * sizeof(*a->rules));
	assert_memory_equal(a->segments, b->segments, a->n_segments * sizeof(*a->segments));
}

static bool is_there(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static void put(const char *name, const void *p, size_t n)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(fd__replace(path, 0600, p, n, NULL), 0);
}

static void test_round_trip(void **state)
{
	struct unwind_rows *r = some_rows(), *back = NULL;
	struct unwind_cache c;

	(void)state;
	assert_int_equal(unwind_cache__open(&c, folder, LARGE, NULL), 0);
	assert_int_equal(unwind_cache__load(&c, "abcd", &back), -ENOENT);
	assert_int_equal(unwind_cache__store(&c, "abcd", r), 0);
	assert_int_equal(unwind_cache__load(&c, "abcd", &back), 0);
	assert_same(r, back);
	unwind_rows__free(back);
	assert_int_equal(c.stat.n_hits, 1);
	assert_int_equal(c.stat.n_misses, 1);
	unwind_cache__close(&c);
	/* another run finds it, and knows how much there is */
	assert_int_equal(unwind_cache__open(&c, folder, LARGE, NULL), 0);
	assert_true(c.stat.bytes > 8 * r->n_rules);
	assert_int_equal(unwind_cache__load(&c, "abcd", &back), 0);
	unwind_rows__free(back);
	unwind_rows__free(r);
	unwind_cache__close(&c);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "",	   "a", "../../etc/passwd", "ABCD", "ab/cd",
					   "abcg", "~", "~/../ab",	    "ab~cd" };
	struct unwind_rows *r = some_rows(), *back = NULL;
	struct unwind_cache c;
	char longest[CACHE_BUILD_ID + 2];

	(void)state;
	assert_int_equal(unwind_cache__open(&c, folder, LARGE, NULL), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(unwind_cache__store(&c, bad[i], r), -EINVAL);
		assert_int_equal(unwind_cache__load(&c, bad[i], &back), -ENOENT);
	}
	memset(longest, 'a', sizeof(longest));
	longest[CACHE_BUILD_ID + 1] = 0;
	assert_int_equal(unwind_cache__store(&c, longest, r), -EINVAL);
	longest[CACHE_BUILD_ID] = 0;
	assert_int_equal(unwind_cache__store(&c, longest, r), 0);
	assert_int_equal(unwind_cache__load(&c, longest, &back), 0);
	unwind_rows__free(back);
	/* what stands for the build id of a file without */
	assert_int_equal(unwind_cache__store(&c, "~0123456789abcdef", r), 0);
	assert_int_equal(unwind_cache__load(&c, "~0123456789abcdef", &back), 0);
	unwind_rows__free(back);
	assert_int_equal(unwind_cache__load(&c, "0123456789abcdef", &back), -ENOENT);
	unwind_rows__free(r);
	unwind_cache__close(&c);
}

/* Each bit of a file turned, each length of it: never a table, and the file goes away. */
static void test_damage(void **state)
{
	struct unwind_rows *r = some_rows(), *back = NULL;
	struct buf b = { 0 };
	struct unwind_cache c;

	(void)state;
	cache_file__encode(r, &b);
	assert_int_equal(b.error, 0);
	for (size_t i = 0; i < b.n; i++) {
		b.data[i] ^= 1u << i % 8;
		assert_int_equal(cache_file__decode(b.data, b.n, &back), -EBADMSG);
		b.data[i] ^= 1u << i % 8;
		assert_int_equal(cache_file__decode(b.data, i, &back), -EBADMSG);
	}
	assert_int_equal(unwind_cache__open(&c, folder, LARGE, NULL), 0);
	put("0bad.unwind", b.data, b.n - 1);
	assert_int_equal(unwind_cache__load(&c, "0bad", &back), -ENOENT);
	assert_int_equal(c.stat.n_damaged, 1);
	assert_false(is_there("0bad.unwind"));
	unwind_cache__close(&c);
	buf__fini(&b);
	unwind_rows__free(r);
}

/* The checksum right, the content a lie: what a table promises is checked all the same. */
static void test_lies(void **state)
{
	/* where `n`, the last row's rule and the second row's address stand */
	struct unwind_rows *r = some_rows(), *back = NULL;

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct buf b = { 0 };
		uint16_t rule = r->rule[r->n - 1];
		uint32_t at = r->at[1];
		uint64_t hash;

		if (i == 1)
			r->rule[r->n - 1] = 1;
		if (i == 2)
			r->at[1] = r->at[0];
		if (i == 3)
			r->rule[1] = (uint16_t)r->n_rules;
		cache_file__encode(r, &b);
		if (i == 4)
			b.data[44] ^= 1;
		hash = hash__bytes(b.data, b.n - 8, 0);
		memcpy(b.data + b.n - 8, &hash, 8);
		assert_int_equal(cache_file__decode(b.data, b.n, &back), i ? -EBADMSG : 0);
		if (!i)
			unwind_rows__free(back);
		r->rule[r->n - 1] = rule;
		r->at[1] = at;
		r->rule[1] = i == 3 ? 0 : r->rule[1];
		buf__fini(&b);
	}
	unwind_rows__free(r);
}

/* Whole, but of another form or another compiler: made anew, and no damage. */
static void test_versions(void **state)
{
	struct unwind_rows *r = some_rows(), *back = NULL;
	struct unwind_cache c;

	(void)state;
	assert_int_equal(unwind_cache__open(&c, folder, LARGE, NULL), 0);
	for (size_t at = 8; at < 16; at += 4) {
		struct buf b = { 0 };
		uint64_t hash;

		cache_file__encode(r, &b);
		b.data[at]++;
		hash = hash__bytes(b.data, b.n - 8, 0);
		memcpy(b.data + b.n - 8, &hash, 8);
		assert_int_equal(cache_file__decode(b.data, b.n, &back), -ESTALE);
		put("01d0.unwind", b.data, b.n);
		assert_int_equal(unwind_cache__load(&c, "01d0", &back), -ENOENT);
		assert_false(is_there("01d0.unwind"));
		buf__fini(&b);
	}
	assert_int_equal(c.stat.n_outdated, 2);
	assert_int_equal(c.stat.n_damaged, 0);
	assert_int_equal(c.stat.n_failures, 0);
	unwind_cache__close(&c);
	unwind_rows__free(r);
}

/* What else may lie there under the name of a table. */
static void test_no_regular_files(void **state)
{
	struct unwind_rows *r = some_rows(), *back = NULL;
	struct unwind_cache c;

	(void)state;
	put("11.unwind", "", 0);
	assert_int_equal(unwind_cache__open(&c, folder, LARGE, NULL), 0);
	assert_int_equal(mkfifoat(c.dir, "22.unwind", 0600), 0);
	assert_int_equal(mkdirat(c.dir, "33.unwind", 0700), 0);
	assert_int_equal(symlinkat("/etc/passwd", c.dir, "44.unwind"), 0);
	assert_int_equal(unwind_cache__load(&c, "11", &back), -ENOENT);
	assert_int_equal(unwind_cache__load(&c, "22", &back), -ENOENT);
	assert_int_equal(c.stat.n_damaged, 2);
	assert_true(unwind_cache__load(&c, "33", &back) < 0);
	assert_int_equal(unwind_cache__load(&c, "44", &back), -ELOOP);
	/* a link is replaced, not followed; what cannot be is a failure */
	assert_int_equal(unwind_cache__store(&c, "44", r), 0);
	assert_int_equal(unwind_cache__load(&c, "44", &back), 0);
	unwind_rows__free(back);
	assert_int_equal(c.stat.n_failures, 2);
	assert_int_equal(unwind_cache__store(&c, "33", r), -EISDIR);
	assert_int_equal(c.stat.n_failures, 3);
	assert_int_equal(c.stat.last_failure, -EISDIR);
	assert_int_equal(c.stat.n_misses, 4);
	unwind_cache__close(&c);
	unwind_rows__free(r);
}

/*
 * Room for sixteen: a seventeenth has those go that were used longest ago, and an eighth of the
 * rest.
 */
static void test_the_oldest_goes(void **state)
{
	enum { N = 16 };
	struct unwind_rows *r = some_rows(), *back = NULL;
	struct unwind_cache c;
	struct buf b = { 0 };
	char name[32];

	(void)state;
	cache_file__encode(r, &b);
	assert_int_equal(unwind_cache__open(&c, folder, N * b.n, NULL), 0);
	for (int i = 0; i < N; i++) {
		const struct timespec used[2] = { { 1000 + i, 0 }, { 1000 + i, 0 } };

		snprintf(name, sizeof(name), "%02d", i);
		assert_int_equal(unwind_cache__store(&c, name, r), 0);
		snprintf(name, sizeof(name), "%02d.unwind", i);
		assert_int_equal(utimensat(c.dir, name, used, 0), 0);
	}
	assert_int_equal(c.stat.bytes, N * b.n);
	/* the same again is no more */
	assert_int_equal(unwind_cache__store(&c, "15", r), 0);
	assert_int_equal(c.stat.bytes, N * b.n);
	assert_int_equal(c.stat.n_evicted, 0);
	/* reading makes the oldest young */
	assert_int_equal(unwind_cache__load(&c, "00", &back), 0);
	unwind_rows__free(back);
	assert_int_equal(unwind_cache__store(&c, "16", r), 0);
	assert_int_equal(c.stat.n_evicted, 3);
	assert_false(is_there("01.unwind") || is_there("02.unwind") || is_there("03.unwind"));
	assert_true(is_there("00.unwind") && is_there("04.unwind") && is_there("16.unwind"));
	assert_int_equal(c.stat.bytes, (N - 2) * b.n);
	unwind_cache__close(&c);
	assert_int_equal(unwind_cache__open(&c, folder, b.n - 1, NULL), 0);
	assert_int_equal(unwind_cache__store(&c, "05", r), -EFBIG);
	assert_int_equal(c.stat.n_failures, 0);
	unwind_cache__close(&c);
	buf__fini(&b);
	unwind_rows__free(r);
}

/* Two daemons: each finds what the other kept, and together they keep to the limit. */
static void test_two_share_a_folder(void **state)
{
	enum { N = 32 };
	struct unwind_rows *r = some_rows(), *back = NULL;
	const struct timespec tick = { .tv_nsec = 10000000 };
	struct unwind_cache c[2];
	struct buf b = { 0 };
	char name[32];
	int n_there = 0;

	(void)state;
	cache_file__encode(r, &b);
	assert_int_equal(unwind_cache__open(&c[0], folder, N * b.n, NULL), 0);
	assert_int_equal(unwind_cache__open(&c[1], folder, N * b.n, NULL), 0);
	for (int i = 0; i < 3 * N; i++) {
		snprintf(name, sizeof(name), "%02x", i);
		assert_int_equal(unwind_cache__store(&c[i % 2], name, r), 0);
		assert_int_equal(unwind_cache__load(&c[!(i % 2)], name, &back), 0);
		assert_same(r, back);
		unwind_rows__free(back);
		/* longer than the clock of files takes to move on */
		nanosleep(&tick, NULL);
	}
	for (int i = 0; i < 3 * N; i++) {
		snprintf(name, sizeof(name), "%02x.unwind", i);
		n_there += is_there(name);
	}
	assert_in_range(n_there, N / 2, N);
	assert_true(c[0].stat.bytes <= N * b.n && c[1].stat.bytes <= N * b.n);
	unwind_cache__close(&c[0]);
	unwind_cache__close(&c[1]);
	buf__fini(&b);
	unwind_rows__free(r);
}

static void test_folders(void **state)
{
	struct unwind_cache c;
	struct dcm_error err = DCM_ERROR_INIT;
	int fd;

	(void)state;
	assert_int_equal(unwind_cache__open(&c, "/nowhere/at/all", LARGE, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/at/all"));
	assert_int_equal(chmod(folder, 0777), 0);
	assert_int_equal(unwind_cache__open(&c, folder, LARGE, &err), -EPERM);
	assert_non_null(strstr(err.text, "0700"));
	assert_int_equal(chmod(folder, 0700), 0);
	/* what was not finished goes; what is not ours stays */
	put("ab.unwind.77.unwind.new", "x", 1);
	put("README", "x", 1);
	assert_int_equal(unwind_cache__open(&c, folder, LARGE, &err), 0);
	assert_false(is_there("ab.unwind.77.unwind.new"));
	assert_true(is_there("README"));
	/* but not what somebody else is writing */
	put("ab.unwind.78.unwind.new", "x", 1);
	fd = openat(c.dir, "ab.unwind.78.unwind.new", O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	unwind_cache__close(&c);
	assert_int_equal(unwind_cache__open(&c, folder, LARGE, &err), 0);
	assert_true(is_there("ab.unwind.78.unwind.new"));
	close(fd);
	assert_int_equal(c.stat.bytes, 0);
	unwind_cache__close(&c);
}

static void test_failing_allocations(void **state)
{
	struct unwind_rows *r = some_rows();

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct unwind_rows *back = NULL;
		struct unwind_cache c;
		int rc = unwind_cache__open(&c, folder, LARGE, NULL);

		if (!rc) {
			rc = unwind_cache__store(&c, "abcd", r);
			if (!rc)
				rc = unwind_cache__load(&c, "abcd", &back);
			unwind_cache__close(&c);
		}
		failmalloc__disarm();
		if (rc)
			assert_int_equal(rc, -ENOMEM);
		unwind_rows__free(back);
	}
	unwind_rows__free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_names, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_damage, make_folder, remove_folder),
		cmocka_unit_test(test_lies),
		cmocka_unit_test_setup_teardown(test_versions, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_no_regular_files, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_two_share_a_folder, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_the_oldest_goes, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_folders, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_failing_allocations, make_folder, remove_folder),
	};

	return cmocka_run_group_tests_name("unwind_cache", tests, NULL, NULL);
}
