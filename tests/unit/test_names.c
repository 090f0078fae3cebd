/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_names.c - what was resolved and is written down: frames that are whole are read,
 * whatever stands around them, and a log stays small, sound and its own
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/str.h"
#include "core/symbolize/depot.h"
#include "core/symbolize/names.h"
#include "core/symbolize/scribe.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/folder.h"

#define ID	 "0123456789abcdef"
#define STAND_IN "~0123456789abcdef"

DEFINE_FOLDER(root, "names", 0700);
static char dir[64]; /* of this test */
static char log_path[128];

static struct learned_key key_of(const char *id, uint64_t address)
{
	struct dcm_str text = str__of(id);

	return (struct learned_key){ text, hash__bytes(text.p, text.n, 0), address, DCM_ADDR_VADDR };
}

/* A name of one line, as long as the line lives. */
static struct learned name_of(const struct learned_line *line, uint32_t rank)
{
	return (struct learned){ .lines = line, .n = 1, .rank = rank };
}

static void insert(struct learned_set *set, const char *id, uint64_t address, const char *name,
		   uint32_t rank)
{
	struct learned_key key = key_of(id, address);
	struct learned_line line = { .name = str__of(name),
				     .system_name = STR(""),
				     .file = STR("/src/a.c"),
				     .line = (uint32_t)address };
	struct learned what = name_of(&line, rank);

	assert_int_equal(learned_set__insert(set, &key, &what), 0);
}

/* All of a set, in the order in which it was made. */
static void write_all(const struct learned_set *set, const char *id, struct buf *out)
{
	uint32_t rows[64];

	assert_in_range(set->entries.n, 1, 64);
	for (uint32_t i = 0; i < set->entries.n; i++)
		rows[i] = i;
	names__write(set, rows, set->entries.n, str__of(id), out);
	assert_int_equal(out->error, 0);
}

/* One frame of one name. */
static void add_frame(struct buf *out, const char *id, uint64_t address, const char *name)
{
	struct learned_set set;

	assert_int_equal(learned_set__init(&set), 0);
	insert(&set, id, address, name, 7);
	write_all(&set, id, out);
	learned_set__fini(&set);
}

static struct names *read_bytes(const struct buf *b, const char *id, struct names_found *found)
{
	struct names *names = NULL;

	assert_int_equal(names__read(b->data, b->n, str__of(id), &names, found), 0);
	return names;
}

/* The first line's name; "": not known. */
static void assert_named(const struct names *names, const char *id, uint64_t address, const char *want)
{
	struct learned_key key = key_of(id, address);
	struct learned found;

	if (!learned_set__find(&names->set, &key, &found)) {
		assert_string_equal("", want);
		return;
	}
	assert_true(str__eq(learned__line(&found, 0).name, str__of(want)));
}

static void test_all_comes_back(void **state)
{
	struct learned_line lines[] = {
		{ STR("inlined"), STR("_Z7inlined"), STR("/src/i.h"), 3, 1 },
		{ STR("outer"), STR(""), STR("/src/o.c"), UINT32_MAX, 0 },
	};
	struct learned what = { .lines = lines, .n = 2, .asked = 2, .rank = UINT32_MAX };
	struct learned_key key = { STR(ID), hash__bytes(ID, 16, 0), UINT64_MAX, DCM_ADDR_FILE_OFFSET };
	struct learned_set set;
	struct names_found found;
	struct buf out = { 0 };

	(void)state;
	assert_int_equal(learned_set__init(&set), 0);
	assert_int_equal(learned_set__insert(&set, &key, &what), 0);
	insert(&set, ID, 0, "zero", 0);
	insert(&set, ID, UINT64_MAX, "by another kind of address", 1);
	write_all(&set, ID, &out);
	CLEANUP(names__unrefp) struct names *names = read_bytes(&out, ID, &found);
	assert_int_equal(found.n_frames, 1);
	assert_int_equal(found.n_bad_bytes, 0);
	assert_int_equal(found.first_bytes, out.n);
	assert_int_equal(names->set.entries.n, 3);
	assert_named(names, ID, 0, "zero");
	assert_named(names, ID, UINT64_MAX, "by another kind of address");
	struct learned back;
	assert_true(learned_set__find(&names->set, &key, &back));
	assert_int_equal(back.n, 2);
	assert_int_equal(back.asked, 2);
	assert_true(back.rank == UINT32_MAX);
	for (uint32_t i = 0; i < 2; i++) {
		struct learned_line l = learned__line(&back, i);

		assert_true(str__eq(l.name, lines[i].name) && str__eq(l.file, lines[i].file) &&
			    str__eq(l.system_name, lines[i].system_name));
		assert_true(l.line == lines[i].line && l.start_line == lines[i].start_line);
	}
	learned_set__fini(&set);
	buf__fini(&out);
}

