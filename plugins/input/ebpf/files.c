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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
	struct file *buckets[BUCKETS], *by_build_id[BUCKETS];
	uint32_t n;
	_Atomic uint32_t waiting;
	struct file *gone, *denied, *no_code;			 /* constant files */
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
	t->host->offer_file(t->host, str__of(f->build_id), str__of(f->path), fd);
	f->offered = true;
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
	t->gone = file_new(STR(""), DCM_UNNAMED_FILE_GONE);
	t->denied = file_new(STR(""), DCM_UNNAMED_NO_PERMISSION);
	t->no_code = file_new(STR(""), DCM_UNNAMED_BAD_FILE);
	if (!t->gone || !t->denied || !t->no_code) {
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
	file__unref(t->vdso);
	free(t);
}

/*
 * By path inside the process's root (ours when it is gone), without following a link out of it; only
 * when it is the file that is mapped: that has the inode, or will be asked for its build id.
 */
static int open_by_path(const struct dcm_host *host, int proc_dir, const struct maps_range *range)
{
	struct dcm_guarded g = { .size = sizeof(g), .what = DCM_GUARDED_CODE, .path = range->name.p };
	CLEANUP(fd__closep) int root = -1;
	CLEANUP(fd__closep) int fd = -1;
	struct stat st;

	root = proc_dir < 0 ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
			    : guarded__open(host, proc_dir, DCM_GUARDED_ROOT);
	if (root < 0)
		return proc_dir < 0 ? -errno : root;
	g.dir = root;
	fd = host->open_guarded(host, &g);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	/* The device is not compared: btrfs and overlayfs show another one here than in maps. */
	if (range->n_build_id == 0 && st.st_ino != range->ino)
		return -ENOENT;
	return take_fd(fd);
}

