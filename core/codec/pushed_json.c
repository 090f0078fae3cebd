/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pushed_json.c - push.v1's request as JSON, by way of protobuf
 *
 * Both of protobuf's names for a field are read, as its JSON wants it of parsers.
 */
#include "core/base/buf.h"
#include "core/codec/pb_json.h"
#include "core/codec/pushed.h"

static const struct pb_json_field label_fields[] = {
	{ "name", 1, PB_JSON_TEXT, NULL },
	{ "value", 2, PB_JSON_TEXT, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message label = { "LabelPair", label_fields };
static const struct pb_json_field sample_fields[] = {
	{ "rawProfile", 1, PB_JSON_BYTES, NULL },
	{ "raw_profile", 1, PB_JSON_BYTES, NULL },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message sample = { "RawSample", sample_fields };
static const struct pb_json_field series_fields[] = {
	{ "labels", 1, PB_JSON_MESSAGE, &label },
	{ "samples", 2, PB_JSON_MESSAGE, &sample },
	{ NULL, 0, 0, NULL },
};
static const struct pb_json_message series = { "RawProfileSeries", series_fields };
static const struct pb_json_field request_fields[] = { { "series", 1, PB_JSON_MESSAGE, &series },
						       { NULL, 0, 0, NULL } };
static const struct pb_json_message request = { "PushRequest", request_fields };
static const struct pb_json push_json = { "push.v1", &request, "is refused" };

int pushed__decode_json(const uint8_t *data, size_t n, const struct decode_options *o,
			struct dcm_batch **ret, struct dcm_error *err)
{
	struct buf bytes = { 0 };
	int e = pb_json__read(&push_json, data, n, decode__max_bytes(o, DECODE_MAX_BYTES), &bytes, err);

	if (e == 0)
		e = pushed__decode(bytes.data, bytes.n, o, ret, err);
	buf__fini(&bytes);
	return e;
}
