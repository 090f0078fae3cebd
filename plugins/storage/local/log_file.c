/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/log_file.c - one file that only grows
 *
 * `waiting` begins where the file is known to be durable, so a failed sync needs no undoing.
 * Writing a group again puts the same bytes into the same place: the synced mark in its frames is
 * what it was.
 */
#include "plugins/storage/local/log_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/mem.h"

struct log_file {
	struct vfs *vfs;
	char *path;
	struct vfs_file *file; /* NULL: to be opened again */
	struct frames_head head;
	struct buf waiting;	 /* frames to be written at `end` */
	uint64_t end;		 /* of what is durable */
	uint64_t torn, torn_end; /* from, to: where frames that were given up may be */
	uint64_t last_lsn, synced_lsn;
	bool unproven; /* nothing in the file, if there is one, proves that its name is durable */
};

/* ---- reading ---- */

static int get_head(const char *path, uint32_t kind, const uint8_t *p, size_t n,
		    struct frames_head *head, struct dcm_error *err)
{
	int rc = frames__get_head(p ? p : (const uint8_t *)"", n, head);

	if (rc == -EPROTONOSUPPORT)
		return error__set(err, rc,
				  "%s: written by a later version of Decima; open it with that one",
				  path);
	if (rc || head->kind != kind || head->align != FRAME_ALIGN)
		return error__set(err, -EUCLEAN,
				  "%s: its head is damaged; restore it from a backup", path);
	return 0;
}

/* The largest LSN that any frame calls synced. */
static uint64_t durable_lsn(struct frames_cursor c)
{
	uint64_t durable = 0;
	struct frame f;

	while (frames__next(&c, &f))
		durable = f.synced_lsn > durable ? f.synced_lsn : durable;
	return durable;
}

struct walk {
	uint64_t durable_lsn;
	uint64_t last_lsn; /* handed over, or lost */
	size_t begin, end; /* of the records that are not durable; of all that count */
};

/*
 * Hands over what counts; `keep`, where it is given, gets the frames whose sync nobody vouches for.
 */
static int walk(struct frames_cursor c, struct walk *w, replay_fn each, void *ctx,
		struct log_found *found, struct buf *keep)
{
	struct frame f;

	*found = (struct log_found){ .n_records = 0 };
	w->durable_lsn = durable_lsn(c);
	w->begin = w->end = frames__begin(&c.head);
	while (frames__next(&c, &f)) {
		int rc;

		if (f.lsn <= w->last_lsn || (f.lsn != w->last_lsn + 1 && f.lsn > w->durable_lsn + 1))
			break; /* a hole that nobody was promised: the end is torn */
		bool waits = f.lsn > w->durable_lsn;
		if (waits && w->begin != w->end && f.at != w->end)
			break; /* nor was this written in one piece */
		found->n_lost += f.lsn - w->last_lsn - 1;
		rc = each(ctx, &f);
		if (rc)
			return rc;
		found->n_records++;
		w->last_lsn = f.lsn;
		if (!waits)
			w->begin = c.end;
		else if (w->begin == w->end)
			w->begin = f.at;
		w->end = c.end;
		if (waits && keep)
			frames__put(keep, f.lsn, f.type, f.payload, f.n);
		if (keep && keep->error)
			return keep->error;
	}
	if (w->last_lsn < w->durable_lsn) {
		found->n_lost += w->durable_lsn - w->last_lsn;
		w->last_lsn = w->durable_lsn;
	}
	while (frames__next(&c, &f))
		;
	found->n_bad_bytes = c.n_bad_bytes;
	return 0;
}

int log_file__read_map(const struct vfs_map *m, const char *path, uint32_t kind, replay_fn each,
		       void *ctx, struct log_found *ret_found, struct dcm_error *err)
{
	struct frames_cursor c = { .p = m->p, .n = m->n };
	const uint64_t n_lost = vfs__n_lost(m->vfs);
	struct walk w = { .last_lsn = 0 };
	int rc = get_head(path, kind, m->p, m->n, &c.head, err);

	if (rc == 0)
		rc = walk(c, &w, each, ctx, ret_found, NULL);
	/* It may have been what was just verified, and reads as zeroes since. */
	if (vfs__n_lost(m->vfs) != n_lost)
		rc = error__set(err, -EIO, "%s: a part of it was lost while it was read; try again", path);
	return rc;
}