static void test_the_last_one_counts(void **state)
{
	struct buf out = { 0 };

	(void)state;
	add_frame(&out, ID, 1, "old");
	add_frame(&out, ID, 2, "other");
	add_frame(&out, ID, 1, "new");
	CLEANUP(names__unrefp) struct names *names = read_bytes(&out, ID, NULL);
	assert_named(names, ID, 1, "new");
	assert_named(names, ID, 2, "other");
	buf__fini(&out);
}

/* What was found first, what later, and whether that counts. */
static const struct {
	uint8_t asked[2];
	uint32_t rank[2];
	bool later_counts;
} findings[] = {
	{ { 2, 0 }, { 7, 7 }, false }, { { 2, 1 }, { 7, 7 }, false }, { { 2, 0 }, { 8, 7 }, false },
	{ { 2, 0 }, { 6, 7 }, true },  { { 0, 2 }, { 7, 7 }, true },  { { 2, 2 }, { 7, 7 }, true },
	{ { 1, 2 }, { 8, 7 }, true },  { { 0, 0 }, { 8, 7 }, true },
};

static struct learned finding(size_t i, int at, const struct learned_line *line)
{
	struct learned what = name_of(line, findings[i].rank[at]);

	what.asked = findings[i].asked[at];
	return what;
}

static void test_the_better_one_counts(void **state)
{
	static const char *const ids[] = { ID, STAND_IN };
	static const struct learned_line lines[] = { { .name = STR("first") }, { .name = STR("later") } };

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(findings) / sizeof(findings[0]); i++) {
		const char *id = ids[i % 2];
		struct learned_key key = key_of(id, 1);
		struct buf out = { 0 };

		for (int at = 0; at < 2; at++) {
			struct learned what = finding(i / 2, at, &lines[at]);
			struct learned_set set;

			assert_int_equal(learned_set__init(&set), 0);
			assert_int_equal(learned_set__insert(&set, &key, &what), 0);
			write_all(&set, id, &out);
			learned_set__fini(&set);
		}
		CLEANUP(names__unrefp) struct names *names = read_bytes(&out, id, NULL);
		assert_named(names, id, 1, i % 2 || findings[i / 2].later_counts ? "later" : "first");
		buf__fini(&out);
	}
}

static void test_of_another_file_nothing_counts(void **state)
{
	struct names_found found;
	struct buf out = { 0 };

	(void)state;
	add_frame(&out, ID, 1, "a");
	CLEANUP(names__unrefp) struct names *names = read_bytes(&out, "0123456789abcdee", &found);
	assert_int_equal(found.n_frames, 0);
	assert_int_equal(found.n_bad_bytes, out.n);
	assert_int_equal(names->set.entries.n, 0);
	buf__fini(&out);
}

/* Whatever byte of three frames is damaged, the other two are read. */
static void test_damage_costs_one_frame(void **state)
{
	struct buf out = { 0 };
	size_t ends[3];

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		add_frame(&out, ID, i, "abc");
		ends[i] = out.n;
	}
	for (size_t at = 0; at < out.n; at++) {
		struct names_found found;
		size_t hit = (at >= ends[0]) + (at >= ends[1]);

		out.data[at] ^= 0x11;
		CLEANUP(names__unrefp) struct names *names = read_bytes(&out, ID, &found);
		out.data[at] ^= 0x11;
		assert_int_equal(found.n_frames, 2);
		assert_int_equal(found.n_bad_bytes, ends[hit] - (hit ? ends[hit - 1] : 0));
		for (uint64_t i = 0; i < 3; i++)
			assert_named(names, ID, i, i == hit ? "" : "abc");
	}
	buf__fini(&out);
}

