/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_kallsyms.c - the kernel's symbols
 *
 * Texts written here for each rule, and the machine's own /proc/kallsyms against a search line by
 * line.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fd.h"
#include "core/base/resident.h"
#include "core/base/sanitizer.h"
#include "core/base/str.h"
#include "core/symbolize/kallsyms.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/kallsyms_text.h"

static struct kallsyms *parse(const char *text, const char *modules)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct kallsyms *t = NULL;

	if (kallsyms_text__read(str__of(text), str__of(modules), &t, &err))
		fail_msg("%s", err.text);
	return t;
}

static void assert_found(const struct kallsyms *t, uint64_t address, const char *name, const char *module)
{
	struct kallsyms_symbol s = { 0 };
	int rc = kallsyms__find(t, address, &s);

	if (!name) {
		assert_int_equal(rc, -ENOENT);
		return;
	}
	if (rc || !str__eq(s.name, str__of(name)) || !str__eq(s.module, str__of(module)))
		fail_msg("0x%" PRIx64 ": \"%.*s\" [%.*s], not \"%s\" [%s]", address,
			 STR_ARG(s.name), STR_ARG(s.module), name, module);
}

static void test_finds_the_symbol_below(void **state)
{
	(void)state;
	CLEANUP(kallsyms__freep)
	struct kallsyms *t = parse("ffffffff81000100 T second\n"
				   "ffffffff81000000 T first\n"
				   "ffffffff81000080 D data\n"
				   "ffffffff81000200 T _etext\n"
				   "ffffffff81003000 t after_data\n",
				   "");

	assert_found(t, 0xffffffff80ffffff, NULL, "");
	assert_found(t, 0xffffffff81000000, "first", "");
	assert_found(t, 0xffffffff810000ff, "first", "");
	assert_found(t, 0xffffffff81000100, "second", "");
	assert_found(t, 0xffffffff810001ff, "second", "");
	assert_found(t, 0xffffffff81000200, NULL, ""); /* behind the kernel's text */
	assert_found(t, 0xffffffff81002fff, NULL, "");
	assert_found(t, 0xffffffff81003000, "after_data", "");
	assert_found(t, 0xffffffff81003000 + KALLSYMS_MAX_SPAN - 1, "after_data", "");
	assert_found(t, 0xffffffff81003000 + KALLSYMS_MAX_SPAN, NULL, "");
	assert_found(t, 0, NULL, "");
	assert_found(t, UINT64_MAX, NULL, "");
}

static void test_the_same_alias_wins_whatever_the_order(void **state)
{
	static const char *const orders[] = {
		"10 T _stext\n10 T __do_it\n10 t static_one\n10 T do_it\n10 W weak_it\n10 T "
		"do_it_too\n",
		"10 T do_it_too\n10 W weak_it\n10 T do_it\n10 t static_one\n10 T __do_it\n10 T "
		"_stext\n",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(kallsyms__freep) struct kallsyms *t = parse(orders[i], "");

		assert_found(t, 0x10, "do_it", "");
	}
}

static void test_modules_and_bpf(void **state)
{
	(void)state;
	CLEANUP(kallsyms__freep)
	struct kallsyms *t = parse(
		"ffffffffc0000000 t mod_init\t[ext4]\n"
		"ffffffffc0000100 t mod_last\t[ext4]\n"
		"ffffffffc0100000 t bpf_prog_6deef7357e7b4530_sampler\t[bpf]\n"
		"ffffffffc0200000 t other\t[xfs]",
		"ext4 4096 1 - Live 0xffffffffc0000000 (E)\n"
		"broken\nxfs x 1 - Live 0xzz\nunknown 4096 0 - Live 0xffffffffc0900000\n");

	assert_found(t, 0xffffffffc0000010, "mod_init", "ext4");
	assert_found(t, 0xffffffffc0000fff, "mod_last", "ext4");
	assert_found(t, 0xffffffffc0001000, NULL, ""); /* the module ends there */
	assert_found(t, 0xffffffffc0100004, "bpf_prog_6deef7357e7b4530_sampler", "bpf");
	assert_found(t, 0xffffffffc0200004, "other", "xfs");
}

