/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/local.c - storage on this machine's disk
 *
 * Weeks of profiles in a directory: what was acknowledged survives a power cut.
 *
 *	store.h    writing, starting over           wal.h     the log
 *	tend.h     all of the upkeep, in rounds     block.h   packed columns
 *	upkeep.h   seals, recovers                  inspect.h counts, checks
 *	expire.h   removes what is old or too much  retain.h  what that is
 *	rework.h   compacts, rescues                commit.h  the order in which files change
 *	removal.h  removes what matches             filters.h what was removed, and is still in blocks
 *	look.h     what a question looks at         era.h     what profiles refer to
 *	eras.h     which of those are in memory     kept.h    counts
 *	reader.h   reads beside another process     backup.h  copies
 *	vfs.h      every call to the file system    age.h     the time that ages count from
 *
 * Threads: as the ops say, and one of its own, which does upkeep, once a second at most, but at once
 * when the log is full; and those that help with a question while it lasts (plugins/storage/answer/crew.h).
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/base/cond.h"
#include "core/base/dir.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/answer/answer.h"
#include "plugins/storage/answer/ask.h"
#include "plugins/storage/answer/crew.h"
#include "plugins/storage/answer/stock.h"
#include "plugins/storage/local/backup.h"
#include "plugins/storage/local/inspect.h"
#include "plugins/storage/local/look.h"
#include "plugins/storage/local/reader.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rework.h"
#include "plugins/storage/local/tend.h"
#include "plugins/storage/local/upkeep.h"

/* -------------------------------------------------------------------------------------------------
 * Options
 */

struct config {
	const char *path;
	int64_t retention_ns;
	struct dcm_map retention_by_type; /* int64_t ns */
	struct dcm_map max_bytes_by_type; /* int64_t */
	int64_t max_bytes;
	int64_t seal_ns;
	int64_t head_max_bytes;
	int64_t dictionary_max_bytes;
	int64_t max_series;
	int64_t workers;
	bool read_only;
};

enum { LEAST_MAX_BYTES = 256 << 20, LOG_MAX_BYTES = 256 << 20 };
_Static_assert(CREW_MAX == 16, "the bound of workers");

