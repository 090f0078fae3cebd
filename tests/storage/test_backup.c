/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_backup.c - a store is copied while the disk fails, or the power goes
 *
 * Always the same store on a simulated disk, with blocks, a log beyond them, and something removed
 * in both. The copy is a directory of the same disk: sim__enter() makes it the disk. A copy that
 * was promised has what the store had when it began, whatever comes after it; one that was not
 * promised is not there, or is nobody's store, or is whole; and the store has all that it had.
 *
 * One thread: not run under TSan.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "plugins/storage/local/manifest.h"
#include "tests/storage/ledger.h"
#include "tests/storage/sim_disk.h"
#include "tests/storage/store_subject.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

#define COPY "copy"
enum { CALLS_MAX = 2000 };

static const struct subject_setup setup = { .segment_bytes = 8192, .align = 512 };

struct bench {
	struct sim *sim;
	struct ledger ledger;
	void *store;
};

static void start(struct bench *b)
{
	unsigned complaints = 0;

	assert_int_equal(store_subject.open(sim__vfs(b->sim), &setup, &b->store, &complaints), 0);
	assert_int_equal(complaints, 0);
}

static void stop(struct bench *b, bool power_cut)
{
	store_subject.close(b->store);
	b->store = NULL;
	assert_int_equal(sim__n_open(b->sim), 0);
	sim__restart(b->sim, power_cut);
}

static void look(struct bench *b, bool settled)
{
	if (!ledger__look(&b->ledger, b->store, settled))
		fail_msg("%s", b->ledger.fault);
}

static void write_some(struct bench *b)
{
	for (int i = 0; i < 4; i++)
		assert_int_equal(ledger__write(&b->ledger, b->store, 4), 0);
}

static void bench_init(struct bench *b, uint64_t seed)
{
	*b = (struct bench){ .sim = sim__new(seed, seed & 1 ? SIM_SUBSET : SIM_PREFIX),
			     .ledger = { .subject = &store_subject } };
	assert_non_null(b->sim);
	start(b);
	for (int i = 0; i < 2; i++) {
		write_some(b);
		assert_int_equal(store_subject.seal(b->store), 0);
	}
	write_some(b);
	assert_int_equal(ledger__remove(&b->ledger, b->store, 3), 0);
	write_some(b);
}

static void bench_fini(struct bench *b)
{
	stop(b, false);
	sim__free(b->sim);
}

/* The store does everything again, and keeps what it was told. */
static void goes_on(struct bench *b)
{
	look(b, false);
	write_some(b);
	assert_int_equal(store_subject.seal(b->store), 0);
	assert_true(store_subject.compact(b->store) >= 0);
	look(b, false);
	stop(b, true);
	start(b);
	look(b, true);
}

/*
 * The copy is the disk now, and has what the ledger says; each batch that it was sent before is a
 * late one.
 */
static void copy_is_whole(struct bench *b, const struct ledger *then)
{
	b->ledger = *then;
	start(b);
	look(b, true);
	for (uint64_t id = 0; id < b->ledger.next_id; id++)
		assert_int_equal(store_subject.write(b->store, id, 1), 0);
	look(b, false);
	goes_on(b);
}

static bool has_manifest(struct sim *s)
{
	struct manifest m = { .generation = 0 };
	bool damaged;
	int r = manifest__read(&m, sim__vfs(s), &damaged, NULL);

	manifest__fini(&m);
	assert_true(r == 0 || r == -ENOENT || r == -EUCLEAN);
	return r == 0;
}

static void test_the_power_goes_after_it(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct bench b;

		bench_init(&b, seed);
		assert_int_equal(store_subject.backup(b.store, COPY), 0);
		const struct ledger then = b.ledger;
		if (seed & 2)
			goes_on(&b);
		stop(&b, true);
		sim__enter(b.sim, COPY);
		copy_is_whole(&b, &then);
		bench_fini(&b);
	}
}

/* The power goes at the n-th call. False when there is no n-th. */
static bool cut_at(uint64_t n, bool in_store)
{
	struct bench b;

	bench_init(&b, n);
	const struct ledger then = b.ledger;
	sim__cut_at(b.sim, n);
	int r = store_subject.backup(b.store, COPY);
	bool cut = sim__is_cut(b.sim);
	assert_int_equal(r != 0, cut);
	stop(&b, true);
	if (in_store) {
		start(&b);
		look(&b, true);
		goes_on(&b);
	} else {
		sim__enter(b.sim, COPY);
		if (has_manifest(b.sim))
			copy_is_whole(&b, &then);
		else
			assert_true(cut);
	}
	if (b.store)
		stop(&b, false);
	sim__free(b.sim);
	return cut;
}

