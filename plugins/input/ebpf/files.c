/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/files.c - the files that processes run code from, told apart by what they are
 *
 * Descriptors waiting to be offered are bounded; a file that found no room is offered when the next
 * process is seen to map it. Sources: proc(5) for map_files and root, openat2(2).
 */
#include "plugins/input/ebpf/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/guarded.h"
#include "plugins/input/ebpf/labels.h"
#include "plugins/input/ebpf/maps.h"
#include "plugins/input/ebpf/wall.h"

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20 /* Linux 5.12 */
#endif

enum {
	BUCKETS = 1024,
	FILES_MAX = 16384,
	WAITING_MAX = 256,	    /* descriptors to be offered */
	KEEP_WINDOWS = 2,	    /* that a file is remembered without a user */
	TRIES = 8,		    /* to open a file, in a window */
	VDSO_BYTES_MAX = 64 * 1024, /* of its image; two pages today */
};

struct files {
	const struct dcm_host *host;
	struct file *buckets[BUCKETS], *by_inode[BUCKETS];
	struct wall wall;
	uint32_t n;
	_Atomic uint32_t waiting;
	struct file *gone, *denied, *no_code, *unanswered, *no_room; /* constant files */
	uint32_t window, forgot_window;
	struct files_silence silence;
	struct file *vdso;					 /* NULL: none to be read */
	void (*opened)(void *ctx, const struct file *f, int fd); /* NULL: nobody asked */
	void *opened_ctx;
};

static struct file *file_new(struct dcm_str path, enum dcm_unnamed why)
{
	struct file *f = NEW(struct file);

	if (!f)
		return NULL;
	f->refs = 1;
	f->offer_fd = -1;
	f->why = why;
	f->path = mem__dup_str(path.p, path.n);
	if (!f->path) {
		free(f);
		return NULL;
	}
	return f;
}

void file__unref(struct file *f)
{
	if (!f || atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) > 1)
		return;
	fd__close(f->offer_fd);
	free(f->path);
	free(f);
}

/* Our own vDSO as a file. The kernel maps the image whole, section headers included. */
static int vdso_copy(void)
{
	const Elf64_Ehdr *image = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	CLEANUP(fd__closep) int fd = -1;
	size_t n;

	if (!image || memcmp(image->e_ident, ELFMAG, SELFMAG) != 0)
		return -1;
	n = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
	if (n < sizeof(*image) || n > VDSO_BYTES_MAX)
		return -1;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0 || fd__write_all(fd, image, n) < 0)
		return -1;
	return take_fd(fd);
}

/* Asks the host what the file is, and fills in the rest. */
static void identify(struct files *t, struct file *f, int fd)
{
	struct {
		uint64_t dev, ino, size;
		int64_t mtime_ns;
	} id = { f->dev, f->ino, f->size, f->mtime_ns };
	int r = t->host->build_id(t->host, fd, f->build_id);

	f->is_code = r == 0 || r == -ENODATA;
	if (r == -ENODATA)
		snprintf(f->build_id, sizeof(f->build_id), "~%016" PRIx64,
			 hash__bytes(&id, sizeof(id), 0));
	else if (r < 0)
		f->build_id[0] = 0;
	f->why = f->is_code ? DCM_UNNAMED_NOT_TRIED : DCM_UNNAMED_BAD_FILE;
}

/* Keeps the descriptor for files__offer(), when there is room. Takes it. */
static void keep_for_offer(struct files *t, struct file *f, int fd)
{
	int none = -1;

	if (f->is_code && t->opened)
		t->opened(t->opened_ctx, f, fd);
	if (f->is_code && !f->offered) {
		if (atomic_fetch_add(&t->waiting, 1) < WAITING_MAX &&
		    atomic_compare_exchange_strong(&f->offer_fd, &none, fd))
			return;
		atomic_fetch_sub(&t->waiting, 1);
	}
	fd__close(fd);
}

void files__offer(struct files *t, struct file *f)
{
	int fd = atomic_exchange(&f->offer_fd, -1);

	if (fd < 0)
		return;
	/* Before it is read, which takes time: nobody need open it for that once more. */
	f->offered = true;
	t->host->offer_file(t->host, str__of(f->build_id), str__of(f->path), fd);
	fd__close(fd);
	atomic_fetch_sub(&t->waiting, 1);
}

