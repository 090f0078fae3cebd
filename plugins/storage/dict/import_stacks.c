/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/import_stacks.c - stacks of a batch or of another dictionary, into a dictionary
 *
 * A batch has each stack as a list of locations. A dictionary has all of them as a trie, whose nodes
 * are gone through instead: each once, below its caller, however many stacks stand on it.
 *
 * They come in runs of some, so that what one waits for from memory comes while the others are
 * looked at.
 */
#include "plugins/storage/dict/import.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/mem.h"

enum {
	RUN_STACKS = 64,
	RUN_FRAMES = 4096, /* as many as one stack may have */
	AHEAD = 16,	   /* locations that come from memory meanwhile */
	MANY_MISSING = 64, /* locations of a run */
};
#define NOT_YET ((uint64_t)1) /* the hash of a node that the run has met */

struct import_run {
	uint32_t n, n_frames, n_missing, n_lacking; /* how many runs lacked MANY_MISSING */
	uint32_t ids[RUN_STACKS], lengths[RUN_STACKS];
	uint64_t hashes[RUN_STACKS];
	struct dict_path path;	     /* of a batch's */
	uint32_t frames[RUN_FRAMES]; /* a batch's: of a new stack; a dictionary's: new nodes */
	uint32_t missing[RUN_FRAMES]; /* the source's locations that `to` may lack, some more than once */
};

static uint64_t location_hash(const struct dict_import *im, uint32_t location)
{
	return im->batch ? im->batch->location_hashes[location].lo
			 : dict__location_at(im->old, location)->hash;
}

static uint32_t stack_depth(const struct dict_import *im, uint32_t id)
{
	return im->batch ? im->batch->stacks[id].n : dict__stack_at(im->old, id)->n;
}

static void seek_location(const struct dict_import *im, struct import_run *run, uint32_t location)
{
	if (dict_map__get(im->map.locations, location) != DCM_NONE)
		return;
	dict__seek_location(im->to, location_hash(im, location));
	run->missing[run->n_missing++] = location;
}

/* Some are missing more than once. Returns how many have come, or -ENOMEM. */
static int import_missing(struct dict_import *im, const struct import_run *run)
{
	int n = 0;

	for (uint32_t i = 0; i < run->n_missing + AHEAD; i++) {
		if (i < run->n_missing)
			dict__fetch_location(im->to, location_hash(im, run->missing[i]));
		if (i < AHEAD)
			continue;
		n += dict_map__get(im->map.locations, run->missing[i - AHEAD]) == DCM_NONE;
		if (dict_import__location(im, run->missing[i - AHEAD]) == DCM_NONE)
			return -ENOMEM;
	}
	return n;
}

/* -------------------------------------------------------------------------------------------------
 * Lists
 */

/* A batch may have no column for stacks that have no frames. */
static const uint32_t *list_of(const struct dict_import *im, uint32_t id)
{
	static const uint32_t nothing;
	const uint32_t *column = im->batch->stack_locations;

	return column ? column + im->batch->stacks[id].off : &nothing;
}

/*
 * A stack whose hash grows by its frames, as dict__chain() has it: so many of its list are left, the last of them first.
 * FOUR at once: each step of one waits for its last, and the others' go on meanwhile.
 */
enum { FOUR = 4 };
struct lane {
	const uint32_t *list;
	uint32_t left, i; /* which one of the run */
	uint64_t hash;
};

static struct lane lane_of(const struct dict_import *im, const struct import_run *run, uint32_t i)
{
	return (struct lane){ list_of(im, run->ids[i]), run->lengths[i], i, dict__chain_begin(im->to) };
}

/* Numbers stand in the map as their complement, and 0 where there is none. */
static inline bool chain(uint64_t key, uint64_t *hash, uint32_t complement)
{
	*hash = dict__chain_on(key ^ UINT32_MAX, *hash, complement);
	return complement != 0;
}

/* n frames of a lane. False: the location of one of them is not in `to` yet. */
static bool step_one(const struct dict_import *im, struct lane *l, uint32_t n)
{
	const uint32_t *at = l->list + l->left, *map = im->map.locations;
	const uint64_t key = dict__chain_key(im->to);
	uint64_t h = l->hash;

	for (uint32_t k = 1; k <= n; k++)
		if (!chain(key, &h, map[*(at - k)]))
			return false;
	l->left -= n;
	l->hash = h;
	return true;
}

