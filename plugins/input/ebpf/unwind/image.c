/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/image.c - the parts of an ELF image that unwinding needs
 */
#include "plugins/input/ebpf/unwind/image.h"

#include <elf.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/error.h"
#include "core/base/mem.h"

enum {
	COMPRESSION_ZSTD = 2, /* ELFCOMPRESS_ZSTD, which glibc 2.36's elf.h lacks */
	ASK_WORK = 64 << 10,  /* between two questions whether to stop */
	READ_WORK = 256,      /* of a reading, beside its bytes */
};
#define DEFAULT_WORK (UINT64_C(4) << 30)

void image_work__init(struct image_work *w, const struct unwind_limits *limits)
{
	*w = (struct image_work){ .max = DEFAULT_WORK };
	if (!limits)
		return;
	if (limits->max_work)
		w->max = limits->max_work;
	w->stop = limits->stop;
	w->stop_arg = limits->stop_arg;
}

int image__work(const struct image *im, uint64_t n)
{
	struct image_work *w = im->work;

	if (w->error)
		return w->error;
	if (n > w->max - w->done)
		return w->error = -ETIME;
	w->done += n;
	if (w->done - w->asked < ASK_WORK)
		return 0;
	w->asked = w->done;
	if (w->stop && w->stop(w->stop_arg))
		w->error = -ECANCELED;
	return w->error;
}

static bool holds(const struct image *im, uint64_t offset, uint64_t n)
{
	return offset <= im->source.size && n <= im->source.size - offset;
}

static int get(const struct image *im, void *p, size_t n, uint64_t offset)
{
	int rc;

	if (!holds(im, offset, n))
		return -ENOEXEC;
	rc = image__work(im, n + READ_WORK);
	if (rc)
		return rc;
	return n ? im->source.read(im->source.arg, p, n, offset) : 0;
}

int image__load(const struct image *im, uint64_t offset, uint64_t n, uint64_t max, uint8_t **ret)
{
	CLEANUP(mem__freep) uint8_t *p = NULL;
	int rc;

	if (!holds(im, offset, n))
		return -ENOEXEC;
	if (n > max)
		return -EFBIG;
	p = malloc(n ? n : 1);
	if (!p)
		return -ENOMEM;
	rc = get(im, p, n, offset);
	if (rc)
		return rc;
	*ret = take_ptr(p);
	return 0;
}

static bool inflate_zlib(const uint8_t *from, size_t n, uint8_t *to, size_t n_to)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	bool good = d && libdeflate_zlib_decompress(d, from, n, to, n_to, NULL) == LIBDEFLATE_SUCCESS;

	if (d)
		libdeflate_free_decompressor(d);
	return good;
}

static bool inflate(const Elf64_Chdr *head, const uint8_t *from, size_t n, uint8_t *to)
{
	if (head->ch_type == ELFCOMPRESS_ZLIB)
		return inflate_zlib(from, n, to, head->ch_size);
	return head->ch_type == COMPRESSION_ZSTD &&
	       ZSTD_decompress(to, head->ch_size, from, n) == head->ch_size;
}

int image__load_section(const struct image *im, const struct image_section *s, uint64_t max,
			uint8_t **ret, uint64_t *ret_n)
{
	CLEANUP(mem__freep) uint8_t *packed = NULL, *p = NULL;
	Elf64_Chdr head;
	int rc = image__load(im, s->offset, s->bytes, max, &packed);

	if (rc)
		return rc;
	*ret_n = s->bytes;
	if (!(s->flags & SHF_COMPRESSED)) {
		*ret = take_ptr(packed);
		return 0;
	}
	if (s->bytes < sizeof(head))
		return -ENOEXEC;
	memcpy(&head, packed, sizeof(head));
	if (head.ch_size > max)
		return -EFBIG;
	rc = image__work(im, head.ch_size);
	if (rc)
		return rc;
	p = malloc(head.ch_size ? head.ch_size : 1);
	if (!p)
		return -ENOMEM;
	if (!inflate(&head, packed + sizeof(head), s->bytes - sizeof(head), p))
		return -ENOEXEC;
	*ret_n = head.ch_size;
	*ret = take_ptr(p);
	return 0;
}

static int check_header(const Elf64_Ehdr *h, struct dcm_error *err)
{
	if (memcmp(h->e_ident, ELFMAG, SELFMAG))
		return error__set(err, -ENOEXEC, "not an ELF file");
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		return error__set(err, -ENOEXEC, "not a 64-bit little-endian ELF file");
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return error__set(err, -ENOEXEC, "neither an executable nor a shared object");
	if (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64)
		return error__set(err, -ENOEXEC, "for a processor (ELF machine %u) without rules",
				  h->e_machine);
	return 0;
}

