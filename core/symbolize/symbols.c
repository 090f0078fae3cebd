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
#include "core/symbolize/debuginfo.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/store.h"

#define LOOK_EVERY_NS INT64_C(60000000000) /* for debuginfo that was not there */

static const struct symbols_config defaults = {
	.table_bytes = 64 << 20,
	.learned_bytes = 32 << 20,
	.queue_bytes = 64 << 20,
	.max_files = 256,
	.max_sources = 128,
	.frames_timeout_ns = 5000000000,
	.frames_bytes = 1 << 30,
	.debuginfod_bytes = (uint64_t)2 << 30,
	.store_bytes = (uint64_t)1 << 30,
	.kallsyms_path = "/proc/kallsyms",
	.modules_path = "/proc/modules",
	.clock = &clock__system,
};

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

/* A file on its way in: what was read of it, and why addresses without a symbol have none. */
struct reading {
	struct symbol_table *table;
	struct debug_source *source; /* or NULL */
	uint8_t why;
	bool searched, found;		  /* separate debuginfo */
	bool is_complete;		  /* symbols, and lines where they are wanted */
	char build_id[ELF_BUILD_ID_TEXT]; /* "": none */
};

/* Files that belong together, by enum frames_file. */
struct parts {
	int fds[FRAMES_MAX_FILES];
};

static const struct parts no_parts = { { -1, -1, -1, -1 } };

/* What was found, or else the file that is kept on disk as the separate debuginfo of that build id. */
static int or_kept(struct symbols *s, int fd, const char *build_id)
{
	int kept = fd < 0 && s->depot ? depot__open(s->depot, build_id, DEPOT_DEBUG) : -ENOENT;

	return kept >= 0 ? kept : fd;
}

/* Opens what was split off, where the file lacks symbols or lines. */
static void find_parts(struct symbols *s, const struct debuginfo_facts *facts, struct dcm_str path,
		       struct parts *p, struct reading *ret)
{
	struct debuginfo_dirs dirs = { s->debug_dirs, s->n_debug_dirs };
	struct debuginfo_facts split;
	char found[PATH_MAX] = "";

	ret->why = DCM_UNNAMED_STRIPPED;
	if ((facts->has_dwarf && facts->has_symtab) || (dirs.n == 0 && !s->depot))
		return;
	ret->searched = true;
	p->fds[FRAMES_DEBUG] = or_kept(s, debuginfo__open(&dirs, facts, path, found), facts->build_id);
	ret->found = p->fds[FRAMES_DEBUG] >= 0;
	if (!ret->found && !facts->has_symtab)
		ret->why = p->fds[FRAMES_DEBUG] == -EBADMSG ? DCM_UNNAMED_DEBUGINFO_BAD
							    : DCM_UNNAMED_NO_DEBUGINFO;
	if (ret->found && debuginfo__facts(p->fds[FRAMES_DEBUG], &split) == 0 && split.alt[0])
		p->fds[FRAMES_ALT] = or_kept(s, debuginfo__open_alt(&dirs, &split, found),
					     split.alt_build_id);
}

/* Hands over what is worth keeping on disk. */
static void keep(struct symbols *s, const struct debuginfo_facts *facts, int fd, const struct parts *p)
{
	if (!s->keeper)
		return;
	if (depot__wants(s->depot, facts->build_id, DEPOT_ELF, keeper__tells(facts)))
		keeper__add(s->keeper, DEPOT_ELF, fd);
	if (p->fds[FRAMES_DEBUG] >= 0)
		keeper__add(s->keeper, DEPOT_DEBUG, p->fds[FRAMES_DEBUG]);
	if (p->fds[FRAMES_ALT] >= 0)
		keeper__add(s->keeper, DEPOT_DEBUG, p->fds[FRAMES_ALT]);
}

