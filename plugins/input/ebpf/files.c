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
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/labels.h"
#include "plugins/input/ebpf/maps.h"

enum {
	BUCKETS = 1024,
	FILES_MAX = 16384,
	WAITING_MAX = 256,	    /* descriptors to be offered */
	KEEP_WINDOWS = 2,	    /* that a file is remembered without a user */
	VDSO_BYTES_MAX = 64 * 1024, /* of its image; two pages today */
};

struct files {
	const struct dcm_host *host;
	struct file *buckets[BUCKETS];
	uint32_t n;
	_Atomic uint32_t waiting;
	struct file *gone, *denied; /* constant files */
	struct file *vdso;	    /* NULL: none to be read */
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

struct files *files__new(const struct dcm_host *host)
{
	struct files *t = NEW(struct files);

	if (!t)
		return NULL;
	t->host = host;
	t->gone = file_new(STR(""), DCM_UNNAMED_FILE_GONE);
	t->denied = file_new(STR(""), DCM_UNNAMED_NO_PERMISSION);
	if (!t->gone || !t->denied) {
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
	file__unref(t->vdso);
	free(t);
}

/*
 * By path inside the process's root, without following a link out of it; only when it is the file
 * that is mapped.
 */
static int open_by_path(int proc_dir, const struct maps_range *range)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	CLEANUP(fd__closep) int root = openat(proc_dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(fd__closep) int at = -1;
	char self[64];
	struct stat st;
	int fd;

	if (root < 0)
		return -errno;
	at = (int)syscall(SYS_openat2, root, range->name.p, &how, sizeof(how));
	if (at < 0)
		return -errno;
	if (fstat(at, &st) < 0)
		return -errno;
	/* The device is not compared: btrfs and overlayfs show another one here than in maps. */
	if (!S_ISREG(st.st_mode) || st.st_ino != range->ino)
		return -ENOENT;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	fd = open(self, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The mapped file itself, whatever its name is now: a descriptor, or a negative errno. */
static int open_mapped(int proc_dir, const struct maps_range *range, struct stat *ret_stat)
{
	char link[64];
	int fd;

	if (proc_dir < 0)
		return -ESRCH;
	snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64, range->start, range->end);
	fd = openat(proc_dir, link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		fd = open_by_path(proc_dir, range);
	if (fd < 0)
		return fd;
	if (fstat(fd, ret_stat) < 0 || !S_ISREG(ret_stat->st_mode)) {
		fd__close(fd);
		return -ENOENT;
	}
	return fd;
}

static struct file **bucket_of(struct files *t, const struct stat *st)
{
	return &t->buckets[hash__mix(hash__mix(0, st->st_dev), st->st_ino) % BUCKETS];
}

static int64_t mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static struct file *find(struct files *t, const struct stat *st)
{
	for (struct file *f = *bucket_of(t, st); f; f = f->next)
		if (f->dev == st->st_dev && f->ino == st->st_ino && f->mtime_ns == mtime_ns(st) &&
		    f->size == (uint64_t)st->st_size)
			return f;
	return NULL;
}

static struct file *insert(struct files *t, const struct stat *st, struct dcm_str name, int fd)
{
	struct file **bucket = bucket_of(t, st);
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
	f->next = *bucket;
	*bucket = f;
	t->n++;
	return f;
}

struct file *files__of(struct files *t, int proc_dir, const struct maps_range *range, uint32_t window)
{
	struct stat st;
	struct file *f;
	int fd;

	if (range->kind == DCM_MAPPING_VDSO)
		return file__ref(t->vdso ? t->vdso : t->gone);
	fd = open_mapped(proc_dir, range, &st);
	if (fd < 0)
		return file__ref(fd == -EACCES || fd == -EPERM ? t->denied : t->gone);
	f = find(t, &st);
	if (!f)
		f = insert(t, &st, range->name, fd);
	if (!f) {
		fd__close(fd);
		return file__ref(t->gone);
	}
	f->last_window = window;
	keep_for_offer(t, f, fd);
	return file__ref(f);
}

void files__sweep(struct files *t, uint32_t window)
{
	for (uint32_t i = 0; i < BUCKETS; i++)
		for (struct file **at = &t->buckets[i]; *at;) {
			struct file *f = *at;

			if (atomic_load_explicit(&f->refs, memory_order_acquire) > 1 ||
			    f->last_window + KEEP_WINDOWS >= window) {
				at = &f->next;
				continue;
			}
			*at = f->next;
			if (f->offer_fd >= 0)
				atomic_fetch_sub(&t->waiting, 1);
			file__unref(f);
			t->n--;
		}
}

uint32_t files__count(const struct files *t)
{
	return t->n;
}
