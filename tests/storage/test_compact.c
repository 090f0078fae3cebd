/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/test_compact.c - what goes into a compaction comes out, in order, but for what a
 * filter drops
 *
 * The oracle reads the inputs as plain lists, drops what the filter drops one profile and one row
 * at a time, sorts, and must have the outputs' list.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "plugins/storage/local/compact.h"
#include "tests/storage/block_rows.h"
#include "tests/unit/failmalloc.h"

enum { MAX_INPUTS = 6, MAX_OUTPUTS = 8 };
static const int64_t begin_ms = 1700000000000;

/* -------------------------------------------------------------------------------------------------
 * A filter that drops by chance, the same in the code under test and in the oracle
 */

/* One in how many is dropped, or looked into, at each step; 0: none. */
struct dice {
	uint64_t salt;
	unsigned drop_chunk, ask_chunk, drop_profile, ask_profile, drop_row;
	unsigned n_asked;
};

static bool rolls(unsigned one_in, uint64_t h)
{
	return one_in && (hash__mix(h, one_in) >> 16) % one_in == 0;
}

static int roll(unsigned drop, unsigned ask, uint64_t h)
{
	return rolls(drop, h)		      ? COMPACT_DROP
	       : rolls(ask, hash__mix(h, 99)) ? COMPACT_ASK
					      : COMPACT_KEEP;
}

static int dice__chunk(const struct dice *d, uint32_t block, uint32_t series, uint32_t type)
{
	return roll(d->drop_chunk, d->ask_chunk,
		    hash__mix(hash__mix(d->salt, block % 2), (uint64_t)series << 32 | type));
}

static int dice__profile(const struct dice *d, uint32_t type, int64_t time_ms)
{
	return roll(d->drop_profile, d->ask_profile,
		    hash__mix(hash__mix(d->salt, type), (uint64_t)time_ms));
}

static int dice__row(const struct dice *d, uint32_t stack, uint32_t label_set)
{
	return roll(d->drop_row, 0, hash__mix(d->salt, (uint64_t)stack << 32 | label_set));
}

static int on_chunk(void *ctx, const struct compact_place *p)
{
	struct dice *d = ctx;

	d->n_asked++;
	return dice__chunk(d, p->block, p->chunk->entry->series, p->chunk->types[p->type].type);
}

static int on_profile(void *ctx, const struct compact_place *p)
{
	return dice__profile(ctx, p->chunk->types[p->type].type, p->time_ms);
}

static int on_row(void *ctx, const struct compact_place *p)
{
	return dice__row(ctx, p->stack, p->label_set);
}

/* -------------------------------------------------------------------------------------------------
 * The oracle
 */

/*
 * The types `columns` of a profile; rows are dropped by the dice where `sift`. Nothing when no row
 * is left.
 */
static void expect_part(plain_profiles *to, const struct plain_profile *p, const struct dice *d,
			const uint32_t *columns, uint32_t n, bool sift)
{
	struct plain_profile part = *p;

	part.n_types = n;
	part.n_rows = 0;
	part.rows = mem__zalloc(p->n_rows + (size_t)1, sizeof(*part.rows));
	assert_non_null(part.rows);
	for (uint32_t t = 0; t < n; t++)
		part.types[t] = p->types[columns[t]];
	for (uint32_t i = 0; i < p->n_rows; i++) {
		struct plain_row *row = &part.rows[part.n_rows];

		if (sift && dice__row(d, p->rows[i].stack, p->rows[i].label_set) == COMPACT_DROP)
			continue;
		*row = (struct plain_row){ .stack = p->rows[i].stack, .label_set = p->rows[i].label_set };
		for (uint32_t t = 0; t < n; t++)
			row->values[t] = p->rows[i].values[columns[t]];
		part.n_rows++;
	}
	if (sift && !part.n_rows && (p->n_rows || dice__row(d, DCM_NONE, 0) == COMPACT_DROP))
		free(part.rows);
	else
		assert_true(vec__push(to, part));
}

static int verdict_of(const struct plain_profile *p, uint32_t t, const struct dice *d)
{
	return d ? dice__chunk(d, p->block, p->series, p->types[t]) : COMPACT_KEEP;
}

/* What the filter says of a type of a chunk: DROP when it is not there. */
static int verdict_on(const struct plain_profile *p, uint32_t type, const struct dice *d)
{
	for (uint32_t t = 0; t < p->n_types; t++)
		if (p->types[t] == type)
			return verdict_of(p, t, d);
	return COMPACT_DROP;
}

/* Whether two types of a series are kept by the same chunks, and looked into in none. */
static bool are_together(const plain_profiles *in, uint32_t series, uint32_t a, uint32_t b,
			 const struct dice *d)
{
	for (size_t i = 0; i < in->n; i++) {
		const int x = verdict_on(&in->v[i], a, d), y = verdict_on(&in->v[i], b, d);

		if (in->v[i].series == series && (x != y || x == COMPACT_ASK))
			return false;
	}
	return true;
}

