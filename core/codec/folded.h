/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/folded.h - folded stacks: root;..;leaf VALUE, a line a stack
 *
 * Source: https://github.com/brendangregg/FlameGraph. Writing takes the last type of each profile,
 * as pprof does. When these differ from profile to profile, "type=.." leads every stack as a frame.
 * Semicolons and line breaks within names become ':' and ' ', and a '#' that would begin a line
 * becomes ':'. A location without a name reads
 * "libfoo.so+0x1234". Lines are sorted; equal ones are added up.
 *
 * Reading makes names without addresses of it: type samples:count (delta), a name's end "_[k]" says
 * kernel, "_[j]" JIT, "_[i]" inlined; blanks at a name's end go. The number behind the last blank
 * is the value; a fraction is rounded. Empty lines and lines that begin with "# " are left out; an
 * empty frame reads "[unknown]". options.measure says otherwise what is counted.
 *
 * "lines" has no values: each line is a stack, met once.
 */
#ifndef DECIMA_CODEC_FOLDED_H
#define DECIMA_CODEC_FOLDED_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/codec/decode.h"

int folded__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		   struct dcm_batch **ret, struct dcm_error *err);
int folded__decode_lines(const uint8_t *data, size_t n, const struct decode_options *o,
			 struct dcm_batch **ret, struct dcm_error *err);

/*
 * One profile or all (DCM_NONE), appended. 0, -EINVAL (no such profile), -ENOMEM, or out's error.
 */
int folded__encode(const struct dcm_batch *b, uint32_t profile, struct buf *out, struct dcm_error *err);

#endif