/* Keeps what can tell lines open. */
static struct debug_source *keep_open(struct symbols *s, const struct debuginfo_facts *facts,
				      int fd, struct dcm_str path, struct parts *p)
{
	struct debuginfo_facts split = { 0 };

	if (!s->config.lines)
		return NULL;
	if (p->fds[FRAMES_DEBUG] >= 0 &&
	    (debuginfo__facts(p->fds[FRAMES_DEBUG], &split) || !split.has_dwarf)) {
		close(p->fds[FRAMES_DEBUG]);
		p->fds[FRAMES_DEBUG] = -1;
	}
	if (facts->has_dwarf || facts->has_go)
		p->fds[FRAMES_ELF] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (p->fds[FRAMES_ELF] < 0 && p->fds[FRAMES_DEBUG] < 0)
		return NULL;
	if (facts->has_dwarf)
		p->fds[FRAMES_PACKAGE] = debuginfo__open_package(path);
	struct debug_source *d = debug_source__new(p->fds);
	*p = no_parts;
	return d;
}

/* -EALREADY: a rival that has nothing to tell beyond what every file of its build id has. */
static int read_parts(struct symbols *s, int fd, struct dcm_str path, bool is_rival, struct reading *ret)
{
	struct parts p = no_parts;
	struct debuginfo_facts facts;
	struct elf_symbols *elf = NULL;
	int rc = debuginfo__facts(fd, &facts);

	*ret = (struct reading){ 0 };
	if (!rc && is_rival && !facts.has_symtab && !facts.has_dwarf && !facts.has_go)
		rc = -EALREADY;
	if (!rc) {
		memcpy(ret->build_id, facts.build_id, sizeof(ret->build_id));
		find_parts(s, &facts, path, &p, ret);
	}
	if (!rc)
		rc = elf__load(fd, p.fds[FRAMES_DEBUG], NULL, &elf, NULL);
	if (!rc) {
		ret->table = symbol_table__new(elf);
		rc = ret->table ? 0 : -ENOMEM;
	}
	if (!rc) {
		keep(s, &facts, fd, &p);
		ret->source = keep_open(s, &facts, fd, path, &p);
	}
	ret->is_complete = (facts.has_symtab || ret->found) && (ret->source || !s->config.lines);
	for (int i = 0; i < FRAMES_MAX_FILES; i++)
		fd__close(p.fds[i]);
	return rc;
}

/* Has servers asked for what was not found here. Under the lock. */
static void wish_for(struct symbols *s, struct file_entry *file, const struct reading *r,
		     struct dcm_str path, int fd)
{
	if (!s->fetcher || !r->searched || r->found || !r->build_id[0] || file->fetched)
		return;
	file->fetched = true;
	if (!fetcher__add(s->fetcher, r->build_id,
			  (struct dcm_str){ file->build_id, file->build_id_n }, path, fd)) {
		s->counts.debuginfod_dropped++;
		return;
	}
	if (file->why == DCM_UNNAMED_NO_DEBUGINFO)
		file->why = DCM_UNNAMED_DEBUGINFO_ASKED;
}

/* Is what was read more than what is there, and less in nothing? */
static bool is_better(const struct symbol_table *table, const struct debug_source *source,
		      const struct reading *r)
{
	uint32_t had = elf__count(table->elf), has = elf__count(r->table->elf);

	return has >= had && (r->source || !source) && (has > had || (r->source && !source));
}

/* Under the lock. */
static void take_reading(struct symbols *s, struct file_entry *file, const struct reading *r)
{
	s->counts.debuginfo_found += r->found;
	s->counts.debuginfo_missing += r->searched && !r->found;
	/* What was not named by the table before is looked up again in any case. */
	if (file->table && file->version < UINT8_MAX)
		file->version++;
	file_table__set(&s->files, file, r->table, r->source);
	file->why = r->why;
	file->is_complete = r->is_complete;
	file->lacks_debuginfo = r->searched && !r->found;
	file->look_at_ns = clock__mono(s->config.clock) + LOOK_EVERY_NS;
}

/* Under the lock. */
static void fail_reading(struct symbols *s, struct file_entry *file, int rc, bool is_kept)
{
	if (rc != -EALREADY)
		count_failure(&s->counts, rc);
	if (file->table) {
		file->state = FILE_READY;
		return;
	}
	/* It was not offered, and what was there is set aside. */
	if (is_kept) {
		file_table__remove(&s->files, file);
		return;
	}
	file->state = FILE_FAILED;
	file->why = (uint8_t)why_of(rc);
	/* Memory may be there another time: let the next offer count. */
	if (rc == -ENOMEM)
		file_table__remove(&s->files, file);
}

