/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/block_file.c - blocks as files that the manifest lists
 */
#include "plugins/storage/local/block_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/error.h"
#include "plugins/storage/local/commit.h"
#include "core/disk/numbered.h"

/* Bytes in one write: few calls, and little memory. */
enum { PIECE_BYTES = 1 << 20 };

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

static int write_out(struct block_file *to, const void *p, size_t n)
{
	int r = vfs__write(to->file, p, n, to->written);

	if (r == 0)
		to->written += n;
	return r;
}

int block_file__end(struct block_file *to)
{
	int r = to->waiting.n ? write_out(to, to->waiting.data, to->waiting.n) : 0;

	buf__reset(&to->waiting);
	return r;
}

int block_file__put(void *ctx, const void *p, size_t n)
{
	struct block_file *to = ctx;

	if (to->waiting.n + n > PIECE_BYTES) {
		int r = block_file__end(to);

		if (r < 0)
			return r;
	}
	if (n > PIECE_BYTES)
		return write_out(to, p, n);
	buf__append(&to->waiting, p, n);
	return to->waiting.error;
}

void block_file__fini(struct block_file *to)
{
	buf__fini(&to->waiting);
}

int block_file__make_id(struct vfs *v, uint8_t ret[static BLOCK_ID_BYTES])
{
	uint64_t id[2];
	int r = v->ops->random(v, &id[0]);

	if (r == 0)
		r = v->ops->random(v, &id[1]);
	if (r == 0)
		memcpy(ret, id, sizeof(id));
	return r;
}

void block_file__describe(const struct block_info *info, struct manifest_block *entry)
{
	memcpy(entry->id, info->id, sizeof(entry->id));
	entry->bytes = info->bytes;
	entry->check = info->check;
	entry->first_ms = info->first_ms;
	entry->last_ms = info->last_ms;
	entry->n_rows = info->n_rows;
	entry->n_profiles = info->n_profiles;
	entry->n_chunks = info->n_chunks;
	entry->era = info->era;
	entry->level = (uint8_t)info->level;
}

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

static int check_block(const struct block_info *is, const struct manifest_block *must,
		       struct dcm_error *err)
{
	if (memcmp(is->id, must->id, sizeof(is->id)) != 0 || is->check != must->check ||
	    is->era != must->era || is->level != must->level)
		return error__set(err, -EBADMSG, "it is another block than the one that was written");
	return 0;
}

static int map_file(struct block_map *m, struct vfs *v, const struct manifest_block *entry,
		    const char *path, struct dcm_error *err)
{
	const int r = vfs__map(v, path, SIZE_MAX, &m->file);
	const char *reason = strerrordesc_np(-r);

	if (r < 0)
		return error__set(err, r, "cannot read: %s; %s", reason ? reason : "Unknown error",
				  vfs__remedy(r));
	if (m->file.n != entry->bytes)
		return error__set(err, -EBADMSG, "it has %zu bytes instead of %" PRIu64, m->file.n,
				  entry->bytes);
	return 0;
}

int block_map__open(struct block_map *m, struct vfs *v, const struct manifest_block *entry,
		    struct dcm_error *err)
{
	char path[BLOCK_PATH_BYTES];
	int r;

	*m = (struct block_map){ .file = { .n = 0 } };
	commit__block_path(path, entry->number);
	if (entry->bytes == 0)
		return error__set(err, -EBADMSG, "%s: it has no bytes", path);
	r = map_file(m, v, entry, path, err);
	if (r == 0)
		r = block__open(&m->block, m->file.p, m->file.n, err);
	if (r == 0)
		r = check_block(&m->block.info, entry, err);
	m->block.vfs = v;
	if (r < 0) {
		block_map__close(m);
		error__prefix(err, "%s", path);
	}
	return r;
}

void block_map__close(struct block_map *m)
{
	vfs_map__fini(&m->file);
	*m = (struct block_map){ .file = { .n = 0 } };
}

/* -------------------------------------------------------------------------------------------------
 * Damage
 */

static int verify_chunk(const struct chunk *c, struct chunk_cursor *cur, struct chunk_profiles *profiles)
{
	struct chunk_page page;
	int r = chunk__check(c);

	if (r == 0)
		r = chunk__profiles(c, CHUNK_WANT_TIMES | CHUNK_WANT_TOTALS | CHUNK_WANT_ROWS | CHUNK_WANT_SPANS,
				    profiles);
	if (r == 0)
		r = chunk_cursor__begin(cur, c, 0, true, (1u << c->entry->n_types) - 1);
	while (r == 0 && (r = chunk_cursor__next(cur, &page)) > 0)
		r = 0;
	return r;
}

int64_t block__verify(const struct block *b, block_read_fn each, void *ctx, uint64_t *ret_first)
{
	struct chunk_profiles profiles = { 0 };
	struct chunk_cursor *cur = chunk_cursor__new();
	int64_t n = 0;
	int r = cur ? 0 : -ENOMEM;

	for (uint64_t i = 0; r == 0 && i < b->info.n_chunks; i++) {
		struct chunk c;

		r = block__chunk(b, i, &c);
		if (r == 0)
			r = verify_chunk(&c, cur, &profiles);
		if (r == -EBADMSG) {
			if (n++ == 0)
				*ret_first = i;
			r = 0;
		}
		if (r == 0 && each)
			r = each(ctx, chunk_entry__bytes(&b->chunks[i]));
	}
	chunk_profiles__fini(&profiles);
	chunk_cursor__free(cur);
	return r < 0 ? r : n;
}

int block__verify_chunk(const struct block *b, uint64_t at)
{
	struct chunk_profiles profiles = { 0 };
	struct chunk_cursor *cur = chunk_cursor__new();
	struct chunk c;
	int r = cur ? block__chunk(b, at, &c) : -ENOMEM;

	if (r == 0)
		r = verify_chunk(&c, cur, &profiles);
	chunk_profiles__fini(&profiles);
	chunk_cursor__free(cur);
	return r;
}

int block_file__set_aside(struct vfs *v, uint64_t number, struct dcm_error *err)
{
	char from[BLOCK_PATH_BYTES], to[sizeof(QUARANTINE_DIR) + 26];
	int r = vfs__mkdir(v, QUARANTINE_DIR);

	commit__block_path(from, number);
	numbered__path(to, sizeof(to), QUARANTINE_DIR, number, ".blk");
	if (r == 0)
		r = vfs__sync_dir(v, ".");
	if (r == 0)
		r = vfs__link(v, from, to);
	if (r == 0)
		r = vfs__sync_dir(v, QUARANTINE_DIR);
	return r < 0 ? error__sys(err, r, "%s: cannot set aside as %s", from, to) : 0;
}
