/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/backup.h - a directory that is the store as of one moment
 *
 * What makes the moment is a manifest, and how far the log went then. Of it the copy gets, as
 * bytes:
 *
 *	wal/       every segment, up to the end of what was synced; so LSNs, removals and batch ids mean what they did;
 *	           and behind them, where frames are beyond the blocks, one without frames that says where the log ends
 *	eras/      the records that the manifest promises
 *	blocks/    the manifest's: second names where the file system can do that, bytes elsewhere
 *	MANIFEST   as the last, when all of that is durable: a directory without it is no store
 *
 * Nobody waits for a copy, and what the moment needs stays until the copy has it: with the process
 * that writes because commit.h puts off removing it; beside that process (reader.h) because the
 * copy begins again where something has gone.
 *
 * Threads: any.
 */
#ifndef DECIMA_STORAGE_LOCAL_BACKUP_H
#define DECIMA_STORAGE_LOCAL_BACKUP_H

#include "plugins/storage/local/commit.h"

/*
 * Makes `dir`, which must not exist, a store of that moment; `dir` is absolute, or in the vfs. 0
 * and all of it is durable; or a negative errno with a sentence, and nothing is left behind.
 * -ESTALE: a segment of the log has gone since the moment, and nothing was copied yet. -ENOENT:
 * another file has gone meanwhile.
 */
int backup__copy(struct vfs *v, const struct commit_moment *m, const char *dir, struct dcm_error *err);

/*
 * Of the store as it is now: all that was acknowledged is in it. Everything else goes on meanwhile.
 * As backup__copy().
 */
int backup__make(struct vfs *v, struct commit *c, const char *dir, struct dcm_error *err);

/* Removes what copy() or a store has made there. */
void backup__discard(struct vfs *v, const char *dir);

#endif
