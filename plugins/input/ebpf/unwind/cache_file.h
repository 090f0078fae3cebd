/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/cache_file.h - an unwind table as bytes
 *
 * All numbers little-endian, no padding:
 *
 *	8	"DCMUNWND"
 *	4	CACHE_VERSION
 *	4	UNWIND_SOURCES (version.h): of the compiler
 *	4	machine | is_go << 16
 *	8 8 8	base, covered_bytes, code_bytes
 *	4 x 5	n, n_rules, n_segments, n_fdes, number of gaps
 *	4 x	gaps
 *	24 x	segments: vaddr, offset, size
 *	8 x	rules
 *	4 x	at
 *	2 x	rule
 *	8	xxh3 of all before
 */
#ifndef DECIMA_EBPF_UNWIND_CACHE_FILE_H
#define DECIMA_EBPF_UNWIND_CACHE_FILE_H

#include "core/base/buf.h"
#include "plugins/input/ebpf/unwind/rows.h"

/* Appends the table; b->error says whether it fitted. */
void cache_file__encode(const struct unwind_rows *rows, struct buf *b);

/*
 * A table that is as sound as a compiled one: 0, -EBADMSG (it is none, or damaged), -ESTALE (whole,
 * but another version's) or -ENOMEM.
 */
int cache_file__decode(const uint8_t *data, size_t n, struct unwind_rows **ret_rows);

#endif
