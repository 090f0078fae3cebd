/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/storage/counter.h - profiles of a value that counts up
 */
#ifndef DECIMA_TESTS_STORAGE_COUNTER_H
#define DECIMA_TESTS_STORAGE_COUNTER_H

#include "core/base/str.h"
#include "core/batch/builder.h"

#define COUNTER_TYPE "mutex:delay:nanoseconds:contentions:count"

/* The counter of a series without labels stands at `value` then. What fails sticks to the builder. */
static inline void counter__fill(struct dcm_builder *b, int64_t time_ns, uint32_t stack, int64_t value)
{
	const struct dcm_type type = {
		builder__string(b, STR("mutex")),	builder__string(b, STR("delay")),
		builder__string(b, STR("nanoseconds")), builder__string(b, STR("contentions")),
		builder__string(b, STR("count")),	DCM_CUMULATIVE
	};
	const struct dcm_profile head = { .series = builder__series(b, NULL, 0), .time_ns = time_ns };

	builder__profile(b, &head, &type, 1);
	builder__row(b, stack, 0, &value);
}

#endif
