/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_expire.c - what is too old, by type too, and what is too much goes, and
 * nothing else
 *
 * A day is a block: each has a profile of each of three types. What must be left after the limits
 * are applied is known profile by profile, and is compared with all that the store holds, before
 * and after a start.
 *
 * One thread: not run under TSan.
 */
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/block_file.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/storage/store_bench.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

enum { DAYS = 20, N_TYPES = 3 };
#define DAY_NS (INT64_C(86400) * 1000000000)

static const char *const names[N_TYPES] = { "cpu", "memory", "mem" };

static struct dcm_batch *make_batch(uint64_t sequence, const char *type_name, int64_t time_ns)
{
	struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;

	assert_non_null(b);
	builder__set_source(b, (struct dcm_hash){ 1, 5 }, sequence);
	uint32_t count = builder__string(b, str__of("count"));
	struct dcm_type type = { .name = builder__string(b, str__of(type_name)),
				 .sample_type = count,
				 .sample_unit = count,
				 .period_type = count,
				 .period_unit = count,
				 .temporality = DCM_DELTA };
	struct dcm_pair label = { count, count };
	struct dcm_profile head = { .series = builder__series(b, &label, 1),
				    .time_ns = time_ns,
				    .duration_ns = 1 };
	struct dcm_function function = { .name = count };
	struct dcm_line line = { .function = builder__function(b, &function),
				 .line = (int64_t)sequence % 7 };
	struct dcm_location location = { .mapping = DCM_NONE,
					 .process = DCM_NONE,
					 .addr_kind = DCM_ADDR_NONE,
					 .kind = DCM_FRAME_INTERPRETED };
	uint32_t frame = builder__location(b, &location, &line, 1);
	int64_t value = (int64_t)sequence + 1;

	builder__profile(b, &head, &type, 1);
	builder__row(b, builder__stack(b, &frame, 1), 0, &value);
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	builder__free(b);
	return batch;
}

static int64_t day_ns(int day)
{
	return RANDOM_BASE_NS + day * DAY_NS;
}

static struct dcm_batch *batch_of_day(int day, int type)
{
	return make_batch((uint64_t)(day * N_TYPES + type), names[type], day_ns(day));
}

/* A block of three profiles. */
static void seal_day(struct bench *b, int day)
{
	struct dcm_batch *batches[N_TYPES];

	for (int t = 0; t < N_TYPES; t++)
		batches[t] = batch_of_day(day, t);
	assert_int_equal(store__write(b->store, batches, N_TYPES, NULL, NULL, NULL), 0);
	assert_int_equal(upkeep__seal(b->store, NULL), 0);
	for (int t = 0; t < N_TYPES; t++)
		batch__unref(batches[t]);
}

/* A block a day. */
static void fill(struct bench *b)
{
	bench__prepare(b, 1, SIM_PREFIX);
	b->storage.real_ns = day_ns(DAYS);
	bench__open(b);
	for (int day = 0; day < DAYS; day++)
		seal_day(b, day);
	assert_int_equal(b->store->blocks.n, DAYS);
}

static void end(struct bench *b)
{
	bench__fini(b);
	assert_int_equal(b->n_complaints, 0);
}

/* Until nothing changes any more: one block a call is written anew. */
static uint64_t expire_all(struct bench *b)
{
	uint64_t before = UINT64_MAX;

	while (b->store->n_expired != before) {
		before = b->store->n_expired;
		assert_int_equal(expire__now(b->store, NULL, NULL), 0);
	}
	return before;
}

/* The store has the types' profiles from these days on, and no other. */
static void must_have(struct bench *b, const int from[N_TYPES])
{
	struct content told = { 0 };

	for (int t = 0; t < N_TYPES; t++) {
		for (int day = from[t]; day < DAYS; day++) {
			struct dcm_batch *batch = batch_of_day(day, t);

			content__add_batch(&told, batch);
			batch__unref(batch);
		}
	}
	content__compare_store(&told, b->store);
	content__fini(&told);
}

static void keep_for(struct bench *b, int days, const char **types, int64_t *ns, uint32_t n)
{
	b->options.retention_ms = days * (DAY_NS / 1000000);
	b->options.retention_by_type = (struct dcm_map){ .keys = types, .items = ns, .n = n };
	bench__restart(b, true);
}

/* The newest is of day 19, and what is exactly as old as its retention stays. */
static void test_types_are_kept_for_different_times(void **state)
{
	/* The longest counts wherever it stands, and a type ends at a colon. */
	const char *types[] = { "memory:count", "memory", "mem", "cp" };
	int64_t ns[] = { 12 * DAY_NS, DAY_NS, 2 * DAY_NS, DAY_NS };
	static const int from[N_TYPES] = { 14, 7, 17 };
	struct bench b;
	(void)state;

	fill(&b);
	keep_for(&b, 5, types, ns, 4);
	assert_int_equal(expire_all(&b), 14 + 7 + 17);
	must_have(&b, from);
	/* Blocks went whole where that was possible: no day has two. */
	assert_int_equal(b.store->blocks.n, DAYS - 7);
	bench__restart(&b, true);
	must_have(&b, from);
	assert_int_equal(b.store->rows_evicted, 0);
	end(&b);
}

