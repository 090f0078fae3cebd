/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/block_read.c - a block file opened where it lies in memory
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "plugins/storage/local/block.h"
#include "plugins/storage/local/block_layout.h"

/* Whoever made a part so wrote other bytes than this program would read there. */
static int refuse_flags(const char *of, uint32_t flags, struct dcm_error *err)
{
	return error__set(err, -EPROTONOSUPPORT,
			  "it is made in a way (%sflags %#x) that this program does not know: "
			  "open it with the program that wrote it, or a newer one",
			  of, flags);
}

static int check_header(const struct block_header *h, struct dcm_error *err)
{
	if (h->magic != BLOCK_MAGIC)
		return error__set(err, -EBADMSG, "it does not begin as a block does");
	if (h->sum != hash__bytes(h, offsetof(struct block_header, sum), BLOCK_SEED))
		return error__set(err, -EBADMSG, "its header is damaged");
	if (h->major != BLOCK_MAJOR)
		return error__set(err, -EPROTONOSUPPORT,
				  "its format is version %u.%u, and this program reads version %u: "
				  "open it with the program that wrote it, or a newer one",
				  h->major, h->minor, BLOCK_MAJOR);
	if (h->flags)
		return refuse_flags("", h->flags, err);
	return 0;
}

static int check_footer(const struct block_footer *f, uint64_t seed, size_t n, struct dcm_error *err)
{
	if (f->magic != BLOCK_MAGIC || f->sum != hash__bytes(f, offsetof(struct block_footer, sum), seed))
		return error__set(err, -EBADMSG, "its footer is damaged, or the file was cut off");
	if (f->bytes != n)
		return error__set(err, -EBADMSG, "it has %zu bytes instead of %" PRIu64, n, f->bytes);
	for (unsigned i = 0; i < BLOCK_N_SECTIONS; i++)
		if (f->sections[i].off % 8 || f->sections[i].off > n ||
		    f->sections[i].n > n - f->sections[i].off)
			return error__set(err, -EBADMSG, "its footer names bytes that it does not have");
	return 0;
}

static int open_directory(struct block *b, const uint8_t *p, const struct block_footer *f,
			  struct dcm_error *err)
{
	const struct block_span types = f->sections[BLOCK_TYPES], chunks = f->sections[BLOCK_CHUNKS];

	b->types = (const void *)(p + types.off);
	b->n_types = types.n / sizeof(*b->types);
	b->chunks = (const void *)(p + chunks.off);
	b->info.n_chunks = chunks.n / sizeof(*b->chunks);
	if (types.n % sizeof(*b->types) || chunks.n % sizeof(*b->chunks) ||
	    f->types_sum != hash__bytes(b->types, types.n, b->seed) ||
	    f->chunks_sum != hash__bytes(b->chunks, chunks.n, b->seed))
		return error__set(err, -EBADMSG, "its directory is damaged");
	return 0;
}

static int check_flags(const struct block *b, struct dcm_error *err)
{
	uint32_t chunks = 0, types = 0;

	for (uint64_t i = 0; i < b->info.n_chunks; i++)
		chunks |= b->chunks[i].flags;
	for (uint64_t i = 0; i < b->n_types; i++)
		types |= b->types[i].flags;
	chunks &= ~(uint32_t)CHUNK_FLAGS;
	types &= ~(uint32_t)CHUNK_TYPE_FLAGS;
	if (chunks)
		return refuse_flags("chunk ", chunks, err);
	return types ? refuse_flags("type ", types, err) : 0;
}

int block__open(struct block *b, const void *p, size_t n, struct dcm_error *err)
{
	const struct block_header *h = p;
	const uint8_t *bytes = p;

	if (n < sizeof(struct block_header) + sizeof(struct block_footer) || n % 8)
		return error__set(err, -EBADMSG, "%zu bytes are no block", n);
	int r = check_header(h, err);
	if (r < 0)
		return r;
	const struct block_footer *f = (const void *)(bytes + n - sizeof(*f));

	*b = (struct block){
		.info = { .era = h->era,
			  .level = h->level,
			  .first_ms = f->first_ms,
			  .last_ms = f->last_ms,
			  .n_rows = f->n_rows,
			  .n_profiles = f->n_profiles,
			  .bytes = n,
			  .check = f->sum },
		.seed = hash__bytes(h->id, sizeof(h->id), BLOCK_SEED),
	};
	memcpy(b->info.id, h->id, sizeof(h->id));
	r = check_footer(f, b->seed, n, err);
	if (r < 0)
		return r;
	for (unsigned i = BLOCK_ROWS; i <= BLOCK_PAGES; i++) {
		b->sections[i] = bytes + f->sections[i].off;
		b->section_bytes[i] = f->sections[i].n;
	}
	r = open_directory(b, bytes, f, err);
	return r ? r : check_flags(b, err);
}

static bool is_within(const struct block *b, enum block_section s, uint64_t off, uint64_t n)
{
	return off <= b->section_bytes[s] && n <= b->section_bytes[s] - off;
}

int block__chunk(const struct block *b, uint64_t at, struct chunk *ret)
{
	return block__chunk_of(b, &b->chunks[at], ret);
}

int block__chunk_of(const struct block *b, const struct chunk_entry *e, struct chunk *ret)
{
	if (!e->n_types || e->n_types > CHUNK_MAX_TYPES || e->first_type > b->n_types ||
	    e->n_types > b->n_types - e->first_type || !e->n_profiles ||
	    e->n_rows > BLOCK_ROWS_MAX || e->n_stacks > e->n_rows || e->n_label_sets > e->n_rows)
		return -EBADMSG;
	if (!is_within(b, BLOCK_ROWS, e->rows_off, e->rows_bytes) ||
	    !is_within(b, BLOCK_PROFILES, e->profiles.off, e->profiles.n) ||
	    !is_within(b, BLOCK_STACKS, e->stacks.off, e->stacks.n) ||
	    !is_within(b, BLOCK_ROLLUPS, e->rollups.off, e->rollups.n) ||
	    !is_within(b, BLOCK_PAGES, e->pages.off, e->pages.n))
		return -EBADMSG;
	*ret = (struct chunk){
		.entry = e,
		.types = b->types + e->first_type,
		.profiles = b->sections[BLOCK_PROFILES],
		.stacks = b->sections[BLOCK_STACKS],
		.rollups = b->sections[BLOCK_ROLLUPS],
		.pages = b->sections[BLOCK_PAGES],
		.rows = b->sections[BLOCK_ROWS],
		.seed = b->seed,
	};
	for (unsigned t = 0; t < e->n_types; t++)
		if (!ret->types[t].unit)
			return -EBADMSG;
	return 0;
}

uint64_t block__find(const struct block *b, uint32_t series)
{
	uint64_t low = 0, high = b->info.n_chunks;

	while (low < high) {
		const uint64_t mid = low + (high - low) / 2;

		if (b->chunks[mid].series < series)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
