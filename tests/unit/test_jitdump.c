/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_jitdump.c - jitdumps: code, lines, moves, and what is no jitdump
 *
 * The oracle is an array of bytes, painted with names and lines record by record.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "plugins/input/perf_map/dump.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

enum { LOAD, MOVE, LINES, CLOSE, UNWIND };

/* --- writing a dump, as the specification has it --- */

static void put_header(struct buf *b)
{
	buf__le32(b, 0x4A695444);
	buf__le32(b, 1);
	buf__le32(b, 48); /* more than this version knows */
	buf__le32(b, 62);
	buf__le32(b, 0);
	buf__le32(b, 1);
	buf__le64(b, 0);
	buf__le64(b, 0);
	buf__le64(b, 0x1122334455667788);
}

/* The head, whose size end_record() fills in. */
static size_t begin_record(struct buf *b, uint32_t id)
{
	size_t at = b->n;

	buf__le32(b, id);
	buf__le32(b, 0);
	buf__le64(b, 0);
	return at;
}

static void end_record(struct buf *b, size_t at)
{
	uint32_t total = (uint32_t)(b->n - at);

	memcpy(b->data + at + 4, &total, sizeof(total));
}

static void put_load(struct buf *b, uint64_t code, uint64_t bytes, const char *name)
{
	size_t at = begin_record(b, LOAD);

	buf__le64(b, 0);
	buf__le64(b, code);
	buf__le64(b, code);
	buf__le64(b, bytes);
	buf__le64(b, 0);
	buf__append(b, name, strlen(name) + 1);
	for (uint64_t i = 0; i < bytes; i++)
		buf__append(b, "\xcc", 1);
	end_record(b, at);
}

static void put_move(struct buf *b, uint64_t from, uint64_t to, uint64_t bytes)
{
	size_t at = begin_record(b, MOVE);

	buf__le64(b, 0);
	buf__le64(b, to);
	buf__le64(b, from);
	buf__le64(b, to);
	buf__le64(b, bytes);
	buf__le64(b, 0);
	end_record(b, at);
}

struct entry {
	uint64_t address;
	uint32_t line;
	const char *file;
};

static void put_lines(struct buf *b, uint64_t code, const struct entry *v, size_t n)
{
	size_t at = begin_record(b, LINES);

	buf__le64(b, code);
	buf__le64(b, n);
	for (size_t i = 0; i < n; i++) {
		buf__le64(b, v[i].address);
		buf__le32(b, v[i].line);
		buf__le32(b, 0);
		buf__append(b, v[i].file, strlen(v[i].file) + 1);
	}
	end_record(b, at);
}

/* --- reading it --- */

struct reading {
	struct dump dump;
	struct map names;
};

static void reading__init(struct reading *r)
{
	dump__init(&r->dump, 64 << 20);
	map__init(&r->names, 64 << 20);
}

static void reading__fini(struct reading *r)
{
	dump__fini(&r->dump);
	map__fini(&r->names);
}

/* In pieces that grow while nothing can be taken of them, as a file that is being written. */
static void feed(struct reading *r, const struct buf *b, size_t piece)
{
	size_t at = 0, have = 0, used;

	while (at < b->n) {
		have = have + piece < b->n - at ? have + piece : b->n - at;
		assert_int_equal(dump__feed(&r->dump, &r->names, b->data + at, have, &used), 0);
		assert_true(used || at + have < b->n);
		at += used;
		have -= used;
	}
	assert_int_equal(map__settle(&r->names), 0);
	assert_int_equal(dump__settle(&r->dump), 0);
}

static void assert_place(const struct reading *r, uint64_t address, const char *name,
			 const char *file, int64_t line)
{
	struct dcm_str got = STR(""), got_file = STR("");
	int64_t got_line = 0;
	uint64_t start;

	if (!map__find(&r->names, address, &got, &start))
		got = STR("");
	if (!dump__find(&r->dump, address, &got_file, &got_line))
		got_file = STR("");
	if (!str__eq(got, str__of(name)) || !str__eq(got_file, str__of(file)) || got_line != line)
		fail_msg("0x%" PRIx64 ": %.*s (%.*s:%" PRId64 "), not %s (%s:%" PRId64 ")", address,
			 STR_ARG(got), STR_ARG(got_file), got_line, name, file, line);
}

