/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_elf_symbols.c - names, build ids and segments of ELF files
 *
 * The oracle is binutils: readelf's symbols searched by brute force, its notes, objdump's names of
 * PLT stubs, and addr2line, over the machine's own files and over one program compiled in several
 * ways. Damage, failing allocations and limits follow.
 */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/symbolize/elf.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/paths.h"
#include "tests/unit/shell.h"

DEFINE_FOLDER(dir, "elf", 0700);

struct expected {
	uint64_t start, size;
	char *name;
	bool function;
};
typedef VEC(struct expected) expected_list;

static struct elf_symbols *load(const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct dcm_error err = DCM_ERROR_INIT;
	struct elf_symbols *t = NULL;

	assert_true(fd >= 0);
	if (elf__load(fd, -1, NULL, &t, &err))
		fail_msg("%s: %s", path, err.text);
	return t;
}

static const char *in_dir(const char *name)
{
	static char path[4][256];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

/* Defined functions and labels, as readelf sees them, of both tables. */
static void read_expected(const char *path, expected_list *ret)
{
	char command[1024], line[65536];
	FILE *f;

	snprintf(command, sizeof(command), "readelf -sW '%s' 2>/dev/null", path);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char size[32], type[32], bind[32], vis[32], ndx[32];
		static char name[65536];
		unsigned long long value;

		if (sscanf(line, " %*d: %llx %31s %31s %31s %31s %31s %65535s", &value, size, type,
			   bind, vis, ndx, name) != 7 ||
		    strcmp(ndx, "UND") == 0 || strcmp(ndx, "ABS") == 0)
			continue;
		if (strcmp(type, "FUNC") != 0 && strcmp(type, "IFUNC") != 0 && strcmp(type, "NOTYPE") != 0)
			continue;
		name[strcspn(name, "@")] = '\0';
		struct expected e = { value, strtoull(size, NULL, 0), strdup(name), type[0] != 'N' };
		assert_true(vec__push(ret, e));
	}
	pclose(f);
}

static void free_expected(expected_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].name);
	vec__fini(l);
}

/*
 * Some symbol of that name covers the address, and if any sized one does, ours is sized and covers
 * it as well.
 */
