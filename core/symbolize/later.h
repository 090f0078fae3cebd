/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/later.h - files to be read again, since nobody said whether they have debuginfo;
 * private to this folder
 *
 * A file system that does not answer has not said that there is none. Each file waits with a
 * descriptor, so only so many do. Not thread-safe: its owner locks.
 */
#ifndef DECIMA_SYMBOLIZE_LATER_H
#define DECIMA_SYMBOLIZE_LATER_H

#include <stdbool.h>
#include <stdint.h>

#include <decima/plugin.h>

enum { LATER_MAX_FILES = 64 };

struct later_file {
	struct later_file *next;
	int64_t due_ns; /* mono */
	char *build_id; /* that the store knows it by */
	char *path;
	int fd;
};

struct later {
	struct later_file *first; /* that is due first */
	uint32_t n;
};

/* Copies all it is given. False when too many wait, or memory or descriptors ran out. */
bool later__add(struct later *l, struct dcm_str build_id, struct dcm_str path, int fd, int64_t due_ns);

/* Forgets the one of that build id, if it waits. */
void later__drop(struct later *l, struct dcm_str build_id);

/* One that is due, now the caller's; or NULL. */
struct later_file *later__pop(struct later *l, int64_t now_ns);
/* Has one wait once more. */
void later__put(struct later *l, struct later_file *f);
void later_file__free(struct later_file *f); /* NULL is fine */

void later__fini(struct later *l);

#endif
