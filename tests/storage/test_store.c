/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_store.c - the local store keeps what was written, whatever happens in between
 *
 * Random batches, late ones and retries among them, are written, sealed and started over on a
 * simulated disk; after each step all that the store holds is compared with the batches themselves.
 * And power cuts, by the thousand (CRASH_CYCLES=100000 tests/storage/test_store looks longer).
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/limits.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/inspect.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/storage/crash_check.h"
#include "tests/storage/evict.h"
#include "tests/storage/store_bench.h"
#include "tests/storage/store_subject.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { CYCLES = 1500, CYCLES_TO_CATCH = 30000 };
#define DAY_NS (INT64_C(86400) * 1000000000)

static void restart(struct bench *b, bool power_cut)
{
	bench__restart(b, power_cut);
	assert_int_equal(b->n_complaints, 0);
}

static struct dcm_batch *make_batch_of(struct bench *b, uint64_t seed, unsigned flags, int64_t base_ns)
{
	struct dcm_batch *batch = random_batch__of((struct dcm_hash){ seed % 3 + 1, 5 },
						   b->next_sequence++, seed, flags, base_ns);

	assert_non_null(batch);
	return batch;
}

static struct dcm_batch *make_batch(struct bench *b, uint64_t seed, int64_t base_ns)
{
	return make_batch_of(b, seed, 0, base_ns);
}

static void note_done(void *ctx, int status)
{
	*(int *)ctx = status;
}

/* Writes and, when `fresh`, remembers. */
static void write_batches(struct bench *b, struct dcm_batch *const *batches, uint32_t n, bool fresh)
{
	content__write(fresh ? &b->told : NULL, b->store, batches, n);
}

/* -------------------------------------------------------------------------------------------------
 * What was written is there
 */

static void write_some(struct bench *b, struct random *r)
{
	struct dcm_batch *batches[3];
	uint32_t n = 1 + (uint32_t)random__below(r, 3);

	for (uint32_t i = 0; i < n; i++) {
		/* Late by days, now and then: several eras are open at once. */
		int64_t late_ns = random__below(r, 3)
					  ? 0
					  : (int64_t)random__below(r, 10) * 86400 * 1000000000;

		batches[i] = make_batch(b, random__next(r) % 1000, RANDOM_BASE_NS - late_ns);
	}
	write_batches(b, batches, n, true);
	if (random__below(r, 2)) /* a retry: the acknowledgement was lost on its way */
		write_batches(b, batches, n, false);
	for (uint32_t i = 0; i < n; i++)
		batch__unref(batches[i]);
}

static void test_all_that_was_written_is_there(void **state)
{
	uint64_t n_blocks = 0, n_eras = 0;
	(void)state;

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct random r = { seed };
		struct bench b;

		bench__init(&b, seed);
		for (int i = 0; i < 40; i++) {
			uint64_t step = random__below(&r, 8);

			if (step == 0)
				assert_int_equal(upkeep__seal(b.store, NULL), 0);
			else if (step == 1)
				restart(&b, random__below(&r, 2));
			else
				write_some(&b, &r);
			bench__compare(&b);
		}
		n_blocks += b.store->blocks.n;
		n_eras += b.store->eras.n;
		bench__fini(&b);
	}
	assert_true(n_blocks > 20 && n_eras > 20);
}

/* What stands in heads and blocks, piece by piece. */
static struct dcm_store_stat count_pieces(struct bench *b)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	struct dcm_store_stat sum = { .first_ms = INT64_MAX, .last_ms = INT64_MIN };
	struct view v;

	view__init(&v, &b->storage.host, &all, 1);
	assert_int_equal(look__take(&v, b->store), 0);
	for (size_t i = 0; i < v.pieces.n; i++) {
		const struct piece *p = &v.pieces.v[i].piece;

		sum.n_profiles += p->n_profiles;
		sum.n_rows += p->n_rows;
		sum.first_ms = p->first_ms < sum.first_ms ? p->first_ms : sum.first_ms;
		sum.last_ms = p->last_ms > sum.last_ms ? p->last_ms : sum.last_ms;
	}
	view__fini(&v);
	return sum;
}

