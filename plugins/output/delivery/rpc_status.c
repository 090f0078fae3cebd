/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/rpc_status.c - google.rpc.Status
 */
#include "plugins/output/delivery/rpc_status.h"

#include <nettle/base64.h>

#include "core/base/protobuf.h"
#include "core/base/str.h"

#define SECOND	    INT64_C(1000000000)
#define LONGEST_S   3600  /* beyond it nobody waits */
#define TRAILER_MAX 16384 /* bytes; more is not read */

/* Duration { seconds = 1, nanos = 2 } in RetryInfo { retry_delay = 1 } */
static int64_t read_delay(struct dcm_str retry_info)
{
	struct pb_reader reader = pb__reader_of(retry_info);
	struct pb_field delay, f;
	int64_t s = 0, ns = 0;

	while (pb__next(&reader, &delay)) {
		if (delay.number != 1 || delay.type != PB_BYTES)
			continue;
		struct pb_reader inner = pb__reader(delay.p, delay.n);
		while (pb__next(&inner, &f)) {
			if (f.number == 1 && f.type == PB_VARINT)
				s = (int64_t)f.value;
			else if (f.number == 2 && f.type == PB_VARINT)
				ns = (int64_t)f.value;
		}
	}
	if (s < 0 || ns < 0 || ns >= SECOND)
		return 0;
	return s < LONGEST_S ? s * SECOND + ns : LONGEST_S * SECOND;
}

/* Any { type_url = 1, value = 2 } */
static void read_detail(struct dcm_str any, struct rpc_status *ret)
{
	struct dcm_str type = STR(""), value = STR("");
	struct pb_reader reader = pb__reader_of(any);
	struct pb_field f;

	while (pb__next(&reader, &f)) {
		if (f.number == 1 && f.type == PB_BYTES)
			type = pb__str(&f);
		else if (f.number == 2 && f.type == PB_BYTES)
			value = pb__str(&f);
	}
	if (!str__ends(type, STR("/google.rpc.RetryInfo")))
		return;
	ret->has_retry = true;
	ret->retry_ns = read_delay(value);
}

/* Status { code = 1, message = 2, details = 3 } */
struct rpc_status rpc_status__read(struct dcm_str message)
{
	struct rpc_status s = { .message = STR("") };
	struct pb_reader reader = pb__reader_of(message);
	struct pb_field f;

	while (pb__next(&reader, &f)) {
		if (f.number == 2 && f.type == PB_BYTES)
			s.message = pb__str(&f);
		else if (f.number == 3 && f.type == PB_BYTES)
			read_detail(pb__str(&f), &s);
	}
	return s;
}

struct rpc_status rpc_status__of_trailer(struct dcm_str base64)
{
	struct buf bytes = { 0 };
	struct rpc_status s = { .message = STR("") };
	struct base64_decode_ctx ctx;

	base64_decode_init(&ctx);
	for (uint32_t i = 0; i < base64.n && i < TRAILER_MAX; i++) {
		uint8_t byte;
		const int n = base64_decode_single(&ctx, &byte, base64.p[i]);

		if (n < 0)
			break;
		if (n > 0)
			buf__byte(&bytes, byte);
	}
	if (!bytes.error)
		s = rpc_status__read(buf__view(&bytes));
	s.message = STR("");
	buf__fini(&bytes);
	return s;
}
