/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_lost_frames.c - what cannot be read of the log is told as what cannot be read
 * of a block is
 *
 * A byte of a frame is flipped on a simulated disk while the store is closed.
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "plugins/storage/local/inspect.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/reader.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/storage/store_bench.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { FRAMES = 5 };
#define MINUTE_NS INT64_C(60000000000)
#define BASE_MS	  (RANDOM_BASE_NS / 1000000)

struct span {
	int64_t first_ms, last_ms;
};

/* The frame of a minute; its times. */
static struct span write_one(struct bench *b, int minute)
{
	struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 }, b->next_sequence++, 7,
						   0, RANDOM_BASE_NS + minute * MINUTE_NS);
	struct span span = { INT64_MAX, INT64_MIN };

	assert_non_null(batch);
	for (uint32_t k = 0; k < batch->n_profiles; k++) {
		const int64_t at_ms = batch->profiles[k].time_ns / 1000000;

		span.first_ms = at_ms < span.first_ms ? at_ms : span.first_ms;
		span.last_ms = at_ms > span.last_ms ? at_ms : span.last_ms;
	}
	content__write(NULL, b->store, &batch, 1);
	batch__unref(batch);
	return span;
}

/* A frame for each minute; the times of each. */
static void write_frames(struct bench *b, struct span spans[FRAMES])
{
	bench__init(b, 3);
	for (int i = 0; i < FRAMES; i++)
		spans[i] = write_one(b, i);
}

static int note_name(void *ctx, const char *name)
{
	snprintf(ctx, WAL_PATH_BYTES, WAL_DIR "/%s", name);
	return 0;
}

/* The payloads of these frames of the one segment, counted from 0; the store is closed. */
static void damage(struct bench *b, int from, int end)
{
	char path[WAL_PATH_BYTES];
	size_t n;
	int frame = 0;

	assert_int_equal(sim__n_names(b->sim, WAL_DIR), 1);
	assert_int_equal(vfs__list(sim__vfs(b->sim), WAL_DIR, note_name, path), 0);
	uint8_t *p = sim__peek(b->sim, path, &n);
	assert_non_null(p);
	for (size_t at = 0; at + FRAME_HEAD_BYTES < n; at += FRAME_ALIGN) {
		if (memcmp(p + at, "DFRM", 4) != 0)
			continue;
		p[at + FRAME_HEAD_BYTES] ^= frame >= from && frame < end;
		frame++;
	}
	assert_int_equal(frame, FRAMES);
}

static void reopen_damaged(struct bench *b, int from, int end)
{
	store__close(b->store);
	sim__restart(b->sim, false);
	damage(b, from, end);
	bench__open(b);
}

struct told {
	unsigned n_eras; /* of dictionaries; and of others */
	unsigned n;
	struct dcm_gap gap;
	char what[32];
};

static void note_gap(void *ctx, const struct dcm_gap *gap)
{
	struct told *t = ctx;

	if (gap->what.n > 5 && memcmp(gap->what.p, "eras/", 5) == 0) {
		t->n_eras++;
		return;
	}
	t->n++;
	t->gap = *gap;
	snprintf(t->what, sizeof(t->what), "%.*s", STR_ARG(gap->what));
}

static struct told ask(struct bench *b, int64_t from_ms, int64_t to_ms)
{
	struct told told = { 0 };
	struct dcm_budget budget = { .gap = note_gap, .gap_ctx = &told };
	const struct dcm_select sel = {
		.size = sizeof(sel), .from_ms = from_ms, .to_ms = to_ms, .budget = &budget
	};
	struct view v;

	view__init(&v, &b->storage.host, &sel, 1);
	assert_int_equal(look__take(&v, b->store), 0);
	view__fini(&v);
	return told;
}

static void check_gap(struct bench *b, int64_t first_ms, int64_t last_ms)
{
	const struct told t = ask(b, INT64_MIN, INT64_MAX);

	assert_int_equal(t.n, 1);
	assert_string_equal(t.what, WAL_DIR);
	assert_int_equal(t.gap.from_ms, first_ms);
	assert_int_equal(t.gap.to_ms, last_ms + 1);
	assert_int_equal(t.gap.n_profiles, 0);
	assert_int_equal(ask(b, INT64_MIN, first_ms).n, 0);
	assert_int_equal(ask(b, first_ms, first_ms + 1).n, 1);
	assert_int_equal(ask(b, last_ms + 1, INT64_MAX).n, 0);
}

