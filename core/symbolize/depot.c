/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/depot.c - reduced ELF files, and what was resolved, in a directory, by build id
 *
 * No index: a file is found by its name, and the directory is walked at the start, and when
 * something has to go. Bytes and files are counted along; a walk counts them anew.
 *
 * Threads: any; `lock` guards the counts and the state. Limits: struct depot_config.
 */
#include "core/symbolize/depot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/symbolize/elf.h"

enum {
	AT_ONCE = 1 << 20, /* bytes that are hashed with one seed */
	DISK_BLOCK = 4096,
	TRAILER_BYTES = 32,
	TEND_EVERY_S = 600,
	TOUCH_EVERY_S = 3600,
};
#define SECOND_NS INT64_C(1000000000)

static const char magic[8] = { 'd', 'c', 'm', 's', 'y', 'm', '1', '\n' };
static const char log_suffix[] = ".names";
static const char *const suffixes[] = { [DEPOT_ELF] = "elf", [DEPOT_DEBUG] = "debug" };

struct depot {
	struct depot_config config;
	char *dir;
	int lock_fd; /* -1: this process writes nothing */
	int64_t tended_s;
	bool log_failed; /* the state is about a log of names; who writes one */
	pthread_mutex_t lock;
	struct depot_stat counts;
};

/* --- names --- */

/* DIR/.build-id/ab/cdef.KIND. False: no build id, or too long. */
static bool path_of(const struct depot *d, const char *id, enum depot_kind kind, char ret[static PATH_MAX])
{
	return elf__is_build_id(str__of(id)) && snprintf(ret, PATH_MAX, "%s/.build-id/%.2s/%s.%s",
							 d->dir, id, id + 2, suffixes[kind]) < PATH_MAX;
}

/* The log of what was resolved; a stand-in has one, too: DIR/.build-id/ab/~cd.names. */
static bool log_path_of(const struct depot *d, const char *id, char ret[static PATH_MAX])
{
	bool is_stand_in = id[0] == '~';

	id += is_stand_in;
	return elf__is_build_id(str__of(id)) &&
	       snprintf(ret, PATH_MAX, "%s/.build-id/%.2s/%s%s%s", d->dir, id,
			is_stand_in ? "~" : "", id + 2, log_suffix) < PATH_MAX;
}

bool depot__is_log(const char *name)
{
	size_t n = strlen(name), n_suffix = strlen(log_suffix);

	return n > n_suffix && strcmp(name + n - n_suffix, log_suffix) == 0;
}

/* --- counts --- */

/* What a file of so many bytes takes there: many small ones take much more than they have. */
static int64_t on_disk(uint64_t bytes)
{
	return (int64_t)((bytes + DISK_BLOCK - 1) / DISK_BLOCK * DISK_BLOCK);
}

static void count(struct depot *d, uint64_t *counter, int64_t n_files, int64_t bytes)
{
	pthread_mutex_lock(&d->lock);
	*counter += 1;
	d->counts.n_files += (uint64_t)n_files;
	d->counts.bytes += (uint64_t)bytes;
	pthread_mutex_unlock(&d->lock);
}

static void count_log(struct depot *d, int64_t n_logs, int64_t bytes)
{
	pthread_mutex_lock(&d->lock);
	d->counts.n_logs += (uint64_t)n_logs;
	d->counts.bytes += (uint64_t)bytes;
	pthread_mutex_unlock(&d->lock);
}

static void set_state(struct depot *d, const char *what, int rc)
{
	pthread_mutex_lock(&d->lock);
	snprintf(d->counts.state, sizeof(d->counts.state),
		 "%.120s: %s%s%s; what is new is kept in memory only", d->dir, what, rc ? ": " : "",
		 rc ? strerror(-rc) : "");
	pthread_mutex_unlock(&d->lock);
}

static void clear_state(struct depot *d)
{
	pthread_mutex_lock(&d->lock);
	d->counts.state[0] = '\0';
	pthread_mutex_unlock(&d->lock);
}

