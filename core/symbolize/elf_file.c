/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_file.c - the headers of an ELF file, of both classes in one shape
 *
 * Why not libelf: elf_begin() on a descriptor reads or maps whole sections before a caller can say
 * how much is too much, and a section of a hostile file may claim anything. What is needed here is
 * three fixed structs, so they are read by hand, in pieces, each checked against the size of the
 * file first.
 *
 * Threads: none shared. Limits: ELF_MAX_SEGMENTS, ELF_MAX_SECTIONS, 1 MiB of section names.
 * Sources: System V gABI (elf header, sections, program header), <elf.h>.
 */
#include "core/symbolize/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/fd.h"
#include "core/base/mem.h"

enum {
	ELF_MAX_SEGMENTS = 4096,
	ELF_MAX_SECTIONS = 1 << 17,
	ELF_MAX_NAMES = 1 << 20,
	ELF_CHUNK = 64 /* headers read at once */
};

/* The fields of the file header that say where the tables are. */
struct tables {
	uint64_t phoff, shoff;
	uint32_t phnum, shnum, shstrndx;
	uint32_t phentsize, shentsize;
};

bool elf_file__holds(const struct elf_file *f, uint64_t offset, uint64_t n)
{
	return offset <= f->bytes && n <= f->bytes - offset;
}

int elf_file__read(const struct elf_file *f, void *to, size_t n, uint64_t offset)
{
	if (!elf_file__holds(f, offset, n))
		return -ENOEXEC;
	if (n == 0)
		return 0;
	if (f->fd >= 0)
		return fd__pread_full(f->fd, to, n, offset);
	memcpy(to, f->memory + offset, n);
	return 0;
}

int elf_file__read_at(const struct elf_file *f, void *to, size_t n, uint64_t vaddr)
{
	for (uint32_t i = 0; i < f->n_sections; i++) {
		const struct elf_section *s = &f->sections[i];

		if (s->type != SHT_NOBITS && (s->flags & SHF_ALLOC) && vaddr >= s->addr &&
		    vaddr - s->addr <= s->bytes && n <= s->bytes - (vaddr - s->addr))
			return elf_file__read(f, to, n, s->offset + (vaddr - s->addr));
	}
	return -ENODATA;
}

static void segment_from(const struct elf_file *f, const void *raw, struct elf_segment *ret)
{
	if (f->is_64) {
		Elf64_Phdr p;

		memcpy(&p, raw, sizeof(p));
		*ret = (struct elf_segment){ p.p_type,	 p.p_flags, p.p_offset, p.p_vaddr,
					     p.p_filesz, p.p_memsz, p.p_align };
	} else {
		Elf32_Phdr p;

		memcpy(&p, raw, sizeof(p));
		*ret = (struct elf_segment){ p.p_type,	 p.p_flags, p.p_offset, p.p_vaddr,
					     p.p_filesz, p.p_memsz, p.p_align };
	}
}

static void section_from(const struct elf_file *f, const void *raw, struct elf_section *ret)
{
	if (f->is_64) {
		Elf64_Shdr s;

		memcpy(&s, raw, sizeof(s));
		*ret = (struct elf_section){ s.sh_name,	  s.sh_type,  s.sh_link,
					     s.sh_info,	  s.sh_flags, s.sh_addr,
					     s.sh_offset, s.sh_size,  s.sh_entsize };
	} else {
		Elf32_Shdr s;

		memcpy(&s, raw, sizeof(s));
		*ret = (struct elf_section){ s.sh_name,	  s.sh_type,  s.sh_link,
					     s.sh_info,	  s.sh_flags, s.sh_addr,
					     s.sh_offset, s.sh_size,  s.sh_entsize };
	}
}

static int read_file_header(struct elf_file *f, struct tables *ret)
{
	unsigned char ident[EI_NIDENT];
	int rc = elf_file__read(f, ident, sizeof(ident), 0);

	if (rc)
		return rc;
	if (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	f->is_64 = ident[EI_CLASS] == ELFCLASS64;
	if (f->is_64) {
		Elf64_Ehdr h;

		rc = elf_file__read(f, &h, sizeof(h), 0);
		if (rc)
			return rc;
		f->type = h.e_type;
		f->machine = h.e_machine;
		f->entry = h.e_entry;
		*ret = (struct tables){ h.e_phoff,    h.e_shoff,     h.e_phnum,	   h.e_shnum,
					h.e_shstrndx, h.e_phentsize, h.e_shentsize };
	} else if (ident[EI_CLASS] == ELFCLASS32) {
		Elf32_Ehdr h;

		rc = elf_file__read(f, &h, sizeof(h), 0);
		if (rc)
			return rc;
		f->type = h.e_type;
		f->machine = h.e_machine;
		f->entry = h.e_entry;
		*ret = (struct tables){ h.e_phoff,    h.e_shoff,     h.e_phnum,	   h.e_shnum,
					h.e_shstrndx, h.e_phentsize, h.e_shentsize };
	} else {
		return -ENOEXEC;
	}
	return 0;
}

static int read_segments(struct elf_file *f, const struct tables *t)
{
	uint32_t size = f->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);

	if (t->phnum == 0)
		return 0;
	if (t->phentsize != size || t->phnum > ELF_MAX_SEGMENTS ||
	    !elf_file__holds(f, t->phoff, (uint64_t)t->phnum * size))
		return -ENOEXEC;
	f->segments = mem__zalloc(t->phnum, sizeof(*f->segments));
	if (!f->segments)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->phnum; i++) {
		unsigned char raw[sizeof(Elf64_Phdr)]; /* the larger of the two */
		int rc = elf_file__read(f, raw, size, t->phoff + (uint64_t)i * size);

		if (rc)
			return rc;
		segment_from(f, raw, &f->segments[i]);
	}
	f->n_segments = t->phnum;
	return 0;
}

