/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/store_write.c - how batches get into the heads: through the log, or out of
 * it at a start
 */
#include "plugins/storage/local/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "core/base/le.h"
#include "core/base/mem.h"
#include "plugins/storage/local/age.h"
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/removal.h"
#include "plugins/storage/local/rows_frame.h"

/* -------------------------------------------------------------------------------------------------
 * Eras
 */

static int make_era(struct store *s, uint32_t number, int64_t begin_ms, struct era **ret,
		    struct dcm_error *err)
{
	struct era *e;

	if (s->eras.n >= STORE_MAX_ERAS)
		return error__set(err, -EOVERFLOW,
				  "profiles of more than %d times of %" PRId64 " days are too many",
				  STORE_MAX_ERAS, ERA_MS / 86400000);
	e = era__new(number, begin_ms, 0);
	if (!e || !vec__reserve(&s->eras, 1)) {
		era__unref(e);
		return error__nomem(err);
	}
	const struct era_how how = eras__how(s);
	int r = s->only_read ? era__begin_unlogged(e) : era__load(e, &how, err);
	if (r) {
		era__unref(e);
		return r;
	}
	if (number >= s->next_era)
		s->next_era = number + 1;
	s->eras.v[s->eras.n++] = e;
	*ret = e;
	return 0;
}

uint64_t store__era_max_bytes(const struct store *s)
{
	return s->eras.n < STORE_MANY_ERAS ? s->options.era_max_bytes : 0;
}

/* The last era that was begun for the time, of those that can be read; NULL: none. */
static struct era *last_era(const struct store *s, int64_t begin_ms)
{
	struct era *last = NULL;

	for (size_t i = 0; i < s->eras.n; i++) {
		struct era *e = s->eras.v[i];

		if (e->begin_ms == begin_ms && !e->unreadable && (!last || e->number > last->number))
			last = e;
	}
	return last;
}

static void note_full(struct store *s, const struct era *e)
{
	const struct dict_counts counts = dict__counts(e->dict);

	growth__describe(e->dict, &counts, s->full_growth);
	atomic_fetch_add_explicit(&s->n_full, 1, memory_order_relaxed);
}

void store__growth(struct store *s, char ret[static GROWTH_BYTES])
{
	struct dict *most = NULL;
	struct dict_counts counts = { 0 };

	pthread_rwlock_rdlock(&s->lock);
	for (size_t i = 0; i < s->eras.n; i++) {
		struct dict *d = s->eras.v[i]->dict;

		if (d && (!most || d->series.n > most->series.n))
			most = d;
	}
	if (most) {
		dict__ref(most);
		counts = dict__counts(most);
	}
	pthread_rwlock_unlock(&s->lock);
	ret[0] = '\0';
	if (most)
		growth__describe(most, &counts, ret);
	dict__unref(most);
}

/*
 * With the lock for writing. What has lost something, or is full or closed, is left to its blocks,
 * as are those before it. One that is not in memory although load_eras() has been there came meanwhile.
 */
static int era_for_writing(void *ctx, int64_t begin_ms, struct era **ret, struct dcm_error *err)
{
	struct store *s = ctx;
	struct era *e = last_era(s, begin_ms);

	if (e && !e->dict)
		return error__set(err, -EAGAIN, "a dictionary is not in memory yet");
	const bool full = e && era__is_full(e, store__era_max_bytes(s));
	if (e && era__takes_more(e, store__era_max_bytes(s))) {
		*ret = e;
		return 0;
	}
	int r = make_era(s, s->next_era, begin_ms, ret, err);
	if (r == 0 && full)
		note_full(s, e);
	return r;
}

/* The same for who opens, when nobody else is there. */
static int era_for_replay(void *ctx, int64_t begin_ms, struct era **ret, struct dcm_error *err)
{
	struct store *s = ctx;
	const struct era_how how = eras__how(s);
	struct era *e;

	/* One that turns out to be unreadable is passed over the next time. */
	while ((e = last_era(s, begin_ms)) && !e->dict) {
		int r = era__load(e, &how, err);

		if (r && !e->unreadable)
			return r;
	}
	return era_for_writing(s, begin_ms, ret, err);
}

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