/* Somebody seals, somebody reads a dictionary, and the listener answers all the same. */
static void test_counting_waits_for_nobody(void **state)
{
	struct random r = { 3 };
	struct bench b;
	(void)state;

	bench__init(&b, 3);
	for (int i = 0; i < 60; i++) {
		struct dcm_store_stat st = { .size = sizeof(st) };

		if (i % 7 == 3)
			assert_int_equal(upkeep__seal(b.store, NULL), 0);
		else if (i % 11 == 5)
			restart(&b, true);
		else
			write_some(&b, &r);
		const struct dcm_store_stat expected = count_pieces(&b);

		pthread_mutex_lock(&b.store->work);
		pthread_rwlock_wrlock(&b.store->lock);
		inspect__stat(b.store, &st);
		pthread_rwlock_unlock(&b.store->lock);
		pthread_mutex_unlock(&b.store->work);
		assert_int_equal(st.n_profiles, expected.n_profiles);
		assert_int_equal(st.n_rows, expected.n_rows);
		assert_true(st.retention_ms == b.store->options.retention_ms &&
			    st.max_bytes == b.store->options.max_bytes);
		assert_int_equal(st.first_ms, expected.first_ms);
		assert_int_equal(st.last_ms, expected.last_ms);
		assert_true(st.bytes > 0 && st.n_series > 0 && st.n_stacks > 0 && st.n_locations > 0);
	}
	assert_true(b.store->blocks.n > 5);
	bench__fini(&b);
}

/* By kind, and together all that is there. */
static void test_what_is_on_the_disk_is_told(void **state)
{
	struct random r = { 4 };
	struct bench b;
	(void)state;

	bench__init(&b, 4);
	for (int i = 0; i < 40; i++) {
		struct dcm_store_stat st = { .size = sizeof(st) };

		write_some(&b, &r);
		if (i % 7 == 3)
			assert_int_equal(upkeep__seal(b.store, NULL), 0);
		if (i % 17 == 5)
			restart(&b, true);
		disk_use__look(&b.store->disk, sim__vfs(b.sim));
		inspect__stat(b.store, &st);
		assert_int_equal(st.disk_bytes, sim__bytes(b.sim));
		assert_true((st.log_bytes > 0) == (sim__n_names(b.sim, "wal") > 0));
		assert_true((st.block_bytes > 0) == (sim__n_names(b.sim, "blocks") > 0));
		assert_true((st.dictionary_bytes > 0) == (sim__n_names(b.sim, "eras") > 0));
		/* What cannot be looked at is told as it was. */
		sim__take_away(b.sim, "eras");
		disk_use__look(&b.store->disk, sim__vfs(b.sim));
		sim__take_away(b.sim, "");
		inspect__stat(b.store, &st);
		assert_int_equal(st.disk_bytes, sim__bytes(b.sim));
	}
	assert_true(b.store->blocks.n > 2);
	bench__fini(&b);
}

static void test_retries_are_recognised_after_a_seal_and_a_restart(void **state)
{
	struct dcm_batch *batches[20];
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	for (uint32_t i = 0; i < 20; i++) {
		batches[i] = make_batch(&b, i, RANDOM_BASE_NS);
		write_batches(&b, &batches[i], 1, true);
		if (i == 9)
			assert_int_equal(upkeep__seal(b.store, NULL), 0);
	}
	restart(&b, true);
	write_batches(&b, batches, 20, false);
	bench__compare(&b);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	restart(&b, true);
	write_batches(&b, batches, 20, false);
	bench__compare(&b);
	/* The log has nothing that a block has. */
	assert_int_equal(b.store->active.n, 0);
	for (uint32_t i = 0; i < 20; i++)
		batch__unref(batches[i]);
	bench__fini(&b);
}

/* A heap profile's types share their stacks in the block, as they did in the batch. */
static void test_types_of_one_profile_share_a_chunk(void **state)
{
	uint64_t n_chunks = 0, n_streams = 0;
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	for (uint64_t seed = 0; seed < 4; seed++) {
		struct dcm_batch *batch = make_batch(&b, seed, RANDOM_BASE_NS);

		write_batches(&b, &batch, 1, true);
		batch__unref(batch);
	}
	for (size_t i = 0; i < b.store->active.n; i++)
		n_streams += b.store->active.v[i]->streams.n;
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	for (size_t i = 0; i < b.store->blocks.n; i++)
		n_chunks += b.store->blocks.v[i]->entry.n_chunks;
	print_message("%" PRIu64 " streams, %" PRIu64 " chunks\n", n_streams, n_chunks);
	assert_true(n_chunks > 0 && n_chunks < n_streams);
	bench__compare(&b);
	bench__fini(&b);
}

