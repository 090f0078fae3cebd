/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_dir.c - what is said of a directory is what mkdir -p and a file in it then meet
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/dir.h"
#include "core/base/fd.h"
#include "tests/unit/child.h"
#include "tests/unit/folder.h"
#include "tests/unit/shell.h"
#include "tests/unit/unit.h"

DEFINE_FOLDER(top, "dir", 0755);

/* The oracle: does it. */
static int try(const char *path)
{
	char file[PATH_MAX];
	int r = fd__mkdirs(path, 0755), fd;

	if (r < 0)
		return r;
	snprintf(file, sizeof(file), "%s/file", path);
	fd = open(file, O_WRONLY | O_CREAT, 0644);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Looks, sees that nothing has changed, and does it. */
static void expect_same(const char *path, const char *want)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char before[64], after[64];
	struct stat st;
	bool was = stat(path, &st) == 0;
	int said = dir__look(path, &err), is;

	snprintf(before, sizeof(before), "%d", was);
	snprintf(after, sizeof(after), "%d", stat(path, &st) == 0);
	assert_string_equal(before, after);
	is = try(path);
	if ((said < 0) != (is < 0))
		fail_msg("%s: said %d (%s), is %d", path, said, err.text, is);
	if (want && !strstr(err.text, want))
		fail_msg("no \"%s\" in: %s", want, err.text);
	if (said < 0 && (strncmp(err.text, path, strlen(path)) != 0 || !strstr(err.text, "; ")))
		fail_msg("no place or no remedy in: %s", err.text);
}

static void look_at_all(void)
{
	char path[PATH_MAX];

#define IN_TOP(name) (snprintf(path, sizeof(path), "%s/%s", top, name), path)
	expect_same(IN_TOP("new/and/below/"), NULL);
	expect_same(IN_TOP("file/below"), "is no directory");
	expect_same(IN_TOP("file"), "is no directory");
	expect_same(IN_TOP("nowhere"), "leads nowhere");
	expect_same(IN_TOP("theirs"), geteuid() == 0 ? NULL : "may not write into");
	expect_same("/proc/nope", "of the kernel");
	expect_same("/sys/nope", "of the kernel");
	expect_same("/", geteuid() == 0 ? NULL : "may not write into");
#undef IN_TOP
}

static void make_things(void)
{
	assert_int_equal(
		shell("cd '%s' && rm -rf -- * && touch file && ln -s /nonexistent/x nowhere && "
		      "mkdir theirs && chmod 555 theirs && chmod 777 .",
		      top),
		0);
}

static void what_is_said_is_so(void **state)
{
	(void)state;
	make_things();
	/* Files of the test in the root directory are nobody's wish. */
	if (geteuid() != 0)
		look_at_all();
	else
		expect_same("/proc/nope", "of the kernel");
}

static int look_as_nobody(void)
{
	if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
		return 1;
	look_at_all();
	return 0;
}

/* As somebody else, and as root that has given its capabilities up is somebody else's guest. */
static void so_it_is_for_another_user(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip_because("only root becomes another user");
	make_things();
	assert_int_equal(child__status(look_as_nobody), 0);
}

/* What belongs to another stays his, and is not root's to be given. */
static int look_as_a_guest(void)
{
	struct __user_cap_header_struct who = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { 0 };
	char path[PATH_MAX];

	shell("cd '%s' && mkdir -p service/below && chmod 700 service && chown 65534 service", top);
	if (syscall(SYS_capset, &who, none) < 0)
		return 1;
	for (unsigned i = 0; i < 3; i++) {
		struct dcm_error err = DCM_ERROR_INIT;
		static const char *const names[] = { "service", "service/below", "service/new" };

		snprintf(path, sizeof(path), "%s/%s", top, names[i]);
		expect_same(path, "/service belongs to uid 65534, and root without capabilities");
		if (dir__look(path, &err) != -EACCES || strstr(err.text, "give that directory"))
			return 2;
	}
	return 0;
}

static void root_is_a_guest(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip_because("only root belongs nowhere");
	make_things();
	assert_int_equal(child__status(look_as_a_guest), 0);
}

static int look_at_a_full_disk(void)
{
	struct dcm_error err = DCM_ERROR_INIT;

	if (!child__disk(top, "64k"))
		return CHILD_NO_DISK;
	shell("head -c 100000 /dev/zero >'%s/fill' 2>/dev/null", top);
	if (dir__look(top, &err) != -ENOSPC)
		return 1;
	if (mount("", top, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0)
		return 2;
	return dir__look(top, &err) == -EROFS ? 0 : 3;
}

/* A file system of its own that is full, and one that is read-only. */
static void no_room_is_said(void **state)
{
	int status = child__status(look_at_a_full_disk);

	(void)state;
	if (status == CHILD_NO_DISK)
		skip_because(CHILD_NO_DISK_WHY);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_said_is_so),
		cmocka_unit_test(so_it_is_for_another_user),
		cmocka_unit_test(root_is_a_guest),
		cmocka_unit_test(no_room_is_said),
	};

	return cmocka_run_group_tests(tests, make_top, remove_top);
}