static void test_names_and_lines(void **state)
{
	struct entry lines[] = { { 0x1004, 7, "/srv/a b.rb" },
				 { 0x1010, 8, "\xff" },
				 { 0x1018, 4000000000u, "other:1.rb" } };
	struct entry v8[] = { { 0x2040, 12, "app.js" }, { 0x2050, 13, "app.js" } };
	struct buf b = { 0 };
	struct reading r;

	(void)state;
	put_header(&b);
	put_lines(&b, 0x1000, lines, 3);
	end_record(&b, begin_record(&b, UNWIND));
	put_load(&b, 0x1000, 0x20, "method");
	put_lines(&b, 0x2000, v8, 2);
	put_load(&b, 0x2000, 0x20, "JS:*run app.js:12:1");
	put_load(&b, 0x3000, 0x20, "without\tlines\xfe");
	end_record(&b, begin_record(&b, CLOSE));
	for (size_t piece = 1; piece < 100; piece += 7) {
		reading__init(&r);
		feed(&r, &b, piece);
		assert_place(&r, 0xfff, "", "", 0);
		assert_place(&r, 0x1003, "method", "", 0);
		assert_place(&r, 0x1004, "method", "/srv/a b.rb", 7);
		assert_place(&r, 0x1017, "method", "/srv/a b.rb", 8);
		assert_place(&r, 0x101f, "method", "other:1.rb", 4000000000);
		assert_place(&r, 0x1020, "", "", 0);
		assert_place(&r, 0x2000, "JS:*run app.js:12:1", "app.js", 12);
		assert_place(&r, 0x201f, "JS:*run app.js:12:1", "app.js", 13);
		assert_place(&r, 0x3000, "without?lines?", "", 0);
		assert_int_equal(r.dump.n_records, 7);
		assert_int_equal(r.dump.n_skipped, 0);
		reading__fini(&r);
	}
	buf__fini(&b);
}

/* Records that make no sense cost themselves, and nothing else. */
static void test_garbage_is_counted_and_skipped(void **state)
{
	struct entry far[] = { { 0x5000, 1, "a" } }, binary[] = { { 0x1000, 1, "\xc3\x28" } };
	struct buf b = { 0 };
	struct reading r;
	size_t at;

	(void)state;
	put_header(&b);
	put_lines(&b, 0x1000, far, 1); /* outside of the code; the code has its name all the same */
	put_load(&b, 0x1000, 0x10, "one");
	put_lines(&b, 0x1100, binary, 1);
	put_load(&b, 0x1100, 0x10, "two");
	put_load(&b, 0x1200, 0x10, ""); /* no name */
	at = begin_record(&b, LOAD);	/* too short */
	buf__le64(&b, 1);
	end_record(&b, at);
	put_move(&b, 0x1000, UINT64_MAX - 4, 0x10);
	at = begin_record(&b, LINES); /* more entries than there are */
	buf__le64(&b, 0x1300);
	buf__le64(&b, UINT64_MAX);
	end_record(&b, at);
	at = begin_record(&b, LINES); /* far too many bytes of them */
	for (unsigned i = 0; i <= DUMP_MAX_RECORD / 8; i++)
		buf__le64(&b, 0);
	end_record(&b, at);
	put_load(&b, 0x1300, 0x10, "three");
	reading__init(&r);
	feed(&r, &b, 200);
	assert_place(&r, 0x1000, "one", "", 0);
	assert_place(&r, 0x1100, "two", "", 0);
	assert_place(&r, 0x1300, "three", "", 0);
	assert_int_equal(r.dump.n_records, 10);
	assert_int_equal(r.dump.n_skipped, 7);
	/* Behind a record without a length nothing can be told. */
	b.n = 0;
	put_load(&b, 0x1400, 0x10, "four");
	for (unsigned i = 0; i < 2; i++)
		buf__le64(&b, 0);
	put_load(&b, 0x1500, 0x10, "five");
	feed(&r, &b, 50);
	assert_place(&r, 0x1400, "four", "", 0);
	assert_place(&r, 0x1500, "", "", 0);
	assert_true(r.dump.broken);
	/* Nor of a file that is none. */
	dump__reset(&r.dump);
	b.n = 0;
	for (unsigned i = 0; i < 20; i++)
		buf__append(&b, "10 10 a perf map\n", 17);
	feed(&r, &b, 50);
	assert_true(r.dump.broken);
	reading__fini(&r);
	buf__fini(&b);
}

enum { SPACE = 6000, RECORDS = 300 };

struct painted {
	uint32_t name, line; /* 0: none */
};

