/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/extract.c - an ELF file reduced to what names its addresses
 *
 * Sections are walked twice: what the file has decides what is kept (without .symtab, .dynsym is
 * worth its bytes; a stripped Go program needs the data that its trees of inlined calls lie in),
 * and then each section is copied, compressed or emptied, and given its place behind the one
 * before. Segments stay as they are, because file offsets of the original are looked up in them;
 * only that of the notes follows its content.
 *
 * Threads: none shared. Limits: a section of up to 4 GiB is compressed, larger ones are copied.
 * Sources: gABI (Compression Header, SHT_NOBITS), what elfutils' eu-strip -f leaves in a debug
 * file.
 */
#include "core/symbolize/extract.h"

#include <errno.h>
#include <gelf.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/str.h"
#include "core/base/vec.h"
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/elf_open.h"

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

#define MAX_COMPRESSED ((uint64_t)4 << 30)
/* So many times the file, compressed sections may be when they are unpacked: those of compilers are five times as large. */
#define MAX_UNPACKED 64u
/* No content that is kept is of more; it is for memory, and a file would be little but the gap before it. */
#define MAX_ALIGN 4096u

/* DWARF that no name and no line is in. */
static const char *const dropped[] = {
	".debug_loc",	   ".debug_loclists", ".debug_macro",	     ".debug_macinfo",
	".debug_pubnames", ".debug_pubtypes", ".debug_gnu_pubnames", ".debug_gnu_pubtypes",
	".debug_names",	   ".debug_frame",    ".debug_gdb_scripts",  ".gdb_index"
};

struct extract {
	Elf *in, *out;
	enum extract_level level;
	struct debuginfo_facts facts;
	const char *build_id; /* of a file without one; NULL: none */
	size_t names;	      /* the section of section names */
	uint64_t at;	      /* where the next content goes */
	uint64_t left; /* bytes of the file that no content has had: sections do not share any */
	uint64_t unpacked_left; /* what may be unpacked yet */
	bool any;		/* something that names an address was kept */
	VEC(void *) made;	/* contents that were made here */
};

/* Where the content of a section is, and how it is to be called. */
struct content {
	void *data;
	size_t n;
};

/* --- what is kept --- */

static bool is_dropped_dwarf(const char *name)
{
	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++) {
		if (strcmp(name, dropped[i]) == 0)
			return true;
	}
	return false;
}

static bool starts(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/*
 * Data that a stripped Go program's lines need: module record, trees, and relocations into these.
 */
static bool is_go_data(const char *name, const GElf_Shdr *s)
{
	if (s->sh_type == SHT_RELA)
		return s->sh_flags & SHF_ALLOC;
	return s->sh_type == SHT_PROGBITS && (s->sh_flags & SHF_ALLOC) &&
	       !(s->sh_flags & SHF_EXECINSTR) &&
	       (starts(name, ".go.") || starts(name, ".rodata") || starts(name, ".noptrdata") ||
		starts(name, ".data"));
}

static bool is_kept(const struct extract *x, size_t index, const char *name, const GElf_Shdr *s)
{
	const struct debuginfo_facts *f = &x->facts;

	if (index == x->names || s->sh_type == SHT_NOTE || s->sh_type == SHT_SYMTAB ||
	    s->sh_type == SHT_SYMTAB_SHNDX)
		return true;
	if (starts(name, ".debug_") || starts(name, ".gdb_index"))
		return !is_dropped_dwarf(name);
	if (strcmp(name, ".strtab") == 0 || starts(name, ".zdebug_") ||
	    strcmp(name, ".comment") == 0 || strcmp(name, ".gopclntab") == 0 ||
	    strcmp(name, ".data.rel.ro.gopclntab") == 0 || strcmp(name, ".gnu_debugaltlink") == 0)
		return true;
	if (!f->has_symtab && (s->sh_type == SHT_DYNSYM || strcmp(name, ".dynstr") == 0 ||
			       strcmp(name, ".gnu_debugdata") == 0))
		return true;
	return f->has_go && !f->has_dwarf && is_go_data(name, s);
}

/* --- compression --- */

static void *keep_made(struct extract *x, void *p)
{
	if (p && !vec__push(&x->made, p)) {
		free(p);
		return NULL;
	}
	return p;
}

/* Puts a compression header and a zlib stream in the place of the content, if that is smaller. */
static int pack(struct extract *x, GElf_Shdr *s, struct content *c)
{
	bool is_64 = gelf_getclass(x->out) == ELFCLASS64;
	size_t head = is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr), n;
	struct libdeflate_compressor *z;
	uint8_t *made;

	if (c->n <= head || c->n > MAX_COMPRESSED)
		return 0;
	z = libdeflate_alloc_compressor(x->level);
	made = keep_made(x, z ? malloc(c->n) : NULL);
	if (!made) {
		libdeflate_free_compressor(z);
		return -ENOMEM;
	}
	n = libdeflate_zlib_compress(z, c->data, c->n, made + head, c->n - head);
	libdeflate_free_compressor(z);
	if (n == 0)
		return 0; /* not smaller */
	if (is_64)
		memcpy(made,
		       &(Elf64_Chdr){ .ch_type = ELFCOMPRESS_ZLIB,
				      .ch_size = c->n,
				      .ch_addralign = s->sh_addralign },
		       head);
	else
		memcpy(made,
		       &(Elf32_Chdr){ .ch_type = ELFCOMPRESS_ZLIB,
				      .ch_size = (Elf32_Word)c->n,
				      .ch_addralign = (Elf32_Word)s->sh_addralign },
		       head);
	*c = (struct content){ made, head + n };
	s->sh_flags |= SHF_COMPRESSED;
	s->sh_addralign = is_64 ? 8 : 4;
	return 0;
}

