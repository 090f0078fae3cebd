/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_ebpf_mappings.c - process images of more mappings than programs look through
 */
#include "tests/unit/ebpf_host.h"
#include "tests/unit/ebpf_memory.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>

#if defined(__x86_64__)

struct fixture {
	struct ebpf_memory memory;
	struct tables *tables;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct tables_memory memory = ebpf_memory__of(&f->memory);

	f->tables = tables__new(&memory, 16 << 20);
	assert_non_null(f->tables);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tables__free(f->tables);
	free(f);
	return 0;
}

/* How many mappings << 32, and where, programs see of it; 0: none. */
static uint64_t slot_of(const struct fixture *f, const struct tables_image *image)
{
	const struct tables_bucket *b = &f->memory.buckets[tables_bucket_of(image->pid)];

	for (int i = 0; i < TABLES_WAYS; i++)
		if (b->slot[i].pid == image->pid)
			return b->slot[i].mappings;
	return 0;
}

/* Pages of memory with gaps between them, and above them two files: as a JIT, the program's libraries. */
static struct tables_range *many(uint32_t n)
{
	struct tables_range *ranges = calloc(n + 2, sizeof(*ranges));

	assert_non_null(ranges);
	for (uint64_t i = 0; i < n + 2; i++)
		ranges[i] = (struct tables_range){ (i + 1) << 20, ((i + 1) << 20) + 4096, 0,
						   i < n ? TABLES_MEMORY : TABLES_PENDING, NULL };
	return ranges;
}

static void test_too_many_mappings_are_cut(void **state)
{
	enum { N = TABLES_MAPPINGS + 10 };
	struct tables_range *ranges = many(N);
	struct tables_image image = { 77, 1, 1 };
	struct fixture *f = *state;
	uint32_t kept = 0;

	/* Two that are larger than others. */
	ranges[N - 1].end += 4096;
	ranges[N / 2].end += 8192;
	assert_int_equal(tables__announce(f->tables, &image, 0, ranges, N + 2), -E2BIG);
	assert_int_equal(slot_of(f, &image) >> 32, TABLES_MAPPINGS);
	assert_int_equal(tables__stat(f->tables).no_room, 12);
	for (uint32_t i = 0; i < N; i++) {
		bool is_kept = tables__bind(f->tables, &image, ranges[i].start, TABLES_MEMORY, NULL);

		assert_true(is_kept || (i != N - 1 && i != N / 2));
		kept += is_kept;
	}
	assert_int_equal(kept, TABLES_MAPPINGS - 2);
	for (uint32_t i = N; i < N + 2; i++)
		assert_true(tables__bind(f->tables, &image, ranges[i].start, TABLES_MEMORY, NULL));
	assert_false(tables__bind(f->tables, &image, 1, TABLES_MEMORY, NULL));
	/* A file that nobody handed over. */
	assert_false(tables__bind(f->tables, &image, ranges[N].start, TABLES_FILE, "no such file"));
	/* The vsyscall page is not among what programs compare. */
	ranges[1] = (struct tables_range){ 0xffffffffff600000, 0xffffffffff601000, 0, TABLES_MEMORY,
					   NULL };
	assert_int_equal(tables__announce(f->tables, &image, 0, ranges, 2), 0);
	assert_int_equal(slot_of(f, &image) >> 32, 1);
	tables__gone(f->tables, &image);
	free(ranges);
}

/* Memory that is in one piece, in however many mappings, is one. */
static void test_many_mappings_of_one_piece(void **state)
{
	enum { N = 2 * TABLES_MAPPINGS };
	struct tables_range *ranges = many(N);
	struct tables_image image = { 78, 1, 1 };
	struct fixture *f = *state;

	for (uint32_t i = 0; i < N; i++)
		if (i % 1000)
			ranges[i].start = ranges[i - 1].end, ranges[i].end = ranges[i].start + 4096;
	assert_int_equal(tables__announce(f->tables, &image, 0, ranges, N + 2), 0);
	assert_int_equal(slot_of(f, &image) >> 32, (N + 999) / 1000 + 2);
	assert_true(tables__bind(f->tables, &image, ranges[999].start, TABLES_MEMORY, NULL));
	assert_false(tables__bind(f->tables, &image, ranges[999].end, TABLES_MEMORY, NULL));
	for (uint32_t i = N; i < N + 2; i++)
		assert_true(tables__bind(f->tables, &image, ranges[i].start, TABLES_MEMORY, NULL));
	tables__gone(f->tables, &image);
	free(ranges);
}

/* A process of files alone has as many as fit. */
static void test_too_many_files(void **state)
{
	struct tables_range *ranges = many(TABLES_MAPPINGS);
	struct tables_image image = { 79, 1, 1 };
	struct fixture *f = *state;

	for (uint32_t i = 0; i < TABLES_MAPPINGS; i++)
		ranges[i].code = i % 100 ? TABLES_PENDING : TABLES_MEMORY;
	ranges[0].code = TABLES_PENDING;
	assert_int_equal(tables__announce(f->tables, &image, 0, ranges, TABLES_MAPPINGS + 2), -E2BIG);
	assert_int_equal(slot_of(f, &image) >> 32, TABLES_MAPPINGS);
	for (uint32_t i = 0; i < TABLES_MAPPINGS + 2; i++)
		if (ranges[i].code == TABLES_PENDING)
			assert_true(tables__bind(f->tables, &image, ranges[i].start, TABLES_MEMORY, NULL));
	for (uint32_t i = 0; i < TABLES_MAPPINGS + 2; i++)
		ranges[i].code = TABLES_PENDING;
	assert_int_equal(tables__announce(f->tables, &image, 0, ranges, TABLES_MAPPINGS + 2), -E2BIG);
	assert_int_equal(slot_of(f, &image) >> 32, TABLES_MAPPINGS);
	tables__gone(f->tables, &image);
	free(ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_many_mappings_are_cut),
		cmocka_unit_test(test_many_mappings_of_one_piece),
		cmocka_unit_test(test_too_many_files),
	};

	return cmocka_run_group_tests_name("ebpf_mappings", tests, setup, teardown);
}

#else

SKIPPED_PROGRAM("ebpf_mappings", "tables are for x86-64")

#endif
