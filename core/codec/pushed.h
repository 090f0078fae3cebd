/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/codec/pushed.h - requests that carry pprofs with the labels of their series: Pyroscope's push.v1, Parca's WriteRaw
 *
 *	PushRequest { series = 1 { labels = 1 { name = 1, value = 2 }, samples = 2 { raw_profile = 1, ID = 2 }, .. } }
 *	WriteRawRequest { series = 2 { labels = 1 { labels = 1 { name = 1, value = 2 } }, samples = 2 { raw_profile = 1, .. } }, .. }
 *
 * Sources: grafana/pyroscope, api/push/v1/push.proto; parca-dev/parca, proto/parca/profilestore/v1alpha1/profilestore.proto.
 *
 * Each raw profile becomes a profile of the batch, as pprof.h says, so that a request is stored whole or not at all. The label
 * __name__ is the first part of its types; others that begin with "__" are the sender's own affair, and left out. In push.v1 what a heap
 * profile has in use is a gauge also where the profile has a duration: those who push leave it as it is. With __delta__="false"
 * what counts up elsewhere (alloc_*, contentions, delay) is a difference already, and none is to be made.
 *
 * max_bytes bounds all raw profiles together, unpacked.
 */
#ifndef DECIMA_CODEC_PUSHED_H
#define DECIMA_CODEC_PUSHED_H

#include "core/codec/decode.h"

int pushed__decode(const uint8_t *data, size_t n, const struct decode_options *o,
		   struct dcm_batch **ret, struct dcm_error *err);
/* JSON (pushed_json.c). */
int pushed__decode_json(const uint8_t *data, size_t n, const struct decode_options *o,
			struct dcm_batch **ret, struct dcm_error *err);
int pushed__decode_raw(const uint8_t *data, size_t n, const struct decode_options *o,
		       struct dcm_batch **ret, struct dcm_error *err);

#endif
