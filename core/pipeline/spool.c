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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/batch/batch.h"
#include "core/codec/wire.h"
#include "core/disk/lookup.h"
#include "core/disk/wal.h"
#include "core/pipeline/aside.h"
#include "core/pipeline/position.h"

#define SEGMENT_MAX_BYTES ((uint64_t)8 << 20)
#define SEGMENT_MIN_BYTES ((uint64_t)256 << 10)
/* What is appended in one go (writer.h: 16 MiB) and one that is large by itself. */
#define PENDING_MAX_BYTES ((uint64_t)FRAME_MAX_BYTES + ((uint64_t)32 << 20))
#define KEPT_BYTES	  ((uint64_t)4 << 20) /* of batches in memory that are on the disk, too */
#define MAX_BATCHES	  ((size_t)1 << 20)
#define CLOSE_NS	  INT64_C(2000000000)

#define LOCK_PATH "lock"

enum {
	FRAME_BATCH = 1,
	RECORD_HEAD_BYTES = 16, /* before the batch in a frame: i64 when, u32 rows, u32 0 */
	SEGMENT_ALIGN = 4096,
	WORDS_MAX = 256,
	READ_TRIES = 50,
};

enum state { WAITING, FED, SETTLED };
enum loss { LOST_FULL, LOST_EXPIRED, LOST_DAMAGED, N_LOSSES };

struct entry {
	uint64_t lsn;
	int64_t mono_ns; /* when it was appended; of an earlier process's, below 0 perhaps */
	uint64_t bytes;	 /* in the log */
	uint64_t rows;
	struct dcm_batch *batch; /* a reference; NULL: on the disk only */
	enum state state;
};

/* Of a group whose end the disk has not let us see: see spool__append(). */
struct begun {
	const void *group; /* NULL: none */
	VEC(struct entry) entries;
};

struct spool {
	_Atomic uint32_t refs;
	struct vfs *vfs;
	struct spool_config config;
	struct vfs_file *lock_file;
	uint64_t segment_bytes;
	struct wal *wal;
	struct begun begun;   /* append()'s */
	struct lookup lookup; /* next()'s */
	unsigned n_failures;  /* next()'s: of the disk, in a row */
	struct aside aside;

	/* Of who has the disk: see take_disk(). */
	struct position position;
	bool has_told; /* that the position cannot be noted */

	pthread_mutex_t lock; /* guards: */
	pthread_cond_t changed, disk_is_free;
	bool disk_is_taken;
	VEC(struct entry) entries; /* from `head` on, by LSN */
	size_t head, next;	   /* before `next` nothing waits */
	uint64_t bytes, rows;	   /* of all entries */
	uint64_t left_bytes;	   /* of those that left since segments were removed */
	uint64_t kept_bytes, fed_bytes;
	uint64_t settled_lsn;	 /* all up to here are */
	bool has_moved;		 /* ... and the disk does not know */
	uint64_t loose_rows;	 /* of those that are fed and in no entry any more */
	uint64_t lost[N_LOSSES]; /* not told yet */
	bool is_closed, is_woken;
	char words[WORDS_MAX]; /* of the other side, the last */
};

static void tell(const struct spool *s, enum dcm_log_level level, const char *text)
{
	if (s->config.report)
		s->config.report(s->config.ctx, level, text);
}

static void lose(const struct spool *s, const char *reason, uint64_t n)
{
	if (s->config.lost && n > 0)
		s->config.lost(s->config.ctx, reason, n);
}

/* What is noted on the disk, and removed from it, is so by one at a time, who waits for the disk without the lock. */
static bool take_disk(struct spool *s, int64_t deadline_mono_ns)
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

static void give_disk(struct spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->disk_is_taken = false;
	pthread_cond_signal(&s->disk_is_free);
	pthread_mutex_unlock(&s->lock);
}

/* What has left the index leaves the disk, too, but not with a sync for each batch. */
static void tidy(struct spool *s);

/*
 * Lets the lock go, and then does what is not done under it. Who counts losses may have a lock of its own, with which
 * it asks for a view.
 */
