/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/fleet_day.c - a day of one host of the fleet, and blocks of it
 */
#include "bench/fleet_day.h"

#include "bench/figure.h"
#include "plugins/storage/local/block.h"

void fleet_day__init(struct fleet_day *d, double skew)
{
	const struct fleet f = { DAY_SERIES, DAY_TICKS, DAY_STACKS, 16, skew, 1 };

	d->n_rows = d->n_profiles = 0;
	for (uint32_t i = 0; i < DAY_SERIES; i++) {
		fleet__series(&f, i, &d->series[i]);
		d->n_rows += d->series[i].n;
		d->n_profiles += d->series[i].n_profiles;
	}
}

void fleet_day__fini(struct fleet_day *d)
{
	for (uint32_t i = 0; i < DAY_SERIES; i++)
		fleet_series__fini(&d->series[i]);
}

int fleet_day__put(void *buf, const void *p, size_t n)
{
	buf__append(buf, p, n);
	return ((struct buf *)buf)->error;
}

/*
 * The profiles of one series that start in [from_ms, until_ms), as a chunk: into `profiles`, the
 * rows stay where they are.
 */
static struct chunk_source chunk_of(const struct fleet_day *d, uint32_t series,
				    const struct fleet_block *b, int64_t from_ms, int64_t until_ms)
{
	static struct chunk_profile profiles[DAY_TICKS];
	const struct fleet_series *of = &d->series[series];
	struct chunk_source source = {
		.series = series, .n_types = 1, .types = { b->type }, .profiles = profiles
	};
	uint64_t row = 0;

	for (uint32_t i = 0; i < of->n_profiles; row += of->n_rows[i++]) {
		if (of->time_ms[i] < from_ms || of->time_ms[i] >= until_ms)
			continue;
		if (!source.n_profiles) {
			source.stacks = of->stacks + row;
			source.labels = b->labels ? b->labels[series] + row : NULL;
			source.values = of->values + row;
		}
		profiles[source.n_profiles++] = (struct chunk_profile){ of->time_ms[i], 10000000000,
									52631578, of->n_rows[i] };
		source.n_rows += of->n_rows[i];
	}
	return source;
}

double fleet_day__write_block(const struct fleet_day *d, const struct fleet_block *b, struct buf *to)
{
	const struct block_options o = { .id = { 1, (uint8_t)b->at, (uint8_t)b->n },
					 .zstd_level = b->zstd_level };
	const int64_t begin = d->series[0].time_ms[0] - 20, length = (int64_t)DAY_TICKS * 10000 / b->n;
	const int64_t from = b->at ? begin + b->at * length : INT64_MIN;
	const int64_t until = b->at + 1 < b->n ? begin + (b->at + 1) * length : INT64_MAX;
	struct block_writer *w = block_writer__new(&o, fleet_day__put, to);
	struct block_info info;
	double seconds = 0, start;

	need(w, "out of memory");
	for (uint32_t s = 0; s < DAY_SERIES; s++) {
		const struct chunk_source source = chunk_of(d, s, b, from, until);

		start = thread_seconds();
		need(!source.n_profiles || block_writer__chunk(w, &source) == 0,
		     "a chunk was not written");
		seconds += thread_seconds() - start;
	}
	start = thread_seconds();
	need(block_writer__finish(w, &info) == 0, "a block was not finished");
	block_writer__free(w);
	return seconds + thread_seconds() - start;
}