/* The same of FOUR. */
static bool step_four(const struct dict_import *im, struct lane *l, uint32_t n)
{
	const uint32_t *const at_a = l[0].list + l[0].left, *const at_b = l[1].list + l[1].left;
	const uint32_t *const at_c = l[2].list + l[2].left, *const at_d = l[3].list + l[3].left;
	const uint32_t *const map = im->map.locations;
	const uint64_t key = dict__chain_key(im->to);
	uint64_t a = l[0].hash, b = l[1].hash, c = l[2].hash, d = l[3].hash;

	for (ptrdiff_t k = -1; k >= -(ptrdiff_t)n; k--)
		if (!chain(key, &a, map[at_a[k]]) || !chain(key, &b, map[at_b[k]]) ||
		    !chain(key, &c, map[at_c[k]]) || !chain(key, &d, map[at_d[k]]))
			return false;
	l[0].hash = a;
	l[1].hash = b;
	l[2].hash = c;
	l[3].hash = d;
	for (uint32_t i = 0; i < FOUR; i++)
		l[i].left -= n;
	return true;
}

static uint32_t least_left(const struct lane *l)
{
	uint32_t least = l[0].left;

	for (uint32_t i = 1; i < FOUR; i++)
		least = l[i].left < least ? l[i].left : least;
	return least;
}

/* False: the location of a frame is not in `to` yet. */
static bool hash_lists(const struct dict_import *im, struct import_run *run)
{
	struct lane lanes[FOUR];
	uint32_t n = 0, next = 0;

	for (;;) {
		while (n < FOUR && next < run->n)
			lanes[n++] = lane_of(im, run, next++);
		if (n < FOUR)
			break;
		if (!step_four(im, lanes, least_left(lanes)))
			return false;
		for (uint32_t i = FOUR; i-- > 0;)
			if (lanes[i].left == 0) {
				run->hashes[lanes[i].i] = lanes[i].hash;
				lanes[i] = lanes[--n];
			}
	}
	while (n-- > 0) {
		if (!step_one(im, &lanes[n], lanes[n].left))
			return false;
		run->hashes[lanes[n].i] = lanes[n].hash;
	}
	for (uint32_t i = 0; i < run->n; i++)
		hindex__prefetch(&im->to->stack_index, run->hashes[i]);
	return true;
}

/* What the run's stacks lack: how much that was, or -ENOMEM. */
static int import_lacking(struct dict_import *im, struct import_run *run)
{
	for (uint32_t i = 0; i < run->n; i++)
		for (uint32_t k = 0; k < run->lengths[i]; k++)
			seek_location(im, run, list_of(im, run->ids[i])[k]);
	return import_missing(im, run);
}

/*
 * Which locations these stacks have, of which some may come more than once: a byte for each of the batch's. NULL: no
 * memory.
 */
static uint8_t *mark_locations(const struct dict_import *im, const uint32_t *ids, uint64_t n)
{
	const struct dcm_batch *b = im->batch;
	uint8_t *marks = mem__zalloc((size_t)b->n_locations + b->n_stacks, 1);
	uint8_t *stacks = marks + b->n_locations;

	for (uint64_t i = 0; marks && i < n; i++) {
		const uint32_t *list = list_of(im, ids[i]);

		if (stacks[ids[i]] || dict_map__get(im->map.stacks, ids[i]) != DCM_NONE)
			continue;
		stacks[ids[i]] = 1;
		for (uint32_t k = 0; k < b->stacks[ids[i]].n; k++)
			marks[list[k]] = 1;
	}
	return marks;
}

/* All locations of these stacks. */
static int import_all(struct dict_import *im, struct import_run *run, const uint32_t *ids, uint64_t n)
{
	uint8_t *marks = mark_locations(im, ids, n);
	int r = marks ? 0 : -ENOMEM;

	run->n_missing = 0;
	for (uint32_t i = 0; r >= 0 && i < im->batch->n_locations; i++) {
		if (marks[i])
			seek_location(im, run, i);
		if (run->n_missing == RUN_FRAMES || i + 1 == im->batch->n_locations) {
			r = import_missing(im, run);
			run->n_missing = 0;
		}
	}
	free(marks);
	return r < 0 ? r : 0;
}

