/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_tend.c - rounds of the local store's upkeep, on a disk that has room or has
 * none
 */
#include <string.h>

#include "core/batch/batch.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/tend.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/contract/storage_host.h"
#include "tests/storage/sim_disk.h"
#include "tests/storage/store_content.h"
#include "tests/unit/random_batch.h"
#include "tests/unit/unit.h"

#define SECOND_NS INT64_C(1000000000)
#define HOUR_NS	  (3600 * SECOND_NS)
enum { TURN = 60 /* rounds, in which every job has had one */ };

struct bench {
	struct storage storage; /* for its host */
	struct sim *sim;
	struct store *store;
	struct tend tend;
	struct content told; /* all batches that were acknowledged */
	uint64_t next_sequence;
};

static void bench__init(struct bench *b)
{
	struct commit_found found;
	const struct store_options o = {
		.seal_ms = 1000,
		.head_max_bytes = 64 << 20,
		.segment_bytes = 1 << 20,
		.align = 512,
	};

	*b = (struct bench){ .sim = sim__new(1, SIM_PREFIX) };
	assert_non_null(b->sim);
	storage__host(&b->storage);
	b->storage.real_ns = RANDOM_BASE_NS + 100 * HOUR_NS;
	b->storage.mono_ns = SECOND_NS;
	assert_int_equal(store__open(&b->storage.host, sim__vfs(b->sim), &o, &found, &b->store, NULL), 0);
	b->tend.store = b->store;
}

static void bench__fini(struct bench *b)
{
	store__close(b->store);
	assert_int_equal(sim__n_open(b->sim), 0);
	sim__free(b->sim);
	content__fini(&b->told);
}

/* Returns whether the disk took it. */
static bool write_at(struct bench *b, uint64_t seed, int64_t base_ns)
{
	struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 }, b->next_sequence++,
						   seed, RANDOM_ONE_PROFILE, base_ns);

	assert_non_null(batch);
	int r = store__write(b->store, &batch, 1, NULL, NULL, NULL);
	if (r == 0)
		content__add_batch(&b->told, batch);
	batch__unref(batch);
	return r == 0;
}

/* So many rounds; returns how often the state changed. */
static unsigned rounds(struct bench *b, unsigned n)
{
	unsigned n_changes = 0;

	for (unsigned i = 0; i < n; i++) {
		b->storage.mono_ns += SECOND_NS;
		n_changes += tend__round(&b->tend);
	}
	return n_changes;
}

static void compare(struct bench *b)
{
	content__compare_store(&b->told, b->store);
}

static size_t n_looked_at(struct bench *b)
{
	static const struct dcm_select all = { .size = sizeof(all), .from_ms = INT64_MIN, .to_ms = INT64_MAX };
	struct view v;

	view__init(&v, b->store->host, &all, 1);
	assert_int_equal(look__take(&v, b->store), 0);
	size_t n = v.pieces.n;
	view__fini(&v);
	return n;
}

/* Without work it rests, and what comes round once a minute still does. */
static void test_rests_without_work(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b);
	b.store->options.seal_ms = 3600000;
	assert_true(tend__rest_ns(&b.tend) == SECOND_NS);
	rounds(&b, TURN);
	const int64_t rest_ns = tend__rest_ns(&b.tend);
	assert_true(rest_ns > SECOND_NS);
	/* A head is sealed as soon as its age asks for it. */
	b.store->options.seal_ms = 3000;
	assert_true(tend__rest_ns(&b.tend) == 3 * SECOND_NS);
	b.store->options.seal_ms = 1;
	assert_true(tend__rest_ns(&b.tend) == SECOND_NS);
	b.store->options.seal_ms = 3600000;
	assert_true(tend__rest_ns(&b.tend) == rest_ns);
	/* Work for its turn, which is a minute of rests away. */
	for (int seal = 0; seal < 3; seal++) {
		for (int hour = 0; hour < 24; hour++)
			write_at(&b, (uint64_t)hour, RANDOM_BASE_NS - (24 + hour) * HOUR_NS);
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
	}
	for (int64_t passed = rest_ns; passed < TURN * SECOND_NS; passed += rest_ns) {
		b.storage.mono_ns += rest_ns;
		assert_false(tend__round(&b.tend));
		assert_true(tend__rest_ns(&b.tend) == rest_ns);
	}
	b.storage.mono_ns += rest_ns;
	assert_false(tend__round(&b.tend));
	assert_true(b.store->blocks.n <= 2);
	assert_true(tend__rest_ns(&b.tend) == rest_ns);
	compare(&b);
	bench__fini(&b);
}

/* A day in blocks of two hours is one block soon, and not a compaction a minute later. */
static void test_compaction_goes_on_while_there_is_work(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b);
	for (int seal = 0; seal < 3; seal++) {
		for (int hour = 0; hour < 24; hour++)
			write_at(&b, (uint64_t)hour, RANDOM_BASE_NS - (24 + hour) * HOUR_NS);
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
	}
	assert_true(b.store->blocks.n >= 36);
	assert_int_equal(rounds(&b, TURN), 0);
	assert_true(b.store->blocks.n <= 2); /* the hours of a day before may be of two days */
	assert_string_equal(tend__trouble(&b.tend), "");
	compare(&b);
	bench__fini(&b);
}