static void vdso_make(struct files *t)
{
	int fd = vdso_copy();

	if (fd < 0)
		return;
	t->vdso = file_new(STR("[vdso]"), DCM_UNNAMED_NOT_TRIED);
	if (!t->vdso) {
		fd__close(fd);
		return;
	}
	identify(t, t->vdso, fd);
	keep_for_offer(t, t->vdso, fd);
}

void files__on_open(struct files *t, void (*opened)(void *ctx, const struct file *f, int fd), void *ctx)
{
	t->opened = opened;
	t->opened_ctx = ctx;
	if (opened && t->vdso && t->vdso->offer_fd >= 0)
		opened(ctx, t->vdso, t->vdso->offer_fd);
}

struct files *files__new(const struct dcm_host *host)
{
	struct files *t = NEW(struct files);

	if (!t)
		return NULL;
	t->host = host;
	wall__init(&t->wall, host);
	t->gone = file_new(STR(""), DCM_UNNAMED_FILE_GONE);
	t->denied = file_new(STR(""), DCM_UNNAMED_NO_PERMISSION);
	t->no_code = file_new(STR(""), DCM_UNNAMED_BAD_FILE);
	t->unanswered = file_new(STR(""), DCM_UNNAMED_NOT_ANSWERED);
	t->no_room = file_new(STR(""), DCM_UNNAMED_NOT_HERE);
	if (!t->gone || !t->denied || !t->no_code || !t->unanswered || !t->no_room) {
		files__free(t);
		return NULL;
	}
	vdso_make(t);
	return t;
}

void files__free(struct files *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < BUCKETS; i++)
		while (t->buckets[i]) {
			struct file *f = t->buckets[i];

			t->buckets[i] = f->next;
			file__unref(f);
		}
	file__unref(t->gone);
	file__unref(t->denied);
	file__unref(t->no_code);
	file__unref(t->no_room);
	file__unref(t->unanswered);
	file__unref(t->vdso);
	free(t);
}

/* A path inside the process's root (ours when it is gone), without following a link out of it. */
static int open_named(const struct dcm_host *host, int proc_dir, const char *path)
{
	struct dcm_guarded g = { .size = sizeof(g), .what = DCM_GUARDED_CODE, .path = path };
	CLEANUP(fd__closep) int root = -1;

	root = proc_dir < 0 ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
			    : guarded__open(host, proc_dir, DCM_GUARDED_ROOT);
	if (root < 0)
		return proc_dir < 0 ? -errno : root;
	g.dir = root;
	return host->open_guarded(host, &g);
}

/* The same, only when it has the mapping's inode. */
static int open_by_path(const struct dcm_host *host, int proc_dir, const struct maps_range *range,
			struct stat *ret_stat)
{
	CLEANUP(fd__closep) int fd = open_named(host, proc_dir, range->name.p);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_stat) < 0)
		return -errno;
	return inode__agrees(fd, ret_stat, range) ? take_fd(fd) : -ENOENT;
}

static bool has_path(int fd, struct dcm_str name)
{
	char self[40], link[4096];
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, link, sizeof(link));
	return n >= 0 && (size_t)n == name.n && memcmp(link, name.p, name.n) == 0;
}

/*
 * What was opened by the mapping's addresses is what the range is of: another file may have been
 * mapped there since. Where device and inode cannot be compared, the path is.
 */
static bool is_of_range(int fd, const struct maps_range *range, struct stat *ret_stat)
{
	if (fstat(fd, ret_stat) < 0)
		return false;
	if (ret_stat->st_dev == makedev(range->major, range->minor))
		return inode__agrees(fd, ret_stat, range);
	return has_path(fd, range->name);
}

/*
 * The mapped file itself, whatever its name is now, through the process: a descriptor or a negative
 * errno.
 */
static int open_mapped(const struct files *t, int proc_dir, const struct maps_range *range,
		       struct stat *ret_stat)
{
	const struct dcm_guarded g = { .size = sizeof(g),
				       .what = DCM_GUARDED_MAPPED,
				       .dir = proc_dir,
				       .start = range->start,
				       .end = range->end };
	CLEANUP(fd__closep) int mapped = t->host->open_guarded(t->host, &g);
	int named;

