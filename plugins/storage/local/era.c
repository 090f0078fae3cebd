/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/era.c - a dictionary and its log
 */
#include "plugins/storage/local/era.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/storage/local/commit.h"
#include "plugins/storage/local/era_record.h"
#include "core/disk/numbered.h"

const char *era__path(char to[static ERA_PATH_BYTES], uint32_t number)
{
	return numbered__path(to, ERA_PATH_BYTES, ERAS_DIR, number, ".log");
}

int64_t era__begin_of(int64_t time_ms)
{
	int64_t rest = time_ms % ERA_MS;

	return time_ms - (rest < 0 ? rest + ERA_MS : rest);
}

bool era__is_full(const struct era *e, uint64_t max_bytes)
{
	return max_bytes && dict__bytes(e->dict) >= max_bytes;
}

bool era__takes_more(const struct era *e, uint64_t max_bytes)
{
	return !e->damaged && !e->closed && !era__is_full(e, max_bytes);
}

struct era *era__new(uint32_t number, int64_t begin_ms, uint64_t n_records)
{
	struct era *e = NEW(struct era);

	if (!e)
		return NULL;
	e->refs = 1;
	e->number = number;
	e->begin_ms = begin_ms;
	e->n_records = n_records;
	pthread_mutex_init(&e->log_lock, NULL);
	pthread_mutex_init(&e->load_lock, NULL);
	return e;
}

struct era *era__ref(struct era *e)
{
	atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
	return e;
}

void era__unref(struct era *e)
{
	if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
		return;
	dict__unref(e->dict);
	dict__unref(e->names);
	log_file__close(e->log);
	vfs_map__fini(&e->image);
	pthread_mutex_destroy(&e->load_lock);
	pthread_mutex_destroy(&e->log_lock);
	free(e);
}

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

int era__map(struct era *e, struct vfs *v, struct dcm_error *err)
{
	char path[ERA_PATH_BYTES];

	int r = vfs__map(v, era__path(path, e->number), LOG_FILE_MAX_BYTES, &e->image);

	return r ? error__sys(err, r, "%s: cannot read", path) : 0;
}

static int count_record(void *ctx, const struct frame *f)
{
	era_record__end(f->payload, f->n, ctx); /* who reads it says what is wrong */
	return 0;
}

int era__count(struct era *e, struct dcm_error *err)
{
	struct dict_counts counts = { 0 };
	struct log_found found;
	char path[ERA_PATH_BYTES];
	int r = log_file__read_map(&e->image, era__path(path, e->number), ERA_LOG_KIND,
				   count_record, &counts, &found, err);

	if (r == 0)
		e->known = counts;
	return r;
}

struct dict *era__dict(const struct era *e, bool names_only)
{
	return e->dict || !names_only ? e->dict : e->names;
}

struct loading {
	struct dict *dict;
	bool names_only;
	struct dict_counts have; /* then */
	uint64_t n_lost;	 /* entries */
};

static int take_record(void *ctx, const struct frame *f)
{
	struct loading *l = ctx;
	uint64_t lost = 0;
	int r;

	if (f->type != ERA_FRAME_RECORD)
		return -EBADMSG;
	r = l->names_only ? era_record__decode_names(l->dict, f->payload, f->n, &l->have, &lost)
			  : era_record__decode(l->dict, f->payload, f->n, &lost);
	l->n_lost += lost;
	return r;
}

static void tell_damage(const struct era *e, uint64_t n_records, uint64_t n_entries,
			const struct era_how *how)
{
	char path[ERA_PATH_BYTES], text[256];

	/* A dictionary that comes into memory again says it no second time. */
	if (!how->report || e->damaged)
		return;
	snprintf(
		text, sizeof(text),
		"%s: %" PRIu64 " records are damaged or missing, %" PRIu64
		" entries are without content; restore it from a backup, or do without their names",
		era__path(path, e->number), n_records, n_entries);
	how->report(how->ctx, DCM_LOG_ERROR, text);
}

/* Its head, or a record. */
static int say_newer(const char *path, struct dcm_error *err)
{
	return error__set(err, -EPROTONOSUPPORT,
			  "%s: a later version of Decima wrote it: open the store with that one", path);
}

void era_content__fini(struct era_content *c)
{
	dict__unref(c->dict);
	log_file__close(c->log);
	*c = (struct era_content){ .dict = NULL };
}