/* zstd to plain, of what is packed again; what is compressed by zlib stays. */
static int unpack_zstd(struct extract *x, Elf_Scn *scn, GElf_Shdr *s, struct content *c)
{
	size_t head = gelf_getclass(x->in) == ELFCLASS64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	GElf_Chdr chdr;
	void *plain;

	if (!(s->sh_flags & SHF_COMPRESSED) || !gelf_getchdr(scn, &chdr) ||
	    chdr.ch_type != ELFCOMPRESS_ZSTD || c->n < head)
		return 0;
	if (chdr.ch_size > x->unpacked_left)
		return -E2BIG;
	x->unpacked_left -= chdr.ch_size;
	plain = keep_made(x, elf_open__unzstd((char *)c->data + head, c->n - head, chdr.ch_size));
	if (!plain)
		return -ENOEXEC;
	*c = (struct content){ plain, chdr.ch_size };
	s->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	s->sh_addralign = chdr.ch_addralign;
	return 0;
}

/* --- writing --- */

static int put(struct extract *x, Elf_Scn *to, GElf_Shdr *s, const struct content *c)
{
	Elf_Data *data = elf_newdata(to);

	if (!data)
		return -ENOMEM;
	s->sh_addralign = s->sh_addralign < MAX_ALIGN ? s->sh_addralign : MAX_ALIGN;
	uint64_t align = s->sh_addralign > 1 ? s->sh_addralign : 1;
	/* Notes keep their distances, whatever is in front of them. */
	if (s->sh_type == SHT_NOTE && align < 8 && (x->at % 8) == 0)
		align = 8;
	x->at = (x->at + align - 1) / align * align;
	data->d_buf = c->data;
	data->d_size = c->n;
	data->d_type = ELF_T_BYTE;
	data->d_align = 1;
	data->d_version = EV_CURRENT;
	s->sh_offset = x->at;
	s->sh_size = c->n;
	x->at += c->n;
	return gelf_update_shdr(to, s) ? 0 : -ENOEXEC;
}

static int copy_section(struct extract *x, Elf_Scn *from)
{
	Elf_Scn *to = elf_newscn(x->out);
	struct content c;
	const char *name;
	Elf_Data *raw;
	GElf_Shdr s;
	int rc;

	if (!to)
		return -ENOMEM;
	if (!gelf_getshdr(from, &s))
		return -ENOEXEC;
	name = elf_strptr(x->in, x->names, s.sh_name);
	if (s.sh_type != SHT_NULL &&
	    (s.sh_type == SHT_NOBITS || !is_kept(x, elf_ndxscn(from), name ? name : "", &s))) {
		s.sh_type = SHT_NOBITS;
		s.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
		s.sh_offset = x->at;
	}
	if (s.sh_type == SHT_NULL)
		s.sh_offset = s.sh_size = 0; /* libelf would make the file reach to there */
	if (s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL)
		return gelf_update_shdr(to, &s) ? 0 : -ENOEXEC;
	raw = elf_rawdata(from, NULL);
	if (!raw)
		return -ENOEXEC;
	if (raw->d_size > x->left)
		return -EBADMSG;
	x->left -= raw->d_size;
	c = (struct content){ raw->d_buf, raw->d_size };
	x->any = x->any || (s.sh_type != SHT_NOTE && s.sh_type != SHT_STRTAB && c.n);
	const bool is_debug = name && starts(name, ".debug_");

	rc = is_debug ? unpack_zstd(x, from, &s, &c) : 0;
	if (!rc && is_debug && !(s.sh_flags & (SHF_COMPRESSED | SHF_ALLOC)))
		rc = pack(x, &s, &c);
	return rc ? rc : put(x, to, &s, &c);
}

