/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/pclntab.c - Go's table of functions: where they are, and their frame
 * sizes
 */
#include "plugins/input/ebpf/unwind/pclntab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u

enum {
	HEAD_WORDS = 8,
	MODULE_TEXT = 176,  /* offset of moduledata.text: six slices and three words before it */
	RELOCATIONS = 1024, /* read at once */
	SEARCH = 1 << 16,   /* bytes searched at once */
	ALIGNMENT = 16,	    /* of a table, at least */

	/* The record of a function; before 1.20 there is no start line at 36. */
	RECORD_NAME = 4,
	RECORD_PCSP = 16,
	RECORD_ID = 36,
	START_LINE = 4,

	NAME_BYTES = 256, /* that are looked at: those with a meaning are short */
	ENTRY_WORK = 16,  /* of a frame's size */
};

static struct bytes from(const struct pclntab *g, uint64_t at)
{
	at = at < g->n ? at : g->n;
	return (struct bytes){ .p = g->data + at, .end = g->data + g->n };
}

static uint64_t number(const struct pclntab *g, uint64_t at, unsigned n)
{
	struct bytes b = from(g, at);

	return bytes__fixed(&b, n);
}

/* ------------------------------------------------------------------------------------------------
 * The table's head, and where Go's text begins
 */

/* The addend of a relative relocation of that address, in one section of them. */
static int relocation(const struct pclntab *g, const struct image_section *s, uint64_t vaddr,
		      uint64_t *ret)
{
	const struct image *im = g->build->image;
	uint32_t relative = im->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	uint64_t n = s->bytes / sizeof(Elf64_Rela);

	for (uint64_t at = 0; at < n; at += RELOCATIONS) {
		size_t part = n - at < RELOCATIONS ? (size_t)(n - at) : RELOCATIONS;
		CLEANUP(mem__freep) uint8_t *raw = NULL;
		int rc = image__load(im, s->offset + at * sizeof(Elf64_Rela),
				     part * sizeof(Elf64_Rela), RELOCATIONS * sizeof(Elf64_Rela), &raw);

		if (rc)
			return rc;
		for (size_t i = 0; i < part; i++) {
			Elf64_Rela r;

			memcpy(&r, raw + i * sizeof(r), sizeof(r));
			if (r.r_offset == vaddr && ELF64_R_TYPE(r.r_info) == relative) {
				*ret = (uint64_t)r.r_addend;
				return 0;
			}
		}
	}
	return -ENOENT;
}

/* The pointer that stands at an address once the program is loaded. */
static int pointer_at(const struct pclntab *g, uint64_t vaddr, uint64_t *ret)
{
	const struct image *im = g->build->image;
	uint64_t left = im->source.size;

	for (uint32_t i = 0; i < im->n_sections; i++) {
		const struct image_section *s = &im->sections[i];
		int rc = -ENOENT;

		if (s->type == SHT_RELA && s->flags & SHF_ALLOC && s->bytes <= left) {
			left -= s->bytes;
			rc = relocation(g, s, vaddr, ret);
		}
		if (rc == 0 || rc == -ENOMEM)
			return rc;
	}
	return image__read(im, vaddr, ret, sizeof(*ret));
}

/*
 * Go's text: the head of the table has its address up to 1.25 (in position-independent programs
 * only by a relocation), the module's record has it since. Neither is a guess.
 */
static int find_text(struct pclntab *g)
{
	const struct image *im = g->build->image;
	const struct image_section *module = image__section(im, ".go.module");
	uint64_t head = 0;
	int rc = pointer_at(g, g->vaddr + 8 + 2 * 8, &g->text);

	if (rc == -ENOMEM || (rc == 0 && image__is_code(im, g->text)))
		return rc;
	if (!module)
		return -ENOENT;
	rc = pointer_at(g, module->vaddr, &head);
	if (rc || head != g->vaddr)
		return rc == -ENOMEM ? rc : -ENOENT;
	rc = pointer_at(g, module->vaddr + MODULE_TEXT, &g->text);
	return rc == 0 && !image__is_code(im, g->text) ? -ENOENT : rc;
}

static bool read_head(struct pclntab *g)
{
	uint64_t magic = number(g, 0, 4);
	uint64_t word[HEAD_WORDS];

	if (magic != MAGIC_1_18 && magic != MAGIC_1_20)
		return false;
	g->is_1_20 = magic == MAGIC_1_20;
	g->quantum = (uint8_t)number(g, 6, 1);
	if (number(g, 4, 2) || number(g, 7, 1) != 8 || !g->quantum)
		return false;
	for (unsigned i = 0; i < HEAD_WORDS; i++)
		word[i] = number(g, 8 + 8 * i, 8);
	g->n_functions = word[0];
	g->names = word[3];
	g->pctab = word[6];
	g->functions = word[7];
	return g->names < g->n && g->pctab < g->n && g->functions < g->n &&
	       g->n_functions < (g->n - g->functions) / 8;
}

/* ------------------------------------------------------------------------------------------------
 * Functions
 */

