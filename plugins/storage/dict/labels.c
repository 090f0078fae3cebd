/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/storage/dict/labels.c - series come in; a matcher clears those that it does not take
 */
#include "plugins/storage/dict/labels.h"

#include <errno.h>
#include <string.h>

#include "core/base/cleanup.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "plugins/storage/dict/dict.h"

enum {
	CHUNK_FIRST_BYTES = 16,
	GO_ON_SERIES = 1024, /* brought in between two looks */
	FETCH_VALUES = 32,
};

/* A part of a list, behind the part before it; the last one points to the first. */
struct labels_chunk {
	struct labels_chunk *next;
	uint32_t cap, used;
	uint8_t bytes[];
};

void labels__init(struct labels *ix)
{
	*ix = (struct labels){ 0 };
	pthread_mutex_init(&ix->lock, NULL);
}

static struct labels_name *name_at(const struct labels *ix, uint32_t at)
{
	return POOL_AT(&ix->names, struct labels_name, at);
}

static struct labels_value *value_at(const struct labels *ix, uint32_t at)
{
	return POOL_AT(&ix->values, struct labels_value, at);
}

void labels__fini(struct labels *ix)
{
	for (uint32_t i = 0; i < ix->names.n; i++)
		vec__fini(&name_at(ix, i)->runs);
	pool__fini(&ix->names);
	pool__fini(&ix->values);
	hindex__fini(&ix->name_ids);
	hindex__fini(&ix->name_texts);
	hindex__fini(&ix->value_ids);
	hindex__fini(&ix->value_texts);
	vec__fini(&ix->ids);
	arena__fini(&ix->arena);
	pthread_mutex_destroy(&ix->lock);
}

static void count_bytes(struct labels *ix)
{
	const uint64_t slots = (uint64_t)ix->name_ids.cap + ix->name_texts.cap + ix->value_ids.cap +
			       ix->value_texts.cap;

	atomic_store_explicit(&ix->bytes,
			      ix->arena.total_bytes + ix->names.bytes + ix->values.bytes +
				      slots * sizeof(uint64_t) +
				      ix->ids.cap * sizeof(ix->ids.v[0]) + ix->run_bytes,
			      memory_order_relaxed);
}

/* -------------------------------------------------------------------------------------------------
 * Lists
 */

static uint32_t difference_bytes(uint32_t v)
{
	return (38 - (uint32_t)__builtin_clz(v | 1)) / 7;
}

static void put_difference(uint8_t *to, uint32_t v)
{
	for (; v >= 0x80; v >>= 7)
		*to++ = (uint8_t)(v | 0x80);
	*to = (uint8_t)v;
}

/* The chunk in which there is room for n bytes; NULL when memory ran out. */
static struct labels_chunk *chunk_for(struct labels *ix, struct labels_value *v, uint32_t n)
{
	struct labels_chunk *tail = v->tail;

	if (tail && tail->cap - tail->used >= n)
		return tail;
	const uint32_t cap = !tail				  ? (uint32_t)CHUNK_FIRST_BYTES
			     : tail->cap < LABELS_CHUNK_MAX_BYTES ? 2 * tail->cap
								  : tail->cap;
	struct labels_chunk *c = arena__alloc(&ix->arena, sizeof(*c) + cap);
	if (!c)
		return NULL;
	*c = (struct labels_chunk){ .next = tail ? tail->next : c, .cap = cap };
	if (tail)
		tail->next = c;
	return v->tail = c;
}

/* A series above all those that have the value already. */
static int add_to_value(struct labels *ix, struct labels_value *v, uint32_t series)
{
	const uint32_t difference = series - v->last, n = difference_bytes(difference);

	if (!v->tail && v->n_inline + n <= LABELS_INLINE_BYTES) {
		put_difference(v->inline_bytes + v->n_inline, difference);
		v->n_inline = (uint8_t)(v->n_inline + n);
	} else {
		struct labels_chunk *c = chunk_for(ix, v, n);

		if (!c)
			return -ENOMEM;
		put_difference(c->bytes + c->used, difference);
		c->used += n;
	}
	v->last = series;
	v->n++;
	return 0;
}

/* Clears the bits of series below n_series; returns the last one that was read. */
static uint32_t clear_part(const uint8_t *p, uint32_t n, uint32_t series, uint64_t *bits, uint32_t n_series)
{
	for (const uint8_t *end = p + n; p < end;) {
		uint32_t difference = *p & 0x7f;

		for (unsigned shift = 7; *p++ & 0x80; shift += 7)
			difference |= (uint32_t)(*p & 0x7f) << shift;
		series += difference;
		if (series >= n_series)
			return series;
		bits[series / 64] &= ~(UINT64_C(1) << series % 64);
	}
	return series;
}

