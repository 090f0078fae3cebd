/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/replay.c - reads segments, sorts out which of their frames count, hands
 * them over
 *
 * One segment is in memory at a time. Frames are found while scanning and read again when they are
 * handed over, almost always from the segment that is loaded; what a second reading yields is
 * checked again, since a disk may answer differently.
 */
#include "core/disk/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/disk/numbered.h"

#define SUFFIX ".wal"

const char *wal__path(char to[static WAL_PATH_BYTES], uint64_t number)
{
	return numbered__path(to, WAL_PATH_BYTES, WAL_DIR, number, SUFFIX);
}

static int note_file(void *ctx, const char *name)
{
	struct replay *r = ctx;
	int64_t number = numbered__parse(name, SUFFIX);

	if (number < 0)
		return 0;
	return vec__push(&r->files, (struct replay_file){ .number = (uint64_t)number }) ? 0 : -ENOMEM;
}

struct opening {
	struct vfs *vfs;
	wal_extents *ret;
};

static int open_segment(void *ctx, const char *name)
{
	const struct opening *g = ctx;
	struct wal_extent e = { .bytes = 0 };
	int64_t number = numbered__parse(name, SUFFIX);
	char path[WAL_PATH_BYTES];

	if (number < 0)
		return 0;
	if (!vec__reserve(g->ret, 1))
		return -ENOMEM;
	e.number = (uint64_t)number;
	int rc = vfs__open(g->vfs, wal__path(path, e.number), VFS_READ, &e.file);
	if (!rc)
		g->ret->v[g->ret->n++] = e;
	return rc == -ENOENT ? -ESTALE : rc;
}

int wal_extents__open(struct vfs *v, wal_extents *ret, struct dcm_error *err)
{
	int rc = vfs__list(v, WAL_DIR, open_segment, &(struct opening){ v, ret });

	return rc ? error__sys(err, rc, WAL_DIR ": cannot open its files") : 0;
}

void wal_extents__fini(wal_extents *e)
{
	for (size_t i = 0; i < e->n; i++)
		vfs__close(e->v[i].file);
	vec__fini(e);
}