static int by_type(const void *a, const void *b, void *types)
{
	const uint32_t *x = a, *y = b, *numbers = types;

	return (numbers[*x] > numbers[*y]) - (numbers[*x] < numbers[*y]);
}

/*
 * What a profile is after the compaction: one for each of its types, with those that stay with it.
 */
static void expect(plain_profiles *to, const plain_profiles *in, struct plain_profile *p,
		   const struct dice *d)
{
	bool done[CHUNK_MAX_TYPES] = { false };

	for (uint32_t t = 0; t < p->n_types; t++) {
		uint32_t part[CHUNK_MAX_TYPES], n = 0;
		int verdict = verdict_of(p, t, d);

		if (done[t] || verdict == COMPACT_DROP)
			continue;
		part[n++] = t;
		for (uint32_t u = t + 1; u < p->n_types; u++)
			if (are_together(in, p->series, p->types[t], p->types[u], d)) {
				part[n++] = u;
				done[u] = true;
			}
		qsort_r(part, n, sizeof(part[0]), by_type, p->types);
		if (verdict == COMPACT_ASK) {
			verdict = dice__profile(d, p->types[t], p->time_ms);
			if (verdict == COMPACT_DROP)
				continue;
		}
		expect_part(to, p, d, part, n, verdict == COMPACT_ASK);
	}
}

/* -------------------------------------------------------------------------------------------------
 * Runs
 */

struct run {
	struct random_block inputs[MAX_INPUTS];
	const struct block *blocks[MAX_INPUTS];
	uint32_t n;
	struct buf outputs[MAX_OUTPUTS];
	uint32_t n_outputs;
};

static void run__init(struct run *run, struct random *r, uint32_t n, uint32_t max_rows)
{
	const bool apart = random__below(r, 2);

	*run = (struct run){ .n = n };
	for (uint32_t i = 0; i < n; i++) {
		const struct random_block_shape shape = {
			.first_ms = begin_ms + (apart ? i * 7200000 : 0),
			.span_ms = random__below(r, 3) ? 7200000 : 20,
			.n_series = (uint32_t)random__below(r, 5),
			.max_profiles = 9,
			.max_rows = max_rows,
			.zstd_level = (int)random__below(r, 2),
		};

		random_block__init(&run->inputs[i], r, &shape);
		run->blocks[i] = &run->inputs[i].block;
	}
}

static void run__fini(struct run *run)
{
	for (uint32_t i = 0; i < run->n; i++)
		random_block__fini(&run->inputs[i]);
	for (uint32_t i = 0; i < run->n_outputs; i++)
		buf__fini(&run->outputs[i]);
}

static int compact(struct run *run, const struct compact_job *job)
{
	const struct block_options o = { .id = "compacted", .era = 3, .level = 1, .zstd_level = 1 };
	struct compact *c = compact__new(job);
	struct block_info info;
	int r = c ? 1 : -ENOMEM;

	while (r > 0) {
		assert_true(run->n_outputs < MAX_OUTPUTS);
		r = compact__write(c, &o, put_to_buf, &run->outputs[run->n_outputs++], &info);
	}
	compact__free(c);
	return r;
}

static void same(const struct run *run, const struct dice *d)
{
	plain_profiles in = { 0 }, expected = { 0 }, got = { 0 };

	for (uint32_t i = 0; i < run->n; i++)
		plain__read(&in, run->blocks[i], i);
	for (size_t i = 0; i < in.n; i++)
		expect(&expected, &in, &in.v[i], d);
	plain__sort(&expected);
	for (uint32_t i = 0; i < run->n_outputs; i++) {
		struct block b;

		assert_int_equal(block__open(&b, run->outputs[i].data, run->outputs[i].n, NULL), 0);
		assert_int_equal(b.info.level, 1);
		plain__read(&got, &b, 0);
	}
	assert_true(got.n == expected.n);
	for (size_t i = 0; i < got.n; i++)
		assert_true(plain__same(&got.v[i], &expected.v[i]));
	plain__fini(&in);
	plain__fini(&expected);
	plain__fini(&got);
}

static void nothing_is_lost(void **state)
{
	(void)state;
	struct random r = { 21 };

	for (unsigned turn = 0; turn < 60; turn++) {
		struct run run;

		run__init(&run, &r, (uint32_t)random__below(&r, MAX_INPUTS) + 1, 300);
		const struct compact_job job = { .blocks = run.blocks, .n_blocks = run.n };
		assert_int_equal(compact(&run, &job), 0);
		assert_int_equal(run.n_outputs, 1);
		same(&run, NULL);
		run__fini(&run);
	}
}

