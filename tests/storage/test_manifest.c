/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_manifest.c - the list of what counts: its bytes, its two copies, and what is
 * refused
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/le.h"
#include "plugins/storage/local/manifest.h"
#include "tests/storage/sim_disk.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* A manifest with everything in it. 0 or -ENOMEM. */
static int make(struct manifest *m, uint64_t seed, unsigned n_blocks)
{
	struct random r = { seed };
	int rc = 0;

	m->store_lo = random__next(&r);
	m->store_hi = random__next(&r);
	m->generation = 5;
	m->sealed_lsn = 77;
	m->next_block = 1000;
	m->log_lsn = seed % 2 ? 80 + seed : 0;
	for (unsigned i = 0; !rc && i < n_blocks; i++) {
		struct manifest_block b = {
			.number = 1 + random__below(&r, 999),
			.bytes = random__wide(&r) >> 1,
			.check = random__next(&r),
			.first_ms = -5,
			.last_ms = (int64_t)(random__wide(&r) >> 1),
			.n_rows = random__wide(&r),
			.n_profiles = random__wide(&r),
			.n_chunks = random__wide(&r),
			.era = (uint32_t)random__wide(&r),
			.flags = (uint32_t)random__wide(&r),
			.level = (uint8_t)random__wide(&r),
			.last_lsn = random__wide(&r),
		};
		memset(b.id, (int)i + 1, sizeof(b.id));
		rc = manifest__add_block(m, &b);
		if (rc == -EEXIST)
			rc = 0;
	}
	for (uint32_t i = 0; !rc && i < 3; i++)
		rc = vec__push(&m->eras,
			       (struct manifest_era){ i * 2, i, (int64_t)i - 1, random__wide(&r) })
			     ? 0
			     : -ENOMEM;
	if (!rc)
		rc = manifest__set_extra(m, 9, "nine bytes", 9);
	if (!rc)
		rc = manifest__set_extra(m, 3, "three", 5);
	return rc;
}

static struct buf encoded(const struct manifest *m)
{
	struct buf b = { .n = 0 };

	manifest__encode(m, &b);
	assert_int_equal(b.error, 0);
	return b;
}

static void same(const struct manifest *a, const struct manifest *b)
{
	struct buf x = encoded(a), y = encoded(b);

	assert_int_equal(x.n, y.n);
	assert_memory_equal(x.data, y.data, x.n);
	buf__fini(&x);
	buf__fini(&y);
}

static void test_round_trip(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 200; n = n * 2 + 1) {
		struct manifest m = { .generation = 0 }, back = { .generation = 0 };
		bool damaged = true;

		assert_int_equal(make(&m, n, n), 0);
		struct buf b = encoded(&m);
		assert_int_equal(b.n % 8192, 0);
		assert_int_equal(manifest__decode(&back, b.data, b.n, &damaged, NULL), 0);
		assert_false(damaged);
		same(&m, &back);
		assert_int_equal(back.blocks.n, m.blocks.n);
		for (size_t i = 0; i < m.blocks.n; i++) {
			assert_true(m.blocks.v[i].number == back.blocks.v[i].number);
			assert_memory_equal(m.blocks.v[i].id, back.blocks.v[i].id,
					    sizeof(m.blocks.v[i].id));
			assert_true(m.blocks.v[i].last_ms == back.blocks.v[i].last_ms);
			assert_int_equal(m.blocks.v[i].level, back.blocks.v[i].level);
			assert_true(m.blocks.v[i].last_lsn == back.blocks.v[i].last_lsn);
		}
		assert_memory_equal(m.eras.v, back.eras.v, 3 * sizeof(m.eras.v[0]));
		assert_int_equal(back.sealed_lsn, 77);
		assert_true(back.log_lsn == m.log_lsn && back.extras.n == 2);
		manifest__fini(&m);
		manifest__fini(&back);
		buf__fini(&b);
	}
}