	if (mapped >= 0 && is_of_range(mapped, range, ret_stat))
		return take_fd(mapped);
	if (mapped == -ETIMEDOUT)
		return mapped;
	named = open_by_path(t->host, proc_dir, range, ret_stat);
	/* JIT code in a file without a name is no ELF file, rather than gone. */
	return named < 0 && mapped == -ENOEXEC ? mapped : named;
}

/*
 * The file of a process that is gone, by its path from our root, when it is certainly the one that
 * was mapped: the same inode, which has not been written since then. Where no generation tells the
 * inode from a later one, nothing at all may have changed about it since: not even that it was
 * made.
 */
static int open_proven(struct files *t, const struct maps_range *range, struct stat *ret_stat)
{
	CLEANUP(fd__closep) int fd = -1;
	uint64_t generation;
	bool is_proven;

	fd = open_by_path(t->host, -1, range, ret_stat);
	if (fd < 0)
		return fd;
	is_proven = range->is_told && inode__generation(fd, &generation);
	wall__look(&t->wall, t->host);
	if (!inode__device_agrees(fd, ret_stat, range) ||
	    !wall__was_over(&t->wall, inode__date_ns(is_proven ? ret_stat->st_mtim : ret_stat->st_ctim),
			    range->time_ns))
		return -ENOENT;
	return take_fd(fd);
}

static struct file **bucket_of(struct files *t, const struct stat *st)
{
	return &t->buckets[hash__mix(hash__mix(0, st->st_dev), st->st_ino) % BUCKETS];
}

static struct file **inode_bucket_of(struct files *t, uint32_t major, uint32_t minor, uint64_t number)
{
	return &t->by_inode[hash__mix(hash__mix(0, makedev(major, minor)), number) % BUCKETS];
}

static bool is_stat_of(const struct file *f, const struct stat *st)
{
	return f->dev == st->st_dev && f->ino == st->st_ino;
}

static bool is_unchanged(const struct file *f, const struct stat *st)
{
	return f->mtime_ns == inode__date_ns(st->st_mtim) && f->size == (uint64_t)st->st_size;
}

static struct file *find(struct files *t, const struct stat *st)
{
	for (struct file *f = *bucket_of(t, st); f; f = f->next)
		if (is_stat_of(f, st) && is_unchanged(f, st))
			return f;
	return NULL;
}

/* Paths were cleaned, and those of files without a name cut, when they were kept. */
static bool is_path_of(const struct file *f, struct dcm_str name)
{
	size_t n = strlen(f->path);

	if (n != name.n && n != labels__without_deleted(name).n)
		return false;
	return memcmp(f->path, name.p, n) == 0 || !str__is_utf8(name);
}

/* As fstat(), of what is known without asking a server. */
static int stat_cached(int fd, struct stat *ret)
{
	struct statx now;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &now) < 0)
		return -errno;
	*ret = (struct stat){
		.st_dev = makedev(now.stx_dev_major, now.stx_dev_minor),
		.st_ino = now.stx_ino,
		.st_size = (off_t)now.stx_size,
		.st_mtim = { now.stx_mtime.tv_sec, now.stx_mtime.tv_nsec },
	};
	return 0;
}

/*
 * Opened by what the kernel remembers: -EAGAIN when that does not tell, before Linux 5.12, which
 * cannot be asked, and in a sandbox that does not know the call. Source: openat2(2),
 * RESOLVE_CACHED.
 */
static int open_cached(const char *path)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED };
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	if (fd >= 0)
		return (int)fd;
	return errno == EINVAL || errno == ENOSYS || errno == EPERM ? -EAGAIN : -errno;
}

/*
 * What a path leads to from here. Whoever names the path must not have the reader wait for a server
 * that is dead: so the kernel's memory is asked, and, for a process that is gone and so cannot be
 * asked itself, the host, whose broker gives up after a second. -EAGAIN when neither tells.
 */
static int look_at(const struct files *t, const char *path, bool is_gone, struct stat *ret)
{
	CLEANUP(fd__closep) int fd = open_cached(path);

	if (fd == -EAGAIN && is_gone)
		fd = open_named(t->host, -1, path);
	if (fd < 0)
		return fd == -ETIMEDOUT ? -EAGAIN : fd;
	return stat_cached(fd, ret);
}

