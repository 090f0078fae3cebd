/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_speedscope.c - speedscope's JSON from anybody: refused with a sentence, or a batch that
 * keeps its rules
 *
 * What was read is written and must be readable again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/batch/batch.h"
#include "core/codec/speedscope.h"
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
	static const struct decode_options limits = { .max_bytes = 1 << 20 };
	struct dcm_batch *first = NULL, *second = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };

	if (speedscope__decode(data, size, &limits, &first, &err) < 0) {
		expect(err.text[0] != '\0', "refused without a sentence");
		return 0;
	}
	const char *fault = batch_judge__fault(first, false);
	expect(!fault, fault);
	if (first->n_profiles > 0) {
		expect(speedscope__encode(first, DCM_NONE, &out, &err) == 0, err.text);
		expect(speedscope__decode(out.data, out.n, NULL, &second, &err) == 0, err.text);
		expect(second->n_profiles == first->n_profiles,
		       "profiles are missing the second time");
	}
	batch__unref(first);
	batch__unref(second);
	buf__fini(&out);
	return 0;
}
