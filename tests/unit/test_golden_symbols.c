/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_golden_symbols.c - symbols that an earlier version kept still name what they named
 *
 * tests/golden/symbols-1 is a symbol store's directory: a reduced program, and logs of names of a
 * program that is gone and of a stand-in. They are never changed: a version that reads them
 * otherwise has forgotten what nobody can find out again. After a new version of a format
 *
 *	printf 'int golden_leaf(int n)\n{\n\treturn n + 1;\n}\n\nvoid _start(void)\n{\n\tgolden_leaf(1);\n}\n' >golden.c
 *	cc -g -O0 -nostdlib -static -fno-asynchronous-unwind-tables -fdebug-prefix-map=$PWD=/src \
 *		-Wl,--build-id=0x0123456789abcdef -o golden golden.c
 *	test_golden_symbols make DIR golden
 *
 * makes the next one. Where its functions are `nm golden` says, and `addr2line` their lines.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/symbolize/depot.h"
#include "core/symbolize/names.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/folder.h"
#include "tests/unit/native_batch.h"
#include "tests/unit/paths.h"

#define GOLDEN	 TEST_SRCDIR "/tests/golden/symbols-1"
#define PROGRAM	 "0123456789abcdef"
#define GONE	 "fedcba9876543210"
#define STAND_IN "~0123456789abcdef"
static const int64_t SECOND = 1000000000;

DEFINE_FOLDER(dir, "golden", 0700);

/* -------------------------------------------------------------------------------------------------
 * What is in the logs, in the order in which it was written, a frame for each run of one number
 */

static const struct entry {
	const char *id;
	unsigned frame;
	uint64_t address;
	uint8_t addr_kind, asked;
	bool counts; /* no other one of its address does */
	uint32_t rank, n;
	struct learned_line lines[2];
} entries[] = {
#define LINE(name_, system_, file_, line_, start_)                                                 \
	{                                                                                          \
		{ name_, sizeof(name_) - 1 }, { system_, sizeof(system_) - 1 },                    \
			{ file_, sizeof(file_) - 1 }, line_, start_                                \
	}
	{ GONE,
	  1,
	  0x2000,
	  DCM_ADDR_VADDR,
	  2,
	  true,
	  4000000000,
	  2,
	  { LINE("größe(int)", "_Z6groessei", "/src/inline.h", 3, 1),
	    LINE("outer", "", "/src/outer.c", UINT32_MAX, 70) } },
	{ GONE, 1, 0x1000, DCM_ADDR_VADDR, 0, false, 7, 1, { LINE("replaced", "", "", 0, 0) } },
	{ GONE, 1, UINT64_MAX, DCM_ADDR_FILE_OFFSET, 0, true, 0, 1, { LINE("far", "", "", 0, 0) } },
	{ GONE, 2, 0x1000, DCM_ADDR_VADDR, 1, true, 7, 1, { LINE("replacing", "", "/src/outer.c", 300, 0) } },
	{ GONE, 2, 0x2000, DCM_ADDR_VADDR, 0, false, 3, 1, { LINE("of a poorer table", "", "", 0, 0) } },
	{ STAND_IN, 1, 0x30, DCM_ADDR_VADDR, 0, true, 1, 1, { LINE("by_a_process", "", "", 0, 0) } },
};
enum { N_ENTRIES = sizeof(entries) / sizeof(entries[0]) };

static struct learned_key key_of(const struct entry *e)
{
	const struct dcm_str id = str__of(e->id);

	return (struct learned_key){ id, hash__bytes(id.p, id.n, 0), e->address, e->addr_kind };
}

static void insert(struct learned_set *set, const struct entry *e)
{
	const struct learned_key key = key_of(e);
	const struct learned what = { .lines = e->lines, .n = e->n, .asked = e->asked, .rank = e->rank };

	assert_int_equal(learned_set__insert(set, &key, &what), 0);
}

/* Appends the frame that entry i begins. Returns where the next one does. */
static size_t write_frame(struct depot *d, size_t i)
{
	const struct entry *const first = &entries[i];
	struct learned_set set;
	struct buf log = { 0 }, frame = { 0 };
	uint32_t rows[N_ENTRIES], n = 0;

	assert_int_equal(learned_set__init(&set), 0);
	for (; i < N_ENTRIES && strcmp(entries[i].id, first->id) == 0 && entries[i].frame == first->frame;
	     i++) {
		insert(&set, &entries[i]);
		rows[n] = n;
		n++;
	}
	names__write(&set, rows, n, str__of(first->id), &frame);
	const int r = depot__read_names(d, first->id, NAMES_MAX_BYTES, &log);
	assert_true(r == 0 || r == -ENOENT);
	assert_int_equal(depot__append_names(d, first->id, log.n, &frame), 0);
	buf__fini(&log);
	buf__fini(&frame);
	learned_set__fini(&set);
	return i;
}

static struct symbols *open_symbols(const char *store, bool read_only)
{
	const struct symbols_config c = {
		.store_dir = store, .store_read_only = read_only, .lines = true, .inlines = true
	};
	struct dcm_error err = DCM_ERROR_INIT;
	struct symbols *s = NULL;

	if (symbols__new(&c, &s, &err))
		fail_msg("%s", err.text);
	return s;
}