/*
 * The file that has the mapping's inode. What its path leads to from here, if that is the same
 * file, tells whether it was written since it was opened. Elsewhere (another root, no name any
 * more) the inode alone must do, if it is like no other; for a process that is gone, and so cannot
 * show its file, so does inode and path. NULL too when it cannot be told where the path leads to.
 */
static struct file *find_known(struct files *t, const struct maps_range *range, bool is_gone)
{
	struct file *f = *inode_bucket_of(t, range->major, range->minor, range->ino);
	struct stat st = { 0 };
	bool has_looked = false;
	int there = 0;

	for (; f; f = f->next_by_inode) {
		if (!inode__is_of(&f->inode, range))
			continue;
		if (!has_looked)
			there = look_at(t, range->name.p, is_gone, &st);
		has_looked = true;
		if (there == -EAGAIN)
			return NULL;
		if (there == 0 && is_stat_of(f, &st)) {
			if (is_unchanged(f, &st))
				return f;
			continue;
		}
		if ((range->is_told && f->inode.is_unique) || (is_gone && is_path_of(f, range->name)))
			return f;
	}
	return NULL;
}

static void insert_by_inode(struct files *t, struct file *f, const struct inode *inode)
{
	struct file **bucket = inode_bucket_of(t, inode->major, inode->minor, inode->number);

	f->inode = *inode;
	f->next_by_inode = *bucket;
	*bucket = f;
}

static void remove_by_inode(struct files *t, struct file *f)
{
	struct file **at = inode_bucket_of(t, f->inode.major, f->inode.minor, f->inode.number);

	while (*at != f)
		at = &(*at)->next_by_inode;
	*at = f->next_by_inode;
}

static void insert(struct files *t, const struct inode *inode, struct file *f)
{
	const struct stat st = { .st_dev = f->dev, .st_ino = f->ino };
	struct file **bucket = bucket_of(t, &st);

	f->next = *bucket;
	*bucket = f;
	insert_by_inode(t, f, inode);
	t->n++;
}

static void remove_from(struct files *t, struct file *f)
{
	const struct stat st = { .st_dev = f->dev, .st_ino = f->ino };
	struct file **at = bucket_of(t, &st);

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	remove_by_inode(t, f);
	t->n--;
}

/* What nobody refers to, and no window has met lately. */
static void forget(struct files *t, uint32_t keep_windows)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (struct file *f = t->buckets[i], *next; f; f = next) {
			next = f->next;
			if (atomic_load_explicit(&f->refs, memory_order_acquire) > 1 ||
			    f->last_window + keep_windows >= t->window)
				continue;
			remove_from(t, f);
			if (f->offer_fd >= 0)
				atomic_fetch_sub(&t->waiting, 1);
			file__unref(f);
		}
}

static struct file *add_opened(struct files *t, const struct stat *st,
			       const struct maps_range *range, int fd)
{
	const struct inode inode = inode__of(range, fd, st);
	struct file *f;

	/* At most once a window: it looks at all of them. */
	if (t->n >= FILES_MAX && t->forgot_window != t->window) {
		t->forgot_window = t->window;
		forget(t, 0);
	}
	if (t->n >= FILES_MAX)
		return t->no_room;
	/* A file that still has a name may well be called "x (deleted)". */
	f = file_new(st->st_nlink == 0 ? labels__without_deleted(range->name) : range->name, 0);
	if (!f)
		return NULL;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->mtime_ns = inode__date_ns(st->st_mtim);
	f->size = (uint64_t)st->st_size;
	str__clean(f->path, strlen(f->path));
	identify(t, f, fd);
	insert(t, &inode, f);
	return f;
}

/* The mapping names the file as the last one did, or in another way: what tells more is kept. */
static void name_again(struct files *t, struct file *f, const struct maps_range *range, int fd,
		       const struct stat *st)
{
	struct inode inode;

	if (inode__is_of(&f->inode, range))
		return;
	inode = inode__of(range, fd, st);
	remove_by_inode(t, f);
	insert_by_inode(t, f, &inode);
}