static void test_a_torn_end_costs_its_frame(void **state)
{
	struct buf out = { 0 };

	(void)state;
	add_frame(&out, ID, 1, "whole");
	size_t whole = out.n;
	add_frame(&out, ID, 2, "torn");
	for (size_t n = 0; n < out.n; n++) {
		struct buf cut = { .data = out.data, .n = n };
		struct names_found found;
		CLEANUP(names__unrefp) struct names *names = read_bytes(&cut, ID, &found);

		assert_int_equal(found.n_frames, n >= whole);
		assert_int_equal(found.n_bad_bytes, n >= whole ? n - whole : n);
		assert_named(names, ID, 1, n >= whole ? "whole" : "");
	}
	buf__fini(&out);
}

/* --- hostile logs --- */

static uint64_t n_hashed;

uint64_t __real_hash__bytes(const void *p, size_t n, uint64_t seed);
uint64_t __wrap_hash__bytes(const void *p, size_t n, uint64_t seed);

uint64_t __wrap_hash__bytes(const void *p, size_t n, uint64_t seed)
{
	n_hashed += n;
	return __real_hash__bytes(p, n, seed);
}

/* A head of a frame that is the rest of so many bytes, and does not check. */
static void add_claim(struct buf *out, size_t left)
{
	uint8_t head[NAMES_HEAD_BYTES] = "dcmnam1\n";

	le__put32(head + 8, (uint32_t)(left - sizeof(head)));
	buf__append(out, head, sizeof(head));
}

/* So many of them, and a sound frame; where that is read. */
static bool is_read_behind(size_t n_claims)
{
	struct buf frame = { 0 }, out = { 0 };
	struct names_found found;

	add_frame(&frame, ID, 1, "sound");
	for (size_t i = n_claims; i > 0; i--)
		add_claim(&out, i * NAMES_HEAD_BYTES + frame.n);
	buf__append(&out, frame.data, frame.n);
	assert_int_equal(out.error, 0);
	n_hashed = 0;
	names__unref(read_bytes(&out, ID, &found));
	/* Beside the contents, heads and build ids, and what was read. */
	assert_in_range(n_hashed, 0, 8 * out.n);
	assert_int_equal(found.n_bad_bytes + found.n_frames * frame.n, out.n);
	buf__fini(&frame);
	buf__fini(&out);
	return found.n_frames == 1;
}

static void test_claims_cost_a_few_times_the_log(void **state)
{
	(void)state;
	assert_true(is_read_behind(3));
	assert_false(is_read_behind(10000));
}

static void test_a_text_of_many_lines_costs_once(void **state)
{
	enum { N_TEXT = 50000, N_LINES = 10000 };
	char *text = malloc(N_TEXT + 1);
	struct learned_set set;
	struct buf out = { 0 };
	uint32_t *rows = malloc(N_LINES * sizeof(*rows));

	(void)state;
	assert_true(text && rows && learned_set__init(&set) == 0);
	memset(text, 'x', N_TEXT);
	text[N_TEXT] = '\0';
	for (uint32_t i = 0; i < N_LINES; i++) {
		insert(&set, ID, i, i ? "x" : text, 7);
		rows[i] = i;
		set.lines.v[i] = set.lines.v[0];
	}
	names__write(&set, rows, N_LINES, STR(ID), &out);
	n_hashed = 0;
	CLEANUP(names__unrefp) struct names *names = read_bytes(&out, ID, NULL);
	assert_named(names, ID, N_LINES - 1, text);
	/* The check, the text, and for each line its key and its build id. */
	assert_in_range(n_hashed, N_TEXT, 4 * out.n + 64 * N_LINES);
	learned_set__fini(&set);
	buf__fini(&out);
	free(rows);
	free(text);
}

/* --- the scribe --- */

static int new_dir(void **state)
{
	static unsigned n;

	(void)state;
	snprintf(dir, sizeof(dir), "%s/%u", root, n++);
	snprintf(log_path, sizeof(log_path), "%s/.build-id/01/23456789abcdef.names", dir);
	return 0;
}

static struct depot *open_depot(bool read_only)
{
	struct depot *d = NULL;

	assert_int_equal(depot__new(&(struct depot_config){ .dir = dir,
							    .max_bytes = 1 << 30,
							    .read_only = read_only,
							    .clock = &clock__system },
				    &d),
			 0);
	return d;
}

static struct scribe *open_scribe(struct depot *d)
{
	struct scribe *s = NULL;

	assert_int_equal(scribe__new(d, &s), 0);
	return s;
}