/* NT_GNU_BUILD_ID (gABI, note section). Its name is nobody's: the section of names is the original's. */
static int add_build_id(struct extract *x)
{
	const size_t n = strlen(x->build_id) / 2, bytes = sizeof(Elf64_Nhdr) + 4 + (n + 3) / 4 * 4;
	const Elf64_Nhdr head = { 4, (Elf64_Word)n, NT_GNU_BUILD_ID }; /* the same for both classes */
	GElf_Shdr s = { .sh_type = SHT_NOTE, .sh_addralign = 4 };
	uint8_t *note = keep_made(x, calloc(1, bytes));
	Elf_Scn *to = elf_newscn(x->out);

	if (!note || !to)
		return -ENOMEM;
	memcpy(note, &head, sizeof(head));
	memcpy(note + sizeof(head), "GNU", 4);
	for (size_t i = 0; i < n; i++)
		note[sizeof(head) + 4 + i] = (uint8_t)(str__hex_digit(x->build_id[2 * i]) << 4 |
						       str__hex_digit(x->build_id[2 * i + 1]));
	return put(x, to, &s, &(struct content){ note, bytes });
}

/* The segment of the notes follows them; where they do not lie as they did, it has no content. */
static void follow_notes(struct extract *x, GElf_Phdr *p)
{
	uint64_t offset = 0;
	bool any = false;

	for (Elf_Scn *scn = elf_nextscn(x->out, NULL); scn; scn = elf_nextscn(x->out, scn)) {
		GElf_Shdr s;

		if (!gelf_getshdr(scn, &s) || s.sh_type != SHT_NOTE || s.sh_addr < p->p_vaddr ||
		    s.sh_addr - p->p_vaddr >= p->p_memsz)
			continue;
		if (!any)
			offset = s.sh_offset - (s.sh_addr - p->p_vaddr);
		else if (s.sh_offset - offset != s.sh_addr - p->p_vaddr)
			p->p_filesz = 0;
		any = true;
	}
	if (any)
		p->p_offset = offset;
	else
		p->p_filesz = 0;
}

static int copy_segments(struct extract *x, size_t n)
{
	if (n && !gelf_newphdr(x->out, n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(x->in, (int)i, &p))
			return -ENOEXEC;
		if (p.p_type == PT_NOTE)
			follow_notes(x, &p);
		if (!gelf_update_phdr(x->out, (int)i, &p))
			return -ENOEXEC;
	}
	return 0;
}

static int write_headers(struct extract *x, GElf_Ehdr *e, size_t n_segments)
{
	size_t class_bytes = gelf_getclass(x->in) == ELFCLASS64 ? 8 : 4;
	int rc = copy_segments(x, n_segments);

	if (rc)
		return rc;
	x->at = (x->at + class_bytes - 1) / class_bytes * class_bytes;
	e->e_phoff = n_segments ? e->e_ehsize : 0;
	e->e_shoff = x->at;
	if (!gelf_update_ehdr(x->out, e))
		return -ENOEXEC;
	errno = 0;
	if (elf_update(x->out, ELF_C_WRITE) >= 0)
		return 0;
	/* Without an errno libelf refuses what the headers say, an alignment or a version, and no disk is at fault. */
	return errno ? -errno : -ENOEXEC;
}

