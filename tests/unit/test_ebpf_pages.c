/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_pages.c - the heap of the unwind tables, and code pages, against brute force
 *
 * Looks into pages with the searches that the kernel runs, over tables made at random.
 */
#include "tests/unit/unit.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <asm/ptrace.h>
#include <linux/types.h>

#include "bpf/arch.bpf.h"
#include "core/base/mem.h"
#include "plugins/input/ebpf/tables/dictionary.h"
#include "plugins/input/ebpf/tables/heap.h"
#include "plugins/input/ebpf/tables/pages.h"
#include "tests/unit/failmalloc.h"
#include "tests/unit/random.h"

#define SECOND_NS 1000000000ll

/* ------------------------------------------------------------------------------------------------
 * The searches
 */

static struct heap *searched;

struct step;
static void *step_chunk(struct step *s, __u32 address)
{
	(void)s;
	return heap__chunk(searched, address);
}
static const struct unwind_rule *step_rule(struct step *s, __u32 number)
{
	(void)s;
	(void)number;
	return NULL;
}
static int step_word(struct step *s, __u64 addr, __u64 *ret)
{
	(void)s;
	(void)addr;
	(void)ret;
	return -1;
}
static int step_code(struct step *s, __u64 addr, __u8 *ret)
{
	return step_word(s, addr, (__u64 *)(void *)ret);
}
#include "bpf/step.h"

/* ------------------------------------------------------------------------------------------------
 * The heap
 */

static volatile __u64 recycled;
static uint32_t n_slabs;

static int make_slab(void *ctx, uint32_t slab, void **ret_memory)
{
	(void)ctx;
	assert_int_equal(slab, n_slabs);
	*ret_memory = calloc(TABLES_SLAB_CHUNKS, TABLES_CHUNK_BYTES);
	if (!*ret_memory)
		return -ENOMEM;
	n_slabs++;
	return 0;
}

static void unmake_slab(void *ctx, uint32_t slab, void *memory)
{
	(void)ctx;
	(void)slab;
	free(memory);
}

static struct heap *new_heap(uint64_t bytes)
{
	const struct heap_source source = { make_slab, unmake_slab, NULL, &recycled };

	n_slabs = 0;
	recycled = 0;
	return heap__new(&source, bytes);
}

static void test_objects_do_not_overlap_or_cross_chunks(void **state)
{
	enum { N = 2000 };
	struct object {
		uint32_t address, n;
		uint8_t mark;
	} *o = calloc(N, sizeof(*o));
	struct heap *h = new_heap(64 << 20);
	struct random seed = { 7 };
	uint64_t used = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		o[i].n = 1 + (uint32_t)(random__next(&seed) % (i % 10 == 0 ? TABLES_CHUNK_BYTES : 5000));
		o[i].mark = (uint8_t)(i + 1);
		assert_int_equal(heap__alloc(h, o[i].n, &o[i].address), 0);
		assert_true(o[i].address >= TABLES_IS_ADDRESS);
		assert_int_equal(o[i].address % 64, 0);
		assert_int_equal(o[i].address / TABLES_CHUNK_BYTES,
				 (o[i].address + o[i].n - 1) / TABLES_CHUNK_BYTES);
		memset(heap__at(h, o[i].address), o[i].mark, o[i].n);
		used += (o[i].n + 63) / 64 * 64;
		if (i % 3 == 2) {
			struct object *old = &o[random__next(&seed) % (uint64_t)i];

			if (old->n) {
				used -= (old->n + 63) / 64 * 64;
				assert_int_equal(
					heap__release(h, old->address, old->n, i * SECOND_NS / 100), 0);
				old->n = 0;
			}
			heap__recycle(h, i * SECOND_NS / 100);
		}
		assert_int_equal(heap__stat(h).used_bytes, used);
	}
	for (int i = 0; i < N; i++)
		for (uint32_t k = 0; k < o[i].n; k++)
			assert_int_equal(((uint8_t *)heap__at(h, o[i].address))[k], o[i].mark);
	assert_true(heap__stat(h).slab_bytes < 40 << 20);
	assert_true(recycled > 0);
	heap__free(h);
	free(o);
}

