/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/foreign.h - what bytes are that should have been a profile, and what to do about it
 *
 * An endpoint that answers with a page, a proxy's text, or another format is the usual mistake. Pure
 * functions; any thread.
 */
#ifndef DECIMA_CODEC_FOREIGN_H
#define DECIMA_CODEC_FOREIGN_H

#include <stdbool.h>

#include <decima/plugin.h>

/*
 * True, and -EINVAL's sentence in *err behind "FORMAT: ", when the bytes look like something else
 * that is known, or like text.
 */
bool foreign__tell(const char *format, const uint8_t *data, size_t n, struct dcm_error *err);

#endif