static void check_address(const char *path, const struct elf_symbols *t, const expected_list *l,
			  uint64_t address, unsigned *ret_named)
{
	struct dcm_str name = { 0 };
	bool sized = false, found = false, label = false;
	char bare[4096];
	int rc = elf__find(t, address, &name);

	if (rc == 0 && str__starts(name, STR("[plt]"))) {
		(*ret_named)++;
		return;
	}
	snprintf(bare, sizeof(bare), "%.*s", STR_ARG(name));
	bare[strcspn(bare, "@")] = '\0';
	for (size_t i = 0; i < l->n; i++) {
		const struct expected *e = &l->v[i];
		bool covers = address >= e->start && address - e->start < e->size;

		if (covers && e->function)
			sized = true;
		if (rc == 0 && strcmp(e->name, bare) == 0) {
			found = found || covers;
			label = label || (e->size == 0 && e->start <= address);
		}
	}
	if (sized && (rc || !found))
		fail_msg("%s: 0x%llx: \"%s\" does not cover it, another symbol does", path,
			 (unsigned long long)address, bare);
	if (rc == 0 && !found && !label)
		fail_msg("%s: 0x%llx: \"%s\" is not there", path, (unsigned long long)address, bare);
	*ret_named += rc == 0;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Returns how many addresses had a name. */
static unsigned compare_with_readelf(const char *path)
{
	expected_list l = { 0 };
	CLEANUP(elf__freep) struct elf_symbols *t = load(path);
	uint64_t state = 88172645463325252ull;
	unsigned named = 0;

	read_expected(path, &l);
	for (unsigned i = 0; i < 300 && l.n; i++) {
		const struct expected *e = &l.v[next_random(&state) % l.n];

		check_address(path, t, &l, e->start, &named);
		if (e->size)
			check_address(path, t, &l, e->start + e->size - 1, &named);
		check_address(path, t, &l, e->start + e->size, &named);
		check_address(path, t, &l, e->start + next_random(&state) % (e->size * 2 + 16), &named);
	}
	free_expected(&l);
	return named;
}

/* A program or library. Object files have an address 0 in each section, and never run. */
static bool is_elf(const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf64_Ehdr h;
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size < (16 << 20) &&
	       pread(fd, &h, sizeof(h), 0) == sizeof(h) &&
	       memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_type != ET_REL;
}

/* Calls each for some dozen ELF files of a folder, evenly spread. */
static unsigned each_elf(const char *folder, unsigned max, void (*each)(const char *path))
{
	struct dirent **names = NULL;
	int n = scandir(folder, &names, NULL, alphasort);
	unsigned done = 0;

	for (int i = 0; i < n; i++) {
		char path[1024];

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		if (done < max && i % (n / (int)max / 4 + 1) == 0 && is_elf(path)) {
			each(path);
			done++;
		}
		free(names[i]);
	}
	free(names);
	return done;
}

static unsigned total_named;

static void check_one(const char *path)
{
	total_named += compare_with_readelf(path);
}

static void test_names_against_readelf(void **state)
{
	unsigned n = 0;

	(void)state;
	if (!shell_has("readelf"))
		skip_because("readelf (package binutils) is missing");
	total_named = 0;
	n += each_elf("/usr/bin", 24, check_one);
	n += each_elf("/usr/lib/x86_64-linux-gnu", 24, check_one);
	n += each_elf("/usr/lib/aarch64-linux-gnu", 24, check_one);
	assert_true(n > 10);
	assert_true(total_named > 100);
}

static void check_build_id(const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char command[1024], want[256] = "", hex[ELF_BUILD_ID_TEXT] = "";
	FILE *f;
	int rc;

	snprintf(command, sizeof(command),
		 "readelf -n '%s' 2>/dev/null | sed -n 's/.*Build ID: //p'", path);
	f = popen(command, "r");
	assert_non_null(f);
	if (fgets(want, sizeof(want), f))
		want[strcspn(want, "\n")] = '\0';
	pclose(f);
	rc = elf__build_id(fd, hex);
	assert_true(rc == 0 || rc == -ENODATA);
	assert_string_equal(hex, want);
	total_named += rc == 0;
}

static void test_build_ids_against_readelf(void **state)
{
	(void)state;
	if (!shell_has("readelf"))
		skip_because("readelf (package binutils) is missing");
	total_named = 0;
	each_elf("/usr/bin", 20, check_build_id);
	each_elf("/usr/lib/x86_64-linux-gnu", 10, check_build_id);
	each_elf("/usr/lib/aarch64-linux-gnu", 10, check_build_id);
	assert_true(total_named > 0);
}

/* objdump makes "puts@plt" for the stubs it can decode; ours must say the same, or "[plt]". */
static unsigned compare_plt(const char *path)
{
	CLEANUP(elf__freep) struct elf_symbols *t = load(path);
	char command[1024], line[8192];
	unsigned equal = 0;
	FILE *f;

	snprintf(
		command, sizeof(command),
		"objdump -d -j .plt -j .plt.sec -j .plt.got '%s' 2>/dev/null | grep '^[0-9a-f]* <'",
		path);
	f = popen(command, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long long address;
		char theirs[4096], want[4200];
		struct dcm_str name;

		if (sscanf(line, "%llx <%4095[^>]>", &address, theirs) != 2)
			continue;
		assert_int_equal(elf__find(t, address, &name), 0);
		assert_true(str__starts(name, STR("[plt]")));
		if (!strstr(theirs, "@plt") || strchr(theirs, '*'))
			continue;
		*strstr(theirs, "@plt") = '\0';
		theirs[strcspn(theirs, "@")] = '\0';
		snprintf(want, sizeof(want), "[plt] %s", theirs);
		if (!str__eq(name, STR("[plt]"))) {
			if (!str__eq(name, str__of(want)))
				fail_msg("%s: 0x%llx: \"%.*s\", not \"%s\"", path, address,
					 STR_ARG(name), want);
			equal++;
		}
	}
	pclose(f);
	return equal;
}

static void check_plt(const char *path)
{
	total_named += compare_plt(path);
}

static void test_plt_against_objdump(void **state)
{
	(void)state;
#if !defined(__x86_64__)
	skip_because("stubs are decoded on x86-64 only");
#endif
	if (!shell_has("objdump"))
		skip_because("objdump (package binutils) is missing");
	total_named = 0;
	each_elf("/usr/bin", 12, check_plt);
	each_elf("/usr/lib/x86_64-linux-gnu", 12, check_plt);
	assert_true(total_named > 100);
}

/* --- one program, compiled in several ways --- */

static void compile(const char *flags, const char *name)
{
	assert_int_equal(
		shell("cc %s -o %s %s/tests/programs/sym_shapes.c", flags, in_dir(name), TEST_SRCDIR), 0);
}

static void assert_name_at(const struct elf_symbols *t, uint64_t address, const char *want)
{
	struct dcm_str name = { 0 };
	int rc = elf__find(t, address, &name);

	if (!want) {
		if (rc != -ENOENT)
			fail_msg("0x%llx is named \"%.*s\"", (unsigned long long)address, STR_ARG(name));
		return;
	}
	if (rc || !str__eq(name, str__of(want)))
		fail_msg("0x%llx: \"%.*s\", not \"%s\"", (unsigned long long)address, STR_ARG(name), want);
}

static uint64_t address_of(const expected_list *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i].name, name) == 0)
			return l->v[i].start;
	}
	fail_msg("readelf knows no %s", name);
	return 0;
}

