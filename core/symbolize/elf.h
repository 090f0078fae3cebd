/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf.h - what an ELF file says of itself: build id, segments, function names
 *
 * A symbol table is read once into a reduced form that needs the file no more and never changes;
 * threads may share it. It holds the functions of .symtab, .dynsym, .gnu_debugdata (minidebuginfo)
 * and Go's .gopclntab, flattened to ranges that do not overlap: where symbols nest, the innermost
 * names its bytes. PLT stubs are called "[plt] NAME" by the relocation of the slot they jump
 * through, or "[plt]" where that cannot be told, never by a neighbour.
 *
 * Files are foreign: everything is read with pread (a file that is cut meanwhile is an error, not a
 * signal), and every size is checked against the file and against `struct elf_limits` before memory
 * is asked for. Little-endian files of 32 and 64 bits. No thread is started, nothing is shared.
 */
#ifndef DECIMA_SYMBOLIZE_ELF_H
#define DECIMA_SYMBOLIZE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"

enum {
	ELF_BUILD_ID_MAX = 64, /* bytes of a build id; hex and NUL: 129 */
	ELF_BUILD_ID_TEXT = 2 * ELF_BUILD_ID_MAX + 1
};

/*
 * GNU build id as lower-case hex: 0, -ENODATA (has none), -ENOEXEC (no ELF file, or a damaged one),
 * -EIO.
 */
int elf__build_id(int fd, char ret_hex[static ELF_BUILD_ID_TEXT]);

/* Can a file be kept by it: 2 to ELF_BUILD_ID_MAX bytes in lower-case hex? */
bool elf__is_build_id(struct dcm_str text);

struct elf_limits {
	uint64_t max_bytes;   /* of memory while reading: -EFBIG beyond it; 0: 256 MiB */
	uint64_t max_symbols; /* looked at, of all tables together; 0: 16 Mi */
};

struct elf_symbols;

/*
 * Reads the table. Descriptors are borrowed and their positions left alone. debug_fd: what was
 * split off the file, whose .symtab is read when the file has none; -1: there is none. A file
 * without any function is a table of none, not an error. -ENOEXEC: not an ELF file that can be read
 * here, or its tables lie outside of it; -EFBIG: over a limit; -EIO, -ENOMEM. limits may be NULL.
 */
int elf__load(int fd, int debug_fd, const struct elf_limits *limits,
	      struct elf_symbols **ret_symbols, struct dcm_error *err);
void elf__free(struct elf_symbols *s);
DEFINE_CLEANUP(struct elf_symbols *, elf__free);

/*
 * The raw name ("_ZN3fooC1Ev", "[plt] puts") at an ELF virtual address; it lives as long as the
 * table. 0, or -ENOENT when no function is known there.
 */
int elf__find(const struct elf_symbols *s, uint64_t vaddr, struct dcm_str *ret_name);

/*
 * File offset to virtual address by PT_LOAD, executable segments first; -ENOENT when no segment
 * maps it.
 */
int elf__to_vaddr(const struct elf_symbols *s, uint64_t file_offset, uint64_t *ret_vaddr);

uint32_t elf__count(const struct elf_symbols *s); /* named ranges, PLT stubs not counted */
/* Is every address at which a function begins in `a` named the same in `b`? */
bool elf__agrees(const struct elf_symbols *a, const struct elf_symbols *b);
size_t elf__bytes(const struct elf_symbols *s); /* memory it holds */

#endif
