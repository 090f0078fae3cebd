/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/aside.c - batches that were refused, kept to be looked at, each beside what was said to it
 *
 * A batch may be refused, set aside, and come again after a power cut, so a name is used again and counts once.
 */
#include "core/pipeline/aside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/copy.h"
#include "core/codec/wire.h"
#include "core/disk/frames.h"

#define BATCH ".batch"
#define WORDS ".txt"

static int count_one(void *ctx, const char *name)
{
	struct aside *a = ctx;
	char path[ASIDE_PATH_BYTES];
	uint64_t bytes;

	if (!str__ends(str__of(name), STR(BATCH)) ||
	    snprintf(path, sizeof(path), ASIDE_DIR "/%s", name) >= (int)sizeof(path))
		return 0;
	if (vfs__size(a->vfs, path, &bytes) == 0) {
		a->n++;
		a->bytes += bytes;
	}
	return 0;
}

int aside__open(struct aside *a, struct vfs *v, uint64_t max_bytes)
{
	int rc;

	*a = (struct aside){ .vfs = v, .max_bytes = max_bytes };
	pthread_mutex_init(&a->lock, NULL);
	rc = vfs__mkdir(v, ASIDE_DIR);
	return rc ? rc : vfs__list(v, ASIDE_DIR, count_one, a);
}

void aside__fini(struct aside *a)
{
	pthread_mutex_destroy(&a->lock);
}

/* ---- one that is refused ---- */

static int encode_profile(const struct dcm_batch *batch, uint32_t profile, struct buf *out)
{
	CLEANUP(batch__unrefp) struct dcm_batch *one = NULL;
	int rc = batch__one(batch, profile, &one, NULL);

	return rc ? rc : wire__encode(one, out);
}

/* A new file in the place of what may have been there. */
static int write_file(struct vfs *v, const char *path, const void *p, size_t n)
{
	CLEANUP(vfs__closep) struct vfs_file *f = NULL;
	int rc = vfs__unlink(v, path);

	if (!rc || rc == -ENOENT)
		rc = vfs__open(v, path, VFS_WRITE | VFS_CREATE | VFS_NEW, &f);
	if (!rc)
		rc = vfs__write(f, p, n, 0);
	if (!rc)
		rc = vfs__sync(f);
	return rc;
}

/* With the lock. */
static int write_both(struct aside *a, const char *path, const char *why, const struct buf *batch,
		      const char *words)
{
	uint64_t before = 0;
	bool is_again = vfs__size(a->vfs, path, &before) == 0;
	int rc = 0;

	if (a->bytes - before + batch->n > a->max_bytes || (!is_again && a->n >= ASIDE_MAX_BATCHES))
		return -EDQUOT;
	rc = write_file(a->vfs, path, batch->data, batch->n);
	if (!rc)
		rc = write_file(a->vfs, why, words, strlen(words));
	if (!rc)
		rc = vfs__sync_dir(a->vfs, ASIDE_DIR);
	a->bytes -= before;
	a->n -= is_again;
	if (rc) {
		vfs__unlink(a->vfs, path);
		vfs__unlink(a->vfs, why);
		return rc;
	}
	a->bytes += batch->n;
	a->n++;
	return 0;
}

int aside__put(struct aside *a, uint64_t lsn, const struct dcm_batch *batch, uint32_t profile,
	       const char *words, char ret_path[static ASIDE_PATH_BYTES])
{
	struct buf encoded = { .limit = FRAME_MAX_BYTES };
	char why[ASIDE_PATH_BYTES], number[16] = "";
	int rc;

	if (profile != DCM_NONE)
		snprintf(number, sizeof(number), "-%" PRIu32, profile);
	snprintf(ret_path, ASIDE_PATH_BYTES, ASIDE_DIR "/%020" PRIu64 "%s" BATCH, lsn, number);
	snprintf(why, sizeof(why), ASIDE_DIR "/%020" PRIu64 "%s" WORDS, lsn, number);
	rc = profile == DCM_NONE ? wire__encode(batch, &encoded)
				 : encode_profile(batch, profile, &encoded);
	if (!rc) {
		pthread_mutex_lock(&a->lock);
		rc = write_both(a, ret_path, why, &encoded, words);
		pthread_mutex_unlock(&a->lock);
	}
	buf__fini(&encoded);
	return rc;
}
