/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/series_batch.c - batches with ever new series
 */
#include "tests/unit/series_batch.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/str.h"
#include "core/batch/builder.h"

static uint32_t make_series(struct dcm_builder *b, uint32_t n)
{
	char pod[32];

	snprintf(pod, sizeof(pod), "pod-%u", n);
	const struct dcm_pair overflow = { builder__string(b, STR(SERIES_BATCH_OVERFLOW)),
					   builder__string(b, STR("true")) };
	const struct dcm_pair pairs[] = {
		{ builder__string(b, STR("pod")), builder__string(b, str__of(pod)) },
		{ builder__string(b, STR("service_name")), builder__string(b, STR("api")) },
	};

	return n == DCM_NONE ? builder__series(b, &overflow, 1) : builder__series(b, pairs, 2);
}

struct dcm_batch *series_batch__new(int64_t time_ms, uint32_t n, bool is_gauge)
{
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	const uint32_t name = builder__string(b, is_gauge ? STR("heap") : STR("process_cpu"));
	const uint32_t unit = builder__string(b, STR("count"));
	const struct dcm_type type = { name, name, unit,
				       name, unit, is_gauge ? DCM_GAUGE : DCM_DELTA };
	const struct dcm_profile head = { .series = make_series(b, n), .time_ns = time_ms * 1000000 };
	struct dcm_batch *batch = NULL;

	builder__profile(b, &head, &type, 1);
	for (uint32_t i = 0; i < SERIES_BATCH_ROWS; i++) {
		const struct dcm_location l = { .mapping = DCM_NONE,
						.process = DCM_NONE,
						.addr_kind = DCM_ADDR_RUNTIME,
						.address = i };
		const uint32_t location = builder__location(b, &l, NULL, 0);
		const int64_t value = 1 + i;

		builder__row(b, builder__stack(b, &location, 1), 0, &value);
	}
	if (builder__seal(b, &batch, NULL) < 0)
		abort();
	return batch;
}

struct dcm_batch *series_batch__expect(struct series_room *room, int64_t time_ms, uint32_t n, bool is_gauge)
{
	if (!room->known[n] && room->n < room->max) {
		room->known[n] = true;
		room->n++;
	}
	if (room->known[n])
		return series_batch__new(time_ms, n, is_gauge);
	room->n_refused += is_gauge ? SERIES_BATCH_ROWS : 0;
	room->n_folded += is_gauge ? 0 : SERIES_BATCH_ROWS;
	return is_gauge ? NULL : series_batch__new(time_ms, DCM_NONE, false);
}
