/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unwind/elf_maker.h - the smallest ELF image around given bytes
 *
 * An executable segment of ELF_MAKER_CODE bytes at ELF_MAKER_VADDR (whose content is `code`, then
 * zeroes), and one further section, .eh_frame or another, at ELF_MAKER_SECTION in a segment of its
 * own, which may be code too.
 */
#ifndef DECIMA_TESTS_UNWIND_ELF_MAKER_H
#define DECIMA_TESTS_UNWIND_ELF_MAKER_H

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "plugins/input/ebpf/unwind/rows.h"

#define ELF_MAKER_VADDR	  0x401000u
#define ELF_MAKER_CODE	  0x1000u
#define ELF_MAKER_SECTION 0x500000u

struct elf_maker {
	uint16_t machine;
	const char *section; /* its name, at most 30 bytes */
	const void *data;    /* [n] */
	size_t n;
	const void *code; /* [n_code], at most ELF_MAKER_CODE */
	size_t n_code;
	bool is_code; /* the section and its segment are executable */
};

/* Appends the image to an empty buffer. */
static inline void elf_maker__make(const struct elf_maker *m, struct buf *b)
{
	const uint64_t head = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr), names = 64;
	const uint64_t data = head + ELF_MAKER_CODE + names, sections = data + (m->n + 7) / 8 * 8;
	Elf64_Ehdr e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			 .e_type = ET_DYN,
			 .e_machine = m->machine,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(e),
			 .e_shoff = sections,
			 .e_ehsize = sizeof(e),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 1 };
	Elf64_Phdr p[2] = { { .p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = head,
			      .p_vaddr = ELF_MAKER_VADDR,
			      .p_filesz = ELF_MAKER_CODE,
			      .p_memsz = ELF_MAKER_CODE },
			    { .p_type = PT_LOAD,
			      .p_flags = PF_R | (m->is_code ? PF_X : 0),
			      .p_offset = data,
			      .p_vaddr = ELF_MAKER_SECTION,
			      .p_filesz = m->n,
			      .p_memsz = m->n } };
	Elf64_Shdr s[3] = {
		{ .sh_type = SHT_NULL },
		{ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = head + ELF_MAKER_CODE, .sh_size = names },
		{ .sh_name = 11,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC | (m->is_code ? SHF_EXECINSTR : 0),
		  .sh_addr = ELF_MAKER_SECTION,
		  .sh_offset = data,
		  .sh_size = m->n }
	};
	uint8_t code[ELF_MAKER_CODE] = { 0 };
	char text[64] = "\0.shstrtab\0";

	memcpy(code, m->code ? m->code : "", m->n_code);
	memcpy(text + 11, m->section, strnlen(m->section, 30));
	buf__append(b, &e, sizeof(e));
	buf__append(b, p, sizeof(p));
	buf__append(b, code, sizeof(code));
	buf__append(b, text, names);
	buf__append(b, m->data, m->n);
	buf__append(b, code + ELF_MAKER_CODE - 8, sections - data - m->n);
	buf__append(b, s, sizeof(s));
}

/* For struct unwind_source: the bytes of a struct buf. */
static inline int elf_maker__read(void *arg, void *p, size_t n, uint64_t offset)
{
	const struct buf *b = arg;

	memcpy(p, b->data + offset, n);
	return 0;
}

#endif
