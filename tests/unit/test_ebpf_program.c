/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_program.c - what is known of a program whose process ended too soon to be looked at
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "plugins/input/ebpf/process.h"
#include "tests/unit/ebpf_host.h"
#include "tests/unit/trail_events.h"

#define MS 1000000ll

/* A pid that no process has. */
enum { NOBODY = 0x7ffffffe };

struct fixture {
	struct ebpf_host host;
	struct files *files;
	struct trail *trail;
	struct identities *identities;
	struct processes *processes;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	ebpf_host__init(&f->host);
	f->files = files__new(&f->host.host);
	f->trail = trail__new();
	f->identities = identities__new(&f->host.host, NULL);
	f->processes = processes__new(&f->host.host, f->files, f->identities, f->trail);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	processes__free(f->processes);
	identities__free(f->identities);
	trail__free(f->trail);
	files__free(f->files);
	ebpf_host__fini(&f->host);
	free(f);
	return 0;
}

static struct sampler_sample sample_of(pid_t pid)
{
	uint64_t start_ns;

	assert_int_equal(procfs__start((uint32_t)pid, &start_ns), 0);
	return (struct sampler_sample){
		.head = { .pid = (uint32_t)pid, .tid = (uint32_t)pid, .exec_id = 1, .start_ns = start_ns }
	};
}

static struct sampler_sample sample_told(uint32_t pid, int64_t time_ns, uint64_t pages)
{
	return (struct sampler_sample){
		.head = { .pid = pid, .tid = pid, .exec_id = 3, .start_ns = 1, .time_ns = (uint64_t)time_ns },
		.exec_pages = pages
	};
}

/* What a program is does not have to be read again, when one runs it that ends at once. */
static void test_of_the_dead(void **state)
{
	struct fixture *f = *state;
	struct processes *t = f->processes;
	struct sampler_sample s = sample_of(getpid());
	struct process *p = processes__of(t, &s, 1), *dead;
	struct maps_range told = *maps__find(p->maps, (uintptr_t)test_of_the_dead);
	struct perf_record r = { .kind = PERF_RECORD_OF_MMAP,
				 .pid = NOBODY,
				 .time_ns = 110,
				 .start = 0x1000,
				 .end = 0x2000,
				 .major = told.major,
				 .minor = told.minor,
				 .ino = told.ino,
				 .name = told.name };
	int dir = open("/proc/self", O_PATH | O_DIRECTORY), exe = open("/proc/self/exe", O_RDONLY);
	struct file *file;

	assert_non_null(p->identity.executable);
	inode__generation(exe, &r.generation);
	told.is_told = true;
	told.generation = r.generation;
	file = files__of(f->files, dir, &told, 1);
	assert_true(file->is_code);
	trail_events__add(f->trail, PERF_RECORD_OF_EXEC, NOBODY, 0, 100);
	trail__add(f->trail, &r);
	s = sample_told(NOBODY, 150, 1);
	dead = processes__of(t, &s, 1);
	assert_string_equal(dead->identity.exe, p->identity.exe);
	assert_ptr_equal(dead->identity.executable, p->identity.executable);
	assert_ptr_equal(processes__file(t, dead, maps__find(dead->maps, 0x1000)), file);
	file__unref(file);
	close(dir);
	close(exe);
}

/* What ended, and nobody waited for, has a directory in /proc that shows nothing: as good as none. */
static void test_of_a_zombie(void **state)
{
	struct fixture *f = *state;
	struct processes *t = f->processes;
	struct sampler_sample s = sample_of(getpid()), child;
	struct process *p = processes__of(t, &s, 1), *c;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		for (;;)
			pause();
	assert_non_null(p->identity.executable);
	processes__file(t, p, maps__find(p->maps, (uintptr_t)test_of_a_zombie));
	child = sample_of(pid);
	child.ppid = (uint32_t)getpid();
	child.exec_pages = p->maps->exec_bytes / (uint64_t)sysconf(_SC_PAGESIZE);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	c = processes__of(t, &child, 1);
	assert_string_equal(c->identity.exe, p->identity.exe);
	assert_ptr_equal(c->identity.executable, p->identity.executable);
	assert_int_equal(processes__stat(t).denied, 0);
	waitpid(pid, NULL, 0);
}

/* An ELF file that nobody has met: its program has ended, and what is mapped is told. */
struct unmet {
	char path[64];
	struct perf_record r;
};

static void make_unmet(struct unmet *u)
{
	const Elf64_Ehdr elf = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
				 .e_type = ET_EXEC,
				 .e_machine = EM_X86_64,
				 .e_version = EV_CURRENT,
				 .e_ehsize = sizeof(Elf64_Ehdr),
				 .e_phentsize = sizeof(Elf64_Phdr),
				 .e_shentsize = sizeof(Elf64_Shdr) };
	struct stat st;
	int fd;

	snprintf(u->path, sizeof(u->path), "/tmp/decima-test-XXXXXX");
	fd = mkstemp(u->path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &elf, sizeof(elf)), sizeof(elf));
	assert_int_equal(fstat(fd, &st), 0);
	u->r = (struct perf_record){ .kind = PERF_RECORD_OF_MMAP,
				     .pid = NOBODY,
				     .start = 0x1000,
				     .end = 0x2000,
				     .major = major(st.st_dev),
				     .minor = minor(st.st_dev),
				     .ino = st.st_ino,
				     .name = str__of(u->path) };
	inode__generation(fd, &u->r.generation);
	close(fd);
}

/* A program that only ever ran too short to be looked at is read where it still lies, and once. */
static void test_never_met(void **state)
{
	struct fixture *f = *state;
	struct processes *t = f->processes;
	const int64_t now = clock__mono(&clock__system) + 3600000 * MS;
	struct sampler_sample s = sample_told(NOBODY, now + 2, 1);
	const struct executable *first;
	struct process *p;
	struct unmet u;

	make_unmet(&u);
	trail_events__add(f->trail, PERF_RECORD_OF_EXEC, NOBODY, 0, now);
	u.r.time_ns = now + 1;
	trail__add(f->trail, &u.r);
	p = processes__of(t, &s, 1);
	assert_string_equal(p->identity.exe, u.path);
	first = p->identity.executable;
	assert_non_null(first);
	assert_true(first->is_elf && first->is_static && first->is_stripped);
	/* The next one came while nothing was mapped yet, and the file has gone meanwhile. */
	unlink(u.path);
	trail_events__add(f->trail, PERF_RECORD_OF_EXEC, NOBODY - 1, 0, now + 3);
	u.r.pid = NOBODY - 1;
	u.r.time_ns = now + 5;
	trail__add(f->trail, &u.r);
	s = sample_told(NOBODY - 1, now + 4, 0);
	p = processes__of(t, &s, 1);
	assert_string_equal(p->identity.exe, u.path);
	assert_ptr_equal(p->identity.executable, first);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_of_the_dead),
		TEST(test_of_a_zombie),
		TEST(test_never_met),
	};

	return cmocka_run_group_tests_name("ebpf_program", tests, NULL, NULL);
}
