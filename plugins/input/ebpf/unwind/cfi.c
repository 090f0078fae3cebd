/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/cfi.c - .eh_frame and .debug_frame as stretches with rows
 *
 * A CIE is read once and its instructions run once; the state they leave is where each of its
 * functions begins. Functions nearly always name the CIE of the one before, so that is asked first.
 */
#include "plugins/input/ebpf/unwind/cfi.h"

#include <errno.h>

#include "core/base/hash.h"
#include "plugins/input/ebpf/unwind/cie.h"
#include "plugins/input/ebpf/unwind/pointer.h"
#include "plugins/input/ebpf/unwind/program.h"
#include "plugins/input/ebpf/unwind/stubs.h"

enum {
	CIES = 1 << 16,	     /* of one section; the largest programs have some hundred */
	CIE_BYTES = 4 << 10, /* of one; they have some twenty, and may overlap */
	BYTE_WORK = 8,	     /* of an instruction's byte */
};

struct decoder {
	struct build *build;
	const struct cfi_section *section;
	const struct state_arch *arch;
	struct hindex index; /* by offset, of cies */
	VEC(struct cie) cies;
	uint32_t last; /* the CIE used last */
	bool is_glibc; /* a section that no other code has */
};

static void gap(struct decoder *d, enum unwind_gap why)
{
	d->build->gaps[why]++;
}

/* ------------------------------------------------------------------------------------------------
 * Entries
 */

struct entry {
	struct bytes body; /* behind the CIE's id or pointer */
	uint64_t offset;   /* of the entry */
	uint64_t cie;	   /* offset of its CIE; for a CIE its own */
	bool is_cie, is_end;
	unsigned offset_bytes; /* 4, or 8 in the 64-bit format */
};

/* The next entry: false at the section's end. A damaged length ends the section. */
static bool next_entry(struct decoder *d, struct bytes *b, struct entry *e)
{
	const struct cfi_section *s = d->section;
	uint64_t length, id, at;

	*e = (struct entry){ .offset = (uint64_t)(b->p - s->data), .offset_bytes = 4 };
	if (bytes__left(b) < 4)
		return false;
	length = bytes__fixed(b, 4);
	if (length == UINT32_MAX) {
		length = bytes__fixed(b, 8);
		e->offset_bytes = s->is_eh ? 4 : 8;
	}
	e->is_end = length == 0;
	if (b->bad || length > bytes__left(b)) {
		gap(d, UNWIND_GAP_DAMAGED);
		return false;
	}
	e->body = (struct bytes){ .p = b->p, .end = b->p + length };
	bytes__skip(b, length);
	at = (uint64_t)(e->body.p - s->data);
	id = bytes__fixed(&e->body, e->offset_bytes);
	if (s->is_eh) {
		e->is_cie = id == 0;
		e->cie = e->is_cie ? e->offset : at - id;
	} else {
		e->is_cie = id == (e->offset_bytes == 4 ? UINT32_MAX : UINT64_MAX);
		e->cie = e->is_cie ? e->offset : id;
	}
	return true;
}

/* Reads the CIE at an offset and keeps it, good or bad: its row, or a negative errno. */
static int64_t add_cie(struct decoder *d, uint64_t offset, uint64_t hash)
{
	const struct cfi_section *s = d->section;
	struct cie cie = { .gap = UNWIND_GAP_DAMAGED };
	struct bytes b;
	struct entry e;
	uint32_t row = (uint32_t)d->cies.n;
	int rc;

	if (offset < s->n) {
		b = (struct bytes){ .p = s->data + offset, .end = s->data + s->n };
		if (next_entry(d, &b, &e) && !e.is_end && e.is_cie && bytes__left(&e.body) <= CIE_BYTES) {
			struct pointer_base base = { .data = s->data, .vaddr = s->vaddr };

			cie__read(&cie, e.body, s->is_eh, &base);
		}
	}
	if (cie.gap == UNWIND_GAP_N) {
		rc = image__work(d->build->image, BYTE_WORK * bytes__left(&cie.program));
		if (rc)
			return rc;
		program__run_cie(&cie, d->arch);
	}
	cie.offset = offset;
	if (row >= CIES)
		return -EFBIG;
	if (!vec__push(&d->cies, cie) || hindex__insert(&d->index, hash, row))
		return -ENOMEM;
	return row;
}

static int64_t find_cie(struct decoder *d, uint64_t offset)
{
	uint64_t hash = hash__mix(0, offset + 1);
	uint32_t row, at;

	if (d->last < d->cies.n && d->cies.v[d->last].offset == offset)
		return d->last;
	at = hindex__first(&d->index, hash, &row);
	for (; row != HINDEX_NONE; at = hindex__next(&d->index, hash, at, &row))
		if (d->cies.v[row].offset == offset)
			return row;
	return add_cie(d, offset, hash);
}

