/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin_check/usage.h - what a process has in use, before and after a plugin's life
 *
 * Descriptors, threads and blocks of memory are the whole process's, so both counts are taken when
 * no instance lives: one that works has all three come and go.
 */
#ifndef DECIMA_PLUGIN_CHECK_USAGE_H
#define DECIMA_PLUGIN_CHECK_USAGE_H

#include <sys/select.h>

#include "core/plugin_check/cases.h"

struct usage {
	int64_t n_blocks;
	int n_fds, n_threads;
	fd_set fds; /* those below FD_SETSIZE */
};

void usage__take(struct usage *ret);

/*
 * A verdict when there is more than before these rounds: more threads or descriptors, or as many
 * more blocks as there were rounds. It tells what each new descriptor is.
 */
void usage__compare(const struct check *c, const struct usage *before, unsigned n_rounds);

#endif