static void paint_lines(struct buf *b, struct random *rnd, struct painted *to, uint64_t code,
			uint64_t bytes)
{
	struct entry v[8];
	size_t n = 1 + random__below(rnd, 8);
	uint64_t at = code;

	for (size_t i = 0; i < n; i++) {
		at += random__below(rnd, 1 + (code + bytes - at) / 2);
		v[i] = (struct entry){ at, 1 + (uint32_t)random__below(rnd, 1000), "f" };
		for (uint64_t a = at; a < code + bytes; a++)
			to[a].line = v[i].line;
	}
	put_lines(b, code, v, n);
}

static void paint(struct buf *b, struct random *rnd, struct painted *painted, uint32_t id)
{
	uint64_t bytes = 1 + random__below(rnd, 200), code = random__below(rnd, SPACE - bytes);
	char name[16];

	if (random__below(rnd, 4) == 0) {
		uint64_t to = random__below(rnd, SPACE - bytes);

		put_move(b, code, to, bytes);
		/* Where nothing is known, nothing moves. Old and new places lie apart. */
		if (to + bytes > code && code + bytes > to) {
			b->n -= 64;
			return;
		}
		for (uint64_t i = 0; i < bytes; i++) {
			if (painted[code + i].name)
				painted[to + i].name = painted[code + i].name;
			if (painted[code + i].line)
				painted[to + i].line = painted[code + i].line;
		}
		return;
	}
	if (random__below(rnd, 2))
		paint_lines(b, rnd, painted, code, bytes);
	snprintf(name, sizeof(name), "n%" PRIu32, id);
	put_load(b, code, bytes, name);
	for (uint64_t i = 0; i < bytes; i++)
		painted[code + i].name = id;
}

static void test_the_newest_wins_against_brute_force(void **state)
{
	struct painted *painted = calloc(SPACE, sizeof(*painted));
	struct random rnd = { 7 };

	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		struct buf b = { 0 };
		struct reading r;

		memset(painted, 0, SPACE * sizeof(*painted));
		put_header(&b);
		for (uint32_t id = 1; id <= RECORDS; id++)
			paint(&b, &rnd, painted, id);
		reading__init(&r);
		feed(&r, &b, round ? 1 + random__below(&rnd, 5000) : b.n);
		for (uint64_t a = 0; a < SPACE; a++) {
			char name[16] = "";

			if (painted[a].name)
				snprintf(name, sizeof(name), "n%" PRIu32, painted[a].name);
			assert_place(&r, a, name, painted[a].line ? "f" : "", painted[a].line);
		}
		assert_int_equal(r.dump.n_skipped, 0);
		reading__fini(&r);
		buf__fini(&b);
	}
	free(painted);
}

static void test_memory_is_bounded(void **state)
{
	struct buf b = { 0 };
	struct reading r;
	size_t used;

	(void)state;
	reading__init(&r);
	r.names.max_bytes = r.dump.lines.max_bytes = 1 << 20;
	put_header(&b);
	for (uint64_t i = 0; i < 50000; i++) {
		char name[64], file[64];
		struct entry lines[] = { { i * 16, 1, file }, { i * 16 + 8, 2, file } };

		snprintf(name, sizeof(name), "a function, number %" PRIu64, i);
		snprintf(file, sizeof(file), "a file, number %" PRIu64, i);
		put_lines(&b, i * 16, lines, 2);
		put_load(&b, i * 16, 16, name);
		assert_int_equal(dump__feed(&r.dump, &r.names, b.data, b.n, &used), 0);
		assert_int_equal(used, b.n);
		b.n = 0;
		if (i % 500 == 0) {
			assert_int_equal(map__settle(&r.names), 0);
			assert_int_equal(dump__settle(&r.dump), 0);
			assert_true(map__bytes(&r.names) < 3 << 20);
			assert_true(dump__bytes(&r.dump) < 3 << 20);
		}
	}
	assert_int_equal(map__settle(&r.names), 0);
	assert_int_equal(dump__settle(&r.dump), 0);
	assert_place(&r, 49999 * 16 + 9, "a function, number 49999", "a file, number 49999", 2);
	assert_true(r.names.n_forgotten && r.dump.lines.n_forgotten);
	reading__fini(&r);
	buf__fini(&b);
}

/*
 * A record of 64 bytes can ask for all names to be copied. What is copied is bounded by the bytes
 * of the file, and what comes behind is taken.
 */
