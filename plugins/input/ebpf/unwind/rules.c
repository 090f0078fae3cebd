/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/ebpf/unwind/rules.c - a dictionary of distinct rules
 */
#include "plugins/input/ebpf/unwind/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

enum { FIRST_SLOTS = 256 };

static uint64_t key_of(struct unwind_rule rule)
{
	uint64_t key;

	_Static_assert(sizeof(rule) == sizeof(key), "a rule has eight bytes");
	memcpy(&key, &rule, sizeof(key));
	return key;
}

static uint32_t home(const struct rules *r, uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (r->n_slots - 1);
}

/* The slot that holds the key, or the free one where it belongs. */
static uint32_t slot_of(const struct rules *r, uint64_t key)
{
	uint32_t at = home(r, key);

	while (r->slots[at] && key_of(r->v[r->slots[at] - 1u]) != key)
		at = (at + 1) & (r->n_slots - 1);
	return at;
}

static int grow(struct rules *r)
{
	uint32_t n_slots = r->n_slots ? 2 * r->n_slots : FIRST_SLOTS;
	struct unwind_rule *v = mem__resize(r->v, n_slots / 2, sizeof(*v));
	uint16_t *slots;

	if (!v)
		return -ENOMEM;
	r->v = v;
	slots = mem__zalloc(n_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(r->slots);
	r->slots = slots;
	r->n_slots = n_slots;
	r->cap = n_slots / 2;
	for (uint32_t i = 0; i < r->n; i++)
		slots[slot_of(r, key_of(v[i]))] = (uint16_t)(i + 1);
	return 0;
}

int rules__init(struct rules *r)
{
	int rc;

	*r = (struct rules){ 0 };
	rc = rules__index(r, (struct unwind_rule){ .cfa = UNWIND_CFA_NONE });
	if (rc < 0)
		rules__fini(r);
	return rc < 0 ? rc : 0;
}

void rules__fini(struct rules *r)
{
	free(r->v);
	free(r->slots);
	*r = (struct rules){ 0 };
}

int rules__index(struct rules *r, struct unwind_rule rule)
{
	uint32_t at;

	if (r->n == r->cap && grow(r))
		return -ENOMEM;
	at = slot_of(r, key_of(rule));
	if (r->slots[at])
		return r->slots[at] - 1;
	if (r->n >= RULES_MAX - 1) {
		r->overflow++;
		rule = (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED, .cfa_off = UNWIND_GAP_RULES };
		at = slot_of(r, key_of(rule));
		if (r->slots[at])
			return r->slots[at] - 1;
	}
	r->v[r->n] = rule;
	r->slots[at] = (uint16_t)(++r->n);
	return (int)r->n - 1;
}
