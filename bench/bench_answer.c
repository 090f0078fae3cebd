/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_answer.c - what questions over blocks cost, from the view to the answer
 *
 * One JSON line a figure: the best of several turns on one core (but for merge_by_two), over a day of one host
 * (bench/fleet_day.h): 60 series, 8,640 ticks, some ten million rows, as twelve blocks of two hours
 * and as one of a day, once without and once with a label set in each row. Stacks are 24 frames
 * deep and share their callers. Merges are measured up to where the answer begins to be written, to
 * where a host that builds nothing has got it, and into a builder. bench_block has what the kernels
 * below take alone.
 *
 *	bench_answer [TURNS [SKEW]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/heap.h"
#include "bench/fleet_day.h"
#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/answer/answer.h"
#include "plugins/storage/answer/crew.h"
#include "plugins/storage/answer/stock.h"
#include "plugins/storage/local/block_piece.h"
#include "tests/contract/storage_host.h"
#include "tests/unit/random.h"

enum { DEPTH = 24, N_SETS = 200 };
#define CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"

struct day {
	struct fleet_day fleet;
	uint32_t *labels[DAY_SERIES]; /* [series.n] a label set for each row, ascending with the stacks of a profile */
	struct dict *dict;
	uint32_t type;
	struct storage builder_host, empty_host;
	struct stock stock; /* as the store has it */
};

struct blocks {
	struct buf bytes[DAY_WINDOWS];
	struct block v[DAY_WINDOWS];
	uint32_t n;
};

/* -------------------------------------------------------------------------------------------------
 * A host that takes answers
 */

static uint32_t n_taken;
static double added_up; /* when the sums were there: an answer begins with a profile */
static clockid_t watch = CLOCK_THREAD_CPUTIME_ID;

static uint32_t take_string(struct dcm_builder *b, struct dcm_str s)
{
	(void)b;
	(void)s;
	return n_taken++;
}
static uint32_t take_mapping(struct dcm_builder *b, const struct dcm_mapping *m)
{
	(void)b;
	(void)m;
	return n_taken++;
}
static uint32_t take_location(struct dcm_builder *b, const struct dcm_location *l,
			      const struct dcm_line *lines, uint32_t n_lines)
{
	(void)b;
	(void)l;
	(void)lines;
	(void)n_lines;
	return n_taken++;
}
static uint32_t take_stack(struct dcm_builder *b, const uint32_t *locations, uint32_t n)
{
	(void)b;
	(void)locations;
	(void)n;
	return n_taken++;
}
static uint32_t take_stacks(struct dcm_builder *b, const uint32_t *locations,
			    const uint32_t *n_locations, uint32_t n)
{
	(void)b;
	(void)locations;
	(void)n_locations;
	n_taken += n;
	return n_taken - n;
}
static uint32_t take_series(struct dcm_builder *b, const struct dcm_pair *pairs, uint32_t n)
{
	(void)b;
	(void)pairs;
	(void)n;
	return n_taken++;
}
static uint32_t take_profile(struct dcm_builder *b, const struct dcm_profile *head,
			     const struct dcm_type *types, uint32_t n_types)
{
	(void)b;
	(void)head;
	(void)types;
	(void)n_types;
	if (added_up == 0)
		added_up = seconds_of(watch);
	return n_taken++;
}
static void take_row(struct dcm_builder *b, uint32_t stack, uint32_t label_set, const int64_t *values)
{
	(void)b;
	(void)stack;
	(void)label_set;
	(void)values;
	n_taken++;
}

/* -------------------------------------------------------------------------------------------------
 * The day
 */

static void make_stacks(struct dict *d)
{
	struct random r = { 5 };
	uint32_t frames[DEPTH], before[DEPTH] = { 0 };
	const struct dcm_mapping m = { .file = dict__string(d, STR("/usr/bin/app")),
				       .build_id = dict__string(d, STR("0011223344556677")) };
	const uint32_t mapping = dict__mapping(d, &m);

	for (uint32_t i = 0; i < DAY_STACKS; i++) {
		/* The callers of the stack before it, up to some depth; the leaf is first. */
		const uint32_t same = (uint32_t)random__below(&r, DEPTH);

		for (uint32_t k = 0; k < DEPTH; k++) {
			struct dcm_location l = { .mapping = mapping,
						  .process = DCM_NONE,
						  .addr_kind = DCM_ADDR_VADDR,
						  .address = 0x1000 + random__below(&r, 40000) };

			frames[k] = i && k >= DEPTH - same
					    ? before[k]
					    : dict__location(d, hash__mix(0, l.address), &l, NULL);
		}
		memcpy(before, frames, sizeof(before));
		need(dict__stack(d, frames, DEPTH) == i, "no stack");
	}
}

static void make_dict(struct day *day)
{
	struct dict *d = day->dict = dict__new();
	char text[32];

	need(d, "out of memory");
	make_stacks(d);
	for (uint32_t i = 0; i < DAY_SERIES; i++) {
		snprintf(text, sizeof(text), "service-%02u", i);
		struct dcm_pair p = { dict__string(d, STR("service_name")),
				      dict__string(d, str__of(text)) };
		need(dict__series(d, &p, 1) == i, "no series");
	}
	for (uint32_t i = 1; i < N_SETS; i++) {
		snprintf(text, sizeof(text), "worker-%u", i);
		struct dcm_label l = { .name = dict__string(d, STR("thread_name")),
				       .str = dict__string(d, str__of(text)),
				       .unit = DCM_NONE };
		need(dict__label_set(d, &l, 1) == i, "no label set");
	}
	struct dcm_type type = { dict__string(d, STR("process_cpu")), dict__string(d, STR("cpu")),
				 dict__string(d, STR("nanoseconds")), dict__string(d, STR("cpu")),
				 dict__string(d, STR("nanoseconds")), DCM_DELTA };
	day->type = dict__type(d, &type);
}

static struct day *day__new(double skew)
{
	struct day *d = calloc(1, sizeof(*d));
	struct random r = { 9 };

	need(d, "out of memory");
	fleet_day__init(&d->fleet, skew);
	for (uint32_t i = 0; i < DAY_SERIES; i++) {
		d->labels[i] = calloc(d->fleet.series[i].n, sizeof(uint32_t));
		need(d->labels[i], "out of memory");
		for (uint64_t k = 0; k < d->fleet.series[i].n; k++)
			d->labels[i][k] = 1 + i * 3 + (uint32_t)random__below(&r, 3); /* three threads */
	}
	make_dict(d);
	stock__init(&d->stock);
	storage__host(&d->builder_host);
	storage__host(&d->empty_host);
	struct dcm_host *h = &d->empty_host.host;
	h->add_string = take_string;
	h->add_mapping = take_mapping;
	h->add_location = take_location;
	h->add_stack = take_stack;
	h->add_stacks = take_stacks;
	h->add_series = take_series;
	h->add_profile = take_profile;
	h->add_row = take_row;
	return d;
}

static void day__free(struct day *d)
{
	fleet_day__fini(&d->fleet);
	for (uint32_t i = 0; i < DAY_SERIES; i++)
		free(d->labels[i]);
	dict__unref(d->dict);
	stock__fini(&d->stock);
	free(d);
}

static void write_blocks(const struct day *d, uint32_t n, bool labels, struct blocks *to)
{
	*to = (struct blocks){ .n = n };
	for (uint32_t i = 0; i < n; i++) {
		const struct fleet_block window = {
			.at = i, .n = n, .type = d->type, .labels = labels ? d->labels : NULL
		};

		fleet_day__write_block(&d->fleet, &window, &to->bytes[i]);
		need(block__open(&to->v[i], to->bytes[i].data, to->bytes[i].n, NULL) == 0,
		     "a block does not open");
	}
}

/* -------------------------------------------------------------------------------------------------
 * Questions
 */

struct ask {
	int64_t from_ms, to_ms;
	struct dcm_str by; /* empty: one group */
	enum {
		ASK_ALL,
		ASK_UNBUILT,
		ASK_SUMS
	} what;	     /* the answer in a builder; not built; not even given out */
	bool points; /* of a minute, instead of a merge */
	struct crew *crew;
};

static int64_t total;

static int add_points(void *ctx, const struct dcm_points *p)
{
	(void)ctx;
	for (uint32_t i = 0; i < p->n; i++)
		total += p->value[i];
	return 0;
}

/* The whole of it: making the view, adding up, answering. Seconds. */
static double ask(struct day *d, const struct blocks *b, const struct ask *a)
{
	const struct dcm_host *host = a->what == ASK_ALL ? &d->builder_host.host : &d->empty_host.host;
	const struct dcm_select sel = {
		.size = sizeof(sel), .type = STR(CPU), .from_ms = a->from_ms, .to_ms = a->to_ms
	};
	const struct dcm_group_by by = { &a->by, a->by.n > 0 };
	struct dcm_builder *builder = builder__new((uint64_t)4 << 30);
	struct dcm_batch *batch = NULL;
	struct view v;

	watch = a->crew ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
	const double start = seconds_of(watch);
	added_up = 0;

	view__init(&v, host, &sel, 1);
	v.crew = a->crew;
	v.stock = &d->stock;
	const struct dict_counts counts = dict__counts(d->dict);
	const uint32_t era = view__era(&v, d->dict, &counts);
	for (uint32_t i = 0; i < b->n; i++)
		need(block_piece__add_all(&v, &(struct block_pieces){ &b->v[i], era, 0 }) == 0,
		     "no pieces");
	need(view__seal(&v) == 0, "no view");
	need((a->points ? answer__points(&v, 60000, &by, add_points, NULL)
			: answer__merge(&v, &by, builder)) == 0,
	     "no answer");
	view__fini(&v);
	const double seconds = (a->what == ASK_SUMS ? added_up : seconds_of(watch)) - start;
	struct dcm_error err = DCM_ERROR_INIT;
	need(a->what != ASK_ALL || a->points || builder__seal(builder, &batch, &err) == 0, err.text);
	batch__unref(batch);
	builder__free(builder);
	return seconds;
}

/* Every point adds up to what was written. */
static void check(struct day *d, const struct blocks *b)
{
	const struct ask all = { .from_ms = 0, .to_ms = INT64_MAX, .points = true };
	int64_t plain = 0;

	for (uint32_t s = 0; s < DAY_SERIES; s++)
		for (uint64_t i = 0; i < d->fleet.series[s].n; i++)
			plain += d->fleet.series[s].values[i];
	total = 0;
	ask(d, b, &all);
	need(total == plain, "the sums are wrong");
}

static double best_of(struct day *d, const struct blocks *b, const struct ask *a, int turns)
{
	double best = 0;

	for (int i = 0; i < turns; i++)
		at_most(&best, ask(d, b, a));
	return best;
}

/* The time by the clock in ms, of so many threads: of what CPUs there are for them. */
static double by_crew(struct day *d, const struct blocks *b, const struct ask *of,
		      uint32_t n_threads, int turns)
{
	struct ask a = *of;
	struct crew crew;

	crew__init(&crew, n_threads, 1);
	a.crew = &crew;
	return best_of(d, b, &a, turns) * 1e3;
}

static void bench(struct day *d, const char *name, uint32_t n_blocks, bool labels, int turns)
{
	const double rows = (double)d->fleet.n_rows;
	struct blocks b;
	char label[64];

	write_blocks(d, n_blocks, labels, &b);
	check(d, &b);
	const int64_t first = b.v[0].info.first_ms, last = b.v[n_blocks - 1].info.last_ms;
	const int64_t middle = b.v[n_blocks / 2].info.first_ms + 3600000;
	struct ask a = { .from_ms = 0, .to_ms = INT64_MAX };
#define PRINT(as, what, ...)                                                                       \
	(snprintf(label, sizeof(label), "answer_%s_%s", name, what), as(label, __VA_ARGS__))
#define BY_ROLLUPS(what, ms)                                                                       \
	(n_blocks == 1 ? PRINT(figure_at_most, what, ms, "ms a day", 1, NULL)                      \
		       : PRINT(figure, what, ms, "ms a day", "wanted of a block of a day", 1))
	const double whole = best_of(d, &b, &a, turns) * 1e3;
	a.what = ASK_UNBUILT;
	const double unbuilt = best_of(d, &b, &a, turns) * 1e3;
	PRINT(figure, "merge", whole, "ms a day", "the same without building the answer", unbuilt);
	a.what = ASK_SUMS;
	const double sums = best_of(d, &b, &a, turns) * 1e3;
	BY_ROLLUPS("merge_sums", sums);
	a.by = STR("service_name");
	const double by_service = best_of(d, &b, &a, turns) * 1e3;
	BY_ROLLUPS("merge_sums_by_service", by_service);
	a.by = STR("thread_name");
	if (labels)
		PRINT(figure, "merge_sums_by_thread", best_of(d, &b, &a, turns) * 1e9 / rows,
		      "ns a row", "wanted without groups", 2);
	/* All but ten minutes: the rows of most chunks, instead of their rollups. */
	a = (struct ask){ .from_ms = first + 600000, .to_ms = last, .what = ASK_SUMS };
	if (n_blocks == 1)
		PRINT(figure_at_most, "merge_sums_exact", best_of(d, &b, &a, turns) * 1e9 / rows,
		      "ns a row", 2, NULL);
	PRINT(figure, "merge_by_two", by_crew(d, &b, &a, 2, turns), "ms", "by one",
	      by_crew(d, &b, &a, 1, turns));
	a = (struct ask){ .from_ms = middle, .to_ms = middle + 900000, .what = ASK_SUMS };
	const double quarter = best_of(d, &b, &a, turns) * 1e3;
	if (n_blocks > 1)
		PRINT(figure_at_most, "quarter_hour_sums", quarter, "ms",
		      0.5, "block_2h_quarter_hour is what reading takes; the rest is the view, made for each question");
	else
		PRINT(figure, "quarter_hour_sums", quarter, "ms", "wanted of blocks of two hours", 0.5);
	a.what = ASK_ALL;
	PRINT(figure, "quarter_hour", best_of(d, &b, &a, turns) * 1e3, "ms", "merge", whole);
	a = (struct ask){ .from_ms = 0, .to_ms = INT64_MAX, .points = true };
	PRINT(figure_at_most, "points",
	      best_of(d, &b, &a, turns) * 1e9 / (double)d->fleet.n_profiles, "ns a profile",
	      2, "block_time_series is what reading takes; the rest finds the minute of each and adds it to its sum");
	for (uint32_t i = 0; i < n_blocks; i++)
		buf__fini(&b.bytes[i]);
}

int main(int argc, char **argv)
{
	const int turns = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 12;

	heap__as_the_daemon();
	struct day *d = day__new(argc > 2 ? strtod(argv[2], NULL) : 1.15);

	fprintf(stderr, "%" PRIu64 " rows of %" PRIu64 " profiles\n", d->fleet.n_rows,
		d->fleet.n_profiles);
	bench(d, "2h", DAY_WINDOWS, false, turns);
	bench(d, "24h", 1, false, turns);
	bench(d, "2h_labels", DAY_WINDOWS, true, turns);
	bench(d, "24h_labels", 1, true, turns);
	day__free(d);
	return 0;
}
