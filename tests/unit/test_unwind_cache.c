/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_unwind_cache.c - unwind tables on disk: round trip, damage, age, failures
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/hash.h"
#include "plugins/input/ebpf/unwind/cache.h"
#include "plugins/input/ebpf/unwind/cache_file.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/paths.h"

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
	char command[64];
	int rc;

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	rc = system(command);
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
	assert_int_equal(c.n_hits, 1);
	assert_int_equal(c.n_misses, 1);
	unwind_cache__close(&c);
	/* another run finds it, and knows how much there is */
	assert_int_equal(unwind_cache__open(&c, folder, LARGE, NULL), 0);
	assert_true(c.bytes > 8 * r->n_rules);
	assert_int_equal(unwind_cache__load(&c, "abcd", &back), 0);
	unwind_rows__free(back);
	unwind_rows__free(r);
	unwind_cache__close(&c);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "", "a", "../../etc/passwd", "ABCD", "ab/cd", "abcg" };
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
	assert_int_equal(c.n_damaged, 1);
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
			b.data[40] ^= 1;
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

/* Three fit; the one that was used longest ago makes room for the fourth. */
static void test_the_oldest_goes(void **state)
{
	struct unwind_rows *r = some_rows(), *back = NULL;
	const struct timespec old[2] = { { 1000, 0 }, { 1000, 0 } },
			      older[2] = { { 500, 0 }, { 500, 0 } };
	struct unwind_cache c;
	struct buf b = { 0 };

	(void)state;
	cache_file__encode(r, &b);
	assert_int_equal(unwind_cache__open(&c, folder, 3 * b.n + 10, NULL), 0);
	assert_int_equal(unwind_cache__store(&c, "01", r), 0);
	assert_int_equal(unwind_cache__store(&c, "02", r), 0);
	assert_int_equal(unwind_cache__store(&c, "03", r), 0);
	assert_int_equal(utimensat(c.dir, "01.unwind", old, 0), 0);
	assert_int_equal(utimensat(c.dir, "02.unwind", old, 0), 0);
	assert_int_equal(utimensat(c.dir, "03.unwind", older, 0), 0);
	/* reading makes it young again */
	assert_int_equal(unwind_cache__load(&c, "03", &back), 0);
	unwind_rows__free(back);
	assert_int_equal(utimensat(c.dir, "02.unwind", older, 0), 0);
	assert_int_equal(unwind_cache__store(&c, "04", r), 0);
	assert_int_equal(c.n_evicted, 1);
	assert_false(is_there("02.unwind"));
	assert_true(is_there("01.unwind") && is_there("03.unwind") && is_there("04.unwind"));
	assert_int_equal(c.bytes, 3 * b.n);
	/* the same again is no more */
	assert_int_equal(unwind_cache__store(&c, "04", r), 0);
	assert_int_equal(c.bytes, 3 * b.n);
	assert_int_equal(c.n_evicted, 1);
	unwind_cache__close(&c);
	assert_int_equal(unwind_cache__open(&c, folder, b.n - 1, NULL), 0);
	assert_int_equal(unwind_cache__store(&c, "05", r), -EFBIG);
	unwind_cache__close(&c);
	buf__fini(&b);
	unwind_rows__free(r);
}

static void test_folders(void **state)
{
	struct unwind_cache c;
	struct dcm_error err = DCM_ERROR_INIT;

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
	assert_int_equal(c.bytes, 0);
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
		cmocka_unit_test_setup_teardown(test_the_oldest_goes, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_folders, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_failing_allocations, make_folder, remove_folder),
	};

	return cmocka_run_group_tests_name("unwind_cache", tests, NULL, NULL);
}
