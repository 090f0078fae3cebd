/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/dictionary.h - the dictionary of unwind rules, shared by all files
 *
 * Thirty large files together have some 1,600 distinct rules, so a row needs but a number. Rules
 * are never taken out; one that finds no room becomes one that ends a walk and says so. A file can
 * be made of rules that no other has: one may bring DICTIONARY_NEW of them, and no more than an
 * eighth of the room that is left, so that there is some for the files behind it.
 *
 * One thread at a time; programs read the memory meanwhile.
 */
#ifndef DECIMA_EBPF_TABLES_DICTIONARY_H
#define DECIMA_EBPF_TABLES_DICTIONARY_H

#include <stdint.h>

#include "core/base/hash.h"
#include "plugins/input/ebpf/unwind/rows.h"

enum { DICTIONARY_NEW = 4096, DICTIONARY_SHARE = 8 };

struct dictionary {
	struct unwind_rule *rule; /* [capacity], zeroed, the caller's */
	uint32_t capacity, n;
	uint64_t n_refused; /* rules that found no room, of all time */
	struct hindex index;
};

void dictionary__init(struct dictionary *r, struct unwind_rule *memory, uint32_t capacity);
void dictionary__fini(struct dictionary *r);

/* The number of each of a file's n rules; [0] is UNWIND_CFA_NONE and gets 0. 0 or -ENOMEM. */
int dictionary__numbers(struct dictionary *r, const struct unwind_rule *rules, uint32_t n,
			uint16_t *ret_numbers);

#endif