static void test_hidden_addresses_are_an_error_with_a_remedy(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct kallsyms *t = NULL;

	(void)state;
	assert_int_equal(
		kallsyms_text__read(STR("0000000000000000 T first\n0000000000000000 t second\n"),
				    STR(""), &t, &err),
		-EACCES);
	assert_non_null(strstr(err.text, "CAP_SYSLOG"));
	assert_int_equal(kallsyms_text__read(STR(""), STR(""), &t, &err), -ENODATA);
	assert_int_equal(kallsyms_text__read(STR("ffffffff81000000 D data\n"), STR(""), &t, &err),
			 -ENODATA);
	assert_int_equal(kallsyms__load("/proc/nonexistent", "/proc/nonexistent", &t, &err), -ENOENT);
	assert_null(t);
}

static void test_garbage_lines_are_skipped(void **state)
{
	(void)state;
	CLEANUP(kallsyms__freep)
	struct kallsyms *t = parse("\n \nT\nzz T x\n10\n10 T\n10 T \n10Tx\n"
				   "ffffffffffffffffff T too_long\n"
				   "20 T good\n30 t\n40 T \t[m]\n50 t x\t[\n60 t last",
				   "");

	assert_found(t, 0x20, "good", "");
	assert_found(t, 0x50, "x", "[");
	assert_found(t, 0x60, "last", "");
}

/* The largest start at or below the address, line by line; whether any name there is ours. */
static bool brute_force_agrees(const char *text, uint64_t address, const char *ours)
{
	uint64_t best = 0;
	bool agrees = false;

	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		uint64_t at = strtoull(line, NULL, 16);
		char type = line[17];

		if ((type == 't' || type == 'T' || type == 'w' || type == 'W') && at <= address &&
		    at >= best) {
			size_t n = strcspn(line + 19, "\t\n");

			if (at > best)
				agrees = false;
			best = at;
			agrees = agrees ||
				 (ours && strlen(ours) == n && memcmp(line + 19, ours, n) == 0) ||
				 (!ours && n > 5 && memcmp(line + 19 + n - 4, "text", 4) == 0);
		}
		line = *end ? end + 1 : end;
	}
	return agrees || (!ours && (best == 0 || address - best >= KALLSYMS_MAX_SPAN));
}

static void test_this_kernel_against_brute_force(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	CLEANUP(kallsyms__freep) struct kallsyms *t = NULL;
	int rc = kallsyms__load("/proc/kallsyms", "/proc/modules", &t, &err);
	struct buf text = { 0 };
	uint64_t seed = 12345;

	(void)state;
	/* That it is not there, or shows nobody an address, is this machine's; all else ours. */
	if (rc == -ENOENT || rc == -EACCES)
		skip_because("%s", err.text);
	assert_int_equal(rc, 0);
	assert_int_equal(fd__read_path(AT_FDCWD, "/proc/kallsyms", KALLSYMS_MAX_BYTES, &text), 0);
	assert_true(kallsyms__bytes(t) > (256u << 10));
	assert_true(kallsyms__bytes(t) < (16u << 20));
	for (unsigned i = 0; i < 200; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		const char *at = (char *)text.data + (seed >> 11) % (text.n - 4096);
		uint64_t address = strtoull(strchr(at, '\n') + 1, NULL, 16) + (seed & 63);
		struct kallsyms_symbol s = { 0 };
		char name[512];

		rc = kallsyms__find(t, address, &s);
		snprintf(name, sizeof(name), "%.*s", STR_ARG(s.name));
		if (!brute_force_agrees((char *)text.data, address, rc ? NULL : name))
			fail_msg("0x%" PRIx64 ": \"%s\"", address, name);
	}
	buf__fini(&text);
}

/* 150,000 symbols as a kernel without modules lists them, every fourth one with an alias. */
static void write_many(struct buf *text)
{
	for (unsigned i = 0; i < 150000; i++) {
		buf__printf(text, "%016llx t __pfx_function_of_some_length_%u\n",
			    0xffffffff81000000ull + 64ull * i, i);
		if (i % 4 == 0)
			buf__printf(text, "%016llx T function_of_some_length_%u\n",
				    0xffffffff81000000ull + 64ull * i, i);
	}
	assert_int_equal(text->error, 0);
}

