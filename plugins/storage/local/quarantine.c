/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/quarantine.c - damaged blocks that were set aside, and when they go
 */
#include "plugins/storage/local/quarantine.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/cleanup.h"
#include "core/base/error.h"
#include "plugins/storage/local/age.h"
#include "plugins/storage/local/block_file.h"
#include "core/disk/numbered.h"

enum { PATH_BYTES = sizeof(QUARANTINE_DIR) + 26 };

struct kept_file {
	uint64_t number, bytes;
};

struct listing {
	struct vfs *vfs;
	VEC(struct kept_file) files;
};

static const char *path_of(char to[static PATH_BYTES], uint64_t number)
{
	return numbered__path(to, PATH_BYTES, QUARANTINE_DIR, number, ".blk");
}

static int note(void *ctx, const char *name)
{
	struct listing *l = ctx;
	char path[PATH_BYTES];
	const int64_t number = numbered__parse(name, ".blk");
	uint64_t bytes;

	if (number < 0)
		return 0; /* nobody of ours */
	int r = vfs__size(l->vfs, path_of(path, (uint64_t)number), &bytes);
	if (r == 0 && !vec__push(&l->files, (struct kept_file){ (uint64_t)number, bytes }))
		r = -ENOMEM;
	return r == -ENOENT ? 0 : r;
}

static int by_number(const void *a, const void *b)
{
	const struct kept_file *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int list(struct listing *l)
{
	int r = vfs__list(l->vfs, QUARANTINE_DIR, note, l);

	if (l->files.n)
		qsort(l->files.v, l->files.n, sizeof(l->files.v[0]), by_number);
	return r == -ENOENT ? 0 : r;
}

static void publish(struct store *s, const struct listing *l)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < l->files.n; i++)
		bytes += l->files.v[i].bytes;
	atomic_store(&s->n_aside, l->files.n);
	atomic_store(&s->aside_bytes, bytes);
}

void quarantine__count(struct store *s)
{
	struct listing l = { .vfs = s->vfs };

	if (list(&l) == 0)
		publish(s, &l);
	vec__fini(&l.files);
}

static const struct loss *find_loss(const struct store *s, uint64_t number)
{
	for (size_t i = 0; i < s->lost.n; i++)
		if (s->lost.v[i].block == number)
			return &s->lost.v[i];
	return NULL;
}

static bool concerns(const struct dcm_select *sel, const struct loss *o)
{
	return sel && sel->from_ms <= o->last_ms && o->first_ms < sel->to_ms;
}

static bool stays(const struct store *s, uint64_t number, const struct dcm_select *removed,
		  int64_t cutoff_ms)
{
	const struct loss *o = find_loss(s, number);

	if (!o || o->last_ms < cutoff_ms || concerns(removed, o))
		return false;
	for (uint32_t i = filters__first(s->filters, number); i < filters__n(s->filters); i++)
		if (concerns(&s->filters->selects[i], o))
			return false;
	return true;
}

/*
 * How many of the oldest are too many bytes. The newest stays: it may be all that is left of what
 * somebody has not looked at yet.
 */
static size_t count_over(const struct listing *l, uint64_t max_bytes)
{
	uint64_t bytes = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->files.n; i++)
		bytes += l->files.v[i].bytes;
	for (; bytes > max_bytes && n + 1 < l->files.n; n++)
		bytes -= l->files.v[n].bytes;
	return n;
}

/* The list keeps what is still there. */
static int remove_file(struct listing *l, size_t at, struct dcm_error *err)
{
	char path[PATH_BYTES];
	int r = vfs__unlink(l->vfs, path_of(path, l->files.v[at].number));

	if (r && r != -ENOENT)
		return error__sys(err, r, "%s: cannot remove", path);
	for (size_t i = at + 1; i < l->files.n; i++)
		l->files.v[i - 1] = l->files.v[i];
	l->files.n--;
	return 0;
}

static uint64_t max_bytes_of(struct store *s)
{
	pthread_rwlock_rdlock(&s->lock);
	const uint64_t bound = s->options.max_bytes;
	pthread_rwlock_unlock(&s->lock);
	return bound ? bound / QUARANTINE_PART : QUARANTINE_MAX_BYTES;
}

/* What cannot go now goes with the next retention. */
void quarantine__add(struct store *s, uint64_t number, uint64_t bytes)
{
	const uint64_t n = atomic_fetch_add(&s->n_aside, 1) + 1;
	const uint64_t all = atomic_fetch_add(&s->aside_bytes, bytes) + bytes;

	pthread_rwlock_rdlock(&s->lock);
	const int64_t cutoff_ms = age__first_cutoff(s);
	pthread_rwlock_unlock(&s->lock);
	const bool doubled = (n & (n - 1)) == 0;
	if (doubled || all > max_bytes_of(s) || !stays(s, number, NULL, cutoff_ms))
		quarantine__trim(s, NULL, NULL);
}

int quarantine__trim(struct store *s, const struct dcm_select *removed, struct dcm_error *err)
{
	struct listing l = { .vfs = s->vfs };

	pthread_rwlock_rdlock(&s->lock);
	const int64_t cutoff_ms = age__first_cutoff(s);
	pthread_rwlock_unlock(&s->lock);
	int r = list(&l);
	if (r)
		error__sys(err, r, QUARANTINE_DIR ": cannot list");
	const size_t n = l.files.n;
	for (size_t i = 0; r == 0 && i < l.files.n;) {
		if (stays(s, l.files.v[i].number, removed, cutoff_ms))
			i++;
		else
			r = remove_file(&l, i, err);
	}
	for (size_t over = r ? 0 : count_over(&l, max_bytes_of(s)); r == 0 && over; over--)
		r = remove_file(&l, 0, err);
	if (r == 0 && l.files.n < n) {
		r = vfs__sync_dir(s->vfs, QUARANTINE_DIR);
		if (r)
			error__sys(err, r, QUARANTINE_DIR ": cannot sync this directory");
	}
	if (r == 0)
		publish(s, &l);
	vec__fini(&l.files);
	return r;
}
