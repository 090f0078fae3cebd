/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/jobs.c - made-up profiles of jobs
 */
#include "bench/jobs.h"

#include <stdio.h>

#include "bench/figure.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/codec/codec.h"
#include "tests/unit/random.h"

enum { N_FUNCTIONS = 2000, DEPTH_LEAST = 20, DEPTH_MOST = 60, UNNAMED = 3 };

static bool is_heap(uint32_t series)
{
	return series % JOBS_INSTANCES == 0;
}

void jobs__sender(uint32_t series, struct jobs_sender *ret)
{
	snprintf(ret->job, sizeof(ret->job), "job-%u", series / JOBS_INSTANCES);
	snprintf(ret->instance, sizeof(ret->instance), "instance-%u", series % JOBS_INSTANCES);
	ret->labels[0] = (struct dcm_label_text){ STR("job"), str__of(ret->job) };
	ret->labels[1] = (struct dcm_label_text){ STR("instance"), str__of(ret->instance) };
	ret->options = (struct decode_options){
		.name = str__of(is_heap(series) ? "memory" : "process_cpu"),
		.labels = ret->labels,
		.n_labels = 2,
	};
}

/* A profile under construction. */
struct making {
	struct dcm_builder *b;
	uint32_t job, mapping;
	uint32_t locations[N_FUNCTIONS]; /* + 1; 0: not there yet */
};

static uint32_t location_of(struct making *m, uint32_t i)
{
	const bool named = m->job % UNNAMED != UNNAMED - 1;
	const struct dcm_location l = { .mapping = m->mapping,
					.process = DCM_NONE,
					.addr_kind = DCM_ADDR_FILE_OFFSET,
					.address = 0x1000 + (uint64_t)i * 64 };
	struct dcm_line line = { .line = 10 + i % 400 };
	char name[80], file[48];

	if (m->locations[i])
		return m->locations[i] - 1;
	if (named) {
		snprintf(name, sizeof(name), "job%u/internal/part%u.(*Handler%u).serve%u", m->job,
			 i % 23, i % 211, i);
		snprintf(file, sizeof(file), "/src/job%u/internal/part%u/file%u.go", m->job, i % 23,
			 i % 97);
		const struct dcm_function f = { .name = builder__string(m->b, str__of(name)),
						.file = builder__string(m->b, str__of(file)) };
		line.function = builder__function(m->b, &f);
	}
	m->locations[i] = builder__location(m->b, &l, named ? &line : NULL, named) + 1;
	return m->locations[i] - 1;
}

/* Root first, stored leaf first. */
static uint32_t make_stack(struct making *m, uint32_t series, uint32_t stack)
{
	struct random r = { (uint64_t)series * 1000003 + stack };
	const uint32_t depth = DEPTH_LEAST + (uint32_t)random__below(&r, DEPTH_MOST - DEPTH_LEAST + 1);
	uint32_t frames[DEPTH_MOST], at = 0;

	for (uint32_t k = depth; k > 0; k--) {
		frames[k - 1] = location_of(m, at);
		/* Mostly the first of those that are called there. */
		const uint32_t pick = (uint32_t)(random__below(&r, 3) * random__below(&r, 3) *
						 random__below(&r, 2));
		at = (at * 2654435761u + pick * 40503u + 1) % N_FUNCTIONS;
	}
	return builder__stack(m->b, frames, depth);
}

static struct dcm_type type_of(struct dcm_builder *b, bool heap)
{
	const uint32_t unit = builder__string(b, str__of(heap ? "bytes" : "nanoseconds"));

	return (struct dcm_type){
		.name = builder__string(b, str__of(heap ? "memory" : "process_cpu")),
		.sample_type = builder__string(b, str__of(heap ? "inuse_space" : "cpu")),
		.sample_unit = unit,
		.period_type = builder__string(b, str__of(heap ? "space" : "cpu")),
		.period_unit = unit,
		.temporality = heap ? DCM_GAUGE : DCM_DELTA,
	};
}

void jobs__profile(uint32_t series, uint32_t n, int64_t time_ns, struct buf *out)
{
	struct making m = { .b = builder__new((uint64_t)1 << 28), .job = series / JOBS_INSTANCES };
	const bool heap = is_heap(series);
	const int64_t period = heap ? 524288 : 10000000;
	struct random r = { (uint64_t)series << 32 | n };
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;
	char text[48];

	need(m.b, "out of memory");
	snprintf(text, sizeof(text), "/usr/bin/job%u", m.job);
	const uint32_t file = builder__string(m.b, str__of(text));
	snprintf(text, sizeof(text), "%040x", 0xb01d0000u + m.job);
	m.mapping = builder__mapping(
		m.b, &(struct dcm_mapping){ .limit = 1 << 20,
					    .file = file,
					    .build_id = builder__string(m.b, str__of(text)) });
	const struct dcm_type type = type_of(m.b, heap);
	builder__profile(m.b,
			 &(struct dcm_profile){ .series = builder__series(m.b, NULL, 0),
						.time_ns = time_ns,
						.duration_ns = heap ? 0 : INT64_C(10000000000),
						.period = period },
			 &type, 1);
	/* Other ones each time are missing. */
	for (uint32_t i = 0; i < JOBS_ROWS; i++) {
		const int64_t value = period * (1 + (int64_t)random__below(&r, 20));

		builder__row(m.b, make_stack(&m, series, (i + n * 3) % JOBS_STACKS), 0, &value);
	}
	need(builder__seal(m.b, &batch, &err) == 0, err.text);
	need(codec__encode(batch, 0, "pprof", out, &err) == 0, err.text);
	batch__unref(batch);
	builder__free(m.b);
}
