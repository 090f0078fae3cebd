/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_open.c - an ELF file in libelf's hands, its debug sections within a bound
 *
 * Threads: none shared. Limits: the caller's max_bytes for all sections together, once
 * decompressed. Sources: gABI (Compression Header), binutils' .zdebug_ sections ("ZLIB" and the
 * size, 8 bytes big-endian).
 */
#include "core/symbolize/elf_open.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

void *elf_open__unzstd(const void *data, size_t n, uint64_t plain_bytes)
{
	/* What a header says may be anything; a block of zstd makes 128 KiB of 3 bytes at most (RFC 8878, 3.1.1.2). */
	const bool may_be = plain_bytes / (128 << 10) <= n / 3;
	void *plain = may_be && plain_bytes < SIZE_MAX ? malloc(plain_bytes + 1) : NULL;
	size_t got = plain ? ZSTD_decompress(plain, plain_bytes, data, n) : 0;

	if (plain && (ZSTD_isError(got) || got != plain_bytes)) {
		free(plain);
		return NULL;
	}
	if (plain)
		((char *)plain)[plain_bytes] = '\0'; /* libdw looks for the end of a last text */
	return plain;
}

/*
 * Puts the plain content in the place of the compressed one; libelf then sees an ordinary section.
 */
static int replace_zstd(struct elf_open *o, Elf_Scn *scn, GElf_Shdr *shdr, const GElf_Chdr *chdr)
{
	size_t head = gelf_getclass(o->elf) == ELFCLASS64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
	Elf_Data *data = elf_getdata(scn, NULL);
	void *plain;

	if (!data || data->d_size < head)
		return 0;
	plain = elf_open__unzstd((const char *)data->d_buf + head, data->d_size - head, chdr->ch_size);
	if (!plain)
		return 0; /* as if it were not there */
	if (!vec__push(&o->plain, plain)) {
		free(plain);
		return -ENOMEM;
	}
	data->d_buf = plain;
	data->d_size = chdr->ch_size;
	shdr->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	shdr->sh_size = chdr->ch_size;
	gelf_update_shdr(scn, shdr);
	return 0;
}

/* A section's name without what gcc puts before it in an object for LTO; NULL: it has none. */
static const char *name_of(const struct elf_open *o, size_t names, Elf_Scn *scn, GElf_Shdr *ret_shdr)
{
	static const char lto[] = ".gnu.debuglto_";
	const char *name = gelf_getshdr(scn, ret_shdr) ? elf_strptr(o->elf, names, ret_shdr->sh_name)
						       : NULL;

	return name && strncmp(name, lto, sizeof(lto) - 1) == 0 ? name + sizeof(lto) - 1 : name;
}

/* Bytes that a .zdebug_ section says it has; its own size when it is none after all. */
static uint64_t gnu_plain_bytes(Elf_Scn *scn)
{
	Elf_Data *raw = elf_rawdata(scn, NULL);
	uint64_t n;

	if (!raw || raw->d_size < 12 || memcmp(raw->d_buf, "ZLIB", 4) != 0)
		return raw ? raw->d_size : 0;
	memcpy(&n, (const char *)raw->d_buf + 4, sizeof(n));
	return be64toh(n);
}

static int take_section(struct elf_open *o, size_t names, Elf_Scn *scn, uint64_t *left)
{
	GElf_Shdr shdr;
	GElf_Chdr chdr = { 0 };
	const char *name = name_of(o, names, scn, &shdr);
	uint64_t bytes;

	if (!name || shdr.sh_type == SHT_NOBITS)
		return 0;
	bytes = shdr.sh_size;
	if (shdr.sh_flags & SHF_COMPRESSED && gelf_getchdr(scn, &chdr))
		bytes = chdr.ch_size;
	else if (strncmp(name, ".zdebug_", 8) == 0)
		bytes = gnu_plain_bytes(scn);
	else if (strncmp(name, ".debug_", 7) != 0)
		return 0;
	if (bytes > *left)
		return -EFBIG;
	*left -= bytes;
	o->has_info = o->has_info || strcmp(name, ".debug_info") == 0 ||
		      strcmp(name, ".zdebug_info") == 0;
	return chdr.ch_type == ELFCOMPRESS_ZSTD ? replace_zstd(o, scn, &shdr, &chdr) : 0;
}

