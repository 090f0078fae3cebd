/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/dict.h - everything that profiles refer to, each thing once
 *
 * Shared by the storages of this machine, so that what is equal is the same question in all of
 * them.
 *
 * Strings, mappings, functions, processes, locations, stacks, label sets, series and types. What is
 * equal is settled by comparing contents; the hashes that batches bring only say where to look.
 * Stacks alone are told by a hash of our own (stacks.c says what that risks). A mapping is known by
 * its build id, else by its kind and file, and keeps the addresses with which it came first; a
 * location that can be named later (native, with a build id and an address) is known without its
 * lines, and takes the first lines that come.
 *
 * Nothing is ever removed: a dictionary in which most stacks are dead is rebuilt by its store and
 * dies whole, when the last question that looks at it has ended.
 *
 * Threads: adding needs the store's lock. Entries whose number was learnt under the lock may be
 * read without it, because they never move or change; the exceptions, a location's lines and why it
 * has none, are set once, atomically.
 */
#ifndef DECIMA_STORAGE_DICT_DICT_H
#define DECIMA_STORAGE_DICT_DICT_H

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/base/vec.h"
#include "plugins/storage/dict/labels.h"
#include "plugins/storage/dict/origins.h"
#include "plugins/storage/dict/pool.h"

struct dict_lines {
	uint32_t n;
	struct dcm_line v[]; /* functions are this dictionary's */
};

struct dict_location {
	uint64_t hash; /* where to look, from the batch */
	uint64_t address;
	uint32_t mapping, process; /* or DCM_NONE */
	uint8_t addr_kind, kind;
	_Atomic uint8_t unnamed; /* why; a later batch may know better than "not tried" */
	_Atomic(const struct dict_lines *) lines; /* NULL: none */
};

/*
 * A frame under its callers: stacks that begin alike at the root share their nodes. A parent's
 * number is smaller than its children's.
 */
struct dict_node {
	uint32_t parent; /* DCM_NONE: the root frame */
	uint32_t location;
	uint32_t child; /* the first that came, for who adds; 0: none */
};

struct dict_stack {
	uint64_t hash; /* of its locations, under the dictionary's secret: dict__chain() */
	uint32_t leaf; /* node; DCM_NONE: no frames */
	uint32_t n;    /* frames */
};

struct dict_label_set {
	const struct dcm_label *labels; /* [n] sorted by name */
	uint32_t n;
};

struct dict_series {
	const struct dcm_pair *pairs; /* [n] sorted by name */
	uint32_t n;
};

struct dict_type {
	struct dcm_type parts;
	struct dcm_str text; /* as selections write it */
};

struct dict {
	_Atomic uint32_t refs;
	uint64_t secret;	/* seed of stacks' hashes */
	struct arena arena;	/* texts and lists */
	struct pool strings;	/* struct dcm_str; [0] is "" */
	struct pool mappings;	/* struct dcm_mapping */
	struct pool functions;	/* struct dcm_function */
	struct pool processes;	/* struct dcm_process */
	struct pool locations;	/* struct dict_location */
	struct pool nodes;	/* struct dict_node */
	struct pool stacks;	/* struct dict_stack */
	struct pool label_sets; /* struct dict_label_set; [0] is empty */
	struct pool series;	/* struct dict_series */
	struct pool types;	/* struct dict_type */
	/*
	 * Locations about which something was learnt after they were added, in that order, perhaps
	 * twice; kept when somebody wants to know.
	 */
	bool keep_learnt;
	bool has_gaps; /* dict__fill() has put some entries there */
	VEC(uint32_t) learnt;
	struct hindex string_index, mapping_index, function_index, process_index, location_index,
		node_index, stack_index;
	struct hindex label_set_index, series_index, type_index;
	struct labels labels; /* of the series; its own lock guards it */
	struct origins origins;
};

