/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_files.c - files that are not where they were, or whose process is gone
 *
 * The host answers what is mapped and what has the path as the test says, the clocks stand still,
 * and so do the generations of inodes and the kind of file system (by the linker's --wrap): the
 * moments at which another library lies there are the test's, not the machine's.
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/files.h"
#include "plugins/input/ebpf/maps.h"
#include "plugins/input/ebpf/process.h"
#include "tests/unit/ebpf_host.h"
#include "tests/unit/failmalloc.h"

enum { A, B };

#define SECOND	1000000000ll
#define NOWHERE "/no/such/turn.so"

struct fixture {
	struct ebpf_host host;
	struct files *files;
	int elf[2];	      /* two programs, of build ids a1a1.. and b2b2.. */
	int mapped, named;    /* what is opened by address and by path: one of elf, or an errno */
	int64_t real_ns;      /* of the clock: 3000 s after the files were made */
	bool has_generations; /* the file system tells them: */
	uint64_t generation;  /* of every inode */
	long file_system;     /* its magic number */
	uint32_t n_opened, n_asked;
	int proc_dir;
};

static struct fixture *fixture; /* host functions know no other way to it */

static int64_t real_ns(const struct dcm_host *host)
{
	(void)host;
	return fixture->real_ns;
}

/* The linker puts these in the place of the C library's. */
int __wrap_ioctl(int fd, unsigned long request, uint32_t *ret);
int __wrap_ioctl(int fd, unsigned long request, uint32_t *ret)
{
	(void)fd;
	assert_int_equal(request, FS_IOC_GETVERSION);
	if (!fixture->has_generations) {
		errno = ENOTTY;
		return -1;
	}
	*ret = (uint32_t)fixture->generation;
	return 0;
}

int __wrap_fstatfs(int fd, struct statfs *ret);
int __wrap_fstatfs(int fd, struct statfs *ret)
{
	(void)fd;
	*ret = (struct statfs){ .f_type = fixture->file_system };
	return 0;
}

static int open_guarded(const struct dcm_host *host, const struct dcm_guarded *g)
{
	int fd = g->what == DCM_GUARDED_MAPPED ? fixture->mapped : fixture->named;

	(void)host;
	if (g->what == DCM_GUARDED_ROOT)
		return open("/", O_PATH | O_DIRECTORY);
	fixture->n_asked++;
	return fd < 0 ? fd : dup(fd);
}

static void on_opened(void *ctx, const struct file *f, int fd)
{
	struct fixture *fx = ctx;

	(void)f;
	assert_true(fd >= 0);
	fx->n_opened++;
}

/* An ELF file of nothing but a build id of 20 such bytes, at that path (NULL: without a name). */
static int make_elf(uint8_t byte, char *path)
{
	char unnamed[] = "/tmp/decima-test-XXXXXX";
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr note_at;
		Elf64_Nhdr note;
		char owner[4];
		uint8_t build_id[20];
	} elf = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phoff = sizeof(Elf64_Ehdr),
			  .e_phnum = 1,
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_shentsize = sizeof(Elf64_Shdr) },
		.note_at = { .p_type = PT_NOTE,
			     .p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
			     .p_filesz = sizeof(Elf64_Nhdr) + 4 + 20,
			     .p_align = 4 },
		.note = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID },
		.owner = "GNU",
	};
	int fd = mkstemp(path ? path : unnamed);

	assert_true(fd >= 0);
	if (!path)
		unlink(unnamed);
	memset(elf.build_id, byte, sizeof(elf.build_id));
	assert_int_equal(write(fd, &elf, sizeof(elf)), sizeof(elf));
	return fd;
}

