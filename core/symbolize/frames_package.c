/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/frames_package.c - units of a DWARF package (.dwp)
 */
#include "core/symbolize/frames_package.h"

#include <dwarf.h>
#include <elf.h>
#include <string.h>

#include "core/base/le.h"

enum { INDEX_HEAD = 16, INDEX_VERSION = 5, ADDR_HEAD = 8, COLUMNS_MAX = 8 };

/* By enum frames_package_section; ".debug_addr" comes behind them. */
static const char *const names[] = {
	[FRAMES_PACKAGE_STR] = ".debug_str",
	[FRAMES_PACKAGE_INFO] = ".debug_info",
	[FRAMES_PACKAGE_ABBREV] = ".debug_abbrev",
	[FRAMES_PACKAGE_LINE] = ".debug_line",
	[FRAMES_PACKAGE_STR_OFFSETS] = ".debug_str_offsets",
	[FRAMES_PACKAGE_RNGLISTS] = ".debug_rnglists",
	[FRAMES_PACKAGE_N_SECTIONS] = ".debug_addr",
};

enum { N_NAMES = sizeof(names) / sizeof(*names), TEXT_BYTES = 256 };

/* ------------------------------------------------------------------------------------------------
 * The package
 */

static struct frames_package_part section_of(Elf *elf, const char *name, const char *suffix)
{
	struct frames_package_part none = { NULL, 0 };
	size_t strings, n = strlen(name);

	if (elf_getshdrstrndx(elf, &strings))
		return none;
	for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
		GElf_Shdr shdr;
		const char *own = gelf_getshdr(scn, &shdr) ? elf_strptr(elf, strings, shdr.sh_name)
							   : NULL;
		Elf_Data *data;

		if (!own || strncmp(own, name, n) != 0 || strcmp(own + n, suffix) != 0)
			continue;
		/* dwp writes none that is compressed; of the program's, libdw has undone that. */
		if (shdr.sh_type == SHT_NOBITS || shdr.sh_flags & SHF_COMPRESSED)
			return none;
		data = elf_getdata(scn, NULL);
		return data && data->d_buf ? (struct frames_package_part){ data->d_buf, data->d_size }
					   : none;
	}
	return none;
}

bool frames_package__open(struct frames_package *p, int fd, bool map, uint64_t max_bytes)
{
	*p = (struct frames_package){ 0 };
	if (elf_open__begin(&p->file, fd, map, max_bytes) || elf_open__end_texts(&p->file) ||
	    gelf_getclass(p->file.elf) != ELFCLASS64)
		return false;
	for (unsigned i = 0; i < FRAMES_PACKAGE_N_SECTIONS; i++)
		if (names[i])
			p->sections[i] = section_of(p->file.elf, names[i], ".dwo");
	p->index = section_of(p->file.elf, ".debug_cu_index", "");
	return p->index.n >= INDEX_HEAD && le__get16(p->index.p) == INDEX_VERSION;
}

void frames_package__fini(struct frames_package *p)
{
	elf_open__fini(&p->file);
}

/* ------------------------------------------------------------------------------------------------
 * The index: version, columns, units, slots; ids [slots]; rows [slots]; then columns' numbers, and
 * for each unit's row an offset and a size in each column
 */

static uint32_t word(const struct frames_package_part *index, uint64_t at)
{
	return le__get32(index->p + at);
}

/* The row of a unit, from 1; 0 when there is none. */
static uint32_t row_of(const struct frames_package_part *index, uint64_t id)
{
	const uint32_t slots = word(index, 12);
	uint64_t at = id & (slots - 1), step = (id >> 32 & (slots - 1)) | 1;

	for (uint32_t i = 0; i < slots; i++, at = (at + step) & (slots - 1)) {
		uint32_t row = word(index, INDEX_HEAD + 8ull * slots + 4 * at);

		if (row == 0)
			return 0;
		if (le__get64(index->p + INDEX_HEAD + 8 * at) == id)
			return row;
	}
	return 0;
}

/* The part of each section that is the unit's; strings are all units'. */
static bool contributions(const struct frames_package *p, uint64_t id,
			  struct frames_package_part ret[static FRAMES_PACKAGE_N_SECTIONS])
{
	const struct frames_package_part *index = &p->index;
	const uint64_t columns = word(index, 4), units = word(index, 8), slots = word(index, 12);
	const uint64_t heads = INDEX_HEAD + 12 * slots;
	uint32_t row;

	if (columns > COLUMNS_MAX || slots == 0 || slots & (slots - 1) ||
	    heads + 4 * columns * (1 + 2 * units) > index->n)
		return false;
	row = row_of(index, id);
	if (row == 0 || row > units)
		return false;
	ret[FRAMES_PACKAGE_STR] = p->sections[FRAMES_PACKAGE_STR];
	for (uint64_t i = 0; i < columns; i++) {
		const uint32_t which = word(index, heads + 4 * i);
		const uint64_t off = word(index, heads + 4 * (columns * row + i));
		const uint64_t n = word(index, heads + 4 * (columns * (units + row) + i));
		const struct frames_package_part *s = &p->sections[which % FRAMES_PACKAGE_N_SECTIONS];

		if (which == 0 || which >= FRAMES_PACKAGE_N_SECTIONS || !s->p)
			continue;
		if (off > s->n || n > s->n - off)
			return false;
		ret[which] = (struct frames_package_part){ s->p + off, n };
	}
	return ret[FRAMES_PACKAGE_INFO].n && ret[FRAMES_PACKAGE_ABBREV].n;
}