/* Of a frame of batches, before them and behind. */
enum { WINDOW_BYTES = 16, BOUND_BYTES = 8 };

typedef VEC(struct dcm_batch *) batch_list;

struct writing {
	batch_list fresh;	      /* not seen before */
	VEC(struct dcm_batch_id) ids; /* of a frame of rows: of those that it was made of */
	struct buf payload;
	struct heads_plan plan;
	VEC(struct era *) eras; /* references, so that they stay in memory */
	struct heads_window window;
	uint32_t max_series;
	struct heads_refused refused;
	uint64_t lsn, log_bytes; /* of the frame */
	uint64_t n_lost;	 /* entries that a frame before it had, which is lost */
};

static void writing__fini(struct writing *w)
{
	vec__fini(&w->fresh);
	vec__fini(&w->ids);
	buf__fini(&w->payload);
	heads_plan__fini(&w->plan);
	for (size_t i = 0; i < w->eras.n; i++)
		era__unref(w->eras.v[i]);
	vec__fini(&w->eras);
}

static bool same_id(const struct dcm_batch_id *a, const struct dcm_batch_id *b)
{
	return a->source.lo == b->source.lo && a->source.hi == b->source.hi &&
	       a->sequence == b->sequence && (a->source.lo || a->source.hi);
}

static bool is_retry(const struct store *s, const struct writing *w, const struct dcm_batch *b)
{
	for (size_t i = 0; i < w->fresh.n; i++)
		if (same_id(&w->fresh.v[i]->id, &b->id))
			return true;
	return seen__has(&s->seen, &b->id);
}

/* Only who writes changes what was seen, so it may be looked at without the lock. */
static int leave_retries_out(struct store *s, struct dcm_batch *const *batches, uint32_t n,
			     struct writing *w)
{
	for (uint32_t i = 0; i < n; i++)
		if (!is_retry(s, w, batches[i]) && !vec__push(&w->fresh, batches[i]))
			return -ENOMEM;
	return 0;
}

static int plan(struct store *s, struct writing *w, era_source_fn era, struct dcm_error *err)
{
	struct heads_source source = {
		.era = era,
		.ctx = s,
		.window = w->window,
		.max_series = w->max_series,
	};
	int r = seen__reserve(&s->seen, w->fresh.n);

	for (size_t i = 0; r == 0 && i < w->fresh.n; i++) {
		source.era_max_bytes = store__era_max_bytes(s);
		r = heads__plan(&s->active, &w->plan, w->fresh.v[i], &source, &w->refused, err);
	}
	return r;
}

/* The era of what begins there, as a reference; NULL: there is none yet. */
static struct era *ref_last_era(struct store *s, int64_t begin_ms)
{
	pthread_rwlock_rdlock(&s->lock);
	struct era *e = last_era(s, begin_ms);
	if (e)
		era__ref(e);
	pthread_rwlock_unlock(&s->lock);
	return e;
}

/* What cannot be read for good is passed over: another one may be. */
static int load_era(struct store *s, struct writing *w, int64_t begin_ms, struct dcm_error *err)
{
	struct era *e;
	int r;

	do {
		if (!vec__reserve(&w->eras, 1))
			return error__nomem(err);
		e = ref_last_era(s, begin_ms);
		if (!e)
			return 0;
		w->eras.v[w->eras.n++] = e;
		r = eras__load(s, e, false, err);
	} while (r && era__is_final(r));
	return r;
}

/*
 * What comes late may need a dictionary that is not in memory. It is read before the lock is taken;
 * what cannot be read for good gets another era.
 */
static int load_eras(struct store *s, struct writing *w, struct dcm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->fresh.n; i++) {
		int64_t begin_ms = INT64_MIN;

		while (r == 0 && (begin_ms = heads__next_era(w->fresh.v[i], &w->window, begin_ms)) !=
					 INT64_MAX)
			r = load_era(s, w, begin_ms, err);
	}
	return r;
}

/*
 * A record of an era must not become larger than a frame, so what a dictionary has gained is put
 * into one now and then. When memory is short the next write tries again.
 */
static void log_eras(struct writing *w)
{
	for (size_t i = 0; i < w->plan.items.n; i++) {
		struct era *e = w->plan.items.v[i].head->era;

		if (dict__bytes(e->dict) - e->logged_bytes > ERA_RECORD_BYTES)
			era__log(e, NULL);
	}
}

