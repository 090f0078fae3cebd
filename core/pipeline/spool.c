/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/spool.c - batches on disk, in order, until the other side has them
 *
 * The index has an entry for each batch that is not settled, by LSN. The newest keep their batch in memory while
 * there is room, so that a spool whose other side keeps up reads nothing from the disk. Segments are forgotten from
 * the front, when all in them is settled and the position says so for good.
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
#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/batch/batch.h"
#include "core/codec/wire.h"
#include "core/disk/numbered.h"
#include "core/disk/wal.h"

#define SEGMENT_MAX_BYTES ((uint64_t)8 << 20)
#define SEGMENT_MIN_BYTES ((uint64_t)256 << 10)
/* What is appended in one go (writer.h: 16 MiB) and one that is large by itself. */
#define PENDING_MAX_BYTES ((uint64_t)FRAME_MAX_BYTES + ((uint64_t)32 << 20))
#define KEPT_BYTES	  ((uint64_t)4 << 20) /* of batches in memory that are on the disk, too */
#define MAX_BATCHES	  ((size_t)1 << 20)

#define LOCK_PATH     "lock"
#define POSITION_PATH "position"
#define ASIDE_DIR     "aside"

enum {
	FRAME_BATCH = 1,
	RECORD_HEAD_BYTES = 16, /* before the batch in a frame: i64 when, u32 rows, u32 0 */
	POSITION_BYTES = 24,
	POSITION_MAGIC = 0x504d4344, /* "DCMP" */
	POSITION_VERSION = 1,
	SEGMENT_ALIGN = 4096,
	WORDS_MAX = 256,
	READ_TRIES = 50,
};

enum state { WAITING, FED, SETTLED };
enum loss { LOST_FULL, LOST_EXPIRED, LOST_DAMAGED, N_LOSSES };

struct entry {
	uint64_t lsn;
	int64_t real_ns; /* when it was appended */
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

/* next()'s, over the segments. */
struct reading {
	uint64_t number; /* of the segment in `bytes`; 0: none */
	struct buf bytes;
	struct frames_cursor cursor;
	struct frame frame; /* the last that was met */
	bool has_frame;
	unsigned n_failures; /* of the disk, in a row */
};

struct spool {
	_Atomic uint32_t refs;
	struct vfs *vfs;
	struct spool_config config;
	struct vfs_file *lock_file, *position;
	uint64_t segment_bytes;
	struct wal *wal;
	struct begun begun;	/* append()'s */
	struct reading reading; /* next()'s */

