/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/wire.h - a batch's own encoding: format "batch", for spools, logs and peers of one
 * kind
 *
 * Self-contained, column by column in varints, versioned, with a checksum; docs/FORMATS.md writes
 * the bytes down. Hashes are not in it: decoding computes them anew, so they can be trusted whoever
 * sent the bytes. Any thread; no state.
 */
#ifndef DECIMA_CODEC_WIRE_H
#define DECIMA_CODEC_WIRE_H

#include <decima/plugin.h>

#include "core/base/buf.h"

/*
 * Appends the batch, an overlay too. 0, -ENOMEM or -EFBIG (the buffer's limit); the buffer then
 * keeps its error and what it held before.
 */
int wire__encode(const struct dcm_batch *b, struct buf *out);

/*
 * Reads exactly [n] bytes, which may be anybody's. Everything goes through a builder, so the result
 * keeps the rules of builder.h, has its id from the bytes, and equal entries of an overlay are one
 * again. It takes at most 16 MiB + 32 n bytes of memory, and as much again while it works.
 * -EBADMSG: damaged or cut; -EPROTONOSUPPORT: of another version; -EINVAL or -E2BIG: an entry that
 * a builder refuses; -ENOMEM.
 */
int wire__decode(const void *data, size_t n, struct dcm_batch **ret_batch, struct dcm_error *err);

#endif
