/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/intern.c - text to a small number, and back
 *
 * The hash is seeded with the address of the table's first text, which another process cannot know:
 * texts come from outside, and nobody shall prepare a set of them that collide. Ids do not depend
 * on it. Single-threaded.
 */
#include "core/base/intern.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/str.h"

enum { CAP_MIN = 16 };

uint64_t intern__hash(const struct intern *t, struct dcm_str s)
{
	return hash__bytes(s.p, s.n, (uint64_t)(uintptr_t)t->texts[0].p);
}

uint32_t intern__find_hashed(const struct intern *t, struct dcm_str s, uint64_t h)
{
	if (s.n == 0)
		return 0;
	uint32_t row, at = hindex__first(&t->index, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&t->index, h, at, &row))
		if (str__eq(t->texts[row], s))
			return row;
	return INTERN_NONE;
}

int intern__init(struct intern *t)
{
	*t = (struct intern){ 0 };
	t->texts = mem__zalloc(CAP_MIN, sizeof(*t->texts));
	if (!t->texts)
		return -ENOMEM;
	t->texts[0] = arena__str(&t->arena, STR(""));
	if (!t->texts[0].p) {
		intern__fini(t);
		return -ENOMEM;
	}
	t->cap = CAP_MIN;
	t->n = 1;
	return 0;
}

void intern__fini(struct intern *t)
{
	arena__fini(&t->arena);
	hindex__fini(&t->index);
	free(t->texts);
	*t = (struct intern){ 0 };
}

static bool reserve(struct intern *t)
{
	struct dcm_str *texts;
	uint32_t cap = t->cap + t->cap / 2;

	if (t->n < t->cap)
		return true;
	if (cap < t->cap) /* 2^32 texts: each costs 16 bytes and more, so memory is out before */
		return false;
	texts = mem__resize(t->texts, cap, sizeof(*texts));
	if (!texts)
		return false;
	t->texts = texts;
	t->cap = cap;
	return true;
}

uint32_t intern__add_new(struct intern *t, struct dcm_str s, uint64_t h)
{
	if (!reserve(t))
		return INTERN_NONE;
	struct dcm_str copy = arena__str(&t->arena, s);
	if (!copy.p || hindex__insert(&t->index, h, t->n))
		return INTERN_NONE;
	t->texts[t->n] = copy;
	return t->n++;
}

uint32_t intern__add(struct intern *t, struct dcm_str s)
{
	assert(t->n > 0);
	uint64_t h = intern__hash(t, s);
	uint32_t id = intern__find_hashed(t, s, h);

	return id != INTERN_NONE ? id : intern__add_new(t, s, h);
}

uint32_t intern__find(const struct intern *t, struct dcm_str s)
{
	return intern__find_hashed(t, s, intern__hash(t, s));
}
