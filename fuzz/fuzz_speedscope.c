/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_speedscope.c - speedscope's JSON from anybody: refused with a sentence, or a batch that
 * keeps its rules
 *
 * What was read is written and must be readable again.
 */
#include "core/batch/batch.h"
#include "core/codec/speedscope.h"
#include "fuzz/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct decode_options limits = { .max_bytes = 1 << 20 };
	struct dcm_batch *first = NULL, *second = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };
	const int answer = speedscope__decode(data, size, &limits, &first, &err);

	if (!verdict__decoded(answer, first, &err))
		return 0;
	if (first->n_profiles > 0) {
		verdict__expect(speedscope__encode(first, DCM_NONE, &out, &err) == 0, err.text);
		verdict__expect(speedscope__decode(out.data, out.n, NULL, &second, &err) == 0, err.text);
		verdict__expect(second->n_profiles == first->n_profiles,
				"profiles are missing the second time");
	}
	batch__unref(first);
	batch__unref(second);
	buf__fini(&out);
	return 0;
}
