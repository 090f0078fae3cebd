/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/crowd.c - made-up profiles whose flame trees are large
 */
#include "bench/crowd.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/source.h"
#include "core/base/str.h"
#include "core/batch/builder.h"
#include "tests/unit/random.h"

enum { N_FUNCTIONS = 20000, DEPTH_MAX = 64 };

static struct dcm_builder *begin(const char *service, int64_t time_ns)
{
	struct dcm_builder *b = builder__new((uint64_t)4 << 30);
	const uint32_t unit = builder__string(b, STR("nanoseconds"));
	const uint32_t cpu = builder__string(b, STR("cpu"));
	const struct dcm_type type = {
		builder__string(b, STR("process_cpu")), cpu, unit, cpu, unit, DCM_DELTA
	};
	const struct dcm_pair name = { builder__string(b, STR("service_name")),
				       builder__string(b, str__of(service)) };

	builder__profile(b,
			 &(struct dcm_profile){ .series = builder__series(b, &name, 1),
						.time_ns = time_ns,
						.duration_ns = SOURCE_TICK_S * SOURCE_NS_A_SEC,
						.period = 1 },
			 &type, 1);
	return b;
}

static struct dcm_batch *end(struct dcm_builder *b)
{
	struct dcm_batch *batch = NULL;

	if (builder__seal(b, &batch, NULL) < 0)
		abort();
	builder__free(b);
	return batch;
}

static uint32_t put_location(struct dcm_builder *b, uint32_t mapping, uint32_t i)
{
	char name[80];

	snprintf(name, sizeof(name), "service::module_%u::Class%u::method_%u(Argument const&)",
		 i % 37, i % 911, i);
	const struct dcm_function fn = { .name = builder__string(b, str__of(name)) };
	const struct dcm_line line = { .function = builder__function(b, &fn) };
	const struct dcm_location l = { .mapping = mapping,
					.process = DCM_NONE,
					.addr_kind = DCM_ADDR_VADDR,
					.address = (uint64_t)i * 64 };

	return builder__location(b, &l, &line, 1);
}

static uint32_t put_mapping(struct dcm_builder *b)
{
	return builder__mapping(
		b, &(struct dcm_mapping){ .file = builder__string(b, STR("/usr/bin/app")) });
}

struct dcm_batch *crowd__random(const char *service, int64_t time_ns, uint32_t n_stacks)
{
	static uint32_t locations[N_FUNCTIONS];
	struct dcm_builder *b = begin(service, time_ns);
	const uint32_t mapping = put_mapping(b);
	struct random r = { 42 };

	for (uint32_t i = 0; i < N_FUNCTIONS; i++)
		locations[i] = put_location(b, mapping, i);
	for (uint32_t i = 0; i < n_stacks; i++) {
		uint32_t frames[DEPTH_MAX], n = 20 + (uint32_t)random__below(&r, 21), at = 0;
		int64_t value = 1 + (int64_t)random__below(&r, 100);

		for (uint32_t k = n; k > 0; k--) { /* root first, stored leaf first */
			uint32_t pick = (uint32_t)(random__below(&r, 3) * random__below(&r, 3) *
						   random__below(&r, 2));

			frames[k - 1] = locations[at];
			at = (uint32_t)((at * 2654435761u + pick * 40503u + 1) % N_FUNCTIONS);
		}
		builder__row(b, builder__stack(b, frames, n), 0, &value);
	}
	return end(b);
}

struct dcm_batch *crowd__columns(const char *service, int64_t time_ns, uint32_t n_stacks, uint32_t depth)
{
	struct dcm_builder *b = begin(service, time_ns);
	const uint32_t mapping = put_mapping(b);
	const int64_t value = 100;

	for (uint32_t i = 0; i < n_stacks; i++) {
		uint32_t frames[DEPTH_MAX];

		for (uint32_t k = 0; k < depth && k < DEPTH_MAX; k++)
			frames[k] = put_location(b, mapping,
						 k + 1 == depth ? 0 : (i * depth + k) % N_FUNCTIONS);
		builder__row(b, builder__stack(b, frames, depth), 0, &value);
	}
	return end(b);
}
