/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/learned.c - what (build id, address) was once found to be
 *
 * About 60 bytes an address beside the texts, which are shared within a generation.
 * Threads: the owner's lock. Limits: max_bytes, of both generations together.
 */
#include "core/symbolize/learned.h"

#include <errno.h>

#include "core/base/str.h"

static int generation_init(struct learned_generation *g)
{
	*g = (struct learned_generation){ 0 };
	return intern__init(&g->texts);
}

static void generation_fini(struct learned_generation *g)
{
	intern__fini(&g->texts);
	hindex__fini(&g->index);
	vec__fini(&g->entries);
}

static uint64_t generation_bytes(const struct learned_generation *g)
{
	return g->texts.arena.total_bytes + g->texts.cap * sizeof(*g->texts.texts) +
	       (uint64_t)(g->texts.index.cap + g->index.cap) * sizeof(*g->index.slots) +
	       g->entries.cap * sizeof(*g->entries.v);
}

int learned__init(struct learned *l, uint64_t max_bytes)
{
	int rc;

	*l = (struct learned){ .max_bytes = max_bytes };
	rc = generation_init(&l->young);
	return rc ? rc : generation_init(&l->old);
}

void learned__fini(struct learned *l)
{
	generation_fini(&l->young);
	generation_fini(&l->old);
}

uint64_t learned__bytes(const struct learned *l)
{
	return generation_bytes(&l->young) + generation_bytes(&l->old);
}

static uint64_t hash_of(const struct learned_key *key)
{
	return hash__mix(hash__mix(key->hash, key->address), key->addr_kind);
}

static const struct learned_entry *find(const struct learned_generation *g, const struct learned_key *key)
{
	uint64_t h = hash_of(key);
	uint32_t row, at;

	if (g->entries.n == 0)
		return NULL;
	at = hindex__first(&g->index, h, &row);
	for (; row != HINDEX_NONE; at = hindex__next(&g->index, h, at, &row)) {
		const struct learned_entry *e = &g->entries.v[row];

		if (e->address == key->address && e->addr_kind == key->addr_kind &&
		    str__eq(intern__text(&g->texts, e->build_id), key->build_id))
			return e;
	}
	return NULL;
}

static void name_of(const struct learned_generation *g, const struct learned_entry *e,
		    struct learned_name *ret)
{
	*ret = (struct learned_name){ intern__text(&g->texts, e->name),
				      intern__text(&g->texts, e->system_name), e->why };
}

static int insert(struct learned_generation *g, const struct learned_key *key,
		  const struct learned_name *name)
{
	struct learned_entry e = {
		.address = key->address,
		.build_id = intern__add(&g->texts, key->build_id),
		.name = intern__add(&g->texts, name->name),
		.system_name = intern__add(&g->texts, name->system_name),
		.addr_kind = key->addr_kind,
		.why = name->why,
	};

	if (e.build_id == INTERN_NONE || e.name == INTERN_NONE || e.system_name == INTERN_NONE ||
	    g->entries.n >= HINDEX_NONE - 2 || !vec__push(&g->entries, e))
		return -ENOMEM;
	if (hindex__insert(&g->index, hash_of(key), (uint32_t)(g->entries.n - 1))) {
		g->entries.n--;
		return -ENOMEM;
	}
	return 0;
}

/*
 * The young generation grows old when it has its half. That comes after an insertion, so that texts
 * of the old one may be inserted into the young one, and what was inserted is still there
 * afterwards.
 */
static void age(struct learned *l)
{
	struct learned_generation fresh;

	if (generation_bytes(&l->young) < l->max_bytes / 2)
		return;
	if (generation_init(&fresh)) {
		generation_fini(&fresh);
		return;
	}
	generation_fini(&l->old);
	l->old = l->young;
	l->young = fresh;
}

bool learned__find(struct learned *l, const struct learned_key *key, struct learned_name *ret)
{
	const struct learned_entry *e = find(&l->young, key);

	if (e) {
		name_of(&l->young, e, ret);
		return true;
	}
	e = find(&l->old, key);
	if (!e)
		return false;
	name_of(&l->old, e, ret);
	if (insert(&l->young, key, ret) == 0) {
		name_of(&l->young, &l->young.entries.v[l->young.entries.n - 1], ret);
		age(l);
	}
	return true;
}

int learned__add(struct learned *l, const struct learned_key *key, const struct learned_name *name)
{
	int rc = find(&l->young, key) ? 0 : insert(&l->young, key, name);

	age(l);
	return rc;
}
