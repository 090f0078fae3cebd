/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_wire.c - a batch's own encoding, read from anybody's bytes
 *
 * The input is tried as it is, and once more with a header that fits, so that the checksum does not
 * keep everything out. What is taken must keep every rule, and come back the same when it is
 * written and read again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/batch/batch.h"
#include "core/codec/wire.h"
#include "tests/unit/batch_judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER_BYTES = 24 };

static void try(const uint8_t *data, size_t size)
{
	CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
	CLEANUP(batch__unrefp) struct dcm_batch *again = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	if (wire__decode(data, size, &batch, &err) < 0) {
		if (!err.text[0])
			abort();
		return;
	}
	/* The judge compares entries pairwise. */
	if (batch->n_strings + batch->n_stacks + batch->n_locations < 1000 &&
	    batch_judge__fault(batch, false))
		abort();
	struct buf bytes = { 0 };
	if (wire__encode(batch, &bytes) < 0 || wire__decode(bytes.data, bytes.n, &again, &err) < 0)
		abort();
	struct dcm_hash x = batch__content(batch), y = batch__content(again);
	if (x.lo != y.lo || x.hi != y.hi)
		abort();
	buf__fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try(data, size);
	if (size < HEADER_BYTES)
		return 0;
	uint8_t *fitting = malloc(size);
	if (!fitting)
		return 0;
	uint64_t n = size - HEADER_BYTES;
	memcpy(fitting, data, size);
	memcpy(fitting, "DCMB\1\0\0\0", 8);
	memcpy(fitting + 8, &n, sizeof(n));
	uint64_t sum = hash__bytes(fitting + HEADER_BYTES, n, 0);
	memcpy(fitting + 16, &sum, sizeof(sum));
	try(fitting, size);
	free(fitting);
	return 0;
}
