/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_open.h - an ELF file in libelf's hands, its debug sections within a bound;
 * private to this folder
 *
 * libelf decompresses when asked, as much as a header claims, and Debian 12's knows no zstd. So
 * what the sections will need is added up first, and zstd is decompressed here.
 *
 * libdw 0.188 hands out texts that reach the end of their section before their own, and reads on
 * itself. So sections of texts are cut at the end of the last that has one; in those that hold more
 * than texts there is a tail where none may begin.
 */
#ifndef DECIMA_SYMBOLIZE_ELF_OPEN_H
#define DECIMA_SYMBOLIZE_ELF_OPEN_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"

enum { ELF_OPEN_MAX_TAILS = 8 };

struct elf_open {
	Elf *elf;
	bool has_info;	   /* has DWARF's .debug_info, by whatever name */
	VEC(void *) plain; /* sections that were decompressed here */
	struct elf_open_tail {
		const char *from, *to; /* no NUL in between, and the section ends at `to` */
	} tails[ELF_OPEN_MAX_TAILS];
	unsigned n_tails;
};

/*
 * Fills *o, which is to be fini()ed in any case. fd is borrowed; map: as in struct
 * frames_question. -ENOEXEC: libelf cannot read it;
 * -EFBIG: sections need more than max_bytes; -ENOMEM.
 */
int elf_open__begin(struct elf_open *o, int fd, bool map, uint64_t max_bytes);
void elf_open__fini(struct elf_open *o);

/*
 * Sees to it that texts end, or can be told from those that do not. Once, and after
 * dwarf_begin_elf() if the file is given to it: that decompresses sections, in their place.
 * -ENOEXEC: more than ELF_OPEN_MAX_TAILS sections have a tail.
 */
int elf_open__end_texts(struct elf_open *o);

/* False: the text reaches the end of a section of this file before its own. After end_texts(). */
bool elf_open__text_ends(const struct elf_open *o, const char *text);

/*
 * A section's content decompressed by zstd, or NULL when it is damaged, larger than it says, or
 * memory ran out. The caller frees it.
 */
void *elf_open__unzstd(const void *data, size_t n, uint64_t plain_bytes);

#endif