/* A series with a megabyte of text. */
static struct dcm_batch *make_long_text(struct bench *b, char letter)
{
	struct dcm_builder *builder = builder__new(0);
	CLEANUP(mem__freep) char *text = malloc(STRING_MAX_BYTES);
	struct dcm_batch *batch = NULL;

	assert_non_null(builder);
	assert_non_null(text);
	memset(text, letter, STRING_MAX_BYTES);
	builder__set_source(builder, (struct dcm_hash){ 7, 7 }, b->next_sequence++);
	const struct dcm_pair label = { builder__string(builder, STR("text")),
					builder__string(builder,
							(struct dcm_str){ text, STRING_MAX_BYTES }) };
	const struct dcm_type type = { .name = builder__string(builder, STR("cpu")),
				       .sample_type = builder__string(builder, STR("cpu")),
				       .sample_unit = builder__string(builder,
								      STR("nanoseconds")) };
	const struct dcm_profile head = { .series = builder__series(builder, &label, 1),
					  .time_ns = RANDOM_BASE_NS };
	builder__profile(builder, &head, &type, 1);
	builder__row(builder, builder__stack(builder, NULL, 0), 0, &(const int64_t){ 1 });
	assert_int_equal(builder__seal(builder, &batch, NULL), 0);
	builder__free(builder);
	return batch;
}

/* What a start would read is bounded, by the bytes of what is in no block, also of what one has read. */
static void test_a_long_log_is_sealed(void **state)
{
	enum { MAX_BYTES = 100000 };
	struct random r = { 6 };
	struct bench b;
	(void)state;

	bench__init(&b, 6);
	b.options.log_max_bytes = MAX_BYTES;
	restart(&b, false);
	for (int i = 0; i < 3; i++) {
		uint64_t before = b.store->active_log_bytes;

		assert_int_equal(before, 0);
		b.store->log_filled = false;
		for (int k = 0; !upkeep__wants_seal(b.store); k++) {
			assert_true(k < 1000);
			assert_false(b.store->log_filled);
			before = b.store->active_log_bytes;
			write_some(&b, &r);
		}
		/* The upkeep is woken by what reaches the bound, and not again by what is beyond. */
		assert_true(atomic_exchange(&b.store->log_filled, false));
		write_some(&b, &r);
		assert_false(b.store->log_filled);
		const uint64_t bytes = b.store->active_log_bytes;
		assert_true(before > 0 && before < MAX_BYTES && bytes >= MAX_BYTES);
		restart(&b, true);
		assert_int_equal(b.store->active_log_bytes, bytes);
		assert_true(upkeep__wants_seal(b.store));
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
		assert_false(upkeep__wants_seal(b.store));
	}
	bench__compare(&b);
	bench__fini(&b);
}

/*
 * What an era's dictionary gains does not wait for one record, which has a limit: neither when
 * written nor when replayed.
 */
static void test_a_dictionary_that_grows_has_many_records(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	for (char c = 'a'; c <= 'z'; c++) {
		struct dcm_batch *batch = make_long_text(&b, c);

		write_batches(&b, &batch, 1, true);
		batch__unref(batch);
	}
	assert_int_equal(b.store->eras.n, 1);
	assert_true(era__n_records(b.store->eras.v[0]) > 1);
	restart(&b, false);
	assert_int_equal(b.store->eras.n, 1);
	assert_true(era__n_records(b.store->eras.v[0]) > 1);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	restart(&b, true);
	bench__compare(&b);
	bench__fini(&b);
}

static size_t n_looked_at(struct bench *b, const char *type, int64_t from_ms)
{
	const struct dcm_select sel = {
		.size = sizeof(sel), .type = str__of(type), .from_ms = from_ms, .to_ms = INT64_MAX
	};
	struct view v;

	view__init(&v, b->store->host, &sel, 1);
	assert_int_equal(look__take(&v, b->store), 0);
	size_t n = look__of(&v)->blocks.n;
	view__fini(&v);
	return n;
}

/*
 * Of what is before a range only cumulative profiles matter, and these only to who asks for
 * increases; a block says once that it has none.
 */
