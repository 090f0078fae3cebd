/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/family.h - what processes have forked since a moment
 *
 * The sampler follows forks by a program of its own, from when that is attached. What is forked before, while we
 * start, is found in /proc. Source: proc(5), fields 4 and 22 of /proc/PID/stat.
 */
#ifndef DECIMA_EBPF_FAMILY_H
#define DECIMA_EBPF_FAMILY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Takes a descendant: 1; 0: it is known already, or there is no room; a negative errno ends the
 * search. Once more for one that was taken and has ended meanwhile, whose number may be another's:
 * it is no descendant.
 */
typedef int family_fn(void *ctx, uint32_t pid, bool is_there);

/*
 * Hands over every descendant of the processes [n] that was started at since_ns (CLOCK_BOOTTIME) or later, by ways of
 * such. Looks again until nothing is news: who was forked by one that was not known yet comes with the next look. 0,
 * -ENOMEM, what take() said, or why /proc could not be read to its end.
 */
int family__since(const int64_t *pids, uint32_t n, uint64_t since_ns, family_fn *take, void *ctx);

#endif
