/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_trust.c - which files a privileged process would run, and who counts as
 * privileged
 *
 * Root can make files that are trusted and spoil them one rule at a time. An ordinary user cannot,
 * and checks against the system's own files instead.
 */
#include "core/plugin/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

DEFINE_FOLDER(top, "trust", 0755);

static const char *in_top(const char *name)
{
	static char path[2][PATH_MAX];
	static unsigned turn;
	char *p = path[turn++ % 2];

	snprintf(p, PATH_MAX, "%s/%s", top, name);
	return p;
}

static void make_dir(const char *name, mode_t mode)
{
	assert_int_equal(mkdir(in_top(name), 0700), 0);
	assert_int_equal(chmod(in_top(name), mode), 0);
}

static void make_file(const char *name, mode_t mode)
{
	int fd = open(in_top(name), O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* Opens DIR/FILE below the top; the sentence in err. */
static int try(const char *dir, const char *file, bool strict, struct dcm_error *err)
{
	int fd = -1, r;

	*err = (struct dcm_error)DCM_ERROR_INIT;
	r = trust__open(in_top(dir), file, strict, &fd, err);
	assert_true((r == 0) == (fd >= 0));
	if (r == 0)
		assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	fd__close(fd);
	return r;
}

static void refused(const char *dir, const char *file, const char *about, const char *fault,
		    const char *remedy)
{
	struct dcm_error err;

	assert_int_equal(try(dir, file, true, &err), -EPERM);
	assert_int_equal(strncmp(err.text, in_top(about), strlen(in_top(about))), 0);
	assert_non_null(strstr(err.text, fault));
	assert_non_null(strstr(err.text, remedy));
	/* Who has no privilege to lose may load it. */
	assert_int_equal(try(dir, file, false, &err), 0);
}

static void each_rule_is_one_refusal(void **state)
{
	struct dcm_error err;

	(void)state;
	if (geteuid() != 0)
		skip_because("files that belong to root are made by root only");
	make_dir("good", 0755);
	make_file("good/p.so", 0644);
	assert_int_equal(try("good", "p.so", true, &err), 0);

	make_file("good/group.so", 0664);
	refused("good", "group.so", "good/group.so", "writable by its group", "chmod go-w");
	make_file("good/other.so", 0646);
	refused("good", "other.so", "good/other.so", "writable by everybody", "chmod go-w");
	make_file("good/mine.so", 0644);
	assert_int_equal(chown(in_top("good/mine.so"), 1234, 0), 0);
	refused("good", "mine.so", "good/mine.so", "belongs to uid 1234", "chown root");

	make_dir("loose", 0775);
	make_file("loose/p.so", 0644);
	refused("loose", "p.so", "loose", "writable by its group", "chmod go-w");
	/* Also a directory further up. */
	make_dir("loose/tight", 0755);
	make_file("loose/tight/p.so", 0644);
	refused("loose/tight", "p.so", "loose", "writable by its group", "chmod go-w");
	make_dir("foreign", 0755);
	make_file("foreign/p.so", 0644);
	assert_int_equal(chown(in_top("foreign"), 1234, 0), 0);
	refused("foreign", "p.so", "foreign", "belongs to uid 1234", "chown root");
	/* A sticky one lets others add and not replace. */
	make_dir("sticky", 01777);
	make_file("sticky/p.so", 0644);
	assert_int_equal(try("sticky", "p.so", true, &err), 0);
}

static void links_are_looked_through_or_refused(void **state)
{
	struct dcm_error err;

	(void)state;
	make_dir("real", 0755);
	make_file("real/p.so", 0644);
	assert_int_equal(symlink("p.so", in_top("real/link.so")), 0);
	assert_int_equal(symlink("real", in_top("dirlink")), 0);
	for (int strict = 0; strict < 2; strict++) {
		if (strict && geteuid() != 0)
			break;
		assert_int_equal(try("real", "link.so", strict, &err), -EPERM);
		assert_non_null(strstr(err.text, "symbolic link"));
		assert_int_equal(try("dirlink", "p.so", strict, &err), 0);
	}
	if (geteuid() == 0) {
		/* The place it leads to is what counts. */
		assert_int_equal(chmod(in_top("real"), 0777), 0);
		assert_int_equal(try("dirlink", "p.so", true, &err), -EPERM);
		assert_non_null(strstr(err.text, "/real: "));
	}
}

static void only_regular_files(void **state)
{
	struct dcm_error err;

	(void)state;
	make_dir("odd", 0755);
	make_dir("odd/dir.so", 0755);
	assert_int_equal(mkfifo(in_top("odd/fifo.so"), 0644), 0);
	assert_int_equal(try("odd", "dir.so", false, &err), -EPERM);
	assert_non_null(strstr(err.text, "not a regular file"));
	/* Does not wait for a writer. */
	assert_int_equal(try("odd", "fifo.so", false, &err), -EPERM);
	assert_int_equal(try("odd", "nothing.so", false, &err), -ENOENT);
	assert_int_equal(try("nowhere", "p.so", false, &err), -ENOENT);
	assert_int_equal(try("odd", "dir.so/../p.so", false, &err), -EINVAL);
	assert_int_equal(try("odd", "", false, &err), -EINVAL);
}

static void the_systems_files_are_trusted(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int fd = -1;

	(void)state;
	assert_int_equal(trust__open("/usr/bin", "env", true, &fd, &err), 0);
	fd__close(fd);
	if (geteuid() != 0) {
		make_dir("user", 0755);
		make_file("user/p.so", 0644);
		assert_int_equal(try("user", "p.so", true, &err), -EPERM);
		assert_non_null(strstr(err.text, "belongs to uid"));
	}
}

/*
 * In a child: an ordinary user, with one capability or none, and with memory or without. 1, 0:
 * privileged or not; 2: could not be set up.
 */
static int ask_child(bool keep_one, bool no_memory)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		data[1].permitted = data[1].effective = keep_one ? 1u << (CAP_SYSLOG - 32) : 0;
		if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setresgid(65534, 65534, 65534) < 0 ||
		    setresuid(65534, 65534, 65534) < 0 || syscall(SYS_capset, &head, data) < 0)
			_exit(2);
		if (no_memory)
			failmalloc__arm(1);
		_exit(trust__is_privileged());
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void any_capability_is_privilege(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		assert_false(trust__is_privileged());
		return;
	}
	assert_true(trust__is_privileged());
	assert_int_equal(ask_child(false, false), 0);
	assert_int_equal(ask_child(true, false), 1);
}

static void without_memory_everybody_is_privileged(void **state)
{
	(void)state;
	if (geteuid() == 0) { /* privileged whatever happens */
		assert_int_equal(ask_child(false, true), 1);
		return;
	}
	failmalloc__arm(1);
	bool is = trust__is_privileged();
	failmalloc__disarm();
	assert_true(is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_is_one_refusal),
		cmocka_unit_test(links_are_looked_through_or_refused),
		cmocka_unit_test(only_regular_files),
		cmocka_unit_test(the_systems_files_are_trusted),
		cmocka_unit_test(any_capability_is_privilege),
		cmocka_unit_test(without_memory_everybody_is_privileged),
	};
	return cmocka_run_group_tests_name("trust", tests, make_top, remove_top);
}
