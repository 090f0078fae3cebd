/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_arrow.c - Parca's WriteArrow from anybody: refused with a sentence, or a batch that keeps its rules, the same each time
 */
#include "core/batch/batch.h"
#include "core/codec/sampled.h"
#include "fuzz/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct dcm_label_text ours[] = { { { "comm", 4 }, { "ours", 4 } } };
	const struct decode_options limits = {
		.max_bytes = 1 << 20, .time_ns = 1, .labels = ours, .n_labels = 1
	};
	struct dcm_batch *a = NULL, *b = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	const int answer = sampled__decode(data, size, &limits, &a, &err);

	if (!verdict__decoded(answer, a, &err))
		return 0;
	verdict__expect(sampled__decode(data, size, &limits, &b, &err) == 0, err.text);
	verdict__same(a, b);
	batch__unref(a);
	batch__unref(b);
	return 0;
}