static int by_number(const void *a, const void *b)
{
	const struct replay_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int by_lsn(const void *a, const void *b)
{
	const struct replay_frame *x = a, *y = b;

	if (x->lsn != y->lsn)
		return x->lsn > y->lsn ? 1 : -1;
	return (x->file < y->file) - (x->file > y->file);
}

/* Brings a segment into memory, as far as it was written. */
static int load(struct replay *r, struct vfs *v, uint32_t i, struct dcm_error *err)
{
	struct replay_file *file = &r->files.v[i];
	char path[WAL_PATH_BYTES];
	int rc;

	if (r->loaded == i + 1)
		return 0;
	r->loaded = 0;
	buf__reset(&r->bytes);
	wal__path(path, file->number);
	rc = file->whole ? vfs__read_file(v, path, WAL_FILE_MAX_BYTES, &r->bytes)
			 : vfs__read_written(v, path, WAL_FILE_MAX_BYTES, &r->bytes, &file->bytes);
	if (rc == -ENOENT)
		return error__set(err, -ESTALE, "%s: went away while it was read", path);
	if (rc)
		return error__sys(err, rc,
				  "%s: cannot read; repair the disk, or move this file away and "
				  "lose what it holds",
				  path);
	r->loaded = i + 1;
	return 0;
}

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/*
 * Reads a segment's head, and notes its frames that count as far as that depends on this segment
 * alone. *ret_bad: bytes that are no frame's.
 */
static int scan_loaded(struct replay *r, uint32_t i, size_t *ret_bad, struct dcm_error *err)
{
	struct replay_file *file = &r->files.v[i];
	struct frame f;
	int rc = frames__get_head(r->bytes.data ? r->bytes.data : (const uint8_t *)"", r->bytes.n,
				  &file->head);

	*ret_bad = 0;
	if (rc == -EPROTONOSUPPORT)
		return error__set(
			err, rc,
			WAL_DIR "/%020" PRIu64
				".wal: written by a later version of Decima; open it with that one",
			file->number);
	file->readable = !rc && file->head.kind == WAL_KIND && file->head.number == file->number;
	if (!file->readable)
		return 0;
	r->durable_lsn = max64(r->durable_lsn, file->head.synced_lsn);
	r->max_lsn = max64(r->max_lsn, file->head.next_lsn - 1);

	struct frames_cursor c = { .p = r->bytes.data, .n = r->bytes.n, .head = file->head };
	while (frames__next(&c, &f)) {
		r->durable_lsn = max64(r->durable_lsn, f.synced_lsn);
		r->max_lsn = max64(r->max_lsn, f.lsn);
		if (f.lsn <= file->head.synced_lsn ||
		    (f.lsn > file->head.tail_lsn && f.lsn < file->head.next_lsn))
			continue;
		if (!vec__push(&r->frames, (struct replay_frame){ f.lsn, f.at, i, f.n }))
			return error__nomem(err);
	}
	file->end = c.end;
	*ret_bad = c.n_bad_bytes;
	return 0;
}

/*
 * What is no frame may be one that ends in zeroes, of which some file systems keep none: then those
 * are read too.
 */
static int scan_file(struct replay *r, struct vfs *v, uint32_t i, struct dcm_error *err)
{
	struct replay_file *file = &r->files.v[i];
	const size_t n_frames = r->frames.n;
	size_t n_bad = 0;
	int rc = load(r, v, i, err);

	if (!rc)
		rc = scan_loaded(r, i, &n_bad, err);
	if (!rc && (n_bad || !file->readable) && r->bytes.n < file->bytes) {
		file->whole = true;
		r->loaded = 0;
		r->frames.n = n_frames;
		rc = load(r, v, i, err);
		rc = rc ? rc : scan_loaded(r, i, &n_bad, err);
	}
	if (rc)
		return rc;
	r->n_bad_files += !file->readable;
	r->n_bad_bytes += n_bad;
	return 0;
}

/* Drops what later segments gave up, and notes which LSNs each segment has. */
static void drop_given_up(struct replay *r)
{
	uint64_t bound = UINT64_MAX;
	uint32_t by = 0;
	size_t kept = 0;

	/*
	 * From the last segment to the first one, `tail_lsn` of a head becomes the bound of those
	 * before.
	 */
	for (uint32_t i = (uint32_t)r->files.n; i-- > 0;) {
		struct replay_file *file = &r->files.v[i];

		file->bound_lsn = bound;
		file->bound_by = by;
		if (file->readable && file->head.tail_lsn < bound) {
			bound = file->head.tail_lsn;
			by = i;
		}
	}
	for (size_t i = 0; i < r->frames.n; i++) {
		const struct replay_file *file = &r->files.v[r->frames.v[i].file];

		if (r->frames.v[i].lsn <= file->bound_lsn)
			r->frames.v[kept++] = r->frames.v[i];
		else
			r->files.v[file->bound_by].gives_up = true;
	}
	r->frames.n = kept;
	for (size_t i = 0; i < r->frames.n; i++) {
		struct replay_file *file = &r->files.v[r->frames.v[i].file];
		uint64_t lsn = r->frames.v[i].lsn;

		if (!file->first_lsn || lsn < file->first_lsn)
			file->first_lsn = lsn;
		file->last_lsn = max64(file->last_lsn, lsn);
	}
}

int replay__scan(struct replay *r, struct vfs *v, struct dcm_error *err)
{
	int rc = vfs__list(v, WAL_DIR, note_file, r);

	if (rc)
		return error__sys(err, rc, WAL_DIR ": cannot list");
	r->durable_lsn = r->max_lsn = r->noted_lsn;
	if (r->files.n)
		qsort(r->files.v, r->files.n, sizeof(r->files.v[0]), by_number);
	for (uint32_t i = 0; !rc && i < r->files.n; i++)
		rc = scan_file(r, v, i, err);
	if (rc)
		return rc;
	drop_given_up(r);
	if (r->frames.n)
		qsort(r->frames.v, r->frames.n, sizeof(r->frames.v[0]), by_lsn);
	return 0;
}

/* Reads a frame again and hands it over; -EUCLEAN when it no longer is what it was. */
static int hand_over(struct replay *r, struct vfs *v, const struct replay_frame *at, replay_fn each,
		     void *ctx, struct dcm_error *err)
{
	struct frame f;
	int rc = load(r, v, at->file, err);

	if (rc)
		return rc;
	struct frames_cursor c = {
		.p = r->bytes.data,
		.n = r->bytes.n,
		.head = r->files.v[at->file].head,
		.at = at->at,
	};
	if (!frames__next(&c, &f) || f.at != at->at || f.lsn != at->lsn)
		return error__set(err, -EUCLEAN,
				  WAL_DIR "/%020" PRIu64
					  ".wal: reads differently each time: look at the disk",
				  r->files.v[at->file].number);
	return each(ctx, &f);
}

/* Where LSNs that do not exist end, when `lsn` is one of them; 0 otherwise. */
static uint64_t void_end(const struct replay *r, uint64_t lsn)
{
	uint64_t end = 0;

	for (size_t i = 0; i < r->files.n; i++) {
		const struct frames_head *h = &r->files.v[i].head;

		if (r->files.v[i].readable && lsn > h->tail_lsn && lsn < h->next_lsn)
			end = max64(end, h->next_lsn);
	}
	return end;
}

/*
 * Where the hole at `lsn` ends, as far as it is damage: at the next frame, at LSNs that do not
 * exist, or at the mark.
 */
static uint64_t lost_end(const struct replay *r, uint64_t lsn, size_t next)
{
	uint64_t end = r->durable_lsn + 1;

	if (next < r->frames.n && r->frames.v[next].lsn < end)
		end = r->frames.v[next].lsn;
	for (size_t i = 0; i < r->files.n; i++) {
		const struct frames_head *h = &r->files.v[i].head;

		if (r->files.v[i].readable && h->next_lsn > h->tail_lsn + 1 &&
		    h->tail_lsn + 1 > lsn && h->tail_lsn + 1 < end)
			end = h->tail_lsn + 1;
	}
	return end;
}

/* Behind the last one that is named more may have been. */
static void tell_lost(dcm_report_fn report, void *ctx, uint64_t from, uint64_t end, bool more)
{
	char text[240];

	if (!report)
		return;
	snprintf(text, sizeof(text),
		 WAL_DIR "/: frames %" PRIu64 " to %" PRIu64
			 " were synced and cannot be read: %" PRIu64
			 " lost%s; a file of the log is missing or "
			 "damaged: bring it back, restore a backup, or do without its profiles",
		 from, end - 1, end - from, more ? ", and perhaps more" : "");
	report(ctx, DCM_LOG_ERROR, text);
}

int replay__each(struct replay *r, struct vfs *v, uint64_t sealed_lsn, replay_fn each, void *ctx,
		 dcm_report_fn report, void *report_ctx, struct dcm_error *err)
{
	uint64_t lsn = sealed_lsn + 1;
	size_t i = 0;

	r->tail_lsn = sealed_lsn;
	r->durable_lsn = max64(r->durable_lsn, sealed_lsn);
	r->max_lsn = max64(r->max_lsn, sealed_lsn);
	for (;;) {
		while (i < r->frames.n && r->frames.v[i].lsn < lsn)
			i++; /* sealed, or another copy */
		if (i < r->frames.n && r->frames.v[i].lsn == lsn) {
			int rc = hand_over(r, v, &r->frames.v[i], each, ctx, err);

			if (rc)
				return rc;
			r->n_frames++;
			r->tail_lsn = lsn++;
			continue;
		}
		uint64_t end = void_end(r, lsn);

		if (end) {
			lsn = end;
			continue;
		}
		if (lsn > r->durable_lsn)
			return 0;
		end = lost_end(r, lsn, i);
		tell_lost(report, report_ctx, lsn, end, i == r->frames.n);
		if (r->lost)
			r->lost(ctx, end - lsn);
		r->n_lost += end - lsn;
		r->tail_lsn = end - 1;
		lsn = end;
	}
}

void replay__fini(struct replay *r)
{
	vec__fini(&r->files);
	vec__fini(&r->frames);
	buf__fini(&r->bytes);
}
