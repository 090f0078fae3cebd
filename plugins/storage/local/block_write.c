/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/block_write.c - chunk after chunk, then the sections, then the footer
 *
 * Rows go out as they come. The other sections, a tenth of the bytes, wait in memory until the end.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "plugins/storage/local/block.h"
#include "plugins/storage/local/block_layout.h"

struct block_writer {
	struct block_info info;
	struct chunk_options options;
	struct chunk_writer *chunks;
	struct chunk_sections sections;
	struct buf types, entries;
	uint32_t last_series, last_type;
	uint64_t rows_bytes;
	block_put_fn put;
	void *ctx;
	bool began;
};

/* The checksums' seed: another one in every file, so that bytes of one never pass for another's. */
static uint64_t seed_of(const uint8_t *id)
{
	return hash__bytes(id, BLOCK_ID_BYTES, BLOCK_SEED);
}

struct block_writer *block_writer__new(const struct block_options *o, block_put_fn put, void *ctx)
{
	struct block_writer *w = NEW(struct block_writer);

	if (!w)
		return NULL;
	w->chunks = chunk_writer__new();
	if (!w->chunks) {
		block_writer__free(w);
		return NULL;
	}
	memcpy(w->info.id, o->id, sizeof(w->info.id));
	w->info.era = o->era;
	w->info.level = o->level;
	w->options = (struct chunk_options){ .seed = seed_of(o->id), .zstd_level = o->zstd_level };
	w->put = put;
	w->ctx = ctx;
	return w;
}

void block_writer__free(struct block_writer *w)
{
	if (!w)
		return;
	chunk_writer__free(w->chunks);
	buf__fini(&w->sections.profiles);
	buf__fini(&w->sections.stacks);
	buf__fini(&w->sections.rollups);
	buf__fini(&w->sections.pages);
	buf__fini(&w->sections.rows);
	buf__fini(&w->types);
	buf__fini(&w->entries);
	free(w);
}

static int put_header(struct block_writer *w)
{
	struct block_header h = {
		.magic = BLOCK_MAGIC,
		.major = BLOCK_MAJOR,
		.minor = BLOCK_MINOR,
		.era = w->info.era,
		.level = w->info.level,
	};

	memcpy(h.id, w->info.id, sizeof(h.id));
	h.sum = hash__bytes(&h, offsetof(struct block_header, sum), BLOCK_SEED);
	w->began = true;
	return w->put(w->ctx, &h, sizeof(h));
}

static void count(struct block_writer *w, const struct chunk_entry *e)
{
	struct block_info *info = &w->info;

	if (!info->n_chunks || e->first_ms < info->first_ms)
		info->first_ms = e->first_ms;
	if (!info->n_chunks || e->last_ms > info->last_ms)
		info->last_ms = e->last_ms;
	info->n_chunks++;
	info->n_rows += e->n_rows;
	info->n_profiles += e->n_profiles;
}

int block_writer__chunk(struct block_writer *w, const struct chunk_source *from)
{
	struct chunk_entry entry;
	struct chunk_type types[CHUNK_MAX_TYPES];
	int r = 0;

	assert(!w->info.n_chunks || from->series > w->last_series ||
	       (from->series == w->last_series && from->types[0] >= w->last_type));
	if (from->n_rows > BLOCK_ROWS_MAX - w->info.n_rows)
		return -EFBIG;
	if (!w->began)
		r = put_header(w);
	if (r == 0)
		r = chunk__write(w->chunks, from, &w->options, &w->sections, &entry, types);
	if (r < 0)
		return r;
	entry.first_type = (uint32_t)(w->types.n / sizeof(types[0]));
	entry.rows_off = w->rows_bytes;
	buf__append(&w->types, types, from->n_types * sizeof(types[0]));
	buf__append(&w->entries, &entry, sizeof(entry));
	if (w->types.error || w->entries.error)
		return -ENOMEM;
	w->rows_bytes += entry.rows_bytes;
	w->last_series = from->series;
	w->last_type = from->types[0];
	count(w, &entry);
	return entry.rows_bytes ? w->put(w->ctx, w->sections.rows.data, w->sections.rows.n) : 0;
}

size_t block_writer__waiting(const struct block_writer *w)
{
	const struct chunk_sections *s = &w->sections;

	return s->profiles.n + s->stacks.n + s->rollups.n + s->pages.n + w->types.n + w->entries.n;
}

/* Puts a section at the next multiple of 8. */
static int put_section(struct block_writer *w, struct block_footer *f, enum block_section which,
		       uint64_t n, const void *p)
{
	static const uint8_t zeros[8];
	const uint64_t off = w->info.bytes;
	const size_t pad = (size_t)(-(off + n) & 7);
	int r = p && n ? w->put(w->ctx, p, n) : 0;

	f->sections[which] = (struct block_span){ off, n };
	w->info.bytes += n + pad;
	return r == 0 && pad ? w->put(w->ctx, zeros, pad) : r;
}

int block_writer__finish(struct block_writer *w, struct block_info *ret)
{
	struct block_footer f = { .magic = BLOCK_MAGIC };
	const struct buf *bufs[] = {
		&w->sections.profiles, &w->sections.stacks, &w->sections.rollups,
		&w->sections.pages,    &w->types,	    &w->entries
	};
	int r = w->began ? 0 : put_header(w);

	w->info.bytes = sizeof(struct block_header);
	if (r == 0)
		r = put_section(w, &f, BLOCK_ROWS, w->rows_bytes, NULL);
	for (unsigned i = 0; r == 0 && i < sizeof(bufs) / sizeof(bufs[0]); i++)
		r = put_section(w, &f, BLOCK_ROWS + 1 + i, bufs[i]->n, bufs[i]->data);
	if (r < 0)
		return r;
	f.first_ms = w->info.first_ms;
	f.last_ms = w->info.last_ms;
	f.n_rows = w->info.n_rows;
	f.n_profiles = w->info.n_profiles;
	f.types_sum = hash__bytes(w->types.data, w->types.n, w->options.seed);
	f.chunks_sum = hash__bytes(w->entries.data, w->entries.n, w->options.seed);
	w->info.bytes += sizeof(f);
	f.bytes = w->info.bytes;
	f.sum = hash__bytes(&f, offsetof(struct block_footer, sum), w->options.seed);
	w->info.check = f.sum;
	r = w->put(w->ctx, &f, sizeof(f));
	if (r == 0)
		*ret = w->info;
	return r;
}