static void test_memory_rests_before_it_is_used_again(void **state)
{
	struct heap *h = new_heap(1 << 20);
	uint32_t a, b, other;
	int n = 0;

	(void)state;
	while (heap__alloc(h, TABLES_CHUNK_BYTES - 64, &a) == 0)
		n++;
	assert_int_equal(n, TABLES_SLAB_CHUNKS);
	assert_int_equal(heap__alloc(h, TABLES_CHUNK_BYTES, &b), -ENOSPC);
	a = TABLES_CHUNK_BYTES;
	assert_int_equal(heap__release(h, a, TABLES_CHUNK_BYTES - 64, 5 * SECOND_NS), 0);
	assert_false(heap__recycle(h, 5 * SECOND_NS + SECOND_NS / 2));
	assert_int_equal(heap__alloc(h, TABLES_CHUNK_BYTES - 64, &b), -ENOSPC);
	assert_int_equal(recycled, 0);
	assert_true(heap__recycle(h, 6 * SECOND_NS));
	assert_int_equal(recycled, 1);
	assert_int_equal(heap__alloc(h, TABLES_CHUNK_BYTES - 64, &b), 0);
	assert_int_equal(b, a);
	/* Zeroed again. */
	for (int i = 0; i < 64; i++)
		assert_int_equal(((uint8_t *)heap__at(h, b))[i], 0);
	assert_int_equal(heap__alloc(h, 64, &other), 0);
	assert_null(heap__chunk(h, 1 << 20));
	assert_non_null(heap__chunk(h, (1 << 20) - 1));
	heap__free(h);
}

/* ------------------------------------------------------------------------------------------------
 * Pages
 */

enum { ROWS_MAX = 60000, RULES = 500 };

/* Two segments, at file offsets in the other order than their addresses. */
static struct unwind_rows *random_rows(struct random *seed, uint32_t n, uint64_t spread)
{
	struct unwind_rows *r = calloc(1, sizeof(*r));
	uint64_t at = 0;

	r->n = n;
	r->base = 0x401000;
	r->at = calloc(n, sizeof(*r->at));
	r->rule = calloc(n, sizeof(*r->rule));
	r->segments = calloc(2, sizeof(*r->segments));
	r->n_segments = 2;
	for (uint32_t i = 0; i < n; i++) {
		r->at[i] = (uint32_t)at;
		r->rule[i] = (uint16_t)(1 + random__next(seed) % (RULES - 1));
		at += 1 + random__next(seed) % (random__next(seed) % 50 == 0 ? spread * 100 : spread);
	}
	r->rule[n - 1] = 0;
	r->segments[0] = (struct unwind_segment){ r->base, 0x123000, r->at[n / 2] };
	r->segments[1] = (struct unwind_segment){ r->base + r->at[n / 2], 0x1000,
						  r->at[n - 1] - r->at[n / 2] };
	/* The segments must not share file offsets. */
	r->segments[0].offset += r->segments[1].size / 4096 * 4096;
	r->covered_bytes = r->code_bytes = r->at[n - 1];
	return r;
}

static void free_rows(struct unwind_rows *r)
{
	free(r->at);
	free(r->rule);
	free(r->segments);
	free(r);
}

/* What the rows say of a file offset, looked for one by one. */
static uint16_t brute(const struct unwind_rows *r, uint64_t offset)
{
	for (uint32_t s = 0; s < r->n_segments; s++) {
		const struct unwind_segment *seg = &r->segments[s];
		uint64_t at = offset - seg->offset + seg->vaddr - r->base;
		uint32_t i;

		if (offset < seg->offset || offset >= seg->offset + seg->size)
			continue;
		for (i = 0; i + 1 < r->n && r->at[i + 1] <= at;)
			i++;
		return r->rule[i];
	}
	return 0;
}

static uint32_t found(uint32_t table, uint64_t offset)
{
	struct step s = { .table = table, .bias = 0 };

	assert_int_equal(step_open_table(&s), 0);
	return step_find_rule(&s, offset);
}

static void compare(struct heap *h, const struct unwind_rows *r, struct random *seed)
{
	uint16_t numbers[RULES];
	struct pages pages;

	for (uint32_t i = 0; i < RULES; i++)
		numbers[i] = (uint16_t)(i ? i + 7000 : 0);
	assert_int_equal(pages__build(h, r, numbers, 0, &pages), 0);
	searched = h;
	for (int i = 0; i < 3000; i++) {
		const struct unwind_segment *seg = &r->segments[random__next(seed) % 2];
		uint32_t row = (uint32_t)(random__next(seed) % r->n);
		uint64_t vaddr = r->base + r->at[row] - (random__next(seed) % 2);
		uint64_t offset = i % 2 ? seg->offset + random__next(seed) % (seg->size + 5000)
					: vaddr - seg->vaddr + seg->offset;
		uint16_t want = brute(r, offset);

		if (offset > 1ull << 40)
			continue;
		assert_int_equal(found(pages.table, offset), want ? numbers[want] : 0);
	}
	pages__release(&pages, h, 0);
	assert_int_equal(heap__stat(h).used_bytes, 0);
	heap__recycle(h, 2 * SECOND_NS);
}