static void test_old_blocks_are_looked_at_for_a_reason(void **state)
{
	const int64_t day_ns = INT64_C(86400) * 1000000000, late_ms = RANDOM_BASE_NS / 1000000 + 43200000;
	(void)state;

	for (unsigned cumulative = 0; cumulative < 2; cumulative++) {
		struct bench b;

		bench__init(&b, 1);
		for (int i = 0; i < 40; i++) {
			struct dcm_batch *batch = make_batch_of(&b, (uint64_t)i,
								cumulative ? 0 : RANDOM_DELTA_ONLY,
								RANDOM_BASE_NS + (i < 20 ? 0 : day_ns));

			write_batches(&b, &batch, 1, true);
			batch__unref(batch);
			if (i % 20 == 19)
				assert_int_equal(upkeep__seal(b.store, NULL), 0);
		}
		assert_int_equal(b.store->blocks.n, 2);
		assert_int_equal(n_looked_at(&b, "", late_ms), 1);
		assert_int_equal(n_looked_at(&b, "a:b:c:d:e:delta", late_ms), 1);
		assert_int_equal(n_looked_at(&b, "a:b:c:d:e", late_ms), 2);
		assert_int_equal(n_looked_at(&b, "a:b:c:d:e", late_ms), cumulative ? 2 : 1);
		assert_int_equal(n_looked_at(&b, "a:b:c:d:e:delta", late_ms), 1);
		assert_int_equal(n_looked_at(&b, "", INT64_MIN), 2);
		bench__fini(&b);
	}
}

/* -------------------------------------------------------------------------------------------------
 * What expires
 */

static void test_what_expires_goes_with_its_era(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	b.storage.real_ns += INT64_C(30) * 86400 * 1000000000;
	for (int i = 0; i < 10; i++) {
		struct dcm_batch *batch = make_batch(
			&b, 100 + (uint64_t)i, RANDOM_BASE_NS + (int64_t)i * 3 * 86400 * 1000000000);

		write_batches(&b, &batch, 1, false);
		batch__unref(batch);
	}
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	size_t n_blocks = b.store->blocks.n;
	assert_true(n_blocks >= 5 && b.store->eras.n >= n_blocks);
	int64_t cutoff_ms = b.store->blocks.v[n_blocks / 2]->entry.last_ms;
	uint32_t oldest_era = b.store->blocks.v[0]->entry.era;
	for (size_t i = 0; i < n_blocks; i++)
		if (b.store->blocks.v[i]->entry.last_ms < cutoff_ms)
			oldest_era = b.store->blocks.v[i]->entry.era;
	uint64_t want = 0;
	size_t left = 0;
	for (size_t i = 0; i < n_blocks; i++) {
		const struct manifest_block *e = &b.store->blocks.v[i]->entry;

		want += e->last_ms < cutoff_ms ? e->n_profiles : 0;
		left += e->last_ms >= cutoff_ms;
	}
	b.store->options.retention_ms = b.store->newest_ms - cutoff_ms;
	assert_int_equal(expire__whole(b.store, NULL), 0);
	assert_int_equal(b.store->n_expired, want);
	assert_int_equal(b.store->blocks.n, left);
	assert_int_equal(b.store->eras.n, left);
	char path[ERA_PATH_BYTES];
	size_t n_bytes;
	assert_null(sim__peek(b.sim, era__path(path, oldest_era), &n_bytes));
	restart(&b, true);
	assert_int_equal(b.store->blocks.n, left);
	assert_int_equal(b.store->eras.n, left);
	/* Down to the newest one. */
	const uint64_t newest = b.store->blocks.v[left - 1]->entry.number;
	while (b.store->blocks.n > 1)
		assert_int_equal(evict__oldest(b.store, NULL), 0);
	assert_int_equal(b.store->blocks.v[0]->entry.number, newest);
	assert_int_equal(b.store->eras.n, 1);
	bench__fini(&b);
}

/* The log has each frame of a stack once, whatever came before or in between. */
static void test_what_is_known_is_not_logged_again(void **state)
{
	uint64_t first = 0, bytes = 0;
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	for (int i = 0; i < 6; i++) {
		struct dcm_batch *batch = make_batch_of(&b, 1, RANDOM_ONE_PROFILE,
							RANDOM_BASE_NS + i * INT64_C(1000000000));

		if (i == 4)
			assert_int_equal(upkeep__seal(b.store, NULL), 0);
		bytes = b.store->active_log_bytes;
		write_batches(&b, &batch, 1, true);
		batch__unref(batch);
		bytes = b.store->active_log_bytes - bytes;
		if (i == 0)
			first = bytes;
		else
			assert_true(bytes < first / 2);
		if (i % 2)
			restart(&b, true);
		bench__compare(&b);
	}
	bench__fini(&b);
}

