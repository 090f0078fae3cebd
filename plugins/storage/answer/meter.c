/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/answer/meter.c - counts rows and bytes, and looks at the clock
 */
#include "plugins/storage/answer/meter.h"

#include <errno.h>
#include <inttypes.h>

#include "core/base/error.h"

/* Rows between two looks at the clock: well below a millisecond's work. */
enum { METER_ROWS = 32768 };

int meter__look(const struct dcm_host *host, const struct dcm_budget *budget)
{
	if (!budget)
		return 0;
	if (atomic_load_explicit(&budget->cancelled, memory_order_relaxed))
		return -ECANCELED;
	if (budget->deadline_mono_ns == 0)
		return 0;
	return host->mono_ns(host) > budget->deadline_mono_ns ? -ETIMEDOUT : 0;
}

int meter__rows(struct meter *m, uint64_t n)
{
	struct dcm_budget *b = m->budget;

	if (!b)
		return 0;
	atomic_fetch_add_explicit(&b->done, n, memory_order_relaxed);
	m->counted += n;
	if (atomic_load_explicit(&b->cancelled, memory_order_relaxed))
		return -ECANCELED;
	/* The first call looks at once. */
	if (m->unread > n) {
		m->unread -= n + 1;
		return 0;
	}
	m->unread = METER_ROWS;
	return meter__look(m->host, b);
}

void meter__total(struct meter *m, uint64_t n)
{
	if (m->budget)
		atomic_fetch_add_explicit(&m->budget->total, n, memory_order_relaxed);
}

void meter__done(struct meter *m, uint64_t n)
{
	if (m->budget && n > m->counted)
		atomic_fetch_add_explicit(&m->budget->done, n - m->counted, memory_order_relaxed);
}

int meter__hold(struct meter *m, uint64_t bytes)
{
	const uint64_t more = bytes - m->bytes; /* less is as good */
	const uint64_t all = m->held ? atomic_fetch_add_explicit(m->held, more, memory_order_relaxed) + more
				     : bytes;

	m->bytes = bytes;
	return m->budget && m->budget->max_bytes && all > m->budget->max_bytes ? -E2BIG : 0;
}

int meter__explain(int r, const struct dcm_budget *budget, struct dcm_error *err)
{
	switch (r) {
	case -ENOMEM:
		return error__nomem(err);
	case -ECANCELED:
		return error__set(err, r, "the question was cancelled");
	case -ETIMEDOUT:
		return error__set(
			err, r, "the question was not answered before its deadline; ask for a shorter range");
	case -E2BIG:
		return error__set(err, r, "the answer needs more than its budget of %" PRIu64 " bytes",
				  budget ? budget->max_bytes : 0);
	}
	return r;
}