/* A store with retention, so many blocks and one batch more. */
static void begin(struct bench *b, uint64_t n_blocks)
{
	bench__init(b);
	b->store->options.retention_ms = 30 * 24 * 3600 * INT64_C(1000);
	for (uint64_t seed = 1; seed <= n_blocks; seed++) {
		assert_true(write_at(b, seed, RANDOM_BASE_NS));
		assert_int_equal(rounds(b, 2), 0);
	}
	assert_true(write_at(b, n_blocks + 1, RANDOM_BASE_NS));
}

/*
 * On a full disk the state changes once, and once when there is room again; questions are answered
 * all the while.
 */
static void test_a_full_disk(void **state)
{
	struct bench b;
	(void)state;

	begin(&b, 1);
	assert_int_equal(b.store->blocks.n, 1);
	const size_t n = n_looked_at(&b);
	sim__fail(b.sim, 1, FAULT_ENOSPC, true);
	assert_int_equal(rounds(&b, 3 * TURN), 1);
	assert_non_null(strstr(tend__trouble(&b.tend), "No space left"));
	assert_int_equal(n_looked_at(&b), n);
	sim__fail(b.sim, 0, FAULT_NONE, false);
	assert_int_equal(rounds(&b, 1), 1);
	assert_string_equal(tend__trouble(&b.tend), "");
	assert_int_equal(rounds(&b, 3 * TURN), 0);
	assert_int_equal(b.store->active.n + b.store->sealing.n, 0);
	assert_true(write_at(&b, 3, RANDOM_BASE_NS));
	compare(&b);
	bench__fini(&b);
}

/*
 * What fails in one job's turn is told until that job succeeds, whatever the others do in between.
 */
static void test_the_state_does_not_flicker(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b);
	for (int seal = 0; seal < 2; seal++) {
		assert_true(write_at(&b, 1, RANDOM_BASE_NS));
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
	}
	assert_true(n_looked_at(&b) > 0); /* the blocks are mapped */
	/* Only compaction has something to do, and the disk is full whenever it has its turn. */
	unsigned n_changes = 0;
	for (int i = 0; i < 4; i++) {
		b.tend.seconds = TURN - 1;
		sim__fail(b.sim, 1, FAULT_ENOSPC, true);
		n_changes += rounds(&b, 1);
		sim__fail(b.sim, 0, FAULT_NONE, false);
		n_changes += rounds(&b, TURN - 2);
	}
	assert_int_equal(n_changes, 1);
	assert_non_null(strstr(tend__trouble(&b.tend), "No space left"));
	assert_int_equal(rounds(&b, TURN), 1);
	assert_string_equal(tend__trouble(&b.tend), "");
	assert_int_equal(b.store->blocks.n, 1);
	compare(&b);
	bench__fini(&b);
}

static void count(void *ctx, int status)
{
	*(unsigned *)ctx += status == 0;
}

/* One profile more that is acknowledged sooner or later; true: at once. */
static bool is_acknowledged_at_once(struct bench *b, unsigned *n_acknowledged)
{
	struct dcm_batch *batch = random_batch__of((struct dcm_hash){ 1, 5 }, b->next_sequence++, 7,
						   RANDOM_ONE_PROFILE, RANDOM_BASE_NS);
	const unsigned before = *n_acknowledged;

	assert_non_null(batch);
	assert_int_equal(store__write(b->store, &batch, 1, count, n_acknowledged, NULL), 0);
	content__add_batch(&b->told, batch);
	batch__unref(batch);
	return *n_acknowledged > before;
}

static void power_cut(struct bench *b)
{
	struct commit_found found;
	const struct store_options o = b->store->options;

	store__close(b->store);
	sim__restart(b->sim, true);
	assert_int_equal(store__open(&b->storage.host, sim__vfs(b->sim), &o, &found, &b->store, NULL), 0);
	b->tend = (struct tend){ .store = b->store };
}

/*
 * A directory that is renamed away is missed, is made anew by nobody, and once it is back all goes
 * on. What its log cannot have is not acknowledged before.
 */
static void go_away(const char *dir, const char *trouble, bool has_log)
{
	unsigned n_acknowledged = 0;
	struct bench b;

	begin(&b, 3);
	sim__take_away(b.sim, dir);
	assert_int_equal(rounds(&b, 1), 1);
	assert_string_equal(tend__trouble(&b.tend), trouble);
	assert_true(is_acknowledged_at_once(&b, &n_acknowledged) == has_log);
	assert_int_equal(rounds(&b, 3 * TURN), 0);
	assert_int_equal(n_acknowledged, has_log);
	b.tend.meanwhile = NULL;
	sim__take_away(b.sim, "");
	assert_int_equal(rounds(&b, 1), 1);
	assert_string_equal(tend__trouble(&b.tend), "");
	assert_int_equal(n_acknowledged, 1);
	compare(&b);
	power_cut(&b);
	compare(&b);
	assert_int_equal(rounds(&b, TURN), 0);
	compare(&b);
	bench__fini(&b);
}