static const struct dcm_option options[] = {
	{ .name = "path",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct config, path),
	  .flags = DCM_OPT_RESTART | DCM_OPT_UNIQUE,
	  .doc = "The store's directory, made when it is not there. Default: the one named like "
		 "the instance in the data directory (data): /var/lib/decima/local as root." },
	{ .name = "retention",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct config, retention_ns),
	  .def = "360h",
	  .min = "0",
	  .doc = "Profiles that are older than this, compared with the newest one, are removed, a "
		 "block at a time, once a minute; 0 keeps them as long as max_bytes lasts. After a "
		 "gap of more than a day a day's worth goes each hour, in case the clock was "
		 "wrong. "
		 "What comes too old is dropped (profiles_too_old), as is what starts more than a "
		 "day after the clock (profiles_too_new)." },
	{ .name = "retention_by_type",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_DURATION,
	  .min = "0",
	  .offset = offsetof(struct config, retention_by_type),
	  .doc = "Other retentions for single profile types, by their text or its beginning up to "
		 "a colon: { memory: 48h, \"process_cpu:cpu\": 720h }; the longest that fits "
		 "counts." },
	{ .name = "max_bytes",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct config, max_bytes),
	  .def = "20GiB",
	  .min = "0",
	  .doc = "Bytes of the directory: blocks, dictionaries and the log, which takes 64 MiB, "
		 "and where much is written 256 MiB and what comes while they are sealed. Beyond "
		 "it the oldest blocks go; 0: no bound. "
		 "They go too while less than a "
		 "twentieth of the file system is free. A row takes about 1.5 bytes, one host with "
		 "19 Hz sampling some 10 MiB a day." },
	{ .name = "max_bytes_by_type",
	  .type = DCM_OPT_MAP,
	  .element = DCM_OPT_SIZE,
	  .min = "1MiB",
	  .offset = offsetof(struct config, max_bytes_by_type),
	  .doc = "Bytes of blocks that single profile types may take, by their text or its "
		 "beginning as in retention_by_type: { memory: 2GiB }. Beyond it the type's oldest "
		 "profiles go, a block at a time, once a minute; the block that exceeds it "
		 "stays." },
	{ .name = "seal_interval",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct config, seal_ns),
	  .def = "15m",
	  .min = "1s",
	  .doc = "How long profiles stay in memory and in the log before they become a block. "
		 "Shorter makes a start faster, and more small blocks. They become one sooner when "
		 "the log has 256 MiB of them, or a quarter of max_bytes." },
	{ .name = "head_max_bytes",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct config, head_max_bytes),
	  .def = "128MiB",
	  .min = "1MiB",
	  .doc = "Memory for profiles that are in no block yet; they become one sooner when it is "
		 "full. Writes wait when twice as much is. A row takes 5 to 20 bytes, "
		 "a profile about 50." },
	{ .name = "dictionary_max_bytes",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct config, dictionary_max_bytes),
	  .def = "128MiB",
	  .min = "0",
	  .doc = "Memory for stacks, labels and names, which each three days have of their own. "
		 "Beyond it those that no question needed the longest are left on the disk, until "
		 "one does; 0: no bound. One that is so large itself (16 MiB at least, 1 GiB at "
		 "most) is "
		 "followed by another one for the same time, in which everything that still "
		 "comes stands once more. Smaller makes questions about old times slower." },
	{ .name = "max_series",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct config, max_series),
	  .def = "1000000",
	  .min = "0",
	  .max = "100000000",
	  .doc = "Series (sets of labels) that each dictionary may have; 0: no bound. What is new "
		 "beyond them goes into the one series {__overflow__=\"true\"}, without its "
		 "labels (counted as series_folded); gauges and cumulative values, which cannot "
		 "be added up so, are dropped (series_refused). A million with twelve labels "
		 "take some 150 MiB." },
	{ .name = "workers",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct config, workers),
	  .def = "0",
	  .min = "0",
	  .max = "16",
	  .doc = "Threads that add up one question over much data: the one that asks, and helpers "
		 "that all questions share. Each takes a CPU, and up to a quarter of the memory "
		 "that "
		 "a question may have for its sums. 1: no helpers; 0: as many as there are CPUs, "
		 "at "
		 "most 4." },
	{ .name = "read_only",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct config, read_only),
	  .def = "false",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Answers from the directory as it is when it is opened, also while another decima "
		 "writes there; stores nothing and changes nothing. What --data DIR of commands "
		 "does." },
};

/* A bound that the log alone exceeds would leave nothing else. */
static int check_config(const void *config, struct dcm_error *err)
{
	const struct config *c = config;

	if (c->max_bytes == 0 || c->max_bytes >= LEAST_MAX_BYTES)
		return 0;
	return error__set(
		err, -EINVAL, "max_bytes: the log takes up to 128MiB of it; give at least 256MiB, or 0");
}

static const struct dcm_table table = {
	.size = sizeof(table),
	.option_size = sizeof(struct dcm_option),
	.struct_size = sizeof(struct config),
	.n_options = sizeof(options) / sizeof(options[0]),
	.options = options,
	.check = check_config,
};

/* -------------------------------------------------------------------------------------------------
 * State and lifecycle
 */

enum { SEGMENT_BYTES = 64 << 20, GROUP_ALIGN = 4096 };

struct local {
	struct ask ask; /* first: the ops of questions know no more of it */
	struct crew crew;
	struct stock stock;
	const struct dcm_host *host;
	struct vfs *vfs;
	struct store *store;
	char *path;
	bool read_only;
	struct dcm_metric *bytes, *profiles, *expired, *unreadable, *refusing;
	/* What the host was told of; the upkeep thread's. */
	uint64_t n_expired, rows_evicted, n_unreadable, n_frames_lost, n_too_old, n_too_new;
	uint64_t rows_folded, rows_refused, n_full;
	int64_t overflow_told_ns, full_told_ns; /* mono; 0: never */
	struct tend tend;			/* the same */

	pthread_t thread;
	bool started;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t wake;
	bool stopping;
	bool written; /* since the last round */
	bool filled;  /* the log, since then: the next one is due now */
};

static void report(void *ctx, enum dcm_log_level level, const char *sentence)
{
	const struct local *l = ctx;

	l->host->log(l->host, level, "%s", sentence);
}