void depot__stat(struct depot *d, struct depot_stat *ret)
{
	pthread_mutex_lock(&d->lock);
	*ret = d->counts;
	pthread_mutex_unlock(&d->lock);
}

/* --- the trailer --- */

/* Of the first n bytes: each MiB is hashed with what came of the one before as its seed. */
static int hash_content(int fd, uint64_t n, uint64_t *ret)
{
	CLEANUP(mem__freep) uint8_t *data = malloc(AT_ONCE);
	uint64_t h = 0;

	if (!data)
		return -ENOMEM;
	for (uint64_t at = 0; at < n; at += AT_ONCE) {
		size_t part = n - at < AT_ONCE ? (size_t)(n - at) : AT_ONCE;
		int rc = fd__pread_full(fd, data, part, at);

		if (rc)
			return rc;
		h = hash__bytes(data, part, h);
	}
	*ret = h;
	return 0;
}

struct trailer {
	uint64_t elf_bytes, hash;
	uint32_t tells;
};

/* -EBADMSG: there is none. Its own hash covers it, too: see check(). */
static int read_trailer(int fd, struct trailer *ret, uint8_t raw[static TRAILER_BYTES])
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < TRAILER_BYTES)
		return -EBADMSG;
	ret->elf_bytes = (uint64_t)st.st_size - TRAILER_BYTES;
	int rc = fd__pread_full(fd, raw, TRAILER_BYTES, ret->elf_bytes);
	if (rc)
		return rc;
	if (memcmp(raw, magic, sizeof(magic)) != 0 || le__get64(raw + 8) != ret->elf_bytes)
		return -EBADMSG;
	ret->tells = le__get32(raw + 16);
	ret->hash = le__get64(raw + 24);
	return 0;
}

static int check(int fd)
{
	uint8_t raw[TRAILER_BYTES];
	struct trailer t;
	uint64_t h;
	int rc = read_trailer(fd, &t, raw);

	if (!rc)
		rc = hash_content(fd, t.elf_bytes, &h);
	if (rc)
		return rc;
	return hash__bytes(raw, TRAILER_BYTES - 8, h) == t.hash ? 0 : -EBADMSG;
}

static int append_trailer(int fd, unsigned tells, uint64_t *ret_bytes)
{
	uint8_t raw[TRAILER_BYTES] = { 0 };
	struct stat st;
	uint64_t h;
	int rc = fstat(fd, &st) < 0 ? -errno : hash_content(fd, (uint64_t)st.st_size, &h);

	if (rc)
		return rc;
	memcpy(raw, magic, sizeof(magic));
	le__put64(raw + 8, (uint64_t)st.st_size);
	le__put32(raw + 16, tells);
	le__put64(raw + 24, hash__bytes(raw, TRAILER_BYTES - 8, h));
	*ret_bytes = (uint64_t)st.st_size + TRAILER_BYTES;
	if (lseek(fd, 0, SEEK_END) < 0)
		return -errno;
	return fd__write_all(fd, raw, sizeof(raw));
}

/* --- reading --- */

bool depot__writes(const struct depot *d)
{
	return d->lock_fd >= 0;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

/* Out of the way, so that it is looked at once and a good one can come in its place. */
static void set_aside(struct depot *d, const char *path, const char *id, enum depot_kind kind)
{
	char to[PATH_MAX];

	if (!depot__writes(d) ||
	    snprintf(to, sizeof(to), "%s/aside/%s.%s", d->dir, id, suffixes[kind]) >= (int)sizeof(to))
		return;
	if (rename(path, to) < 0 && unlink(path) < 0)
		return;
	count(d, &d->counts.n_set_aside, 0, 0);
}

/* Its time is that of its last use. */
static void note_use(const struct depot *d, int fd)
{
	struct stat st;
	int64_t now_s = clock__real(d->config.clock) / SECOND_NS;
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = now_s } };

	if (depot__writes(d) && fstat(fd, &st) == 0 && now_s - st.st_mtime >= TOUCH_EVERY_S)
		futimens(fd, times);
}

