/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/wal.c - the write-ahead log
 *
 * Two buffers: `pending` takes frames under the lock; the leader swaps it with `flying`, which is
 * its own while it is the leader, and stays full when the disk refuses it. So a group exists in
 * memory until it is durable, and the order of LSNs on the disk is the order of appending.
 *
 * `tried_lsn` is the last LSN of which a segment that still exists may have a copy. A new segment's
 * head says so (tail_lsn): what older segments have beyond counts for nothing. A segment that
 * failed and could be removed is as if it had never been, so tried_lsn goes back.
 *
 * Segments are numbered upwards and made with O_EXCL: a number is used once.
 *
 * A group goes to room that was written before, with zeroes, and synced, and that is done a stretch
 * at a time. Room that was allocated only is noted as used when its first write is over, by a
 * transaction of the file system of its own: when ext4's journal is aborted in between (fs/ext4/page-io.c,
 * ext4_end_io_end()), fdatasync() says 0 and the room reads as zeroes for ever after. So that befalls
 * our zeroes, and the write of the group is the first to be refused. A sync that has nothing to note is
 * also cheaper.
 */
#include "core/disk/wal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"

/* How far ahead of the groups room is written; at most a quarter of a segment. */
#define ZEROED_BYTES ((uint64_t)1 << 20)

/* A segment that nobody writes any more. */
struct closed {
	uint64_t number;
	uint64_t last_lsn; /* frames up to here at most */
	uint64_t bytes;	   /* as of struct wal_extent */
};

struct wal {
	struct vfs *vfs;
	struct wal_options options;

	pthread_mutex_t lock;
	pthread_cond_t settled; /* there is no leader any more */
	bool leading;
	bool cut; /* the next group begins a segment */
	struct buf pending;
	uint64_t last_lsn, synced_lsn;
	uint64_t proven_lsn;  /* the last frame that this process knows to be durable; 0: none */
	uint64_t proven_file; /* its segment */
	uint64_t proven_first; /* one of those that only this segment has; what is before may be elsewhere */
	uint64_t noted_lsn; /* the manifest's */
	uint64_t cut_lsn;   /* what is up to here may be sealed before what is beyond */
	uint64_t n_groups, n_failures;
	uint32_t n_files, n_held; /* as of wal_stat */
	uint32_t n_holds;
	int refusing;
	struct dcm_error why;

	/* The leader's. */
	struct buf flying;
	uint64_t flying_lsn; /* the last one in it; or, of a replay, behind it, which does not exist */
	uint64_t flying_frame; /* the last one in it */
	struct vfs_file *file; /* NULL: the next group makes one */
	struct frames_head head;
	uint64_t end, file_bytes; /* where the next group goes; how much was allocated */
	uint64_t zeroed;	  /* up to here it was written, and synced */
	uint64_t next_number, tried_lsn;
	uint64_t first_new_lsn; /* LSNs between what was replayed and this one do not exist */
	VEC(struct closed) closed;
};

/* ---- one segment, by the leader ---- */

/* Parts from the segment: what is in it stays for replay. closed has room for it. */
static void retire_file(struct wal *w, uint64_t last_lsn)
{
	if (!w->file)
		return;
	vfs__close(w->file);
	w->file = NULL;
	w->closed.v[w->closed.n++] = (struct closed){ w->head.number, last_lsn, w->end };
}

/*
 * Removes a segment that failed before anything in it was acknowledged; one that stays is parted
 * from.
 */
static void drop_file(struct wal *w, uint64_t tried_before)
{
	char path[WAL_PATH_BYTES];

	vfs__close(w->file);
	w->file = NULL;
	if (vfs__unlink(w->vfs, wal__path(path, w->head.number)) == 0)
		w->tried_lsn = tried_before;
	else
		w->closed.v[w->closed.n++] = (struct closed){ w->head.number, w->flying_lsn, w->end };
}

/*
 * Makes the next segment, with room for the group and its head written. On failure there may be a
 * file to drop.
 */
