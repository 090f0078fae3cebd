/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/spool_append.c - the way into a spool: a group in whole, or not at all
 */
#include <errno.h>
#include <pthread.h>

#include "core/base/error.h"
#include "core/batch/batch.h"
#include "core/codec/wire.h"
#include "core/pipeline/spool_private.h"

static int put_record(const struct dcm_batch *b, int64_t real_ns, struct buf *out)
{
	uint64_t rows = batch__n_rows(b);

	buf__le64(out, (uint64_t)real_ns);
	buf__le32(out, rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX);
	buf__le32(out, 0);
	if (out->error)
		return out->error;
	return wire__encode(b, out);
}

static int too_large(struct dcm_error *err)
{
	return error__set(err, -EFBIG, "a batch of more than %d bytes does not go into a spool; let its input emit smaller ones",
			  FRAME_MAX_BYTES);
}

/* One batch into the log, not safe yet. begun.entries has room. */
static int append_one(struct spool *s, struct dcm_batch *b, struct dcm_error *err)
{
	struct buf record = { .limit = FRAME_MAX_BYTES };
	struct entry e = { .mono_ns = clock__mono(s->config.clock), .rows = batch__n_rows(b) };
	int rc = put_record(b, clock__real(s->config.clock), &record);

	if (rc)
		rc = rc == -EFBIG ? too_large(err) : error__nomem(err);
	else
		rc = wal__append(s->wal, FRAME_BATCH, record.data, record.n, &e.lsn, err);
	e.bytes = frames__size((uint32_t)record.n);
	buf__fini(&record);
	if (rc)
		return rc;
	e.batch = batch__ref(b);
	s->begun.entries.v[s->begun.entries.n++] = e;
	return 0;
}

/* So that a group goes in whole or not at all. */
static int check_sizes(struct dcm_batch *const *batches, uint32_t n, struct dcm_error *err)
{
	for (uint32_t i = 0; i < n; i++) {
		struct buf record = { .limit = FRAME_MAX_BYTES };
		int rc = 0;

		/* The encoding is smaller than the batch in memory, which has its hashes, too. */
		if (batches[i]->bytes > FRAME_MAX_BYTES)
			rc = put_record(batches[i], 0, &record);
		buf__fini(&record);
		if (rc)
			return rc == -EFBIG ? too_large(err) : error__nomem(err);
	}
	return 0;
}

/* What is on the disk becomes visible. */
static int end_begun(struct spool *s)
{
	struct begun *g = &s->begun;

	pthread_mutex_lock(&s->lock);
	if (!vec__reserve(&s->entries, g->entries.n)) {
		spool__unlock(s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < g->entries.n; i++) {
		struct entry *e = &g->entries.v[i];

		s->bytes += e->bytes;
		s->rows += e->rows;
		s->kept_bytes += e->batch->bytes;
		if (s->kept_bytes > SPOOL_KEPT_BYTES)
			spool__unkeep(s, e);
		s->entries.v[s->entries.n++] = *e;
	}
	g->entries.n = 0;
	g->group = NULL;
	spool__keep_bounds(s);
	s->is_woken = true;
	pthread_cond_broadcast(&s->changed);
	spool__unlock(s);
	return 0;
}

static int say_remedy(int rc, struct dcm_error *err)
{
	struct dcm_error why = DCM_ERROR_INIT;

	if (!err || !*vfs__write_remedy(rc))
		return rc;
	why = *err;
	return error__set(err, rc, "%s%s", why.text, vfs__write_remedy(rc));
}

/*
 * Somebody has removed what we write to. Once the directory is there again we go on in it; what was in it, and in no
 * memory, is lost when it is read.
 */
static void revive(struct spool *s)
{
	uint64_t lsn = 0;

	spool__take_disk(s, INT64_MAX);
	if (s->vfs->ops->revive(s->vfs) == 0 && vfs__mkdir(s->vfs, WAL_DIR) == 0) {
		struct position fresh = { 0 };

		vfs__mkdir(s->vfs, ASIDE_DIR);
		if (position__open(&fresh, s->vfs, s->config.report, s->config.ctx, &lsn, NULL) == 0) {
			position__close(&s->position);
			s->position = fresh;
			pthread_mutex_lock(&s->lock);
			lsn = s->settled_lsn;
			pthread_mutex_unlock(&s->lock);
			spool__note_position(s, lsn);
		} else {
			position__close(&fresh);
		}
	}
	spool__give_disk(s);
}

int spool__append(struct spool *s, const void *group, struct dcm_batch *const *batches, uint32_t n,
		  struct dcm_error *err)
{
	struct begun *g = &s->begun;
	struct wal_stat st;
	int rc = 0;

	if (g->group != group) {
		rc = check_sizes(batches, n, err);
		if (rc)
			return rc;
		if (!vec__reserve(&g->entries, n))
			return error__nomem(err);
		g->group = group;
	}
	wal__stat(s->wal, &st);
	if (st.refusing == -ENOENT)
		revive(s);
	if (st.refusing)
		rc = wal__probe(s->wal, err);
	for (uint32_t i = (uint32_t)g->entries.n; !rc && i < n; i++)
		rc = append_one(s, batches[i], err);
	if (!rc)
		rc = wal__sync(s->wal, UINT64_MAX, err);
	return rc ? say_remedy(rc, err) : end_begun(s);
}
