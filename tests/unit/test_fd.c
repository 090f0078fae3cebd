/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_fd.c - short counts, interrupted and failing calls; a replaced file is old or new
 *
 * The linker sends the system calls of fd.c through here (--wrap): any of them can be made to fail,
 * and reads and writes to come short or interrupted at random.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "tests/unit/child.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* ---- faults ---------------------------------------------------------------------------------- */

static unsigned fault_in; /* the n-th wrapped call fails; 0: none */
static int fault_errno;
static bool fault_happened;
static struct random *chaos; /* not NULL: reads and writes come short, or interrupted */

static bool must_fail(void)
{
	if (fault_in == 0 || --fault_in > 0)
		return false;
	fault_happened = true;
	errno = fault_errno;
	return true;
}

/* How many of n bytes a call may move; 0 is EINTR. */
static size_t allowed(size_t n)
{
	if (!chaos || n == 0)
		return n;
	errno = EINTR;
	return random__below(chaos, 5) == 0 ? 0 : 1 + random__below(chaos, n);
}

#define WRAP(type, name, params, args)                                                             \
	type __real_##name params;                                                                 \
	type __wrap_##name params;                                                                 \
	type __wrap_##name params                                                                  \
	{                                                                                          \
		return must_fail() ? -1 : __real_##name args;                                      \
	}
#define WRAP_COUNT(name, params, ...)                                                              \
	ssize_t __real_##name params;                                                              \
	ssize_t __wrap_##name params;                                                              \
	ssize_t __wrap_##name params                                                               \
	{                                                                                          \
		if (must_fail())                                                                   \
			return -1;                                                                 \
		if (n && !allowed(n))                                                              \
			return -1;                                                                 \
		if (chaos && n)                                                                    \
			n = 1 + random__below(chaos, n);                                           \
		return __real_##name(__VA_ARGS__);                                                 \
	}

WRAP(int, fsync, (int fd), (fd))
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, mkostemp, (char *path, int flags), (path, flags))
WRAP_COUNT(write, (int fd, const void *p, size_t n), fd, p, n)
WRAP_COUNT(read, (int fd, void *p, size_t n), fd, p, n)
WRAP_COUNT(pread, (int fd, void *p, size_t n, off_t at), fd, p, n, at)

/* A failing close() has closed: Linux releases the number first. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	bool fail = must_fail();
	int rc = __real_close(fd);

	if (fail)
		errno = fault_errno;
	return fail ? -1 : rc;
}

/* ---- a directory of the test's own ----------------------------------------------------------- */

DEFINE_FOLDER(dir, "fd", 0700);

