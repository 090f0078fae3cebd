/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_folded.c - folded stacks from anybody: refused with a sentence, or a batch that keeps
 * its rules
 *
 * What was read is written and read again; the text must then be the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch/batch.h"
#include "core/codec/folded.h"
#include "tests/unit/batch_judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct decode_options limits = { .max_bytes = 4 << 20 };
	struct dcm_batch *first = NULL, *second = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf one = { 0 }, two = { 0 };

	if (folded__decode(data, size, &limits, &first, &err) < 0) {
		expect(err.text[0] != '\0', "refused without a sentence");
		return 0;
	}
	const char *fault = batch_judge__fault(first, false);
	expect(!fault, fault);
	expect(folded__encode(first, DCM_NONE, &one, &err) == 0, err.text);
	expect(folded__decode(one.data, one.n, NULL, &second, &err) == 0, err.text);
	expect(folded__encode(second, DCM_NONE, &two, &err) == 0, err.text);
	expect(one.n == two.n && (one.n == 0 || memcmp(one.data, two.data, one.n) == 0),
	       "it reads otherwise the second time");
	batch__unref(first);
	batch__unref(second);
	buf__fini(&one);
	buf__fini(&two);
	return 0;
}
