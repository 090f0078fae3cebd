/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/learned.c - what (build id, address) was once found to be
 *
 * About 80 bytes an address and line beside the texts, which are shared within a generation.
 * Threads: the owner's lock. Limits: max_bytes, of both generations together.
 */
#include "core/symbolize/learned.h"

#include <errno.h>

#include "core/base/str.h"

int learned_set__init(struct learned_set *g)
{
	*g = (struct learned_set){ 0 };
	return intern__init(&g->texts);
}

void learned_set__fini(struct learned_set *g)
{
	intern__fini(&g->texts);
	hindex__fini(&g->index);
	vec__fini(&g->entries);
	vec__fini(&g->lines);
}

uint64_t learned_set__bytes(const struct learned_set *g)
{
	return intern__bytes(&g->texts) + (uint64_t)g->index.cap * sizeof(*g->index.slots) +
	       g->entries.cap * sizeof(*g->entries.v) + g->lines.cap * sizeof(*g->lines.v);
}

int learned__init(struct learned_names *l, uint64_t max_bytes)
{
	int rc;

	*l = (struct learned_names){ .max_bytes = max_bytes };
	rc = learned_set__init(&l->young);
	return rc ? rc : learned_set__init(&l->old);
}

void learned__fini(struct learned_names *l)
{
	learned_set__fini(&l->young);
	learned_set__fini(&l->old);
}

uint64_t learned__bytes(const struct learned_names *l)
{
	return learned_set__bytes(&l->young) + learned_set__bytes(&l->old);
}

static uint64_t hash_of(const struct learned_key *key)
{
	return hash__mix(hash__mix(key->hash, key->address), key->addr_kind);
}

static struct learned_entry *find(const struct learned_set *g, const struct learned_key *key)
{
	uint64_t h = hash_of(key);
	uint32_t row, at;

	if (g->entries.n == 0)
		return NULL;
	at = hindex__first(&g->index, h, &row);
	for (; row != HINDEX_NONE; at = hindex__next(&g->index, h, at, &row)) {
		struct learned_entry *e = &g->entries.v[row];

		if (e->address == key->address && e->addr_kind == key->addr_kind &&
		    str__eq(intern__text(&g->texts, e->build_id), key->build_id))
			return e;
	}
	return NULL;
}

struct learned learned_set__found(const struct learned_set *g, const struct learned_entry *e)
{
	return (struct learned){
		.n = e->n, .why = e->why, .asked = e->asked, .rank = e->rank, .in = g, .first = e->first
	};
}

struct learned_line learned__line(const struct learned *f, uint32_t i)
{
	const struct learned_stored *s;
	const struct intern *t;

	if (f->lines)
		return f->lines[i];
	s = &f->in->lines.v[f->first + i];
	t = &f->in->texts;
	return (struct learned_line){ intern__text(t, s->name), intern__text(t, s->system_name),
				      intern__text(t, s->file), s->line, s->start_line };
}

bool learned_set__has_better(const struct learned_set *g, const struct learned_key *key,
			     const struct learned *than)
{
	const struct learned_entry *e = find(g, key);

	return e && !str__starts(key->build_id, STR("~")) && e->asked > than->asked &&
	       e->rank >= than->rank;
}

static int store_line(struct learned_set *g, struct learned_stored s)
{
	return g->lines.n >= UINT32_MAX || !vec__push(&g->lines, s) ? -ENOMEM : 0;
}

static int store_lines(struct learned_set *g, const struct learned *what)
{
	for (uint32_t i = 0; i < what->n; i++) {
		struct learned_line l = learned__line(what, i);
		struct learned_stored s = { intern__add(&g->texts, l.name),
					    intern__add(&g->texts, l.system_name),
					    intern__add(&g->texts, l.file), l.line, l.start_line };

		if (s.name == INTERN_NONE || s.system_name == INTERN_NONE ||
		    s.file == INTERN_NONE || store_line(g, s))
			return -ENOMEM;
	}
	return 0;
}

