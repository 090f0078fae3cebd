/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/dir.h - could files be made in a directory, which may not be there yet?
 */
#ifndef DECIMA_BASE_DIR_H
#define DECIMA_BASE_DIR_H

#include <decima/plugin.h>

/*
 * Looks, and changes nothing: the nearest directory above `path` that is there must be one, let
 * this process write, lie on a file system that keeps files, and have room. 0, or a negative errno
 * with a sentence that begins with the path and ends with the remedy. A process that is about to
 * give up rights asks afterwards. What only trying can tell (a quota, a server's mind) it does not
 * find.
 */
int dir__look(const char *path, struct dcm_error *err);

#endif
