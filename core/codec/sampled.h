/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/sampled.h - Parca's WriteArrow: samples of many series as rows of Arrow, in only
 *
 *	WriteArrowRequest { ipc_buffer = 1: an Arrow stream, as arrow.h reads them }
 *
 * Sources: parca-dev/parca, proto/parca/profilestore/v1alpha1/profilestore.proto; parca-dev/parca-agent, reporter/arrow_v2.go. Columns
 * are known by name, whichever of Arrow's encodings they have:
 *
 *   labels.NAME, or labels, a struct    labels of the series; pid, tid, thread_id, thread_name, cpu, trace_id and span_id, which
 *                                       differ from sample to sample, of the sample. Names that begin with "__" are left out.
 *   stacktrace                          list of { address, frame_type, mapping_file, mapping_build_id, lines }, leaf first; lines of
 *                                       { line, column, function { system_name, filename, start_line } }
 *   value, producer, sample_type, sample_unit, period_type, period_unit, period
 *   temporality                         "delta", or what is usual for such types
 *   timestamp, duration                 ns. Differences of one series, type and 10 s are one profile, the 10 s counted from 1970;
 *                                       others are at their own time.
 *
 * An address of a native frame is one of the ELF file, and a frame has the name of its line's function, or none yet. Rows of
 * value 0 are left out. max_bytes bounds what is unpacked.
 */
#ifndef DECIMA_CODEC_SAMPLED_H
#define DECIMA_CODEC_SAMPLED_H

#include "core/codec/decode.h"

int sampled__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		    struct dcm_batch **ret, struct dcm_error *err);

#endif
