/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/build_id.c - the GNU build id of an ELF file
 *
 * Looked for in the segments of notes first, because these are what a stripped or running file has
 * for sure, then in sections of notes. At most NOTE_MAX_BYTES of each are read: the linker puts the
 * build id among small notes, and what is larger holds other things (systemtap probes, annobin).
 *
 * Threads: none shared. Sources: gABI (note section); elf_getnote's rule that notes of alignment 8
 * pad to 8.
 */
#include "core/symbolize/elf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "core/symbolize/elf_file.h"

enum {
	NOTE_MAX_BYTES = 8192, /* read of each segment or section; on the stack */
	NOTE_MAX_PLACES = 256  /* segments and sections looked at */
};

static void to_hex(const uint8_t *p, size_t n, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		ret_hex[2 * i] = digits[p[i] >> 4];
		ret_hex[2 * i + 1] = digits[p[i] & 15];
	}
	ret_hex[2 * n] = '\0';
}

/* 0 when one of the notes in p[n] is the build id, else -ENODATA. */
static int find_note(const uint8_t *p, size_t n, size_t align, char *ret_hex)
{
	size_t at = 0;

	while (n - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h; /* the same for both classes */
		size_t name = at + sizeof(h), desc, next;

		memcpy(&h, p + at, sizeof(h));
		if (h.n_namesz > n - name)
			return -ENODATA;
		desc = (name + h.n_namesz + align - 1) & ~(align - 1);
		if (desc > n || h.n_descsz > n - desc)
			return -ENODATA;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && memcmp(p + name, "GNU", 4) == 0 &&
		    h.n_descsz > 0 && h.n_descsz <= ELF_BUILD_ID_MAX) {
			to_hex(p + desc, h.n_descsz, ret_hex);
			return 0;
		}
		next = (desc + h.n_descsz + align - 1) & ~(align - 1);
		if (next <= at || next > n)
			return -ENODATA;
		at = next;
	}
	return -ENODATA;
}

static int search(const struct elf_file *f, uint64_t offset, uint64_t bytes, uint64_t align, char *ret_hex)
{
	uint8_t notes[NOTE_MAX_BYTES];
	size_t n = bytes < sizeof(notes) ? (size_t)bytes : sizeof(notes);
	int rc;

	if (!elf_file__holds(f, offset, n))
		return -ENODATA;
	rc = elf_file__read(f, notes, n, offset);
	return rc ? rc : find_note(notes, n, align == 8 ? 8 : 4, ret_hex);
}

int elf_file__build_id(const struct elf_file *f, char ret_hex[static ELF_BUILD_ID_TEXT])
{
	unsigned places = 0;

	for (uint32_t i = 0; i < f->n_segments && places < NOTE_MAX_PLACES; i++) {
		const struct elf_segment *p = &f->segments[i];
		int rc;

		if (p->type != PT_NOTE)
			continue;
		places++;
		rc = search(f, p->offset, p->file_bytes, p->align, ret_hex);
		if (rc != -ENODATA)
			return rc;
	}
	for (uint32_t i = 0; i < f->n_sections && places < NOTE_MAX_PLACES; i++) {
		const struct elf_section *s = &f->sections[i];
		int rc;

		if (s->type != SHT_NOTE)
			continue;
		places++;
		rc = search(f, s->offset, s->bytes, 4, ret_hex);
		if (rc != -ENODATA)
			return rc;
	}
	return -ENODATA;
}

bool elf__is_build_id(struct dcm_str text)
{
	if (text.n < 4 || text.n % 2 != 0 || text.n >= ELF_BUILD_ID_TEXT)
		return false;
	for (uint32_t i = 0; i < text.n; i++)
		if (!memchr("0123456789abcdef", text.p[i], 16))
			return false;
	return true;
}

int elf__build_id(int fd, char ret_hex[static ELF_BUILD_ID_TEXT])
{
	struct elf_file f;
	int rc = elf_file__open(&f, fd);

	if (!rc)
		rc = elf_file__build_id(&f, ret_hex);
	elf_file__fini(&f);
	return rc;
}
