/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/evict.c - the oldest block of a local store goes, as one does that is too much
 */
#include "tests/storage/evict.h"

#include "core/base/error.h"
#include "plugins/storage/local/era.h"
#include "plugins/storage/local/expire.h"

/* What max_bytes counts: blocks, dictionaries, the log, and what is set aside. */
static int bytes_of_all(const struct store *s, uint64_t *ret, struct dcm_error *err)
{
	const struct manifest *m = commit__manifest(s->commit);
	struct wal_stat log;

	wal__stat(commit__wal(s->commit), &log);
	*ret = (uint64_t)(log.n_files - log.n_held) * s->options.segment_bytes +
	       atomic_load(&s->aside_bytes);
	for (size_t i = 0; i < m->blocks.n; i++)
		*ret += m->blocks.v[i].bytes;
	for (size_t i = 0; i < m->eras.n; i++) {
		char path[ERA_PATH_BYTES];
		uint64_t bytes;
		const int r = vfs__size(s->vfs, era__path(path, m->eras.v[i].number), &bytes);

		if (r)
			return error__sys(err, r, "%s", path);
		*ret += bytes;
	}
	return 0;
}

int evict__oldest(struct store *s, struct dcm_error *err)
{
	const uint64_t bound = s->options.max_bytes;
	const size_t n_blocks = s->blocks.n;
	uint64_t bytes;
	int r = bytes_of_all(s, &bytes, err);

	if (r)
		return r;
	s->options.max_bytes = bytes - 1;
	r = expire__whole(s, err);
	s->options.max_bytes = bound;
	return r ? r : s->blocks.n == n_blocks;
}
