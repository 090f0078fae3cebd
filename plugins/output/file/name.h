/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/file/name.h - the path of a profile's file, from a template and the profile's
 * labels
 *
 * A template is a relative path with placeholders in braces: {type}, {time} (UTC,
 * 20261121T093605.123Z), {series} (16 hex digits that tell series apart), or the name of a series
 * label. What comes from a label cannot leave its place: everything but [A-Za-z0-9._=+@-] becomes
 * '_', so does a dot in front, and what is empty reads "unknown"; slashes come from the template
 * alone. Pure functions; any thread.
 */
#ifndef DECIMA_PLUGINS_OUTPUT_FILE_NAME_H
#define DECIMA_PLUGINS_OUTPUT_FILE_NAME_H

#include <stddef.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

enum {
	NAME_VALUE_MAX = 100, /* bytes of one placeholder's text; longer ones are cut */
	NAME_COMPONENT_MAX = 200, /* bytes between two slashes: room is left for a number and the extension */
	NAME_PATH_MAX = 1024, /* of the whole relative path */
};

/* 0, or -EINVAL with what is wrong with it. */
int name__check(const char *template, struct dcm_error *err);

/*
 * Appends the path of one profile, without an extension. The template was checked. 0; -ENOMEM;
 * -ENAMETOOLONG: the whole is beyond NAME_PATH_MAX.
 */
int name__expand(const char *template, const struct dcm_batch *batch, uint32_t profile, struct buf *out);

#endif