/* Takes the descriptor. */
static struct file *of_opened(struct files *t, int fd, const struct stat *st,
			      const struct maps_range *range)
{
	struct file *f = find(t, st);

	if (f)
		name_again(t, f, range, fd, st);
	else
		f = add_opened(t, st, range, fd);
	if (f && f != t->no_room)
		keep_for_offer(t, f, fd);
	else
		fd__close(fd);
	return f;
}

void files__tell_silence(struct files *t, struct dcm_str path)
{
	t->silence.n++;
	snprintf(t->silence.path, sizeof(t->silence.path), "%.*s", (int)path.n, path.p);
	str__clean(t->silence.path, strlen(t->silence.path));
}

const struct files_silence *files__silence(const struct files *t)
{
	return &t->silence;
}

enum dcm_unnamed files__why_not(int error)
{
	switch (error) {
	case -ETIMEDOUT:
	case -EAGAIN:
	case -EBUSY: /* the broker's, for more requests than it takes in a second */
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return DCM_UNNAMED_NOT_ANSWERED;
	case -EACCES:
	case -EPERM:
		return DCM_UNNAMED_NO_PERMISSION;
	default:
		return DCM_UNNAMED_FILE_GONE;
	}
}

static struct file *open_file(struct files *t, int proc_dir, const struct maps_range *range)
{
	struct stat st;
	int fd = proc_dir < 0 ? open_proven(t, range, &st) : open_mapped(t, proc_dir, range, &st);

	if (fd >= 0)
		return of_opened(t, fd, &st, range);
	if (fd == -ETIMEDOUT)
		files__tell_silence(t, range->name);
	if (files__why_not(fd) == DCM_UNNAMED_NOT_ANSWERED)
		return t->unanswered;
	/* What has the path now, and why it cannot be opened, says nothing of what was mapped. */
	if (proc_dir < 0)
		return t->gone;
	if (fd == -ENOEXEC)
		return t->no_code;
	return files__why_not(fd) == DCM_UNNAMED_NO_PERMISSION ? t->denied : t->gone;
}

/* A file that found no room among those to be offered is to be opened once more. */
static bool is_to_be_offered(const struct file *f)
{
	return f->is_code && !f->offered && f->offer_fd < 0;
}

struct file *files__known(struct files *t, const struct maps_range *range, uint32_t window)
{
	struct file *f = find_known(t, range, false);

	if (!f || is_to_be_offered(f))
		return NULL;
	f->last_window = window;
	return file__ref(f);
}

struct file *files__of(struct files *t, int proc_dir, const struct maps_range *range, uint32_t window)
{
	struct file *f;

	t->window = window;
	if (range->kind == DCM_MAPPING_VDSO)
		return file__ref(t->vdso ? t->vdso : t->gone);
	f = proc_dir < 0 ? find_known(t, range, true) : NULL;
	if (!f)
		f = open_file(t, proc_dir, range);
	if (!f)
		return file__ref(t->gone);
	f->last_window = window;
	return file__ref(f);
}

int files__open_gone(struct files *t, struct file *f, const struct maps_range *range)
{
	CLEANUP(fd__closep) int fd = -1;
	struct stat st;

	if (!f->is_code || f->is_out_of_reach)
		return -ENOENT;
	fd = open_proven(t, range, &st);
	if (fd >= 0 && is_stat_of(f, &st) && is_unchanged(f, &st))
		return take_fd(fd);
	f->is_out_of_reach = fd != -ETIMEDOUT;
	return -ENOENT;
}

bool files__may_retry(struct maps_range *range, uint32_t window)
{
	if (range->file->why != DCM_UNNAMED_FILE_GONE &&
	    range->file->why != DCM_UNNAMED_NOT_ANSWERED && range->file->why != DCM_UNNAMED_NOT_HERE)
		return false;
	if (range->tried_window != window)
		range->n_tries = 0;
	range->tried_window = window;
	if (range->n_tries == TRIES)
		return false;
	range->n_tries++;
	return true;
}

void files__sweep(struct files *t, uint32_t window)
{
	wall__next(&t->wall, t->host);
	t->window = window;
	forget(t, KEEP_WINDOWS);
}

uint32_t files__count(const struct files *t)
{
	return t->n;
}
