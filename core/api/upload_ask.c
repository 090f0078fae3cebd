/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/api/upload_ask.c - the messages that ask about an upload of debuginfo
 */
#include "core/api/upload_ask.h"

#include "core/base/protobuf.h"
#include "core/base/str.h"

enum field { NO_FIELD, BUILD_ID, HASH, UPLOAD_ID, BYTES, FORCE, TYPE, ID_TYPE };

/* What field number n of a message stands for, at n - 1. */
enum { FIELDS = 6 };
static const enum field fields[][FIELDS] = {
	[UPLOAD_SHOULD_INITIATE] = { BUILD_ID, HASH, FORCE, TYPE, ID_TYPE },
	[UPLOAD_INITIATE] = { BUILD_ID, BYTES, HASH, FORCE, TYPE, ID_TYPE },
	[UPLOAD_MARK_FINISHED] = { BUILD_ID, UPLOAD_ID, TYPE },
};

static void take_text(enum field what, const struct pb_field *f, struct upload_ask *q)
{
	struct dcm_str text = { (const char *)f->p, (uint32_t)f->n };

	if (what == BUILD_ID)
		q->build_id = text;
	else if (what == HASH)
		q->hash = text;
	else if (what == UPLOAD_ID)
		q->upload_id = text;
}

static void take_number(enum field what, uint64_t n, struct upload_ask *q)
{
	if (what == BYTES)
		q->bytes = (int64_t)n;
	else if (what == FORCE)
		q->force = n;
	else if (what == TYPE)
		q->type = n;
	else if (what == ID_TYPE)
		q->id_type = n;
}

bool upload_ask__read(struct dcm_str body, enum upload_message message, struct upload_ask *ret)
{
	struct pb_reader r = pb__reader((const uint8_t *)body.p, body.n);
	struct pb_field f;

	*ret = (struct upload_ask){ .build_id = STR(""), .hash = STR(""), .upload_id = STR("") };
	while (pb__next(&r, &f)) {
		enum field what = f.number <= FIELDS ? fields[message][f.number - 1] : NO_FIELD;

		if (f.type == PB_BYTES)
			take_text(what, &f, ret);
		else if (f.type == PB_VARINT)
			take_number(what, f.value, ret);
	}
	return !r.fault;
}
