/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/codec.h - formats by name: what the host's encode() and decode() and `decima convert`
 * do
 *
 *	"pprof"       pprof.h: gzip out; gzip, zlib or plain in, and pprof's older formats
 *	"folded"      folded.h
 *	"speedscope"  speedscope.h
 *	"html"        html.h, out only
 *	"perf"        perf_script.h, in only
 *	"batch"       wire.h: everything that a batch holds
 *	"lines"       folded.h, in only
 *	"push.v1", "push.v1.json"  pushed.h, in only
 *	"writeraw"    pushed.h, in only
 *
 * Bytes in are anybody's: decode.h says what is promised. Any thread.
 */
#ifndef DECIMA_CODEC_CODEC_H
#define DECIMA_CODEC_CODEC_H

#include <decima/plugin.h>

#include "core/base/buf.h"
#include "core/codec/decode.h"

/*
 * One profile by index, or all of them with DCM_NONE, appended to `out`. "batch" always holds all.
 * 0; -EINVAL: no such profile, or a format that is not known or not written (the sentence lists
 * those that are); -ENOMEM; out's error.
 */
int codec__encode(const struct dcm_batch *b, uint32_t profile, const char *format, struct buf *out,
		  struct dcm_error *err);

/* The same into memory of its own, which the caller frees. */
int codec__encode_bytes(const struct dcm_batch *b, uint32_t profile, const char *format,
			uint8_t **ret_data, size_t *ret_n, struct dcm_error *err);

/*
 * format NULL: found out from the bytes, and where these could be several kinds of text from the
 * end of o->file. Every format may come in gzip. Errors as in decode.h.
 */
int codec__decode(const char *format, const uint8_t *data, size_t n, struct dcm_batch **ret,
		  struct dcm_error *err);
/* The same with options; o may be NULL. */
int codec__decode_with(const char *format, const uint8_t *data, size_t n,
		       const struct decode_options *o, struct dcm_batch **ret, struct dcm_error *err);

/*
 * What the bytes look like; NULL when they look like none of them. Reads the first few KiB. gzip is
 * "pprof", as nearly always: codec__decode() looks into it.
 */
const char *codec__sniff(const uint8_t *data, size_t n);

/* By the end of a file's name (".pb.gz", ".folded", ..); NULL when it says nothing. */
const char *codec__format_of_name(const char *name);

#endif
