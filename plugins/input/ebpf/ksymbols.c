/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/ksymbols.c - BPF programs that came and went in the kernel, by address
 *
 * A list in the order in which they were heard of, searched from end to end: programs are some
 * hundreds, and hardly any address of the kernel lies between the lowest and the highest of them.
 * Where a program's end is told before its begin, as another CPU's ring may have it, the end is
 * kept without a name until the begin comes.
 * Source: kernel/bpf/core.c and kernel/events/core.c of Linux (perf_event_bpf_event()).
 */
#include "plugins/input/ebpf/ksymbols.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/vec.h"

#define KEEP_ENDED_NS 120000000000ll

struct ksymbol {
	uint64_t start, end;
	int64_t from_ns, until_ns; /* INT64_MAX: it is there */
	char *name;		   /* NULL: only its end was told yet */
};

struct ksymbols {
	pthread_mutex_t lock; /* over all below */
	VEC(struct ksymbol) symbols;
	uint64_t lowest, highest; /* all that were ever told lie between */
};

struct ksymbols *ksymbols__new(void)
{
	struct ksymbols *k = NEW(struct ksymbols);

	if (!k)
		return NULL;
	pthread_mutex_init(&k->lock, NULL);
	k->lowest = UINT64_MAX;
	return k;
}

void ksymbols__free(struct ksymbols *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->symbols.n; i++)
		free(k->symbols.v[i].name);
	vec__fini(&k->symbols);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

static void forget(struct ksymbols *k, size_t i)
{
	free(k->symbols.v[i].name);
	memmove(&k->symbols.v[i], &k->symbols.v[i + 1], (k->symbols.n - i - 1) * sizeof(*k->symbols.v));
	k->symbols.n--;
}

static bool ended_long_before(const struct ksymbol *s, int64_t time_ns)
{
	return s->until_ns < time_ns - KEEP_ENDED_NS;
}

/* In one pass: thousands may have ended since the last record. */
static void forget_ended(struct ksymbols *k, int64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < k->symbols.n; i++) {
		if (ended_long_before(&k->symbols.v[i], now_ns))
			free(k->symbols.v[i].name);
		else
			k->symbols.v[n++] = k->symbols.v[i];
	}
	k->symbols.n = n;
}

/* What ended long ago; when there is no room, the first that ended, or else the oldest of all. */
static void make_room(struct ksymbols *k, int64_t now_ns)
{
	size_t first = 0;

	forget_ended(k, now_ns);
	if (k->symbols.n < KSYMBOLS_MAX)
		return;
	for (size_t i = 1; i < k->symbols.n; i++)
		if (k->symbols.v[i].until_ns < k->symbols.v[first].until_ns)
			first = i;
	forget(k, first);
}

/* Its program is in the list already, or its end comes before its begin. */
static void note_end(struct ksymbols *k, const struct perf_record *r)
{
	struct ksymbol end = { r->start, r->end, r->time_ns, r->time_ns, NULL };

	for (size_t i = 0; i < k->symbols.n; i++) {
		struct ksymbol *s = &k->symbols.v[i];

		if (s->name && s->start == r->start && s->from_ns <= r->time_ns &&
		    s->until_ns > r->time_ns && str__eq(str__of(s->name), r->name)) {
			s->until_ns = r->time_ns;
			return;
		}
	}
	make_room(k, r->time_ns);
	/* Without memory its begin, should that come yet, says more than is so. */
	(void)vec__push(&k->symbols, end);
}

/*
 * When it ends, as far as what was heard says: its own end, or another one at its place later. Ends
 * those that were there before it.
 */
static int64_t end_of(struct ksymbols *k, const struct perf_record *r)
{
	int64_t until_ns = INT64_MAX;

	for (size_t i = 0; i < k->symbols.n; i++) {
		struct ksymbol *s = &k->symbols.v[i];

		if (s->start >= r->end || s->end <= r->start)
			continue;
		if (s->from_ns >= r->time_ns)
			until_ns = s->from_ns < until_ns ? s->from_ns : until_ns;
		else if (s->until_ns > r->time_ns)
			s->until_ns = r->time_ns;
	}
	return until_ns;
}

static void note_begin(struct ksymbols *k, const struct perf_record *r)
{
	struct ksymbol s = { r->start, r->end, r->time_ns, 0, NULL };

	make_room(k, r->time_ns);
	s.until_ns = end_of(k, r);
	s.name = mem__dup_str(r->name.p, r->name.n < KSYMBOLS_NAME ? r->name.n : KSYMBOLS_NAME - 1);
	if (!s.name || !vec__push(&k->symbols, s)) {
		free(s.name);
		return;
	}
	if (r->start < k->lowest)
		k->lowest = r->start;
	if (r->end > k->highest)
		k->highest = r->end;
}

void ksymbols__add(struct ksymbols *k, const struct perf_record *r)
{
	if (r->kind != PERF_RECORD_OF_SYMBOL)
		return;
	pthread_mutex_lock(&k->lock);
	if (r->is_gone)
		note_end(k, r);
	else
		note_begin(k, r);
	pthread_mutex_unlock(&k->lock);
}

bool ksymbols__find(struct ksymbols *k, uint64_t address, int64_t time_ns,
		    char ret_name[static KSYMBOLS_NAME])
{
	const struct ksymbol *best = NULL;

	if (!k)
		return false;
	pthread_mutex_lock(&k->lock);
	if (address >= k->lowest && address < k->highest) {
		for (size_t i = 0; i < k->symbols.n; i++) {
			const struct ksymbol *s = &k->symbols.v[i];

			if (s->name && address >= s->start && address < s->end &&
			    !ended_long_before(s, time_ns) && (!best || s->until_ns > best->until_ns))
				best = s;
		}
	}
	if (best)
		memcpy(ret_name, best->name, strlen(best->name) + 1);
	pthread_mutex_unlock(&k->lock);
	return best;
}