static const char *in_dir(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static unsigned count_entries(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

static void assert_content(const char *path, const char *want)
{
	struct buf b = { 0 };

	assert_int_equal(fd__read_path(AT_FDCWD, path, 1 << 20, &b), 0);
	assert_true(str__eq(buf__view(&b), str__of(want)));
	buf__fini(&b);
}

/* ---- reading and writing --------------------------------------------------------------------- */

static void test_write_and_read_in_pieces(void **state)
{
	static unsigned char bytes[100000], back[100000];
	struct random r = { 20 };
	const char *path = in_dir("pieces");
	struct buf b = { 0 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)random__next(&r);
	chaos = &r;
	assert_int_equal(fd__write_all(fd, bytes, sizeof(bytes)), 0);
	assert_int_equal(fd__pread_full(fd, back, sizeof(back), 0), 0);
	assert_memory_equal(bytes, back, sizeof(bytes));
	assert_int_equal(fd__pread_full(fd, back, 100, 5000), 0);
	assert_memory_equal(bytes + 5000, back, 100);
	lseek(fd, 0, SEEK_SET);
	buf__text(&b, "before");
	assert_int_equal(fd__read_all(fd, sizeof(bytes), &b), 0);
	chaos = NULL;
	assert_int_equal(b.n, 6 + sizeof(bytes));
	assert_memory_equal(b.data, "before", 6);
	assert_memory_equal(b.data + 6, bytes, sizeof(bytes));
	assert_int_equal(b.data[b.n], 0);
	buf__fini(&b);
	close(fd);
}

static void test_pread_full(void **state)
{
	const char *path = in_dir("short");
	char p[8];
	int fd;

	(void)state;
	assert_int_equal(fd__replace(path, 0600, "12345", 5, NULL), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd__pread_full(fd, p, 5, 0), 0);
	assert_int_equal(fd__pread_full(fd, p, 0, 5), 0);
	assert_int_equal(fd__pread_full(fd, p, 5, 1), -EIO);
	assert_int_equal(fd__pread_full(fd, p, 1, 5), -EIO);
	assert_int_equal(fd__pread_full(fd, p, 1, UINT64_MAX), -EINVAL);
	assert_int_equal(fd__pread_full(fd, p, 8, INT64_MAX), -EINVAL);
	close(fd);
	assert_int_equal(fd__pread_full(-1, p, 1, 0), -EBADF);
}

static void test_pwrite_all(void **state)
{
	const char *path = in_dir("placed");
	char p[8];
	int fd;

	(void)state;
	assert_int_equal(fd__replace(path, 0600, "12345", 5, NULL), 0);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fd__pwrite_all(fd, "ab", 2, 1), 0);
	assert_int_equal(fd__pwrite_all(fd, "cd", 2, 6), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
	assert_int_equal(read(fd, p, sizeof(p)), 8);
	assert_memory_equal(p, "1ab45\0cd", 8);
	assert_int_equal(fd__pwrite_all(fd, p, 1, UINT64_MAX), -EINVAL);
	assert_int_equal(fd__pwrite_all(fd, p, 8, INT64_MAX), -EINVAL);
	close(fd);
	assert_int_equal(fd__pwrite_all(-1, p, 1, 0), -EBADF);
}

/* To be read and written, and nothing of it is in the directory. */
static void test_open_nameless(void **state)
{
	const char *path = in_dir("nameless");
	char p[4];
	int fd;

	(void)state;
	assert_int_equal(mkdir(path, 0700), 0);
	fd = fd__open_nameless(path);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fd__write_all(fd, "here", 4), 0);
	assert_int_equal(fd__pread_full(fd, p, 4, 0), 0);
	assert_memory_equal(p, "here", 4);
	assert_int_equal(rmdir(path), 0);
	close(fd);
	assert_int_equal(fd__open_nameless(path), -ENOENT);
}

static void test_read_limits(void **state)
{
	const char *path = in_dir("limits");
	struct buf b = { 0 };
	char text[9000];

	(void)state;
	memset(text, 'x', sizeof(text));
	assert_int_equal(fd__replace(path, 0600, text, sizeof(text), NULL), 0);
	buf__text(&b, "keep");
	for (size_t max = 0; max < sizeof(text); max += 1 + max / 3) {
		assert_int_equal(fd__read_path(AT_FDCWD, path, max, &b), -EFBIG);
		assert_string_equal((char *)b.data, "keep");
	}
	assert_int_equal(fd__read_path(AT_FDCWD, path, sizeof(text) - 1, &b), -EFBIG);
	assert_int_equal(fd__read_path(AT_FDCWD, path, sizeof(text), &b), 0);
	assert_int_equal(b.n, 4 + sizeof(text));
	buf__fini(&b);
	assert_int_equal(fd__read_path(AT_FDCWD, path, SIZE_MAX, &b), 0);
	assert_int_equal(b.n, sizeof(text));
	buf__fini(&b);
	b.limit = 100;
	assert_int_equal(fd__read_path(AT_FDCWD, path, SIZE_MAX, &b), -EFBIG);
	assert_int_equal(b.n, 0);
	buf__fini(&b);
	assert_int_equal(fd__read_path(AT_FDCWD, in_dir("nothing"), 10, &b), -ENOENT);
	assert_int_equal(fd__read_path(AT_FDCWD, dir, 10, &b), -EISDIR);
	assert_int_equal(fd__read_all(-1, 10, &b), -EBADF);
	buf__fini(&b);
}

static void test_open_regular(void **state)
{
	char text[8] = "";

	(void)state;
	assert_int_equal(fd__replace(in_dir("regular"), 0600, "text", 4, NULL), 0);
	CLEANUP(fd__closep) int fd = fd__open_regular(in_dir("regular"));
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	assert_string_equal(text, "text");
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(mkfifo(in_dir("pipe"), 0600), 0);
	assert_int_equal(fd__open_regular(in_dir("pipe")), -ENOEXEC);
	assert_int_equal(fd__open_regular(dir), -ENOEXEC);
	assert_int_equal(fd__open_regular("/dev/null"), -ENOEXEC);
	assert_int_equal(fd__open_regular(in_dir("nothing")), -ENOENT);
	CLEANUP(fd__closep) int pipe = open(in_dir("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	CLEANUP(fd__closep) int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fd__check_regular(fd), 0);
	assert_int_equal(fd__check_regular(pipe), -EMEDIUMTYPE);
	assert_int_equal(fd__check_regular(folder), -EISDIR);
	assert_int_equal(fd__check_regular(-1), -EBADF);
	assert_int_equal(fd__reopen_regular(-1), -EBADF);

	struct buf b = { 0 };
	assert_int_equal(fd__read_regular(folder, "pipe", 0, 100, &b), -EMEDIUMTYPE);
	assert_int_equal(fd__read_regular(folder, "nothing", 0, 100, &b), -ENOENT);
	assert_int_equal(symlinkat("/proc/self/maps", folder, "link"), 0);
	assert_int_equal(fd__read_regular(folder, "link", O_NOFOLLOW, 1 << 20, &b), -ELOOP);
	assert_int_equal(b.n, 0);
	assert_int_equal(fd__read_regular(folder, "link", 0, 1 << 20, &b), 0);
	assert_true(b.n > 0);
	buf__fini(&b);
	assert_int_equal(unlinkat(folder, "link", 0), 0);
}

/* Files of /proc have no size, and are made while they are read. */
static void test_read_proc(void **state)
{
	struct buf b = { 0 };
	int fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fd__read_path(fd, "maps", 1 << 20, &b), 0);
	assert_non_null(strstr((char *)b.data, "test_fd"));
	buf__fini(&b);
	close(fd);
}

static void test_write_errors(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fd__write_all(fd, "x", 1), -ENOSPC);
	assert_int_equal(fd__write_all(fd, "x", 0), 0);
	close(fd);
	assert_int_equal(fd__write_all(-1, "x", 1), -EBADF);
}

static void test_close(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	errno = 77;
	fd__close(-1);
	fd__close(fd);
	assert_int_equal(errno, 77);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* ---- replacing ------------------------------------------------------------------------------- */

static void test_replace(void **state)
{
	const char *path = in_dir("file");
	mode_t mask = umask(077);
	struct stat st;

	(void)state;
	assert_int_equal(fd__replace(path, 0644, "one", 3, NULL), 0);
	assert_content(path, "one");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(fd__replace(path, 0600, "", 0, NULL), 0);
	assert_content(path, "");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	umask(mask);
}

/* In the current directory, where the path has no slash. */
static void test_replace_relative(void **state)
{
	int cwd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(fd__replace("relative", 0600, "r", 1, NULL), 0);
	assert_content("relative", "r");
	assert_int_equal(fchdir(cwd), 0);
	close(cwd);
}

/*
 * Each system call of a replacement fails in turn: old or new content, nothing beside it, no
 * descriptor lost.
 */
static void test_replace_faults(void **state)
{
	unsigned n_entries, n_fds, n_failed = 0;
	struct dcm_error err = DCM_ERROR_INIT;
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s", in_dir("faults"));
	assert_int_equal(fd__replace(path, 0600, "old", 3, NULL), 0);
	n_entries = count_entries(dir);
	n_fds = count_entries("/proc/self/fd");
	for (unsigned i = 1; i < 100; i++) {
		struct buf b = { 0 };
		int rc;

		fault_in = i;
		fault_errno = ENOSPC;
		fault_happened = false;
		rc = fd__replace(path, 0600, "new", 3, &err);
		fault_in = 0;
		assert_int_equal(count_entries(dir), n_entries);
		assert_int_equal(count_entries("/proc/self/fd"), n_fds);
		if (!fault_happened) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(fd__read_path(AT_FDCWD, path, 10, &b), 0);
		if (rc == 0) { /* a failed close of the directory changes nothing */
			assert_string_equal((char *)b.data, "new");
		} else {
			n_failed++;
			assert_int_equal(rc, -ENOSPC);
			assert_non_null(strstr(err.text, path));
			assert_non_null(strstr(err.text, "No space left on device"));
			assert_string_equal((char *)b.data, strstr(err.text, "written") ? "new" : "old");
		}
		buf__fini(&b);
		assert_int_equal(fd__replace(path, 0600, "old", 3, NULL), 0);
	}
	assert_int_equal(n_failed, 7); /* mkostemp fchmod write fsync close rename fsync */
	assert_content(path, "new");
}

static void test_replace_refused(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char name[300];
	unsigned n;

	(void)state;
	assert_int_equal(mkdir(in_dir("full"), 0700), 0);
	assert_int_equal(mkdir(in_dir("full/x"), 0700), 0);
	n = count_entries(dir);
	assert_true(fd__replace(in_dir("full"), 0600, "x", 1, &err) < 0); /* a directory */
	assert_int_equal(fd__replace(in_dir("no/file"), 0600, "x", 1, &err), -ENOENT);
	assert_int_equal(fd__replace(in_dir("pieces/x"), 0600, "x", 1, &err), -ENOTDIR);
	memset(name, 'n', sizeof(name));
	name[250] = '\0';
	assert_int_equal(fd__replace(in_dir(name), 0600, "x", 1, &err), -ENAMETOOLONG);
	assert_int_equal(count_entries(dir), n);
}

static void test_replace_no_memory(void **state)
{
	const char *path = in_dir("memory");

	(void)state;
	FAILMALLOC_SWEEP (i) {
		int rc = fd__replace(path, 0600, "x", 1, NULL);

		assert_int_equal(rc, failmalloc__disarm() ? -ENOMEM : 0);
	}
}

/* A real file system that is full. In a child, because the mount is the child's alone. */
static int fill_a_tmpfs(void)
{
	static char big[1 << 18];
	struct dcm_error err = DCM_ERROR_INIT;
	char path[512];

	if (!child__disk(in_dir("tmpfs"), "64k"))
		return CHILD_NO_DISK;
	snprintf(path, sizeof(path), "%s", in_dir("tmpfs/file"));
	if (fd__replace(path, 0600, "small", 5, NULL))
		return 1;
	if (fd__replace(path, 0600, big, sizeof(big), &err) != -ENOSPC)
		return 2;
	if (count_entries(in_dir("tmpfs")) != 1)
		return 3;
	assert_content(path, "small");
	return fd__replace(path, 0600, "again", 5, NULL) ? 4 : 0;
}

static void test_replace_on_a_full_disk(void **state)
{
	int status = child__status(fill_a_tmpfs);

	(void)state;
	if (status == CHILD_NO_DISK)
		skip_because(CHILD_NO_DISK_WHY);
	assert_int_equal(status, 0);
}

enum { N_REPLACES = 300 };

static void *replace_often(void *arg)
{
	static char text[20000];

	for (int i = 0; i < N_REPLACES; i++) {
		memset(text, 'a' + i % 26, sizeof(text));
		if (fd__replace(arg, 0600, text, sizeof(text), NULL))
			return arg;
	}
	return NULL;
}

/* A reader sees one content or the other, whole. */
static void test_replace_under_a_reader(void **state)
{
	static char path[512];
	pthread_t thread;
	struct buf b = { 0 };
	void *failed;

	(void)state;
	snprintf(path, sizeof(path), "%s", in_dir("watched"));
	assert_int_equal(fd__replace(path, 0600, "", 0, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, replace_often, path), 0);
	for (int i = 0; i < 1000; i++) {
		buf__reset(&b);
		assert_int_equal(fd__read_path(AT_FDCWD, path, 1 << 20, &b), 0);
		assert_true(b.n == 0 || b.n == 20000);
		for (size_t j = 1; j < b.n; j++)
			assert_true(b.data[j] == b.data[0]);
	}
	pthread_join(thread, &failed);
	assert_null(failed);
	buf__fini(&b);
}

/* ---- directories ----------------------------------------------------------------------------- */

static void test_mkdirs(void **state)
{
	static char path[5000];
	struct stat st;
	mode_t mask = umask(0);

	(void)state;
	assert_int_equal(fd__mkdirs(in_dir("a/b//c/"), 0750), 0);
	assert_int_equal(stat(in_dir("a/b/c"), &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(fd__mkdirs(in_dir("a/b/c"), 0700), 0);
	assert_int_equal(fd__mkdirs(in_dir("p/q"), 0400), 0); /* we still get into p */
	assert_int_equal(stat(in_dir("p/q"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0400);
	assert_int_equal(fd__mkdirs("/", 0700), 0);
	assert_int_equal(fd__mkdirs(".", 0700), 0);
	assert_int_equal(fd__mkdirs("", 0700), -ENOENT);
	assert_int_equal(fd__replace(in_dir("plain"), 0600, "x", 1, NULL), 0);
	assert_int_equal(fd__mkdirs(in_dir("plain"), 0700), -ENOTDIR);
	assert_int_equal(fd__mkdirs(in_dir("plain/x"), 0700), -ENOTDIR);
	assert_int_equal(symlink("a/b", in_dir("link")), 0);
	assert_int_equal(fd__mkdirs(in_dir("link/d"), 0700), 0);
	assert_int_equal(stat(in_dir("a/b/d"), &st), 0);
	memset(path, 'x', sizeof(path) - 1);
	assert_int_equal(fd__mkdirs(path, 0700), -ENAMETOOLONG);
	umask(mask);
}

/* openat2(2) is not there, as in the sandbox of an older container runtime. */
static void refuse_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(99);
}

/* 0: all is as it should be; else the number of the case. */
static int open_beneath_cases(int root, bool walks)
{
	static const struct {
		const char *path;
		int opened, walked; /* 0 or a negative errno */
	} cases[] = {
		{ "/in/file", 0, 0 },
		{ "//in//file", 0, 0 },
		{ "/in/none", -ENOENT, -ENOENT },
		{ "/in/link", 0, 0 },		/* the link itself, which is no regular file */
		{ "/up/in/file", 0, -ENOTDIR }, /* up is a link to the root */
		{ "/in/../in/file", 0, -EXDEV },
		{ "/../../../etc/passwd", -ENOENT, -EXDEV },
	};

	for (int i = 0; i < (int)(sizeof(cases) / sizeof(*cases)); i++) {
		int fd = fd__open_beneath(root, cases[i].path);

		if ((fd < 0 ? fd : 0) != (walks ? cases[i].walked : cases[i].opened))
			return i + 1;
		fd__close(fd);
	}
	return 0;
}

static int open_beneath_without(void)
{
	CLEANUP(fd__closep) int root = open(in_dir("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);

	refuse_openat2();
	return open_beneath_cases(root, true);
}

static void test_open_beneath(void **state)
{
	CLEANUP(fd__closep) int root = -1;

	(void)state;
	assert_int_equal(shell_in(in_dir("."), "mkdir -p root/in && : >root/in/file && "
					       "ln -s file root/in/link && ln -s / root/up"),
			 0);
	root = open(in_dir("root"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(open_beneath_cases(root, false), 0);
	assert_int_equal(child__status(open_beneath_without), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_and_read_in_pieces),
		cmocka_unit_test(test_pread_full),
		cmocka_unit_test(test_pwrite_all),
		cmocka_unit_test(test_open_nameless),
		cmocka_unit_test(test_read_limits),
		cmocka_unit_test(test_open_regular),
		cmocka_unit_test(test_read_proc),
		cmocka_unit_test(test_write_errors),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_replace_relative),
		cmocka_unit_test(test_replace_faults),
		cmocka_unit_test(test_replace_refused),
		cmocka_unit_test(test_replace_no_memory),
		cmocka_unit_test(test_replace_on_a_full_disk),
		cmocka_unit_test(test_replace_under_a_reader),
		cmocka_unit_test(test_mkdirs),
		cmocka_unit_test(test_open_beneath),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
