/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_store.c - a fleet written to the local store, and asked about
 *
 *	bench_store growth HOSTS DAYS MAX_ROWS LABELS	one point of the curve: figures as JSON lines
 *	bench_store soak ROWS_A_SECOND HOURS		ends with 1 when something is not bounded
 *	bench_store rows HOSTS DAYS MAX_ROWS LABELS	the rows of the first, as CSV, for other engines
 *
 * HOSTS of 16 cores (bench/fleet.h) with 20 services each, stacks of 24 frames that share their
 * callers, for each host other ones; LABELS 1 gives each row a thread's name. Beyond MAX_ROWS ticks
 * are left out evenly, so that profiles keep their size and there are fewer of them: "share" in the
 * output is what is left. Clocks are ours, and go as fast as rows are written; what the plugin's
 * thread does each second and minute is done after each tick. Rates are of CPU time of all threads,
 * from batches that were decoded to blocks that were compacted, without what making the batches
 * takes.
 *
 * The soak keeps an hour of profiles. When twice the retention is over, memory, descriptors, files
 * and bytes are noted; from then on none of them may be exceeded by half (and a little), and at the
 * end the last quarter of an hour must add up to what was written.
 */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/fleet.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/answer/answer.h"
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/contract/storage_host.h"

enum { N_SERIES = 20, N_STACKS = 40000, DEPTH = 24, N_THREADS = 3, DAY_TICKS = 8640, TICK_S = 10 };
#define CPU	 "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"
#define BASE_NS	 INT64_C(1700000000000000000)
#define NS_A_SEC INT64_C(1000000000)
static const double ROWS_A_TICK = 1200; /* of one host, about */

/* -------------------------------------------------------------------------------------------------
 * The fleet
 */

struct host {
	struct fleet_series series[N_SERIES];
	uint64_t row[N_SERIES]; /* the next one */
	uint32_t profile[N_SERIES];
	struct dcm_builder *builder;
};

struct hosts {
	struct host *v; /* [n] */
	uint32_t n, n_ticks;
	int64_t tick_ns; /* between two */
	bool labels;
	uint64_t n_rows;
};

static void hosts__init(struct hosts *h, uint32_t n, uint32_t n_ticks, int64_t tick_ns, bool labels)
{
	*h = (struct hosts){
		.v = calloc(n, sizeof(*h->v)), .n = n, .n_ticks = n_ticks, .tick_ns = tick_ns, .labels = labels
	};
	need(h->v, "out of memory");
	for (uint32_t i = 0; i < n; i++) {
		const struct fleet f = { N_SERIES, n_ticks, N_STACKS, 16, 1.15, i + 1 };

		for (uint32_t k = 0; k < N_SERIES; k++) {
			fleet__series(&f, k, &h->v[i].series[k]);
			h->n_rows += h->v[i].series[k].n;
		}
		h->v[i].builder = builder__new((uint64_t)1 << 30);
		need(h->v[i].builder, "out of memory");
		builder__set_source(h->v[i].builder, (struct dcm_hash){ i + 1, 0x5eed }, 1);
	}
}

static void hosts__fini(struct hosts *h)
{
	for (uint32_t i = 0; i < h->n; i++) {
		for (uint32_t k = 0; k < N_SERIES; k++)
			fleet_series__fini(&h->v[i].series[k]);
		builder__free(h->v[i].builder);
	}
	free(h->v);
}

/*
 * Callers are shared as in a tree of which each branch has two; the upper frames are those of all
 * threads.
 */
static uint32_t make_stack(struct dcm_builder *b, uint32_t mapping, uint32_t stack)
{
	uint32_t frames[DEPTH];

	for (uint32_t k = 0; k < DEPTH; k++) {
		const uint64_t path = (uint64_t)k << 32 | (k < 16 ? stack >> k : 0);
		const struct dcm_location l = { .mapping = mapping,
						.process = DCM_NONE,
						.addr_kind = DCM_ADDR_VADDR,
						.address = 0x1000 + path * 0x9e3779b97f4a7c15u % 60000 };

		frames[k] = builder__location(b, &l, NULL, 0);
	}
	return builder__stack(b, frames, DEPTH);
}

