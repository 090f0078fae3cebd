/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_file.h - the headers of an ELF file, of both classes in one shape; private to
 * this folder
 *
 * Headers are read and checked at open; contents are read on demand through elf_file__read(), from
 * a descriptor or from memory. Section headers that lie outside of the file count as none: what
 * runs needs only the segments.
 */
#ifndef DECIMA_SYMBOLIZE_ELF_FILE_H
#define DECIMA_SYMBOLIZE_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/symbolize/elf.h"

struct elf_segment {
	uint32_t type, flags;
	uint64_t offset, vaddr, file_bytes, memory_bytes, align;
};

struct elf_section {
	uint32_t name; /* in the section name table */
	uint32_t type, link, info;
	uint64_t flags, addr, offset, bytes, entry_bytes;
};

struct elf_file {
	int fd; /* borrowed; -1: `memory` is read */
	const uint8_t *memory;
	uint64_t bytes;
	bool is_64;
	uint16_t type, machine;
	uint64_t entry; /* where the program starts */
	struct elf_segment *segments;
	uint32_t n_segments;
	struct elf_section *sections;
	uint32_t n_sections;
	char *names; /* [names_bytes], the section name table; NUL at its end */
	uint32_t names_bytes;
};

/*
 * Fills *f, which is to be fini()ed in any case. -ENOEXEC: no ELF file, a foreign byte order, or
 * headers outside of the file; -EIO, -ENOMEM.
 */
int elf_file__open(struct elf_file *f, int fd);
int elf_file__open_memory(struct elf_file *f, const uint8_t *data, size_t n);
void elf_file__fini(struct elf_file *f);

/* Exactly n bytes at the offset; -ENOEXEC when they lie outside of the file, -EIO. */
int elf_file__read(const struct elf_file *f, void *to, size_t n, uint64_t offset);

/* The same at an ELF virtual address, by the sections; -ENODATA when none holds all of it. */
int elf_file__read_at(const struct elf_file *f, void *to, size_t n, uint64_t vaddr);

/* True when [offset, offset + n) lies in the file. */
bool elf_file__holds(const struct elf_file *f, uint64_t offset, uint64_t n);

/* "" when the name lies outside of the table. */
const char *elf_file__name(const struct elf_file *f, const struct elf_section *s);

/* What elf__build_id() does, on headers that were read already. */
int elf_file__build_id(const struct elf_file *f, char ret_hex[static ELF_BUILD_ID_TEXT]);

/* The first section of that name, or NULL. */
const struct elf_section *elf_file__section(const struct elf_file *f, const char *name);

#endif
