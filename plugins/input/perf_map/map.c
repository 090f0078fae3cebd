/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/input/perf_map/map.c - names of address ranges, where the newest line wins
 *
 * Flattening is a sweep over the starts with a heap of the ranges that are open, the newest at its
 * top: what is written out is the top, until it ends or a start comes. It makes a level of new
 * lines, and one level of two.
 *
 * Threads: the owner's lock. Limits: max_bytes, MAP_MAX_LINE, MAP_MAX_NAME.
 */
#include "plugins/input/perf_map/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

/* A range while it is being flattened. */
struct open_range {
	uint64_t start, end;
	uint32_t age; /* the larger is newer */
	uint32_t name;
};

struct sweep {
	struct open_range *in; /* [n] by start */
	size_t n;
	uint32_t *heap; /* [n_heap] indexes into in, the newest at 0 */
	size_t n_heap;
	VEC(struct map_range) out;
};

/* --- generations --- */

static void generation_fini(struct map_generation *g)
{
	intern__fini(&g->names);
	for (uint32_t i = 0; i < g->n_levels; i++)
		free(g->levels[i].v);
	g->n_levels = 0;
	vec__fini(&g->fresh);
}

static uint64_t generation_bytes(const struct map_generation *g)
{
	uint64_t bytes = intern__bytes(&g->names) + g->fresh.cap * sizeof(*g->fresh.v);

	for (uint32_t i = 0; i < g->n_levels; i++)
		bytes += g->levels[i].n * sizeof(struct map_range);
	return bytes;
}

void map__init(struct map *m, uint64_t max_bytes)
{
	*m = (struct map){ .max_bytes = max_bytes };
}

void map__fini(struct map *m)
{
	generation_fini(&m->young);
	generation_fini(&m->old);
}

void map__reset(struct map *m)
{
	map__fini(m);
	*m = (struct map){
		.max_bytes = m->max_bytes,
		.n_lines = m->n_lines,
		.n_skipped = m->n_skipped,
		.n_forgotten = m->n_forgotten,
	};
}

uint64_t map__bytes(const struct map *m)
{
	return generation_bytes(&m->young) + generation_bytes(&m->old);
}

static uint64_t n_ranges_of(const struct map_generation *g)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < g->n_levels; i++)
		n += g->levels[i].n;
	return n;
}

uint64_t map__n_ranges(const struct map *m)
{
	return n_ranges_of(&m->young) + n_ranges_of(&m->old);
}

/* --- flattening --- */