static uint32_t add_list(struct dict_import *im, struct import_run *run, uint32_t i)
{
	const uint32_t *list = list_of(im, run->ids[i]);
	const uint32_t known = dict__find_stack(im->to, run->hashes[i], run->lengths[i]);

	if (known != DCM_NONE)
		return known;
	for (uint32_t k = 0; k < run->lengths[i]; k++)
		run->frames[k] = dict_map__get(im->map.locations, list[k]);
	return dict__new_stack(im->to, run->frames, run->lengths[i], run->hashes[i], &run->path);
}

static int add_lists(struct dict_import *im, struct import_run *run)
{
	for (uint32_t i = 0; i < run->n; i++) {
		const uint32_t to = add_list(im, run, i);

		if (dict_map__set(im->map.stacks, run->ids[i], to) == DCM_NONE)
			return -ENOMEM;
		if (im->origin)
			origins__set(&im->to->origins, im->origin,
				     im->batch->stack_origins[run->ids[i]], to);
	}
	return 0;
}

/* From another batch of the same origin: what it says of its locations came then. */
static bool has_come(struct dict_import *im, uint32_t id)
{
	const uint32_t to = im->origin ? origins__get(im->origin, im->batch->stack_origins[id])
				       : DCM_NONE;

	return to != DCM_NONE && dict_map__set(im->map.stacks, id, to) != DCM_NONE;
}

/* -------------------------------------------------------------------------------------------------
 * Nodes
 */

/* Nodes on the stack's way that none has stood on yet: callers first. */
static void begin_nodes(struct dict_import *im, struct import_run *run, uint32_t id)
{
	uint32_t *first = run->frames + run->n_frames, *end = first;

	for (uint32_t at = dict__stack_at(im->old, id)->leaf; at != DCM_NONE && !im->hashes[at];) {
		const struct dict_node *node = dict__node_at(im->old, at);

		im->hashes[at] = NOT_YET;
		*end++ = at;
		seek_location(im, run, node->location);
		at = node->parent;
	}
	run->n_frames += (uint32_t)(end - first);
	for (; end - first > 1; first++) {
		const uint32_t leafmost = *first;

		*first = *--end;
		*end = leafmost;
	}
}

static uint64_t hash_at(const struct dict_import *im, uint32_t node)
{
	return node == DCM_NONE ? dict__chain_begin(im->to) : im->hashes[node];
}

static void hash_nodes(struct dict_import *im, struct import_run *run)
{
	for (uint32_t i = 0; i < run->n_frames; i++) {
		const struct dict_node *node = dict__node_at(im->old, run->frames[i]);

		im->hashes[run->frames[i]] = dict__chain(im->to, hash_at(im, node->parent),
							 dict_map__get(im->map.locations, node->location));
	}
	for (uint32_t i = 0; i < run->n; i++) {
		run->hashes[i] = hash_at(im, dict__stack_at(im->old, run->ids[i])->leaf);
		hindex__prefetch(&im->to->stack_index, run->hashes[i]);
	}
}

/*
 * A leaf that comes, and of one that comes sooner, which is there by now, the caller: most ways to
 * what has been seen are of no more nodes.
 */
static void fetch_ahead(const struct dict_import *im, const uint32_t *ids, uint64_t n)
{
	enum { SOON = 8, LATER = 16 };
	const uint32_t soon = n > SOON ? dict__stack_at(im->old, ids[SOON])->leaf : DCM_NONE;
	const uint32_t later = n > LATER ? dict__stack_at(im->old, ids[LATER])->leaf : DCM_NONE;

	if (later != DCM_NONE) {
		__builtin_prefetch(dict__node_at(im->old, later));
		__builtin_prefetch(&im->hashes[later]);
	}
	if (soon == DCM_NONE)
		return;
	const uint32_t above = dict__node_at(im->old, soon)->parent;

	if (above != DCM_NONE) {
		__builtin_prefetch(dict__node_at(im->old, above));
		__builtin_prefetch(&im->hashes[above]);
	}
}

