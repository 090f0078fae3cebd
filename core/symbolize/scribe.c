/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/scribe.c - writes down what was resolved
 *
 * A log whose size is the one that the last flush left is appended to unread. Any other is read
 * first; it is written anew when something in it is damaged, or when it would have more than twice
 * the bytes of its first frame and SLACK_BYTES: so all that was ever rewritten is a few times what
 * is there.
 *
 * Threads: `lock` guards what waits and the counts; `flushing` is held for all of a flush. Limits:
 * WAITING_BYTES of names in memory, NAMES_MAX_BYTES a log, MAX_KNOWN sizes remembered.
 */
#include "core/symbolize/scribe.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/symbolize/elf.h"
#include "core/symbolize/names.h"

enum { WAITING_BYTES = 8 << 20, SLACK_BYTES = 64 << 10, MAX_KNOWN = 4096 };

/* A log as the last flush left it. */
struct known {
	uint64_t id_hash;
	uint64_t bytes, first_bytes; /* of all, of the first frame */
};

struct scribe {
	struct depot *depot;
	pthread_mutex_t lock;
	struct learned_set waiting;
	struct scribe_stat counts;

	pthread_mutex_t flushing;
	VEC(struct known) known;
};

void scribe__add(struct scribe *s, const struct learned_key *key, const struct learned *what)
{
	pthread_mutex_lock(&s->lock);
	if (!learned_set__has_better(&s->waiting, key, what) &&
	    (learned_set__bytes(&s->waiting) > WAITING_BYTES ||
	     learned_set__insert(&s->waiting, key, what) < 0))
		s->counts.n_dropped++;
	pthread_mutex_unlock(&s->lock);
}

/* --- one build id --- */

/* Names of one build id that wait: rows of a set, by address. */
struct run {
	const struct learned_set *set;
	const uint32_t *rows; /* [n] */
	size_t n;
	struct dcm_str build_id;
	uint64_t hash;
	char id[ELF_BUILD_ID_TEXT];
};

static struct known *known_of(struct scribe *s, const struct run *run)
{
	for (size_t i = 0; i < s->known.n; i++)
		if (s->known.v[i].id_hash == run->hash)
			return &s->known.v[i];
	return NULL;
}

/* Not remembered means read again: no harm. */
static void remember(struct scribe *s, const struct run *run, uint64_t bytes, uint64_t first_bytes)
{
	struct known *k = known_of(s, run), now = { run->hash, bytes, first_bytes };

	if (!k && s->known.n >= MAX_KNOWN)
		s->known.n = 0;
	if (k)
		*k = now;
	else if (!vec__push(&s->known, now))
		s->known.n = 0;
}

static bool may_grow(const struct known *k, uint64_t more)
{
	uint64_t n = k->bytes + more;

	return n <= NAMES_MAX_BYTES && n <= 2 * k->first_bytes + SLACK_BYTES;
}