static void unlock(struct spool *s)
{
	uint64_t lost[N_LOSSES];
	bool has_moved = s->has_moved;

	s->has_moved = false;
	memcpy(lost, s->lost, sizeof(lost));
	memset(s->lost, 0, sizeof(s->lost));
	pthread_mutex_unlock(&s->lock);
	if (has_moved)
		tidy(s);
	lose(s, "spool_full", lost[LOST_FULL]);
	lose(s, "spool_expired", lost[LOST_EXPIRED]);
	lose(s, "spool_damaged", lost[LOST_DAMAGED]);
}

/* ---- the index: with the lock ---- */

static size_t count(const struct spool *s)
{
	return s->entries.n - s->head;
}

static void unkeep(struct spool *s, struct entry *e)
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

	unkeep(s, e);
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

static struct entry *find(struct spool *s, uint64_t lsn)
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

/* What is settled at the front leaves. */
static void move_on(struct spool *s)
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

/* Those that wait and are too old leave; before them may be some that are fed. */
static void expire(struct spool *s)
{
	int64_t limit = clock__mono(s->config.clock) - s->config.max_age_ns;

	for (; s->next < s->entries.n && s->entries.v[s->next].mono_ns < limit; s->next++) {
		struct entry *e = &s->entries.v[s->next];

		if (e->state != WAITING)
			continue;
		s->lost[LOST_EXPIRED] += e->rows;
		e->state = SETTLED;
		unkeep(s, e);
	}
	move_on(s);
}

/* The oldest leave until the rest keeps the bounds; the newest stays, whatever its size. */
static void keep_bounds(struct spool *s)
{
	expire(s);
	while (count(s) > 1 && (s->bytes > s->config.max_bytes || count(s) > MAX_BATCHES))
		drop_first(s);
}

/* ---- the disk, behind the index: without the lock ---- */