static void add(struct scribe *s, const char *id, uint64_t address, const char *name)
{
	struct learned_key key = key_of(id, address);
	struct learned_line line = { .name = str__of(name),
				     .system_name = STR(""),
				     .file = STR("/a/source/file/that/many/have.c") };
	struct learned what = name_of(&line, 1);

	scribe__add(s, &key, &what);
}

static struct names *read_log(struct depot *d, const char *id, struct names_found *found)
{
	struct buf b = { 0 };
	struct names *names;

	assert_int_equal(depot__read_names(d, id, NAMES_MAX_BYTES, &b), 0);
	names = read_bytes(&b, id, found);
	buf__fini(&b);
	return names;
}

static void assert_logged(struct depot *d, const char *id, uint64_t address, const char *want)
{
	CLEANUP(names__unrefp) struct names *names = read_log(d, id, NULL);

	assert_named(names, id, address, want);
}

static struct scribe_stat stat_of(struct scribe *s)
{
	struct scribe_stat stat;

	scribe__stat(s, &stat);
	return stat;
}

static struct depot_stat depot_stat_of(struct depot *d)
{
	struct depot_stat stat;

	depot__stat(d, &stat);
	return stat;
}

static void test_what_is_written_is_read_beside_and_later(void **state)
{
	struct depot *d = open_depot(false), *reader = open_depot(true);
	struct scribe *s = open_scribe(d);

	(void)state;
	scribe__flush(s); /* of nothing */
	assert_int_equal(depot_stat_of(d).n_logs, 0);
	add(s, ID, 1, "one");
	add(s, STAND_IN, 1, "of a file without a build id");
	assert_false(depot__has_names(d, ID));
	assert_false(depot__has_any(d, ID));
	scribe__flush(s);
	assert_true(depot__has_names(d, ID));
	assert_true(depot__has_any(d, ID));
	add(s, ID, 2, "two");
	scribe__flush(s);
	assert_int_equal(stat_of(s).n_written, 3);
	assert_int_equal(stat_of(s).n_dropped, 0);
	assert_int_equal(depot_stat_of(d).n_logs, 2);
	assert_int_equal(depot_stat_of(d).n_files, 0);
	assert_logged(reader, ID, 1, "one");
	assert_logged(reader, ID, 2, "two");
	assert_logged(reader, STAND_IN, 1, "of a file without a build id");
	scribe__free(s);
	depot__free(d);

	d = open_depot(false);
	assert_int_equal(depot_stat_of(d).n_logs, 2);
	s = open_scribe(d);
	add(s, ID, 3, "three");
	scribe__flush(s);
	for (uint64_t i = 1; i <= 3; i++)
		assert_logged(reader, ID, i, i == 1 ? "one" : i == 2 ? "two" : "three");
	scribe__free(s);
	depot__free(d);
	depot__free(reader);
}

static uint64_t size_of_log(void)
{
	struct stat st;

	assert_int_equal(stat(log_path, &st), 0);
	return (uint64_t)st.st_size;
}

/* The same text is in each frame until the log is written anew. */
static void test_a_log_that_grew_is_written_anew(void **state)
{
	enum { N = 4000 };
	struct depot *d = open_depot(false);
	struct scribe *s = open_scribe(d);
	uint64_t most = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		add(s, ID, i * 16, "a_function_whose_name_is_not_that_short");
		scribe__flush(s);
		most = size_of_log() > most ? size_of_log() : most;
		assert_int_equal(depot_stat_of(d).bytes, (size_of_log() + 4095) / 4096 * 4096);
	}
	/* About 110 bytes each were 440 KB. */
	assert_in_range(most, 64 << 10, 192 << 10);
	CLEANUP(names__unrefp) struct names *names = read_log(d, ID, NULL);
	assert_int_equal(names->set.entries.n, N);
	assert_int_equal(stat_of(s).n_written, N);
	scribe__free(s);
	depot__free(d);
}

