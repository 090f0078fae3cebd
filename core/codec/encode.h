/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/encode.h - what encoders have in common: which profiles, which types, how a frame
 * reads
 *
 * Reads sealed batches and overlays: there, equal texts may have several ids, so types and labels
 * are compared as texts. Any thread.
 */
#ifndef DECIMA_CODEC_ENCODE_H
#define DECIMA_CODEC_ENCODE_H

#include <stdbool.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

/* The profiles [*ret_first, *ret_end) that `profile` means; -EINVAL names the format when none. */
int encode__range(const struct dcm_batch *b, uint32_t profile, const char *format,
		  uint32_t *ret_first, uint32_t *ret_end, struct dcm_error *err);

/* Types of the batch, by index: do they read the same? */
bool encode__same_type(const struct dcm_batch *b, uint32_t a, uint32_t other);

/*
 * How one line of a location reads: the function's name, else its file and line. Without lines
 * (line DCM_NONE): "libfoo.so+0x1234", "[kernel]+0xffffffff81000000", "[anon]+0x12", "[unknown]".
 * Appended to out.
 */
void encode__frame_name(const struct dcm_batch *b, uint32_t location, uint32_t line, struct buf *out);

/* "name:sample_type:..:delta{a="b"}" of a profile's k-th type, appended. */
void encode__title(const struct dcm_batch *b, uint32_t profile, uint32_t k, struct buf *out);

/* 0, -ENOMEM or -EFBIG with the sentence to it, for a buffer that was written to. */
int encode__end(const struct buf *out, const char *format, struct dcm_error *err);

#endif
