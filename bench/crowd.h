/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/crowd.h - made-up profiles whose flame trees are large: as many nodes, and as many side by
 * side, as anybody will ever look at
 *
 * Each is one profile of SOURCE_CPU (bench/source.h) in one batch, which the caller unrefs; the same
 * in every run. Without memory they abort.
 */
#ifndef DECIMA_BENCH_CROWD_H
#define DECIMA_BENCH_CROWD_H

#include <decima/plugin.h>

enum { CROWD_MILLION = 72000 };

/*
 * Stacks of 20 to 40 frames out of 20,000 functions, which share beginnings as real ones do: what is
 * called next is picked from a few, the first ones more often. CROWD_MILLION of them have 1.06 M
 * nodes. `service` is the label service_name.
 */
struct dcm_batch *crowd__random(const char *service, int64_t time_ns, uint32_t n_stacks);
/* Stacks of equal weight that share nothing but main, `depth` frames each. */
struct dcm_batch *crowd__columns(const char *service, int64_t time_ns, uint32_t n_stacks, uint32_t depth);

#endif
