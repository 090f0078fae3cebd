/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/bench_store.c - a fleet, or a recorded set, written to the local store, and asked about
 *
 *	bench_store growth HOSTS DAYS MAX_ROWS LABELS [FILE]	a point of the curve, as JSON lines
 *	bench_store ingest HOSTS HOURS LABELS	what rows cost from batch to block, and memory
 *	bench_store recovery HOSTS		how long a start takes that finds 64 MiB of log
 *	bench_store soak ROWS_A_SECOND HOURS	soak_bounded is 0 when something is not
 *	bench_store rows HOSTS DAYS MAX_ROWS LABELS [FILE]	the rows of the first, as CSV
 *
 * HOSTS are those of bench/source.h: made up, or those of the recorded set FILE. LABELS 1 gives
 * rows labels of their own. Beyond MAX_ROWS ticks are left out evenly, so that profiles keep their
 * size and there are fewer of them: "share" in the output is what is left. Clocks are ours, and go
 * as fast as rows are written; what the plugin's thread does each second and minute is done after
 * each tick.
 *
 * Rates are of CPU time, the kernel's included, of all threads: from batches that were decoded to
 * blocks that were compacted. So they have in them: encoding for the log, the log with its syncs,
 * the dictionary, the heads, dictionaries' records, seals, manifests, retention, and compactions
 * that are due (`ingest`: all of the first). They have not: decoding and the pipeline before the
 * store. Batches are handed over in groups, as the pipeline does when it is behind.
 *
 * `ingest` is HOURS in which each made-up host reports every 10 s. Memory is the process's, without
 * what it had before the store was opened (that is, the fleet), at its peak in each phase; pages of
 * mapped blocks count.
 *
 * The soak has the plugin's own rounds, one a tick. It keeps an hour of profiles, which are those of
 * a few ticks again and again. When twice the retention is over, memory, descriptors, files and
 * bytes are noted; from then on none of them may be exceeded by half (and a little), and at the end
 * the last quarter of an hour must add up to what was written. Memory is without what there was
 * before, which the profiles take.
 */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/source.h"
#include "core/base/intern.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "core/batch/identity.h"
#include "plugins/storage/answer/answer.h"
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/expire.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/tend.h"
#include "plugins/storage/local/upkeep.h"
#include "tests/contract/storage_host.h"

/* -------------------------------------------------------------------------------------------------
 * The store
 */

struct trial {
	struct storage storage; /* for its host */
	struct store_options options;
	struct vfs *vfs;
	struct store *store;
	char dir[64];
	_Atomic uint64_t n_done;
	_Atomic int failed;
	uint64_t n_written;
	double writing_s, sealing_s, compacting_s; /* of CPU time */
};

