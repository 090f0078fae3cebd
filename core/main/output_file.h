/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/main/output_file.h - where a verb's result goes: a file, a device, a pipe, standard output
 *
 * A regular file is replaced as a whole, when everything has gone well, and keeps its mode; a new
 * one gets what the umask leaves of 0666. A link stays one, and what it points to is replaced.
 * Devices, pipes and sockets are written into as they are.
 */
#ifndef DECIMA_MAIN_OUTPUT_FILE_H
#define DECIMA_MAIN_OUTPUT_FILE_H

#include <decima/plugin.h>

#include "core/base/buf.h"

/*
 * All of `out` to path; "-" is standard output. 0 also when a pipe's reader has seen enough
 * (SIGPIPE must be ignored); otherwise a negative errno and a sentence that begins with the path.
 */
int output_file__write(const char *path, const struct buf *out, struct dcm_error *err);

/*
 * Could that write begin? For those who work long before they have something to write. Nothing is
 * changed; a disk may be full later all the same. 0, or a negative errno and a sentence as above.
 */
int output_file__check(const char *path, struct dcm_error *err);

#endif
