/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/stacks.c - stacks as a trie that grows from the root
 *
 * Most stacks differ from one that is known in their last few frames only, so a new one costs a
 * node for each of these. Most nodes have one child at most, which stands in them; only further
 * children are in an index, so a new branch is written down without being looked up.
 *
 * A stack that is known is found without a walk: by a 64-bit hash of its locations, mixed with a
 * secret of the dictionary so that nobody who sends stacks can make two of them meet. It grows from
 * the root by a frame at a time, so that stacks which begin alike share the work, too. Of a million
 * stacks two share one by chance in one of 37 million dictionaries; two of equal hash and depth are
 * held equal.
 */
#include "plugins/storage/dict/dict.h"

#include <errno.h>

/* Deeper than any batch's: only a record that lies has such. */
enum { MAX_DEPTH = 4096 };

void dict__stack_locations(const struct dict *d, const struct dict_stack *stack, uint32_t *ret)
{
	uint32_t at = stack->leaf;

	for (uint32_t i = 0; i < stack->n; i++) {
		const struct dict_node *node = dict__node_at(d, at);

		ret[i] = node->location;
		at = node->parent;
	}
}

/* The child of a parent that has others: DCM_NONE when it is not there. */
static uint32_t find_child(const struct dict *d, uint64_t hash, uint32_t parent, uint32_t location)
{
	uint32_t row, at = hindex__first(&d->node_index, hash, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->node_index, hash, at, &row)) {
		const struct dict_node *node = dict__node_at(d, row);

		if (node->parent == parent && node->location == location)
			return row;
	}
	return DCM_NONE;
}

/* A new node; where it hangs is the caller's. */
static uint32_t push_node(struct dict *d, uint32_t parent, uint32_t location)
{
	struct dict_node *node = POOL_PUSH(&d->nodes, struct dict_node);

	if (!node)
		return DCM_NONE;
	*node = (struct dict_node){ .parent = parent, .location = location };
	return d->nodes.n;
}

uint32_t dict__node(struct dict *d, uint32_t parent, uint32_t location)
{
	struct dict_node *above = parent == DCM_NONE ? NULL
						     : POOL_AT(&d->nodes, struct dict_node, parent);

	if (above && above->child == 0) {
		uint32_t id = push_node(d, parent, location);

		if (id != DCM_NONE) {
			above->child = id;
			d->nodes.n++;
		}
		return id;
	}
	if (above && dict__node_at(d, above->child)->location == location)
		return above->child;
	const uint64_t h = hash__mix(hash__mix(0, parent), location);
	const uint32_t known = find_child(d, h, parent, location);

	if (known != DCM_NONE)
		return known;
	return push_node(d, parent, location) == DCM_NONE ? DCM_NONE
							  : dict__admit(&d->nodes, &d->node_index, h);
}

static uint64_t stack_hash(const struct dict *d, const uint32_t *locations, uint32_t n)
{
	uint64_t h = dict__chain_begin(d);

	while (n--)
		h = dict__chain(d, h, locations[n]);
	return h;
}

uint32_t dict__find_stack(const struct dict *d, uint64_t hash, uint32_t n)
{
	uint32_t row, at = hindex__first(&d->stack_index, hash, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->stack_index, hash, at, &row)) {
		const struct dict_stack *s = dict__stack_at(d, row);

		if (s->hash == hash && s->n == n)
			return row;
	}
	return DCM_NONE;
}

uint32_t dict__add_stack(struct dict *d, uint64_t hash, uint32_t leaf, uint32_t n)
{
	struct dict_stack *entry = POOL_PUSH(&d->stacks, struct dict_stack);

	if (!entry)
		return DCM_NONE;
	*entry = (struct dict_stack){ .hash = hash, .leaf = leaf, .n = n };
	return dict__admit(&d->stacks, &d->stack_index, hash);
}

void dict__fetch_stack(const struct dict *d, uint64_t hash)
{
	uint32_t row;

	hindex__first(&d->stack_index, hash, &row);
	if (row != HINDEX_NONE)
		__builtin_prefetch(dict__stack_at(d, row));
}

/* How many frames from the root on are the path's. */
static uint32_t n_shared(const struct dict_path *path, const uint32_t *locations, uint32_t n)
{
	uint32_t i = 0;

	while (i < path->n && i < n && path->locations[i] == locations[n - 1 - i])
		i++;
	return i;
}

