/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/store.c - opening and writing
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
#include "plugins/storage/local/eras.h"
#include "plugins/storage/local/extras.h"
#include "plugins/storage/local/numbered.h"
#include "plugins/storage/local/removal.h"

/* -------------------------------------------------------------------------------------------------
 * Eras
 */

static int64_t now_ms(const struct store *s)
{
	return s->host->real_ns(s->host) / 1000000;
}

/* Where the time would be, were it not for clocks that are wrong. */
static int64_t wanted_age(const struct store *s)
{
	const int64_t now = now_ms(s);

	return s->newest_ms < now ? s->newest_ms : now;
}

/* The earlier of both; how far it may have come since aged_at_ns, and `more`. */
static int64_t aged(const struct store *s, int64_t more_ms)
{
	const int64_t wanted = wanted_age(s), passed_ns = s->host->mono_ns(s->host) - s->aged_at_ns;
	int64_t most;

	if (s->aged_ms == INT64_MIN ||
	    __builtin_add_overflow(s->aged_ms, more_ms + passed_ns / 1000000 * STORE_AGING, &most))
		return wanted;
	return wanted < most ? wanted : most;
}

void store__age(struct store *s)
{
	if (s->newest_ms == INT64_MIN)
		return;
	s->aged_ms = aged(s, 0);
	s->aged_at_ns = s->host->mono_ns(s->host);
}

int64_t store__cutoff(const struct store *s, int64_t retention_ms)
{
	int64_t cutoff;

	if (retention_ms <= 0 || s->newest_ms == INT64_MIN ||
	    __builtin_sub_overflow(aged(s, STORE_AHEAD_MS), retention_ms, &cutoff))
		return INT64_MIN;
	return cutoff;
}

int64_t store__first_cutoff(const struct store *s)
{
	const struct dcm_map *kept = &s->options.retention_by_type;
	int64_t first = store__cutoff(s, s->options.retention_ms);

	for (uint32_t i = 0; i < kept->n; i++) {
		int64_t cutoff = store__cutoff(s, ((const int64_t *)kept->items)[i] / 1000000);

		first = cutoff < first ? cutoff : first;
	}
	return first;
}

static int make_era(struct store *s, int64_t begin_ms, struct era **ret, struct dcm_error *err)
{
	struct era *e;

	if (s->eras.n >= STORE_MAX_ERAS)
		return error__set(err, -EOVERFLOW,
				  "profiles of more than %d times of %" PRId64 " days are too many",
				  STORE_MAX_ERAS, ERA_MS / 86400000);
	e = era__new(s->next_era, begin_ms, 0);
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
	s->next_era++;
	s->eras.v[s->eras.n++] = e;
	*ret = e;
	return 0;
}

/*
 * With the lock for writing. What cannot be read, or has lost something, is left to its blocks. Those that are not in
 * memory although load_eras() has been there came meanwhile.
 */
static int era_for_writing(void *ctx, int64_t begin_ms, struct era **ret, struct dcm_error *err)
{
	struct store *s = ctx;

	for (size_t i = 0; i < s->eras.n; i++) {
		struct era *e = s->eras.v[i];

		if (e->begin_ms != begin_ms || e->unreadable)
			continue;
		if (!e->dict)
			return error__set(err, -EAGAIN, "a dictionary is not in memory yet");
		if (!e->damaged) {
			*ret = e;
			return 0;
		}
	}
	return make_era(s, begin_ms, ret, err);
}

/* The same for who opens, when nobody else is there. */
static int era_for_replay(void *ctx, int64_t begin_ms, struct era **ret, struct dcm_error *err)
{
	struct store *s = ctx;
	const struct era_how how = eras__how(s);

	for (size_t i = 0; i < s->eras.n; i++) {
		struct era *e = s->eras.v[i];
		int r = e->begin_ms == begin_ms && !e->unreadable ? era__load(e, &how, err) : 0;

		if (r && !e->unreadable)
			return r;
	}
	return era_for_writing(s, begin_ms, ret, err);
}

static struct era *find_era(const struct store *s, uint32_t number)
{
	for (size_t i = 0; i < s->eras.n; i++)
		if (s->eras.v[i]->number == number)
			return s->eras.v[i];
	return NULL;
}

