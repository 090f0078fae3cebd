/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_sums.c - sums of any values, in pages and beyond, are those of 128 bits
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "plugins/storage/answer/sums.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

enum { N_GROUPS = 3, N_KEYS = 2000, N_VALUES = 2, RUN = 100 };

/* In fixed point, as the sums are. */
struct plainly {
	__int128 v[N_GROUPS][N_KEYS][N_VALUES];
	struct random random;
	unsigned small; /* bits that values lose: 0 is all sizes there are */
};

static int64_t make_value(struct plainly *p)
{
	const uint64_t v = random__wide(&p->random) >> p->small;

	if (random__below(&p->random, 3))
		return (int64_t)(v >> 1);
	return random__below(&p->random, 50) ? -(int64_t)(v >> 1) : INT64_MIN >> p->small;
}

static void add_one(struct sums *s, struct plainly *p, uint32_t group, uint32_t at)
{
	const uint32_t key = (uint32_t)random__below(&p->random, N_KEYS);
	const int64_t value = make_value(p);

	assert_int_equal(sums__add(s, at, group, key, value), 0);
	p->v[group][key][at] += (__int128)value * (1 << SUMS_FRACTION_BITS);
}

/* Keys ascend; in one run of two no value is below 0, as most are. */
static void add_run(struct sums *s, struct plainly *p, uint32_t group, uint32_t at)
{
	const bool positive = random__below(&p->random, 2);
	uint32_t keys[RUN], key = (uint32_t)random__below(&p->random, N_KEYS / 2);
	int64_t values[RUN];
	struct sums_run run = { at, group, 0, keys, values };

	for (; run.n < RUN && key < N_KEYS; key += 1 + (uint32_t)random__below(&p->random, 20)) {
		const int64_t v = make_value(p);

		keys[run.n] = key;
		values[run.n] = positive && v < 0 ? ~v : v;
		p->v[group][key][at] += (__int128)values[run.n++] * (1 << SUMS_FRACTION_BITS);
	}
	assert_int_equal(sums__add_run(s, &run), 0);
}

/* A gauge's: an average, which is no whole number. */
static void add_part(struct sums *s, struct plainly *p, uint32_t group, uint32_t at)
{
	const uint32_t key = (uint32_t)random__below(&p->random, N_KEYS);
	const int64_t value = (int64_t)random__below(&p->random, 1000000);

	assert_int_equal(sums__add_part(s, group, key, value), 0);
	sums__settle(s, at, 3);
	/* What a damaged piece told of before it said so. */
	assert_int_equal(sums__add_part(s, group, key, value), 0);
	sums__settle(s, at, 0);
	p->v[group][key][at] += (((__int128)value * (2 << SUMS_FRACTION_BITS) + 3) / 6);
}

struct heard {
	struct plainly *p;
	uint32_t group, next; /* keys below were seen or are 0 */
};

static void skip_to(struct heard *h, uint32_t key)
{
	for (; h->next < key; h->next++)
		for (uint32_t k = 0; k < N_VALUES; k++)
			assert_true(sums__value(h->p->v[h->group][h->next][k]) == 0);
}

static int hear(void *ctx, uint32_t group, uint64_t key, const int64_t *values)
{
	struct heard *h = ctx;

	if (group != h->group) {
		skip_to(h, N_KEYS);
		/* The order asked for is from the last group to the first. */
		assert_true(group < h->group);
		for (h->group--; h->group > group; h->group--, h->next = N_KEYS) {
			h->next = 0;
			skip_to(h, N_KEYS);
		}
		h->next = 0;
	}
	assert_in_range(key, h->next, N_KEYS - 1);
	skip_to(h, (uint32_t)key);
	for (uint32_t k = 0; k < N_VALUES; k++)
		assert_true(values[k] == sums__value(h->p->v[group][key][k]));
	h->next++;
	return 0;
}