bool learned_set__find(const struct learned_set *g, const struct learned_key *key, struct learned *ret)
{
	const struct learned_entry *e = find(g, key);

	if (e)
		*ret = learned_set__found(g, e);
	return e != NULL;
}

/* Its lines are there, from `first` on. */
static int insert_entry(struct learned_set *g, const struct learned_key *key,
			const struct learned *what, uint32_t first)
{
	struct learned_entry e = {
		.address = key->address,
		.build_id = intern__add(&g->texts, key->build_id),
		.first = first,
		.n = (uint16_t)what->n,
		.addr_kind = key->addr_kind,
		.why = what->why,
		.asked = what->asked,
		.rank = what->rank,
	};
	struct learned_entry *old = find(g, key);

	if (e.build_id == INTERN_NONE)
		return -ENOMEM;
	if (old) {
		*old = e;
		return 0;
	}
	if (g->entries.n >= HINDEX_NONE - 2 || !vec__push(&g->entries, e))
		return -ENOMEM;
	if (hindex__insert(&g->index, hash_of(key), (uint32_t)(g->entries.n - 1))) {
		g->entries.n--;
		return -ENOMEM;
	}
	return 0;
}

int learned_set__insert(struct learned_set *g, const struct learned_key *key, const struct learned *what)
{
	uint32_t first = (uint32_t)g->lines.n;

	return store_lines(g, what) ? -ENOMEM : insert_entry(g, key, what, first);
}

int learned_set__insert_stored(struct learned_set *g, const struct learned_key *key,
			       const struct learned *what, const struct learned_stored *lines)
{
	uint32_t first = (uint32_t)g->lines.n;

	for (uint32_t i = 0; i < what->n; i++)
		if (store_line(g, lines[i]))
			return -ENOMEM;
	return insert_entry(g, key, what, first);
}

/*
 * The young generation grows old when it has its half. That comes after an insertion, so that texts
 * of the old one may be inserted into the young one, and what was inserted is still there
 * afterwards.
 */
static void age(struct learned_names *l)
{
	struct learned_set fresh;

	if (learned_set__bytes(&l->young) < l->max_bytes / 2)
		return;
	if (learned_set__init(&fresh)) {
		learned_set__fini(&fresh);
		return;
	}
	learned_set__fini(&l->old);
	l->old = l->young;
	l->young = fresh;
}

bool learned__find(struct learned_names *l, const struct learned_key *key, struct learned *ret)
{
	const struct learned_entry *e = find(&l->young, key);

	if (e) {
		*ret = learned_set__found(&l->young, e);
		return true;
	}
	e = find(&l->old, key);
	if (!e)
		return false;
	*ret = learned_set__found(&l->old, e);
	if (learned_set__insert(&l->young, key, ret) == 0) {
		/* What grows old keeps its address in the struct that holds it: look again. */
		age(l);
		e = find(&l->young, key);
		*ret = e ? learned_set__found(&l->young, e)
			 : learned_set__found(&l->old, find(&l->old, key));
	}
	return true;
}

int learned__add(struct learned_names *l, const struct learned_key *key, const struct learned *what)
{
	int rc = learned_set__insert(&l->young, key, what);

	age(l);
	return rc;
}

static void doubt(struct learned_set *g, struct dcm_str build_id, bool names)
{
	for (size_t i = 0; i < g->entries.n; i++) {
		struct learned_entry *e = &g->entries.v[i];

		if (!str__eq(intern__text(&g->texts, e->build_id), build_id))
			continue;
		e->rank = 0;
		e->asked = 0;
		e->n = names ? 0 : e->n;
		e->why = DCM_UNNAMED_NOT_TRIED;
	}
}

void learned__doubt(struct learned_names *l, struct dcm_str build_id, bool names)
{
	doubt(&l->young, build_id, names);
	doubt(&l->old, build_id, names);
}