static int begin_file(struct wal *w, uint64_t synced_lsn, struct dcm_error *err)
{
	uint64_t tail = w->tried_lsn;
	uint8_t bytes[FRAMES_HEAD_BYTES];
	char path[WAL_PATH_BYTES];
	uint64_t salt;
	int rc = w->vfs->ops->random(w->vfs, &salt);

	if (rc)
		return error__sys(err, rc, "the system has no random number");
	w->head = (struct frames_head){
		.kind = WAL_KIND,
		.align = w->options.align,
		.number = w->next_number++,
		.salt = salt,
		.synced_lsn = synced_lsn < tail ? synced_lsn : tail,
		.tail_lsn = tail,
		.next_lsn = tail + 1 > w->first_new_lsn ? tail + 1 : w->first_new_lsn,
	};
	w->end = w->zeroed = frames__begin(&w->head);
	w->file_bytes = w->options.segment_bytes;
	if (w->file_bytes < w->end + w->flying.n)
		w->file_bytes = w->end + w->flying.n;
	wal__path(path, w->head.number);
	rc = vfs__open(w->vfs, path, VFS_WRITE | VFS_CREATE | VFS_NEW, &w->file);
	if (rc)
		return error__sys(err, rc, "%s: cannot make", path);
	rc = vfs__allocate(w->file, w->file_bytes);
	if (rc && rc != -EOPNOTSUPP)
		return error__sys(err, rc, "%s: cannot allocate %" PRIu64 " bytes", path, w->file_bytes);
	frames__put_head(bytes, &w->head);
	rc = vfs__write(w->file, bytes, sizeof(bytes), 0);
	return rc ? error__sys(err, rc, "%s: cannot write", path) : 0;
}

/* Writes the room for the group, and some beyond it, up to where a group may begin: see `align`. */
static int zero_room(struct wal *w, const char *path, struct dcm_error *err)
{
	static const uint8_t zeroes[1 << 16];
	uint64_t align = w->head.align, quarter = w->options.segment_bytes / 4;
	uint64_t to = w->end + w->flying.n + (quarter < ZEROED_BYTES ? quarter : ZEROED_BYTES);
	int rc = 0;

	to = (to + align - 1) & ~(align - 1);
	if (w->end + w->flying.n <= w->zeroed)
		return 0;
	if (to > w->file_bytes)
		to = w->file_bytes;
	for (uint64_t at = w->zeroed; !rc && at < to; at += sizeof(zeroes))
		rc = vfs__write(w->file, zeroes, to - at < sizeof(zeroes) ? to - at : sizeof(zeroes), at);
	if (rc)
		return error__sys(err, rc, "%s: cannot write", path);
	rc = vfs__sync(w->file);
	if (rc)
		return error__sys(err, rc, "%s: cannot sync", path);
	w->zeroed = to;
	return 0;
}

/* The group, to the end of the segment, synced. */
static int write_group(struct wal *w, uint64_t synced_lsn, struct dcm_error *err)
{
	uint64_t align = w->head.align;
	char path[WAL_PATH_BYTES];
	struct vfs_stat st;
	int rc;

	wal__path(path, w->head.number);
	rc = zero_room(w, path, err);
	if (rc)
		return rc;
	if (w->flying_lsn > w->tried_lsn)
		w->tried_lsn = w->flying_lsn;
	frames__seal(&w->flying, &w->head, synced_lsn);
	rc = vfs__write(w->file, w->flying.data, w->flying.n, w->end);
	if (rc)
		return error__sys(err, rc, "%s: cannot write", path);
	rc = vfs__sync(w->file);
	if (rc)
		return error__sys(err, rc, "%s: cannot sync", path);
	rc = vfs__stat(w->file, &st);
	if (rc)
		return error__sys(err, rc, "%s: cannot look at it", path);
	if (st.n_links == 0)
		return error__set(err, -ENOENT,
				  "%s: somebody removed it; bring the directory back, or restart "
				  "with an empty one",
				  path);
	w->end = (w->end + w->flying.n + align - 1) & ~(align - 1);
	return 0;
}

static void tell(const struct wal *w, enum dcm_log_level level, const char *text)
{
	if (w->options.report)
		w->options.report(w->options.report_ctx, level, text);
}

/*
 * The group to this segment or, when there is none, it is full or it fails, to a new one. 0: it is
 * durable.
 */
