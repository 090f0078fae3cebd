/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/native_batch.c - one stack of native frames, for what gives them names
 */
#include "tests/unit/native_batch.h"

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/builder.h"
#include "tests/unit/unit.h"

enum { FRAMES_MAX = 512 };

struct dcm_batch *native_batch__seal(struct dcm_builder *b, const uint32_t *locations, uint32_t n)
{
	const struct dcm_pair pair = { builder__string(b, STR("service_name")),
				       builder__string(b, STR("x")) };
	const struct dcm_type type = { .name = builder__string(b, STR("process_cpu")),
				       .sample_type = builder__string(b, STR("cpu")),
				       .sample_unit = builder__string(b, STR("nanoseconds")) };
	const struct dcm_profile head = { .series = builder__series(b, &pair, 1),
					  .time_ns = 1,
					  .duration_ns = 1 };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;

	builder__profile(b, &head, &type, 1);
	builder__row(b, builder__stack(b, locations, n), 0, &(int64_t){ 5 });
	if (builder__seal(b, &batch, &err))
		fail_msg("%s", err.text);
	return batch;
}

struct dcm_batch *native_batch__of(const char *file, const char *build_id,
				   const uint64_t *addresses, uint32_t n)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	uint32_t locations[FRAMES_MAX];

	assert_non_null(b);
	assert_true(n <= FRAMES_MAX);
	const struct dcm_mapping m = { .file = builder__string(b, str__of(file)),
				       .build_id = builder__string(b, str__of(build_id)),
				       .kind = DCM_MAPPING_FILE };
	const uint32_t mapping = builder__mapping(b, &m);
	for (uint32_t i = 0; i < n; i++) {
		const struct dcm_location l = { .mapping = mapping,
						.process = DCM_NONE,
						.address = addresses[i],
						.addr_kind = DCM_ADDR_VADDR,
						.kind = DCM_FRAME_NATIVE };

		locations[i] = builder__location(b, &l, NULL, 0);
	}
	return native_batch__seal(b, locations, n);
}
