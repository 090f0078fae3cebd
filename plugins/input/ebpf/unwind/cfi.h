/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/cfi.h - .eh_frame and .debug_frame as stretches with rows
 *
 * One pass over the section, running each function's call frame instructions for three things only:
 * the frame address, the frame pointer and the return address; and for rbx, where the build wants
 * it. What is wrong or unknown is counted in the build's gaps[], and ends a function's description
 * there, not the pass.
 *
 * Sources: DWARF 5, 6.4; Linux Standard Base 5.0 Core, 10.6 (.eh_frame, its augmentations and
 * pointer encodings); DWARF for the Arm 64-bit Architecture, 4.5.
 */
#ifndef DECIMA_EBPF_UNWIND_CFI_H
#define DECIMA_EBPF_UNWIND_CFI_H

#include "plugins/input/ebpf/unwind/build.h"

struct cfi_section {
	const uint8_t *data; /* [n] */
	uint64_t n;
	uint64_t vaddr; /* of data[0] */
	bool is_eh;	/* .eh_frame, not .debug_frame */
	bool is_open;	/* n is a bound: it ends at the first length of 0, which else is skipped */
};

/* Adds the section's functions to the layer: 0, -EFBIG, -ECANCELED or -ENOMEM. */
int cfi__decode(struct build *b, const struct cfi_section *s);

/*
 * Where .eh_frame lies, from .eh_frame_hdr: for images without section headers. 0 with the address,
 * or -ENOENT.
 */
int cfi__find_eh_frame(const struct image *im, uint64_t *ret_vaddr);

#endif
