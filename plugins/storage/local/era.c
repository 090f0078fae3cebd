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

#include "core/base/error.h"
#include "core/base/mem.h"
#include "plugins/storage/local/commit.h"
#include "plugins/storage/local/era_record.h"
#include "plugins/storage/local/numbered.h"

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
	log_file__close(e->log);
	pthread_mutex_destroy(&e->load_lock);
	pthread_mutex_destroy(&e->log_lock);
	free(e);
}

/* -------------------------------------------------------------------------------------------------
 * Reading
 */

struct loading {
	struct dict *dict;
	uint64_t n_lost; /* entries */
};

static int take_record(void *ctx, const struct frame *f)
{
	struct loading *l = ctx;
	uint64_t lost = 0;
	int r;

	if (f->type != ERA_FRAME_RECORD)
		return -EBADMSG;
	r = era_record__decode(l->dict, f->payload, f->n, &lost);
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
	struct era_content c = { .dict = dict__new() };
	struct loading l = { .dict = c.dict };
	struct log_found found = { .n_lost = 0 };
	char path[ERA_PATH_BYTES];
	int r;

	if (!c.dict)
		return error__nomem(err);
	era__path(path, e->number);
	r = how->only_read
		    ? log_file__read(how->vfs, path, ERA_LOG_KIND, take_record, &l, &found, err)
		    : log_file__open(how->vfs, path, ERA_LOG_KIND, take_record, &l, &found, &c.log, err);
	if (r == -EBADMSG)
		error__set(err, r, "%s: has a record that is none; restore it from a backup", path);
	if (r) {
		era_content__fini(&c);
		return r;
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
	e->dict = c->dict;
	e->log = c->log;
	e->damaged |= c->damaged;
	e->loaded_lsn = e->log ? log_file__last_lsn(e->log) : 0;
	e->logged = dict__counts(e->dict);
	e->logged_bytes = dict__bytes(e->dict);
	*c = (struct era_content){ .dict = NULL };
}

int era__load(struct era *e, const struct era_how *how, struct dcm_error *err)
{
	struct era_content c;
	char path[ERA_PATH_BYTES];

	if (e->dict)
		return 0;
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

bool era__can_unload(const struct era *e)
{
	if (!e->dict || !e->log || atomic_load_explicit(&e->dict->refs, memory_order_acquire) > 1)
		return false;
	const uint64_t last = log_file__last_lsn(e->log);

	return last == e->loaded_lsn || last == log_file__synced_lsn(e->log);
}

void era__unload(struct era *e, struct era_content *ret)
{
	const uint64_t last = log_file__last_lsn(e->log);

	*ret = (struct era_content){ .dict = e->dict, .log = e->log };
	e->dict = NULL;
	e->log = NULL;
	e->n_records = last > e->n_records ? last : e->n_records;
}

int era__begin_unlogged(struct era *e)
{
	e->dict = dict__new();
	return e->dict ? 0 : -ENOMEM;
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
 * Each once, ascending, and only those that older records hold: newer ones are written with what
 * was learnt.
 */
static void settle_learnt(struct era *e)
{
	uint32_t *v = e->dict->learnt.v;
	size_t n = 0;

	if (e->dict->learnt.n)
		qsort(v, e->dict->learnt.n, sizeof(*v), compare_numbers);
	for (size_t i = 0; i < e->dict->learnt.n; i++)
		if (v[i] < e->logged.locations && (n == 0 || v[n - 1] != v[i]))
			v[n++] = v[i];
	e->dict->learnt.n = n;
}

static int append_record(struct era *e, struct dcm_error *err)
{
	struct buf record = { 0 };
	uint64_t lsn;
	int r = era_record__encode(e->dict, &e->logged, e->dict->learnt.v, e->dict->learnt.n, &record);

	if (r)
		error__nomem(err);
	else
		r = log_file__append(e->log, ERA_FRAME_RECORD, record.data, record.n, &lsn, err);
	buf__fini(&record);
	return r;
}

int era__log(struct era *e, struct dcm_error *err)
{
	struct dict_counts now = dict__counts(e->dict);
	int r;

	settle_learnt(e);
	if (memcmp(&now, &e->logged, sizeof(now)) == 0 && e->dict->learnt.n == 0)
		return 0;
	if (pthread_mutex_trylock(&e->log_lock))
		return error__set(err, -EBUSY, "an era's records are being written");
	r = append_record(e, err);
	pthread_mutex_unlock(&e->log_lock);
	if (r)
		return r;
	e->logged = now;
	e->logged_bytes = dict__bytes(e->dict);
	e->dict->learnt.n = 0;
	return 0;
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