static void test_pages_say_what_rows_say(void **state)
{
	static const struct {
		uint32_t n;
		uint64_t spread;
	} shapes[] = { { 2, 100 },   { 3, 5 },	   { 10, 3 },	{ 500, 1000 },
		       { 5000, 40 }, { 20000, 9 }, { 30000, 3 } };
	struct heap *h = new_heap(64 << 20);
	struct random seed = { 11 };

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		struct unwind_rows *r = random_rows(&seed, shapes[i].n, shapes[i].spread);

		compare(h, r, &seed);
		free_rows(r);
	}
	heap__free(h);
}

/* A row for each byte: more than a page holds. What does not fit has no rule, never a wrong one. */
static void test_an_overfull_page_forgets(void **state)
{
	struct heap *h = new_heap(64 << 20);
	uint16_t numbers[RULES];
	struct random seed = { 3 };
	struct unwind_rows *r = random_rows(&seed, ROWS_MAX, 1);
	struct pages pages;
	uint32_t none = 0, right = 0;

	(void)state;
	for (uint32_t i = 0; i < RULES; i++)
		numbers[i] = (uint16_t)i;
	assert_int_equal(pages__build(h, r, numbers, 0, &pages), 0);
	assert_true(pages.n_overfull > 0);
	searched = h;
	for (uint64_t offset = r->segments[1].offset;
	     offset < r->segments[1].offset + r->segments[1].size; offset += 7) {
		uint32_t got = found(pages.table, offset);

		none += got == 0;
		right += got && got == brute(r, offset);
		assert_true(got == 0 || got == brute(r, offset));
	}
	assert_true(none > 0 && right > 0);
	pages__release(&pages, h, 0);
	free_rows(r);
	heap__free(h);
}

static void test_no_room_leaves_nothing(void **state)
{
	struct heap *h = new_heap(1 << 20);
	uint16_t numbers[RULES] = { 0 };
	struct random seed = { 5 };
	struct unwind_rows *r = random_rows(&seed, ROWS_MAX, 3000);
	struct pages pages;

	(void)state;
	for (uint32_t i = 1; i < RULES; i++)
		numbers[i] = (uint16_t)i;
	while (r->n_segments) {
		if (pages__build(h, r, numbers, 0, &pages) == -ENOSPC)
			break;
		assert_true(pages.table > 0);
	}
	assert_int_equal(heap__stat(h).slab_bytes, 1 << 20);
	free_rows(r);
	heap__free(h);
	/* A file whose code spans more than pages can be listed. */
	h = new_heap(64 << 20);
	r = random_rows(&seed, 10, 10);
	r->segments[1].offset = 5ull << 30;
	assert_int_equal(pages__build(h, r, numbers, 0, &pages), -E2BIG);
	assert_int_equal(heap__stat(h).used_bytes, 0);
	free_rows(r);
	heap__free(h);
}

/* ------------------------------------------------------------------------------------------------
 * The dictionary
 */

static void test_equal_rules_have_one_number(void **state)
{
	struct unwind_rule *memory = calloc(800, sizeof(*memory));
	struct unwind_rule rules[80] = { { 0 } };
	uint16_t a[80], b[80];
	struct dictionary d;

	(void)state;
	dictionary__init(&d, memory, 800);
	for (int i = 1; i < 80; i++)
		rules[i] = (struct unwind_rule){ .cfa = UNWIND_CFA_SP, .cfa_off = i * 8 };
	assert_int_equal(dictionary__numbers(&d, rules, 60, a), 0);
	assert_int_equal(dictionary__numbers(&d, rules, 80, b), 0);
	assert_int_equal(a[0], 0);
	assert_memory_equal(a, b, 60 * sizeof(*a));
	for (int i = 1; i < 80; i++)
		assert_memory_equal(&memory[b[i]], &rules[i], sizeof(*rules));
	dictionary__fini(&d);
	free(memory);
}