/* Said once a time: what is beyond the bound, and cannot be sealed, is tried again in the rounds. */
static void count_log_bytes(struct store *s, uint64_t n)
{
	const uint64_t max = s->options.log_max_bytes, before = s->active_log_bytes;

	s->active_log_bytes += n;
	if (max && before < max && s->active_log_bytes >= max)
		atomic_store(&s->log_filled, true);
}

/* With the lock, after the log has taken it: cannot fail. */
static void apply(struct store *s, struct writing *w)
{
	heads__apply(&w->plan);
	for (size_t i = 0; i < w->plan.items.n; i++) {
		int64_t newest_ms = w->plan.items.v[i].head->streams.newest_ms;

		s->newest_ms = newest_ms > s->newest_ms ? newest_ms : s->newest_ms;
	}
	for (size_t i = 0; i < w->fresh.n; i++)
		seen__add(&s->seen, &w->fresh.v[i]->id);
	for (size_t i = 0; i < w->ids.n; i++)
		seen__add(&s->seen, &w->ids.v[i]);
	s->last_lsn = w->lsn;
	count_log_bytes(s, w->log_bytes);
	if (!s->active_since_ns)
		s->active_since_ns = s->host->mono_ns(s->host);
	if (!s->only_read)
		log_eras(w);
	kept__count_heads(s);
}

static struct streams_overflow overflow_of(const struct writing *w)
{
	struct streams_overflow sum = { 0 };

	for (size_t i = 0; i < w->plan.items.n; i++) {
		sum.n_folded += w->plan.items.v[i].plan.overflow.n_folded;
		sum.n_refused += w->plan.items.v[i].plan.overflow.n_refused;
	}
	return sum;
}

static int encode(struct writing *w, struct dcm_error *err)
{
	w->payload.limit = FRAME_MAX_BYTES;
	const int r = rows_frame__encode(&w->plan, w->fresh.v, w->fresh.n, &w->payload);

	if (r == -EFBIG)
		return error__set(err, r,
				  "batches of more than %d bytes, or of more than %d rows of three "
				  "days, cannot be written at once",
				  FRAME_MAX_BYTES, ROWS_FRAME_MAX_ROWS);
	return r ? error__nomem(err) : 0;
}

static int put_into_heads(struct store *s, struct writing *w, struct dcm_error *err)
{
	int r = load_eras(s, w, err);

	if (r)
		return r;
	pthread_rwlock_wrlock(&s->lock);
	w->max_series = s->options.max_series;
	if (heads__bytes(&s->active) + heads__bytes(&s->sealing) >= 2 * s->options.head_max_bytes)
		r = error__set(err, -EAGAIN, "what was written before waits for the disk");
	if (r == 0)
		r = plan(s, w, era_for_writing, err);
	if (r == 0)
		r = encode(w, err);
	if (r == 0)
		r = wal__append(commit__wal(s->commit), STORE_FRAME_ROWS, w->payload.data,
				w->payload.n, &w->lsn, err);
	w->log_bytes = w->payload.n;
	for (size_t i = 0; r == 0 && i < w->plan.items.n; i++)
		era__written(w->plan.items.v[i].head->era);
	if (r == 0)
		apply(s, w);
	pthread_rwlock_unlock(&s->lock);
	return r;
}

/* Room for a write that may have to wait, so that nothing can fail after the log has taken it. */
static int make_room_to_wait(struct store *s)
{
	pthread_mutex_lock(&s->waiting_lock);
	bool ok = vec__reserve(&s->waiting, 1);
	pthread_mutex_unlock(&s->waiting_lock);
	return ok ? 0 : -ENOMEM;
}

static void ignore_done(void *ctx, int status)
{
	(void)ctx;
	(void)status;
}

