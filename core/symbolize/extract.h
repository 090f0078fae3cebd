/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/extract.h - an ELF file reduced to what names its addresses
 *
 * Kept: headers, segments, notes (with the build id), .symtab (or .dynsym and minidebuginfo where
 * there is none), Go's table, and of DWARF what functions, inlined functions and lines need.
 * Dropped are code and data, and DWARF about variables' places, macros and indexes for debuggers.
 * Debug sections are compressed with zlib where that makes them smaller; zstd becomes zlib, which
 * elfutils of today can read. Every section keeps its number, so symbols stay right; the dropped
 * ones have no content (SHT_NOBITS).
 */
#ifndef DECIMA_SYMBOLIZE_EXTRACT_H
#define DECIMA_SYMBOLIZE_EXTRACT_H

#include <stdint.h>

#include <decima/plugin.h>

#include "core/symbolize/elf.h"

/* How hard debug sections are compressed. */
enum extract_level { EXTRACT_FAST = 1, EXTRACT_SMALL = 9 }; /* libdeflate's */

struct extract_report {
	char build_id[ELF_BUILD_ID_TEXT]; /* "": none */
	uint64_t bytes_in, bytes_out;
};

/*
 * Writes the reduced file into out_fd, which is empty and open for reading and writing. in_fd is
 * borrowed and mapped. -ENOEXEC: no ELF file that can be read; -EINVAL: relocatable; -ENODATA:
 * nothing in it names an address; -ENOMEM; -EIO and others of writing.
 */
int extract__file(int in_fd, int out_fd, enum extract_level level, struct extract_report *ret,
		  struct dcm_error *err);

/*
 * The same, and a file without a build id has this one, in hex, from then on, in a note as the linker would have made it; NULL: none.
 * -EINVAL: it is none (elf__is_build_id()).
 */
int extract__file_as(int in_fd, int out_fd, enum extract_level level, const char *build_id,
		     struct extract_report *ret, struct dcm_error *err);

#endif
