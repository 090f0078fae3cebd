/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/memory/memory.c - storage in memory: small, bounded, and the oracle of the other
 * stores
 *
 * Everything that struct dcm_storage_ops asks for, in the plainest way that is fast enough, so that
 * other stores can be held against it. Nothing survives the process but through backup; `path`
 * opens what backup wrote.
 *
 *	store.h   what is held, and writing it     expire.h  by age, by bytes, dead entries
 *	look.h    a view of it, for questions      remove.h  removing by selection
 *	backup.h  the directory
 *
 * Shared with other stores: dict/ (strings, stacks, series: each once), streams/ (profiles, and
 * which batches are stored already), answer/ (the questions).
 *
 * Threads: as the ops say. One readers-writer lock, held for moments; no host function is called
 * under it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <decima/plugin.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/answer/answer.h"
#include "plugins/storage/answer/ask.h"
#include "plugins/storage/answer/meter.h"
#include "plugins/storage/dict/growth.h"
#include "plugins/storage/memory/backup.h"
#include "plugins/storage/memory/expire.h"
#include "plugins/storage/memory/look.h"
#include "plugins/storage/memory/remove.h"
#include "plugins/storage/memory/store.h"

/* -------------------------------------------------------------------------------------------------
 * Options
 */

struct config {
	int64_t max_bytes;
	int64_t retention_ns;
	const char *path;
	bool read_only;
	int64_t max_series;
};

static const struct dcm_option options[] = {
	{ .name = "max_bytes",
	  .type = DCM_OPT_SIZE,
	  .offset = offsetof(struct config, max_bytes),
	  .def = "256MiB",
	  .min = "1MiB",
	  .doc = "Memory for profiles and everything they refer to. Beyond it the oldest profiles "
		 "are dropped and "
		 "counted as memory_full. A row costs 5 to 20 bytes, a profile about 50, "
		 "a stack 4 bytes a frame once." },
	{ .name = "retention",
	  .type = DCM_OPT_DURATION,
	  .offset = offsetof(struct config, retention_ns),
	  .def = "1h",
	  .min = "0",
	  .doc = "Profiles that are older than this, compared with the newest one, are removed; 0 "
		 "keeps them as long as max_bytes lasts." },
	{ .name = "max_series",
	  .type = DCM_OPT_INT,
	  .offset = offsetof(struct config, max_series),
	  .def = "100000",
	  .min = "0",
	  .max = "100000000",
	  .doc = "Series (sets of labels) that the store may have; 0: no bound. What is new beyond "
		 "them goes into the one series {__overflow__=\"true\"}, without its labels "
		 "(counted as series_folded); gauges and cumulative values, which cannot be "
		 "added up so, are dropped (series_refused)." },
	{ .name = "path",
	  .type = DCM_OPT_STRING,
	  .offset = offsetof(struct config, path),
	  .flags = DCM_OPT_RESTART,
	  .doc = "A directory that `decima store backup` made of a memory store, loaded at start. "
		 "Nothing is written back to it." },
	{ .name = "read_only",
	  .type = DCM_OPT_BOOL,
	  .offset = offsetof(struct config, read_only),
	  .def = "false",
	  .flags = DCM_OPT_RESTART,
	  .doc = "Answers from `path` as it is: nothing is stored, and nothing removed, however "
		 "old "
		 "or large it is. What --data DIR of commands does. Needs `path`." },
};
static const struct dcm_table table = DCM_TABLE(struct config, options);

/* -------------------------------------------------------------------------------------------------
 * State and lifecycle
 */

struct memory {
	struct ask ask; /* first: the ops of questions know no more of it */
	const struct dcm_host *host;
	struct store *store;
	char *path; /* or NULL */
	bool read_only;
	struct dcm_metric *bytes, *profiles, *expired;
	_Atomic int64_t overflow_told_ns; /* mono; 0: never */
};

static int64_t now_ms(const struct memory *m)
{
	return m->host->real_ns(m->host) / 1000000;
}

/* Without a backup it would be empty for good. */
static int check_config(const struct config *c, struct dcm_error *err)
{
	return c->read_only && !c->path
		       ? error__set(err, -EINVAL, "read_only: needs path; name the backup to read")
		       : 0;
}

/* What is only read is there whole, whatever a store that is written to may keep. */
static struct store_limits limits_of(const struct config *c)
{
	if (c->read_only)
		return (struct store_limits){ .max_bytes = 0, .retention_ms = 0 };
	return (struct store_limits){ .max_bytes = (uint64_t)c->max_bytes,
				      .retention_ms = c->retention_ns / 1000000,
				      .max_series = (uint32_t)c->max_series };
}

