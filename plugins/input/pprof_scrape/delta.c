/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/pprof_scrape/delta.c - values that count up from a program's start, as what was added
 *
 * A scrape is added up into a new table, so that stacks that went are forgotten; only when it is
 * complete is it compared with the one before, because equal rows may come several times. The table
 * is filled to 7/8, for memory: two thousand targets have one each.
 */
#include "plugins/input/pprof_scrape/delta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/mem.h"

#define FACTOR 0x9fb21c651e98df25u /* odd, and else of no meaning */

void delta__fini(struct delta *d)
{
	free(d->slots);
	free(d->values);
	*d = (struct delta){ 0 };
}

static uint64_t cap_of(uint64_t n_rows)
{
	return n_rows + n_rows / 7 + 8;
}

static uint64_t bytes_of_cap(uint64_t cap, uint32_t n_columns)
{
	return cap * (sizeof(uint64_t) + n_columns * sizeof(int64_t));
}

uint64_t delta__bytes(const struct delta *d)
{
	return bytes_of_cap(d->cap, d->n_columns);
}

uint64_t delta__bytes_of(uint64_t n_rows, uint32_t n_columns)
{
	return bytes_of_cap(cap_of(n_rows), n_columns);
}

/* ---- the table ---- */

static int table_new(struct delta *t, uint32_t n_rows, uint32_t n_columns)
{
	uint32_t cap = (uint32_t)cap_of(n_rows);

	*t = (struct delta){ .cap = cap, .n_columns = n_columns, .has_base = true };
	t->slots = mem__zalloc(cap, sizeof(*t->slots));
	t->values = mem__zalloc((size_t)cap * n_columns, sizeof(*t->values));
	if (t->slots && t->values)
		return 0;
	delta__fini(t);
	return -ENOMEM;
}

/* The place of the hash, or of the empty slot where it would be. */
static uint32_t find(const struct delta *t, uint64_t hash)
{
	uint32_t at = (uint32_t)((hash >> 32) * t->cap >> 32);

	while (t->slots[at] && t->slots[at] != hash)
		at = at + 1 < t->cap ? at + 1 : 0;
	return at;
}

/* ---- what tells rows apart ---- */

static uint64_t hash_text(const struct dcm_batch *b, uint32_t id, uint64_t seed)
{
	return hash__bytes(b->strings[id].p, b->strings[id].n, seed);
}

static uint64_t hash_label_set(const struct dcm_batch *b, uint32_t set)
{
	const struct dcm_span span = b->label_sets[set];
	uint64_t h = span.n;

	for (uint32_t i = 0; i < span.n; i++) {
		const struct dcm_label *l = &b->labels[span.off + i];

		h = hash_text(b, l->name, h);
		h = l->unit == DCM_NONE ? hash_text(b, l->str, h)
					: hash_text(b, l->unit, hash__mix(h, (uint64_t)l->num));
	}
	return h;
}

/*
 * The low halves of the locations' hashes say enough: two of a target's that share one are not met. They are numbers of
 * chance already, so a polynomial of them is, in the odd and the even places by itself: a processor works at both at once.
 */
static uint64_t hash_stack(const struct dcm_batch *b, uint32_t stack)
{
	const struct dcm_span span = b->stacks[stack];
	const uint32_t *ids = b->stack_locations + span.off;
	uint64_t even = span.n, odd = 0;
	uint32_t i = 0;

	for (; i + 1 < span.n; i += 2) {
		even = even * FACTOR + b->location_hashes[ids[i]].lo;
		odd = odd * FACTOR + b->location_hashes[ids[i + 1]].lo;
	}
	if (i < span.n)
		even = even * FACTOR + b->location_hashes[ids[i]].lo;
	return hash__mix(even, odd);
}