int log_file__read_records(struct vfs *v, const char *path, uint64_t lsn, struct buf *ret)
{
	struct frames_head head;
	struct frame f;
	int rc = vfs__read_file(v, path, LOG_FILE_MAX_BYTES, ret);

	if (rc || ret->n == 0 || frames__get_head(ret->data, ret->n, &head))
		return rc;
	struct frames_cursor c = { .p = ret->data, .n = ret->n, .head = head };
	size_t end = frames__begin(&head);
	while (frames__next(&c, &f) && f.lsn <= lsn)
		end = c.end;
	ret->n = end < ret->n ? end : ret->n;
	return 0;
}

/* ---- writing ---- */

/* The head and what waits into an empty file. */
static int fill(struct log_file *l, struct vfs_file *f)
{
	uint8_t bytes[FRAMES_HEAD_BYTES];
	int rc;

	frames__put_head(bytes, &l->head);
	rc = vfs__write(f, bytes, sizeof(bytes), 0);
	if (!rc)
		rc = vfs__write(f, l->waiting.data, l->waiting.n, sizeof(bytes));
	return rc ? rc : vfs__sync(f);
}

/* Of "DIR/NAME" the first, or "."; NULL: no memory. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? mem__dup_str(path, (size_t)(slash - path)) : mem__dup_str(".", 1);
}

/*
 * The file with its first records, under its name at once: a torn one is never seen. Done again
 * until its directory could be synced, by this process or the next.
 */
static int make(struct log_file *l)
{
	CLEANUP(mem__freep) char *tmp = malloc(strlen(l->path) + sizeof(".tmp"));
	CLEANUP(mem__freep) char *dir = directory_of(l->path);
	struct vfs_file *f = NULL;
	int rc;

	if (!tmp || !dir)
		return -ENOMEM;
	snprintf(tmp, strlen(l->path) + sizeof(".tmp"), "%s.tmp", l->path);
	rc = l->vfs->ops->random(l->vfs, &l->head.salt);
	if (rc)
		return rc;
	frames__seal(&l->waiting, &l->head, 0);
	rc = vfs__unlink(l->vfs, tmp);
	if (!rc || rc == -ENOENT)
		rc = vfs__open(l->vfs, tmp, VFS_WRITE | VFS_CREATE | VFS_NEW, &f);
	if (!rc)
		rc = fill(l, f);
	vfs__close(f);
	if (!rc)
		rc = vfs__rename(l->vfs, tmp, l->path);
	if (!rc)
		rc = vfs__sync_dir(l->vfs, dir);
	if (rc)
		return rc;
	l->unproven = false;
	l->end = FRAMES_HEAD_BYTES;
	l->torn = l->torn_end = 0; /* that was the file before */
	return 0;
}

void log_file__close(struct log_file *l)
{
	if (!l)
		return;
	vfs__close(l->file);
	buf__fini(&l->waiting);
	free(l->path);
	free(l);
}

static int is_name(void *ctx, const char *name)
{
	return strcmp(name, ctx) == 0 ? -ENOENT : 0;
}

/*
 * 0: a file that is missing was not made yet. Where the directory has gone for a while, or came
 * back just now, making one would replace the one that is there.
 */
static int check_unmade(const struct log_file *l)
{
	const char *slash = strrchr(l->path, '/');
	CLEANUP(mem__freep) char *dir = directory_of(l->path);

	return dir ? vfs__list(l->vfs, dir, is_name, slash ? (char *)slash + 1 : l->path) : -ENOMEM;
}

static int load(struct log_file *l, uint32_t kind, replay_fn each, void *ctx,
		struct log_found *found, struct dcm_error *err)
{
	struct walk w = { .last_lsn = 0 };
	struct buf b = { .n = 0 };
	int rc = vfs__read_file(l->vfs, l->path, LOG_FILE_MAX_BYTES, &b);