static void test_work_is_paid_for(void **state)
{
	enum { LOADS = 20000, MOVES = 60, MOVED = LOADS * 16 };
	struct buf b = { 0 };
	struct reading r;

	(void)state;
	put_header(&b);
	for (uint64_t i = 0; i < LOADS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%" PRIu64, i);
		put_load(&b, i * 16, 16, name);
	}
	for (uint64_t i = 1; i <= MOVES; i++)
		put_move(&b, 0, i * MOVED, MOVED);
	put_load(&b, 0x100000000, 16, "later");
	reading__init(&r);
	feed(&r, &b, b.n);
	assert_true(r.dump.work <= DUMP_MAX_WORK + MOVES * 64 * DUMP_WORK_PER_BYTE);
	assert_true(r.dump.n_cut >= MOVES - DUMP_MAX_WORK / (LOADS * DUMP_RANGE_WORK) &&
		    r.dump.n_cut < MOVES);
	assert_int_equal(r.dump.n_skipped, 0);
	assert_place(&r, 5 * 16, "f5", "", 0);
	assert_place(&r, MOVED + (LOADS - 1) * 16, "f19999", "", 0);
	assert_place(&r, MOVES * MOVED + LOADS / 2 * 16, "", "", 0);
	assert_place(&r, 0x100000000, "later", "", 0);
	reading__fini(&r);
	buf__fini(&b);
}

/* An entry of a byte may repeat a file's name of four thousand. */
static void test_repeated_places_are_paid_for(void **state)
{
	enum { LINES_OF_IT = 3000, RECORDS_OF_IT = 40 };
	struct entry lines[LINES_OF_IT];
	struct buf b = { 0 };
	struct reading r;
	char file[3500];

	(void)state;
	memset(file, 'f', sizeof(file) - 1);
	file[sizeof(file) - 1] = '\0';
	for (uint32_t i = 0; i < LINES_OF_IT; i++)
		lines[i] = (struct entry){ 0x1000 + i, i, i ? "\xff" : file };
	put_header(&b);
	for (unsigned i = 0; i < RECORDS_OF_IT; i++)
		put_lines(&b, 0x1000, lines, i % 2 ? LINES_OF_IT : 200);
	put_lines(&b, 0x1000, lines, 2);
	put_load(&b, 0x1000, 0x20, "method");
	reading__init(&r);
	feed(&r, &b, b.n);
	assert_true(r.dump.work <= DUMP_MAX_WORK + b.n * DUMP_WORK_PER_BYTE);
	assert_int_equal(r.dump.n_skipped, RECORDS_OF_IT / 2);
	assert_true(dump__bytes(&r.dump) < 4 * DUMP_MAX_PLACES);
	assert_place(&r, 0x1010, "method", file, 1);
	reading__fini(&r);
	buf__fini(&b);
}

/* A failed reading goes on where it stopped, and nothing is missing in the end. */
static void test_failing_allocations(void **state)
{
	struct entry lines[] = { { 0x1000, 7, "a.rb" }, { 0x1010, 8, "b.rb" } };
	struct buf b = { 0 };

	(void)state;
	put_header(&b);
	put_lines(&b, 0x1000, lines, 2);
	put_load(&b, 0x1000, 0x20, "method");
	put_move(&b, 0x1000, 0x2000, 0x20);
	FAILMALLOC_SWEEP (i) {
		struct reading r;
		size_t used = 0, more = 0;
		int rc;

		reading__init(&r);
		rc = dump__feed(&r.dump, &r.names, b.data, b.n, &used);
		if (!rc)
			rc = map__settle(&r.names);
		if (!rc)
			rc = dump__settle(&r.dump);
		failmalloc__disarm();
		if (rc) {
			assert_int_equal(rc, -ENOMEM);
			assert_int_equal(
				dump__feed(&r.dump, &r.names, b.data + used, b.n - used, &more), 0);
			assert_int_equal(used + more, b.n);
			assert_int_equal(map__settle(&r.names), 0);
			assert_int_equal(dump__settle(&r.dump), 0);
		}
		assert_place(&r, 0x1008, "method", "a.rb", 7);
		assert_place(&r, 0x2018, "method", "b.rb", 8);
		reading__fini(&r);
	}
	buf__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_and_lines),
		cmocka_unit_test(test_garbage_is_counted_and_skipped),
		cmocka_unit_test(test_the_newest_wins_against_brute_force),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_work_is_paid_for),
		cmocka_unit_test(test_repeated_places_are_paid_for),
		cmocka_unit_test(test_failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