static int read_segments(struct image *im, const Elf64_Ehdr *h)
{
	uint32_t n = h->e_phnum < IMAGE_SEGMENTS ? h->e_phnum : IMAGE_SEGMENTS;

	if (h->e_phentsize != sizeof(Elf64_Phdr))
		return -ENOEXEC;
	im->segments = mem__zalloc(n, sizeof(*im->segments));
	if (!im->segments)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		Elf64_Phdr p;
		int rc = get(im, &p, sizeof(p), h->e_phoff + i * sizeof(p));

		if (rc)
			return rc;
		if (p.p_type == PT_GNU_EH_FRAME)
			im->eh_frame_hdr = p.p_vaddr;
		if (p.p_type != PT_LOAD || p.p_memsz > UINT64_MAX - p.p_vaddr)
			continue;
		im->segments[im->n_segments++] = (struct image_segment){
			.vaddr = p.p_vaddr,
			.offset = p.p_offset,
			.file_bytes = p.p_filesz < p.p_memsz ? p.p_filesz : p.p_memsz,
			.bytes = p.p_memsz,
			.executable = p.p_flags & PF_X,
		};
	}
	return 0;
}

static int read_names(struct image *im, const struct image_section *s)
{
	uint8_t *names;
	int rc;

	if (s->type != SHT_STRTAB || !s->bytes || !holds(im, s->offset, s->bytes))
		return 0;
	rc = image__load(im, s->offset, s->bytes, IMAGE_NAMES, &names);
	if (rc)
		return rc;
	names[s->bytes - 1] = 0;
	im->names = (char *)names;
	im->n_names = (uint32_t)s->bytes;
	return 0;
}

/* Section headers that lie outside of the image are none: loaders do not need them. */
static int read_sections(struct image *im, const Elf64_Ehdr *h)
{
	uint64_t n = h->e_shnum, names = h->e_shstrndx;
	CLEANUP(mem__freep) uint8_t *raw = NULL;
	Elf64_Shdr s;
	int rc;

	if (!h->e_shoff || h->e_shentsize != sizeof(s) || !holds(im, h->e_shoff, sizeof(s)))
		return 0;
	rc = get(im, &s, sizeof(s), h->e_shoff);
	if (rc)
		return rc;
	if (!n)
		n = s.sh_size;
	if (names == SHN_XINDEX)
		names = s.sh_link;
	if (n > IMAGE_SECTIONS)
		return -EFBIG;
	if (!holds(im, h->e_shoff, n * sizeof(s)))
		return 0;
	rc = image__load(im, h->e_shoff, n * sizeof(s), IMAGE_SECTIONS * sizeof(s), &raw);
	if (rc)
		return rc;
	im->sections = mem__zalloc(n, sizeof(*im->sections));
	if (!im->sections)
		return -ENOMEM;
	im->n_sections = (uint32_t)n;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(&s, raw + i * sizeof(s), sizeof(s));
		im->sections[i] = (struct image_section){
			.vaddr = s.sh_addr,
			.offset = s.sh_offset,
			.bytes = s.sh_size,
			.type = s.sh_type,
			.name = s.sh_name,
			.flags = s.sh_flags,
		};
	}
	return names < n ? read_names(im, &im->sections[names]) : 0;
}

int image__open(struct image *im, const struct unwind_source *source, struct image_work *work,
		struct dcm_error *err)
{
	Elf64_Ehdr h;
	int rc;

	*im = (struct image){ .source = *source, .work = work };
	rc = get(im, &h, sizeof(h), 0);
	if (rc)
		return error__sys(err, rc, "cannot read the ELF header");
	rc = check_header(&h, err);
	if (rc)
		return rc;
	im->machine = h.e_machine;
	im->entry = h.e_entry;
	rc = read_segments(im, &h);
	if (!rc)
		rc = read_sections(im, &h);
	if (rc) {
		image__fini(im);
		return error__sys(err, rc, "cannot read the ELF file's segments and sections");
	}
	return 0;
}

void image__fini(struct image *im)
{
	free(im->segments);
	free(im->sections);
	free(im->names);
	*im = (struct image){ 0 };
}

static const char *section_name(const struct image *im, const struct image_section *s)
{
	return s->name < im->n_names ? im->names + s->name : "";
}

const struct image_section *image__section(const struct image *im, const char *name)
{
	for (uint32_t i = 0; i < im->n_sections; i++) {
		const struct image_section *s = &im->sections[i];

		if (s->type != SHT_NOBITS && s->type != SHT_NULL &&
		    !strcmp(section_name(im, s), name) && holds(im, s->offset, s->bytes))
			return s;
	}
	return NULL;
}

const struct image_segment *image__segment(const struct image *im, uint64_t vaddr)
{
	for (uint32_t i = 0; i < im->n_segments; i++)
		if (vaddr - im->segments[i].vaddr < im->segments[i].file_bytes)
			return &im->segments[i];
	return NULL;
}

bool image__is_code(const struct image *im, uint64_t vaddr)
{
	for (uint32_t i = 0; i < im->n_segments; i++)
		if (im->segments[i].executable && vaddr - im->segments[i].vaddr < im->segments[i].bytes)
			return true;
	return false;
}

int image__read(const struct image *im, uint64_t vaddr, void *p, size_t n)
{
	const struct image_segment *s = image__segment(im, vaddr);

	if (!s || n > s->file_bytes - (vaddr - s->vaddr))
		return -ENOENT;
	return get(im, p, n, s->offset + (vaddr - s->vaddr));
}