static void test_the_power_goes_within_it(void **state)
{
	(void)state;
	for (int in_store = 0; in_store < 2; in_store++) {
		uint64_t n = 1;

		while (cut_at(n, in_store))
			n++;
		assert_true(n > 30 && n < CALLS_MAX);
	}
}

static int find_copy(void *ctx, const char *name)
{
	*(bool *)ctx |= strcmp(name, COPY) == 0;
	return 0;
}

/* The n-th call fails, and no other or all that follow. False when there is no n-th. */
static bool fail_at(uint64_t n, enum sim_fault fault, bool persistent)
{
	bool there = false;
	struct bench b;

	bench_init(&b, n);
	const struct ledger then = b.ledger;
	sim__fail(b.sim, n, fault, persistent);
	int r = store_subject.backup(b.store, COPY);
	bool failed = sim__failed(b.sim);
	assert_true(failed || r == 0);
	sim__fail(b.sim, 0, FAULT_NONE, false);
	assert_int_equal(vfs__list(sim__vfs(b.sim), ".", find_copy, &there), 0);
	if (r == 0 || !persistent)
		assert_int_equal(there, r == 0);
	goes_on(&b);
	if (r == 0) {
		stop(&b, true);
		sim__enter(b.sim, COPY);
		copy_is_whole(&b, &then);
	}
	bench_fini(&b);
	return failed;
}

static void test_calls_fail(void **state)
{
	static const enum sim_fault faults[] = { FAULT_EIO, FAULT_ENOSPC, FAULT_EINTR, FAULT_SHORT };

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(faults) / sizeof(faults[0]); i++) {
		uint64_t n = 1;

		while (fail_at(n, faults[i / 2], i % 2))
			n++;
		assert_true(n > 30 && n < CALLS_MAX);
	}
}

/*
 * The disk refuses from the n-th call on while the store works, and takes everything again when it
 * is copied: what then waits for the log was promised to nobody, and what a block has instead of
 * the log was. False when there is no n-th.
 */
static bool after_trouble(uint64_t n)
{
	struct bench b;

	bench_init(&b, n);
	sim__fail(b.sim, n, n & 2 ? FAULT_ENOSPC : FAULT_EIO, true);
	ledger__write(&b.ledger, b.store, 3);
	ledger__write(&b.ledger, b.store, 3);
	bool failed = sim__failed(b.sim);
	sim__fail(b.sim, 0, FAULT_NONE, false);
	for (int seals = 0; seals < 2; seals++) {
		assert_int_equal(store_subject.backup(b.store, seals ? COPY : "first"), 0);
		store_subject.seal(b.store);
		ledger__write(&b.ledger, b.store, 2);
	}
	const struct ledger then = b.ledger;
	assert_int_equal(store_subject.backup(b.store, "last"), 0);
	stop(&b, true);
	sim__enter(b.sim, "last");
	b.ledger = then;
	start(&b);
	look(&b, true);
	bench_fini(&b);
	return failed;
}

static void test_after_trouble(void **state)
{
	uint64_t n = 1;

	(void)state;
	while (after_trouble(n))
		n++;
	assert_true(n > 5);
}

static void test_without_memory(void **state)
{
	bool failed = true;

	(void)state;
	for (uint64_t i = 1; failed; i++) {
		struct bench b;

		bench_init(&b, i);
		const struct ledger then = b.ledger;
		failmalloc__arm(i);
		int r = store_subject.backup(b.store, COPY);
		failed = failmalloc__disarm();
		assert_true(r == 0 || (failed && r == -ENOMEM));
		goes_on(&b);
		stop(&b, true);
		sim__enter(b.sim, COPY);
		assert_int_equal(has_manifest(b.sim), r == 0);
		if (r == 0)
			copy_is_whole(&b, &then);
		if (b.store)
			stop(&b, false);
		sim__free(b.sim);
		assert_true(i < FAILMALLOC_SWEEP_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_power_goes_after_it),
		cmocka_unit_test(test_the_power_goes_within_it),
		cmocka_unit_test(test_calls_fail),
		cmocka_unit_test(test_after_trouble),
		cmocka_unit_test(test_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
