/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/pipeline/spool_feed.c - the way out of a spool: the oldest that waits, and what became of it
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/batch/batch.h"
#include "core/codec/wire.h"
#include "core/pipeline/spool_private.h"

enum { READ_TRIES = 50 };

/* ---- reading ---- */

/* Not for want of something that a process may be short of for a while. */
static bool is_of_disk(int rc)
{
	return rc != -ENOMEM && rc != -EMFILE && rc != -ENFILE;
}

/*
 * The batch of one that is on the disk only. -EBADMSG: nobody can read it any more, or the disk has failed to give it
 * READ_TRIES times. Another errno: later.
 */
static int read_batch(struct spool *s, uint64_t lsn, struct dcm_batch **ret)
{
	const struct frame *f = &s->lookup.frame;
	int rc = lookup__frame(&s->lookup, s->vfs, s->wal, lsn);

	if (!rc) {
		s->n_failures = 0;
		rc = wire__decode(f->payload + RECORD_HEAD_BYTES, f->n - RECORD_HEAD_BYTES, ret, NULL);
		return rc == 0 || rc == -ENOMEM ? rc : -EBADMSG;
	}
	if (rc != -ENOENT && (!is_of_disk(rc) || ++s->n_failures < READ_TRIES))
		return rc;
	s->n_failures = 0;
	return -EBADMSG;
}

/* With the lock: the entry that is to be fed; NULL: none. */
static struct entry *oldest_waiting(struct spool *s)
{
	spool__expire(s);
	while (s->next < s->entries.n && s->entries.v[s->next].state != WAITING)
		s->next++;
	if (s->next == s->entries.n || s->fed_bytes >= s->config.fed_bytes)
		return NULL;
	return &s->entries.v[s->next];
}

static void feed(struct spool *s, struct entry *e, struct spool_item *ret)
{
	ret->lsn = e->lsn;
	ret->rows = e->rows;
	ret->bytes = e->bytes;
	ret->memory = e->batch->bytes;
	ret->batch = batch__ref(e->batch);
	e->state = FED;
	s->fed_bytes += ret->memory;
	s->next++;
}

/* Nobody can read it: it is as settled as it will ever be. */
static void lose_damaged(struct spool *s, struct entry *e)
{
	s->lost[LOST_DAMAGED] += e->rows;
	e->state = SETTLED;
	spool__move_on(s);
}

static void tell_damaged(const struct spool *s, uint64_t rows)
{
	char text[128];

	snprintf(text, sizeof(text), "a batch of %llu rows cannot be read back: look at the disk",
		 (unsigned long long)rows);
	spool__tell(s, DCM_LOG_ERROR, text);
}

/* One from the disk, without the lock meanwhile; then its entry, which may have been dropped. */
static int fetch(struct spool *s, uint64_t lsn, struct spool_item *ret)
{
	struct dcm_batch *batch = NULL;
	struct entry *e;
	uint64_t rows = 0;
	int rc = read_batch(s, lsn, &batch);

	pthread_mutex_lock(&s->lock);
	e = spool__find(s, lsn);
	if (!e || e->state != WAITING) {
		batch__unref(batch);
		rc = -EALREADY;
	} else if (rc == -EBADMSG) {
		rows = e->rows;
		lose_damaged(s, e);
	} else if (rc == 0) {
		e->batch = batch;
		s->kept_bytes += batch->bytes;
		ret->was_read = true;
		feed(s, e, ret);
	}
	spool__unlock(s);
	if (rc == -EBADMSG)
		tell_damaged(s, rows);
	return rc;
}

int spool__next(struct spool *s, struct spool_item *ret)
{
	const struct entry *e;
	uint64_t lsn;
	int rc;

	*ret = (struct spool_item){ 0 };
	do {
		pthread_mutex_lock(&s->lock);
		s->is_woken = false;
		e = oldest_waiting(s);
		lsn = e ? e->lsn : 0;
		if (e && e->batch)
			feed(s, &s->entries.v[s->next], ret);
		spool__unlock(s);
		if (!e)
			return -EAGAIN;
		rc = ret->batch ? 0 : fetch(s, lsn, ret);
	} while (rc == -EALREADY || rc == -EBADMSG);
	return rc;
}

