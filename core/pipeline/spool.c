/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/spool.c - batches on disk, in order, until the other side has them
 *
 * The index has an entry for each batch that is not settled, by LSN. The newest keep their batch in memory while
 * there is room, so that a spool whose other side keeps up reads nothing from the disk. Segments are forgotten from
 * the front, when all in them is settled and the position says so for good.
 *
 * The lock is never held while the disk is asked: who looks at a spool, and who routes past it, waits for no disk. What
 * left the index leaves the disk behind it (tidy()), in the thread that made it leave.
 */
#include "core/pipeline/spool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/batch/batch.h"
#include "core/pipeline/spool_private.h"

#define SEGMENT_MAX_BYTES ((uint64_t)8 << 20)
#define SEGMENT_MIN_BYTES ((uint64_t)256 << 10)
/* What is appended in one go (writer.h: 16 MiB) and one that is large by itself. */
#define PENDING_MAX_BYTES ((uint64_t)FRAME_MAX_BYTES + ((uint64_t)32 << 20))
#define MAX_BATCHES	  ((size_t)1 << 20)
#define CLOSE_NS	  INT64_C(2000000000)

#define LOCK_PATH "lock"

void spool__tell(const struct spool *s, enum dcm_log_level level, const char *text)
{
	if (s->config.report)
		s->config.report(s->config.ctx, level, text);
}

static void lose(const struct spool *s, const char *reason, uint64_t n)
{
	if (s->config.lost && n > 0)
		s->config.lost(s->config.ctx, reason, n);
}

bool spool__take_disk(struct spool *s, int64_t deadline_mono_ns)
{
	struct timespec ts = { .tv_sec = deadline_mono_ns / 1000000000,
			       .tv_nsec = deadline_mono_ns % 1000000000 };
	int r = 0;
	bool is_taken;

	pthread_mutex_lock(&s->lock);
	while (s->disk_is_taken && r == 0)
		r = deadline_mono_ns == INT64_MAX
			    ? pthread_cond_wait(&s->disk_is_free, &s->lock)
			    : pthread_cond_timedwait(&s->disk_is_free, &s->lock, &ts);
	is_taken = !s->disk_is_taken;
	s->disk_is_taken = true;
	pthread_mutex_unlock(&s->lock);
	return is_taken;
}

void spool__give_disk(struct spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->disk_is_taken = false;
	pthread_cond_signal(&s->disk_is_free);
	pthread_mutex_unlock(&s->lock);
}

/* What has left the index leaves the disk, too, but not with a sync for each batch. */
static void tidy(struct spool *s);

void spool__unlock(struct spool *s)
{
	uint64_t lost[N_LOSSES];
	bool has_moved = s->has_moved;

	s->has_moved = false;
	memcpy(lost, s->lost, sizeof(lost));
	memset(s->lost, 0, sizeof(s->lost));
	pthread_mutex_unlock(&s->lock);
	lose(s, "spool_full", lost[LOST_FULL]);
	lose(s, "spool_expired", lost[LOST_EXPIRED]);
	lose(s, "spool_damaged", lost[LOST_DAMAGED]);
	if (has_moved)
		tidy(s);
}

/* ---- the index: with the lock ---- */

static size_t count(const struct spool *s)
{
	return s->entries.n - s->head;
}

void spool__unkeep(struct spool *s, struct entry *e)
{
	if (!e->batch)
		return;
	s->kept_bytes -= e->batch->bytes;
	batch__unref(e->batch);
	e->batch = NULL;
}

/* The first entry from there on, its slot made free now and then. */
static void pop_first(struct spool *s)
{
	struct entry *e = &s->entries.v[s->head];

	spool__unkeep(s, e);
	s->bytes -= e->bytes;
	s->rows -= e->rows;
	s->left_bytes += e->bytes;
	s->settled_lsn = e->lsn;
	s->has_moved = true;
	s->head++;
	if (s->next < s->head)
		s->next = s->head;
	if (s->head < 64 || s->head < s->entries.n / 2)
		return;
	memmove(s->entries.v, s->entries.v + s->head, count(s) * sizeof(*e));
	s->entries.n -= s->head;
	s->next -= s->head;
	s->head = 0;
}

struct entry *spool__find(struct spool *s, uint64_t lsn)
{
	size_t low = s->head, high = s->entries.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->entries.v[mid].lsn < lsn)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->entries.n && s->entries.v[low].lsn == lsn ? &s->entries.v[low] : NULL;
}

void spool__move_on(struct spool *s)
{
	while (count(s) > 0 && s->entries.v[s->head].state == SETTLED)
		pop_first(s);
}