static uint32_t make_series(struct dcm_builder *b, uint32_t host, uint32_t at)
{
	char node[32], service[32];

	snprintf(node, sizeof(node), "node-%u", host);
	snprintf(service, sizeof(service), "service-%02u", at);
	const struct dcm_pair pairs[] = {
		{ builder__string(b, STR("node")), builder__string(b, str__of(node)) },
		{ builder__string(b, STR("service_name")), builder__string(b, str__of(service)) },
	};
	return builder__series(b, pairs, 2);
}

static uint32_t make_thread(struct dcm_builder *b, uint32_t series, uint32_t stack)
{
	char text[32];

	snprintf(text, sizeof(text), "worker-%u", series * N_THREADS + stack % N_THREADS);
	const struct dcm_label l = { .name = builder__string(b, STR("thread_name")),
				     .str = builder__string(b, str__of(text)),
				     .unit = DCM_NONE };
	return builder__label_set(b, &l, 1);
}

static void add_profile(struct host *h, uint32_t host, uint32_t at, const struct dcm_profile *head,
			bool labels)
{
	struct dcm_builder *b = h->builder;
	const struct fleet_series *s = &h->series[at];
	const struct dcm_mapping m = { .file = builder__string(b, STR("/usr/bin/app")),
				       .build_id = builder__string(b, STR("0011223344556677")) };
	const uint32_t mapping = builder__mapping(b, &m),
		       nanoseconds = builder__string(b, STR("nanoseconds"));
	const uint32_t cpu = builder__string(b, STR("cpu"));
	const struct dcm_type type = { builder__string(b, STR("process_cpu")),
				       cpu,
				       nanoseconds,
				       cpu,
				       nanoseconds,
				       DCM_DELTA };
	struct dcm_profile p = *head;

	p.series = make_series(b, host, at);
	builder__profile(b, &p, &type, 1);
	for (uint32_t i = s->n_rows[h->profile[at]]; i > 0; i--, h->row[at]++) {
		const uint32_t stack = s->stacks[h->row[at]];

		/* Each host runs programs of its own, but for a third that all have. */
		builder__row(b, make_stack(b, mapping, stack % 3 ? stack + host * N_STACKS : stack),
			     labels ? make_thread(b, at, stack) : 0, &s->values[h->row[at]]);
	}
	h->profile[at]++;
}

/* What one host reports at the tick, moved to `time_ns`. *ret_value: of all rows. */
static struct dcm_batch *make_batch(struct hosts *hosts, uint32_t host, uint32_t tick,
				    int64_t time_ns, int64_t *ret_value)
{
	struct host *h = &hosts->v[host];
	struct dcm_batch *batch = NULL;
	struct dcm_error err = DCM_ERROR_INIT;

	for (uint32_t k = 0; k < N_SERIES; k++) {
		const struct fleet_series *s = &h->series[k];
		const int64_t due_ms = BASE_NS / 1000000 + ((int64_t)tick + 1) * TICK_S * 1000 - 5000;
		const struct dcm_profile head = { .time_ns = time_ns,
						  .duration_ns = TICK_S * NS_A_SEC,
						  .period = 52631578 };

		if (h->profile[k] >= s->n_profiles || s->time_ms[h->profile[k]] >= due_ms)
			continue;
		for (uint32_t i = 0; i < s->n_rows[h->profile[k]]; i++)
			*ret_value += s->values[h->row[k] + i];
		add_profile(h, host, k, &head, hosts->labels);
	}
	need(builder__seal(h->builder, &batch, &err) == 0, err.text);
	return batch;
}

static void rewind_hosts(struct hosts *h)
{
	for (uint32_t i = 0; i < h->n; i++) {
		memset(h->v[i].row, 0, sizeof(h->v[i].row));
		memset(h->v[i].profile, 0, sizeof(h->v[i].profile));
	}
}

/* -------------------------------------------------------------------------------------------------
 * The store
 */

struct trial {
	struct storage storage; /* for its host */
	struct vfs *vfs;
	struct store *store;
	char dir[64];
	_Atomic uint64_t n_done;
	_Atomic int failed;
	uint64_t n_written;
	double making_s; /* of batches */
};

static void report(void *ctx, enum dcm_log_level level, const char *sentence)
{
	(void)ctx;
	if (level <= DCM_LOG_WARNING)
		fprintf(stderr, "bench_store: %s\n", sentence);
}