static void free_reading(struct reading *r)
{
	symbol_table__unref(r->table);
	debug_source__unref(r->source);
}

/* As C text; false: it is no build id. */
static bool text_of(struct dcm_str build_id, char ret[static ELF_BUILD_ID_TEXT])
{
	if (build_id.n >= ELF_BUILD_ID_TEXT)
		return false;
	memcpy(ret, build_id.p, build_id.n);
	ret[build_id.n] = '\0';
	return true;
}

/* The file that is kept on disk: itself, or else its debuginfo, which has the symbols, too. */
static int open_kept(struct symbols *s, const struct file_entry *file)
{
	char build_id[ELF_BUILD_ID_TEXT];
	int fd;

	if (!s->depot || !text_of((struct dcm_str){ file->build_id, file->build_id_n }, build_id))
		return -ENOENT;
	fd = depot__open(s->depot, build_id, DEPOT_ELF);
	return fd >= 0 ? fd : depot__open(s->depot, build_id, DEPOT_DEBUG);
}

/* Of a file that tells little, a better one may be kept. */
static int read_better(struct symbols *s, const struct file_entry *file, int rc, struct reading *r)
{
	CLEANUP(fd__closep) int fd = open_kept(s, file);
	struct reading kept;

	if (fd < 0 || read_parts(s, fd, STR(""), false, &kept))
		return rc;
	if (!rc && !is_better(r->table, r->source, &kept)) {
		free_reading(&kept);
		return rc;
	}
	if (!rc)
		free_reading(r);
	*r = kept;
	return 0;
}

/*
 * Reads the file of a queued entry, fd or the one that is kept on disk (-1), and says what came of
 * it. No lock is held by the caller.
 */
static void read_file(struct symbols *s, struct file_entry *file, int fd, struct dcm_str path, bool is_rival)
{
	CLEANUP(fd__closep) int kept = fd < 0 ? open_kept(s, file) : -1;
	struct reading r = { 0 };
	int rc = kept;

	if (fd >= 0)
		rc = read_parts(s, fd, path, is_rival, &r);
	else if (kept >= 0) /* which has nothing new, but its debuginfo may be */
		rc = read_parts(s, kept, path, false, &r);

	if (kept >= 0)
		r.is_complete = false; /* stubs of the PLT are not in it: the file itself tells more */
	else if (fd >= 0 && !is_rival && (rc || !r.is_complete))
		rc = read_better(s, file, rc, &r);
	pthread_mutex_lock(&s->lock);
	s->counts.files_read += rc == 0;
	if (rc) {
		fail_reading(s, file, rc, fd < 0);
	} else if (is_rival && file->table && !is_better(file->table, file->source, &r)) {
		free_reading(&r);
		file->state = FILE_READY;
	} else {
		take_reading(s, file, &r);
		wish_for(s, file, &r, path, fd < 0 ? kept : fd);
	}
	pthread_cond_broadcast(&s->done);
	pthread_mutex_unlock(&s->lock);
}

/* Is it a file that was not read yet in the name of the entry's build id? Notes it. Under the lock. */
static bool is_another(struct file_entry *e, int fd)
{
	struct stat st;

	if (e->n_tried == FILE_TABLE_MAX_TRIED || fstat(fd, &st) < 0)
		return false;
	for (uint8_t i = 0; i < e->n_tried; i++)
		if (e->tried[i].dev == st.st_dev && e->tried[i].ino == st.st_ino)
			return false;
	e->tried[e->n_tried++] = (struct file_identity){ st.st_dev, st.st_ino };
	return true;
}

/* True when reading this file could tell more. Under the lock. */
static bool worth_reading(struct file_entry *e, int fd)
{
	if (e->state == FILE_EVICTED)
		e->n_tried = 0;
	if (e->state == FILE_READY)
		return !e->is_complete && is_another(e, fd);
	if (e->state == FILE_FAILED && e->why == DCM_UNNAMED_BAD_FILE)
		return is_another(e, fd);
	if (e->state == FILE_QUEUED)
		return false;
	is_another(e, fd);
	return true;
}

