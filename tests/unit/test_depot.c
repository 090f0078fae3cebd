/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_depot.c - files that are kept on disk: what is put is found, by others and later;
 * what is damaged, old or too much goes; and names come from there when their file is gone
 */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cleanup.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/symbolize/depot.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/extract.h"
#include "core/symbolize/keeper.h"
#include "core/symbolize/scribe.h"
#include "core/symbolize/symbols.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/kept_program.h"
#include "tests/unit/shell.h"
#include "tests/unit/terminal.h"

static const int64_t SECOND = 1000000000, DAY_S = 86400;

static struct depot *depot_of(const struct depot_config *config)
{
	struct depot_config c = *config;
	struct depot *d = NULL;

	c.dir = c.dir ? c.dir : kept.dir;
	c.clock = c.clock ? c.clock : &clock__system;
	c.max_bytes = c.max_bytes ? c.max_bytes : (uint64_t)1 << 30;
	assert_int_equal(depot__new(&c, &d), 0);
	return d;
}

static struct depot_stat stat_of(struct depot *d)
{
	struct depot_stat s;

	depot__stat(d, &s);
	return s;
}

/* What the keeper's thread does with a file. reduce: may be NULL. */
static int put(struct depot *d, symbols_reduce_fn reduce, enum depot_kind kind, int fd)
{
	struct debuginfo_facts facts;
	struct depot_put put;
	int rc = debuginfo__facts(fd, &facts);

	if (rc || !depot__wants(d, facts.build_id, kind, keeper__tells(&facts)))
		return rc;
	rc = depot__begin(d, &put);
	if (rc)
		return rc;
	rc = keeper__reduce(&(struct keeper_config){ .reduce = reduce },
			    &(struct symbols_reduction){ .in_fd = fd, .out_fd = put.fd });
	if (!rc)
		return depot__end(d, &put, facts.build_id, kind, keeper__tells(&facts));
	depot__abort(d, &put, rc);
	return rc;
}

static void put_self(struct depot *d, enum depot_kind kind)
{
	CLEANUP(fd__closep) int fd = kept__open_self();

	assert_int_equal(put(d, NULL, kind, fd), 0);
}

static bool is_there(struct depot *d, enum depot_kind kind)
{
	CLEANUP(fd__closep) int fd = depot__open(d, kept.build_id, kind);

	if (fd < 0)
		assert_int_equal(fd, -ENOENT);
	return fd >= 0;
}

