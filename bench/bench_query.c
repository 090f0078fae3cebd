/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_query.c - named answers to flame trees, tables and folded text
 *
 * Two answers of 20,000 functions: one whose tree has about a million nodes (72,000 different
 * stacks, 30 frames deep on average, that share beginnings as real ones do: what is called next is
 * picked from a few, the first ones more often), and one of 10,000 stacks as an ordinary question
 * has them. Milliseconds of one thread, best of three.
 *
 *	bench_query
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/query/flame.h"
#include "core/query/flametree.h"
#include "core/query/render.h"
#include "core/query/top.h"
#include "tests/unit/random.h"

enum { N_FUNCTIONS = 20000 };

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static struct dcm_batch *make_answer(uint32_t n_stacks)
{
	static uint32_t locations[N_FUNCTIONS];
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new((uint64_t)4 << 30);
	struct dcm_mapping m = { .file = builder__string(b, STR("/usr/bin/app")) };
	uint32_t mapping = builder__mapping(b, &m);
	struct dcm_type type = { .name = builder__string(b, STR("process_cpu")),
				 .sample_type = builder__string(b, STR("cpu")) };
	struct dcm_profile head = { .series = builder__series(b, NULL, 0) };
	struct random r = { 42 };
	struct dcm_batch *batch = NULL;

	for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
		char name[80];
		snprintf(name, sizeof(name), "service::module_%u::Class%u::method_%u(Argument const&)",
			 i % 37, i % 911, i);
		struct dcm_function fn = { .name = builder__string(b, str__of(name)) };
		struct dcm_line line = { .function = builder__function(b, &fn) };
		struct dcm_location l = { .mapping = mapping,
					  .process = DCM_NONE,
					  .addr_kind = DCM_ADDR_VADDR,
					  .address = i * 64 };
		locations[i] = builder__location(b, &l, &line, 1);
	}
	builder__profile(b, &head, &type, 1);
	for (uint32_t i = 0; i < n_stacks; i++) {
		uint32_t frames[64], n = 20 + (uint32_t)random__below(&r, 21), at = 0;
		int64_t value = 1 + (int64_t)random__below(&r, 100);

		for (uint32_t k = n; k > 0; k--) { /* root first, stored leaf first */
			uint32_t pick = (uint32_t)(random__below(&r, 3) * random__below(&r, 3) *
						   random__below(&r, 2));

			frames[k - 1] = locations[at];
			at = (uint32_t)((at * 2654435761u + pick * 40503u + 1) % N_FUNCTIONS);
		}
		builder__row(b, builder__stack(b, frames, n), 0, &value);
	}
	if (builder__seal(b, &batch, NULL) < 0)
		abort();
	return batch;
}

static void report(const char *what, double ms, const char *note, uint64_t n, const char *of)
{
	printf("{\"bench\":\"query\",\"what\":\"%s, "
	       "%s\",\"value\":%.4g,\"unit\":\"ms\",\"note\":\"%lu %s; one thread\"}\n",
	       what, note, ms, (unsigned long)n, of);
	fflush(stdout);
}

#define BEST(expression)                                                                           \
	({                                                                                         \
		double best_ = 1e12;                                                               \
		for (unsigned i_ = 0; i_ < 3; i_++) {                                              \
			double from_ = now();                                                      \
			expression;                                                                \
			best_ = now() - from_ < best_ ? now() - from_ : best_;                     \
		}                                                                                  \
		best_;                                                                             \
	})

static void bench(struct dcm_batch *b, const char *note)
{
	struct frames *frames = NULL;
	struct flame *f = NULL;
	struct top *t = NULL;
	struct buf out = { 0 };
	struct flame_options all = { .max_nodes = FLAME_MAX_NODES }, inverted = all,
			     trimmed = { .max_nodes = 50000 };
	int r = 0;
	double ms;

	inverted.invert = true;
	ms = BEST({
		frames__unref(frames);
		r |= frames__new(b, FRAMES_FUNCTION, NULL, &frames, NULL);
	});
	report("frames", ms, note, b->n_locations, "locations");
	ms = BEST({
		flame__free(f);
		r |= flame__new(frames, &all, &f, NULL);
	});
	report("flame tree", ms, note, f->n, "nodes");
	ms = BEST({
		flame__free(f);
		r |= flame__new(frames, &inverted, &f, NULL);
	});
	report("inverted flame tree", ms, note, f->n, "nodes");
	ms = BEST({
		flame__free(f);
		r |= flame__new(frames, &trimmed, &f, NULL);
	});
	report("flame tree trimmed to 50,000", ms, note, f->n, "nodes");
	ms = BEST({
		top__free(t);
		r |= top__new(frames, NULL, &t, NULL);
	});
	report("table", ms, note, t->n_all, "functions");
	ms = BEST({
		buf__fini(&out);
		out = (struct buf){ 0 };
		r |= render__folded(frames, NULL, &out, NULL);
	});
	report("folded text", ms, note, out.n, "bytes");
	flame__free(f);
	r |= flame__new(frames, &all, &f, NULL);
	ms = BEST({
		buf__fini(&out);
		out = (struct buf){ 0 };
		r |= flametree__write(f, STR("{}"), &out);
	});
	report("flametree", ms, note, out.n, "bytes");
	if (r < 0)
		exit(1);
	buf__fini(&out);
	top__free(t);
	flame__free(f);
	frames__unref(frames);
}

int main(void)
{
	struct dcm_batch *large = make_answer(72000), *usual = make_answer(10000);

	bench(usual, "10,000 stacks");
	bench(large, "72,000 stacks");
	batch__unref(large);
	batch__unref(usual);
	return 0;
}