int depot__open(struct depot *d, const char *build_id, enum depot_kind kind)
{
	char path[PATH_MAX];

	if (!path_of(d, build_id, kind, path))
		return -ENOENT;
	int fd = open_file(path);
	if (fd < 0)
		return fd;
	int rc = check(fd);
	if (rc == -EIO) /* it ends before its end, or cannot be read */
		rc = -EBADMSG;
	if (rc) {
		close(fd);
		if (rc == -EBADMSG)
			set_aside(d, path, build_id, kind);
		return rc;
	}
	note_use(d, fd);
	return fd;
}

int depot__tells(struct depot *d, const char *build_id, enum depot_kind kind)
{
	uint8_t raw[TRAILER_BYTES];
	struct trailer t;
	char path[PATH_MAX];

	if (!path_of(d, build_id, kind, path))
		return -ENOENT;
	CLEANUP(fd__closep) int fd = open_file(path);
	int rc = fd < 0 ? fd : read_trailer(fd, &t, raw);
	return rc < 0 ? -ENOENT : (int)(t.tells & (DEPOT_SYMTAB | DEPOT_DWARF | DEPOT_GO));
}

bool depot__wants(struct depot *d, const char *build_id, enum depot_kind kind, unsigned tells)
{
	int has;

	if (!depot__writes(d) || !elf__is_build_id(str__of(build_id)))
		return false;
	has = depot__tells(d, build_id, kind);
	return has < 0 || (((unsigned)has & ~tells) == 0 && (unsigned)has != tells);
}

/* --- writing --- */

int depot__begin(struct depot *d, struct depot_put *ret)
{
	ret->fd = -1;
	if (!depot__writes(d))
		return -EROFS;
	if (snprintf(ret->path, sizeof(ret->path), "%s/new-XXXXXX", d->dir) >= (int)sizeof(ret->path))
		return -ENAMETOOLONG;
	ret->fd = mkostemp(ret->path, O_CLOEXEC);
	if (ret->fd >= 0)
		return 0;
	int rc = -errno;
	set_state(d, "a file cannot be made", rc);
	return rc;
}

static void drop_put(struct depot_put *put)
{
	if (put->fd < 0)
		return;
	unlink(put->path);
	close(put->fd);
	put->fd = -1;
}

void depot__abort(struct depot *d, struct depot_put *put, int why)
{
	drop_put(put);
	if (why == -ENOSPC || why == -EDQUOT || why == -EIO || why == -EROFS)
		set_state(d, "a file cannot be written", why);
}

int depot__sync_folder(const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int make_folder(char *path)
{
	char *slash = strrchr(path, '/');
	int rc;

	*slash = '\0';
	rc = fd__mkdirs(path, 0700);
	*slash = '/';
	return rc;
}

/* Makes the folder, and renames into it; what was there before counts no more. */
static int put_in_place(struct depot *d, struct depot_put *put, char *to, uint64_t bytes)
{
	char *slash = strrchr(to, '/');
	struct stat old;
	bool had;
	int rc = make_folder(to);

	had = !rc && lstat(to, &old) == 0;
	if (!rc && rename(put->path, to) < 0)
		rc = -errno;
	if (rc)
		return rc;
	close(put->fd);
	put->fd = -1;
	int64_t more = on_disk(bytes) - (had ? on_disk((uint64_t)old.st_size) : 0);
	if (depot__is_log(to))
		count_log(d, had ? 0 : 1, more);
	else
		count(d, &d->counts.n_put, had ? 0 : 1, more);
	*slash = '\0';
	rc = depot__sync_folder(to);
	*slash = '/';
	return rc;
}

int depot__end(struct depot *d, struct depot_put *put, const char *build_id, enum depot_kind kind,
	       unsigned tells)
{
	char path[PATH_MAX], id[ELF_BUILD_ID_TEXT];
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = clock__real(d->config.clock) / SECOND_NS } };
	uint64_t bytes = 0;
	int rc = elf__build_id(put->fd, id);

	if (rc != -ENOMEM)
		rc = !rc && strcmp(id, build_id) == 0 && path_of(d, build_id, kind, path) ? 0 : -EBADMSG;
	if (!rc)
		rc = append_trailer(put->fd, tells, &bytes);
	if (!rc && (futimens(put->fd, times) < 0 || fsync(put->fd) < 0))
		rc = -errno;
	if (!rc)
		rc = put_in_place(d, put, path, bytes);
	if (rc)
		depot__abort(d, put, rc);
	else
		clear_state(d);
	return rc;
}

