/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/speedscope.h - speedscope's JSON file format
 *
 * Source: https://www.speedscope.app/file-format-schema.json. Writing makes a "sampled" profile of
 * each profile and type of the batch, named by type and labels; the first profile's last type is
 * the one that opens. Reading takes "sampled" and "evented" profiles; each becomes a profile of
 * type NAME:samples:count, NAME:time:nanoseconds or NAME:space:bytes by its unit (delta), with its
 * own name as series label `profile`. Weights are rounded to whole units.
 */
#ifndef DECIMA_CODEC_SPEEDSCOPE_H
#define DECIMA_CODEC_SPEEDSCOPE_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/codec/decode.h"

/* decode_options.max_bytes when it is 0: a JSON number of three bytes takes 50 in memory. */
#define SPEEDSCOPE_MAX_BYTES ((uint64_t)32 << 20)

int speedscope__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		       struct dcm_batch **ret, struct dcm_error *err);

/*
 * One profile or all (DCM_NONE), appended. 0, -EINVAL (no such profile), -ENOMEM, or out's error.
 */
int speedscope__encode(const struct dcm_batch *b, uint32_t profile, struct buf *out,
		       struct dcm_error *err);

#endif
