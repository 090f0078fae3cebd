/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_batch.c - how fast a batch is built, sealed, merged, written and read
 *
 * One JSON line a figure: the best of several turns on one core. The workload is a sampler's: 8,000
 * code addresses of 40 mapped files, 10,000 stacks 30 deep on average, picked at random for each
 * row (which no cache likes), 50 label sets. What a figure is compared with was measured in the
 * same run on the same bytes.
 *
 *	bench_batch [TURNS]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/copy.h"
#include "core/codec/wire.h"
#include "tests/unit/random.h"

enum {
	N_FILES = 40,
	N_LOCATIONS = 8000,
	N_STACKS = 10000,
	DEPTH_MIN = 10,
	DEPTH_MAX = 50,
	N_SETS = 50,
	N_ROWS = 1000000,      /* of the hot path */
	N_WINDOW_ROWS = 20000, /* of one batch that is sealed, written, read */
};

/* The samples, as an input has them before they are in a batch. */
struct samples {
	struct dcm_location locations[N_LOCATIONS];
	uint32_t stacks[N_STACKS][DEPTH_MAX];
	uint32_t depth[N_STACKS];
	uint32_t row_stack[N_ROWS], row_set[N_ROWS];
	int64_t row_value[N_ROWS];
	uint64_t n_row_locations; /* of all rows */
};

static struct samples *samples__new(void)
{
	struct samples *s = calloc(1, sizeof(*s));
	struct random r = { 1 };

	if (!s)
		exit(1);
	for (uint32_t i = 0; i < N_LOCATIONS; i++)
		s->locations[i] = (struct dcm_location){
			.mapping = (uint32_t)random__below(&r, N_FILES),
			.process = DCM_NONE,
			.address = 0x1000 + random__below(&r, 1 << 22),
			.addr_kind = DCM_ADDR_FILE_OFFSET,
		};
	for (uint32_t i = 0; i < N_STACKS; i++) {
		s->depth[i] = (uint32_t)(DEPTH_MIN + random__below(&r, DEPTH_MAX - DEPTH_MIN + 1));
		for (uint32_t k = 0; k < s->depth[i]; k++)
			s->stacks[i][k] = (uint32_t)random__below(&r, N_LOCATIONS);
	}
	for (uint32_t i = 0; i < N_ROWS; i++) {
		s->row_stack[i] = (uint32_t)random__below(&r, N_STACKS);
		s->row_set[i] = (uint32_t)random__below(&r, N_SETS);
		s->row_value[i] = (int64_t)(1 + random__below(&r, 5)) * 52631578;
		s->n_row_locations += s->depth[s->row_stack[i]];
	}
	return s;
}

static void add_files(struct dcm_builder *b)
{
	char text[64];

	for (uint32_t i = 0; i < N_FILES; i++) {
		int n = snprintf(text, sizeof(text), "/usr/lib/x86_64-linux-gnu/lib%u.so.%u", i, i % 7);
		uint32_t file = builder__string(b, (struct dcm_str){ text, (uint32_t)n });
		n = snprintf(text, sizeof(text), "%040" PRIx64, hash__bytes(&i, sizeof(i), 0));
		uint32_t id = builder__string(b, (struct dcm_str){ text, (uint32_t)n });
		builder__mapping(b, &(struct dcm_mapping){ .file = file, .build_id = id, .limit = i });
	}
}

static uint32_t text_of(struct dcm_builder *b, const char *text)
{
	return builder__string(b, (struct dcm_str){ text, (uint32_t)strlen(text) });
}

/* Files, label sets and the head of a profile: everything but locations, stacks and rows. */
static void begin(struct dcm_builder *b)
{
	add_files(b);
	uint32_t name = text_of(b, "thread_name");
	for (uint32_t i = 1; i < N_SETS; i++) {
		char text[32];
		snprintf(text, sizeof(text), "worker-%u", i);
		builder__label_set(b, &(struct dcm_label){ name, text_of(b, text), 0, DCM_NONE }, 1);
	}
	const struct dcm_pair pair = { text_of(b, "service_name"), text_of(b, "bench") };
	uint32_t cpu = text_of(b, "cpu"), ns = text_of(b, "nanoseconds");
	const struct dcm_type type = { text_of(b, "process_cpu"), cpu, ns, cpu, ns, DCM_DELTA };
	builder__profile(b,
			 &(struct dcm_profile){ .series = builder__series(b, &pair, 1),
						.time_ns = 1700000000000000000,
						.duration_ns = 10000000000,
						.period = 52631578 },
			 &type, 1);
}