static int setup(void **state)
{
	struct fixture *f = fixture = calloc(1, sizeof(*f));

	ebpf_host__init(&f->host);
	f->host.host.open_guarded = open_guarded;
	f->host.host.real_ns = real_ns;
	f->host.mono_ns = 5000 * SECOND;
	f->real_ns = clock__real(&clock__system) + 1000 * SECOND;
	f->has_generations = true;
	f->generation = 0xdecade;
	f->file_system = EXT4_SUPER_MAGIC;
	f->elf[A] = make_elf(0xa1, NULL);
	f->elf[B] = make_elf(0xb2, NULL);
	f->mapped = f->named = -ENOENT;
	/* The kernel remembers from here on that nothing is there. */
	assert_int_equal(access(NOWHERE, F_OK), -1);
	f->proc_dir = open("/proc/self", O_PATH | O_DIRECTORY);
	f->files = files__new(&f->host.host);
	/* The vDSO is shown at once. */
	files__on_open(f->files, on_opened, f);
	f->n_opened = 0;
	/* The mappings are younger than the table. */
	f->host.mono_ns += 2000 * SECOND;
	f->real_ns += 2000 * SECOND;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	files__free(f->files);
	ebpf_host__fini(&f->host);
	close(f->elf[A]);
	close(f->elf[B]);
	close(f->proc_dir);
	free(f);
	return 0;
}

static void stat_of(int fd, struct stat *ret)
{
	assert_int_equal(fstat(fd, ret), 0);
}

/* As /proc/PID/maps lists it. */
static struct maps_range read_range(int fd)
{
	struct stat st;

	stat_of(fd, &st);
	return (struct maps_range){ .start = 0x7f0000001000,
				    .end = 0x7f0000002000,
				    .kind = DCM_MAPPING_FILE,
				    .ino = st.st_ino,
				    .major = major(st.st_dev),
				    .minor = minor(st.st_dev),
				    .name = str__of(NOWHERE) };
}

/* As the kernel tells of a mapping made now. */
static struct maps_range told_range(struct fixture *f, int fd)
{
	struct maps_range r = read_range(fd);

	r.is_told = true;
	r.generation = f->generation;
	r.time_ns = f->host.mono_ns;
	return r;
}

static uint64_t offered(struct fixture *f, struct file *file)
{
	uint64_t before = f->host.n_offered;

	files__offer(f->files, file);
	return f->host.n_offered - before;
}

/* The process's file, or why there is none. */
static enum dcm_unnamed why_of(struct fixture *f, int proc_dir, const struct maps_range *r)
{
	struct file *file = files__of(f->files, proc_dir, r, 1);
	enum dcm_unnamed why = file->is_code ? DCM_UNNAMED_NOT_TRIED : file->why;

	file__unref(file);
	return why;
}

/* The file was found: it is forgotten at once. */
static void assert_taken(struct fixture *f, int proc_dir, const struct maps_range *r)
{
	assert_int_equal(why_of(f, proc_dir, r), DCM_UNNAMED_NOT_TRIED);
	assert_int_equal(files__count(f->files), 1);
	files__sweep(f->files, 9);
	assert_int_equal(files__count(f->files), 0);
}

static void assert_gone(struct fixture *f, int proc_dir, const struct maps_range *r)
{
	assert_int_equal(why_of(f, proc_dir, r), DCM_UNNAMED_FILE_GONE);
	assert_int_equal(files__count(f->files), 0);
}

/* ------------------------------------------------------------------------------------------------
 * Processes that are alive
 */

/* B lies there by now: A is opened by its path, and not taken for B. */
static void test_another_by_now(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(f, f->elf[A]);
	struct file *file;

	f->mapped = f->named = f->elf[B];
	assert_gone(f, f->proc_dir, &a);
	f->named = f->elf[A];
	file = files__of(f->files, f->proc_dir, &a, 1);
	assert_string_equal(file->build_id, "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
	assert_int_equal(f->n_opened, 1);
	assert_int_equal(offered(f, file), 1);
	file__unref(file);
}

/* A was removed, and its number given to the file that lies there now. */
static void test_number_given_again(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(f, f->elf[A]);

	f->mapped = f->named = f->elf[A];
	a.generation--;
	assert_gone(f, f->proc_dir, &a);
	/* What /proc lists has no generation; nor has what a file system does not tell. */
	a.is_told = false;
	assert_taken(f, f->proc_dir, &a);
	a.is_told = true;
	f->has_generations = false;
	assert_taken(f, f->proc_dir, &a);
}

/*
 * Where the device differs, as on btrfs and overlayfs, the path decides; what is no ELF file is
 * said to be none.
 */
static void test_by_address_alone(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = read_range(f->elf[A]);
	char self[40], link[256];
	ssize_t n;

	f->mapped = -ENOEXEC;
	assert_int_equal(why_of(f, f->proc_dir, &a), DCM_UNNAMED_BAD_FILE);
	f->mapped = f->elf[A];
	a.minor++;
	assert_gone(f, f->proc_dir, &a);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->elf[A]);
	n = readlink(self, link, sizeof(link) - 1);
	link[n] = 0;
	a.name = str__of(link);
	assert_taken(f, f->proc_dir, &a);
}

