/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/disk/lookup.c - a frame of a log by its number, while others are written
 */
#include "core/disk/lookup.h"

#include <errno.h>

void lookup__fini(struct lookup *l)
{
	l->number = 0;
	l->has_frame = false;
	buf__fini(&l->bytes);
}

/* The segment into memory, from its beginning. */
static int load(struct lookup *l, struct vfs *v, uint64_t number)
{
	char path[WAL_PATH_BYTES];
	int rc;

	lookup__fini(l);
	rc = vfs__read_file(v, wal__path(path, number), WAL_FILE_MAX_BYTES, &l->bytes);
	l->cursor = (struct frames_cursor){ .p = l->bytes.data, .n = l->bytes.n };
	if (!rc)
		rc = frames__get_head(l->cursor.p, l->cursor.n, &l->cursor.head);
	if (rc)
		buf__fini(&l->bytes);
	else
		l->number = number;
	return rc;
}

/* From where it stands in the segment that is loaded. */
static bool read_on(struct lookup *l, uint64_t lsn)
{
	while (l->number && (!l->has_frame || l->frame.lsn < lsn)) {
		l->has_frame = frames__next(&l->cursor, &l->frame);
		if (!l->has_frame)
			break;
	}
	return l->has_frame && l->frame.lsn == lsn;
}

int lookup__frame(struct lookup *l, struct vfs *v, struct wal *w, uint64_t lsn)
{
	wal_extents extents = { 0 };
	int rc;

	if (read_on(l, lsn))
		return 0;
	/* Held, so that what is listed is not removed before it was looked at. */
	rc = wal__hold(w, &extents);
	if (rc)
		return rc;
	rc = -ENOENT;
	for (size_t i = 0; i < extents.n && rc == -ENOENT; i++) {
		int e = load(l, v, extents.v[i].number);

		if (e == 0 && read_on(l, lsn))
			rc = 0;
		/* Of one that somebody took away, or damaged, nothing more can be said. */
		else if (e < 0 && e != -EUCLEAN && e != -ENOENT)
			rc = e;
	}
	wal__release(w);
	vec__fini(&extents);
	return rc;
}