static void clear_value(const struct labels_value *v, uint64_t *bits, uint32_t n_series)
{
	uint32_t at = clear_part(v->inline_bytes, v->n_inline, 0, bits, n_series);
	const struct labels_chunk *c = v->tail;

	while (c && at < n_series) {
		c = c->next;
		at = clear_part(c->bytes, c->used, at, bits, n_series);
		if (c == v->tail)
			return;
	}
}

/* -------------------------------------------------------------------------------------------------
 * Series come in
 */

static uint32_t find_name(const struct labels *ix, struct dcm_str text)
{
	const uint64_t h = hash__bytes(text.p, text.n, 0);
	uint32_t row, at = hindex__first(&ix->name_texts, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&ix->name_texts, h, at, &row))
		if (str__eq(name_at(ix, row)->text, text))
			return row;
	return DCM_NONE;
}

static uint32_t add_name(struct labels *ix, struct dcm_str text)
{
	struct labels_name *entry = POOL_PUSH(&ix->names, struct labels_name);

	if (!entry)
		return DCM_NONE;
	entry->text = text;
	entry->newest = DCM_NONE;
	return dict__admit(&ix->names, &ix->name_texts, hash__bytes(text.p, text.n, 0));
}

/* The number of the name that the dictionary's string is; DCM_NONE when memory ran out. */
static uint32_t name_of(struct labels *ix, const struct dict *d, uint32_t string)
{
	const uint64_t h = hash__mix(0, string);
	uint32_t row, at = hindex__first(&ix->name_ids, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&ix->name_ids, h, at, &row))
		if (ix->ids.v[row].string == string)
			return ix->ids.v[row].name;
	const struct dcm_str text = dict__str(d, string);
	uint32_t name = find_name(ix, text);
	if (name == DCM_NONE)
		name = add_name(ix, text);
	if (name == DCM_NONE || !vec__reserve(&ix->ids, 1) ||
	    hindex__insert(&ix->name_ids, h, (uint32_t)ix->ids.n) < 0)
		return DCM_NONE;
	ix->ids.v[ix->ids.n++] = (struct labels_name_id){ string, name };
	return name;
}

static uint64_t text_hash(uint32_t name, struct dcm_str text)
{
	return hash__bytes(text.p, text.n, name);
}

/* Of the dictionary's strings, so that where a value stands can be fetched before its name is known. */
static uint64_t pair_hash(const struct dcm_pair *pair)
{
	return hash__mix(hash__mix(0, pair->name), pair->value);
}

static struct labels_value *add_value(struct labels *ix, const struct dict *d, uint32_t name,
				      uint32_t text, uint64_t id_hash)
{
	struct labels_name *of = name_at(ix, name);
	struct labels_value *entry = POOL_PUSH(&ix->values, struct labels_value);

	if (!entry || hindex__reserve(&ix->value_texts, ix->value_texts.n + 1) < 0)
		return NULL;
	*entry = (struct labels_value){ .text = text, .name = name, .next = of->newest };
	const uint32_t at = dict__admit(&ix->values, &ix->value_ids, id_hash);
	if (at == DCM_NONE ||
	    hindex__insert(&ix->value_texts, text_hash(name, dict__str(d, text)), at) < 0)
		return NULL;
	of->newest = at;
	of->n_values++;
	return entry;
}

static struct labels_value *value_of(struct labels *ix, const struct dict *d, uint32_t name,
				     const struct dcm_pair *pair)
{
	const uint64_t h = pair_hash(pair);
	uint32_t row, at = hindex__first(&ix->value_ids, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&ix->value_ids, h, at, &row)) {
		struct labels_value *v = value_at(ix, row);

		if (v->name == name && v->text == pair->value)
			return v;
	}
	return add_value(ix, d, name, pair->value, h);
}

/* The runs that hold the series too: room for it, so that adding it cannot fail. */
static int reserve_run(struct labels *ix, struct labels_name *name)
{
	const size_t had = name->runs.cap;

	if (!vec__reserve(&name->runs, 1))
		return -ENOMEM;
	ix->run_bytes += (name->runs.cap - had) * sizeof(name->runs.v[0]);
	return 0;
}

static void add_to_name(struct labels_name *name, uint32_t series)
{
	struct labels_run *last = name->runs.n ? &name->runs.v[name->runs.n - 1] : NULL;

	if (last && last->end == series)
		last->end++;
	else
		name->runs.v[name->runs.n++] = (struct labels_run){ series, series + 1 };
	name->n++;
}

static bool has_series(const struct labels_name *name, uint32_t series)
{
	return name->runs.n && name->runs.v[name->runs.n - 1].end > series;
}

/*
 * Of two labels of one name, which only a damaged dictionary has, the first counts. A label that
 * came in before memory ran out is met again, and passed over.
 */
