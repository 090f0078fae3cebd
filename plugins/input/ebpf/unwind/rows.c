/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/rows.c - an ELF file's call frame information as a table of rules
 */
#include "plugins/input/ebpf/unwind/rows.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "plugins/input/ebpf/unwind/bare.h"
#include "plugins/input/ebpf/unwind/build.h"
#include "plugins/input/ebpf/unwind/cfi.h"
#include "plugins/input/ebpf/unwind/golang.h"
#include "plugins/input/ebpf/unwind/stubs.h"

static int add_cfi(struct build *b, const struct cfi_section *s)
{
	int rc = cfi__decode(b, s);

	return rc ? rc : build__layer_done(b);
}

/* A section's, by its name; a section that cannot be read counts as damaged, and is left out. */
static int add_section(struct build *b, const struct image_section *s, bool is_eh)
{
	CLEANUP(mem__freep) uint8_t *data = NULL;
	struct cfi_section cfi = { .vaddr = s->vaddr, .is_eh = is_eh };
	int rc = image__load_section(b->image, s, b->limits.max_bytes / 4, &data, &cfi.n);

	if (rc == -ENOEXEC) {
		b->gaps[UNWIND_GAP_DAMAGED]++;
		return 0;
	}
	cfi.data = data;
	return rc ? rc : add_cfi(b, &cfi);
}

/*
 * Without sections, by .eh_frame_hdr: it ends nobody knows where, at the latest with the segment.
 */
static int add_segment(struct build *b)
{
	CLEANUP(mem__freep) uint8_t *data = NULL;
	const struct image_segment *segment;
	struct cfi_section cfi = { .is_eh = true, .is_open = true };
	uint64_t in;
	int rc;

	if (b->image->n_sections || cfi__find_eh_frame(b->image, &cfi.vaddr))
		return 0;
	segment = image__segment(b->image, cfi.vaddr);
	if (!segment)
		return 0;
	in = cfi.vaddr - segment->vaddr;
	cfi.n = segment->file_bytes - in;
	rc = image__load(b->image, segment->offset + in, cfi.n, b->limits.max_bytes / 4, &data);
	cfi.data = data;
	return rc ? rc : add_cfi(b, &cfi);
}

static int add_described(struct build *b)
{
	const struct image_section *eh = image__section(b->image, ".eh_frame");
	const struct image_section *debug = image__section(b->image, ".debug_frame");
	int rc = eh ? add_section(b, eh, true) : add_segment(b);

	return rc || !debug ? rc : add_section(b, debug, false);
}

static int add_all(struct build *b, bool *ret_go)
{
	int rc = golang__add(b, ret_go);

	if (!rc)
		rc = build__layer_done(b);
	if (!rc)
		rc = add_described(b);
	if (!rc)
		rc = stubs__add(b);
	if (!rc)
		rc = build__layer_done(b);
	return rc ? rc : bare__add(b);
}

/* The table of an image; *ret_wants_rbx: it has rules that go by rbx. */
static int compile(const struct image *im, const struct unwind_limits *limits, bool *ret_wants_rbx,
		   struct unwind_rows **ret_rows, struct dcm_error *err)
{
	struct build b;
	bool is_go = false;
	int rc = build__init(&b, im, limits, *ret_wants_rbx, err);

	if (!rc) {
		rc = add_all(&b, &is_go);
		/* What a search did not come to for that reason is not "nothing there". */
		if (!rc)
			rc = im->work->error;
		if (!rc)
			rc = build__finish(&b, ret_rows);
		if (rc)
			error__sys(err, rc, "cannot make an unwind table");
		else
			(*ret_rows)->is_go = is_go;
	}
	*ret_wants_rbx = b.wants_rbx;
	build__fini(&b);
	return rc;
}

int unwind__compile(const struct unwind_source *source, const struct unwind_limits *limits,
		    struct unwind_rows **ret_rows, struct dcm_error *err)
{
	struct unwind_rows *rows = NULL, *with_rbx = NULL;
	struct image_work work;
	struct image im;
	bool by_rbx = false;
	int rc;

	image_work__init(&work, limits);
	rc = image__open(&im, source, &work, err);
	if (rc)
		return rc;
	rc = compile(&im, limits, &by_rbx, &rows, err);
	/* Once more, which is rare: the loader, and static programs. */
	if (!rc && by_rbx) {
		rc = compile(&im, limits, &by_rbx, &with_rbx, err);
		unwind_rows__free(rows);
		rows = with_rbx;
	}
	image__fini(&im);
	if (!rc)
		*ret_rows = rows;
	return rc;
}

static int read_fd(void *arg, void *p, size_t n, uint64_t offset)
{
	return fd__pread_full(*(const int *)arg, p, n, offset);
}

int unwind__compile_fd(int fd, const struct unwind_limits *limits, struct unwind_rows **ret_rows,
		       struct dcm_error *err)
{
	struct unwind_source source = { .read = read_fd, .arg = &fd };
	struct stat st;

	if (fstat(fd, &st))
		return error__sys(err, -errno, "cannot tell the file's size");
	if (!S_ISREG(st.st_mode))
		return error__set(err, -ENOEXEC, "not a regular file");
	source.size = (uint64_t)st.st_size;
	return unwind__compile(&source, limits, ret_rows, err);
}

void unwind_rows__free(struct unwind_rows *rows)
{
	if (!rows)
		return;
	free(rows->at);
	free(rows->rule);
	free(rows->rules);
	free(rows->segments);
	free(rows);
}

int64_t unwind_rows__find(const struct unwind_rows *rows, uint64_t vaddr)
{
	uint64_t at = vaddr - rows->base;
	uint32_t low = 0, high = rows->n;

	if (vaddr < rows->base || at >= rows->at[rows->n - 1])
		return -1;
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (rows->at[mid] <= at)
			low = mid;
		else
			high = mid;
	}
	return low;
}