/* --- logs of names --- */

int depot__read_names(struct depot *d, const char *id, size_t max_bytes, struct buf *ret)
{
	char path[PATH_MAX];

	if (!log_path_of(d, id, path))
		return -ENOENT;
	CLEANUP(fd__closep) int fd = open_file(path);
	int rc = fd < 0 ? fd : fd__read_all(fd, max_bytes, ret);
	if (!rc)
		note_use(d, fd);
	return rc;
}

bool depot__has_names(const struct depot *d, const char *id)
{
	char path[PATH_MAX];

	return log_path_of(d, id, path) && access(path, F_OK) == 0;
}

/* The folder of what begins like it. */
static bool has_folder(const struct depot *d, const char *id)
{
	char path[PATH_MAX];

	if (!log_path_of(d, id, path))
		return false;
	*strrchr(path, '/') = '\0';
	return access(path, F_OK) == 0;
}

bool depot__has_any(struct depot *d, const char *id)
{
	return has_folder(d, id) && (depot__tells(d, id, DEPOT_ELF) >= 0 ||
				     depot__tells(d, id, DEPOT_DEBUG) >= 0 || depot__has_names(d, id));
}

/*
 * A log that could not be written tells so; the next one that can be ends that, and no other state.
 * That there is another log than was thought (-ESTALE) says nothing about either.
 */
static int tell(struct depot *d, int rc)
{
	if (rc == -ESTALE)
		return rc;
	if (rc)
		set_state(d, "names cannot be written", rc);
	else if (d->log_failed)
		clear_state(d);
	d->log_failed = rc != 0;
	return rc;
}

static int append(int fd, uint64_t at, const struct buf *bytes)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != at)
		return -ESTALE;
	rc = fd__write_all(fd, bytes->data, bytes->n);
	/* A part of a frame would do no harm but waste its room. */
	if (rc && ftruncate(fd, st.st_size) < 0)
		return -ESTALE;
	return rc;
}

int depot__append_names(struct depot *d, const char *id, uint64_t at, const struct buf *bytes)
{
	int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
		    (at ? 0 : O_CREAT | O_EXCL);
	char path[PATH_MAX];
	int rc = 0;

	if (!depot__writes(d))
		return -EROFS;
	if (!log_path_of(d, id, path))
		return -EINVAL;
	if (!at)
		rc = make_folder(path);
	CLEANUP(fd__closep) int fd = rc ? -1 : open(path, flags, 0600);
	if (!rc && fd < 0)
		rc = errno == ENOENT || errno == EEXIST ? -ESTALE : -errno;
	if (!rc)
		rc = append(fd, at, bytes);
	if (!rc)
		count_log(d, at ? 0 : 1, on_disk(at + bytes->n) - on_disk(at));
	else if (!at && fd >= 0)
		unlink(path);
	return tell(d, rc);
}

int depot__replace_names(struct depot *d, const char *id, const struct buf *bytes)
{
	char path[PATH_MAX];
	struct depot_put put;
	int rc;

	if (!depot__writes(d))
		return -EROFS;
	if (!log_path_of(d, id, path))
		return -EINVAL;
	rc = depot__begin(d, &put);
	if (!rc)
		rc = fd__write_all(put.fd, bytes->data, bytes->n);
	if (!rc && fsync(put.fd) < 0)
		rc = -errno;
	if (!rc)
		rc = put_in_place(d, &put, path, bytes->n);
	if (rc)
		drop_put(&put);
	return tell(d, rc);
}

