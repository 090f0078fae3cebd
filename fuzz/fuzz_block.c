/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz/fuzz_block.c - a block of the local store with anything in it
 *
 * Checksums would keep everything out, so each is made to fit where the bytes it is of are within
 * bounds: what is left is what someone who computes checksums could write. Reading must end, stay
 * within the bytes, and refuse or answer. Compacted with itself it makes a block that is read from
 * end to end, whatever was lost.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/base/le.h"
#include "plugins/storage/local/block_file.h"
#include "plugins/storage/local/block_layout.h"
#include "plugins/storage/local/compact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ROWS = 100000, MOST_NUMBERS = 1 << 16 };

static void fit_piece(uint8_t *section, uint64_t n, struct chunk_piece *piece, uint64_t seed)
{
	if (piece->off <= n && piece->n <= n - piece->off)
		piece->sum = chunk__sum(section + piece->off, piece->n, seed);
}

/* The groups' checksums stand in the pages piece, first of all. */
static void fit_groups(uint8_t *pages, uint64_t n_pages, uint8_t *rows, uint64_t n_rows,
		       const struct chunk_entry *e, uint64_t seed)
{
	uint64_t off = e->rows_off;

	for (uint64_t at = e->pages.off;
	     at < n_pages && n_pages - at >= 12 && at - e->pages.off < e->pages.n; at += 12) {
		const uint32_t n = le__get32(pages + at);

		if (off > n_rows || n > n_rows - off)
			return;
		le__put32(pages + at + 8, chunk__sum(rows + off, n, seed));
		off += n;
	}
}

static void fit(uint8_t *p, size_t n)
{
	struct block_header *h = (void *)p;
	struct block_footer *f = (void *)(p + n - sizeof(*f));
	const uint64_t seed = hash__bytes(h->id, sizeof(h->id), BLOCK_SEED);

	h->magic = f->magic = BLOCK_MAGIC;
	h->major = BLOCK_MAJOR;
	h->sum = hash__bytes(h, offsetof(struct block_header, sum), BLOCK_SEED);
	f->bytes = n;
	for (unsigned i = 0; i < BLOCK_N_SECTIONS; i++) {
		struct block_span *s = &f->sections[i];

		s->off = s->off % n / 8 * 8;
		s->n = s->n > n - s->off ? n - s->off : s->n;
	}
	/* Sections may overlap anything, also what says where they are. */
	struct block_span s[BLOCK_N_SECTIONS];
	memcpy(s, f->sections, sizeof(s));
	struct chunk_entry *chunks = (void *)(p + s[BLOCK_CHUNKS].off);

	for (uint64_t i = 0; i < s[BLOCK_CHUNKS].n / sizeof(*chunks); i++) {
		struct chunk_entry *e = &chunks[i];
		const struct chunk_entry as_read = *e;

		fit_groups(p + s[BLOCK_PAGES].off, s[BLOCK_PAGES].n, p + s[BLOCK_ROWS].off,
			   s[BLOCK_ROWS].n, &as_read, seed);
		fit_piece(p + s[BLOCK_PROFILES].off, s[BLOCK_PROFILES].n, &e->profiles, seed);
		fit_piece(p + s[BLOCK_STACKS].off, s[BLOCK_STACKS].n, &e->stacks, seed);
		fit_piece(p + s[BLOCK_ROLLUPS].off, s[BLOCK_ROLLUPS].n, &e->rollups, seed);
		fit_piece(p + s[BLOCK_PAGES].off, s[BLOCK_PAGES].n, &e->pages, seed);
	}
	memcpy(f->sections, s, sizeof(s));
	f->types_sum = hash__bytes(p + s[BLOCK_TYPES].off, s[BLOCK_TYPES].n, seed);
	f->chunks_sum = hash__bytes(chunks, s[BLOCK_CHUNKS].n, seed);
	f->sum = hash__bytes(f, offsetof(struct block_footer, sum), seed);
}

/* Sums of rows, also by label set: these go to two slots, of which numbers[] has room for. */
static void add_up(const struct chunk *c, struct chunk_cursor *cur,
		   const struct chunk_profiles *profiles, int64_t *numbers)
{
	static uint8_t slots[MOST_NUMBERS];
	static uint64_t seen[MOST_NUMBERS];
	static uint32_t narrow[MOST_NUMBERS];
	const struct chunk_span span = { .chunk = c,
					 .profiles = profiles,
					 .first = profiles->n / 3,
					 .n = profiles->n - profiles->n / 3 };
	struct chunk_span by_slot = span;

	for (unsigned i = 0; i < c->entry->n_label_sets; i++)
		slots[i] = i % 2;
	by_slot.slots = slots;
	by_slot.seen = seen;
	chunk__sum_rows(cur, &span, numbers);
	chunk__sum_narrow(cur, &span, narrow);
	chunk__sum_rows(cur, &by_slot, numbers);
}

