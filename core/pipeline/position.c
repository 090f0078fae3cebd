/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/position.c - up to where a spool is settled, in a file beside its log
 */
#include "core/pipeline/position.h"

#include <errno.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "core/disk/numbered.h"
#include "core/disk/replay.h"

#define PATH "position"

enum {
	BYTES = 24,
	MAGIC = 0x504d4344, /* "DCMP" */
	VERSION = 1,
};

static int stop_at_segment(void *ctx, const char *name)
{
	(void)ctx;
	return numbered__parse(name, ".wal") >= 0 ? 1 : 0;
}

/* Is the file missing that a spool has before it has anything else? Then nothing else may be there. */
static int check_ours(struct vfs *v, struct dcm_error *err)
{
	uint64_t bytes;

	if (vfs__size(v, PATH, &bytes) != -ENOENT || vfs__list(v, WAL_DIR, stop_at_segment, NULL) != 1)
		return 0;
	return error__set(
		err, -EUCLEAN,
		WAL_DIR
		" has files and there is no " PATH
		" beside it, so it is not a spool's: give another spool_path, or move it away");
}

static int parse(const uint8_t b[static BYTES], uint64_t *ret_lsn)
{
	if (le__get32(b) != MAGIC || le__get64(b + 16) != hash__bytes(b, 16, 0))
		return -EBADMSG;
	if (le__get32(b + 4) != VERSION)
		return -EPROTONOSUPPORT;
	*ret_lsn = le__get64(b + 8);
	return 0;
}

/* What is in the file: an empty one is new. */
static int read_file(struct position *p, uint64_t *ret_lsn)
{
	uint8_t b[BYTES];
	struct vfs_stat st;
	int rc = vfs__stat(p->file, &st);

	if (!rc && st.bytes == 0)
		return 0;
	if (!rc && st.bytes < sizeof(b))
		rc = -EBADMSG;
	if (!rc)
		rc = vfs__read(p->file, b, sizeof(b), 0);
	return rc ? rc : parse(b, ret_lsn);
}

int position__open(struct position *p, struct vfs *v, dcm_report_fn report, void *ctx,
		   uint64_t *ret_lsn, struct dcm_error *err)
{
	uint64_t lsn = 0;
	int rc = check_ours(v, err);

	if (rc)
		return rc;
	rc = vfs__open(v, PATH, VFS_WRITE | VFS_CREATE, &p->file);
	if (!rc)
		rc = vfs__sync_dir(v, ".");
	if (!rc)
		rc = read_file(p, &lsn);
	if (rc == -EPROTONOSUPPORT)
		return error__set(err, rc, PATH ": written by a later version of Decima; run that one");
	if (rc == -EBADMSG) {
		if (report)
			report(ctx, DCM_LOG_WARNING,
			       PATH ": damaged; what is in the spool is sent once more");
		rc = 0;
	}
	if (!rc)
		rc = position__note(p, lsn);
	if (!rc)
		rc = position__sync(p);
	if (rc)
		return error__sys(err, rc, PATH ": cannot be used%s", vfs__write_remedy(rc));
	*ret_lsn = lsn;
	return 0;
}

int position__note(struct position *p, uint64_t lsn)
{
	uint8_t b[BYTES];
	int rc;

	le__put32(b, MAGIC);
	le__put32(b + 4, VERSION);
	le__put64(b + 8, lsn);
	le__put64(b + 16, hash__bytes(b, 16, 0));
	rc = vfs__write(p->file, b, sizeof(b), 0);
	p->has_failed = rc != 0;
	return rc;
}

int position__sync(struct position *p)
{
	return vfs__sync(p->file);
}

void position__close(struct position *p)
{
	vfs__close(take_ptr(p->file));
}