/* ------------------------------------------------------------------------------------------------
 * A unit as an ELF file
 */

/* The skeleton's part of the program's .debug_addr, less the bias. */
static bool take_addresses(Elf *program, Dwarf_Die *skeleton, uint64_t bias, struct buf *ret)
{
	struct frames_package_part all = section_of(program, ".debug_addr", "");
	Dwarf_Attribute attr;
	Dwarf_Word base;
	uint64_t n;

	if (!dwarf_attr(skeleton, DW_AT_addr_base, &attr) || dwarf_formudata(&attr, &base) ||
	    !all.p || base < ADDR_HEAD || base > all.n)
		return false;
	/* The length in the head before it counts from behind itself. */
	n = le__get32(all.p + base - ADDR_HEAD);
	if (n < ADDR_HEAD - 4 || n - (ADDR_HEAD - 4) > all.n - base || all.p[base - 2] != 8)
		return false;
	n -= ADDR_HEAD - 4;
	for (uint64_t i = 0; i + 8 <= n; i += 8)
		buf__le64(ret, le__get64(all.p + base + i) - bias);
	return !ret->error;
}

/*
 * An ELF file with sections of these names, a byte each. What belongs there is put in its place in
 * memory, since a package's texts are too many to be copied for each unit.
 */
static bool make_image(struct buf *b)
{
	const size_t head = sizeof(Elf64_Ehdr), sections = head + TEXT_BYTES;
	Elf64_Ehdr e = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			 .e_type = ET_REL,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_shoff = sections,
			 .e_ehsize = sizeof(e),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = N_NAMES + 1,
			 .e_shstrndx = N_NAMES };
	Elf64_Shdr s[N_NAMES + 1] = { { .sh_type = SHT_NULL } };
	char text[TEXT_BYTES] = "";
	uint32_t at = 1;
	unsigned k = 1;

	for (unsigned i = 0; i < N_NAMES; i++) {
		if (!names[i])
			continue;
		s[k++] = (Elf64_Shdr){ .sh_name = at,
				       .sh_type = SHT_PROGBITS,
				       .sh_offset = head,
				       .sh_size = 1,
				       .sh_addralign = 1 };
		memcpy(text + at, names[i], strlen(names[i]));
		at += (uint32_t)strlen(names[i]) + 1;
	}
	e.e_shnum = (uint16_t)(k + 1);
	e.e_shstrndx = (uint16_t)k;
	s[k] = (Elf64_Shdr){ .sh_name = 0,
			     .sh_type = SHT_STRTAB,
			     .sh_offset = head,
			     .sh_size = sizeof(text),
			     .sh_addralign = 1 };
	buf__append(b, &e, sizeof(e));
	buf__append(b, text, sizeof(text));
	buf__append(b, s, (k + 1) * sizeof(*s));
	return !b->error;
}

static bool put_section(Elf *elf, size_t number, struct frames_package_part part)
{
	Elf_Scn *scn = elf_getscn(elf, number);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Shdr shdr;

	if (!data || !gelf_getshdr(scn, &shdr))
		return false;
	if (!part.p || !part.n)
		shdr.sh_type = SHT_NULL; /* as if it were not there */
	data->d_buf = (void *)(uintptr_t)part.p;
	data->d_size = part.n;
	shdr.sh_size = part.n;
	return gelf_update_shdr(scn, &shdr);
}

static bool fill_image(struct frames_unit *u, const struct frames_package_part *parts)
{
	size_t number = 1;

	for (unsigned i = 0; i < N_NAMES; i++) {
		if (!names[i])
			continue;
		if (!put_section(u->elf, number++,
				 i < FRAMES_PACKAGE_N_SECTIONS
					 ? parts[i]
					 : (struct frames_package_part){ u->addresses.data,
									 u->addresses.n }))
			return false;
	}
	return true;
}

bool frames_package__unit(const struct frames_package *p, Elf *program, Dwarf_Die *skeleton,
			  uint64_t id, uint64_t bias, struct frames_unit *ret)
{
	struct frames_package_part parts[FRAMES_PACKAGE_N_SECTIONS] = { { NULL, 0 } };
	Dwarf_CU *cu = NULL;

	*ret = (struct frames_unit){ 0 };
	if (!contributions(p, id, parts) ||
	    !take_addresses(program, skeleton, bias, &ret->addresses) || !make_image(&ret->image))
		return false;
	ret->elf = elf_memory((char *)ret->image.data, ret->image.n);
	if (!ret->elf || !fill_image(ret, parts))
		return false;
	ret->dwarf = dwarf_begin_elf(ret->elf, DWARF_C_READ, NULL);
	return ret->dwarf && dwarf_get_units(ret->dwarf, NULL, &cu, NULL, NULL, &ret->die, NULL) == 0;
}

void frames_unit__fini(struct frames_unit *u)
{
	dwarf_end(u->dwarf);
	elf_end(u->elf);
	buf__fini(&u->image);
	buf__fini(&u->addresses);
}
