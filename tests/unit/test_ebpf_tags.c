/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_tags.c - the labels of a process: from facts, from its program, from /proc
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base/str.h"
#include "plugins/input/ebpf/cgroups.h"
#include "plugins/input/ebpf/identity.h"
#include "plugins/input/ebpf/procfs.h"
#include "plugins/input/ebpf/tags.h"
#include "plugins/input/ebpf/texts.h"
#include "tests/unit/ebpf_host.h"
#include "tests/unit/failmalloc.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void assert_value(const struct buf *rows, const char *name, const char *want)
{
	struct dcm_str got = tags__value(buf__view(rows), str__of(name));
	char text[2048];

	snprintf(text, sizeof(text), "%.*s", STR_ARG(got));
	assert_string_equal(text, want);
}

static uint32_t count(const struct buf *rows)
{
	struct dcm_str at = buf__view(rows), name, value;
	uint32_t n = 0;

	while (tags__next(&at, &name, &value))
		n++;
	return n;
}

static void test_rows(void **state)
{
	struct buf rows = { 0 };
	char big[3000];

	(void)state;
	tags__add(&rows, STR("a"), STR("1"));
	tags__add(&rows, STR("b"), STR(""));
	tags__add(&rows, STR(""), STR("x"));
	tags__add(&rows, STR("a"), STR("2"));
	tags__add(&rows, STR("9 x.y-\xc3\xa9"), STR("z\n\xff"));
	/* A NUL ends a value: nothing behind it becomes a row. */
	tags__add(&rows, STR("c"), STR("v\0d\0e"));
	assert_int_equal(count(&rows), 3);
	assert_value(&rows, "a", "1");
	assert_value(&rows, "__x_y___", "z??");
	assert_value(&rows, "c", "v");
	/* Cut, but not inside a character. */
	memset(big, 'x', sizeof(big));
	memcpy(big + TAGS_VALUE_BYTES - 1, "\xc3\xa9", 2);
	tags__add(&rows, STR("big"), (struct dcm_str){ big, sizeof(big) });
	assert_int_equal(tags__value(buf__view(&rows), STR("big")).n, TAGS_VALUE_BYTES - 1);
	for (int i = 0; i < 2 * TAGS_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%d", i);
		tags__add(&rows, str__of(name), STR("1"));
	}
	assert_int_equal(count(&rows), TAGS_MAX);
	buf__fini(&rows);
}

static struct dcm_list list_of(const char **texts, uint32_t n)
{
	return (struct dcm_list){ texts, n };
}

static const struct executable program = { .build_id = "abc",
					   .file_id = "0123",
					   .compiler = "GCC: 12",
					   .runtime = "python",
					   .is_elf = true,
					   .is_stripped = true };

static struct tags_facts facts(void)
{
	return (struct tags_facts){
		.pid = 7,
		.ppid = 6,
		.exe = STR("/usr/bin/python3"),
		.cgroup = STR("/system.slice/docker-" ID ".scope/system.slice/a.service"),
		.environment = STR("PATH=/bin\0VERSION=1.2\0EMPTY=\0VERSIONS=x\0CUT=en"),
		.cmdline = STR("python3 -m http.server"),
		.executable = &program,
		.pod = STR("namespace\0shop\0pod\0web-1\0__meta_kubernetes_pod_uid\0u\0"),
	};
}

