/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_extract.c - reduced files name addresses as the originals do, in our own answers
 *
 * tests/e2e/debuginfo_extract.sh asks other tools; here symbols and frames of stripped Go programs,
 * of libraries without .symtab, and of damaged files.
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/extract.h"
#include "core/symbolize/frames.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"
#include "tests/unit/paths.h"
#include "tests/unit/random.h"
#include "tests/unit/shell.h"

enum { N_ADDRESSES = 500 };

DEFINE_FOLDER(dir, "extract", 0700);
#define must(...) assert_int_equal(shell_in(dir, __VA_ARGS__), 0)

static int open_in_dir(const char *name, int flags)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, flags | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	return fd;
}

/* The reduced file of a descriptor. */
static int reduced(int fd)
{
	int out = open_in_dir("reduced", O_RDWR | O_CREAT | O_TRUNC);
	struct dcm_error err = DCM_ERROR_INIT;
	struct extract_report report;

	if (extract__file(fd, out, EXTRACT_SMALL, &report, &err))
		fail_msg("%s", err.text);
	assert_true(report.bytes_out < report.bytes_in);
	return out;
}

/* Addresses all over the executable segments. */
static void pick(const struct elf_symbols *t, uint64_t *ret)
{
	struct random r = { 5 };
	uint32_t n = 0;

	for (unsigned turn = 0; n < N_ADDRESSES && turn < 10000000; turn++) {
		struct dcm_str name;
		uint64_t at = random__below(&r, 8 << 20);

		if (elf__find(t, at, &name) == 0)
			ret[n++] = at;
		else if (elf__find(t, 0x400000 + at, &name) == 0)
			ret[n++] = 0x400000 + at;
	}
	assert_int_equal(n, N_ADDRESSES);
}

static struct buf answer_of(int fd, const uint64_t *addresses)
{
	struct frames_question q = { .addresses = addresses,
				     .n = N_ADDRESSES,
				     .inlines = true,
				     .budget_ns = 60000000000,
				     .n_files = 1 };
	struct buf request = { 0 }, answer = { 0 };

	assert_int_equal(frames__ask(&q, &request), 0);
	assert_int_equal(frames__answer(request.data, request.n, &fd, 1, &answer), 0);
	buf__fini(&request);
	return answer;
}

/* Symbols (stubs of the PLT are code, and gone) and frames. */
static void check_same(int fd)
{
	CLEANUP(fd__closep) int small = reduced(fd);
	CLEANUP(elf__freep) struct elf_symbols *want = NULL, *got = NULL;
	char id[ELF_BUILD_ID_TEXT] = "", small_id[ELF_BUILD_ID_TEXT] = "";
	uint64_t addresses[N_ADDRESSES];

	assert_int_equal(elf__load(fd, -1, NULL, &want, NULL), 0);
	assert_int_equal(elf__load(small, -1, NULL, &got, NULL), 0);
	pick(want, addresses);
	for (unsigned i = 0; i < N_ADDRESSES; i++) {
		struct dcm_str x, y;

		assert_int_equal(elf__find(want, addresses[i], &x), 0);
		assert_int_equal(elf__find(got, addresses[i], &y), 0);
		assert_true(str__eq(x, y) || str__starts(x, STR("[plt]")));
	}
	assert_int_equal(elf__build_id(small, small_id), elf__build_id(fd, id));
	assert_string_equal(small_id, id);
	struct buf a = answer_of(fd, addresses), b = answer_of(small, addresses);
	assert_int_equal(a.n, b.n);
	assert_memory_equal(a.data, b.data, a.n);
	buf__fini(&a);
	buf__fini(&b);
}

static void test_go_without_dwarf(void **state)
{
	static const char *const flags[] = { "-ldflags=-s", "-ldflags=-w", "-buildmode=pie -ldflags=-s" };
	static const char *const places[] = { "go", "/usr/lib/go-1.19/bin/go" };
	unsigned n = 0;

	(void)state;
	for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
		if (!shell_has(places[p]))
			continue;
		for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
			must("GOFLAGS= GOTOOLCHAIN=local GO111MODULE=off '%s' build %s -o go "
			     "%s/tests/programs/inlines.go",
			     places[p], flags[i], TEST_SRCDIR);
			CLEANUP(fd__closep) int fd = open_in_dir("go", O_RDONLY);
			check_same(fd);
			n++;
		}
	}
	if (!n)
		skip_because("go is needed");
}

static void test_library_with_exported_names_only(void **state)
{
	CLEANUP(fd__closep) int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);

	(void)state;
	if (fd < 0)
		skip_because("this machine's C library lies elsewhere");
	check_same(fd);
}

static void test_what_cannot_be_reduced(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct extract_report report;

	(void)state;
	if (!shell_has("cc"))
		skip_because("cc is needed");
	must("echo text >text && : >empty && cc -xc -c -g -o object.o - </dev/null");
	CLEANUP(fd__closep) int out = open_in_dir("out", O_RDWR | O_CREAT | O_TRUNC);
	CLEANUP(fd__closep) int text = open_in_dir("text", O_RDONLY);
	assert_int_equal(extract__file(text, out, EXTRACT_SMALL, &report, &err), -ENOEXEC);
	CLEANUP(fd__closep) int empty = open_in_dir("empty", O_RDONLY);
	assert_int_equal(extract__file(empty, out, EXTRACT_SMALL, &report, &err), -ENOEXEC);
	CLEANUP(fd__closep) int object = open_in_dir("object.o", O_RDONLY);
	assert_int_equal(extract__file(object, out, EXTRACT_SMALL, &report, &err), -EINVAL);
	assert_non_null(strstr(err.text, "give the linked file"));
}