/*
 * Counts that do not fit the file header stand in section 0 (gABI, e_shnum, e_shstrndx, e_phnum).
 */
static int read_section_zero(const struct elf_file *f, struct tables *t)
{
	uint32_t size = f->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	unsigned char raw[sizeof(Elf64_Shdr)];
	struct elf_section zero;
	int rc;

	if (t->shoff == 0 || t->shentsize != size || !elf_file__holds(f, t->shoff, size)) {
		t->shnum = 0;
		return t->phnum == PN_XNUM ? -ENOEXEC : 0;
	}
	rc = elf_file__read(f, raw, size, t->shoff);
	if (rc)
		return rc;
	section_from(f, raw, &zero);
	if (t->shnum == 0)
		t->shnum = zero.bytes > ELF_MAX_SECTIONS ? 0 : (uint32_t)zero.bytes;
	if (t->shstrndx == SHN_XINDEX)
		t->shstrndx = zero.link;
	if (t->phnum == PN_XNUM)
		t->phnum = zero.info;
	if (t->shnum > ELF_MAX_SECTIONS || !elf_file__holds(f, t->shoff, (uint64_t)t->shnum * size))
		t->shnum = 0;
	return 0;
}

static int read_sections(struct elf_file *f, const struct tables *t)
{
	uint32_t size = f->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	unsigned char raw[ELF_CHUNK * sizeof(Elf64_Shdr)];

	if (t->shnum == 0)
		return 0;
	f->sections = mem__zalloc(t->shnum, sizeof(*f->sections));
	if (!f->sections)
		return -ENOMEM;
	for (uint32_t at = 0; at < t->shnum; at += ELF_CHUNK) {
		uint32_t n = t->shnum - at < ELF_CHUNK ? t->shnum - at : ELF_CHUNK;
		int rc = elf_file__read(f, raw, (size_t)n * size, t->shoff + (uint64_t)at * size);

		if (rc)
			return rc;
		for (uint32_t i = 0; i < n; i++)
			section_from(f, raw + (size_t)i * size, &f->sections[at + i]);
	}
	f->n_sections = t->shnum;
	return 0;
}

static int read_names(struct elf_file *f, uint32_t index)
{
	const struct elf_section *s;
	int rc;

	if (index >= f->n_sections)
		return 0;
	s = &f->sections[index];
	if (s->type != SHT_STRTAB || s->bytes > ELF_MAX_NAMES || !elf_file__holds(f, s->offset, s->bytes))
		return 0;
	f->names = mem__zalloc(s->bytes + 1, 1);
	if (!f->names)
		return -ENOMEM;
	rc = elf_file__read(f, f->names, s->bytes, s->offset);
	if (rc)
		return rc;
	f->names_bytes = (uint32_t)s->bytes;
	return 0;
}

static int read_headers(struct elf_file *f)
{
	struct tables t = { 0 };
	int rc = read_file_header(f, &t);

	if (!rc)
		rc = read_section_zero(f, &t);
	if (!rc)
		rc = read_segments(f, &t);
	if (!rc)
		rc = read_sections(f, &t);
	if (!rc)
		rc = read_names(f, t.shstrndx);
	return rc;
}

int elf_file__open(struct elf_file *f, int fd)
{
	struct stat st;

	*f = (struct elf_file){ .fd = fd };
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < 0)
		return -ENOEXEC;
	f->bytes = (uint64_t)st.st_size;
	return read_headers(f);
}

int elf_file__open_memory(struct elf_file *f, const uint8_t *data, size_t n)
{
	*f = (struct elf_file){ .fd = -1, .memory = data, .bytes = n };
	return read_headers(f);
}

void elf_file__fini(struct elf_file *f)
{
	free(f->segments);
	free(f->sections);
	free(f->names);
	f->segments = NULL;
	f->sections = NULL;
	f->names = NULL;
	f->n_segments = f->n_sections = f->names_bytes = 0;
}

const char *elf_file__name(const struct elf_file *f, const struct elf_section *s)
{
	return s->name < f->names_bytes ? f->names + s->name : "";
}

const struct elf_section *elf_file__section(const struct elf_file *f, const char *name)
{
	for (uint32_t i = 0; i < f->n_sections; i++) {
		if (strcmp(elf_file__name(f, &f->sections[i]), name) == 0)
			return &f->sections[i];
	}
	return NULL;
}
