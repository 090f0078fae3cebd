/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/cgroups.h - paths of control groups by the id that samples carry
 *
 * The id of a control group in the unified hierarchy is the number of its directory, and the kernel
 * opens a directory by that (open_by_handle_at(2), CAP_DAC_READ_SEARCH): no process needs to be
 * alive, and a path is found once for all processes in it. The last 4096 are remembered. The
 * reader thread's.
 */
#ifndef DECIMA_EBPF_CGROUPS_H
#define DECIMA_EBPF_CGROUPS_H

#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"

struct cgroups;

struct cgroups *cgroups__new(const struct dcm_host *host); /* NULL when memory ran out */
void cgroups__free(struct cgroups *c);
DEFINE_CLEANUP(struct cgroups *, cgroups__free);

/*
 * The path below the hierarchy's root, clean UTF-8; NULL when it is not known. Until the next call.
 */
const char *cgroups__path(struct cgroups *c, uint64_t id);

/*
 * Remembers what /proc said, for kernels and rights that do not allow the other way; not when the
 * process it was asked of had been moved to another group by then.
 */
void cgroups__learn(struct cgroups *c, uint64_t id, const char *path);

#endif
