/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_path.c - samples a second through the whole path: build, seal, queue, route, merge
 * into memory
 *
 * The real pipeline and the real memory store (loaded from PLUGIN_PATH) take windows as the sampler
 * makes them: 20,000 samples over 8,000 code addresses, three of four with a stack that the window
 * has not seen, 30 frames deep on average. The figure counts the CPU time of all threads, so it is
 * "on one core" whatever the machine has. It is compared with building and sealing alone, in the
 * same run.
 *
 *	bench_path PLUGIN_PATH [WINDOWS]
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "core/base/error.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/config/options.h"
#include "core/pipeline/pipeline.h"
#include "core/plugin/instance.h"
#include "core/plugin/loader.h"
#include "tests/unit/random.h"

enum {
	N_FILES = 40,
	N_LOCATIONS = 8000,
	N_SAMPLES = 20000,
	N_SERIES = 20,
	N_SETS = 200,
	MIN_DEPTH = 10,
	MAX_DEPTH = 50,
	PERIOD = 52631578
};

struct sample {
	uint32_t stack; /* index into stacks */
	uint32_t set;
};
static uint32_t stacks[N_SAMPLES][MAX_DEPTH], depth[N_SAMPLES];
static struct sample samples[N_SAMPLES];

static void make_samples(void)
{
	struct random r = { 7 };

	for (uint32_t i = 0; i < N_SAMPLES; i++) {
		depth[i] = MIN_DEPTH + (uint32_t)random__below(&r, MAX_DEPTH - MIN_DEPTH + 1);
		for (uint32_t k = 0; k < depth[i]; k++)
			stacks[i][k] = (uint32_t)random__below(&r, N_LOCATIONS);
		samples[i].stack = random__below(&r, 4) ? i : (uint32_t)random__below(&r, i + 1);
		samples[i].set = (uint32_t)random__below(&r, N_SETS);
	}
}

static void fail(const char *what, const struct dcm_error *err)
{
	fprintf(stderr, "bench_path: %s: %s\n", what, err ? err->text : "");
	exit(1);
}

static struct dcm_type cpu_type(struct dcm_builder *b)
{
	return (struct dcm_type){
		builder__string(b, STR("process_cpu")), builder__string(b, STR("cpu")),
		builder__string(b, STR("nanoseconds")), builder__string(b, STR("cpu")),
		builder__string(b, STR("nanoseconds")), DCM_DELTA
	};
}

static uint32_t numbered(struct dcm_builder *b, const char *what, uint32_t i)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%s%u", what, i);

	return builder__string(b, (struct dcm_str){ text, (uint32_t)n });
}

/*
 * One window, as the sampler's flush makes it: each address becomes a location once, each sample a
 * stack and a row.
 */
static struct dcm_batch *make_window(struct dcm_builder *b, uint32_t window)
{
	static uint32_t locations[N_LOCATIONS], sets[N_SETS];
	struct dcm_error err = DCM_ERROR_INIT;
	struct dcm_batch *batch = NULL;
	struct dcm_type type = cpu_type(b);
	const int64_t value = PERIOD;
	uint32_t frames[MAX_DEPTH], mappings[N_FILES];

	for (uint32_t i = 0; i < N_FILES; i++) {
		struct dcm_mapping m = { .start = 0x1000,
					 .limit = 0x100000,
					 .file = numbered(b, "/usr/lib/lib", i),
					 .build_id = numbered(b, "abcdef0", i) };

		mappings[i] = builder__mapping(b, &m);
	}
	for (uint32_t i = 0; i < N_LOCATIONS; i++) {
		struct dcm_location l = { .mapping = mappings[i % N_FILES],
					  .process = DCM_NONE,
					  .address = 0x2000 + i * 16,
					  .addr_kind = DCM_ADDR_FILE_OFFSET };

		locations[i] = builder__location(b, &l, NULL, 0);
	}
	for (uint32_t i = 0; i < N_SETS; i++) {
		struct dcm_label l = { .name = builder__string(b, STR("tid")), .num = i, .unit = 0 };

		sets[i] = builder__label_set(b, &l, 1);
	}
	for (uint32_t p = 0; p < N_SERIES; p++) {
		struct dcm_pair pair = { builder__string(b, STR("comm")), numbered(b, "program", p) };
		struct dcm_profile head = { .series = builder__series(b, &pair, 1),
					    .period = PERIOD,
					    .time_ns = INT64_C(1700000000000000000) +
						       INT64_C(10000000000) * window,
					    .duration_ns = INT64_C(10000000000) };

		builder__profile(b, &head, &type, 1);
		for (uint32_t i = p; i < N_SAMPLES; i += N_SERIES) {
			const uint32_t *stack = stacks[samples[i].stack];
			uint32_t n = depth[samples[i].stack];

			for (uint32_t k = 0; k < n; k++)
				frames[k] = locations[stack[k]];
			builder__row(b, builder__stack(b, frames, n), sets[samples[i].set], &value);
		}
	}
	if (builder__seal(b, &batch, &err) < 0)
		fail("seal", &err);
	return batch;
}

