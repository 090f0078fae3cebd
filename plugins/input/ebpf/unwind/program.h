/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/program.h - runs call frame instructions
 */
#ifndef DECIMA_EBPF_UNWIND_PROGRAM_H
#define DECIMA_EBPF_UNWIND_PROGRAM_H

#include "plugins/input/ebpf/unwind/build.h"
#include "plugins/input/ebpf/unwind/cie.h"

struct program_range {
	uint32_t start, end; /* offsets from the build's base */
	uint64_t vaddr;	     /* of start */
};

/* Runs the CIE's own instructions; cie->gap says what was wrong with them. */
void program__run_cie(struct cie *cie, const struct state_arch *arch);

/*
 * Runs a function's instructions and adds its rows to the build. Where they cannot be followed, the
 * rest of the function is UNWIND_CFA_UNSUPPORTED. 0, -EFBIG or -ENOMEM.
 */
int program__run(struct build *b, const struct cie *cie, const struct state_arch *arch,
		 struct bytes code, const struct program_range *range);

#endif
