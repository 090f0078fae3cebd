/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/symbols.c - the symbol store: offers, the queue and the worker
 *
 * One worker thread takes files and batches from one queue in the order in which they came. So when
 * a batch is learned, the files that were offered before it have been read, and nobody waits.
 * Descriptors are duplicated at the offer: a process may end, and its file be deleted, before the
 * worker comes to it.
 *
 * Threads: see symbols.h and store.h. Limits: struct symbols_config, those of elf.h for each file.
 */
#include "core/symbolize/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/cond.h"
#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/batch/batch.h"
#include "core/broker/sandbox.h"
#include "core/symbolize/kept.h"
#include "core/symbolize/reading.h"
#include "core/symbolize/store.h"

static const struct symbols_config defaults = {
	.table_bytes = 64 << 20,
	.learned_bytes = 32 << 20,
	.queue_bytes = 64 << 20,
	.max_files = 256,
	.max_sources = 128,
	.frames_timeout_ns = 5000000000,
	.frames_bytes = 1 << 30,
	.debuginfod_bytes = (uint64_t)2 << 30,
	.debuginfod_retry_ns = INT64_C(60000000000),
	.store_bytes = (uint64_t)1 << 30,
	.kallsyms_path = "/proc/kallsyms",
	.modules_path = "/proc/modules",
	.clock = &clock__system,
};

/* Of a minute, until debuginfo is looked for again where nobody answered. */
enum { MAX_DOUBLINGS = 6 };

/* --- files --- */

static enum dcm_unnamed why_of(int rc)
{
	switch (rc) {
	case -ENOEXEC:
	case -EFBIG:
		return DCM_UNNAMED_BAD_FILE;
	case -EACCES:
	case -EPERM:
		return DCM_UNNAMED_NO_PERMISSION;
	default:
		return DCM_UNNAMED_FILE_GONE;
	}
}

static void count_failure(struct symbols_stat *c, int rc)
{
	if (rc == -ENOEXEC)
		c->files_bad++;
	else if (rc == -EFBIG)
		c->files_too_large++;
	else if (rc == -ENOMEM)
		c->files_no_memory++;
	else
		c->files_unreadable++;
}

/* Has servers asked for what was not found here. Under the lock. */
static void wish_for(struct symbols *s, struct file_entry *file, const struct reading *r,
		     struct dcm_str path, int fd)
{
	if (!s->fetcher || !r->searched || r->found || !r->build_id[0] || file->fetched)
		return;
	file->fetched = fetcher__add(s->fetcher, r->build_id,
				     (struct dcm_str){ file->build_id, file->build_id_n }, path, fd);
	if (!file->fetched) {
		s->counts.debuginfod_dropped++;
		return;
	}
	if (file->why == DCM_UNNAMED_NO_DEBUGINFO)
		file->why = DCM_UNNAMED_DEBUGINFO_ASKED;
}

/* Has the file read again, since nobody said whether it has debuginfo. Under the lock. */
static void put_off(struct symbols *s, struct file_entry *file, struct dcm_str path, int fd)
{
	const struct dcm_str id = { file->build_id, file->build_id_n };
	int64_t due_ns = clock__mono(s->config.clock) + (STORE_LOOK_EVERY_NS << file->n_unanswered);

	if (file->n_unanswered < MAX_DOUBLINGS)
		file->n_unanswered++;
	/* Another file of this build id may wait, which tells less. */
	later__drop(&s->later, id);
	file->owed_at_ns = later__add(&s->later, id, path, fd, due_ns) ? 0 : due_ns;
}

/*
 * What is there tells more than the file that was read again, which said at least whether there is
 * debuginfo. Under the lock.
 */
static void take_answer(struct file_entry *file, const struct reading *r)
{
	file->state = FILE_READY;
	if (r->is_unanswered)
		return;
	file->n_unanswered = 0;
	if (file->why == DCM_UNNAMED_DEBUGINFO_ASKED)
		file->why = r->why;
}