static int fly(struct wal *w, uint64_t synced_lsn, bool cut, uint64_t *n_failures, struct dcm_error *err)
{
	uint64_t before = w->tried_lsn;
	struct dcm_error first = DCM_ERROR_INIT;
	int rc;

	/*
	 * One for the segment that is left, one for a new one that can be neither used nor removed.
	 */
	if (!vec__reserve(&w->closed, 2))
		return error__nomem(err);
	if (w->file && !cut && w->flying.n && w->end <= w->file_bytes &&
	    w->flying.n <= w->file_bytes - w->end) {
		rc = write_group(w, synced_lsn, &first);
		if (!rc)
			return 0;
		++*n_failures;
		before = w->tried_lsn;
		error__prefix(&first, "goes on in a new segment");
		tell(w, DCM_LOG_WARNING, first.text);
	}
	retire_file(w, before);
	rc = begin_file(w, synced_lsn, err);
	if (!rc)
		rc = write_group(w, synced_lsn, err);
	if (!rc) {
		rc = vfs__sync_dir(w->vfs, WAL_DIR);
		if (rc)
			error__sys(err, rc, WAL_DIR ": cannot sync this directory");
	}
	if (rc) {
		++*n_failures;
		if (w->file)
			drop_file(w, before);
	}
	return rc;
}

/* ---- leader and follower ---- */

/*
 * With the lock: a segment's frames from `first` to `last` are durable. Copies in it prove nothing
 * of what follows them: the segment that they are copies from has them as well.
 */
static void prove(struct wal *w, const struct frames_head *head, uint64_t first, uint64_t last)
{
	if (head->number != w->proven_file || (w->proven_lsn < head->next_lsn && last >= head->next_lsn))
		w->proven_first = first;
	w->proven_file = head->number;
	w->proven_lsn = last;
}

/* Were the last segment removed, would nobody miss it? */
static bool is_unnoted(const struct wal *w)
{
	return w->noted_lsn < w->proven_first ||
	       (w->noted_lsn <= w->cut_lsn && w->noted_lsn < w->proven_lsn);
}

/*
 * Called with the lock and without a leader; returns with the lock. Writes what waits, or what the
 * disk refused before. Sets `refusing` by what came of it.
 */
static int lead(struct wal *w)
{
	struct dcm_error err = DCM_ERROR_INIT;
	uint64_t synced_lsn = w->synced_lsn, n_failures = 0;
	bool cut = w->cut;
	uint32_t n_files;
	int rc;

	w->leading = true;
	w->cut = false;
	if (w->flying.n == 0) {
		struct buf empty = w->flying;

		w->flying = w->pending;
		w->pending = empty;
		w->flying_lsn = w->flying_frame = w->last_lsn;
	}
	pthread_mutex_unlock(&w->lock);
	rc = fly(w, synced_lsn, cut, &n_failures, &err);
	n_files = (uint32_t)w->closed.n + (w->file != NULL);
	pthread_mutex_lock(&w->lock);
	w->leading = false;
	w->n_failures += n_failures;
	w->n_files = n_files;
	w->refusing = rc;
	if (rc) {
		w->why = err;
	} else {
		if (w->flying.n)
			prove(w, &w->head, w->flying_frame, w->flying_frame);
		buf__reset(&w->flying);
		w->synced_lsn = w->flying_lsn;
		w->n_groups++;
	}
	pthread_cond_broadcast(&w->settled);
	return rc;
}

/* With the lock: until nobody leads. */
static void settle(struct wal *w)
{
	while (w->leading)
		pthread_cond_wait(&w->settled, &w->lock);
}

static int refuse(const struct wal *w, struct dcm_error *err)
{
	return error__set(err, w->refusing, "%s", w->why.text);
}

int wal__append(struct wal *w, uint16_t type, const void *payload, size_t n, uint64_t *ret_lsn,
		struct dcm_error *err)
{
	int rc = 0;