int store__write(struct store *s, struct dcm_batch *const *batches, uint32_t n, dcm_done_fn done,
		 void *ctx, struct dcm_error *err)
{
	pthread_rwlock_rdlock(&s->lock);
	const struct heads_window window = { age__first_cutoff(s),
					     s->host->real_ns(s->host) / 1000000 + AGE_AHEAD_MS };
	pthread_rwlock_unlock(&s->lock);
	struct writing w = { .lsn = s->last_lsn, .window = window };
	int r = make_room_to_wait(s);

	if (r)
		return error__nomem(err);
	r = leave_retries_out(s, batches, n, &w);
	if (r == 0 && w.fresh.n)
		r = put_into_heads(s, &w, err);
	const struct heads_refused refused = w.refused;
	uint64_t lsn = w.lsn;
	const struct streams_overflow overflow = overflow_of(&w);
	writing__fini(&w);
	if (r)
		return r == -ENOMEM ? error__nomem(err) : r;
	atomic_fetch_add_explicit(&s->rows_folded, overflow.n_folded, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->rows_refused, overflow.n_refused, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->n_too_old, refused.n_too_old, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->n_too_new, refused.n_too_new, memory_order_relaxed);
	if (!done)
		done = ignore_done;
	pthread_mutex_lock(&s->waiting_lock);
	s->waiting.v[s->waiting.n++] = (struct store_waiting){ lsn, done, ctx };
	pthread_mutex_unlock(&s->waiting_lock);
	wal__sync(commit__wal(s->commit), lsn, NULL);
	store__acknowledge(s);
	return 0;
}

void store__acknowledge(struct store *s)
{
	struct wal_stat st;

	wal__stat(commit__wal(s->commit), &st);
	commit__note_log(s->commit, NULL); /* a disk that does not take it will say so elsewhere */
	for (;;) {
		struct store_waiting next = { .done = NULL };

		pthread_mutex_lock(&s->waiting_lock);
		for (size_t i = 0; i < s->waiting.n && !next.done; i++) {
			if (s->waiting.v[i].lsn > st.synced_lsn)
				continue;
			next = s->waiting.v[i];
			s->waiting.v[i] = s->waiting.v[--s->waiting.n];
		}
		pthread_mutex_unlock(&s->waiting_lock);
		if (!next.done)
			return;
		next.done(next.ctx, 0);
	}
}

/* -------------------------------------------------------------------------------------------------
 * Replaying
 */

void store__replay_lost(void *store, uint64_t n_lost)
{
	struct store *s = store;

	atomic_fetch_add_explicit(&s->n_unreadable, n_lost, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->n_frames_lost, n_lost, memory_order_relaxed);
	lost_frames__add(&s->lost_frames, n_lost);
}

static void tell_unreadable(struct store *s, uint64_t lsn, const char *why)
{
	char text[256];

	store__replay_lost(s, 1);
	snprintf(text, sizeof(text), "the log: frame %" PRIu64 " is left out: %s", lsn, why);
	if (s->options.report)
		s->options.report(s->options.report_ctx, DCM_LOG_ERROR, text);
}

/* Its batches as new references; on failure those before the one that cannot be decoded. */
static int decode_frame(const struct dcm_host *host, const struct frame *f, struct writing *w,
			struct dcm_error *err)
{
	const uint8_t *p = f->payload, *end = p + f->n;

	if (f->n < WINDOW_BYTES)
		return error__set(err, -EBADMSG, "it is too short");
	w->window = (struct heads_window){ (int64_t)le__get64(p), (int64_t)le__get64(p + 8) };
	p += WINDOW_BYTES;
	while (end - p >= 4 && le__get32(p) && le__get32(p) <= (size_t)(end - p) - 4) {
		struct dcm_batch *b = NULL;
		uint32_t n = le__get32(p);
		int r = host->decode(host, "batch", p + 4, n, &b, err);

		if (r)
			return r;
		if (!vec__push(&w->fresh, b)) {
			host->batch_unref(b);
			return -ENOMEM;
		}
		p += 4 + n;
	}
	if (end - p == BOUND_BYTES && le__get32(p) == 0) {
		w->max_series = le__get32(p + 4);
		p = end;
	}
	return p == end ? 0 : error__set(err, -EBADMSG, "its batches have other lengths");
}

/* It is whole, so it stays for the program that can read it. */
static int refuse_newer(struct store *s, uint64_t lsn, const char *why)
{
	return error__set(s->replay_err, -EPROTONOSUPPORT,
			  "the log: frame %" PRIu64
			  ": %s; a later version of Decima wrote it: open "
			  "the store with that one",
			  lsn, why);
}