/* What an input does for each sample of a window, from its addresses to the row. */
static void add_sample(struct dcm_builder *b, const struct samples *s, uint32_t row)
{
	uint32_t ids[DEPTH_MAX], stack = s->row_stack[row];

	for (uint32_t k = 0; k < s->depth[stack]; k++)
		ids[k] = builder__location(b, &s->locations[s->stacks[stack][k]], NULL, 0);
	builder__row(b, builder__stack(b, ids, s->depth[stack]), s->row_set[row], &s->row_value[row]);
}

static double seconds_since(int64_t start)
{
	return (double)(clock__mono(&clock__system) - start) / 1e9;
}

static volatile uint64_t sink;

/* Stacks that are known, by the ids of their locations, and their rows. */
static void bench_rows(const struct samples *s, int turns)
{
	double build = 0, copy = 0;
	size_t n_bytes = s->n_row_locations * sizeof(uint32_t) + N_ROWS * 16;
	uint8_t *room = malloc(n_bytes);

	for (int turn = 0; turn < turns; turn++) {
		struct dcm_builder *b = builder__new((uint64_t)1 << 30);
		begin(b);
		for (uint32_t i = 0; i < N_LOCATIONS; i++)
			builder__location(b, &s->locations[i], NULL, 0);
		for (uint32_t i = 0; i < N_STACKS; i++)
			builder__stack(b, s->stacks[i], s->depth[i]);
		int64_t start = clock__mono(&clock__system);
		for (uint32_t i = 0; i < N_ROWS; i++) {
			uint32_t of = s->row_stack[i];
			uint32_t stack = builder__stack(b, s->stacks[of], s->depth[of]);
			builder__row(b, stack, s->row_set[i], &s->row_value[i]);
		}
		at_most(&build, seconds_since(start));
		if (builder__error(b))
			exit(1);
		builder__free(b);

		memset(room, 0, n_bytes);
		uint8_t *to = room;
		start = clock__mono(&clock__system);
		for (uint32_t i = 0; i < N_ROWS; i++) {
			uint32_t of = s->row_stack[i];
			memcpy(to, s->stacks[of], s->depth[of] * sizeof(uint32_t));
			to += s->depth[of] * sizeof(uint32_t);
			memcpy(to, &s->row_value[i], 8);
			memcpy(to + 8, &s->row_set[i], 4);
			to += 16;
		}
		at_most(&copy, seconds_since(start));
		sink += room[n_bytes / 2];
	}
	free(room);
	figure("batch_build_rows", N_ROWS / build, "rows/s", "memcpy of the same stacks and rows",
	       N_ROWS / copy);
}

/* Locations that are known, by their address. */
static void bench_locations(const struct samples *s, int turns)
{
	double add = 0, hash = 0;
	enum { N = 4000000 };
	struct dcm_builder *b = builder__new(0);

	begin(b);
	for (uint32_t i = 0; i < N_LOCATIONS; i++)
		builder__location(b, &s->locations[i], NULL, 0);
	for (int turn = 0; turn < turns; turn++) {
		int64_t start = clock__mono(&clock__system);
		for (uint32_t i = 0; i < N; i++)
			sink += builder__location(b, &s->locations[(i * 7919u) % N_LOCATIONS], NULL, 0);
		at_most(&add, seconds_since(start));
		start = clock__mono(&clock__system);
		for (uint32_t i = 0; i < N; i++)
			sink += hash__bytes(&s->locations[(i * 7919u) % N_LOCATIONS],
					    sizeof(struct dcm_location), 1);
		at_most(&hash, seconds_since(start));
	}
	builder__free(b);
	figure("batch_find_locations", N / add, "locations/s", "xxh3-64 of the same structs", N / hash);
}

