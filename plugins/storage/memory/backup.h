/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/backup.h - the store as a directory: batches in the host's own encoding,
 * and a manifest
 *
 *	000000.batch, 000001.batch, ...   what host->encode(.., "batch") made, every profile once
 *	manifest                          written last; without it the directory is no backup
 *
 * The manifest is lines of text: "decima-memory-store 1", then "batch NAME BYTES XXH3" for each
 * file, "seen LO HI FIRST LAST" for each interval of batch ids, and "end XXH3" over everything
 * before it. Hashes are 16 hex digits.
 */
#ifndef DECIMA_STORAGE_MEMORY_BACKUP_H
#define DECIMA_STORAGE_MEMORY_BACKUP_H

#include <decima/plugin.h>

#include "plugins/storage/memory/store.h"

#define BACKUP_MANIFEST "manifest" /* the file's name */

/* Makes `dir` (-EEXIST when it is there) and leaves nothing behind on failure. Any thread. */
int backup__write(struct store *s, const struct dcm_host *host, const char *dir, struct dcm_error *err);

/* Is there a backup to be read? Looks at its manifest alone; as backup__read(). */
int backup__look(const char *dir, struct dcm_error *err);

/*
 * Adds what the directory holds, less what the store's limits do not let in, of which `news` tells.
 * -ENOENT, -EUCLEAN (damaged: the sentence says which file),
 * -ENOMEM.
 */
int backup__read(struct store *s, const struct dcm_host *host, const char *dir,
		 struct store_news *news, struct dcm_error *err);

#endif
