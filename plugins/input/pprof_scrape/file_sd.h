/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/file_sd.h - targets that stand in files
 *
 * Files are read at the start, when something in their directory changes (inotify), and at the
 * interval besides, as on file systems that tell nothing. A file that cannot be read, or says what
 * cannot be, leaves the targets that it had before; one that has gone takes them along. On the
 * loop's thread.
 */
#ifndef DECIMA_PPROF_SCRAPE_FILE_SD_H
#define DECIMA_PPROF_SCRAPE_FILE_SD_H

#include "plugins/input/pprof_scrape/job.h"

struct file_sd;

/* Looks at once. 0 or -ENOMEM. */
int file_sd__new(struct job *job, const struct file_sd_options *options, struct file_sd **ret,
		 struct dcm_error *err);
void file_sd__free(struct file_sd *f); /* NULL is fine */

#endif