/* What the newest days' blocks have of a type: each of its chunks has it alone. */
static int64_t bytes_of(const struct bench *b, int type, int n_days)
{
	int64_t sum = 0;

	for (int day = DAYS - n_days; day < DAYS; day++) {
		struct stored *s = b->store->blocks.v[day];
		const struct block *block;

		assert_int_equal(stored__block(s, &block, NULL), 0);
		for (uint64_t i = 0; i < block->info.n_chunks; i++) {
			const struct chunk_entry *c = &block->chunks[i];
			const struct dict_type *t = dict__type_at(s->era->dict,
								  block->types[c->first_type].type);

			assert_int_equal(c->n_types, 1);
			if (t->text.n == strlen(names[type]) +
						 strlen(":count:count:count:count:delta") &&
			    str__starts(t->text, str__of(names[type])))
				sum += (int64_t)(c->profiles.n + c->stacks.n + c->rollups.n +
						 c->pages.n + c->rows_bytes);
		}
	}
	assert_true(sum > 0);
	return sum;
}

static void keep_bytes(struct bench *b, const char **types, int64_t *bytes, uint32_t n)
{
	b->options.max_bytes_by_type = (struct dcm_map){ .keys = types, .items = bytes, .n = n };
	bench__restart(b, true);
}

/* Of a type the newest blocks stay that have its bytes, with the one that exceeds them; and all of others. */
static void test_types_have_bytes_of_their_own(void **state)
{
	const char *types[] = { "mem", "memory", "cpu:count:none" };
	struct bench b;
	(void)state;

	fill(&b);
	int64_t bytes[] = { bytes_of(&b, 2, 6), bytes_of(&b, 1, 9) - 1, 1 };
	keep_bytes(&b, types, bytes, 3);
	assert_int_equal(expire_all(&b), 14 + 11);
	must_have(&b, (const int[N_TYPES]){ 0, 11, 14 });
	assert_int_equal(b.store->rows_evicted, 0);
	bench__restart(&b, true);
	must_have(&b, (const int[N_TYPES]){ 0, 11, 14 });
	/* Beside a retention that counts when it is the shorter one. */
	bytes[0] = bytes[2] = 1;
	bytes[1] = 1 << 30;
	types[2] = "cpu";
	const char *kept[] = { "memory" };
	int64_t ns[] = { 2 * DAY_NS };
	keep_for(&b, 5, kept, ns, 1);
	keep_bytes(&b, types, bytes, 3);
	expire_all(&b);
	must_have(&b, (const int[N_TYPES]){ 19, 17, 19 });
	end(&b);
}

/* Flips a byte of the rows of a block that is mapped already. */
static void flip_rows(struct stored *s, uint64_t chunk)
{
	const struct block *block;

	assert_int_equal(stored__block(s, &block, NULL), 0);
	*(uint8_t *)(uintptr_t)(block->sections[0] + block->chunks[chunk].rows_off) ^= 4;
}

/*
 * Which types a block has is read once. It is damaged since: that is found when a type is too much and the rest is written
 * anew, which saves what can be read.
 */
static void test_a_damaged_block_whose_types_are_known(void **state)
{
	enum { DAMAGED = 3, KEPT = 2 };
	const char *types[] = { "cpu" };
	int64_t bytes[] = { 1 << 30 };
	struct content told = { 0 };
	struct bench b;
	(void)state;

	fill(&b);
	keep_bytes(&b, types, bytes, 1);
	assert_int_equal(expire_all(&b), 0);
	struct stored *damaged = b.store->blocks.v[DAMAGED];
	assert_non_null(damaged->types);
	flip_rows(damaged, 1); /* of "memory": types come in the order of their numbers */
	bytes[0] = bytes_of(&b, 0, KEPT);
	assert_int_equal(expire_all(&b), DAYS - KEPT);
	assert_int_equal(b.n_complaints, 1);
	assert_int_equal(sim__n_names(b.sim, QUARANTINE_DIR), 1);
	assert_int_equal(b.store->lost.n, 1);
	assert_int_equal(b.store->blocks.n, DAYS);
	for (int day = 0; day < DAYS; day++) {
		for (int t = day < DAYS - KEPT; t < N_TYPES; t++) {
			struct dcm_batch *batch = batch_of_day(day, t);

			if (day != DAMAGED || t != 1)
				content__add_batch(&told, batch);
			batch__unref(batch);
		}
	}
	content__compare_store(&told, b.store);
	content__fini(&told);
	b.n_complaints = 0;
	end(&b);
}

