/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_plt.c - names of PLT stubs
 *
 * A stub jumps through a slot of the GOT, and a relocation says whose address the loader puts
 * there. So the stub is decoded, and its slot looked up among the relocations: the name is then
 * exact, whatever order the linker chose. What cannot be decoded (the first entry, retpolines,
 * other machines) is "[plt]"; the whole section always is, so that no neighbour (_init lies just
 * before .plt) names it.
 *
 * Threads: none shared. Limits: MAX_PLT_BYTES, MAX_STUBS, relocations count as symbols of struct
 * elf_limits.
 * Sources: x86-64 psABI, "Procedure Linkage Table" and its IBT variant (appendix).
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/symbolize/elf_collect.h"

enum {
	MAX_PLT_BYTES = 16 << 20, /* of one section */
	MAX_STUBS = 1 << 18, /* whose names are looked up, of one file; the largest have some 50,000 */
	RELOCATIONS_AT_ONCE = 2048,
	NAMES_AT_ONCE = 16 << 10 /* bytes; stubs come in no order, so a larger window is not worth it */
};

struct slot {
	uint64_t address;
	uint32_t symbol;
};

struct slots {
	VEC(struct slot) all; /* by address */
	const struct elf_section *symbols;
	uint32_t n_stubs; /* looked up so far */
};