int store__era(struct store *s, uint32_t number, struct era **ret, struct dcm_error *err)
{
	pthread_rwlock_rdlock(&s->lock);
	struct era *e = find_era(s, number);
	if (e)
		era__ref(e);
	pthread_rwlock_unlock(&s->lock);
	if (!e)
		return error__set(err, -ENOENT, "there is no era %" PRIu32, number);
	int r = eras__load(s, e, err);
	if (r == 0)
		*ret = e;
	else
		era__unref(e);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Writing
 */

enum { WINDOW_BYTES = 16 }; /* before the batches of a frame */

struct writing {
	batch_list fresh; /* not seen before */
	struct buf payload;
	struct heads_plan plan;
	VEC(struct era *) eras; /* references, so that they stay in memory */
	struct heads_window window;
	struct heads_refused refused;
	uint64_t lsn;
};

static void writing__fini(struct writing *w)
{
	vec__fini(&w->fresh);
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
static int encode(struct store *s, struct dcm_batch *const *batches, uint32_t n, struct writing *w,
		  struct dcm_error *err)
{
	buf__le64(&w->payload, (uint64_t)w->window.from_ms);
	buf__le64(&w->payload, (uint64_t)w->window.until_ms);
	for (uint32_t i = 0; i < n; i++) {
		CLEANUP(mem__freep) uint8_t *data = NULL;
		size_t bytes = 0;

		if (is_retry(s, w, batches[i]))
			continue;
		int r = s->host->encode(s->host, batches[i], DCM_NONE, "batch", &data, &bytes, err);
		if (r)
			return r;
		if (bytes > FRAME_MAX_BYTES - WINDOW_BYTES - 4 || w->payload.n > FRAME_MAX_BYTES - 4 - bytes)
			return error__set(err, -EFBIG,
					  "batches of more than %d bytes cannot be written at once",
					  FRAME_MAX_BYTES);
		buf__le32(&w->payload, (uint32_t)bytes);
		buf__append(&w->payload, data, bytes);
		if (w->payload.error || !vec__push(&w->fresh, batches[i]))
			return error__nomem(err);
	}
	return 0;
}

static int plan(struct store *s, struct writing *w, era_source_fn era, struct dcm_error *err)
{
	const struct heads_source source = { .era = era, .ctx = s, .window = w->window };
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->fresh.n; i++)
		r = heads__plan(&s->active, &w->plan, w->fresh.v[i], &source, &w->refused, err);
	return r;
}

/* The eras that begin there, as references. */
static int note_eras(struct store *s, struct writing *w, int64_t begin_ms)
{
	bool ok = true;

	pthread_rwlock_rdlock(&s->lock);
	for (size_t i = 0; ok && i < s->eras.n; i++) {
		if (s->eras.v[i]->begin_ms != begin_ms || s->eras.v[i]->unreadable)
			continue;
		ok = vec__reserve(&w->eras, 1);
		if (ok)
			w->eras.v[w->eras.n++] = era__ref(s->eras.v[i]);
	}
	pthread_rwlock_unlock(&s->lock);
	return ok ? 0 : -ENOMEM;
}

/*
 * What comes late may need a dictionary that is not in memory. It is read before the lock is taken; what cannot be read
 * for good gets another era.
 */
static int load_eras(struct store *s, struct writing *w, struct dcm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->fresh.n; i++) {
		int64_t begin_ms = INT64_MIN;

		while (r == 0 && (begin_ms = heads__next_era(w->fresh.v[i], &w->window, begin_ms)) !=
					 INT64_MAX)
			if (note_eras(s, w, begin_ms) < 0)
				r = error__nomem(err);
	}
	for (size_t i = 0; r == 0 && i < w->eras.n; i++) {
		r = eras__load(s, w->eras.v[i], err);
		if (r && era__is_final(r))
			r = 0;
	}
	return r;
}

/*
 * A record of an era must not become larger than a frame, so what a dictionary has gained is put into one now and then.
 * When memory is short the next write tries again.
 */
static void log_eras(struct writing *w)
{
	for (size_t i = 0; i < w->plan.items.n; i++) {
		struct era *e = w->plan.items.v[i].head->era;

		if (dict__bytes(e->dict) - e->logged_bytes > ERA_RECORD_BYTES)
			era__log(e, NULL);
	}
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
	s->last_lsn = w->lsn;
	if (!s->active_since_ns)
		s->active_since_ns = s->host->mono_ns(s->host);
	if (!s->only_read)
		log_eras(w);
	kept__count_heads(s);
}