static void test_damage_goes_when_something_is_written(void **state)
{
	struct depot *d = open_depot(false);
	struct scribe *s = open_scribe(d);
	struct names_found found;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		add(s, ID, i, "abc");
		scribe__flush(s);
	}
	scribe__free(s);
	CLEANUP(fd__closep) int fd = open(log_path, O_WRONLY | O_CLOEXEC);
	uint64_t frame = size_of_log() / 3;
	assert_int_equal(pwrite(fd, "?", 1, (off_t)frame + 9), 1);
	s = open_scribe(d);
	add(s, ID, 9, "nine");
	scribe__flush(s);
	assert_int_equal(stat_of(s).n_bad_bytes, frame);
	CLEANUP(names__unrefp) struct names *names = read_log(d, ID, &found);
	assert_int_equal(found.n_bad_bytes, 0);
	assert_named(names, ID, 0, "abc");
	assert_named(names, ID, 1, "");
	assert_named(names, ID, 2, "abc");
	assert_named(names, ID, 9, "nine");
	scribe__free(s);
	depot__free(d);
}

/* Whether it waits, is appended or is in a log that is written anew. */
static void test_the_better_one_is_written(void **state)
{
	static const struct learned_line lines[] = { { .name = STR("first") }, { .name = STR("later") } };
	struct depot *d = open_depot(false);
	struct learned_key key = key_of(ID, 1);

	(void)state;
	for (size_t i = 0; i < 3 * sizeof(findings) / sizeof(findings[0]); i++) {
		struct scribe *s = open_scribe(d);

		for (int at = 0; at < 2; at++) {
			struct learned what = finding(i / 3, at, &lines[at]);

			scribe__add(s, &key, &what);
			if (at || i % 3)
				scribe__flush(s);
			if (!at && i % 3 == 2) { /* which has the log written anew */
				CLEANUP(fd__closep)
				int fd = open(log_path, O_WRONLY | O_APPEND | O_CLOEXEC);
				assert_int_equal(write(fd, "?", 1), 1);
			}
		}
		assert_logged(d, ID, 1, findings[i / 3].later_counts ? "later" : "first");
		scribe__free(s);
		assert_int_equal(unlink(log_path), 0);
	}
	depot__free(d);
}

/* It was evicted, or somebody restored another: what is there is looked at again. */
static void test_a_log_that_another_changed_is_read_again(void **state)
{
	struct depot *d = open_depot(false);
	struct scribe *s = open_scribe(d);

	(void)state;
	add(s, ID, 1, "one");
	scribe__flush(s);
	assert_int_equal(unlink(log_path), 0);
	add(s, ID, 2, "two");
	scribe__flush(s);
	assert_logged(d, ID, 1, "");
	assert_logged(d, ID, 2, "two");
	assert_int_equal(truncate(log_path, (off_t)size_of_log() - 1), 0);
	add(s, ID, 3, "three");
	scribe__flush(s);
	assert_logged(d, ID, 2, "");
	assert_logged(d, ID, 3, "three");
	assert_int_equal(stat_of(s).n_dropped, 0);
	assert_true(stat_of(s).n_bad_bytes > 0);
	scribe__free(s);
	depot__free(d);
}

/* Files may not become larger than that: what does not fit waits, and comes when it may. */
static void test_what_cannot_be_written_waits(void **state)
{
	struct depot *d = open_depot(false);
	struct scribe *s = open_scribe(d);
	struct rlimit limit, small;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	add(s, ID, 1, "one");
	scribe__flush(s);
	uint64_t before = size_of_log();
	for (rlim_t more = 0; more < before; more++) {
		small = limit;
		small.rlim_cur = before + more / 2;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
		add(s, ID, 2, "two, which is longer than the other one");
		add(s, STAND_IN, 1,
		    "this is much longer than the first one and does not fit either, in any turn "
		    "of all those that there are, since it is so very long");
		scribe__flush(s);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		assert_int_equal(size_of_log(), before);
		assert_int_equal(depot_stat_of(d).bytes, 4096);
		assert_non_null(strstr(depot_stat_of(d).state, "File too large"));
	}
	assert_int_equal(stat_of(s).n_written, 1);
	assert_logged(d, ID, 1, "one");
	/*
	 * Also when the log has gone meanwhile: that it has ends no state, that it is written does.
	 */
	assert_int_equal(unlink(log_path), 0);
	scribe__flush(s);
	assert_int_equal(stat_of(s).n_written, 3);
	assert_int_equal(stat_of(s).n_dropped, 0);
	assert_string_equal(depot_stat_of(d).state, "");
	assert_logged(d, ID, 2, "two, which is longer than the other one");
	scribe__free(s);
	depot__free(d);
}