/* Under the lock. */
static void take_reading(struct symbols *s, struct file_entry *file, const struct reading *r)
{
	file->is_kept = r->is_kept;
	s->counts.debuginfo_found += r->found;
	s->counts.debuginfo_missing += r->searched && !r->found && !r->is_unanswered;
	s->counts.debuginfo_unanswered += r->is_unanswered;
	file_table__set(&s->files, file, r->table, r->source);
	file->why = r->why;
	file->owed_at_ns = 0;
	if (!r->is_unanswered)
		file->n_unanswered = 0;
	else if (r->why == DCM_UNNAMED_NO_DEBUGINFO)
		file->why = DCM_UNNAMED_DEBUGINFO_ASKED;
	file->is_complete = r->is_complete;
	file->lacks_debuginfo = r->searched && !r->found;
	file->look_at_ns = clock__mono(s->config.clock) + STORE_LOOK_EVERY_NS;
}

/* Nothing of the file is there, but what was resolved of it. Under the lock. */
static bool has_names_only(const struct file_entry *file)
{
	return !file->table && file->names;
}

/* False: the entry is gone. Under the lock. */
static bool fail_reading(struct symbols *s, struct file_entry *file, int rc, bool is_kept)
{
	if (rc != -EALREADY && !(is_kept && has_names_only(file)))
		count_failure(&s->counts, rc);
	if (file->table) {
		file->state = FILE_READY;
		return true;
	}
	if (is_kept && has_names_only(file)) {
		file->state = FILE_EVICTED;
		return true;
	}
	/* It was not offered, and what was there is set aside. */
	if (is_kept) {
		file_table__remove(&s->files, file);
		return false;
	}
	file->state = FILE_FAILED;
	file->why = (uint8_t)why_of(rc);
	if (rc != -ENOMEM)
		return true;
	/* Memory may be there another time: let the next offer count. */
	file_table__remove(&s->files, file);
	return false;
}

/* What is kept on disk has changed while the file was read. Under the lock. */
static void read_once_more(struct symbols *s, struct file_entry *file)
{
	bool afresh = file->again == FILE_READ_AFRESH;

	if (file->again == FILE_READ_ONCE)
		return;
	file->again = FILE_READ_ONCE;
	kept__read(s, file, afresh);
}

/*
 * Reads the file of a queued entry, fd or the one that is kept on disk (-1), and says what came of
 * it. No lock is held by the caller.
 */
static void read_file(struct symbols *s, struct file_entry *file, int fd, struct dcm_str path, bool is_rival)
{
	CLEANUP(fd__closep) int kept = fd < 0 ? kept__open(s, file) : -1;
	struct names *names = is_rival ? NULL : kept__names(s, file);
	struct reading r = { 0 };
	bool is_there = true;
	int rc = kept;

	if (fd >= 0)
		rc = reading__take(s, fd, path, is_rival ? READING_RIVAL : READING_OFFERED, &r);
	else if (kept >= 0) /* which has nothing new, but its debuginfo may be */
		rc = reading__take(s, kept, path, READING_KEPT, &r);

	if (kept >= 0)
		r.is_complete = false; /* stubs of the PLT are not in it: the file itself tells more */
	if (fd >= 0 && !is_rival && (rc || !r.is_complete))
		rc = kept__or_better(s, file, rc, &r);
	pthread_mutex_lock(&s->lock);
	if (!is_rival)
		file_table__set_names(&s->files, file, names);
	s->counts.files_read += rc == 0;
	if (rc) {
		is_there = fail_reading(s, file, rc, fd < 0);
		/* Nobody said anything of debuginfo, and this one waits no more to be read again. */
		if (is_there && fd >= 0 && !is_rival && file->n_unanswered)
			file->owed_at_ns = clock__mono(s->config.clock) + STORE_LOOK_EVERY_NS;
	} else if (is_rival && file->table && !reading__is_better(&r, file->table, file->source)) {
		reading__fini(&r);
		file->state = FILE_READY;
	} else if (fd >= 0 && file->table && reading__is_worse(&r, file->table, file->source)) {
		take_answer(file, &r);
		if (r.is_unanswered)
			put_off(s, file, path, fd);
		reading__fini(&r);
	} else {
		take_reading(s, file, &r);
		wish_for(s, file, &r, path, fd < 0 ? kept : fd);
		if (r.is_unanswered && fd >= 0)
			put_off(s, file, path, fd);
	}
	if (is_there)
		read_once_more(s, file);
	pthread_cond_broadcast(&s->done);
	pthread_mutex_unlock(&s->lock);
}