static void note_position(struct spool *s, uint64_t settled_lsn)
{
	int rc = position__note(&s->position, settled_lsn);

	if (rc && !s->has_told)
		tell(s, DCM_LOG_WARNING, "cannot note what was delivered; after a restart some of it is sent once more");
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

	take_disk(s, INT64_MAX);
	/* Whoever comes last notes the most. */
	pthread_mutex_lock(&s->lock);
	settled_lsn = s->settled_lsn;
	removes = s->left_bytes >= s->segment_bytes / 2 || count(s) == 0;
	pthread_mutex_unlock(&s->lock);
	if (s->position.file) {
		note_position(s, settled_lsn);
		if (removes && remove_segments(s, settled_lsn)) {
			pthread_mutex_lock(&s->lock);
			s->left_bytes = 0;
			pthread_mutex_unlock(&s->lock);
		}
	}
	give_disk(s);
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
	keep_bounds(s);
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
	if (!take_disk(s, clock__mono(&clock__system) + CLOSE_NS)) {
		spool__abandon(s);
		return -ETIMEDOUT;
	}
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	/* What nobody will put back is in no memory that anybody looks at, and not on the disk. */
	s->lost[LOST_FULL] += s->loose_rows;
	s->loose_rows = 0;
	s->has_moved = false;
	unlock(s);
	/* Beside tidy() nobody but append() and next() looks at these, and they are over. */
	wal__close(take_ptr(s->wal));
	position__close(&s->position);
	vfs__close(take_ptr(s->lock_file));
	give_disk(s);
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

/* ---- appending ---- */

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
		unlock(s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < g->entries.n; i++) {
		struct entry *e = &g->entries.v[i];

		s->bytes += e->bytes;
		s->rows += e->rows;
		s->kept_bytes += e->batch->bytes;
		if (s->kept_bytes > KEPT_BYTES)
			unkeep(s, e);
		s->entries.v[s->entries.n++] = *e;
	}
	g->entries.n = 0;
	g->group = NULL;
	keep_bounds(s);
	s->is_woken = true;
	pthread_cond_broadcast(&s->changed);
	unlock(s);
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

	take_disk(s, INT64_MAX);
	if (s->vfs->ops->revive(s->vfs) == 0 && vfs__mkdir(s->vfs, WAL_DIR) == 0) {
		struct position fresh = { 0 };

		vfs__mkdir(s->vfs, ASIDE_DIR);
		if (position__open(&fresh, s->vfs, s->config.report, s->config.ctx, &lsn, NULL) == 0) {
			position__close(&s->position);
			s->position = fresh;
			pthread_mutex_lock(&s->lock);
			lsn = s->settled_lsn;
			pthread_mutex_unlock(&s->lock);
			note_position(s, lsn);
		} else {
			position__close(&fresh);
		}
	}
	give_disk(s);
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

/* ---- reading ---- */

/* Not for want of something that a process may be short of for a while. */
static bool is_of_disk(int rc)
{
	return rc != -ENOMEM && rc != -EMFILE && rc != -ENFILE;
}

/*
 * The batch of one that is on the disk only. -EBADMSG: nobody can read it any more, or the disk has failed to give it
 * READ_TRIES times. Another errno: later.
 */
static int read_batch(struct spool *s, uint64_t lsn, struct dcm_batch **ret)
{
	const struct frame *f = &s->lookup.frame;
	int rc = lookup__frame(&s->lookup, s->vfs, s->wal, lsn);

	if (!rc) {
		s->n_failures = 0;
		rc = wire__decode(f->payload + RECORD_HEAD_BYTES, f->n - RECORD_HEAD_BYTES, ret, NULL);
		return rc == 0 || rc == -ENOMEM ? rc : -EBADMSG;
	}
	if (rc != -ENOENT && (!is_of_disk(rc) || ++s->n_failures < READ_TRIES))
		return rc;
	s->n_failures = 0;
	return -EBADMSG;
}

/* With the lock: the entry that is to be fed; NULL: none. */
static struct entry *oldest_waiting(struct spool *s)
{
	expire(s);
	while (s->next < s->entries.n && s->entries.v[s->next].state != WAITING)
		s->next++;
	if (s->next == s->entries.n || s->fed_bytes >= s->config.fed_bytes)
		return NULL;
	return &s->entries.v[s->next];
}

static void feed(struct spool *s, struct entry *e, struct spool_item *ret)
{
	ret->lsn = e->lsn;
	ret->rows = e->rows;
	ret->bytes = e->bytes;
	ret->memory = e->batch->bytes;
	ret->batch = batch__ref(e->batch);
	e->state = FED;
	s->fed_bytes += ret->memory;
	s->next++;
}

/* Nobody can read it: it is as settled as it will ever be. */
static void lose_damaged(struct spool *s, struct entry *e)
{
	s->lost[LOST_DAMAGED] += e->rows;
	e->state = SETTLED;
	move_on(s);
}

static void tell_damaged(const struct spool *s, uint64_t rows)
{
	char text[128];

	snprintf(text, sizeof(text), "a batch of %llu rows cannot be read back: look at the disk",
		 (unsigned long long)rows);
	tell(s, DCM_LOG_ERROR, text);
}

/* One from the disk, without the lock meanwhile; then its entry, which may have been dropped. */
static int fetch(struct spool *s, uint64_t lsn, struct spool_item *ret)
{
	struct dcm_batch *batch = NULL;
	struct entry *e;
	uint64_t rows = 0;
	int rc = read_batch(s, lsn, &batch);

	pthread_mutex_lock(&s->lock);
	e = find(s, lsn);
	if (!e || e->state != WAITING) {
		batch__unref(batch);
		rc = -EALREADY;
	} else if (rc == -EBADMSG) {
		rows = e->rows;
		lose_damaged(s, e);
	} else if (rc == 0) {
		e->batch = batch;
		s->kept_bytes += batch->bytes;
		ret->was_read = true;
		feed(s, e, ret);
	}
	unlock(s);
	if (rc == -EBADMSG)
		tell_damaged(s, rows);
	return rc;
}

int spool__next(struct spool *s, struct spool_item *ret)
{
	const struct entry *e;
	uint64_t lsn;
	int rc;

	*ret = (struct spool_item){ 0 };
	do {
		pthread_mutex_lock(&s->lock);
		s->is_woken = false;
		e = oldest_waiting(s);
		lsn = e ? e->lsn : 0;
		if (e && e->batch)
			feed(s, &s->entries.v[s->next], ret);
		unlock(s);
		if (!e)
			return -EAGAIN;
		rc = ret->batch ? 0 : fetch(s, lsn, ret);
	} while (rc == -EALREADY || rc == -EBADMSG);
	return rc;
}

/* ---- settling ---- */

/* What became of a batch, or of a profile of it, that was refused. */
static void tell_refused(const struct spool *s, const char *what, int rc, const char *path,
			 const char *words)
{
	char text[768];

	if (!rc)
		snprintf(text, sizeof(text), "a %s was refused and is set aside: %s: %s", what,
			 path, words);
	else
		snprintf(text, sizeof(text), "a %s was refused, and cannot be set aside (%s): %s", what,
			 rc == -EDQUOT ? "there is no room; look at what is there, and move it away"
			 : rc == -ENOENT ? "it is too old, and has left the spool"
					 : strerror(-rc),
			 words);
	tell(s, DCM_LOG_WARNING, text);
}

/* As `decima convert` reads it, and beside it why it is there. Takes the batch; NULL: it is in no entry any more. */
static void set_aside(struct spool *s, uint64_t lsn, struct dcm_batch *batch, uint32_t profile)
{
	char path[ASIDE_PATH_BYTES] = "", words[WORDS_MAX];
	int rc = -ENOENT;

	pthread_mutex_lock(&s->lock);
	memcpy(words, s->words, sizeof(words));
	pthread_mutex_unlock(&s->lock);
	if (batch)
		rc = aside__put(&s->aside, lsn, batch, profile, words, path);
	tell_refused(s, profile == DCM_NONE ? "batch" : "profile", rc, path, words);
	batch__unref(batch);
}

static void set_batch_aside(struct spool *s, uint64_t lsn)
{
	const struct entry *e;
	struct dcm_batch *batch = NULL;

	pthread_mutex_lock(&s->lock);
	e = s->is_closed ? NULL : find(s, lsn);
	if (e && e->batch)
		batch = batch__ref(e->batch);
	pthread_mutex_unlock(&s->lock);
	set_aside(s, lsn, batch, DCM_NONE);
}

void spool__set_aside(struct spool *s, const struct dcm_batch *batch, uint32_t profile)
{
	struct dcm_batch *found = NULL;
	uint64_t lsn = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = s->head; !s->is_closed && !found && i < s->next; i++) {
		const struct entry *e = &s->entries.v[i];

		if (e->state == FED && e->batch == batch) {
			found = batch__ref(e->batch);
			lsn = e->lsn;
		}
	}
	pthread_mutex_unlock(&s->lock);
	set_aside(s, lsn, found, profile);
}