/* The bytes that docs/FORMATS.md writes down. */
static void test_layout(void **state)
{
	struct manifest m = { .generation = 0 };

	(void)state;
	assert_int_equal(make(&m, 1, 1), 0);
	struct buf b = encoded(&m);
	const uint8_t *p = b.data, *block = p + 88, *era = block + 104, *extra = era + 3 * 24;

	assert_memory_equal(p, "DCMMANI\n", 8);
	assert_int_equal(le__get32(p + 8), 1);
	assert_int_equal(le__get32(p + 12), 0);
	assert_true(le__get64(p + 16) == 88 + 104 + 3 * 24 + 8 + 8 + 8 + 8 + 8 + 16);
	assert_true(le__get64(p + 24) == m.store_lo && le__get64(p + 32) == m.store_hi);
	assert_true(le__get64(p + 40) == 5 && le__get64(p + 48) == 77 && le__get64(p + 56) == 1000);
	assert_true(le__get32(p + 64) == 1 && le__get32(p + 68) == 3 && le__get32(p + 72) == 3);
	uint64_t n = le__get64(p + 16);
	assert_true(le__get64(p + 80) ==
		    hash__bytes(p + 88, n - 88, hash__bytes(p, 80, 0x646563696d616d66)));
	assert_true(le__get64(block) == m.blocks.v[0].number && block[8] == 1 && block[23] == 1);
	assert_true(le__get64(block + 24) == m.blocks.v[0].bytes && (int64_t)le__get64(block + 40) == -5);
	assert_true(le__get32(block + 80) == m.blocks.v[0].era && block[88] == m.blocks.v[0].level);
	assert_true(le__get64(block + 96) == m.blocks.v[0].last_lsn);
	assert_true(le__get32(era + 24) == 2 && (int64_t)le__get64(era + 8) == -1);
	assert_int_equal(le__get32(extra), 3);
	assert_int_equal(le__get32(extra + 4), 5);
	assert_memory_equal(extra + 8, "three\0\0\0", 8);
	assert_true(le__get32(extra + 16) == 5 && le__get32(extra + 20) == 8 &&
		    le__get64(extra + 24) == 81);
	assert_int_equal(le__get32(extra + 32), 9);
	assert_memory_equal(p, p + b.n / 2, b.n / 2);
	buf__fini(&b);
	manifest__fini(&m);
}

/*
 * Every byte of either copy: the other one serves. Both: refused. Every shorter length: refused or
 * whole.
 */
static void test_damage(void **state)
{
	struct manifest m = { .generation = 0 };
	size_t used;

	(void)state;
	assert_int_equal(make(&m, 2, 3), 0);
	struct buf b = encoded(&m);
	used = (size_t)le__get64(b.data + 16);
	for (size_t at = 0; at < b.n; at++) {
		struct manifest back = { .generation = 0 };
		bool damaged = false;

		b.data[at] ^= 0x10;
		assert_int_equal(manifest__decode(&back, b.data, b.n, &damaged, NULL), 0);
		assert_true(damaged);
		same(&m, &back);
		manifest__fini(&back);
		if (at < used) {
			b.data[at + b.n / 2] ^= 0x10;
			assert_int_equal(manifest__decode(&back, b.data, b.n, &damaged, NULL), -EUCLEAN);
			b.data[at + b.n / 2] ^= 0x10;
		}
		b.data[at] ^= 0x10;
	}
	for (size_t n = 0; n < b.n; n += 61) {
		struct manifest back = { .generation = 0 };
		bool damaged = false;

		assert_int_equal(manifest__decode(&back, b.data, n, &damaged, NULL), -EUCLEAN);
	}
	buf__fini(&b);
	manifest__fini(&m);
}

/* A copy whose sum is right and whose content is not: nobody but an enemy writes it. */
static void refused(struct buf *b, int code)
{
	struct manifest back = { .generation = 0 };
	bool damaged;

	for (int i = 0; i < 2; i++) {
		uint8_t *p = b->data + (size_t)i * b->n / 2;
		size_t n = (size_t)le__get64(p + 16);

		le__put64(p + 80, hash__bytes(p + 88, n - 88, hash__bytes(p, 80, 0x646563696d616d66)));
	}
	assert_int_equal(manifest__decode(&back, b->data, b->n, &damaged, NULL), code);
	buf__fini(b);
}

#define REFUSED(code, at, put, value)                                                              \
	do {                                                                                       \
		struct buf b_ = encoded(&m);                                                       \
		put(b_.data + (at), value);                                                        \
		put(b_.data + b_.n / 2 + (at), value);                                             \
		refused(&b_, code);                                                                \
	} while (0)

