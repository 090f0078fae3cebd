/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_hash.c - xxh3 is what the others call xxh3; the index against a linear scan
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/hash.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/unit.h"

/* Against the shared library, which is built from another copy of the code than hash.c is. */
static void test_xxh3(void **state)
{
	static unsigned char bytes[2000];
	struct random r = { 12 };

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)random__next(&r);
	for (size_t n = 0; n < sizeof(bytes); n++) {
		XXH128_hash_t want = XXH3_128bits(bytes, n);
		struct dcm_hash got = hash__bytes128(bytes, n);

		assert_true(hash__bytes(bytes, n, n) == XXH3_64bits_withSeed(bytes, n, n));
		assert_true(got.lo == want.low64 && got.hi == want.high64);
	}
	/* The specification's value for nothing: identities in stores rest on it. */
	assert_true(hash__bytes(NULL, 0, 0) == 0x2d06800538d394c2u);
	assert_true(hash__bytes128(NULL, 0).lo == 0x6001c324468d497fu);
	assert_true(hash__bytes128(NULL, 0).hi == 0x99aa06d3014798d8u);
}

static void test_mix(void **state)
{
	uint64_t a = hash__mix(hash__mix(0, 1), 2), b = hash__mix(hash__mix(0, 2), 1);

	(void)state;
	assert_true(a != b);
	assert_true(hash__mix(0, 1) != hash__mix(0, 2));
}

enum { N_ROWS = 4000 };

/* All rows that the index yields for h, checked against the hashes that were inserted. */
static void check_rows(const struct hindex *ix, const uint64_t *hashes, uint32_t n, uint64_t h)
{
	static unsigned char seen[N_ROWS];
	uint32_t row, at = hindex__first(ix, h, &row), n_seen = 0;

	memset(seen, 0, n);
	for (; row != HINDEX_NONE; at = hindex__next(ix, h, at, &row)) {
		assert_true(row < n);
		assert_false(seen[row]);
		seen[row] = 1;
		assert_true(hashes[row] >> 32 == h >> 32);
		n_seen++;
		assert_true(n_seen <= n);
	}
	for (uint32_t i = 0; i < n; i++)
		if (hashes[i] >> 32 == h >> 32)
			assert_true(seen[i]);
}

/* Few different hashes, neighbours, and the topmost ones, whose probing wraps around. */
static uint64_t awkward_hash(struct random *r, unsigned kind)
{
	switch (kind) {
	case 0:
		return random__next(r);
	case 1:
		return random__below(r, 50) << 56;
	case 2:
		return UINT64_MAX - random__below(r, 300);
	default:
		return random__below(r, 3) << 32;
	}
}

static void test_index(void **state)
{
	static uint64_t hashes[N_ROWS];
	struct random r = { 13 };
	struct hindex ix = { 0 };

	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		uint32_t n = kind == 0 ? N_ROWS : 600;

		check_rows(&ix, hashes, 0, 5);
		for (uint32_t i = 0; i < n; i++) {
			hashes[i] = awkward_hash(&r, kind);
			assert_int_equal(hindex__insert(&ix, hashes[i], i), 0);
			assert_true((uint64_t)ix.n * 10 <= (uint64_t)ix.cap * 7);
			if (i % 97 == 0) {
				check_rows(&ix, hashes, i + 1, hashes[random__below(&r, i + 1)]);
				check_rows(&ix, hashes, i + 1, awkward_hash(&r, kind));
			}
		}
		for (uint32_t i = 0; i < n; i += 7)
			check_rows(&ix, hashes, n, hashes[i]);
		assert_int_equal(ix.n, n);
		hindex__clear(&ix);
		assert_int_equal(ix.n, 0);
	}
	hindex__fini(&ix);
	assert_int_equal(ix.cap, 0);
	hindex__clear(&ix);
	hindex__fini(&ix);
}

/* Hashes of few varying bits, as tuples of small ids give them: probing stays short. */
static void test_probes(void **state)
{
	struct hindex ix = { 0 };
	uint64_t n_probes = 0;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++)
		assert_int_equal(
			hindex__insert(&ix, hash__mix(hash__mix(0, i % 100), (uint64_t)(i / 100) << 48), i),
			0);
	for (uint32_t at = 0; at < ix.cap; at++) {
		uint32_t home = (uint32_t)((ix.slots[at] >> 32) * ix.cap >> 32);

		if (ix.slots[at])
			n_probes += ((at - home) & (ix.cap - 1)) + 1;
	}
	assert_true(n_probes < 20000 * 4);
	hindex__fini(&ix);
}

/* Room that was asked for: no growth up to there, and what was in stays found. */
static void test_reserve(void **state)
{
	static uint64_t hashes[3000];
	struct random r = { 21 };
	struct hindex ix = { 0 };

	(void)state;
	hindex__prefetch(&ix, 5);
	for (uint32_t i = 0; i < 3000; i++) {
		if (i == 100)
			assert_int_equal(hindex__reserve(&ix, 3000), 0);
		uint64_t *slots = ix.slots;
		hashes[i] = random__next(&r);
		hindex__prefetch(&ix, hashes[i]);
		assert_int_equal(hindex__insert(&ix, hashes[i], i), 0);
		assert_true(i < 100 || ix.slots == slots);
	}
	for (uint32_t i = 0; i < 3000; i += 11)
		check_rows(&ix, hashes, 3000, hashes[i]);
	/* Less than there is, nothing, and more than can be. */
	uint32_t cap = ix.cap;
	assert_int_equal(hindex__reserve(&ix, 10), 0);
	assert_int_equal(hindex__reserve(&ix, 0), 0);
	assert_int_equal(hindex__reserve(&ix, UINT32_MAX), -ENOMEM);
	failmalloc__arm(1);
	assert_int_equal(hindex__reserve(&ix, 100000), -ENOMEM);
	failmalloc__disarm();
	assert_int_equal(ix.cap, cap);
	hindex__fini(&ix);
}

static void test_no_memory(void **state)
{
	struct hindex ix = { 0 };
	uint64_t hashes[500];
	unsigned n_failed = 0;

	(void)state;
	for (uint32_t i = 0; i < 500; i++) {
		hashes[i] = (uint64_t)i << 40;
		failmalloc__arm(1);
		if (hindex__insert(&ix, hashes[i], i) == -ENOMEM) {
			failmalloc__disarm();
			n_failed++;
			check_rows(&ix, hashes, i, hashes[i / 2]);
			assert_int_equal(hindex__insert(&ix, hashes[i], i), 0);
		}
		failmalloc__disarm();
	}
	assert_int_equal(n_failed, 7); /* 16, 32, ..., 1024 slots */
	assert_int_equal(ix.n, 500);
	hindex__fini(&ix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xxh3),	cmocka_unit_test(test_mix),
		cmocka_unit_test(test_index),	cmocka_unit_test(test_probes),
		cmocka_unit_test(test_reserve), cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