/*
 * A daemon reads the list again and again: beside its table nothing stays, neither of the reading
 * nor of the table of before. The kernel's count of pages is late by some of each CPU.
 */
static void test_reading_again_leaves_nothing_behind(void **state)
{
	const uint64_t slack = 1 << 20;
	struct dcm_error err = DCM_ERROR_INIT;
	struct kallsyms *t = NULL, *next = NULL;
	struct buf text = { 0 };
	uint64_t before;

	if (SANITIZER_THREAD)
		skip_because("ThreadSanitizer's memory counts, too");
	(void)state;
	write_many(&text);
	before = resident__private(getpid());
	for (int turn = 0; turn < 4; turn++) {
		assert_int_equal(kallsyms_text__read(buf__view(&text), STR(""), &next, &err), 0);
		kallsyms__free(t);
		t = next;
		assert_in_range(kallsyms__bytes(t), 4 << 20, 10 << 20);
		if (resident__private(getpid()) > before + kallsyms__bytes(t) + slack)
			fail_msg("turn %d: %" PRIu64 " KiB for a table of %zu", turn,
				 (resident__private(getpid()) - before) >> 10, kallsyms__bytes(t) >> 10);
	}
	assert_found(t, 0xffffffff81000000ull + 64 * 100000, "function_of_some_length_100000", "");
	assert_found(t, 0xffffffff81000000ull + 64 * 100001, "__pfx_function_of_some_length_100001", "");
	kallsyms__free(t);
	assert_in_range(resident__private(getpid()), 0, before + slack);
	buf__fini(&text);
}

/* At each step of the table's growth there is no room for it. */
static void test_no_room_for_pages(void **state)
{
	struct rlimit was, limit;
	struct buf text = { 0 };
	unsigned n_failed = 0;
	int rc = -ENOMEM;

	(void)state;
	if (SANITIZER)
		skip_because("a sanitizer takes all the address space there is");
	write_many(&text);
	assert_int_equal(getrlimit(RLIMIT_AS, &was), 0);
	for (unsigned mib = 0; rc && mib < 64; mib++) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct kallsyms *t = NULL;
		unsigned long pages = 0;
		FILE *statm = fopen("/proc/self/statm", "re");

		assert_non_null(statm);
		assert_int_equal(fscanf(statm, "%lu", &pages), 1);
		fclose(statm);
		/* The file that stands in for the kernel's takes no address space. */
		limit = was;
		limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + mib * (1u << 20) +
				 (512u << 10);
		assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
		rc = kallsyms_text__read(buf__view(&text), STR(""), &t, &err);
		assert_int_equal(setrlimit(RLIMIT_AS, &was), 0);
		n_failed += rc == -ENOMEM;
		if (rc) {
			assert_int_equal(rc, -ENOMEM);
			assert_null(t);
		}
		kallsyms__free(t);
	}
	assert_int_equal(rc, 0);
	assert_in_range(n_failed, 4, 63); /* the first pages and further ones, of symbols and of names */
	buf__fini(&text);
}

static void test_failing_allocations(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct kallsyms *t = NULL;
		int rc = kallsyms_text__read(STR("10 T a\n20 t b\t[m]\n30 t c\t[n]\n"),
					     STR("m 16 0 - Live 0x20\n"), &t, &err);

		failmalloc__disarm();
		if (rc == 0) {
			kallsyms__free(t);
			continue;
		}
		assert_int_equal(rc, -ENOMEM);
		assert_null(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_the_symbol_below),
		cmocka_unit_test(test_the_same_alias_wins_whatever_the_order),
		cmocka_unit_test(test_modules_and_bpf),
		cmocka_unit_test(test_hidden_addresses_are_an_error_with_a_remedy),
		cmocka_unit_test(test_garbage_lines_are_skipped),
		cmocka_unit_test(test_this_kernel_against_brute_force),
		cmocka_unit_test(test_reading_again_leaves_nothing_behind),
		cmocka_unit_test(test_no_room_for_pages),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
