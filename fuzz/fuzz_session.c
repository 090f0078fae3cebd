/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_session.c - messages of a session, read from anybody's bytes
 *
 * The input is bodies of messages, each behind two bytes of length. They come as the next message of one session,
 * whatever they say of it, and with a header that fits, so that neither keeps everything out. What is taken must keep every
 * rule, have the hashes that a batch on its own would have, and come back the same by a session of our own.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/batch/batch.h"
#include "core/batch/identity.h"
#include "core/codec/session.h"
#include "tests/unit/batch_judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER_BYTES = 24, MESSAGES_MAX = 16 };

static void judge(const struct dcm_batch *batch)
{
	/* The judge compares entries pairwise. */
	if (batch->n_strings + batch->n_stacks + batch->n_locations < 1000 &&
	    batch_judge__fault(batch, false))
		abort();
}

static void send_again(struct dcm_session *from, struct dcm_sessions *to, const struct dcm_batch *batch)
{
	CLEANUP(batch__unrefp) struct dcm_batch *again = NULL;
	CLEANUP(buf__fini) struct buf bytes = { 0 };
	bool is_kept;

	if (session__encode(from, batch, &bytes, NULL) < 0 ||
	    sessions__decode(to, bytes.data, bytes.n, 0, &again, &is_kept, NULL) < 0 || !is_kept)
		abort();
	struct dcm_hash x = batch__content(batch), y = batch__content(again);
	if (x.lo != y.lo || x.hi != y.hi)
		abort();
}

/* The message with a header, a place and what follows of it. */
static void put(struct buf *out, uint8_t n_before, const uint8_t *data, size_t size)
{
	static const uint8_t header[HEADER_BYTES] = "DCMS\1";
	uint64_t n, sum;

	buf__append(out, header, sizeof(header));
	buf__le64(out, 1);
	buf__le64(out, 2);
	buf__byte(out, 1);
	buf__byte(out, n_before);
	buf__append(out, data, size);
	n = out->n - HEADER_BYTES;
	sum = hash__bytes(out->data + HEADER_BYTES, n, 0);
	memcpy(out->data + 8, &n, sizeof(n));
	memcpy(out->data + 16, &sum, sizeof(sum));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(session__freep) struct dcm_session *from = NULL;
	CLEANUP(sessions__freep) struct dcm_sessions *to = NULL;
	uint8_t n_before = 0;

	if (session__new(&from, NULL) < 0 || sessions__new(UINT64_C(1) << 30, &to, NULL) < 0)
		return 0;
	for (unsigned i = 0; i < MESSAGES_MAX && size >= 2; i++) {
		CLEANUP(batch__unrefp) struct dcm_batch *batch = NULL;
		CLEANUP(buf__fini) struct buf bytes = { 0 };
		struct dcm_error err = DCM_ERROR_INIT;
		size_t n = (size_t)(data[0] | data[1] << 8);
		bool is_kept = false;

		data += 2;
		size -= 2;
		n = n < size ? n : size;
		put(&bytes, n_before, data, n);
		data += n;
		size -= n;
		if (sessions__decode(to, bytes.data, bytes.n, 0, &batch, &is_kept, &err) < 0) {
			if (!err.text[0])
				abort();
			n_before = 0;
			continue;
		}
		n_before = is_kept ? (uint8_t)(n_before + 1) : 0;
		judge(batch);
		send_again(from, to, batch);
	}
	return 0;
}
