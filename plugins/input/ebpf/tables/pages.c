/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/pages.c - the unwind rows of one file as code pages in the heap
 */
#include "plugins/input/ebpf/tables/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

enum { PAGES_MAX = (TABLES_CHUNK_BYTES - sizeof(struct tables_head)) / sizeof(uint32_t) };

struct build {
	struct heap *heap;
	struct pages *pages;
	const struct unwind_rows *rows;
	const uint16_t *numbers;
	uint32_t row[TABLES_PAGE_ROWS]; /* of the page being made */
	uint32_t n;
	bool overfull;
	uint32_t blank_row, blank; /* a page of one row, and its address; 0: none yet */
};

/* ------------------------------------------------------------------------------------------------
 * Rows of a page
 */

/* From byte `begin` of the page on, rule `number` holds. In ascending order. */
static void push(struct build *b, uint32_t begin, uint16_t number)
{
	if (b->n == 0 && begin > 0)
		b->row[b->n++] = 0;
	if (b->n && b->row[b->n - 1] >> 16 == begin)
		b->n--;
	if (b->n && (b->row[b->n - 1] & 0xffff) == number)
		return;
	if (b->n == TABLES_PAGE_ROWS) {
		/* From the last row that fits on, nothing is known. */
		b->row[b->n - 1] &= 0xffff0000;
		b->overfull = true;
		return;
	}
	b->row[b->n++] = begin << 16 | number;
}

