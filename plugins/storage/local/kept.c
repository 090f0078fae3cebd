/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/kept.c - how much is in the store, as numbers that whoever changes it keeps
 */
#include "plugins/storage/local/kept.h"

#include "plugins/storage/local/store.h"

static const struct kept_amount nothing = { .first_ms = INT64_MAX, .last_ms = INT64_MIN };

void kept__init(struct kept *k)
{
	pthread_mutex_init(&k->lock, NULL);
	k->numbers = (struct kept_numbers){ .blocks = nothing, .heads = nothing };
}

void kept__fini(struct kept *k)
{
	pthread_mutex_destroy(&k->lock);
}

static void add(struct kept_amount *to, const struct kept_amount *more)
{
	to->bytes += more->bytes;
	to->n_profiles += more->n_profiles;
	to->n_rows += more->n_rows;
	to->first_ms = more->first_ms < to->first_ms ? more->first_ms : to->first_ms;
	to->last_ms = more->last_ms > to->last_ms ? more->last_ms : to->last_ms;
}

static void add_heads(struct kept_amount *to, const struct heads *heads)
{
	for (size_t i = 0; i < heads->n; i++) {
		const struct streams *st = &heads->v[i]->streams;

		add(to, &(struct kept_amount){ streams__bytes(st), st->n_profiles, st->n_rows,
					       heads->v[i]->oldest_ms, st->newest_ms });
	}
}

static void note_dictionaries(struct store *s, struct kept_numbers *n)
{
	for (size_t i = 0; i < s->eras.n; i++) {
		struct era *e = s->eras.v[i];

		if (e->dict)
			e->known = dict__counts(e->dict);
		else if (e->names && e->names->series.n > e->known.series)
			e->known.series = e->names->series.n;
		n->n_series = e->known.series > n->n_series ? e->known.series : n->n_series;
		if (e->known.stacks >= n->n_stacks) {
			n->n_stacks = e->known.stacks;
			n->n_locations = e->known.locations;
		}
	}
}

static void count(struct store *s, const struct kept_amount *blocks)
{
	struct kept_numbers n = { .blocks = *blocks, .heads = nothing, .n_removals = filters__n(s->filters) };

	add_heads(&n.heads, &s->sealing);
	add_heads(&n.heads, &s->active);
	note_dictionaries(s, &n);
	if (!s->only_read) {
		n.retention_ms = s->options.retention_ms;
		n.max_bytes = s->options.max_bytes;
	}
	pthread_mutex_lock(&s->kept.lock);
	s->kept.numbers = n;
	pthread_mutex_unlock(&s->kept.lock);
}

void kept__count_heads(struct store *s)
{
	count(s, &s->kept.numbers.blocks);
}

void kept__count_all(struct store *s)
{
	struct kept_amount blocks = nothing;

	for (size_t i = 0; i < s->blocks.n; i++) {
		const struct manifest_block *e = &s->blocks.v[i]->entry;

		add(&blocks, &(struct kept_amount){ e->bytes, e->n_profiles, e->n_rows, e->first_ms,
						    e->last_ms });
	}
	count(s, &blocks);
}

struct kept_numbers kept__get(struct store *s)
{
	pthread_mutex_lock(&s->kept.lock);
	struct kept_numbers n = s->kept.numbers;
	pthread_mutex_unlock(&s->kept.lock);
	return n;
}

struct kept_amount kept__sum(const struct kept_numbers *n)
{
	struct kept_amount sum = n->blocks;

	add(&sum, &n->heads);
	if (sum.n_profiles == 0)
		sum.first_ms = sum.last_ms = 0;
	return sum;
}
