/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/tables/dictionary.c - the dictionary of unwind rules, shared by all files
 */
#include "plugins/input/ebpf/tables/dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

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
	free(r->free);
}

static uint64_t hash_of(const struct unwind_rule *rule)
{
	return hash__bytes(rule, sizeof(*rule), 0);
}

/* *left: new rules that may be added. */
static int number_of(struct dictionary *r, const struct unwind_rule *rule, uint32_t *left, uint16_t *ret)
{
	uint64_t h = hash_of(rule);
	uint32_t row, at;

	for (at = hindex__first(&r->index, h, &row); row != HINDEX_NONE;
	     at = hindex__next(&r->index, h, at, &row))
		if (memcmp(&r->rule[row], rule, sizeof(*rule)) == 0) {
			*ret = (uint16_t)row;
			return 0;
		}
	if (*left == 0) {
		r->n_refused++;
		*ret = FULL;
		return 0;
	}
	row = r->n_free ? r->free[r->n_free - 1] : r->n;
	if (hindex__insert(&r->index, h, row) < 0)
		return -ENOMEM;
	r->rule[row] = *rule;
	*ret = (uint16_t)row;
	if (r->n_free)
		r->n_free--;
	else
		r->n++;
	--*left;
	return 0;
}

int dictionary__numbers(struct dictionary *r, const struct unwind_rule *rules, uint32_t n,
			uint16_t *ret_numbers)
{
	uint32_t share = (dictionary__room(r) + DICTIONARY_SHARE - 1) / DICTIONARY_SHARE;
	uint32_t left = share < DICTIONARY_NEW ? share : DICTIONARY_NEW;

	ret_numbers[0] = NONE;
	for (uint32_t i = 1; i < n; i++) {
		int error = number_of(r, &rules[i], &left, &ret_numbers[i]);

		if (error < 0)
			return error;
	}
	return 0;
}

int dictionary__keep(struct dictionary *r, const bool *is_used)
{
	if (!r->free)
		r->free = mem__zalloc(r->capacity, sizeof(*r->free));
	if (!r->free)
		return -ENOMEM;
	hindex__clear(&r->index);
	r->n_free = 0;
	for (uint32_t i = FIRST; i < r->n; i++) {
		if (!is_used[i])
			r->free[r->n_free++] = (uint16_t)i;
		else
			hindex__insert(&r->index, hash_of(&r->rule[i]), i); /* there is room: it was there */
	}
	return 0;
}
