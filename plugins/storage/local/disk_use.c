/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/disk_use.c - what the store's files take on the disk, by kind
 */
#include "plugins/storage/local/disk_use.h"

#include <errno.h>
#include <stdio.h>

#include "plugins/storage/local/commit.h"
#include "core/disk/numbered.h"

struct sum {
	struct vfs *vfs;
	const char *dir, *suffix;
	uint64_t bytes;
};

/* 0 as well when it has gone meanwhile. */
static int add_file(struct vfs *v, const char *path, uint64_t *bytes)
{
	uint64_t n;
	int r = vfs__size(v, path, &n);

	if (r == 0)
		*bytes += n;
	return r == -ENOENT ? 0 : r;
}

static int add_name(void *ctx, const char *name)
{
	struct sum *s = ctx;
	const int64_t number = numbered__parse(name, s->suffix);
	char path[64];

	if (number < 0)
		return 0; /* nobody of ours */
	return add_file(s->vfs, numbered__path(path, sizeof(path), s->dir, (uint64_t)number, s->suffix),
			&s->bytes);
}

static void look_at(struct vfs *v, const char *dir, const char *suffix, _Atomic uint64_t *ret)
{
	struct sum s = { v, dir, suffix, 0 };

	if (vfs__list(v, dir, add_name, &s) == 0)
		atomic_store(ret, s.bytes);
}

void disk_use__look(struct disk_use *u, struct vfs *v)
{
	uint64_t other = 0;

	look_at(v, ERAS_DIR, ".log", &u->dictionary_bytes);
	look_at(v, WAL_DIR, ".wal", &u->log_bytes);
	if (add_file(v, MANIFEST_PATH, &other) == 0 && add_file(v, LOCK_PATH, &other) == 0)
		atomic_store(&u->other_bytes, other);
}
