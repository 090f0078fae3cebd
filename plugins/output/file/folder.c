/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/file/folder.c - a directory of its own: puts files in, takes the oldest out
 *
 * A file is written as ".decima-tmp-N" in the top directory and moved to its name by
 * renameat2(RENAME_NOREPLACE), which tells when the name is taken. Every path below the top is
 * walked by descriptors without following links.
 */
#include "plugins/output/file/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/base/dir.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "plugins/output/delivery/format.h"

#define MARKER	   ".decima-profiles"
#define TMP_PREFIX ".decima-tmp-"

enum {
	DEPTH_MAX = 8,
	FILES_MAX = 1 << 20,
	NUMBERS_MAX = 9, /* of files that want the same name; the others' times tell them apart */
};

struct known {
	char *path;	 /* relative */
	int64_t time_ns; /* of the file (real): the order */
	int64_t born_ns; /* mono; before the machine's start for files that are older */
	uint64_t bytes;
};

struct folder {
	char *path, *owner;
	int fd;
	int marker;		 /* locked as long as it is open */
	VEC(struct known) files; /* [first .. n), oldest first */
	int64_t newest_ns;	 /* of their times */
	size_t first;
	uint64_t bytes;
	uint64_t n_written; /* names of temporary files */
};

void folder__free(struct folder *f)
{
	if (!f)
		return;
	for (size_t i = f->first; i < f->files.n; i++)
		free(f->files.v[i].path);
	vec__fini(&f->files);
	fd__close(f->fd);
	fd__close(f->marker);
	free(f->path);
	free(f->owner);
	free(f);
}

/* ---- what is known ---- */

static bool is_ours(const char *name)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (str__ends(str__of(name), str__of(formats[i].extension)))
			return true;
	return false;
}

/* Takes the path, also on failure. */
static int remember(struct folder *f, const struct known *k)
{
	/* The front that was taken out is given back when it is half of the list. */
	if (f->first > 1024 && f->first > f->files.n / 2) {
		memmove(f->files.v, f->files.v + f->first,
			(f->files.n - f->first) * sizeof(f->files.v[0]));
		f->files.n -= f->first;
		f->first = 0;
	}
	if (!k->path || !vec__push(&f->files, *k)) {
		free(k->path);
		return -ENOMEM;
	}
	f->bytes += k->bytes;
	if (f->newest_ns < k->time_ns)
		f->newest_ns = k->time_ns;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	return x->time_ns != y->time_ns ? (x->time_ns < y->time_ns ? -1 : 1) : strcmp(x->path, y->path);
}

/* ---- reading what is there ---- */

static int scan(struct folder *f, int dirfd, struct buf *path, unsigned depth);

static int scan_entry(struct folder *f, int dirfd, const char *name, struct buf *path, unsigned depth)
{
	size_t n = path->n;
	struct stat st;
	int r = 0;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (S_ISREG(st.st_mode) && depth == 0 && str__starts(str__of(name), STR(TMP_PREFIX))) {
		unlinkat(dirfd, name, 0);
		return 0;
	}
	buf__printf(path, "%s%s", n ? "/" : "", name);
	if (path->error)
		return path->error;
	if (S_ISREG(st.st_mode) && is_ours(name) && f->files.n < FILES_MAX) {
		r = remember(f, &(struct known){
					.path = mem__dup_str((const char *)path->data, path->n),
					.time_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 +
						   st.st_mtim.tv_nsec,
					.bytes = (uint64_t)st.st_size,
				});
	} else if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
		int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0)
			r = scan(f, fd, path, depth + 1);
	}
	path->n = n;
	return r;
}