/* Of each row; label sets are hashed once each. NULL: out of memory. */
static uint64_t *hash_rows(const struct delta_scrape *from, const struct dcm_profile *p)
{
	const struct dcm_batch *b = from->batch;
	uint64_t *sets = mem__zalloc(b->n_label_sets + 1, sizeof(*sets));
	uint64_t *rows = mem__zalloc((size_t)p->n_rows + 1, sizeof(*rows));

	if (!sets || !rows) {
		free(sets);
		free(rows);
		return NULL;
	}
	for (uint32_t i = 0; i < b->n_label_sets && !from->by_stack; i++)
		sets[i] = hash_label_set(b, i);
	for (uint32_t r = 0; r < p->n_rows; r++) {
		const uint64_t h = hash__mix(hash_stack(b, b->row_stacks[p->row_off + r]),
					     sets[b->row_labels[p->row_off + r]]);

		rows[r] = h ? h : 1;
	}
	free(sets);
	return rows;
}

/* ---- a scrape ---- */

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return a < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t subtract(int64_t a, int64_t b)
{
	int64_t difference;

	if (!__builtin_sub_overflow(a, b, &difference))
		return difference;
	return a < 0 ? INT64_MIN : INT64_MAX;
}

/* What one scrape is compared by, so that each of its rows and stacks is searched for once. */
struct sight {
	uint64_t *hashes; /* [rows] */
	uint32_t *at;	  /* [rows]: the row's slot */
	uint32_t *before; /* [cap]: of a slot, the one of the scrape before, and 1; 0: it was not there */
	int64_t *left; /* [cap * columns]: values that no row has told yet */
};

static void sight_fini(struct sight *s)
{
	free(s->hashes);
	free(s->at);
	free(s->before);
	free(s->left);
}

static void fill(struct delta *t, struct sight *s, const struct dcm_profile *p, uint32_t columns,
		 const int64_t *values)
{
	for (uint32_t r = 0; r < p->n_rows; r++, values += p->n_types) {
		uint32_t at = find(t, s->hashes[r]), k = 0;
		int64_t *to = t->values + (size_t)at * t->n_columns;

		t->n += t->slots[at] == 0;
		t->slots[at] = s->hashes[r];
		s->at[r] = at;
		for (uint32_t c = 0; c < p->n_types; c++)
			if (columns >> c & 1) {
				to[k] = add(to[k], values[c]);
				k++;
			}
	}
}

/*
 * Finds what was there before in the scrape of now. Did any value decrease that does not while the program lives?
 * `steady`: bits of the table's columns. One that is not there any more is 0.
 */
static bool has_decreased(const struct delta *before, const struct delta *now, uint32_t steady,
			  struct sight *s)
{
	for (uint32_t i = 0; i < before->cap; i++) {
		const int64_t *old = before->values + (size_t)i * before->n_columns;
		uint32_t at;

		if (!before->slots[i])
			continue;
		at = find(now, before->slots[i]);
		if (now->slots[at])
			s->before[at] = i + 1;
		for (uint32_t k = 0; k < before->n_columns; k++)
			if (steady >> k & 1 &&
			    (now->slots[at] ? now->values[(size_t)at * now->n_columns + k] : 0) < old[k])
				return true;
	}
	return false;
}

/* What became less, and still is of the same program, is an estimate: nothing was added. */
static int64_t added(int64_t now, const int64_t *before)
{
	if (!before)
		return now;
	return now > *before ? subtract(now, *before) : 0;
}

/*
 * Writes the differences; of equal rows the first has it all. A slot's values are marked as told by
 * taking them from `left`, a copy of the table's. `before` is NULL when all counts from 0.
 */
static void write_differences(const struct delta *before, const struct delta *now, struct sight *s,
			      const struct dcm_profile *p, uint32_t columns, bool counts, int64_t *values)
{
	for (uint32_t r = 0; r < p->n_rows; r++, values += p->n_types) {
		uint32_t at = s->at[r], k = 0, i = before ? s->before[at] : 0;
		const int64_t *old = i ? before->values + (size_t)(i - 1) * before->n_columns : NULL;

		for (uint32_t c = 0; c < p->n_types; c++) {
			int64_t *rest = &s->left[(size_t)at * now->n_columns + k];

			if (!(columns >> c & 1))
				continue;
			values[c] = counts && *rest ? added(*rest, old ? &old[k] : NULL) : 0;
			*rest = 0;
			k++;
		}
	}
}

