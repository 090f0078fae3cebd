/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/stats/drops.c - the ledger of losses, and the rate at which people hear of them
 *
 * Pairs (instance, reason) stand in an open-addressing table of pointers that is at most half full
 * and never loses one: a reader probes it with acquire loads and no lock, a new pair is published
 * under the registry's mutex with a release store. Reports are taken from the totals by another
 * thread, so that the threads that lose data do nothing but add, and wake it the first time.
 */
#include "core/stats/stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/stats/registry.h"

#define REPORT_EVERY_NS ((int64_t)10 * 1000000000)

struct pair {
	struct dcm_str instance, reason;
	uint64_t hash;
};

static struct dcm_str cut(const char *text)
{
	size_t n = strnlen(text, DROP_TEXT_MAX + 1);

	if (n > DROP_TEXT_MAX)
		n = str__utf8_cut(text, DROP_TEXT_MAX);
	return (struct dcm_str){ text, (uint32_t)n };
}

static struct pair pair_of(const char *instance, const char *reason)
{
	struct pair p = { .instance = cut(instance), .reason = cut(reason) };

	p.hash = hash__bytes(p.reason.p, p.reason.n, hash__bytes(p.instance.p, p.instance.n, 0));
	return p;
}

static struct drop *find(const struct drop_table *t, const struct pair *p)
{
	struct drop *d;

	for (uint32_t at = (uint32_t)p->hash & (t->cap - 1);; at = (at + 1) & (t->cap - 1)) {
		d = atomic_load_explicit(&t->slots[at], memory_order_acquire);
		if (!d)
			return NULL;
		if (d->hash == p->hash && str__eq(str__of(d->instance), p->instance) &&
		    str__eq(str__of(d->reason), p->reason))
			return d;
	}
}

static void publish(struct drop_table *t, struct drop *d)
{
	uint32_t at = (uint32_t)d->hash & (t->cap - 1);

	while (atomic_load_explicit(&t->slots[at], memory_order_relaxed))
		at = (at + 1) & (t->cap - 1);
	atomic_store_explicit(&t->slots[at], d, memory_order_release);
	t->n++;
}

/* A pair and its series, with the mutex held; NULL when there is no room or memory for it. */
static struct drop *add(struct stats *s, const struct pair *p)
{
	struct stats_def def = {
		.kind = STATS_COUNTER,
		.name = "decima_dropped_total",
		.help = "Things that were lost, by instance and reason; the reason says what.",
	};
	struct drop *d = find(&s->drops, p); /* another thread may have been first */

	if (d)
		return d;
	if (s->drops.n >= s->drops.max)
		return NULL;
	d = NEW(struct drop);
	if (!d)
		return NULL;
	d->hash = p->hash;
	memcpy(d->instance, p->instance.p, p->instance.n);
	memcpy(d->reason, p->reason.p, p->reason.n);
	if (registry__add(s, &def, STATS_LABELS({ "instance", d->instance }, { "reason", d->reason }),
			  &d->metric)) {
		free(d);
		return NULL;
	}
	publish(&s->drops, d);
	return d;
}

int drops__init(struct stats *s, uint32_t max_drops)
{
	struct pair other = pair_of("other", "other");
	uint32_t cap = 16;

	while (cap / 2 < max_drops + 1)
		cap *= 2;
	s->drops.max = max_drops + 1;
	s->drops.cap = cap;
	s->drops.slots = mem__zalloc(cap, sizeof(*s->drops.slots));
	if (!s->drops.slots)
		return -ENOMEM;
	s->drops.other = add(s, &other);
	return s->drops.other ? 0 : -ENOMEM;
}

void drops__fini(struct stats *s)
{
	for (uint32_t i = 0; s->drops.slots && i < s->drops.cap; i++)
		free(atomic_load_explicit(&s->drops.slots[i], memory_order_relaxed));
	free(s->drops.slots);
}

void stats__drop(struct stats *s, const char *instance, const char *reason, uint64_t n)
{
	struct pair p = pair_of(instance, reason);
	struct drop *d = find(&s->drops, &p);

	if (!d) {
		pthread_mutex_lock(&s->mutex);
		d = add(s, &p);
		pthread_mutex_unlock(&s->mutex);
	}
	if (!d)
		d = s->drops.other;
	stats__counter_add(d->metric, n);
	/* Whoever takes the mark away sees what was added: one exchange reads the other's. */
	if (n && !atomic_exchange(&d->is_told, true) && s->on_loss)
		s->on_loss(s->on_loss_ctx);
}

void stats__on_loss(struct stats *s, void (*fn)(void *ctx), void *ctx)
{
	s->on_loss = fn;
	s->on_loss_ctx = ctx;
}

/*
 * Whether d is due, and what to say about it; takes note that it was said. When it is not due yet,
 * *next is at most when it is. With the mutex held.
 */
static bool take_loss(struct drop *d, int64_t now_ns, bool flush, struct stats_loss *ret, int64_t *next)
{
	int64_t due_ns = d->was_reported ? d->reported_ns + REPORT_EVERY_NS : now_ns;
	uint64_t total;

	(void)atomic_exchange(&d->is_told, false);
	total = atomic_load(&d->metric->value);
	if (total == d->n_reported)
		return false;
	if (!flush && now_ns < due_ns) {
		atomic_store(&d->is_told, true);
		*next = due_ns < *next ? due_ns : *next;
		return false;
	}
	*ret = (struct stats_loss){
		.instance = d->instance,
		.reason = d->reason,
		.n = total - d->n_reported,
		.total = total,
	};
	d->n_reported = total;
	d->reported_ns = now_ns;
	d->was_reported = true;
	return true;
}

int64_t stats__report_losses(struct stats *s, int64_t now_ns, bool flush, stats_loss_fn fn, void *ctx)
{
	int64_t next = INT64_MAX;

	for (uint32_t i = 0; i < s->drops.cap; i++) {
		struct drop *d = atomic_load_explicit(&s->drops.slots[i], memory_order_acquire);
		struct stats_loss loss;
		bool due;

		if (!d)
			continue;
		pthread_mutex_lock(&s->mutex);
		due = take_loss(d, now_ns, flush, &loss, &next);
		pthread_mutex_unlock(&s->mutex);
		if (due)
			fn(ctx, &loss); /* unlocked: writing a line may block */
	}
	return next;
}

static void log_loss(void *ctx, const struct stats_loss *loss)
{
	log__line(ctx, DCM_LOG_WARNING, loss->instance, "lost %llu (%s), %llu since the start",
		  (unsigned long long)loss->n, loss->reason, (unsigned long long)loss->total);
}

int64_t stats__log_losses(struct stats *s, int64_t now_ns, bool flush, const struct log *log)
{
	return stats__report_losses(s, now_ns, flush, log_loss, (void *)log);
}