static bool has_build_id(const struct files *t, int fd, const char *build_id)
{
	char found[129];

	return t->host->build_id(t->host, fd, found) == 0 && strcmp(found, build_id) == 0;
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
 * mapped there since. btrfs and overlayfs show another device and inode here than in maps, but the
 * same path.
 */
static bool is_of_range(const struct files *t, int fd, const struct maps_range *range,
			const char *build_id, struct stat *ret_stat)
{
	if (fstat(fd, ret_stat) < 0)
		return false;
	if (build_id)
		return has_build_id(t, fd, build_id);
	if (ret_stat->st_dev == makedev(range->major, range->minor))
		return ret_stat->st_ino == range->ino;
	return has_path(fd, range->name);
}

/*
 * The mapped file itself, whatever its name is now: a descriptor, or a negative errno. With
 * `build_id` it has that. The inode alone, without the process, would prove nothing.
 */
static int open_mapped(const struct files *t, int proc_dir, const struct maps_range *range,
		       const char *build_id, struct stat *ret_stat)
{
	const struct dcm_guarded g = { .size = sizeof(g),
				       .what = DCM_GUARDED_MAPPED,
				       .dir = proc_dir,
				       .start = range->start,
				       .end = range->end };
	CLEANUP(fd__closep) int mapped = -ESRCH;
	CLEANUP(fd__closep) int named = -ESRCH;

	if (proc_dir < 0 && !build_id)
		return -ESRCH;
	if (proc_dir >= 0)
		mapped = t->host->open_guarded(t->host, &g);
	if (mapped >= 0 && is_of_range(t, mapped, range, build_id, ret_stat))
		return take_fd(mapped);
	named = open_by_path(t->host, proc_dir, range);
	/* JIT code in a file without a name is no ELF file, rather than gone. */
	if (named < 0)
		return mapped == -ENOEXEC ? mapped : named;
	if (fstat(named, ret_stat) < 0)
		return -errno;
	if (build_id && !has_build_id(t, named, build_id))
		return -ENOENT;
	return take_fd(named);
}

static struct file **bucket_of(struct files *t, const struct stat *st)
{
	return &t->buckets[hash__mix(hash__mix(0, st->st_dev), st->st_ino) % BUCKETS];
}

static int64_t mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static struct file **build_id_bucket_of(struct files *t, const char *build_id)
{
	return &t->by_build_id[hash__bytes(build_id, strlen(build_id), 0) % BUCKETS];
}

static struct file *find(struct files *t, const struct stat *st)
{
	for (struct file *f = *bucket_of(t, st); f; f = f->next)
		if (f->dev == st->st_dev && f->ino == st->st_ino && f->mtime_ns == mtime_ns(st) &&
		    f->size == (uint64_t)st->st_size)
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

static struct file *find_by_build_id(struct files *t, const char *build_id, struct dcm_str name)
{
	for (struct file *f = *build_id_bucket_of(t, build_id); f; f = f->next_by_build_id)
		if (strcmp(f->build_id, build_id) == 0 && is_path_of(f, name))
			return f;
	return NULL;
}

/* st: all zero for a file that could not be opened. */
static void insert(struct files *t, const struct stat *st, struct file *f)
{
	struct file **bucket = bucket_of(t, st), **by_build_id = build_id_bucket_of(t, f->build_id);

	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->mtime_ns = mtime_ns(st);
	f->size = (uint64_t)st->st_size;
	f->next = *bucket;
	*bucket = f;
	f->next_by_build_id = *by_build_id;
	*by_build_id = f;
	t->n++;
}

static void remove_from(struct files *t, struct file *f)
{
	const struct stat st = { .st_dev = f->dev, .st_ino = f->ino };
	struct file **at = bucket_of(t, &st);

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	at = build_id_bucket_of(t, f->build_id);
	while (*at != f)
		at = &(*at)->next_by_build_id;
	*at = f->next_by_build_id;
	t->n--;
}

static struct file *add_opened(struct files *t, const struct stat *st, struct dcm_str name, int fd)
{
	struct file *f;

	if (t->n >= FILES_MAX)
		return NULL;
	/* A file that still has a name may well be called "x (deleted)". */
	f = file_new(st->st_nlink == 0 ? labels__without_deleted(name) : name, 0);
	if (!f)
		return NULL;
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	f->mtime_ns = mtime_ns(st);
	f->size = (uint64_t)st->st_size;
	str__clean(f->path, strlen(f->path));
	identify(t, f, fd);
	insert(t, st, f);
	return f;
}

static struct file *of_opened(struct files *t, int fd, const struct stat *st, struct dcm_str name)
{
	struct file *f = find(t, st);

	if (!f)
		f = add_opened(t, st, name, fd);
	if (f)
		keep_for_offer(t, f, fd);
	else
		fd__close(fd);
	return f;
}

/* A file that cannot be opened yet, but whose build id the kernel saw. */
static struct file *add_unopened(struct files *t, const char *build_id, struct dcm_str name)
{
	const struct stat none = { 0 };
	struct file *f = t->n < FILES_MAX ? file_new(name, DCM_UNNAMED_NOT_TRIED) : NULL;

	if (!f)
		return NULL;
	str__clean(f->path, strlen(f->path));
	f->is_code = f->is_unopened = true;
	snprintf(f->build_id, sizeof(f->build_id), "%s", build_id);
	insert(t, &none, f);
	return f;
}

/*
 * It was opened after all. Path, build id and the rest are what they were, so that a window which
 * refers to it need not know. Takes the descriptor.
 */
static void found_after_all(struct files *t, struct file *f, const struct stat *st, int fd)
{
	remove_from(t, f);
	insert(t, st, f);
	f->is_unopened = false;
	keep_for_offer(t, f, fd);
}

void file__build_id_text(const struct maps_range *range, char ret[static FILE_BUILD_ID_TEXT])
{
	ret[0] = 0;
	for (uint32_t i = 0; i < range->n_build_id; i++)
		snprintf(ret + 2 * i, FILE_BUILD_ID_TEXT - 2 * i, "%02x", range->build_id[i]);
}

bool files__may_retry(const struct file *f, uint32_t window)
{
	return f->is_unopened && (f->last_window != window || f->n_tries < TRIES);
}

void files__retry(struct files *t, int proc_dir, const struct maps_range *range, uint32_t window)
{
	struct file *f = range->file;
	struct stat st;
	int fd;

	if (!files__may_retry(f, window))
		return;
	f->n_tries = f->last_window == window ? f->n_tries + 1 : 1;
	f->last_window = window;
	fd = open_mapped(t, proc_dir, range, f->build_id, &st);
	if (fd >= 0)
		found_after_all(t, f, &st, fd);
}

/* Known by build id and path; opened when a process comes by that is alive. */
static struct file *of_build_id(struct files *t, int proc_dir, const struct maps_range *range)
{
	char build_id[FILE_BUILD_ID_TEXT];
	struct file *f;
	struct stat st;
	int fd;

	file__build_id_text(range, build_id);
	f = find_by_build_id(t, build_id, range->name);
	if (f && (!f->is_unopened || proc_dir < 0))
		return f;
	fd = open_mapped(t, proc_dir, range, build_id, &st);
	if (fd < 0)
		return f ? f : add_unopened(t, build_id, range->name);
	if (!f)
		return of_opened(t, fd, &st, range->name);
	found_after_all(t, f, &st, fd);
	return f;
}

/* The file that another process has shown already, when this one is gone. */
static struct file *find_by_inode(struct files *t, const struct maps_range *range)
{
	const struct stat st = { .st_dev = makedev(range->major, range->minor), .st_ino = range->ino };

	for (struct file *f = *bucket_of(t, &st); f; f = f->next)
		if (f->dev == st.st_dev && f->ino == st.st_ino && is_path_of(f, range->name))
			return f;
	return NULL;
}

static struct file *of_inode(struct files *t, int proc_dir, const struct maps_range *range)
{
	struct file *known = proc_dir < 0 ? find_by_inode(t, range) : NULL;
	struct stat st;
	int fd;

	if (known)
		return known;
	fd = open_mapped(t, proc_dir, range, NULL, &st);
	if (fd == -ENOEXEC)
		return t->no_code;
	if (fd < 0)
		return fd == -EACCES || fd == -EPERM ? t->denied : t->gone;
	return of_opened(t, fd, &st, range->name);
}

struct file *files__known(struct files *t, const struct maps_range *range, uint32_t window)
{
	char build_id[FILE_BUILD_ID_TEXT];
	struct file *f;

	if (range->n_build_id == 0)
		return NULL;
	file__build_id_text(range, build_id);
	f = find_by_build_id(t, build_id, range->name);
	if (!f || f->is_unopened)
		return NULL;
	f->last_window = window;
	return file__ref(f);
}

struct file *files__of(struct files *t, int proc_dir, const struct maps_range *range, uint32_t window)
{
	struct file *f;

	if (range->kind == DCM_MAPPING_VDSO)
		return file__ref(t->vdso ? t->vdso : t->gone);
	f = range->n_build_id ? of_build_id(t, proc_dir, range) : of_inode(t, proc_dir, range);
	if (!f)
		return file__ref(t->gone);
	f->last_window = window;
	return file__ref(f);
}

void files__sweep(struct files *t, uint32_t window)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (struct file *f = t->buckets[i], *next; f; f = next) {
			next = f->next;
			if (atomic_load_explicit(&f->refs, memory_order_acquire) > 1 ||
			    f->last_window + KEEP_WINDOWS >= window)
				continue;
			remove_from(t, f);
			if (f->offer_fd >= 0)
				atomic_fetch_sub(&t->waiting, 1);
			file__unref(f);
		}
}

uint32_t files__count(const struct files *t)
{
	return t->n;
}