static void stop(void *instance)
{
	struct local *l = instance;

	if (!l)
		return;
	pthread_mutex_lock(&l->mutex);
	l->stopping = true;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->mutex);
	if (l->store)
		atomic_store(&l->store->stopping, true);
	if (l->started)
		pthread_join(l->thread, NULL);
	store__close(l->store);
	vfs_posix__free(l->vfs);
	stock__fini(&l->stock);
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->mutex);
	free(l->path);
	free(l);
}
DEFINE_CLEANUP(void *, stop);

enum {
	WORKERS_MAX = 4,
	WORKER_ROWS = 1 << 20,
	ERA_LEAST_BYTES = 16 << 20,
	ERA_MOST_BYTES = 1 << 30
};

static uint32_t n_workers(const struct config *c)
{
	cpu_set_t cpus;
	int n = 1;

	if (c->workers)
		return (uint32_t)c->workers;
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		n = CPU_COUNT(&cpus);
	return n < WORKERS_MAX ? (uint32_t)n : WORKERS_MAX;
}

/*
 * What a start after a SIGKILL has to read: some seconds. It counts for max_bytes, of which the
 * blocks shall have most.
 */
static uint64_t log_max_bytes(const struct config *c)
{
	const uint64_t part = (uint64_t)c->max_bytes / 4;

	return part && part < LOG_MAX_BYTES ? part : LOG_MAX_BYTES;
}

/* Smaller ones would each hold little but what is in all of them. */
static uint64_t era_max_bytes(const struct config *c)
{
	const uint64_t bytes = (uint64_t)c->dictionary_max_bytes;

	/* Its log is read as a whole, up to LOG_FILE_MAX_BYTES, and takes less than it does in memory. */
	if (bytes == 0 || bytes > ERA_MOST_BYTES)
		return ERA_MOST_BYTES;
	return bytes < ERA_LEAST_BYTES ? ERA_LEAST_BYTES : bytes;
}

static struct store_options options_of(struct local *l, const struct config *c)
{
	return (struct store_options){
		.max_bytes = (uint64_t)c->max_bytes,
		.retention_ms = c->retention_ns / 1000000,
		.retention_by_type = c->retention_by_type,
		.max_bytes_by_type = c->max_bytes_by_type,
		.seal_ms = c->seal_ns / 1000000,
		.head_max_bytes = (uint64_t)c->head_max_bytes,
		.log_max_bytes = log_max_bytes(c),
		.dictionary_max_bytes = (uint64_t)c->dictionary_max_bytes,
		.era_max_bytes = era_max_bytes(c),
		.max_series = (uint32_t)c->max_series,
		.segment_bytes = SEGMENT_BYTES,
		.align = GROUP_ALIGN,
		.report = report,
		.report_ctx = l,
	};
}

static int open_directory(struct local *l, const struct config *c, struct dcm_error *err)
{
	const char *path = c->path ? c->path : l->host->data_dir;
	int r = 0;

	l->read_only = c->read_only;
	if (!path)
		return error__set(err, -EINVAL, "path: missing, and there is no data directory; name one");
	if (!c->path && !c->read_only)
		r = l->host->data_dir_make(l->host, err);
	if (r)
		return r;
	l->path = mem__dup_str(path, strlen(path));
	r = l->path ? vfs_posix__new(l->path, c->read_only, &l->vfs, err) : error__nomem(err);
	if (r == 0)
		vfs_posix__map_by(l->vfs, l->host);
	return r;
}

static void make_metrics(struct local *l)
{
	const struct dcm_host *h = l->host;

	l->bytes = h->metric(h, DCM_GAUGE_METRIC, "storage_bytes",
			     "Bytes of blocks and of what is in none yet.");
	l->profiles = h->metric(
		h, DCM_GAUGE_METRIC, "storage_profiles",
		"Profiles in the store; one of several types counts once for each.");
	l->expired = h->metric(
		h, DCM_COUNTER, "storage_expired_profiles_total",
		"Profiles removed because they were older than their retention, or beyond "
		"the bytes of their type.");
	l->unreadable = h->metric(h, DCM_COUNTER, "storage_unreadable_total",
				  "How often something damaged was met, and left out.");
	l->refusing = h->metric(
		h, DCM_GAUGE_METRIC, "storage_refusing",
		"1 while the disk refuses writes, else 0; the instance's state says why.");
}

