/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_pprof_many.c - pprofs of more samples than the decoder's first pass looks into
 */
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/protobuf.h"
#include "core/batch/batch.h"
#include "core/codec/pprof.h"
#include "tests/unit/pb_text.h"
#include "tests/unit/unit.h"

/* One stack a number: its bits, over locations 1 and 2, leaf first. */
static void append_stack_of_bits(struct buf *out, uint32_t number, uint32_t depth)
{
	uint8_t sample[64 + 4] = { 1 << 3 | 2, (uint8_t)depth };

	assert_true(depth <= 64);
	for (uint32_t i = 0; i < depth; i++)
		sample[2 + i] = (uint8_t)(1 + (number >> i % 32 & 1));
	sample[2 + depth] = 2 << 3; /* one value: 1 */
	sample[3 + depth] = 1;
	pb__put_bytes(out, 2, sample, depth + 4);
}

/* What the first pass does not count may be deeper than what it does, and nothing is lost. */
static void test_deeper_than_expected(void **state)
{
	(void)state;
	enum { N = 20000, SHALLOW = 15, DEEP = 60 };
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	struct buf b = { 0 };
	struct dcm_error err = DCM_ERROR_INIT;
	uint64_t n_locations = 0;

	pb_text__append(
		&b, "6:'' 6:'cpu' 6:'nanoseconds' 1:{1:1 2:2} 4:{1:1 3:0x1000} 4:{1:2 3:0x2000}");
	for (uint32_t i = 0; i < N; i++) {
		uint32_t depth = i < 1024 || i % 8 == 0 ? SHALLOW : DEEP;
		append_stack_of_bits(&b, i, depth);
		n_locations += depth;
	}
	if (pprof__decode(b.data, b.n, NULL, &batch, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(batch->n_rows, N);
	assert_int_equal(batch->n_stacks, N);
	assert_int_equal(batch->n_stack_locations, n_locations);
	for (uint32_t i = 0; i < N; i++) {
		struct dcm_span span = batch->stacks[batch->row_stacks[i]];
		for (uint32_t k = 0; k < span.n; k++)
			assert_int_equal(batch->stack_locations[span.off + k], i >> k % 32 & 1);
	}
	buf__fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deeper_than_expected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