static int emit_nothing(void *ctx, const struct dcm_host *from, struct dcm_batch *batch,
			dcm_done_fn done, void *done_ctx)
{
	(void)ctx;
	(void)from;
	(void)batch;
	(void)done;
	(void)done_ctx;
	return -ESHUTDOWN;
}

static struct instance *open_store(struct loader *loader, const struct host_services *services)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct problems problems = { 0 };
	const struct options_env env = { .problems = &problems };
	const struct plugin *plugin = NULL;
	struct settings *settings = NULL;
	struct instance *store = NULL;

	if (loader__get(loader, DCM_STORAGE, "memory", &plugin, &err) < 0)
		fail("loading", &err);
	if (settings__new(plugin, &env, "storage memory", NULL, NULL, 0, &settings) < 0)
		fail("options", NULL);
	if (instance__new(plugin, "memory", settings, services, &store, &err) < 0 ||
	    instance__open_and_start(store, &err) < 0)
		fail("store", &err);
	problems__fini(&problems);
	return store;
}

static double run_path(struct pipeline *p, uint32_t windows)
{
	struct dcm_builder *b = builder__new(0);
	double start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

	for (uint32_t w = 0; w < windows; w++) {
		struct dcm_batch *batch = make_window(b, w);

		while (pipeline__emit(p, batch, NULL, NULL) == -EAGAIN)
			poll(NULL, 0, 1);
		batch__unref(batch);
	}
	if (pipeline__flush(p, INT64_MAX) < 0)
		fail("flush", NULL);
	builder__free(b);
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
}

static double run_build(uint32_t windows)
{
	struct dcm_builder *b = builder__new(0);
	double start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);

	for (uint32_t w = 0; w < windows; w++)
		batch__unref(make_window(b, w));
	builder__free(b);
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
}

int main(int argc, char **argv)
{
	uint32_t windows = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100;
	struct host_services services = { .node = "bench", .emit = emit_nothing };
	struct dcm_error err = DCM_ERROR_INIT;
	struct loader *loader = NULL;
	struct pipeline *p = NULL;
	struct destination *d = NULL;
	struct instance *store;
	double build, path, n = (double)windows * N_SAMPLES;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_path PLUGIN_PATH [WINDOWS]\n");
		return 2;
	}
	make_samples();
	if (loader__new(argv[1], false, &loader, &err) < 0)
		fail("plugin path", &err);
	store = open_store(loader, &services);
	if (pipeline__new(&(struct pipeline_config){ .intake_bytes = 256 << 20 }, &p, &err) < 0 ||
	    pipeline__add(p,
			  &(struct destination_config){ .name = "memory",
							.storage = &instance__plugin(store)->storage,
							.handle = instance__handle(store),
							.policy = QUEUE_BLOCK },
			  &d, &err) < 0 ||
	    pipeline__start(p, &err) < 0)
		fail("pipeline", &err);
	build = run_build(windows);
	path = run_path(p, windows);
	printf("{\"bench\":\"batch_path\",\"value\":%.0f,\"unit\":\"samples/s of one "
	       "core\",\"compared_with\":\"build and seal alone\","
	       "\"baseline\":%.0f,\"ratio\":%.2f}\n",
	       n / path, n / build, build / path);
	pipeline__remove(p, d, INT64_MAX);
	pipeline__stop(p, INT64_MAX);
	pipeline__free(p);
	instance__stop(store);
	instance__free(store);
	loader__free(loader);
	return 0;
}