static void test_not_permitted(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(f, f->elf[A]);

	f->mapped = f->named = -EACCES;
	assert_int_equal(why_of(f, f->proc_dir, &a), DCM_UNNAMED_NO_PERMISSION);
}

/*
 * Whoever opens files hangs: that is said, by its path too, and nothing else is asked about that
 * file. It is asked for again, and found when there is an answer.
 */
static void test_not_answered(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(f, f->elf[A]);
	uint32_t n = 0;

	f->mapped = -ETIMEDOUT;
	f->named = f->elf[A];
	f->n_asked = 0;
	a.file = files__of(f->files, f->proc_dir, &a, 1);
	assert_int_equal(f->n_asked, 1);
	assert_int_equal(a.file->why, DCM_UNNAMED_NOT_ANSWERED);
	assert_false(a.file->is_code);
	assert_int_equal(files__silence(f->files)->n, 1);
	assert_string_equal(files__silence(f->files)->path, NOWHERE);
	while (files__may_retry(&a, 2))
		n++;
	assert_in_range(n, 1, 100);
	assert_true(files__may_retry(&a, 3));
	file__unref(a.file);
	/* By its path, for a process that has ended or maps another file there by now. */
	f->mapped = -ENOENT;
	f->named = -ETIMEDOUT;
	assert_int_equal(why_of(f, f->proc_dir, &a), DCM_UNNAMED_NOT_ANSWERED);
	assert_int_equal(why_of(f, -1, &a), DCM_UNNAMED_NOT_ANSWERED);
	assert_int_equal(files__silence(f->files)->n, 3);
	f->mapped = f->elf[A];
	assert_taken(f, f->proc_dir, &a);
	assert_int_equal(files__silence(f->files)->n, 3);
}

/* Of a file for which there was no descriptor, memory or turn nobody knows that it is gone; nor is anybody silent. */
static void test_no_descriptor(void **state)
{
	static const int codes[] = { -EMFILE, -ENFILE, -ENOMEM, -EBUSY };
	struct fixture *f = *state;
	struct maps_range a = told_range(f, f->elf[A]);

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		f->mapped = f->named = codes[i];
		assert_int_equal(why_of(f, f->proc_dir, &a), DCM_UNNAMED_NOT_ANSWERED);
		assert_int_equal(why_of(f, -1, &a), DCM_UNNAMED_NOT_ANSWERED);
	}
	assert_int_equal(files__silence(f->files)->n, 0);
	f->mapped = f->elf[A];
	assert_taken(f, f->proc_dir, &a);
}

/* ------------------------------------------------------------------------------------------------
 * Files that are known
 */

/* Whether it is known, without anything being opened. */
static struct file *known(struct fixture *f, const struct maps_range *r)
{
	struct file *file;

	f->n_asked = 0;
	file = files__known(f->files, r, 1);
	assert_int_equal(f->n_asked, 0);
	file__unref(file);
	return file;
}

/* Opened once for all processes that map it, from any root, under any name. */
static void test_known(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(f, f->elf[A]), b = told_range(f, f->elf[B]);
	struct file *file;

	assert_null(known(f, &a));
	f->mapped = f->elf[A];
	file = files__of(f->files, f->proc_dir, &a, 1);
	assert_ptr_equal(known(f, &a), file);
	assert_null(known(f, &b));
	a.name = STR("/no/such/other.so");
	assert_ptr_equal(known(f, &a), file);
	a.generation++;
	assert_null(known(f, &a));
	a.generation--;
	a.minor++;
	assert_null(known(f, &a));
	a.minor--;
	/* /proc lists no generation, and nothing of that name is here to be looked at. */
	a.is_told = false;
	assert_null(known(f, &a));
	file__unref(file);
}

