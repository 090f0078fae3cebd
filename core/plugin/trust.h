/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/trust.h - may this file's code run inside us?
 *
 * A process with privilege (root, or any capability) runs only code that nobody without privilege
 * could have put there: the file belongs to root, is a regular file, is not writable by its group
 * or by others, and the same holds for each directory above it up to the root. A root-owned
 * directory with the sticky bit counts as not writable: others may add files to it but not replace
 * root's. A process without privilege risks only itself and checks nothing but that the file is a
 * regular one.
 * Every command asks this way but `decima generate --plugin-path` and decima-plugin-check,
 * whose plugins are a build's own.
 *
 * What is checked is what is used: the path is walked from "/" by descriptors that follow no
 * symbolic link, each is asked by fstat, and the last is the file that dlopen() then gets (through
 * /proc/self/fd/N). Links in the directory's path are resolved once before the walk; the file
 * itself must not be a link. The idea is bpftune's trusted_plugin_path() (src/libbpftune.c), by
 * descriptors instead of names.
 */
#ifndef DECIMA_PLUGIN_TRUST_H
#define DECIMA_PLUGIN_TRUST_H

#include <stdbool.h>

#include <decima/plugin.h>

/*
 * True when this process's effective user is root, or its effective or permitted capabilities are
 * not empty, and when that cannot be found out. Any thread; reads /proc/thread-self/status.
 */
bool trust__is_privileged(void);

/*
 * Opens FILE (a name without "/") in the directory DIR for reading. With `strict` every rule above
 * holds, without it only "a regular file, not a link". Returns 0 and a close-on-exec descriptor
 * that the caller owns, or -ENOENT (no such file or directory), -EPERM (not trusted), or what
 * open(2) says; the sentence names the component at fault and what to do about it. Any thread.
 */
int trust__open(const char *dir, const char *file, bool strict, int *ret_fd, struct dcm_error *err);

#endif
