/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/accounts.h - do the sampling program's counters add up?
 *
 * Each run of the program ends in one way, and each sample that it hands over has one outcome: the
 * identities of bpf/sampler.h, which hold for each CPU, as each counts for itself.
 */
#ifndef DECIMA_EBPF_ACCOUNTS_H
#define DECIMA_EBPF_ACCOUNTS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "bpf/sampler.h"

/*
 * How many runs and samples of `n_cpus` CPUs have no end or several, by their counters as they are
 * now. `runs`: the program may be at work meanwhile. What is missing to the one run a CPU that is
 * under way counts as none then, up to two a CPU; and so does a CPU whose counters do not keep still
 * for long enough to be read. Any thread.
 */
uint64_t accounts__open(const volatile struct sampler_stats *cpus, uint32_t n_cpus, bool runs);

#endif