/* One call writes at most one block anew, and what it did stands. */
static void test_one_block_a_call(void **state)
{
	const char *types[] = { "cpu" };
	int64_t ns[] = { 3 * DAY_NS };
	struct bench b;
	(void)state;

	fill(&b);
	keep_for(&b, 0, types, ns, 1);
	for (uint64_t i = 1; i <= 16; i++) {
		assert_int_equal(expire__now(b.store, NULL, NULL), 0);
		assert_int_equal(b.store->n_expired, i);
		bench__restart(&b, true);
		b.store->n_expired = i;
	}
	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	must_have(&b, (const int[N_TYPES]){ 16, 0, 0 });
	end(&b);
}

/* What is kept for longer than the rest is taken when it comes that late. */
static void test_late_ones_of_a_type_that_is_kept(void **state)
{
	const char *types[] = { "memory" };
	int64_t ns[] = { 12 * DAY_NS };
	struct dcm_batch *batch;
	struct bench b;
	(void)state;

	fill(&b);
	keep_for(&b, 5, types, ns, 1);
	batch = make_batch(1000, "memory", day_ns(8) + 1000000);
	assert_int_equal(store__write(b.store, &batch, 1, NULL, NULL, NULL), 0);
	batch__unref(batch);
	assert_int_equal(b.store->n_too_old, 0);
	batch = make_batch(1001, "memory", day_ns(6));
	assert_int_equal(store__write(b.store, &batch, 1, NULL, NULL, NULL), 0);
	batch__unref(batch);
	assert_int_equal(b.store->n_too_old, 1);
	end(&b);
}

static uint64_t bytes_of_eras(struct bench *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->store->eras.n; i++) {
		char path[ERA_PATH_BYTES];
		size_t n = 0;

		sim__peek(b->sim, era__path(path, b->store->eras.v[i]->number), &n);
		sum += n;
	}
	return sum;
}

/*
 * The bound holds for blocks, dictionaries and the log together, and no block goes that need not.
 */
static void test_bytes_are_those_of_everything(void **state)
{
	struct wal_stat log;
	struct bench b;
	(void)state;

	fill(&b);
	bench__restart(&b, true);
	assert_int_equal(expire__now(b.store, NULL, NULL), 0); /* a segment that the cut has brought back goes */
	wal__stat(commit__wal(b.store->commit), &log);
	uint64_t fixed = (uint64_t)log.n_files * b.options.segment_bytes;
	uint64_t all = fixed + kept__get(b.store).blocks.bytes + bytes_of_eras(&b);
	b.store->options.max_bytes = all;
	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	assert_int_equal(b.store->blocks.n, DAYS);
	b.store->options.max_bytes = all - 1;
	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	assert_int_equal(b.store->blocks.n, DAYS - 1);
	assert_int_equal(b.store->rows_evicted, N_TYPES);
	/* Its dictionary goes with the last block of an era, and counts as freed. */
	size_t n_eras = b.store->eras.n;
	b.store->options.max_bytes = fixed + (all - fixed) / 2;
	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	assert_true(b.store->eras.n < n_eras);
	uint64_t left = fixed + kept__get(b.store).blocks.bytes + bytes_of_eras(&b);
	assert_true(left <= b.store->options.max_bytes);
	assert_true(left + (all - fixed) / 4 > b.store->options.max_bytes);
	assert_int_equal(b.store->n_expired, 0);
	end(&b);
}

/* Segments that only a backup keeps take no block's room. */
static void test_a_backup_costs_no_block(void **state)
{
	enum { MORE = 4 };
	struct commit_moment moment = { .manifest = { .generation = 0 } };
	struct wal_stat log, held;
	struct bench b;
	(void)state;

	fill(&b);
	b.storage.real_ns = day_ns(DAYS + MORE);
	wal__stat(commit__wal(b.store->commit), &log);
	assert_int_equal(log.n_held, 0);
	assert_int_equal(commit__hold(b.store->commit, &moment, NULL), 0);
	for (int day = 0; day < MORE; day++)
		seal_day(&b, DAYS + day);
	wal__stat(commit__wal(b.store->commit), &held);
	assert_int_equal(held.n_files, log.n_files + MORE);
	assert_int_equal(held.n_held, MORE);
	b.store->options.max_bytes = log.n_files * b.options.segment_bytes +
				     kept__get(b.store).blocks.bytes + bytes_of_eras(&b);
	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	assert_int_equal(b.store->blocks.n, DAYS + MORE);
	assert_int_equal(b.store->rows_evicted, 0);
	commit__release(b.store->commit, &moment);
	seal_day(&b, DAYS + MORE);
	wal__stat(commit__wal(b.store->commit), &held);
	assert_true(held.n_files == log.n_files && held.n_held == 0);
	end(&b);
}

