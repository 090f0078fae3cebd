/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/go_module.c - where Go's text begins, and its trees of inlined calls
 *
 * The table's header has textStart, but it is written at load time in position-independent programs
 * (its value is then in a relocation), and not at all since Go 1.26, where the module's own record
 * has it. Where neither tells it, the start of .text is it only if the program starts in Go code:
 * linked by the system's linker, C comes first, and every name would be wrong.
 *
 * The trees of inlined calls lie outside of the table, from `gofunc` on, which only the module's
 * record tells. Since Go 1.26 the record has a section; before, it is found as the place in the
 * data that points at the table and, in the next word, at the table's names.
 *
 * Threads: none shared. Limits: struct elf_limits; MAX_DATA_BYTES of a section are searched.
 * Sources: Go's src/runtime/symtab.go (moduledata) of 1.18, 1.20, 1.26 and 1.27.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/symbolize/go_table.h"

enum {
	MAX_DATA_BYTES = 64 << 20,
	RELOCATIONS_AT_ONCE = 1024,
	WORDS_AT_ONCE = 8192,
	WORDS_A_SYMBOL = 8, /* as much work */
	/* Offsets in moduledata: six slices and four words before text, then pairs of bounds. */
	MODULE_TEXT = 176,
	MODULE_GOFUNC_1_18 = 304,
	MODULE_TYPES = 296,	  /* from 1.20 on: two words for coverage came in between */
	MODULE_GOFUNC_1_20 = 320, /* types, etypes, rodata, gofunc */
	MODULE_GOFUNC_1_27 = 344 /* types, typedesclen, etypes, itaboffset, itabsize, rodata, gofunc */
};

/* True when it is the one that is looked for. */
typedef bool (*relocation_fn)(void *ctx, const Elf64_Rela *r);

/* 0 when a relocation of the section was the one; -ENODATA when none was. */
static int find_relocation(struct elf_collect *c, const struct elf_file *f,
			   const struct elf_section *s, relocation_fn is_it, void *ctx)
{
	uint64_t n = s->bytes / sizeof(Elf64_Rela);
	CLEANUP(mem__freep) Elf64_Rela *raw = NULL;

	if (!elf_file__holds(f, s->offset, s->bytes) || !elf_collect__may_see(c, n))
		return -ENODATA;
	raw = malloc(RELOCATIONS_AT_ONCE * sizeof(*raw));
	if (!raw)
		return -ENOMEM;
	for (uint64_t at = 0; at < n; at += RELOCATIONS_AT_ONCE) {
		size_t part = n - at < RELOCATIONS_AT_ONCE ? (size_t)(n - at) : RELOCATIONS_AT_ONCE;
		int rc = elf_file__read(f, raw, part * sizeof(*raw), s->offset + at * sizeof(*raw));

		if (rc)
			return rc;
		for (size_t i = 0; i < part; i++)
			if (is_it(ctx, &raw[i]))
				return 0;
	}
	return -ENODATA;
}

/* A relative relocation of an address: its addend. */
struct relocated {
	uint64_t address, addend;
	uint32_t relative; /* the machine's type of it */
};

static bool is_of_address(void *ctx, const Elf64_Rela *r)
{
	struct relocated *q = ctx;

	if (r->r_offset != q->address || ELF64_R_TYPE(r->r_info) != q->relative)
		return false;
	q->addend = (uint64_t)r->r_addend;
	return true;
}

/* The pointer that will stand at an offset of a section once the program is loaded. */
static int pointer_at(struct elf_collect *c, const struct elf_file *f, const struct elf_section *s,
		      uint64_t offset, uint64_t *ret)
{
	struct relocated q = {
		.address = s->addr + offset,
		.relative = f->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE,
	};
	int rc = -ENODATA;

	if (offset > s->bytes || s->bytes - offset < sizeof(*ret) || s->type == SHT_NOBITS)
		return -ENODATA;
	for (uint32_t i = 0; i < f->n_sections && rc == -ENODATA; i++) {
		const struct elf_section *r = &f->sections[i];

		if (r->type == SHT_RELA && (r->flags & SHF_ALLOC))
			rc = find_relocation(c, f, r, is_of_address, &q);
	}
	if (rc == 0)
		*ret = q.addend;
	return rc == -ENODATA ? elf_file__read(f, ret, sizeof(*ret), s->offset + offset) : rc;
}

static bool is_text(const struct elf_collect *c, uint64_t address)
{
	const struct elf_text *t = elf_collect__text_at(c, address);

	return t && !t->is_plt;
}

/* --- the module's record --- */

/* True when the pointer at `offset`, and the one behind it, are those that a record begins with. */
static bool is_module(struct elf_collect *c, const struct elf_file *f, const struct elf_section *s,
		      uint64_t offset, const struct go_table *t, uint64_t table)
{
	uint64_t header, names;

	return pointer_at(c, f, s, offset, &header) == 0 && header == table &&
	       pointer_at(c, f, s, offset + sizeof(header), &names) == 0 && names == table + t->names;
}