/*
 * Anybody can write a build id into a file. Whoever may write the one that is there, and root, may
 * say what everybody's frames of that id are called. Under the lock.
 */
static bool may_replace(const struct file_entry *e, uid_t owner)
{
	return !e->table || e->n_tried == 0 || owner == 0 || owner == e->owner;
}

/* The same of an open file. Under the lock. */
static bool is_welcome(const struct file_entry *e, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && may_replace(e, st.st_uid);
}

/*
 * Is it a file that was not read yet in the name of the entry's build id? Notes it. Under the lock.
 */
static bool is_another(struct file_entry *e, int fd)
{
	struct stat st;

	if (e->n_tried == FILE_TABLE_MAX_TRIED || fstat(fd, &st) < 0 || !may_replace(e, st.st_uid))
		return false;
	for (uint8_t i = 0; i < e->n_tried; i++)
		if (e->tried[i].dev == st.st_dev && e->tried[i].ino == st.st_ino)
			return false;
	e->tried[e->n_tried++] = (struct file_identity){ st.st_dev, st.st_ino };
	e->owner = st.st_uid;
	return true;
}

/* Is it time to ask for debuginfo once more, and nobody else will? Under the lock. */
static bool is_owed(const struct file_entry *e, int64_t now_ns)
{
	return e->state == FILE_READY && e->owed_at_ns && now_ns >= e->owed_at_ns;
}

/* True when reading this file could tell more. Under the lock. */
static bool worth_reading(struct file_entry *e, int fd)
{
	if (e->state == FILE_EVICTED)
		e->n_tried = 0;
	if (e->state == FILE_READY && e->unkept && is_welcome(e, fd)) {
		e->unkept = false;
		return true;
	}
	if (e->state == FILE_READY)
		return !e->is_complete && is_another(e, fd);
	if (e->state == FILE_FAILED && e->why == DCM_UNNAMED_BAD_FILE)
		return is_another(e, fd);
	if (e->state == FILE_QUEUED)
		return false;
	is_another(e, fd);
	return true;
}

/*
 * The entry to be read now, made or found; NULL when there is nothing to do. *ret_is_rival: it is to
 * be read for what it has beyond the one that was read. Under the lock.
 */
static struct file_entry *wanted(struct symbols *s, struct dcm_str build_id, int fd, bool *ret_is_rival)
{
	uint64_t hash = hash__bytes(build_id.p, build_id.n, 0);
	struct file_entry *e = file_table__find(&s->files, build_id, hash);

	*ret_is_rival = e && e->table;
	if (e && is_owed(e, clock__mono(s->config.clock)) && is_welcome(e, fd)) {
		e->owed_at_ns = 0;
		e->state = FILE_QUEUED;
		*ret_is_rival = false;
		return e;
	}
	if (e && !worth_reading(e, fd)) {
		s->counts.files_known++;
		return NULL;
	}
	if (e) {
		e->state = FILE_QUEUED;
		return e;
	}
	e = file_table__add(&s->files, build_id, hash);
	if (!e)
		s->counts.files_dropped++;
	else
		is_another(e, fd);
	return e;
}

static void free_job(struct job *job)
{
	if (!job)
		return;
	fd__close(job->fd);
	free(job->path);
	batch__unref(job->batch);
	free(job);
}

void store__push(struct symbols *s, struct job *job)
{
	*s->last = job;
	s->last = &job->next;
	s->n_jobs++;
	pthread_cond_signal(&s->work);
}