static uint64_t bytes_of_blocks(const struct bench *b, size_t from, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = from; i < from + n; i++)
		sum += b->store->blocks.v[i]->entry.bytes;
	return sum;
}

/* An almost full disk: the oldest blocks go for what lacks, and for no more. */
static void test_blocks_go_for_room(void **state)
{
	enum { LACKING = 3, SPARED = 5 };
	struct commit_moment moment = { .manifest = { .generation = 0 } };
	struct bench b;
	(void)state;

	fill(&b);
	const uint64_t spared = bytes_of_blocks(&b, DAYS - SPARED, SPARED);
	const uint64_t lacking = bytes_of_blocks(&b, 0, LACKING);
	const int64_t first_ms = b.store->blocks.v[LACKING]->entry.first_ms;

	assert_true(lacking < spared);
	sim__set_room(b.sim, EXPIRE_ROOM_PART * spared, spared); /* enough */
	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	assert_int_equal(b.store->blocks.n, DAYS);

	/* What a backup under way keeps becomes free after it, or not at all when it is done. */
	sim__set_room(b.sim, EXPIRE_ROOM_PART * spared, spared - lacking);
	assert_int_equal(commit__hold(b.store->commit, &moment, NULL), 0);
	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	commit__release(b.store->commit, &moment);
	assert_int_equal(b.store->blocks.n, DAYS);
	char path[BLOCK_PATH_BYTES];
	commit__block_path(path, b.store->blocks.v[0]->entry.number);
	assert_int_equal(vfs__link(sim__vfs(b.sim), path, "copy"), 0);
	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	assert_int_equal(b.store->blocks.n, DAYS);
	assert_int_equal(vfs__unlink(sim__vfs(b.sim), "copy"), 0);

	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	assert_int_equal(b.store->blocks.n, DAYS - LACKING);
	assert_int_equal(b.store->blocks.v[0]->entry.first_ms, first_ms);
	assert_int_equal(b.store->rows_evicted, LACKING * N_TYPES);

	/* Somebody has the removed files open: it is waited for what they keep. */
	b.storage.mono_ns += EXPIRE_ROOM_COMES_NS - 1;
	assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	assert_int_equal(b.store->blocks.n, DAYS - LACKING);

	/* Others fill it: what is small stays. */
	sim__set_room(b.sim, EXPIRE_ROOM_PART * spared, 0);
	for (int i = 0; i < DAYS; i++) {
		b.storage.mono_ns += EXPIRE_ROOM_COMES_NS;
		assert_int_equal(expire__now(b.store, NULL, NULL), 0);
	}
	assert_int_equal(b.store->blocks.n, SPARED);
	end(&b);
}

/*
 * A machine that is on for nine hours of five days a week and off for the rest keeps no more than
 * what is asked for, though no run of it is long enough to come from the oldest profile to now.
 */
static void test_a_machine_that_is_often_off(void **state)
{
	enum { WEEKS = 4, KEPT = 10, HOURS = 9 };
	const int64_t hour_ns = INT64_C(3600) * 1000000000;
	struct bench b;
	(void)state;

	bench__prepare(&b, 1, SIM_PREFIX);
	for (int day = 0; day < 7 * WEEKS; day++) {
		if (day % 7 > 4)
			continue;
		b.storage.real_ns = day_ns(day);
		bench__open(&b);
		b.store->options.retention_ms = KEPT * DAY_NS / 1000000;
		seal_day(&b, day);
		for (int minute = 0; minute < HOURS * 60; minute += 10) {
			b.storage.real_ns += hour_ns / 6;
			b.storage.mono_ns += hour_ns / 6;
			assert_int_equal(expire__now(b.store, NULL, NULL), 0);
		}
		assert_true(b.store->blocks.v[0]->entry.first_ms >= day_ns(day - KEPT - 1) / 1000000);
		store__close(b.store);
		b.store = NULL;
		sim__restart(b.sim, true);
		b.storage.mono_ns = 1; /* of the next boot */
	}
	bench__open(&b);
	assert_true(b.store->blocks.n >= 5);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types_are_kept_for_different_times),
		cmocka_unit_test(test_types_have_bytes_of_their_own),
		cmocka_unit_test(test_a_damaged_block_whose_types_are_known),
		cmocka_unit_test(test_one_block_a_call),
		cmocka_unit_test(test_a_machine_that_is_often_off),
		cmocka_unit_test(test_late_ones_of_a_type_that_is_kept),
		cmocka_unit_test(test_bytes_are_those_of_everything),
		cmocka_unit_test(test_blocks_go_for_room),
		cmocka_unit_test(test_a_backup_costs_no_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
