/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_pclntab.c - function names of stripped Go programs
 *
 * Go's runtime needs names for its own tracebacks, so .gopclntab stays in every program, stripped
 * or not. Its four layouts (Go 1.2, 1.16, 1.18, 1.20) differ in the width of the entries and in
 * where the parts begin:
 *
 *	1.2   header, nfunc, [pc, offset]..; a function's record and its name are offsets from the table's start
 *	1.16  header, nfunc, nfiles, 5 offsets of parts; names and records have parts of their own
 *	1.18  the same with textStart before the offsets; pcs are 32-bit offsets from there
 *	1.20  the same as 1.18
 *
 * textStart is written at load time in position-independent programs (its value is then in a
 * relocation), and not at all since Go 1.26, where the module's own record has it. Where neither
 * tells it, the start of .text is it only if the program starts in Go code: linked by the system's
 * linker, C comes first, and every name would be wrong.
 *
 * Threads: none shared. Limits: MAX_TABLE_BYTES, struct elf_limits.
 * Sources: Go's src/runtime/symtab.go (pcHeader, moduledata), src/debug/gosym/pclntab.go.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/symbolize/elf_collect.h"

enum {
	MAX_TABLE_BYTES = 128 << 20, /* the largest Go programs have some 40 MiB */
	RELOCATIONS_AT_ONCE = 1024,
	MAX_NAME = 64 << 10,
	MODULE_TEXT = 176 /* offset of moduledata.text; six slices, three words before it */
};

enum version { GO_1_2, GO_1_16, GO_1_18 };

struct pclntab {
	const uint8_t *data; /* [n] */
	uint64_t n;
	enum version version;
	unsigned pointer;			/* bytes of one: 4 or 8 */
	uint64_t n_functions, names, functions; /* the latter two: where these parts begin */
	uint64_t text;				/* what 1.18's pcs are counted from */
};

/* --- numbers in the table; false outside of it --- */

static bool get(const struct pclntab *t, uint64_t at, unsigned bytes, uint64_t *ret)
{
	*ret = 0;
	if (at > t->n || t->n - at < bytes)
		return false;
	memcpy(ret, t->data + at, bytes);
	return true;
}

static bool get_word(const struct pclntab *t, unsigned index, uint64_t *ret)
{
	return get(t, 8 + (uint64_t)index * t->pointer, t->pointer, ret);
}

/* --- where Go's text begins --- */

/* The addend of a relative relocation of that address. */
static int relocated(struct elf_collect *c, const struct elf_file *f, const struct elf_section *s,
		     uint64_t address, uint64_t *ret)
{
	uint32_t relative = f->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
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
		for (size_t i = 0; i < part; i++) {
			if (raw[i].r_offset == address && ELF64_R_TYPE(raw[i].r_info) == relative) {
				*ret = (uint64_t)raw[i].r_addend;
				return 0;
			}
		}
	}
	return -ENODATA;
}

/* The pointer that will stand at an offset of a section once the program is loaded. */
static int pointer_at(struct elf_collect *c, const struct elf_file *f, const struct elf_section *s,
		      uint64_t offset, uint64_t *ret)
{
	int rc = -ENODATA;

	if (offset > s->bytes || s->bytes - offset < sizeof(*ret) || s->type == SHT_NOBITS)
		return -ENODATA;
	for (uint32_t i = 0; i < f->n_sections && rc == -ENODATA; i++) {
		const struct elf_section *r = &f->sections[i];

		if (r->type == SHT_RELA && (r->flags & SHF_ALLOC))
			rc = relocated(c, f, r, s->addr + offset, ret);
	}
	return rc == -ENODATA ? elf_file__read(f, ret, sizeof(*ret), s->offset + offset) : rc;
}

static bool is_text(const struct elf_collect *c, uint64_t address)
{
	const struct elf_text *t = elf_collect__text_at(c, address);

	return t && !t->is_plt;
}

/* Go's text by one of the three ways that the head of the file names, or -ENODATA. */
static int find_text(struct elf_collect *c, const struct elf_file *f,
		     const struct elf_section *table, struct pclntab *t)
{
	const struct elf_section *module = elf_file__section(f, ".go.module"),
				 *text = elf_file__section(f, ".text");
	uint64_t header = 0;
	int rc;

	rc = pointer_at(c, f, table, 8 + 2 * sizeof(uint64_t), &t->text);
	if (rc == 0 && is_text(c, t->text))
		return 0;
	if (rc == -ENOMEM)
		return rc;
	if (module && pointer_at(c, f, module, 0, &header) == 0 && header == table->addr) {
		rc = pointer_at(c, f, module, MODULE_TEXT, &t->text);
		if (rc == -ENOMEM || (rc == 0 && is_text(c, t->text)))
			return rc;
	}
	if (!text)
		return -ENODATA;
	t->text = text->addr;
	return 1; /* only if the program starts in Go */
}

/* --- the header --- */

static bool read_version(struct pclntab *t)
{
	uint64_t magic;

	if (!get(t, 0, 4, &magic) || t->n < 16 || t->data[4] || t->data[5])
		return false;
	t->pointer = t->data[7];
	switch (magic) {
	case 0xfffffffb:
		t->version = GO_1_2;
		break;
	case 0xfffffffa:
		t->version = GO_1_16;
		break;
	case 0xfffffff0:
	case 0xfffffff1:
		t->version = GO_1_18;
		break;
	default:
		return false;
	}
	return t->pointer == 4 || t->pointer == 8;
}