bool era__is_final(int error)
{
	return error == -EBADMSG || error == -EUCLEAN || error == -EPROTONOSUPPORT || error == -EFBIG;
}

int era__fetch(const struct era *e, const struct era_how *how, struct era_content *ret,
	       struct dcm_error *err)
{
	struct era_content c = { .dict = dict__new(), .names_only = how->names_only };
	struct loading l = { .dict = c.dict, .names_only = how->names_only };
	struct log_found found = { .n_lost = 0 };
	char path[ERA_PATH_BYTES];
	int r;

	if (!c.dict)
		return error__nomem(err);
	era__path(path, e->number);
	r = e->image.vfs
		    ? log_file__read_map(&e->image, path, ERA_LOG_KIND, take_record, &l, &found, err)
		    : log_file__open(how->vfs, path, ERA_LOG_KIND, take_record, &l, &found, &c.log, err);
	if (r == -EBADMSG)
		error__set(err, r, "%s: has a record that is none; restore it from a backup", path);
	if (r == -EPROTONOSUPPORT)
		say_newer(path, err);
	if (r) {
		era_content__fini(&c);
		return r;
	}
	if (how->names_only) { /* nothing comes to them, so nothing is logged */
		log_file__close(c.log);
		c.log = NULL;
	}
	uint64_t last = found.n_records + found.n_lost;
	uint64_t n_gone = found.n_lost + (last < e->n_records ? e->n_records - last : 0);
	c.dict->keep_learnt = true;
	c.damaged = l.n_lost || n_gone;
	if (c.damaged)
		tell_damage(e, n_gone, l.n_lost, how);
	*ret = c;
	return 0;
}

void era__take(struct era *e, struct era_content *c)
{
	e->damaged |= c->damaged;
	if (c->names_only) {
		e->names = c->dict;
		*c = (struct era_content){ .dict = NULL };
		return;
	}
	dict__unref(e->names);
	e->names = NULL;
	e->dict = c->dict;
	e->log = c->log;
	e->loaded_lsn = e->log ? log_file__last_lsn(e->log) : 0;
	e->logged = e->written = dict__counts(e->dict);
	e->logged_bytes = dict__bytes(e->dict);
	e->n_learnt_written = 0;
	e->closed |= e->loaded_lsn > e->n_records;
	*c = (struct era_content){ .dict = NULL };
}

int era__load(struct era *e, const struct era_how *how, struct dcm_error *err)
{
	struct era_content c;
	char path[ERA_PATH_BYTES];

	if (e->dict)
		return 0;
	if (e->unreadable == -EPROTONOSUPPORT)
		return say_newer(era__path(path, e->number), err);
	if (e->unreadable)
		return error__set(err, e->unreadable, "%s: cannot be read; restore it from a backup",
				  era__path(path, e->number));
	int r = era__fetch(e, how, &c, err);
	if (r == 0)
		era__take(e, &c);
	else if (era__is_final(r))
		e->unreadable = r;
	return r;
}

/* What was read of a log that is only read is in its image as well. */
static bool is_logged(const struct era *e)
{
	if (!e->log)
		return e->image.vfs && !e->in_log;
	const uint64_t last = log_file__last_lsn(e->log);

	return last == e->loaded_lsn || last == log_file__synced_lsn(e->log);
}

bool era__can_unload(const struct era *e)
{
	const struct dict *d = era__dict(e, true);

	/* What is names alone has nothing that the log has not. */
	if (!d || (e->dict && ((e->in_log && !e->closed) || !is_logged(e))))
		return false;
	return atomic_load_explicit(&d->refs, memory_order_acquire) == 1;
}

void era__unload(struct era *e, struct era_content *ret)
{
	const uint64_t last = e->log ? log_file__last_lsn(e->log) : 0;

	*ret = (struct era_content){ .dict = era__dict(e, true), .log = e->log };
	e->dict = e->names = NULL;
	e->log = NULL;
	e->n_records = last > e->n_records ? last : e->n_records;
}

