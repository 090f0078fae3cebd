/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_folded.c - folded stacks from anybody: refused with a sentence, or a batch that keeps
 * its rules
 *
 * What was read is written and read again; the text must then be the same. So it must where each line is a stack, met once.
 */
#include <string.h>

#include "core/batch/batch.h"
#include "core/codec/folded.h"
#include "fuzz/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int folded_fn(const uint8_t *data, size_t n, const struct decode_options *o,
		      struct dcm_batch **ret, struct dcm_error *err);

static void try_to_read(folded_fn *decode, const uint8_t *data, size_t size)
{
	static const struct decode_options limits = { .max_bytes = 4 << 20 };
	struct dcm_batch *first = NULL, *second = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf one = { 0 }, two = { 0 };
	const int answer = decode(data, size, &limits, &first, &err);

	if (!verdict__decoded(answer, first, &err))
		return;
	verdict__expect(folded__encode(first, DCM_NONE, &one, &err) == 0, err.text);
	verdict__expect(folded__decode(one.data, one.n, NULL, &second, &err) == 0, err.text);
	verdict__expect(folded__encode(second, DCM_NONE, &two, &err) == 0, err.text);
	verdict__expect(one.n == two.n && (one.n == 0 || memcmp(one.data, two.data, one.n) == 0),
			"it reads otherwise the second time");
	batch__unref(first);
	batch__unref(second);
	buf__fini(&one);
	buf__fini(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_to_read(folded__decode, data, size);
	try_to_read(folded__decode_lines, data, size);
	return 0;
}
