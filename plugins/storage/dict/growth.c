/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/growth.c - what has made a dictionary large
 */
#include "plugins/storage/dict/growth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/base/str.h"
#include "core/base/vec.h"

enum { PAIRS_MAX = 1 << 17, NAME_MAX_BYTES = 48 };

/* A label's name, and what stands for its value. */
struct label_pair {
	uint32_t name;
	uint64_t value;
};

struct pairs {
	VEC(struct label_pair);
	bool failed;
};

static void add(struct pairs *p, uint32_t name, uint64_t value)
{
	if (p->n < PAIRS_MAX && !vec__push(p, ((struct label_pair){ name, value })))
		p->failed = true;
}

static int compare(const void *a, const void *b)
{
	const struct label_pair *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/* The name that has most values, and how many; false: there is none. */
static bool widest(struct pairs *p, uint32_t *ret_name, uint32_t *ret_n)
{
	uint32_t n = 0, most = 0;

	if (p->failed || p->n == 0)
		return false;
	qsort(p->v, p->n, sizeof(p->v[0]), compare);
	for (size_t i = 0; i < p->n; i++) {
		const bool same_name = i > 0 && p->v[i].name == p->v[i - 1].name;

		n = same_name ? n + (p->v[i].value != p->v[i - 1].value) : 1;
		if (n > most) {
			most = n;
			*ret_name = p->v[i].name;
		}
	}
	*ret_n = most;
	return true;
}

static void put_widest(const struct dict *d, struct pairs *p, uint32_t n_newest, struct buf *to)
{
	uint32_t name = 0, n = 0;

	if (widest(p, &name, &n)) {
		struct dcm_str text = dict__str(d, name);

		text.n = text.n > NAME_MAX_BYTES ? (uint32_t)str__utf8_cut(text.p, NAME_MAX_BYTES)
						 : text.n;
		buf__printf(to, " (among the newest %" PRIu32 " the label ", n_newest);
		buf__str(to, text);
		buf__printf(to, " has %" PRIu32 " values)", n);
	}
	vec__fini(p);
}

static uint32_t first_of_newest(uint32_t n)
{
	return n > GROWTH_NEWEST ? n - GROWTH_NEWEST : 0;
}

static void put_series(const struct dict *d, uint32_t n, struct buf *to)
{
	const uint32_t first = first_of_newest(n);
	struct pairs p = { 0 };

	buf__printf(to, "%" PRIu32 " series", n);
	for (uint32_t i = first; i < n; i++) {
		const struct dict_series *s = dict__series_at(d, i);

		for (uint32_t k = 0; k < s->n; k++)
			add(&p, s->pairs[k].name, s->pairs[k].value);
	}
	put_widest(d, &p, n - first, to);
}

static void put_label_sets(const struct dict *d, uint32_t n, struct buf *to)
{
	const uint32_t first = first_of_newest(n);
	struct pairs p = { 0 };

	buf__printf(to, ", %" PRIu32 " label sets", n);
	for (uint32_t i = first; i < n; i++) {
		const struct dict_label_set *s = dict__label_set_at(d, i);

		for (uint32_t k = 0; k < s->n; k++)
			add(&p, s->labels[k].name,
			    hash__mix(s->labels[k].str, (uint64_t)s->labels[k].num));
	}
	put_widest(d, &p, n - first, to);
}

void growth__describe(const struct dict *d, const struct dict_counts *counts,
		      char ret[static GROWTH_BYTES])
{
	struct buf text = { 0 };

	put_series(d, counts->series, &text);
	put_label_sets(d, counts->label_sets, &text);
	buf__printf(&text, ", %" PRIu32 " stacks", counts->stacks);
	if (text.error)
		snprintf(ret, GROWTH_BYTES, "%" PRIu32 " series", counts->series);
	else
		snprintf(ret, GROWTH_BYTES, "%.*s", (int)text.n, (const char *)text.data);
	buf__fini(&text);
}