	if (n == 0 || n > FRAME_MAX_BYTES)
		return error__set(err, -EINVAL, "a frame of %zu bytes: 1 to %d are possible", n,
				  FRAME_MAX_BYTES);
	pthread_mutex_lock(&w->lock);
	if (w->refusing) {
		rc = refuse(w, err);
	} else if (w->pending.n &&
		   w->pending.n + frames__size((uint32_t)n) > w->options.pending_max_bytes) {
		rc = error__set(err, -EAGAIN, "%zu bytes wait for the disk already", w->pending.n);
	} else if (w->last_lsn + 1 >= FRAMES_LSN_LIMIT) {
		rc = error__set(err, -EOVERFLOW,
				WAL_DIR
				": its frames have impossible numbers; move its files away");
	} else {
		frames__put(&w->pending, w->last_lsn + 1, type, payload, (uint32_t)n);
		rc = w->pending.error;
		w->pending.error = 0;
		if (rc)
			error__nomem(err);
		else
			*ret_lsn = ++w->last_lsn;
	}
	pthread_mutex_unlock(&w->lock);
	return rc;
}

int wal__sync(struct wal *w, uint64_t lsn, struct dcm_error *err)
{
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	if (lsn > w->last_lsn)
		lsn = w->last_lsn;
	while (!rc && w->synced_lsn < lsn) {
		if (w->leading)
			pthread_cond_wait(&w->settled, &w->lock);
		else if (w->refusing || lead(w))
			rc = refuse(w, err);
	}
	pthread_mutex_unlock(&w->lock);
	return rc;
}

int wal__probe(struct wal *w, struct dcm_error *err)
{
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	settle(w);
	/* What arrived while the refused group was in flight comes as a second one. */
	while (!rc && (w->refusing || w->synced_lsn < w->last_lsn)) {
		if (lead(w))
			rc = refuse(w, err);
		settle(w);
	}
	pthread_mutex_unlock(&w->lock);
	return rc;
}

uint64_t wal__cut(struct wal *w)
{
	uint64_t lsn;

	pthread_mutex_lock(&w->lock);
	w->cut = true;
	w->cut_lsn = lsn = w->last_lsn;
	pthread_mutex_unlock(&w->lock);
	return lsn;
}

void wal__noted(struct wal *w, uint64_t lsn)
{
	pthread_mutex_lock(&w->lock);
	w->noted_lsn = lsn;
	pthread_mutex_unlock(&w->lock);
}

/* Removes the segments that nobody needs, as the leader. */
static int remove_closed(struct wal *w, uint64_t sealed_lsn, struct dcm_error *err)
{
	char path[WAL_PATH_BYTES];
	size_t kept = 0;
	int first = 0;

	for (size_t i = 0; i < w->closed.n; i++) {
		int rc = -EBUSY;

		if (w->closed.v[i].last_lsn <= sealed_lsn) {
			rc = vfs__unlink(w->vfs, wal__path(path, w->closed.v[i].number));
			if (rc == -ENOENT)
				rc = 0;
			if (rc && !first)
				first = error__sys(err, rc, "%s: cannot remove", path);
		}
		if (rc)
			w->closed.v[kept++] = w->closed.v[i];
	}
	w->closed.n = kept;
	return first;
}

/* How many segments only a hold keeps, for the leader. */
static uint32_t count_held(const struct wal *w, uint64_t sealed_lsn)
{
	uint32_t n = 0;

	for (size_t i = 0; i < w->closed.n; i++)
		n += w->closed.v[i].last_lsn <= sealed_lsn;
	return n;
}

int wal__forget(struct wal *w, uint64_t sealed_lsn, struct dcm_error *err)
{
	uint32_t n_files, n_held;
	int rc = 0;

	pthread_mutex_lock(&w->lock);
	settle(w);
	w->leading = true;
	if (sealed_lsn >= w->last_lsn) {
		buf__reset(&w->pending);
		buf__reset(&w->flying);
		w->synced_lsn = w->last_lsn;
	}
	if (sealed_lsn > w->cut_lsn)
		w->cut_lsn = sealed_lsn;
	bool cut = w->cut && w->tried_lsn <= sealed_lsn, held = w->n_holds > 0;
	pthread_mutex_unlock(&w->lock);

	if (cut && w->file && vec__reserve(&w->closed, 1))
		retire_file(w, w->tried_lsn);
	if (!held)
		rc = remove_closed(w, sealed_lsn, err);
	n_files = (uint32_t)w->closed.n + (w->file != NULL);
	n_held = held ? count_held(w, sealed_lsn) : 0;

	pthread_mutex_lock(&w->lock);
	w->n_files = n_files;
	w->n_held = n_held;
	w->leading = false;
	pthread_cond_broadcast(&w->settled);
	pthread_mutex_unlock(&w->lock);
	return rc;
}