static void check_shapes(const char *path)
{
	CLEANUP(elf__freep) struct elf_symbols *t = load(path);
	expected_list l = { 0 };

	read_expected(path, &l);
	assert_name_at(t, address_of(&l, "main"), "main");
	assert_name_at(t, address_of(&l, "sym_static") + 1, "sym_static");
	assert_name_at(t, address_of(&l, "sym_weak"), "sym_weak");
	assert_name_at(t, address_of(&l, "_start") + 4, "_start");
#if defined(__x86_64__)
	uint64_t outer = address_of(&l, "sym_outer"), around = address_of(&l, "sym_around");

	assert_name_at(t, address_of(&l, "sym_bare") + 1, "sym_bare");
	assert_name_at(t, outer, "sym_outer");	   /* not _sym_alias_of_outer */
	assert_name_at(t, outer + 2, "sym_outer"); /* not sym_inner_label */
	assert_name_at(t, outer + 4, NULL);	   /* padding */
	assert_name_at(t, around, "sym_around");
	assert_name_at(t, around + 2, "sym_nested");
	assert_name_at(t, around + 3, "sym_nested");
	assert_name_at(t, around + 4, "sym_around");
	assert_name_at(t, around + 5, "sym_around");
#endif
	free_expected(&l);
	assert_true(compare_with_readelf(path) > 50);
}

static void test_shapes(void **state)
{
	static const char *const ways[] = { "-O1 -pie -fPIE", "-O1 -no-pie", "-O1 -static",
					    "-O0 -static-pie -fPIE" };

	(void)state;
	if (!shell_has("cc readelf"))
		skip_because("cc and readelf are needed");
	const bool has_static_libc = shell("test \"$(cc -print-file-name=libc.a)\" != libc.a") == 0;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strstr(ways[i], "-static") && !has_static_libc) {
			fprintf(stderr, "note: no static libc for %s\n", ways[i]);
			continue;
		}
		compile(ways[i], "shapes");
		check_shapes(in_dir("shapes"));
	}
}

static void test_addr2line_agrees(void **state)
{
	expected_list l = { 0 };
	unsigned n = 0;

	(void)state;
	if (!shell_has("cc addr2line readelf"))
		skip_because("cc, addr2line and readelf are needed");
	compile("-g -O0", "lines");
	CLEANUP(elf__freep) struct elf_symbols *t = load(in_dir("lines"));
	read_expected(in_dir("lines"), &l);
	for (size_t i = 0; i < l.n; i++) {
		char command[1024], theirs[256] = "";
		FILE *f;

		if (!l.v[i].function || l.v[i].size < 2 || l.v[i].name[0] == '_' ||
		    strstr(l.v[i].name, "sym_") != l.v[i].name)
			continue;
		snprintf(command, sizeof(command), "addr2line -f -e %s 0x%llx", in_dir("lines"),
			 (unsigned long long)(l.v[i].start + 1));
		f = popen(command, "r");
		assert_non_null(f);
		assert_non_null(fgets(theirs, sizeof(theirs), f));
		pclose(f);
		theirs[strcspn(theirs, "\n")] = '\0';
		if (strcmp(theirs, "_sym_alias_of_outer") != 0)
			assert_name_at(t, l.v[i].start + 1, theirs);
		n++;
	}
	free_expected(&l);
	assert_true(n >= 3);
}

