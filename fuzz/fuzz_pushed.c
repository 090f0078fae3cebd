/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_pushed.c - push.v1 and WriteRaw requests from anybody: refused with a sentence, or a batch that keeps its rules
 *
 * The same bytes get the same id and content each time: a store takes the second for a retry.
 */
#include "core/batch/batch.h"
#include "core/codec/codec.h"
#include "fuzz/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_as(const char *format, const uint8_t *data, size_t size)
{
	static const struct decode_options limits = { .max_bytes = 1 << 20,
						      .time_ns = 1,
						      .identity = DCM_IDENTITY_TIMED };
	struct dcm_batch *a = NULL, *b = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	const int answer = codec__decode_with(format, data, size, &limits, &a, &err);

	if (!verdict__decoded(answer, a, &err))
		return;
	verdict__expect(codec__decode_with(format, data, size, &limits, &b, &err) == 0, err.text);
	verdict__same(a, b);
	batch__unref(a);
	batch__unref(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_as("push.v1", data, size);
	try_as("push.v1.json", data, size);
	try_as("writeraw", data, size);
	return 0;
}