int wal__hold(struct wal *w, wal_extents *ret)
{
	pthread_mutex_lock(&w->lock);
	settle(w);
	bool ok = vec__reserve(ret, w->closed.n + 1);
	for (size_t i = 0; ok && i < w->closed.n; i++)
		ret->v[ret->n++] = (struct wal_extent){ .number = w->closed.v[i].number,
							.bytes = w->closed.v[i].bytes };
	if (ok && w->file)
		ret->v[ret->n++] = (struct wal_extent){ .number = w->head.number, .bytes = w->end };
	w->n_holds += ok;
	pthread_mutex_unlock(&w->lock);
	return ok ? 0 : -ENOMEM;
}

void wal__release(struct wal *w)
{
	pthread_mutex_lock(&w->lock);
	w->n_holds--;
	pthread_mutex_unlock(&w->lock);
}

void wal__stat(struct wal *w, struct wal_stat *ret)
{
	pthread_mutex_lock(&w->lock);
	*ret = (struct wal_stat){
		.last_lsn = w->last_lsn,
		.synced_lsn = w->synced_lsn,
		.proven_lsn = w->proven_lsn,
		.unnoted = is_unnoted(w),
		.pending_bytes = w->pending.n + (w->leading ? 0 : w->flying.n),
		.n_groups = w->n_groups,
		.n_failures = w->n_failures,
		.n_files = w->n_files,
		.n_held = w->n_held,
		.refusing = w->refusing,
	};
	pthread_mutex_unlock(&w->lock);
}

/* ---- open and close ---- */

struct taking {
	struct wal *w;
	uint64_t durable_lsn;
	uint64_t last_lsn; /* of a frame that was handed over; 0: none was */
	replay_fn each;
	void *ctx;
};

/* A replayed frame to its owner and, when nobody can vouch for its sync, to the first group. */
static int take(void *ctx, const struct frame *f)
{
	struct taking *t = ctx;
	int rc = t->each(t->ctx, f);

	t->last_lsn = f->lsn;
	if (rc || f->lsn <= t->durable_lsn)
		return rc;
	frames__put(&t->w->flying, f->lsn, f->type, f->payload, f->n);
	return t->w->flying.error;
}

static void take_lost(void *ctx, uint64_t n_lost)
{
	const struct taking *t = ctx;

	t->w->options.lost(t->ctx, n_lost);
}

/* Gives back the room behind an older segment's frames, if the file system likes. */
static void trim(struct wal *w, const struct replay_file *file)
{
	CLEANUP(vfs__closep) struct vfs_file *f = NULL;
	char path[WAL_PATH_BYTES];

	if (file->readable && file->bytes > file->end &&
	    vfs__open(w->vfs, wal__path(path, file->number), VFS_WRITE, &f) == 0)
		vfs__truncate(f, file->end);
}

/*
 * Writes what nobody can vouch for to a segment of this process's own. Segments that have nothing
 * else then go, unless their head tells of LSNs that do not exist or keeps older frames given up;
 * so a process that dies at each start does not fill the disk.
 */
static void vouch(struct wal *w, const struct replay *r, uint64_t durable_lsn)
{
	size_t kept = 0, n = w->closed.n;

	pthread_mutex_lock(&w->lock);
	if (w->flying.n && lead(w) == 0) {
		for (size_t i = 0; i < n; i++) {
			const struct replay_file *file = &r->files.v[i];
			char path[WAL_PATH_BYTES];

			if (!file->readable || !file->first_lsn || file->first_lsn <= durable_lsn ||
			    file->head.next_lsn != file->head.tail_lsn + 1 || file->gives_up ||
			    vfs__unlink(w->vfs, wal__path(path, file->number)) != 0)
				w->closed.v[kept++] = w->closed.v[i];
		}
		w->closed.n = kept;
	}
	w->n_files = (uint32_t)w->closed.n + (w->file != NULL);
	pthread_mutex_unlock(&w->lock);
}