static void test_stripped_knows_what_is_exported(void **state)
{
	expected_list l = { 0 };

	(void)state;
	if (!shell_has("cc strip readelf"))
		skip_because("cc, strip and readelf are needed");
	compile("-O1 -shared -fPIC", "shapes.so");
	read_expected(in_dir("shapes.so"), &l);
	assert_int_equal(shell("strip %s", in_dir("shapes.so")), 0);
	CLEANUP(elf__freep) struct elf_symbols *t = load(in_dir("shapes.so"));

	assert_name_at(t, address_of(&l, "sym_exported"), "sym_exported");
	assert_name_at(t, address_of(&l, "sym_static"), NULL);
	free_expected(&l);
}

static void test_minidebuginfo_names_what_was_stripped(void **state)
{
	expected_list l = { 0 };

	(void)state;
	if (!shell_has("cc strip objcopy xz readelf"))
		skip_because("cc, binutils and xz are needed");
	compile("-O1", "mini");
	read_expected(in_dir("mini"), &l);
	assert_int_equal(shell("cd %s && objcopy --only-keep-debug mini mini.debug && xz -k "
			       "mini.debug && strip mini && "
			       "objcopy --add-section .gnu_debugdata=mini.debug.xz mini",
			       dir),
			 0);
	{
		CLEANUP(elf__freep) struct elf_symbols *t = load(in_dir("mini"));

		assert_name_at(t, address_of(&l, "sym_static"), "sym_static");
		assert_name_at(t, address_of(&l, "main") + 1, "main");
	}
	/* A damaged one is as good as none. */
	assert_int_equal(shell("cd %s && printf 'xxxxxxxx' | dd of=mini.debug.xz bs=1 seek=200 "
			       "conv=notrunc status=none && "
			       "objcopy --update-section .gnu_debugdata=mini.debug.xz mini",
			       dir),
			 0);
	CLEANUP(elf__freep) struct elf_symbols *t = load(in_dir("mini"));

	assert_name_at(t, address_of(&l, "sym_static"), NULL);
	free_expected(&l);
}

/* Where this very function runs, through the mapping, is what the file calls it. */
int test_elf_symbols_marker(int x);
__attribute__((noinline, used)) int test_elf_symbols_marker(int x)
{
	return x + 42;
}

static uint64_t runtime_to_offset(uint64_t address, char *ret_path)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[1024];
	uint64_t offset = UINT64_MAX;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		unsigned long long from, to, at;

		if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %512s", &from, &to, &at, ret_path) == 4 &&
		    address >= from && address < to) {
			offset = at + (address - from);
			break;
		}
	}
	fclose(f);
	return offset;
}

