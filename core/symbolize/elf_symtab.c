/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_symtab.c - the functions of .symtab and .dynsym
 *
 * The table is streamed; what is a function is kept with its name's offset. Then the kept ones are
 * put in the order of their names and the name table is streamed past them, so that memory follows
 * what is kept, not what the file claims.
 *
 * Kept are FUNC and GNU_IFUNC, and labels without a type that lie in code (hand-written assembly:
 * _start). Left out: anything in a PLT section (elf_plt.c names these), mapping symbols of ARM and
 * RISC-V ($x), assembler temporaries (.L) and annobin's markers, and, where there are no sections
 * to bound them, symbols without a size.
 *
 * Threads: none shared. Sources: gABI (symbol table), "ELF for the Arm 64-bit Architecture" 5.5.4
 * (mapping symbols).
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/symbolize/elf_collect.h"

enum {
	SYMBOLS_AT_ONCE = 2048,
	NAMES_AT_ONCE = 256 << 10 /* bytes; a quarter is the longest name that is kept */
};

/* An entry of either class. */
static Elf64_Sym symbol_at(const struct elf_file *f, const uint8_t *raw)
{
	Elf64_Sym s;

	if (f->is_64) {
		memcpy(&s, raw, sizeof(s));
	} else {
		Elf32_Sym n;

		memcpy(&n, raw, sizeof(n));
		s = (Elf64_Sym){ n.st_name, n.st_info, n.st_other, n.st_shndx, n.st_value, n.st_size };
	}
	return s;
}

/*
 * Fills *ret and returns true when the entry is a function that is wanted; its name is still an
 * offset in the file.
 */
static bool wanted(const struct elf_collect *c, const struct elf_file *f, const Elf64_Sym *s,
		   struct elf_function *ret)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);
	bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
	uint64_t start = s->st_value;
	const struct elf_text *text;

	if ((!function && type != STT_NOTYPE) || s->st_name == 0 || s->st_shndx == SHN_UNDEF ||
	    (s->st_shndx >= SHN_LORESERVE && s->st_shndx != SHN_XINDEX))
		return false;
	if (!c->has_sections && (!function || s->st_size == 0))
		return false;
	if (f->machine == EM_ARM)
		start &= ~1ull; /* Thumb code says so in the lowest bit */
	text = elf_collect__text_at(c, start);
	if (!text || text->is_plt)
		return false;

	uint32_t rank = (ELF64_ST_BIND(s->st_info) == STB_LOCAL ? ELF_RANK_LOCAL : ELF_RANK_GLOBAL) |
			(function ? ELF_RANK_FUNCTION : 0) | (s->st_size ? ELF_RANK_SIZED : 0);
	uint64_t end = s->st_size == 0			? 0
		       : s->st_size > text->end - start ? text->end
							: start + s->st_size;

	*ret = (struct elf_function){ start, end, text->end, s->st_name, rank };
	return true;
}

static int read_entries(struct elf_collect *c, const struct elf_file *f, const struct elf_section *table)
{
	size_t size = f->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	uint64_t n = table->bytes / size;
	uint8_t *raw;
	int rc = 0;

	if (!elf_collect__may_see(c, n))
		return -EFBIG;
	raw = malloc(SYMBOLS_AT_ONCE * size);
	if (!raw)
		return -ENOMEM;
	for (uint64_t at = 0; at < n && !rc; at += SYMBOLS_AT_ONCE) {
		size_t part = n - at < SYMBOLS_AT_ONCE ? (size_t)(n - at) : SYMBOLS_AT_ONCE;

		rc = elf_file__read(f, raw, part * size, table->offset + at * size);
		for (size_t i = 0; i < part && !rc; i++) {
			Elf64_Sym s = symbol_at(f, raw + i * size);
			struct elf_function fn;

			if (!wanted(c, f, &s, &fn))
				continue;
			if ((c->functions.n + 1) * sizeof(fn) + c->names.n > c->limits.max_bytes)
				rc = -EFBIG;
			else if (!vec__push(&c->functions, fn))
				rc = -ENOMEM;
		}
	}
	free(raw);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	const struct elf_function *x = a, *y = b;

	return (x->name > y->name) - (x->name < y->name);
}

/* Names that say nothing about a function. */
static bool is_noise(struct dcm_str name, uint32_t rank)
{
	if (name.n == 0)
		return true;
	return !(rank & ELF_RANK_FUNCTION) && (name.p[0] == '$' || name.p[0] == '.');
}

/* Gives functions[from..] their names; those without a usable one go. */
static int read_names(struct elf_collect *c, size_t from, struct elf_strings *strings)
{
	struct elf_function *v = c->functions.v;
	size_t n = c->functions.n, kept = from;
	uint32_t last = 0, last_copy = 0;
	int rc = 0;

	qsort(v + from, n - from, sizeof(*v), by_name);
	for (size_t i = from; i < n && !rc; i++) {
		struct dcm_str name;

		if (kept > from && v[i].name == last) {
			v[kept] = v[i];
			v[kept++].name = last_copy;
			continue;
		}
		rc = elf_strings__get(strings, v[i].name, &name);
		if (rc == -ENODATA || (rc == 0 && is_noise(name, v[i].rank))) {
			rc = 0;
			continue;
		}
		if (rc)
			break;
		last = v[i].name;
		rc = elf_collect__name(c, "", name, &last_copy);
		v[kept] = v[i];
		v[kept++].name = last_copy;
	}
	c->functions.n = kept;
	return rc;
}

int elf_symtab__collect(struct elf_collect *c, const struct elf_file *f,
			const struct elf_section *table, uint32_t *ret_n)
{
	size_t from = c->functions.n;
	const struct elf_section *names;
	struct elf_strings strings;
	int rc;

	if ((table->flags & SHF_COMPRESSED) || table->link >= f->n_sections)
		return -ENOEXEC;
	names = &f->sections[table->link];
	if (!elf_file__holds(f, table->offset, table->bytes))
		return -ENOEXEC;
	rc = elf_strings__init(&strings, f, names->offset, names->bytes, NAMES_AT_ONCE);
	if (!rc)
		rc = read_entries(c, f, table);
	if (!rc && c->functions.n > from)
		rc = read_names(c, from, &strings);
	elf_strings__fini(&strings);
	if (rc)
		c->functions.n = from; /* what stands there has offsets for names */
	else if (ret_n)
		*ret_n = (uint32_t)(c->functions.n - from);
	return rc;
}