/* Where the parts begin; false when the table is too short for them. */
static bool read_header(struct pclntab *t)
{
	bool good = get_word(t, 0, &t->n_functions);

	switch (t->version) {
	case GO_1_2:
		t->names = 0;
		t->functions = 8 + t->pointer;
		break;
	case GO_1_16:
		good = good && get_word(t, 2, &t->names) && get_word(t, 6, &t->functions);
		break;
	case GO_1_18:
		good = good && get_word(t, 3, &t->names) && get_word(t, 7, &t->functions);
		break;
	}
	return good && t->names < t->n && t->functions < t->n;
}

/* --- functions --- */

/*
 * Entry i of the list: its pc, and where its record lies; the last one (n_functions) has a pc only.
 */
static bool entry(const struct pclntab *t, uint64_t i, uint64_t *ret_pc, uint64_t *ret_record)
{
	unsigned width = t->version == GO_1_18 ? 4 : t->pointer;
	uint64_t at = t->functions + i * 2 * width;

	*ret_record = 0;
	if (!get(t, at, width, ret_pc) || (i < t->n_functions && !get(t, at + width, width, ret_record)))
		return false;
	if (t->version == GO_1_18)
		*ret_pc += t->text;
	if (t->version != GO_1_2)
		*ret_record += t->functions;
	return true;
}

/* The name in a record: behind its pc stands the name's offset. */
static bool name_of(const struct pclntab *t, uint64_t record, struct dcm_str *ret)
{
	unsigned width = t->version == GO_1_18 ? 4 : t->pointer;
	uint64_t at, max;
	const char *name, *end;

	if (record > t->n || !get(t, record + width, 4, &at) || at >= t->n - t->names)
		return false;
	max = t->n - t->names - at < MAX_NAME ? t->n - t->names - at : MAX_NAME;
	name = (const char *)t->data + t->names + at;
	end = memchr(name, 0, max);
	*ret = (struct dcm_str){ name, end ? (uint32_t)(end - name) : 0 };
	return end != NULL && ret->n > 0;
}

/* True when the file's entry point is the start of Go's own startup code. */
static bool starts_in_go(const struct pclntab *t, uint64_t entry_point)
{
	for (uint64_t i = 0; i < t->n_functions; i++) {
		uint64_t pc, record;
		struct dcm_str name;

		if (!entry(t, i, &pc, &record))
			return false;
		if (pc == entry_point)
			return name_of(t, record, &name) && str__starts(name, STR("_rt0_"));
	}
	return false;
}

static int add_functions(struct elf_collect *c, const struct pclntab *t)
{
	const uint32_t rank = ELF_RANK_GLOBAL | ELF_RANK_FUNCTION | ELF_RANK_SIZED;

	for (uint64_t i = 0; i < t->n_functions; i++) {
		uint64_t pc, next, record, unused;
		const struct elf_text *text;
		struct dcm_str name;
		int rc;

		if (!entry(t, i, &pc, &record) || !entry(t, i + 1, &next, &unused))
			return 0;
		text = elf_collect__text_at(c, pc);
		if (!text || text->is_plt || next <= pc || !name_of(t, record, &name))
			continue;
		if ((c->functions.n + 1) * sizeof(*c->functions.v) + c->names.n > c->limits.max_bytes)
			return -EFBIG;
		rc = elf_collect__add(c,
				      &(struct elf_function){ pc, next < text->end ? next : text->end,
							      text->end, 0, rank },
				      "", name);
		if (rc)
			return rc;
	}
	return 0;
}

static const struct elf_section *find_table(const struct elf_file *f)
{
	const struct elf_section *s = elf_file__section(f, ".gopclntab");

	if (!s)
		s = elf_file__section(f, ".data.rel.ro.gopclntab");
	return s && s->type != SHT_NOBITS && s->bytes <= MAX_TABLE_BYTES &&
			       elf_file__holds(f, s->offset, s->bytes)
		       ? s
		       : NULL;
}

int elf_pclntab__collect(struct elf_collect *c, const struct elf_file *f)
{
	const struct elf_section *s = find_table(f);
	CLEANUP(mem__freep) uint8_t *data = NULL;
	struct pclntab t = { 0 };
	int rc;

	if (!s || s->bytes > c->limits.max_bytes)
		return 0;
	data = malloc(s->bytes + 1);
	if (!data)
		return -ENOMEM;
	rc = elf_file__read(f, data, s->bytes, s->offset);
	if (rc)
		return rc;
	t.data = data;
	t.n = s->bytes;
	if (!read_version(&t) || !read_header(&t) || !elf_collect__may_see(c, t.n_functions))
		return 0;
	if (t.version == GO_1_18) {
		rc = t.pointer == 8 ? find_text(c, f, s, &t) : -ENODATA;
		if (rc < 0 || (rc == 1 && !starts_in_go(&t, f->entry)))
			return rc == -ENOMEM ? rc : 0;
	}
	return add_functions(c, &t);
}