static struct dcm_batch *window(struct dcm_builder *b, const struct samples *s, double *ret_add,
				double *ret_seal)
{
	struct dcm_batch *batch = NULL;

	int64_t start = clock__mono(&clock__system);
	begin(b);
	for (uint32_t i = 0; i < N_WINDOW_ROWS; i++)
		add_sample(b, s, i);
	at_most(ret_add, seconds_since(start));
	start = clock__mono(&clock__system);
	if (builder__seal(b, &batch, NULL) < 0)
		exit(1);
	at_most(ret_seal, seconds_since(start));
	return batch;
}

/*
 * A window of a sampler: 20,000 samples from addresses to a sealed batch; then merged, written,
 * read.
 */
static void bench_window(const struct samples *s, int turns)
{
	double add = 0, seal = 0, hash = 0, merge = 0, encode = 0, decode = 0, copy = 0;
	struct dcm_builder *b = builder__new(0);
	struct buf bytes = { 0 };
	uint64_t n_bytes = 0, n_batch_bytes = 0, n_stacks = 0;

	for (int turn = 0; turn < turns * 4; turn++) {
		struct dcm_batch *batch = window(b, s, &add, &seal), *other = NULL;
		n_batch_bytes = batch->bytes;
		n_stacks = batch->n_stacks;

		int64_t start = clock__mono(&clock__system);
		for (uint32_t i = 0; i < batch->n_stacks; i++)
			sink += hash__bytes128(batch->location_hashes, batch->stacks[i].n * 16).lo;
		at_most(&hash, seconds_since(start));

		start = clock__mono(&clock__system);
		if (batch__merge(&batch, 1, b, &other, NULL) < 0)
			exit(1);
		at_most(&merge, seconds_since(start));
		batch__unref(other);

		buf__reset(&bytes);
		start = clock__mono(&clock__system);
		if (wire__encode(batch, &bytes) < 0)
			exit(1);
		at_most(&encode, seconds_since(start));
		n_bytes = bytes.n;

		start = clock__mono(&clock__system);
		if (wire__decode(bytes.data, bytes.n, &other, NULL) < 0)
			exit(1);
		at_most(&decode, seconds_since(start));
		batch__unref(other);

		uint8_t *room = malloc(n_batch_bytes);
		start = clock__mono(&clock__system);
		memcpy(room, batch->stack_locations, batch->n_stack_locations * sizeof(uint32_t));
		memcpy(room, batch->values, batch->n_values * sizeof(int64_t));
		memcpy(room, batch->row_stacks, batch->n_rows * sizeof(uint32_t));
		memcpy(room, batch->row_labels, batch->n_rows * sizeof(uint32_t));
		memcpy(room, batch->locations, batch->n_locations * sizeof(*batch->locations));
		at_most(&copy, seconds_since(start));
		sink += room[n_batch_bytes / 2];
		free(room);
		batch__unref(batch);
	}
	builder__free(b);
	buf__fini(&bytes);
	double rows = N_WINDOW_ROWS, mb = (double)n_bytes / 1e6;
	figure("batch_window", rows / (add + seal), "rows/s", "the same without sealing", rows / add);
	figure("batch_seal", (double)n_stacks / seal, "stacks/s",
	       "xxh3-128 of as many bytes of stacks alone", (double)n_stacks / hash);
	figure("batch_merge", rows / merge, "rows/s", "building it from addresses", rows / (add + seal));
	figure("wire_encode", mb / encode, "MB/s", "memcpy of the columns", mb / copy);
	figure("wire_decode", mb / decode, "MB/s", "memcpy of the columns", mb / copy);
	figure("wire_decode_rows", rows / decode, "rows/s", "building it from addresses",
	       rows / (add + seal));
	figure("wire_bytes_a_row", (double)n_bytes / rows, "bytes", "the batch in memory",
	       (double)n_batch_bytes / rows);
}

int main(int argc, char **argv)
{
	int turns = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
	struct samples *s = samples__new();

	bench_rows(s, turns);
	bench_locations(s, turns);
	bench_window(s, turns);
	free(s);
	return 0;
}
