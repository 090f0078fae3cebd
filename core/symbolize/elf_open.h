/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_open.h - an ELF file in libelf's hands, its debug sections within a bound;
 * private to this folder
 *
 * libelf decompresses when asked, as much as a header claims, and Debian 12's knows no zstd. So
 * what the sections will need is added up first, and zstd is decompressed here.
 */
#ifndef DECIMA_SYMBOLIZE_ELF_OPEN_H
#define DECIMA_SYMBOLIZE_ELF_OPEN_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"

struct elf_open {
	Elf *elf;
	bool has_info;	   /* has DWARF's .debug_info, by whatever name */
	VEC(void *) plain; /* sections that were decompressed here */
};

/*
 * Fills *o, which is to be fini()ed in any case. fd is borrowed; map: as in struct
 * frames_question. -ENOEXEC: libelf cannot read it;
 * -EFBIG: sections need more than max_bytes; -ENOMEM.
 */
int elf_open__begin(struct elf_open *o, int fd, bool map, uint64_t max_bytes);
void elf_open__fini(struct elf_open *o);

/*
 * A section's content decompressed by zstd, or NULL when it is damaged, larger than it says, or
 * memory ran out. The caller frees it.
 */
void *elf_open__unzstd(const void *data, size_t n, uint64_t plain_bytes);

#endif