static int by_start(const void *a, const void *b)
{
	const struct open_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static bool newer(const struct sweep *s, size_t a, size_t b)
{
	return s->in[s->heap[a]].age > s->in[s->heap[b]].age;
}

static void swap(struct sweep *s, size_t a, size_t b)
{
	uint32_t t = s->heap[a];

	s->heap[a] = s->heap[b];
	s->heap[b] = t;
}

static void heap_push(struct sweep *s, uint32_t index)
{
	size_t i = s->n_heap++;

	s->heap[i] = index;
	for (; i > 0 && newer(s, i, (i - 1) / 2); i = (i - 1) / 2)
		swap(s, i, (i - 1) / 2);
}

static void heap_pop(struct sweep *s)
{
	size_t i = 0;

	s->heap[0] = s->heap[--s->n_heap];
	for (;;) {
		size_t best = i, left = 2 * i + 1;

		if (left < s->n_heap && newer(s, left, best))
			best = left;
		if (left + 1 < s->n_heap && newer(s, left + 1, best))
			best = left + 1;
		if (best == i)
			return;
		swap(s, i, best);
		i = best;
	}
}

/* Appends [from, to), joined to the range before it when that is the same function. */
static int put(struct sweep *s, uint64_t from, uint64_t to, uint32_t name)
{
	struct map_range *last = s->out.n ? &s->out.v[s->out.n - 1] : NULL;
	struct map_range r = { from, (uint32_t)(to - from), name };

	if (last && last->name == name && last->start + last->bytes == from &&
	    last->bytes + (uint64_t)r.bytes <= MAP_MAX_RANGE) {
		last->bytes += r.bytes;
		return 0;
	}
	return vec__push(&s->out, r) ? 0 : -ENOMEM;
}

static int run_sweep(struct sweep *s)
{
	uint64_t at = 0;
	size_t next = 0;

	while (next < s->n || s->n_heap) {
		if (!s->n_heap)
			at = s->in[next].start;
		while (next < s->n && s->in[next].start <= at)
			heap_push(s, (uint32_t)next++);
		while (s->n_heap && s->in[s->heap[0]].end <= at)
			heap_pop(s);
		if (!s->n_heap)
			continue;

		const struct open_range *top = &s->in[s->heap[0]];
		uint64_t until = top->end;

		if (next < s->n && s->in[next].start < until)
			until = s->in[next].start;
		if (put(s, at, until, top->name))
			return -ENOMEM;
		at = until;
	}
	return 0;
}

/* Makes a level of the ranges, whose order says which is newer; `in` is put in order of start. */
static int flatten(struct open_range *in, size_t n, struct map_level *ret)
{
	struct sweep s = { .in = in, .n = n };
	int rc = -ENOMEM;

	qsort(in, n, sizeof(*in), by_start);
	s.heap = mem__zalloc(n, sizeof(*s.heap));
	if (s.heap)
		rc = run_sweep(&s);
	free(s.heap);
	if (rc) {
		vec__fini(&s.out);
		return rc;
	}
	struct map_range *exact = mem__resize(s.out.v, s.out.n, sizeof(*s.out.v));

	*ret = (struct map_level){ exact ? exact : s.out.v, (uint32_t)s.out.n };
	return 0;
}

static void open_level(const struct map_level *l, uint32_t age, struct open_range *to)
{
	for (uint32_t i = 0; i < l->n; i++)
		to[i] = (struct open_range){ l->v[i].start, l->v[i].start + l->v[i].bytes, age,
					     l->v[i].name };
}

/* Puts the newest level into the one below it. */
static int merge_top(struct map_generation *g)
{
	struct map_level *below = &g->levels[g->n_levels - 2], *top = below + 1, both;
	struct open_range *in = mem__zalloc((size_t)below->n + top->n, sizeof(*in));
	int rc;

	if (!in)
		return -ENOMEM;
	open_level(below, 0, in);
	open_level(top, 1, in + below->n);
	rc = flatten(in, (size_t)below->n + top->n, &both);
	free(in);
	if (rc)
		return rc;
	free(below->v);
	free(top->v);
	*below = both;
	g->n_levels--;
	return 0;
}

/* A new level of the fresh lines. */
static int settle_fresh(struct map_generation *g)
{
	size_t n = g->fresh.n;
	struct open_range *in;
	int rc;

	if (n == 0)
		return 0;
	in = mem__zalloc(n, sizeof(*in));
	if (!in)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		in[i] = (struct open_range){ g->fresh.v[i].start,
					     g->fresh.v[i].start + g->fresh.v[i].bytes, (uint32_t)i,
					     g->fresh.v[i].name };
	rc = flatten(in, n, &g->levels[g->n_levels]);
	free(in);
	if (rc)
		return rc;
	g->n_levels++;
	g->fresh.n = 0;
	return 0;
}

/* Each level is at least twice as large as the one above it, so there are fewer than 32. */
static int settle(struct map_generation *g)
{
	int rc = 0;

	/* Merges that failed before come first: they make room for a level. */
	while (!rc && g->n_levels == MAP_MAX_LEVELS)
		rc = merge_top(g);
	if (!rc)
		rc = settle_fresh(g);
	while (!rc && g->n_levels > 1 &&
	       g->levels[g->n_levels - 2].n / 2 < g->levels[g->n_levels - 1].n)
		rc = merge_top(g);
	return rc;
}

/* The young generation grows old when it has its half of the room. Its lines are settled. */
static void age(struct map *m)
{
	if (generation_bytes(&m->young) < m->max_bytes / 2)
		return;
	m->n_forgotten += n_ranges_of(&m->old);
	generation_fini(&m->old);
	m->old = m->young;
	m->young = (struct map_generation){ 0 };
}

int map__settle(struct map *m)
{
	int rc = settle(&m->young);

	if (!rc)
		age(m);
	return rc;
}

/* --- lines --- */

/* A hexadecimal number of at most 16 digits, with or without 0x, and the space behind it. */
static bool take_hex(struct dcm_str *s, uint64_t *ret)
{
	uint64_t v = 0;
	uint32_t i = s->n > 2 && s->p[0] == '0' && (s->p[1] | 0x20) == 'x' ? 2 : 0, first = i;

	for (; i < s->n && str__hex_digit(s->p[i]) >= 0; i++) {
		if (i - first == 16)
			return false;
		v = v << 4 | (uint64_t)str__hex_digit(s->p[i]);
	}
	if (i == first || i == s->n || s->p[i] != ' ')
		return false;
	*ret = v;
	s->p += i + 1;
	s->n -= i + 1;
	return true;
}

/* The name's id, cleaned and cut to what is kept. */
static uint32_t add_name(struct map_generation *g, struct dcm_str name)
{
	char clean[MAP_MAX_NAME];
	uint32_t n = name.n <= sizeof(clean) ? name.n : (uint32_t)str__utf8_cut(name.p, sizeof(clean));

	if (!g->names.texts && intern__init(&g->names))
		return INTERN_NONE;
	memcpy(clean, name.p, n);
	str__clean(clean, n);
	return intern__add(&g->names, (struct dcm_str){ clean, n });
}

int map__add(struct map *m, uint64_t start, uint64_t bytes, struct dcm_str name)
{
	struct map_range r = { .start = start, .bytes = (uint32_t)bytes };

	if (name.n == 0 || bytes == 0 || bytes > MAP_MAX_RANGE || start + bytes < start)
		return -EPROTO;
	r.name = add_name(&m->young, name);
	if (r.name == INTERN_NONE || !vec__push(&m->young.fresh, r))
		return -ENOMEM;
	/*
	 * So that neither the fresh lines nor the generation outgrow their bounds in one long feed.
	 */
	if (m->young.fresh.n >= MAP_SETTLE_LINES ||
	    (m->young.names.n % 4096 == 0 && generation_bytes(&m->young) >= m->max_bytes / 2))
		return map__settle(m);
	return 0;
}

/* One line without its newline. */
static int add_line(struct map *m, struct dcm_str line)
{
	uint64_t start, bytes;
	int rc = -EPROTO;

	m->n_lines++;
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (take_hex(&line, &start) && take_hex(&line, &bytes))
		rc = map__add(m, start, bytes, line);
	if (rc == -EPROTO)
		m->n_skipped++;
	return rc == -EPROTO ? 0 : rc;
}

int map__feed(struct map *m, const char *text, size_t n, size_t *ret_used)
{
	size_t at = 0;
	int rc = 0;

	while (at < n && !rc) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t len = end ? (size_t)(end - (text + at)) : n - at;

		if (!end && len < MAP_MAX_LINE)
			break;
		if (len >= MAP_MAX_LINE || m->skipping) {
			m->n_skipped += !m->skipping;
			m->n_lines += !m->skipping;
			m->skipping = !end;
		} else {
			rc = add_line(m, (struct dcm_str){ text + at, (uint32_t)len });
		}
		if (!rc)
			at += len + (end ? 1 : 0); /* else it comes again: a line twice says the same */
	}
	*ret_used = at;
	return rc;
}

