/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_storage_dict.c - the trie of stacks, held against plain arrays, and stacks on
 * their way in and out
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/batch/batch.h"
#include "core/batch/builder.h"
#include "plugins/storage/dict/dict.h"
#include "tests/unit/random.h"

enum { N_STACKS = 3000, MAX_FRAMES = 12, N_LOCATIONS = 5, DEEPEST = 4096 };
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

		assert_int_equal(dict__stacks_of_leaves(d, &dict__stack_at(d, i)->leaf, 1, &id), 0);
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
	assert_int_equal(dict__stacks_of_leaves(d, &leaf, 1, &id), 0);
	leaf = dict__node(d, leaf, 1);
	assert_int_equal(dict__stacks_of_leaves(d, &leaf, 1, &id), -EBADMSG);
}

/* A host that remembers stacks; a location is its address, and something more. */
enum { DEEP = 400, FIRST_LOCATION = 1000, MANY_LOCATIONS = 1000000 };
static struct {
	uint32_t n, n_one_by_one;
	uint32_t lengths[N_STACKS + 2];
	uint32_t locations[N_STACKS + 2][DEEP];
} given;

static uint32_t take_location(struct dcm_builder *b, const struct dcm_location *l,
			      const struct dcm_line *lines, uint32_t n_lines)
{
	(void)b;
	(void)lines;
	assert_int_equal(n_lines, 0);
	return FIRST_LOCATION + (uint32_t)l->address;
}

static uint32_t take_stacks(struct dcm_builder *b, const uint32_t *locations,
			    const uint32_t *n_locations, uint32_t n)
{
	const uint32_t first = given.n;

	(void)b;
	for (uint32_t i = 0; i < n; i++) {
		assert_true(given.n < N_STACKS + 2 && n_locations[i] <= DEEP);
		memcpy(given.locations[given.n], locations, n_locations[i] * sizeof(*locations));
		given.lengths[given.n++] = n_locations[i];
		locations += n_locations[i];
	}
	return first;
}

static uint32_t take_stack(struct dcm_builder *b, const uint32_t *locations, uint32_t n)
{
	given.n_one_by_one++;
	return take_stacks(b, locations, &n, 1);
}

static void assert_given(const struct dict *d, uint32_t stack, uint32_t id)
{
	const struct dict_stack *s = dict__stack_at(d, stack);
	uint32_t locations[DEEP];

	dict__stack_locations(d, s, locations);
	assert_int_equal(given.lengths[id], s->n);
	for (uint32_t i = 0; i < s->n; i++)
		assert_int_equal(given.locations[id][i], FIRST_LOCATION + locations[i]);
}

/* Many at once and one by one, in any order; and so many that what is remembered of their ways begins anew. */
static void stacks_are_given_out(void **state)
{
	(void)state;
	const struct dcm_host host = { .add_location = take_location,
				       .add_stack = take_stack,
				       .add_stacks = take_stacks };
	CLEANUP(dict__unrefp) struct dict *d = new_dict();
	struct random r = { 4 };
	uint32_t deep[DEEP] = { 0 }, order[N_STACKS + 2], ids[N_STACKS + 2], n = 0;
	struct dict_export ex;
	int err = 0;

	make_stacks(3);
	for (uint32_t i = 0; i < N_STACKS; i++)
		dict__stack(d, stacks[i].locations, stacks[i].n);
	dict__stack(d, deep, DEEP - 1);
	dict__stack(d, deep, DEEP);
	for (; n < d->stacks.n; n++) {
		const uint32_t k = (uint32_t)random__below(&r, n + 1);

		order[n] = order[k];
		order[k] = n;
	}
	const struct dict_counts counts = dict__counts(d);
	assert_int_equal(dict_export__init(&ex, d, &counts, &host, NULL), 0);
	for (uint32_t i = 0; i < n / 4; i++)
		assert_given(d, order[i], dict_export__stack(&ex, order[i], &err));
	dict_export__stacks(&ex, order, n, ids, &err);
	assert_int_equal(given.n_one_by_one, n / 4);
	assert_int_equal(given.n, n);
	for (uint32_t i = 0; i < n; i++) {
		assert_given(d, order[i], ids[i]);
		assert_int_equal(dict_export__stack(&ex, order[i], &err), ids[i]);
	}
	assert_int_equal(given.n, n);
	dict_export__fini(&ex);

	/* Nothing is remembered, and nothing touched for it. */
	assert_int_equal(dict_export__init(&ex, d, &counts, &host, NULL), 0);
	ex.stacks_once = true;
	for (uint64_t n_locations = 0; n_locations < MANY_LOCATIONS;) {
		given.n = 0;
		dict_export__stacks(&ex, order, n, ids, &err);
		assert_int_equal(given.n, n);
		for (uint32_t i = 0; i < n; i++) {
			assert_given(d, order[i], ids[i]);
			assert_int_equal(dict_map__get(ex.map.stacks, order[i]), DCM_NONE);
			n_locations += given.lengths[ids[i]];
		}
	}
	assert_int_equal(err, 0);
	dict_export__fini(&ex);
}

