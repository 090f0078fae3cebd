/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_storage_dict.c - the trie of stacks, held against plain arrays
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "plugins/storage/dict/dict.h"
#include "tests/unit/random.h"

enum { N_STACKS = 3000, MAX_FRAMES = 12, N_LOCATIONS = 5 };
DEFINE_CLEANUP(struct dict *, dict__unref);

static struct {
	uint32_t n, id;
	uint32_t locations[MAX_FRAMES]; /* leaf first */
} stacks[N_STACKS];

static void make_stacks(uint64_t seed)
{
	struct random r = { seed };

	for (uint32_t i = 0; i < N_STACKS; i++) {
		stacks[i].n = (uint32_t)random__below(&r, MAX_FRAMES + 1);
		for (uint32_t k = 0; k < stacks[i].n; k++)
			stacks[i].locations[k] = (uint32_t)random__below(&r, N_LOCATIONS);
	}
}

static struct dict *new_dict(void)
{
	struct dict *d = dict__new();

	assert_non_null(d);
	for (uint32_t i = 0; i < N_LOCATIONS; i++) {
		const struct dcm_location l = { .mapping = DCM_NONE, .process = DCM_NONE, .address = i };

		assert_int_equal(dict__location(d, i, &l, NULL), i);
	}
	return d;
}

static bool same_stack(uint32_t a, uint32_t b)
{
	return stacks[a].n == stacks[b].n &&
	       memcmp(stacks[a].locations, stacks[b].locations, stacks[a].n * sizeof(uint32_t)) == 0;
}

static void each_stack_once(void **state)
{
	(void)state;
	CLEANUP(dict__unrefp) struct dict *d = new_dict();
	uint32_t locations[MAX_FRAMES], n_known = 0;

	make_stacks(1);
	for (uint32_t i = 0; i < N_STACKS; i++) {
		stacks[i].id = dict__stack(d, stacks[i].locations, stacks[i].n);
		assert_true(stacks[i].id <= n_known);
		n_known += stacks[i].id == n_known;
		assert_int_equal(d->stacks.n, n_known);
	}
	for (uint32_t i = 0; i < N_STACKS; i++) {
		const struct dict_stack *s = dict__stack_at(d, stacks[i].id);

		assert_int_equal(s->n, stacks[i].n);
		dict__stack_locations(d, s, locations);
		assert_memory_equal(locations, stacks[i].locations, s->n * sizeof(uint32_t));
		for (uint32_t k = 0; k < i; k++)
			assert_int_equal(stacks[k].id == stacks[i].id, same_stack(k, i));
	}
	assert_true(n_known > N_STACKS / 2 && n_known < N_STACKS);
}

static void each_node_once(void **state)
{
	(void)state;
	CLEANUP(dict__unrefp) struct dict *d = new_dict();

	make_stacks(2);
	for (uint32_t i = 0; i < N_STACKS; i++)
		assert_true(dict__stack(d, stacks[i].locations, stacks[i].n) != DCM_NONE);
	for (uint32_t i = 0; i < d->nodes.n; i++) {
		const struct dict_node *a = dict__node_at(d, i);

		assert_true(a->parent == DCM_NONE || a->parent < i);
		assert_int_equal(dict__node(d, a->parent, a->location), i);
	}
	const uint32_t n_nodes = d->nodes.n;

	for (uint32_t i = 0; i < d->stacks.n; i++) {
		uint32_t id = DCM_NONE;

		assert_int_equal(dict__stack_of_leaf(d, dict__stack_at(d, i)->leaf, &id), 0);
		assert_int_equal(id, i);
	}
	assert_int_equal(d->nodes.n, n_nodes);
}

/* A chain that no batch can have made is refused before it costs anything. */
static void no_stack_without_end(void **state)
{
	(void)state;
	CLEANUP(dict__unrefp) struct dict *d = new_dict();
	uint32_t leaf = DCM_NONE, id = DCM_NONE;

	for (uint32_t i = 0; i < 4096; i++)
		leaf = dict__node(d, leaf, 1);
	assert_int_equal(dict__stack_of_leaf(d, leaf, &id), 0);
	leaf = dict__node(d, leaf, 1);
	assert_int_equal(dict__stack_of_leaf(d, leaf, &id), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stack_once),
		cmocka_unit_test(each_node_once),
		cmocka_unit_test(no_stack_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
