/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/expand.h - ${NAME} in a value
 *
 * ${NAME} is the variable's value; ${NAME:-text} is `text` when it is unset or empty; $${ is ${
 * itself. Any other $ is just a $. What a variable says is not expanded again. NAME: a letter or _,
 * then letters, digits, _.
 */
#ifndef DECIMA_CONFIG_EXPAND_H
#define DECIMA_CONFIG_EXPAND_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

typedef const char *(*expand_variable_fn)(void *ctx, const char *name);

/* False: the text has nothing to expand and stands as it is. */
bool expand__is_needed(struct dcm_str text);

/*
 * Appends the text to out. -ENOENT: a variable is unset; -EINVAL: what stands in ${} is no name, or
 * there is no }; -EFBIG or -ENOMEM from the buffer; each with a sentence without a place. get NULL:
 * getenv(3).
 */
int expand__text(struct dcm_str text, expand_variable_fn get, void *ctx, struct buf *out,
		 struct dcm_error *err);

#endif