void symbols__offer(struct symbols *s, struct dcm_str build_id, struct dcm_str path, int fd)
{
	struct file_entry *e;
	struct job *job;
	bool read_now, is_rival;

	if (build_id.n == 0 || fd < 0)
		return;
	if (build_id.p[0] != '~')
		offered__add(s->offered, build_id, path, fd, clock__mono(s->config.clock));
	if (s->config.no_files)
		return;
	pthread_mutex_lock(&s->lock);
	s->counts.files_offered++;
	e = wanted(s, build_id, fd, &is_rival);
	if (!e) {
		pthread_mutex_unlock(&s->lock);
		return;
	}
	job = s->n_fds < s->config.max_files ? NEW(struct job) : NULL;
	if (job) {
		job->file = e;
		job->is_rival = is_rival;
		job->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		job->path = mem__dup_str(path.p, path.n); /* without it a link leads nowhere, that is all */
	}
	read_now = !job || job->fd < 0;
	if (read_now) {
		s->counts.files_inline++;
		free_job(job);
	} else {
		s->n_fds++;
		store__push(s, job);
	}
	pthread_mutex_unlock(&s->lock);
	if (read_now)
		read_file(s, e, fd, path, is_rival);
}

/*
 * Queues the file again, with the debuginfo that has come meanwhile. False without memory or
 * descriptors, or while it is being read. Under the lock.
 */
static bool read_again(struct symbols *s, struct file_entry *e, struct dcm_str path, int fd)
{
	struct job *job = e->state == FILE_READY ? NEW(struct job) : NULL;

	if (!job)
		return false;
	job->file = e;
	job->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	job->path = mem__dup_str(path.p, path.n);
	if (job->fd < 0) {
		free_job(job);
		return false;
	}
	e->state = FILE_QUEUED; /* its old table still answers */
	s->n_fds++;
	store__push(s, job);
	return true;
}

void store__fetched(struct symbols *s, struct dcm_str build_id, struct dcm_str path, int fd, int rc,
		    bool again)
{
	struct file_entry *e;

	pthread_mutex_lock(&s->lock);
	s->counts.debuginfod_asked++;
	if (rc == 0)
		s->counts.debuginfod_found++;
	else if (rc != -ENOENT)
		s->counts.debuginfod_failed++;
	e = file_table__find(&s->files, build_id, hash__bytes(build_id.p, build_id.n, 0));
	if (e && e->why == DCM_UNNAMED_DEBUGINFO_ASKED && !again && e->n_unanswered == 0)
		e->why = DCM_UNNAMED_NO_DEBUGINFO;
	if (e && rc == 0)
		read_again(s, e, path, fd);
	pthread_mutex_unlock(&s->lock);
}

/* --- batches --- */

void symbols__learn(struct symbols *s, struct dcm_batch *batch)
{
	struct job *job = NEW(struct job);

	/* Here only because it is called all the time. */
	offered__tend(s->offered, clock__mono(s->config.clock));
	pthread_mutex_lock(&s->lock);
	if (!job || s->queue_bytes + batch->bytes > s->config.queue_bytes) {
		s->counts.batches_not_learned++;
		pthread_mutex_unlock(&s->lock);
		free(job);
		return;
	}
	job->fd = -1;
	job->batch = batch__ref(batch);
	s->queue_bytes += batch->bytes;
	store__push(s, job);
	pthread_mutex_unlock(&s->lock);
}

/* --- the worker --- */

/* Queues those whose time has come. Under the lock. */
static void queue_later(struct symbols *s)
{
	const int64_t now_ns = clock__mono(s->config.clock);
	struct later_file *f;

	while ((f = later__pop(&s->later, now_ns))) {
		struct dcm_str id = str__of(f->build_id);
		struct file_entry *e = file_table__find(&s->files, id, hash__bytes(id.p, id.n, 0));

		bool may_be = e && (e->state == FILE_QUEUED || e->state == FILE_READY);

		/* Or another file with that build id has brought an answer. */
		if (!may_be || (e->state == FILE_READY && e->n_unanswered == 0) ||
		    read_again(s, e, str__of(f->path), f->fd)) {
			later_file__free(f);
			continue;
		}
		f->due_ns = now_ns + STORE_LOOK_EVERY_NS;
		later__put(&s->later, f);
	}
}