static void add_many(struct sums *s, struct plainly *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint32_t group = (uint32_t)random__below(&p->random, N_GROUPS);
		const uint32_t at = (uint32_t)random__below(&p->random, N_VALUES);

		switch (random__below(&p->random, 8)) {
		case 0:
			add_run(s, p, group, at);
			break;
		case 1:
			add_part(s, p, group, at);
			break;
		default:
			add_one(s, p, group, at);
		}
	}
}

static int turn_keys(void *ctx, uint32_t *keys, uint32_t n)
{
	(void)ctx;
	for (uint32_t i = 0; i < n; i++)
		keys[i] = N_KEYS - 1 - keys[i];
	return 0;
}

/* What others added up, who call groups and perhaps keys otherwise. */
static void join_others(struct sums *s, struct plainly *p, uint64_t max_bytes)
{
	static const uint32_t groups[N_GROUPS] = { 1, 2, 0 };
	static struct plainly other;

	for (unsigned turn = 0; turn < 2; turn++) {
		const struct sums_names names = { .groups = groups, .rename = turn ? turn_keys : NULL };
		struct sums from;

		other = (struct plainly){ .random = { random__wide(&p->random) }, .small = p->small };
		sums__init(&from, N_VALUES, true, max_bytes);
		add_many(&from, &other, 500);
		assert_int_equal(sums__join(s, &from, &names), 0);
		sums__fini(&from);
		for (uint32_t i = 0; i < N_GROUPS * N_KEYS * N_VALUES; i++) {
			const uint32_t g = i / (N_KEYS * N_VALUES), key = i / N_VALUES % N_KEYS;

			p->v[groups[g]][turn ? N_KEYS - 1 - key : key][i % N_VALUES] +=
				other.v[g][key][i % N_VALUES];
		}
	}
}

static void as_plainly(struct plainly *p, unsigned small, uint64_t max_bytes)
{
	static const uint32_t groups[N_GROUPS] = { 2, 1, 0 };
	struct heard h = { .p = p, .group = N_GROUPS - 1 };
	struct sums s;

	memset(p->v, 0, sizeof(p->v));
	p->small = small;
	sums__init(&s, N_VALUES, true, max_bytes);
	add_many(&s, p, 2000);
	join_others(&s, p, max_bytes);
	assert_int_equal(sums__each(&s, groups, N_GROUPS, hear, &h), 0);
	assert_int_equal(h.group, 0);
	skip_to(&h, N_KEYS);
	if (max_bytes > 1)
		assert_in_range(s.tables_bytes + s.blocks_bytes, 0, max_bytes / 2);
	sums__fini(&s);
}

static struct plainly plainly = { .random = { 7 } };

/*
 * From values that pages take one and all to such that empty them over and over, or never see them.
 */
static void of_every_size(void **state)
{
	(void)state;
	for (unsigned small = 0; small < 60; small += 4)
		as_plainly(&plainly, small, 0);
}

/* Pages for some of the keys, for few, and for none. */
static void with_little_room(void **state)
{
	(void)state;
	for (unsigned small = 0; small < 60; small += 20) {
		as_plainly(&plainly, small, 256 << 10);
		as_plainly(&plainly, small, 64 << 10);
		as_plainly(&plainly, small, 1);
	}
}

/* Runs of what pages take, until 64 bits would not have held it; and most of it back. */
static void past_64_bits(void **state)
{
	(void)state;
	const uint32_t group = 0, keys[2] = { 3, 4 };
	const int64_t values[2] = { ((int64_t)1 << 55) - 1, 1 };
	const struct sums_run run = { 0, group, 2, keys, values };
	struct sums s;

	memset(plainly.v, 0, sizeof(plainly.v));
	sums__init(&s, N_VALUES, true, 0);
	for (unsigned i = 0; i < 600; i++)
		assert_int_equal(sums__add_run(&s, &run), 0);
	for (unsigned i = 0; i < 400; i++)
		assert_int_equal(sums__add(&s, 0, group, 3, -values[0]), 0);
	plainly.v[0][3][0] = (__int128)values[0] * 200 * (1 << SUMS_FRACTION_BITS);
	plainly.v[0][4][0] = (__int128)600 * (1 << SUMS_FRACTION_BITS);
	struct heard h = { .p = &plainly };
	assert_int_equal(sums__each(&s, &group, 1, hear, &h), 0);
	assert_int_equal(h.next, 5);
	sums__fini(&s);
}