/* What is lost before it has these times too; what is lost of it itself as well. */
static int pass(struct store *s, const struct writing *w)
{
	int64_t first_ms = INT64_MAX, last_ms = INT64_MIN;

	for (size_t i = 0; i < w->fresh.n; i++) {
		const struct dcm_batch *b = w->fresh.v[i];

		for (uint32_t k = 0; k < b->n_profiles; k++) {
			const int64_t at_ms = b->profiles[k].time_ns / 1000000;

			if (at_ms < w->window.from_ms || at_ms >= w->window.until_ms)
				continue;
			first_ms = at_ms < first_ms ? at_ms : first_ms;
			last_ms = at_ms > last_ms ? at_ms : last_ms;
		}
	}
	return first_ms <= last_ms ? lost_frames__pass(&s->lost_frames, first_ms, last_ms) : 0;
}

/* What follows in rows may go to them too, and be numbered as if this had never been. */
static void close_eras(const struct writing *w)
{
	for (size_t i = 0; i < w->plan.items.n; i++)
		w->plan.items.v[i].head->era->closed = true;
}

/*
 * A frame's batches go where a write put them. What cannot be decoded is told, and left out whole;
 * what cannot be read at this moment, or by this version, ends the replay, because it was
 * acknowledged.
 */
static int replay_batches(struct store *s, const struct frame *f, struct writing *w)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = decode_frame(s->host, f, w, &err);

	if (r == -EPROTONOSUPPORT)
		return refuse_newer(s, f->lsn, err.text);
	if (r && r != -ENOMEM) {
		tell_unreadable(s, f->lsn, err.text);
		return 0;
	}
	if (r == 0)
		r = plan(s, w, era_for_replay, &err);
	if (r == 0)
		apply(s, w);
	close_eras(w);
	if (r == -EOVERFLOW) {
		tell_unreadable(s, f->lsn, err.text);
		r = 0;
	}
	if (r == 0)
		r = pass(s, w);
	if (r)
		error__set(s->replay_err, r, "%s", r == -ENOMEM ? "out of memory" : err.text);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Replaying rows
 */

/* Its log, if it has one already, is read, and not removed. */
static void keep_log(struct store *s, uint32_t number)
{
	char path[ERA_PATH_BYTES];
	size_t n = 0;

	era__path(path, number);
	for (size_t i = 0; i < s->strays.n; i++) {
		if (strcmp(s->strays.v[i], path) == 0)
			free(s->strays.v[i]);
		else
			s->strays.v[n++] = s->strays.v[i];
	}
	s->strays.n = n;
}

/*
 * The era that the rows' numbers are of. One that the manifest does not list is younger than it, or
 * has gone with all that was in it: *ret is NULL. What it cannot be read for ends the replay, also
 * that a later version wrote it, but for damage, which is -EOVERFLOW: the rows are lost as those in
 * its blocks are.
 */
static int era_of_part(struct store *s, const struct rows_part *p, struct era **ret, struct dcm_error *err)
{
	const struct era_how how = eras__how(s);
	struct era *e = store__find_era(s, p->era);
	int r;

	*ret = NULL;
	if (!e && p->era < s->listed_eras)
		return 0;
	if (!e) {
		keep_log(s, p->era);
		r = make_era(s, p->era, p->begin_ms, &e, err);
	} else if (e->begin_ms != p->begin_ms) {
		return error__set(err, -EBADMSG,
				  "it has rows of era %" PRIu32 " at times of another", p->era);
	} else {
		r = era__load(e, &how, err);
	}
	if (era__is_final(r) && r != -EPROTONOSUPPORT)
		r = -EOVERFLOW;
	if (r == 0)
		*ret = e;
	return r;
}