/* For a job, or until a file is to be read again. Under the lock. */
static void wait_for_work(struct symbols *s)
{
	int64_t due_ns;

	if (!s->later.first) {
		pthread_cond_wait(&s->work, &s->lock);
		return;
	}
	due_ns = s->later.first->due_ns - clock__mono(s->config.clock) + clock__mono(&clock__system);
	const struct timespec until = { due_ns / 1000000000, due_ns % 1000000000 };
	pthread_cond_timedwait(&s->work, &s->lock, &until);
}

/* The next job, or NULL when it is time to stop. Waits. */
static struct job *pop(struct symbols *s)
{
	struct job *job = NULL;

	pthread_mutex_lock(&s->lock);
	for (queue_later(s); !s->first && !s->stop; queue_later(s))
		wait_for_work(s);
	if (!s->stop) {
		job = s->first;
		s->first = job->next;
		if (!s->first)
			s->last = &s->first;
		s->n_jobs--;
	}
	pthread_mutex_unlock(&s->lock);
	return job;
}

static void *work(void *ctx)
{
	struct symbols *s = ctx;
	struct job *job;

	/* It is made before the process gives its rights up, and reads files that anybody wrote. */
	sandbox__keep_capabilities(0);
	while ((job = pop(s))) {
		if (job->file)
			read_file(s, job->file, job->fd, str__of(job->path), job->is_rival);
		else
			resolve__learn(s, job->batch);
		pthread_mutex_lock(&s->lock);
		if (job->file) {
			s->n_fds--;
		} else {
			s->queue_bytes -= job->batch->bytes;
			s->counts.batches_learned++;
		}
		pthread_mutex_unlock(&s->lock);
		free_job(job);
	}
	return NULL;
}

/* --- the object --- */

static struct symbols_config with_defaults(const struct symbols_config *config)
{
	struct symbols_config c = config ? *config : defaults;

#define DEFAULT(member)                                                                            \
	if (!c.member)                                                                             \
	c.member = defaults.member
	DEFAULT(table_bytes);
	DEFAULT(learned_bytes);
	DEFAULT(queue_bytes);
	DEFAULT(max_files);
	DEFAULT(max_sources);
	DEFAULT(frames_timeout_ns);
	DEFAULT(frames_bytes);
	DEFAULT(debuginfod_bytes);
	DEFAULT(debuginfod_retry_ns);
	DEFAULT(store_bytes);
	DEFAULT(kallsyms_path);
	DEFAULT(modules_path);
	DEFAULT(clock);
#undef DEFAULT
	return c;
}

static void init_locks(struct symbols *s)
{
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->learned_lock, NULL);
	pthread_mutex_init(&s->uploading, NULL);
	pthread_mutex_init(&s->providing, NULL);
	cond__init(&s->work);
	cond__init(&s->done);
}

/* Everything but the thread. */
static void destroy(struct symbols *s)
{
	while (s->first) {
		struct job *job = s->first;

		s->first = job->next;
		free_job(job);
	}
	later__fini(&s->later);
	file_table__fini(&s->files);
	learned__fini(&s->learned);
	kernel_names__fini(&s->kernel);
	scribe__free(s->scribe);
	depot__free(s->depot);
	offered__free(s->offered);
	free(s->debug_dirs);
	pthread_cond_destroy(&s->work);
	pthread_cond_destroy(&s->done);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->learned_lock);
	pthread_mutex_destroy(&s->uploading);
	pthread_mutex_destroy(&s->providing);
	free(s);
}