static void test_file_offset_to_vaddr(void **state)
{
	char path[513] = "";
	uint64_t vaddr = 0;

	(void)state;
	uint64_t offset = runtime_to_offset((uint64_t)(uintptr_t)test_elf_symbols_marker, path);
	CLEANUP(elf__freep) struct elf_symbols *t = load(path);

	assert_int_equal(elf__to_vaddr(t, offset, &vaddr), 0);
	assert_name_at(t, vaddr, "test_elf_symbols_marker");
	assert_int_equal(elf__to_vaddr(t, UINT64_MAX, &vaddr), -ENOENT);

	offset = runtime_to_offset((uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort"), path);
	CLEANUP(elf__freep) struct elf_symbols *libc = load(path);

	assert_int_equal(elf__to_vaddr(libc, offset, &vaddr), 0);
	assert_name_at(libc, vaddr, "qsort");
}

static void test_offsets_that_are_far_from_addresses(void **state)
{
	expected_list l = { 0 };
	uint64_t vaddr;

	(void)state;
	if (!shell_has("cc readelf"))
		skip_because("cc and readelf are needed");
	compile("-O1 -no-pie -Wl,-Ttext-segment=0x7000000", "moved");
	read_expected(in_dir("moved"), &l);
	CLEANUP(elf__freep) struct elf_symbols *moved = load(in_dir("moved"));
	uint64_t start = address_of(&l, "main");
	assert_int_equal(elf__to_vaddr(moved, start - 0x7000000, &vaddr), 0);
	assert_true(vaddr == start);
	free_expected(&l);
}

/* --- damage --- */

static void write_file(const char *path, const void *p, size_t n)
{
	CLEANUP(fd__closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd__write_all(fd, p, n), 0);
}

static int try_file(const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(elf__freep) struct elf_symbols *t = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	char hex[ELF_BUILD_ID_TEXT];
	int rc = elf__load(fd, -1, NULL, &t, &err);

	elf__build_id(fd, hex);
	if (rc)
		assert_true(err.text[0] != '\0');
	return rc;
}

/* --- Go --- */

/*
 * A real program: what its symbol table says of itself must be what pclntab says once that is gone.
 */
static void test_stripped_go_program(void **state)
{
	expected_list l = { 0 };
	unsigned n = 0;

	(void)state;
	if (!shell_has("gofmt strip readelf"))
		skip_because("gofmt (package golang-go), strip and readelf are needed");
	assert_int_equal(shell("cp \"$(readlink -f \"$(command -v gofmt)\")\" %s", in_dir("gofmt")), 0);
	read_expected(in_dir("gofmt"), &l);
	if (l.n < 1000)
		skip_because("this gofmt is stripped already");
	assert_int_equal(shell("strip %s", in_dir("gofmt")), 0);
	CLEANUP(elf__freep) struct elf_symbols *t = load(in_dir("gofmt"));

	for (size_t i = 0; i < l.n; i++) {
		const struct expected *e = &l.v[i];
		struct dcm_str name = { 0 };
		/*
		 * Type arguments are written out in one and as [...] in the other; .abi0 is the
		 * linker's.
		 */
		size_t same = strcspn(e->name, "[");
		const char *abi = strstr(e->name, ".abi0");

		if (!e->function || e->size < 2 || strchr(e->name, '/') ||
		    strncmp(e->name, "type:", 5) == 0 || strncmp(e->name, "_rt0", 4) == 0)
			continue;
		if (abi)
			same = (size_t)(abi - e->name);
		if (elf__find(t, e->start + e->size / 2, &name) || strncmp(name.p, e->name, same) != 0)
			fail_msg("0x%llx: \"%.*s\", not \"%s\"", (unsigned long long)e->start,
				 STR_ARG(name), e->name);
		n++;
	}
	free_expected(&l);
	assert_true(n > 1000);
}

/* Writes numbers of any width into a table. */
struct writer {
	uint8_t p[8192];
	size_t n;
};

static void put(struct writer *w, uint64_t v, unsigned bytes)
{
	memcpy(w->p + w->n, &v, bytes);
	w->n += bytes;
}

static void put_text(struct writer *w, const char *s)
{
	memcpy(w->p + w->n, s, strlen(s) + 1);
	w->n += strlen(s) + 1;
}

enum { GO_TEXT = 0x401000, GO_TEXT_BYTES = 0x100 };

/*
 * Two functions, main.one at +0x10 and main.two at +0x20, until +0x30, in the layout of that
 * version.
 */
static void make_pclntab(struct writer *w, uint32_t magic, uint64_t text_start)
{
	bool v12 = magic == 0xfffffffb, v116 = magic == 0xfffffffa;
	unsigned width = v12 || v116 ? 8 : 4;
	uint64_t base = v12 || v116 ? GO_TEXT : 0;

	put(w, magic, 4);
	put(w, 0x08010000, 4);
	put(w, 2, 8);
	if (!v12) {
		put(w, 0, 8);
		if (!v116)
			put(w, text_start, 8);
		put(w, 256, 8); /* names */
		put(w, 0, 8);
		put(w, 0, 8);
		put(w, 0, 8);
		put(w, 512, 8); /* functions */
		w->n = 512;
	}
	size_t list = w->n, records = list + 5 * width;
	uint64_t relative = v12 ? 0 : list;
	put(w, base + 0x10, width);
	put(w, records - relative, width);
	put(w, base + 0x20, width);
	put(w, records + 16 - relative, width);
	put(w, base + 0x30, width);
	put(w, base + 0x10, width);
	put(w, v12 ? 1024 : 0, 4);
	w->n = records + 16;
	put(w, base + 0x20, width);
	put(w, v12 ? 1033 : 9, 4);
	size_t end = w->n;
	w->n = v12 ? 1024 : 256;
	put_text(w, "main.one");
	put_text(w, "main.two");
	w->n = w->n > end ? w->n : end;
}

/* An ELF file of nothing but text, .gopclntab and the names of the sections. */
static void write_go_file(const char *path, const struct writer *table, uint64_t entry_point)
{
	static const char names[] = "\0.text\0.gopclntab\0.shstrtab";
	enum { TABLE_AT = 0x1000, NAMES_AT = 0x3800, SECTIONS_AT = 0x3900 };
	static uint8_t file[0x4000];
	Elf64_Ehdr h = { .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = 1,
			 .e_entry = entry_point,
			 .e_shoff = SECTIONS_AT,
			 .e_ehsize = sizeof(h),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 4,
			 .e_shstrndx = 3 };
	Elf64_Shdr s[4] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		  .sh_addr = GO_TEXT,
		  .sh_size = GO_TEXT_BYTES },
		{ .sh_name = 7,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC,
		  .sh_addr = 0x500000,
		  .sh_offset = TABLE_AT,
		  .sh_size = table->n },
		{ .sh_name = 18, .sh_type = SHT_STRTAB, .sh_offset = NAMES_AT, .sh_size = sizeof(names) },
	};

	memcpy(h.e_ident, ELFMAG, SELFMAG);
	h.e_ident[EI_CLASS] = ELFCLASS64;
	h.e_ident[EI_DATA] = ELFDATA2LSB;
	memset(file, 0, sizeof(file));
	memcpy(file, &h, sizeof(h));
	memcpy(file + TABLE_AT, table->p, table->n);
	memcpy(file + NAMES_AT, names, sizeof(names));
	memcpy(file + SECTIONS_AT, s, sizeof(s));
	write_file(path, file, sizeof(file));
}