/* One with DWARF. */
static void read_program(struct buf *to)
{
	char path[256];

	must("g++ -O1 -g -o plain %s/tests/programs/inlines.cc", TEST_SRCDIR);
	snprintf(path, sizeof(path), "%s/plain", dir);
	assert_int_equal(fd__read_path(AT_FDCWD, path, 64 << 20, to), 0);
}

/* Whatever a damaged file makes of it, it ends, and is refused or written. */
static void test_damaged_files_end(void **state)
{
	struct buf good = { 0 };
	struct random r = { 9 };

	(void)state;
	if (!shell_has("g++"))
		skip_because("g++ is needed");
	read_program(&good);
	for (int turn = 0; turn < 60; turn++) {
		size_t sections = good.n - 64 * 40, at = sections + random__below(&r, good.n - sections);
		uint8_t old = good.data[at];
		struct extract_report report;
		CLEANUP(fd__closep) int in = open_in_dir("damaged", O_RDWR | O_CREAT | O_TRUNC);
		CLEANUP(fd__closep) int out = open_in_dir("out", O_RDWR | O_CREAT | O_TRUNC);

		good.data[at] = (uint8_t)random__below(&r, 256);
		assert_int_equal(fd__write_all(in, good.data, good.n), 0);
		good.data[at] = old;
		extract__file(in, out, EXTRACT_SMALL, &report, NULL);
	}
	buf__fini(&good);
}

static Elf64_Shdr *section_of_type(struct buf *file, uint32_t type)
{
	Elf64_Ehdr *e = (Elf64_Ehdr *)file->data;
	Elf64_Shdr *s = (Elf64_Shdr *)(file->data + e->e_shoff);

	for (uint32_t i = 0; i < e->e_shnum; i++)
		if (s[i].sh_type == type)
			return &s[i];
	fail_msg("no section of type %u", type);
	return NULL;
}

static int reduce(const struct buf *file, struct extract_report *report, struct dcm_error *err)
{
	CLEANUP(fd__closep) int in = open_in_dir("crafted", O_RDWR | O_CREAT | O_TRUNC);
	CLEANUP(fd__closep) int out = open_in_dir("out", O_RDWR | O_CREAT | O_TRUNC);

	assert_int_equal(fd__write_all(in, file->data, file->n), 0);
	return extract__file(in, out, EXTRACT_FAST, report, err);
}

/* A few bytes of headers make no large file: neither a gap before a section, nor the same bytes many times. */
static void test_crafted_files_stay_small(void **state)
{
	struct buf good = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct extract_report report;

	(void)state;
	if (!shell_has("g++"))
		skip_because("g++ is needed");
	read_program(&good);
	assert_int_equal(reduce(&good, &report, &err), 0);
	const uint64_t usual = report.bytes_out;

	section_of_type(&good, SHT_SYMTAB)->sh_addralign = UINT64_C(1) << 31;
	assert_int_equal(reduce(&good, &report, &err), 0);
	assert_in_range(report.bytes_out, usual, usual + 4096);
	section_of_type(&good, SHT_SYMTAB)->sh_addralign = 8;
	section_of_type(&good, SHT_GNU_HASH)->sh_offset = UINT64_C(1) << 31;
	section_of_type(&good, SHT_GNU_HASH)->sh_type = SHT_NULL;
	assert_int_equal(reduce(&good, &report, &err), 0);
	assert_in_range(report.bytes_out, usual, usual + 4096);
	section_of_type(&good, SHT_NOTE)->sh_offset = 0;
	section_of_type(&good, SHT_NOTE)->sh_size = good.n;
	assert_int_equal(reduce(&good, &report, &err), -ENOEXEC);
	assert_non_null(strstr(err.text, "more bytes than it has"));
	buf__fini(&good);
}

static void test_failing_allocations(void **state)
{
	(void)state;
	if (!shell_has("g++"))
		skip_because("g++ is needed");
	must("g++ -O1 -g -o plain %s/tests/programs/inlines.cc", TEST_SRCDIR);
	CLEANUP(fd__closep) int in = open_in_dir("plain", O_RDONLY);
	FAILMALLOC_SWEEP (i) {
		CLEANUP(fd__closep) int out = open_in_dir("out", O_RDWR | O_CREAT | O_TRUNC);
		struct extract_report report;
		int rc = extract__file(in, out, EXTRACT_SMALL, &report, NULL);

		failmalloc__disarm();
		assert_true(rc == 0 || rc == -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_go_without_dwarf),
		cmocka_unit_test(test_library_with_exported_names_only),
		cmocka_unit_test(test_what_cannot_be_reduced),
		cmocka_unit_test(test_damaged_files_end),
		cmocka_unit_test(test_crafted_files_stay_small),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests_name("extract", tests, make_dir, remove_dir);
}
