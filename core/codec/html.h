/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/html.h - a profile as one page that needs nothing else: flame graph, table, search
 *
 * The page (flame.html) holds the profile in speedscope's format, and loads nothing from anywhere:
 * its content security policy forbids it. Out only. Any thread.
 */
#ifndef DECIMA_CODEC_HTML_H
#define DECIMA_CODEC_HTML_H

#include <decima/plugin.h>

#include "core/base/buf.h"

/* As codec__encode(): one profile by index, or all of them with DCM_NONE, appended to `out`. */
int html__encode(const struct dcm_batch *b, uint32_t profile, struct buf *out, struct dcm_error *err);

#endif
