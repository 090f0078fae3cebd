/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_collect.h - functions of one ELF file while they are gathered; private to this
 * folder
 *
 * Each source (symbol tables, PLT stubs, minidebuginfo, Go's pclntab) adds to one collector;
 * elf_symbols.c then chooses among names and flattens. The collector owns the names and counts its
 * memory against the limits.
 */
#ifndef DECIMA_SYMBOLIZE_ELF_COLLECT_H
#define DECIMA_SYMBOLIZE_ELF_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/base/vec.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/elf_file.h"

/* How much a name is worth against others of the same address: the larger number wins. */
enum elf_rank {
	ELF_RANK_LOCAL = 0,
	ELF_RANK_GLOBAL = 1, /* weak ones too: libc's read is a weak alias of __read, and the better name */
	ELF_RANK_FUNCTION = 2, /* FUNC or IFUNC, not a bare label */
	ELF_RANK_SIZED = 4,
	ELF_RANK_PLT = 8
};

struct elf_function {
	uint64_t start, end; /* end 0: unknown */
	uint64_t limit;	     /* end of the section it lies in */
	uint32_t name;	     /* offset in `names` */
	uint32_t rank;	     /* enum elf_rank, added up */
};

/* Executable bytes of the file's own address space, [start, end). */
struct elf_text {
	uint64_t start, end;
	bool is_plt;
};

struct elf_collect {
	VEC(struct elf_function) functions;
	VEC(struct elf_text) text; /* by start */
	struct buf names;	   /* NUL-terminated */
	bool has_sections;	   /* `text` comes from sections: sizes may be guessed within one */
	uint64_t n_seen; /* entries looked at, of all tables: symbols, relocations, stubs */
	struct elf_limits limits;
};

void elf_collect__fini(struct elf_collect *c);

/* Sets `text` to that of the file, forgetting what was there. */
int elf_collect__text(struct elf_collect *c, const struct elf_file *f);

/* The range that holds the address, or NULL. */
const struct elf_text *elf_collect__text_at(const struct elf_collect *c, uint64_t vaddr);

/* Counts n more entries against the limit; false when that is exceeded. */
bool elf_collect__may_see(struct elf_collect *c, uint64_t n);

/* Adds one function; prefix and name are put together. -EFBIG, -ENOMEM. */
int elf_collect__add(struct elf_collect *c, const struct elf_function *fn, const char *prefix,
		     struct dcm_str name);

/* Appends a text to `names`. */
int elf_collect__name(struct elf_collect *c, const char *prefix, struct dcm_str name,
		      uint32_t *ret_offset);

/* Adds the functions of a SHT_SYMTAB or SHT_DYNSYM section. *ret_n (may be NULL): how many. */
int elf_symtab__collect(struct elf_collect *c, const struct elf_file *f,
			const struct elf_section *table, uint32_t *ret_n);
/* Adds the stubs of the .plt sections of `text`. */
int elf_plt__collect(struct elf_collect *c, const struct elf_file *f);
/* Adds what .gnu_debugdata holds; a file without, or with a damaged one, adds nothing. */
int elf_minidebug__collect(struct elf_collect *c, const struct elf_file *f);
/*
 * Adds what Go's runtime keeps for its own tracebacks; a file without, or with what is not
 * understood, adds nothing.
 */
int elf_pclntab__collect(struct elf_collect *c, const struct elf_file *f);

/* A window that slides over a table of NUL-terminated names in the file. */
struct elf_strings {
	const struct elf_file *file;
	uint64_t offset, bytes; /* of the table */
	char *data;		/* [size] */
	size_t size;
	uint64_t at;	     /* where the window stands in the table */
	size_t n;	     /* bytes in it */
	uint64_t terminated; /* names that begin below end within the window */
};

/* size: of the window; the longest name is a quarter of it. */
int elf_strings__init(struct elf_strings *s, const struct elf_file *f, uint64_t offset,
		      uint64_t bytes, size_t size);
void elf_strings__fini(struct elf_strings *s);
/* The text lives until the next call. -ENODATA: outside of the table, or too long. */
int elf_strings__get(struct elf_strings *s, uint64_t at, struct dcm_str *ret);

#endif