/* The place in a section whose content is the table's address; programs at fixed addresses. */
static int search_data(struct elf_collect *c, const struct elf_file *f, const struct elf_section *s,
		       const struct go_table *t, uint64_t table, uint64_t *ret_offset)
{
	uint64_t n = s->bytes / sizeof(uint64_t);
	CLEANUP(mem__freep) uint64_t *words = NULL;

	/* Looking at a word is less than at a symbol; a file may have many sections, all of one place. */
	if (s->bytes > MAX_DATA_BYTES || !elf_file__holds(f, s->offset, s->bytes) ||
	    !elf_collect__may_see(c, n / WORDS_A_SYMBOL))
		return -ENODATA;
	words = malloc(WORDS_AT_ONCE * sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (uint64_t at = 0; at < n; at += WORDS_AT_ONCE) {
		size_t part = n - at < WORDS_AT_ONCE ? (size_t)(n - at) : WORDS_AT_ONCE;
		int rc = elf_file__read(f, words, part * sizeof(*words), s->offset + at * sizeof(*words));

		if (rc)
			return rc;
		for (size_t i = 0; i < part; i++) {
			*ret_offset = (at + i) * sizeof(*words);
			if (words[i] == table && is_module(c, f, s, *ret_offset, t, table))
				return 0;
		}
	}
	return -ENODATA;
}

/* The section that holds an address and has content, or NULL. */
static const struct elf_section *section_at(const struct elf_file *f, uint64_t address)
{
	for (uint32_t i = 0; i < f->n_sections; i++) {
		const struct elf_section *s = &f->sections[i];

		if (s->type != SHT_NOBITS && (s->flags & SHF_ALLOC) && address >= s->addr &&
		    address - s->addr < s->bytes)
			return s;
	}
	return NULL;
}

/* The place that a relocation fills with the table's address; position-independent programs. */
struct record_place {
	struct elf_collect *c;
	const struct elf_file *f;
	const struct go_table *t;
	uint64_t table;
	const struct elf_section *section;
	uint64_t offset;
};

static bool is_record(void *ctx, const Elf64_Rela *r)
{
	struct record_place *p = ctx;

	if ((uint64_t)r->r_addend != p->table)
		return false;
	const struct elf_section *in = section_at(p->f, r->r_offset);

	if (!in || !is_module(p->c, p->f, in, r->r_offset - in->addr, p->t, p->table))
		return false;
	p->section = in;
	p->offset = r->r_offset - in->addr;
	return true;
}

static int find_module(struct elf_collect *c, const struct elf_file *f, const struct go_table *t,
		       uint64_t table, const struct elf_section **ret_section, uint64_t *ret_offset)
{
	struct record_place place = { .c = c, .f = f, .t = t, .table = table };
	int rc = -ENODATA;

	*ret_section = elf_file__section(f, ".go.module");
	*ret_offset = 0;
	if (*ret_section)
		return is_module(c, f, *ret_section, 0, t, table) ? 0 : -ENODATA;
	for (uint32_t i = 0; i < f->n_sections && rc == -ENODATA; i++) {
		const struct elf_section *s = &f->sections[i];

		*ret_section = s;
		if (s->type == SHT_PROGBITS && (s->flags & SHF_ALLOC) && (s->flags & SHF_WRITE))
			rc = search_data(c, f, s, t, table, ret_offset);
		else if (s->type == SHT_RELA && (s->flags & SHF_ALLOC))
			rc = find_relocation(c, f, s, is_record, &place);
	}
	if (rc == 0 && place.section) {
		*ret_section = place.section;
		*ret_offset = place.offset;
	}
	return rc;
}

/*
 * Where functions' data begins. The table of 1.27 calls itself one of 1.20; its record has other words from MODULE_TYPES on:
 * where 1.20 has etypes, rodata, gofunc and epclntab behind types, 1.27 has typedesclen, etypes, itaboffset and itabsize,
 * lengths that lie within etypes - types.
 */
static int gofunc_at(struct elf_collect *c, const struct elf_file *f, const struct elf_section *s,
		     uint64_t at, const struct go_table *t, uint64_t *ret)
{
	uint64_t w[5];

	if (t->version == GO_1_18)
		return pointer_at(c, f, s, at + MODULE_GOFUNC_1_18, ret);
	for (unsigned i = 0; i < 5; i++) {
		int rc = pointer_at(c, f, s, at + MODULE_TYPES + i * sizeof(*w), &w[i]);

		if (rc)
			return rc;
	}
	const uint64_t n = w[2] - w[0];
	const bool is_1_27 = w[2] > w[0] && w[1] <= n && w[3] <= n && w[4] <= n - w[3];

	*ret = w[(MODULE_GOFUNC_1_20 - MODULE_TYPES) / sizeof(*w)];
	return is_1_27 ? pointer_at(c, f, s, at + MODULE_GOFUNC_1_27, ret) : 0;
}

int go_module__find(struct go_table *t, struct elf_collect *c, const struct elf_file *f,
		    const struct elf_section *table)
{
	const struct elf_section *text = elf_file__section(f, ".text"), *module;
	uint64_t at;
	int rc = find_module(c, f, t, table->addr, &module, &at), rc_text;

	if (rc == 0)
		rc = gofunc_at(c, f, module, at, t, &t->gofunc);
	if (rc == -ENOMEM)
		return rc;
	if (rc || !section_at(f, t->gofunc))
		t->gofunc = 0;
	rc_text = pointer_at(c, f, table, 8 + 2 * sizeof(uint64_t), &t->text);
	if (rc_text == -ENOMEM || (rc_text == 0 && is_text(c, t->text)))
		return rc_text;
	if (rc == 0) {
		rc = pointer_at(c, f, module, at + MODULE_TEXT, &t->text);
		if (rc == -ENOMEM || (rc == 0 && is_text(c, t->text)))
			return rc;
	}
	if (!text)
		return -ENODATA;
	t->text = text->addr;
	return 1;
}
