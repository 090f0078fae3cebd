/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/audit.h - all CPUs' samples held against what the kernel says of their time
 *
 * Asked for at each window's end, and before the period changes. One thread.
 */
#ifndef DECIMA_EBPF_AUDIT_H
#define DECIMA_EBPF_AUDIT_H

#include "plugins/input/ebpf/attach.h"
#include "plugins/input/ebpf/balance.h"
#include "plugins/input/ebpf/sampler.h"

struct audit;

/* Both outlive it. NULL when memory ran out. */
struct audit *audit__new(struct attach *attach, const struct sampler *sampler);
void audit__free(struct audit *a); /* NULL is fine */

/*
 * Adds up what is missing since the last call, in samples of period_ns, by which all of that time
 * was sampled. A CPU that /proc/stat does not list, as in a container that is shown a machine of its own,
 * is not looked at.
 */
struct balance_missed audit__step(struct audit *a, uint64_t period_ns);

#endif