/* Whose series are those that had no room: {__overflow__="true"}. */
#define DICT_OVERFLOW_NAME  "__overflow__"
#define DICT_OVERFLOW_VALUE "true"

/* How many entries there were under the lock: readers without it stay below. */
struct dict_counts {
	uint32_t strings, mappings, functions, processes, locations, nodes, stacks, label_sets,
		series, types;
};

struct dict *dict__new(void); /* NULL when memory ran out */
struct dict *dict__ref(struct dict *d);
void dict__unref(struct dict *d); /* NULL is fine */
uint64_t dict__bytes(const struct dict *d); /* but for the index of labels, labels__bytes(), and origins, which are bounded */

static inline struct dcm_str dict__str(const struct dict *d, uint32_t id)
{
	return *POOL_AT(&d->strings, struct dcm_str, id);
}
static inline const struct dict_stack *dict__stack_at(const struct dict *d, uint32_t id)
{
	return POOL_AT(&d->stacks, struct dict_stack, id);
}
static inline const struct dict_node *dict__node_at(const struct dict *d, uint32_t id)
{
	return POOL_AT(&d->nodes, struct dict_node, id);
}
static inline const struct dict_location *dict__location_at(const struct dict *d, uint32_t id)
{
	return POOL_AT(&d->locations, struct dict_location, id);
}
static inline const struct dict_label_set *dict__label_set_at(const struct dict *d, uint32_t id)
{
	return POOL_AT(&d->label_sets, struct dict_label_set, id);
}
static inline const struct dict_series *dict__series_at(const struct dict *d, uint32_t id)
{
	return POOL_AT(&d->series, struct dict_series, id);
}
static inline const struct dict_type *dict__type_at(const struct dict *d, uint32_t id)
{
	return POOL_AT(&d->types, struct dict_type, id);
}

/* The stack's locations, leaf first, into ret[stack->n]. */
void dict__stack_locations(const struct dict *d, const struct dict_stack *stack, uint32_t *ret);

/* The series' value of a name, or false. */
bool dict__series_label(const struct dict *d, uint32_t series, struct dcm_str name, struct dcm_str *ret);

/*
 * Adds find an equal entry or make one. Ids inside are this dictionary's. DCM_NONE when memory ran
 * out.
 */
uint32_t dict__string(struct dict *d, struct dcm_str s);
/* The same without making one: DCM_NONE, there is none. */
uint32_t dict__find_string(const struct dict *d, struct dcm_str s);
uint32_t dict__find_series(const struct dict *d, const struct dcm_pair *pairs, uint32_t n);
uint32_t dict__mapping(struct dict *d, const struct dcm_mapping *m);
uint32_t dict__function(struct dict *d, const struct dcm_function *f);
uint32_t dict__process(struct dict *d, const struct dcm_process *p);
/* lines [l->n_lines]; hash: equal for equal locations. */
uint32_t dict__location(struct dict *d, uint64_t hash, const struct dcm_location *l,
			const struct dcm_line *lines);
uint32_t dict__node(struct dict *d, uint32_t parent, uint32_t location);
uint32_t dict__stack(struct dict *d, const uint32_t *locations, uint32_t n); /* leaf first */
/*
 * The same of locations and stacks for who adds many: each step begins to fetch from memory what
 * the next one looks at, so that others can be in it meanwhile. A stack's hash is made of
 * dict__chain(), and its first step is to fetch what stack_index has there.
 */
static inline void dict__seek_location(const struct dict *d, uint64_t hash)
{
	hindex__prefetch(&d->location_index, hash);
}
void dict__fetch_location(const struct dict *d, uint64_t hash);
void dict__fetch_stack(const struct dict *d, uint64_t hash);
/*
 * A stack's hash grows from the root: by each frame, from what the frames above it came to. Two
 * factors that depend on the secret, as wyhash mixes (https://github.com/wangyi-fudan/wyhash).
 */