/* ask.take */
static int take(void *instance, struct view *v)
{
	struct local *l = instance;

	return look__take(v, l->store);
}

static int open_local(const struct dcm_host *host, const void *config, void **ret_instance,
		      struct dcm_error *err)
{
	const struct config *c = config;
	struct commit_found found;
	struct local *l = NEW(struct local);
	CLEANUP(stopp) void *guard = l;

	if (!l)
		return error__nomem(err);
	crew__init(&l->crew, n_workers(c), WORKER_ROWS);
	stock__init(&l->stock);
	l->ask = (struct ask){ host, take, &l->crew, &l->stock };
	l->host = host;
	pthread_mutex_init(&l->mutex, NULL);
	cond__init(&l->wake);
	struct store_options o = options_of(l, c);
	int r = open_directory(l, c, err);
	if (r == 0)
		r = c->read_only ? reader__open(host, l->vfs, &o, &l->store, err)
				 : store__open(host, l->vfs, &o, &found, &l->store, err);
	if (l->vfs && r)
		error__prefix(err, "%s", l->path);
	if (r)
		return r;
	disk_use__look(&l->store->disk, l->vfs);
	make_metrics(l);
	*ret_instance = take_ptr(guard);
	return 0;
}

/* What open would find out. A process that has the store may be the one that is to be replaced. */
static void preflight(const struct dcm_host *host, const void *config, dcm_report_fn tell, void *ctx)
{
	const struct config *c = config;
	const char *path = c->path ? c->path : host->data_dir;
	struct dcm_error err = DCM_ERROR_INIT;
	struct vfs *vfs = NULL;
	int r = 0;

	/* The data directory is the host's to look at, and to make. */
	if (c->path && !c->read_only)
		r = dir__look(path, &err);
	if (path && r == 0 && (fd__has_name(path, ".") == 1 || c->read_only))
		r = vfs_posix__new(path, true, &vfs, &err);
	if (vfs && !c->read_only) {
		r = commit__look(vfs, &err);
		error__prefix(&err, "%s", path);
	}
	vfs_posix__free(vfs);
	if (r == 0)
		return;
	error__prefix(&err, "path");
	tell(ctx, r == -EBUSY ? DCM_LOG_WARNING : DCM_LOG_ERROR, err.text);
}

/* -------------------------------------------------------------------------------------------------
 * Upkeep
 */

static void tell_dropped(struct local *l, const char *reason, uint64_t n, uint64_t *told)
{
	if (n > *told)
		l->host->drop(l->host, reason, n - *told);
	*told = n;
}

/* Of what may come with each write people hear once an hour. */
static bool is_time_to_tell(struct local *l, int64_t *told_ns)
{
	const int64_t now_ns = l->host->mono_ns(l->host);

	if (*told_ns && now_ns - *told_ns < INT64_C(3600) * 1000000000)
		return false;
	*told_ns = now_ns;
	return true;
}

static void tell_overflow(struct local *l)
{
	const uint64_t folded = atomic_load(&l->store->rows_folded);
	const uint64_t refused = atomic_load(&l->store->rows_refused);
	char growth[GROWTH_BYTES];

	if ((folded > l->rows_folded || refused > l->rows_refused) &&
	    is_time_to_tell(l, &l->overflow_told_ns)) {
		store__growth(l->store, growth);
		l->host->log(l->host, DCM_LOG_WARNING, STREAMS_OVERFLOW_SENTENCE, growth);
	}
	tell_dropped(l, "series_folded", folded, &l->rows_folded);
	tell_dropped(l, "series_refused", refused, &l->rows_refused);
}

static void tell_full(struct local *l)
{
	const uint64_t n_full = atomic_load(&l->store->n_full);
	char growth[GROWTH_BYTES];

	if (n_full > l->n_full && is_time_to_tell(l, &l->full_told_ns)) {
		pthread_rwlock_rdlock(&l->store->lock);
		memcpy(growth, l->store->full_growth, sizeof(growth));
		pthread_rwlock_unlock(&l->store->lock);
		l->host->log(l->host, DCM_LOG_WARNING,
			     "dictionary_max_bytes: a dictionary is full with %s; another one was "
			     "begun. A label that has ever new values does that: take it off with "
			     "relabel_configs (action: labeldrop); or raise dictionary_max_bytes",
			     growth);
	}
	l->n_full = n_full;
}