/* The directories to search: those of the configuration, and the fetcher's. */
static int list_dirs(struct symbols *s)
{
	const struct symbols_config *c = &s->config;

	s->debug_dirs = mem__zalloc(c->n_debug_dirs + 1u, sizeof(*s->debug_dirs));
	if (!s->debug_dirs)
		return -ENOMEM;
	for (; s->n_debug_dirs < c->n_debug_dirs; s->n_debug_dirs++)
		s->debug_dirs[s->n_debug_dirs] = c->debug_dirs[s->n_debug_dirs];
	if (c->n_debuginfod && c->debuginfod_dir)
		s->debug_dirs[s->n_debug_dirs++] = c->debuginfod_dir;
	return 0;
}

static int start_threads(struct symbols *s)
{
	const struct symbols_config *c = &s->config;
	int rc = 0;

	if (c->n_debuginfod && c->debuginfod_dir)
		rc = fetcher__new(s, &s->fetcher);
	if (!rc)
		rc = kept__start(s);
	if (!rc)
		rc = -pthread_create(&s->worker, NULL, work, s);
	if (!rc)
		pthread_setname_np(s->worker, "symbols");
	return rc;
}

int symbols__new(const struct symbols_config *config, struct symbols **ret_symbols, struct dcm_error *err)
{
	struct symbols *s = NEW(struct symbols);
	int rc;

	if (!s)
		return error__nomem(err);
	s->config = with_defaults(config);
	s->last = &s->first;
	init_locks(s);
	rc = kernel_names__init(&s->kernel, s->config.kallsyms_path, s->config.modules_path,
				s->config.clock);
	s->kernel.broker = s->config.broker;
	if (!rc)
		rc = learned__init(&s->learned, s->config.learned_bytes);
	if (!rc)
		rc = list_dirs(s);
	if (!rc)
		rc = file_table__init(&s->files, s->config.table_bytes, s->config.max_sources);
	s->offered = offered__new();
	if (!rc && !s->offered)
		rc = -ENOMEM;
	if (!rc)
		rc = kept__init(s);
	if (rc) {
		destroy(s);
		return error__nomem(err);
	}
	rc = start_threads(s);
	if (rc) {
		keeper__free(s->keeper);
		fetcher__free(s->fetcher);
		destroy(s);
		return error__sys(err, rc, "symbol store: its thread cannot be started");
	}
	*ret_symbols = s;
	return 0;
}

void symbols__free(struct symbols *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->worker, NULL);
	fetcher__free(s->fetcher);
	keeper__free(s->keeper);
	destroy(s);
}

int symbols__kernel(struct symbols *s, uint64_t address, struct dcm_str *ret_name,
		    struct dcm_str *ret_module)
{
	return kernel_names__find(&s->kernel, address, ret_name, ret_module);
}

void symbols__stat(struct symbols *s, struct symbols_stat *ret)
{
	struct symbols_stat c;

	pthread_mutex_lock(&s->lock);
	c = s->counts;
	c.tables_evicted = s->files.n_evicted;
	c.table_bytes = s->files.bytes;
	c.n_tables = s->files.n_tables;
	c.n_sources = s->files.n_sources;
	c.n_files = s->files.n_files;
	c.n_queued = s->n_jobs;
	pthread_mutex_unlock(&s->lock);
	pthread_mutex_lock(&s->learned_lock);
	c.learned_bytes = learned__bytes(&s->learned);
	pthread_mutex_unlock(&s->learned_lock);
	c.kallsyms_bytes = kernel_names__stat(&s->kernel, &c.kallsyms_loads, &c.kallsyms_errors);
	c.hits = atomic_load(&s->hits);
	c.misses = atomic_load(&s->misses);
	c.lookups = c.hits + c.misses;
	c.learned_hits = atomic_load(&s->learned_hits);
	c.waits_timed_out = atomic_load(&s->waits_timed_out);
	c.frames_asked = atomic_load(&s->frames_asked);
	c.frames_given_up = atomic_load(&s->frames_given_up);
	kept__stat(s, &c);
	*ret = c;
}