static void read_chunk(const struct chunk *c, struct chunk_cursor *cur, int64_t *numbers, uint32_t *ids)
{
	static struct chunk_sums it;
	const struct chunk_entry *e = c->entry;
	struct chunk_profiles profiles = { 0 };
	struct chunk_page page;

	if (e->n_rows > MOST_ROWS || e->n_stacks > MOST_NUMBERS || e->n_label_sets > MOST_NUMBERS ||
	    e->n_profiles > MOST_NUMBERS)
		return;
	chunk__stacks(c, ids, ids + MOST_NUMBERS);
	for (unsigned t = 0; t < e->n_types; t++)
		if (!(c->types[t].flags & CHUNK_WIDE) && chunk_sums__begin(&it, c, t) == 0)
			while (chunk_sums__next(&it) > 0)
				;
	if (chunk__profiles(c, CHUNK_WANT_ROWS, &profiles) == 0 && !(c->types[0].flags & CHUNK_WIDE))
		add_up(c, cur, &profiles, numbers);
	chunk__profiles(c, CHUNK_WANT_TOTALS | CHUNK_WANT_ROWS | CHUNK_WANT_SPANS, &profiles);
	if (chunk_cursor__begin(cur, c, e->n_rows / 2, true, UINT16_MAX) == 0)
		while (chunk_cursor__next(cur, &page) > 0)
			for (uint32_t i = 0; i < page.n; i++)
				if (page.ranks[i] >= e->n_stacks ||
				    (page.labels && page.labels[i] >= e->n_label_sets))
					abort();
	chunk_profiles__fini(&profiles);
}

static int put(void *ctx, const void *p, size_t n)
{
	struct buf *b = ctx;

	buf__append(b, p, n);
	return b->error;
}

static bool is_small(const struct block *b)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < b->info.n_chunks; i++) {
		if (b->chunks[i].n_rows > MOST_ROWS || b->chunks[i].n_types > CHUNK_MAX_TYPES)
			return false;
		n += (b->chunks[i].n_rows + b->chunks[i].n_profiles) * b->chunks[i].n_types;
	}
	return n <= MOST_ROWS && b->info.n_chunks <= 64;
}

static void compact_twice(const struct block *b)
{
	const struct block *const blocks[] = { b, b };
	struct compact_lost lost[2] = { { .n_chunks = 0 } };
	struct compact *c = compact__new(
		&(struct compact_job){ .blocks = blocks, .n_blocks = 2, .lost = lost });
	struct buf bytes = { .n = 0 };
	struct block_info info;
	struct block out;
	uint64_t first;

	if (c && compact__write(c, &(struct block_options){ .level = 1 }, put, &bytes, &info) >= 0)
		if (block__open(&out, bytes.data, bytes.n, NULL) < 0 ||
		    block__verify(&out, NULL, NULL, &first) > 0)
			abort();
	compact__free(c);
	buf__fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t n = size / 8 * 8;
	struct dcm_error err = DCM_ERROR_INIT;
	struct block b;
	struct chunk c;

	if (block__open(&b, data, size, &err) < 0 && !err.text[0])
		abort();
	if (n < sizeof(struct block_header) + sizeof(struct block_footer))
		return 0;
	uint8_t *p = malloc(n);
	int64_t *numbers = calloc(MOST_NUMBERS * 2, sizeof(*numbers));
	uint32_t *ids = calloc(MOST_NUMBERS * 2, sizeof(*ids));
	struct chunk_cursor *cur = chunk_cursor__new();

	if (p && numbers && ids && cur) {
		memcpy(p, data, n);
		fit(p, n);
		int r = block__open(&b, p, n, &err);

		for (uint64_t i = 0; r == 0 && i < b.info.n_chunks && i < 16; i++)
			if (block__chunk(&b, i, &c) == 0)
				read_chunk(&c, cur, numbers, ids);
		if (r == 0 && is_small(&b))
			compact_twice(&b);
	}
	chunk_cursor__free(cur);
	free(ids);
	free(numbers);
	free(p);
	return 0;
}
