/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/pointer.h - encoded pointers of .eh_frame and .eh_frame_hdr
 *
 * Source: Linux Standard Base 5.0 Core, 10.5.1 (DW_EH_PE_*).
 */
#ifndef DECIMA_EBPF_UNWIND_POINTER_H
#define DECIMA_EBPF_UNWIND_POINTER_H

#include "plugins/input/ebpf/unwind/bytes.h"

enum {
	POINTER_ABSOLUTE = 0x00,
	POINTER_OMIT = 0xff,
};

/* Where a section's bytes lie in memory, and what DW_EH_PE_datarel counts from. */
struct pointer_base {
	const uint8_t *data;
	uint64_t vaddr, data_rel;
};

/*
 * The pointer at the reader. False when its encoding is not one of ours (indirect, relative to what
 * we do not know, aligned), or when it is cut off. with_base: false for lengths, which have the
 * format of a pointer alone.
 */
bool pointer__read(struct bytes *b, uint8_t encoding, const struct pointer_base *base,
		   bool with_base, uint64_t *ret);

#endif