static void set_clock(struct trial *t, int64_t ns)
{
	atomic_store(&t->storage.real_ns, ns);
	atomic_store(&t->storage.mono_ns, ns - BASE_NS + NS_A_SEC);
}

static void trial__begin(struct trial *t, int64_t retention_ms, int64_t seal_ms)
{
	/* As the plugin's defaults. */
	const struct store_options o = { .retention_ms = retention_ms,
					 .seal_ms = seal_ms,
					 .head_max_bytes = 128 << 20,
					 .dictionary_max_bytes = 128 << 20,
					 .segment_bytes = 64 << 20,
					 .align = 4096,
					 .report = report };
	struct commit_found found;
	struct dcm_error err = DCM_ERROR_INIT;

	*t = (struct trial){ 0 };
	storage__host(&t->storage);
	set_clock(t, BASE_NS);
	snprintf(t->dir, sizeof(t->dir), "%s/bench_store.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	need(mkdtemp(t->dir), "no directory");
	need(vfs_posix__new(t->dir, false, &t->vfs, &err) == 0, err.text);
	need(store__open(&t->storage.host, t->vfs, &o, &found, &t->store, &err) == 0, err.text);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

static void trial__end(struct trial *t)
{
	store__close(t->store);
	vfs_posix__free(t->vfs);
	nftw(t->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void on_done(void *ctx, int error)
{
	struct trial *t = ctx;

	if (error)
		atomic_store(&t->failed, error);
	atomic_fetch_add(&t->n_done, 1);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void put_batch(struct trial *t, struct dcm_batch *b)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r;

	while ((r = store__write(t->store, &b, 1, on_done, t, &err)) == -EAGAIN)
		pause_ms(1);
	need(r == 0, err.text);
	t->n_written++;
	batch__unref(b);
}

static void wait_for_disk(struct trial *t)
{
	while (atomic_load(&t->n_done) < t->n_written)
		pause_ms(1);
	need(atomic_load(&t->failed) == 0, "a write was not acknowledged");
}

/* What the plugin's own thread does each second; with `all`, what it does each minute too. */
static void tend(struct trial *t, bool all)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = upkeep__recover(t->store, &err);

	if (r == 0 && upkeep__wants_seal(t->store))
		r = upkeep__seal(t->store, &err);
	if (r == 0 && all)
		r = expire__now(t->store, &err);
	while (r >= 0 && all && (r = rework__compact(t->store, &err)) > 0)
		;
	need(r >= 0, err.text);
	eras__trim(t->store);
}

/* All hosts' reports of one tick. Returns what they add up to. */
static int64_t write_tick(struct trial *t, struct hosts *h, uint32_t tick, int64_t time_ns)
{
	int64_t value = 0;

	set_clock(t, time_ns);
	for (uint32_t i = 0; i < h->n; i++) {
		const double start = thread_seconds();
		struct dcm_batch *b = make_batch(h, i, tick, time_ns, &value);

		t->making_s += thread_seconds() - start;
		put_batch(t, b);
	}
	return value;
}

static double ask(struct trial *t, int64_t from_ns, int64_t to_ns, const char *node)
{
	const struct dcm_matcher m = { .op = DCM_EQ,
				       .name = STR("node"),
				       .value = str__of(node ? node : "") };
	const struct dcm_select sel = { .size = sizeof(sel),
					.type = STR(CPU),
					.matchers = &m,
					.n_matchers = node ? 1 : 0,
					.from_ms = from_ns / 1000000,
					.to_ms = to_ns / 1000000 };
	const struct dcm_group_by none = { 0 };
	double best = 0;

	for (int i = 0; i < 3; i++) {
		struct dcm_builder *b = builder__new((uint64_t)4 << 30);
		const double start = thread_seconds();
		struct view v;

		view__init(&v, &t->storage.host, &sel, 1);
		need(look__take(&v, t->store) == 0 && answer__merge(&v, &none, b) == 0,
		     "no answer");
		view__fini(&v);
		at_most(&best, thread_seconds() - start);
		builder__free(b);
	}
	return best * 1e3;
}

/* -------------------------------------------------------------------------------------------------
 * What the process and the directory take
 */

struct held {
	uint64_t memory_bytes, descriptors, files, disk_bytes, block_bytes, era_bytes;
};

static struct held *counting; /* nftw() has no context */

static int count_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	const uint64_t bytes = kind == FTW_F ? (uint64_t)st->st_size : 0;
	(void)ftw;

	counting->files += kind == FTW_F;
	counting->block_bytes += strstr(path, "/blocks/") ? bytes : 0;
	counting->era_bytes += strstr(path, "/eras/") ? bytes : 0;
	counting->disk_bytes += kind == FTW_F ? (uint64_t)st->st_blocks * 512 : 0;
	return 0;
}

static struct held measure(const struct trial *t)
{
	struct held h = { 0 };
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	DIR *fds = opendir("/proc/self/fd");

	need(f && fscanf(f, "%*u %lu", &pages) == 1 && fds, "/proc/self cannot be read");
	fclose(f);
	while (readdir(fds))
		h.descriptors++;
	closedir(fds);
	h.memory_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	counting = &h;
	nftw(t->dir, count_one, 16, FTW_PHYS);
	return h;
}

/* -------------------------------------------------------------------------------------------------
 * One point of the curve
 */

struct scale {
	uint32_t hosts, days, n_ticks;
	int64_t tick_ns;
	bool labels;
};

static struct scale scale_of(char **arg)
{
	struct scale s = { .hosts = (uint32_t)strtoul(arg[0], NULL, 10),
			   .days = (uint32_t)strtoul(arg[1], NULL, 10),
			   .labels = arg[3][0] == '1' };
	const double most = strtod(arg[2], NULL) / s.hosts / ROWS_A_TICK;
	const uint32_t all = s.days * DAY_TICKS;

	need(s.hosts && s.days, "no hosts or no days");
	s.n_ticks = most < all ? (most < 4 ? 4 : (uint32_t)most) : all;
	s.tick_ns = (int64_t)s.days * DAY_TICKS * TICK_S * NS_A_SEC / s.n_ticks;
	return s;
}

/* Until the store has nothing more to do: blocks are sealed, and compacted as far as they go. */
static void settle(struct trial *t, int64_t now_ns)
{
	uint64_t before = 0;

	for (int same = 0, i = 1; same < 4 && i < 200; i++) {
		set_clock(t, now_ns + i * 900 * NS_A_SEC);
		tend(t, true);
		const struct held h = measure(t);

		same = h.disk_bytes == before ? same + 1 : 0;
		before = h.disk_bytes;
	}
}

static int growth(char **arg)
{
	const struct scale s = scale_of(arg);
	struct hosts h;
	struct trial t;
	char name[64];

	hosts__init(&h, s.hosts, s.n_ticks, s.tick_ns, s.labels);
	trial__begin(&t, 0, 900000);
	const struct held before = measure(&t);
	uint64_t memory = 0;
	const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	int64_t now_ns = BASE_NS;
	for (uint32_t i = 0; i < s.n_ticks; i++) {
		now_ns = BASE_NS + (int64_t)i * s.tick_ns;
		write_tick(&t, &h, i, now_ns);
		tend(&t, true);
		if (i % 8 == 0)
			memory = measure(&t).memory_bytes > memory ? measure(&t).memory_bytes : memory;
	}
	wait_for_disk(&t);
	const double spent = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu - t.making_s;
	const double rows = (double)h.n_rows, share = (double)s.n_ticks / (s.days * DAY_TICKS);
	settle(&t, now_ns);
	const struct held after = measure(&t);
#define FIGURE(what, ...)                                                                          \
	(snprintf(name, sizeof(name), "store_%uh_%ud%s_" what, s.hosts, s.days,                    \
		  s.labels ? "_labels" : ""),                                                      \
	 figure(name, __VA_ARGS__))
	FIGURE("rows", rows, "rows", "share of the ticks", share);
	FIGURE("write", rows / spent, "rows/s of CPU time", "target", 1e6);
	FIGURE("bytes", (double)after.block_bytes / rows, "B a row", "dictionaries",
	       (double)after.era_bytes / rows);
	FIGURE("memory", (double)(memory - before.memory_bytes) / (1 << 20), "MiB", "target", 300);
	const int64_t day = DAY_TICKS * TICK_S * NS_A_SEC, end = now_ns + 1000000;
	FIGURE("merge_all", ask(&t, BASE_NS, end, NULL), "ms", "days", s.days);
	FIGURE("merge_day", ask(&t, end - day, end, NULL), "ms", "host-days", s.hosts);
	FIGURE("merge_day_of_one", ask(&t, end - day, end, "node-0"), "ms", "target, with all ticks", 1);
	FIGURE("quarter_hour", ask(&t, end - 900 * NS_A_SEC, end, NULL), "ms", "hosts", s.hosts);
	trial__end(&t);
	hosts__fini(&h);
	return 0;
}

static int print_rows(char **arg)
{
	const struct scale s = scale_of(arg);
	struct hosts h;

	hosts__init(&h, s.hosts, s.n_ticks, s.tick_ns, s.labels);
	for (uint32_t i = 0; i < s.hosts; i++)
		for (uint32_t k = 0; k < N_SERIES; k++) {
			const struct fleet_series *f = &h.v[i].series[k];
			uint64_t row = 0;

			for (uint32_t p = 0; p < f->n_profiles; p++)
				for (uint32_t end = f->n_rows[p]; end > 0; end--, row++) {
					const int64_t tick = (f->time_ms[p] - BASE_NS / 1000000 + 5000) /
							     (TICK_S * 1000);

					printf("%" PRId64 ",%u,%u,%" PRId64,
					       BASE_NS / 1000000 + tick * (s.tick_ns / 1000000),
					       i * N_SERIES + k, f->stacks[row], f->values[row]);
					if (s.labels)
						printf(",worker-%u",
						       k * N_THREADS + f->stacks[row] % N_THREADS);
					putchar('\n');
				}
		}
	hosts__fini(&h);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * The soak
 */

enum { SOAK_HOSTS = 32, SOAK_TICKS = 60, QUARTER = 90 /* ticks of a quarter of an hour */ };

static int sum_points(void *ctx, const struct dcm_points *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		*(int64_t *)ctx += p->value[i];
	return 0;
}

static bool is_bounded(const char *what, uint64_t now, uint64_t noted, uint64_t little)
{
	const uint64_t most = noted + noted / 2 + little;

	if (now > most)
		fprintf(stderr, "bench_store: %s: %" PRIu64 ", above %" PRIu64 "\n", what, now, most);
	return now <= most;
}

/* A sanitizer keeps what was freed for a while. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LITTLE_MEMORY ((uint64_t)2 << 30)
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LITTLE_MEMORY ((uint64_t)2 << 30)
#endif
#endif
#ifndef LITTLE_MEMORY
#define LITTLE_MEMORY ((uint64_t)64 << 20)
#endif
enum { LITTLE_BLOCKS = 128 << 10, LITTLE_LOG = 160 << 20 };

static bool all_bounded(const struct held *now, const struct held *noted)
{
	return is_bounded("bytes of memory", now->memory_bytes, noted->memory_bytes, LITTLE_MEMORY) &&
	       is_bounded("descriptors", now->descriptors, noted->descriptors, 16) &&
	       is_bounded("files", now->files, noted->files, 32) &&
	       is_bounded("bytes of blocks", now->block_bytes, noted->block_bytes, LITTLE_BLOCKS) &&
	       is_bounded("bytes of dictionaries", now->era_bytes, noted->era_bytes, LITTLE_BLOCKS) &&
	       is_bounded("bytes on the disk", now->disk_bytes, noted->disk_bytes, LITTLE_LOG);
}

static void keep_most(struct held *most, const struct held *h)
{
#define MOST(field) most->field = h->field > most->field ? h->field : most->field
	MOST(memory_bytes);
	MOST(descriptors);
	MOST(files);
	MOST(disk_bytes);
	MOST(block_bytes);
	MOST(era_bytes);
}

static bool last_quarter_is_there(struct trial *t, const int64_t *values, uint32_t n_ticks, int64_t tick_ns)
{
	const int64_t end = BASE_NS + (int64_t)n_ticks * tick_ns;
	const struct dcm_select sel = { .size = sizeof(sel),
					.type = STR(CPU),
					.from_ms = (end - QUARTER * tick_ns) / 1000000,
					.to_ms = end / 1000000 };
	const struct dcm_group_by none = { 0 };
	int64_t expected = 0, got = 0;

	for (uint32_t i = 0; i < QUARTER; i++)
		expected += values[i];
	struct view v;
	view__init(&v, &t->storage.host, &sel, 1);
	need(look__take(&v, t->store) == 0 && answer__points(&v, 60000, &none, sum_points, &got) == 0,
	     "no answer");
	view__fini(&v);
	if (got != expected)
		fprintf(stderr,
			"bench_store: the last quarter of an hour adds up to %" PRId64
			", not %" PRId64 "\n",
			got, expected);
	return got == expected;
}

static int soak(char **arg)
{
	/*
	 * Of a host's reports; more than so many hosts report several times a tick, fewer than one
	 * not at each.
	 */
	const double per_tick = strtod(arg[0], NULL) * TICK_S / ROWS_A_TICK;
	const uint32_t n_rounds = per_tick > SOAK_HOSTS ? (uint32_t)(per_tick / SOAK_HOSTS) : 1;
	const uint32_t n_hosts = per_tick < 1 ? 1 : (uint32_t)(per_tick / n_rounds);
	const int64_t tick_ns = TICK_S * NS_A_SEC;
	const uint32_t every = per_tick < 1 ? (uint32_t)(1 / per_tick) : 1;
	const uint32_t n_ticks = (uint32_t)(strtod(arg[1], NULL) * 3600 / TICK_S), warm = 2 * 360 + 90;
	int64_t values[QUARTER] = { 0 };
	struct held noted = { 0 }, most = { 0 };
	bool ok = n_ticks > warm + QUARTER;
	uint64_t n_rows = 0;
	uint32_t n_reports = 0;
	struct hosts h;
	struct trial t;

	need(ok, "too few hours: the retention is one, and must be over twice");
	hosts__init(&h, n_hosts, SOAK_TICKS, tick_ns, true);
	trial__begin(&t, 3600000, 300000);
	for (uint32_t i = 0; ok && i < n_ticks; i++) {
		const int64_t now_ns = BASE_NS + (int64_t)i * tick_ns;

		set_clock(&t, now_ns);
		values[i % QUARTER] = 0;
		for (uint32_t k = 0; k < n_rounds && i % every == 0; k++, n_reports++) {
			const uint32_t at = n_reports % SOAK_TICKS;

			if (at == 0)
				rewind_hosts(&h);
			values[i % QUARTER] += write_tick(&t, &h, at, now_ns + k * tick_ns / n_rounds);
			n_rows += h.n_rows / SOAK_TICKS;
		}
		tend(&t, i % 6 == 0);
		if (i % 30)
			continue;
		const struct held now = measure(&t);
		if (i < warm)
			keep_most(&noted, &now);
		else
			ok = all_bounded(&now, &noted);
		keep_most(&most, &now);
	}
	wait_for_disk(&t);
	ok = ok && last_quarter_is_there(&t, values, n_ticks, tick_ns);
	figure("soak_rows", (double)n_rows, "rows", "hours of the clock", n_ticks / 360.0);
	figure("soak_memory", (double)most.memory_bytes / (1 << 20), "MiB",
	       "until twice the retention", (double)noted.memory_bytes / (1 << 20));
	figure("soak_descriptors", (double)most.descriptors, "descriptors",
	       "until twice the retention", (double)noted.descriptors);
	figure("soak_files", (double)most.files, "files", "until twice the retention",
	       (double)noted.files);
	figure("soak_blocks", (double)most.block_bytes / (1 << 20), "MiB",
	       "until twice the retention", (double)noted.block_bytes / (1 << 20));
	figure("soak_disk", (double)most.disk_bytes / (1 << 20), "MiB", "until twice the retention",
	       (double)noted.disk_bytes / (1 << 20));
	trial__end(&t);
	hosts__fini(&h);
	return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "growth") == 0)
		return growth(argv + 2);
	if (argc == 6 && strcmp(argv[1], "rows") == 0)
		return print_rows(argv + 2);
	if (argc == 4 && strcmp(argv[1], "soak") == 0)
		return soak(argv + 2);
	fputs("usage: bench_store growth HOSTS DAYS MAX_ROWS LABELS\n"
	      "       bench_store soak ROWS_A_SECOND HOURS\n"
	      "       bench_store rows HOSTS DAYS MAX_ROWS LABELS\n",
	      stderr);
	return 2;
}