/* ---- settling ---- */

/* What became of a batch, or of a profile of it, that was refused. */
static void tell_refused(const struct spool *s, const char *what, int rc, const char *path,
			 const char *words)
{
	char text[768];

	if (!rc)
		snprintf(text, sizeof(text), "a %s was refused and is set aside: %s: %s", what,
			 path, words);
	else
		snprintf(text, sizeof(text), "a %s was refused, and cannot be set aside (%s): %s", what,
			 rc == -EDQUOT ? "there is no room; look at what is there, and move it away"
			 : rc == -ENOENT ? "it is too old, and has left the spool"
					 : strerror(-rc),
			 words);
	spool__tell(s, DCM_LOG_WARNING, text);
}

/* As `decima convert` reads it, and beside it why it is there. Takes the batch; NULL: it is in no entry any more. */
static void set_aside(struct spool *s, uint64_t lsn, struct dcm_batch *batch, uint32_t profile)
{
	char path[ASIDE_PATH_BYTES] = "", words[WORDS_MAX];
	int rc = -ENOENT;

	pthread_mutex_lock(&s->lock);
	memcpy(words, s->words, sizeof(words));
	pthread_mutex_unlock(&s->lock);
	if (batch)
		rc = aside__put(&s->aside, lsn, batch, profile, words, path);
	tell_refused(s, profile == DCM_NONE ? "batch" : "profile", rc, path, words);
	batch__unref(batch);
}

static void set_batch_aside(struct spool *s, uint64_t lsn)
{
	const struct entry *e;
	struct dcm_batch *batch = NULL;

	pthread_mutex_lock(&s->lock);
	e = s->is_closed ? NULL : spool__find(s, lsn);
	if (e && e->batch)
		batch = batch__ref(e->batch);
	pthread_mutex_unlock(&s->lock);
	set_aside(s, lsn, batch, DCM_NONE);
}

void spool__set_aside(struct spool *s, const struct dcm_batch *batch, uint32_t profile)
{
	struct dcm_batch *found = NULL;
	uint64_t lsn = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = s->head; !s->is_closed && !found && i < s->next; i++) {
		const struct entry *e = &s->entries.v[i];

		if (e->state == FED && e->batch == batch) {
			found = batch__ref(e->batch);
			lsn = e->lsn;
		}
	}
	pthread_mutex_unlock(&s->lock);
	set_aside(s, lsn, found, profile);
}

/* With the lock: one whose entry is gone, because it had to leave the disk while it was fed. */
static void settle_loose(struct spool *s, const struct spool_item *item, bool not_now)
{
	if (s->is_closed)
		return;
	s->loose_rows -= item->rows;
	if (not_now)
		s->lost[LOST_FULL] += item->rows;
}

void spool__settle(struct spool *s, const struct spool_item *item, int status)
{
	bool not_now = status == -ECANCELED || status == -EAGAIN || status == -ENOMEM;
	struct entry *e;

	/* It stays fed, and on the disk, until it is there. */
	if (status < 0 && !not_now)
		set_batch_aside(s, item->lsn);
	pthread_mutex_lock(&s->lock);
	s->fed_bytes -= item->memory;
	e = s->is_closed ? NULL : spool__find(s, item->lsn);
	if (!e) {
		settle_loose(s, item, not_now);
	} else {
		e->state = not_now ? WAITING : SETTLED;
		spool__unkeep(s, e);
		if (not_now && s->next > (size_t)(e - s->entries.v))
			s->next = (size_t)(e - s->entries.v);
		spool__move_on(s);
	}
	s->is_woken = true;
	pthread_cond_broadcast(&s->changed);
	spool__unlock(s);
}

void spool__say(struct spool *s, const char *words)
{
	pthread_mutex_lock(&s->lock);
	snprintf(s->words, sizeof(s->words), "%s", words);
	pthread_mutex_unlock(&s->lock);
}