/* One that was opened for what /proc lists is known when the kernel tells of it. */
static void test_known_from_reading(void **state)
{
	struct fixture *f = *state;
	struct maps_range read = read_range(f->elf[A]), told = told_range(f, f->elf[A]);
	struct file *file;

	f->mapped = f->elf[A];
	file = files__of(f->files, f->proc_dir, &read, 1);
	assert_ptr_equal(known(f, &told), file);
	file__unref(file);
	files__sweep(f->files, 9);
	/* As on tmpfs: the generation is learned from the kernel alone. */
	f->has_generations = false;
	file = files__of(f->files, f->proc_dir, &read, 1);
	assert_null(known(f, &told));
	file__unref(files__of(f->files, f->proc_dir, &told, 1));
	assert_ptr_equal(known(f, &told), file);
	assert_int_equal(files__count(f->files), 1);
	file__unref(file);
}

/* The same inode with other content is another file, where its path leads to it from here. */
static void test_written_in_place(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/decima-test-XXXXXX";
	int fd = make_elf(0xc3, path);
	struct maps_range c = told_range(f, fd);
	struct file *first, *second;

	c.name = str__of(path);
	f->mapped = fd;
	first = files__of(f->files, f->proc_dir, &c, 1);
	assert_ptr_equal(known(f, &c), first);
	assert_int_equal(pwrite(fd, "more", 4, 8192), 4);
	assert_null(known(f, &c));
	second = files__of(f->files, f->proc_dir, &c, 1);
	assert_ptr_not_equal(second, first);
	assert_ptr_equal(known(f, &c), second);
	/* /proc lists it: there it is, unchanged. */
	c.is_told = false;
	assert_ptr_equal(known(f, &c), second);
	unlink(path);
	assert_null(known(f, &c));
	file__unref(first);
	file__unref(second);
	close(fd);
}

/*
 * As on overlayfs: a number may be given again, so the process is asked; a dead one is taken at its
 * word.
 */
static void test_no_generations(void **state)
{
	struct fixture *f = *state;
	struct maps_range a;
	struct file *file, *again;

	f->has_generations = false;
	f->generation = 0;
	a = told_range(f, f->elf[A]);
	f->mapped = f->elf[A];
	file = files__of(f->files, f->proc_dir, &a, 1);
	assert_null(known(f, &a));
	again = files__of(f->files, -1, &a, 1);
	assert_ptr_equal(again, file);
	file__unref(again);
	a.name = STR("/no/such/other.so");
	assert_int_equal(why_of(f, -1, &a), DCM_UNNAMED_FILE_GONE);
	file__unref(file);
}

/*
 * As on btrfs, where files of two subvolumes may have the same of all: only its own path proves it.
 */
static void test_shared_devices(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/decima-test-XXXXXX";
	int fd = make_elf(0xc3, path);
	struct maps_range c = told_range(f, fd);
	struct file *file;

	c.minor++;
	c.name = str__of(path);
	f->named = fd;
	file = files__of(f->files, f->proc_dir, &c, 1);
	assert_true(file->is_code);
	assert_ptr_equal(known(f, &c), file);
	unlink(path);
	assert_null(known(f, &c));
	file__unref(file);
	close(fd);
}

/* What found no room among those to be offered is opened again, until it does. */
static void test_room_to_be_offered(void **state)
{
	enum { ROOM = 256 - 1 }; /* the vDSO waits as well */
	struct fixture *f = *state;
	struct maps_range r[ROOM + 1];
	struct file *files[ROOM + 1];
	int fds[ROOM + 1];

	for (int i = 0; i <= ROOM; i++) {
		fds[i] = make_elf((uint8_t)i, NULL);
		f->mapped = fds[i];
		r[i] = told_range(f, fds[i]);
		files[i] = files__of(f->files, f->proc_dir, &r[i], 1);
	}
	assert_ptr_equal(known(f, &r[ROOM - 1]), files[ROOM - 1]);
	assert_null(known(f, &r[ROOM]));
	assert_int_equal(offered(f, files[ROOM]), 0);
	assert_int_equal(offered(f, files[0]), 1);
	assert_ptr_equal(known(f, &r[0]), files[0]);
	file__unref(files__of(f->files, f->proc_dir, &r[ROOM], 1));
	assert_int_equal(offered(f, files[ROOM]), 1);
	assert_ptr_equal(known(f, &r[ROOM]), files[ROOM]);
	for (int i = 0; i <= ROOM; i++) {
		file__unref(files[i]);
		close(fds[i]);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Processes that are gone
 */

static void set_mtime(int fd, int64_t ns)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = ns / SECOND, .tv_nsec = ns % SECOND } };

	assert_int_equal(futimens(fd, times), 0);
}