static void test_only_ids_have_logs(void **state)
{
	enum { MANY = 20000 };
	static const char *const ids[] = { "ab",    "../../etc/passwd", "~",
					   "~ab",   "~~abcdef",		"/x",
					   "abcdeg" };
	struct depot *d = open_depot(false);
	struct scribe *s = open_scribe(d);

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		struct buf b = { 0 };

		assert_int_equal(depot__read_names(d, ids[i], 100, &b), -ENOENT);
		assert_false(depot__has_names(d, ids[i]));
		add(s, ids[i], 1, "x");
		scribe__flush(s);
		assert_int_equal(stat_of(s).n_dropped, i + 1);
	}
	assert_int_equal(stat_of(s).n_written, 0);
	assert_int_equal(depot_stat_of(d).n_logs, 0);
	/* Nor when there is too much for a first frame. */
	const uint64_t before = stat_of(s).n_dropped;
	for (uint64_t i = 0; i < MANY; i++)
		add(s, ids[0], i, "a_function_whose_name_is_not_that_short");
	scribe__flush(s);
	assert_int_equal(stat_of(s).n_dropped, before + MANY);
	assert_string_equal(depot_stat_of(d).state, "");
	scribe__free(s);
	depot__free(d);
}

static void test_more_than_may_wait_is_counted(void **state)
{
	struct depot *d = open_depot(true); /* which nothing can be written to */
	struct scribe *s = open_scribe(d);
	uint64_t n = 0;

	(void)state;
	while (stat_of(s).n_dropped == 0 && n < 1000000)
		add(s, ID, n++, "x");
	assert_in_range(n, 10000, 999999);
	scribe__flush(s);
	assert_int_equal(stat_of(s).n_written, 0);
	scribe__free(s);
	depot__free(d);
}

/* --- failures --- */

static void test_failing_allocations(void **state)
{
	struct depot *d = open_depot(false);
	struct buf out = { 0 };

	(void)state;
	add_frame(&out, ID, 1, "abc");
	FAILMALLOC_SWEEP (i) {
		struct names *names = NULL;
		int rc = names__read(out.data, out.n, STR(ID), &names, NULL);

		failmalloc__disarm();
		if (rc)
			assert_int_equal(rc, -ENOMEM);
		else
			assert_named(names, ID, 1, "abc");
		names__unref(names);
	}
	buf__fini(&out);
	FAILMALLOC_SWEEP (i) {
		struct scribe *s = NULL;
		int rc = scribe__new(d, &s);

		failmalloc__disarm();
		if (rc)
			assert_int_equal(rc, -ENOMEM);
		scribe__free(s);
	}
	/* What waits is written, waits on or is counted; what was written is never harmed. */
	struct scribe *s = open_scribe(d);
	add(s, ID, 0, "first");
	scribe__flush(s);
	uint64_t n = 1;
	FAILMALLOC_SWEEP (i) {
		add(s, ID, n++, "more");
		scribe__flush(s);
		failmalloc__disarm();
		assert_logged(d, ID, 0, "first");
	}
	scribe__flush(s);
	assert_int_equal(stat_of(s).n_written + stat_of(s).n_dropped, n);
	scribe__free(s);
	depot__free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_comes_back),
		cmocka_unit_test(test_the_last_one_counts),
		cmocka_unit_test(test_the_better_one_counts),
		cmocka_unit_test(test_of_another_file_nothing_counts),
		cmocka_unit_test(test_damage_costs_one_frame),
		cmocka_unit_test(test_a_torn_end_costs_its_frame),
		cmocka_unit_test(test_claims_cost_a_few_times_the_log),
		cmocka_unit_test(test_a_text_of_many_lines_costs_once),
		cmocka_unit_test_setup(test_what_is_written_is_read_beside_and_later, new_dir),
		cmocka_unit_test_setup(test_a_log_that_grew_is_written_anew, new_dir),
		cmocka_unit_test_setup(test_damage_goes_when_something_is_written, new_dir),
		cmocka_unit_test_setup(test_the_better_one_is_written, new_dir),
		cmocka_unit_test_setup(test_a_log_that_another_changed_is_read_again, new_dir),
		cmocka_unit_test_setup(test_what_cannot_be_written_waits, new_dir),
		cmocka_unit_test_setup(test_only_ids_have_logs, new_dir),
		cmocka_unit_test_setup(test_more_than_may_wait_is_counted, new_dir),
		cmocka_unit_test_setup(test_failing_allocations, new_dir),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
