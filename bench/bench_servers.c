/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_servers.c - the local store with rows as two other servers were measured with
 *
 *	bench_servers STORAGE_LOCAL.so
 *
 * Parca (with its log) and Pyroscope (one process, on disk) were measured on another day, on a
 * machine of this kind with two cores and the client beside them, with 6,240 profiles of 10 s, 48
 * series, 500 stacks each of 20 to 60 frames, some without names, some of heaps, spread over a day:
 * 3.10 M rows. Those here are like them (bench/jobs.h), not the same. What stands
 * beside a figure is the better of the two; ten times as good is the aim.
 *
 * Here: the plugin with its defaults in a directory of its own, and the engine above it, in this
 * process; eight senders decode gzip of pprof, and each waits until its profile is on the disk; one
 * writer hands over what has come, as the pipeline does. All but the network and the server's HTTP
 * is in it. Answers are trees, written as the pages get them. Times are of the wall clock: of a
 * question the median of five; "2 cores" is what both do.
 *
 * Memory is the process's, with the profiles that wait to be sent. Files are counted as the disk
 * has them, the log's room that is allocated ahead as well; at rest without that.
 */
#include <ftw.h>
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/heap.h"
#include "bench/jobs.h"
#include "bench/source.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/codec/codec.h"
#include "core/query/engine.h"
#include "core/query/filter.h"
#include "core/query/flametree.h"
#include "tests/contract/storage_host.h"

enum {
	N_SENDERS = 8,
	N_ROUNDS = 130, /* each has a profile of each series */
	N_PROFILES = N_ROUNDS * JOBS_SERIES,
	TURN_ROUNDS = 2, /* prepared at once, then sent */
	TURN = TURN_ROUNDS * JOBS_SERIES,
	LIVE_RATE = 40, /* profiles a second while questions are asked: 20,000 rows */
	LIVE_S = 10,
	LIVE = LIVE_RATE * LIVE_S,
	GROUP_MAX = 64, /* core/pipeline/writer.c */
};
#define DAY_MS	 INT64_C(86400000)
#define HOUR_MS	 INT64_C(3600000)
#define BEGIN_MS (SOURCE_BASE_NS / 1000000)
#define END_MS	 (BEGIN_MS + DAY_MS)

static double now_ms(void)
{
	return seconds_of(CLOCK_MONOTONIC) * 1e3;
}