/* An estimate that fell stays the highest that was told, so that it is not told again when it rises. */
static void keep_highest(const struct delta *before, struct delta *now, uint32_t steady,
			 const struct sight *s)
{
	/* Where nothing is an estimate there is nothing to do, and the table is large. */
	if (steady == (1u << now->n_columns) - 1)
		return;
	for (uint32_t at = 0; at < now->cap; at++) {
		const int64_t *old;
		int64_t *new = now->values + (size_t)at * now->n_columns;

		if (!s->before[at])
			continue;
		old = before->values + (size_t)(s->before[at] - 1) * before->n_columns;
		for (uint32_t k = 0; k < now->n_columns; k++)
			if (!(steady >> k & 1) && new[k] < old[k])
				new[k] = old[k];
	}
}

static int64_t *copy_values(const struct delta *t)
{
	size_t n = (size_t)t->cap * t->n_columns;
	int64_t *copy = mem__zalloc(n, sizeof(*copy));

	if (copy)
		memcpy(copy, t->values, n * sizeof(*copy));
	return copy;
}

/* Sample types of columns, as a number. */
static uint64_t meaning_of(const struct dcm_batch *b, const struct dcm_profile *p, uint32_t columns)
{
	uint64_t h = 0;

	for (uint32_t c = 0; c < p->n_types; c++) {
		const struct dcm_type *t = &b->types[p->type_off + c];
		struct dcm_str type = b->strings[t->sample_type], unit = b->strings[t->sample_unit];

		if (columns >> c & 1)
			h = hash__bytes(unit.p, unit.n, hash__bytes(type.p, type.n, h + 1));
	}
	return h;
}

/* The steady ones as bits of the table's columns, which are those that count up, one after the other. */
static uint32_t steady_of(const struct delta_scrape *from, uint32_t n_types)
{
	uint32_t steady = 0, k = 0;

	for (uint32_t c = 0; c < n_types; c++)
		if (from->columns >> c & 1)
			steady |= (from->steady >> c & 1) << k++;
	return steady;
}

int delta__apply(const struct delta *d, const struct delta_scrape *from, int64_t *values,
		 struct delta *ret_next, bool *ret_is_first, bool *ret_is_reset)
{
	const struct dcm_profile *p = &from->batch->profiles[from->profile];
	uint32_t columns = from->columns, n_columns = (uint32_t)__builtin_popcount(columns);
	uint32_t steady = steady_of(from, p->n_types);
	uint64_t meaning = meaning_of(from->batch, p, columns);
	/* Of columns that mean something else nothing was there before. */
	bool first = !d->has_base || d->meaning != meaning;
	struct sight s = { .hashes = hash_rows(from, p),
			   .at = mem__zalloc((size_t)p->n_rows + 1, sizeof(*s.at)) };
	struct delta now = { 0 };
	bool reset;

	if (!s.hashes || !s.at || table_new(&now, p->n_rows, n_columns) < 0) {
		sight_fini(&s);
		return -ENOMEM;
	}
	fill(&now, &s, p, columns, values);
	s.left = copy_values(&now);
	s.before = mem__zalloc(now.cap, sizeof(*s.before));
	if (!s.left || !s.before) {
		sight_fini(&s);
		delta__fini(&now);
		return -ENOMEM;
	}
	now.meaning = meaning;
	reset = !first && has_decreased(d, &now, steady, &s);
	write_differences(first || reset ? NULL : d, &now, &s, p, columns, !first, values);
	if (!first && !reset)
		keep_highest(d, &now, steady, &s);
	sight_fini(&s);
	*ret_next = now;
	*ret_is_first = first;
	*ret_is_reset = reset;
	return 0;
}

void delta__replace(struct delta *d, struct delta *next)
{
	delta__fini(d);
	*d = *next;
	*next = (struct delta){ 0 };
}
