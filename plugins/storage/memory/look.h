/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/look.h - the store as a view that questions are asked of
 *
 * Taken in one hold of the lock: several selections see the same moment.
 */
#ifndef DECIMA_STORAGE_MEMORY_LOOK_H
#define DECIMA_STORAGE_MEMORY_LOOK_H

#include "plugins/storage/answer/view.h"
#include "plugins/storage/memory/store.h"

/*
 * Fills what view__init() began, and seals it. *ret_era (may be NULL): of the store's dictionary.
 * 0, -ENOMEM, or the budget's -ETIMEDOUT or -ECANCELED. Any thread.
 */
int look__take(struct view *v, struct store *s, uint64_t *ret_era);

#endif