static int note(void *ctx, uint32_t group, uint64_t key, const int64_t *values)
{
	int64_t *ret = ctx;

	assert_int_equal(group, 0);
	ret[key != 3] = values[0];
	return 0;
}

/* What has no page takes no room from what has one, in the midst of a run. */
static void beside_pages(void **state)
{
	(void)state;
	const uint32_t group = 0, keys[2] = { 100000000, 3 };
	const int64_t values[2] = { (int64_t)1 << 44, ((int64_t)1 << 55) - 1 };
	int64_t got[2] = { 0 };
	struct sums s;

	sums__init(&s, 1, true, 4 << 20);
	for (unsigned i = 0; i < 512; i++) {
		const unsigned first = i != 255;
		const struct sums_run run = { 0, group, 2 - first, keys + first, values + first };

		assert_int_equal(sums__add_run(&s, &run), 0);
	}
	assert_int_equal(sums__add_wide(&s, 0, group, 3, -(__int128)values[1] * 500), 0);
	assert_int_equal(sums__each(&s, &group, 1, note, got), 0);
	assert_true(got[0] == values[1] * 12);
	assert_true(got[1] == values[0]);
	sums__fini(&s);
}

/* A page is no allocation: a thousand of them take some dozens, tables and all. */
static void pages_come_together(void **state)
{
	enum { PAGES = 1000, ALLOCATIONS = 80 };
	struct sums s;
	(void)state;

	sums__init(&s, 1, true, 0);
	failmalloc__arm(ALLOCATIONS);
	for (uint64_t i = 0; i < PAGES; i++)
		assert_int_equal(sums__add(&s, 0, 0, i * SUMS_PAGE, 1), 0);
	assert_false(failmalloc__disarm());
	assert_true(sums__bytes(&s) < (PAGES + 100) * SUMS_PAGE * sizeof(int64_t));
	sums__fini(&s);
}

static int is_seven(void *ctx, uint32_t group, uint64_t key, const int64_t *values)
{
	(void)group;
	(void)key;
	++*(uint32_t *)ctx;
	assert_int_equal(values[0], 7);
	return 0;
}

/* Blocks of one question are the next one's, whatever stands in them; and bounded. */
static void blocks_are_kept(void **state)
{
	static const uint32_t n_pages[] = { 1000, 500, 3000, 3000 };
	const uint32_t group = 0;
	struct stock stock;
	(void)state;

	stock__init(&stock);
	for (unsigned turn = 0; turn < 4; turn++) {
		const uint32_t before = stock.n;
		uint32_t n = 0;
		struct sums s;

		sums__init(&s, 1, true, 0);
		s.stock = &stock;
		for (uint64_t i = 0; i < n_pages[turn]; i++)
			assert_int_equal(sums__add(&s, 0, group, i * SUMS_PAGE + turn, 7), 0);
		assert_int_equal(sums__each(&s, &group, 1, is_seven, &n), 0);
		assert_int_equal(n, n_pages[turn]);
		assert_true(stock.n < before || turn == 0);
		sums__fini(&s);
		assert_true(stock.n >= before);
		assert_in_range(stock.n, 25, STOCK_MAX);
	}
	assert_int_equal(stock.n, STOCK_MAX);
	stock__fini(&stock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_every_size),       cmocka_unit_test(with_little_room),
		cmocka_unit_test(past_64_bits),	       cmocka_unit_test(beside_pages),
		cmocka_unit_test(pages_come_together), cmocka_unit_test(blocks_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