/* What waits, in the place of what the table has of the same addresses and is no better. */
static int merge(struct names *names, const struct run *run)
{
	struct learned_key key = { .build_id = run->build_id, .hash = run->hash };

	for (size_t i = 0; i < run->n; i++) {
		const struct learned_entry *e = &run->set->entries.v[run->rows[i]];
		struct learned what = learned_set__found(run->set, e);

		key.address = e->address;
		key.addr_kind = e->addr_kind;
		if (!learned_set__has_better(&names->set, &key, &what) &&
		    learned_set__insert(&names->set, &key, &what) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int sort_rows(const struct learned_set *set, uint32_t **ret);

/* All of a log as one frame. -E2BIG: there is no room in it for what waits. */
static int rewrite(struct scribe *s, const struct run *run, struct names *names)
{
	CLEANUP(mem__freep) uint32_t *rows = NULL;
	struct buf frame = { 0 };
	int rc = merge(names, run);

	if (!rc)
		rc = sort_rows(&names->set, &rows);
	if (!rc) {
		names__write(&names->set, rows, names->set.entries.n, run->build_id, &frame);
		rc = frame.error;
	}
	if (!rc && frame.n > NAMES_MAX_BYTES)
		rc = -E2BIG;
	if (!rc)
		rc = depot__replace_names(s->depot, run->id, &frame);
	if (!rc)
		remember(s, run, frame.n, frame.n);
	buf__fini(&frame);
	return rc;
}

static int append(struct scribe *s, const struct run *run, const struct known *log, const struct buf *frame)
{
	int rc = depot__append_names(s->depot, run->id, log->bytes, frame);

	if (!rc)
		remember(s, run, log->bytes + frame->n, log->bytes ? log->first_bytes : frame->n);
	return rc;
}

/* Reads what is there, and appends to it or writes it anew. */
static int write_after_reading(struct scribe *s, const struct run *run, const struct buf *frame)
{
	CLEANUP(names__unrefp) struct names *names = NULL;
	struct names_found found = { 0 };
	struct buf old = { 0 };
	int rc = depot__read_names(s->depot, run->id, NAMES_MAX_BYTES, &old);

	/* What is too large was not written here, and what the disk does not tell names nobody. */
	if (rc == -ENOENT || rc == -EFBIG || rc == -EIO)
		rc = 0;
	if (!rc)
		rc = names__read(old.data, old.n, run->build_id, &names, &found);
	struct known log = { run->hash, old.n, found.first_bytes };
	buf__fini(&old);
	if (rc)
		return rc;
	pthread_mutex_lock(&s->lock);
	s->counts.n_bad_bytes += found.n_bad_bytes;
	pthread_mutex_unlock(&s->lock);
	if (!found.n_bad_bytes && may_grow(&log, frame->n)) {
		rc = append(s, run, &log, frame);
		if (rc != -ESTALE)
			return rc;
	}
	return rewrite(s, run, names);
}

static int write_run(struct scribe *s, const struct run *run)
{
	const struct known *k = known_of(s, run);
	struct buf frame = { 0 };
	int rc;

	names__write(run->set, run->rows, run->n, run->build_id, &frame);
	rc = frame.error ? frame.error : -ESTALE;
	if (!frame.error && k && may_grow(k, frame.n))
		rc = append(s, run, &(struct known){ k->id_hash, k->bytes, k->first_bytes }, &frame);
	if (rc == -ESTALE)
		rc = write_after_reading(s, run, &frame);
	buf__fini(&frame);
	return rc;
}

/* --- all that waits --- */

static int by_file_and_address(const void *a, const void *b, void *ctx)
{
	const struct learned_set *set = ctx;
	const struct learned_entry *x = &set->entries.v[*(const uint32_t *)a];
	const struct learned_entry *y = &set->entries.v[*(const uint32_t *)b];

	if (x->build_id != y->build_id)
		return x->build_id < y->build_id ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static int sort_rows(const struct learned_set *set, uint32_t **ret)
{
	uint32_t *rows = mem__zalloc(set->entries.n, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < set->entries.n; i++)
		rows[i] = i;
	qsort_r(rows, set->entries.n, sizeof(*rows), by_file_and_address, (void *)(uintptr_t)set);
	*ret = rows;
	return 0;
}

/* What could not be written waits on, unless its log is full, or cannot be. */
static void settle(struct scribe *s, const struct run *run, int rc)
{
	struct learned_key key = { .build_id = run->build_id, .hash = run->hash };
	struct learned known;

	pthread_mutex_lock(&s->lock);
	s->counts.n_written += rc ? 0 : run->n;
	for (size_t i = 0; i < run->n && rc; i++) {
		const struct learned_entry *e = &run->set->entries.v[run->rows[i]];
		struct learned what = learned_set__found(run->set, e);

		key.address = e->address;
		key.addr_kind = e->addr_kind;
		if (learned_set__find(&s->waiting, &key, &known))
			continue;
		if (rc == -E2BIG || rc == -EINVAL || learned_set__bytes(&s->waiting) > WAITING_BYTES ||
		    learned_set__insert(&s->waiting, &key, &what) < 0)
			s->counts.n_dropped++;
	}
	pthread_mutex_unlock(&s->lock);
}

static void write_all(struct scribe *s, const struct learned_set *set, const uint32_t *rows)
{
	for (size_t at = 0, n; at < set->entries.n; at += n) {
		uint32_t build_id = set->entries.v[rows[at]].build_id;
		struct run run = { .set = set, .rows = rows + at };

		for (n = 1;
		     at + n < set->entries.n && set->entries.v[rows[at + n]].build_id == build_id; n++)
			;
		run.n = n;
		run.build_id = intern__text(&set->texts, build_id);
		run.hash = hash__bytes(run.build_id.p, run.build_id.n, 0);
		if (run.build_id.n < sizeof(run.id))
			memcpy(run.id, run.build_id.p, run.build_id.n);
		settle(s, &run, write_run(s, &run));
	}
}

void scribe__flush(struct scribe *s)
{
	CLEANUP(mem__freep) uint32_t *rows = NULL;
	struct learned_set fresh, full;

	if (learned_set__init(&fresh))
		return;
	pthread_mutex_lock(&s->flushing);
	pthread_mutex_lock(&s->lock);
	full = s->waiting;
	s->waiting = fresh;
	pthread_mutex_unlock(&s->lock);
	if (full.entries.n && sort_rows(&full, &rows) == 0) {
		write_all(s, &full, rows);
	} else {
		pthread_mutex_lock(&s->lock);
		s->counts.n_dropped += full.entries.n;
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&s->flushing);
	learned_set__fini(&full);
}

/* Those that wait without one build id's. Under the lock. */
static void sift(struct scribe *s, struct dcm_str build_id)
{
	struct learned_set rest;

	if (learned_set__init(&rest)) {
		s->counts.n_dropped += s->waiting.entries.n;
		learned_set__fini(&s->waiting);
		s->waiting = rest;
		return;
	}
	for (size_t i = 0; i < s->waiting.entries.n; i++) {
		const struct learned_entry *e = &s->waiting.entries.v[i];
		struct learned what = learned_set__found(&s->waiting, e);
		struct learned_key key = { .build_id = intern__text(&s->waiting.texts, e->build_id),
					   .address = e->address,
					   .addr_kind = e->addr_kind };

		key.hash = hash__bytes(key.build_id.p, key.build_id.n, 0);
		if (!str__eq(key.build_id, build_id) && learned_set__insert(&rest, &key, &what) < 0)
			s->counts.n_dropped++;
	}
	learned_set__fini(&s->waiting);
	s->waiting = rest;
}

void scribe__forget(struct scribe *s, const char *build_id)
{
	struct dcm_str id = str__of(build_id);
	struct run run = { .hash = hash__bytes(id.p, id.n, 0) };

	pthread_mutex_lock(&s->flushing);
	pthread_mutex_lock(&s->lock);
	sift(s, id);
	pthread_mutex_unlock(&s->lock);
	/* The next flush finds another number of bytes than it knows of, and reads. */
	depot__remove_names(s->depot, build_id);
	struct known *k = known_of(s, &run);
	if (k)
		*k = (struct known){ 0 };
	pthread_mutex_unlock(&s->flushing);
}

/* --- the object --- */

int scribe__new(struct depot *depot, struct scribe **ret)
{
	struct scribe *s = NEW(struct scribe);

	if (!s)
		return -ENOMEM;
	s->depot = depot;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->flushing, NULL);
	if (learned_set__init(&s->waiting)) {
		scribe__free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

void scribe__free(struct scribe *s)
{
	if (!s)
		return;
	learned_set__fini(&s->waiting);
	vec__fini(&s->known);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->flushing);
	free(s);
}

void scribe__stat(struct scribe *s, struct scribe_stat *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = s->counts;
	pthread_mutex_unlock(&s->lock);
}
