/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/inspect.h - counts the store, and looks for damage
 *
 * Any thread.
 */
#ifndef DECIMA_STORAGE_LOCAL_INSPECT_H
#define DECIMA_STORAGE_LOCAL_INSPECT_H

#include "plugins/storage/local/store.h"

/* Fills all but size and place, from kept.h: at once. */
void inspect__stat(struct store *s, struct dcm_store_stat *ret);

/*
 * Reads every block and dictionary, and reports what is damaged; returns how many findings there
 * were, or -ENOMEM.
 */
int inspect__check(struct store *s, dcm_report_fn report, void *ctx);

#endif