static void test_a_directory_goes_away(void **state)
{
	(void)state;
	go_away("wal", "wal/ has gone; bring it back, or restart", false);
	go_away("blocks", "blocks/ has gone; bring it back, or restart", true);
	go_away("eras", "eras/ has gone; bring it back, or restart", true);
}

/* What can only be read answers all the same, and takes data as soon as it can. */
static void test_a_read_only_disk(void **state)
{
	unsigned n_acknowledged = 0;
	struct bench b;
	(void)state;

	begin(&b, 1);
	const size_t n = n_looked_at(&b);
	sim__set_read_only(b.sim, true);
	assert_false(is_acknowledged_at_once(&b, &n_acknowledged));
	assert_int_equal(rounds(&b, 3 * TURN), 1);
	assert_non_null(strstr(tend__trouble(&b.tend), "Read-only file system"));
	assert_true(n_looked_at(&b) > n);
	assert_int_equal(n_acknowledged, 0);
	sim__set_read_only(b.sim, false);
	assert_int_equal(rounds(&b, 1), 1);
	assert_string_equal(tend__trouble(&b.tend), "");
	assert_int_equal(n_acknowledged, 1);
	compare(&b);
	power_cut(&b);
	compare(&b);
	bench__fini(&b);
}

struct within {
	struct bench *b;
	unsigned n_rounds, n_blocks;
};

/* Time passes with each look at the clock. */
static int64_t tick(const struct dcm_host *host)
{
	struct storage *s = (struct storage *)(uintptr_t)host;

	return atomic_fetch_add(&s->mono_ns, SECOND_NS / 10) + SECOND_NS / 10;
}

/* A tend.meanwhile: what was written is in blocks, and more comes. */
static void note_round(void *ctx, bool changed)
{
	struct within *w = ctx;

	assert_false(changed);
	if (w->n_rounds++ == 0)
		assert_true(write_at(w->b, 1000, RANDOM_BASE_NS));
	else
		w->n_blocks += w->b->store->active.n == 0;
}

/* Heads are sealed while blocks are written anew: else writes would be refused for minutes. */
static void test_seals_in_the_middle_of_a_block(void **state)
{
	struct bench b;
	struct within w = { .b = &b };
	(void)state;

	bench__init(&b);
	for (unsigned i = 0; i < 20; i++) {
		assert_true(write_at(&b, i, RANDOM_BASE_NS));
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
	}
	b.tend.meanwhile = note_round;
	b.tend.ctx = &w;
	b.storage.host.mono_ns = tick;
	tend__round(&b.tend);
	assert_true(w.n_rounds > 1);
	assert_true(w.n_blocks > 0);
	assert_string_equal(tend__trouble(&b.tend), "");
	compare(&b);
	bench__fini(&b);
}

static void take_log_away(void *ctx, bool changed)
{
	struct bench *b = ctx;

	assert_false(changed && b->store->blocks.n == 0);
	sim__take_away(b->sim, "wal");
}

/* Where the disk refuses, nobody goes on with a block, which takes of its room. */
static void test_a_block_is_given_up_when_the_disk_refuses(void **state)
{
	struct bench b;
	(void)state;

	bench__init(&b);
	for (unsigned i = 0; i < 20; i++) {
		assert_true(write_at(&b, i, RANDOM_BASE_NS));
		assert_int_equal(upkeep__seal(b.store, NULL), 0);
	}
	const size_t n_blocks = b.store->blocks.n;
	b.tend.meanwhile = take_log_away;
	b.tend.ctx = &b;
	b.storage.host.mono_ns = tick;
	tend__round(&b.tend);
	assert_non_null(strstr(tend__trouble(&b.tend), "wal/ has gone"));
	assert_int_equal(b.store->blocks.n, n_blocks);
	assert_int_equal(sim__n_names(b.sim, "blocks"), n_blocks);
	b.tend.meanwhile = NULL;
	sim__take_away(b.sim, "");
	for (unsigned i = 0; i < 4; i++)
		tend__round(&b.tend);
	assert_string_equal(tend__trouble(&b.tend), "");
	assert_true(b.store->blocks.n < n_blocks);
	compare(&b);
	bench__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rests_without_work),
		cmocka_unit_test(test_compaction_goes_on_while_there_is_work),
		cmocka_unit_test(test_a_full_disk),
		cmocka_unit_test(test_the_state_does_not_flicker),
		cmocka_unit_test(test_a_directory_goes_away),
		cmocka_unit_test(test_a_read_only_disk),
		cmocka_unit_test(test_seals_in_the_middle_of_a_block),
		cmocka_unit_test(test_a_block_is_given_up_when_the_disk_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