/*
 * A dictionary of which a seal has no head, since a write failed that began it, is in no manifest:
 * the frames that come then do not name it.
 */
static void test_an_era_that_a_seal_has_not(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	struct dcm_batch *batch = make_batch_of(&b, 1, RANDOM_ONE_PROFILE, RANDOM_BASE_NS);
	write_batches(&b, &batch, 1, true);
	batch__unref(batch);
	batch = make_batch_of(&b, 2, RANDOM_ONE_PROFILE, RANDOM_BASE_NS);
	sim__fail(b.sim, 1, FAULT_ENOSPC, true);
	assert_int_equal(store__write(b.store, &batch, 1, NULL, NULL, NULL), 0);
	content__add_batch(&b.told, batch);
	batch__unref(batch);
	/* The log refuses, and the rest is well. */
	sim__fail(b.sim, 0, FAULT_NONE, false);
	batch = make_batch_of(&b, 3, RANDOM_ONE_PROFILE, RANDOM_BASE_NS - 20 * DAY_NS);
	assert_int_equal(store__write(b.store, &batch, 1, NULL, NULL, NULL), -ENOSPC);
	assert_int_equal(b.store->eras.n, 2);
	assert_int_equal(upkeep__recover(b.store, NULL), 0);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	write_batches(&b, &batch, 1, true);
	batch__unref(batch);
	b.n_complaints = 0;
	restart(&b, true);
	bench__compare(&b);
	bench__fini(&b);
}

static void make_file(struct bench *b, const char *path)
{
	struct vfs_file *f = NULL;

	assert_int_equal(vfs__open(sim__vfs(b->sim), path, VFS_WRITE | VFS_CREATE, &f), 0);
	vfs__close(f);
}

/*
 * A process that dies in a seal may leave an era's log that nobody lists: the next one takes it when
 * the log of writes names it, and removes one that is nobody's.
 */
static void test_logs_of_nobody_go(void **state)
{
	static const char of_nobody[] = ERAS_DIR "/00000000000000000999.log";
	bool took_some = false, is_cut = true;
	(void)state;

	for (uint64_t n = 1; is_cut; n++) {
		size_t n_logs;
		struct bench b;

		bench__init(&b, n);
		struct dcm_batch *batch = make_batch_of(&b, 1, RANDOM_ONE_PROFILE, RANDOM_BASE_NS);
		write_batches(&b, &batch, 1, true);
		batch__unref(batch);
		sim__cut_at(b.sim, n);
		upkeep__seal(b.store, NULL);
		is_cut = sim__is_cut(b.sim);
		b.n_complaints = 0;
		restart(&b, false);
		took_some |= sim__n_names(b.sim, ERAS_DIR) > commit__manifest(b.store->commit)->eras.n;
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
		n_logs = sim__n_names(b.sim, ERAS_DIR);
		assert_int_equal(n_logs, b.store->eras.n);
		bench__compare(&b);
		make_file(&b, of_nobody);
		restart(&b, false);
		assert_int_equal(sim__n_names(b.sim, ERAS_DIR), n_logs + 1);
		assert_int_equal(expire__now(b.store, NULL, NULL), 0);
		n_logs = sim__n_names(b.sim, ERAS_DIR);
		assert_int_equal(n_logs, b.store->eras.n);
		bench__compare(&b);
		restart(&b, true);
		bench__compare(&b);
		bench__fini(&b);
	}
	assert_true(took_some);
}

static void test_what_comes_too_late_is_counted(void **state)
{
	struct dcm_batch *batch;
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	b.store->options.retention_ms = 86400000;
	batch = make_batch_of(&b, 100, RANDOM_ONE_PROFILE, RANDOM_BASE_NS);
	write_batches(&b, &batch, 1, true);
	batch__unref(batch);
	assert_int_equal(b.store->n_expired, 0);
	batch = make_batch_of(&b, 101, RANDOM_ONE_PROFILE,
			      RANDOM_BASE_NS - INT64_C(5) * 86400 * 1000000000);
	uint64_t n = 0;
	for (uint32_t i = 0; i < batch->n_profiles; i++)
		n += batch->profiles[i].n_types;
	assert_true(n > 0);
	write_batches(&b, &batch, 1, false);
	batch__unref(batch);
	assert_int_equal(b.store->n_too_old, n);
	assert_int_equal(b.store->n_expired, 0);
	bench__compare(&b);
	bench__fini(&b);
}