/* The entry to be read now, made or found; NULL when there is nothing to do. Under the lock. */
static struct file_entry *wanted(struct symbols *s, struct dcm_str build_id, int fd)
{
	uint64_t hash = hash__bytes(build_id.p, build_id.n, 0);
	struct file_entry *e = file_table__find(&s->files, build_id, hash);

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

static void push(struct symbols *s, struct job *job)
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

	if (build_id.n == 0 || fd < 0 || s->config.no_files)
		return;
	pthread_mutex_lock(&s->lock);
	s->counts.files_offered++;
	e = wanted(s, build_id, fd);
	if (!e) {
		pthread_mutex_unlock(&s->lock);
		return;
	}
	is_rival = e->table != NULL;
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
		push(s, job);
	}
	pthread_mutex_unlock(&s->lock);
	if (read_now)
		read_file(s, e, fd, path, is_rival);
}

/* Has the entry read from what is kept on disk. Under the lock. */
static void read_kept(struct symbols *s, struct file_entry *e)
{
	struct job *job = NEW(struct job);

	if (!job)
		return;
	job->file = e;
	job->is_rival = e->table != NULL;
	job->fd = -1;
	e->state = FILE_QUEUED; /* a table that it has still answers */
	s->n_fds++;
	push(s, job);
}

/* Has debuginfo come that was not there when the file was read? Looked for once a minute. Under the lock. */
static bool has_come(struct symbols *s, struct file_entry *e, const char *build_id)
{
	struct debuginfo_dirs dirs = { s->debug_dirs, s->n_debug_dirs };
	int64_t now = clock__mono(s->config.clock);

	if (!e->lacks_debuginfo || e->state != FILE_READY || now < e->look_at_ns)
		return false;
	e->look_at_ns = now + LOOK_EVERY_NS;
	return debuginfo__has(&dirs, build_id);
}

void store__want(struct symbols *s, struct dcm_str build_id, uint64_t hash)
{
	char text[ELF_BUILD_ID_TEXT];
	struct file_entry *e;
	bool is_new;

	if (!s->depot || s->stop || s->n_fds >= s->config.max_files || !text_of(build_id, text))
		return;
	e = file_table__find(&s->files, build_id, hash);
	is_new = !e || e->state == FILE_EVICTED;
	if (!is_new && !has_come(s, e, text))
		return;
	if (depot__tells(s->depot, text, DEPOT_ELF) < 0 && depot__tells(s->depot, text, DEPOT_DEBUG) < 0)
		return;
	if (!e)
		e = file_table__add(&s->files, build_id, hash);
	if (!e)
		return;
	if (is_new)
		e->n_tried = 0;
	read_kept(s, e);
}

static int explain_upload(int rc, struct dcm_error *err)
{
	switch (rc) {
	case 0:
		return 0;
	case -ENOMEM:
		return error__nomem(err);
	case -ENOEXEC:
		return error__set(err, rc, "not an ELF file that can be read");
	case -ENODATA:
		return error__set(
			err, rc, "it has no build id, or nothing in it names an address: build it with symbols and -Wl,--build-id");
	default:
		return error__sys(err, rc, "it cannot be kept");
	}
}

int symbols__upload(struct symbols *s, int fd, char *ret_build_id, struct dcm_error *err)
{
	CLEANUP(mem__freep) struct debuginfo_facts *facts = NEW(struct debuginfo_facts);
	const struct symbols_config *c = &s->config;
	int rc = facts ? debuginfo__facts(fd, facts) : -ENOMEM;
	struct file_entry *e;

	if (!s->keeper)
		return error__set(
			err, -ENOTSUP, "nothing is kept here: symbols.max_bytes is 0, symbols.files is false, or there is no data directory");
	if (!rc && !keeper__tells(facts))
		rc = -ENODATA;
	if (!rc)
		rc = keeper__put(&(struct keeper_config){ s->depot, c->reduce, c->reduce_ctx },
				 facts->has_symtab || facts->has_dwarf ? DEPOT_DEBUG : DEPOT_ELF, fd);
	if (rc)
		return explain_upload(rc, err);
	struct dcm_str id = str__of(facts->build_id);
	pthread_mutex_lock(&s->lock);
	e = file_table__find(&s->files, id, hash__bytes(id.p, id.n, 0));
	if (e && e->state == FILE_READY && !e->is_complete)
		read_kept(s, e);
	pthread_mutex_unlock(&s->lock);
	if (ret_build_id)
		memcpy(ret_build_id, facts->build_id, sizeof(facts->build_id));
	return 0;
}

