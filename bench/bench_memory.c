/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_memory.c - rows a second into and out of the memory store, through its own operations
 *
 * Batches as the sampler makes them: 10,000 rows a window over 20 series, stacks 30 deep drawn from
 * 20,000 (most are known after a few windows) or all new. Reading merges what was written: over
 * everything, grouped, and as a series of points. Times are of one thread.
 *
 *	bench_memory PLUGIN.so [WINDOWS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "tests/contract/storage_host.h"
#include "tests/unit/random.h"

enum {
	N_SERIES = 20,
	N_ROWS = 10000,
	N_LOCATIONS = 8000,
	N_STACKS = 20000,
	DEPTH = 30,
	N_SETS = 200
};
#define BASE_NS 1700000000000000000
#define CPU	"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"

/* One window; `fresh`: no stack of it was ever seen. */
static struct dcm_batch *make_window(struct random *r, uint32_t window, bool fresh)
{
	static uint32_t locations[N_LOCATIONS], sets[N_SETS];
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new((uint64_t)1 << 30);
	struct dcm_mapping m = { .file = builder__string(b, STR("/usr/bin/app")),
				 .build_id = builder__string(b, STR("0011223344556677")) };
	uint32_t mapping = builder__mapping(b, &m);
	struct dcm_batch *batch = NULL;
	struct dcm_type type = {
		builder__string(b, STR("process_cpu")), builder__string(b, STR("cpu")),
		builder__string(b, STR("nanoseconds")), builder__string(b, STR("cpu")),
		builder__string(b, STR("nanoseconds")), DCM_DELTA
	};
	char text[32];

	for (uint32_t i = 0; i < N_LOCATIONS; i++) {
		struct dcm_location l = { .mapping = mapping,
					  .process = DCM_NONE,
					  .addr_kind = DCM_ADDR_VADDR,
					  .address = 0x1000 + i * 16 };
		locations[i] = builder__location(b, &l, NULL, 0);
	}
	for (uint32_t i = 0; i < N_SETS; i++) {
		struct dcm_label l = { .name = builder__string(b, STR("thread_name")), .unit = DCM_NONE };
		snprintf(text, sizeof(text), "worker-%u", i);
		l.str = builder__string(b, str__of(text));
		sets[i] = builder__label_set(b, &l, 1);
	}
	for (uint32_t s = 0; s < N_SERIES; s++) {
		snprintf(text, sizeof(text), "service-%u", s);
		struct dcm_pair pair = { builder__string(b, STR("service_name")),
					 builder__string(b, str__of(text)) };
		struct dcm_profile head = { .series = builder__series(b, &pair, 1),
					    .duration_ns = 10000000000,
					    .time_ns = BASE_NS + (int64_t)window * 10000000000,
					    .period = 52631578 };

		builder__profile(b, &head, &type, 1);
		for (uint32_t i = 0; i < N_ROWS / N_SERIES; i++) {
			struct random of = { fresh ? random__next(r) : random__below(r, N_STACKS) };
			uint32_t frames[DEPTH];
			int64_t value = 52631578;

			for (uint32_t k = 0; k < DEPTH; k++)
				frames[k] = locations[random__below(&of, N_LOCATIONS)];
			builder__row(b, builder__stack(b, frames, DEPTH),
				     sets[random__below(r, N_SETS)], &value);
		}
	}
	if (builder__seal(b, &batch, NULL) < 0)
		abort();
	return batch;
}

static void report(const char *what, double per_s, const char *unit, const char *note)
{
	printf("{\"bench\":\"memory\",\"what\":\"%s\",\"value\":%.3g,\"unit\":\"%s\",\"note\":\"%"
	       "s\"}\n",
	       what, per_s, unit, note);
	fflush(stdout);
}

static void bench_writing(const char *file, uint32_t n_windows, bool fresh, struct storage *ret)
{
	struct random r = { 1 };
	double spent = 0;

	if (!storage__open(ret, file, "{ max_bytes: 4GiB, retention: 0 }"))
		exit(1);
	for (uint32_t i = 0; i < n_windows; i++) {
		struct dcm_batch *b = make_window(&r, i, fresh);
		double from = thread_seconds();

		if (ret->ops->write(ret->instance, &b, 1, NULL, NULL, NULL) < 0)
			exit(1);
		spent += thread_seconds() - from;
		batch__unref(b);
	}
	report(fresh ? "write, every stack new" : "write, stacks known",
	       n_windows * (double)N_ROWS / spent, "rows/s", "30 frames a stack; one thread");
	struct dcm_store_stat st = { .size = sizeof(st) };
	ret->ops->stat(ret->instance, &st);
	report(fresh ? "memory, every stack new" : "memory, stacks known",
	       (double)st.bytes / (double)st.n_rows, "bytes/row", "with dictionary");
}

static void bench_merge(struct storage *s, const char *what, const struct dcm_group_by *by, double n_rows)
{
	struct dcm_select sel = { .size = sizeof(sel), .type = STR(CPU), .to_ms = INT64_MAX };
	double best = 1e9;

	for (unsigned i = 0; i < 3; i++) {
		struct dcm_builder *b = builder__new((uint64_t)4 << 30);
		double from = thread_seconds();

		if (s->ops->merge(s->instance, &sel, 1, by, &s->host, b, NULL) < 0)
			exit(1);
		double spent = thread_seconds() - from;
		best = spent < best ? spent : best;
		builder__free(b);
	}
	report(what, n_rows / best, "rows/s", "answer in a builder, not yet sealed; one thread");
}

static int count_points(void *ctx, const struct dcm_points *p)
{
	*(uint64_t *)ctx += p->n;
	return 0;
}

static void bench_points(struct storage *s, double n_rows)
{
	struct dcm_select sel = { .size = sizeof(sel), .type = STR(CPU), .to_ms = INT64_MAX };
	struct dcm_str label = STR("service_name");
	struct dcm_group_by by = { &label, 1 };
	uint64_t n = 0;
	double from = thread_seconds();

	if (s->ops->time_series(s->instance, &sel, 60000, &by, count_points, &n, NULL) < 0)
		exit(1);
	report("points of a minute by service", n_rows / (thread_seconds() - from), "rows/s",
	       "one thread");
}

int main(int argc, char **argv)
{
	uint32_t n_windows = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 200;
	struct dcm_str label = STR("thread_name");
	struct dcm_group_by by_thread = { &label, 1 }, none = { 0 };
	double n_rows = n_windows * (double)N_ROWS;
	struct storage s;

	if (argc < 2) {
		fprintf(stderr, "usage: bench_memory PLUGIN.so [WINDOWS]\n");
		return 2;
	}
	bench_writing(argv[1], n_windows / 4 ? n_windows / 4 : 1, true, &s);
	storage__close(&s);
	bench_writing(argv[1], n_windows, false, &s);
	bench_merge(&s, "merge everything", &none, n_rows);
	bench_merge(&s, "merge by thread (a sample label)", &by_thread, n_rows);
	bench_points(&s, n_rows);
	storage__close(&s);
	return 0;
}
