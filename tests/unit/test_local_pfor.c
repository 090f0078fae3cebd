/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_local_pfor.c - packed numbers come back as they were, and bad bytes are refused
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "plugins/storage/local/pfor.h"
#include "plugins/storage/local/ranks.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

enum { N = 3 * PFOR_PAGE + 77 };

/* Numbers of at most `bits` bits, some of them of `rare` bits. */
static void fill(struct random *r, uint64_t *v, unsigned bits, unsigned rare)
{
	for (unsigned i = 0; i < N; i++) {
		const unsigned b = random__below(r, 20) ? bits : rare;

		v[i] = b ? random__next(r) >> (64 - b) : 0;
	}
}

static void back_as_they_were(void **state)
{
	(void)state;
	struct random r = { 1 };
	uint64_t v[N], got[N];
	uint32_t narrow[N];

	for (unsigned bits = 0; bits <= 64; bits++) {
		for (unsigned rare = 0; rare <= 64; rare += 3) {
			struct buf b = { 0 };

			fill(&r, v, bits, rare);
			pfor__put(&b, v, N);
			assert_int_equal(b.error, 0);
			struct pfor_in in = { b.data, b.data + b.n };
			assert_int_equal(pfor__get(&in, got, N), 0);
			assert_ptr_equal(in.p, in.end);
			assert_memory_equal(v, got, sizeof(v));

			bool fits = true;
			for (unsigned i = 0; i < N; i++)
				fits = fits && v[i] <= UINT32_MAX;
			in = (struct pfor_in){ b.data, b.data + b.n };
			assert_int_equal(pfor__get32(&in, narrow, N), fits ? 0 : -EBADMSG);
			for (unsigned i = 0; fits && i < N; i++)
				assert_int_equal(narrow[i], v[i]);
			in = (struct pfor_in){ b.data, b.data + b.n };
			assert_int_equal(pfor__skip(&in, N), 0);
			assert_ptr_equal(in.p, in.end);
			buf__fini(&b);
		}
	}
}

/* What packing is for: numbers of b bits take about b bits each. */
static void as_small_as_it_says(void **state)
{
	(void)state;
	struct random r = { 2 };
	uint64_t v[PFOR_PAGE];

	for (unsigned bits = 0; bits <= 32; bits++) {
		struct buf b = { 0 };

		for (unsigned i = 0; i < PFOR_PAGE; i++)
			v[i] = bits ? random__next(&r) >> (64 - bits) : 0;
		pfor__put_page(&b, v, PFOR_PAGE);
		assert_true(b.n <= 2 + bits * 32u);
		buf__fini(&b);
	}
	for (unsigned i = 0; i < PFOR_PAGE; i++)
		v[i] = i == 9 ? UINT64_MAX : 1;
	struct buf b = { 0 };
	pfor__put_page(&b, v, PFOR_PAGE);
	assert_int_equal(b.n, 2 + 32 + 1 + 9);
	buf__fini(&b);
}

/* Cut anywhere, sequences end in -EBADMSG; the sanitizers watch that nothing behind is read. */
static void cut_off(void **state)
{
	(void)state;
	struct random r = { 3 };
	uint64_t v[N], got[N];
	struct buf b = { 0 };

	fill(&r, v, 5, 40);
	pfor__put(&b, v, N);
	for (size_t n = 0; n < b.n; n++) {
		uint8_t *exact = malloc(n ? n : 1);

		assert_non_null(exact);
		memcpy(exact, b.data, n);
		struct pfor_in in = { exact, exact + n };
		assert_int_equal(pfor__get(&in, got, N), -EBADMSG);
		in = (struct pfor_in){ exact, exact + n };
		assert_int_equal(pfor__skip(&in, N), -EBADMSG);
		free(exact);
	}
	buf__fini(&b);
}

static void refused(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t n;
	} bad[] = {
		{ "\x21\x00", 2 },     /* 33 bits */
		{ "\x40\x00", 2 },     /* plain, without the numbers */
		{ "\x00\x01\x00", 3 }, /* an exception without its number */
		{ "\x00\x01\x00\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 13 }, /* of 65 bits */
	};
	uint64_t v[PFOR_PAGE];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const uint8_t *p = (const uint8_t *)bad[i].bytes;
		struct pfor_in in = { p, p + bad[i].n };

		assert_int_equal(pfor__page(&in, v, PFOR_PAGE), -EBADMSG);
	}
}

static void ranks_of(const uint32_t *ids, size_t n)
{
	struct ranks ranks = { 0 };

	assert_int_equal(ranks__build(&ranks, ids, n), 0);
	for (size_t i = 1; i < ranks.distinct.n; i++)
		assert_true(ranks.distinct.v[i] > ranks.distinct.v[i - 1]);
	for (size_t i = 0; i < n; i++) {
		const uint32_t rank = ranks__of(&ranks, ids[i]);

		assert_true(rank < ranks.distinct.n);
		assert_int_equal(ranks.distinct.v[rank], ids[i]);
	}
	ranks__fini(&ranks);
}

static void ranks_dense_and_sparse(void **state)
{
	(void)state;
	struct random r = { 4 };
	uint32_t ids[500];

	for (unsigned turn = 0; turn < 200; turn++) {
		const uint64_t below = (random__wide(&r) & UINT32_MAX) + 1;
		const size_t n = random__below(&r, 500);

		for (size_t i = 0; i < n; i++)
			ids[i] = (uint32_t)random__below(&r, below);
		ranks_of(ids, n);
	}
	ranks_of((const uint32_t[]){ UINT32_MAX, 0, 64, 63 }, 4);
}

static void ranks_without_memory(void **state)
{
	(void)state;
	uint32_t ids[300];

	for (unsigned spread = 1; spread < 100000; spread *= 100) {
		for (uint32_t i = 0; i < 300; i++)
			ids[i] = i * spread;
		FAILMALLOC_SWEEP (i) {
			struct ranks ranks = { 0 };
			int r = ranks__build(&ranks, ids, 300);

			failmalloc__disarm();
			if (r < 0)
				assert_int_equal(r, -ENOMEM);
			ranks__fini(&ranks);
		}
	}
}

/* A count from anybody's bytes is held against what is there, and none is so large that it looks small. */
static void counts_that_cannot_be(void **state)
{
	static const uint8_t bytes[5];
	const struct pfor_in in = { bytes, bytes + sizeof(bytes) }, none = { bytes, bytes };

	(void)state;
	assert_true(pfor__may_hold(&in, 0));
	assert_true(pfor__may_hold(&none, 0));
	assert_false(pfor__may_hold(&none, 1));
	assert_true(pfor__may_hold(&in, 2 * PFOR_PAGE));
	assert_false(pfor__may_hold(&in, 2 * PFOR_PAGE + 1));
	for (uint64_t less = 0; less < 3 * PFOR_PAGE; less++)
		assert_false(pfor__may_hold(&in, UINT64_MAX - less));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(back_as_they_were),
		cmocka_unit_test(as_small_as_it_says),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(refused),
		cmocka_unit_test(ranks_dense_and_sparse),
		cmocka_unit_test(ranks_without_memory),
		cmocka_unit_test(counts_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
