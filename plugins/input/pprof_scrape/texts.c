/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/texts.c - texts that many targets have, each once
 *
 * Chains of a table that doubles. Texts are allocated alone, because each goes at a time of its own.
 */
#include "plugins/input/pprof_scrape/texts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/base/str.h"

enum { FIRST_BUCKETS = 256 };

void texts__fini(struct texts *t)
{
	assert(t->n == 0);
	free(t->buckets);
	*t = (struct texts){ 0 };
}

static size_t bytes_of(uint32_t n)
{
	return sizeof(struct text) + n + 1;
}

static struct text **bucket(const struct texts *t, uint32_t hash)
{
	return &t->buckets[hash & (t->n_buckets - 1)];
}

/* One that cannot grow goes on with longer chains. False: there is none at all. */
static bool grow(struct texts *t)
{
	struct texts larger = { .n_buckets = t->n_buckets ? t->n_buckets * 2 : FIRST_BUCKETS };

	if (t->n < t->n_buckets || t->n_buckets > UINT32_MAX / 2)
		return true;
	larger.buckets = mem__zalloc(larger.n_buckets, sizeof(*larger.buckets));
	if (!larger.buckets)
		return t->n_buckets > 0;
	for (uint32_t i = 0; i < t->n_buckets; i++)
		for (struct text *x = t->buckets[i], *next; x; x = next) {
			next = x->next;
			x->next = *bucket(&larger, x->hash);
			*bucket(&larger, x->hash) = x;
		}
	free(t->buckets);
	t->buckets = larger.buckets;
	t->n_buckets = larger.n_buckets;
	return true;
}

static struct text *add(struct texts *t, struct dcm_str s, uint32_t hash)
{
	struct text *x = grow(t) ? malloc(bytes_of(s.n)) : NULL;

	if (!x)
		return NULL;
	*x = (struct text){ .next = *bucket(t, hash), .hash = hash, .n_holders = 1, .n = s.n };
	if (s.n)
		memcpy(x->p, s.p, s.n);
	x->p[s.n] = '\0';
	*bucket(t, hash) = x;
	t->n++;
	t->n_bytes += bytes_of(s.n);
	return x;
}

struct text *texts__hold(struct texts *t, struct dcm_str s)
{
	const uint32_t hash = (uint32_t)hash__bytes(s.p, s.n, 0);

	for (struct text *x = t->n_buckets ? *bucket(t, hash) : NULL; x; x = x->next)
		if (x->hash == hash && str__eq(text__str(x), s)) {
			x->n_holders++;
			return x;
		}
	return add(t, s, hash);
}

void texts__release(struct texts *t, struct text *x)
{
	struct text **at;

	if (!x || --x->n_holders)
		return;
	for (at = bucket(t, x->hash); *at != x; at = &(*at)->next)
		;
	*at = x->next;
	t->n--;
	t->n_bytes -= bytes_of(x->n);
	free(x);
}