struct sentences {
	unsigned n_errors, n_warnings;
};

static void note_sentence(void *ctx, enum dcm_log_level level, const char *sentence)
{
	struct sentences *s = ctx;
	(void)sentence;

	s->n_errors += level == DCM_LOG_ERROR;
	s->n_warnings += level == DCM_LOG_WARNING;
}

/* What `decima store check` finds: an error while the segment is there, a warning afterwards. */
static void check_check(struct bench *b, unsigned n_errors)
{
	struct sentences s = { 0 };

	assert_int_equal(inspect__check(b->store,
					&(struct inspect_how){ .report = note_sentence, .ctx = &s }, NULL),
			 n_errors);
	assert_int_equal(s.n_errors, n_errors);
	assert_int_equal(s.n_warnings, 1);
}

/*
 * From the frame before to the one behind, at each start anew, and from the manifest when the
 * segment has gone.
 */
static void test_frames_in_between(void **state)
{
	struct span at[FRAMES];
	struct bench b;
	(void)state;

	write_frames(&b, at);
	reopen_damaged(&b, 1, 3);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(atomic_load(&b.store->n_frames_lost), 2);
		assert_int_equal(atomic_load(&b.store->n_unreadable), 2);
		assert_int_equal(b.n_complaints, i + 1);
		check_gap(&b, at[0].first_ms, at[3].last_ms);
		check_check(&b, 1);
		bench__restart(&b, false);
	}
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	b.n_complaints = 0;
	for (int i = 0; i < 2; i++) {
		check_gap(&b, at[0].first_ms, at[3].last_ms);
		check_check(&b, 0);
		bench__restart(&b, true);
		assert_int_equal(atomic_load(&b.store->n_frames_lost), 0);
	}
	assert_int_equal(b.n_complaints, 0);
	bench__fini(&b);
}

/* With no frame before, and no block either, they begin where the next one does. */
static void test_the_first_frames(void **state)
{
	struct span at[FRAMES];
	struct bench b;
	(void)state;

	write_frames(&b, at);
	reopen_damaged(&b, 0, 1);
	check_gap(&b, at[1].first_ms, at[1].last_ms);
	/* The later ones lack what was new in it. */
	assert_int_equal(ask(&b, INT64_MIN, INT64_MAX).n_eras, 1);
	bench__fini(&b);
}

static void remove_segment(struct bench *b)
{
	char path[WAL_PATH_BYTES];

	store__close(b->store);
	sim__restart(b->sim, false);
	assert_int_equal(sim__n_names(b->sim, WAL_DIR), 1);
	assert_int_equal(vfs__list(sim__vfs(b->sim), WAL_DIR, note_name, path), 0);
	assert_int_equal(vfs__unlink(sim__vfs(b->sim), path), 0);
}

static void check_only_read(struct bench *b, int64_t first_ms, int64_t last_ms)
{
	struct store *written = b->store;

	assert_int_equal(
		reader__open(&b->storage.host, sim__vfs(b->sim), &b->options, &b->store, NULL), 0);
	check_gap(b, first_ms, last_ms);
	check_check(b, 1);
	store__close(b->store);
	b->store = written;
}

/* With the manifest that a process left which died, and in each later start until a seal. */
static void test_a_removed_segment(void **state)
{
	struct span at[FRAMES];
	struct bench b;
	(void)state;

	write_frames(&b, at);
	remove_segment(&b);
	bench__open(&b);
	const int64_t now_ms = b.storage.host.real_ns(&b.storage.host) / 1000000;
	const int64_t kept_ms = b.options.retention_ms, since_ms = kept_ms ? now_ms - kept_ms : 0;
	for (int i = 0; i < 2; i++) {
		assert_true(atomic_load(&b.store->n_frames_lost) > 0);
		assert_int_equal(b.n_complaints, i + 1);
		check_gap(&b, since_ms, now_ms);
		check_check(&b, 1);
		bench__restart(&b, true);
	}
	check_only_read(&b, since_ms, now_ms);
	write_one(&b, FRAMES);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	check_check(&b, 0);
	check_gap(&b, since_ms, now_ms);
	bench__fini(&b);
}