/* Does the stack have the same frames in both? Locations are known by their addresses. */
static void assert_same_stack(const struct dict *a, uint32_t in_a, const struct dict *b, uint32_t in_b)
{
	static uint32_t left[DEEPEST], right[DEEPEST];
	const struct dict_stack *x = dict__stack_at(a, in_a), *y = dict__stack_at(b, in_b);

	assert_int_equal(x->n, y->n);
	dict__stack_locations(a, x, left);
	dict__stack_locations(b, y, right);
	for (uint32_t i = 0; i < x->n; i++)
		assert_int_equal(dict__location_at(a, left[i])->address,
				 dict__location_at(b, right[i])->address);
}

/* Many at once, some of them known and some more than once, and such as fill a run alone. */
static void stacks_are_brought_in(void **state)
{
	(void)state;
	CLEANUP(dict__unrefp) struct dict *from = new_dict();
	CLEANUP(dict__unrefp) struct dict *to = dict__new();
	static uint32_t deep[DEEPEST], order[2 * N_STACKS];
	struct random r = { 6 };
	struct dict_import im;

	assert_non_null(to);
	make_stacks(5);
	for (uint32_t i = 0; i < N_STACKS; i++) {
		dict__stack(from, stacks[i].locations, stacks[i].n);
		if (i % (N_STACKS / 4) == 0)
			dict__stack(from, deep, DEEPEST - i / 100);
	}
	assert_int_equal(dict_import__init_dict(&im, to, from), 0);
	for (uint32_t i = 0; i < 2 * N_STACKS; i++)
		order[i] = (uint32_t)random__below(&r, from->stacks.n);
	assert_int_not_equal(dict_import__stack(&im, order[N_STACKS]), DCM_NONE);
	assert_int_equal(dict_import__stacks(&im, order, 2 * N_STACKS), 0);
	const uint32_t n = to->stacks.n;

	for (uint32_t i = 0; i < 2 * N_STACKS; i++)
		assert_same_stack(from, order[i], to, dict_import__stack(&im, order[i]));
	assert_int_equal(to->stacks.n, n);
	for (uint32_t i = 0; i < from->stacks.n; i++)
		assert_int_not_equal(dict_import__stack(&im, i), DCM_NONE);
	assert_int_equal(to->stacks.n, from->stacks.n);
	assert_int_equal(to->nodes.n, from->nodes.n);
	dict_import__fini(&im);

	/* Of a second dictionary, which has them by other numbers, nothing is new. */
	CLEANUP(dict__unrefp) struct dict *other = new_dict();
	for (uint32_t i = N_STACKS; i--;)
		dict__stack(other, stacks[i].locations, stacks[i].n);
	assert_int_equal(dict_import__init_dict(&im, to, other), 0);
	for (uint32_t i = 0; i < other->stacks.n; i++)
		order[i] = i;
	assert_int_equal(dict_import__stacks(&im, order, other->stacks.n), 0);
	for (uint32_t i = 0; i < other->stacks.n; i++)
		assert_same_stack(other, i, to, dict_import__stack(&im, i));
	assert_int_equal(to->stacks.n, from->stacks.n);
	assert_int_equal(to->nodes.n, from->nodes.n);
	dict_import__fini(&im);
}

/* Of a batch with as many locations as some, and stacks of any depth, one of them of all that one run may have. */
enum { BATCH_LOCATIONS = 2000, BATCH_STACKS = 1500, BATCH_DEPTH = 90 };

