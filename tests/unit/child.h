/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/child.h - what a test does in a process of its own: as another user, or on a disk of its own
 */
#ifndef DECIMA_TESTS_UNIT_CHILD_H
#define DECIMA_TESTS_UNIT_CHILD_H

#include <stdbool.h>

/* The status that a process ends with which does this and nothing else; a signal fails the test. */
int child__status(int (*work)(void));

/*
 * In a child: an empty file system of this size ("64k") at `path`, which is made when it is not there.
 * Nobody else sees it. False: it may not.
 */
bool child__disk(const char *path, const char *size);

/* What a child then ends with, and what the test says of it. */
enum { CHILD_NO_DISK = 77 };
#define CHILD_NO_DISK_WHY "a mount of its own needs CAP_SYS_ADMIN or user namespaces"

#endif
