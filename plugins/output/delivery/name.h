/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/name.h - the path of a profile's file, from a template and the profile's
 * labels
 *
 * For outputs that write files or objects. A template is a relative path with placeholders in braces: {type}; {time} (UTC,
 * 20261121T093605.123Z) and its parts {date} (2026-11-21), {year}, {month}, {day}, {hour}, for trees by time such as
 * dt={date}/hour={hour}; {series} (16 hex digits that tell series apart); {id} (16 hex digits that tell profiles apart,
 * and are the same when the batch comes again); or the name of a series label. What comes from a label cannot leave its
 * place: everything but [A-Za-z0-9._=+@-] becomes '_', so does a dot in front, and what is empty reads "unknown"; slashes
 * come from the template alone. Pure functions; any thread.
 */
#ifndef DECIMA_OUTPUT_DELIVERY_NAME_H
#define DECIMA_OUTPUT_DELIVERY_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

enum {
	NAME_VALUE_MAX = 100, /* bytes of one placeholder's text; longer ones are cut */
	NAME_COMPONENT_MAX = 200, /* bytes between two slashes: room is left for a number and the extension */
	NAME_PATH_MAX = 1024, /* of the whole relative path */
};

/* 0, or -EINVAL with what is wrong with it; `option`: what it is called. */
int name__check(const char *option, const char *template, struct dcm_error *err);

/* Is {placeholder} in it? The template was checked. */
bool name__has(const char *template, const char *placeholder);

/*
 * Appends the path of one profile, without an extension. The template was checked. 0; -ENOMEM;
 * -ENAMETOOLONG: the whole is beyond NAME_PATH_MAX.
 */
int name__expand(const char *template, const struct dcm_batch *batch, uint32_t profile, struct buf *out);

#endif