	pthread_mutex_t lock; /* guards: */
	pthread_cond_t changed;
	VEC(struct entry) entries; /* from `head` on, by LSN */
	size_t head, next;	   /* before `next` nothing waits */
	uint64_t bytes, rows;	   /* of all entries */
	uint64_t left_bytes;	   /* of those that left since segments were removed */
	uint64_t kept_bytes, fed_bytes;
	uint64_t settled_lsn; /* all up to here are */
	uint64_t n_aside, aside_bytes;
	uint64_t lost[N_LOSSES]; /* not told yet */
	bool is_closed, is_woken, failed_to_note;
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

/*
 * Lets the lock go, and then tells what was lost under it: who counts may have a lock of its own, with which it asks
 * for a view.
 */
static void unlock(struct spool *s)
{
	uint64_t lost[N_LOSSES];

	memcpy(lost, s->lost, sizeof(lost));
	memset(s->lost, 0, sizeof(s->lost));
	pthread_mutex_unlock(&s->lock);
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

/* For the process that comes after this one, which sees it without a sync; see the head of spool.h. */
static void note_position(struct spool *s)
{
	uint8_t b[POSITION_BYTES];
	int rc;

	le__put32(b, POSITION_MAGIC);
	le__put32(b + 4, POSITION_VERSION);
	le__put64(b + 8, s->settled_lsn);
	le__put64(b + 16, hash__bytes(b, 16, 0));
	rc = vfs__write(s->position, b, sizeof(b), 0);
	if (rc && !s->failed_to_note)
		tell(s, DCM_LOG_WARNING, "cannot note what was delivered; after a restart some of it is sent once more");
	s->failed_to_note = rc != 0;
}

/*
 * Segments go once the position is safe that says that nobody misses them. What could not be removed is tried again
 * with the next.
 */
static void remove_segments(struct spool *s)
{
	struct wal_stat st;

	wal__stat(s->wal, &st);
	if (st.n_files > 1 && !s->failed_to_note && vfs__sync(s->position) == 0) {
		wal__forget(s->wal, s->settled_lsn, NULL);
		s->left_bytes = 0;
	}
}

/* What has left the index leaves the disk, too, but not with a sync for each batch. */
static void forget(struct spool *s)
{
	note_position(s);
	if (s->left_bytes >= s->segment_bytes / 2 || count(s) == 0)
		remove_segments(s);
}

/* What is settled at the front leaves. */
static void move_on(struct spool *s)
{
	uint64_t before = s->settled_lsn;

	while (count(s) > 0 && s->entries.v[s->head].state == SETTLED)
		pop_first(s);
	if (s->settled_lsn != before)
		forget(s);
}

static void drop_first(struct spool *s)
{
	const struct entry *e = &s->entries.v[s->head];

	if (e->state == WAITING)
		s->lost[LOST_FULL] += e->rows;
	pop_first(s);
}

/* The oldest leave until the rest keeps the bounds; the newest stays, whatever its size. */
static void keep_bounds(struct spool *s)
{
	bool dropped = false;

	while (count(s) > 1 && (s->bytes > s->config.max_bytes || count(s) > MAX_BATCHES)) {
		drop_first(s);
		dropped = true;
	}
	if (dropped)
		forget(s);
}

/* ---- opening ---- */

struct finding {
	struct spool *spool;
	uint64_t n_lost;
};

static int find_batch(void *ctx, const struct frame *f)
{
	struct spool *s = ((struct finding *)ctx)->spool;

	if (f->type != FRAME_BATCH || f->n < RECORD_HEAD_BYTES) {
		((struct finding *)ctx)->n_lost++;
		return 0;
	}
	struct entry e = { .lsn = f->lsn,
			   .real_ns = (int64_t)le__get64(f->payload),
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

static int read_position(struct spool *s, struct dcm_error *err)
{
	uint8_t b[POSITION_BYTES];
	struct vfs_stat st = { 0 };
	int rc = vfs__open(s->vfs, POSITION_PATH, VFS_WRITE | VFS_CREATE, &s->position);

	if (!rc)
		rc = vfs__sync_dir(s->vfs, ".");
	if (!rc)
		rc = vfs__stat(s->position, &st);
	if (!rc && st.bytes >= sizeof(b))
		rc = vfs__read(s->position, b, sizeof(b), 0);
	if (rc)
		return error__sys(err, rc, POSITION_PATH ": cannot read");
	if (st.bytes == 0)
		return 0;
	if (st.bytes < sizeof(b) || le__get32(b) != POSITION_MAGIC ||
	    le__get64(b + 16) != hash__bytes(b, 16, 0)) {
		tell(s, DCM_LOG_WARNING,
		     POSITION_PATH ": damaged; what is in the spool is sent once more");
		return 0;
	}
	if (le__get32(b + 4) != POSITION_VERSION)
		return error__set(err, -EPROTONOSUPPORT,
				  POSITION_PATH
				  ": written by a later version of Decima; run that one");
	s->settled_lsn = le__get64(b + 8);
	return 0;
}

static int count_aside(void *ctx, const char *name)
{
	struct spool *s = ctx;
	char path[64];
	uint64_t bytes;

	if (numbered__parse(name, ".batch") < 0)
		return 0;
	numbered__path(path, sizeof(path), ASIDE_DIR, (uint64_t)numbered__parse(name, ".batch"), ".batch");
	if (vfs__size(s->vfs, path, &bytes) == 0) {
		s->n_aside++;
		s->aside_bytes += bytes;
	}
	return 0;
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
		rc = vfs__mkdir(s->vfs, ASIDE_DIR);
	if (!rc)
		rc = vfs__list(s->vfs, ASIDE_DIR, count_aside, s);
	return rc ? error__sys(err, rc, "the spool's directory cannot be used%s", vfs__write_remedy(rc))
		  : 0;
}

static int take_log(struct spool *s, struct dcm_error *err)
{
	struct finding finding = { .spool = s };
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
	remove_segments(s);
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
	rc = take_directory(s, err);
	if (!rc)
		rc = read_position(s, err);
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

void spool__close(struct spool *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->is_closed = true;
	/* Nobody but append() and next() looks at these, and they are over. */
	wal__close(s->wal);
	vfs__close(s->position);
	vfs__close(s->lock_file);
	s->wal = NULL;
	s->position = s->lock_file = NULL;
	pthread_mutex_unlock(&s->lock);
	spool__unref(s);
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
	buf__fini(&s->reading.bytes);
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
	struct entry e = { .real_ns = clock__real(s->config.clock), .rows = batch__n_rows(b) };
	int rc = put_record(b, e.real_ns, &record);

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
	if (st.refusing)
		rc = wal__probe(s->wal, err);
	for (uint32_t i = (uint32_t)g->entries.n; !rc && i < n; i++)
		rc = append_one(s, batches[i], err);
	if (!rc)
		rc = wal__sync(s->wal, UINT64_MAX, err);
	return rc ? say_remedy(rc, err) : end_begun(s);
}

/* ---- reading ---- */

static void unload(struct reading *r)
{
	r->number = 0;
	r->has_frame = false;
	buf__fini(&r->bytes);
}

/* The segment into memory, from its beginning. */
static int load(struct spool *s, uint64_t number)
{
	struct reading *r = &s->reading;
	char path[WAL_PATH_BYTES];
	int rc;

	unload(r);
	rc = vfs__read_file(s->vfs, wal__path(path, number), WAL_FILE_MAX_BYTES, &r->bytes);
	r->cursor = (struct frames_cursor){ .p = r->bytes.data, .n = r->bytes.n };
	if (!rc)
		rc = frames__get_head(r->cursor.p, r->cursor.n, &r->cursor.head);
	if (rc)
		buf__fini(&r->bytes);
	else
		r->number = number;
	return rc;
}

/* From where it stands in the segment that is loaded. */
static bool read_on(struct reading *r, uint64_t lsn)
{
	while (r->number && (!r->has_frame || r->frame.lsn < lsn)) {
		r->has_frame = frames__next(&r->cursor, &r->frame);
		if (!r->has_frame)
			break;
	}
	return r->has_frame && r->frame.lsn == lsn;
}

/* The frame into reading.frame. -ENOENT: no segment has it. */
static int read_frame(struct spool *s, uint64_t lsn)
{
	wal_extents extents = { 0 };
	int rc;

	if (read_on(&s->reading, lsn))
		return 0;
	/* Held, so that what is listed is not removed before it was looked at. */
	rc = wal__hold(s->wal, &extents);
	if (rc)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; i < extents.n && rc == -ENOENT; i++) {
		int e = load(s, extents.v[i].number);

		if (e == 0 && read_on(&s->reading, lsn))
			rc = 0;
		else if (e < 0 && e != -EUCLEAN)
			rc = e;
	}
	wal__release(s->wal);
	vec__fini(&extents);
	return rc;
}

/*
 * The batch of one that is on the disk only. -EBADMSG: nobody can read it any more, or the disk has failed to give it
 * READ_TRIES times. Another errno: later.
 */
static int read_batch(struct spool *s, uint64_t lsn, struct dcm_batch **ret)
{
	struct reading *r = &s->reading;
	const struct frame *f = &r->frame;
	int rc = read_frame(s, lsn);

	if (!rc) {
		rc = wire__decode(f->payload + RECORD_HEAD_BYTES, f->n - RECORD_HEAD_BYTES, ret, NULL);
		r->n_failures = 0;
		return rc == 0 || rc == -ENOMEM ? rc : -EBADMSG;
	}
	if (rc != -ENOENT && (rc == -ENOMEM || ++r->n_failures < READ_TRIES))
		return rc;
	r->n_failures = 0;
	return -EBADMSG;
}

/* With the lock: those that wait and are too old leave; before them may be some that are fed. */
static void expire(struct spool *s)
{
	int64_t limit = clock__real(s->config.clock) - s->config.max_age_ns;
	bool expired = false;

	for (; s->next < s->entries.n && s->entries.v[s->next].real_ns < limit; s->next++) {
		struct entry *e = &s->entries.v[s->next];

		if (e->state != WAITING)
			continue;
		s->lost[LOST_EXPIRED] += e->rows;
		e->state = SETTLED;
		unkeep(s, e);
		expired = true;
	}
	if (expired)
		move_on(s);
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
	char text[128];

	snprintf(text, sizeof(text), "a batch of %llu rows cannot be read back: look at the disk",
		 (unsigned long long)e->rows);
	tell(s, DCM_LOG_ERROR, text);
	s->lost[LOST_DAMAGED] += e->rows;
	e->state = SETTLED;
	move_on(s);
}

/* One from the disk, without the lock meanwhile; then its entry, which may have been dropped. */
static int fetch(struct spool *s, uint64_t lsn, struct spool_item *ret)
{
	struct dcm_batch *batch = NULL;
	struct entry *e;
	int rc = read_batch(s, lsn, &batch);

	pthread_mutex_lock(&s->lock);
	e = find(s, lsn);
	if (!e || e->state != WAITING) {
		batch__unref(batch);
		rc = -EALREADY;
	} else if (rc == -EBADMSG) {
		lose_damaged(s, e);
	} else if (rc == 0) {
		e->batch = batch;
		s->kept_bytes += batch->bytes;
		ret->was_read = true;
		feed(s, e, ret);
	}
	unlock(s);
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

static int write_aside(struct spool *s, const char *path, const void *p, size_t n)
{
	CLEANUP(vfs__closep) struct vfs_file *f = NULL;
	int rc = vfs__open(s->vfs, path, VFS_WRITE | VFS_CREATE, &f);

	if (!rc)
		rc = vfs__write(f, p, n, 0);
	if (!rc)
		rc = vfs__sync(f);
	if (rc)
		vfs__unlink(s->vfs, path);
	return rc;
}

/* The batch as `decima convert` reads it, and beside it why it is there. With the lock. */
static void set_aside(struct spool *s, const struct entry *e)
{
	struct buf record = { .limit = FRAME_MAX_BYTES };
	char path[64], why[64], text[256];
	int rc = wire__encode(e->batch, &record);

	if (!rc && s->aside_bytes + record.n > s->config.aside_bytes)
		rc = -EDQUOT;
	numbered__path(path, sizeof(path), ASIDE_DIR, e->lsn, ".batch");
	numbered__path(why, sizeof(why), ASIDE_DIR, e->lsn, ".txt");
	if (!rc)
		rc = write_aside(s, path, record.data, record.n);
	if (!rc)
		rc = write_aside(s, why, s->words, strlen(s->words));
	if (!rc) {
		s->n_aside++;
		s->aside_bytes += record.n;
		snprintf(text, sizeof(text), "a batch was refused and is set aside: %s: %.150s",
			 path, s->words);
	} else {
		snprintf(text, sizeof(text), "a batch was refused, and %s: %.150s",
			 rc == -EDQUOT ? "there is no room to set it aside" : "cannot be set aside",
			 s->words);
	}
	tell(s, DCM_LOG_WARNING, text);
	buf__fini(&record);
}

void spool__settle(struct spool *s, const struct spool_item *item, int status)
{
	bool not_now = status == -ECANCELED || status == -EAGAIN || status == -ENOMEM;
	struct entry *e;

	pthread_mutex_lock(&s->lock);
	s->fed_bytes -= item->memory;
	e = s->is_closed ? NULL : find(s, item->lsn);
	if (!e) {
		/* It had to leave the disk while it was fed, and is in no memory now. */
		if (not_now && !s->is_closed)
			s->lost[LOST_FULL] += item->rows;
	} else {
		if (status < 0 && !not_now)
			set_aside(s, e);
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
				    .n_aside = s->n_aside,
				    .aside_bytes = s->aside_bytes };
	if (count(s) > 0)
		ret->oldest_real_ns = s->entries.v[s->head].real_ns;
	pthread_mutex_unlock(&s->lock);
}
