/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/store_dir.h - which storage plugin a directory is a store of
 */
#ifndef DECIMA_MAIN_STORE_DIR_H
#define DECIMA_MAIN_STORE_DIR_H

#include <limits.h>

#include "core/plugin/loader.h"

struct store_dir {
	const struct plugin *plugin; /* of the loader */
	bool has_read_only;	     /* it takes that option */
	char path[PATH_MAX];
};

/*
 * Asks the storage plugins whether `dir` is a store of theirs; where it is none, and exactly one
 * directory in it is, that one: a daemon's data directory has its stores by name. -ENOENT, -EACCES,
 * ... with a sentence.
 */
int store_dir__find(const char *dir, struct loader *loader, struct store_dir *ret, struct dcm_error *err);

#endif