/* Of what may come with each write people hear once an hour. */
static void tell_overflow(struct memory *m)
{
	const int64_t now_ns = m->host->mono_ns(m->host);
	const int64_t told_ns = atomic_load(&m->overflow_told_ns);
	char growth[GROWTH_BYTES];

	if (told_ns && now_ns - told_ns < INT64_C(3600) * 1000000000)
		return;
	atomic_store(&m->overflow_told_ns, now_ns);
	pthread_rwlock_rdlock(&m->store->lock);
	struct dict *d = dict__ref(m->store->streams.dict);
	const struct dict_counts counts = dict__counts(d);
	pthread_rwlock_unlock(&m->store->lock);
	growth__describe(d, &counts, growth);
	dict__unref(d);
	m->host->log(m->host, DCM_LOG_WARNING, STREAMS_OVERFLOW_SENTENCE, growth);
}

/* Tells the host what happened under the lock. */
static void publish(struct memory *m, const struct store_news *news)
{
	pthread_rwlock_rdlock(&m->store->lock);
	uint64_t bytes = expire__bytes(m->store), n = m->store->streams.n_profiles;
	pthread_rwlock_unlock(&m->store->lock);

	m->host->metric_set(m->bytes, (double)bytes);
	m->host->metric_set(m->profiles, (double)n);
	if (news->n_expired)
		m->host->metric_add(m->expired, news->n_expired);
	if (news->n_evicted)
		m->host->drop(m->host, "memory_full",
			      news->rows_evicted ? news->rows_evicted : news->n_evicted);
	if (news->overflow.n_folded)
		m->host->drop(m->host, "series_folded", news->overflow.n_folded);
	if (news->overflow.n_refused)
		m->host->drop(m->host, "series_refused", news->overflow.n_refused);
	if (news->overflow.n_folded || news->overflow.n_refused)
		tell_overflow(m);
}

static void stop(void *instance)
{
	struct memory *m = instance;

	if (!m)
		return;
	store__free(m->store);
	free(m->path);
	free(m);
}
DEFINE_CLEANUP(void *, stop);

/* ask.take */
static int take(void *instance, struct view *v)
{
	struct memory *m = instance;

	return look__take(v, m->store, NULL);
}

/* What the limits do not let in is counted, and said. */
static int load(struct memory *m, struct dcm_error *err)
{
	struct store_news news = { 0 };
	int r = backup__read(m->store, m->host, m->path, &news, err);

	if (r < 0) {
		error__prefix(err, "path");
		return r;
	}
	publish(m, &news);
	if (news.n_expired || news.n_evicted)
		m->host->log(m->host, DCM_LOG_WARNING,
			     "%s: %" PRIu64 " profiles are older than retention, and %" PRIu64
			     " are beyond max_bytes: they are not in this store",
			     m->path, news.n_expired, news.n_evicted);
	return 0;
}

static int open_memory(const struct dcm_host *host, const void *config, void **ret_instance,
		       struct dcm_error *err)
{
	const struct config *c = config;
	struct memory *m = NEW(struct memory);
	CLEANUP(stopp) void *guard = m;
	int r = m ? check_config(c, err) : error__nomem(err);

	if (r < 0)
		return r;
	m->ask = (struct ask){ .host = host, .take = take };
	m->host = host;
	m->read_only = c->read_only;
	m->store = store__new(limits_of(c));
	m->path = c->path ? mem__dup_str(c->path, strlen(c->path)) : NULL;
	if (!m->store || (c->path && !m->path))
		return error__nomem(err);
	m->bytes = host->metric(host, DCM_GAUGE_METRIC, "storage_bytes", "Memory that the store holds.");
	m->profiles = host->metric(
		host, DCM_GAUGE_METRIC, "storage_profiles",
		"Profiles in the store; one of several types counts once for each.");
	m->expired = host->metric(host, DCM_COUNTER, "storage_expired_profiles_total",
				  "Profiles removed because they were older than the retention.");
	r = c->path ? load(m, err) : 0;
	if (r < 0)
		return r;
	publish(m, &(struct store_news){ 0 });
	*ret_instance = take_ptr(guard);
	return 0;
}

/* Of a backup the manifest; that its batches are whole only reading them all would tell. */
static void preflight(const struct dcm_host *host, const void *config, dcm_report_fn report, void *ctx)
{
	const struct config *c = config;
	struct dcm_error err = DCM_ERROR_INIT;

	(void)host;
	int r = check_config(c, &err);
	if (r == 0 && c->path) {
		r = backup__look(c->path, &err);
		error__prefix(&err, "path");
	}
	if (r == 0)
		return;
	report(ctx, DCM_LOG_ERROR, err.text);
}

static int start(void *instance, struct dcm_error *err)
{
	struct memory *m = instance;
	(void)err;

	m->host->set_state(m->host, DCM_STATE_OK, "%s",
			   m->read_only ? "in memory (read only)"
					: "in memory: nothing survives a restart");
	return 0;
}

static int prepare(void *instance, const void *config, void **ret_change, struct dcm_error *err)
{
	const struct memory *m = instance;
	const struct config *c = config;

	if (strcmp(m->path ? m->path : "", c->path ? c->path : "") != 0)
		return error__set(err, -EBUSY, "path: can only change with a restart");
	if (c->read_only != m->read_only)
		return error__set(err, -EBUSY, "read_only: can only change with a restart");
	struct store_limits *change = NEW(struct store_limits);
	if (!change)
		return error__nomem(err);
	*change = limits_of(c);
	*ret_change = change;
	return 0;
}

