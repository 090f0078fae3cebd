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

/* Of a check. */
struct inspect_how {
	struct dcm_budget *budget; /* its deadline, cancelled and progress, in bytes of files; may be NULL */
	dcm_report_fn report; /* may be NULL */
	void *ctx;
};

/*
 * Reads every block and dictionary, and reports what is damaged; returns how many findings there
 * were; -ENOMEM; or with a sentence of how far it came -ETIMEDOUT or -ECANCELED, between two chunks or
 * dictionaries.
 *
 * Memory: what dictionaries may take (store_options.dictionary_max_bytes) and one that is read beyond it; and
 * pages of the files, which the system takes back: of blocks those of one at a time.
 */
int inspect__check(struct store *s, const struct inspect_how *how, struct dcm_error *err);

#endif
