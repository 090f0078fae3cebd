/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/pointer.c - encoded pointers of .eh_frame and .eh_frame_hdr
 */
#include "plugins/input/ebpf/unwind/pointer.h"

enum {
	FORMAT = 0x0f,
	UDATA2 = 0x02,
	UDATA4 = 0x03,
	UDATA8 = 0x04,
	ULEB = 0x01,
	SLEB = 0x09,
	SDATA2 = 0x0a,
	SDATA4 = 0x0b,
	SDATA8 = 0x0c,
	APPLICATION = 0xf0,
	PC_RELATIVE = 0x10,
	DATA_RELATIVE = 0x30,
};

static bool read_value(struct bytes *b, uint8_t format, uint64_t *ret)
{
	switch (format) {
	case POINTER_ABSOLUTE:
	case UDATA8:
	case SDATA8:
		*ret = bytes__fixed(b, 8);
		break;
	case UDATA4:
		*ret = bytes__fixed(b, 4);
		break;
	case SDATA4:
		*ret = (uint64_t)(int64_t)(int32_t)bytes__fixed(b, 4);
		break;
	case UDATA2:
		*ret = bytes__fixed(b, 2);
		break;
	case SDATA2:
		*ret = (uint64_t)(int64_t)(int16_t)bytes__fixed(b, 2);
		break;
	case ULEB:
		*ret = bytes__uleb(b);
		break;
	case SLEB:
		*ret = (uint64_t)bytes__sleb(b);
		break;
	default:
		return false;
	}
	return !b->bad;
}

bool pointer__read(struct bytes *b, uint8_t encoding, const struct pointer_base *base,
		   bool with_base, uint64_t *ret)
{
	uint64_t at = base->vaddr + (uint64_t)(b->p - base->data), from = 0;

	switch (with_base ? encoding & APPLICATION : 0) {
	case 0:
		break;
	case PC_RELATIVE:
		from = at;
		break;
	case DATA_RELATIVE:
		if (!base->data_rel)
			return false;
		from = base->data_rel;
		break;
	default:
		return false;
	}
	if (!read_value(b, encoding & FORMAT, ret))
		return false;
	*ret += from;
	return true;
}