static int plan_part(struct store *s, struct writing *w, const struct rows_part *p, struct dcm_error *err)
{
	struct streams_plan *plan;
	struct head *head;
	struct era *e;
	uint64_t n_lost = 0;
	int r = era_of_part(s, p, &e, err);

	if (r || !e)
		return r;
	r = era__replay(e, p->record, p->n_record, &p->counts, &n_lost);
	w->n_lost += n_lost;
	if (r == 0)
		r = heads__plan_of(&s->active, &w->plan, e, &head, &plan);
	if (r == 0)
		r = rows_part__plan(p, &head->streams, plan);
	if (r == -EBADMSG)
		error__set(err, r, "its rows or their frames are none, or not those of the dictionary");
	if (r == -EPROTONOSUPPORT)
		error__set(
			err, r,
			"the log: frame %" PRIu64
			": it has a record of a later version of Decima: open the store with that "
			"one",
			w->lsn);
	return r;
}

static int plan_rows(struct store *s, const struct frame *f, struct writing *w, struct dcm_error *err)
{
	struct rows_frame rows;
	int r = rows_frame__open(&rows, f->payload, f->n);

	for (uint32_t i = 0; r == 0 && i < rows.n_ids; i++)
		if (!vec__push(&w->ids, rows_frame__id(&rows)))
			r = -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < rows.n_parts; i++) {
		struct rows_part p;

		r = rows_frame__part(&rows, &p);
		if (r == 0)
			r = plan_part(s, w, &p, err);
	}
	return r == 0 && !rows_frame__at_end(&rows) ? -EBADMSG : r;
}

static void tell_gap(struct store *s, uint64_t lsn, uint64_t n)
{
	char text[240];

	snprintf(text, sizeof(text),
		 "the log: %" PRIu64 " frames, labels or texts that frame %" PRIu64
		 " refers to were in a frame that is lost: they are without content",
		 n, lsn);
	if (s->options.report)
		s->options.report(s->options.report_ctx, DCM_LOG_ERROR, text);
}

static int pass_planned(struct store *s, const struct writing *w)
{
	int64_t first_ms = INT64_MAX, last_ms = INT64_MIN;

	for (size_t i = 0; i < w->plan.items.n; i++) {
		const struct streams_plan *plan = &w->plan.items.v[i].plan;

		for (size_t k = 0; k < plan->items.n; k++) {
			const int64_t at_ms = plan->items.v[k].profile->time_ms;

			first_ms = at_ms < first_ms ? at_ms : first_ms;
			last_ms = at_ms > last_ms ? at_ms : last_ms;
		}
	}
	return first_ms <= last_ms ? lost_frames__pass(&s->lost_frames, first_ms, last_ms) : 0;
}

static int replay_rows(struct store *s, const struct frame *f, struct writing *w)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = plan_rows(s, f, w, &err);

	if (w->n_lost && !s->only_read) /* the reader tells it: the writer may be at it */
		tell_gap(s, f->lsn, w->n_lost);
	if (r == -EBADMSG || r == -EOVERFLOW) {
		tell_unreadable(s, f->lsn, err.text[0] ? err.text : "it is too short, or too long");
		return 0;
	}
	if (r == 0)
		r = pass_planned(s, w);
	if (r == 0)
		r = seen__reserve(&s->seen, w->ids.n);
	if (r == 0)
		apply(s, w);
	else
		error__set(s->replay_err, r, "%s", r == -ENOMEM ? "out of memory" : err.text);
	return r;
}

int store__replay_frame(void *store, const struct frame *f)
{
	struct writing w = { .lsn = f->lsn, .log_bytes = f->n };
	struct store *s = store;
	int r = removal__replay(s, f->lsn - 1);

	if (r)
		return r;
	if (f->type == STORE_FRAME_ROWS)
		r = replay_rows(s, f, &w);
	else if (f->type == STORE_FRAME_BATCHES)
		r = replay_batches(s, f, &w);
	else
		r = refuse_newer(s, f->lsn, "it is of a kind that this version does not know");
	for (size_t i = 0; i < w.fresh.n; i++)
		s->host->batch_unref(w.fresh.v[i]);
	writing__fini(&w);
	s->last_lsn = f->lsn;
	return r;
}

int store__end_replay(struct store *s)
{
	const int64_t now_ms = s->host->real_ns(s->host) / 1000000;
	const int64_t kept_ms = s->options.retention_ms;
	const int r = lost_frames__end(&s->lost_frames, kept_ms ? now_ms - kept_ms : 0, now_ms);

	return r ? r : removal__replay(s, UINT64_MAX);
}