static void publish(struct local *l)
{
	struct store *s = l->store;
	const struct kept_numbers kept = kept__get(s);
	const struct kept_amount size = kept__sum(&kept);
	uint64_t n_expired = atomic_load(&s->n_expired);
	uint64_t n_unreadable = atomic_load(&s->n_unreadable);
	struct wal_stat log = { .refusing = 0 };

	if (!l->read_only)
		wal__stat(commit__wal(s->commit), &log);
	l->host->metric_set(l->refusing, log.refusing ? 1 : 0);
	l->host->metric_set(l->bytes, (double)size.bytes);
	l->host->metric_set(l->profiles, (double)size.n_profiles);
	l->host->metric_add(l->expired, n_expired - l->n_expired);
	l->host->metric_add(l->unreadable, n_unreadable - l->n_unreadable);
	l->n_expired = n_expired;
	l->n_unreadable = n_unreadable;
	tell_dropped(l, "disk_full", atomic_load(&s->rows_evicted), &l->rows_evicted);
	tell_dropped(l, "frames_unreadable", atomic_load(&s->n_frames_lost), &l->n_frames_lost);
	tell_dropped(l, "profiles_too_old", atomic_load(&s->n_too_old), &l->n_too_old);
	tell_dropped(l, "profiles_too_new", atomic_load(&s->n_too_new), &l->n_too_new);
	tell_overflow(l);
	tell_full(l);
}

/* What the host knows how to handle of a write: later, no room, too much, or trouble. */
static int as_of_write(int r)
{
	switch (r) {
	case 0:
	case -EAGAIN:
	case -ENOSPC:
	case -EFBIG:
	case -EOVERFLOW:
		return r;
	case -ENOMEM:
		return -EAGAIN;
	case -EDQUOT:
		return -ENOSPC;
	}
	return -EIO;
}

/*
 * A file's fault gets the directory it is in, and what to do: of what the disk said, before it
 * becomes `told`, as the host knows it. Passes that through.
 */
static int say_where(int r, int told, const char *dir, struct dcm_error *err)
{
	const bool of_disk = told == -EIO || told == -EACCES || *vfs__write_remedy(r);

	if (of_disk && err)
		error__set(err, told, "%s: %s%s", dir, err->text, vfs__write_remedy(r));
	return told;
}

/* After a round. A tend.meanwhile. */
static void tell_round(void *instance, bool changed)
{
	struct local *l = instance;

	if (changed) {
		const char *trouble = tend__trouble(&l->tend);

		if (*trouble)
			l->host->set_state(l->host, DCM_STATE_DEGRADED, "%s: %s%s", l->path,
					   trouble, vfs__write_remedy(l->tend.told_error));
		else
			l->host->set_state(l->host, DCM_STATE_OK, "%s", l->path);
	}
	disk_use__look(&l->store->disk, l->vfs);
	publish(l);
}

static void tend(struct local *l)
{
	tell_round(l, tend__round(&l->tend));
}

/*
 * Rounds are a second apart, or so far as is said while nothing is written; a log that is full does
 * not wait, since a second brings it some hundred MiB. False: no more.
 */
static bool wait_for_round(struct local *l, int64_t rest_ns)
{
	struct timespec until;
	int64_t begin_ns;
	int r = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	begin_ns = until.tv_sec * INT64_C(1000000000) + until.tv_nsec;
	pthread_mutex_lock(&l->mutex);
	while (!l->stopping && !l->filled && r != ETIMEDOUT) {
		const int64_t at_ns = begin_ns + (l->written ? INT64_C(1000000000) : rest_ns);

		until = (struct timespec){ at_ns / 1000000000, at_ns % 1000000000 };
		r = pthread_cond_timedwait(&l->wake, &l->mutex, &until);
	}
	l->written = l->filled = false;
	bool more = !l->stopping;
	pthread_mutex_unlock(&l->mutex);
	return more;
}

static void *run(void *arg)
{
	struct local *l = arg;

	while (wait_for_round(l, tend__rest_ns(&l->tend)))
		tend(l);
	return NULL;
}

