/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/remove.h - removes rows by selection
 */
#ifndef DECIMA_STORAGE_MEMORY_REMOVE_H
#define DECIMA_STORAGE_MEMORY_REMOVE_H

#include <decima/plugin.h>

#include "plugins/storage/memory/store.h"

/*
 * Removes the rows that match; a profile of which no row is left, or which had none, goes. *ret_n:
 * profiles that lost something. -EAGAIN when the store was rebuilt underneath again and again; what
 * meter__explain() knows. Any thread.
 */
int remove__selected(struct store *s, const struct dcm_host *host, const struct dcm_select *sel,
		     uint64_t *ret_n);

#endif