bool pclntab__function(const struct pclntab *g, uint64_t i, struct pclntab_function *f)
{
	uint64_t at = g->functions + 8 * i, record = g->functions + number(g, at + 4, 4), name, pcsp;
	uint64_t pc = number(g, at, 4), next = number(g, at + 8, 4);
	uint64_t id = record + RECORD_ID + (g->is_1_20 ? START_LINE : 0);
	const uint8_t *nul;

	if (id + 2 > g->n || next <= pc ||
	    !build__range(g->build, g->text + pc, next - pc, &f->start, &f->end))
		return false;
	f->vaddr = g->text + pc;
	f->flags = (uint8_t)number(g, id + 1, 1);
	name = number(g, record + RECORD_NAME, 4);
	pcsp = number(g, record + RECORD_PCSP, 4);
	f->name = from(g, g->names + name);
	if (bytes__left(&f->name) > NAME_BYTES)
		f->name.end = f->name.p + NAME_BYTES;
	nul = memchr(f->name.p, 0, bytes__left(&f->name));
	if ((!nul && f->name.end == g->data + g->n) || !pcsp)
		return false;
	f->name.end = nul ? nul : f->name.end;
	f->pcsp = from(g, g->pctab + pcsp);
	return true;
}

struct pclntab_frames pclntab__frames(const struct pclntab_function *f)
{
	return (struct pclntab_frames){ .table = f->pcsp, .end = f->start, .size = -1, .is_first = true };
}

bool pclntab__next_frame(const struct pclntab *g, const struct pclntab_function *f,
			 struct pclntab_frames *t)
{
	uint64_t delta = bytes__uleb(&t->table), size;

	/* Functions may share a table, which need not come to an end soon. */
	if (image__work(g->build->image, ENTRY_WORK) || t->table.bad || t->end >= f->end ||
	    (!delta && !t->is_first))
		return false;
	size = delta & 1 ? ~(delta >> 1) : delta >> 1;
	t->is_first = false;
	t->size = (int64_t)((uint64_t)t->size + size);
	t->at = t->end;
	delta = bytes__uleb(&t->table);
	t->end = delta < f->end ? t->at + delta * g->quantum : f->end;
	t->end = t->end < f->end ? t->end : f->end;
	return !t->table.bad;
}

bool pclntab__is_named(const struct pclntab_function *f, const char *name)
{
	return strlen(name) == bytes__left(&f->name) && pclntab__begins(f, name);
}

bool pclntab__begins(const struct pclntab_function *f, const char *beginning)
{
	size_t n = strlen(beginning);

	return n <= bytes__left(&f->name) && !memcmp(f->name.p, beginning, n);
}

/* ------------------------------------------------------------------------------------------------
 * Finding it
 */

/*
 * Where the bytes that begin a table are in a section, at an even distance: an offset of the image.
 */
static int search(const struct image *im, const struct image_section *s, uint64_t *ret)
{
	/* the lower byte of a magic number, then what is the same in all of ours */
	static const uint8_t head[] = { 0xff, 0xff, 0xff, 0, 0 };

	for (uint64_t at = 0; at < s->bytes; at += SEARCH) {
		uint64_t n = s->bytes - at < SEARCH ? s->bytes - at : SEARCH;
		CLEANUP(mem__freep) uint8_t *data = NULL;
		int rc = image__load(im, s->offset + at, n, SEARCH, &data);

		if (rc)
			return rc;
		for (uint64_t i = 0; i + 8 <= n; i += ALIGNMENT) {
			if ((data[i] != 0xf0 && data[i] != 0xf1) ||
			    memcmp(data + i + 1, head, sizeof(head)) || data[i + 7] != 8)
				continue;
			*ret = s->offset + at + i;
			return 0;
		}
	}
	return -ENOENT;
}

static int open_at(struct pclntab *g, const struct image_section *s, uint64_t offset)
{
	int rc;

	g->n = s->bytes - (offset - s->offset);
	g->vaddr = s->vaddr + (offset - s->offset);
	rc = image__load(g->build->image, offset, g->n, g->build->limits.max_bytes / 2, &g->data);
	if (rc)
		return rc;
	rc = read_head(g) ? find_text(g) : -ENOENT;
	if (rc)
		pclntab__fini(g);
	return rc;
}

/* The system's linker may have put the table into a section with other data. */
static int search_all(struct pclntab *g)
{
	const struct image *im = g->build->image;
	uint64_t left = im->source.size; /* sections do not overlap, or are no linker's */
	int rc = -ENOENT;

	if (!image__section(im, ".go.buildinfo"))
		return -ENOENT;
	for (uint32_t i = 0; i < im->n_sections && rc == -ENOENT; i++) {
		const struct image_section *s = &im->sections[i];
		uint64_t offset;

		if (s->type != SHT_PROGBITS || !(s->flags & SHF_ALLOC) || s->flags & SHF_EXECINSTR)
			continue;
		if (s->bytes > left)
			return -ENOENT;
		left -= s->bytes;
		rc = search(im, s, &offset);
		if (!rc)
			rc = open_at(g, s, offset);
	}
	return rc;
}

int pclntab__open(struct pclntab *g, struct build *b)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab" };

	*g = (struct pclntab){ .build = b };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct image_section *s = image__section(b->image, names[i]);

		if (s)
			return open_at(g, s, s->offset);
	}
	return search_all(g);
}

void pclntab__fini(struct pclntab *g)
{
	free(g->data);
	g->data = NULL;
}