static void pause_ms(double ms)
{
	if (ms > 0)
		nanosleep(&(struct timespec){ (time_t)(ms / 1e3), (long)(ms * 1e6) % 1000000000 }, NULL);
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts them. */
static double quantile(double *v, size_t n, double q)
{
	qsort(v, n, sizeof(*v), by_size);
	return v[(size_t)(q * (double)(n - 1))];
}

/* -------------------------------------------------------------------------------------------------
 * Senders and a writer
 */

struct profile {
	struct buf pprof;
	uint32_t series;
	double due_ms; /* not sent before */
};

struct item {
	struct dcm_batch *batch;
	struct item *next; /* in the queue; itself: acknowledged */
};

struct sending {
	struct storage storage;
	char dir[64];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t senders[N_SENDERS], writer;
	struct profile profiles[LIVE > TURN ? LIVE : TURN];
	uint32_t n, n_begun, n_acknowledged;
	struct item *queue;
	struct item *group[GROUP_MAX]; /* [n_group] with the store */
	uint32_t n_group;
	bool over;
	double waited_ms[N_PROFILES]; /* [n_waited] from the first byte to the acknowledgement */
	uint32_t n_waited;
	uint64_t n_rows;   /* that were acknowledged */
	double decoding_s; /* of CPU time */
};

/* Any thread of the store's. */
static void acknowledge(void *ctx, int status)
{
	struct sending *s = ctx;

	need(status == 0, "a write was not acknowledged");
	pthread_mutex_lock(&s->lock);
	for (uint32_t i = 0; i < s->n_group; i++)
		s->group[i]->next = s->group[i];
	s->n_acknowledged += s->n_group;
	s->n_group = 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* Without the lock; the senders keep their batches until they are acknowledged. */
static void write_group(struct sending *s, struct dcm_batch *const *batches, uint32_t n)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	while ((r = s->storage.ops->write(s->storage.instance, batches, n, acknowledge, s, &err)) == -EAGAIN)
		pause_ms(1);
	need(r == 0, err.text);
}

static void *write_all(void *arg)
{
	struct sending *s = arg;
	struct dcm_batch *batches[GROUP_MAX];

	pthread_mutex_lock(&s->lock);
	while (!s->over) {
		if (!s->queue || s->n_group) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		for (; s->queue && s->n_group < GROUP_MAX; s->queue = s->queue->next) {
			batches[s->n_group] = s->queue->batch;
			s->group[s->n_group++] = s->queue;
		}
		const uint32_t n = s->n_group;
		pthread_mutex_unlock(&s->lock);
		write_group(s, batches, n);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void send_one(struct sending *s, const struct profile *p)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct jobs_sender from;
	struct item item = { .batch = NULL };

	pause_ms(p->due_ms - now_ms());
	const double began_ms = p->due_ms > 0 ? p->due_ms : now_ms();
	jobs__sender(p->series, &from);
	const double from_s = thread_seconds();
	need(codec__decode_with("pprof", p->pprof.data, p->pprof.n, &from.options, &item.batch, &err) == 0,
	     err.text);
	const double decoding_s = thread_seconds() - from_s;
	pthread_mutex_lock(&s->lock);
	s->decoding_s += decoding_s;
	item.next = s->queue;
	s->queue = &item;
	pthread_cond_broadcast(&s->changed);
	while (item.next != &item)
		pthread_cond_wait(&s->changed, &s->lock);
	if (s->n_waited < N_PROFILES)
		s->waited_ms[s->n_waited++] = now_ms() - began_ms;
	s->n_rows += item.batch->n_rows;
	pthread_mutex_unlock(&s->lock);
	batch__unref(item.batch);
}

static void *send_all(void *arg)
{
	struct sending *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->over) {
		if (s->n_begun == s->n) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		const struct profile *p = &s->profiles[s->n_begun++];
		pthread_mutex_unlock(&s->lock);
		send_one(s, p);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void prepare(struct sending *s, uint32_t at, uint32_t series, uint32_t round, int64_t time_ms)
{
	s->profiles[at].pprof.n = 0;
	s->profiles[at].series = series;
	s->profiles[at].due_ms = 0;
	jobs__profile(series, round, time_ms * 1000000, &s->profiles[at].pprof);
	need(!s->profiles[at].pprof.error, "out of memory");
}

/* Lets them go. */
static void send(struct sending *s, uint32_t n)
{
	pthread_mutex_lock(&s->lock);
	s->n = n;
	s->n_begun = s->n_acknowledged = 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

static void wait_for_all(struct sending *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->n_acknowledged < s->n)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static void begin_threads(struct sending *s)
{
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	need(pthread_create(&s->writer, NULL, write_all, s) == 0, "no thread");
	for (int i = 0; i < N_SENDERS; i++)
		need(pthread_create(&s->senders[i], NULL, send_all, s) == 0, "no thread");
}

static void end_threads(struct sending *s)
{
	pthread_mutex_lock(&s->lock);
	s->over = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->writer, NULL);
	for (int i = 0; i < N_SENDERS; i++)
		pthread_join(s->senders[i], NULL);
	for (size_t i = 0; i < sizeof(s->profiles) / sizeof(s->profiles[0]); i++)
		buf__fini(&s->profiles[i].pprof);
}

/* -------------------------------------------------------------------------------------------------
 * The store
 */

static void open_store(struct sending *s, const char *file)
{
	char yaml[128];

	snprintf(yaml, sizeof(yaml), "path: %s/store\n", s->dir);
	need(storage__open(&s->storage, file, yaml), "the store cannot be opened");
	atomic_store(&s->storage.real_ns, END_MS * 1000000);
}

static struct dcm_store_stat stat_of(struct sending *s)
{
	struct dcm_store_stat stat = { .size = sizeof(stat) };

	s->storage.ops->stat(s->storage.instance, &stat);
	return stat;
}

/* Until all of it is in blocks, and nothing is left to be compacted; the clock goes on, the day after. */
static void settle(struct sending *s)
{
	uint64_t before = 0;

	for (unsigned n_quiet = 0; n_quiet < 4;) {
		const uint64_t bytes = stat_of(s).block_bytes;

		n_quiet = bytes && bytes == before ? n_quiet + 1 : 0;
		before = bytes;
		atomic_fetch_add(&s->storage.mono_ns, 3600 * SOURCE_NS_A_SEC);
		atomic_fetch_add(&s->storage.real_ns, 3600 * SOURCE_NS_A_SEC);
		pause_ms(1500);
	}
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static uint64_t disk_bytes; /* nftw() has no context */

static int count_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)path;
	(void)ftw;
	disk_bytes += kind == FTW_F ? (uint64_t)st->st_blocks * 512 : 0;
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Questions
 */

#define ONE JOBS_CPU "{job=\"job-1\"}"
#define ALL JOBS_CPU "{}"

struct asked {
	const char *name, *selector;
	int64_t hours; /* up to the end of the day */
	enum { TYPES, LABELS, VALUES, POINTS, TREE, DIFF, FILTERED } what;
	double better; /* ms, of Parca and Pyroscope */
};

static int count_type(void *ctx, const struct dcm_type_info *info)
{
	(void)info;
	++*(int64_t *)ctx;
	return 0;
}

static int count_name(void *ctx, struct dcm_str name, uint64_t n)
{
	(void)name;
	(void)n;
	++*(int64_t *)ctx;
	return 0;
}

static int sum_points(void *ctx, const struct dcm_points *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		*(int64_t *)ctx += p->value[i];
	return 0;
}

/* As the pages get it. */
static int64_t tree(struct engine *e, const struct question *q)
{
	struct dcm_error err = DCM_ERROR_INIT;
	struct buf out = { 0 };
	struct flame *f = NULL;

	need(engine__flame(e, q, FRAMES_FUNCTION, NULL, &f, &err) == 0, err.text);
	need(flametree__write(f, STR("{}"), &out) == 0, "out of memory");
	const int64_t n = f->n;
	flame__free(f);
	buf__fini(&out);
	return n;
}

/* How much there is of it, which must not be nothing. */
static int64_t answer(struct engine *e, const struct asked *a, const struct filter *filter)
{
	struct question q = { .selector = str__of(a->selector),
			      .from_ms = END_MS - a->hours * HOUR_MS,
			      .to_ms = END_MS };
	struct dcm_error err = DCM_ERROR_INIT;
	int64_t n = 0;
	int r = 0;

	switch (a->what) {
	case TYPES:
		r = engine__types(e, &q, count_type, &n, &err);
		break;
	case LABELS:
		r = engine__labels(e, &q, count_name, &n, &err);
		break;
	case VALUES:
		r = engine__values(e, &q, STR("instance"), count_name, &n, &err);
		break;
	case POINTS:
		r = engine__time_series(e, &q, 60000, sum_points, &n, &err);
		break;
	case DIFF:
		q.diff = true;
		q.selector_b = q.selector;
		q.from_b_ms = q.from_ms - a->hours * HOUR_MS;
		q.to_b_ms = q.from_ms;
		n = tree(e, &q);
		break;
	case FILTERED:
		q.filter = filter;
		n = tree(e, &q);
		break;
	case TREE:
		n = tree(e, &q);
		break;
	}
	need(r == 0, err.text);
	return n;
}

static double median(struct engine *e, const struct asked *a, const struct filter *filter, int64_t *ret_n)
{
	double ms[5];

	for (int i = 0; i < 5; i++) {
		const double from = now_ms();

		*ret_n = answer(e, a, filter);
		ms[i] = now_ms() - from;
		need(*ret_n > 0, "an answer is empty");
	}
	return quantile(ms, 5, 0.5);
}

/* What the better of Parca and Pyroscope took, over its API, on two cores (README). */
static void beside(const char *name, double value, const char *unit, double better)
{
	figure(name, value, unit, "the better of two servers", better);
}

static void ask_all(struct engine *e)
{
	static const struct asked all[] = {
		{ "types_24h", "", 24, TYPES, 1 },
		{ "labels_24h", "", 24, LABELS, 18 },
		{ "values_24h", "", 24, VALUES, 15 },
		{ "points_1h_one_job", ONE, 1, POINTS, 31 },
		{ "points_24h_all", ALL, 24, POINTS, 68 },
		{ "merge_1h_one_job", ONE, 1, TREE, 43 },
		{ "merge_1h_all", ALL, 1, TREE, 488 },
		{ "merge_24h_one_job", ONE, 24, TREE, 104 },
		{ "merge_24h_all", ALL, 24, TREE, 497 },
		{ "diff_1h_one_job", ONE, 1, DIFF, 84 },
		{ "diff_12h_one_job", ONE, 12, DIFF, 128 },
		{ "filter_1h_one_job", ONE, 1, FILTERED, 629 },
		{ "filter_24h_one_job", ONE, 24, FILTERED, 9507 },
	};
	struct filter *filter = filter__new();
	char name[64];

	need(filter && filter__add_text(filter, FILTER_FOCUS, STR("part7"), NULL) == 0,
	     "no filter");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(name, sizeof(name), "servers_%s", all[i].name);
		int64_t n = 0;

		beside(name, median(e, &all[i], filter, &n), "ms", all[i].better);
		if (all[i].what < TREE)
			continue;
		snprintf(name, sizeof(name), "servers_%s_nodes", all[i].name);
		figure(name, (double)n, "nodes", "most that a tree has", FLAME_DEFAULT_NODES);
	}
	filter__free(filter);
}

/* -------------------------------------------------------------------------------------------------
 * What is measured
 */

static void send_day(struct sending *s)
{
	double wall_ms = 0, cpu_s = 0;

	for (uint32_t round = 0; round < N_ROUNDS; round += TURN_ROUNDS) {
		for (uint32_t i = 0; i < TURN; i++) {
			const uint32_t series = i % JOBS_SERIES, at = round + i / JOBS_SERIES;

			prepare(s, i, series, at, BEGIN_MS + at * (DAY_MS / N_ROUNDS) + series * 1000);
		}
		const double from_ms = now_ms(), from_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
		send(s, TURN);
		wait_for_all(s);
		wall_ms += now_ms() - from_ms;
		cpu_s += seconds_of(CLOCK_PROCESS_CPUTIME_ID) - from_s;
	}
	const double rows = (double)s->n_rows;
	nftw(s->dir, count_one, 16, FTW_PHYS);
	beside("servers_write", rows / wall_ms * 1e3, "rows/s, 2 cores", 102299);
	beside("servers_write_cpu", cpu_s / rows * 1e6, "s of CPU time a M rows", 13);
	figure("servers_write_decoding", s->decoding_s / rows * 1e6, "s of CPU time a M rows",
	       "all of it", cpu_s / rows * 1e6);
	beside("servers_write_median", quantile(s->waited_ms, s->n_waited, 0.5), "ms", 60);
	beside("servers_write_p99", quantile(s->waited_ms, s->n_waited, 0.99), "ms", 168);
	malloc_trim(0);
	beside("servers_memory", resident_mib("VmRSS"), "MiB", 612);
	beside("servers_memory_peak", resident_mib("VmHWM"), "MiB", 672);
	figure("servers_bytes", (double)disk_bytes / rows, "B a row",
	       "of the better of two servers, at rest", 26.5);
}

static void tell_rest(struct sending *s)
{
	const double rows = (double)s->n_rows;
	const struct dcm_store_stat stat = stat_of(s);

	need(stat.n_rows == s->n_rows, "rows are missing");
	figure("servers_rows", rows, "rows", "profiles", N_PROFILES);
	beside("servers_bytes_at_rest", (double)(stat.block_bytes + stat.dictionary_bytes) / rows,
	       "B a row", 26.5);
	figure("servers_bytes_of_dictionaries", (double)stat.dictionary_bytes / rows, "B a row",
	       "all at rest", (double)(stat.block_bytes + stat.dictionary_bytes) / rows);
}

/* 20,000 rows a second come in, while trees of the last hour are asked for. */
static void ask_while_writing(struct sending *s, struct engine *e)
{
	static const struct asked hour = { "live", ALL, 1, TREE, 0 };
	double waited[1000];
	size_t n = 0;

	for (uint32_t i = 0; i < LIVE; i++)
		prepare(s, i, i % JOBS_SERIES, N_ROUNDS + i, END_MS - HOUR_MS + i * 1000);
	const double from = now_ms(), from_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	for (uint32_t i = 0; i < LIVE; i++)
		s->profiles[i].due_ms = from + 10 + i * (1e3 / LIVE_RATE);
	s->n_waited = 0;
	send(s, LIVE);
	while (now_ms() < from + LIVE_S * 1e3 && n < 1000) {
		const double began = now_ms();

		need(answer(e, &hour, NULL) > 0, "an answer is empty");
		waited[n++] = now_ms() - began;
		pause_ms(100);
	}
	wait_for_all(s);
	const double cpu = (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - from_s) / (now_ms() - from) * 1e5;
	beside("servers_live_merge_p99", quantile(waited, n, 0.99), "ms", 1002);
	beside("servers_live_write_p99", quantile(s->waited_ms, s->n_waited, 0.99), "ms", 210);
	figure("servers_live_cpu", cpu, "% of a core", "questions a second", (double)n / LIVE_S);
}

int main(int argc, char **argv)
{
	static struct sending s;
	struct engine *e = NULL;

	heap__as_the_daemon();
	need(argc == 2, "usage: bench_servers STORAGE_LOCAL.so");
	snprintf(s.dir, sizeof(s.dir), "%s/bench_servers.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	need(mkdtemp(s.dir), "no directory");
	open_store(&s, argv[1]);
	begin_threads(&s);
	send_day(&s);
	settle(&s);
	tell_rest(&s);
	storage__close(&s.storage);
	const double from = now_ms();
	open_store(&s, argv[1]);
	beside("servers_open", now_ms() - from, "ms", 420);
	const struct engine_config config = { .host = &s.storage.host,
					      .ops = s.storage.ops,
					      .instance = s.storage.instance };
	need(engine__new(&config, &e, NULL) == 0, "no engine");
	ask_all(e);
	ask_while_writing(&s, e);
	engine__free(e);
	end_threads(&s);
	storage__close(&s.storage);
	nftw(s.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