static void drop_first(struct spool *s)
{
	const struct entry *e = &s->entries.v[s->head];

	if (e->state == WAITING)
		s->lost[LOST_FULL] += e->rows;
	else if (e->state == FED)
		s->loose_rows += e->rows;
	pop_first(s);
}

void spool__expire(struct spool *s)
{
	int64_t limit = clock__mono(s->config.clock) - s->config.max_age_ns;

	for (; s->next < s->entries.n && s->entries.v[s->next].mono_ns < limit; s->next++) {
		struct entry *e = &s->entries.v[s->next];

		if (e->state != WAITING)
			continue;
		s->lost[LOST_EXPIRED] += e->rows;
		e->state = SETTLED;
		spool__unkeep(s, e);
	}
	spool__move_on(s);
}

void spool__keep_bounds(struct spool *s)
{
	spool__expire(s);
	while (count(s) > 1 && (s->bytes > s->config.max_bytes || count(s) > MAX_BATCHES))
		drop_first(s);
}

/* ---- the disk, behind the index: without the lock ---- */

void spool__note_position(struct spool *s, uint64_t settled_lsn)
{
	int rc = position__note(&s->position, settled_lsn);

	if (rc && !s->has_told)
		spool__tell(s, DCM_LOG_WARNING, "cannot note what was delivered; after a restart some of it is sent once more");
	s->has_told = rc != 0;
}

/*
 * Segments go once the position is safe that says that nobody misses them. What could not be removed is tried again
 * with the next.
 */
static bool remove_segments(struct spool *s, uint64_t settled_lsn)
{
	struct wal_stat st;

	wal__stat(s->wal, &st);
	if (st.n_files < 2 || s->position.has_failed || position__sync(&s->position) < 0)
		return false;
	wal__forget(s->wal, settled_lsn, NULL);
	return true;
}

static void tidy(struct spool *s)
{
	uint64_t settled_lsn;
	bool removes;

	spool__take_disk(s, INT64_MAX);
	/* Whoever comes last notes the most. */
	pthread_mutex_lock(&s->lock);
	settled_lsn = s->settled_lsn;
	removes = s->left_bytes >= s->segment_bytes / 2 || count(s) == 0;
	pthread_mutex_unlock(&s->lock);
	if (s->position.file) {
		spool__note_position(s, settled_lsn);
		if (removes && remove_segments(s, settled_lsn)) {
			pthread_mutex_lock(&s->lock);
			s->left_bytes = 0;
			pthread_mutex_unlock(&s->lock);
		}
	}
	spool__give_disk(s);
}

/* ---- opening ---- */

struct finding {
	struct spool *spool;
	uint64_t n_lost;
	int64_t real_ns, mono_ns; /* now */
	int64_t age_ns;		  /* of the one before */
};

/* Clocks are set: none is older than the one that was appended before it, and none is from the future. */
static int64_t age_of(struct finding *f, int64_t real_ns)
{
	int64_t age = real_ns < 0 ? f->real_ns : real_ns < f->real_ns ? f->real_ns - real_ns : 0;

	if (age < f->age_ns)
		f->age_ns = age;
	return f->age_ns;
}

static int find_batch(void *ctx, const struct frame *f)
{
	struct finding *finding = ctx;
	struct spool *s = finding->spool;

	if (f->type != FRAME_BATCH || f->n < RECORD_HEAD_BYTES) {
		finding->n_lost++;
		return 0;
	}
	struct entry e = { .lsn = f->lsn,
			   .mono_ns = finding->mono_ns - age_of(finding, (int64_t)le__get64(f->payload)),
			   .bytes = frames__size(f->n),
			   .rows = le__get32(f->payload + 8) };
	if (!vec__push(&s->entries, e))
		return -ENOMEM;
	s->bytes += e.bytes;
	s->rows += e.rows;
	return 0;
}

static void find_lost(void *ctx, uint64_t n_lost)
{
	((struct finding *)ctx)->n_lost += n_lost;
}

static int take_directory(struct spool *s, struct dcm_error *err)
{
	int rc = vfs__open(s->vfs, LOCK_PATH, VFS_WRITE | VFS_CREATE, &s->lock_file);

	if (!rc)
		rc = s->vfs->ops->lock(s->lock_file);
	if (rc == -EBUSY)
		return error__set(
			err, rc, "another process has this spool; stop it, or give one of the two another spool_path");
	if (!rc)
		rc = vfs__mkdir(s->vfs, WAL_DIR);
	if (!rc)
		rc = aside__open(&s->aside, s->vfs, s->config.aside_bytes);
	return rc ? error__sys(err, rc, "the spool's directory cannot be used%s", vfs__write_remedy(rc))
		  : 0;
}

