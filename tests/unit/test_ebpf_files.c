/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_files.c - files that are not where they were: two that take turns at one address
 *
 * The host answers what is mapped and what has the path as the test says, so that the moments at
 * which another library lies there are the test's, not the machine's.
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/files.h"
#include "plugins/input/ebpf/maps.h"
#include "plugins/input/ebpf/process.h"
#include "tests/unit/ebpf_host.h"
#include "tests/unit/failmalloc.h"

enum { A, B };

struct fixture {
	struct ebpf_host host;
	struct files *files;
	int elf[2];	   /* two programs, of build ids a1a1.. and b2b2.. */
	int mapped, named; /* what is opened by address and by path: one of elf, or an errno */
	uint32_t n_opened, n_asked;
	int proc_dir;
};

static struct fixture *fixture; /* host functions know no other way to it */

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

/* An ELF file of nothing but a build id of 20 such bytes, without a name. */
static int make_elf(uint8_t byte)
{
	char path[] = "/tmp/decima-test-XXXXXX";
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
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	memset(elf.build_id, byte, sizeof(elf.build_id));
	assert_int_equal(write(fd, &elf, sizeof(elf)), sizeof(elf));
	return fd;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	ebpf_host__init(&f->host);
	f->host.host.open_guarded = open_guarded;
	f->elf[A] = make_elf(0xa1);
	f->elf[B] = make_elf(0xb2);
	f->mapped = f->named = -ENOENT;
	f->proc_dir = open("/proc/self", O_PATH | O_DIRECTORY);
	f->files = files__new(&f->host.host);
	/* The vDSO is shown at once. */
	files__on_open(f->files, on_opened, f);
	f->n_opened = 0;
	*state = fixture = f;
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

/* As the kernel tells of a mapping. */
static struct maps_range told_range(uint8_t byte)
{
	struct maps_range r = { .start = 0x7f0000001000,
				.end = 0x7f0000002000,
				.kind = DCM_MAPPING_FILE,
				.n_build_id = 20,
				.name = STR("/lib/turn.so") };

	memset(r.build_id, byte, sizeof(r.build_id));
	return r;
}

/* As /proc/PID/maps lists it. */
static struct maps_range read_range(int fd)
{
	struct maps_range r = told_range(0);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	r.n_build_id = 0;
	r.ino = st.st_ino;
	r.major = major(st.st_dev);
	r.minor = minor(st.st_dev);
	return r;
}

static uint64_t offered(struct fixture *f, struct file *file)
{
	uint64_t before = f->host.n_offered;

	files__offer(f->files, file);
	return f->host.n_offered - before;
}

/* B lies there by now: A is opened by its path, and not taken for B. */
static void test_another_by_now(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(0xa1);
	struct file *file;

	f->mapped = f->elf[B];
	f->named = f->elf[A];
	file = files__of(f->files, f->proc_dir, &a, 1);
	assert_string_equal(file->build_id, "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
	assert_false(file->is_unopened);
	assert_int_equal(f->n_opened, 1);
	assert_int_equal(offered(f, file), 1);
	file__unref(file);
}

/* The same for a mapping of which only the inode is known. */
static void test_another_inode(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = read_range(f->elf[A]);
	struct file *file;

	f->mapped = f->elf[B];
	file = files__of(f->files, f->proc_dir, &a, 1);
	assert_false(file->is_code);
	assert_int_equal(file->why, DCM_UNNAMED_FILE_GONE);
	file__unref(file);
	f->named = f->elf[A];
	file = files__of(f->files, f->proc_dir, &a, 1);
	assert_string_equal(file->build_id, "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
	file__unref(file);
}

/* Where the device differs, as on btrfs and overlayfs, the path decides; what is no ELF file is said to be none. */
static void test_by_address_alone(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = read_range(f->elf[A]);
	char self[40], link[256];
	struct file *file;
	ssize_t n;

	f->mapped = -ENOEXEC;
	file = files__of(f->files, f->proc_dir, &a, 1);
	assert_int_equal(file->why, DCM_UNNAMED_BAD_FILE);
	file__unref(file);
	f->mapped = f->elf[A];
	a.minor++;
	file = files__of(f->files, f->proc_dir, &a, 1);
	assert_int_equal(file->why, DCM_UNNAMED_FILE_GONE);
	file__unref(file);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->elf[A]);
	n = readlink(self, link, sizeof(link));
	a.name = (struct dcm_str){ link, (uint32_t)n };
	file = files__of(f->files, f->proc_dir, &a, 1);
	assert_true(file->is_code);
	file__unref(file);
}

/* A file without a path, and B in the way: it is opened when A lies there again, and named then. */
static void test_opened_later(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(0xa1);

	f->mapped = f->elf[B];
	a.file = files__of(f->files, f->proc_dir, &a, 1);
	assert_true(a.file->is_unopened);
	assert_true(a.file->is_code);
	assert_int_equal(offered(f, a.file), 0);
	files__retry(f->files, f->proc_dir, &a, 1);
	assert_true(a.file->is_unopened);
	f->mapped = f->elf[A];
	files__retry(f->files, f->proc_dir, &a, 1);
	assert_false(a.file->is_unopened);
	assert_int_equal(f->n_opened, 1);
	assert_int_equal(offered(f, a.file), 1);
	assert_int_equal(files__count(f->files), 1);
	f->n_asked = 0;
	files__retry(f->files, f->proc_dir, &a, 2);
	assert_int_equal(f->n_asked, 0);
	/* Others find it without another look. */
	assert_ptr_equal(files__known(f->files, &a, 2), a.file);
	file__unref(a.file);
	file__unref(a.file);
	files__sweep(f->files, 9);
	assert_int_equal(files__count(f->files), 0);
}

/* Another process that maps it opens it for all. */
static void test_opened_by_another(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(0xa1);
	struct file *of_other;

	a.file = files__of(f->files, -1, &a, 1);
	assert_true(a.file->is_unopened);
	f->mapped = f->elf[A];
	of_other = files__of(f->files, f->proc_dir, &a, 1);
	assert_ptr_equal(of_other, a.file);
	assert_int_equal(offered(f, a.file), 1);
	file__unref(of_other);
	file__unref(a.file);
}

/* A file that stays away is asked for a few times in a window, however many samples hit it. */
static void test_tries_are_counted(void **state)
{
	struct fixture *f = *state;
	struct maps_range a = told_range(0xa1);

	a.file = files__of(f->files, f->proc_dir, &a, 1);
	for (uint32_t window = 2; window < 4; window++) {
		f->n_asked = 0;
		for (int i = 0; i < 1000; i++)
			files__retry(f->files, f->proc_dir, &a, window);
		assert_int_equal(f->n_asked, 2 * 8); /* by address and by path */
		assert_false(files__may_retry(a.file, window));
		assert_true(files__may_retry(a.file, window + 1));
	}
	file__unref(a.file);
}

/* A state of mappings is found again: the file that it lacks is asked for again. */
static void test_process_asks_again(void **state)
{
	struct fixture *f = *state;
	struct processes *t = processes__new(&f->host.host, f->files, NULL, NULL);
	struct maps_range a = told_range(0xa1);
	struct sampler_sample s = { .head = { .pid = (uint32_t)getpid(), .tid = (uint32_t)getpid() } };
	uint64_t start_ns;
	struct process *p;

	assert_int_equal(procfs__start(s.head.pid, &start_ns), 0);
	s.head.kind = SAMPLER_SAMPLE;
	s.head.start_ns = start_ns;
	p = processes__of(t, &s, 1);
	assert_non_null(p);
	f->mapped = f->elf[B];
	assert_true(processes__file(t, p, &a)->is_unopened);
	f->mapped = f->elf[A];
	assert_false(processes__file(t, p, &a)->is_unopened);
	assert_int_equal(offered(f, a.file), 1);
	processes__free(t);
	file__unref(a.file);
}

static void test_no_memory(void **state)
{
	struct fixture *f = *state;

	f->mapped = f->elf[A];
	FAILMALLOC_SWEEP (i) {
		struct files *files = files__new(&f->host.host);
		struct maps_range a = told_range(0xa1);

		if (files) {
			a.file = files__of(files, -1, &a, 1);
			files__retry(files, f->proc_dir, &a, 1);
			if (!failmalloc__disarm())
				assert_false(a.file->is_unopened);
			file__unref(a.file);
		}
		failmalloc__disarm();
		files__free(files);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_another_by_now),     TEST(test_another_inode),
		TEST(test_by_address_alone),   TEST(test_opened_later),
		TEST(test_opened_by_another),  TEST(test_tries_are_counted),
		TEST(test_process_asks_again), TEST(test_no_memory),
	};

	return cmocka_run_group_tests_name("ebpf_files", tests, NULL, NULL);
}