static int by_address(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static int read_relocations(struct elf_collect *c, const struct elf_file *f,
			    const struct elf_section *s, struct slots *ret)
{
	uint64_t n = s->bytes / sizeof(Elf64_Rela);
	Elf64_Rela *raw;
	int rc = 0;

	/* Stubs without a name are better than no names at all. */
	if (!elf_file__holds(f, s->offset, s->bytes) || !elf_collect__may_see(c, n))
		return 0;
	raw = malloc(RELOCATIONS_AT_ONCE * sizeof(*raw));
	if (!raw)
		return -ENOMEM;
	for (uint64_t at = 0; at < n && !rc; at += RELOCATIONS_AT_ONCE) {
		size_t part = n - at < RELOCATIONS_AT_ONCE ? (size_t)(n - at) : RELOCATIONS_AT_ONCE;

		rc = elf_file__read(f, raw, part * sizeof(*raw), s->offset + at * sizeof(*raw));
		for (size_t i = 0; i < part && !rc; i++) {
			uint32_t type = (uint32_t)ELF64_R_TYPE(raw[i].r_info);
			struct slot slot = { raw[i].r_offset, (uint32_t)ELF64_R_SYM(raw[i].r_info) };

			if ((type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT) &&
			    slot.symbol && !vec__push(&ret->all, slot))
				rc = -ENOMEM;
		}
	}
	free(raw);
	return rc;
}

static int read_slots(struct elf_collect *c, const struct elf_file *f, struct slots *ret)
{
	int rc = 0;

	for (uint32_t i = 0; i < f->n_sections && !rc; i++) {
		const struct elf_section *s = &f->sections[i];

		if (s->type == SHT_DYNSYM)
			ret->symbols = s;
		if (s->type == SHT_RELA && (s->flags & SHF_ALLOC))
			rc = read_relocations(c, f, s, ret);
	}
	if (!rc && ret->all.n > 1)
		qsort(ret->all.v, ret->all.n, sizeof(*ret->all.v), by_address);
	return rc;
}

static const struct slot *find_slot(const struct slots *s, uint64_t address)
{
	struct slot key = { .address = address };

	return s->all.n ? bsearch(&key, s->all.v, s->all.n, sizeof(key), by_address) : NULL;
}

/* The slot that a stub at `address` jumps through, or 0: [endbr64] [bnd] jmp *disp32(%rip). */
static uint64_t stub_slot(const uint8_t *code, size_t n, uint64_t address)
{
	size_t at = 0;
	int32_t displacement;

	if (n >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0)
		at += 4;
	if (n > at && code[at] == 0xf2)
		at++;
	if (n < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&displacement, code + at + 2, sizeof(displacement));
	return address + at + 6 + (uint64_t)(int64_t)displacement;
}

static int slot_name(const struct elf_file *f, const struct slots *slots, struct elf_strings *names,
		     const struct slot *slot, struct dcm_str *ret)
{
	Elf64_Sym sym;
	int rc;

	if (slot->symbol >= slots->symbols->bytes / sizeof(sym))
		return -ENODATA;
	rc = elf_file__read(f, &sym, sizeof(sym),
			    slots->symbols->offset + (uint64_t)slot->symbol * sizeof(sym));
	if (!rc)
		rc = elf_strings__get(names, sym.st_name, ret);
	return rc ? rc : ret->n ? 0 : -ENODATA;
}

/* Names the stubs of one section that can be decoded. */
static int name_stubs(struct elf_collect *c, const struct elf_file *f, const struct elf_section *s,
		      struct slots *slots, struct elf_strings *names)
{
	/* Linkers use 16 bytes a stub; .plt.got without IBT has 8. */
	size_t step = s->entry_bytes == 8 ? 8 : 16;
	CLEANUP(mem__freep) uint8_t *code = NULL;
	int rc;

	if (s->bytes > MAX_PLT_BYTES || !elf_file__holds(f, s->offset, s->bytes) ||
	    s->addr + s->bytes < s->addr || !elf_collect__may_see(c, s->bytes / step))
		return 0;
	code = malloc(s->bytes + 1);
	if (!code)
		return -ENOMEM;
	rc = elf_file__read(f, code, s->bytes, s->offset);
	for (size_t at = 0; at + step <= s->bytes && slots->n_stubs < MAX_STUBS && !rc; at += step) {
		uint64_t address = s->addr + at, target = stub_slot(code + at, step, address);
		const struct slot *slot = target ? find_slot(slots, target) : NULL;
		struct elf_function stub = { address, address + step, s->addr + s->bytes, 0,
					     ELF_RANK_PLT };
		struct dcm_str name;

		if (!slot)
			continue;
		slots->n_stubs++;
		rc = slot_name(f, slots, names, slot, &name);
		if (rc == -ENODATA)
			rc = 0;
		else if (!rc)
			rc = elf_collect__add(c, &stub, "[plt] ", name);
	}
	return rc;
}

/* Each PLT section whole, so that what is not named exactly is still not named wrongly. */
static int cover(struct elf_collect *c, bool *ret_any)
{
	int rc = 0;

	*ret_any = false;
	for (size_t i = 0; i < c->text.n && !rc; i++) {
		const struct elf_text *t = &c->text.v[i];
		struct elf_function whole = { t->start, t->end, t->end, 0, ELF_RANK_LOCAL };

		if (!t->is_plt)
			continue;
		*ret_any = true;
		rc = elf_collect__add(c, &whole, "", STR("[plt]"));
	}
	return rc;
}

int elf_plt__collect(struct elf_collect *c, const struct elf_file *f)
{
	struct slots slots = { 0 };
	struct elf_strings names = { 0 };
	const struct elf_section *table;
	bool any;
	int rc = cover(c, &any);

	if (rc || !any || !f->is_64 || f->machine != EM_X86_64)
		return rc;
	rc = read_slots(c, f, &slots);
	if (rc || !slots.all.n || !slots.symbols || slots.symbols->link >= f->n_sections)
		goto out;
	table = &f->sections[slots.symbols->link];
	rc = elf_strings__init(&names, f, table->offset, table->bytes, NAMES_AT_ONCE);
	for (uint32_t i = 0; i < f->n_sections && !rc; i++) {
		const struct elf_section *s = &f->sections[i];
		const struct elf_text *t = elf_collect__text_at(c, s->addr);

		if (s->type == SHT_PROGBITS && (s->flags & SHF_EXECINSTR) && t && t->is_plt &&
		    t->start == s->addr)
			rc = name_stubs(c, f, s, &slots, &names);
	}
out:
	elf_strings__fini(&names);
	vec__fini(&slots.all);
	return rc;
}
