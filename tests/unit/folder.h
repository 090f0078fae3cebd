/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/folder.h - the folder of a test program's files
 */
#ifndef DECIMA_TESTS_UNIT_FOLDER_H
#define DECIMA_TESTS_UNIT_FOLDER_H

#include <stdlib.h>
#include <sys/stat.h>

#include "tests/unit/shell.h"

/*
 * DEFINE_FOLDER(dir, "fd", 0700); is the path `dir`, /tmp/decima-fd-something, and a group's fixtures
 * make_dir(), with that mode, and remove_dir(), with all that is in it.
 */
#define DEFINE_FOLDER(name, tag, mode)                                                             \
	static char name[] = "/tmp/decima-" tag "-XXXXXX";                                         \
	static int make_##name(void **state)                                                       \
	{                                                                                          \
		(void)state;                                                                       \
		return mkdtemp(name) && chmod(name, mode) == 0 ? 0 : -1;                           \
	}                                                                                          \
	static int remove_##name(void **state)                                                     \
	{                                                                                          \
		(void)state;                                                                       \
		return shell("chmod -R u+rwx '%s'; rm -rf '%s'", name, name);                      \
	}                                                                                          \
	struct decima_swallow_semicolon

#endif