static double cpu_seconds(void)
{
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void report(void *ctx, enum dcm_log_level level, const char *sentence)
{
	(void)ctx;
	if (level <= DCM_LOG_WARNING)
		fprintf(stderr, "bench_store: %s\n", sentence);
}

static void set_clock(struct trial *t, int64_t ns)
{
	atomic_store(&t->storage.real_ns, ns);
	atomic_store(&t->storage.mono_ns, ns - SOURCE_BASE_NS + SOURCE_NS_A_SEC);
}

static void trial__begin(struct trial *t, int64_t retention_ms, int64_t seal_ms)
{
	struct commit_found found;
	struct dcm_error err = DCM_ERROR_INIT;

	/* As the plugin's defaults. */
	*t = (struct trial){ .options = { .retention_ms = retention_ms,
					  .seal_ms = seal_ms,
					  .head_max_bytes = 128 << 20,
					  .log_max_bytes = 256 << 20,
					  .dictionary_max_bytes = 128 << 20,
					  .era_max_bytes = 128 << 20,
					  .max_series = 1000000,
					  .segment_bytes = 64 << 20,
					  .align = 4096,
					  .report = report } };
	storage__host(&t->storage);
	set_clock(t, SOURCE_BASE_NS);
	snprintf(t->dir, sizeof(t->dir), "%s/bench_store.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	need(mkdtemp(t->dir), "no directory");
	need(vfs_posix__new(t->dir, false, &t->vfs, &err) == 0, err.text);
	need(store__open(&t->storage.host, t->vfs, &t->options, &found, &t->store, &err) == 0, err.text);
}

/* Ends the store as a stop or a SIGKILL does, and opens it: how many ms that takes, of this clock. */
static double trial__again(struct trial *t, clockid_t clock)
{
	struct commit_found found;
	struct dcm_error err = DCM_ERROR_INIT;

	store__close(t->store);
	const double start = seconds_of(clock);
	need(store__open(&t->storage.host, t->vfs, &t->options, &found, &t->store, &err) == 0, err.text);
	return (seconds_of(clock) - start) * 1e3;
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

/* As many batches as the pipeline hands over at once: core/pipeline/writer.c. */
enum { GROUP_MAX = 64, GROUP_BYTES = 16 << 20 };
struct group {
	struct dcm_batch *v[GROUP_MAX];
	uint32_t n;
	uint64_t bytes;
};

static void put_group(struct trial *t, struct group *g)
{
	const double start = cpu_seconds();
	struct dcm_error err = DCM_ERROR_INIT;
	int r = 0;

	while (g->n && (r = store__write(t->store, g->v, g->n, on_done, t, &err)) == -EAGAIN)
		pause_ms(1);
	need(r == 0, err.text);
	t->n_written += g->n > 0;
	while (g->n)
		batch__unref(g->v[--g->n]);
	g->bytes = 0;
	t->writing_s += cpu_seconds() - start;
}

static void wait_for_disk(struct trial *t)
{
	while (atomic_load(&t->n_done) < t->n_written)
		pause_ms(1);
	need(atomic_load(&t->failed) == 0, "a write was not acknowledged");
}

/* What is sealed is on the disk, and what was written is acknowledged. */
static void tend_heads(struct trial *t)
{
	const double start = cpu_seconds();
	struct dcm_error err = DCM_ERROR_INIT;
	int r = upkeep__recover(t->store, &err);

	if (r == 0 && upkeep__wants_seal(t->store))
		r = upkeep__seal(t->store, &err);
	need(r >= 0, err.text);
	t->sealing_s += cpu_seconds() - start;
}

static void tend_blocks(struct trial *t)
{
	const double start = cpu_seconds();
	struct dcm_error err = DCM_ERROR_INIT;
	int r = expire__now(t->store, NULL, &err);

	while (r >= 0 && (r = rework__compact(t->store, NULL, &err)) > 0)
		;
	need(r >= 0, err.text);
	t->compacting_s += cpu_seconds() - start;
}

/* What the plugin's own thread does each second; with `all`, what it does each minute too. */
static void tend(struct trial *t, bool all)
{
	tend_heads(t);
	if (all)
		tend_blocks(t);
	eras__trim(t->store);
}

static int64_t sum_of(const struct dcm_batch *b)
{
	int64_t sum = 0;

	for (uint64_t i = 0; i < b->n_values; i++)
		sum += b->values[i];
	return sum;
}

/* All hosts' reports of one tick. Returns what they add up to. */
static int64_t write_tick(struct trial *t, struct source *s, uint32_t tick, int64_t time_ns)
{
	struct group g = { .n = 0 };
	int64_t value = 0;

	set_clock(t, time_ns);
	for (uint32_t i = 0; i < s->shape.n_hosts; i++) {
		struct dcm_batch *b = s->batch(s, i, tick, time_ns);

		value += sum_of(b);
		g.v[g.n++] = b;
		g.bytes += b->bytes;
		if (g.n == GROUP_MAX || g.bytes >= GROUP_BYTES)
			put_group(t, &g);
	}
	put_group(t, &g);
	return value;
}

static int sum_points(void *ctx, const struct dcm_points *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		*(int64_t *)ctx += p->value[i];
	return 0;
}

/* Questions about one view. */
static int merge(struct view *v)
{
	const struct dcm_group_by none = { 0 };
	struct dcm_builder *b = builder__new((uint64_t)4 << 30);
	const int r = answer__merge(v, &none, b);

	builder__free(b);
	return r;
}

static int points(struct view *v)
{
	const struct dcm_group_by none = { 0 };
	int64_t sum = 0;

	return answer__points(v, 60000, &none, sum_points, &sum);
}

/* The best of three, in ms. */
static double ask(struct trial *t, int (*question)(struct view *v), int64_t from_ns, int64_t to_ns,
		  const char *node)
{
	const struct dcm_matcher m = { .op = DCM_EQ,
				       .name = STR("node"),
				       .value = str__of(node ? node : "") };
	const struct dcm_select sel = { .size = sizeof(sel),
					.type = STR(SOURCE_CPU),
					.matchers = &m,
					.n_matchers = node ? 1 : 0,
					.from_ms = from_ns / 1000000,
					.to_ms = to_ns / 1000000 };
	double best = 0;

	for (int i = 0; i < 3; i++) {
		const double start = thread_seconds();
		struct view v;

		view__init(&v, &t->storage.host, &sel, 1);
		need(look__take(&v, t->store) == 0 && question(&v) == 0, "no answer");
		view__fini(&v);
		at_most(&best, thread_seconds() - start);
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

/* HOSTS DAYS MAX_ROWS LABELS [FILE] */
struct scale {
	uint32_t days;
	int64_t tick_ns;    /* between two */
	const char *prefix; /* of figures' names */
	bool recorded;
	struct source *source;
};

static struct scale scale_of(char **arg)
{
	struct scale s = { .days = (uint32_t)strtoul(arg[1], NULL, 10) };
	const struct source_shape shape = { .n_hosts = (uint32_t)strtoul(arg[0], NULL, 10),
					    .n_ticks = s.days * SOURCE_DAY_TICKS,
					    .max_rows = strtod(arg[2], NULL),
					    .labels = arg[3][0] == '1' };

	need(shape.n_hosts && s.days, "no hosts or no days");
	s.recorded = arg[4] != NULL;
	s.prefix = s.recorded ? "recorded" : "store";
	s.source = arg[4] ? source__recorded(&shape, arg[4]) : source__fleet(&shape);
	s.tick_ns = (int64_t)shape.n_ticks * SOURCE_TICK_S * SOURCE_NS_A_SEC / s.source->shape.n_ticks;
	return s;
}

/* Bytes a row of the blocks that were compacted so often; NAN: there are none. */
static double bytes_a_row(const struct trial *t, unsigned level)
{
	uint64_t bytes = 0, rows = 0;

	for (size_t i = 0; i < t->store->blocks.n; i++) {
		const struct manifest_block *b = &t->store->blocks.v[i]->entry;

		if (b->level == level) {
			bytes += b->bytes;
			rows += b->n_rows;
		}
	}
	return rows ? (double)bytes / (double)rows : NAN;
}

/*
 * Until the store has nothing more to do: blocks are sealed, and compacted as far as they go. The
 * last window of a day is closed up to a day and an hour after the last profile.
 */
static void settle(struct trial *t, int64_t now_ns)
{
	for (int i = 1; i < 27 * 4; i++) {
		set_clock(t, now_ns + i * 900 * SOURCE_NS_A_SEC);
		tend(t, true);
	}
}

/* What writing came to. */
struct written {
	double cpu_s, bytes_once; /* of all threads; a row, after the first compaction */
	uint64_t memory_bytes;	  /* most, beyond what there was before */
	int64_t last_ns;
};

static struct written write_all(struct trial *t, const struct scale *s)
{
	const uint64_t before = measure(t).memory_bytes;
	struct written w = { 0 };

	for (uint32_t i = 0; i < s->source->shape.n_ticks; i++) {
		w.last_ns = SOURCE_BASE_NS + (int64_t)i * s->tick_ns;
		write_tick(t, s->source, i, w.last_ns);
		tend(t, true);
		const uint64_t memory = i % 8 == 0 ? measure(t).memory_bytes : 0;

		if (memory > before + w.memory_bytes)
			w.memory_bytes = memory - before;
	}
	wait_for_disk(t);
	w.cpu_s = t->writing_s + t->sealing_s + t->compacting_s;
	w.bytes_once = bytes_a_row(t, 1);
	settle(t, w.last_ns);
	return w;
}

/* Where most ticks are left out a chunk has few profiles, and what is its own weighs more than in any store. */
#define SHARE_JUDGED	 0.1
#define MEMORY_MIB	 286  /* 300 MB */
#define QUERY_MEMORY_MIB 1024 /* what questions may take: the default of server.query_memory */

static const char many_frames[] =
	"nearly half of it is the look-up of six locations and a stack a row, among "
	"more than caches hold; soak_rate is with what they hold";

static const char few_rows_a_batch[] = "a batch has 335 rows of 255 stacks with 26 frames each, "
				       "and its own commit: rows of a busy host, or of "
				       "many at once, cost less";

static int growth(char **arg)
{
	const struct scale s = scale_of(arg);
	const struct source_shape *shape = &s.source->shape;
	const double rows = (double)s.source->n_rows;
	struct trial t;
	char name[64];

	trial__begin(&t, 0, 900000);
	const struct written w = write_all(&t, &s);
	const struct held after = measure(&t);
#define FIGURE(as, what, ...)                                                                      \
	(snprintf(name, sizeof(name), "%s_%uh_%ud%s_" what, s.prefix, shape->n_hosts, s.days,      \
		  shape->labels ? "_labels" : ""),                                                 \
	 as(name, __VA_ARGS__))
	const double share = (double)shape->n_ticks / (s.days * SOURCE_DAY_TICKS);
	FIGURE(figure, "rows", rows, "rows", "share of the ticks", share);
	if (!shape->labels && share >= SHARE_JUDGED) {
		FIGURE(figure_at_least, "write", rows / w.cpu_s, "rows/s of CPU time", 1e6,
		       s.recorded ? few_rows_a_batch : many_frames);
		FIGURE(figure_at_most, "bytes_once", w.bytes_once, "B a row, compacted once", 1.8, NULL);
		FIGURE(figure_at_most, "bytes_twice", bytes_a_row(&t, 2),
		       "B a row, compacted twice", 1.45, NULL);
	} else {
		FIGURE(figure, "write", rows / w.cpu_s, "rows/s of CPU time",
		       "wanted without labels, of all ticks", 1e6);
		FIGURE(figure, "bytes_once", w.bytes_once, "B a row, compacted once",
		       "wanted without labels, of all ticks", 1.8);
		FIGURE(figure, "bytes_twice", bytes_a_row(&t, 2), "B a row, compacted twice",
		       "wanted without labels, of all ticks", 1.45);
	}
	FIGURE(figure, "bytes", (double)after.block_bytes / rows, "B a row", "dictionaries",
	       (double)after.era_bytes / rows);
	FIGURE(figure_at_most, "memory", (double)w.memory_bytes / (1 << 20), "MiB", MEMORY_MIB, NULL);
	/* With the frames of every stack; bench_answer and bench_block judge the sums. */
	const int64_t day = SOURCE_DAY_TICKS * SOURCE_TICK_S * SOURCE_NS_A_SEC, end = w.last_ns + 1000000;
	FIGURE(figure, "merge_all", ask(&t, merge, SOURCE_BASE_NS, end, NULL), "ms", "days", s.days);
	FIGURE(figure, "merge_day", ask(&t, merge, end - day, end, NULL), "ms", "host-days",
	       shape->n_hosts);
	FIGURE(figure, "merge_day_of_one", ask(&t, merge, end - day, end, "node-0"), "ms",
	       "wanted of the sums alone, of all ticks", 1);
	FIGURE(figure, "quarter_hour", ask(&t, merge, end - 900 * SOURCE_NS_A_SEC, end, NULL), "ms",
	       "hosts", shape->n_hosts);
	FIGURE(figure, "points", ask(&t, points, end - day, end, NULL), "ms", "host-days", shape->n_hosts);
	FIGURE(figure_at_most, "open", trial__again(&t, CLOCK_MONOTONIC), "ms", 1000, NULL);
	trial__end(&t);
	s.source->free(s.source);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * What rows cost, and what memory they take
 */

#define TICK_NS (SOURCE_TICK_S * SOURCE_NS_A_SEC)

/* Begins to note the process's peak anew. */
static void forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");

	need(f && fputs("5", f) >= 0 && fclose(f) == 0, "the peak of memory cannot be reset");
}

static void note_peak(double *most, double before)
{
	const double now = resident_mib("VmHWM") - before;

	*most = now > *most ? now : *most;
	forget_peak();
}

/* Of memory, in MiB, each without what there was before; and what it is made of. */
struct peaks {
	double before, writing, sealing, compacting, asking, asking_one;
	double heads, dictionaries;
};

static void note_parts(const struct store *s, struct peaks *peaks)
{
	const double heads = (double)(heads__bytes(&s->active) + heads__bytes(&s->sealing));
	double dictionaries = 0;

	for (size_t i = 0; i < s->eras.n; i++)
		dictionaries += s->eras.v[i]->dict ? (double)dict__bytes(s->eras.v[i]->dict) : 0;
	peaks->heads = heads > peaks->heads ? heads : peaks->heads;
	peaks->dictionaries = dictionaries > peaks->dictionaries ? dictionaries : peaks->dictionaries;
}

static void ingest_tick(struct trial *t, struct source *s, uint32_t tick, struct peaks *peaks)
{
	write_tick(t, s, tick, SOURCE_BASE_NS + (int64_t)tick * TICK_NS);
	note_peak(&peaks->writing, peaks->before);
	note_parts(t->store, peaks);
	tend_heads(t);
	note_peak(&peaks->sealing, peaks->before);
	tend_blocks(t);
	note_peak(&peaks->compacting, peaks->before);
	eras__trim(t->store);
}

/* Until all windows of the first compaction are over. */
static void end_ingest(struct trial *t, int64_t now_ns, struct peaks *peaks)
{
	wait_for_disk(t);
	for (int i = 1; i <= 10; i++) {
		set_clock(t, now_ns + i * 900 * SOURCE_NS_A_SEC);
		tend_heads(t);
		note_peak(&peaks->sealing, peaks->before);
		tend_blocks(t);
		note_peak(&peaks->compacting, peaks->before);
	}
}

static void ask_day(struct trial *t, int64_t end_ns, struct peaks *peaks)
{
	ask(t, merge, end_ns - SOURCE_DAY_TICKS * TICK_NS, end_ns, "node-0");
	note_peak(&peaks->asking_one, peaks->before);
	ask(t, merge, end_ns - SOURCE_DAY_TICKS * TICK_NS, end_ns, NULL);
	note_peak(&peaks->asking, peaks->before);
}

static int ingest(char **arg)
{
	const struct source_shape shape = { .n_hosts = (uint32_t)strtoul(arg[0], NULL, 10),
					    .n_ticks = (uint32_t)(strtod(arg[1], NULL) * 360),
					    .labels = arg[2][0] == '1' };
	struct peaks peaks = { .before = 0 };
	char name[64];
	struct trial t;

	need(shape.n_hosts && shape.n_ticks, "no hosts or no hours");
	struct source *s = source__fleet(&shape);
	const double rows = (double)s->n_rows;
	trial__begin(&t, 0, 900000);
	peaks.before = resident_mib("VmRSS");
	forget_peak();
	for (uint32_t i = 0; i < shape.n_ticks; i++)
		ingest_tick(&t, s, i, &peaks);
	const int64_t end_ns = SOURCE_BASE_NS + shape.n_ticks * TICK_NS;
	const double steady = resident_mib("VmRSS") - peaks.before;
	end_ingest(&t, end_ns, &peaks);
	const double spent = t.writing_s + t.sealing_s + t.compacting_s;
	ask_day(&t, end_ns, &peaks);
#define FIGURE_OF(as, what, ...)                                                                           \
	(snprintf(name, sizeof(name), "ingest_%uh%s_" what, shape.n_hosts, shape.labels ? "_labels" : ""), \
	 as(name, __VA_ARGS__))
	FIGURE_OF(figure, "rows", rows, "rows", "hours", shape.n_ticks / 360.0);
	if (shape.labels)
		FIGURE_OF(figure, "all", rows / spent, "rows/s of CPU time",
			  "wanted without labels", 1e6);
	else
		FIGURE_OF(figure_at_least, "all", rows / spent, "rows/s of CPU time", 1e6, many_frames);
	FIGURE_OF(figure, "write", t.writing_s / rows * 1e9, "ns/row", "all", spent / rows * 1e9);
	FIGURE_OF(figure, "seal", t.sealing_s / rows * 1e9, "ns/row", "all", spent / rows * 1e9);
	FIGURE_OF(figure, "compact", t.compacting_s / rows * 1e9, "ns/row", "all", spent / rows * 1e9);
	FIGURE_OF(figure_at_most, "memory_after_writing", steady, "MiB", MEMORY_MIB, NULL);
	FIGURE_OF(figure_at_most, "memory_heads", peaks.heads / (1 << 20), "MiB", 128, NULL);
	FIGURE_OF(figure_at_most, "memory_dictionaries", peaks.dictionaries / (1 << 20), "MiB", 128,
		  "a full one is there beside the next until what is in the heads is sealed");
	FIGURE_OF(figure_at_most, "memory_writing", peaks.writing, "MiB", MEMORY_MIB, NULL);
	FIGURE_OF(figure_at_most, "memory_sealing", peaks.sealing, "MiB", MEMORY_MIB, NULL);
	FIGURE_OF(figure_at_most, "memory_compacting", peaks.compacting, "MiB", MEMORY_MIB, NULL);
	FIGURE_OF(figure_at_most, "memory_day_of_one", peaks.asking_one, "MiB",
		  MEMORY_MIB + QUERY_MEMORY_MIB, NULL);
	FIGURE_OF(figure_at_most, "memory_day_of_all", peaks.asking, "MiB",
		  MEMORY_MIB + QUERY_MEMORY_MIB, NULL);
	trial__end(&t);
	s->free(s);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * What is in the log alone
 */

/* What the dictionaries had to be given. */
static uint64_t n_entries(const struct store *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->eras.n; i++)
		if (s->eras.v[i]->dict)
			n += s->eras.v[i]->dict->nodes.n + s->eras.v[i]->dict->stacks.n;
	return n;
}

static int recovery(char **arg)
{
	const struct source_shape shape = { .n_hosts = (uint32_t)strtoul(arg[0], NULL, 10),
					    .n_ticks = 60 };
	struct wal_stat st = { .n_files = 0 };
	uint64_t n_rows = 0;
	char name[64];
	struct trial t;

	need(shape.n_hosts, "no hosts");
	struct source *s = source__again(source__fleet(&shape));
	trial__begin(&t, 0, 900000);
	/* Until a segment is full; nothing is sealed. */
	for (uint32_t i = 0; st.n_files < 2; i++) {
		write_tick(&t, s, i % shape.n_ticks, SOURCE_BASE_NS + i * SOURCE_TICK_S * SOURCE_NS_A_SEC);
		n_rows += s->n_rows / shape.n_ticks;
		wal__stat(commit__wal(t.store->commit), &st);
	}
	wait_for_disk(&t);
	snprintf(name, sizeof(name), "recovery_%uh", shape.n_hosts);
	/* Of one thread, which finds the files in memory: the wall clock's, on a machine that is idle. */
	figure_at_most(
		name, trial__again(&t, CLOCK_PROCESS_CPUTIME_ID), "ms of CPU time", 1000,
		"more than half of it are 4.8 million frames and stacks that are new, each a look "
		"or two into memory that no cache has; the rows are a quarter");
	snprintf(name, sizeof(name), "recovery_%uh_entries", shape.n_hosts);
	figure(name, (double)n_entries(t.store), "frames and stacks", "in MiB of log",
	       (double)t.options.segment_bytes / (1 << 20));
	snprintf(name, sizeof(name), "recovery_%uh_rows", shape.n_hosts);
	figure(name, (double)n_rows, "rows", "in MiB of log",
	       (double)t.options.segment_bytes / (1 << 20));
	trial__end(&t);
	s->free(s);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Rows for other engines
 */

/* The values of a label set between quotes, one blank between two. */
static void print_labels(const struct dcm_batch *b, uint32_t label_set)
{
	const struct dcm_span span = b->label_sets[label_set];

	fputs(",\"", stdout);
	for (uint32_t i = 0; i < span.n; i++) {
		const struct dcm_label *l = &b->labels[span.off + i];

		if (i)
			putchar(' ');
		if (l->unit != DCM_NONE) {
			printf("%" PRId64, l->num);
			continue;
		}
		for (uint32_t k = 0; k < b->strings[l->str].n; k++)
			putchar(b->strings[l->str].p[k] == '"' ? '\'' : b->strings[l->str].p[k]);
	}
	putchar('"');
}

/* Numbers for hashes: small ones, as a table of series or stacks has them. */
static uint32_t number_of(struct intern *numbers, const struct dcm_hash *h)
{
	const uint32_t id = intern__add(numbers, (struct dcm_str){ (const char *)h, sizeof(*h) });

	need(id != INTERN_NONE, "out of memory");
	return id;
}

static void print_batch(const struct dcm_batch *b, bool labels, struct intern *numbers)
{
	for (uint32_t i = 0; i < b->n_profiles; i++) {
		const struct dcm_profile *p = &b->profiles[i];
		const uint32_t series = number_of(&numbers[0], &b->series_hashes[p->series]);

		for (uint64_t row = p->row_off; row < p->row_off + p->n_rows; row++) {
			const struct dcm_hash stack = identity__stack(b, b->row_stacks[row]);

			printf("%" PRId64 ",%u,%u,%" PRId64, p->time_ns / 1000000, series,
			       number_of(&numbers[1], &stack),
			       b->values[p->value_off + row - p->row_off]);
			if (labels)
				print_labels(b, b->row_labels[row]);
			putchar('\n');
		}
	}
}

static int print_rows(char **arg)
{
	const struct scale s = scale_of(arg);
	struct intern numbers[2]; /* of series, of stacks */

	need(intern__init(&numbers[0]) == 0 && intern__init(&numbers[1]) == 0, "out of memory");
	for (uint32_t tick = 0; tick < s.source->shape.n_ticks; tick++)
		for (uint32_t i = 0; i < s.source->shape.n_hosts; i++) {
			struct dcm_batch *b = s.source->batch(s.source, i, tick,
							      SOURCE_BASE_NS + tick * s.tick_ns);

			print_batch(b, s.source->shape.labels, numbers);
			batch__unref(b);
		}
	intern__fini(&numbers[0]);
	intern__fini(&numbers[1]);
	s.source->free(s.source);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * The soak
 */

enum { SOAK_HOSTS = 32, SOAK_TICKS = 16, QUARTER = 90 /* ticks of a quarter of an hour */ };

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

/* For who waits for the end of a long one. */
static void tell_hours(double hours, uint64_t n_rows, const struct held *h)
{
	fprintf(stderr,
		"bench_store: %.2f hours: %.0f M rows in %.0f s of CPU time; %" PRIu64
		" MiB of memory, %" PRIu64 " descriptors, %" PRIu64 " files, %" PRIu64
		" MiB on the disk\n",
		hours, (double)n_rows / 1e6, cpu_seconds(), h->memory_bytes >> 20, h->descriptors,
		h->files, h->disk_bytes >> 20);
}

static bool last_quarter_is_there(struct trial *t, const int64_t *values, uint32_t n_ticks, int64_t tick_ns)
{
	const int64_t end = SOURCE_BASE_NS + (int64_t)n_ticks * tick_ns;
	const struct dcm_select sel = { .size = sizeof(sel),
					.type = STR(SOURCE_CPU),
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
	const double per_tick = strtod(arg[0], NULL) * SOURCE_TICK_S / SOURCE_FLEET_ROWS;
	const uint32_t n_rounds = per_tick > SOAK_HOSTS ? (uint32_t)(per_tick / SOAK_HOSTS) : 1;
	const uint32_t n_hosts = per_tick < 1 ? 1 : (uint32_t)(per_tick / n_rounds);
	const int64_t tick_ns = SOURCE_TICK_S * SOURCE_NS_A_SEC;
	const uint32_t every = per_tick < 1 ? (uint32_t)(1 / per_tick) : 1;
	const uint32_t n_ticks = (uint32_t)(strtod(arg[1], NULL) * 3600 / SOURCE_TICK_S),
		       warm = 2 * 360 + 90;
	int64_t values[QUARTER] = { 0 };
	struct held noted = { 0 }, most = { 0 };
	bool ok = n_ticks > warm + QUARTER;
	uint64_t n_rows = 0;
	uint32_t n_reports = 0;
	struct trial t;

	need(ok, "too few hours: the retention is one, and must be over twice");
	struct source *source = source__again(source__fleet(
		&(struct source_shape){ .n_hosts = n_hosts, .n_ticks = SOAK_TICKS, .labels = true }));
	trial__begin(&t, 3600000, 300000);
	struct tend tend = { .store = t.store };
	const uint64_t before = measure(&t).memory_bytes;
	for (uint32_t i = 0; ok && i < n_ticks; i++) {
		const int64_t now_ns = SOURCE_BASE_NS + (int64_t)i * tick_ns;

		set_clock(&t, now_ns);
		values[i % QUARTER] = 0;
		for (uint32_t k = 0; k < n_rounds && i % every == 0; k++, n_reports++) {
			values[i % QUARTER] += write_tick(&t, source, n_reports % SOAK_TICKS,
							  now_ns + k * tick_ns / n_rounds);
			n_rows += source->n_rows / SOAK_TICKS;
		}
		tend__round(&tend);
		need(!*tend__trouble(&tend), tend__trouble(&tend));
		if (i % 30)
			continue;
		struct held now = measure(&t);
		now.memory_bytes -= before < now.memory_bytes ? before : now.memory_bytes;
		if (n_rounds > 1 && i % QUARTER == 0)
			tell_hours(i / 360.0, n_rows, &now);
		if (i < warm)
			keep_most(&noted, &now);
		else
			ok = all_bounded(&now, &noted);
		keep_most(&most, &now);
	}
	wait_for_disk(&t);
	ok = ok && last_quarter_is_there(&t, values, n_ticks, tick_ns);
	figure("soak_rows", (double)n_rows, "rows", "hours of the clock", n_ticks / 360.0);
	figure("soak_rate", (double)n_rows / cpu_seconds(), "rows/s of CPU time", "of the clock",
	       (double)n_rows / n_ticks / SOURCE_TICK_S);
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
	figure_at_least("soak_bounded", ok, "soak", 1, NULL);
	trial__end(&t);
	source->free(source);
	return 0;
}

int main(int argc, char **argv)
{
	/* What is freed goes back at once, so that what is resident is what is held. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_ARENA_MAX, 2);
	if ((argc == 6 || argc == 7) && strcmp(argv[1], "growth") == 0)
		return growth(argv + 2);
	if ((argc == 6 || argc == 7) && strcmp(argv[1], "rows") == 0)
		return print_rows(argv + 2);
	if (argc == 5 && strcmp(argv[1], "ingest") == 0)
		return ingest(argv + 2);
	if (argc == 3 && strcmp(argv[1], "recovery") == 0)
		return recovery(argv + 2);
	if (argc == 4 && strcmp(argv[1], "soak") == 0)
		return soak(argv + 2);
	fputs("usage: bench_store growth HOSTS DAYS MAX_ROWS LABELS [FILE]\n"
	      "       bench_store ingest HOSTS HOURS LABELS\n"
	      "       bench_store recovery HOSTS\n"
	      "       bench_store soak ROWS_A_SECOND HOURS\n"
	      "       bench_store rows HOSTS DAYS MAX_ROWS LABELS [FILE]\n",
	      stderr);
	return 2;
}