static int start(void *instance, struct dcm_error *err)
{
	struct local *l = instance;
	int r;

	l->tend = (struct tend){ .store = l->store, .meanwhile = tell_round, .ctx = l };
	publish(l);
	l->host->set_state(l->host, DCM_STATE_OK, "%s%s", l->path, l->read_only ? " (read only)" : "");
	if (l->read_only)
		return 0;
	r = pthread_create(&l->thread, NULL, run, l);
	if (r)
		return error__sys(err, -r, "cannot start a thread");
	l->started = true;
	pthread_setname_np(l->thread, "local-upkeep");
	return 0;
}

/* A start reads less in a quarter of a second, and blocks of so little would only be compacted again. */
enum { DRAIN_LEAST_BYTES = 16 << 20, DRAIN_BYTES_A_SECOND = 32 << 20 };

/* Is the log large, and time for a seal? What a seal that failed has left in memory is in it too. */
static bool is_worth_a_seal(struct local *l, int64_t deadline_mono_ns)
{
	struct store *s = l->store;

	pthread_rwlock_rdlock(&s->lock);
	const uint64_t bytes = s->sealing.n ? s->options.log_max_bytes : s->active_log_bytes;
	pthread_rwlock_unlock(&s->lock);
	const int64_t takes_ns = (int64_t)(bytes * 1000 / DRAIN_BYTES_A_SECOND) * 1000000;
	return bytes >= DRAIN_LEAST_BYTES && deadline_mono_ns - l->host->mono_ns(l->host) >= takes_ns;
}

/*
 * The next start shall not have to read a large log: where there is time, it becomes blocks. What
 * stays in it is as safe.
 */