/* -------------------------------------------------------------------------------------------------
 * Trouble
 */

/*
 * A write that the disk refuses is told so, or told later that it is safe; and nothing is there
 * twice.
 */
static void test_a_full_disk_and_back(void **state)
{
	struct dcm_batch *first, *second;
	int done_first = -EINPROGRESS, done_second = -EINPROGRESS;
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	first = make_batch(&b, 3, RANDOM_BASE_NS);
	write_batches(&b, &first, 1, true);
	batch__unref(first);
	first = make_batch(&b, 1, RANDOM_BASE_NS);
	second = make_batch(&b, 2, RANDOM_BASE_NS);
	sim__fail(b.sim, 1, FAULT_ENOSPC, true);
	/* The log took it before it knew. */
	assert_int_equal(store__write(b.store, &first, 1, note_done, &done_first, NULL), 0);
	assert_int_equal(done_first, -EINPROGRESS);
	assert_int_equal(store__write(b.store, &second, 1, note_done, &done_second, NULL), -ENOSPC);
	assert_int_equal(upkeep__recover(b.store, NULL), -ENOSPC);
	assert_int_equal(done_first, -EINPROGRESS);
	sim__fail(b.sim, 0, FAULT_NONE, false);
	assert_int_equal(upkeep__recover(b.store, NULL), 0);
	assert_int_equal(done_first, 0);
	assert_int_equal(done_second, -EINPROGRESS);
	content__add_batch(&b.told, first);
	write_batches(&b, &first, 1, false);
	write_batches(&b, &second, 1, true);
	restart(&b, true);
	bench__compare(&b);
	batch__unref(first);
	batch__unref(second);
	bench__fini(&b);
}

/* A disk that has room for so many bytes: files that ask for theirs beforehand are told. */
static struct {
	struct vfs_ops ops;
	const struct vfs_ops *whole;
	const struct sim *sim;
	uint64_t bytes;
} small_disk;

static int allocate_if_there_is_room(struct vfs_file *f, uint64_t bytes)
{
	if (sim__bytes(small_disk.sim) + bytes > small_disk.bytes)
		return -ENOSPC;
	return small_disk.whole->allocate(f, bytes);
}

static void make_disk_small(struct sim *sim, uint64_t bytes)
{
	struct vfs *v = sim__vfs(sim);

	small_disk.sim = sim;
	small_disk.bytes = bytes;
	small_disk.whole = v->ops;
	small_disk.ops = *v->ops;
	small_disk.ops.allocate = allocate_if_there_is_room;
	v->ops = &small_disk.ops;
}

/*
 * What the log holds is larger than the block that it becomes: a seal makes the room that the log
 * lacks.
 */
static void test_a_full_disk_empties_itself(void **state)
{
	struct dcm_batch *batch;
	int done = -EINPROGRESS;
	struct bench b;
	(void)state;

	bench__init(&b, 1);
	batch = make_batch(&b, 3, RANDOM_BASE_NS);
	write_batches(&b, &batch, 1, true);
	batch__unref(batch);
	make_disk_small(b.sim, sim__bytes(b.sim) + 65536);
	wal__cut(commit__wal(b.store->commit)); /* the segment is full */
	batch = make_batch(&b, 1, RANDOM_BASE_NS);
	assert_int_equal(store__write(b.store, &batch, 1, note_done, &done, NULL), 0);
	assert_int_equal(done, -EINPROGRESS);
	assert_int_equal(upkeep__recover(b.store, NULL), 0);
	assert_int_equal(done, 0);
	content__add_batch(&b.told, batch);
	batch__unref(batch);
	batch = make_batch(&b, 2, RANDOM_BASE_NS);
	write_batches(&b, &batch, 1, true);
	batch__unref(batch);
	sim__vfs(b.sim)->ops = small_disk.whole;
	restart(&b, true);
	bench__compare(&b);
	bench__fini(&b);
}

/*
 * Each call to the disk fails once, and each for good: writes are acknowledged only when they are
 * safe.
 */