/* Takes dirfd. */
static int scan(struct folder *f, int dirfd, struct buf *path, unsigned depth)
{
	DIR *d = fdopendir(dirfd);
	struct dirent *e;
	int r = 0;

	if (!d) {
		fd__close(dirfd);
		return -errno;
	}
	while (r == 0 && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = scan_entry(f, dirfd, e->d_name, path, depth);
	closedir(d);
	return r;
}

static int read_files(struct folder *f, struct folder_now now)
{
	struct buf path = { .limit = PATH_MAX };
	int fd = openat(f->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : scan(f, fd, &path, 0);

	buf__fini(&path);
	if (f->files.n > 1)
		qsort(f->files.v, f->files.n, sizeof(f->files.v[0]), by_time);
	for (size_t i = 0; i < f->files.n; i++) {
		struct known *k = &f->files.v[i];

		k->born_ns = now.mono_ns - (k->time_ns < now.real_ns ? now.real_ns - k->time_ns : 0);
	}
	return r;
}

/* ---- the directory itself ---- */

static bool is_empty(int fd)
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	struct dirent *e;
	bool is = d;

	while (is && (e = readdir(d)))
		is = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	if (d)
		closedir(d);
	else
		fd__close(own);
	return is;
}

static int say_foreign(const char *path, struct dcm_error *err)
{
	return error__set(err, -EEXIST,
			  "%s holds other things, and old files are removed here; give the output "
			  "an empty directory of its own, or make %s/" MARKER " in it",
			  path, path);
}

static int open_marker(int dir)
{
	/* Not to wait for whoever writes into a pipe of that name. */
	return openat(dir, MARKER, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/*
 * Two that write here would take each other's names, and remove each other's files. The lock goes
 * with the descriptor. File systems that cannot lock are taken as they are.
 */
static int lock_marker(const char *path, int marker, struct dcm_error *err)
{
	char owner[128] = "", ours[32];
	ssize_t n;

	if (flock(marker, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	n = pread(marker, owner, sizeof(owner) - 1, 0);
	n = n > 0 ? (ssize_t)strcspn(owner, "\n") : 0;
	str__clean(owner, (size_t)n);
	/* Ours is the one process that nobody has to be told of. */
	int n_ours = snprintf(ours, sizeof(ours), " of process %d", (int)getpid());
	if (str__ends((struct dcm_str){ owner, (uint32_t)n }, str__of(ours)))
		n -= n_ours;
	return error__set(err, -EBUSY, "%s is used by %.*s; give one of them another directory", path,
			  n ? (int)n : (int)strlen("another output"), n ? owner : "another output");
}

/* Who has the lock, for people: without it the lock is as good. */
static void sign(int dir, const char *owner)
{
	CLEANUP(fd__closep)
	int fd = openat(dir, MARKER, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[128];

	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "output %.64s of process %d\n", owner, (int)getpid());
	(void)fd__write_all(fd, text, strlen(text));
}

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return a >= 0 && b >= 0 && fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* The marker of the directory, made where there is none, and locked. */
static int take_marker(const struct folder *f, int dir, struct dcm_error *err)
{
	CLEANUP(fd__closep) int marker = open_marker(dir);
	int r;

	if (marker < 0 && errno == ENOENT) {
		if (!is_empty(dir))
			return say_foreign(f->path, err);
		marker = openat(dir, MARKER, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	}
	if (marker < 0) {
		r = -errno;
		return error__set(err, r,
				  "%s/" MARKER " cannot be made: %s; let the daemon's user write "
				  "there, or name another directory",
				  f->path, strerror(-r));
	}
	if (is_same_file(marker, f->marker))
		return take_fd(marker);
	r = lock_marker(f->path, marker, err);
	if (r < 0)
		return r;
	sign(dir, f->owner);
	return take_fd(marker);
}

/* Opens the directory and makes sure of the marker. */
static int open_dir(struct folder *f, struct dcm_error *err)
{
	CLEANUP(fd__closep) int fd = -1;
	int marker, r = fd__mkdirs(f->path, 0750);

	if (r < 0)
		return dir__look(f->path, err) < 0
			       ? r
			       : error__set(err, r, "%s cannot be made: %s; name another directory",
					    f->path, strerror(-r));
	fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		r = -errno;
		return error__set(err, r, "%s cannot be opened: %s; name another directory",
				  f->path, strerror(-r));
	}
	marker = take_marker(f, fd, err);
	if (marker < 0)
		return marker;
	/* The new descriptor of a lock that is held already would not hold it. */
	if (is_same_file(marker, f->marker)) {
		fd__close(marker);
	} else {
		fd__close(f->marker);
		f->marker = marker;
	}
	fd__close(f->fd);
	f->fd = take_fd(fd);
	return 0;
}

int folder__look(const char *path, struct dcm_error *err)
{
	CLEANUP(fd__closep) int fd = -1;
	CLEANUP(fd__closep) int marker = -1;
	int r = dir__look(path, err);

	if (r < 0)
		return r;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0) {
		r = -errno;
		return error__set(err, r, "%s cannot be opened: %s; let the daemon's user read it",
				  path, strerror(-r));
	}
	marker = open_marker(fd);
	if (marker < 0 && errno == ENOENT)
		return is_empty(fd) ? 0 : say_foreign(path, err);
	if (marker < 0) {
		r = -errno;
		return error__set(err, r,
				  "%s/" MARKER " cannot be opened: %s; let the daemon's user "
				  "read it",
				  path, strerror(-r));
	}
	return lock_marker(path, marker, err);
}

int folder__open(const char *path, const char *owner, struct folder_now now, struct folder **ret,
		 struct dcm_error *err)
{
	struct folder *f = NEW(struct folder);
	int r;

	if (!f)
		return error__nomem(err);
	f->fd = f->marker = -1;
	f->path = mem__dup_str(path, strlen(path));
	f->owner = mem__dup_str(owner, strlen(owner));
	r = f->path && f->owner ? open_dir(f, err) : error__nomem(err);
	if (r == 0) {
		r = read_files(f, now);
		if (r < 0)
			error__set(err, r, "%s cannot be read: %s; let the daemon's user read it",
				   path, strerror(-r));
	}
	if (r < 0) {
		folder__free(f);
		return r;
	}
	*ret = f;
	return 0;
}

/* ---- putting in ---- */

/*
 * The directory that a relative path lies in, made where it is missing if so asked; the file's own
 * name in *ret_name.
 */
static int open_parent(int top, const char *path, bool make, const char **ret_name)
{
	int fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *slash;

	for (; fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		char name[NAME_MAX + 1];
		int next;

		if ((size_t)(slash - path) > NAME_MAX) {
			fd__close(fd);
			return -ENAMETOOLONG;
		}
		memcpy(name, path, (size_t)(slash - path));
		name[slash - path] = '\0';
		if (make && mkdirat(fd, name, 0750) < 0 && errno != EEXIST) {
			int code = -errno;

			fd__close(fd);
			return code;
		}
		next = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd__close(fd);
		fd = next;
	}
	*ret_name = path;
	return fd < 0 ? -errno : fd;
}

/* Writes the temporary file; nothing is left of it after a failure. */
static int write_tmp(struct folder *f, const char *tmp, const struct folder_file *file, int64_t time_ns)
{
	int fd = openat(f->fd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	const struct timespec at = { .tv_sec = time_ns / 1000000000, .tv_nsec = time_ns % 1000000000 };
	const struct timespec times[] = { at, at };
	int r;

	if (fd < 0)
		return -errno;
	r = fd__write_all(fd, file->data, file->n);
	/* The list is ordered by these times, before a restart and after it. */
	if (r == 0 && futimens(fd, times) < 0)
		r = -errno;
	if (r == 0 && file->sync && fsync(fd) < 0)
		r = -errno;
	/* Network file systems tell of a full disk here. */
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		unlinkat(f->fd, tmp, 0);
	return r;
}

/* Never replaces. File systems that cannot say so by rename can by link. */
static int rename_new(int from, const char *tmp, int to, const char *name)
{
	if (renameat2(from, tmp, to, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (linkat(from, tmp, to, name, 0) < 0)
		return -errno;
	unlinkat(from, tmp, 0);
	return 0;
}

/* What is put behind a name that is taken, at each try; no two files of ours have the same time. */
static void add_suffix(struct buf *path, unsigned number, int64_t time_ns)
{
	if (number > NUMBERS_MAX)
		buf__printf(path, "-%" PRId64, time_ns);
	else if (number > 1)
		buf__printf(path, "-%u", number);
}

/* Moves it to its name, or to the first one behind it that is free; `path` gets what it became. */
static int move_into_place(struct folder *f, const char *tmp, const struct folder_file *file,
			   int64_t time_ns, struct buf *path)
{
	CLEANUP(fd__closep) int parent = -1;
	const char *name = NULL;
	size_t base = 0;
	int r;

	for (unsigned number = 1; number <= NUMBERS_MAX + 1; number++) {
		buf__reset(path);
		buf__text(path, file->name);
		add_suffix(path, number, time_ns);
		buf__text(path, file->extension);
		if (path->error)
			return path->error;
		if (parent < 0) {
			int fd = open_parent(f->fd, (const char *)path->data, true, &name);

			if (fd < 0)
				return fd;
			parent = fd;
			base = (size_t)(name - (const char *)path->data);
		}
		r = rename_new(f->fd, tmp, parent, (const char *)path->data + base);
		if (r == 0)
			return file->sync && fsync(parent) < 0 ? -errno : 0;
		if (r != -EEXIST)
			return r;
	}
	return -EEXIST;
}

static int put(struct folder *f, const struct folder_file *file, struct buf *path)
{
	int64_t time_ns = file->now.real_ns > f->newest_ns ? file->now.real_ns : f->newest_ns + 1;
	char tmp[48];
	int r;

	snprintf(tmp, sizeof(tmp), TMP_PREFIX "%d-%llu", (int)getpid(),
		 (unsigned long long)f->n_written++);
	if (!vec__reserve(&f->files, 1))
		return -ENOMEM;
	r = write_tmp(f, tmp, file, time_ns);
	if (r < 0)
		return r;
	r = move_into_place(f, tmp, file, time_ns, path);
	if (r < 0) {
		unlinkat(f->fd, tmp, 0);
		return r;
	}
	/* Without memory to remember it the file stays, and counts again after a restart. */
	remember(f, &(struct known){ .path = mem__dup_str((const char *)path->data, path->n),
				     .time_ns = time_ns,
				     .born_ns = file->now.mono_ns,
				     .bytes = file->n });
	return 0;
}

int folder__put(struct folder *f, const struct folder_file *file, struct dcm_error *err)
{
	struct buf path = { .limit = PATH_MAX };
	int r = put(f, file, &path);

	/* Somebody removed the directory under us. */
	if (r == -ENOENT && open_dir(f, NULL) == 0)
		r = put(f, file, &path);
	buf__fini(&path);
	return r < 0 ? error__sys(err, r, "%s/%s%s cannot be written", f->path, file->name, file->extension)
		     : 0;
}

/* ---- taking out ---- */

/* Directories that became empty go too; one that is not empty ends it. */
static void remove_parents(struct folder *f, char *path)
{
	char *slash;

	while ((slash = strrchr(path, '/'))) {
		const char *name;
		int parent, r;

		*slash = '\0';
		parent = open_parent(f->fd, path, false, &name);
		r = parent < 0 ? -1 : unlinkat(parent, name, AT_REMOVEDIR);
		fd__close(parent);
		if (r < 0)
			return;
	}
}

static void remove_oldest(struct folder *f)
{
	struct known *k = &f->files.v[f->first++];
	const char *name = k->path;
	int parent = open_parent(f->fd, k->path, false, &name);
	bool is_gone = false;
	struct stat st;

	if (parent >= 0 && fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		is_gone = unlinkat(parent, name, 0) == 0;
	fd__close(parent);
	if (is_gone)
		remove_parents(f, k->path);
	f->bytes -= k->bytes;
	free(k->path);
	k->path = NULL;
}

static bool is_over(const struct folder *f, const struct folder_limits *l, int64_t mono_ns)
{
	const struct known *oldest;

	if (f->first == f->files.n)
		return false;
	oldest = &f->files.v[f->first];
	return (l->max_files > 0 && f->files.n - f->first > l->max_files) ||
	       (l->max_bytes > 0 && f->bytes > l->max_bytes) ||
	       (l->max_age_ns > 0 && oldest->born_ns < mono_ns - l->max_age_ns);
}

uint64_t folder__rotate(struct folder *f, const struct folder_limits *limits, int64_t mono_ns)
{
	uint64_t n = 0;

	for (; is_over(f, limits, mono_ns); n++)
		remove_oldest(f);
	return n;
}

void folder__stat(const struct folder *f, struct folder_stat *ret)
{
	ret->n_files = f->files.n - f->first;
	ret->bytes = f->bytes;
}