static int take_log(struct spool *s, struct dcm_error *err)
{
	struct finding finding = { .spool = s,
				   .real_ns = clock__real(s->config.clock),
				   .mono_ns = clock__mono(s->config.clock),
				   .age_ns = INT64_MAX };
	struct wal_found found;
	struct wal_options o = {
		.segment_bytes = s->segment_bytes,
		.pending_max_bytes = PENDING_MAX_BYTES,
		.first_number = 1,
		.used_lsn = s->settled_lsn,
		.align = SEGMENT_ALIGN,
		.lost = find_lost,
		.report = s->config.report,
		.report_ctx = s->config.ctx,
	};
	int rc = wal__open(s->vfs, &o, s->settled_lsn, find_batch, &finding, &found, &s->wal, err);

	if (rc)
		return rc;
	/* Nobody else is here yet; losses are told with the first next(). */
	s->lost[LOST_DAMAGED] += finding.n_lost;
	spool__keep_bounds(s);
	s->has_moved = false;
	tidy(s);
	return 0;
}

int spool__open(struct vfs *v, const struct spool_config *config, struct spool **ret,
		struct dcm_error *err)
{
	struct spool *s = NEW(struct spool);
	int rc;

	if (!s)
		return error__nomem(err);
	s->refs = 1;
	s->vfs = v;
	s->config = *config;
	s->segment_bytes = config->max_bytes / 8;
	if (s->segment_bytes < SEGMENT_MIN_BYTES)
		s->segment_bytes = SEGMENT_MIN_BYTES;
	if (s->segment_bytes > SEGMENT_MAX_BYTES)
		s->segment_bytes = SEGMENT_MAX_BYTES;
	pthread_mutex_init(&s->lock, NULL);
	cond__init(&s->changed);
	cond__init(&s->disk_is_free);
	rc = take_directory(s, err);
	if (!rc)
		rc = position__open(&s->position, v, config->report, config->ctx, &s->settled_lsn, err);
	if (!rc)
		rc = take_log(s, err);
	if (rc) {
		spool__close(s);
		return rc;
	}
	*ret = s;
	return 0;
}

/* ---- closing ---- */

int spool__close(struct spool *s)
{
	if (!s)
		return 0;
	/* For what a thread may still have to do on it. */
	if (!spool__take_disk(s, clock__mono(&clock__system) + CLOSE_NS)) {
		spool__abandon(s);
		return -ETIMEDOUT;
	}
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	/* What nobody will put back is in no memory that anybody looks at, and not on the disk. */
	s->lost[LOST_FULL] += s->loose_rows;
	s->loose_rows = 0;
	s->has_moved = false;
	spool__unlock(s);
	/* Beside tidy() nobody but append() and next() looks at these, and they are over. */
	wal__close(take_ptr(s->wal));
	position__close(&s->position);
	vfs__close(take_ptr(s->lock_file));
	spool__give_disk(s);
	spool__unref(s);
	return 0;
}

void spool__abandon(struct spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	pthread_mutex_unlock(&s->lock);
}

struct spool *spool__ref(struct spool *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

static void unref_batches(const struct entry *e, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		batch__unref(e[i].batch);
}

void spool__unref(struct spool *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	unref_batches(s->entries.v, s->head, s->entries.n);
	unref_batches(s->begun.entries.v, 0, s->begun.entries.n);
	vec__fini(&s->entries);
	vec__fini(&s->begun.entries);
	lookup__fini(&s->lookup);
	aside__fini(&s->aside);
	pthread_cond_destroy(&s->disk_is_free);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* ---- waiting and looking ---- */

void spool__wait(struct spool *s, int64_t deadline_mono_ns)
{
	struct timespec ts = { .tv_sec = deadline_mono_ns / 1000000000,
			       .tv_nsec = deadline_mono_ns % 1000000000 };
	int r = 0;

	pthread_mutex_lock(&s->lock);
	while (!s->is_woken && r == 0)
		r = pthread_cond_timedwait(&s->changed, &s->lock, &ts);
	pthread_mutex_unlock(&s->lock);
}

void spool__wake(struct spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->is_woken = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void spool__view(struct spool *s, struct spool_view *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = (struct spool_view){ .bytes = s->bytes,
				    .n_batches = count(s),
				    .n_rows = s->rows,
				    .n_aside = s->aside.n,
				    .aside_bytes = s->aside.bytes };
	if (count(s) > 0)
		ret->oldest_real_ns = clock__real(s->config.clock) - clock__mono(s->config.clock) +
				      s->entries.v[s->head].mono_ns;
	pthread_mutex_unlock(&s->lock);
}
