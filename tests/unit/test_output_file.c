/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_output_file.c - a result goes into whatever stands at its path
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/main/output_file.h"
#include "tests/unit/failmalloc.h"

static char dir[] = "/tmp/decima-output.XXXXXX";
static char path[64], target[64];

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/out", dir);
	snprintf(target, sizeof(target), "%s/target", dir);
	return 0;
}

static int tidy(void **state)
{
	(void)state;
	unlink(path);
	unlink(target);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(dir);
}

static struct buf text(const char *s)
{
	struct buf b = { 0 };

	buf__text(&b, s);
	return b;
}

static int write_text(const char *to, const char *s, struct dcm_error *err)
{
	struct buf b = text(s);
	int r = output_file__write(to, &b, err);

	buf__fini(&b);
	return r;
}

static void assert_content(const char *of, const char *expected)
{
	struct buf b = { 0 };

	assert_int_equal(fd__read_path(AT_FDCWD, of, 1000, &b), 0);
	buf__byte(&b, '\0');
	assert_string_equal((const char *)b.data, expected);
	buf__fini(&b);
}

static struct stat stat_of(const char *of)
{
	struct stat st;

	assert_int_equal(lstat(of, &st), 0);
	return st;
}

static void a_new_file_obeys_the_umask(void **state)
{
	mode_t mask = umask(027);
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(write_text(path, "one", &err), 0);
	umask(mask);
	assert_content(path, "one");
	assert_int_equal(stat_of(path).st_mode & 0777, 0640);
}

static void a_file_is_replaced_and_keeps_its_mode(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	ino_t inode;

	(void)state;
	assert_int_equal(write_text(path, "one and more", &err), 0);
	assert_int_equal(chmod(path, 0604), 0);
	inode = stat_of(path).st_ino;
	assert_int_equal(write_text(path, "two", &err), 0);
	assert_content(path, "two");
	assert_int_equal(stat_of(path).st_mode & 0777, 0604);
	assert_int_not_equal(stat_of(path).st_ino, inode);
}

static void a_link_stays_one(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	assert_int_equal(symlink(target, path), 0);
	/* First it points nowhere. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(write_text(path, i ? "two" : "first", &err), 0);
		assert_true(S_ISLNK(stat_of(path).st_mode));
		assert_true(S_ISREG(stat_of(target).st_mode));
		assert_content(target, i ? "two" : "first");
	}
}

/* The device is a terminal of our own: in its folder a mistake of ours could replace nothing. */
static void devices_and_pipes_stay(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char got[8] = "";
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0);
	assert_int_equal(write_text(ptsname(fd), "shown", &err), 0);
	assert_int_equal(read(fd, got, sizeof(got) - 1), 5);
	assert_string_equal(got, "shown");
	fd__close(fd);

	assert_int_equal(mkfifo(path, 0600), 0);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write_text(path, "piped", &err), 0);
	assert_int_equal(read(fd, got, sizeof(got) - 1), 5);
	assert_string_equal(got, "piped");
	assert_true(S_ISFIFO(stat_of(path).st_mode));
	fd__close(fd);
}

static void failures_name_the_path(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char below[80];

	(void)state;
	assert_int_equal(write_text(dir, "x", &err), -EISDIR);
	assert_int_equal(strncmp(err.text, dir, strlen(dir)), 0);
	snprintf(below, sizeof(below), "%s/none/out", dir);
	assert_int_equal(write_text(below, "x", &err), -ENOENT);
	assert_int_equal(strncmp(err.text, below, strlen(below)), 0);
}

/* Whoever asks first hears what the write would say, and nothing is there afterwards. */
static void checking_changes_nothing(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char below[80];

	(void)state;
	assert_int_equal(output_file__check("-", &err), 0);
	assert_int_equal(output_file__check("name", &err), 0);
	assert_int_equal(output_file__check(path, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(output_file__check(path, &err), 0);
	assert_int_equal(access(target, F_OK), -1);
	assert_int_equal(output_file__check(dir, &err), -EISDIR);
	assert_int_equal(strncmp(err.text, dir, strlen(dir)), 0);
	snprintf(below, sizeof(below), "%s/none/out", dir);
	assert_int_equal(output_file__check(below, &err), -ENOENT);
	assert_int_equal(strncmp(err.text, below, strlen(below)), 0);
}

static void every_allocation_may_fail(void **state)
{
	struct buf b = text("x");
	struct dcm_error err = DCM_ERROR_INIT;

	(void)state;
	FAILMALLOC_SWEEP (i) {
		int r = output_file__write(path, &b, &err);

		if (r == 0)
			r = output_file__check(path, &err);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		unlink(path);
	}
	buf__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_new_file_obeys_the_umask, tidy),
		cmocka_unit_test_teardown(a_file_is_replaced_and_keeps_its_mode, tidy),
		cmocka_unit_test_teardown(a_link_stays_one, tidy),
		cmocka_unit_test_teardown(devices_and_pipes_stay, tidy),
		cmocka_unit_test(failures_name_the_path),
		cmocka_unit_test_teardown(checking_changes_nothing, tidy),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("output_file", tests, set_up, tear_down);
}