static void test_series(void **state)
{
	const char *env[] = { "VERSION", "EMPTY", "MISSING", "CUT" };
	struct settings_labels on = { .exe = true,
				      .cgroup = true,
				      .systemd = true,
				      .container = true,
				      .program = true,
				      .kernel = true,
				      .env = list_of(env, 4) };
	struct tags_facts f = facts();
	struct buf rows = { 0 };
	struct utsname kernel;

	(void)state;
	uname(&kernel);
	tags__series(&on, &f, &rows);
	assert_value(&rows, "exe", "/usr/bin/python3");
	assert_value(&rows, "cgroup", "/system.slice/docker-" ID ".scope/system.slice/a.service");
	assert_value(&rows, "systemd_unit", "a.service");
	assert_value(&rows, "systemd_slice", "system.slice");
	assert_value(&rows, "container_id", ID);
	assert_value(&rows, "container_runtime", "docker");
	assert_value(&rows, "namespace", "shop");
	assert_value(&rows, "pod", "web-1");
	assert_value(&rows, "build_id", "abc");
	assert_value(&rows, "compiler", "GCC: 12");
	assert_value(&rows, "runtime", "python");
	assert_value(&rows, "static", "false");
	assert_value(&rows, "stripped", "true");
	assert_value(&rows, "kernel_release", kernel.release);
	assert_value(&rows, "arch", kernel.machine);
	assert_value(&rows, "env_VERSION", "1.2");
	assert_value(&rows, "env_CUT", "en");
	assert_int_equal(count(&rows), 17);
	buf__reset(&rows);
	/* Everything off. */
	on = (struct settings_labels){ .pid = true };
	tags__series(&on, &f, &rows);
	tags__sample(&on, &f, &rows);
	assert_int_equal(count(&rows), 0);
	on.cmdline = true;
	tags__sample(&on, &f, &rows);
	assert_value(&rows, "cmdline", "python3 -m http.server");
	buf__fini(&rows);
}

/* The names that the Parca agent has. */
static void test_meta(void **state)
{
	const char *all[] = { "__meta_*" },
		   *two[] = { "__meta_process_cgroup", "__meta_kubernetes_*" };
	const char *env[] = { "VERSION" };
	struct settings_labels on = { .meta = list_of(all, 1), .env = list_of(env, 1) };
	struct tags_facts f = facts();
	struct buf rows = { 0 };

	(void)state;
	tags__series(&on, &f, &rows);
	assert_value(&rows, "__meta_process_pid", "7");
	assert_value(&rows, "__meta_process_ppid", "6");
	assert_value(&rows, "__meta_process_cmdline", "python3 -m http.server");
	assert_value(&rows, "__meta_process_executable_name", "python3");
	assert_value(&rows, "__meta_process_executable_build_id", "abc");
	assert_value(&rows, "__meta_process_executable_file_id", "0123");
	assert_value(&rows, "__meta_process_executable_compiler", "GCC: 12");
	assert_value(&rows, "__meta_process_executable_static", "false");
	assert_value(&rows, "__meta_process_executable_stripped", "true");
	assert_value(&rows, "__meta_docker_container_id", ID);
	assert_value(&rows, "__meta_env_var_VERSION", "1.2");
	assert_value(&rows, "__meta_kubernetes_pod_uid", "u");
	assert_value(&rows, "__meta_agent_revision", SETTINGS_PLUGIN_VERSION);
	assert_true(tags__value(buf__view(&rows), STR("__meta_system_kernel_release")).n > 0);
	assert_true(tags__value(buf__view(&rows), STR("__meta_system_kernel_machine")).n > 0);
	buf__reset(&rows);
	on = (struct settings_labels){ .meta = list_of(two, 2) };
	tags__series(&on, &f, &rows);
	assert_int_equal(count(&rows), 2);
	assert_true(tags__value(buf__view(&rows), STR("__meta_process_cgroup")).n > 0);
	assert_value(&rows, "__meta_kubernetes_pod_uid", "u");
	buf__fini(&rows);
}

static void test_no_memory_for_rows(void **state)
{
	const char *all[] = { "__meta_*" };
	struct settings_labels on = { .exe = true, .cgroup = true, .meta = list_of(all, 1) };
	struct tags_facts f = facts();

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct buf rows = { 0 };

		tags__series(&on, &f, &rows);
		failmalloc__disarm();
		assert_int_equal(rows.error, failmalloc__failed() ? -ENOMEM : 0);
		buf__fini(&rows);
	}
}

/* ------------------------------------------------------------------------------------------------
 * Programs
 */

/* An ELF file with a .comment, a .symtab where asked for, and a program header. */
struct elf_file {
	Elf64_Ehdr head;
	Elf64_Phdr program;
	Elf64_Shdr sections[4];
	char names[64];
	char content[256];
};