static int drain(void *instance, int64_t deadline_mono_ns)
{
	struct local *l = instance;
	struct dcm_error err = DCM_ERROR_INIT;
	int r = 0;

	if (l->read_only)
		return 0;
	atomic_store(&l->store->stopping, true); /* who writes blocks anew has the disk's time and room */
	for (unsigned i = 0; r == 0 && i < 2 && is_worth_a_seal(l, deadline_mono_ns); i++)
		r = upkeep__seal(l->store, &err);
	if (r)
		l->host->log(l->host, DCM_LOG_WARNING,
			     "%s: the log was not sealed, the next start reads it: %s", l->path,
			     err.text);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Changes of the configuration
 */

struct change {
	struct store_options options;
	uint32_t n_workers;
};

static int prepare(void *instance, const void *config, void **ret_change, struct dcm_error *err)
{
	struct local *l = instance;
	const struct config *c = config;
	const char *path = c->path ? c->path : l->host->data_dir;

	if (!path || strcmp(l->path, path) != 0)
		return error__set(err, -EBUSY, "path: can only change with a restart");
	struct change *change = NEW(struct change);
	if (!change)
		return error__nomem(err);
	*change = (struct change){ options_of(l, c), n_workers(c) };
	*ret_change = change;
	return 0;
}

static void commit(void *instance, void *change)
{
	struct local *l = instance;

	const struct store_options *from = &((struct change *)change)->options;
	struct store_options *to = &l->store->options;

	crew__resize(&l->crew, ((struct change *)change)->n_workers);
	pthread_rwlock_wrlock(&l->store->lock);
	to->max_bytes = from->max_bytes;
	to->retention_ms = from->retention_ms;
	to->retention_by_type = from->retention_by_type;
	to->max_bytes_by_type = from->max_bytes_by_type;
	to->seal_ms = from->seal_ms;
	to->head_max_bytes = from->head_max_bytes;
	to->log_max_bytes = from->log_max_bytes;
	to->dictionary_max_bytes = from->dictionary_max_bytes;
	to->era_max_bytes = from->era_max_bytes;
	to->max_series = from->max_series;
	kept__count_heads(l->store);
	pthread_rwlock_unlock(&l->store->lock);
	free(change);
}

static void abort_change(void *instance, void *change)
{
	(void)instance;
	free(change);
}

/* -------------------------------------------------------------------------------------------------
 * Operations
 */

static int refuse_change(const struct local *l, struct dcm_error *err)
{
	return error__set(err, -EROFS, "%s: opened with read_only: nothing can be changed", l->path);
}

static int write_batches(void *instance, struct dcm_batch *const *batches, uint32_t n,
			 dcm_done_fn done, void *ctx, struct dcm_error *err)
{
	struct local *l = instance;

	if (l->read_only)
		return refuse_change(l, err);
	int r = store__write(l->store, batches, n, done, ctx, err);
	const bool filled = atomic_exchange(&l->store->log_filled, false);

	pthread_mutex_lock(&l->mutex);
	if (!l->written || filled)
		pthread_cond_signal(&l->wake);
	l->written = true;
	l->filled |= filled;
	pthread_mutex_unlock(&l->mutex);
	return say_where(r, as_of_write(r), l->path, err);
}

static int retain(void *instance, int64_t cutoff_ms, uint64_t max_bytes, uint64_t *ret_n_profiles,
		  struct dcm_error *err)
{
	struct local *l = instance;
	uint64_t n = 0;

	if (l->read_only)
		return refuse_change(l, err);
	int r = removal__before(l->store, cutoff_ms, &n, err);

	if (r == 0 && max_bytes)
		r = removal__to(l->store, max_bytes, &n, err);
	if (r == 0)
		*ret_n_profiles = n;
	return say_where(r, r, l->path, err);
}

static int remove_selected(void *instance, const struct dcm_select *sel, uint64_t *ret_n_profiles,
			   struct dcm_error *err)
{
	struct local *l = instance;
	uint64_t n = 0;

	if (l->read_only)
		return refuse_change(l, err);
	int r = answer__check_select(sel, false, err);

	if (r == 0)
		r = removal__select(l->store, sel, &n, err);
	if (r == 0)
		*ret_n_profiles = n;
	return say_where(r, r, l->path, err);
}

static int backup(void *instance, const char *dir, struct dcm_error *err)
{
	struct local *l = instance;

	const int r = l->read_only ? reader__backup(l->vfs, dir, err)
				   : backup__make(l->vfs, l->store->commit, dir, err);

	return r ? error__set(err, r, "%s%s", err ? err->text : "", vfs__write_remedy(r)) : r;
}

static int check_within(void *instance, struct dcm_budget *budget, dcm_report_fn each, void *ctx,
			struct dcm_error *err)
{
	struct local *l = instance;
	const int n = inspect__check(l->store, &(struct inspect_how){ budget, each, ctx }, err);

	if (n < 0)
		return n;
	return n == 0 ? 0
		      : error__set(err, -EUCLEAN,
				   "storage %s: %d of its files cannot be read whole; what is "
				   "damaged comes back from a backup",
				   l->host->instance, n);
}

static int check(void *instance, dcm_report_fn each, void *ctx, struct dcm_error *err)
{
	return check_within(instance, NULL, each, ctx, err);
}

static void stat_store(void *instance, struct dcm_store_stat *ret)
{
	const struct local *l = instance;
	uint32_t size = ret->size;
	struct dcm_store_stat st = { .size = size, .place = str__of(l->path) };

	inspect__stat(l->store, &st);
	memcpy(ret, &st, size < sizeof(st) ? size : sizeof(st));
}

/* Also one without its manifest: open() says what is wrong with it. */
static int recognises(const char *dir)
{
	int r = fd__has_name(dir, MANIFEST_PATH);

	if (r == 0)
		r = fd__has_name(dir, ERAS_DIR);
	return r;
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = open_local,
	.start = start,
	.prepare = prepare,
	.commit = commit,
	.abort = abort_change,
	.drain = drain,
	.stop = stop,
	.preflight = preflight,
};

static const struct dcm_storage_ops ops = {
	.size = sizeof(ops),
	.write = write_batches,
	ASK_OPS,
	.retain = retain,
	.remove = remove_selected,
	.backup = backup,
	.check = check,
	.check_within = check_within,
	.stat = stat_store,
	.recognises = recognises,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	static const struct dcm_plugin plugin = {
		DCM_PLUGIN_HEAD,
		.kind = DCM_STORAGE,
		.name = "local",
		.version = "1",
		.summary = "Keeps weeks of profiles in a directory of this machine; what was "
			   "acknowledged survives a power cut.",
		.options = &table,
		.lifecycle = &lifecycle,
		.storage = &ops,
	};

	return &plugin;
}