/* A node and those above it; `way` has room for RUN_FRAMES. DCM_NONE when memory ran out. */
static uint32_t import_node(struct dict_import *im, uint32_t node, uint32_t *way)
{
	uint32_t n = 0, to = DCM_NONE;

	while (node != DCM_NONE && (to = dict_map__get(im->nodes, node)) == DCM_NONE) {
		way[n++] = node;
		node = dict__node_at(im->old, node)->parent;
	}
	while (n--) {
		const uint32_t location = dict__node_at(im->old, way[n])->location;

		to = dict__node(im->to, to, dict_map__get(im->map.locations, location));
		if (dict_map__set(im->nodes, way[n], to) == DCM_NONE)
			return DCM_NONE;
	}
	return to;
}

static int add_nodes(struct dict_import *im, struct import_run *run)
{
	for (uint32_t i = 0; i < run->n; i++) {
		const struct dict_stack *s = dict__stack_at(im->old, run->ids[i]);
		uint32_t to = dict__find_stack(im->to, run->hashes[i], s->n);

		if (to == DCM_NONE) {
			/* What the run has looked at is not needed any more. */
			const uint32_t leaf = import_node(im, s->leaf, run->frames);

			if (leaf == DCM_NONE && s->leaf != DCM_NONE)
				return -ENOMEM;
			to = dict__add_stack(im->to, run->hashes[i], leaf, s->n);
		}
		if (dict_map__set(im->map.stacks, run->ids[i], to) == DCM_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* -------------------------------------------------------------------------------------------------
 * Runs
 */

static void begin_stack(struct dict_import *im, struct import_run *run, uint32_t id, uint32_t n)
{
	if (im->batch)
		run->n_frames += n;
	else
		begin_nodes(im, run, id);
	run->ids[run->n] = id;
	run->lengths[run->n++] = n;
}

/* The run ends without them: another one meets them anew. */
static int give_up(struct dict_import *im, const struct import_run *run)
{
	for (uint32_t i = 0; im->old && i < run->n_frames; i++)
		im->hashes[run->frames[i]] = 0;
	return -ENOMEM;
}

/* `rest`: the stacks that are to come, of which there are n_rest. */
static int hash_all(struct dict_import *im, struct import_run *run, const uint32_t *rest, uint64_t n_rest)
{
	if (im->old) {
		if (import_missing(im, run) < 0)
			return give_up(im, run);
		hash_nodes(im, run);
		return 0;
	}
	if (hash_lists(im, run))
		return 0;
	const int n = import_lacking(im, run);

	if (n < 0)
		return n;
	hash_lists(im, run);
	/* Of few locations the first stacks have nearly all. Of many each run would lack some. */
	run->n_lacking += n > MANY_MISSING;
	return n > MANY_MISSING && run->n_lacking == 2 ? import_all(im, run, rest, n_rest) : 0;
}

static int end_run(struct dict_import *im, struct import_run *run, const uint32_t *rest, uint64_t n_rest)
{
	int r = hash_all(im, run, rest, n_rest);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < run->n; i++)
		dict__fetch_stack(im->to, run->hashes[i]);
	r = im->batch ? add_lists(im, run) : add_nodes(im, run);
	run->n = run->n_frames = run->n_missing = 0;
	return r;
}

int dict_import__stacks(struct dict_import *im, const uint32_t *ids, uint64_t n)
{
	struct import_run run;
	int r = 0;

	run.n = run.n_frames = run.n_missing = run.n_lacking = run.path.n = 0;
	for (uint64_t i = 0; r == 0 && i < n; i++) {
		if (im->old)
			fetch_ahead(im, ids + i, n - i);
		if (dict_map__get(im->map.stacks, ids[i]) != DCM_NONE || has_come(im, ids[i]))
			continue;
		const uint32_t depth = stack_depth(im, ids[i]);

		if (run.n == RUN_STACKS || depth > RUN_FRAMES - run.n_frames)
			r = end_run(im, &run, ids + i, n - i);
		if (r == 0 && depth <= RUN_FRAMES)
			begin_stack(im, &run, ids[i], depth);
	}
	return r ? r : end_run(im, &run, NULL, 0);
}

uint32_t dict_import__stack(struct dict_import *im, uint32_t id)
{
	const uint32_t known = dict_map__get(im->map.stacks, id);

	if (known != DCM_NONE)
		return known;
	return dict_import__stacks(im, &id, 1) < 0 ? DCM_NONE : dict_map__get(im->map.stacks, id);
}
