/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_retain.c - what goes is what must go, by definition
 *
 * The oracle works on random manifests with sets: a block is too old when every one of its types
 * is; of the others the smallest number of oldest ones goes that brings the bytes, counted anew
 * each time, within their bound.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/storage/local/block_types.h"
#include "plugins/storage/local/retain.h"
#include "tests/storage/block_rows.h"
#include "tests/unit/failmalloc.h"

enum { N_TYPES = 5, N_ERAS = 4, MAX_BLOCKS = 30 };

struct world {
	struct manifest m;
	uint32_t types[MAX_BLOCKS + 1][N_TYPES]; /* by number */
	size_t n_types[MAX_BLOCKS + 1];
	int64_t cutoffs[N_ERAS][N_TYPES], unknown;
	uint64_t era_bytes[N_ERAS];
	bool held[N_ERAS];
};

static int64_t cutoff_ms(void *ctx, uint32_t era, uint32_t type)
{
	const struct world *w = ctx;

	return type == DCM_NONE ? w->unknown : w->cutoffs[era][type];
}

static const uint32_t *types(void *ctx, uint64_t number, size_t *ret_n)
{
	const struct world *w = ctx;

	*ret_n = w->n_types[number];
	return w->types[number];
}

static uint64_t era_bytes(void *ctx, uint32_t era)
{
	return ((const struct world *)ctx)->era_bytes[era];
}

static bool era_is_held(void *ctx, uint32_t era)
{
	return ((const struct world *)ctx)->held[era];
}

static void world__init(struct world *w, struct random *r)
{
	memset(w, 0, sizeof(*w));
	w->unknown = (int64_t)random__below(r, 1000);
	for (uint32_t e = 0; e < N_ERAS; e++) {
		w->era_bytes[e] = random__below(r, 500);
		w->held[e] = random__below(r, 3) == 0;
		for (uint32_t t = 0; t < N_TYPES; t++)
			w->cutoffs[e][t] = random__below(r, 4) ? (int64_t)random__below(r, 600)
							       : INT64_MIN;
		assert_true(vec__push(&w->m.eras, (struct manifest_era){ .number = e }));
	}
	for (uint64_t i = 1; i <= MAX_BLOCKS; i++) {
		const int64_t first = (int64_t)random__below(r, 900);
		const struct manifest_block b = { .number = i,
						  .era = (uint32_t)random__below(r, N_ERAS),
						  .first_ms = first,
						  .last_ms = first + (int64_t)random__below(r, 100),
						  .bytes = random__below(r, 1000),
						  .n_profiles = random__below(r, 50) };

		assert_int_equal(manifest__add_block(&w->m, &b), 0);
		for (uint32_t t = 0; t < N_TYPES; t++)
			if (random__below(r, 2))
				w->types[i][w->n_types[i]++] = t;
	}
}

/* How many of a block's types are over, and of how many. */
static size_t n_over(const struct world *w, const struct manifest_block *b, size_t *ret_n)
{
	size_t over = 0;

	*ret_n = w->n_types[b->number] ? w->n_types[b->number] : 1;
	if (!w->n_types[b->number])
		return b->last_ms < w->unknown;
	for (size_t t = 0; t < w->n_types[b->number]; t++)
		over += b->last_ms < w->cutoffs[b->era][w->types[b->number][t]];
	return over;
}

static bool is_in(const uint64_t *v, size_t n, uint64_t number)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == number)
			return true;
	return false;
}

/* Everything that is there without those, and which eras are over then. */
static uint64_t bytes_without(const struct world *w, const struct retain_choice *c,
			      const uint64_t *evicted, size_t n, bool over[N_ERAS])
{
	uint64_t bytes = 100;

	for (uint32_t e = 0; e < N_ERAS; e++)
		over[e] = !w->held[e];
	for (size_t i = 0; i < w->m.blocks.n; i++) {
		const struct manifest_block *b = &w->m.blocks.v[i];

		if (is_in(c->expired.v, c->expired.n, b->number) || is_in(evicted, n, b->number))
			continue;
		bytes += b->bytes;
		over[b->era] = false;
	}
	for (uint32_t e = 0; e < N_ERAS; e++)
		bytes += over[e] ? 0 : w->era_bytes[e];
	return bytes;
}

