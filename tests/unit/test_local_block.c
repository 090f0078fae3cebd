/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_local_block.c - blocks hold what went in, and a damaged one never says anything
 * else
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/hash.h"
#include "plugins/storage/local/block.h"
#include "plugins/storage/local/block_layout.h"
#include "plugins/storage/local/pfor.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random_chunk.h"

static int put(void *ctx, const void *p, size_t n)
{
	struct buf *b = ctx;

	buf__append(b, p, n);
	return b->error;
}

static int write_block(const struct random_chunk *chunks, size_t n, int zstd_level, struct buf *to,
		       struct block_info *ret)
{
	const struct block_options o = {
		.id = "sixteen bytes..", .era = 3, .level = 1, .zstd_level = zstd_level
	};
	struct block_writer *w = block_writer__new(&o, put, to);
	int r = w ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = block_writer__chunk(w, &chunks[i].source);
	if (r == 0)
		r = block_writer__finish(w, ret);
	block_writer__free(w);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * What went in comes out
 */

static void same_profiles(const struct chunk *c, const struct chunk_source *s)
{
	struct chunk_profiles p = { 0 };
	uint64_t row = 0;

	assert_int_equal(chunk__profiles(c, CHUNK_WANT_TIMES | CHUNK_WANT_TOTALS | CHUNK_WANT_ROWS | CHUNK_WANT_SPANS,
					 &p),
			 0);
	assert_int_equal(p.n, s->n_profiles);
	for (uint32_t i = 0; i < p.n; i++) {
		assert_true(p.time_ms[i] == s->profiles[i].time_ms);
		assert_true(p.duration_ns[i] == s->profiles[i].duration_ns);
		assert_true(p.period[i] == s->profiles[i].period);
		assert_int_equal(p.n_rows[i], s->profiles[i].n_rows);
		for (uint32_t t = 0; t < s->n_types; t++) {
			int64_t sum = 0;

			if (c->types[t].flags & CHUNK_WIDE)
				continue;
			for (uint32_t k = 0; k < p.n_rows[i]; k++)
				sum += s->values[t * s->n_rows + row + k];
			assert_true((p.before[t][i + 1] - p.before[t][i]) * c->types[t].unit ==
				    (uint64_t)sum);
		}
		row += p.n_rows[i];
	}
	chunk_profiles__fini(&p);
}

/* Reads all rows from a page on, and holds them against the source. */
static void same_rows(const struct chunk *c, const struct chunk_source *s, const uint32_t *stacks,
		      const uint32_t *sets, uint64_t from)
{
	struct chunk_cursor *cur = chunk_cursor__new();
	struct chunk_page page;
	uint64_t row = from / PFOR_PAGE * PFOR_PAGE;
	int r = 0;

	assert_int_equal(chunk_cursor__begin(cur, c, from, true, (1u << s->n_types) - 1), 0);
	while ((r = chunk_cursor__next(cur, &page)) > 0) {
		assert_true(page.row == row);
		for (uint32_t i = 0; i < page.n; i++, row++) {
			assert_int_equal(stacks[page.ranks[i]], s->stacks[row]);
			assert_int_equal(page.labels ? sets[page.labels[i]] : 0,
					 s->labels ? s->labels[row] : 0);
			for (uint32_t t = 0; t < s->n_types; t++)
				assert_true(chunk__value(&c->types[t], page.values[t][i]) ==
					    s->values[t * s->n_rows + row]);
		}
	}
	assert_int_equal(r, 0);
	assert_true(row == s->n_rows || from >= s->n_rows);
	chunk_cursor__free(cur);
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static size_t place_of(const uint32_t *stacks, uint32_t n, uint32_t stack)
{
	const uint32_t *at = bsearch(&stack, stacks, n, sizeof(stack), by_number);

	assert_non_null(at);
	return (size_t)(at - stacks);
}

/* What plain addition makes of the profiles [first, end). */
static void add_plainly(const struct chunk_source *s, unsigned type, uint32_t first, uint32_t end,
			const uint32_t *stacks, uint32_t n, int64_t *ret)
{
	uint64_t row = 0;

	memset(ret, 0, n * sizeof(*ret));
	for (uint32_t i = 0; i < end; i++)
		for (uint32_t k = 0; k < s->profiles[i].n_rows; k++, row++)
			if (i >= first)
				ret[place_of(stacks, n, s->stacks[row])] +=
					s->values[type * s->n_rows + row];
}

/* By label set, some to each of three slots: the sums and who was where. */
static void same_sums_by_slot(const struct chunk *c, const struct chunk_source *s, struct random *r)
{
	const uint32_t n = c->entry->n_stacks;
	CLEANUP(mem__freep) int64_t *sums = calloc(3 * (size_t)n + 1, sizeof(*sums));
	CLEANUP(mem__freep) int64_t *plain = calloc(3 * (size_t)n + 1, sizeof(*plain));
	CLEANUP(mem__freep) uint32_t *stacks = calloc(n + 1, sizeof(*stacks));
	CLEANUP(mem__freep) uint32_t *sets = calloc(c->entry->n_label_sets + 1, sizeof(*sets));
	CLEANUP(mem__freep) uint8_t *slots = calloc(c->entry->n_label_sets + 1, sizeof(*slots));
	CLEANUP(mem__freep) uint64_t *seen = calloc(s->n_profiles, sizeof(*seen));
	struct chunk_cursor *cur = chunk_cursor__new();
	struct chunk_profiles p = { 0 };
	struct chunk_span span = { .chunk = c, .profiles = &p, .slots = slots, .seen = seen };
	uint64_t row = 0;

	assert_int_equal(chunk__profiles(c, CHUNK_WANT_TIMES | CHUNK_WANT_ROWS, &p), 0);
	assert_int_equal(chunk__stacks(c, stacks, sets), 0);
	span.type = (unsigned)random__below(r, s->n_types);
	span.first = (uint32_t)random__below(r, p.n);
	span.n = (uint32_t)random__below(r, p.n - span.first) + 1;
	for (uint32_t i = 0; i < c->entry->n_label_sets; i++)
		slots[i] = (uint8_t)random__below(r, 3);
	if (!(c->types[span.type].flags & CHUNK_WIDE))
		assert_int_equal(chunk__sum_rows(cur, &span, sums),
				 c->entry->flags & CHUNK_LABELS ? 0 : -EBADMSG);
	for (uint32_t i = 0; i < span.first + span.n; i++) {
		uint64_t expected = 0;

		for (uint32_t k = 0; k < s->profiles[i].n_rows; k++, row++) {
			if (i < span.first || !(c->entry->flags & CHUNK_LABELS))
				continue;
			const uint8_t slot = slots[place_of(sets, c->entry->n_label_sets, s->labels[row])];
			int64_t *sum = &plain[slot * (size_t)n + place_of(stacks, n, s->stacks[row])];

			expected |= (uint64_t)1 << slot;
			*sum = (int64_t)((uint64_t)*sum +
					 (uint64_t)s->values[span.type * s->n_rows + row]);
		}
		if (i >= span.first && !(c->types[span.type].flags & CHUNK_WIDE))
			assert_int_equal(seen[i - span.first], expected);
	}
	if (!(c->types[span.type].flags & CHUNK_WIDE))
		assert_memory_equal(sums, plain, 3 * (size_t)n * sizeof(*sums));
	chunk_profiles__fini(&p);
	chunk_cursor__free(cur);
}

static unsigned n_narrow; /* sums that had 32 bits */

/* The rollup and its stacks, page by page. */
static void same_rollup(const struct chunk *c, unsigned type, const uint32_t *stacks, const int64_t *sums)
{
	struct chunk_sums *it = calloc(1, sizeof(*it));
	uint32_t at = 0;
	int n;

	assert_non_null(it);
	assert_int_equal(chunk_sums__begin(it, c, type), 0);
	for (; (n = chunk_sums__next(it)) > 0; at += (uint32_t)n) {
		assert_in_range(at + (uint32_t)n, 1, c->entry->n_stacks);
		assert_memory_equal(it->ids, stacks + at, (size_t)n * sizeof(*stacks));
		assert_memory_equal(it->values, sums + at, (size_t)n * sizeof(*sums));
	}
	assert_int_equal(n, 0);
	assert_int_equal(at, c->entry->n_stacks);
	free(it);
}

/* The same sums in units of the type, where these have 32 bits. */
static void same_narrow(struct chunk_cursor *cur, const struct chunk_span *span, const int64_t *sums)
{
	const struct chunk_type *t = &span->chunk->types[span->type];
	const uint32_t n = span->chunk->entry->n_stacks;
	CLEANUP(mem__freep) uint32_t *narrow = calloc(n + 1, sizeof(*narrow));

	if (!chunk__is_narrow(t))
		return;
	n_narrow++;
	assert_int_equal(chunk__sum_narrow(cur, span, narrow), 0);
	for (uint32_t i = 0; i < n; i++)
		assert_true((int64_t)(narrow[i] * t->unit) == sums[i]);
}

/*
 * Sums over runs of profiles, held against plain addition; and the rollup, against the sum over
 * all.
 */
static void same_sums(const struct chunk *c, const struct chunk_source *s, struct random *r)
{
	const uint32_t n = c->entry->n_stacks;
	CLEANUP(mem__freep) int64_t *sums = calloc(n + 1, sizeof(*sums));
	CLEANUP(mem__freep) int64_t *plain = calloc(n + 1, sizeof(*plain));
	CLEANUP(mem__freep) uint32_t *stacks = calloc(n + 1, sizeof(*stacks));
	struct chunk_cursor *cur = chunk_cursor__new();
	struct chunk_profiles p = { 0 };
	const unsigned t = (unsigned)random__below(r, s->n_types);

	assert_int_equal(chunk__profiles(c, CHUNK_WANT_TIMES | CHUNK_WANT_ROWS, &p), 0);
	assert_int_equal(chunk__stacks(c, stacks, NULL), 0);
	for (unsigned turn = 0; turn < 3 && !(c->types[t].flags & CHUNK_WIDE); turn++) {
		const uint32_t first = turn ? (uint32_t)random__below(r, p.n) : 0;
		const uint32_t k = turn ? (uint32_t)random__below(r, p.n - first) + 1 : p.n;

		const struct chunk_span span = {
			.chunk = c, .profiles = &p, .first = first, .n = k, .type = t
		};

		memset(sums, 0, n * sizeof(*sums));
		assert_int_equal(chunk__sum_rows(cur, &span, sums), 0);
		add_plainly(s, t, first, first + k, stacks, n, plain);
		assert_memory_equal(sums, plain, n * sizeof(*sums));
		same_narrow(cur, &span, plain);
		if (turn)
			continue;
		same_rollup(c, t, stacks, plain);
	}
	chunk_profiles__fini(&p);
	chunk_cursor__free(cur);
}

static void same_chunk(const struct chunk *c, const struct chunk_source *s, struct random *r)
{
	CLEANUP(mem__freep) uint32_t *stacks = calloc(c->entry->n_stacks + 1, sizeof(*stacks));
	CLEANUP(mem__freep) uint32_t *sets = calloc(c->entry->n_label_sets + 1, sizeof(*sets));

	assert_int_equal(c->entry->series, s->series);
	assert_int_equal(c->entry->n_types, s->n_types);
	assert_true(c->entry->n_rows == s->n_rows);
	for (uint32_t t = 0; t < s->n_types; t++)
		assert_int_equal(c->types[t].type, s->types[t]);
	assert_int_equal(chunk__stacks(c, stacks, sets), 0);
	same_profiles(c, s);
	same_rows(c, s, stacks, sets, 0);
	same_rows(c, s, stacks, sets, random__below(r, s->n_rows + 1));
	same_sums(c, s, r);
	same_sums_by_slot(c, s, r);
}

static void what_went_in_comes_out(void **state)
{
	(void)state;
	struct random r = { 5 };
	unsigned n_of_flag[5] = { 0 }; /* chunks; all ways to write one are met */

	for (unsigned turn = 0; turn < 40; turn++) {
		const size_t n = random__below(&r, 4);
		struct random_chunk chunks[4];
		struct buf bytes = { 0 };
		struct block_info info;
		struct block b;
		struct chunk c;

		for (uint32_t i = 0; i < n; i++) {
			struct random_shape shape = random_shape(&r);
			random_chunk__init(&chunks[i], &r, &shape, i * 5);
		}
		assert_int_equal(write_block(chunks, n, (int)random__below(&r, 2), &bytes, &info), 0);
		assert_int_equal(block__open(&b, bytes.data, bytes.n, NULL), 0);
		assert_memory_equal(&b.info, &info, sizeof(info));
		assert_int_equal(info.n_chunks, n);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(block__find(&b, i * 5), i);
			assert_int_equal(block__find(&b, i * 5 + 1), i + 1);
			assert_int_equal(block__chunk(&b, i, &c), 0);
			same_chunk(&c, &chunks[i].source, &r);
			for (unsigned k = 0; k < 5; k++)
				n_of_flag[k] += c.entry->flags >> k & 1;
			random_chunk__fini(&chunks[i]);
		}
		buf__fini(&bytes);
	}
	assert_in_range(n_narrow, 20, 1000);
	for (unsigned k = 0; k < 5; k++)
		assert_in_range(n_of_flag[k], 5, 1000);
}

/* -------------------------------------------------------------------------------------------------
 * Damage
 */

static int mix_sums(const struct chunk *c, unsigned type, const uint32_t *stacks, uint64_t *h)
{
	struct chunk_sums it;
	int n = chunk_sums__begin(&it, c, type);

	while (n >= 0 && (n = chunk_sums__next(&it)) > 0)
		for (int k = 0; k < n; k++)
			*h = hash__mix(*h, (uint64_t)it.values[k] ^ *stacks++);
	return n;
}

/* Everything a question reads of a block, as one hash; 0 when the block says that it is damaged. */
static uint64_t read_all(const void *p, size_t n)
{
	struct chunk_cursor *cur = chunk_cursor__new();
	struct chunk_profiles profiles = { 0 };
	uint64_t h = 1;
	struct block b;
	struct chunk c;
	int r = block__open(&b, p, n, NULL);

	for (uint64_t i = 0; r == 0 && i < b.info.n_chunks; i++) {
		uint32_t stacks[2000], sets[2000];
		struct chunk_page page;

		r = block__chunk(&b, i, &c);
		assert_true(r < 0 || c.entry->n_stacks <= 2000);
		if (r == 0)
			r = chunk__stacks(&c, stacks, sets);
		if (r == 0)
			r = chunk__profiles(&c,
					    CHUNK_WANT_TIMES | CHUNK_WANT_TOTALS | CHUNK_WANT_ROWS |
						    CHUNK_WANT_SPANS,
					    &profiles);
		for (unsigned t = 0; r == 0 && t < c.entry->n_types; t++) {
			r = mix_sums(&c, t, stacks, &h);
			for (uint32_t k = 0; r == 0 && k < profiles.n; k++)
				h = hash__mix(h, (uint64_t)(profiles.time_ms[k] ^ profiles.duration_ns[k] ^
							    profiles.period[k]) ^
							 profiles.before[t][k + 1]);
		}
		if (r == 0)
			r = chunk_cursor__begin(cur, &c, 0, true, (1u << c.entry->n_types) - 1);
		while (r == 0 && (r = chunk_cursor__next(cur, &page)) > 0) {
			r = 0;
			for (uint32_t k = 0; k < page.n; k++)
				h = hash__mix(h, page.ranks[k] ^ page.values[0][k] ^
							 (page.labels ? sets[page.labels[k]] : 0));
		}
	}
	chunk_profiles__fini(&profiles);
	chunk_cursor__free(cur);
	return r < 0 ? 0 : h;
}

static void damage_is_found(void **state)
{
	(void)state;
	struct random r = { 6 };
	const struct random_shape shape = {
		.n_profiles = 3, .max_rows = 120, .n_stacks = 200, .n_label_sets = 3, .n_types = 2, .unit = 10
	};

	for (int zstd = 0; zstd < 2; zstd++) {
		struct random_chunk chunk;
		struct buf bytes = { 0 };
		struct block_info info;

		random_chunk__init(&chunk, &r, &shape, 1);
		assert_int_equal(write_block(&chunk, 1, zstd, &bytes, &info), 0);
		const uint64_t right = read_all(bytes.data, bytes.n);

		assert_true(right != 0);
		for (size_t i = 0; i < bytes.n; i++) {
			const uint8_t flip = (uint8_t)(1u << random__below(&r, 8));

			bytes.data[i] ^= flip;
			const uint64_t got = read_all(bytes.data, bytes.n);
			assert_true(got == 0 || got == right); /* the latter: between sections */
			bytes.data[i] ^= flip;
		}
		for (size_t n = 0; n < bytes.n; n++)
			assert_true(read_all(bytes.data, n) == 0);
		buf__fini(&bytes);
		random_chunk__fini(&chunk);
	}
}

/* The sums as whoever made it so would have them. */
static void sum_again(struct buf *bytes)
{
	struct block_header *h = (void *)bytes->data;
	struct block_footer *f = (void *)(bytes->data + bytes->n - sizeof(*f));
	const uint64_t seed = hash__bytes(h->id, sizeof(h->id), BLOCK_SEED);
	const struct block_span types = f->sections[BLOCK_TYPES], chunks = f->sections[BLOCK_CHUNKS];

	h->sum = hash__bytes(h, offsetof(struct block_header, sum), BLOCK_SEED);
	f->types_sum = hash__bytes(bytes->data + types.off, types.n, seed);
	f->chunks_sum = hash__bytes(bytes->data + chunks.off, chunks.n, seed);
	f->sum = hash__bytes(f, offsetof(struct block_footer, sum), seed);
}

/*
 * Each bit that a part's flags have: a block with one that is known may be damaged by it, one that
 * is not is a newer program's, and is never read as something else.
 */
static void unknown_flags_are_refused(void **state)
{
	(void)state;
	const struct random_shape shape = {
		.n_profiles = 3, .max_rows = 4, .n_stacks = 9, .n_label_sets = 1, .n_types = 2, .unit = 10
	};
	struct random r = { 3 };
	struct random_chunk chunk;
	struct buf bytes = { 0 };
	struct block_info info;
	struct block b;

	random_chunk__init(&chunk, &r, &shape, 0);
	assert_int_equal(write_block(&chunk, 1, 0, &bytes, &info), 0);
	assert_int_equal(block__open(&b, bytes.data, bytes.n, NULL), 0);
	struct chunk_entry *entry = (void *)(uintptr_t)&b.chunks[0];
	struct chunk_type *type = (void *)(uintptr_t)&b.types[1];
	struct block_header *h = (void *)bytes.data;

	for (unsigned i = 0; i < 32; i++) {
		const uint32_t bit = UINT32_C(1) << i;
		struct dcm_error err = DCM_ERROR_INIT;

		if (i < 16) {
			entry->flags ^= (uint16_t)bit;
			sum_again(&bytes);
			assert_int_equal(block__open(&b, bytes.data, bytes.n, &err),
					 bit & CHUNK_FLAGS ? 0 : -EPROTONOSUPPORT);
			entry->flags ^= (uint16_t)bit;
		}
		type->flags ^= bit;
		sum_again(&bytes);
		assert_int_equal(block__open(&b, bytes.data, bytes.n, &err),
				 bit & CHUNK_TYPE_FLAGS ? 0 : -EPROTONOSUPPORT);
		type->flags ^= bit;
		h->flags ^= bit;
		sum_again(&bytes);
		assert_int_equal(block__open(&b, bytes.data, bytes.n, &err), -EPROTONOSUPPORT);
		assert_non_null(strstr(err.text, "that this program does not know"));
		h->flags ^= bit;
	}
	/* What a later minor version adds can be done without. */
	h->minor++;
	sum_again(&bytes);
	assert_int_equal(block__open(&b, bytes.data, bytes.n, NULL), 0);
	random_chunk__fini(&chunk);
	buf__fini(&bytes);
}

static void newer_format_is_named(void **state)
{
	(void)state;
	struct buf bytes = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct block_info info;
	struct block b;

	assert_int_equal(write_block(NULL, 0, 0, &bytes, &info), 0);
	assert_int_equal(block__open(&b, bytes.data, bytes.n, &err), 0);
	assert_int_equal(info.n_chunks, 0);
	struct block_header *h = (void *)bytes.data;
	h->major = 2;
	h->sum = hash__bytes(h, offsetof(struct block_header, sum), BLOCK_SEED);
	assert_int_equal(block__open(&b, bytes.data, bytes.n, &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.text, "version 2.0"));
	buf__fini(&bytes);
}

/* -------------------------------------------------------------------------------------------------
 * No room
 */

static int put_once(void *ctx, const void *p, size_t n)
{
	unsigned *left = ctx;

	(void)p;
	(void)n;
	return (*left)-- ? 0 : -ENOSPC;
}

static void full_disk(void **state)
{
	(void)state;
	const struct block_options o = { .id = "another sixteen" };
	const struct random_shape shape = {
		.n_profiles = 2, .max_rows = 40, .n_stacks = 90, .n_label_sets = 1, .n_types = 1, .unit = 10
	};
	struct random r = { 7 };
	struct random_chunk chunk;
	struct block_info info;
	unsigned enough = 0;

	random_chunk__init(&chunk, &r, &shape, 1);
	for (unsigned n = 0; !enough; n++) {
		unsigned left = n;
		struct block_writer *w = block_writer__new(&o, put_once, &left);
		int e = block_writer__chunk(w, &chunk.source);

		if (e == 0)
			e = block_writer__finish(w, &info);
		assert_true(e == 0 || e == -ENOSPC);
		enough = e == 0 ? n : 0;
		block_writer__free(w);
	}
	assert_true(enough > 5);
	random_chunk__fini(&chunk);
}

static void no_memory(void **state)
{
	(void)state;
	const struct random_shape shape = {
		.n_profiles = 3, .max_rows = 300, .n_stacks = 90, .n_label_sets = 3, .n_types = 2, .unit = 10
	};
	struct random r = { 8 };
	struct random_chunk chunk;
	uint64_t right = 0;

	random_chunk__init(&chunk, &r, &shape, 1);
	FAILMALLOC_SWEEP (i) {
		struct buf bytes = { 0 };
		struct block_info info;
		int e = write_block(&chunk, 1, 1, &bytes, &info);

		failmalloc__disarm();
		assert_true(e == 0 || e == -ENOMEM);
		if (e == 0)
			right = read_all(bytes.data, bytes.n);
		buf__fini(&bytes);
	}
	assert_true(right != 0);
	random_chunk__fini(&chunk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_went_in_comes_out),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(newer_format_is_named),
		cmocka_unit_test(unknown_flags_are_refused),
		cmocka_unit_test(full_disk),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
