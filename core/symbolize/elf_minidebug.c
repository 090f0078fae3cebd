/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/elf_minidebug.c - the symbol table inside .gnu_debugdata
 *
 * Distributions of the Fedora family strip .symtab into an xz-compressed ELF file that stays in the
 * binary as the section .gnu_debugdata. It is decompressed in memory, within bounds, and read like
 * any other ELF file; its addresses are those of the outer one.
 *
 * A file without it, or with one that does not decompress, adds nothing: what .dynsym named still
 * stands.
 * Threads: none shared. Limits: MAX_COMPRESSED, MAX_PLAIN, MAX_DECODER of memory for the decoder's
 * dictionary.
 * Sources: GDB manual, "MiniDebugInfo".
 */
#include <elf.h>
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/cleanup.h"
#include "core/symbolize/elf_collect.h"

enum {
	MAX_COMPRESSED = 32 << 20,
	MAX_PLAIN = 128 << 20,
	MAX_DECODER = 80 << 20, /* xz -9 asks for 65 MiB */
	PLAIN_AT_ONCE = 256 << 10
};

/* 0, -ENOMEM, or -ENODATA when the data is damaged or too large. */
static int decompress(const uint8_t *data, size_t n, struct buf *out)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	lzma_ret r = lzma_stream_decoder(&xz, MAX_DECODER, LZMA_CONCATENATED);

	if (r == LZMA_OK) {
		xz.next_in = data;
		xz.avail_in = n;
	}
	while (r == LZMA_OK) {
		uint8_t *to = buf__reserve(out, PLAIN_AT_ONCE);

		if (!to)
			break;
		xz.next_out = to;
		xz.avail_out = PLAIN_AT_ONCE;
		r = lzma_code(&xz, LZMA_FINISH);
		out->n += PLAIN_AT_ONCE - xz.avail_out;
	}
	lzma_end(&xz);
	if (r == LZMA_MEM_ERROR || out->error == -ENOMEM)
		return -ENOMEM;
	return r == LZMA_STREAM_END && !out->error ? 0 : -ENODATA;
}

static int collect_plain(struct elf_collect *c, const struct buf *plain)
{
	struct elf_file inner;
	int rc = elf_file__open_memory(&inner, plain->data, plain->n);

	if (!rc)
		rc = elf_collect__text(c, &inner);
	for (uint32_t i = 0; i < inner.n_sections && !rc; i++) {
		if (inner.sections[i].type == SHT_SYMTAB)
			rc = elf_symtab__collect(c, &inner, &inner.sections[i], NULL);
	}
	elf_file__fini(&inner);
	return rc;
}

int elf_minidebug__collect(struct elf_collect *c, const struct elf_file *f)
{
	const struct elf_section *s = elf_file__section(f, ".gnu_debugdata");
	CLEANUP(mem__freep) uint8_t *data = NULL;
	struct buf plain = { .limit = MAX_PLAIN };
	int rc;

	if (!s || s->type == SHT_NOBITS || s->bytes == 0 || s->bytes > MAX_COMPRESSED ||
	    !elf_file__holds(f, s->offset, s->bytes))
		return 0;
	data = malloc(s->bytes);
	if (!data)
		return -ENOMEM;
	rc = elf_file__read(f, data, s->bytes, s->offset);
	if (!rc)
		rc = decompress(data, s->bytes, &plain);
	if (!rc)
		rc = collect_plain(c, &plain);
	buf__fini(&plain);
	/* What is damaged inside leaves the outer file as good as it was. */
	return rc == -ENODATA || rc == -ENOEXEC ? 0 : rc;
}