uint32_t dict__new_stack(struct dict *d, const uint32_t *locations, uint32_t n, uint64_t hash,
			 struct dict_path *path)
{
	path->n = n_shared(path, locations, n);
	uint32_t leaf = path->n ? path->nodes[path->n - 1] : DCM_NONE;
	for (uint32_t i = path->n; i < n; i++) {
		leaf = dict__node(d, leaf, locations[n - 1 - i]);
		if (leaf == DCM_NONE)
			return DCM_NONE;
		if (i >= DICT_PATH_MAX)
			continue;
		path->locations[i] = locations[n - 1 - i];
		path->nodes[i] = leaf;
		path->n = i + 1;
	}
	return dict__add_stack(d, hash, leaf, n);
}

uint32_t dict__stack(struct dict *d, const uint32_t *locations, uint32_t n)
{
	const uint64_t hash = stack_hash(d, locations, n);
	const uint32_t known = dict__find_stack(d, hash, n);
	struct dict_path path;

	path.n = 0;
	return known != DCM_NONE ? known : dict__new_stack(d, locations, n, hash, &path);
}

/*
 * By its leaf: stacks whose callers were lost (dict__fill()) look alike, and are as many as they
 * were.
 */
static uint32_t find_leaf(const struct dict *d, uint64_t hash, uint32_t leaf)
{
	uint32_t row, at = hindex__first(&d->stack_index, hash, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->stack_index, hash, at, &row))
		if (dict__stack_at(d, row)->leaf == leaf)
			return row;
	return DCM_NONE;
}

/* The frames of one stack after the other: those that two have in common are gone through once. */
struct climb {
	uint32_t n;
	uint32_t nodes[MAX_DEPTH];  /* [n] from the root on */
	uint64_t hashes[MAX_DEPTH]; /* of the stacks that end there */
};

static uint64_t hash_of(const struct dict *d, const struct climb *c)
{
	return c->n ? c->hashes[c->n - 1] : dict__chain_begin(d);
}

/* A node's number is larger than its caller's, so both ways are gone up side by side. */
static int climb(const struct dict *d, uint32_t leaf, struct climb *c)
{
	uint32_t fresh[MAX_DEPTH], n_fresh = 0, shared = c->n;

	for (uint32_t at = leaf; at != DCM_NONE; at = dict__node_at(d, at)->parent) {
		while (shared && c->nodes[shared - 1] > at)
			shared--;
		if (shared && c->nodes[shared - 1] == at)
			break;
		if (n_fresh == MAX_DEPTH)
			return -EBADMSG;
		fresh[n_fresh++] = at;
	}
	if (n_fresh && dict__node_at(d, fresh[n_fresh - 1])->parent == DCM_NONE)
		shared = 0;
	c->n = leaf == DCM_NONE ? 0 : shared;
	if (c->n + n_fresh > MAX_DEPTH)
		return -EBADMSG;
	for (uint64_t h = hash_of(d, c); n_fresh; c->n++) {
		c->nodes[c->n] = fresh[--n_fresh];
		h = dict__chain(d, h, dict__node_at(d, fresh[n_fresh])->location);
		c->hashes[c->n] = h;
	}
	return 0;
}

/* A leaf that comes, and of one that comes sooner, which is there by now, the caller. */
static void fetch_ahead(const struct dict *d, const uint32_t *leaves, uint32_t i, uint32_t n)
{
	enum { SOON = 8, LATER = 16 };

	if (i + LATER < n && leaves[i + LATER] != DCM_NONE)
		__builtin_prefetch(dict__node_at(d, leaves[i + LATER]));
	if (i + SOON >= n || leaves[i + SOON] == DCM_NONE)
		return;
	const uint32_t parent = dict__node_at(d, leaves[i + SOON])->parent;

	if (parent != DCM_NONE)
		__builtin_prefetch(dict__node_at(d, parent));
}

int dict__stacks_of_leaves(struct dict *d, const uint32_t *leaves, uint32_t n, uint32_t *ret)
{
	enum { RUN = 64 };
	uint64_t hashes[RUN];
	uint32_t depths[RUN];
	struct climb c;

	c.n = 0;
	for (uint32_t first = 0; first < n; first += RUN) {
		const uint32_t end = n - first < RUN ? n : first + RUN;

		for (uint32_t i = first; i < end; i++) {
			fetch_ahead(d, leaves, i, n);
			if (climb(d, leaves[i], &c) < 0)
				return -EBADMSG;
			depths[i - first] = c.n;
			hashes[i - first] = hash_of(d, &c);
			hindex__prefetch(&d->stack_index, hashes[i - first]);
		}
		for (uint32_t i = first; i < end; i++) {
			const uint32_t known = find_leaf(d, hashes[i - first], leaves[i]);

			ret[i] = known != DCM_NONE ? known
						   : dict__add_stack(d, hashes[i - first],
								     leaves[i], depths[i - first]);
			if (ret[i] == DCM_NONE)
				return -ENOMEM;
		}
	}
	return 0;
}
