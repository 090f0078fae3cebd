/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/rpc_status.c - google.rpc.Status
 */
#include "plugins/output/delivery/rpc_status.h"

#include "core/base/str.h"
#include "plugins/output/delivery/message.h"

#define SECOND	    INT64_C(1000000000)
#define LONGEST_S   3600  /* beyond it nobody waits */
#define TRAILER_MAX 16384 /* bytes; more is not read */

/* Duration { seconds = 1, nanos = 2 } in RetryInfo { retry_delay = 1 } */
static int64_t read_delay(struct dcm_str retry_info)
{
	struct message_field delay, f;
	int64_t s = 0, ns = 0;

	while (message__next(&retry_info, &delay)) {
		if (delay.number != 1 || delay.wire != MESSAGE_BYTES)
			continue;
		while (message__next(&delay.bytes, &f)) {
			if (f.number == 1 && f.wire == MESSAGE_VARINT)
				s = (int64_t)f.value;
			else if (f.number == 2 && f.wire == MESSAGE_VARINT)
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
	struct message_field f;

	while (message__next(&any, &f)) {
		if (f.number == 1 && f.wire == MESSAGE_BYTES)
			type = f.bytes;
		else if (f.number == 2 && f.wire == MESSAGE_BYTES)
			value = f.bytes;
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
	struct message_field f;

	while (message__next(&message, &f)) {
		if (f.number == 2 && f.wire == MESSAGE_BYTES)
			s.message = f.bytes;
		else if (f.number == 3 && f.wire == MESSAGE_BYTES)
			read_detail(f.bytes, &s);
	}
	return s;
}

static int sextet(char c)
{
	static const char all[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(all, c) : NULL;

	return at ? (int)(at - all) : -1;
}

struct rpc_status rpc_status__of_trailer(struct dcm_str base64)
{
	struct buf bytes = { 0 };
	struct rpc_status s = { .message = STR("") };
	uint32_t bits = 0, n_bits = 0;

	for (uint32_t i = 0; i < base64.n && i < TRAILER_MAX; i++) {
		int v = sextet(base64.p[i]);

		if (v < 0)
			break;
		bits = (bits << 6 | (uint32_t)v) & 0xffff;
		n_bits += 6;
		if (n_bits < 8)
			continue;
		n_bits -= 8;
		buf__byte(&bytes, (uint8_t)(bits >> n_bits));
	}
	if (!bytes.error)
		s = rpc_status__read(buf__view(&bytes));
	s.message = STR("");
	buf__fini(&bytes);
	return s;
}