/* By path, when it is proven that nothing else was mapped. */
static void test_gone_and_proven(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(f, f->elf[A]);

	assert_gone(f, -1, &a);
	f->named = -ENOEXEC;
	assert_gone(f, -1, &a);
	f->named = -EACCES;
	assert_gone(f, -1, &a);
	f->named = f->elf[B];
	assert_gone(f, -1, &a);
	f->named = f->elf[A];
	assert_taken(f, -1, &a);
	assert_int_equal(f->n_opened, 1);
	a.generation++;
	assert_gone(f, -1, &a);
	a.generation--;
	a.minor++;
	assert_gone(f, -1, &a);
	f->file_system = BTRFS_SUPER_MAGIC;
	assert_taken(f, -1, &a);
}

/* /proc showed the mapping, and then the process ended: no generation, so nothing may have changed since then. */
static void test_gone_and_read(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = read_range(f->elf[A]);

	f->named = f->elf[A];
	assert_gone(f, -1, &a); /* since when is not known */
	a.time_ns = f->host.mono_ns;
	assert_taken(f, -1, &a);
	a.minor++;
	f->file_system = BTRFS_SUPER_MAGIC;
	assert_gone(f, -1, &a);
	a.minor--;
	assert_taken(f, -1, &a);
	f->named = f->elf[B];
	assert_gone(f, -1, &a);
	f->named = f->elf[A];
	/* By another clock, the inode was made a minute after that. */
	f->real_ns -= 3060 * SECOND;
	set_mtime(f->elf[A], f->real_ns - SECOND);
	assert_gone(f, -1, &a);
}

/* Written since it was mapped; and, where no generation tells inodes apart, changed at all. */
static void test_gone_and_changed(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(f, f->elf[A]);

	f->named = f->elf[A];
	set_mtime(f->elf[A], f->real_ns + SECOND);
	assert_gone(f, -1, &a);
	set_mtime(f->elf[A], f->real_ns - SECOND);
	assert_taken(f, -1, &a);
	f->has_generations = false;
	assert_taken(f, -1, &a);
	/* By another clock, the inode was made a minute after that. */
	f->real_ns -= 3060 * SECOND;
	set_mtime(f->elf[A], f->real_ns - SECOND);
	assert_gone(f, -1, &a);
	f->has_generations = true;
	assert_taken(f, -1, &a);
}

/* Somebody who is alive shows the file: it is known from then on. */
static void test_opened_by_another(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(f, f->elf[A]);
	struct file *file;

	assert_gone(f, -1, &a);
	f->mapped = f->elf[A];
	file = files__of(f->files, f->proc_dir, &a, 1);
	f->n_asked = 0;
	assert_int_equal(why_of(f, -1, &a), DCM_UNNAMED_NOT_TRIED);
	assert_int_equal(f->n_asked, 0);
	file__unref(file);
}

/* A file that stays away is asked for a few times in a window, however many samples hit it. */
static void test_tries_are_counted(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(f, f->elf[A]);

	a.file = files__of(f->files, f->proc_dir, &a, 1);
	for (uint32_t window = 1; window < 4; window++) {
		int n = 0;

		for (int i = 0; i < 1000; i++)
			n += files__may_retry(&a, window);
		assert_int_equal(n, 8);
	}
	file__unref(a.file);
	f->mapped = f->elf[A];
	a.file = files__of(f->files, f->proc_dir, &a, 4);
	assert_false(files__may_retry(&a, 4));
	file__unref(a.file);
}