static void a_filter_drops(void **state)
{
	(void)state;
	static const unsigned odds[] = { 0, 1, 2, 5 };
	struct random r = { 22 };
	unsigned n_asked = 0;

	for (unsigned turn = 0; turn < 150; turn++) {
		struct dice d = { .salt = random__next(&r),
				  .drop_chunk = random__below(&r, 2) ? 4 : 0,
				  .ask_chunk = odds[random__below(&r, 4)],
				  .drop_profile = odds[random__below(&r, 4)],
				  .ask_profile = odds[random__below(&r, 4)],
				  .drop_row = odds[random__below(&r, 4)] };
		const struct compact_filter filter = { on_chunk, on_profile, on_row, &d };
		struct run run;

		run__init(&run, &r, (uint32_t)random__below(&r, 3) + 1, 40);
		const struct compact_job job = { .blocks = run.blocks, .n_blocks = run.n, .filter = &filter };
		assert_int_equal(compact(&run, &job), 0);
		same(&run, &d);
		n_asked += d.n_asked;
		run__fini(&run);
	}
	assert_true(n_asked > 1000);
}

/* Damage in the last rows of a long chunk takes those from there on, and no more. */
static void loses_the_end(struct run *run)
{
	struct compact_lost lost = { 0 };
	const struct block_info *in = &run->blocks[0]->info;
	const struct chunk_entry *e = &run->blocks[0]->chunks[0];
	struct block out;

	run->inputs[0].bytes.data[64 + e->rows_bytes - 1] ^= 1;
	assert_int_equal(
		compact(run, &(struct compact_job){ .blocks = run->blocks, .n_blocks = 1, .lost = &lost }),
		0);
	assert_int_equal(block__open(&out, run->outputs[1].data, run->outputs[1].n, NULL), 0);
	assert_int_equal(lost.n_chunks, 1);
	assert_true(lost.n_rows > 0 && lost.n_rows < 2 * (2 * CHUNK_GROUP + 50000));
	assert_true(out.info.n_rows + lost.n_rows / 2 == in->n_rows);
	assert_true(out.info.n_profiles + lost.n_profiles / 2 == in->n_profiles);
}

/* A chunk longer than COMPACT_CHUNK_BYTES becomes several, and reads the same. */
static void long_chunks_are_cut(void **state)
{
	(void)state;
	enum { PROFILES = 40, ROWS = 50000 };
	const struct block_options o = { .id = "long" };
	struct chunk_profile profiles[PROFILES];
	uint32_t *stacks = mem__zalloc((size_t)PROFILES * ROWS, sizeof(*stacks));
	int64_t *values = mem__zalloc((size_t)PROFILES * ROWS * 2, sizeof(*values));
	struct run run = { .n = 1 };
	struct random r = { 23 };
	struct block_info info;
	struct block out;

	assert_true(stacks && values);
	for (uint32_t i = 0; i < PROFILES; i++)
		profiles[i] = (struct chunk_profile){ begin_ms + i, 1, 1, ROWS };
	for (uint32_t i = 0; i < PROFILES * ROWS; i++) {
		stacks[i] = i % ROWS * 3;
		values[i] = (int64_t)random__below(&r, 90);
		values[PROFILES * ROWS + i] = (int64_t)random__below(&r, 5) * -700;
	}
	struct block_writer *w = block_writer__new(&o, put_to_buf, &run.inputs[0].bytes);
	assert_int_equal(block_writer__chunk(w, &(struct chunk_source){ .n_types = 2,
									.types = { 3, 4 },
									.n_profiles = PROFILES,
									.profiles = profiles,
									.n_rows = PROFILES * ROWS,
									.stacks = stacks,
									.values = values }),
			 0);
	assert_int_equal(block_writer__finish(w, &info), 0);
	block_writer__free(w);
	free(stacks);
	free(values);
	assert_int_equal(block__open(&run.inputs[0].block, run.inputs[0].bytes.data,
				     run.inputs[0].bytes.n, NULL),
			 0);
	run.blocks[0] = &run.inputs[0].block;
	assert_int_equal(compact(&run, &(struct compact_job){ .blocks = run.blocks, .n_blocks = 1 }), 0);
	assert_int_equal(block__open(&out, run.outputs[0].data, run.outputs[0].n, NULL), 0);
	assert_true(out.info.n_chunks >= 3);
	same(&run, NULL);
	loses_the_end(&run);
	run__fini(&run);
}

/* -------------------------------------------------------------------------------------------------
 * When it cannot be done
 */

static bool at_once(void *ctx)
{
	(void)ctx;
	return true;
}

static void it_can_be_stopped(void **state)
{
	(void)state;
	struct random r = { 24 };
	struct run run;

	run__init(&run, &r, 2, 40);
	assert_int_equal(compact(&run, &(struct compact_job){ .blocks = run.blocks,
							      .n_blocks = 2,
							      .cancelled = at_once }),
			 -ECANCELED);
	run__fini(&run);
}