int map__feed_last(struct map *m, const char *text, size_t n)
{
	if (n == 0 || n >= MAP_MAX_LINE || m->skipping || memchr(text, '\n', n))
		return 0;
	return add_line(m, (struct dcm_str){ text, (uint32_t)n });
}

/* --- answers --- */

/* How many ranges of a level start at or before the address. */
static uint32_t starts_until(const struct map_level *l, uint64_t address)
{
	uint32_t lo = 0, hi = l->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->v[mid].start <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool find_in(const struct map_level *l, uint64_t address, struct map_range *ret)
{
	uint32_t n = starts_until(l, address);

	if (n == 0 || address - l->v[n - 1].start >= l->v[n - 1].bytes)
		return false;
	*ret = l->v[n - 1];
	return true;
}

bool map__find(const struct map *m, uint64_t address, struct dcm_str *ret_name, uint64_t *ret_start)
{
	const struct map_generation *generations[] = { &m->young, &m->old };

	for (int i = 0; i < 2; i++) {
		const struct map_generation *g = generations[i];
		struct map_range r;

		for (uint32_t level = g->n_levels; level-- > 0;) {
			if (find_in(&g->levels[level], address, &r)) {
				*ret_name = intern__text(&g->names, r.name);
				*ret_start = r.start;
				return true;
			}
		}
	}
	return false;
}

/*
 * The piece at an address, or when there is none, the address at which one may start (*ret_end).
 * Levels are asked from the newest on; where a newer one begins, the piece ends.
 */
static bool piece_at(const struct map *m, uint64_t address, uint64_t until, struct map_piece *ret)
{
	const struct map_generation *generations[] = { &m->young, &m->old };

	*ret = (struct map_piece){ .start = address, .end = until };
	for (int i = 0; i < 2; i++) {
		const struct map_generation *g = generations[i];

		for (uint32_t level = g->n_levels; level-- > 0;) {
			const struct map_level *l = &g->levels[level];
			uint32_t next = starts_until(l, address);
			struct map_range r;

			if (find_in(l, address, &r)) {
				if (r.start + r.bytes < ret->end)
					ret->end = r.start + r.bytes;
				ret->name = intern__text(&g->names, r.name);
				return true;
			}
			if (next < l->n && l->v[next].start < ret->end)
				ret->end = l->v[next].start;
		}
	}
	return false;
}

bool map__next(const struct map *m, uint64_t from, uint64_t until, struct map_piece *ret)
{
	while (from < until) {
		if (piece_at(m, from, until, ret))
			return true;
		from = ret->end;
	}
	return false;
}