/* From the last profile that is in a block. */
static void test_a_segment_after_blocks(void **state)
{
	struct span at[FRAMES];
	struct bench b;
	(void)state;

	write_frames(&b, at);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	write_one(&b, FRAMES);
	remove_segment(&b);
	bench__open(&b);
	assert_int_equal(b.n_complaints, 1);
	check_gap(&b, at[FRAMES - 1].last_ms, b.storage.host.real_ns(&b.storage.host) / 1000000);
	check_check(&b, 1);
	bench__fini(&b);
}

/* Nothing is missed where all is in blocks. */
static void test_a_segment_that_nobody_needs(void **state)
{
	struct span at[FRAMES];
	struct bench b;
	(void)state;

	write_frames(&b, at);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	assert_int_equal(sim__n_names(b.sim, WAL_DIR), 0);
	for (int i = 0; i < 2; i++) {
		bench__restart(&b, true);
		assert_int_equal(ask(&b, INT64_MIN, INT64_MAX).n, 0);
	}
	assert_int_equal(b.n_complaints, 0);
	assert_int_equal(atomic_load(&b.store->n_frames_lost), 0);
	bench__fini(&b);
}

/* Of a type that nobody knows, but whole: the store is not opened, and the frame stays. */
static void test_a_frame_of_a_later_version(void **state)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct commit_found found;
	struct span at[FRAMES];
	struct bench b;
	uint64_t lsn;
	(void)state;

	write_frames(&b, at);
	struct wal *w = commit__wal(b.store->commit);
	assert_int_equal(wal__append(w, STORE_FRAME_ROWS + 1, "new", 3, &lsn, NULL), 0);
	assert_int_equal(wal__sync(w, lsn, NULL), 0);
	store__close(b.store);
	for (int i = 0; i < 2; i++) {
		b.store = NULL;
		sim__restart(b.sim, true);
		assert_int_equal(store__open(&b.storage.host, sim__vfs(b.sim), &b.options, &found,
					     &b.store, &err),
				 -EPROTONOSUPPORT);
		assert_non_null(strstr(err.text, "later version"));
	}
	assert_int_equal(b.n_complaints, 0);
	bench__fini(&b);
}

static uint64_t n_rows(const struct bench *b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < b->store->active.n; i++)
		n += b->store->active.v[i]->streams.n_rows;
	for (size_t i = 0; i < b->store->blocks.n; i++)
		n += b->store->blocks.v[i]->entry.n_rows;
	return n;
}

/* The store is not opened, nor read; as often as that is tried nothing changes. */
static void check_refused(struct bench *b)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct commit_found found;

	for (int i = 0; i < 4; i++) {
		b->store = NULL;
		sim__restart(b->sim, false);
		struct vfs *v = sim__vfs(b->sim);
		const int r = i % 2 ? reader__open(&b->storage.host, v, &b->options, &b->store, &err)
				    : store__open(&b->storage.host, v, &b->options, &found,
						  &b->store, &err);

		assert_int_equal(r, -EPROTONOSUPPORT);
		assert_non_null(strstr(err.text, "later version"));
	}
	assert_int_equal(b->n_complaints, 0);
}

/* The rows are known, and what is new with them is not. */
static void test_a_record_of_a_later_version(void **state)
{
	enum { IDS_BYTES = 8 + 24, PART_BYTES = 68 };
	char path[WAL_PATH_BYTES];
	struct span at[FRAMES];
	struct bench b;
	uint64_t lsn;
	size_t n;
	(void)state;

	write_frames(&b, at);
	struct wal *w = commit__wal(b.store->commit);
	assert_int_equal(vfs__list(sim__vfs(b.sim), WAL_DIR, note_name, path), 0);
	const uint8_t *frame = sim__peek(b.sim, path, &n);
	while (memcmp(frame, "DFRM", 4) != 0)
		frame += FRAME_ALIGN;
	const uint32_t n_payload = le__get32(frame + 4);
	uint8_t *payload = mem__dup(frame + FRAME_HEAD_BYTES, n_payload);
	assert_non_null(payload);
	assert_int_equal(le__get32(payload + IDS_BYTES + PART_BYTES), 1);
	le__put32(payload + IDS_BYTES + PART_BYTES, 2);
	assert_int_equal(wal__append(w, STORE_FRAME_ROWS, payload, n_payload, &lsn, NULL), 0);
	assert_int_equal(wal__sync(w, lsn, NULL), 0);
	free(payload);
	store__close(b.store);
	check_refused(&b);
	bench__fini(&b);
}