static void check_old(const struct world *w, const struct retain_choice *c)
{
	bool to_rewrite = false;
	size_t n;

	for (size_t i = 0; i < w->m.blocks.n; i++) {
		const struct manifest_block *b = &w->m.blocks.v[i];
		const size_t over = n_over(w, b, &n);
		const bool stays = !is_in(c->evicted.v, c->evicted.n, b->number);

		assert_true((over == n) == is_in(c->expired.v, c->expired.n, b->number));
		assert_true(over < n || stays);
		if (c->rewrite == b->number)
			assert_true(over > 0 && over < n && stays);
		to_rewrite |= over > 0 && over < n && c->evicted.n == 0;
	}
	assert_true(c->rewrite || !to_rewrite);
}

static void check_bytes(const struct world *w, const struct retain_choice *c, uint64_t max_bytes)
{
	bool over[N_ERAS];
	size_t n_eras = 0;

	/* One fewer would not have been enough. */
	if (c->evicted.n)
		assert_true(bytes_without(w, c, c->evicted.v, c->evicted.n - 1, over) > max_bytes);
	assert_true(bytes_without(w, c, c->evicted.v, c->evicted.n, over) == c->bytes);
	assert_true(!max_bytes || c->bytes <= max_bytes ||
		    c->expired.n + c->evicted.n == w->m.blocks.n);
	for (size_t i = 0; i < c->eras.n; i++)
		assert_true(over[c->eras.v[i]]);
	for (uint32_t e = 0; e < N_ERAS; e++)
		n_eras += over[e];
	assert_true(n_eras == c->eras.n);
	/* None that stays is older. */
	for (size_t i = 0; i < w->m.blocks.n; i++) {
		const struct manifest_block *b = &w->m.blocks.v[i];

		if (is_in(c->expired.v, c->expired.n, b->number) ||
		    is_in(c->evicted.v, c->evicted.n, b->number))
			continue;
		for (size_t k = 0; k < c->evicted.n; k++)
			assert_true(w->m.blocks.v[manifest__find(&w->m, c->evicted.v[k])].last_ms <=
				    b->last_ms);
	}
}

static void what_must_go_goes(void **state)
{
	(void)state;
	struct random r = { 51 };
	unsigned n_expired = 0, n_evicted = 0, n_eras = 0, n_rewrites = 0;

	for (unsigned turn = 0; turn < 400; turn++) {
		struct world w;
		struct retain_choice c = { 0 };

		world__init(&w, &r);
		const uint64_t max_bytes = random__below(&r, 2) ? random__below(&r, 20000) : 0;
		const struct retain_rules rules = { .cutoff_ms = random__below(&r, 8) ? cutoff_ms : NULL,
						    .ctx = &w,
						    .max_bytes = max_bytes };
		const struct retain_facts facts = { types, era_bytes, era_is_held, &w, 100, NULL };

		assert_int_equal(retain__choose(&c, &w.m, &rules, &facts), 0);
		if (rules.cutoff_ms)
			check_old(&w, &c);
		else
			assert_true(c.expired.n == 0 && c.rewrite == 0);
		check_bytes(&w, &c, max_bytes);
		n_expired += (unsigned)c.expired.n;
		n_evicted += (unsigned)c.evicted.n;
		n_eras += (unsigned)c.eras.n;
		n_rewrites += c.rewrite > 0;
		retain_choice__fini(&c);
		manifest__fini(&w.m);
	}
	assert_true(n_expired > 100 && n_evicted > 100 && n_eras > 50 && n_rewrites > 100);
}

/* The filter in a compaction: of each type exactly what starts at its cutoff or later is left. */
static void the_filter_drops_what_is_old(void **state)
{
	(void)state;
	struct random r = { 52 };

	for (unsigned turn = 0; turn < 40; turn++) {
		struct world w = { .m = { .generation = 0 } };
		const struct retain_rules rules = { .cutoff_ms = cutoff_ms, .ctx = &w };
		const struct compact_filter filter = retain_filter(&rules);
		const struct random_block_shape shape = {
			.first_ms = 0, .span_ms = 500, .n_series = 3, .max_profiles = 9, .max_rows = 20
		};
		plain_profiles in = { 0 }, out = { 0 };
		struct random_block b;
		struct block_info info;
		struct buf bytes = { .n = 0 };
		struct block block;
		uint64_t expected = 0, got = 0;

		/* The types of block_rows.c, modulo; the block's era is 3. */
		for (uint32_t t = 0; t < N_TYPES; t++)
			w.cutoffs[3][t] = (int64_t)random__below(&r, 600);
		random_block__init(&b, &r, &shape);
		for (uint64_t i = 0; i < b.block.n_types; i++)
			((struct chunk_type *)(uintptr_t)b.block.types)[i].type %= N_TYPES;
		struct compact *c = compact__new(
			&(struct compact_job){ .blocks = (const struct block *const[]){ &b.block },
					       .n_blocks = 1,
					       .filter = &filter });
		assert_int_equal(compact__write(c, &(struct block_options){ .era = 3 }, put_to_buf,
						&bytes, &info),
				 0);
		compact__free(c);
		assert_int_equal(block__open(&block, bytes.data, bytes.n, NULL), 0);
		plain__read(&in, &b.block, 0);
		plain__read(&out, &block, 0);
		for (size_t i = 0; i < in.n; i++)
			for (uint32_t t = 0; t < in.v[i].n_types; t++)
				expected += in.v[i].time_ms >= w.cutoffs[3][in.v[i].types[t]];
		for (size_t i = 0; i < out.n; i++)
			for (uint32_t t = 0; t < out.v[i].n_types; t++) {
				assert_true(out.v[i].time_ms >= w.cutoffs[3][out.v[i].types[t]]);
				got++;
			}
		assert_true(got == expected);
		plain__fini(&in);
		plain__fini(&out);
		buf__fini(&bytes);
		random_block__fini(&b);
	}
}