static void test_enemy(void **state)
{
	struct manifest m = { .generation = 0 };

	(void)state;
	assert_int_equal(make(&m, 3, 3), 0);
	REFUSED(-EPROTONOSUPPORT, 8, le__put32, 2);
	REFUSED(-EUCLEAN, 64, le__put32, UINT32_MAX); /* counts */
	REFUSED(-EUCLEAN, 64, le__put32, 2);
	REFUSED(-EUCLEAN, 68, le__put32, UINT32_MAX);
	REFUSED(-EUCLEAN, 72, le__put32, 1);
	REFUSED(-EUCLEAN, 72, le__put32, 2);
	REFUSED(-EUCLEAN, 72, le__put32, 4);
	REFUSED(-EUCLEAN, 40, le__put64, UINT64_MAX); /* generation, sealed_lsn, next_block */
	REFUSED(-EUCLEAN, 48, le__put64, UINT64_MAX);
	REFUSED(-EUCLEAN, 56, le__put64, 1);
	REFUSED(-EUCLEAN, 88 + 104, le__put64, m.blocks.v[0].number); /* the same block twice */
	REFUSED(-EUCLEAN, 88 + 40, le__put64, INT64_MAX);	      /* ends before it begins */
	REFUSED(-EUCLEAN, 88 + 88, le__put64, 256);
	REFUSED(-EUCLEAN, 88 + 3 * 104, le__put32, 2); /* the same era twice */
	REFUSED(-EUCLEAN, 88 + 3 * 104 + 72 + 4, le__put32, 0);
	REFUSED(-EUCLEAN, 88 + 3 * 104 + 72 + 4, le__put32, UINT32_MAX);
	REFUSED(-EUCLEAN, 88 + 3 * 104 + 72, le__put32, 9);
	REFUSED(-EUCLEAN, 88 + 3 * 104 + 72 + 16, le__put32, 3); /* the frame of the log */
	REFUSED(-EUCLEAN, 88 + 3 * 104 + 72 + 16 + 4, le__put32, 7);
	REFUSED(-EUCLEAN, 88 + 3 * 104 + 72 + 24, le__put64, 0);
	REFUSED(-EUCLEAN, 88 + 3 * 104 + 72 + 24, le__put64, UINT64_MAX);
	manifest__fini(&m);
}

static void test_edits(void **state)
{
	struct manifest m = { .next_block = 100 };
	uint64_t numbers[] = { 5, 1, 9, 3 };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			manifest__add_block(&m, &(struct manifest_block){ .number = numbers[i] }), 0);
	assert_int_equal(manifest__add_block(&m, &(struct manifest_block){ .number = 9 }), -EEXIST);
	assert_true(m.blocks.n == 4 && manifest__find(&m, 1) == 0 && manifest__find(&m, 9) == 3);
	assert_int_equal(manifest__remove_block(&m, 3), 0);
	assert_int_equal(manifest__remove_block(&m, 3), -ENOENT);
	assert_true(manifest__find(&m, 3) == -1 && manifest__find(&m, 5) == 1 &&
		    manifest__find(&m, 10) == -1);
	assert_int_equal(manifest__set_extra(&m, 2, "two", 3), 0);
	assert_int_equal(manifest__set_extra(&m, 1, "one", 3), 0);
	assert_int_equal(manifest__set_extra(&m, 2, "zwei", 4), 0);
	assert_true(m.extras.n == 2 && m.extras.v[0].type == 1);
	assert_memory_equal(manifest__extra(&m, 2)->bytes, "zwei", 4);
	assert_int_equal(manifest__set_extra(&m, 1, NULL, 0), 0);
	assert_int_equal(manifest__set_extra(&m, 7, NULL, 0), 0);
	assert_null(manifest__extra(&m, 1));
	assert_int_equal(m.extras.n, 1);
	manifest__fini(&m);
}

static void test_no_memory(void **state)
{
	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct manifest m = { .generation = 0 }, copy = { .generation = 0 },
				back = { .generation = 0 };
		struct buf b = { .n = 0 };
		bool damaged;
		int rc = make(&m, 4, 5);

		if (!rc)
			rc = manifest__copy(&copy, &m);
		if (!rc)
			manifest__encode(&copy, &b);
		if (!rc)
			rc = b.error;
		if (!rc)
			rc = manifest__decode(&back, b.data, b.n, &damaged, NULL);
		failmalloc__disarm();
		assert_true(rc == 0 || rc == -ENOMEM);
		if (rc == 0)
			same(&m, &back);
		manifest__fini(&m);
		manifest__fini(&copy);
		manifest__fini(&back);
		buf__fini(&b);
	}
}

static void test_files(void **state)
{
	struct sim *sim = sim__new(1, SIM_PREFIX);
	struct manifest m = { .generation = 0 }, back = { .generation = 0 };
	bool damaged, replaced;

	(void)state;
	assert_int_equal(make(&m, 5, 2), 0);
	assert_int_equal(manifest__read(&back, sim__vfs(sim), &damaged, NULL), -ENOENT);
	assert_int_equal(manifest__write(&m, sim__vfs(sim), &replaced, NULL), 0);
	assert_true(replaced);
	m.generation++;
	sim__fail(sim, 1, FAULT_ENOSPC, true);
	assert_int_equal(manifest__write(&m, sim__vfs(sim), &replaced, NULL), -ENOSPC);
	assert_false(replaced);
	sim__fail(sim, 0, FAULT_NONE, false);
	assert_int_equal(manifest__read(&back, sim__vfs(sim), &damaged, NULL), 0);
	assert_int_equal(back.generation, m.generation - 1);
	manifest__fini(&m);
	manifest__fini(&back);
	sim__free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_layout),
		cmocka_unit_test(test_damage),	   cmocka_unit_test(test_enemy),
		cmocka_unit_test(test_edits),	   cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
