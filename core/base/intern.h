/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/intern.h - text to a small number, and back
 *
 * Id 0 is always "". Ids count up by one. Texts live in the table's own arena and keep their
 * address until fini. Single-threaded.
 */
#ifndef DECIMA_BASE_INTERN_H
#define DECIMA_BASE_INTERN_H

#include <decima/plugin.h>

#include "core/base/arena.h"
#include "core/base/hash.h"

#define INTERN_NONE UINT32_MAX

struct intern {
	struct arena arena;
	struct hindex index;
	struct dcm_str *texts; /* [n] */
	uint32_t n, cap;
};

int intern__init(struct intern *t); /* 0 or -ENOMEM */
void intern__fini(struct intern *t);

/* The text's id, made when new; INTERN_NONE when memory ran out. */
uint32_t intern__add(struct intern *t, struct dcm_str s);

/* The id of a text that is there already, else INTERN_NONE. */
uint32_t intern__find(const struct intern *t, struct dcm_str s);

/*
 * The same in steps, for who has something to do between finding that a text is new and adding it:
 * it is hashed once. The hash is of this text in this table; a text that is added so must be new.
 */
uint64_t intern__hash(const struct intern *t, struct dcm_str s);
uint32_t intern__find_hashed(const struct intern *t, struct dcm_str s, uint64_t hash);
uint32_t intern__add_new(struct intern *t, struct dcm_str s, uint64_t hash);

/* What it takes in memory. */
static inline uint64_t intern__bytes(const struct intern *t)
{
	return t->arena.total_bytes + t->cap * sizeof(*t->texts) +
	       (uint64_t)t->index.cap * sizeof(*t->index.slots);
}

static inline struct dcm_str intern__text(const struct intern *t, uint32_t id)
{
	return t->texts[id];
}

#endif
