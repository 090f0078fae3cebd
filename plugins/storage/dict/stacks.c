/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/stacks.c - stacks as a trie that grows from the root
 *
 * Most stacks differ from one that is known in their last few frames only, so a new one costs a node for each of these.
 * A stack that is known is found by its hash and settled by walking up from its leaf, which reads as many numbers as
 * comparing two arrays would.
 */
#include "plugins/storage/dict/dict.h"

void dict__stack_locations(const struct dict *d, const struct dict_stack *stack, uint32_t *ret)
{
	uint32_t at = stack->leaf;

	for (uint32_t i = 0; i < stack->n; i++) {
		const struct dict_node *node = dict__node_at(d, at);

		ret[i] = node->location;
		at = node->parent;
	}
}

static bool is_stack(const struct dict *d, const struct dict_stack *stack,
		     const uint32_t *locations, uint32_t n)
{
	uint32_t at = stack->leaf;

	if (stack->n != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct dict_node *node = dict__node_at(d, at);

		if (node->location != locations[i])
			return false;
		at = node->parent;
	}
	return true;
}

uint32_t dict__node(struct dict *d, uint32_t parent, uint32_t location)
{
	const uint64_t h = hash__mix(hash__mix(0, parent), location);
	uint32_t row, at = hindex__first(&d->node_index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&d->node_index, h, at, &row)) {
		const struct dict_node *node = dict__node_at(d, row);

		if (node->parent == parent && node->location == location)
			return row;
	}
	struct dict_node *node = POOL_PUSH(&d->nodes, struct dict_node);
	if (!node)
		return DCM_NONE;
	*node = (struct dict_node){ .parent = parent, .location = location };
	return dict__admit(&d->nodes, &d->node_index, h);
}

static uint32_t add_stack(struct dict *d, uint64_t hash, uint32_t leaf, uint32_t n)
{
	struct dict_stack *entry = POOL_PUSH(&d->stacks, struct dict_stack);
	if (!entry)
		return DCM_NONE;
	*entry = (struct dict_stack){ .hash = hash, .leaf = leaf, .n = n };
	return dict__admit(&d->stacks, &d->stack_index, hash);
}

uint32_t dict__stack(struct dict *d, uint64_t hash, const uint32_t *locations, uint32_t n)
{
	uint32_t row, at = hindex__first(&d->stack_index, hash, &row), leaf = DCM_NONE;

	for (; row != HINDEX_NONE; at = hindex__next(&d->stack_index, hash, at, &row))
		if (is_stack(d, dict__stack_at(d, row), locations, n))
			return row;
	for (uint32_t i = n; i-- > 0;) {
		leaf = dict__node(d, leaf, locations[i]);
		if (leaf == DCM_NONE)
			return DCM_NONE;
	}
	return add_stack(d, hash, leaf, n);
}

uint32_t dict__stack_of_leaf(struct dict *d, uint64_t hash, uint32_t leaf)
{
	uint32_t row, at = hindex__first(&d->stack_index, hash, &row), n = 0;

	for (; row != HINDEX_NONE; at = hindex__next(&d->stack_index, hash, at, &row))
		if (dict__stack_at(d, row)->leaf == leaf)
			return row;
	for (uint32_t node = leaf; node != DCM_NONE; node = dict__node_at(d, node)->parent)
		n++;
	return add_stack(d, hash, leaf, n);
}
