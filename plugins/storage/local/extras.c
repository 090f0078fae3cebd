/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/extras.c - what the store itself keeps in the manifest
 */
#include "plugins/storage/local/extras.h"

#include <errno.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/error.h"
#include "core/base/le.h"

/* Versions that know no extras of type 7 and 8 have at most so many in those of type 1 and 6. */
enum { FEW_SOURCES = 1024, FEW_ONCE = 8192 };
enum { HEAD_BYTES = 8, SOURCE_BYTES = 32, INTERVAL_BYTES = 16, ONCE_BYTES = 16 };

void extras_store__fini(struct extras_store *e)
{
	buf__fini(&e->last);
	buf__fini(&e->earlier);
	buf__fini(&e->once);
	buf__fini(&e->earlier_once);
}

/* Of so many, all but the last `few` are earlier ones. */
static size_t n_earlier(size_t n, size_t few)
{
	return n > few ? n - few : 0;
}

struct putting_once {
	struct extras_store *to;
	size_t at, n_earlier;
};

static void put_once(void *ctx, struct dcm_hash source)
{
	struct putting_once *p = ctx;
	struct buf *b = p->at++ < p->n_earlier ? &p->to->earlier_once : &p->to->once;

	buf__le64(b, source.lo);
	buf__le64(b, source.hi);
}

static void put_source(struct buf *b, const struct seen_source *s)
{
	buf__le64(b, s->source.lo);
	buf__le64(b, s->source.hi);
	buf__le64(b, s->used_at);
	buf__le64(b, s->n);
	for (uint32_t k = 0; k < s->n; k++) {
		buf__le64(b, s->intervals[k].first);
		buf__le64(b, s->intervals[k].last);
	}
}

int extras_store__make(struct extras_store *ret, const struct seen *seen, uint32_t next_era)
{
	struct putting_once once = { ret, 0, n_earlier(seen__n_once(seen), FEW_ONCE) };
	seen_list sources = { 0 };
	size_t n_before;

	*ret = (struct extras_store){ 0 };
	if (seen__list_counting(seen, &sources))
		return -ENOMEM;
	n_before = n_earlier(sources.n, FEW_SOURCES);
	buf__le32(&ret->last, next_era);
	buf__le32(&ret->last, (uint32_t)(sources.n - n_before));
	for (size_t i = 0; i < sources.n; i++)
		put_source(i < n_before ? &ret->earlier : &ret->last, sources.v[i]);
	vec__fini(&sources);
	seen__each_once(seen, put_once, &once);
	if (!ret->last.error && !ret->earlier.error && !ret->once.error && !ret->earlier_once.error)
		return 0;
	extras_store__fini(ret);
	return -ENOMEM;
}

int extras_store__write(struct manifest *m, const struct extras_store *e)
{
	const struct {
		uint32_t type;
		const struct buf *bytes;
	} all[] = {
		{ EXTRA_STORE, &e->last },
		{ EXTRA_ONCE, &e->once },
		{ EXTRA_EARLIER, &e->earlier },
		{ EXTRA_EARLIER_ONCE, &e->earlier_once },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(all) / sizeof(all[0]); i++)
		r = manifest__set_extra(m, all[i].type, all[i].bytes->data, all[i].bytes->n);
	return r;
}

/* One source; returns the bytes taken, 0 when there are too few or they break a rule. */
static size_t get_source(const uint8_t *p, size_t n, struct seen_source *ret)
{
	uint64_t n_intervals = n < SOURCE_BYTES ? SEEN_INTERVALS + 1 : le__get64(p + 24);

	if (n_intervals > SEEN_INTERVALS || n < SOURCE_BYTES + n_intervals * INTERVAL_BYTES)
		return 0;
	*ret = (struct seen_source){
		.source = { .lo = le__get64(p), .hi = le__get64(p + 8) },
		.n = (uint32_t)n_intervals,
	};
	for (uint32_t k = 0; k < ret->n; k++) {
		const uint8_t *at = p + SOURCE_BYTES + (size_t)k * INTERVAL_BYTES;

		ret->intervals[k] = (struct seen_interval){ le__get64(at), le__get64(at + 8) };
		if (ret->intervals[k].first > ret->intervals[k].last ||
		    (k > 0 && ret->intervals[k].first <= ret->intervals[k - 1].last))
			return 0;
	}
	return SOURCE_BYTES + (size_t)ret->n * INTERVAL_BYTES;
}

static int get_sources(const uint8_t *p, size_t n, struct seen *seen)
{
	struct seen_source source;

	while (n) {
		size_t used = get_source(p, n, &source);

		if (!used)
			return -EUCLEAN;
		if (seen__reserve(seen, 1))
			return -ENOMEM;
		for (uint32_t k = 0; k < source.n; k++)
			seen__add_interval(seen, source.source, source.intervals[k]);
		p += used;
		n -= used;
	}
	return 0;
}

static int get_once(const struct manifest_extra *extra, struct seen *seen)
{
	if (extra->n % ONCE_BYTES)
		return -EUCLEAN;
	for (size_t i = 0; i < extra->n; i += ONCE_BYTES) {
		const struct dcm_batch_id id = {
			.source = { .lo = le__get64(extra->bytes + i),
				    .hi = le__get64(extra->bytes + i + 8) },
			.sequence = DCM_BATCH_ONCE,
		};

		if (seen__reserve(seen, 1))
			return -ENOMEM;
		seen__add(seen, &id);
	}
	return 0;
}

int extras__read(const struct manifest *m, struct seen *seen, uint32_t *next_era, struct dcm_error *err)
{
	const struct manifest_extra *store = manifest__extra(m, EXTRA_STORE);
	const struct manifest_extra *earlier = manifest__extra(m, EXTRA_EARLIER);
	const struct manifest_extra *earlier_once = manifest__extra(m, EXTRA_EARLIER_ONCE);
	const struct manifest_extra *once = manifest__extra(m, EXTRA_ONCE);
	int r = 0;

	if (!store)
		return 0;
	seen__fini(seen);
	if (earlier)
		r = get_sources(earlier->bytes, earlier->n, seen);
	if (r == 0)
		r = store->n < HEAD_BYTES
			    ? -EUCLEAN
			    : get_sources(store->bytes + HEAD_BYTES, store->n - HEAD_BYTES, seen);
	if (r == 0 && earlier_once)
		r = get_once(earlier_once, seen);
	if (r == 0 && once)
		r = get_once(once, seen);
	if (r == -ENOMEM)
		return error__nomem(err);
	if (r)
		return error__set(
			err, r, "the manifest's list of batches is not one; restore it from a backup");
	*next_era = le__get32(store->bytes);
	return 0;
}

int extras__list_era(struct manifest *m, struct era *e)
{
	struct manifest_era entry = {
		.number = e->number,
		.begin_ms = e->begin_ms,
		.n_records = era__n_records(e),
	};
	size_t at = 0;

	while (at < m->eras.n && m->eras.v[at].number < e->number)
		at++;
	if (at < m->eras.n && m->eras.v[at].number == e->number) {
		m->eras.v[at] = entry;
		return 0;
	}
	if (!vec__reserve(&m->eras, 1))
		return -ENOMEM;
	memmove(m->eras.v + at + 1, m->eras.v + at, (m->eras.n - at) * sizeof(entry));
	m->eras.v[at] = entry;
	m->eras.n++;
	return 0;
}

void extras__forget_era(struct manifest *m, uint32_t number)
{
	size_t n = 0;

	for (size_t i = 0; i < m->eras.n; i++)
		if (m->eras.v[i].number != number)
			m->eras.v[n++] = m->eras.v[i];
	m->eras.n = n;
}