/* The store is closed. */
static void set_version(struct bench *b, const char *log, uint16_t version)
{
	size_t n;
	uint8_t *p = sim__peek(b->sim, log, &n);

	assert_true(p && n > FRAMES_HEAD_BYTES);
	le__put16(p + 8, version);
	le__put64(p + 56, hash__bytes(p, 56, 0x646563696d616c67));
}

/* Where the log needs it, the store is not opened; where only blocks do, answers say that they are left out. */
static void test_a_dictionary_of_a_later_version(void **state)
{
	char path[ERA_PATH_BYTES];
	struct span at[FRAMES];
	struct bench b;
	(void)state;

	write_frames(&b, at);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	write_one(&b, FRAMES);
	assert_int_equal(b.store->eras.n, 1);
	era__path(path, b.store->eras.v[0]->number);
	const uint64_t n_before = n_rows(&b);
	for (int i = 0; i < 2; i++) {
		store__close(b.store);
		sim__restart(b.sim, false);
		set_version(&b, path, 2);
		if (i == 0) {
			check_refused(&b);
		} else {
			bench__open(&b);
			const struct told t = ask(&b, INT64_MIN, INT64_MAX);

			assert_int_equal(t.n, b.store->blocks.n);
			assert_true(
				str__eq(t.gap.why, STR("a later version wrote its dictionary")));
		}
		store__close(b.store);
		set_version(&b, path, 1);
		bench__open(&b);
		assert_int_equal(n_rows(&b), n_before);
		assert_int_equal(ask(&b, INT64_MIN, INT64_MAX).n, 0);
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
	}
	assert_int_equal(inspect__check(b.store, &(struct inspect_how){ .report = NULL }, NULL), 0);
	bench__fini(&b);
}

/*
 * What was new in the first frame is in no other: their rows are there all the same, without their
 * frames, at every start and in blocks; and what comes then has a dictionary that lacks nothing.
 */
static void test_what_a_frame_brought_for_others(void **state)
{
	struct span at[FRAMES];
	struct bench b;
	(void)state;

	write_frames(&b, at);
	const uint64_t all = n_rows(&b);
	reopen_damaged(&b, 0, 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(n_rows(&b), all / FRAMES * (FRAMES - 1));
		assert_int_equal(b.store->eras.n, 1);
		assert_true(b.store->eras.v[0]->damaged);
		bench__restart(&b, false);
	}
	write_one(&b, FRAMES);
	assert_int_equal(b.store->eras.n, 2);
	assert_false(b.store->eras.v[1]->damaged);
	bench__restart(&b, false);
	assert_int_equal(n_rows(&b), all);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	bench__restart(&b, false);
	assert_int_equal(n_rows(&b), all);
	assert_int_equal(b.store->eras.n, 2);
	bench__fini(&b);
}

/* Without memory a start fails, or has found what is lost. */
static void test_without_memory(void **state)
{
	struct commit_found found;
	struct span at[FRAMES];
	struct bench b;
	int r = -ENOMEM;
	(void)state;

	write_frames(&b, at);
	store__close(b.store);
	sim__restart(b.sim, false);
	damage(&b, 1, 2);
	FAILMALLOC_SWEEP (i) {
		b.store = NULL;
		r = store__open(&b.storage.host, sim__vfs(b.sim), &b.options, &found, &b.store, NULL);
		failmalloc__disarm();
		assert_true(r == 0 || r == -ENOMEM);
		if (r == 0)
			check_gap(&b, at[0].first_ms, at[2].last_ms);
		store__close(b.store);
		sim__restart(b.sim, false);
	}
	assert_int_equal(r, 0);
	bench__open(&b);
	bench__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_in_between),
		cmocka_unit_test(test_the_first_frames),
		cmocka_unit_test(test_a_removed_segment),
		cmocka_unit_test(test_a_segment_after_blocks),
		cmocka_unit_test(test_a_segment_that_nobody_needs),
		cmocka_unit_test(test_a_frame_of_a_later_version),
		cmocka_unit_test(test_a_record_of_a_later_version),
		cmocka_unit_test(test_a_dictionary_of_a_later_version),
		cmocka_unit_test(test_what_a_frame_brought_for_others),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