/* B was in the way: A is opened when it lies there again, and named then. */
static void test_process_asks_again(void **state)
{
	struct fixture *f = *state;
	struct processes *t = processes__new(&f->host.host, f->files, NULL, NULL);
	struct maps_range a = told_range(f, f->elf[A]);
	struct sampler_sample s = { .head = { .pid = (uint32_t)getpid(), .tid = (uint32_t)getpid() } };
	uint64_t start_ns;
	struct process *p;

	assert_int_equal(procfs__start(s.head.pid, &start_ns), 0);
	s.head.kind = SAMPLER_SAMPLE;
	s.head.start_ns = start_ns;
	p = processes__of(t, &s, 1);
	assert_non_null(p);
	f->mapped = f->elf[B];
	assert_int_equal(processes__file(t, p, &a)->why, DCM_UNNAMED_FILE_GONE);
	f->mapped = f->elf[A];
	assert_true(processes__file(t, p, &a)->is_code);
	assert_int_equal(offered(f, a.file), 1);
	processes__free(t);
	file__unref(a.file);
}

/* 16,384 files are known: those that no window needs make room, and else the reason is that there was none. */
static void test_full(void **state)
{
	struct fixture *f = *state;
	char path[] = "/tmp/decima-test-XXXXXX";
	int fd = make_elf(1, path);
	struct maps_range r = read_range(fd);
	struct file *held;
	uint32_t known = files__count(f->files);

	/* Each change of its date makes another file of it. */
	f->mapped = fd;
	held = files__of(f->files, f->proc_dir, &r, 1);
	for (int64_t i = 1; files__count(f->files) < 16384; i++) {
		const struct timespec times[2] = { { .tv_sec = i }, { .tv_sec = i } };
		uint32_t before = files__count(f->files);

		assert_int_equal(futimens(fd, times), 0);
		file__unref(files__of(f->files, f->proc_dir, &r, 1));
		assert_int_equal(files__count(f->files), before + 1);
	}
	assert_int_equal(futimens(fd, (const struct timespec[2]){ { .tv_sec = 1 << 30 },
								  { .tv_sec = 1 << 30 } }),
			 0);
	r.file = files__of(f->files, f->proc_dir, &r, 1);
	assert_false(r.file->is_code);
	assert_int_equal(r.file->why, DCM_UNNAMED_NOT_HERE);
	assert_true(files__may_retry(&r, 1));
	file__unref(r.file);
	r.file = files__of(f->files, f->proc_dir, &r, 2);
	assert_true(r.file->is_code);
	file__unref(r.file);
	assert_int_equal(files__count(f->files), known + 2);
	assert_true(held->is_code);
	file__unref(held);
	close(fd);
	unlink(path);
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;

	f->mapped = f->elf[A];
	f->named = f->elf[B];
	FAILMALLOC_SWEEP (i) {
		struct files *files = files__new(&f->host.host);
		struct maps_range a = told_range(f, f->elf[A]), b = told_range(f, f->elf[B]);
		struct file *of_a, *of_b;

		if (files) {
			of_a = files__of(files, f->proc_dir, &a, 1);
			of_b = files__of(files, -1, &b, 1);
			if (!failmalloc__disarm())
				assert_true(of_a->is_code && of_b->is_code);
			file__unref(of_a);
			file__unref(of_b);
		}
		failmalloc__disarm();
		files__free(files);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_another_by_now),
		TEST(test_number_given_again),
		TEST(test_by_address_alone),
		TEST(test_not_permitted),
		TEST(test_not_answered),
		TEST(test_no_descriptor),
		TEST(test_known),
		TEST(test_known_from_reading),
		TEST(test_written_in_place),
		TEST(test_no_generations),
		TEST(test_shared_devices),
		TEST(test_room_to_be_offered),
		TEST(test_gone_and_proven),
		TEST(test_gone_and_changed),
		TEST(test_gone_and_read),
		TEST(test_opened_by_another),
		TEST(test_tries_are_counted),
		TEST(test_process_asks_again),
		TEST(test_full),
		TEST(test_no_memory),
	};

	return cmocka_run_group_tests_name("ebpf_files", tests, NULL, NULL);
}
