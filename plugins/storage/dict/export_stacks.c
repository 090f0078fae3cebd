/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/export_stacks.c - stacks of a dictionary, into a builder
 *
 * A dictionary has its stacks as a trie, a builder each as a list, the root last: what stands above
 * a node is the end of the list of every stack that goes through it. So a way up is gone node by
 * node only to the first that a stack before has gone through, whose list has the rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "plugins/storage/dict/export.h"

enum {
	RUN_STACKS = 64, /* that are given to the builder together */
	AHEAD = 8,	 /* stacks whose leaf comes from memory meanwhile */
	WRITTEN_MAX = 1 << 17,
	N_PLACES = 1 << 13,
};

/* Where a node stands in what was written, by the lower bits of its number: one of many, the last. */
struct place {
	uint32_t node_1; /* and 1; 0: none */
	uint32_t at;
};

struct dict_ways {
	struct place places[N_PLACES];
	uint32_t n;
	uint32_t written[WRITTEN_MAX]; /* [n] locations of the builder: lists, one behind the other */
};

struct export_run {
	uint32_t n, first; /* in written */
	uint32_t ids[RUN_STACKS], lengths[RUN_STACKS];
	uint32_t *ret[RUN_STACKS]; /* where its number in the builder goes */
};

static bool is_given(const struct dict_export *ex, uint32_t stack)
{
	return !ex->stacks_once && dict_map__get(ex->map.stacks, stack) != DCM_NONE;
}

static uint32_t name_location(struct dict_export *ex, uint32_t id, int *err)
{
	const uint32_t known = dict_map__get(ex->map.locations, id);

	return known != DCM_NONE ? known : dict_export__new_location(ex, id, err);
}

uint32_t dict_export__stack(struct dict_export *ex, uint32_t id, int *err)
{
	const struct dict_stack *s = dict__stack_at(ex->from, id);
	uint32_t few[128], *ids = few;

	if (is_given(ex, id))
		return dict_map__get(ex->map.stacks, id);
	if (s->n > 128 && !(ids = mem__resize(NULL, s->n, sizeof(*ids)))) {
		*err = -ENOMEM;
		return 0;
	}
	dict__stack_locations(ex->from, s, ids);
	for (uint32_t i = 0; i < s->n; i++)
		ids[i] = name_location(ex, ids[i], err);
	const uint32_t given = ex->host->add_stack(ex->to, ids, s->n);
	if (!ex->stacks_once)
		dict_map__set(ex->map.stacks, id, given);
	if (ids != few)
		free(ids);
	return given;
}

/* The stack's list, behind the others. */
static void write_list(struct dict_export *ex, const struct dict_stack *s, int *err)
{
	struct dict_ways *ways = ex->ways;
	uint32_t node = s->leaf;

	for (uint32_t left = s->n; left > 0; left--) {
		struct place *place = &ways->places[node % N_PLACES];
		uint32_t *to = ways->written + ways->n;

		if (place->node_1 == node + 1) {
			memcpy(to, ways->written + place->at, left * sizeof(*to));
			ways->n += left;
			return;
		}
		const struct dict_node *at = dict__node_at(ex->from, node);

		*place = (struct place){ node + 1, ways->n++ };
		*to = name_location(ex, at->location, err);
		node = at->parent;
	}
}

static void end_run(struct dict_export *ex, struct export_run *run)
{
	const uint32_t first = ex->host->add_stacks(ex->to, ex->ways->written + run->first,
						    run->lengths, run->n);

	for (uint32_t i = 0; i < run->n; i++) {
		*run->ret[i] = first + i;
		if (!ex->stacks_once)
			dict_map__set(ex->map.stacks, run->ids[i], first + i);
	}
	run->n = 0;
	run->first = ex->ways->n;
}

static bool has_room(const struct dict_ways *ways, uint32_t n)
{
	return n <= WRITTEN_MAX - ways->n;
}

static void forget(struct dict_ways *ways)
{
	memset(ways->places, 0, sizeof(ways->places));
	ways->n = 0;
}

/* What was written is not touched before, so that few stacks cost little. */
static struct dict_ways *ways__new(void)
{
	struct dict_ways *ways = mem__resize(NULL, 1, sizeof(*ways));

	if (ways)
		forget(ways);
	return ways;
}

/* The run has room for the stack behind this; false: it is longer than all room that there is. */
static bool make_room(struct dict_export *ex, struct export_run *run, uint32_t n)
{
	if (run->n == RUN_STACKS || (run->n && !has_room(ex->ways, n)))
		end_run(ex, run);
	if (!has_room(ex->ways, n)) {
		forget(ex->ways);
		run->first = 0;
	}
	return has_room(ex->ways, n);
}

static void fetch_leaf(const struct dict_export *ex, uint32_t id)
{
	const struct dict_stack *s = dict__stack_at(ex->from, id);

	if (s->n)
		__builtin_prefetch(dict__node_at(ex->from, s->leaf));
}

void dict_export__stacks(struct dict_export *ex, const uint32_t *ids, uint32_t n, uint32_t *ret, int *err)
{
	struct export_run run;

	if (!ex->ways && !(ex->ways = ways__new())) {
		*err = -ENOMEM;
		return;
	}
	run.n = 0;
	run.first = ex->ways->n;
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(dict__stack_at(ex->from, ids[i]));
	for (uint32_t i = 0; i < n; i++) {
		const struct dict_stack *s = dict__stack_at(ex->from, ids[i]);

		if (i + AHEAD < n)
			fetch_leaf(ex, ids[i + AHEAD]);
		if (is_given(ex, ids[i]) || !make_room(ex, &run, s->n)) {
			ret[i] = dict_export__stack(ex, ids[i], err);
			continue;
		}
		run.ids[run.n] = ids[i];
		run.lengths[run.n] = s->n;
		run.ret[run.n++] = &ret[i];
		write_list(ex, s, err);
	}
	if (run.n)
		end_run(ex, &run);
}
