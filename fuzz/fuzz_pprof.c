/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_pprof.c - pprof from anybody: refused with a sentence, or a batch that keeps its rules
 *
 * What was read is written and read again, twice: stand-ins for odd build ids are not written, so
 * it is the third batch that must say what the second did.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/batch/batch.h"
#include "core/codec/pprof.h"
#include "tests/unit/batch_judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "%s\n", what);
	abort();
}

static struct dcm_batch *again(struct dcm_batch *b)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *ret = NULL;
	struct buf out = { 0 };

	expect(pprof__encode_raw(b, DCM_NONE, &out, &err) == 0, err.text);
	expect(pprof__decode(out.data, out.n, NULL, &ret, &err) == 0, err.text);
	batch__unref(b);
	buf__fini(&out);
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct decode_options limits = { .max_bytes = 4 << 20 };
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	if (pprof__decode(data, size, &limits, &batch, &err) < 0) {
		expect(err.text[0] != '\0', "refused without a sentence");
		return 0;
	}
	const char *fault = batch_judge__fault(batch, false);
	expect(!fault, fault);
	batch = again(batch);
	struct dcm_hash a = batch__content(batch);
	batch = again(batch);
	struct dcm_hash b = batch__content(batch);
	expect(a.lo == b.lo && a.hi == b.hi, "it says something else the next time");
	batch__unref(batch);
	return 0;
}