static struct elf_file make_elf(const char *section, const char *content, size_t n)
{
	struct elf_file f = {
		.head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_phoff = offsetof(struct elf_file, program),
			  .e_shoff = offsetof(struct elf_file, sections),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_phnum = 1,
			  .e_shnum = 4,
			  .e_shstrndx = 1 },
		.program = { .p_type = PT_INTERP },
		.sections = { { 0 },
			      { .sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct elf_file, names),
				.sh_size = sizeof(f.names) },
			      { .sh_type = SHT_PROGBITS,
				.sh_name = 1,
				.sh_offset = offsetof(struct elf_file, content),
				.sh_size = n },
			      { .sh_type = SHT_SYMTAB } },
	};

	snprintf(f.names + 1, sizeof(f.names) - 1, "%s", section);
	memcpy(f.content, content, n);
	return f;
}

static struct executable read_elf(const struct elf_file *f, size_t n, const char *path)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);
	struct executable e;

	assert_int_equal(write(fd, f, n), n);
	executable__read(fd, str__of(path), &e);
	close(fd);
	return e;
}

static void test_program(void **state)
{
	struct elf_file f = make_elf(".comment", "GCC: (x) 12\0rustc version 1.63.0\0clang 14", 42);
	struct executable e = read_elf(&f, sizeof(f), "/usr/bin/tool");

	(void)state;
	assert_string_equal(e.compiler, "rustc version 1.63.0");
	assert_string_equal(e.runtime, "");
	assert_true(e.is_elf);
	assert_false(e.is_static);
	assert_false(e.is_stripped);
	f.program.p_type = PT_LOAD;
	f.sections[3].sh_type = SHT_NULL;
	e = read_elf(&f, sizeof(f), "/usr/bin/python3.11");
	assert_true(e.is_static);
	assert_true(e.is_stripped);
	assert_string_equal(e.runtime, "python");
	assert_string_equal(read_elf(&f, sizeof(f), "/x/nodejsx").runtime, "");
	assert_string_equal(read_elf(&f, sizeof(f), "/x/node").runtime, "nodejs");
	f = make_elf(".go.buildinfo",
		     "\xff Go buildinf:\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x08go1.22.1", 41);
	e = read_elf(&f, sizeof(f), "/x/server");
	assert_string_equal(e.compiler, "go1.22.1");
	assert_string_equal(e.runtime, "go");
}