/* With the lock: one whose entry is gone, because it had to leave the disk while it was fed. */
static void settle_loose(struct spool *s, const struct spool_item *item, bool not_now)
{
	if (s->is_closed)
		return;
	s->loose_rows -= item->rows;
	if (not_now)
		s->lost[LOST_FULL] += item->rows;
}

void spool__settle(struct spool *s, const struct spool_item *item, int status)
{
	bool not_now = status == -ECANCELED || status == -EAGAIN || status == -ENOMEM;
	struct entry *e;

	/* It stays fed, and on the disk, until it is there. */
	if (status < 0 && !not_now)
		set_batch_aside(s, item->lsn);
	pthread_mutex_lock(&s->lock);
	s->fed_bytes -= item->memory;
	e = s->is_closed ? NULL : find(s, item->lsn);
	if (!e) {
		settle_loose(s, item, not_now);
	} else {
		e->state = not_now ? WAITING : SETTLED;
		unkeep(s, e);
		if (not_now && s->next > (size_t)(e - s->entries.v))
			s->next = (size_t)(e - s->entries.v);
		move_on(s);
	}
	s->is_woken = true;
	pthread_cond_broadcast(&s->changed);
	unlock(s);
}

void spool__say(struct spool *s, const char *words)
{
	pthread_mutex_lock(&s->lock);
	snprintf(s->words, sizeof(s->words), "%s", words);
	pthread_mutex_unlock(&s->lock);
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
