/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/dictionary.h - the dictionary of unwind rules, shared by all files
 *
 * Thirty large files together have some 1,600 distinct rules, 1,500 of all sizes 3,600, so a row
 * needs but a number. A rule that finds no room becomes one that ends a walk and says so. A file
 * can be made of rules that no other has: one may bring DICTIONARY_NEW of them, and no more than an
 * eighth of the room that is left, so that there is some for the files behind it. When little is
 * left, rules of files that have gone are looked for, and their numbers given to others.
 *
 * One thread at a time; programs read the memory meanwhile.
 */
#ifndef DECIMA_EBPF_TABLES_DICTIONARY_H
#define DECIMA_EBPF_TABLES_DICTIONARY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/hash.h"
#include "plugins/input/ebpf/unwind/rows.h"

enum { DICTIONARY_NEW = 4096, DICTIONARY_SHARE = 8 };

struct dictionary {
	struct unwind_rule *rule; /* [capacity], zeroed, the caller's */
	uint32_t capacity, n;	  /* n: numbers that were ever given */
	uint16_t *free;		  /* [n_free] of them that nobody has; NULL: never looked for */
	uint32_t n_free;
	uint64_t n_refused; /* rules that found no room, of all time */
	struct hindex index;
};

void dictionary__init(struct dictionary *r, struct unwind_rule *memory, uint32_t capacity);
void dictionary__fini(struct dictionary *r);

/* The number of each of a file's n rules; [0] is UNWIND_CFA_NONE and gets 0. 0 or -ENOMEM. */
int dictionary__numbers(struct dictionary *r, const struct unwind_rule *rules, uint32_t n,
			uint16_t *ret_numbers);

/* How many more rules it could take. */
static inline uint32_t dictionary__room(const struct dictionary *r)
{
	return r->capacity - r->n + r->n_free;
}

/*
 * Keeps the rules of which is_used[number] says so; the numbers of all others are given anew. No
 * walk looks at these any more, and `recycled` (bpf/tables.h) was raised since one could. 0 or
 * -ENOMEM: nothing has changed.
 */
int dictionary__keep(struct dictionary *r, const bool *is_used);

#endif