/* Hashes by another SHA-256 of what the id is made of. */
static void test_file_id(void **state)
{
	static const uint8_t none[3 * 4096];
	static const struct {
		size_t n;
		const char *id;
	} cases[] = {
		{ 0, "" },
		{ 1, "52807a4607ea5debf0b7d4ccb452f4af" },
		{ 4095, "d0c07570affb968912a1b804dd4b942a" },
		{ 4097, "c734609d36cbfa6c76c9c62a3d750cdd" },
		{ sizeof(none), "c4ffc60eda78fca9e2817481b8ce42cb" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int fd = memfd_create("elf", MFD_CLOEXEC);
		struct executable e;

		assert_int_equal(write(fd, none, cases[i].n), cases[i].n);
		if (cases[i].n > 4096)
			assert_int_equal(pwrite(fd, "end", 3, (off_t)cases[i].n - 3), 3);
		executable__read(fd, STR("/x"), &e);
		assert_string_equal(e.file_id, cases[i].id);
		close(fd);
	}
}

/* Every length at which the file may end, and sizes that lie. */
static void test_broken_program(void **state)
{
	struct elf_file f = make_elf(".comment", "GCC: (x) 12", 11);

	(void)state;
	for (size_t n = 0; n < sizeof(f); n++)
		read_elf(&f, n, "/x");
	f.sections[2].sh_size = UINT64_MAX;
	f.sections[1].sh_size = UINT64_MAX;
	read_elf(&f, sizeof(f), "/x");
	f.head.e_shnum = 0xffff;
	f.head.e_phnum = 0xffff;
	assert_true(read_elf(&f, sizeof(f), "/x").is_elf);
	f.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_false(read_elf(&f, sizeof(f), "/x").is_elf);
}

/* ------------------------------------------------------------------------------------------------
 * A real process
 */

static uint64_t own_start_ns(void)
{
	uint64_t ns = 0;

	assert_int_equal(procfs__start((uint32_t)getpid(), &ns), 0);
	return ns;
}

/*
 * Questions about one that is there and one that is not, many at once, and an end without a
 * question.
 */
static void test_texts(void **state)
{
	struct texts_question there = { .process = { (uint32_t)getpid(), (uint32_t)getpid(),
						     own_start_ns() },
					.exec_id = 1,
					.with_environment = true,
					.with_cmdline = true },
			      gone = { .process = { 0x7ffffffe, 0x7ffffffe, 1 },
				       .exec_id = 2,
				       .with_cmdline = true };
	struct ebpf_host host;
	struct texts *t;
	uint32_t n_there = 0, n_gone = 0, n = 1000;

	(void)state;
	ebpf_host__init(&host);
	t = texts__new(&host.host);
	texts__free(t);
	t = texts__new(&host.host);
	for (uint32_t asked = 0; n_there + n_gone + host.n_dropped < n;) {
		struct texts_answer a = { 0 };
		bool answered = asked < n ? texts__ask(t, asked % 2 ? &there : &gone, &a)
					  : texts__late(t, &a);

		asked++;
		if (answered && a.question.exec_id == 1) {
			assert_non_null(strstr(a.cmdline, "test_ebpf_tags"));
			assert_non_null(a.environment);
			n_there++;
		} else if (answered) {
			assert_null(a.cmdline);
			n_gone++;
		}
		texts_answer__fini(&a);
	}
	assert_true(n_there > 0 && n_gone > 0);
	texts__free(t);
	ebpf_host__fini(&host);
}

static void test_own_process(void **state)
{
	const char *env[] = { "DECIMA_TEST_TAG" };
	struct settings_labels on = { .exe = true, .program = true, .cmdline = true };
	struct procfs_id self = { .pid = (uint32_t)getpid(), .tid = (uint32_t)getpid() };
	struct identity_source from = { .process = &self };
	struct identity id = { .pid = self.pid }, other = { .pid = 1 };
	struct texts_answer late = { 0 };
	struct identities *t;
	struct ebpf_host host;
	struct file file = { .ino = 1 };
	uint64_t version;
	int dir = open("/proc/self", O_PATH | O_DIRECTORY), exe = open("/proc/self/exe", O_PATH);

	(void)state;
	ebpf_host__init(&host);
	t = identities__new(&host.host, NULL);
	on.env = list_of(env, 1);
	identities__configure(t, &on);
	assert_int_equal(procfs__open(&self), -ESRCH);
	id.exe = procfs__exe(exe);
	self.start_ns = own_start_ns();
	from.dir = dir;
	from.exe_fd = exe;
	identities__read(t, &id, &from);
	/* A machine that is busy may answer late. */
	for (int i = 0; i < 1000 && !id.cmdline; i++) {
		usleep(10000);
		if (identities__late(t, &late))
			identity__take(&id, &late);
		texts_answer__fini(&late);
	}
	assert_int_equal(identities__tag(t, &id), 0);
	assert_value(&id.series, "exe", id.exe);
	assert_value(&id.series, "static", "false");
	assert_value(&id.series, "stripped", "false");
	assert_value(&id.series, "env_DECIMA_TEST_TAG", getenv("DECIMA_TEST_TAG") ?: "");
	assert_true(strstr(id.cmdline, "test_ebpf_tags") != NULL);
	assert_value(&id.sample, "cmdline", id.cmdline);
	assert_string_equal(id.service, strrchr(id.exe, '/') + 1);
	/* Nothing new: nothing is made anew. Another configuration: the rows follow. */
	version = id.version;
	assert_int_equal(identities__tag(t, &id), 0);
	assert_int_equal(id.version, version);
	on.exe = false;
	identities__configure(t, &on);
	assert_int_equal(identities__tag(t, &id), 0);
	assert_value(&id.series, "exe", "");
	/* A process of the same program that has ended. */
	assert_false(identities__know(t, &other, &file));
	snprintf(file.build_id, sizeof(file.build_id), "%s", id.executable->build_id);
	assert_true(identities__know(t, &other, &file));
	assert_ptr_equal(other.executable, id.executable);
	identity__fini(&id);
	identity__fini(&other);
	identities__free(t);
	ebpf_host__fini(&host);
	close(exe);
	close(dir);
}

static int opens_nothing(const struct dcm_host *host, const struct dcm_guarded *g)
{
	(void)host;
	(void)g;
	return -EPERM;
}

/* A group of the unified hierarchy: its path below that, and its number; false: there is none. */
static bool find_group(char ret_path[static 512], uint64_t *ret_id)
{
	DIR *root = opendir("/sys/fs/cgroup/unified");
	const struct dirent *e;
	struct statfs fs;
	struct stat st;
	bool found = false;

	if (!root)
		root = opendir("/sys/fs/cgroup");
	if (!root)
		return false;
	while (fstatfs(dirfd(root), &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC && !found &&
	       (e = readdir(root))) {
		found = e->d_name[0] != '.' && fstatat(dirfd(root), e->d_name, &st, 0) == 0 &&
			S_ISDIR(st.st_mode);
		if (found)
			snprintf(ret_path, 512, "/%s", e->d_name);
	}
	*ret_id = found ? st.st_ino : 0;
	closedir(root);
	return found;
}

/*
 * Where a group cannot be found by its number, what /proc says of a process is believed of the
 * group that it is in now, and not of the one that its sample was taken in.
 */
static void test_learned_cgroup(void **state)
{
	const struct dcm_host host = { .size = sizeof(host), .open_guarded = opens_nothing };
	struct cgroups *c = cgroups__new(&host);
	char path[512];
	uint64_t id;

	(void)state;
	cgroups__learn(c, 77777777777, "/no such group");
	assert_null(cgroups__path(c, 77777777777));
	if (find_group(path, &id)) {
		cgroups__learn(c, id + 1, path);
		assert_null(cgroups__path(c, id + 1));
		cgroups__learn(c, id, path);
		assert_string_equal(cgroups__path(c, id), path);
	}
	cgroups__free(c);
}

static void test_own_cgroup(void **state)
{
	struct cgroups *c = cgroups__new(&ebpf_host__rights);
	struct stat st;

	(void)state;
	assert_null(cgroups__path(c, 0));
	assert_null(cgroups__path(c, 1));
	if (mkdir("/sys/fs/cgroup/unified/decima-test", 0755) == 0 || errno == EEXIST) {
		assert_int_equal(stat("/sys/fs/cgroup/unified/decima-test", &st), 0);
		assert_string_equal(cgroups__path(c, st.st_ino), "/decima-test");
		rmdir("/sys/fs/cgroup/unified/decima-test");
		/* Remembered. */
		assert_string_equal(cgroups__path(c, st.st_ino), "/decima-test");
	}
	cgroups__free(c);
}

static void test_no_memory(void **state)
{
	struct settings_labels on = { .exe = true, .program = true, .cmdline = true };
	int dir = open("/proc/self", O_PATH | O_DIRECTORY), exe = open("/proc/self/exe", O_PATH);
	struct procfs_id self = { .pid = (uint32_t)getpid(), .tid = (uint32_t)getpid() };
	struct identity_source from = { .dir = dir, .exe_fd = exe, .process = &self };
	struct ebpf_host host;

	(void)state;
	ebpf_host__init(&host);
	FAILMALLOC_SWEEP (i) {
		struct identities *t = identities__new(&host.host, NULL);
		struct identity id = { .pid = 1 };
		int r = -ENOMEM;

		if (t) {
			identities__configure(t, &on);
			id.exe = procfs__exe(exe);
			identities__read(t, &id, &from);
			r = identities__tag(t, &id);
		}
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(r == 0 || failmalloc__failed());
		identity__fini(&id);
		identities__free(t);
	}
	ebpf_host__fini(&host);
	close(exe);
	close(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	       cmocka_unit_test(test_series),
		cmocka_unit_test(test_meta),	       cmocka_unit_test(test_no_memory_for_rows),
		cmocka_unit_test(test_program),	       cmocka_unit_test(test_file_id),
		cmocka_unit_test(test_broken_program), cmocka_unit_test(test_texts),
		cmocka_unit_test(test_own_process),    cmocka_unit_test(test_learned_cgroup),
		cmocka_unit_test(test_own_cgroup),     cmocka_unit_test(test_no_memory),
	};

	/* Read back from /proc: it shows what there was at exec. */
	if (!getenv("DECIMA_TEST_TAG")) {
		setenv("DECIMA_TEST_TAG", "tag", 1);
		execl("/proc/self/exe", program_invocation_name, (char *)NULL);
	}
	return cmocka_run_group_tests_name("ebpf_tags", tests, NULL, NULL);
}
