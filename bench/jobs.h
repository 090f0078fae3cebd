/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/jobs.h - made-up profiles of jobs, one at a time as senders bring them: gzip of pprof
 *
 * Six jobs of eight instances. Of each job the first instance sends what its heap has in use, the
 * others CPU time of 10 s; those of every third job have no names, but addresses in a file with a
 * build id. A profile has about JOBS_ROWS rows, of the JOBS_STACKS stacks that its series has, of 20 to 60
 * frames: what is called next is picked from a few, so that they share their callers as real ones
 * do. The same in every run. What fails ends the program.
 */
#ifndef DECIMA_BENCH_JOBS_H
#define DECIMA_BENCH_JOBS_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/codec/decode.h"

#define JOBS_CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
enum { JOBS_SERIES = 48, JOBS_INSTANCES = 8, JOBS_STACKS = 500, JOBS_ROWS = 497 };

/* Whom a profile comes from: the options of its decoder, whose texts are here. Not to be copied. */
struct jobs_sender {
	char job[16], instance[16];
	struct dcm_label_text labels[2];
	struct decode_options options;
};
void jobs__sender(uint32_t series, struct jobs_sender *ret);

/* Appends the profile of a series; `n` tells apart those of one series. */
void jobs__profile(uint32_t series, uint32_t n, int64_t time_ns, struct buf *out);

#endif
