/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/tree_build.c - growing a tree: nodes, members, merges, copies
 *
 * Arrays double in the arena; what they outgrow stays there until the tree goes. Keys of a map are
 * compared through a hash index once it is closed, so that a map of a million keys costs no square.
 */
#include "core/config/tree_build.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/str.h"

int tree__fail(struct dcm_error *err, const struct place *at, const char *fmt, ...)
{
	char line[sizeof(((struct dcm_error *)NULL)->text)], place[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	return error__set(err, -EINVAL, "%s: %s", place__text(at, place), line);
}

int tree__new_node(struct tree *t, enum node_kind kind, const struct place *at,
		   struct node **ret_node, struct dcm_error *err)
{
	if (t->n_nodes == TREE_MAX_NODES)
		return tree__fail(err, at, "more than %u values, aliases written out; split it up",
				  TREE_MAX_NODES);
	struct node *n = arena__zalloc(&t->arena, 1, sizeof(*n));
	if (!n)
		return error__nomem(err);
	n->kind = kind;
	n->at = *at;
	t->n_nodes++;
	*ret_node = n;
	return 0;
}

/* Room for one more element of `size` bytes in v. */
static int grow(struct tree *t, struct node *n, void **v, size_t size, struct dcm_error *err)
{
	if (n->n < n->cap)
		return 0;
	uint32_t cap = n->cap ? n->cap * 2 : 4;
	void *bigger = arena__alloc(&t->arena, cap * size);
	if (!bigger)
		return error__nomem(err);
	if (n->n)
		memcpy(bigger, *v, n->n * size);
	*v = bigger;
	n->cap = cap;
	return 0;
}

int tree__append(struct tree *t, struct node *list, struct node *item, struct dcm_error *err)
{
	int r = grow(t, list, (void **)&list->items, sizeof(*list->items), err);
	if (r)
		return r;
	list->items[list->n++] = item;
	return 0;
}

int tree__put(struct tree *t, struct node *map, const struct member *member, struct dcm_error *err)
{
	int r = grow(t, map, (void **)&map->members, sizeof(*map->members), err);
	if (r)
		return r;
	map->members[map->n++] = *member;
	return 0;
}

static uint32_t find(const struct hindex *ix, const struct node *map, struct dcm_str key, uint64_t h)
{
	uint32_t row, at = hindex__first(ix, h, &row);
	for (; row != HINDEX_NONE; at = hindex__next(ix, h, at, &row))
		if (str__eq(map->members[row].key, key))
			return row;
	return HINDEX_NONE;
}

/* Adds the members of `from` whose keys the map does not have yet; from is a map of this tree. */
static int merge_map(struct tree *t, struct node *map, struct hindex *ix, const struct node *from,
		     struct dcm_error *err)
{
	for (uint32_t i = 0; i < from->n; i++) {
		const struct member *m = &from->members[i];
		uint64_t h = hash__bytes(m->key.p, m->key.n, 0);

		if (find(ix, map, m->key, h) != HINDEX_NONE)
			continue;
		int r = tree__put(t, map, m, err);
		if (r)
			return r;
		if (hindex__insert(ix, h, map->n - 1))
			return error__nomem(err);
	}
	return 0;
}

static int merge(struct tree *t, struct node *map, struct hindex *ix, const struct member *mark,
		 struct dcm_error *err)
{
	const struct node *v = mark->value;
	if (v->kind == NODE_MAP)
		return merge_map(t, map, ix, v, err);
	if (v->kind == NODE_SCALAR)
		return tree__fail(
			err, &v->at, "<< merges a map or a list of maps; write << in quotes for a key");
	for (uint32_t i = 0; i < v->n; i++) {
		if (v->items[i]->kind != NODE_MAP)
			return tree__fail(err, &v->items[i]->at, "<< merges maps only");
		int r = merge_map(t, map, ix, v->items[i], err);
		if (r)
			return r;
	}
	return 0;
}

/* Indexes the written keys; moves the merge mark, if there is one, out of the array. */
static int index_keys(struct node *map, struct hindex *ix, struct member *ret_mark, struct dcm_error *err)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < map->n; i++) {
		const struct member m = map->members[i];
		if (!m.key.p) {
			if (ret_mark->value)
				return tree__fail(err, &m.at,
						  "a second << in one map; make a list of the two");
			*ret_mark = m;
			continue;
		}
		uint64_t h = hash__bytes(m.key.p, m.key.n, 0);
		uint32_t first = find(ix, map, m.key, h);
		if (first != HINDEX_NONE)
			return tree__fail(err, &m.at,
					  "\"%.64s\" stands here twice, first on line %u; keep one",
					  m.key.p, map->members[first].at.line);
		map->members[n] = m;
		if (hindex__insert(ix, h, n++))
			return error__nomem(err);
	}
	map->n = n;
	return 0;
}

int tree__close_map(struct tree *t, struct node *map, struct dcm_error *err)
{
	struct hindex ix = { 0 };
	struct member mark = { 0 };

	int r = index_keys(map, &ix, &mark, err);
	if (!r && mark.value)
		r = merge(t, map, &ix, &mark, err);
	hindex__fini(&ix);
	return r;
}

int tree__copy(struct tree *t, const struct node *from, uint32_t depth, struct node **ret_node,
	       struct dcm_error *err)
{
	struct node *n;
	if (depth >= TREE_MAX_DEPTH && from->kind != NODE_SCALAR)
		return tree__fail(err, &from->at, "nested deeper than %d levels", TREE_MAX_DEPTH);
	int r = tree__new_node(t, from->kind, &from->at, &n, err);
	if (r)
		return r;
	n->plain = from->plain;
	n->text = from->text;
	for (uint32_t i = 0; i < from->n && !r; i++) {
		if (from->kind == NODE_MAP) {
			struct member m = from->members[i];
			r = tree__copy(t, m.value, depth + 1, &m.value, err);
			if (!r)
				r = tree__put(t, n, &m, err);
		} else {
			struct node *item;
			r = tree__copy(t, from->items[i], depth + 1, &item, err);
			if (!r)
				r = tree__append(t, n, item, err);
		}
	}
	if (!r)
		*ret_node = n;
	return r;
}

static bool is_null_text(struct dcm_str s)
{
	return s.n == 0 || str__eq(s, STR("~")) || str__eq(s, STR("null")) ||
	       str__eq(s, STR("Null")) || str__eq(s, STR("NULL"));
}

bool node__is_null(const struct node *n)
{
	return n->kind == NODE_SCALAR && n->plain && is_null_text(n->text);
}

const struct member *tree__member(const struct node *n, struct dcm_str key)
{
	if (!n || n->kind != NODE_MAP)
		return NULL;
	for (uint32_t i = 0; i < n->n; i++)
		if (str__eq(n->members[i].key, key))
			return &n->members[i];
	return NULL;
}

struct node *tree__get(const struct node *n, const char *key)
{
	const struct member *m = tree__member(n, str__of(key));
	return m ? m->value : NULL;
}