/* ------------------------------------------------------------------------------------------------
 * Functions
 */

/* The code it describes, and the reader at its instructions: false when that cannot be read. */
static bool function_range(struct decoder *d, const struct cie *cie, struct bytes *b,
			   uint64_t *ret_start, uint64_t *ret_n)
{
	struct pointer_base base = { .data = d->section->data, .vaddr = d->section->vaddr };

	bytes__skip(b, cie->segment_bytes);
	if (!pointer__read(b, cie->encoding, &base, true, ret_start) ||
	    !pointer__read(b, cie->encoding, &base, false, ret_n))
		return false;
	if (cie->has_length)
		bytes__skip(b, bytes__uleb(b));
	return !b->bad;
}

/* No instructions. */
static bool is_blank(const struct bytes *program)
{
	for (const uint8_t *p = program->p; p < program->end; p++)
		if (*p)
			return false;
	return true;
}

/*
 * Code that returns from a signal handler, or that a coroutine returns to, has one rule, whatever
 * its description can say.
 */
static int known_function(struct decoder *d, const struct cie *cie, const struct bytes *program,
			  const struct program_range *range)
{
	const struct image *im = d->build->image;
	struct unwind_rule rule;

	if (!(cie->is_signal && stubs__is_sigreturn(im, range->vaddr, &rule)) &&
	    !(d->is_glibc && is_blank(program) &&
	      stubs__is_context_end(im, range->vaddr, range->end - range->start, &rule)))
		return -ENOENT;
	return build__plain(d->build, range->start, range->end, rule);
}

static int function(struct decoder *d, struct entry *e)
{
	struct build *b = d->build;
	int64_t row = find_cie(d, e->cie);
	const struct cie *cie;
	struct program_range range;
	uint64_t n;
	uint32_t first = (uint32_t)b->rows.n;
	int rc;

	if (row < 0)
		return (int)row;
	d->last = (uint32_t)row;
	cie = &d->cies.v[row];
	if (cie->gap != UNWIND_GAP_N) {
		gap(d, cie->gap);
		return 0;
	}
	if (!function_range(d, cie, &e->body, &range.vaddr, &n)) {
		gap(d, UNWIND_GAP_DAMAGED);
		return 0;
	}
	if (!build__range(b, range.vaddr, n, &range.start, &range.end)) {
		if (n)
			gap(d, UNWIND_GAP_OUTSIDE);
		return 0;
	}
	if (++b->n_fdes > b->limits.max_fdes)
		return -EFBIG;
	rc = known_function(d, cie, &e->body, &range);
	if (rc != -ENOENT)
		return rc;
	rc = image__work(b->image, BYTE_WORK * bytes__left(&e->body));
	if (!rc)
		rc = program__run(b, cie, d->arch, e->body, &range);
	return rc ? rc : build__stretch(b, range.start, range.end, first);
}

int cfi__decode(struct build *b, const struct cfi_section *s)
{
	struct decoder d = {
		.build = b,
		.section = s,
		.arch = state__arch(b->image->machine, b->with_rbx),
		.is_glibc = image__section(b->image, "__libc_IO_vtables"),
	};
	struct bytes all = { .p = s->data, .end = s->data + s->n };
	struct entry e;
	int rc = 0;

	while (!rc && next_entry(&d, &all, &e) && !(e.is_end && s->is_open)) {
		rc = build__tick(b);
		if (rc || e.is_end || e.is_cie)
			continue;
		rc = e.body.bad ? (gap(&d, UNWIND_GAP_DAMAGED), 0) : function(&d, &e);
	}
	hindex__fini(&d.index);
	vec__fini(&d.cies);
	return rc;
}

int cfi__find_eh_frame(const struct image *im, uint64_t *ret_vaddr)
{
	uint8_t head[4 + 8];
	struct bytes b = { .p = head, .end = head + sizeof(head) };
	struct pointer_base base = { .data = head, .vaddr = im->eh_frame_hdr, .data_rel = im->eh_frame_hdr };

	/* version, encodings of: this pointer, the count, the table; then the pointer */
	if (!im->eh_frame_hdr || image__read(im, im->eh_frame_hdr, head, sizeof(head)) || head[0] != 1)
		return -ENOENT;
	bytes__skip(&b, 4);
	return pointer__read(&b, head[1], &base, true, ret_vaddr) ? 0 : -ENOENT;
}
