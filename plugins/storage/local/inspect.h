/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/inspect.h - counts the store, looks for damage, and copies it
 *
 * Any thread.
 */
#ifndef DECIMA_STORAGE_LOCAL_INSPECT_H
#define DECIMA_STORAGE_LOCAL_INSPECT_H

#include "plugins/storage/local/store.h"

/* Fills all but size and place, from kept.h: at once. */
void inspect__stat(struct store *s, struct dcm_store_stat *ret);

/* Reads every block and dictionary, and reports what is damaged; returns how many findings there were, or -ENOMEM. */
int inspect__check(struct store *s, dcm_report_fn report, void *ctx);

/*
 * Seals, and makes the directory, which must not exist, a store of what there is: blocks get second names where the file
 * system can do that, everything else is copied. `dir` is absolute. 0 or a negative errno with a sentence, and
 * nothing is left behind.
 */
int inspect__backup(struct store *s, const char *dir, struct dcm_error *err);

/*
 * The files that a manifest lists, and that one as the last, into a new directory. -ENOENT: one has gone meanwhile. On
 * failure nothing is left behind.
 */
int inspect__copy(struct vfs *v, const struct manifest *m, const char *dir, struct dcm_error *err);
/* Removes what copy() or a store has made there. */
void inspect__discard_copy(struct vfs *v, const char *dir);

#endif