/* The row of an address that the rows cover. */
static uint32_t row_at(const struct unwind_rows *rows, uint64_t vaddr)
{
	uint32_t lo = 0, hi = rows->n;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (rows->base + rows->at[mid] <= vaddr)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* What a segment has in the page that begins at a file offset. */
static void push_segment(struct build *b, const struct unwind_segment *s, uint64_t page)
{
	uint64_t from = s->offset > page ? s->offset : page, to = page + TABLES_PAGE_BYTES;
	uint64_t end = s->offset + s->size, vaddr = from - s->offset + s->vaddr;

	if (to > end)
		to = end;
	if (from >= to)
		return;
	for (uint32_t i = row_at(b->rows, vaddr); i < b->rows->n; i++) {
		uint64_t offset = b->rows->base + b->rows->at[i] - s->vaddr + s->offset;

		if (b->rows->base + b->rows->at[i] < vaddr)
			offset = from;
		if (offset >= to)
			break;
		push(b, (uint32_t)(offset - page), b->numbers[b->rows->rule[i]]);
	}
	if (to < page + TABLES_PAGE_BYTES)
		push(b, (uint32_t)(to - page), 0);
}

/* ------------------------------------------------------------------------------------------------
 * Pages
 */

static int alloc(struct build *b, uint32_t bytes, uint32_t *ret_address)
{
	struct pages_object object = { .bytes = bytes };
	int r;

	if (!vec__reserve(&b->pages->objects, 1))
		return -ENOMEM;
	r = heap__alloc(b->heap, bytes, &object.address);
	if (r < 0)
		return r;
	b->pages->objects.v[b->pages->objects.n++] = object;
	b->pages->bytes += bytes;
	*ret_address = object.address;
	return 0;
}

/* start[]: for each block the last row that does not begin behind its first byte. */
static void index_blocks(struct tables_page *page, const uint32_t *row, uint32_t n)
{
	uint32_t at = 0;

	for (uint32_t b = 0; b <= TABLES_BLOCKS; b++) {
		while (at + 1 < n && (b == TABLES_BLOCKS || row[at + 1] >> 16 <= b * 256))
			at++;
		page->start[b] = (uint16_t)at;
	}
}

/* Puts the rows at hand into a page of the heap; 0 for a page without code. */
static int store_page(struct build *b, uint32_t *ret_address)
{
	struct tables_page *page;
	int r;

	*ret_address = 0;
	b->pages->n_overfull += b->overfull;
	if (b->n == 0 || (b->n == 1 && b->row[0] == 0))
		return 0;
	if (b->n == 1 && b->blank && b->blank_row == b->row[0]) {
		*ret_address = b->blank;
		return 0;
	}
	r = alloc(b, (uint32_t)(sizeof(*page) + b->n * sizeof(*b->row)), ret_address);
	if (r < 0)
		return r;
	page = heap__at(b->heap, *ret_address);
	memcpy(page + 1, b->row, b->n * sizeof(*b->row));
	index_blocks(page, b->row, b->n);
	b->pages->n_rows += b->n;
	if (b->n == 1) {
		b->blank_row = b->row[0];
		b->blank = *ret_address;
	}
	return 0;
}

/* The first byte of the code in the file, and the one behind the last. */
static void extent(const struct unwind_rows *rows, uint64_t *ret_first, uint64_t *ret_end)
{
	*ret_first = UINT64_MAX;
	*ret_end = 0;
	for (uint32_t i = 0; i < rows->n_segments; i++) {
		const struct unwind_segment *s = &rows->segments[i];

		if (s->offset < *ret_first)
			*ret_first = s->offset;
		if (s->offset + s->size > *ret_end)
			*ret_end = s->offset + s->size;
	}
}

static int by_offset(const void *pa, const void *pb)
{
	const struct unwind_segment *a = pa, *b = pb;

	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int build(struct build *b, const struct unwind_segment *segments)
{
	uint64_t first, end, n;
	uint32_t address;
	struct tables_head *head;
	int r;

	extent(b->rows, &first, &end);
	if (end <= first || end > (uint64_t)UINT32_MAX * TABLES_PAGE_BYTES)
		return -E2BIG;
	first /= TABLES_PAGE_BYTES;
	n = (end - 1) / TABLES_PAGE_BYTES - first + 1;
	if (n > PAGES_MAX)
		return -E2BIG;
	r = alloc(b, (uint32_t)(sizeof(*head) + n * sizeof(uint32_t)), &address);
	if (r < 0)
		return r;
	head = heap__at(b->heap, address);
	head->first_page = (uint32_t)first;
	head->n_pages = (uint32_t)n;
	head->flags = b->rows->covered_bytes < b->rows->code_bytes / 2 ? TABLES_HEAD_BARE : 0;
	for (uint32_t i = 0; i < n && r == 0; i++) {
		b->n = 0;
		b->overfull = false;
		for (uint32_t s = 0; s < b->rows->n_segments; s++)
			push_segment(b, &segments[s], (first + i) * TABLES_PAGE_BYTES);
		r = store_page(b, &((uint32_t *)(head + 1))[i]);
	}
	b->pages->table = address;
	return r;
}

int pages__build(struct heap *h, const struct unwind_rows *rows, const uint16_t *numbers,
		 int64_t now_ns, struct pages *ret)
{
	size_t segments_bytes = rows->n_segments * sizeof(*rows->segments);
	CLEANUP(mem__freep)
	struct unwind_segment *segments = mem__dup(rows->segments, segments_bytes);
	CLEANUP(mem__freep) struct build *b = NEW(struct build);
	struct pages pages = { 0 };
	int r;

	if (!b || !segments)
		return -ENOMEM;
	qsort(segments, rows->n_segments, sizeof(*segments), by_offset);
	b->heap = h;
	b->pages = &pages;
	b->rows = rows;
	b->numbers = numbers;
	r = build(b, segments);
	if (r < 0) {
		pages__release(&pages, h, now_ns);
		return r;
	}
	*ret = pages;
	return 0;
}

void pages__release(struct pages *p, struct heap *h, int64_t now_ns)
{
	for (size_t i = 0; i < p->objects.n; i++)
		heap__release(h, p->objects.v[i].address, p->objects.v[i].bytes, now_ns);
	vec__fini(&p->objects);
	*p = (struct pages){ 0 };
}