static int copy(struct extract *x)
{
	GElf_Ehdr e;
	size_t n_segments = 0;
	int rc = 0;

	if (!gelf_getehdr(x->in, &e) || elf_getphdrnum(x->in, &n_segments) ||
	    elf_getshdrstrndx(x->in, &x->names))
		return -ENOEXEC;
	if (!gelf_newehdr(x->out, gelf_getclass(x->in)))
		return -ENOMEM;
	elf_flagelf(x->out, ELF_C_SET, ELF_F_LAYOUT);
	x->at = e.e_ehsize + n_segments * (uint64_t)e.e_phentsize;
	for (Elf_Scn *scn = elf_nextscn(x->in, NULL); scn && !rc; scn = elf_nextscn(x->in, scn))
		rc = copy_section(x, scn);
	if (!rc && !x->any)
		return -ENODATA;
	if (!rc && x->build_id && !x->facts.build_id[0])
		rc = add_build_id(x);
	return rc ? rc : write_headers(x, &e, n_segments);
}

static int refuse(const struct extract *x, struct dcm_error *err)
{
	GElf_Ehdr e;

	if (elf_kind(x->in) != ELF_K_ELF || !gelf_getehdr(x->in, &e))
		return error__set(err, -ENOEXEC, "not an ELF file");
	if (e.e_ident[EI_DATA] != ELFDATA2LSB)
		return error__set(err, -ENOEXEC, "big-endian ELF files are not read");
	if (e.e_type != ET_EXEC && e.e_type != ET_DYN)
		return error__set(
			err, -EINVAL,
			"neither a program nor a library: its addresses are not final; give "
			"the linked file");
	return 0;
}

static int explain(int rc, struct dcm_error *err)
{
	if (rc == -ENOMEM)
		return error__nomem(err);
	if (rc == -ENODATA)
		return error__set(
			err, rc,
			"nothing in it names an address: it is stripped, or cut off; give the "
			"file with symbols, or its separate debuginfo");
	if (rc == -ENOEXEC)
		return error__set(err, rc, "a damaged ELF file: %s", elf_errmsg(-1));
	if (rc == -EBADMSG)
		return error__set(err, -ENOEXEC,
				  "a damaged ELF file: its sections have more bytes than it has");
	if (rc == -E2BIG)
		return error__set(err, -ENOEXEC, "a damaged ELF file: its compressed sections are more than %u times as large as it is",
				  MAX_UNPACKED);
	return rc ? error__sys(err, rc, "the reduced file cannot be written: %s", elf_errmsg(-1)) : 0;
}

int extract__file(int in_fd, int out_fd, enum extract_level level, struct extract_report *ret,
		  struct dcm_error *err)
{
	return extract__file_as(in_fd, out_fd, level, NULL, ret, err);
}

int extract__file_as(int in_fd, int out_fd, enum extract_level level, const char *build_id,
		     struct extract_report *ret, struct dcm_error *err)
{
	struct extract x = { .level = level, .build_id = build_id };
	struct stat in, out;
	int rc;

	if (build_id && !elf__is_build_id(str__of(build_id)))
		return error__set(err, -EINVAL, "the build id is no lower-case hex of 2 to %d bytes",
				  ELF_BUILD_ID_MAX);
	rc = debuginfo__facts(in_fd, &x.facts);

	if (rc)
		return rc == -ENOMEM ? error__nomem(err)
				     : error__set(err, rc, "not an ELF file, or a damaged one");
	elf_version(EV_CURRENT);
	x.in = elf_begin(in_fd, ELF_C_READ_MMAP, NULL);
	x.out = elf_begin(out_fd, ELF_C_WRITE, NULL);
	rc = x.in && x.out ? refuse(&x, err)
			   : error__set(err, -ENOEXEC, "not an ELF file: %s", elf_errmsg(-1));
	if (!rc && fstat(in_fd, &in) < 0)
		rc = error__sys(err, -errno, "cannot be measured");
	x.left = rc ? 0 : (uint64_t)in.st_size;
	x.unpacked_left = x.left * MAX_UNPACKED;
	if (!rc)
		rc = explain(copy(&x), err);
	elf_end(x.out);
	elf_end(x.in);
	for (size_t i = 0; i < x.made.n; i++)
		free(x.made.v[i]);
	vec__fini(&x.made);
	if (!rc && fstat(out_fd, &out) < 0)
		rc = error__sys(err, -errno, "what came of it cannot be measured");
	if (rc)
		return rc;
	snprintf(ret->build_id, sizeof(ret->build_id), "%s",
		 x.facts.build_id[0] || !build_id ? x.facts.build_id : build_id);
	ret->bytes_in = (uint64_t)in.st_size;
	ret->bytes_out = (uint64_t)out.st_size;
	return 0;
}