static int add_series(struct labels *ix, const struct dict *d, uint32_t series)
{
	const struct dict_series *s = dict__series_at(d, series);

	for (uint32_t i = 0; i < s->n; i++) {
		const uint32_t at = name_of(ix, d, s->pairs[i].name);
		if (at == DCM_NONE)
			return -ENOMEM;
		struct labels_name *name = name_at(ix, at);
		if (has_series(name, series))
			continue;
		struct labels_value *v = value_of(ix, d, at, &s->pairs[i]);
		if (!v || reserve_run(ix, name) < 0 || add_to_value(ix, v, series) < 0)
			return -ENOMEM;
		add_to_name(name, series);
	}
	return 0;
}

/* The value itself but for rare ones, whose hashes are alike: good enough to fetch. NULL: it is new. */
static const struct labels_value *likely_value(const struct labels *ix, const struct dcm_pair *pair)
{
	uint32_t row;

	hindex__first(&ix->value_ids, pair_hash(pair), &row);
	return row == HINDEX_NONE ? NULL : value_at(ix, row);
}

static void fetch_values(const struct labels *ix, const struct dict_series *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct labels_value *v = likely_value(ix, &s->pairs[i]);

		if (!v)
			continue;
		/* Half of them lie in two lines of the cache. */
		__builtin_prefetch(v, 1);
		__builtin_prefetch((const char *)(v + 1) - 1, 1);
	}
}

static void fetch_tails(const struct labels *ix, const struct dict_series *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct labels_value *v = likely_value(ix, &s->pairs[i]);

		if (v && v->tail)
			__builtin_prefetch(v->tail, 1);
	}
}

/*
 * Values of series lie here and there. They come from memory while other series are brought in: of
 * one that comes later the slots of the index, of one that comes sooner the values, which these are
 * there by then to tell, and of one that is next the ends of their lists.
 */
static void fetch_ahead(const struct labels *ix, const struct dict *d, uint32_t series, uint32_t n)
{
	enum { NEXT = 2, SOON = 5, LATER = 8 };
	const uint32_t left = n - series;

	if (left > LATER) {
		const struct dict_series *s = dict__series_at(d, series + LATER);

		for (uint32_t i = 0; i < s->n; i++)
			hindex__prefetch(&ix->value_ids, pair_hash(&s->pairs[i]));
	}
	if (left > SOON)
		fetch_values(ix, dict__series_at(d, series + SOON));
	if (left > NEXT)
		fetch_tails(ix, dict__series_at(d, series + NEXT));
}

int labels__extend(struct dict *d, uint32_t n, labels_go_on_fn go_on, void *ctx)
{
	struct labels *ix = &d->labels;
	int r = 0;

	pthread_mutex_lock(&ix->lock);
	if (ix->n_series < n) {
		while (r == 0 && ix->n_series < n) {
			if (go_on && ix->n_series % GO_ON_SERIES == 0)
				r = go_on(ctx);
			fetch_ahead(ix, d, ix->n_series, n);
			if (r == 0)
				r = add_series(ix, d, ix->n_series);
			ix->n_series += r == 0;
		}
		count_bytes(ix);
	}
	pthread_mutex_unlock(&ix->lock);
	return r;
}

/* -------------------------------------------------------------------------------------------------
 * Matchers
 */

/* What a matcher says of a name's values, newest first, as they were at one moment. */
struct verdicts {
	uint32_t newest, n;
	uint64_t *taken; /* a bit for each */
};

static bool is_taken(const struct verdicts *v, uint32_t i)
{
	return v->taken[i / 64] >> i % 64 & 1;
}

/*
 * Without the lock: neither texts nor the order of values change. Texts lie far apart, and are
 * fetched some at a time so that their way from memory is waited for once.
 */
static int judge_values(const struct dict *d, const struct labels_test *test, struct verdicts *v)
{
	struct dcm_str texts[FETCH_VALUES];
	uint32_t at = v->newest;

	v->taken = mem__zalloc(v->n / 64 + 1, sizeof(uint64_t));
	if (!v->taken)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n; i += FETCH_VALUES) {
		const uint32_t n = v->n - i < FETCH_VALUES ? v->n - i : FETCH_VALUES;

		for (uint32_t k = 0; k < n; k++) {
			const struct labels_value *value = value_at(&d->labels, at);

			texts[k] = dict__str(d, value->text);
			__builtin_prefetch(texts[k].p);
			at = value->next;
		}
		for (uint32_t k = 0; k < n; k++) {
			const int r = test->accepts(test->ctx, texts[k]);

			if (r < 0)
				return r;
			v->taken[(i + k) / 64] |= (uint64_t)(r > 0) << (i + k) % 64;
		}
	}
	return 0;
}

