/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_pprof.c - pprof from anybody: refused with a sentence, or a batch that keeps its rules
 *
 * What was read is written and read again, twice: stand-ins for odd build ids are not written, so
 * it is the third batch that must say what the second did.
 */
#include "core/batch/batch.h"
#include "core/codec/pprof.h"
#include "fuzz/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dcm_batch *again(struct dcm_batch *b)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *ret = NULL;
	struct buf out = { 0 };

	verdict__expect(pprof__encode_raw(b, DCM_NONE, &out, &err) == 0, err.text);
	verdict__expect(pprof__decode(out.data, out.n, NULL, &ret, &err) == 0, err.text);
	batch__unref(b);
	buf__fini(&out);
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct decode_options limits = { .max_bytes = 4 << 20 };
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;
	const int answer = pprof__decode(data, size, &limits, &batch, &err);

	if (!verdict__decoded(answer, batch, &err))
		return 0;
	batch = again(batch);
	struct dcm_hash a = batch__content(batch);
	batch = again(batch);
	struct dcm_hash b = batch__content(batch);
	verdict__expect(a.lo == b.lo && a.hi == b.hi, "it says something else the next time");
	batch__unref(batch);
	return 0;
}
