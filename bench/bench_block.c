/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_block.c - the store's blocks: how small, how fast written, how fast added up
 *
 * One JSON line a figure: the best of several turns on one core, over a day of one host
 * (bench/fleet_day.h): 60 series, 8,640 ticks, some ten million rows, as twelve blocks of two hours
 * and as one of a day with compressed rows, and the compactions that make these of blocks of a
 * quarter of an hour. What it is compared with is a scan of the same rows as an array of 24-byte
 * structs in memory, in the same run.
 *
 *	bench_block [TURNS [SKEW]]
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/figure.h"
#include "bench/fleet_day.h"
#include "plugins/storage/local/block.h"
#include "plugins/storage/local/compact.h"
#include "plugins/storage/local/squeeze.h"

enum { READ_TURNS = 6 }; /* reading takes so little that there is time for more */

/* A row as the general engines keep it. */
struct plain_row {
	uint64_t time;
	uint32_t series, stack;
	int64_t value;
};

static volatile uint64_t sink;

/* This thread's CPU time: neighbours on the machine do not count. */
static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static double seconds_since(int64_t start)
{
	return (double)(now_ns() - start) / 1e9;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_block: %s\n", what);
	exit(1);
}

/* -------------------------------------------------------------------------------------------------
 * Questions
 */

struct reader {
	struct block *blocks;
	uint32_t n;
	struct chunk_cursor *cursor;
	struct chunk_profiles profiles;
	uint32_t *sums;	 /* of a chunk, by rank */
	int64_t *totals; /* of all stacks */
};

static void add_rollup(struct reader *r, const struct chunk *c)
{
	struct chunk_sums it;
	int n = chunk_sums__begin(&it, c, 0);

	while (n >= 0 && (n = chunk_sums__next(&it)) > 0)
		for (int i = 0; i < n; i++)
			r->totals[it.ids[i]] += it.values[i];
	if (n < 0)
		die("no rollup");
}