int era__begin_unlogged(struct era *e)
{
	e->dict = dict__new();
	if (!e->dict)
		return -ENOMEM;
	e->logged = e->written = dict__counts(e->dict);
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

static int compare_numbers(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Of learnt[n] each once, ascending, and only those below `end`: newer ones are written with what
 * was learnt. Returns how many.
 */
static size_t settle_learnt(uint32_t *v, size_t n, uint32_t end)
{
	size_t kept = 0;

	if (n)
		qsort(v, n, sizeof(*v), compare_numbers);
	for (size_t i = 0; i < n; i++)
		if (v[i] < end && (kept == 0 || v[kept - 1] != v[i]))
			v[kept++] = v[i];
	return kept;
}

/* What came since, and what of the dictionary's list from learnt[first] on. 0 or -ENOMEM. */
static int encode_since(const struct dict *d, const struct dict_counts *since, size_t first,
			struct buf *to)
{
	const struct dict_counts now = dict__counts(d);
	const size_t n = d->learnt.n - first;
	CLEANUP(mem__freep)
	uint32_t *learnt = n ? mem__dup(d->learnt.v + first, n * sizeof(*learnt)) : NULL;

	if (n && !learnt)
		return -ENOMEM;
	const size_t n_learnt = settle_learnt(learnt, n, since->locations);
	if (memcmp(&now, since, sizeof(now)) == 0 && n_learnt == 0)
		return 0;
	return era_record__encode(d, since, learnt, n_learnt, to);
}

static int append_record(struct era *e, const struct buf *record, struct dcm_error *err)
{
	uint64_t lsn;

	if (pthread_mutex_trylock(&e->log_lock))
		return error__set(err, -EBUSY, "an era's records are being written");
	int r = log_file__append(e->log, ERA_FRAME_RECORD, record->data, record->n, &lsn, err);
	pthread_mutex_unlock(&e->log_lock);
	return r;
}

int era__log(struct era *e, struct dcm_error *err)
{
	struct buf record = { 0 };
	int r = encode_since(e->dict, &e->logged, 0, &record);

	if (r)
		error__nomem(err);
	else if (record.n)
		r = append_record(e, &record, err);
	buf__fini(&record);
	if (r)
		return r;
	e->logged = dict__counts(e->dict);
	e->logged_bytes = dict__bytes(e->dict);
	/* What a write learnt that failed is in no frame yet: the next one has it. */
	const size_t n = e->dict->learnt.n - e->n_learnt_written;
	if (n)
		memmove(e->dict->learnt.v, e->dict->learnt.v + e->n_learnt_written,
			n * sizeof(*e->dict->learnt.v));
	e->dict->learnt.n = n;
	e->n_learnt_written = 0;
	return 0;
}

int era__put_unwritten(const struct era *e, struct buf *to)
{
	return encode_since(e->dict, &e->written, e->n_learnt_written, to);
}

void era__written(struct era *e)
{
	e->written = dict__counts(e->dict);
	e->n_learnt_written = e->dict->learnt.n;
	e->in_log = true;
}

/*
 * Entries up to these counts that nobody has. They are in no record: a later one leaves them out.
 */
static int fill_gap(struct era *e, const struct dict_counts *to, uint64_t *ret_lost)
{
	const struct dict_counts had = dict__counts(e->dict), all = dict_counts__most(to, &had);
	uint64_t n = 0;

	if (memcmp(&all, &had, sizeof(had)) == 0)
		return 0;
	int r = e->log ? era__log(e, NULL) : 0;
	if (r == 0)
		r = dict__fill(e->dict, &all, &n);
	if (r)
		return r;
	*ret_lost += n;
	e->logged = dict__counts(e->dict);
	e->damaged = true;
	return 0;
}

int era__replay(struct era *e, const uint8_t *p, size_t n, const struct dict_counts *with,
		uint64_t *ret_lost)
{
	struct dict_counts first = *with;
	int r = n ? era_record__first(p, n, &first) : 0;

	*ret_lost = 0;
	if (r == 0)
		r = fill_gap(e, &first, ret_lost);
	if (r == 0 && n)
		r = era_record__merge(e->dict, p, n);
	if (r == 0)
		r = fill_gap(e, with, ret_lost);
	e->damaged |= r == -EBADMSG;
	era__written(e);
	return r;
}

void era__sealed(struct era *e, bool has_head)
{
	e->closed |= !has_head && (e->in_log || !e->listed);
	e->listed |= has_head;
	e->in_log = false;
}

int era__sync(struct era *e, struct dcm_error *err)
{
	pthread_mutex_lock(&e->log_lock);
	int r = log_file__sync(e->log, err);
	pthread_mutex_unlock(&e->log_lock);
	return r;
}

uint64_t era__n_records(struct era *e)
{
	pthread_mutex_lock(&e->log_lock);
	uint64_t n = log_file__last_lsn(e->log);
	pthread_mutex_unlock(&e->log_lock);
	return n;
}
