/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_upload_ask.c - messages that ask about an upload of debuginfo, as anybody sent them
 *
 * The first byte says which one it is. What is read of it lies in it, and is read again when it is written down as the
 * schema has it.
 */
#include <stdlib.h>
#include <string.h>

#include "core/api/upload_ask.h"
#include "core/base/protobuf.h"
#include "core/base/str.h"
#include "fuzz/verdict.h"

enum { N_MESSAGES = UPLOAD_MARK_FINISHED + 1 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool lies_in(struct dcm_str body, struct dcm_str text)
{
	return text.n == 0 || (text.p >= body.p && text.p + text.n <= body.p + body.n);
}

static void put_ends(struct buf *out, uint32_t first, const struct upload_ask *q)
{
	pb__put_varint(out, first, q->force);
	pb__put_varint(out, first + 1, q->type);
	pb__put_varint(out, first + 2, q->id_type);
}

static void write_down(const struct upload_ask *q, enum upload_message message, struct buf *out)
{
	pb__put_str(out, 1, q->build_id);
	if (message == UPLOAD_SHOULD_INITIATE) {
		pb__put_str(out, 2, q->hash);
		put_ends(out, 3, q);
	} else if (message == UPLOAD_INITIATE) {
		pb__put_varint(out, 2, (uint64_t)q->bytes);
		pb__put_str(out, 3, q->hash);
		put_ends(out, 4, q);
	} else {
		pb__put_str(out, 2, q->upload_id);
		pb__put_varint(out, 3, q->type);
	}
}

static bool are_equal(const struct upload_ask *a, const struct upload_ask *b)
{
	return str__eq(a->build_id, b->build_id) && str__eq(a->hash, b->hash) &&
	       str__eq(a->upload_id, b->upload_id) && a->bytes == b->bytes &&
	       a->force == b->force && a->type == b->type && a->id_type == b->id_type;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum upload_message message;
	struct upload_ask q, again;
	struct buf written = { 0 };
	struct dcm_str body;
	char *copy;

	if (size == 0)
		return 0;
	message = data[0] % N_MESSAGES;
	/* Exactly as large as it is, so that a sanitizer sees a read behind it. */
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data + 1, size - 1);
	body = (struct dcm_str){ copy, (uint32_t)(size - 1) };
	if (upload_ask__read(body, message, &q)) {
		verdict__expect(lies_in(body, q.build_id) && lies_in(body, q.hash) &&
					lies_in(body, q.upload_id),
				"a text lies elsewhere");
		write_down(&q, message, &written);
		verdict__expect(upload_ask__read(buf__view(&written), message, &again) &&
					are_equal(&q, &again),
				"it is another one when it is read again");
	}
	buf__fini(&written);
	free(copy);
	return 0;
}
