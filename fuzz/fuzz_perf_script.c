/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_perf_script.c - perf script's text from anybody: refused with a sentence, or a batch
 * that keeps its rules
 *
 * What bytes look like is asked of the same input.
 */
#include "core/batch/batch.h"
#include "core/codec/codec.h"
#include "core/codec/perf_script.h"
#include "fuzz/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct decode_options limits = { .max_bytes = 4 << 20 };
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	codec__sniff(data, size);
	const int answer = perf_script__decode(data, size, &limits, &batch, &err);

	if (!verdict__decoded(answer, batch, &err))
		return 0;
	verdict__expect(batch->n_profiles > 0, "no profile and no sentence");
	batch__unref(batch);
	return 0;
}
