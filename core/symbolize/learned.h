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

/* A name, or (name.n == 0) the reason why there is none. system_name is "" when it is the same. */
struct learned_name {
	struct dcm_str name, system_name;
	uint8_t why; /* enum dcm_unnamed */
};

struct learned_entry {
	uint64_t address;
	uint32_t build_id, name, system_name; /* texts */
	uint8_t addr_kind, why;
};

struct learned_generation {
	struct intern texts;
	struct hindex index;
	VEC(struct learned_entry) entries;
};

struct learned {
	struct learned_generation young, old;
	uint64_t max_bytes;
};

int learned__init(struct learned *l, uint64_t max_bytes); /* 0 or -ENOMEM */
void learned__fini(struct learned *l);

/* True when known; the texts live until the next call of any function here. */
bool learned__find(struct learned *l, const struct learned_key *key, struct learned_name *ret);

/* Remembers what was not found. Out of memory it is simply not remembered: returns -ENOMEM. */
int learned__add(struct learned *l, const struct learned_key *key, const struct learned_name *name);

uint64_t learned__bytes(const struct learned *l);

#endif
