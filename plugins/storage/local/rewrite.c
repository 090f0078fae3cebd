/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/rewrite.c - a compaction of files into files
 */
#include "plugins/storage/local/rewrite.h"

#include <errno.h>

#include "core/base/error.h"
#include "plugins/storage/local/block_file.h"

/* What goes through commit__write_block(). */
struct writing {
	const struct rewrite *rw;
	struct compact *compact;
	bool more; /* there is another block to write after this one */
};

static int write_block(void *ctx, struct vfs_file *f, struct manifest_block *entry, struct dcm_error *err)
{
	struct writing *w = ctx;
	struct block_options o = { .era = w->rw->job.blocks[0]->info.era,
				   .level = w->rw->level,
				   .zstd_level = w->rw->zstd_level };
	struct block_file out = { .file = f };
	char path[BLOCK_PATH_BYTES];
	struct block_info info;
	int r = block_file__make_id(w->rw->vfs, o.id);

	if (r == 0)
		r = compact__write(w->compact, &o, block_file__put, &out, &info);
	if (r >= 0) {
		w->more = r > 0;
		r = block_file__end(&out);
	}
	block_file__fini(&out);
	if (r == -EBADMSG)
		return error__set(err, r, "a block to compact is damaged");
	if (r < 0)
		return error__sys(err, r, "%s: cannot write", commit__block_path(path, entry->number));
	block_file__describe(&info, entry);
	entry->last_lsn = w->rw->last_lsn;
	return 0;
}

static int write_next(struct writing *w, struct rewrite_made *made, struct dcm_error *err)
{
	struct manifest_block entry;
	int r;

	w->more = false;
	if (!vec__reserve(&made->blocks, 1))
		return error__nomem(err);
	r = commit__write_block(w->rw->commit, write_block, w, &entry, err);
	if (r < 0)
		return r;
	if (entry.n_chunks)
		made->blocks.v[made->blocks.n++] = entry;
	else
		commit__discard_block(w->rw->commit, &entry);
	return 0;
}

void rewrite_made__fini(struct rewrite_made *m)
{
	vec__fini(&m->blocks);
}

int rewrite__write(const struct rewrite *rw, struct rewrite_made *ret, struct dcm_error *err)
{
	struct writing w = { .rw = rw, .compact = compact__new(&rw->job) };
	int r;

	if (!w.compact)
		return error__nomem(err);
	do
		r = write_next(&w, ret, err);
	while (r == 0 && w.more);
	if (r < 0) {
		ret->bad_block = compact__bad_block(w.compact);
		rewrite__discard(rw, ret);
	}
	compact__free(w.compact);
	return r;
}

void rewrite__discard(const struct rewrite *rw, struct rewrite_made *made)
{
	for (size_t i = 0; i < made->blocks.n; i++)
		commit__discard_block(rw->commit, &made->blocks.v[i]);
	vec__fini(&made->blocks);
}