/* Profiles and rows of each type. */
static void count(const struct block *b, uint64_t *n_profiles, uint64_t *n_rows)
{
	for (uint64_t i = 0; i < b->info.n_chunks; i++) {
		*n_profiles += (uint64_t)b->chunks[i].n_profiles * b->chunks[i].n_types;
		*n_rows += b->chunks[i].n_rows * b->chunks[i].n_types;
	}
}

/*
 * Flips bytes of one input. The compaction says whose they are, or the output is right; and where
 * losses are counted, what is left and what is lost are all there was.
 */
static void damage_is_told(void **state)
{
	(void)state;
	struct random r = { 25 };
	unsigned n_told = 0, n_lost = 0;

	for (unsigned turn = 0; turn < 150; turn++) {
		struct compact_lost lost[MAX_INPUTS] = { 0 };
		struct run run, salvaged;
		struct block out;
		uint64_t n_profiles = 0, n_rows = 0;

		run__init(&run, &r, 3, 90);
		struct block_info *bad = &run.inputs[1].block.info;
		const size_t end = bad->bytes - 184 - (size_t)bad->n_chunks * 144;

		for (uint32_t i = 0; i < run.n; i++)
			count(run.blocks[i], &n_profiles, &n_rows);
		if (end > 64)
			run.inputs[1].bytes.data[64 + random__below(&r, end - 64)] ^= 1;
		salvaged = run;
		struct compact_job job = { .blocks = run.blocks, .n_blocks = run.n };
		struct compact *c = compact__new(&job);
		struct block_info info;
		const struct block_options o = { .id = "out" };
		int e = compact__write(c, &o, put_to_buf, &run.outputs[run.n_outputs++], &info);

		assert_true(e == 0 || e == -EBADMSG);
		if (e < 0) {
			assert_int_equal(compact__bad_block(c), 1);
			n_told++;
		}
		compact__free(c);
		job.lost = lost;
		assert_int_equal(compact(&salvaged, &job), 0);
		assert_int_equal(
			block__open(&out, salvaged.outputs[0].data, salvaged.outputs[0].n, NULL), 0);
		assert_true((lost[1].n_chunks > 0) == (e < 0));
		uint64_t profiles_left = 0, rows_left = 0;
		count(&out, &profiles_left, &rows_left);
		assert_true(profiles_left + lost[1].n_profiles == n_profiles);
		assert_true(rows_left + lost[1].n_rows == n_rows);
		n_lost += lost[1].n_rows > 0;
		buf__fini(&salvaged.outputs[0]);
		run__fini(&run);
	}
	assert_true(n_told > 50 && n_lost > 50);
}

/* A directory whose series do not ascend: its checksums are right, so somebody made it. */
static void unsorted_directory(void **state)
{
	(void)state;
	struct random r = { 26 };
	struct compact_lost lost[2] = { 0 };
	struct run run;

	run__init(&run, &r, 2, 20);
	random_block__fini(&run.inputs[1]);
	random_block__init(&run.inputs[1], &r,
			   &(struct random_block_shape){ begin_ms, 1000, 4, 3, 20, 0 });
	assert_true(run.blocks[1]->info.n_chunks > 3);
	struct chunk_entry *entries = (struct chunk_entry *)(uintptr_t)run.blocks[1]->chunks;
	entries[0].series = 100;
	assert_int_equal(compact(&run, &(struct compact_job){ .blocks = run.blocks, .n_blocks = 2 }),
			 -EBADMSG);
	assert_int_equal(
		compact(&run, &(struct compact_job){ .blocks = run.blocks, .n_blocks = 2, .lost = lost }),
		0);
	assert_true(lost[1].n_chunks == run.blocks[1]->info.n_chunks - 1);
	run__fini(&run);
}

static void no_memory(void **state)
{
	(void)state;
	struct random r = { 27 };
	struct run run;

	run__init(&run, &r, 3, 60);
	FAILMALLOC_SWEEP (i) {
		struct run turn = run;
		int e = compact(&turn, &(struct compact_job){ .blocks = run.blocks, .n_blocks = run.n });

		failmalloc__disarm();
		assert_true(e == 0 || e == -ENOMEM);
		if (e == 0)
			same(&turn, NULL);
		for (uint32_t k = 0; k < turn.n_outputs; k++)
			buf__fini(&turn.outputs[k]);
	}
	run__fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost),     cmocka_unit_test(a_filter_drops),
		cmocka_unit_test(long_chunks_are_cut), cmocka_unit_test(it_can_be_stopped),
		cmocka_unit_test(damage_is_told),      cmocka_unit_test(unsorted_directory),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