static int put_into_heads(struct store *s, struct writing *w, struct dcm_error *err)
{
	int r = load_eras(s, w, err);

	if (r)
		return r;
	pthread_rwlock_wrlock(&s->lock);
	if (heads__bytes(&s->active) + heads__bytes(&s->sealing) >= 2 * s->options.head_max_bytes)
		r = error__set(err, -EAGAIN, "what was written before waits for the disk");
	if (r == 0)
		r = plan(s, w, era_for_writing, err);
	if (r == 0)
		r = wal__append(commit__wal(s->commit), STORE_FRAME_BATCHES, w->payload.data,
				w->payload.n, &w->lsn, err);
	if (r == 0)
		apply(s, w);
	pthread_rwlock_unlock(&s->lock);
	return r;
}

/* What the host knows how to handle: later, no room, or trouble. */
static int refusal(int r)
{
	switch (r) {
	case -ENOMEM:
		return -EAGAIN;
	case -EAGAIN:
	case -ENOSPC:
	case -EFBIG:
	case -EOVERFLOW:
		return r;
	case -EDQUOT:
		return -ENOSPC;
	default:
		return -EIO;
	}
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
	const struct heads_window window = { store__first_cutoff(s), now_ms(s) + STORE_AHEAD_MS };
	pthread_rwlock_unlock(&s->lock);
	return store__write_within(s, batches, n, &window, done, ctx, err);
}

int store__write_within(struct store *s, struct dcm_batch *const *batches, uint32_t n,
			const struct heads_window *window, dcm_done_fn done, void *ctx,
			struct dcm_error *err)
{
	struct writing w = { .lsn = s->last_lsn, .window = *window };
	int r = make_room_to_wait(s);

	if (r)
		return error__set(err, -EAGAIN, "out of memory");
	r = encode(s, batches, n, &w, err);
	if (r == 0 && w.fresh.n)
		r = put_into_heads(s, &w, err);
	const struct heads_refused refused = w.refused;
	uint64_t lsn = w.lsn;
	writing__fini(&w);
	if (r)
		return refusal(r);
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

