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

enum { HEAD_BYTES = 8, SOURCE_BYTES = 32, INTERVAL_BYTES = 16, ONCE_BYTES = 16 };

static int write_once(struct manifest *m, const struct seen *seen)
{
	struct buf b = { 0 };

	for (uint32_t i = 0; i < seen->n_once; i++) {
		struct dcm_hash source = seen__once(seen, i);

		buf__le64(&b, source.lo);
		buf__le64(&b, source.hi);
	}
	int r = b.error ? -ENOMEM : manifest__set_extra(m, EXTRA_ONCE, b.data, b.n);
	buf__fini(&b);
	return r;
}

int extras__write(struct manifest *m, const struct seen *seen, uint32_t next_era)
{
	struct buf b = { 0 };

	buf__le32(&b, next_era);
	buf__le32(&b, seen->n);
	for (uint32_t i = 0; i < seen->n; i++) {
		const struct seen_source *s = &seen->sources[i];

		buf__le64(&b, s->source.lo);
		buf__le64(&b, s->source.hi);
		buf__le64(&b, s->used_at);
		buf__le64(&b, s->n);
		for (uint32_t k = 0; k < s->n; k++) {
			buf__le64(&b, s->intervals[k].first);
			buf__le64(&b, s->intervals[k].last);
		}
	}
	int r = b.error ? -ENOMEM : manifest__set_extra(m, EXTRA_STORE, b.data, b.n);
	buf__fini(&b);
	return r ? r : write_once(m, seen);
}

/* One source; returns the bytes taken, 0 when there are too few or they break a rule. */
static size_t get_source(const uint8_t *p, size_t n, struct seen_source *ret)
{
	uint64_t n_intervals = n < SOURCE_BYTES ? SEEN_INTERVALS + 1 : le__get64(p + 24);

	if (n_intervals > SEEN_INTERVALS || n < SOURCE_BYTES + n_intervals * INTERVAL_BYTES)
		return 0;
	*ret = (struct seen_source){
		.source = { .lo = le__get64(p), .hi = le__get64(p + 8) },
		.used_at = le__get64(p + 16),
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

static int get_all(const uint8_t *p, size_t n, struct seen *seen)
{
	uint32_t n_sources = le__get32(p + 4);

	if (n_sources > SEEN_SOURCES)
		return -EUCLEAN;
	p += HEAD_BYTES;
	n -= HEAD_BYTES;
	memset(seen, 0, sizeof(*seen));
	for (; seen->n < n_sources; seen->n++) {
		struct seen_source *s = &seen->sources[seen->n];
		size_t used = get_source(p, n, s);

		if (!used)
			return -EUCLEAN;
		seen->now = s->used_at > seen->now ? s->used_at : seen->now;
		p += used;
		n -= used;
	}
	return n ? -EUCLEAN : 0;
}

static int get_once(const struct manifest_extra *extra, struct seen *seen)
{
	if (extra->n % ONCE_BYTES || extra->n / ONCE_BYTES > SEEN_ONCE)
		return -EUCLEAN;
	seen->n_once = (uint32_t)(extra->n / ONCE_BYTES);
	for (uint32_t i = 0; i < seen->n_once; i++)
		seen->once[i] = (struct dcm_hash){ .lo = le__get64(extra->bytes + i * ONCE_BYTES),
						   .hi = le__get64(extra->bytes + i * ONCE_BYTES + 8) };
	return 0;
}

int extras__read(const struct manifest *m, struct seen *seen, uint32_t *next_era, struct dcm_error *err)
{
	const struct manifest_extra *extra = manifest__extra(m, EXTRA_STORE);
	const struct manifest_extra *once = manifest__extra(m, EXTRA_ONCE);

	if (!extra)
		return 0;
	if (extra->n < HEAD_BYTES || get_all(extra->bytes, extra->n, seen) ||
	    (once && get_once(once, seen)))
		return error__set(
			err, -EUCLEAN,
			"the manifest's list of batches is not one; restore it from a backup");
	*next_era = le__get32(extra->bytes);
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