static void keep_program(const char *store, const char *program)
{
	CLEANUP(symbols__freep) struct symbols *s = open_symbols(store, false);
	CLEANUP(fd__closep) int fd = open(program, O_RDONLY | O_CLOEXEC);
	struct symbols_stat stat;

	assert_true(fd >= 0);
	symbols__offer(s, str__of(PROGRAM), STR("/gone/golden"), fd);
	do {
		usleep(1000);
		symbols__stat(s, &stat);
	} while (stat.store_put + stat.store_failed == 0 || stat.store_waiting);
	assert_int_equal(stat.store_put, 1);
}

static void write_names(const char *store)
{
	const struct depot_config config = { .dir = store, .max_bytes = 1 << 30, .clock = &clock__system };
	struct depot *d = NULL;

	assert_int_equal(depot__new(&config, &d), 0);
	for (size_t i = 0; i < N_ENTRIES;)
		i = write_frame(d, i);
	depot__free(d);
}

/* -------------------------------------------------------------------------------------------------
 * Tests
 */

/* The frames of the stack's one location, the innermost first: "name system file:line/start;". */
static void assert_frames(struct symbols *s, const char *id, uint64_t address, const char *want)
{
	CLEANUP(batch__unrefp)
	struct dcm_batch *b = native_batch__of("/gone/program", id, &address, 1), *named = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf text = { 0 };

	if (symbols__resolve(s, b, 60 * SECOND, &named, &err))
		fail_msg("%s", err.text);
	const struct dcm_location *l = &named->locations[0];
	for (uint32_t i = 0; i < l->n_lines; i++) {
		const struct dcm_line *line = &named->lines[l->line_off + i];
		const struct dcm_function *f = &named->functions[line->function];

		buf__printf(&text, "%.*s %.*s %.*s:%u/%u;", STR_ARG(named->strings[f->name]),
			    STR_ARG(named->strings[f->system_name]), STR_ARG(named->strings[f->file]),
			    (unsigned)line->line, (unsigned)f->start_line);
	}
	buf__byte(&text, '\0');
	assert_string_equal((const char *)text.data, want);
	buf__fini(&text);
}

static void assert_all_named(const char *store, bool read_only)
{
	CLEANUP(symbols__freep) struct symbols *s = open_symbols(store, read_only);

	assert_frames(s, PROGRAM, 0x401007, "golden_leaf  /src/golden.c:3/1;");
	assert_frames(s, PROGRAM, 0x401018, "_start  /src/golden.c:8/6;");
	assert_frames(s, GONE,
		      0x2000, "größe(int) _Z6groessei /src/inline.h:3/1;outer  /src/outer.c:4294967295/70;");
	assert_frames(s, GONE, 0x1000, "replacing  /src/outer.c:300/0;");
	assert_frames(s, GONE, 0x3000, "");
	assert_frames(s, STAND_IN, 0x30, "by_a_process  :0/0;");
}

static void test_names_are_what_they_were(void **state)
{
	char copy[64];
	(void)state;

	assert_all_named(GOLDEN, true);
	snprintf(copy, sizeof(copy), "%s/copy", dir);
	assert_int_equal(shell("cp -R '%s' '%s' && chmod -R u+w '%s'", GOLDEN, copy, copy), 0);
	assert_all_named(copy, false);
	/* The file as other tools read it, and what is behind it, are there still. */
	assert_int_equal(shell("test -e '%s/.build-id/01/23456789abcdef.elf'", copy), 0);
}

static void assert_entry(const struct names *names, const struct entry *e)
{
	const struct learned_key key = key_of(e);
	struct learned what;

	assert_true(learned_set__find(&names->set, &key, &what));
	assert_int_equal(what.n, e->n);
	assert_int_equal(what.asked, e->asked);
	assert_int_equal(what.rank, e->rank);
	for (uint32_t i = 0; i < e->n; i++) {
		const struct learned_line line = learned__line(&what, i);

		assert_true(str__eq(line.name, e->lines[i].name));
		assert_true(str__eq(line.system_name, e->lines[i].system_name));
		assert_true(str__eq(line.file, e->lines[i].file));
		assert_int_equal(line.line, e->lines[i].line);
		assert_int_equal(line.start_line, e->lines[i].start_line);
	}
}

/* Every entry of the logs that counts, to the last number. */
static void test_logs_are_read_whole(void **state)
{
	const struct depot_config config = {
		.dir = GOLDEN, .max_bytes = 1 << 30, .clock = &clock__system, .read_only = true
	};
	struct depot *d = NULL;
	(void)state;

	assert_int_equal(depot__new(&config, &d), 0);
	for (size_t i = 0; i < N_ENTRIES; i++) {
		const struct entry *e = &entries[i];
		CLEANUP(names__unrefp) struct names *names = NULL;
		struct names_found found;
		struct buf log = { 0 };

		assert_int_equal(depot__read_names(d, e->id, NAMES_MAX_BYTES, &log), 0);
		assert_int_equal(names__read(log.data, log.n, str__of(e->id), &names, &found), 0);
		buf__fini(&log);
		assert_int_equal(found.n_bad_bytes, 0);
		assert_int_equal(found.n_frames, strcmp(e->id, GONE) == 0 ? 2 : 1);
		if (e->counts)
			assert_entry(names, e);
	}
	depot__free(d);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_what_they_were),
		cmocka_unit_test(test_logs_are_read_whole),
	};

	if (argc == 4 && strcmp(argv[1], "make") == 0) {
		keep_program(argv[2], argv[3]);
		write_names(argv[2]);
		return 0;
	}
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