	for (;;) {
		struct store_waiting next = { .done = NULL };

		wal__stat(commit__wal(s->commit), &st);
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
 * Opening
 */

static void tell_unreadable(struct store *s, uint64_t lsn, const char *why)
{
	char text[256];

	atomic_fetch_add_explicit(&s->n_unreadable, 1, memory_order_relaxed);
	snprintf(text, sizeof(text), "the log: frame %" PRIu64 " is left out: %s", lsn, why);
	if (s->options.report)
		s->options.report(s->options.report_ctx, DCM_LOG_ERROR, text);
}

int store__decode_frame(const struct dcm_host *host, const struct frame *f,
			struct heads_window *ret_window, batch_list *ret, struct dcm_error *err)
{
	const uint8_t *p = f->payload, *end = p + f->n;

	if (f->n < WINDOW_BYTES)
		return error__set(err, -EBADMSG, "it is too short");
	*ret_window = (struct heads_window){ (int64_t)le__get64(p), (int64_t)le__get64(p + 8) };
	p += WINDOW_BYTES;
	while (end - p >= 4 && le__get32(p) <= (size_t)(end - p) - 4) {
		struct dcm_batch *b = NULL;
		uint32_t n = le__get32(p);
		int r = host->decode(host, "batch", p + 4, n, &b, err);

		if (r)
			return r;
		if (!vec__push(ret, b)) {
			host->batch_unref(b);
			return -ENOMEM;
		}
		p += 4 + n;
	}
	return p == end ? 0 : error__set(err, -EBADMSG, "its batches have other lengths");
}

/*
 * A frame's batches go where a write put them. What cannot be decoded is told, and left out whole; what cannot be read
 * at this moment ends the replay, because it was acknowledged.
 */
static int replay_batches(struct store *s, const struct frame *f, struct writing *w)
{
	struct dcm_error err = DCM_ERROR_INIT;
	int r = store__decode_frame(s->host, f, &w->window, &w->fresh, &err);

	if (r && r != -ENOMEM) {
		tell_unreadable(s, f->lsn, err.text);
		return 0;
	}
	if (r == 0)
		r = plan(s, w, era_for_replay, &err);
	if (r == 0)
		apply(s, w);
	else if (r == -EOVERFLOW)
		tell_unreadable(s, f->lsn, err.text);
	return r == -EOVERFLOW ? 0 : r;
}

int store__replay_frame(void *store, const struct frame *f)
{
	struct writing w = { .lsn = f->lsn };
	struct store *s = store;
	int r = removal__replay(s, f->lsn - 1);

	if (r)
		return r;
	if (f->type == STORE_FRAME_BATCHES)
		r = replay_batches(s, f, &w);
	else
		tell_unreadable(s, f->lsn, "it is of a kind that this version does not know");
	for (size_t i = 0; i < w.fresh.n; i++)
		s->host->batch_unref(w.fresh.v[i]);
	writing__fini(&w);
	s->last_lsn = f->lsn;
	return r;
}

int store__end_replay(struct store *s)
{
	return removal__replay(s, UINT64_MAX);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct manifest_block *x = &(*(const struct stored *const *)a)->entry;
	const struct manifest_block *y = &(*(const struct stored *const *)b)->entry;

	if (x->last_lsn != y->last_lsn)
		return x->last_lsn < y->last_lsn ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

void store__sort_blocks(struct store *s)
{
	if (s->blocks.n)
		qsort(s->blocks.v, s->blocks.n, sizeof(s->blocks.v[0]), compare_blocks);
}

/* A log that the manifest does not list was left behind: its number is not used again. */
static int note_log(void *ctx, const char *name)
{
	struct store *s = ctx;
	int64_t number = numbered__parse(name, ".log");
	char path[sizeof(ERAS_DIR) + 32], *copy;

	if (number >= s->next_era && number < UINT32_MAX)
		s->next_era = (uint32_t)number + 1;
	if (number < 0 ? numbered__parse(name, ".log.tmp") < 0
		       : number >= UINT32_MAX || find_era(s, (uint32_t)number) != NULL)
		return 0;
	snprintf(path, sizeof(path), ERAS_DIR "/%s", name);
	copy = mem__dup_str(path, strlen(path));
	if (copy && vec__push(&s->strays, copy))
		return 0;
	free(copy);
	return -ENOMEM;
}

static int take_eras(struct store *s, const struct manifest *m, struct dcm_error *err)
{
	int r = extras__read(m, &s->seen, &s->next_era, err);

	for (size_t i = 0; r == 0 && i < m->eras.n; i++) {
		const struct manifest_era *from = &m->eras.v[i];
		struct era *e = era__new(from->number, from->begin_ms, from->n_records);

		if (!e || !vec__push(&s->eras, e)) {
			era__unref(e);
			r = error__nomem(err);
		} else if (from->number >= s->next_era) {
			s->next_era = from->number + 1;
		}
	}
	if (r == 0) {
		r = vfs__list(s->vfs, ERAS_DIR, note_log, s);
		if (r)
			error__sys(err, r, ERAS_DIR ": cannot list");
	}
	return r;
}

int store__take_manifest(void *store, const struct manifest *m, struct dcm_error *err)
{
	struct store *s = store;
	int r = take_eras(s, m, err);

	if (r == 0)
		r = losses__read(m, &s->lost, err);
	if (r == 0 && !vec__reserve(&s->blocks, m->blocks.n))
		r = error__nomem(err);
	for (size_t i = 0; r == 0 && i < m->blocks.n; i++) {
		const struct manifest_block *entry = &m->blocks.v[i];
		struct era *era = find_era(s, entry->era);

		if (!era)
			return error__set(err, -EUCLEAN,
					  MANIFEST_PATH ": block %" PRIu64
							" is of an era that is not listed",
					  entry->number);
		s->blocks.v[s->blocks.n] = stored__new(s->vfs, era, entry);
		if (!s->blocks.v[s->blocks.n])
			return error__nomem(err);
		s->blocks.n++;
		s->newest_ms = entry->last_ms > s->newest_ms ? entry->last_ms : s->newest_ms;
	}
	store__sort_blocks(s);
	s->last_lsn = m->sealed_lsn;
	if (r == 0)
		r = filters__read(m, s->host, &s->filters, err);
	if (filters__n(s->filters))
		s->filtered_lsn = s->filters->v[s->filters->n - 1]->lsn;
	kept__count_all(s);
	return r;
}

struct store *store__new(const struct dcm_host *host, struct vfs *v, const struct store_options *o)
{
	struct store *s = NEW(struct store);
	pthread_rwlockattr_t attr;

	if (!s)
		return NULL;
	s->host = host;
	s->vfs = v;
	s->options = *o;
	s->newest_ms = s->aged_ms = INT64_MIN;
	s->next_era = 1;
	pthread_rwlockattr_init(&attr);
	/* Many short readers must not keep a writer out for ever. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&s->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	pthread_mutex_init(&s->work, NULL);
	pthread_mutex_init(&s->waiting_lock, NULL);
	kept__init(&s->kept);
	return s;
}

struct range {
	int64_t first_ms, last_ms;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return (x->first_ms > y->first_ms) - (x->first_ms < y->first_ms);
}

/*
 * Ages are counted from the end of what there is without a gap: what stands behind one may be of a clock that was wrong,
 * and if it was not, the time comes there soon.
 */
static int begin_aging(struct store *s)
{
	VEC(struct range) ranges = { 0 };

	if (!vec__reserve(&ranges, s->blocks.n + s->active.n + 1))
		return -ENOMEM;
	for (size_t i = 0; i < s->blocks.n; i++)
		ranges.v[ranges.n++] = (struct range){ s->blocks.v[i]->entry.first_ms,
						       s->blocks.v[i]->entry.last_ms };
	for (size_t i = 0; i < s->active.n; i++)
		if (s->active.v[i]->streams.n_profiles)
			ranges.v[ranges.n++] = (struct range){ s->active.v[i]->oldest_ms,
							       s->active.v[i]->streams.newest_ms };
	if (ranges.n)
		qsort(ranges.v, ranges.n, sizeof(ranges.v[0]), compare_ranges);
	for (size_t i = 0; i < ranges.n; i++) {
		if (i && ranges.v[i].first_ms - STORE_AHEAD_MS > s->aged_ms)
			break;
		s->aged_ms = ranges.v[i].last_ms > s->aged_ms ? ranges.v[i].last_ms : s->aged_ms;
	}
	vec__fini(&ranges);
	s->aged_at_ns = s->host->mono_ns(s->host);
	return 0;
}

int store__open(const struct dcm_host *host, struct vfs *v, const struct store_options *o,
		struct commit_found *ret_found, struct store **ret, struct dcm_error *err)
{
	struct store *s = store__new(host, v, o);
	int r;

	if (!s)
		return error__nomem(err);
	struct commit_options options = {
		.wal = { .segment_bytes = o->segment_bytes,
			 .pending_max_bytes = (uint64_t)FRAME_MAX_BYTES * 2,
			 .align = o->align,
			 .report = o->report,
			 .report_ctx = o->report_ctx },
		.each = store__replay_frame,
		.loaded = store__take_manifest,
		.used_lsn = &s->filtered_lsn,
		.ctx = s,
	};
	r = commit__open(v, &options, ret_found, &s->commit, err);
	if (r == 0 && (store__end_replay(s) || begin_aging(s) < 0))
		r = error__nomem(err);
	if (r) {
		store__close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void store__close(struct store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->waiting.n; i++)
		s->waiting.v[i].done(s->waiting.v[i].ctx, -ECANCELED);
	vec__fini(&s->waiting);
	commit__close(s->commit);
	heads__fini(&s->active);
	heads__fini(&s->sealing);
	for (size_t i = 0; i < s->blocks.n; i++)
		stored__unref(s->blocks.v[i]);
	vec__fini(&s->blocks);
	vec__fini(&s->lost);
	for (size_t i = 0; i < s->eras.n; i++)
		era__unref(s->eras.v[i]);
	vec__fini(&s->eras);
	filters__unref(s->filters);
	for (size_t i = 0; i < s->strays.n; i++)
		free(s->strays.v[i]);
	vec__fini(&s->strays);
	kept__fini(&s->kept);
	pthread_mutex_destroy(&s->waiting_lock);
	pthread_mutex_destroy(&s->work);
	pthread_rwlock_destroy(&s->lock);
	free(s);
}