/* All that was handed over, to this frame, is durable where it is. */
static void prove_replayed(struct wal *w, const struct replay *r, uint64_t last_lsn)
{
	for (size_t i = 0; i < r->files.n; i++) {
		const struct replay_file *f = &r->files.v[i];
		const bool has_own = f->last_lsn >= f->head.next_lsn;

		if (f->first_lsn)
			prove(w, &f->head, has_own ? f->head.next_lsn : f->first_lsn, last_lsn);
	}
}

static int replay(struct wal *w, uint64_t sealed_lsn, replay_fn each, void *ctx,
		  struct wal_found *found, struct dcm_error *err)
{
	struct replay r = { .noted_lsn = w->options.noted_lsn,
			    .lost = w->options.lost ? take_lost : NULL };
	struct taking t = { .w = w, .each = each, .ctx = ctx };
	int rc = replay__scan(&r, w->vfs, err);

	t.durable_lsn = r.durable_lsn;
	if (!rc)
		rc = replay__each(&r, w->vfs, sealed_lsn, take, &t, w->options.report,
				  w->options.report_ctx, err);
	if (r.max_lsn < w->options.used_lsn)
		r.max_lsn = w->options.used_lsn;
	if (!rc && r.max_lsn >= FRAMES_LSN_LIMIT)
		rc = error__set(err, -EUCLEAN,
				WAL_DIR
				": its frames have impossible numbers; move its files away");
	if (!rc && r.files.n && !vec__reserve(&w->closed, r.files.n))
		rc = error__nomem(err);
	if (rc) {
		replay__fini(&r);
		return rc;
	}
	for (size_t i = 0; i < r.files.n; i++) {
		const struct replay_file *file = &r.files.v[i];
		/* One that cannot be read goes with those around it. */
		uint64_t last = file->readable ? file->last_lsn : r.tail_lsn;

		w->closed.v[w->closed.n++] = (struct closed){ file->number, last,
							      replay_file__extent(file) };
		if (w->next_number <= file->number)
			w->next_number = file->number + 1;
		trim(w, file);
	}
	w->tried_lsn = r.tail_lsn;
	/*
	 * LSNs between the last frame and the largest number seen do not exist, so they are as
	 * durable as it.
	 */
	w->last_lsn = w->flying_lsn = r.max_lsn;
	w->flying_frame = t.last_lsn;
	w->first_new_lsn = r.max_lsn + 1;
	w->noted_lsn = r.noted_lsn;
	w->cut_lsn = sealed_lsn;
	if (t.last_lsn && !w->flying.n)
		prove_replayed(w, &r, t.last_lsn);
	w->synced_lsn = w->flying.n ? t.durable_lsn : r.max_lsn;
	vouch(w, &r, t.durable_lsn);
	if (w->refusing)
		tell(w, DCM_LOG_ERROR, w->why.text);
	*found = (struct wal_found){
		.n_frames = r.n_frames,
		.n_lost = r.n_lost,
		.n_bad_bytes = r.n_bad_bytes,
		.n_files = (uint32_t)r.files.n,
		.n_bad_files = r.n_bad_files,
	};
	replay__fini(&r);
	return 0;
}

int wal__open(struct vfs *v, const struct wal_options *options, uint64_t sealed_lsn, replay_fn each,
	      void *ctx, struct wal_found *ret_found, struct wal **ret, struct dcm_error *err)
{
	struct wal *w = NEW(struct wal);
	int rc;

	if (!w)
		return error__nomem(err);
	assert(options->align >= FRAME_ALIGN && options->align <= FRAMES_ALIGN_MAX);
	w->vfs = v;
	w->options = *options;
	w->why.size = sizeof(w->why);
	w->next_number = options->first_number;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->settled, NULL);
	rc = replay(w, sealed_lsn, each, ctx, ret_found, err);
	if (rc) {
		wal__close(w);
		return rc;
	}
	*ret = w;
	return 0;
}

void wal__close(struct wal *w)
{
	if (!w)
		return;
	vfs__close(w->file);
	buf__fini(&w->pending);
	buf__fini(&w->flying);
	vec__fini(&w->closed);
	pthread_cond_destroy(&w->settled);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