static void note_use_of(const struct depot *d, const char *path)
{
	CLEANUP(fd__closep) int fd = open_file(path);

	if (fd >= 0)
		note_use(d, fd);
}

void depot__note_use(const struct depot *d, const char *id)
{
	char path[PATH_MAX];

	for (enum depot_kind kind = 0; kind < DEPOT_N_KINDS; kind++)
		if (path_of(d, id, kind, path))
			note_use_of(d, path);
	if (log_path_of(d, id, path))
		note_use_of(d, path);
}

/* False: it was not there. *ret_bytes: what it took there. */
static bool remove_path(const struct depot *d, const char *path, int64_t *ret_bytes)
{
	struct stat st;

	if (!depot__writes(d) || lstat(path, &st) < 0 || unlink(path) < 0)
		return false;
	*ret_bytes = on_disk((uint64_t)st.st_size);
	return true;
}

void depot__remove(struct depot *d, const char *build_id, enum depot_kind kind)
{
	uint64_t no_counter = 0;
	char path[PATH_MAX];
	int64_t bytes;

	if (path_of(d, build_id, kind, path) && remove_path(d, path, &bytes))
		count(d, &no_counter, -1, -bytes);
}

void depot__remove_names(struct depot *d, const char *id)
{
	char path[PATH_MAX];
	int64_t bytes;

	if (log_path_of(d, id, path) && remove_path(d, path, &bytes))
		count_log(d, -1, -bytes);
}

/* --- what goes --- */

enum { N_FOLDERS = 256, ASIDE = N_FOLDERS }; /* of .build-id, by their number */

struct stored {
	int64_t used_s, bytes;
	uint16_t folder;
	char name[ELF_BUILD_ID_TEXT + 8];
};
typedef VEC(struct stored) stored_list;

static int longest_unused_first(const void *a, const void *b)
{
	const struct stored *x = a, *y = b;

	return (x->used_s > y->used_s) - (x->used_s < y->used_s);
}

static void folder_path(const struct depot *d, unsigned folder, char ret[static PATH_MAX])
{
	if (folder == ASIDE)
		snprintf(ret, PATH_MAX, "%s/aside", d->dir);
	else
		snprintf(ret, PATH_MAX, "%s/.build-id/%02x", d->dir, folder);
}

