/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/losses.c - what the store knows to have lost
 */
#include "plugins/storage/local/losses.h"

#include <errno.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/le.h"

enum { LOSS_BYTES = 32 };

int losses__write(struct manifest *m, const loss_list *from)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < from->n; i++) {
		buf__le64(&b, from->v[i].block);
		buf__le64(&b, (uint64_t)from->v[i].first_ms);
		buf__le64(&b, (uint64_t)from->v[i].last_ms);
		buf__le64(&b, from->v[i].n_profiles);
	}
	int r = b.error ? -ENOMEM : manifest__set_extra(m, EXTRA_LOSSES, b.data, b.n);
	buf__fini(&b);
	return r;
}

static struct loss get(const uint8_t *p)
{
	return (struct loss){ .block = le__get64(p),
			      .first_ms = (int64_t)le__get64(p + 8),
			      .last_ms = (int64_t)le__get64(p + 16),
			      .n_profiles = le__get64(p + 24) };
}

int losses__read(const struct manifest *m, loss_list *to, struct dcm_error *err)
{
	const struct manifest_extra *extra = manifest__extra(m, EXTRA_LOSSES);
	const size_t n = extra ? extra->n / LOSS_BYTES : 0;
	loss_list list = { 0 };

	if (extra && (extra->n % LOSS_BYTES || n > LOSSES_MAX))
		return error__set(
			err, -EUCLEAN,
			"the manifest's list of losses is not one; restore it from a backup");
	if (!vec__reserve(&list, n + 1))
		return error__nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct loss next = get(extra->bytes + i * LOSS_BYTES);

		if (next.first_ms > next.last_ms || (i && next.first_ms < list.v[i - 1].first_ms)) {
			vec__fini(&list);
			return error__set(err, -EUCLEAN,
					  "the manifest's list of losses is out of order; restore "
					  "it from a backup");
		}
		list.v[list.n++] = next;
	}
	vec__fini(to);
	*to = list;
	return 0;
}

/* v[at] and the one behind it become one. */
static void join(loss_list *l, size_t at)
{
	struct loss *a = &l->v[at];
	const struct loss *b = a + 1;

	a->block = b->block > a->block ? b->block : a->block;
	a->last_ms = b->last_ms > a->last_ms ? b->last_ms : a->last_ms;
	/* 0: nobody knows */
	a->n_profiles = a->n_profiles && b->n_profiles ? a->n_profiles + b->n_profiles : 0;
	memmove(a + 1, a + 2, (l->n - at - 2) * sizeof(*a));
	l->n--;
}

static size_t nearest(const loss_list *l)
{
	size_t best = 0;
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i + 1 < l->n; i++) {
		const int64_t end = l->v[i].last_ms, begin = l->v[i + 1].first_ms;
		const uint64_t gap = begin > end ? (uint64_t)begin - (uint64_t)end : 0;

		if (gap < least) {
			least = gap;
			best = i;
		}
	}
	return best;
}

int losses__add(loss_list *to, const struct loss *more)
{
	size_t at = 0;

	if (!vec__reserve(to, 1))
		return -ENOMEM;
	while (at < to->n && to->v[at].first_ms <= more->first_ms)
		at++;
	memmove(to->v + at + 1, to->v + at, (to->n - at) * sizeof(to->v[0]));
	to->v[at] = *more;
	if (++to->n > LOSSES_MAX)
		join(to, nearest(to));
	return 0;
}

size_t losses__remove(loss_list *l, int64_t from_ms, int64_t to_ms)
{
	const size_t had = l->n;
	size_t n = 0;

	for (size_t i = 0; i < had; i++)
		if (l->v[i].first_ms < from_ms || l->v[i].last_ms >= to_ms)
			l->v[n++] = l->v[i];
	l->n = n;
	return had - n;
}

/* -------------------------------------------------------------------------------------------------
 * Of the log
 */

void lost_frames__add(struct lost_frames *l, uint64_t n)
{
	if (!l->is_open)
		l->open = (struct loss){ .first_ms = l->first_ms };
	l->is_open = true;
	l->n += n;
}

int lost_frames__end(struct lost_frames *l, int64_t since_ms, int64_t now_ms)
{
	struct loss *o = &l->open;

	if (!l->is_open)
		return 0;
	if (o->first_ms == INT64_MIN)
		o->first_ms = since_ms;
	o->first_ms = o->first_ms > now_ms ? now_ms : o->first_ms;
	o->last_ms = now_ms;
	l->is_open = false;
	return losses__add(&l->list, o);
}

int lost_frames__pass(struct lost_frames *l, int64_t first_ms, int64_t last_ms)
{
	if (l->is_open && (l->open.first_ms == INT64_MIN || l->open.first_ms > first_ms))
		l->open.first_ms = first_ms;
	l->first_ms = first_ms;
	return lost_frames__end(l, first_ms, last_ms);
}
