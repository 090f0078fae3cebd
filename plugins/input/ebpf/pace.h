/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/pace.h - how long the reader leaves the rings alone
 *
 * Each look wakes a CPU, which on an idle machine costs more than what is found. So looks that find
 * little come ever more rarely, and one that finds more brings the next ones back at once. What
 * must not wait does not: the first sample of a process or of new mappings, the 1st, 2nd, 4th..
 * deferred one of a process in a second, the first of each turn of files that take turns, a ring that is half full, and unwind tables that became
 * ready wake the reader by themselves. A ring that woke it brings the next looks back too: what a
 * new process runs next is to be seen while it is there. Pure arithmetic.
 */
#ifndef DECIMA_EBPF_PACE_H
#define DECIMA_EBPF_PACE_H

#include <stdint.h>

#define PACE_SHORTEST_NS INT64_C(250000000)
#define PACE_LONGEST_NS	 INT64_C(2000000000)

enum { PACE_FEW = 4 }; /* samples: so many are little */

/*
 * How long to wait after a look that found n samples, when it was to come before_ns after the one
 * before (0: a ring woke the reader), and came after waited_ns: one that something else brought
 * sooner does not say that little happens.
 */
int64_t pace__next(int64_t before_ns, int64_t waited_ns, uint64_t n_samples);

#endif