/* Rules that nobody has any more leave their numbers to others; those that are kept keep theirs. */
static void test_numbers_are_given_anew(void **state)
{
	enum { CAPACITY = 802, N = 100, FILES = 20 };
	struct unwind_rule *memory = calloc(CAPACITY, sizeof(*memory));
	struct unwind_rule rules[N + 1] = { { 0 } };
	uint16_t numbers[FILES][N + 1];
	bool is_used[CAPACITY] = { false };
	struct dictionary d;

	(void)state;
	dictionary__init(&d, memory, CAPACITY);
	for (int round = 1; round < 50; round++) {
		for (int f = 0; f < FILES; f++) {
			for (int i = 1; i <= N; i++)
				rules[i] = (struct unwind_rule){ .cfa = UNWIND_CFA_SP,
								 .off = (int16_t)f,
								 .cfa_off = round * 1000 + i };
			if (f == 0 && round > 1)
				rules[1].cfa_off = 1001; /* it is there from the first round on */
			assert_int_equal(dictionary__numbers(&d, rules, N + 1, numbers[f]), 0);
			for (int i = 1; i <= N; i++)
				if (memory[numbers[f][i]].cfa != UNWIND_CFA_UNSUPPORTED)
					assert_memory_equal(&memory[numbers[f][i]], &rules[i],
							    sizeof(*rules));
		}
		assert_true(d.n_refused > 0);
		assert_true(dictionary__room(&d) < CAPACITY / 8);
		/* The first rule of the first file stays, and all of the last one. */
		memset(is_used, 0, sizeof(is_used));
		is_used[numbers[0][1]] = true;
		for (int i = 1; i <= N; i++)
			is_used[numbers[FILES - 1][i]] = true;
		assert_int_equal(dictionary__keep(&d, is_used), 0);
		assert_true(dictionary__room(&d) >= CAPACITY - 2 - N - 1);
		assert_int_equal(numbers[0][1], 2);
		assert_int_equal(memory[2].cfa_off, 1001);
	}
	assert_true(d.n <= CAPACITY);
	dictionary__fini(&d);
	free(memory);
}

/* A file of rules that nobody else has leaves room for others. */
static void test_no_file_takes_all_numbers(void **state)
{
	enum {
		CAPACITY = 800,
		MANY = 400,
		FEW = 50,
		SHARE = (CAPACITY - 2 + 7) / DICTIONARY_SHARE
	};
	struct unwind_rule *memory = calloc(CAPACITY, sizeof(*memory));
	struct unwind_rule rules[MANY] = { { 0 } };
	uint16_t many[MANY], few[FEW];
	struct dictionary d;

	(void)state;
	dictionary__init(&d, memory, CAPACITY);
	for (int i = 1; i < MANY; i++)
		rules[i] = (struct unwind_rule){ .cfa = UNWIND_CFA_SP, .cfa_off = i * 8 };
	assert_int_equal(dictionary__numbers(&d, rules, MANY, many), 0);
	assert_int_equal(d.n, 2 + SHARE);
	assert_int_equal(d.n_refused, MANY - 1 - SHARE);
	assert_memory_equal(&memory[many[SHARE]], &rules[SHARE], sizeof(*rules));
	/* The rule that ends a walk stands in. */
	assert_int_equal(memory[many[SHARE + 1]].cfa, UNWIND_CFA_UNSUPPORTED);
	for (int i = 1; i < FEW; i++)
		rules[i].off = 1;
	assert_int_equal(dictionary__numbers(&d, rules, FEW, few), 0);
	assert_int_equal(d.n_refused, MANY - 1 - SHARE);
	for (int i = 1; i < FEW; i++)
		assert_memory_equal(&memory[few[i]], &rules[i], sizeof(*rules));
	/* However many come. */
	for (int round = 2; round < 100; round++) {
		for (int i = 1; i < MANY; i++)
			rules[i].off = (int16_t)round;
		assert_int_equal(dictionary__numbers(&d, rules, MANY, many), 0);
	}
	assert_int_equal(d.n, CAPACITY);
	dictionary__fini(&d);
	free(memory);
}

static void test_memory_runs_out(void **state)
{
	struct random seed = { 9 };
	struct unwind_rows *r = random_rows(&seed, 3000, 100);
	uint16_t numbers[RULES] = { 0 };

	(void)state;
	FAILMALLOC_SWEEP (i) {
		struct pages pages = { 0 };
		struct heap *h = new_heap(64 << 20);
		int error = h ? pages__build(h, r, numbers, 0, &pages) : -ENOMEM;

		failmalloc__disarm();
		/* A slab that cannot be made is a heap that is full. */
		assert_true(error == 0 || error == -ENOMEM || error == -ENOSPC);
		if (error == 0)
			pages__release(&pages, h, 0);
		heap__free(h);
	}
	free_rows(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects_do_not_overlap_or_cross_chunks),
		cmocka_unit_test(test_memory_rests_before_it_is_used_again),
		cmocka_unit_test(test_pages_say_what_rows_say),
		cmocka_unit_test(test_an_overfull_page_forgets),
		cmocka_unit_test(test_no_room_leaves_nothing),
		cmocka_unit_test(test_equal_rules_have_one_number),
		cmocka_unit_test(test_numbers_are_given_anew),
		cmocka_unit_test(test_no_file_takes_all_numbers),
		cmocka_unit_test(test_memory_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
