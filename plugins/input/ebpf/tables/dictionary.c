/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/dictionary.c - the dictionary of unwind rules, shared by all files
 */
#include "plugins/input/ebpf/tables/dictionary.h"

#include <errno.h>
#include <string.h>

enum {
	NONE = 0, /* UNWIND_CFA_NONE */
	FULL = 1, /* what a rule becomes that finds no room */
	FIRST = 2,
};

void dictionary__init(struct dictionary *r, struct unwind_rule *memory, uint32_t capacity)
{
	*r = (struct dictionary){ .rule = memory, .capacity = capacity, .n = FIRST };
	memory[FULL] = (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED, .cfa_off = UNWIND_GAP_RULES };
}

void dictionary__fini(struct dictionary *r)
{
	hindex__fini(&r->index);
}

/* `end`: the numbers from there on are for others. */
static int number_of(struct dictionary *r, const struct unwind_rule *rule, uint32_t end, uint16_t *ret)
{
	uint64_t h = hash__bytes(rule, sizeof(*rule), 0);
	uint32_t row, at;

	for (at = hindex__first(&r->index, h, &row); row != HINDEX_NONE;
	     at = hindex__next(&r->index, h, at, &row))
		if (memcmp(&r->rule[row], rule, sizeof(*rule)) == 0) {
			*ret = (uint16_t)row;
			return 0;
		}
	if (r->n >= end) {
		r->n_refused++;
		*ret = FULL;
		return 0;
	}
	if (hindex__insert(&r->index, h, r->n) < 0)
		return -ENOMEM;
	r->rule[r->n] = *rule;
	*ret = (uint16_t)r->n++;
	return 0;
}

int dictionary__numbers(struct dictionary *r, const struct unwind_rule *rules, uint32_t n,
			uint16_t *ret_numbers)
{
	uint32_t share = (r->capacity - r->n + DICTIONARY_SHARE - 1) / DICTIONARY_SHARE;
	uint32_t end = r->n + (share < DICTIONARY_NEW ? share : DICTIONARY_NEW);

	ret_numbers[0] = NONE;
	for (uint32_t i = 1; i < n; i++) {
		int error = number_of(r, &rules[i], end, &ret_numbers[i]);

		if (error < 0)
			return error;
	}
	return 0;
}