static void test_pclntab_of_every_version(void **state)
{
	static const uint32_t magics[] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct writer w = { 0 };

		make_pclntab(&w, magics[i], GO_TEXT);
		write_go_file(in_dir("go"), &w, GO_TEXT);
		CLEANUP(elf__freep) struct elf_symbols *t = load(in_dir("go"));

		assert_name_at(t, GO_TEXT + 0xf, NULL);
		assert_name_at(t, GO_TEXT + 0x10, "main.one");
		assert_name_at(t, GO_TEXT + 0x1f, "main.one");
		assert_name_at(t, GO_TEXT + 0x20, "main.two");
		assert_name_at(t, GO_TEXT + 0x2f, "main.two");
		assert_name_at(t, GO_TEXT + 0x30, NULL);
		/* Cut anywhere, it names less, never otherwise. */
		for (size_t n = w.n; n > 0; n--) {
			struct dcm_str name;

			w.n = n;
			write_go_file(in_dir("go"), &w, GO_TEXT);
			CLEANUP(elf__freep) struct elf_symbols *cut = load(in_dir("go"));
			assert_true(elf__find(cut, GO_TEXT + 0x10, &name) == -ENOENT ||
				    str__eq(name, STR("main.one")));
		}
	}
}

static void test_pclntab_without_its_text_start_is_not_guessed(void **state)
{
	struct writer w = { 0 };

	(void)state;
	/* As Go 1.26 writes it, in a program that does not start in Go. */
	make_pclntab(&w, 0xfffffff1, 0);
	write_go_file(in_dir("go"), &w, GO_TEXT + 0x10);
	CLEANUP(elf__freep) struct elf_symbols *t = load(in_dir("go"));

	assert_name_at(t, GO_TEXT + 0x10, NULL);
	assert_int_equal(elf__count(t), 0);
}

