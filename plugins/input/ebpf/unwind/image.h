/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/image.h - the parts of an ELF image that unwinding needs
 *
 * Segments and sections of a 64-bit little-endian executable or shared object for x86-64 or arm64,
 * read through a struct unwind_source. Section headers may be missing (sstrip, some vDSOs): then
 * there are no sections and no error. Everything is checked against the image's size.
 *
 * Source: System V ABI, chapters 4 and 5 (gABI 4.1).
 */
#ifndef DECIMA_EBPF_UNWIND_IMAGE_H
#define DECIMA_EBPF_UNWIND_IMAGE_H

#include "plugins/input/ebpf/unwind/rows.h"

enum {
	IMAGE_SEGMENTS = 1024,	  /* program headers looked at */
	IMAGE_SECTIONS = 1 << 16, /* an image with more is refused */
	IMAGE_NAMES = 4 << 20,	  /* bytes of section names */
};

struct image_segment {
	uint64_t vaddr, offset, file_bytes, bytes;
	bool executable;
};

struct image_section {
	uint64_t vaddr, offset, bytes;
	uint32_t type, name;
	uint64_t flags;
};

/* What has been done for an image, by whoever reads it; an error stays. */
struct image_work {
	uint64_t done, max; /* as unwind_limits.max_work counts it */
	uint64_t asked;	    /* done when `stop` was asked last */
	bool (*stop)(void *arg);
	void *stop_arg;
	int error; /* 0, -ETIME or -ECANCELED */
};

struct image {
	struct unwind_source source;
	struct image_work *work;
	uint16_t machine;
	uint64_t entry;
	uint64_t eh_frame_hdr;		/* vaddr; 0: no such segment */
	struct image_segment *segments; /* [n_segments] PT_LOAD, as the file has them */
	struct image_section *sections; /* [n_sections] */
	char *names;			/* [n_names], NUL-terminated */
	uint32_t n_segments, n_sections, n_names;
};

/* limits may be NULL. */
void image_work__init(struct image_work *w, const struct unwind_limits *limits);

/*
 * Reads the headers: 0 or as unwind__compile(). The source is copied, what it points to is not;
 * `work` is borrowed.
 */
int image__open(struct image *im, const struct unwind_source *source, struct image_work *work,
		struct dcm_error *err);
void image__fini(struct image *im);

/*
 * To be called for everything whose amount a file decides, but for reading, which calls it: n bytes
 * are going to be looked at. 0, -ETIME or -ECANCELED, from then on for ever.
 */
int image__work(const struct image *im, uint64_t n);

/* The first section of that name with bytes in the file, or NULL. */
const struct image_section *image__section(const struct image *im, const char *name);

/* The bytes at an offset into new memory (caller frees): 0, -ENOEXEC, -EFBIG, -EIO, -ENOMEM. */
int image__load(const struct image *im, uint64_t offset, uint64_t n, uint64_t max, uint8_t **ret);

/*
 * A section's bytes, inflated where they are compressed (zlib or zstd): *ret (caller frees) and
 * *ret_n. Errors as image__load(); -ENOEXEC also for what does not inflate to the size it names.
 */
int image__load_section(const struct image *im, const struct image_section *s, uint64_t max,
			uint8_t **ret, uint64_t *ret_n);

/*
 * n bytes as they lie in memory before relocation: 0, -ENOENT where the file has no bytes for them,
 * or the source's error.
 */
int image__read(const struct image *im, uint64_t vaddr, void *p, size_t n);

/* The segment whose bytes in the file hold an address, or NULL. */
const struct image_segment *image__segment(const struct image *im, uint64_t vaddr);
bool image__is_code(const struct image *im, uint64_t vaddr);

#endif