/* Series below n_series that have the name, as bits; NULL when memory ran out. */
static uint64_t *bits_of(const struct labels_name *name, uint32_t n_series)
{
	uint64_t *bits = mem__zalloc(n_series / 64 + 1, sizeof(*bits));

	for (size_t i = 0; bits && i < name->runs.n; i++) {
		uint32_t first = name->runs.v[i].first;
		const uint32_t end = name->runs.v[i].end < n_series ? name->runs.v[i].end : n_series;

		for (; first < end && first % 64; first++)
			bits[first / 64] |= UINT64_C(1) << first % 64;
		for (; first < end && end - first >= 64; first += 64)
			bits[first / 64] = UINT64_MAX;
		for (; first < end; first++)
			bits[first / 64] |= UINT64_C(1) << first % 64;
	}
	return bits;
}

static void clear_all(uint64_t *bits, const uint64_t *these, uint32_t n_series)
{
	for (uint32_t i = 0; i < (n_series + 63) / 64; i++)
		bits[i] &= ~these[i];
}

/* By the lists of those that are taken or of those that are not, whichever are shorter. */
static int clear_judged(const struct labels *ix, const struct labels_name *name,
			const struct verdicts *v, uint64_t *bits, uint32_t n_series)
{
	CLEANUP(mem__freep) uint64_t *others = NULL;
	uint64_t n_taken = 0;
	uint32_t at = v->newest;

	for (uint32_t i = 0; i < v->n; i++, at = value_at(ix, at)->next)
		n_taken += is_taken(v, i) ? value_at(ix, at)->n : 0;
	const bool by_taken = n_taken < name->n / 2;
	if (by_taken && !(others = bits_of(name, n_series)))
		return -ENOMEM;
	at = v->newest;
	for (uint32_t i = 0; i < v->n; i++, at = value_at(ix, at)->next)
		if (is_taken(v, i) == by_taken)
			clear_value(value_at(ix, at), by_taken ? others : bits, n_series);
	if (by_taken)
		clear_all(bits, others, n_series);
	return 0;
}

static int clear_by_accepts(struct dict *d, const struct labels_test *test, uint64_t *bits,
			    uint32_t n_series)
{
	struct labels *ix = &d->labels;
	struct verdicts v = { 0 };

	pthread_mutex_lock(&ix->lock);
	const uint32_t name = find_name(ix, test->name);
	if (name != DCM_NONE) {
		v.newest = name_at(ix, name)->newest;
		v.n = name_at(ix, name)->n_values;
	}
	pthread_mutex_unlock(&ix->lock);
	if (!v.n)
		return 0;
	int r = judge_values(d, test, &v);
	if (r == 0) {
		pthread_mutex_lock(&ix->lock);
		r = clear_judged(ix, name_at(ix, name), &v, bits, n_series);
		pthread_mutex_unlock(&ix->lock);
	}
	free(v.taken);
	return r;
}

/* Clears those whose value has the text; several values have it when a dictionary is damaged. */
static void clear_text(const struct dict *d, uint32_t name, struct dcm_str text, uint64_t *bits,
		       uint32_t n_series)
{
	const struct labels *ix = &d->labels;
	const uint64_t h = text_hash(name, text);
	uint32_t row, at = hindex__first(&ix->value_texts, h, &row);

	for (; row != HINDEX_NONE; at = hindex__next(&ix->value_texts, h, at, &row)) {
		const struct labels_value *v = value_at(ix, row);

		if (v->name == name && str__eq(dict__str(d, v->text), text))
			clear_value(v, bits, n_series);
	}
}

static int clear_by_text(struct dict *d, const struct labels_test *test, uint64_t *bits, uint32_t n_series)
{
	struct labels *ix = &d->labels;
	CLEANUP(mem__freep) uint64_t *others = NULL;
	int r = 0;

	pthread_mutex_lock(&ix->lock);
	const uint32_t name = find_name(ix, test->name);
	if (name != DCM_NONE && test->negated) {
		clear_text(d, name, *test->equals, bits, n_series);
	} else if (name != DCM_NONE) {
		others = bits_of(name_at(ix, name), n_series);
		if (others) {
			clear_text(d, name, *test->equals, others, n_series);
			clear_all(bits, others, n_series);
		} else {
			r = -ENOMEM;
		}
	}
	pthread_mutex_unlock(&ix->lock);
	return r;
}

uint32_t labels__n_values(struct dict *d, struct dcm_str name)
{
	struct labels *ix = &d->labels;

	pthread_mutex_lock(&ix->lock);
	const uint32_t at = find_name(ix, name);
	const uint32_t n = at == DCM_NONE ? 0 : name_at(ix, at)->n_values;
	pthread_mutex_unlock(&ix->lock);
	return n;
}

int labels__clear(struct dict *d, const struct labels_test *test, uint64_t *bits, uint32_t n_series)
{
	return test->equals ? clear_by_text(d, test, bits, n_series)
			    : clear_by_accepts(d, test, bits, n_series);
}
