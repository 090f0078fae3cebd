/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/reader.h - a store's directory beside the process that writes it, or
 * without one
 *
 * No lock is taken and nothing is written, so what is read may change meanwhile: blocks are sealed,
 * compacted, removed. All of one moment is brought in at once: the manifest, every block and every
 * dictionary's log mapped, the log replayed. Then nothing of the directory is needed any more, and
 * questions are answered as of that moment, and read the dictionaries that they need. When the
 * manifest moves on meanwhile so that something was missed, all is read anew.
 *
 * What was acknowledged before open() began is there; of what came later, perhaps some.
 *
 * Threads: any; a store that is only read has no upkeep.
 */
#ifndef DECIMA_STORAGE_LOCAL_READER_H
#define DECIMA_STORAGE_LOCAL_READER_H

#include "plugins/storage/local/store.h"

/*
 * The host and the vfs outlive the store, which is for look.h and inspect.h only. 0, or a negative
 * errno with a sentence; -ENOENT: no store is there; -EBUSY: it changed too often while it was
 * read.
 */
int reader__open(const struct dcm_host *host, struct vfs *v, const struct store_options *o,
		 struct store **ret, struct dcm_error *err);

/*
 * As backup__copy(), of what is in the vfs at this moment; `dir` is absolute. -ENOENT: no store is
 * there; -EBUSY: it changed too often while it was copied.
 */
int reader__backup(struct vfs *v, const char *dir, struct dcm_error *err);

#endif
