/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/reduced.h - an ELF file reduced to what names its addresses, in a file without a name
 */
#ifndef DECIMA_MAIN_REDUCED_H
#define DECIMA_MAIN_REDUCED_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/symbolize/elf.h"

struct reduced {
	int fd; /* -1: none */
	uint64_t bytes;
	char build_id[ELF_BUILD_ID_TEXT]; /* "": it has none */
	bool functions, lines;		  /* what it tells; not neither */
};

/*
 * Reduces in_fd, which is borrowed, into a file of TMPDIR. Errors as of extract__file(); -ENODATA also when
 * nothing that was not exported is named. Any thread.
 */
int reduced__make(int in_fd, struct reduced *ret, struct dcm_error *err);
void reduced__fini(struct reduced *r);

/* What a file that was reduced tells; -ENODATA: nothing but what it exports. */
int reduced__tells(int fd, bool *ret_functions, bool *ret_lines, struct dcm_error *err);

#endif
