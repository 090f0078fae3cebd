/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/symbolize/learned.h - what (build id, address) was once found to be; private to this folder
 *
 * Two generations: names are added to the young one, and what is found in the old one moves over.
 * When the young one has half of the room, it becomes the old one and the old one is forgotten:
 * what was not asked for since then goes. Not thread-safe: its owner locks.
 */
#ifndef DECIMA_SYMBOLIZE_LEARNED_H
#define DECIMA_SYMBOLIZE_LEARNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <decima/plugin.h>

#include "core/base/hash.h"
#include "core/base/intern.h"
#include "core/base/vec.h"

/* One address of one file. hash: hash__bytes() of the build id, made once by who asks often. */
struct learned_key {
	struct dcm_str build_id;
	uint64_t hash;
	uint64_t address;
	uint8_t addr_kind; /* enum dcm_addr_kind */
};

/* A function and a place in it. system_name is "" when it is the same as name. */
struct learned_line {
	struct dcm_str name, system_name, file;
	uint32_t line, start_line; /* 0: unknown */
};

/*
 * What is known of an address: lines, the innermost inlined first, or (n == 0) why there is none.
 */
struct learned {
	const struct learned_line *lines; /* [n] to be added; found ones by learned__line() */
	uint32_t n;
	uint8_t why;   /* enum dcm_unnamed */
	uint8_t asked; /* for lines and inlined functions too: the quality of what was asked; 0: no */
	uint32_t rank; /* of the table that told it: how many functions it has; 0: none told */
	/* Of what was found: where it is. */
	const struct learned_set *in;
	uint32_t first;
};

struct learned_entry {
	uint64_t address;
	uint32_t build_id; /* text */
	uint32_t first;	   /* its lines */
	uint32_t rank;
	uint16_t n;
	uint8_t addr_kind : 4, asked : 4;
	uint8_t why;
};

struct learned_stored {
	uint32_t name, system_name, file; /* texts */
	uint32_t line, start_line;
};

/* Of any number of files; it only grows. Not thread-safe either. */
struct learned_set {
	struct intern texts;
	struct hindex index;
	VEC(struct learned_entry) entries;
	VEC(struct learned_stored) lines;
};

int learned_set__init(struct learned_set *g); /* 0 or -ENOMEM */
void learned_set__fini(struct learned_set *g);
uint64_t learned_set__bytes(const struct learned_set *g);
/* What is found and its texts live until the set changes. */
bool learned_set__find(const struct learned_set *g, const struct learned_key *key, struct learned *ret);
/*
 * Has it more than this: what better debug information told, beside a table that was no worse? Of a
 * stand-in (plugin.h), which may be another file's meanwhile, the last always counts: false.
 */
bool learned_set__has_better(const struct learned_set *g, const struct learned_key *key,
			     const struct learned *than);
struct learned learned_set__found(const struct learned_set *g, const struct learned_entry *e);
/*
 * In the place of what was there; the lines of that stay behind. Not from the set itself. -ENOMEM:
 * nothing was added but texts and lines that nobody points to.
 */
int learned_set__insert(struct learned_set *g, const struct learned_key *key, const struct learned *what);
/* The same with lines[what->n] whose texts the set has already, so that none is hashed again. */
int learned_set__insert_stored(struct learned_set *g, const struct learned_key *key,
			       const struct learned *what, const struct learned_stored *lines);

struct learned_names {
	struct learned_set young, old;
	uint64_t max_bytes;
};

int learned__init(struct learned_names *l, uint64_t max_bytes); /* 0 or -ENOMEM */
void learned__fini(struct learned_names *l);

/*
 * True when known; it and its texts live until the next call of any function here but
 * learned__line().
 */
bool learned__find(struct learned_names *l, const struct learned_key *key, struct learned *ret);
/* Line i of what was found, or is to be added. */
struct learned_line learned__line(const struct learned *found, uint32_t i);

/*
 * Remembers, in the place of what was remembered of the address before. Texts may be those of what
 * was found. Out of memory it is simply not remembered: returns -ENOMEM.
 */
int learned__add(struct learned_names *l, const struct learned_key *key, const struct learned *what);

/*
 * What was found of a build id is to be looked up once more where somebody can tell; its names stay
 * until then, or (`names`) go at once.
 */
void learned__doubt(struct learned_names *l, struct dcm_str build_id, bool names);

uint64_t learned__bytes(const struct learned_names *l);

#endif