static inline uint64_t dict__chain_begin(const struct dict *d)
{
	return d->secret;
}
static inline uint64_t dict__chain_key(const struct dict *d)
{
	return d->secret ^ 0xe7037ed1a0b428dbu;
}
static inline uint64_t dict__chain_on(uint64_t key, uint64_t above, uint32_t location)
{
	const unsigned __int128 p = (unsigned __int128)(above ^ 0xa0761d6478bd642fu) * (location ^ key);

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}
static inline uint64_t dict__chain(const struct dict *d, uint64_t above, uint32_t location)
{
	return dict__chain_on(dict__chain_key(d), above, location);
}
/* The stack of this hash and depth, DCM_NONE: there is none; and a new one, which was looked for. */
uint32_t dict__find_stack(const struct dict *d, uint64_t hash, uint32_t n);
uint32_t dict__add_stack(struct dict *d, uint64_t hash, uint32_t leaf, uint32_t n);
/*
 * The way to the stack that was added last, from the root on, for the next one: what the two have in
 * common is not looked up. Zero `n` before the first.
 */
enum { DICT_PATH_MAX = 128 };
struct dict_path {
	uint32_t n;
	uint32_t locations[DICT_PATH_MAX], nodes[DICT_PATH_MAX];
};
/* One that was looked for. */
uint32_t dict__new_stack(struct dict *d, const uint32_t *locations, uint32_t n, uint64_t hash,
			 struct dict_path *path);
/*
 * The stacks that end at these nodes (DCM_NONE: of no frames), in their order: ret[n]. 0, -ENOMEM,
 * or -EBADMSG: one is deeper than any batch's.
 */
int dict__stacks_of_leaves(struct dict *d, const uint32_t *leaves, uint32_t n, uint32_t *ret);
uint32_t dict__label_set(struct dict *d, const struct dcm_label *labels, uint32_t n);
uint32_t dict__series(struct dict *d, const struct dcm_pair *pairs, uint32_t n);
uint32_t dict__type(struct dict *d, const struct dcm_type *t);

/*
 * Lines for a location that has none, and why it has none where that was not known. 0 or -ENOMEM.
 */
int dict__learn(struct dict *d, uint32_t location, uint8_t unnamed, const struct dcm_line *lines,
		uint32_t n);

/*
 * Empty entries up to these counts, in the place of some that were lost: they have no content, and
 * are never found. 0, -ENOMEM, or -EBADMSG when there are more already. *ret_n: how many.
 */
int dict__fill(struct dict *d, const struct dict_counts *to, uint64_t *ret_n);

/* Is it such an entry, or one whose texts are some? Then nobody knows which one it is. */
bool dict__lacks_series(const struct dict *d, uint32_t series);
bool dict__lacks_type(const struct dict *d, uint32_t type);

/*
 * For who adds entries: the one that was written behind the pool's end becomes one, under its hash.
 * DCM_NONE, and it is left for the next, when memory ran out.
 */
uint32_t dict__admit(struct pool *pool, struct hindex *index, uint64_t hash);

/* -------------------------------------------------------------------------------------------------
 * Bringing things in from a batch, or from an older dictionary
 */

struct dict_counts dict__counts(const struct dict *d);
/* Of each kind the larger one. */
struct dict_counts dict_counts__most(const struct dict_counts *a, const struct dict_counts *b);

/*
 * Remembers what was copied already: source id -> id, DCM_NONE where not yet. Ids stand there as
 * their complement, so that memory that is zero says "not yet": what a question does not ask about
 * costs nothing, however large the dictionary is.
 */
struct dict_map {
	uint32_t *strings, *mappings, *functions, *processes, *locations, *stacks, *label_sets, *series;
	uint32_t *all; /* the one allocation behind them */
};
static inline uint32_t dict_map__get(const uint32_t *map, uint32_t id)
{
	return ~map[id];
}
/* Returns what it is set to. */
static inline uint32_t dict_map__set(uint32_t *map, uint32_t id, uint32_t to)
{
	map[id] = ~to;
	return to;
}