static void test_every_call_fails(void **state)
{
	uint64_t n = 1;
	(void)state;

	for (bool failed = true; failed; n++) {
		struct dcm_batch *batch;
		struct bench b;
		int status = -EINPROGRESS;

		bench__init(&b, n);
		batch = make_batch(&b, 1, RANDOM_BASE_NS);
		write_batches(&b, &batch, 1, true);
		batch__unref(batch);
		sim__fail(b.sim, n, FAULT_EIO, n % 2);
		upkeep__seal(b.store, NULL);
		batch = make_batch(&b, 2, RANDOM_BASE_NS);
		store__write(b.store, &batch, 1, note_done, &status, NULL);
		upkeep__seal(b.store, NULL);
		failed = sim__failed(b.sim);
		sim__fail(b.sim, 0, FAULT_NONE, false);
		assert_int_equal(upkeep__recover(b.store, NULL), 0);
		if (status)
			write_batches(&b, &batch, 1, true);
		else
			content__add_batch(&b.told, batch);
		bench__compare(&b);
		b.n_complaints = 0;
		restart(&b, true);
		bench__compare(&b);
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
		restart(&b, true);
		bench__compare(&b);
		batch__unref(batch);
		bench__fini(&b);
	}
	assert_true(n > 15);
}

static void test_without_memory(void **state)
{
	bool failed = true;
	(void)state;

	/* The first allocations one by one, later ones in growing steps. */
	for (uint64_t n = 1; failed; n += 1 + n / 64) {
		struct dcm_batch *batches[2];
		int status[2] = { -EINPROGRESS, -EINPROGRESS };
		struct bench b;

		bench__init(&b, 1);
		for (int i = 0; i < 2; i++)
			batches[i] = make_batch(&b, (uint64_t)i, RANDOM_BASE_NS);
		failmalloc__arm_once(n);
		for (int i = 0; i < 2; i++) {
			store__write(b.store, &batches[i], 1, note_done, &status[i], NULL);
			upkeep__seal(b.store, NULL);
		}
		failed = failmalloc__disarm();
		assert_int_equal(upkeep__recover(b.store, NULL), 0);
		for (int i = 0; i < 2; i++) {
			if (status[i])
				write_batches(&b, &batches[i], 1, true);
			else
				content__add_batch(&b.told, batches[i]);
			batch__unref(batches[i]);
		}
		bench__compare(&b);
		restart(&b, true);
		bench__compare(&b);
		bench__fini(&b);
	}
}

/* -------------------------------------------------------------------------------------------------
 * Power cuts
 */

static struct crash_plan crash_plan(enum sim_model model, unsigned deviations, uint64_t n_cycles)
{
	return (struct crash_plan){
		.subject = &store_subject,
		.model = model,
		.deviations = deviations,
		.seed = 1,
		.n_cycles = n_cycles,
	};
}

static void survives(enum sim_model model)
{
	const char *text = getenv("CRASH_CYCLES");
	struct crash_plan plan = crash_plan(model, 0, text ? strtoull(text, NULL, 10) : CYCLES);
	struct crash_result r;

	crash_check(&plan, &r);
	printf("%" PRIu64 " lives, %" PRIu64 " power cuts, %" PRIu64 " acknowledged, %" PRIu64
	       " seen again, %" PRIu64 " seals, %" PRIu64 " compactions, %" PRIu64
	       " removals, %" PRIu64 " expired, %" PRIu64 " backups, %" PRIu64 " restored, %" PRIu64
	       " segments removed, %" PRIu64 " times missed\n",
	       r.n_cycles, r.n_power_cuts, r.n_acked, r.n_replayed, r.n_seals, r.n_compactions,
	       r.n_removals, r.n_expired, r.n_backups, r.n_restored, r.n_segments_removed,
	       r.n_segments_missed);
	if (r.bad_seed)
		fail_msg("seed %" PRIu64 ": %s", r.bad_seed, r.fault);
	assert_true(r.n_power_cuts > r.n_cycles / 2 && r.n_acked > r.n_cycles / 2 &&
		    r.n_seals > r.n_cycles / 8 && r.n_removals > r.n_cycles / 8);
	assert_true(r.n_compactions > r.n_cycles / 16 && r.n_expired > r.n_cycles / 8 &&
		    r.n_backups > r.n_cycles / 8 && r.n_restored > r.n_cycles / 32);
	assert_true(r.n_segments_missed > r.n_cycles / 100);
}

static void test_power_cuts(void **state)
{
	(void)state;
	survives(SIM_PREFIX);
}

