/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_perf_script.c - perf script's text from anybody: refused with a sentence, or a batch
 * that keeps its rules
 *
 * What bytes look like is asked of the same input.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/batch/batch.h"
#include "core/codec/codec.h"
#include "core/codec/perf_script.h"
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
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	codec__sniff(data, size);
	if (perf_script__decode(data, size, &limits, &batch, &err) < 0) {
		expect(err.text[0] != '\0', "refused without a sentence");
		return 0;
	}
	const char *fault = batch_judge__fault(batch, false);
	expect(!fault, fault);
	expect(batch->n_profiles > 0, "no profile and no sentence");
	batch__unref(batch);
	return 0;
}