	if (rc == -ENOENT) {
		rc = check_unmade(l);
		if (rc)
			return error__sys(err, rc, "%s: cannot read", l->path);
		l->head = (struct frames_head){ .kind = kind, .align = FRAME_ALIGN, .next_lsn = 1 };
		l->unproven = true;
		*found = (struct log_found){ .n_records = 0 };
		return 0;
	}
	rc = rc ? error__sys(err, rc, "%s: cannot read", l->path)
		: get_head(l->path, kind, b.data, b.n, &l->head, err);
	if (!rc)
		rc = walk((struct frames_cursor){ .p = b.data, .n = b.n, .head = l->head }, &w,
			  each, ctx, found, &l->waiting);
	if (!rc && w.last_lsn >= FRAMES_LSN_LIMIT)
		rc = error__set(err, -EUCLEAN,
				"%s: its records have impossible numbers; restore it from a backup",
				l->path);
	l->unproven = w.durable_lsn == 0;
	l->end = w.begin;
	l->torn = w.end;
	l->torn_end = b.n;
	l->last_lsn = w.last_lsn;
	l->synced_lsn = l->waiting.n ? w.durable_lsn : w.last_lsn;
	buf__fini(&b);
	return rc;
}

int log_file__open(struct vfs *v, const char *path, uint32_t kind, replay_fn each, void *ctx,
		   struct log_found *ret_found, struct log_file **ret, struct dcm_error *err)
{
	struct log_file *l = NEW(struct log_file);
	int rc;

	if (!l)
		return error__nomem(err);
	l->vfs = v;
	l->path = mem__dup_str(path, strlen(path));
	rc = l->path ? load(l, kind, each, ctx, ret_found, err) : error__nomem(err);
	if (rc) {
		log_file__close(l);
		return rc;
	}
	*ret = l;
	return 0;
}

int log_file__append(struct log_file *l, uint16_t type, const void *payload, size_t n,
		     uint64_t *ret_lsn, struct dcm_error *err)
{
	if (n == 0 || n > FRAME_MAX_BYTES)
		return error__set(err, -EINVAL, "a record of %zu bytes: 1 to %d are possible", n,
				  FRAME_MAX_BYTES);
	if (l->last_lsn + 1 >= FRAMES_LSN_LIMIT)
		return error__set(
			err, -EOVERFLOW,
			"%s: its records have impossible numbers; restore it from a backup", l->path);
	frames__put(&l->waiting, l->last_lsn + 1, type, payload, (uint32_t)n);
	if (l->waiting.error) {
		l->waiting.error = 0;
		return error__nomem(err);
	}
	*ret_lsn = ++l->last_lsn;
	return 0;
}

/* Zeros over frames that were given up, durable before anything else is written. */
static int clear_torn(struct log_file *l)
{
	static const uint8_t zeros[4096];
	int rc = 0;

	if (l->torn >= l->torn_end)
		return 0;
	for (uint64_t at = l->torn; !rc && at < l->torn_end; at += sizeof(zeros)) {
		uint64_t n = l->torn_end - at < sizeof(zeros) ? l->torn_end - at : sizeof(zeros);

		rc = vfs__write(l->file, zeros, (size_t)n, at);
	}
	if (!rc)
		rc = vfs__sync(l->file);
	if (!rc)
		l->torn = l->torn_end;
	return rc;
}

static int write_waiting(struct log_file *l)
{
	struct vfs_stat st;
	int rc;

	if (l->unproven)
		return make(l);
	rc = l->file ? 0 : vfs__open(l->vfs, l->path, VFS_WRITE, &l->file);

	if (!rc)
		rc = clear_torn(l);
	if (rc)
		return rc;
	frames__seal(&l->waiting, &l->head, l->synced_lsn);
	rc = vfs__write(l->file, l->waiting.data, l->waiting.n, l->end);
	if (!rc)
		rc = vfs__sync(l->file);
	if (!rc)
		rc = vfs__stat(l->file, &st);
	return !rc && st.n_links == 0 ? -ENOENT : rc;
}

int log_file__sync(struct log_file *l, struct dcm_error *err)
{
	int rc;

	if (l->waiting.n == 0)
		return 0; /* what is in no file needs none */
	rc = write_waiting(l);
	if (rc) {
		vfs__close(l->file);
		l->file = NULL;
		return error__sys(err, rc, "%s: cannot write", l->path);
	}
	l->end += l->waiting.n;
	l->synced_lsn = l->last_lsn;
	buf__reset(&l->waiting);
	return 0;
}

uint64_t log_file__last_lsn(const struct log_file *l)
{
	return l->last_lsn;
}

uint64_t log_file__synced_lsn(const struct log_file *l)
{
	return l->synced_lsn;
}
