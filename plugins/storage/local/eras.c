/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/eras.c - which dictionaries are in memory
 */
#include "plugins/storage/local/eras.h"

struct era_how eras__how(const struct store *s)
{
	return (struct era_how){ .vfs = s->vfs, .report = s->options.report, .ctx = s->options.report_ctx };
}

/* With the era's load_lock, so that nobody else puts a dictionary where there is none. */
static int load(struct store *s, struct era *e, bool names_only, struct dcm_error *err)
{
	struct era_how how = eras__how(s);
	struct era_content c = { .dict = NULL };

	how.names_only = names_only;
	pthread_rwlock_rdlock(&s->lock);
	bool there = era__dict(e, how.names_only), final = e->unreadable;
	pthread_rwlock_unlock(&s->lock);
	if (there)
		return 0;
	int r = final ? 0 : era__fetch(e, &how, &c, err);
	pthread_rwlock_wrlock(&s->lock);
	if (c.dict) {
		era__take(e, &c);
		kept__count_heads(s);
	} else if (final) {
		r = era__load(e, &how, err); /* says why */
	} else if (era__is_final(r)) {
		e->unreadable = r;
	}
	pthread_rwlock_unlock(&s->lock);
	return r;
}

int eras__load(struct store *s, struct era *e, bool names_only, struct dcm_error *err)
{
	pthread_mutex_lock(&e->load_lock);
	int r = load(s, e, names_only, err);
	pthread_mutex_unlock(&e->load_lock);
	if (r == 0)
		atomic_store_explicit(&e->told, false, memory_order_relaxed);
	return r;
}

/* Whether only the store's list and its blocks have a reference. With the lock for writing. */
static bool is_idle(const struct store *s, const struct era *e)
{
	uint32_t expected = 1;

	if (!era__can_unload(e))
		return false;
	for (size_t i = 0; i < s->blocks.n; i++)
		expected += s->blocks.v[i]->era == e;
	return atomic_load_explicit(&e->refs, memory_order_acquire) == expected;
}

uint64_t eras__bytes(const struct era *e)
{
	const struct dict *d = era__dict(e, true);

	return d ? dict__bytes(d) + labels__bytes(&d->labels) : 0;
}

/*
 * The one that was not asked for the longest, when dictionaries are too large. With the lock for
 * writing.
 */
static struct era *choose(const struct store *s)
{
	struct era *oldest = NULL;
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->eras.n; i++)
		bytes += eras__bytes(s->eras.v[i]);
	if (s->options.dictionary_max_bytes == 0 || bytes <= s->options.dictionary_max_bytes)
		return NULL;
	for (size_t i = 0; i < s->eras.n; i++) {
		struct era *e = s->eras.v[i];

		if ((!oldest || e->asked_at < oldest->asked_at) && is_idle(s, e))
			oldest = e;
	}
	return oldest;
}

void eras__trim(struct store *s)
{
	struct era *gone;

	do {
		struct era_content c = { .dict = NULL };

		pthread_rwlock_wrlock(&s->lock);
		gone = choose(s);
		if (gone)
			era__unload(gone, &c);
		pthread_rwlock_unlock(&s->lock);
		era_content__fini(&c);
	} while (gone);
}