static void commit(void *instance, void *change)
{
	struct memory *m = instance;
	struct store_news news = { 0 };

	pthread_rwlock_wrlock(&m->store->lock);
	m->store->limits = *(struct store_limits *)change;
	pthread_rwlock_unlock(&m->store->lock);
	free(change);
	store__tend(m->store, now_ms(m), &news);
	publish(m, &news);
}

static void abort_change(void *instance, void *change)
{
	(void)instance;
	free(change);
}

/* -------------------------------------------------------------------------------------------------
 * Operations
 */

static int refuse_change(const struct memory *m, struct dcm_error *err)
{
	return error__set(err, -EROFS, "%s: opened with read_only: nothing can be changed",
			  m->path ? m->path : m->host->instance);
}

static int write_batches(void *instance, struct dcm_batch *const *batches, uint32_t n,
			 dcm_done_fn done, void *ctx, struct dcm_error *err)
{
	struct memory *m = instance;
	struct store_news news = { 0 };

	if (m->read_only)
		return refuse_change(m, err);
	/*
	 * Memory may come back: -EAGAIN, because any other error would mean that these can never be
	 * stored.
	 */
	if (store__write(m->store, batches, n, now_ms(m), &news) < 0)
		return error__set(err, -EAGAIN, "storage %s: out of memory", m->host->instance);
	publish(m, &news);
	if (done)
		done(ctx, 0);
	return 0;
}

static int retain(void *instance, int64_t cutoff_ms, uint64_t max_bytes, uint64_t *ret_n_profiles,
		  struct dcm_error *err)
{
	struct memory *m = instance;

	if (m->read_only)
		return refuse_change(m, err);
	store__retain(m->store, cutoff_ms, max_bytes, ret_n_profiles);
	publish(m, &(struct store_news){ 0 });
	return 0;
}

static int remove_selected(void *instance, const struct dcm_select *sel, uint64_t *ret_n_profiles,
			   struct dcm_error *err)
{
	struct memory *m = instance;
	int r = m->read_only ? refuse_change(m, err) : answer__check_select(sel, false, err);

	if (r < 0)
		return r;
	r = remove__selected(m->store, m->host, sel, ret_n_profiles);
	if (r == -EAGAIN)
		return error__set(err, r, "the store is too busy to remove from; try again");
	publish(m, &(struct store_news){ 0 });
	return meter__explain(r, sel->budget, err);
}

static int maintain(void *instance, int64_t budget_ns, struct dcm_error *err)
{
	struct memory *m = instance;
	struct store_news news = { 0 };
	(void)budget_ns;
	(void)err;

	store__tend(m->store, now_ms(m), &news);
	publish(m, &news);
	return 0;
}

static int backup(void *instance, const char *dir, struct dcm_error *err)
{
	struct memory *m = instance;

	return backup__write(m->store, m->host, dir, err);
}

static int check(void *instance, dcm_report_fn report, void *ctx, struct dcm_error *err)
{
	struct memory *m = instance;
	struct store_findings found = { 0 };

	store__check(m->store, &found);
	if (found.n == 0)
		return 0;
	if (report)
		for (uint32_t i = 0; i < found.n && i < STORE_MAX_FINDINGS; i++)
			report(ctx, DCM_LOG_ERROR, found.text[i]);
	return error__set(err, -EUCLEAN, "storage %s: %u of its rules are broken; restart it",
			  m->host->instance, found.n);
}

static void stat_store(void *instance, struct dcm_store_stat *ret)
{
	const struct memory *m = instance;
	uint32_t size = ret->size;
	struct dcm_store_stat st = { .size = size, .place = STR("memory") };

	store__stat(m->store, &st);
	memcpy(ret, &st, size < sizeof(st) ? size : sizeof(st));
}

static int recognises(const char *dir)
{
	return fd__has_name(dir, BACKUP_MANIFEST);
}

static const struct dcm_lifecycle lifecycle = {
	.size = sizeof(lifecycle),
	.open = open_memory,
	.start = start,
	.prepare = prepare,
	.commit = commit,
	.abort = abort_change,
	.stop = stop,
	.preflight = preflight,
};

static const struct dcm_storage_ops ops = {
	.size = sizeof(ops),
	.write = write_batches,
	ASK_OPS,
	.retain = retain,
	.remove = remove_selected,
	.maintain = maintain,
	.backup = backup,
	.check = check,
	.stat = stat_store,
	.recognises = recognises,
};

const struct dcm_plugin *dcm_plugin_entry(void)
{
	static const struct dcm_plugin plugin = {
		DCM_PLUGIN_HEAD,
		.kind = DCM_STORAGE,
		.name = "memory",
		.version = "1",
		.summary = "Keeps profiles in memory, bounded by age and bytes; nothing survives a "
			   "restart.",
		.options = &table,
		.lifecycle = &lifecycle,
		.storage = &ops,
	};

	return &plugin;
}