static void test_what_is_put_is_found_later(void **state)
{
	struct depot *d = depot_of(&(struct depot_config){ 0 });
	char id[ELF_BUILD_ID_TEXT];
	struct stat st;

	(void)state;
	assert_false(is_there(d, DEPOT_ELF));
	put_self(d, DEPOT_ELF);
	put_self(d, DEPOT_ELF); /* which is not better */
	assert_int_equal(stat_of(d).n_put, 1);
	assert_int_equal(stat(kept.path, &st), 0);
	assert_int_equal(stat_of(d).bytes, (st.st_size + 4095) / 4096 * 4096);
	assert_int_equal(stat(kept.dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	depot__free(d);

	d = depot_of(&(struct depot_config){ 0 });
	CLEANUP(fd__closep) int fd = depot__open(d, kept.build_id, DEPOT_ELF);
	assert_true(fd >= 0);
	assert_int_equal(elf__build_id(fd, id), 0);
	assert_string_equal(id, kept.build_id);
	assert_int_equal(stat_of(d).n_files, 1);
	assert_true(depot__tells(d, kept.build_id, DEPOT_ELF) & DEPOT_SYMTAB);
	assert_true(depot__has_any(d, kept.build_id));
	assert_false(is_there(d, DEPOT_DEBUG));
	depot__free(d);
}

static void test_a_better_file_takes_the_place(void **state)
{
	struct depot *d = depot_of(&(struct depot_config){ 0 });

	(void)state;
	assert_true(depot__wants(d, kept.build_id, DEPOT_ELF, 0));
	put_self(d, DEPOT_ELF);
	int has = depot__tells(d, kept.build_id, DEPOT_ELF);
	assert_true(has > 0);
	assert_false(depot__wants(d, kept.build_id, DEPOT_ELF, (unsigned)has));
	assert_false(depot__wants(d, kept.build_id, DEPOT_ELF, 0));
	assert_true(depot__wants(d, kept.build_id, DEPOT_ELF, (unsigned)has | DEPOT_GO));
	assert_true(depot__wants(d, kept.build_id, DEPOT_DEBUG, 0));
	depot__free(d);
}

static void test_only_build_ids_are_names(void **state)
{
	static const char *const ids[] = { "",	    "ab",   "abc",
					   "abcde", "ABCD", "../../etc/passwd",
					   "ab/cd", "ab..", "~0123456789abcdef" };
	struct depot *d = depot_of(&(struct depot_config){ 0 });
	char longest[2 * ELF_BUILD_ID_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_int_equal(depot__open(d, ids[i], DEPOT_ELF), -ENOENT);
		assert_false(depot__wants(d, ids[i], DEPOT_ELF, 0));
	}
	memset(longest, 'a', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_false(depot__wants(d, longest, DEPOT_ELF, 0));
	longest[ELF_BUILD_ID_TEXT - 1] = '\0';
	assert_true(depot__wants(d, longest, DEPOT_ELF, 0));
	/* Nor is a file kept under the id of another. */
	struct depot_put put;
	CLEANUP(fd__closep) int fd = kept__open_self();
	struct extract_report report;
	assert_int_equal(depot__begin(d, &put), 0);
	assert_int_equal(extract__file(fd, put.fd, EXTRACT_FAST, &report, NULL), 0);
	assert_int_equal(depot__end(d, &put, "abcd", DEPOT_ELF, 0), -EBADMSG);
	assert_int_equal(stat_of(d).n_files, 0);
	depot__free(d);
}

/* Every byte counts; a few hundred of them, and each of the trailer. */
static void test_damage_is_set_aside(void **state)
{
	struct depot *d = depot_of(&(struct depot_config){ 0 });
	struct stat st;

	(void)state;
	put_self(d, DEPOT_ELF);
	depot__free(d);
	assert_int_equal(stat(kept.path, &st), 0);
	const int64_t n = st.st_size;
	for (int64_t at = n - 1; at >= 0; at -= at >= n - 32 ? 1 : n / 50) {
		uint8_t byte;
		CLEANUP(fd__closep) int fd = open(kept.path, O_RDWR | O_CLOEXEC);

		assert_true(fd >= 0);
		d = depot_of(&(struct depot_config){ 0 });
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x20;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_int_equal(depot__open(d, kept.build_id, DEPOT_ELF), -EBADMSG);
		assert_int_equal(depot__open(d, kept.build_id, DEPOT_ELF), -ENOENT);
		assert_int_equal(stat_of(d).n_set_aside, 1);
		put_self(d, DEPOT_ELF);
		assert_true(is_there(d, DEPOT_ELF));
		depot__free(d);
	}
	/* Cut off, and nothing at all. */
	for (int64_t left = n - 1; left >= 0; left -= n / 7) {
		assert_int_equal(truncate(kept.path, left), 0);
		d = depot_of(&(struct depot_config){ 0 });
		assert_int_equal(depot__open(d, kept.build_id, DEPOT_ELF), -EBADMSG);
		put_self(d, DEPOT_ELF);
		depot__free(d);
	}
}

static void set_used(const char *path, int64_t real_s)
{
	const struct timespec times[2] = { { real_s, 0 }, { real_s, 0 } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void test_what_is_not_used_goes(void **state)
{
	struct clock clock = clock__fake(0, 1000 * DAY_S * SECOND);
	struct depot *d = depot_of(
		&(struct depot_config){ .clock = &clock, .max_age_ns = 30 * DAY_S * SECOND });
	struct stat st;

	(void)state;
	put_self(d, DEPOT_ELF);
	put_self(d, DEPOT_DEBUG);
	assert_int_equal(stat(kept.path, &st), 0);
	assert_int_equal(st.st_mtime, 1000 * DAY_S);
	clock.fake_real_ns += 29 * DAY_S * SECOND;
	depot__tend(d);
	assert_true(is_there(d, DEPOT_ELF)); /* which is a use */
	clock.fake_real_ns += 2 * DAY_S * SECOND;
	depot__tend(d);
	assert_true(is_there(d, DEPOT_ELF));
	assert_false(is_there(d, DEPOT_DEBUG));
	assert_int_equal(stat_of(d).n_expired, 1);
	assert_int_equal(stat_of(d).n_files, 1);
	depot__free(d);
}

static void test_beyond_its_bytes_the_least_used_goes(void **state)
{
	struct depot *d = depot_of(&(struct depot_config){ 0 });

	(void)state;
	put_self(d, DEPOT_ELF);
	uint64_t n = stat_of(d).bytes;
	put_self(d, DEPOT_DEBUG);
	depot__free(d);
	set_used(kept.path, 1000);
	d = depot_of(&(struct depot_config){ .max_bytes = n });
	assert_int_equal(stat_of(d).bytes, 2 * n);
	depot__tend(d);
	assert_int_equal(stat_of(d).bytes, n);
	assert_int_equal(stat_of(d).n_evicted, 1);
	assert_false(is_there(d, DEPOT_ELF));
	assert_true(is_there(d, DEPOT_DEBUG));
	depot__free(d);
}

static void test_a_full_disk_is_told_and_forgotten(void **state)
{
	struct depot *d = depot_of(&(struct depot_config){ 0 });
	CLEANUP(fd__closep) int fd = kept__open_self();

	(void)state;
	assert_int_equal(put(d, kept__disk_is_full, DEPOT_ELF, fd), -ENOSPC);
	assert_non_null(strstr(stat_of(d).state, "No space left on device"));
	assert_int_equal(stat_of(d).n_files, 0);
	put_self(d, DEPOT_ELF);
	assert_string_equal(stat_of(d).state, "");
	depot__free(d);
}

static void test_one_writes_and_others_read(void **state)
{
	struct depot *d = depot_of(&(struct depot_config){ 0 }), *second, *reader;

	(void)state;
	reader = depot_of(&(struct depot_config){ .read_only = true });
	second = depot_of(&(struct depot_config){ 0 });
	assert_non_null(strstr(stat_of(second).state, "another process writes it"));
	assert_string_equal(stat_of(reader).state, "");
	assert_false(depot__wants(second, kept.build_id, DEPOT_ELF, 0));
	struct depot_put put;
	assert_int_equal(depot__begin(second, &put), -EROFS);
	assert_int_equal(depot__begin(reader, &put), -EROFS);
	put_self(d, DEPOT_ELF);
	assert_true(is_there(second, DEPOT_ELF));
	assert_true(is_there(reader, DEPOT_ELF));
	/* A reader sets nothing aside. */
	assert_int_equal(truncate(kept.path, 100), 0);
	assert_int_equal(depot__open(reader, kept.build_id, DEPOT_ELF), -EBADMSG);
	assert_int_equal(access(kept.path, F_OK), 0);
	depot__free(d);
	depot__free(second);
	depot__free(reader);
}

/* --- the keeper's thread --- */

/* A reducer that waits until it may go on, or is to stop. */
struct gate {
	_Atomic bool is_open, is_reached, was_stopped;
	_Atomic uint32_t n_lost;
};

static int wait_at_gate(void *ctx, const struct symbols_reduction *r)
{
	struct gate *gate = ctx;
	struct extract_report report;

	atomic_store(&gate->is_reached, true);
	while (!atomic_load(&gate->is_open) && !r->stop(r->stop_ctx))
		usleep(1000);
	if (r->stop(r->stop_ctx)) {
		atomic_store(&gate->was_stopped, true);
		return -ECANCELED;
	}
	return extract__file(r->in_fd, r->out_fd, EXTRACT_FAST, &report, NULL);
}

static void count_lost(void *ctx, const char *build_id)
{
	struct gate *gate = ctx;

	assert_string_equal(build_id, kept.build_id);
	atomic_fetch_add(&gate->n_lost, 1);
}

static struct keeper *keeper_at(struct depot *d, struct gate *gate)
{
	const struct keeper_config config = {
		.depot = d, .reduce = wait_at_gate, .reduce_ctx = gate, .lost = count_lost, .lost_ctx = gate
	};
	struct keeper *k = NULL;

	assert_int_equal(keeper__new(&config, &k), 0);
	return k;
}

static void add_self(struct keeper *k, enum depot_kind kind, int fd, const char *path)
{
	keeper__add(k, &(struct keeper_file){ kind, fd, kept.build_id, str__of(path) });
}

static void await_gate(const struct gate *gate)
{
	while (!atomic_load(&gate->is_reached))
		usleep(1000);
}

static void test_the_end_waits_for_no_file(void **state)
{
	struct depot *d = depot_of(&(struct depot_config){ 0 });
	CLEANUP(fd__closep) int fd = kept__open_self();
	struct gate gate = { 0 };
	struct keeper *k = keeper_at(d, &gate);

	(void)state;
	add_self(k, DEPOT_ELF, fd, "");
	await_gate(&gate);
	keeper__free(k);
	assert_true(gate.was_stopped);
	assert_false(is_there(d, DEPOT_ELF));
	assert_string_equal(stat_of(d).state, "");
	depot__free(d);
}

static void test_files_that_wait_without_a_descriptor(void **state)
{
	enum { MORE_THAN_WAIT_OPEN = 300 };
	struct depot *d = depot_of(&(struct depot_config){ 0 });
	CLEANUP(fd__closep) int fd = kept__open_self();
	struct gate gate = { 0 };
	struct keeper *k = keeper_at(d, &gate);
	struct keeper_stat stat;
	CLEANUP(fd__closep) int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	const char *terminal = terminal__of(master);
	const bool before = terminal__was_opened(master);

	(void)state;
	add_self(k, DEPOT_ELF, fd, "/proc/self/exe");
	await_gate(&gate); /* from now on nobody is taken from those that wait */
	for (int i = 1; i < MORE_THAN_WAIT_OPEN; i++)
		add_self(k, DEPOT_ELF, fd, "/proc/self/exe");
	keeper__stat(k, &stat);
	assert_int_equal(stat.n_dropped, 0);
	add_self(k, DEPOT_DEBUG, fd, "/proc/self/exe");
	add_self(k, DEPOT_DEBUG, fd, "/proc/self/gone"); /* when its turn comes */
	add_self(k, DEPOT_DEBUG, fd, "/proc/self/status");
	add_self(k, DEPOT_DEBUG, fd, "/bin/sh"); /* of another build id */
	/* A process may name what is a device here. */
	add_self(k, DEPOT_DEBUG, fd, terminal ? terminal : "/dev/null");
	add_self(k, DEPOT_DEBUG, fd, ""); /* at once */
	keeper__stat(k, &stat);
	assert_int_equal(stat.n_dropped, 1);
	assert_int_equal(gate.n_lost, 1);
	gate.is_open = true;
	do {
		usleep(1000);
		keeper__stat(k, &stat);
	} while (stat.n_waiting);
	assert_int_equal(stat.n_dropped, 5);
	assert_int_equal(stat.n_failed, 0);
	assert_int_equal(gate.n_lost, 5);
	assert_int_equal(terminal__was_opened(master), before);
	assert_int_equal(stat_of(d).n_put, 2);
	assert_true(is_there(d, DEPOT_ELF) && is_there(d, DEPOT_DEBUG));
	keeper__free(k);
	depot__free(d);
}

/* --- through the symbol store --- */

static void test_names_outlive_file_and_process(void **state)
{
	struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });

	(void)state;
	kept__assert_named(s, "", DCM_UNNAMED_NOT_HERE);
	kept__offer(s);
	assert_int_equal(kept__await(s, 1).store_files, 1);
	symbols__free(s);
	s = kept__symbols(&(struct symbols_config){ 0 });
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	/* A reader beside it. */
	struct symbols *reader = kept__symbols(&(struct symbols_config){ .store_read_only = true });
	kept__assert_named(reader, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	symbols__free(reader);
	symbols__free(s);
	/* What is damaged is known no more; what was resolved of it is. */
	CLEANUP(fd__closep) int fd = open(kept.path, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "?", 1, 7), 1);
	s = kept__symbols(&(struct symbols_config){ 0 });
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	kept__offer(s);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	assert_int_equal(kept__await(s, 1).store_set_aside, 1);
	symbols__free(s);
}

/* A table that made room comes back from disk. */
static void test_a_table_that_was_evicted_comes_back(void **state)
{
	CLEANUP(symbols__freep)
	struct symbols *s = kept__symbols(
		&(struct symbols_config){ .table_bytes = 1, .learned_bytes = 1 });
	CLEANUP(fd__closep) int fd = open("/lib64/ld-linux-x86-64.so.2", O_RDONLY | O_CLOEXEC);

	(void)state;
	if (fd < 0)
		skip_because("no loader of that name");
	kept__offer(s);
	kept__await(s, 1);
	symbols__offer(s, STR("abcd"), STR("/x"), fd);
	kept__await(s, 2);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
}

static void test_a_failing_reducer_costs_no_name(void **state)
{
	CLEANUP(symbols__freep)
	struct symbols *s = kept__symbols(&(struct symbols_config){ .reduce = kept__disk_is_full });

	(void)state;
	kept__offer(s);
	struct symbols_stat stat = kept__await(s, 1);
	assert_int_equal(stat.store_failed, 1);
	assert_true(stat.store_state[0]);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
}

/*
 * What could not wait, since no descriptor was left, is kept when it is offered again, which is no
 * news otherwise.
 */
static void test_a_file_that_was_given_up_comes_back(void **state)
{
	CLEANUP(symbols__freep) struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int fd = kept__open_self();
	struct rlimit limit, none;
	struct symbols_stat stat;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), fd);
	do {
		usleep(1000);
		symbols__stat(s, &stat);
	} while (stat.store_waiting);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(stat.files_inline, 1);
	assert_int_equal(stat.store_dropped, 1);
	assert_int_equal(stat.store_files, 0);
	kept__offer(s);
	assert_int_equal(kept__await(s, 1).store_files, 1);
	kept__offer(s);
	symbols__stat(s, &stat);
	assert_int_equal(stat.files_known, 1);
}

/* --- what was resolved --- */

static void test_names_outlive_a_file_that_cannot_be_kept(void **state)
{
	static const char stand_in[] = "~0123456789abcdef";
	struct symbols *s = kept__symbols(&(struct symbols_config){ .reduce = kept__disk_is_full });
	CLEANUP(fd__closep) int fd = kept__open_self();
	struct symbols_stat stat;

	(void)state;
	symbols__offer(s, str__of(stand_in), STR("/gone/program"), fd);
	kept__offer(s);
	kept__assert_names(s, stand_in, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	symbols__free(s); /* which writes down what waits */
	struct symbols *reader = kept__symbols(&(struct symbols_config){ .store_read_only = true });
	kept__assert_names(reader, stand_in, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	kept__assert_named(reader, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	kept__assert_names(reader, "abcdef", "", DCM_UNNAMED_NOT_HERE);
	symbols__stat(reader, &stat);
	assert_int_equal(stat.store_files, 0);
	assert_int_equal(stat.store_logs, 2);
	assert_int_equal(stat.files_unreadable, 0);
	symbols__free(reader);
	/* Names are evicted, and come back; what is known is not written again. */
	s = kept__symbols(&(struct symbols_config){ .table_bytes = 1, .learned_bytes = 1 });
	for (int i = 0; i < 3; i++) {
		kept__assert_names(s, stand_in, "hidden_function", DCM_UNNAMED_NOT_TRIED);
		kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	}
	symbols__stat(s, &stat);
	assert_int_equal(stat.names_written, 0);
	symbols__free(s);
}

/* Writes down that the function is called so, as a table of so many functions would tell. */
static void write_name(const char *id, const char *name, uint32_t rank)
{
	struct learned_line line = { .name = str__of(name), .system_name = STR(""), .file = STR("") };
	struct learned what = { .lines = &line, .n = 1, .rank = rank };
	struct dcm_str text = str__of(id);
	CLEANUP(batch__unrefp) struct dcm_batch *b = kept__batch(id);
	struct learned_key key = { text, hash__bytes(text.p, text.n, 0), b->locations[0].address,
				   DCM_ADDR_VADDR };
	struct depot *d = depot_of(&(struct depot_config){ 0 });
	struct scribe *scribe = NULL;

	assert_int_equal(scribe__new(d, &scribe), 0);
	scribe__add(scribe, &key, &what);
	scribe__flush(scribe);
	scribe__free(scribe);
	depot__free(d);
}

static void assert_kept_used(const char *log, int64_t real_s)
{
	struct stat of_file, of_log;

	assert_int_equal(stat(kept.path, &of_file), 0);
	assert_int_equal(stat(log, &of_log), 0);
	assert_int_equal(of_file.st_mtime, real_s);
	assert_int_equal(of_log.st_mtime, real_s);
}

/* A process that runs for longer than what is not used is kept asks its memory. */
static void test_what_answers_from_memory_is_in_use(void **state)
{
	static const char stand_in[] = "~0123456789abcdef";
	const int64_t now_s = 1000 * DAY_S, before_s = now_s - 20 * DAY_S;
	struct clock clock = clock__fake(SECOND, now_s * SECOND);
	char log[128];

	(void)state;
	snprintf(log, sizeof(log), "%s/.build-id/01/~23456789abcdef.names", kept.dir);
	write_name(stand_in, "known", 1);
	struct depot *d = depot_of(&(struct depot_config){ .clock = &clock });
	put_self(d, DEPOT_ELF);
	depot__free(d);
	CLEANUP(symbols__freep)
	struct symbols *s = kept__symbols(
		&(struct symbols_config){ .clock = &clock, .store_age_ns = 30 * DAY_S * SECOND });
	/* Read; told once, which is enough for an hour; and after that. */
	for (int i = 0; i < 4; i++) {
		clock.fake_mono_ns += i == 3 ? 3600 * SECOND : 0;
		kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
		kept__assert_names(s, stand_in, "known", DCM_UNNAMED_NOT_TRIED);
		if (i == 1) {
			set_used(kept.path, before_s);
			set_used(log, before_s);
		}
		if (i > 1)
			assert_kept_used(log, i == 2 ? before_s : now_s);
	}
}

static void test_who_knows_more_functions_names(void **state)
{
	static const char stand_in[] = "~0123456789abcdef";
	const struct symbols_config config = { .reduce = kept__disk_is_full };
	CLEANUP(fd__closep) int fd = kept__open_self();
	struct symbols *s;

	(void)state;
	write_name(kept.build_id, "by_a_stripped_file", 1);
	s = kept__symbols(&config);
	kept__assert_named(s, "by_a_stripped_file", DCM_UNNAMED_NOT_TRIED);
	kept__offer(s);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	symbols__free(s);
	s = kept__symbols(&config); /* what is better was written in its place */
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	symbols__free(s);
	write_name(kept.build_id, "by_one_with_debuginfo", UINT32_MAX);
	write_name(stand_in, "by_another_file_of_that_identity", UINT32_MAX);
	s = kept__symbols(&config);
	kept__assert_names(s, stand_in, "by_another_file_of_that_identity", DCM_UNNAMED_NOT_TRIED);
	kept__offer(s);
	symbols__offer(s, str__of(stand_in), STR("/gone/program"), fd);
	kept__assert_named(s, "by_one_with_debuginfo", DCM_UNNAMED_NOT_TRIED);
	symbols__free(s);
	s = kept__symbols(&config);
	symbols__offer(s, str__of(stand_in), STR("/gone/program"), fd);
	kept__assert_names(s, stand_in, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	symbols__free(s);
}

/* Files and names, those that were not written yet too; the copy is a directory of its own. */
static void test_a_backup_names(void **state)
{
	static const char stand_in[] = "~0123456789abcdef";
	struct symbols *s = kept__symbols(&(struct symbols_config){ 0 });
	CLEANUP(fd__closep) int fd = kept__open_self();
	struct dcm_error err = DCM_ERROR_INIT;
	struct symbols_stat stat;
	char copy[96];

	(void)state;
	snprintf(copy, sizeof(copy), "%s/copy/symbols", kept.dir);
	kept__offer(s);
	symbols__offer(s, str__of(stand_in), STR("/gone/program"), fd);
	kept__await(s, 1);
	kept__assert_names(s, stand_in, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	assert_int_equal(symbols__backup(s, copy, &err), 0);
	/* Nothing is written over. */
	assert_int_equal(symbols__backup(s, copy, &err), -EEXIST);
	symbols__free(s);
	s = kept__symbols(&(struct symbols_config){ .store_dir = copy, .store_read_only = true });
	symbols__stat(s, &stat);
	assert_int_equal(stat.store_files, 1);
	assert_int_equal(stat.store_logs, 1);
	kept__assert_names(s, stand_in, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	symbols__free(s);
	s = kept__symbols(&(struct symbols_config){ .store_dir = copy });
	symbols__stat(s, &stat);
	assert_string_equal(stat.store_state, "");
	symbols__free(s);
}

static bool lists_twice;

struct dirent *__real_readdir(DIR *stream);
struct dirent *__wrap_readdir(DIR *stream);

struct dirent *__wrap_readdir(DIR *stream)
{
	static __thread struct dirent *again;
	struct dirent *e = again ? again : __real_readdir(stream);

	again = lists_twice && !again ? e : NULL;
	return e;
}

/* As a directory may that is renamed into while it is read. */
static void test_a_backup_takes_what_is_listed_twice_once(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	char copy[96];
	int rc;

	(void)state;
	write_name(kept.build_id, "known", 1);
	struct depot *d = depot_of(&(struct depot_config){ 0 });
	put_self(d, DEPOT_ELF);
	snprintf(copy, sizeof(copy), "%s/copy/symbols", kept.dir);
	lists_twice = true;
	rc = depot__copy(d, copy, &err);
	lists_twice = false;
	if (rc)
		fail_msg("%s", err.text);
	depot__free(d);
	d = depot_of(&(struct depot_config){ .dir = copy, .read_only = true });
	assert_int_equal(stat_of(d).n_files, 1);
	assert_int_equal(stat_of(d).n_logs, 1);
	depot__free(d);
}

/* --- debuginfo that comes later --- */

static void await_read(struct symbols *s, uint64_t n)
{
	struct symbols_stat stat;

	do {
		usleep(1000);
		symbols__stat(s, &stat);
	} while (stat.files_read < n);
}

static void test_debuginfo_that_is_installed_later_is_looked_for(void **state)
{
	(void)state;
	kept__need_objcopy();
	CLEANUP(fd__closep) int bare = kept__open_bare();
	struct clock clock = clock__fake(SECOND, 1000 * DAY_S * SECOND);
	char place[96];
	const char *const dirs[] = { place };

	snprintf(place, sizeof(place), "%s/later", kept.dir);
	CLEANUP(symbols__freep)
	struct symbols *s = kept__symbols(
		&(struct symbols_config){ .debug_dirs = dirs, .n_debug_dirs = 1, .clock = &clock });
	symbols__offer(s, str__of(kept.build_id), STR("/gone/program"), bare);
	kept__assert_named(s, "", DCM_UNNAMED_NO_DEBUGINFO);
	kept__await(s, 1);
	assert_int_equal(
		shell("mkdir -p %s/.build-id/%.2s && cp /proc/%d/exe %s/.build-id/%.2s/%s.debug",
		      place, kept.build_id, (int)getpid(), place, kept.build_id, kept.build_id + 2),
		0);
	kept__assert_named(s, "", DCM_UNNAMED_NO_DEBUGINFO);
	clock.fake_mono_ns += 61 * SECOND;
	kept__ask_once(s); /* it is not waited for: there is an answer */
	await_read(s, 2);
	kept__assert_named(s, "hidden_function", DCM_UNNAMED_NOT_TRIED);
	/* It is kept, too, and names when that place is empty again. */
	assert_int_equal(kept__await(s, 2).store_files, 2);
}

/* --- failures --- */

static void test_failing_allocations(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct depot *d = NULL;
		int rc = depot__new(
			&(struct depot_config){ .dir = kept.dir, .max_bytes = 1, .clock = &clock__system },
			&d);

		failmalloc__disarm();
		if (rc)
			assert_int_equal(rc, -ENOMEM);
		depot__free(d);
	}
	struct depot *d = depot_of(&(struct depot_config){ 0 });
	CLEANUP(fd__closep) int in = kept__open_self();
	FAILMALLOC_SWEEP (i) {
		int rc = put(d, NULL, DEPOT_ELF, in);

		failmalloc__disarm();
		assert_true(rc == 0 || rc == -ENOMEM || rc == -ENOEXEC || rc == -EIO);
	}
	assert_true(is_there(d, DEPOT_ELF));
	FAILMALLOC_SWEEP (i) {
		int fd = depot__open(d, kept.build_id, DEPOT_ELF);

		failmalloc__disarm();
		if (fd < 0)
			assert_int_equal(fd, -ENOMEM);
		fd__close(fd);
	}
	depot__free(d);
	FAILMALLOC_SWEEP (i) {
		struct dcm_error err = DCM_ERROR_INIT;
		struct symbols *s = NULL;
		int rc = symbols__new(&(struct symbols_config){ .store_dir = kept.dir }, &s, &err);

		failmalloc__disarm();
		if (rc == 0)
			symbols__free(s);
		else
			assert_int_equal(rc, -ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_what_is_put_is_found_later, kept__new_dir),
		cmocka_unit_test_setup(test_a_better_file_takes_the_place, kept__new_dir),
		cmocka_unit_test_setup(test_only_build_ids_are_names, kept__new_dir),
		cmocka_unit_test_setup(test_damage_is_set_aside, kept__new_dir),
		cmocka_unit_test_setup(test_what_is_not_used_goes, kept__new_dir),
		cmocka_unit_test_setup(test_beyond_its_bytes_the_least_used_goes, kept__new_dir),
		cmocka_unit_test_setup(test_a_full_disk_is_told_and_forgotten, kept__new_dir),
		cmocka_unit_test_setup(test_one_writes_and_others_read, kept__new_dir),
		cmocka_unit_test_setup(test_the_end_waits_for_no_file, kept__new_dir),
		cmocka_unit_test_setup(test_files_that_wait_without_a_descriptor, kept__new_dir),
		cmocka_unit_test_setup(test_names_outlive_file_and_process, kept__new_dir),
		cmocka_unit_test_setup(test_a_table_that_was_evicted_comes_back, kept__new_dir),
		cmocka_unit_test_setup(test_a_failing_reducer_costs_no_name, kept__new_dir),
		cmocka_unit_test_setup(test_a_file_that_was_given_up_comes_back, kept__new_dir),
		cmocka_unit_test_setup(test_names_outlive_a_file_that_cannot_be_kept, kept__new_dir),
		cmocka_unit_test_setup(test_what_answers_from_memory_is_in_use, kept__new_dir),
		cmocka_unit_test_setup(test_who_knows_more_functions_names, kept__new_dir),
		cmocka_unit_test_setup(test_a_backup_names, kept__new_dir),
		cmocka_unit_test_setup(test_a_backup_takes_what_is_listed_twice_once, kept__new_dir),
		cmocka_unit_test_setup(test_debuginfo_that_is_installed_later_is_looked_for, kept__new_dir),
		cmocka_unit_test_setup(test_failing_allocations, kept__new_dir),
	};

	return cmocka_run_group_tests(tests, kept__make_root, kept__remove_root);
}
