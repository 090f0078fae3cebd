/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/broker/sandbox.h - what a process gives up for good
 *
 * Each takes effect for the calling thread and what it forks, so it is called while there is one
 * thread. Nothing of it can be taken back. Sources: capabilities(7), seccomp(2), prctl(2).
 */
#ifndef DECIMA_BROKER_SANDBOX_H
#define DECIMA_BROKER_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* True in a build whose sanitizer needs more calls and more address space than the code does. */
bool sandbox__is_sanitized(void);

/* The effective capabilities of the calling thread, a bit each; all ones when it cannot be told. */
uint64_t sandbox__capabilities(void);

/*
 * Keeps only these capabilities (a bit each) of those there are, permitted and effective; empties
 * the inheritable, ambient and, where it may, the bounding set; sets no_new_privs. 0 or a negative
 * errno.
 */
int sandbox__keep_capabilities(uint64_t keep);

/*
 * Becomes that user and group, with no others. Needs CAP_SETUID and CAP_SETGID. With `keep_caps`
 * the permitted and effective capabilities stay, otherwise none does. 0 or a negative errno.
 */
int sandbox__become(uid_t uid, gid_t gid, bool keep_caps);

/*
 * For a fresh child: a name for ps(1), death when the parent dies, no signals from the terminal, no
 * descriptor but `keep` and standard error. 0 or a negative errno.
 */
int sandbox__begin_child(const char *name, pid_t parent, int keep);

/* A resource (RLIMIT_...) is bounded by that, or by less where less was allowed. 0 or a negative errno. */
int sandbox__limit(int which, uint64_t value);

/* Every other system call is answered with EPERM from now on. 0 or a negative errno. */
int sandbox__allow_only(const int *calls, size_t n);

#endif