/* Queues the file again, with the debuginfo that has come meanwhile. Under the lock. */
static void read_again(struct symbols *s, struct file_entry *e, struct dcm_str path, int fd)
{
	struct job *job = e->state == FILE_READY ? NEW(struct job) : NULL;

	if (!job)
		return; /* it is being read, or nobody wants it any more */
	job->file = e;
	job->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	job->path = mem__dup_str(path.p, path.n);
	if (job->fd < 0) {
		free_job(job);
		return;
	}
	e->state = FILE_QUEUED; /* its old table still answers */
	s->n_fds++;
	push(s, job);
}

void store__fetched(struct symbols *s, struct dcm_str build_id, struct dcm_str path, int fd, int rc)
{
	struct file_entry *e;

	pthread_mutex_lock(&s->lock);
	s->counts.debuginfod_asked++;
	if (rc == 0)
		s->counts.debuginfod_found++;
	else if (rc != -ENOENT)
		s->counts.debuginfod_failed++;
	e = file_table__find(&s->files, build_id, hash__bytes(build_id.p, build_id.n, 0));
	if (e && e->why == DCM_UNNAMED_DEBUGINFO_ASKED)
		e->why = DCM_UNNAMED_NO_DEBUGINFO;
	if (e && rc == 0)
		read_again(s, e, path, fd);
	pthread_mutex_unlock(&s->lock);
}

/* --- batches --- */

void symbols__learn(struct symbols *s, struct dcm_batch *batch)
{
	struct job *job = NEW(struct job);

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
	push(s, job);
	pthread_mutex_unlock(&s->lock);
}

/* --- the worker --- */

/* The next job, or NULL when it is time to stop. Waits. */
static struct job *pop(struct symbols *s)
{
	struct job *job = NULL;

	pthread_mutex_lock(&s->lock);
	while (!s->first && !s->stop)
		pthread_cond_wait(&s->work, &s->lock);
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
	pthread_cond_init(&s->work, NULL);
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
	file_table__fini(&s->files);
	learned__fini(&s->learned);
	kernel_names__fini(&s->kernel);
	depot__free(s->depot);
	free(s->debug_dirs);
	pthread_cond_destroy(&s->work);
	pthread_cond_destroy(&s->done);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->learned_lock);
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

static int open_depot(struct symbols *s)
{
	const struct symbols_config *c = &s->config;

	if (!c->store_dir || c->no_files)
		return 0;
	return depot__new(&(struct depot_config){ c->store_dir, c->store_bytes, c->store_age_ns,
						  c->store_read_only, c->clock },
			  &s->depot);
}

static int start_threads(struct symbols *s)
{
	const struct symbols_config *c = &s->config;
	int rc = 0;

	if (c->n_debuginfod && c->debuginfod_dir)
		rc = fetcher__new(s, &s->fetcher);
	if (!rc && s->depot && !c->store_read_only)
		rc = keeper__new(&(struct keeper_config){ s->depot, c->reduce, c->reduce_ctx },
				 &s->keeper);
	return rc ? rc : -pthread_create(&s->worker, NULL, work, s);
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
	if (!rc)
		rc = open_depot(s);
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

static void stat_store(struct symbols *s, struct symbols_stat *ret)
{
	struct depot_stat depot;
	struct keeper_stat keeper = { 0 };

	if (!s->depot)
		return;
	/* In this order: what counts as failed has told the depot's state why. */
	if (s->keeper)
		keeper__stat(s->keeper, &keeper);
	depot__stat(s->depot, &depot);
	ret->store_bytes = depot.bytes;
	ret->store_files = depot.n_files;
	ret->store_put = depot.n_put;
	ret->store_evicted = depot.n_evicted;
	ret->store_expired = depot.n_expired;
	ret->store_set_aside = depot.n_set_aside;
	ret->store_failed = keeper.n_failed;
	ret->store_dropped = keeper.n_dropped;
	ret->store_waiting = keeper.n_waiting;
	memcpy(ret->store_state, depot.state, sizeof(ret->store_state));
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
	stat_store(s, &c);
	*ret = c;
}
