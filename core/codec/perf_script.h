/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/perf_script.h - the text that `perf script` prints, in only
 *
 * Source: linux tools/perf/builtin-script.c and Documentation/perf-script.txt: the default fields
 * with a call chain (perf record -g), with or without cpu, period, inlined frames and source lines.
 * Each event becomes a profile of types perf:samples:count and, when periods are printed,
 * perf:EVENT:count (nanoseconds for the clocks), both delta; comm, pid, tid and cpu become sample
 * labels. Kernel addresses stay absolute; those of processes are runtime addresses, as the text
 * does not say where files were mapped. Times are of the machine's uptime, so only their distance
 * counts.
 */
#ifndef DECIMA_CODEC_PERF_SCRIPT_H
#define DECIMA_CODEC_PERF_SCRIPT_H

#include <decima/plugin.h>

#include "core/codec/decode.h"

int perf_script__decode(const uint8_t *data, size_t n, const struct decode_options *o,
			struct dcm_batch **ret, struct dcm_error *err);

#endif