static void test_power_cuts_on_any_file_system(void **state)
{
	(void)state;
	survives(SIM_SUBSET);
}

/* The check sees what it looks for, each in the model in which it may be seen. */
static void test_deviations_are_caught(void **state)
{
	static const struct {
		unsigned deviation;
		enum sim_model model;
	} all[] = {
		{ SKIP_WAL_SYNC, SIM_PREFIX },		{ SKIP_WAL_DIR_SYNC, SIM_SUBSET },
		{ SKIP_VOUCHING, SIM_PREFIX },		{ SKIP_ZEROES, SIM_PREFIX },
		{ SKIP_BLOCK_SYNC, SIM_PREFIX },	{ SKIP_BLOCK_DIR_SYNC, SIM_SUBSET },
		{ SKIP_ERA_SYNC, SIM_PREFIX },		{ SKIP_ERA_DIR_SYNC, SIM_SUBSET },
		{ SKIP_MANIFEST_SYNC, SIM_PREFIX },	{ SKIP_ROOT_DIR_SYNC, SIM_SUBSET },
		{ SKIP_SYNC_ERRORS, SIM_PREFIX },	{ DEVIATE_ACK_EARLY, SIM_PREFIX },
		{ DEVIATE_REMOVE_EARLY, SIM_PREFIX },	{ DEVIATE_FORGET_EARLY, SIM_PREFIX },
		{ DEVIATE_UNFILTER_EARLY, SIM_PREFIX }, { DEVIATE_FILTER_IN_MEMORY, SIM_PREFIX },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct crash_plan plan = crash_plan(all[i].model, all[i].deviation, CYCLES_TO_CATCH);
		struct crash_result r;

		crash_check(&plan, &r);
		printf("deviation %#x, model %d: life %" PRIu64 ", %s\n", all[i].deviation,
		       (int)all[i].model, r.n_cycles, r.fault);
		assert_true(r.bad_seed != 0);
	}
}

/* A store that stops writes no block anew, and is as it was. */
static void test_a_stop_ends_the_work_on_blocks(void **state)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	struct bench b;
	uint64_t n = 0;
	(void)state;

	bench__init(&b, 1);
	struct dcm_batch *batch = make_batch_of(&b, 50, RANDOM_ONE_PROFILE, RANDOM_BASE_NS);
	write_batches(&b, &batch, 1, true);
	batch__unref(batch);
	assert_int_equal(upkeep__seal(b.store, NULL), 0);
	atomic_store(&b.store->stopping, true);
	assert_int_equal(removal__select(b.store, &all, &n, NULL), 0);
	assert_true(n > 0);
	assert_int_equal(removal__step(b.store, NULL, NULL), -ECANCELED);
	assert_int_equal(b.store->blocks.n, 1);
	restart(&b, false);
	assert_int_equal(removal__drain(b.store, NULL), 0);
	assert_int_equal(b.store->blocks.n, 0);
	assert_null(b.store->filters);
	bench__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_was_written_is_there),
		cmocka_unit_test(test_counting_waits_for_nobody),
		cmocka_unit_test(test_what_is_on_the_disk_is_told),
		cmocka_unit_test(test_retries_are_recognised_after_a_seal_and_a_restart),
		cmocka_unit_test(test_types_of_one_profile_share_a_chunk),
		cmocka_unit_test(test_old_blocks_are_looked_at_for_a_reason),
		cmocka_unit_test(test_a_long_log_is_sealed),
		cmocka_unit_test(test_a_dictionary_that_grows_has_many_records),
		cmocka_unit_test(test_what_expires_goes_with_its_era),
		cmocka_unit_test(test_what_is_known_is_not_logged_again),
		cmocka_unit_test(test_an_era_that_a_seal_has_not),
		cmocka_unit_test(test_logs_of_nobody_go),
		cmocka_unit_test(test_what_comes_too_late_is_counted),
		cmocka_unit_test(test_a_full_disk_and_back),
		cmocka_unit_test(test_a_full_disk_empties_itself),
		cmocka_unit_test(test_every_call_fails),
		cmocka_unit_test(test_without_memory),
		cmocka_unit_test(test_a_stop_ends_the_work_on_blocks),
		cmocka_unit_test(test_power_cuts),
		cmocka_unit_test(test_power_cuts_on_any_file_system),
		cmocka_unit_test(test_deviations_are_caught),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
