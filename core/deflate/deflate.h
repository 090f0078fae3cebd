/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/deflate/deflate.h - gzip and zlib, in up to a size, and gzip out
 *
 * Sources: RFC 1950, RFC 1952. Compressed bytes may be anybody's: one kilobyte can say a megabyte.
 * So the room grows in steps with what is really there, never beyond the limit, and a size that
 * gzip declares is believed only where the format can hold it. Any thread.
 */
#ifndef DECIMA_DEFLATE_DEFLATE_H
#define DECIMA_DEFLATE_DEFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/buf.h"

/* gzip by its first two bytes, which are no text. */
bool deflate__is_gzip(const uint8_t *data, size_t n);

/* gzip, or what may be zlib of the usual window. Text can begin so ("x 5"), a protobuf profile cannot. */
bool deflate__is_compressed(const uint8_t *data, size_t n);

/*
 * Appends the content of a gzip file (all its members) or a zlib stream. 0; -EINVAL: it is damaged
 * or cut off, or something follows it; -E2BIG: more than max_bytes; -ENOMEM. `out` may then hold a
 * part.
 */
int deflate__unpack(const uint8_t *data, size_t n, uint64_t max_bytes, struct buf *out,
		    struct dcm_error *err);

/* Appends data as one gzip member, level 1 to 12. 0, -ENOMEM, or out's error. */
int deflate__pack(const uint8_t *data, size_t n, int level, struct buf *out);

#endif
