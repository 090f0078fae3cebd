/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/json_text.h - JSON from anyone into jansson's tree, within a limit of memory
 *
 * A look at the text tells what its tree would cost before jansson makes it. Pure functions; any thread.
 */
#ifndef DECIMA_CODEC_JSON_TEXT_H
#define DECIMA_CODEC_JSON_TEXT_H

#include <jansson.h>

#include <decima/plugin.h>

/*
 * The tree of the text, which may have max_bytes, and the tree 16 times as much: the caller's, for json_decref(). 0; -EINVAL
 * and -E2BIG with a sentence behind "FORMAT: "; -ENOMEM.
 */
int json_text__load(const char *format, const uint8_t *data, size_t n, uint64_t max_bytes,
		    json_t **ret, struct dcm_error *err);

#endif