int dict_map__init(struct dict_map *m, const struct dict_counts *c); /* 0 or -ENOMEM */
void dict_map__fini(struct dict_map *m);
/* How many lines may be looked at: all, or none when they came after the counts were taken. */
uint32_t dict_lines__n_known(const struct dict_lines *lines, uint32_t n_functions);

struct dict_import {
	struct dict *to;
	const struct dcm_batch *batch; /* the source is this, or */
	const struct dict *old;	       /* this, of which */
	uint32_t n_functions;	       /* are known */
	uint32_t overflow; /* what dict_import__series_within() took for others, one above; 0: nothing */
	struct dict_map map;
	struct origin *origin; /* of the batch's stacks; NULL: it has none */
	/*
	 * By node of `old`: the hash in `to` of the stack that ends there, 0 where none was looked at;
	 * and its node in `to`, as a dict_map.
	 */
	uint64_t *hashes;
	uint32_t *nodes;
};
int dict_import__init(struct dict_import *im, struct dict *to, const struct dcm_batch *from);
int dict_import__init_dict(struct dict_import *im, struct dict *to, const struct dict *from);
/* The same without the lock, for entries below counts that were taken under it. */
int dict_import__init_counts(struct dict_import *im, struct dict *to, const struct dict *from,
			     const struct dict_counts *counts);
void dict_import__fini(struct dict_import *im);
/* Ids in `to`, or DCM_NONE when memory ran out. A type's strings are the source's. */
uint32_t dict_import__stack(struct dict_import *im, uint32_t id);
/*
 * The same of many, some perhaps more than once, in a fraction of the time: dict_import__stack()
 * then knows them. 0 or -ENOMEM.
 */
int dict_import__stacks(struct dict_import *im, const uint32_t *ids, uint64_t n);
uint32_t dict_import__label_set(struct dict_import *im, uint32_t id);
uint32_t dict_import__series(struct dict_import *im, uint32_t id);
/*
 * The same into a dictionary that is to have no more than `max` series (0: no bound): beyond them
 * one that is new is the series {__overflow__="true"} instead, and brings in no text.
 */
uint32_t dict_import__series_within(struct dict_import *im, uint32_t id, uint32_t max);
static inline bool dict_import__is_overflow(const struct dict_import *im, uint32_t series)
{
	return im->overflow && series == im->overflow - 1;
}
uint32_t dict_import__type(struct dict_import *im, const struct dcm_type *t);

/* -------------------------------------------------------------------------------------------------
 * Giving things out into a builder
 */

struct dict_ways;

struct dict_export {
	const struct dict *from;
	const struct dcm_host *host;
	struct dcm_builder *to;
	uint32_t n_functions; /* of the counts */
	struct dict_map map;
	/*
	 * Who sets it asks for each stack once, so that none is remembered: the memory for that is
	 * large, and touched here and there.
	 */
	bool stacks_once;
	struct dict_ways *ways; /* of stacks that were given out; NULL: none were yet */
};
int dict_export__init(struct dict_export *ex, const struct dict *from, const struct dict_counts *counts,
		      const struct dcm_host *host, struct dcm_builder *to);
void dict_export__fini(struct dict_export *ex);
/*
 * Ids in the builder, whose failures stick to it; 0 with -ENOMEM in *err when our own memory ran
 * out.
 */
uint32_t dict_export__stack(struct dict_export *ex, uint32_t id, int *err);
/* The same of many, in a fraction of the time: ret[n]. One that comes twice may be given out twice. */
void dict_export__stacks(struct dict_export *ex, const uint32_t *ids, uint32_t n, uint32_t *ret,
			 int *err);
uint32_t dict_export__label_set(struct dict_export *ex, uint32_t id, int *err);
uint32_t dict_export__series(struct dict_export *ex, uint32_t id, int *err);
struct dcm_type dict_export__type(struct dict_export *ex, uint32_t id);

#endif