static void test_truncated_and_foreign_files(void **state)
{
	CLEANUP(fd__closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct buf file = { 0 };
	unsigned refused = 0;

	(void)state;
	assert_int_equal(fd__read_all(fd, 64 << 20, &file), 0);
	for (unsigned i = 0; i < 64; i++) {
		write_file(in_dir("cut"), file.data, file.n * i / 64);
		int rc = try_file(in_dir("cut"));

		assert_true(rc == 0 || rc == -ENOEXEC);
		refused += rc != 0;
	}
	assert_true(refused > 0);
	write_file(in_dir("cut"), "#!/bin/sh\n", 10);
	assert_int_equal(try_file(in_dir("cut")), -ENOEXEC);
	buf__fini(&file);
	assert_int_equal(try_file("/dev/null"), -ENOEXEC);
}

static void test_limits(void **state)
{
	CLEANUP(fd__closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_limits few = { .max_symbols = 3 }, small = { .max_bytes = 512 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct elf_symbols *t = NULL;

	(void)state;
	assert_int_equal(elf__load(fd, -1, &few, &t, &err), -EFBIG);
	assert_int_equal(elf__load(fd, -1, &small, &t, &err), -EFBIG);
	assert_null(t);
}

static void sweep(const char *path)
{
	CLEANUP(fd__closep) int fd = open(path, O_RDONLY | O_CLOEXEC);

	FAILMALLOC_SWEEP (i) {
		struct elf_symbols *t = NULL;
		struct dcm_error err = DCM_ERROR_INIT;
		int rc = elf__load(fd, -1, NULL, &t, &err);

		failmalloc__disarm();
		if (rc == 0) {
			elf__free(t);
			continue;
		}
		assert_int_equal(rc, -ENOMEM);
		assert_null(t);
	}
}

/* A function with a long name that goes on behind each of 4,000 within it: one name, 4,000 parts. */
static void test_a_name_in_many_parts(void **state)
{
	struct elf_symbols *t = NULL;
	char name[9001], path[96];
	FILE *f;
	int rc;

	(void)state;
	if (!shell_has("cc"))
		skip_because("a C compiler is needed");
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(path, sizeof(path), "%s/parts.s", dir);
	for (unsigned n_within = 40; n_within <= 4000; n_within *= 100) {
		f = fopen(path, "we");
		assert_non_null(f);
		fprintf(f, ".text\n.globl %s\n.type %s, @function\n%s:\n", name, name, name);
		for (unsigned i = 0; i < n_within; i++)
			fprintf(f, "nop\n.type f%u, @function\nf%u: nop\n.size f%u, 1\n", i, i, i);
		fprintf(f, "nop\n.size %s, . - %s\n", name, name);
		fclose(f);
		assert_int_equal(shell("cc -shared -nostdlib -o %s/parts.so %s", dir, path), 0);
		CLEANUP(fd__closep) int fd = open(in_dir("parts.so"), O_RDONLY | O_CLOEXEC);
		rc = elf__load(fd, -1, NULL, &t, NULL);
		assert_int_equal(rc, n_within == 40 ? 0 : -EFBIG);
		if (rc == 0) {
			assert_int_equal(elf__count(t), 2 * n_within + 1);
			assert_true(elf__bytes(t) < 1 << 20);
			elf__free(t);
		}
	}
}

static void test_failing_allocations(void **state)
{
	(void)state;
	if (!shell_has("cc"))
		skip_because("cc is needed");
	compile("-O1", "sweep");
	sweep(in_dir("sweep"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_against_readelf),
		cmocka_unit_test(test_build_ids_against_readelf),
		cmocka_unit_test(test_plt_against_objdump),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_addr2line_agrees),
		cmocka_unit_test(test_stripped_knows_what_is_exported),
		cmocka_unit_test(test_minidebuginfo_names_what_was_stripped),
		cmocka_unit_test(test_file_offset_to_vaddr),
		cmocka_unit_test(test_offsets_that_are_far_from_addresses),
		cmocka_unit_test(test_stripped_go_program),
		cmocka_unit_test(test_pclntab_of_every_version),
		cmocka_unit_test(test_pclntab_without_its_text_start_is_not_guessed),
		cmocka_unit_test(test_truncated_and_foreign_files),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_a_name_in_many_parts),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
