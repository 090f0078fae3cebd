/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_offered.c - core/symbolize/offered.h, and symbols__provide() over it
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/symbolize/offered.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/kept_program.h"

static ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static unsigned n_open(void)
{
	unsigned n = 0;

	for (int fd = 3; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Is it there, and that file? */
static bool has(struct offered *o, const char *id, int fd)
{
	char path[PATH_MAX];
	CLEANUP(fd__closep) int got = offered__open(o, str__of(id), path);

	if (got < 0)
		assert_int_equal(got, -ENOENT);
	return got >= 0 && inode_of(got) == inode_of(fd) && strcmp(path, "/where") == 0;
}

static void test_kept_open_while_wanted(void **state)
{
	CLEANUP(fd__closep) int a = open("/bin/sh", O_RDONLY), b = open("/proc/self/exe", O_RDONLY);
	struct offered *o = offered__new();
	unsigned before = n_open();

	(void)state;
	offered__add(o, STR("aa"), STR("/where"), a, 0);
	assert_false(has(o, "aa", a));
	offered__want(o, 1);
	offered__want(o, 1);
	offered__add(o, STR("aa"), STR("/where"), a, 0);
	offered__add(o, STR("bb"), STR("/where"), b, 1);
	assert_true(has(o, "aa", a) && has(o, "bb", b));
	/* The next of its id takes its place, and its time. */
	offered__add(o, STR("aa"), STR("/where"), b, 2);
	assert_true(has(o, "aa", b));
	assert_int_equal(n_open(), before + 2);
	offered__tend(o, OFFERED_NS + 1);
	assert_true(has(o, "aa", b) && !has(o, "bb", b));
	offered__tend(o, OFFERED_NS + 2);
	assert_false(has(o, "aa", b));
	assert_int_equal(n_open(), before);
	offered__add(o, STR("aa"), STR("/where"), a, 3);
	offered__want(o, -1);
	assert_true(has(o, "aa", a));
	offered__want(o, -1);
	assert_false(has(o, "aa", a));
	assert_int_equal(n_open(), before);
	offered__free(o);
}

static void test_the_oldest_gives_way(void **state)
{
	CLEANUP(fd__closep) int a = open("/bin/sh", O_RDONLY);
	struct offered *o = offered__new();
	unsigned before = n_open();
	char id[16];

	(void)state;
	offered__want(o, 1);
	for (int i = 0; i < OFFERED_MAX + 3; i++) {
		snprintf(id, sizeof(id), "%04x", i);
		offered__add(o, str__of(id), STR("/where"), a, i);
	}
	assert_int_equal(n_open(), before + OFFERED_MAX);
	assert_false(has(o, "0002", a));
	assert_true(has(o, "0003", a) && has(o, id, a));
	offered__free(o);
	assert_int_equal(n_open(), before);
}

static int provide(struct symbols *s, const char *path, uint64_t max_bytes, struct symbols_provided *ret)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = symbols__provide(s,
				 &(struct symbols_wish){ .build_id = str__of(kept.build_id),
							 .path = str__of(path),
							 .max_bytes = max_bytes },
				 ret, &err);

	assert_true(r == 0 || err.text[0]);
	return r;
}

/* Nothing is read for this process itself, and nothing kept. */
static void test_provided_without_a_store(void **state)
{
	struct symbols *s;
	CLEANUP(fd__closep) int whole = kept__open_self();
	struct symbols_provided got;
	char id[ELF_BUILD_ID_TEXT];

	(void)state;
	assert_int_equal(symbols__new(&(struct symbols_config){ .no_files = true }, &s, NULL), 0);
	assert_int_equal(provide(s, "", 0, &got), -ENOENT);
	assert_int_equal(provide(s, "/bin/sh", 0, &got), -ENOENT);
	assert_int_equal(provide(s, "relative", 0, &got), -ENOENT);
	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), whole);
	assert_int_equal(provide(s, "", 0, &got), -ENOENT);
	symbols__want_files(s, true);
	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), whole);
	assert_int_equal(provide(s, "", 100, &got), -EFBIG);
	assert_int_equal(provide(s, "", 0, &got), 0);
	assert_int_equal(elf__build_id(got.fd, id), 0);
	assert_string_equal(id, kept.build_id);
	assert_true(got.bytes > 100 && (uint64_t)lseek(got.fd, 0, SEEK_END) == got.bytes);
	close(got.fd);
	symbols__want_files(s, false);
	assert_int_equal(provide(s, "", 0, &got), -ENOENT);
	/* By its path, if it is that file. */
	assert_int_equal(provide(s, "/proc/self/exe", 0, &got), 0);
	close(got.fd);
	symbols__free(s);
}

static void test_what_is_stripped(void **state)
{
	(void)state;
	kept__need_objcopy();
	struct symbols *s;
	CLEANUP(fd__closep) int bare = kept__open_bare();
	struct symbols_provided got;

	assert_int_equal(symbols__new(&(struct symbols_config){ .no_files = true }, &s, NULL), 0);
	symbols__want_files(s, true);
	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), bare);
	assert_int_equal(provide(s, "", 0, &got), -ENODATA);
	symbols__free(s);
}

/* What is kept goes first: nothing else need be there. */
static void test_provided_from_the_store(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int whole = kept__open_self();
	struct symbols_provided got;
	char id[ELF_BUILD_ID_TEXT];

	(void)state;
	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), whole);
	kept__await(s, 1);
	assert_int_equal(provide(s, "", 100, &got), -EFBIG);
	assert_int_equal(provide(s, "", 0, &got), 0);
	assert_int_equal(elf__build_id(got.fd, id), 0);
	assert_string_equal(id, kept.build_id);
	close(got.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept_open_while_wanted),
		cmocka_unit_test(test_the_oldest_gives_way),
		cmocka_unit_test_setup(test_provided_without_a_store, kept__new_dir),
		cmocka_unit_test_setup(test_what_is_stripped, kept__new_dir),
		cmocka_unit_test_setup(test_provided_from_the_store, kept__new_dir),
	};

	return cmocka_run_group_tests_name("offered", tests, kept__make_root, kept__remove_root);
}
