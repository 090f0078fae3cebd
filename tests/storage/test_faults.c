/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_faults.c - every call to the disk fails once, and for good; so does every
 * allocation
 *
 * The same script runs again and again on a fresh simulated disk; in the n-th run the n-th call
 * fails, until a run has no n-th call. What was acknowledged is there: at once, after the fault has
 * gone, and after a power cut. When the fault has gone the store takes data again by itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/storage/ledger.h"
#include "tests/storage/sim_disk.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/unit.h"

static const struct subject_setup setup = { .segment_bytes = 4096, .align = 512 };

struct bench {
	struct sim *sim;
	struct ledger ledger;
	void *store;
	unsigned complaints;
};

static void bench_init(struct bench *b, uint64_t seed, enum sim_model model)
{
	*b = (struct bench){ .sim = sim__new(seed, model), .ledger = { .subject = &tiny_subject } };
	assert_non_null(b->sim);
}

static int start(struct bench *b)
{
	b->complaints = 0;
	return tiny_subject.open(sim__vfs(b->sim), &setup, &b->store, &b->complaints);
}

static void stop(struct bench *b, bool power_cut)
{
	tiny_subject.close(b->store);
	b->store = NULL;
	assert_int_equal(sim__n_open(b->sim), 0);
	sim__restart(b->sim, power_cut);
}

static void look(struct bench *b, bool settled)
{
	if (!ledger__look(&b->ledger, b->store, settled))
		fail_msg("%s", b->ledger.fault);
}

/* Everything that a store does. Returns how many steps failed. */
static unsigned script(struct bench *b)
{
	unsigned n = 0;

	for (int i = 0; i < 3; i++) {
		n += ledger__write(&b->ledger, b->store, 3) != 0;
		n += ledger__write(&b->ledger, b->store, 1) != 0;
		n += tiny_subject.seal(b->store) != 0;
	}
	n += ledger__write(&b->ledger, b->store, 2) != 0;
	n += tiny_subject.compact(b->store) < 0;
	n += ledger__write(&b->ledger, b->store, 2) != 0;
	n += tiny_subject.seal(b->store) != 0;
	n += ledger__retain(&b->ledger, b->store) != 0;
	n += ledger__write(&b->ledger, b->store, 2) != 0;
	return n;
}

/* A power cut, a start, and nothing is missing. */
static void survives_a_power_cut(struct bench *b)
{
	stop(b, true);
	assert_int_equal(start(b), 0);
	assert_int_equal(b->complaints, 0);
	look(b, true);
}

/* The fault has gone: the store takes data again by itself, and has what it promised. */
static void recovers(struct bench *b)
{
	if (!b->store)
		assert_int_equal(start(b), 0);
	look(b, false);
	assert_int_equal(tiny_subject.probe(b->store), 0);
	assert_int_equal(ledger__write(&b->ledger, b->store, 1), 0);
	assert_int_equal(tiny_subject.seal(b->store), 0);
	look(b, false);
	survives_a_power_cut(b);
	assert_int_equal(script(b), 0);
	look(b, false);
	survives_a_power_cut(b);
	stop(b, false);
	sim__free(b->sim);
}

/* One run with the n-th call failing; false when there is no n-th. */
static bool run(uint64_t n, enum sim_fault fault, bool persistent, enum sim_model model)
{
	struct bench b;
	int rc;

	bench_init(&b, n, model);
	sim__fail(b.sim, n, fault, persistent);
	rc = start(&b);
	if (rc == 0)
		script(&b);
	else
		assert_true(sim__failed(b.sim));
	bool failed = sim__failed(b.sim);
	if (!failed)
		assert_int_equal(rc, 0);
	sim__fail(b.sim, 0, FAULT_NONE, false);
	recovers(&b);
	return failed;
}

static void sweep(enum sim_fault fault)
{
	for (int i = 0; i < 4; i++) {
		enum sim_model model = i & 1 ? SIM_SUBSET : SIM_PREFIX;
		uint64_t n = 1;

		while (run(n, fault, i & 2, model))
			n++;
		assert_true(n > 100); /* the script makes that many calls, whatever fails */
	}
}

static void test_eio(void **state)
{
	(void)state;
	sweep(FAULT_EIO);
}

static void test_enospc(void **state)
{
	(void)state;
	sweep(FAULT_ENOSPC);
}

static void test_erofs(void **state)
{
	(void)state;
	sweep(FAULT_EROFS);
}

static void test_eintr(void **state)
{
	(void)state;
	sweep(FAULT_EINTR);
}

static void test_short(void **state)
{
	(void)state;
	sweep(FAULT_SHORT);
}

/* Short counts and single interruptions are nobody's business. */
static void test_short_is_unseen(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b, 1, SIM_SUBSET);
	sim__fail(b.sim, 1, FAULT_SHORT, true);
	assert_int_equal(start(&b), 0);
	assert_int_equal(script(&b), 0);
	assert_true(sim__failed(b.sim));
	recovers(&b);
}

/* The directory goes away under the store, and comes back. */
static void test_vanished(void **state)
{
	struct bench b;

	(void)state;
	bench_init(&b, 1, SIM_PREFIX);
	assert_int_equal(start(&b), 0);
	assert_int_equal(script(&b), 0);
	sim__vanish(b.sim, true);
	assert_int_equal(ledger__write(&b.ledger, b.store, 1), -ENOENT);
	assert_int_equal(ledger__write(&b.ledger, b.store, 1), -ENOENT);
	assert_int_equal(tiny_subject.probe(b.store), -ENOENT);
	assert_true(tiny_subject.seal(b.store) != 0);
	look(&b, false);
	sim__vanish(b.sim, false);
	recovers(&b);
}

static void test_no_memory_at_start(void **state)
{
	bool failed = true;

	(void)state;
	for (uint64_t i = 1; failed; i++) {
		struct bench b;
		int rc;

		bench_init(&b, i, SIM_SUBSET);
		assert_int_equal(start(&b), 0);
		script(&b);
		stop(&b, true);
		failmalloc__arm(i);
		rc = start(&b);
		failed = failmalloc__disarm();
		if (rc)
			assert_int_equal(rc, -ENOMEM);
		recovers(&b);
		assert_true(i < FAILMALLOC_SWEEP_MAX);
	}
}

static void no_memory(void (*arm)(uint64_t n))
{
	bool failed = true;

	for (uint64_t i = 1; failed; i++) {
		struct bench b;

		bench_init(&b, i, SIM_SUBSET);
		assert_int_equal(start(&b), 0);
		arm(i);
		script(&b);
		failed = failmalloc__disarm();
		recovers(&b);
		assert_true(i < FAILMALLOC_SWEEP_MAX);
	}
}

static void test_no_memory(void **state)
{
	(void)state;
	no_memory(failmalloc__arm);
}

static void test_no_memory_once(void **state)
{
	(void)state;
	no_memory(failmalloc__arm_once);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eio),	  cmocka_unit_test(test_enospc),
		cmocka_unit_test(test_erofs),	  cmocka_unit_test(test_eintr),
		cmocka_unit_test(test_short),	  cmocka_unit_test(test_short_is_unseen),
		cmocka_unit_test(test_vanished),  cmocka_unit_test(test_no_memory_at_start),
		cmocka_unit_test(test_no_memory), cmocka_unit_test(test_no_memory_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
