/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/effective.h - the values that hold, as YAML: what was said, and every default
 *
 * It is made of the filled structs and not of the file, so ${NAME}, --set and other options of the
 * command line are in it as what they came to. Reads back to the same structs, but for what is
 * hidden.
 */
#ifndef DECIMA_CONFIG_EFFECTIVE_H
#define DECIMA_CONFIG_EFFECTIVE_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/config/tree.h"

/* Stands for a secret, and for who asks and the query of a URL, wherever these are. */
#define EFFECTIVE_HIDDEN "<hidden>"

enum effective_secrets {
	EFFECTIVE_HIDE,
	EFFECTIVE_SHOW, /* for nobody but tests, which read them back */
};

/*
 * The table's rows as the inside of a map, each line after `indent` spaces. `value` is its filled
 * struct; `said` the node that it was filled from, or NULL: what that lacks ends with "# default".
 * A buffer that failed says so in out->error.
 */
void effective__yaml(const struct dcm_table *table, const void *value, const struct node *said,
		     enum effective_secrets secrets, unsigned indent, struct buf *out);

#endif