static void types_of_a_block(void **state)
{
	(void)state;
	struct random r = { 53 };
	const struct random_block_shape shape = {
		.span_ms = 500, .n_series = 6, .max_profiles = 2, .max_rows = 20
	};
	struct random_block b;
	block_type_list list = { 0 };

	random_block__init(&b, &r, &shape);
	assert_int_equal(block__types(&b.block, &list), 0);
	for (size_t i = 1; i < list.n; i++)
		assert_true(list.v[i - 1].type < list.v[i].type);
	for (uint64_t i = 0; i < b.block.n_types; i++) {
		bool found = false;

		for (size_t k = 0; k < list.n; k++)
			found |= list.v[k].type == b.block.types[i].type;
		assert_true(found);
	}
	assert_true(list.n > 2 && list.n <= b.block.n_types);
	vec__fini(&list);
	random_block__fini(&b);
}

/*
 * By definition: what stays is the newest blocks until they have the bytes; nothing in their time is
 * over, and all that is wholly before it is.
 */
static void bounds(void **state)
{
	enum { MOST = 12 };
	struct random r = { 77 };
	unsigned n_over = 0, n_clamped = 0;
	(void)state;

	for (unsigned round = 0; round < 20000; round++) {
		struct retain_portion v[MOST];
		const size_t n = random__below(&r, MOST + 1);
		const uint64_t max = random__below(&r, 60);

		for (size_t i = 0; i < n; i++) {
			v[i].first_ms = (int64_t)random__below(&r, 100);
			v[i].last_ms = v[i].first_ms + (int64_t)random__below(&r, 20);
			v[i].bytes = 1 + random__below(&r, 10);
		}
		const int64_t cutoff = retain__bound(v, n, max);
		int64_t first = INT64_MAX;
		uint64_t sum = 0;
		size_t k = 0;

		for (; k < n && sum < max; k++) {
			sum += v[k].bytes;
			first = v[k].first_ms < first ? v[k].first_ms : first;
			assert_true(k == 0 || v[k].last_ms <= v[k - 1].last_ms);
		}
		assert_int_equal(cutoff == INT64_MIN, k == n);
		assert_true(cutoff <= first);
		for (size_t i = k; i < n; i++)
			if (v[i].last_ms < first)
				assert_true(v[i].last_ms < cutoff);
		n_over += k < n;
		n_clamped += k < n && v[k].last_ms >= first;
	}
	assert_true(n_over > 1000 && n_clamped > 1000);
}

static void no_memory(void **state)
{
	(void)state;
	struct random r = { 54 };
	struct world w;

	world__init(&w, &r);
	const struct retain_rules rules = { .cutoff_ms = cutoff_ms, .ctx = &w, .max_bytes = 4000 };
	const struct retain_facts facts = { types, era_bytes, era_is_held, &w, 100, NULL };

	FAILMALLOC_SWEEP (i) {
		struct retain_choice c = { 0 };
		int e = retain__choose(&c, &w.m, &rules, &facts);

		failmalloc__disarm();
		assert_true(e == 0 || e == -ENOMEM);
		retain_choice__fini(&c);
	}
	manifest__fini(&w.m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_must_go_goes), cmocka_unit_test(the_filter_drops_what_is_old),
		cmocka_unit_test(types_of_a_block),  cmocka_unit_test(bounds),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