/* What is in it and may be ours. */
static int list_folder(const struct depot *d, unsigned folder, stored_list *ret)
{
	char path[PATH_MAX];
	struct dirent *e;
	int rc = 0;

	folder_path(d, folder, path);
	DIR *dir = opendir(path);
	while (dir && !rc && (e = readdir(dir))) {
		struct stored f = { .folder = (uint16_t)folder };
		struct stat st;
		size_t n = strlen(e->d_name);

		if (e->d_name[0] == '.' || n >= sizeof(f.name) ||
		    fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		memcpy(f.name, e->d_name, n + 1);
		f.used_s = st.st_mtime;
		f.bytes = on_disk((uint64_t)st.st_size);
		rc = vec__push(ret, f) ? 0 : -ENOMEM;
	}
	if (dir)
		closedir(dir);
	return rc;
}

static int list_all(const struct depot *d, stored_list *ret)
{
	int rc = 0;

	for (unsigned i = 0; i <= ASIDE && !rc; i++)
		rc = list_folder(d, i, ret);
	return rc;
}

static bool remove_stored(const struct depot *d, const struct stored *f)
{
	char folder[PATH_MAX], path[PATH_MAX];

	folder_path(d, f->folder, folder);
	return snprintf(path, sizeof(path), "%s/%s", folder, f->name) < (int)sizeof(path) &&
	       unlink(path) == 0;
}

/* Bytes and files as they are; 0 or -ENOMEM. */
static int recount(struct depot *d, stored_list *files)
{
	uint64_t bytes = 0, n_logs = 0;
	int rc = list_all(d, files);

	if (rc)
		return rc;
	for (size_t i = 0; i < files->n; i++) {
		bytes += (uint64_t)files->v[i].bytes;
		n_logs += depot__is_log(files->v[i].name);
	}
	pthread_mutex_lock(&d->lock);
	d->counts.bytes = bytes;
	d->counts.n_logs = n_logs;
	d->counts.n_files = files->n - n_logs;
	pthread_mutex_unlock(&d->lock);
	return 0;
}

static bool is_due(struct depot *d, int64_t now_s)
{
	struct depot_stat s;

	depot__stat(d, &s);
	return s.bytes > d->config.max_bytes || now_s - d->tended_s >= TEND_EVERY_S || now_s < d->tended_s;
}

void depot__tend(struct depot *d)
{
	int64_t now_s = clock__real(d->config.clock) / SECOND_NS;
	int64_t oldest_s = d->config.max_age_ns ? now_s - d->config.max_age_ns / SECOND_NS : INT64_MIN;
	stored_list files = { 0 };
	struct depot_stat s;

	if (!depot__writes(d) || !is_due(d, now_s) || recount(d, &files) < 0) {
		vec__fini(&files);
		return;
	}
	d->tended_s = now_s;
	if (files.n > 1)
		qsort(files.v, files.n, sizeof(*files.v), longest_unused_first);
	depot__stat(d, &s);
	for (size_t i = 0; i < files.n; i++) {
		bool old = files.v[i].used_s < oldest_s;

		if (!old && s.bytes <= d->config.max_bytes)
			break;
		if (!remove_stored(d, &files.v[i]))
			continue;
		s.bytes -= (uint64_t)files.v[i].bytes;
		bool log = depot__is_log(files.v[i].name);
		count(d, old ? &d->counts.n_expired : &d->counts.n_evicted, log ? 0 : -1,
		      -files.v[i].bytes);
		count_log(d, log ? -1 : 0, 0);
	}
	vec__fini(&files);
}

/* --- the object --- */

/* What was being written when a process ended. */
static void remove_leftovers(const struct depot *d)
{
	DIR *dir = opendir(d->dir);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (strncmp(e->d_name, "new-", 4) == 0)
			unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
}

/* The directory is ours to write, or the state says why not. */
static void take(struct depot *d)
{
	char path[PATH_MAX];
	int rc, fd;

	if (snprintf(path, sizeof(path), "%s/aside", d->dir) >= (int)sizeof(path)) {
		set_state(d, "the path", -ENAMETOOLONG);
		return;
	}
	rc = fd__mkdirs(path, 0700);
	if (!rc && chmod(d->dir, 0700) < 0)
		rc = -errno;
	if (rc) {
		set_state(d, "cannot be made", rc);
		return;
	}
	snprintf(path, sizeof(path), "%s/LOCK", d->dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) {
		rc = -errno;
		if (rc == -EWOULDBLOCK)
			set_state(d, "another process writes it", 0);
		else
			set_state(d, "cannot be locked", rc);
		fd__close(fd);
		return;
	}
	d->lock_fd = fd;
	remove_leftovers(d);
}

int depot__new(const struct depot_config *config, struct depot **ret)
{
	struct depot *d = NEW(struct depot);
	stored_list files = { 0 };
	int rc;

	if (!d)
		return -ENOMEM;
	d->config = *config;
	d->lock_fd = -1;
	pthread_mutex_init(&d->lock, NULL);
	d->dir = mem__dup_str(config->dir, strlen(config->dir));
	rc = d->dir && strlen(d->dir) < PATH_MAX - 2 * ELF_BUILD_ID_TEXT ? 0 : -ENOMEM;
	if (!rc && !config->read_only)
		take(d);
	if (!rc)
		rc = recount(d, &files);
	vec__fini(&files);
	if (rc) {
		depot__free(d);
		return rc;
	}
	*ret = d;
	return 0;
}

void depot__free(struct depot *d)
{
	if (!d)
		return;
	fd__close(d->lock_fd);
	free(d->dir);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

const char *depot__dir(const struct depot *d)
{
	return d->dir;
}