static struct dcm_batch *new_batch(uint64_t seed)
{
	static uint32_t frames[DEEPEST];
	CLEANUP(builder__freep) struct dcm_builder *b = builder__new(0);
	struct dcm_batch *batch = NULL;
	struct random r = { seed };

	assert_non_null(b);
	for (uint32_t i = 0; i < BATCH_LOCATIONS; i++)
		builder__location(b,
				  &(struct dcm_location){ .mapping = DCM_NONE,
							  .process = DCM_NONE,
							  .addr_kind = DCM_ADDR_RUNTIME,
							  .address = 1 + (i + seed) % BATCH_LOCATIONS },
				  NULL, 0);
	for (uint32_t i = 0; i < BATCH_STACKS; i++) {
		const uint32_t n = i == BATCH_STACKS / 2
					   ? DEEPEST
					   : 4 + (uint32_t)random__below(&r, BATCH_DEPTH);

		/* The last quarter has locations that no other has. */
		for (uint32_t k = 0; k < n; k++)
			frames[k] = (uint32_t)random__below(&r, BATCH_LOCATIONS / 4) +
				    BATCH_LOCATIONS / 4 * (i / (BATCH_STACKS / 4));
		builder__stack(b, frames, n);
	}
	assert_int_equal(builder__seal(b, &batch, NULL), 0);
	assert_int_equal(batch->n_stacks, BATCH_STACKS);
	return batch;
}

static void assert_same_as_batch(const struct dcm_batch *b, uint32_t i, const struct dict *d, uint32_t id)
{
	static uint32_t locations[DEEPEST];
	const struct dict_stack *s = dict__stack_at(d, id);
	const struct dcm_span span = b->stacks[i];

	assert_int_equal(s->n, span.n);
	dict__stack_locations(d, s, locations);
	for (uint32_t k = 0; k < s->n; k++)
		assert_int_equal(dict__location_at(d, locations[k])->address,
				 b->locations[b->stack_locations[span.off + k]].address);
}

static uint32_t count_locations(const struct dcm_batch *b, uint32_t n_stacks)
{
	bool used[BATCH_LOCATIONS] = { 0 };
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_stacks; i++)
		for (uint32_t k = 0; k < b->stacks[i].n; k++) {
			const uint32_t l = b->stack_locations[b->stacks[i].off + k];

			n += !used[l];
			used[l] = true;
		}
	return n;
}

/* The first stacks of it, each twice; what none of them has does not come. */
static void assert_brings_in(struct dict *to, const struct dcm_batch *b, uint32_t n)
{
	static uint32_t order[2 * BATCH_STACKS];
	struct dict_import im;

	for (uint32_t i = 0; i < 2 * n; i++)
		order[i] = i * 7919u % n;
	assert_int_equal(dict_import__init(&im, to, b), 0);
	assert_int_equal(dict_import__stacks(&im, order, 2 * n), 0);
	const uint32_t n_stacks = to->stacks.n;

	for (uint32_t i = 0; i < n; i++)
		assert_same_as_batch(b, i, to, dict_import__stack(&im, i));
	assert_int_equal(to->stacks.n, n_stacks);
	dict_import__fini(&im);
}

static void stacks_of_batches_are_brought_in(void **state)
{
	(void)state;
	CLEANUP(dict__unrefp) struct dict *to = dict__new();
	struct dcm_batch *b = new_batch(1), *other = new_batch(2);

	assert_non_null(to);
	assert_brings_in(to, b, 3);
	assert_int_equal(to->locations.n, count_locations(b, 3));
	for (uint32_t n = BATCH_STACKS / 4; n <= BATCH_STACKS; n += BATCH_STACKS / 4) {
		assert_brings_in(to, b, n);
		assert_int_equal(to->stacks.n, n);
		assert_int_equal(to->locations.n, count_locations(b, n));
	}
	/* The same locations by other numbers, under stacks that are others. */
	assert_brings_in(to, other, BATCH_STACKS);
	assert_int_equal(to->locations.n, BATCH_LOCATIONS);
	assert_brings_in(to, b, BATCH_STACKS);
	batch__unref(b);
	batch__unref(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stack_once),
		cmocka_unit_test(each_node_once),
		cmocka_unit_test(no_stack_without_end),
		cmocka_unit_test(stacks_are_given_out),
		cmocka_unit_test(stacks_are_brought_in),
		cmocka_unit_test(stacks_of_batches_are_brought_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