/* The first of the profiles at hand that is not before. */
static uint32_t first_from(const struct chunk_profiles *p, int64_t from)
{
	uint32_t low = 0, high = p->n;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (p->time_ms[middle] < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sums by rank become totals of stacks. */
static void add_ranks(struct reader *r, const struct chunk *c)
{
	struct chunk_sums it;
	uint32_t at = 0;
	int n = chunk_ids__begin(&it, c);

	while (n >= 0 && (n = chunk_sums__next(&it)) > 0) {
		const uint32_t kept = squeeze__narrow(it.ids, r->sums + at, (uint32_t)n,
						      c->types[0].unit, it.ids, it.values);

		for (uint32_t i = 0; i < kept; i++)
			r->totals[it.ids[i]] += it.values[i];
		at += (uint32_t)n;
	}
	if (n < 0)
		die("no stacks");
}

static void add_rows(struct reader *r, const struct chunk *c, int64_t from, int64_t to)
{
	struct chunk_span span = { .chunk = c, .profiles = &r->profiles };

	if (chunk__profiles(c, CHUNK_WANT_TIMES | CHUNK_WANT_ROWS, &r->profiles) < 0)
		die("no profiles");
	span.first = first_from(&r->profiles, from);
	span.n = first_from(&r->profiles, to) - span.first;
	memset(r->sums, 0, c->entry->n_stacks * sizeof(*r->sums));
	if (!chunk__is_narrow(&c->types[0]) ||
	    (span.n && chunk__sum_narrow(r->cursor, &span, r->sums) < 0))
		die("no rows");
	add_ranks(r, c);
}

/* Adds what a chunk's profiles in [from, to) hold; all of it through the rollup if that may be. */
static void add_chunk(struct reader *r, const struct chunk *c, int64_t from, int64_t to, bool rollup)
{
	if (rollup && c->entry->first_ms >= from && c->entry->last_ms < to)
		add_rollup(r, c);
	else
		add_rows(r, c, from, to);
}

static double merge(struct reader *r, int64_t from, int64_t to, bool rollup)
{
	const int64_t start = now_ns();
	struct chunk c;

	for (uint32_t b = 0; b < r->n; b++)
		for (uint64_t i = 0; i < r->blocks[b].info.n_chunks; i++) {
			if (r->blocks[b].info.last_ms < from || r->blocks[b].info.first_ms >= to)
				break;
			if (block__chunk(&r->blocks[b], i, &c) < 0)
				die("no chunk");
			add_chunk(r, &c, from, to, rollup);
		}
	return seconds_since(start);
}

static double time_series(struct reader *r)
{
	const int64_t start = now_ns();
	uint64_t sum = 0;
	struct chunk c;

	for (uint32_t b = 0; b < r->n; b++)
		for (uint64_t i = 0; i < r->blocks[b].info.n_chunks; i++) {
			if (block__chunk(&r->blocks[b], i, &c) < 0 ||
			    chunk__profiles(&c, CHUNK_WANT_TIMES | CHUNK_WANT_TOTALS, &r->profiles) < 0)
				die("no profiles");
			sum += r->profiles.before[0][r->profiles.n];
		}
	sink += sum;
	return seconds_since(start);
}

/* The sums of a whole day against plain addition. */
static void check(const struct fleet_day *d, const struct reader *r)
{
	int64_t *plain = calloc(DAY_STACKS, sizeof(*plain));

	for (uint32_t s = 0; plain && s < DAY_SERIES; s++)
		for (uint64_t i = 0; i < d->series[s].n; i++)
			plain[d->series[s].stacks[i]] += d->series[s].values[i];
	if (!plain || memcmp(plain, r->totals, DAY_STACKS * sizeof(*plain)))
		die("the sums are wrong");
	free(plain);
}

static double scan(const struct fleet_day *d)
{
	struct plain_row *rows = calloc(d->n_rows, sizeof(*rows));
	int64_t *totals = calloc(DAY_STACKS, sizeof(*totals)), start;
	double best = 0;
	uint64_t n = 0;

	if (!rows || !totals)
		die("out of memory");
	for (uint32_t s = 0; s < DAY_SERIES; s++)
		for (uint64_t i = 0; i < d->series[s].n; i++)
			rows[n++] = (struct plain_row){ i, s, d->series[s].stacks[i],
							d->series[s].values[i] };
	for (int turn = 0; turn < 9; turn++) {
		start = now_ns();
		for (uint64_t i = 0; i < n; i++)
			totals[rows[i].stack] += rows[i].value;
		at_most(&best, seconds_since(start));
	}
	sink += (uint64_t)totals[7];
	free(rows);
	free(totals);
	return best;
}

/*
 * Targets of reading are from a machine on which a row of the array takes so long. `why` of one that
 * is missed by no more than the array is: the machine.
 */
#define PLAIN_NS 1.05
static const char *machine(double value, double target, double plain_ns)
{
	static char why[160];

	snprintf(why, sizeof(why), "adding up the array takes %.3g ns a row here, and %.3g where the target comes from",
		 plain_ns, PLAIN_NS);
	return value * PLAIN_NS <= target * plain_ns ? why : NULL;
}

static void bench(const struct fleet_day *d, const char *name, uint32_t n_blocks, int zstd_level,
		  int turns, double plain)
{
	struct buf *bytes = calloc(n_blocks, sizeof(*bytes));
	struct reader r = { .blocks = calloc(n_blocks, sizeof(struct block)),
			    .n = n_blocks,
			    .cursor = chunk_cursor__new(),
			    .sums = calloc(DAY_STACKS, sizeof(uint32_t)),
			    .totals = calloc(DAY_STACKS, sizeof(int64_t)) };
	double seal = 0, exact = 0, rollup = 0, series = 0, quarter = 0, total_bytes = 0;
	const double rows = (double)d->n_rows;
	char label[64];

	for (uint32_t i = 0; i < n_blocks; i++) {
		const struct fleet_block window = { .at = i, .n = n_blocks, .zstd_level = zstd_level };

		seal += fleet_day__write_block(d, &window, &bytes[i]);
		total_bytes += (double)bytes[i].n;
		if (block__open(&r.blocks[i], bytes[i].data, bytes[i].n, NULL) < 0)
			die("a block does not open");
	}
	for (int turn = 0; turn < turns * READ_TURNS; turn++) {
		memset(r.totals, 0, DAY_STACKS * sizeof(*r.totals));
		at_most(&exact, merge(&r, INT64_MIN, INT64_MAX, false));
		check(d, &r);
		memset(r.totals, 0, DAY_STACKS * sizeof(*r.totals));
		at_most(&rollup, merge(&r, INT64_MIN, INT64_MAX, true));
		check(d, &r);
		at_most(&series, time_series(&r));
		const int64_t middle = r.blocks[n_blocks / 2].info.first_ms + 3600000;
		at_most(&quarter, merge(&r, middle, middle + 900000, true));
	}
#define PRINT(as, what, ...)                                                                       \
	(snprintf(label, sizeof(label), "block_%s_%s", name, what), as(label, __VA_ARGS__))
	PRINT(figure, "bytes", total_bytes / rows, "bytes a row", "an array of structs",
	      sizeof(struct plain_row));
	PRINT(figure_at_least, "write", rows / seal, "rows/s", 8e6, NULL);
	const double plain_ns = plain * 1e9 / rows, exact_ns = exact * 1e9 / rows,
		     series_ns = series * 1e9 / (double)d->n_profiles;
	PRINT(figure, "merge", exact_ns, "ns a row", "adding up the array", plain_ns);
	PRINT(figure_at_most, "merge_exact", exact_ns, "ns a row", 2,
	      zstd_level ? "zstd takes what is above block_24h_merge_exact"
			 : machine(exact_ns, 2, plain_ns));
	if (n_blocks == 1)
		PRINT(figure_at_most, "merge_rollup", rollup * 1e3, "ms a day", 1, NULL);
	else
		PRINT(figure, "merge_rollup", rollup * 1e3, "ms a day", "wanted of a block of a day", 1);
	PRINT(figure_at_most, "time_series", series_ns, "ns a profile", 2,
	      machine(series_ns, 2, plain_ns));
	if (n_blocks > 1)
		PRINT(figure_at_most, "quarter_hour", quarter * 1e3, "ms", 0.5,
		      machine(quarter * 1e3, 0.5, plain_ns));
	else
		PRINT(figure, "quarter_hour", quarter * 1e3, "ms", "wanted of blocks of two hours", 0.5);
	for (uint32_t i = 0; i < n_blocks; i++)
		buf__fini(&bytes[i]);
	free(bytes);
	free(r.blocks);
	chunk_cursor__free(r.cursor);
	chunk_profiles__fini(&r.profiles);
	free(r.sums);
	free(r.totals);
}

/* -------------------------------------------------------------------------------------------------
 * Compaction
 */

/* What the program has allocated, and the most that it had between two chunks of a compaction. */
static size_t allocated(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static bool note_memory(void *ctx)
{
	size_t *most = ctx;
	const size_t now = allocated();

	if (now > *most)
		*most = now;
	return false;
}

/* Takes what comes and keeps nothing: a file's place. */
static int discard(void *ctx, const void *p, size_t n)
{
	(void)p;
	*(size_t *)ctx += n;
	return 0;
}

/* How many bytes a compaction takes at most, but for the blocks themselves. */
static double memory_of(const struct block *blocks, uint32_t n, int zstd_level)
{
	const struct block_options o = { .level = 2, .zstd_level = zstd_level };
	const struct block *inputs[COMPACT_MAX_BLOCKS];
	const size_t before = allocated();
	size_t most = 0, written = 0;
	struct block_info info;

	for (uint32_t i = 0; i < n; i++)
		inputs[i] = &blocks[i];
	struct compact *c = compact__new(&(struct compact_job){
		.blocks = inputs, .n_blocks = n, .cancelled = note_memory, .ctx = &most });
	if (!c || compact__write(c, &o, discard, &written, &info) != 0)
		die("a compaction failed");
	compact__free(c);
	return (double)(most - before);
}

/* Blocks [n] become one of `to`; returns how long that took. */
static double compact(const struct block *blocks, uint32_t n, uint32_t level, int zstd_level,
		      struct buf *to)
{
	const struct block_options o = { .id = { 2, (uint8_t)level },
					 .level = level,
					 .zstd_level = zstd_level };
	const struct block *inputs[COMPACT_MAX_BLOCKS];
	const int64_t start = now_ns();
	struct block_info info;

	for (uint32_t i = 0; i < n; i++)
		inputs[i] = &blocks[i];
	struct compact *c = compact__new(&(struct compact_job){ .blocks = inputs, .n_blocks = n });
	if (!c || compact__write(c, &o, fleet_day__put, to, &info) != 0)
		die("a compaction failed");
	compact__free(c);
	return seconds_since(start);
}

static void open_all(struct block *blocks, const struct buf *bytes, uint32_t n, double *ret_bytes)
{
	*ret_bytes = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (block__open(&blocks[i], bytes[i].data, bytes[i].n, NULL) < 0)
			die("a block does not open");
		*ret_bytes += (double)bytes[i].n;
	}
}

/*
 * The life of a day's rows: sealed by the quarter of an hour, compacted to two hours, and to the
 * day.
 */
static void bench_life(const struct fleet_day *d, int turns)
{
	enum { N_SEALED = 96, N_FIRST = DAY_WINDOWS, EACH = N_SEALED / N_FIRST };
	static struct buf sealed[N_SEALED], first[N_FIRST], second;
	static struct block blocks[N_SEALED], merged[N_FIRST], day;
	double sealed_bytes, first_bytes = 0, second_bytes = 0, first_best = 0, second_best = 0;
	const double rows = (double)d->n_rows;

	for (uint32_t i = 0; i < N_SEALED; i++)
		fleet_day__write_block(d, &(struct fleet_block){ .at = i, .n = N_SEALED }, &sealed[i]);
	open_all(blocks, sealed, N_SEALED, &sealed_bytes);
	for (int turn = 0; turn < turns; turn++) {
		double seconds = 0;

		for (uint32_t i = 0; i < N_FIRST; i++) {
			buf__reset(&first[i]);
			seconds += compact(&blocks[i * (uint32_t)EACH], EACH, 1, 0, &first[i]);
		}
		at_most(&first_best, seconds);
		open_all(merged, first, N_FIRST, &first_bytes);
		buf__reset(&second);
		at_most(&second_best, compact(merged, N_FIRST, 2, 1, &second));
		open_all(&day, &second, 1, &second_bytes);
		if (day.info.n_rows != d->n_rows || day.info.n_profiles != d->n_profiles)
			die("a compaction lost something");
	}
	figure("block_sealed_bytes", sealed_bytes / rows, "bytes a row", "an array of structs",
	       sizeof(struct plain_row));
	figure_at_most("block_compact_1_bytes", first_bytes / rows, "bytes a row", 1.8, NULL);
	figure_at_most("block_compact_2_bytes", second_bytes / rows, "bytes a row", 1.45, NULL);
	figure("block_compact_1", rows / first_best, "rows/s", "wanted of a seal", 8e6);
	figure_at_most("block_compact_2_memory", memory_of(merged, N_FIRST, 1) / (1 << 20), "MiB",
		       64, NULL);
	figure("block_compact_2", rows / second_best, "rows/s", "wanted of a seal", 8e6);
	for (uint32_t i = 0; i < N_SEALED; i++)
		buf__fini(&sealed[i]);
	for (uint32_t i = 0; i < N_FIRST; i++)
		buf__fini(&first[i]);
	buf__fini(&second);
}

int main(int argc, char **argv)
{
	const int turns = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
	static struct fleet_day day;

	fleet_day__init(&day, argc > 2 ? strtod(argv[2], NULL) : 1.15);
	const double plain = scan(&day);

	fprintf(stderr, "%" PRIu64 " rows of %" PRIu64 " profiles\n", day.n_rows, day.n_profiles);
	bench(&day, "2h", DAY_WINDOWS, 0, turns, plain);
	bench(&day, "24h", 1, 0, turns, plain);
	bench(&day, "24h_zstd", 1, 1, turns, plain);
	bench_life(&day, turns);
	fleet_day__fini(&day);
	return 0;
}
