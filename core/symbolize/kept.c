/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/kept.c - names from what is kept on disk
 *
 * A build id that somebody asks for and nobody offered is queued for the worker like an offer,
 * without a descriptor.
 * Threads: any. Limits: struct symbols_config.
 */
#include "core/symbolize/kept.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/fd.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/symbolize/debuginfo.h"

int kept__init(struct symbols *s)
{
	const struct symbols_config *c = &s->config;

	if (!c->store_dir || c->no_files)
		return 0;
	return depot__new(&(struct depot_config){ c->store_dir, c->store_bytes, c->store_age_ns,
						  c->store_read_only, c->clock },
			  &s->depot);
}

/* The keeper gave a file up: let the next offer count. Any thread, without the lock. */
static void lost(void *ctx, const char *build_id)
{
	struct symbols *s = ctx;
	struct dcm_str id = str__of(build_id);
	struct file_entry *e;

	pthread_mutex_lock(&s->lock);
	e = file_table__find(&s->files, id, hash__bytes(id.p, id.n, 0));
	if (e)
		e->unkept = true;
	pthread_mutex_unlock(&s->lock);
}

int kept__start(struct symbols *s)
{
	const struct symbols_config *c = &s->config;

	if (!s->depot || c->store_read_only)
		return 0;
	/* Beside another process that writes, names would wait for a turn that never comes. */
	int rc = depot__writes(s->depot) ? scribe__new(s->depot, &s->scribe) : 0;
	if (rc)
		return rc;
	return keeper__new(&(struct keeper_config){ s->depot, s->scribe, c->reduce, c->reduce_ctx,
						    c->broker, lost, s },
			   &s->keeper);
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

/* The debuginfo has the symbols, too. */
int kept__open(struct symbols *s, const struct file_entry *file)
{
	char build_id[ELF_BUILD_ID_TEXT];
	int fd;

	if (!s->depot || !text_of((struct dcm_str){ file->build_id, file->build_id_n }, build_id))
		return -ENOENT;
	fd = depot__open(s->depot, build_id, DEPOT_ELF);
	return fd >= 0 ? fd : depot__open(s->depot, build_id, DEPOT_DEBUG);
}

struct names *kept__names(struct symbols *s, const struct file_entry *file)
{
	struct dcm_str id = { file->build_id, file->build_id_n };
	char text[ELF_BUILD_ID_TEXT];
	struct names *names = NULL;
	struct buf log = { 0 };

	if (!s->depot || !text_of(id, text))
		return NULL;
	if (!depot__read_names(s->depot, text, NAMES_MAX_BYTES, &log))
		names__read(log.data, log.n, id, &names, NULL); /* out of memory: then without */
	buf__fini(&log);
	return names;
}

int kept__or_better(struct symbols *s, const struct file_entry *file, int rc, struct reading *r)
{
	CLEANUP(fd__closep) int fd = kept__open(s, file);
	struct reading kept;

	if (fd < 0 || reading__take(s, fd, STR(""), READING_KEPT, &kept))
		return rc;
	if (!rc && !reading__is_better(&kept, r->table, r->source)) {
		reading__fini(&kept);
		return rc;
	}
	if (!rc) {
		kept.is_unanswered |= r->is_unanswered;
		reading__fini(r);
	}
	*r = kept;
	return 0;
}

void kept__read(struct symbols *s, struct file_entry *e, bool afresh)
{
	struct job *job = NEW(struct job);

	if (!job)
		return;
	job->file = e;
	job->is_rival = e->table != NULL && !afresh;
	job->fd = -1;
	e->state = FILE_QUEUED; /* a table that it has still answers */
	s->n_fds++;
	store__push(s, job);
}

/* Has debuginfo come that was not there before? Looked for once a minute. Under the lock. */
static bool has_come(struct symbols *s, struct file_entry *e, const char *build_id)
{
	struct debuginfo_dirs dirs = { s->debug_dirs, s->n_debug_dirs, NULL };
	int64_t now = clock__mono(s->config.clock);

	if (!e->lacks_debuginfo || e->state != FILE_READY || now < e->look_at_ns)
		return false;
	e->look_at_ns = now + STORE_LOOK_EVERY_NS;
	return debuginfo__has(&dirs, build_id);
}

/* What answers from memory does not go from the disk meanwhile. Under the lock. */
static void note_use(struct symbols *s, struct file_entry *e, const char *build_id)
{
	int64_t now = clock__mono(s->config.clock);

	if (now < e->note_at_ns)
		return;
	e->note_at_ns = now + STORE_NOTE_EVERY_NS;
	depot__note_use(s->depot, build_id);
}

void kept__want(struct symbols *s, struct dcm_str build_id, uint64_t hash)
{
	char text[ELF_BUILD_ID_TEXT];
	struct file_entry *e;
	bool is_new;

	if (!s->depot || s->stop || s->n_fds >= s->config.max_files || !text_of(build_id, text))
		return;
	e = file_table__find(&s->files, build_id, hash);
	is_new = !e || (e->state == FILE_EVICTED && !e->names);
	if (e)
		note_use(s, e, text);
	if (!is_new && !has_come(s, e, text))
		return;
	if (!depot__has_any(s->depot, text))
		return;
	if (!e)
		e = file_table__add(&s->files, build_id, hash);
	if (!e)
		return;
	if (is_new)
		e->n_tried = 0;
	kept__read(s, e, false);
}

int symbols__backup(struct symbols *s, const char *dir, struct dcm_error *err)
{
	if (s->scribe)
		scribe__flush(s->scribe);
	return s->depot ? depot__copy(s->depot, dir, err) : 0;
}

void kept__stat(struct symbols *s, struct symbols_stat *ret)
{
	struct depot_stat depot;
	struct keeper_stat keeper = { 0 };
	struct scribe_stat scribe = { 0 };

	if (!s->depot)
		return;
	/* In this order: what counts as failed has told the depot's state why. */
	if (s->keeper)
		keeper__stat(s->keeper, &keeper);
	if (s->scribe)
		scribe__stat(s->scribe, &scribe);
	depot__stat(s->depot, &depot);
	ret->store_bytes = depot.bytes;
	ret->store_files = depot.n_files;
	ret->store_logs = depot.n_logs;
	ret->store_put = depot.n_put;
	ret->store_evicted = depot.n_evicted;
	ret->store_expired = depot.n_expired;
	ret->store_set_aside = depot.n_set_aside;
	ret->store_failed = keeper.n_failed;
	ret->store_dropped = keeper.n_dropped;
	ret->store_waiting = keeper.n_waiting;
	ret->names_written = scribe.n_written;
	ret->names_dropped = scribe.n_dropped;
	ret->names_damaged_bytes = scribe.n_bad_bytes;
	memcpy(ret->store_state, depot.state, sizeof(ret->store_state));
}