int elf_open__begin(struct elf_open *o, int fd, bool map, uint64_t max_bytes)
{
	uint64_t left = max_bytes;
	size_t names;
	int rc = 0;

	*o = (struct elf_open){ 0 };
	elf_version(EV_CURRENT);
	o->elf = elf_begin(fd, map ? ELF_C_READ_MMAP_PRIVATE : ELF_C_READ, NULL);
	if (!o->elf || elf_kind(o->elf) != ELF_K_ELF)
		return -ENOEXEC;
	if (elf_getshdrstrndx(o->elf, &names))
		return 0; /* no sections, so no DWARF */
	for (Elf_Scn *scn = elf_nextscn(o->elf, NULL); scn && !rc; scn = elf_nextscn(o->elf, scn))
		rc = take_section(o, names, scn, &left);
	return rc;
}

/* --- texts --- */

static bool is_debug(const char *name, const char *kind)
{
	size_t n = strlen(kind);

	if (name[0] != '.')
		return false;
	name += name[1] == 'z' ? 2 : 1;
	return strncmp(name, kind, n) == 0 && (name[n] == '\0' || strcmp(name + n, ".dwo") == 0);
}

/* Leaves what is before the last text's NUL: libdw takes an offset that is the size, too. */
static void cut_texts(Elf_Data *data, const char *nul)
{
	static char empty[] = "";

	if (!nul)
		data->d_buf = empty;
	data->d_size = nul ? (size_t)(nul - (const char *)data->d_buf) : 0;
}

static int end_texts(struct elf_open *o, Elf_Data *data, bool only_texts)
{
	const char *from = data->d_buf, *nul = memrchr(from, '\0', data->d_size);
	struct elf_open_tail tail = { nul ? nul + 1 : from, from + data->d_size };

	if (only_texts) {
		cut_texts(data, nul);
	} else if (tail.from < tail.to) {
		if (o->n_tails == ELF_OPEN_MAX_TAILS)
			return -ENOEXEC;
		o->tails[o->n_tails++] = tail;
	}
	return 0;
}

int elf_open__end_texts(struct elf_open *o)
{
	size_t names;
	int rc = 0;

	if (elf_getshdrstrndx(o->elf, &names))
		return 0;
	for (Elf_Scn *scn = elf_nextscn(o->elf, NULL); scn && !rc; scn = elf_nextscn(o->elf, scn)) {
		GElf_Shdr shdr;
		const char *name = name_of(o, names, scn, &shdr);
		bool only_texts, some_texts;
		Elf_Data *data;

		if (!name || shdr.sh_type == SHT_NOBITS)
			continue;
		only_texts = is_debug(name, "debug_str") || is_debug(name, "debug_line_str");
		some_texts = is_debug(name, "debug_info") || is_debug(name, "debug_types");
		data = only_texts || some_texts ? elf_getdata(scn, NULL) : NULL;
		if (data && data->d_buf && data->d_size)
			rc = end_texts(o, data, only_texts);
	}
	return rc;
}

bool elf_open__text_ends(const struct elf_open *o, const char *text)
{
	for (unsigned i = 0; i < o->n_tails; i++)
		if (text >= o->tails[i].from && text < o->tails[i].to)
			return false;
	return true;
}

void elf_open__fini(struct elf_open *o)
{
	elf_end(o->elf);
	for (size_t i = 0; i < o->plain.n; i++)
		free(o->plain.v[i]);
	vec__fini(&o->plain);
	o->elf = NULL;
}
