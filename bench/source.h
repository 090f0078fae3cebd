/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/source.h - where the rows come from that a store is measured with: a made-up fleet, or a
 * recorded set
 *
 * Hosts report every 10 s, each under a label `node` of its own, "node-0" and so on. The same in
 * every run. What fails ends the program.
 */
#ifndef DECIMA_BENCH_SOURCE_H
#define DECIMA_BENCH_SOURCE_H

#include <stdbool.h>

#include <decima/plugin.h>

#define SOURCE_CPU	"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
#define SOURCE_BASE_NS	INT64_C(1700000000000000000)
#define SOURCE_NS_A_SEC INT64_C(1000000000)
enum { SOURCE_TICK_S = 10, SOURCE_DAY_TICKS = 8640, SOURCE_FLEET_ROWS = 1200 };

struct source_shape {
	uint32_t n_hosts, n_ticks;
	double max_rows; /* of all hosts: fewer ticks are made of more, but for 4; 0: no bound */
	bool labels;	 /* of samples */
};

/* How many ticks that is, when a host has so many rows at each. */
static inline uint32_t source__n_ticks(const struct source_shape *shape, double rows_a_tick)
{
	const double most = shape->max_rows / shape->n_hosts / rows_a_tick;

	if (shape->max_rows == 0 || most >= shape->n_ticks)
		return shape->n_ticks;
	return most < 4 ? 4 : (uint32_t)most;
}

struct source {
	struct source_shape shape; /* n_ticks: as many as there are */
	uint64_t n_rows;	   /* of all ticks of all hosts */
	/*
	 * What one host reports at the tick, moved to time_ns; the caller unrefs it. A host's ticks
	 * are asked for in order, and from 0 on again. Batches of a host are told apart by `id`
	 * unless a tick was asked for twice.
	 */
	struct dcm_batch *(*batch)(struct source *s, uint32_t host, uint32_t tick, int64_t time_ns);
	void (*free)(struct source *s);
};

/*
 * Hosts of 16 cores (bench/fleet.h) with 20 services each, stacks of 24 frames that share their
 * callers; each host has other ones but for a third. SOURCE_FLEET_ROWS rows a host and tick, about.
 * Labels are a thread's name.
 */
struct source *source__fleet(const struct source_shape *shape);

/*
 * The windows of a recorded set (bench/recorded.h) again and again, a host's from another one on
 * than its neighbour's. Labels are those of the sampler.
 */
struct source *source__recorded(const struct source_shape *shape, const char *file);

/*
 * The ticks of `of`, which it takes and makes at once, again and again: the batch of any tick costs
 * next to nothing. Each is another batch, by its id.
 */
struct source *source__again(struct source *of);

#endif
