/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/output/delivery/profile_id.h - what a profile is called where ids are unique: in OTLP, in push.v1
 */
#ifndef DECIMA_OUTPUT_DELIVERY_PROFILE_ID_H
#define DECIMA_OUTPUT_DELIVERY_PROFILE_ID_H

#include <decima/plugin.h>

#include "core/base/hash.h"

/* Of the k-th of those that a profile of the batch is sent as: the same whenever it is sent again, and no other's. */
static inline struct dcm_hash profile_id__of(const struct dcm_batch *b, uint32_t profile, uint32_t k)
{
	const struct dcm_profile *p = &b->profiles[profile];
	const struct {
		struct dcm_batch_id batch;
		struct dcm_hash series;
		int64_t time_ns;
		uint32_t profile, k;
	} whole = { b->id, b->series_hashes[p->series], p->time_ns, profile, k };

	return hash__bytes128(&whole, sizeof(whole));
}

#endif
