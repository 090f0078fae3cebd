/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/cie.h - a common information entry: what many functions' CFI share
 */
#ifndef DECIMA_EBPF_UNWIND_CIE_H
#define DECIMA_EBPF_UNWIND_CIE_H

#include "plugins/input/ebpf/unwind/pointer.h"
#include "plugins/input/ebpf/unwind/state.h"

struct cie {
	uint64_t offset;     /* in the section */
	enum unwind_gap gap; /* why it cannot be used; UNWIND_GAP_N: it can */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;	  /* the column of the return address */
	uint8_t encoding; /* of addresses in its functions */
	uint8_t segment_bytes;
	bool has_length; /* functions have an augmentation, with its length */
	bool is_signal;
	struct bytes program;
	struct pointer_base base; /* of the section */
	struct state initial;	  /* after `program` */
};

/* Reads the body, all but running its instructions, into *ret; ret->gap says how that went. */
void cie__read(struct cie *ret, struct bytes body, bool is_eh, const struct pointer_base *base);

#endif
