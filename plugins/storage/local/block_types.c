/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/local/block_types.c - which types a block has, and how much of each
 */
#include "plugins/storage/local/block_types.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "plugins/storage/local/eras.h"

static int by_number(const void *a, const void *b)
{
	const struct block_type *x = a, *y = b;

	return (x->type > y->type) - (x->type < y->type);
}

/* One entry for each type of each chunk, or for several that follow each other. */
static void list_all(const struct block *b, block_type_list *to)
{
	for (uint64_t i = 0; i < b->info.n_chunks; i++) {
		const struct chunk_entry *c = &b->chunks[i];
		const uint64_t end = (uint64_t)c->first_type + c->n_types;

		for (uint64_t k = c->first_type; k < end && k < b->n_types; k++) {
			const struct block_type t = { .type = b->types[k].type,
						      .bytes = chunk_entry__bytes(c) / c->n_types };

			if (to->n && to->v[to->n - 1].type == t.type)
				to->v[to->n - 1].bytes += t.bytes;
			else if (to->n < b->n_types)
				to->v[to->n++] = t;
		}
	}
}

int block__types(const struct block *b, block_type_list *ret)
{
	size_t n = 0;

	if (!vec__reserve(ret, b->n_types ? b->n_types : 1))
		return -ENOMEM;
	list_all(b, ret);
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(ret->v[0]), by_number);
	for (size_t i = 0; i < ret->n; i++) {
		if (n && ret->v[n - 1].type == ret->v[i].type)
			ret->v[n - 1].bytes += ret->v[i].bytes;
		else
			ret->v[n++] = ret->v[i];
	}
	ret->n = n;
	return 0;
}

void block_types__free(struct block_types *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->list.n; i++)
		free(t->list.v[i].text);
	vec__fini(&t->list);
	free(t);
}

/* With the store's lock. */
static int name_types(struct block_types *t, const struct dict *d)
{
	const uint32_t n = dict__counts(d).types;

	for (size_t i = 0; i < t->list.n; i++) {
		struct block_type *type = &t->list.v[i];

		if (type->type >= n || dict__lacks_type(d, type->type))
			continue;
		const struct dcm_str text = dict__type_at(d, type->type)->text;
		type->text = mem__dup_str(text.p, text.n);
		if (!type->text)
			return -ENOMEM;
	}
	return 0;
}

/* The block's directory was whole before and after it was read: nothing of it was lost meanwhile. */
static int list_types(struct stored *b, struct block_types *t)
{
	block_type_list all = { 0 };
	const struct block *block;
	int r = stored__block(b, &block, NULL);

	if (r == 0)
		r = block__types(block, &all);
	if (r == 0)
		r = stored__block(b, &block, NULL);
	if (r == 0 && !vec__reserve(&t->list, all.n))
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < all.n; i++) /* few, of many entries */
		t->list.v[t->list.n++] = all.v[i];
	vec__fini(&all);
	return r;
}

/* Blocks of one era come one after the other, as a rule. */
static int find_era(struct store *s, uint32_t number, struct era **last)
{
	if (*last && (*last)->number == number)
		return 0;
	era__unref(*last);
	*last = NULL;
	eras__trim(s); /* it may have come for this alone */
	return store__era(s, number, last, NULL);
}

static int read_types(struct store *s, struct stored *b, struct era **last, struct block_types *t)
{
	int r = list_types(b, t);

	if (r == 0)
		r = find_era(s, b->entry.era, last);
	if (r)
		return r;
	pthread_rwlock_rdlock(&s->lock);
	r = name_types(t, (*last)->dict);
	pthread_rwlock_unlock(&s->lock);
	return r;
}

int block_types__get(struct store *s, struct stored *b, struct era **last, const struct block_types **ret)
{
	if (!b->types) {
		struct block_types *t = NEW(struct block_types);
		const int r = t ? read_types(s, b, last, t) : -ENOMEM;

		if (r) {
			block_types__free(t);
			return r;
		}
		b->types = t;
	}
	*ret = b->types;
	return 0;
}
